//! `GRANT` and `REVOKE` of privileges: on tables, columns, sequences, schemas, procedures, types, languages, databases.
//!
//! ```text
//!  objects by name ──> lock each one's definition ──> in whose name, and what he may grant ──> the list changes ──> written anew
//! ```
//!
//! What changes a list is in [`crate::catalog::grant`].
//!
//! Rules
//! 1. A grant is by the object's owner if a superuser makes it, else by whichever of the role's roles may grant most of it.
//! 2. What may not be granted is left out, with a warning; who may grant nothing and has nothing is refused.
//! 3. Revoking from the whole table revokes from its columns too.

use super::define::{Change, missing};
use super::owner::denied;
use super::user_type::no_type;
use crate::catalog::codec::{ObjectClass, acl_image};
use crate::catalog::definition::RelationKind;
use crate::catalog::grant::Ledger;
use crate::catalog::language::Language;
use crate::catalog::privilege::{self, AclItem, Guard, ObjectAcl, PRIVILEGES, PUBLIC, Rights, Securable};
use crate::catalog::store::CATALOG_OID;
use crate::parser::ast::RoutineKind;
use crate::parser::ast::{Name, Path};
use crate::parser::privilege::{Grant, GrantObjects};
use crate::parser::role::RoleName;
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Oid, table, user};
use allocator_api2::alloc::Allocator;
use base::settings::MessageLevel;
use base::{Error, Result, sqlstate};
use storage::txn::{LockKey, LockMode};

/// An object of a statement.
struct Object {
    guard: Guard,
    name: String,
    /// What it is, as messages say it.
    word: &'static str,
}

/// What a statement grants or revokes.
struct Terms<'g, 'a> {
    grant: &'g Grant<'a>,
    /// On whole objects; none for all that there are.
    rights: Option<Rights>,
    /// On columns.
    columns: Vec<(Rights, &'a [Name<'a>])>,
    grantees: Vec<Oid>,
}

pub(super) fn invalid(message: String) -> Error {
    Error::statement(sqlstate::INVALID_GRANT_OPERATION, message)
}

/// The privilege of a name. Errors: `42601`.
pub(super) fn right_named(name: &str) -> Result<Rights> {
    let known = PRIVILEGES.iter().find(|known| known.2.eq_ignore_ascii_case(name)).map(|known| known.0);
    known
        .or((name == "temp").then_some(privilege::TEMPORARY))
        .ok_or_else(|| Error::statement(sqlstate::SYNTAX_ERROR, format!("unrecognized privilege type \"{name}\"")))
}

/// The name of the first privilege of a set.
pub(super) fn name_of(rights: Rights) -> &'static str {
    PRIVILEGES.iter().find(|known| rights & known.0 != 0).map_or("", |known| known.2)
}

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn grant_statement<O: Output>(
        &mut self,
        env: &Environment<'_>,
        grant: &Grant<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let tag = if grant.grants { "GRANT" } else { "REVOKE" };
        self.check_writes(env, tag)?;
        let definitions = self.definitions(env, &self.work)?;
        if let Some(grantor) = &grant.grantor
            && self.role_of(&definitions, grantor)? != self.role()
        {
            return Err(Error::unsupported("grantor must be current user"));
        }
        let grantee = |name: &RoleName<'_>| match name {
            RoleName::Public => Ok(PUBLIC),
            name => self.role_of(&definitions, name),
        };
        let grantees = grant.grantees.iter().map(grantee).collect::<Result<Vec<Oid>>>()?;
        let kind = kind_of(&grant.objects);
        let (mut rights, mut columns) = (None, Vec::new());
        for named in grant.privileges {
            let right = if named.name == "all" { Securable::Column.all() } else { right_named(named.name)? };
            if named.columns.is_empty() {
                // Of a relation it is found out for each.
                let allowed = match kind {
                    Securable::Relation => kind.all() | privilege::USAGE,
                    kind => kind.all(),
                };
                if right & !allowed != 0 {
                    let kind = word_of(&grant.objects);
                    return Err(invalid(format!("invalid privilege type {} for {kind}", name_of(right))));
                }
                rights = Some(rights.unwrap_or(0) | right);
                continue;
            }
            if kind != Securable::Relation {
                return Err(invalid("column privileges are only valid for relations".to_owned()));
            }
            if right & !Securable::Column.all() != 0 {
                return Err(invalid(format!("invalid privilege type {} for column", name_of(right))));
            }
            columns.push((right, named.columns));
            rights = Some(rights.unwrap_or(0));
        }
        let terms = Terms { grant, rights, columns, grantees };
        for object in self.grant_objects(env, &grant.objects)? {
            self.grant_on(env, &object, &terms, out)?;
        }
        Ok(Some(Tag::Words(tag)))
    }

    /// The objects that a statement names.
    fn grant_objects(&self, env: &Environment<'_>, objects: &GrantObjects<'_>) -> Result<Vec<Object>> {
        let catalog = self.catalog(env)?;
        let relation = |path: Path<'_>| -> Result<Object> {
            let (schema, name) = crate::catalog::split(path, self.database_name())?;
            let Some(found) = catalog.find(schema, name)? else {
                let schemas = match schema {
                    Some(schema) => catalog.schema(schema).into_iter().collect(),
                    None => catalog.path.searched.clone(),
                };
                if schemas.iter().any(|schema| catalog.definitions.index_named(*schema, name).is_some()) {
                    let message = format!("\"{name}\" is an index");
                    return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
                }
                if let Some(schema) = schema.filter(|schema| catalog.schema(schema).is_none()) {
                    let message = format!("schema \"{schema}\" does not exist");
                    return Err(Error::statement(sqlstate::INVALID_SCHEMA_NAME, message));
                }
                return Err(missing(path));
            };
            Ok(Object { guard: Guard::relation(&found), name: found.name.clone(), word: found.word() })
        };
        let schema = |name: &Name<'_>| match catalog.schema(name.text) {
            Some(oid) => Ok(oid),
            None => {
                let message = format!("schema \"{}\" does not exist", name.text);
                Err(Error::statement(sqlstate::INVALID_SCHEMA_NAME, message))
            }
        };
        let definitions = &catalog.definitions;
        let in_schemas = |schemas: &[Name<'_>], sequences: bool| -> Result<Vec<Object>> {
            let oids = schemas.iter().map(schema).collect::<Result<Vec<Oid>>>()?;
            let tables = catalog.tables()?;
            let found = tables
                .iter()
                .filter(|table| oids.contains(&table.schema) && (table.kind == RelationKind::Sequence) == sequences);
            let object = |table: &std::sync::Arc<crate::catalog::definition::TableDef>| Object {
                guard: Guard::relation(table),
                name: table.name.clone(),
                word: table.word(),
            };
            Ok(found.map(object).collect())
        };
        match objects {
            GrantObjects::Relations(paths) => paths.iter().map(|path| relation(path)).collect(),
            GrantObjects::Sequences(paths) => {
                let sequence = |path: &Path<'_>| match relation(path)? {
                    found if found.guard.kind == Securable::Sequence => Ok(found),
                    found => {
                        let message = format!("\"{}\" is not a sequence", found.name);
                        Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message))
                    }
                };
                paths.iter().map(sequence).collect()
            }
            GrantObjects::Schemas(names) => {
                let object = |name: &Name<'_>| {
                    let guard = definitions.schema_guard(schema(name)?);
                    Ok(Object { guard, name: name.text.to_owned(), word: "schema" })
                };
                names.iter().map(object).collect()
            }
            GrantObjects::Databases(names) => {
                let object = |name: &Name<'_>| {
                    let guard = Guard::database(definitions.must_find_database(name.text)?);
                    Ok(Object { guard, name: name.text.to_owned(), word: "database" })
                };
                names.iter().map(object).collect()
            }
            GrantObjects::Routines(word, names) => {
                let mut found = Vec::with_capacity(names.len());
                for name in *names {
                    let routine = self.routine_named(env, RoutineKind::of(word), name)??;
                    let guard = Guard::routine(&routine);
                    found.push(Object { guard, name: routine.name.clone(), word: routine.word() });
                }
                Ok(found)
            }
            GrantObjects::Types(paths, domains) => {
                let mut found = Vec::with_capacity(paths.len());
                for path in *paths {
                    let (schema, name) = crate::catalog::split(path, self.database_name())?;
                    let Some(oid) = catalog.find_type(schema, name)? else {
                        return Err(match catalog.find(schema, name)? {
                            Some(_) => Error::unsupported("privileges on the type of a table's rows are not supported"),
                            None => no_type(path),
                        });
                    };
                    if table::by_oid(oid).is_some_and(|row| row.is_array()) {
                        return Err(invalid("cannot set privileges of array types".to_owned())
                            .hint("Set the privileges of the element type instead."));
                    }
                    if *domains {
                        let message = format!("\"{name}\" is not a domain");
                        return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
                    }
                    found.push(Object { guard: definitions.type_guard(oid), name: name.to_owned(), word: "type" });
                }
                Ok(found)
            }
            GrantObjects::Languages(names) => {
                let object = |name: &Name<'_>| {
                    let language = Language::named(name.text).ok_or_else(|| no_language(name.text))?;
                    if !language.is_trusted() {
                        let message = format!("language \"{}\" is not trusted", name.text);
                        return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).detail(
                            "GRANT and REVOKE are not allowed on untrusted languages, because only superusers can use untrusted languages.",
                        ));
                    }
                    let guard = definitions.language_guard(language);
                    Ok(Object { guard, name: name.text.to_owned(), word: "language" })
                };
                names.iter().map(object).collect()
            }
            GrantObjects::AllTables(schemas) => in_schemas(schemas, false),
            GrantObjects::AllSequences(schemas) => in_schemas(schemas, true),
            GrantObjects::AllRoutines(word, schemas) => {
                let oids = schemas.iter().map(schema).collect::<Result<Vec<Oid>>>()?;
                let found = definitions.routines().filter(|routine| {
                    oids.contains(&routine.schema) && (*word == "routine" || routine.word() == *word)
                });
                let object = |routine: &std::sync::Arc<crate::catalog::routine::RoutineDef>| Object {
                    guard: Guard::routine(routine),
                    name: routine.name.clone(),
                    word: routine.word(),
                };
                Ok(found.map(object).collect())
            }
        }
    }

    /// Grants or revokes on one object.
    fn grant_on<O: Output>(
        &mut self,
        env: &Environment<'_>,
        object: &Object,
        terms: &Terms<'_, '_>,
        out: &mut O,
    ) -> Result<()> {
        let guard = object.guard;
        self.lock_key(env, LockKey::object(CATALOG_OID.0, guard.oid.0), LockMode::AccessExclusive, true)?;
        let definitions = self.definitions(env, &self.work)?;
        let mut acl = definitions.acl(guard.oid).map_or_else(ObjectAcl::default, |acl| ObjectAcl::clone(acl));
        let (mut rights, is_all) = (terms.rights.unwrap_or(guard.kind.all()), terms.rights.is_none());
        if guard.kind == Securable::Sequence && rights & !guard.kind.all() != 0 {
            // `TABLE` may name a sequence.
            let message = format!("sequence \"{}\" only supports USAGE, SELECT, and UPDATE privileges", object.name);
            out.notice(MessageLevel::Warning, &Error::statement(sqlstate::INVALID_GRANT_OPERATION, message));
            rights &= guard.kind.all();
        } else if rights & !guard.kind.all() != 0 {
            let (name, word) = (name_of(rights & !guard.kind.all()), "table");
            return Err(invalid(format!("invalid privilege type {name} for {word}")));
        }
        let all = definitions.acl_of(guard);
        let mut from_columns = Vec::new();
        if rights != 0 || is_all {
            let mut ledger = Ledger { definitions: &definitions, owner: guard.owner, items: all.clone() };
            let (grantor, granted) = ledger.best_grantor(self.role(), rights);
            if granted == 0 && definitions.rights(grantor, guard, guard.kind.all()) == 0 {
                return Err(denied(object.word, &object.name));
            }
            warn_of(terms, (granted, rights, is_all), &object.name, out);
            change(&mut ledger, terms, grantor, granted)?;
            acl.items = Some(ledger.items);
            let revoked = granted & Securable::Column.all();
            if !terms.grant.grants && guard.kind == Securable::Relation && revoked != 0 {
                from_columns.extend(acl.columns.iter().map(|known| (known.0, revoked, false)));
            }
        }
        if !terms.columns.is_empty() {
            let Some(table) = self.catalog(env)?.table_by_oid(guard.oid)? else { return Err(gone(object)) };
            for (rights, names) in &terms.columns {
                for name in *names {
                    let Some(column) = table.column(name.text) else {
                        let message = format!("column \"{}\" of relation \"{}\" does not exist", name.text, table.name);
                        return Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message));
                    };
                    match from_columns.iter_mut().find(|known| known.0 == column as u16) {
                        Some(known) => (known.1, known.2) = (known.1 | rights, true),
                        None => from_columns.push((column as u16, *rights, true)),
                    }
                }
            }
        }
        for (column, rights, is_named) in from_columns {
            let own = definitions.column_acl(guard.oid, column).to_vec();
            // Who may grant on the whole table may grant on a column.
            let items = all.iter().copied().chain(own.iter().copied()).collect();
            let merged = Ledger { definitions: &definitions, owner: guard.owner, items };
            let (grantor, granted) = merged.best_grantor(self.role(), rights);
            if is_named {
                let held = definitions.rights(grantor, guard, Securable::Column.all())
                    | definitions.column_rights(grantor, guard.oid, column, Securable::Column.all());
                if granted == 0 && held == 0 {
                    return Err(denied(object.word, &object.name));
                }
                warn_of(terms, (granted, rights, false), &object.name, out);
            }
            let mut ledger = Ledger { items: own, ..merged };
            change(&mut ledger, terms, grantor, granted)?;
            acl.set_column(column, ledger.items);
        }
        let is_there = match guard.kind {
            Securable::Relation | Securable::Sequence => self.catalog(env)?.table_by_oid(guard.oid)?.is_some(),
            Securable::Routine => definitions.routine(guard.oid).is_some(),
            Securable::Schema => self.catalog(env)?.schema_name(guard.oid).is_some(),
            Securable::Database => definitions.database(guard.oid).is_some(),
            Securable::Type => !user::is_user(guard.oid) || definitions.user_type(guard.oid).is_some(),
            Securable::Language => true,
            Securable::Column => false,
        };
        if !is_there {
            return Err(gone(object));
        }
        // Who had something there already cannot be dropped.
        let is_new =
            |role: &&Oid| acl.mentions(**role) && !definitions.acl(guard.oid).is_some_and(|old| old.mentions(**role));
        terms.grantees.iter().filter(is_new).try_for_each(|role| self.hold_role(env, *role))?;
        let image = Some(acl_image(&acl));
        self.define(env, &[Change { class: ObjectClass::privileges_of(guard.kind), oid: guard.oid, image }])
    }
}

/// The error of a language that is not there.
#[cold]
pub(crate) fn no_language(name: &str) -> Error {
    Error::statement(sqlstate::UNDEFINED_OBJECT, format!("language \"{name}\" does not exist"))
}

/// Somebody has dropped the object while the statement waited.
fn gone(object: &Object) -> Error {
    let message = format!("{} \"{}\" does not exist", object.word, object.name);
    Error::statement(sqlstate::UNDEFINED_OBJECT, message)
}

/// Changes a list as a statement says.
fn change(ledger: &mut Ledger<'_>, terms: &Terms<'_, '_>, grantor: Oid, rights: Rights) -> Result<()> {
    let (grants, option) = (terms.grant.grants, terms.grant.option);
    for &grantee in &terms.grantees {
        if grants && option && grantee == PUBLIC {
            return Err(invalid("grant options can only be granted to roles".to_owned()));
        }
        let item = AclItem {
            grantee,
            grantor,
            rights: if grants || !option { rights } else { 0 },
            options: if !grants || option { rights } else { 0 },
        };
        match grants {
            true => ledger.grant(item)?,
            false => ledger.revoke(item, terms.grant.cascade)?,
        }
    }
    Ok(())
}

/// Says what could not be granted or revoked.
fn warn_of<O: Output>(
    terms: &Terms<'_, '_>,
    (granted, wanted, is_all): (Rights, Rights, bool),
    name: &str,
    out: &mut O,
) {
    let (code, done) = match terms.grant.grants {
        true => (sqlstate::WARNING_PRIVILEGE_NOT_GRANTED, "were granted"),
        false => (sqlstate::WARNING_PRIVILEGE_NOT_REVOKED, "could be revoked"),
    };
    let message = match granted {
        0 => format!("no privileges {done} for \"{name}\""),
        granted if !is_all && granted != wanted => format!("not all privileges {done} for \"{name}\""),
        _ => return,
    };
    out.notice(MessageLevel::Warning, &Error::statement(code, message));
}

fn kind_of(objects: &GrantObjects<'_>) -> Securable {
    match objects {
        GrantObjects::Relations(_) | GrantObjects::AllTables(_) => Securable::Relation,
        GrantObjects::Sequences(_) | GrantObjects::AllSequences(_) => Securable::Sequence,
        GrantObjects::Schemas(_) => Securable::Schema,
        GrantObjects::Databases(_) => Securable::Database,
        GrantObjects::Types(..) => Securable::Type,
        GrantObjects::Languages(_) => Securable::Language,
        GrantObjects::Routines(..) | GrantObjects::AllRoutines(..) => Securable::Routine,
    }
}

/// How errors call a kind of objects.
fn word_of(objects: &GrantObjects<'_>) -> &'static str {
    match objects {
        GrantObjects::Relations(_) | GrantObjects::AllTables(_) => "relation",
        GrantObjects::Sequences(_) | GrantObjects::AllSequences(_) => "sequence",
        GrantObjects::Schemas(_) => "schema",
        GrantObjects::Databases(_) => "database",
        GrantObjects::Types(_, domains) => {
            if *domains {
                "domain"
            } else {
                "type"
            }
        }
        GrantObjects::Languages(_) => "language",
        GrantObjects::Routines(word, _) | GrantObjects::AllRoutines(word, _) => word,
    }
}
