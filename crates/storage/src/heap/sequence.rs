//! The counter of a sequence: one row of its own heap, which is no row's history. It is changed in place, for everybody at once, and
//! stays changed whatever becomes of the transaction.
//!
//! ```text
//!   on the page   last value given out | value that the log has | called | epoch
//!   in the log    the second of these, as if it had been given out: an advance is logged once for many values
//! ```
//!
//! Rules
//! 1. Nobody is given a value beyond the one that the log has. Who needs a further one logs it first, and takes a transaction id, so
//!    that his commit waits for the log.
//! 2. A page may reach the disk with a value that the log does not know of, or without one that was given out. So a row from before a
//!    server that ended without a word counts as if all that was logged had been given out; after a clean stop it is exact.
//!
//! What this does not do: know bounds, steps, or what a session keeps for itself; the caller's function does.

use super::{Heap, view};
use crate::buffer;
use crate::page::heap::HeapPageMut;
use crate::page::{PageBytes, Tid, damaged};
use crate::wal::record::HeapOverwrite;
use crate::wal::space::record_bytes;
use base::{Error, PageId, Result};

/// The place of the row.
const PLACE: Tid = Tid::new(0, 0);
const ROW_BYTES: usize = 24;

/// A sequence's counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceState {
    /// The last value that was given out; the first one to give out if none was.
    pub last: i64,
    /// True if `last` was given out.
    pub called: bool,
    /// Values from `last` up to this one may be given out without another record.
    pub logged: i64,
}

/// What becomes of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advance {
    /// It stays as it is.
    Keep,
    /// It becomes this; what was logged suffices.
    Move(SequenceState),
    /// It becomes this, and is logged.
    Log(SequenceState),
}

impl SequenceState {
    /// A counter whose first value is to be this.
    pub fn starting_at(start: i64) -> SequenceState {
        SequenceState { last: start, called: false, logged: start }
    }

    /// What a restart is to find.
    fn in_the_log(self) -> SequenceState {
        SequenceState { last: self.logged, called: self.called || self.logged != self.last, ..self }
    }

    fn row(self, epoch: u32) -> [u8; ROW_BYTES] {
        let mut row = [0; ROW_BYTES];
        row[..8].copy_from_slice(&self.last.to_le_bytes());
        row[8..16].copy_from_slice(&self.logged.to_le_bytes());
        row[16..20].copy_from_slice(&epoch.to_le_bytes());
        row[20] = self.called.into();
        row
    }

    /// The counter on a page, where what `clean_since` and later servers wrote is exact.
    fn on(page: &PageBytes, clean_since: u32) -> Result<SequenceState> {
        let broken = || damaged(page, format_args!("it holds no counter of a sequence"));
        let heap = crate::page::heap::HeapPage::new(page);
        let version = heap.version(PLACE.slot).ok_or_else(broken)?;
        let row: &[u8; ROW_BYTES] = version.row().try_into().map_err(|_| broken())?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| row[at + byte]));
        let epoch = word(16) as u32;
        let state = SequenceState { last: word(0) as i64, logged: word(8) as i64, called: row[20] != 0 };
        let exact = epoch >= clean_since || kernel::fault::planted("sql.sequence_forgotten");
        Ok(if exact { state } else { state.in_the_log() })
    }
}

impl Heap {
    /// Puts the counter into a heap that was made for it. By whoever made the heap, before anybody else knows it.
    ///
    /// Errors: those of [`Heap::insert`].
    pub fn create_sequence(&self, state: SequenceState) -> Result<()> {
        let row = state.in_the_log().row(self.relations.wal.epoch());
        match self.insert(0, &row)? {
            PLACE => Ok(()),
            other => Err(Error::corruption(format!("a sequence's counter was put at {other:?}"))),
        }
    }

    /// Changes the counter as `change` says, and answers what `change` answers. It may be called again with what the counter is then:
    /// it only computes. Two calls at one time follow one another.
    ///
    /// Errors: those of `change`, of pinning and of the log.
    pub fn sequence<R>(&self, mut change: impl FnMut(SequenceState) -> Result<(Advance, R)>) -> Result<R> {
        let wal = &self.relations.wal;
        let id = PageId { rel: self.rel, block: PLACE.block };
        let bytes = record_bytes(&HeapOverwrite { page: id, slot: PLACE.slot, row: &[0; ROW_BYTES] });
        let mut room = None;
        loop {
            let pinned = self.relations.pool.pin(self.page_of(PLACE))?;
            let mut page = pinned.write();
            if view(&page)?.is_none() {
                return Err(damaged(&page, format_args!("it holds no counter of a sequence")));
            }
            let (advance, answer) = change(SequenceState::on(&page, wal.clean_since())?)?;
            let (state, logs) = match advance {
                Advance::Keep => return Ok(answer),
                Advance::Move(state) => (state, false),
                Advance::Log(state) => (state, true),
            };
            if logs {
                let Some(room) = &mut room else {
                    // Neither is asked for with a page latched.
                    drop(page);
                    drop(pinned);
                    self.relations.transactions.xid()?;
                    room = Some(wal.reserve(bytes)?);
                    continue;
                };
                let xid = self.relations.transactions.xid()?;
                let row = state.in_the_log().row(wal.epoch());
                let record = HeapOverwrite { page: id, slot: PLACE.slot, row: &row };
                buffer::log(room, xid, 0, &record, [&mut page], |[bytes]| record.apply(bytes))?;
            }
            let row = state.row(wal.epoch());
            let from = wal.inserted();
            page.redo::<Error>(from, |bytes| {
                HeapPageMut::new(bytes).overwrite(PLACE.slot, &row)?;
                Ok(true)
            })?;
            return Ok(answer);
        }
    }
}
