//! The changes of a B-tree page: what a log record's `apply` calls, at run time and at redo alike.
//!
//! Each one looks whether it fits the page and answers `Err` before it has changed anything. What order entries must
//! have is the caller's to keep (it searched under the same latch), and [`BtreePage::check`]'s to find broken.

use super::super::header::{self, PageType, page_id};
use super::super::raw::{common_prefix, put_u16, put_u32, put_u64};
use super::super::{PageBytes, Tid, misfit};
use super::search::{head_of, sample_stride};
use super::*;
use base::{PageId, Result, Xid};

impl<'a> BtreePageMut<'a> {
    /// Changes `page` as a B-tree page.
    #[inline(always)]
    pub fn new(page: &'a mut PageBytes) -> BtreePageMut<'a> {
        BtreePageMut { page }
    }

    /// Makes `page` an empty B-tree page without neighbours. A tree begins as one such page of level 0 with [`ROOT`].
    pub fn format(page: &'a mut PageBytes, id: PageId, level: u8, flags: u16) -> BtreePageMut<'a> {
        header::format(page, PageType::Btree, id);
        header::set_flags(page, flags);
        page[LEVEL] = level;
        put_u16(page, UPPER, PAGE_SIZE as u16);
        put_u32(page, LEFT, NO_BLOCK);
        put_u32(page, RIGHT, NO_BLOCK);
        BtreePageMut { page }
    }

    /// The page to read.
    #[inline(always)]
    pub fn view(&self) -> BtreePage<'_> {
        BtreePage::new(self.page)
    }

    /// Puts an entry before the one at `position`, which is [`BtreePage::insert_position`]'s answer or what the log
    /// says.
    pub fn insert(&mut self, position: usize, entry: &Entry<'_>) -> Result<()> {
        let view = self.view();
        let (count, skip) = (view.count(), view.skip());
        if position > count || (position < view.first_real() && count > 0) {
            return Err(misfit(self.page, format_args!("there is no position {position} among {count} entries")));
        }
        if !view.fits(entry.key.len()) || entry.key.len() > MAX_KEY_BYTES {
            let (bytes, free) = (entry.key.len(), view.free_space());
            return Err(misfit(self.page, format_args!("a key of {bytes} bytes does not fit {free} free bytes")));
        }
        if position < view.first_real() && !entry.key.is_empty() {
            return Err(misfit(self.page, format_args!("the first entry of an internal page has no key")));
        }
        let first = view.first_real();
        let common = if count > first { common_prefix(entry.key, &view.key(first)[..skip]) } else { entry.key.len() };
        let at = self.put_entry(entry);
        let slot = slot_at(position);
        self.page.copy_within(slot..slot_at(count), slot + SLOT_BYTES);
        put_u16(self.page, slot, at as u16);
        put_u16(self.page, slot + 2, entry.key.get(skip..).map_or(0, head_of));
        put_u16(self.page, ENTRY_COUNT, count as u16 + 1);
        if position < first {
            put_u16(self.page, slot + 2, 0);
        } else if count <= first || common < skip {
            self.set_skip(common);
        } else {
            self.take_samples();
        }
        Ok(())
    }

    /// Removes the entries at `positions`, which ascend. An internal page keeps its first entry.
    pub fn delete(&mut self, positions: &[u16]) -> Result<()> {
        let view = self.view();
        let ascending = positions.windows(2).all(|pair| pair[0] < pair[1]);
        let first = positions.first().is_none_or(|&first| first as usize >= view.first_real());
        let last = positions.last().is_none_or(|&last| (last as usize) < view.count());
        if !(ascending && first && last) {
            return Err(misfit(
                self.page,
                format_args!("positions to delete are not ones of {} entries", view.count()),
            ));
        }
        let mut rest = positions;
        self.rebuild(|position| match rest.split_first() {
            Some((&next, tail)) if next as usize == position => {
                rest = tail;
                false
            }
            _ => true,
        });
        Ok(())
    }

    /// Takes a child out of an internal page: its key range goes to the child right of it, which must be on the page.
    pub fn unlink_child(&mut self, position: usize) -> Result<()> {
        let view = self.view();
        if view.is_leaf() || position + 1 >= view.count() {
            return Err(misfit(self.page, format_args!("there is no child right of position {position}")));
        }
        let right = view.child(position + 1);
        let at = view.offset(position) + LEAF_ENTRY_BYTES;
        put_u32(self.page, at, right);
        self.delete(&[position as u16 + 1])
    }

    /// The left half of a split: keeps the first `kept` entries, takes the new one if it belongs here, ends at `high`,
    /// and links to the new right page. [`SPLIT_PENDING`] is set.
    pub fn split_off(
        &mut self,
        kept: usize,
        new: Option<(usize, Entry<'_>)>,
        high: (&[u8], Tid),
        right: u32,
        cycle: u16,
    ) -> Result<()> {
        let view = self.view();
        let first = view.first_real();
        let position_fits = new.is_none_or(|(position, _)| (first..=kept).contains(&position));
        if kept > view.count() || kept < first || !position_fits || view.has(SPLIT_PENDING) {
            return Err(misfit(self.page, format_args!("{kept} of {} entries cannot be kept", view.count())));
        }
        let entry_bytes = view.entry_bytes() + SLOT_BYTES;
        let kept_bytes: usize = (0..kept).map(|at| entry_bytes + view.key(at).len()).sum();
        let new_bytes = new.map_or(0, |(_, entry)| entry_bytes + entry.key.len());
        if kept_bytes + new_bytes + LEAF_ENTRY_BYTES + high.0.len() > CONTENT_BYTES
            || new.is_some_and(|(_, entry)| entry.key.len() > MAX_KEY_BYTES)
        {
            return Err(misfit(self.page, format_args!("{kept} entries and a high key do not fit")));
        }
        let copy = *self.page;
        let old = BtreePage::new(&copy);
        self.fill(Some(high), (0..kept).map(|position| (old.entry(position), old.is_killed(position))));
        if let Some((position, entry)) = new {
            self.insert(position, &entry)?;
        }
        put_u32(self.page, RIGHT, right);
        put_u16(self.page, CYCLE, cycle);
        self.change_flags(SPLIT_PENDING, 0);
        Ok(())
    }

    /// Makes the root the parent of two new pages that took its entries over.
    pub fn grow_root(&mut self, left: u32, right: u32, separator: (&[u8], Tid)) -> Result<()> {
        let level = self.view().level();
        if !self.view().has(ROOT) || level >= MAX_LEVEL || separator.0.len() > MAX_KEY_BYTES {
            return Err(misfit(self.page, format_args!("a page of level {level} cannot grow")));
        }
        let (id, lsn) = (page_id(self.page), header::lsn(self.page));
        let mut root = BtreePageMut::format(self.page, id, level + 1, ROOT);
        root.insert(0, &Entry::internal(&[], Tid::MIN, left))?;
        root.insert(1, &Entry::internal(separator.0, separator.1, right))?;
        header::set_lsn(self.page, lsn);
        Ok(())
    }

    /// Links to another left neighbour.
    pub fn set_left(&mut self, left: u32) {
        put_u32(self.page, LEFT, left);
    }

    /// Links to another right neighbour.
    pub fn set_right(&mut self, right: u32) {
        put_u32(self.page, RIGHT, right);
    }

    /// The parent knows the right half of this page's split.
    pub fn finish_split(&mut self) {
        self.change_flags(0, SPLIT_PENDING);
    }

    /// The parent's entry is gone: nothing is put here any more. The page must be an empty leaf that has a right
    /// neighbour.
    pub fn mark_half_dead(&mut self) -> Result<()> {
        let view = self.view();
        if view.count() > 0 || !view.is_leaf() || view.right() == NO_BLOCK || view.has(SPLIT_PENDING) {
            return Err(misfit(self.page, format_args!("the page cannot be deleted: it has {} entries", view.count())));
        }
        self.change_flags(HALF_DEAD, 0);
        Ok(())
    }

    /// The neighbours are linked past the page. It may be used again when no snapshot is older than `xid`.
    pub fn mark_deleted(&mut self, xid: Xid) -> Result<()> {
        if !self.view().has(HALF_DEAD) {
            return Err(misfit(self.page, format_args!("the page is not half-dead")));
        }
        put_u64(self.page, DELETED_XID, xid.0);
        self.change_flags(DELETED, HALF_DEAD);
        Ok(())
    }

    /// Sets the hint that nobody can see anything behind an entry, under an exclusive latch; under a shared one it
    /// takes an atomic at [`BtreePage::killed_offset`].
    pub fn kill(&mut self, position: usize) {
        debug_assert!(position < self.view().count());
        let at = slot_at(position);
        let slot = u16_at(self.page, at);
        put_u16(self.page, at, slot | KILLED);
    }

    /// Blanks what is volatile, to compare a page with its redo.
    pub fn mask(&mut self) {
        for position in 0..self.view().count() {
            let at = slot_at(position);
            let slot = u16_at(self.page, at);
            put_u16(self.page, at, slot & !KILLED);
        }
    }

    fn change_flags(&mut self, set: u16, clear: u16) {
        let flags = header::flags(self.page);
        header::set_flags(self.page, flags & !clear | set);
    }

    fn put_entry(&mut self, entry: &Entry<'_>) -> usize {
        let child = entry.child.to_le_bytes();
        let child = if self.view().is_leaf() { &[][..] } else { &child[..] };
        self.put_bytes(&entry_front(entry.key, entry.tid), child, entry.key)
    }

    /// Puts bytes at the lower end of the entries, and answers where they begin.
    fn put_bytes(&mut self, front: &[u8; LEAF_ENTRY_BYTES], child: &[u8], key: &[u8]) -> usize {
        let key_at = u16_at(self.page, UPPER) as usize - key.len();
        let child_at = key_at - child.len();
        let at = child_at - front.len();
        self.page[at..child_at].copy_from_slice(front);
        self.page[child_at..key_at].copy_from_slice(child);
        self.page[key_at..key_at + key.len()].copy_from_slice(key);
        put_u16(self.page, UPPER, at as u16);
        at
    }

    /// Keeps the entries that `keep` chooses, which is asked once each in order, their hints, and the high key.
    fn rebuild(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let copy = *self.page;
        let old = BtreePage::new(&copy);
        let kept = (0..old.count()).filter(|&position| keep(position));
        self.fill(old.high_key(), kept.map(|position| (old.entry(position), old.is_killed(position))));
    }

    /// Writes slots, entries and high key anew. The caller knows that they fit.
    pub(super) fn fill<'e>(&mut self, high: Option<(&[u8], Tid)>, entries: impl Iterator<Item = (Entry<'e>, bool)>) {
        put_u16(self.page, UPPER, PAGE_SIZE as u16);
        let high_at = high.map_or(0, |(key, tid)| self.put_bytes(&entry_front(key, tid), &[], key));
        put_u16(self.page, HIGH_KEY, high_at as u16);
        let mut count = 0;
        for (entry, killed) in entries {
            let at = self.put_entry(&entry) as u16;
            put_u16(self.page, slot_at(count), if killed { at | KILLED } else { at });
            put_u16(self.page, slot_at(count) + 2, 0);
            count += 1;
        }
        put_u16(self.page, ENTRY_COUNT, count as u16);
        let upper = u16_at(self.page, UPPER) as usize;
        self.page[slot_at(count)..upper].fill(0);
        let view = self.view();
        let first = view.first_real();
        let skip = if count > first { common_prefix(view.key(first), view.key(count - 1)) } else { 0 };
        self.set_skip(skip);
    }

    /// Sets how many bytes all keys begin with, and computes the heads.
    fn set_skip(&mut self, skip: usize) {
        put_u16(self.page, SKIP, skip as u16);
        let view = self.view();
        for position in view.first_real()..view.count() {
            let head = self.view().key(position).get(skip..).map_or(0, head_of);
            put_u16(self.page, slot_at(position) + 2, head);
        }
        self.take_samples();
    }

    /// Copies the heads that are samples into the header; zeros on a short page.
    fn take_samples(&mut self) {
        let first = self.view().first_real();
        let stride = sample_stride(self.view().count().saturating_sub(first));
        for sample in 0..SAMPLE_COUNT {
            let slot = slot_at(first + (sample + 1) * stride);
            let head = if stride > 0 { u16_at(self.page, slot + 2) } else { 0 };
            put_u16(self.page, SAMPLES + 2 * sample, head);
        }
    }
}

/// The front of an entry: the key's length and the tid.
fn entry_front(key: &[u8], tid: Tid) -> [u8; LEAF_ENTRY_BYTES] {
    let mut front = [0; LEAF_ENTRY_BYTES];
    put_u16(&mut front, 0, key.len() as u16);
    put_u32(&mut front, 2, tid.block);
    put_u16(&mut front, 6, tid.slot);
    front
}
