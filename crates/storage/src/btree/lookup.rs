//! The entries of one key: the shortest way through an index, without an allocation.

use super::Btree;
use crate::page::btree::{BtreePage, KILLED};
use crate::page::{Tid, header};
use base::{Lsn, Result};

/// Entries that a lookup answers at most.
pub const MATCHES_MAX: usize = 8;

/// The places behind a key.
#[derive(Clone, Copy, Debug)]
pub struct Matches {
    tids: [Tid; MATCHES_MAX],
    count: u8,
    more: bool,
    /// The leaf's LSN.
    lsn: Lsn,
}

impl Matches {
    /// In place of what has still to be found.
    pub(super) const UNKNOWN: Matches =
        Matches { tids: [Tid::NONE; MATCHES_MAX], count: u8::MAX, more: false, lsn: Lsn(0) };

    pub(super) fn is_unknown(&self) -> bool {
        self.count == u8::MAX
    }

    /// The places, in order.
    #[inline]
    pub fn tids(&self) -> &[Tid] {
        &self.tids[..self.count as usize]
    }

    /// True if there may be more entries than these: a [`scan`](super::scan) finds them all.
    #[inline]
    pub fn more(&self) -> bool {
        self.more
    }
}

impl Btree {
    /// Looks a key up. Entries that nobody needs any more are left out; which of the others leads to a visible row, the heap knows.
    ///
    /// Errors: those of pinning, `XX002`.
    #[inline]
    pub fn lookup(&self, key: &[u8]) -> Result<Matches> {
        self.at_leaf((key, Tid::MIN), |page, view| matches_on(view, key, header::lsn(page)))
    }

    /// Says that nobody can see anything behind an entry that a lookup of `key` has answered
    /// ([`crate::heap::Fetched::Dead`]): searches will pass over it. Does nothing if the leaf has changed since.
    pub fn kill(&self, key: &[u8], tid: Tid, found: &Matches) -> Result<()> {
        self.at_leaf((key, tid), |page, view| {
            let position = view.lower_bound(key, tid);
            let is_it = position < view.count() && view.key(position) == key && view.tid(position) == tid;
            if is_it && header::lsn(page) == found.lsn {
                page.set_hints(view.killed_offset(position), KILLED);
            }
        })
    }
}

#[inline]
pub(super) fn matches_on(page: BtreePage<'_>, key: &[u8], lsn: Lsn) -> Matches {
    matches_from(page, page.lower_bound(key, Tid::MIN), key, lsn)
}

/// The same from the position of the key's first entry on.
#[inline]
pub(super) fn matches_from(page: BtreePage<'_>, mut position: usize, key: &[u8], lsn: Lsn) -> Matches {
    let mut found = Matches { tids: [Tid::NONE; MATCHES_MAX], count: 0, more: false, lsn };
    let count = page.count();
    while position < count && page.has_key(position, key) {
        if !page.is_killed(position) {
            if found.count as usize == MATCHES_MAX {
                found.more = true;
                return found;
            }
            found.tids[found.count as usize] = page.tid(position);
            found.count += 1;
        }
        position += 1;
    }
    // The key's entries may go on where this page ends.
    found.more = position == count && page.high_key().is_some_and(|(high, _)| high == key);
    found
}
