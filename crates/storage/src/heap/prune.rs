//! Pruning in passing: who visits a page that is nearly full, and from which versions have died, cleans it up.
//!
//! A table whose rows are updated again and again stays as small as it is only because of this: the space of dead versions is
//! taken back before the next update needs it, without an index being touched.
//!
//! | who | prunes a page |
//! |---|---|
//! | a reader that comes by | that is nearly full, if what was ended there first is past; or whose row it finds dead, because then nobody comes again |
//! | an update that does not fit | in any case, since the other choice is to leave the page |
//! | a row that would make the table grow | a few pages, in turn, whose first ended version is past |
//! | vacuum | in any case |
//!
//! Rules
//! 1. It is a favour: nobody waits for it, no error comes of it, and it is done only when the latch is free at once.
//! 2. Index entries may point at roots that go: their slots become dead, and vacuum takes them back.
//! 3. The horizon is read before the page is latched; an old one only finds less.
//! 4. Who has pruned a page notes what room it has now: an update that left the page, or a row that was deleted, has left room there
//!    which nobody else would find before the next vacuum.
//! 5. Before the table grows a few of its pages are pruned, in turn: [`Heap::prune_some`].

use super::{Heap, view};
use crate::buffer::{self, PageMut};
use crate::page::PAGE_SIZE;
use crate::page::heap::{Fate, HeapPage, MAX_SLOTS, PrunePlan, Roots};
use crate::relation::place::PageClass;
use crate::relation::row::{Count, Pruned, Row};
use crate::txn::{Horizon, Status};
use crate::wal::Room;
use crate::wal::record::{HeapPrune, RECORD_HEADER_BYTES};
use base::{PageId, Result, Xid};

/// The most that a prune's record takes: every slot in the longest list that it can be in.
pub(crate) const PRUNE_ROOM: usize = RECORD_HEADER_BYTES + 64 + 4 * MAX_SLOTS + 8;
/// How many pages are pruned before the table grows.
const PAGES_BEFORE_GROWTH: u32 = 8;
/// A page with less than this left is nearly full.
const NEARLY_FULL: usize = PAGE_SIZE / 10;

impl Heap {
    /// True if a prune of the page may give room that is wanted.
    #[inline]
    pub(super) fn is_worth_pruning(&self, page: HeapPage<'_>) -> bool {
        let ended = page.prune_xid();
        ended.0 != 0
            && page.hole() < NEARLY_FULL.max(self.reserve as usize)
            && self.relations.transactions.is_past(ended)
    }

    /// Prunes a page that was found to be worth it. No latch is held. False if somebody was in the way.
    #[cold]
    pub(super) fn prune_in_passing(&self, block: u32) -> bool {
        // Rule 1: whoever is only passing gets no error of it.
        self.try_prune(block).unwrap_or(false)
    }

    fn try_prune(&self, block: u32) -> Result<bool> {
        let horizon = self.relations.transactions.horizon();
        let mut room = self.relations.wal.reserve(PRUNE_ROOM)?;
        let pinned = self.relations.pool.pin(PageId { rel: self.rel, block })?;
        let Some(mut page) = pinned.try_write() else { return Ok(false) };
        let pruned = self.prune_latched(&mut page, &mut room, horizon, Roots::Indexed, &mut |_| ())?;
        let class = PageClass::of(&page);
        drop(page);
        self.note_pruned(block, pruned, class)?;
        Ok(true)
    }

    /// Prunes a few pages, because the table is about to grow. Neither latch nor room is held.
    ///
    /// Errors: those of pinning.
    pub(super) fn prune_some(&self) -> Result<()> {
        for block in self.row()?.take_dying(PAGES_BEFORE_GROWTH, self.blocks()?) {
            let pinned = self.relations.pool.pin(PageId { rel: self.rel, block })?;
            let Some(ended) = pinned.try_read().and_then(|page| Some(view(&page).ok()??.prune_xid())) else { continue };
            drop(pinned);
            if ended.0 != 0 && self.relations.transactions.is_past(ended) {
                let _ = self.prune_in_passing(block);
            }
        }
        Ok(())
    }

    /// Counts what a prune has done, and notes the room that the page has since (rule 4). No latch is held.
    pub(super) fn note_pruned(&self, block: u32, pruned: Pruned, class: PageClass) -> Result<()> {
        if pruned.versions > 0 {
            let row = self.row()?;
            row.count(Count::Pruned(pruned));
            self.relations.note_room(row, block, class);
        }
        Ok(())
    }

    /// Prunes a page that is latched alone. `kept` is told every aborted transaction whose mark a version keeps. The room holds
    /// [`PRUNE_ROOM`].
    pub(crate) fn prune_latched(
        &self,
        page: &mut PageMut<'_>,
        room: &mut Room,
        horizon: Horizon,
        roots: Roots,
        kept: &mut dyn FnMut(Xid),
    ) -> Result<Pruned> {
        let transactions = self.relations.transactions;
        let mut plan = PrunePlan::default();
        let Some(heap) = view(page)? else { return Ok(Pruned::default()) };
        let before = heap.versions().count();
        heap.prune(
            roots,
            |version| {
                let fate = transactions.fate(version, horizon);
                // All others that have a mark of an aborted transaction go, or are revived.
                if fate == Fate::Keep && version.xmax().0 != 0 && transactions.status(version.xmax()) == Status::Aborted
                {
                    kept(version.xmax());
                }
                fate
            },
            &mut plan,
        );
        // Without anything to do, a page is marked as all visible if that is news: scans go over it faster then.
        if plan.is_empty() && !(plan.all_visible && !heap.all_visible() && heap.slot_count() > 0) {
            return Ok(Pruned::default());
        }
        let dead_slots = plan.dead.len() as u64;
        let record = HeapPrune { page: page.id(), plan };
        self.unsee(page)?;
        buffer::log(room, Xid(0), 0, &record, [page], |[bytes]| record.apply(bytes))?;
        if view(page)?.is_some_and(HeapPage::all_visible)
            && let Some(row) = self.relations.row_if_used(self.rel)
        {
            self.relations.set_seen(row, page.id().block);
        }
        let after = view(page)?.map_or(0, |heap| heap.versions().count());
        Ok(Pruned { versions: (before - after) as u64, dead_slots, changed: true })
    }

    /// What sessions share of the relation.
    pub(super) fn row(&self) -> Result<&'static Row> {
        self.relations.row(self.rel)
    }
}
