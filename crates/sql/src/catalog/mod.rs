//! What the server knows of schemas, tables, types and functions.
//!
//! Types, functions, operators and casts are compiled in ([`types`]). The system's own tables and views are
//! *virtual*: described in [`system`], their rows made by providers when they are read. Tables of users are stored.
//!
//! **How definitions of users' tables are kept.** One heap with a fixed storage number, made when the database is made,
//! holds each object's definition as bytes ([`codec`], [`definition::TableDef`]). `pg_class`, `pg_attribute`, `pg_index` and
//! `pg_constraint` are views over these definitions, so that a table is one thing to write, to lock, to undo, and never half
//! there. The rows are versioned like any others: DDL is transactional. Because the heap is found by a number that is
//! compiled in, reading it needs no catalog. A process remembers all definitions until the next commit that changes one
//! ([`store`]). A plan carries the numbers and versions of the definitions that it was made from, and is made again when
//! one of them has changed.
//!
//! Rules
//! 1. A name is resolved in one place, [`Catalog::find`]: the path's schemas in order, `pg_catalog` first unless it is named.
//! 2. Definitions are values; nobody keeps one beyond the statement that it was read for.
//! 3. A statement that uses a table holds a lock on it from before it reads the definition until its transaction ends.

pub mod codec;
pub mod column_statistics;
pub mod default_acl;
pub mod definition;
pub mod grant;
pub mod language;
pub mod lazy;
pub mod privilege;
pub mod provider;
pub mod role;
pub mod role_settings;
pub mod routine;
pub mod schema;
pub mod store;
pub mod system;
pub mod trigger;
pub mod user_type;
mod vacuum;
pub mod view;

use crate::exec::trigger::Transition;
use crate::parser::ast::{Path, TypeName};
use crate::types::{Kind, Oid, Type, function, operator, table, typmod, user};
use base::settings::quoted_identifier;
use base::{Error, Result, Xid, sqlstate};
pub use codec::Statistics;
use column_statistics::TableStatistics;
use definition::{Action, ColumnDef, ConstraintKind, Persistence, RelationKind, Rows, TableDef};
pub use provider::{Provider, RowBuilder, RowSink, ViewColumn, ViewContext};
use schema::SearchPath;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::Definitions;
use user_type::UserTypeDef;

/// The system's own tables and views, and who makes their rows. Made before the first engine, then never changed.
pub struct Catalogs {
    tables: Vec<Arc<TableDef>>,
    by_name: BTreeMap<(Oid, String), usize>,
    by_oid: BTreeMap<Oid, usize>,
    providers: Vec<Option<Box<dyn Provider>>>,
    next_oid: u32,
}

/// The first number for views that a server registers.
const FIRST_VIEW_OID: u32 = 9_100;

impl Default for Catalogs {
    fn default() -> Catalogs {
        Catalogs::new()
    }
}

impl Catalogs {
    /// The system's catalogs, without what a server adds.
    pub fn new() -> Catalogs {
        let mut catalogs = Catalogs {
            tables: Vec::new(),
            by_name: BTreeMap::new(),
            by_oid: BTreeMap::new(),
            providers: Vec::new(),
            next_oid: FIRST_VIEW_OID,
        };
        system::add(&mut catalogs);
        catalogs
    }

    /// Adds a view of the server's: `gearbox.engines`, `pg_catalog.pg_stat_activity`. One that is there already gets the
    /// provider, and keeps its columns.
    pub fn register(&mut self, schema: &str, name: &str, columns: &[ViewColumn], provider: Box<dyn Provider>) {
        let schema = schema::BUILTIN.iter().find(|known| known.1 == schema).map_or(schema::GEARBOX, |known| known.0);
        if let Some(&index) = self.by_name.get(&(schema, name.to_owned())) {
            self.providers[index] = Some(provider);
            return;
        }
        let columns = columns.iter().map(|column| ColumnDef::plain(column.name, Type::plain(column.ty))).collect();
        let oid = Oid(self.next_oid);
        self.next_oid += 1;
        self.add(oid, schema, name, RelationKind::View, columns, Some(provider));
    }

    fn add(
        &mut self,
        oid: Oid,
        schema: Oid,
        name: &str,
        kind: RelationKind,
        columns: Vec<ColumnDef>,
        provider: Option<Box<dyn Provider>>,
    ) {
        let index = self.tables.len();
        self.tables.push(Arc::new(TableDef {
            oid,
            schema,
            name: name.to_owned(),
            kind,
            rows: Rows::Made(index as u32),
            persistence: Persistence::Permanent,
            owner: schema::BOOTSTRAP_ROLE,
            columns,
            indexes: Vec::new(),
            pieces: None,
            constraints: Vec::new(),
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            options: Vec::new(),
            clustered: None,
            since: Xid(0),
            usable: true,
            comments: Vec::new(),
            sequence: None,
            view: None,
            version: 0,
        }));
        self.by_name.insert((schema, name.to_owned()), index);
        self.by_oid.insert(oid, index);
        self.providers.push(provider);
    }

    /// Adds a view that is a query.
    fn add_view(&mut self, oid: Oid, schema: Oid, name: &str, columns: Vec<ColumnDef>, query: String) {
        self.add(oid, schema, name, RelationKind::View, columns, None);
        if let Some(table) = self.tables.last_mut().and_then(Arc::get_mut) {
            table.rows = Rows::None;
            table.view = Some(view::ViewDef { pieces: vec![view::Piece::Text(query)], fixed: Vec::new(), check: None });
        }
    }

    /// The provider of that index; none for a view that never has rows.
    pub fn provider(&self, index: u32) -> Option<&dyn Provider> {
        self.providers.get(index as usize)?.as_deref()
    }
}

/// The catalog as a statement sees it.
#[derive(Clone)]
pub struct Catalog<'c> {
    /// The system's own.
    pub catalogs: &'c Catalogs,
    /// What users have made.
    pub definitions: Arc<Definitions>,
    /// The session's search path.
    pub path: SearchPath,
    /// Changed rows that a trigger's function reads as tables: names without a schema are theirs first.
    pub transitions: &'c [Transition],
}

impl<'c> Catalog<'c> {
    /// The catalog for a session with this setting of `search_path`.
    pub fn new(catalogs: &'c Catalogs, definitions: Arc<Definitions>, search_path: &str, user: &str) -> Catalog<'c> {
        let path = SearchPath::new(search_path, user, None, |name| schema_in(&definitions, name));
        Catalog { catalogs, definitions, path, transitions: &[] }
    }

    /// Every schema: number and name.
    pub fn schemas(&self) -> Vec<(Oid, String)> {
        let builtin = self.definitions.builtin_schemas().map(|(oid, name)| (oid, name.to_owned()));
        let made = self.definitions.schemas().map(|(oid, name)| (oid, name.to_owned()));
        let temporary: BTreeSet<Oid> = self.definitions.tables().map(|table| table.schema).collect();
        let temporary = temporary.into_iter().filter_map(|oid| Some((oid, schema::temporary_name(oid)?)));
        builtin.chain(made).chain(temporary).collect()
    }

    /// The role that owns a schema.
    pub fn schema_owner(&self, oid: Oid) -> Oid {
        self.definitions.schema_owner(oid)
    }

    /// The schema of that name.
    pub fn schema(&self, name: &str) -> Option<Oid> {
        if name == schema::OWN_TEMPORARY {
            return self.path.temporary;
        }
        schema_in(&self.definitions, name)
    }

    /// The name of a schema.
    pub fn schema_name(&self, oid: Oid) -> Option<String> {
        let builtin = self.definitions.builtin_schemas().find(|known| known.0 == oid).map(|known| known.1);
        let made = || self.definitions.schemas().find(|known| known.0 == oid).map(|known| known.1);
        builtin.or_else(made).map(str::to_owned).or_else(|| schema::temporary_name(oid))
    }

    /// Every table and view.
    pub fn tables(&self) -> Result<Vec<Arc<TableDef>>> {
        Ok(self.catalogs.tables.iter().chain(self.definitions.tables()).cloned().collect())
    }

    /// The table of that number.
    pub fn table_by_oid(&self, oid: Oid) -> Result<Option<Arc<TableDef>>> {
        let made = self.definitions.table(oid);
        let own = || self.catalogs.by_oid.get(&oid).map(|&index| &self.catalogs.tables[index]);
        Ok(made.or_else(own).cloned())
    }

    /// The tables that a changed table refers to and those that refer to it, with the same for those whose rows are changed along;
    /// and the numbers of the latter.
    pub fn related(&self, table: &Arc<TableDef>) -> Result<(Vec<Arc<TableDef>>, Vec<Oid>)> {
        let (mut others, mut changed): (Vec<Arc<TableDef>>, _) = (Vec::new(), Vec::new());
        let mut left = vec![table.clone()];
        let mut seen = vec![table.oid];
        while let Some(table) = left.pop() {
            for constraint in &table.constraints {
                if let ConstraintKind::ForeignKey(key) = &constraint.kind {
                    others.extend(self.table_by_oid(key.table)?);
                }
            }
            for referrer in &table.referenced_by {
                let Some(other) = self.table_by_oid(referrer.table)? else { continue };
                let constraint = other.constraints.iter().find(|constraint| constraint.oid == referrer.constraint);
                if let Some(ConstraintKind::ForeignKey(key)) = constraint.map(|constraint| &constraint.kind) {
                    let along = |action| !matches!(action, Action::NoAction | Action::Restrict);
                    if (along(key.on_delete) || along(key.on_update)) && !seen.contains(&other.oid) {
                        seen.push(other.oid);
                        changed.push(other.oid);
                        left.push(other.clone());
                    }
                }
                others.push(other);
            }
        }
        others.sort_by_key(|other| other.oid.0);
        others.dedup_by_key(|other| other.oid.0);
        Ok((others, changed))
    }

    /// How large a table is thought to be, if anybody has looked.
    pub fn statistics(&self, table: Oid) -> Option<Statistics> {
        self.definitions.statistics(table)
    }

    /// What is known of a table's columns, if anybody has looked.
    pub fn column_statistics(&self, table: Oid) -> Option<&TableStatistics> {
        self.definitions.column_statistics(table).map(Arc::as_ref)
    }

    /// The table of that name in a schema.
    fn table_in(&self, schema: Oid, name: &str) -> Result<Option<Arc<TableDef>>> {
        if let Some(found) = self.definitions.table_named(schema, name) {
            if !found.usable {
                let message = format!("could not serialize access: the rows of \"{name}\" were put anew meanwhile");
                return Err(Error::new(base::Kind::Retry, sqlstate::SERIALIZATION_FAILURE, message));
            }
            return Ok(Some(found.clone()));
        }
        let found = self.catalogs.by_name.get(&(schema, name.to_owned()));
        Ok(found.map(|&index| self.catalogs.tables[index].clone()))
    }

    /// May whoever asks look into a schema? Errors: `42501`.
    pub fn check_usage(&self, schema: Oid) -> Result<()> {
        let role = self.path.role.get();
        if role == schema::BOOTSTRAP_ROLE
            || self.path.temporary == Some(schema)
            || self.definitions.rights(role, self.definitions.schema_guard(schema), privilege::USAGE) != 0
        {
            return Ok(());
        }
        let message = format!("permission denied for schema {}", self.schema_name(schema).unwrap_or_default());
        Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }

    /// The table that a name means, with a schema or without. Errors: `3F000` for a schema that is not there.
    pub fn find(&self, schema: Option<&str>, name: &str) -> Result<Option<Arc<TableDef>>> {
        if let Some(schema) = schema {
            return match self.schema(schema) {
                Some(schema) => {
                    let found = self.table_in(schema, name)?;
                    if schema::is_temporary(schema) && self.path.temporary != Some(schema) {
                        return match found {
                            Some(_) => Err(Error::unsupported("cannot access temporary tables of other sessions")),
                            None => Ok(None),
                        };
                    }
                    self.check_usage(schema)?;
                    Ok(found)
                }
                None => Ok(None),
            };
        }
        if let Some(found) = self.transitions.iter().find(|known| known.table.name == name) {
            return Ok(Some(found.table.clone()));
        }
        for &schema in &self.path.searched {
            if let Some(table) = self.table_in(schema, name)? {
                return Ok(Some(table));
            }
        }
        Ok(None)
    }

    /// The table that a path means. Errors: `42P01`, and `0A000` for another database.
    pub fn table(&self, path: Path<'_>) -> Result<Arc<TableDef>> {
        let (schema, name) = split(path)?;
        self.find(schema, name)?.ok_or_else(|| {
            let shown: Vec<&str> = path.iter().map(|name| name.text).collect();
            let message = format!("relation \"{}\" does not exist", shown.join("."));
            Error::statement(sqlstate::UNDEFINED_TABLE, message)
        })
    }

    /// Can the table be named without its schema?
    pub fn is_visible(&self, table: &TableDef) -> bool {
        let found = self.find(None, &table.name);
        found.is_ok_and(|found| found.is_some_and(|found| found.oid == table.oid))
    }

    /// The table's name, with its schema where that is needed, quoted where that is needed.
    pub fn shown_name(&self, table: &TableDef) -> String {
        let name = quoted_identifier(&table.name);
        if self.is_visible(table) {
            return name;
        }
        let schema = self.schema_name(table.schema).unwrap_or_default();
        format!("{}.{name}", quoted_identifier(&schema))
    }

    /// The type that a type's name means, where it may be a domain: the type that a domain is made of, and the domain.
    ///
    /// Errors: `42704`, and `0A000` for arrays of domains.
    pub fn type_or_domain(&self, name: &TypeName<'_>) -> Result<(Type, Option<Arc<UserTypeDef>>)> {
        let found = match name.path {
            [name_alone] if name.builtin => table::by_name(name_alone.text).map(|row| row.oid),
            [name] => self.find_type(None, name.text)?,
            [schema, name] => self.find_type(Some(schema.text), name.text)?,
            _ => None,
        };
        let known = found.filter(|found| user::is_domain(*found)).and_then(|found| self.user_type(found)).cloned();
        let domain = known.and_then(|known| Some((known.domain.as_ref()?.base, known)));
        let Some((base, known)) = domain else { return Ok((self.type_of(name)?, None)) };
        if !name.modifiers.is_empty() {
            let message = format!("type modifier is not allowed for type {}", self.shown_type(known.oid));
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
        }
        if name.dimensions > 0 {
            return Err(Error::unsupported("arrays of domains are not supported")
                .hint("Use an array of the type that the domain is made of, with a CHECK."));
        }
        Ok((base, Some(known)))
    }

    /// The type that a type's name means. Errors: `42704`, and `0A000` for a domain.
    pub fn type_of(&self, name: &TypeName<'_>) -> Result<Type> {
        let missing = || {
            let shown: Vec<&str> = name.path.iter().map(|name| name.text).collect();
            let message = format!("type \"{}{}\" does not exist", shown.join("."), "[]".repeat(name.dimensions.into()));
            Error::statement(sqlstate::UNDEFINED_OBJECT, message)
        };
        let found = match name.path {
            [name_alone] if name.builtin => table::by_name(name_alone.text).map(|row| row.oid),
            [name] => self.find_type(None, name.text)?,
            [schema, name] => self.find_type(Some(schema.text), name.text)?,
            _ => None,
        };
        let found = found.ok_or_else(missing)?;
        if user::is_domain(found) {
            let message = format!("the domain {} cannot be used here yet", self.shown_type(found));
            return Err(Error::unsupported(message)
                .hint("Columns of tables and casts may be of a domain; use the type that it is made of."));
        }
        if user::is_user(found) {
            if !name.modifiers.is_empty() {
                let message = format!("type modifier is not allowed for type {}", self.shown_type(found));
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
            }
            // An array of arrays is an array.
            let oid = if name.dimensions == 0 { found } else { user::array_of(found).unwrap_or(found) };
            return Ok(Type::plain(oid));
        }
        let row = table::row(found)?;
        if row.category == b'P' && row.oid != Oid::VOID && row.oid != Oid::RECORD {
            return Ok(Type::plain(row.oid));
        }
        let typmod = match name.modifiers {
            [] => -1,
            modifiers => typmod::encode(row.oid, modifiers)?,
        };
        let oid = match name.dimensions {
            0 => row.oid,
            _ => table::array_of(row.oid).ok_or_else(missing)?,
        };
        Ok(Type { oid, typmod })
    }

    // ---- regclass and its relatives

    /// The object that a text of type `regclass`, `regtype` and so on names.
    pub fn read_reg(&self, ty: Oid, text: &str) -> Result<Oid> {
        if text == "-" {
            return Ok(Oid::NONE);
        }
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().map(Oid).map_err(|_| {
                let message = format!("value \"{text}\" is out of range for type oid");
                Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message)
            });
        }
        if ty == Oid::REGPROCEDURE && text.trim_end().ends_with(')') {
            return self.routine_of(text);
        }
        let parts = split_name(text)
            .ok_or_else(|| Error::statement(sqlstate::INVALID_NAME, format!("invalid name syntax: \"{text}\"")))?;
        let missing = |what: &str, code| Error::statement(code, format!("{what} \"{text}\" does not exist"));
        let in_catalog = |parts: &[String]| match parts {
            [name] => Some(name.clone()),
            [schema, name] if schema == "pg_catalog" => Some(name.clone()),
            _ => None,
        };
        match ty {
            Oid::REGCLASS => {
                let found = match parts.as_slice() {
                    [name] => self.find(None, name)?,
                    [schema, name] => self.find(Some(schema), name)?,
                    _ => None,
                };
                match found {
                    Some(table) => Ok(table.oid),
                    None => self.index_named(&parts)?.ok_or_else(|| missing("relation", sqlstate::UNDEFINED_TABLE)),
                }
            }
            Oid::REGTYPE => {
                let name = in_catalog(&parts);
                let found = name.as_deref().and_then(|name| table::by_sql_name(name).or_else(|| table::by_name(name)));
                let plain = || table::by_sql_name(text).or_else(|| table::by_name(text));
                if let Some(row) = found.or_else(plain) {
                    return Ok(row.oid);
                }
                let (parts, is_array) = match text.trim_end().strip_suffix("[]").and_then(split_name) {
                    Some(element) => (element, true),
                    None => (parts, false),
                };
                let found = match parts.as_slice() {
                    [name] => self.find_type(None, name)?,
                    [schema, name] => self.find_type(Some(schema), name)?,
                    _ => None,
                };
                let found = if is_array { found.and_then(table::array_of) } else { found };
                found.ok_or_else(|| missing("type", sqlstate::UNDEFINED_OBJECT))
            }
            Oid::REGPROC | Oid::REGPROCEDURE => {
                let name = in_catalog(&parts);
                let rows = name.as_deref().map_or(&[][..], function::by_name);
                let (schema, own) = match parts.as_slice() {
                    [name] => (None, name.as_str()),
                    [schema, name] => (Some(schema.as_str()), name.as_str()),
                    _ => (None, ""),
                };
                let routines = self.routines_named(schema, own);
                if let ([], []) = (rows, routines.as_slice())
                    && let [only] = name.as_deref().map_or(Vec::new(), system::internal::by_name).as_slice()
                {
                    return Ok(only.oid);
                }
                match (rows, routines.as_slice()) {
                    ([only], []) => Ok(only.oid),
                    ([], [only]) => Ok(only.oid),
                    ([], []) => Err(missing("function", sqlstate::UNDEFINED_FUNCTION)),
                    _ => {
                        let message = format!("more than one function named \"{text}\"");
                        Err(Error::statement(sqlstate::AMBIGUOUS_FUNCTION, message))
                    }
                }
            }
            Oid::REGNAMESPACE => match parts.as_slice() {
                [name] => self.schema(name).ok_or_else(|| missing("schema", sqlstate::INVALID_SCHEMA_NAME)),
                _ => Err(missing("schema", sqlstate::INVALID_SCHEMA_NAME)),
            },
            Oid::REGROLE => match parts.as_slice() {
                [name] => {
                    let role = self.definitions.role_named(name);
                    role.map(|role| role.oid).ok_or_else(|| missing("role", sqlstate::UNDEFINED_OBJECT))
                }
                _ => Err(missing("role", sqlstate::UNDEFINED_OBJECT)),
            },
            Oid::REGOPER | Oid::REGOPERATOR => match operator::by_name(text) {
                [only] => Ok(only.oid),
                _ => Err(missing("operator", sqlstate::UNDEFINED_FUNCTION)),
            },
            _ => Err(Error::unsupported("names of this type are not supported")),
        }
    }

    fn index_named(&self, parts: &[String]) -> Result<Option<Oid>> {
        let (schema, name) = match parts {
            [name] => (None, name),
            [schema, name] => (self.schema(schema), name),
            _ => return Ok(None),
        };
        for table in self.tables()? {
            let in_schema = match schema {
                Some(schema) => table.schema == schema,
                None => self.path.searched.contains(&table.schema),
            };
            if in_schema && let Some(index) = table.indexes.iter().find(|index| index.name == *name) {
                return Ok(Some(index.oid));
            }
        }
        Ok(None)
    }

    /// How an object is shown as a value of type `regclass`, `regtype` and so on.
    pub fn show_reg(&self, ty: Oid, oid: Oid) -> String {
        if oid.is_none() {
            return "-".to_owned();
        }
        let routine = || self.definitions.routine(oid);
        let name = match ty {
            Oid::REGPROC if routine().is_some() => routine().map(|routine| quoted_identifier(&routine.name)),
            Oid::REGPROCEDURE if routine().is_some() => {
                routine().map(|routine| self.with_names(&routine.shown()).into_owned())
            }
            Oid::REGCLASS => self.relation_name(oid),
            Oid::REGTYPE if user::is_user(oid) => user::base_of(oid)
                .filter(|base| self.user_type(*base).is_some())
                .map(|_| self.with_names(&user::mark(oid)).into_owned()),
            Oid::REGTYPE => table::by_oid(oid).map(|_| typmod::format_type(Type::plain(oid))),
            Oid::REGPROC => {
                let own = || system::internal::by_oid(oid).map(|row| row.name.to_owned());
                function::by_oid(oid).map(|row| row.name.to_owned()).or_else(own)
            }
            Oid::REGPROCEDURE => {
                let shown = |name: &str, args: &[Oid]| {
                    let types: Vec<_> = args.iter().map(|&ty| typmod::format_type(Type::plain(ty))).collect();
                    format!("{name}({})", types.join(","))
                };
                let own = || system::internal::by_oid(oid).map(|row| shown(row.name, &row.args));
                function::by_oid(oid).map(|row| shown(row.name, row.args)).or_else(own)
            }
            Oid::REGNAMESPACE => self.schema_name(oid).map(|name| quoted_identifier(&name)),
            Oid::REGROLE => self.definitions.role(oid).map(|role| quoted_identifier(&role.name)),
            Oid::REGOPER => operator::by_oid(oid).map(|row| row.name.to_owned()),
            Oid::REGOPERATOR => operator::by_oid(oid).map(|row| {
                let shown = |ty: Oid| match ty.is_none() {
                    true => "NONE".to_owned(),
                    false => typmod::format_type(Type::plain(ty)),
                };
                format!("{}({},{})", row.name, shown(row.left), shown(row.right))
            }),
            _ => None,
        };
        name.unwrap_or_else(|| oid.to_string())
    }

    fn relation_name(&self, oid: Oid) -> Option<String> {
        if let Ok(Some(table)) = self.table_by_oid(oid) {
            return Some(self.shown_name(&table));
        }
        let tables = self.tables().ok()?;
        tables.iter().find_map(|table| match table.pieces {
            Some(pieces) if pieces.oid == oid => Some(format!("pg_toast.{}", pieces_name(table.oid))),
            _ => table.index(oid).map(|index| quoted_identifier(&index.name)),
        })
    }
}

/// The name of the relation that has a table's large values.
pub(crate) fn pieces_name(table: Oid) -> String {
    format!("pg_toast_{}", table.0)
}

/// The number of the schema of that name.
pub(crate) fn schema_in(definitions: &Definitions, name: &str) -> Option<Oid> {
    let builtin = definitions.builtin_schemas().find(|known| known.1 == name).map(|known| known.0);
    builtin.or_else(|| definitions.schema_named(name)).or_else(|| schema::temporary_named(name))
}

/// Schema and name of a path.
pub fn split<'a>(path: Path<'a>) -> Result<(Option<&'a str>, &'a str)> {
    match path {
        [name] => Ok((None, name.text)),
        [schema, name] => Ok((Some(schema.text), name.text)),
        [database, schema, name] if database.text == system::cluster::DATABASE_NAME => {
            Ok((Some(schema.text), name.text))
        }
        [_, _, _] => {
            let shown: Vec<&str> = path.iter().map(|name| name.text).collect();
            Err(Error::unsupported(format!("cross-database references are not implemented: \"{}\"", shown.join("."))))
        }
        _ => {
            let shown: Vec<&str> = path.iter().map(|name| name.text).collect();
            let message = format!("improper qualified name (too many dotted names): {}", shown.join("."));
            Err(Error::statement(sqlstate::SYNTAX_ERROR, message))
        }
    }
}

/// The parts of a name with dots, folded and unquoted.
pub(crate) fn split_name(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            let mut characters = quoted.char_indices();
            let end = loop {
                match characters.next()? {
                    (at, '"') if quoted[at + 1..].starts_with('"') => {
                        characters.next();
                        name.push('"');
                    }
                    (at, '"') => break at + 1,
                    (_, character) => name.push(character),
                }
            };
            parts.push(name);
            rest = &quoted[end..];
        } else {
            let end = rest.find('.').unwrap_or(rest.len());
            let name = rest[..end].trim_end();
            if name.is_empty() {
                return None;
            }
            parts.push(name.to_ascii_lowercase());
            rest = &rest[end..];
        }
        match rest.strip_prefix('.') {
            Some(more) => rest = more,
            None => return rest.is_empty().then_some(parts),
        }
    }
}

/// Is a kind one whose text form the catalog knows?
pub fn is_reg(kind: Kind) -> bool {
    kind == Kind::Reg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_path_and_shown_so_that_they_are_found_again() {
        let catalogs = Catalogs::new();
        let catalog = Catalog::new(&catalogs, Arc::default(), "\"$user\", public", "postgres");
        let class = catalog.find(None, "pg_class").unwrap().unwrap();
        assert_eq!((class.oid, class.columns[1].name.as_str()), (Oid(1259), "relname"));
        assert_eq!(catalog.shown_name(&class), "pg_class");
        assert_eq!(catalog.read_reg(Oid::REGCLASS, "pg_catalog.PG_Class").unwrap(), class.oid);
        assert_eq!(catalog.read_reg(Oid::REGCLASS, "\"pg_class\"").unwrap(), class.oid);
        assert_eq!(catalog.show_reg(Oid::REGCLASS, class.oid), "pg_class");
        assert_eq!(catalog.show_reg(Oid::REGTYPE, Oid::INT4), "integer");
        assert!(catalog.find(Some("public"), "pg_class").unwrap().is_none());
        let error = catalog.read_reg(Oid::REGCLASS, "nothing").unwrap_err();
        assert_eq!(error.message(), "relation \"nothing\" does not exist");
    }

    #[test]
    fn names_come_apart_as_postgresql_takes_them() {
        assert_eq!(split_name("a.B"), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(split_name("\"A.b\"\"c\".d"), Some(vec!["A.b\"c".to_owned(), "d".to_owned()]));
        assert_eq!(split_name("a."), None);
        assert_eq!(split_name("\"a"), None);
        assert_eq!(split_name(""), None);
    }
}
