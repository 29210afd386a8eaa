//! Which frame is used for a page that is in none: a fresh one while there are any, then one whose page nobody needs.
//!
//! The clock: a hand goes round over all frames and takes a use away from each page that it passes; the first page that has none
//! left, is not pinned and is clean goes. A page that is used often survives five rounds, one that a scan brought in none.
//! A scan uses the frames of its own ring again, as long as nobody else has used their pages, so that it does not drive
//! the hand round either.
//!
//! Where all that could go is dirty, the session posts the cleaner and waits for it.

use super::Pool;
use super::descriptor::Look;
use super::pins::Pin;
use crate::page::PAGE_SIZE;
use base::{Error, PageId, Result, sqlstate};
use kernel::clock;
use kernel::region::reserve::STEP;
use kernel::wait::{self, Event, Woken};
use std::sync::atomic::Ordering::*;

/// Frames of a scan's ring: 256 KiB, enough to read ahead, small enough to stay in a processor's cache.
pub const RING_FRAMES: usize = 32;
/// Dirty pages that may be passed before the cleaner is told.
const DIRTY_PASSED_MAX: u32 = 16;
/// How long a session waits for a clean frame before it looks again by itself.
const STARVED_NS: u64 = 100_000_000;
/// How often it does so before it gives up: nothing was cleaned and nothing unpinned for as long.
const STARVED_MAX: u32 = 600;
/// Frames that are backed at a time.
const STEP_FRAMES: usize = STEP / PAGE_SIZE;

/// The frames that a scan has used last.
pub struct ScanRing {
    frames: [Option<(u32, PageId)>; RING_FRAMES],
    at: usize,
}

impl ScanRing {
    /// An empty ring.
    pub fn new() -> ScanRing {
        ScanRing { frames: [None; RING_FRAMES], at: 0 }
    }
}

impl Default for ScanRing {
    fn default() -> ScanRing {
        ScanRing::new()
    }
}

/// How a page is going to be used.
pub(super) enum Use<'a> {
    /// Like any page.
    Often,
    /// Once, by a scan with that ring.
    Once(&'a mut ScanRing),
}

impl Use<'_> {
    pub(super) fn is_often(&self) -> bool {
        matches!(self, Use::Often)
    }
}

impl Pool {
    /// Takes a frame and enters a page under it, without bytes. None if the page has been entered by somebody else meanwhile.
    ///
    /// Errors: `53000` when every frame is pinned, `53200` when there is no memory for a single one.
    pub(super) fn enter(&'static self, page: PageId, how: &mut Use<'_>) -> Result<Option<Pin>> {
        let pin = match how {
            Use::Often => self.take_frame()?,
            Use::Once(ring) => match self.take_from_ring(ring) {
                Some(pin) => pin,
                None => self.take_frame()?,
            },
        };
        if !self.link(page, &pin, how.is_often() as u64) {
            // The frame stays without a page, for the next who looks.
            return Ok(None);
        }
        if let Use::Once(ring) = how {
            ring.frames[ring.at] = Some((pin.frame(), page));
            ring.at = (ring.at + 1) % RING_FRAMES;
        }
        Ok(Some(pin))
    }

    /// The same for reading ahead: no wait, and nothing of what others use.
    pub(super) fn enter_without_wait(&'static self, page: PageId) -> Option<Pin> {
        let pin = match self.take_fresh() {
            Ok(Some(pin)) => pin,
            _ => self.turn(self.used() as u64 / 4).0?,
        };
        self.link(page, &pin, 1).then_some(pin)
    }

    fn take_from_ring(&'static self, ring: &mut ScanRing) -> Option<Pin> {
        let (frame, page) = ring.frames[ring.at]?;
        let descriptor = self.descriptor(frame);
        if descriptor.page() != page || !descriptor.is_scans_own() {
            return None;
        }
        self.evict(frame)
    }

    /// Pins a frame that has no page.
    fn take_frame(&'static self) -> Result<Pin> {
        if let Some(pin) = self.take_fresh()? {
            return Ok(pin);
        }
        let mut starved = 0;
        loop {
            // Enough rounds that a page with the most uses has lost them all.
            let (taken, dirty) = self.turn(self.used() as u64 * 8);
            if let Some(pin) = taken {
                return Ok(pin);
            }
            if starved == STARVED_MAX {
                return Err(Error::statement(sqlstate::INSUFFICIENT_RESOURCES, "no page can leave the buffer pool")
                    .detail(format!("Of {} frames all are pinned or cannot be cleaned.", self.used()))
                    .hint("Raise shared_buffers."));
            }
            starved += 1;
            self.starve(dirty);
        }
    }

    /// A frame that was never used, if there is one.
    ///
    /// Errors: `53200` if there is no memory for the first frames.
    fn take_fresh(&'static self) -> Result<Option<Pin>> {
        let shared = self.shared;
        loop {
            let fresh = shared.fresh.load(Acquire);
            let refused = shared.refused.load(Acquire);
            if fresh as usize >= self.frames.count() || (refused != 0 && fresh >= refused) {
                return Ok(None);
            }
            let frame = fresh as usize;
            let step = frame / STEP_FRAMES * STEP_FRAMES;
            if let Err(error) = self.back(step, STEP_FRAMES.min(self.frames.count() - step)) {
                if step == 0 {
                    return Err(error);
                }
                shared.refused.store(step as u64, Release);
                return Ok(None);
            }
            if shared.fresh.compare_exchange(fresh, fresh + 1, AcqRel, Relaxed).is_err() {
                continue;
            }
            if let Some(pin) = self.note_pin(frame as u32, || self.descriptor(frame as u32).pin_empty()) {
                return Ok(Some(pin));
            }
            // The clock was there first.
        }
    }

    /// Turns the clock over at most `looks` frames. Answers a frame without a page, pinned, if there was one to be had, and whether
    /// dirty ones stood in the way.
    fn turn(&'static self, looks: u64) -> (Option<Pin>, bool) {
        let used = self.used() as u64;
        let mut dirty = 0;
        for _ in 0..looks {
            let frame = (self.shared.hand.fetch_add(1, Relaxed) % used.max(1)) as u32;
            let taken = match self.descriptor(frame).look() {
                Look::Warm => continue,
                Look::Dirty => {
                    dirty += 1;
                    if dirty == DIRTY_PASSED_MAX {
                        self.post_cleaner();
                    }
                    // A whole round of nothing but dirt: more rounds would find the same.
                    if dirty as u64 > used {
                        break;
                    }
                    continue;
                }
                Look::Cold => self.evict(frame),
                Look::Empty => self.note_pin(frame, || self.descriptor(frame).pin_empty()),
            };
            if let Some(pin) = taken {
                return (Some(pin), dirty > 0);
            }
        }
        (None, dirty > 0)
    }

    fn evict(&'static self, frame: u32) -> Option<Pin> {
        // Who reads the page without a pin keeps it (rule 1 of `super`).
        let alone = self.frames.try_hold(frame as usize);
        if alone.is_none() && !kernel::fault::planted("buffer.evicted_under_reader") {
            return None;
        }
        let descriptor = self.descriptor(frame);
        let pin = self.note_pin(frame, || self.unlink(frame, || descriptor.evict()))?;
        self.shared.evictions.fetch_add(1, Relaxed);
        Some(pin)
    }

    /// Throws a page out of its frame, dirty or not. Errors: `55006` if somebody has it pinned.
    pub(super) fn discard(&'static self, frame: u32, page: PageId) -> Result<()> {
        let descriptor = self.descriptor(frame);
        loop {
            let alone = self.frames.try_hold(frame as usize);
            let pin = alone.as_ref().and_then(|_| {
                self.note_pin(frame, || self.unlink(frame, || descriptor.page() == page && descriptor.discard()))
            });
            drop(alone);
            if pin.is_some() || descriptor.page() != page || !descriptor.is_tagged() {
                return Ok(());
            }
            if descriptor.is_filling() {
                // Read ahead, and nobody wants it any more.
                let waiters = self.frames.waiters(frame as usize);
                waiters.enter(0);
                if descriptor.is_filling() {
                    wait::wait_uninterruptible(Event::BufferInProgress, page.to_u64());
                }
                waiters.leave();
                continue;
            }
            if descriptor.pins() > 0 {
                return Err(Error::statement(sqlstate::OBJECT_IN_USE, format!("page {page} is in use")));
            }
            // Somebody looks whether the frame has his page. Only tried, as the page writer does: see docs/locking.md.
            kernel::fault::point("buffer.discard");
            std::hint::spin_loop();
        }
    }

    /// Waits until a page has been cleaned; cleans some itself where there is no cleaner.
    #[cold]
    fn starve(&'static self, dirty: bool) {
        let shared = self.shared;
        shared.starved.fetch_add(1, Relaxed);
        if dirty && shared.cleaner.load(SeqCst) == 0 {
            // Recovery, or the end: there is no cleaner. What cannot be written is found out by whoever needs it written.
            if let Ok(written) = self.clean_some(true)
                && written > 0
            {
                return;
            }
        }
        shared.cleaned.enter(0);
        self.post_cleaner();
        let woken = wait::wait(Event::BufferCleaned, 0, Some(clock::now() + STARVED_NS));
        debug_assert!(!matches!(woken, Woken::Interrupted(_)));
        shared.cleaned.leave();
    }

    /// Tells the cleaner that clean frames are wanted.
    pub(super) fn post_cleaner(&self) {
        if let Some(cleaner) = self.shared.cleaner.load(SeqCst).checked_sub(1) {
            wait::post(base::SessionId(cleaner));
        }
    }
}
