//! Savepoints: what a transaction can take back without ending.
//!
//! ```text
//!   level 0      SAVEPOINT a      SAVEPOINT b            ROLLBACK TO a
//!   xid 70 ------ 71 ------------- 72 ---- (released: goes on as 71) ---- 71, 72 aborted; goes on as 75
//! ```
//!
//! What is changed behind a savepoint is stamped with an id of its own, a *child* of the transaction's, given at the first change. The
//! map's entry of a child names the transaction, so that whoever asks for one is told what became of the transaction, and all of
//! them commit in one moment; a child that is taken back is marked aborted. Nobody keeps a list of children: those of a transaction are the
//! entries of the map, from its own on, that name it (Firebird and PostgreSQL keep lists; a crash would have to find them).
//!
//! Rules
//! 1. A child's entry is there before the next id is: whoever knows the next id and reads the map misses no child below it.
//! 2. An id is greater than those of all transactions and children that were there before. So everything behind a savepoint has ids at or
//!    above the [`Savepoint`]'s floor, whatever was released in between, and nothing before it has.
//! 3. An abort marks the children first and the transaction last: a checkpoint in between finds a child running or aborted, never committed.
//! 4. Locks that were taken behind a savepoint are given up with it. Each remembers how many savepoints there had been.
//! 5. There are as many children of running transactions as a checkpoint can name in its record, and a commit in its: the next one is
//!    refused when it would be made.
//! 6. A child never has children: a release leaves its changes where they are, under its id or, from then on, that of the level around it.
//!
//! What this does not do: names, and what else a savepoint takes back (settings, portals); they are the layer's above.

use super::lock::Release;
use super::registry::Row;
use super::{Status, Transactions};
use crate::wal::record::Abort;
use crate::wal::space;
use base::{Error, Lsn, RelId, Result, Xid, sqlstate};
use kernel::sync::Critical;
use std::borrow::Cow;
use std::sync::atomic::Ordering::*;

/// Children in the record of an abort; a recovery knows of the others that they have not committed.
pub(super) const CHILDREN_IN_ABORT: usize = 4096;

/// A place in a transaction that it can go back to. A plain value; the session keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Savepoint {
    /// Ids of what is changed behind it are not below this.
    pub(crate) floor: Xid,
    /// With which id the level around it goes on; zero if it has none.
    outer: Xid,
    /// Its number among those of the transaction, counted from one: locks behind it have that number or a higher one.
    stamp: u32,
    /// The newest row lock that the transaction held.
    row_lock: u32,
}

impl Savepoint {
    /// True if an id of the transaction is of a change behind the savepoint.
    pub fn covers(&self, xid: Xid) -> bool {
        xid >= self.floor
    }
}

impl Transactions {
    /// Begins a level: what is changed from now on can be taken back alone. In a transaction; costs no id and no log.
    pub fn savepoint(&self) -> Savepoint {
        let row = self.mine();
        let savepoint = Savepoint {
            floor: self.next_xid(),
            outer: Xid(row.writer.load(Relaxed)),
            stamp: row.savepoints.load(Relaxed) + 1,
            row_lock: row.row_locks.load(Relaxed),
        };
        row.savepoints.store(savepoint.stamp, Relaxed);
        row.level.store(row.level.load(Relaxed) + 1, Relaxed);
        row.writer.store(0, Relaxed);
        savepoint
    }

    /// Ends the innermost level and keeps its changes: they are the level's around it.
    pub fn release_savepoint(&self, savepoint: &Savepoint) {
        let row = self.mine();
        let level = row.level.load(Relaxed) - 1;
        row.level.store(level, Relaxed);
        if level == 0 {
            row.writer.store(row.xid.load(Relaxed), Relaxed);
        } else if savepoint.outer.0 != 0 {
            row.writer.store(savepoint.outer.0, Relaxed);
        }
        // An outer level without an id goes on with this one's: it is taken back with it in any case (rule 2).
    }

    /// Takes back what was changed behind the innermost savepoint, and gives up the locks that were taken. The level goes on. `made` are
    /// storages that were made in it, and `remove` removes their files and pages: false if the log had no room to say so, and they are still
    /// there. The session holds no latch.
    pub(crate) fn roll_back_to(
        &'static self,
        savepoint: &Savepoint,
        made: &[RelId],
        remove: impl FnOnce(&[RelId]),
    ) -> bool {
        let mut removed = made.is_empty();
        let row = self.mine();
        let top = Xid(row.xid.load(Relaxed));
        row.writer.store(0, Relaxed);
        if row.newest_child.load(Relaxed) >= savepoint.floor.0 {
            let children = self.children(row, savepoint.floor);
            let logged = self.log_child_abort(&children, made);
            kernel::fault::point("savepoint.marking");
            if !kernel::fault::planted("sql.savepoint_kept") {
                children.iter().for_each(|&child| self.map.set_aborted(child));
            }
            self.count_out(row, children.len() as u64);
            self.row_locks.leave_until(row, savepoint.row_lock);
            self.waiters_for(top).post_all();
            if let Some(end) = logged.filter(|_| !made.is_empty()) {
                self.wal.flush(end);
                remove(made);
                removed = true;
            }
        }
        self.locks.release_all(self, kernel::session::current_id(), Release::Since(savepoint.stamp));
        removed
    }

    /// Says in the log that children have aborted, and which files go with them. None if that does not fit: a recovery knows of the
    /// children anyway, and removes the files.
    fn log_child_abort(&self, children: &[Xid], made: &[RelId]) -> Option<Lsn> {
        let (&last, others) = children.split_last()?;
        let subxids = Cow::Borrowed(&others[..others.len().min(CHILDREN_IN_ABORT)]);
        let record = Abort { timestamp_us: super::finish::timestamp_us(), subxids, dropped: Cow::Borrowed(made) };
        let mut room = self.wal.reserve_spare(space::record_bytes(&record)).ok()?;
        Some(room.append(last, 0, &record).end)
    }

    /// Children of a session's transaction from an id on that have not been taken back, in order.
    pub(super) fn children(&self, row: &Row, from: Xid) -> Vec<Xid> {
        let (top, newest) = (Xid(row.xid.load(Relaxed)), Xid(row.newest_child.load(Relaxed)));
        if newest.0 == 0 {
            return Vec::new();
        }
        let first = from.0.max(top.0 + 1);
        let children = (first..=newest.0).map(Xid).filter(|&xid| self.map.parent(xid) == Some(top));
        children.take(row.children.load(Relaxed) as usize).collect()
    }

    /// Children of the session's transaction are none any more.
    pub(super) fn count_out(&self, row: &Row, children: u64) {
        if children > 0 {
            let _critical = Critical::enter();
            row.children.fetch_sub(children, Relaxed);
            self.shared.children.fetch_sub(children, Relaxed);
        }
    }

    /// Errors: `53400` (rule 5).
    fn check_children(&self) -> Result<()> {
        // A quarter of the log's buffer in ids: a record may take half of it.
        let most = self.wal.ring_bytes() / 4 / size_of::<Xid>() as u64;
        let there = self.shared.children.load(Relaxed);
        if there < most {
            return Ok(());
        }
        let message = "too many savepoints with changes behind them are open";
        Err(Error::statement(sqlstate::CONFIGURATION_LIMIT_EXCEEDED, message)
            .detail(format!("Open transactions have made changes behind {there} of them."))
            .hint("Commit more often, or raise wal_buffers."))
    }

    /// The transaction that an id belongs to: itself, or what it is a child of and was not taken back from.
    #[inline]
    pub fn root(&self, xid: Xid) -> Xid {
        self.map.parent(xid).unwrap_or(xid)
    }

    /// True if the id is `own`, or that of a child of it that has not been taken back. `own` is zero where there is no transaction.
    #[inline]
    pub(crate) fn is_own(&self, xid: Xid, own: Xid) -> bool {
        own.0 != 0 && (xid == own || (xid > own && self.map.parent(xid) == Some(own)))
    }

    /// True if the id is the running session's transaction, or one of its children.
    pub fn is_mine(&self, xid: Xid) -> bool {
        self.current_xid().is_some_and(|own| self.is_own(xid, own))
    }

    /// The id that the running session's changes have at its present level; none before the first change.
    pub fn writer_xid(&self) -> Option<Xid> {
        Some(Xid(self.mine().writer.load(Relaxed))).filter(|xid| xid.0 != 0)
    }

    /// Children below `next` of transactions that run, for a checkpoint.
    pub(super) fn running_children(&self, next: Xid, found: &mut Vec<Xid>) {
        for row in self.reached() {
            let (top, newest) = (Xid(row.xid.load(SeqCst)), row.newest_child.load(SeqCst));
            if top.0 == 0 || newest == 0 {
                continue;
            }
            let is_running = |&xid: &Xid| self.map.parent(xid) == Some(top) && self.status(xid) == Status::Running;
            found.extend((top.0 + 1..next.0.min(newest + 1)).map(Xid).filter(is_running));
        }
    }

    /// Gives the running session's level an id.
    ///
    /// Errors: `53200`, `53400`, `54000`.
    #[cold]
    pub(super) fn assign(&self) -> Result<Xid> {
        let row = self.mine();
        if row.xid.load(Relaxed) == 0 {
            row.since_us.store(kernel::clock::wall_us() as u64, Relaxed);
            self.take_id(|xid| row.xid.store(xid.0, SeqCst))?;
        }
        let top = Xid(row.xid.load(Relaxed));
        if row.level.load(Relaxed) == 0 {
            row.writer.store(top.0, Relaxed);
            return Ok(top);
        }
        kernel::fault::point("savepoint.child");
        self.check_children()?;
        let child = self.take_id(|child| {
            // Rule 1.
            self.map.set_parent(child, top);
            row.newest_child.store(child.0, SeqCst);
            row.children.fetch_add(1, Relaxed);
            self.shared.children.fetch_add(1, Relaxed);
        })?;
        row.writer.store(child.0, Relaxed);
        Ok(child)
    }

    /// Takes the next id; `enter` enters it where others look, before the next one is raised.
    fn take_id(&self, enter: impl Fn(Xid)) -> Result<Xid> {
        loop {
            let next = {
                let mut next = self.shared.next.lock();
                let xid = Xid(next.xid);
                if self.map.is_ready_for(xid) {
                    enter(xid);
                    next.xid += 1;
                    self.shared.next_xid.store(next.xid, SeqCst);
                    return Ok(xid);
                }
                xid
            };
            self.map.prepare(next)?;
        }
    }
}
