//! What keeps tables in shape: `VACUUM`, `CHECKPOINT`, `LOCK TABLE`.
//!
//! Rules
//! 1. A vacuum is a transaction for each table, without a snapshot: the lock is all that it holds.
//! 2. What is known of a table's size is written like a definition, but the definition's version stays: plans stay good.

use super::define::{check_own, missing, shown};
use super::owner::denied;
use crate::catalog::codec::Statistics;
use crate::catalog::definition::{RelationKind, Rows, TableDef};
use crate::catalog::privilege::{self, Guard};
use crate::catalog::schema;
use crate::catalog::store::{CATALOG, CATALOG_OID};
use crate::parser::ast::{LookedAfter, Name, Path};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::Oid;
use allocator_api2::alloc::Allocator;
use base::settings::{MessageLevel, SettingId};
use base::{Error, RelId, Result, sqlstate};
use std::sync::Arc;
use storage::txn::{LockKey, LockMode};
use storage::vacuum::{Options, Report};

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn vacuum<O: Output>(
        &mut self,
        env: &Environment<'_>,
        (analyze, full, verbose): (bool, bool, bool),
        named: &[LookedAfter<'_>],
        out: &mut O,
    ) -> Result<Option<Tag>> {
        env.stored()?;
        if !analyze && named.iter().any(|table| !table.columns.is_empty()) {
            return Err(Error::unsupported("ANALYZE option must be specified when a column list is provided"));
        }
        self.check_alone("VACUUM")?;
        let tables = self.tables_of(env, named, "vacuum", out)?;
        // What was looked up is not held while the tables are gone over.
        self.commit_work(env)?;
        for (oid, columns) in tables {
            if full {
                self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
                if let Some(table) = self.lock_definition(env, oid)? {
                    self.rewrite_table(env, &table, None)?;
                }
                self.commit_work(env)?;
            }
            self.lock_relation(env, oid.0, LockMode::ShareUpdateExclusive, true)?;
            if let Some(table) = self.definitions(env, &self.work)?.table(oid).cloned() {
                let indexes: Vec<RelId> = table.indexes.iter().map(|index| index.storage).collect();
                if let Rows::Stored(rows) = table.rows {
                    let report = self.vacuum_relation(env, oid, rows, &indexes)?;
                    if let Some(pieces) = table.pieces {
                        self.vacuum_relation(env, oid, pieces.storage, &[])?;
                    }
                    if verbose {
                        report_to(&table.name, &report, out);
                    }
                    self.note_size(env, oid, Statistics { rows: report.live, pages: report.pages - report.cut })?;
                }
                if analyze {
                    self.analyze_table(env, oid, columns, verbose, out)?;
                }
            }
            self.commit_work(env)?;
        }
        if named.is_empty() {
            self.lock_relation(env, CATALOG_OID.0, LockMode::ShareUpdateExclusive, true)?;
            self.vacuum_relation(env, CATALOG_OID, CATALOG, &[])?;
            self.commit_work(env)?;
        }
        Ok(Some(Tag::Words("VACUUM")))
    }

    fn vacuum_relation(&self, env: &Environment<'_>, oid: Oid, rows: RelId, indexes: &[RelId]) -> Result<Report> {
        const KILOBYTE: usize = 1024;
        let memory = self.view(env).value(SettingId::MaintenanceWorkMem).number().max(0) as usize * KILOBYTE;
        let options = Options { memory, rest_ns: 0, cut: Some(LockKey::relation(oid.0)), background: false };
        env.stored()?.vacuum(rows, indexes, options)
    }

    /// The tables that a statement is about, with the columns that it names: all tables if it names none.
    pub(super) fn tables_of<'a, O: Output>(
        &mut self,
        env: &Environment<'_>,
        named: &[LookedAfter<'a>],
        verb: &str,
        out: &mut O,
    ) -> Result<Vec<(Oid, &'a [Name<'a>])>> {
        if named.is_empty() {
            let definitions = self.definitions(env, &self.work)?;
            let own = env.session.map(schema::temporary);
            let is_others = |schema| schema::is_temporary(schema) && Some(schema) != own;
            let tables =
                definitions.tables().filter(|table| table.kind == RelationKind::Table && !is_others(table.schema));
            let mut oids = Vec::new();
            for table in tables {
                if self.owns(env, table.owner)? {
                    oids.push((table.oid, &[][..]));
                } else {
                    skip(&table.name, verb, out);
                }
            }
            return Ok(oids);
        }
        let catalog = self.catalog(env)?;
        let mut oids = Vec::with_capacity(named.len());
        for LookedAfter { path, columns } in named {
            let (schema, name) = crate::catalog::split(path, self.database_name())?;
            let found: Arc<TableDef> = catalog.find(schema, name)?.ok_or_else(|| missing(path))?;
            if matches!(found.rows, Rows::Stored(_)) && found.kind != RelationKind::Table {
                let message =
                    format!("skipping \"{}\" --- cannot {verb} non-tables or special system tables", found.name);
                out.notice(MessageLevel::Warning, &Error::statement(sqlstate::WARNING, message));
                continue;
            }
            if !self.owns(env, found.owner)? {
                skip(&found.name, verb, out);
                continue;
            }
            check_own(&found)?;
            oids.push((found.oid, *columns));
        }
        Ok(oids)
    }

    /// May the current user lock a table in a mode? Errors: `42501`.
    fn check_locks(&self, env: &Environment<'_>, table: &TableDef, mode: LockMode) -> Result<()> {
        let changes = privilege::UPDATE | privilege::DELETE | privilege::TRUNCATE;
        let rights = match mode {
            LockMode::AccessShare => privilege::SELECT,
            LockMode::RowExclusive => changes | privilege::INSERT,
            _ => changes,
        };
        match self.definitions(env, &self.work)?.rights(self.role(), Guard::relation(table), rights) {
            0 => Err(denied(table.word(), &table.name)),
            _ => Ok(()),
        }
    }

    pub(super) fn checkpoint(&mut self, env: &Environment<'_>) -> Result<Option<Tag>> {
        /// `pg_checkpoint`
        const CHECKPOINTERS: Oid = Oid(4544);
        if !self.owns(env, CHECKPOINTERS)? {
            let message = "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT";
            return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        env.stored()?.storage().checkpoint()?;
        Ok(Some(Tag::Words("CHECKPOINT")))
    }

    pub(super) fn lock_statement(
        &mut self,
        env: &Environment<'_>,
        paths: &[Path<'_>],
        mode: u8,
        nowait: bool,
    ) -> Result<Option<Tag>> {
        if !self.transaction.outlives_statement() {
            let message = "LOCK TABLE can only be used in transaction blocks";
            return Err(Error::statement(sqlstate::NO_ACTIVE_SQL_TRANSACTION, message));
        }
        let mode = LockMode::from_number(mode.into()).unwrap_or(LockMode::AccessExclusive);
        for path in paths {
            let (schema, name) = crate::catalog::split(path, self.database_name())?;
            loop {
                let found = self.catalog(env)?.find(schema, name)?.ok_or_else(|| missing(path))?;
                if !matches!(found.rows, Rows::Stored(_)) {
                    let message = format!("\"{}\" is not a table", found.name);
                    return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
                }
                self.check_locks(env, &found, mode)?;
                if !self.lock_relation(env, found.oid.0, mode, !nowait)? {
                    let message = format!("could not obtain lock on relation \"{}\"", shown(path));
                    return Err(Error::statement(sqlstate::LOCK_NOT_AVAILABLE, message));
                }
                if self.catalog(env)?.find(schema, name)?.is_some_and(|again| again.oid == found.oid) {
                    break;
                }
            }
        }
        Ok(Some(Tag::Words("LOCK TABLE")))
    }
}

/// Says that a table is left alone.
fn skip<O: Output>(name: &str, verb: &str, out: &mut O) {
    let message = format!("skipping \"{name}\" --- only table or database owner can {verb} it");
    out.notice(MessageLevel::Warning, &Error::statement(sqlstate::WARNING, message));
}

fn report_to<O: Output>(name: &str, report: &Report, out: &mut O) {
    let message = format!(
        "\"{name}\": removed {} row versions, {} remain, {} index entries removed, {} of {} pages given back",
        report.removed, report.live, report.entries, report.cut, report.pages
    );
    out.notice(MessageLevel::Info, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
}
