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

use super::kept::{Kept, Place};
use super::store::{KeySet, key_pairs};
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::record::{CommonRecord, CommonScan, Recursion, WorkScan};
use base::Result;

/// Numbers of rows that a node keeps.
/// The node may be another one's that keeps rows of its own.
const COMMON: u32 = 1 << 20;
const EVEN: u32 = 0;
const ODD: u32 = 1;

/// The rows of a common table so far.
#[derive(Default)]
pub(super) struct CommonState {
    rows: Kept,
    complete: bool,
}

/// How far a recursion has come.
#[derive(Default)]
pub(super) struct RecursionState {
    /// The rows of this round so far.
    rows: Kept,
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
        let mut place = self.place_of(node);
        let pairs = bytes.list(At(record.columns));
        let mut found = false;
        while !found && self.has_common_row(&common, place.at)? {
            let State::Common(state) = std::mem::take(&mut self.states[index]) else { break };
            let registers = pairs.groups::<2>().map(|[column, register]| (column as usize, register));
            let read = self.read_kept(&state.rows, &mut place, node, registers);
            self.states[index] = State::Common(state);
            read?;
            self.breath()?;
            found = self.holds(record.filter)?;
        }
        self.put_place(node, place);
        Ok(found)
    }

    /// Where a node that reads kept rows stands.
    fn place_of(&mut self, node: At) -> Box<Place> {
        match self.take(node) {
            State::Place(place) => place,
            _ => Box::default(),
        }
    }

    fn put_place(&mut self, node: At, place: Box<Place>) {
        self.put(node, State::Place(place));
    }

    /// Finds rows of a common table until there is one of that number; false if there is none.
    pub(super) fn has_common_row(&mut self, common: &CommonRecord, row: usize) -> Result<bool> {
        let index = common.state as usize;
        let mut state = match std::mem::take(&mut self.states[index]) {
            State::Common(state) => state,
            _ => {
                let width = self.plan.bytes.list(At(common.columns)).len();
                let rows = self.begin_kept(At(common.root), width, common.buffer).numbered(COMMON);
                Box::new(CommonState { rows, complete: false })
            }
        };
        while row >= state.rows.count() && !state.complete {
            self.breath()?;
            match self.next(At(common.root))? {
                true => self.keep_registers(&mut state.rows, self.plan.bytes.list(At(common.columns)))?,
                false => state.complete = true,
            }
        }
        let found = row < state.rows.count();
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
                for buffer in [record.odd, record.seen] {
                    self.memory.buffers[buffer as usize].clear();
                }
                let rows = self.begin_kept(node, registers.len(), record.even).numbered(EVEN);
                Box::new(RecursionState { rows, ..RecursionState::default() })
            }
        };
        loop {
            let child = if state.rounds == 0 { record.first } else { record.rest };
            while self.next(At(child))? {
                self.breath()?;
                let row = self.read_registers(&registers);
                if record.distinct != 0 && !self.find_or_add(&mut state.seen, &row, &kinds, record.seen)?.1 {
                    continue;
                }
                self.keep_values(&mut state.rows, &row)?;
                self.put(node, State::Recursion(state));
                return Ok(true);
            }
            if state.rows.count() == 0 {
                self.states[record.work as usize] = State::New;
                self.put(node, State::Done);
                return Ok(false);
            }
            state.rounds += 1;
            let (buffer, number) = if state.rounds % 2 == 0 { (record.even, EVEN) } else { (record.odd, ODD) };
            let next = self.begin_kept(node, registers.len(), buffer).numbered(number);
            let found = std::mem::replace(&mut state.rows, next);
            self.states[record.work as usize] = State::Kept(Box::new((found, Place::default())));
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
        let mut place = self.place_of(node);
        let mut found = false;
        while !found {
            let State::Kept(work) = std::mem::take(&mut self.states[record.work as usize]) else { break };
            let pairs = bytes.list(At(record.columns)).groups::<2>();
            let registers = pairs.map(|[column, register]| (column as usize, register));
            let read = self.read_kept(&work.0, &mut place, node, registers);
            self.states[record.work as usize] = State::Kept(work);
            if !read? {
                break;
            }
            self.breath()?;
            found = self.holds(record.filter)?;
        }
        self.put_place(node, place);
        Ok(found)
    }
}
