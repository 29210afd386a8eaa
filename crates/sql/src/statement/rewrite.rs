//! Tables and indexes that are made anew: `VACUUM FULL`, `CLUSTER`, `REINDEX`.
//!
//! ```text
//!  lock the table alone -> its rows, in the order of the heap or of an index -> a new heap, with new pieces -> new indexes -> definition
//! ```
//!
//! Rules
//! 1. The rows of the new heap are all of the transaction that has put them there. A transaction whose snapshot is older does not see them,
//!    and must not take the table for empty: what it hears is `40001` ([`TableDef::since`]).
//! 2. Rows go one after the other, so that one of them is in memory at a time.

use super::define::{check_own, missing, shown};
use super::index::row_shapes;
use super::owner::{Needs, not_owner};
use crate::catalog::definition::{IndexDef, RelationKind, Rows, TableDef};
use crate::catalog::{schema, split};
use crate::large::{self, Place};
use crate::parser::ast::{Name, Path};
use crate::row::{self, Row};
use crate::session::{Environment, Session, Tag};
use crate::types::{Datum, Oid};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, Xid, sqlstate};
use std::ops::Bound;
use storage::btree::Direction;
use storage::heap::{Batch, CommandPairs, Heap, Reader};
use storage::txn::LockMode;

/// What `REINDEX` is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReindexKind {
    /// An index.
    Index,
    /// The indexes of a table.
    Table,
    /// Of all tables in a schema.
    Schema,
    /// Of all tables.
    Database,
    /// Of the system's own, which have none.
    System,
}

/// Where rows that are put anew go.
struct NewRows<'t> {
    heap: Heap,
    place: Place,
    table: &'t TableDef,
    shapes: row::Shapes,
    bytes: Vec<u8>,
}

impl NewRows<'_> {
    /// Puts a row as it was stored before.
    fn put(&mut self, old: &[u8]) -> Result<()> {
        let plain =
            large::unpacked(self.place.relations, &self.shapes, old, |column| !self.table.columns[column].dropped)?;
        let row = Row::new(&plain)?;
        let count = row.column_count().min(self.shapes.len());
        let mut values = vec![Datum::Null; count];
        row.decode(&self.shapes[..count], &mut values)?;
        // Nobody wants what a column had that is gone.
        for (value, column) in values.iter_mut().zip(&self.table.columns) {
            if column.dropped {
                *value = Datum::Null;
            }
        }
        self.bytes.clear();
        if !row::encode_short(&self.shapes[..count], &values, large::ROW_TARGET, &mut self.bytes)? {
            self.bytes.clear();
            large::pack(self.place, &self.shapes[..count], &values, None, &mut self.bytes)?;
        }
        self.heap.insert(self.place.command, &self.bytes).map(drop)
    }
}

impl<A: Allocator + Copy> Session<A> {
    /// Puts the rows of a table that is locked alone into a new heap, in the order of an index if one is named, and makes its indexes anew.
    pub(super) fn rewrite_table(&mut self, env: &Environment<'_>, table: &TableDef, order: Option<Oid>) -> Result<()> {
        let Rows::Stored(rows) = table.rows else { return Ok(()) };
        let since = self.own_xid(env)?;
        let relations = env.stored()?;
        let mut new = table.clone();
        super::temporary::storages_of(table).try_for_each(|rel| relations.drop_at_commit(rel))?;
        new.pieces = None;
        self.add_pieces(env, &mut new)?;
        if let (Some(new), Some(old)) = (&mut new.pieces, table.pieces) {
            new.oid = old.oid;
        }
        let storage = relations.create()?;
        relations.succeed(storage, rows)?;
        new.rows = Rows::Stored(storage);
        new.since = since;
        let transactions = relations.storage().transactions;
        let taken = transactions.snapshot();
        let own = transactions.current_xid().unwrap_or(Xid(0));
        let snapshot = taken.at_command(own, self.work.command);
        let reader = Reader { snapshot: &snapshot, pairs: CommandPairs::pairs(&self.work.pairs) };
        let place = Place { relations, heap: new.pieces.map(|pieces| pieces.storage), command: self.work.command };
        let fill = table.options.iter().find(|option| option.0 == "fillfactor");
        let fill = fill.and_then(|option| option.1.parse().ok()).unwrap_or(100);
        let mut into = NewRows {
            heap: relations.heap(storage).with_fill_factor(fill),
            place,
            table,
            shapes: row_shapes(table),
            bytes: Vec::new(),
        };
        let index = order.and_then(|order| table.index(order));
        let copied = copy_rows(relations.heap(rows), index, &reader, &mut into);
        transactions.release(taken);
        copied?;
        // What was put is there for who makes the indexes.
        self.work.command += 1;
        self.indexes_anew(env, &mut new, None)
    }

    /// Gives a table's indexes, or one of them, new storages with entries for the rows that there are, and defines the table with them.
    fn indexes_anew(&mut self, env: &Environment<'_>, table: &mut TableDef, only: Option<Oid>) -> Result<()> {
        let since = self.own_xid(env)?;
        let mut computed = Vec::new();
        for at in 0..table.indexes.len() {
            if only.is_some_and(|only| table.indexes[at].oid != only) {
                continue;
            }
            let (new, old) = (env.stored()?.create()?, table.indexes[at].storage);
            env.stored()?.succeed(new, old)?;
            (table.indexes[at].storage, table.indexes[at].since) = (new, since);
            match table.indexes[at].is_plain() {
                true => self.build_index(env, table, &table.indexes[at])?,
                // Its keys are made by a plan, which knows tables as they are defined.
                false => computed.push(table.indexes[at].oid),
            }
        }
        self.define_tables(env, &mut [&mut *table])?;
        computed.into_iter().try_for_each(|index| self.fill_index(env, table, index))
    }

    /// `CLUSTER`
    pub(super) fn cluster(
        &mut self,
        env: &Environment<'_>,
        path: Option<Path<'_>>,
        index: Option<Name<'_>>,
    ) -> Result<Option<Tag>> {
        const TAG: Option<Tag> = Some(Tag::Words("CLUSTER"));
        self.check_writes(env, "CLUSTER")?;
        let Some(path) = path else {
            self.check_alone("CLUSTER")?;
            let clustered: Vec<(Oid, Oid)> = {
                let definitions = self.definitions(env, &self.work)?;
                definitions.tables().filter_map(|table| Some((table.oid, table.clustered?))).collect()
            };
            self.commit_work(env)?;
            for (table, _) in clustered {
                self.lock_relation(env, table.0, LockMode::AccessExclusive, true)?;
                if let Some(found) = self.lock_definition(env, table)?
                    && found.clustered.is_some()
                    && self.owns(env, found.owner)?
                {
                    self.rewrite_table(env, &found, found.clustered)?;
                }
                self.commit_work(env)?;
            }
            return Ok(TAG);
        };
        let found = self.lock_own_table(env, path, LockMode::AccessExclusive, true, Needs::Ownership)?;
        let mut table = TableDef::clone(&found);
        let order = match index {
            Some(name) => match table.indexes.iter().find(|index| index.name == name.text) {
                Some(index) => index.oid,
                None => {
                    let is_other = self.catalog(env)?.definitions.index_named(table.schema, name.text).is_some();
                    let (state, message) = match is_other {
                        true => (
                            sqlstate::WRONG_OBJECT_TYPE,
                            format!("\"{}\" is not an index for table \"{}\"", name.text, table.name),
                        ),
                        false => (
                            sqlstate::UNDEFINED_OBJECT,
                            format!("index \"{}\" for table \"{}\" does not exist", name.text, table.name),
                        ),
                    };
                    return Err(Error::statement(state, message));
                }
            },
            None => match table.clustered.filter(|order| table.index(*order).is_some()) {
                Some(order) => order,
                None => {
                    let message = format!("there is no previously clustered index for table \"{}\"", table.name);
                    return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
                }
            },
        };
        if let Some(partial) = table.index(order).filter(|index| index.predicate.is_some()) {
            return Err(Error::unsupported(format!("cannot cluster on partial index \"{}\"", partial.name)));
        }
        table.clustered = Some(order);
        self.rewrite_table(env, &table, Some(order))?;
        Ok(TAG)
    }

    /// `REINDEX`
    pub(super) fn reindex(&mut self, env: &Environment<'_>, kind: ReindexKind, path: Path<'_>) -> Result<Option<Tag>> {
        const TAG: Option<Tag> = Some(Tag::Words("REINDEX"));
        self.check_writes(env, "REINDEX")?;
        match kind {
            ReindexKind::Index => {
                let (named, name) = split(path, self.database_name())?;
                let found = {
                    let catalog = self.catalog(env)?;
                    let schemas = match named {
                        Some(schema) => catalog.schema(schema).into_iter().collect(),
                        None => catalog.path.searched.clone(),
                    };
                    let found = schemas.iter().find_map(|schema| catalog.definitions.index_named(*schema, name));
                    let found = found.map(|(table, index)| (table.oid, index));
                    if found.is_none() && catalog.find(named, name)?.is_some() {
                        let message = format!("\"{name}\" is not an index");
                        return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
                    }
                    found
                };
                let Some((table, index)) = found else {
                    let message = format!("relation \"{}\" does not exist", shown(path));
                    return Err(Error::statement(sqlstate::UNDEFINED_TABLE, message));
                };
                self.check_owns_index(env, table, name)?;
                self.reindex_table(env, table, Some(index))?;
            }
            ReindexKind::Table => {
                let found = self.lock_table(env, path, LockMode::Share, true, Needs::Ownership)?;
                let found = found.ok_or_else(|| missing(path))?;
                check_own(&found)?;
                self.reindex_table(env, found.oid, None)?;
            }
            ReindexKind::System => self.check_alone("REINDEX SYSTEM")?,
            ReindexKind::Schema | ReindexKind::Database => {
                let is_schema = kind == ReindexKind::Schema;
                self.check_alone(if is_schema { "REINDEX SCHEMA" } else { "REINDEX DATABASE" })?;
                let wanted = match is_schema {
                    true => {
                        let (_, name) = split(path, self.database_name())?;
                        let Some(oid) = self.catalog(env)?.schema(name) else {
                            let message = format!("schema \"{name}\" does not exist");
                            return Err(Error::statement(sqlstate::INVALID_SCHEMA_NAME, message));
                        };
                        self.must_own_schema(env, oid, name)?;
                        Some(oid)
                    }
                    false => {
                        let definitions = self.definitions(env, &self.work)?;
                        if !matches!(*path, [name] if name.text == self.database_name()) {
                            return Err(Error::unsupported("can only reindex the currently open database"));
                        }
                        if !self.owns(env, definitions.own_owner())? {
                            return Err(not_owner("database", self.database_name()));
                        }
                        None
                    }
                };
                let tables: Vec<Oid> = {
                    let own = env.session.map(schema::temporary);
                    let definitions = self.definitions(env, &self.work)?;
                    let is_wanted = |table: &TableDef| match wanted {
                        Some(wanted) => table.schema == wanted,
                        None => !schema::is_temporary(table.schema) || Some(table.schema) == own,
                    };
                    let tables = definitions.tables().filter(|table| is_wanted(table));
                    tables.filter(|table| table.kind == RelationKind::Table).map(|table| table.oid).collect()
                };
                self.commit_work(env)?;
                for table in tables {
                    self.reindex_table(env, table, None)?;
                    self.commit_work(env)?;
                }
            }
        }
        Ok(TAG)
    }

    /// Makes the indexes of a table anew, or one of them.
    fn reindex_table(&mut self, env: &Environment<'_>, oid: Oid, only: Option<Oid>) -> Result<()> {
        // Readers would look into an index that goes when this commits.
        self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
        let Some(found) = self.lock_definition(env, oid)? else { return Ok(()) };
        self.own_xid(env)?;
        for index in found.indexes.iter().filter(|index| only.is_none_or(|only| index.oid == only)) {
            env.stored()?.drop_at_commit(index.storage)?;
        }
        self.indexes_anew(env, &mut TableDef::clone(&found), only)
    }
}

/// Puts all rows that a reader sees into a new heap.
fn copy_rows(heap: Heap, order: Option<&IndexDef>, reader: &Reader<'_>, into: &mut NewRows<'_>) -> Result<()> {
    let Some(index) = order else {
        let (mut scan, mut batch) = (heap.scan()?, Batch::new());
        while heap.next_page(&mut scan, reader, &mut batch)? {
            for (_, row) in batch.rows() {
                into.put(row)?;
            }
        }
        return Ok(());
    };
    let tree = heap.relations().btree(index.storage);
    let mut cursor = tree.scan((Bound::Unbounded, Bound::Unbounded), Direction::Forward, false);
    while let Some(tid) = tree.next(&mut cursor)? {
        crate::exec::breathe()?;
        if let Some(row) = heap.fetch(reader, tid, |_, row| row.to_vec())?.row() {
            into.put(&row)?;
        }
    }
    Ok(())
}
