//! `SELECT … FOR UPDATE` and its relatives: each row is locked in its tables before it is given.
//!
//! Where somebody has changed a row meanwhile, the storage answers its newest version, locked: its columns are put into the
//! registers of the row that was found, the conditions are tested on it and the results computed again. A row for which
//! they do not hold any more is not given, and stays locked, as in PostgreSQL. With the rows of the other tables as they were: an outer
//! join of whose condition that is true gives nulls for its other side.
//!
//! The node below may count on the registers that it has set, such as a join that gives further pairs of a row. So they are put back before
//! it is asked for more.

use super::stored::{load_row, no_tables, shapes_of, tid_of, tid_value};
use super::value::Value;
use super::{Exec, State};
use crate::plan::blob::{At, List};
use crate::plan::record::{LockRecord, LockRows};
use base::{Error, RelId, Result, sqlstate};
use smallvec::SmallVec;
use storage::heap::{Outcome, RowWait};
use storage::txn::Strength;

/// What registers had in them.
type Registers = SmallVec<[Value; 16]>;

const WAIT: u32 = 0;
const NO_WAIT: u32 = 1;

/// What came of a row.
enum Locked {
    /// It is as it was.
    Same,
    /// It has changed.
    Changed,
    /// It is gone, or somebody has it and it is to be left out.
    Out,
}

impl Exec<'_> {
    pub(super) fn lock_rows(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = LockRows::read(bytes, node);
        let saved = bytes.list(At(record.saved));
        if let State::Before(values) = self.take(node) {
            self.put_back(saved, &values);
        }
        'rows: while self.next(At(record.child))? {
            self.breath()?;
            let before: Registers = saved.iter().map(|register| self.registers[register as usize]).collect();
            let mut changed = false;
            for at in bytes.list(At(record.locks)).iter() {
                match self.lock_row(&LockRecord::read(bytes, At(at)))? {
                    Locked::Same => {}
                    Locked::Changed => changed = true,
                    Locked::Out => {
                        self.put_back(saved, &before);
                        continue 'rows;
                    }
                }
            }
            if changed {
                self.test_outer_joins(&record)?;
                if !self.holds(record.recheck)? {
                    self.put_back(saved, &before);
                    continue;
                }
                if record.recompute != 0 {
                    self.assign(record.recompute, record.buffer)?;
                }
                self.put(node, State::Before(before.into_vec()));
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Makes nulls of the sides of outer joins that do not fit any more.
    fn test_outer_joins(&mut self, record: &LockRows) -> Result<()> {
        let bytes = self.plan.bytes;
        let mut joins = bytes.list(At(record.joins)).iter();
        while let (Some(condition), Some(registers)) = (joins.next(), joins.next()) {
            if !self.holds(condition)? {
                bytes.list(At(registers)).iter().for_each(|register| self.registers[register as usize] = Value::Null);
            }
        }
        Ok(())
    }

    fn put_back(&mut self, saved: List<'_>, values: &[Value]) {
        for (register, value) in saved.iter().zip(values) {
            self.registers[register as usize] = *value;
        }
    }

    fn lock_row(&mut self, lock: &LockRecord) -> Result<Locked> {
        let bytes = self.plan.bytes;
        let register = lock.row_register as usize;
        // A row that an outer join has made up is nowhere.
        let Some(tid) = tid_of(self.registers[register]) else { return Ok(Locked::Same) };
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
            Outcome::Done { .. } => Ok(Locked::Same),
            Outcome::Changed { tid, row } => {
                let shapes = shapes_of(bytes.list(At(lock.kinds)));
                let columns = bytes.list(At(lock.columns));
                let (memory, registers) = (&mut self.memory, &mut self.registers);
                load_row(heap.relations(), memory, registers, (lock.buffer, columns, &shapes), &row)?;
                self.registers[register] = tid_value(tid);
                Ok(Locked::Changed)
            }
            Outcome::Busy if lock.wait == NO_WAIT => {
                let message = format!("could not obtain lock on row in relation \"{}\"", bytes.text(At(lock.name)));
                Err(Error::statement(sqlstate::LOCK_NOT_AVAILABLE, message))
            }
            Outcome::Busy | Outcome::Gone | Outcome::Own(_) => Ok(Locked::Out),
        }
    }
}
