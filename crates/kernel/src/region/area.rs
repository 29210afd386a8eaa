//! An area: memory that one session at a time has to itself, to put together what is written to files.
//!
//! Its latch is what the writers of such files queue at. While it is held the bytes are changed like any slice; requests borrow
//! the guard, so that nobody changes bytes that are on their way to a file.

use super::Shared;
use super::reserve::Reserve;
use crate::io::{self, Buffer, FileName, Ticket};
use crate::sync::{Latch, LatchGuard, Mode};
use crate::wait::Event;
use base::Result;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

const PAGE: usize = 4096;

#[repr(C, align(4096))]
struct Page(UnsafeCell<[u8; PAGE]>);

// SAFETY: access goes through the guard of the area's latch only.
unsafe impl Sync for Page {}
// SAFETY: plain bytes; see above for sharing.
unsafe impl Shared for Page {}

/// See the head of this file.
#[derive(Clone, Copy)]
pub struct Area {
    pages: Reserve<Page>,
    latch: &'static Latch,
}

impl Area {
    /// Takes and backs memory for `bytes` bytes, a multiple of 4 KiB. Only before the first engine runs. Errors: `53200`.
    pub fn make(name: &'static str, bytes: usize) -> Result<Area> {
        assert!(bytes > 0 && bytes.is_multiple_of(PAGE));
        let pages = Reserve::make(name, bytes / PAGE);
        pages.back(0, bytes / PAGE)?;
        Ok(Area { pages, latch: super::single::<Latch>(&format!("{name} latch")) })
    }

    /// Waits for the area; `event` names the wait.
    pub fn lock(&self, event: Event) -> AreaGuard {
        let latch = self.latch.lock(Mode::Exclusive, event);
        let at = NonNull::from(self.pages.get(0)).cast::<u8>();
        AreaGuard { bytes: NonNull::slice_from_raw_parts(at, self.pages.len() * PAGE), latch }
    }
}

/// The area, while a session has it; the release is its drop.
pub struct AreaGuard {
    bytes: NonNull<[u8]>,
    #[expect(dead_code, reason = "its drop is what it is for")]
    latch: LatchGuard,
}

impl Deref for AreaGuard {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the latch is held alone, and the pages lie in a row.
        unsafe { self.bytes.as_ref() }
    }
}

impl DerefMut for AreaGuard {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the guard is borrowed exclusively.
        unsafe { self.bytes.as_mut() }
    }
}

/// A write that is under way from an [`Area`].
#[must_use = "a request is complete when its ticket has been waited for"]
pub struct AreaTicket<'a> {
    ticket: Ticket,
    area: PhantomData<&'a AreaGuard>,
}

impl AreaTicket<'_> {
    /// Waits for its end; see [`Ticket::wait`].
    pub fn wait(self) -> Result<usize> {
        self.ticket.wait()
    }
}

impl AreaGuard {
    /// Begins to write `bytes` bytes from `from` on to a file, `durable` or just so.
    ///
    /// Errors: those of [`io::write_vectored`].
    pub fn write(
        &self,
        event: Event,
        (from, bytes): (usize, usize),
        file: FileName,
        offset: u64,
        durable: bool,
    ) -> Result<AreaTicket<'_>> {
        let part = &self[from..from + bytes];
        // SAFETY: the memory stays for good, the request only reads it, and the ticket's borrow keeps it from being changed.
        // (A ticket that is forgotten lets it be changed: the file then gets what it gets, and memory is as sound as before.)
        let buffer = unsafe { Buffer::new(NonNull::from(part).cast(), bytes) };
        let ticket = if durable {
            io::write_durable(event, file, offset, &[buffer])?
        } else {
            io::write_vectored(event, file, offset, &[buffer])?
        };
        Ok(AreaTicket { ticket, area: PhantomData })
    }
}
