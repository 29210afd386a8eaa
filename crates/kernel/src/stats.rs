//! Counters in the region: each has one writer, is read by anybody, and costs a plain load and store.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A counter with a single writer.
#[repr(transparent)]
#[derive(Default)]
pub struct Counter(AtomicU64);

// SAFETY: an atomic integer.
unsafe impl crate::region::Shared for Counter {}

impl Counter {
    /// Adds to it. Only the counter's one writer may call this.
    #[inline]
    pub fn add(&self, amount: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(amount), Relaxed);
    }

    /// Raises it to `value` if that is more. Only the counter's one writer may call this.
    #[inline]
    pub fn max(&self, value: u64) {
        if value > self.0.load(Relaxed) {
            self.0.store(value, Relaxed);
        }
    }

    /// Sets it. Only the counter's one writer may call this.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// Its value.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
