//! Splitting a B-tree page: where, and what the halves hold.
//!
//! A split takes the new entry in: the *sequence* it cuts is the page's entries with the new one at its position. The
//! cut at `at` leaves `0..at` of the sequence on the left page and gives the rest to a new right one.
//!
//! Rules
//! 1. Both halves hold an entry and fit their pages with their high keys; [`MAX_KEY_BYTES`] guarantees that a cut
//!    exists.
//! 2. The halves are of equal size, or nine to one when the new entry is the last of its level: ascending keys fill
//!    pages instead of leaving them half empty.
//! 3. Near the wished size the cut goes where the separator is shortest. On leaves the separator is the shortest prefix
//!    of the right half's first key that is greater than the left half's last key; only where these two are equal does
//!    it carry the tid. On internal pages the right half's first separator moves up and its entry keeps an empty key.
//!
//! The life of a split: [`Sequence::cut`]; [`Sequence::separator`]; [`Sequence::build_right`] writes the right page
//! (its image goes into the record); the record's `apply_left` calls [`BtreePageMut::split_off`], `apply_next` links
//! the former right neighbour; the parent's entry is the next record. When the root is split both halves are built, and
//! [`BtreePageMut::grow_root`] makes it their parent, in one record.

use super::super::raw::{common_prefix, put_u16};
use super::super::{PageBytes, Tid, misfit};
use super::*;
use base::{PageId, Result};

/// A cut this close to the wished one may be taken for a shorter separator.
const WINDOW_BYTES: usize = CONTENT_BYTES / 16;

/// What the new half of a split is linked to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Links {
    /// Left neighbour.
    pub left: u32,
    /// Right neighbour.
    pub right: u32,
    /// The running vacuum's cycle, or zero.
    pub cycle: u16,
}

/// A page's entries with a new one among them.
#[derive(Clone, Copy)]
pub struct Sequence<'a> {
    view: BtreePage<'a>,
    position: usize,
    new: Entry<'a>,
}

impl<'a> Sequence<'a> {
    /// The entries of a page with `new` before the one at `position`.
    pub fn new(view: BtreePage<'a>, position: usize, new: Entry<'a>) -> Sequence<'a> {
        debug_assert!(position <= view.count() && position >= view.first_real());
        Sequence { view, position, new }
    }

    /// Entries in the sequence.
    pub fn count(&self) -> usize {
        self.view.count() + 1
    }

    fn entry(&self, at: usize) -> Entry<'a> {
        match at.cmp(&self.position) {
            std::cmp::Ordering::Less => self.view.entry(at),
            std::cmp::Ordering::Equal => self.new,
            std::cmp::Ordering::Greater => self.view.entry(at - 1),
        }
    }

    /// How many of the page's own entries stay on the left page of a cut, and whether the new one does.
    pub fn left_of(&self, at: usize) -> (usize, bool) {
        if self.position < at { (at - 1, true) } else { (at, false) }
    }

    /// Where to cut.
    pub fn cut(&self) -> Result<usize> {
        let view = self.view;
        let count = self.count();
        let entry_bytes = view.entry_bytes() + SLOT_BYTES;
        let total: usize = (0..count).map(|at| entry_bytes + self.entry(at).key.len()).sum();
        let old_high = view.high_key().map_or(0, |(key, _)| LEAF_ENTRY_BYTES + key.len());
        let ascending = view.right() == NO_BLOCK && self.position == view.count();
        let wish = if ascending { total / 10 * 9 } else { total / 2 };
        let mut best = None;
        let mut left = 0;
        for at in 1..count {
            left += entry_bytes + self.entry(at - 1).key.len();
            let separator = self.separator(at).0.len();
            let moved_up = if view.is_leaf() { 0 } else { self.entry(at).key.len() };
            let left_fits = left + LEAF_ENTRY_BYTES + separator <= CONTENT_BYTES;
            let right_fits = total - left - moved_up + old_high <= CONTENT_BYTES;
            if left_fits && right_fits {
                let off = left.abs_diff(wish);
                let rank = if off <= WINDOW_BYTES { (0, separator, off) } else { (1, off, separator) };
                if best.is_none_or(|(other, _)| rank < other) {
                    best = Some((rank, at));
                }
            }
        }
        best.map(|(_, at)| at)
            .ok_or_else(|| misfit(view.page, format_args!("{count} entries cannot be cut into two pages")))
    }

    /// The separator of a cut: after everything left of it, at or before everything right.
    pub fn separator(&self, at: usize) -> (&'a [u8], Tid) {
        let right = self.entry(at);
        if !self.view.is_leaf() {
            return (right.key, right.tid);
        }
        let left = self.entry(at - 1);
        if left.key == right.key {
            return (right.key, right.tid);
        }
        let shared = common_prefix(left.key, right.key);
        (&right.key[..(shared + 1).min(right.key.len())], Tid::MIN)
    }

    /// Writes the left half of a root's cut into a new page, which ends at the separator.
    pub fn build_left(&self, at: usize, page: &mut PageBytes, id: PageId, links: Links) {
        self.build(0, at, Some(self.separator(at)), page, id, links);
    }

    /// Writes the right half of a cut into a new page, which ends where the page ended that is cut.
    pub fn build_right(&self, at: usize, page: &mut PageBytes, id: PageId, links: Links) {
        self.build(at, self.count(), self.view.high_key(), page, id, links);
    }

    fn build(
        &self,
        from: usize,
        to: usize,
        high: Option<(&[u8], Tid)>,
        page: &mut PageBytes,
        id: PageId,
        links: Links,
    ) {
        let level = self.view.level();
        let mut half = BtreePageMut::format(page, id, level, 0);
        half.set_left(links.left);
        half.set_right(links.right);
        half.fill(
            high,
            (from..to).map(|at| {
                let entry = self.entry(at);
                let first = at == from && level > 0;
                (if first { Entry::internal(&[], Tid::MIN, entry.child) } else { entry }, false)
            }),
        );
        put_u16(page, CYCLE, links.cycle);
    }
}
