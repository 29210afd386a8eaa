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
//!    has keys that differ early and late: of these the one that is looked at first is where the number would be if all of them were
//!    as far from each other, which numbers that were counted are. Whole keys, and then tids, are compared where numbers are equal too.
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
            Some((high, high_tid)) => compare(key, high).then_with(|| tid.cmp(&high_tid)).is_lt(),
            None => true,
        }
    }

    /// Counts the real entries before (key, tid), or, with `OR_EQUAL`, at or before it. On a leaf that is the position
    /// of the first one not counted; on an internal page, whose entry 0 is not real, that of the last one counted.
    #[inline(always)]
    fn rank<const OR_EQUAL: bool>(self, key: &[u8], tid: Tid) -> usize {
        let slots = self.real_slots();
        if slots.is_empty() {
            return 0;
        }
        let head = self.head_in(key);
        let before = first_at_or_after(slots, self.run_of(slots.len(), head), head);
        self.rank_from::<OR_EQUAL>(slots, before, key, tid)
    }

    /// The same, where the first slot whose head is not below the key's is known.
    #[inline(always)]
    fn rank_from<const OR_EQUAL: bool>(self, slots: &[[u8; SLOT_BYTES]], before: usize, key: &[u8], tid: Tid) -> usize {
        let skip = self.skip();
        if let Some((shared, rest)) = key.split_at_checked(skip) {
            // All of this holds for keys that begin as the page's do. Any of its keys tells whether this one does; the
            // one that was found is at hand.
            let (any, _) = self.pair_in(&slots[before.min(slots.len() - 1)]);
            if compare(&any[..skip], shared) == Ordering::Equal {
                let head = head_of(rest);
                let sought = Sought { key, tid, number: number_of(rest), skip, front: self.entry_bytes() + skip };
                return before
                    + match &slots[before..] {
                        [one, ..] if slot_head(one) != head => 0,
                        [] => 0,
                        [one] => usize::from(self.is_before::<OR_EQUAL>(one, &sought)),
                        [one, two, ..] if slot_head(two) != head => {
                            usize::from(self.is_before::<OR_EQUAL>(one, &sought))
                        }
                        more => self.rank_among::<OR_EQUAL>(more, &self.alike(more, head, &sought), &sought),
                    };
            }
        }
        if key < self.key(self.first_real()) { 0 } else { slots.len() }
    }

    /// The entries at the beginning of `slots` that have a head, which one has at least.
    #[inline]
    fn alike(self, slots: &[[u8; SLOT_BYTES]], head: u16, sought: &Sought<'_>) -> Alike {
        let count = slots.partition_point(|slot| slot_head(slot) == head);
        let number = |position: usize| self.number_in(&slots[position], sought.skip, sought.front);
        Alike { count, least: number(0), most: number(count - 1) }
    }

    /// Counts the entries before what is sought among those at the beginning of `slots` that have its head.
    fn rank_among<const OR_EQUAL: bool>(self, slots: &[[u8; SLOT_BYTES]], alike: &Alike, sought: &Sought<'_>) -> usize {
        /// Fewer are not worth a guess.
        const FEW: usize = 8;
        let (mut low, mut high) = (0, alike.count);
        let is_before = |position: usize| self.is_before::<OR_EQUAL>(&slots[position], sought);
        if high > FEW {
            let guess = between(alike.least, alike.most, sought.number, high - 1);
            // From there in steps that grow, until it is between two.
            let mut step = 1;
            if is_before(guess) {
                low = guess + 1;
                while low + step <= high {
                    let next = low + step - 1;
                    if !is_before(next) {
                        high = next;
                        break;
                    }
                    (low, step) = (next + 1, 4 * step);
                }
            } else {
                high = guess;
                while low + step <= high {
                    let next = high - step;
                    if is_before(next) {
                        low = next + 1;
                        break;
                    }
                    (high, step) = (next, 4 * step);
                }
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Is the entry of a slot with the sought head before what is sought, or, with `OR_EQUAL`, at it?
    #[inline(always)]
    fn is_before<const OR_EQUAL: bool>(self, slot: &[u8; SLOT_BYTES], sought: &Sought<'_>) -> bool {
        match self.number_in(slot, sought.skip, sought.front).cmp(&sought.number) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => self.is_pair_before::<OR_EQUAL>(slot, sought.key, sought.tid),
        }
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

    /// The [number](number_of) of what follows the `skip` shared bytes of a slot's key, where an entry has that from its byte `front` on.
    #[inline(always)]
    pub(super) fn number_in(self, slot: &[u8; SLOT_BYTES], skip: usize, front: usize) -> u64 {
        /// The first bytes of a number, by how many of them are the key's.
        const KEPT: [u64; NUMBER_BYTES + 1] = [
            0,
            u64::MAX << 56,
            u64::MAX << 48,
            u64::MAX << 40,
            u64::MAX << 32,
            u64::MAX << 24,
            u64::MAX << 16,
            u64::MAX << 8,
            u64::MAX,
        ];
        let at = (u16::from_le_bytes([slot[0], slot[1]]) & OFFSET_BITS) as usize;
        let length = (u16_at(self.page, at) as usize).saturating_sub(skip);
        let bytes = &self.page[(at + front).min(PAGE_SIZE)..];
        // Read in one piece, with what follows the key; only a key at the page's end has nothing behind it.
        number_of(bytes) & KEPT[length.min(NUMBER_BYTES)]
    }

    /// True if the entry at a position has the key. Of an entry with another one its slot is enough, mostly.
    #[inline]
    pub fn has_key(self, position: usize, key: &[u8]) -> bool {
        let head = u16_at(self.page, slot_at(position) + 2);
        key.get(self.skip()..).is_some_and(|rest| head_of(rest) == head) && compare(self.key(position), key).is_eq()
    }

    #[inline(always)]
    pub(super) fn pair_in(self, slot: &[u8; SLOT_BYTES]) -> (&'a [u8], Tid) {
        let at = (u16::from_le_bytes([slot[0], slot[1]]) & OFFSET_BITS) as usize;
        let from = at + self.entry_bytes();
        (&self.page[from..from + u16_at(self.page, at) as usize], tid_at(self.page, at))
    }

    /// The slots of the entries that are compared.
    #[inline(always)]
    pub(super) fn real_slots(self) -> &'a [[u8; SLOT_BYTES]] {
        self.page[slot_at(self.first_real())..slot_at(self.count())].as_chunks().0
    }

    /// A key's head on this page.
    #[inline(always)]
    fn head_in(self, key: &[u8]) -> u16 {
        key.get(self.skip()..).map_or(0, head_of)
    }

    /// The run of slots between two samples in which the first one is whose head is not below `head`, or behind which it is. Sample `i` is
    /// the head of slot `(i + 1) * stride`.
    #[inline(always)]
    fn run_of(self, slots: usize, head: u16) -> Range<usize> {
        let stride = sample_stride(slots);
        if stride == 0 {
            return 0..slots;
        }
        let (samples, _) = self.page[SAMPLES..SAMPLES + 2 * SAMPLE_COUNT].as_chunks::<2>();
        let below: usize = samples.iter().map(|sample| usize::from(u16::from_le_bytes(*sample) < head)).sum();
        let from = if below == 0 { 0 } else { below * stride + 1 };
        from..if below == SAMPLE_COUNT { slots } else { (below + 1) * stride }
    }

    /// Begins to search a leaf for a key: the run of slots that its slot is in, or behind, and where that is read.
    #[inline]
    pub(crate) fn begin_search(self, key: &[u8]) -> (Range<usize>, [usize; 2]) {
        debug_assert!(self.is_leaf());
        let run = self.run_of(self.count(), self.head_in(key));
        let reads = [slot_at(run.start), slot_at(run.end)];
        (run, reads)
    }

    /// Goes on: the first position of the run whose head is not below the key's, and where its entry is read.
    #[inline]
    pub(crate) fn narrow_search(self, key: &[u8], run: Range<usize>) -> (usize, usize) {
        let slots = self.real_slots();
        let before = first_at_or_after(slots, run, self.head_in(key));
        (before, if before < slots.len() { self.offset(before) } else { 0 })
    }

    /// Ends the search from that position on: the [`lower_bound`](Self::lower_bound) of the key's first entry.
    #[inline]
    pub(crate) fn end_search(self, key: &[u8], before: usize) -> usize {
        let slots = self.real_slots();
        if slots.is_empty() { 0 } else { self.rank_from::<false>(slots, before, key, Tid::MIN) }
    }
}

/// The entries of a page with one head: how many, and the [numbers](number_of) of the first and the last.
struct Alike {
    count: usize,
    least: u64,
    most: u64,
}

/// What is searched for among the entries of a page.
struct Sought<'k> {
    key: &'k [u8],
    tid: Tid,
    /// Of what follows the bytes that all keys of the page share.
    number: u64,
    /// How many these are, and where an entry has what follows them.
    skip: usize,
    front: usize,
}

/// The first slot of a run whose head is not below `head`, or the run's end.
#[inline(always)]
fn first_at_or_after(slots: &[[u8; SLOT_BYTES]], run: Range<usize>, head: u16) -> usize {
    run.start + slots[run].partition_point(|slot| slot_head(slot) < head)
}

/// The place of a number from zero to `last`, if the least is at zero, the most at `last`, and the others lie evenly.
#[inline]
fn between(least: u64, most: u64, number: u64, last: usize) -> usize {
    if number <= least {
        return 0;
    }
    if number >= most {
        return last;
    }
    // Halves fit signed numbers, which are converted faster.
    let part = ((number - least) >> 1) as i64 as f64 / ((most - least) >> 1).max(1) as i64 as f64;
    ((part * last as f64) as usize).min(last)
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
pub(super) fn number_of(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => short_number_of(bytes),
    }
}

/// The same of fewer than eight: of two halves, which may share bytes.
#[inline]
fn short_number_of(bytes: &[u8]) -> u64 {
    let behind = u64::BITS - 8 * bytes.len() as u32;
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_be_bytes(*first)) << 32 | u64::from(u32::from_be_bytes(*last)) << behind
        }
        _ => match (bytes.first_chunk::<2>(), bytes.last_chunk::<2>()) {
            (Some(first), Some(last)) => {
                u64::from(u16::from_be_bytes(*first)) << 48 | u64::from(u16::from_be_bytes(*last)) << behind
            }
            _ => bytes.first().map_or(0, |byte| u64::from(*byte) << 56),
        },
    }
}

#[inline(always)]
fn slot_head(slot: &[u8; SLOT_BYTES]) -> u16 {
    u16::from_le_bytes([slot[2], slot[3]])
}

/// Compares two keys as `cmp` does; most are short, for which a call costs more than the comparison.
#[inline(always)]
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    if a.len() < NUMBER_BYTES && b.len() < NUMBER_BYTES {
        return short_number_of(a).cmp(&short_number_of(b)).then(a.len().cmp(&b.len()));
    }
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
