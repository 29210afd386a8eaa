//! Temporary relations: where they are, what becomes of them when a transaction commits, and how they go.
//!
//! A temporary relation is one like any other, in a schema that belongs to a session's slot ([`schema::temporary`]): definitions, locks, log
//! and recovery know no difference. The schema is first in the session's search path once something was made in it. Plans with names that
//! may mean the session's own relations have keys of their own in the statement cache.
//!
//! ```text
//!  first CREATE TEMP: the slot is marked -> what a session before left is dropped -> the relation is made
//!  the session's end, however it ends: a mark? -> its transaction is over -> all of the schema is dropped -> no mark
//!                                                                                    \-- that failed: the mark stays
//!  the server's start: what is in a schema of a slot without a mark is dropped, by the background vacuum
//! ```
//!
//! Rules
//! 1. The mark is set before anything is made, and lies in the region: whoever cleans up after a session that died finds it.
//! 2. What cannot be dropped at a session's end stays until the slot's next session makes something temporary in that database or ends, or
//!    the server starts again; nobody else can name it.
//! 3. A table whose rows a commit deletes is emptied where it lies, before the commit: its rows are all of the transaction that ends, so
//!    there is nothing that an abort would have to bring back. Its lock keeps a vacuum out.

use super::define::{Change, definition_key, write};
use crate::catalog::definition::{ConstraintKind, OnCommit, Persistence, Rows, TableDef};
use crate::catalog::store::{ALL_DATABASES, Committed};
use crate::catalog::{privilege, schema, split};
use crate::parser::ast::Path;
use crate::session::work::Work;
use crate::session::{Database, Environment, NoData, Session};
use crate::types::Oid;
use allocator_api2::alloc::{Allocator, Global};
use base::{Error, RelId, Result, SessionId, sqlstate};
use kernel::session::Interrupt;
use std::sync::Arc;
use storage::Durability;
use storage::txn::lock::{LockScope, LockWait};
use storage::txn::{LockKey, LockMode};

impl<A: Allocator + Copy> Session<A> {
    /// The schema in which a relation is to be made, and its name; whether that is the session's own of temporary relations.
    ///
    /// Errors: `42P16`, `42501`, `3F000`.
    pub(super) fn relation_place<'p>(
        &mut self,
        env: &Environment<'_>,
        path: Path<'p>,
        temporary: bool,
    ) -> Result<(Oid, &'p str, bool)> {
        let own = schema::temporary(own_session(env)?);
        let (named, name) = split(path, self.database_name())?;
        let invalid = |message: &'static str| Err(Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message));
        let is_own = match named {
            None => temporary || self.catalog(env)?.path.creates_temporary,
            Some(schema::OWN_TEMPORARY) => true,
            Some(other) => match schema::temporary_named(other) {
                Some(other) if other == own => true,
                Some(_) => return invalid("cannot create relations in temporary schemas of other sessions"),
                None if temporary => return invalid("cannot create temporary relation in non-temporary schema"),
                None => false,
            },
        };
        if !is_own {
            return self.creation_place(env, path).map(|(schema, name)| (schema, name, false));
        }
        let definitions = self.definitions(env, &self.work)?;
        if definitions.rights(self.role(), definitions.database_guard(), privilege::TEMPORARY) == 0 {
            let database = self.database_name();
            let message = format!("permission denied to create temporary tables in database \"{database}\"");
            return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        if !self.temporary {
            if let Some(shared) = &env.database.shared {
                shared.set_temporary(own_session(env)?, Some(self.database));
            }
            self.temporary = true;
            self.drop_temporary(env)?;
        }
        Ok((own, name, true))
    }

    /// The session's temporary relations.
    fn temporary_relations(&self, env: &Environment<'_>) -> Result<Vec<Arc<TableDef>>> {
        let own = schema::temporary(own_session(env)?);
        let definitions = self.definitions(env, &self.work)?;
        Ok(definitions.tables().filter(|table| table.schema == own).cloned().collect())
    }

    /// Drops all that the session has made temporarily, or one before it has left.
    pub(super) fn drop_temporary(&mut self, env: &Environment<'_>) -> Result<()> {
        if !self.temporary {
            return Ok(());
        }
        let found = self.temporary_relations(env)?;
        self.drop_these(env, &found)
    }

    fn drop_these(&mut self, env: &Environment<'_>, found: &[Arc<TableDef>]) -> Result<()> {
        let mut tables = Vec::with_capacity(found.len());
        for table in found {
            self.lock_relation(env, table.oid.0, LockMode::AccessExclusive, true)?;
            tables.extend(self.lock_definition(env, table.oid)?);
        }
        match tables.is_empty() {
            true => Ok(()),
            false => self.drop_all(env, &tables, true, &mut NoData::default()),
        }
    }

    /// What a commit does with temporary tables. Called before it.
    pub(crate) fn before_commit(&mut self, env: &Environment<'_>) -> Result<()> {
        // A table that goes with its transaction was made by it.
        if !self.work.defines && !self.deletes_on_commit {
            return Ok(());
        }
        let found = self.temporary_relations(env)?;
        let is = |table: &Arc<TableDef>, wanted| table.persistence == Persistence::Temporary(wanted);
        let dropped: Vec<_> = found.iter().filter(|table| is(table, OnCommit::Drop)).cloned().collect();
        self.drop_these(env, &dropped)?;
        check_references_of_emptied(&found)?;
        let relations = env.stored()?;
        for table in found.iter().filter(|table| is(table, OnCommit::Delete)) {
            let Rows::Stored(rows) = table.rows else { continue };
            if relations.blocks(rows)? == 0 {
                continue;
            }
            self.lock_relation(env, table.oid.0, LockMode::AccessExclusive, true)?;
            for rel in [Some(rows), table.pieces.map(|pieces| pieces.storage)].into_iter().flatten() {
                relations.make_empty(rel)?;
            }
            for index in &table.indexes {
                relations.make_empty(index.storage)?;
                relations.btree(index.storage).create()?;
            }
        }
        Ok(())
    }
}

/// The session's number. Errors: `0A000` where there is none.
fn own_session(env: &Environment<'_>) -> Result<SessionId> {
    env.session.ok_or_else(|| Error::unsupported("temporary tables are not supported here"))
}

/// Rows may not refer to rows that go with the transaction, unless they go as well: `0A000`, as in PostgreSQL.
fn check_references_of_emptied(tables: &[Arc<TableDef>]) -> Result<()> {
    let is_emptied = |table: &TableDef| table.persistence == Persistence::Temporary(OnCommit::Delete);
    for table in tables.iter().filter(|table| !is_emptied(table)) {
        for constraint in &table.constraints {
            let ConstraintKind::ForeignKey(key) = &constraint.kind else { continue };
            let Some(other) = tables.iter().find(|other| other.oid == key.table && is_emptied(other)) else { continue };
            let names = (&table.name, &other.name);
            return Err(Error::unsupported("unsupported ON COMMIT and foreign key combination").detail(format!(
                "Tables \"{}\" and \"{}\" do not have the same ON COMMIT setting.",
                names.0, names.1
            )));
        }
    }
    Ok(())
}

/// Which keys may not lead from one table to another: `42P16`.
pub(super) fn check_reference(from: Persistence, to: Persistence) -> Result<()> {
    let message = match (from, to) {
        (Persistence::Permanent, Persistence::Permanent)
        | (Persistence::Unlogged, Persistence::Permanent | Persistence::Unlogged)
        | (Persistence::Temporary(_), Persistence::Temporary(_)) => return Ok(()),
        (Persistence::Permanent, _) => "constraints on permanent tables may reference only permanent tables",
        (Persistence::Unlogged, _) => "constraints on unlogged tables may reference only permanent or unlogged tables",
        (Persistence::Temporary(_), _) => "constraints on temporary tables may reference only temporary tables",
    };
    Err(Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message))
}

/// Drops what a session that is over has made temporarily in its database; true if nothing is left. As that session, when its transaction
/// is over.
pub(crate) fn drop_of_session(database: &Database, home: Oid, session: SessionId) -> bool {
    use Interrupt::{Cancel, IdleTimeout, StatementTimeout, Terminate};
    let (own, slot) = (schema::temporary(session), kernel::session::current());
    loop {
        // What it was told is not for this, however often it is told.
        for interrupt in [Cancel, Terminate, StatementTimeout, IdleTimeout] {
            slot.clear_interrupt(interrupt);
        }
        match drop_where(database, home, |table| table.schema == own) {
            Ok(()) => return true,
            Err(error) if is_interrupt(&error) => {}
            Err(error) => {
                eprintln!("gearbox: temporary tables of a session that is over stay for a while: {error}");
                return false;
            }
        }
    }
}

/// Did something end because the session was told to?
fn is_interrupt(error: &Error) -> bool {
    [
        sqlstate::QUERY_CANCELED,
        sqlstate::ADMIN_SHUTDOWN,
        sqlstate::IDLE_SESSION_TIMEOUT,
        sqlstate::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ]
    .contains(&error.sqlstate())
}

/// Drops what sessions of an earlier server have made temporarily, in whichever database. As a session of the background.
pub(crate) fn drop_left(database: &Database) {
    let Some(shared) = &database.shared else { return };
    // Who has a mark will look after his slot himself.
    let is_left = |table: &TableDef| {
        schema::session_of(table.schema).is_some_and(|session| shared.has_temporary(session).is_none())
    };
    if let Err(error) = drop_where(database, ALL_DATABASES, is_left) {
        eprintln!("gearbox: temporary tables of an earlier server stay for a while: {error}");
    }
}

fn drop_where(database: &Database, home: Oid, wanted: impl Fn(&TableDef) -> bool) -> Result<()> {
    let (Some(relations), Some(shared)) = (database.relations, &database.shared) else { return Ok(()) };
    let committed = Committed { shared, relations, database: home };
    let found: Vec<Oid> =
        committed.definitions()?.tables().filter(|table| wanted(table)).map(|table| table.oid).collect();
    if found.is_empty() {
        return Ok(());
    }
    let done = drop_found(committed, &found);
    if done.is_err() {
        relations.abort();
    }
    done
}

/// Drops relations in a transaction of their own. Nothing else depends on them: what depends on something temporary is temporary.
fn drop_found(committed: Committed<'_>, found: &[Oid]) -> Result<()> {
    let Committed { relations, shared, .. } = committed;
    let transactions = relations.storage().transactions;
    for oid in found {
        for key in [LockKey::relation(oid.0), definition_key(*oid)] {
            transactions.lock(key, LockMode::AccessExclusive, LockScope::Transaction, LockWait::Forever)?;
        }
    }
    let definitions = committed.definitions()?;
    let mut work = Work::new(Global);
    for table in found.iter().filter_map(|oid| definitions.table(*oid)) {
        storages_of(table).try_for_each(|rel| relations.drop_at_commit(rel))?;
        write(relations, &mut work, definitions.home_of(table.oid), &Change::drop_table(table.oid))?;
    }
    shared.begin();
    let committed = relations.commit(Durability::Waited);
    shared.end();
    committed.map(drop)
}

/// All storages of a relation.
pub(crate) fn storages_of(table: &TableDef) -> impl Iterator<Item = RelId> + '_ {
    let rows = match table.rows {
        Rows::Stored(rows) => Some(rows),
        Rows::Made(_) | Rows::None => None,
    };
    let pieces = table.pieces.map(|pieces| pieces.storage);
    rows.into_iter().chain(pieces).chain(table.indexes.iter().map(|index| index.storage))
}
