//! `ANALYZE`: what a table has, by a sample of its rows.
//!
//! ```text
//!  pages and rows by chance ([`sample`]) -> the values of each column ([`compute`]) -> the catalog
//! ```
//!
//! Rules
//! 1. As many rows are sampled as PostgreSQL samples: 300 for each value that is kept of a column (`default_statistics_target`).
//! 2. What is known of a table is written like a definition. Its version is raised, so that plans are made again, only where those that were
//!    made without it may be bad: when there was nothing, when the table has twice or half as many rows, or when values are spread in
//!    another way ([`change`]).
//!
//! What is done of its own accord is in [`background`].

pub mod background;
mod change;
mod compute;
mod sample;

use super::define::{Change, definition_key};
use crate::catalog::codec::{ObjectClass, Statistics, statistics_image};
use crate::catalog::column_statistics::{self, ColumnStatistics, TableStatistics};
use crate::catalog::definition::{Rows, TableDef};
use crate::large;
use crate::parser::ast::{LookedAfter, Name};
use crate::row::{self, Row, Stored};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Arena, Datum, Oid, table};
use allocator_api2::alloc::Allocator;
use base::settings::{MessageLevel, SettingId};
use base::{Error, RelId, Result, sqlstate};
use sample::Sample;
use std::sync::Arc;
use storage::relation::Relations;
use storage::txn::LockMode;

/// Rows that are sampled for each value that is kept.
const ROWS_PER_VALUE: usize = 300;
/// Rows between two looks for interrupts.
const ROWS_BETWEEN: usize = 256;

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn analyze<O: Output>(
        &mut self,
        env: &Environment<'_>,
        verbose: bool,
        named: &[LookedAfter<'_>],
        out: &mut O,
    ) -> Result<Option<Tag>> {
        env.stored()?;
        for (oid, columns) in self.tables_of(env, named, "analyze", out)? {
            self.lock_relation(env, oid.0, LockMode::ShareUpdateExclusive, true)?;
            self.analyze_table(env, oid, columns, verbose, out)?;
        }
        Ok(Some(Tag::Words("ANALYZE")))
    }

    /// Looks at a table that is locked, and writes down what was found.
    pub(super) fn analyze_table<O: Output>(
        &mut self,
        env: &Environment<'_>,
        oid: Oid,
        columns: &[Name<'_>],
        verbose: bool,
        out: &mut O,
    ) -> Result<()> {
        let Some(found) = self.look_at(env, oid, columns, &mut crate::exec::breathe)? else { return Ok(()) };
        if verbose {
            let Found { table, size, sampled, .. } = &found;
            let message =
                format!("\"{}\": {} pages, about {} rows, {sampled} rows in sample", table.name, size.pages, size.rows);
            out.notice(MessageLevel::Info, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
        }
        self.write_down(env, &found, true)?;
        found.count(env, false)
    }

    /// Looks at a table that is locked, or at some of its columns; none if it is gone. `breathe` is called again and again meanwhile.
    ///
    /// Errors: `42703`, `42701` for the columns; those of reading.
    fn look_at(
        &self,
        env: &Environment<'_>,
        oid: Oid,
        columns: &[Name<'_>],
        breathe: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<Found>> {
        const KILOBYTE: usize = 1024;
        let Some(table) = self.definitions(env, &self.work)?.table(oid).cloned() else { return Ok(None) };
        let Rows::Stored(rows) = table.rows else { return Ok(None) };
        let wanted = numbers_of(&table, columns)?;
        let view = self.view(env);
        let target = view.value(SettingId::DefaultStatisticsTarget).number().max(1) as usize;
        let memory = view.value(SettingId::MaintenanceWorkMem).number().max(0) as usize * KILOBYTE;
        // Before the look: what is changed from now on may have been missed. Some columns do not make up for changes of the rows.
        let changes = match wanted.is_empty() {
            true => env.stored()?.changes_of(rows).map_or(0, |(modified, _)| modified),
            false => 0,
        };
        let sample = Sample::take(&env.stored()?.heap(rows), target * ROWS_PER_VALUE, memory, breathe)?;
        let mut columns = columns_of(env.stored()?, &table, &wanted, &sample, target, breathe)?;
        if !wanted.is_empty()
            && let Some(known) = self.definitions(env, &self.work)?.column_statistics(oid)
        {
            // Of the others what was known stays.
            let stays = |known: &&ColumnStatistics| {
                let column = table.columns.get(usize::from(known.column));
                !wanted.contains(&known.column)
                    && column.is_some_and(|column| !column.dropped && column.ty.oid == known.ty)
            };
            columns.columns.extend(known.columns.iter().filter(stays).cloned());
            columns.columns.sort_by_key(|known| known.column);
        }
        let size = Statistics { rows: sample.table_rows as u64, pages: sample.pages };
        Ok(Some(Found { table, rows, size, columns, sampled: sample.rows().len(), changes }))
    }

    /// Writes down what was found in a table. False if it was not written: somebody changes the table's definition, and is not to be
    /// waited for.
    fn write_down(&mut self, env: &Environment<'_>, found: &Found, waits: bool) -> Result<bool> {
        let oid = found.table.oid;
        let before = self.definitions(env, &self.work)?;
        let known = before.statistics(oid).zip(before.column_statistics(oid).cloned());
        drop(before);
        let anew = known.is_none_or(|(size, columns)| {
            differs(size.rows, found.size.rows) || change::matters(&columns, &found.columns)
        });
        if anew && !waits && !self.lock_key(env, definition_key(oid), LockMode::AccessExclusive, false)? {
            return Ok(false);
        }
        let image = Some(column_statistics::image(&found.columns)?);
        self.define(env, &[Change { class: ObjectClass::ColumnStatistics, oid, image }])?;
        self.note_size(env, oid, found.size)?;
        if anew {
            self.plan_anew(env, oid)?;
        }
        Ok(true)
    }

    /// Writes what is known of a table's size, if it is something else than what was known.
    pub(super) fn note_size(&mut self, env: &Environment<'_>, oid: Oid, size: Statistics) -> Result<()> {
        if self.definitions(env, &self.work)?.statistics(oid) == Some(size) {
            return Ok(());
        }
        let image = Some(statistics_image(size));
        self.define(env, &[Change { class: ObjectClass::Statistics, oid, image }])
    }

    /// Gives a table a new version, so that plans with it are made again.
    fn plan_anew(&mut self, env: &Environment<'_>, oid: Oid) -> Result<()> {
        match self.lock_definition(env, oid)? {
            Some(table) => self.define_tables(env, &mut [&mut TableDef::clone(&table)]),
            None => Ok(()),
        }
    }
}

/// What was found in a table.
struct Found {
    table: Arc<TableDef>,
    /// Its rows.
    rows: RelId,
    size: Statistics,
    columns: TableStatistics,
    /// How many rows were looked at.
    sampled: usize,
    /// How many changes had been made since the last analysis before this one began.
    changes: u64,
}

impl Found {
    /// Counts the analysis, which has been written down.
    fn count(&self, env: &Environment<'_>, background: bool) -> Result<()> {
        env.stored()?.analyzed(self.rows, self.size.rows, self.changes, background)
    }
}

/// Twice or half as many?
fn differs(before: u64, now: u64) -> bool {
    before.max(now) >= 2 * before.min(now).max(1)
}

/// The numbers of columns that were named.
fn numbers_of(table: &TableDef, names: &[Name<'_>]) -> Result<Vec<u16>> {
    let mut numbers = Vec::with_capacity(names.len());
    for name in names {
        let mut live = table.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
        let Some((number, _)) = live.find(|(_, column)| column.name == name.text) else {
            let message = format!("column \"{}\" of relation \"{}\" does not exist", name.text, table.name);
            return Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message));
        };
        if numbers.contains(&(number as u16)) {
            let message = format!("column \"{}\" of relation \"{}\" appears more than once", name.text, table.name);
            return Err(Error::statement(sqlstate::DUPLICATE_COLUMN, message));
        }
        numbers.push(number as u16);
    }
    Ok(numbers)
}

/// What the sample says of columns: of all of them, or of those that are `wanted`.
fn columns_of(
    relations: &'static Relations,
    def: &TableDef,
    wanted: &[u16],
    sample: &Sample,
    target: usize,
    breathe: &mut dyn FnMut() -> Result<()>,
) -> Result<TableStatistics> {
    let shapes = row::shapes(def.columns.iter().map(|column| table::kind(column.ty.oid)));
    let mut found = TableStatistics::default();
    // Of a value that is too long to be compared nothing but that is known.
    let wide = [0; compute::WIDTH_MAX + 1];
    let is_wanted = |number: usize| wanted.is_empty() || wanted.contains(&(number as u16));
    for (number, column) in def.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
        if !is_wanted(number) {
            continue;
        }
        let arena = Arena::new();
        let mut values: Vec<Datum<'_>> = Vec::with_capacity(sample.rows().len());
        for (place, row) in sample.rows().enumerate() {
            values.push(match Row::new(row)?.stored(&shapes, number)? {
                Stored::Plain(value) => value,
                // The row may be gone by now, with its pieces.
                Stored::Packed(packed)
                    if large::is_elsewhere(packed) || large::length(packed)? > compute::WIDTH_MAX =>
                {
                    Datum::Bytes(&wide)
                }
                Stored::Packed(packed) => {
                    let mut value = Vec::new();
                    large::load(relations, packed, &mut value)?;
                    Datum::Bytes(arena.copy(&value)?)
                }
            });
            if place % ROWS_BETWEEN == 0 {
                breathe()?;
            }
        }
        let key = (number as u16, column.ty.oid);
        found.columns.extend(compute::column(key, &values, sample.table_rows, target, breathe)?);
    }
    Ok(found)
}
