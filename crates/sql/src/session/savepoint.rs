//! Savepoints of a session's transaction: what `SAVEPOINT`, `RELEASE` and `ROLLBACK TO` do.
//!
//! ```text
//!   SAVEPOINT a      a level begins: the storage's, and notes of what else a rollback takes back
//!   RELEASE a        a, and the levels in it, end; what they did is the level's around a
//!   ROLLBACK TO a    the levels in a end; what was done since a is taken back; a goes on
//!   an error         what was done since the innermost savepoint is taken back at once; the block is failed until ROLLBACK TO
//! ```
//!
//! | taken back | how |
//! |---|---|
//! | rows, files, locks | [`storage::txn::nested`] |
//! | settings | what `SET` noted since ([`super::settings`]) |
//! | portals that were made since | they go |
//! | definitions | they are rows |
//!
//! Rules
//! 1. Names may repeat: a name is that of its newest level.
//! 2. A transaction without a savepoint pays nothing for them.

use super::{Environment, Session, Text, text_in};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};
use storage::Savepoint;

/// A savepoint that is open.
pub(crate) struct Level<A: Allocator + Copy> {
    name: Text<A>,
    /// The storage's side; none outside an engine.
    storage: Option<Savepoint>,
    /// How many changes of settings the transaction had noted.
    settings: usize,
    /// The savepoint's number in the session.
    number: u64,
    read_only: Option<bool>,
}

impl<A: Allocator + Copy> Session<A> {
    /// Begins a level.
    pub(crate) fn begin_level(&mut self, env: &Environment<'_>, name: &str) -> Result<()> {
        let name = text_in(name, self.memory)?;
        self.levels.try_reserve(1).map_err(|_| Error::out_of_memory("savepoints", size_of::<Level<A>>()))?;
        self.savepoints += 1;
        // From here on an error would leave the storage with a level more than the session has.
        self.work.begun = true;
        let storage = env.relations().map(|relations| relations.storage().transactions.savepoint());
        let (settings, number) = (self.settings.noted(), self.savepoints);
        self.levels.push(Level { name, storage, settings, number, read_only: self.transaction.read_only() });
        Ok(())
    }

    fn level_named(&self, name: &str) -> Result<usize> {
        self.levels.iter().rposition(|level| level.name.as_slice() == name.as_bytes()).ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            Error::statement(sqlstate::INVALID_SAVEPOINT_SPECIFICATION, message)
        })
    }

    /// Ends the levels from `first` on, and keeps what was done in them.
    fn end_levels(&mut self, env: &Environment<'_>, first: usize) {
        while self.levels.len() > first {
            let level = self.levels.pop();
            if let (Some(relations), Some(savepoint)) = (env.relations(), level.and_then(|level| level.storage)) {
                relations.storage().transactions.release_savepoint(&savepoint);
            }
        }
    }

    /// `RELEASE`. Errors: `3B001`.
    pub(crate) fn release_level(&mut self, env: &Environment<'_>, name: &str) -> Result<()> {
        let at = self.level_named(name)?;
        self.end_levels(env, at);
        Ok(())
    }

    /// `ROLLBACK TO`: also ends the failure of a transaction. Errors: `3B001`.
    pub(crate) fn roll_back_to_level(&mut self, env: &Environment<'_>, name: &str) -> Result<()> {
        let at = self.level_named(name)?;
        self.end_levels(env, at + 1);
        self.take_back_innermost(env);
        let (noted, read_only) = (self.levels[at].settings, self.levels[at].read_only);
        for id in self.settings.roll_back_to(noted).iter() {
            self.note_report(id);
        }
        self.transaction.go_on(read_only);
        Ok(())
    }

    /// Takes back what the storage has of the innermost level, and the portals that were made in it. False if there is no level.
    pub(crate) fn take_back_innermost(&mut self, env: &Environment<'_>) -> bool {
        let Some(level) = self.levels.last() else { return false };
        let number = level.number;
        if let (Some(relations), Some(savepoint)) = (env.relations(), &level.storage) {
            relations.roll_back_to(savepoint);
        }
        // Locks are gone, and so may be the definitions that plans were made for.
        self.work_number += 1;
        self.drop_portals_since(number);
        true
    }
}
