//! A whole tree from its entries in order: for a new index on a table that has rows.
//!
//! Leaves are filled from left to right; when one is full its block and the separator to the next go to the page that is being
//! filled on the level above, and so on up. A page is written, and logged, once and whole, when its right neighbour begins.
//! What is on top in the end becomes the root.
//!
//! Rules
//! 1. Nobody else uses the index yet: the transaction that makes it has not committed.
//! 2. Pages are filled to nine tenths, so that the first inserts do not split all of them.
//! 3. A page that is closed has room for its high key: a leaf keeps it free, an inner page gives its last entry to the next page
//!    if it has none.

use super::{Btree, ROOT_BLOCK};
use crate::page::btree::{
    BtreePage, BtreePageMut, CONTENT_BYTES, Entry, INTERNAL_ENTRY_BYTES, LEAF_ENTRY_BYTES, ROOT, SLOT_BYTES,
};
use crate::page::raw::common_prefix;
use crate::page::{NO_BLOCK, PAGE_SIZE, PageBytes, Tid};
use base::Result;

/// How full pages are made, in bytes of content.
const FILL: usize = CONTENT_BYTES / 10 * 9;

/// What a build made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Built {
    /// Entries of the tree.
    pub entries: u64,
    /// Its pages.
    pub pages: u32,
    /// Levels, the leaves' included.
    pub levels: u8,
    /// If keys had to differ and did not: one that is there twice, and the places of its rows. The tree is not complete then.
    pub duplicate: Option<(Vec<u8>, Tid, Tid)>,
}

/// The page that is being filled on a level.
struct Level {
    bytes: Box<PageBytes>,
    /// Its block; none for the first page of its level, which becomes the root if it stays the only one.
    block: Option<u32>,
    left: u32,
}

/// A build under way.
pub struct Builder {
    tree: Btree,
    levels: Vec<Level>,
    /// The last entry of the leaf that is being filled.
    last: (Vec<u8>, Tid),
    unique: bool,
    built: Built,
}

/// The block of a page that has none yet.
const UNKNOWN: u32 = NO_BLOCK - 1;

impl Btree {
    /// Begins to build the tree in a relation that has just been created. `unique` says whether keys must differ.
    ///
    /// Errors: `53100`, those of pinning.
    pub fn build(&self, unique: bool) -> Result<Builder> {
        let root = self.relations.add_block(self.rel)?;
        assert_eq!(root, ROOT_BLOCK, "a tree is built in a relation that has pages");
        Ok(Builder { tree: *self, levels: Vec::new(), last: (Vec::new(), Tid::MIN), unique, built: Built::default() })
    }
}

impl Builder {
    /// Adds an entry, at or after all before it. False if the key was there before and must not be; the build has failed then.
    ///
    /// Errors: `53100`, those of pinning. Panics if entries come out of order: that is a bug of the caller.
    pub fn push(&mut self, key: &[u8], tid: Tid) -> Result<bool> {
        if self.levels.is_empty() {
            let level = self.level(0, NO_BLOCK);
            self.levels.push(level);
        } else {
            assert!((&self.last.0[..], self.last.1) < (key, tid), "entries of an index are built out of order");
            if self.unique && self.last.0 == key {
                self.built.duplicate = Some((key.to_vec(), self.last.1, tid));
                return Ok(false);
            }
        }
        let view = BtreePage::new(&self.levels[0].bytes);
        let bytes = LEAF_ENTRY_BYTES + key.len() + SLOT_BYTES;
        // Rule 3: a separator is at most one byte longer than the last key of the page.
        let high_bytes = LEAF_ENTRY_BYTES + key.len() + 1;
        let used = CONTENT_BYTES - view.free_space();
        let is_full = bytes + high_bytes > view.free_space() || (used + bytes > FILL && view.count() > 1);
        if is_full {
            let (high, high_tid) = separator((&self.last.0, self.last.1), (key, tid));
            let (high, high_tid) = (high.to_vec(), high_tid);
            self.close(0, view_count(&self.levels[0]), &high, high_tid)?;
        }
        let position = view_count(&self.levels[0]);
        BtreePageMut::new(&mut self.levels[0].bytes).insert(position, &Entry::leaf(key, tid))?;
        self.last.0.clear();
        self.last.0.extend_from_slice(key);
        self.last.1 = tid;
        self.built.entries += 1;
        Ok(true)
    }

    /// An empty page of a level.
    fn level(&self, level: u8, left: u32) -> Level {
        let mut bytes = Box::new([0; PAGE_SIZE]);
        BtreePageMut::format(&mut bytes, self.tree.page_id(UNKNOWN), level, 0);
        Level { bytes, block: None, left }
    }

    /// Ends the page that a level fills: keeps its first `kept` entries, ends it at `high`, writes it, and begins the next one. The
    /// level above learns of the next one.
    fn close(&mut self, level: usize, kept: usize, high: &[u8], high_tid: Tid) -> Result<()> {
        let block = match self.levels[level].block {
            Some(block) => block,
            None => self.give_block(level)?,
        };
        let next = self.tree.relations.add_block(self.tree.rel)?;
        let mut fresh = self.level(level as u8, block);
        fresh.block = Some(next);
        BtreePageMut::format(&mut fresh.bytes, self.tree.page_id(next), level as u8, 0);
        let mut closed = std::mem::replace(&mut self.levels[level], fresh);
        let mut page = BtreePageMut::new(&mut closed.bytes);
        page.split_off(kept, None, (high, high_tid), next, 0)?;
        // There is no parent that could miss the neighbour: it is told right away.
        page.finish_split();
        page.set_left(closed.left);
        self.write(&closed.bytes, block)?;
        if self.levels.len() == level + 1 {
            let mut above = self.level(level as u8 + 1, NO_BLOCK);
            BtreePageMut::new(&mut above.bytes).insert(0, &Entry::internal(&[], Tid::MIN, block))?;
            self.levels.push(above);
        }
        self.push_child(level + 1, high, high_tid, next)
    }

    /// Gives the first page of a level a block, now that it is not the only one.
    fn give_block(&mut self, level: usize) -> Result<u32> {
        let block = self.tree.relations.add_block(self.tree.rel)?;
        let bytes = self.copy_as(&self.levels[level].bytes, block, 0)?;
        self.levels[level].bytes = bytes;
        self.levels[level].block = Some(block);
        Ok(block)
    }

    /// The same entries on a page of another block.
    fn copy_as(&self, bytes: &PageBytes, block: u32, flags: u16) -> Result<Box<PageBytes>> {
        let view = BtreePage::new(bytes);
        let mut copy = Box::new([0; PAGE_SIZE]);
        let mut page = BtreePageMut::format(&mut copy, self.tree.page_id(block), view.level(), flags);
        (0..view.count()).try_for_each(|position| page.insert(position, &view.entry(position)))?;
        Ok(copy)
    }

    /// Adds a separator and a child to the page that an upper level fills.
    fn push_child(&mut self, level: usize, key: &[u8], tid: Tid, child: u32) -> Result<()> {
        let view = BtreePage::new(&self.levels[level].bytes);
        let bytes = INTERNAL_ENTRY_BYTES + key.len() + SLOT_BYTES;
        let used = CONTENT_BYTES - view.free_space();
        let fits = bytes <= view.free_space() && (used + bytes <= FILL || view.count() < 3);
        if fits {
            let position = view.count();
            return BtreePageMut::new(&mut self.levels[level].bytes)
                .insert(position, &Entry::internal(key, tid, child));
        }
        if view.free_space() >= LEAF_ENTRY_BYTES + key.len() {
            // The separator moves up; its child begins the next page.
            let kept = view.count();
            let (key, tid) = (key.to_vec(), tid);
            self.close(level, kept, &key, tid)?;
            return BtreePageMut::new(&mut self.levels[level].bytes).insert(0, &Entry::internal(&[], Tid::MIN, child));
        }
        // Rule 3: the last entry's separator moves up instead.
        let kept = view.count() - 1;
        let last = view.entry(kept);
        let (moved, moved_tid, moved_child) = (last.key.to_vec(), last.tid, last.child);
        self.close(level, kept, &moved, moved_tid)?;
        let mut page = BtreePageMut::new(&mut self.levels[level].bytes);
        page.insert(0, &Entry::internal(&[], Tid::MIN, moved_child))?;
        page.insert(1, &Entry::internal(key, tid, child))
    }

    fn write(&mut self, bytes: &PageBytes, block: u32) -> Result<()> {
        self.built.pages += 1;
        kernel::session::check_interrupts()?;
        self.tree.write_whole(bytes, self.tree.page_id(block))
    }

    /// Ends the build: writes what is open, and the root.
    pub fn finish(mut self) -> Result<Built> {
        if self.levels.is_empty() {
            let level = self.level(0, NO_BLOCK);
            self.levels.push(level);
        }
        let levels = std::mem::take(&mut self.levels);
        self.built.levels = levels.len() as u8;
        let top = levels.len() - 1;
        for (level, mut open) in levels.into_iter().enumerate() {
            match open.block {
                Some(block) if level < top => {
                    BtreePageMut::new(&mut open.bytes).set_left(open.left);
                    self.write(&open.bytes, block)?;
                }
                _ => {
                    let root = self.copy_as(&open.bytes, ROOT_BLOCK, ROOT)?;
                    self.write(&root, ROOT_BLOCK)?;
                }
            }
        }
        Ok(self.built)
    }
}

fn view_count(level: &Level) -> usize {
    BtreePage::new(&level.bytes).count()
}

/// The shortest key that is after `left` and not after `right`; where the keys are equal, the places decide.
fn separator<'k>(left: (&[u8], Tid), right: (&'k [u8], Tid)) -> (&'k [u8], Tid) {
    if left.0 == right.0 {
        return right;
    }
    let shared = common_prefix(left.0, right.0);
    (&right.0[..(shared + 1).min(right.0.len())], Tid::MIN)
}
