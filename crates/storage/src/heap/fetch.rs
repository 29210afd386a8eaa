//! One row, by its place.
//!
//! An index knows the root of a chain; the version that the snapshot sees is the root's or one further on in the chain, of
//! which the snapshot sees one at most.

use super::{Heap, Reader, view};
use crate::buffer::PageRef;
use crate::page::heap::row::{HEAP_ONLY, ROW_FLAGS, XMIN_ABORTED};
use crate::page::heap::{Fate, HeapPage, Slot, Version, row_behind, word_at};
use crate::page::{PAGE_SIZE, Tid};
use crate::relation::row::Count;
use crate::relation::sight::Sight;
use base::Result;
use kernel::region::prefetch::LINE_BYTES;

/// What there was behind a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fetched<R> {
    /// The row, as the caller's function saw it.
    Row(R),
    /// Nothing that the snapshot sees.
    Invisible,
    /// Nothing that anybody sees, now or later, and what was there has been pruned: an index entry that led here can be marked as
    /// killed.
    Dead,
}

impl<R> Fetched<R> {
    /// The row, if there was one.
    pub fn row(self) -> Option<R> {
        match self {
            Fetched::Row(row) => Some(row),
            Fetched::Invisible | Fetched::Dead => None,
        }
    }
}

impl Heap {
    /// Says that the row at a place will be fetched soon, first step ([`crate::Pool::expect`]).
    #[inline]
    pub fn expect(&self, root: Tid) {
        self.relations.pool.expect(self.page_of(root));
    }

    /// Says so once more, after other work: second step.
    #[inline]
    pub fn approach(&self, root: Tid) {
        self.relations.pool.approach(self.page_of(root), [0, word_at(root.slot)]);
    }

    /// Says so for the last time, after other work: asks for the row's version, if its place seems to have one.
    #[inline]
    pub fn approach_row(&self, root: Tid) {
        self.relations.pool.guess(self.page_of(root), [0, word_at(root.slot)], |peek| {
            let at = row_behind(root.slot, |offset| peek.word(offset))?;
            Some([at, (at + LINE_BYTES).min(PAGE_SIZE - 1)])
        });
    }

    /// Looks at the row that an index knows under `root`, if the snapshot sees it: calls `look` with the version's place and bytes,
    /// under the page's latch (rule 3 of [`super`]).
    ///
    /// Errors: those of [`crate::Pool::pin`].
    #[inline]
    pub fn fetch<R>(&self, reader: &Reader<'_>, root: Tid, look: impl FnOnce(Tid, &[u8]) -> R) -> Result<Fetched<R>> {
        self.fetch_noting(reader, root, None, look)
    }

    /// The same; a page that is all visible is noted, so that the next one need not come.
    ///
    /// Errors: those of [`crate::Pool::pin`].
    #[inline]
    pub fn fetch_noting<R>(
        &self,
        reader: &Reader<'_>,
        root: Tid,
        sight: Option<&Sight>,
        look: impl FnOnce(Tid, &[u8]) -> R,
    ) -> Result<Fetched<R>> {
        let page = self.relations.pool.read(self.page_of(root))?;
        let Some(heap) = view(&page)? else { return Ok(Fetched::Dead) };
        let (seen, steps) = self.seen_of(&page, heap, root.slot, reader);
        if let Some((slot, version)) = seen {
            let result = look(Tid::new(root.block, slot), version.row());
            let worth_pruning = steps > 0 && self.is_worth_pruning(heap);
            if let Some(sight) = sight
                && heap.all_visible()
            {
                sight.note(root.block);
            }
            drop(page);
            if worth_pruning {
                let _ = self.prune_in_passing(root.block);
            }
            return Ok(Fetched::Row(result));
        }
        let dead = steps == 0 || self.is_dead(heap, root.slot);
        // Of a dead chain the caller will say so in the index, and then nobody comes here again before a vacuum does.
        let worth_pruning = steps > 0 && (dead || self.is_worth_pruning(heap));
        drop(page);
        let mut pruned = false;
        if worth_pruning {
            pruned = self.prune_in_passing(root.block);
        }
        Ok(if dead && (steps == 0 || pruned) { Fetched::Dead } else { Fetched::Invisible })
    }

    /// Looks at rows that an index knows under places in one block, as [`Heap::fetch`] does at each, but under the page's latch once.
    /// Ends before the first of which the snapshot sees nothing; answers how many it has looked at.
    ///
    /// Errors: those of [`crate::Pool::pin`].
    pub fn fetch_run(
        &self,
        reader: &Reader<'_>,
        block: u32,
        slots: impl Iterator<Item = u16>,
        mut look: impl FnMut(Tid, &[u8]),
    ) -> Result<usize> {
        let page = self.relations.pool.read(self.page_of(Tid::new(block, 0)))?;
        let Some(heap) = view(&page)? else { return Ok(0) };
        let (mut count, mut followed) = (0, false);
        for root in slots {
            let (Some((slot, version)), steps) = self.seen_of(&page, heap, root, reader) else { break };
            look(Tid::new(block, slot), version.row());
            followed |= steps > 0;
            count += 1;
        }
        if followed && self.is_worth_pruning(heap) {
            drop(page);
            let _ = self.prune_in_passing(block);
        }
        Ok(count)
    }

    /// The version of a chain that the reader sees and its slot, and how many versions are before it; of none, how many there are.
    #[inline]
    fn seen_of<'p>(
        &self,
        page: &PageRef,
        heap: HeapPage<'p>,
        root: u16,
        reader: &Reader<'_>,
    ) -> (Option<(u16, Version<'p>)>, u16) {
        let mut at = heap.chain(root);
        let mut steps = 0;
        while let Some((slot, version)) = at {
            if self.sees(page, heap, slot, &version, reader) {
                return (Some((slot, version)), steps);
            }
            steps += 1;
            at = heap.chain_next(&version).filter(|_| steps <= heap.slot_count());
        }
        (None, steps)
    }

    /// Looks at the very version at a place, if the snapshot sees it.
    ///
    /// Errors: those of [`crate::Pool::pin`].
    pub fn fetch_version<R>(&self, reader: &Reader<'_>, tid: Tid, look: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        if tid.block >= self.blocks()? {
            return Ok(None);
        }
        let page = self.relations.pool.read(self.page_of(tid))?;
        let Some(heap) = view(&page)? else { return Ok(None) };
        let Some(version) = heap.version(tid.slot) else { return Ok(None) };
        Ok(self.sees(&page, heap, tid.slot, &version, reader).then(|| look(version.row())))
    }

    /// Looks at the very version at a place, whoever sees it; none if there is none. For the version that the running transaction
    /// has ended, or is about to.
    ///
    /// Errors: those of [`crate::Pool::pin`].
    pub fn version_at<R>(&self, tid: Tid, look: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let page = self.relations.pool.read(self.page_of(tid))?;
        let Some(heap) = view(&page)? else { return Ok(None) };
        Ok(heap.version(tid.slot).map(|version| look(version.row())))
    }

    /// Whether the reader sees a version; notes in it what others need not find out again.
    #[inline]
    pub(super) fn sees(
        &self,
        page: &PageRef,
        heap: HeapPage<'_>,
        slot: u16,
        version: &Version<'_>,
        reader: &Reader<'_>,
    ) -> bool {
        let seen = self.relations.transactions.visible(version, reader.snapshot, reader.pairs);
        if seen.hints != 0
            && let Some(at) = heap.flags_offset(slot)
        {
            page.set_hints(at, seen.hints);
            if seen.hints & XMIN_ABORTED != 0 {
                self.count_left(version);
            }
        }
        seen.visible
    }

    /// A row's first version was found to be an aborted transaction's: nobody counted it. Versions that updates make are counted when
    /// they are made.
    #[cold]
    fn count_left(&self, version: &Version<'_>) {
        if !version.has(HEAP_ONLY)
            && let Some(row) = self.relations.row_if_used(self.rel)
        {
            row.count(Count::Left(1));
        }
    }

    /// True if nobody sees anything behind `root`, now or later. Errors: those of [`crate::Pool::pin`].
    pub(crate) fn is_over(&self, root: Tid) -> Result<bool> {
        let page = self.relations.pool.read(self.page_of(root))?;
        let Some(heap) = view(&page)? else { return Ok(false) };
        Ok(match heap.slot(root.slot) {
            Slot::Dead => true,
            Slot::Normal(_) | Slot::Redirect(_) => self.is_dead(heap, root.slot),
            Slot::Unused => false,
        })
    }

    /// True if nobody sees any version of the chain, now or later.
    #[cold]
    fn is_dead(&self, heap: HeapPage<'_>, root: u16) -> bool {
        let transactions = self.relations.transactions;
        let horizon = transactions.horizon_cached();
        let mut at = heap.chain(root);
        let mut steps = 0;
        while let Some((_, version)) = at.filter(|_| steps <= heap.slot_count()) {
            if !matches!(transactions.fate(&version, horizon), Fate::Dead | Fate::Aborted) {
                return false;
            }
            steps += 1;
            at = heap.chain_next(&version);
        }
        true
    }
}

const _: () = assert!(ROW_FLAGS.is_multiple_of(2));
