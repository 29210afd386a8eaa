//! Memory that disk requests read into and write from: pieces of the region.
//!
//! A request may be carried out by another process than the one that issued it, and must survive the death of either, so
//! its memory lies in the region, where every process sees it at the same address and nobody's end takes it away.

use super::ALIGN;
use crate::region::heap::{self, Owner};
use crate::region::{self};
use crate::wait::Event;
use base::Result;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::{FileName, read_vectored, write_vectored};

/// A piece of the region that a request reads into or writes from. A plain value; who holds it owns nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Buffer {
    at: u64,
    bytes: u64,
}

// The system takes an array of buffers as it lies.
const _: () =
    assert!(size_of::<Buffer>() == size_of::<libc::iovec>() && align_of::<Buffer>() == align_of::<libc::iovec>());
const _: () = assert!(std::mem::offset_of!(libc::iovec, iov_len) == 8 && size_of::<usize>() == 8);

impl Buffer {
    /// A buffer over memory of the region. Panics if the memory is not the region's.
    ///
    /// # Safety
    /// From the moment a request with this buffer is issued until it is complete, the memory is not given back, nobody
    /// else reads or writes it if the request reads the file, and nobody writes it if the request writes the file.
    pub unsafe fn new(at: NonNull<u8>, bytes: usize) -> Buffer {
        let first = at.as_ptr() as usize;
        assert!(bytes > 0 && bytes <= u32::MAX as usize, "a buffer of {bytes} bytes");
        assert!(region::contains(first) && region::contains(first + bytes - 1), "a buffer outside the region");
        Buffer { at: first as u64, bytes: bytes as u64 }
    }

    /// Where it begins.
    pub fn address(&self) -> usize {
        self.at as usize
    }

    /// How long it is.
    pub fn bytes(&self) -> usize {
        self.bytes as usize
    }

    pub(super) fn is_aligned(&self) -> bool {
        self.address().is_multiple_of(ALIGN) && self.bytes().is_multiple_of(ALIGN)
    }

    /// What is left of it after its first `bytes`.
    pub(super) fn after(&self, bytes: u64) -> Buffer {
        debug_assert!(bytes < self.bytes);
        Buffer { at: self.at + bytes, bytes: self.bytes - bytes }
    }

    pub(super) const NONE: Buffer = Buffer { at: 0, bytes: 0 };
}

/// Pages of the region's heap that belong to one holder, for requests without `unsafe`: spill files, scans around the
/// pool, anything that reads or writes as it goes.
///
/// A death leaves them behind: the clean-up gives back what its owner accounts for, or nobody does. So they serve
/// requests, not what outlives one.
pub struct Pages {
    at: NonNull<u8>,
    pages: usize,
    owner: Owner,
}

// SAFETY: memory of the region that has one holder; any engine may use it.
unsafe impl Send for Pages {}

impl Pages {
    /// Takes at least `bytes` bytes, aligned for direct I/O. What is in them is undefined. Errors: `53200`.
    pub fn new(owner: Owner, bytes: usize) -> Result<Pages> {
        let pages = bytes.max(1).div_ceil(heap::PAGE);
        Ok(Pages { at: heap::alloc(owner, pages)?, pages, owner })
    }

    /// Reads from `offset` of the file into the first `bytes` bytes, and waits for that. Answers how many bytes there were:
    /// fewer at the end of the file. Errors: those of [`super::read`].
    pub fn read(&mut self, event: Event, file: FileName, offset: u64, bytes: usize) -> Result<usize> {
        read_vectored(event, file, offset, &[self.part(0, bytes)])?.wait()
    }

    /// Writes `bytes` bytes from `from` on to `offset` of the file, and waits for that. Errors: those of [`super::write`].
    pub fn write(&self, event: Event, file: FileName, offset: u64, from: usize, bytes: usize) -> Result<usize> {
        write_vectored(event, file, offset, &[self.part(from, bytes)])?.wait()
    }

    fn part(&self, from: usize, bytes: usize) -> Buffer {
        assert!(from + bytes <= self.len(), "a piece beyond its pages");
        // SAFETY: (1) the piece lies in the pages, which live at least as long as the ticket, because both callers wait
        // for it before they return, and a ticket that is dropped by a panic waits too; (2) both borrow the pages for
        // as long, exclusively to read into them.
        unsafe { Buffer::new(self.at.add(from), bytes) }
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: memory that was given to this value alone; the region's memory is always initialised.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.pages * heap::PAGE) }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.pages * heap::PAGE) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` took; nothing borrows it any more.
        unsafe { heap::free(self.owner, self.at, self.pages) };
    }
}
