//! `SELECT … FOR UPDATE` and its relatives: each row is locked in its tables before it is given.
//!
//! Where somebody has changed a row meanwhile, the storage answers its newest version, locked: its columns are put into the
//! registers of the row that was found, the conditions are tested on it and the results computed again. A row for which
//! they do not hold any more is not given, and stays locked, as in PostgreSQL.

use super::Exec;
use super::stored::{load_row, no_tables, shapes_of, tid_of, tid_value};
use crate::plan::blob::At;
use crate::plan::record::{LockRecord, LockRows};
use base::{Error, RelId, Result, sqlstate};
use storage::heap::{Outcome, RowWait};
use storage::txn::Strength;

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
        'rows: while self.next(At(record.child))? {
            self.breath()?;
            let mut changed = false;
            for at in bytes.list(At(record.locks)).iter() {
                match self.lock_row(&LockRecord::read(bytes, At(at)))? {
                    Locked::Same => {}
                    Locked::Changed => changed = true,
                    Locked::Out => continue 'rows,
                }
            }
            if changed {
                if !self.holds(record.recheck)? {
                    continue;
                }
                if record.recompute != 0 {
                    self.assign(record.recompute, record.buffer)?;
                }
            }
            return Ok(true);
        }
        Ok(false)
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
