//! `EXPLAIN`: the plan of a statement, and with `ANALYZE` what executing it comes to.
//!
//! What is explained is a statement that is planned, or one with a plan in it: `EXECUTE`, `DECLARE`, `CREATE TABLE … AS`.
//!
//! Rules
//! 1. With `ANALYZE` the statement is executed as if it came alone, privileges and all, but that nobody gets its rows.
//! 2. What is shown is made on the engine's own stack: its tree is as deep as the statement is.

use crate::bind::access::Access;
use crate::bind::{self, Setting, Unbound};
use crate::exec::watch::Measures;
use crate::parser::ast::{ExplainForm, ExplainOptions, Expr, Name, Statement, Utility};
use crate::plan::blob::Constant;
use crate::plan::shown::{Shown, ShownNode, forms};
use crate::plan::{self, Plan};
use crate::session::current::stored_tables;
use crate::session::custom;
use crate::session::parameters::{Parameters, end_of};
use crate::session::prepared::Body;
use crate::session::{Column, Environment, Format, Output, Session, Tag};
use crate::types::{Arena, Oid, Type};
use allocator_api2::alloc::Allocator;
use base::{Error, Result};
use bumpalo::Bump;
use kernel::clock;

/// Says what the answer looks like.
pub(super) fn describe<O: Output>(wanted: &ExplainOptions, out: &mut O) {
    /// `xml`, of which there are no values otherwise.
    const XML: Oid = Oid(142);
    let oid = match wanted.form {
        ExplainForm::Json => Oid::JSON,
        ExplainForm::Xml => XML,
        ExplainForm::Text | ExplainForm::Yaml => Oid::TEXT,
    };
    let (name, ty, format) = ("QUERY PLAN", Type::plain(oid), Format::Text);
    out.columns(std::iter::once(Column { name, table: 0, number: 0, ty, size: -1, format }));
}

/// What is explained.
enum Source<'s> {
    /// A statement that has been parsed.
    Parsed(&'s Statement<'s>),
    /// A part of the text.
    Range(usize, usize),
}

/// What planning came to.
enum Planned {
    /// All that is wanted.
    Lines(Vec<String>),
    /// A plan to execute, and what is shown of it.
    Plan { plan: Vec<u8>, states: Vec<(usize, u32)>, root: Box<ShownNode> },
}

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn explain<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        statement: &Statement<'_>,
        given: Parameters<'_>,
        wanted: &ExplainOptions,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let constants = given.constants()?;
        let lines = match statement {
            Statement::Utility(Utility::Execute { name, arguments }) => {
                self.explain_execute(env, text, *name, arguments, wanted, out)?
            }
            Statement::Utility(Utility::Declare { body_at, .. }) => {
                let from = *body_at as usize;
                let source = Source::Range(from, end_of(text, from)?);
                self.explain_one(env, text, &source, (given, &constants), wanted, out)?
            }
            Statement::Utility(Utility::CreateTable(create)) if create.source.is_some() => {
                if wanted.analyze {
                    return Err(super::refused("EXPLAIN ANALYZE of CREATE TABLE AS"));
                }
                let (from, to) = create.source.map_or((0, 0), |source| source.range);
                let source = Source::Range(from as usize, to as usize);
                self.explain_one(env, text, &source, (given, &constants), wanted, out)?
            }
            Statement::Utility(_) => return Err(super::refused("EXPLAIN of this statement")),
            parsed => self.explain_one(env, text, &Source::Parsed(parsed), (given, &constants), wanted, out)?,
        };
        describe(wanted, out);
        for line in lines {
            super::text_row(&[&line], out)?;
        }
        Ok(Some(Tag::Words("EXPLAIN")))
    }

    /// The same of a prepared statement.
    fn explain_execute<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        name: Name<'_>,
        arguments: &[Expr<'_>],
        wanted: &ExplainOptions,
        out: &mut O,
    ) -> Result<Vec<String>> {
        let Body::Plan(id) = self.current_body(env, name.text)? else {
            return Err(super::refused("EXPLAIN of this statement"));
        };
        let types: Vec<Oid> = Plan::new(self.plans.bytes(id)).map_or(Vec::new(), |plan| plan.client_types().collect());
        super::prepare::check_arguments(name.text, &types, arguments)?;
        let prepared = String::from_utf8_lossy(self.plans.text(id)).into_owned();
        let values = self.arguments(env, text, arguments, &types, &mut |level, error| out.notice(level, error))?;
        // It counts as an execution, as in PostgreSQL.
        let constants = match self.plan_for(env, id, &values)? {
            Some(_) => custom::constants(&types, &values)?,
            None => Vec::new(),
        };
        let (from, to) = custom::range_of(&prepared)?;
        let source = Source::Range(from, to);
        let given = Parameters { types: &types, values: &values };
        self.explain_one(env, &prepared, &source, (given, &constants), wanted, out)
    }

    /// Plans a statement, executes it if that is wanted, and answers the lines. `constants` are the values of its
    /// parameters that it is planned for.
    fn explain_one<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        source: &Source<'_>,
        (given, constants): (Parameters<'_>, &[Constant]),
        wanted: &ExplainOptions,
        out: &mut O,
    ) -> Result<Vec<String>> {
        loop {
            let began = clock::now();
            let (accesses, planned) = self.explained(env, text, source, (given.types, constants), wanted, began)?;
            self.check_accesses(env, &accesses)?;
            let (plan, states, mut root) = match planned {
                Planned::Lines(lines) => return Ok(lines),
                Planned::Plan { plan, states, root } => (plan, states, root),
            };
            let tables = stored_tables(&plan);
            self.lock_tables(env, &tables)?;
            if !self.stands(env, &tables)? {
                continue;
            }
            let planning_ns = wanted.summary.then_some(clock::now() - began);
            let parameters = given.datums()?;
            let began = clock::now();
            let watch = self.execute_watched(env, &plan, &parameters, wanted.timing, &mut |level, error| {
                out.notice(level, error);
            })?;
            let execution_ns = wanted.summary.then_some(clock::now() - began);
            if let Some(watch) = watch {
                root.measure(&Measures::new(watch, states));
            }
            let shown = Shown { root: *root, planning_ns, execution_ns };
            return Ok(kernel::fiber::on_engine_stack(|| forms::show(&shown, wanted)));
        }
    }

    fn explained(
        &self,
        env: &Environment<'_>,
        text: &str,
        source: &Source<'_>,
        (types, values): (&[Oid], &[Constant]),
        wanted: &ExplainOptions,
        began: u64,
    ) -> Result<(Vec<Access>, Planned)> {
        let styles = self.styles(env)?;
        let style = styles.style(self.transaction.started_at());
        let catalog = self.catalog(env)?;
        let planning = plan::planning::Planning::of(&self.view(env));
        kernel::fiber::on_engine_stack(|| {
            let (arena, bump) = (Arena::new(), Bump::new());
            let parsed;
            let statement = match source {
                Source::Parsed(statement) => *statement,
                Source::Range(from, to) => {
                    parsed = crate::parser::parse(text, *from, *to, &bump)?;
                    &parsed
                }
            };
            let setting = Setting {
                catalog: &catalog,
                text,
                slots: &[],
                style,
                client_types: types,
                new_parameters: true,
                variables: &[],
                values,
            };
            let (mut bound, root) = match bind::bind(statement, &setting, &arena, &bump) {
                Ok(found) => found,
                Err(Unbound::Error(error)) => return Err(error),
                Err(Unbound::NeedsLiterals) => return Err(Error::unsupported("a literal of this kind here")),
            };
            let tree = plan::choose::choose(&mut bound, root, &catalog, &planning)?;
            let root = plan::explain::shown(&bound, &tree, &catalog, wanted.costs);
            let planned = match wanted.analyze {
                true => {
                    let mut states = Vec::new();
                    let plan = plan::encode::encode_noting(&bound, &tree, Some(&mut states))?;
                    Planned::Plan { plan, states, root: Box::new(root) }
                }
                false => {
                    let planning_ns = wanted.summary.then_some(clock::now() - began);
                    let shown = Shown { root, planning_ns, execution_ns: None };
                    Planned::Lines(forms::show(&shown, wanted))
                }
            };
            Ok((bound.accesses.merged(), planned))
        })
    }
}
