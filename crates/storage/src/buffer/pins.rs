//! Pins, and the notes that a death leaves of them.
//!
//! A pin is a count in the frame's state word and a note in the session's row. The note says *trying* before the count is
//! raised and *held* after, and the other way round at the end; so whoever cleans up after the session knows what it had, but
//! for the moment between count and note, in which only a restart is certain.
//!
//! Rules
//! 1. A session holds at most [`HELD_MAX`] pins; to want more is a bug.
//! 2. Only the session itself writes its notes, and after its death the clean-up.

use super::Pool;
use base::{PageId, SessionId};
use kernel::session;
use kernel::stats::Counter;
use std::sync::atomic::{AtomicU64, Ordering::*, compiler_fence};

/// How many pins a session may hold at once.
pub const HELD_MAX: usize = 16;
const TRYING: u64 = 1 << 32;

kernel::shared! {
    /// A session's notes: frames counted from one, zero is free.
    pub struct Notes {
        pins: [AtomicU64; HELD_MAX],
        /// Pins and latches that found their page in a frame.
        pub(super) hits: Counter,
        /// Pages that it read, or asked for ahead.
        pub(super) reads: Counter,
    }
}

/// A pin: the frame keeps its page until this is dropped.
pub struct Pin {
    pool: &'static Pool,
    note: &'static AtomicU64,
    frame: u32,
    session: SessionId,
}

impl Pin {
    #[inline]
    pub(super) fn pool(&self) -> &'static Pool {
        self.pool
    }

    #[inline]
    pub(super) fn frame(&self) -> u32 {
        self.frame
    }

    #[inline]
    pub(super) fn session(&self) -> usize {
        self.session.0 as usize
    }
}

impl Drop for Pin {
    #[inline]
    fn drop(&mut self) {
        self.note.store((self.frame as u64 + 1) | TRYING, Release);
        compiler_fence(SeqCst);
        self.pool.descriptor(self.frame).unpin();
        compiler_fence(SeqCst);
        self.note.store(0, Release);
    }
}

impl Pool {
    /// Tries to raise a frame's pin count by `take`, with a note before and after.
    #[inline]
    pub(super) fn note_pin(&'static self, frame: u32, take: impl FnOnce() -> bool) -> Option<Pin> {
        let session = session::current_id();
        let notes = &self.notes[session.0 as usize].pins;
        let note = notes.iter().find(|note| note.load(Relaxed) == 0).expect("a session holds too many pins");
        note.store((frame as u64 + 1) | TRYING, Release);
        compiler_fence(SeqCst);
        if !take() {
            note.store(0, Release);
            return None;
        }
        compiler_fence(SeqCst);
        note.store(frame as u64 + 1, Release);
        Some(Pin { pool: self, note, frame, session })
    }

    /// Pins the frame if it has the page.
    #[inline]
    pub(super) fn try_pin(&'static self, frame: u32, page: PageId, often: bool) -> Option<Pin> {
        let descriptor = self.descriptor(frame);
        let pin = self.note_pin(frame, || descriptor.pin(often))?;
        // It may have got another page since it was found; now it keeps what it has.
        (descriptor.page() == page).then_some(pin)
    }

    /// Pins that the running session holds.
    pub fn pins_held(&self) -> usize {
        let notes = &self.notes[session::current_id().0 as usize].pins;
        notes.iter().filter(|note| note.load(Relaxed) != 0).count()
    }

    /// Releases what a dead session had pinned, and reads that it had announced and not issued. Only the clean-up calls it, after
    /// the dead host's requests have drained.
    pub(crate) fn forget_dead(&'static self, dead: SessionId) {
        for note in &self.notes[dead.0 as usize].pins {
            let value = note.load(SeqCst);
            if value == 0 {
                continue;
            }
            if value & TRYING != 0 {
                crate::stop_server("a session died while it pinned a page");
            }
            let descriptor = self.descriptor(value as u32 - 1);
            if descriptor.is_filling() && descriptor.issuer.load(Acquire) == dead.0 {
                self.abandon_fill(value as u32 - 1);
            }
            descriptor.unpin();
            note.store(0, SeqCst);
        }
    }
}
