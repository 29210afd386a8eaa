//! What sessions do to relations, counted: a few notes that are a session's own, added to the relations' rows when its transaction ends.
//!
//! ```text
//!  a row is inserted, a scan begins ---> the session's note of the relation        (plain stores, nobody else writes there)
//!                                             |   the transaction's end: what it changed; now and then what it read
//!                                             v
//!                                       the relation's row                         (additions that everybody makes)
//! ```
//!
//! A session has [`NOTES`] notes. Which one a relation has follows from its number; if another relation has it, what that one's says goes
//! to its row at once, as if the transaction had committed.
//!
//! Rules
//! 1. A note is written by its session alone: by the engine that runs it, or by whoever ends it. Others read it as it is.
//! 2. What was changed shows in a relation's row when the transaction is over. What was read stays in the notes for a while, and readers of
//!    the counts add it ([`Counts::read`]): so a statement that only reads writes to nothing that is shared.
//! 3. Counts are for choices and for people. What a savepoint takes back counts as done; a crash, and a new start, forgets them all.

use super::row::Row;
use base::{RelId, SessionId};
use kernel::region;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Notes of a session.
const NOTES: usize = 16;
/// So many transactions that only read end before what they read goes to the rows.
const PATIENCE: u32 = 64;

kernel::shared! {
    /// What a session did to a relation.
    struct Note {
        /// The relation's number.
        rel: AtomicU64,
        inserted: AtomicU64,
        updated: AtomicU64,
        hot_updated: AtomicU64,
        deleted: AtomicU64,
        scans: AtomicU64,
        returned: AtomicU64,
        fetched: AtomicU64,
    }

    /// Which notes of a session are in use, as bits; which of them tell of changes; how many transactions have ended since all of them
    /// were added.
    struct Used {
        notes: AtomicU32,
        changes: AtomicU32,
        ended: AtomicU32,
        unused: AtomicU32,
    }
}

/// What was read of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Read {
    /// Scans that were begun.
    pub scans: u64,
    /// Rows that scans of a table gave, or entries that scans of an index did.
    pub returned: u64,
    /// Rows of a table that scans of an index have fetched; counted at the index.
    pub fetched: u64,
}

/// What was changed in a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Changed {
    pub(crate) inserted: u64,
    /// Updates that touched an index, and those that did not.
    pub(crate) updated: u64,
    pub(crate) hot_updated: u64,
    pub(crate) deleted: u64,
}

impl Changed {
    /// Changed rows.
    pub(crate) fn rows(&self) -> u64 {
        self.inserted + self.updated + self.hot_updated + self.deleted
    }
}

/// All notes; references into the region.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    used: &'static [Used],
    notes: &'static [Note],
}

/// Adds to a count that nobody else changes.
#[inline]
fn add(count: &AtomicU64, more: u64) {
    count.store(count.load(Relaxed) + more, Relaxed);
}

impl Note {
    fn changed(&self) -> Changed {
        Changed {
            inserted: self.inserted.load(Relaxed),
            updated: self.updated.load(Relaxed),
            hot_updated: self.hot_updated.load(Relaxed),
            deleted: self.deleted.load(Relaxed),
        }
    }

    fn read(&self) -> Read {
        Read {
            scans: self.scans.load(Relaxed),
            returned: self.returned.load(Relaxed),
            fetched: self.fetched.load(Relaxed),
        }
    }

    fn clear(&self) {
        let all = [
            &self.rel,
            &self.inserted,
            &self.updated,
            &self.hot_updated,
            &self.deleted,
            &self.scans,
            &self.returned,
            &self.fetched,
        ];
        all.into_iter().for_each(|count| count.store(0, Relaxed));
    }
}

#[inline]
fn place(rel: RelId) -> usize {
    rel.0 as usize % NOTES
}

impl Counts {
    /// Takes the notes. Before the first engine.
    pub(super) fn make() -> Counts {
        let sessions = kernel::session::slots().len();
        Counts {
            used: region::table("relation counts", sessions),
            notes: region::table("relation count notes", sessions * NOTES),
        }
    }

    /// The running session's note of a relation. `row_of` leads to the row of the relation whose note makes room.
    #[inline]
    fn note(&self, rel: RelId, changes: bool, row_of: impl FnOnce(RelId) -> Option<&'static Row>) -> &'static Note {
        let (session, place) = (kernel::session::current_id().0 as usize, place(rel));
        let (used, note) = (&self.used[session], &self.notes[session * NOTES + place]);
        let known = note.rel.load(Relaxed);
        if known != u64::from(rel.0) {
            if known != 0 {
                settle(note, true, row_of(RelId(known as u32)));
            }
            note.rel.store(rel.0.into(), Relaxed);
        }
        let bit = 1 << place;
        used.notes.store(used.notes.load(Relaxed) | bit, Relaxed);
        if changes {
            used.changes.store(used.changes.load(Relaxed) | bit, Relaxed);
        }
        note
    }

    /// Has the running session a note of a relation?
    #[inline]
    pub(super) fn knows(&self, rel: RelId) -> bool {
        let session = kernel::session::current_id().0 as usize;
        self.notes[session * NOTES + place(rel)].rel.load(Relaxed) == u64::from(rel.0)
    }

    /// The running session has changed rows.
    #[inline]
    pub(super) fn changed(&self, rel: RelId, more: Changed, row_of: impl FnOnce(RelId) -> Option<&'static Row>) {
        let note = self.note(rel, true, row_of);
        add(&note.inserted, more.inserted);
        add(&note.updated, more.updated);
        add(&note.hot_updated, more.hot_updated);
        add(&note.deleted, more.deleted);
    }

    /// The running session has read rows.
    #[inline]
    pub(super) fn has_read(&self, rel: RelId, more: Read, row_of: impl FnOnce(RelId) -> Option<&'static Row>) {
        let note = self.note(rel, false, row_of);
        add(&note.scans, more.scans);
        add(&note.returned, more.returned);
        add(&note.fetched, more.fetched);
    }

    /// A session's transaction is over; `ends` says that the session is as well.
    pub(super) fn settle(
        &self,
        session: SessionId,
        committed: bool,
        ends: bool,
        row_of: impl Fn(RelId) -> Option<&'static Row>,
    ) {
        let used = &self.used[session.0 as usize];
        let (notes, changes) = (used.notes.load(Relaxed), used.changes.load(Relaxed));
        if notes == 0 {
            return;
        }
        let ended = used.ended.load(Relaxed) + 1;
        let mut due = if ends || ended >= PATIENCE { notes } else { changes };
        used.ended.store(if due == notes { 0 } else { ended }, Relaxed);
        used.notes.store(notes & !due, Relaxed);
        used.changes.store(0, Relaxed);
        while due != 0 {
            let place = due.trailing_zeros() as usize;
            due &= due - 1;
            let note = &self.notes[session.0 as usize * NOTES + place];
            settle(note, committed, row_of(RelId(note.rel.load(Relaxed) as u32)));
        }
    }

    /// What sessions have read of a relation and not added to its row yet.
    pub(super) fn read(&self, rel: RelId) -> Read {
        let mut all = Read::default();
        for session in 0..kernel::session::slots_reached().len() {
            let note = &self.notes[session * NOTES + place(rel)];
            if note.rel.load(Relaxed) == u64::from(rel.0) {
                let read = note.read();
                all.scans += read.scans;
                all.returned += read.returned;
                all.fetched += read.fetched;
            }
        }
        all
    }
}

/// Adds a note to the relation's row, if there still is one, and takes it back.
fn settle(note: &Note, committed: bool, row: Option<&Row>) {
    let (changed, read) = (note.changed(), note.read());
    note.clear();
    if let Some(row) = row {
        row.add_changed(&changed, committed);
        row.add_read(&read);
    }
}
