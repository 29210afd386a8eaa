//! Statistics of tables that have changed, gathered in the background.
//!
//! ```text
//!  each round: a table with more changes than a threshold and a share of its rows --- nobody has it locked ---> a look ---> written down
//!                                                               \- else: next time                            \- somebody waits for it:
//!                                                                                                                 the look is given up
//! ```
//!
//! Rules
//! 1. It waits for no lock, and gives its own up when somebody waits for it: at the next page of the sample, or the next few hundred values
//!    that are sorted.
//! 2. Tables of sessions (`CREATE TEMPORARY TABLE`) and the system's own are left alone.
//! 3. An error, or a cancel by `pg_cancel_backend`, ends the look at one table; the round goes on with the next one.
//! 4. Tables that change all the time are due in every round. A round is followed by fifty times as long a rest, but by no more than six naps,
//!    which at the defaults are PostgreSQL's minute.

use super::Found;
use crate::catalog::definition::{RelationKind, Rows, TableDef};
use crate::catalog::system::cluster::SUPERUSER;
use crate::session::{Database, Environment, Session};
use crate::types::Oid;
use allocator_api2::alloc::Global;
use base::{Error, RelId, Result, sqlstate};
use kernel::clock::{self, Nanos};
use kernel::session::{self, Interrupt};
use kernel::wait::{self, Event, Woken};
use std::cell::Cell;
use storage::txn::{LockKey, LockMode};

/// How often it breathes between two rests, and between two looks at who waits for the table.
const REST_EVERY: u32 = 128;
const WANTED_EVERY: u32 = 8;

/// A round rests so many times as long as it took, but no longer than so many naps.
const REST_SHARE: Nanos = 50;
const NAPS_MAX: Nanos = 6;

/// When a table is due, and how it is looked at.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// False: nothing is done (`autovacuum`).
    pub enabled: bool,
    /// The shortest pause between two rounds (`autovacuum_naptime`).
    pub nap_ns: Nanos,
    /// So many changes (`autovacuum_analyze_threshold`) …
    pub threshold: u64,
    /// … and this share of the rows (`autovacuum_analyze_scale_factor`).
    pub scale_factor: f64,
    /// How long to rest every 128 pages.
    pub rest_ns: Nanos,
}

/// A table that is due, of whichever database.
struct Due {
    database: Oid,
    database_name: String,
    oid: Oid,
    rows: RelId,
}

impl Database {
    /// The background task: analyzes what is due, again and again, until the server stops. `settings` is asked every round.
    pub fn run_analyzer(&self, env: &Environment<'_>, mut settings: impl FnMut() -> Settings) {
        storage::vacuum::in_rounds("analysis", || {
            let (settings, began) = (settings(), clock::now());
            let done = if settings.enabled { self.analyze_round(env, &settings).map(drop) } else { Ok(()) };
            (done, nap_after(clock::now() - began, settings.nap_ns))
        });
    }

    /// One round over all tables of all databases. Answers how many were analyzed.
    fn analyze_round(&self, env: &Environment<'_>, settings: &Settings) -> Result<u32> {
        let mut done = 0;
        for due in self.due(env, settings)? {
            if session::stopping() {
                break;
            }
            session::forget_interrupts();
            let database = (due.database, due.database_name.as_str());
            let mut session = Session::new(Global, SUPERUSER, database, kernel::engine::random_u64())?;
            session.trusted = true;
            let analyzed = session.analyze_due(env, &due, settings.rest_ns);
            if !matches!(analyzed, Ok(true)) {
                session.abort_work(env);
            }
            match analyzed {
                Ok(analyzed) => done += u32::from(analyzed),
                Err(_) if session::stopping() => {}
                Err(error) => eprintln!("gearbox: the background analysis of a table has ended: {error}"),
            }
        }
        Ok(done)
    }

    fn due(&self, env: &Environment<'_>, settings: &Settings) -> Result<Vec<Due>> {
        let relations = env.stored()?;
        let definitions = self.committed()?;
        let is_due = |table: &TableDef| {
            let Rows::Stored(rows) = table.rows else { return None };
            if table.kind != RelationKind::Table || table.persistence.is_temporary() {
                return None;
            }
            if !table.parameter("autovacuum_enabled").unwrap_or(true) {
                return None;
            }
            let (modified, _) = relations.changes_of(rows)?;
            let known = definitions.statistics(table.oid).map_or(0, |known| known.rows);
            let threshold: u64 = table.parameter("autovacuum_analyze_threshold").unwrap_or(settings.threshold);
            let scale: f64 = table.parameter("autovacuum_analyze_scale_factor").unwrap_or(settings.scale_factor);
            if modified as f64 <= threshold as f64 + scale * known as f64 {
                return None;
            }
            let database = definitions.database(definitions.home_of(table.oid))?;
            Some(Due { database: database.oid, database_name: database.name.clone(), oid: table.oid, rows })
        };
        Ok(definitions.tables().filter_map(|table| is_due(table)).collect())
    }
}

/// How long to rest after a round (rule 4).
fn nap_after(round_ns: Nanos, nap_ns: Nanos) -> Nanos {
    (REST_SHARE * round_ns).clamp(nap_ns, NAPS_MAX * nap_ns)
}

/// Looks for interrupts, and rests.
fn rest(rest_ns: Nanos) -> Result<()> {
    let until = clock::now() + rest_ns;
    while clock::now() < until {
        if let Woken::Interrupted(interrupt) = wait::wait(Event::VacuumDelay, 0, Some(until)) {
            return Err(session::interrupt_error(interrupt));
        }
    }
    if session::stopping() {
        return Err(session::interrupt_error(Interrupt::Terminate));
    }
    session::check_interrupts()
}

impl Session<Global> {
    /// Analyzes a table in a transaction of its own. False if it is somebody else's turn.
    fn analyze_due(&mut self, env: &Environment<'_>, due: &Due, rest_ns: Nanos) -> Result<bool> {
        let key = LockKey::relation(due.oid.0);
        if !self.lock_relation(env, due.oid.0, LockMode::ShareUpdateExclusive, false)? {
            return Ok(false);
        }
        let transactions = env.stored()?.storage().transactions;
        let (mut breaths, is_wanted) = (0_u32, Cell::new(false));
        let found = self.look_at(env, due.oid, &[], &mut || {
            breaths = breaths.wrapping_add(1);
            if breaths.is_multiple_of(WANTED_EVERY) && transactions.is_wanted(key) {
                is_wanted.set(true);
                return Err(Error::statement(sqlstate::QUERY_CANCELED, "somebody waits for the table"));
            }
            match breaths.is_multiple_of(REST_EVERY) {
                true => rest(rest_ns),
                false => session::check_interrupts(),
            }
        });
        let found: Found = match found {
            Ok(Some(found)) if found.rows == due.rows => found,
            Ok(_) => return Ok(false),
            Err(_) if is_wanted.get() => return Ok(false),
            Err(error) => return Err(error),
        };
        if !self.write_down(env, &found, false)? {
            return Ok(false);
        }
        self.commit_work(env)?;
        // Who sees the count sees what was found.
        found.count(env, true)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_rests_in_proportion_and_not_for_ever() {
        const SECOND: Nanos = 1_000_000_000;
        let nap = 10 * SECOND;
        let rests = |round_ms: u64| nap_after(round_ms * 1_000_000, nap) / SECOND;
        // An idle server's rounds are as often as the setting says; what takes long is a fiftieth of the time, but is due once a minute.
        assert_eq!([0, 1, 200].map(rests), [10, 10, 10]);
        assert_eq!([400, 800, 1200].map(rests), [20, 40, 60]);
        assert_eq!([1300, 60_000, 3_600_000].map(rests), [60, 60, 60]);
        assert_eq!(nap_after(SECOND, 0), 0);
    }
}
