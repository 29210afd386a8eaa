//! Tables that are made.

use crate::catalog::definition::OnCommit;

use super::{ColumnDefinition, Name, Path, StorageOption, TableConstraint, TableSource};

/// `SELECT … INTO`
#[derive(Clone, Copy, Debug)]
pub struct SelectInto<'a> {
    /// The new table's name.
    pub path: Path<'a>,
    /// `TEMPORARY`
    pub temporary: bool,
    /// `UNLOGGED`
    pub unlogged: bool,
    /// Where the clause begins in the statement's text, and where it ends.
    pub clause: (u32, u32),
    /// The same of the query.
    pub range: (u32, u32),
}

impl SelectInto<'_> {
    /// The statement's text without the clause; places in it stay what they are.
    pub fn without_clause(&self, text: &str) -> String {
        let clause = self.clause.0 as usize..self.clause.1 as usize;
        let mut query = text.to_owned();
        query.replace_range(clause.clone(), &" ".repeat(clause.len()));
        query
    }
}

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
    /// `ON COMMIT`
    pub on_commit: Option<OnCommit>,
    /// Its columns.
    pub columns: &'a [ColumnDefinition<'a>],
    /// Tables whose columns it takes over.
    pub likes: &'a [Like<'a>],
    /// Its constraints.
    pub constraints: &'a [TableConstraint<'a>],
    /// `WITH (…)`
    pub options: &'a [StorageOption<'a>],
    /// `AS query`
    pub source: Option<TableSource<'a>>,
    /// `TABLESPACE`
    pub tablespace: Option<Name<'a>>,
}

/// `LIKE table INCLUDING …`
#[derive(Clone, Copy, Debug)]
pub struct Like<'a> {
    /// The table.
    pub path: Path<'a>,
    /// How many of the written columns stand before it.
    pub before: usize,
    /// What is taken over beside names, types and `NOT NULL`.
    pub including: Including,
}

/// What `LIKE` takes over beside names, types and `NOT NULL`.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "each is the word behind INCLUDING")]
pub struct Including {
    pub comments: bool,
    pub constraints: bool,
    pub defaults: bool,
    pub generated: bool,
    pub identity: bool,
    pub indexes: bool,
}
