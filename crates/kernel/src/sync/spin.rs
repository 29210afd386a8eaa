//! The spinlock: guards a few words for a few instructions.
//!
//! The word holds its owner, an engine, so that the death of the owner is seen: before an engine tries to take a spinlock
//! it notes the lock's address in its own slot ([`crate::engine::EngineShared`]) and takes the note back after the
//! release. Whoever cleans up after a dead engine looks at the notes: a noted lock whose word names the dead engine was
//! held, and the server restarts (ARCHITECTURE.md, rule 9).
//!
//! A lock that stays taken for [`SPINS`] looks is slept on with a futex: on a machine whose CPUs are all busy the
//! owner may be off its CPU, and pure spinning was measured to lose a factor of ten then.
//!
//! Rules
//! 1. Never held over a wait, a system call, or anything that may fault a page in; [`crate::wait::wait`] asserts it.
//! 2. The counters beside the word are written by the holder, so they are exact and cost no shared write of their own. A lock of which
//!    there are as many as pages has none ([`Uncounted`]).

use super::super::engine;
use crate::region::{Root, Shared};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Looks at a taken lock before the futex is slept on: about 5 µs.
const SPINS: u32 = 200;
const CONTENDED: u32 = 1 << 31;
/// How long a sleep lasts at most.
const SLEEP_NS: crate::clock::Nanos = 20_000_000;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident $text:literal,)*) => {
        /// The spinlocks that `gearbox.spinlocks` shows, by name.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum SpinName { $($(#[$doc])* $name,)* }

        impl SpinName {
            /// The name in views.
            pub const fn as_str(self) -> &'static str {
                match self { $(SpinName::$name => $text),* }
            }

            const ALL: &'static [SpinName] = &[$(SpinName::$name),*];
        }
    };
}

names! {
    /// Pages of the region's heap.
    RegionHeap "region_heap",
    /// Free session slots.
    SessionSlots "session_slots",
    /// Free I/O slots.
    IoSlots "io_slots",
    /// Requests that wait for an I/O worker.
    IoQueue "io_queue",
    /// Engines of a group: counts of active and idle ones.
    EngineGroup "engine_group",
    /// The end of the log: where the next record goes.
    WalInsert "wal_insert",
    /// Partitions of the buffer pool's page table.
    BufferMap "buffer_map",
    /// Free frames.
    BufferFree "buffer_free",
    /// Partitions of the lock table.
    LockPartition "lock_partition",
    /// Transactions that run.
    TransactionTable "transaction_table",
    /// Partitions of the statement cache.
    StatementCache "statement_cache",
    /// Plans and who uses them.
    PlanManager "plan_manager",
    /// Space in the procedure cache.
    ProcedureCache "procedure_cache",
    /// What is known of tables and indexes.
    CatalogCache "catalog_cache",
    /// Tests.
    Test "test",
}

/// A spinlock and what it guards. Lies in the region; all zero is unlocked.
#[repr(C)]
pub struct Spin<T, C = Counted> {
    word: AtomicU32,
    counters: C,
    value: UnsafeCell<T>,
}

// SAFETY: the lock gives one engine at a time access to the value; the counters are atomics, or none.
unsafe impl<T: Send, C: Counters + Sync> Sync for Spin<T, C> {}
// SAFETY: zero is unlocked, and the value is fit for the region by its own promise, as the counters are.
unsafe impl<T: Shared + Send, C: Counters + Shared> Shared for Spin<T, C> {}

/// What a spinlock counts.
pub trait Counters {
    /// None yet.
    const ZERO: Self;

    /// By the holder: it was taken.
    fn grabbed(&self);

    /// By the holder: it was found taken, and looked at so often.
    fn waited(&self, spins: u64);
}

/// The counters of a lock that [`Spin::publish`] can show.
#[repr(C)]
pub struct Counted {
    grabs: AtomicU64,
    spins: AtomicU64,
    waits: AtomicU64,
}

// SAFETY: atomics only.
unsafe impl Shared for Counted {}

impl Counters for Counted {
    const ZERO: Counted = Counted { grabs: AtomicU64::new(0), spins: AtomicU64::new(0), waits: AtomicU64::new(0) };

    #[inline]
    fn grabbed(&self) {
        self.grabs.store(self.grabs.load(Relaxed) + 1, Relaxed);
    }

    fn waited(&self, spins: u64) {
        self.waits.store(self.waits.load(Relaxed) + 1, Relaxed);
        self.spins.store(self.spins.load(Relaxed) + spins, Relaxed);
    }
}

/// No counters: the lock takes four bytes.
#[repr(C)]
pub struct Uncounted;

// SAFETY: it has no bytes.
unsafe impl Shared for Uncounted {}

impl Counters for Uncounted {
    const ZERO: Uncounted = Uncounted;

    #[inline]
    fn grabbed(&self) {}

    fn waited(&self, _: u64) {}
}

/// A lock's counters, as `gearbox.spinlocks` shows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpinStats {
    /// Times the lock was taken.
    pub grabs: u64,
    /// Times it was found taken.
    pub waits: u64,
    /// Looks at it while it was taken.
    pub spins: u64,
}

impl<T, C: Counters> Spin<T, C> {
    /// A new lock, for values outside the region.
    pub const fn new(value: T) -> Spin<T, C> {
        Spin { word: AtomicU32::new(0), counters: C::ZERO, value: UnsafeCell::new(value) }
    }

    /// Takes the lock; spins, then sleeps, while another engine has it.
    #[inline]
    pub fn lock(&self) -> SpinGuard<'_, T, C> {
        crate::fault::point("spin");
        let me = engine::note_spinlock(&self.word);
        if self.word.compare_exchange(0, me, Acquire, Relaxed).is_err() {
            self.lock_contended(me);
        }
        self.counters.grabbed();
        // Here only a death can come: nobody else runs while a spinlock is held.
        crate::fault::point("spin.held");
        SpinGuard { lock: self }
    }

    #[cold]
    fn lock_contended(&self, me: u32) {
        debug_assert!(self.word.load(Relaxed) & !CONTENDED != me, "an engine takes a spinlock that it holds");
        let mut spins = 0u64;
        let mut asleep = 0;
        loop {
            let seen = self.word.load(Relaxed);
            if seen == 0 {
                // Once it has slept, an engine cannot know whether others sleep too: it takes the lock as contended.
                if self.word.compare_exchange(0, me | asleep, Acquire, Relaxed).is_ok() {
                    break;
                }
            } else if spins == 0 || !spins.is_multiple_of(SPINS as u64) {
                std::hint::spin_loop();
            } else {
                let contended = seen | CONTENDED;
                if seen == contended || self.word.compare_exchange(seen, contended, Relaxed, Relaxed).is_ok() {
                    asleep = CONTENDED;
                    // Not for ever: the owner may die between the release and the wake-up.
                    let deadline = crate::clock::now() + SLEEP_NS;
                    crate::wait::futex::sleep(&self.word, contended, Some(deadline));
                    if crate::clock::now() >= deadline {
                        crate::supervisor::look_for_deaths();
                    }
                }
            }
            spins += 1;
        }
        self.counters.waited(spins);
    }
}

impl<T> Spin<T> {
    /// The counters. Takes no lock.
    pub fn stats(&self) -> SpinStats {
        let Counted { grabs, spins, waits } = &self.counters;
        SpinStats { grabs: grabs.load(Relaxed), waits: waits.load(Relaxed), spins: spins.load(Relaxed) }
    }

    /// Enters the lock in the list that `gearbox.spinlocks` shows. `instance` tells partitions apart. At start only.
    pub fn publish(&'static self, name: SpinName, instance: u32) {
        let registry = REGISTRY.one();
        let index = registry.count.fetch_add(1, Relaxed) as usize;
        if let Some(entry) = registry.entries.get(index) {
            entry.address.store(&raw const self.word as u64, Relaxed);
            entry.name.store(name as u32, Relaxed);
            entry.instance.store(instance, Relaxed);
        }
    }
}

/// The right to use what a [`Spin`] guards; the release is its drop.
pub struct SpinGuard<'a, T, C = Counted> {
    lock: &'a Spin<T, C>,
}

impl<T, C> Deref for SpinGuard<'_, T, C> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T, C> DerefMut for SpinGuard<'_, T, C> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard holds the lock, and is itself borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T, C> Drop for SpinGuard<'_, T, C> {
    #[inline]
    fn drop(&mut self) {
        // Release pairs with the Acquire of the next `lock`.
        if self.lock.word.swap(0, Release) & CONTENDED != 0 {
            crate::wait::futex::wake(&self.lock.word, 1);
        }
        engine::forget_spinlock();
    }
}

const PUBLISHED_MAX: usize = 1024;

#[repr(C)]
struct Entry {
    address: AtomicU64,
    name: AtomicU32,
    instance: AtomicU32,
}

#[repr(C)]
pub(crate) struct Registry {
    count: AtomicU32,
    entries: [Entry; PUBLISHED_MAX],
}

// SAFETY: atomics only.
unsafe impl Shared for Registry {}

// SAFETY: root 2 is used here only.
static REGISTRY: Root<Registry> = unsafe { Root::new(2) };

pub(crate) fn init() {
    REGISTRY.make("spinlock registry", 1);
}

/// Every published spinlock: name, instance, counters. Takes no lock.
pub fn spinlocks() -> impl Iterator<Item = (SpinName, u32, SpinStats)> {
    let registry = REGISTRY.one();
    let count = (registry.count.load(Relaxed) as usize).min(PUBLISHED_MAX);
    registry.entries[..count].iter().filter_map(|entry| {
        let address = entry.address.load(Relaxed) as usize;
        let name = *SpinName::ALL.get(entry.name.load(Relaxed) as usize)?;
        if address == 0 {
            return None;
        }
        // SAFETY: `publish` noted the word of a `Spin` that lives as long as the region; the counters precede the value
        // and lie at the same place for every `T`, because the type is `#[repr(C)]`.
        let lock = unsafe { &*(address as *const Spin<()>) };
        Some((name, entry.instance.load(Relaxed), lock.stats()))
    })
}

/// True when the lock whose word lies at `address` is held by `owner` (an engine's number as in the word).
pub(crate) fn held_by(address: u64, owner: u32) -> bool {
    // SAFETY: the address was noted by `lock`, so a lock's word lies there; locks of the region live as long as it.
    address != 0 && unsafe { (*(address as *const AtomicU32)).load(Relaxed) & !CONTENDED == owner }
}
