//! Reading pages in.
//!
//! ```text
//!   begin_fill: FILLING --> request issued --> (completion, wherever it is taken in) --> verified --> VALID, waiters posted
//!                                                                                     \-> not a page: neither, waiters posted
//! ```
//!
//! Rules
//! 1. The completion action needs nobody: it looks at the bytes, sets the state and posts. It may run twice, if an engine died in
//!    it, and then does nothing the second time: the fill's number is part of its parameter.
//! 2. A page enters by [`header::verify`] and [`page::check`], so what a latch shows is a page.
//! 3. A failed read leaves a frame that is tagged and not valid. Everybody who waits for it finds that, and one after the other
//!    reads again until it works or all have failed by themselves; each gets an error of its own.

use super::Pool;
use super::descriptor::Descriptor;
use super::pins::Pin;
use crate::page::{self, PAGE_SIZE, PageBytes, header};
use base::{Error, PageId, Result};
use kernel::io::{Action, Completion, Pages};
use kernel::region::heap::Owner;
use kernel::session;
use kernel::sync::Critical;
use kernel::wait::{self, Event};
use std::sync::atomic::Ordering::*;

/// The number of the completion action of page reads.
pub const FILLED: u32 = 1;

/// How often a page is looked at aside before a difference between two reads of it is reported.
const READS_MAX: u32 = 3;

impl Pool {
    /// Returns when the pinned frame has its page's bytes: waits for a read on its way, or reads.
    pub(super) fn make_valid(&'static self, pin: &Pin, page: PageId) -> Result<()> {
        let descriptor = self.descriptor(pin.frame());
        let mut reads = 0;
        let mut mine = false;
        loop {
            if descriptor.is_valid() {
                return Ok(());
            }
            if descriptor.is_filling() {
                self.await_fill(pin, page, mine);
                continue;
            }
            if reads > 0 {
                // This session's own read has failed. Why, is seen by reading once more, aside.
                self.read_aside(page)?;
                if reads == READS_MAX {
                    return Err(Error::corruption(format!("page {page} reads differently each time")));
                }
            }
            mine = self.start_fill(pin, page)?;
            reads += mine as u32;
        }
    }

    /// Issues a read of the page into its frame; false if somebody else did, or it is there.
    ///
    /// Errors: the file cannot be opened.
    pub(super) fn start_fill(&self, pin: &Pin, page: PageId) -> Result<bool> {
        let frame = pin.frame();
        let descriptor = self.descriptor(frame);
        let Some(number) = claim(descriptor) else { return Ok(false) };
        kernel::fault::point("buffer.fill");
        self.shared.reads.fetch_add(1, Relaxed);
        self.notes[pin.session()].reads.add(1);
        let (file, offset) = Pool::file_of(page);
        let action = Action { number: FILLED, param: (number as u64) << 32 | frame as u64 };
        let issued = self.frames.fill(frame as usize, Event::DataFileRead, file, offset, action);
        if let Err(error) = issued {
            self.end_fill(frame, false);
            return Err(error);
        }
        Ok(true)
    }

    fn await_fill(&self, pin: &Pin, page: PageId, mine: bool) {
        let descriptor = self.descriptor(pin.frame());
        let event = if mine { Event::DataFileRead } else { Event::BufferInProgress };
        let waiters = self.frames.waiters(pin.frame() as usize);
        waiters.enter(0);
        // Entered first: a completion that comes after this look posts us.
        if descriptor.is_filling() {
            wait::wait_uninterruptible(event, page.to_u64());
        }
        waiters.leave();
    }

    /// The completion action.
    pub(super) fn filled(&self, completion: &Completion) {
        let (number, frame) = ((completion.action.param >> 32) as u32, completion.action.param as u32);
        let descriptor = self.descriptor(frame);
        if descriptor.fill_number() != Some(number) {
            return;
        }
        let page = descriptor.page();
        let valid = match completion.outcome.bytes() {
            Ok(bytes) => self.frames.filled(frame as usize, |buffer| look(buffer, bytes, page).is_ok()),
            Err(_) => false,
        };
        self.frames.end_fill(frame as usize);
        self.end_fill(frame, valid);
    }

    fn end_fill(&self, frame: u32, valid: bool) {
        let descriptor = self.descriptor(frame);
        if !valid {
            self.shared.read_failures.fetch_add(1, Relaxed);
        }
        descriptor.end_fill(valid);
        self.frames.waiters(frame as usize).post_all();
    }

    /// Ends the fill of a dead session that never became a request.
    pub(super) fn abandon_fill(&self, frame: u32) {
        let page = self.descriptor(frame).page();
        let (file, offset) = Pool::file_of(page);
        if self.frames.abandon_fill(frame as usize, file, offset) {
            self.end_fill(frame, false);
        } else if self.descriptor(frame).is_filling() && !self.frames.is_filling(frame as usize) {
            // It died between its claim and the frame's.
            self.end_fill(frame, false);
        }
    }

    /// Makes the bytes of a frame zero without a read, and the frame valid; false if somebody else fills it.
    pub(super) fn make_zero(&self, pin: &Pin, page: PageId) -> Result<bool> {
        let frame = pin.frame();
        let descriptor = self.descriptor(frame);
        if claim(descriptor).is_none() {
            if descriptor.is_filling() {
                self.await_fill(pin, page, false);
            }
            return Ok(descriptor.is_valid());
        }
        self.frames.write(frame as usize, Event::BufferContent).fill(0);
        self.end_fill(frame, true);
        Ok(true)
    }

    /// Reads a page into memory of this session's own, and says what is wrong with it, if anything is.
    fn read_aside(&self, page: PageId) -> Result<()> {
        let (file, offset) = Pool::file_of(page);
        let mut pages = Pages::new(Owner::WorkMemory, PAGE_SIZE)?;
        let bytes = pages.read(Event::DataFileReadDirect, file, offset, PAGE_SIZE)?;
        match pages.first_chunk_mut::<PAGE_SIZE>() {
            Some(buffer) => look(buffer, bytes, page),
            None => unreachable!("memory for a page is as long as a page"),
        }
    }
}

/// Claims a frame's fill for the running session. A death between claim and name would leave a fill that is nobody's, so it
/// restarts the server.
fn claim(descriptor: &Descriptor) -> Option<u32> {
    let _critical = Critical::enter();
    descriptor.begin_fill(session::current_id().0)
}

/// Looks whether the first `bytes` bytes that were read are the page. What is behind the end of a file is zeros.
fn look(buffer: &mut PageBytes, bytes: usize, id: PageId) -> Result<()> {
    buffer[bytes..].fill(0);
    header::verify(buffer, id)?;
    page::check(buffer)
}
