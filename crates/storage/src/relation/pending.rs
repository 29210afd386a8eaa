//! Files that running transactions have made or dropped: what commit and abort have to do about them.
//!
//! Every session has a list in the region, so that the transaction can go on in another process, and so that whoever cleans
//! up after a death finds it. Lists are short and seldom: all of them share a latch.

use crate::wal::Wal;
use crate::wal::record::{FileDrop, FileExtend, RECORD_ALIGN, RECORD_HEADER_BYTES};
use base::{RelId, Result, SessionId, Xid};
use kernel::region;
use kernel::region::reserve::Reserve;
use kernel::sync::{Latch, Mode};
use kernel::wait::Event;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// What the record of a note takes in the log.
const NOTE_ROOM: usize = (RECORD_HEADER_BYTES + 8).next_multiple_of(RECORD_ALIGN);
/// The most files that all running transactions together can have made or dropped.
const NOTES_MAX: usize = 1 << 16;

kernel::shared! {
    struct Shared {
        latch: Latch,
        /// A note counted from one.
        free: AtomicU32,
        reached: AtomicU32,
        used: AtomicU32,
    }

    /// One file.
    struct Note {
        xid: AtomicU64,
        rel: AtomicU32,
        what: AtomicU32,
        next: AtomicU32,
        unused: AtomicU32,
    }
}

/// What a transaction did to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum What {
    Made = 1,
    Dropped = 2,
}

/// All lists; a value of references into the region.
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    shared: &'static Shared,
    notes: Reserve<Note>,
    /// By session: the first note, counted from one.
    heads: &'static [AtomicU32],
}

impl Pending {
    pub(crate) fn make() -> Pending {
        Pending {
            shared: region::single("pending files state"),
            notes: Reserve::with_step("pending files", NOTES_MAX, 4096),
            heads: region::table("pending files heads", kernel::session::slots().len()),
        }
    }

    /// Adds a note to the running session's list. Errors: `53200`, `53400`.
    pub(crate) fn add(&self, xid: Xid, rel: RelId, what: What) -> Result<()> {
        let head = &self.heads[kernel::session::current_id().0 as usize];
        let shared = self.shared;
        let _latch = shared.latch.lock(Mode::Exclusive, Event::RelationLatch);
        let number = match shared.free.load(Relaxed) {
            0 => {
                let reached = shared.reached.load(Relaxed);
                if reached as usize == NOTES_MAX {
                    return Err(base::Error::statement(
                        base::sqlstate::CONFIGURATION_LIMIT_EXCEEDED,
                        "too many files are made or dropped by open transactions",
                    )
                    .detail(format!("There can be {NOTES_MAX}.")));
                }
                self.notes.back(reached as usize, 1)?;
                shared.reached.store(reached + 1, Relaxed);
                reached
            }
            free => {
                shared.free.store(self.notes.get(free as usize - 1).next.load(Relaxed), Relaxed);
                free - 1
            }
        };
        let note = self.notes.get(number as usize);
        note.xid.store(xid.0, Relaxed);
        note.rel.store(rel.0, Relaxed);
        note.what.store(what as u32, Relaxed);
        note.next.store(head.load(Relaxed), Relaxed);
        shared.used.fetch_add(1, Relaxed);
        head.store(number + 1, Release);
        Ok(())
    }

    /// True if a session has notes.
    #[inline]
    pub(crate) fn any(&self, session: SessionId) -> bool {
        self.heads[session.0 as usize].load(Acquire) != 0
    }

    /// A session's notes, the newest first: transaction, file, what was done.
    pub(crate) fn of(&self, session: SessionId) -> Vec<(Xid, RelId, What)> {
        let mut found = Vec::new();
        let mut at = self.heads[session.0 as usize].load(Acquire);
        while at != 0 {
            let note = self.notes.get(at as usize - 1);
            let what = if note.what.load(Relaxed) == What::Made as u32 { What::Made } else { What::Dropped };
            found.push((Xid(note.xid.load(Relaxed)), RelId(note.rel.load(Relaxed)), what));
            at = note.next.load(Relaxed);
        }
        found
    }

    /// Logs what the notes say once more, for a checkpoint: a recovery that begins after their first records has to know of files that
    /// nobody may want. Notes are neither added nor taken away meanwhile, so that no record of a file follows the end of it.
    ///
    /// Errors: those of [`Wal::reserve`], where there are too many notes for it; then files may be left after a crash.
    pub(crate) fn log_again(&self, wal: Wal, ended: impl Fn(Xid) -> bool) -> Result<()> {
        let mut room = wal.reserve(0)?;
        loop {
            let shared = self.shared;
            let latch = shared.latch.lock(Mode::Exclusive, Event::RelationLatch);
            let bytes = shared.used.load(Relaxed) as usize * NOTE_ROOM;
            if bytes > room.left() {
                drop((latch, room));
                room = wal.reserve(bytes + 16 * NOTE_ROOM)?;
                continue;
            }
            for session in 0..self.heads.len() as u32 {
                for (xid, rel, what) in self.of(SessionId(session)) {
                    match what {
                        What::Made => drop(room.append(xid, 0, &FileExtend { rel, blocks: 0 })),
                        What::Dropped if ended(xid) => drop(room.append(Xid(0), 0, &FileDrop { rel })),
                        What::Dropped => {}
                    }
                }
            }
            return Ok(());
        }
    }

    /// Empties a session's list.
    pub(crate) fn clear(&self, session: SessionId) {
        self.clear_from(session, Xid(0));
    }

    /// Takes the notes of transactions and children from `from` on out of a session's list. The newest are at its head, and those have the
    /// highest ids but for levels that were released: the rest of the list is looked at too.
    pub(crate) fn clear_from(&self, session: SessionId, from: Xid) {
        let head = &self.heads[session.0 as usize];
        if head.load(Relaxed) == 0 {
            return;
        }
        let shared = self.shared;
        let _latch = shared.latch.lock(Mode::Exclusive, Event::RelationLatch);
        let mut before: &AtomicU32 = head;
        loop {
            let at = before.load(Relaxed);
            if at == 0 {
                return;
            }
            let note = self.notes.get(at as usize - 1);
            if note.xid.load(Relaxed) < from.0 {
                before = &note.next;
                continue;
            }
            before.store(note.next.load(Relaxed), Release);
            note.next.store(shared.free.load(Relaxed), Relaxed);
            shared.free.store(at, Relaxed);
            shared.used.fetch_sub(1, Relaxed);
        }
    }

    pub(crate) fn used(&self) -> u32 {
        self.shared.used.load(Relaxed)
    }
}
