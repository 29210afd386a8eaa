//! Statements about roles: who there is, and who is a member of whom.
//!
//! Whoever changes a role locks it ([`super::role_lock`]). Who drops one has it alone before he looks what depends on it: whoever names one as
//! an owner or a grantee holds on to it ([`Session::hold_role`]). What a role is lies in [`crate::catalog::role`].

use super::define::Change;
use super::role_lock::Lock;
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
    fn resolve(&self, name: &RoleName<'_>, own: (&str, &str)) -> Result<&RoleDef> {
        let text = match name {
            RoleName::Named(name) => name.text,
            RoleName::Own("SESSION_USER") => own.1,
            RoleName::Own(_) => own.0,
            RoleName::Public => "public",
        };
        self.named(text).ok_or_else(|| missing(text))
    }

    fn resolve_all(&self, names: &[RoleName<'_>], own: (&str, &str)) -> Result<Vec<Oid>> {
        names.iter().map(|name| self.resolve(name, own).map(|role| role.oid)).collect()
    }
}

fn missing(name: &str) -> Error {
    Error::statement(sqlstate::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}

fn refused(message: &str) -> Error {
    Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message.to_owned())
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
        if let RoleStatement::Create { options, .. } | RoleStatement::Alter { options, .. } = statement {
            check_limit(options)?;
        }
        let mut draft = self.lock_roles(env, statement)?;
        match statement {
            RoleStatement::Create { name, logs_in, options } => {
                self.create_role(env, &mut draft, name.text, *logs_in, options, out)?;
            }
            RoleStatement::Alter { name, options } => self.alter_role(env, &mut draft, name, options, out)?,
            RoleStatement::Members { group, add, members } => {
                let role = draft.resolve(group, self.own_names())?.oid;
                let members = draft.resolve_all(members, self.own_names())?;
                match add {
                    true => add_members(&mut draft, role, &members, (self.role(), false), out)?,
                    false => remove_members(&mut draft, role, &members, false, out),
                }
            }
            RoleStatement::Rename { name, new } => self.rename_role(&mut draft, *name, *new)?,
            RoleStatement::Drop { names, if_exists } => self.drop_roles(env, &mut draft, names, *if_exists, out)?,
            RoleStatement::Grant(grant) => self.grant_roles(&mut draft, grant, out)?,
        }
        let changes: Vec<Change> = draft
            .changed
            .iter()
            .map(|(oid, role)| Change { class: ObjectClass::Role, oid: *oid, image: role.as_ref().map(role_image) })
            .collect();
        let gone = |role: Oid| draft.changed.get(&role).is_some_and(Option::is_none);
        let definitions = self.definitions(env, &self.work)?;
        let settings = definitions.stored_settings().filter(|(_, known)| gone(known.role));
        let settings = settings.map(|(oid, _)| Change { class: ObjectClass::StoredSettings, oid, image: None });
        let changes: Vec<Change> = changes.into_iter().chain(settings).collect();
        if !changes.is_empty() {
            self.define(env, &changes)?;
        }
        Ok(Some(Tag::Words(tag)))
    }

    /// Locks what a statement is about; answers the roles as they are then. Who may not carry it out does not wait.
    fn lock_roles(&mut self, env: &Environment<'_>, statement: &RoleStatement<'_>) -> Result<Draft> {
        let mut held: Vec<Lock> = Vec::new();
        loop {
            let draft = Draft { definitions: self.definitions(env, &self.work)?, changed: BTreeMap::new() };
            self.check_changes_roles(&draft, statement)?;
            let mut wanted = self.role_locks(&draft.definitions, statement);
            wanted.retain(|lock| !held.contains(lock));
            if wanted.is_empty() {
                return Ok(draft);
            }
            // While a lock is waited for names and memberships may change, and with them what is to be locked.
            wanted.iter().try_for_each(|(key, mode)| self.lock_key(env, *key, *mode, true).map(drop))?;
            held.append(&mut wanted);
        }
    }

    /// The names of the current user and of the session's.
    fn own_names(&self) -> (&str, &str) {
        (self.user(), self.session_user())
    }

    /// May the current user carry the statement out? Errors: `42501`.
    fn check_changes_roles(&self, draft: &Draft, statement: &RoleStatement<'_>) -> Result<()> {
        let definitions = &draft.definitions;
        if definitions.is_superuser(self.role()) {
            return Ok(());
        }
        let has_createrole = self.has_attribute(definitions, RoleFlag::CreateRole);
        let sets = |options: &[RoleOption<'_>], wanted: RoleFlag, on: Option<bool>| {
            let is_it = |option: &RoleOption<'_>| matches!(option, RoleOption::Flag(flag, set) if *flag == wanted && on.is_none_or(|on| on == *set));
            options.iter().any(is_it)
        };
        match statement {
            RoleStatement::Create { options, .. } => {
                for (flag, what) in [
                    (RoleFlag::Superuser, "superusers"),
                    (RoleFlag::Replication, "replication users"),
                    (RoleFlag::BypassRowSecurity, "bypassrls users"),
                ] {
                    if sets(options, flag, Some(true)) {
                        return Err(refused(&format!("must be superuser to create {what}")));
                    }
                }
                if has_createrole { Ok(()) } else { Err(refused("permission denied to create role")) }
            }
            RoleStatement::Alter { name, options } => {
                let role = draft.resolve(name, self.own_names())?;
                if role.has(RoleFlag::Superuser) || sets(options, RoleFlag::Superuser, None) {
                    let message = "must be superuser to alter superuser roles or change superuser attribute";
                    return Err(refused(message));
                }
                if role.has(RoleFlag::Replication) || sets(options, RoleFlag::Replication, None) {
                    let message = "must be superuser to alter replication roles or change replication attribute";
                    return Err(refused(message));
                }
                if sets(options, RoleFlag::BypassRowSecurity, None) {
                    return Err(refused("must be superuser to change bypassrls attribute"));
                }
                // Everybody may change his own password.
                let is_own =
                    role.oid == self.role() && options.iter().all(|option| matches!(option, RoleOption::Password(_)));
                if has_createrole || is_own { Ok(()) } else { Err(refused("permission denied")) }
            }
            RoleStatement::Rename { name, .. } => {
                let role = draft.named(name.text).ok_or_else(|| missing(name.text))?;
                if name.text == self.session_user() || name.text == self.user() {
                    // It hears so when the name is changed.
                    return Ok(());
                }
                if role.has(RoleFlag::Superuser) {
                    return Err(refused("must be superuser to rename superusers"));
                }
                if has_createrole { Ok(()) } else { Err(refused("permission denied to rename role")) }
            }
            RoleStatement::Drop { .. } if has_createrole => Ok(()),
            RoleStatement::Drop { .. } => Err(refused("permission denied to drop role")),
            RoleStatement::Members { group, .. } => {
                let group = draft.resolve(group, self.own_names())?;
                self.check_gives(definitions, group, has_createrole)
            }
            RoleStatement::Grant(grant) => {
                draft.resolve_all(grant.members, self.own_names())?;
                if let Some(grantor) = &grant.grantor
                    && draft.resolve(grantor, self.own_names())?.oid != self.role()
                {
                    return Err(refused("must be superuser to set grantor"));
                }
                for role in grant.roles {
                    let role = draft.named(role.text).ok_or_else(|| missing(role.text))?;
                    self.check_gives(definitions, role, has_createrole)?;
                }
                Ok(())
            }
        }
    }

    /// May the current user make others members of the role, or end their membership?
    fn check_gives(&self, definitions: &Definitions, role: &RoleDef, has_createrole: bool) -> Result<()> {
        if role.has(RoleFlag::Superuser) {
            return Err(refused("must be superuser to alter superusers"));
        }
        let gives = |oid: &Oid| {
            let membership = definitions.role(*oid).and_then(|member| member.membership(role.oid));
            membership.is_some_and(|membership| membership.admin)
        };
        if has_createrole || definitions.roles_of(self.role(), false).iter().any(gives) {
            return Ok(());
        }
        Err(refused(&format!("must have admin option on role \"{}\"", role.name)))
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
                for role in draft.resolve_all(roles, self.own_names())? {
                    add_members(draft, role, &[oid], (self.role(), false), out)?;
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
                let members = draft.resolve_all(members, self.own_names())?;
                add_members(draft, oid, &members, (self.role(), admin), out)?;
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
        let old = draft.resolve(name, self.own_names())?.clone();
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
                let members = draft.resolve_all(members, self.own_names())?;
                add_members(draft, oid, &members, (self.role(), false), out)?;
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
        if name.text == self.session_user() {
            return Err(Error::unsupported("session user cannot be renamed"));
        }
        if name.text == self.user() {
            return Err(Error::unsupported("current user cannot be renamed"));
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
        &mut self,
        env: &Environment<'_>,
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
            if name.text == self.session_user() {
                return Err(Error::statement(sqlstate::OBJECT_IN_USE, "session user cannot be dropped"));
            }
            if draft.definitions.is_superuser(oid) && !draft.definitions.is_superuser(self.role()) {
                return Err(refused("must be superuser to drop superusers"));
            }
            if role::is_builtin(oid) {
                let message = format!("cannot drop role {} because it is required by the database system", name.text);
                return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
            }
            let depends = self.depends_on(env, oid)?;
            if !depends.is_empty() {
                let message = format!("role \"{}\" cannot be dropped because some objects depend on it", name.text);
                return Err(
                    Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message).detail(depends.join("\n"))
                );
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
            Some(name) => draft.resolve(name, self.own_names())?.oid,
            None => self.role(),
        };
        let members = draft.resolve_all(grant.members, self.own_names())?;
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
