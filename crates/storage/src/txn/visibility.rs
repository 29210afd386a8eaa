//! What a version is to a snapshot, to a writer, and to a prune.
//!
//! | question | asked by | function |
//! |---|---|---|
//! | does the snapshot see it? | readers | [`Transactions::visible`] |
//! | may I change or lock it? | writers | [`Transactions::claim`] |
//! | can anybody see it, now or later? | prune, vacuum | [`Transactions::fate`] |
//!
//! Hints: the version's flags may already say what became of its transactions. A commit is hinted only when it is before the horizon,
//! so a hinted commit is visible to every snapshot, and a version with hints is judged without a look at the map. An abort may
//! be hinted at once. What a reader may hint it is told ([`Seen::hints`]); setting it takes a latch held shared.
//!
//! Rules
//! 1. A version is visible if its maker is (committed at or before the snapshot, or the own transaction, or a child
//!    of it, in an earlier command) and its
//!    ender is not.
//! 2. A transaction that is committed in the map and beyond the snapshot is as invisible as a running one.
//! 3. Flags are loaded once; a version that is being looked at does not change but for hints.

use super::{Horizon, Snapshot, Status, Transactions};
use crate::page::heap::row::{
    COMMAND_COMBO, KEYS_UPDATED, UPDATED, XMAX_ABORTED, XMAX_COMMITTED, XMIN_ABORTED, XMIN_COMMITTED,
};
use crate::page::heap::{Fate, Version};
use base::Xid;

/// What a snapshot makes of a version, and what may be noted in the version's flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// The snapshot sees it.
    pub visible: bool,
    /// Hints to set, if any.
    pub hints: u16,
}

/// What stands between a writer and a version that its snapshot sees or saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// Nothing, as far as the version itself says: no `xmax`, or one that aborted. Row lockers may still stand in the way.
    Free,
    /// Its maker is not visible: a version that the writer cannot have found by its snapshot.
    Invisible,
    /// The own transaction has ended it already, in that command.
    Own(u32),
    /// A running transaction is about to end it; `keys` says whether it takes the key too.
    Busy {
        /// Who.
        xid: Xid,
        /// True if it deletes the row or changes its key.
        keys: bool,
    },
    /// A transaction has ended it and committed.
    Ended {
        /// Who.
        xid: Xid,
        /// True if there is a next version, false if the row is deleted.
        updated: bool,
        /// True if the commit is within the snapshot: then the version was not visible in the first place.
        seen: bool,
    },
}

/// The commands of a transaction that both made and ended versions: pairs that a version's command number leads to.
pub type Combos<'a> = &'a [(u32, u32)];

/// The commands that made and ended a version, as far as its own transaction wants to know.
fn commands(version: &Version<'_>, flags: u16, combos: Combos<'_>) -> (u32, u32) {
    let command = version.command();
    if flags & COMMAND_COMBO != 0 {
        return combos.get(command as usize).copied().unwrap_or((0, 0));
    }
    (command, command)
}

impl Transactions {
    /// The command of the transaction `own` that made a version; none if another transaction made it.
    pub fn own_command(&self, version: &Version<'_>, own: Xid, combos: Combos<'_>) -> Option<u32> {
        self.is_own(version.xmin(), own).then(|| commands(version, version.flags(), combos).0)
    }

    /// True, with what may be hinted, if the transaction's effects are within the snapshot.
    #[inline]
    fn within(&self, xid: Xid, snapshot: &Snapshot, committed: u16, aborted: u16) -> (bool, u16) {
        match self.status(xid) {
            Status::Running => (false, 0),
            Status::Aborted => (false, aborted),
            Status::Ancient => (true, committed),
            Status::Committed(at) => {
                let hint = if at <= self.horizon_cached().lsn { committed } else { 0 };
                (at <= snapshot.lsn, hint)
            }
        }
    }

    /// Whether the snapshot sees the version.
    #[inline]
    pub fn visible(&self, version: &Version<'_>, snapshot: &Snapshot, combos: Combos<'_>) -> Seen {
        let flags = version.flags();
        let mut hints = 0;
        if flags & XMIN_COMMITTED == 0 {
            if flags & XMIN_ABORTED != 0 {
                return Seen { visible: false, hints };
            }
            let xmin = version.xmin();
            if self.is_own(xmin, snapshot.own) {
                let (made, ended) = commands(version, flags, combos);
                let own_end = self.is_own(version.xmax(), snapshot.own);
                let visible = made < snapshot.command && !(own_end && ended < snapshot.command);
                // Somebody else cannot have ended a version that nobody else sees.
                return Seen { visible, hints };
            }
            let (within, hint) = self.within(xmin, snapshot, XMIN_COMMITTED, XMIN_ABORTED);
            hints |= hint;
            if !within {
                return Seen { visible: false, hints };
            }
        }
        let xmax = version.xmax();
        if xmax.0 == 0 || flags & XMAX_ABORTED != 0 {
            return Seen { visible: true, hints };
        }
        if flags & XMAX_COMMITTED != 0 {
            return Seen { visible: false, hints };
        }
        if self.is_own(xmax, snapshot.own) {
            let (_, ended) = commands(version, flags, combos);
            return Seen { visible: ended >= snapshot.command, hints };
        }
        let (within, hint) = self.within(xmax, snapshot, XMAX_COMMITTED, XMAX_ABORTED);
        Seen { visible: !within, hints: hints | hint }
    }

    /// What stands between the running session's transaction and a change of the version. `own` is the transaction's id, or zero. The page
    /// is latched; the answer holds until the latch is let go.
    pub fn claim(&self, version: &Version<'_>, snapshot: &Snapshot, own: Xid, combos: Combos<'_>) -> Claim {
        let flags = version.flags();
        if flags & XMIN_COMMITTED == 0 {
            let xmin = version.xmin();
            let made = if flags & XMIN_ABORTED != 0 {
                false
            } else if self.is_own(xmin, own) {
                commands(version, flags, combos).0 < snapshot.command
            } else {
                // Not only within the snapshot: a writer that has waited follows to versions that are newer.
                matches!(self.status(xmin), Status::Committed(_) | Status::Ancient)
            };
            if !made {
                return Claim::Invisible;
            }
        }
        let xmax = version.xmax();
        if xmax.0 == 0 || flags & XMAX_ABORTED != 0 {
            return Claim::Free;
        }
        if self.is_own(xmax, own) {
            return Claim::Own(commands(version, flags, combos).1);
        }
        let updated = flags & UPDATED != 0;
        if flags & XMAX_COMMITTED != 0 {
            return Claim::Ended { xid: xmax, updated, seen: true };
        }
        match self.status(xmax) {
            Status::Aborted => Claim::Free,
            Status::Ancient => Claim::Ended { xid: xmax, updated, seen: true },
            // Until it is durable nobody may act on it: who waits for it leads or follows its flush.
            Status::Committed(at) if at <= self.wal.durable() => {
                Claim::Ended { xid: xmax, updated, seen: at <= snapshot.lsn }
            }
            Status::Running | Status::Committed(_) => {
                Claim::Busy { xid: xmax, keys: !updated || flags & KEYS_UPDATED != 0 }
            }
        }
    }

    /// The running transaction that has ended a version, whoever made that, and whether it has deleted the row or changed its keys.
    pub fn ends(&self, version: &Version<'_>) -> Option<(Xid, bool)> {
        let (flags, xmax) = (version.flags(), version.xmax());
        if xmax.0 == 0 || flags & (XMAX_ABORTED | XMAX_COMMITTED) != 0 {
            return None;
        }
        let runs = matches!(self.status(xmax), Status::Running | Status::Committed(_));
        runs.then_some((xmax, flags & UPDATED == 0 || flags & KEYS_UPDATED != 0))
    }

    /// Whether anybody can see the version, now or later: the judge of [`crate::page::heap::HeapPage::prune`].
    pub fn fate(&self, version: &Version<'_>, horizon: Horizon) -> Fate {
        let flags = version.flags();
        let mut visible_to_all = flags & XMIN_COMMITTED != 0;
        if !visible_to_all {
            if flags & XMIN_ABORTED != 0 {
                return Fate::Aborted;
            }
            visible_to_all = match self.status(version.xmin()) {
                Status::Aborted => return Fate::Aborted,
                Status::Running => return Fate::Keep,
                Status::Ancient => true,
                Status::Committed(at) => at <= horizon.lsn,
            };
        }
        let xmax = version.xmax();
        let ended = if xmax.0 == 0 || flags & XMAX_ABORTED != 0 {
            Status::Aborted
        } else if flags & XMAX_COMMITTED != 0 {
            Status::Ancient
        } else {
            self.status(xmax)
        };
        match ended {
            Status::Aborted if visible_to_all => Fate::Visible,
            Status::Ancient => Fate::Dead,
            Status::Committed(at) if at <= horizon.lsn => Fate::Dead,
            _ => Fate::Keep,
        }
    }
}
