//! Rows of a table by a key of some of its columns: what the checks of foreign keys look for, from both sides.
//!
//! Rules
//! 1. A row that is needed is held `FOR KEY SHARE`, so that it stays until the transaction ends.
//! 2. A row that somebody has ended meanwhile may have come back at another place: all is looked for again.

use super::access::Tables;
use super::stored::shapes_of;
use super::target::{encode_key, index_columns};
use crate::catalog::definition::{IndexDef, Rows, TableDef};
use crate::key::{self, KeyColumn};
use crate::large;
use crate::plan::blob::{At, Bytes, get_value};
use crate::plan::record::ReferenceRecord;
use crate::row::{self, Row};
use crate::types::{Datum, Kind, table};
use base::{RelId, Result};
use std::ops::Bound;
use storage::Snapshot;
use storage::btree::{Btree, Direction};
use storage::heap::{Batch, Fetched, Heap, Isolation, Outcome, Reader, RowWait, Writer};
use storage::page::Tid;
use storage::relation::Relations;
use storage::txn::Strength;

/// What came of holding a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    Yes,
    /// The statement itself has ended it.
    No,
    /// Somebody has ended it meanwhile.
    Again,
}

/// A table of a foreign key, ready to be looked into.
pub(crate) struct Keyed {
    pub(super) heap: Heap,
    pub(super) shapes: row::Shapes,
    /// Its index, with the place of each of the index's columns in the key; none if it has to be scanned.
    pub(super) index: Option<(Btree, Vec<(u16, KeyColumn)>)>,
    /// Its columns, in the order of the key.
    pub(super) columns: Vec<u16>,
    pub(super) kinds: Vec<Kind>,
}

impl Keyed {
    /// The other table of a foreign key in a plan.
    pub(super) fn of_record(relations: &'static Relations, bytes: Bytes<'_>, reference: &ReferenceRecord) -> Keyed {
        let columns: Vec<u16> = bytes.list(At(reference.other_columns)).iter().map(|column| column as u16).collect();
        let shapes = shapes_of(bytes.list(At(reference.kinds)));
        let index = (reference.index != 0).then(|| {
            let tree = relations.btree(RelId(reference.index));
            (tree, places(index_columns(bytes.list(At(reference.index_columns))), &columns))
        });
        Keyed {
            heap: relations.heap(RelId(reference.storage)),
            kinds: columns.iter().map(|&column| shapes[usize::from(column)].kind).collect(),
            shapes,
            index,
            columns,
        }
    }

    /// A table and some of its columns, by its definition; none if its rows are not stored.
    pub(crate) fn of_table(relations: &'static Relations, def: &TableDef, columns: &[u16]) -> Option<Keyed> {
        let Rows::Stored(storage) = def.rows else { return None };
        let shapes = row::shapes(def.columns.iter().map(|column| table::kind(column.ty.oid)));
        let begins = |index: &&IndexDef| {
            let known = index.key_columns().unwrap_or_default();
            known.len() >= columns.len() && known[..columns.len()].iter().all(|column| columns.contains(column))
        };
        let index = def.indexes.iter().find(begins).map(|index| {
            let part = |(at, part): (usize, &crate::catalog::definition::IndexColumn)| {
                let kind = table::kind(index.column_type(def, at).oid);
                let key = KeyColumn { kind, descending: part.descending, nulls_first: part.nulls_first };
                (part.column.unwrap_or(u16::MAX), key)
            };
            let parts = index.columns.iter().enumerate().map(part).collect();
            (relations.btree(index.storage), places(parts, columns))
        });
        Some(Keyed {
            heap: relations.heap(storage),
            kinds: columns.iter().map(|&column| shapes[usize::from(column)].kind).collect(),
            shapes,
            index,
            columns: columns.to_vec(),
        })
    }

    /// How the values of the key are represented.
    pub(crate) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Has a row that key? Nothing is latched.
    fn matches(&self, row: &[u8], key: &[Datum<'_>]) -> Result<bool> {
        let is_key = |column: usize| self.columns.iter().any(|known| usize::from(*known) == column);
        let row = large::unpacked(self.heap.relations(), &self.shapes, row, is_key)?;
        let row = Row::new(&row)?;
        for ((&column, &kind), value) in self.columns.iter().zip(&self.kinds).zip(key) {
            let datum = row.get(&self.shapes, column.into())?;
            if datum.is_null() || !crate::types::compare::equal(kind, datum, *value) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Reads a key that was put away.
pub(crate) fn key_values<'k>(kinds: &[Kind], bytes: &'k [u8]) -> Result<Vec<Datum<'k>>> {
    let mut at = 0;
    let mut values = Vec::with_capacity(kinds.len());
    for kind in kinds {
        let (value, end) = get_value(*kind, bytes, at)?;
        values.push(value);
        at = end;
    }
    Ok(values)
}

/// An index's columns that are in a key, each with its place in the key instead of its number.
pub(super) fn places(index: Vec<(u16, KeyColumn)>, columns: &[u16]) -> Vec<(u16, KeyColumn)> {
    index
        .into_iter()
        .map_while(|(column, key)| {
            let place = columns.iter().position(|&other| other == column)?;
            Some((place as u16, key))
        })
        .collect()
}

impl Tables<'_> {
    /// Takes a snapshot of now that sees what the statement has done, and uses it. At `REPEATABLE READ` the transaction's is used,
    /// unless it has to be the `latest`.
    pub(crate) fn with_latest<R>(
        &mut self,
        latest: bool,
        run: impl FnOnce(&mut Self, Snapshot) -> Result<R>,
    ) -> Result<R> {
        let after = self.after();
        if !latest && self.isolation == Isolation::RepeatableRead {
            return run(self, after);
        }
        let transactions = self.relations.storage().transactions;
        let snapshot = transactions.snapshot();
        let result = run(self, snapshot.at_command(after.own, after.command));
        transactions.release(snapshot);
        result
    }

    /// The rows of a table that have a key and that the snapshot sees: their places.
    pub(crate) fn rows_with_key(&self, keyed: &Keyed, key: &[Datum<'_>], snapshot: &Snapshot) -> Result<Vec<Tid>> {
        let reader = Reader { snapshot, pairs: self.pairs.pairs() };
        let mut found = Vec::new();
        match &keyed.index {
            Some((tree, columns)) => {
                let mut low = Vec::new();
                encode_key(columns, |at| key[usize::from(at)], &mut low)?;
                let mut high = low.clone();
                let to = if key::prefix_end(&mut high) { Bound::Excluded(&high[..]) } else { Bound::Unbounded };
                let mut cursor = tree.scan((Bound::Included(&low[..]), to), Direction::Forward, false);
                while let Some(tid) = tree.next(&mut cursor)? {
                    if let Fetched::Row(tid) = keyed.heap.fetch(&reader, tid, |tid, _| tid)? {
                        found.push(tid);
                    }
                }
            }
            None => {
                let mut scan = keyed.heap.scan()?;
                let mut batch = Batch::new();
                while keyed.heap.next_page(&mut scan, &reader, &mut batch)? {
                    for (tid, row) in batch.rows() {
                        if keyed.matches(row, key)? {
                            found.push(tid);
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// Holds a row with a key, so that it stays until the transaction ends.
    fn hold(&mut self, keyed: &Keyed, tid: Tid, key: &[Datum<'_>], snapshot: &Snapshot) -> Result<Held> {
        let (isolation, deadline) = (self.isolation, self.deadline());
        let writer = Writer { snapshot, isolation, pairs: &mut *self.pairs, deadline };
        Ok(match keyed.heap.lock(&writer, tid, Strength::KeyShare, RowWait::Wait)? {
            Outcome::Done { .. } => Held::Yes,
            Outcome::Changed { row, .. } if keyed.matches(&row, key)? => Held::Yes,
            Outcome::Changed { .. } | Outcome::Gone | Outcome::Busy => Held::Again,
            Outcome::Own(_) => Held::No,
        })
    }

    /// Is there a row with a key? If so it stays until the transaction ends.
    pub(crate) fn is_there(&mut self, keyed: &Keyed, key: &[Datum<'_>]) -> Result<bool> {
        loop {
            let found = self.with_latest(false, |tables, snapshot| {
                let rows = tables.rows_with_key(keyed, key, &snapshot)?;
                let mut again = false;
                for &tid in &rows {
                    match tables.hold(keyed, tid, key, &snapshot)? {
                        Held::Yes => return Ok(Some(true)),
                        Held::No => {}
                        Held::Again => again = true,
                    }
                }
                Ok(if again { None } else { Some(false) })
            })?;
            if let Some(found) = found {
                return Ok(found);
            }
            kernel::session::check_interrupts()?;
        }
    }

    /// The rows that have a key now, whatever the transaction sees; of those that are to be `held` one, if it could be.
    pub(crate) fn rows_of_now(&mut self, keyed: &Keyed, key: &[Datum<'_>], held: bool) -> Result<Vec<Tid>> {
        self.with_latest(true, |tables, snapshot| {
            let mut rows = tables.rows_with_key(keyed, key, &snapshot)?;
            if held {
                let mut is_held = false;
                for &tid in &rows {
                    is_held = tables.hold(keyed, tid, key, &snapshot)? == Held::Yes;
                    if is_held {
                        break;
                    }
                }
                rows.truncate(usize::from(is_held));
            }
            Ok(rows)
        })
    }
}
