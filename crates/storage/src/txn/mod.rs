//! Transactions: who runs one, what became of the others, what a snapshot sees, and who waits for whom.
//!
//! | file | what it is |
//! |---|---|
//! | [`map`] | what became of each transaction |
//! | [`registry`] | what each session has: its transaction, its snapshots |
//! | [`snapshot`] | one number, taken in constant time |
//! | [`horizon`] | what no snapshot needs any more |
//! | [`visibility`] | whether a version is visible, may be changed, may go |
//! | [`finish`] | commit and abort |
//! | [`nested`] | savepoints: what a transaction can take back |
//! | [`wait`] | waiting for a transaction's end |
//! | [`lock`] | locks of relations and other objects, and advisory ones |
//! | [`fast_lock`] | those of relations that are in nobody's way |
//! | [`row_lock`] | sets of row lockers |
//! | [`deadlock`] | circles of waits |
//!
//! ```text
//!            first change            commit record in the log      log durable
//!  (no id) --------------> running -------------------------> committed ------> visible, finished
//!     |                       | abort, or a crash                  (the map says so, no snapshot reaches it)
//!     |                       \------------------------------> aborted: never visible
//!     \---- commit or abort: nothing to do but to give up locks and snapshots
//! ```
//!
//! Rules
//! 1. A transaction gets its id when it first changes something ([`Transactions::xid`]); one that only reads has none and costs no
//!    log.
//! 2. The order of commits is the order of their records in the log; a commit's number is the LSN of its record's end.
//! 3. A snapshot is a position of the log: it sees exactly the transactions that committed at or before it. It is taken as the log's
//!    durable end, so what it sees will not be lost.
//! 4. All that a session has lies in its row of the registry, none of it in values that the session would have to carry: a session
//!    can be parked, resumed elsewhere, or cleaned up after by another.
//! 5. Locks are given up after the commit is durable and the session is no longer in the registry, so whoever gets one sees the
//!    commit.
//!
//! What this does not do: decide which snapshot a statement uses (the isolation level is the layer's above), nor when it waits.

pub mod deadlock;
mod fast_lock;
pub mod finish;
pub mod horizon;
pub mod lock;
pub mod map;
pub mod nested;
mod places;
pub mod registry;
pub mod row_lock;
pub mod snapshot;
pub mod visibility;
pub mod wait;

pub use deadlock::Waiting;
pub use horizon::Horizon;
pub use lock::{LockKey, LockMode};
pub use map::Status;
pub use nested::Savepoint;
pub use row_lock::Strength;
pub use snapshot::Snapshot;
pub use visibility::{Claim, Seen};
pub use wait::Ended;

use crate::wal::Wal;
use base::{Result, SessionId, Xid};
use horizon::HorizonShared;
use kernel::region;
use kernel::sync::{Latch, Spin, SpinName, WaitList};
use lock::Locks;
use map::Map;
use registry::Row;
use row_lock::RowLocks;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// The first transaction of a new database; those before it are the catalog's own, committed always.
pub const FIRST_XID: Xid = Xid(3);

kernel::shared! {
    /// What the spinlock `transaction_table` guards.
    struct Next {
        xid: u64,
    }

    struct Shared {
        next: Spin<Next>,
        /// The same number, to be read without the spinlock.
        next_xid: AtomicU64,
        commits: AtomicU64,
        aborts: AtomicU64,
        /// Children of running transactions that have not been taken back.
        children: AtomicU64,
        deadlocks: AtomicU64,
        /// One session at a time looks for a circle.
        detector: Latch,
        /// How long a session waits before it looks, in nanoseconds.
        deadlock_timeout_ns: AtomicU64,
    }
}

/// All of it; a value of references into the region.
pub struct Transactions {
    pub(crate) map: Map,
    shared: &'static Shared,
    rows: &'static [Row],
    /// Who waits for the end of a transaction, by a hash of its id.
    waiters: &'static [WaitList],
    horizon: &'static HorizonShared,
    locks: Locks,
    row_locks: RowLocks,
    wal: Wal,
}

/// How many lists of waiters for transactions there are.
const WAITERS: usize = 256;

/// Counts for views.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionUsage {
    /// The next transaction's id.
    pub next_xid: Xid,
    /// Transactions with an id that committed since the start.
    pub commits: u64,
    /// Transactions with an id that aborted since the start.
    pub aborts: u64,
    /// Circles of waits that were broken.
    pub deadlocks: u64,
    /// What no snapshot needs any more.
    pub horizon: Horizon,
    /// The map.
    pub map: map::MapUsage,
}

impl Transactions {
    /// Takes the tables. Before the first engine.
    pub fn make(wal: Wal) -> &'static Transactions {
        let this: &'static Transactions = Box::leak(Box::new(Transactions {
            map: Map::make(),
            shared: region::single("transactions"),
            rows: region::table("transaction rows", kernel::session::slots().len()),
            waiters: region::table("transaction waiters", WAITERS),
            horizon: region::single("transaction horizon"),
            locks: Locks::make(),
            row_locks: RowLocks::make(),
            wal,
        }));
        this.shared.next.publish(SpinName::TransactionTable, 0);
        this
    }

    /// Says which id is next. Recovery's, and a new database's.
    pub(crate) fn open(&self, next: Xid) -> Result<()> {
        self.map.prepare(next)?;
        self.shared.next.lock().xid = next.0;
        self.shared.next_xid.store(next.0, Release);
        Ok(())
    }

    /// The next transaction's id: nobody has had it.
    pub fn next_xid(&self) -> Xid {
        Xid(self.shared.next_xid.load(Acquire))
    }

    /// The next id, read so that everybody who has a lower one is in the registry or has finished.
    pub(crate) fn settled_next_xid(&self) -> Xid {
        Xid(self.shared.next.lock().xid)
    }

    /// What became of a transaction.
    #[inline]
    pub fn status(&self, xid: Xid) -> Status {
        self.map.status(xid)
    }

    /// How long a session waits for a lock before it looks for a circle. For all sessions.
    pub fn set_deadlock_timeout(&self, ns: u64) {
        self.shared.deadlock_timeout_ns.store(ns, Relaxed);
    }

    /// Ends the running session: aborts its transaction, or finishes a commit whose record is in the log, and gives up locks,
    /// advisory ones too, and snapshots. Also after the session's death.
    pub(crate) fn end_session(&'static self, session: SessionId) {
        self.leave_queues(session);
        self.finish_dead(session);
        self.locks.release_all(self, session, lock::Release::Everything);
        self.row(session).clear();
    }

    /// Counts for views.
    pub fn usage(&self) -> TransactionUsage {
        TransactionUsage {
            next_xid: self.next_xid(),
            commits: self.shared.commits.load(Relaxed),
            aborts: self.shared.aborts.load(Relaxed),
            deadlocks: self.shared.deadlocks.load(Relaxed),
            horizon: self.horizon_cached(),
            map: self.map.usage(),
        }
    }

    /// Locks of objects: who holds and who waits, for views and for the layer above.
    pub fn locks(&self) -> &Locks {
        &self.locks
    }

    /// Sets of row lockers.
    pub fn row_locks(&self) -> &RowLocks {
        &self.row_locks
    }

    fn row(&self, session: SessionId) -> &'static Row {
        &self.rows[session.0 as usize]
    }

    #[inline]
    fn mine(&self) -> &'static Row {
        self.row(kernel::session::current_id())
    }
}
