//! The buffer pool: pages in frames of the region, shared by all sessions.
//!
//! | file | what it is |
//! |---|---|
//! | [`descriptor`] | a frame's state word, page and dirt |
//! | [`table`](mod@table) | which frame has which page |
//! | [`pins`] | who keeps which page in its frame |
//! | [`guard`] | a pinned page, and the latch on it: [`Pinned`], [`PageRef`], [`PageMut`] |
//! | [`change`] | one logged change of pages |
//! | [`fill`] | pages read in: by whoever needs them, awaited by all, complete without anybody |
//! | `ahead` | what will be read soon is asked for from memory |
//! | [`replace`](mod@replace) | which frame is used again: fresh ones, a scan's own, the clock |
//! | [`clean`] | dirty pages chosen to be written; the cleaner |
//!
//! ```text
//!                     pin: table, replace                fill                     complete
//!   (no page) --------------------------> TAGGED ----------------> TAGGED+FILLING ---------> TAGGED+VALID
//!       ^                                                                                      |     ^
//!       |  evict: no pin, no latch, clean                                change: DIRTY         v     | written
//!       \----------------------------------------------------------------------------- TAGGED+VALID+DIRTY
//! ```
//!
//! Rules
//! 1. A page stays in its frame while it is pinned, or latched: a frame is evicted under its latch held alone, for the moment, and only
//!    if that needs no wait. So who has latched a frame and finds that it has the page may read it without a pin. A session has at most
//!    [`pins::HELD_MAX`] pins.
//! 2. A frame's bytes are read under its latch, changed under its latch held alone and a pin ([`guard`]).
//! 3. A change is marked, made and logged inside one critical section ([`change::log`]). The mark comes first, with a position
//!    at or before the record's, so that a checkpoint that sees no mark may take the record to be after it.
//! 4. A dirty page is written only when the log is durable up to its LSN, from a copy that was made under its latch, through the
//!    double-write area ([`crate::double_write`]).
//! 5. A read in flight completes without its issuer. Who finds a page being read waits for the completion; who finds that it
//!    failed reads again, and it is that second one's error that its session gets.
//! 6. Memory for frames is taken in steps as the pool fills; a pool that the system refuses to let grow works with what it has.
//!
//! One hit: look in the table without a lock, note the pin, raise the pin count in the state word (which fails if the frame is
//! being evicted), see that the frame still has the page. To read it once, no pin is needed: latch the frame that the table names and see
//! that it has the page. One miss: take a frame, enter it in the table under the partition's spinlock, issue the read, wait.
//!
//! What this does not do: know what is in a page beyond its header; decide which pages are wanted ahead.

mod ahead;
pub mod change;
pub mod clean;
pub mod descriptor;
pub mod fill;
pub mod guard;
pub mod pins;
pub mod replace;
pub mod table;

pub use change::log;
pub use guard::{PageMut, PageRef, Pinned};
pub use replace::ScanRing;

use crate::double_write::DoubleWrite;
use crate::file::{self, Files};
use crate::page::PAGE_SIZE;
use crate::wal::Wal;
use base::{Lsn, PageId, RelId, Result};
use descriptor::Descriptor;
use kernel::region;
use kernel::region::frames::{FRAME_BYTES, Frames};
use kernel::region::huge;
use kernel::region::reserve::Reserve;
use kernel::sync::{Spin, SpinName, WaitList};
use pins::Notes;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use table::Partition;

const _: () = assert!(FRAME_BYTES == PAGE_SIZE);

/// The smallest pool, in frames: enough for a few sessions that hold what one may hold.
pub const FRAMES_MIN: usize = 128;
// A smaller one would be made of small pages also where huge ones are demanded (`Reserve::make_huge`), and the server would start.
const _: () = assert!(FRAMES_MIN * PAGE_SIZE >= huge::PIECE / 2);

kernel::shared! {
    struct PoolShared {
        /// The clock's hand: counts frames looked at.
        hand: AtomicU64,
        /// Frames at or above this one were never used.
        fresh: AtomicU64,
        /// Frames at or above this one cannot be had: the system refused their memory. Zero is no limit.
        refused: AtomicU64,
        /// The cleaner's session, counted from one; zero if there is none.
        cleaner: AtomicU32,
        /// Sessions that wait for a clean frame. Whoever dies leaves the list, so it is the list that is asked, not a count.
        cleaned: WaitList,
        reads: AtomicU64,
        read_failures: AtomicU64,
        evictions: AtomicU64,
        written: AtomicU64,
        starved: AtomicU64,
    }
}

/// The buffer pool; a value of references into the region.
pub struct Pool {
    frames: Frames<Descriptor>,
    buckets: &'static [AtomicU32],
    partitions: &'static [Spin<Partition>],
    shared: &'static PoolShared,
    notes: &'static [Notes],
    wal: Wal,
    files: Files,
    double_write: DoubleWrite,
}

/// Counts for views.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolUsage {
    /// Frames that there is address space for.
    pub frames: u64,
    /// Frames that have been used.
    pub used: u64,
    /// Bytes of memory behind them.
    pub backed_bytes: u64,
    /// Pages that are dirty now.
    pub dirty: u64,
    /// Pins and latches that found their page.
    pub hits: u64,
    /// Pages read.
    pub reads: u64,
    /// Reads that failed.
    pub read_failures: u64,
    /// Pages that left their frame for another.
    pub evictions: u64,
    /// Pages written.
    pub written: u64,
    /// Times that a session waited for a clean frame.
    pub starved: u64,
}

/// Where completions of page reads find the pool.
static POOL: region::current::Current<Pool> = region::current::Current::new();

impl Pool {
    /// Takes the pool's tables for `bytes` of pages. Before the first engine. Errors: `53200`.
    pub fn make(bytes: u64, wal: Wal, files: Files) -> Result<&'static Pool> {
        let count = ((bytes / PAGE_SIZE as u64) as usize).max(FRAMES_MIN);
        let buckets = Reserve::make_huge("buffer table", table::buckets_for(count));
        buckets.back(0, buckets.len())?;
        let pool: &'static Pool = Box::leak(Box::new(Pool {
            frames: Frames::make("buffer pool", count),
            buckets: buckets.all(),
            partitions: region::table("buffer table partitions", table::PARTITIONS),
            shared: region::single("buffer pool state"),
            notes: region::table("buffer pins", kernel::session::slots().len()),
            wal,
            files,
            double_write: DoubleWrite::make()?,
        }));
        for (index, partition) in pool.partitions.iter().enumerate() {
            partition.publish(SpinName::BufferMap, index as u32);
        }
        if huge::demanded() {
            pool.back(0, count)?;
        }
        POOL.set(pool);
        Ok(pool)
    }

    /// Sees to it that memory backs a run of frames, and all that goes with them. Errors: `53200`.
    fn back(&self, first: usize, count: usize) -> Result<()> {
        self.frames.back(first, count)
    }

    #[inline]
    fn descriptor(&self, frame: u32) -> &'static Descriptor {
        self.frames.beside(frame as usize)
    }

    /// Those of the frames that have ever been used.
    fn used_descriptors(&self) -> impl Iterator<Item = &'static Descriptor> {
        (0..self.used() as u32).map(|frame| self.descriptor(frame))
    }

    /// Runs what is to be done when a page read is over: the kernel's completion action for [`fill::FILLED`].
    pub fn complete(completion: &kernel::io::Completion) {
        if let Some(pool) = POOL.get() {
            pool.filled(completion);
        }
    }

    /// Pins a page, reading it if it is in no frame. Reads as an ordinary use: the page stays as long as pages that are used as
    /// often.
    ///
    /// Errors: `58P01` no such file, `58030` the system cannot read it, `XX001` the page is damaged, `53000` every frame is
    /// pinned. The session gets a page or an error, never other bytes.
    #[inline]
    pub fn pin(&'static self, page: PageId) -> Result<Pinned> {
        match self.pin_hit(page, true) {
            Some(pinned) => Ok(pinned),
            None => self.pin_slow(page, &mut replace::Use::Often),
        }
    }

    /// Pins a page that a large scan passes once. It takes the frame of a page that the scan has passed rather than one that
    /// others use, and does not make the page look used.
    pub fn pin_scan(&'static self, page: PageId, ring: &mut ScanRing) -> Result<Pinned> {
        match self.pin_hit(page, false) {
            Some(pinned) => Ok(pinned),
            None => self.pin_slow(page, &mut replace::Use::Once(ring)),
        }
    }

    /// Latches a page to be read, reading it in if it is in no frame. Waits for both as long as it takes.
    ///
    /// Errors: those of [`Pool::pin`].
    #[inline]
    pub fn read(&'static self, page: PageId) -> Result<PageRef> {
        match self.try_read(page) {
            Some(page) => Ok(page),
            None => self.read_slow(page),
        }
    }

    /// Latches a page to be read if that needs no wait. None also if it happens to be hard to find.
    #[inline]
    pub fn try_read(&'static self, page: PageId) -> Option<PageRef> {
        let frame = self.find(page)?;
        let latched = self.frames.try_read(frame as usize)?;
        // It may have got another page since it was found; now it keeps what it has.
        if !self.descriptor(frame).is_there(page) {
            return None;
        }
        kernel::fault::point("buffer.read");
        self.notes[kernel::session::current_id().0 as usize].hits.add(1);
        Some(PageRef::new(latched, page))
    }

    #[cold]
    fn read_slow(&'static self, page: PageId) -> Result<PageRef> {
        Ok(self.pin(page)?.read())
    }

    #[inline]
    fn pin_hit(&'static self, page: PageId, often: bool) -> Option<Pinned> {
        let frame = self.find(page)?;
        let pin = self.try_pin(frame, page, often)?;
        if !self.descriptor(frame).is_valid() {
            // The slow way waits for the read; the pin is taken again there.
            return None;
        }
        self.notes[pin.session()].hits.add(1);
        Some(Pinned::new(pin, page))
    }

    #[cold]
    fn pin_slow(&'static self, page: PageId, how: &mut replace::Use<'_>) -> Result<Pinned> {
        loop {
            let pin = match self.find(page).and_then(|frame| self.try_pin(frame, page, how.is_often())) {
                Some(pin) => pin,
                None => match self.enter(page, how)? {
                    Some(pin) => pin,
                    None => continue,
                },
            };
            // The pin is dropped with the error.
            self.make_valid(&pin, page)?;
            return Ok(Pinned::new(pin, page));
        }
    }

    /// Takes a new block of a relation and pins its page, which is all zeros and nobody else's. The caller formats it.
    ///
    /// Errors: `53100`, those of [`Files::extend`], `53000`.
    pub fn pin_new(&'static self, rel: RelId) -> Result<Pinned> {
        let block = self.files.extend(rel, 1)?;
        self.pin_fresh(PageId { rel, block })
    }

    /// Pins a page without reading it, because it is going to be written anew as a whole: zeros if it was in no frame, else what
    /// was there.
    pub fn pin_fresh(&'static self, page: PageId) -> Result<Pinned> {
        loop {
            if let Some(frame) = self.find(page)
                && let Some(pin) = self.try_pin(frame, page, true)
            {
                if self.descriptor(frame).is_valid() || self.make_zero(&pin, page)? {
                    return Ok(Pinned::new(pin, page));
                }
                continue;
            }
            if let Some(pin) = self.enter(page, &mut replace::Use::Often)?
                && self.make_zero(&pin, page)?
            {
                return Ok(Pinned::new(pin, page));
            }
        }
    }

    /// Sees to it that pages will be in frames soon: reads of those that are not are issued, and nobody waits for them. Stops
    /// early where frames or requests are scarce; errors are met by whoever pins the page. Answers how many reads it issued.
    pub fn prefetch(&'static self, pages: &[PageId]) -> usize {
        let mut issued = 0;
        for &page in pages {
            if self.find(page).is_some() {
                continue;
            }
            match self.enter_without_wait(page) {
                Some(pin) if self.start_fill(&pin, page).is_ok() => issued += 1,
                _ => break,
            }
        }
        kernel::io::submit();
        issued
    }

    /// Drops every page of a relation from `first` on without writing it: the relation is gone, or its end is cut off. A lock
    /// keeps everybody else from its pages.
    ///
    /// Errors: `55006` if somebody has one of them pinned.
    pub fn forget(&'static self, rel: RelId, first: u32) -> Result<()> {
        self.cut(rel, first, || Ok(()))
    }

    /// The same, with the end of the relation's file cut off before, while nobody writes pages: a write that is on its way would bring
    /// a page back as it was.
    ///
    /// Errors: those of [`Pool::forget`] and of `cut_file`.
    pub(crate) fn cut(&'static self, rel: RelId, first: u32, cut_file: impl FnOnce() -> Result<()>) -> Result<()> {
        self.double_write.alone(|| {
            cut_file()?;
            let used = self.used() as u32;
            for frame in 0..used {
                let page = self.descriptor(frame).page();
                if page.rel == rel && page.block >= first {
                    self.discard(frame, page)?;
                }
            }
            Ok(())
        })
    }

    /// How many frames have ever been used.
    pub(crate) fn used(&self) -> usize {
        let fresh = self.shared.fresh.load(Acquire);
        match self.shared.refused.load(Acquire) {
            0 => fresh as usize,
            limit => fresh.min(limit) as usize,
        }
    }

    /// The log that changes of these pages go to.
    pub fn wal(&self) -> &Wal {
        &self.wal
    }

    /// The files that these pages are in.
    pub fn files(&self) -> &Files {
        &self.files
    }

    pub(crate) fn double_write(&self) -> &DoubleWrite {
        &self.double_write
    }

    fn file_of(page: PageId) -> (kernel::io::FileName, u64) {
        (file::name(page.rel), file::offset(page))
    }

    /// The least position that the log is needed from to redo what is dirty, or `none`.
    pub(crate) fn oldest_dirt(&self, none: Lsn) -> Lsn {
        self.used_descriptors().filter_map(Descriptor::dirt).min().map_or(none, |lsn| lsn.min(none))
    }

    /// How many pages the running session has found here, and how many it has read, since its slot was first used.
    pub fn pages_of_session(&self) -> (u64, u64) {
        let notes = &self.notes[kernel::session::current_id().0 as usize];
        (notes.hits.get(), notes.reads.get())
    }

    /// Counts for views.
    pub fn usage(&self) -> PoolUsage {
        let sessions = kernel::session::slots_reached().len();
        PoolUsage {
            frames: self.frames.count() as u64,
            used: self.used() as u64,
            backed_bytes: self.frames.backed_bytes(),
            dirty: self.used_descriptors().filter(|frame| frame.dirt().is_some()).count() as u64,
            hits: self.notes[..sessions].iter().map(|notes| notes.hits.get()).sum(),
            reads: self.shared.reads.load(Relaxed),
            read_failures: self.shared.read_failures.load(Relaxed),
            evictions: self.shared.evictions.load(Relaxed),
            written: self.shared.written.load(Relaxed),
            starved: self.shared.starved.load(Relaxed),
        }
    }
}
