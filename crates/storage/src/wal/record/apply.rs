//! What records do to pages: the one code path of run time and redo.
//!
//! Each body has an `apply` for each page that it changes. A page is first asked whether it is the one that the record
//! names and of the right type, so that a record never lands elsewhere; the page operation then asks whether the change
//! fits. None of them touches the page LSN: at run time it is known only after the record is in the log.

use super::body::*;
use super::frame::Record;
use crate::page::btree::{BtreePageMut, Entry};
use crate::page::header::{self, PageType};
use crate::page::heap::HeapPageMut;
use crate::page::image::PageImage;
use crate::page::{NO_BLOCK, PageBytes, Tid};
use base::{Error, Lsn, PageId, Result, Xid};
use std::ops::Deref;

/// A page that a record changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageUse {
    /// The page.
    pub id: PageId,
    /// The record writes the whole page: what the file has there is not needed.
    pub fresh: bool,
}

/// The pages that a record changes, in the order that [`Record::redo`] counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pages {
    uses: [PageUse; 4],
    count: usize,
}

impl Pages {
    fn and(mut self, id: PageId, fresh: bool) -> Pages {
        self.uses[self.count] = PageUse { id, fresh };
        self.count += 1;
        self
    }

    fn and_block(self, page: PageId, block: u32, fresh: bool) -> Pages {
        if block == NO_BLOCK { self } else { self.and(PageId { block, ..page }, fresh) }
    }
}

impl Deref for Pages {
    type Target = [PageUse];

    fn deref(&self) -> &[PageUse] {
        &self.uses[..self.count]
    }
}

impl Record<'_> {
    /// The pages that the record changes.
    pub fn pages(&self) -> Pages {
        let none = Pages::default();
        match &self.body {
            Body::PageWrite(body) => none.and(body.page, true),
            Body::HeapInsert(body) => none.and(body.page, self.init),
            Body::HeapMultiInsert(body) => none.and(body.page, self.init),
            Body::HeapUpdate(body) => none.and(body.page, false),
            Body::HeapUpdateAway(body) => {
                none.and(body.new_page, self.init).and(PageId { block: body.old_block, ..body.new_page }, false)
            }
            Body::HeapDelete(body) => none.and(body.page, false),
            Body::HeapOverwrite(body) => none.and(body.page, false),
            Body::HeapPrune(body) => none.and(body.page, false),
            Body::HeapReclaim(body) => none.and(body.page, false),
            Body::BtreeInsert(body) => none.and(body.page, false),
            Body::BtreeInsertChild(body) => none.and(body.page, false).and_block(body.page, body.finished, false),
            Body::BtreeSplit(body) => none
                .and(body.page, false)
                .and(PageId { block: body.right, ..body.page }, true)
                .and_block(body.page, body.finished, false)
                .and_block(body.page, body.next, false),
            Body::BtreeNewRoot(body) => none
                .and(body.page, false)
                .and(PageId { block: body.left, ..body.page }, true)
                .and(PageId { block: body.right, ..body.page }, true)
                .and_block(body.page, body.finished, false),
            Body::BtreeDelete(body) => none.and(body.page, false),
            Body::BtreeHalfDead(body) => {
                none.and(body.page, false).and(PageId { block: body.parent, ..body.page }, false)
            }
            Body::BtreeUnlink(body) => none
                .and(body.page, false)
                .and(PageId { block: body.right, ..body.page }, false)
                .and_block(body.page, body.left, false),
            Body::Filler(_)
            | Body::Checkpoint(_)
            | Body::Commit(_)
            | Body::Abort(_)
            | Body::FileCreate(_)
            | Body::FileDrop(_)
            | Body::FileTruncate(_)
            | Body::FileExtend(_)
            | Body::NextOid(_)
            | Body::NextRel(_) => none,
        }
    }

    /// Applies the record to its `nth` page unless the page has the change already, and sets the page LSN to `end`.
    /// Answers whether the page changed.
    pub fn redo(&self, nth: usize, end: Lsn, page: &mut PageBytes) -> Result<bool> {
        if header::lsn(page) >= end {
            return Ok(false);
        }
        self.apply(nth, page)?;
        header::set_lsn(page, end);
        Ok(true)
    }

    /// Applies the record to its `nth` page, whatever the page's LSN.
    pub fn apply(&self, nth: usize, page: &mut PageBytes) -> Result<()> {
        match (&self.body, nth) {
            (Body::PageWrite(body), 0) => body.apply(page),
            (Body::HeapInsert(body), 0) => body.apply(self.xid, self.init, page),
            (Body::HeapMultiInsert(body), 0) => body.apply(self.xid, self.init, page),
            (Body::HeapUpdate(body), 0) => body.apply(self.xid, page),
            (Body::HeapUpdateAway(body), 0) => body.apply_new(self.xid, self.init, page),
            (Body::HeapUpdateAway(body), 1) => body.apply_old(self.xid, page),
            (Body::HeapDelete(body), 0) => body.apply(self.xid, page),
            (Body::HeapOverwrite(body), 0) => body.apply(page),
            (Body::HeapPrune(body), 0) => body.apply(page),
            (Body::HeapReclaim(body), 0) => body.apply(page),
            (Body::BtreeInsert(body), 0) => body.apply(page),
            (Body::BtreeInsertChild(body), 0) => body.apply_parent(page),
            (Body::BtreeInsertChild(body), 1) => body.apply_finished(page),
            (Body::BtreeSplit(body), 0) => body.apply_left(page),
            (Body::BtreeSplit(body), 1) => body.apply_right(page),
            (Body::BtreeSplit(body), 2) if body.finished != NO_BLOCK => body.apply_finished(page),
            (Body::BtreeSplit(body), 2 | 3) => body.apply_next(page),
            (Body::BtreeNewRoot(body), 0) => body.apply_root(page),
            (Body::BtreeNewRoot(body), 1) => body.apply_left(page),
            (Body::BtreeNewRoot(body), 2) => body.apply_right(page),
            (Body::BtreeNewRoot(body), 3) => body.apply_finished(page),
            (Body::BtreeDelete(body), 0) => body.apply(page),
            (Body::BtreeHalfDead(body), 0) => body.apply_leaf(page),
            (Body::BtreeHalfDead(body), 1) => body.apply_parent(page),
            (Body::BtreeUnlink(body), 0) => body.apply_page(page),
            (Body::BtreeUnlink(body), 1) => body.apply_right(page),
            (Body::BtreeUnlink(body), 2) => body.apply_left(page),
            (body, nth) => unreachable!("page {nth} of a record of kind {:?}", body.kind()),
        }
    }
}

/// The heap page that a record names.
fn heap(page: &mut PageBytes, id: PageId) -> Result<HeapPageMut<'_>> {
    expect(page, id, PageType::Heap)?;
    Ok(HeapPageMut::new(page))
}

/// The heap page that a record names, empty if it begins with the record.
fn heap_init(page: &mut PageBytes, id: PageId, init: bool) -> Result<HeapPageMut<'_>> {
    if init { Ok(HeapPageMut::format(page, id)) } else { heap(page, id) }
}

/// The B-tree page that a record names.
fn btree(page: &mut PageBytes, id: PageId) -> Result<BtreePageMut<'_>> {
    expect(page, id, PageType::Btree)?;
    Ok(BtreePageMut::new(page))
}

#[inline]
fn expect(page: &PageBytes, id: PageId, kind: PageType) -> Result<()> {
    if header::page_id(page) == id && page[header::TYPE] == kind as u8 {
        return Ok(());
    }
    let (other, lsn) = (header::page_id(page), header::lsn(page));
    Err(Error::corruption(format!("a change does not fit page {id}"))
        .detail(format!("The page is {other}, type {}, LSN {lsn}; a {kind:?} page was expected.", page[header::TYPE])))
}

/// Writes an image that must be of page `id`.
fn restore(image: &PageImage<'_>, page: &mut PageBytes, id: PageId) -> Result<()> {
    if image.page_id() != Some(id) {
        return Err(Error::corruption(format!("a page image in the log is not of page {id}"))
            .detail(format!("It is of {:?}.", image.page_id())));
    }
    image.restore(page)
}

/// Takes the mark of a pending split from a page of the same index.
fn finish(page: &mut PageBytes, index: PageId, block: u32) -> Result<()> {
    btree(page, PageId { block, ..index })?.finish_split();
    Ok(())
}

impl PageWrite<'_> {
    /// Writes the page.
    pub fn apply(&self, page: &mut PageBytes) -> Result<()> {
        restore(&self.image, page, self.page)
    }
}

impl HeapInsert<'_> {
    /// Inserts; `init` begins with an empty page.
    pub fn apply(&self, xid: Xid, init: bool, page: &mut PageBytes) -> Result<()> {
        heap_init(page, self.page, init)?.insert(self.slot, xid, self.row)
    }
}

impl HeapMultiInsert<'_> {
    /// Inserts; `init` begins with an empty page.
    pub fn apply(&self, xid: Xid, init: bool, page: &mut PageBytes) -> Result<()> {
        heap_init(page, self.page, init)?.insert_all(xid, &self.rows)
    }
}

impl HeapUpdate<'_> {
    /// Ends the old version and inserts the new one.
    pub fn apply(&self, xid: Xid, page: &mut PageBytes) -> Result<()> {
        let mut heap = heap(page, self.page)?;
        heap.update(self.old_slot, self.new_slot, xid, self.hot, self.keys_updated, &self.delta)
    }
}

impl HeapUpdateAway<'_> {
    /// Inserts the new version; `init` begins with an empty page.
    pub fn apply_new(&self, xid: Xid, init: bool, page: &mut PageBytes) -> Result<()> {
        heap_init(page, self.new_page, init)?.insert(self.new_slot, xid, self.row)
    }

    /// Ends the old version.
    pub fn apply_old(&self, xid: Xid, page: &mut PageBytes) -> Result<()> {
        let next = Tid::new(self.new_page.block, self.new_slot);
        let mut heap = heap(page, PageId { block: self.old_block, ..self.new_page })?;
        heap.update_away(self.old_slot, xid, next, self.keys_updated)
    }
}

impl HeapDelete {
    /// Ends the version.
    pub fn apply(&self, xid: Xid, page: &mut PageBytes) -> Result<()> {
        heap(page, self.page)?.delete(self.slot, xid)
    }
}

impl HeapOverwrite<'_> {
    /// Replaces the row's bytes.
    pub fn apply(&self, page: &mut PageBytes) -> Result<()> {
        heap(page, self.page)?.overwrite(self.slot, self.row)
    }
}

impl HeapPrune {
    /// Prunes.
    pub fn apply(&self, page: &mut PageBytes) -> Result<()> {
        heap(page, self.page)?.prune_apply(&self.plan)
    }
}

impl HeapReclaim<'_> {
    /// Makes the dead slots unused.
    pub fn apply(&self, page: &mut PageBytes) -> Result<()> {
        heap(page, self.page)?.reclaim(&self.slots)
    }
}

impl BtreeInsert<'_> {
    /// Inserts the entry.
    pub fn apply(&self, page: &mut PageBytes) -> Result<()> {
        btree(page, self.page)?.insert(self.position as usize, &Entry::leaf(self.key, self.tid))
    }
}

impl BtreeInsertChild<'_> {
    /// Inserts the entry into the parent.
    pub fn apply_parent(&self, page: &mut PageBytes) -> Result<()> {
        if !self.has_child() {
            return Err(Error::corruption("a log record is damaged").detail("It enters a child without a block."));
        }
        btree(page, self.page)?.insert(self.position as usize, &self.entry)
    }

    /// Takes the mark of a pending split from the left half.
    pub fn apply_finished(&self, page: &mut PageBytes) -> Result<()> {
        finish(page, self.page, self.finished)
    }
}

impl BtreeSplit<'_> {
    /// Makes the page the left half.
    pub fn apply_left(&self, page: &mut PageBytes) -> Result<()> {
        let new = self.new.map(|(position, entry)| (position as usize, entry));
        let high = (self.high_key, self.high_tid);
        btree(page, self.page)?.split_off(self.kept as usize, new, high, self.right, self.cycle)
    }

    /// Writes the right half.
    pub fn apply_right(&self, page: &mut PageBytes) -> Result<()> {
        restore(&self.image, page, PageId { block: self.right, ..self.page })
    }

    /// Takes the mark of a pending split from the page below.
    pub fn apply_finished(&self, page: &mut PageBytes) -> Result<()> {
        finish(page, self.page, self.finished)
    }

    /// Links the former right neighbour to the right half.
    pub fn apply_next(&self, page: &mut PageBytes) -> Result<()> {
        btree(page, PageId { block: self.next, ..self.page })?.set_left(self.right);
        Ok(())
    }
}

impl BtreeNewRoot<'_> {
    /// Makes the root the parent of the halves.
    pub fn apply_root(&self, page: &mut PageBytes) -> Result<()> {
        btree(page, self.page)?.grow_root(self.left, self.right, (self.key, self.tid))
    }

    /// Writes the left half.
    pub fn apply_left(&self, page: &mut PageBytes) -> Result<()> {
        restore(&self.left_image, page, PageId { block: self.left, ..self.page })
    }

    /// Writes the right half.
    pub fn apply_right(&self, page: &mut PageBytes) -> Result<()> {
        restore(&self.right_image, page, PageId { block: self.right, ..self.page })
    }

    /// Takes the mark of a pending split from the page below.
    pub fn apply_finished(&self, page: &mut PageBytes) -> Result<()> {
        finish(page, self.page, self.finished)
    }
}

impl BtreeDelete<'_> {
    /// Removes the entries.
    pub fn apply(&self, page: &mut PageBytes) -> Result<()> {
        btree(page, self.page)?.delete(&self.positions)
    }
}

impl BtreeHalfDead {
    /// Marks the leaf.
    pub fn apply_leaf(&self, page: &mut PageBytes) -> Result<()> {
        btree(page, self.page)?.mark_half_dead()
    }

    /// Takes the leaf out of its parent.
    pub fn apply_parent(&self, page: &mut PageBytes) -> Result<()> {
        btree(page, PageId { block: self.parent, ..self.page })?.unlink_child(self.position as usize)
    }
}

impl BtreeUnlink {
    /// Marks the page.
    pub fn apply_page(&self, page: &mut PageBytes) -> Result<()> {
        btree(page, self.page)?.mark_deleted(self.reusable_after)
    }

    /// Links the right neighbour past the page.
    pub fn apply_right(&self, page: &mut PageBytes) -> Result<()> {
        btree(page, PageId { block: self.right, ..self.page })?.set_left(self.left);
        Ok(())
    }

    /// Links the left neighbour past the page.
    pub fn apply_left(&self, page: &mut PageBytes) -> Result<()> {
        btree(page, PageId { block: self.left, ..self.page })?.set_right(self.right);
        Ok(())
    }
}
