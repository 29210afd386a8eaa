//! A queue of waiting sessions: first come, first posted.
//!
//! The links lie in the session slots, so the list itself is two words and a spinlock, and a session is in at most one
//! list. A session enters the list, looks at its condition once more, waits, and leaves the list if nobody took it out:
//!
//! ```text
//! list.enter(mode);
//! while !condition() { wait(EVENT, deadline)?; }
//! list.leave();
//! ```
//!
//! Rules
//! 1. Taking a session out of the list and posting it are two steps, the second after the spinlock's release.
//! 2. A post may be spurious, a session may find itself still in the list: [`WaitList::leave`] copes with both.

use super::Spin;
use super::spin::Uncounted;
use crate::region::Shared;
use crate::session::{self, SessionShared};
use crate::wait;
use base::SessionId;
use std::sync::atomic::Ordering::*;

#[repr(C)]
#[derive(Default)]
struct Ends {
    /// Slot numbers counted from one; zero is none.
    head: u32,
    tail: u32,
}

// SAFETY: two integers.
unsafe impl Shared for Ends {}

/// A queue of sessions; see the head of this file. All zero is empty.
#[repr(C)]
pub struct WaitList {
    ends: Spin<Ends, Uncounted>,
}

// SAFETY: a spinlock over two integers.
unsafe impl Shared for WaitList {}

impl WaitList {
    /// A new list, for values outside the region.
    pub const fn new() -> WaitList {
        WaitList { ends: Spin::new(Ends { head: 0, tail: 0 }) }
    }

    /// Puts the running session at the end, with a mark that [`WaitList::post_while`] shows to its caller.
    pub fn enter(&self, mark: u32) {
        let me = session::current();
        let mut ends = self.ends.lock();
        debug_assert_eq!(me.queued.load(Relaxed), 0, "a session waits in two lists");
        me.queue_mark.store(mark, Relaxed);
        me.queue_next.store(0, Relaxed);
        me.queue.store(self as *const WaitList as u64, Relaxed);
        me.queued.store(1, Relaxed);
        let number = me.id().0 + 1;
        match ends.tail {
            0 => ends.head = number,
            tail => slot(tail).queue_next.store(number, Relaxed),
        }
        ends.tail = number;
    }

    /// Takes the running session out, if nobody has. True if it was still in.
    pub fn leave(&self) -> bool {
        self.remove(session::current())
    }

    /// Takes a session out, if it is in: after a death, by whoever cleans up.
    pub(crate) fn remove(&self, me: &SessionShared) -> bool {
        let mut ends = self.ends.lock();
        if me.queued.load(Relaxed) == 0 {
            return false;
        }
        let number = me.id().0 + 1;
        let mut before = 0;
        let mut at = ends.head;
        while at != number {
            if at == 0 {
                // It waits in another list.
                return false;
            }
            before = at;
            at = slot(at).queue_next.load(Relaxed);
        }
        let next = me.queue_next.load(Relaxed);
        match before {
            0 => ends.head = next,
            before => slot(before).queue_next.store(next, Relaxed),
        }
        if ends.tail == number {
            ends.tail = before;
        }
        me.queued.store(0, Relaxed);
        true
    }

    /// Takes sessions out from the front while `take` says so of their mark, and posts them. Answers how many.
    /// `emptied` runs under the spinlock if the list is empty then: for a flag that says that somebody waits.
    pub fn post_while(&self, mut take: impl FnMut(u32) -> bool, emptied: impl FnOnce()) -> u32 {
        let mut total = 0;
        let mut emptied = Some(emptied);
        loop {
            let mut batch = [SessionId(0); 16];
            let mut count = 0;
            let more = {
                let mut ends = self.ends.lock();
                while count < batch.len() && ends.head != 0 {
                    let first = slot(ends.head);
                    if !take(first.queue_mark.load(Relaxed)) {
                        break;
                    }
                    batch[count] = first.id();
                    count += 1;
                    ends.head = first.queue_next.load(Relaxed);
                    first.queued.store(0, Relaxed);
                }
                if ends.head == 0 {
                    ends.tail = 0;
                    if let Some(emptied) = emptied.take() {
                        emptied();
                    }
                }
                count == batch.len()
            };
            crate::fault::point("taken out");
            for &session in &batch[..count] {
                wait::post(session);
            }
            total += count as u32;
            if !more {
                return total;
            }
        }
    }

    /// Posts everybody.
    pub fn post_all(&self) -> u32 {
        self.post_while(|_| true, || ())
    }

    /// Posts the first one, if there is one.
    pub fn post_one(&self) -> u32 {
        let mut left = 1;
        self.post_while(|_| std::mem::replace(&mut left, 0) == 1, || ())
    }

    /// True when nobody waits; a hint, since it takes no lock.
    pub fn is_empty(&self) -> bool {
        self.ends.lock().head == 0
    }
}

impl Default for WaitList {
    fn default() -> WaitList {
        WaitList::new()
    }
}

/// Takes a dead session out of the list that it waited in, whichever that is.
pub(crate) fn leave_any_list(dead: &SessionShared) {
    if dead.queued.load(SeqCst) != 0 {
        // SAFETY: `enter` stored the address of a list that lives as long as the region, and the session is still in it.
        let list = unsafe { &*(dead.queue.load(SeqCst) as *const WaitList) };
        list.remove(dead);
    }
}

fn slot(number: u32) -> &'static SessionShared {
    session::slot(SessionId(number - 1))
}
