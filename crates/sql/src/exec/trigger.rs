//! Triggers of the tables that a statement changes.
//!
//! ```text
//!   first row ──> BEFORE STATEMENT
//!   each row  ──> locked ──> BEFORE ROW: another row, or none ──> generated columns ──> checks, heap ──> noted for AFTER ROW
//!   last row  ──> checks at the statement's end and AFTER ROW, in the order in which they were noted ──> AFTER STATEMENT
//! ```
//!
//! Rules
//! 1. The session fires a trigger ([`Caller::fire`]): its function's statements are executions of their own, which see what this one has done.
//! 2. A row is locked before its triggers are fired, so that they are fired once for it, with the version that is changed.
//! 3. What is noted for the statement's end is in one list with the checks of foreign keys, which PostgreSQL makes by triggers too: those
//!    of a row come before its triggers.
//! 4. Rows that a foreign key changes along are of the same statement: what is fired behind them comes at the end of the list. For each
//!    table and event, what is fired for statements is fired once, before the first row and behind the last.
//! 5. Whether a trigger is due (its condition) is asked when the row has been changed.

use super::Exec;
use super::modify::ModifyState;
use super::reference::Pending;
use super::routine::Caller;
use super::stored::no_tables;
use super::target::Target;
use super::value::Value;
use crate::catalog::definition::TableDef;
use crate::catalog::trigger::{BEFORE, DELETE, INSERT, INSTEAD, ROW, UPDATE};
use crate::plan::blob::{At, Constant, put_value};
use crate::plan::record::TriggerRecord;
use crate::types::{Oid, table};
use base::{Error, Result, sqlstate};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use storage::heap::{Outcome, RowWait, Writer};
use storage::page::Tid;
use storage::txn::Strength;

/// The number of the provider of the first of a trigger's tables of changed rows: see [`crate::catalog::definition::Rows::Made`].
pub const TRANSITIONS: u32 = u32::MAX - 8;

/// The words of a trigger's record that say that it reads changed rows as tables.
pub const HAS_OLD_TABLE: u32 = 1;
/// Likewise.
pub const HAS_NEW_TABLE: u32 = 2;

/// A trigger that is to be fired.
pub struct Firing<'f> {
    /// The table.
    pub table: Oid,
    /// The trigger.
    pub trigger: Oid,
    /// What has happened: a bit of [`crate::catalog::trigger`].
    pub event: u16,
    /// The row as it was: a value for each column of the table.
    pub old: Option<&'f [Constant]>,
    /// The row as it is, or is to be.
    pub new: Option<&'f [Constant]>,
    /// All rows that the statement has changed.
    pub captured: Option<&'f Rc<Captured>>,
}

/// What a trigger's function gave.
pub enum Fired {
    /// No row.
    Nothing,
    /// A row: a value for each column of the table.
    Row(Vec<Constant>),
}

/// The rows that a statement has changed, for triggers that read them as tables.
#[derive(Default, Debug)]
pub struct Captured {
    /// As they were, as `plan::blob::put_value` writes them.
    pub old: RefCell<Rows>,
    /// As they are.
    pub new: RefCell<Rows>,
}

/// Rows one after another.
#[derive(Default, Debug)]
pub struct Rows {
    /// Their values.
    pub bytes: Vec<u8>,
    /// How many there are.
    pub count: u64,
}

/// Changed rows under the name that a trigger gives them.
pub struct Transition {
    /// What it is like to whoever reads it.
    pub table: Arc<TableDef>,
    /// The rows, with those of columns that are gone.
    pub rows: Rc<Captured>,
    /// The new ones.
    pub new: bool,
    /// The types of the columns as they are stored, and whether each is shown.
    pub columns: Vec<(Oid, bool)>,
}

/// The old and the new row of an event.
pub(super) struct Changed {
    pub(super) old: Option<Vec<Constant>>,
    pub(super) new: Option<Vec<Constant>>,
}

/// What a statement knows of the triggers of its table.
pub(super) struct Fires {
    /// The columns that it assigns.
    pub(super) updated: Vec<u16>,
    /// Rows for triggers that read them as tables, by event.
    captured: Vec<(u16, Rc<Captured>)>,
}

impl Fires {
    fn captured(&self, event: u16) -> Option<&Rc<Captured>> {
        self.captured.iter().find(|known| known.0 == event).map(|known| &known.1)
    }
}

/// Does the table have a trigger for each row, at that time, of that event?
pub(super) fn has(target: &Target, bits: u16) -> bool {
    target.triggers.iter().any(|trigger| is(trigger, bits))
}

fn is(trigger: &TriggerRecord, bits: u16) -> bool {
    const WHEN: u16 = ROW | BEFORE | INSTEAD;
    let kind = trigger.kind as u16;
    kind & WHEN == bits & WHEN && kind & bits == bits
}

#[cold]
fn no_caller() -> Error {
    Error::unsupported("a trigger cannot be fired here")
}

/// A trigger has changed the row that it was fired for.
#[cold]
pub(super) fn changed_by_trigger(event: u16) -> Error {
    let what = if event == DELETE { "deleted" } else { "updated" };
    let message = format!("tuple to be {what} was already modified by an operation triggered by the current command");
    Error::statement(sqlstate::TRIGGERED_DATA_CHANGE_VIOLATION, message)
        .hint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.")
}

impl<'e> Exec<'e> {
    fn caller(&self) -> Result<&'e dyn Caller> {
        self.around.caller.ok_or_else(no_caller)
    }

    /// The triggers of a table for a time and an event, in order.
    fn triggers_for(&self, target: &Target, bits: u16, updated: &[u16]) -> Vec<TriggerRecord> {
        let applies = |trigger: &&TriggerRecord| {
            let mut columns = self.plan.bytes.list(At(trigger.columns)).iter();
            let any = bits & UPDATE == 0 || trigger.columns == 0;
            is(trigger, bits) && (any || columns.any(|column| updated.contains(&(column as u16))))
        };
        target.triggers.iter().filter(applies).copied().collect()
    }

    fn is_due(&mut self, firing: &Firing<'_>) -> Result<bool> {
        let caller = self.caller()?;
        caller.is_due(firing, self.tables.as_mut())
    }

    fn fire(&mut self, firing: &Firing<'_>) -> Result<Fired> {
        let caller = self.caller()?;
        caller.fire(firing, self.tables.as_mut())
    }

    /// Values as constants: one for each column.
    pub(super) fn constants(&self, values: &[Value]) -> Vec<Constant> {
        values.iter().map(|value| Constant::of(self.memory.datum(*value))).collect()
    }

    /// What a statement that assigns these columns has to know; none if the table has no triggers.
    pub(super) fn fires_of(&mut self, target: &Target, updated: Vec<u16>) -> Option<Box<Fires>> {
        if target.triggers.is_empty() {
            return None;
        }
        let mut captured = Vec::new();
        for event in [INSERT, UPDATE, DELETE] {
            let reads = |trigger: &TriggerRecord| trigger.tables != 0 && trigger.kind as u16 & event != 0;
            if !target.triggers.iter().any(reads) {
                continue;
            }
            let known = self.captured.iter().find(|known| (known.0, known.1) == (target.record.oid, event));
            let rows = match known {
                Some((_, _, rows)) => rows.clone(),
                None => {
                    let rows = Rc::<Captured>::default();
                    self.captured.push((target.record.oid, event, rows.clone()));
                    rows
                }
            };
            captured.push((event, rows));
        }
        Some(Box::new(Fires { updated, captured }))
    }

    // ---- statements

    /// Fires what is fired before a statement.
    pub(super) fn before_statement(&mut self, target: &Target, event: u16, updated: &[u16]) -> Result<()> {
        let key = (target.record.oid, event);
        if self.begun.contains(&key) {
            return Ok(());
        }
        self.begun.push(key);
        for trigger in self.triggers_for(target, BEFORE | event, updated) {
            let (table, trigger) = (Oid(target.record.oid), Oid(trigger.oid));
            let firing = Firing { table, trigger, event, old: None, new: None, captured: None };
            if self.is_due(&firing)? {
                self.fire(&firing)?;
            }
        }
        Ok(())
    }

    /// Notes what is fired behind a statement.
    pub(super) fn note_statement(&mut self, target: &Target, event: u16, fires: &Fires) -> Result<()> {
        for trigger in self.triggers_for(target, event, &fires.updated) {
            let captured = fires.captured(event).cloned();
            let is_same = |known: &Pending| {
                matches!(known, Pending::Fire { trigger: noted, event: of, rows: None, .. }
                    if (*noted, *of) == (trigger.oid, event))
            };
            self.pending.retain(|known| !is_same(known));
            self.note(Pending::Fire { table: target.at, trigger: trigger.oid, event, rows: None, captured })?;
        }
        Ok(())
    }

    fn note(&mut self, pending: Pending) -> Result<()> {
        let bytes = (self.pending.len() + 1) * size_of::<Pending>();
        self.pending.try_reserve(1).map_err(|_| Error::out_of_memory("the triggers of a statement", bytes))?;
        self.pending.push_back(pending);
        Ok(())
    }

    /// Fires what was noted.
    pub(super) fn fire_noted(
        &mut self,
        table: At,
        trigger: u32,
        event: u16,
        rows: Option<&Changed>,
        captured: Option<&Rc<Captured>>,
    ) -> Result<()> {
        let target = self.target(table)?;
        let firing = Firing {
            table: Oid(target.record.oid),
            trigger: Oid(trigger),
            event,
            old: rows.and_then(|rows| rows.old.as_deref()),
            new: rows.and_then(|rows| rows.new.as_deref()),
            captured,
        };
        if rows.is_none() {
            // What follows is for the next time.
            self.captured.retain(|known| (known.0, known.1) != (target.record.oid, event));
        }
        // Whether it is due for a row was asked when the row was changed.
        if rows.is_some() || self.is_due(&firing)? {
            self.fire(&firing)?;
        }
        Ok(())
    }

    // ---- rows

    /// Fires what is fired before a row is changed, or instead of that. None if the row is to be left alone; else the new row, if
    /// there is one.
    pub(super) fn before_row(
        &mut self,
        target: &Target,
        bits: u16,
        updated: &[u16],
        old: Option<&[Constant]>,
        new: Option<Vec<Constant>>,
    ) -> Result<Option<Vec<Constant>>> {
        let mut new = new;
        let event = bits & (INSERT | UPDATE | DELETE);
        for trigger in self.triggers_for(target, bits, updated) {
            let (table, trigger) = (Oid(target.record.oid), Oid(trigger.oid));
            let firing = Firing { table, trigger, event, old, new: new.as_deref(), captured: None };
            if !self.is_due(&firing)? {
                continue;
            }
            match self.fire(&firing)? {
                Fired::Nothing => return Ok(None),
                Fired::Row(row) if new.is_some() => new = Some(row),
                Fired::Row(_) => {}
            }
        }
        Ok(Some(new.unwrap_or_default()))
    }

    /// Notes what is fired behind a row that was changed, and keeps the row for those who read all of them.
    pub(super) fn note_row(
        &mut self,
        target: &Target,
        event: u16,
        fires: &Fires,
        old: Option<Vec<Constant>>,
        new: Option<Vec<Constant>>,
    ) -> Result<()> {
        let captured = fires.captured(event).cloned();
        if let Some(captured) = &captured {
            let wants = |bit| target.triggers.iter().any(|trigger| trigger.tables & bit != 0);
            for (row, place, bit) in [(&old, &captured.old, HAS_OLD_TABLE), (&new, &captured.new, HAS_NEW_TABLE)] {
                if let Some(row) = row.as_ref().filter(|_| wants(bit)) {
                    let mut rows = place.borrow_mut();
                    let bytes: usize = row
                        .iter()
                        .map(|value| if let Constant::Bytes(bytes) = value { bytes.len() + 16 } else { 16 })
                        .sum();
                    rows.bytes
                        .try_reserve(bytes)
                        .map_err(|_| Error::out_of_memory("the rows that triggers read", bytes))?;
                    for (column, value) in row.iter().enumerate() {
                        put_value(target.kind(column as u16), value.datum(), &mut rows.bytes)?;
                    }
                    rows.count += 1;
                }
            }
        }
        let triggers = self.triggers_for(target, ROW | event, &fires.updated);
        if triggers.is_empty() {
            return Ok(());
        }
        let rows = Rc::new(Changed { old, new });
        for trigger in triggers {
            let firing = Firing {
                table: Oid(target.record.oid),
                trigger: Oid(trigger.oid),
                event,
                old: rows.old.as_deref(),
                new: rows.new.as_deref(),
                captured: None,
            };
            if self.is_due(&firing)? {
                if self.waits(trigger.constraint, trigger.deferral) {
                    self.defer_firing(target, (trigger.oid, trigger.constraint, trigger.deferral), event, &rows)?;
                    continue;
                }
                let (rows, captured) = (Some(rows.clone()), captured.clone());
                self.note(Pending::Fire { table: target.at, trigger: trigger.oid, event, rows, captured })?;
            }
        }
        Ok(())
    }

    /// Does somebody want to hear of each row of an event?
    pub(super) fn hears_rows(&self, target: &Target, event: u16, fires: &Fires) -> bool {
        fires.captured(event).is_some() || has(target, ROW | event)
    }

    /// The statement itself has ended the row's version already: alright, if that was this very command.
    pub(super) fn check_own(&self, command: u32, event: u16) -> Result<()> {
        match &self.tables {
            Some(tables) if tables.command() != command => Err(changed_by_trigger(event)),
            _ => Ok(()),
        }
    }

    /// Locks a row before its triggers are fired.
    pub(super) fn hold_row(&mut self, target: &Target, tid: Tid, event: u16, updated: &[u16]) -> Result<Outcome> {
        let is_key = |index: &super::target::Index| {
            index.unique && index.columns.iter().any(|(column, _)| updated.contains(column))
        };
        let strength = match event == DELETE || target.indexes.iter().any(is_key) {
            true => Strength::Update,
            false => Strength::NoKeyUpdate,
        };
        let Some(tables) = &mut self.tables else { return Err(no_tables()) };
        let (snapshot, isolation, deadline) = (tables.snapshot, tables.isolation, tables.deadline());
        let writer = Writer { snapshot: &snapshot, isolation, pairs: &mut *tables.pairs, deadline };
        target.heap.lock(&writer, tid, strength, RowWait::Wait)
    }

    // ---- the new row in its registers

    /// The row that is to be, as triggers before the change see it: its generated columns are not known yet.
    pub(super) fn proposed(&self, target: &Target, values: &[Value]) -> Vec<Constant> {
        let mut row = self.constants(values);
        for column in self.plan.bytes.list(At(target.record.generated)).iter() {
            row[column as usize] = Constant::Null;
        }
        row
    }

    /// Puts a new row into its registers, and computes what is generated from it.
    pub(super) fn put_new(&mut self, state: &mut ModifyState, row: &[Constant]) -> Result<()> {
        let record = state.record;
        self.memory.buffers[record.new_buffer as usize].clear();
        let registers = self.plan.bytes.list(At(record.values));
        state.new.clear();
        for (column, value) in row.iter().enumerate() {
            let value = self.memory.to_buffer(record.new_buffer, value.datum())?;
            self.set(registers.get(column), value);
            state.new.push(value);
        }
        if record.generated != 0 {
            self.assign(record.generated, record.generated_buffer)?;
            for column in self.plan.bytes.list(At(state.target.record.generated)).iter() {
                if let Some(register) = registers.get(column as usize).checked_sub(1) {
                    state.new[column as usize] = self.registers[register as usize];
                }
            }
        }
        Ok(())
    }

    // ---- changing along

    /// Does something to rows of another table: triggers are fired around it.
    pub(super) fn along(
        &mut self,
        target: &Target,
        event: u16,
        updated: &[u16],
        run: impl FnOnce(&mut Self, Option<&Fires>) -> Result<()>,
    ) -> Result<()> {
        let Some(fires) = self.fires_of(target, updated.to_vec()) else { return run(self, None) };
        self.before_statement(target, event, updated)?;
        run(self, Some(&fires))?;
        self.note_statement(target, event, &fires)
    }
}

impl Transition {
    /// The rows, each a value for each column that is shown, given to `each`.
    pub(super) fn rows(&self, mut each: impl FnMut(Vec<Constant>) -> Result<()>) -> Result<()> {
        let rows = if self.new { &self.rows.new } else { &self.rows.old };
        let rows = rows.borrow();
        let mut at = 0;
        for _ in 0..rows.count {
            let mut row = Vec::with_capacity(self.columns.len());
            for (oid, shown) in &self.columns {
                let (datum, next) = crate::plan::blob::get_value(table::kind(*oid), &rows.bytes, at)?;
                at = next;
                if *shown {
                    row.push(Constant::of(datum));
                }
            }
            each(row)?;
        }
        Ok(())
    }
}
