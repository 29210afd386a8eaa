//! Files and transactions: made, dropped, cut; commit and abort with what they do to files.
//!
//! ```text
//!   create: noted -> record, durable -> file                commit: nothing       abort, crash: removed
//!   drop:   noted                                           commit: removed       abort, crash: nothing
//! ```
//!
//! The notes are the session's ([`super::pending`]). After a crash recovery does the same from the log: a file whose making
//! transaction did not commit goes, as does one that a committed transaction dropped.

use super::Relations;
use super::pending::What;
use crate::txn::finish::Durability;
use crate::txn::{Savepoint, Status};
use crate::wal::record::{FileCreate, FileDrop, FileTruncate};
use crate::wal::space::record_bytes;
use base::{Lsn, RelId, Result, SessionId, Xid};
use kernel::session;
use std::sync::atomic::Ordering::*;

impl Relations {
    /// Makes a relation's storage, empty, for the running transaction: it is gone if that aborts.
    ///
    /// Errors: `53100`, `53200`, `53400`, `58030`.
    pub fn create(&self) -> Result<RelId> {
        let rel = self.storage.counters.new_rel()?;
        let xid = self.transactions.xid()?;
        self.pending.add(xid, rel, What::Made)?;
        let record = FileCreate { rel };
        let span = self.wal.reserve(record_bytes(&record))?.append(xid, 0, &record);
        // A file that no durable record tells of would stay for ever after a crash.
        self.wal.flush(span.end);
        kernel::fault::point("file.logged");
        self.files.create(rel)?;
        Ok(rel)
    }

    /// Drops a relation's storage when the running transaction commits.
    ///
    /// Errors: `53200`, `53400`.
    pub fn drop_at_commit(&self, rel: RelId) -> Result<()> {
        let xid = self.transactions.xid()?;
        self.pending.add(xid, rel, What::Dropped)
    }

    /// Commits the running session's transaction: see [`crate::txn::Transactions::commit`]. Files that it dropped go.
    pub fn commit(&self, durability: Durability) -> Result<Option<Lsn>> {
        let me = session::current_id();
        if !self.pending.any(me) {
            let committed = self.transactions.commit(durability, &[], |_| ())?;
            self.settle_counts(me, true, false);
            return Ok(committed);
        }
        let dropped = self.noted(me, What::Dropped);
        let committed = self.transactions.commit(durability, &dropped, |dropped| self.remove_all(dropped))?;
        self.pending.clear(me);
        self.settle_counts(me, true, false);
        Ok(committed)
    }

    /// Aborts the running session's transaction. Files that it made go.
    pub fn abort(&self) {
        let me = session::current_id();
        self.settle_counts(me, false, false);
        if !self.pending.any(me) {
            return self.transactions.abort(&[], |_| ());
        }
        let made = self.noted(me, What::Made);
        self.transactions.abort(&made, |made| self.remove_all(made));
        self.pending.clear(me);
    }

    /// Goes back to a savepoint of the running session's transaction, the innermost one: see
    /// [`crate::txn::nested`]. Files made behind it go, and those dropped behind it stay.
    pub fn roll_back_to(&self, savepoint: &Savepoint) {
        let me = session::current_id();
        if !self.pending.any(me) {
            self.transactions.roll_back_to(savepoint, &[], |_| ());
            return;
        }
        let behind = |note: &(Xid, RelId, What)| note.0 >= savepoint.floor && note.2 == What::Made;
        let made: Vec<RelId> = self.pending.of(me).into_iter().filter(behind).map(|note| note.1).collect();
        if self.transactions.roll_back_to(savepoint, &made, |made| self.remove_all(made)) {
            self.pending.clear_from(me, savepoint.floor);
            return;
        }
        // They go with the transaction, however it ends.
        for &rel in &made {
            if self.pending.add(savepoint.floor, rel, What::Dropped).is_err() {
                self.shared.left_behind.fetch_add(1, Relaxed);
            }
        }
    }

    /// Ends a session, alive or not: its transaction, locks, pins, and the files that the transaction had made. Instead of
    /// [`Storage::end_session`](crate::Storage::end_session), which it calls.
    pub fn end_session(&self, session: SessionId) {
        self.storage.end_session(session);
        self.settle_counts(session, false, true);
        for (xid, rel, what) in self.pending.of(session) {
            let committed = matches!(self.transactions.status(xid), Status::Committed(_) | Status::Ancient);
            if committed != (what == What::Dropped) {
                continue;
            }
            // What an abort leaves: the session, which may have died in the middle of anything, has not said so in the log.
            let record = FileDrop { rel };
            let logged = self.wal.reserve(record_bytes(&record)).map(|mut room| room.append(Xid(0), 0, &record).end);
            if let Ok(end) = logged {
                self.wal.flush(end);
                self.remove_all(&[rel]);
            }
        }
        self.pending.clear(session);
        self.remove_spills(session);
    }

    fn noted(&self, session: SessionId, what: What) -> Vec<RelId> {
        let mut found: Vec<RelId> =
            self.pending.of(session).into_iter().filter(|note| note.2 == what).map(|note| note.1).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Removes files that nobody can want any more, with their pages. What cannot be removed is counted, and goes at the next
    /// start.
    fn remove_all(&self, rels: &[RelId]) {
        for &rel in rels {
            self.take_out(rel);
            kernel::fault::point("file.remove");
            let removed = self.pool.forget(rel, 0).and_then(|()| self.files.remove(rel));
            if removed.is_err() {
                self.shared.left_behind.fetch_add(1, Relaxed);
            }
        }
    }

    /// Takes all pages from a relation, whatever becomes of any transaction. The caller's lock keeps everybody else from it, a vacuum too.
    ///
    /// Errors: those of the log and of truncating the file.
    pub fn make_empty(&self, rel: RelId) -> Result<()> {
        self.cut_off(rel, 0)
    }

    /// Cuts a relation off behind its first `blocks` blocks, whatever becomes of any transaction: nothing is in the others. A lock
    /// keeps everybody else out.
    ///
    /// Errors: `55006`, `58030`.
    pub(crate) fn cut_off(&self, rel: RelId, blocks: u32) -> Result<()> {
        let row = self.row(rel)?;
        let record = FileTruncate { rel, blocks };
        let span = self.wal.reserve(record_bytes(&record))?.append(Xid(0), 0, &record);
        // Recovery must not look for pages that are not there.
        self.wal.flush(span.end);
        kernel::fault::point("file.cut");
        self.cut(row, blocks);
        // In this order: a checkpoint that comes after the record finds either the pages, empty, in the pool, or a file that ends
        // before them. The other way round it could find neither, and leave what the file had there before.
        self.pool.cut(rel, blocks, || {
            self.files.truncate(rel, blocks)?;
            kernel::fault::point("file.truncated");
            Ok(())
        })
    }
}
