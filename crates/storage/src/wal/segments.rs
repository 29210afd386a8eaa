//! The files of the log: made ahead of need, used again after a checkpoint, removed when there are too many.
//!
//! ```text
//!    oldest            redo          end of the log            made
//!      | not needed     | needed      | being written           |
//!      |================|=============|=========================|
//!      \------ renamed to follow the newest, or removed --------^
//! ```
//!
//! Rules
//! 1. A segment is counted as made after its name is durable. Otherwise a crash could lose the file, and with it commits that
//!    were acknowledged.
//! 2. A segment's bytes are there before it is used (zeros, or the remains of its earlier life), so that a durable write
//!    changes no sizes. Remains are no records: a record's checksum covers its position.
//! 3. One session at a time makes, renames and removes: it holds the files' latch.
//! 4. An error between the making or renaming of a file and the flush of its name leaves a file that is not counted. The next attempt
//!    takes it, and flushes again.

use super::{SEGMENT_BYTES, Wal};
use base::{Error, Lsn, Result};
use kernel::io::{self, FileName, Kind};
use kernel::sync::Mode;
use kernel::wait::Event;
use std::sync::atomic::Ordering::*;

impl Wal {
    /// Sees to it that a segment is there. May make it.
    pub(super) fn ensure_segment(&self, segment: u64) -> Result<()> {
        // Acquire pairs with the Release below: the file is there.
        if segment < self.files.made.load(Acquire) {
            return Ok(());
        }
        let _latch = self.files.latch.lock(Mode::Exclusive, Event::WalFileInit);
        loop {
            let next = self.files.made.load(Acquire);
            if segment < next {
                return Ok(());
            }
            let name = FileName::wal(next);
            match io::size(name)? {
                // A name that could not be made durable the last time (rule 4); its bytes are there.
                Some(SEGMENT_BYTES) => {}
                Some(_) => {
                    io::remove(name)?;
                    io::create_zeroed(name, SEGMENT_BYTES)?;
                }
                None => io::create_zeroed(name, SEGMENT_BYTES)?,
            }
            io::sync_directory(Kind::Wal)?;
            kernel::fault::point("wal.segment_made");
            self.files.created.fetch_add(1, Relaxed);
            self.files.made.store(next + 1, Release);
        }
    }

    /// Makes the segment ahead if the log is in the last one. The log writer's.
    pub(crate) fn make_ahead(&self) -> Result<()> {
        self.ensure_segment(self.inserted().0 / SEGMENT_BYTES + 1)
    }

    /// Makes what the files hold from a position on durable: what a server that died was writing may be read, and be gone after the
    /// power fails. Recovery's, before it reads.
    pub(crate) fn flush_files(&self, from: Lsn) -> Result<()> {
        for segment in io::list(Kind::Wal)? {
            if segment >= from.0 / SEGMENT_BYTES {
                io::flush(Event::WalWrite, FileName::wal(segment))?.wait()?;
            }
        }
        Ok(())
    }

    /// Looks which segments there are, before the log is opened at `end`. Those behind the end that are not whole are removed:
    /// a crash came while they were made. Those before the end stay until a checkpoint recycles them.
    pub(crate) fn survey(&self, end: Lsn) -> Result<()> {
        let last = end.0 / SEGMENT_BYTES;
        let mut oldest = None;
        let mut made = last;
        for segment in io::list(Kind::Wal)? {
            let whole = io::size(FileName::wal(segment))? == Some(SEGMENT_BYTES);
            if segment < last {
                oldest = oldest.or(Some(segment));
            } else if segment == made && whole {
                made += 1;
            } else {
                io::remove(FileName::wal(segment))?;
            }
        }
        io::sync_directory(Kind::Wal)?;
        self.files.oldest.store(oldest.unwrap_or(last), Release);
        self.files.made.store(made, Release);
        Ok(())
    }

    /// Gives the segments before `redo` another use: as many as keep `ahead` segments made beyond the end of the log are
    /// renamed, the others are removed.
    pub(crate) fn recycle(&self, redo: Lsn, ahead: u64) -> Result<()> {
        let _latch = self.files.latch.lock(Mode::Exclusive, Event::WalFileInit);
        let needed = redo.0 / SEGMENT_BYTES;
        let wanted = self.inserted().0 / SEGMENT_BYTES + 1 + ahead;
        let first = self.files.oldest.load(Acquire);
        let mut made = self.files.made.load(Acquire);
        let mut oldest = first;
        let mut outcome = Ok(());
        while oldest < needed {
            outcome = self.give_another_use(oldest, &mut made, wanted);
            if outcome.is_err() {
                break;
            }
            oldest += 1;
            kernel::fault::point("wal.segment_recycled");
        }
        if first < oldest {
            // Also after an error: those that were renamed before it are counted, or nobody would find them (rule 4).
            io::sync_directory(Kind::Wal)?;
            self.files.made.store(made, Release);
            self.files.oldest.store(oldest, Release);
        }
        outcome
    }

    /// Renames a segment to be the next one, or removes it.
    fn give_another_use(&self, segment: u64, made: &mut u64, wanted: u64) -> Result<()> {
        let name = FileName::wal(segment);
        if *made < wanted && io::size(name)? == Some(SEGMENT_BYTES) {
            io::rename(name, FileName::wal(*made))?;
            *made += 1;
            self.files.recycled.fetch_add(1, Relaxed);
        } else if io::remove(name)? {
            self.files.removed.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    /// Refuses a log that lacks a segment which recovery needs.
    pub(crate) fn require_segment(&self, lsn: Lsn) -> Result<()> {
        let segment = lsn.0 / SEGMENT_BYTES;
        if io::exists(FileName::wal(segment))? {
            return Ok(());
        }
        Err(Error::corruption("a file of the log is missing")
            .detail(format!("Recovery begins at {lsn}, which is in \"{}\".", FileName::wal(segment)))
            .hint("Restore the file, or the whole data directory from a backup."))
    }
}
