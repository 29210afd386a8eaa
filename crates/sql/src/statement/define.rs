//! Changing definitions: what all statements that define things have in common.
//!
//! ```text
//!  name -> lock the relation, then its definition -> read the definition again -> change it -> write all of its rows anew
//! ```
//!
//! Rules
//! 1. Who changes a table's definition holds two locks until the transaction ends: the table's, in the mode that the statement
//!    needs, and the definition's own ([`definition_key`]), which makes two statements whose table locks agree follow one another.
//! 2. Who makes a relation holds the lock of its name, so that two makers of one name follow one another.
//! 3. Definitions are read and written with a snapshot of now, at every isolation level.
//! 4. A definition that is written gets a version that nobody else has: transaction and command.

use super::owner::Needs;
use crate::catalog::codec::{self, ObjectClass};
use crate::catalog::definition::{ColumnDef, RelationKind, Rows, TableDef};
use crate::catalog::part::{self, Part};
use crate::catalog::privilege;
use crate::catalog::schema;
use crate::catalog::store::{self, CATALOG_OID};
use crate::catalog::{Catalog, split};
use crate::parser::ast::Path;
use crate::session::parameters::Parameters;
use crate::session::work::Work;
use crate::session::{Environment, NoData, Session};
use crate::types::{Oid, Type};
use allocator_api2::alloc::Allocator;
use base::settings::quoted_identifier;
use base::{Error, Result, Xid, sqlstate};
use std::sync::Arc;
use storage::Snapshot;
use storage::heap::{CommandPairs, Heap, Isolation, Outcome, Reader, Writer};
use storage::page::Tid;
use storage::relation::Relations;
use storage::txn::{LockKey, LockMode};

/// A change of an object: its new image, or none if it goes.
pub(crate) struct Change {
    pub(crate) class: ObjectClass,
    pub(crate) oid: Oid,
    pub(crate) image: Option<Vec<u8>>,
}

impl Change {
    /// A table's new definition.
    pub(crate) fn table(table: &TableDef) -> Change {
        Change { class: ObjectClass::Table, oid: table.oid, image: Some(codec::table_image(table)) }
    }

    /// A table goes, with what is known of it.
    pub(crate) fn drop_table(oid: Oid) -> [Change; 4] {
        let [size, columns] = Change::forget(oid);
        let [table, privileges] =
            [ObjectClass::Table, ObjectClass::Privileges].map(|class| Change { class, oid, image: None });
        [table, size, columns, privileges]
    }

    /// What is known of a table's size and columns is true no longer.
    pub(crate) fn forget(oid: Oid) -> [Change; 2] {
        [ObjectClass::Statistics, ObjectClass::ColumnStatistics].map(|class| Change { class, oid, image: None })
    }
}

/// The lock of a definition.
pub(super) fn definition_key(table: Oid) -> LockKey {
    LockKey::object(CATALOG_OID.0, table.0)
}

/// The lock of a name in a database, or of none: a relation's, in a schema; another object's, in a catalog.
pub(super) fn name_key(database: Oid, schema: Oid, name: &str) -> LockKey {
    const FNV: (u64, u64) = (0xcbf2_9ce4_8422_2325, 0x100_0000_01b3);
    let bytes = database.0.to_le_bytes().into_iter().chain(name.bytes());
    let hash = bytes.fold(FNV.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV.1));
    LockKey::name(schema.0, hash)
}

/// Writes objects of a database anew, as one command.
pub(super) fn write<A: Allocator + Copy>(
    relations: &'static Relations,
    work: &mut Work<A>,
    database: Oid,
    changes: &[Change],
) -> Result<()> {
    as_command(relations, work, |heap, snapshot, work| {
        for change in changes {
            let reader = Reader { snapshot, pairs: work.pairs.pairs() };
            let places = store::places(relations, &reader, database, change.class, change.oid)?;
            delete(heap, snapshot, work, &places)?;
            if let Some(image) = &change.image {
                let insert = |row: &[u8]| heap.insert(snapshot.command, row).map(drop);
                part::rows_of(change.class, database, change.oid, image, insert)?;
            }
        }
        Ok(())
    })
}

/// Deletes all rows that are wanted, as one command.
pub(super) fn delete_where<A: Allocator + Copy>(
    relations: &'static Relations,
    work: &mut Work<A>,
    wanted: impl Fn(&Part<'_>) -> bool,
) -> Result<()> {
    as_command(relations, work, |heap, snapshot, work| {
        let reader = Reader { snapshot, pairs: work.pairs.pairs() };
        let places = store::places_where(relations, &reader, wanted)?;
        delete(heap, snapshot, work, &places)
    })
}

fn delete<A: Allocator + Copy>(heap: &Heap, snapshot: &Snapshot, work: &mut Work<A>, places: &[Tid]) -> Result<()> {
    for tid in places {
        let mut writer =
            Writer { snapshot, isolation: Isolation::ReadCommitted, pairs: &mut work.pairs, deadline: None };
        if !matches!(heap.delete(&mut writer, *tid)?, Outcome::Done { .. }) {
            return Err(store::concurrently());
        }
    }
    Ok(())
}

/// Changes rows of the catalog's heap with a snapshot of now, as one command.
fn as_command<A: Allocator + Copy>(
    relations: &'static Relations,
    work: &mut Work<A>,
    change: impl FnOnce(&Heap, &Snapshot, &mut Work<A>) -> Result<()>,
) -> Result<()> {
    let transactions = relations.storage().transactions;
    work.begun = true;
    transactions.xid()?;
    let own = transactions.current_xid().unwrap_or(Xid(0));
    let taken = transactions.snapshot();
    let snapshot = taken.at_command(own, work.command);
    let changed = change(&store::heap(relations), &snapshot, work);
    transactions.release(taken);
    work.command += 1;
    work.defines = true;
    changed
}

impl<A: Allocator + Copy> Session<A> {
    /// Writes definitions.
    pub(crate) fn define(&mut self, env: &Environment<'_>, changes: &[Change]) -> Result<()> {
        let relations = env.stored()?;
        write(relations, &mut self.work, self.database, changes)
    }

    /// Writes definitions of another database.
    pub(super) fn define_in(&mut self, env: &Environment<'_>, database: Oid, changes: &[Change]) -> Result<()> {
        let relations = env.stored()?;
        write(relations, &mut self.work, database, changes)
    }

    /// Writes tables, each with a new version.
    pub(crate) fn define_tables(&mut self, env: &Environment<'_>, tables: &mut [&mut TableDef]) -> Result<()> {
        let version = self.new_version(env)?;
        for table in tables.iter_mut() {
            table.version = version;
            table.prune_comments();
        }
        let changes: Vec<Change> = tables.iter().map(|table| Change::table(table)).collect();
        self.define(env, &changes)
    }

    /// A version that no other definition of any table has.
    pub(super) fn new_version(&self, env: &Environment<'_>) -> Result<u64> {
        let xid = env.stored()?.storage().transactions.xid()?;
        Ok(xid.0 << 24 | u64::from(self.work.command & 0xFF_FFFF))
    }

    /// The number of a new object.
    pub(crate) fn new_oid(&self, env: &Environment<'_>) -> Result<Oid> {
        env.stored()?.storage().counters.new_oid().map(Oid)
    }

    /// The running transaction's number, which it has from now on.
    pub(crate) fn own_xid(&mut self, env: &Environment<'_>) -> Result<Xid> {
        self.work.begun = true;
        env.stored()?.storage().transactions.xid()
    }

    /// A statement that changes something is not for a transaction that only reads.
    pub(crate) fn check_writes(&self, env: &Environment<'_>, words: &str) -> Result<()> {
        env.stored()?;
        if self.transaction.shown_read_only(&self.view(env)) {
            let message = format!("cannot execute {words} in a read-only transaction");
            return Err(Error::statement(sqlstate::READ_ONLY_SQL_TRANSACTION, message));
        }
        Ok(())
    }

    /// A statement that cannot be undone is not for a block. Outside one it is committed at its own end, before anybody hears that it is
    /// done: an error of what follows in a pipeline does not take it back.
    pub(crate) fn check_alone(&mut self, words: &str) -> Result<()> {
        if self.transaction.has_others() {
            let message = format!("{words} cannot run inside a transaction block");
            return Err(Error::statement(sqlstate::ACTIVE_SQL_TRANSACTION, message));
        }
        if self.runs_body() {
            let message = format!("{words} cannot be executed from a function");
            return Err(Error::statement(sqlstate::ACTIVE_SQL_TRANSACTION, message));
        }
        self.transaction.stand_alone();
        Ok(())
    }

    /// Locks the name that a relation is going to have.
    pub(crate) fn lock_name(&mut self, env: &Environment<'_>, schema: Oid, name: &str) -> Result<()> {
        self.lock_key(env, name_key(self.database, schema, name), LockMode::AccessExclusive, true).map(drop)
    }

    /// Locks the name that a database is going to have.
    pub(super) fn lock_database_name(&mut self, env: &Environment<'_>, name: &str) -> Result<()> {
        /// `pg_database`
        const DATABASES: Oid = Oid(1262);
        self.lock_key(env, name_key(Oid::NONE, DATABASES, name), LockMode::AccessExclusive, true).map(drop)
    }

    /// Locks the definition of a table that is locked, and answers it as it is now; none if the table is gone.
    pub(crate) fn lock_definition(&mut self, env: &Environment<'_>, oid: Oid) -> Result<Option<Arc<TableDef>>> {
        self.lock_key(env, definition_key(oid), LockMode::AccessExclusive, true)?;
        let definitions = self.definitions(env, &self.work)?;
        let found = definitions.table(oid).cloned();
        // A statement that calls a function is not to find its tables changed.
        if let Some(table) = found.as_ref().filter(|_| self.in_use.contains(&oid.0)) {
            let message = format!(
                "cannot change table \"{}\" because it is being used by active queries in this session",
                table.name
            );
            return Err(Error::statement(sqlstate::OBJECT_IN_USE, message));
        }
        Ok(found)
    }

    /// Finds and locks a table; with its definition, if that is to be changed. None if there is no such table. One of the system's is
    /// answered without a lock. Who may not do what the lock is for does not wait for it.
    pub(crate) fn lock_table(
        &mut self,
        env: &Environment<'_>,
        path: Path<'_>,
        mode: LockMode,
        changes: bool,
        needs: Needs,
    ) -> Result<Option<Arc<TableDef>>> {
        let (schema, name) = split(path, self.database_name())?;
        loop {
            let Some(found) = self.catalog(env)?.find(schema, name)? else { return Ok(None) };
            self.check_needs(env, &found, needs)?;
            if !found.is_users() {
                return Ok(Some(found));
            }
            self.lock_relation(env, found.oid.0, mode, true)?;
            let locked = match changes {
                true => {
                    // A trigger or a key of another table more is no matter of what waits.
                    if !matches!(mode, LockMode::ShareRowExclusive | LockMode::ShareUpdateExclusive) {
                        self.check_not_awaited(&found)?;
                    }
                    self.lock_definition(env, found.oid)?
                }
                false => self.definitions(env, &self.work)?.table(found.oid).cloned(),
            };
            // While the lock was waited for the name may have become another table's.
            let again = self.catalog(env)?.find(schema, name)?;
            match (locked, again) {
                (Some(locked), Some(again)) if locked.oid == again.oid => return Ok(Some(locked)),
                _ => continue,
            }
        }
    }

    /// The same for a table that has to be there, and be a user's.
    pub(crate) fn lock_own_table(
        &mut self,
        env: &Environment<'_>,
        path: Path<'_>,
        mode: LockMode,
        changes: bool,
        needs: Needs,
    ) -> Result<Arc<TableDef>> {
        match self.lock_table(env, path, mode, changes, needs)? {
            Some(table) => {
                check_own(&table)?;
                Ok(table)
            }
            None => Err(missing(path)),
        }
    }

    /// The schema in which a relation of that path is to be made, and the relation's name.
    pub(crate) fn creation_place<'p>(&self, env: &Environment<'_>, path: Path<'p>) -> Result<(Oid, &'p str)> {
        let (schema, name) = split(path, self.database_name())?;
        let catalog = self.catalog(env)?;
        let oid = match schema {
            Some("pg_temp") => {
                return Err(Error::unsupported("only relations can be temporary").hint("Make it in another schema."));
            }
            Some(schema) => catalog.schema(schema).ok_or_else(|| {
                let message = format!("schema \"{schema}\" does not exist");
                Error::statement(sqlstate::INVALID_SCHEMA_NAME, message)
            })?,
            None => catalog.path.creation().ok_or_else(|| {
                Error::statement(sqlstate::INVALID_SCHEMA_NAME, "no schema has been selected to create in")
            })?,
        };
        if schema::is_temporary(oid) {
            return Err(Error::unsupported("cannot move objects into or out of temporary schemas"));
        }
        if [schema::PG_CATALOG, schema::INFORMATION_SCHEMA, schema::GEARBOX, schema::PG_TOAST].contains(&oid) {
            let schema = catalog.schema_name(oid).unwrap_or_default();
            let message = format!("permission denied to create \"{schema}.{name}\"");
            return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message)
                .detail("System catalog modifications are currently disallowed."));
        }
        self.check_schema(env, oid, privilege::CREATE)?;
        Ok((oid, name))
    }

    /// Executes a statement of the server's own, within the running transaction; answers how many rows it gave or changed.
    pub(crate) fn run_own(&mut self, env: &Environment<'_>, text: &str) -> Result<u64> {
        let trusted = std::mem::replace(&mut self.trusted, true);
        let done = self.run_within(env, text, Parameters::NONE);
        self.trusted = trusted;
        done
    }

    /// Executes a statement within the running one, with the current user's privileges.
    pub(crate) fn run_within(&mut self, env: &Environment<'_>, text: &str, given: Parameters<'_>) -> Result<u64> {
        let compiled = self.compile(env, text, (0, text.len()), &[], given.types, false).map_err(without_place)?;
        let Ok(crate::session::run::Compiled::Plan(plan)) = compiled else {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a statement of the server's own has no plan"));
        };
        let format = |_| crate::session::Format::Text;
        let mut nobody = NoData::default();
        let (values, literals) = (given.datums()?, (text, &[][..]));
        let (ended, requests) =
            self.execute_plan(env, &plan, &values, literals, format, u64::MAX, None, &mut nobody)?;
        self.carry_out(env, requests)?;
        let (crate::session::run::Ended::AtEnd(rows) | crate::session::run::Ended::Early(rows)) = ended;
        Ok(rows)
    }

    /// Checks that the expressions that are stored with a table, which is defined already, mean something.
    pub(crate) fn check_expressions(&mut self, env: &Environment<'_>, table: &TableDef) -> Result<()> {
        let text = format!("insert into {} default values", self.full_name(env, table)?);
        let trusted = std::mem::replace(&mut self.trusted, true);
        let compiled = self.compile(env, &text, (0, text.len()), &[], &[], false);
        self.trusted = trusted;
        compiled.map(drop).map_err(without_place)
    }

    /// A table's name with its schema, for a statement of the server's own.
    pub(crate) fn full_name(&self, env: &Environment<'_>, table: &TableDef) -> Result<String> {
        let schema = self.catalog(env)?.schema_name(table.schema).unwrap_or_default();
        Ok(format!("{}.{}", quoted_identifier(&schema), quoted_identifier(&table.name)))
    }
}

/// An error of an expression that has no place in the user's text.
fn without_place(error: Error) -> Error {
    let plain = Error::new(error.kind(), error.sqlstate(), error.message().to_owned());
    let plain = error.detail_text().map(str::to_owned).into_iter().fold(plain, Error::detail);
    error.hint_text().map(str::to_owned).into_iter().fold(plain, Error::hint)
}

/// Is it a table, and a user's?
pub(crate) fn check_own(table: &TableDef) -> Result<()> {
    if table.kind == RelationKind::Sequence || table.view.is_some() {
        return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is not a table", table.name)));
    }
    if matches!(table.rows, Rows::Stored(_)) {
        return Ok(());
    }
    let message = format!("permission denied: \"{}\" is a system catalog", table.name);
    Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message))
}

/// A relation that is not there.
#[cold]
pub(crate) fn missing(path: Path<'_>) -> Error {
    let message = format!("relation \"{}\" does not exist", shown(path));
    Error::statement(sqlstate::UNDEFINED_TABLE, message)
}

/// A path as messages show it.
pub(crate) fn shown(path: Path<'_>) -> String {
    let names: Vec<&str> = path.iter().map(|name| name.text).collect();
    names.join(".")
}

/// Is there a relation of that name in the schema?
pub(crate) fn is_taken(catalog: &Catalog<'_>, schema: Oid, name: &str) -> bool {
    let definitions = &catalog.definitions;
    definitions.table_named(schema, name).is_some() || definitions.index_named(schema, name).is_some()
}

/// A name that is there already.
#[cold]
pub(crate) fn taken(name: &str) -> Error {
    Error::statement(sqlstate::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}

/// A name made of two parts and a label, no longer than names may be: the longer part gives way.
pub(crate) fn made_name(first: &str, second: &str, label: &str) -> String {
    use types::name::NAME_BYTES_MAX;
    let overhead = label.len() + 1 + usize::from(!second.is_empty());
    let room = NAME_BYTES_MAX.saturating_sub(overhead);
    let (mut one, mut two) = (first.len(), second.len());
    while one + two > room {
        match one > two {
            true => one -= 1,
            false => two -= 1,
        }
    }
    let clip = |text: &str, mut to: usize| {
        while !text.is_char_boundary(to) {
            to -= 1;
        }
        text[..to].to_owned()
    };
    let (first, second) = (clip(first, one), clip(second, two));
    if second.is_empty() { format!("{first}_{label}") } else { format!("{first}_{second}_{label}") }
}

/// The first of the names `made_name` makes, with numbers behind the label, that `is_free`.
pub(crate) fn free_name(first: &str, second: &str, label: &str, is_free: impl Fn(&str) -> bool) -> String {
    let mut number = 0;
    loop {
        let label = if number == 0 { label.to_owned() } else { format!("{label}{number}") };
        let name = made_name(first, second, &label);
        if is_free(&name) {
            return name;
        }
        number += 1;
    }
}

/// A column that is made.
pub(crate) fn column(name: &str, ty: Type) -> ColumnDef {
    ColumnDef::plain(name, ty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_as_postgresql_makes_them() {
        let long = "a".repeat(60);
        for (first, second, label, expected) in [
            ("t", "", "pkey", "t_pkey".to_owned()),
            ("t", "a_b", "key", "t_a_b_key".to_owned()),
            (long.as_str(), "", "pkey", format!("{}_pkey", "a".repeat(58))),
            (long.as_str(), long.as_str(), "key", format!("{}_{}_key", "a".repeat(29), "a".repeat(29))),
        ] {
            let name = made_name(first, second, label);
            assert_eq!(name, expected);
            assert!(name.len() <= 63);
        }
        assert_eq!(free_name("t", "a", "idx", |name| name != "t_a_idx"), "t_a_idx1");
    }
}
