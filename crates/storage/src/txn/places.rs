//! Places for small things of which nobody knows how many there will be: locks, holdings, row lockers. Each partition of a
//! table has a run of them, guarded by the partition's spinlock.
//!
//! Memory is backed in chunks, which needs a system call and so cannot happen under the spinlock: a partition that has none
//! left says so, its caller lets the spinlock go, has a chunk [backed](Places::grow), and begins again.

use base::{Error, Result, sqlstate};
use kernel::region::Shared;
use kernel::region::reserve::Reserve;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// Memory is backed in chunks of this size; the first of a partition is small, since most partitions never need more, and under a load the
/// last of them is touched long after the first.
const CHUNK: usize = 64 << 10;
const FIRST_CHUNK: usize = 4 << 10;

/// What can be in a list of free places.
pub(super) trait Place: Shared {
    /// A word that is the list's link while the place is free.
    fn link(&self) -> &AtomicU32;
}

kernel::shared! {
    /// Which of a partition's places are free. Under the partition's spinlock.
    pub(super) struct Free {
        /// A place's number counted from one.
        head: u32,
        /// Places at or above this one were never used.
        fresh: u32,
        /// Places at or above this one have no memory.
        backed: u32,
        used: u32,
    }
}

/// Places of all partitions. A place's number counts over all of them.
pub(super) struct Places<T: Place> {
    name: &'static str,
    reserve: Reserve<T>,
    per_partition: u32,
}

impl<T: Place> Clone for Places<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Place> Copy for Places<T> {}

impl<T: Place> Places<T> {
    pub(super) fn make(name: &'static str, partitions: usize, per_partition: u32) -> Places<T> {
        let count = partitions * per_partition as usize;
        Places { name, reserve: Reserve::with_step(name, count, FIRST_CHUNK), per_partition }
    }

    pub(super) fn get(&self, number: u32) -> &'static T {
        self.reserve.get(number as usize)
    }

    /// The partition of a place.
    pub(super) fn partition(&self, number: u32) -> usize {
        (number / self.per_partition) as usize
    }

    /// True for a number that a place can have.
    pub(super) fn contains(&self, number: u32) -> bool {
        (number as usize) < self.reserve.len()
    }

    /// Takes a free place; none if memory has to be backed first.
    pub(super) fn take(&self, partition: usize, free: &mut Free) -> Option<u32> {
        let number = if free.head != 0 {
            let number = free.head - 1;
            free.head = self.get(number).link().load(Relaxed);
            number
        } else if free.fresh < free.backed {
            free.fresh += 1;
            partition as u32 * self.per_partition + free.fresh - 1
        } else {
            return None;
        };
        free.used += 1;
        Some(number)
    }

    /// Gives a place back.
    pub(super) fn give(&self, free: &mut Free, number: u32) {
        self.get(number).link().store(free.head, Relaxed);
        free.head = number + 1;
        free.used -= 1;
    }

    /// Backs the next chunk of a partition whose places end at `backed`; answers where they end then. Makes a system call.
    ///
    /// Errors: `53200`.
    pub(super) fn grow(&self, partition: usize, backed: u32) -> Result<u32> {
        let more = (if backed == 0 { FIRST_CHUNK } else { CHUNK } / size_of::<T>()) as u32;
        let end = (backed + more).min(self.per_partition);
        if backed >= end {
            return Err(Error::statement(sqlstate::OUT_OF_MEMORY, format!("no room for more in \"{}\"", self.name))
                .detail(format!("A part of the table has {} places, and all are taken.", self.per_partition)));
        }
        let first = partition as u32 * self.per_partition + backed;
        self.reserve.back(first as usize, (end - backed) as usize)?;
        Ok(end)
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        self.reserve.backed_bytes().0
    }
}

impl Free {
    /// Where the places with memory end.
    pub(super) fn backed(&self) -> u32 {
        self.backed
    }

    /// Takes in what [`Places::grow`] answered; somebody else may have been faster.
    pub(super) fn grown(&mut self, end: u32) {
        self.backed = self.backed.max(end);
    }

    /// Places in use.
    pub(super) fn used(&self) -> u32 {
        self.used
    }
}
