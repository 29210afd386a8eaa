//! Common tables, and queries that read their own rows.
//!
//! A common table's rows are found as they are asked for, and kept for whoever reads them too. A recursion gives the rows of its first
//! node, then those that its second node finds in the rows of the round before, until a round finds none.
//!
//! Rules
//! 1. Rows of two rounds are kept, no more; where equal rows are given once, all are.
//! 2. A statement in `WITH` that changes rows is executed to its end when the statement itself has been, the last one first: what one
//!    gives another reads.
//! 3. A common table that depends on what is around it is computed again when a query that reads it begins again.

use super::store::{KeySet, Rows, key_pairs};
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::record::{CommonRecord, CommonScan, Recursion, WorkScan};
use base::Result;

/// The rows of a common table so far.
#[derive(Default)]
pub(super) struct CommonState {
    rows: Rows,
    complete: bool,
}

/// How far a recursion has come.
#[derive(Default)]
pub(super) struct RecursionState {
    /// The rows of this round so far.
    rows: Rows,
    seen: KeySet,
    /// How many rounds are over.
    rounds: u64,
}

impl Exec<'_> {
    pub(super) fn common_scan(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = CommonScan::read(bytes, node);
        let common = CommonRecord::read(bytes, At(bytes.list(self.commons).get(record.common as usize)));
        let index = common.state as usize;
        let mut at = match self.take(node) {
            State::At(at) => at as usize,
            _ => 0,
        };
        let pairs = bytes.list(At(record.columns));
        loop {
            if !self.has_common_row(&common, at)? {
                break;
            }
            if let State::Common(state) = &self.states[index] {
                let row = state.rows.row(at);
                for [column, register] in pairs.groups::<2>() {
                    self.registers[register as usize] = row[column as usize];
                }
            }
            at += 1;
            self.breath()?;
            if self.holds(record.filter)? {
                self.put(node, State::At(at as u64));
                return Ok(true);
            }
        }
        self.put(node, State::At(at as u64));
        Ok(false)
    }

    /// Finds rows of a common table until there is one of that number; false if there is none.
    pub(super) fn has_common_row(&mut self, common: &CommonRecord, row: usize) -> Result<bool> {
        let index = common.state as usize;
        let mut state = match std::mem::take(&mut self.states[index]) {
            State::Common(state) => state,
            _ => {
                self.memory.buffers[common.buffer as usize].clear();
                let width = self.plan.bytes.list(At(common.columns)).len();
                Box::new(CommonState { rows: Rows::new(width), complete: false })
            }
        };
        while row >= state.rows.count && !state.complete {
            self.breath()?;
            match self.next(At(common.root))? {
                true => self.save(&mut state.rows, self.plan.bytes.list(At(common.columns)), common.buffer)?,
                false => state.complete = true,
            }
        }
        let found = row < state.rows.count;
        self.states[index] = State::Common(state);
        Ok(found)
    }

    /// Does a statement in `WITH` change rows?
    pub(super) fn has_modifying_commons(&self) -> bool {
        self.modifying_commons().next().is_some()
    }

    fn modifying_commons(&self) -> impl Iterator<Item = CommonRecord> + use<'_> {
        let bytes = self.plan.bytes;
        let places = bytes.list(self.commons);
        let records = (0..places.len()).rev().map(move |number| places.get(number)).filter(|place| *place != 0);
        records.map(move |place| CommonRecord::read(bytes, At(place))).filter(|record| record.modifies != 0)
    }

    /// Executes statements in `WITH` that change rows to their end; checks what is left to be checked.
    pub(super) fn finish_commons(&mut self) -> Result<()> {
        if self.commons_finished || !self.has_modifying_commons() {
            return Ok(());
        }
        self.commons_finished = true;
        let records: Vec<CommonRecord> = self.modifying_commons().collect();
        for record in records {
            self.has_common_row(&record, usize::MAX)?;
        }
        self.check_at_end()
    }

    pub(super) fn rewind_common(&mut self, node: At) -> Result<()> {
        let bytes = self.plan.bytes;
        let record = CommonScan::read(bytes, node);
        let common = CommonRecord::read(bytes, At(bytes.list(self.commons).get(record.common as usize)));
        if common.dependent != 0 {
            self.states[common.state as usize] = State::New;
            self.rewind(At(common.root))?;
        }
        Ok(())
    }

    pub(super) fn recursion(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = Recursion::read(bytes, node);
        let (registers, kinds) = key_pairs(bytes.list(At(record.columns)));
        let mut state = match self.take(node) {
            State::Recursion(state) => state,
            State::Done => {
                self.put(node, State::Done);
                return Ok(false);
            }
            _ => {
                for buffer in [record.even, record.odd, record.seen] {
                    self.memory.buffers[buffer as usize].clear();
                }
                Box::new(RecursionState { rows: Rows::new(registers.len()), ..RecursionState::default() })
            }
        };
        loop {
            let (child, buffer) = match state.rounds {
                0 => (record.first, record.even),
                rounds if rounds % 2 == 0 => (record.rest, record.even),
                _ => (record.rest, record.odd),
            };
            while self.next(At(child))? {
                self.breath()?;
                let row = self.read_registers(&registers);
                if record.distinct != 0 && !self.find_or_add(&mut state.seen, &row, &kinds, record.seen)?.1 {
                    continue;
                }
                let mut kept = row;
                for value in &mut kept {
                    *value = self.memory.keep(*value, buffer)?;
                }
                state.rows.push(kept.into_iter())?;
                self.put(node, State::Recursion(state));
                return Ok(true);
            }
            if state.rows.count == 0 {
                self.states[record.work as usize] = State::New;
                self.put(node, State::Done);
                return Ok(false);
            }
            let found = std::mem::replace(&mut state.rows, Rows::new(registers.len()));
            self.states[record.work as usize] = State::Rows(Box::new(found));
            state.rounds += 1;
            let next = if state.rounds % 2 == 0 { record.even } else { record.odd };
            self.memory.buffers[next as usize].clear();
            self.rewind(At(record.rest))?;
        }
    }

    pub(super) fn rewind_recursion(&mut self, node: At) -> Result<()> {
        let record = Recursion::read(self.plan.bytes, node);
        self.states[record.work as usize] = State::New;
        self.rewind(At(record.first))?;
        self.rewind(At(record.rest))
    }

    pub(super) fn work_scan(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = WorkScan::read(bytes, node);
        let mut at = match self.take(node) {
            State::At(at) => at as usize,
            _ => 0,
        };
        loop {
            match &self.states[record.work as usize] {
                State::Rows(rows) if at < rows.count => {
                    let row = rows.row(at);
                    for [column, register] in bytes.list(At(record.columns)).groups::<2>() {
                        self.registers[register as usize] = row[column as usize];
                    }
                }
                _ => break,
            }
            at += 1;
            self.breath()?;
            if self.holds(record.filter)? {
                self.put(node, State::At(at as u64));
                return Ok(true);
            }
        }
        self.put(node, State::At(at as u64));
        Ok(false)
    }
}
