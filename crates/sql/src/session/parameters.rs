//! Parameters of a statement that is not planned, for the query in it: `DECLARE … FOR`, `CREATE TABLE … AS`, `SELECT … INTO`, `EXPLAIN`.
//!
//! ```text
//!   Parse    DECLARE k CURSOR FOR [select … where id < $1]  -> a plan of the query alone: it tells the types, and is never executed
//!   Bind     values, in the portal
//!   Execute  the statement is carried out as always; whoever compiles its query is given types and values
//! ```
//!
//! Rules
//! 1. What was inferred when the statement was prepared stays: clients were told.
//! 2. The query is planned for the values, as in PostgreSQL, unless they are large.

use super::custom::constants;
use super::prepared::PlanId;
use super::{Environment, Session};
use crate::lexer::{Literals, Normalised, normalise};
use crate::parser::ast::{Statement, Utility};
use crate::plan::Plan;
use crate::plan::blob::{self, Constant};
use crate::session::run::Compiled;
use crate::types::{Datum, Oid, table};
use allocator_api2::alloc::Allocator;
use base::Result;
use std::borrow::Cow;

/// Values that are larger together, in bytes, are not put into a plan.
const VALUES_MAX: usize = 64 << 10;

/// The parameters of a statement.
#[derive(Clone, Copy, Default)]
pub(crate) struct Parameters<'p> {
    /// Their types.
    pub(crate) types: &'p [Oid],
    /// Their values, one after another, as `plan::blob::put_value` writes them.
    pub(crate) values: &'p [u8],
}

impl Parameters<'_> {
    /// Those of a statement that has none.
    pub(crate) const NONE: Parameters<'static> = Parameters { types: &[], values: &[] };

    /// The values.
    pub(crate) fn datums(&self) -> Result<Vec<Datum<'_>>> {
        datums(self.types.iter().copied(), self.values)
    }

    /// The values that a plan is made for; none if it is to be made for any.
    pub(crate) fn constants(&self) -> Result<Vec<Constant>> {
        match self.values.len() > VALUES_MAX {
            true => Ok(Vec::new()),
            false => constants(self.types, self.values),
        }
    }
}

/// The values of parameters of these types, as `put_value` wrote them.
pub(crate) fn datums(types: impl Iterator<Item = Oid>, values: &[u8]) -> Result<Vec<Datum<'_>>> {
    let (mut found, mut at) = (Vec::with_capacity(types.size_hint().0), 0);
    for oid in types {
        let (datum, next) = blob::get_value(table::kind(oid), values, at)?;
        found.push(datum);
        at = next;
    }
    Ok(found)
}

/// The end of the statement that begins at a byte of a text.
pub(crate) fn end_of(text: &str, from: usize) -> Result<usize> {
    let mut normalised = Normalised::default();
    normalise(text.get(from..).unwrap_or(""), 0, Literals::Keep, &mut normalised)?;
    Ok(from + normalised.end)
}

/// A text, and where something stands in it.
pub(crate) type Part<'t> = (Cow<'t, str>, (usize, usize));

/// The query in a statement that is not planned, if its parameters are the statement's: a text, and where it stands there.
pub(crate) fn query_in<'t>(text: &'t str, utility: &Utility<'_>) -> Result<Option<Part<'t>>> {
    let from = match utility {
        Utility::Declare { body_at, .. } => *body_at as usize,
        Utility::CreateTable(create) => {
            let range = create.source.map(|source| (source.range.0 as usize, source.range.1 as usize));
            return Ok(range.map(|range| (text.into(), range)));
        }
        Utility::SelectInto(into) => {
            let range = (into.range.0 as usize, into.range.1 as usize);
            return Ok(Some((into.without_clause(text).into(), range)));
        }
        Utility::Explain { statement: Statement::Utility(utility), .. } => return query_in(text, utility),
        Utility::Explain { at, .. } => *at as usize,
        _ => return Ok(None),
    };
    Ok(Some((text.into(), (from, end_of(text, from)?))))
}

impl<A: Allocator + Copy> Session<A> {
    /// The plan of the query in a statement that a client prepares, if that has parameters. `types` are those that the client says.
    pub(super) fn prepare_query_in(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        utility: &Utility<'_>,
        types: &[Oid],
    ) -> Result<Option<PlanId>> {
        let Some((query, range)) = query_in(text, utility)? else { return Ok(None) };
        self.await_snapshot(env);
        // Most cursors have none, and are compiled when they are executed.
        let makes_table = matches!(utility, Utility::CreateTable(_) | Utility::SelectInto(_));
        if !makes_table && types.is_empty() && !text.contains('$') {
            return Ok(None);
        }
        let Ok(Compiled::Plan(plan)) = self.compile(env, &query, range, &[], types, true)? else { return Ok(None) };
        if Plan::new(&plan).is_none_or(|plan| plan.client_types().len() == 0) {
            return Ok(None);
        }
        self.plans.add(&plan, text.as_bytes(), self.memory).map(Some)
    }

    /// The types of a prepared statement's parameters.
    pub(crate) fn parameter_types(&self, id: PlanId) -> Vec<Oid> {
        Plan::new(self.plans.bytes(id)).map_or(Vec::new(), |plan| plan.client_types().collect())
    }
}
