//! `INSERT`, `UPDATE`, `DELETE`: what is done with each row that the node below gives.
//!
//! ```text
//!  row of the child ---> new values ---> constraints ---> heap ---> indexes ---> foreign keys ---> RETURNING
//!                           ^                              |
//!                           |  condition, values again     | somebody was faster: the newest version, locked
//!                           \------------------------------/
//! ```
//!
//! Rules
//! 1. First updater wins. At `READ COMMITTED` the storage answers the newest version, locked: its columns are put into the
//!    registers of the row that was found, all of `WHERE` is tested on it and the new values are computed from it. Other
//!    tables' rows stay those that were found. At `REPEATABLE READ` the storage fails with `40001`.
//! 2. A row that this statement has changed already is left alone: a join found it twice.
//! 3. Below are nodes that count on their registers, such as a join that gives further pairs of a row: what was put into them is set back
//!    before the next row is asked for.
//! 4. What is checked at the statement's end is checked when the child has given its last row, or all
//!    statements in `WITH` have been executed ([`super::reference`], [`super::recursive`]).

use super::stored::{load_row, no_tables, tid_of, tid_value};
use super::target::Target;
use super::trigger::{Fires, has};
use super::value::Value;
use super::{Exec, State};
use crate::catalog::trigger::{self, BEFORE, INSTEAD, ROW};
use crate::plan::blob::{At, Constant};
use crate::plan::record::{ConflictRecord, Modify};
use base::Result;
use std::rc::Rc;
use storage::heap::{Changes, Outcome};
use storage::page::Tid;

const INSERT: u32 = 0;
const UPDATE: u32 = 1;

/// What a statement remembers of the table that it changes.
pub(super) struct ModifyState {
    pub(super) record: Modify,
    pub(super) target: Rc<Target>,
    /// The new row.
    pub(super) new: Vec<Value>,
    /// How many bytes of parameters there were before the first row: what rows put behind them goes with the next one.
    pub(super) parameters: usize,
    /// What is known of the table's triggers; none if it has none.
    pub(super) fires: Option<Box<Fires>>,
    /// What the registers held of the row that was found, if its newest version was put there (rule 3).
    pub(super) found: Option<Vec<Value>>,
}

impl Exec<'_> {
    pub(super) fn modify(&mut self, node: At) -> Result<bool> {
        let mut state = match self.take(node) {
            State::Modify(state) => state,
            State::Done => {
                self.put(node, State::Done);
                return Ok(false);
            }
            _ => {
                let record = Modify::read(self.plan.bytes, node);
                let target = self.target(At(record.table))?;
                let parameters = self.memory.parameters.len();
                let updated = self.plan.bytes.list(At(record.updated)).iter().map(|column| column as u16).collect();
                let fires = self.fires_of(&target, updated);
                let state = Box::new(ModifyState { record, target, new: Vec::new(), parameters, fires, found: None });
                if let Some(fires) = &state.fires {
                    for event in self.events(&state.record) {
                        self.before_statement(&state.target, event, &fires.updated)?;
                    }
                }
                state
            }
        };
        while self.fed != Some(false) && {
            self.set_found_back(&mut state);
            self.next(At(state.record.child))?
        } {
            self.breath()?;
            self.memory.parameters.truncate(state.parameters);
            let done = match state.record.operation {
                _ if state.record.instead != 0 => self.instead(&mut state)?,
                INSERT => self.insert(&mut state)?,
                UPDATE => self.update(&mut state)?,
                _ => self.delete(&mut state)?,
            };
            if !done {
                continue;
            }
            // What is counted are the rows of the statement itself, not of those in its `WITH`.
            self.changed += u64::from(node == self.root);
            if state.record.returning != 0 {
                self.assign(state.record.returning, state.record.buffer)?;
                self.put(node, State::Modify(state));
                return Ok(true);
            }
        }
        if self.fed == Some(true) {
            self.put(node, State::Modify(state));
            return Ok(false);
        }
        self.put(node, State::Done);
        if let Some(fires) = &state.fires {
            for event in self.events(&state.record).into_iter().rev() {
                self.note_statement(&state.target, event, fires)?;
            }
        }
        if !self.has_modifying_commons() {
            self.check_at_end()?;
        }
        Ok(false)
    }

    /// What the statement does, as triggers see it.
    fn events(&self, record: &Modify) -> Vec<u16> {
        match record.operation {
            INSERT
                if record.conflict != 0 && ConflictRecord::read(self.plan.bytes, At(record.conflict)).update != 0 =>
            {
                vec![trigger::INSERT, trigger::UPDATE]
            }
            INSERT => vec![trigger::INSERT],
            UPDATE => vec![trigger::UPDATE],
            _ => vec![trigger::DELETE],
        }
    }

    /// Takes the new row's values from their registers.
    fn new_row(&self, state: &mut ModifyState) {
        state.new.clear();
        let values = self.plan.bytes.list(At(state.record.values));
        state.new.extend(values.iter().map(|register| match register {
            0 => Value::Null,
            register => self.registers[register as usize - 1],
        }));
    }

    fn insert(&mut self, state: &mut ModifyState) -> Result<bool> {
        self.new_row(state);
        let target = state.target.clone();
        if !self.before_insert(state)? {
            return Ok(false);
        }
        self.check_not_null(&target, &state.new)?;
        self.check_conditions(state.record.checks, &target, &state.new)?;
        if state.record.conflict != 0 {
            return self.insert_or_else(state);
        }
        let tid = self.insert_row(&target, &state.new)?;
        self.check_views(state.record.view_checks, &target, &state.new)?;
        self.references_of_new(&target, (tid, u32::MAX), &state.new, |_| true)?;
        self.inserted(state)?;
        Ok(true)
    }

    /// Triggers of a view do what a statement wants; false if they do nothing.
    fn instead(&mut self, state: &mut ModifyState) -> Result<bool> {
        let event = match state.record.operation {
            INSERT => trigger::INSERT,
            UPDATE => trigger::UPDATE,
            _ => trigger::DELETE,
        };
        self.new_row(state);
        let target = state.target.clone();
        let old = (event != trigger::INSERT).then(|| self.old_row(state));
        let new = (event != trigger::DELETE).then(|| self.constants(&state.new));
        match self.before_row(&target, ROW | INSTEAD | event, &[], old.as_deref(), new)? {
            None => Ok(false),
            Some(_) if event == trigger::DELETE => Ok(true),
            Some(row) => self.put_new(state, &row).map(|()| true),
        }
    }

    /// Triggers before a row is inserted; false if it is not to be.
    fn before_insert(&mut self, state: &mut ModifyState) -> Result<bool> {
        const FIRED: u16 = ROW | BEFORE | trigger::INSERT;
        if state.fires.is_none() || !has(&state.target, FIRED) {
            return Ok(true);
        }
        let proposed = self.proposed(&state.target, &state.new);
        let target = state.target.clone();
        match self.before_row(&target, FIRED, &[], None, Some(proposed))? {
            Some(row) => self.put_new(state, &row).map(|()| true),
            None => Ok(false),
        }
    }

    /// A row was inserted: triggers behind it.
    pub(super) fn inserted(&mut self, state: &ModifyState) -> Result<()> {
        let Some(fires) = &state.fires else { return Ok(()) };
        if !self.hears_rows(&state.target, trigger::INSERT, fires) {
            return Ok(());
        }
        let new = Some(self.constants(&state.new));
        self.note_row(&state.target, trigger::INSERT, fires, None, new)
    }

    /// The row that is changed, as it was.
    fn old_row(&self, state: &ModifyState) -> Vec<Constant> {
        let columns = 0..state.target.shapes.len();
        columns.map(|column| Constant::of(self.memory.datum(self.old_value(state, column as u16)))).collect()
    }

    /// Locks the row whose place is in its register before triggers are fired for it, as its newest version; none if it is to be left
    /// alone.
    fn hold_for(&mut self, state: &mut ModifyState, event: u16, tid: Tid) -> Result<Option<Tid>> {
        let mut tid = tid;
        loop {
            let updated = state.fires.as_ref().map_or(&[][..], |fires| &fires.updated);
            match self.hold_row(&state.target, tid, event, updated)? {
                Outcome::Done { .. } => return Ok(Some(tid)),
                Outcome::Changed { tid: newest, row } => {
                    if !self.holds_again(state, newest, &row)? {
                        return Ok(None);
                    }
                    self.assign_again(state)?;
                    tid = newest;
                }
                Outcome::Own(command) => return self.check_own(command, event).map(|()| None),
                Outcome::Gone | Outcome::Busy => return Ok(None),
            }
        }
    }

    fn update(&mut self, state: &mut ModifyState) -> Result<bool> {
        const FIRED: u16 = ROW | BEFORE | trigger::UPDATE;
        let Some(mut tid) = tid_of(self.registers[state.record.row_register as usize]) else { return Ok(false) };
        let target = state.target.clone();
        if state.fires.is_some() && has(&target, FIRED) {
            let Some(held) = self.hold_for(state, trigger::UPDATE, tid)? else { return Ok(false) };
            tid = held;
            self.new_row(state);
            let (old, proposed) = (self.old_row(state), self.proposed(&target, &state.new));
            let updated = state.fires.as_ref().map_or(Vec::new(), |fires| fires.updated.clone());
            let Some(row) = self.before_row(&target, FIRED, &updated, Some(&old), Some(proposed))? else {
                return Ok(false);
            };
            self.put_new(state, &row)?;
        }
        loop {
            self.new_row(state);
            self.check_not_null(&target, &state.new)?;
            self.check_conditions(state.record.checks, &target, &state.new)?;
            let changes = target.changes(state.record.assigned, |column| self.has_changed(state, column));
            match self.update_row(&target, tid, &state.new, changes)? {
                Outcome::Done { tid, .. } => {
                    let changed = |exec: &Self, column| exec.has_changed(state, column);
                    self.after_update(&target, (tid, state.record.assigned), &state.new, changed, |exec, column| {
                        exec.old_value(state, column)
                    })?;
                    self.check_views(state.record.view_checks, &target, &state.new)?;
                    if let Some(fires) = &state.fires
                        && self.hears_rows(&target, trigger::UPDATE, fires)
                    {
                        let (old, new) = (Some(self.old_row(state)), Some(self.constants(&state.new)));
                        self.note_row(&target, trigger::UPDATE, fires, old, new)?;
                    }
                    return Ok(true);
                }
                Outcome::Changed { tid: newest, row } => {
                    if !self.holds_again(state, newest, &row)? {
                        return Ok(false);
                    }
                    if !kernel::fault::planted("sql.lost_update") {
                        self.assign_again(state)?;
                    }
                    tid = newest;
                }
                Outcome::Own(command) => return self.check_own(command, trigger::UPDATE).map(|()| false),
                Outcome::Gone | Outcome::Busy => return Ok(false),
            }
        }
    }

    fn delete(&mut self, state: &mut ModifyState) -> Result<bool> {
        const FIRED: u16 = ROW | BEFORE | trigger::DELETE;
        let Some(mut tid) = tid_of(self.registers[state.record.row_register as usize]) else { return Ok(false) };
        if state.fires.is_some() && has(&state.target, FIRED) {
            let Some(held) = self.hold_for(state, trigger::DELETE, tid)? else { return Ok(false) };
            tid = held;
            let (old, target) = (self.old_row(state), state.target.clone());
            if self.before_row(&target, FIRED, &[], Some(&old), None)?.is_none() {
                return Ok(false);
            }
        }
        loop {
            let Some(tables) = &mut self.tables else { return Err(no_tables()) };
            match state.target.heap.delete(&mut tables.writer(), tid)? {
                Outcome::Done { .. } => {
                    let target = state.target.clone();
                    self.end_pieces(&target, tid)?;
                    self.note_gone(&target, |exec, column| exec.old_value(state, column))?;
                    if let Some(fires) = &state.fires
                        && self.hears_rows(&target, trigger::DELETE, fires)
                    {
                        let old = Some(self.old_row(state));
                        self.note_row(&target, trigger::DELETE, fires, old, None)?;
                    }
                    return Ok(true);
                }
                Outcome::Changed { tid: newest, row } => {
                    if !self.holds_again(state, newest, &row)? {
                        return Ok(false);
                    }
                    tid = newest;
                }
                Outcome::Own(command) => return self.check_own(command, trigger::DELETE).map(|()| false),
                Outcome::Gone | Outcome::Busy => return Ok(false),
            }
        }
    }

    /// Puts a new version in the place of another, and into the indexes where that is due.
    pub(super) fn update_row(
        &mut self,
        target: &Target,
        tid: Tid,
        values: &[Value],
        changes: Changes,
    ) -> Result<Outcome> {
        let pieces = self.make_row(target, values, Some(tid))?;
        let Some(tables) = &mut self.tables else { return Err(no_tables()) };
        let outcome = target.heap.update(&mut tables.writer(), tid, &self.row_bytes, changes)?;
        self.row_is_in(pieces, matches!(outcome, Outcome::Done { .. }))?;
        if let Outcome::Done { tid, hot: false } = outcome
            && let Some(duplicate) = self.enter_row(target, values, tid)?
        {
            return Err(self.duplicate_key(target, duplicate.index, values));
        }
        Ok(outcome)
    }

    /// The value that a column had, as far as it was read; null if it was not.
    fn old_value(&self, state: &ModifyState, column: u16) -> Value {
        match self.plan.bytes.list(At(state.record.old)).get(column.into()) {
            0 => Value::Null,
            register => self.registers[register as usize - 1],
        }
    }

    /// Does the new row differ from the old one in a column? Yes, where the old value is not known.
    fn has_changed(&self, state: &ModifyState, column: u16) -> bool {
        match self.plan.bytes.list(At(state.record.old)).get(column.into()) {
            0 => true,
            register => {
                let old = self.registers[register as usize - 1];
                !self.same(state.target.kind(column), old, state.new[usize::from(column)])
            }
        }
    }

    /// Puts the newest version of a row in the place of the one that was found; true if the condition holds for it.
    fn holds_again(&mut self, state: &mut ModifyState, tid: Tid, row: &[u8]) -> Result<bool> {
        let columns = self.plan.bytes.list(At(state.record.existing));
        if state.found.is_none() {
            let registers = columns.groups::<2>().map(|[_, register]| register).chain([state.record.row_register]);
            state.found = Some(registers.map(|register| self.registers[register as usize]).collect());
        }
        let relations = state.target.heap.relations();
        let (memory, registers) = (&mut self.memory, &mut self.registers);
        load_row(relations, memory, registers, (state.record.row_buffer, columns, &state.target.shapes), row)?;
        self.registers[state.record.row_register as usize] = tid_value(tid);
        self.holds(state.record.recheck)
    }

    /// Sets the registers back that [`holds_again`](Self::holds_again) has set since the last row.
    fn set_found_back(&mut self, state: &mut ModifyState) {
        let Some(found) = state.found.take() else { return };
        let columns = self.plan.bytes.list(At(state.record.existing)).groups::<2>();
        let registers = columns.map(|[_, register]| register).chain([state.record.row_register]);
        registers.zip(found).for_each(|(register, value)| self.registers[register as usize] = value);
    }

    /// Computes the new values again.
    fn assign_again(&mut self, state: &ModifyState) -> Result<()> {
        match state.record.recompute {
            0 => Ok(()),
            program => self.assign(program, state.record.new_buffer),
        }
    }
}
