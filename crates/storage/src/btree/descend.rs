//! From the root to a page.

use super::{Btree, ROOT_BLOCK, tree_page};
use crate::buffer::{PageRef, Pinned};
use crate::page::btree::BtreePage;
use crate::page::{NO_BLOCK, PageBytes, Tid, damaged};
use base::Result;

/// What is looked for: the entries at or after a key and a place.
pub(super) type Point<'a> = (&'a [u8], Tid);

/// A point in the order of entries, with bytes of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    pub(super) key: Vec<u8>,
    pub(super) tid: Tid,
}

impl Mark {
    pub(super) fn new(point: Point<'_>) -> Mark {
        Mark { key: point.0.to_vec(), tid: point.1 }
    }

    pub(super) fn point(&self) -> Point<'_> {
        (&self.key, self.tid)
    }
}

/// True if a search for what comes right before `before` (at the end of the level, if that is none) must go to the right neighbour.
pub(super) fn ends_before(page: BtreePage<'_>, before: Option<&Mark>) -> bool {
    if page.is_ignored() {
        return true;
    }
    match (before, page.high_key()) {
        (Some(before), Some(high)) => high < before.point(),
        (None, Some(_)) => true,
        (_, None) => false,
    }
}

/// The position of the child that has what comes right before a point.
pub(super) fn child_before(page: BtreePage<'_>, before: Option<&Mark>) -> usize {
    let Some(before) = before else { return page.count() - 1 };
    let position = page.child_position(&before.key, before.tid);
    if position > 0 && (page.key(position), page.tid(position)) == before.point() { position - 1 } else { position }
}

/// More steps than any descent takes; a tree whose links lead in a circle is damaged.
pub(super) const STEPS_MAX: u32 = 1 << 24;

/// True if a search for `point` must go to the right neighbour.
#[inline]
pub(super) fn is_right_of(page: BtreePage<'_>, point: Point<'_>) -> bool {
    page.is_ignored() || !page.covers(point.0, point.1)
}

/// The child of an internal page that `point` belongs to; none if a search for it must go to the right neighbour. The high key is read
/// only of a point behind all separators.
#[inline]
pub(super) fn child_of(page: BtreePage<'_>, point: Point<'_>) -> Option<u32> {
    if page.is_ignored() {
        return None;
    }
    child_at(page, page.child_position(point.0, point.1), point)
}

/// The same where the child's position is known.
#[inline]
pub(super) fn child_at(page: BtreePage<'_>, position: usize, point: Point<'_>) -> Option<u32> {
    (position + 1 < page.count() || page.covers(point.0, point.1)).then(|| page.child(position))
}

impl Btree {
    /// The page of a level that `point` belongs to, or one left of it by now: pinned, not latched. The caller latches it, looks at its
    /// level, and goes right. A tree that is not that high yields its root.
    #[inline]
    pub(super) fn descend(&self, point: Point<'_>, level: u8) -> Result<Pinned> {
        let mut page = self.read(ROOT_BLOCK)?;
        for _ in 0..STEPS_MAX {
            let view = tree_page(&page)?;
            if view.level() <= level {
                let block = page.id().block;
                drop(page);
                return self.pin(block);
            }
            let (next, arrived) = match child_of(view, point) {
                Some(child) => (child, view.level() == level + 1),
                None => (right_of(&page)?, false),
            };
            drop(page);
            if arrived {
                return self.pin(next);
            }
            page = self.read(next)?;
        }
        Err(in_a_circle(&page))
    }

    /// The leaf that `point` belongs to, latched to be read by `look`.
    #[inline]
    pub(super) fn at_leaf<R>(&self, point: Point<'_>, look: impl FnOnce(&PageRef, BtreePage<'_>) -> R) -> Result<R> {
        self.at_leaf_from(ROOT_BLOCK, point, look)
    }

    /// The same from a page on that was above the leaf, the leaf, or one left of it, while the session has held its snapshot (rule 6 of
    /// [`super`]).
    #[inline]
    pub(super) fn at_leaf_from<R>(
        &self,
        block: u32,
        point: Point<'_>,
        look: impl FnOnce(&PageRef, BtreePage<'_>) -> R,
    ) -> Result<R> {
        let mut page = self.read(block)?;
        for _ in 0..STEPS_MAX {
            let view = tree_page(&page)?;
            let next = if view.is_leaf() {
                if !is_right_of(view, point) {
                    return Ok(look(&page, view));
                }
                None
            } else {
                child_of(view, point)
            };
            let next = match next {
                Some(child) => child,
                None => right_of(&page)?,
            };
            drop(page);
            page = self.read(next)?;
        }
        Err(in_a_circle(&page))
    }

    /// The page of a level that has what comes right before `before`, or the last one; and its lower end, none if it is the first.
    pub(super) fn descend_before(&self, before: Option<&Mark>, level: u8) -> Result<(PageRef, Option<Mark>)> {
        let mut low = None;
        let mut page = self.read(ROOT_BLOCK)?;
        for _ in 0..STEPS_MAX {
            let view = tree_page(&page)?;
            let next = if ends_before(view, before) {
                if !view.is_ignored() {
                    low = view.high_key().map(Mark::new);
                }
                right_of(&page)?
            } else if view.level() <= level {
                return Ok((page, low));
            } else {
                let position = child_before(view, before);
                if position > 0 {
                    low = Some(Mark::new((view.key(position), view.tid(position))));
                }
                view.child(position)
            };
            drop(page);
            page = self.read(next)?;
        }
        Err(in_a_circle(&page))
    }
}

#[cold]
pub(super) fn in_a_circle(page: &PageBytes) -> base::Error {
    damaged(page, format_args!("the links of the index lead in a circle"))
}

/// The right neighbour of a page that is not the last of its level.
pub(super) fn right_of(page: &PageBytes) -> Result<u32> {
    match tree_page(page)?.right() {
        NO_BLOCK => Err(damaged(page, format_args!("the last page of a level does not cover all that is after it"))),
        right => Ok(right),
    }
}
