//! A walk over everything that must hold in a tree: for tests, and for who doubts.
//!
//! Each level is walked by its right links and compared with the level above: every child there is, in order, and begins where
//! its separator says; what the parents do not know is a page whose left neighbour's split is pending, or one that is being
//! deleted.
//!
//! Nobody else changes the tree meanwhile: a lock of the table sees to that.

use super::descend::Mark;
use super::{Btree, ROOT_BLOCK, tree_page};
use crate::page::btree::{BtreePage, ROOT, SPLIT_PENDING};
use crate::page::{self, NO_BLOCK, PageBytes, Tid, damaged};
use base::Result;
use std::fmt;

/// What a walk found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Verified {
    /// Entries on leaves.
    pub entries: u64,
    /// Pages on all levels.
    pub pages: u32,
    /// Levels.
    pub levels: u8,
    /// Pages whose right neighbour their parent does not know.
    pub pending: u32,
    /// Leaves that are being deleted.
    pub half_dead: u32,
}

/// A child as its parent knows it.
struct Child {
    block: u32,
    low: Option<Mark>,
}

impl Btree {
    /// Walks the tree, and shows every entry to `each`, in order. Errors: `XX002` with what contradicts, those of pinning.
    pub fn verify(&self, mut each: impl FnMut(&[u8], Tid)) -> Result<Verified> {
        let mut found = Verified::default();
        let mut expected = vec![Child { block: ROOT_BLOCK, low: None }];
        let mut level = None;
        loop {
            let Some(first) = expected.first().map(|child| child.block) else { return Ok(found) };
            let (below, at) = self.verify_level(first, level, &expected, &mut found, &mut each)?;
            if at == 0 {
                return Ok(found);
            }
            level = Some(at - 1);
            expected = below;
        }
    }

    /// Walks a level from its first page on; answers the children that its pages know, and which level it is.
    fn verify_level(
        &self,
        first: u32,
        level: Option<u8>,
        expected: &[Child],
        found: &mut Verified,
        each: &mut impl FnMut(&[u8], Tid),
    ) -> Result<(Vec<Child>, u8)> {
        let mut below = Vec::new();
        let mut known = expected.iter().peekable();
        let (mut block, mut left) = (first, NO_BLOCK);
        let mut low: Option<Mark> = None;
        let mut left_is_pending = false;
        let mut height = 0;
        while block != NO_BLOCK {
            kernel::session::check_interrupts()?;
            let pinned = self.pin(block)?;
            let page = pinned.read();
            page::check(&page)?;
            let view = tree_page(&page)?;
            height = view.level();
            found.pages += 1;
            let bad = |what: fmt::Arguments<'_>| -> Result<()> { Err(damaged(&page, what)) };
            if level.is_some_and(|level| level != height) || view.has(ROOT) != (block == ROOT_BLOCK) {
                bad(format_args!("it is on level {height}, its parent says {level:?}"))?;
            }
            if view.left() != left {
                bad(format_args!("its left neighbour is {left}, not {}", view.left()))?;
            }
            if view.is_ignored() {
                found.half_dead += 1;
            } else {
                match known.next_if(|child| child.block == block) {
                    Some(child) if child.low == low => {}
                    Some(child) => bad(format_args!("it begins at {low:?}, its parent says {:?}", child.low))?,
                    None if left_is_pending => {}
                    None => bad(format_args!("its parent does not know it"))?,
                }
                self.verify_page(&page, view, low.as_ref(), &mut below, found, each)?;
                low = view.high_key().map(Mark::new);
                left_is_pending = view.has(SPLIT_PENDING);
                found.pending += left_is_pending as u32;
            }
            (left, block) = (block, view.right());
        }
        if let Some(child) = known.next() {
            let pinned = self.pin(child.block)?;
            return Err(damaged(&pinned.read(), format_args!("a parent knows it, its level does not")));
        }
        found.levels += 1;
        Ok((below, height))
    }

    fn verify_page(
        &self,
        page: &PageBytes,
        view: BtreePage<'_>,
        low: Option<&Mark>,
        below: &mut Vec<Child>,
        found: &mut Verified,
        each: &mut impl FnMut(&[u8], Tid),
    ) -> Result<()> {
        let first_real = usize::from(!view.is_leaf());
        if let Some(low) = low
            && view.count() > first_real
            && (view.key(first_real), view.tid(first_real)) < low.point()
        {
            return Err(damaged(page, format_args!("its first entry is before its lower end")));
        }
        for position in 0..view.count() {
            if view.is_leaf() {
                found.entries += 1;
                each(view.key(position), view.tid(position));
            } else {
                let own = (view.key(position), view.tid(position));
                let low = if position == 0 { low.cloned() } else { Some(Mark::new(own)) };
                below.push(Child { block: view.child(position), low });
            }
        }
        Ok(())
    }
}
