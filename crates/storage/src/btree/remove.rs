//! What vacuum takes out of an index: entries of dead rows, and leaves that are empty.
//!
//! The walk goes over the leaves from left to right by their links. A split behind it moves entries that it has seen; a split ahead
//! of it puts the new page in its way. New entries may be missed, but none of them is of a dead row.
//!
//! An empty leaf is deleted in two steps ([`crate::page::btree`], rule 5): first its parent forgets it, then its neighbours do. A
//! crash in between leaves a page that searches pass over, and that the next walk takes out.
//!
//! Rules
//! 1. One walk at a time in an index: a lock of the table sees to that.
//! 2. The last leaf of its parent, and the last of the level, stay. So do leaves that were just split.
//! 3. Latches: the leaf, then its parent; then the left neighbour, the leaf, the right neighbour.

use super::descend::{Mark, STEPS_MAX, child_before, ends_before, in_a_circle, right_of};
use super::{Btree, tree_page};
use crate::buffer;
use crate::page::btree::{BtreePage, HALF_DEAD, ROOT, SPLIT_PENDING};
use crate::page::{NO_BLOCK, Tid};
use crate::wal::record::{BtreeDelete, BtreeHalfDead, BtreeUnlink, RECORD_HEADER_BYTES};
use crate::wal::space::record_bytes;
use base::{Result, Xid};
use std::borrow::Cow;

/// The most that the record of removed entries takes.
const DELETE_ROOM: usize = RECORD_HEADER_BYTES + 64 + crate::page::PAGE_SIZE / 4;

/// What a walk did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Removed {
    /// Entries that went.
    pub entries: u64,
    /// Entries that stay.
    pub left: u64,
    /// Leaves that the walk came by.
    pub leaves: u32,
    /// Leaves that were deleted.
    pub deleted: u32,
}

impl Btree {
    /// Removes the entries of `dead`, which is in order, and the leaves that are empty then.
    ///
    /// Errors: those of pinning, `XX002`, `57014`.
    pub fn remove(&self, dead: &[Tid]) -> Result<Removed> {
        debug_assert!(dead.is_sorted());
        let mut removed = Removed::default();
        let mut next = self.descend((&[], Tid::MIN), 0)?.id().block;
        while next != NO_BLOCK {
            kernel::session::check_interrupts()?;
            next = self.remove_on(next, dead, &mut removed)?;
        }
        Ok(removed)
    }

    /// Does one leaf; answers its right neighbour.
    fn remove_on(&self, block: u32, dead: &[Tid], removed: &mut Removed) -> Result<u32> {
        let (any, empty, right) = {
            let pinned = self.pin(block)?;
            let page = pinned.read();
            let view = tree_page(&page)?;
            if !view.is_leaf() {
                // The root, which was a leaf when the walk began, has grown.
                drop(page);
                return Ok(self.descend((&[], Tid::MIN), 0)?.id().block);
            }
            removed.leaves += 1;
            let any = !dead.is_empty() && (0..view.count()).any(|at| dead.binary_search(&view.tid(at)).is_ok());
            removed.left += view.count() as u64;
            (any, view.count() == 0, view.right())
        };
        if !any && !empty {
            return Ok(right);
        }
        let (empty, right) = if any { self.remove_entries(block, dead, removed)? } else { (empty, right) };
        if empty && self.delete_leaf(block)? {
            removed.deleted += 1;
        }
        Ok(right)
    }

    fn remove_entries(&self, block: u32, dead: &[Tid], removed: &mut Removed) -> Result<(bool, u32)> {
        let mut room = self.relations.wal.reserve(DELETE_ROOM)?;
        let pinned = self.pin(block)?;
        let mut page = pinned.write();
        let view = tree_page(&page)?;
        let positions: Vec<u16> =
            (0..view.count()).filter(|&at| dead.binary_search(&view.tid(at)).is_ok()).map(|at| at as u16).collect();
        if !positions.is_empty() && view.is_leaf() {
            removed.entries += positions.len() as u64;
            removed.left = removed.left.saturating_sub(positions.len() as u64);
            let record = BtreeDelete { page: page.id(), positions: Cow::Owned(positions) };
            buffer::log(&mut room, Xid(0), 0, &record, [&mut page], |[bytes]| record.apply(bytes))?;
        }
        let view = BtreePage::new(&page);
        Ok((view.count() == 0, view.right()))
    }

    /// Deletes an empty leaf if it may be deleted.
    fn delete_leaf(&self, block: u32) -> Result<bool> {
        if !self.forget_in_parent(block)? {
            return Ok(false);
        }
        kernel::fault::point("btree.half_dead");
        if !self.unlink(block)? {
            return Ok(false);
        }
        self.relations.note_free_block(self.rel, block)?;
        Ok(true)
    }

    /// The first step. True if the leaf is half-dead now.
    fn forget_in_parent(&self, block: u32) -> Result<bool> {
        let record = BtreeHalfDead { page: self.page_id(block), parent: 0, position: 0 };
        let mut room = self.relations.wal.reserve(record_bytes(&record))?;
        let leaf_pinned = self.pin(block)?;
        let leaf = leaf_pinned.write();
        let view = tree_page(&leaf)?;
        if view.has(HALF_DEAD) {
            return Ok(true);
        }
        let may_go = view.is_leaf()
            && view.count() == 0
            && view.right() != NO_BLOCK
            && !view.has(ROOT)
            && !view.has(SPLIT_PENDING)
            && !view.is_ignored();
        let Some(high) = view.high_key().filter(|_| may_go).map(Mark::new) else { return Ok(false) };
        // What comes right before the leaf's upper end is the leaf's own.
        let at = self.descend_before(Some(&high), 1)?.0.id().block;
        let mut pinned = self.pin(at)?;
        for _ in 0..STEPS_MAX {
            let parent = pinned.write();
            let view = tree_page(&parent)?;
            if view.level() != 1 {
                return Ok(false);
            }
            if ends_before(view, Some(&high)) {
                let right = view.right();
                drop(parent);
                if right == NO_BLOCK {
                    return Ok(false);
                }
                pinned = self.pin(right)?;
                continue;
            }
            let position = child_before(view, Some(&high));
            // Rule 2; and a parent that does not know the leaf yet.
            if view.child(position) != block || position + 1 >= view.count() {
                return Ok(false);
            }
            let record = BtreeHalfDead { parent: parent.id().block, position: position as u16, ..record };
            let (mut leaf, mut parent) = (leaf, parent);
            buffer::log(&mut room, Xid(0), 0, &record, [&mut leaf, &mut parent], |[leaf, parent]| {
                record.apply_leaf(leaf)?;
                record.apply_parent(parent)
            })?;
            return Ok(true);
        }
        Err(in_a_circle(&pinned.read()))
    }

    /// The second step. False if somebody changes the neighbourhood all the time: the next walk tries again.
    fn unlink(&self, block: u32) -> Result<bool> {
        const TRIES: u32 = 8;
        for _ in 0..TRIES {
            let record = BtreeUnlink { page: self.page_id(block), right: 0, left: 0, reusable_after: Xid(0) };
            let room = self.relations.wal.reserve(record_bytes(&record))?;
            let left = {
                let pinned = self.pin(block)?;
                let page = pinned.read();
                tree_page(&page)?.left()
            };
            if self.try_unlink(block, left, room)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn try_unlink(&self, block: u32, left: u32, mut room: crate::wal::Room) -> Result<bool> {
        let left = if left == NO_BLOCK { None } else { self.left_neighbour(block, left)? };
        let left_pinned = left.map(|left| self.pin(left)).transpose()?;
        let mut left_page = left_pinned.as_ref().map(|pinned| pinned.write());
        let leaf_pinned = self.pin(block)?;
        let mut leaf = leaf_pinned.write();
        let view = tree_page(&leaf)?;
        let left_block = left.unwrap_or(NO_BLOCK);
        let left_is_right = left_page.as_ref().is_none_or(|page| BtreePage::new(page).right() == block);
        if !view.has(HALF_DEAD) || view.left() != left_block || !left_is_right {
            return Ok(false);
        }
        let right = view.right();
        let right_pinned = self.pin(right)?;
        let mut right_page = right_pinned.write();
        if tree_page(&right_page)?.left() != block {
            return Ok(false);
        }
        let reusable_after = self.relations.transactions.next_xid();
        let record = BtreeUnlink { page: leaf.id(), right, left: left_block, reusable_after };
        match &mut left_page {
            Some(left) => {
                buffer::log(&mut room, Xid(0), 0, &record, [&mut leaf, &mut right_page, left], |[page, right, left]| {
                    record.apply_page(page)?;
                    record.apply_right(right)?;
                    record.apply_left(left)
                })
            }
            None => buffer::log(&mut room, Xid(0), 0, &record, [&mut leaf, &mut right_page], |[page, right]| {
                record.apply_page(page)?;
                record.apply_right(right)
            }),
        }?;
        Ok(true)
    }

    /// The page whose right neighbour is `block`, looked for from `from` on to the right; none if it is not found there.
    fn left_neighbour(&self, block: u32, from: u32) -> Result<Option<u32>> {
        let mut at = from;
        for _ in 0..STEPS_MAX {
            let pinned = self.pin(at)?;
            let page = pinned.read();
            let right = right_of(&page)?;
            if right == block {
                return Ok(Some(at));
            }
            at = right;
        }
        Ok(None)
    }
}
