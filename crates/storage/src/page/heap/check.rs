//! Everything that must hold inside a heap page, walked without trusting a byte of it.

use super::super::header::page_id;
use super::super::raw::{Coverage, is_zero};
use super::super::{NO_BLOCK, Tid, damaged};
use super::row::*;
use super::*;
use base::Result;

impl HeapPage<'_> {
    /// Walks the page: bounds, overlaps, gaps, counts, flags, chains, redirects. Never panics, whatever the bytes are.
    pub fn check(self) -> Result<()> {
        self.check_frame()?;
        let mut coverage = Coverage::empty();
        let (mut unused, mut taken) = (0, 0);
        for slot in 0..self.slot_count() {
            let word = self.word(slot);
            match word.kind() {
                SLOT_UNUSED if word == Word::UNUSED => unused += 1,
                SLOT_NORMAL => taken += self.check_row(slot, word, &mut coverage)?,
                SLOT_REDIRECT if word.offset() == 0 => {}
                SLOT_DEAD if word == Word::DEAD => {}
                _ => return Err(damaged(self.page, format_args!("slot {slot} is {:#010x}", word.0))),
            }
        }
        let upper = u16_at(self.page, UPPER) as usize;
        if taken != PAGE_SIZE - upper {
            return Err(damaged(self.page, format_args!("rows take {taken} bytes of {}", PAGE_SIZE - upper)));
        }
        if unused != self.unused_count() {
            return Err(damaged(self.page, format_args!("{unused} slots are unused, not {}", self.unused_count())));
        }
        self.check_chains()
    }

    /// The header, and that slots, hole and rows follow each other.
    fn check_frame(self) -> Result<()> {
        let count = self.slot_count() as usize;
        let upper = u16_at(self.page, UPPER) as usize;
        let lower = HEAP_HEADER_BYTES + SLOT_BYTES * count;
        if count > MAX_SLOTS || upper > PAGE_SIZE || lower > upper || !upper.is_multiple_of(ROW_ALIGN) {
            return Err(damaged(self.page, format_args!("{count} slots, and rows from {upper}")));
        }
        if count > 0 && self.word(count as u16 - 1) == Word::UNUSED {
            return Err(damaged(self.page, format_args!("the last slot is unused")));
        }
        if header::flags(self.page) & !ALL_VISIBLE != 0 || !is_zero(self.page, 30, 32) || !is_zero(self.page, 44, 48) {
            return Err(damaged(self.page, format_args!("reserved bytes of the header are set")));
        }
        if !is_zero(self.page, lower, upper) {
            return Err(damaged(self.page, format_args!("free space from {lower} to {upper} is not blank")));
        }
        Ok(())
    }

    /// One row version; answers how many bytes it takes.
    fn check_row(self, slot: u16, word: Word, coverage: &mut Coverage) -> Result<usize> {
        let (offset, len) = (word.offset(), word.len());
        let end = offset + len.next_multiple_of(ROW_ALIGN);
        let upper = u16_at(self.page, UPPER) as usize;
        if offset < upper || !offset.is_multiple_of(ROW_ALIGN) || len < ROW_HEADER_BYTES || !coverage.take(offset, end)
        {
            return Err(damaged(self.page, format_args!("slot {slot} claims {len} bytes at {offset}")));
        }
        if !is_zero(self.page, offset + len, end) {
            return Err(damaged(self.page, format_args!("the padding of slot {slot} is not blank")));
        }
        let Some(version) = self.version_in(word) else {
            return Err(damaged(self.page, format_args!("slot {slot} is too short")));
        };
        let (flags, next) = (version.flags(), version.next());
        let (ended, updated, deleted) = (version.xmax().0 != 0, flags & UPDATED != 0, flags & DELETED != 0);
        let right = flags & !KNOWN_FLAGS == 0
            && version.xmin().0 != 0
            && ended == (updated || deleted)
            && !(updated && deleted)
            && (ended || flags & (KEYS_UPDATED | HOT_UPDATED | XMAX_COMMITTED | XMAX_ABORTED) == 0)
            && flags & (XMIN_COMMITTED | XMIN_ABORTED) != XMIN_COMMITTED | XMIN_ABORTED
            && flags & (XMAX_COMMITTED | XMAX_ABORTED) != XMAX_COMMITTED | XMAX_ABORTED
            && updated == (next.block != NO_BLOCK)
            && (updated || next == Tid::NONE)
            && (flags & HOT_UPDATED == 0 || (updated && next.block == page_id(self.page).block));
        if !right {
            return Err(damaged(self.page, format_args!("slot {slot} contradicts itself: {version:?}")));
        }
        if self.all_visible() && ended {
            return Err(damaged(self.page, format_args!("slot {slot} was ended on an all-visible page")));
        }
        Ok(end - offset)
    }

    /// Chains: no circle, no version in two of them, redirects that lead to a heap-only version.
    fn check_chains(self) -> Result<()> {
        let mut reached = [false; MAX_SLOTS];
        for root in 0..self.slot_count() {
            let first = match self.slot(root) {
                Slot::Normal(version) if !version.has(HEAP_ONLY) => root,
                Slot::Redirect(first) => {
                    if !self.version(first).is_some_and(|version| version.has(HEAP_ONLY)) {
                        return Err(damaged(self.page, format_args!("slot {root} redirects to slot {first}")));
                    }
                    first
                }
                Slot::Dead if self.all_visible() => {
                    return Err(damaged(self.page, format_args!("slot {root} is dead on an all-visible page")));
                }
                _ => continue,
            };
            let mut at = self.version(first).map(|version| (first, version));
            while let Some((slot, version)) = at {
                if std::mem::replace(&mut reached[slot as usize], true) {
                    return Err(damaged(self.page, format_args!("two ways lead to slot {slot}")));
                }
                at = self.chain_next(&version);
            }
        }
        Ok(())
    }
}
