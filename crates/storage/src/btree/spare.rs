//! Pages for splits: found, or added, before anything is latched.
//!
//! A page that was deleted may be used again when nobody can be on the way to it any more; a new one that a crash left, at
//! once. The relation's map of free blocks says where they may be.

use super::Btree;
use crate::buffer::Pinned;
use crate::page::btree::{BtreePage, DELETED};
use crate::page::header::{self, PageType};
use base::Result;
use std::cell::Cell;

/// How many blocks that nobody has looked at since the start are looked at before one is added.
const PROBES: u32 = 8;

/// A page that is in no tree, for this session alone. If it is not used it goes back when it is dropped.
pub(super) struct Spare {
    tree: Btree,
    pinned: Pinned,
    used: Cell<bool>,
}

impl Spare {
    pub(super) fn block(&self) -> u32 {
        self.pinned.id().block
    }

    pub(super) fn pinned(&self) -> &Pinned {
        &self.pinned
    }

    /// It is part of the tree now.
    pub(super) fn use_up(&self) {
        self.used.set(true);
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        if !self.used.get() {
            // A block that is forgotten here is found by the next look over the file.
            let _ = self.tree.relations.note_free_block(self.tree.rel, self.block());
        }
    }
}

/// What a look at a block says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// In the tree, or about to be.
    Taken,
    /// Free, but somebody may still come by.
    Later,
    Free,
}

impl Btree {
    /// A page for a split. No latch is held. Errors: `53100`, `54000`, those of pinning.
    pub(super) fn spare(&self) -> Result<Spare> {
        let mut later = Vec::new();
        let mut found = None;
        while let Some(block) = self.relations.take_free_block(self.rel)? {
            let pinned = self.pin(block)?;
            match self.use_of(&pinned) {
                Use::Free => {
                    found = Some(pinned);
                    break;
                }
                Use::Later => later.push(block),
                Use::Taken => {}
            }
        }
        for block in later {
            self.relations.note_free_block(self.rel, block)?;
        }
        if found.is_none() {
            found = self.probe()?;
        }
        let pinned = match found {
            Some(pinned) => pinned,
            None => self.relations.pool.pin_fresh(self.page_id(self.relations.add_block(self.rel)?))?,
        };
        Ok(Spare { tree: *self, pinned, used: Cell::new(false) })
    }

    /// Looks at a few blocks that nobody has looked at since the start.
    fn probe(&self) -> Result<Option<Pinned>> {
        for _ in 0..PROBES {
            let Some(block) = self.relations.take_unseen_block(self.rel)? else { return Ok(None) };
            let pinned = self.pin(block)?;
            match self.use_of(&pinned) {
                Use::Free => return Ok(Some(pinned)),
                Use::Later => self.relations.note_free_block(self.rel, block)?,
                Use::Taken => {}
            }
        }
        Ok(None)
    }

    pub(super) fn use_of(&self, pinned: &Pinned) -> Use {
        // The map and the look at old blocks can both lead to one block; whoever came first has it pinned.
        if !pinned.is_only_pin() {
            return Use::Taken;
        }
        let page = pinned.read();
        if header::is_new(&page) {
            return Use::Free;
        }
        if header::page_type(&page) != Some(PageType::Btree) {
            return Use::Taken;
        }
        let view = BtreePage::new(&page);
        if !view.has(DELETED) {
            return Use::Taken;
        }
        let transactions = self.relations.transactions;
        if view.deleted_xid() < transactions.horizon_cached().xid { Use::Free } else { Use::Later }
    }
}
