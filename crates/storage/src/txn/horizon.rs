//! The horizon: what no snapshot needs any more, now or later.
//!
//! Two numbers. The *position*: every snapshot that is held, or will be taken, is at or after it. The *transaction*: everyone
//! below it has finished, and those of them that committed did so at or before every snapshot. The first lets a version with a known
//! commit number go, the second one with a known transaction, without a look at the map.
//!
//! Both come from a walk over all rows of the registry, so they are kept and renewed now and then: by time when asked for
//! ([`Transactions::horizon`]), and every so many commits. An old horizon is as true as a new one, only less useful.
//!
//! The transaction follows from the position: when nobody below X runs, everyone below X has aborted, or committed before E, which is the
//! log's durable end, since a session leaves the registry when its commit is durable, or the newest commit that was not waited for. As
//! soon as the position has reached E, X is the horizon's transaction.

use super::{Status, Transactions};
use base::{Lsn, Xid};
use kernel::clock;
use kernel::sync::Spin;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// How old a horizon may be before who asks renews it.
const AGE_MAX_NS: u64 = 10_000_000;
/// The same for who could do something with a newer one.
const AGE_MIN_NS: u64 = 1_000_000;
/// A commit whose id divides by this renews the horizon, so that it moves under load without anybody looking at a clock.
pub(super) const EVERY: u64 = 64;

kernel::shared! {
    /// A pair to become the horizon's transaction: the id, once the position has reached the end.
    struct Pending {
        xid: u64,
        end: u64,
    }

    /// The horizon as it was last computed.
    pub(super) struct HorizonShared {
        lsn: AtomicU64,
        xid: AtomicU64,
        renewed_at: AtomicU64,
        /// The end of the newest commit that nobody waited for.
        pub(super) asynchronous: AtomicU64,
        pending: Spin<Pending>,
    }
}

/// What no snapshot needs any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Horizon {
    /// Every snapshot, now and later, is at or after this position.
    pub lsn: Lsn,
    /// Every transaction below this has finished, and committed, if it did, at or before every snapshot.
    pub xid: Xid,
}

impl Transactions {
    /// The horizon as it was last computed. Two loads.
    #[inline]
    pub fn horizon_cached(&self) -> Horizon {
        // The transaction first: it follows from a position that was published before it.
        let xid = Xid(self.horizon.xid.load(Acquire));
        Horizon { lsn: Lsn(self.horizon.lsn.load(Acquire)), xid }
    }

    /// The horizon, not older than a few milliseconds.
    pub fn horizon(&self) -> Horizon {
        self.renew_if_older(AGE_MAX_NS);
        self.horizon_cached()
    }

    /// The horizon, newer if that may bring it beyond `xid`.
    #[inline]
    pub fn horizon_beyond(&self, xid: Xid) -> Horizon {
        let known = self.horizon_cached();
        if known.xid > xid {
            return known;
        }
        self.renew_if_older(AGE_MIN_NS);
        self.horizon_cached()
    }

    /// True if a transaction has finished, and nobody needs what it ended: the horizon's transaction is beyond it, or its commit is
    /// before the horizon's position, which runs ahead of that.
    #[inline]
    pub fn is_past(&self, xid: Xid) -> bool {
        let horizon = self.horizon_beyond(xid);
        horizon.xid > xid
            || match self.status(xid) {
                Status::Committed(at) => at <= horizon.lsn,
                Status::Aborted | Status::Ancient => true,
                Status::Running => false,
            }
    }

    fn renew_if_older(&self, age_ns: u64) {
        let now = clock::now();
        let renewed_at = self.horizon.renewed_at.load(Relaxed);
        if now.saturating_sub(renewed_at) >= age_ns
            && self.horizon.renewed_at.compare_exchange(renewed_at, now, Relaxed, Relaxed).is_ok()
        {
            self.renew_horizon();
        }
    }

    /// Computes the horizon anew.
    pub fn renew_horizon(&self) -> Horizon {
        // In this order: everyone below `running` has left the registry by now, so their commits end at or before `end`; and a
        // snapshot that is not in a row yet will be at or after `visible` (see snapshot, rule 1).
        let running = self.oldest_running();
        let asynchronous = Lsn(self.horizon.asynchronous.load(SeqCst));
        let visible = self.wal.visible();
        let end = visible.max(asynchronous);
        let held = self.reached().iter().filter_map(|row| row.oldest_snapshot()).min();
        let position = held.map_or(visible, |held| held.min(visible));
        let horizon = self.horizon;
        let position = horizon.lsn.fetch_max(position.0, AcqRel).max(position.0);
        let mut pending = horizon.pending.lock();
        if pending.end != 0 && position >= pending.end {
            horizon.xid.fetch_max(pending.xid, AcqRel);
            pending.end = 0;
        }
        if position >= end.0 {
            horizon.xid.fetch_max(running.0, AcqRel);
            pending.end = 0;
        } else if pending.end == 0 {
            pending.xid = running.0;
            pending.end = end.0;
        }
        drop(pending);
        self.horizon_cached()
    }

    /// Lets the map forget what the horizon says nobody asks about. Answers how many segments were compressed.
    ///
    /// Errors: `53200`.
    pub fn truncate_map(&self) -> base::Result<u32> {
        self.map.compress(self.renew_horizon().xid)
    }

    /// Says that no page has a version of an aborted transaction below `xid`. Vacuum's, after it has been over all tables with a
    /// horizon of at least that.
    pub fn forget_aborted(&self, xid: Xid) -> u32 {
        self.map.forget_aborted(xid)
    }
}
