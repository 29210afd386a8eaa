//! Counters that outlive a restart: object ids and numbers of relations' storages.
//!
//! Numbers are given out from memory; ahead of them a log record says how far they may have got, once for a run of numbers,
//! and every checkpoint repeats it. After a crash counting goes on behind the last run, so some numbers are never used and
//! none is used twice, as far as anything durable knows of it.

use crate::wal::record::{NextOid, NextRel};
use crate::wal::{Wal, space};
use base::{RelId, Result, Xid};
use kernel::region;
use kernel::sync::{Latch, Mode};
use kernel::wait::Event;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// The first object id that is not the catalog's own.
pub const FIRST_OID: u32 = 16_384;
/// The first relation storage that is not the catalog's own.
pub const FIRST_REL: u32 = 16_384;
/// How many numbers one log record covers.
const RUN: u32 = 1024;

kernel::shared! {
    /// A counter: its next number in the low half, the end of the logged run in the high half, so that both change in one.
    struct Counter {
        word: AtomicU64,
        latch: Latch,
        unused: AtomicU32,
    }

    struct CountersShared {
        oid: Counter,
        rel: Counter,
    }
}

/// The counters; a value of references into the region.
#[derive(Clone, Copy)]
pub struct Counters {
    shared: &'static CountersShared,
    wal: Wal,
}

impl Counter {
    fn set(&self, next: u32) {
        self.word.store((next as u64) << 32 | next as u64, Release);
    }

    /// Where counting goes on after a crash.
    fn logged(&self) -> u32 {
        (self.word.load(Acquire) >> 32) as u32
    }

    /// The same, when no run is being logged: what this answers has its record before whatever is logged from now on.
    fn settled(&'static self) -> u32 {
        let _latch = self.latch.lock(Mode::Shared, Event::RelationLatch);
        self.logged()
    }

    fn try_take(&self) -> Option<u32> {
        let taken = self.word.fetch_update(AcqRel, Acquire, |word| {
            let (next, end) = (word as u32, (word >> 32) as u32);
            (next < end).then_some(word + 1)
        });
        taken.ok().map(|word| word as u32)
    }

    fn take(&'static self, wal: &Wal, log: impl Fn(&mut crate::wal::Room, u32)) -> Result<u32> {
        loop {
            if let Some(number) = self.try_take() {
                return Ok(number);
            }
            let mut room = wal.reserve(space::record_bytes(&NextOid { next: 0 }))?;
            let _latch = self.latch.lock(Mode::Exclusive, Event::RelationLatch);
            let word = self.word.load(Acquire);
            let (next, end) = (word as u32, (word >> 32) as u32);
            if next >= end {
                let end = end.checked_add(RUN).expect("four billion numbers are used up");
                log(&mut room, end);
                self.word.store((end as u64) << 32 | next as u64, Release);
            }
        }
    }

    fn raise(&self, next: u32) {
        if next > self.logged() {
            self.set(next);
        }
    }
}

impl Counters {
    /// Takes the table. Before the first engine.
    pub fn make(wal: Wal) -> Counters {
        Counters { shared: region::single("counters"), wal }
    }

    /// Sets both, at the beginning.
    pub(crate) fn set(&self, oid: u32, rel: RelId) {
        self.shared.oid.set(oid);
        self.shared.rel.set(rel.0);
    }

    /// Raises a counter to what the log says. Recovery's.
    pub(crate) fn raise(&self, oid: Option<u32>, rel: Option<RelId>) {
        oid.into_iter().for_each(|next| self.shared.oid.raise(next));
        rel.into_iter().for_each(|next| self.shared.rel.raise(next.0));
    }

    /// Where counting goes on after a crash, for a checkpoint.
    pub(crate) fn logged(&self) -> (u32, RelId) {
        (self.shared.oid.settled(), RelId(self.shared.rel.settled()))
    }

    /// An object id that nobody has had. The session holds no latch.
    pub fn new_oid(&self) -> Result<u32> {
        self.shared.oid.take(&self.wal, |room, next| {
            room.append(Xid(0), 0, &NextOid { next });
        })
    }

    /// A number for a relation's storage that nobody has had. The session holds no latch.
    pub fn new_rel(&self) -> Result<RelId> {
        let number = self.shared.rel.take(&self.wal, |room, next| {
            room.append(Xid(0), 0, &NextRel { next: RelId(next) });
        })?;
        Ok(RelId(number))
    }
}
