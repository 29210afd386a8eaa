//! Pages: what every byte of a stored 8 KiB block means, and the operations that change one.
//!
//! Everything here is a pure function over the bytes of one page. A page type is a *view*: [`heap::HeapPage`] and
//! [`btree::BtreePage`] over `&PageBytes`, [`heap::HeapPageMut`] and [`btree::BtreePageMut`] over `&mut PageBytes`. A
//! view owns nothing, copies nothing, and is made anew at each use, so the bytes may lie in a frame of the region, on
//! a stack or in a test's array. Who may look at a page and when (pins, latches, log order) is the buffer pool's
//! business; the byte tables are in `docs/format.md`, whose list of constants a test compares with the code.
//!
//! ```text
//! 0            24                     lower          upper                      8192
//! | header.rs | the type's own header, slots -> | zeros | <- rows or entries |
//! ```
//!
//! Rules
//! 1. Little-endian, no padding that is not zero, no pointer: a page means the same in every process and on every run.
//! 2. A page enters memory through [`header::verify`]: its bytes are what a server wrote. After that the reading
//!    functions trust it: they index, and bytes that contradict each other are a bug that panics. [`check`] trusts
//!    nothing and finds what such a bug wrote; it takes 4-10 microseconds a page, for tests, the `invariants` feature,
//!    recovery and tools.
//! 3. Functions that change a page are what redo calls. They look first and change afterwards: an `Err` leaves the page
//!    as it was.
//! 4. The bytes between the slots and the data are zero, and there is no gap in the data: free space is one number, an
//!    image leaves the hole out, and a change has one possible result.
//! 5. *Volatile* bytes (hints, lock words, command numbers) may change without a log record; [`mask`] blanks them so
//!    that a page and its redo can be compared. Nothing that a crash may not lose depends on them.
//!
//! The life of a page: [`header::format`], changes, [`header::set_lsn`] after each, [`header::seal`] on the copy that
//! is written, [`header::verify`] and [`check`] when it is read again.
//!
//! What this does not do: I/O, latching, deciding what is visible, deciding what is logged.

pub mod btree;
pub mod header;
pub mod heap;
pub mod image;
pub mod raw;

#[cfg(test)]
mod layout_tests;

use base::{Error, Kind, Result, sqlstate};
use header::PageType;
use std::fmt;

/// Bytes in a page, in memory and on disk.
pub const PAGE_SIZE: usize = 8192;

/// The bytes of one page.
pub type PageBytes = [u8; PAGE_SIZE];

/// A block number that no page has: the end of a chain of links.
pub const NO_BLOCK: u32 = u32::MAX;

/// Where a row version lies in its table: block and slot.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid {
    /// The page's number in the table's file.
    pub block: u32,
    /// The slot on the page, counted from zero.
    pub slot: u16,
}

impl Tid {
    /// No version: the `next` of a version that has none.
    pub const NONE: Tid = Tid { block: NO_BLOCK, slot: u16::MAX };
    /// At or before every version: the lower bound of all entries of one key.
    pub const MIN: Tid = Tid { block: 0, slot: 0 };
    /// After every version: the upper bound of all entries of one key.
    pub const MAX: Tid = Tid::NONE;

    /// A version's place.
    pub const fn new(block: u32, slot: u16) -> Tid {
        Tid { block, slot }
    }
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.block, self.slot)
    }
}

impl fmt::Debug for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tid({},{})", self.block, self.slot)
    }
}

/// Walks everything that must hold inside a page, by its type. Call after [`header::verify`]; never panics, whatever
/// the bytes are. A new page (all zeros) passes.
pub fn check(page: &PageBytes) -> Result<()> {
    match header::page_type(page) {
        Some(PageType::Heap) => heap::HeapPage::new(page).check(),
        Some(PageType::Btree) => btree::BtreePage::new(page).check(),
        None if header::is_new(page) => Ok(()),
        None => Err(damaged(page, format_args!("page type {} is unknown", page[header::TYPE]))),
    }
}

/// Blanks what may differ between a page and its redo: checksum, hints, lock words, command numbers. The page must have
/// passed [`check`].
pub fn mask(page: &mut PageBytes) {
    page[header::CHECKSUM..header::CHECKSUM + 4].fill(0);
    match header::page_type(page) {
        Some(PageType::Heap) => heap::HeapPageMut::new(page).mask(),
        Some(PageType::Btree) => btree::BtreePageMut::new(page).mask(),
        None => {}
    }
}

/// The error for bytes that cannot be right: which page, its LSN and what contradicts. An index can be made anew, so a
/// damaged one has its own SQLSTATE.
#[cold]
pub(crate) fn damaged(page: &PageBytes, what: fmt::Arguments<'_>) -> Error {
    let (id, lsn) = (header::page_id(page), header::lsn(page));
    let is_index = header::page_type(page) == Some(PageType::Btree);
    let sqlstate = if is_index { sqlstate::INDEX_CORRUPTED } else { sqlstate::DATA_CORRUPTED };
    Error::new(Kind::Corruption, sqlstate, format!("page {id} is damaged")).detail(format!("Page LSN {lsn}: {what}."))
}

/// The error for a change that does not fit the page: a log record for another state of it.
#[cold]
pub(crate) fn misfit(page: &PageBytes, what: fmt::Arguments<'_>) -> Error {
    let (id, lsn) = (header::page_id(page), header::lsn(page));
    Error::corruption(format!("a change does not fit page {id}")).detail(format!("Page LSN {lsn}: {what}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tids_order_by_block_then_slot() {
        let mut tids = [Tid::MAX, Tid::new(2, 0), Tid::new(1, 9), Tid::MIN];
        tids.sort();
        assert_eq!(tids, [Tid::MIN, Tid::new(1, 9), Tid::new(2, 0), Tid::MAX]);
    }

    #[test]
    fn a_new_page_passes_and_an_unknown_type_does_not() {
        let mut page = [0; PAGE_SIZE];
        check(&page).unwrap();
        page[header::TYPE] = 77;
        let error = check(&page).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::DATA_CORRUPTED);
        assert!(error.detail_text().unwrap().contains("page type 77"));
    }
}
