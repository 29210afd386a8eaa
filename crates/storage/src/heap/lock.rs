//! Locking rows without changing them: `SELECT ... FOR UPDATE` and its weaker forms, foreign keys.
//!
//! The lock itself is a set of holders in the region ([`crate::txn::row_lock`]); what lies on the page is the set's number, in the
//! lock word of the version, and of every later version of its chain. Words are not logged, since a restart ends all holders,
//! but the page is marked dirty so that a word outlives its frame.

use super::claim::{Outcome, Queue, Verdict, identity};
use super::{Heap, Writer, view};
use crate::buffer::PageMut;
use crate::page::Tid;
use crate::page::heap::{HeapPage, HeapPageMut, MAX_SLOTS};
use crate::txn::Strength;
use base::{Error, Result};

/// What to do when somebody has the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowWait {
    /// Wait until the writer's deadline.
    Wait,
    /// Answer [`Outcome::Busy`] (`NOWAIT`, `SKIP LOCKED`).
    Never,
}

impl Heap {
    /// Locks the row whose version at `tid` the writer's snapshot sees, until the transaction ends.
    ///
    /// Errors: `40001`, `40P01`, `57014`, `55P03`, `53200`, those of pinning.
    pub fn lock(&self, writer: &Writer<'_>, tid: Tid, strength: Strength, wait: RowWait) -> Result<Outcome> {
        self.relations.transactions.xid()?;
        let mut queue = Queue::new(self.relations.transactions);
        loop {
            let pinned = self.relations.pool.pin(self.page_of(tid))?;
            let mut page = pinned.write();
            if view(&page)?.is_none() {
                return Ok(Outcome::Gone);
            }
            match self.verdict(&page, tid.slot, writer, strength, false) {
                Verdict::Free => {
                    self.mark_locked(&mut page, tid, strength)?;
                    return Ok(Outcome::Done { tid, hot: true });
                }
                Verdict::Wait(_) if wait == RowWait::Never => return Ok(Outcome::Busy),
                Verdict::Wait(xid) => {
                    let identity = identity(&page, tid.slot);
                    drop(page);
                    drop(pinned);
                    self.wait_in_turn(&mut queue, identity, xid, writer)?;
                }
                Verdict::Ended(xid, next) => {
                    drop(page);
                    drop(pinned);
                    return self.superseded(writer, (xid, next), strength, wait, &mut queue);
                }
                Verdict::Own(command) => return Ok(Outcome::Own(command)),
                Verdict::Gone => return Ok(Outcome::Gone),
            }
        }
    }

    /// Enters the running transaction among the lockers of a version that nobody has in a conflicting strength. The page is latched
    /// alone since that was found.
    pub(super) fn mark_locked(&self, page: &mut PageMut<'_>, tid: Tid, strength: Strength) -> Result<()> {
        let transactions = self.relations.transactions;
        let epoch = self.relations.wal.epoch();
        let identity = identity(page, tid.slot);
        let word = HeapPage::new(page).lock(tid.slot, epoch);
        if transactions.row_lock_held(word, self.rel, identity).is_some_and(|held| held >= strength) {
            return Ok(());
        }
        let locked = transactions.lock_row(word, self.rel, identity, strength)?;
        if locked == word {
            return Ok(());
        }
        kernel::fault::point("row.locked");
        // Not a logged change; but a frame that is dropped without being written would lose the word, and with it the lock.
        let from = self.relations.wal.inserted();
        page.redo::<Error>(from, |bytes| {
            let mut at = Some(tid.slot);
            let mut left = MAX_SLOTS;
            while let Some(slot) = at.filter(|_| left > 0) {
                left -= 1;
                HeapPageMut::new(bytes).set_lock(slot, locked, epoch)?;
                let heap = HeapPage::new(bytes);
                at = heap.version(slot).and_then(|version| heap.chain_next(&version)).map(|(next, _)| next);
            }
            Ok(true)
        })?;
        Ok(())
    }
}
