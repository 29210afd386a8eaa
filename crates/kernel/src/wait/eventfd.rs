//! `eventfd`: a descriptor per engine, which can be waited for together with sockets. Every wait and wake is a system call.
//!
//! The supervisor makes all of them before it forks, so that a number means the same descriptor in every process.

use crate::clock::{self, Nanos};
use base::{EngineId, Error, Result, sqlstate};
use std::sync::OnceLock;

static DESCRIPTORS: OnceLock<Vec<i32>> = OnceLock::new();

/// Makes the descriptors. Once, by the supervisor before it forks.
///
/// Errors: `53000` when the system refuses, with the limit's name.
pub(crate) fn make(engines: u32) -> Result<()> {
    let mut descriptors = Vec::with_capacity(engines as usize);
    for _ in 0..engines {
        // SAFETY: plain system call.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(Error::session(sqlstate::INSUFFICIENT_RESOURCES, "event descriptors cannot be made")
                .detail(format!("eventfd, {engines} asked for: {}.", std::io::Error::last_os_error()))
                .hint("Raise the limit on open files (ulimit -n), lower max_connections, or choose another wait_primitive."));
        }
        descriptors.push(fd);
    }
    let _ = DESCRIPTORS.set(descriptors);
    Ok(())
}

/// The engine's descriptor: for whoever waits for it beside other things.
pub(crate) fn descriptor(engine: EngineId) -> Option<i32> {
    DESCRIPTORS.get()?.get(engine.0 as usize).copied()
}

/// Takes the count down without sleeping.
pub(crate) fn drain(fd: i32) {
    let mut count = 0u64;
    // SAFETY: eight bytes into a variable of eight bytes.
    unsafe { libc::read(fd, (&raw mut count).cast(), 8) };
}

/// Sleeps until woken or the deadline passes. May come back early.
pub fn sleep(engine: EngineId, deadline: Option<Nanos>) {
    let Some(fd) = descriptor(engine) else { return };
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let timeout = deadline.map(|at| clock::timespec(clock::remaining(at)));
    let timeout = timeout.as_ref().map_or(std::ptr::null(), |at| at as *const libc::timespec);
    // SAFETY: one entry and a time, valid for the call.
    if unsafe { libc::ppoll(&mut poll, 1, timeout, std::ptr::null()) } > 0 {
        drain(fd);
    }
}

/// Wakes the sleeper, or lets the next sleep come back.
pub fn wake(engine: EngineId) {
    if let Some(fd) = descriptor(engine) {
        wake_descriptor(fd);
    }
}

/// Adds one to the count behind any event descriptor.
pub(crate) fn wake_descriptor(fd: i32) {
    let one = 1u64;
    // SAFETY: eight bytes from a variable of eight bytes.
    unsafe { libc::write(fd, (&raw const one).cast(), 8) };
}
