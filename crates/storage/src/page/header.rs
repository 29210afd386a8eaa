//! The 24 bytes at the front of every page: checksum, type, version, flags, LSN and the page's own name.
//!
//! ```text
//!  0        4      5         6       8             16      20       24
//!  | crc32c | type | version | flags | page LSN    | rel   | block  |
//! ```
//!
//! Rules
//! 1. The checksum is the CRC-32C of bytes 4..8192. It is computed by [`seal`] when the page is written, on bytes that
//!    nobody changes meanwhile (a copy, or an exclusive latch), and is meaningless in memory.
//! 2. A page says which page it is, so a write that went to the wrong place is found when either place is read.
//! 3. The page LSN is the *end* of the last log record that changed the page: the log must be durable up to it before
//!    the page is written, and a record is redone only on a page whose LSN is below the record's end.
//! 4. A page of zeros is a valid *new* page: what extending a file leaves. Its CRC would not be zero, so no sealed page
//!    is mistaken for one.
//! 5. The format version counts from one and is checked when the page is read; there is one version so far.

use super::raw::{put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use super::{PAGE_SIZE, PageBytes, raw};
use base::{Error, Lsn, PageId, RelId, Result};

/// Offset of the checksum, `u32`.
pub const CHECKSUM: usize = 0;
/// Offset of the page type, `u8`.
pub const TYPE: usize = 4;
/// Offset of the format version, `u8`.
pub const VERSION: usize = 5;
/// Offset of the type's own flags, `u16`.
pub const FLAGS: usize = 6;
/// Offset of the page LSN, `u64`.
pub const LSN: usize = 8;
/// Offset of the relation, `u32`.
pub const REL: usize = 16;
/// Offset of the block number, `u32`.
pub const BLOCK: usize = 20;
/// Bytes of the common header; the type's own header follows.
pub const HEADER_BYTES: usize = 24;

/// The format version that this code reads and writes.
pub const FORMAT_VERSION: u8 = 1;

/// What a page holds. Zero is no type: it marks a new page.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageType {
    /// Row versions: [`super::heap`].
    Heap = 1,
    /// Index entries: [`super::btree`].
    Btree = 2,
}

impl PageType {
    /// Every type, for tables and tests.
    pub const ALL: [PageType; 2] = [PageType::Heap, PageType::Btree];

    /// The type with a number, if there is one.
    pub fn from_u8(raw: u8) -> Option<PageType> {
        PageType::ALL.into_iter().find(|kind| *kind as u8 == raw)
    }
}

/// What [`verify`] found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// A page that was written: its checksum and its name are right.
    Written,
    /// A page of zeros, never written.
    New,
}

/// Makes `page` an otherwise empty page of a type: zeros but for type, version and name. The LSN is zero.
pub fn format(page: &mut PageBytes, kind: PageType, id: PageId) {
    page.fill(0);
    page[TYPE] = kind as u8;
    page[VERSION] = FORMAT_VERSION;
    put_u32(page, REL, id.rel.0);
    put_u32(page, BLOCK, id.block);
}

/// The page's type; `None` for a new page and for an unknown number.
#[inline]
pub fn page_type(page: &PageBytes) -> Option<PageType> {
    PageType::from_u8(page[TYPE])
}

/// The page's own name.
#[inline]
pub fn page_id(page: &PageBytes) -> PageId {
    PageId { rel: RelId(u32_at(page, REL)), block: u32_at(page, BLOCK) }
}

/// The end of the last log record that changed the page.
#[inline]
pub fn lsn(page: &PageBytes) -> Lsn {
    Lsn(u64_at(page, LSN))
}

/// Sets the page LSN, after a change was logged.
#[inline]
pub fn set_lsn(page: &mut PageBytes, lsn: Lsn) {
    put_u64(page, LSN, lsn.0);
}

/// The type's own flags.
#[inline]
pub fn flags(page: &PageBytes) -> u16 {
    u16_at(page, FLAGS)
}

/// Sets the type's own flags.
#[inline]
pub fn set_flags(page: &mut PageBytes, flags: u16) {
    put_u16(page, FLAGS, flags);
}

/// True for a page of zeros.
pub fn is_new(page: &PageBytes) -> bool {
    raw::is_zero(page, 0, PAGE_SIZE)
}

/// The checksum that the page's bytes call for.
pub fn checksum(page: &PageBytes) -> u32 {
    crc32c::crc32c(&page[TYPE..])
}

/// Stores the checksum: the last thing before the page is written. A new page stays one.
pub fn seal(page: &mut PageBytes) {
    if page[TYPE] != 0 {
        let sum = checksum(page);
        put_u32(page, CHECKSUM, sum);
    }
}

/// Tells whether the bytes that were read as page `id` are what was written there.
pub fn verify(page: &PageBytes, id: PageId) -> Result<Found> {
    if page[TYPE] == 0 && is_new(page) {
        return Ok(Found::New);
    }
    let (stored, computed) = (u32_at(page, CHECKSUM), checksum(page));
    let lsn = lsn(page);
    if stored != computed {
        return Err(Error::corruption(format!("page {id} is damaged")).detail(format!(
            "Checksum {stored:#010x} is stored, {computed:#010x} computed; the page says it is {}, LSN {lsn}.",
            page_id(page)
        )));
    }
    if page_id(page) != id {
        return Err(Error::corruption(format!("page {id} holds another page")).detail(format!(
            "The page says it is {}, LSN {lsn}; its checksum {stored:#010x} is right.",
            page_id(page)
        )));
    }
    if page[VERSION] != FORMAT_VERSION || page_type(page).is_none() {
        return Err(Error::corruption(format!("page {id} is of an unknown format"))
            .detail(format!("Page type {}, format version {}, LSN {lsn}.", page[TYPE], page[VERSION]))
            .hint("The data directory may have been written by a newer version of the server."));
    }
    Ok(Found::Written)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: PageId = PageId { rel: RelId(7), block: 42 };

    fn sealed() -> PageBytes {
        let mut page = [0; PAGE_SIZE];
        format(&mut page, PageType::Heap, ID);
        for (at, byte) in page.iter_mut().enumerate().skip(HEADER_BYTES) {
            *byte = (at * 7) as u8;
        }
        set_lsn(&mut page, Lsn(0xABC));
        seal(&mut page);
        page
    }

    #[test]
    fn a_sealed_page_verifies_under_its_own_name_only() {
        let page = sealed();
        assert_eq!(verify(&page, ID).unwrap(), Found::Written);
        let error = verify(&page, PageId { block: 43, ..ID }).unwrap_err();
        assert_eq!(error.kind(), base::Kind::Corruption);
        assert!(error.message().contains("7/43 holds another page"), "{error}");
        assert!(error.detail_text().unwrap().contains("7/42"), "{error}");
    }

    #[test]
    fn every_flipped_bit_of_every_byte_is_found() {
        let mut page = sealed();
        for at in 0..PAGE_SIZE {
            let bit = 1 << (at % 8);
            page[at] ^= bit;
            let error = verify(&page, ID).expect_err("a flipped bit must be found");
            assert_eq!(error.sqlstate(), base::sqlstate::DATA_CORRUPTED);
            page[at] ^= bit;
        }
        verify(&page, ID).unwrap();
    }

    #[test]
    fn the_error_carries_page_lsn_and_both_checksums() {
        let mut page = sealed();
        let stored = u32_at(&page, CHECKSUM);
        page[100] ^= 1;
        let computed = checksum(&page);
        let error = verify(&page, ID).unwrap_err();
        let detail = error.detail_text().unwrap();
        for part in [format!("{stored:#010x}"), format!("{computed:#010x}"), "0/ABC".to_string()] {
            assert!(detail.contains(&part), "{detail} lacks {part}");
        }
        assert!(error.message().contains("7/42"));
    }

    #[test]
    fn zeros_are_new_and_any_single_byte_is_not() {
        let mut page = [0; PAGE_SIZE];
        assert_eq!(verify(&page, ID).unwrap(), Found::New);
        seal(&mut page);
        assert!(is_new(&page), "sealing a new page leaves it new");
        for at in 0..PAGE_SIZE {
            page[at] = 1;
            assert!(verify(&page, ID).is_err(), "byte {at}");
            page[at] = 0;
        }
    }

    #[test]
    fn a_later_format_is_refused_with_a_hint() {
        for (at, value) in [(VERSION, 2), (TYPE, 99)] {
            let mut page = sealed();
            page[at] = value;
            seal(&mut page);
            let error = verify(&page, ID).unwrap_err();
            assert!(error.hint_text().is_some(), "{error}");
        }
    }
}
