//! The rows of `pg_settings`.

use super::parse::show_bare;
use super::setting::{Flags, Kind, Setting};
use super::unit::real_text;
use super::value::ValueRef;

/// Where a value comes from, in PostgreSQL's words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Source {
    /// The table's default.
    Default,
    /// An environment variable.
    EnvironmentVariable,
    /// A file: the administrator's or the one that `ALTER SYSTEM` writes.
    ConfigurationFile,
    /// An option of the command line.
    CommandLine,
    /// `ALTER ROLE ALL SET`.
    Global,
    /// `ALTER DATABASE ... SET`.
    Database,
    /// `ALTER ROLE ... SET`.
    User,
    /// `ALTER ROLE ... IN DATABASE ... SET`.
    DatabaseUser,
    /// The client's startup message.
    Client,
    /// The server computed it.
    Override,
    /// `SET`.
    Session,
}

impl Source {
    /// The word in `pg_settings.source`.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::EnvironmentVariable => "environment variable",
            Source::ConfigurationFile => "configuration file",
            Source::CommandLine => "command line",
            Source::Global => "global",
            Source::Database => "database",
            Source::User => "user",
            Source::DatabaseUser => "database user",
            Source::Client => "client",
            Source::Override => "override",
            Source::Session => "session",
        }
    }
}

/// One row of `pg_settings`, column by column; `None` is null.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the columns are PostgreSQL's, under PostgreSQL's names")]
pub struct Description {
    pub name: &'static str,
    pub setting: String,
    pub unit: Option<&'static str>,
    pub category: &'static str,
    pub short_desc: &'static str,
    pub extra_desc: Option<String>,
    pub context: &'static str,
    pub vartype: &'static str,
    pub source: &'static str,
    pub min_val: Option<String>,
    pub max_val: Option<String>,
    pub enumvals: Option<Vec<&'static str>>,
    pub boot_val: String,
    pub reset_val: String,
    pub sourcefile: Option<String>,
    pub sourceline: Option<u32>,
    pub pending_restart: bool,
}

impl Setting {
    /// True if `SHOW ALL` and `pg_settings` have it.
    pub fn is_listed(&self) -> bool {
        !self.flags.has(Flags::NO_SHOW_ALL)
    }

    /// The row of a setting whose value in this session is `current`, from `source`, and would be `reset` after `RESET`.
    /// File, line and the mark of a pending restart are the caller's to fill in.
    pub fn describe(&self, current: ValueRef<'_>, reset: ValueRef<'_>, source: Source) -> Description {
        let (min_val, max_val) = match self.kind {
            Kind::Integer { min, max, .. } => (Some(min.to_string()), Some(max.to_string())),
            Kind::Real { min, max, .. } => (Some(real_text(min)), Some(real_text(max))),
            _ => (None, None),
        };
        let enumvals = match self.kind {
            Kind::Enum { choices, .. } => Some(choices.listed.iter().map(|entry| entry.0).collect()),
            _ => None,
        };
        let extra = self.long_doc();
        Description {
            name: self.name,
            setting: show_bare(self.id, current),
            unit: Some(self.kind.unit().name()).filter(|unit| !unit.is_empty()),
            category: self.category.title(),
            short_desc: self.short_doc(),
            extra_desc: Some(extra.join(" ")).filter(|extra| !extra.is_empty()),
            context: self.context.name(),
            vartype: self.kind.vartype(),
            source: source.name(),
            min_val,
            max_val,
            enumvals,
            boot_val: show_bare(self.id, self.default_value().as_ref()),
            reset_val: show_bare(self.id, reset),
            sourcefile: None,
            sourceline: None,
            pending_restart: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{SettingId, parse};

    #[test]
    fn columns_are_postgresqls() {
        let setting = SettingId::WorkMem.setting();
        let (current, reset) = (parse(setting.id, "64MB").unwrap(), setting.default_value());
        let row = setting.describe(current.as_ref(), reset.as_ref(), Source::Session);
        assert_eq!((row.setting.as_str(), row.unit), ("65536", Some("kB")));
        assert_eq!((row.min_val.as_deref(), row.max_val.as_deref()), (Some("64"), Some("2147483647")));
        assert_eq!((row.boot_val.as_str(), row.reset_val.as_str()), ("4096", "4096"));
        assert_eq!((row.context, row.vartype, row.source), ("user", "integer", "session"));
        assert_eq!(row.category, "Resource Usage / Memory");
        assert_eq!((row.enumvals, row.extra_desc), (None, None));

        let setting = SettingId::Engine.setting();
        let value = setting.default_value();
        let row = setting.describe(value.as_ref(), value.as_ref(), Source::Default);
        assert_eq!(row.enumvals, Some(vec!["process", "thread"]));
        assert_eq!((row.context, row.vartype, row.unit), ("postmaster", "enum", None));
        assert!(row.extra_desc.is_some_and(|text| text.starts_with("With `process`")));

        let setting = SettingId::AutovacuumVacuumScaleFactor.setting();
        let value = setting.default_value();
        let row = setting.describe(value.as_ref(), value.as_ref(), Source::Default);
        assert_eq!((row.setting.as_str(), row.max_val.as_deref()), ("0.2", Some("100")));
    }

    #[test]
    fn the_session_s_identity_is_not_listed() {
        assert!(!SettingId::IsSuperuser.setting().is_listed());
        assert!(SettingId::WorkMem.setting().is_listed());
    }
}
