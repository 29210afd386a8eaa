//! The write-ahead log: one stream of records, in memory at its end and in files before that.
//!
//! A position in it, an LSN, counts bytes since the database was made. The stream is cut into *segments*, files of
//! [`SEGMENT_BYTES`]; a record begins where the one before it ended, whatever boundaries lie between.
//!
//! ```text
//!   oldest segment      redo (control file)          durable            inserted
//!   |-------------------|----------------------------|##################|         reserved ...
//!   files, recycled     files, needed by a recovery  | in the ring only |
//!                                                    floor: blocks from here on are kept in the ring
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | [`record`] | what records say, byte by byte |
//! | [`space`] | [`Room`]: space in the ring, reserved before latches are taken |
//! | [`append`] | putting a record at the end |
//! | [`flush`] | leader and followers; what is durable, what is visible |
//! | [`segments`] | the files: made ahead, recycled, removed |
//! | [`reader`] | reading the stream back, and finding its end |
//!
//! Rules
//! 1. The order of records is the order in which [`Room::append`] took the spinlock `wal_insert`; a commit's entry in the
//!    transaction map is made under the same spinlock, so that commit order is log order.
//! 2. Room is reserved ([`Wal::reserve`]) before a latch is taken, since making room may need a flush and a flush may need
//!    a session that waits for that latch. With room in hand appending waits for nothing.
//! 3. Whole blocks of 4 KiB are written; the last one is written again when more of it is filled. A torn write of it cannot
//!    harm the records that were durable, because their bytes do not change.
//! 4. `durable` moves to ends of records only, after the write of everything before it. A commit is visible when it is
//!    durable: the snapshot of a reader is the durable end of the log, one load.
//! 5. A write of the log that fails stops the server: nobody knows then what is on disk.
//!
//! One commit: reserve room, encode the record, append it (the map says *committed* from here on, but no snapshot reaches
//! that far), [`Wal::flush`] up to its end as leader or follower, acknowledge.
//!
//! What this does not do: decide what is logged, apply records, keep anything about transactions.

pub mod append;
pub mod flush;
pub mod reader;
pub mod record;
pub mod segments;
pub mod space;

pub use append::Span;
pub use space::Room;

use base::{Lsn, Result};
use kernel::region;
use kernel::region::ring::Ring;
use kernel::sync::{Critical, Latch, Spin, SpinName, WaitList};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Bytes of a log file.
pub const SEGMENT_BYTES: u64 = 16 << 20;
/// What is written to a log file is made of such blocks.
pub const BLOCK: u64 = 4096;
/// Where the log of a new database begins: not at zero, which is no position.
pub const FIRST_LSN: Lsn = Lsn(SEGMENT_BYTES);
/// The smallest ring.
pub const RING_BYTES_MIN: u64 = 256 << 10;

kernel::shared! {
    /// What the spinlock `wal_insert` guards.
    struct Insert {
        /// Where the next record goes.
        position: u64,
    }

    /// The end of the log, as appending sees it.
    struct Tail {
        insert: Spin<Insert>,
        /// Everything before this is in the ring or on disk. Stored under the spinlock, read without.
        inserted: AtomicU64,
        /// Bytes that rooms have and records have not taken.
        reserved: AtomicU64,
        /// Sessions that wait for room.
        space: WaitList,
        /// The number of this start of the server.
        epoch: AtomicU32,
        /// The first start after the last one that ended without a word.
        clean_since: AtomicU32,
    }

    /// The end of the log, as flushing sees it.
    struct Head {
        /// Everything before this is on disk.
        durable: AtomicU64,
        /// The session that writes, counted from one; zero if nobody does.
        leader: AtomicU32,
        unused: AtomicU32,
        followers: WaitList,
        flushes: AtomicU64,
        flushed_bytes: AtomicU64,
        followed: AtomicU64,
    }

    /// The files.
    struct Files {
        latch: Latch,
        /// Segments below this number exist, down to `oldest`.
        made: AtomicU64,
        oldest: AtomicU64,
        created: AtomicU64,
        recycled: AtomicU64,
        removed: AtomicU64,
    }

    /// What a session has of the log: written by it, read by the clean-up.
    struct Share {
        /// Bytes of room.
        room: AtomicU64,
    }
}

/// The log; a value of references into the region.
#[derive(Clone, Copy)]
pub struct Wal {
    ring: Ring,
    tail: &'static Tail,
    head: &'static Head,
    files: &'static Files,
    shares: &'static [Share],
}

/// Counts for views.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WalUsage {
    /// Writes of the log's end.
    pub flushes: u64,
    /// Bytes written by them.
    pub flushed_bytes: u64,
    /// Flushes that were another session's work.
    pub followed: u64,
    /// Segments that were made.
    pub created: u64,
    /// Segments that were renamed to be used again.
    pub recycled: u64,
    /// Segments that were removed.
    pub removed: u64,
    /// Segments that there are.
    pub segments: u64,
}

impl Wal {
    /// Takes the log's tables. `ring_bytes` is rounded to a power of two. Before the first engine. Errors: `53200`.
    pub fn make(ring_bytes: u64) -> Result<Wal> {
        let bytes = ring_bytes.max(RING_BYTES_MIN);
        let bytes = if bytes.is_power_of_two() { bytes } else { bytes.next_power_of_two() / 2 };
        let wal = Wal {
            ring: Ring::make("log buffer", bytes as usize)?,
            tail: region::single("log tail"),
            head: region::single("log head"),
            files: region::single("log files"),
            shares: region::table("log rooms", kernel::session::slots().len()),
        };
        wal.tail.insert.publish(SpinName::WalInsert, 0);
        Ok(wal)
    }

    /// The end of the log in memory: every record before it is whole.
    #[inline]
    pub fn inserted(&self) -> Lsn {
        // Acquire pairs with the Release of `append`.
        Lsn(self.tail.inserted.load(Acquire))
    }

    /// The end of the log on disk.
    #[inline]
    pub fn durable(&self) -> Lsn {
        // Acquire pairs with the Release of the leader: who sees the end sees the map entries of the commits before it.
        Lsn(self.head.durable.load(Acquire))
    }

    /// Commits before this are visible: the newest snapshot.
    #[inline]
    pub fn visible(&self) -> Lsn {
        if kernel::fault::planted("wal.visible_early") { self.inserted() } else { self.durable() }
    }

    /// The number of this start of the server, which every record carries.
    pub fn epoch(&self) -> u32 {
        self.tail.epoch.load(Relaxed)
    }

    /// The first of the starts since which every server was stopped cleanly: what they left on pages is what they knew.
    pub fn clean_since(&self) -> u32 {
        self.tail.clean_since.load(Relaxed)
    }

    /// Puts the end of the log where recovery, or a new database, says it is. `last_block` is what the block of `end` holds
    /// before `end`. Before anything is appended.
    pub(crate) fn open(&self, end: Lsn, last_block: &[u8], (epoch, clean_since): (u32, u32)) {
        assert!(end.0.is_multiple_of(8) && last_block.len() as u64 == end.0 % BLOCK);
        self.ring.put(end.0 - last_block.len() as u64, last_block);
        self.tail.epoch.store(epoch, Relaxed);
        self.tail.clean_since.store(clean_since, Relaxed);
        self.tail.insert.lock().position = end.0;
        self.tail.inserted.store(end.0, Release);
        self.head.durable.store(end.0, Release);
    }

    /// Says how far recovery has come: what it has read is durable, and pages with such changes may be written.
    pub(crate) fn recovered_to(&self, end: Lsn) {
        self.tail.inserted.fetch_max(end.0, AcqRel);
        self.head.durable.fetch_max(end.0, AcqRel);
    }

    /// Counts for views.
    pub fn usage(&self) -> WalUsage {
        WalUsage {
            flushes: self.head.flushes.load(Relaxed),
            flushed_bytes: self.head.flushed_bytes.load(Relaxed),
            followed: self.head.followed.load(Relaxed),
            created: self.files.created.load(Relaxed),
            recycled: self.files.recycled.load(Relaxed),
            removed: self.files.removed.load(Relaxed),
            segments: self.files.made.load(Relaxed).saturating_sub(self.files.oldest.load(Relaxed)),
        }
    }

    /// Bytes of the ring.
    pub fn ring_bytes(&self) -> u64 {
        self.ring.len() as u64
    }

    /// Gives back what a dead session had of the log. Only the clean-up calls it.
    pub(crate) fn forget_dead(&self, dead: base::SessionId) {
        let share = &self.shares[dead.0 as usize];
        let critical = Critical::enter();
        let room = share.room.swap(0, AcqRel);
        self.tail.reserved.fetch_sub(room, SeqCst);
        drop(critical);
        self.post_space();
        self.abdicate(dead);
    }
}
