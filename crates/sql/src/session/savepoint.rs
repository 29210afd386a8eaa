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
//! | notifications | they are not sent ([`crate::notification`]) |
//! | settings | what `SET` noted since ([`super::settings`]) |
//! | checks that wait for the transaction's end | what was noted or made since ([`super::deferred`]) |
//! | portals that were made since | an error leaves them unusable, and they go with `ROLLBACK TO` |
//! | definitions | they are rows |
//!
//! Rules
//! 1. Names may repeat: a name is that of its newest level.
//! 2. A transaction without a savepoint pays nothing for them.

use super::deferred::Mark;
use super::prepared::{Body, Plans, Portal, Progress};
use super::{Environment, Named, NoData, Session, Text, text_in};
use crate::notification::pending::Asked;
use crate::plan::{Plan, flags};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, Xid, sqlstate};
use storage::Savepoint;

/// A savepoint that is open.
pub(crate) struct Level<A: Allocator + Copy> {
    name: Text<A>,
    /// The storage's side; none outside an engine.
    storage: Option<Savepoint>,
    /// How many changes of settings the transaction had noted.
    settings: usize,
    /// What waited for its end.
    deferred: Mark<A>,
    /// What it had asked for of notifications.
    notices: Asked,
    /// The savepoint's number in the session.
    number: u64,
    read_only: bool,
}

impl<A: Allocator + Copy> Level<A> {
    /// The savepoint's number in the session.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

impl<A: Allocator + Copy> Session<A> {
    /// Begins a level.
    pub(crate) fn begin_level(&mut self, env: &Environment<'_>, name: &str) -> Result<()> {
        if self.nested == 0 {
            self.begin_cursors(env)?;
        }
        self.push_level(env, name)
    }

    fn push_level(&mut self, env: &Environment<'_>, name: &str) -> Result<()> {
        let name = text_in(name, self.memory)?;
        self.levels.try_reserve(1).map_err(|_| Error::out_of_memory("savepoints", size_of::<Level<A>>()))?;
        let deferred = self.deferred.mark()?;
        self.savepoints += 1;
        // From here on an error would leave the storage with a level more than the session has.
        self.work.begun = true;
        let storage = env.relations().map(|relations| relations.storage().transactions.savepoint());
        let (settings, notices, number) = (self.settings.noted(), self.notices.asked(), self.savepoints);
        let modes = {
            let view = self.view(env);
            (self.transaction.shown_isolation(&view), self.transaction.shown_read_only(&view))
        };
        self.transaction.begin_level(modes.0, modes.1);
        self.levels.push(Level { name, storage, settings, deferred, notices, number, read_only: modes.1 });
        Ok(())
    }

    /// Cursors that have not begun have the rows of now: later they would see what is done behind the savepoint, and keep it when that is
    /// taken back. One that cannot be executed is left to whoever asks for its rows: what functions in it have done is taken back.
    fn begin_cursors(&mut self, env: &Environment<'_>) -> Result<()> {
        let is_new = |portal: &Portal<A>| matches!((&portal.progress, portal.body), (Progress::New, Body::Plan(_)));
        let reads = |portal: &Portal<A>, plans: &Plans<A>| match portal.body {
            Body::Plan(id) => {
                Plan::new(plans.bytes(id)).is_some_and(|plan| plan.has(flags::RETURNS_ROWS) && !plan.has(flags::WRITES))
            }
            Body::Call(_) | Body::Utility | Body::Within(_) | Body::Control(_) | Body::Empty => false,
        };
        let calls = |portal: &Portal<A>, plans: &Plans<A>| {
            let plan = portal.body.plan().and_then(|id| Plan::new(plans.bytes(id)));
            plan.is_some_and(|plan| plan.has(flags::CALLS))
        };
        let new = self.portals.iter().filter(|(_, portal)| is_new(portal) && reads(portal, &self.plans));
        let new = new.map(|(name, portal)| (String::from_utf8_lossy(name).into_owned(), calls(portal, &self.plans)));
        let names: Vec<(String, bool)> = new.collect();
        for (name, calls) in names {
            let level = self.levels.len();
            if calls {
                self.push_level(env, "")?;
            }
            match self.run_portal(env, &name, 0, &mut NoData::default()) {
                Ok(_) => self.end_levels(env, level),
                Err(error) if error.sqlstate() == sqlstate::QUERY_CANCELED => return Err(error),
                Err(_) => {
                    if calls {
                        self.undo_own_level(env, level);
                    }
                    self.begin_again(&name);
                    if let Some(relations) = env.relations() {
                        relations.storage().transactions.release_all_but(self.work.snapshot());
                    }
                }
            }
        }
        Ok(())
    }

    fn begin_again(&mut self, name: &str) {
        if let Some(portal) = self.portals.get_mut(&Named(name.as_bytes())) {
            portal.progress = Progress::New;
        }
    }

    /// True if that id made something at the present level, or at one in it that was released.
    pub(crate) fn is_made_here(&self, env: &Environment<'_>, xid: Xid) -> Result<bool> {
        let innermost = self.levels.last().and_then(|level| level.storage);
        let is_behind = innermost.is_none_or(|savepoint| savepoint.covers(xid));
        Ok(is_behind && env.stored()?.storage().transactions.is_mine(xid))
    }

    fn level_named(&self, name: &str) -> Result<usize> {
        self.levels.iter().rposition(|level| level.name.as_slice() == name.as_bytes()).ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            Error::statement(sqlstate::INVALID_SAVEPOINT_SPECIFICATION, message)
        })
    }

    /// Ends the levels from `first` on, and keeps what was done in them.
    pub(crate) fn end_levels(&mut self, env: &Environment<'_>, first: usize) {
        while self.levels.len() > first {
            let level = self.levels.pop();
            // As in PostgreSQL, the access mode is the outer level's again, also after RELEASE.
            self.transaction.end_level(level.as_ref().is_some_and(|level| level.read_only));
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

    /// Begins a level that has no name; answers how many there were. It is to be kept or undone before its statement ends.
    pub(crate) fn begin_own_level(&mut self, env: &Environment<'_>) -> Result<usize> {
        let levels = self.levels.len();
        self.begin_level(env, "")?;
        Ok(levels)
    }

    /// Ends such a level, and keeps what was done in it.
    pub(crate) fn keep_own_level(&mut self, env: &Environment<'_>, level: usize) {
        self.end_levels(env, level);
    }

    /// Ends such a level, and takes back what was done in it.
    pub(crate) fn undo_own_level(&mut self, env: &Environment<'_>, level: usize) {
        self.end_levels(env, level + 1);
        self.drop_portals_of_innermost();
        self.take_back_innermost(env);
        let noted = self.levels.get(level).map(|level| level.settings);
        if let Some(noted) = noted {
            let changed = self.settings.roll_back_to(noted);
            self.settings_changed(env, changed);
        }
        self.end_levels(env, level);
    }

    /// `ROLLBACK TO`: also ends the failure of a transaction. Errors: `3B001`.
    pub(crate) fn roll_back_to_level(&mut self, env: &Environment<'_>, name: &str) -> Result<()> {
        let at = self.level_named(name)?;
        self.end_levels(env, at + 1);
        self.drop_portals_of_innermost();
        self.take_back_innermost(env);
        let (noted, read_only) = (self.levels[at].settings, self.levels[at].read_only);
        let changed = self.settings.roll_back_to(noted);
        self.settings_changed(env, changed);
        self.transaction.go_on(read_only);
        Ok(())
    }

    fn drop_portals_of_innermost(&mut self) {
        if let Some(number) = self.levels.last().map(Level::number) {
            self.drop_portals_since(number);
        }
    }

    /// Takes back what was done in the innermost level, but for the portals that were made in it. False if there is no level.
    pub(crate) fn take_back_innermost(&mut self, env: &Environment<'_>) -> bool {
        let Some(level) = self.levels.last() else { return false };
        let (number, notices) = (level.number, level.notices);
        self.deferred.take_back(&level.deferred, number);
        if let (Some(relations), Some(savepoint)) = (env.relations(), &level.storage) {
            relations.roll_back_to(savepoint);
            // What failed behind it has left its snapshots; but not those of the statements that a function is called in.
            if self.nested == 0 {
                relations.storage().transactions.release_all_but(self.work.snapshot());
            }
        }
        // Locks are gone, and so may be the definitions that plans were made for.
        self.work_number += 1;
        self.notices.take_back(notices);
        true
    }
}
