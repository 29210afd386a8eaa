//! Rows of stored tables: by a scan of the heap, and by an index.
//!
//! Rules
//! 1. Nothing is latched while an expression is computed: a sequential scan copies a page's rows into its buffer, an index scan copies
//!    the values that are read of its row, or the rows of a run ([`run`](super::run)), and only then conditions are tested. What a condition of a sequential scan does not read is
//!    looked for in rows only for which it holds.
//! 2. A scan that begins again (the inner side of a loop) keeps what does not depend on the rows around it.
//! 3. An index finds what its conditions say exactly; nothing of them is tested again. Null is found by no condition.
//! 4. Where the index has all that is read of its rows, and a row's page is known to have only rows that everybody sees
//!    ([`storage::relation::sight`]), the row is not looked at.
//! 5. Entries that lead to nothing are marked on the way ([`Fetched::Dead`]).

use super::run::Run;
use super::value::{BUFFER_BYTES_MAX, Memory, Value};
use super::{Exec, State};
use crate::key::{self, KeyColumn};
use crate::large;
use crate::plan::blob::{At, List};
use crate::plan::number;
use crate::plan::record::{IndexScan, SeqScan};
use crate::row::{self, Row, Shape, Stored};
use crate::types::{Arena, Datum, Oid};
use base::{Error, RelId, Result, sqlstate};
use smallvec::SmallVec;
use std::ops::{Bound, Range};
use storage::btree::{Btree, Cursor, Direction, Matches};
use storage::heap::{Batch, Fetched, Heap, Scan};
use storage::page::Tid;
use storage::relation::Relations;
use storage::relation::counts::Read;
use storage::relation::sight::Sight;

/// Flags of [`IndexScan`].
const LOW_OUT: u32 = 1;
const HIGH_OUT: u32 = 2;
const BACKWARD: u32 = 4;
pub(super) const SINGLE: u32 = 8;
pub(super) const ONLY: u32 = 16;

/// Room for a key, which most do not fill.
const KEY_BYTES: usize = 64;

/// No value's key begins with a byte below this, but a null that comes first does.
const FIRST_VALUE: u8 = 0x01;
/// The first byte of a null that comes last.
const NULL_LAST: u8 = 0xFF;

/// How far a scan of a heap has come.
pub(super) struct SeqState {
    heap: Heap,
    shapes: row::Shapes,
    /// None before it begins.
    scan: Option<Scan>,
    batch: Batch,
    at: usize,
    /// How many bytes the page's rows have.
    page_bytes: usize,
    /// What was read.
    read: Read,
}

impl Drop for SeqState {
    fn drop(&mut self) {
        self.heap.relations().has_read(self.heap.rel(), self.read);
    }
}

/// How far a scan by an index has come.
pub(super) struct IndexState {
    /// The node's record.
    record: IndexScan,
    heap: Heap,
    index: Btree,
    shapes: row::Shapes,
    key: Key,
    /// The key that is looked for, or the range's lower end; and its upper end.
    low: Vec<u8>,
    high: Vec<u8>,
    place: Place,
    run: Run,
    /// Where the index has all that is read: which pages are known, and where values lie that its keys have in another form.
    sight: Option<Sight>,
    types: SmallVec<[Oid; 4]>,
    arena: Arena,
    /// What was read of the index, and of the table by it.
    read: Read,
    index_rel: RelId,
}

impl Drop for IndexState {
    fn drop(&mut self) {
        self.heap.relations().has_read(self.index_rel, self.read);
    }
}

/// Where a scan by an index is.
enum Place {
    /// Before its beginning.
    New,
    /// Among the entries of one key.
    Among(Matches, usize),
    /// In a range.
    Range(Box<Cursor>),
    /// At its end.
    Done,
}

/// What a scan by an index has come to.
enum Next {
    /// A row, in the registers.
    Row,
    /// A run of rows, to be given one by one.
    Run,
    /// Its end.
    End,
}

/// A row's place as a value.
#[inline]
pub(super) fn tid_value(tid: Tid) -> Value {
    Value::Int(i64::from(tid.block) << 16 | i64::from(tid.slot))
}

/// The place that a value is.
#[inline]
pub(super) fn tid_of(value: Value) -> Option<Tid> {
    match value {
        Value::Int(number) => Some(Tid::new((number >> 16) as u32, number as u16)),
        _ => None,
    }
}

/// What a plan that reads tables hears where there are none.
#[cold]
pub(super) fn no_tables() -> Error {
    Error::statement(sqlstate::INTERNAL_ERROR, "a statement that uses stored tables is executed without them")
}

/// Sets registers from a stored row; bytes are copied into a buffer, whose content before is given up. Nothing is latched if the row has
/// packed values.
#[inline]
pub(super) fn load_row(
    relations: &'static Relations,
    memory: &mut Memory<'_>,
    registers: &mut [Value],
    (buffer, columns, shapes): (u32, List<'_>, &[Shape]),
    row: &[u8],
) -> Result<()> {
    memory.buffers[buffer as usize].clear();
    let row = Row::new(row)?;
    if row.has_packed() {
        return load_packed(relations, memory, registers, (buffer, columns, shapes), row);
    }
    row.each(shapes, columns.groups::<2>(), |register, datum| {
        registers[register as usize] = memory.to_buffer(buffer, datum)?;
        Ok(())
    })
}

/// Sets registers from a stored row whose bytes lie in a buffer, and stay there. Values that are kept elsewhere come behind them.
#[inline]
fn load_place(
    relations: &'static Relations,
    memory: &mut Memory<'_>,
    registers: &mut [Value],
    (buffer, columns, shapes): (u32, List<'_>, &[Shape]),
    place: Range<usize>,
) -> Result<()> {
    let row = Row::new(&memory.buffers[buffer as usize][place.clone()])?;
    if row.has_packed() {
        // The buffer grows while values are read.
        let bytes = memory.buffers[buffer as usize][place].to_vec();
        return load_packed(relations, memory, registers, (buffer, columns, shapes), Row::new(&bytes)?);
    }
    row.each(shapes, columns.groups::<2>(), |register, datum| {
        registers[register as usize] = memory.part_of(buffer, datum);
        Ok(())
    })
}

#[cold]
fn load_packed(
    relations: &'static Relations,
    memory: &mut Memory<'_>,
    registers: &mut [Value],
    (buffer, columns, shapes): (u32, List<'_>, &[Shape]),
    row: Row<'_>,
) -> Result<()> {
    for [column, register] in columns.groups::<2>() {
        registers[register as usize] = match row.stored(shapes, column as usize)? {
            Stored::Plain(datum) => memory.to_buffer(buffer, datum)?,
            Stored::Packed(packed) => {
                let bytes = &mut memory.buffers[buffer as usize];
                let (start, length) = (bytes.len(), large::length(packed)?);
                if start + length > BUFFER_BYTES_MAX {
                    return Err(Error::out_of_memory("a statement's rows", length));
                }
                large::load(relations, packed, bytes)?;
                Memory::part(buffer, start, length)
            }
        };
    }
    Ok(())
}

/// What is read of a relation is counted from now on.
#[inline]
fn begun(relations: &'static Relations, rel: u32) -> Result<Read> {
    relations.begin_to_read(RelId(rel)).map(|()| Read::default())
}

/// The shapes of a table's columns, from a list of their kinds.
pub(super) fn shapes_of(kinds: List<'_>) -> row::Shapes {
    row::shapes(kinds.iter().map(number::kind))
}

/// The columns of an index.
pub(super) type Key = SmallVec<[KeyColumn; 4]>;

/// The columns of an index, from a list of kinds with directions above them.
fn key_columns(list: List<'_>) -> Key {
    list.iter()
        .map(|word| KeyColumn {
            kind: number::kind(word & 0xFF),
            descending: word >> 8 & 1 == 1,
            nulls_first: word >> 9 & 1 == 1,
        })
        .collect()
}

impl Exec<'_> {
    pub(super) fn seq_scan(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = SeqScan::read(bytes, node);
        let mut state = match self.take(node) {
            State::Seq(state) => state,
            _ => {
                let Some(tables) = &self.tables else { return Err(no_tables()) };
                Box::new(SeqState {
                    heap: tables.relations.heap(RelId(record.storage)),
                    shapes: shapes_of(bytes.list(At(record.kinds))),
                    scan: None,
                    batch: Batch::new(),
                    at: 0,
                    page_bytes: 0,
                    read: begun(tables.relations, record.storage)?,
                })
            }
        };
        let found = self.next_of_heap(&record, &mut state);
        self.put(node, State::Seq(state));
        found
    }

    fn next_of_heap(&mut self, record: &SeqScan, state: &mut SeqState) -> Result<bool> {
        let columns = self.plan.bytes.list(At(record.columns));
        let late = self.plan.bytes.list(At(record.late));
        loop {
            while state.at < state.batch.len() {
                let (tid, place) = state.batch.place(state.at);
                state.at += 1;
                self.breath()?;
                let relations = state.heap.relations();
                let (memory, registers) = (&mut self.memory, &mut self.registers);
                // Behind the page are large values of the row before.
                memory.buffers[record.buffer as usize].truncate(state.page_bytes);
                let read = (record.buffer, columns, &state.shapes[..]);
                load_place(relations, memory, registers, read, place.clone())?;
                self.set(record.row_register, tid_value(tid));
                self.set(record.table_register, Value::Int(record.table.into()));
                if self.holds(record.filter)? {
                    if record.late != 0 {
                        let (memory, registers) = (&mut self.memory, &mut self.registers);
                        let read = (record.buffer, late, &state.shapes[..]);
                        load_place(relations, memory, registers, read, place)?;
                    }
                    return Ok(true);
                }
            }
            let Some(tables) = &self.tables else { return Err(no_tables()) };
            if state.scan.is_none() {
                state.scan = Some(state.heap.scan()?);
                state.read.scans += 1;
            }
            let Some(scan) = &mut state.scan else { return Ok(false) };
            state.at = 0;
            let more = state.heap.next_page(scan, &tables.reader(), &mut state.batch)?;
            state.read.returned += state.batch.len() as u64;
            // The page's rows lie in the node's buffer as long as they are given.
            let buffer = &mut self.memory.buffers[record.buffer as usize];
            std::mem::swap(state.batch.bytes_mut(), buffer);
            state.page_bytes = buffer.len();
            if !more {
                return Ok(false);
            }
        }
    }

    pub(super) fn index_scan(&mut self, node: At) -> Result<bool> {
        let index = self.state_of(node);
        loop {
            if self.next_of_run(index)? {
                return Ok(true);
            }
            let mut state = match self.take(node) {
                State::Index(state) => state,
                _ => Box::new(self.new_index_scan(IndexScan::read(self.plan.bytes, node))?),
            };
            let record = state.record;
            let next = self.next_by_index(node, &record, &mut state);
            self.put(node, State::Index(state));
            match next? {
                Next::Row => return Ok(true),
                Next::Run => {}
                Next::End => return Ok(false),
            }
        }
    }

    /// Sets registers from the next row of a run that was read; false if there is none.
    #[inline]
    fn next_of_run(&mut self, index: usize) -> Result<bool> {
        while let State::Index(state) = &mut self.states[index]
            && let Some((tid, place)) = state.run.next()
        {
            state.read.returned += 1;
            state.read.fetched += 1;
            let IndexScan { buffer, columns, filter, row_register, table_register, table, .. } = state.record;
            // Behind the rows are large values of the one before.
            self.memory.buffers[buffer as usize].truncate(state.run.bytes());
            let wanted = (buffer, self.plan.bytes.list(At(columns)), &state.shapes[..]);
            load_place(state.heap.relations(), &mut self.memory, &mut self.registers, wanted, place)?;
            self.set(row_register, tid_value(tid));
            self.set(table_register, Value::Int(table.into()));
            self.breath()?;
            if self.holds(filter)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn new_index_scan(&self, record: IndexScan) -> Result<IndexState> {
        let bytes = self.plan.bytes;
        let Some(tables) = &self.tables else { return Err(no_tables()) };
        Ok(IndexState {
            record,
            heap: tables.relations.heap(RelId(record.storage)),
            index: tables.relations.btree(RelId(record.index)),
            shapes: shapes_of(bytes.list(At(record.kinds))),
            key: key_columns(bytes.list(At(record.key))),
            low: Vec::with_capacity(KEY_BYTES),
            high: Vec::new(),
            place: Place::New,
            run: Run::default(),
            read: begun(tables.relations, record.index)?,
            index_rel: RelId(record.index),
            sight: None,
            types: bytes.list(At(record.entry_types)).iter().map(Oid).collect(),
            arena: Arena::new(),
        })
    }

    /// Finds the next row, or reads the next run of rows.
    fn next_by_index(&mut self, node: At, record: &IndexScan, state: &mut IndexState) -> Result<Next> {
        if matches!(state.place, Place::New) {
            state.read.scans += 1;
            // Before the index is looked at.
            state.sight = if record.flags & ONLY != 0 { Some(state.heap.sight()?) } else { None };
            state.place = self.begin_index_scan(record, state)?;
        }
        loop {
            let tid = match &mut state.place {
                Place::New | Place::Done => return Ok(Next::End),
                Place::Among(found, at) => match found.tids().get(*at) {
                    Some(tid) => {
                        *at += 1;
                        *tid
                    }
                    None => return Ok(Next::End),
                },
                Place::Range(cursor) => match state.index.next(cursor)? {
                    Some(tid) => tid,
                    None => {
                        state.place = Place::Done;
                        return Ok(Next::End);
                    }
                },
            };
            if let (Place::Range(cursor), None) = (&mut state.place, state.sight) {
                let Some(tables) = &self.tables else { return Err(no_tables()) };
                let into = (&mut self.memory, record.buffer);
                if state.run.read((&state.heap, &tables.reader()), cursor, tid, into)? {
                    return Ok(Next::Run);
                }
            }
            self.breath()?;
            state.read.returned += 1;
            if let Some(sight) = state.sight {
                if sight.knows(tid.block) {
                    self.load_entry(record, state)?;
                    self.set(record.table_register, Value::Int(record.table.into()));
                    if record.flags & SINGLE != 0 && matches!(state.place, Place::Among(..)) {
                        state.place = Place::Done;
                    }
                    if self.holds(record.filter)? {
                        return Ok(Next::Row);
                    }
                    continue;
                }
                sight.prepare(tid.block);
                self.watch_fetched(node);
            }
            match self.fetch_behind(record, (state.heap, &state.shapes, state.sight.as_ref()), tid)? {
                Fetched::Row(()) => {}
                Fetched::Invisible => continue,
                Fetched::Dead => {
                    match &mut state.place {
                        Place::Among(found, _) => state.index.kill(&state.low, tid, found)?,
                        Place::Range(cursor) => cursor.kill(),
                        Place::New | Place::Done => {}
                    }
                    continue;
                }
            }
            state.read.fetched += 1;
            if record.flags & SINGLE != 0 && matches!(state.place, Place::Among(..)) {
                // A snapshot sees one row with the key at most.
                state.place = Place::Done;
            }
            if self.holds(record.filter)? {
                return Ok(Next::Row);
            }
        }
    }

    /// Sets registers from the row behind an entry, if the snapshot sees one.
    #[inline]
    pub(super) fn fetch_behind(
        &mut self,
        record: &IndexScan,
        (heap, shapes, sight): (Heap, &[Shape], Option<&Sight>),
        tid: Tid,
    ) -> Result<Fetched<()>> {
        let Some(tables) = &self.tables else { return Err(no_tables()) };
        let (memory, registers) = (&mut self.memory, &mut self.registers);
        let wanted = (record.buffer, self.plan.bytes.list(At(record.columns)), shapes);
        let mut aside = None;
        let fetched = heap.fetch_noting(&tables.reader(), tid, sight, |tid, row| {
            if row::has_packed(row) {
                // Its values are looked for when the page is free again.
                aside = Some(row.to_vec());
                return Ok(tid);
            }
            load_row(heap.relations(), memory, registers, wanted, row).map(|()| tid)
        })?;
        let tid = match fetched {
            Fetched::Row(tid) => tid?,
            Fetched::Invisible => return Ok(Fetched::Invisible),
            Fetched::Dead => return Ok(Fetched::Dead),
        };
        if let Some(row) = aside {
            load_row(heap.relations(), memory, registers, wanted, &row)?;
        }
        self.set(record.row_register, tid_value(tid));
        self.set(record.table_register, Value::Int(record.table.into()));
        Ok(Fetched::Row(()))
    }

    /// Sets registers from the entry that was found last.
    fn load_entry(&mut self, record: &IndexScan, state: &mut IndexState) -> Result<()> {
        state.arena.reset();
        let key = match &state.place {
            Place::Range(cursor) => cursor.key(),
            _ => &state.low[..],
        };
        let mut values: SmallVec<[Datum<'_>; 8]> = SmallVec::from_elem(Datum::Null, state.key.len());
        key::decode(&state.key, &state.types, key, &state.arena, &mut values)?;
        self.memory.buffers[record.buffer as usize].clear();
        for [place, register] in self.plan.bytes.list(At(record.entry)).groups::<2>() {
            let value = values.get(place as usize).copied().unwrap_or(Datum::Null);
            self.registers[register as usize] = self.memory.to_buffer(record.buffer, value)?;
        }
        Ok(())
    }

    /// Appends the key of the columns whose values are given; false if one of these is null.
    #[inline]
    pub(super) fn encode_equal(&mut self, equal: u32, columns: &[KeyColumn], key: &mut Vec<u8>) -> Result<bool> {
        let (mut complete, mut left) = (true, columns.iter());
        let was_read = self.operands(equal, |operand| {
            let value = self.read(operand);
            complete &= !value.is_null();
            left.next().map_or(Ok(()), |column| key::encode_column(*column, self.memory.datum(value), key))
        })?;
        if was_read {
            return Ok(complete);
        }
        let start = self.stack.len();
        let scratch = self.push(equal)?;
        let complete = self.stack[start..].iter().zip(columns).try_fold(true, |complete, (value, column)| {
            let datum = self.memory.datum(*value);
            key::encode_column(*column, datum, key).map(|()| complete && !datum.is_null())
        });
        self.stack.truncate(start);
        self.memory.scratch.truncate(scratch);
        complete
    }

    /// Computes what is looked for, and begins.
    fn begin_index_scan(&mut self, record: &IndexScan, state: &mut IndexState) -> Result<Place> {
        state.low.clear();
        if !self.encode_equal(record.equal, &state.key, &mut state.low)? {
            return Ok(Place::Done);
        }
        let is_range = record.low != 0 || record.high != 0;
        if !is_range && record.equal_count as usize == state.key.len() {
            let found = state.index.lookup(&state.low)?;
            if !found.more() {
                return Ok(Place::Among(found, 0));
            }
        }
        let (mut lower, mut upper) = (std::mem::take(&mut state.low), std::mem::take(&mut state.high));
        upper.clear();
        upper.reserve(KEY_BYTES);
        upper.extend_from_slice(&lower);
        let bounds = match is_range.then(|| state.key.get(record.equal_count as usize).copied()).flatten() {
            Some(column) => self.range_of(record, column, &mut lower, &mut upper),
            None => Ok(Some(key::prefix_end(&mut upper))),
        };
        let place = bounds.map(|bounds| match bounds {
            None => Place::Done,
            Some(bounded) => {
                let from = if lower.is_empty() { Bound::Unbounded } else { Bound::Included(&lower[..]) };
                let to = if bounded { Bound::Excluded(&upper[..]) } else { Bound::Unbounded };
                let direction = match record.flags & BACKWARD {
                    0 => Direction::Forward,
                    _ => Direction::Backward,
                };
                Place::Range(Box::new(state.index.scan((from, to), direction, record.flags & ONLY != 0)))
            }
        });
        (state.low, state.high) = (lower, upper);
        place
    }

    /// Makes a prefix of keys the ends of a range of the next column. None if a bound is null, so that nothing is found;
    /// else whether there is an upper end.
    fn range_of(
        &mut self,
        record: &IndexScan,
        column: KeyColumn,
        lower: &mut Vec<u8>,
        upper: &mut Vec<u8>,
    ) -> Result<Option<bool>> {
        let low = (record.low, record.flags & LOW_OUT != 0);
        let high = (record.high, record.flags & HIGH_OUT != 0);
        // In a descending column the greatest values have the least keys.
        let (first, last) = if column.descending { (high, low) } else { (low, high) };
        match first.0 {
            0 if column.nulls_first => lower.push(FIRST_VALUE),
            0 => {}
            program => {
                if !self.encode_bound(program, column, lower)? {
                    return Ok(None);
                }
                if first.1 && !key::prefix_end(lower) {
                    return Ok(None);
                }
            }
        }
        match last.0 {
            0 if !column.nulls_first => {
                upper.push(NULL_LAST);
                Ok(Some(true))
            }
            0 => Ok(Some(key::prefix_end(upper))),
            program => {
                if !self.encode_bound(program, column, upper)? {
                    return Ok(None);
                }
                Ok(Some(last.1 || key::prefix_end(upper)))
            }
        }
    }

    /// Appends the key of a bound; false if it is null.
    fn encode_bound(&mut self, program: u32, column: KeyColumn, out: &mut Vec<u8>) -> Result<bool> {
        let scratch = self.memory.scratch.len();
        let value = self.value(program)?;
        let datum = self.memory.datum(value);
        let encoded = match datum {
            Datum::Null => Ok(false),
            datum => key::encode_column(column, datum, out).map(|()| true),
        };
        self.memory.scratch.truncate(scratch);
        encoded
    }
}

impl SeqState {
    /// The next row is the first one.
    pub(super) fn restart(&mut self) {
        self.scan = None;
        self.batch = Batch::new();
        self.at = 0;
    }
}

impl IndexState {
    /// What is looked for is computed again.
    pub(super) fn restart(&mut self) {
        self.run.restart();
        self.place = Place::New;
    }

    /// What is looked for has been found already: it begins among these entries of a key.
    pub(super) fn restart_among(&mut self, key: &[u8], found: Matches) {
        self.read.scans += 1;
        self.low.clear();
        self.low.extend_from_slice(key);
        self.run.restart();
        self.place = Place::Among(found, 0);
    }

    /// Nothing is looked for.
    pub(super) fn finish(&mut self) {
        self.run.restart();
        self.place = Place::Done;
    }

    /// The node's record, the table with the shapes of its columns, the index and its columns.
    pub(super) fn access(&self) -> (IndexScan, Heap, row::Shapes, Btree, Key) {
        (self.record, self.heap, self.shapes.clone(), self.index, self.key.clone())
    }

    /// Somebody else has looked at entries of a key that were found already, and fetched a row or none.
    #[inline]
    pub(super) fn count(&mut self, entries: usize, fetched: bool) {
        self.read.scans += 1;
        self.read.returned += entries as u64;
        self.read.fetched += u64::from(fetched);
    }
}
