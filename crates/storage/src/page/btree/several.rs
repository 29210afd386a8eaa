//! Searches for several keys on one internal page.
//!
//! An entry's bytes are found behind its slot and turned into a number before it is compared: of a search, most of the work. Whoever
//! has many keys lets all entries of the page be read once; then each key is searched in a plain array of numbers.
//!
//! Rules
//! 1. A number says where a key is only where no entry has the same: keys that go on where the number ends, and tids, are compared by
//!    [`BtreePage::child_position`], as are keys that do not begin as the page's do.

use super::super::Tid;
use super::search::{compare, number_of};
use super::*;

/// How many keys are worth one entry that is read for all of them: a search by itself reads some ten entries.
const ENTRIES_PER_KEY: usize = 16;

/// A page, read for several searches.
pub struct Searches<'a> {
    page: BtreePage<'a>,
    /// What all keys of the page begin with.
    shared: &'a [u8],
    /// For each real entry the number of what follows; none if the keys are too few for that.
    numbers: &'a [u64],
}

impl<'a> BtreePage<'a> {
    /// Begins to search for so many keys. For internal pages. `numbers` is room that is used again, and need not be empty.
    pub fn searches(self, keys: usize, numbers: &'a mut Vec<u64>) -> Searches<'a> {
        debug_assert!(!self.is_leaf());
        numbers.clear();
        let (slots, skip) = (self.real_slots(), self.skip());
        let mut shared: &[u8] = &[];
        if let [any, ..] = slots
            && slots.len() <= keys * ENTRIES_PER_KEY
        {
            shared = &self.pair_in(any).0[..skip];
            let front = self.entry_bytes() + skip;
            numbers.extend(slots.iter().map(|slot| self.number_in(slot, skip, front)));
        }
        Searches { page: self, shared, numbers }
    }
}

impl Searches<'_> {
    /// The same as [`BtreePage::child_position`].
    #[inline]
    pub fn child_position(&self, key: &[u8], tid: Tid) -> usize {
        if let Some((shared, rest)) = key.split_at_checked(self.shared.len())
            && !self.numbers.is_empty()
            && compare(shared, self.shared).is_eq()
        {
            let number = number_of(rest);
            let after = self.numbers.partition_point(|own| *own <= number);
            if after == 0 || self.numbers[after - 1] != number {
                return after;
            }
        }
        self.page.child_position(key, tid)
    }
}
