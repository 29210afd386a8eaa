//! Statements about triggers.

use super::{Name, Path};
use crate::catalog::definition::Deferral;

/// `CREATE TRIGGER`
#[derive(Clone, Copy, Debug)]
pub struct CreateTrigger<'a> {
    /// `OR REPLACE`
    pub replace: bool,
    /// `CONSTRAINT`
    pub constraint: bool,
    /// Its name.
    pub name: Name<'a>,
    /// The bits of [`crate::catalog::trigger`].
    pub kind: u16,
    /// `UPDATE OF`
    pub columns: &'a [Name<'a>],
    /// The table, or view.
    pub table: Path<'a>,
    /// Of a constraint trigger: `DEFERRABLE`, `INITIALLY DEFERRED`.
    pub deferral: Deferral,
    /// `REFERENCING OLD TABLE AS`
    pub old_table: Option<Name<'a>>,
    /// `REFERENCING NEW TABLE AS`
    pub new_table: Option<Name<'a>>,
    /// `WHEN`: the text, and where it stands.
    pub condition: Option<(&'a str, u32)>,
    /// The function.
    pub function: Path<'a>,
    /// What it is given.
    pub arguments: &'a [&'a str],
}

/// A statement about a trigger.
#[derive(Clone, Copy, Debug)]
pub enum TriggerStatement<'a> {
    /// `CREATE TRIGGER`
    Create(CreateTrigger<'a>),
    /// `DROP TRIGGER`
    Drop {
        /// Its name.
        name: Name<'a>,
        /// The table.
        table: Path<'a>,
        /// `IF EXISTS`
        if_exists: bool,
    },
    /// `ALTER TRIGGER … RENAME TO`
    Rename {
        /// Its name.
        name: Name<'a>,
        /// The table.
        table: Path<'a>,
        /// The new name.
        new: Name<'a>,
    },
}

/// Which triggers `ENABLE` and `DISABLE` are about.
#[derive(Clone, Copy, Debug)]
pub enum TriggerChoice<'a> {
    /// That of a name.
    Named(Name<'a>),
    /// `ALL`
    All,
    /// `USER`
    User,
}
