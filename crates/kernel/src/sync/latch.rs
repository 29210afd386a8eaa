//! The latch: guards a page or a small structure, shared or exclusive, maybe over page I/O.
//!
//! It belongs to a session, not to an engine: a fiber that waits for a page read keeps its latches. New arrivals may
//! overtake those who sleep (barging): handing a latch over to a sleeper was measured to cost a factor of 40 to 80
//! between two CPUs.
//!
//! The word: bit 31 exclusive, bit 30 somebody is in the list, the rest counts shared holders.
//!
//! Rules
//! 1. A session holds at most [`HELD_MAX`] latches, each noted in its slot, so that a death can be cleaned up: a dead
//!    holder's shared latches are released; an exclusive one, or one of which cannot be told whether it was held
//!    (a death between the change of the word and of the note), restarts the server.
//! 2. Latches are taken in a fixed order (docs/locking.md); there is no deadlock detection for them.
//! 3. A wait for a latch cannot be cancelled.

use super::WaitList;
use crate::region::Shared;
use crate::session;
use crate::wait::{self, Event};
use std::sync::atomic::{AtomicU32, Ordering::*};

/// How many latches a session may hold at once.
pub const HELD_MAX: usize = 16;
const EXCLUSIVE: u32 = 1 << 31;
const WAITERS: u32 = 1 << 30;
const COUNT: u32 = WAITERS - 1;
const SPINS: u32 = 100;

/// How a latch is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Mode {
    /// With other readers.
    Shared = 0,
    /// Alone.
    Exclusive = 1,
}

/// See the head of this file. All zero is free. The low bits of its address are free for notes.
#[repr(C, align(8))]
pub struct Latch {
    word: AtomicU32,
    list: WaitList,
}

// SAFETY: atomics and a list of sessions.
unsafe impl Shared for Latch {}

impl Latch {
    /// A new latch, for values outside the region.
    pub const fn new() -> Latch {
        Latch { word: AtomicU32::new(0), list: WaitList::new() }
    }

    #[inline]
    fn try_word(&self, mode: Mode) -> bool {
        let mut seen = self.word.load(Relaxed);
        loop {
            let new = match mode {
                Mode::Shared if seen & EXCLUSIVE == 0 => seen + 1,
                Mode::Exclusive if seen & (EXCLUSIVE | COUNT) == 0 => seen | EXCLUSIVE,
                _ => return false,
            };
            // Acquire pairs with the Release in `unlock`.
            match self.word.compare_exchange_weak(seen, new, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// Takes the latch if that needs no wait.
    #[inline]
    pub fn try_lock(&'static self, mode: Mode) -> Option<LatchGuard> {
        let mut note = session::note_latch(self, mode);
        if self.try_word(mode) {
            note.held();
            Some(LatchGuard { latch: self, mode, note })
        } else {
            note.clear();
            None
        }
    }

    /// Takes the latch, waiting as long as it takes; `event` names the wait.
    #[inline]
    pub fn lock(&'static self, mode: Mode, event: Event) -> LatchGuard {
        crate::fault::point("latch");
        let mut note = session::note_latch(self, mode);
        if !self.try_word(mode) {
            self.lock_contended(mode, event, &mut note);
        }
        note.held();
        LatchGuard { latch: self, mode, note }
    }

    #[cold]
    fn lock_contended(&'static self, mode: Mode, event: Event, note: &mut session::LatchNote) {
        for _ in 0..SPINS {
            if self.try_word(mode) {
                return;
            }
            std::hint::spin_loop();
        }
        loop {
            self.list.enter(mode as u32);
            crate::fault::point("latch.queued");
            // The mark is set before the word is tried again: a release that comes later sees it and posts us, one that
            // came earlier left the word free.
            self.word.fetch_or(WAITERS, SeqCst);
            loop {
                if self.try_word(mode) {
                    if self.list.leave() && self.list.is_empty() {
                        self.clear_waiters();
                    }
                    return;
                }
                note.waiting();
                wait::wait_uninterruptible(event, &raw const self.word as u64);
                note.trying();
                if crate::fault::planted("latch.freed_early") && mode == Mode::Exclusive {
                    self.word.fetch_or(EXCLUSIVE, SeqCst);
                    self.list.leave();
                    return;
                }
                if session::current().queued.load(Relaxed) == 0 {
                    break;
                }
            }
            if self.try_word(mode) {
                return;
            }
        }
    }

    /// Takes the mark back under the list's spinlock, if really nobody is in it.
    fn clear_waiters(&self) {
        self.list.post_while(
            |_| false,
            || {
                self.word.fetch_and(!WAITERS, SeqCst);
            },
        );
    }

    #[inline]
    fn unlock_word(&self, mode: Mode) {
        crate::fault::point("unlatch");
        let before = match mode {
            Mode::Shared => self.word.fetch_sub(1, SeqCst),
            Mode::Exclusive => self.word.fetch_and(!EXCLUSIVE, SeqCst),
        };
        crate::fault::point("unlatched");
        let last = mode == Mode::Exclusive || before & COUNT == 1;
        if last && before & WAITERS != 0 {
            self.post_waiters();
        }
    }

    /// Posts the first waiter if it wants the latch alone, else all readers at the front.
    #[cold]
    fn post_waiters(&self) {
        let mut first = true;
        let mut stop = false;
        self.list.post_while(
            |mark| {
                let alone = mark == Mode::Exclusive as u32;
                let take = !stop && (first || !alone);
                stop |= alone;
                first = false;
                take
            },
            || {
                self.word.fetch_and(!WAITERS, SeqCst);
            },
        );
    }

    /// Releases what a dead session held. Only the clean-up calls it.
    pub(crate) fn release_for_dead(&self, mode: Mode) {
        self.unlock_word(mode);
    }

    /// Takes a dead session out of the list of waiters.
    pub(crate) fn forget_dead(&self, dead: &session::SessionShared) {
        self.list.remove(dead);
    }

    /// True when somebody holds it alone.
    pub fn is_exclusive(&self) -> bool {
        self.word.load(Relaxed) & EXCLUSIVE != 0
    }
}

impl Default for Latch {
    fn default() -> Latch {
        Latch::new()
    }
}

/// A held latch; the release is its drop.
#[must_use]
pub struct LatchGuard {
    latch: &'static Latch,
    mode: Mode,
    note: session::LatchNote,
}

impl LatchGuard {
    /// How it is held.
    pub fn mode(&self) -> Mode {
        self.mode
    }
}

impl Drop for LatchGuard {
    #[inline]
    fn drop(&mut self) {
        self.note.trying();
        self.latch.unlock_word(self.mode);
        self.note.clear();
    }
}
