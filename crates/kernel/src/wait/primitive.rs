//! The choice among the wait primitives: one `match`, and what they have in common.
//!
//! Each primitive puts an engine to sleep while a word in the region reads a value, and wakes it. The word decides, the
//! primitive only avoids burning the CPU meanwhile: a stray wake-up makes the sleeper look again.

use super::{eventfd, futex, posix, sysv};
use crate::clock::Nanos;
use crate::config::Primitive;
use crate::engine::{EngineShared, sim};
use std::sync::atomic::AtomicU32;

/// Puts the calling engine to sleep while `word` reads `value`, until woken or the deadline passes. May come back early.
pub(crate) fn sleep(engine: &EngineShared, word: &AtomicU32, value: u32, deadline: Option<Nanos>) {
    engine.stats.sleeps.add(1);
    match engine.primitive() {
        Primitive::Futex => futex::sleep(word, value, deadline),
        _ if sim::sleep_semaphore(engine, deadline) => {}
        Primitive::Posix => posix::sleep(&engine.semaphore, deadline),
        Primitive::Sysv => sysv::sleep(engine.id(), deadline),
        Primitive::Eventfd => eventfd::sleep(engine.id(), deadline),
    }
}

/// Wakes an engine that sleeps while `word` reads another value than it does now.
pub(crate) fn wake(engine: &EngineShared, word: &AtomicU32) {
    match engine.primitive() {
        Primitive::Futex => futex::wake(word, 1),
        _ if sim::wake_semaphore(engine) => {}
        Primitive::Posix => posix::wake(&engine.semaphore),
        Primitive::Sysv => sysv::wake(engine.id()),
        Primitive::Eventfd => eventfd::wake(engine.id()),
    }
}
