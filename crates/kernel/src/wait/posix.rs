//! `posix`: an unnamed POSIX semaphore per engine, in the region. PostgreSQL's choice on Linux.
//!
//! A wake-up that comes when nobody sleeps stays in the count, and the next sleep comes back at once: its caller looks at
//! the word and sleeps again, which takes the count down.

use crate::clock::{self, Nanos};
use std::cell::UnsafeCell;

/// A semaphore in the region.
#[repr(C)]
pub struct Semaphore(UnsafeCell<libc::sem_t>);

// SAFETY: a semaphore made with `pshared` is there to be shared.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    /// Makes the semaphore usable. Once, before any engine runs.
    pub(crate) fn init(&self) {
        // SAFETY: nobody uses the semaphore yet; it lies in shared memory, as `pshared` says.
        let result = unsafe { libc::sem_init(self.0.get(), 1, 0) };
        assert_eq!(result, 0, "sem_init");
    }
}

/// Sleeps until woken or the deadline passes. May come back early.
pub fn sleep(semaphore: &Semaphore, deadline: Option<Nanos>) {
    // SAFETY: the semaphore is initialised and lives in the region; the time is valid for the call.
    unsafe {
        match deadline {
            None => libc::sem_wait(semaphore.0.get()),
            Some(deadline) => {
                let at = clock::timespec(clock::real_time_ns() + clock::remaining(deadline));
                libc::sem_timedwait(semaphore.0.get(), &at)
            }
        };
    }
}

/// Wakes the sleeper, or lets the next sleep come back.
pub fn wake(semaphore: &Semaphore) {
    // SAFETY: the semaphore is initialised and lives in the region.
    unsafe { libc::sem_post(semaphore.0.get()) };
}
