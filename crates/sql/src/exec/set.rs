//! Distinct rows, operations on sets, one node after another, some rows of many.

use super::store::{KeySet, key_pairs};
use super::value::Value;
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::record::{Append, Distinct, Limit, SetOperation};
use base::{Error, Result, sqlstate};

/// Rows of an operation on sets that are to be given.
pub(super) struct SetState {
    keys: KeySet,
    /// For each distinct row how often it is to be given.
    counts: Vec<u64>,
    row: usize,
}

impl Exec<'_> {
    pub(super) fn distinct(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = Distinct::read(bytes, node);
        let (registers, kinds) = key_pairs(bytes.list(At(record.keys)));
        let mut seen = match self.take(node) {
            State::Seen(seen) => seen,
            _ => {
                self.memory.buffers[record.buffer as usize].clear();
                Box::default()
            }
        };
        let mut found = false;
        while self.next(At(record.child))? {
            self.breath()?;
            let key = self.read_registers(&registers);
            if self.find_or_add(&mut seen, &key, &kinds, record.buffer)?.1 {
                found = true;
                break;
            }
        }
        self.put(node, State::Seen(seen));
        Ok(found)
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
        let bytes = self.plan.bytes;
        let record = SetOperation::read(bytes, node);
        let (registers, kinds) = key_pairs(bytes.list(At(record.keys)));
        let mut state = match self.take(node) {
            State::Sets(state) => state,
            _ => {
                self.memory.buffers[record.buffer as usize].clear();
                let mut keys = KeySet::default();
                let mut sides: [Vec<u64>; 2] = [Vec::new(), Vec::new()];
                for (side, child) in [record.left, record.right].into_iter().enumerate() {
                    while self.next(At(child))? {
                        self.breath()?;
                        let key = self.read_registers(&registers);
                        // Rows that only the second side has are never given.
                        let row = match side {
                            0 => Some(self.find_or_add(&mut keys, &key, &kinds, record.buffer)?.0),
                            _ => self.find(&keys, &key, &kinds),
                        };
                        if let Some(row) = row {
                            let counts = &mut sides[side];
                            counts.resize(counts.len().max(row + 1), 0);
                            counts[row] += 1;
                        }
                    }
                }
                let [left, right] = sides;
                let counts = left
                    .iter()
                    .enumerate()
                    .map(|(row, &left)| {
                        let right = right.get(row).copied().unwrap_or(0);
                        match record.operation {
                            0 => u64::from(right > 0),
                            1 => u64::from(right == 0),
                            2 => left.min(right),
                            _ => left.saturating_sub(right),
                        }
                    })
                    .collect();
                Box::new(SetState { keys, counts, row: 0 })
            }
        };
        while state.row < state.counts.len() && state.counts[state.row] == 0 {
            state.row += 1;
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
