//! The entries of several keys at a time: each step is taken for all of them before the next one.
//!
//! One look-up in a large index waits for memory again and again: the page table, the frame's state, the leaf's header, its slots, the
//! entry. Inner pages are few and near. So the leaves of all keys are found first and asked for, and then looked into for a few keys
//! in turns; what a single look-up waits for one after the other comes for several at once.
//!
//! Different from a sorted batch (as in MariaDB's batched key access): the order of the keys stays, because whoever asks has rows to
//! give in it.

use super::descend::{STEPS_MAX, is_right_of, right_of};
use super::lookup::matches_on;
use super::{Btree, Matches, tree_page};
use crate::buffer::{PageRef, Pinned};
use crate::page::btree::{BtreePage, SAMPLES};
use crate::page::{PageBytes, Tid, header};
use base::Result;
use kernel::region::prefetch::prefetch;

/// How many keys are looked up at a time.
pub const KEYS_MAX: usize = 64;
/// How many leaves are pinned at a time: some of what a session may pin (`HELD_MAX`), and enough that their memory
/// comes meanwhile.
const TOGETHER: usize = 8;

impl Btree {
    /// Looks several keys up, as [`Btree::lookup`] does one: appends what there is of each to `found`, in their order. The session holds a
    /// snapshot meanwhile.
    ///
    /// # Panics
    ///
    /// If they are more than [`KEYS_MAX`].
    pub fn lookup_each<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]> + Clone,
        found: &mut Vec<Matches>,
    ) -> Result<()> {
        let mut leaves = [0; KEYS_MAX];
        let mut count = 0;
        for key in keys.clone() {
            leaves[count] = self.leaf_of(key)?;
            self.relations.pool.expect(self.page_id(leaves[count]));
            count += 1;
        }
        for &leaf in &leaves[..count] {
            self.relations.pool.approach(self.page_id(leaf), [0, SAMPLES]);
        }
        let mut keys = keys.zip(&leaves[..count]).peekable();
        let mut group = Vec::with_capacity(TOGETHER);
        while keys.peek().is_some() {
            for (key, &leaf) in keys.by_ref().take(TOGETHER) {
                group.push((key, self.pin(leaf)?));
            }
            // Each step asks for what the next one reads.
            for (key, leaf) in &group {
                on_leaf(leaf, |page, view| view.first_reads(key).iter().for_each(|&at| prefetch(&page[at])))?;
            }
            for (key, leaf) in &group {
                on_leaf(leaf, |page, view| prefetch(&page[view.last_read(key)]))?;
            }
            for (key, leaf) in group.drain(..) {
                let look = |page: &PageRef<'_>, view: BtreePage<'_>| matches_on(view, key, header::lsn(page));
                found.push(self.at_leaf_from(leaf, (key, Tid::MIN), look)?);
            }
        }
        Ok(())
    }

    /// The leaf that a key's first entry belongs to, or one left of it by now.
    fn leaf_of(&self, key: &[u8]) -> Result<u32> {
        let point = (key, Tid::MIN);
        let mut pinned = self.descend(point, 1)?;
        for _ in 0..STEPS_MAX {
            let page = pinned.read();
            let view = tree_page(&page)?;
            if view.is_leaf() {
                return Ok(page.id().block);
            }
            let is_right = is_right_of(view, point);
            let next = match is_right {
                true => right_of(&page)?,
                false => view.child(view.child_position(point.0, point.1)),
            };
            if view.level() == 1 && !is_right {
                return Ok(next);
            }
            drop(page);
            pinned = self.pin(next)?;
        }
        Err(self.goes_in_a_circle(&pinned))
    }
}

/// Looks at a page that was a leaf, if it still is one.
#[inline]
fn on_leaf(leaf: &Pinned, look: impl FnOnce(&PageBytes, BtreePage<'_>)) -> Result<()> {
    let page = leaf.read();
    let view = tree_page(&page)?;
    if view.is_leaf() {
        look(&page, view);
    }
    Ok(())
}
