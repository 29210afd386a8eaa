//! The region: the one shared-memory mapping that holds everything sessions share.
//!
//! It is made before the first engine, at the same address in every process ([`BASE`]), so that a reference into it
//! means the same to all. Three parts lie in it, one after the other:
//!
//! ```text
//! BASE       +16 KiB                                          +HEAP
//! | Header   | fixed tables -->      <-- reserves, which grow  | heap: extents of 1 MiB, given and taken back
//! |          | made once, before the first fork, never freed   | while the server runs, each byte owned by a name
//! ```
//!
//! Rules
//! 1. What lies here implements [`Shared`]: plain data, valid when zeroed, no heap pointer, no address of code, no
//!    descriptor, no lock of `std`.
//! 2. Tables are made by [`table`] before the first engine exists; from then on the layout stands.
//! 3. The heap's memory is backed by `fallocate` before it is used, so that a refusal is an error (`53200`) and never a
//!    signal, and handed back by punching a hole.
//! 4. References into the region are `'static`: the mapping lives as long as the process. Only the simulator unmaps a
//!    region, after everything that ran in it is gone.
//!
//! See [`heap`] for memory that comes and goes, [`arena`] for a session's own. For crates without `unsafe`: [`shared`] for structs
//! of their own, [`reserve`] for tables that grow, [`huge`] for those in huge pages, [`frames`], [`ring`] and [`area`] for bytes that go to files, [`current`] to find them; [`prefetch`] to have them
//! near when they are needed.

pub mod area;
pub mod arena;
pub mod current;
pub mod frames;
pub mod heap;
pub mod huge;
pub mod prefetch;
pub mod reserve;
pub mod ring;
pub mod shared;

use base::{Error, Result, sqlstate};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Where the region lies in every process. Free in every address space that Linux lays out on x86-64 and AArch64.
pub const BASE: usize = 0x2000_0000_0000;
/// How far from [`BASE`] the heap begins: all tables must fit before it.
const HEAP_OFFSET: usize = 8 << 30;
const HEADER_BYTES: usize = 16 << 10;
const MAGIC: u64 = 0x4745_4152_424f_5801;
const TABLES_MAX: usize = 192;
const ROOTS_MAX: usize = 16;

/// Types that may lie in the region.
///
/// # Safety
/// The type is `#[repr(C)]` or a primitive, valid when all its bytes are zero, needs no `Drop`, means the same in every
/// process that maps the region, and is safe to share between threads and processes through `&`.
pub unsafe trait Shared: Sized + 'static {}

macro_rules! shared {
    ($($type:ty),* $(,)?) => {
        $(
            // SAFETY: an atomic integer: valid when zero, no pointer, shared by design.
            unsafe impl Shared for $type {}
        )*
    };
}
shared!(AtomicU32, AtomicI32, AtomicU64, std::sync::atomic::AtomicU8, std::sync::atomic::AtomicU16);

// SAFETY: an array of shared types adds nothing to them.
unsafe impl<T: Shared, const N: usize> Shared for [T; N] {}

/// One table's line in the directory: its name and where it lies.
#[repr(C)]
struct TableEntry {
    name: [u8; 32],
    offset: u64,
    bytes: u64,
    /// Where the account of a table lies that memory backs in part ([`reserve`]); zero if all of it is backed.
    account: u64,
}

#[repr(C)]
struct Header {
    magic: u64,
    bytes_max: u64,
    heap_bytes: u64,
    tables: AtomicU32,
    memfd: AtomicI32,
    table_end: AtomicU64,
    /// Where the lowest of the reserves begins.
    reserve_begin: AtomicU64,
    huge: huge::Huge,
    roots: [AtomicU64; ROOTS_MAX],
    directory: [TableEntry; TABLES_MAX],
}

const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);

fn header() -> &'static Header {
    // SAFETY: every caller runs after `create`, which maps and fills the header at this address for good (rule 4).
    unsafe { &*(BASE as *const Header) }
}

/// How the region's memory is provided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backing {
    /// Shared with every process forked later.
    Shared,
    /// This process's own, for the simulator: made and unmapped many times.
    Private,
}

/// Makes the region. Called once, by the supervisor before its first fork (or by the simulator for each run).
///
/// `heap_bytes` is the most that the heap may grow to. Errors: `53200` when the address space or memory is refused.
pub fn create(backing: Backing, heap_bytes: u64) -> Result<()> {
    let heap_bytes = heap_bytes.next_multiple_of(heap::EXTENT as u64);
    let bytes = HEAP_OFFSET as u64 + heap_bytes;
    let refused = |what: &str| {
        Error::session(sqlstate::OUT_OF_MEMORY, "the shared memory region cannot be made")
            .detail(format!("{what}: {}.", std::io::Error::last_os_error()))
            .hint("Lower region_size_max or shared_buffers, or raise the limit on address space (ulimit -v).")
    };
    let memfd = match backing {
        Backing::Private => -1,
        Backing::Shared => {
            // SAFETY: a valid C string; the call touches no memory of ours.
            let fd = unsafe { libc::memfd_create(c"gearbox-region".as_ptr(), libc::MFD_CLOEXEC) };
            // SAFETY: plain system call on the descriptor just made.
            if fd < 0 || unsafe { libc::ftruncate(fd, bytes as i64) } != 0 {
                return Err(refused("memfd"));
            }
            fd
        }
    };
    let flags = match backing {
        Backing::Private => libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        Backing::Shared => libc::MAP_SHARED,
    } | libc::MAP_FIXED_NOREPLACE
        | libc::MAP_NORESERVE;
    // SAFETY: NOREPLACE means that the call fails rather than cover a mapping that somebody uses.
    let at = unsafe {
        libc::mmap(BASE as *mut libc::c_void, bytes as usize, libc::PROT_READ | libc::PROT_WRITE, flags, memfd, 0)
    };
    if at as usize != BASE {
        return Err(refused("mmap"));
    }
    // SAFETY: the mapping is fresh, zeroed, and nobody else knows of it yet.
    let header = unsafe { &mut *(BASE as *mut Header) };
    header.magic = MAGIC;
    header.bytes_max = bytes;
    header.heap_bytes = heap_bytes;
    header.memfd = AtomicI32::new(memfd);
    header.table_end = AtomicU64::new(HEADER_BYTES as u64);
    header.reserve_begin = AtomicU64::new(HEAP_OFFSET as u64);
    EXISTS.store(true, Relaxed);
    heap::init();
    Ok(())
}

/// Unmaps a private region. The simulator's, and only after every fiber that ran in it is gone.
///
/// # Safety
/// No reference into the region may be used afterwards.
pub unsafe fn destroy() {
    let header = header();
    let (bytes, memfd) = (header.bytes_max as usize, header.memfd.load(Relaxed));
    EXISTS.store(false, Relaxed);
    // SAFETY: the caller's promise; the range is the one that `create` mapped.
    unsafe {
        libc::munmap(BASE as *mut libc::c_void, bytes);
        if memfd >= 0 {
            libc::close(memfd);
        }
    }
}

/// Makes a table of `count` zeroed values, named for `gearbox.resources`. Only before the first engine runs.
pub fn table<T: Shared>(name: &str, count: usize) -> &'static [T] {
    let header = header();
    let bytes = (size_of::<T>() * count) as u64;
    let offset = header.table_end.load(Relaxed).next_multiple_of(align_of::<T>().max(64) as u64);
    header.table_end.store(offset + bytes, Relaxed);
    enter(name, offset, count)
}

/// The same for a table that grows ([`reserve`]), at a multiple of `align`, a power of two. They lie apart, so that fixed tables have no gaps
/// between them that memory is not to back.
fn table_that_grows<T: Shared>(name: &str, count: usize, align: usize) -> &'static [T] {
    assert!(align.is_power_of_two() && align >= align_of::<T>());
    let header = header();
    let bytes = (size_of::<T>() * count) as u64;
    let offset = header.reserve_begin.load(Relaxed).saturating_sub(bytes) / align as u64 * align as u64;
    header.reserve_begin.store(offset, Relaxed);
    enter(name, offset, count)
}

/// Enters a table into the directory.
fn enter<T: Shared>(name: &str, offset: u64, count: usize) -> &'static [T] {
    let header = header();
    let index = header.tables.load(Relaxed) as usize;
    assert!(index < TABLES_MAX, "too many tables in the region");
    // The last piece of fixed tables may be a huge page.
    assert!(tables_end() as u64 <= header.reserve_begin.load(Relaxed), "the region's tables do not fit");
    header.tables.store(index as u32 + 1, Relaxed);
    let mut entry = TableEntry { name: [0; 32], offset, bytes: (size_of::<T>() * count) as u64, account: 0 };
    let short = &name.as_bytes()[..name.len().min(31)];
    entry.name[..short.len()].copy_from_slice(short);
    // SAFETY: (1) one thread makes tables, before any engine; (2) the bytes are zero and `T: Shared` is valid when
    // zeroed; (3) the range belongs to this table alone, because `table_end` only grows, `reserve_begin` only falls, and they have not met.
    unsafe {
        let directory = (&raw const header.directory).cast_mut().cast::<TableEntry>();
        directory.add(index).write(entry);
        std::slice::from_raw_parts((BASE + offset as usize) as *const T, count)
    }
}

/// Where fixed tables end, in whole pieces of huge pages.
fn tables_end() -> usize {
    (header().table_end.load(Relaxed) as usize).next_multiple_of(huge::PIECE)
}

/// Makes a table of one value.
pub fn single<T: Shared>(name: &str) -> &'static T {
    &table::<T>(name, 1)[0]
}

/// Says that memory backs only a part of a table: how much of it, and the most ever, are the first two words of `account`. Like [`table`]
/// only before the first engine runs.
fn set_account<T: Shared>(table: &'static [T], account: &'static [AtomicU64]) {
    let offset = |address: usize| (address - BASE) as u64;
    let header = header();
    let (at, account) = (offset(table.as_ptr() as usize), offset(account.as_ptr() as usize));
    let tables = &header.directory[..header.tables.load(Relaxed) as usize];
    let Some(index) = tables.iter().position(|entry| entry.offset == at) else { return };
    // SAFETY: (1) one thread makes tables, before any engine; (2) the index is one of the directory's.
    unsafe {
        let directory = (&raw const header.directory).cast_mut().cast::<TableEntry>();
        (*directory.add(index)).account = account;
    }
}

/// What there is of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableUsage {
    /// Its name.
    pub name: &'static str,
    /// Bytes of address space.
    pub bytes: u64,
    /// Bytes that memory is set aside for, and the most that ever were: all of them, but for a [`reserve::Reserve`].
    pub backed: (u64, u64),
}

/// Every table, for `gearbox.resources`.
pub fn tables() -> impl Iterator<Item = TableUsage> {
    let header = header();
    header.directory[..header.tables.load(Relaxed) as usize].iter().map(|entry| {
        let end = entry.name.iter().position(|&byte| byte == 0).unwrap_or(32);
        let name = std::str::from_utf8(&entry.name[..end]).unwrap_or("?");
        let backed = match entry.account {
            0 => (entry.bytes, entry.bytes),
            at => {
                // SAFETY: `set_account` was told of a table of atomic numbers that begins there; tables stay where they are.
                let account = unsafe { &*((BASE + at as usize) as *const [AtomicU64; 2]) };
                (account[0].load(Relaxed), account[1].load(Relaxed))
            }
        };
        TableUsage { name, bytes: entry.bytes, backed }
    })
}

/// True when the address lies in the region.
pub fn contains(address: usize) -> bool {
    address >= BASE && ((address - BASE) as u64) < header().bytes_max
}

/// The kernel's own well-known tables: found from any process without a search, set once when the region is made.
///
/// What lies above the kernel keeps its references in its own values, which every engine gets at its start.
pub(crate) struct Root<T: Shared> {
    index: usize,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl<T: Shared> Root<T> {
    /// # Safety
    /// No other root may have this index.
    pub(crate) const unsafe fn new(index: usize) -> Root<T> {
        assert!(index < ROOTS_MAX);
        Root { index, kind: std::marker::PhantomData }
    }

    /// Makes the table and remembers where it lies and how long it is.
    pub(crate) fn make(&self, name: &str, count: usize) -> &'static [T] {
        assert!(count < 1 << 20);
        let table = table::<T>(name, count);
        let offset = table.as_ptr() as u64 - BASE as u64;
        header().roots[self.index].store(offset << 20 | count as u64, Relaxed);
        table
    }

    /// The table.
    #[inline]
    pub(crate) fn get(&self) -> &'static [T] {
        let packed = header().roots[self.index].load(Relaxed);
        debug_assert!(packed != 0, "a root of the region is read before it is made");
        let (offset, count) = ((packed >> 20) as usize, (packed & 0xF_FFFF) as usize);
        // SAFETY: `make` stored the place and length of a table of this very type, which stays for good.
        unsafe { std::slice::from_raw_parts((BASE + offset) as *const T, count) }
    }

    /// The only value of a table of one.
    #[inline]
    pub(crate) fn one(&self) -> &'static T {
        &self.get()[0]
    }
}

/// True once [`create`] has run and before [`destroy`].
pub fn exists() -> bool {
    EXISTS.load(Relaxed)
}

static EXISTS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

pub(crate) fn memfd() -> i32 {
    header().memfd.load(Relaxed)
}

pub(crate) fn heap_range() -> (usize, usize) {
    (BASE + HEAP_OFFSET, header().heap_bytes as usize)
}

/// A region for unit tests: made once per test process, never unmapped; the tests that use it run one at a time.
#[cfg(test)]
pub(crate) fn test_region() -> std::sync::MutexGuard<'static, ()> {
    static ONE: std::sync::Mutex<bool> = std::sync::Mutex::new(false);
    static GATE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let gate = GATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut made = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !*made {
        create(Backing::Shared, 64 << 20).unwrap();
        crate::sync::init();
        *made = true;
    }
    gate
}
