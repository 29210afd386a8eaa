//! Which pages of a heap are known to have nothing but rows that everybody sees: a byte each, in memory that all sessions share.
//!
//! Who has found a row's place in an index, and wants no more of the row than the index has, need not look at the row if its page is known.
//! A page says of itself that it is *all visible* ([`crate::page::heap`], rule 5), on disk too; the bytes are copies of that.
//!
//! ```text
//!   prune, vacuum, fetch:  page latched, its flag is set        -> set the byte
//!   insert, update, delete: page latched alone, its flag is set -> clear the byte, log, change, clear the flag -> index, commit
//!   reader: Sight::new -> entries of a leaf -> is the byte set, and have no entries been taken out since? -> the row is there
//! ```
//!
//! Why a reader may trust a byte. It is set only while the page's flag is, and cleared before the page changes. An entry of a row that was put
//! onto the page afterwards is made after the byte was cleared, and a snapshot that sees a row ended is taken after the byte was cleared; so
//! who knows of either reads a cleared byte, or one that was set again when every snapshot saw every version there was: his too, which is
//! held. What is left are entries of rows that a vacuum has taken away altogether. It takes them out of the indexes first, then says so
//! ([`Row::say_entries_gone`]), then lets pages become all visible that had such rows: a reader who has copied an entry before finds, behind
//! the byte, that the count has changed.
//!
//! Rules
//! 1. A byte is set under the page's latch only; no memory is asked for there ([`Relations::make_sight`] does before).
//! 2. A byte that cannot be set is left out. One that is to be cleared is cleared.
//! 3. All of it is gone with the server. Pages keep their flags: the bytes come back as pages are looked at.

use super::Relations;
use super::row::Row;
use crate::heap::Heap;
use base::Result;

/// What the byte of a page that is known says.
const KNOWN: u8 = 1;

/// What a scan of an index knows of a heap's pages. Made before the index is looked at; good for the entries that were copied since.
#[derive(Clone, Copy)]
pub struct Sight {
    relations: &'static Relations,
    row: &'static Row,
    entries_gone: u64,
}

impl Heap {
    /// What is known of its pages from now on. The relation is locked. Errors: those of its first use.
    pub fn sight(&self) -> Result<Sight> {
        let row = self.relations().row(self.rel())?;
        Ok(Sight { relations: self.relations(), row, entries_gone: row.count_of_entries_gone() })
    }
}

impl Sight {
    /// True if whatever an entry of an index leads to on a page is a row that the reader's snapshot sees.
    #[inline]
    pub fn knows(&self, block: u32) -> bool {
        // The byte first: see the head of this file.
        self.relations.space.get(&self.row.seen, block) == KNOWN
            && self.row.count_of_entries_gone() == self.entries_gone
    }

    /// Notes that a page is all visible. It is latched, and says so.
    pub(crate) fn note(&self, block: u32) {
        self.relations.set_seen(self.row, block);
    }

    /// Sees to it that pages around a block can be noted. No latch is held.
    pub fn prepare(&self, block: u32) {
        self.relations.make_sight(self.row, block);
    }
}

impl Relations {
    /// Makes room for what is known of a page. No latch is held.
    pub(crate) fn make_sight(&self, row: &'static Row, block: u32) {
        self.space.make_chunk(&row.seen, &row.latch, block);
    }

    /// Notes that a page is all visible. It is latched, and says so.
    pub(crate) fn set_seen(&self, row: &Row, block: u32) {
        self.space.try_set(&row.seen, block, KNOWN);
    }

    /// A page that is all visible is about to change. It is latched alone.
    #[cold]
    pub(crate) fn clear_seen(&self, row: &Row, block: u32) {
        if !kernel::fault::planted("heap.seen_stays") {
            self.space.try_set(&row.seen, block, 0);
        }
        kernel::fault::point("heap.unseen");
    }
}
