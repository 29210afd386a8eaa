//! Indexes that are made.

use super::{Name, Path, SourceExpr, StorageOption};

/// `CREATE INDEX`
#[derive(Clone, Copy, Debug)]
pub struct CreateIndex<'a> {
    /// Its name, if it was given one.
    pub name: Option<Name<'a>>,
    /// The table.
    pub table: Path<'a>,
    /// `UNIQUE`
    pub unique: bool,
    /// `CONCURRENTLY`
    pub concurrently: bool,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// `USING`
    pub method: Option<Name<'a>>,
    /// Its columns.
    pub columns: &'a [IndexItem<'a>],
    /// `INCLUDE`
    pub included: &'a [Name<'a>],
    /// `NULLS NOT DISTINCT`
    pub nulls_equal: bool,
    /// `WITH (…)`
    pub options: &'a [StorageOption<'a>],
    /// `TABLESPACE`
    pub tablespace: Option<Name<'a>>,
    /// `WHERE`
    pub filter: Option<SourceExpr<'a>>,
}

/// A column of an index, or an expression.
#[derive(Clone, Copy, Debug)]
pub struct IndexItem<'a> {
    /// The expression.
    pub expr: SourceExpr<'a>,
    /// The operator class, if it was named.
    pub class: Option<Path<'a>>,
    /// `DESC`
    pub descending: bool,
    /// `NULLS FIRST` or `NULLS LAST`, if it was said.
    pub nulls_first: Option<bool>,
}
