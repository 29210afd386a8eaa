//! What the server shows of itself: the views of the schema `gearbox`, and those of `pg_catalog` that only it can fill.
//!
//! | view | a row is |
//! |---|---|
//! | `gearbox.engines` | an engine: what it is, what it does, which primitive and I/O method it really uses |
//! | `gearbox.sessions` | a session: who, what it waits for, which process and thread run it now |
//! | `gearbox.wait_events` | a wait event: how often, how long |
//! | `gearbox.spinlocks` | a spinlock, by instance: how often taken, how often contended |
//! | `pg_stat_activity` | a session, as PostgreSQL shows it |
//! | `pg_stat_database` | databases, as PostgreSQL shows them: sessions and transactions of each, pages read and deadlocks of all |
//! | `pg_locks` | a lock that a session holds or waits for, as PostgreSQL shows it |
//! | `pg_stat_ssl` | a session, and how its connection is encrypted |
//! | `pg_hba_file_rules` | a line of the file that says who gets in |
//! | `gearbox.failed_logins` | an address and role with wrong passwords, and until when nobody is listened to |
//! | `gearbox.resources` | memory and slots with an owner: how much there is, how much is used, the most ever |
//!
//! Rules
//! 1. Every number is read where it is counted, in the region, without a lock: what a view shows is right in every model.
//! 2. Times are in microseconds. A session's number is its own, never an operating-system pid.
//! 3. Counters count from the server's start.

mod access;
mod activity;
mod database;
mod engines;
mod locks;
mod resources;
mod sessions;
mod spinlocks;
mod wait_events;

use crate::access::Access;
use crate::serve::activity::Activity;
use sql::catalog::{Catalogs, ViewColumn};
use sql::types::Oid;
use storage::Storage;

const BOOL: Oid = Oid(16);
const INT8: Oid = Oid(20);
const INT4: Oid = Oid(23);
const TEXT: Oid = Oid(25);
const TEXT_ARRAY: Oid = Oid(1009);
const TIMESTAMPTZ: Oid = Oid(1184);

/// A column of a view.
const fn column(name: &'static str, ty: Oid) -> ViewColumn {
    ViewColumn { name, ty }
}

/// Registers all views. Once, before the first engine runs.
pub fn register(catalogs: &mut Catalogs, sessions: Activity, access: &'static Access, storage: &'static Storage) {
    catalogs.register("pg_catalog", "pg_stat_database", &[], Box::new(database::Provider { sessions, storage }));
    catalogs.register("pg_catalog", "pg_locks", &[], Box::new(locks::Provider { sessions, storage }));
    catalogs.register("pg_catalog", "pg_stat_activity", &[], Box::new(activity::Provider(sessions)));
    catalogs.register("pg_catalog", "pg_stat_ssl", access::SSL_COLUMNS, Box::new(access::Ssl(sessions)));
    let rules = Box::new(access::Rules(access));
    catalogs.register("pg_catalog", "pg_hba_file_rules", access::RULES_COLUMNS, rules);
    let failed = Box::new(access::FailedLogins(access));
    catalogs.register("gearbox", "failed_logins", access::FAILED_COLUMNS, failed);
    catalogs.register("gearbox", "engines", engines::COLUMNS, Box::new(engines::rows));
    catalogs.register("gearbox", "sessions", sessions::COLUMNS, Box::new(sessions::rows));
    catalogs.register("gearbox", "wait_events", wait_events::COLUMNS, Box::new(wait_events::rows));
    catalogs.register("gearbox", "spinlocks", spinlocks::COLUMNS, Box::new(spinlocks::rows));
    catalogs.register("gearbox", "resources", resources::COLUMNS, Box::new(resources::rows));
}
