//! Room in the log's ring: reserved before latches are taken, used by appending, given back by its drop.
//!
//! The ring holds what is not on disk yet. If sessions that hold page latches had to wait until a flush has made room, the
//! flush might in turn wait for one of them; so everybody reserves what a statement's next records can take at most
//! while it holds no latch, and appends without a look at the ring.
//!
//! Rules
//! 1. `inserted - floor + reserved` never exceeds the ring: `reserved` is raised before the sum is tested, and lowered
//!    after `inserted` has been raised.
//! 2. What a session has of the reserved room is its share, so that a death gives it back: both change in one critical section.
//! 3. Who waits for room holds no latch; it flushes the log itself if there is anything to flush.
//! 4. Room is room on disk as well: the segments are there up to the end of everything that is reserved, so that a full disk is an
//!    error of whoever wants to begin something, and never of a flush, which has promised its records already. Beyond that
//!    [`SPARE`] is left for those that give space back: a checkpoint's record, and aborts.

use super::record::{Length, RECORD_ALIGN, RECORD_HEADER_BYTES, RecordBody};
use super::{BLOCK, SEGMENT_BYTES, Wal};
use base::{Error, Result, SessionId, sqlstate};
use kernel::sync::Critical;
use kernel::wait::{self, Event};
use kernel::{clock, session};
use std::sync::atomic::Ordering::*;

/// How long a session that waits for others to give room back sleeps at most before it looks again.
const PATIENCE_NS: u64 = 10_000_000;

/// Bytes of the segments that only [`Wal::reserve_spare`] takes.
const SPARE: u64 = 1 << 20;

/// Space in the log for records of this session. The rest goes back when it is dropped.
pub struct Room {
    pub(super) wal: Wal,
    pub(super) session: SessionId,
    pub(super) left: u64,
    /// Where records are encoded.
    pub(super) scratch: Vec<u8>,
}

/// Bytes that a record with that body takes in the log.
pub fn record_bytes(body: &impl RecordBody) -> usize {
    let mut length = Length::default();
    body.encode(&mut length);
    (RECORD_HEADER_BYTES + length.0).next_multiple_of(RECORD_ALIGN)
}

impl Wal {
    /// Reserves room for records of at most `bytes` bytes together, waiting until there is room. The session holds no latch.
    ///
    /// Errors: `53400` when the ring is too small for that many; `53100` when the log's disk is full.
    pub fn reserve(&self, bytes: usize) -> Result<Room> {
        self.reserve_before(bytes, SPARE)
    }

    /// The same for what gives space back, or ends what holds it: it may use the log to the end of its files. Errors: the same.
    pub(crate) fn reserve_spare(&self, bytes: usize) -> Result<Room> {
        self.reserve_before(bytes, 0)
    }

    fn reserve_before(&self, bytes: usize, spare: u64) -> Result<Room> {
        debug_assert_eq!(session::latches_held(), 0, "room in the log is reserved with a latch held");
        let bytes = bytes.next_multiple_of(RECORD_ALIGN) as u64;
        if bytes > self.ring_bytes() / 2 {
            return Err(Error::statement(
                sqlstate::CONFIGURATION_LIMIT_EXCEEDED,
                "a change is too large for the log's buffer",
            )
            .detail(format!("It may take {bytes} bytes; a change may take half of {}.", self.ring_bytes()))
            .hint("Raise wal_buffers."));
        }
        let session = session::current_id();
        while !self.try_take(session, bytes) {
            self.make_room();
        }
        let room = Room { wal: *self, session, left: bytes, scratch: Vec::new() };
        // Rule 4. Reserved before inserted: a record that moves from one to the other meanwhile is counted twice, not missed.
        let reserved = self.tail.reserved.load(SeqCst);
        self.ensure_segment((self.inserted().0 + reserved + spare) / SEGMENT_BYTES)?;
        Ok(room)
    }

    fn try_take(&self, session: SessionId, bytes: u64) -> bool {
        let _critical = Critical::enter();
        // Rule 1.
        let reserved = self.tail.reserved.fetch_add(bytes, SeqCst) + bytes;
        let used = self.inserted().0 - self.floor();
        if used + reserved <= self.ring_bytes() {
            let share = &self.shares[session.0 as usize].room;
            share.store(share.load(Relaxed) + bytes, Release);
            return true;
        }
        self.tail.reserved.fetch_sub(bytes, SeqCst);
        false
    }

    /// Where the part of the stream begins that is still needed in the ring: the last durable block is written again.
    pub(super) fn floor(&self) -> u64 {
        self.durable().0 / BLOCK * BLOCK
    }

    /// Flushes, or waits until others give their room back.
    #[cold]
    fn make_room(&self) {
        let inserted = self.inserted();
        if self.durable() < inserted {
            self.flush(inserted);
            return;
        }
        let tail = self.tail;
        tail.space.enter(0);
        wait::wait(Event::WalSpace, tail.reserved.load(Relaxed), Some(clock::now() + PATIENCE_NS));
        tail.space.leave();
    }

    /// Tells those who wait for room to look again.
    pub(super) fn post_space(&self) {
        if !self.tail.space.is_empty() {
            self.tail.space.post_all();
        }
    }
}

impl Room {
    /// Bytes that are left.
    pub fn left(&self) -> usize {
        self.left as usize
    }

    /// The log that it is room in.
    pub fn wal(&self) -> &Wal {
        &self.wal
    }

    /// Counts `bytes` as used by a record: out of the ring's reserved part, and out of the session's share.
    pub(super) fn spend(&mut self, bytes: u64) {
        self.left -= bytes;
        self.wal.tail.reserved.fetch_sub(bytes, SeqCst);
        let share = &self.wal.shares[self.session.0 as usize].room;
        share.store(share.load(Relaxed) - bytes, Release);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.left == 0 {
            return;
        }
        let critical = Critical::enter();
        self.wal.tail.reserved.fetch_sub(self.left, SeqCst);
        let share = &self.wal.shares[self.session.0 as usize].room;
        share.store(share.load(Relaxed) - self.left, Release);
        drop(critical);
        self.wal.post_space();
    }
}
