//! `COMMENT`: a text on something, for people.
//!
//! Those on tables, and on what belongs to tables, are parts of the tables' definitions, and go with them; others are objects of the
//! catalog, with the numbers of what they are on.

use super::define::{Change, missing, shown};
use super::owner::Needs;
use crate::catalog::codec::{ObjectClass, comment_image};
use crate::catalog::database::no_database;
use crate::catalog::definition::{Comment, RelationKind, TableDef};
use crate::catalog::split;
use crate::parser::ast::{CommentOn, ObjectKind, Path};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::Oid;
use allocator_api2::alloc::Allocator;
use base::settings::MessageLevel;
use base::{Error, Result, sqlstate};
use storage::txn::LockMode;

/// `pg_namespace`, and `pg_database`.
const CLASSES: (Oid, Oid) = (Oid(2615), Oid(1262));

/// `pg_type`
const TYPES: Oid = Oid(1247);

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn comment<O: Output>(
        &mut self,
        env: &Environment<'_>,
        on: &CommentOn<'_>,
        text: Option<&str>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        self.check_writes(env, "COMMENT")?;
        // An empty one is none.
        let text = text.filter(|text| !text.is_empty());
        match *on {
            CommentOn::Relation(ObjectKind::Index, path) => self.comment_on_index(env, path, text)?,
            CommentOn::Relation(kind, path) => {
                let (kind, word) = match kind {
                    ObjectKind::View => (RelationKind::View, "view"),
                    ObjectKind::Sequence => (RelationKind::Sequence, "sequence"),
                    _ => (RelationKind::Table, "table"),
                };
                self.comment_on_relation(env, path, text, |def| {
                    if def.kind != kind {
                        let message = format!("\"{}\" is not a {word}", def.name);
                        return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
                    }
                    Ok((def.oid, 0))
                })?;
            }
            CommentOn::Column(path) => {
                let Some((column, path)) = path.split_last().filter(|(_, path)| !path.is_empty()) else {
                    return Err(Error::statement(sqlstate::SYNTAX_ERROR, "column name must be qualified"));
                };
                self.comment_on_relation(env, path, text, |def| match def.column(column.text) {
                    Some(at) => Ok((def.oid, at as u16 + 1)),
                    None => {
                        let message = format!("column \"{}\" of relation \"{}\" does not exist", column.text, def.name);
                        Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message))
                    }
                })?;
            }
            CommentOn::Constraint(name, path) => self.comment_on_relation(env, path, text, |def| {
                let found = def.constraints.iter().find(|known| known.name == name.text);
                found.map(|found| (found.oid, 0)).ok_or_else(|| {
                    let message = format!("constraint \"{}\" for table \"{}\" does not exist", name.text, def.name);
                    Error::statement(sqlstate::UNDEFINED_OBJECT, message)
                })
            })?,
            CommentOn::Type(path) => {
                let found = self.lock_user_type(env, path)?.ok_or_else(|| super::user_type::no_type(path))?;
                let image = text.map(|text| comment_image(TYPES, text));
                self.define(env, &[Change { class: ObjectClass::Comment, oid: found.oid, image }])?;
            }
            CommentOn::Schema(name) => {
                self.lock_name(env, Oid::NONE, name.text)?;
                let Some(oid) = self.catalog(env)?.schema(name.text) else {
                    let message = format!("schema \"{}\" does not exist", name.text);
                    return Err(Error::statement(sqlstate::INVALID_SCHEMA_NAME, message));
                };
                self.must_own_schema(env, oid, name.text)?;
                let image = text.map(|text| comment_image(CLASSES.0, text));
                self.define(env, &[Change { class: ObjectClass::Comment, oid, image }])?;
            }
            CommentOn::Database(name) => {
                let Some(database) = self.lock_own_database(env, name.text)? else {
                    // Not an error, so that the dump of a database loads into one of another name.
                    out.notice(MessageLevel::Warning, &no_database(name.text));
                    return Ok(Some(Tag::Words("COMMENT")));
                };
                let image = text.map(|text| comment_image(CLASSES.1, text));
                self.define(env, &[Change { class: ObjectClass::DatabaseComment, oid: database.oid, image }])?;
            }
        }
        Ok(Some(Tag::Words("COMMENT")))
    }

    fn comment_on_relation(
        &mut self,
        env: &Environment<'_>,
        path: Path<'_>,
        text: Option<&str>,
        place: impl FnOnce(&TableDef) -> Result<(Oid, u16)>,
    ) -> Result<()> {
        let Some(found) = self.lock_table(env, path, LockMode::ShareUpdateExclusive, true, Needs::Ownership)? else {
            return Err(missing(path));
        };
        let place = place(&found)?;
        if !found.is_users() {
            let message = format!("permission denied: \"{}\" is a system catalog", found.name);
            return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        self.set_comment(env, &found, place, text)
    }

    fn comment_on_index(&mut self, env: &Environment<'_>, path: Path<'_>, text: Option<&str>) -> Result<()> {
        let (schema, name) = split(path, self.database_name())?;
        let found = {
            let catalog = self.catalog(env)?;
            let schemas = match schema {
                Some(schema) => catalog.schema(schema).into_iter().collect(),
                None => catalog.path.searched.clone(),
            };
            let found = schemas.iter().find_map(|schema| catalog.definitions.index_named(*schema, name));
            if found.is_none() && catalog.find(schema, name)?.is_some() {
                return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not an index")));
            }
            found.map(|(table, index)| (table.oid, index))
        };
        let gone = || {
            let message = format!("relation \"{}\" does not exist", shown(path));
            Error::statement(sqlstate::UNDEFINED_TABLE, message)
        };
        let (table, index) = found.ok_or_else(gone)?;
        self.check_owns_index(env, table, name)?;
        self.lock_relation(env, table.0, LockMode::ShareUpdateExclusive, true)?;
        let table = self.lock_definition(env, table)?.filter(|table| table.index(index).is_some()).ok_or_else(gone)?;
        self.set_comment(env, &table, (index, 0), text)
    }

    fn set_comment(
        &mut self,
        env: &Environment<'_>,
        table: &TableDef,
        (of, column): (Oid, u16),
        text: Option<&str>,
    ) -> Result<()> {
        let mut changed = table.clone();
        changed.comments.retain(|known| (known.of, known.column) != (of, column));
        changed.comments.extend(text.map(|text| Comment { of, column, text: text.to_owned() }));
        self.define_tables(env, &mut [&mut changed])
    }
}
