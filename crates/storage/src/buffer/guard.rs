//! A page latched to be read, a pinned page, and the latch on it.
//!
//! ```text
//! let page = pool.read(page)?;             // may wait for a read; shared latch; derefs to the page's bytes
//!
//! let pinned = pool.pin(page)?;            // may wait for a read
//! let page = pinned.read();                // shared latch
//! let mut page = pinned.write();           // exclusive latch; changed through buffer::log
//! ```
//!
//! Whoever reads a page once needs no pin (rule 1 of [`super`]); who changes it, or comes back to it, does.

use super::descriptor::Descriptor;
use super::pins::Pin;
use crate::page::PageBytes;
use base::{Lsn, PageId};
use kernel::region::frames::{FrameRead, FrameWrite, Frames};
use kernel::wait::Event;
use std::ops::Deref;

/// A page that stays in its frame as long as this lives.
pub struct Pinned {
    pin: Pin,
    page: PageId,
}

impl Pinned {
    #[inline]
    pub(super) fn new(pin: Pin, page: PageId) -> Pinned {
        Pinned { pin, page }
    }

    #[inline]
    fn frames(&self) -> &'static Frames<Descriptor> {
        &self.pin.pool().frames
    }

    fn descriptor(&self) -> &'static Descriptor {
        self.pin.pool().descriptor(self.pin.frame())
    }

    /// Which page it is.
    #[inline]
    pub fn id(&self) -> PageId {
        self.page
    }

    /// Latches it to be read.
    #[inline]
    pub fn read(&self) -> PageRef {
        let frame = self.frames().read(self.pin.frame() as usize, Event::BufferContent);
        PageRef { frame, page: self.page }
    }

    /// Latches it to be read if that needs no wait.
    #[inline]
    pub fn try_read(&self) -> Option<PageRef> {
        let frame = self.frames().try_read(self.pin.frame() as usize)?;
        Some(PageRef { frame, page: self.page })
    }

    /// Latches it to be changed.
    #[inline]
    pub fn write(&self) -> PageMut<'_> {
        let frame = self.frames().write(self.pin.frame() as usize, Event::BufferContent);
        PageMut { frame, pinned: self }
    }

    /// Latches it to be changed if that needs no wait.
    pub fn try_write(&self) -> Option<PageMut<'_>> {
        let frame = self.frames().try_write(self.pin.frame() as usize)?;
        Some(PageMut { frame, pinned: self })
    }

    /// True when nobody else has it pinned; others may read it under their latches.
    pub fn is_only_pin(&self) -> bool {
        self.descriptor().pins() == 1
    }
}

/// A page latched to be read; derefs to its bytes.
pub struct PageRef {
    frame: FrameRead,
    page: PageId,
}

impl Deref for PageRef {
    type Target = PageBytes;

    #[inline]
    fn deref(&self) -> &PageBytes {
        &self.frame
    }
}

impl PageRef {
    #[inline]
    pub(super) fn new(frame: FrameRead, page: PageId) -> PageRef {
        PageRef { frame, page }
    }

    /// Which page it is.
    pub fn id(&self) -> PageId {
        self.page
    }

    /// Sets hints: bits in the number at an even offset, such as a row version's flags. They are not logged, and are lost with
    /// the frame.
    pub fn set_hints(&self, offset: usize, bits: u16) {
        self.frame.set_bits(offset, bits);
    }
}

/// A page latched to be changed; derefs to its bytes. Logged changes go through [`super::log`].
pub struct PageMut<'a> {
    frame: FrameWrite,
    pinned: &'a Pinned,
}

impl Deref for PageMut<'_> {
    type Target = PageBytes;

    #[inline]
    fn deref(&self) -> &PageBytes {
        &self.frame
    }
}

impl PageMut<'_> {
    /// Which page it is.
    pub fn id(&self) -> PageId {
        self.pinned.page
    }

    /// The bytes, for volatile parts only: hints, lock words, command numbers. What is changed here without a log record is
    /// lost with the frame.
    pub fn volatile(&mut self) -> &mut PageBytes {
        &mut self.frame
    }

    /// The bytes, for a logged change.
    pub(super) fn bytes(&mut self) -> &mut PageBytes {
        &mut self.frame
    }

    /// Marks the page dirty from a position on.
    pub(super) fn soil(&self, from: Lsn) {
        self.pinned.descriptor().soil(from);
    }

    /// Recovery's: changes the page as the record that begins at `from` says, if `change` says that it did.
    pub(crate) fn redo<E>(
        &mut self,
        from: Lsn,
        change: impl FnOnce(&mut PageBytes) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let changed = change(&mut self.frame)?;
        if changed {
            self.soil(from);
        }
        Ok(changed)
    }
}
