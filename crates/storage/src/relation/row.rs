//! A relation's row in the region.
//!
//! Targets spread sessions over pages: each session inserts where it did last, or one of the few that share its target
//! did, so that two that insert at a time seldom want the same latch.

use kernel::sync::Latch;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Insertion targets of a relation.
pub(super) const TARGETS: usize = 8;

kernel::shared! {
    /// What sessions share of a relation.
    pub struct Row {
        /// Blocks counted from one, by the session's number.
        targets: [AtomicU32; TARGETS],
        /// Blocks that the relation had at its first use since the start: of those that came later the map knows.
        old: AtomicU32,
        /// Old blocks below this one were looked at.
        probed: AtomicU32,
        /// Where pages are pruned next before the relation grows.
        hand: AtomicU32,
        pub(super) latch: Latch,
        /// The root of the map of free space.
        pub(super) space: AtomicU64,
        /// The root of the map of pages that are known to be all visible.
        pub(super) seen: AtomicU64,
        /// How often a vacuum has taken entries of rows that are gone out of the indexes.
        entries_gone: AtomicU64,

        inserted: AtomicU64,
        updated: AtomicU64,
        hot_updated: AtomicU64,
        deleted: AtomicU64,
        /// Versions that were ended, or made by who aborted, and not pruned since; and slots that only a vacuum makes free again.
        dead: AtomicU64,
        pruned: AtomicU64,

        vacuums: AtomicU64,
        /// When the last vacuum ended, in microseconds since 2000.
        vacuumed_at: AtomicU64,
        /// Transactions below this that aborted have left nothing on any page.
        clean_below: AtomicU64,
        /// What the last vacuum found: rows that stay.
        live: AtomicU64,
    }
}

/// What was counted of a relation since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RelationUsage {
    /// Row versions inserted, updates not counted.
    pub inserted: u64,
    /// Rows updated.
    pub updated: u64,
    /// Of those, updates that touched no index.
    pub hot_updated: u64,
    /// Rows deleted.
    pub deleted: u64,
    /// Versions that were ended, whatever became of who ended them, and are not known to be gone with all that led to them.
    pub dead: u64,
    /// Versions that page visits and vacuums have removed.
    pub pruned: u64,
    /// How often it was vacuumed.
    pub vacuums: u64,
    /// When that was last: microseconds since 2000, or zero.
    pub vacuumed_at_us: i64,
    /// Rows that the last vacuum found.
    pub live_at_vacuum: u64,
}

/// Something that is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
    Inserted(u64),
    Updated {
        hot: bool,
    },
    Deleted,
    /// Versions that an abort has left, as far as somebody came by and saw.
    Left(u64),
    Pruned(Pruned),
}

/// What a prune took from a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pruned {
    /// Versions that went.
    pub(crate) versions: u64,
    /// Rows of which nothing is left but a dead slot and their entries in indexes.
    pub(crate) dead_slots: u64,
    /// True if the page was changed.
    pub(crate) changed: bool,
}

impl Row {
    /// Begins anew, for a relation of so many blocks.
    pub(super) fn reset(&self, blocks: u32) {
        self.targets.iter().for_each(|target| target.store(0, Relaxed));
        self.old.store(blocks, Relaxed);
        self.probed.store(0, Relaxed);
        self.hand.store(0, Relaxed);
        let counts = [
            &self.space,
            &self.seen,
            &self.inserted,
            &self.updated,
            &self.hot_updated,
            &self.deleted,
            &self.dead,
            &self.pruned,
            &self.vacuums,
            &self.vacuumed_at,
            &self.clean_below,
            &self.live,
        ];
        counts.into_iter().for_each(|count| count.store(0, Relaxed));
    }

    pub(super) fn next_free(&self) -> u32 {
        self.targets[0].load(Relaxed)
    }

    pub(super) fn set_next_free(&self, next: u32) {
        self.targets[0].store(next, Relaxed);
    }

    /// Where a session inserted last.
    #[inline]
    pub(super) fn target(&self, session: u32) -> Option<u32> {
        self.targets[session as usize % TARGETS].load(Relaxed).checked_sub(1)
    }

    #[inline]
    pub(super) fn set_target(&self, session: u32, block: Option<u32>) {
        self.targets[session as usize % TARGETS].store(block.map_or(0, |block| block + 1), Relaxed);
    }

    /// An old block that nobody has looked at, for the caller to do so.
    pub(super) fn take_unseen(&self) -> Option<u32> {
        let old = self.old.load(Relaxed);
        self.probed.fetch_update(AcqRel, Acquire, |at| (at < old).then_some(at + 1)).ok()
    }

    /// The next so many of a relation's blocks to be pruned before it grows, if it seems to be worth it: as many versions have been ended.
    pub(crate) fn take_dying(&self, count: u32, blocks: u32) -> impl Iterator<Item = u32> {
        let count = if self.dead.load(Relaxed) >= count as u64 { count.min(blocks) } else { 0 };
        let first = if count > 0 { self.hand.fetch_add(count, Relaxed) } else { 0 };
        (0..count).map(move |step| first.wrapping_add(step) % blocks)
    }

    /// All old blocks were looked at.
    pub(super) fn all_seen(&self) {
        self.probed.fetch_max(self.old.load(Relaxed), AcqRel);
    }

    /// Forgets blocks that are cut off.
    pub(super) fn cut(&self, blocks: u32) {
        self.old.fetch_min(blocks, AcqRel);
        for target in &self.targets {
            if target.load(Relaxed) > blocks {
                target.store(0, Relaxed);
            }
        }
    }

    /// A vacuum has taken the entries of rows out of all indexes, and is about to let their places be used again.
    pub(crate) fn say_entries_gone(&self) {
        if !kernel::fault::planted("vacuum.entries_untold") {
            // Pairs with the Acquire below: who sees a page that is all visible since sees this too.
            self.entries_gone.fetch_add(1, AcqRel);
        }
    }

    #[inline]
    pub(super) fn count_of_entries_gone(&self) -> u64 {
        self.entries_gone.load(Acquire)
    }

    /// Counts what was done.
    #[inline]
    pub(crate) fn count(&self, what: Count) {
        match what {
            Count::Inserted(rows) => drop(self.inserted.fetch_add(rows, Relaxed)),
            Count::Updated { hot } => {
                let kind = if hot { &self.hot_updated } else { &self.updated };
                kind.fetch_add(1, Relaxed);
                self.dead.fetch_add(1, Relaxed);
            }
            Count::Deleted => {
                self.deleted.fetch_add(1, Relaxed);
                self.dead.fetch_add(1, Relaxed);
            }
            Count::Left(versions) => drop(self.dead.fetch_add(versions, Relaxed)),
            Count::Pruned(pruned) => {
                self.pruned.fetch_add(pruned.versions, Relaxed);
                // A dead slot waits for a vacuum as the version did, and so do the entries in indexes that lead to it.
                let gone = pruned.versions.saturating_sub(pruned.dead_slots);
                let _ = self.dead.fetch_update(Relaxed, Relaxed, |dead| Some(dead.saturating_sub(gone)));
            }
        }
    }

    /// Notes what a vacuum found.
    pub(crate) fn vacuumed(&self, live: u64, dead: u64, clean_below: u64, at_us: i64) {
        self.live.store(live, Relaxed);
        self.dead.store(dead, Relaxed);
        self.clean_below.fetch_max(clean_below, Relaxed);
        self.vacuumed_at.store(at_us as u64, Relaxed);
        self.vacuums.fetch_add(1, Relaxed);
    }

    /// Aborted transactions below this have left nothing here.
    pub(crate) fn clean_below(&self) -> u64 {
        self.clean_below.load(Relaxed)
    }

    pub(super) fn usage(&self) -> RelationUsage {
        let hot_updated = self.hot_updated.load(Relaxed);
        RelationUsage {
            inserted: self.inserted.load(Relaxed),
            updated: self.updated.load(Relaxed) + hot_updated,
            hot_updated,
            deleted: self.deleted.load(Relaxed),
            dead: self.dead.load(Relaxed),
            pruned: self.pruned.load(Relaxed),
            vacuums: self.vacuums.load(Relaxed),
            vacuumed_at_us: self.vacuumed_at.load(Relaxed) as i64,
            live_at_vacuum: self.live.load(Relaxed),
        }
    }
}
