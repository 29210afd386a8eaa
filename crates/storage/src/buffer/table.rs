//! The page table: which frame has which page. Chains of frames in buckets; readers take no lock.
//!
//! A bucket holds the number of a frame, whose descriptor holds the number of the next. Entering and taking out happens under
//! the spinlock of the bucket's partition. A reader that follows a chain while it changes may stray into another one or
//! miss its page; what it finds it checks under its pin or latch, and what it does not find it looks up again under the spinlock. So
//! the fast way may be wrong only towards "not found".

use super::Pool;
use super::pins::Pin;
use base::PageId;
use std::sync::atomic::Ordering::*;

/// Partitions of the table, each with a spinlock.
pub const PARTITIONS: usize = 128;
/// How far a reader without a lock follows a chain before it gives up.
const HOPS_MAX: u32 = 64;

kernel::shared! {
    /// What a partition's spinlock guards beside its chains.
    pub struct Partition {
        /// Pages in its chains.
        pub entries: u64,
    }
}

/// How many buckets a pool of that many frames has: a power of two, more than frames.
pub(super) fn buckets_for(frames: usize) -> usize {
    (frames + frames / 2).next_power_of_two().max(PARTITIONS)
}

fn hash(page: PageId) -> u64 {
    // Fibonacci hashing: the high bits of the product depend on all bits of the name.
    (page.to_u64() ^ page.to_u64() >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

impl Pool {
    pub(super) fn bucket(&self, page: PageId) -> usize {
        hash(page) as usize & (self.buckets.len() - 1)
    }

    fn partition(&self, page: PageId) -> usize {
        self.bucket(page) % PARTITIONS
    }

    /// The frame that seems to have the page. Takes no lock; the answer is good for a try.
    #[inline]
    pub(super) fn find(&self, page: PageId) -> Option<u32> {
        let mut at = self.buckets[self.bucket(page)].load(Acquire);
        for _ in 0..HOPS_MAX {
            let frame = at.checked_sub(1)?;
            let descriptor = self.descriptor(frame);
            if descriptor.page() == page {
                return Some(frame);
            }
            at = descriptor.next.load(Acquire);
        }
        None
    }

    /// Follows the page's chain. Under its partition's spinlock.
    fn find_locked(&self, page: PageId) -> Option<u32> {
        let mut at = self.buckets[self.bucket(page)].load(Relaxed);
        while let Some(frame) = at.checked_sub(1) {
            let descriptor = self.descriptor(frame);
            if descriptor.page() == page {
                return Some(frame);
            }
            at = descriptor.next.load(Relaxed);
        }
        None
    }

    /// Enters a page under a frame that the caller has pinned and nobody else knows; false if the page is in the table.
    pub(super) fn link(&self, page: PageId, pin: &Pin, usage: u64) -> bool {
        let frame = pin.frame();
        let descriptor = self.descriptor(frame);
        let mut partition = self.partitions[self.partition(page)].lock();
        if self.find_locked(page).is_some() {
            return false;
        }
        descriptor.set_page(page);
        let bucket = &self.buckets[self.bucket(page)];
        descriptor.next.store(bucket.load(Relaxed), Relaxed);
        descriptor.tag(usage);
        // Release: who finds the frame finds its page's name and its chain.
        bucket.store(frame + 1, Release);
        partition.entries += 1;
        true
    }

    /// Takes a page's frame out of the table, if `evict` can have it; it is pinned by the caller then, who has noted that.
    pub(super) fn unlink(&self, frame: u32, evict: impl FnOnce() -> bool) -> bool {
        let descriptor = self.descriptor(frame);
        let page = descriptor.page();
        let mut partition = self.partitions[self.partition(page)].lock();
        // The frame may have got another page before the lock was taken.
        if descriptor.page() != page || self.find_locked(page) != Some(frame) || !evict() {
            return false;
        }
        let next = descriptor.next.load(Relaxed);
        let bucket = &self.buckets[self.bucket(page)];
        if bucket.load(Relaxed) == frame + 1 {
            bucket.store(next, Release);
        } else {
            let mut at = bucket.load(Relaxed);
            while let Some(before) = at.checked_sub(1) {
                let link = &self.descriptor(before).next;
                at = link.load(Relaxed);
                if at == frame + 1 {
                    link.store(next, Release);
                    break;
                }
            }
        }
        partition.entries -= 1;
        true
    }

    /// Pages in the table.
    pub fn pages(&self) -> u64 {
        self.partitions.iter().map(|partition| partition.lock().entries).sum()
    }
}
