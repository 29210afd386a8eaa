//! Owners: who has to be one, and `OWNER TO`, `REASSIGN OWNED`.
//!
//! Rules
//! 1. Whoever has the privileges of an owner counts as one: a superuser, and a member of the owner that inherits.
//! 2. Who gives something away has to own it, and to be a member of the new owner, who could have made it himself.
//! 3. Whoever writes down a role as an owner or a grantee holds on to it until his transaction ends ([`Session::hold_role`]); who drops a role
//!    has it alone before he looks what depends on it.

use super::constraint::Draft;
use super::define::{Change, definition_key};
use crate::catalog::Catalog;
use crate::catalog::codec::{ObjectClass, acl_image, routine_image, schema_image};
use crate::catalog::default_acl::Made;
use crate::catalog::definition::TableDef;
use crate::catalog::grant::Ledger;
use crate::catalog::language::Language;
use crate::catalog::privilege::{self, Guard, ObjectAcl, Rights, Securable, change_owner};
use crate::catalog::role::is_builtin;
use crate::catalog::routine::RoutineDef;
use crate::catalog::schema::{self, BOOTSTRAP_ROLE, SchemaDef};
use crate::catalog::store::{Committed, Definitions};
use crate::catalog::user_type::UserTypeDef;
use crate::parser::ast::{Name, RoutineKind};
use crate::parser::role::{OwnerStatement, RoleName};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Oid, table};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};
use storage::txn::LockMode;

/// What somebody hears who does not own something.
#[cold]
pub(crate) fn not_owner(word: &str, name: &str) -> Error {
    Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, format!("must be owner of {word} {name}"))
}

/// What somebody hears who has not a privilege.
#[cold]
pub(crate) fn denied(word: &str, name: &str) -> Error {
    Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, format!("permission denied for {word} {name}"))
}

/// What somebody needs who does something with a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    /// Nothing, or it is looked at elsewhere.
    Nothing,
    /// To own it.
    Ownership,
    /// To own it, or the schema that it is in.
    Removal,
    /// These privileges.
    Rights(Rights),
}

/// An object's privileges as they are when its owner is another one; none if nothing changes.
pub(super) fn handed_over(definitions: &Definitions, oid: Oid, old: Oid, new: Oid) -> Option<Change> {
    let mut acl = ObjectAcl::clone(definitions.acl(oid)?);
    acl.each(|items| change_owner(items, old, new));
    let kind = if definitions.database(oid).is_some() { Securable::Database } else { Securable::Relation };
    Some(Change { class: ObjectClass::privileges_of(kind), oid, image: Some(acl_image(&acl)) })
}

impl<A: Allocator + Copy> Session<A> {
    /// The role that a statement names. Errors: `42704`.
    pub(super) fn role_of(&self, definitions: &Definitions, name: &RoleName<'_>) -> Result<Oid> {
        let text = match name {
            RoleName::Named(name) => name.text,
            RoleName::Own("SESSION_USER") => return Ok(self.identity.session),
            RoleName::Own(_) => return Ok(self.role()),
            RoleName::Public => "public",
        };
        definitions
            .role_named(text)
            .map(|role| role.oid)
            .ok_or_else(|| Error::statement(sqlstate::UNDEFINED_OBJECT, format!("role \"{text}\" does not exist")))
    }

    /// Keeps a role, which is to be written down somewhere, from being dropped. Errors: `42704` if it is gone.
    pub(super) fn hold_role(&mut self, env: &Environment<'_>, role: Oid) -> Result<()> {
        if role == privilege::PUBLIC || is_builtin(role) {
            return Ok(());
        }
        self.lock_key(env, definition_key(role), LockMode::AccessShare, true)?;
        match self.definitions(env, &self.work)?.role(role) {
            Some(_) => Ok(()),
            None => {
                let message = format!("role {role} was concurrently dropped");
                Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message))
            }
        }
    }

    /// Has the current user the privileges of that owner?
    pub(crate) fn owns(&self, env: &Environment<'_>, owner: Oid) -> Result<bool> {
        let role = self.role();
        if role == owner || role == schema::BOOTSTRAP_ROLE {
            return Ok(true);
        }
        Ok(self.definitions(env, &self.work)?.has_privileges_of(role, owner))
    }

    /// Errors: `42501` for somebody who does not own the table, view or sequence.
    pub(crate) fn must_own(&self, env: &Environment<'_>, table: &TableDef) -> Result<()> {
        if self.owns(env, table.owner)? { Ok(()) } else { Err(not_owner(table.word(), &table.name)) }
    }

    /// Errors: `42501` for somebody who has not what it needs.
    pub(crate) fn check_needs(&self, env: &Environment<'_>, table: &TableDef, needs: Needs) -> Result<()> {
        match needs {
            Needs::Nothing => Ok(()),
            Needs::Ownership => self.must_own(env, table),
            Needs::Removal if self.owns(env, self.definitions(env, &self.work)?.schema_owner(table.schema))? => Ok(()),
            Needs::Removal => self.must_own(env, table),
            Needs::Rights(rights) => {
                let definitions = self.definitions(env, &self.work)?;
                match definitions.rights(self.role(), Guard::relation(table), rights) == rights {
                    true => Ok(()),
                    false => Err(denied(table.word(), &table.name)),
                }
            }
        }
    }

    /// Has the current user a privilege on a table, or on these columns of it?
    pub(super) fn has_on_columns(
        &self,
        env: &Environment<'_>,
        table: &TableDef,
        right: Rights,
        columns: &[u16],
    ) -> Result<bool> {
        let (role, definitions) = (self.role(), self.definitions(env, &self.work)?);
        let has = |column: &u16| definitions.column_rights(role, table.oid, *column, right) != 0;
        Ok(definitions.rights(role, Guard::relation(table), right) != 0 || columns.iter().all(has))
    }

    /// May the current user execute the procedure? Errors: `42501`.
    pub(crate) fn check_executes(&self, env: &Environment<'_>, routine: &RoutineDef) -> Result<()> {
        if self.role() == schema::BOOTSTRAP_ROLE {
            return Ok(());
        }
        let definitions = self.definitions(env, &self.work)?;
        match definitions.rights(self.role(), Guard::routine(routine), privilege::EXECUTE) {
            0 => Err(denied(routine.word(), &routine.name)),
            _ => Ok(()),
        }
    }

    /// Does the current user own the table of the index of that name? Errors: `42501`.
    pub(crate) fn check_owns_index(&self, env: &Environment<'_>, table: Oid, name: &str) -> Result<()> {
        match self.definitions(env, &self.work)?.table(table).map(|table| table.owner) {
            Some(owner) if !self.owns(env, owner)? => Err(not_owner("index", name)),
            _ => Ok(()),
        }
    }

    /// Errors: `42501` for somebody who has not one of these privileges on the schema.
    pub(crate) fn check_schema(&self, env: &Environment<'_>, oid: Oid, rights: Rights) -> Result<()> {
        if self.role() == schema::BOOTSTRAP_ROLE || schema::is_temporary(oid) {
            return Ok(());
        }
        let catalog = self.catalog(env)?;
        let definitions = &catalog.definitions;
        match definitions.rights(self.role(), definitions.schema_guard(oid), rights) {
            0 => Err(denied("schema", &catalog.schema_name(oid).unwrap_or_default())),
            _ => Ok(()),
        }
    }

    /// Errors: `42501` for somebody who does not own the schema.
    pub(crate) fn must_own_schema(&self, env: &Environment<'_>, oid: Oid, name: &str) -> Result<()> {
        let owner = self.definitions(env, &self.work)?.schema_owner(oid);
        if self.owns(env, owner)? { Ok(()) } else { Err(not_owner("schema", name)) }
    }

    /// May the current user give something of that owner to another? The new one has to be one who could make it in the schema.
    ///
    /// Errors: `42501`.
    pub(super) fn check_hands_over(&self, env: &Environment<'_>, new: Oid, schema: Option<Oid>) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        if definitions.is_superuser(self.role()) {
            return Ok(());
        }
        if !definitions.is_member_of(self.role(), new) {
            let message = format!("must be member of role \"{}\"", definitions.role_name(new));
            return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        let guard = schema.map(|oid| definitions.schema_guard(oid));
        if let Some(guard) = guard
            && definitions.rights(new, guard, privilege::CREATE) == 0
        {
            let name = self.catalog(env)?.schema_name(guard.oid).unwrap_or_default();
            return Err(denied("schema", &name));
        }
        Ok(())
    }

    /// May the current user make a schema for that owner? Errors: `42501`.
    pub(super) fn check_makes_schema(&self, definitions: &Definitions, owner: Oid) -> Result<()> {
        if definitions.rights(self.role(), definitions.database_guard(), privilege::CREATE) == 0 {
            return Err(denied("database", definitions.own_name()));
        }
        if !definitions.is_member_of(self.role(), owner) {
            let message = format!("must be member of role \"{}\"", definitions.role_name(owner));
            return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        Ok(())
    }

    /// `ALTER TABLE … OWNER TO`: with the sequences of its columns.
    pub(super) fn give_table(&mut self, env: &Environment<'_>, draft: &mut Draft, name: &RoleName<'_>) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        let new = self.role_of(&definitions, name)?;
        if new == draft.table.owner {
            return Ok(());
        }
        self.check_hands_over(env, new, Some(draft.table.schema))?;
        self.hold_role(env, new)?;
        let table = draft.table.oid;
        let owned = self.owned_by(env, |owner| owner.table == table)?;
        let mut changes: Vec<Change> = handed_over(&definitions, table, draft.table.owner, new).into_iter().collect();
        draft.table.owner = new;
        for sequence in owned {
            let mut given = match draft.others.iter().position(|known| known.oid == sequence.oid) {
                Some(at) => draft.others.swap_remove(at),
                None => TableDef::clone(&sequence),
            };
            changes.extend(handed_over(&definitions, given.oid, given.owner, new));
            given.owner = new;
            draft.others.push(given);
        }
        self.define(env, &changes)
    }

    /// `ALTER SEQUENCE … OWNER TO`; the sequence is locked.
    pub(super) fn give_sequence(
        &mut self,
        env: &Environment<'_>,
        sequence: &mut TableDef,
        name: &RoleName<'_>,
    ) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        let new = self.role_of(&definitions, name)?;
        if new == sequence.owner {
            return Ok(());
        }
        if let Some(owner) = sequence.sequence.and_then(|rules| rules.owner) {
            let table = definitions.table(owner.table).map_or("", |table| table.name.as_str());
            let message = format!("cannot change owner of sequence \"{}\"", sequence.name);
            return Err(Error::unsupported(message)
                .detail(format!("Sequence \"{}\" is linked to table \"{table}\".", sequence.name)));
        }
        self.check_hands_over(env, new, Some(sequence.schema))?;
        self.hold_role(env, new)?;
        let change = handed_over(&definitions, sequence.oid, sequence.owner, new);
        sequence.owner = new;
        self.define(env, change.as_slice())
    }

    /// `ALTER SCHEMA … OWNER TO`
    pub(super) fn give_schema(
        &mut self,
        env: &Environment<'_>,
        schema: Name<'_>,
        name: &RoleName<'_>,
    ) -> Result<Option<Tag>> {
        self.check_writes(env, "ALTER SCHEMA")?;
        self.lock_name(env, Oid::NONE, schema.text)?;
        let Some(oid) = self.catalog(env)?.schema(schema.text) else {
            let message = format!("schema \"{}\" does not exist", schema.text);
            return Err(Error::statement(sqlstate::INVALID_SCHEMA_NAME, message));
        };
        let definitions = self.definitions(env, &self.work)?;
        let new = self.role_of(&definitions, name)?;
        let old = definitions.schema_owner(oid);
        if new != old {
            self.must_own_schema(env, oid, schema.text)?;
            self.check_hands_over(env, new, None)?;
            let database = definitions.database_guard();
            if definitions.rights(self.role(), database, privilege::CREATE) == 0 {
                return Err(denied("database", definitions.own_name()));
            }
            self.hold_role(env, new)?;
            let given = SchemaDef { name: schema.text.to_owned(), owner: new };
            let mut changes = vec![Change { class: ObjectClass::Schema, oid, image: Some(schema_image(&given)) }];
            changes.extend(handed_over(&definitions, oid, old, new));
            self.define(env, &changes)?;
        }
        Ok(Some(Tag::Words("ALTER SCHEMA")))
    }

    /// `ALTER PROCEDURE … OWNER TO`, `ALTER FUNCTION … OWNER TO`; the routine is found and may be changed.
    fn give_routine(&mut self, env: &Environment<'_>, routine: &RoutineDef, new: Oid) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        let given = RoutineDef { owner: new, ..routine.clone() };
        let oid = routine.oid;
        let mut changes = vec![Change { class: ObjectClass::Routine, oid, image: Some(routine_image(&given)) }];
        changes.extend(handed_over(&definitions, oid, routine.owner, new));
        self.define(env, &changes)
    }

    pub(super) fn owner_statement<O: Output>(
        &mut self,
        env: &Environment<'_>,
        statement: &OwnerStatement<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        match statement {
            OwnerStatement::Schema { schema, owner } => self.give_schema(env, *schema, owner),
            OwnerStatement::Routine { routine, word, owner } => {
                let tag = RoutineKind::of(word).alter_words();
                self.check_writes(env, tag)?;
                let found = self.routine_named(env, RoutineKind::of(word), routine)??;
                let definitions = self.definitions(env, &self.work)?;
                let new = self.role_of(&definitions, owner)?;
                if new != found.owner {
                    if !self.owns(env, found.owner)? {
                        return Err(not_owner(word, &found.name));
                    }
                    self.check_hands_over(env, new, Some(found.schema))?;
                    self.hold_role(env, new)?;
                    self.give_routine(env, &found, new)?;
                }
                Ok(Some(Tag::Words(tag)))
            }
            OwnerStatement::Drop { roles, cascade } => {
                self.check_writes(env, "DROP OWNED")?;
                let definitions = self.definitions(env, &self.work)?;
                let roles = roles.iter().map(|name| self.role_of(&definitions, name)).collect::<Result<Vec<Oid>>>()?;
                if !roles.iter().all(|role| definitions.has_privileges_of(self.role(), *role)) {
                    let message = "permission denied to drop objects";
                    return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
                }
                if let Some(fixed) = roles.iter().find(|role| **role == schema::BOOTSTRAP_ROLE) {
                    let message = format!(
                        "cannot drop objects owned by role {} because they are required by the database system",
                        definitions.role_name(*fixed)
                    );
                    return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
                }
                self.revoke_all(env, &definitions, &roles)?;
                self.drop_defaults_of(env, &roles)?;
                self.drop_owned(env, &definitions, &roles, *cascade, out)?;
                Ok(Some(Tag::Words("DROP OWNED")))
            }
            OwnerStatement::Reassign { from, to } => {
                self.check_writes(env, "REASSIGN OWNED")?;
                let definitions = self.definitions(env, &self.work)?;
                let from = from.iter().map(|name| self.role_of(&definitions, name)).collect::<Result<Vec<Oid>>>()?;
                let check = |role: Oid| match definitions.has_privileges_of(self.role(), role) {
                    true => Ok(()),
                    false => {
                        let message = "permission denied to reassign objects";
                        Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message))
                    }
                };
                from.iter().try_for_each(|role| check(*role))?;
                let to = self.role_of(&definitions, to)?;
                check(to)?;
                if let Some(fixed) = from.iter().find(|role| **role == schema::BOOTSTRAP_ROLE) {
                    let message = format!(
                        "cannot reassign ownership of objects owned by role {} because they are required by the database system",
                        definitions.role_name(*fixed)
                    );
                    return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
                }
                self.hold_role(env, to)?;
                self.reassign(env, &definitions, &from, to)?;
                Ok(Some(Tag::Words("REASSIGN OWNED")))
            }
        }
    }

    /// Takes from some roles what was granted to them, on whatever is not theirs; and what they have granted on.
    fn revoke_all(&mut self, env: &Environment<'_>, definitions: &Definitions, roles: &[Oid]) -> Result<()> {
        let schemas = self.catalog(env)?.schemas();
        let guards = (definitions.tables().map(|table| Guard::relation(table)))
            .chain(definitions.routines().map(|routine| Guard::routine(routine)))
            .chain(schemas.iter().map(|(oid, _)| definitions.schema_guard(*oid)))
            .chain(definitions.user_types().map(|ty| definitions.type_guard(ty.oid)))
            .chain(table::TABLE.iter().map(|row| definitions.type_guard(row.oid)))
            .chain(Language::ALL.map(|language| definitions.language_guard(language)))
            .chain(definitions.databases().map(|database| Guard::database(database)));
        let mut seen = std::collections::BTreeSet::new();
        let guards = guards.filter(|guard| seen.insert(guard.oid));
        let mut changes = Vec::new();
        for guard in guards.filter(|guard| !roles.contains(&guard.owner)) {
            let Some(known) = definitions.acl(guard.oid).filter(|acl| roles.iter().any(|role| acl.mentions(*role)))
            else {
                continue;
            };
            let mut acl = ObjectAcl::clone(known);
            let mut failed = None;
            acl.each(|items| {
                let mut ledger = Ledger { definitions, owner: guard.owner, items: std::mem::take(items) };
                let own: Vec<_> = ledger.items.iter().copied().filter(|item| roles.contains(&item.grantee)).collect();
                for item in own {
                    failed = failed.take().or(ledger.revoke(item, true).err());
                }
                *items = ledger.items;
            });
            if let Some(error) = failed {
                return Err(error);
            }
            let class = ObjectClass::privileges_of(guard.kind);
            changes.push(Change { class, oid: guard.oid, image: Some(acl_image(&acl)) });
        }
        self.define(env, &changes)
    }

    /// Drops what some roles own.
    fn drop_owned<O: Output>(
        &mut self,
        env: &Environment<'_>,
        definitions: &Definitions,
        roles: &[Oid],
        cascade: bool,
        out: &mut O,
    ) -> Result<()> {
        let owned: Vec<Oid> =
            definitions.tables().filter(|table| roles.contains(&table.owner)).map(|table| table.oid).collect();
        let mut tables = Vec::with_capacity(owned.len());
        for oid in owned {
            self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
            tables.extend(self.lock_definition(env, oid)?);
        }
        if !tables.is_empty() {
            self.drop_all(env, &tables, cascade, out)?;
        }
        for routine in definitions.routines().filter(|routine| roles.contains(&routine.owner)) {
            self.lock_name(env, routine.schema, &format!("procedure {}", routine.name))?;
            match cascade {
                true => self.drop_users(env, routine, out)?,
                false => self.check_unused(env, routine)?,
            }
            let gone = [ObjectClass::Routine, ObjectClass::Privileges];
            self.define(env, &gone.map(|class| Change { class, oid: routine.oid, image: None }))?;
        }
        for ty in definitions.user_types().filter(|ty| roles.contains(&ty.owner)) {
            self.lock_relation(env, ty.oid.0, LockMode::AccessExclusive, true)?;
            self.drop_user_type(env, ty, cascade, out)?;
        }
        for (oid, name) in self.catalog(env)?.schemas() {
            if roles.contains(&definitions.schema_owner(oid)) {
                self.lock_name(env, Oid::NONE, &name)?;
                self.drop_schema(env, oid, &name, cascade, out)?;
            }
        }
        Ok(())
    }

    /// Gives everything that some roles own to another.
    fn reassign(&mut self, env: &Environment<'_>, definitions: &Definitions, from: &[Oid], to: Oid) -> Result<()> {
        let owned: Vec<Oid> =
            definitions.tables().filter(|table| from.contains(&table.owner)).map(|table| table.oid).collect();
        for oid in owned {
            self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
            let Some(found) = self.lock_definition(env, oid)? else { continue };
            let mut given = TableDef::clone(&found);
            let change = handed_over(definitions, oid, given.owner, to);
            given.owner = to;
            self.define_tables(env, &mut [&mut given])?;
            self.define(env, change.as_slice())?;
        }
        for (oid, name) in self.catalog(env)?.schemas() {
            let old = definitions.schema_owner(oid);
            if from.contains(&old) {
                let given = SchemaDef { name, owner: to };
                let mut changes = vec![Change { class: ObjectClass::Schema, oid, image: Some(schema_image(&given)) }];
                changes.extend(handed_over(definitions, oid, old, to));
                self.define(env, &changes)?;
            }
        }
        for routine in definitions.routines().filter(|routine| from.contains(&routine.owner)) {
            self.give_routine(env, routine, to)?;
        }
        for database in definitions.databases().filter(|database| from.contains(&database.owner)) {
            self.lock_key(env, definition_key(database.oid), LockMode::AccessExclusive, true)?;
            let definitions = self.definitions(env, &self.work)?;
            // While the lock was waited for it may have been dropped, or been given to somebody else.
            let still = definitions.database(database.oid).filter(|database| from.contains(&database.owner));
            still.map_or(Ok(()), |database| self.hand_over_database(env, &definitions, database, to))?;
        }
        for ty in definitions.user_types().filter(|ty| from.contains(&ty.owner)) {
            let given = UserTypeDef { owner: to, version: self.new_version(env)?, ..UserTypeDef::clone(ty) };
            self.define(env, &[Change::user_type(&given)])?;
            self.define(env, handed_over(definitions, ty.oid, ty.owner, to).as_slice())?;
        }
        Ok(())
    }

    /// What depends on a role, as `DROP ROLE` tells it: in the order of the objects' numbers, and how much in other databases.
    pub(super) fn depends_on(&self, env: &Environment<'_>, role: Oid) -> Result<Vec<String>> {
        let mut found = dependents(&self.catalog(env)?, role, true);
        for database in self.definitions(env, &self.work)?.databases().filter(|other| other.oid != self.database) {
            let Some(committed) = self.committed(env) else { continue };
            let definitions = Committed { database: database.oid, ..committed }.definitions()?;
            let count = dependents(&Catalog::new(&env.database.catalogs, definitions, "", ""), role, false).len();
            match count {
                0 => {}
                1 => found.push(format!("1 object in database {}", database.name)),
                many => found.push(format!("{many} objects in database {}", database.name)),
            }
        }
        Ok(found)
    }
}

/// What depends on a role in a database, in the order of the objects' numbers; with what databases share, if that is asked for.
fn dependents(catalog: &Catalog<'_>, role: Oid, shared: bool) -> Vec<String> {
    let definitions = &catalog.definitions;
    let mut found: Vec<(Oid, u16, String)> = Vec::new();
    let mut note = |oid: Oid, owner: Oid, what: &str| {
        if owner == role {
            found.push((oid, 0, format!("owner of {what}")));
        } else if let Some(acl) = definitions.acl(oid) {
            let items = acl.items.iter().flatten();
            if items.clone().any(|item| item.grantee == role || item.grantor == role) {
                found.push((oid, 0, format!("privileges for {what}")));
            }
        }
    };
    for table in definitions.tables() {
        note(table.oid, table.owner, &format!("{} {}", table.word(), catalog.shown_name(table)));
    }
    for (oid, name) in catalog.schemas() {
        note(oid, definitions.schema_owner(oid), &format!("schema {name}"));
    }
    for routine in definitions.routines() {
        note(routine.oid, routine.owner, &format!("function {}", routine.shown()));
    }
    for ty in definitions.user_types() {
        note(ty.oid, ty.owner, &format!("type {}", catalog.shown_type(ty.oid)));
    }
    for row in table::TABLE.iter().filter(|row| !row.is_array()) {
        note(row.oid, BOOTSTRAP_ROLE, &format!("type {}", row.sql_name));
    }
    for language in Language::ALL {
        note(language.oid(), BOOTSTRAP_ROLE, &format!("language {}", language.name()));
    }
    for database in definitions.databases().filter(|_| shared) {
        note(database.oid, database.owner, &format!("database {}", database.name));
    }
    for table in definitions.tables() {
        for (column, items) in definitions.acl(table.oid).map_or(&[][..], |acl| &acl.columns) {
            let is_named = items.iter().any(|item| item.grantee == role || item.grantor == role);
            if let Some(def) = table.columns.get(usize::from(*column)).filter(|_| is_named && table.owner != role) {
                let what =
                    format!("privileges for column {} of {} {}", def.name, table.word(), catalog.shown_name(table));
                found.push((table.oid, column + 1, what));
            }
        }
    }
    for (oid, known) in definitions.default_acls().filter(|(_, known)| known.mentions(role)) {
        let what = match known.made {
            Made::Relations => "relations",
            Made::Sequences => "sequences",
            Made::Routines => "functions",
            Made::Schemas => "schemas",
            Made::Types => "types",
        };
        let whose = definitions.role_name(known.role);
        let place = match catalog.schema_name(known.schema) {
            Some(schema) => format!(" in schema {schema}"),
            None => String::new(),
        };
        let is = if known.role == role { "owner of" } else { "privileges for" };
        let text = format!("{is} default privileges on new {what} belonging to role {whose}{place}");
        found.push((oid, 0, text));
    }
    found.sort();
    found.into_iter().map(|(.., text)| text).collect()
}
