//! Tables that a statement changes, ready to be used, and how rows get into them.
//!
//! A new row goes into the heap first and then into every index; a unique index that has the key already says so, and the
//! statement's error takes the row away with it. An update that changes no indexed column and stays on its page leaves
//! the indexes alone.

use super::Exec;
use super::value::{Memory, Value};
use crate::key::{self, KeyColumn};
use crate::plan::blob::{At, Bytes, List};
use crate::plan::number;
use crate::plan::record::{IndexRecord, TableRecord};
use crate::row::{self, Shape};
use crate::types::{Datum, Kind};
use base::{RelId, Result};
use std::rc::Rc;
use storage::btree::{Btree, Inserted, Unique};
use storage::heap::{Changes, Heap};
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
    pub(super) shapes: row::Shapes,
    pub(super) indexes: Vec<Index>,
}

/// One of its indexes.
pub(super) struct Index {
    pub(super) name: At,
    pub(super) oid: u32,
    pub(super) tree: Btree,
    pub(super) unique: bool,
    pub(super) columns: Vec<(u16, KeyColumn)>,
    /// Its columns as bits.
    pub(super) mask: u32,
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
                mask: index.mask,
            }
        });
        Target {
            at,
            record,
            heap: relations.heap(RelId(record.storage)).with_fill_factor(record.fill),
            shapes: super::stored::shapes_of(bytes.list(At(record.kinds))),
            indexes: indexes.collect(),
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
            if index.mask & assigned != 0 && index.columns.iter().any(|(column, _)| changed(*column)) {
                changes.indexed = true;
                changes.keys |= index.unique;
            }
        }
        changes
    }
}

/// Makes a row's bytes of its values.
pub(super) fn encode_row(memory: &Memory<'_>, shapes: &[Shape], values: &[Value], out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    if values.len() <= COLUMNS_SHORT {
        let mut short = [Datum::Null; COLUMNS_SHORT];
        for (datum, value) in short.iter_mut().zip(values) {
            *datum = memory.datum(*value);
        }
        return row::encode(shapes, &short[..values.len()], out);
    }
    let long: Vec<Datum<'_>> = values.iter().map(|value| memory.datum(*value)).collect();
    row::encode(shapes, &long, out)
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
        encode_row(&self.memory, &target.shapes, values, &mut self.row_bytes)?;
        let Some(tables) = &self.tables else { return Err(super::stored::no_tables()) };
        target.heap.insert(tables.command(), &self.row_bytes)
    }

    /// Enters a row into the table's indexes. Stops where a unique one has the key already.
    pub(super) fn enter_row(&mut self, target: &Target, values: &[Value], tid: Tid) -> Result<Option<Duplicate>> {
        let Some(tables) = &self.tables else { return Err(super::stored::no_tables()) };
        let deadline = tables.deadline();
        for (number, index) in target.indexes.iter().enumerate() {
            let datum = |column: u16| self.memory.datum(values[usize::from(column)]);
            let complete = encode_key(&index.columns, datum, &mut self.key_bytes)?;
            // Nulls are never equal to each other.
            let unique = if index.unique && complete { Unique::Check(&target.heap) } else { Unique::No };
            match index.tree.insert(&self.key_bytes, tid, unique, deadline)? {
                Inserted::Done => {}
                Inserted::Duplicate(tid) => return Ok(Some(Duplicate { index: number, tid })),
            }
        }
        Ok(None)
    }

    /// Puts a row into a table and all its indexes.
    pub(super) fn insert_row(&mut self, target: &Target, values: &[Value]) -> Result<()> {
        let tid = self.put_row(target, values)?;
        match self.enter_row(target, values, tid)? {
            None => Ok(()),
            Some(duplicate) => Err(self.duplicate_key(target, duplicate.index, values)),
        }
    }
}
