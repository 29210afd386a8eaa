//! Views: `CREATE VIEW`, `DROP VIEW`, and what becomes of views when that goes which they read.
//!
//! ```text
//!   CREATE VIEW  plan of the query: its tables are locked -> bound again, with notes -> definition
//!   DROP …       what goes -> the views that read it -> the views that read those: an error, or all of them go
//! ```
//!
//! Rules
//! 1. A view that another one replaces keeps its number, and its columns as they were, so that those who read it mean the same.
//! 2. Whoever drops something has locked all views that go with it.

use super::define::{Change, check_own, is_taken, shown, taken};
use super::owner::Needs;
use crate::bind::{self, Setting};
use crate::catalog::definition::{OnCommit, Persistence, RelationKind, Rows, TableDef};
use crate::catalog::privilege::Guard;
use crate::catalog::view::ViewDef;
use crate::catalog::{Catalog, split};
use crate::parser::ast::{CheckOption, CreateView, Path, Statement, StorageOption};
use crate::row::COLUMNS_MAX;
use crate::session::current::stored_tables;
use crate::session::run::Compiled;
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Arena, Oid, Type, table, typmod};
use allocator_api2::alloc::Allocator;
use base::settings::{MessageLevel, quoted_identifier};
use base::{Error, Result, Xid, sqlstate};
use bumpalo::Bump;
use kernel::fiber::on_engine_stack;
use std::collections::BTreeSet;
use std::sync::Arc;
use storage::txn::LockMode;

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn create_view<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        create: &CreateView<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        const TAG: Option<Tag> = Some(Tag::Words("CREATE VIEW"));
        self.check_writes(env, "CREATE VIEW")?;
        let (_, name) = split(create.path, self.database_name())?;
        let range = (create.range.0 as usize, create.range.1 as usize);
        let (whole, range) = match create.recursive {
            true => {
                let columns: Vec<String> = create.columns.iter().map(|name| quoted_identifier(name.text)).collect();
                let (columns, name) = (columns.join(", "), quoted_identifier(name));
                let query = text.get(range.0..range.1).unwrap_or("");
                let made = format!("WITH RECURSIVE {name}({columns}) AS ({query}) SELECT {columns} FROM {name}");
                let length = made.len();
                (std::borrow::Cow::Owned(made), (0, length))
            }
            false => (std::borrow::Cow::Borrowed(text), range),
        };
        // The plan is not wanted, but all that it reads is locked then, and keeps its definition.
        let compiled = self.compile(env, &whole, range, &[], &[], false)?.map_err(|_| {
            Error::statement(sqlstate::INTERNAL_ERROR, "a view's query without slots asks for its literals")
        })?;
        let reads_temporary = match &compiled {
            Compiled::Plan(plan) => self.reads_temporary(env, plan)?,
            Compiled::Utility => false,
        };
        let (schema, name, is_temporary) =
            self.relation_place(env, create.path, create.temporary || reads_temporary)?;
        if is_temporary && !create.temporary && reads_temporary {
            let message = format!("view \"{name}\" will be a temporary view");
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
        }
        self.lock_name(env, schema, name)?;
        let old = match self.catalog(env)?.definitions.table_named(schema, name).cloned() {
            Some(old) if create.replace => {
                if old.view.is_none() {
                    return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a view")));
                }
                self.must_own(env, &old)?;
                self.lock_relation(env, old.oid.0, LockMode::AccessExclusive, true)?;
                self.lock_definition(env, old.oid)?
            }
            _ if is_taken(&self.catalog(env)?, schema, name) => return Err(taken(name)),
            _ => {
                super::user_type::check_row_type(&self.catalog(env)?, schema, name)?;
                None
            }
        };
        let recorded = {
            let styles = self.styles(env)?;
            let style = styles.style(self.transaction.started_at());
            let catalog = self.catalog(env)?;
            on_engine_stack(|| {
                let (arena, bump) = (Arena::new(), Bump::new());
                let Statement::Query(query) = crate::parser::parse(&whole, range.0, range.1, &bump)? else {
                    return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a view's query is none"));
                };
                let setting = Setting {
                    catalog: &catalog,
                    text: &whole,
                    slots: &[],
                    style,
                    client_types: &[],
                    new_parameters: false,
                    variables: &[],
                    values: &[],
                };
                bind::view::record(query, range, &setting, &arena, &bump)
            })?
        };
        let columns = view_columns(create, &recorded.columns)?;
        columns.iter().try_for_each(|column| self.check_type_usage(env, column.ty))?;
        let (options, option) = view_options(create.options)?;
        let check = create.check.or(option);
        if let Some(old) = &old {
            check_replaces(old, &columns)?;
        }
        let view = ViewDef { pieces: recorded.pieces, fixed: recorded.fixed, check };
        let is_new = old.is_none();
        let mut made = match old {
            Some(old) => TableDef { view: Some(view), columns, options, ..TableDef::clone(&old) },
            None => {
                self.own_xid(env)?;
                let oid = self.new_oid(env)?;
                self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
                TableDef {
                    oid,
                    schema,
                    name: name.to_owned(),
                    kind: RelationKind::View,
                    rows: Rows::None,
                    persistence: match is_temporary {
                        true => Persistence::Temporary(OnCommit::Preserve),
                        false => Persistence::Permanent,
                    },
                    owner: self.role(),
                    columns,
                    indexes: Vec::new(),
                    pieces: None,
                    constraints: Vec::new(),
                    referenced_by: Vec::new(),
                    triggers: Vec::new(),
                    options,
                    clustered: None,
                    since: Xid(0),
                    usable: true,
                    comments: Vec::new(),
                    sequence: None,
                    view: Some(view),
                    version: 0,
                }
            }
        };
        self.define_tables(env, &mut [&mut made])?;
        if is_new {
            self.grant_defaults(env, Guard::relation(&made), schema)?;
        }
        if check.is_some() {
            self.check_updatable(env, &made)?;
        }
        Ok(TAG)
    }

    /// Does a plan read something temporary?
    fn reads_temporary(&self, env: &Environment<'_>, plan: &[u8]) -> Result<bool> {
        let definitions = self.definitions(env, &self.work)?;
        let tables = stored_tables(plan);
        let known = tables.iter().filter_map(|table| definitions.table(table.oid));
        Ok(known.into_iter().any(|table| table.persistence.is_temporary()))
    }

    /// A view whose rows are checked is one that rows can be written through.
    fn check_updatable(&mut self, env: &Environment<'_>, view: &TableDef) -> Result<()> {
        let text = format!("delete from {}", self.full_name(env, view)?);
        match self.compile(env, &text, (0, text.len()), &[], &[], false) {
            Ok(_) => Ok(()),
            Err(error) if error.sqlstate() == sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE => {
                let message = "WITH CHECK OPTION is supported only on automatically updatable views";
                let hint = error.detail_text().unwrap_or_default().to_owned();
                Err(Error::unsupported(message).hint(hint))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn drop_views<O: Output>(
        &mut self,
        env: &Environment<'_>,
        paths: &[Path<'_>],
        (if_exists, cascade): (bool, bool),
        out: &mut O,
    ) -> Result<()> {
        let mut dropped: Vec<Arc<TableDef>> = Vec::with_capacity(paths.len());
        for path in paths {
            let Some(found) = self.lock_table(env, path, LockMode::AccessExclusive, true, Needs::Removal)? else {
                let (schema, name) = split(path, self.database_name())?;
                let unknown = schema.filter(|schema| self.catalog(env).is_ok_and(|all| all.schema(schema).is_none()));
                let (code, message) = match unknown {
                    Some(schema) => (sqlstate::INVALID_SCHEMA_NAME, format!("schema \"{schema}\" does not exist")),
                    None => {
                        let name = if if_exists { name.to_owned() } else { shown(path) };
                        (sqlstate::UNDEFINED_TABLE, format!("view \"{name}\" does not exist"))
                    }
                };
                if !if_exists {
                    return Err(Error::statement(code, message));
                }
                let message = format!("{message}, skipping");
                out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
                continue;
            };
            if found.kind != RelationKind::View {
                let message = format!("\"{}\" is not a view", found.name);
                let (command, word) = match found.kind {
                    RelationKind::Sequence => ("SEQUENCE", "a sequence"),
                    RelationKind::Table | RelationKind::View => ("TABLE", "a table"),
                };
                return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message)
                    .hint(format!("Use DROP {command} to remove {word}.")));
            }
            if found.view.is_none() {
                check_own(&found)?;
            }
            if !dropped.iter().any(|known| known.oid == found.oid) {
                dropped.push(found);
            }
        }
        self.drop_all(env, &dropped, cascade, out)
    }

    /// The views that go when these relations do, locked; an error without `cascade`, a notice with it. `what` is dropped.
    pub(super) fn views_that_go<O: Output>(
        &mut self,
        env: &Environment<'_>,
        gone: &[Arc<TableDef>],
        (what, cascade): (&str, bool),
        out: &mut O,
    ) -> Result<Vec<Arc<TableDef>>> {
        let first = gone.iter().map(|table| (table.clone(), None)).collect();
        self.readers(env, first, (what, cascade), out)
    }

    /// The views that go when a column does, likewise.
    pub(super) fn views_that_go_with<O: Output>(
        &mut self,
        env: &Environment<'_>,
        (table, column): (&TableDef, usize),
        (what, cascade): (&str, bool),
        out: &mut O,
    ) -> Result<Vec<Arc<TableDef>>> {
        self.readers(env, vec![(Arc::new(table.clone()), Some(column))], (what, cascade), out)
    }

    fn readers<O: Output>(
        &mut self,
        env: &Environment<'_>,
        mut read: Vec<(Arc<TableDef>, Option<usize>)>,
        (what, cascade): (&str, bool),
        out: &mut O,
    ) -> Result<Vec<Arc<TableDef>>> {
        let mut gone: BTreeSet<Oid> = read.iter().map(|(table, _)| table.oid).collect();
        let (mut found, mut details, mut at) = (Vec::new(), Vec::new(), 0);
        while at < read.len() {
            let (table, column) = read[at].clone();
            at += 1;
            let views: Vec<Oid> = {
                let definitions = self.definitions(env, &self.work)?;
                let reads = |other: &TableDef| other.view.as_ref().is_some_and(|view| view.reads(table.oid, column));
                definitions.tables().filter(|other| reads(other)).map(|other| other.oid).collect()
            };
            for view in views {
                if gone.contains(&view) {
                    continue;
                }
                self.lock_relation(env, view.0, LockMode::AccessExclusive, true)?;
                let Some(view) = self.lock_definition(env, view)? else { continue };
                if !view.view.as_ref().is_some_and(|known| known.reads(table.oid, column)) {
                    continue;
                }
                gone.insert(view.oid);
                let catalog = self.catalog(env)?;
                let of = match column.and_then(|column| table.columns.get(column)) {
                    Some(column) => {
                        format!("column {} of {}", quoted_identifier(&column.name), described(&catalog, &table))
                    }
                    None => described(&catalog, &table),
                };
                let name = described(&catalog, &view);
                details.push((format!("{name} depends on {of}"), format!("drop cascades to {name}")));
                read.push((view.clone(), None));
                found.push(view);
            }
        }
        if found.is_empty() {
            return Ok(found);
        }
        if !cascade {
            let message = format!("cannot drop {what} because other objects depend on it");
            let message =
                message.replace("(s) because other objects depend on it", "(s) because other objects depend on them");
            let lines: Vec<String> = details.into_iter().map(|(depends, _)| depends).collect();
            return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(lines.join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let lines: Vec<String> = details.into_iter().map(|(_, goes)| goes).collect();
        let notice = match lines.as_slice() {
            [one] => Error::statement(sqlstate::SUCCESSFUL_COMPLETION, one.clone()),
            many => {
                let message = format!("drop cascades to {} other objects", many.len());
                Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message).detail(many.join("\n"))
            }
        };
        out.notice(MessageLevel::Notice, &notice);
        Ok(found)
    }

    /// The changes that make views go.
    pub(super) fn forget_views(&mut self, env: &Environment<'_>, views: &[Arc<TableDef>]) -> Result<()> {
        let changes: Vec<Change> = views.iter().flat_map(|view| Change::drop_table(view.oid)).collect();
        if changes.is_empty() { Ok(()) } else { self.define(env, &changes) }
    }

    /// No view may need the name of a column that gets another one.
    pub(super) fn refuse_fixed(&self, env: &Environment<'_>, table: &TableDef, column: usize) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        let fixes = |other: &&Arc<TableDef>| other.view.as_ref().is_some_and(|view| view.fixes(table.oid, column));
        match definitions.tables().find(fixes) {
            None => Ok(()),
            Some(view) => {
                let message =
                    format!("view \"{}\" joins by the name of this column, which cannot be changed", view.name);
                Err(Error::unsupported(message).hint("Drop the view, rename the column, and create the view again."))
            }
        }
    }
}

/// A relation as messages about dependencies show it.
fn described(catalog: &Catalog<'_>, table: &TableDef) -> String {
    format!("{} {}", table.word(), catalog.shown_name(table))
}

/// The columns of a new view.
fn view_columns(
    create: &CreateView<'_>,
    results: &[(String, Type)],
) -> Result<Vec<crate::catalog::definition::ColumnDef>> {
    if create.columns.len() > results.len() {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
    }
    if results.len() > COLUMNS_MAX {
        let message = format!("tables can have at most {COLUMNS_MAX} columns");
        return Err(Error::statement(sqlstate::TOO_MANY_COLUMNS, message));
    }
    let mut columns: Vec<crate::catalog::definition::ColumnDef> = Vec::with_capacity(results.len());
    for (index, (name, ty)) in results.iter().enumerate() {
        let name = create.columns.get(index).map_or(name.as_str(), |name| name.text);
        if columns.iter().any(|known| known.name == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::statement(sqlstate::DUPLICATE_COLUMN, message));
        }
        if table::by_oid(ty.oid).is_none_or(|row| row.category == b'P') {
            let message = format!("column \"{name}\" has pseudo-type {}", typmod::format_type(*ty));
            return Err(Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message));
        }
        columns.push(super::define::column(name, *ty));
    }
    Ok(columns)
}

/// May a view with these columns stand in the place of the old one?
fn check_replaces(old: &TableDef, columns: &[crate::catalog::definition::ColumnDef]) -> Result<()> {
    let refuse = |message: String| Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message);
    if columns.len() < old.columns.len() {
        return Err(refuse("cannot drop columns from view".to_owned()));
    }
    for (old, new) in old.columns.iter().zip(columns) {
        if old.name != new.name {
            return Err(refuse(format!("cannot change name of view column \"{}\" to \"{}\"", old.name, new.name))
                .hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead."));
        }
        if old.ty != new.ty {
            let (from, to) = (typmod::format_type(old.ty), typmod::format_type(new.ty));
            return Err(refuse(format!("cannot change data type of view column \"{}\" from {from} to {to}", old.name)));
        }
    }
    Ok(())
}

/// Options as they are kept: names and values.
type Options = Vec<(String, String)>;

/// The options of a view, and the check that one of them asks for.
fn view_options(options: &[StorageOption<'_>]) -> Result<(Options, Option<CheckOption>)> {
    let (mut found, mut check) = (Options::new(), None);
    for option in options {
        let (name, value) = (option.name.text, option.value.unwrap_or("true"));
        let value = match name {
            "check_option" => {
                check = Some(match value {
                    "local" => CheckOption::Local,
                    "cascaded" => CheckOption::Cascaded,
                    _ => {
                        let message = format!("invalid value for enum option \"{name}\": {value}");
                        return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
                            .detail("Valid values are \"local\" and \"cascaded\"."));
                    }
                });
                continue;
            }
            "security_barrier" | "security_invoker" => match value.to_ascii_lowercase().as_str() {
                "true" | "on" | "yes" | "1" => "true",
                "false" | "off" | "no" | "0" => "false",
                _ => {
                    let message = format!("invalid value for boolean option \"{name}\": {value}");
                    return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
                }
            },
            _ => {
                let message = format!("unrecognized parameter \"{name}\"");
                return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
            }
        };
        if found.iter().any(|known| known.0 == name) {
            let message = format!("parameter \"{name}\" specified more than once");
            return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        found.push((name.to_owned(), value.to_owned()));
    }
    Ok((found, check))
}
