//! Time: the only place that reads a clock.
//!
//! Two times: [`now`] counts nanoseconds monotonically and is what waits and deadlines use; [`wall_us`] is the date, in
//! microseconds since 2000-01-01 UTC, PostgreSQL's epoch. In the simulator both are simulated, and only it moves them.

use crate::engine;

/// A point in monotonic time, or a span, in nanoseconds.
pub type Nanos = u64;

/// Seconds from 1970-01-01 to 2000-01-01.
const EPOCH_2000: i64 = 946_684_800;

fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the result is a valid variable.
    unsafe { libc::clock_gettime(clock, &mut at) };
    at
}

/// Monotonic time.
pub fn now() -> Nanos {
    engine::simulated_now().unwrap_or_else(real_now)
}

/// Monotonic time of the machine, simulator or not: for spinning, and for measuring the simulator itself.
pub fn real_now() -> Nanos {
    let at = read(libc::CLOCK_MONOTONIC);
    at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
}

/// The date: microseconds since 2000-01-01 UTC.
pub fn wall_us() -> i64 {
    if let Some(now) = engine::simulated_now() {
        // Simulated time begins at 2026-01-01.
        return 820_454_400_000_000 + (now / 1000) as i64;
    }
    let at = read(libc::CLOCK_REALTIME);
    (at.tv_sec - EPOCH_2000) * 1_000_000 + at.tv_nsec / 1000
}

/// Nanoseconds of CPU that the calling thread has used.
pub fn thread_cpu_ns() -> Nanos {
    let at = read(libc::CLOCK_THREAD_CPUTIME_ID);
    at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
}

pub(crate) fn real_time_ns() -> Nanos {
    let at = read(libc::CLOCK_REALTIME);
    at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
}

/// Nanoseconds until `deadline`, zero if it has passed.
pub(crate) fn remaining(deadline: Nanos) -> Nanos {
    deadline.saturating_sub(now())
}

pub(crate) fn timespec(span: Nanos) -> libc::timespec {
    libc::timespec { tv_sec: (span / 1_000_000_000) as i64, tv_nsec: (span % 1_000_000_000) as i64 }
}
