//! What a statement does with the tables that it names: what privileges it takes to execute it.
//!
//! Noted while names are bound, as PostgreSQL does it: a column that is named is read, wherever it is named and whether or not anybody
//! needs its value. What is stored with a table (defaults, checks, generated columns) names columns without reading them in this sense.
//!
//! Rules
//! 1. What a view reads is read with its owner's privileges, unless it is the invoker's. Of a view that rows are written through it takes
//!    privileges on the whole.
//! 2. Nothing is refused here: a plan may be another role's, and privileges change while it stays. An execution looks
//!    ([`crate::session`]).

use super::Binder;
use super::tree::{Expr, ExprKind, RelationId, TABLE_OID};
use crate::catalog::privilege::{INSERT, Rights, SELECT, UPDATE};
use crate::types::{Oid, Type};
use std::collections::{BTreeMap, BTreeSet};

/// What a statement does with a table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// The table.
    pub table: Oid,
    /// Whose privileges count; none for those of whoever executes.
    pub role: Oid,
    /// The privileges that it takes, on the table or on the columns.
    pub rights: Rights,
    /// The columns that are read, counted from zero; none where only rows are.
    pub selected: BTreeSet<u16>,
    /// The columns that get values of new rows.
    pub inserted: BTreeSet<u16>,
    /// The columns that get other values.
    pub updated: BTreeSet<u16>,
}

/// What a statement does with its tables.
#[derive(Debug, Default)]
pub struct Accesses {
    list: Vec<Access>,
    of: BTreeMap<RelationId, usize>,
    /// The views through which a table is written.
    through: BTreeMap<usize, Vec<usize>>,
    /// Columns that are named are not read.
    pub(super) paused: bool,
}

impl Accesses {
    /// Each table once for each role whose privileges count.
    pub fn merged(&self) -> Vec<Access> {
        let mut merged: Vec<Access> = Vec::with_capacity(self.list.len());
        for access in self.list.iter().filter(|access| access.rights != 0) {
            match merged.iter_mut().find(|known| (known.table, known.role) == (access.table, access.role)) {
                Some(known) => {
                    known.rights |= access.rights;
                    known.selected.extend(&access.selected);
                    known.inserted.extend(&access.inserted);
                    known.updated.extend(&access.updated);
                }
                None => merged.push(access.clone()),
            }
        }
        merged
    }
}

impl Binder<'_> {
    /// Something is named of which it is not known yet what is done with it; answers its place in the list.
    pub(super) fn new_access(&mut self, table: Oid) -> usize {
        let accesses = &mut self.bound.accesses;
        accesses.list.push(Access { table, role: self.acting, ..Access::default() });
        accesses.list.len() - 1
    }

    /// A relation has the rows of what was named.
    pub(super) fn begin_access(&mut self, relation: RelationId, at: usize) {
        self.bound.accesses.of.insert(relation, at);
    }

    /// A relation has rows of the same table as another.
    pub(super) fn share_access(&mut self, relation: RelationId, with: RelationId) {
        if let Some(&at) = self.bound.accesses.of.get(&with) {
            self.bound.accesses.of.insert(relation, at);
        }
    }

    /// What is done with a table is done through a view, too.
    pub(super) fn access_through(&mut self, relation: RelationId, view: usize) {
        let accesses = &mut self.bound.accesses;
        if let Some(&at) = accesses.of.get(&relation) {
            accesses.through.entry(at).or_default().push(view);
        }
    }

    /// Something is done with a table. `note` notes columns; of a view through which it is done they stand for the whole.
    fn note_access(&mut self, relation: RelationId, note: impl Fn(&mut Access, &[u16]), columns: &[u16]) {
        let accesses = &mut self.bound.accesses;
        let Some(&at) = accesses.of.get(&relation) else { return };
        note(&mut accesses.list[at], columns);
        let whole: &[u16] = if columns.is_empty() { &[] } else { &[TABLE_OID] };
        for &view in accesses.through.get(&at).map_or(&[][..], |views| views) {
            note(&mut accesses.list[view], whole);
        }
    }

    /// Something is done with a table.
    pub(super) fn needs(&mut self, relation: RelationId, rights: Rights) {
        self.note_access(relation, |access, _| access.rights |= rights, &[]);
    }

    /// Columns get values of new rows.
    pub(super) fn note_inserted(&mut self, relation: RelationId, columns: &[usize]) {
        let columns: Vec<u16> = columns.iter().map(|column| *column as u16).collect();
        let note = |access: &mut Access, columns: &[u16]| {
            access.rights |= INSERT;
            access.inserted.extend(columns);
        };
        self.note_access(relation, note, &columns);
    }

    /// A column gets other values.
    pub(super) fn note_updated(&mut self, relation: RelationId, column: usize) {
        let note = |access: &mut Access, columns: &[u16]| {
            access.rights |= UPDATE;
            access.updated.extend(columns);
        };
        self.note_access(relation, note, &[column as u16]);
    }

    /// The number of the table that a row is of, which is read.
    pub(super) fn table_oid(&mut self, relation: RelationId) -> Expr {
        let column = Expr::column(relation, TABLE_OID, Type::plain(Oid::OID));
        self.note_read(&column);
        column
    }

    /// Columns are read.
    pub(super) fn note_read(&mut self, expr: &Expr) {
        if self.bound.accesses.paused {
            return;
        }
        let mut read: Vec<(RelationId, u16)> = Vec::new();
        expr.any(&mut |part| {
            if let ExprKind::Column(column) = part.kind {
                read.push((column.relation, column.column));
            }
            false
        });
        let note = |access: &mut Access, columns: &[u16]| {
            access.rights |= SELECT;
            access.selected.extend(columns);
        };
        for (relation, column) in read {
            self.note_access(relation, note, &[column]);
        }
    }
}
