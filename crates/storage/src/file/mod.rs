//! Relations' files: how many pages each has, making them longer, making and removing them.
//!
//! A relation's storage is one file of pages; its number is the file's name. What sessions share of it is one row of a table in
//! the region: how many blocks it has and how many its file has room for. The row is made at the first use and stays until the
//! relation is dropped.
//!
//! ```text
//!   0 .................. blocks ................ allocated
//!   | pages, some new    | room that the file has |
//! ```
//!
//! Rules
//! 1. `blocks` only grows while the relation is in use; it shrinks by a truncation, whose caller keeps everybody else out with
//!    a lock.
//! 2. A block number is given out once. Its page is *new* (zeros) until somebody formats it; a crash may leave new pages
//!    anywhere, so readers skip them and writers may use them.
//! 3. The file grows in steps, ahead of need. After a crash a file may be longer than anybody knew; the new pages at its end
//!    are room, not pages, so that crashes do not make files longer and longer ([`Files::open`]).
//! 4. Numbers of storages are never used again ([`crate::counter`]), so a name that was dropped means nothing any more.
//!
//! What this does not do: log (the caller does), keep pages ([`crate::buffer`]), know where free space is.

use crate::page::{PAGE_SIZE, raw};
use base::{Error, PageId, RelId, Result, sqlstate};
use kernel::io::{self, FileName, Kind, Pages};
use kernel::region;
use kernel::region::heap::Owner;
use kernel::sync::{Latch, Mode, Spin};
use kernel::wait::Event;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// The most relations that can be in use between two starts of the server.
pub const RELATIONS_MAX: usize = 1 << 16;
/// Slots of the hash over the rows, so that it is at most half full.
const SLOTS: usize = 2 * RELATIONS_MAX;
/// A file grows by an eighth, but by at least, and at most, so many blocks.
const GROWTH_MIN: u32 = 16;
const GROWTH_MAX: u32 = 2048;
/// The most blocks that a relation can have: the last number means "none".
const BLOCKS_MAX: u32 = u32::MAX - 1;
/// Bytes that are read at once to find the last page that is not new.
const LOOK_BYTES: usize = 256 << 10;
/// Words that the layers above may keep beside a relation's row: hints, gone with the server.
pub const HINTS: usize = 6;

kernel::shared! {
    /// A relation's row.
    pub struct Relation {
        rel: AtomicU32,
        blocks: AtomicU32,
        allocated: AtomicU32,
        /// One if pages were written and the file was not flushed since. See [`crate::double_write`].
        pub(crate) unflushed: AtomicU32,
        latch: Latch,
        hints: [AtomicU64; HINTS],
    }

    /// Which rows are free: those that were, in a list, and those that never were used.
    struct FreeRows {
        /// A row's index counted from one; the next one is in its `blocks`.
        head: u32,
        used: u32,
    }

    struct FilesShared {
        free: Spin<FreeRows>,
        /// No row at or above this one was ever used.
        reached: AtomicU32,
        extensions: AtomicU64,
    }
}

/// All relations' files; a value of references into the region.
#[derive(Clone, Copy)]
pub struct Files {
    shared: &'static FilesShared,
    rows: &'static [Relation],
    /// By a hash of the relation: a row's index counted from one.
    hash: &'static [AtomicU32],
}

/// The file of a relation's pages.
pub fn name(rel: RelId) -> FileName {
    FileName::data(rel.0 as u64)
}

/// Where a page lies in its file.
pub fn offset(page: PageId) -> u64 {
    page.block as u64 * PAGE_SIZE as u64
}

impl Relation {
    /// The relation's storage.
    pub fn rel(&self) -> RelId {
        RelId(self.rel.load(Relaxed))
    }

    /// How many blocks the relation has.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.blocks.load(Acquire)
    }

    /// Words for the layers above: zero after a start. Nothing may depend on them.
    pub fn hints(&self) -> &[AtomicU64; HINTS] {
        &self.hints
    }
}

impl Files {
    /// Takes the table. Before the first engine.
    pub fn make() -> Files {
        Files {
            shared: region::single("relation files"),
            rows: region::table("relations", RELATIONS_MAX),
            hash: region::table("relations hash", SLOTS),
        }
    }

    fn home(rel: u32) -> usize {
        (rel.wrapping_mul(0x9E37_79B1) >> 8) as usize % SLOTS
    }

    fn slots(rel: RelId) -> impl Iterator<Item = usize> {
        let home = Files::home(rel.0);
        (0..SLOTS).map(move |step| (home + step) % SLOTS)
    }

    /// The relation's row, if it has one. Takes no lock, and may miss a row while another relation is being dropped.
    #[inline]
    pub fn find(&self, rel: RelId) -> Option<&'static Relation> {
        self.find_slot(rel).map(|(_, row)| row)
    }

    #[inline]
    fn find_slot(&self, rel: RelId) -> Option<(usize, &'static Relation)> {
        debug_assert_ne!(rel.0, 0);
        for slot in Files::slots(rel) {
            // Acquire pairs with the Release in `add`: the row is there.
            match self.hash[slot].load(Acquire) {
                0 => return None,
                row => {
                    let row = &self.rows[row as usize - 1];
                    if row.rel.load(Acquire) == rel.0 {
                        return Some((slot, row));
                    }
                }
            }
        }
        None
    }

    /// The relation's row; looks at the file at the first use since the start.
    ///
    /// Errors: `58P01` if there is no such file.
    pub fn open(&self, rel: RelId) -> Result<&'static Relation> {
        if let Some(row) = self.find(rel) {
            return Ok(row);
        }
        let Some(bytes) = io::size(name(rel))? else {
            return Err(Error::statement(sqlstate::UNDEFINED_FILE, format!("the file of relation {rel} is missing"))
                .detail(format!("\"{}\" is not there.", name(rel))));
        };
        let allocated = (bytes / PAGE_SIZE as u64).min(BLOCKS_MAX as u64) as u32;
        let blocks = last_written(rel, allocated)?;
        self.add(rel, blocks, allocated)
    }

    fn add(&self, rel: RelId, blocks: u32, allocated: u32) -> Result<&'static Relation> {
        let mut free = self.shared.free.lock();
        if let Some(row) = self.find(rel) {
            // Another session was faster. What it knows is newer than what this one has read.
            return Ok(row);
        }
        let reached = self.shared.reached.load(Relaxed);
        let index = match free.head {
            0 if (reached as usize) < RELATIONS_MAX => {
                self.shared.reached.store(reached + 1, Release);
                reached
            }
            0 => {
                return Err(Error::statement(sqlstate::CONFIGURATION_LIMIT_EXCEEDED, "too many relations are in use")
                    .detail(format!("There can be {RELATIONS_MAX}.")));
            }
            head => {
                free.head = self.rows[head as usize - 1].blocks.load(Relaxed);
                head - 1
            }
        };
        free.used += 1;
        let row = &self.rows[index as usize];
        row.blocks.store(blocks, Relaxed);
        row.allocated.store(allocated, Relaxed);
        row.unflushed.store(0, Relaxed);
        row.hints.iter().for_each(|hint| hint.store(0, Relaxed));
        row.rel.store(rel.0, Release);
        let slot = Files::slots(rel).find(|&slot| self.hash[slot].load(Relaxed) == 0);
        self.hash[slot.expect("the hash is twice as large as the table")].store(index + 1, Release);
        Ok(row)
    }

    /// Forgets the row of a relation that is gone.
    fn take_out(&self, rel: RelId) {
        let mut free = self.shared.free.lock();
        let Some((slot, row)) = self.find_slot(rel) else { return };
        let index = self.hash[slot].load(Relaxed);
        self.empty(slot);
        row.rel.store(0, Release);
        row.blocks.store(free.head, Relaxed);
        free.head = index;
        free.used -= 1;
    }

    /// Empties a slot of the hash, and moves up what would not be found behind it. Under the spinlock.
    fn empty(&self, slot: usize) {
        let mut hole = slot;
        for step in 1..SLOTS {
            let at = (slot + step) % SLOTS;
            let index = self.hash[at].load(Relaxed);
            if index == 0 {
                break;
            }
            let home = Files::home(self.rows[index as usize - 1].rel.load(Relaxed));
            // It may move if its home is not between the hole and itself.
            if (at + SLOTS - home) % SLOTS >= (at + SLOTS - hole) % SLOTS {
                self.hash[hole].store(index, Release);
                hole = at;
            }
        }
        self.hash[hole].store(0, Release);
    }

    /// Notes that something was written to a relation's file which a flush has to make durable.
    pub(crate) fn mark_unflushed(&self, rel: RelId) {
        let _free = self.shared.free.lock();
        if let Some(row) = self.find(rel) {
            mark_unflushed(row);
        }
    }

    /// How many blocks a relation has. Errors: those of [`Files::open`].
    pub fn blocks(&self, rel: RelId) -> Result<u32> {
        Ok(self.open(rel)?.blocks())
    }

    /// Makes a relation's file, without pages. What an earlier crash may have left under the name is removed.
    pub fn create(&self, rel: RelId) -> Result<()> {
        if io::exists(name(rel))? {
            io::remove(name(rel))?;
        }
        io::create(name(rel), 0)?;
        if let Err(error) = io::sync_directory(Kind::Data) {
            // Nobody is told of the file, so nobody would remove it.
            let _ = io::remove(name(rel));
            return Err(error);
        }
        self.take_out(rel);
        self.add(rel, 0, 0).map(drop)
    }

    /// Removes a relation's file, if it is there. Its pages have left the buffer pool.
    pub fn remove(&self, rel: RelId) -> Result<()> {
        self.take_out(rel);
        io::remove(name(rel))?;
        Ok(())
    }

    /// Takes the next `count` block numbers of a relation; answers the first one. The pages are new. May wait for the file to
    /// grow.
    ///
    /// Errors: `53100`; `54000` when the relation has all the blocks that it can have.
    pub fn extend(&self, rel: RelId, count: u32) -> Result<u32> {
        let row = self.open(rel)?;
        let _latch = row.latch.lock(Mode::Exclusive, Event::RelationLatch);
        let first = row.blocks.load(Relaxed);
        let Some(blocks) = first.checked_add(count).filter(|&blocks| blocks <= BLOCKS_MAX) else {
            return Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, format!("relation {rel} is full"))
                .detail(format!("It has {first} blocks.")));
        };
        self.grow_to(row, rel, blocks)?;
        row.blocks.store(blocks, Release);
        Ok(first)
    }

    /// Sees to it that the file has room for `blocks` blocks. Under the relation's latch.
    fn grow_to(&self, row: &Relation, rel: RelId, blocks: u32) -> Result<()> {
        let allocated = row.allocated.load(Relaxed);
        if blocks <= allocated {
            return Ok(());
        }
        self.shared.extensions.fetch_add(1, Relaxed);
        let ahead = (allocated / 8).clamp(GROWTH_MIN, GROWTH_MAX);
        let wanted = blocks.max(allocated.saturating_add(ahead)).min(BLOCKS_MAX);
        let grown = match io::allocate(name(rel), wanted as u64 * PAGE_SIZE as u64) {
            Ok(()) => wanted,
            // A disk that is nearly full may have room for what is really needed.
            Err(_) if wanted > blocks => {
                io::allocate(name(rel), blocks as u64 * PAGE_SIZE as u64)?;
                blocks
            }
            Err(error) => return Err(error),
        };
        row.allocated.store(grown, Relaxed);
        // The new size has to survive like what is written there.
        mark_unflushed(row);
        Ok(())
    }

    /// Recovery's: the relation has at least the blocks up to `block`.
    pub(crate) fn restore_block(&self, rel: RelId, block: u32) -> Result<()> {
        let row = self.open(rel)?;
        if block < row.blocks() {
            return Ok(());
        }
        let _latch = row.latch.lock(Mode::Exclusive, Event::RelationLatch);
        self.grow_to(row, rel, block + 1)?;
        row.blocks.fetch_max(block + 1, AcqRel);
        Ok(())
    }

    /// Cuts a relation off behind its first `blocks` blocks. The other pages have left the buffer pool, and a lock keeps
    /// everybody out.
    pub fn truncate(&self, rel: RelId, blocks: u32) -> Result<()> {
        let row = self.open(rel)?;
        let _latch = row.latch.lock(Mode::Exclusive, Event::RelationLatch);
        if blocks < row.blocks.load(Relaxed) {
            row.blocks.store(blocks, Release);
        }
        if blocks < row.allocated.load(Relaxed) {
            io::truncate(name(rel), blocks as u64 * PAGE_SIZE as u64)?;
            row.allocated.store(blocks, Relaxed);
            mark_unflushed(row);
        }
        Ok(())
    }

    /// Every relation that has a row.
    pub fn relations(&self) -> impl Iterator<Item = &'static Relation> {
        let reached = self.shared.reached.load(Acquire) as usize;
        self.rows[..reached].iter().filter(|row| row.rel.load(Acquire) != 0)
    }

    /// How many relations have a row.
    pub fn used(&self) -> u32 {
        self.shared.free.lock().used
    }
}

fn mark_unflushed(row: &Relation) {
    row.unflushed.store(1, Release);
}

/// Behind the last of a file's `allocated` pages that is not new.
fn last_written(rel: RelId, allocated: u32) -> Result<u32> {
    if allocated == 0 {
        return Ok(0);
    }
    let mut pages = Pages::new(Owner::WorkMemory, LOOK_BYTES)?;
    let per_look = (LOOK_BYTES / PAGE_SIZE) as u32;
    let mut end = allocated;
    while end > 0 {
        let first = end.saturating_sub(per_look);
        let bytes = (end - first) as usize * PAGE_SIZE;
        let at = offset(PageId { rel, block: first });
        let got = pages.read(Event::DataFileReadDirect, name(rel), at, bytes)?;
        let (found, _) = pages[..got].as_chunks::<PAGE_SIZE>();
        if let Some(last) = found.iter().rposition(|page| !raw::is_zero(page, 0, PAGE_SIZE)) {
            return Ok(first + last as u32 + 1);
        }
        end = first;
    }
    Ok(0)
}
