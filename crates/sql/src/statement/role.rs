//! Statements about roles: who there is, and who is a member of whom.
//!
//! A change of roles holds one lock until its transaction ends, so that two of them follow one another and no membership closes a
//! circle that the other one does not see. What a role is lies in [`crate::catalog::role`].

use super::define::Change;
use crate::catalog::codec::{ObjectClass, role_image};
use crate::catalog::role::{self, DATABASE_OWNER, Membership, RoleDef, RoleFlag};
use crate::catalog::schema::BOOTSTRAP_ROLE;
use crate::catalog::store::Definitions;
use crate::parser::ast::Name;
use crate::parser::role::{RoleGrant, RoleName, RoleOption, RoleStatement};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Oid, datetime};
use allocator_api2::alloc::Allocator;
use base::settings::MessageLevel;
use base::{Error, Result, sqlstate};
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::txn::{LockKey, LockMode};

/// The object number by which changes of roles are locked: PostgreSQL's `pg_authid`.
const ROLES_OID: u32 = 1260;

/// The roles while a statement changes them.
struct Draft {
    definitions: Arc<Definitions>,
    /// Roles that changed; none for those that go.
    changed: BTreeMap<Oid, Option<RoleDef>>,
}

impl Draft {
    fn roles(&self) -> impl Iterator<Item = &RoleDef> {
        let kept = self.definitions.roles().filter(|role| !self.changed.contains_key(&role.oid));
        kept.map(|role| &**role).chain(self.changed.values().flatten())
    }

    fn role(&self, oid: Oid) -> Option<&RoleDef> {
        match self.changed.get(&oid) {
            Some(changed) => changed.as_ref(),
            None => self.definitions.role(oid).map(|role| &**role),
        }
    }

    fn named(&self, name: &str) -> Option<&RoleDef> {
        self.roles().find(|role| role.name == name)
    }

    /// The role, to be changed.
    fn change(&mut self, oid: Oid) -> Option<&mut RoleDef> {
        let role = self.role(oid)?.clone();
        self.changed.entry(oid).or_insert(None).replace(role);
        self.changed.get_mut(&oid)?.as_mut()
    }

    /// The role that a statement names. Errors: `42704`.
    fn resolve(&self, name: &RoleName<'_>, user: &str) -> Result<&RoleDef> {
        let text = match name {
            RoleName::Named(name) => name.text,
            RoleName::Own(_) => user,
            RoleName::Public => "public",
        };
        self.named(text).ok_or_else(|| missing(text))
    }

    fn resolve_all(&self, names: &[RoleName<'_>], user: &str) -> Result<Vec<Oid>> {
        names.iter().map(|name| self.resolve(name, user).map(|role| role.oid)).collect()
    }
}

fn missing(name: &str) -> Error {
    Error::statement(sqlstate::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}

fn exists(name: &str) -> Error {
    Error::statement(sqlstate::DUPLICATE_OBJECT, format!("role \"{name}\" already exists"))
}

fn reserved(name: &str, detail: &'static str) -> Error {
    Error::statement(sqlstate::RESERVED_NAME, format!("role name \"{name}\" is reserved")).detail(detail)
}

/// A name that a user may give. Errors: `42939`.
fn check_name(name: &str) -> Result<()> {
    if role::is_reserved(name) {
        return Err(reserved(name, "Role names starting with \"pg_\" are reserved."));
    }
    Ok(())
}

fn check_limit(options: &[RoleOption<'_>]) -> Result<()> {
    for option in options {
        if let RoleOption::ConnectionLimit(limit) = option
            && *limit < -1
        {
            let message = format!("invalid connection limit: {limit}");
            return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
    }
    Ok(())
}

fn notice<O: Output>(out: &mut O, message: String) {
    out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
}

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn role_statement<O: Output>(
        &mut self,
        env: &Environment<'_>,
        statement: &RoleStatement<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let tag = match statement {
            RoleStatement::Create { .. } => "CREATE ROLE",
            RoleStatement::Alter { .. } | RoleStatement::Members { .. } | RoleStatement::Rename { .. } => "ALTER ROLE",
            RoleStatement::Drop { .. } => "DROP ROLE",
            RoleStatement::Grant(grant) if grant.grants => "GRANT ROLE",
            RoleStatement::Grant(_) => "REVOKE ROLE",
        };
        self.check_writes(env, tag)?;
        if !self.is_superuser() {
            return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, "must be superuser to change roles"));
        }
        if let RoleStatement::Create { options, .. } | RoleStatement::Alter { options, .. } = statement {
            check_limit(options)?;
        }
        self.lock_key(env, LockKey::object(ROLES_OID, 0), LockMode::AccessExclusive, true)?;
        let definitions = self.definitions(env, &self.work)?;
        let mut draft = Draft { definitions, changed: BTreeMap::new() };
        match statement {
            RoleStatement::Create { name, logs_in, options } => {
                self.create_role(env, &mut draft, name.text, *logs_in, options, out)?;
            }
            RoleStatement::Alter { name, options } => self.alter_role(env, &mut draft, name, options, out)?,
            RoleStatement::Members { group, add, members } => {
                let role = draft.resolve(group, self.user())?.oid;
                let members = draft.resolve_all(members, self.user())?;
                match add {
                    true => add_members(&mut draft, role, &members, (BOOTSTRAP_ROLE, false), out)?,
                    false => remove_members(&mut draft, role, &members, false, out),
                }
            }
            RoleStatement::Rename { name, new } => self.rename_role(&mut draft, *name, *new)?,
            RoleStatement::Drop { names, if_exists } => self.drop_roles(&mut draft, names, *if_exists, out)?,
            RoleStatement::Grant(grant) => self.grant_roles(&mut draft, grant, out)?,
        }
        let changes: Vec<Change> = draft
            .changed
            .iter()
            .map(|(oid, role)| Change { class: ObjectClass::Role, oid: *oid, image: role.as_ref().map(role_image) })
            .collect();
        if !changes.is_empty() {
            self.define(env, &changes)?;
        }
        Ok(Some(Tag::Words(tag)))
    }

    fn create_role<O: Output>(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        name: &str,
        logs_in: bool,
        options: &[RoleOption<'_>],
        out: &mut O,
    ) -> Result<()> {
        check_name(name)?;
        if draft.named(name).is_some() {
            return Err(exists(name));
        }
        let oid = self.new_oid(env)?;
        let mut new = RoleDef::new(oid, name);
        new.set(RoleFlag::Login, logs_in);
        self.apply(env, &mut new, options, out)?;
        draft.changed.insert(oid, Some(new));
        // In PostgreSQL's order, whatever that of the statement.
        for option in options {
            if let RoleOption::MemberOf(roles) = option {
                for role in draft.resolve_all(roles, self.user())? {
                    add_members(draft, role, &[oid], (BOOTSTRAP_ROLE, false), out)?;
                }
            }
        }
        for admin in [true, false] {
            for option in options {
                let members = match option {
                    RoleOption::Admins(members) if admin => members,
                    RoleOption::Members(members) if !admin => members,
                    _ => continue,
                };
                let members = draft.resolve_all(members, self.user())?;
                add_members(draft, oid, &members, (BOOTSTRAP_ROLE, admin), out)?;
            }
        }
        Ok(())
    }

    fn alter_role<O: Output>(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        name: &RoleName<'_>,
        options: &[RoleOption<'_>],
        out: &mut O,
    ) -> Result<()> {
        if let RoleName::Named(name) = name
            && role::is_reserved(name.text)
        {
            return Err(reserved(name.text, "Cannot alter reserved roles."));
        }
        let old = draft.resolve(name, self.user())?.clone();
        if old.oid == BOOTSTRAP_ROLE {
            return Err(Error::unsupported("changing the role that owns the database is not supported yet")
                .hint("Its password is set by starting the server with --password-file."));
        }
        let mut new = old;
        let oid = new.oid;
        self.apply(env, &mut new, options, out)?;
        draft.changed.insert(oid, Some(new));
        for option in options {
            if let RoleOption::Members(members) = option {
                let members = draft.resolve_all(members, self.user())?;
                add_members(draft, oid, &members, (BOOTSTRAP_ROLE, false), out)?;
            }
        }
        Ok(())
    }

    /// Takes over the options that are a role's own.
    fn apply<O: Output>(
        &self,
        env: &Environment<'_>,
        role: &mut RoleDef,
        options: &[RoleOption<'_>],
        out: &mut O,
    ) -> Result<()> {
        for option in options {
            match option {
                RoleOption::Flag(flag, on) => role.set(*flag, *on),
                RoleOption::ConnectionLimit(limit) => role.connection_limit = *limit,
                RoleOption::Password(None) => role.password = None,
                RoleOption::Password(Some("")) => {
                    notice(out, "empty string is not a valid password, clearing password".to_owned());
                    role.password = None;
                }
                RoleOption::Password(Some(password)) => {
                    role.password = Some(env.server.password_verifier(password)?);
                }
                RoleOption::ValidUntil(text) => {
                    let styles = self.styles(env)?;
                    let style = styles.style(self.transaction.started_at());
                    role.valid_until = Some(datetime::parse_timestamptz(text, &style)?);
                }
                RoleOption::Number => notice(out, "SYSID can no longer be specified".to_owned()),
                RoleOption::MemberOf(_) | RoleOption::Members(_) | RoleOption::Admins(_) => {}
            }
        }
        Ok(())
    }

    fn rename_role(&self, draft: &mut Draft, name: Name<'_>, new: Name<'_>) -> Result<()> {
        let oid = draft.named(name.text).ok_or_else(|| missing(name.text))?.oid;
        if name.text == self.user() {
            return Err(Error::unsupported("session user cannot be renamed"));
        }
        check_name(name.text)?;
        check_name(new.text)?;
        if draft.named(new.text).is_some() {
            return Err(exists(new.text));
        }
        if let Some(role) = draft.change(oid) {
            role.name = new.text.to_owned();
        }
        Ok(())
    }

    fn drop_roles<O: Output>(
        &self,
        draft: &mut Draft,
        names: &[RoleName<'_>],
        if_exists: bool,
        out: &mut O,
    ) -> Result<()> {
        for name in names {
            let RoleName::Named(name) = name else {
                return Err(Error::statement(
                    sqlstate::INVALID_PARAMETER_VALUE,
                    "cannot use special role specifier in DROP ROLE",
                ));
            };
            let Some(role) = draft.named(name.text) else {
                if !if_exists {
                    return Err(missing(name.text));
                }
                notice(out, format!("role \"{}\" does not exist, skipping", name.text));
                continue;
            };
            let oid = role.oid;
            if name.text == self.user() {
                return Err(Error::statement(sqlstate::OBJECT_IN_USE, "current user cannot be dropped"));
            }
            if role::is_builtin(oid) {
                let message = format!("cannot drop role {} because it is required by the database system", name.text);
                return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
            }
            let members = draft.roles().filter(|role| role.membership(oid).is_some());
            let members: Vec<Oid> = members.map(|role| role.oid).collect();
            for member in members {
                if let Some(member) = draft.change(member) {
                    member.leave(oid);
                }
            }
            draft.changed.insert(oid, None);
        }
        Ok(())
    }

    fn grant_roles<O: Output>(&self, draft: &mut Draft, grant: &RoleGrant<'_>, out: &mut O) -> Result<()> {
        let grantor = match &grant.grantor {
            Some(name) => draft.resolve(name, self.user())?.oid,
            None => BOOTSTRAP_ROLE,
        };
        let members = draft.resolve_all(grant.members, self.user())?;
        for role in grant.roles {
            let role = draft.named(role.text).ok_or_else(|| missing(role.text))?.oid;
            match grant.grants {
                true => add_members(draft, role, &members, (grantor, grant.admin), out)?,
                false => remove_members(draft, role, &members, grant.admin, out),
            }
        }
        Ok(())
    }
}

/// Makes roles members of a role. Errors: `0LP01`.
fn add_members<O: Output>(
    draft: &mut Draft,
    role: Oid,
    members: &[Oid],
    (grantor, admin): (Oid, bool),
    out: &mut O,
) -> Result<()> {
    let name = |draft: &Draft, oid| draft.role(oid).map_or_else(String::new, |role| role.name.clone());
    let role_name = name(draft, role);
    if role == DATABASE_OWNER && !members.is_empty() {
        let message = format!("role \"{role_name}\" cannot have explicit members");
        return Err(Error::statement(sqlstate::INTERNAL_ERROR, message));
    }
    for &member in members {
        let member_name = name(draft, member);
        if member == DATABASE_OWNER {
            let message = format!("role \"{member_name}\" cannot be a member of any role");
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, message));
        }
        if role::is_member(role, member, |oid| draft.role(oid)) {
            let message = format!("role \"{role_name}\" is a member of role \"{member_name}\"");
            return Err(Error::statement(sqlstate::INVALID_GRANT_OPERATION, message));
        }
        let known = draft.role(member).and_then(|member| member.membership(role));
        if known.is_some_and(|known| known.admin || !admin) {
            notice(out, format!("role \"{member_name}\" is already a member of role \"{role_name}\""));
            continue;
        }
        if let Some(member) = draft.change(member) {
            member.join(Membership { role, grantor, admin });
        }
    }
    Ok(())
}

/// Ends memberships of a role, or takes their admin option away only.
fn remove_members<O: Output>(draft: &mut Draft, role: Oid, members: &[Oid], admin_only: bool, out: &mut O) {
    for &oid in members {
        let known = draft.role(oid).and_then(|member| member.membership(role)).copied();
        let (Some(known), Some(member)) = (known, draft.change(oid)) else {
            let name = |oid| draft.role(oid).map_or("", |role| &role.name);
            let message = format!("role \"{}\" is not a member of role \"{}\"", name(oid), name(role));
            out.notice(MessageLevel::Warning, &Error::statement(sqlstate::WARNING, message));
            continue;
        };
        match admin_only {
            true => member.join(Membership { admin: false, ..known }),
            false => member.leave(role),
        }
    }
}
