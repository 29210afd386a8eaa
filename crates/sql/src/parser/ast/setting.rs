//! Settings: their values, and changes of those that are kept.

use super::Name;
use crate::parser::role::RoleName;

/// A change of a setting that is kept.
#[derive(Clone, Copy, Debug)]
pub enum SettingChange<'a> {
    /// `SET name TO value`; none for `DEFAULT`.
    Set(&'a str, Option<&'a [SetValue<'a>]>),
    /// `SET name FROM CURRENT`
    Current(&'a str),
    /// `RESET name`; none for `ALL`.
    Reset(Option<&'a str>),
}

/// `ALTER ROLE … SET`, `ALTER DATABASE … SET`
#[derive(Clone, Copy, Debug)]
pub struct StoredSetting<'a> {
    /// The role; none for `ALL`, or of a database.
    pub role: Option<RoleName<'a>>,
    /// `IN DATABASE`, or the database itself.
    pub database: Option<Name<'a>>,
    /// `ALTER DATABASE`
    pub of_database: bool,
    /// What changes.
    pub change: SettingChange<'a>,
}

/// A value of `SET`.
#[derive(Clone, Copy, Debug)]
pub struct SetValue<'a> {
    /// Its text.
    pub text: &'a str,
}
