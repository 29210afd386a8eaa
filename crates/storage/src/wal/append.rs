//! Putting a record at the end of the log.

use super::record::{self, RecordBody};
use super::{Room, Wal};
use base::{Lsn, Xid};
use kernel::sync::Critical;
use std::sync::atomic::Ordering::*;

/// Where a record lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Its first byte.
    pub start: Lsn,
    /// Behind its last byte: the LSN of the pages it changed.
    pub end: Lsn,
}

impl Room {
    /// Appends a record. It takes of this room what [`super::space::record_bytes`] says; to have too little is a bug.
    pub fn append(&mut self, xid: Xid, flags: u8, body: &impl RecordBody) -> Span {
        self.append_and(xid, flags, body, |_| ())
    }

    /// The same; `at` is called under the spinlock with the record's end, before anybody can see the record (rule 1).
    pub(crate) fn append_and(&mut self, xid: Xid, flags: u8, body: &impl RecordBody, at: impl FnOnce(Lsn)) -> Span {
        self.scratch.clear();
        let epoch = self.wal.epoch();
        let draft = record::encode(&mut self.scratch, xid, epoch, flags, body);
        let bytes = draft.bytes as u64;
        assert!(bytes <= self.left, "a log record of {bytes} bytes in room for {}", self.left);
        let Wal { ring, tail, .. } = self.wal;
        let critical = Critical::enter();
        let span = {
            let mut insert = tail.insert.lock();
            let start = insert.position;
            let end = start + bytes;
            draft.seal(&mut self.scratch, Lsn(start), Some(self.wal.durable()));
            assert!(end - self.wal.floor() <= ring.len() as u64, "the log's ring overflows");
            ring.put(start, &self.scratch);
            insert.position = end;
            at(Lsn(end));
            // Release: who sees the new end sees the record's bytes, and the commit's entry in the map.
            tail.inserted.store(end, Release);
            Span { start: Lsn(start), end: Lsn(end) }
        };
        self.spend(bytes);
        drop(critical);
        span
    }
}
