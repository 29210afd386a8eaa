//! A whole page without its hole: how a page travels in the log.
//!
//! Between a page's slots and its data there is nothing but zeros, so an image leaves them out and says where they
//! were. Restoring gives back the same bytes. The checksum and the page LSN are not part of what an image promises: the
//! LSN is set from the record that carries it, the checksum when the page is written.
//!
//! Rules
//! 1. [`PageImage::of`] takes any bytes; a page whose type it does not know simply has no hole.
//! 2. [`PageImage::restore`] trusts nothing: an image that is not a page is refused, and the page stays as it was.

use super::header::{HEADER_BYTES, PageType};
use super::raw::{is_zero, u16_at, u32_at};
use super::{PAGE_SIZE, PageBytes, btree, header, heap};
use base::{Error, PageId, RelId, Result};

/// A page's bytes before and after its hole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageImage<'a> {
    /// Bytes before the hole.
    pub front: &'a [u8],
    /// Bytes after the hole.
    pub back: &'a [u8],
}

impl<'a> PageImage<'a> {
    /// The image of a page.
    pub fn of(page: &'a PageBytes) -> PageImage<'a> {
        let (lower, upper) = hole(page);
        PageImage { front: &page[..lower], back: &page[upper..] }
    }

    /// The page that the image says it is of; `None` when it is too short to say so.
    pub fn page_id(&self) -> Option<PageId> {
        let header: &[u8; HEADER_BYTES] = self.front.first_chunk()?;
        Some(PageId { rel: RelId(u32_at(header, header::REL)), block: u32_at(header, header::BLOCK) })
    }

    /// Writes the page that the image is of.
    pub fn restore(&self, page: &mut PageBytes) -> Result<()> {
        let upper = PAGE_SIZE.checked_sub(self.back.len()).filter(|&upper| upper >= self.front.len());
        let Some(upper) = upper else {
            return Err(Error::corruption("a page image in the log is damaged").detail(format!(
                "{} and {} bytes are more than a page.",
                self.front.len(),
                self.back.len()
            )));
        };
        page[..self.front.len()].copy_from_slice(self.front);
        page[self.front.len()..upper].fill(0);
        page[upper..].copy_from_slice(self.back);
        Ok(())
    }
}

/// Where the zeros between slots and data begin and end; nothing, at the end of the page, where that is not certain.
fn hole(page: &PageBytes) -> (usize, usize) {
    let (lower, upper) = match header::page_type(page) {
        Some(PageType::Heap) => (
            heap::HEAP_HEADER_BYTES + heap::SLOT_BYTES * u16_at(page, heap::SLOT_COUNT) as usize,
            u16_at(page, heap::UPPER) as usize,
        ),
        Some(PageType::Btree) => (
            btree::BTREE_HEADER_BYTES + btree::SLOT_BYTES * u16_at(page, btree::ENTRY_COUNT) as usize,
            u16_at(page, btree::UPPER) as usize,
        ),
        None => (0, PAGE_SIZE),
    };
    if lower <= upper && upper <= PAGE_SIZE && is_zero(page, lower, upper) {
        (lower, upper)
    } else {
        (PAGE_SIZE, PAGE_SIZE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Xid;
    use proptest::prelude::*;

    #[test]
    fn an_image_of_a_nearly_empty_page_is_short_and_restores_it() {
        let mut page = [0; PAGE_SIZE];
        heap::HeapPageMut::format(&mut page, PageId { rel: RelId(1), block: 2 }).insert(0, Xid(9), b"a row").unwrap();
        let image = PageImage::of(&page);
        assert!(image.front.len() + image.back.len() < 100);
        let mut other = [0xAA; PAGE_SIZE];
        image.restore(&mut other).unwrap();
        assert_eq!(page, other);
    }

    #[test]
    fn an_image_of_a_new_page_is_empty() {
        let page = [0; PAGE_SIZE];
        assert_eq!(PageImage::of(&page), PageImage { front: &[], back: &[] });
    }

    #[test]
    fn too_many_bytes_are_refused() {
        let bytes = [1; PAGE_SIZE];
        let mut page = [7; PAGE_SIZE];
        assert!(PageImage { front: &bytes, back: &bytes[..1] }.restore(&mut page).is_err());
        assert_eq!(page, [7; PAGE_SIZE]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_bytes_survive(seed in any::<[u8; 32]>(), kind in 0u8..4, count in any::<u16>(), upper in any::<u16>()) {
            let mut page = [0; PAGE_SIZE];
            for (at, byte) in page.iter_mut().enumerate().step_by(seed[0] as usize % 900 + 1) {
                *byte = seed[at % 32];
            }
            page[header::TYPE] = kind;
            page[heap::SLOT_COUNT..heap::SLOT_COUNT + 2].copy_from_slice(&(count % 500).to_le_bytes());
            page[heap::UPPER..heap::UPPER + 2].copy_from_slice(&(upper % 9000).to_le_bytes());
            let mut other = [0xAA; PAGE_SIZE];
            PageImage::of(&page).restore(&mut other).unwrap();
            prop_assert_eq!(&page[..], &other[..]);
        }
    }
}
