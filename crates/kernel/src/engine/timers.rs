//! Deadlines of an engine's fibers: a heap, with lazy removal.
//!
//! A fiber that is posted before its deadline leaves its entry behind; an entry counts only while the fiber is still in
//! the wait that made it.

use crate::clock::Nanos;
use base::SessionId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, u64, SessionId)>>,
    next: u64,
}

impl Timers {
    /// Enters a deadline; the answer names this wait of the session.
    pub(crate) fn add(&mut self, deadline: Nanos, session: SessionId) -> u64 {
        self.next += 1;
        self.heap.push(Reverse((deadline, self.next, session)));
        self.next
    }

    /// Takes out the first entry that is due at `now`: the session, and the wait's name.
    pub(crate) fn due(&mut self, now: Nanos) -> Option<(SessionId, u64)> {
        match self.heap.peek() {
            Some(&Reverse((deadline, wait, session))) if deadline <= now => {
                self.heap.pop();
                Some((session, wait))
            }
            _ => None,
        }
    }

    /// The next deadline.
    pub(crate) fn first(&self) -> Option<Nanos> {
        self.heap.peek().map(|entry| entry.0.0)
    }
}
