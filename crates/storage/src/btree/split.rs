//! A page becomes two, and the parent learns of it.
//!
//! ```text
//!   P: .. L ..            P: .. L ..              P: .. L, R ..
//!          |        -->          |         -->           |  |
//!          L -> N                L* -> R -> N            L->R -> N        * split pending
//! ```
//!
//! Two steps, each a log record, with nothing latched between: [`Btree::split`] and [`Btree::finish_split`]. A death or a crash in
//! between leaves the mark, and the next writer that meets it does the second step. Where the parent is full, the second step is
//! a split itself; the root's split makes the tree higher in one step.

use super::descend::{STEPS_MAX, in_a_circle, is_right_of};
use super::insert::{Means, Step, passes};
use super::{Btree, tree_page};
use crate::buffer::{self, PageMut};
use crate::page::btree::split::{Links, Sequence};
use crate::page::btree::{BtreePage, Entry, MAX_KEY_BYTES, ROOT, SPLIT_PENDING};
use crate::page::image::PageImage;
use crate::page::{NO_BLOCK, PAGE_SIZE, PageBytes, damaged};
use crate::wal::record::{BtreeInsertChild, BtreeNewRoot, BtreeSplit};
use crate::wal::space::record_bytes;
use base::{PageId, Result, Xid};

/// The most that the records of one split take, the removal of killed entries before it included.
pub(super) const SPLIT_ROOM: usize = 2 * PAGE_SIZE + 2 * MAX_KEY_BYTES + 2048;

impl Btree {
    /// Splits a page that is latched alone, together with the entry that makes it necessary. `finished` is the page below whose split that
    /// entry completes, latched alone too. Uses pages of `means`: one, or two for the root.
    pub(super) fn split(
        &self,
        page: PageMut<'_>,
        new: Entry<'_>,
        finished: Option<PageMut<'_>>,
        own: Xid,
        means: &mut Means,
    ) -> Result<()> {
        // The halves are made from a copy, because the page changes while they are written.
        let before: PageBytes = *page;
        let view = BtreePage::new(&before);
        let sequence = Sequence::new(view, view.insert_position(new.key, new.tid), new);
        if view.has(ROOT) {
            self.split_root(page, &sequence, finished, own, means)
        } else {
            self.split_in_two(page, view, new, &sequence, finished, own, means)
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a split is made of these")]
    fn split_in_two(
        &self,
        page: PageMut<'_>,
        view: BtreePage<'_>,
        new: Entry<'_>,
        sequence: &Sequence<'_>,
        finished: Option<PageMut<'_>>,
        own: Xid,
        means: &mut Means,
    ) -> Result<()> {
        let id = page.id();
        let at = sequence.cut()?;
        let (kept, new_is_left) = sequence.left_of(at);
        let (high_key, high_tid) = sequence.separator(at);
        let Some(spare) = means.spares.last() else {
            return Err(damaged(&page, format_args!("a split without a page for it")));
        };
        let right = spare.block();
        let mut image = [0; PAGE_SIZE];
        let links = Links { left: id.block, right: view.right(), cycle: 0 };
        sequence.build_right(at, &mut image, self.page_id(right), links);
        let position = view.insert_position(new.key, new.tid) as u16;
        let record = BtreeSplit {
            page: id,
            right,
            next: view.right(),
            cycle: 0,
            kept: kept as u16,
            new: new_is_left.then_some((position, new)),
            finished: finished.as_ref().map_or(NO_BLOCK, |child| child.id().block),
            high_tid,
            high_key,
            image: PageImage::of(&image),
        };
        let next = if view.right() == NO_BLOCK { None } else { Some(self.pin(view.right())?) };
        // From left to right: the page, the new one that nobody else comes to, the former neighbour.
        let mut right_page = spare.pinned().write();
        let mut next_page = next.as_ref().map(|next| next.write());
        if let Some(next) = &next_page {
            tree_page(next)?;
        }
        let room = &mut means.room;
        let (mut page, mut finished) = (page, finished);
        let (page, right_page) = (&mut page, &mut right_page);
        match (&mut finished, &mut next_page) {
            (None, None) => buffer::log(room, own, 0, &record, [page, right_page], |[left, right]| {
                record.apply_left(left)?;
                record.apply_right(right)
            }),
            (None, Some(next)) => {
                buffer::log(room, own, 0, &record, [page, right_page, next], |[left, right, next]| {
                    record.apply_left(left)?;
                    record.apply_right(right)?;
                    record.apply_next(next)
                })
            }
            (Some(child), None) => {
                buffer::log(room, own, 0, &record, [page, right_page, child], |[left, right, child]| {
                    record.apply_left(left)?;
                    record.apply_right(right)?;
                    record.apply_finished(child)
                })
            }
            (Some(child), Some(next)) => {
                buffer::log(room, own, 0, &record, [page, right_page, child, next], |[left, right, child, next]| {
                    record.apply_left(left)?;
                    record.apply_right(right)?;
                    record.apply_finished(child)?;
                    record.apply_next(next)
                })
            }
        }?;
        spare.use_up();
        Ok(())
    }

    fn split_root(
        &self,
        page: PageMut<'_>,
        sequence: &Sequence<'_>,
        finished: Option<PageMut<'_>>,
        own: Xid,
        means: &mut Means,
    ) -> Result<()> {
        let at = sequence.cut()?;
        let (key, tid) = sequence.separator(at);
        let [.., right_spare, left_spare] = &means.spares[..] else {
            return Err(damaged(&page, format_args!("a split of the root without pages for it")));
        };
        let (left, right) = (left_spare.block(), right_spare.block());
        let (mut left_image, mut right_image) = ([0; PAGE_SIZE], [0; PAGE_SIZE]);
        let links = Links { left: NO_BLOCK, right, cycle: 0 };
        sequence.build_left(at, &mut left_image, self.page_id(left), links);
        let links = Links { left, right: NO_BLOCK, cycle: 0 };
        sequence.build_right(at, &mut right_image, self.page_id(right), links);
        let record = BtreeNewRoot {
            page: page.id(),
            left,
            right,
            finished: finished.as_ref().map_or(NO_BLOCK, |child| child.id().block),
            tid,
            key,
            left_image: PageImage::of(&left_image),
            right_image: PageImage::of(&right_image),
        };
        let (mut left_page, mut right_page) = (left_spare.pinned().write(), right_spare.pinned().write());
        let (mut page, mut finished) = (page, finished);
        let (page, left_page, right_page) = (&mut page, &mut left_page, &mut right_page);
        let room = &mut means.room;
        match &mut finished {
            None => buffer::log(room, own, 0, &record, [page, left_page, right_page], |[root, left, right]| {
                record.apply_root(root)?;
                record.apply_left(left)?;
                record.apply_right(right)
            }),
            Some(child) => buffer::log(
                room,
                own,
                0,
                &record,
                [page, left_page, right_page, child],
                |[root, left, right, child]| {
                    record.apply_root(root)?;
                    record.apply_left(left)?;
                    record.apply_right(right)?;
                    record.apply_finished(child)
                },
            ),
        }?;
        left_spare.use_up();
        right_spare.use_up();
        Ok(())
    }

    /// Tells the parent of a page that was split; if the parent is full, splits it, and tells its parent. Does nothing where
    /// somebody else has done it.
    pub(super) fn finish_split(&self, block: u32) -> Result<()> {
        let own = self.relations.transactions.current_xid().unwrap_or(Xid(0));
        // Blocks whose parents are to be told, the deepest first.
        let mut due = vec![block];
        let mut pages = 0;
        while let Some(&block) = due.last() {
            kernel::fault::point("btree.finish_split");
            let mut means = self.means_to_finish(pages)?;
            let step = self.try_finish(block, own, &mut means)?;
            drop(means);
            pages = 0;
            match step {
                Step::Done => drop(due.pop()),
                Step::DoneTell(parent) => {
                    due.pop();
                    due.push(parent);
                }
                Step::Finish(other) => due.push(other),
                Step::NeedsPages(needed) => pages = needed,
                Step::Again | Step::Wait(_) | Step::Duplicate(_) => {}
            }
        }
        Ok(())
    }

    fn means_to_finish(&self, pages: usize) -> Result<Means> {
        let key = [0; MAX_KEY_BYTES];
        let entry = Entry::internal(&key, crate::page::Tid::MIN, 0);
        let record = BtreeInsertChild { page: PageId::default(), position: 0, entry, finished: 0 };
        let bytes = record_bytes(&record) + if pages > 0 { SPLIT_ROOM } else { 0 };
        let spares = (0..pages).map(|_| self.spare()).collect::<Result<_>>()?;
        Ok(Means { room: self.relations.wal.reserve(bytes)?, spares, may_split: pages > 0 })
    }

    fn try_finish(&self, block: u32, own: Xid, means: &mut Means) -> Result<Step> {
        let child_pinned = self.pin(block)?;
        let child = child_pinned.write();
        let view = tree_page(&child)?;
        if !view.has(SPLIT_PENDING) {
            return Ok(Step::Done);
        }
        let Some((high_key, high_tid)) = view.high_key() else {
            return Err(damaged(&child, format_args!("a page that was split is the last of its level")));
        };
        let (level, right) = (view.level() + 1, view.right());
        let high_key = high_key.to_vec();
        let point = (&high_key[..], high_tid);
        let entry = Entry::internal(&high_key, high_tid, right);
        // The child stays latched: nobody else can finish its split, and nobody can delete it.
        let mut pinned = self.descend(point, level)?;
        for _ in 0..STEPS_MAX {
            let page = pinned.write();
            let view = tree_page(&page)?;
            if view.level() != level {
                return Ok(Step::Again);
            }
            if is_right_of(view, point) {
                match passes(&page, view)? {
                    Ok(right) => {
                        drop(page);
                        pinned = self.pin(right)?;
                        continue;
                    }
                    Err(step) => return Ok(step),
                }
            }
            if view.fits(high_key.len()) {
                let position = view.insert_position(&high_key, high_tid) as u16;
                let record = BtreeInsertChild { page: page.id(), position, entry, finished: block };
                let (mut page, mut child) = (page, child);
                buffer::log(&mut means.room, own, 0, &record, [&mut page, &mut child], |[parent, child]| {
                    record.apply_parent(parent)?;
                    record.apply_finished(child)
                })?;
                return Ok(Step::Done);
            }
            if view.has(SPLIT_PENDING) {
                return Ok(Step::Finish(page.id().block));
            }
            let (is_root, parent) = (view.has(ROOT), page.id().block);
            let needed = if is_root { 2 } else { 1 };
            if !means.may_split || means.spares.len() < needed {
                return Ok(Step::NeedsPages(needed));
            }
            self.split(page, entry, Some(child), own, means)?;
            return Ok(if is_root { Step::Done } else { Step::DoneTell(parent) });
        }
        Err(in_a_circle(&pinned.read()))
    }
}
