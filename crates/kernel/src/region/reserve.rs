//! Address space for many values, of which memory backs only those that are needed: tables that grow.
//!
//! A [`Reserve`] takes address space like any table of the region, before the first engine. Memory is taken in steps when
//! an index range is [backed](Reserve::back), which is where the system may refuse, and goes back when a range is
//! [released](Reserve::release). Values keep their place for good, so an index is all that anybody has to hold.
//!
//! Rules
//! 1. Back a range before it is used: memory that is touched without is taken as well, but a refusal is a signal then.
//! 2. A released value is zero when it is used again. Only tables of atomics can be released ([`Zeroing`]), because
//!    somebody may be looking: what such a reader sees is zero, and it has to be able to tell that its value is gone.
//! 3. Whoever hands out indexes sees to it that a range is not backed and released at the same time.

use super::huge::Pages;
use super::{Shared, huge};
use base::{Error, Result};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// The unit in which memory is usually taken and given back, in bytes.
pub const STEP: usize = 1 << 20;
/// Steps are multiples of this, and reserves begin at one.
const PAGE: usize = 4 << 10;

/// What address space is taken in.
#[repr(C, align(4096))]
struct Page([AtomicU64; PAGE / 8]);

// SAFETY: atomic numbers.
unsafe impl Shared for Page {}

/// Types that may become zero while somebody looks at them: atomic numbers and arrays of those.
///
/// # Safety
/// Every byte of the type belongs to an atomic number.
pub unsafe trait Zeroing: Shared {}

// SAFETY: an atomic number.
unsafe impl Zeroing for AtomicU64 {}
// SAFETY: an atomic number.
unsafe impl Zeroing for AtomicU32 {}
// SAFETY: atomic numbers without padding between.
unsafe impl<T: Zeroing, const N: usize> Zeroing for [T; N] {}

/// The second table of a reserve: bytes backed, the most ever, then one word for each step: zero, or what pages back it ([`huge::Pages`]).
const BACKED: usize = 0;
const BACKED_MAX: usize = 1;
const STEPS: usize = 2;

/// A table that is backed as it grows; see the head of this file.
pub struct Reserve<T: Shared> {
    name: &'static str,
    values: &'static [T],
    step: usize,
    /// Whether steps are huge pages.
    huge: bool,
    /// Of address space: all values, and what the last huge page has beyond them.
    bytes: usize,
    account: &'static [AtomicU64],
}

impl<T: Shared> Clone for Reserve<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Shared> Copy for Reserve<T> {}

impl<T: Shared> Reserve<T> {
    /// Takes address space for `count` values, to be backed in steps of [`STEP`]. Only before the first engine runs.
    pub fn make(name: &'static str, count: usize) -> Reserve<T> {
        Reserve::with_step(name, count, STEP)
    }

    /// The same with steps of another size: a multiple of 4 KiB.
    pub fn with_step(name: &'static str, count: usize, step: usize) -> Reserve<T> {
        assert!(step > 0 && step.is_multiple_of(PAGE));
        Reserve::make_of(name, count, step, count * size_of::<T>(), false)
    }

    /// The same in huge pages, if they are asked for and can be had ([`huge`]): for what every session uses from end to end and nobody
    /// gives back. What needs less than half a huge page is not worth one, not even if they are demanded; the buffer pool always is.
    pub fn make_huge(name: &'static str, count: usize) -> Reserve<T> {
        let bytes = count * size_of::<T>();
        if !huge::asked() || bytes < huge::PIECE / 2 {
            return Reserve::make(name, count);
        }
        Reserve::make_of(name, count, huge::PIECE, bytes.next_multiple_of(huge::PIECE), true)
    }

    /// `bytes` is what there is for the values, and may be more than they need.
    fn make_of(name: &'static str, count: usize, step: usize, bytes: usize, huge: bool) -> Reserve<T> {
        assert!(align_of::<T>() <= PAGE);
        let pages = super::table_that_grows::<Page>(name, bytes.div_ceil(PAGE), if huge { step } else { PAGE });
        // SAFETY: (1) the table is long enough and aligned to a page; (2) its bytes are zero, and `T: Shared` is valid then;
        // (3) this is the only reference to the table.
        let values = unsafe { std::slice::from_raw_parts(pages.as_ptr().cast::<T>(), count) };
        let account = super::table::<AtomicU64>(&format!("{name} steps"), STEPS + bytes.div_ceil(step));
        super::set_account(pages, account);
        Reserve { name, values, step, huge, bytes, account }
    }

    /// How many values there is address space for.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True when it has no room at all.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// All values. Rule 1.
    pub fn all(&self) -> &'static [T] {
        self.values
    }

    /// A value. Rule 1.
    #[inline]
    pub fn get(&self, index: usize) -> &'static T {
        &self.values[index]
    }

    /// Bytes that are backed now, and the most that ever were.
    pub fn backed_bytes(&self) -> (u64, u64) {
        (self.account[BACKED].load(Relaxed), self.account[BACKED_MAX].load(Relaxed))
    }

    /// Bytes of address space.
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Sees to it that memory backs a range. Makes system calls: not under a spinlock, not in a critical section.
    ///
    /// Errors: `53200` when the system refuses.
    pub fn back(&self, first: usize, count: usize) -> Result<()> {
        assert!(first + count <= self.values.len(), "a range beyond the end of \"{}\"", self.name);
        if count == 0 {
            return Ok(());
        }
        let (from, to) = (first * size_of::<T>(), (first + count) * size_of::<T>());
        for step in from / self.step..to.div_ceil(self.step) {
            if self.account[STEPS + step].load(Acquire) == 0 {
                self.back_step(step)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn back_step(&self, step: usize) -> Result<()> {
        let (from, bytes) = self.step_range(step);
        let offset = self.values.as_ptr() as usize - super::BASE + from;
        let word = &self.account[STEPS + step];
        let mut pages = Pages::Small;
        if self.huge {
            let Some(had) = huge::back(offset, || word.load(Acquire) != 0)? else { return Ok(()) };
            pages = had;
        }
        if super::memfd() >= 0 && pages == Pages::Small {
            // SAFETY: a plain system call on the region's own descriptor; it adds memory and changes no byte.
            if unsafe { libc::fallocate(super::memfd(), 0, offset as i64, bytes as i64) } != 0 {
                return Err(
                    Error::out_of_memory(self.name, bytes).hint("The system has no memory left for the shared region.")
                );
            }
        }
        // Others may have come as far as this with the same step. The first counts its bytes.
        let before = word.fetch_max(pages as u64, AcqRel);
        if before == 0 {
            let backed = self.account[BACKED].fetch_add(bytes as u64, Relaxed) + bytes as u64;
            self.account[BACKED_MAX].fetch_max(backed, Relaxed);
        }
        if self.huge {
            huge::count(before, pages);
        }
        Ok(())
    }

    /// Where a step lies, counted in bytes from the first value, and how long it is.
    fn step_range(&self, step: usize) -> (usize, usize) {
        let from = step * self.step;
        (from, self.step.min(self.bytes - from))
    }
}

impl<T: Zeroing> Reserve<T> {
    /// Gives back the memory of every step that lies wholly in the range; what is left of the range becomes zero. Makes
    /// system calls.
    pub fn release(&self, first: usize, count: usize) {
        assert!(first + count <= self.values.len(), "a range beyond the end of \"{}\"", self.name);
        assert!(!self.huge, "huge pages stay");
        let (from, to) = (first * size_of::<T>(), (first + count) * size_of::<T>());
        let base = self.values.as_ptr() as usize;
        // Whole steps go back to the system; the rest, if any, is cleared by hand. The last step may be a short one.
        let whole_from = from.div_ceil(self.step);
        let whole_to = if to == size_of_val(self.values) { self.account.len() - STEPS } else { to / self.step };
        if whole_from >= whole_to {
            self.clear(from, to);
            return;
        }
        for step in whole_from..whole_to {
            if self.account[STEPS + step].swap(0, AcqRel) == 0 {
                continue;
            }
            let (at, bytes) = self.step_range(step);
            if super::memfd() >= 0 {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                // SAFETY: the range is this table's own, its bytes are atomic numbers (`Zeroing`), and zero is a value
                // that every reader copes with (rule 2).
                unsafe { libc::fallocate(super::memfd(), mode, (base + at - super::BASE) as i64, bytes as i64) };
            } else {
                self.clear(at, at + bytes);
            }
            self.account[BACKED].fetch_sub(bytes as u64, Relaxed);
        }
        self.clear(from, (whole_from * self.step).min(to));
        self.clear((whole_to * self.step).clamp(from, to), to);
    }

    /// Stores zeros into bytes `from..to` of the table.
    fn clear(&self, from: usize, to: usize) {
        let base = self.values.as_ptr() as usize;
        for at in (from..to).step_by(4) {
            // SAFETY: within the table, aligned to four like every atomic number of it, and all bytes are atomic numbers.
            unsafe { (*((base + at) as *const AtomicU32)).store(0, Relaxed) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_and_comes_back_as_zeros() {
        let _region = crate::region::test_region();
        let reserve = Reserve::<[AtomicU64; 1024]>::make("test reserve", 1000);
        assert_eq!(reserve.backed_bytes(), (0, 0));
        reserve.back(100, 200).unwrap();
        // Values of 8 KiB, 128 to a step: 100..300 lies in steps 0, 1 and 2.
        assert_eq!(reserve.backed_bytes().0, 3 << 20);
        let listed = crate::region::tables().find(|table| table.name == "test reserve").unwrap();
        assert_eq!((listed.bytes, listed.backed), (1000 << 13, (3 << 20, 3 << 20)));
        for index in 100..300 {
            reserve.get(index)[5].store(index as u64, Relaxed);
        }
        reserve.release(100, 156);
        assert_eq!(reserve.backed_bytes(), (2 << 20, 3 << 20));
        for index in 100..300 {
            let expected = if index < 256 { 0 } else { index as u64 };
            assert_eq!(reserve.get(index)[5].load(Relaxed), expected, "value {index}");
        }
        reserve.back(100, 200).unwrap();
        assert_eq!(reserve.backed_bytes().0, 3 << 20);
        reserve.release(0, 1000);
        assert_eq!(reserve.backed_bytes().0, 0);
    }

    /// KiB of this process's shared memory that it has in huge pages before it.
    fn mapped_kib() -> u64 {
        let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
        let line = rollup.lines().find_map(|line| line.strip_prefix("ShmemPmdMapped:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }

    /// Each test has the one region; what is asked for stays off for the others.
    #[test]
    fn a_piece_lies_in_a_huge_page_and_keeps_what_was_in_it() {
        let _region = crate::region::test_region();
        assert!(!Reserve::<AtomicU64>::make_huge("test not asked", 1 << 20).huge);
        huge::init(crate::config::HugePages::Try);
        assert!(
            !Reserve::<AtomicU64>::make_huge("test too small", 1 << 16).huge,
            "512 KiB are not worth a page of 2 MiB"
        );
        // Two pieces and a half.
        let reserve = Reserve::<AtomicU64>::make_huge("test huge", 5 << 17);
        huge::init(crate::config::HugePages::Off);
        assert_eq!((reserve.bytes(), reserve.values.as_ptr() as usize % huge::PIECE), (6 << 20, 0));
        reserve.get(7).store(7, Relaxed);
        let (before, mapped) = (huge::usage(), mapped_kib());
        huge::init(crate::config::HugePages::Try);
        reserve.back(0, 5 << 17).unwrap();
        huge::init(crate::config::HugePages::Off);
        assert_eq!((reserve.backed_bytes().0, reserve.get(7).load(Relaxed)), (6 << 20, 7));
        reserve.get((5 << 17) - 1).store(8, Relaxed);
        let after = huge::usage();
        assert_eq!(after.bytes - before.bytes + (after.refused - before.refused) * huge::PIECE as u64, 6 << 20);
        // A machine whose memory is in pieces, or whose kernel is old, refuses.
        if huge::are_granted(3) {
            assert_eq!(after.refused, before.refused);
            assert_eq!(mapped_kib() - mapped, 6 << 10, "KiB that lie in huge pages, says the kernel");
        }
    }

    #[test]
    fn many_who_back_the_same_pieces_at_once_count_each_once() {
        const PIECES: usize = 24;
        const PIECE_VALUES: usize = huge::PIECE / 8;
        let _region = crate::region::test_region();
        huge::init(crate::config::HugePages::Try);
        let reserve = Reserve::<AtomicU64>::make_huge("test huge for many", PIECES * PIECE_VALUES);
        let before = huge::usage();
        let barrier = std::sync::Barrier::new(8);
        let back_all = || {
            for piece in 0..PIECES {
                barrier.wait();
                reserve.back(piece * PIECE_VALUES, 1).unwrap();
            }
        };
        std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(back_all))));
        huge::init(crate::config::HugePages::Off);
        let after = huge::usage();
        let (bytes, refused) = (after.bytes - before.bytes, after.refused - before.refused);
        let all = (PIECES * huge::PIECE) as u64;
        assert_eq!(reserve.backed_bytes().0, all);
        // One whom the system refused may be faster than one whom it did not.
        assert!(
            bytes <= all && bytes + refused * huge::PIECE as u64 >= all,
            "{bytes} in huge pages, {refused} refused"
        );
        if huge::are_granted(PIECES) {
            assert_eq!((bytes, refused), (all, 0));
        }
    }

    #[test]
    fn the_last_step_may_be_short() {
        let _region = crate::region::test_region();
        let reserve = Reserve::<AtomicU64>::make("test short", 10);
        reserve.back(0, 10).unwrap();
        assert_eq!(reserve.backed_bytes().0, 80);
        reserve.get(9).store(1, Relaxed);
        reserve.release(0, 10);
        assert_eq!((reserve.backed_bytes().0, reserve.get(9).load(Relaxed)), (0, 0));
    }
}
