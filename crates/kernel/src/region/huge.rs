//! Huge pages: memory in pieces of 2 MiB, for tables that every session reads all the time, and for the program's code.
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
//! 1. Only tables that are used from end to end and never given back are asked for so ([`Reserve::make_huge`](super::reserve)), and
//!    the fixed ones, which lie side by side ([`back_tables`]).
//! 2. A kernel that refuses is asked again a few times, and then no more: what it does to find a huge page takes its time.
//! 3. Several sessions may ask for the same piece at once. All but one are told to try again, which is not a refusal ([`back`]).
//! 4. What is counted is pieces, once each: whoever changes the word of a piece counts it ([`count`]). Fixed tables have no such words; they
//!    are put there by one process, and counted apart, as code is.
//!
//! `MADV_COLLAPSE` (Linux 6.1) and not a mapping of reserved pages (`MAP_HUGETLB`): nothing has to be reserved beforehand, the answer
//! comes for each piece, and memory beside them stays in small pages, in the same mapping.

use crate::config::HugePages;
use base::{Error, Result, sqlstate};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The size of a huge page on x86-64, and on AArch64 with pages of 4 KiB.
pub const PIECE: usize = 2 << 20;
/// So many refusals are enough.
const REFUSALS_MAX: u64 = 8;
/// How often a piece is asked for that somebody else seems to be putting together, and how long the pauses between are: 30 ms in all.
const TRIES_MAX: u32 = 300;
const PAUSE: Duration = Duration::from_micros(100);

/// What a piece has been put in. Among those who back it at once the greater one holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u64)]
pub(super) enum Pages {
    /// Pages of 4 KiB.
    Small = 1,
    /// A huge page.
    Huge = 2,
}

/// What the region's header knows of huge pages.
#[repr(C)]
pub(super) struct Huge {
    /// A [`HugePages`].
    asked: AtomicU32,
    /// 1 when the kernel is not asked any more.
    given_up: AtomicU32,
    refused: AtomicU64,
    bytes: AtomicU64,
    fixed: AtomicU64,
    code: AtomicU64,
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
    /// Bytes of tables that grow that were put in huge pages. The kernel may have split some since, or swapped them out.
    pub bytes: u64,
    /// Pieces that were put in small pages, because the kernel refused, or had refused so often that it was not asked.
    pub refused: u64,
    /// Pieces of fixed tables that huge pages were asked for, and how many were put in some.
    pub fixed: (u64, u64),
    /// Pieces that the program's code lies in. They are not the region's.
    pub code: u64,
}

/// For `gearbox.resources`.
pub fn usage() -> HugeUsage {
    let Huge { refused, bytes, fixed, code, .. } = &super::header().huge;
    let [refused, bytes, fixed, code] = [refused, bytes, fixed, code].map(|count| count.load(Relaxed));
    let pieces = if asked() { (super::tables_end() / PIECE) as u64 } else { 0 };
    HugeUsage { bytes, refused, fixed: (pieces, fixed), code }
}

/// Asks for a huge page for the piece at `offset` of the region, unless `is_backed` says that somebody else has backed the piece
/// meanwhile; then there is nothing to answer. If it is to be had in small pages, the caller sees to that. Whatever lies there stays.
///
/// The kernel puts one page together at a time, and tells everybody else who asks for it meanwhile to try again (`EAGAIN`), as it does
/// if somebody is using a page of it. So we try again, for a while. A claim in the piece's word would keep the others away as well, but
/// who holds it may be killed, or be slow: somebody would have to take it away after a while, and then two ask for one piece anyway.
///
/// Errors: `53200` if huge pages are demanded and refused.
pub(super) fn back(offset: usize, is_backed: impl Fn() -> bool) -> Result<Option<Pages>> {
    debug_assert!(offset.is_multiple_of(PIECE));
    let huge = &super::header().huge;
    let demanded = demanded();
    if !asked() || (!demanded && huge.given_up.load(Relaxed) != 0) {
        return Ok(Some(Pages::Small));
    }
    let mut tries = 0;
    let error = loop {
        let begin = super::BASE as *mut libc::c_void;
        let Err(error) = collapse(super::memfd(), begin, offset) else { return Ok(Some(Pages::Huge)) };
        if is_backed() {
            return Ok(None);
        }
        tries += 1;
        if error.raw_os_error() != Some(libc::EAGAIN) || tries == TRIES_MAX {
            break error;
        }
        std::thread::sleep(PAUSE);
    };
    if demanded {
        return Err(Error::session(sqlstate::OUT_OF_MEMORY, "the system refuses huge pages")
            .detail(format!("{} of them were had; then: {error}.", huge.bytes.load(Relaxed) / PIECE as u64))
            .hint(
                "Set huge_pages to \"try\", or lower shared_buffers. They need Linux 6.1, memory in one piece, and a kernel that does \
                 not deny them to shared memory (/sys/kernel/mm/transparent_hugepage/shmem_enabled).",
            ));
    }
    // Older kernels, and those that deny shared memory huge pages, always say so: it makes no sense to ask again.
    let never = error.raw_os_error() == Some(libc::EINVAL) && huge.bytes.load(Relaxed) == 0;
    if never || huge.refused.load(Relaxed) + 1 >= REFUSALS_MAX {
        huge.given_up.store(1, Relaxed);
    }
    Ok(Some(Pages::Small))
}

/// Asks the kernel once, for the piece at `offset` of shared memory that this process has mapped at `begin`.
pub(crate) fn collapse(memfd: libc::c_int, begin: *mut libc::c_void, offset: usize) -> std::io::Result<()> {
    // There has to be a page for the kernel to put others beside it.
    // SAFETY: a plain system call on a descriptor of shared memory; it adds memory and changes no byte.
    if unsafe { libc::fallocate(memfd, 0, offset as i64, 4096) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: no byte of the range changes, only the pages that it lies in.
    if unsafe { libc::madvise(begin.wrapping_byte_add(offset), PIECE, libc::MADV_COLLAPSE) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

/// Puts the region's fixed tables into huge pages: sessions, engines, locks and much else, of which every request reads a little here and a
/// little there. Once, when all tables are made and before the first fork.
///
/// Errors: `53200` if huge pages are demanded and refused.
pub(crate) fn back_tables() -> Result<()> {
    if !asked() {
        return Ok(());
    }
    for offset in (0..super::tables_end()).step_by(PIECE) {
        if back(offset, || false)? == Some(Pages::Huge) {
            super::header().huge.fixed.fetch_add(1, Relaxed);
        }
    }
    Ok(())
}

/// Puts the program's code into huge pages ([`crate::code`]), if any are asked for.
pub(crate) fn move_code() {
    if asked() {
        super::header().huge.code.store((crate::code::make_huge() / PIECE) as u64, Relaxed);
    }
}

/// Counts a piece that lies in `now`, and whose word was `before`: zero, or the number of a [`Pages`]. Somebody who was refused may be
/// faster than somebody who is not: then the piece is counted as refused, and as huge as well.
pub(super) fn count(before: u64, now: Pages) {
    let huge = &super::header().huge;
    match now {
        Pages::Huge if before < Pages::Huge as u64 => huge.bytes.fetch_add(PIECE as u64, Relaxed),
        Pages::Small if before == 0 => huge.refused.fetch_add(1, Relaxed),
        _ => 0,
    };
}

/// Whether the system gives this process so many huge pages now, found out with memory of its own that goes back. For tests: what they
/// hold the server to must not come from the server.
pub fn are_granted(pieces: usize) -> bool {
    let refused = |what: &str| -> ! { panic!("{what}: {}", std::io::Error::last_os_error()) };
    let bytes = pieces * PIECE;
    // SAFETY: (1) the name is a valid C string; (2) the first mapping is new, and long enough to have a multiple of PIECE at which `bytes`
    // lie within it; (3) the second covers nothing but a part of the first; (4) nobody has a reference into either, and both go at the end.
    unsafe {
        let fd = libc::memfd_create(c"gearbox-probe".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 || libc::ftruncate(fd, bytes as i64) != 0 {
            refused("memfd");
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let room = libc::mmap(std::ptr::null_mut(), bytes + PIECE, libc::PROT_NONE, flags, -1, 0);
        if room == libc::MAP_FAILED {
            refused("mmap");
        }
        let at = (room as usize).next_multiple_of(PIECE) as *mut libc::c_void;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        if libc::mmap(at, bytes, access, libc::MAP_SHARED | libc::MAP_FIXED, fd, 0) != at {
            refused("mmap");
        }
        let granted = (0..pieces).all(|piece| {
            libc::fallocate(fd, 0, (piece * PIECE) as i64, 4096) == 0
                && libc::madvise(at.byte_add(piece * PIECE), PIECE, libc::MADV_COLLAPSE) == 0
        });
        libc::munmap(room, bytes + PIECE);
        libc::close(fd);
        granted
    }
}
