//! New rows: one at a time, or many (`COPY`), a page's worth in one log record.
//!
//! Pages that a bulk load fills keep room for their *upkeep*, if the rows are small: for one more version, without which the first update
//! of every page would go to another page and into every index; and for a slot more a row, because a row that was updated has two, the
//! one that indexes know and the version's. A table of rows of a hundred bytes is one in twenty larger for it at first, and stays as large
//! as it is when it is updated; without, it would grow to the same size.

use super::{Heap, view};
use crate::buffer::{self, PageMut};
use crate::page::heap::{HEAP_HEADER_BYTES, HeapPageMut, MAX_SLOTS, SLOT_BYTES, check_row_size, footprint};
use crate::page::{PAGE_SIZE, Tid};
use crate::relation::Bulk;
use crate::relation::counts::Changed;
use crate::relation::place::PageClass;
use crate::wal::record::{HeapInsert, HeapMultiInsert, RECORD_HEADER_BYTES, RECORD_INIT};
use crate::wal::space::record_bytes;
use base::{PageId, Result, Xid};

/// Rows that take up to this part of a page are small.
const SMALL_SHARE: usize = 16;

/// The most that the record of a page full of new rows takes.
const BULK_ROOM: usize = PAGE_SIZE + 4 * MAX_SLOTS + RECORD_HEADER_BYTES + 64;

impl Heap {
    /// Puts a row into the heap, made by the running transaction in that command. The caller enters it into every index.
    ///
    /// Errors: `54000` (the row is too long), `53100`, `53200`, those of pinning.
    pub fn insert(&self, command: u32, row: &[u8]) -> Result<Tid> {
        check_row_size(row.len())?;
        let xid = self.relations.transactions.xid()?;
        let record = HeapInsert { page: PageId { rel: self.rel, block: 0 }, slot: 0, row };
        let mut room = self.relations.wal.reserve(record_bytes(&record))?;
        let mut search = self.relations.search(self.rel, row.len(), self.reserve as usize, None)?;
        let mut grows = false;
        loop {
            let pinned = match self.relations.place(&mut search)? {
                Some(pinned) => pinned,
                None if grows => self.relations.grow(&search)?,
                None => {
                    // With the room in hand nobody may ask for more.
                    drop(room);
                    self.prune_some()?;
                    grows = true;
                    room = self.relations.wal.reserve(record_bytes(&record))?;
                    search = self.relations.search(self.rel, row.len(), self.reserve as usize, None)?;
                    continue;
                }
            };
            let id = pinned.id();
            let mut page = pinned.write();
            let fresh = view(&page)?.is_none();
            if !fresh && !self.has_room(&page, row.len())? {
                let class = PageClass::of(&page);
                drop(page);
                search.refuse(self.relations, id.block, class);
                continue;
            }
            let slot = vacant_slot(&page)?;
            let record = HeapInsert { page: id, slot, row };
            let flags = if fresh { RECORD_INIT } else { 0 };
            self.unsee(&page)?;
            buffer::log(&mut room, xid, flags, &record, [&mut page], |[bytes]| record.apply(xid, fresh, bytes))?;
            HeapPageMut::new(page.volatile()).set_command(slot, command, false)?;
            drop(page);
            search.accept(id.block);
            self.relations.changed(self.rel, Changed { inserted: 1, ..Changed::default() })?;
            return Ok(Tid::new(id.block, slot));
        }
    }

    /// Puts many rows into the heap, filling pages of `bulk` in order; their places are added to `tids`. [`Heap::end_bulk`] ends the
    /// load.
    ///
    /// Errors: as [`Heap::insert`]; rows before the one that could not be put are there.
    pub fn insert_many(&self, bulk: &mut Bulk, command: u32, rows: &[&[u8]], tids: &mut Vec<Tid>) -> Result<()> {
        rows.iter().try_for_each(|row| check_row_size(row.len()))?;
        let xid = self.relations.transactions.xid()?;
        let mut rest = rows;
        while !rest.is_empty() {
            kernel::session::check_interrupts()?;
            let mut room = self.relations.wal.reserve(BULK_ROOM)?;
            let pinned = self.relations.place_bulk(self.rel, bulk)?;
            let id = pinned.id();
            let mut page = pinned.write();
            let fresh = view(&page)?.is_none();
            let placed = self.rows_that_fit(&page, fresh, rest)?;
            if placed.is_empty() {
                bulk.page_is_full();
                continue;
            }
            rest = &rest[placed.len()..];
            tids.extend(placed.iter().map(|&(slot, _)| Tid::new(id.block, slot)));
            self.put_rows(&mut page, &mut room, xid, command, fresh, placed)?;
        }
        self.relations.changed(self.rel, Changed { inserted: rows.len() as u64, ..Changed::default() })?;
        Ok(())
    }

    /// Ends a bulk load: others may use what is left of its pages.
    pub fn end_bulk(&self, bulk: &mut Bulk) -> Result<()> {
        self.relations.end_bulk(self.rel, bulk)
    }

    fn put_rows(
        &self,
        page: &mut PageMut<'_>,
        room: &mut crate::wal::Room,
        xid: Xid,
        command: u32,
        fresh: bool,
        rows: Vec<(u16, &[u8])>,
    ) -> Result<()> {
        let record = HeapMultiInsert { page: page.id(), rows };
        let flags = if fresh { RECORD_INIT } else { 0 };
        self.unsee(page)?;
        buffer::log(room, xid, flags, &record, [page], |[bytes]| record.apply(xid, fresh, bytes))?;
        let mut heap = HeapPageMut::new(page.volatile());
        record.rows.iter().try_for_each(|&(slot, _)| heap.set_command(slot, command, false))
    }

    /// As many of the rows as the page takes, each with the slot that it gets: slots that were used before, then new ones.
    fn rows_that_fit<'r>(&self, page: &PageMut<'_>, fresh: bool, rows: &[&'r [u8]]) -> Result<Vec<(u16, &'r [u8])>> {
        let heap = view(page)?;
        let (count, mut hole) = match heap {
            Some(heap) => (heap.slot_count(), heap.hole()),
            None => (0, PAGE_SIZE - HEAP_HEADER_BYTES),
        };
        // What the rows that are there need beside the new ones: as many second slots.
        let mut upkeep = heap.map_or(0, |heap| SLOT_BYTES * heap.versions().count());
        let is_vacant =
            |slot: &u16| heap.is_some_and(|heap| matches!(heap.slot(*slot), crate::page::heap::Slot::Unused));
        let reused = (0..count).filter(is_vacant).map(|slot| (slot, 0));
        let slots = reused.chain((count..MAX_SLOTS as u16).map(|slot| (slot, SLOT_BYTES)));
        let mut placed = Vec::new();
        for (row, (slot, slot_bytes)) in rows.iter().zip(slots) {
            let need = footprint(row.len()) + slot_bytes;
            let is_small = need <= PAGE_SIZE / SMALL_SHARE;
            upkeep += SLOT_BYTES;
            let kept = if is_small { upkeep + need + SLOT_BYTES } else { 0 };
            // A row that is alone on its page may use all of it.
            let reserve = if fresh && placed.is_empty() { 0 } else { kept.max(self.reserve as usize) };
            if need + reserve > hole {
                break;
            }
            hole -= need;
            placed.push((slot, *row));
        }
        Ok(placed)
    }

    /// True if the page takes a row and keeps its reserve; an empty page takes any row.
    pub(super) fn has_room(&self, page: &PageMut<'_>, row_bytes: usize) -> Result<bool> {
        Ok(view(page)?.is_some_and(|heap| {
            let reserve = if heap.slot_count() == 0 { 0 } else { self.reserve as usize };
            heap.fits(row_bytes, reserve)
        }))
    }
}

/// The slot that a page's next row goes to. The page has room, or is new.
fn vacant_slot(page: &PageMut<'_>) -> Result<u16> {
    match view(page)? {
        None => Ok(0),
        Some(heap) => heap.vacant_slot().ok_or_else(|| {
            crate::page::misfit(page, format_args!("it was found to have room, and all slots are taken"))
        }),
    }
}
