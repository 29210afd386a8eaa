//! `WITH`: common tables, and those that refer to themselves.
//!
//! `WITH RECURSIVE t AS (first UNION rest)` is recursive if `rest` refers to `t`: there, `t` is what the round before has found. Whether
//! it does is seen when its name is looked up; so is whether it may ([`Standing`]).
//!
//! Rules
//! 1. A common table may read columns of queries around it. It is computed again for each of their rows then, and so is what reads
//!    rows of a round.
//! 2. In `WITH RECURSIVE` a table's name is known to itself and to those behind it. PostgreSQL also knows it before, which is refused.

use super::query::operand_query;
use super::scope::Scope;
use super::tree::{Common, Query, RelationId, Source};
use super::{Binder, KnownCommon};
use crate::parser::ast::{self, SetOperation};
use crate::types::{Type, typmod};
use base::{Error, Result, sqlstate};
use std::collections::BTreeSet;

/// What a reference to a common table means where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// Its rows.
    Ready,
    /// It comes later.
    Later,
    /// It is being bound and is no `UNION`.
    Formless,
    /// Its first operand is being bound.
    First,
    /// Its second operand is being bound: the rows of the round before.
    Rest {
        /// The recursion's number.
        number: u16,
        /// How many places around it forbade a reference before.
        places: usize,
        /// There was a reference.
        seen: bool,
    },
}

impl Binder<'_> {
    /// Binds common tables; they are known until the caller forgets them.
    pub(super) fn with(
        &mut self,
        tables: &[ast::CommonTable<'_>],
        recursive: bool,
        parent: Option<&Scope<'_>>,
    ) -> Result<()> {
        for (index, table) in tables.iter().enumerate() {
            if tables[..index].iter().any(|other| other.name.text == table.name.text) {
                let message = format!("WITH query name \"{}\" specified more than once", table.name.text);
                return Err(Error::statement(sqlstate::DUPLICATE_ALIAS, message).at(self.position(table.name.at)));
            }
        }
        let outermost = std::mem::replace(&mut self.outermost, false);
        let start = self.commons.len();
        let known = if recursive { tables } else { &[] };
        self.commons.extend(known.iter().map(|table| KnownCommon {
            name: table.name.text.to_owned(),
            number: 0,
            columns: Vec::new(),
            standing: Standing::Later,
        }));
        for (index, table) in tables.iter().enumerate() {
            let ast::Statement::Query(query) = table.statement else {
                let known = self.modifying(table, outermost, recursive.then_some(start + index))?;
                match recursive {
                    true => self.commons[start + index] = known,
                    false => self.commons.push(known),
                }
                continue;
            };
            let first = self.bound.relations.len() as RelationId;
            let (depended, recursions) = (self.depended.len(), self.bound.recursions.len());
            let grouping = self.grouping.take();
            let query = match recursive {
                true => self.maybe_recursive(table, query, start + index, parent),
                false => self.query(query, parent, true),
            };
            self.grouping = grouping;
            let query = query?;
            let columns = self.common_columns(table, &query)?;
            let own = |number: &Option<u16>| number.is_some_and(|number| usize::from(number) >= recursions);
            let depends = self.depended.split_off(depended).iter().any(|number| !own(number));
            let dependent = depends || self.looks_out(&query, first);
            if depends {
                self.depended.push(None);
            }
            let number = self.bound.commons.len() as u16;
            self.bound.commons.push(Common {
                name: table.name.text.to_owned(),
                query: Some(Box::new(query)),
                modification: None,
                references: 0,
                materialized: table.materialized,
                first,
                dependent,
                free: BTreeSet::new(),
            });
            let known = KnownCommon { name: table.name.text.to_owned(), number, columns, standing: Standing::Ready };
            match recursive {
                true => self.commons[start + index] = known,
                false => self.commons.push(known),
            }
        }
        Ok(())
    }

    /// Binds a statement that changes rows as a common table, whose rows are those of `RETURNING`.
    fn modifying(
        &mut self,
        table: &ast::CommonTable<'_>,
        outermost: bool,
        known: Option<usize>,
    ) -> Result<KnownCommon> {
        if !outermost {
            let message = "WITH clause containing a data-modifying statement must be at the top level";
            return Err(Error::unsupported(message).at(self.position(table.name.at)));
        }
        if let Some(known) = known {
            self.commons[known].standing = Standing::Formless;
        }
        let first = self.bound.relations.len() as RelationId;
        let commons = self.commons.len();
        let modification = match table.statement {
            ast::Statement::Insert(insert) => self.insert(insert)?,
            ast::Statement::Update(update) => self.update(update)?,
            ast::Statement::Delete(delete) => self.delete(delete)?,
            _ => return Err(self.unsupported("this statement in WITH", table.name.at)),
        };
        self.commons.truncate(commons);
        let columns = modification.returning.iter().map(|target| (target.name.clone(), target.expr.ty)).collect();
        let columns = self.named_columns(table, columns)?;
        let number = self.bound.commons.len() as u16;
        self.bound.commons.push(Common {
            name: table.name.text.to_owned(),
            query: None,
            modification: Some(Box::new(modification)),
            references: 0,
            materialized: Some(true),
            first,
            dependent: false,
            free: BTreeSet::new(),
        });
        Ok(KnownCommon { name: table.name.text.to_owned(), number, columns, standing: Standing::Ready })
    }

    /// `0A000` for a reference to a common table that has no rows to give.
    pub(super) fn has_rows(&self, number: u16, name: &ast::Name<'_>) -> Result<()> {
        let modification = &self.bound.commons[usize::from(number)].modification;
        if modification.as_ref().is_some_and(|modification| modification.returning.is_empty()) {
            let message = format!("WITH query \"{}\" does not have a RETURNING clause", name.text);
            return Err(Error::unsupported(message).at(self.position(name.at)));
        }
        Ok(())
    }

    /// The columns that a common table offers.
    fn common_columns(&self, table: &ast::CommonTable<'_>, query: &Query) -> Result<Vec<(String, Type)>> {
        let mut columns = self.bound.relations[query.output as usize].columns.clone();
        columns.truncate(query.visible);
        self.named_columns(table, columns)
    }

    fn named_columns(
        &self,
        table: &ast::CommonTable<'_>,
        mut columns: Vec<(String, Type)>,
    ) -> Result<Vec<(String, Type)>> {
        if table.columns.len() > columns.len() {
            let message = format!(
                "WITH query \"{}\" has {} columns available but {} columns specified",
                table.name.text,
                columns.len(),
                table.columns.len()
            );
            return Err(Error::statement(sqlstate::INVALID_COLUMN_REFERENCE, message).at(self.position(table.name.at)));
        }
        for ((name, _), new) in columns.iter_mut().zip(table.columns) {
            *name = new.text.to_owned();
        }
        Ok(columns)
    }

    /// Does a query refer to relations that were there before it was bound?
    fn looks_out(&self, query: &Query, first: RelationId) -> bool {
        let mut columns = BTreeSet::new();
        self.bound.columns_of(query, &mut columns);
        columns.iter().any(|column| column.relation < first)
    }

    /// Binds a query that may refer to itself by the name of that common table.
    fn maybe_recursive(
        &mut self,
        table: &ast::CommonTable<'_>,
        query: &ast::Query<'_>,
        known: usize,
        parent: Option<&Scope<'_>>,
    ) -> Result<Query> {
        let ast::Body::Operation { operation: SetOperation::Union, all, operands: [before @ .., rest] } = query.body
        else {
            self.commons[known].standing = Standing::Formless;
            return self.query(query, parent, true);
        };
        let commons = self.commons.len();
        self.with(query.with, query.recursive, parent)?;
        self.commons[known].standing = Standing::First;
        let first = match before {
            [first] => *first,
            several => ast::Body::Operation { operation: SetOperation::Union, all, operands: several },
        };
        let first = self.query(&operand_query(first, query.at), parent, true)?;
        let columns = self.common_columns(table, &first)?;
        let number = self.bound.recursions.len() as u16;
        self.bound.recursions.push(table.name.text.to_owned());
        self.commons[known].columns = columns;
        self.commons[known].standing = Standing::Rest { number, places: self.places.len(), seen: false };
        let rest = self.query(&operand_query(*rest, query.at), parent, false)?;
        let is_recursive = matches!(self.commons[known].standing, Standing::Rest { seen: true, .. });
        if is_recursive {
            self.refuse_clauses(query)?;
        }
        self.commons[known].standing = Standing::Formless;
        let recursion = is_recursive.then_some((number, table.name.text));
        let (body, targets) = self.combine(SetOperation::Union, all, vec![first, rest], query.at, recursion)?;
        let bound = self.finish_outer(query, body, targets, parent)?;
        self.commons.truncate(commons);
        Ok(bound)
    }

    /// What cannot stand around a recursive query.
    fn refuse_clauses(&self, query: &ast::Query<'_>) -> Result<()> {
        let refused = match () {
            () if !query.order_by.is_empty() => Some(("ORDER BY", query.order_by[0].expr.at)),
            () if query.offset.is_some() => Some(("OFFSET", query.offset.map_or(query.at, |expr| expr.at))),
            () if query.limit.is_some() => Some(("LIMIT", query.limit.map_or(query.at, |expr| expr.at))),
            () if !query.locking.is_empty() => Some(("FOR UPDATE/SHARE", query.locking[0].at)),
            () => None,
        };
        match refused {
            Some((words, at)) => {
                let message = format!("{words} in a recursive query is not implemented");
                Err(Error::unsupported(message).at(self.position(at)))
            }
            None => Ok(()),
        }
    }

    /// What a reference means to a common table that is not complete yet; none if it is. Errors: `42P19` where it cannot stand.
    pub(super) fn reference_within(&mut self, known: usize, name: &ast::Name<'_>) -> Result<Option<Source>> {
        let at = self.position(name.at);
        let refused = |message: String| Err(Error::statement(sqlstate::INVALID_RECURSION, message).at(at));
        let name = self.commons[known].name.clone();
        match self.commons[known].standing {
            Standing::Ready => Ok(None),
            Standing::Later => Err(Error::unsupported(format!("a reference to the later WITH query \"{name}\""))
                .hint("Put the WITH query before those that refer to it.")
                .at(at)),
            Standing::Formless => refused(format!(
                "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
            )),
            Standing::First => refused(format!(
                "recursive reference to query \"{name}\" must not appear within its non-recursive term"
            )),
            Standing::Rest { number, places, seen } => {
                if let Some(place) = self.places.get(places) {
                    return refused(format!("recursive reference to query \"{name}\" must not appear within {place}"));
                }
                if seen {
                    return refused(format!("recursive reference to query \"{name}\" must not appear more than once"));
                }
                self.commons[known].standing = Standing::Rest { number, places, seen: true };
                self.depended.push(Some(number));
                Ok(Some(Source::Working(number)))
            }
        }
    }

    /// `42P19` for aggregates right above the rows of a round.
    pub(super) fn refuse_aggregates_in_recursion(
        &self,
        below: &BTreeSet<RelationId>,
        aggregates: bool,
        at: u32,
    ) -> Result<()> {
        let is_working = |relation: &RelationId| {
            matches!(self.bound.relations.get(*relation as usize).map(|found| &found.source), Some(Source::Working(_)))
        };
        if aggregates && below.iter().any(is_working) {
            let message = "aggregate functions are not allowed in a recursive query's recursive term";
            return Err(Error::statement(sqlstate::INVALID_RECURSION, message).at(self.position(at)));
        }
        Ok(())
    }

    /// `42804` for a column that the first operand has with another type than the whole.
    pub(super) fn other_type_in_recursion(&self, name: &str, column: usize, first: Type, all: Type) -> Error {
        let message = format!(
            "recursive query \"{name}\" column {} has type {} in non-recursive term but type {} overall",
            column + 1,
            typmod::format_type(first),
            typmod::format_type(all)
        );
        Error::statement(sqlstate::DATATYPE_MISMATCH, message)
            .hint("Cast the output of the non-recursive term to the correct type.")
    }
}
