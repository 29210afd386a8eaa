//! A relation's row in the region.
//!
//! Targets spread sessions over pages: each session inserts where it did last, or one of the few that share its target
//! did, so that two that insert at a time seldom want the same latch.

use super::counts::{Changed, Read};
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
        scans: AtomicU64,
        returned: AtomicU64,
        fetched: AtomicU64,

        /// Vacuums, and analyses: those that somebody asked for, and those of the background; how many, and when the last one ended, in
        /// microseconds since 2000.
        vacuums: [AtomicU64; 2],
        vacuumed_at: [AtomicU64; 2],
        analyses: [AtomicU64; 2],
        analyzed_at: [AtomicU64; 2],
        /// Rows that were changed since the last analysis, and inserted since the last vacuum, by transactions that committed.
        modified: AtomicU64,
        inserted_since: AtomicU64,
        /// Transactions below this that aborted have left nothing on any page.
        clean_below: AtomicU64,
        /// Rows that live: what the last look found, and what was inserted and deleted since; a number below zero, in two's complement, if more
        /// was deleted than was known.
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
    /// What was read, by sessions that are still at it too.
    pub read: Read,
    /// Vacuums that somebody asked for, and those of the background.
    pub vacuums: [Rounds; 2],
    /// Analyses, in the same order.
    pub analyses: [Rounds; 2],
    /// Rows that were changed since the last analysis.
    pub modified: u64,
    /// Rows that were inserted since the last vacuum.
    pub inserted_since_vacuum: u64,
    /// Rows that live, as far as it is known.
    pub live: u64,
}

/// How often something was done, and when that was last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rounds {
    /// How often.
    pub count: u64,
    /// Microseconds since 2000, or zero.
    pub last_us: i64,
}

/// Something that is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
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
        self.space.store(0, Relaxed);
        self.seen.store(0, Relaxed);
        self.clean_below.store(0, Relaxed);
        self.reset_counts(&Read::default());
        self.forget_history();
    }

    /// Counts begin anew. `pending` are reads that sessions are going to add: what they had read before does not count.
    pub(super) fn reset_counts(&self, pending: &Read) {
        let counts = [
            &self.inserted,
            &self.updated,
            &self.hot_updated,
            &self.deleted,
            &self.pruned,
            &self.scans,
            &self.returned,
            &self.fetched,
        ];
        let times = [&self.vacuums, &self.vacuumed_at, &self.analyses, &self.analyzed_at];
        counts.into_iter().chain(times.into_iter().flatten()).for_each(|count| count.store(0, Relaxed));
        self.scans.store(0_u64.wrapping_sub(pending.scans), Relaxed);
        self.returned.store(0_u64.wrapping_sub(pending.returned), Relaxed);
        self.fetched.store(0_u64.wrapping_sub(pending.fetched), Relaxed);
    }

    /// Nothing is known of the relation's rows.
    fn forget_history(&self) {
        let known = [&self.dead, &self.modified, &self.inserted_since, &self.live];
        known.into_iter().for_each(|count| count.store(0, Relaxed));
    }

    /// Takes over the counts of the relation that this one takes the place of; what is known of its rows is not.
    pub(super) fn succeed(&self, old: &Row) {
        let pairs = [
            (&self.inserted, &old.inserted),
            (&self.updated, &old.updated),
            (&self.hot_updated, &old.hot_updated),
            (&self.deleted, &old.deleted),
            (&self.pruned, &old.pruned),
            (&self.scans, &old.scans),
            (&self.returned, &old.returned),
            (&self.fetched, &old.fetched),
        ];
        let times = [
            (&self.vacuums, &old.vacuums),
            (&self.vacuumed_at, &old.vacuumed_at),
            (&self.analyses, &old.analyses),
            (&self.analyzed_at, &old.analyzed_at),
        ];
        let each = times.into_iter().flat_map(|(new, old)| new.iter().zip(old));
        pairs.into_iter().chain(each).for_each(|(new, old)| new.store(old.load(Relaxed), Relaxed));
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
            Count::Left(versions) => drop(self.dead.fetch_add(versions, Relaxed)),
            Count::Pruned(pruned) => {
                self.pruned.fetch_add(pruned.versions, Relaxed);
                // A dead slot waits for a vacuum as the version did, and so do the entries in indexes that lead to it.
                let gone = pruned.versions.saturating_sub(pruned.dead_slots);
                let _ = self.dead.fetch_update(Relaxed, Relaxed, |dead| Some(dead.saturating_sub(gone)));
            }
        }
    }

    /// Adds what a transaction changed.
    pub(super) fn add_changed(&self, changed: &Changed, committed: bool) {
        if changed.rows() == 0 {
            return;
        }
        let add = |count: &AtomicU64, more: u64| {
            if more > 0 {
                count.fetch_add(more, Relaxed);
            }
        };
        add(&self.inserted, changed.inserted);
        add(&self.updated, changed.updated);
        add(&self.hot_updated, changed.hot_updated);
        add(&self.deleted, changed.deleted);
        // Versions that an abort has left are counted when somebody sees them; those that it had ended may be used again by others.
        add(&self.dead, changed.updated + changed.hot_updated + changed.deleted);
        add(&self.inserted_since, changed.inserted);
        if committed {
            add(&self.modified, changed.rows());
            add(&self.live, changed.inserted.wrapping_sub(changed.deleted));
        }
    }

    /// Adds what was read.
    pub(super) fn add_read(&self, read: &Read) {
        for (count, more) in [(&self.scans, read.scans), (&self.returned, read.returned), (&self.fetched, read.fetched)]
        {
            if more > 0 {
                count.fetch_add(more, Relaxed);
            }
        }
    }

    /// Notes what a vacuum found, one of the background or not.
    pub(crate) fn vacuumed(&self, live: u64, dead: u64, clean_below: u64, at_us: i64, background: bool) {
        self.live.store(live, Relaxed);
        self.dead.store(dead, Relaxed);
        self.inserted_since.store(0, Relaxed);
        self.clean_below.fetch_max(clean_below, Relaxed);
        self.vacuumed_at[usize::from(background)].store(at_us as u64, Relaxed);
        self.vacuums[usize::from(background)].fetch_add(1, Relaxed);
    }

    /// Notes that the relation was analyzed, and how many rows there seem to be; `known` were the changes that it takes account of.
    pub(super) fn analyzed(&self, live: u64, known: u64, at_us: i64, background: bool) {
        self.live.store(live, Relaxed);
        let _ = self.modified.fetch_update(Relaxed, Relaxed, |rows| Some(rows.saturating_sub(known)));
        self.analyzed_at[usize::from(background)].store(at_us as u64, Relaxed);
        self.analyses[usize::from(background)].fetch_add(1, Relaxed);
    }

    /// Aborted transactions below this have left nothing here.
    pub(crate) fn clean_below(&self) -> u64 {
        self.clean_below.load(Relaxed)
    }

    /// What was counted; `pending` are reads that sessions have not added yet.
    pub(super) fn usage(&self, pending: Read) -> RelationUsage {
        let hot_updated = self.hot_updated.load(Relaxed);
        let rounds = |counts: &[AtomicU64; 2], times: &[AtomicU64; 2]| {
            [0, 1].map(|of: usize| Rounds { count: counts[of].load(Relaxed), last_us: times[of].load(Relaxed) as i64 })
        };
        // After a reset the row's count is below zero by what is pending; in the midst of an addition the sum may be.
        let sum = |count: &AtomicU64, pending: u64| (count.load(Relaxed).wrapping_add(pending) as i64).max(0) as u64;
        RelationUsage {
            inserted: self.inserted.load(Relaxed),
            updated: self.updated.load(Relaxed) + hot_updated,
            hot_updated,
            deleted: self.deleted.load(Relaxed),
            dead: self.dead.load(Relaxed),
            pruned: self.pruned.load(Relaxed),
            read: Read {
                scans: sum(&self.scans, pending.scans),
                returned: sum(&self.returned, pending.returned),
                fetched: sum(&self.fetched, pending.fetched),
            },
            vacuums: rounds(&self.vacuums, &self.vacuumed_at),
            analyses: rounds(&self.analyses, &self.analyzed_at),
            modified: self.modified.load(Relaxed),
            inserted_since_vacuum: self.inserted_since.load(Relaxed),
            live: (self.live.load(Relaxed) as i64).max(0) as u64,
        }
    }
}
