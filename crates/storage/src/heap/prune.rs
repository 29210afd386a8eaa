//! Pruning in passing: who visits a page that is nearly full, and from which versions have died, cleans it up.
//!
//! A table whose rows are updated again and again stays as small as it is only because of this: the space of dead versions is
//! taken back before the next update needs it, without an index being touched.
//!
//! Rules
//! 1. It is a favour: nobody waits for it, no error comes of it, and it is done only when the latch is free at once.
//! 2. Index entries may point at roots that go: their slots become dead, and vacuum takes them back.
//! 3. The horizon is read before the page is latched; an old one only finds less.

use super::{Heap, view};
use crate::buffer::{self, PageMut};
use crate::page::PAGE_SIZE;
use crate::page::heap::{Fate, HeapPage, MAX_SLOTS, PrunePlan, Roots};
use crate::relation::row::{Count, Row};
use crate::txn::{Horizon, Status};
use crate::wal::Room;
use crate::wal::record::{HeapPrune, RECORD_HEADER_BYTES};
use base::{PageId, Result, Xid};

/// The most that a prune's record takes: every slot in the longest list that it can be in.
pub(crate) const PRUNE_ROOM: usize = RECORD_HEADER_BYTES + 64 + 4 * MAX_SLOTS + 8;
/// A page with less than this left is nearly full.
const NEARLY_FULL: usize = PAGE_SIZE / 10;

/// What a prune did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pruned {
    /// Versions that went.
    pub(crate) versions: u64,
    /// True if the page was changed.
    pub(crate) changed: bool,
}

impl Heap {
    /// True if a prune of the page may give room that is wanted.
    #[inline]
    pub(super) fn is_worth_pruning(&self, page: HeapPage<'_>) -> bool {
        let ended = page.prune_xid();
        ended.0 != 0
            && page.hole() < NEARLY_FULL.max(self.reserve as usize)
            && page.may_prune(self.relations.transactions.horizon_beyond(ended).xid)
    }

    /// Prunes a page that was found to be worth it. No latch is held.
    #[cold]
    pub(super) fn prune_in_passing(&self, block: u32) {
        // Rule 1: whoever is only passing gets no error of it.
        let _ = self.try_prune(block);
    }

    fn try_prune(&self, block: u32) -> Result<()> {
        let horizon = self.relations.transactions.horizon();
        let mut room = self.relations.wal.reserve(PRUNE_ROOM)?;
        let pinned = self.relations.pool.pin(PageId { rel: self.rel, block })?;
        let Some(mut page) = pinned.try_write() else { return Ok(()) };
        let pruned = self.prune_latched(&mut page, &mut room, horizon, Roots::Indexed, &mut |_| ())?;
        drop(page);
        if pruned.versions > 0 {
            self.row()?.count(Count::Pruned(pruned.versions));
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
        let record = HeapPrune { page: page.id(), plan };
        buffer::log(room, Xid(0), 0, &record, [page], |[bytes]| record.apply(bytes))?;
        let after = view(page)?.map_or(0, |heap| heap.versions().count());
        Ok(Pruned { versions: (before - after) as u64, changed: true })
    }

    /// What sessions share of the relation.
    pub(super) fn row(&self) -> Result<&'static Row> {
        self.relations.row(self.rel)
    }
}
