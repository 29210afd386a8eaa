//! `SELECT … FOR UPDATE` and its relatives: each row is locked in its tables before it is given.
//!
//! Where somebody has changed a row meanwhile, the storage answers its newest version, locked: its columns are put into the
//! registers of the row that was found, the conditions are tested on it and the results computed again. A row for which
//! they do not hold any more is not given, and stays locked, as in PostgreSQL. What an outer join makes of the rows is found out
//! before that: the other tables' rows are those that were found, or null where they do not fit any more.
//!
//! Rules
//! 1. Below are nodes that count on their registers, such as a join that gives further pairs of a row: what was put into them is set back
//!    to what the node gave before it is asked for its next row. The values are those that it gave, not copies, and stand until then.
//! 2. So each pair of a row that has changed is found out to have changed, and tested.

use super::stored::{load_row, no_tables, shapes_of, tid_of, tid_value};
use super::value::Value;
use super::{Exec, State};
use crate::plan::blob::{At, List};
use crate::plan::record::{LockRecord, LockRows};
use base::{Error, RelId, Result, sqlstate};
use storage::heap::{Outcome, RowWait};
use storage::txn::Strength;

const WAIT: u32 = 0;
const NO_WAIT: u32 = 1;

impl Exec<'_> {
    pub(super) fn lock_rows(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = LockRows::read(bytes, node);
        let set = bytes.list(At(record.set));
        if let State::Found(values) = self.take(node) {
            self.set_back(set, &values);
        }
        while self.next(At(record.child))? {
            self.breath()?;
            let mut found = None;
            let mut gives = true;
            let mut locks = bytes.list(At(record.locks)).iter();
            while let (true, Some(at)) = (gives, locks.next()) {
                gives = self.lock_row(&LockRecord::read(bytes, At(at)), set, &mut found)?;
            }
            let Some(found) = found else {
                match gives {
                    true => return Ok(true),
                    false => continue,
                }
            };
            if gives && self.fits_again(&record)? {
                self.put(node, State::Found(found));
                return Ok(true);
            }
            self.set_back(set, &found);
        }
        Ok(false)
    }

    /// Joins rows again of which one has changed, and computes the results; false if a condition does not hold any more.
    fn fits_again(&mut self, record: &LockRows) -> Result<bool> {
        let retested = self.plan.bytes.list(At(record.retested));
        for [condition, results, buffer, nulls] in retested.groups::<4>() {
            if !self.holds(condition)? {
                self.nulls(nulls);
            } else if results != 0 {
                self.assign(results, buffer)?;
            }
        }
        if !self.holds(record.recheck)? {
            return Ok(false);
        }
        if record.recompute != 0 {
            self.assign(record.recompute, record.buffer)?;
        }
        Ok(true)
    }

    fn set_back(&mut self, set: List<'_>, values: &[Value]) {
        set.iter().zip(values).for_each(|(register, value)| self.registers[register as usize] = *value);
    }

    /// Locks one table's row; false if it is gone, or somebody has it and it is to be left out. If it has changed meanwhile its newest
    /// version is in the registers then, and what was in those that are set here is in `found`.
    fn lock_row(&mut self, lock: &LockRecord, set: List<'_>, found: &mut Option<Vec<Value>>) -> Result<bool> {
        let bytes = self.plan.bytes;
        let register = lock.row_register as usize;
        // A row that an outer join has made up is nowhere.
        let Some(tid) = tid_of(self.registers[register]) else { return Ok(true) };
        let Some(tables) = &mut self.tables else { return Err(no_tables()) };
        let heap = tables.relations.heap(RelId(lock.storage));
        let strength = match lock.strength {
            0 => Strength::KeyShare,
            1 => Strength::Share,
            2 => Strength::NoKeyUpdate,
            _ => Strength::Update,
        };
        let wait = if lock.wait == WAIT { RowWait::Wait } else { RowWait::Never };
        match heap.lock(&tables.writer(), tid, strength, wait)? {
            Outcome::Done { .. } => Ok(true),
            Outcome::Changed { tid, row } => {
                found.get_or_insert_with(|| set.iter().map(|at| self.registers[at as usize]).collect());
                let shapes = shapes_of(bytes.list(At(lock.kinds)));
                let columns = bytes.list(At(lock.columns));
                let (memory, registers) = (&mut self.memory, &mut self.registers);
                load_row(heap.relations(), memory, registers, (lock.buffer, columns, &shapes), &row)?;
                self.registers[register] = tid_value(tid);
                Ok(true)
            }
            Outcome::Busy if lock.wait == NO_WAIT => {
                let message = format!("could not obtain lock on row in relation \"{}\"", bytes.text(At(lock.name)));
                Err(Error::statement(sqlstate::LOCK_NOT_AVAILABLE, message))
            }
            Outcome::Busy | Outcome::Gone | Outcome::Own(_) => Ok(false),
        }
    }
}
