//! Who a session is: the role that logged in, the one that `SET SESSION AUTHORIZATION` has put in its place, and the one whose privileges
//! are in force.
//!
//! ```text
//!  logged in ──SET SESSION AUTHORIZATION──> session's user ──SET ROLE──> current user
//!   (for ever)                               session_user               current_user; owns what is made
//! ```
//!
//! The last two are settings, `session_authorization` and `role`, so that a rollback undoes them and `SET LOCAL` ends with the
//! transaction. What they name is looked up once, when one of them changes; a role is known by its number from then on.
//!
//! Rules
//! 1. A name that means no role any more has no number, and therefore no privilege but everybody's.
//! 2. Another identity has another number of the path, so nothing that was found out for the old one counts.

use super::{Environment, Session, Text, text_in};
use crate::catalog::role::RoleFlag;
use crate::catalog::schema::BOOTSTRAP_ROLE;
use crate::catalog::store::Definitions;
use crate::catalog::system::cluster::SUPERUSER;
use crate::types::Oid;
use allocator_api2::alloc::Allocator;
use base::settings::{SettingId, SettingSet};
use base::{Error, Result, sqlstate};

/// What the setting `role` is when there is no other role than the session's user.
const NO_ROLE: &str = "none";

/// Who a session is.
pub(crate) struct Identity<A: Allocator + Copy> {
    /// The role that logged in.
    pub(crate) login: Oid,
    pub(crate) login_name: Text<A>,
    /// The session's user.
    pub(crate) session: Oid,
    pub(crate) session_name: Text<A>,
    /// The role whose privileges are in force.
    pub(crate) current: Oid,
    /// What the setting `is_superuser` shows.
    pub(crate) is_superuser: bool,
    /// How many bodies around run with their owner's rights.
    pub(crate) definers: u32,
}

impl<A: Allocator + Copy> Identity<A> {
    /// Of a session that begins.
    pub(super) fn new(user: &str, memory: A) -> Result<Identity<A>> {
        let is_superuser = user == SUPERUSER;
        let login = if is_superuser { BOOTSTRAP_ROLE } else { Oid::NONE };
        Ok(Identity {
            login,
            login_name: text_in(user, memory)?,
            session: login,
            session_name: text_in(user, memory)?,
            current: login,
            is_superuser,
            definers: 0,
        })
    }
}

/// A setting that says who the session is.
pub(crate) fn is_identity(id: SettingId) -> bool {
    matches!(id, SettingId::Role | SettingId::SessionAuthorization)
}

impl<A: Allocator + Copy> Session<A> {
    /// The role whose privileges are in force; it owns what is made.
    pub(crate) fn role(&self) -> Oid {
        self.identity.current
    }

    /// The name of the session's user.
    pub(crate) fn session_user(&self) -> &str {
        std::str::from_utf8(&self.identity.session_name).unwrap_or_default()
    }

    /// May the current user do everything?
    pub(crate) fn is_superuser(&self, env: &Environment<'_>) -> bool {
        let role = self.identity.current;
        role == BOOTSTRAP_ROLE
            || self.definitions(env, &self.work).is_ok_and(|definitions| definitions.is_superuser(role))
    }

    /// Refuses another identity, also the one of the beginning, to a body that has its owner's. Errors: `42501`.
    pub(crate) fn check_own_identity(&self, id: SettingId) -> Result<()> {
        if self.identity.definers == 0 {
            return Ok(());
        }
        let message = format!("cannot set parameter \"{}\" within security-definer function", id.name());
        Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }

    /// May the session take on the role of that name? `id` is the setting that says so.
    ///
    /// Errors: `22023`, `42501`.
    pub(crate) fn check_identity(&self, env: &Environment<'_>, id: SettingId, name: &str) -> Result<()> {
        self.check_own_identity(id)?;
        if id == SettingId::Role && name == NO_ROLE {
            return Ok(());
        }
        let definitions = self.definitions(env, &self.work)?;
        let Some(role) = definitions.role_named(name) else {
            let message = format!("role \"{name}\" does not exist");
            return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
        };
        let refuse = |message: String| Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        match id {
            SettingId::Role if !definitions.is_member_of(self.identity.session, role.oid) => {
                refuse(format!("permission denied to set role \"{name}\""))
            }
            SettingId::SessionAuthorization
                if role.oid != self.identity.login && !definitions.is_superuser(self.identity.login) =>
            {
                refuse(format!("permission denied to set session authorization \"{name}\""))
            }
            _ => Ok(()),
        }
    }

    /// Some settings have other values: whoever has to know is told, and the session is who they say.
    pub(crate) fn settings_changed(&mut self, env: &Environment<'_>, changed: SettingSet) {
        let mut is_other = false;
        for id in changed.iter() {
            self.note_report(id);
            is_other |= is_identity(id);
        }
        if is_other {
            self.identify(env);
        }
    }

    /// Finds out who the session is: at its beginning, and when a setting that says so has changed.
    pub fn identify(&mut self, env: &Environment<'_>) {
        let definitions = self.definitions(env, &self.work).unwrap_or_default();
        if self.look_up(&definitions).is_err() {
            // Without memory for names nobody has privileges.
            (self.identity.session, self.identity.current) = (Oid::NONE, Oid::NONE);
        }
        let is_superuser = definitions.is_superuser(self.identity.current);
        if is_superuser != self.identity.is_superuser {
            self.identity.is_superuser = is_superuser;
            self.note_report(SettingId::IsSuperuser);
        }
        self.path_number += 1;
    }

    /// The role that has logged in; none if it is gone.
    pub fn login_role(&self) -> Oid {
        self.identity.login
    }

    fn look_up(&mut self, definitions: &Definitions) -> Result<()> {
        let number = |name: &str| definitions.role_named(name).map_or(Oid::NONE, |role| role.oid);
        let login_name = std::str::from_utf8(&self.identity.login_name).unwrap_or_default();
        if self.identity.login.is_none() {
            self.identity.login = number(login_name);
        }
        let own = |id| self.settings.value(id).map(|value| value.text());
        let session_name = own(SettingId::SessionAuthorization).filter(|name| !name.is_empty()).unwrap_or(login_name);
        let session = if session_name == login_name { self.identity.login } else { number(session_name) };
        let role = own(SettingId::Role).filter(|name| *name != NO_ROLE);
        let current = role.map_or(session, number);
        let user = text_in(role.unwrap_or(session_name), self.memory)?;
        let session_name = text_in(session_name, self.memory)?;
        self.user = user;
        self.identity.session_name = session_name;
        (self.identity.session, self.identity.current) = (session, current);
        Ok(())
    }

    /// Has the current user an attribute of roles? A superuser has them all.
    pub(crate) fn has_attribute(&self, definitions: &Definitions, flag: RoleFlag) -> bool {
        let role = self.identity.current;
        definitions.is_superuser(role) || definitions.role(role).is_some_and(|role| role.has(flag))
    }
}
