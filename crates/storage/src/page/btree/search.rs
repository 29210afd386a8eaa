//! Finding a place on a B-tree page: the hottest loop of an index lookup.
//!
//! ```text
//!  key     80 00 01 | 2F 41 | 07          skip = 3, head = 2F41
//!  slots   ... 2F3E 2F40 2F41 2F41 2F42 ...
//!                        ^^^^^^^^^ only these keys are read
//! ```
//!
//! 1. Heads are searched as numbers: first the samples, which lie beside the other fields of the header, all at once;
//!    then the run of slots between two samples, without a branch that depends on a head. On a page that is not in the
//!    processor's caches every line of the slot array that is not read is worth more than all comparisons.
//! 2. Among equal heads the next eight bytes are compared as numbers: one entry, in an index of small distinct keys; many, where a page
//!    has keys that differ early and late. Whole keys, and then tids, are compared where these are equal too.
//! 3. If the search key does not begin with the bytes that all keys of the page share, which any entry shows, then it
//!    is before all of them or after all.
//!
//! Nothing is allocated and nothing is copied.

use super::super::Tid;
use super::*;
use std::cmp::Ordering;
use std::ops::Range;

impl<'a> BtreePage<'a> {
    /// The first position at or after (key, tid); the entry count if there is none. With [`Tid::MIN`]: the first entry
    /// of the key or after it; with [`Tid::MAX`]: the first after all entries of the key. For leaves.
    #[inline]
    pub fn lower_bound(self, key: &[u8], tid: Tid) -> usize {
        debug_assert!(self.is_leaf());
        self.rank::<false>(key, tid)
    }

    /// The position of the child that (key, tid) belongs to. For internal pages.
    #[inline]
    pub fn child_position(self, key: &[u8], tid: Tid) -> usize {
        debug_assert!(!self.is_leaf());
        self.rank::<true>(key, tid)
    }

    /// The position where a new entry goes: on a leaf before everything at or after it, on an internal page behind the
    /// child that was split.
    pub fn insert_position(self, key: &[u8], tid: Tid) -> usize {
        if self.is_leaf() { self.lower_bound(key, tid) } else { self.child_position(key, tid) + 1 }
    }

    /// True when (key, tid) belongs to this page or to one left of it: a search need not go right.
    #[inline]
    pub fn covers(self, key: &[u8], tid: Tid) -> bool {
        match self.high_key() {
            Some(high) => (key, tid) < high,
            None => true,
        }
    }

    /// Counts the real entries before (key, tid), or, with `OR_EQUAL`, at or before it. On a leaf that is the position
    /// of the first one not counted; on an internal page, whose entry 0 is not real, that of the last one counted.
    #[inline(always)]
    fn rank<const OR_EQUAL: bool>(self, key: &[u8], tid: Tid) -> usize {
        let first = self.first_real();
        let (slots, _) = self.page[slot_at(first)..slot_at(self.count())].as_chunks::<SLOT_BYTES>();
        if slots.is_empty() {
            return 0;
        }
        let skip = self.skip();
        if let Some(rest) = key.get(skip..) {
            let head = head_of(rest);
            let before = self.first_at_or_after(slots, head);
            // All of this holds for keys that begin as the page's do. Any of its keys tells whether this one does; the
            // one that was found is at hand.
            let (any, _) = self.pair_in(&slots[before.min(slots.len() - 1)]);
            if compare(&any[..skip], &key[..skip]) == Ordering::Equal {
                let (number, front) = (number_of(rest), self.entry_bytes() + skip);
                let is_before = |slot: &[u8; SLOT_BYTES]| match self.number_in(slot, skip, front).cmp(&number) {
                    Ordering::Less => true,
                    Ordering::Greater => false,
                    Ordering::Equal => self.is_pair_before::<OR_EQUAL>(slot, key, tid),
                };
                return before
                    + match &slots[before..] {
                        [one, ..] if slot_head(one) != head => 0,
                        [] => 0,
                        [one] => usize::from(is_before(one)),
                        [one, two, ..] if slot_head(two) != head => usize::from(is_before(one)),
                        more => more.partition_point(|slot| slot_head(slot) == head && is_before(slot)),
                    };
            }
        }
        if key < self.key(first) { 0 } else { slots.len() }
    }

    /// Is the entry of a slot before (key, tid), or, with `OR_EQUAL`, at it? Looks at the whole key.
    #[inline]
    fn is_pair_before<const OR_EQUAL: bool>(self, slot: &[u8; SLOT_BYTES], key: &[u8], tid: Tid) -> bool {
        let (own, own_tid) = self.pair_in(slot);
        match compare(own, key) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal if OR_EQUAL => own_tid <= tid,
            Ordering::Equal => own_tid < tid,
        }
    }

    /// The [number](number_of) of what follows the first `skip` bytes of a slot's key; `front` bytes of its entry are before that.
    #[inline(always)]
    fn number_in(self, slot: &[u8; SLOT_BYTES], skip: usize, front: usize) -> u64 {
        let at = (u16::from_le_bytes([slot[0], slot[1]]) & OFFSET_BITS) as usize;
        // Read in one piece, from before it where the page ends; what is not the key's counts as zero.
        let from = (at + front).min(PAGE_SIZE - NUMBER_BYTES);
        let number = u64_at(self.page, from).swap_bytes().checked_shl(8 * (at + front - from) as u32).unwrap_or(0);
        let lacking = NUMBER_BYTES.saturating_sub((u16_at(self.page, at) as usize).saturating_sub(skip));
        number & u64::MAX.checked_shl(8 * lacking as u32).unwrap_or(0)
    }

    /// True if the entry at a position has the key. Of an entry with another one its slot is enough, mostly.
    #[inline]
    pub fn has_key(self, position: usize, key: &[u8]) -> bool {
        let head = u16_at(self.page, slot_at(position) + 2);
        key.get(self.skip()..).is_some_and(|rest| head_of(rest) == head) && compare(self.key(position), key).is_eq()
    }

    #[inline(always)]
    fn pair_in(self, slot: &[u8; SLOT_BYTES]) -> (&'a [u8], Tid) {
        let at = (u16::from_le_bytes([slot[0], slot[1]]) & OFFSET_BITS) as usize;
        let from = at + self.entry_bytes();
        (&self.page[from..from + u16_at(self.page, at) as usize], tid_at(self.page, at))
    }

    /// The first of the compared slots whose head is not below `head`. Sample `i` is the head of slot `(i + 1) *
    /// stride`.
    #[inline(always)]
    fn first_at_or_after(self, slots: &[[u8; SLOT_BYTES]], head: u16) -> usize {
        let run = self.run_of(slots.len(), head);
        run.start + slots[run].partition_point(|slot| slot_head(slot) < head)
    }

    /// The run of slots between two samples that [`first_at_or_after`](Self::first_at_or_after) looks through.
    #[inline(always)]
    fn run_of(self, slots: usize, head: u16) -> Range<usize> {
        let stride = sample_stride(slots);
        if stride == 0 {
            return 0..slots;
        }
        let (samples, _) = self.page[SAMPLES..SAMPLES + 2 * SAMPLE_COUNT].as_chunks::<2>();
        let below = samples.iter().map(|sample| usize::from(u16::from_le_bytes(*sample) < head)).sum::<usize>();
        let from = if below == 0 { 0 } else { below * stride + 1 };
        from..if below == SAMPLE_COUNT { slots } else { (below + 1) * stride }
    }

    /// Where a search for a key on a leaf reads first, besides the page's header: the high key, and both ends of the run of slots.
    #[inline]
    pub fn first_reads(self, key: &[u8]) -> [usize; 3] {
        debug_assert!(self.is_leaf());
        let run = self.run_of(self.count(), head_of(key.get(self.skip()..).unwrap_or_default()));
        [u16_at(self.page, HIGH_KEY) as usize, slot_at(run.start), slot_at(run.end)]
    }

    /// Where it reads then: the entry that it finds.
    #[inline]
    pub fn last_read(self, key: &[u8]) -> usize {
        debug_assert!(self.is_leaf());
        let (slots, _) = self.page[slot_at(0)..slot_at(self.count())].as_chunks::<SLOT_BYTES>();
        let head = head_of(key.get(self.skip()..).unwrap_or_default());
        let position = self.first_at_or_after(slots, head);
        if position < slots.len() { self.offset(position) } else { 0 }
    }
}

/// The distance between the slots whose heads are samples, or zero on a page that is too short for samples.
#[inline(always)]
pub(super) fn sample_stride(slots: usize) -> usize {
    let stride = slots / (SAMPLE_COUNT + 1);
    if stride < 2 { 0 } else { stride }
}

/// The first two bytes as a number that orders as they do; missing ones count as zero.
#[inline(always)]
pub(super) fn head_of(bytes: &[u8]) -> u16 {
    match bytes {
        [a, b, ..] => u16::from_be_bytes([*a, *b]),
        [a] => u16::from_be_bytes([*a, 0]),
        [] => 0,
    }
}

/// Bytes of a key that are compared at once.
const NUMBER_BYTES: usize = size_of::<u64>();

/// The first eight bytes as a number that orders as they do, but for keys that go on where it ends; missing ones count as zero.
#[inline(always)]
fn number_of(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => bytes.iter().rev().fold(0, |number, byte| number >> 8 | u64::from(*byte) << 56),
    }
}

#[inline(always)]
fn slot_head(slot: &[u8; SLOT_BYTES]) -> u16 {
    u16::from_le_bytes([slot[2], slot[3]])
}

/// Compares two keys as `cmp` does; most are short, for which a call costs more than the comparison.
#[inline(always)]
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let (mut left, mut right) = (a, b);
    while let (Some((x, rest_left)), Some((y, rest_right))) = (left.split_first_chunk(), right.split_first_chunk()) {
        let order = u64::from_be_bytes(*x).cmp(&u64::from_be_bytes(*y));
        if order.is_ne() {
            return order;
        }
        (left, right) = (rest_left, rest_right);
    }
    // Of two as long as each other the last eight bytes are compared, though some of them are known to be the same.
    if let (true, Some(x), Some(y)) = (a.len() == b.len(), a.last_chunk(), b.last_chunk()) {
        return u64::from_be_bytes(*x).cmp(&u64::from_be_bytes(*y));
    }
    for (x, y) in left.iter().zip(right) {
        if x != y {
            return x.cmp(y);
        }
    }
    left.len().cmp(&right.len())
}
