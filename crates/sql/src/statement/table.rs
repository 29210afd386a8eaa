//! Tables and schemas: `CREATE TABLE`, `DROP TABLE`, `TRUNCATE`, `CREATE SCHEMA`, `DROP SCHEMA`.

use super::constraint::Draft;
use super::define::{Change, check_own, column, is_taken, missing, shown, taken};
use super::index::check_tablespace;
use super::owner::Needs;
use super::sequence::ColumnSequence;
use crate::catalog::codec::{ObjectClass, schema_image};
use crate::catalog::definition::{
    ColumnDef, ConstraintDef, ConstraintKind, OnCommit, Persistence, PiecesDef, RelationKind, Rows, TableDef,
};
use crate::catalog::privilege;
use crate::catalog::privilege::{Guard, Securable};
use crate::catalog::schema::SchemaDef;
use crate::catalog::trigger::BEFORE;
use crate::catalog::{schema, split};
use crate::parser::ast::{ColumnDefinition, CreateTable, Name, ObjectKind, Path};
use crate::parser::role::RoleName;
use crate::row::COLUMNS_MAX;
use crate::session::parameters::Parameters;
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Oid, Type, table};
use allocator_api2::alloc::Allocator;
use base::settings::MessageLevel;
use base::{Error, Result, Xid, sqlstate};
use std::collections::BTreeSet;
use std::sync::Arc;
use storage::txn::LockMode;

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn create_table<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        create: &CreateTable<'_>,
        given: Parameters<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        const TAG: Option<Tag> = Some(Tag::Words("CREATE TABLE"));
        check_tablespace(create.tablespace)?;
        let words = if create.source.is_some() { "CREATE TABLE AS" } else { "CREATE TABLE" };
        self.check_writes(env, words)?;
        let (schema, name, is_temporary) = self.relation_place(env, create.path, create.temporary)?;
        if create.unlogged && is_temporary {
            let message = "only temporary relations may be created in temporary schemas";
            return Err(Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message));
        }
        if create.on_commit.is_some() && !is_temporary {
            let message = "ON COMMIT can only be used on temporary tables";
            return Err(Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message));
        }
        self.lock_name(env, schema, name)?;
        if is_taken(&self.catalog(env)?, schema, name) {
            if create.if_not_exists {
                let message = format!("relation \"{name}\" already exists, skipping");
                out.notice(MessageLevel::Notice, &Error::statement(sqlstate::DUPLICATE_TABLE, message));
                return Ok(Some(Tag::Words(words)));
            }
            return Err(taken(name));
        }
        super::user_type::check_row_type(&self.catalog(env)?, schema, name)?;
        if let Some(source) = &create.source {
            return self.create_table_as(env, text, create, source, (schema, name), given);
        }
        if create.columns.len() > COLUMNS_MAX {
            let message = format!("tables can have at most {COLUMNS_MAX} columns");
            return Err(Error::statement(sqlstate::TOO_MANY_COLUMNS, message));
        }
        let (mut columns, mut sequences) = (Vec::<ColumnDef>::with_capacity(create.columns.len()), Vec::new());
        let (mut likes, mut liked) = (create.likes.iter().peekable(), Vec::new());
        for (at, column) in create.columns.iter().enumerate() {
            while let Some(like) = likes.next_if(|like| like.before <= at) {
                liked.push(self.like_columns(env, like, &mut columns, &mut sequences)?);
            }
            if columns.iter().any(|known| known.name == column.name.text) {
                let message = format!("column \"{}\" specified more than once", column.name.text);
                return Err(Error::statement(sqlstate::DUPLICATE_COLUMN, message));
            }
            let (made, sequence) = self.new_column(env, text, name, column)?;
            columns.push(made);
            sequences.extend(sequence);
        }
        for like in likes {
            liked.push(self.like_columns(env, like, &mut columns, &mut sequences)?);
        }
        if columns.len() > COLUMNS_MAX {
            let message = format!("tables can have at most {COLUMNS_MAX} columns");
            return Err(Error::statement(sqlstate::TOO_MANY_COLUMNS, message));
        }
        let has_defaults = columns.iter().any(|column| column.default.is_some());
        let mut draft = Draft::new(self.new_table(env, create, (schema, name), columns)?, false);
        draft.names.push(name.to_owned());
        draft.has_expressions = has_defaults;
        for sequence in sequences {
            let made = self.add_column_sequence(env, &mut draft.table, &mut draft.names, sequence)?;
            draft.others.push(made);
        }
        for liked in &liked {
            self.like_rest(env, &mut draft, liked)?;
        }
        let with_columns = create.columns.iter().flat_map(|column| column.constraints);
        let constraints: Vec<_> = with_columns.chain(create.constraints).collect();
        // Keys come first: a foreign key may refer to the table itself.
        let is_key = |constraint: &&&crate::parser::ast::TableConstraint<'_>| {
            !matches!(constraint.kind, crate::parser::ast::ConstraintKind::ForeignKey { .. })
        };
        for constraint in constraints.iter().filter(is_key) {
            self.add_constraint(env, &mut draft, constraint)?;
        }
        for constraint in constraints.iter().filter(|constraint| !is_key(constraint)) {
            self.add_constraint(env, &mut draft, constraint)?;
        }
        self.finish_draft(env, &mut draft)?;
        self.grant_defaults(env, Guard::relation(&draft.table), schema)?;
        Ok(TAG)
    }

    /// A table that is made, with its storage, locked; not defined yet.
    pub(super) fn new_table(
        &mut self,
        env: &Environment<'_>,
        create: &CreateTable<'_>,
        (schema, name): (Oid, &str),
        columns: Vec<ColumnDef>,
    ) -> Result<TableDef> {
        let options = super::storage_option::of_new_table(create.options)?;
        self.own_xid(env)?;
        let rows = env.stored()?.create()?;
        let oid = self.new_oid(env)?;
        self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
        let on_commit = create.on_commit.unwrap_or(OnCommit::Preserve);
        let persistence = match create.unlogged {
            true => Persistence::Unlogged,
            false if schema::is_temporary(schema) => Persistence::Temporary(on_commit),
            false => Persistence::Permanent,
        };
        self.deletes_on_commit |= on_commit == OnCommit::Delete;
        let mut table = TableDef {
            oid,
            schema,
            name: name.to_owned(),
            kind: RelationKind::Table,
            rows: Rows::Stored(rows),
            persistence,
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
            view: None,
            version: 0,
        };
        self.add_pieces(env, &mut table)?;
        Ok(table)
    }

    /// Gives a table a place for large values, if its rows may need one and it has none. The definition is the caller's to write.
    pub(super) fn add_pieces(&mut self, env: &Environment<'_>, table: &mut TableDef) -> Result<()> {
        if table.pieces.is_none() && matches!(table.rows, Rows::Stored(_)) && table.may_be_long() {
            self.own_xid(env)?;
            let storage = env.stored()?.create()?;
            table.pieces = Some(PiecesDef { oid: self.new_oid(env)?, storage });
        }
        Ok(())
    }

    /// A column as it was written, without its constraints.
    pub(super) fn new_column(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        table: &str,
        written: &ColumnDefinition<'_>,
    ) -> Result<(ColumnDef, Option<ColumnSequence>)> {
        let place = crate::lexer::position(text, written.type_name.at as usize);
        let serial = super::sequence::serial(written.type_name);
        let ty = match serial {
            Some(oid) => Type::plain(oid),
            None => self.catalog(env)?.type_of(written.type_name).map_err(|error| error.at(place))?,
        };
        self.hold_type(env, ty)?;
        let row = table::by_oid(ty.oid);
        if matches!(ty.oid, Oid::ACLITEM | Oid::ACLITEM_ARRAY) {
            return Err(Error::unsupported("columns of type aclitem are not supported"));
        }
        if row.is_none_or(|row| row.category == b'P') {
            let shown = crate::types::typmod::format_type(ty);
            let message = format!("column \"{}\" has pseudo-type {shown}", written.name.text);
            return Err(Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message));
        }
        let mut made = column(written.name.text, ty);
        made.not_null = written.not_null.unwrap_or(false);
        if let Some(default) = written.default {
            self.set_default(env, &mut made, default.text)?;
        }
        if let Some(expression) = written.generated {
            let name = &made.name;
            let both = |what: &str| {
                let message = format!(
                    "both {what} and generation expression specified for column \"{name}\" of table \"{table}\""
                );
                Err(Error::statement(sqlstate::SYNTAX_ERROR, message))
            };
            if serial.is_some() || written.default.is_some() {
                return both("default");
            }
            if written.identity.is_some() {
                return both("identity");
            }
            made.default = Some(self.catalog(env)?.with_marks(expression.text.trim())?);
            made.generated = true;
        }
        let sequence = self.column_sequence(env, table, &made, serial.is_some(), written.identity)?;
        if sequence.is_some() && written.not_null == Some(false) {
            let message =
                format!("conflicting NULL/NOT NULL declarations for column \"{}\" of table \"{table}\"", made.name);
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
        }
        Ok((made, sequence))
    }

    /// Gives a column a default.
    pub(super) fn set_default(&self, env: &Environment<'_>, column: &mut ColumnDef, text: &str) -> Result<()> {
        let text = text.trim();
        (column.default, column.uses) = (None, Vec::new());
        // A default of null is none.
        if !text.eq_ignore_ascii_case("null") {
            let catalog = self.catalog(env)?;
            let (text, uses) = super::sequence::numbered(&catalog, text)?;
            (column.default, column.uses) = (Some(catalog.with_marks(&text)?), uses);
        }
        Ok(())
    }

    pub(super) fn drop_objects<O: Output>(
        &mut self,
        env: &Environment<'_>,
        kind: ObjectKind,
        paths: &[Path<'_>],
        (if_exists, cascade): (bool, bool),
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let tag = match kind {
            ObjectKind::Table => "DROP TABLE",
            ObjectKind::Index => "DROP INDEX",
            ObjectKind::Schema => "DROP SCHEMA",
            ObjectKind::View => "DROP VIEW",
            ObjectKind::Sequence => "DROP SEQUENCE",
        };
        self.check_writes(env, tag)?;
        match kind {
            ObjectKind::Table => self.drop_tables(env, paths, if_exists, cascade, out)?,
            ObjectKind::Index => self.drop_indexes(env, paths, if_exists, out)?,
            ObjectKind::Schema => self.drop_schemas(env, paths, if_exists, cascade, out)?,
            ObjectKind::Sequence => self.drop_sequences(env, paths, (if_exists, cascade), out)?,
            ObjectKind::View => self.drop_views(env, paths, (if_exists, cascade), out)?,
        }
        Ok(Some(Tag::Words(tag)))
    }

    fn drop_tables<O: Output>(
        &mut self,
        env: &Environment<'_>,
        paths: &[Path<'_>],
        if_exists: bool,
        cascade: bool,
        out: &mut O,
    ) -> Result<()> {
        let mut dropped: Vec<Arc<TableDef>> = Vec::with_capacity(paths.len());
        for path in paths {
            if let Some(found) = self.lock_table(env, path, LockMode::AccessExclusive, true, Needs::Removal)? {
                if found.view.is_some() {
                    let message = format!("\"{}\" is not a table", found.name);
                    return Err(
                        Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).hint("Use DROP VIEW to remove a view.")
                    );
                }
                check_own(&found)?;
                if !dropped.iter().any(|known| known.oid == found.oid) {
                    dropped.push(found);
                }
                continue;
            }
            let (schema, name) = split(path, self.database_name())?;
            self.refuse_index(env, schema, name)?;
            let missing_schema =
                schema.filter(|schema| self.catalog(env).is_ok_and(|catalog| catalog.schema(schema).is_none()));
            let message = match missing_schema {
                Some(schema) => format!("schema \"{schema}\" does not exist"),
                None => format!("table \"{}\" does not exist", if if_exists { name.to_owned() } else { shown(path) }),
            };
            if !if_exists {
                let code = match missing_schema {
                    Some(_) => sqlstate::INVALID_SCHEMA_NAME,
                    None => sqlstate::UNDEFINED_TABLE,
                };
                return Err(Error::statement(code, message));
            }
            let message = format!("{message}, skipping");
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
        }
        self.drop_all(env, &dropped, cascade, out)
    }

    fn refuse_index(&self, env: &Environment<'_>, schema: Option<&str>, name: &str) -> Result<()> {
        let catalog = self.catalog(env)?;
        let schemas: Vec<Oid> = match schema {
            Some(schema) => catalog.schema(schema).into_iter().collect(),
            None => catalog.path.searched.clone(),
        };
        if schemas.iter().any(|schema| catalog.definitions.index_named(*schema, name).is_some()) {
            let message = format!("\"{name}\" is not a table");
            return Err(
                Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).hint("Use DROP INDEX to remove an index.")
            );
        }
        Ok(())
    }

    /// Drops relations that are locked, and what refers to them, if that is wanted.
    pub(super) fn drop_all<O: Output>(
        &mut self,
        env: &Environment<'_>,
        dropped: &[Arc<TableDef>],
        cascade: bool,
        out: &mut O,
    ) -> Result<()> {
        let gone: BTreeSet<Oid> = dropped.iter().map(|table| table.oid).collect();
        let what = match dropped {
            [one] => format!("{} {}", one.word(), one.name),
            _ => "desired object(s)".to_owned(),
        };
        let mut views = self.views_that_go(env, dropped, (&what, cascade), out)?;
        let (own_views, dropped): (Vec<_>, Vec<_>) = dropped.iter().cloned().partition(|table| table.view.is_some());
        views.extend(own_views);
        self.forget_views(env, &views)?;
        // Sequences that are dropped, or go with a column.
        let (dropped, mut sequences): (Vec<_>, Vec<_>) =
            dropped.iter().cloned().partition(|table| table.sequence.is_none());
        for owned in self.owned_by(env, |owner| gone.contains(&owner.table))? {
            if !gone.contains(&owned.oid) {
                sequences.push(owned);
            }
        }
        let gone_sequences = self.drop_sequence_storage(env, &sequences, &gone, (&what, cascade), out)?;
        self.define(env, &gone_sequences)?;
        let dropped = dropped.as_slice();
        // Foreign keys of tables that stay.
        let mut changed: Vec<TableDef> = Vec::new();
        for table in dropped {
            for referrer in table.referenced_by.iter().filter(|referrer| !gone.contains(&referrer.table)) {
                let at = match changed.iter().position(|known| known.oid == referrer.table) {
                    Some(at) => at,
                    None => {
                        self.lock_relation(env, referrer.table.0, LockMode::AccessExclusive, true)?;
                        let Some(found) = self.lock_definition(env, referrer.table)? else { continue };
                        changed.push(TableDef::clone(&found));
                        changed.len() - 1
                    }
                };
                let other = &mut changed[at];
                let Some(place) = other.constraints.iter().position(|known| known.oid == referrer.constraint) else {
                    continue;
                };
                let name = &other.constraints[place].name;
                if !cascade {
                    let message = match dropped {
                        [_] => format!("cannot drop table {} because other objects depend on it", table.name),
                        _ => "cannot drop desired object(s) because other objects depend on them".to_owned(),
                    };
                    let detail = format!("constraint {name} on table {} depends on table {}", other.name, table.name);
                    return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                        .detail(detail)
                        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
                }
                let message = format!("drop cascades to constraint {name} on table {}", other.name);
                out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
                other.constraints.remove(place);
            }
        }
        // Tables that the dropped ones refer to forget it.
        for table in dropped {
            for constraint in &table.constraints {
                let ConstraintKind::ForeignKey(key) = &constraint.kind else { continue };
                if gone.contains(&key.table) {
                    continue;
                }
                let at = match changed.iter().position(|known| known.oid == key.table) {
                    Some(at) => at,
                    None => {
                        self.lock_relation(env, key.table.0, LockMode::ShareRowExclusive, true)?;
                        let Some(found) = self.lock_definition(env, key.table)? else { continue };
                        changed.push(TableDef::clone(&found));
                        changed.len() - 1
                    }
                };
                changed[at].referenced_by.retain(|referrer| !gone.contains(&referrer.table));
            }
        }
        let mut changes = Vec::new();
        for table in dropped {
            changes.extend(self.drop_storage(env, table)?);
        }
        self.define_tables(env, &mut changed.iter_mut().collect::<Vec<_>>())?;
        self.define(env, &changes)
    }

    pub(super) fn truncate<O: Output>(
        &mut self,
        env: &Environment<'_>,
        paths: &[Path<'_>],
        restarts: bool,
        cascade: bool,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        self.check_writes(env, "TRUNCATE TABLE")?;
        let mut tables: Vec<TableDef> = Vec::with_capacity(paths.len());
        for path in paths {
            let found =
                self.lock_own_table(env, path, LockMode::AccessExclusive, true, Needs::Rights(privilege::TRUNCATE))?;
            if !tables.iter().any(|known| known.oid == found.oid) {
                tables.push(TableDef::clone(&found));
            }
        }
        let mut at = 0;
        while at < tables.len() {
            for referrer in tables[at].referenced_by.clone() {
                if tables.iter().any(|known| known.oid == referrer.table) {
                    continue;
                }
                if !cascade {
                    let definitions = self.definitions(env, &self.work)?;
                    let other = definitions.table(referrer.table).map_or("", |other| other.name.as_str());
                    let message = "cannot truncate a table referenced in a foreign key constraint";
                    return Err(Error::unsupported(message)
                        .detail(format!("Table \"{other}\" references \"{}\".", tables[at].name))
                        .hint(format!("Truncate table \"{other}\" at the same time, or use TRUNCATE ... CASCADE.")));
                }
                self.lock_relation(env, referrer.table.0, LockMode::AccessExclusive, true)?;
                if let Some(found) = self.lock_definition(env, referrer.table)? {
                    self.check_needs(env, &found, Needs::Rights(privilege::TRUNCATE))?;
                    tables.push(TableDef::clone(&found));
                }
            }
            at += 1;
        }
        self.fire_truncate(env, &tables, BEFORE, out)?;
        let since = self.own_xid(env)?;
        let relations = env.stored()?;
        let mut forgotten = Vec::new();
        for table in &mut tables {
            let new = relations.create()?;
            if let Rows::Stored(rows) = table.rows {
                relations.drop_at_commit(rows)?;
                relations.succeed(new, rows)?;
            }
            table.rows = Rows::Stored(new);
            if let Some(pieces) = &mut table.pieces {
                relations.drop_at_commit(pieces.storage)?;
                pieces.storage = relations.create()?;
            }
            for index in &mut table.indexes {
                let new = relations.create()?;
                relations.drop_at_commit(index.storage)?;
                relations.succeed(new, index.storage)?;
                index.storage = new;
                index.since = since;
                relations.btree(index.storage).create()?;
            }
            forgotten.extend(Change::forget(table.oid));
        }
        self.define_tables(env, &mut tables.iter_mut().collect::<Vec<_>>())?;
        self.define(env, &forgotten)?;
        if restarts {
            self.restart_owned(env, &tables)?;
        }
        self.fire_truncate(env, &tables, 0, out)?;
        Ok(Some(Tag::Words("TRUNCATE TABLE")))
    }

    pub(super) fn create_schema<O: Output>(
        &mut self,
        env: &Environment<'_>,
        name: Option<Name<'_>>,
        owner: Option<&RoleName<'_>>,
        if_not_exists: bool,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        const TAG: Option<Tag> = Some(Tag::Words("CREATE SCHEMA"));
        self.check_writes(env, "CREATE SCHEMA")?;
        let definitions = self.definitions(env, &self.work)?;
        let owner = owner.map_or(Ok(self.role()), |owner| self.role_of(&definitions, owner))?;
        let own_name = definitions.role_name(owner);
        let name = name.map_or(own_name.as_str(), |name| name.text);
        self.check_makes_schema(&definitions, owner)?;
        if name.starts_with("pg_") {
            let message = format!("unacceptable schema name \"{name}\"");
            return Err(Error::statement(sqlstate::RESERVED_NAME, message)
                .detail("The prefix \"pg_\" is reserved for system schemas."));
        }
        self.lock_name(env, Oid::NONE, name)?;
        if self.catalog(env)?.schema(name).is_some() {
            let message = format!("schema \"{name}\" already exists");
            if !if_not_exists {
                return Err(Error::statement(sqlstate::DUPLICATE_SCHEMA, message));
            }
            let message = format!("{message}, skipping");
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::DUPLICATE_SCHEMA, message));
            return Ok(TAG);
        }
        let made = SchemaDef { name: name.to_owned(), owner };
        let oid = self.new_oid(env)?;
        self.define(env, &[Change { class: ObjectClass::Schema, oid, image: Some(schema_image(&made)) }])?;
        self.grant_defaults(env, Guard { kind: Securable::Schema, oid, owner }, Oid::NONE)?;
        Ok(TAG)
    }

    fn drop_schemas<O: Output>(
        &mut self,
        env: &Environment<'_>,
        paths: &[Path<'_>],
        if_exists: bool,
        cascade: bool,
        out: &mut O,
    ) -> Result<()> {
        for path in paths {
            let [name] = path else { return Err(missing(path)) };
            let name = name.text;
            self.lock_name(env, Oid::NONE, name)?;
            let Some(oid) = self.catalog(env)?.schema(name) else {
                let message = format!("schema \"{name}\" does not exist");
                if !if_exists {
                    return Err(Error::statement(sqlstate::INVALID_SCHEMA_NAME, message));
                }
                let message = format!("{message}, skipping");
                out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
                continue;
            };
            let is_fixed = oid != schema::PUBLIC && schema::BUILTIN.iter().any(|known| known.0 == oid);
            if is_fixed || schema::is_temporary(oid) {
                self.must_own_schema(env, oid, name)?;
                let message = format!("cannot drop schema {name} because it is required by the database system");
                return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
            }
            self.must_own_schema(env, oid, name)?;
            self.drop_schema(env, oid, name, cascade, out)?;
        }
        Ok(())
    }

    /// Drops a schema, and what is in it, if that is wanted.
    pub(super) fn drop_schema<O: Output>(
        &mut self,
        env: &Environment<'_>,
        oid: Oid,
        name: &str,
        cascade: bool,
        out: &mut O,
    ) -> Result<()> {
        let inside: Vec<Oid> = {
            let definitions = self.definitions(env, &self.work)?;
            definitions.tables().filter(|table| table.schema == oid).map(|table| table.oid).collect()
        };
        let routines: Vec<_> = {
            let definitions = self.definitions(env, &self.work)?;
            definitions.routines().filter(|routine| routine.schema == oid).cloned().collect()
        };
        if let Some(first) = routines.first()
            && !cascade
        {
            let message = format!("cannot drop schema {name} because other objects depend on it");
            return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(format!("function {name}.{} depends on schema {name}", first.shown()))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let types: Vec<_> = {
            let definitions = self.definitions(env, &self.work)?;
            definitions.user_types().filter(|ty| ty.schema == oid).cloned().collect()
        };
        if let Some(first) = types.first()
            && !cascade
        {
            let message = format!("cannot drop schema {name} because other objects depend on it");
            return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(format!("type {name}.{} depends on schema {name}", first.name))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        for routine in routines {
            let gone = [ObjectClass::Routine, ObjectClass::Privileges];
            self.define(env, &gone.map(|class| Change { class, oid: routine.oid, image: None }))?;
        }
        let mut tables = Vec::with_capacity(inside.len());
        for table in inside {
            self.lock_relation(env, table.0, LockMode::AccessExclusive, true)?;
            tables.extend(self.lock_definition(env, table)?);
        }
        if let [first, ..] = tables.as_slice() {
            if !cascade {
                let message = format!("cannot drop schema {name} because other objects depend on it");
                return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .detail(format!("{} {name}.{} depends on schema {name}", first.word(), first.name))
                    .hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
            let message = match tables.as_slice() {
                [one] => format!("drop cascades to {} {name}.{}", one.word(), one.name),
                many => format!("drop cascades to {} other objects", many.len()),
            };
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
            self.drop_all(env, &tables, true, out)?;
        }
        for ty in types {
            self.lock_relation(env, ty.oid.0, LockMode::AccessExclusive, true)?;
            self.drop_user_type(env, &ty, true, out)?;
        }
        let classes = [ObjectClass::Schema, ObjectClass::Comment, ObjectClass::Privileges];
        let mut gone: Vec<Change> = classes.into_iter().map(|class| Change { class, oid, image: None }).collect();
        if oid == schema::PUBLIC {
            // Without a row it would be there again.
            let none = SchemaDef { name: String::new(), owner: schema::BOOTSTRAP_ROLE };
            gone[0].image = Some(schema_image(&none));
        }
        let definitions = self.definitions(env, &self.work)?;
        let lists = definitions.default_acls().filter(|(_, known)| known.schema == oid);
        gone.extend(lists.map(|(oid, _)| Change { class: ObjectClass::DefaultPrivileges, oid, image: None }));
        self.define(env, &gone)?;
        Ok(())
    }
}

/// The constraint of that name.
pub(super) fn constraint_named<'t>(table: &'t TableDef, name: &str) -> Option<&'t ConstraintDef> {
    table.constraints.iter().find(|known| known.name == name)
}
