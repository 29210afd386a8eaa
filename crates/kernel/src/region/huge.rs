//! Huge pages: memory in pieces of 2 MiB, for tables that every session reads all the time.
//!
//! Memory of 4 KiB pages costs twice. A processor remembers where some thousand pages lie, and looks up all others in tables in
//! memory, in a virtual machine in two tables at once. And a process that touches a page for the first time fetches it with a fault
//! of its own, also if every other process has it already: a session in a process of its own spends its first thousands of
//! requests on that, and has page tables of 2 MiB for each GiB that it has seen.
//!
//! ```text
//!   back one page of the piece ─▶ madvise(MADV_COLLAPSE) ─▶ a huge page; each process maps it with one fault
//!                                        \─ refused ─▶ pages of 4 KiB (`try`), or an error (`on`)
//! ```
//!
//! Rules
//! 1. Only tables that are used from end to end and never given back are asked for so ([`Reserve::make_huge`](super::reserve)).
//! 2. A kernel that refuses is asked again a few times, and then no more: what it does to find a huge page takes its time.
//!
//! `MADV_COLLAPSE` (Linux 6.1) and not a mapping of reserved pages (`MAP_HUGETLB`): nothing has to be reserved beforehand, the answer
//! comes for each piece, and memory beside them stays in small pages, in the same mapping.

use crate::config::HugePages;
use base::{Error, Result, sqlstate};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The size of a huge page on x86-64, and on AArch64 with pages of 4 KiB.
pub const PIECE: usize = 2 << 20;
/// So many refusals are enough.
const REFUSALS_MAX: u32 = 8;

/// What the region's header knows of huge pages.
#[repr(C)]
pub(super) struct Huge {
    /// A [`HugePages`].
    asked: AtomicU32,
    refusals: AtomicU32,
    bytes: AtomicU64,
}

/// Says whether huge pages are asked for. After the region is made, before its tables.
pub(crate) fn init(asked: HugePages) {
    super::header().huge.asked.store(asked as u32, Relaxed);
}

/// Whether tables are laid out for huge pages.
pub(super) fn asked() -> bool {
    super::memfd() >= 0 && super::header().huge.asked.load(Relaxed) != HugePages::Off as u32
}

/// True if the server is not to start without them: whoever makes a table for them backs all of it at once.
pub fn demanded() -> bool {
    asked() && super::header().huge.asked.load(Relaxed) == HugePages::On as u32
}

/// What there is of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HugeUsage {
    /// Bytes that lie in huge pages.
    pub bytes: u64,
    /// Pieces that the kernel refused.
    pub refused: u32,
}

/// For `gearbox.resources`.
pub fn usage() -> HugeUsage {
    let huge = &super::header().huge;
    HugeUsage { bytes: huge.bytes.load(Relaxed), refused: huge.refusals.load(Relaxed) }
}

/// Backs the piece at `offset` of the region by a huge page; false if it is to be had in small ones. Whatever lies there already stays.
///
/// Errors: `53200` if huge pages are demanded and refused.
pub(super) fn back(offset: usize) -> Result<bool> {
    debug_assert!(offset.is_multiple_of(PIECE));
    let huge = &super::header().huge;
    let demanded = demanded();
    if !asked() || (!demanded && huge.refusals.load(Relaxed) >= REFUSALS_MAX) {
        return Ok(false);
    }
    // There has to be a page for the kernel to put others beside it.
    // SAFETY: a plain system call on the region's own descriptor; it adds memory and changes no byte.
    if unsafe { libc::fallocate(super::memfd(), 0, offset as i64, 4096) } != 0 {
        return Ok(false);
    }
    // SAFETY: the range is the region's; no byte of it changes, only the pages that it lies in.
    if unsafe { libc::madvise((super::BASE + offset) as *mut libc::c_void, PIECE, libc::MADV_COLLAPSE) } == 0 {
        huge.bytes.fetch_add(PIECE as u64, Relaxed);
        return Ok(true);
    }
    let error = std::io::Error::last_os_error();
    // Older kernels, and those that deny shared memory huge pages, always say so: it makes no sense to ask again.
    let never = error.raw_os_error() == Some(libc::EINVAL);
    huge.refusals.fetch_add(if never { REFUSALS_MAX } else { 1 }, Relaxed);
    if demanded {
        return Err(Error::session(sqlstate::OUT_OF_MEMORY, "the system refuses huge pages")
            .detail(format!("{} of them were had; then: {error}.", huge.bytes.load(Relaxed) / PIECE as u64))
            .hint(
                "Set huge_pages to \"try\", or lower shared_buffers. They need Linux 6.1, memory in one piece, and a kernel that does \
                 not deny them to shared memory (/sys/kernel/mm/transparent_hugepage/shmem_enabled).",
            ));
    }
    Ok(false)
}
