//! Page frames: memory of 8 KiB each that a latch guards, or a disk request, never both. Beside each lies what its user keeps of it, in one
//! line of the processor's cache with the latch.
//!
//! A frame's bytes are reached only through a guard: [`FrameRead`] under its latch held shared, [`FrameWrite`] under its
//! latch held alone. A frame that is being filled from a file has neither; the request owns it from [`Frames::fill`] until the
//! completion has looked at the bytes ([`Frames::filled`]) and said so ([`Frames::end_fill`]).
//!
//! ```text
//!            fill                       (the request is over)      end_fill
//!  latched ---------> filling -----------------------------------------------> latched
//!                        | if the request cannot be issued                  ^
//!                        \----------------- back ---------------------------/
//! ```
//!
//! Rules
//! 1. Whoever asks for a fill knows that nobody else uses the frame: in the buffer pool, by the frame's state word. Others may have it latched
//!    for the moment that it takes to see that it is not what they look for ([`Frames::try_read`], [`Frames::try_hold`]), and are waited for.
//!    Any other latch of a frame that is being filled is a bug and panics.
//! 2. Memory is backed before a frame's first use ([`Frames::back`]), and stays.
//! 3. Hints may be set by whoever holds the latch shared ([`FrameRead::set_bits`]), and a number may be read by whoever does not
//!    ([`Frames::peek`]): see there.

use super::Shared;
use super::prefetch::{LINE_BYTES, prefetch_at, prefetch_to_write};
use super::reserve::Reserve;
use crate::io::{self, Action, Buffer, FileName};
use crate::sync::{Latch, LatchGuard, Mode, WaitList};
use crate::wait::Event;
use base::Result;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::*};

/// Bytes of a frame.
pub const FRAME_BYTES: usize = 8192;

/// A frame's memory.
#[repr(C, align(4096))]
struct Cell(UnsafeCell<[u8; FRAME_BYTES]>);

// SAFETY: access goes through guards and fills only, which exclude each other.
unsafe impl Sync for Cell {}
// SAFETY: plain bytes; see above for sharing.
unsafe impl Shared for Cell {}

const QUIET: u32 = 0;
/// A request has the bytes.
const FILLING: u32 = 1;
/// The request's completion has the bytes.
const LOOKING: u32 = 2;

/// What goes with a frame: one line of the processor's cache, whoever finds, latches or fills it.
#[repr(C, align(64))]
struct Side<T> {
    beside: T,
    latch: Latch,
    fill: AtomicU32,
    /// Sessions that wait for the end of a fill.
    waiters: WaitList,
}

// SAFETY: a latch, a list, an atomic number, and what is fit for the region by its own promise.
unsafe impl<T: Shared> Shared for Side<T> {}

/// A set of frames with a `T` beside each; see the head of this file.
pub struct Frames<T: Shared> {
    cells: Reserve<Cell>,
    sides: Reserve<Side<T>>,
}

impl<T: Shared> Clone for Frames<T> {
    fn clone(&self) -> Frames<T> {
        *self
    }
}

impl<T: Shared> Copy for Frames<T> {}

impl<T: Shared> Frames<T> {
    /// Takes address space for `count` frames. Only before the first engine runs.
    pub fn make(name: &'static str, count: usize) -> Frames<T> {
        const { assert!(size_of::<Side<T>>() == LINE_BYTES, "what goes with a frame fills a line") };
        let sides = Reserve::make_huge(String::leak(format!("{name} descriptors")), count);
        Frames { cells: Reserve::make_huge(name, count), sides }
    }

    /// What lies beside a frame. All zero at first.
    #[inline]
    pub fn beside(&self, index: usize) -> &'static T {
        &self.sides.get(index).beside
    }

    /// Those who wait for the end of a frame's fill.
    pub fn waiters(&self, index: usize) -> &'static WaitList {
        &self.sides.get(index).waiters
    }

    /// How many frames there are.
    pub fn count(&self) -> usize {
        self.sides.len()
    }

    /// Sees to it that memory backs a run of frames. Errors: `53200`.
    pub fn back(&self, first: usize, count: usize) -> Result<()> {
        self.sides.back(first, count)?;
        self.cells.back(first, count)
    }

    /// Bytes that are backed now.
    pub fn backed_bytes(&self) -> u64 {
        self.cells.backed_bytes().0
    }

    #[inline]
    fn bytes(&self, index: usize) -> NonNull<[u8; FRAME_BYTES]> {
        // SAFETY: the address of a cell is not null.
        unsafe { NonNull::new_unchecked(self.cells.get(index).0.get()) }
    }

    #[inline]
    fn latched(&self, index: usize, latch: LatchGuard) -> LatchGuard {
        // Acquire pairs with the Release of `end_fill`: what the request brought is there.
        assert_eq!(self.sides.get(index).fill.load(Acquire), QUIET, "a frame is latched while it is filled");
        latch
    }

    /// Asks the processor for what goes with a frame and for the lines of its bytes in which each of `offsets` lies: somebody will
    /// latch and read it soon. A hint: nothing is read, whoever holds the frame.
    #[inline]
    pub fn prefetch<const N: usize>(&self, index: usize, offsets: [usize; N]) {
        prefetch_to_write(self.sides.get(index));
        for offset in offsets {
            prefetch_at(self.bytes(index).cast::<u8>().as_ptr().wrapping_add(offset % FRAME_BYTES));
        }
    }

    /// The four bytes in which an offset of a frame lies, whoever holds it and whatever they are by then: good for nothing but to guess
    /// what to [`Frames::prefetch`].
    ///
    /// They may be changing meanwhile: the remark at [`FrameRead::set_bits`] holds here too, and what is made of the answer must be right
    /// for any number.
    #[inline]
    pub fn peek(&self, index: usize, offset: usize) -> u32 {
        let number = offset % FRAME_BYTES / size_of::<u32>();
        // SAFETY: in bounds and aligned, and the memory of a frame that was ever used stays; the number is read in one piece.
        unsafe { self.bytes(index).cast::<AtomicU32>().add(number).as_ref() }.load(Relaxed)
    }

    /// Latches a frame to read it, waiting as long as it takes.
    #[inline]
    pub fn read(&self, index: usize, event: Event) -> FrameRead {
        let latch = self.sides.get(index).latch.lock(Mode::Shared, event);
        FrameRead { bytes: self.bytes(index), latch: self.latched(index, latch) }
    }

    /// Latches a frame to read it if that needs no wait: nobody has it alone, and it is not being filled.
    #[inline]
    pub fn try_read(&self, index: usize) -> Option<FrameRead> {
        let side = self.sides.get(index);
        let latch = side.latch.try_lock(Mode::Shared)?;
        // Acquire pairs with the Release of `end_fill`: what the request brought is there.
        (side.fill.load(Acquire) == QUIET).then(|| FrameRead { bytes: self.bytes(index), latch })
    }

    /// Latches a frame to change it, waiting as long as it takes.
    #[inline]
    pub fn write(&self, index: usize, event: Event) -> FrameWrite {
        let latch = self.sides.get(index).latch.lock(Mode::Exclusive, event);
        FrameWrite { bytes: self.bytes(index), latch: self.latched(index, latch) }
    }

    /// Latches a frame to change it if that needs no wait.
    pub fn try_write(&self, index: usize) -> Option<FrameWrite> {
        let latch = self.sides.get(index).latch.try_lock(Mode::Exclusive)?;
        Some(FrameWrite { bytes: self.bytes(index), latch: self.latched(index, latch) })
    }

    /// Holds a frame's latch alone, if that needs no wait, without a claim on its bytes, which may be being filled.
    pub fn try_hold(&self, index: usize) -> Option<LatchGuard> {
        self.sides.get(index).latch.try_lock(Mode::Exclusive)
    }

    /// Begins to read a page of a file into a frame. `action` runs when that is over, in whichever engine sees it; it calls
    /// [`Frames::filled`] and [`Frames::end_fill`].
    ///
    /// Errors: those of [`io::read_then`]; the frame is as before, and the action does not run.
    pub fn fill(&self, index: usize, event: Event, file: FileName, offset: u64, action: Action) -> Result<()> {
        let side = self.sides.get(index);
        {
            // Held for the moment of the change: who latches afterwards sees FILLING.
            let careful = !crate::fault::planted("buffer.evicted_under_reader");
            let _latch = careful.then(|| side.latch.lock(Mode::Exclusive, Event::BufferContent));
            assert_eq!(side.fill.swap(FILLING, SeqCst), QUIET, "a frame is filled twice at a time");
        }
        // SAFETY: the memory stays for good, and the mark keeps everybody else from it until `end_fill`.
        let buffer = unsafe { Buffer::new(self.bytes(index).cast(), FRAME_BYTES) };
        let issued = io::read_then(event, file, offset, &[buffer], action);
        if issued.is_err() {
            side.fill.store(QUIET, Release);
        }
        issued
    }

    /// Shows the bytes of a frame whose fill is over to `look`. Only the action of the fill calls it.
    ///
    /// An action whose engine died in the middle of it runs again, and finds the mark of the first look.
    pub fn filled<R>(&self, index: usize, look: impl FnOnce(&mut [u8; FRAME_BYTES]) -> R) -> R {
        let side = self.sides.get(index);
        assert_ne!(side.fill.swap(LOOKING, AcqRel), QUIET, "a frame is looked at that is not being filled");
        // SAFETY: the mark gives the bytes to this call alone: who latches it meanwhile is given no bytes, the request is over, and the kernel runs
        // an action again only after the engine that ran it first is gone.
        let result = look(unsafe { &mut *self.bytes(index).as_ptr() });
        side.fill.store(FILLING, Release);
        result
    }

    /// Ends a fill: the frame may be latched again. Only the action of the fill calls it, when the system is done with
    /// the memory; a second time it does nothing.
    pub fn end_fill(&self, index: usize) {
        self.sides.get(index).fill.store(QUIET, Release);
    }

    /// True while a request has the frame's bytes.
    pub fn is_filling(&self, index: usize) -> bool {
        self.sides.get(index).fill.load(Acquire) != QUIET
    }

    /// Takes a fill back whose issuer died before the request was handed over. True if there was one. Only the clean-up calls
    /// it, after what the dead had in flight has drained.
    pub fn abandon_fill(&self, index: usize, file: FileName, offset: u64) -> bool {
        let in_flight = io::pending().any(|request| request.file == file && request.offset == offset && !request.done);
        !in_flight && self.sides.get(index).fill.compare_exchange(FILLING, QUIET, AcqRel, Relaxed).is_ok()
    }
}

/// A frame latched to be read; the release is its drop.
pub struct FrameRead {
    bytes: NonNull<[u8; FRAME_BYTES]>,
    #[expect(dead_code, reason = "its drop is what it is for")]
    latch: LatchGuard,
}

impl Deref for FrameRead {
    type Target = [u8; FRAME_BYTES];

    #[inline]
    fn deref(&self) -> &[u8; FRAME_BYTES] {
        // SAFETY: the latch is held shared: nobody has the bytes exclusively.
        unsafe { self.bytes.as_ref() }
    }
}

impl FrameRead {
    /// Sets bits in the number at an even offset. For hints only: bits that say what others could find out as well, and that
    /// go from unset to set.
    ///
    /// Other readers of the frame load such a number without an atomic operation, so they get it as it was before or after,
    /// which is what the machine does and more than the language promises. Both are right answers, and nobody but readers of
    /// hints looks at these bits.
    pub fn set_bits(&self, offset: usize, bits: u16) {
        self.u16_at(offset).fetch_or(bits, Relaxed);
    }

    /// The number at an even offset, if others may be setting bits of it.
    pub fn load_bits(&self, offset: usize) -> u16 {
        self.u16_at(offset).load(Relaxed)
    }

    fn u16_at(&self, offset: usize) -> &AtomicU16 {
        assert!(offset.is_multiple_of(2) && offset + 2 <= FRAME_BYTES);
        // SAFETY: in bounds and aligned; the latch keeps everybody away who would change these bytes otherwise.
        unsafe { self.bytes.cast::<u8>().add(offset).cast::<AtomicU16>().as_ref() }
    }
}

/// A frame latched to be changed; the release is its drop.
pub struct FrameWrite {
    bytes: NonNull<[u8; FRAME_BYTES]>,
    #[expect(dead_code, reason = "its drop is what it is for")]
    latch: LatchGuard,
}

impl Deref for FrameWrite {
    type Target = [u8; FRAME_BYTES];

    #[inline]
    fn deref(&self) -> &[u8; FRAME_BYTES] {
        // SAFETY: the latch is held alone.
        unsafe { self.bytes.as_ref() }
    }
}

impl DerefMut for FrameWrite {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8; FRAME_BYTES] {
        // SAFETY: the latch is held alone, and the guard is borrowed exclusively.
        unsafe { self.bytes.as_mut() }
    }
}
