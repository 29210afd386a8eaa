//! Which dirty pages are written, and when: ahead of the clock so that sessions find clean frames, all of them for a checkpoint.
//!
//! How they are written is [`crate::double_write`]'s. The cleaner is a background task; sessions that find no clean frame post
//! it and wait. Where there is none (recovery, the end) sessions clean for themselves.

use super::Pool;
use crate::double_write::{BATCH_PAGES, Batch};
use base::{Lsn, Result};
use kernel::wait::{self, Event};
use kernel::{clock, session};
use std::sync::atomic::Ordering::*;

/// How long the cleaner sleeps when nobody posts it.
const PAUSE_NS: u64 = 200_000_000;
/// How long after an error.
const PAUSE_AFTER_ERROR_NS: u64 = 1_000_000_000;
/// How much of the pool ahead of the clock's hand is kept clean: one part in so many.
const AHEAD: usize = 8;
/// How often a checkpoint comes back to pages that somebody was changing, before it only waits for them.
const PAUSE_BUSY_NS: u64 = 1_000_000;

impl Pool {
    /// The cleaner's life. Until the server stops.
    pub fn run_cleaner(&'static self) {
        self.shared.cleaner.store(session::current_id().0 + 1, SeqCst);
        while !session::stopping() {
            let starving = !self.shared.cleaned.is_empty();
            let pause = match self.clean_some(starving) {
                // As long as there is something to do, and somebody may need it.
                Ok(written) if written == BATCH_PAGES || (written > 0 && starving) => continue,
                Ok(_) => PAUSE_NS,
                Err(error) => {
                    eprintln!("gearbox: the page cleaner cannot write: {error}");
                    PAUSE_AFTER_ERROR_NS
                }
            };
            if starving {
                // What it could not clean may be unpinned by now.
                self.shared.cleaned.post_all();
            }
            wait::wait(Event::CleanerMain, 0, Some(clock::now() + pause));
        }
        self.shared.cleaner.store(0, SeqCst);
        self.shared.cleaned.post_all();
    }

    /// Cleans a batch of pages that the clock comes to next and that nobody uses; `urgent`, of all that are not pinned.
    /// Answers how many.
    pub(super) fn clean_some(&'static self, urgent: bool) -> Result<usize> {
        let used = self.used();
        if used == 0 {
            return Ok(0);
        }
        let hand = self.shared.hand.load(Relaxed) as usize;
        let ahead = if urgent { used } else { (used / AHEAD).max(1) };
        let mut chosen = Vec::with_capacity(BATCH_PAGES);
        // A pool that is not full yet needs no clean frames.
        let full = used == self.frames.count() || self.shared.refused.load(Relaxed) != 0;
        if full || urgent {
            for step in 0..ahead {
                let frame = (hand + step) % used;
                let descriptor = self.descriptor(frame as u32);
                if descriptor.is_cleanable(urgent) {
                    chosen.push(frame as u32);
                    if chosen.len() == BATCH_PAGES {
                        break;
                    }
                }
            }
        }
        if chosen.is_empty() {
            return Ok(0);
        }
        chosen.sort_unstable_by_key(|&frame| self.descriptor(frame).page());
        self.write_pages(&chosen, true).map(|(written, _)| written)
    }

    /// Writes every page that was dirty before `target`; `pause` is told after each batch how much is done, of how much. Returns
    /// when all of them are at their places.
    pub(crate) fn clean_before(&'static self, target: Lsn, mut pause: impl FnMut(usize, usize)) -> Result<()> {
        let mut done = 0;
        loop {
            let is_due = |frame: &u32| self.descriptor(*frame).dirt().is_some_and(|dirt| dirt < target);
            let mut due: Vec<u32> = (0..self.used() as u32).filter(is_due).collect();
            if due.is_empty() {
                return Ok(());
            }
            due.sort_unstable_by_key(|&frame| self.descriptor(frame).page());
            let total = done + due.len();
            let mut rest = &due[..];
            let before = done;
            while !rest.is_empty() {
                let (written, looked) = self.write_pages(rest, false)?;
                rest = &rest[looked..];
                done += written;
                pause(done, total);
            }
            if done == before {
                // Somebody changes what is left, or another writer has it.
                wait::wait(Event::BufferCleaned, target.0, Some(clock::now() + PAUSE_BUSY_NS));
            }
        }
    }

    /// Claims a frame and copies its page into a batch, if it is dirty and nobody changes it right now. Answers from where the log is
    /// needed for it until it is written.
    pub(crate) fn copy_page(&self, frame: u32, unpinned_only: bool, batch: &mut Batch) -> Option<Lsn> {
        let descriptor = self.descriptor(frame);
        if !descriptor.begin_write(unpinned_only) {
            return None;
        }
        // The claim keeps the page in its frame.
        let Some(bytes) = self.frames.try_read(frame as usize) else {
            descriptor.end_write();
            return None;
        };
        // Noted for checkpoints before the frame forgets it.
        batch.note_dirt(descriptor.dirt().unwrap_or(Lsn(0)));
        batch.copy(descriptor.page(), &bytes);
        Some(descriptor.copied())
    }

    /// A page that was claimed could not be written: it is as dirty as before.
    pub(crate) fn write_failed(&self, frame: u32, dirt: Lsn) {
        self.descriptor(frame).soil_again(dirt);
    }

    /// Lets claimed frames go, and whoever waits for clean ones look.
    pub(crate) fn written(&self, frames: impl Iterator<Item = u32>, count: u64) {
        frames.for_each(|frame| self.descriptor(frame).end_write());
        self.shared.written.fetch_add(count, Relaxed);
        if !self.shared.cleaned.is_empty() {
            self.shared.cleaned.post_all();
        }
    }
}
