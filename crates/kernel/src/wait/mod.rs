//! The one way to block.
//!
//! A session waits on the state word of its own slot; whoever has news posts it. A post is binary and may come early: it
//! is remembered, several coalesce into one, and some mean nothing (after a death everybody is posted). So a wait is
//! always a loop around its condition:
//!
//! ```text
//!   waiter                                poster
//!   make yourself findable (a list …)     change the condition
//!   while !condition {                    find the waiter
//!       wait(EVENT, deadline)?            post(session)
//!   }
//! ```
//!
//! The state word of a slot:
//!
//! ```text
//!           post                    wait: nothing posted            post
//! RUNNING ---------> POSTED   RUNNING ------------------> WAITING ---------> POSTED --(the waiter comes back)--> RUNNING
//!                      | wait: comes back at once                  time-out: the waiter itself
//!                      v                                  WAITING --------------------------> RUNNING
//!                   RUNNING
//! ```
//!
//! Both sides swap the word with sequential consistency, so either the poster sees WAITING and wakes, or the waiter sees
//! POSTED and does not sleep. What waking means depends on where the session waits: a session that holds its engine sleeps
//! on the chosen primitive ([`futex`], [`posix`], [`sysv`], [`eventfd`]); a fiber has given its engine up, so the post
//! puts it into that engine's inbox and wakes the engine only if it sleeps.
//!
//! Rules
//! 1. Nothing blocks by other means. Every wait names its [`Event`], is counted and timed.
//! 2. No wait inside a critical section, under a spinlock, or while a panic unwinds; [`wait`] asserts it.
//! 3. The event's row says whether an interrupt (cancel, terminate) ends the wait.

pub mod eventfd;
pub mod events;
pub mod futex;
pub mod posix;
mod primitive;
pub mod sysv;

pub use events::{Cancel, Class, Event};
pub(crate) use primitive::{sleep, wake};

use crate::clock::{self, Nanos};
use crate::engine;
use crate::session::{self, Interrupt, SessionShared};
use base::SessionId;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// The states of a slot's wait word.
pub(crate) const RUNNING: u32 = 0;
pub(crate) const POSTED: u32 = 1;
pub(crate) const WAITING: u32 = 2;

/// Why a wait came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Woken {
    /// Somebody posted, or nobody knows: look at the condition.
    Posted,
    /// The deadline passed.
    TimedOut,
    /// The session is cancelled or terminated, and the event allows it.
    Interrupted(Interrupt),
}

/// Waits until the running session is posted, the deadline passes, or an interrupt comes that the event lets through.
/// `param` is shown beside the event: what is waited for.
pub fn wait(event: Event, param: u64, deadline: Option<Nanos>) -> Woken {
    let me = session::current();
    let interruptible = event.row().cancel == Cancel::AnyTime;
    if interruptible && let Some(interrupt) = me.interrupt() {
        return Woken::Interrupted(interrupt);
    }
    crate::fault::point("wait");
    if me.wait_word.load(Relaxed) == POSTED {
        // Taken early, without a sleep: Acquire pairs with the poster's swap.
        me.wait_word.swap(RUNNING, SeqCst);
        engine::count_wait(event, 0, false);
        return Woken::Posted;
    }
    engine::assert_may_wait();
    let start = clock::now();
    me.begin_wait(event, param, start);
    let posted = engine::block(me, deadline);
    me.end_wait();
    engine::count_wait(event, clock::now().saturating_sub(start), true);
    if interruptible && let Some(interrupt) = me.interrupt() {
        return Woken::Interrupted(interrupt);
    }
    // It may have come back for a post that was taken early and arrived late, or for an interrupt that the event keeps out:
    // that is no time-out.
    let timed_out = !posted && deadline.is_some_and(|at| clock::now() >= at);
    if timed_out { Woken::TimedOut } else { Woken::Posted }
}

/// Waits for a post, whatever interrupts come: for latches and I/O in progress.
pub fn wait_uninterruptible(event: Event, param: u64) {
    debug_assert!(event.row().cancel != Cancel::AnyTime);
    wait(event, param, None);
}

/// Announces that the running session waits for its socket, and blocks in `sleep` if it holds its engine.
///
/// Only [`crate::net`] calls it: the wait of a session that holds its engine ends by the socket itself.
pub(crate) fn announced<T>(event: Event, sleep: impl FnOnce() -> T) -> T {
    engine::assert_may_wait();
    let me = session::current();
    let start = clock::now();
    me.begin_wait(event, 0, start);
    let result = engine::blocking(sleep);
    me.end_wait();
    engine::count_wait(event, clock::now().saturating_sub(start), true);
    result
}

/// Ends a session's wait, or lets its next one come back at once. Any session, of any host, in any state.
pub fn post(session: SessionId) {
    crate::fault::point("post");
    let slot = session::slot(session);
    if crate::fault::planted("wait.lost_post") && slot.wait_word.load(SeqCst) != WAITING {
        return;
    }
    if slot.wait_word.swap(POSTED, SeqCst) == WAITING {
        crate::fault::point("posted");
        engine::wake_session(slot);
    }
}

/// Posts a session whose last poster may have died between the post and the wake-up: it is woken whatever its word says.
pub(crate) fn post_again(slot: &'static SessionShared) {
    slot.wait_word.swap(POSTED, SeqCst);
    engine::wake_session(slot);
}

/// Moves a slot from RUNNING to WAITING; false if it has been posted meanwhile (the post is taken then).
pub(crate) fn arm(slot: &SessionShared) -> bool {
    crate::fault::point("arm");
    if slot.wait_word.compare_exchange(RUNNING, WAITING, SeqCst, SeqCst).is_ok() {
        return true;
    }
    slot.wait_word.store(RUNNING, SeqCst);
    false
}

/// Moves a slot from WAITING or POSTED back to RUNNING; true if it was posted.
pub(crate) fn disarm(slot: &SessionShared) -> bool {
    slot.wait_word.swap(RUNNING, SeqCst) == POSTED
}

/// Spins while the word reads `value`, at most `spin_ns`; true if it changed.
pub(crate) fn spin_while(word: &AtomicU32, value: u32, spin_ns: u64) -> bool {
    if spin_ns == 0 {
        return false;
    }
    let end = clock::real_now() + spin_ns;
    loop {
        for _ in 0..32 {
            if word.load(Acquire) != value {
                return true;
            }
            std::hint::spin_loop();
        }
        if clock::real_now() >= end {
            return false;
        }
    }
}
