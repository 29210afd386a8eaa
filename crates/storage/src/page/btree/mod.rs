//! A B-tree page: entries in order of (key, tid), with links to its neighbours, after Lehman and Yao.
//!
//! ```text
//!  24        26      28         30     32     36      40      41  42      44  48            56        88
//!  | entries | upper | high key | skip | left | right | level | 0 | cycle | 0 | deleted xid | samples | slot 0 | ...
//!
//!  slot      offset 0-12 · killed 15 (u16) | head (u16)
//!  leaf      key length (u16) | tid block (u32) | tid slot (u16) | key
//!  internal  key length (u16) | tid block (u32) | tid slot (u16) | child block (u32) | key
//! ```
//!
//! Keys are byte strings in the order of `memcmp`. Whoever makes them chooses an encoding that keeps the values' order.
//! Entries with the same key are told apart by the row's tid, so every (key, tid) in a tree is unique, deleting finds
//! its entry by search, and a separator always separates.
//!
//! Rules
//! 1. On a leaf an entry says where a row is. On an internal page entry `i` says that child `i` holds what is at or
//!    after its separator and before entry `i + 1`'s; entry 0 has an empty key, stands for "from the page's beginning",
//!    and is never compared.
//! 2. The *high key* bounds the page: every entry is before it. A search for something at or after it goes right. The
//!    rightmost page of a level has neither high key nor right link; each other page has both.
//! 3. The root stays in its block for ever and has the flag [`ROOT`]. When it is split its entries go to two new pages
//!    and it grows a level, so a descent needs no page that says where the root is. Whoever comes back to a remembered
//!    parent must look at [`BtreePage::level`]: the root may have grown, and the parent is then found by a new descent.
//! 4. A split and the new entry in the parent are two log records. In between the left page is [`SPLIT_PENDING`]:
//!    searches go right and miss nothing; the next writer that meets the flag adds the parent entry first. The record
//!    that adds it (an insert, or the split of the parent) takes the flag away.
//! 5. A page is deleted in two steps: empty and [`HALF_DEAD`] when its parent entry goes (its key range then belongs to
//!    the right neighbour), [`DELETED`] when its neighbours are linked past it. It keeps its right link, for whoever is
//!    on the way to it, until no snapshot is older than `deleted xid`. The last child of its parent is not deleted.
//! 6. *Killed* is a hint on an entry: no version behind it is visible to anybody. It may be set by an atomic `or` of
//!    [`KILLED`] at [`BtreePage::killed_offset`] under a shared latch, and is lost at redo. A page that would be split
//!    drops its killed entries first.
//!
//! Searching touches as little memory as it can. All keys of a page begin with the same `skip` bytes (often most of the
//! key, for integers); the two bytes after them, the *head*, lie in the slot beside the offset, and sixteen of the
//! heads once more in the header, as *samples*. A search looks at samples, then at heads, and at whole keys only where
//! heads are equal: see [`search`]. For several keys at a time all entries of an internal page are read once: see [`several`].
//!
//! What this does not do: latching, moving from page to page, unique checks, predicate locks (a split tells its caller
//! which entries moved, so that locks can follow).
//!
//! Lehman and Yao, *Efficient Locking for Concurrent Operations on B-Trees*, 1981; left links and page deletion after
//! Lanin and Shasha. Different from PostgreSQL's: the root does not move, keys are compared as bytes, slots carry
//! heads.

mod change;
mod check;
pub mod search;
pub mod several;
pub mod split;

#[cfg(test)]
mod tests;

use super::header::{self, HEADER_BYTES};
use super::raw::{u16_at, u32_at, u64_at};
use super::{NO_BLOCK, PAGE_SIZE, PageBytes, Tid};
use base::{Error, Result, Xid, sqlstate};

/// Offset of the number of entries, `u16`.
pub const ENTRY_COUNT: usize = HEADER_BYTES;
/// Offset of where entries begin, `u16`.
pub const UPPER: usize = 26;
/// Offset of the high key's offset, `u16`; zero if there is none.
pub const HIGH_KEY: usize = 28;
/// Offset of the number of bytes that all keys on the page begin with, `u16`.
pub const SKIP: usize = 30;
/// Offset of the left neighbour's block, `u32`.
pub const LEFT: usize = 32;
/// Offset of the right neighbour's block, `u32`.
pub const RIGHT: usize = 36;
/// Offset of the level, `u8`: zero for leaves.
pub const LEVEL: usize = 40;
/// Offset of the vacuum cycle of the last split, `u16`.
pub const CYCLE: usize = 42;
/// Offset of the transaction id at the page's deletion, `u64`.
pub const DELETED_XID: usize = 48;
/// Offset of the samples, `u16` each.
pub const SAMPLES: usize = 56;
/// Number of samples.
pub const SAMPLE_COUNT: usize = 16;
/// Bytes before the first slot.
pub const BTREE_HEADER_BYTES: usize = 88;
/// Bytes of a slot.
pub const SLOT_BYTES: usize = 4;
/// Bytes of a leaf entry, or of the high key, before its key.
pub const LEAF_ENTRY_BYTES: usize = 8;
/// Bytes of an internal entry before its key.
pub const INTERNAL_ENTRY_BYTES: usize = 12;
/// Bytes for slots, entries and the high key.
pub const CONTENT_BYTES: usize = PAGE_SIZE - BTREE_HEADER_BYTES;
/// The longest key: three entries of it, or two and a high key, always fit a page, so that every page can be split.
pub const MAX_KEY_BYTES: usize = CONTENT_BYTES / 3 - INTERNAL_ENTRY_BYTES - SLOT_BYTES;
/// More levels than any tree can have.
pub const MAX_LEVEL: u8 = 31;

/// Page flag: the root of its tree.
pub const ROOT: u16 = 0x0001;
/// Page flag: the page was split and its parent does not know the right half yet.
pub const SPLIT_PENDING: u16 = 0x0002;
/// Page flag: empty, without an entry in the parent; searches go right.
pub const HALF_DEAD: u16 = 0x0004;
/// Page flag: out of the tree; searches go right.
pub const DELETED: u16 = 0x0008;
/// Every page flag that has a meaning.
pub const KNOWN_FLAGS: u16 = ROOT | SPLIT_PENDING | HALF_DEAD | DELETED;

/// Slot flag, in the `u16` of the offset: no version behind the entry is visible to anybody. A hint.
pub const KILLED: u16 = 0x8000;
const OFFSET_BITS: u16 = 0x1FFF;

/// An entry to be put on a page, or read from one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// The key, as bytes that compare as the values do.
    pub key: &'a [u8],
    /// The row's place, or the separator's tie-breaker.
    pub tid: Tid,
    /// The child page; [`NO_BLOCK`] on leaves.
    pub child: u32,
}

impl<'a> Entry<'a> {
    /// An entry for a leaf.
    pub fn leaf(key: &'a [u8], tid: Tid) -> Entry<'a> {
        Entry { key, tid, child: NO_BLOCK }
    }

    /// An entry for an internal page.
    pub fn internal(key: &'a [u8], tid: Tid, child: u32) -> Entry<'a> {
        Entry { key, tid, child }
    }
}

/// Refuses a key that is too long for an index.
pub fn check_key_size(bytes: usize) -> Result<()> {
    if bytes > MAX_KEY_BYTES {
        return Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, "index key is too long")
            .detail(format!("The key takes {bytes} bytes; an index takes {MAX_KEY_BYTES}.")));
    }
    Ok(())
}

/// A B-tree page to read.
#[derive(Clone, Copy)]
pub struct BtreePage<'a> {
    page: &'a PageBytes,
}

/// A B-tree page to change; its reading functions are those of [`BtreePageMut::view`].
pub struct BtreePageMut<'a> {
    page: &'a mut PageBytes,
}

impl<'a> BtreePage<'a> {
    /// Looks at `page` as a B-tree page.
    #[inline(always)]
    pub fn new(page: &'a PageBytes) -> BtreePage<'a> {
        BtreePage { page }
    }

    /// Entries on the page.
    #[inline(always)]
    pub fn count(self) -> usize {
        u16_at(self.page, ENTRY_COUNT) as usize
    }

    /// The height above the leaves.
    #[inline(always)]
    pub fn level(self) -> u8 {
        self.page[LEVEL]
    }

    /// True when entries say where rows are.
    #[inline(always)]
    pub fn is_leaf(self) -> bool {
        self.level() == 0
    }

    /// The left neighbour, or [`NO_BLOCK`].
    #[inline(always)]
    pub fn left(self) -> u32 {
        u32_at(self.page, LEFT)
    }

    /// The right neighbour, or [`NO_BLOCK`].
    #[inline(always)]
    pub fn right(self) -> u32 {
        u32_at(self.page, RIGHT)
    }

    /// The vacuum cycle of the last split: a vacuum that reads pages in file order finds by it that entries moved
    /// behind it.
    pub fn cycle(self) -> u16 {
        u16_at(self.page, CYCLE)
    }

    /// A transaction id that no snapshot may be older than before a deleted page is used again.
    pub fn deleted_xid(self) -> Xid {
        Xid(u64_at(self.page, DELETED_XID))
    }

    /// True when all of `flags` are set.
    #[inline(always)]
    pub fn has(self, flags: u16) -> bool {
        header::flags(self.page) & flags == flags
    }

    /// True when a search that comes here must go right, whatever it looks for.
    #[inline(always)]
    pub fn is_ignored(self) -> bool {
        header::flags(self.page) & (HALF_DEAD | DELETED) != 0
    }

    /// The bound that every entry on the page is before; `None` on the rightmost page.
    #[inline]
    pub fn high_key(self) -> Option<(&'a [u8], Tid)> {
        let at = u16_at(self.page, HIGH_KEY) as usize;
        (at != 0).then(|| self.high_key_at(at))
    }

    /// The entry at a position.
    #[inline]
    pub fn entry(self, position: usize) -> Entry<'a> {
        let (key, tid) = (self.key(position), self.tid(position));
        Entry { key, tid, child: if self.is_leaf() { NO_BLOCK } else { self.child(position) } }
    }

    /// The key at a position.
    #[inline]
    pub fn key(self, position: usize) -> &'a [u8] {
        let at = self.offset(position);
        let from = at + if self.is_leaf() { LEAF_ENTRY_BYTES } else { INTERNAL_ENTRY_BYTES };
        &self.page[from..from + u16_at(self.page, at) as usize]
    }

    /// The tid at a position.
    #[inline]
    pub fn tid(self, position: usize) -> Tid {
        tid_at(self.page, self.offset(position))
    }

    /// The child at a position of an internal page.
    #[inline]
    pub fn child(self, position: usize) -> u32 {
        debug_assert!(!self.is_leaf());
        u32_at(self.page, self.offset(position) + LEAF_ENTRY_BYTES)
    }

    /// True when a reader found that nobody can see anything behind the entry.
    #[inline]
    pub fn is_killed(self, position: usize) -> bool {
        u16_at(self.page, slot_at(position)) & KILLED != 0
    }

    /// Where the `u16` with the entry's [`KILLED`] bit lies in the page: a multiple of two.
    #[inline]
    pub fn killed_offset(self, position: usize) -> usize {
        slot_at(position)
    }

    /// Bytes that are free for entries and their slots.
    #[inline]
    pub fn free_space(self) -> usize {
        u16_at(self.page, UPPER) as usize - slot_at(self.count())
    }

    /// True when an entry with a key of `key_bytes` can be put on the page.
    #[inline]
    pub fn fits(self, key_bytes: usize) -> bool {
        self.entry_bytes() + key_bytes + SLOT_BYTES <= self.free_space()
    }

    /// Bytes of an entry on this page before its key.
    #[inline(always)]
    fn entry_bytes(self) -> usize {
        if self.is_leaf() { LEAF_ENTRY_BYTES } else { INTERNAL_ENTRY_BYTES }
    }

    /// The first position whose separator or key is compared.
    #[inline(always)]
    fn first_real(self) -> usize {
        usize::from(!self.is_leaf())
    }

    #[inline(always)]
    fn skip(self) -> usize {
        u16_at(self.page, SKIP) as usize
    }

    #[inline(always)]
    fn offset(self, position: usize) -> usize {
        debug_assert!(position < self.count(), "entry {position} of {}", self.count());
        (u16_at(self.page, slot_at(position)) & OFFSET_BITS) as usize
    }

    fn high_key_at(self, at: usize) -> (&'a [u8], Tid) {
        let from = at + LEAF_ENTRY_BYTES;
        (&self.page[from..from + u16_at(self.page, at) as usize], tid_at(self.page, at))
    }
}

/// Where a slot lies in the page.
#[inline(always)]
fn slot_at(position: usize) -> usize {
    BTREE_HEADER_BYTES + SLOT_BYTES * position
}

#[inline(always)]
fn tid_at(page: &PageBytes, at: usize) -> Tid {
    Tid::new(u32_at(page, at + 2), u16_at(page, at + 6))
}
