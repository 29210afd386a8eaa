//! The vacuum of one table.
//!
//! Every page that may have something to give is pruned; roots of which nothing is left become dead slots, which are noted. When all
//! pages are done, or the list is as long as it may be, the entries of those rows are taken out of every index, and the slots
//! become unused. A table whose last pages are empty then is cut off, if nobody else uses it at the moment.
//!
//! A page is latched alone for a few microseconds at a time; between pages the vacuum looks for interrupts, and rests if it was told
//! to.

use crate::buffer::{self, ScanRing};
use crate::counter::FIRST_REL;
use crate::heap::Heap;
use crate::heap::prune::PRUNE_ROOM;
use crate::page::header::{self, PageType};
use crate::page::heap::{HeapPage, HeapPageMut, Roots, Slot};
use crate::page::{PageBytes, Tid, damaged};
use crate::relation::Relations;
use crate::relation::place::PageClass;
use crate::relation::row::Row;
use crate::txn::lock::{LockScope, LockWait};
use crate::txn::{Horizon, LockKey, LockMode, Snapshot};
use crate::wal::record::{HeapReclaim, RECORD_HEADER_BYTES};
use base::{PageId, RelId, Result, Xid, sqlstate};
use kernel::clock::{self, Nanos};
use kernel::wait::{self, Event, Woken};
use std::borrow::Cow;

/// The most that the record of slots that become unused takes.
const RECLAIM_ROOM: usize = RECORD_HEADER_BYTES + 64 + 2 * crate::page::heap::MAX_SLOTS;
/// Pages between two rests.
const REST_EVERY: u32 = 128;
/// Pages between two looks at who waits for the table.
const LOOK_EVERY: u32 = 16;
/// A table is cut off if so many pages at its end are empty, or so large a share of it.
const TAIL_MIN: u32 = 64;
const TAIL_SHARE: u32 = 16;

/// How a vacuum is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Bytes for the list of dead slots (`maintenance_work_mem`).
    pub memory: usize,
    /// How long to rest now and then, so that others come first; zero is never.
    pub rest_ns: Nanos,
    /// The lock of the table, to be taken for a moment in order to cut off empty pages at its end; none to leave them. The catalog's own
    /// tables, below [`FIRST_REL`], are never cut.
    pub cut: Option<LockKey>,
    /// It is one of the background: it ends early when somebody waits for the lock of the table, which [`Options::cut`] names.
    pub background: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { memory: 64 << 20, rest_ns: 0, cut: None, background: false }
    }
}

/// What a vacuum found and did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Pages that the table had.
    pub pages: u32,
    /// Pages at its end that were given back.
    pub cut: u32,
    /// Pages that were changed.
    pub changed: u32,
    /// Versions that were removed.
    pub removed: u64,
    /// Slots that may be used again.
    pub reclaimed: u64,
    /// Rows that stay, as far as everybody may see them.
    pub live: u64,
    /// Versions that were ended and stay, because somebody may see them.
    pub dead_left: u64,
    /// Index entries that were removed, in all indexes.
    pub entries: u64,
    /// Index pages that were deleted.
    pub index_pages: u32,
    /// How often the indexes were walked.
    pub walks: u32,
    /// It ended early, because somebody waits for the table.
    pub gave_way: bool,
    /// Transactions below this that aborted have left nothing.
    pub clean_below: Xid,
}

/// A vacuum under way.
struct Vacuum<'a> {
    relations: &'static Relations,
    heap: Heap,
    indexes: &'a [RelId],
    options: Options,
    horizon: Horizon,
    row: &'static Row,
    dead: Vec<Tid>,
    /// The oldest aborted transaction whose mark a version keeps.
    oldest_mark: Xid,
    report: Report,
}

impl Relations {
    /// Vacuums a table. The caller holds its lock ([`super`], rule 2) and names all of its indexes.
    ///
    /// Errors: `57014`, those of pinning; what was done until then stays done.
    pub fn vacuum(&'static self, heap: RelId, indexes: &[RelId], options: Options) -> Result<Report> {
        let horizon = self.transactions.renew_horizon();
        let mut vacuum = Vacuum {
            relations: self,
            heap: self.heap(heap),
            indexes,
            options,
            horizon,
            row: self.row(heap)?,
            dead: Vec::new(),
            oldest_mark: horizon.xid,
            report: Report { pages: self.blocks(heap)?, ..Report::default() },
        };
        vacuum.run()?;
        let report = vacuum.report;
        if report.gave_way {
            return Ok(report);
        }
        vacuum.row.vacuumed(report.live, report.dead_left, report.clean_below.0, clock::wall_us(), options.background);
        Ok(report)
    }

    /// Lets the transaction map forget aborted transactions of which no table has anything left. `heaps` are all tables that there
    /// are, as somebody has found out who had looked at the horizon before, which was `known`: a table that was made since has nothing of
    /// transactions below that. Answers how many of the map's segments went.
    pub fn purge_aborted(&self, heaps: &[RelId], known: Xid) -> Result<u32> {
        let mut clean_below = self.transactions.horizon_cached().xid.min(known);
        for &heap in heaps {
            clean_below = clean_below.min(self.clean_below(heap)?);
        }
        // A database without a table is one whose catalog could not be read.
        Ok(if heaps.is_empty() { 0 } else { self.transactions.forget_aborted(clean_below) })
    }

    /// Aborted transactions below this have left nothing in a table; nobody has in one that is gone.
    pub(super) fn clean_below(&self, heap: RelId) -> Result<Xid> {
        match self.row(heap) {
            Ok(row) => Ok(Xid(row.clean_below())),
            Err(error) if error.sqlstate() == sqlstate::UNDEFINED_FILE => Ok(Xid(u64::MAX)),
            Err(error) => Err(error),
        }
    }
}

fn heap_page(page: &PageBytes) -> Result<Option<HeapPage<'_>>> {
    match header::page_type(page) {
        Some(PageType::Heap) => Ok(Some(HeapPage::new(page))),
        None => Ok(None),
        Some(PageType::Btree) => Err(damaged(page, format_args!("a page of an index lies in a table"))),
    }
}

fn has_dead_slots(heap: HeapPage<'_>) -> bool {
    (0..heap.slot_count()).any(|slot| matches!(heap.slot(slot), Slot::Dead))
}

impl Vacuum<'_> {
    fn run(&mut self) -> Result<()> {
        let mut ring = ScanRing::new();
        for block in 0..self.report.pages {
            self.rest(block)?;
            if self.is_in_the_way(block) {
                self.report.gave_way = true;
                return Ok(());
            }
            self.do_page(block, &mut ring)?;
            if self.dead.len() * size_of::<Tid>() >= self.options.memory.max(size_of::<Tid>()) {
                self.reclaim_dead(&mut ring)?;
            }
        }
        self.reclaim_dead(&mut ring)?;
        self.relations.all_seen(self.row);
        self.report.clean_below = self.oldest_mark;
        self.cut_tail()
    }

    /// Looks for interrupts, and rests now and then.
    fn rest(&self, block: u32) -> Result<()> {
        if self.options.rest_ns > 0 && block > 0 && block.is_multiple_of(REST_EVERY) {
            let until = clock::now() + self.options.rest_ns;
            while clock::now() < until {
                if let Woken::Interrupted(interrupt) = wait::wait(Event::VacuumDelay, 0, Some(until)) {
                    return Err(kernel::session::interrupt_error(interrupt));
                }
            }
        }
        kernel::session::check_interrupts()
    }

    /// Does somebody wait for the table, who would not be waiting without this vacuum?
    fn is_in_the_way(&self, block: u32) -> bool {
        let looks = self.options.background && block.is_multiple_of(LOOK_EVERY);
        looks && self.options.cut.is_some_and(|key| self.relations.transactions.is_wanted(key))
    }

    fn do_page(&mut self, block: u32, ring: &mut ScanRing) -> Result<()> {
        let id = PageId { rel: self.heap.rel(), block };
        self.relations.make_sight(self.row, block);
        let looked = {
            let pinned = self.relations.pool.pin_scan(id, ring)?;
            let page = pinned.read();
            match heap_page(&page)? {
                None => Some((PageClass::of(&page), 0)),
                Some(heap) if heap.slot_count() == 0 => Some((PageClass::of(&page), 0)),
                Some(heap) if heap.all_visible() => {
                    self.relations.set_seen(self.row, block);
                    Some((PageClass::of(&page), heap.versions().count() as u64))
                }
                Some(_) => None,
            }
        };
        if let Some((class, live)) = looked {
            // Nothing is dead here.
            self.report.live += live;
            self.relations.note_room(self.row, block, class);
            return Ok(());
        }
        self.prune_page(id, ring)
    }

    fn prune_page(&mut self, id: PageId, ring: &mut ScanRing) -> Result<()> {
        let mut room = self.relations.wal.reserve(PRUNE_ROOM + RECLAIM_ROOM)?;
        let pinned = self.relations.pool.pin_scan(id, ring)?;
        let mut page = pinned.write();
        let roots = if self.indexes.is_empty() { Roots::Forgotten } else { Roots::Indexed };
        let oldest = &mut self.oldest_mark;
        let mut kept = |xid: Xid| *oldest = (*oldest).min(xid);
        let pruned = self.heap.prune_latched(&mut page, &mut room, self.horizon, roots, &mut kept)?;
        self.report.removed += pruned.versions;
        self.report.changed += pruned.changed as u32;
        self.count_versions(&page)?;
        self.set_hints(page.volatile());
        let Some(heap) = heap_page(&page)? else { return Ok(()) };
        let dead = (0..heap.slot_count()).filter(|&slot| matches!(heap.slot(slot), Slot::Dead));
        let dead: Vec<u16> = dead.collect();
        if dead.is_empty() {
            let class = PageClass::of(&page);
            drop(page);
            self.relations.note_room(self.row, id.block, class);
            return Ok(());
        }
        if self.indexes.is_empty() {
            // Left by who pruned in passing and did not know that there are no indexes.
            self.report.reclaimed += dead.len() as u64;
            let record = HeapReclaim { page: id, slots: Cow::Owned(dead) };
            buffer::log(&mut room, Xid(0), 0, &record, [&mut page], |[bytes]| record.apply(bytes))?;
            let class = PageClass::of(&page);
            drop(page);
            self.relations.note_room(self.row, id.block, class);
            return Ok(());
        }
        self.dead.extend(dead.into_iter().map(|slot| Tid::new(id.block, slot)));
        Ok(())
    }

    fn count_versions(&mut self, page: &PageBytes) -> Result<()> {
        let snapshot = Snapshot::at(self.horizon.lsn);
        let Some(heap) = heap_page(page)? else { return Ok(()) };
        for (_, version) in heap.versions() {
            let ended = version.xmax().0 != 0;
            if self.relations.transactions.visible(&version, &snapshot, &[]).visible {
                self.report.live += 1;
            }
            self.report.dead_left += ended as u64;
        }
        Ok(())
    }

    /// Notes in versions what became of their transactions, where that is before the horizon.
    fn set_hints(&self, page: &mut PageBytes) {
        let snapshot = Snapshot::at(self.horizon.lsn);
        let hints: Vec<(u16, u16)> = HeapPage::new(page)
            .versions()
            .map(|(slot, version)| (slot, self.relations.transactions.visible(&version, &snapshot, &[]).hints))
            .filter(|(_, hints)| *hints != 0)
            .collect();
        let mut heap = HeapPageMut::new(page);
        for (slot, hints) in hints {
            // A slot that was normal under the same latch takes hints.
            let _ = heap.set_hints(slot, hints);
        }
    }

    /// Takes the entries of dead slots out of the indexes, and makes the slots unused.
    fn reclaim_dead(&mut self, ring: &mut ScanRing) -> Result<()> {
        if self.dead.is_empty() {
            return Ok(());
        }
        let dead = std::mem::take(&mut self.dead);
        self.report.walks += 1;
        for &index in self.indexes {
            let removed = self.relations.btree(index).remove(&dead)?;
            self.report.entries += removed.entries;
            self.report.index_pages += removed.deleted;
        }
        self.row.say_entries_gone();
        kernel::fault::point("vacuum.indexes_done");
        for slots in dead.chunk_by(|a, b| a.block == b.block) {
            kernel::session::check_interrupts()?;
            self.reclaim_on(slots, ring)?;
        }
        Ok(())
    }

    fn reclaim_on(&mut self, dead: &[Tid], ring: &mut ScanRing) -> Result<()> {
        let id = PageId { rel: self.heap.rel(), block: dead[0].block };
        let mut room = self.relations.wal.reserve(RECLAIM_ROOM + PRUNE_ROOM)?;
        let pinned = self.relations.pool.pin_scan(id, ring)?;
        let mut page = pinned.write();
        let Some(heap) = heap_page(&page)? else { return Ok(()) };
        let slots: Vec<u16> =
            dead.iter().map(|tid| tid.slot).filter(|&slot| matches!(heap.slot(slot), Slot::Dead)).collect();
        self.report.reclaimed += slots.len() as u64;
        let record = HeapReclaim { page: id, slots: Cow::Owned(slots) };
        buffer::log(&mut room, Xid(0), 0, &record, [&mut page], |[bytes]| record.apply(bytes))?;
        self.report.changed += 1;
        if heap_page(&page)?.is_some_and(|heap| !has_dead_slots(heap) && heap.slot_count() > 0) {
            // Without dead slots the page may be all visible now.
            self.heap.prune_latched(&mut page, &mut room, self.horizon, Roots::Indexed, &mut |_| ())?;
        }
        let class = PageClass::of(&page);
        drop(page);
        self.relations.note_room(self.row, id.block, class);
        Ok(())
    }

    /// Gives empty pages at the table's end back, if it pays and nobody uses the table.
    fn cut_tail(&mut self) -> Result<()> {
        let Some(key) = self.options.cut else { return Ok(()) };
        // Definitions are read and written by everybody, without a lock of the catalog's own tables.
        if self.heap.rel().0 < FIRST_REL {
            return Ok(());
        }
        let blocks = self.relations.blocks(self.heap.rel())?;
        let worth = |tail: u32| tail >= TAIL_MIN || (tail > 0 && tail >= blocks / TAIL_SHARE);
        // The pages that were pruned to nothing are found by looking; this is only how many there are at most.
        if !worth(self.empty_tail(blocks, self.guess_floor(blocks))?) {
            return Ok(());
        }
        if !self.relations.transactions.lock(key, LockMode::AccessExclusive, LockScope::Session, LockWait::Never)? {
            return Ok(());
        }
        let cut = self.cut_locked();
        self.relations.transactions.unlock(key, LockMode::AccessExclusive);
        cut
    }

    /// Cuts what is empty by now: somebody may have used it before the lock was held.
    fn cut_locked(&mut self) -> Result<()> {
        let rel = self.heap.rel();
        let blocks = self.relations.blocks(rel)?;
        let tail = self.empty_tail(blocks, 0)?;
        if tail > 0 {
            self.relations.cut_off(rel, blocks - tail)?;
            self.report.cut = tail;
        }
        Ok(())
    }

    /// No page before this one need be looked at to know whether it pays.
    fn guess_floor(&self, blocks: u32) -> u32 {
        blocks - blocks.min((blocks / TAIL_SHARE).max(TAIL_MIN) + 1)
    }

    /// How many pages from `floor` on are empty at the table's end.
    fn empty_tail(&self, blocks: u32, floor: u32) -> Result<u32> {
        let mut end = blocks;
        while end > floor {
            kernel::session::check_interrupts()?;
            let pinned = self.relations.pool.pin(PageId { rel: self.heap.rel(), block: end - 1 })?;
            let page = pinned.read();
            if heap_page(&page)?.is_some_and(|heap| heap.slot_count() > 0) {
                break;
            }
            end -= 1;
        }
        Ok(blocks - end)
    }
}
