//! Who may change a setting, when, and who may see it.
//!
//! | context | start | reload | `ALTER SYSTEM` | `SET` |
//! |---|---|---|---|---|
//! | `Internal` | no | no | no | no |
//! | `Start` | yes | kept for the next start | yes, for the next start | no |
//! | `Reload` | yes | yes | yes | no |
//! | `SuperSession` | yes | yes | yes | a superuser |
//! | `Session` | yes | yes | yes | everybody |
//!
//! `ALTER SYSTEM` is for superusers. All refusals are PostgreSQL's: `55P02`, or `42501` where a superuser may.

use super::setting::{Context, Flags};
use super::table::SettingId;
use crate::{Error, Result, sqlstate};

/// A way to change a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// By the command line or a variable, when the server starts.
    Start,
    /// By a file: when the server starts, or when it reads its files again.
    File,
    /// By `ALTER SYSTEM`.
    AlterSystem,
    /// By `SET`, `RESET`, `set_config` or the startup message, in a session.
    Session,
}

/// Whether a setting may be changed in this way; `superuser` says who does it.
///
/// A change of a `Start` setting by a file is allowed here: a running server keeps it for its next start
/// ([`super::Effective::reload`]).
pub fn check_context(id: SettingId, change: Change, superuser: bool) -> Result<()> {
    let setting = id.setting();
    let refused =
        |what: &str| Err(Error::statement(sqlstate::CANT_CHANGE_RUNTIME_PARAM, format!("parameter \"{id}\" {what}")));
    let denied = || {
        Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, format!("permission denied to set parameter \"{id}\"")))
    };
    if setting.context == Context::Internal {
        return refused("cannot be changed");
    }
    match change {
        Change::Start => Ok(()),
        Change::File if setting.flags.has(Flags::NOT_IN_FILES) => refused("cannot be set in a file"),
        Change::File => Ok(()),
        Change::AlterSystem if setting.flags.has(Flags::NOT_IN_AUTO_FILE) => refused("cannot be changed"),
        Change::AlterSystem if !superuser => denied(),
        Change::AlterSystem => Ok(()),
        Change::Session => match setting.context {
            Context::Internal | Context::Start => refused("cannot be changed without restarting the server"),
            Context::Reload => refused("cannot be changed now"),
            Context::SuperSession if !superuser => denied(),
            Context::SuperSession | Context::Session => Ok(()),
        },
    }
}

/// Whether somebody may see the value; `42501` if it is for superusers' eyes.
pub fn check_readable(id: SettingId, superuser: bool) -> Result<()> {
    if superuser || !id.setting().flags.has(Flags::SUPERUSER_ONLY) {
        return Ok(());
    }
    Err(Error::statement(
        sqlstate::INSUFFICIENT_PRIVILEGE,
        format!("must be superuser or have privileges of pg_read_all_settings to examine \"{id}\""),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{TABLE, lookup};

    /// The rows were answered so by PostgreSQL 15, but for settings that it does not have.
    #[test]
    fn refusals_are_postgresqls() {
        use Change::{AlterSystem, File, Session, Start};
        for (name, change, superuser, expected) in [
            (
                "shared_buffers",
                Session,
                true,
                "55P02 parameter \"shared_buffers\" cannot be changed without restarting the server",
            ),
            ("checkpoint_timeout", Session, true, "55P02 parameter \"checkpoint_timeout\" cannot be changed now"),
            ("server_version", Session, true, "55P02 parameter \"server_version\" cannot be changed"),
            ("fsync", Start, true, "55P02 parameter \"fsync\" cannot be changed"),
            ("execution_model", AlterSystem, true, "55P02 parameter \"execution_model\" cannot be changed"),
            ("data_directory", AlterSystem, true, "55P02 parameter \"data_directory\" cannot be changed"),
            ("config_file", AlterSystem, true, "55P02 parameter \"config_file\" cannot be changed"),
            ("config_file", File, true, "55P02 parameter \"config_file\" cannot be set in a file"),
            ("transaction_isolation", AlterSystem, true, "55P02 parameter \"transaction_isolation\" cannot be changed"),
            ("log_min_messages", Session, false, "42501 permission denied to set parameter \"log_min_messages\""),
            ("work_mem", AlterSystem, false, "42501 permission denied to set parameter \"work_mem\""),
            ("log_min_messages", Session, true, ""),
            ("work_mem", Session, false, ""),
            ("work_mem", AlterSystem, true, ""),
            ("max_connections", AlterSystem, true, ""),
            ("data_directory", File, true, ""),
            ("config_file", Start, true, ""),
        ] {
            let found = match check_context(lookup(name).unwrap(), change, superuser) {
                Ok(()) => String::new(),
                Err(error) => format!("{} {}", error.sqlstate(), error.message()),
            };
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_is_for_superusers_is_hidden_from_others() {
        assert!(check_readable(SettingId::DataDirectory, true).is_ok());
        assert!(check_readable(SettingId::WorkMem, false).is_ok());
        assert_eq!(
            check_readable(SettingId::DataDirectory, false).unwrap_err().message(),
            "must be superuser or have privileges of pg_read_all_settings to examine \"data_directory\""
        );
    }

    #[test]
    fn nobody_changes_what_is_internal() {
        for setting in TABLE.iter().filter(|setting| setting.context == Context::Internal) {
            for change in [Change::Start, Change::File, Change::AlterSystem, Change::Session] {
                assert!(check_context(setting.id, change, true).is_err(), "{}", setting.name);
            }
        }
    }
}
