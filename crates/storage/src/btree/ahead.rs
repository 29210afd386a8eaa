//! The entries of several keys at a time: each step is taken for all of them before the next one.
//!
//! One look-up in a large index waits for memory again and again: the page table, the frame's state, the leaf's header, its slots, the
//! entry. So all keys go down the tree together, which latches a page once for all keys that pass it; the leaves are asked
//! for; and then they are looked into for a few keys in turns: what a single look-up waits for one after the other comes for
//! several at once.
//!
//! Rules
//! 1. The leaves of a few keys are latched together, in the order of the keys and not of the leaves; so none of these latches is waited
//!    for. A key whose leaf cannot be had at once is looked up alone, after the others are let go.
//!
//! Different from a sorted batch (as in MariaDB's batched key access): the order of the keys stays, because whoever asks has rows to
//! give in it.

use super::descend::{STEPS_MAX, child_at, in_a_circle, is_right_of, right_of};
use super::lookup::{matches_from, matches_on};
use super::{Btree, Matches, ROOT_BLOCK, tree_page};
use crate::buffer::PageRef;
use crate::page::btree::BtreePage;
use crate::page::{Tid, header};
use base::Result;
use kernel::region::prefetch::{LINE_BYTES, prefetch};
use std::array;

/// How many keys are looked up at a time.
pub const KEYS_MAX: usize = 64;
/// How many leaves are latched at a time: some of what a session may hold (`HELD_MAX`), and enough that their memory
/// comes meanwhile.
const TOGETHER: usize = 8;

impl Btree {
    /// Looks several keys up, as [`Btree::lookup`] does one: appends what there is of each to `found`, in their order. The session holds a
    /// snapshot meanwhile.
    ///
    /// # Panics
    ///
    /// If they are more than [`KEYS_MAX`].
    pub fn lookup_each<'k>(&self, keys: impl Iterator<Item = &'k [u8]>, found: &mut Vec<Matches>) -> Result<()> {
        let (mut all, mut count): ([&[u8]; KEYS_MAX], _) = ([&[]; KEYS_MAX], 0);
        for key in keys {
            all[count] = key;
            count += 1;
        }
        let keys = &all[..count];
        let leaves = &mut [ROOT_BLOCK; KEYS_MAX][..count];
        self.go_down(keys, leaves)?;
        // Each step asks for what the next one reads.
        const HEADER: [usize; 2] = [0, LINE_BYTES];
        let pool = self.relations.pool;
        let approach = |at: usize| {
            if let Some(&leaf) = leaves.get(at) {
                pool.approach(self.page_id(leaf), HEADER);
            }
        };
        let settle = |at: usize| {
            if let Some(&leaf) = leaves.get(at) {
                pool.settle(self.page_id(leaf), HEADER);
            }
        };
        leaves.iter().for_each(|&leaf| pool.expect(self.page_id(leaf)));
        (0..2 * TOGETHER).for_each(approach);
        (0..TOGETHER).for_each(settle);
        for first in (0..count).step_by(TOGETHER) {
            (first + 2 * TOGETHER..first + 3 * TOGETHER).for_each(approach);
            (first + TOGETHER..first + 2 * TOGETHER).for_each(settle);
            let some = first..count.min(first + TOGETHER);
            self.look_into(&keys[some.clone()], &leaves[some], found)?;
        }
        Ok(())
    }

    /// Turns blocks, first those of the root, into the leaves that the keys' first entries belong to, or ones left of them by now.
    fn go_down(&self, keys: &[&[u8]], blocks: &mut [u32]) -> Result<()> {
        // A bit for each key that is still above its leaf.
        let mut above = u64::MAX.checked_shr((KEYS_MAX - keys.len()) as u32).unwrap_or(0);
        let mut steps = 0;
        let mut numbers = Vec::new();
        while above != 0 {
            // All keys that are at the same page take their step together.
            let block = blocks[above.trailing_zeros() as usize];
            let page = self.read(block)?;
            let view = tree_page(&page)?;
            let is_here = |at: &usize| above & 1 << at != 0 && blocks[*at] == block;
            let here = (0..keys.len()).filter(is_here).fold(0u64, |here, at| here | 1 << at);
            let is_searched = !view.is_leaf() && !view.is_ignored();
            let searches = is_searched.then(|| view.searches(here.count_ones() as usize, &mut numbers));
            for (at, key) in keys.iter().enumerate() {
                if here & 1 << at == 0 {
                    continue;
                }
                if view.is_leaf() {
                    above &= !(1 << at);
                    continue;
                }
                let position = searches.as_ref().map(|searches| searches.child_position(key, Tid::MIN));
                match position.and_then(|position| child_at(view, position, (key, Tid::MIN))) {
                    Some(child) => {
                        blocks[at] = child;
                        if view.level() == 1 {
                            above &= !(1 << at);
                        }
                    }
                    None => blocks[at] = right_of(&page)?,
                }
            }
            steps += 1;
            if steps == STEPS_MAX {
                return Err(in_a_circle(&page));
            }
        }
        Ok(())
    }

    /// Looks a few keys up in their leaves.
    fn look_into(&self, keys: &[&[u8]], leaves: &[u32], found: &mut Vec<Matches>) -> Result<()> {
        let first = found.len();
        {
            let pool = self.relations.pool;
            let pages: [Option<PageRef>; TOGETHER] =
                array::from_fn(|at| leaves.get(at).and_then(|&leaf| pool.try_read(self.page_id(leaf))));
            let mut views = [None; TOGETHER];
            for (view, page) in views.iter_mut().zip(&pages) {
                if let Some(page) = page {
                    *view = Some(tree_page(page)?)
                        .filter(|view| view.is_leaf() && !view.is_ignored())
                        .map(|view| (page, view));
                }
            }
            let mut runs = [const { 0..0 }; TOGETHER];
            for ((key, look), run) in keys.iter().zip(&views).zip(&mut runs) {
                if let Some((page, view)) = look {
                    let (found, reads) = view.begin_search(key);
                    *run = found;
                    reads.iter().for_each(|&read| prefetch(&page[read]));
                }
            }
            let mut befores = [0; TOGETHER];
            for (((key, look), run), before) in keys.iter().zip(&views).zip(runs).zip(&mut befores) {
                if let Some((page, view)) = look {
                    let (found, read) = view.narrow_search(key, run);
                    *before = found;
                    prefetch(&page[read]);
                }
            }
            found.extend(keys.iter().zip(&views).zip(befores).map(|((key, look), before)| {
                let Some((page, view)) = look else { return Matches::UNKNOWN };
                let position = view.end_search(key, before);
                // A key before one of the entries belongs to the page: the high key need not be read.
                if position == view.count() && is_right_of(*view, (key, Tid::MIN)) {
                    return Matches::UNKNOWN;
                }
                matches_from(*view, position, key, header::lsn(page))
            }));
        }
        // Nothing is latched any more.
        for ((key, &leaf), found) in keys.iter().zip(leaves).zip(&mut found[first..]) {
            if found.is_unknown() {
                let look = |page: &PageRef, view: BtreePage<'_>| matches_on(view, key, header::lsn(page));
                *found = self.at_leaf_from(leaf, (key, Tid::MIN), look)?;
            }
        }
        Ok(())
    }
}
