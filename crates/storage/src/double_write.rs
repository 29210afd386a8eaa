//! The double-write area: pages are written here before they are written to their place, so that a torn one can be repaired.
//!
//! A page is 8 KiB and a device promises less; a crash in the middle of a write may leave a page that is neither old nor new, and
//! the log's records change pages, they do not hold them. So the writer of pages first writes copies of a whole batch here,
//! durably, and then to their places. Whatever the crash tears, one of the two is whole.
//!
//! ```text
//! double_write:  | batch 0: header, 64 pages | batch 1 | ... | batch 15 |      used in turn
//! header:        | magic | sequence | flushed | count | crc32c | page names ... |
//! ```
//!
//! Rules
//! 1. A batch's place is used again only after the files that its pages went to have been flushed: a device may keep a
//!    write in its own memory for long. `flushed` in a header says up to which batch that was so when it was written.
//! 2. After a crash the batches behind the newest header's `flushed` are looked at: a page that is damaged at its place gets its copy
//!    from the newest batch that has one. An older batch is not used: its copy may be older than what the place had.
//! 3. One session at a time writes a batch ([`DoubleWrite::alone`]); copies are made under the pages' latches, which are only
//!    tried, never waited for.
//! 4. The log is durable up to the newest LSN of a batch before the batch is written.
//!
//! The life of a batch: [`Pool::write_pages`] claims frames, copies and seals them, flushes the log, writes the batch here, writes the
//! pages to their places, and lets the frames go.
//!
//! InnoDB's doublewrite buffer is the model; the order of flushes is the same, the copies double as the source of the second
//! write, so that no frame is locked while it is written.

use crate::buffer::Pool;
use crate::file::{self, Files};
use crate::page::raw::{put_u32, put_u64, u32_at, u64_at};
use crate::page::{self, PAGE_SIZE, PageBytes, header};
use base::{Error, Lsn, PageId, RelId, Result, sqlstate};
use kernel::io::{self, FileName, Kind, Pages};
use kernel::region;
use kernel::region::area::{Area, AreaGuard};
use kernel::region::heap::Owner;
use kernel::sync::{Latch, Mode};
use kernel::wait::Event;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// Pages of a batch.
pub const BATCH_PAGES: usize = 64;
/// Batches that the file has room for.
const BATCHES: u64 = 16;
const BATCH_BYTES: usize = (1 + BATCH_PAGES) * PAGE_SIZE;
const FILE_BYTES: u64 = BATCHES * BATCH_BYTES as u64;
/// How many flushes are under way at a time.
const FLUSHES_AT_ONCE: usize = 16;

const MAGIC: u64 = u64::from_le_bytes(*b"gbxdblw1");
const AT_MAGIC: usize = 0;
const AT_SEQUENCE: usize = 8;
const AT_FLUSHED: usize = 16;
const AT_COUNT: usize = 24;
const AT_CRC: usize = 28;
const AT_PAGES: usize = 32;
const HEADER_BYTES: usize = AT_PAGES + 8 * BATCH_PAGES;

kernel::shared! {
    struct State {
        /// Batches whose pages are at their places.
        written: AtomicU64,
        /// Batches whose pages are durable there.
        flushed: AtomicU64,
        /// From where the log is needed for the batch on its way; all bits flipped, so that zero is "nothing on its way".
        dirt: AtomicU64,
        /// How often pages went back to their frames, because they could not be written.
        returned: AtomicU64,
        flushing: Latch,
    }
}

/// The area and its state; a value of references into the region.
#[derive(Clone, Copy)]
pub struct DoubleWrite {
    area: Area,
    state: &'static State,
}

/// A page whose copy lies in the area.
pub(crate) struct Copied {
    pub(crate) page: PageId,
    pub(crate) lsn: Lsn,
}

impl DoubleWrite {
    /// Takes memory. Before the first engine. Errors: `53200`.
    pub fn make() -> Result<DoubleWrite> {
        Ok(DoubleWrite { area: Area::make("double write", BATCH_BYTES)?, state: region::single("double write state") })
    }

    /// Makes the file if it is not there, or not as long as it is to be. Batches are counted on from those that are in it,
    /// which nobody needs any more.
    pub(crate) fn open(&self) -> Result<()> {
        if !file_is_whole()? {
            io::remove(FileName::DOUBLE_WRITE)?;
            io::create_zeroed(FileName::DOUBLE_WRITE, FILE_BYTES)?;
            io::sync_directory(Kind::DoubleWrite)?;
        }
        let mut pages = Pages::new(Owner::WorkMemory, PAGE_SIZE)?;
        let newest = headers(&mut pages)?.first().map_or(0, |header| header.sequence);
        self.state.written.store(newest, Release);
        self.state.flushed.store(newest, Release);
        Ok(())
    }

    /// Runs `body` while nobody writes pages.
    pub(crate) fn alone<R>(&self, body: impl FnOnce() -> R) -> R {
        let _area = self.area.lock(Event::DoubleWrite);
        body()
    }

    /// From where the log is needed for pages that are on their way to their places, or `none`.
    pub(crate) fn oldest_dirt(&self, none: Lsn) -> Lsn {
        match self.state.dirt.load(SeqCst) {
            0 => none,
            dirt => Lsn(!dirt).min(none),
        }
    }

    /// Counts the times that pages which could not be written went back from a batch to their frames: who looks at frames and then at
    /// the batch may miss them if this has moved.
    pub(crate) fn returned(&self) -> u64 {
        self.state.returned.load(SeqCst)
    }

    /// Begins a batch: waits for the area, and for a place in the file that may be used again.
    pub(crate) fn begin(&self, files: &Files) -> Batch {
        let area = self.area.lock(Event::DoubleWrite);
        if self.state.written.load(Acquire) - self.state.flushed.load(Acquire) >= BATCHES {
            self.flush_places(files);
        }
        Batch { double_write: *self, area, pages: Vec::with_capacity(BATCH_PAGES) }
    }

    /// Makes everything durable that batches have written to its place. A flush that fails stops the server.
    pub(crate) fn flush_places(&self, files: &Files) {
        let _flushing = self.state.flushing.lock(Mode::Exclusive, Event::DataFileFlush);
        let written = self.state.written.load(Acquire);
        let mut tickets = Vec::new();
        let finish = |tickets: &mut Vec<io::Ticket>| {
            for ticket in tickets.drain(..) {
                match ticket.wait() {
                    Ok(_) => {}
                    // Dropped before the system came to it.
                    Err(error) if error.sqlstate() == sqlstate::UNDEFINED_FILE => {}
                    Err(error) => crate::stop_server(&format!("a data file cannot be flushed: {error}")),
                }
            }
        };
        for row in files.relations() {
            if row.unflushed.swap(0, AcqRel) == 0 {
                continue;
            }
            match io::flush(Event::DataFileFlush, file::name(row.rel())) {
                Ok(ticket) => tickets.push(ticket),
                // Dropped meanwhile.
                Err(error) if error.sqlstate() == sqlstate::UNDEFINED_FILE => {}
                Err(error) => crate::stop_server(&format!("a data file cannot be flushed: {error}")),
            }
            if tickets.len() == FLUSHES_AT_ONCE {
                finish(&mut tickets);
            }
        }
        finish(&mut tickets);
        kernel::fault::point("double_write.flushed");
        self.state.flushed.fetch_max(written, AcqRel);
    }
}

/// A batch that is being put together.
pub(crate) struct Batch {
    double_write: DoubleWrite,
    area: AreaGuard,
    pages: Vec<Copied>,
}

impl Batch {
    pub(crate) fn is_full(&self) -> bool {
        self.pages.len() == BATCH_PAGES
    }

    pub(crate) fn pages(&self) -> &[Copied] {
        &self.pages
    }

    /// Notes from where the log is needed for a page that is about to be copied, before its frame forgets it.
    pub(crate) fn note_dirt(&self, from: Lsn) {
        self.double_write.state.dirt.fetch_max(!from.0, SeqCst);
    }

    /// Copies a page, which its latch keeps from changing, and seals the copy.
    pub(crate) fn copy(&mut self, id: PageId, bytes: &PageBytes) {
        let from = (1 + self.pages.len()) * PAGE_SIZE;
        let Some(copy) = self.area[from..].first_chunk_mut::<PAGE_SIZE>() else {
            unreachable!("a batch has room for its pages")
        };
        copy.copy_from_slice(bytes);
        debug_assert!(page::check(copy).is_ok(), "a damaged page is written: {:?}", page::check(copy));
        debug_assert!(header::page_id(copy) == id || header::is_new(copy), "page {id} is written from another's frame");
        header::seal(copy);
        self.pages.push(Copied { page: id, lsn: header::lsn(copy) });
    }

    /// Writes the batch to the area's file, durably.
    pub(crate) fn write_copies(&mut self) -> Result<()> {
        let state = self.double_write.state;
        let sequence = state.written.load(Acquire) + 1;
        let head = &mut self.area[..PAGE_SIZE];
        head.fill(0);
        put_u64(head, AT_MAGIC, MAGIC);
        put_u64(head, AT_SEQUENCE, sequence);
        put_u64(head, AT_FLUSHED, state.flushed.load(Acquire));
        put_u32(head, AT_COUNT, self.pages.len() as u32);
        for (nth, copied) in self.pages.iter().enumerate() {
            put_u64(head, AT_PAGES + 8 * nth, copied.page.to_u64());
        }
        let crc = header_crc(head);
        put_u32(head, AT_CRC, crc);
        let bytes = (1 + self.pages.len()) * PAGE_SIZE;
        let offset = (sequence % BATCHES) * BATCH_BYTES as u64;
        let ticket = self.area.write(Event::DoubleWrite, (0, bytes), FileName::DOUBLE_WRITE, offset, true)?;
        ticket.wait().and_then(|written| whole(written, bytes, FileName::DOUBLE_WRITE))
    }

    /// Writes the pages to their places, neighbours together. `done` is told of each page and how its write went.
    pub(crate) fn write_places(&self, files: &Files, mut done: impl FnMut(usize, Result<()>)) {
        let mut tickets = Vec::new();
        let mut first = 0;
        while first < self.pages.len() {
            let start = self.pages[first].page;
            let follows = |(nth, copied): (usize, &Copied)| {
                copied.page.rel == start.rel && copied.page.block == start.block + nth as u32
            };
            let count = self.pages[first..].iter().enumerate().take_while(|&pair| follows(pair)).count();
            let (from, bytes) = ((1 + first) * PAGE_SIZE, count * PAGE_SIZE);
            let (file, offset) = (file::name(start.rel), file::offset(start));
            // Of an index whose pages are reached from its root nobody may have asked how long it is: without a row it would
            // not be known that there is something to be flushed.
            let row = files.open(start.rel);
            let write = |_| self.area.write(Event::DataFileWrite, (from, bytes), file, offset, false);
            tickets.push((first, count, file, row.and_then(write)));
            first += count;
        }
        for (first, count, file, ticket) in tickets {
            let result = ticket.and_then(|ticket| ticket.wait()).and_then(|got| whole(got, count * PAGE_SIZE, file));
            files.mark_unflushed(self.pages[first].page.rel);
            for nth in first..first + count {
                let same = match &result {
                    Ok(()) => Ok(()),
                    Err(error) => Err(Error::new(error.kind(), error.sqlstate(), error.message().to_string())),
                };
                done(nth, same);
            }
        }
    }

    /// The batch is over: its pages are at their places, or dirty again.
    pub(crate) fn end(self) {
        let state = self.double_write.state;
        state.dirt.store(0, SeqCst);
        if !self.pages.is_empty() {
            state.written.fetch_add(1, AcqRel);
        }
    }
}

fn whole(got: usize, wanted: usize, file: FileName) -> Result<()> {
    if got == wanted {
        return Ok(());
    }
    Err(Error::statement(sqlstate::IO_ERROR, format!("could not write file \"{file}\""))
        .detail(format!("It took {got} of {wanted} bytes.")))
}

/// The checksum of a header, which is not part of it.
fn header_crc(head: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&head[..AT_CRC]), &head[AT_PAGES..HEADER_BYTES])
}

/// What a batch's header says, and where the batch lies.
struct Header {
    sequence: u64,
    flushed: u64,
    offset: u64,
}

fn file_is_whole() -> Result<bool> {
    Ok(io::size(FileName::DOUBLE_WRITE)? == Some(FILE_BYTES))
}

/// The headers that are in the file, the newest first.
fn headers(pages: &mut Pages) -> Result<Vec<Header>> {
    let mut found = Vec::new();
    for offset in (0..FILE_BYTES).step_by(BATCH_BYTES) {
        let got = pages.read(Event::DoubleWrite, FileName::DOUBLE_WRITE, offset, PAGE_SIZE)?;
        let head = &pages[..got];
        let is_header = got == PAGE_SIZE
            && u64_at(head, AT_MAGIC) == MAGIC
            && u32_at(head, AT_CRC) == header_crc(head)
            && u32_at(head, AT_COUNT) as usize <= BATCH_PAGES;
        if is_header {
            found.push(Header { sequence: u64_at(head, AT_SEQUENCE), flushed: u64_at(head, AT_FLUSHED), offset });
        }
    }
    found.sort_unstable_by_key(|header| std::cmp::Reverse(header.sequence));
    Ok(found)
}

/// After a crash: repairs pages that were torn, from their copies, and makes all that may have been on its way durable. Answers how
/// many were torn. Runs alone, before anything reads a page.
pub(crate) fn repair() -> Result<u32> {
    if !file_is_whole()? {
        // It was not made yet, or not to its end: no page can have been written.
        return Ok(0);
    }
    let mut pages = Pages::new(Owner::WorkMemory, BATCH_BYTES)?;
    let headers = headers(&mut pages)?;
    let Some(flushed) = headers.first().map(|newest| newest.flushed) else { return Ok(0) };
    let mut seen = BTreeSet::new();
    let mut repaired = 0;
    // Rule 2. The newest batch first, so that the newest copy of a page is met first.
    for header in headers.iter().take_while(|header| header.sequence > flushed) {
        let got = pages.read(Event::DoubleWrite, FileName::DOUBLE_WRITE, header.offset, BATCH_BYTES)?;
        let count = u32_at(&pages, AT_COUNT) as usize;
        for nth in 0..count {
            let id = PageId::from_u64(u64_at(&pages, AT_PAGES + 8 * nth));
            let from = (1 + nth) * PAGE_SIZE;
            let copy = pages[from..].first_chunk::<PAGE_SIZE>().copied();
            // A torn copy means that its place was not written yet.
            let Some(copy) = copy.filter(|copy| from + PAGE_SIZE <= got && header::verify(copy, id).is_ok()) else {
                continue;
            };
            if seen.insert(id) && repair_page(id, &copy)? {
                repaired += 1;
            }
        }
    }
    let relations: BTreeSet<RelId> = seen.iter().map(|id| id.rel).collect();
    for rel in relations {
        if io::exists(file::name(rel))? {
            io::flush(Event::DataFileFlush, file::name(rel))?.wait()?;
        }
    }
    Ok(repaired)
}

/// Writes the copy to the page's place if what is there is no page. True if it did.
fn repair_page(id: PageId, copy: &PageBytes) -> Result<bool> {
    let (file, offset) = (file::name(id.rel), file::offset(id));
    let mut place = Pages::new(Owner::WorkMemory, PAGE_SIZE)?;
    let got = match place.read(Event::DataFileRead, file, offset, PAGE_SIZE) {
        Ok(got) => got,
        // The relation was dropped.
        Err(error) if error.sqlstate() == sqlstate::UNDEFINED_FILE => return Ok(false),
        Err(error) => return Err(error),
    };
    place[got..].fill(0);
    if place.first_chunk::<PAGE_SIZE>().is_some_and(|bytes| header::verify(bytes, id).is_ok()) {
        return Ok(false);
    }
    place[..PAGE_SIZE].copy_from_slice(copy);
    let written = place.write(Event::DataFileWrite, file, offset, 0, PAGE_SIZE)?;
    whole(written, PAGE_SIZE, file)?;
    Ok(true)
}

impl Pool {
    /// Writes dirty pages among `frames`, which ascend by page, until a batch is full; answers how many were written and how
    /// many frames were looked at. Pages that somebody changes right now are left out; with `unpinned_only`, pinned ones too.
    ///
    /// Errors: `58030`, `53100`; what could not be written is dirty still.
    pub(crate) fn write_pages(&'static self, frames: &[u32], unpinned_only: bool) -> Result<(usize, usize)> {
        let mut batch = self.double_write().begin(self.files());
        let mut claimed = Vec::with_capacity(BATCH_PAGES);
        let mut looked = 0;
        for &frame in frames {
            if batch.is_full() {
                break;
            }
            looked += 1;
            if let Some(dirt) = self.copy_page(frame, unpinned_only, &mut batch) {
                claimed.push((frame, dirt));
            }
        }
        let newest = batch.pages().iter().map(|copied| copied.lsn).max();
        let Some(newest) = newest else {
            batch.end();
            return Ok((0, looked));
        };
        if !kernel::fault::planted("buffer.write_before_log") {
            self.wal().flush(newest);
        }
        kernel::fault::point("double_write.copied");
        let mut outcome = batch.write_copies();
        let mut written = 0;
        if outcome.is_ok() {
            kernel::fault::point("double_write.copies_written");
            batch.write_places(self.files(), |nth, result| {
                let (frame, dirt) = claimed[nth];
                if result.is_ok() {
                    written += 1;
                } else {
                    self.write_failed(frame, dirt);
                    outcome = result;
                }
            });
        } else {
            claimed.iter().for_each(|&(frame, dirt)| self.write_failed(frame, dirt));
        }
        kernel::fault::point("double_write.places_written");
        if outcome.is_err() {
            // After the frames have their dirt back, before the batch forgets it.
            self.double_write().state.returned.fetch_add(1, SeqCst);
        }
        batch.end();
        self.written(claimed.iter().map(|claim| claim.0), written as u64);
        outcome.map(|()| (written, looked))
    }
}
