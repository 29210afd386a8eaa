//! `ALTER DEFAULT PRIVILEGES`, and what new objects have by it.
//!
//! There is a list for each role, schema and kind of object, with a lock of its own: whoever changes his lists lets nobody else wait.

use super::define::{Change, name_key};
use super::grant::{invalid, name_of, right_named};
use crate::catalog::codec::{ObjectClass, acl_image, default_acl_image};
use crate::catalog::default_acl::{DefaultAcl, Made, are_same};
use crate::catalog::grant::Ledger;
use crate::catalog::privilege::{AclItem, Guard, ObjectAcl, PUBLIC, Rights, Securable};
use crate::parser::privilege::AlterDefaults;
use crate::parser::role::RoleName;
use crate::session::{Environment, Session, Tag};
use crate::types::Oid;
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};
use storage::txn::LockMode;

/// What a statement grants or revokes.
struct Terms<'a> {
    alter: &'a AlterDefaults<'a>,
    rights: Rights,
    grantees: Vec<Oid>,
}

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn alter_defaults(&mut self, env: &Environment<'_>, alter: &AlterDefaults<'_>) -> Result<Option<Tag>> {
        self.check_writes(env, "ALTER DEFAULT PRIVILEGES")?;
        let made = alter.made;
        let definitions = self.definitions(env, &self.work)?;
        let grantee = |name: &RoleName<'_>| match name {
            RoleName::Public => Ok(PUBLIC),
            name => self.role_of(&definitions, name),
        };
        let grantees = alter.grantees.iter().map(grantee).collect::<Result<Vec<Oid>>>()?;
        let mut rights = if alter.privileges.is_empty() { made.securable().all() } else { 0 };
        for named in alter.privileges {
            if !named.columns.is_empty() {
                return Err(invalid("default privileges cannot be set for columns".to_owned()));
            }
            let right = right_named(named.name)?;
            if right & !made.securable().all() != 0 {
                let (name, word) = (name_of(right), made.word());
                return Err(invalid(format!("invalid privilege type {name} for {word}")));
            }
            rights |= right;
        }
        if alter.grants && alter.option && grantees.contains(&PUBLIC) {
            return Err(invalid("grant options can only be granted to roles".to_owned()));
        }
        let roles = match alter.roles {
            Some(names) => names.iter().map(|name| self.role_of(&definitions, name)).collect::<Result<Vec<Oid>>>()?,
            None => vec![self.role()],
        };
        for role in &roles {
            if !definitions.is_member_of(self.role(), *role) {
                let message = format!("must be member of role \"{}\"", definitions.role_name(*role));
                return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
            }
        }
        if made == Made::Schemas && alter.schemas.is_some() {
            let message = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
            return Err(invalid(message.to_owned()));
        }
        let schemas = match alter.schemas {
            Some(names) => {
                let catalog = self.catalog(env)?;
                let schema = |name: &crate::parser::ast::Name<'_>| {
                    catalog.schema(name.text).ok_or_else(|| {
                        let message = format!("schema \"{}\" does not exist", name.text);
                        Error::statement(sqlstate::INVALID_SCHEMA_NAME, message)
                    })
                };
                names.iter().map(schema).collect::<Result<Vec<Oid>>>()?
            }
            None => vec![Oid::NONE],
        };
        let terms = Terms { alter, rights, grantees };
        for role in roles {
            for schema in &schemas {
                self.alter_default(env, role, *schema, &terms)?;
            }
        }
        Ok(Some(Tag::Words("ALTER DEFAULT PRIVILEGES")))
    }

    /// Locks one list, whether it is there or not.
    fn lock_default(&mut self, env: &Environment<'_>, role: Oid, schema: Oid, made: Made) -> Result<()> {
        /// `pg_default_acl`
        const DEFAULTS: Oid = Oid(826);
        let key = name_key(self.database, DEFAULTS, &format!("{} {} {}", role.0, schema.0, made.word()));
        self.lock_key(env, key, LockMode::AccessExclusive, true).map(drop)
    }

    /// Changes one list.
    fn alter_default(&mut self, env: &Environment<'_>, role: Oid, schema: Oid, terms: &Terms<'_>) -> Result<()> {
        self.hold_role(env, role)?;
        if terms.alter.grants {
            terms.grantees.iter().try_for_each(|grantee| self.hold_role(env, *grantee))?;
        }
        self.lock_default(env, role, schema, terms.alter.made)?;
        let definitions = self.definitions(env, &self.work)?;
        let (made, usual) = (terms.alter.made, DefaultAcl::usual(role, schema, terms.alter.made));
        let is_it = |known: &(Oid, &DefaultAcl)| (known.1.role, known.1.schema, known.1.made) == (role, schema, made);
        let known = definitions.default_acls().find(is_it);
        let items = known.map_or_else(|| usual.clone(), |(_, known)| known.items.clone());
        let mut ledger = Ledger { definitions: &definitions, owner: role, items };
        for grantee in &terms.grantees {
            let (grants, option, rights) = (terms.alter.grants, terms.alter.option, terms.rights);
            let item = AclItem {
                grantee: *grantee,
                grantor: role,
                rights: if grants || !option { rights } else { 0 },
                options: if !grants || option { rights } else { 0 },
            };
            match grants {
                true => ledger.grant(item)?,
                false => ledger.revoke(item, terms.alter.cascade)?,
            }
        }
        let items = ledger.items;
        let (number, class) = (known.map(|(oid, _)| oid), ObjectClass::DefaultPrivileges);
        let (oid, image) = match (number, are_same(&items, &usual)) {
            (None, true) => return Ok(()),
            (Some(oid), true) => (oid, None),
            (number, false) => {
                let oid = number.map_or_else(|| self.new_oid(env), Ok)?;
                (oid, Some(default_acl_image(&DefaultAcl { role, schema, made, items })))
            }
        };
        self.define(env, &[Change { class, oid, image }])
    }

    /// Gives something new the privileges that its maker has wanted. Its owner stays.
    pub(super) fn grant_defaults(&mut self, env: &Environment<'_>, guard: Guard, schema: Oid) -> Result<()> {
        let made = match guard.kind {
            Securable::Relation => Made::Relations,
            Securable::Sequence => Made::Sequences,
            Securable::Routine => Made::Routines,
            Securable::Schema => Made::Schemas,
            Securable::Type => Made::Types,
            Securable::Column | Securable::Database | Securable::Language => return Ok(()),
        };
        self.hold_role(env, guard.owner)?;
        let Some(items) = self.definitions(env, &self.work)?.made_acl(made, guard.owner, schema) else { return Ok(()) };
        items.iter().try_for_each(|item| self.hold_role(env, item.grantee))?;
        let image = Some(acl_image(&ObjectAcl { items: Some(items), columns: Vec::new() }));
        self.define(env, &[Change { class: ObjectClass::Privileges, oid: guard.oid, image }])
    }

    /// What is left of the lists when some roles are gone from them: of `DROP OWNED`.
    pub(super) fn drop_defaults_of(&mut self, env: &Environment<'_>, roles: &[Oid]) -> Result<()> {
        // Others may make lists while one is waited for.
        let mut locked = Vec::new();
        let definitions = loop {
            let definitions = self.definitions(env, &self.work)?;
            let all = definitions.default_acls().map(|(_, known)| known);
            let theirs = all.filter(|known| roles.iter().any(|role| known.mentions(*role)));
            let lists = theirs.map(|known| (known.role, known.schema, known.made));
            let more: Vec<_> = lists.filter(|list| !locked.contains(list)).collect();
            if more.is_empty() {
                break definitions;
            }
            for (role, schema, made) in more {
                self.lock_default(env, role, schema, made)?;
                locked.push((role, schema, made));
            }
        };
        let class = ObjectClass::DefaultPrivileges;
        let mut changes = Vec::new();
        for (oid, known) in definitions.default_acls() {
            if roles.contains(&known.role) {
                changes.push(Change { class, oid, image: None });
                continue;
            }
            if !roles.iter().any(|role| known.mentions(*role)) {
                continue;
            }
            let mut ledger = Ledger { definitions: &definitions, owner: known.role, items: known.items.clone() };
            let own = known.items.iter().filter(|item| roles.contains(&item.grantee));
            own.copied()
                .try_for_each(|item| ledger.revoke(AclItem { options: item.rights | item.options, ..item }, true))?;
            let is_usual = are_same(&ledger.items, &DefaultAcl::usual(known.role, known.schema, known.made));
            let left = DefaultAcl { items: ledger.items, ..known.clone() };
            changes.push(Change { class, oid, image: (!is_usual).then(|| default_acl_image(&left)) });
        }
        self.define(env, &changes)
    }
}
