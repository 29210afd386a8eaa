//! A frame's descriptor: its state, its page, and since when it is dirty. It lies in one cache line with the frame's latch.
//!
//! ```text
//!  63            32 31     24 23   20 19        0
//! | fill number    | flags   | usage | pins      |
//! ```
//!
//! | flag | meaning |
//! |---|---|
//! | TAGGED | the page table knows the frame under its page; only such a frame can be pinned |
//! | VALID | the bytes are the page's |
//! | DIRTY | the bytes are newer than the file's |
//! | FILLING | a read is on its way |
//! | WRITING | a copy is on its way to the file; the frame must keep the page until it is there |
//!
//! Rules
//! 1. Everything that decides about a frame's fate is in this one word and changes by compare-and-swap: a frame is evicted
//!    from "no pins, not dirty, not filling, not writing", and pinned from "tagged", so never both. It is evicted or discarded under its
//!    latch held alone.
//! 2. The page's name changes only while the frame is untagged and pinned by whoever changes it.
//! 3. The fill number tells one read of a frame from the next, so that a completion that comes twice is known.
//! 4. The dirt (`!rec_lsn`) is raised before DIRTY is set and cleared when it is, both under the page's latch: alone by whoever
//!    changes the page, shared by whoever writes it.

use base::{Lsn, PageId};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

const PIN: u64 = 1;
const PINS: u64 = (1 << 20) - 1;
const USAGE_SHIFT: u32 = 20;
const USAGE: u64 = 0xF << USAGE_SHIFT;
const USAGE_ONE: u64 = 1 << USAGE_SHIFT;
/// The most uses that are counted: rounds of the clock that a page survives unused.
const USAGE_MAX: u64 = 5;
const TAGGED: u64 = 1 << 24;
const VALID: u64 = 1 << 25;
const DIRTY: u64 = 1 << 26;
const FILLING: u64 = 1 << 27;
const WRITING: u64 = 1 << 28;
const FILL_SHIFT: u32 = 32;
const FLAGS: u64 = 0xFF << 24;

kernel::shared! {
    /// See the head of this file.
    pub struct Descriptor {
        state: AtomicU64,
        page: AtomicU64,
        /// All bits of the position flipped, so that zero is "clean" and older is larger.
        dirt: AtomicU64,
        /// The next frame in the page table's chain, counted from one.
        pub(super) next: AtomicU32,
        /// The session that issued the read on its way.
        pub(super) issuer: AtomicU32,
    }
}

/// What the clock makes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// It has no page and nobody uses it.
    Empty,
    /// It may be evicted.
    Cold,
    /// It was used since the last look, or is being used.
    Warm,
    /// It could be evicted if it were clean.
    Dirty,
}

impl Descriptor {
    #[inline]
    fn load(&self) -> u64 {
        // Acquire pairs with the Release of whoever made it so: name and bytes are there.
        self.state.load(Acquire)
    }

    fn update(&self, change: impl Fn(u64) -> Option<u64>) -> Result<u64, u64> {
        self.state.fetch_update(SeqCst, Acquire, change)
    }

    /// The page that the frame has, or had last.
    #[inline]
    pub(super) fn page(&self) -> PageId {
        PageId::from_u64(self.page.load(Relaxed))
    }

    pub(super) fn set_page(&self, page: PageId) {
        debug_assert_eq!(self.load() & TAGGED, 0);
        self.page.store(page.to_u64(), Relaxed);
    }

    /// Pins a tagged frame; false if it is none.
    #[inline]
    pub(super) fn pin(&self, often: bool) -> bool {
        let mut seen = self.state.load(Relaxed);
        loop {
            if seen & TAGGED == 0 {
                return false;
            }
            debug_assert!(seen & PINS < PINS);
            let bump = if often && seen & USAGE < USAGE_MAX << USAGE_SHIFT { USAGE_ONE } else { 0 };
            // Acquire pairs with the Release of `tag` and `set_valid`.
            match self.state.compare_exchange_weak(seen, seen + PIN + bump, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// Whether the frame has the page's bytes, and one more use of them if so. Asked by who has latched it, and has no pin.
    #[inline]
    pub(super) fn is_there(&self, page: PageId) -> bool {
        let seen = self.load();
        if seen & (TAGGED | VALID) != TAGGED | VALID || self.page() != page {
            return false;
        }
        if seen & USAGE < USAGE_MAX << USAGE_SHIFT {
            // A lost race is another's use, or the clock's look.
            let _ = self.state.compare_exchange(seen, seen + USAGE_ONE, Relaxed, Relaxed);
        }
        true
    }

    #[inline]
    pub(super) fn unpin(&self) {
        let before = self.state.fetch_sub(PIN, Release);
        debug_assert!(before & PINS > 0, "a frame is unpinned that is not pinned");
    }

    /// Pins a frame that has no page and that nobody uses.
    pub(super) fn pin_empty(&self) -> bool {
        self.update(|state| (state & (PINS | FLAGS) == 0).then_some(state + PIN)).is_ok()
    }

    pub(super) fn is_tagged(&self) -> bool {
        self.load() & TAGGED != 0
    }

    pub(super) fn pins(&self) -> u64 {
        self.load() & PINS
    }

    #[inline]
    pub(super) fn is_valid(&self) -> bool {
        self.load() & VALID != 0
    }

    pub(super) fn is_filling(&self) -> bool {
        self.state.load(SeqCst) & FILLING != 0
    }

    /// Enters the frame in the table's eyes. By its only user, under the partition's spinlock.
    pub(super) fn tag(&self, usage: u64) {
        let tagged = self.update(|state| Some(state & !USAGE | TAGGED | usage << USAGE_SHIFT));
        debug_assert!(tagged.is_ok_and(|before| before & FLAGS == 0));
    }

    /// The clock's look: takes away one use.
    pub(super) fn look(&self) -> Look {
        let seen = self.load();
        if seen & PINS != 0 || seen & (FILLING | WRITING) != 0 {
            return Look::Warm;
        }
        if seen & TAGGED == 0 {
            return Look::Empty;
        }
        if seen & USAGE != 0 {
            // A lost race is a use, which is what would have been taken away.
            let _ = self.state.compare_exchange(seen, seen - USAGE_ONE, Relaxed, Relaxed);
            return Look::Warm;
        }
        if seen & DIRTY != 0 { Look::Dirty } else { Look::Cold }
    }

    /// True if a scan may use the frame again for its next page: nobody else has used it.
    pub(super) fn is_scans_own(&self) -> bool {
        let seen = self.load();
        seen & TAGGED != 0 && seen & (PINS | USAGE | DIRTY | FILLING | WRITING) == 0
    }

    /// Evicts: from unused and clean to "no page, pinned by the caller". Under its latch, held alone, and the spinlock of
    /// its page's partition.
    pub(super) fn evict(&self) -> bool {
        self.update(|state| {
            let free = state & TAGGED != 0 && state & (PINS | DIRTY | FILLING | WRITING) == 0;
            free.then_some(state & !(FLAGS | USAGE) | PIN)
        })
        .is_ok()
    }

    /// Evicts whatever the state of the bytes: the page is gone. False while it is pinned or on its way somewhere. Under its
    /// latch, held alone, and the spinlock of its page's partition.
    pub(super) fn discard(&self) -> bool {
        let discarded = self.update(|state| {
            let free = state & TAGGED != 0 && state & (PINS | FILLING | WRITING) == 0;
            free.then_some(state & !(FLAGS | USAGE) | PIN)
        });
        if discarded.is_ok() {
            self.dirt.store(0, Release);
        }
        discarded.is_ok()
    }

    // ---- filling

    /// Claims the right to fill; answers the number of the fill. None if the bytes are there, or somebody is at it.
    pub(super) fn begin_fill(&self, issuer: u32) -> Option<u32> {
        let before = self.update(|state| {
            let may = state & (VALID | FILLING) == 0;
            may.then(|| (state | FILLING).wrapping_add(1 << FILL_SHIFT))
        });
        let number = ((before.ok()? >> FILL_SHIFT) as u32).wrapping_add(1);
        self.issuer.store(issuer, Release);
        Some(number)
    }

    /// The number of the fill on its way, if one is.
    pub(super) fn fill_number(&self) -> Option<u32> {
        let state = self.state.load(SeqCst);
        (state & FILLING != 0).then_some((state >> FILL_SHIFT) as u32)
    }

    /// Ends a fill, with the bytes in place or without.
    pub(super) fn end_fill(&self, valid: bool) {
        let flag = if valid { VALID } else { 0 };
        let ended = self.update(|state| Some(state & !FILLING | flag));
        debug_assert!(ended.is_ok_and(|before| before & FILLING != 0));
    }

    // ---- dirt

    /// Marks the page dirty from position `from` on. Under its latch, held alone (but see [`Descriptor::soil_again`]).
    #[inline]
    pub(super) fn soil(&self, from: Lsn) {
        if self.state.load(Relaxed) & DIRTY == 0 {
            self.soil_again(from);
        }
    }

    /// The same for who does not hold the latch alone: a write has failed.
    pub(super) fn soil_again(&self, from: Lsn) {
        self.dirt.fetch_max(!from.0, SeqCst);
        self.state.fetch_or(DIRTY, SeqCst);
    }

    /// The position from which the log is needed for this page, if it is dirty.
    pub(super) fn dirt(&self) -> Option<Lsn> {
        if self.state.load(SeqCst) & DIRTY == 0 {
            return None;
        }
        match self.dirt.load(SeqCst) {
            0 => None,
            dirt => Some(Lsn(!dirt)),
        }
    }

    /// True if the cleaner may choose it: dirty, unpinned, and about to be evicted, or `urgent`.
    pub(super) fn is_cleanable(&self, urgent: bool) -> bool {
        let state = self.load();
        let unused = state & (PINS | FILLING | WRITING) == 0 && (urgent || state & USAGE <= USAGE_ONE);
        state & DIRTY != 0 && unused
    }

    /// Claims a dirty page to be written; false if it is not there to be written, or being written.
    pub(super) fn begin_write(&self, unpinned_only: bool) -> bool {
        self.update(|state| {
            let needed = TAGGED | VALID | DIRTY;
            let may =
                state & needed == needed && state & (FILLING | WRITING) == 0 && (!unpinned_only || state & PINS == 0);
            may.then_some(state | WRITING)
        })
        .is_ok()
    }

    /// The page's bytes have been copied: from now on a change makes it dirty again. Answers from where the log is needed
    /// until the copy is in the file. Under the latch, held shared.
    pub(super) fn copied(&self) -> Lsn {
        let dirt = self.dirt.swap(0, SeqCst);
        self.state.fetch_and(!DIRTY, SeqCst);
        Lsn(!dirt)
    }

    /// The copy is in the file, or is not going to be.
    pub(super) fn end_write(&self) {
        self.state.fetch_and(!WRITING, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::RelId;

    fn fresh() -> Descriptor {
        Descriptor {
            state: AtomicU64::new(0),
            page: AtomicU64::new(0),
            dirt: AtomicU64::new(0),
            next: AtomicU32::new(0),
            issuer: AtomicU32::new(0),
        }
    }

    const PAGE: PageId = PageId { rel: RelId(3), block: 9 };

    fn valid() -> Descriptor {
        let frame = fresh();
        assert!(frame.pin_empty());
        frame.set_page(PAGE);
        frame.tag(1);
        assert_eq!(frame.begin_fill(7), Some(1));
        assert_eq!(frame.begin_fill(8), None, "one fill at a time");
        frame.end_fill(true);
        frame
    }

    #[test]
    fn an_untagged_frame_cannot_be_pinned() {
        let frame = fresh();
        assert!(!frame.pin(true));
        assert!(frame.pin_empty() && !frame.pin_empty());
        assert!(!frame.pin(true), "pinned by its owner, but not in the table");
    }

    #[test]
    fn what_is_used_is_not_evicted() {
        let frame = valid();
        assert!(!frame.evict(), "pinned");
        frame.soil(Lsn(800));
        frame.unpin();
        assert!(!frame.evict(), "dirty");
        assert_eq!(frame.dirt(), Some(Lsn(800)));
        assert!(frame.begin_write(true) && !frame.begin_write(true));
        assert_eq!(frame.copied(), Lsn(800));
        assert!(frame.dirt().is_none() && !frame.evict(), "being written");
        frame.end_write();
        assert!(frame.evict());
        assert_eq!(frame.pins(), 1, "pinned by who evicted it");
        assert!(!frame.pin(true));
    }

    #[test]
    fn a_change_during_a_write_makes_it_dirty_again() {
        let frame = valid();
        frame.soil(Lsn(800));
        frame.soil(Lsn(900));
        assert_eq!(frame.dirt(), Some(Lsn(800)), "the oldest counts");
        assert!(frame.begin_write(false));
        assert_eq!(frame.copied(), Lsn(800));
        frame.soil(Lsn(1000));
        frame.soil_again(Lsn(800));
        assert_eq!(frame.dirt(), Some(Lsn(800)), "the write failed: the older dirt is back");
        frame.end_write();
        assert!(frame.dirt().is_some());
    }

    #[test]
    fn the_clock_takes_uses_away_before_the_page() {
        let frame = valid();
        assert_eq!(frame.look(), Look::Warm, "pinned");
        assert!(frame.pin(true));
        frame.unpin();
        frame.unpin();
        assert_eq!([frame.look(), frame.look(), frame.look()], [Look::Warm, Look::Warm, Look::Cold]);
        assert!(frame.is_scans_own());
        frame.soil(Lsn(8));
        assert_eq!(frame.look(), Look::Dirty);
        assert!(frame.discard() && frame.dirt().is_none());
        frame.unpin();
        assert_eq!(frame.look(), Look::Empty);
    }

    #[test]
    fn each_fill_has_its_number() {
        let frame = fresh();
        frame.pin_empty();
        frame.tag(0);
        for number in 1..4 {
            assert_eq!(frame.begin_fill(0), Some(number));
            assert_eq!(frame.fill_number(), Some(number));
            frame.end_fill(false);
            assert_eq!(frame.fill_number(), None);
        }
    }
}
