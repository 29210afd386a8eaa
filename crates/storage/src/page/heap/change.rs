//! The changes of a heap page: what a log record's `apply` calls, at run time and at redo alike.
//!
//! Each one looks whether it fits the page and answers `Err` before it has changed anything; a caller that asked
//! [`HeapPage::fits`] and [`HeapPage::vacant_slot`] under the same latch never meets the error.

use super::super::header::{self, PageType};
use super::super::raw::{common_prefix, put_u16, put_u32, put_u64};
use super::super::{PAGE_SIZE, PageBytes, Tid, misfit};
use super::row::*;
use super::*;
use base::{PageId, Result, Xid};

/// The bytes of a new row that are not in the old one: an update's log record leaves out what both begin and end with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowDelta<'a> {
    /// Bytes that both rows begin with.
    pub prefix: u16,
    /// Bytes that both rows end with.
    pub suffix: u16,
    /// The new row's bytes between.
    pub middle: &'a [u8],
}

impl<'a> RowDelta<'a> {
    /// What of `new` is not in `old`. Both must be rows that fit a page.
    pub fn between(old: &[u8], new: &'a [u8]) -> RowDelta<'a> {
        let prefix = common_prefix(old, new);
        let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
        let suffix = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
        RowDelta { prefix: prefix as u16, suffix: suffix as u16, middle: &new_rest[..new_rest.len() - suffix] }
    }

    /// Bytes of the new row.
    pub fn row_bytes(&self) -> usize {
        self.prefix as usize + self.middle.len() + self.suffix as usize
    }
}

impl<'a> HeapPageMut<'a> {
    /// Changes `page` as a heap page.
    #[inline(always)]
    pub fn new(page: &'a mut PageBytes) -> HeapPageMut<'a> {
        HeapPageMut { page }
    }

    /// Makes `page` an empty heap page.
    pub fn format(page: &'a mut PageBytes, id: PageId) -> HeapPageMut<'a> {
        header::format(page, PageType::Heap, id);
        put_u16(page, UPPER, PAGE_SIZE as u16);
        HeapPageMut { page }
    }

    /// The page to read.
    #[inline(always)]
    pub fn view(&self) -> HeapPage<'_> {
        HeapPage::new(self.page)
    }

    /// Puts a row version that indexes will know by its own slot into it: [`HeapPage::vacant_slot`]'s answer, or the
    /// one that the log says.
    pub fn insert(&mut self, slot: u16, xmin: Xid, row: &[u8]) -> Result<()> {
        let at = self.place(slot, xmin, row.len(), 0)?;
        self.page[at..at + row.len()].copy_from_slice(row);
        self.clear_all_visible();
        Ok(())
    }

    /// Puts several rows' first versions into slots, which ascend.
    pub fn insert_all(&mut self, xmin: Xid, rows: &[(u16, &[u8])]) -> Result<()> {
        let view = self.view();
        let (mut count, mut bytes, mut last) = (view.slot_count(), 0, None);
        for &(slot, row) in rows {
            let reused = slot < count && view.word(slot) == Word::UNUSED;
            if !(reused || slot == count && (slot as usize) < MAX_SLOTS) || last.is_some_and(|last| last >= slot) {
                return Err(misfit(self.page, format_args!("slot {slot} of {count} cannot be taken")));
            }
            bytes += footprint(row.len()) + if reused { 0 } else { SLOT_BYTES };
            count += u16::from(!reused);
            last = Some(slot);
        }
        if bytes > view.hole() {
            return Err(misfit(self.page, format_args!("rows of {bytes} bytes do not fit {} free bytes", view.hole())));
        }
        rows.iter().try_for_each(|&(slot, row)| self.insert(slot, xmin, row))
    }

    /// Ends the version in `slot` by an update whose new version is on another page.
    pub fn update_away(&mut self, slot: u16, xmax: Xid, next: Tid, keys_updated: bool) -> Result<()> {
        let at = self.normal(slot)?;
        self.end_version(at, xmax, next, UPDATED | if keys_updated { KEYS_UPDATED } else { 0 });
        Ok(())
    }

    /// Ends the version in `slot` by a delete.
    pub fn delete(&mut self, slot: u16, xmax: Xid) -> Result<()> {
        let at = self.normal(slot)?;
        self.end_version(at, xmax, Tid::NONE, DELETED | KEYS_UPDATED);
        Ok(())
    }

    /// Updates on the page: puts the new version into `new_slot` and ends the one in `old_slot`. With `hot`, no index
    /// gets an entry for the new version.
    pub fn update(
        &mut self,
        old_slot: u16,
        new_slot: u16,
        xid: Xid,
        hot: bool,
        keys_updated: bool,
        delta: &RowDelta<'_>,
    ) -> Result<()> {
        let old = self.normal(old_slot)?;
        let old_row = old + ROW_HEADER_BYTES;
        let old_bytes = self.view().word(old_slot).len() - ROW_HEADER_BYTES;
        let (prefix, suffix) = (delta.prefix as usize, delta.suffix as usize);
        if prefix + suffix > old_bytes {
            return Err(misfit(
                self.page,
                format_args!("slot {old_slot} holds a row of {old_bytes} bytes, not {prefix} + {suffix}"),
            ));
        }
        let at = self.place(new_slot, xid, delta.row_bytes(), if hot { HEAP_ONLY } else { 0 })?;
        let suffix_at = at + prefix + delta.middle.len();
        self.page.copy_within(old_row..old_row + prefix, at);
        self.page[at + prefix..suffix_at].copy_from_slice(delta.middle);
        self.page.copy_within(old_row + old_bytes - suffix..old_row + old_bytes, suffix_at);
        let next = Tid::new(header::page_id(self.page).block, new_slot);
        let flags = UPDATED | if hot { HOT_UPDATED } else { 0 } | if keys_updated { KEYS_UPDATED } else { 0 };
        self.end_version(old, xid, next, flags);
        Ok(())
    }

    /// Replaces the bytes of the row in `slot` by as many others, for every reader at once and whatever becomes of the
    /// transaction: for values that are no row's history (a sequence's counter, a table's statistics).
    pub fn overwrite(&mut self, slot: u16, row: &[u8]) -> Result<()> {
        let at = self.normal(slot)? + ROW_HEADER_BYTES;
        let bytes = self.view().word(slot).len() - ROW_HEADER_BYTES;
        if bytes != row.len() {
            let new = row.len();
            return Err(misfit(self.page, format_args!("slot {slot} holds a row of {bytes} bytes, not {new}")));
        }
        self.page[at..at + bytes].copy_from_slice(row);
        Ok(())
    }

    /// Makes dead slots unused: no index entry points to them any more.
    pub fn reclaim(&mut self, slots: &[u16]) -> Result<()> {
        let view = self.view();
        if let Some(slot) = slots.iter().find(|&&slot| view.word(slot) != Word::DEAD) {
            return Err(misfit(self.page, format_args!("slot {slot} is not dead")));
        }
        for &slot in slots {
            self.put_word(slot, Word::UNUSED);
        }
        self.count_slots();
        Ok(())
    }

    /// Stores the command number of a version that the running transaction made or ended. Volatile.
    pub fn set_command(&mut self, slot: u16, command: u32, combo: bool) -> Result<()> {
        let at = self.normal(slot)?;
        put_u32(self.page, at + COMMAND, command);
        let flags = u16_at(self.page, at + ROW_FLAGS) & !COMMAND_COMBO;
        put_u16(self.page, at + ROW_FLAGS, flags | if combo { COMMAND_COMBO } else { 0 });
        Ok(())
    }

    /// Stores a version's lock word; zero clears it. Words left by an earlier start of the server go first. Volatile.
    pub fn set_lock(&mut self, slot: u16, lock: u32, epoch: u32) -> Result<()> {
        let at = self.normal(slot)?;
        if self.view().lock_epoch() != epoch {
            self.clear_locks();
            put_u32(self.page, LOCK_EPOCH, epoch);
        }
        put_u32(self.page, at + LOCK, lock);
        Ok(())
    }

    /// Sets hints under an exclusive latch; under a shared one it takes an atomic at [`HeapPage::flags_offset`].
    pub fn set_hints(&mut self, slot: u16, hints: u16) -> Result<()> {
        debug_assert_eq!(hints & !VOLATILE_FLAGS, 0);
        let at = self.normal(slot)?;
        let flags = u16_at(self.page, at + ROW_FLAGS);
        put_u16(self.page, at + ROW_FLAGS, flags | hints);
        Ok(())
    }

    /// Blanks what is volatile, to compare a page with its redo.
    pub fn mask(&mut self) {
        self.clear_locks();
        put_u32(self.page, LOCK_EPOCH, 0);
        for slot in 0..self.view().slot_count() {
            if let Some(at) = self.view().flags_offset(slot) {
                let flags = u16_at(self.page, at) & !VOLATILE_FLAGS;
                put_u16(self.page, at, flags);
                put_u32(self.page, at - ROW_FLAGS + COMMAND, 0);
            }
        }
    }

    fn clear_locks(&mut self) {
        for slot in 0..self.view().slot_count() {
            if let Some(at) = self.view().lock_offset(slot) {
                put_u32(self.page, at, 0);
            }
        }
    }

    /// Takes `slot` and room for a row, writes the row header, and answers where the row's bytes go.
    fn place(&mut self, slot: u16, xmin: Xid, row_bytes: usize, flags: u16) -> Result<usize> {
        let view = self.view();
        let count = view.slot_count();
        let reused = slot < count;
        let vacant =
            if reused { view.word(slot) == Word::UNUSED } else { slot == count && (slot as usize) < MAX_SLOTS };
        if !vacant {
            return Err(misfit(self.page, format_args!("slot {slot} of {count} cannot be taken")));
        }
        let (need, hole) = (footprint(row_bytes), view.hole());
        if need + if reused { 0 } else { SLOT_BYTES } > hole {
            return Err(misfit(self.page, format_args!("a row of {row_bytes} bytes does not fit {hole} free bytes")));
        }
        let at = u16_at(self.page, UPPER) as usize - need;
        put_u16(self.page, UPPER, at as u16);
        if reused {
            let unused = u16_at(self.page, UNUSED_COUNT) - 1;
            put_u16(self.page, UNUSED_COUNT, unused);
        } else {
            put_u16(self.page, SLOT_COUNT, count + 1);
        }
        self.put_word(slot, Word::normal(at, ROW_HEADER_BYTES + row_bytes));
        put_u64(self.page, at + XMIN, xmin.0);
        self.put_next(at, Tid::NONE);
        put_u16(self.page, at + ROW_FLAGS, flags);
        Ok(at + ROW_HEADER_BYTES)
    }

    /// Sets who ended the version at `at`, and how; whatever an aborted transaction had left there goes.
    fn end_version(&mut self, at: usize, xmax: Xid, next: Tid, flags: u16) {
        put_u64(self.page, at + XMAX, xmax.0);
        self.put_next(at, next);
        let kept = u16_at(self.page, at + ROW_FLAGS) & !XMAX_FLAGS;
        put_u16(self.page, at + ROW_FLAGS, kept | flags);
        let oldest = self.view().prune_xid();
        if oldest.0 == 0 || xmax < oldest {
            put_u64(self.page, PRUNE_XID, xmax.0);
        }
        self.clear_all_visible();
    }

    /// Forgets an `xmax` that aborted.
    pub(super) fn revive(&mut self, at: usize) {
        put_u64(self.page, at + XMAX, 0);
        self.put_next(at, Tid::NONE);
        let kept = u16_at(self.page, at + ROW_FLAGS) & !XMAX_FLAGS;
        put_u16(self.page, at + ROW_FLAGS, kept);
    }

    fn put_next(&mut self, at: usize, next: Tid) {
        put_u32(self.page, at + NEXT_BLOCK, next.block);
        put_u16(self.page, at + NEXT_SLOT, next.slot);
    }

    /// Where the version in a normal slot begins.
    pub(super) fn normal(&self, slot: u16) -> Result<usize> {
        let word = self.view().word(slot);
        if word.kind() != SLOT_NORMAL {
            return Err(misfit(self.page, format_args!("slot {slot} holds no row version")));
        }
        Ok(word.offset())
    }

    pub(super) fn put_word(&mut self, slot: u16, word: Word) {
        put_u32(self.page, word_at(slot), word.0);
    }

    /// Drops unused slots from the end of the array and counts those that are left in it.
    pub(super) fn count_slots(&mut self) {
        let mut count = self.view().slot_count();
        while count > 0 && self.view().word(count - 1) == Word::UNUSED {
            count -= 1;
        }
        put_u16(self.page, SLOT_COUNT, count);
        let unused = (0..count).filter(|&slot| self.view().word(slot) == Word::UNUSED).count();
        put_u16(self.page, UNUSED_COUNT, unused as u16);
    }

    fn clear_all_visible(&mut self) {
        let flags = header::flags(self.page);
        header::set_flags(self.page, flags & !ALL_VISIBLE);
    }
}
