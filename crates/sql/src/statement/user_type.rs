//! Types of users: `CREATE TYPE … AS ENUM`, `ALTER TYPE`, and how types are held by what is made of them. `DROP TYPE` is in
//! `super::drop_type`.
//!
//! Rules
//! 1. Who makes a column, a parameter or a plan of a type holds the type in the mode `AccessShare`, and who drops it in the mode
//!    `AccessExclusive`; both until the transaction ends.
//! 2. Who changes a type holds its definition. What values mean does not change, so nobody else waits.
//! 3. A value that a transaction has added to a type that was there before it is not used before it is committed (`55P04`): somebody
//!    else's index could have it else, and the value be gone.

use super::define::{Change, definition_key, shown};
use super::owner::{handed_over, not_owner};
use crate::catalog::codec::{ObjectClass, user_type_image};
use crate::catalog::definition::{ConstraintKind, TableDef};
use crate::catalog::privilege::{Guard, Securable};
use crate::catalog::user_type::{LabelDef, UserTypeDef};
use crate::catalog::view::{Piece, ViewDef};
use crate::catalog::{Catalog, privilege, split};
use crate::lexer::{Lexer, TokenKind, literal};
use crate::parser::ast::{Path, TypeAction, TypeStatement};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::name::NAME_BYTES_MAX;
use crate::types::{Oid, Type, table, typmod, user};
use allocator_api2::alloc::Allocator;
use base::settings::MessageLevel;
use base::{Error, Result, Xid, sqlstate};
use std::sync::Arc;
use storage::txn::LockMode;

impl Change {
    /// A type's new definition.
    pub(super) fn user_type(ty: &UserTypeDef) -> Change {
        Change { class: ObjectClass::Type, oid: ty.oid, image: Some(user_type_image(ty)) }
    }
}

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn type_statement<O: Output>(
        &mut self,
        env: &Environment<'_>,
        statement: &TypeStatement<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        match *statement {
            TypeStatement::CreateEnum { path, labels } => self.create_enum(env, path, labels),
            TypeStatement::Alter { path, ref action } => self.alter_user_type(env, path, action, out),
            TypeStatement::Drop { paths, if_exists, cascade } => self.drop_types(env, paths, (if_exists, cascade), out),
        }
    }

    fn create_enum(&mut self, env: &Environment<'_>, path: Path<'_>, labels: &[&str]) -> Result<Option<Tag>> {
        self.check_writes(env, "CREATE TYPE")?;
        let (schema, name) = self.creation_place(env, path)?;
        check_type_name(name)?;
        self.lock_name(env, schema, name)?;
        check_free(&*self.catalog_of(env)?, schema, name, None)?;
        let object = self.new_oid(env)?;
        let oid = user::enum_type(object.0)
            .ok_or_else(|| Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, "the numbers of types are used up"))?;
        let mut made = Vec::with_capacity(labels.len());
        for (label, position) in labels.iter().zip(user::positions(labels.len())) {
            check_label(label)?;
            if made.iter().any(|known: &LabelDef| known.name == **label) {
                // As PostgreSQL's own catalog says it.
                let message = "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"";
                return Err(Error::statement(sqlstate::UNIQUE_VIOLATION, message)
                    .detail(format!("Key (enumtypid, enumlabel)=({}, {label}) already exists.", oid.0)));
            }
            made.push(LabelDef { oid: self.new_oid(env)?, name: (*label).to_owned(), position, since: Xid(0) });
        }
        let (version, owner) = (self.new_version(env)?, self.role());
        let ty = UserTypeDef { oid, version, schema, name: name.to_owned(), owner, labels: made };
        self.define(env, &[Change::user_type(&ty)])?;
        let guard = Guard { kind: Securable::Type, oid, owner };
        self.grant_defaults(env, guard, schema)?;
        Ok(Some(Tag::Words("CREATE TYPE")))
    }

    fn catalog_of<'v>(&'v self, env: &Environment<'v>) -> Result<Box<Catalog<'v>>> {
        self.catalog(env).map(Box::new)
    }

    /// The type that a path means: a user's. None if there is none of that name.
    ///
    /// Errors: `42501` for one of the system's, `42809` for the type of a relation's rows.
    pub(super) fn user_type_named(&self, env: &Environment<'_>, path: Path<'_>) -> Result<Option<Arc<UserTypeDef>>> {
        let (schema, name) = split(path, self.database_name())?;
        let catalog = self.catalog(env)?;
        let Some(oid) = catalog.find_type(schema, name)? else {
            if let Some(relation) = catalog.find(schema, name)? {
                let message = format!("{} is a table's row type", relation.name);
                return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message)
                    .hint(format!("Use ALTER TABLE or DROP {} instead.", relation.word().to_uppercase())));
            }
            return Ok(None);
        };
        match catalog.user_type(oid) {
            Some(found) => Ok(Some(found.clone())),
            None if user::is_array(oid) => {
                let message = format!("cannot alter array type {}", catalog.with_names(&user::mark(oid)));
                let element = user::element_of(oid).map_or(String::new(), |element| catalog.shown_type(element));
                Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message)
                    .hint(format!("You can alter type {element}, which will alter the array type as well.")))
            }
            None => Err(not_owner("type", table::row(oid)?.sql_name)),
        }
    }

    /// May the current user make something of a type? Errors: `42501`.
    pub(super) fn check_type_usage(&self, env: &Environment<'_>, ty: Type) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        let guard = definitions.type_guard(ty.oid);
        if definitions.acl(guard.oid).is_none() || definitions.rights(self.role(), guard, privilege::USAGE) != 0 {
            return Ok(());
        }
        Err(super::owner::denied("type", &typmod::format_type(Type::plain(guard.oid))))
    }

    /// Holds a type that a user made, so that it stays as long as the transaction runs.
    ///
    /// Errors: `42704` if it has gone meanwhile, `42501` if the current user may make nothing of it.
    pub(crate) fn hold_type(&mut self, env: &Environment<'_>, ty: Type) -> Result<()> {
        self.check_type_usage(env, ty)?;
        let Some(base) = user::base_of(ty.oid) else { return Ok(()) };
        self.lock_relation(env, base.0, LockMode::AccessShare, true)?;
        if self.definitions(env, &self.work)?.user_type(base).is_none() {
            let message = format!("type with OID {} does not exist", base.0);
            return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
        }
        Ok(())
    }

    /// The definition of a type, which nobody else changes until the transaction ends.
    pub(super) fn lock_user_type(&mut self, env: &Environment<'_>, path: Path<'_>) -> Result<Option<Arc<UserTypeDef>>> {
        loop {
            let Some(found) = self.user_type_named(env, path)? else { return Ok(None) };
            if !self.owns(env, found.owner)? {
                return Err(not_owner("type", &found.name));
            }
            self.lock_key(env, definition_key(found.oid), LockMode::AccessExclusive, true)?;
            // While the lock was waited for the name may have become another type's.
            if let Some(again) = self.user_type_named(env, path)?.filter(|again| again.oid == found.oid) {
                return Ok(Some(again));
            }
        }
    }

    /// Refuses another name for a value that a text which is kept may name: texts have values by their names.
    fn check_not_written(&self, env: &Environment<'_>, ty: &UserTypeDef, label: &str) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        let mark = user::mark(ty.oid);
        let has_columns =
            |table: &TableDef| table.visible().any(|(_, column)| user::base_of(column.ty.oid) == Some(ty.oid));
        let of_tables = definitions.tables().find_map(|table| {
            let reads = |view: &ViewDef| {
                view.relations().iter().any(|read| definitions.table(*read).is_some_and(|read| has_columns(read)))
            };
            naming(table, has_columns(table) || table.view.as_ref().is_some_and(reads), &mark, label)
        });
        let of_routines = || {
            definitions.routines().find_map(|routine| {
                let relates = routine.parameters.iter().any(|known| user::base_of(known.ty.oid) == Some(ty.oid));
                let mut defaults = routine.parameters.iter().filter_map(|known| known.default.as_ref());
                let named = defaults.any(|text| (relates || text.contains(&mark)) && names_value(text, label));
                named.then(|| format!("{} {}", routine.word(), routine.name))
            })
        };
        let Some(user) = of_tables.or_else(of_routines) else { return Ok(()) };
        let message = format!("renaming a value that an expression of {user} may name is not supported");
        Err(Error::unsupported(message)
            .hint("Drop the default, check, index or view that names it, and make it again."))
    }

    fn alter_user_type<O: Output>(
        &mut self,
        env: &Environment<'_>,
        path: Path<'_>,
        action: &TypeAction<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        const TAG: Option<Tag> = Some(Tag::Words("ALTER TYPE"));
        self.check_writes(env, "ALTER TYPE")?;
        let found = self.lock_user_type(env, path)?.ok_or_else(|| no_type(path))?;
        let mut changed = UserTypeDef::clone(&found);
        let mut changes = Vec::new();
        match *action {
            TypeAction::AddValue { label, if_not_exists, place } => {
                check_label(label)?;
                if changed.label(label).is_some() {
                    let message = format!("enum label \"{label}\" already exists");
                    if !if_not_exists {
                        return Err(Error::statement(sqlstate::DUPLICATE_OBJECT, message));
                    }
                    let message = format!("{message}, skipping");
                    out.notice(MessageLevel::Notice, &Error::statement(sqlstate::DUPLICATE_OBJECT, message));
                    return Ok(TAG);
                }
                let (oid, since) = (self.new_oid(env)?, self.own_xid(env)?);
                add_label(&mut changed, LabelDef { oid, name: label.to_owned(), position: 0, since }, place)?;
            }
            TypeAction::RenameValue(old, new) => {
                check_label(new)?;
                if changed.label(old).is_none() {
                    return Err(no_neighbour(old));
                }
                if changed.label(new).is_some() {
                    let message = format!("enum label \"{new}\" already exists");
                    return Err(Error::statement(sqlstate::DUPLICATE_OBJECT, message));
                }
                self.check_not_written(env, &changed, old)?;
                for label in changed.labels.iter_mut().filter(|label| label.name == old) {
                    new.clone_into(&mut label.name);
                }
            }
            TypeAction::Rename(name) => {
                check_type_name(name.text)?;
                self.lock_name(env, changed.schema, name.text)?;
                check_free(&*self.catalog_of(env)?, changed.schema, name.text, None)?;
                name.text.clone_into(&mut changed.name);
            }
            TypeAction::Schema(name) => {
                let Some(schema) = self.catalog(env)?.schema(name.text) else {
                    let message = format!("schema \"{}\" does not exist", name.text);
                    return Err(Error::statement(sqlstate::INVALID_SCHEMA_NAME, message));
                };
                if schema == changed.schema {
                    return Ok(TAG);
                }
                if crate::catalog::schema::is_temporary(schema) {
                    return Err(Error::unsupported("cannot move objects into or out of temporary schemas"));
                }
                self.check_schema(env, schema, privilege::CREATE)?;
                self.lock_name(env, schema, &changed.name)?;
                check_free(&*self.catalog_of(env)?, schema, &changed.name, Some(name.text))?;
                changed.schema = schema;
            }
            TypeAction::Owner(ref name) => {
                let definitions = self.definitions(env, &self.work)?;
                let new = self.role_of(&definitions, name)?;
                if new == changed.owner {
                    return Ok(TAG);
                }
                self.check_hands_over(env, new, Some(changed.schema))?;
                self.hold_role(env, new)?;
                changes.extend(handed_over(&definitions, changed.oid, changed.owner, new));
                changed.owner = new;
            }
        }
        changed.version = self.new_version(env)?;
        changes.push(Change::user_type(&changed));
        self.define(env, &changes)?;
        Ok(TAG)
    }
}

/// Has a text a string in it that may name a value?
fn names_value(text: &str, label: &str) -> bool {
    let mut lexer = Lexer::new(text);
    loop {
        match lexer.next_token() {
            Ok(token) if token.kind == TokenKind::End => return false,
            Ok(token) if token.kind.is_string() && literal::string(text, token).is_ok_and(|it| it.contains(label)) => {
                return true;
            }
            Ok(_) => {}
            Err(_) => return true,
        }
    }
}

/// The expression of a relation that may name a value of a type, for people.
fn naming(table: &TableDef, relates: bool, mark: &str, label: &str) -> Option<String> {
    let may = |text: &str| (relates || text.contains(mark)) && names_value(text, label);
    let defaults = table.visible().filter_map(|(_, column)| column.default.as_ref());
    let checks = table.constraints.iter().filter_map(|known| match &known.kind {
        ConstraintKind::Check(text) => Some(text),
        _ => None,
    });
    let indexes = table.indexes.iter().flat_map(|index| index.expressions.iter().chain(&index.predicate));
    let triggers = table.triggers.iter().filter_map(|trigger| trigger.condition.as_ref());
    let mut texts = defaults.chain(checks).chain(indexes.map(|expression| &expression.text)).chain(triggers);
    let view = table.view.as_ref().is_some_and(|view| {
        let pieces = || {
            view.pieces.iter().filter_map(|piece| match piece {
                Piece::Text(text) => Some(text.as_str()),
                _ => None,
            })
        };
        // A string stands in one piece, what it is compared with perhaps in another.
        (relates || pieces().any(|text| text.contains(mark))) && pieces().any(|text| names_value(text, label))
    });
    (view || texts.any(|text| may(text))).then(|| format!("{} {}", table.word(), table.name))
}

/// Puts a new value in its place.
fn add_label(ty: &mut UserTypeDef, mut label: LabelDef, place: Option<(&str, bool)>) -> Result<()> {
    let at = match place {
        None => ty.labels.len(),
        Some((neighbour, before)) => {
            let found = ty.labels.iter().position(|known| known.name == neighbour);
            found.ok_or_else(|| no_neighbour(neighbour))? + usize::from(!before)
        }
    };
    let position = |at: Option<usize>| at.and_then(|at| ty.labels.get(at)).map(|known| known.position);
    label.position = user::between(position(at.checked_sub(1)), position(Some(at))).ok_or_else(|| {
        let message = format!("there is no room for another value at this place of enum {}", user::mark(ty.oid));
        Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
            .hint("Make a new type with all values in their order, and change the columns to it.")
    })?;
    ty.labels.insert(at, label);
    Ok(())
}

/// A name that may be a type's: a mark may not.
fn check_type_name(name: &str) -> Result<()> {
    if name.contains('\u{1}') {
        return Err(Error::statement(sqlstate::INVALID_NAME, "the name of a type may not contain control characters"));
    }
    Ok(())
}

fn check_label(label: &str) -> Result<()> {
    if label.len() > NAME_BYTES_MAX {
        return Err(Error::statement(sqlstate::INVALID_NAME, format!("invalid enum label \"{label}\""))
            .detail(format!("Labels must be {NAME_BYTES_MAX} bytes or less.")));
    }
    Ok(())
}

/// Refuses a name that another type has, or a relation, whose rows are of a type of that name.
pub(super) fn check_free(catalog: &Catalog<'_>, schema: Oid, name: &str, moved_to: Option<&str>) -> Result<()> {
    let definitions = &catalog.definitions;
    let is_relation = definitions.table_named(schema, name).is_some_and(|found| found.sequence.is_none());
    let is_type = definitions.type_named(schema, name).is_some() || definitions.array_named(schema, name).is_some();
    if !is_relation && !is_type {
        return Ok(());
    }
    let message = match moved_to {
        Some(schema) => format!("type \"{name}\" already exists in schema \"{schema}\""),
        None => format!("type \"{name}\" already exists"),
    };
    Err(Error::statement(sqlstate::DUPLICATE_OBJECT, message))
}

/// Refuses a name for a relation whose rows' type would have the name of another type.
pub(super) fn check_row_type(catalog: &Catalog<'_>, schema: Oid, name: &str) -> Result<()> {
    if catalog.definitions.type_named(schema, name).is_none() {
        return Ok(());
    }
    Err(Error::statement(sqlstate::DUPLICATE_OBJECT, format!("type \"{name}\" already exists")).hint(
        "A relation has an associated type of the same name, so you must use a name that doesn't conflict with any \
         existing type.",
    ))
}

#[cold]
fn no_neighbour(label: &str) -> Error {
    let message = format!("\"{label}\" is not an existing enum label");
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// A type that is not there.
#[cold]
pub(super) fn no_type(path: Path<'_>) -> Error {
    Error::statement(sqlstate::UNDEFINED_OBJECT, format!("type \"{}\" does not exist", shown(path)))
}
