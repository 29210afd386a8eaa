//! A row version: 32 bytes of header, then the row's own bytes, which storage never looks into.
//!
//! ```text
//!  0      8      16           20     24        28          30      32
//!  | xmin | xmax | next block | lock | command | next slot | flags | row bytes
//! ```
//!
//! `xmin` made the version, `xmax` ended it (or zero); both are the (sub)transaction that wrote, not its parent. `next`
//! is the version that an update put in this one's place. `lock` names a set of row lockers in the region; `command`
//! tells a transaction its own statements apart.
//!
//! Rules
//! 1. `xmax != 0` says exactly that one of [`UPDATED`] and [`DELETED`] is set, and `next` is a version exactly with
//!    [`UPDATED`]. An `xmax` that aborted stays until the next update, delete or prune overwrites it.
//! 2. A `next` may be stale: the version there may be pruned and its slot taken by another. It is the successor only if
//!    its `xmin` equals this version's `xmax`; a transaction that ended never writes again, so the match cannot lie.
//! 3. The low byte of the flags is volatile, as are `lock` and `command`: changed without a log record, gone after
//!    redo. Hints only ever go from unset to set while `xmin` or `xmax` stays; whoever changes `xmax` clears its hints.
//! 4. `lock` means something only on a page whose lock epoch is the server's present start (see the page header), and
//!    `command` only to the running transaction that is `xmin` or `xmax`.

use super::super::Tid;
use super::super::raw::{u16_at, u32_at, u64_at};
use base::Xid;
use std::fmt;

/// Offset in the row header: transaction that made the version, `u64`.
pub const XMIN: usize = 0;
/// Offset in the row header: transaction that ended the version, or zero, `u64`.
pub const XMAX: usize = 8;
/// Offset in the row header: block of the next version, `u32`.
pub const NEXT_BLOCK: usize = 16;
/// Offset in the row header: id of a row-lock set, `u32`. A multiple of four in the page, for atomic access.
pub const LOCK: usize = 20;
/// Offset in the row header: command number within a transaction, `u32`.
pub const COMMAND: usize = 24;
/// Offset in the row header: slot of the next version, `u16`.
pub const NEXT_SLOT: usize = 28;
/// Offset in the row header: flags, `u16`. A multiple of two in the page, for atomic access.
pub const ROW_FLAGS: usize = 30;
/// Bytes of the row header.
pub const ROW_HEADER_BYTES: usize = 32;

/// Hint: `xmin` committed.
pub const XMIN_COMMITTED: u16 = 0x0001;
/// Hint: `xmin` aborted.
pub const XMIN_ABORTED: u16 = 0x0002;
/// Hint: `xmax` committed.
pub const XMAX_COMMITTED: u16 = 0x0004;
/// Hint: `xmax` aborted.
pub const XMAX_ABORTED: u16 = 0x0008;
/// `command` is an index into the transaction's own table of command pairs, because it both made and ended the version.
pub const COMMAND_COMBO: u16 = 0x0010;
/// `xmax` updated the row; `next` is the new version.
pub const UPDATED: u16 = 0x0100;
/// `xmax` deleted the row.
pub const DELETED: u16 = 0x0200;
/// `xmax` changed key columns: it holds the row lock `update`, not `no-key update`. A delete always does.
pub const KEYS_UPDATED: u16 = 0x0400;
/// No index entry points to this version: it is reached from the chain's first version.
pub const HEAP_ONLY: u16 = 0x0800;
/// The update put the new version on this page as [`HEAP_ONLY`]; the chain goes on there.
pub const HOT_UPDATED: u16 = 0x1000;

/// The flags that may be set without a log record.
pub const VOLATILE_FLAGS: u16 = XMIN_COMMITTED | XMIN_ABORTED | XMAX_COMMITTED | XMAX_ABORTED | COMMAND_COMBO;
/// The flags that belong to `xmax` and go with it.
pub const XMAX_FLAGS: u16 =
    XMAX_COMMITTED | XMAX_ABORTED | COMMAND_COMBO | UPDATED | DELETED | KEYS_UPDATED | HOT_UPDATED;
/// Every flag that has a meaning.
pub const KNOWN_FLAGS: u16 = VOLATILE_FLAGS | XMAX_FLAGS | HEAP_ONLY;

/// A row version as it lies in the page.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    header: &'a [u8; ROW_HEADER_BYTES],
    row: &'a [u8],
}

impl<'a> Version<'a> {
    /// The version in a normal slot's bytes. `None` when they are too few.
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8]) -> Option<Version<'a>> {
        let (header, row) = bytes.split_first_chunk()?;
        Some(Version { header, row })
    }

    /// The transaction that made the version.
    #[inline(always)]
    pub fn xmin(&self) -> Xid {
        Xid(u64_at(self.header, XMIN))
    }

    /// The transaction that ended the version; `Xid(0)` if none did.
    #[inline(always)]
    pub fn xmax(&self) -> Xid {
        Xid(u64_at(self.header, XMAX))
    }

    /// The version that an update put in this one's place, or [`Tid::NONE`].
    #[inline(always)]
    pub fn next(&self) -> Tid {
        Tid::new(u32_at(self.header, NEXT_BLOCK), u16_at(self.header, NEXT_SLOT))
    }

    /// The row-lock set, or zero; meaningless unless the page's lock epoch is the present one.
    #[inline(always)]
    pub(super) fn lock(&self) -> u32 {
        u32_at(self.header, LOCK)
    }

    /// The command number; meaningless but to the running transaction that is `xmin` or `xmax`.
    #[inline(always)]
    pub fn command(&self) -> u32 {
        u32_at(self.header, COMMAND)
    }

    /// The flags. Hints may be set by others at any time: load once, then decide.
    #[inline(always)]
    pub fn flags(&self) -> u16 {
        u16_at(self.header, ROW_FLAGS)
    }

    /// True when all of `flags` are set.
    #[inline(always)]
    pub fn has(&self, flags: u16) -> bool {
        self.flags() & flags == flags
    }

    /// The row's own bytes.
    #[inline(always)]
    pub fn row(&self) -> &'a [u8] {
        self.row
    }
}

impl fmt::Debug for Version<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Version")
            .field("xmin", &self.xmin().0)
            .field("xmax", &self.xmax().0)
            .field("next", &self.next())
            .field("lock", &self.lock())
            .field("command", &self.command())
            .field("flags", &format_args!("{:#06x}", self.flags()))
            .field("bytes", &self.row.len())
            .finish()
    }
}
