//! What stands between a writer and a version, and what is done about it: waiting in turn, following to the newest version.
//!
//! ```text
//!   latch, look ---- nothing in the way ----> change it
//!     ^   |  \------ ended by who committed -----> REPEATABLE READ: 40001
//!     |   |                 |                      READ COMMITTED: follow, lock the newest version, answer Changed
//!     |   | somebody runs   \--- no next version: Gone
//!     |   v
//!     \-- release; take the row's place in the queue; wait for the transaction
//! ```
//!
//! Rules
//! 1. Whoever waits first takes the object lock of the row's identity ([`LockKey::row`] of the chain's root), and keeps it until it has
//!    changed or locked the row or given up: so a row is handed over in the order of arrival.
//! 2. Nothing is latched, pinned or reserved over a wait.
//! 3. A `next` counts only if the version there was made by who ended this one: the slot may be another row's by now.

use super::lock::RowWait;
use super::{Heap, Isolation, Writer, root_of, view};
use crate::page::heap::row::HOT_UPDATED;
use crate::page::heap::{HeapPage, Version};
use crate::page::{PageBytes, Tid, header};
use crate::txn::lock::{LockScope, LockWait};
use crate::txn::{Claim, LockKey, LockMode, Strength, Transactions};
use base::{Error, Kind, RelId, Result, Xid, sqlstate};
use kernel::clock::Nanos;

/// What came of an update, a delete or a lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Done. The version's place: of the new one after an update, of the old one otherwise.
    Done {
        /// Where.
        tid: Tid,
        /// True if indexes need no entry for it: always, but after an update that was not hot.
        hot: bool,
    },
    /// Somebody else has changed the row since the snapshot. This is its newest version, which is locked for the running transaction
    /// as strongly as was asked for: the caller tests its condition on it and comes again with this place, or leaves it.
    Changed {
        /// Where the newest version is.
        tid: Tid,
        /// Its bytes.
        row: Vec<u8>,
    },
    /// There is no such row any more.
    Gone,
    /// The own transaction has ended the version already, in that command.
    Own(u32),
    /// Somebody has the row, and the caller did not want to wait.
    Busy,
}

/// What a look at a latched version says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Nothing is in the way.
    Free,
    /// A transaction that runs.
    Wait(Xid),
    /// The own transaction has ended it, in that command.
    Own(u32),
    /// A transaction has ended it and committed; the next version, if there is one.
    Ended(Xid, Option<Tid>),
    /// There is no version, or none that a writer could mean.
    Gone,
}

/// A place in the queue for a row; given up when dropped.
pub(super) struct Queue {
    transactions: &'static Transactions,
    key: Option<LockKey>,
}

impl Queue {
    pub(super) fn new(transactions: &'static Transactions) -> Queue {
        Queue { transactions, key: None }
    }

    /// Takes the place, waiting for those who were first. Errors: `40P01`, `57014`, `55P03`.
    fn enter(&mut self, rel: RelId, identity: Tid, deadline: Option<Nanos>) -> Result<()> {
        let key = LockKey::row(rel, identity);
        if self.key == Some(key) {
            return Ok(());
        }
        self.leave();
        let how = deadline.map_or(LockWait::Forever, LockWait::Until);
        self.transactions.lock(key, LockMode::Exclusive, LockScope::Session, how)?;
        self.key = Some(key);
        Ok(())
    }

    fn leave(&mut self) {
        if let Some(key) = self.key.take() {
            self.transactions.unlock(key, LockMode::Exclusive);
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The error of a transaction that sees one state for its whole life.
fn serialization_failure(deleted: bool) -> Error {
    let what = if deleted { "delete" } else { "update" };
    Error::new(
        Kind::Retry,
        sqlstate::SERIALIZATION_FAILURE,
        format!("could not serialize access due to concurrent {what}"),
    )
}

impl Heap {
    /// What stands between the writer and a version of a page that is latched alone. `leaves` says that the change takes the row out
    /// of its chain (rule 4 of [`super`]).
    pub(super) fn verdict(
        &self,
        page: &PageBytes,
        slot: u16,
        writer: &Writer<'_>,
        strength: Strength,
        leaves: bool,
    ) -> Verdict {
        let transactions = self.relations.transactions;
        let heap = HeapPage::new(page);
        let Some(version) = heap.version(slot) else { return Verdict::Gone };
        let own = transactions.current_xid().unwrap_or(Xid(0));
        match transactions.claim(&version, writer.snapshot, own, writer.pairs.pairs()) {
            Claim::Free => {}
            Claim::Invisible => return Verdict::Gone,
            Claim::Own(command) => return Verdict::Own(command),
            Claim::Ended { xid, updated, .. } => return Verdict::Ended(xid, updated.then(|| version.next())),
            Claim::Busy { .. } if kernel::fault::planted("lock.freed_early") => return Verdict::Free,
            Claim::Busy { xid, keys } => {
                let held = if keys { Strength::Update } else { Strength::NoKeyUpdate };
                // A lock that goes with the update must hold for the new version too: it does where they share the identity.
                if held.conflicts_with(strength) || !version.has(HOT_UPDATED) {
                    return Verdict::Wait(xid);
                }
                if let Some(xid) = self.held_further_on(page, heap, &version, strength) {
                    return Verdict::Wait(xid);
                }
            }
        }
        let word = heap.lock(slot, self.relations.wal.epoch());
        if word == 0 {
            return Verdict::Free;
        }
        // Every strength is in the way of the strongest.
        let wanted = if leaves { Strength::Update } else { strength };
        match transactions.row_lock_conflict(word, self.rel, identity(page, slot), wanted) {
            Some(xid) => Verdict::Wait(xid),
            None => Verdict::Free,
        }
    }

    /// Who has what follows a version in its chain in a way that is in the way of a lock, though it has updated the version in one that is
    /// not: a transaction that updates a row may delete it then, or lock it more strongly, which its newest version alone tells.
    fn held_further_on(
        &self,
        page: &PageBytes,
        heap: HeapPage<'_>,
        version: &Version<'_>,
        strength: Strength,
    ) -> Option<Xid> {
        let transactions = self.relations.transactions;
        let mut at = heap.chain_next(version);
        for _ in 0..=heap.slot_count() {
            let (slot, version) = at?;
            if let Some((xid, keys)) = transactions.ends(&version) {
                let held = if keys { Strength::Update } else { Strength::NoKeyUpdate };
                if held.conflicts_with(strength) || !version.has(HOT_UPDATED) {
                    return Some(xid);
                }
            }
            let word = heap.lock(slot, self.relations.wal.epoch());
            if word != 0
                && let Some(xid) = transactions.row_lock_conflict(word, self.rel, identity(page, slot), strength)
            {
                return Some(xid);
            }
            at = heap.chain_next(&version);
        }
        None
    }

    /// Waits in turn until a transaction that has the row has ended. Nothing is latched, pinned or reserved.
    ///
    /// Errors: `40P01`, `57014`, `55P03`.
    pub(super) fn wait_in_turn(&self, queue: &mut Queue, identity: Tid, xid: Xid, writer: &Writer<'_>) -> Result<()> {
        queue.enter(self.rel, identity, writer.deadline)?;
        self.relations.transactions.wait_for(xid, writer.deadline)?;
        Ok(())
    }

    /// The row's version was ended by a transaction that committed, and the next one is at `next.1`: fails, or locks the newest version
    /// and answers it.
    pub(super) fn superseded(
        &self,
        writer: &Writer<'_>,
        next: (Xid, Option<Tid>),
        strength: Strength,
        wait: RowWait,
        queue: &mut Queue,
    ) -> Result<Outcome> {
        let (mut maker, mut next) = next;
        if writer.isolation == Isolation::RepeatableRead {
            return Err(serialization_failure(next.is_none()));
        }
        while let Some(tid) = next {
            kernel::session::check_interrupts()?;
            let pinned = self.relations.pool.pin(self.page_of(tid))?;
            let mut page = pinned.write();
            let Some(heap) = view(&page)? else { return Ok(Outcome::Gone) };
            // Rule 3.
            if heap.version(tid.slot).is_none_or(|version| version.xmin() != maker) {
                return Ok(Outcome::Gone);
            }
            match self.verdict(&page, tid.slot, writer, strength, false) {
                Verdict::Free => {
                    let row = heap.version(tid.slot).map_or_else(Vec::new, |version| version.row().to_vec());
                    self.mark_locked(&mut page, tid, strength)?;
                    return Ok(Outcome::Changed { tid, row });
                }
                Verdict::Wait(_) if wait == RowWait::Never => return Ok(Outcome::Busy),
                Verdict::Wait(xid) => {
                    let identity = identity(&page, tid.slot);
                    drop(page);
                    drop(pinned);
                    self.wait_in_turn(queue, identity, xid, writer)?;
                }
                Verdict::Ended(xid, after) => (maker, next) = (xid, after),
                Verdict::Own(command) => return Ok(Outcome::Own(command)),
                Verdict::Gone => return Ok(Outcome::Gone),
            }
        }
        Ok(Outcome::Gone)
    }
}

/// The identity that a version's locks go by.
pub(super) fn identity(page: &PageBytes, slot: u16) -> Tid {
    Tid::new(header::page_id(page).block, root_of(HeapPage::new(page), slot))
}
