//! Batches of redo: changes are put off until there are many of each page, and made page by page.
//!
//! ```text
//!  records, as the log has them --> put: the bytes, and one entry for each page that is changed
//!        memory is used up, a record cuts a file off, or the log is at its end
//!        --> entries sorted by page, each page's by position --> each page is read once (ahead of redo, neighbours one after the other), and
//!            has all its changes made at once
//! ```
//!
//! In the order of the log each record would ask for a page of its own. Where the pool is smaller than what the log changes, that read each
//! page again and again: 125,000 reads for the 10,000 pages of 28 MB of log. MariaDB's recovery works by page too.
//!
//! Rules
//! 1. The order of changes matters within a page only: a record's change of a page looks at that page and nothing else
//!    ([`crate::wal::record`], rule 2), and the page's LSN says which of them it has.
//! 2. Before a table is cut off, what was put off is done: its pages may begin anew behind the cut.
//! 3. A file is made when its record comes, which is before any change of its pages; and removed when its record comes: what was put
//!    off for it is not made. Numbers of relations are given out once.
//! 4. Reading ahead is a hint. Redo pins each page as if nothing had been read; errors are met there.

use crate::wal::record::{PageUse, RawRecord};
use base::{Error, Lsn, PageId, Result, Xid};

/// A record, but for its bytes.
#[derive(Clone, Copy)]
struct Head {
    lsn: Lsn,
    end: Lsn,
    xid: Xid,
    at: u32,
    bytes: u32,
    kind: u8,
    flags: u8,
}

/// A change of a page: a record's `nth` page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Change {
    pub(super) page: PageId,
    record: u32,
    /// Which of the record's pages it is.
    pub(super) nth: u8,
    /// The record writes the whole page.
    pub(super) fresh: bool,
}

/// Changes that were put off.
#[derive(Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    heads: Vec<Head>,
    changes: Vec<Change>,
    bytes_max: usize,
}

impl Batch {
    /// An empty one that may take that much memory, and some more.
    pub(super) fn new(bytes_max: u64) -> Batch {
        // Positions in it are of 32 bits; a record that is put into what is not full may go beyond.
        let bytes_max = bytes_max.min(i32::MAX as u64) as usize;
        Batch { bytes_max, ..Batch::default() }
    }

    /// True if what there is leaves room for a record: it is not full, and the system gives the memory.
    pub(super) fn has_room_for(&mut self, raw: &RawRecord<'_>, pages: &[PageUse]) -> bool {
        let index = self.heads.len() * size_of::<Head>() + self.changes.len() * size_of::<Change>();
        self.bytes.len() + index < self.bytes_max && self.reserve(raw, pages).is_ok()
    }

    fn reserve(&mut self, raw: &RawRecord<'_>, pages: &[PageUse]) -> Result<()> {
        let refused = |_| Error::out_of_memory("what recovery puts off", raw.body.len() + size_of::<Head>());
        self.heads.try_reserve(1).map_err(refused)?;
        self.bytes.try_reserve(raw.body.len()).map_err(refused)?;
        self.changes.try_reserve(pages.len()).map_err(refused)
    }

    /// Puts the changes of a record off.
    ///
    /// Errors: `53200`; nothing of it was put off then.
    pub(super) fn put(&mut self, raw: &RawRecord<'_>, pages: &[PageUse]) -> Result<()> {
        self.reserve(raw, pages)?;
        let record = self.heads.len() as u32;
        let RawRecord { lsn, end, xid, kind, flags, body, .. } = *raw;
        let (at, bytes) = (self.bytes.len() as u32, body.len() as u32);
        self.heads.push(Head { lsn, end, xid, at, bytes, kind, flags });
        self.bytes.extend_from_slice(body);
        for (nth, page) in pages.iter().enumerate() {
            self.changes.push(Change { page: page.id, record, nth: nth as u8, fresh: page.fresh });
        }
        Ok(())
    }

    /// True if nothing is put off.
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Puts the changes into the order in which they are made.
    pub(super) fn sort(&mut self) {
        self.changes.sort_unstable();
    }

    /// The changes of each page, in the order of the pages once they are sorted.
    pub(super) fn pages(&self) -> impl Iterator<Item = &[Change]> {
        self.changes.chunk_by(|one, other| one.page == other.page)
    }

    /// The record of a change. What it says of the server's start and of how far the log was durable is not kept.
    pub(super) fn record(&self, change: &Change) -> RawRecord<'_> {
        let Head { lsn, end, xid, at, bytes, kind, flags } = self.heads[change.record as usize];
        let body = &self.bytes[at as usize..][..bytes as usize];
        RawRecord { lsn, end, xid, epoch: 0, kind, flags, durable: Lsn(0), body }
    }

    /// Where the record of a change ends, which is the LSN of the page that has the change.
    pub(super) fn end(&self, change: &Change) -> Lsn {
        self.heads[change.record as usize].end
    }

    /// Everything is done. The memory stays for the next one.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.heads.clear();
        self.changes.clear();
    }
}
