//! The extended query: statements are prepared, bound to parameters, executed, each by a message of its own.
//!
//! Rules
//! 1. An error fails the transaction as in a simple query; that what follows is passed over up to `Sync` is the server's.
//! 2. `Execute` with a limit keeps the rest of the rows; the next `Execute` goes on with them.

use super::control::Control;
use super::custom::range_of;
use super::output::{Format, NoData, Output, Tag};
use super::parameters::{Parameters, datums};
use super::prepared::{Body, Portal, Prepared, Progress, format_of};
use super::query::ends_transaction_in;
use super::run::{Compiled, Ended, result_columns, tag, write_value};
use super::told::Told;
use super::transaction::aborted;
use super::{Environment, List, Named, Session, Text, bytes_in, text_in};
use crate::catalog::lazy::LazyCatalog;
use crate::lexer::{Head, Literals, Normalised, normalise};
use crate::parser::ast::FetchDirection;
use crate::plan::{Plan, blob, flags};
use crate::types::{Arena, Datum, Kind, Oid, Type, io, table};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};

/// A parameter as a `Bind` brings it.
pub type Parameter<'a> = (Option<&'a [u8]>, Format);

/// What is described.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target<'a> {
    /// A prepared statement.
    Statement(&'a str),
    /// A portal.
    Portal(&'a str),
}

impl<A: Allocator + Copy> Session<A> {
    // ---- Parse

    /// Prepares a statement. `types` are those of its parameters that the client says, zero where it does not.
    pub fn parse(&mut self, env: &Environment<'_>, name: &str, text: &str, types: &[u32]) -> Result<()> {
        self.transaction.begin_statement(kernel::clock::wall_us());
        let result = self.prepare(env, name, text, types);
        self.settle(env, result)
    }

    pub(crate) fn prepare(&mut self, env: &Environment<'_>, name: &str, text: &str, types: &[u32]) -> Result<()> {
        if name.is_empty() {
            self.drop_unnamed_statement();
        }
        let mut normalised = Normalised::default();
        normalise(text, 0, Literals::Keep, &mut normalised)?;
        while normalised.head == Head::Empty && normalised.next < text.len() {
            normalise(text, normalised.next, Literals::Keep, &mut normalised)?;
        }
        let head = normalised.head;
        let range = (normalised.start, normalised.end);
        let key = normalised.key.clone();
        let mut rest = normalised.next;
        while rest < text.len() {
            normalise(text, rest, Literals::Keep, &mut normalised)?;
            if normalised.head != Head::Empty {
                return Err(Error::statement(
                    sqlstate::SYNTAX_ERROR,
                    "cannot insert multiple commands into a prepared statement",
                ));
            }
            rest = normalised.next.max(rest + 1);
        }
        let oids: Vec<Oid> = types.iter().map(|&oid| Oid(oid)).collect();
        let body = match head {
            Head::Empty => Body::Empty,
            _ if self.transaction.is_failed() => match ends_transaction_in(text, range)? {
                true => Body::Utility,
                false => return Err(aborted()),
            },
            _ => match self.compile_cached(env, text, range, &[], &oids, true, &key)? {
                Ok(Compiled::Plan(plan)) => {
                    self.await_snapshot(env);
                    Body::Plan(self.plans.add(&plan, text.as_bytes(), self.memory)?)
                }
                Ok(Compiled::Utility) => {
                    let bump = bumpalo::Bump::new();
                    let parsed =
                        kernel::fiber::on_engine_stack(|| crate::parser::parse(text, range.0, range.1, &bump))?;
                    // What has no parameters to be typed, and is not kept as it was read, is as good as its text.
                    match parsed {
                        crate::parser::ast::Statement::Utility(crate::parser::ast::Utility::Call(call))
                            if !call.arguments.is_empty() =>
                        {
                            self.await_snapshot(env);
                            Body::Call(self.prepare_call(env, text, call, &oids)?)
                        }
                        crate::parser::ast::Statement::Utility(utility) => {
                            let within = self.prepare_query_in(env, text, utility, &oids)?.map(Body::Within);
                            within.or(Control::of(utility).map(Body::Control)).unwrap_or(Body::Utility)
                        }
                        _ => Body::Utility,
                    }
                }
                Err(_) => return Err(Error::unsupported("a literal of this kind here")),
            },
        };
        if head != Head::Empty
            && body.plan().is_none()
            && let Some(at) = types.iter().position(|&oid| [Oid(0), Oid::UNKNOWN].contains(&Oid(oid)))
        {
            return Err(crate::bind::undetermined(at));
        }
        // Whatever else is wrong with the statement is said first.
        if !name.is_empty() && self.statements.contains_key(&Named(name.as_bytes())) {
            self.forget_body(body);
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(Error::statement(sqlstate::DUPLICATE_PREPARED_STATEMENT, message));
        }
        let mut declared = List::new_in(self.memory);
        declared.try_reserve_exact(types.len()).map_err(|_| Error::out_of_memory("a statement", types.len() * 4))?;
        declared.extend_from_slice(types);
        let own_text = if body.plan().is_some() { "" } else { text };
        let made_at = self.transaction.started_at();
        let text = text_in(own_text, self.memory)?;
        let statement = Prepared { text, declared, body, made_at, sql_text: None };
        if name.is_empty() {
            self.unnamed = Some(statement);
        } else {
            let name = text_in(name, self.memory)?;
            self.statements
                .try_reserve(1)
                .map_err(|_| Error::out_of_memory("a session's statements", size_of::<Prepared<A>>()))?;
            self.statements.insert(name, statement);
        }
        Ok(())
    }

    pub(crate) fn statement_named(&self, name: &str) -> Result<&Prepared<A>> {
        let found = if name.is_empty() { self.unnamed.as_ref() } else { self.statements.get(&Named(name.as_bytes())) };
        found.ok_or_else(|| {
            let message = match name.is_empty() {
                true => "unnamed prepared statement does not exist".to_owned(),
                false => format!("prepared statement \"{name}\" does not exist"),
            };
            Error::statement(sqlstate::INVALID_SQL_STATEMENT_NAME, message)
        })
    }

    /// What a prepared statement is now: its tables are locked, and its plan is made again if one of them has changed.
    ///
    /// Errors: `0A000` if its result would be another one; those of compiling.
    pub(crate) fn current_body(&mut self, env: &Environment<'_>, name: &str) -> Result<Body> {
        let body = self.statement_named(name)?.body;
        self.made_current(env, name, body)
    }

    /// The same of a statement that was found.
    fn made_current(&mut self, env: &Environment<'_>, name: &str, body: Body) -> Result<Body> {
        let id = match body {
            Body::Plan(id) => id,
            Body::Call(call) => {
                let Some(new) = self.renewed_call(env, call)? else { return Ok(Body::Call(call)) };
                self.set_body(name, Body::Call(new));
                self.plans.release(call.plan, self.memory);
                return Ok(Body::Call(new));
            }
            Body::Utility | Body::Within(_) | Body::Control(_) | Body::Empty => return Ok(body),
        };
        if self.lock_plan(env, id)? {
            return Ok(Body::Plan(id));
        }
        let statement = self.statement_named(name)?;
        let text = String::from_utf8_lossy(self.plans.text(id)).into_owned();
        let mut types: Vec<Oid> = statement.declared.iter().map(|&oid| Oid(oid)).collect();
        // What was inferred stays: clients were told.
        if let Some(plan) = Plan::new(self.plans.bytes(id)) {
            types = plan.client_types().collect();
        }
        let range = range_of(&text)?;
        let Ok(Compiled::Plan(plan)) = self.compile(env, &text, range, &[], &types, true)? else {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a prepared statement is no query any more"));
        };
        let columns = |bytes: &[u8]| -> Vec<(String, Type)> {
            let columns = Plan::new(bytes).into_iter().flat_map(|plan| plan.columns());
            columns.map(|column| (column.name().to_owned(), column.ty)).collect()
        };
        if columns(&plan) != columns(self.plans.bytes(id)) {
            return Err(Error::unsupported("cached plan must not change result type"));
        }
        let added = self.plans.add(&plan, text.as_bytes(), self.memory)?;
        *self.plans.tried_mut(added) = self.plans.tried(id);
        let new = Body::Plan(added);
        self.set_body(name, new);
        self.plans.release(id, self.memory);
        Ok(new)
    }

    fn set_body(&mut self, name: &str, body: Body) {
        let statement = match name.is_empty() {
            true => self.unnamed.as_mut(),
            false => self.statements.get_mut(&Named(name.as_bytes())),
        };
        if let Some(statement) = statement {
            statement.body = body;
        }
    }

    fn portal_named(&self, name: &str) -> Result<&Portal<A>> {
        let found =
            if name.is_empty() { self.unnamed_portal.as_ref() } else { self.portals.get(&Named(name.as_bytes())) };
        found.ok_or_else(|| no_portal(name))
    }

    // ---- Bind

    /// Makes a portal of a statement and the values of its parameters. `results` are the formats of the result's columns:
    /// none for all text, one for all, or one each.
    pub fn bind<'a>(
        &mut self,
        env: &Environment<'_>,
        portal: &str,
        statement: &str,
        parameters: impl ExactSizeIterator<Item = Parameter<'a>>,
        results: impl ExactSizeIterator<Item = Format>,
    ) -> Result<()> {
        self.transaction.begin_statement(kernel::clock::wall_us());
        let result = self.bind_portal(env, portal, statement, parameters, results);
        self.settle(env, result)
    }

    fn bind_portal<'a>(
        &mut self,
        env: &Environment<'_>,
        name: &str,
        statement: &str,
        parameters: impl ExactSizeIterator<Item = Parameter<'a>>,
        results: impl ExactSizeIterator<Item = Format>,
    ) -> Result<()> {
        let memory = self.memory;
        let prepared = self.statement_named(statement)?;
        let expected = {
            let plan = prepared.body.plan().and_then(|id| Plan::new(self.plans.bytes(id)));
            plan.map_or(prepared.declared.len(), |plan| plan.client_types().len())
        };
        if parameters.len() != expected {
            let message = format!(
                "bind message supplies {} parameters, but prepared statement \"{statement}\" requires {expected}",
                parameters.len()
            );
            return Err(Error::statement(sqlstate::PROTOCOL_VIOLATION, message));
        }
        if self.transaction.is_failed() && !ends_transaction(prepared.body, &prepared.text) {
            return Err(aborted());
        }
        let found = prepared.body;
        let body = self.made_current(env, statement, found)?;
        if body.plan().is_some() {
            self.await_snapshot(env);
        }
        if name.is_empty() {
            self.drop_unnamed_portal();
        } else if self.portals.contains_key(&Named(name.as_bytes())) {
            let message = format!("cursor \"{name}\" already exists");
            return Err(Error::statement(sqlstate::DUPLICATE_CURSOR, message));
        }
        // One format is for however many columns there are, and several mean nothing where there are none.
        let columns = match body {
            _ if results.len() < 2 => 0,
            Body::Plan(id) => Plan::new(self.plans.bytes(id)).map_or(0, |plan| plan.columns().len()),
            Body::Call(call) => self.call_columns(env, call)?,
            Body::Utility => self.utility_columns(&self.statement_named(statement)?.text),
            Body::Within(id) => self.utility_columns(self.plans.text(id)),
            Body::Control(_) | Body::Empty => 0,
        };
        if columns > 0 && results.len() != columns {
            let message = format!("bind message has {} result formats but query has {columns} columns", results.len());
            return Err(Error::statement(sqlstate::PROTOCOL_VIOLATION, message));
        }
        let plan = body.plan().and_then(|id| Plan::new(self.plans.bytes(id)));
        let values = match plan {
            _ if expected == 0 => Vec::new(),
            Some(plan) => self.read_parameters(env, parameters, plan.client_types())?,
            None => {
                // Nothing uses them, but they have to be values.
                let declared = self.statement_named(statement)?.declared.iter().map(|&oid| Oid(oid));
                self.read_parameters(env, parameters, declared)?;
                Vec::new()
            }
        };
        let made = match body {
            Body::Plan(id) => self.plan_for(env, id, &values)?,
            Body::Call(_) | Body::Utility | Body::Within(_) | Body::Control(_) | Body::Empty => None,
        };
        // A plan for these values is the portal's alone.
        let own = match (&made, body) {
            (Some(plan), Body::Plan(id)) => {
                let text = self.plans.text(id).to_vec();
                Some(self.plans.add(plan, &text, memory)?)
            }
            _ => None,
        };
        let text = match body {
            Body::Utility | Body::Control(_) => bytes_in(&self.statement_named(statement)?.text, memory)?,
            Body::Plan(_) | Body::Call(_) | Body::Within(_) | Body::Empty => Text::new_in(memory),
        };
        let mut formats = List::new_in(memory);
        formats.try_reserve_exact(results.len()).map_err(|_| Error::out_of_memory("a portal", results.len()))?;
        formats.extend(results);
        let portal = Portal {
            savepoints: self.savepoints,
            text,
            body: own.map_or(body, Body::Plan),
            parameters: bytes_in(&values, memory)?,
            formats,
            progress: Progress::New,
            locked_in: self.work_number,
            cursor: false,
            holds: false,
            committed: false,
            scrolls: false,
            made_at: self.transaction.started_at(),
        };
        let added = self.add_portal(name, portal);
        match own {
            Some(id) if added.is_err() => self.plans.release(id, memory),
            None if added.is_ok() => drop(body.plan().map(|id| self.plans.share(id))),
            _ => {}
        }
        added
    }

    /// The values of parameters, one after another, as `plan::blob::put_value` writes them.
    fn read_parameters<'a>(
        &self,
        env: &Environment<'_>,
        parameters: impl Iterator<Item = Parameter<'a>>,
        types: impl Iterator<Item = Oid>,
    ) -> Result<Vec<u8>> {
        /// Room for the values of most statements.
        const BYTES_AT_FIRST: usize = 128;
        let styles = self.styles(env)?;
        let style = styles.style(self.transaction.started_at());
        let (arena, mut values) = (Arena::new(), Vec::with_capacity(BYTES_AT_FIRST));
        for ((value, format), oid) in parameters.zip(types) {
            let ty = Type::plain(oid);
            let datum = match (value, format) {
                (None, _) => Datum::Null,
                (Some(bytes), Format::Text) => {
                    let text = crate::types::text::validate(bytes)?;
                    self.read_text(env, ty, text, &arena, &style)?
                }
                (Some(bytes), Format::Binary) => io::receive(ty, bytes, &arena, &style)?,
            };
            blob::put_value(table::kind(oid), datum, &mut values)?;
        }
        Ok(values)
    }

    /// Reads a value's text form; names of objects are looked up.
    fn read_text<'a>(
        &self,
        env: &Environment<'_>,
        ty: Type,
        text: &str,
        arena: &'a Arena,
        style: &crate::types::datetime::Style<'_>,
    ) -> Result<Datum<'a>> {
        match table::kind(ty.oid) {
            Kind::Reg => Ok(Datum::Int(self.catalog(env)?.read_reg(ty.oid, text)?.0.into())),
            _ => io::input(ty, text, arena, style),
        }
    }

    pub(crate) fn add_portal(&mut self, name: &str, portal: Portal<A>) -> Result<()> {
        if name.is_empty() {
            self.unnamed_portal = Some(portal);
            return Ok(());
        }
        let name = text_in(name, self.memory)?;
        self.portals.try_reserve(1).map_err(|_| Error::out_of_memory("a session's portals", size_of::<Portal<A>>()))?;
        self.portals.insert(name, portal);
        Ok(())
    }

    // ---- Describe

    /// Says what a statement's parameters and result, or a portal's result, look like. `parameters` is told the types of
    /// parameters, for a statement; false is answered where there is no result.
    pub fn describe<O: Output>(
        &mut self,
        env: &Environment<'_>,
        target: Target<'_>,
        parameters: impl FnOnce(&mut O, &[u32]),
        out: &mut O,
    ) -> Result<bool> {
        self.transaction.begin_statement(kernel::clock::wall_us());
        let result = self.describe_target(env, target, parameters, out);
        self.settle(env, result)
    }

    fn describe_target<O: Output>(
        &mut self,
        env: &Environment<'_>,
        target: Target<'_>,
        parameters: impl FnOnce(&mut O, &[u32]),
        out: &mut O,
    ) -> Result<bool> {
        match target {
            Target::Statement(name) => {
                let body = self.statement_named(name)?.body;
                if self.transaction.is_failed() && self.gives_rows(body, &self.statement_named(name)?.text) {
                    return Err(aborted());
                }
                match body {
                    Body::Plan(id) => {
                        let plan = Plan::new(self.plans.bytes(id));
                        let types: Vec<u32> =
                            plan.into_iter().flat_map(|plan| plan.client_types()).map(|oid| oid.0).collect();
                        parameters(out, &types);
                        // Tables may have changed since; where that cannot be looked at, no rows are told of.
                        let id = match self.transaction.is_failed() {
                            true => id,
                            false => self.current_body(env, name)?.plan().unwrap_or(id),
                        };
                        let Some(plan) = Plan::new(self.plans.bytes(id)) else { return Ok(false) };
                        if !plan.has(flags::RETURNS_ROWS) {
                            return Ok(false);
                        }
                        out.columns(result_columns(plan, |_| Format::Text));
                        Ok(true)
                    }
                    Body::Call(call) => {
                        let types: Vec<u32> = self.parameter_types(call.plan).iter().map(|oid| oid.0).collect();
                        parameters(out, &types);
                        self.describe_call(env, call, |_| Format::Text, out)
                    }
                    Body::Within(id) => {
                        let types: Vec<u32> = self.parameter_types(id).iter().map(|oid| oid.0).collect();
                        parameters(out, &types);
                        let text = String::from_utf8_lossy(self.plans.text(id)).into_owned();
                        self.describe_utility(&text, out)
                    }
                    Body::Utility => {
                        let prepared = self.statement_named(name)?;
                        parameters(out, &prepared.declared);
                        let text = String::from_utf8_lossy(&prepared.text).into_owned();
                        self.describe_utility(&text, out)
                    }
                    Body::Control(_) | Body::Empty => {
                        parameters(out, &self.statement_named(name)?.declared);
                        Ok(false)
                    }
                }
            }
            Target::Portal(name) => {
                let portal = self.portal_named(name)?;
                if self.transaction.is_failed() && self.gives_rows(portal.body, &portal.text) {
                    return Err(aborted());
                }
                match portal.body {
                    Body::Plan(id) => {
                        let Some(plan) = Plan::new(self.plans.bytes(id)) else { return Ok(false) };
                        if !plan.has(flags::RETURNS_ROWS) {
                            return Ok(false);
                        }
                        out.columns(result_columns(plan, |index| portal.format(index)));
                        Ok(true)
                    }
                    Body::Call(call) => {
                        let formats = portal.formats.to_vec();
                        self.describe_call(env, call, |index| format_of(&formats, index), out)
                    }
                    Body::Utility | Body::Within(_) => {
                        let text = String::from_utf8_lossy(self.portal_text(name)).into_owned();
                        let formats = portal.formats.to_vec();
                        self.describe_utility(&text, &mut Told::describing(out, &formats))
                    }
                    Body::Control(_) | Body::Empty => Ok(false),
                }
            }
        }
    }

    /// Gives a statement rows, as far as can be said in a transaction that failed? `text` is that of one that is not planned.
    fn gives_rows(&self, body: Body, text: &[u8]) -> bool {
        match body {
            Body::Plan(id) => Plan::new(self.plans.bytes(id)).is_some_and(|plan| plan.has(flags::RETURNS_ROWS)),
            Body::Call(_) => true,
            Body::Utility | Body::Within(_) => {
                let text = body.plan().map_or(text, |id| self.plans.text(id));
                let text = String::from_utf8_lossy(text);
                self.describe_utility(&text, &mut NoData::default()).unwrap_or(true)
            }
            Body::Control(_) | Body::Empty => false,
        }
    }

    /// How many columns the result of a statement has that is not planned.
    fn utility_columns(&self, text: &[u8]) -> usize {
        let nobody = &mut NoData::default();
        let mut told = Told::describing(nobody, &[]);
        match self.describe_utility(&String::from_utf8_lossy(text), &mut told) {
            Ok(_) => told.columns.unwrap_or(0),
            // What it is about is not there: executing it says so.
            Err(_) => 0,
        }
    }

    // ---- Execute

    /// Executes a portal, or goes on with it; `most` is how many rows are wanted, zero for all.
    pub fn execute<O: Output>(&mut self, env: &Environment<'_>, portal: &str, most: u64, out: &mut O) -> Result<()> {
        self.transaction.begin_statement(kernel::clock::wall_us());
        let result = self.execute_portal(env, portal, most, out);
        if result.is_ok() {
            self.transaction.note_executed();
        }
        self.settle(env, result)
    }

    fn execute_portal<O: Output>(&mut self, env: &Environment<'_>, name: &str, most: u64, out: &mut O) -> Result<()> {
        let portal = self.portal_named(name)?;
        let body = portal.body;
        // The portal is not used up by this, and may be executed when the transaction goes on from a savepoint. One that failed with the
        // transaction ends nothing.
        let ends = || !matches!(portal.progress, Progress::Failed) && ends_transaction(body, &portal.text);
        if self.transaction.is_failed() && body != Body::Empty && !ends() {
            return Err(aborted());
        }
        match body {
            Body::Empty => {
                out.empty_query();
                Ok(())
            }
            Body::Utility | Body::Within(_) | Body::Call(_) => self.execute_told(env, name, most, out),
            Body::Control(control) => self.execute_control(env, name, control, out),
            Body::Plan(_) => {
                let wanted = if most == 0 { u64::MAX } else { most };
                let (tag, ended) = self.run_portal(env, name, wanted, out)?;
                match ended {
                    Ended::Early(_) => out.suspended(),
                    Ended::AtEnd(_) => out.complete(tag),
                }
                Ok(())
            }
        }
    }

    pub(super) fn portal_mut(&mut self, name: &str) -> Option<&mut Portal<A>> {
        if name.is_empty() { self.unnamed_portal.as_mut() } else { self.portals.get_mut(&Named(name.as_bytes())) }
    }

    /// Gives rows of a portal that has a plan.
    pub(crate) fn run_portal<O: Output>(
        &mut self,
        env: &Environment<'_>,
        name: &str,
        wanted: u64,
        out: &mut O,
    ) -> Result<(Tag, Ended)> {
        // The portal is taken out while it runs, and is over if the run fails: a savepoint from before may make it reachable again.
        let taken = match name.is_empty() {
            true => self.unnamed_portal.take().map(|portal| (None, portal)),
            false => self.portals.remove_entry(&Named(name.as_bytes())).map(|(name, portal)| (Some(name), portal)),
        };
        let Some((key, mut portal)) = taken else { return Err(no_portal(name)) };
        let result = match self.is_runnable(&portal) {
            true => self.run_taken(env, &mut portal, wanted, out),
            false => Err(cannot_be_run(name)),
        };
        if result.is_err() {
            portal.progress = Progress::Failed;
        }
        match key {
            None => self.unnamed_portal = Some(portal),
            Some(key) => {
                self.portals.insert(key, portal);
            }
        }
        result
    }

    /// Has a portal something to give? One at its end gives no rows; but a statement that gives none at all is executed once.
    fn is_runnable(&self, portal: &Portal<A>) -> bool {
        let gives_rows = |id| Plan::new(self.plans.bytes(id)).is_some_and(|plan| plan.has(flags::RETURNS_ROWS));
        match portal.progress {
            Progress::Failed => false,
            Progress::Done => portal.body.plan().is_some_and(gives_rows),
            Progress::New | Progress::Left { .. } | Progress::Spooled(_) | Progress::Told { .. } => true,
        }
    }

    fn run_taken<O: Output>(
        &mut self,
        env: &Environment<'_>,
        portal: &mut Portal<A>,
        wanted: u64,
        out: &mut O,
    ) -> Result<(Tag, Ended)> {
        let Body::Plan(id) = portal.body else { return Err(no_portal("")) };
        let memory = self.memory;
        match &mut portal.progress {
            Progress::New => {}
            Progress::Left { .. } => return self.give_left(env, portal, wanted, out),
            Progress::Spooled(_) if wanted == 0 => {
                let Some(plan) = Plan::new(self.plans.bytes(id)) else { return Err(no_portal("")) };
                return Ok((tag(plan, 0), Ended::Early(0)));
            }
            Progress::Spooled(_) => return self.give_spooled(env, portal, FetchDirection::Forward(wanted), out),
            Progress::Done | Progress::Failed | Progress::Told { .. } => {
                let Some(plan) = Plan::new(self.plans.bytes(id)) else { return Err(no_portal("")) };
                return Ok((tag(plan, 0), Ended::AtEnd(0)));
            }
        }
        // The tables have been locked since the plan was made, unless the portal is older than the transaction: what others
        // changed meanwhile, such as a new index, leaves the plan as good as it was.
        let is_locked = portal.locked_in == self.work_number && !self.work.defines;
        if !is_locked && !self.lock_plan(env, id)? && (self.work.defines || portal.holds) {
            return Err(Error::statement(
                sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "a table of the portal was changed since it was made",
            ));
        }
        // The session is changed while its plan runs.
        let plan = self.plans.lend(id, memory);
        let result = match portal.cursor {
            true => self.spool(env, &plan, portal),
            false => self.run_new(env, &plan, portal, wanted, out).map(Some),
        };
        self.plans.give_back(id, plan);
        match result? {
            Some(ended) => Ok(ended),
            None => self.run_taken(env, portal, wanted, out),
        }
    }

    /// Executes a portal's plan from its beginning.
    fn run_new<O: Output>(
        &mut self,
        env: &Environment<'_>,
        plan: &[u8],
        portal: &mut Portal<A>,
        wanted: u64,
        out: &mut O,
    ) -> Result<(Tag, Ended)> {
        let memory = self.memory;
        let Some(read) = Plan::new(plan) else { return Err(no_portal("")) };
        let parameters = datums(read.client_types(), &portal.parameters)?;
        let mut rest = Vec::new();
        let keeps = wanted < u64::MAX;
        let (ended, requests) = self.execute_plan(
            env,
            plan,
            &parameters,
            ("", &[]),
            |index| portal.format(index),
            wanted,
            keeps.then_some(&mut rest),
            out,
        )?;
        self.carry_out(env, requests)?;
        portal.progress = match ended {
            Ended::AtEnd(_) => Progress::Done,
            Ended::Early(_) => Progress::Left { rows: bytes_in(&rest, memory)?, at: 0 },
        };
        let (Ended::AtEnd(rows) | Ended::Early(rows)) = ended;
        Ok((tag(read, rows), ended))
    }

    /// Goes on with the rows that an earlier `Execute` left.
    fn give_left<O: Output>(
        &mut self,
        env: &Environment<'_>,
        portal: &mut Portal<A>,
        wanted: u64,
        out: &mut O,
    ) -> Result<(Tag, Ended)> {
        let Body::Plan(id) = portal.body else { return Err(no_portal("")) };
        let styles = self.styles(env)?;
        let view = self.view(env);
        let read = || self.catalog_parts(env, &self.work);
        let catalog = LazyCatalog::reading(&env.database.catalogs, &read);
        let around = self.around(env, catalog, &view, styles.style(self.transaction.started_at()));
        let Some(plan) = Plan::new(self.plans.bytes(id)) else { return Err(no_portal("")) };
        let columns: Vec<(Kind, Oid, Format)> = plan
            .columns()
            .enumerate()
            .map(|(index, column)| (table::kind(column.ty.oid), column.ty.oid, portal.format(index)))
            .collect();
        let Progress::Left { rows, at } = &mut portal.progress else { return Ok((tag(plan, 0), Ended::AtEnd(0))) };
        let mut given = 0;
        while given < wanted && *at < rows.len() {
            out.begin_row();
            for &(kind, oid, format) in &columns {
                let (datum, next) = blob::get_value(kind, rows, *at)?;
                *at = next;
                if datum.is_null() {
                    out.null();
                } else if let Err(error) = out.value(|buffer| write_value(kind, oid, format, datum, &around, buffer)) {
                    out.abandon_row();
                    return Err(error);
                }
            }
            out.end_row()?;
            given += 1;
            if given % 256 == 0 {
                crate::exec::breathe()?;
            }
        }
        if *at >= rows.len() && given < wanted {
            portal.progress = Progress::Done;
            return Ok((tag(plan, given), Ended::AtEnd(given)));
        }
        Ok((tag(plan, given), Ended::Early(given)))
    }

    pub(super) fn extended_utility<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        given: Parameters<'_>,
        out: &mut O,
    ) -> Result<()> {
        let mut normalised = Normalised::default();
        normalise(text, 0, Literals::Keep, &mut normalised)?;
        while normalised.head == Head::Empty && normalised.next < text.len() {
            let at = normalised.next;
            normalise(text, at, Literals::Keep, &mut normalised)?;
        }
        // As in PostgreSQL, the transaction lasts until `Sync`, but for a statement that stands alone.
        self.utility_text(env, text, (normalised.start, normalised.end), given, false, out)
    }

    // ---- Close and Sync

    /// Forgets a statement or a portal. One that is not there is no error.
    pub fn close_target(&mut self, target: Target<'_>) {
        match target {
            Target::Statement("") => self.drop_unnamed_statement(),
            Target::Statement(name) => {
                if let Some(statement) = self.statements.remove(&Named(name.as_bytes())) {
                    self.forget_body(statement.body);
                }
            }
            Target::Portal("") => self.drop_unnamed_portal(),
            Target::Portal(name) => {
                if let Some(portal) = self.portals.remove(&Named(name.as_bytes())) {
                    self.forget_body(portal.body);
                }
            }
        }
    }

    /// `Sync`: outside a block the transaction is over.
    pub fn sync<O: Output>(&mut self, env: &Environment<'_>, out: &mut O) -> Result<()> {
        if self.transaction.is_block() {
            return Ok(());
        }
        let settled = self.settle_deferred(env, true, &mut |level, error| out.notice(level, error));
        let ended = settled.and_then(|()| self.end_transaction(env, true));
        if ended.is_err() {
            self.fail(env);
        }
        ended
    }

    pub(crate) fn forget_body(&mut self, body: Body) {
        if let Some(id) = body.plan() {
            self.plans.release(id, self.memory);
        }
    }

    /// Forgets the unnamed statement. A portal that was made from it stays.
    pub(super) fn drop_unnamed_statement(&mut self) {
        if let Some(statement) = self.unnamed.take() {
            self.forget_body(statement.body);
        }
    }

    pub(super) fn drop_unnamed_portal(&mut self) {
        if let Some(portal) = self.unnamed_portal.take() {
            self.forget_body(portal.body);
        }
    }

    /// A transaction has ended: its portals go, but for those that were to stay.
    pub(crate) fn drop_portals(&mut self, commit: bool) {
        self.drop_unnamed_portal();
        let plans = &mut self.plans;
        let memory = self.memory;
        self.portals.retain(|_, portal| {
            portal.committed |= commit;
            let stays = portal.holds && portal.committed;
            if !stays && let Some(id) = portal.body.plan() {
                plans.release(id, memory);
            }
            stays
        });
    }

    /// The transaction has gone back to a savepoint: portals that were made since the one of that number go.
    pub(crate) fn drop_portals_since(&mut self, number: u64) {
        if self.unnamed_portal.as_ref().is_some_and(|portal| portal.savepoints >= number) {
            self.drop_unnamed_portal();
        }
        let plans = &mut self.plans;
        let memory = self.memory;
        self.portals.retain(|_, portal| {
            let stays = portal.savepoints < number;
            if !stays && let Some(id) = portal.body.plan() {
                plans.release(id, memory);
            }
            stays
        });
    }

    /// The transaction has failed: portals that were made since the savepoint of that number are there until it goes back, but not to be
    /// executed.
    pub(super) fn fail_portals_since(&mut self, number: u64) {
        let portals = self.portals.values_mut().chain(&mut self.unnamed_portal);
        for portal in portals.filter(|portal| portal.savepoints >= number && !(portal.holds && portal.committed)) {
            portal.progress = Progress::Failed;
        }
    }

    /// After an error the transaction is failed or over.
    fn settle<T>(&mut self, env: &Environment<'_>, result: Result<T>) -> Result<T> {
        result.map_err(|error| {
            let error = self.named(env, error);
            self.fail(env);
            error
        })
    }
}

/// May a statement be executed in a transaction that failed? `text` is that of one that is not planned.
fn ends_transaction(body: Body, text: &[u8]) -> bool {
    match body {
        Body::Control(control) => control.ends_transaction(),
        Body::Utility => {
            let text = String::from_utf8_lossy(text);
            range_of(&text).and_then(|range| ends_transaction_in(&text, range)).unwrap_or(false)
        }
        Body::Plan(_) | Body::Call(_) | Body::Within(_) | Body::Empty => false,
    }
}

/// A portal that has failed, or has been executed and gives no rows.
#[cold]
pub(super) fn cannot_be_run(name: &str) -> Error {
    let message = format!("portal \"{name}\" cannot be run");
    Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

#[cold]
pub(crate) fn no_portal(name: &str) -> Error {
    let message = match name.is_empty() {
        true => "portal \"\" does not exist".to_owned(),
        false => format!("portal \"{name}\" does not exist"),
    };
    Error::statement(sqlstate::INVALID_CURSOR_NAME, message)
}
