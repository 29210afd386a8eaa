//! Relations: what storage knows of a table's or an index's storage beside its pages.
//!
//! | file | what it is |
//! |---|---|
//! | [`row`] | a relation's row in the region: where inserts go, where room is, what was counted |
//! | [`counts`] | what was done to relations, counted by session |
//! | `space` | a byte for each block: how much room it has |
//! | [`sight`] | the same: whether everybody sees all that is there |
//! | [`place`] | a page for a new row version; more blocks |
//! | `pending` | files that a transaction has made or dropped |
//! | [`finish`] | commit and abort, files included |
//! | [`spill`] | temporary files |
//!
//! A relation is named by its [`RelId`]; the file table ([`crate::file`]) knows how many blocks it has, and the first of its
//! hint words leads to the row here, which is made at the first use after a start.
//!
//! Rules
//! 1. Everything in a row is a hint or a count: gone with the server, and nothing is wrong without it. The row's latch is for
//!    what takes several steps.
//! 2. A file is made before anybody but its maker knows its number, and removed when nobody can want it any more: after the
//!    commit that drops it is durable, or after the abort of the transaction that made it is in the log.
//! 3. Who drops, truncates or removes a relation holds a lock that keeps everybody else out.
//!
//! One insert: [`Relations::row`]; [`Relations::place`] until a page has room; the page is changed; the block becomes the
//! session's target.
//!
//! What this does not do: know tables, columns or names; decide who may use a relation; look into pages.

pub mod counts;
pub mod finish;
pub(crate) mod pending;
pub mod place;
pub mod row;
pub mod sight;
mod space;
pub mod spill;

#[cfg(test)]
mod tests;

pub use place::Bulk;
pub use row::{RelationUsage, Rounds, Row};

use crate::Storage;
use crate::buffer::Pool;
use crate::file::{Files, RELATIONS_MAX, Relation};
use crate::txn::Transactions;
use crate::wal::Wal;
use base::{RelId, Result, SessionId};
use counts::{Changed, Counts, Read};
use kernel::clock;
use kernel::region;
use kernel::region::reserve::Reserve;
use kernel::sync::{Latch, Mode};
use kernel::wait::Event;
use pending::Pending;
use space::SpaceMap;
use spill::{SpillRow, SpillTotals};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Which of the file table's hint words is ours.
const HINT: usize = 0;

kernel::shared! {
    /// Which rows are free, under the latch: a list of those that were used, and those that never were.
    struct RelationsShared {
        latch: Latch,
        /// A row counted from one; the next one is in its first target.
        free: AtomicU32,
        reached: AtomicU32,
        used: AtomicU32,
        /// Files that could not be removed.
        left_behind: AtomicU64,
    }
}

/// The relations; what heaps and indexes are reached through.
pub struct Relations {
    storage: &'static Storage,
    pub(crate) pool: &'static Pool,
    pub(crate) wal: Wal,
    pub(crate) files: Files,
    pub(crate) transactions: &'static Transactions,
    /// Frames of the buffer pool.
    frames: u64,
    shared: &'static RelationsShared,
    rows: Reserve<Row>,
    space: SpaceMap,
    counts: Counts,
    pending: Pending,
    spills: &'static [SpillRow],
    spill_totals: &'static SpillTotals,
}

/// Counts for views.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RelationsUsage {
    /// Relations that were used since the start and are not gone.
    pub relations: u32,
    /// Chunks of free-space maps.
    pub space_chunks: u64,
    /// Bytes of memory of rows and maps.
    pub bytes: u64,
    /// Files made or dropped by transactions that run.
    pub pending_files: u32,
    /// Files that nobody needs and that could not be removed.
    pub left_behind: u64,
}

impl Relations {
    /// Takes the tables. Before the first engine.
    pub fn make(storage: &'static Storage) -> &'static Relations {
        Box::leak(Box::new(Relations {
            storage,
            pool: storage.pool,
            wal: storage.wal,
            files: *storage.pool.files(),
            transactions: storage.transactions,
            frames: storage.pool.usage().frames,
            shared: region::single("relation rows state"),
            rows: Reserve::make("relation rows", RELATIONS_MAX),
            space: SpaceMap::make(),
            counts: Counts::make(),
            pending: storage.pending,
            spills: region::table("temporary files", kernel::session::slots().len()),
            spill_totals: region::single("temporary files totals"),
        }))
    }

    /// The storage that they are in.
    pub fn storage(&self) -> &'static Storage {
        self.storage
    }

    /// How many pages the buffer pool has room for.
    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }

    /// How many blocks a relation has. Errors: `58P01`.
    pub fn blocks(&self, rel: RelId) -> Result<u32> {
        self.files.blocks(rel)
    }

    /// The relation's row. Errors: `58P01`, `53200`.
    #[inline]
    pub(crate) fn row(&self, rel: RelId) -> Result<&'static Row> {
        let file = self.files.open(rel)?;
        // Acquire pairs with the Release in `add`: the row is reset.
        match file.hints()[HINT].load(Acquire) {
            0 => self.add(file),
            index => Ok(self.rows.get(index as usize - 1)),
        }
    }

    /// The relation's row, if it has one: for counts that nobody waits for.
    pub(crate) fn row_if_used(&self, rel: RelId) -> Option<&'static Row> {
        let index = self.files.find(rel)?.hints()[HINT].load(Acquire).checked_sub(1)?;
        Some(self.rows.get(index as usize))
    }

    #[cold]
    fn add(&self, file: &'static Relation) -> Result<&'static Row> {
        let hint = &file.hints()[HINT];
        let shared = self.shared;
        let _latch = shared.latch.lock(Mode::Exclusive, Event::RelationLatch);
        let known = hint.load(Acquire);
        if known != 0 {
            return Ok(self.rows.get(known as usize - 1));
        }
        let reached = shared.reached.load(Relaxed);
        let index = match shared.free.load(Relaxed) {
            0 => {
                // There are as many rows as the file table has, and a row is freed before its file's row is.
                self.rows.back(reached as usize, 1)?;
                shared.reached.store(reached + 1, Release);
                reached
            }
            head => {
                shared.free.store(self.rows.get(head as usize - 1).next_free(), Relaxed);
                head - 1
            }
        };
        let row = self.rows.get(index as usize);
        row.reset(file.blocks());
        shared.used.fetch_add(1, Relaxed);
        hint.store(index as u64 + 1, Release);
        Ok(row)
    }

    /// Forgets a relation's row. Its file goes next; nobody uses it any more.
    fn take_out(&self, rel: RelId) {
        let Some(file) = self.files.find(rel) else { return };
        let shared = self.shared;
        let _latch = shared.latch.lock(Mode::Exclusive, Event::RelationLatch);
        let index = file.hints()[HINT].swap(0, AcqRel) as u32;
        if index == 0 {
            return;
        }
        let row = self.rows.get(index as usize - 1);
        self.space.release(&row.space);
        self.space.release(&row.seen);
        row.set_next_free(shared.free.load(Relaxed));
        shared.free.store(index, Relaxed);
        shared.used.fetch_sub(1, Relaxed);
    }

    /// Counts for views.
    pub fn usage(&self) -> RelationsUsage {
        RelationsUsage {
            relations: self.shared.used.load(Relaxed),
            space_chunks: self.space.used(),
            bytes: self.rows.backed_bytes().0 + self.space.backed_bytes(),
            pending_files: self.pending.used(),
            left_behind: self.shared.left_behind.load(Relaxed),
        }
    }

    /// What was counted of a relation since the start; none if it was not used.
    pub fn usage_of(&self, rel: RelId) -> Option<RelationUsage> {
        self.row_if_used(rel).map(|row| row.usage(self.counts.read(rel)))
    }

    /// How many rows of a relation were changed since it was analyzed, and how many live; none if it was not used.
    pub fn changes_of(&self, rel: RelId) -> Option<(u64, u64)> {
        self.row_if_used(rel).map(|row| row.usage(Read::default())).map(|usage| (usage.modified, usage.live))
    }

    /// The running session is about to read a relation, which has a row of counts from now on. Errors: `58P01`, `53200`.
    #[inline]
    pub fn begin_to_read(&self, rel: RelId) -> Result<()> {
        match self.counts.knows(rel) {
            true => Ok(()),
            false => self.row(rel).map(drop),
        }
    }

    /// The running session has read something of a relation.
    #[inline]
    pub fn has_read(&self, rel: RelId, read: Read) {
        self.counts.has_read(rel, read, |other| self.row_if_used(other));
    }

    /// The running session has changed rows of a relation, which has a row of counts from now on.
    #[inline]
    pub(crate) fn changed(&self, rel: RelId, changed: Changed) -> Result<()> {
        self.begin_to_read(rel)?;
        self.counts.changed(rel, changed, |other| self.row_if_used(other));
        Ok(())
    }

    /// A session's transaction is over: what it counted is added up.
    pub(super) fn settle_counts(&self, session: SessionId, committed: bool, ends: bool) {
        self.counts.settle(session, committed, ends, |rel| self.row_if_used(rel));
    }

    /// A table was analyzed: so many rows seem to live, and this takes account of so many changes.
    ///
    /// Errors: `58P01`, `53200`.
    pub fn analyzed(&self, rel: RelId, live: u64, known: u64, background: bool) -> Result<()> {
        self.row(rel)?.analyzed(live, known, clock::wall_us(), background);
        Ok(())
    }

    /// A storage takes the place of another one, with the counts of that.
    ///
    /// Errors: `58P01`, `53200`.
    pub fn succeed(&self, new: RelId, old: RelId) -> Result<()> {
        let new = self.row(new)?;
        if let Some(old) = self.row_if_used(old) {
            new.succeed(old);
        }
        Ok(())
    }

    /// Counts of a relation begin anew, but for what is known of its rows.
    pub fn reset_counts(&self, rel: RelId) {
        if let Some(row) = self.row_if_used(rel) {
            row.reset_counts(&self.counts.read(rel));
        }
    }

    /// Every relation that was used since the start, with what was counted of it.
    pub fn used(&self) -> impl Iterator<Item = (RelId, RelationUsage)> {
        self.files.relations().filter_map(|file| {
            let index = file.hints()[HINT].load(Acquire).checked_sub(1)?;
            Some((file.rel(), self.rows.get(index as usize).usage(self.counts.read(file.rel()))))
        })
    }
}
