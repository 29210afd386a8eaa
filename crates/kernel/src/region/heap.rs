//! The region's heap: pages of 4 KiB that are given to named owners and taken back while the server runs.
//!
//! Pages come in extents of 1 MiB. An extent is *absent* until it is needed; then `fallocate` backs it, which is where
//! the system may refuse, and it is *present* until all its pages are free and enough free extents are kept, when its
//! memory is punched out and it is absent again.
//!
//! ```text
//!  absent --claim--> changing --fallocate ok--> present --all pages free--> changing --hole punched--> absent
//!                        \--refused--> absent (the caller gets 53200)
//! ```
//!
//! Rules
//! 1. Every page has an [`Owner`], whose account says how much it uses, the most it ever used, and how often memory
//!    was given again after it had been freed. Sums of the accounts equal the bits of the extents ([`walk`]).
//! 2. The spinlock is held for a search in bitmaps, never over a system call: an extent is moved to *changing* first.
//! 3. Memory comes back as it was left; who needs zeros clears it.
//! 4. Giving and taking are critical sections: a death in the middle restarts the server, so that no page is lost and the
//!    accounts keep adding up.

use super::{Root, Shared};
use crate::sync::{Critical, Spin};
use base::{Error, Result};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The unit in which memory is given out, in bytes.
pub const PAGE: usize = 4 << 10;
/// The unit in which memory is had from the system and handed back, in bytes.
pub const EXTENT: usize = 1 << 20;
const PAGES: usize = EXTENT / PAGE;
/// Free extents that are kept rather than handed back, so that a load that breathes does not call the system each time.
const KEPT_FREE: u32 = 4;

macro_rules! owners {
    ($($(#[$doc:meta])* $name:ident $text:literal,)*) => {
        /// Who owns memory of the heap. One row of `gearbox.resources` each.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum Owner { $($(#[$doc])* $name,)* }

        impl Owner {
            /// Every owner.
            pub const ALL: &'static [Owner] = &[$(Owner::$name),*];

            /// The owner's name in views.
            pub const fn as_str(self) -> &'static str {
                match self { $(Owner::$name => $text),* }
            }
        }
    };
}

owners! {
    /// What outlives a request of a session.
    SessionArenas "session arenas",
    /// Page frames of the buffer pool.
    BufferPool "buffer pool",
    /// The tail of the write-ahead log.
    LogBuffer "log buffer",
    /// Compiled statements and their texts.
    StatementCache "statement cache",
    /// What is known of tables, columns and indexes.
    CatalogCache "catalog cache",
    /// Locks, and who waits for them.
    LockTable "lock table",
    /// Which transactions committed, and when.
    TransactionMap "transaction map",
    /// Buffers of scans, sorts and hash tables that a session accounts for.
    WorkMemory "work memory",
    /// Tests.
    Test "test",
}

/// An owner's account: bytes in use now, the most ever, and reuse.
#[repr(C)]
pub(crate) struct Account {
    used: AtomicU64,
    used_max: AtomicU64,
    allocations: AtomicU64,
    frees: AtomicU64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Extent {
    /// A set bit is a page in use.
    used: [u64; PAGES / 64],
    free: u32,
    state: u32,
}

const ABSENT: u32 = 0;
const CHANGING: u32 = 1;
const PRESENT: u32 = 2;

#[repr(C)]
struct State {
    /// How many extents the heap may have.
    extents: u32,
    /// No extent at or above this one was ever present.
    reached: u32,
    present: u32,
    entirely_free: u32,
    /// No extent below this one has a free page.
    first_free: u32,
    unused: u32,
}

#[repr(C)]
pub(crate) struct Heap {
    state: Spin<State>,
    accounts: [Account; Owner::ALL.len()],
}

// SAFETY: plain data and a spinlock over plain data; all zero is an empty heap of no extents.
unsafe impl Shared for Heap {}

/// An extent's record; the spinlock in [`Heap`] guards all of them.
#[repr(C)]
pub(crate) struct ExtentCell(std::cell::UnsafeCell<Extent>);

// SAFETY: plain data; zero is absent. Access only under the heap's spinlock.
unsafe impl Shared for ExtentCell {}
// SAFETY: see above.
unsafe impl Sync for ExtentCell {}

// SAFETY: roots 0 and 1 are used here only.
static HEAP: Root<Heap> = unsafe { Root::new(0) };
// SAFETY: as above.
static EXTENTS: Root<ExtentCell> = unsafe { Root::new(1) };

pub(super) fn init() {
    let (_, bytes) = super::heap_range();
    let extents = bytes / EXTENT;
    HEAP.make("region heap", 1);
    EXTENTS.make("region heap extents", extents.max(1));
    HEAP.one().state.lock().extents = extents as u32;
}

fn address(extent: usize, page: usize) -> usize {
    super::heap_range().0 + extent * EXTENT + page * PAGE
}

/// The extents, for whoever holds the spinlock.
fn extents(_held: &mut State) -> &mut [Extent] {
    let cells = EXTENTS.get();
    // SAFETY: the caller holds the heap's spinlock, as the exclusive borrow of its state shows, and the returned borrow
    // ends with it; ExtentCell is a transparent wrapper in layout.
    unsafe { std::slice::from_raw_parts_mut(cells.as_ptr() as *mut Extent, cells.len()) }
}

/// Finds `pages` free bits in a row; answers the first one.
fn find_run(used: &[u64; PAGES / 64], pages: usize) -> Option<usize> {
    let mut run = 0;
    let mut at = 0;
    while at < PAGES {
        let word = used[at / 64] >> (at % 64);
        let left = 64 - at % 64;
        let free = (word.trailing_zeros() as usize).min(left);
        run += free;
        if run >= pages {
            return Some(at + free - run);
        }
        if free < left {
            let taken = ((!(word >> free)).trailing_zeros() as usize).min(left - free);
            at += free + taken;
            run = 0;
        } else {
            at += left;
        }
    }
    None
}

fn set_bits(used: &mut [u64; PAGES / 64], first: usize, pages: usize, value: bool) {
    for page in first..first + pages {
        let (word, bit) = (page / 64, 1u64 << (page % 64));
        debug_assert_eq!(used[word] & bit != 0, !value, "a heap page is taken or freed twice");
        if value {
            used[word] |= bit;
        } else {
            used[word] &= !bit;
        }
    }
}

/// Takes `pages` pages in a row for `owner`. What is in them is undefined.
///
/// Errors: `53200` when the heap's limit is reached or the system refuses.
pub fn alloc(owner: Owner, pages: usize) -> Result<NonNull<u8>> {
    assert!(pages > 0);
    let _critical = Critical::enter();
    let found = if pages <= PAGES { alloc_within(pages) } else { alloc_extents(pages) };
    match found {
        Some(at) => {
            let account = &HEAP.one().accounts[owner as usize];
            let used = account.used.fetch_add((pages * PAGE) as u64, Relaxed) + (pages * PAGE) as u64;
            account.used_max.fetch_max(used, Relaxed);
            account.allocations.fetch_add(1, Relaxed);
            Ok(NonNull::new(at as *mut u8).expect("the heap does not begin at zero"))
        }
        None => Err(Error::out_of_memory(owner.as_str(), pages * PAGE)
            .hint("The shared region has reached region_size_max, or the system has no memory left.")),
    }
}

/// A run of pages inside one extent, which is made present if none has room.
fn alloc_within(pages: usize) -> Option<usize> {
    let heap = HEAP.one();
    loop {
        let claimed = {
            let mut state = heap.state.lock();
            let (first, reached, limit) = (state.first_free as usize, state.reached as usize, state.extents as usize);
            let mut absent = None;
            let mut lowest_free = None;
            let mut found = None;
            for index in first..reached {
                let extent = &mut extents(&mut state)[index];
                match extent.state {
                    PRESENT if extent.free > 0 => {
                        lowest_free = lowest_free.or(Some(index));
                        if extent.free as usize >= pages
                            && let Some(page) = find_run(&extent.used, pages)
                        {
                            set_bits(&mut extent.used, page, pages, true);
                            let was_free = extent.free as usize == PAGES;
                            extent.free -= pages as u32;
                            found = Some((address(index, page), was_free));
                            break;
                        }
                    }
                    ABSENT => {
                        lowest_free = lowest_free.or(Some(index));
                        absent = absent.or(Some(index));
                    }
                    CHANGING => lowest_free = lowest_free.or(Some(index)),
                    _ => {}
                }
            }
            state.first_free = lowest_free.unwrap_or(reached) as u32;
            if let Some((at, was_free)) = found {
                state.entirely_free -= was_free as u32;
                return Some(at);
            }
            let index = absent.unwrap_or(reached);
            if index >= limit {
                return None;
            }
            state.reached = state.reached.max(index as u32 + 1);
            extents(&mut state)[index].state = CHANGING;
            index
        };
        if !back(claimed, 1, 0) {
            return None;
        }
    }
}

/// Whole extents in a row: for what is larger than one extent.
fn alloc_extents(pages: usize) -> Option<usize> {
    let count = pages.div_ceil(PAGES);
    let heap = HEAP.one();
    let first = {
        let mut state = heap.state.lock();
        let limit = state.extents as usize;
        let reached = state.reached as usize;
        // Behind everything ever used there is always room in a row; holes of that size before it are rare.
        let mut run = 0;
        let mut first = None;
        for index in 0..limit {
            let usable = index >= reached || extents(&mut state)[index].state == ABSENT;
            run = if usable { run + 1 } else { 0 };
            if run == count {
                first = Some(index + 1 - count);
                break;
            }
        }
        let first = first?;
        for extent in &mut extents(&mut state)[first..first + count] {
            extent.state = CHANGING;
        }
        state.reached = state.reached.max((first + count) as u32);
        first
    };
    back(first, count, pages).then(|| address(first, 0))
}

/// Backs extents in state *changing* with memory, and takes the first `taken` pages of them, in one step: free extents that
/// others can see are anybody's. They are absent when refused.
fn back(first: usize, count: usize, taken: usize) -> bool {
    let offset = address(first, 0) - super::BASE;
    let ok = super::memfd() < 0 || {
        // SAFETY: a plain system call on the region's own descriptor; it adds memory to a range nobody uses yet.
        unsafe { libc::fallocate(super::memfd(), 0, offset as i64, (count * EXTENT) as i64) == 0 }
    };
    let mut state = HEAP.one().state.lock();
    let mut left = if ok { taken } else { 0 };
    let mut entirely_free = 0;
    for extent in &mut extents(&mut state)[first..first + count] {
        debug_assert_eq!(extent.state, CHANGING);
        *extent = Extent { used: [0; PAGES / 64], free: PAGES as u32, state: if ok { PRESENT } else { ABSENT } };
        let here = left.min(PAGES);
        set_bits(&mut extent.used, 0, here, true);
        extent.free -= here as u32;
        left -= here;
        entirely_free += (here == 0) as u32;
    }
    if ok {
        state.present += count as u32;
        state.entirely_free += entirely_free;
    }
    state.first_free = state.first_free.min(first as u32);
    ok
}

/// Gives pages back.
///
/// # Safety
/// `at` and `pages` are exactly what [`alloc`] gave to `owner`, and nobody uses that memory any more.
pub unsafe fn free(owner: Owner, at: NonNull<u8>, pages: usize) {
    let _critical = Critical::enter();
    let offset = at.as_ptr() as usize - super::heap_range().0;
    let (first, page) = (offset / EXTENT, offset % EXTENT / PAGE);
    let mut release = [0usize; 8];
    let mut releasing = 0;
    {
        let mut state = HEAP.one().state.lock();
        let mut left = pages;
        let mut index = first;
        let mut page = page;
        while left > 0 {
            let here = left.min(PAGES - page);
            let extent = &mut extents(&mut state)[index];
            assert_eq!(extent.state, PRESENT, "memory is freed that was not given");
            set_bits(&mut extent.used, page, here, false);
            extent.free += here as u32;
            let empty = extent.free as usize == PAGES;
            if empty {
                state.entirely_free += 1;
                if state.entirely_free > KEPT_FREE && releasing < release.len() {
                    state.entirely_free -= 1;
                    state.present -= 1;
                    extents(&mut state)[index].state = CHANGING;
                    release[releasing] = index;
                    releasing += 1;
                }
            }
            state.first_free = state.first_free.min(index as u32);
            left -= here;
            index += 1;
            page = 0;
        }
    }
    for &index in &release[..releasing] {
        punch(index);
    }
    let account = &HEAP.one().accounts[owner as usize];
    account.used.fetch_sub((pages * PAGE) as u64, Relaxed);
    account.frees.fetch_add(1, Relaxed);
}

/// Hands an extent's memory back to the system.
fn punch(index: usize) {
    let at = address(index, 0);
    // SAFETY: the extent is in state *changing* and has no page in use, so nobody reads or writes the range; for a
    // private region `madvise` does the same.
    unsafe {
        if super::memfd() >= 0 {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            libc::fallocate(super::memfd(), mode, (at - super::BASE) as i64, EXTENT as i64);
        } else {
            libc::madvise(at as *mut libc::c_void, EXTENT, libc::MADV_DONTNEED);
        }
    }
    extents(&mut HEAP.one().state.lock())[index].state = ABSENT;
}

/// What `gearbox.resources` shows of an owner; bytes and counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Bytes in use now.
    pub used: u64,
    /// The most bytes that were ever in use.
    pub used_max: u64,
    /// How often memory was asked for.
    pub allocations: u64,
    /// How often memory was given back.
    pub frees: u64,
}

/// An owner's account. Takes no lock.
pub fn usage(owner: Owner) -> Usage {
    let account = &HEAP.one().accounts[owner as usize];
    Usage {
        used: account.used.load(Relaxed),
        used_max: account.used_max.load(Relaxed),
        allocations: account.allocations.load(Relaxed),
        frees: account.frees.load(Relaxed),
    }
}

/// Bytes had from the system now, and the most the heap may have.
pub fn extent_bytes() -> (u64, u64) {
    let state = HEAP.one().state.lock();
    (state.present as u64 * EXTENT as u64, state.extents as u64 * EXTENT as u64)
}

/// Counts the bits themselves: bytes in use by all owners together. Rule 1 says that the accounts add up to it.
pub fn walk() -> u64 {
    let mut state = HEAP.one().state.lock();
    let reached = state.reached as usize;
    let used: u32 = extents(&mut state)[..reached]
        .iter()
        .filter(|extent| extent.state == PRESENT)
        .map(|extent| extent.used.iter().map(|word| word.count_ones()).sum::<u32>())
        .sum();
    used as u64 * PAGE as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_across_words() {
        let mut used = [u64::MAX; 4];
        used[0] = u64::MAX >> 3; // the last three pages of the first word are free
        used[1] = !0b11; // and the first two of the second
        assert_eq!(find_run(&used, 5), Some(61));
        assert_eq!(find_run(&used, 6), None);
        assert_eq!(find_run(&[0; 4], 256), Some(0));
        assert_eq!(find_run(&[u64::MAX; 4], 1), None);
    }

    #[test]
    fn accounts_and_bits_agree_and_memory_returns() {
        let _region = crate::region::test_region();
        let before = (walk(), usage(Owner::Test).used);
        let mut held = Vec::new();
        for round in 0..120usize {
            let pages = 1 + round * 7 % 300;
            held.push((alloc(Owner::Test, pages).unwrap(), pages));
            if round % 3 == 0 {
                let (at, pages) = held.swap_remove(round * 5 % held.len());
                // SAFETY: exactly what alloc gave, and not used.
                unsafe { free(Owner::Test, at, pages) };
            }
        }
        let expected: usize = held.iter().map(|(_, pages)| pages * PAGE).sum();
        assert_eq!(usage(Owner::Test).used - before.1, expected as u64);
        assert_eq!(walk() - before.0, expected as u64);
        let present = extent_bytes().0;
        for (at, pages) in held {
            // SAFETY: exactly what alloc gave, and not used.
            unsafe { free(Owner::Test, at, pages) };
        }
        assert_eq!((walk(), usage(Owner::Test).used), before);
        assert!(extent_bytes().0 < present, "memory went back to the system");
    }

    #[test]
    fn a_heap_at_its_limit_refuses_with_53200() {
        let _region = crate::region::test_region();
        let limit = extent_bytes().1 as usize;
        let error = alloc(Owner::Test, limit / PAGE + 1).unwrap_err();
        assert_eq!(error.sqlstate(), base::sqlstate::OUT_OF_MEMORY);
    }
}
