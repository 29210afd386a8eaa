//! Stacks of fibers: cut from large reservations, a guard page below each, pooled per engine.
//!
//! A stack of its own mapping would cost two map entries, and the system stops at 65,530 of them; a reservation costs one
//! where the kernel can install guard pages without splitting it (`MADV_GUARD_INSTALL`, Linux 6.13), else one per stack.
//! Address space is reserved, memory is used as it is touched.

use corosensei::stack::{Stack as StackContract, StackPointer};
use std::num::NonZeroUsize;

const GUARD: usize = 4096;
const PER_RESERVATION: usize = 64;
/// Not in the `libc` crate's tables of every release.
const MADV_GUARD_INSTALL: i32 = 102;

/// One stack: its addresses. The memory belongs to the pool's reservations, which are never unmapped: engines live long.
pub(crate) struct Stack {
    low: usize,
    high: usize,
}

// SAFETY: the addresses are those of one stack: page-aligned, growing down from `base` to `limit`, with a guard page at
// its low end, valid for as long as the process.
unsafe impl StackContract for Stack {
    fn base(&self) -> StackPointer {
        NonZeroUsize::new(self.high).expect("a stack does not end at zero")
    }

    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.low).expect("a stack does not begin at zero")
    }
}

impl Stack {
    /// Its lowest address; its guard page is there.
    pub(crate) fn low(&self) -> usize {
        self.low
    }

    /// The same stack once more, for the simulator, which takes stacks back from whoever was killed with them.
    pub(crate) fn twin(&self) -> Stack {
        Stack { low: self.low, high: self.high }
    }
}

/// An engine's stacks.
pub(crate) struct Pool {
    bytes: usize,
    free: Vec<Stack>,
    made: usize,
}

impl Pool {
    /// A pool of stacks of `bytes` each, guard page included.
    pub(crate) fn new(bytes: usize) -> Pool {
        Pool { bytes: bytes.next_multiple_of(GUARD).max(8 * GUARD), free: Vec::new(), made: 0 }
    }

    /// A stack; none when the system refuses.
    pub(crate) fn take(&mut self) -> Option<Stack> {
        if self.free.is_empty()
            && let Some(stack) = crate::engine::sim::lend_stack(self.bytes)
        {
            return Some(stack);
        }
        self.take_own()
    }

    /// A stack of the pool's own, in the simulator too.
    pub(crate) fn take_own(&mut self) -> Option<Stack> {
        if self.free.is_empty() {
            self.reserve()?;
        }
        self.free.pop()
    }

    /// Puts a stack back.
    pub(crate) fn put(&mut self, stack: Stack) {
        self.free.push(stack);
    }

    fn reserve(&mut self) -> Option<()> {
        let total = self.bytes * PER_RESERVATION;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: a new mapping wherever the system likes.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), total, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the range was just mapped; without this a huge page would back a stack that uses little.
        unsafe { libc::madvise(at, total, libc::MADV_NOHUGEPAGE) };
        let at = at as usize;
        for index in 0..PER_RESERVATION {
            let low = at + index * self.bytes;
            let guard = low as *mut libc::c_void;
            // SAFETY: the lowest page of a stack that nobody uses yet.
            let guarded = unsafe {
                libc::madvise(guard, GUARD, MADV_GUARD_INSTALL) == 0
                    || libc::mprotect(guard, GUARD, libc::PROT_NONE) == 0
            };
            if guarded {
                self.free.push(Stack { low, high: low + self.bytes });
                self.made += 1;
            }
        }
        (!self.free.is_empty()).then_some(())
    }
}
