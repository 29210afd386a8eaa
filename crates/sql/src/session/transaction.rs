//! Transaction blocks: what `BEGIN`, `COMMIT` and errors make of a session.
//!
//! ```text
//!            BEGIN                    error
//!   Idle ------------> Open ------------------------> Failed
//!    ^  \               |                               |
//!    |   \ several statements in one simple query       |
//!    |    \----> Implicit --BEGIN--> Open               |
//!    \------------ COMMIT, ROLLBACK ---- ROLLBACK ------/
//!                       Open <--------- ROLLBACK TO ----/
//! ```
//!
//! Outside a block every statement is a transaction of its own; the statements of one simple query are one, unless they
//! say otherwise, and so are those of the extended query up to `Sync`.
//!
//! Rules
//! 1. The isolation level can be set until the transaction's first snapshot (`25001` afterwards).
//! 2. `SERIALIZABLE` is refused (`0A000`): a weaker level never passes for it.
//! 3. `now()` is the start of the transaction: of its first statement.

use super::SettingsView;
use base::settings::{Isolation, SettingId};
use base::{Error, Result, sqlstate};

/// What `ReadyForQuery` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Block {
    /// Not in a transaction block.
    Idle,
    /// In one.
    Open,
    /// In one that failed.
    Failed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Idle,
    Implicit,
    Open,
    Failed,
}

/// A session's transaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transaction {
    state: State,
    /// A statement runs, or has run, in it.
    started: bool,
    /// Outside a block a portal has been executed: what comes before `Sync` is one transaction with it.
    pipelined: bool,
    /// The statement at hand is the last of several that came in one simple query.
    last: bool,
    /// The statement at hand cannot be undone, and is alone in it.
    alone: bool,
    /// Its first snapshot has been taken.
    has_snapshot: bool,
    isolation: Option<Isolation>,
    read_only: Option<bool>,
    /// Savepoints that are open.
    levels: u32,
    deferrable: Option<bool>,
    started_at: i64,
}

impl Transaction {
    /// What `ReadyForQuery` says.
    pub fn block(&self) -> Block {
        match self.state {
            State::Idle | State::Implicit => Block::Idle,
            State::Open => Block::Open,
            State::Failed => Block::Failed,
        }
    }

    /// True in a block that `BEGIN` began.
    pub(crate) fn is_block(&self) -> bool {
        matches!(self.state, State::Open | State::Failed)
    }

    /// True in a block that failed.
    pub(crate) fn is_failed(&self) -> bool {
        self.state == State::Failed
    }

    /// True where a statement's end is not the transaction's.
    pub(crate) fn outlives_statement(&self) -> bool {
        self.state != State::Idle
    }

    /// When it started.
    pub(crate) fn started_at(&self) -> i64 {
        self.started_at
    }

    /// A statement begins; the first one starts the transaction.
    pub(crate) fn begin_statement(&mut self, now: i64) {
        if !self.started {
            self.started = true;
            self.started_at = now;
        }
    }

    /// Is the statement at hand not the only one of its transaction?
    pub(crate) fn has_others(&self) -> bool {
        self.pipelined || self.outlives_statement()
    }

    /// The statement at hand, which has no others, cannot be undone: its end is the transaction's, in a pipeline too.
    pub(crate) fn stand_alone(&mut self) {
        self.alone = true;
    }

    /// Was that said of it?
    pub(crate) fn stands_alone(&self) -> bool {
        self.alone
    }

    /// A portal has been executed.
    pub(crate) fn note_executed(&mut self) {
        self.pipelined |= self.started;
    }

    /// Whether a statement runs, or has run, in it.
    pub(crate) fn is_started(&self) -> bool {
        self.started
    }

    /// Several statements came in one simple query: they are one transaction.
    pub(crate) fn begin_implicit(&mut self) {
        if self.state == State::Idle {
            self.state = State::Implicit;
        }
    }

    /// The next statement is the last of its text: its end is the transaction's, unless it is in a block then.
    pub(crate) fn expect_last(&mut self) {
        self.last = true;
    }

    /// Is the end of the statement at hand that of the transaction?
    pub(crate) fn ends_with_statement(&self) -> bool {
        self.state == State::Idle || (self.state == State::Implicit && self.last)
    }

    /// `BEGIN`: true if there was no block yet.
    pub(crate) fn begin_block(&mut self) -> bool {
        match self.state {
            State::Idle | State::Implicit => {
                self.state = State::Open;
                true
            }
            State::Open | State::Failed => false,
        }
    }

    /// A statement failed: in a block the transaction is failed. True if the transaction is over.
    pub(crate) fn fail(&mut self) -> bool {
        match self.state {
            State::Open | State::Failed => {
                self.state = State::Failed;
                false
            }
            State::Idle | State::Implicit => true,
        }
    }

    /// A savepoint is made: the modes are what they are now.
    pub(crate) fn begin_level(&mut self, isolation: Isolation, read_only: bool) {
        self.levels += 1;
        self.isolation = Some(isolation);
        self.read_only = Some(read_only);
    }

    /// A savepoint is gone; the transaction had that access mode when it was made.
    pub(crate) fn end_level(&mut self, read_only: bool) {
        self.levels -= 1;
        self.read_only = Some(read_only);
    }

    /// It went back to a savepoint, where it had that access mode.
    pub(crate) fn go_on(&mut self, read_only: bool) {
        self.state = State::Open;
        self.read_only = Some(read_only);
    }

    /// The transaction is over.
    pub(crate) fn end(&mut self) {
        *self = Transaction::default();
    }

    /// The session is over.
    pub(crate) fn abandon(&mut self) {
        self.end();
    }

    /// Its first snapshot has been taken, or is about to be: its modes stay what they are.
    pub(crate) fn note_snapshot(&mut self) {
        self.has_snapshot = true;
    }

    /// Sets the isolation level of this transaction.
    pub(crate) fn set_isolation(&mut self, isolation: Isolation) -> Result<()> {
        if isolation == Isolation::Serializable {
            return Err(Error::unsupported("SERIALIZABLE is not supported yet")
                .detail("No weaker isolation level is used in its place.")
                .hint("Use REPEATABLE READ, and lock rows where that is not enough."));
        }
        let isolation = isolation.max(Isolation::ReadUncommitted);
        if self.levels > 0 && self.isolation != Some(isolation) {
            let message = "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction";
            return Err(Error::statement(sqlstate::ACTIVE_SQL_TRANSACTION, message));
        }
        if self.has_snapshot && self.isolation != Some(isolation) {
            let message = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
            return Err(Error::statement(sqlstate::ACTIVE_SQL_TRANSACTION, message));
        }
        self.isolation = Some(isolation);
        Ok(())
    }

    /// Sets the access mode of this transaction.
    pub(crate) fn set_read_only(&mut self, read_only: bool) -> Result<()> {
        if !read_only && self.read_only == Some(true) && self.levels > 0 {
            let message = "cannot set transaction read-write mode inside a read-only transaction";
            return Err(Error::statement(sqlstate::ACTIVE_SQL_TRANSACTION, message));
        }
        if !read_only && self.read_only == Some(true) && self.has_snapshot {
            let message = "transaction read-write mode must be set before any query";
            return Err(Error::statement(sqlstate::ACTIVE_SQL_TRANSACTION, message));
        }
        self.read_only = Some(read_only);
        Ok(())
    }

    /// Sets whether this transaction waits for a safe snapshot.
    pub(crate) fn set_deferrable(&mut self, deferrable: bool) {
        self.deferrable = Some(deferrable);
    }

    /// The isolation level of this transaction.
    pub(crate) fn shown_isolation(&self, settings: &SettingsView<'_>) -> Isolation {
        self.isolation.unwrap_or_else(|| settings.default_isolation())
    }

    /// Whether this transaction only reads.
    pub(crate) fn shown_read_only(&self, settings: &SettingsView<'_>) -> bool {
        self.read_only.unwrap_or_else(|| settings.bool(SettingId::DefaultTransactionReadOnly))
    }

    /// Whether this transaction waits for a safe snapshot.
    pub(crate) fn shown_deferrable(&self, settings: &SettingsView<'_>) -> bool {
        self.deferrable.unwrap_or_else(|| settings.bool(SettingId::DefaultTransactionDeferrable))
    }
}

/// What a statement in a failed transaction hears.
#[cold]
pub(crate) fn aborted() -> Error {
    Error::statement(
        sqlstate::IN_FAILED_SQL_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}
