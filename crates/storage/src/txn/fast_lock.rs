//! Locks of relations that are in nobody's way, without the lock table.
//!
//! Whoever reads or changes a table locks it in a *weak* mode, and weak modes do not conflict with each other: as long as nobody wants
//! a *strong* one, it is enough that the session writes down what it has, in its own row. The lock table, which all sessions would
//! change for each statement, is left alone (PostgreSQL's fast path is the model).
//!
//! ```text
//!   weak:    own slot := mode ──▶ does anybody want it strongly?      no: granted
//!                                                                    yes: own slot := before, tell the queue, take the lock table
//!   strong:  count up ──▶ look at everybody's slots (and the table)   free: granted
//!                                                                   taken: queued
//!   release: own slot := no mode ──▶ does anybody want it strongly?  yes: tell the queue; then own slot := empty
//! ```
//!
//! Rules
//! 1. A slot is written by its session only, and by who cleans up after it; a relation has one slot of a session at most.
//! 2. Who writes a slot looks at the count afterwards, who counts up looks at the slots afterwards, both in the one order that all
//!    sessions see: at least one of the two sees the other (Dekker).
//! 3. A strong holding is counted from before its session looks until it is dropped. What is counted for several relations at once
//!    (they share a count by their hash) costs time, nothing else.
//! 4. A slot that is given up keeps its relation until nobody needs to be told of it. Whoever dies before leaves it to be given up
//!    again, from the first slot to the last.
//! 5. Who waits for a strong mode waits in the lock's queue. He finds what is in his way in the slots each time somebody looks for
//!    him: nobody moves a weak lock from a slot into the table.

use super::Transactions;
use super::lock::{LockKey, LockMode};
use super::registry::Row;
use base::SessionId;
use kernel::region;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Relations that a session can have without the lock table; a statement on more takes the table for the others.
const SLOTS: usize = 8;
/// Counts of strong holdings.
const COUNTS: usize = 1024;
/// Relation and modes in a slot's word; zero is empty, a relation without a mode is being given up.
const RELATION_SHIFT: u32 = 32;

kernel::shared! {
    /// A session's weak locks.
    pub(super) struct FastLocks {
        slots: [AtomicU64; SLOTS],
    }
}

fn relation_of(word: u64) -> u32 {
    (word >> RELATION_SHIFT) as u32
}

fn modes_of(word: u64) -> u32 {
    word as u32
}

/// The word of a relation without a mode.
fn named(relation: u32) -> u64 {
    debug_assert!(relation != 0, "no relation has this number");
    (relation as u64) << RELATION_SHIFT
}

impl FastLocks {
    /// The modes, as bits, in which the session has a relation here.
    pub(super) fn modes(&self, relation: u32) -> u32 {
        let words = self.slots.iter().map(|slot| slot.load(SeqCst));
        words.filter(|&word| relation_of(word) == relation).fold(0, |bits, word| bits | modes_of(word))
    }

    /// All relations here, with their modes as bits.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, u32)> {
        self.slots
            .iter()
            .map(|slot| slot.load(SeqCst))
            .filter(|&word| modes_of(word) != 0)
            .map(|word| (relation_of(word), modes_of(word)))
    }

    /// The relation's slot, or an empty one.
    #[inline]
    fn slot_of(&self, relation: u32) -> Option<&AtomicU64> {
        let mut empty = None;
        for slot in &self.slots {
            match slot.load(Relaxed) {
                // Slots are filled from the first on, and all of them are emptied before one is filled again.
                0 => {
                    empty = Some(slot);
                    break;
                }
                word if relation_of(word) == relation => return Some(slot),
                _ => {}
            }
        }
        empty
    }
}

/// How many strong holdings there are, by a hash of the relation.
#[derive(Clone, Copy)]
pub(super) struct Strong(&'static [AtomicU32]);

impl Strong {
    pub(super) fn make() -> Strong {
        Strong(region::table("strong locks", COUNTS))
    }

    fn count(&self, relation: u32) -> &'static AtomicU32 {
        &self.0[relation as usize % COUNTS]
    }

    /// From now on nobody takes the relation without the table.
    pub(super) fn add(&self, relation: u32) {
        self.count(relation).fetch_add(1, SeqCst);
    }

    pub(super) fn remove(&self, relation: u32) {
        let before = self.count(relation).fetch_sub(1, SeqCst);
        debug_assert!(before > 0);
    }

    #[inline]
    fn is_wanted(&self, relation: u32) -> bool {
        self.count(relation).load(SeqCst) != 0
    }
}

impl Transactions {
    /// Locks a relation in a weak mode for the running session, if nobody wants or has it in a strong one.
    #[inline]
    pub(super) fn lock_fast(&self, row: &Row, relation: u32, mode: LockMode) -> bool {
        let Some(slot) = row.fast.slot_of(relation) else { return false };
        let before = slot.load(Relaxed);
        let named = named(relation);
        let word = before | named | mode.bit() as u64;
        if word == before {
            return true;
        }
        // Rule 2.
        slot.store(word, SeqCst);
        kernel::fault::point("lock.fast");
        if !self.locks.strong.is_wanted(relation) || kernel::fault::planted("lock.fast_unseen") {
            return true;
        }
        slot.store(before | named, SeqCst);
        kernel::fault::point("lock.fast_refused");
        self.tell_queue(LockKey::relation(relation));
        slot.store(before, Release);
        false
    }

    /// Gives up what a session has here.
    #[inline]
    pub(super) fn release_fast(&self, row: &Row) {
        for slot in &row.fast.slots {
            let word = slot.load(Relaxed);
            if word == 0 {
                if kernel::fault::planted("lock.fast_left") {
                    break;
                }
                // Behind it may be more: the session may have died in the middle of this.
                continue;
            }
            let relation = relation_of(word);
            // Rule 2.
            slot.store(named(relation), SeqCst);
            kernel::fault::point("lock.fast_released");
            if self.locks.strong.is_wanted(relation) && !kernel::fault::planted("lock.fast_untold") {
                self.tell_queue(LockKey::relation(relation));
            }
            slot.store(0, Release);
            kernel::fault::point("lock.fast_emptied");
        }
    }

    /// The modes, as bits, in which others than `me` have a relation here. Zero where they would not be in the way of `mode`.
    pub(super) fn fast_of_others(&self, key: LockKey, me: SessionId, mode: LockMode) -> u32 {
        if !mode.is_strong() || !key.is_relation() {
            return 0;
        }
        let rows = self.reached().iter().enumerate().filter(|(at, _)| *at as u32 != me.0);
        rows.fold(0, |bits, (_, row)| bits | row.fast.modes(key.first))
    }

    /// Sessions that have a relation here in a mode which is in the way of `mode`, but for `me`.
    pub(super) fn fast_blockers(&self, key: LockKey, me: SessionId, mode: LockMode) -> impl Iterator<Item = SessionId> {
        let wanted = mode.is_strong() && key.is_relation();
        let rows = self.reached().iter().enumerate().filter(move |_| wanted);
        let in_the_way = rows.filter(move |(_, row)| mode.conflicts_with_any(row.fast.modes(key.first)));
        in_the_way.map(|(at, _)| SessionId(at as u32)).filter(move |session| *session != me)
    }

    /// Everything that sessions have here: whose it is, the relation, the modes as bits.
    pub(super) fn fast_held(&self) -> impl Iterator<Item = (SessionId, u32, u32)> {
        let rows = self.reached().iter().enumerate();
        rows.flat_map(|(at, row)| row.fast.all().map(move |(relation, modes)| (SessionId(at as u32), relation, modes)))
    }
}
