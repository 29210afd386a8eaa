//! Asking the processor for memory before it is needed.
//!
//! A look-up in a large table is a row of loads, each of which depends on the one before and misses every cache. Whoever knows
//! several of them in advance asks for the first line of each, then for the second, and waits once instead of each time (Chen, Ailamaki,
//! Gibbons and Mowry, *Improving Hash Join Performance through Prefetching*, 2004).

/// Bytes that come from memory at once.
pub const LINE_BYTES: usize = 64;

/// Asks for the line that `place` begins in. Changes nothing but the time that the next look at it takes.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    prefetch_at(std::ptr::from_ref(place).cast());
}

/// The same for a place that will be written: the line comes with the right to change it, which other processors lose. What is only
/// read first would have to be asked for twice, and the second time by waiting.
#[inline(always)]
pub fn prefetch_to_write<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as below. Written out, because for the processors that programs are compiled for by default the compiler makes the
    // other instruction of the intrinsic's; those that do not know this one take it for none.
    unsafe {
        let place: *const T = place;
        std::arch::asm!("prefetchw [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// The same as [`prefetch`] for an address, which need not be anybody's.
#[inline(always)]
pub(super) fn prefetch_at(place: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is a hint; it reads nothing and faults nowhere.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
