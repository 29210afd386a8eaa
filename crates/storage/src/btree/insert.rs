//! A new entry.
//!
//! The first try has room in the log for the entry alone and no page for a split. If the leaf is full the try ends, room and
//! pages are taken with nothing latched, and the next try splits. So the common insert pays for nothing it does not need.
//!
//! Before a leaf is split, entries that nobody needs go: those that searches have marked as killed, or if there are none, in a unique
//! index, those with the same key as another one, of rows of which nothing is left. They are what rows leave behind that were updated away
//! from their pages, and without this an index whose keys never change would grow with every such update until a vacuum comes.

use super::descend::{STEPS_MAX, in_a_circle, is_right_of};
use super::spare::Spare;
use super::split::SPLIT_ROOM;
use super::unique::{Live, Unique};
use super::{Btree, tree_page};
use crate::buffer::{self, PageMut};
use crate::heap::Heap;
use crate::page::btree::{BtreePage, Entry, ROOT, SPLIT_PENDING, check_key_size};
use crate::page::{NO_BLOCK, Tid, damaged};
use crate::wal::Room;
use crate::wal::record::{BtreeDelete, BtreeInsert};
use crate::wal::space::record_bytes;
use base::{PageId, Result, Xid};
use kernel::clock::Nanos;
use std::borrow::Cow;

/// How many rows are looked at before a leaf is split.
const TWINS_MAX: usize = 64;

/// What came of an insert.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// The entry is in the index.
    Done,
    /// A live row with the key is here; nothing was changed.
    Duplicate(Tid),
}

/// Room in the log, and pages for a split.
pub(super) struct Means {
    pub(super) room: Room,
    pub(super) spares: Vec<Spare>,
    /// True if there is room for a split.
    pub(super) may_split: bool,
}

/// How a try ended.
pub(super) enum Step {
    Done,
    /// The entry is in; the page of this block was split, and its parent has to be told.
    DoneTell(u32),
    Duplicate(Tid),
    Wait(Xid),
    /// The page of this block was split by somebody who has not told its parent.
    Finish(u32),
    /// A split is due, which needs so many pages.
    NeedsPages(usize),
    Again,
}

impl Btree {
    /// Enters a key for the row whose chain begins at `tid`. With [`Unique::Check`] first looks for a live row with the same key,
    /// waiting for transactions whose end decides.
    ///
    /// Errors: `54000` (the key is too long), `40P01`, `57014`, `55P03`, `53100`, those of pinning, `XX002`.
    pub fn insert(&self, key: &[u8], tid: Tid, unique: Unique<'_>, deadline: Option<Nanos>) -> Result<Inserted> {
        check_key_size(key.len())?;
        let own = self.relations.transactions.xid()?;
        let mut pages = 0;
        loop {
            let mut means = self.means(key, tid, pages)?;
            let step = self.try_insert(key, tid, unique, own, &mut means)?;
            drop(means);
            pages = 0;
            match step {
                Step::Done => return Ok(Inserted::Done),
                Step::DoneTell(block) => {
                    self.finish_split(block)?;
                    return Ok(Inserted::Done);
                }
                Step::Duplicate(tid) => return Ok(Inserted::Duplicate(tid)),
                Step::Wait(xid) => drop(self.relations.transactions.wait_for(xid, deadline)?),
                Step::Finish(block) => self.finish_split(block)?,
                Step::NeedsPages(needed) => pages = needed,
                Step::Again => {}
            }
        }
    }

    /// Room for an insert; with `pages`, for a split as well.
    fn means(&self, key: &[u8], tid: Tid, pages: usize) -> Result<Means> {
        let record = BtreeInsert { page: PageId::default(), position: 0, tid, key };
        let bytes = record_bytes(&record) + if pages > 0 { SPLIT_ROOM } else { 0 };
        // Pages first: adding one may have to wait for more than the log.
        let spares = (0..pages).map(|_| self.spare()).collect::<Result<_>>()?;
        Ok(Means { room: self.relations.wal.reserve(bytes)?, spares, may_split: pages > 0 })
    }

    fn try_insert(&self, key: &[u8], tid: Tid, unique: Unique<'_>, own: Xid, means: &mut Means) -> Result<Step> {
        // With a check: the first leaf that could have the key (rule 4 of the head).
        let point = if matches!(unique, Unique::Check(_)) { (key, Tid::MIN) } else { (key, tid) };
        let mut pinned = self.descend(point, 0)?;
        for _ in 0..STEPS_MAX {
            let page = pinned.write();
            let view = tree_page(&page)?;
            if !view.is_leaf() {
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
            if let Unique::Check(heap) = unique {
                match self.find_live(view, heap, key)? {
                    Live::No => {}
                    Live::Yes(tid) => return Ok(Step::Duplicate(tid)),
                    Live::Undecided(xid) => return Ok(Step::Wait(xid)),
                }
            }
            if view.covers(key, tid) {
                return self.put(page, key, tid, unique, own, means);
            }
            // The key's entries go on to the right: this leaf stays latched, so that nobody else enters the key meanwhile.
            let mut at = match passes(&page, view)? {
                Ok(right) => right,
                Err(step) => return Ok(step),
            };
            for _ in 0..STEPS_MAX {
                let pinned = self.pin(at)?;
                let page = pinned.write();
                let view = tree_page(&page)?;
                if !is_right_of(view, (key, tid)) {
                    return self.put(page, key, tid, unique, own, means);
                }
                at = match passes(&page, view)? {
                    Ok(right) => right,
                    Err(step) => return Ok(step),
                };
            }
            break;
        }
        Err(in_a_circle(&pinned.read()))
    }

    /// Puts an entry on the leaf that covers it.
    fn put(
        &self,
        mut page: PageMut<'_>,
        key: &[u8],
        tid: Tid,
        unique: Unique<'_>,
        own: Xid,
        means: &mut Means,
    ) -> Result<Step> {
        let mut view = BtreePage::new(&page);
        let mut position = view.lower_bound(key, tid);
        if position < view.count() && view.key(position) == key && view.tid(position) == tid {
            return Err(damaged(&page, format_args!("the row {tid} is in the index already, with the same key")));
        }
        if !view.fits(key.len()) {
            if !means.may_split {
                return Ok(Step::NeedsPages(if view.has(ROOT) { 2 } else { 1 }));
            }
            let mut gone: Vec<u16> = (0..view.count()).filter(|&at| view.is_killed(at)).map(|at| at as u16).collect();
            if let Unique::Check(heap) = unique
                && gone.is_empty()
            {
                gone = dead_twins(view, heap)?;
            }
            if !gone.is_empty() {
                let record = BtreeDelete { page: page.id(), positions: Cow::Owned(gone) };
                buffer::log(&mut means.room, own, 0, &record, [&mut page], |[bytes]| record.apply(bytes))?;
                view = BtreePage::new(&page);
                position = view.lower_bound(key, tid);
            }
        }
        if view.fits(key.len()) {
            let record = BtreeInsert { page: page.id(), position: position as u16, tid, key };
            buffer::log(&mut means.room, own, 0, &record, [&mut page], |[bytes]| record.apply(bytes))?;
            return Ok(Step::Done);
        }
        if view.has(SPLIT_PENDING) {
            return Ok(Step::Finish(page.id().block));
        }
        let (is_root, block) = (view.has(ROOT), page.id().block);
        if is_root && means.spares.len() < 2 {
            return Ok(Step::NeedsPages(2));
        }
        self.split(page, Entry::leaf(key, tid), None, own, means)?;
        Ok(if is_root { Step::Done } else { Step::DoneTell(block) })
    }
}

/// Entries on a leaf, which is latched alone, that have the key of another one there, and lead to nothing that anybody sees. Their slots
/// stay dead until a vacuum comes: that is what makes sure, as long as the leaf is latched, that they are not another row's by now.
fn dead_twins(leaf: BtreePage<'_>, heap: &Heap) -> Result<Vec<u16>> {
    let same = |a: usize, b: usize| leaf.key(a) == leaf.key(b);
    let count = leaf.count();
    let is_twin = |&at: &usize| (at > 0 && same(at - 1, at)) || (at + 1 < count && same(at, at + 1));
    let mut dead = Vec::new();
    for at in (0..count).filter(is_twin).take(TWINS_MAX) {
        if heap.is_over(leaf.tid(at))? {
            dead.push(at as u16);
        }
    }
    Ok(dead)
}

/// The right neighbour of a page that a writer passes; or, if the parent does not know that one yet, that this has to be mended first.
pub(super) fn passes(page: &PageMut<'_>, view: BtreePage<'_>) -> Result<std::result::Result<u32, Step>> {
    if view.has(SPLIT_PENDING) {
        return Ok(Err(Step::Finish(page.id().block)));
    }
    match view.right() {
        NO_BLOCK => Err(damaged(page, format_args!("the last page of a level does not cover all that is after it"))),
        right => Ok(Ok(right)),
    }
}
