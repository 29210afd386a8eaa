//! Temporary files: what a session puts on disk because it does not fit its memory.
//!
//! A [`Spill`] is one file: written from its beginning to its end, then read in pieces. It is removed when its user is done
//! ([`Spill::remove`]); what a session leaves behind when it fails or dies, the end of the session removes, and a start of the
//! server everything.

use super::Relations;
use crate::page::PAGE_SIZE;
use base::{Result, SessionId};
use kernel::io::{self, FileName, Kind, Pages};
use kernel::region::heap::Owner;
use kernel::session;
use kernel::wait::Event;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// Bytes that are written or read at a time.
const PIECE: usize = 8 * PAGE_SIZE;

kernel::shared! {
    /// A session's row.
    pub(super) struct SpillRow {
        /// Files that it has.
        files: AtomicU32,
        /// The number of the next one.
        next: AtomicU32,
    }
}

/// A temporary file. To be removed by [`Spill::remove`].
pub struct Spill {
    row: &'static SpillRow,
    name: FileName,
    pages: Pages,
    /// Bytes in `pages` that are not written.
    held: usize,
    /// Bytes that are in the file.
    written: u64,
}

/// A reader of one part of a spill, from its beginning to its end.
pub struct SpillReader {
    name: FileName,
    pages: Pages,
    /// Where in the file the next piece begins.
    next: u64,
    end: u64,
    /// What of the piece at hand was not handed out.
    from: usize,
    to: usize,
}

impl Relations {
    /// Makes a temporary file. Errors: `53100`, `53200`.
    pub fn spill(&self) -> Result<Spill> {
        let me = session::current_id();
        let row = &self.spills[me.0 as usize];
        // Counted first: after a death in between somebody looks in vain.
        row.files.fetch_add(1, Relaxed);
        let number = row.next.fetch_add(1, Relaxed) as u64 & 0xFF_FFFF;
        let name = FileName::new(Kind::Temp, (me.0 as u64) << 24 | number);
        let made =
            io::remove(name).and_then(|_| io::create(name, 0)).and_then(|()| Pages::new(Owner::WorkMemory, PIECE));
        match made {
            Ok(pages) => Ok(Spill { row, name, pages, held: 0, written: 0 }),
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
        row.files.store(0, Relaxed);
    }
}

impl Spill {
    /// Appends bytes. Errors: `53100`, `58030`.
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

    /// Ends a part, and answers where the next one begins: parts begin at borders of pieces.
    pub fn end_part(&mut self) -> Result<u64> {
        if self.held > 0 {
            self.flush()?;
        }
        Ok(self.written)
    }

    fn flush(&mut self) -> Result<()> {
        self.pages[self.held..PIECE].fill(0);
        self.pages.write(Event::DataFileWrite, self.name, self.written, 0, PIECE)?;
        self.written += PIECE as u64;
        self.held = 0;
        Ok(())
    }

    /// Reads a part that has ended. Errors: `53200`.
    pub fn read(&self, from: u64, to: u64) -> Result<SpillReader> {
        let pages = Pages::new(Owner::WorkMemory, PIECE)?;
        Ok(SpillReader { name: self.name, pages, next: from, end: to, from: 0, to: 0 })
    }

    /// Removes the file.
    pub fn remove(self) -> Result<()> {
        self.row.files.fetch_sub(1, Relaxed);
        io::remove(self.name).map(drop)
    }
}

impl SpillReader {
    /// The next bytes, at most `count`: fewer, but some, where a piece ends; none at the end of the part.
    pub fn next(&mut self, count: usize) -> Result<&[u8]> {
        if self.from == self.to {
            if self.next >= self.end {
                return Ok(&[]);
            }
            self.to = self.pages.read(Event::DataFileRead, self.name, self.next, PIECE)?;
            self.from = 0;
            self.next += PIECE as u64;
        }
        let from = self.from;
        self.from = (from + count).min(self.to);
        Ok(&self.pages[from..self.from])
    }
}
