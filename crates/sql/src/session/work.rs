//! A session's transaction in the storage: snapshots, commands, locks of tables, commit and abort.
//!
//! ```text
//!  statement:  lock its tables -> snapshot -> execute -> let the snapshot go
//!                                    |  REPEATABLE READ: taken once, kept until the transaction's end
//! ```
//!
//! Rules
//! 1. Everything that is needed to go on lies in the session's memory or in its row of the storage's registry, so the session
//!    may be resumed by another process between any two requests.
//! 2. Tables are locked before the snapshot is taken: what the lock was waited for is seen.
//! 3. A transaction that fails gives everything up in the storage at once, whether its block goes on or not; behind a savepoint, what it
//!    did since.
//! 4. At REPEATABLE READ the first statement that sees a snapshot takes it, whether it reads stored tables or not: also one that is only
//!    analysed (`PREPARE`, `EXPLAIN`, `DECLARE`), and definitions. `SET`, `SHOW`, `LOCK` and savepoints see none.
//! 5. Without an engine there is no storage: tests and tools plan and execute what needs none.

use super::{Environment, List, Session};
use crate::catalog::store::{Committed, Definitions};
use crate::exec::access::Tables;
use crate::plan::{Plan, flags};
use allocator_api2::alloc::Allocator;
use base::settings::{Isolation, SettingId};
use base::{Error, Result, Xid};
use kernel::clock;
use std::sync::Arc;
use storage::heap::{self, CommandPairs, Reader};
use storage::relation::Relations;
use storage::txn::lock::{LockScope, LockWait};
use storage::txn::{LockKey, LockMode, Status};
use storage::{Durability, Snapshot, Transactions};

/// Pairs of commands in a session's memory.
pub(crate) struct Pairs<A: Allocator + Copy>(List<(u32, u32), A>);

impl<A: Allocator + Copy> CommandPairs for Pairs<A> {
    fn pairs(&self) -> &[(u32, u32)] {
        &self.0
    }

    fn push(&mut self, pair: (u32, u32)) -> Result<()> {
        let bytes = (self.0.len() + 1) * size_of::<(u32, u32)>();
        self.0.try_reserve(1).map_err(|_| Error::out_of_memory("a transaction's table of commands", bytes))?;
        self.0.push(pair);
        Ok(())
    }
}

/// The storage's side of a session's transaction.
pub(crate) struct Work<A: Allocator + Copy> {
    /// The snapshot of a transaction that keeps its first one.
    snapshot: Option<Snapshot>,
    /// The number of the next statement that changes something.
    pub(crate) command: u32,
    pub(crate) pairs: Pairs<A>,
    /// The transaction may hold something in the storage.
    pub(crate) begun: bool,
    /// It has changed definitions.
    pub(crate) defines: bool,
    /// What a function that changes nothing sees: what the statement sees that calls it.
    pub(crate) lent: Option<Lent>,
}

/// A statement's snapshot in a function that it calls.
#[derive(Clone, Copy)]
pub(crate) struct Lent {
    pub(crate) snapshot: Snapshot,
    /// The definitions that counted when the function was called, if they were settled.
    pub(crate) version: Option<u64>,
}

/// How a command reads stored tables.
pub(crate) struct Reading {
    pub(crate) relations: &'static Relations,
    pub(crate) snapshot: Snapshot,
    pub(crate) isolation: heap::Isolation,
    pub(crate) lock_timeout_ns: u64,
}

impl<A: Allocator + Copy> Work<A> {
    pub(crate) fn new(memory: A) -> Work<A> {
        Work {
            snapshot: None,
            command: 0,
            pairs: Pairs(List::new_in(memory)),
            begun: false,
            defines: false,
            lent: None,
        }
    }

    /// The snapshot that the transaction keeps.
    pub(crate) fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// True if plans that are made now are good for other transactions, and the other way round.
    pub(crate) fn shares_plans(&self) -> bool {
        !self.defines && self.snapshot.is_none()
    }
}

impl Reading {
    /// What the command uses. `pairs` are its transaction's.
    pub(crate) fn tables<'w>(&self, pairs: &'w mut dyn CommandPairs) -> Tables<'w> {
        Tables {
            relations: self.relations,
            snapshot: self.snapshot,
            isolation: self.isolation,
            pairs,
            lock_timeout_ns: self.lock_timeout_ns,
            later: self.snapshot.command + 1,
        }
    }
}

impl<'e> Environment<'e> {
    /// The stored tables; none outside an engine.
    pub fn relations(&self) -> Option<&'static Relations> {
        self.session.and(self.database.relations)
    }

    /// The stored tables. Errors: `0A000` outside an engine.
    pub fn stored(&self) -> Result<&'static Relations> {
        self.relations().ok_or_else(|| Error::unsupported("stored tables are not supported here"))
    }
}

pub(crate) fn transactions(relations: &'static Relations) -> &'static Transactions {
    relations.storage().transactions
}

impl<A: Allocator + Copy> Session<A> {
    /// How long a lock is waited for, in nanoseconds; zero is for ever.
    fn lock_timeout_ns(&self, env: &Environment<'_>) -> u64 {
        const NS_PER_MS: u64 = 1_000_000;
        self.view(env).value(SettingId::LockTimeout).number().max(0) as u64 * NS_PER_MS
    }

    /// Locks a table, or another relation, until the transaction ends. False only if it is not to be waited for.
    ///
    /// Errors: `40P01`, `55P03`, `57014`, `53200`.
    pub(crate) fn lock_relation(
        &mut self,
        env: &Environment<'_>,
        oid: u32,
        mode: LockMode,
        waits: bool,
    ) -> Result<bool> {
        self.lock_key(env, LockKey::relation(oid), mode, waits)
    }

    /// Locks anything until the transaction ends: see [`Session::lock_relation`].
    pub(crate) fn lock_key(
        &mut self,
        env: &Environment<'_>,
        key: LockKey,
        mode: LockMode,
        waits: bool,
    ) -> Result<bool> {
        let relations = env.stored()?;
        let how = match (waits, self.lock_timeout_ns(env)) {
            (false, _) => LockWait::Never,
            (true, 0) => LockWait::Forever,
            (true, timeout) => LockWait::Until(clock::now() + timeout),
        };
        self.work.begun = true;
        transactions(relations).lock(key, mode, LockScope::Transaction, how)
    }

    /// What a statement reads and writes stored tables with; none if its plan uses none. The transaction's state is `work`, which
    /// the caller has taken out of the session.
    pub(crate) fn tables<'w>(
        &self,
        env: &Environment<'_>,
        plan: Plan<'_>,
        work: &'w mut Work<A>,
    ) -> Result<Option<Tables<'w>>> {
        if !plan.has(flags::READS) && !plan.has(flags::WRITES) {
            return Ok(None);
        }
        self.open_tables(env, work).map(Some)
    }

    /// What a command reads and writes stored tables with.
    pub(crate) fn open_tables<'w>(&self, env: &Environment<'_>, work: &'w mut Work<A>) -> Result<Tables<'w>> {
        let reading = self.reading(env, work)?;
        Ok(reading.tables(&mut work.pairs))
    }

    /// Does the transaction keep its first snapshot?
    fn repeats(&self, env: &Environment<'_>) -> bool {
        self.transaction.shown_isolation(&self.view(env)) >= Isolation::RepeatableRead
    }

    /// A statement that sees a snapshot begins. A transaction that keeps its first one takes it now, even if the statement reads no
    /// table: what others commit from here on is not seen.
    pub(crate) fn take_snapshot(&mut self, env: &Environment<'_>) {
        self.transaction.note_snapshot();
        let is_there = self.work.snapshot.is_some() || self.work.lent.is_some();
        if is_there || !self.repeats(env) {
            return;
        }
        if let Some(relations) = env.relations() {
            self.work.begun = true;
            self.work.snapshot = Some(transactions(relations).snapshot());
        }
    }

    /// The same for the execution of a plan. One that opens tables takes its snapshot when it does; until then a transaction that is no
    /// longer than the statement may use what all sessions share.
    pub(crate) fn begin_plan(&mut self, env: &Environment<'_>, plan: Plan<'_>) {
        match plan.has(flags::READS) || plan.has(flags::WRITES) || plan.has(flags::CALLS) {
            true => self.transaction.note_snapshot(),
            false => self.take_snapshot(env),
        }
    }

    /// A client's statement is analysed, or bound to values, that is going to see a snapshot. Outside a block its execution follows at once,
    /// and takes it.
    pub(crate) fn await_snapshot(&mut self, env: &Environment<'_>) {
        match self.transaction.is_block() {
            true => self.take_snapshot(env),
            false => self.transaction.note_snapshot(),
        }
    }

    /// Begins a command.
    pub(crate) fn reading(&self, env: &Environment<'_>, work: &mut Work<A>) -> Result<Reading> {
        let relations = env.stored()?;
        let lock_timeout_ns = self.lock_timeout_ns(env);
        let repeats = self.repeats(env);
        let isolation = if repeats { heap::Isolation::RepeatableRead } else { heap::Isolation::ReadCommitted };
        let transactions = transactions(relations);
        work.begun = true;
        let own = transactions.current_xid().unwrap_or(Xid(0));
        if let Some(Lent { snapshot, .. }) = work.lent {
            let snapshot = snapshot.at_command(own, snapshot.command);
            return Ok(Reading { relations, snapshot, isolation, lock_timeout_ns });
        }
        let snapshot = match work.snapshot {
            Some(snapshot) => snapshot,
            None => {
                let snapshot = transactions.snapshot();
                if repeats {
                    work.snapshot = Some(snapshot);
                }
                snapshot
            }
        };
        let snapshot = snapshot.at_command(own, work.command);
        Ok(Reading { relations, snapshot, isolation, lock_timeout_ns })
    }

    /// The command is over: its snapshot goes, unless the transaction keeps it, and the next one sees what it did. `later` is the last
    /// number that it has used at its end, if it has used more than one there.
    pub(crate) fn close_tables(
        &self,
        env: &Environment<'_>,
        work: &mut Work<A>,
        snapshot: Snapshot,
        wrote: bool,
        later: u32,
    ) {
        self.let_snapshot_go(env, work, snapshot);
        if wrote {
            // Two: what a statement does at its end has a number of its own.
            work.command = (work.command + 2).max(later + 1);
        }
    }

    /// Lets a command's snapshot go, unless the transaction keeps it or it is another's.
    pub(crate) fn let_snapshot_go(&self, env: &Environment<'_>, work: &Work<A>, snapshot: Snapshot) {
        if work.snapshot.is_none()
            && work.lent.is_none()
            && let Some(relations) = env.relations()
        {
            transactions(relations).release(snapshot);
        }
    }

    /// Are plans that are made now good for others? In a function with its caller's snapshot only while no definition has changed.
    pub(crate) fn shares_plans(&self, env: &Environment<'_>) -> bool {
        let settled = || env.database.shared.as_ref().and_then(|shared| shared.settled());
        let lent = self.work.lent.as_ref();
        self.work.shares_plans() && lent.is_none_or(|lent| lent.version.is_some() && lent.version == settled())
    }

    /// The definitions of its database that are committed when somebody asks.
    pub(crate) fn committed<'e>(&self, env: &Environment<'e>) -> Option<Committed<'e>> {
        let (shared, relations) = env.database.shared.as_ref().zip(env.relations())?;
        Some(Committed { shared, relations, database: self.database })
    }

    /// The definitions that count now: what others have committed, and what the own transaction has changed.
    pub(crate) fn definitions(&self, env: &Environment<'_>, work: &Work<A>) -> Result<Arc<Definitions>> {
        let (Some(relations), Some(shared)) = (env.relations(), &env.database.shared) else {
            return Ok(Arc::default());
        };
        let definitions = match work.defines {
            false => shared.definitions(relations, self.database)?,
            true => {
                let transactions = transactions(relations);
                let taken = transactions.snapshot();
                let own = transactions.current_xid().unwrap_or(Xid(0));
                let snapshot = taken.at_command(own, work.command);
                let reader = Reader { snapshot: &snapshot, pairs: work.pairs.pairs() };
                let read = Definitions::read(relations, &reader, self.database);
                transactions.release(taken);
                Arc::new(read?)
            }
        };
        let lent = work.lent.map(|lent| lent.snapshot);
        let Some(snapshot) = lent.or(work.snapshot) else { return Ok(definitions) };
        // An index that is younger than the snapshot that the transaction keeps is not searched.
        let transactions = transactions(relations);
        let is_seen = |xid: Xid| match transactions.status(xid) {
            Status::Committed(end) => end <= snapshot.lsn,
            Status::Ancient => true,
            Status::Running | Status::Aborted => transactions.is_mine(xid),
        };
        let changed = definitions.with(|table| {
            let usable = table.since == Xid(0) || is_seen(table.since);
            if usable && table.indexes.iter().all(|index| is_seen(index.since)) {
                return None;
            }
            let mut table = table.clone();
            table.usable = usable;
            table.indexes.iter_mut().for_each(|index| index.usable = is_seen(index.since));
            Some(table)
        });
        Ok(changed.map_or(definitions, Arc::new))
    }

    /// Takes the transaction's state out of the session while a statement uses both.
    pub(crate) fn take_work(&mut self) -> Work<A> {
        let memory = self.memory;
        std::mem::replace(&mut self.work, Work::new(memory))
    }

    /// Commits in the storage. After an error the transaction is to be aborted.
    pub(crate) fn commit_work(&mut self, env: &Environment<'_>) -> Result<()> {
        if !self.work.begun {
            return Ok(());
        }
        if self.temporary {
            self.before_commit(env)?;
        }
        let relations = env.stored()?;
        let shared = env.database.shared.as_ref().filter(|_| self.work.defines);
        if let Some(shared) = shared {
            shared.begin();
        }
        let durability = match kernel::fault::planted("sql.early_answer") {
            true => Durability::Asynchronous,
            false => Durability::Waited,
        };
        let committed = relations.commit(durability);
        if let Some(shared) = shared {
            shared.end();
        }
        committed?;
        let memory = self.memory;
        self.work = Work::new(memory);
        self.work_number += 1;
        Ok(())
    }

    /// Aborts in the storage, and gives locks and snapshots up.
    pub(crate) fn abort_work(&mut self, env: &Environment<'_>) {
        if !self.work.begun {
            return;
        }
        if let Some(relations) = env.relations() {
            relations.abort();
        }
        let memory = self.memory;
        self.work = Work::new(memory);
        self.work_number += 1;
    }
}
