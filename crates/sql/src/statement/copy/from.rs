//! Rows from the client into a table.
//!
//! ```text
//!  pieces -> lines -> fields -> values -> rows, a batch at a time -> heap -> each index
//!                                  \---- a table with defaults, checks, references or indexes that compute: an INSERT for each row
//! ```
//!
//! Rules
//! 1. A table with nothing but `NOT NULL` and keys is filled in batches: pages one after the other, a log record for each.
//! 2. Everything else goes the way of `INSERT`, with one plan for all rows and one command number, so that it means the same.
//! 3. With `WHERE`, too: the plan is one of `INSERT … SELECT` from the row that has come.
//! 4. The client is waited for between batches; an error leaves the transaction failed, and what it sends after that is the server's to
//!    pass over.

use super::Options;
use super::binary::Tuples;
use super::format::{Fields, Form, Lines};
use crate::bind::access::Access;
use crate::catalog::Catalog;
use crate::catalog::definition::{ConstraintKind, IndexDef, Rows, TableDef};
use crate::catalog::lazy::LazyCatalog;
use crate::catalog::privilege::{INSERT, SELECT};
use crate::catalog::trigger;
use crate::exec::access::Tables;
use crate::large::{self, Place, ROW_TARGET};
use crate::parser::ast::{Copy, Name};
use crate::plan::Plan;
use crate::plan::blob::{At, Constant};
use crate::procedure::run::Notices;
use crate::row::{self, Shape};
use crate::session::run::Compiled;
use crate::session::work::Work;
use crate::session::{CopyFormat, Environment, Output, Session};
use crate::statement::index::{KeyMaker, row_shapes, show_values};
use crate::statement::owner::Needs;
use crate::types::datetime::Style;
use crate::types::{Arena, Datum, Kind, Oid, io, table};
use allocator_api2::alloc::Allocator;
use base::settings::quoted_identifier;
use base::{Error, Object, Result, Xid, sqlstate};
use std::cell::RefCell;
use storage::btree::{Btree, Inserted, Unique};
use storage::heap::Heap;
use storage::page::Tid;
use storage::relation::Bulk;
use storage::txn::LockMode;

/// Rows of a batch, and its bytes.
const BATCH_ROWS: usize = 1000;
const BATCH_BYTES: usize = 256 << 10;

/// The columns that a list names: all of them if it names none.
pub(super) fn columns_of(table: &TableDef, names: &[Name<'_>]) -> Result<Vec<usize>> {
    if names.is_empty() {
        return Ok(table.visible().filter(|(_, column)| !column.generated).map(|(index, _)| index).collect());
    }
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let column = table.column(name.text).ok_or_else(|| {
            let message = format!("column \"{}\" of relation \"{}\" does not exist", name.text, table.name);
            Error::statement(sqlstate::UNDEFINED_COLUMN, message)
        })?;
        if table.columns[column].generated {
            let message = format!("column \"{}\" is a generated column", name.text);
            return Err(Error::statement(sqlstate::INVALID_COLUMN_REFERENCE, message)
                .detail("Generated columns cannot be used in COPY."));
        }
        if columns.contains(&column) {
            let message = format!("column \"{}\" specified more than once", name.text);
            return Err(Error::statement(sqlstate::DUPLICATE_COLUMN, message));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// An index that rows are entered into.
struct Target {
    name: String,
    tree: Btree,
    unique: bool,
    nulls_equal: bool,
    maker: KeyMaker,
    columns: Vec<u16>,
}

/// A table that is being filled.
struct Load<'l> {
    table: &'l TableDef,
    /// The name of its schema, for errors.
    schema: String,
    heap: Heap,
    bulk: Bulk,
    shapes: row::Shapes,
    targets: Vec<Target>,
    /// Rows that wait to be put.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    tids: Vec<Tid>,
    key: Vec<u8>,
}

impl<'l> Load<'l> {
    fn new(tables: &Tables<'_>, table: &'l TableDef, catalog: &Catalog<'_>) -> Load<'l> {
        let relations = tables.relations;
        let rel = match table.rows {
            Rows::Stored(rel) => rel,
            Rows::Made(_) | Rows::None => unreachable!("the caller has looked"),
        };
        let fill = table.options.iter().find(|option| option.0 == "fillfactor");
        let fill = fill.and_then(|option| option.1.parse().ok()).unwrap_or(100);
        let target = |index: &crate::catalog::definition::IndexDef| Target {
            name: index.name.clone(),
            tree: relations.btree(index.storage),
            unique: index.unique,
            nulls_equal: !index.nulls_distinct,
            maker: KeyMaker::new(table, index),
            columns: index.key_columns().unwrap_or_default(),
        };
        Load {
            table,
            schema: catalog.schema_name(table.schema).unwrap_or_default(),
            heap: relations.heap(rel).with_fill_factor(fill),
            bulk: Bulk::default(),
            shapes: row_shapes(table),
            targets: table.indexes.iter().map(target).collect(),
            bytes: Vec::new(),
            ends: Vec::new(),
            tids: Vec::new(),
            key: Vec::new(),
        }
    }

    /// Adds a row to the batch.
    fn push(&mut self, values: &[Datum<'_>], tables: &Tables<'_>, style: &Style<'_>) -> Result<()> {
        for (column, value) in self.table.columns.iter().zip(values) {
            if column.not_null && value.is_null() {
                let types: Vec<Oid> = self.table.columns.iter().map(|column| column.ty.oid).collect();
                let message = format!(
                    "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                    column.name, self.table.name
                );
                return Err(Error::statement(sqlstate::NOT_NULL_VIOLATION, message)
                    .detail(format!("Failing row contains ({}).", show_values(values, &types, style)?))
                    .about(Object::Schema, self.schema.clone())
                    .about(Object::Table, self.table.name.clone())
                    .about(Object::Column, column.name.clone()));
            }
        }
        if !row::encode_short(&self.shapes, values, ROW_TARGET, &mut self.bytes)? {
            self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
            let heap = self.table.pieces.map(|pieces| pieces.storage);
            let place = Place { relations: tables.relations, heap, command: tables.command() };
            large::pack(place, &self.shapes, values, None, &mut self.bytes)?;
        }
        self.ends.push(self.bytes.len());
        match self.ends.len() >= BATCH_ROWS || self.bytes.len() >= BATCH_BYTES {
            true => self.put(tables, style),
            false => Ok(()),
        }
    }

    /// Puts the batch into the table and its indexes.
    fn put(&mut self, tables: &Tables<'_>, style: &Style<'_>) -> Result<()> {
        let mut rows = Vec::with_capacity(self.ends.len());
        let mut start = 0;
        for &end in &self.ends {
            rows.push(&self.bytes[start..end]);
            start = end;
        }
        self.tids.clear();
        self.heap.insert_many(&mut self.bulk, tables.command(), &rows, &mut self.tids)?;
        for target in &mut self.targets {
            for (row, tid) in rows.iter().zip(&self.tids) {
                self.key.clear();
                let in_key = |column: usize| target.columns.iter().any(|known| usize::from(*known) == column);
                let row = &large::unpacked(tables.relations, &self.shapes, row, in_key)?;
                let has_null = target.maker.key(row, &mut self.key)?;
                let unique = if target.unique && (!has_null || target.nulls_equal) {
                    Unique::Check(&self.heap)
                } else {
                    Unique::No
                };
                let deadline = if target.unique { tables.deadline() } else { None };
                match target.tree.insert(&self.key, *tid, unique, deadline)? {
                    Inserted::Done => {}
                    Inserted::Duplicate(_) => {
                        return Err(duplicate(self.table, target, row, &self.shapes, style)?
                            .about(Object::Schema, self.schema.clone())
                            .about(Object::Table, self.table.name.clone())
                            .about(Object::Constraint, target.name.clone()));
                    }
                }
            }
            crate::exec::breathe()?;
        }
        self.bytes.clear();
        self.ends.clear();
        Ok(())
    }
}

#[cold]
fn duplicate(table: &TableDef, target: &Target, row: &[u8], shapes: &[Shape], style: &Style<'_>) -> Result<Error> {
    let row = row::Row::new(row)?;
    let (mut names, mut types, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for &column in &target.columns {
        let definition = &table.columns[usize::from(column)];
        names.push(definition.name.as_str());
        types.push(definition.ty.oid);
        values.push(row.get(shapes, usize::from(column))?);
    }
    let message = format!("duplicate key value violates unique constraint \"{}\"", target.name);
    let shown = show_values(&values, &types, style)?;
    Ok(Error::statement(sqlstate::UNIQUE_VIOLATION, message)
        .detail(format!("Key ({})=({shown}) already exists.", names.join(", "))))
}

/// Can the table be filled in batches?
fn is_plain(table: &TableDef, columns: &[usize]) -> bool {
    let has_default = |(at, column): (usize, &crate::catalog::definition::ColumnDef)| {
        column.default.is_some() && !columns.contains(&at)
    };
    let demands = |constraint: &crate::catalog::definition::ConstraintDef| {
        matches!(constraint.kind, ConstraintKind::Check(_) | ConstraintKind::ForeignKey(_))
    };
    !table.visible().any(has_default)
        && !table.has_trigger(trigger::INSERT)
        && !table.constraints.iter().any(demands)
        && table.indexes.iter().all(IndexDef::is_plain)
}

impl<A: Allocator + ::core::marker::Copy> Session<A> {
    pub(super) fn copy_from<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        copy: &Copy<'_>,
        options: &mut Options,
        out: &mut O,
    ) -> Result<u64> {
        self.check_writes(env, "COPY FROM")?;
        let is_sequence = {
            let (schema, name) = crate::catalog::split(copy.path, self.database_name())?;
            self.catalog(env)?.find(schema, name)?.is_some_and(|found| found.sequence.is_some())
        };
        if is_sequence {
            let message = format!("cannot copy to sequence \"{}\"", super::super::define::shown(copy.path));
            return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        let table = self.lock_own_table(env, copy.path, LockMode::RowExclusive, false, Needs::Nothing)?;
        let columns = columns_of(&table, copy.columns)?;
        let inserted = columns.iter().map(|column| *column as u16).collect();
        let access = Access { table: table.oid, rights: INSERT, inserted, ..Access::default() };
        self.check_accesses(env, &[access])?;
        if options.freeze && !self.is_made_here(env, Xid(table.version >> 24))? {
            let message = "cannot perform COPY FREEZE because the table was not created or truncated in the current \
                           subtransaction";
            return Err(Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        let copied: Vec<String> = columns.iter().map(|column| table.columns[*column].name.clone()).collect();
        let all: Vec<String> = table.visible().map(|(_, column)| column.name.clone()).collect();
        options.resolve(&copied, &all)?;
        let plan = match is_plain(&table, &columns) && copy.filter.is_none() {
            true => None,
            false => {
                let name = self.full_name(env, &table)?;
                let named: Vec<String> =
                    columns.iter().map(|column| quoted_identifier(&table.columns[*column].name)).collect();
                let slots: Vec<String> = (1..=columns.len()).map(|number| format!("${number}")).collect();
                let (named, slots) = (named.join(", "), slots.join(", "));
                let into = format!("insert into {name} ({named}) overriding system value");
                let range = (copy.filter_range.0 as usize, copy.filter_range.1 as usize);
                let text = match copy.filter.and_then(|_| text.get(range.0..range.1)) {
                    Some(filter) => {
                        let alias = quoted_identifier(&table.name);
                        format!("{into} select * from (values ({slots})) as {alias}({named}) where ({filter}\n)")
                    }
                    None => format!("{into} values ({slots})"),
                };
                let types: Vec<Oid> = columns.iter().map(|column| table.columns[*column].ty.oid).collect();
                match self.compile(env, &text, (0, text.len()), &[], &types, false)? {
                    Ok(Compiled::Plan(plan)) if copy.filter.is_some() && has_subplans(&plan) => {
                        return Err(Error::unsupported("cannot use subquery in COPY FROM WHERE condition"));
                    }
                    Ok(Compiled::Plan(plan)) => Some(plan),
                    _ => return Err(Error::statement(sqlstate::INTERNAL_ERROR, "an INSERT has no plan")),
                }
            }
        };
        self.take_snapshot(env);
        out.copy_in(if options.binary { CopyFormat::Binary } else { CopyFormat::Text }, columns.len())?;
        let copied = match &plan {
            Some(plan) => self.copy_fed(env, (&table, &columns), plan, options, out),
            None => {
                let mut work = self.take_work();
                let copied = self.copy_rows(env, &mut work, (&table, &columns), options, out);
                self.work = work;
                copied
            }
        };
        let reads = self.check_needs(env, &table, Needs::Rights(SELECT)).is_ok();
        copied.map_err(|error| if reads { error } else { error.without_detail() })
    }

    /// Fills the table in batches.
    fn copy_rows<O: Output>(
        &self,
        env: &Environment<'_>,
        work: &mut Work<A>,
        (table, columns): (&TableDef, &[usize]),
        options: &Options,
        out: &mut O,
    ) -> Result<u64> {
        let styles = self.styles(env)?;
        let style = styles.style(self.transaction.started_at());
        let catalog = self.catalog_in(env, work)?;
        let tables = self.open_tables(env, work)?;
        let snapshot = tables.snapshot;
        let mut load = Load::new(&tables, table, &catalog);
        let mut input = Input::new(table, columns, options);
        let mut rows = 0_u64;
        while let Some(given) = input.next(out, &LazyCatalog::made(&catalog), &style)? {
            let mut values = vec![Datum::Null; table.columns.len()];
            for (value, &column) in given.iter().zip(columns) {
                values[column] = value.datum();
            }
            load.push(&values, &tables, &style)?;
            rows += 1;
        }
        load.put(&tables, &style)?;
        load.heap.end_bulk(&mut load.bulk)?;
        self.close_tables(env, work, snapshot, true, 0);
        Ok(rows)
    }

    /// Fills the table with the plan of an `INSERT`, as one statement.
    fn copy_fed<O: Output>(
        &mut self,
        env: &Environment<'_>,
        (table, columns): (&TableDef, &[usize]),
        plan: &[u8],
        options: &Options,
        out: &mut O,
    ) -> Result<u64> {
        let out = RefCell::new(out);
        let notices: Notices<'_> = &mut |level, error| out.borrow_mut().notice(level, error);
        self.execute_fed(env, plan, notices, |exec, around| {
            let mut input = Input::new(table, columns, options);
            exec.feed(|| input.next(&mut **out.borrow_mut(), &around.catalog, &around.style))?;
            Ok(exec.changed())
        })
    }
}

/// The client's rows, read one after another.
struct Input<'i> {
    table: &'i TableDef,
    columns: &'i [usize],
    source: Source<'i>,
    arena: Arena,
    last: bool,
}

impl<'i> Input<'i> {
    fn new(table: &'i TableDef, columns: &'i [usize], options: &'i Options) -> Input<'i> {
        let source = match options.binary {
            true => Source::Binary(Tuples::default()),
            false => {
                Source::Text { form: &options.form, lines: Lines::default(), fields: Fields::default(), begun: false }
            }
        };
        Input { table, columns, source, arena: Arena::new(), last: false }
    }

    /// The values of the next row; none at the end.
    fn next<O: Output>(
        &mut self,
        out: &mut O,
        catalog: &LazyCatalog<'_>,
        style: &Style<'_>,
    ) -> Result<Option<Vec<Constant>>> {
        while !self.source.next(self.table, self.columns, self.last)? {
            if self.last {
                return Ok(None);
            }
            self.last = !out.copied(|piece| self.source.push(piece))?;
        }
        let mut values = vec![Constant::Null; self.columns.len()];
        for (at, &column) in self.columns.iter().enumerate() {
            let Some(field) = self.source.get(at) else { continue };
            let ty = self.table.columns[column].ty;
            values[at] = match self.source {
                Source::Binary(_) => Constant::of(io::receive(ty, field, &self.arena, style)?),
                Source::Text { .. } => {
                    let text = crate::types::text::validate(field)?;
                    match table::kind(ty.oid) {
                        Kind::Reg => Constant::Int(catalog.get()?.read_reg(ty.oid, text)?.0.into()),
                        _ => Constant::of(io::input(ty, text, &self.arena, style)?),
                    }
                }
            };
        }
        self.arena.reset();
        Ok(Some(values))
    }
}

/// Has a plan queries in its expressions?
fn has_subplans(plan: &[u8]) -> bool {
    Plan::new(plan).is_some_and(|plan| plan.bytes.list(At(plan.header().subplans)).iter().next().is_some())
}

/// Where rows come from, in either kind of format.
enum Source<'f> {
    Text { form: &'f Form, lines: Lines, fields: Fields, begun: bool },
    Binary(Tuples),
}

impl Source<'_> {
    fn push(&mut self, piece: &[u8]) -> Result<()> {
        match self {
            Source::Text { lines, .. } => lines.push(piece),
            Source::Binary(tuples) => tuples.push(piece),
        }
    }

    /// Goes to the next row; false if no whole one is there.
    fn next(&mut self, table: &TableDef, columns: &[usize], last: bool) -> Result<bool> {
        match self {
            Source::Binary(tuples) => tuples.next(columns.len(), last),
            Source::Text { form, lines, fields, begun } => loop {
                let Some(line) = lines.next(form, last)? else {
                    // Where there is nothing at all there is no header either.
                    if last && form.header_matches && !std::mem::replace(begun, true) {
                        fields.read(form, b"")?;
                        check_header(table, columns, fields)?;
                    }
                    return Ok(false);
                };
                if std::mem::replace(begun, true) || !form.header {
                    fields.read(form, line)?;
                    check_count(table, columns, fields, line)?;
                    return Ok(true);
                }
                // Also what is passed over is text.
                crate::types::text::validate(line)?;
                if form.header_matches {
                    fields.read(form, line)?;
                    check_header(table, columns, fields)?;
                }
            },
        }
    }

    fn get(&self, index: usize) -> Option<&[u8]> {
        match self {
            Source::Text { fields, .. } => fields.get(index),
            Source::Binary(tuples) => tuples.get(index),
        }
    }
}

fn check_count(table: &TableDef, columns: &[usize], fields: &Fields, line: &[u8]) -> Result<()> {
    let bad = |message: String| Err(Error::statement(sqlstate::BAD_COPY_FILE_FORMAT, message));
    if columns.is_empty() && line.is_empty() {
        return Ok(());
    }
    if let Some(missing) = columns.get(fields.len()) {
        return bad(format!("missing data for column \"{}\"", table.columns[*missing].name));
    }
    if fields.len() > columns.len() {
        return bad("extra data after last expected column".to_owned());
    }
    Ok(())
}

fn check_header(table: &TableDef, columns: &[usize], fields: &Fields) -> Result<()> {
    let bad = |message: String| Err(Error::statement(sqlstate::BAD_COPY_FILE_FORMAT, message));
    if fields.len() != columns.len() {
        return bad(format!("wrong number of fields in header line: got {}, expected {}", fields.len(), columns.len()));
    }
    for (at, &column) in columns.iter().enumerate() {
        let expected = &table.columns[column].name;
        match fields.get(at) {
            Some(found) if found == expected.as_bytes() => {}
            Some(found) => {
                return bad(format!(
                    "column name mismatch in header line field {}: got \"{}\", expected \"{expected}\"",
                    at + 1,
                    String::from_utf8_lossy(found)
                ));
            }
            None => {
                return bad(format!(
                    "column name mismatch in header line field {}: got null value, expected \"{expected}\"",
                    at + 1
                ));
            }
        }
    }
    Ok(())
}
