//! Which table is due, and the background task that vacuums it.
//!
//! A table is due when more versions of its rows have been ended than a threshold and a share of its rows together. Versions that page visits have
//! pruned in the meantime do not count, so a table whose updates stay on their pages is seldom due.
//!
//! Each round also lets the transaction map forget what it may ([`Relations::purge_aborted`]); if it keeps many aborted
//! transactions, tables that stand in the way are vacuumed although they are not due.

use super::table::{Options, Report};
use crate::relation::Relations;
use crate::txn::lock::{LockScope, LockWait};
use crate::txn::{LockKey, LockMode};
use base::{RelId, Result, Xid};
use kernel::clock::{self, Nanos};
use kernel::session;
use kernel::wait::{self, Event};

/// From so many segments of aborted transactions on tables are vacuumed for their sake.
const ABORTED_SEGMENTS_MAX: u32 = 8;
/// How soon the launcher sees that the server stops.
const LOOK_NS: Nanos = 100_000_000;

/// A table, as the layer above knows it.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// The object id that its lock goes by.
    pub oid: u32,
    /// Its rows.
    pub heap: RelId,
    /// All of its indexes.
    pub indexes: Vec<RelId>,
    /// Pieces of its large values ([`crate::heap::pieces`]).
    pub pieces: Option<RelId>,
    /// How many rows it is thought to have, if anybody knows.
    pub rows: Option<u64>,
    /// What was said of it alone.
    pub own: Own,
}

/// When one table is due, where that differs from the others.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Own {
    /// Never.
    pub off: bool,
    /// Instead of [`Settings::threshold`].
    pub threshold: Option<u64>,
    /// Instead of [`Settings::scale_factor`].
    pub scale_factor: Option<f64>,
}

/// Who knows which tables there are.
pub trait Catalog {
    /// All tables, the catalog's own among them.
    fn tables(&self) -> Result<Vec<Table>>;

    /// Whether a table, now that it is locked, is still what [`Catalog::tables`] said.
    fn is_current(&self, table: &Table) -> Result<bool>;

    /// A table was vacuumed.
    fn vacuumed(&self, _table: &Table, _report: &Report) {}
}

/// When a table is due, and how it is vacuumed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// False: nothing is done (`autovacuum`).
    pub enabled: bool,
    /// The pause between two rounds (`autovacuum_naptime`).
    pub nap_ns: Nanos,
    /// So many dead versions (`autovacuum_vacuum_threshold`) …
    pub threshold: u64,
    /// … and this share of the rows (`autovacuum_vacuum_scale_factor`).
    pub scale_factor: f64,
    /// Bytes for the list of dead slots (`maintenance_work_mem`).
    pub memory: usize,
    /// How long to rest every 128 pages.
    pub rest_ns: Nanos,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            enabled: true,
            nap_ns: 10_000_000_000,
            threshold: 50,
            scale_factor: 0.2,
            memory: 64 << 20,
            rest_ns: 2_000_000,
        }
    }
}

/// The life of a background task that works in rounds, until the server stops. A round answers how it went and how long to rest after it;
/// `what` is what its failure is told as. A cancel ends what the round is at, and not the task.
pub fn in_rounds(what: &str, mut round: impl FnMut() -> (Result<()>, Nanos)) {
    session::current().let_interrupt();
    while !session::stopping() {
        let (done, nap_ns) = round();
        if let Err(error) = done
            && !session::stopping()
        {
            eprintln!("gearbox: a round of the background {what} has failed: {error}");
        }
        let until = clock::now() + nap_ns.max(LOOK_NS);
        while !session::stopping() && clock::now() < until {
            let next = until.min(clock::now() + LOOK_NS);
            wait::wait(Event::VacuumMain, 0, Some(next));
            session::forget_interrupts();
        }
    }
}

impl Relations {
    /// True if a table has so many dead versions that it should be vacuumed.
    pub fn is_due(&self, table: &Table, settings: &Settings) -> bool {
        let settings = Settings {
            threshold: table.own.threshold.unwrap_or(settings.threshold),
            scale_factor: table.own.scale_factor.unwrap_or(settings.scale_factor),
            ..*settings
        };
        !table.own.off
            && (self.has_many_dead(table.heap, table.rows, &settings)
                || table.pieces.is_some_and(|pieces| self.has_many_dead(pieces, None, &settings)))
    }

    fn has_many_dead(&self, heap: RelId, rows: Option<u64>, settings: &Settings) -> bool {
        let Some(usage) = self.usage_of(heap) else { return false };
        let rows = rows.unwrap_or(usage.live);
        usage.dead as f64 > settings.threshold as f64 + settings.scale_factor * rows as f64
    }

    /// The background task: vacuums what is due, again and again, until the server stops. `settings` is asked every round.
    pub fn run_vacuum(&'static self, catalog: &dyn Catalog, mut settings: impl FnMut() -> Settings) {
        in_rounds("vacuum", || {
            let settings = settings();
            let done = if settings.enabled { self.vacuum_round(catalog, &settings).map(drop) } else { Ok(()) };
            (done, settings.nap_ns)
        });
    }

    /// Runs one of storage's background tasks ([`crate::TASKS`]) until the server stops; `catalog` and `settings` are for the vacuum.
    pub fn run_task(&'static self, task: usize, catalog: &dyn Catalog, settings: impl FnMut() -> Settings) {
        match task {
            crate::TASK_VACUUM => self.run_vacuum(catalog, settings),
            task => self.storage().run_task(task),
        }
    }

    /// One round over all tables. Answers how many were vacuumed.
    pub fn vacuum_round(&'static self, catalog: &dyn Catalog, settings: &Settings) -> Result<u32> {
        // Before the tables: who aborts in one that is not among them has, or gets, an id at or above this.
        let known = self.transactions.renew_horizon().xid;
        let tables = catalog.tables()?;
        let mut done = 0;
        for table in &tables {
            if session::stopping() {
                return Ok(done);
            }
            if self.is_due(table, settings) {
                done += self.vacuum_one(catalog, table, settings)? as u32;
            }
        }
        self.transactions.truncate_map()?;
        let heaps: Vec<RelId> = tables.iter().flat_map(|table| [Some(table.heap), table.pieces]).flatten().collect();
        self.purge_aborted(&heaps, known)?;
        if self.transactions.usage().map.bits >= ABORTED_SEGMENTS_MAX {
            let horizon = self.transactions.horizon_cached().xid;
            for table in &tables {
                let pieces = table.pieces.map_or(Ok(Xid(u64::MAX)), |pieces| self.clean_below(pieces))?;
                let clean_below = self.clean_below(table.heap)?.min(pieces);
                if !session::stopping() && clean_below.0.saturating_add(segment()) < horizon.0 {
                    done += self.vacuum_one(catalog, table, settings)? as u32;
                }
            }
            self.purge_aborted(&heaps, known)?;
        }
        Ok(done)
    }

    /// Vacuums a table, if nobody has it locked in a mode that is in the way. True if it was.
    fn vacuum_one(&'static self, catalog: &dyn Catalog, table: &Table, settings: &Settings) -> Result<bool> {
        let key = LockKey::relation(table.oid);
        let transactions = self.transactions;
        if !transactions.lock(key, LockMode::ShareUpdateExclusive, LockScope::Session, LockWait::Never)? {
            return Ok(false);
        }
        let vacuumed = catalog.is_current(table).and_then(|is_current| {
            if !is_current {
                return Ok(None);
            }
            let options =
                Options { memory: settings.memory, rest_ns: settings.rest_ns, cut: Some(key), background: true };
            let report = self.vacuum(table.heap, &table.indexes, options)?;
            if report.gave_way {
                return Ok(None);
            }
            // After the rows: nothing depends on the order, but what an abort has left is noticed at rows first.
            if let Some(pieces) = table.pieces {
                self.vacuum(pieces, &[], options)?;
            }
            Ok(Some(report))
        });
        transactions.unlock(key, LockMode::ShareUpdateExclusive);
        let report = vacuumed?;
        if let Some(report) = &report {
            catalog.vacuumed(table, report);
        }
        Ok(report.is_some())
    }
}

fn segment() -> u64 {
    crate::txn::map::SEGMENT
}
