//! All rows of a heap that a snapshot sees, page by page.
//!
//! A [`Scan`] is a position, a plain value that can be put away and gone on with in another process. Each step takes one page: the rows
//! are visited under the page's latch ([`Heap::visit_page`]) or copied out of it ([`Heap::next_page`]), and nothing is latched or
//! pinned between steps.
//!
//! Rules
//! 1. A scan ends where the heap ended when it began: what is added later no snapshot of then sees.
//! 2. A scan of a heap that is large for the buffer pool uses a few frames again and again ([`ScanRing`]); a smaller one asks for
//!    pages ahead.
//! 3. A page that is *all visible* is not asked version by version.

use super::{Heap, Reader, view};
use crate::buffer::{Pinned, ScanRing};
use crate::page::Tid;
use base::{PageId, RelId, Result};

/// A heap of more than one in so many of the pool's frames is large.
const LARGE_SHARE: u64 = 4;
/// How many pages are asked for ahead at a time.
const AHEAD: u32 = 16;

/// Where a scan is; made by [`Heap::scan`].
pub struct Scan {
    rel: RelId,
    next: u32,
    end: u32,
    /// Pages before this one were asked for.
    ahead: u32,
    large: bool,
    ring: ScanRing,
}

impl Scan {
    /// The next page's number, and where the scan ends.
    pub fn progress(&self) -> (u32, u32) {
        (self.next, self.end)
    }
}

/// The rows of one page, copied out of it. Used again for every page.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    rows: Vec<(Tid, u32)>,
}

impl Batch {
    /// An empty one.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A row: its version's place and its bytes.
    pub fn row(&self, index: usize) -> (Tid, &[u8]) {
        let (tid, end) = self.rows[index];
        let start = index.checked_sub(1).map_or(0, |before| self.rows[before].1);
        (tid, &self.bytes[start as usize..end as usize])
    }

    /// The bytes of all rows, one after another, to be lent out and given back.
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// A row's place, and which of the bytes are its own.
    #[inline]
    pub fn place(&self, index: usize) -> (Tid, std::ops::Range<usize>) {
        let (tid, end) = self.rows[index];
        let start = index.checked_sub(1).map_or(0, |before| self.rows[before].1);
        (tid, start as usize..end as usize)
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = (Tid, &[u8])> {
        (0..self.len()).map(|index| self.row(index))
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    fn push(&mut self, tid: Tid, row: &[u8]) {
        self.bytes.extend_from_slice(row);
        self.rows.push((tid, self.bytes.len() as u32));
    }
}

impl Heap {
    /// Begins a scan of the whole heap. Errors: `58P01`.
    pub fn scan(&self) -> Result<Scan> {
        let end = self.blocks()?;
        self.scan_blocks(0, end)
    }

    /// Begins a scan of blocks `from..to`, as far as they are there. Errors: `58P01`.
    pub fn scan_blocks(&self, from: u32, to: u32) -> Result<Scan> {
        let end = self.blocks()?.min(to);
        let large = (end as u64).saturating_sub(from as u64) * LARGE_SHARE > self.relations.frames();
        Ok(Scan { rel: self.rel, next: from, end, ahead: from, large, ring: ScanRing::new() })
    }

    /// Visits the rows of the scan's next page that the reader sees, under the page's latch (rule 3 of [`super`]). False at the end.
    ///
    /// Errors: those of pinning; `57014`.
    pub fn visit_page(&self, scan: &mut Scan, reader: &Reader<'_>, mut visit: impl FnMut(Tid, &[u8])) -> Result<bool> {
        kernel::session::check_interrupts()?;
        let Some((block, pinned)) = self.pin_next(scan)? else { return Ok(false) };
        let page = pinned.read();
        let mut worth_pruning = false;
        if let Some(heap) = view(&page)? {
            let all_visible = heap.all_visible();
            for (slot, version) in heap.versions() {
                if all_visible || self.sees(&page, heap, slot, &version, reader) {
                    visit(Tid::new(block, slot), version.row());
                }
            }
            worth_pruning = self.is_worth_pruning(heap);
        }
        drop(page);
        drop(pinned);
        if worth_pruning {
            let _ = self.prune_in_passing(block);
        }
        Ok(true)
    }

    /// Copies the rows of the scan's next page that the reader sees into `batch`. False at the end.
    ///
    /// Errors: those of pinning; `57014`.
    pub fn next_page(&self, scan: &mut Scan, reader: &Reader<'_>, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        self.visit_page(scan, reader, |tid, row| batch.push(tid, row))
    }

    /// The scan's next page and its number; none at the end.
    pub(super) fn pin_next(&self, scan: &mut Scan) -> Result<Option<(u32, Pinned)>> {
        debug_assert_eq!(scan.rel, self.rel);
        if scan.next >= scan.end {
            return Ok(None);
        }
        let pool = self.relations.pool;
        let id = PageId { rel: self.rel, block: scan.next };
        scan.next += 1;
        if scan.large {
            return Ok(Some((id.block, pool.pin_scan(id, &mut scan.ring)?)));
        }
        if id.block >= scan.ahead && scan.end - id.block > 1 {
            let mut wanted = [id; AHEAD as usize];
            let count = (scan.end - id.block).min(AHEAD);
            for (step, page) in wanted.iter_mut().enumerate() {
                page.block += step as u32;
            }
            pool.prefetch(&wanted[..count as usize]);
            scan.ahead = id.block + count;
        }
        Ok(Some((id.block, pool.pin(id)?)))
    }
}
