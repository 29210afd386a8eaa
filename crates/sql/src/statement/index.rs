//! Indexes: `CREATE INDEX`, `DROP INDEX`, and making one from the rows that are there.
//!
//! A new index on a table with rows is built from the keys of the rows that live, sorted: see
//! [`storage::heap::live`]. The table's lock keeps writers out meanwhile.

use super::define::{Change, check_own, free_name, is_taken, shown, taken};
use super::owner::Needs;
use crate::bind::index::Described;
use crate::bind::{self, Setting};
use crate::catalog::definition::{ConstraintDef, ConstraintKind, IndexColumn, IndexDef, Rows, TableDef};
use crate::catalog::lazy::LazyCatalog;
use crate::catalog::privilege;
use crate::catalog::split;
use crate::catalog::system;
use crate::exec::Exec;
use crate::exec::target::RowKey;
use crate::key::{self, KeyColumn};
use crate::large;
use crate::parser::ast::{CreateIndex, ExprKind, Name, Path, SourceExpr, StorageOption};
use crate::plan::Plan;
use crate::row::{self, Row, Shape, Shapes, shapes};
use crate::session::run::Compiled;
use crate::session::work::Work;
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Arena, Datum, Oid, Type, io, table, typmod};
use allocator_api2::alloc::Allocator;
use base::settings::{MessageLevel, SettingId};
use base::{Error, Result, sqlstate};
use bumpalo::Bump;
use kernel::fiber::on_engine_stack;
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
}

impl KeyMaker {
    /// For a table and an index that is plain.
    pub(crate) fn new(table: &TableDef, index: &IndexDef) -> KeyMaker {
        let columns = index.key_columns().unwrap_or_default().into_iter().map(usize::from);
        let parts = columns.zip(key_columns(table, index)).collect();
        KeyMaker { shapes: row_shapes(table), parts }
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

/// The columns of an index as those of a key.
fn key_columns(def: &TableDef, index: &IndexDef) -> Vec<KeyColumn> {
    let part = |(at, column): (usize, &IndexColumn)| KeyColumn {
        kind: table::kind(index.column_type(def, at).oid),
        descending: column.descending,
        nulls_first: column.nulls_first,
    };
    index.columns.iter().enumerate().map(part).collect()
}

/// Goes over the rows of a table that live: `copy` takes what it wants of each under the page's latch, `each` is called for every
/// one of them after that, with the place that indexes know. Values of the columns that are named are whole when `copy` sees them.
pub(crate) fn over_rows(
    heap: Heap,
    (shapes, columns): (&[Shape], &[usize]),
    mut copy: impl FnMut(&[u8], &mut Vec<u8>) -> Result<()>,
    mut each: impl FnMut(&[u8], Tid) -> Result<()>,
) -> Result<()> {
    let mut scan = heap.scan()?;
    let (mut bytes, mut ends): (Vec<u8>, Vec<(usize, Tid)>) = (Vec::new(), Vec::new());
    let mut packed: Vec<(Tid, Vec<u8>)> = Vec::new();
    loop {
        bytes.clear();
        ends.clear();
        let mut failed = Ok(());
        let more = heap.visit_live(&mut scan, |root, row| {
            if row::has_packed(row) {
                packed.push((root, row.to_vec()));
            } else if failed.is_ok() {
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
        for (root, row) in packed.drain(..) {
            bytes.clear();
            copy(&large::unpacked(heap.relations(), shapes, &row, |column| columns.contains(&column))?, &mut bytes)?;
            each(&bytes, root)?;
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
        text: &str,
        create: &CreateIndex<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        self.check_writes(env, "CREATE INDEX")?;
        if create.concurrently {
            self.check_alone("CREATE INDEX CONCURRENTLY")?;
        }
        check_method(create.method)?;
        check_tablespace(create.tablespace)?;
        let found = self.lock_own_table(env, create.table, LockMode::Share, true, Needs::Ownership)?;
        self.check_schema(env, found.schema, privilege::CREATE)?;
        let mut table = TableDef::clone(&found);
        let mut index = IndexDef::new(String::new(), Vec::with_capacity(create.columns.len()), create.unique);
        let mut written = Vec::new();
        for item in create.columns {
            let column = match item.expr.expr.kind {
                ExprKind::Column([name]) => Some(column_named(&table, name.text)?),
                _ => {
                    written.push(item.expr);
                    None
                }
            };
            index.columns.push(IndexColumn {
                column,
                descending: item.descending,
                nulls_first: item.nulls_first.unwrap_or(item.descending),
                pattern: false,
            });
        }
        for name in create.included {
            index.included.push(column_named(&table, name.text)?);
        }
        if !written.is_empty() || create.filter.is_some() {
            let described = self.describe_index(env, text, &table, &written, create.filter.as_ref())?;
            (index.expressions, index.predicate) = (described.expressions, described.predicate);
        }
        for (at, item) in create.columns.iter().enumerate() {
            if let Some(class) = item.class {
                index.columns[at].pattern =
                    check_class(class, index.column_type(&table, at).oid, self.database_name())?;
            }
        }
        index.nulls_distinct = !create.nulls_equal;
        index.options = index_options(create.options)?;
        let name = match create.name {
            Some(name) => name.text.to_owned(),
            None => {
                let mut names = column_names(&table, &index);
                names.extend(index.included.iter().map(|column| table.columns[usize::from(*column)].name.clone()));
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
        index.name = name;
        let index = self.new_index(env, &table, index, true)?;
        let (oid, is_plain) = (index.oid, index.is_plain());
        table.indexes.push(index);
        self.define_tables(env, &mut [&mut table])?;
        if !is_plain {
            self.fill_index(env, &table, oid)?;
        }
        Ok(Some(Tag::Words("CREATE INDEX")))
    }

    /// Binds the expressions of a new index.
    pub(super) fn describe_index(
        &self,
        env: &Environment<'_>,
        text: &str,
        table: &TableDef,
        expressions: &[SourceExpr<'_>],
        predicate: Option<&SourceExpr<'_>>,
    ) -> Result<Described> {
        self.bound_apart(env, text, |setting, arena, bump| {
            bind::index::describe(table, expressions, predicate, setting, arena, bump)
        })
    }

    /// Binds something that is no statement of its own.
    pub(super) fn bound_apart<T>(
        &self,
        env: &Environment<'_>,
        text: &str,
        work: impl FnOnce(&Setting<'_>, &Arena, &Bump) -> Result<T>,
    ) -> Result<T> {
        let styles = self.styles(env)?;
        let style = styles.style(self.transaction.started_at());
        let catalog = self.catalog(env)?;
        on_engine_stack(|| {
            let (arena, bump) = (Arena::new(), Bump::new());
            let setting = Setting {
                catalog: &catalog,
                text,
                slots: &[],
                style,
                client_types: &[],
                new_parameters: false,
                variables: &[],
                values: &[],
            };
            work(&setting, &arena, &bump)
        })
    }

    /// Makes an index of a table, from the rows that are there if there may be some. The definition is the caller's to write; of an
    /// index that is not plain the rows come after that ([`Session::fill_index`]).
    pub(crate) fn new_index(
        &mut self,
        env: &Environment<'_>,
        table: &TableDef,
        mut index: IndexDef,
        has_rows: bool,
    ) -> Result<IndexDef> {
        if index.columns.len() + index.included.len() > COLUMNS_MAX {
            let message = format!("cannot use more than {COLUMNS_MAX} columns in an index");
            return Err(Error::statement(sqlstate::TOO_MANY_COLUMNS, message));
        }
        check_orderable(table, &index)?;
        index.since = self.own_xid(env)?;
        let relations = env.stored()?;
        index.storage = relations.create()?;
        index.oid = self.new_oid(env)?;
        match has_rows {
            true if index.is_plain() => self.build_index(env, table, &index)?,
            true => {}
            false => relations.btree(index.storage).create()?,
        }
        Ok(index)
    }

    pub(super) fn build_index(&self, env: &Environment<'_>, table: &TableDef, index: &IndexDef) -> Result<()> {
        let relations = env.stored()?;
        let Rows::Stored(rows) = table.rows else { return Ok(()) };
        let mut maker = KeyMaker::new(table, index);
        let mut sorter = Sorter::new(relations, self.sort_memory(env), self.view(env).temp_file_limit());
        let in_key: Vec<usize> = index.key_columns().unwrap_or_default().into_iter().map(usize::from).collect();
        let key_of = |row: &[u8], out: &mut Vec<u8>| maker.key(row, out).map(drop);
        over_rows(relations.heap(rows), (&row_shapes(table), &in_key), key_of, |key, root| sorter.push(key, root))?;
        self.finish_index(env, table, index, sorter)
    }

    fn sort_memory(&self, env: &Environment<'_>) -> usize {
        const KILOBYTE: usize = 1024;
        self.view(env).value(SettingId::MaintenanceWorkMem).number().max(0) as usize * KILOBYTE
    }

    /// Makes the tree of sorted keys.
    fn finish_index(&self, env: &Environment<'_>, table: &TableDef, index: &IndexDef, sorter: Sorter) -> Result<()> {
        let types: Vec<Oid> = (0..index.columns.len()).map(|at| index.column_type(table, at).oid).collect();
        let columns = key_columns(table, index);
        let arena = Arena::new();
        // Keys with a null may be there twice; only one that is there twice is looked at so closely.
        let mut builder = env.stored()?.btree(index.storage).build(false)?;
        let mut last: Option<Vec<u8>> = None;
        sorter.finish(|key, root| {
            if index.unique {
                if last.as_deref() == Some(key) {
                    let key = arena.copy(key)?;
                    let mut values = vec![Datum::Null; columns.len()];
                    key::decode(&columns, &types, key, &arena, &mut values)?;
                    if !index.nulls_distinct || !values.iter().any(|value| value.is_null()) {
                        let styles = self.styles(env)?;
                        let style = styles.style(self.transaction.started_at());
                        let names: Vec<String> =
                            (0..columns.len()).map(|at| system::index_column(table, index, at, false)).collect();
                        let message = format!("could not create unique index \"{}\"", index.name);
                        return Err(Error::statement(sqlstate::UNIQUE_VIOLATION, message).detail(format!(
                            "Key ({})=({}) is duplicated.",
                            names.join(", "),
                            show_values(&values, &types, &style)?
                        )));
                    }
                }
                let last = last.get_or_insert_with(Vec::new);
                last.clear();
                last.extend_from_slice(key);
            }
            builder.push(key, root).map(drop)
        })?;
        builder.finish().map(drop)
    }

    /// Fills an index that is not plain from the rows that are there, when the table is defined with it: keys are made by the programs
    /// of an `INSERT` into the table.
    pub(super) fn fill_index(&mut self, env: &Environment<'_>, table: &TableDef, index: Oid) -> Result<()> {
        let text = format!("insert into {} default values", self.full_name(env, table)?);
        let trusted = std::mem::replace(&mut self.trusted, true);
        let compiled = self.compile(env, &text, (0, text.len()), &[], &[], false);
        self.trusted = trusted;
        let Ok(Compiled::Plan(plan)) = compiled? else {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "an INSERT has no plan"));
        };
        let mut work = self.take_work();
        let filled = self.fill_by(env, &mut work, table, index, &plan);
        self.work = work;
        filled
    }

    fn fill_by(
        &self,
        env: &Environment<'_>,
        work: &mut Work<A>,
        table: &TableDef,
        index: Oid,
        plan: &[u8],
    ) -> Result<()> {
        let (Some(plan), Some(index), Rows::Stored(rows)) = (Plan::new(plan), table.index(index), table.rows) else {
            return Ok(());
        };
        let relations = env.stored()?;
        let styles = self.styles(env)?;
        let style = styles.style(self.transaction.started_at());
        let catalog = self.catalog_in(env, work)?;
        let tables = self.open_tables(env, work)?;
        let snapshot = tables.snapshot;
        let view = self.view(env);
        let around = self.around(env, LazyCatalog::made(&catalog), &view, style);
        let mut exec = Exec::new(plan, &around, Some(tables));
        let mut sorter = Sorter::new(relations, self.sort_memory(env), self.view(env).temp_file_limit());
        let mut key = Vec::new();
        let copy = |row: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(row);
            Ok(())
        };
        // An expression may read any of them.
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let pushed = over_rows(relations.heap(rows), (&row_shapes(table), &all), copy, |row, root| {
            key.clear();
            match exec.stored_key(index.oid, row, &mut key)? {
                RowKey::None => Ok(()),
                RowKey::Unique | RowKey::Any => sorter.push(&key, root),
            }
        });
        drop(exec);
        self.close_tables(env, work, snapshot, false, 0);
        pushed?;
        self.finish_index(env, table, index, sorter)
    }

    pub(super) fn drop_indexes<O: Output>(
        &mut self,
        env: &Environment<'_>,
        paths: &[Path<'_>],
        if_exists: bool,
        out: &mut O,
    ) -> Result<()> {
        for path in paths {
            let (schema, name) = split(path, self.database_name())?;
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
        if let Some(pieces) = table.pieces {
            relations.drop_at_commit(pieces.storage)?;
        }
        Ok(Change::drop_table(table.oid))
    }
}

/// A column of a table, by its name.
fn column_named(table: &TableDef, name: &str) -> Result<u16> {
    table.column(name).map(|column| column as u16).ok_or_else(|| {
        let message = format!("column \"{name}\" does not exist");
        Error::statement(sqlstate::UNDEFINED_COLUMN, message)
    })
}

/// Have the types of an index an order?
pub(super) fn check_orderable(table: &TableDef, index: &IndexDef) -> Result<()> {
    for at in 0..index.columns.len() {
        let ty = index.column_type(table, at);
        if ty.oid == Oid::RECORD || ty.oid == Oid::RECORD_ARRAY {
            let name = index.expression(at).map_or("", |expression| expression.name.as_str());
            let message = format!("column \"{name}\" has pseudo-type {}", typmod::format_type(Type::plain(ty.oid)));
            return Err(Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message));
        }
        if !key::is_orderable(table::kind(ty.oid)) {
            let shown = typmod::format_type(Type::plain(ty.oid));
            let message = format!("data type {shown} has no default operator class for access method \"btree\"");
            return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message).hint(
                "You must specify an operator class for the index or define a default operator class \
                       for the data type.",
            ));
        }
    }
    Ok(())
}

/// What the columns of an index are called, each differently.
pub(crate) fn column_names(table: &TableDef, index: &IndexDef) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(index.columns.len());
    for (at, part) in index.columns.iter().enumerate() {
        let name = match (part.column, index.expression(at)) {
            (Some(column), _) => table.columns[usize::from(column)].name.as_str(),
            (None, expression) => expression.map_or("expr", |expression| expression.name.as_str()),
        };
        let numbered = std::iter::once(name.to_owned()).chain((1..).map(|number| format!("{name}{number}")));
        names.extend(numbered.into_iter().find(|name| !names.contains(name)));
    }
    names
}

fn check_method(method: Option<Name<'_>>) -> Result<()> {
    let Some(method) = method.filter(|method| method.text != "btree") else { return Ok(()) };
    if ["hash", "gin", "gist", "spgist", "brin"].contains(&method.text) {
        return Err(
            Error::unsupported(format!("access method \"{}\" is not supported", method.text)).hint("Use btree.")
        );
    }
    let message = format!("access method \"{}\" does not exist", method.text);
    Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message))
}

/// The one tablespace that is there.
pub(crate) fn check_tablespace(space: Option<Name<'_>>) -> Result<()> {
    let Some(space) = space.filter(|space| space.text != "pg_default") else { return Ok(()) };
    let message = format!("tablespace \"{}\" does not exist", space.text);
    Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message))
}

/// Operator classes, with the types that they take. All do the same: there is one order of values.
const CLASSES: [(&str, &[Oid]); 25] = [
    ("array_ops", &[]),
    ("bool_ops", &[Oid::BOOL]),
    ("bpchar_ops", &[Oid::BPCHAR]),
    ("bpchar_pattern_ops", &[Oid::BPCHAR]),
    ("bytea_ops", &[Oid::BYTEA]),
    ("char_ops", &[Oid::CHAR]),
    ("date_ops", &[Oid::DATE]),
    ("enum_ops", &[]),
    ("float4_ops", &[Oid::FLOAT4]),
    ("float8_ops", &[Oid::FLOAT8]),
    ("int2_ops", &[Oid::INT2]),
    ("int4_ops", &[Oid::INT4]),
    ("int8_ops", &[Oid::INT8]),
    ("interval_ops", &[Oid::INTERVAL]),
    ("jsonb_ops", &[Oid::JSONB]),
    ("name_ops", &[Oid::NAME]),
    ("numeric_ops", &[Oid::NUMERIC]),
    ("oid_ops", &[Oid::OID]),
    ("text_ops", &[Oid::TEXT, Oid::VARCHAR]),
    ("text_pattern_ops", &[Oid::TEXT, Oid::VARCHAR]),
    ("time_ops", &[Oid::TIME]),
    ("timestamp_ops", &[Oid::TIMESTAMP]),
    ("timestamptz_ops", &[Oid::TIMESTAMPTZ]),
    ("uuid_ops", &[Oid::UUID]),
    ("varchar_pattern_ops", &[Oid::TEXT, Oid::VARCHAR]),
];

/// Is the class one for patterns? Errors: `42704` if there is none, `42804` if it does not take the type.
fn check_class(path: Path<'_>, ty: Oid, database: &str) -> Result<bool> {
    let (_, name) = split(path, database)?;
    let name = if name == "varchar_ops" { "text_ops" } else { name };
    let Some((class, types)) = CLASSES.iter().find(|known| known.0 == name) else {
        let message = format!("operator class \"{}\" does not exist for access method \"btree\"", shown(path));
        return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
    };
    if !types.is_empty() && !types.contains(&ty) {
        let shown = typmod::format_type(Type::plain(ty));
        let message = format!("operator class \"{class}\" does not accept data type {shown}");
        return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message));
    }
    Ok(class.ends_with("pattern_ops"))
}

/// The options of an index.
pub(crate) fn index_options(options: &[StorageOption<'_>]) -> Result<Vec<(String, String)>> {
    super::storage_option::of_index(options)
}
