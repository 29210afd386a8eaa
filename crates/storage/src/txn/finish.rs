//! The end of a transaction: commit and abort.
//!
//! ```text
//! commit:  room -> record and map entry, in one -> flush (or not, if asynchronous) -> files -> registry -> waiters, locks, snapshots
//! abort:           record and map entry                                            -> files -> registry -> waiters, locks, snapshots
//! ```
//!
//! Rules
//! 1. Once the commit record is in the log nothing turns it back: no error, no cancel, no death of the session. Whoever cleans up after
//!    the session finds in the map that it committed, waits for the flush, and goes on.
//! 2. Everything that may fail comes before: whoever gets an error from [`Transactions::commit`] aborts.
//! 3. An abort's record is not waited for: a crash aborts as well. It is there so that recovery knows what it would find out anyway, and
//!    for the files that the transaction made: they go when the record is durable.
//! 4. Files go last, those that a commit dropped and those that an abort leaves behind, when the record that names them is durable:
//!    a recovery that begins before it passes over what it reads of them. A crash between does it again.

use super::lock::Release;
use super::nested::CHILDREN_IN_ABORT;
use super::registry::Row;
use super::{Status, Transactions, horizon};
use crate::wal::record::{Abort, Commit};
use crate::wal::space;
use base::{Lsn, RelId, Result, SessionId, Xid};
use kernel::sync::Critical;
use kernel::{clock, session};
use std::borrow::Cow;
use std::sync::atomic::Ordering::*;

/// Seconds from 1970 to 2000: the clock counts from the one, records from the other.
const EPOCH_2000_S: i64 = 946_684_800;

/// Whether a commit waits until it is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// It is acknowledged when it is on disk.
    Waited,
    /// It is acknowledged at once and on disk a moment later; a crash may lose it, whole.
    Asynchronous,
}

pub(super) fn timestamp_us() -> i64 {
    clock::wall_us() + EPOCH_2000_S * 1_000_000
}

impl Transactions {
    /// Commits the running session's transaction: what it did is visible to snapshots taken from now on. `dropped` are storages that are
    /// gone with it, and `remove` removes their files and pages, when the commit is durable.
    ///
    /// Answers the commit's position, none if the transaction had changed nothing. Errors come before anything is decided
    /// (rule 2). The session holds no latch.
    pub fn commit(
        &'static self,
        durability: Durability,
        dropped: &[RelId],
        remove: impl FnOnce(&[RelId]),
    ) -> Result<Option<Lsn>> {
        let me = session::current_id();
        let row = self.row(me);
        let xid = Xid(row.xid.load(Relaxed));
        if xid.0 == 0 {
            debug_assert!(dropped.is_empty(), "a transaction without an id drops files");
            self.leave(me, row, xid);
            return Ok(None);
        }
        let mut children = self.children(row, xid);
        if kernel::fault::planted("sql.child_unlogged") {
            children.clear();
        }
        let record =
            Commit { timestamp_us: timestamp_us(), subxids: Cow::Owned(children), dropped: Cow::Borrowed(dropped) };
        let mut room = self.wal.reserve(space::record_bytes(&record))?;
        let span = room.append_and(xid, 0, &record, |end| self.map.set_committed(xid, end));
        drop(room);
        kernel::fault::point("commit.logged");
        // Without the files there is no way back: such a commit is always waited for.
        let durability = if dropped.is_empty() { durability } else { Durability::Waited };
        self.finish_commit(me, row, xid, span.end, durability, || remove(dropped));
        Ok(Some(span.end))
    }

    /// What is left of a commit whose record is in the log.
    fn finish_commit(
        &'static self,
        session: SessionId,
        row: &Row,
        xid: Xid,
        end: Lsn,
        durability: Durability,
        remove: impl FnOnce(),
    ) {
        let waited = durability == Durability::Waited && !kernel::fault::planted("wal.skip_flush");
        if waited {
            self.wal.flush(end);
        } else {
            row.own_commit.store(end.0, Relaxed);
            self.horizon.asynchronous.fetch_max(end.0, SeqCst);
        }
        kernel::fault::point("commit.durable");
        remove();
        self.shared.commits.fetch_add(1, Relaxed);
        self.leave(session, row, xid);
        if xid.0.is_multiple_of(horizon::EVERY) {
            self.renew_horizon();
        }
    }

    /// Aborts the running session's transaction. `made` are storages that it had made, and `remove` removes their files and pages.
    /// The session holds no latch.
    pub fn abort(&'static self, made: &[RelId], remove: impl FnOnce(&[RelId])) {
        let me = session::current_id();
        let row = self.row(me);
        let xid = Xid(row.xid.load(Relaxed));
        if xid.0 != 0 {
            let logged = self.log_abort(row, xid, made);
            if let Some(end) = logged.filter(|_| !made.is_empty()) {
                // A recovery that does not read of the abort would look for the files.
                self.wal.flush(end);
                remove(made);
            }
        }
        self.leave(me, row, xid);
    }

    /// Answers the record's end. None if there are more files than the log has room for: then they stay, and the abort itself needs no
    /// record.
    fn log_abort(&self, row: &Row, xid: Xid, made: &[RelId]) -> Option<Lsn> {
        let children = self.children(row, xid);
        let logged = &children[..children.len().min(CHILDREN_IN_ABORT)];
        let record =
            Abort { timestamp_us: timestamp_us(), subxids: Cow::Borrowed(logged), dropped: Cow::Borrowed(made) };
        let room = self.wal.reserve_spare(space::record_bytes(&record)).ok();
        let end = room.map(|mut room| room.append(xid, 0, &record).end);
        let _critical = Critical::enter();
        // The transaction last: rule 3 of [`super::nested`].
        children.iter().for_each(|&child| self.map.set_aborted(child));
        self.map.set_aborted(xid);
        self.shared.aborts.fetch_add(1, Relaxed);
        end
    }

    /// The transaction leaves the registry, and everything that it held goes.
    fn leave(&'static self, session: SessionId, row: &Row, xid: Xid) {
        self.release_snapshots(row);
        self.row_locks.leave_until(row, 0);
        self.count_out(row, row.children.load(Relaxed));
        row.end_levels();
        if xid.0 != 0 {
            kernel::fault::point("transaction.leave");
            row.xid.store(0, SeqCst);
            self.waiters_for(xid).post_all();
        }
        self.locks.release_all(self, session, Release::Transaction);
    }

    /// Finishes what a session left, which may have died: its commit, if the record is in the log, or an abort.
    pub(super) fn finish_dead(&'static self, session: SessionId) {
        let row = self.row(session);
        let xid = Xid(row.xid.load(SeqCst));
        if xid.0 == 0 {
            self.leave(session, row, xid);
            return;
        }
        match self.status(xid) {
            // Dropped files stay until the next start finds them; everything else is as if the session had gone on.
            Status::Committed(end) => self.finish_commit(session, row, xid, end, Durability::Waited, || ()),
            Status::Running => {
                self.log_abort(row, xid, &[]);
                self.leave(session, row, xid);
            }
            Status::Aborted | Status::Ancient => self.leave(session, row, xid),
        }
    }
}
