//! B-trees: from keys to places of rows, used and changed by many sessions at a time, after Lehman and Yao.
//!
//! | file | what it is |
//! |---|---|
//! | [`descend`](mod@descend) | from the root to a page |
//! | [`lookup`] | the entries of one key |
//! | [`ahead`](mod@ahead) | the entries of several keys at a time |
//! | [`scan`] | the entries of a range, either way |
//! | [`insert`] | a new entry |
//! | [`unique`] | is there a live row with the key? |
//! | [`split`](mod@split) | a page becomes two; the parent learns of it |
//! | `spare` | pages for splits |
//! | [`sort`](mod@sort), [`build`] | a whole tree from its entries |
//! | [`remove`] | entries and pages that vacuum takes out |
//! | [`verify`] | a walk over everything that must hold |
//!
//! What is on a page, and how a search in it works, is [`crate::page::btree`]'s. The root is block 0 and stays there.
//!
//! ```text
//!   level 2                     [ root ]
//!   level 1          [ a ] <-------> [ b ] <-------> [ c ]        a page is found from its parent, or from its left
//!   level 0     [ ] <-> [ ] <-> [ ] <-> [ ] <-> [ ] <-> [ ]       neighbour when the parent does not know it yet
//! ```
//!
//! Rules
//! 1. A descent holds one latch at a time. Between letting a parent go and latching the child the child may have been split or
//!    deleted; so whoever arrives goes right until the page covers what is looked for.
//! 2. Latches of several pages are taken from left to right, and a child before its parent.
//! 3. A split is done when the left page is changed; the parent's entry follows as a change of its own. Writers that meet a pending one,
//!    where it matters to them, finish it first.
//! 4. Entries with the same key are told apart by their places. Whoever enters a key into a unique index holds the first leaf that
//!    could have the key until the entry is in, so that two of them cannot miss each other.
//! 5. A leaf may be latched while heap pages are, never the other way round.
//! 6. A cursor copies what it wants of a leaf and holds nothing between calls; the session's snapshot or transaction keeps deleted
//!    pages from being used again as long as it may come by.
//!
//! What this does not do: know what a key means; compare anything but bytes; decide what a row's visibility is (but for unique
//! checks).

pub mod ahead;
pub mod build;
pub mod descend;
pub mod insert;
pub mod lookup;
pub mod remove;
pub mod scan;
pub mod sort;
mod spare;
pub mod split;
pub mod unique;
pub mod verify;

pub use build::Built;
pub use insert::Inserted;
pub use lookup::Matches;
pub use scan::{Cursor, Direction, Range};
pub use sort::Sorter;
pub use unique::{Twins, Unique};

use crate::buffer::{self, PageRef, Pinned};
use crate::page::btree::{BtreePage, BtreePageMut, ROOT};
use crate::page::header::{self, PageType};
use crate::page::image::PageImage;
use crate::page::{PAGE_SIZE, PageBytes, damaged};
use crate::relation::Relations;
use crate::wal::record::PageWrite;
use crate::wal::space::record_bytes;
use base::{PageId, RelId, Result, Xid};

/// Where the root is, in every tree.
pub const ROOT_BLOCK: u32 = 0;

/// An index; a plain value.
#[derive(Clone, Copy)]
pub struct Btree {
    relations: &'static Relations,
    rel: RelId,
}

impl Relations {
    /// A relation as an index.
    pub fn btree(&'static self, rel: RelId) -> Btree {
        Btree { relations: self, rel }
    }
}

impl Btree {
    /// Its storage.
    pub fn rel(&self) -> RelId {
        self.rel
    }

    /// Makes the empty tree in a relation that has just been created.
    ///
    /// Errors: `53100`, those of pinning.
    pub fn create(&self) -> Result<()> {
        let id = self.page_id(self.relations.add_block(self.rel)?);
        assert_eq!(id.block, ROOT_BLOCK, "a tree is made in a relation that has pages");
        let mut bytes = [0; PAGE_SIZE];
        BtreePageMut::format(&mut bytes, id, 0, ROOT);
        self.write_whole(&bytes, id)
    }

    fn page_id(&self, block: u32) -> PageId {
        PageId { rel: self.rel, block }
    }

    fn pin(&self, block: u32) -> Result<Pinned> {
        self.relations.pool.pin(self.page_id(block))
    }

    #[inline]
    fn read(&self, block: u32) -> Result<PageRef> {
        self.relations.pool.read(self.page_id(block))
    }

    /// Writes a page that nobody else uses, whole.
    fn write_whole(&self, bytes: &PageBytes, id: PageId) -> Result<()> {
        let record = PageWrite { page: id, image: PageImage::of(bytes) };
        let mut room = self.relations.wal.reserve(record_bytes(&record))?;
        let pinned = self.relations.pool.pin_fresh(id)?;
        let mut page = pinned.write();
        buffer::log(&mut room, Xid(0), 0, &record, [&mut page], |[page]| record.apply(page)).map(drop)
    }
}

/// The page as a page of a tree. Anything else is damage: links lead to pages of the tree only.
#[inline]
fn tree_page(page: &PageBytes) -> Result<BtreePage<'_>> {
    if header::page_type(page) == Some(PageType::Btree) {
        return Ok(BtreePage::new(page));
    }
    Err(damaged(page, format_args!("a page of another type lies in an index")))
}
