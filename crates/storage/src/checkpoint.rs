//! Checkpoints: the point from which recovery begins moves forward, and the log behind it is free.
//!
//! ```text
//!  target = end of the log --> pages that were dirty before it are written --> where does the log begin to be needed?
//!     --> data files are flushed --> who runs, who aborted --> checkpoint record --> log flushed --> control file --> log recycled
//! ```
//!
//! Nobody is held up: sessions change pages meanwhile, and what they make dirty is what the next checkpoint writes.
//!
//! Rules
//! 1. `redo` is at or before the first record of every change that is not in a flushed file: the oldest dirt of any frame, or of the
//!    batch on its way, or the end of the log as it was before both were looked at. A change whose page is marked later is logged
//!    later ([`crate::buffer::change`]).
//! 2. The files are flushed after `redo` was computed: what was clean then has been written before, and is durable now.
//! 3. Transactions are looked at after `redo`: first those that run, then those that aborted. One that is in neither list and has no record
//!    behind `redo` has committed.
//! 4. The control file names a checkpoint only when its record is durable, and the log before `redo` goes only when the control file is.
//! 5. Files that were made by transactions which have not ended, and files that commits have dropped and nobody has removed yet, are
//!    logged once more: their records may be before `redo`.
//!
//! When: every `checkpoint_timeout`, when the log since the last one is half of `max_wal_size`, when asked for, and at the end.

use crate::Storage;
use crate::control::{Control, State};
use crate::txn::Status;
use crate::wal::record::{Abort, Checkpoint};
use crate::wal::{SEGMENT_BYTES, space};
use base::{Error, Lsn, Result, SessionId, Xid, sqlstate};
use kernel::sync::WaitList;
use kernel::wait::{self, Event, Woken};
use kernel::{clock, session};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// How often the checkpointer looks whether one is due.
const LOOK_NS: u64 = 200_000_000;
/// How long it waits after a checkpoint that failed.
const PAUSE_AFTER_ERROR_NS: u64 = 5_000_000_000;
/// A checkpoint that is not urgent takes at most this part of `checkpoint_timeout`, in percent.
const SPREAD_PERCENT: u64 = 50;
/// The longest pause between two batches of one.
const PAUSE_MAX_NS: u64 = 100_000_000;
/// Transactions in one record of aborted ones.
const ABORTED_IN_RECORD: usize = 4000;
/// Seconds from 1970 to 2000.
const EPOCH_2000_S: i64 = 946_684_800;

kernel::shared! {
    /// What sessions share of checkpoints.
    pub(crate) struct CheckpointShared {
        /// The session that makes one, counted from one; zero if nobody does. Not a latch, because it may take minutes.
        maker: AtomicU32,
        /// The checkpointer's session, counted from one; zero if there is none.
        task: AtomicU32,
        /// Checkpoints that were asked for, begun and done; those that failed count as done.
        asked: AtomicU64,
        begun: AtomicU64,
        done: AtomicU64,
        failed: AtomicU64,
        waiters: WaitList,
        /// The last one: where the log is needed from, where its record is and ends, when it was.
        redo: AtomicU64,
        record: AtomicU64,
        record_end: AtomicU64,
        at_ns: AtomicU64,
        /// The longest distance between two of them, decaying: how much log to keep ready.
        distance: AtomicU64,
        database: AtomicU64,
        timeout_ns: AtomicU64,
        min_wal_bytes: AtomicU64,
        max_wal_bytes: AtomicU64,
    }
}

/// How a checkpoint is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// As fast as possible.
    Fast,
    /// Over a part of the time until the next one, so that others hardly notice.
    Spread,
    /// As fast as possible, and nothing is going to follow: the server stops.
    Last,
}

/// Counts for views.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointUsage {
    /// Checkpoints since the start, failed ones included.
    pub done: u64,
    /// Those that failed.
    pub failed: u64,
    /// Where recovery would begin.
    pub redo: Lsn,
    /// Where the last checkpoint's record is.
    pub record: Lsn,
}

impl CheckpointShared {
    /// Sets what settings say.
    pub(crate) fn set_limits(&self, timeout_ns: u64, min_wal_bytes: u64, max_wal_bytes: u64) {
        self.timeout_ns.store(timeout_ns, Relaxed);
        self.min_wal_bytes.store(min_wal_bytes, Relaxed);
        self.max_wal_bytes.store(max_wal_bytes, Relaxed);
    }

    /// Takes over what recovery found.
    pub(crate) fn open(&self, database: u64, redo: Lsn) {
        self.database.store(database, Relaxed);
        self.redo.store(redo.0, Relaxed);
        self.at_ns.store(clock::now(), Relaxed);
    }
}

impl Storage {
    /// Makes a checkpoint. Errors: `58030`, `53100`; the one before stands then.
    pub(crate) fn make_checkpoint(&'static self, pace: Pace) -> Result<()> {
        let shared = self.checkpoints;
        let me = session::current_id();
        while shared.maker.compare_exchange(0, me.0 + 1, SeqCst, SeqCst).is_err() {
            shared.waiters.enter(0);
            if shared.maker.load(SeqCst) != 0 {
                // Another one is being made, and notices that somebody is in a hurry: the list has somebody.
                wait::wait_uninterruptible(Event::ControlFileWrite, 0);
            }
            shared.waiters.leave();
        }
        let asked = shared.asked.load(SeqCst);
        shared.begun.store(asked, SeqCst);
        let result = self.checkpoint_steps(pace);
        shared.failed.fetch_add(result.is_err() as u64, Relaxed);
        shared.at_ns.store(clock::now(), Relaxed);
        shared.done.fetch_max(asked, SeqCst);
        shared.maker.store(0, SeqCst);
        shared.waiters.post_all();
        result
    }

    /// Lets others make checkpoints after the death of a session that made one.
    pub(crate) fn forget_checkpoint_of(&self, dead: SessionId) {
        let shared = self.checkpoints;
        if shared.maker.compare_exchange(dead.0 + 1, 0, SeqCst, SeqCst).is_ok() {
            shared.waiters.post_all();
        }
    }

    fn checkpoint_steps(&'static self, pace: Pace) -> Result<()> {
        let shared = self.checkpoints;
        let begun = clock::now();
        let forgetful = kernel::fault::planted("checkpoint.redo_too_late");
        if !forgetful {
            let target = self.wal.inserted();
            self.pool.clean_before(target, |done, total| self.pace(pace, begun, target, done, total))?;
        }
        kernel::fault::point("checkpoint.cleaned");
        // Rule 1: the end first, then the frames, then the batch on its way, because pages go from frames to batches.
        let end = self.wal.inserted();
        let redo = if forgetful { end } else { self.oldest_dirt(end) };
        // Rule 2.
        self.pool.double_write().flush_places(self.pool.files());
        kernel::fault::point("checkpoint.flushed");
        // Rule 3.
        let next_xid = self.transactions.settled_next_xid();
        let running = self.transactions.running_below(next_xid);
        let inline = self.log_aborted(next_xid)?;
        // Rule 5. That there are too many of them is no reason to let the log grow.
        let has_committed = |xid| matches!(self.transactions.status(xid), Status::Committed(_) | Status::Ancient);
        if let Err(error) = self.pending.log_again(self.wal, has_committed) {
            eprintln!("gearbox: a crash may leave files of transactions that run now: {error}");
        }
        let (next_oid, next_rel) = self.counters.logged();
        let record = Checkpoint {
            redo,
            timestamp_us: clock::wall_us() + EPOCH_2000_S * 1_000_000,
            next_xid,
            next_oid,
            next_rel,
            running: Cow::Owned(running),
            aborted: Cow::Owned(inline),
        };
        let mut room = self.wal.reserve_spare(space::record_bytes(&record))?;
        let span = room.append(Xid(0), 0, &record);
        drop(room);
        self.wal.flush(span.end);
        kernel::fault::point("checkpoint.logged");
        // Rule 4.
        let state = if pace == Pace::Last { State::Stopped } else { State::InUse };
        let database = shared.database.load(Relaxed);
        Control {
            state,
            database,
            epoch: self.wal.epoch(),
            clean_since: self.wal.clean_since(),
            checkpoint: span.start,
            redo,
        }
        .write()?;
        kernel::fault::point("checkpoint.control");
        let before = shared.redo.swap(redo.0, Relaxed);
        shared.record.store(span.start.0, Relaxed);
        shared.record_end.store(span.end.0, Relaxed);
        self.wal.recycle(redo, self.segments_ahead(redo.0.saturating_sub(before)))
    }

    /// From where the log is needed for pages that are not at their places: in frames, or on their way. `none` if there are none.
    fn oldest_dirt(&self, none: Lsn) -> Lsn {
        let double_write = self.pool.double_write();
        loop {
            // Pages that a device refuses go back from the batch to their frames: then both are looked at again.
            let returned = double_write.returned();
            let dirt = double_write.oldest_dirt(self.pool.oldest_dirt(none));
            if double_write.returned() == returned {
                return dirt;
            }
        }
    }

    /// Logs which transactions have aborted, if they are too many for the checkpoint's own record; answers those that go there.
    fn log_aborted(&'static self, next_xid: Xid) -> Result<Vec<Xid>> {
        let mut aborted = Vec::new();
        self.transactions.map.aborted(next_xid, |xid| aborted.push(xid));
        if aborted.len() <= ABORTED_IN_RECORD {
            return Ok(aborted);
        }
        for part in aborted.chunks(ABORTED_IN_RECORD) {
            let record = Abort { timestamp_us: 0, subxids: Cow::Borrowed(part), dropped: Cow::Borrowed(&[]) };
            self.wal.reserve_spare(space::record_bytes(&record))?.append(Xid(0), 0, &record);
        }
        Ok(Vec::new())
    }

    /// How many segments to keep ready beyond the end of the log: about as many as will be filled until the next checkpoint.
    fn segments_ahead(&self, distance: u64) -> u64 {
        let shared = self.checkpoints;
        let before = shared.distance.load(Relaxed);
        // Rises at once, falls by a tenth.
        let distance = distance.max(before - before / 10);
        shared.distance.store(distance, Relaxed);
        let (min, max) = (shared.min_wal_bytes.load(Relaxed), shared.max_wal_bytes.load(Relaxed));
        (distance + distance / 8).clamp(min.min(max), max) / SEGMENT_BYTES
    }

    /// Pauses between two batches, if there is time.
    fn pace(&self, pace: Pace, begun: u64, target: Lsn, done: usize, total: usize) {
        let shared = self.checkpoints;
        let spread = shared.timeout_ns.load(Relaxed) / 100 * SPREAD_PERCENT;
        let due = begun + (spread as u128 * done as u128 / total.max(1) as u128) as u64;
        let asked = || shared.asked.load(SeqCst) > shared.begun.load(SeqCst);
        let wanted = || asked() || !shared.waiters.is_empty() || session::stopping();
        let log = self.wal.inserted().0 - target.0;
        let hurry = pace != Pace::Spread || wanted() || log > shared.max_wal_bytes.load(Relaxed) / 4;
        let now = clock::now();
        if !hurry && due > now {
            wait::wait(Event::CheckpointerMain, target.0, Some(due.min(now + PAUSE_MAX_NS)));
        }
    }

    /// The checkpointer's life. Until the server stops.
    pub(crate) fn run_checkpointer(&'static self) {
        let shared = self.checkpoints;
        shared.task.store(session::current_id().0 + 1, SeqCst);
        let mut not_before = 0;
        while !session::stopping() {
            let now = clock::now();
            let asked = shared.asked.load(SeqCst) > shared.done.load(SeqCst);
            if let Some(pace) = self.due(now).filter(|_| now >= not_before || asked) {
                if let Err(error) = self.make_checkpoint(pace) {
                    eprintln!("gearbox: a checkpoint failed: {error}");
                    not_before = clock::now() + PAUSE_AFTER_ERROR_NS;
                }
                continue;
            }
            wait::wait(Event::CheckpointerMain, 0, Some(now + LOOK_NS));
        }
        shared.task.store(0, SeqCst);
        shared.waiters.post_all();
    }

    fn due(&self, now: u64) -> Option<Pace> {
        let shared = self.checkpoints;
        if shared.asked.load(SeqCst) > shared.done.load(SeqCst) {
            return Some(Pace::Fast);
        }
        let end = self.wal.inserted().0;
        if end == shared.record_end.load(Relaxed) {
            // Nothing has happened since the last one.
            return None;
        }
        let long_log = end - shared.redo.load(Relaxed) >= shared.max_wal_bytes.load(Relaxed) / 2;
        let old = now.saturating_sub(shared.at_ns.load(Relaxed)) >= shared.timeout_ns.load(Relaxed);
        (long_log || old).then_some(Pace::Spread)
    }

    /// Asks for a checkpoint and waits for its end.
    ///
    /// Errors: `57014` when the wait is cancelled, `58030` when the checkpoint failed.
    pub fn checkpoint(&'static self) -> Result<()> {
        let shared = self.checkpoints;
        let failed = shared.failed.load(SeqCst);
        let asked = shared.asked.fetch_add(1, SeqCst) + 1;
        while shared.done.load(SeqCst) < asked {
            let Some(task) = shared.task.load(SeqCst).checked_sub(1) else {
                // Before the tasks run, or after.
                self.make_checkpoint(Pace::Fast)?;
                continue;
            };
            shared.waiters.enter(0);
            wait::post(SessionId(task));
            let woken = if shared.done.load(SeqCst) < asked {
                wait::wait(Event::CheckpointDone, asked, Some(clock::now() + LOOK_NS))
            } else {
                Woken::Posted
            };
            shared.waiters.leave();
            if let Woken::Interrupted(interrupt) = woken {
                return Err(session::interrupt_error(interrupt));
            }
        }
        if shared.failed.load(SeqCst) != failed {
            return Err(
                Error::statement(sqlstate::IO_ERROR, "the checkpoint failed").hint("The server's log says why.")
            );
        }
        Ok(())
    }

    /// Counts for views.
    pub fn checkpoint_usage(&self) -> CheckpointUsage {
        let shared = self.checkpoints;
        CheckpointUsage {
            done: shared.done.load(Relaxed),
            failed: shared.failed.load(Relaxed),
            redo: Lsn(shared.redo.load(Relaxed)),
            record: Lsn(shared.record.load(Relaxed)),
        }
    }
}
