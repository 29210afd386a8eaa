//! Tables that are made.

use super::{ColumnDefinition, Name, Path, StorageOption, TableConstraint, TableSource};

/// `CREATE TABLE`
#[derive(Clone, Copy, Debug)]
pub struct CreateTable<'a> {
    /// Its name.
    pub path: Path<'a>,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// `TEMPORARY`
    pub temporary: bool,
    /// `UNLOGGED`
    pub unlogged: bool,
    /// Its columns.
    pub columns: &'a [ColumnDefinition<'a>],
    /// Its constraints.
    pub constraints: &'a [TableConstraint<'a>],
    /// `WITH (…)`
    pub options: &'a [StorageOption<'a>],
    /// `AS query`
    pub source: Option<TableSource<'a>>,
    /// `TABLESPACE`
    pub tablespace: Option<Name<'a>>,
}
