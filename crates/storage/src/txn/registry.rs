//! What each session has of the transaction system: a row in a table of the region, indexed by the session's slot.
//!
//! Rules
//! 1. A session writes its own row only; others read it: for the oldest running transaction, the oldest snapshot, deadlocks,
//!    views. After a death the clean-up writes it.
//! 2. An id is entered in the row before the next id is raised, so that whoever reads the next id and then all rows misses no
//!    running transaction below it.
//! 3. The id leaves the row last: after the map knows what became of it and, for a commit, after that is durable.

use super::Transactions;
use super::deadlock::WaitRecord;
use super::fast_lock::FastLocks;
use base::{Lsn, Result, SessionId, Xid};
use kernel::session;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Snapshots that a session can hold at a time without sharing their place.
pub(super) const SNAPSHOTS: usize = 6;

kernel::shared! {
    /// A session's row.
    pub(super) struct Row {
        /// The running transaction, or zero.
        pub(super) xid: AtomicU64,
        /// The id that changes have now: the transaction's, that of a child of it behind a savepoint, or zero if there is none yet.
        pub(super) writer: AtomicU64,
        /// The newest child, or zero.
        pub(super) newest_child: AtomicU64,
        /// Children that have not been taken back.
        pub(super) children: AtomicU64,
        /// Savepoints that are open.
        pub(super) level: AtomicU32,
        /// Savepoints that the transaction has had.
        pub(super) savepoints: AtomicU32,
        /// Snapshots that are held: positions, zero for none.
        pub(super) snapshots: [AtomicU64; SNAPSHOTS],
        /// How often each of them is held.
        pub(super) holds: [AtomicU32; SNAPSHOTS],
        /// The end of the last commit that was not waited for: the session's own snapshots reach at least to there.
        pub(super) own_commit: AtomicU64,
        /// When the transaction got its id, in microseconds since 2000.
        pub(super) since_us: AtomicU64,
        /// Locks of relations that are not in the lock table.
        pub(super) fast: FastLocks,
        /// The first of the locks that the session holds in the lock table.
        pub(super) locks: AtomicU32,
        /// The first of the row locks that the transaction holds.
        pub(super) row_locks: AtomicU32,
        /// What it waits for.
        pub(super) waits: WaitRecord,
    }
}

impl Row {
    /// Forgets everything: the session is over.
    pub(super) fn clear(&self) {
        self.end_levels();
        self.xid.store(0, SeqCst);
        for (snapshot, holds) in self.snapshots.iter().zip(&self.holds) {
            holds.store(0, Relaxed);
            snapshot.store(0, SeqCst);
        }
        self.own_commit.store(0, Relaxed);
        self.waits.clear();
    }

    /// The transaction is about to leave: it has no levels any more.
    #[inline]
    pub(super) fn end_levels(&self) {
        self.writer.store(0, Relaxed);
        if self.savepoints.load(Relaxed) != 0 {
            self.level.store(0, Relaxed);
            self.savepoints.store(0, Relaxed);
            self.newest_child.store(0, SeqCst);
        }
    }

    /// The oldest snapshot that is held.
    pub(super) fn oldest_snapshot(&self) -> Option<Lsn> {
        self.snapshots.iter().map(|snapshot| snapshot.load(SeqCst)).filter(|&lsn| lsn != 0).min().map(Lsn)
    }
}

/// A running transaction, for views.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Running {
    /// Whose it is.
    pub session: SessionId,
    /// Its id, if it has one.
    pub xid: Option<Xid>,
    /// The oldest snapshot that the session holds.
    pub snapshot: Option<Lsn>,
    /// Since when it has an id: microseconds since 2000.
    pub since_us: i64,
}

impl Transactions {
    /// The running session's transaction id, if it has one. Savepoints do not change it.
    #[inline]
    pub fn current_xid(&self) -> Option<Xid> {
        Some(Xid(self.mine().xid.load(Relaxed))).filter(|xid| xid.0 != 0)
    }

    /// The id that the running session's next change is stamped with: its transaction's, or, behind a savepoint, that of a child of it
    /// ([`super::nested`]). It gets one now if it has none. May wait for memory.
    ///
    /// Errors: `53200`, `53400`, `54000`.
    #[inline]
    pub fn xid(&self) -> Result<Xid> {
        match self.mine().writer.load(Relaxed) {
            0 => self.assign(),
            xid => Ok(Xid(xid)),
        }
    }

    /// The oldest transaction that runs; the next id if none does.
    pub fn oldest_running(&self) -> Xid {
        let next = self.settled_next_xid();
        let running = self.reached().iter().map(|row| row.xid.load(SeqCst)).filter(|&xid| xid != 0);
        Xid(running.fold(next.0, u64::min))
    }

    /// Transactions below `next` that have no commit record and no abort: each is in the registry now, and its record, should one
    /// come, is behind the log's end as it was before this call.
    pub(crate) fn running_below(&self, next: Xid) -> Vec<Xid> {
        let ids = self.reached().iter().map(|row| Xid(row.xid.load(SeqCst)));
        let mut running: Vec<Xid> =
            ids.filter(|xid| xid.0 != 0 && *xid < next && self.status(*xid) == super::Status::Running).collect();
        self.running_children(next, &mut running);
        running.sort_unstable();
        running
    }

    /// Which session runs a transaction, or a child of one.
    pub fn session_of(&self, xid: Xid) -> Option<SessionId> {
        let xid = self.root(xid);
        let at = self.reached().iter().position(|row| row.xid.load(SeqCst) == xid.0)?;
        Some(SessionId(at as u32))
    }

    /// Sessions that have a transaction id or a snapshot, for views.
    pub fn running(&self) -> impl Iterator<Item = Running> {
        self.reached().iter().enumerate().filter_map(|(at, row)| {
            let xid = Some(Xid(row.xid.load(Relaxed))).filter(|xid| xid.0 != 0);
            let snapshot = row.oldest_snapshot();
            (xid.is_some() || snapshot.is_some()).then(|| Running {
                session: SessionId(at as u32),
                xid,
                snapshot,
                since_us: row.since_us.load(Relaxed) as i64,
            })
        })
    }

    /// Rows of sessions that there ever were.
    pub(super) fn reached(&self) -> &'static [Row] {
        &self.rows[..session::slots_reached().len()]
    }
}
