//! Statements about types of users.

use super::{Name, Path, SourceExpr, TypeName};
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
    /// `CREATE DOMAIN`
    CreateDomain {
        /// Its name.
        path: Path<'a>,
        /// The type that it is made of.
        base: TypeName<'a>,
        /// Its default.
        default: Option<SourceExpr<'a>>,
        /// `NOT NULL`, or `NULL`.
        not_null: Option<bool>,
        /// Its conditions, those with names and those without.
        checks: &'a [(Option<Name<'a>>, SourceExpr<'a>)],
    },
    /// `ALTER TYPE`, `ALTER DOMAIN`
    Alter {
        /// Which type.
        path: Path<'a>,
        /// It was called a domain.
        domain: bool,
        /// What changes.
        action: TypeAction<'a>,
    },
    /// `DROP TYPE`, `DROP DOMAIN`
    Drop {
        /// Which types.
        paths: &'a [Path<'a>],
        /// They were called domains.
        domain: bool,
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
    /// `SET DEFAULT`, or `DROP DEFAULT`, of a domain.
    Default(Option<SourceExpr<'a>>),
    /// `SET NOT NULL`, or `DROP NOT NULL`, of a domain.
    NotNull(bool),
    /// `ADD CONSTRAINT`, of a domain.
    AddCheck(Option<Name<'a>>, SourceExpr<'a>),
    /// `DROP CONSTRAINT`, of a domain; true for `IF EXISTS`.
    DropCheck(Name<'a>, bool),
    /// `RENAME CONSTRAINT`, of a domain: the old name and the new one
    RenameCheck(Name<'a>, Name<'a>),
    /// `VALIDATE CONSTRAINT`, of a domain
    ValidateCheck(Name<'a>),
}
