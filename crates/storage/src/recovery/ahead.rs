//! Reading ahead of redo: pages of records that come soon are on their way when redo gets there.
//!
//! Redo is one session, and each page that it does not have would cost it a read of its own. Where the pool is smaller than what the
//! log changes, that is what a restart takes: 65,000 reads of 75 µs, one after the other. The log says beforehand which
//! pages come, so their reads overlap (PostgreSQL's recovery prefetching is the model).
//!
//! Rules
//! 1. It is a hint. Redo pins each page as if nothing had been read; errors are met there.
//! 2. It stops at a record that makes, cuts or removes files, or changes one that nobody has opened yet, until redo has taken that one:
//!    what is read ahead belongs to files as they are.
//! 3. It knows only what the reader of the log has in memory, and reads none of the log itself.
//!
//! The life of a batch: redo has taken half of the last one -> records behind it are decoded, up to some pages -> reads are issued for
//! those that are in no frame -> redo pins them, and waits for the first at most.

use crate::buffer::Pool;
use crate::wal::reader::Reader;
use crate::wal::record::{Body, Record};
use base::{Lsn, PageId};

/// Pages of a batch.
const BATCH: usize = 32;
/// Pages on their way may have this part of the pool.
const POOL_PART: u64 = 8;

/// How far redo has looked ahead.
pub(super) struct Ahead {
    /// Up to here records have been looked at.
    at: Lsn,
    /// From here on it is time to look again.
    renew: Lsn,
    batch: usize,
    wanted: Vec<PageId>,
    issued: u64,
}

impl Ahead {
    /// Has looked at nothing yet.
    pub(super) fn new(pool: &Pool) -> Ahead {
        let batch = BATCH.min((pool.usage().frames / POOL_PART) as usize);
        Ahead { at: Lsn(0), renew: Lsn(0), batch, wanted: Vec::with_capacity(batch + 4), issued: 0 }
    }

    /// Issues reads for what comes behind the reader's position.
    #[inline]
    pub(super) fn look(&mut self, reader: &Reader, pool: &'static Pool) {
        if reader.position() >= self.renew {
            self.read(reader, pool);
        }
    }

    fn read(&mut self, reader: &Reader, pool: &'static Pool) {
        self.at = self.at.max(reader.position());
        let mut half = None;
        self.wanted.clear();
        while self.wanted.len() < self.batch {
            let Some(raw) = reader.peek(self.at) else { break };
            let Ok(record) = raw.decode() else { break };
            let (files, pages) = (pool.files(), record.pages());
            self.at = raw.end;
            if changes_files(&record) || pages.iter().any(|page| files.find(page.id.rel).is_none()) {
                half = None;
                break;
            }
            let is_there = |page: PageId| files.find(page.rel).is_some_and(|row| page.block < row.blocks());
            self.wanted.extend(pages.iter().filter(|page| !page.fresh && is_there(page.id)).map(|page| page.id));
            if half.is_none() && self.wanted.len() * 2 >= self.batch {
                half = Some(raw.end);
            }
        }
        self.renew = half.unwrap_or(self.at);
        self.issued += pool.prefetch(&self.wanted) as u64;
    }

    /// How many pages were read ahead.
    pub(super) fn issued(&self) -> u64 {
        self.issued
    }
}

/// Rule 2.
fn changes_files(record: &Record<'_>) -> bool {
    match &record.body {
        Body::FileCreate(_) | Body::FileDrop(_) | Body::FileTruncate(_) => true,
        Body::Commit(commit) => !commit.dropped.is_empty(),
        Body::Abort(abort) => !abort.dropped.is_empty(),
        _ => false,
    }
}
