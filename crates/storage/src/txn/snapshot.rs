//! Snapshots: what a statement or a transaction can see, as one position of the log.
//!
//! A snapshot sees a transaction exactly if its commit record ends at or before the snapshot's position. Taking one is a load of the
//! log's durable end and a store into the session's row, which is what keeps versions that it needs: the oldest position
//! in any row, or the durable end if there is none, is the horizon.
//!
//! Rules
//! 1. The position is stored first and the log's end read again after: if it has not moved, whoever computes a horizon has read an
//!    end at or before it, or sees the store. If it has moved, the new position is taken.
//! 2. A session that does not wait for its commits to be durable ([`super::finish`]) still sees them: its snapshots reach at least to the
//!    end of its last commit. What it sees beyond the durable end a crash may take away, as it may take that commit away.
//! 3. A session holds few snapshots at once, each in a place of its row; one too many shares the place of an older one, which then
//!    is kept longer than needed.

use super::Transactions;
use super::registry::{Row, SNAPSHOTS};
use base::{Lsn, Xid};
use std::sync::atomic::Ordering::*;

/// How far a planted bug's snapshots reach beyond what they should see.
const TOO_NEW: u64 = 1 << 20;

/// What a statement sees. A plain value; held until [`Transactions::release`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// Commits that ended at or before this are visible.
    pub lsn: Lsn,
    /// The session's own transaction, or zero: its changes are visible if an earlier command made them.
    pub own: Xid,
    /// The number of the command that looks.
    pub command: u32,
    place: u32,
}

impl Snapshot {
    /// The same snapshot for another command of a transaction.
    #[must_use]
    pub fn at_command(self, own: Xid, command: u32) -> Snapshot {
        Snapshot { own, command, ..self }
    }

    /// A snapshot that no session holds: for tests and tools that know that nothing is pruned.
    pub fn at(lsn: Lsn) -> Snapshot {
        Snapshot { lsn, own: Xid(0), command: 0, place: u32::MAX }
    }
}

impl Transactions {
    /// Takes a snapshot for the running session, and holds it.
    pub fn snapshot(&self) -> Snapshot {
        let row = self.mine();
        let own_commit = Lsn(row.own_commit.load(Relaxed));
        let place = free_place(row);
        let lsn = match place {
            Some(place) => {
                let slot = &row.snapshots[place];
                // Rule 1.
                let mut seen = self.wal.visible();
                loop {
                    slot.store(seen.max(own_commit).0, SeqCst);
                    let now = self.wal.visible();
                    if now == seen {
                        break;
                    }
                    seen = now;
                }
                seen.max(own_commit)
            }
            None => self.wal.visible().max(own_commit),
        };
        // All places taken: the oldest snapshot that is held keeps what this one needs.
        let place = place.unwrap_or_else(|| oldest_place(row));
        row.holds[place].store(row.holds[place].load(Relaxed) + 1, Release);
        let lsn = if kernel::fault::planted("txn.snapshot_too_new") { Lsn(lsn.0 + TOO_NEW) } else { lsn };
        Snapshot { lsn, own: Xid(row.xid.load(Relaxed)), command: 0, place: place as u32 }
    }

    /// Lets a snapshot go. It was taken by this session, in this transaction.
    pub fn release(&self, snapshot: Snapshot) {
        let row = self.mine();
        let Some(holds) = row.holds.get(snapshot.place as usize) else { return };
        let left = holds.load(Relaxed).saturating_sub(1);
        holds.store(left, Release);
        if left == 0 {
            row.snapshots[snapshot.place as usize].store(0, SeqCst);
        }
    }

    /// Lets all of the session's snapshots go.
    pub(super) fn release_snapshots(&self, row: &Row) {
        for (snapshot, holds) in row.snapshots.iter().zip(&row.holds) {
            if snapshot.load(Relaxed) != 0 {
                holds.store(0, Release);
                snapshot.store(0, SeqCst);
            }
        }
    }

    /// Lets all of the session's snapshots go but one: what was executed behind a savepoint is over, however it ended.
    pub fn release_all_but(&self, kept: Option<&Snapshot>) {
        let row = self.mine();
        for (place, (snapshot, holds)) in row.snapshots.iter().zip(&row.holds).enumerate() {
            let is_kept = kept.is_some_and(|kept| kept.place as usize == place);
            holds.store(is_kept.into(), Release);
            if !is_kept {
                snapshot.store(0, SeqCst);
            }
        }
    }

    /// How many snapshots the running session holds.
    pub fn snapshots_held(&self) -> u32 {
        self.mine().holds.iter().map(|holds| holds.load(Relaxed)).sum()
    }
}

fn free_place(row: &Row) -> Option<usize> {
    (0..SNAPSHOTS).find(|&place| row.snapshots[place].load(Relaxed) == 0)
}

fn oldest_place(row: &Row) -> usize {
    let position = |place: &usize| row.snapshots[*place].load(Relaxed);
    (0..SNAPSHOTS).min_by_key(position).expect("a row has places for snapshots")
}
