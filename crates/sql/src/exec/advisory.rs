//! Advisory locks: locks of numbers that clients agreed on, by `pg_advisory_lock` and its relatives.
//!
//! | | one at a time | with others that share it |
//! |---|---|---|
//! | until it is given back, as often as it was taken, or the session ends | `pg_advisory_lock` | `pg_advisory_lock_shared` |
//! | until the transaction ends, or goes back to a savepoint from before | `pg_advisory_xact_lock` | `pg_advisory_xact_lock_shared` |
//!
//! `pg_try_…` does not wait, and says whether it has the lock. They are locks of the lock table like all others: who waits is in
//! `pg_locks`, `lock_timeout` counts, and circles are found.

use super::around::Around;
use crate::types::Datum;
use crate::types::op::Op;
use base::settings::SettingId;
use base::{Error, Result};
use kernel::clock;
use storage::Transactions;
use storage::txn::lock::{LockScope, LockWait};
use storage::txn::{LockKey, LockMode};

const NS_PER_MS: u64 = 1_000_000;

/// What is locked: one number of a database, or two.
fn key(database: u32, args: &[Datum<'_>]) -> LockKey {
    match args {
        [first, second] => LockKey::advisory_pair(database, (first.int() as u32, second.int() as u32)),
        [key, ..] => LockKey::advisory(database, key.int() as u64),
        [] => LockKey::advisory(database, 0),
    }
}

impl Around<'_> {
    /// Answers a function of advisory locks. May wait.
    ///
    /// Errors: `40P01`, `55P03`, `57014`, `53200`; `0A000` outside an engine.
    pub(super) fn advisory(&self, op: Op, args: &[Datum<'_>]) -> Result<Datum<'static>> {
        let relations = self
            .relations
            .filter(|_| self.session.is_some())
            .ok_or_else(|| Error::unsupported("advisory locks are not supported here"))?;
        let transactions = relations.storage().transactions;
        let shared = matches!(
            op,
            Op::AdvisoryLockShared
                | Op::AdvisoryXactLockShared
                | Op::TryAdvisoryLockShared
                | Op::TryAdvisoryXactLockShared
                | Op::AdvisoryUnlockShared
        );
        let mode = if shared { LockMode::Share } else { LockMode::Exclusive };
        let key = key(self.database.0.0, args);
        match op {
            Op::AdvisoryUnlockAll => {
                transactions.unlock_all_advisory();
                Ok(Datum::Bytes(&[]))
            }
            Op::AdvisoryUnlock | Op::AdvisoryUnlockShared => {
                let had = transactions.unlock(key, mode);
                if !had {
                    self.warn(format!("you don't own a lock of type {}", mode.as_str()));
                }
                Ok(Datum::Bool(had))
            }
            Op::AdvisoryLock | Op::AdvisoryLockShared => {
                self.lock_with_timeout(transactions, key, mode, LockScope::Session, true)?;
                Ok(Datum::Bytes(&[]))
            }
            Op::AdvisoryXactLock | Op::AdvisoryXactLockShared => {
                self.lock_with_timeout(transactions, key, mode, LockScope::Transaction, true)?;
                Ok(Datum::Bytes(&[]))
            }
            Op::TryAdvisoryLock | Op::TryAdvisoryLockShared => {
                self.lock_with_timeout(transactions, key, mode, LockScope::Session, false).map(Datum::Bool)
            }
            _ => self.lock_with_timeout(transactions, key, mode, LockScope::Transaction, false).map(Datum::Bool),
        }
    }

    /// Takes a lock for a function; true if it is had.
    pub(super) fn lock_with_timeout(
        &self,
        transactions: &'static Transactions,
        key: LockKey,
        mode: LockMode,
        scope: LockScope,
        waits: bool,
    ) -> Result<bool> {
        let timeout = self.settings.value(SettingId::LockTimeout).number().max(0) as u64 * NS_PER_MS;
        let how = match (waits, timeout) {
            (false, _) => LockWait::Never,
            (true, 0) => LockWait::Forever,
            (true, timeout) => LockWait::Until(clock::now() + timeout),
        };
        if scope == LockScope::Transaction {
            // Also where it is not had: a wait that is broken off may have been granted.
            self.locks.set(true);
        }
        transactions.lock(key, mode, scope, how)
    }
}
