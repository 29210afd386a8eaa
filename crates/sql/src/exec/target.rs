//! Tables that a statement changes, ready to be used, and how rows get into them.
//!
//! A new row goes into the heap first and then into every index; a unique index that has the key already says so, and the
//! statement's error takes the row away with it. One whose check may wait takes the key in any case, and is looked at later. An update that changes no indexed column and stays on its page leaves
//! the indexes alone.

use super::Exec;
use super::value::{Memory, Value};
use crate::key::{self, KeyColumn};
use crate::large::ROW_TARGET;
use crate::plan::blob::{At, Bytes, List};
use crate::plan::number;
use crate::plan::record::{IndexRecord, Modify, TableRecord, TriggerRecord};
use crate::row::{self, Shape};
use crate::types::{Datum, Kind, Oid};
use base::{RelId, Result};
use std::rc::Rc;
use storage::btree::{Btree, Inserted, Unique};
use storage::heap::{Changes, Heap, Pieces};
use storage::page::Tid;
use storage::relation::Relations;

/// Rows with no more columns than this are put together without an allocation.
const COLUMNS_SHORT: usize = 16;

/// A table that is changed.
pub(super) struct Target {
    /// Where its record is.
    pub(super) at: At,
    pub(super) record: TableRecord,
    pub(super) heap: Heap,
    /// Where its large values are.
    pub(super) pieces: Option<Pieces>,
    pub(super) shapes: row::Shapes,
    pub(super) indexes: Vec<Index>,
    /// In the order in which they fire.
    pub(super) triggers: Vec<TriggerRecord>,
}

/// One of its indexes.
pub(super) struct Index {
    pub(super) name: At,
    pub(super) oid: u32,
    pub(super) tree: Btree,
    pub(super) unique: bool,
    pub(super) columns: Vec<(u16, KeyColumn)>,
    /// The columns that decide about its entries.
    pub(super) reads: Vec<u16>,
    /// The same as bits.
    pub(super) mask: u32,
    /// Pushes the values of its expressions.
    keys: u32,
    /// The condition on the rows that it has entries for.
    filter: u32,
    /// The texts of its columns, where some are expressions or not all rows have entries.
    shown: At,
    /// Are nulls equal to one another?
    nulls_equal: bool,
    /// Its constraint, and whether the check of it may wait, as in its record.
    pub(super) constraint: u32,
    pub(super) deferral: u32,
}

/// The key of a row in an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowKey {
    /// The index has no entry for the row.
    None,
    /// No other row may have the key …
    Unique,
    /// … or any other may.
    Any,
}

/// A key that is there already: in which index, and the version that has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicate {
    pub(super) index: usize,
    pub(super) tid: Tid,
}

/// The columns of an index, from groups of column, kind and direction.
pub(super) fn index_columns(list: List<'_>) -> Vec<(u16, KeyColumn)> {
    list.groups::<3>()
        .map(|[column, kind, direction]| {
            let key =
                KeyColumn { kind: number::kind(kind), descending: direction & 1 == 1, nulls_first: direction & 2 == 2 };
            (column as u16, key)
        })
        .collect()
}

impl Index {
    fn uniqueness(&self, complete: bool) -> RowKey {
        // Nulls are not equal to each other, unless they are said to be.
        match self.unique && (complete || self.nulls_equal) {
            true => RowKey::Unique,
            false => RowKey::Any,
        }
    }
}

impl Target {
    fn new(bytes: Bytes<'_>, at: At, relations: &'static Relations) -> Target {
        let record = TableRecord::read(bytes, at);
        let indexes = bytes.list(At(record.indexes)).iter().map(|at| {
            let index = IndexRecord::read(bytes, At(at));
            Index {
                name: At(index.name),
                oid: index.oid,
                tree: relations.btree(RelId(index.storage)),
                unique: index.unique != 0,
                columns: index_columns(bytes.list(At(index.columns))),
                reads: bytes.list(At(index.reads)).iter().map(|column| column as u16).collect(),
                mask: index.mask,
                keys: index.keys,
                filter: index.filter,
                shown: At(index.shown),
                nulls_equal: index.nulls_equal != 0,
                constraint: index.constraint,
                deferral: index.deferral,
            }
        });
        Target {
            at,
            record,
            heap: relations.heap(RelId(record.storage)).with_fill_factor(record.fill),
            pieces: (record.pieces != 0).then(|| relations.pieces(RelId(record.pieces))),
            shapes: super::stored::shapes_of(bytes.list(At(record.kinds))),
            indexes: indexes.collect(),
            triggers: bytes.list(At(record.triggers)).iter().map(|at| TriggerRecord::read(bytes, At(at))).collect(),
        }
    }

    /// May a row of the table have a value in pieces?
    #[inline]
    pub(super) fn has_pieces(&self) -> Result<bool> {
        match &self.pieces {
            Some(pieces) => pieces.is_empty().map(|empty| !empty),
            None => Ok(false),
        }
    }

    /// How a column's values are represented.
    pub(super) fn kind(&self, column: u16) -> Kind {
        self.shapes[usize::from(column)].kind
    }

    /// What an update changes, where `changed` says it of a column. Only indexes with one of the `assigned` columns are asked.
    pub(super) fn changes(&self, assigned: u32, mut changed: impl FnMut(u16) -> bool) -> Changes {
        let mut changes = Changes { keys: false, indexed: false };
        let forgets = kernel::fault::planted("sql.forgotten_entry");
        for index in self.indexes.iter().filter(|index| index.unique || !forgets) {
            if index.mask & assigned != 0 && index.reads.iter().any(|column| changed(*column)) {
                changes.indexed = true;
                changes.keys |= index.unique;
            }
        }
        changes
    }
}

/// Makes a row's bytes of its values; false if the row is long, and its bytes are not complete then.
#[inline]
pub(super) fn encode_row(memory: &Memory<'_>, shapes: &[Shape], values: &[Value], out: &mut Vec<u8>) -> Result<bool> {
    out.clear();
    if values.len() <= COLUMNS_SHORT {
        let mut short = [Datum::Null; COLUMNS_SHORT];
        for (datum, value) in short.iter_mut().zip(values) {
            *datum = memory.datum(*value);
        }
        return row::encode_short(shapes, &short[..values.len()], ROW_TARGET, out);
    }
    let long: Vec<Datum<'_>> = values.iter().map(|value| memory.datum(*value)).collect();
    row::encode_short(shapes, &long, ROW_TARGET, out)
}

/// Makes the key that a row has in an index; false if a part of it is null.
pub(super) fn encode_key<'d>(
    columns: &[(u16, KeyColumn)],
    datum: impl Fn(u16) -> Datum<'d>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    out.clear();
    let mut complete = true;
    for (column, key) in columns {
        let datum = datum(*column);
        complete &= !datum.is_null();
        key::encode_column(*key, datum, out)?;
    }
    Ok(complete)
}

impl Exec<'_> {
    /// The table whose record is at a place of the plan.
    pub(super) fn target(&mut self, at: At) -> Result<Rc<Target>> {
        if let Some(target) = self.targets.iter().find(|target| target.at == at) {
            return Ok(target.clone());
        }
        let Some(tables) = &self.tables else { return Err(super::stored::no_tables()) };
        let target = Rc::new(Target::new(self.plan.bytes, at, tables.relations));
        self.targets.push(target.clone());
        Ok(target)
    }

    /// Puts a row into a table's heap.
    pub(super) fn put_row(&mut self, target: &Target, values: &[Value]) -> Result<Tid> {
        self.make_row(target, values, None)?;
        let Some(tables) = &self.tables else { return Err(super::stored::no_tables()) };
        target.heap.insert(tables.command(), &self.row_bytes)
    }

    /// Enters a row into the table's indexes. Stops where a unique one has the key already.
    pub(super) fn enter_row(&mut self, target: &Target, values: &[Value], tid: Tid) -> Result<Option<Duplicate>> {
        let Some(tables) = &self.tables else { return Err(super::stored::no_tables()) };
        let deadline = tables.deadline();
        for (number, index) in target.indexes.iter().enumerate() {
            let key = self.row_key(target, index, values)?;
            let unique = match key {
                RowKey::None => continue,
                RowKey::Unique if index.deferral == 0 => Unique::Check(&target.heap),
                RowKey::Unique | RowKey::Any => Unique::No,
            };
            match index.tree.insert(&self.key_bytes, tid, unique, deadline)? {
                Inserted::Done if index.deferral != 0 && key == RowKey::Unique => {
                    self.note_entered(target, number, values)?;
                }
                Inserted::Done => {}
                Inserted::Duplicate(tid) => return Ok(Some(Duplicate { index: number, tid })),
            }
        }
        Ok(None)
    }

    /// Makes the key of a row in an index, in `key_bytes`.
    #[inline]
    pub(super) fn row_key(&mut self, target: &Target, index: &Index, values: &[Value]) -> Result<RowKey> {
        if index.keys != 0 || index.filter != 0 {
            return self.computed_key(target, index, values);
        }
        let datum = |column: u16| self.memory.datum(values[usize::from(column)]);
        let complete = encode_key(&index.columns, datum, &mut self.key_bytes)?;
        Ok(index.uniqueness(complete))
    }

    /// Sets the registers from which what is computed of a row reads its values.
    pub(super) fn set_row(&mut self, target: &Target, values: &[Value]) {
        for [column, register] in self.plan.bytes.list(At(target.record.row)).groups::<2>() {
            self.registers[register as usize] = values[column as usize];
        }
    }

    /// The same for an index on expressions, or of some rows.
    fn computed_key(&mut self, target: &Target, index: &Index, values: &[Value]) -> Result<RowKey> {
        self.set_row(target, values);
        if !self.holds(index.filter)? {
            return Ok(RowKey::None);
        }
        let start = self.stack.len();
        let scratch = self.push(index.keys)?;
        let (width, computed) = (values.len(), &self.stack[start..]);
        let value = |column: u16| match usize::from(column) {
            column if column < width => values[column],
            column => computed.get(column - width).copied().unwrap_or_default(),
        };
        let encoded = encode_key(&index.columns, |column| self.memory.datum(value(column)), &mut self.key_bytes);
        self.stack.truncate(start);
        self.memory.scratch.truncate(scratch);
        Ok(index.uniqueness(encoded?))
    }

    /// `(lower(a), b)=(x, 1)`: what a row has in an index.
    pub(super) fn shown_entry(&mut self, target: &Target, index: &Index, values: &[Value]) -> Result<String> {
        let bytes = self.plan.bytes;
        if index.shown == At::NONE {
            let columns: Vec<u16> = index.columns.iter().map(|(column, _)| *column).collect();
            return Ok(self.shown_key(target, &columns, |at| self.memory.datum(values[usize::from(columns[at])])));
        }
        let start = self.stack.len();
        let scratch = self.push(index.keys)?;
        let mut shown = Vec::with_capacity(index.columns.len());
        for (column, key) in &index.columns {
            let value = match usize::from(*column) {
                column if column < values.len() => values[column],
                column => self.stack.get(start + column - values.len()).copied().unwrap_or_default(),
            };
            shown.push(self.shown(key.kind, self.memory.datum(value)));
        }
        self.stack.truncate(start);
        self.memory.scratch.truncate(scratch);
        let names: Vec<&str> = bytes.list(index.shown).iter().map(|at| bytes.text(At(at))).collect();
        Ok(format!("({})=({})", names.join(", "), shown.join(", ")))
    }

    /// Makes the key of a stored row in an index of the table that the plan inserts into.
    pub fn stored_key(&mut self, index: Oid, row: &[u8], out: &mut Vec<u8>) -> Result<RowKey> {
        let record = Modify::read(self.plan.bytes, self.root);
        let target = self.target(At(record.table))?;
        let Some(index) = target.indexes.iter().find(|known| known.oid == index.0) else { return Ok(RowKey::None) };
        self.memory.parameters.clear();
        let values = self.values_of(&target, row)?;
        let key = self.row_key(&target, index, &values)?;
        out.extend_from_slice(&self.key_bytes);
        Ok(key)
    }

    /// What a stored row has in an index, for people.
    pub fn shown_stored(&mut self, index: Oid, row: &[u8]) -> Result<String> {
        let record = Modify::read(self.plan.bytes, self.root);
        let target = self.target(At(record.table))?;
        let Some(index) = target.indexes.iter().find(|known| known.oid == index.0) else { return Ok(String::new()) };
        let values = self.values_of(&target, row)?;
        self.computed_key(&target, index, &values)?;
        self.shown_entry(&target, index, &values)
    }

    /// Puts a row into a table and all its indexes.
    pub(super) fn insert_row(&mut self, target: &Target, values: &[Value]) -> Result<Tid> {
        let tid = self.put_row(target, values)?;
        match self.enter_row(target, values, tid)? {
            None => Ok(tid),
            Some(duplicate) => Err(self.duplicate_key(target, duplicate.index, values)),
        }
    }
}
