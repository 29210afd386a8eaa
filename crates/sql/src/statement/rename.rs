//! Other names for what is there, and other schemas: of constraints, indexes, tables with what belongs to them, schemas.
//!
//! Definitions know one another by number, so a new name is a change of one of them. Those of tables, columns and sequences are changed
//! beside their other properties ([`alter`](super::alter), `sequence`).

use super::constraint::Draft;
use super::define::{Change, is_taken, shown, taken};
use crate::catalog::codec::{ObjectClass, schema_image};
use crate::catalog::definition::{ConstraintKind, TableDef};
use crate::catalog::schema::SchemaDef;
use crate::catalog::{schema, split};
use crate::parser::ast::{Name, Path};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::Oid;
use allocator_api2::alloc::Allocator;
use base::settings::MessageLevel;
use base::{Error, Result, sqlstate};
use storage::txn::LockMode;

impl<A: Allocator + Copy> Session<A> {
    /// `ALTER TABLE … RENAME CONSTRAINT`; a key's index has its name.
    pub(super) fn rename_constraint(
        &mut self,
        env: &Environment<'_>,
        table: &mut TableDef,
        name: Name<'_>,
        new: Name<'_>,
    ) -> Result<()> {
        let Some(at) = table.constraints.iter().position(|known| known.name == name.text) else {
            let message = format!("constraint \"{}\" for table \"{}\" does not exist", name.text, table.name);
            return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
        };
        let index = match &table.constraints[at].kind {
            ConstraintKind::PrimaryKey(index) | ConstraintKind::Unique(index) => Some(*index),
            ConstraintKind::Check(_) | ConstraintKind::ForeignKey(_) => None,
        };
        if index.is_some() {
            self.lock_name(env, table.schema, new.text)?;
            if is_taken(&self.catalog(env)?, table.schema, new.text) {
                return Err(taken(new.text));
            }
        }
        if table.constraints.iter().any(|known| known.name == new.text) {
            let message = format!("constraint \"{}\" for relation \"{}\" already exists", new.text, table.name);
            return Err(Error::statement(sqlstate::DUPLICATE_OBJECT, message));
        }
        new.text.clone_into(&mut table.constraints[at].name);
        for known in table.indexes.iter_mut().filter(|known| Some(known.oid) == index) {
            new.text.clone_into(&mut known.name);
        }
        Ok(())
    }

    /// `ALTER INDEX … RENAME TO`; a constraint's index gives it its name.
    pub(super) fn rename_index<O: Output>(
        &mut self,
        env: &Environment<'_>,
        path: Path<'_>,
        if_exists: bool,
        new: Name<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        const TAG: Option<Tag> = Some(Tag::Words("ALTER INDEX"));
        self.check_writes(env, "ALTER INDEX")?;
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
        let Some((table, index)) = found else {
            if !if_exists {
                return Err(gone());
            }
            let message = format!("{}, skipping", gone().message());
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
            return Ok(TAG);
        };
        self.check_owns_index(env, table, name)?;
        // Plans know indexes by number, but what they report of a broken rule names them.
        self.lock_relation(env, table.0, LockMode::AccessExclusive, true)?;
        let table = self.lock_definition(env, table)?.filter(|table| table.index(index).is_some()).ok_or_else(gone)?;
        self.lock_name(env, table.schema, new.text)?;
        if is_taken(&self.catalog(env)?, table.schema, new.text) {
            return Err(taken(new.text));
        }
        let mut changed = TableDef::clone(&table);
        for known in changed.indexes.iter_mut().filter(|known| known.oid == index) {
            new.text.clone_into(&mut known.name);
        }
        let is_its = |kind: &ConstraintKind| matches!(kind, ConstraintKind::PrimaryKey(own) | ConstraintKind::Unique(own) if *own == index);
        for known in changed.constraints.iter_mut().filter(|known| is_its(&known.kind)) {
            new.text.clone_into(&mut known.name);
        }
        self.define_tables(env, &mut [&mut changed])?;
        Ok(TAG)
    }

    /// `ALTER TABLE … SET SCHEMA`: with its indexes and the sequences of its columns.
    pub(super) fn move_table(&mut self, env: &Environment<'_>, draft: &mut Draft, name: Name<'_>) -> Result<()> {
        let path = [name, Name { text: &draft.table.name.clone(), at: name.at }];
        if schema::is_temporary(draft.table.schema) {
            return Err(Error::unsupported("cannot move objects into or out of temporary schemas"));
        }
        let (schema, own) = self.creation_place(env, &path)?;
        if schema == draft.table.schema {
            return Ok(());
        }
        let table = draft.table.oid;
        let owned = self.owned_by(env, |owner| owner.table == table)?;
        let names: Vec<String> = std::iter::once(own.to_owned())
            .chain(draft.table.indexes.iter().map(|index| index.name.clone()))
            .chain(owned.iter().map(|sequence| sequence.name.clone()))
            .collect();
        for moved in names {
            self.lock_name(env, schema, &moved)?;
            if is_taken(&self.catalog(env)?, schema, &moved) {
                let message = format!("relation \"{moved}\" already exists in schema \"{}\"", name.text);
                return Err(Error::statement(sqlstate::DUPLICATE_TABLE, message));
            }
        }
        draft.table.schema = schema;
        for sequence in owned {
            let mut moved = match draft.others.iter().position(|known| known.oid == sequence.oid) {
                Some(at) => draft.others.swap_remove(at),
                None => TableDef::clone(&sequence),
            };
            moved.schema = schema;
            draft.others.push(moved);
        }
        Ok(())
    }

    /// `ALTER SCHEMA … RENAME TO`
    pub(super) fn rename_schema(
        &mut self,
        env: &Environment<'_>,
        schema: Name<'_>,
        new: Name<'_>,
    ) -> Result<Option<Tag>> {
        self.check_writes(env, "ALTER SCHEMA")?;
        for name in [schema.text, new.text] {
            self.lock_name(env, Oid::NONE, name)?;
        }
        let Some(oid) = self.catalog(env)?.schema(schema.text) else {
            let message = format!("schema \"{}\" does not exist", schema.text);
            return Err(Error::statement(sqlstate::INVALID_SCHEMA_NAME, message));
        };
        self.must_own_schema(env, oid, schema.text)?;
        let definitions = self.definitions(env, &self.work)?;
        self.check_makes_schema(&definitions, self.role())?;
        if self.catalog(env)?.schema(new.text).is_some() {
            let message = format!("schema \"{}\" already exists", new.text);
            return Err(Error::statement(sqlstate::DUPLICATE_SCHEMA, message));
        }
        if new.text.starts_with("pg_") {
            let message = format!("unacceptable schema name \"{}\"", new.text);
            return Err(Error::statement(sqlstate::RESERVED_NAME, message)
                .detail("The prefix \"pg_\" is reserved for system schemas."));
        }
        if oid != schema::PUBLIC && schema::BUILTIN.iter().any(|known| known.0 == oid) {
            return Err(Error::unsupported("the schemas that are there from the beginning keep their names")
                .hint("Make a schema of the new name, and move the tables with ALTER TABLE ... SET SCHEMA."));
        }
        let renamed = SchemaDef { name: new.text.to_owned(), owner: self.catalog(env)?.schema_owner(oid) };
        // Whoever waits for one of its tables finds them under the new name.
        self.define(env, &[Change { class: ObjectClass::Schema, oid, image: Some(schema_image(&renamed)) }])?;
        Ok(Some(Tag::Words("ALTER SCHEMA")))
    }
}
