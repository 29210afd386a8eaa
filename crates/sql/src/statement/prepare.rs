//! `PREPARE`, `EXECUTE`, `DEALLOCATE`, and cursors.
//!
//! A cursor is a portal with a name that `FETCH` reads. It goes forward only.

use crate::bind::{self, Setting};
use crate::parser::ast::{Expr, FetchDirection, Name, Statement, TypeName, Utility};
use crate::plan::{self, Plan, blob, flags};
use crate::procedure::run::Notices;
use crate::session::custom::range_of;
use crate::session::extended::Target;
use crate::session::parameters::{Parameters, end_of};
use crate::session::prepared::{Body, Portal, Progress};
use crate::session::run::{Ended, result_columns};
use crate::session::{Environment, Format, List, Named, NoData, Output, Session, Tag, Text, bytes_in};
use crate::types::{Arena, Oid, table};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};
use bumpalo::Bump;

/// Has a prepared statement as many arguments as it takes? Errors: `42601`.
pub(super) fn check_arguments(name: &str, types: &[Oid], arguments: &[Expr<'_>]) -> Result<()> {
    // As in PostgreSQL, a statement without parameters is not asked.
    if types.is_empty() || types.len() == arguments.len() {
        return Ok(());
    }
    let message = format!("wrong number of parameters for prepared statement \"{name}\"");
    let detail = format!("Expected {} parameters but got {}.", types.len(), arguments.len());
    Err(Error::statement(sqlstate::SYNTAX_ERROR, message).detail(detail))
}

/// Reads a statement that was prepared and is not planned.
fn read_prepared<T>(text: &str, take: impl FnOnce(&Utility<'_>) -> Result<T>) -> Result<T> {
    let (start, end) = range_of(text)?;
    let bump = Bump::new();
    match kernel::fiber::on_engine_stack(|| crate::parser::parse(text, start, end, &bump))? {
        Statement::Utility(utility) => take(utility),
        _ => Err(Error::statement(sqlstate::INTERNAL_ERROR, "a prepared statement is another one now")),
    }
}

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn prepare_statement(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        name: Name<'_>,
        types: &[TypeName<'_>],
        body_at: u32,
    ) -> Result<Option<Tag>> {
        let mut oids = Vec::with_capacity(types.len());
        {
            let catalog = self.catalog(env)?;
            for ty in types {
                let place = crate::lexer::position(text, ty.at as usize);
                oids.push(catalog.type_of(ty).map_err(|error| error.at(place))?.oid.0);
            }
        }
        // The body goes to the end of this statement.
        let body = text.get(body_at as usize..).unwrap_or("");
        let mut normalised = crate::lexer::Normalised::default();
        crate::lexer::normalise(body, 0, crate::lexer::Literals::Keep, &mut normalised)?;
        let body = body.get(..normalised.end).unwrap_or(body).to_owned();
        self.prepare(env, name.text, &body, &oids)?;
        let written = crate::session::text_in(text, self.memory)?;
        if let Some(statement) = self.statements.get_mut(&Named(name.text.as_bytes())) {
            statement.sql_text = Some(written);
            statement.made_at = kernel::clock::wall_us();
        }
        Ok(Some(Tag::Words("PREPARE")))
    }

    pub(super) fn execute_statement<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        name: Name<'_>,
        arguments: &[Expr<'_>],
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let id = match self.current_body(env, name.text)? {
            Body::Plan(id) => id,
            body => return self.execute_unplanned(env, text, (name.text, body), arguments, out),
        };
        let plan = self.plans.bytes(id).to_vec();
        let Some(read) = Plan::new(&plan) else { return Err(Error::unsupported("an empty plan")) };
        let types: Vec<Oid> = read.client_types().collect();
        check_arguments(name.text, &types, arguments)?;
        let notices: Notices<'_> = &mut |level, error| out.notice(level, error);
        let values = self.arguments(env, text, arguments, &types, notices)?;
        let mut parameters = Vec::with_capacity(types.len());
        let mut at = 0;
        for oid in &types {
            let (datum, next) = blob::get_value(table::kind(*oid), &values, at)?;
            parameters.push(datum);
            at = next;
        }
        let formats: Vec<Format> = (0..read.columns().len()).map(|index| out.format(index, Format::Text)).collect();
        let plan = self.plan_for(env, id, &values)?.unwrap_or(plan);
        // Its end is the `EXECUTE`'s: in the extended protocol the transaction goes on until `Sync`.
        let format = |index: usize| formats.get(index).copied().unwrap_or_default();
        self.run_plan(env, &plan, &parameters, ("", &[]), format, true, out).map(Some)
    }

    /// `EXECUTE` of a statement that is not planned: `SELECT … INTO`, and whatever else a client has prepared by the protocol.
    fn execute_unplanned<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        (name, body): (&str, Body),
        arguments: &[Expr<'_>],
        out: &mut O,
    ) -> Result<Option<Tag>> {
        // It may be an `EXECUTE` of itself.
        self.check_bodies()?;
        if matches!(body, Body::Call(_) | Body::Empty) {
            return Err(Error::unsupported("EXECUTE of this statement is not supported"));
        }
        let types = body.plan().map_or(Vec::new(), |id| self.parameter_types(id));
        check_arguments(name, &types, arguments)?;
        let values = {
            let notices: Notices<'_> = &mut |level, error| out.notice(level, error);
            self.arguments(env, text, arguments, &types, notices)?
        };
        let prepared = self.prepared_text(name)?;
        let given = Parameters { types: &types, values: &values };
        // What stands by itself may not stand in another statement.
        read_prepared(&prepared, |utility| self.in_body(|session| session.utility(env, &prepared, utility, given, out)))
    }

    /// The text of a prepared statement that is not planned.
    fn prepared_text(&self, name: &str) -> Result<String> {
        let statement = self.statement_named(name)?;
        let text = statement.body.plan().map_or(&statement.text[..], |id| self.plans.text(id));
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// Computes the arguments of an `EXECUTE`.
    pub(super) fn arguments(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        arguments: &[Expr<'_>],
        types: &[Oid],
        notices: Notices<'_>,
    ) -> Result<Vec<u8>> {
        if types.is_empty() {
            return Ok(Vec::new());
        }
        let styles = self.styles(env)?;
        let style = styles.style(self.transaction.started_at());
        let catalog = self.catalog(env)?;
        let planning = plan::planning::Planning::of(&self.view(env));
        let plan = kernel::fiber::on_engine_stack(|| {
            let (arena, bump) = (Arena::new(), Bump::new());
            let setting = Setting {
                catalog: &catalog,
                text,
                slots: &[],
                style,
                client_types: &[],
                new_parameters: false,
                variables: &[],
                values: &[],
            };
            let (mut bound, root) = bind::bind_values(arguments, types, &setting, &arena, &bump)?;
            if !bound.subplans.is_empty() {
                return Err(Error::unsupported("cannot use subquery in EXECUTE parameter"));
            }
            let tree = plan::choose::choose(&mut bound, root, &catalog, &planning)?;
            plan::encode::encode(&bound, &tree)
        })?;
        Ok(self.gather(env, &plan, &[], 1, notices)?.rows)
    }

    pub(super) fn describe_execute<O: Output>(&self, name: &str, out: &mut O) -> Result<bool> {
        let id = match self.statement_named(name)?.body {
            Body::Plan(id) => id,
            Body::Call(_) | Body::Control(_) | Body::Empty => return Ok(false),
            Body::Utility | Body::Within(_) => {
                return read_prepared(&self.prepared_text(name)?, |utility| match utility {
                    // What that gives is known when it is executed; it may be this one.
                    Utility::Execute { .. } => Ok(false),
                    utility => self.describe_read(utility, out),
                });
            }
        };
        let Some(plan) = Plan::new(self.plans.bytes(id)) else { return Ok(false) };
        if !plan.has(flags::RETURNS_ROWS) {
            return Ok(false);
        }
        out.columns(result_columns(plan, |_| Format::Text));
        Ok(true)
    }

    pub(super) fn deallocate(&mut self, name: Option<&Name<'_>>) -> Result<Option<Tag>> {
        let Some(name) = name else {
            let names: Vec<Vec<u8>> = self.statements.keys().map(|name| name.to_vec()).collect();
            for name in names {
                if let Some(statement) = self.statements.remove(&Named(name.as_slice())) {
                    self.forget_body(statement.body);
                }
            }
            return Ok(Some(Tag::Words("DEALLOCATE ALL")));
        };
        self.statement_named(name.text)?;
        self.close_target(Target::Statement(name.text));
        Ok(Some(Tag::Words("DEALLOCATE")))
    }

    // ---- cursors

    pub(super) fn declare(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        name: Name<'_>,
        (hold, scroll, binary, insensitive): (bool, Option<bool>, bool, bool),
        body_at: u32,
        given: Parameters<'_>,
    ) -> Result<Option<Tag>> {
        if !hold && !self.transaction.outlives_statement() {
            let message = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(Error::statement(sqlstate::NO_ACTIVE_SQL_TRANSACTION, message));
        }
        if self.portals.contains_key(&Named(name.text.as_bytes())) {
            let message = format!("cursor \"{}\" already exists", name.text);
            return Err(Error::statement(sqlstate::DUPLICATE_CURSOR, message));
        }
        let range = (body_at as usize, end_of(text, body_at as usize)?);
        let Some(plan) = self.compile_for(env, (text, range), &[], given.types, &given.constants()?)? else {
            return Err(super::refused("DECLARE of this statement"));
        };
        if crate::plan::Plan::new(&plan).is_some_and(|plan| plan.has(crate::plan::flags::MODIFIES)) {
            let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
            return Err(Error::unsupported(message));
        }
        let mut locks = false;
        if let Some(plan) = crate::plan::Plan::new(&plan) {
            locks = plan.has(flags::WRITES);
            self.check_access(env, plan)?;
        }
        if locks && hold {
            return Err(Error::unsupported("DECLARE CURSOR WITH HOLD ... FOR UPDATE is not supported")
                .detail("Holdable cursors must be READ ONLY."));
        }
        if locks && scroll == Some(true) {
            return Err(Error::unsupported("DECLARE SCROLL CURSOR ... FOR UPDATE is not supported")
                .detail("Scrollable cursors must be READ ONLY."));
        }
        if locks && insensitive {
            let message = "DECLARE INSENSITIVE CURSOR ... FOR UPDATE is not valid";
            return Err(Error::statement(sqlstate::INVALID_CURSOR_DEFINITION, message)
                .detail("Insensitive cursors must be READ ONLY."));
        }
        let id = self.plans.add(&plan, text.as_bytes(), self.memory)?;
        let mut formats = List::new_in(self.memory);
        if binary {
            formats.try_reserve_exact(1).map_err(|_| Error::out_of_memory("a cursor", 1))?;
            formats.push(Format::Binary);
        }
        let portal = Portal {
            savepoints: self.savepoints,
            text: Text::new_in(self.memory),
            body: Body::Plan(id),
            parameters: bytes_in(given.values, self.memory)?,
            formats,
            progress: Progress::New,
            locked_in: self.work_number,
            cursor: true,
            holds: hold,
            committed: false,
            scrolls: scroll.unwrap_or(!locks),
            made_at: kernel::clock::wall_us(),
        };
        self.add_portal(name.text, portal)?;
        if hold {
            // A cursor that stays after its transaction has all its rows at once.
            self.run_portal(env, name.text, 0, &mut NoData::default())?;
        }
        Ok(Some(Tag::Words("DECLARE CURSOR")))
    }

    fn cursor(&self, name: &str) -> Result<&Portal<A>> {
        self.portals
            .get(&Named(name.as_bytes()))
            .ok_or_else(|| Error::statement(sqlstate::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist")))
    }

    pub(super) fn describe_cursor<O: Output>(&self, name: &str, out: &mut O) -> Result<bool> {
        let portal = self.cursor(name)?;
        let Body::Plan(id) = portal.body else { return Ok(false) };
        let Some(plan) = Plan::new(self.plans.bytes(id)) else { return Ok(false) };
        out.columns(result_columns(plan, |index| portal.format(index)));
        Ok(true)
    }

    pub(super) fn fetch<O: Output>(
        &mut self,
        env: &Environment<'_>,
        name: Name<'_>,
        direction: FetchDirection,
        discard: bool,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let ended = match discard {
            true => {
                self.cursor(name.text)?;
                self.fetch_portal(env, name.text, direction, &mut NoData::default())?
            }
            false => {
                self.describe_cursor(name.text, out)?;
                self.fetch_portal(env, name.text, direction, out)?
            }
        };
        let (Ended::AtEnd(rows) | Ended::Early(rows)) = ended;
        Ok(Some(Tag::Rows(if discard { "MOVE" } else { "FETCH" }, rows)))
    }

    pub(super) fn close_cursor(&mut self, name: Option<&Name<'_>>) -> Result<Option<Tag>> {
        let Some(name) = name else {
            self.close_all_cursors();
            return Ok(Some(Tag::Words("CLOSE CURSOR ALL")));
        };
        self.cursor(name.text)?;
        self.close_target(Target::Portal(name.text));
        Ok(Some(Tag::Words("CLOSE CURSOR")))
    }

    pub(super) fn close_all_cursors(&mut self) {
        let plans = &mut self.plans;
        let memory = self.memory;
        self.portals.retain(|_, portal| {
            if portal.cursor
                && let Some(id) = portal.body.plan()
            {
                plans.release(id, memory);
            }
            !portal.cursor
        });
    }
}
