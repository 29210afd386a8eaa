//! `futex`: sleep on the word itself. The kernel compares and sleeps in one step, so no wake-up is lost, and a post to
//! somebody who does not sleep makes no system call at all.
//!
//! The words lie in shared memory, so the operations are not private to a process.

use crate::clock::{self, Nanos};
use std::sync::atomic::AtomicU32;

/// Sleeps while `word` reads `value`, until woken or the deadline passes. May come back early.
pub fn sleep(word: &AtomicU32, value: u32, deadline: Option<Nanos>) {
    if crate::engine::sim::sleep_word(word, value, deadline) {
        return;
    }
    let timeout = deadline.map(clock::remaining);
    let timespec = timeout.map(clock::timespec);
    let timespec = timespec.as_ref().map_or(std::ptr::null(), |at| at as *const libc::timespec);
    // SAFETY: the word and the time are valid for the call; the operation writes no memory of ours.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, timespec);
    }
}

/// Wakes up to `count` sleepers.
pub fn wake(word: &AtomicU32, count: u32) {
    if crate::engine::sim::wake_word(word, count) {
        return;
    }
    // SAFETY: the address is only compared, not accessed.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, count);
    }
}
