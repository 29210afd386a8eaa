//! Indexes: `CREATE INDEX`, `DROP INDEX`, and making one from the rows that are there.
//!
//! A new index on a table with rows is built from the keys of the rows that live, sorted: see
//! [`storage::heap::live`]. The table's lock keeps writers out meanwhile.

use super::define::{Change, check_own, free_name, is_taken, shown, taken};
use super::owner::Needs;
use crate::catalog::definition::{ConstraintDef, ConstraintKind, IndexColumn, IndexDef, Rows, TableDef};
use crate::catalog::privilege;
use crate::catalog::split;
use crate::key::{self, KeyColumn};
use crate::parser::ast::{CreateIndex, ExprKind, Path, StorageOption};
use crate::row::{Row, Shapes, shapes};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Arena, Datum, Oid, Type, io, table, typmod};
use allocator_api2::alloc::Allocator;
use base::settings::{MessageLevel, SettingId};
use base::{Error, RelId, Result, sqlstate};
use storage::btree::Sorter;
use storage::heap::Heap;
use storage::page::Tid;
use storage::txn::LockMode;

/// The most columns of an index: PostgreSQL's limit.
const COLUMNS_MAX: usize = 32;

/// How a key is made from a table's rows.
pub(crate) struct KeyMaker {
    shapes: Shapes,
    parts: Vec<(usize, KeyColumn)>,
    arena: Arena,
}

impl KeyMaker {
    /// For a table and the columns of an index.
    pub(crate) fn new(table: &TableDef, columns: &[IndexColumn]) -> KeyMaker {
        KeyMaker { shapes: row_shapes(table), parts: key_parts(table, columns), arena: Arena::new() }
    }

    /// Appends a row's key to `out`; answers whether a column of it is null.
    pub(crate) fn key(&mut self, row: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let row = Row::new(row)?;
        let mut has_null = false;
        for &(column, part) in &self.parts {
            let value = row.get(&self.shapes, column)?;
            has_null |= value.is_null();
            key::encode_column(part, value, out)?;
        }
        Ok(has_null)
    }

    /// The values of a row's key as messages show them: `1, x`.
    fn shown(&self, key: &[u8], types: &[Oid], style: &crate::types::datetime::Style<'_>) -> Result<String> {
        let columns: Vec<KeyColumn> = self.parts.iter().map(|part| part.1).collect();
        let mut values = vec![Datum::Null; columns.len()];
        key::decode(&columns, types, key, &self.arena, &mut values)?;
        show_values(&values, types, style)
    }

    fn has_null(&self, key: &[u8], types: &[Oid]) -> Result<bool> {
        let columns: Vec<KeyColumn> = self.parts.iter().map(|part| part.1).collect();
        let arena = Arena::new();
        let mut values = vec![Datum::Null; columns.len()];
        key::decode(&columns, types, key, &arena, &mut values)?;
        Ok(values.iter().any(|value| value.is_null()))
    }
}

/// Values as messages show them.
pub(crate) fn show_values(
    values: &[Datum<'_>],
    types: &[Oid],
    style: &crate::types::datetime::Style<'_>,
) -> Result<String> {
    let mut text = Vec::new();
    for (at, (value, oid)) in values.iter().zip(types).enumerate() {
        if at > 0 {
            text.extend_from_slice(b", ");
        }
        match value.is_null() {
            true => text.extend_from_slice(b"null"),
            false => io::output(table::kind(*oid), *value, style, &mut text)?,
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// How a table's rows are read.
pub(crate) fn row_shapes(def: &TableDef) -> Shapes {
    shapes(def.columns.iter().map(|column| table::kind(column.ty.oid)))
}

/// A table's columns as those of a key.
pub(crate) fn key_parts(def: &TableDef, columns: &[IndexColumn]) -> Vec<(usize, KeyColumn)> {
    let part = |column: &IndexColumn| {
        let at = usize::from(column.column);
        let kind = table::kind(def.columns[at].ty.oid);
        (at, KeyColumn { kind, descending: column.descending, nulls_first: column.nulls_first })
    };
    columns.iter().map(part).collect()
}

/// Goes over the rows of a table that live: `copy` takes what it wants of each under the page's latch, `each` is called for every
/// one of them after that, with the place that indexes know.
pub(crate) fn over_rows(
    heap: Heap,
    mut copy: impl FnMut(&[u8], &mut Vec<u8>) -> Result<()>,
    mut each: impl FnMut(&[u8], Tid) -> Result<()>,
) -> Result<()> {
    let mut scan = heap.scan()?;
    let (mut bytes, mut ends): (Vec<u8>, Vec<(usize, Tid)>) = (Vec::new(), Vec::new());
    loop {
        bytes.clear();
        ends.clear();
        let mut failed = Ok(());
        let more = heap.visit_live(&mut scan, |root, row| {
            if failed.is_ok() {
                failed = copy(row, &mut bytes);
                ends.push((bytes.len(), root));
            }
        })?;
        failed?;
        let mut start = 0;
        for &(end, root) in &ends {
            each(&bytes[start..end], root)?;
            start = end;
        }
        if !more {
            return Ok(());
        }
    }
}

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn create_index<O: Output>(
        &mut self,
        env: &Environment<'_>,
        create: &CreateIndex<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        self.check_writes(env, "CREATE INDEX")?;
        if create.concurrently {
            return Err(Error::unsupported("CREATE INDEX CONCURRENTLY is not supported")
                .hint("CREATE INDEX lets others read the table, and makes those wait who change it."));
        }
        if create.filter.is_some() {
            return Err(Error::unsupported("partial indexes are not supported")
                .hint("An index without WHERE serves the same queries."));
        }
        if let Some(method) = create.method
            && method.text != "btree"
        {
            if ["hash", "gin", "gist", "spgist", "brin"].contains(&method.text) {
                return Err(Error::unsupported(format!("access method \"{}\" is not supported", method.text))
                    .hint("Use btree."));
            }
            let message = format!("access method \"{}\" does not exist", method.text);
            return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
        }
        let found = self.lock_own_table(env, create.table, LockMode::Share, true, Needs::Ownership)?;
        self.check_schema(env, found.schema, privilege::CREATE)?;
        let mut table = TableDef::clone(&found);
        let mut columns = Vec::with_capacity(create.columns.len());
        let mut names = Vec::with_capacity(create.columns.len());
        for item in create.columns {
            let ExprKind::Column([name]) = item.expr.kind else {
                return Err(Error::unsupported("indexes on expressions are not supported"));
            };
            let column = table.column(name.text).ok_or_else(|| {
                let message = format!("column \"{}\" does not exist", name.text);
                Error::statement(sqlstate::UNDEFINED_COLUMN, message)
            })?;
            names.push(name.text);
            columns.push(IndexColumn {
                column: column as u16,
                descending: item.descending,
                nulls_first: item.nulls_first.unwrap_or(item.descending),
            });
        }
        let options = index_options(create.options)?;
        let name = match create.name {
            Some(name) => name.text.to_owned(),
            None => {
                let catalog = self.catalog(env)?;
                let is_free = |name: &str| !is_taken(&catalog, table.schema, name);
                free_name(&table.name, &names.join("_"), "idx", is_free)
            }
        };
        self.lock_name(env, table.schema, &name)?;
        if is_taken(&self.catalog(env)?, table.schema, &name) {
            if create.if_not_exists {
                let message = format!("relation \"{name}\" already exists, skipping");
                out.notice(MessageLevel::Notice, &Error::statement(sqlstate::DUPLICATE_TABLE, message));
                return Ok(Some(Tag::Words("CREATE INDEX")));
            }
            return Err(taken(&name));
        }
        let mut index = self.new_index(env, &table, name, columns, create.unique, true)?;
        index.options = options;
        table.indexes.push(index);
        self.define_tables(env, &mut [&mut table])?;
        Ok(Some(Tag::Words("CREATE INDEX")))
    }

    /// Makes an index of a table, from the rows that are there if there may be some. The definition is the caller's to write.
    pub(crate) fn new_index(
        &mut self,
        env: &Environment<'_>,
        table: &TableDef,
        name: String,
        columns: Vec<IndexColumn>,
        unique: bool,
        has_rows: bool,
    ) -> Result<IndexDef> {
        if columns.len() > COLUMNS_MAX {
            let message = format!("cannot use more than {COLUMNS_MAX} columns in an index");
            return Err(Error::statement(sqlstate::TOO_MANY_COLUMNS, message));
        }
        for column in &columns {
            let ty = table.columns[usize::from(column.column)].ty;
            if !key::is_orderable(table::kind(ty.oid)) {
                let shown = typmod::format_type(Type::plain(ty.oid));
                let message = format!("data type {shown} has no default operator class for access method \"btree\"");
                return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message).hint(
                    "You must specify an operator class for the index or define a default operator class \
                           for the data type.",
                ));
            }
        }
        let since = self.own_xid(env)?;
        let relations = env.stored()?;
        let storage = relations.create()?;
        match has_rows {
            true => self.build_index(env, table, &name, storage, &columns, unique)?,
            false => relations.btree(storage).create()?,
        }
        Ok(IndexDef {
            oid: self.new_oid(env)?,
            name,
            storage,
            unique,
            primary: false,
            constraint: None,
            columns,
            options: Vec::new(),
            since,
            usable: true,
        })
    }

    fn build_index(
        &self,
        env: &Environment<'_>,
        table: &TableDef,
        name: &str,
        storage: RelId,
        columns: &[IndexColumn],
        unique: bool,
    ) -> Result<()> {
        const KILOBYTE: usize = 1024;
        let relations = env.stored()?;
        let Rows::Stored(rows) = table.rows else { return Ok(()) };
        let memory = self.view(env).value(SettingId::MaintenanceWorkMem).number().max(0) as usize * KILOBYTE;
        let mut maker = KeyMaker::new(table, columns);
        let mut sorter = Sorter::new(relations, memory);
        over_rows(relations.heap(rows), |row, out| maker.key(row, out).map(drop), |key, root| sorter.push(key, root))?;
        let types: Vec<Oid> = columns.iter().map(|column| table.columns[usize::from(column.column)].ty.oid).collect();
        // Keys with a null may be there twice; only one that is there twice is looked at so closely.
        let mut builder = relations.btree(storage).build(false)?;
        let mut last: Option<Vec<u8>> = None;
        sorter.finish(|key, root| {
            if unique {
                if last.as_deref() == Some(key) && !maker.has_null(key, &types)? {
                    let styles = self.styles(env)?;
                    let style = styles.style(self.transaction.started_at());
                    let names: Vec<&str> =
                        columns.iter().map(|column| table.columns[usize::from(column.column)].name.as_str()).collect();
                    let values = maker.shown(key, &types, &style)?;
                    let message = format!("could not create unique index \"{name}\"");
                    return Err(Error::statement(sqlstate::UNIQUE_VIOLATION, message)
                        .detail(format!("Key ({})=({values}) is duplicated.", names.join(", "))));
                }
                let last = last.get_or_insert_with(Vec::new);
                last.clear();
                last.extend_from_slice(key);
            }
            builder.push(key, root).map(drop)
        })?;
        builder.finish().map(drop)
    }

    pub(super) fn drop_indexes<O: Output>(
        &mut self,
        env: &Environment<'_>,
        paths: &[Path<'_>],
        if_exists: bool,
        out: &mut O,
    ) -> Result<()> {
        for path in paths {
            let (schema, name) = split(path)?;
            let found = {
                let catalog = self.catalog(env)?;
                let schemas = match schema {
                    Some(schema) => catalog.schema(schema).into_iter().collect(),
                    None => catalog.path.searched.clone(),
                };
                let found = schemas.iter().find_map(|schema| catalog.definitions.index_named(*schema, name));
                let found = found.map(|(table, index)| (table.oid, index));
                if found.is_none() && catalog.find(schema, name)?.is_some() {
                    let message = format!("\"{name}\" is not an index");
                    return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message)
                        .hint("Use DROP TABLE to remove a table."));
                }
                found
            };
            let Some((table, index)) = found else {
                let message = format!("index \"{}\" does not exist", shown(path));
                if !if_exists {
                    return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
                }
                let message = format!("{message}, skipping");
                out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
                continue;
            };
            self.check_owns_index(env, table, name)?;
            self.lock_relation(env, table.0, LockMode::AccessExclusive, true)?;
            let gone = || {
                let message = format!("index \"{}\" does not exist", shown(path));
                Error::statement(sqlstate::UNDEFINED_OBJECT, message)
            };
            let found = self.lock_definition(env, table)?.ok_or_else(gone)?;
            check_own(&found)?;
            let mut table = TableDef::clone(&found);
            let at = table.indexes.iter().position(|known| known.oid == index).ok_or_else(gone)?;
            self.check_unreferred(env, &table, index, name)?;
            if let Some(constraint) = table.indexes[at].constraint {
                let constraint = table.constraints.iter().find(|known| known.oid == constraint);
                let constraint = constraint.map_or("", |known| known.name.as_str());
                let message = format!(
                    "cannot drop index {name} because constraint {constraint} on table {} requires it",
                    table.name
                );
                return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .hint(format!("You can drop constraint {constraint} on table {} instead.", table.name)));
            }
            self.own_xid(env)?;
            env.stored()?.drop_at_commit(table.indexes[at].storage)?;
            table.indexes.remove(at);
            self.define_tables(env, &mut [&mut table])?;
        }
        Ok(())
    }

    /// No foreign key needs the index.
    fn check_unreferred(&self, env: &Environment<'_>, table: &TableDef, index: Oid, name: &str) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        for referrer in &table.referenced_by {
            let Some(other) = definitions.table(referrer.table) else { continue };
            let needs = |known: &&ConstraintDef| {
                known.oid == referrer.constraint
                    && matches!(&known.kind, ConstraintKind::ForeignKey(key) if key.index == index)
            };
            if let Some(found) = other.constraints.iter().find(needs)
                && table.indexes.iter().any(|known| known.oid == index && known.constraint.is_none())
            {
                let message = format!("cannot drop index {name} because other objects depend on it");
                return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .detail(format!("constraint {} on table {} depends on index {name}", found.name, other.name))
                    .hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
        }
        Ok(())
    }

    /// What is written for a table that goes.
    pub(crate) fn drop_storage(&mut self, env: &Environment<'_>, table: &TableDef) -> Result<[Change; 4]> {
        self.own_xid(env)?;
        let relations = env.stored()?;
        if let Rows::Stored(rows) = table.rows {
            relations.drop_at_commit(rows)?;
        }
        for index in &table.indexes {
            relations.drop_at_commit(index.storage)?;
        }
        Ok(Change::drop_table(table.oid))
    }
}

/// The options of an index.
pub(crate) fn index_options(options: &[StorageOption<'_>]) -> Result<Vec<(String, String)>> {
    storage_options(options, 10)
}

/// The options of a table or an index: the fill factor, as far as it does something.
pub(crate) fn storage_options(options: &[StorageOption<'_>], least: i64) -> Result<Vec<(String, String)>> {
    const KNOWN: [&str; 7] = [
        "autovacuum_",
        "toast",
        "parallel_workers",
        "user_catalog_table",
        "vacuum_",
        "deduplicate_items",
        "log_autovacuum_min_duration",
    ];
    let mut found: Vec<(String, String)> = Vec::new();
    for option in options {
        let name = option.name.text;
        if KNOWN.iter().any(|known| name.starts_with(known)) {
            return Err(Error::unsupported(format!("storage parameter \"{name}\" is not supported")));
        }
        if name != "fillfactor" {
            let message = format!("unrecognized parameter \"{name}\"");
            return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        let value = option.value.unwrap_or("true");
        let number: i64 = value.parse().map_err(|_| {
            let message = format!("invalid value for integer option \"{name}\": {value}");
            Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
        })?;
        if !(least..=100).contains(&number) {
            let message = format!("value {value} out of bounds for option \"{name}\"");
            return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
                .detail(format!("Valid values are between \"{least}\" and \"100\".")));
        }
        if found.iter().any(|known| known.0 == name) {
            let message = format!("parameter \"{name}\" specified more than once");
            return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        found.push((name.to_owned(), number.to_string()));
    }
    Ok(found)
}
