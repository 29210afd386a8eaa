//! Statements about types of users.

use super::{Name, Path};
use crate::parser::role::RoleName;

/// `CREATE TYPE`, `ALTER TYPE`, `DROP TYPE`
#[derive(Clone, Copy, Debug)]
pub enum TypeStatement<'a> {
    /// `CREATE TYPE … AS ENUM`
    CreateEnum {
        /// Its name.
        path: Path<'a>,
        /// Its values, in their order.
        labels: &'a [&'a str],
    },
    /// `ALTER TYPE`
    Alter {
        /// Which type.
        path: Path<'a>,
        /// What changes.
        action: TypeAction<'a>,
    },
    /// `DROP TYPE`
    Drop {
        /// Which types.
        paths: &'a [Path<'a>],
        /// `IF EXISTS`
        if_exists: bool,
        /// `CASCADE`
        cascade: bool,
    },
}

/// What `ALTER TYPE` changes.
#[derive(Clone, Copy, Debug)]
pub enum TypeAction<'a> {
    /// `ADD VALUE`
    AddValue {
        /// The new value.
        label: &'a str,
        /// `IF NOT EXISTS`
        if_not_exists: bool,
        /// The value that it comes next to, and whether before it.
        place: Option<(&'a str, bool)>,
    },
    /// `RENAME VALUE`: the old name and the new one
    RenameValue(&'a str, &'a str),
    /// `RENAME TO`
    Rename(Name<'a>),
    /// `SET SCHEMA`
    Schema(Name<'a>),
    /// `OWNER TO`
    Owner(RoleName<'a>),
}
