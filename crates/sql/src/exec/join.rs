//! Joins: nested loops and hash tables.
//!
//! Rules
//! 1. Null keys match nothing; a row with one is kept only where the join keeps rows without a partner.
//! 2. Whatever order rows are found in, a row without a partner is given once.

use super::store::{Rows, kinds};
use super::value::{Memory, Value};
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::record::{HashJoin, NestedLoop};
use crate::types::Kind;
use base::Result;
use hashbrown::HashTable;

const LEFT: u32 = 1;
const SEMI: u32 = 2;
const ANTI: u32 = 3;
const RIGHT: u32 = 4;
const FULL: u32 = 5;
const NONE: u32 = u32::MAX;

/// A hash table of the inner rows, and where the join stands.
pub(super) struct HashState {
    rows: Rows,
    keys: Rows,
    table: HashTable<(u64, u32)>,
    /// For each row the next one with the same hash.
    chain: Vec<u32>,
    /// For each row whether it has found a partner.
    matched: Vec<bool>,
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
}

impl Exec<'_> {
    pub(super) fn nested_loop(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = NestedLoop::read(bytes, node);
        let (outer, inner) = (At(record.outer), At(record.inner));
        let mut current = match self.take(node) {
            State::Loop { matched } => Some(matched),
            State::Done => {
                self.put(node, State::Done);
                return Ok(false);
            }
            _ => None,
        };
        loop {
            let mut matched = match current.take() {
                Some(matched) => matched,
                None => {
                    if !self.next(outer)? {
                        self.put(node, State::Done);
                        return Ok(false);
                    }
                    self.again(inner)?;
                    false
                }
            };
            while self.next(inner)? {
                self.breath()?;
                if !self.holds(record.condition)? {
                    continue;
                }
                matched = true;
                match record.join {
                    SEMI => {
                        self.put(node, State::New);
                        return Ok(true);
                    }
                    ANTI => break,
                    _ => {
                        self.put(node, State::Loop { matched });
                        return Ok(true);
                    }
                }
            }
            if !matched && (record.join == LEFT || record.join == ANTI) {
                self.nulls(record.nulls);
                self.put(node, State::New);
                return Ok(true);
            }
        }
    }

    /// Sets registers to null.
    fn nulls(&mut self, registers: u32) {
        for register in self.plan.bytes.list(At(registers)).iter() {
            self.registers[register as usize] = Value::Null;
        }
    }

    pub(super) fn hash_join(&mut self, node: At) -> Result<bool> {
        let record = HashJoin::read(self.plan.bytes, node);
        let mut state = match self.take(node) {
            State::Hash(state) => state,
            _ => Box::new(self.build(&record)?),
        };
        let found = self.probe(&record, &mut state);
        self.put(node, State::Hash(state));
        found
    }

    /// Reads the inner rows into a hash table.
    fn build(&mut self, record: &HashJoin) -> Result<HashState> {
        let bytes = self.plan.bytes;
        let saved = bytes.list(At(record.saved));
        let kinds = kinds(bytes.list(At(record.kinds)));
        let mut state = HashState {
            rows: Rows::new(saved.len()),
            keys: Rows::new(kinds.len()),
            table: HashTable::new(),
            chain: Vec::new(),
            matched: Vec::new(),
            candidate: NONE,
            outer: false,
            outer_matched: false,
            rest: None,
            probe: Vec::new(),
            kinds,
            built: 0,
        };
        self.memory.buffers[record.buffer as usize].clear();
        while self.next(At(record.inner))? {
            self.breath()?;
            let start = self.stack.len();
            let scratch = self.push(record.inner_keys)?;
            let has_null = self.stack[start..].iter().any(|value| value.is_null());
            let row = state.rows.count as u32;
            if has_null && record.join != RIGHT && record.join != FULL {
                self.stack.truncate(start);
                self.memory.scratch.truncate(scratch);
                continue;
            }
            self.save(&mut state.rows, saved, record.buffer)?;
            for at in start..self.stack.len() {
                self.stack[at] = self.memory.keep(self.stack[at], record.buffer)?;
            }
            self.memory.scratch.truncate(scratch);
            state.chain.push(NONE);
            state.matched.push(false);
            if !has_null {
                let hash = self.hash(&self.stack[start..], state.kinds.iter().copied());
                match state.table.find_mut(hash, |(other, _)| *other == hash) {
                    Some(entry) => {
                        state.chain[row as usize] = entry.1;
                        entry.1 = row;
                    }
                    None => {
                        state
                            .table
                            .try_reserve(1, |(hash, _)| *hash)
                            .map_err(|_| super::store::refused(size_of::<(u64, u32)>()))?;
                        state.table.insert_unique(hash, (hash, row), |(hash, _)| *hash);
                    }
                }
            }
            state.keys.push(self.stack[start..].iter().copied())?;
            self.stack.truncate(start);
        }
        state.built = self.memory.buffers[record.buffer as usize].len();
        Ok(state)
    }

    fn probe(&mut self, record: &HashJoin, state: &mut HashState) -> Result<bool> {
        let bytes = self.plan.bytes;
        let saved = bytes.list(At(record.saved));
        loop {
            if let Some(row) = state.rest {
                return self.unmatched_inner(record, state, row);
            }
            if !state.outer {
                if !self.next(At(record.outer))? {
                    if record.join == RIGHT || record.join == FULL {
                        state.rest = Some(0);
                        continue;
                    }
                    return Ok(false);
                }
                self.breath()?;
                let start = self.stack.len();
                let scratch = self.push(record.outer_keys)?;
                state.outer = true;
                state.outer_matched = false;
                state.candidate = NONE;
                if self.stack[start..].iter().all(|value| !value.is_null()) {
                    let hash = self.hash(&self.stack[start..], state.kinds.iter().copied());
                    if let Some((_, row)) = state.table.find(hash, |(other, _)| *other == hash) {
                        state.candidate = *row;
                    }
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
            }
            while state.candidate != NONE {
                let row = state.candidate as usize;
                state.candidate = state.chain[row];
                if !self.all_same(state.keys.row(row), &state.probe, state.kinds.iter().copied()) {
                    continue;
                }
                self.load(&state.rows, row, saved);
                if !self.holds(record.condition)? {
                    continue;
                }
                state.matched[row] = true;
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

    /// Inner rows that found no partner, one after another.
    fn unmatched_inner(&mut self, record: &HashJoin, state: &mut HashState, from: usize) -> Result<bool> {
        let saved = self.plan.bytes.list(At(record.saved));
        for row in from..state.rows.count {
            self.breath()?;
            if !state.matched[row] {
                state.rest = Some(row + 1);
                self.nulls(record.outer_nulls);
                self.load(&state.rows, row, saved);
                return Ok(true);
            }
        }
        state.rest = Some(state.rows.count);
        Ok(false)
    }
}
