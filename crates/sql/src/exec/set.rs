//! Distinct rows, operations on sets, one node after another, some rows of many.
//!
//! Distinct rows are known by a hash table of their keys. When that is full, rows whose keys are not in it go to files, in parts by their
//! hashes, and each part has its turn when the rows before it have been given. Where rows come in an order that begins with the keys, the
//! row before is enough to know.

use super::spill::{DiskRow, Partitions, RowReader, Written, bits, part};
use super::store::{KeySet, key_pairs};
use super::value::Value;
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::record::{Append, Distinct, Limit, SetOperation};
use crate::types::Kind;
use base::{Error, Result, sqlstate};

/// The extra buffer of rows that were read.
const READ: u32 = 0;

/// Keys that were seen, as far as they are in memory.
#[derive(Default)]
pub(super) struct DistinctState {
    seen: KeySet,
    /// Of rows in order: the keys of the row before.
    before: Option<Vec<Value>>,
    limit: usize,
    full: bool,
    level: u32,
    parts: Option<Partitions>,
    batches: Vec<(Written, u32)>,
    reader: Option<RowReader>,
    row: DiskRow,
}

/// Rows of an operation on sets that are to be given.
pub(super) struct SetState {
    keys: KeySet,
    /// For each distinct row how often it is to be given.
    counts: Vec<u64>,
    row: usize,
    /// Parts of both sides that are in files.
    batches: Vec<([Written; 2], u32)>,
}

impl Exec<'_> {
    pub(super) fn distinct(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = Distinct::read(bytes, node);
        let (registers, kinds) = key_pairs(bytes.list(At(record.keys)));
        let mut state = match self.take(node) {
            State::Distinct(state) => state,
            State::Done => {
                self.put(node, State::Done);
                return Ok(false);
            }
            _ => {
                self.memory.buffers[record.buffer as usize].clear();
                Box::new(DistinctState { limit: self.hash_memory(), ..DistinctState::default() })
            }
        };
        while self.next_candidate(node, &record, &mut state)? {
            self.breath()?;
            let key = self.read_registers(&registers);
            if record.sorted != 0 {
                if state.before.as_ref().is_some_and(|before| self.all_same(before, &key, kinds.iter().copied())) {
                    continue;
                }
                self.memory.buffers[record.buffer as usize].clear();
                let kept: Result<Vec<Value>> =
                    key.into_iter().map(|value| self.memory.keep(value, record.buffer)).collect();
                state.before = Some(kept?);
                self.put(node, State::Distinct(state));
                return Ok(true);
            }
            if state.full {
                if self.find(&state.seen, &key, &kinds).is_none() {
                    let bits = bits(state.limit);
                    let number = part(self.hash(&key, kinds.iter().copied()), state.level, bits);
                    let parts = match &mut state.parts {
                        Some(parts) => parts,
                        none => none.insert(Partitions::new(self.new_spill()?, bits, state.limit)),
                    };
                    let saved = bytes.list(At(record.saved)).iter();
                    let values = saved.map(|register| self.registers[register as usize]);
                    parts.write(number, &self.memory, values)?;
                }
                continue;
            }
            if self.find_or_add(&mut state.seen, &key, &kinds, record.buffer)?.1 {
                let held = state.seen.bytes() + self.memory.buffers[record.buffer as usize].len();
                state.full = held > state.limit;
                self.put(node, State::Distinct(state));
                return Ok(true);
            }
        }
        self.put(node, State::Done);
        Ok(false)
    }

    /// The next row that may be a new one: of the node below, then of the files.
    fn next_candidate(&mut self, node: At, record: &Distinct, state: &mut DistinctState) -> Result<bool> {
        loop {
            match &mut state.reader {
                None => {
                    if self.next(At(record.child))? {
                        return Ok(true);
                    }
                }
                Some(reader) => {
                    if reader.next(&mut state.row)? {
                        let buffer = self.extra_buffer(node, READ)?;
                        self.memory.buffers[buffer as usize].clear();
                        let saved = self.plan.bytes.list(At(record.saved));
                        self.load_disk(&state.row, 0, saved.iter(), buffer)?;
                        return Ok(true);
                    }
                }
            }
            if let Some(parts) = state.parts.take() {
                let level = state.level + 1;
                let written = parts.finish()?.into_iter().filter(|part| part.rows > 0);
                state.batches.extend(written.map(|part| (part, level)));
            }
            let Some((written, level)) = state.batches.pop() else { return Ok(false) };
            state.reader = Some(written.read()?);
            (state.seen, state.full, state.level) = (KeySet::default(), false, level);
            self.memory.buffers[record.buffer as usize].clear();
        }
    }

    pub(super) fn append(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let children = bytes.list(At(Append::read(bytes, node).children));
        let mut at = match self.take(node) {
            State::At(at) => at as usize,
            _ => 0,
        };
        while at < children.len() {
            if self.next(At(children.get(at)))? {
                self.put(node, State::At(at as u64));
                return Ok(true);
            }
            at += 1;
        }
        self.put(node, State::At(at as u64));
        Ok(false)
    }

    /// `INTERSECT` and `EXCEPT`: both sides are read, then each row is given as often as the operation says.
    pub(super) fn set_operation(&mut self, node: At) -> Result<bool> {
        let record = SetOperation::read(self.plan.bytes, node);
        let (registers, kinds) = key_pairs(self.plan.bytes.list(At(record.keys)));
        let mut state = match self.take(node) {
            State::Sets(state) => state,
            _ => Box::new(self.read_sides(node, &record, (&registers, &kinds), None, 0)?),
        };
        loop {
            while state.row < state.counts.len() && state.counts[state.row] == 0 {
                state.row += 1;
            }
            if state.row < state.counts.len() {
                break;
            }
            let Some((sides, level)) = state.batches.pop() else { break };
            let batches = std::mem::take(&mut state.batches);
            let readers = [sides[0].read()?, sides[1].read()?];
            *state = self.read_sides(node, &record, (&registers, &kinds), Some(readers), level)?;
            state.batches.extend(batches);
        }
        let found = state.row < state.counts.len();
        if found {
            state.counts[state.row] -= 1;
            for (value, register) in state.keys.keys.row(state.row).iter().zip(&registers) {
                self.registers[*register as usize] = *value;
            }
        }
        self.put(node, State::Sets(state));
        Ok(found)
    }

    /// Reads both sides, from the nodes or from files, and counts rows that are equal.
    fn read_sides(
        &mut self,
        node: At,
        record: &SetOperation,
        (registers, kinds): (&[u32], &[Kind]),
        mut readers: Option<[RowReader; 2]>,
        level: u32,
    ) -> Result<SetState> {
        self.memory.buffers[record.buffer as usize].clear();
        let limit = self.hash_memory();
        let bits = bits(limit);
        let read = match readers {
            Some(_) => self.extra_buffer(node, READ)?,
            None => 0,
        };
        let mut row = DiskRow::default();
        let mut keys = KeySet::default();
        let mut counts: [Vec<u64>; 2] = [Vec::new(), Vec::new()];
        let mut parts: Option<[Partitions; 2]> = None;
        let mut full = false;
        for (side, child) in [record.left, record.right].into_iter().enumerate() {
            loop {
                match &mut readers {
                    None => {
                        if !self.next(At(child))? {
                            break;
                        }
                    }
                    Some(readers) => {
                        if !readers[side].next(&mut row)? {
                            break;
                        }
                        self.memory.buffers[read as usize].clear();
                        self.load_disk(&row, 0, registers.iter().copied(), read)?;
                    }
                }
                self.breath()?;
                let key = self.read_registers(registers);
                // Rows that only the second side has are never given.
                let number = match side == 0 && !full {
                    true => Some(self.find_or_add(&mut keys, &key, kinds, record.buffer)?.0),
                    false => self.find(&keys, &key, kinds),
                };
                let Some(number) = number else {
                    let number = part(self.hash(&key, kinds.iter().copied()), level, bits);
                    if side == 0 && parts.is_none() {
                        let sides = [self.new_spill()?, self.new_spill()?];
                        parts = Some(sides.map(|spill| Partitions::new(spill, bits, limit)));
                    }
                    if let Some(parts) = &mut parts
                        && (side == 0 || parts[0].rows(number) > 0)
                    {
                        parts[side].write(number, &self.memory, key.into_iter())?;
                    }
                    continue;
                };
                let counts = &mut counts[side];
                counts.resize(counts.len().max(number + 1), 0);
                counts[number] += 1;
                if side == 0 && !full {
                    let counted = counts.len() * 2 * size_of::<u64>();
                    full = keys.bytes() + counted + self.memory.buffers[record.buffer as usize].len() > limit;
                }
            }
        }
        let mut batches = Vec::new();
        if let Some([left, right]) = parts {
            let sides = left.finish()?.into_iter().zip(right.finish()?);
            batches.extend(sides.filter(|(left, _)| left.rows > 0).map(|(left, right)| ([left, right], level + 1)));
        }
        let [left, right] = counts;
        let given = |(row, &left): (usize, &u64)| {
            let right = right.get(row).copied().unwrap_or(0);
            match record.operation {
                0 => u64::from(right > 0),
                1 => u64::from(right == 0),
                2 => left.min(right),
                _ => left.saturating_sub(right),
            }
        };
        let counts = left.iter().enumerate().map(given).collect();
        Ok(SetState { keys, counts, row: 0, batches })
    }

    pub(super) fn limit(&mut self, node: At) -> Result<bool> {
        let record = Limit::read(self.plan.bytes, node);
        let mut left = match self.take(node) {
            State::Limit { left } => left,
            State::Ties(last) => return self.tied(node, &record, last),
            _ => {
                let offset = self.count(record.offset, "OFFSET", sqlstate::INVALID_ROW_COUNT_IN_OFFSET)?.unwrap_or(0);
                let left = self.count(record.count, "LIMIT", sqlstate::INVALID_ROW_COUNT_IN_LIMIT)?.unwrap_or(u64::MAX);
                if left > 0 {
                    for _ in 0..offset {
                        self.breath()?;
                        if !self.next(At(record.child))? {
                            self.put(node, State::Limit { left: 0 });
                            return Ok(false);
                        }
                    }
                }
                left
            }
        };
        let found = left > 0 && self.next(At(record.child))?;
        left = if found { left - 1 } else { 0 };
        if found && left == 0 && !self.plan.bytes.list(At(record.ties)).is_empty() {
            let (registers, _) = key_pairs(self.plan.bytes.list(At(record.ties)));
            let mut last = self.read_registers(&registers);
            self.memory.buffers[record.buffer as usize].clear();
            for value in &mut last {
                *value = self.memory.keep(*value, record.buffer)?;
            }
            self.put(node, State::Ties(last));
            return Ok(true);
        }
        self.put(node, State::Limit { left });
        Ok(found)
    }

    /// A row beyond the limit that is equal to the last one within it.
    fn tied(&mut self, node: At, record: &Limit, last: Vec<Value>) -> Result<bool> {
        let (registers, kinds) = key_pairs(self.plan.bytes.list(At(record.ties)));
        let found = self.next(At(record.child))? && {
            let row = self.read_registers(&registers);
            self.all_same(&row, &last, kinds.iter().copied())
        };
        self.put(node, if found { State::Ties(last) } else { State::Limit { left: 0 } });
        Ok(found)
    }

    /// A count of rows; none if it is null or was not given.
    fn count(&mut self, program: u32, word: &str, code: base::SqlState) -> Result<Option<u64>> {
        if program == 0 {
            return Ok(None);
        }
        match self.value(program)? {
            Value::Int(count) => match u64::try_from(count) {
                Ok(count) => Ok(Some(count)),
                Err(_) => Err(Error::statement(code, format!("{word} must not be negative"))),
            },
            _ => Ok(None),
        }
    }
}
