//! Heaps: tables as versions of rows on pages, read by snapshot, changed by whoever comes first.
//!
//! | file | what it is |
//! |---|---|
//! | [`command`] | which commands of a transaction made and ended a version |
//! | [`fetch`] | one row, by its place |
//! | [`scan`] | all rows, page by page |
//! | [`insert`] | new rows, one or many |
//! | [`claim`] | what stands between a writer and a version; waiting for it; following to the newest version |
//! | [`update`](mod@update), [`delete`](mod@delete), [`lock`](mod@lock) | changing, ending, holding a row |
//! | [`prune`] | versions that nobody sees, removed by those who pass |
//! | [`sequence`] | the counter of a sequence, which is no row's history |
//! | [`live`] | rows that live now, for a new index |
//! | [`verify`] | a walk over everything that must hold |
//!
//! A [`Heap`] is a plain value: a relation's storage and how full its pages are to be. What a statement reads with is a [`Reader`]:
//! a snapshot and the transaction's command pairs; what it writes with is a [`Writer`].
//!
//! ```text
//!   index entry ---> root slot ---> version ---hot---> version ---hot---> version        same page, one entry in each index
//!                                                                            |
//!   new index entries ----------> root slot ---> version <------------ away -/           another page, or an indexed column
//! ```
//!
//! Rules
//! 1. First updater wins: a version that a running transaction is about to end makes others wait for its end. Then, at `READ
//!    COMMITTED`, the caller gets the newest version, locked, and decides whether it still wants it ([`Outcome::Changed`]); at
//!    `REPEATABLE READ` it gets `40001`.
//! 2. A change is: room in the log, pin, latch alone, look again, [`crate::buffer::log`], command number, release. Nobody waits for a lock with
//!    any of these.
//! 3. A page's rows are looked at under its shared latch, which is held while the caller's function runs: it must be short and use
//!    nothing of storage.
//! 4. A row's *lock identity* is the root of its chain: versions of one chain share the lock word. A version may leave its chain only
//!    when nobody else has locked the row, because its locks would stay behind.
//! 5. A page that is all visible is known as such to readers of indexes ([`crate::relation::sight`]): before it changes they are told.
//! 6. A snapshot that found a place stays held while the place is used: it keeps the version and its successors on their pages.
//!
//! What this does not do: know columns, indexes (the caller enters new versions there, unless the update was hot), or constraints.

pub mod claim;
pub mod command;
pub mod delete;
pub mod fetch;
pub mod insert;
pub mod live;
pub mod lock;
pub mod pieces;
pub mod prune;
pub mod scan;
pub mod sequence;
pub mod update;
pub mod verify;

pub use claim::Outcome;
pub use command::CommandPairs;
pub use fetch::Fetched;
pub use lock::RowWait;
pub use pieces::{Pieces, ValuePlace};
pub use scan::{Batch, Scan};
pub use sequence::{Advance, SequenceState};
pub use update::Changes;

use crate::buffer::PageMut;
use crate::page::header::{self, PageType};
use crate::page::heap::HeapPage;
use crate::page::{PAGE_SIZE, PageBytes, Tid, damaged};
use crate::relation::Relations;
use crate::txn::Snapshot;
use crate::txn::visibility::Combos;
use base::{PageId, RelId, Result};
use kernel::clock::Nanos;

/// A table's rows; a plain value.
#[derive(Clone, Copy)]
pub struct Heap {
    relations: &'static Relations,
    rel: RelId,
    /// Bytes that inserts leave free on a page for updates.
    reserve: u16,
}

/// What a statement reads with.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// What it sees.
    pub snapshot: &'a Snapshot,
    /// The transaction's command pairs ([`CommandPairs::pairs`]).
    pub pairs: Combos<'a>,
}

impl<'a> Reader<'a> {
    /// A reader of a transaction that has changed nothing twice.
    pub fn new(snapshot: &'a Snapshot) -> Reader<'a> {
        Reader { snapshot, pairs: &[] }
    }
}

/// What happens to a writer whose row somebody else has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isolation {
    /// It looks at the newest version.
    ReadCommitted,
    /// It fails (`40001`).
    RepeatableRead,
}

/// What a statement writes with.
pub struct Writer<'a> {
    /// What it sees; the command number is its own. Held while the statement runs.
    pub snapshot: &'a Snapshot,
    /// What to do about concurrent changes.
    pub isolation: Isolation,
    /// The transaction's command pairs.
    pub pairs: &'a mut dyn CommandPairs,
    /// How long to wait for others (`lock_timeout`).
    pub deadline: Option<Nanos>,
}

impl Writer<'_> {
    /// The same snapshot, to read with.
    pub fn reader(&self) -> Reader<'_> {
        Reader { snapshot: self.snapshot, pairs: self.pairs.pairs() }
    }
}

impl Relations {
    /// A relation as a heap.
    pub fn heap(&'static self, rel: RelId) -> Heap {
        Heap { relations: self, rel, reserve: 0 }
    }
}

impl Heap {
    /// The same heap, with pages that inserts fill to so many percent only.
    #[must_use]
    pub fn with_fill_factor(self, percent: u32) -> Heap {
        Heap { reserve: (PAGE_SIZE as u32 * (100 - percent.clamp(10, 100)) / 100) as u16, ..self }
    }

    /// Its storage.
    pub fn rel(&self) -> RelId {
        self.rel
    }

    /// The relations that it is one of.
    pub fn relations(&self) -> &'static Relations {
        self.relations
    }

    /// How many pages it has. Errors: `58P01`.
    pub fn blocks(&self) -> Result<u32> {
        self.relations.blocks(self.rel)
    }

    fn page_of(&self, tid: Tid) -> PageId {
        PageId { rel: self.rel, block: tid.block }
    }
}

impl Heap {
    /// A page is about to change, which is latched alone: who trusts that all of it is visible must not do so any more.
    #[inline]
    fn unsee(&self, page: &PageMut<'_>) -> Result<()> {
        // Of a relation that nobody has used since the start nothing is known. To use it now would take a latch.
        if view(page)?.is_some_and(HeapPage::all_visible)
            && let Some(row) = self.relations.row_if_used(self.rel)
        {
            self.relations.clear_seen(row, page.id().block);
        }
        Ok(())
    }
}

/// The page as a heap page; none if it is new.
#[inline]
fn view(page: &PageBytes) -> Result<Option<HeapPage<'_>>> {
    match header::page_type(page) {
        Some(PageType::Heap) => Ok(Some(HeapPage::new(page))),
        None => Ok(None),
        Some(PageType::Btree) => Err(damaged(page, format_args!("a page of an index lies in a table"))),
    }
}

/// The root of the chain that a version is in: the slot that indexes know.
fn root_of(page: HeapPage<'_>, slot: u16) -> u16 {
    if page.version(slot).is_none_or(|version| !version.has(crate::page::heap::row::HEAP_ONLY)) {
        return slot;
    }
    for root in 0..page.slot_count() {
        let is_root = match page.slot(root) {
            crate::page::heap::Slot::Redirect(_) => true,
            crate::page::heap::Slot::Normal(version) => !version.has(crate::page::heap::row::HEAP_ONLY),
            _ => false,
        };
        let mut at = if is_root { page.chain(root) } else { None };
        let mut left = page.slot_count();
        while let Some((link, version)) = at.filter(|_| left > 0) {
            if link == slot {
                return root;
            }
            left -= 1;
            at = page.chain_next(&version);
        }
    }
    slot
}
