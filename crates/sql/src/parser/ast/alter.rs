//! Changes of what is defined: the actions of `ALTER TABLE`, and what is said of sequences.

use super::{ColumnDefinition, Name, Path, SourceExpr, StorageOption, TableConstraint, TriggerChoice, TypeName};
use crate::catalog::definition::Deferral;
use crate::parser::role::RoleName;

/// What is said of a sequence.
#[derive(Clone, Copy, Debug, Default)]
pub struct SequenceOptions<'a> {
    /// `AS type`
    pub ty: Option<&'a TypeName<'a>>,
    /// `INCREMENT`
    pub increment: Option<i64>,
    /// `MINVALUE`; with nothing inside, `NO MINVALUE`.
    pub min: Option<Option<i64>>,
    /// `MAXVALUE`, likewise.
    pub max: Option<Option<i64>>,
    /// `START`
    pub start: Option<i64>,
    /// `RESTART`; with nothing inside, at the start.
    pub restart: Option<Option<i64>>,
    /// `CACHE`
    pub cache: Option<i64>,
    /// `CYCLE`, `NO CYCLE`
    pub cycle: Option<bool>,
    /// `OWNED BY`; with nothing inside, by nobody.
    pub owner: Option<Option<Path<'a>>>,
    /// `SEQUENCE NAME`
    pub name: Option<Path<'a>>,
}

/// A change of a sequence.
#[derive(Clone, Copy, Debug)]
pub enum AlterSequence<'a> {
    /// Of what it is.
    Options(SequenceOptions<'a>),
    /// `RENAME TO`
    Rename(Name<'a>),
    /// `SET SCHEMA`
    Schema(Name<'a>),
    /// `OWNER TO`
    Owner(RoleName<'a>),
}

/// A change of `ALTER TABLE`.
#[derive(Clone, Copy, Debug)]
pub enum AlterAction<'a> {
    /// `ADD [CONSTRAINT name] …`
    AddConstraint(TableConstraint<'a>),
    /// `DROP CONSTRAINT`
    DropConstraint {
        /// Its name.
        name: Name<'a>,
        /// `IF EXISTS`
        if_exists: bool,
        /// `CASCADE`
        cascade: bool,
    },
    /// `ADD COLUMN`
    AddColumn {
        /// The column.
        column: ColumnDefinition<'a>,
        /// `IF NOT EXISTS`
        if_not_exists: bool,
    },
    /// `DROP COLUMN`
    DropColumn {
        /// Its name.
        name: Name<'a>,
        /// `IF EXISTS`
        if_exists: bool,
        /// `CASCADE`
        cascade: bool,
    },
    /// `ALTER COLUMN … SET DEFAULT`, `DROP DEFAULT`
    SetDefault(Name<'a>, Option<SourceExpr<'a>>),
    /// `ALTER COLUMN … ADD GENERATED … AS IDENTITY`: true for `ALWAYS`.
    AddIdentity(Name<'a>, bool, SequenceOptions<'a>),
    /// `ALTER COLUMN … SET GENERATED …`, `RESTART`, …
    SetIdentity(Name<'a>, Option<bool>, SequenceOptions<'a>),
    /// `ALTER COLUMN … DROP IDENTITY`: true with `IF EXISTS`.
    DropIdentity(Name<'a>, bool),
    /// `ALTER COLUMN … DROP EXPRESSION`: true with `IF EXISTS`.
    DropExpression(Name<'a>, bool),
    /// `ALTER COLUMN … SET NOT NULL`, `DROP NOT NULL`
    SetNotNull(Name<'a>, bool),
    /// `ALTER COLUMN … TYPE … USING …`
    AlterType(Name<'a>, &'a TypeName<'a>, Option<SourceExpr<'a>>),
    /// `ALTER COLUMN … SET STATISTICS`, `SET STORAGE`, `SET (…)`: what has nothing to act on here.
    Tune(Name<'a>),
    /// `ALTER CONSTRAINT`: whether it may wait.
    AlterConstraint(Name<'a>, Deferral),
    /// `VALIDATE CONSTRAINT`
    Validate(Name<'a>),
    /// `SET (…)`
    SetOptions(&'a [StorageOption<'a>]),
    /// `RESET (…)`
    ResetOptions(&'a [StorageOption<'a>]),
    /// `RENAME TO`
    Rename(Name<'a>),
    /// `RENAME COLUMN … TO`
    RenameColumn(Name<'a>, Name<'a>),
    /// `RENAME CONSTRAINT … TO`
    RenameConstraint(Name<'a>, Name<'a>),
    /// `SET SCHEMA`
    Schema(Name<'a>),
    /// `OWNER TO`
    Owner(RoleName<'a>),
    /// `ENABLE TRIGGER`, `DISABLE TRIGGER`: which, and the letter of their state in `pg_trigger`.
    Triggers(TriggerChoice<'a>, u8),
    /// A change that PostgreSQL has and this server has not: its first words.
    Unsupported(&'a str),
}
