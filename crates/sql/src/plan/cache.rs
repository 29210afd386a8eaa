//! The statement cache: plans that all sessions of all processes share, by the text that they were made from.
//!
//! ```text
//!  slots:   hash of the key -> position          four to a set; the oldest makes room
//!  words:   … | lengths | hash | key | plan | lengths | hash | key | plan | …      a ring, written at its head
//!                                  ^ position                               ^ head
//! ```
//!
//! A key is the normalised text with everything beside it that decides about the plan. A plan is flat bytes, so using one is
//! copying it out of the ring, which takes less time than to count its users would: no session ever holds a
//! place in the ring, none writes to memory that others read, and what is overwritten needs no permission of anybody.
//!
//! Rules
//! 1. Positions count all words that were ever taken. What lies at one is whole as long as the head is not a ring's length past it.
//! 2. The head is moved before anything is overwritten. Who has copied looks at the head afterwards; if it has passed him, what
//!    he copied is nothing.
//! 3. One writer at a time, under the latch. A death in the middle leaves an entry that no slot leads to.
//! 4. Whether a plan's tables are still those that it was made from, its user finds out: a plan that is not current is made
//!    again and replaces the old one. For which version of the definitions somebody has found out that it stands is noted in its slot,
//!    with the entry's position, so that the note is of no other entry.
//! 5. A key without a plan says that its text has to be compiled with its literals in place.

use kernel::region;
use kernel::region::reserve::{Reserve, STEP};
use kernel::sync::{Latch, Mode};
use kernel::wait::Event;
use std::sync::atomic::{AtomicU64, Ordering::*, fence};

/// How many slots a hash leads to.
const WAYS: usize = 4;
const SETS: usize = 4096;
/// The ring's length in words.
const WORDS: usize = (32 << 20) / 8;
/// An entry may take this share of the ring.
const ENTRY_SHARE: usize = 64;
const HEADER_WORDS: usize = 2;

kernel::shared! {
    struct CacheShared {
        /// Held by who adds an entry.
        latch: Latch,
        /// Words that were ever taken.
        head: AtomicU64,
        entries: AtomicU64,
    }

    struct Slot {
        hash: AtomicU64,
        /// The position of the entry, and one more; zero is none.
        position: AtomicU64,
        /// The lower half of the position above the lower half of the version of definitions for which the plan stood.
        stood: AtomicU64,
    }
}

/// The cache; references into the region, the same in every process.
pub struct StatementCache {
    shared: &'static CacheShared,
    slots: &'static [Slot],
    words: Reserve<AtomicU64>,
}

/// What the cache has for a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cached {
    /// Nothing.
    Missing,
    /// A plan.
    Plan(Found),
    /// The text is to be compiled with its literals in place.
    NeedsLiterals,
}

/// A plan as it was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The plan.
    pub plan: Vec<u8>,
    /// The slot and the position that led to it.
    slot: usize,
    position: u64,
}

/// The note in a slot that the entry at a position stood for a version.
fn stood(position: u64, version: u64) -> u64 {
    position << 32 | version & u64::from(u32::MAX)
}

impl StatementCache {
    /// Takes the tables. Before the first engine.
    pub fn make() -> StatementCache {
        StatementCache {
            shared: region::single("statement cache"),
            slots: region::table("statement cache slots", SETS * WAYS),
            words: Reserve::make("statement cache plans", WORDS),
        }
    }

    fn set(&self, hash: u64) -> (usize, &'static [Slot]) {
        let first = (hash as usize % SETS) * WAYS;
        (first, &self.slots[first..first + WAYS])
    }

    /// The plan for a key.
    pub fn find(&self, hash: u64, key: &[u8]) -> Cached {
        let (first, set) = self.set(hash);
        for (way, slot) in set.iter().enumerate() {
            if slot.hash.load(Relaxed) != hash {
                continue;
            }
            // Acquire pairs with the Release in `add`: the entry is written.
            let Some(position) = slot.position.load(Acquire).checked_sub(1) else { continue };
            if let Some(plan) = self.read(position, hash, key) {
                return match plan.is_empty() {
                    true => Cached::NeedsLiterals,
                    false => Cached::Plan(Found { plan, slot: first + way, position }),
                };
            }
        }
        Cached::Missing
    }

    /// True if somebody found out that the plan stands for this version of the definitions.
    pub fn stands(&self, found: &Found, version: u64) -> bool {
        self.slots[found.slot].stood.load(Relaxed) == stood(found.position, version)
    }

    /// Notes that it does.
    pub fn note_stands(&self, found: &Found, version: u64) {
        self.slots[found.slot].stood.store(stood(found.position, version), Relaxed);
    }

    /// True while the entry at a position is whole (rule 1).
    fn is_whole(&self, position: u64, head: u64) -> bool {
        head <= position + WORDS as u64
    }

    /// The plan of the entry at a position, if it is the key's; empty if there is none to use.
    fn read(&self, position: u64, hash: u64, key: &[u8]) -> Option<Vec<u8>> {
        if !self.is_whole(position, self.shared.head.load(Acquire)) {
            return None;
        }
        let at = (position % WORDS as u64) as usize;
        let words = self.words.all();
        let lengths = words[at].load(Relaxed);
        let (key_bytes, plan_bytes) = ((lengths & u64::from(u32::MAX)) as usize, (lengths >> 32) as usize);
        let (key_words, plan_words) = (key_bytes.div_ceil(8), plan_bytes.div_ceil(8));
        let end = at + HEADER_WORDS + key_words + plan_words;
        if key_bytes != key.len() || end > WORDS || words[at + 1].load(Relaxed) != hash {
            return None;
        }
        let first = at + HEADER_WORDS;
        let same =
            key.chunks(8).zip(&words[first..first + key_words]).all(|(part, word)| pack(part) == word.load(Relaxed));
        if !same {
            return None;
        }
        let mut plan = Vec::with_capacity(plan_words * 8);
        for word in &words[first + key_words..end] {
            plan.extend_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        plan.truncate(plan_bytes);
        // Pairs with the fence in `add`: if any word was a later entry's, so is the head (rule 2).
        fence(Acquire);
        if !self.is_whole(position, self.shared.head.load(Relaxed)) {
            return None;
        }
        Some(plan)
    }

    /// Keeps a plan; none says that the text has to be compiled with its literals in place. What has no room is not kept.
    pub fn add(&self, hash: u64, key: &[u8], plan: Option<&[u8]>) {
        let _latch = self.shared.latch.lock(Mode::Exclusive, Event::StatementLatch);
        self.write(hash, key, plan.unwrap_or(&[]));
    }

    /// Adds an entry; the caller holds the latch.
    fn write(&self, hash: u64, key: &[u8], plan: &[u8]) {
        let (key_words, plan_words) = (key.len().div_ceil(8), plan.len().div_ceil(8));
        let count = HEADER_WORDS + key_words + plan_words;
        if count > WORDS / ENTRY_SHARE {
            return;
        }
        let mut position = self.shared.head.load(Relaxed);
        let left = WORDS - (position % WORDS as u64) as usize;
        if left < count {
            position += left as u64;
        }
        let at = (position % WORDS as u64) as usize;
        // Only in the first round; a step that is backed stays so.
        if position < WORDS as u64 && !self.back(at, count) {
            return;
        }
        self.shared.head.store(position + count as u64, Relaxed);
        fence(Release);
        let words = &self.words.all()[at..at + count];
        words[0].store(key.len() as u64 | (plan.len() as u64) << 32, Relaxed);
        words[1].store(hash, Relaxed);
        let parts = key.chunks(8).chain(plan.chunks(8));
        words[HEADER_WORDS..].iter().zip(parts).for_each(|(word, part)| word.store(pack(part), Relaxed));
        let (_, set) = self.set(hash);
        let old = set.iter().find(|slot| slot.hash.load(Relaxed) == hash && self.has_key(slot, hash, key));
        let oldest = || set.iter().min_by_key(|slot| slot.position.load(Relaxed));
        if let Some(slot) = old.or_else(oldest) {
            // Nobody takes the new entry for another key's: entries carry their keys.
            slot.hash.store(hash, Relaxed);
            slot.position.store(position + 1, Release);
        }
        self.shared.entries.fetch_add(1, Relaxed);
    }

    fn has_key(&self, slot: &Slot, hash: u64, key: &[u8]) -> bool {
        let position = slot.position.load(Relaxed).checked_sub(1);
        position.is_some_and(|position| self.read(position, hash, key).is_some())
    }

    fn back(&self, at: usize, count: usize) -> bool {
        const STEP_WORDS: usize = STEP / 8;
        // Whole steps, so that the system is asked seldom.
        let first = at / STEP_WORDS * STEP_WORDS;
        let end = (at + count).next_multiple_of(STEP_WORDS).min(WORDS);
        self.words.back(first, end - first).is_ok()
    }

    /// How many plans were ever kept, and how many bytes of memory the ring has.
    pub fn usage(&self) -> (u64, u64) {
        (self.shared.entries.load(Relaxed), self.words.backed_bytes().0)
    }
}

/// Up to eight bytes as a word.
fn pack(part: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..part.len()].copy_from_slice(part);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(number: u64, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (number as usize * 31 + at) as u8).collect()
    }

    fn found(cache: &StatementCache, hash: u64, key: &[u8]) -> Option<Vec<u8>> {
        match cache.find(hash, key) {
            Cached::Plan(found) => Some(found.plan),
            Cached::Missing | Cached::NeedsLiterals => None,
        }
    }

    #[test]
    fn what_is_kept_is_found_until_the_ring_has_gone_round() {
        region::create(region::Backing::Private, 1 << 20).unwrap();
        let cache = StatementCache::make();
        assert_eq!(cache.find(7, b"select 1"), Cached::Missing);
        cache.write(7, b"select 1", &plan(1, 1001));
        cache.write(7, b"select 2", &plan(2, 8));
        cache.write(7, b"select x", &[]);
        assert_eq!(found(&cache, 7, b"select 1"), Some(plan(1, 1001)));
        assert_eq!(found(&cache, 7, b"select 2"), Some(plan(2, 8)));
        assert_eq!(cache.find(7, b"select x"), Cached::NeedsLiterals);
        assert_eq!(cache.find(7, b"select 3"), Cached::Missing);
        assert_eq!(cache.find(8, b"select 1"), Cached::Missing);
        cache.write(7, b"select 1", &plan(5, 12));
        assert_eq!(found(&cache, 7, b"select 1"), Some(plan(5, 12)), "a newer plan replaces the older one");
        // Other hashes, so that only the ring's turning can take the first entries away.
        let size = 200_000;
        let rounds = 2 * WORDS * 8 / size;
        for number in 0..rounds as u64 {
            cache.write(1000 + number, b"filler", &plan(number, size));
            assert_eq!(found(&cache, 1000 + number, b"filler"), Some(plan(number, size)));
        }
        assert_eq!(cache.find(7, b"select 1"), Cached::Missing);
        assert!(cache.usage().1 <= (WORDS * 8) as u64);
        cache.write(9, b"too large", &vec![1; WORDS * 8 / ENTRY_SHARE]);
        assert_eq!(cache.find(9, b"too large"), Cached::Missing);
        notes_are_of_one_entry(&cache);
    }

    /// That a plan stood is noted of this entry and this version.
    fn notes_are_of_one_entry(cache: &StatementCache) {
        let find = || match cache.find(7, b"select 1") {
            Cached::Plan(found) => found,
            other => panic!("{other:?}"),
        };
        cache.write(7, b"select 1", &plan(1, 100));
        let first = find();
        assert!(!cache.stands(&first, 3));
        cache.note_stands(&first, 3);
        assert!(cache.stands(&find(), 3) && !cache.stands(&find(), 4));
        // Another entry takes the slot: the note was of the old one, and so is one that comes late.
        cache.write(7, b"select 1", &plan(2, 100));
        let second = find();
        assert!(!cache.stands(&second, 3));
        cache.note_stands(&first, 3);
        assert!(!cache.stands(&second, 3));
    }
}
