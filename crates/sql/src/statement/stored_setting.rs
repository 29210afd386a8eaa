//! `ALTER ROLE … SET`, `ALTER ROLE ALL SET`, `ALTER DATABASE … SET`: settings that sessions begin with.
//!
//! Those of a role, of a database or of a role in a database have a lock of their own: everybody may set his own, and leave his transaction
//! open, without anybody else waiting for it. Whoever drops the database holds that one's lock alone, which is held here beside others.

use super::define::Change;
use super::owner::not_owner;
use crate::catalog::codec::{ObjectClass, settings_image};
use crate::catalog::database::no_database;
use crate::catalog::role::RoleFlag;
use crate::catalog::role_settings::{StoredSettings, put};
use crate::catalog::store::Definitions;
use crate::parser::ast::{SettingChange, StoredSetting};
use crate::session::settings::{is_custom, unknown_setting};
use crate::session::{Environment, Session, Tag};
use crate::types::Oid;
use allocator_api2::alloc::Allocator;
use base::settings::{Change as Context, check_context, flatten, lookup};
use base::{Error, Result, sqlstate};
use storage::txn::lock::LockClass;
use storage::txn::{LockKey, LockMode};

/// The lock of a role's settings in a database.
fn settings_key((database, role): (Oid, Oid)) -> LockKey {
    /// `pg_db_role_setting`
    const SETTINGS: u32 = 2964;
    LockKey { class: LockClass::Object, first: SETTINGS, second: u64::from(database.0) << 32 | u64::from(role.0) }
}

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn store_setting(
        &mut self,
        env: &Environment<'_>,
        statement: &StoredSetting<'_>,
    ) -> Result<Option<Tag>> {
        let tag = if statement.of_database { "ALTER DATABASE" } else { "ALTER ROLE" };
        self.check_writes(env, tag)?;
        let role = match &statement.role {
            Some(name) => self.role_of(&*self.definitions(env, &self.work)?, name)?,
            None => Oid::NONE,
        };
        if !role.is_none() {
            self.hold_role(env, role)?;
        }
        let database = match statement.database {
            Some(name) => {
                let found = self.lock_database(env, name.text, LockMode::AccessShare)?;
                found.ok_or_else(|| no_database(name.text))?.oid
            }
            None => Oid::NONE,
        };
        self.check_stores(env, &*self.definitions(env, &self.work)?, (database, role))?;
        self.lock_key(env, settings_key((database, role)), LockMode::AccessExclusive, true)?;
        self.keep_setting(env, (database, role), &statement.change)?;
        Ok(Some(Tag::Words(tag)))
    }

    /// May the current user say with which settings these sessions begin? Errors: `42501`.
    fn check_stores(
        &self,
        env: &Environment<'_>,
        definitions: &Definitions,
        (database, role): (Oid, Oid),
    ) -> Result<()> {
        let refuse = |message: &str| Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message.to_owned()));
        if definitions.is_superuser(self.role()) {
            return Ok(());
        }
        match (role.is_none(), database.is_none()) {
            (true, true) => refuse("must be superuser to alter settings globally"),
            (true, false) => match definitions.database(database) {
                Some(known) if !self.owns(env, known.owner)? => Err(not_owner("database", &known.name)),
                _ => Ok(()),
            },
            (false, _) if definitions.is_superuser(role) => refuse("must be superuser to alter superusers"),
            (false, _) if role == self.role() || self.has_attribute(definitions, RoleFlag::CreateRole) => Ok(()),
            (false, _) => refuse("permission denied"),
        }
    }

    fn keep_setting(
        &mut self,
        env: &Environment<'_>,
        (database, role): (Oid, Oid),
        change: &SettingChange<'_>,
    ) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        let is_it = |known: &(Oid, &StoredSettings)| (known.1.database, known.1.role) == (database, role);
        let known = definitions.stored_settings().find(is_it);
        let mut values = known.map_or_else(Vec::new, |(_, known)| known.values.clone());
        self.change_values(env, &mut values, change)?;
        let (oid, class) = (known.map(|(oid, _)| oid), ObjectClass::StoredSettings);
        let (oid, image) = match (oid, values.is_empty()) {
            (None, true) => return Ok(()),
            (Some(oid), true) => (oid, None),
            (oid, false) => {
                let oid = oid.map_or_else(|| self.new_oid(env), Ok)?;
                (oid, Some(settings_image(&StoredSettings { database, role, values })))
            }
        };
        self.define(env, &[Change { class, oid, image }])
    }

    /// Changes a list of settings as a statement says. Errors: those of `SET`.
    pub(super) fn change_values(
        &self,
        env: &Environment<'_>,
        values: &mut Vec<(String, String)>,
        change: &SettingChange<'_>,
    ) -> Result<()> {
        let superuser = self.is_superuser(env);
        let (name, text) = match change {
            SettingChange::Reset(None) => {
                // What one may not set stays.
                values.retain(|(name, _)| {
                    lookup(name).is_ok()
                        && !lookup(name).is_ok_and(|id| check_context(id, Context::Session, superuser).is_ok())
                });
                return Ok(());
            }
            SettingChange::Reset(Some(name)) | SettingChange::Set(name, None) => (*name, None),
            SettingChange::Set(name, Some(given)) => {
                let texts: Vec<&str> = given.iter().map(|value| value.text).collect();
                let text = match texts.as_slice() {
                    [one] if is_custom(name)? => (*one).to_owned(),
                    _ => flatten(lookup(name)?, &texts)?,
                };
                (*name, Some(text))
            }
            SettingChange::Current(name) if is_custom(name)? => {
                let value = self.settings.custom(name).ok_or_else(|| unknown_setting(name))?;
                (*name, Some(value.to_owned()))
            }
            SettingChange::Current(name) => (*name, Some(self.view(env).show(lookup(name)?))),
        };
        if is_custom(name)? {
            // Nobody knows yet whom it may be told to.
            if !superuser {
                let message = format!("permission denied to set parameter \"{name}\"");
                return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
            }
            put(values, name, text);
            return Ok(());
        }
        let id = lookup(name)?;
        check_context(id, Context::Session, superuser)?;
        if let Some(text) = &text {
            self.parse_setting(env, id, text)?;
        }
        put(values, id.name(), text);
        Ok(())
    }
}
