//! `SET`, `RESET`, `SHOW`, `ALTER SYSTEM`, `DISCARD ALL`.

use super::{text_columns, text_row};
use crate::parser::ast::SetValue;
use crate::session::identity::is_identity;
use crate::session::settings::{is_custom, unknown_setting};
use crate::session::{Environment, Output, Session, Tag};
use allocator_api2::alloc::Allocator;
use base::settings::{
    Change, Flags, Isolation, MessageLevel, SettingId, TABLE, Value, check_context, check_readable, flatten, lookup,
    parse_over,
};
use base::{Error, Result, sqlstate};

impl<A: Allocator + Copy> Session<A> {
    /// The value that a text is for a setting in this session.
    pub(crate) fn parse_setting(&self, env: &Environment<'_>, id: SettingId, text: &str) -> Result<Value> {
        let value = {
            let view = self.view(env);
            parse_over(id, text, view.value(id), env.effective.value(id))?
        };
        if id == SettingId::TimeZone {
            // The table knows how a zone's name looks, not which there are.
            env.database
                .zone(value.as_ref().text())
                .map_err(|_| base::settings::invalid_value(SettingId::TimeZone, text))?;
        }
        Ok(value)
    }

    /// Sets a setting from a text.
    pub(crate) fn set_setting(&mut self, env: &Environment<'_>, id: SettingId, text: &str, local: bool) -> Result<()> {
        check_context(id, Change::Session, self.is_superuser(env))?;
        let value = self.parse_setting(env, id, text)?;
        match id {
            SettingId::TransactionIsolation => {
                let isolation = Isolation::from_number(value.as_ref().number()).unwrap_or(Isolation::ReadCommitted);
                return self.transaction.set_isolation(isolation);
            }
            SettingId::TransactionReadOnly => return self.transaction.set_read_only(value.as_ref().bool()),
            SettingId::TransactionDeferrable => {
                self.transaction.set_deferrable(value.as_ref().bool());
                return Ok(());
            }
            _ => {}
        }
        if is_identity(id) {
            self.check_identity(env, id, value.as_ref().text())?;
        }
        self.settings.set(id, value.as_ref(), local)?;
        if id == SettingId::SessionAuthorization {
            // Another user of the session begins without a role.
            self.settings.reset(SettingId::Role, local)?;
        }
        self.settings_changed(env, [id].into_iter().collect());
        Ok(())
    }

    /// The client must be told of the setting's new value.
    pub(crate) fn note_report(&mut self, id: SettingId) {
        if id.setting().flags.has(Flags::REPORT) {
            self.reports.insert(id);
        }
    }

    pub(super) fn set_statement<O: Output>(
        &mut self,
        env: &Environment<'_>,
        name: &str,
        values: Option<&[SetValue<'_>]>,
        local: bool,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        if local && !self.transaction.outlives_statement() && !self.runs_body() {
            let message = "SET LOCAL can only be used in transaction blocks";
            out.notice(MessageLevel::Warning, &Error::statement(sqlstate::NO_ACTIVE_SQL_TRANSACTION, message));
        }
        if is_custom(name)? {
            let text = match values {
                Some([one]) => Some(one.text),
                Some(_) => {
                    let message = format!("SET {name} takes only one argument");
                    return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
                }
                None => None,
            };
            self.settings.set_custom(name, text, local)?;
            return Ok(Some(Tag::Words("SET")));
        }
        let id = lookup(name)?;
        match values {
            Some(values) => {
                let texts: Vec<&str> = values.iter().map(|value| value.text).collect();
                let text = flatten(id, &texts)?;
                self.set_setting(env, id, &text, local)?;
            }
            None => {
                check_context(id, Change::Session, self.is_superuser(env))?;
                self.reset_setting(env, id, local)?;
            }
        }
        Ok(Some(Tag::Words("SET")))
    }

    pub(super) fn reset_statement(&mut self, env: &Environment<'_>, name: Option<&str>) -> Result<Option<Tag>> {
        match name {
            Some(name) if is_custom(name)? => self.settings.set_custom(name, None, false)?,
            Some(name) => {
                let id = lookup(name)?;
                check_context(id, Change::Session, self.is_superuser(env))?;
                match id {
                    SettingId::TransactionIsolation
                    | SettingId::TransactionReadOnly
                    | SettingId::TransactionDeferrable => {
                        let text = env.effective.show(id);
                        self.set_setting(env, id, &text, false)?;
                    }
                    _ => {
                        self.reset_setting(env, id, false)?;
                    }
                }
            }
            None => self.reset_all()?,
        }
        Ok(Some(Tag::Words("RESET")))
    }

    /// Goes back to what a setting was when the client connected.
    fn reset_setting(&mut self, env: &Environment<'_>, id: SettingId, local: bool) -> Result<()> {
        if is_identity(id) {
            self.check_own_identity(id)?;
        }
        self.settings.reset(id, local)?;
        if id == SettingId::SessionAuthorization {
            self.settings.reset(SettingId::Role, local)?;
        }
        self.settings_changed(env, [id].into_iter().collect());
        Ok(())
    }

    fn reset_all(&mut self) -> Result<()> {
        for id in self.settings.own().iter() {
            if !id.setting().flags.has(Flags::NO_RESET_ALL) {
                self.settings.reset(id, false)?;
                self.note_report(id);
            }
        }
        self.settings.reset_customs()
    }

    pub(super) fn describe_show<O: Output>(&self, name: Option<&str>, out: &mut O) -> Result<()> {
        match name {
            Some(name) if is_custom(name)? => text_columns(&[name], out),
            Some(name) => text_columns(&[lookup(name)?.name()], out),
            None => text_columns(&["name", "setting", "description"], out),
        }
        Ok(())
    }

    pub(super) fn show<O: Output>(
        &mut self,
        env: &Environment<'_>,
        name: Option<&str>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let superuser = self.is_superuser(env);
        let view = self.view(env);
        match name {
            Some(name) if is_custom(name)? => {
                let value = view.custom(name).ok_or_else(|| unknown_setting(name))?;
                text_columns(&[name], out);
                text_row(&[value], out)?;
            }
            Some(name) => {
                let id = lookup(name)?;
                check_readable(id, superuser)?;
                text_columns(&[id.name()], out);
                text_row(&[&view.show(id)], out)?;
            }
            None => {
                text_columns(&["name", "setting", "description"], out);
                let mut listed: Vec<_> = TABLE.iter().filter(|setting| setting.is_listed()).collect();
                listed.sort_unstable_by_key(|setting| setting.name.to_ascii_lowercase());
                for setting in listed {
                    if check_readable(setting.id, superuser).is_ok() {
                        text_row(&[setting.name, &view.show(setting.id), setting.short_doc()], out)?;
                    }
                }
            }
        }
        Ok(Some(Tag::Words("SHOW")))
    }

    pub(super) fn alter_system(
        &mut self,
        env: &Environment<'_>,
        name: Option<&str>,
        values: Option<&[SetValue<'_>]>,
    ) -> Result<Option<Tag>> {
        self.check_alone("ALTER SYSTEM")?;
        let Some(name) = name else {
            if !self.is_superuser(env) {
                let message = "permission denied to perform ALTER SYSTEM RESET ALL";
                return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
            }
            env.server.alter_system(None, None)?;
            return Ok(Some(Tag::Words("ALTER SYSTEM")));
        };
        let id = lookup(name)?;
        check_context(id, Change::AlterSystem, self.is_superuser(env))?;
        let text = match values {
            Some(values) => {
                let texts: Vec<&str> = values.iter().map(|value| value.text).collect();
                let text = flatten(id, &texts)?;
                parse_over(id, &text, env.effective.value(id), env.effective.value(id))?;
                Some(text)
            }
            None => None,
        };
        env.server.alter_system(Some(id), text.as_deref())?;
        Ok(Some(Tag::Words("ALTER SYSTEM")))
    }

    pub(super) fn discard_all(&mut self, env: &Environment<'_>) -> Result<Option<Tag>> {
        self.check_alone("DISCARD ALL")?;
        self.close_all_cursors();
        self.deallocate(None)?;
        self.reset_setting(env, SettingId::SessionAuthorization, false)?;
        self.reset_all()?;
        self.sequences.clear();
        self.unlisten_statement(None)?;
        self.drop_temporary(env)?;
        if let Some(relations) = env.relations() {
            relations.storage().transactions.unlock_all_advisory();
        }
        Ok(Some(Tag::Words("DISCARD ALL")))
    }
}
