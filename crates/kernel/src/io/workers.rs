//! `workers`: a queue in the region, and threads of the background host that take requests from it.
//!
//! ```text
//! engine:  gathers requests -> one spinlock for the batch -> wakes as many idle workers -> its session waits
//! worker:                                                    takes one -> system call -> settles it: action, or post
//! ```
//!
//! The method works wherever there are threads, whatever the issuer does afterwards; it costs a hand-over there and one
//! back. It is also what engines fall back to that are refused a ring, so the workers run with `uring` too.
//!
//! Rules
//! 1. A request becomes *in flight* and enters the queue under one spinlock: a death leaves no request that nobody has.
//! 2. Workers outlast the stop of the server: the last checkpoint needs them. They end with their process.

use super::slot::{Method, Slot, slot};
use super::{Outcome, files, sync};
use crate::engine;
use crate::region::{Root, Shared};
use crate::sync::{Spin, SpinName, WaitList};
use crate::wait::{self, Event};
use std::sync::atomic::{AtomicU32, Ordering::*};

#[repr(C)]
struct Ends {
    /// Slots, counted from one; zero is none.
    head: u32,
    tail: u32,
}

// SAFETY: integers.
unsafe impl Shared for Ends {}

#[repr(C)]
struct Queue {
    ends: Spin<Ends>,
    /// Workers that look for work or sleep: a hint for whoever brings some.
    idle: AtomicU32,
    sleepers: WaitList,
}

// SAFETY: a spinlock over integers, an atomic, a list of sessions.
unsafe impl Shared for Queue {}

// SAFETY: root 12 is used here only.
static QUEUE: Root<Queue> = unsafe { Root::new(12) };

pub(super) fn init() {
    QUEUE.make("io queue", 1)[0].ends.publish(SpinName::IoQueue, 0);
}

/// Hands requests over.
pub(super) fn push(requests: &[u32]) {
    let queue = QUEUE.one();
    {
        let mut ends = queue.ends.lock();
        for &index in requests {
            let request = slot(index);
            request.next.store(0, Relaxed);
            match ends.tail {
                0 => ends.head = index + 1,
                tail => slot(tail - 1).next.store(index + 1, Relaxed),
            }
            ends.tail = index + 1;
            request.hand_over(Method::Worker);
        }
    }
    // A worker counts itself idle before it looks at the queue for the last time.
    for _ in 0..(requests.len() as u32).min(queue.idle.load(SeqCst)) {
        queue.sleepers.post_one();
    }
}

fn pop() -> Option<&'static Slot> {
    let mut ends = QUEUE.one().ends.lock();
    if ends.head == 0 {
        return None;
    }
    let request = slot(ends.head - 1);
    ends.head = request.next.load(Relaxed);
    if ends.head == 0 {
        ends.tail = 0;
    }
    Some(request)
}

/// A worker's life.
pub(crate) fn main() {
    if let Some(disk) = super::sim::disk() {
        disk.answer_requests();
    }
    let queue = QUEUE.one();
    loop {
        if let Some(request) = pop() {
            carry_out(request);
            continue;
        }
        queue.sleepers.enter(0);
        queue.idle.fetch_add(1, SeqCst);
        let request = loop {
            if let Some(request) = pop() {
                break request;
            }
            wait::wait(Event::IoWorkerMain, 0, None);
            // Whoever posted has taken this worker out of the list; if it finds nothing it must be found again.
            queue.sleepers.leave();
            queue.sleepers.enter(0);
        };
        queue.idle.fetch_sub(1, SeqCst);
        queue.sleepers.leave();
        carry_out(request);
    }
}

fn carry_out(request: &'static Slot) {
    let name = request.file();
    let outcome = match files::cached(name).map_or_else(|| files::open(name), Ok) {
        Ok(file) => loop {
            let answer = sync::transfer(request.op(), name, file.fd(), request.rest());
            if let Some(outcome) = request.advance(answer) {
                break outcome;
            }
        },
        Err(error) => Outcome::failed(error.raw_os_error().unwrap_or(libc::EIO)),
    };
    engine::expect_local().shared.stats.io_completed.add(1);
    request.settle(outcome);
}
