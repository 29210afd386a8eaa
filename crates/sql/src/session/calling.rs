//! Executions that call functions of users: statements of a body are executed in the middle of another statement.
//!
//! ```text
//!   execution ──operands──> Calls ──> the session: the function's body, statement by statement ──> a value ──> the execution goes on
//! ```
//!
//! An execution that calls none borrows what it needs from the session. One that does works with copies of that, so that the session is
//! free for the bodies; sequences and the catalog are asked for when they are needed, while no body runs.
//!
//! Rules
//! 1. A function that may change something has a snapshot for each of its statements, and sees what the calling statement has done so
//!    far. One that may not (`STABLE`, `IMMUTABLE`) has the calling statement's snapshot.
//! 2. Numbers of commands only grow: what a body does comes after the calling statement's rows, and before what is done at its end.
//! 3. Calls in calls are counted, and refused with `54001` before the stack is at its end.
//! 4. Tables that a calling statement uses are not redefined by a body (`55006`).

use super::held::{Held, HeldCursor, HeldStatement};
use super::run::{Executed, bind_parameters};
use super::work::{Lent, Reading};
use super::{Environment, Session, SettingsView};
use crate::catalog::lazy::LazyCatalog;
use crate::catalog::routine::RoutineDef;
use crate::exec::Exec;
use crate::exec::access::Tables;
use crate::exec::around::Around;
use crate::exec::routine::{Called, Caller};
use crate::exec::sequence::{Known, Memory};
use crate::exec::trigger::{Fired, Firing};
use crate::lexer::Literal;
use crate::plan::blob::Constant;
use crate::plan::{Plan, flags};
use crate::procedure::run::{Notices, Returned};
use crate::types::{Datum, Oid};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};
use std::cell::{Cell, RefCell};
use storage::heap::CommandPairs;

/// How deep calls may be in one another.
const DEPTH_MAX: u32 = 100;

/// The session of an execution, while bodies may run in it.
struct Calls<'c, 'e, 'n, A: Allocator + Copy> {
    session: RefCell<&'c mut Session<A>>,
    env: &'c Environment<'e>,
    notices: RefCell<Notices<'n>>,
    /// Where the stack is too low to go deeper.
    floor: usize,
}

impl<A: Allocator + Copy> Caller for Calls<'_, '_, '_, A> {
    fn call(&self, called: Called, arguments: Vec<Constant>, tables: Option<&mut Tables<'_>>) -> Result<Returned> {
        if kernel::fiber::stack_is_low(self.floor) {
            return Err(too_deep());
        }
        let mut session = self.session.borrow_mut();
        let mut notices = self.notices.borrow_mut();
        session.call_function(self.env, called, arguments, tables, &mut **notices)
    }

    fn is_due(&self, firing: &Firing<'_>, tables: Option<&mut Tables<'_>>) -> Result<bool> {
        let mut session = self.session.borrow_mut();
        let mut notices = self.notices.borrow_mut();
        session.run_among(self.env, true, tables, |session| session.is_due(self.env, firing, &mut **notices))
    }

    fn fire(&self, firing: &Firing<'_>, tables: Option<&mut Tables<'_>>) -> Result<Fired> {
        if kernel::fiber::stack_is_low(self.floor) {
            return Err(too_deep());
        }
        let mut session = self.session.borrow_mut();
        let mut notices = self.notices.borrow_mut();
        session.run_among(self.env, true, tables, |session| session.fire(self.env, firing, &mut **notices))
    }
}

impl<A: Allocator + Copy> Held for Calls<'_, '_, '_, A> {
    fn statements(&self) -> Vec<HeldStatement> {
        self.session.borrow().statements()
    }

    fn cursors(&self) -> Vec<HeldCursor> {
        self.session.borrow().cursors()
    }
}

impl<A: Allocator + Copy> Memory for Calls<'_, '_, '_, A> {
    fn known(&self, oid: Oid) -> Option<Known> {
        self.session.borrow().sequences.known(oid)
    }

    fn remember(&self, known: Known) -> Result<()> {
        self.session.borrow().sequences.remember(known)
    }

    fn latest(&self) -> Oid {
        self.session.borrow().sequences.latest()
    }

    fn set_latest(&self, oid: Oid) {
        self.session.borrow().sequences.set_latest(oid);
    }
}

#[cold]
fn too_deep() -> Error {
    Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .hint("Nest fewer calls of functions, or increase the setting fiber_stack_size.")
}

/// Adds to a list of pairs of commands what another that began like it has more.
fn catch_up(behind: &mut dyn CommandPairs, ahead: &[(u32, u32)]) -> Result<()> {
    let known = behind.pairs().len();
    ahead.iter().skip(known).try_for_each(|pair| behind.push(*pair))
}

impl<A: Allocator + Copy> Session<A> {
    /// Is the statement at hand one of a body?
    pub(crate) fn runs_body(&self) -> bool {
        self.bodies > 0
    }

    /// Runs a statement of a body.
    pub(crate) fn in_body<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        self.bodies += 1;
        let done = run(self);
        self.bodies -= 1;
        done
    }

    /// May something be called in what runs? Errors: `54001`.
    pub(super) fn check_depth(&self) -> Result<()> {
        match self.nested >= DEPTH_MAX || kernel::fiber::stack_is_low(kernel::fiber::stack_floor()) {
            true => Err(too_deep()),
            false => Ok(()),
        }
    }

    /// May a statement be executed in the one at hand, as one of a body? Errors: `54001`.
    pub(crate) fn check_bodies(&self) -> Result<()> {
        match self.bodies >= DEPTH_MAX {
            true => Err(too_deep()),
            false => self.check_depth(),
        }
    }

    /// Executes a plan that calls functions of users: `pull` pulls its rows.
    pub(super) fn execute_calling<T>(
        &mut self,
        env: &Environment<'_>,
        plan: Plan<'_>,
        parameters: &[Datum<'_>],
        literals: (&str, &[Literal]),
        notices: Notices<'_>,
        pull: impl FnOnce(&mut Exec<'_>, &Around<'_>) -> Result<T>,
    ) -> Result<Executed<T>> {
        self.check_depth()?;
        let mut work = self.take_work();
        let reading = self.reading(env, &mut work);
        self.work = work;
        let reading = reading?;
        let mut pairs = self.work.pairs.pairs().to_vec();
        let used = self.in_use.len();
        let tables = plan.tables();
        self.in_use
            .try_reserve(tables.len())
            .map_err(|_| Error::out_of_memory("the tables of a statement", tables.len() * size_of::<u32>()))?;
        self.in_use.extend(tables.map(|table| table.oid.0));
        self.nested += 1;
        let done = self.execute_around(env, plan, (&reading, &mut pairs), (parameters, literals), notices, pull);
        self.nested -= 1;
        self.in_use.truncate(used);
        let caught_up = catch_up(&mut self.work.pairs, &pairs);
        let work = self.take_work();
        if done.is_err() && self.nested > 0 {
            self.let_snapshot_go(env, &work, reading.snapshot);
        }
        self.work = work;
        let done = done?;
        caught_up?;
        let mut work = self.take_work();
        self.close_tables(env, &mut work, reading.snapshot, plan.has(flags::WRITES), done.later);
        self.work = work;
        Ok(done)
    }

    fn execute_around<T>(
        &mut self,
        env: &Environment<'_>,
        plan: Plan<'_>,
        (reading, pairs): (&Reading, &mut Vec<(u32, u32)>),
        (parameters, literals): (&[Datum<'_>], (&str, &[Literal])),
        notices: Notices<'_>,
        pull: impl FnOnce(&mut Exec<'_>, &Around<'_>) -> Result<T>,
    ) -> Result<Executed<T>> {
        let styles = self.styles(env)?;
        let (settings, transaction, user) = (self.settings.copied()?, self.transaction, self.user.to_vec());
        let random = self.random;
        let (notifying, chosen) = (self.notifying(env), self.deferred.chosen());
        let (session_user, role) = (self.identity.session_name.to_vec(), self.identity.current);
        let is_superuser = self.identity.is_superuser;
        let (database, database_name) = (self.database, self.database_name().to_owned());
        let committed = self.committed(env);
        let view = SettingsView::new(env.effective, &settings, &transaction, (&session_user, is_superuser));
        let floor = kernel::fiber::stack_floor();
        let calls = Calls { session: RefCell::new(self), env, notices: RefCell::new(notices), floor };
        let read = || {
            let session = calls.session.borrow();
            session.catalog_parts(env, &session.work)
        };
        let around = Around {
            catalog: LazyCatalog::reading(&env.database.catalogs, &read),
            settings: &view,
            style: styles.style(transaction.started_at()),
            statement_time: kernel::clock::wall_us(),
            session: env.session,
            number: env.number,
            user: &user,
            session_user: &session_user,
            role,
            database: (database, &database_name),
            server_start: env.database.started_at,
            server: env.server,
            random: Cell::new(random),
            expressions: Default::default(),
            relations: env.relations(),
            warnings: RefCell::new(Vec::new()),
            sequences: &calls,
            committed,
            read_only: transaction.shown_read_only(&view),
            locks: Cell::new(false),
            later: Cell::new(0),
            requests: RefCell::new(Vec::new()),
            held: &calls,
            chosen,
            notifying,
            caller: Some(&calls),
            transitions: env.transitions,
        };
        let mut exec = Exec::new(plan, &around, Some(reading.tables(pairs)));
        bind_parameters(&mut exec, plan, parameters, literals, around.style)?;
        let value = pull(&mut exec, &around);
        drop(exec);
        if around.locks.get() {
            calls.session.borrow_mut().work.begun = true;
        }
        Ok(Executed {
            value: value?,
            random: around.random.get(),
            later: around.later.get(),
            requests: around.requests.take(),
            warnings: around.warnings.take(),
        })
    }

    /// Calls a function in the middle of a statement that uses these tables.
    fn call_function(
        &mut self,
        env: &Environment<'_>,
        Called { oid, types }: Called,
        arguments: Vec<Constant>,
        tables: Option<&mut Tables<'_>>,
        notices: Notices<'_>,
    ) -> Result<Returned> {
        let routine = self.definitions(env, &self.work)?.routine(oid).cloned();
        let Some(routine) = routine else {
            let message = format!("function with OID {} does not exist", oid.0);
            return Err(Error::statement(sqlstate::UNDEFINED_FUNCTION, message));
        };
        self.check_executes(env, &routine)?;
        if routine.strict && arguments.iter().any(|argument| matches!(argument, Constant::Null)) {
            return Ok(Returned { is_one: !routine.set, ..Returned::default() });
        }
        // Whatever is executed around it, the body is the user's.
        let trusted = std::mem::replace(&mut self.trusted, false);
        let done = match types.is_empty() {
            true => self.call_among(env, &routine, (arguments, types), tables, notices),
            false => self.call_among(env, &routine.with_types(&types), (arguments, types), tables, notices),
        };
        self.trusted = trusted;
        done
    }

    fn call_among(
        &mut self,
        env: &Environment<'_>,
        routine: &RoutineDef,
        arguments: (Vec<Constant>, Vec<Oid>),
        tables: Option<&mut Tables<'_>>,
        notices: Notices<'_>,
    ) -> Result<Returned> {
        let changes = routine.volatility == b'v';
        self.run_among(env, changes, tables, |session| {
            session.as_routine(env, routine, |session| session.run_function(env, routine, arguments, notices))
        })
    }

    /// Runs a body in the middle of a statement that uses these tables; it may change something, or has the statement's snapshot.
    pub(super) fn run_among<T>(
        &mut self,
        env: &Environment<'_>,
        changes: bool,
        tables: Option<&mut Tables<'_>>,
        run: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let Some(tables) = tables else { return run(self) };
        catch_up(&mut self.work.pairs, tables.pairs.pairs())?;
        self.work.command = self.work.command.max(tables.later + 1);
        let around = self.work.lent.take();
        if !changes {
            let version = env.database.shared.as_ref().and_then(|shared| shared.settled());
            self.work.lent = Some(Lent { snapshot: tables.snapshot, version });
        }
        let done = run(self);
        self.work.lent = around;
        catch_up(tables.pairs, self.work.pairs.pairs())?;
        tables.later = self.work.command;
        self.work.command += 1;
        done
    }
}
