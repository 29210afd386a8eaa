//! Joins by hash tables: in memory as far as the inner rows fit, by partitions in files beyond.
//!
//! ```text
//!   inner rows --hash--> 0 | 1 | 2 | ... | 31        parts: those below `resident` are in the table, the others in a file
//!   outer rows --hash--> 0 | 1 | 2 | ... | 31        looked up in the table at once, or in another file
//!   then each part from the files: its inner rows into the table, its outer rows looked up; one that does not fit falls into parts in turn
//! ```
//!
//! All parts are in memory at first. When the table has no room, half of them go to the file.
//!
//! Rules
//! 1. Null keys match nothing; a row with one is kept only where the join keeps rows without a partner.
//! 2. Whatever order rows are found in, a row without a partner is given once.
//! 3. Rows with equal keys are in one part, and a part that consists of little else is not divided: it takes the memory that it takes.

use super::join::{ANTI, FULL, LEFT, RIGHT, SEMI};
use super::spill::{DiskRow, LEVELS_MAX, Partitions, RowReader, Written, bits, part};
use super::store::{Rows, kinds};
use super::value::{Memory, Value};
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::record::HashJoin;
use crate::types::Kind;
use base::Result;
use hashbrown::HashTable;

const NONE: u32 = u32::MAX;

/// The extra buffer for outer rows that were read.
const OUTER: u32 = 0;

/// Inner rows by the hashes of their keys.
#[derive(Default)]
struct Table {
    rows: Rows,
    keys: Rows,
    table: HashTable<(u64, u32)>,
    /// For each row the next one with the same hash.
    chain: Vec<u32>,
    /// For each row whether it has found a partner.
    matched: Vec<bool>,
}

/// Parts that are in files.
struct Parts {
    /// Parts below this one are in memory.
    resident: usize,
    inner: Partitions,
    outer: Partitions,
}

/// A part that is still to be joined.
struct Batch {
    inner: Written,
    outer: Written,
    level: u32,
    divides: bool,
}

/// The hash table, and where the join stands.
pub(super) struct HashState {
    node: At,
    table: Table,
    /// The row that is looked at next for the outer row at hand.
    candidate: u32,
    /// There is an outer row at hand.
    outer: bool,
    /// The outer row at hand has found a partner.
    outer_matched: bool,
    /// The outer rows are done; the inner row that is looked at next.
    rest: Option<usize>,
    /// The outer row's keys.
    probe: Vec<Value>,
    /// The kinds of the keys.
    kinds: Vec<Kind>,
    /// How many bytes the inner rows have in the buffer; behind them are those of the outer row's keys.
    built: usize,
    /// How much memory the table may take, and whether it may be divided.
    limit: usize,
    divides: bool,
    level: u32,
    /// Inner rows at this level, in memory or not.
    seen: u64,
    parts: Option<Box<Parts>>,
    batches: Vec<Batch>,
    /// Where outer rows come from, if not from the node.
    reader: Option<RowReader>,
    row: DiskRow,
    done: bool,
}

impl Table {
    fn new(width: usize, keys: usize) -> Table {
        Table { rows: Rows::new(width), keys: Rows::new(keys), ..Table::default() }
    }

    /// About how many bytes it takes beside the buffer.
    #[inline]
    fn bytes(&self) -> usize {
        const OF_ROW: usize = 32;
        self.rows.count * ((self.rows.width + self.keys.width) * size_of::<Value>() + OF_ROW)
    }

    /// Enters the row that was added last; rows with null keys have no hash.
    fn enter(&mut self, hash: Option<u64>) -> Result<()> {
        let row = self.chain.len() as u32;
        self.chain.push(NONE);
        self.matched.push(false);
        let Some(hash) = hash else { return Ok(()) };
        match self.table.find_mut(hash, |(other, _)| *other == hash) {
            Some(entry) => {
                self.chain[row as usize] = entry.1;
                entry.1 = row;
            }
            None => {
                self.table
                    .try_reserve(1, |(hash, _)| *hash)
                    .map_err(|_| super::store::refused(size_of::<(u64, u32)>()))?;
                self.table.insert_unique(hash, (hash, row), |(hash, _)| *hash);
            }
        }
        Ok(())
    }
}

impl Exec<'_> {
    pub(super) fn hash_join(&mut self, node: At) -> Result<bool> {
        let record = HashJoin::read(self.plan.bytes, node);
        let mut state = match self.take(node) {
            State::Hash(state) => state,
            _ => Box::new(self.build(node, &record)?),
        };
        let found = self.probe(&record, &mut state);
        self.put(node, State::Hash(state));
        found
    }

    /// The hash of keys; none if one of them is null.
    fn hash_of_keys(&self, keys: &[Value], kinds: &[Kind]) -> Option<u64> {
        match keys.iter().any(|value| value.is_null()) {
            true => None,
            false => Some(self.hash(keys, kinds.iter().copied())),
        }
    }

    /// Reads the inner rows into a hash table.
    fn build(&mut self, node: At, record: &HashJoin) -> Result<HashState> {
        let bytes = self.plan.bytes;
        let saved = bytes.list(At(record.saved));
        let kinds = kinds(bytes.list(At(record.kinds)));
        let mut state = HashState {
            node,
            table: Table::new(saved.len(), kinds.len()),
            candidate: NONE,
            outer: false,
            outer_matched: false,
            rest: None,
            probe: Vec::new(),
            kinds,
            built: 0,
            limit: self.hash_memory(),
            divides: true,
            level: 0,
            seen: 0,
            parts: None,
            batches: Vec::new(),
            reader: None,
            row: DiskRow::default(),
            done: false,
        };
        self.memory.buffers[record.buffer as usize].clear();
        while self.next(At(record.inner))? {
            self.breath()?;
            let start = self.stack.len();
            let scratch = self.push(record.inner_keys)?;
            let hash = self.hash_of_keys(&self.stack[start..], &state.kinds);
            if hash.is_none() && record.join != RIGHT && record.join != FULL {
                self.stack.truncate(start);
                self.memory.scratch.truncate(scratch);
                continue;
            }
            state.seen += 1;
            if let Some(number) = state.part_in_file(hash) {
                let registers = saved.iter().map(|register| self.registers[register as usize]);
                if let Some(parts) = &mut state.parts {
                    parts.inner.write(number, &self.memory, self.stack[start..].iter().copied().chain(registers))?;
                }
                self.stack.truncate(start);
                self.memory.scratch.truncate(scratch);
                continue;
            }
            self.save(&mut state.table.rows, saved, record.buffer)?;
            for at in start..self.stack.len() {
                self.stack[at] = self.memory.keep(self.stack[at], record.buffer)?;
            }
            self.memory.scratch.truncate(scratch);
            state.table.keys.push(self.stack[start..].iter().copied())?;
            self.stack.truncate(start);
            state.table.enter(hash)?;
            self.divide_if_full(record, &mut state)?;
        }
        state.built = self.memory.buffers[record.buffer as usize].len();
        Ok(state)
    }

    /// Sees to it that the table fits its memory.
    #[inline]
    fn divide_if_full(&mut self, record: &HashJoin, state: &mut HashState) -> Result<()> {
        let held = state.table.bytes() + self.memory.buffers[record.buffer as usize].len();
        match held > state.limit && state.divides {
            true => self.divide(record, state),
            false => Ok(()),
        }
    }

    /// Half of the parts that are in memory go to the file.
    #[cold]
    fn divide(&mut self, record: &HashJoin, state: &mut HashState) -> Result<()> {
        let bits = bits(state.limit);
        let parts = match &mut state.parts {
            Some(parts) => parts,
            none => none.insert(Box::new(Parts {
                resident: 1 << bits,
                inner: Partitions::new(self.new_spill()?, bits, state.limit),
                outer: Partitions::new(self.new_spill()?, bits, state.limit),
            })),
        };
        parts.resident /= 2;
        let (width, keys) = (state.table.rows.width, state.table.keys.width);
        let old = std::mem::replace(&mut state.table, Table::new(width, keys));
        let mut stays = Vec::with_capacity(old.rows.count);
        for row in 0..old.rows.count {
            self.breath()?;
            let (keys, values) = (old.keys.row(row), old.rows.row(row));
            let hash = self.hash_of_keys(keys, &state.kinds);
            let number = part(hash.unwrap_or(0), state.level, bits);
            if number < parts.resident {
                stays.push((row, hash));
            } else {
                parts.inner.write(number, &self.memory, keys.iter().chain(values).copied())?;
            }
        }
        let bytes = std::mem::take(&mut self.memory.buffers[record.buffer as usize]);
        let mut moved = |value: Value| match value {
            Value::Span(span) => self.memory.move_span(span, &bytes, record.buffer),
            value => Ok(value),
        };
        for (row, hash) in stays {
            for value in old.keys.row(row) {
                state.table.keys.values.push(moved(*value)?);
            }
            for value in old.rows.row(row) {
                state.table.rows.values.push(moved(*value)?);
            }
            state.table.keys.count += 1;
            state.table.rows.count += 1;
            state.table.enter(hash)?;
        }
        Ok(())
    }

    fn probe(&mut self, record: &HashJoin, state: &mut HashState) -> Result<bool> {
        let bytes = self.plan.bytes;
        let saved = bytes.list(At(record.saved));
        loop {
            if state.done {
                return Ok(false);
            }
            if let Some(row) = state.rest {
                if self.unmatched_inner(record, state, row)? {
                    return Ok(true);
                }
                self.next_batch(record, state)?;
                continue;
            }
            if !state.outer && !self.next_outer(record, state)? {
                match record.join {
                    RIGHT | FULL => state.rest = Some(0),
                    _ => self.next_batch(record, state)?,
                }
                continue;
            }
            while state.candidate != NONE {
                let row = state.candidate as usize;
                state.candidate = state.table.chain[row];
                if !self.all_same(state.table.keys.row(row), &state.probe, state.kinds.iter().copied()) {
                    continue;
                }
                self.load(&state.table.rows, row, saved);
                if !self.holds(record.condition)? {
                    continue;
                }
                state.table.matched[row] = true;
                state.outer_matched = true;
                match record.join {
                    SEMI => {
                        state.outer = false;
                        return Ok(true);
                    }
                    ANTI => {
                        state.candidate = NONE;
                    }
                    _ => return Ok(true),
                }
            }
            state.outer = false;
            if !state.outer_matched && matches!(record.join, LEFT | ANTI | FULL) {
                self.nulls(record.nulls);
                return Ok(true);
            }
        }
    }

    /// The next outer row, with the first inner row that may be its partner; false if there is none. Rows whose partners are in the file
    /// go to the other one.
    fn next_outer(&mut self, record: &HashJoin, state: &mut HashState) -> Result<bool> {
        loop {
            let start = self.stack.len();
            let scratch = self.memory.scratch.len();
            match &mut state.reader {
                None => {
                    if !self.next(At(record.outer))? {
                        return Ok(false);
                    }
                    self.breath()?;
                    self.push(record.outer_keys)?;
                }
                Some(reader) => {
                    if !reader.next(&mut state.row)? {
                        return Ok(false);
                    }
                    self.breath()?;
                    let buffer = self.extra_buffer(state.node, OUTER)?;
                    self.memory.buffers[buffer as usize].clear();
                    for key in 0..state.kinds.len() {
                        let value = self.memory.to_buffer(buffer, state.row.datum(key))?;
                        self.stack.push(value);
                    }
                    let outer = self.plan.bytes.list(At(record.outer_saved));
                    self.load_disk(&state.row, state.kinds.len(), outer.iter(), buffer)?;
                }
            }
            let hash = self.hash_of_keys(&self.stack[start..], &state.kinds);
            if hash.is_some()
                && let Some(number) = state.part_in_file(hash)
                && let Some(parts) = &mut state.parts
                && parts.inner.rows(number) > 0
            {
                let outer = self.plan.bytes.list(At(record.outer_saved));
                let registers = outer.iter().map(|register| self.registers[register as usize]);
                parts.outer.write(number, &self.memory, self.stack[start..].iter().copied().chain(registers))?;
                self.stack.truncate(start);
                self.memory.scratch.truncate(scratch);
                continue;
            }
            state.outer = true;
            state.outer_matched = false;
            state.candidate = NONE;
            if let Some(hash) = hash
                && let Some((_, row)) = state.table.table.find(hash, |(other, _)| *other == hash)
            {
                state.candidate = *row;
            }
            state.probe.clear();
            if state.candidate != NONE {
                // Computed keys lie in the scratch area: they are kept until this outer row is done with.
                self.memory.buffers[record.buffer as usize].truncate(state.built);
                for at in start..self.stack.len() {
                    let value = self.stack[at];
                    state.probe.push(match Memory::is_scratch(value) {
                        true => self.memory.keep(value, record.buffer)?,
                        false => value,
                    });
                }
            }
            self.stack.truncate(start);
            self.memory.scratch.truncate(scratch);
            return Ok(true);
        }
    }

    /// Inner rows that found no partner, one after another.
    fn unmatched_inner(&mut self, record: &HashJoin, state: &mut HashState, from: usize) -> Result<bool> {
        let saved = self.plan.bytes.list(At(record.saved));
        for row in from..state.table.rows.count {
            self.breath()?;
            if !state.table.matched[row] {
                state.rest = Some(row + 1);
                self.nulls(record.outer_nulls);
                self.load(&state.table.rows, row, saved);
                return Ok(true);
            }
        }
        state.rest = Some(state.table.rows.count);
        Ok(false)
    }

    /// Goes on with the next part that is in files, if there is one.
    fn next_batch(&mut self, record: &HashJoin, state: &mut HashState) -> Result<()> {
        /// Of a hundred rows of a level so many at most may be in a part that is divided again.
        const DIVISIBLE: u64 = 90;
        if let Some(parts) = state.parts.take() {
            let level = state.level + 1;
            let keeps_inner = record.join == RIGHT || record.join == FULL;
            for (inner, outer) in parts.inner.finish()?.into_iter().zip(parts.outer.finish()?) {
                if inner.rows == 0 || outer.rows == 0 && !keeps_inner {
                    continue;
                }
                let divides = level < LEVELS_MAX && inner.rows * 100 <= state.seen * DIVISIBLE;
                state.batches.push(Batch { inner, outer, level, divides });
            }
        }
        state.table = Table::new(state.table.rows.width, state.table.keys.width);
        (state.rest, state.outer, state.candidate, state.seen) = (None, false, NONE, 0);
        state.reader = None;
        self.memory.buffers[record.buffer as usize].clear();
        let Some(batch) = state.batches.pop() else {
            state.done = true;
            return Ok(());
        };
        (state.level, state.divides) = (batch.level, batch.divides);
        let mut reader = batch.inner.read()?;
        let (keys, width) = (state.kinds.len(), state.table.rows.width);
        while reader.next(&mut state.row)? {
            self.breath()?;
            state.seen += 1;
            let buffered = self.memory.buffers[record.buffer as usize].len();
            let first = state.table.keys.values.len();
            for place in 0..keys {
                let value = self.memory.to_buffer(record.buffer, state.row.datum(place))?;
                state.table.keys.values.push(value);
            }
            let hash = self.hash_of_keys(&state.table.keys.values[first..], &state.kinds);
            if let Some(number) = state.part_in_file(hash)
                && let Some(parts) = &mut state.parts
            {
                parts.inner.copy(number, &state.row)?;
                state.table.keys.values.truncate(first);
                self.memory.buffers[record.buffer as usize].truncate(buffered);
                continue;
            }
            for place in keys..keys + width {
                let value = self.memory.to_buffer(record.buffer, state.row.datum(place))?;
                state.table.rows.values.push(value);
            }
            state.table.keys.count += 1;
            state.table.rows.count += 1;
            state.table.enter(hash)?;
            self.divide_if_full(record, state)?;
        }
        state.built = self.memory.buffers[record.buffer as usize].len();
        state.reader = Some(batch.outer.read()?);
        Ok(())
    }
}

impl HashState {
    /// The part that keys fall into, if that is not in memory.
    #[inline]
    fn part_in_file(&self, hash: Option<u64>) -> Option<usize> {
        let parts = self.parts.as_ref()?;
        let number = part(hash.unwrap_or(0), self.level, bits(self.limit));
        (number >= parts.resident).then_some(number)
    }
}
