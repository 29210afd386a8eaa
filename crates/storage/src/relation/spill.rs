//! Temporary files: what a session puts on disk because it does not fit its memory.
//!
//! ```text
//!   Spill   writes: | piece | piece | piece …      from the beginning to the end, 64 KiB at a time
//!   parts   of whole pages, noted by their writer: | a | b | a | c |
//!   SpillReader     reads the extents of one part, one after the other
//! ```
//!
//! Rules
//! 1. A file is removed with the last of its writer and its readers: at the end of a statement, and when that fails or is cancelled.
//!    What a session leaves behind when it dies, the end of the session removes, and a start of the server everything.
//! 2. A session's files together take no more than the limit that the writer was made with (`temp_file_limit`).
//! 3. What was written can be read when [`Spill::end_part`] has come back, also while more is written.

use super::Relations;
use crate::page::PAGE_SIZE;
use base::{Error, Result, SessionId, sqlstate};
use kernel::io::{self, FileName, Kind, Pages};
use kernel::region::heap::Owner;
use kernel::session;
use kernel::wait::Event;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Bytes that are written at a time, and the most that are read.
const PIECE: usize = 8 * PAGE_SIZE;

/// Parts begin at multiples of so many bytes.
pub const PART_ALIGN: usize = PAGE_SIZE;

kernel::shared! {
    /// A session's row.
    pub(super) struct SpillRow {
        /// Files that it has.
        files: AtomicU32,
        /// The number of the next one.
        next: AtomicU32,
        /// Bytes in all of them.
        bytes: AtomicU64,
    }

    /// What all sessions have written since the start.
    pub(super) struct SpillTotals {
        files: AtomicU64,
        bytes: AtomicU64,
    }
}

/// Counts for views.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpillUsage {
    /// Files, and bytes in them.
    pub files: u64,
    /// Likewise.
    pub bytes: u64,
}

/// A file, removed with its last user.
struct File {
    row: &'static SpillRow,
    name: FileName,
    written: std::cell::Cell<u64>,
}

/// A temporary file that is written.
pub struct Spill {
    file: Rc<File>,
    totals: &'static SpillTotals,
    limit: u64,
    pages: Pages,
    /// Bytes in `pages` that are not written.
    held: usize,
}

/// A temporary file that is read.
#[derive(Clone)]
pub struct SpillFile(Rc<File>);

/// A reader of one part of a spill, from its beginning to its end.
pub struct SpillReader {
    file: Rc<File>,
    pages: Pages,
    /// What is still to be read: from where, to where.
    extents: std::vec::IntoIter<(u64, u64)>,
    next: u64,
    end: u64,
    /// What of the piece at hand was not handed out.
    from: usize,
    to: usize,
}

impl Relations {
    /// Makes a temporary file; `limit` is how many bytes all files of the session may have together. Errors: `53100`, `53200`.
    pub fn spill(&self, limit: Option<u64>) -> Result<Spill> {
        let me = session::current_id();
        let row = &self.spills[me.0 as usize];
        // Counted first: after a death in between somebody looks in vain.
        row.files.fetch_add(1, Relaxed);
        let number = row.next.fetch_add(1, Relaxed) as u64 & 0xFF_FFFF;
        let name = FileName::new(Kind::Temp, (me.0 as u64) << 24 | number);
        let made =
            io::remove(name).and_then(|_| io::create(name, 0)).and_then(|()| Pages::new(Owner::WorkMemory, PIECE));
        match made {
            Ok(pages) => {
                kernel::fault::point("spill.made");
                self.spill_totals.files.fetch_add(1, Relaxed);
                let file = Rc::new(File { row, name, written: Default::default() });
                Ok(Spill { file, totals: self.spill_totals, limit: limit.unwrap_or(u64::MAX), pages, held: 0 })
            }
            Err(error) => {
                row.files.fetch_sub(1, Relaxed);
                Err(error)
            }
        }
    }

    /// Removes the temporary files of a session that is over.
    pub(super) fn remove_spills(&self, session: SessionId) {
        let row = &self.spills[session.0 as usize];
        if row.files.load(Relaxed) == 0 {
            return;
        }
        let Ok(numbers) = io::list(Kind::Temp) else { return };
        for number in numbers.into_iter().filter(|number| number >> 24 == session.0 as u64) {
            // What cannot be removed now goes at the next start.
            let _ = io::remove(FileName::new(Kind::Temp, number));
        }
        row.bytes.store(0, Relaxed);
        row.files.store(0, Relaxed);
    }

    /// What all sessions have written to temporary files since the start.
    pub fn spilled(&self) -> SpillUsage {
        SpillUsage { files: self.spill_totals.files.load(Relaxed), bytes: self.spill_totals.bytes.load(Relaxed) }
    }

    /// What a session has in temporary files now.
    pub fn spilled_by(&self, session: SessionId) -> SpillUsage {
        self.spills.get(session.0 as usize).map_or(SpillUsage::default(), |row| SpillUsage {
            files: row.files.load(Relaxed).into(),
            bytes: row.bytes.load(Relaxed),
        })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if io::discard(self.name) {
            self.row.bytes.fetch_sub(self.written.get(), Relaxed);
            self.row.files.fetch_sub(1, Relaxed);
        }
    }
}

impl Spill {
    /// Appends bytes. Errors: `53100`, `53400`, `58030`.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let count = bytes.len().min(PIECE - self.held);
            self.pages[self.held..self.held + count].copy_from_slice(&bytes[..count]);
            self.held += count;
            bytes = &bytes[count..];
            if self.held == PIECE {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Where what is written next will be. At the beginning of a part, and behind whole pages, it is a place that a part may begin at.
    pub fn place(&self) -> u64 {
        self.file.written.get() + self.held as u64
    }

    /// Ends a part, and answers where the next one begins: what is missing to a whole page is filled up. All of it can be read now.
    pub fn end_part(&mut self) -> Result<u64> {
        if self.held > 0 {
            self.flush()?;
        }
        Ok(self.file.written.get())
    }

    fn flush(&mut self) -> Result<()> {
        let bytes = self.held.next_multiple_of(PAGE_SIZE);
        let row = self.file.row;
        if row.bytes.load(Relaxed).saturating_add(bytes as u64) > self.limit {
            return Err(Error::statement(
                sqlstate::CONFIGURATION_LIMIT_EXCEEDED,
                format!("temporary file size exceeds temp_file_limit ({}kB)", self.limit / 1024),
            ));
        }
        self.pages[self.held..bytes].fill(0);
        let at = self.file.written.get();
        self.pages.write(Event::TempFileWrite, self.file.name, at, 0, bytes)?;
        self.file.written.set(at + bytes as u64);
        row.bytes.fetch_add(bytes as u64, Relaxed);
        self.totals.bytes.fetch_add(bytes as u64, Relaxed);
        self.held = 0;
        Ok(())
    }

    /// The file, to be read.
    pub fn file(&self) -> SpillFile {
        SpillFile(self.file.clone())
    }
}

impl SpillFile {
    /// Reads a part that has ended, so many bytes at a time. Errors: `53200`.
    pub fn read(&self, extents: Vec<(u64, u64)>, memory: usize) -> Result<SpillReader> {
        let bytes = memory.min(PIECE).next_multiple_of(PAGE_SIZE).max(PAGE_SIZE);
        let pages = Pages::new(Owner::WorkMemory, bytes)?;
        let extents = extents.into_iter();
        Ok(SpillReader { file: self.0.clone(), pages, extents, next: 0, end: 0, from: 0, to: 0 })
    }
}

impl SpillReader {
    /// The next bytes, at most `count`: fewer, but some, where a piece ends; none at the end of the part.
    pub fn next(&mut self, count: usize) -> Result<&[u8]> {
        if self.from == self.to {
            while self.next >= self.end {
                match self.extents.next() {
                    Some((from, to)) => (self.next, self.end) = (from, to),
                    None => return Ok(&[]),
                }
            }
            let bytes = (self.end - self.next).min(self.pages.len() as u64) as usize;
            let whole = bytes.next_multiple_of(PAGE_SIZE).min(self.pages.len());
            let got = self.pages.read(Event::TempFileRead, self.file.name, self.next, whole)?;
            if got < bytes {
                return Err(Error::corruption("a temporary file is shorter than what was written to it"));
            }
            (self.from, self.to) = (0, bytes);
            self.next += bytes as u64;
        }
        let from = self.from;
        self.from = (from + count).min(self.to);
        Ok(&self.pages[from..self.from])
    }

    /// The next bytes, as many as are asked for. Errors: `58030`; damage where the part ends before.
    pub fn read_exact(&mut self, mut into: &mut [u8]) -> Result<()> {
        while !into.is_empty() {
            let got = self.next(into.len())?;
            if got.is_empty() {
                return Err(Error::corruption("a temporary file is shorter than what was written to it"));
            }
            let (head, rest) = std::mem::take(&mut into).split_at_mut(got.len());
            head.copy_from_slice(got);
            into = rest;
        }
        Ok(())
    }
}
