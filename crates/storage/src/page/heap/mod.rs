//! A heap page: row versions behind slots.
//!
//! ```text
//!  24      26      28       30   32          40           44   48
//!  | slots | upper | unused |  0 | prune xid | lock epoch |  0 | slot 0 | slot 1 | ... zeros ... | rows |
//! ```
//!
//! A slot is four bytes: offset in bits 0-13, kind in bits 14-15, length (or a redirect's target) in bits 16-31. It is
//! *unused* (may be taken), *normal* (a row version), *redirect* (the chain that indexes know under this slot now
//! begins at another one), or *dead* (nothing is left, but index entries may still point here). Rows begin at multiples
//! of eight and lie without gaps from `upper` to the end of the page.
//!
//! A *chain* is the versions that an index knows under one slot, its *root*: the root's version, and each next one that
//! is [`HEAP_ONLY`] on the same page. An update that changes no indexed column and fits the page makes
//! the chain longer and touches no index; [`prune`] makes it shorter, and the slot numbers that indexes hold stay good.
//!
//! Rules
//! 1. A slot number, once an index may know it, keeps naming the same row until [`HeapPageMut::reclaim`] is told that
//!    no index entry is left. Only *unused* slots are taken.
//! 2. Changing a page takes its exclusive latch. Two things need less: hints and lock words may be set by an atomic at
//!    [`HeapPage::flags_offset`] or [`HeapPage::lock_offset`] under a shared latch and a pin, because nothing moves
//!    while anybody holds one. Relaxed order is enough: a hint repeats what the transaction table says.
//! 3. Pruning moves rows, so it takes the exclusive latch and wants no other pin: a reader that kept a reference into
//!    the page under a pin alone would see another row's bytes.
//! 4. The page's *prune xid* is the oldest `xmax` that may have left something to prune, or zero. A visitor compares it
//!    with the oldest snapshot and needs to look no further in the common case.
//! 5. *All visible* is set by a prune that found every version visible to every snapshot, and cleared by the next
//!    change; a scan of such a page tests no version.
//!
//! One update on its page: [`HeapPage::fits`] and [`HeapPage::vacant_slot`] say where, the record `HeapUpdate` is made,
//! its `apply` calls [`HeapPageMut::update`], the record is logged, [`HeapPageMut::set_command`] tells the
//! transaction's own statements, `header::set_lsn`. At redo the same `apply` runs without the command.
//!
//! What this does not do: tell what is visible, follow `next` to other pages, keep rows larger than [`MAX_ROW_BYTES`].
//!
//! PostgreSQL's heap-only tuples are the model. Different: transaction ids are 64 bits, so nothing is ever frozen; lock
//! holders live in the region and not in `xmax`; the data has no gaps, so free space is one subtraction.

mod change;
mod check;
pub mod prune;
pub mod row;

#[cfg(test)]
mod tests;

pub use change::RowDelta;
pub use prune::{Fate, PrunePlan, Roots};
pub use row::Version;

use super::header::{self, HEADER_BYTES};
use super::raw::{u16_at, u32_at, u64_at};
use super::{PAGE_SIZE, PageBytes};
use base::{Error, Result, Xid, sqlstate};
use row::{HEAP_ONLY, HOT_UPDATED, LOCK, ROW_FLAGS, ROW_HEADER_BYTES};

/// Offset of the number of slots, `u16`.
pub const SLOT_COUNT: usize = HEADER_BYTES;
/// Offset of where the rows begin, `u16`.
pub const UPPER: usize = 26;
/// Offset of the number of unused slots, `u16`.
pub const UNUSED_COUNT: usize = 28;
/// Offset of the prune xid, `u64`.
pub const PRUNE_XID: usize = 32;
/// Offset of the lock epoch, `u32`: the server start that the page's lock words belong to.
pub const LOCK_EPOCH: usize = 40;
/// Bytes before the first slot.
pub const HEAP_HEADER_BYTES: usize = 48;
/// Bytes of a slot.
pub const SLOT_BYTES: usize = 4;
/// Rows begin at multiples of this.
pub const ROW_ALIGN: usize = 8;
/// The longest row, without its header, that an empty page takes.
pub const MAX_ROW_BYTES: usize =
    (PAGE_SIZE - HEAP_HEADER_BYTES - SLOT_BYTES) / ROW_ALIGN * ROW_ALIGN - ROW_HEADER_BYTES;
/// The most slots a page has: a page full of rows of up to eight bytes, each behind a redirect.
pub const MAX_SLOTS: usize =
    2 * ((PAGE_SIZE - HEAP_HEADER_BYTES) / (2 * SLOT_BYTES + (ROW_HEADER_BYTES + ROW_ALIGN) / ROW_ALIGN * ROW_ALIGN));

/// Page flag: every version on the page is visible to every snapshot, and no slot is dead.
pub const ALL_VISIBLE: u16 = 0x0001;

/// A slot word, taken apart only where it is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(pub(super) u32);

/// Slot kind: may be taken.
pub const SLOT_UNUSED: u32 = 0;
/// Slot kind: offset and length of a row version.
pub const SLOT_NORMAL: u32 = 1;
/// Slot kind: the length field is the slot where the chain begins now.
pub const SLOT_REDIRECT: u32 = 2;
/// Slot kind: nothing there, but index entries may point here.
pub const SLOT_DEAD: u32 = 3;

impl Word {
    const UNUSED: Word = Word(0);
    const DEAD: Word = Word(SLOT_DEAD << 14);

    fn normal(offset: usize, len: usize) -> Word {
        debug_assert!(offset < PAGE_SIZE && len < PAGE_SIZE);
        Word(offset as u32 | SLOT_NORMAL << 14 | (len as u32) << 16)
    }

    fn redirect(to: u16) -> Word {
        Word(SLOT_REDIRECT << 14 | (to as u32) << 16)
    }

    #[inline(always)]
    fn kind(self) -> u32 {
        self.0 >> 14 & 3
    }

    #[inline(always)]
    fn offset(self) -> usize {
        (self.0 & 0x3FFF) as usize
    }

    #[inline(always)]
    fn len(self) -> usize {
        (self.0 >> 16) as usize
    }

    #[inline(always)]
    fn target(self) -> u16 {
        (self.0 >> 16) as u16
    }
}

/// What a slot holds.
#[derive(Clone, Copy, Debug)]
pub enum Slot<'a> {
    /// May be taken.
    Unused,
    /// A row version.
    Normal(Version<'a>),
    /// The chain that indexes know here begins at another slot.
    Redirect(u16),
    /// Nothing, but index entries may point here.
    Dead,
}

/// Refuses a row that no page could take.
pub fn check_row_size(bytes: usize) -> Result<()> {
    if bytes > MAX_ROW_BYTES {
        return Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, "row is too long")
            .detail(format!("The row takes {bytes} bytes; a page takes {MAX_ROW_BYTES}.")));
    }
    Ok(())
}

/// The bytes that a row of `row_bytes` takes on the page, besides its slot.
#[inline]
pub const fn footprint(row_bytes: usize) -> usize {
    (ROW_HEADER_BYTES + row_bytes).next_multiple_of(ROW_ALIGN)
}

/// A heap page to read.
#[derive(Clone, Copy)]
pub struct HeapPage<'a> {
    page: &'a PageBytes,
}

/// A heap page to change; its reading functions are those of [`HeapPageMut::view`].
pub struct HeapPageMut<'a> {
    page: &'a mut PageBytes,
}

impl<'a> HeapPage<'a> {
    /// Looks at `page` as a heap page.
    #[inline(always)]
    pub fn new(page: &'a PageBytes) -> HeapPage<'a> {
        HeapPage { page }
    }

    /// Slots on the page, used or not.
    #[inline(always)]
    pub fn slot_count(self) -> u16 {
        u16_at(self.page, SLOT_COUNT)
    }

    /// Slots that may be taken without making the slot array longer.
    pub fn unused_count(self) -> u16 {
        u16_at(self.page, UNUSED_COUNT)
    }

    /// True when every version is visible to every snapshot.
    #[inline]
    pub fn all_visible(self) -> bool {
        header::flags(self.page) & ALL_VISIBLE != 0
    }

    /// The oldest `xmax` that may have left something to prune, or zero.
    pub fn prune_xid(self) -> Xid {
        Xid(u64_at(self.page, PRUNE_XID))
    }

    /// What a slot holds; slots beyond the array are unused.
    pub fn slot(self, slot: u16) -> Slot<'a> {
        let word = self.word(slot);
        match word.kind() {
            SLOT_NORMAL => self.version_in(word).map_or(Slot::Unused, Slot::Normal),
            SLOT_REDIRECT => Slot::Redirect(word.target()),
            SLOT_DEAD => Slot::Dead,
            _ => Slot::Unused,
        }
    }

    /// The version in a slot, if it is a normal one.
    #[inline]
    pub fn version(self, slot: u16) -> Option<Version<'a>> {
        let word = self.word(slot);
        if word.kind() != SLOT_NORMAL {
            return None;
        }
        self.version_in(word)
    }

    /// The first version of the chain that an index knows under `slot`, and the slot that it is in: the slot's own
    /// version, or the one it redirects to.
    #[inline]
    pub fn chain(self, slot: u16) -> Option<(u16, Version<'a>)> {
        let word = self.word(slot);
        match word.kind() {
            SLOT_NORMAL => Some((slot, self.version_in(word)?)),
            SLOT_REDIRECT => Some((word.target(), self.version(word.target())?)),
            _ => None,
        }
    }

    /// The version that follows in the same chain, and its slot: on this page, heap-only, and made by the transaction
    /// that ended `version`.
    #[inline]
    pub fn chain_next(self, version: &Version<'_>) -> Option<(u16, Version<'a>)> {
        if !version.has(HOT_UPDATED) {
            return None;
        }
        let slot = version.next().slot;
        let next = self.version(slot)?;
        (next.has(HEAP_ONLY) && next.xmin() == version.xmax()).then_some((slot, next))
    }

    /// Every normal slot with its version, in slot order. Heap-only versions are among them.
    pub fn versions(self) -> impl Iterator<Item = (u16, Version<'a>)> {
        (0..self.slot_count()).filter_map(move |slot| Some((slot, self.version(slot)?)))
    }

    /// Bytes between the slots and the rows.
    #[inline]
    pub fn hole(self) -> usize {
        u16_at(self.page, UPPER) as usize - HEAP_HEADER_BYTES - SLOT_BYTES * self.slot_count() as usize
    }

    /// The longest row, in bytes without its header, that can be put on the page so that `reserve` bytes stay free for
    /// updates; `None` when not even an empty row can.
    pub fn free_space(self, reserve: usize) -> Option<usize> {
        let slot_bytes = self.slot_cost()?;
        let left = self.hole().checked_sub(reserve + slot_bytes)?;
        (left / ROW_ALIGN * ROW_ALIGN).checked_sub(ROW_HEADER_BYTES)
    }

    /// True when a row of `row_bytes` can be put on the page so that `reserve` bytes stay free for updates.
    #[inline]
    pub fn fits(self, row_bytes: usize, reserve: usize) -> bool {
        self.slot_cost().is_some_and(|slot_bytes| footprint(row_bytes) + slot_bytes + reserve <= self.hole())
    }

    /// The slot that the next row goes to: the first unused one, or one more at the end. `None` when all are taken.
    pub fn vacant_slot(self) -> Option<u16> {
        let count = self.slot_count();
        if self.unused_count() > 0 {
            return (0..count).find(|&slot| self.word(slot) == Word::UNUSED);
        }
        ((count as usize) < MAX_SLOTS).then_some(count)
    }

    /// The row-lock set that a version's lock word names, or zero. A word from an earlier start of the server is zero.
    #[inline]
    pub fn lock(self, slot: u16, epoch: u32) -> u32 {
        if self.lock_epoch() != epoch {
            return 0;
        }
        self.version(slot).map_or(0, |version| version.lock())
    }

    /// The server start that the page's lock words belong to.
    pub fn lock_epoch(self) -> u32 {
        u32_at(self.page, LOCK_EPOCH)
    }

    /// Where a version's flags lie in the page: a multiple of two. To set hints with an atomic `or` under a shared
    /// latch.
    #[inline]
    pub fn flags_offset(self, slot: u16) -> Option<usize> {
        let word = self.word(slot);
        (word.kind() == SLOT_NORMAL).then(|| word.offset() + ROW_FLAGS)
    }

    /// Where a version's lock word lies in the page: a multiple of four. Use it only while the page's lock epoch is the
    /// present one; [`HeapPageMut::set_lock`] makes it so.
    #[inline]
    pub fn lock_offset(self, slot: u16) -> Option<usize> {
        let word = self.word(slot);
        (word.kind() == SLOT_NORMAL).then(|| word.offset() + LOCK)
    }

    /// Bytes that the slot of one more row takes; `None` when there can be no more.
    #[inline]
    fn slot_cost(self) -> Option<usize> {
        if self.unused_count() > 0 {
            return Some(0);
        }
        ((self.slot_count() as usize) < MAX_SLOTS).then_some(SLOT_BYTES)
    }

    #[inline(always)]
    fn word(self, slot: u16) -> Word {
        if slot >= self.slot_count() {
            return Word::UNUSED;
        }
        Word(u32_at(self.page, word_at(slot)))
    }

    #[inline(always)]
    fn version_in(self, word: Word) -> Option<Version<'a>> {
        Version::new(&self.page[word.offset()..word.offset() + word.len()])
    }
}

/// Where a row's first version seems to lie in a page of which `peek` tells the number at an offset; none if there seems to be no such
/// row.
#[inline(always)]
pub(crate) fn row_behind(slot: u16, peek: impl Fn(usize) -> u32) -> Option<usize> {
    let word_of = |slot| Word(peek(word_at(slot)));
    let word = word_of(slot);
    let word = if word.kind() == SLOT_REDIRECT { word_of(word.target()) } else { word };
    (word.kind() == SLOT_NORMAL).then(|| word.offset())
}

/// Where a slot's word lies in the page.
#[inline(always)]
pub(crate) fn word_at(slot: u16) -> usize {
    HEAP_HEADER_BYTES + SLOT_BYTES * slot as usize
}
