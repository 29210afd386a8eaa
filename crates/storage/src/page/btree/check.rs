//! Everything that must hold inside a B-tree page, walked without trusting a byte of it.

use super::super::header::page_id;
use super::super::raw::{Coverage, common_prefix, is_zero};
use super::super::{Tid, damaged};
use super::search::{head_of, sample_stride};
use super::*;
use base::Result;
use std::fmt;

impl BtreePage<'_> {
    /// Walks the page: bounds, overlaps, gaps, order, heads, links, flags. Never panics, whatever the bytes are.
    pub fn check(self) -> Result<()> {
        let bad = |what: fmt::Arguments<'_>| Err(damaged(self.page, what));
        let count = self.count();
        let upper = u16_at(self.page, UPPER) as usize;
        if slot_at(count) > upper || upper > PAGE_SIZE {
            return bad(format_args!("{count} entries, and bytes from {upper}"));
        }
        if !is_zero(self.page, slot_at(count), upper) {
            return bad(format_args!("free space from {} to {upper} is not blank", slot_at(count)));
        }
        self.check_header()?;
        let mut coverage = Coverage::empty();
        let mut taken = 0;
        for position in 0..count {
            let word = u16_at(self.page, slot_at(position));
            if word & !(KILLED | OFFSET_BITS) != 0 {
                return bad(format_args!("slot {position} is {word:#06x}"));
            }
            taken += self.check_place(self.offset(position), self.entry_bytes(), &mut coverage)?;
        }
        let high_at = u16_at(self.page, HIGH_KEY) as usize;
        if high_at != 0 {
            taken += self.check_place(high_at, LEAF_ENTRY_BYTES, &mut coverage)?;
        }
        if taken != PAGE_SIZE - upper {
            return bad(format_args!("entries take {taken} bytes of {}", PAGE_SIZE - upper));
        }
        self.check_order()
    }

    fn check_header(self) -> Result<()> {
        let flags = header::flags(self.page);
        let own = page_id(self.page).block;
        let gone = flags & (HALF_DEAD | DELETED);
        let right = flags & !KNOWN_FLAGS == 0
            && self.level() <= MAX_LEVEL
            && is_zero(self.page, LEVEL + 1, CYCLE)
            && is_zero(self.page, CYCLE + 2, DELETED_XID)
            && own != NO_BLOCK
            && self.left() != own
            && self.right() != own
            && (self.right() == NO_BLOCK) == (u16_at(self.page, HIGH_KEY) == 0)
            && (flags & ROOT == 0 || (self.left() == NO_BLOCK && self.right() == NO_BLOCK && flags == ROOT))
            && (flags & SPLIT_PENDING == 0 || self.right() != NO_BLOCK)
            && (gone == 0 || (self.count() == 0 && self.right() != NO_BLOCK && flags == gone))
            && gone != HALF_DEAD | DELETED
            && (self.is_leaf() || gone == 0)
            && (gone == DELETED || self.deleted_xid().0 == 0)
            && (self.is_leaf() || self.count() > 0);
        if !right {
            return Err(damaged(
                self.page,
                format_args!(
                    "the header contradicts itself: flags {flags:#06x}, level {}, {} entries, left {}, right {}",
                    self.level(),
                    self.count(),
                    self.left(),
                    self.right()
                ),
            ));
        }
        Ok(())
    }

    /// That an entry or the high key lies within the entries and on nothing else; answers how many bytes it takes.
    fn check_place(self, at: usize, front: usize, coverage: &mut Coverage) -> Result<usize> {
        let upper = u16_at(self.page, UPPER) as usize;
        if at >= upper && at + front <= PAGE_SIZE {
            let bytes = u16_at(self.page, at) as usize;
            if bytes <= MAX_KEY_BYTES && coverage.take(at, at + front + bytes) {
                return Ok(front + bytes);
            }
        }
        Err(damaged(self.page, format_args!("an entry at {at} does not fit")))
    }

    /// That entries ascend up to the high key, and that skipped bytes and heads are those of the keys.
    fn check_order(self) -> Result<()> {
        let bad = |what: fmt::Arguments<'_>| Err(damaged(self.page, what));
        let (first, count, skip) = (self.first_real(), self.count(), self.skip());
        let pair = |position: usize| (self.key(position), self.tid(position));
        if first == 1 && (pair(0) != (&[], Tid::MIN) || u16_at(self.page, slot_at(0) + 2) != 0) {
            return bad(format_args!("the first entry of an internal page has a key"));
        }
        if !self.is_leaf() && (0..count).any(|position| self.child(position) == NO_BLOCK) {
            return bad(format_args!("an entry has no child"));
        }
        let stride = sample_stride(count - first);
        for sample in 0..SAMPLE_COUNT {
            let head = if stride > 0 { u16_at(self.page, slot_at(first + (sample + 1) * stride) + 2) } else { 0 };
            if u16_at(self.page, SAMPLES + 2 * sample) != head {
                return bad(format_args!("sample {sample} is not the head of its entry"));
            }
        }
        if count == first {
            return if skip == 0 { Ok(()) } else { bad(format_args!("{skip} bytes are skipped without keys")) };
        }
        if skip > common_prefix(self.key(first), self.key(count - 1)) {
            return bad(format_args!("{skip} bytes are skipped that the keys do not share"));
        }
        for position in first..count {
            if position > first && pair(position - 1) >= pair(position) {
                return bad(format_args!("entry {position} does not come after the one before it"));
            }
            let head = self.key(position).get(skip..).map(head_of);
            if head != Some(u16_at(self.page, slot_at(position) + 2)) {
                return bad(format_args!("the head of entry {position} is not its key's"));
            }
        }
        if self.high_key().is_some_and(|high| pair(count - 1) >= high) {
            return bad(format_args!("the last entry is not before the high key"));
        }
        Ok(())
    }
}
