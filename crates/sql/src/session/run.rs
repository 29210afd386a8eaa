//! From a statement's text to a plan, and from a plan to rows.
//!
//! Rules
//! 1. Parsing, binding, planning and encoding run on the engine's own stack, in one leaf that does not wait.
//! 2. A value goes from its register into the output's buffer in its column's format, with nothing in between.

use super::current::stored_tables;
use super::output::{Column, Format, Output, Tag};
use super::settings::is_custom;
use super::types::TypesAtHand;
use super::work::Work;
use super::{Environment, Session, SettingsView};
use crate::bind::tree::{Bound, Origin, Parameter};
use crate::bind::variable::Variable;
use crate::bind::{self, Setting, Unbound};
use crate::catalog::lazy::LazyCatalog;
use crate::exec::Exec;
use crate::exec::around::{Around, Notifying, Request};
use crate::exec::watch::Watch;
use crate::lexer::{Literal, Literals, Normalised, literal, normalise};
use crate::parser::{self, ast::Statement};
use crate::plan::blob::Constant;
use crate::plan::cache::Cached;
use crate::plan::planning::Planning;
use crate::plan::{self, Plan, blob, flags};
use crate::procedure::run::Notices;
use crate::types::datetime::{Style, Zone};
use crate::types::hash::hash_bytes;
use crate::types::{Arena, Datum, Kind, Oid, Type, io, table};
use allocator_api2::alloc::Allocator;
use base::settings::{IntervalStyle, MessageLevel, SettingId};
use base::{Error, Result, sqlstate};
use bumpalo::Bump;
use kernel::fault;
use kernel::fiber::on_engine_stack;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use storage::txn::LockMode;

/// What a statement's text came to.
pub(crate) enum Compiled {
    /// A plan.
    Plan(Vec<u8>),
    /// A statement that is not planned.
    Utility,
}

/// How many rows of an execution are wanted, and what became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// All rows were given.
    AtEnd(u64),
    /// More rows are left than were wanted.
    Early(u64),
}

/// What an execution leaves.
pub(crate) struct Executed<T> {
    pub(crate) value: T,
    pub(crate) random: u64,
    /// See [`Around::later`].
    pub(crate) later: u32,
    pub(crate) requests: Vec<Request>,
    pub(crate) warnings: Vec<Error>,
}

/// Rows that were collected.
pub(crate) struct Gathered {
    /// Those that are kept, one after another, each value with a mark for null.
    pub(crate) rows: Vec<u8>,
    /// How many there were, as far as anybody looked; or how many were changed.
    pub(crate) count: u64,
    /// The statement itself changes rows, not only one in its `WITH`.
    pub(crate) changes: bool,
}

/// The settings that text forms depend on, as values of this process.
pub(crate) struct Styles<'e> {
    /// Users' types.
    pub(crate) types: TypesAtHand<'e>,
    zone: Option<Arc<Zone>>,
    date_order: crate::types::datetime::DateOrder,
    date_format: base::settings::DateFormat,
    interval_style: IntervalStyle,
    extra_float_digits: i32,
}

impl Styles<'_> {
    /// The style, for a transaction that started at that time.
    pub(crate) fn style(&self, now: i64) -> Style<'_> {
        Style {
            zone: self.zone.as_deref().unwrap_or(&Zone::UTC),
            date_order: self.date_order,
            date_format: self.date_format,
            interval_style: self.interval_style,
            extra_float_digits: self.extra_float_digits,
            now,
            types: Some(&self.types),
        }
    }
}

impl<A: Allocator + Copy> Session<A> {
    /// The settings that text forms depend on.
    pub(crate) fn styles<'e>(&self, env: &Environment<'e>) -> Result<Styles<'e>> {
        let view = self.view(env);
        let zone = match view.value(SettingId::TimeZone).text() {
            "UTC" => None,
            name => Some(env.database.zone(name)?),
        };
        let types = TypesAtHand::committed(self.committed(env));
        if self.work.defines {
            types.know(&self.definitions(env, &self.work)?);
        }
        Ok(Styles {
            types,
            zone,
            date_order: view.date_order(),
            date_format: view.date_format(),
            interval_style: view.interval_style(),
            extra_float_digits: view.value(SettingId::ExtraFloatDigits).number() as i32,
        })
    }

    /// Compiles the statement between two bytes of a text.
    ///
    /// `slots` are the literals that became slots; `types` the parameters' types as far as they are known.
    ///
    /// The plan's tables are locked, and it is made from the definitions that counted when they were.
    pub(crate) fn compile(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        range: (usize, usize),
        slots: &[Literal],
        types: &[Oid],
        new_parameters: bool,
    ) -> Result<std::result::Result<Compiled, NeedsLiterals>> {
        self.compile_among(env, text, range, slots, types, new_parameters, (&[], &[]))
    }

    /// The same for a statement that may mention variables, which are parameters; and for the values of parameters, if there are any.
    #[allow(clippy::too_many_arguments)]
    fn compile_among(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        range: (usize, usize),
        slots: &[Literal],
        types: &[Oid],
        new_parameters: bool,
        known: (&[Variable], &[Constant]),
    ) -> Result<std::result::Result<Compiled, NeedsLiterals>> {
        loop {
            let compiled = self.compile_once(env, text, range, slots, types, new_parameters, known)?;
            if let Ok(Compiled::Plan(plan)) = &compiled {
                let tables = stored_tables(plan);
                self.lock_tables(env, &tables)?;
                if !self.stands(env, &tables)? {
                    continue;
                }
            }
            return Ok(compiled);
        }
    }

    /// The same by way of the statement cache. `key` is the normalised text.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn compile_cached(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        range: (usize, usize),
        slots: &[Literal],
        types: &[Oid],
        new_parameters: bool,
        key: &[u8],
    ) -> Result<std::result::Result<Compiled, NeedsLiterals>> {
        let Some((hash, key)) = self.cache_key(env, types, new_parameters, key) else {
            return self.compile(env, text, range, slots, types, new_parameters);
        };
        let Some(cache) = &env.database.cache else {
            return self.compile(env, text, range, slots, types, new_parameters);
        };
        match cache.find(hash, &key) {
            Cached::Plan(found) => {
                if self.lock_found(env, cache, &found)? || fault::planted("sql.kept_plan") {
                    return Ok(Ok(Compiled::Plan(found.plan)));
                }
            }
            Cached::NeedsLiterals => return Ok(Err(NeedsLiterals)),
            Cached::Missing => {}
        }
        let compiled = self.compile(env, text, range, slots, types, new_parameters)?;
        match &compiled {
            Ok(Compiled::Plan(plan)) if Plan::new(plan).is_some_and(|plan| plan.has(flags::REUSABLE)) => {
                cache.add(hash, &key, Some(plan));
            }
            Err(NeedsLiterals) => cache.add(hash, &key, None),
            Ok(_) => {}
        }
        Ok(compiled)
    }

    /// All that decides about plans beside a statement and the types of its variables; none where plans are the session's own.
    pub(crate) fn plan_settings(&self, env: &Environment<'_>) -> Option<Vec<u8>> {
        self.cache_key(env, &[], false, &[]).map(|(_, key)| key)
    }

    /// The key of a statement in the cache: its text and all that decides about its plan beside it. None where plans are the session's
    /// own: it has changed definitions, or may not use every index.
    fn cache_key(
        &self,
        env: &Environment<'_>,
        types: &[Oid],
        new_parameters: bool,
        text: &[u8],
    ) -> Option<(u64, Vec<u8>)> {
        let view = self.view(env);
        if env.database.cache.is_none() || !self.shares_plans(env) || !view.bool(SettingId::StatementCache) {
            return None;
        }
        let mut key = Vec::with_capacity(text.len() + 96);
        if !fault::planted("sql.shared_text") {
            key.extend_from_slice(&self.database.0.to_le_bytes());
            // Names of three parts have it.
            key.extend_from_slice(&self.database_name);
        }
        key.push(0);
        for setting in [SettingId::SearchPath, SettingId::TimeZone] {
            key.extend_from_slice(view.value(setting).text().as_bytes());
            key.push(0);
        }
        key.extend_from_slice(&self.user);
        key.push(0);
        key.extend_from_slice(&self.role().0.to_le_bytes());
        // Names may mean temporary relations.
        if let Some(session) = env.session.filter(|_| self.temporary) {
            key.extend_from_slice(b"temporary");
            key.extend_from_slice(&session.0.to_le_bytes());
        }
        key.push(0);
        key.push(view.date_order() as u8);
        key.push(view.date_format() as u8);
        key.push(view.interval_style() as u8);
        key.push(view.value(SettingId::ExtraFloatDigits).number() as u8);
        for known in env.transitions {
            key.extend_from_slice(known.table.name.as_bytes());
            key.push(0);
            let columns = known.table.columns.iter();
            columns.for_each(|column| key.extend_from_slice(format!("{}:{:?},", column.name, column.ty).as_bytes()));
        }
        key.extend_from_slice(&view.planning_number().to_le_bytes());
        key.push(u8::from(new_parameters));
        key.extend_from_slice(&(types.len() as u32).to_le_bytes());
        types.iter().for_each(|oid| key.extend_from_slice(&oid.0.to_le_bytes()));
        key.extend_from_slice(text);
        Some((hash_bytes(&key), key))
    }

    #[allow(clippy::too_many_arguments)]
    fn compile_once(
        &self,
        env: &Environment<'_>,
        text: &str,
        range: (usize, usize),
        slots: &[Literal],
        types: &[Oid],
        new_parameters: bool,
        (variables, values): (&[Variable], &[Constant]),
    ) -> Result<std::result::Result<Compiled, NeedsLiterals>> {
        let styles = self.styles(env)?;
        let style = styles.style(self.transaction.started_at());
        let catalog = self.catalog(env)?;
        let planning = Planning::of(&self.view(env));
        on_engine_stack(|| {
            let (arena, bump) = (Arena::new(), Bump::new());
            let statement = parser::parse(text, range.0, range.1, &bump)?;
            if matches!(statement, Statement::Utility(_)) {
                return Ok(Ok(Compiled::Utility));
            }
            let setting = Setting {
                catalog: &catalog,
                text,
                slots,
                style,
                client_types: types,
                new_parameters,
                variables,
                values,
            };
            match bind::bind(&statement, &setting, &arena, &bump) {
                Ok((mut bound, root)) => {
                    bound.hints = hints(&bound, (text, slots), &arena, &style);
                    let tree = plan::choose::choose(&mut bound, root, &catalog, &planning)?;
                    if bound.wants_literals.get() && !slots.is_empty() {
                        return Ok(Err(NeedsLiterals));
                    }
                    plan::encode::encode(&bound, &tree).map(|plan| Ok(Compiled::Plan(plan)))
                }
                Err(Unbound::NeedsLiterals) => Ok(Err(NeedsLiterals)),
                Err(Unbound::Error(error)) => Err(error),
            }
        })
    }

    /// Compiles a statement of a procedure by way of the statement cache; none if it is not planned. Its tables are locked.
    pub(crate) fn compile_piece(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        variables: &[Variable],
        types: &[Oid],
    ) -> Result<Option<Vec<u8>>> {
        // No normalised text begins like this.
        let mut key = b"\0piece\0".to_vec();
        for variable in variables {
            key.extend_from_slice(format!("{:?}", variable).as_bytes());
        }
        key.push(0);
        key.extend_from_slice(text.as_bytes());
        let key = self.cache_key(env, types, false, &key);
        let cache = env.database.cache.as_ref().zip(key);
        if let Some((cache, (hash, key))) = &cache
            && let Cached::Plan(found) = cache.find(*hash, key)
            && self.lock_found(env, cache, &found)?
        {
            return Ok(Some(found.plan));
        }
        let compiled = self.compile_among(env, text, (0, text.len()), &[], types, false, (variables, &[]))?;
        match compiled {
            Ok(Compiled::Plan(plan)) => {
                if let Some((cache, (hash, key))) = &cache
                    && Plan::new(&plan).is_some_and(|plan| plan.has(flags::REUSABLE))
                {
                    cache.add(*hash, key, Some(&plan));
                }
                Ok(Some(plan))
            }
            Ok(Compiled::Utility) => Ok(None),
            Err(NeedsLiterals) => {
                Err(Error::statement(sqlstate::INTERNAL_ERROR, "a statement without slots asks for its literals"))
            }
        }
    }

    /// Compiles a statement for the values of its parameters; none if it is not planned. Its tables are locked.
    pub(crate) fn compile_for(
        &mut self,
        env: &Environment<'_>,
        (text, range): (&str, (usize, usize)),
        variables: &[Variable],
        types: &[Oid],
        values: &[Constant],
    ) -> Result<Option<Vec<u8>>> {
        match self.compile_among(env, text, range, &[], types, false, (variables, values))? {
            Ok(Compiled::Plan(plan)) => Ok(Some(plan)),
            Ok(Compiled::Utility) | Err(NeedsLiterals) => Ok(None),
        }
    }

    /// Executes a plan to its end; of its rows the first `most` are kept.
    pub(crate) fn gather(
        &mut self,
        env: &Environment<'_>,
        plan: &[u8],
        parameters: &[Datum<'_>],
        most: u64,
        notices: &mut dyn FnMut(MessageLevel, &Error),
    ) -> Result<Gathered> {
        let plan =
            Plan::new(plan).ok_or_else(|| Error::statement(sqlstate::INTERNAL_ERROR, "a plan is broken: no header"))?;
        self.check_access(env, plan)?;
        self.check_may_write(env, plan)?;
        self.begin_plan(env, plan);
        let changes = plan.has(flags::MODIFIES);
        let pull = |exec: &mut Exec<'_>, _: &Around<'_>| {
            let columns: Vec<(u16, Kind)> =
                plan.columns().map(|column| (column.register, table::kind(column.ty.oid))).collect();
            let changes_first = plan.kind() != crate::plan::StatementKind::Select;
            let mut gathered = Gathered { rows: Vec::new(), count: 0, changes: changes_first };
            // A query whose rows nobody wants is over when it is known whether there are any.
            while exec.next_row()? {
                if gathered.count < most {
                    for &(register, kind) in &columns {
                        blob::put_value(kind, exec.register(register), &mut gathered.rows)?;
                    }
                }
                gathered.count += 1;
                if !changes && most > 0 && gathered.count >= most {
                    break;
                }
            }
            if changes_first && !plan.has(flags::RETURNS_ROWS) {
                gathered.count = exec.changed();
            }
            Ok(gathered)
        };
        let executed = match plan.has(flags::CALLS) {
            true => self.execute_calling(env, plan, parameters, ("", &[]), notices, pull),
            false => self.execute_alone(env, plan, parameters, ("", &[]), pull),
        };
        let executed = executed.map_err(|error| self.discreet(env, plan, error))?;
        for warning in &executed.warnings {
            notices(MessageLevel::Warning, warning);
        }
        self.random = executed.random;
        self.carry_out(env, executed.requests)?;
        Ok(executed.value)
    }

    /// Does a plan change rows of nothing but the session's own temporary tables?
    fn writes_own(&self, env: &Environment<'_>, plan: Plan<'_>) -> Result<bool> {
        if !self.temporary || !plan.has(flags::MODIFIES) {
            return Ok(false);
        }
        let definitions = self.definitions(env, &self.work)?;
        let is_own = |table: &plan::PlanTable| {
            definitions.table(table.oid).is_some_and(|table| table.persistence.is_temporary())
        };
        let mut changed = plan.tables().filter(|table| table.lock >= LockMode::RowExclusive as u32).peekable();
        Ok(changed.peek().is_some() && changed.all(|table| is_own(&table)))
    }

    /// Executes a plan to its end, and measures its nodes; nobody gets its rows.
    pub(crate) fn execute_watched(
        &mut self,
        env: &Environment<'_>,
        plan: &[u8],
        parameters: &[Datum<'_>],
        times: bool,
        notices: &mut dyn FnMut(MessageLevel, &Error),
    ) -> Result<Option<Watch>> {
        let plan =
            Plan::new(plan).ok_or_else(|| Error::statement(sqlstate::INTERNAL_ERROR, "a plan is broken: no header"))?;
        self.check_access(env, plan)?;
        self.check_may_write(env, plan)?;
        self.begin_plan(env, plan);
        let pull = |exec: &mut Exec<'_>, _: &Around<'_>| {
            exec.watch(times);
            while exec.next_row()? {}
            Ok(exec.take_watch())
        };
        let executed = match plan.has(flags::CALLS) {
            true => self.execute_calling(env, plan, parameters, ("", &[]), notices, pull),
            false => self.execute_alone(env, plan, parameters, ("", &[]), pull),
        };
        let executed = executed.map_err(|error| self.discreet(env, plan, error))?;
        for warning in &executed.warnings {
            notices(MessageLevel::Warning, warning);
        }
        self.random = executed.random;
        self.carry_out(env, executed.requests)?;
        Ok(executed.value)
    }

    fn check_may_write(&self, env: &Environment<'_>, plan: Plan<'_>) -> Result<()> {
        if plan.has(flags::WRITES)
            && self.transaction.shown_read_only(&self.view(env))
            && !self.writes_own(env, plan)?
        {
            let message =
                format!("cannot execute {} in a read-only transaction", plan.kind().tag().trim_end_matches(" 0"));
            return Err(Error::statement(sqlstate::READ_ONLY_SQL_TRANSACTION, message));
        }
        Ok(())
    }

    /// Compiles a statement, with literals as slots if that is wanted and possible.
    pub(crate) fn compile_query(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        from: usize,
        normalised: &mut Normalised,
    ) -> Result<Compiled> {
        let range = (normalised.start, normalised.end);
        match self.compile_cached(env, text, range, &normalised.literals, &[], false, &normalised.key)? {
            Ok(compiled) => Ok(compiled),
            Err(NeedsLiterals) => {
                normalise(text, from, Literals::Keep, normalised)?;
                match self.compile(env, text, range, &[], &[], false)? {
                    Ok(compiled) => Ok(compiled),
                    Err(NeedsLiterals) => Err(Error::statement(
                        sqlstate::INTERNAL_ERROR,
                        "a statement without slots asks for its literals",
                    )),
                }
            }
        }
    }

    /// Which literals are to become slots.
    pub(crate) fn literals(&self, env: &Environment<'_>) -> Literals {
        let view = self.view(env);
        let off = base::settings::LiteralAutoparam::Off.number();
        match view.value(SettingId::LiteralAutoparam).number() == off || !view.bool(SettingId::StatementCache) {
            true => Literals::Keep,
            false => Literals::Replace,
        }
    }

    /// Executes a plan. `parameters` are the client's, as values; `text` and `slots` are where literals come from.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn execute_plan<O: Output>(
        &mut self,
        env: &Environment<'_>,
        plan: &[u8],
        parameters: &[Datum<'_>],
        literals: (&str, &[Literal]),
        formats: impl Fn(usize) -> Format,
        wanted: u64,
        rest: Option<&mut Vec<u8>>,
        out: &mut O,
    ) -> Result<(Ended, Vec<Request>)> {
        let plan =
            Plan::new(plan).ok_or_else(|| Error::statement(sqlstate::INTERNAL_ERROR, "a plan is broken: no header"))?;
        self.check_access(env, plan)?;
        self.check_may_write(env, plan)?;
        self.begin_plan(env, plan);
        let out = RefCell::new(out);
        let pull =
            |exec: &mut Exec<'_>, around: &Around<'_>| give_rows(exec, plan, around, formats, wanted, rest, &out);
        let executed = match plan.has(flags::CALLS) {
            true => {
                let notices: Notices<'_> = &mut |level, error| out.borrow_mut().notice(level, error);
                self.execute_calling(env, plan, parameters, literals, notices, pull)
            }
            false => self.execute_alone(env, plan, parameters, literals, pull),
        };
        let executed = executed.map_err(|error| self.discreet(env, plan, error))?;
        for warning in &executed.warnings {
            out.borrow_mut().notice(MessageLevel::Warning, warning);
        }
        self.random = executed.random;
        Ok((executed.value, executed.requests))
    }

    /// Executes a plan that changes rows, for one row of parameters after another that `pull` feeds it with.
    pub(crate) fn execute_fed<T>(
        &mut self,
        env: &Environment<'_>,
        plan: &[u8],
        notices: Notices<'_>,
        pull: impl FnOnce(&mut Exec<'_>, &Around<'_>) -> Result<T>,
    ) -> Result<T> {
        let plan =
            Plan::new(plan).ok_or_else(|| Error::statement(sqlstate::INTERNAL_ERROR, "a plan is broken: no header"))?;
        let executed = match plan.has(flags::CALLS) {
            true => self.execute_calling(env, plan, &[], ("", &[]), &mut *notices, pull)?,
            false => self.execute_alone(env, plan, &[], ("", &[]), pull)?,
        };
        for warning in &executed.warnings {
            notices(MessageLevel::Warning, warning);
        }
        self.random = executed.random;
        self.carry_out(env, executed.requests)?;
        Ok(executed.value)
    }

    /// Executes a plan that calls no function of a user: `pull` pulls its rows.
    fn execute_alone<T>(
        &mut self,
        env: &Environment<'_>,
        plan: Plan<'_>,
        parameters: &[Datum<'_>],
        literals: (&str, &[Literal]),
        pull: impl FnOnce(&mut Exec<'_>, &Around<'_>) -> Result<T>,
    ) -> Result<Executed<T>> {
        // The session is read while the statement changes the transaction's state.
        let mut work = self.take_work();
        let done = self.execute_with(env, plan, &mut work, parameters, literals, pull);
        self.work = work;
        done
    }

    fn execute_with<T>(
        &self,
        env: &Environment<'_>,
        plan: Plan<'_>,
        work: &mut Work<A>,
        parameters: &[Datum<'_>],
        literals: (&str, &[Literal]),
        pull: impl FnOnce(&mut Exec<'_>, &Around<'_>) -> Result<T>,
    ) -> Result<Executed<T>> {
        let styles = self.styles(env)?;
        let view = self.view(env);
        // What its transaction alone sees is read before the statement changes the transaction's state.
        let own = if work.shares_plans() { None } else { Some(self.catalog_in(env, work)?) };
        if let Some(own) = &own {
            styles.types.know(&own.definitions);
        }
        let read = || self.catalog_parts(env, &self.work);
        let catalog = match &own {
            Some(catalog) => LazyCatalog::made(catalog),
            None => LazyCatalog::reading(&env.database.catalogs, &read),
        };
        let around = self.around(env, catalog, &view, styles.style(self.transaction.started_at()));
        let tables = self.tables(env, plan, work)?;
        let snapshot = tables.as_ref().map(|tables| tables.snapshot);
        let mut exec = Exec::new(plan, &around, tables);
        bind_parameters(&mut exec, plan, parameters, literals, around.style)?;
        let value = pull(&mut exec, &around);
        drop(exec);
        // Whatever came of it: the transaction's end gives the locks up.
        work.begun |= around.locks.get();
        if let (Err(_), Some(snapshot), true) = (&value, snapshot, self.nested > 0) {
            self.let_snapshot_go(env, work, snapshot);
        }
        let value = value?;
        if let Some(snapshot) = snapshot {
            self.close_tables(env, work, snapshot, plan.has(flags::WRITES), around.later.get());
        }
        Ok(Executed {
            value,
            random: around.random.get(),
            later: around.later.get(),
            requests: around.requests.into_inner(),
            warnings: around.warnings.into_inner(),
        })
    }

    /// What an execution has around it.
    pub(crate) fn around<'r>(
        &'r self,
        env: &Environment<'r>,
        catalog: LazyCatalog<'r>,
        settings: &'r SettingsView<'r>,
        style: Style<'r>,
    ) -> Around<'r> {
        Around {
            catalog,
            settings,
            style,
            statement_time: kernel::clock::wall_us(),
            session: env.session,
            number: env.number,
            user: &self.user,
            session_user: &self.identity.session_name,
            role: self.identity.current,
            database: (self.database, self.database_name()),
            server_start: env.database.started_at,
            server: env.server,
            random: Cell::new(self.random),
            expressions: Default::default(),
            relations: env.relations(),
            warnings: RefCell::new(Vec::new()),
            sequences: &self.sequences,
            committed: self.committed(env),
            read_only: self.transaction.shown_read_only(settings),
            locks: Cell::new(false),
            later: Cell::new(0),
            requests: RefCell::new(Vec::new()),
            held: self,
            chosen: self.deferred.chosen(),
            notifying: self.notifying(env),
            caller: None,
            transitions: env.transitions,
        }
    }

    /// What an execution knows of notifications.
    pub(super) fn notifying(&self, env: &Environment<'_>) -> Notifying {
        Notifying { channels: self.notices.channels().map(<[u8]>::to_vec).collect(), queue: env.database.notifications }
    }

    /// Carries out the calls of `set_config` and `pg_notify` that a statement made, and notes checks that wait.
    pub(crate) fn carry_out(&mut self, env: &Environment<'_>, requests: Vec<Request>) -> Result<()> {
        for request in requests {
            match request {
                Request::Set(request) if is_custom(&request.name)? => {
                    self.settings.set_custom(&request.name, Some(&request.value), request.local)?;
                }
                Request::Set(request) => {
                    let id = base::settings::lookup(&request.name)?;
                    self.set_setting(env, id, &request.value, request.local)?;
                }
                Request::Notify { channel, payload } => self.notify(env, &channel, &payload)?,
                Request::Defer(noted) => self.deferred.note(&noted)?,
            }
        }
        Ok(())
    }
}

/// A literal decides about the statement's meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NeedsLiterals;

/// Gives an execution the values of its parameters.
pub(super) fn bind_parameters(
    exec: &mut Exec<'_>,
    plan: Plan<'_>,
    parameters: &[Datum<'_>],
    (text, literals): (&str, &[Literal]),
    style: Style<'_>,
) -> Result<()> {
    let arena = Arena::new();
    for parameter in plan.parameters() {
        let ty = blob::type_of([parameter.oid, parameter.typmod]);
        if parameter.origin == 0 {
            let value = parameters.get(parameter.index as usize).copied().unwrap_or(Datum::Null);
            exec.bind(value)?;
            continue;
        }
        let Some(found) = literals.iter().find(|literal| u32::from(literal.slot) == parameter.index) else {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a literal of the statement is not there"));
        };
        exec.bind(read_literal(text, found, ty, &arena, &style)?)?;
    }
    Ok(())
}

/// The values that the parameters of a statement have this time, as far as they are literals: what the planner guesses by.
fn hints(
    bound: &Bound,
    (text, literals): (&str, &[Literal]),
    arena: &Arena,
    style: &Style<'_>,
) -> Vec<Option<Constant>> {
    let value = |parameter: &Parameter| match parameter.origin {
        Origin::Client(_) => None,
        Origin::Slot(slot) => {
            let found = literals.iter().find(|literal| literal.slot == slot)?;
            read_literal(text, found, parameter.ty, arena, style).ok().map(Constant::of)
        }
    };
    bound.parameters.iter().map(value).collect()
}

/// The value of a literal as a value of a type.
fn read_literal<'a>(text: &str, found: &Literal, ty: Type, arena: &'a Arena, style: &Style<'_>) -> Result<Datum<'a>> {
    let token = found.as_token();
    let integer = matches!(ty.oid, Oid::INT4 | Oid::INT8);
    if integer && !token.kind.is_string() {
        match literal::number(token.text(text)) {
            literal::Number::Int4(value) => return Ok(Datum::Int(value.into())),
            literal::Number::Int8(value) => return Ok(Datum::Int(value)),
            literal::Number::Numeric => {}
        }
    }
    let value = if token.kind.is_string() { literal::string(text, token)? } else { token.text(text).into() };
    io::input(ty, &value, arena, style).map_err(|error| match error.position() {
        None => error.at(crate::lexer::position(text, found.start as usize)),
        Some(_) => error,
    })
}

/// Pulls rows and writes them, up to `wanted`; those that are left go to `rest`, if that is given.
fn give_rows<O: Output>(
    exec: &mut Exec<'_>,
    plan: Plan<'_>,
    around: &Around<'_>,
    formats: impl Fn(usize) -> Format,
    wanted: u64,
    rest: Option<&mut Vec<u8>>,
    out: &RefCell<&mut O>,
) -> Result<Ended> {
    let columns: Vec<(u16, Kind, Oid, Format)> = plan
        .columns()
        .enumerate()
        .map(|(index, column)| (column.register, table::kind(column.ty.oid), column.ty.oid, formats(index)))
        .collect();
    let mut given = 0;
    while given < wanted {
        if !exec.next_row()? {
            return Ok(Ended::AtEnd(if plan.has(flags::RETURNS_ROWS) { given } else { exec.changed() }));
        }
        let mut out = out.borrow_mut();
        out.begin_row();
        for &(register, kind, oid, format) in &columns {
            let datum = exec.register(register);
            if datum.is_null() {
                out.null();
            } else if let Err(error) = out.value(|buffer| write_value(kind, oid, format, datum, around, buffer)) {
                out.abandon_row();
                return Err(error);
            }
        }
        out.end_row()?;
        given += 1;
    }
    // Whoever asked for some rows learns whether there are more by asking again, as in PostgreSQL.
    if let Some(rest) = rest {
        if fault::planted("sql.lost_row") {
            exec.next_row()?;
        }
        while exec.next_row()? {
            for &(register, kind, ..) in &columns {
                blob::put_value(kind, exec.register(register), rest)?;
            }
        }
    }
    Ok(Ended::Early(given))
}

/// Writes a value that is not null.
#[inline]
pub(crate) fn write_value(
    kind: Kind,
    oid: Oid,
    format: Format,
    datum: Datum<'_>,
    around: &Around<'_>,
    buffer: &mut Vec<u8>,
) -> Result<()> {
    match format {
        Format::Text if kind == Kind::Reg => {
            let shown = around.catalog.get()?.show_reg(oid, Oid(datum.int() as u32));
            buffer.extend_from_slice(shown.as_bytes());
            Ok(())
        }
        Format::Text => io::output(kind, datum, &around.style, buffer),
        Format::Binary => io::send(kind, datum, &around.style, buffer),
    }
}

/// The columns of a plan's result, as an output describes them.
pub(crate) fn result_columns<'p>(
    plan: Plan<'p>,
    formats: impl Fn(usize) -> Format + 'p,
) -> impl Iterator<Item = Column<'p>> {
    plan.columns().enumerate().map(move |(index, column)| Column {
        name: column.name(),
        table: column.table.0,
        number: column.number,
        ty: column.ty,
        size: table::by_oid(column.ty.oid).map_or(-1, |row| row.length),
        format: formats(index),
    })
}

/// The tag of an execution that came to its end.
pub(crate) fn tag(plan: Plan<'_>, rows: u64) -> Tag {
    Tag::Rows(plan.kind().tag(), rows)
}
