//! `INSERT … ON CONFLICT`: what happens with a row whose key is there already.
//!
//! A row with the key is looked for first, so that the common conflict costs no row that nobody will see. Between that look
//! and the index somebody may still be faster: the index says so, the row that was put into the heap is deleted again,
//! and all begins anew with the row that is there now.
//!
//! Rules
//! 1. Only the indexes that the clause means settle conflicts; a key that is there in another one is an error.
//! 2. `DO UPDATE` changes a row once: a second time is an error (`21000`).
//! 3. At `REPEATABLE READ` a row that the transaction does not see cannot be changed or passed over (`40001`).

use super::Exec;
use super::modify::ModifyState;
use super::stored::{load_row, no_tables};
use super::target::{RowKey, Target};
use super::trigger::has;
use super::value::Value;
use crate::catalog::trigger::{BEFORE, ROW, UPDATE};
use crate::plan::blob::{At, Bytes};
use crate::plan::record::ConflictRecord;
use base::{Error, Kind, Result, sqlstate};
use storage::Snapshot;
use storage::heap::{Fetched, Isolation, Outcome, Reader, RowWait, Writer};
use storage::page::Tid;
use storage::txn::Strength;

/// What became of the row that is there.
enum Settled {
    /// It was updated.
    Updated,
    /// It stays, and so does the new row stay out.
    Left,
    /// It has gone meanwhile.
    Again,
}

#[cold]
fn twice() -> Error {
    Error::statement(sqlstate::CARDINALITY_VIOLATION, "ON CONFLICT DO UPDATE command cannot affect row a second time")
        .hint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
}

/// Does a conflict in an index mean what the clause says?
fn settles(bytes: Bytes<'_>, conflict: &ConflictRecord, index: u32) -> bool {
    let indexes = bytes.list(At(conflict.indexes));
    indexes.iter().next().is_none() || indexes.iter().any(|known| known == index)
}

impl Exec<'_> {
    /// Inserts the new row, or does what the clause says. True if a row was inserted or updated.
    pub(super) fn insert_or_else(&mut self, state: &mut ModifyState) -> Result<bool> {
        let conflict = ConflictRecord::read(self.plan.bytes, At(state.record.conflict));
        let target = state.target.clone();
        loop {
            kernel::session::check_interrupts()?;
            if let Some(tid) = self.row_in_the_way(&target, &conflict, &state.new)? {
                match self.settle(state, &conflict, tid)? {
                    Settled::Updated => return Ok(true),
                    Settled::Left => return Ok(false),
                    Settled::Again => continue,
                }
            }
            let tid = self.put_row(&target, &state.new)?;
            let Some(duplicate) = self.enter_row(&target, &state.new, tid)? else {
                self.references_of_new(&target, (tid, u32::MAX), &state.new, |_| true)?;
                self.check_views(state.record.view_checks, &target, &state.new)?;
                self.inserted(state)?;
                return Ok(true);
            };
            if !settles(self.plan.bytes, &conflict, target.indexes[duplicate.index].oid) {
                return Err(self.duplicate_key(&target, duplicate.index, &state.new));
            }
            self.take_back(&target, tid)?;
            match self.settle(state, &conflict, duplicate.tid)? {
                Settled::Updated => return Ok(true),
                Settled::Left => return Ok(false),
                Settled::Again => {}
            }
        }
    }

    /// A snapshot of now that sees what the statement has done; to be released.
    fn latest(&self) -> Result<Snapshot> {
        let Some(tables) = &self.tables else { return Err(no_tables()) };
        let after = tables.after();
        Ok(tables.relations.storage().transactions.snapshot().at_command(after.own, after.command))
    }

    fn release(&self, snapshot: Snapshot) {
        if let Some(tables) = &self.tables {
            tables.relations.storage().transactions.release(snapshot);
        }
    }

    /// A row that is there now and has a key of the new one, in an index that settles conflicts.
    fn row_in_the_way(&mut self, target: &Target, conflict: &ConflictRecord, values: &[Value]) -> Result<Option<Tid>> {
        let snapshot = self.latest()?;
        let found = self.visible_duplicate(target, conflict, values, &snapshot);
        self.release(snapshot);
        found
    }

    fn visible_duplicate(
        &mut self,
        target: &Target,
        conflict: &ConflictRecord,
        values: &[Value],
        snapshot: &Snapshot,
    ) -> Result<Option<Tid>> {
        for index in target.indexes.iter().filter(|index| index.unique) {
            if !settles(self.plan.bytes, conflict, index.oid) {
                continue;
            }
            if index.deferral != 0 {
                let message =
                    "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters";
                return Err(Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
            }
            if self.row_key(target, index, values)? != RowKey::Unique {
                continue;
            }
            let Some(tables) = &self.tables else { return Err(no_tables()) };
            let reader = Reader { snapshot, pairs: tables.pairs.pairs() };
            for &tid in index.tree.lookup(&self.key_bytes)?.tids() {
                if let Fetched::Row(tid) = target.heap.fetch(&reader, tid, |tid, _| tid)? {
                    return Ok(Some(tid));
                }
            }
        }
        Ok(None)
    }

    /// Deletes a row that this statement has just put into the heap.
    fn take_back(&mut self, target: &Target, tid: Tid) -> Result<()> {
        let Some(tables) = &mut self.tables else { return Err(no_tables()) };
        let snapshot = tables.after();
        let (isolation, deadline) = (tables.isolation, tables.deadline());
        let mut writer = Writer { snapshot: &snapshot, isolation, pairs: &mut *tables.pairs, deadline };
        target.heap.delete(&mut writer, tid)?;
        self.end_pieces(target, tid)
    }

    /// Does what the clause says with the row that is there.
    fn settle(&mut self, state: &mut ModifyState, conflict: &ConflictRecord, tid: Tid) -> Result<Settled> {
        let snapshot = self.latest()?;
        let settled = self.settle_by(state, conflict, tid, &snapshot);
        self.release(snapshot);
        settled
    }

    fn settle_by(
        &mut self,
        state: &mut ModifyState,
        conflict: &ConflictRecord,
        tid: Tid,
        snapshot: &Snapshot,
    ) -> Result<Settled> {
        let target = state.target.clone();
        let Some(tables) = &mut self.tables else { return Err(no_tables()) };
        if tables.isolation == Isolation::RepeatableRead {
            let seen = Reader { snapshot: &tables.after(), pairs: tables.pairs.pairs() };
            if target.heap.fetch_version(&seen, tid, |_| ())?.is_none() {
                let message = "could not serialize access due to concurrent update";
                return Err(Error::new(Kind::Retry, sqlstate::SERIALIZATION_FAILURE, message));
            }
        }
        if conflict.update == 0 {
            return Ok(Settled::Left);
        }
        // What this very statement has made is seen behind it, and not by it.
        let before = snapshot.at_command(snapshot.own, tables.command());
        let read = |snapshot: &Snapshot, tables: &super::access::Tables<'_>| {
            let reader = Reader { snapshot, pairs: tables.pairs.pairs() };
            target.heap.fetch_version(&reader, tid, <[u8]>::to_vec)
        };
        if read(&before, tables)?.is_none() && read(snapshot, tables)?.is_some() {
            return Err(twice());
        }
        let keys = target.indexes.iter().any(|index| index.unique && index.mask & conflict.assigned != 0);
        let strength = if keys { Strength::Update } else { Strength::NoKeyUpdate };
        let (isolation, deadline) = (tables.isolation, tables.deadline());
        let writer = Writer { snapshot: &before, isolation, pairs: &mut *tables.pairs, deadline };
        match target.heap.lock(&writer, tid, strength, RowWait::Wait)? {
            Outcome::Done { .. } => {}
            Outcome::Own(_) => return Err(twice()),
            Outcome::Changed { .. } | Outcome::Gone | Outcome::Busy => return Ok(Settled::Again),
        }
        let Some(row) = read(&before, tables)? else { return Ok(Settled::Again) };
        self.update_existing(state, conflict, tid, &row, &before)
    }

    /// `DO UPDATE`, on a row that is locked.
    fn update_existing(
        &mut self,
        state: &mut ModifyState,
        conflict: &ConflictRecord,
        tid: Tid,
        row: &[u8],
        snapshot: &Snapshot,
    ) -> Result<Settled> {
        const FIRED: u16 = ROW | BEFORE | UPDATE;
        let bytes = self.plan.bytes;
        let target = state.target.clone();
        let columns = bytes.list(At(conflict.existing));
        let (memory, registers) = (&mut self.memory, &mut self.registers);
        load_row(target.heap.relations(), memory, registers, (state.record.row_buffer, columns, &target.shapes), row)?;
        for [column, register] in bytes.list(At(conflict.excluded)).groups::<2>() {
            self.registers[register as usize] = state.new[column as usize];
        }
        if !self.holds(conflict.filter)? {
            return Ok(Settled::Left);
        }
        if conflict.program != 0 {
            self.assign(conflict.program, conflict.buffer)?;
        }
        let old = self.values_of(&target, row)?;
        let mut new = old.clone();
        for (column, register) in bytes.list(At(conflict.values)).iter().enumerate() {
            if register > 0 {
                new[column] = self.registers[register as usize - 1];
            }
        }
        if let Some(fires) = state.fires.as_ref().filter(|_| has(&target, FIRED)) {
            let (before, proposed) = (self.constants(&old), self.proposed(&target, &new));
            let updated = fires.updated.clone();
            let Some(row) = self.before_row(&target, FIRED, &updated, Some(&before), Some(proposed))? else {
                return Ok(Settled::Left);
            };
            self.put_new(state, &row)?;
            new.clone_from(&state.new);
        }
        // Checks and RETURNING read the new row from the registers of the one that was to be inserted.
        for (value, register) in new.iter().zip(bytes.list(At(state.record.values)).iter()) {
            self.set(register, *value);
        }
        self.check_not_null(&target, &new)?;
        self.check_conditions(state.record.checks, &target, &new)?;
        let changed = |exec: &Self, column: u16| {
            let at = usize::from(column);
            !exec.same(target.kind(column), old[at], new[at])
        };
        let changes = target.changes(conflict.assigned, |column| changed(self, column));
        let pieces = self.make_row(&target, &new, Some(tid))?;
        let Some(tables) = &mut self.tables else { return Err(no_tables()) };
        let (isolation, deadline) = (tables.isolation, tables.deadline());
        let mut writer = Writer { snapshot, isolation, pairs: &mut *tables.pairs, deadline };
        let outcome = target.heap.update(&mut writer, tid, &self.row_bytes, changes)?;
        self.row_is_in(pieces, matches!(outcome, Outcome::Done { .. }))?;
        let tid = match outcome {
            Outcome::Done { tid, hot } => {
                if !hot && let Some(duplicate) = self.enter_row(&target, &new, tid)? {
                    return Err(self.duplicate_key(&target, duplicate.index, &new));
                }
                tid
            }
            // It is locked.
            Outcome::Own(command) => {
                self.check_own(command, UPDATE)?;
                return Ok(Settled::Again);
            }
            Outcome::Changed { .. } | Outcome::Gone | Outcome::Busy => return Ok(Settled::Again),
        };
        self.after_update(&target, (tid, conflict.assigned), &new, changed, |_, column| old[usize::from(column)])?;
        self.check_views(state.record.view_checks, &target, &new)?;
        if let Some(fires) = &state.fires
            && self.hears_rows(&target, UPDATE, fires)
        {
            let (old, new) = (Some(self.constants(&old)), Some(self.constants(&new)));
            self.note_row(&target, UPDATE, fires, old, new)?;
        }
        Ok(Settled::Updated)
    }
}
