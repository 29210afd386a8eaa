//! What the server knows of a table: columns, indexes, constraints, and where its rows are.
//!
//! A definition is a value that never changes: DDL makes a new one, under the same number. Binder and planner read it;
//! what an execution needs of it (storages, kinds, keys) is copied into the plan, so no execution reads a definition.
//!
//! Rules
//! 1. Columns are numbered from one, as users see them (`attnum`), and indexed from zero in code: `number = index + 1`.
//! 2. A dropped column keeps its place, because rows that are stored still have it.

use crate::types::{Oid, Type};
use base::{RelId, Xid};

/// What kind of relation a definition is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RelationKind {
    /// A table whose rows are stored.
    Table = b'r',
    /// A view: here, one whose rows the server makes.
    View = b'v',
}

/// Where a relation's rows are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rows {
    /// In a heap of pages.
    Stored(RelId),
    /// Made when they are read, by the provider of that index.
    Made(u32),
    /// There are none, ever: a catalog of something that the server has not.
    None,
}

/// A table, or a view of the system's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableDef {
    /// Its number.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Oid,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: RelationKind,
    /// Where its rows are.
    pub rows: Rows,
    /// The role that owns it.
    pub owner: Oid,
    /// Its columns, dropped ones included.
    pub columns: Vec<ColumnDef>,
    /// Its indexes.
    pub indexes: Vec<IndexDef>,
    /// Its constraints, but for `NOT NULL`.
    pub constraints: Vec<ConstraintDef>,
    /// Foreign keys of other tables that refer to this one.
    pub referenced_by: Vec<Referrer>,
    /// Storage options as they were written: `fillfactor=100`.
    pub options: Vec<(String, String)>,
    /// How many times the definition was changed; plans made from an older one are not used any more.
    pub version: u64,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnDef {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// True if null is not allowed.
    pub not_null: bool,
    /// The text of its default.
    pub default: Option<String>,
    /// True if it is gone.
    pub dropped: bool,
}

/// An index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexDef {
    /// Its number.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// Where its entries are.
    pub storage: RelId,
    /// True if no two rows may have the same key.
    pub unique: bool,
    /// True if it is the primary key's.
    pub primary: bool,
    /// The constraint that it belongs to.
    pub constraint: Option<Oid>,
    /// Its columns, in order.
    pub columns: Vec<IndexColumn>,
    /// Storage options as they were written.
    pub options: Vec<(String, String)>,
    /// The transaction that built it: it has no entries for versions that only older snapshots see.
    pub since: Xid,
    /// False for a statement whose snapshot is older than the index: it is kept up, and not searched.
    pub usable: bool,
}

/// A column of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexColumn {
    /// The table's column, counted from zero.
    pub column: u16,
    /// Sorted from the largest.
    pub descending: bool,
    /// Null before everything else.
    pub nulls_first: bool,
}

/// A constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstraintDef {
    /// Its number.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// What it demands.
    pub kind: ConstraintKind,
}

/// What a constraint demands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConstraintKind {
    /// The columns are unique and not null; by the index of that number.
    PrimaryKey(Oid),
    /// The columns are unique; by the index of that number.
    Unique(Oid),
    /// The expression is not false; its text.
    Check(String),
    /// The columns are a key of another table.
    ForeignKey(ForeignKey),
}

/// A foreign key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignKey {
    /// The columns that refer, counted from zero.
    pub columns: Vec<u16>,
    /// The table that is referred to.
    pub table: Oid,
    /// Its columns.
    pub referenced: Vec<u16>,
    /// Its index on them.
    pub index: Oid,
    /// What happens when the key changes.
    pub on_update: Action,
    /// What happens when the row goes away.
    pub on_delete: Action,
}

/// What happens to rows that refer to one that goes away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Action {
    /// An error at the statement's end.
    NoAction = b'a',
    /// An error at once.
    Restrict = b'r',
    /// They go too.
    Cascade = b'c',
    /// They refer to nothing.
    SetNull = b'n',
    /// They get their columns' defaults.
    SetDefault = b'd',
}

/// A foreign key of another table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Referrer {
    /// The table that refers.
    pub table: Oid,
    /// Its constraint.
    pub constraint: Oid,
}

impl TableDef {
    /// The columns that users see, with their indexes.
    pub fn visible(&self) -> impl Iterator<Item = (usize, &ColumnDef)> {
        self.columns.iter().enumerate().filter(|(_, column)| !column.dropped)
    }

    /// The index of the column of that name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.visible().find(|(_, column)| column.name == name).map(|(index, _)| index)
    }

    /// The index of that number.
    pub fn index(&self, oid: Oid) -> Option<&IndexDef> {
        self.indexes.iter().find(|index| index.oid == oid)
    }

    /// The index of the primary key.
    pub fn primary_key(&self) -> Option<&IndexDef> {
        self.indexes.iter().find(|index| index.primary)
    }
}
