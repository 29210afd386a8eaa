//! Foreign keys, from both sides.
//!
//! | what is done | what is checked | when |
//! |---|---|---|
//! | a row that refers is new, or refers to another one | that row is there; it is held `FOR KEY SHARE` | at once; at the statement's end if it is in the same table |
//! | a row that others may refer to goes, or changes its key | none does, or they are changed along | at the statement's end |
//!
//! Both wait for the transaction's end where the constraint may and is told to ([`super::deferred`]); what is changed along does not.
//!
//! Rules
//! 1. At `READ COMMITTED` a check sees what has been committed until it is made, and what its own statement did. A row that
//!    is there for the one transaction cannot go before it ends: whoever deletes it waits for the key-share lock, and finds
//!    the row that refers with a snapshot that is taken after that.
//! 2. Null refers to nothing. With `MATCH FULL` all columns are null then; with `MATCH SIMPLE`, which is what is meant without a word, one is enough.
//! 3. Rows that are changed along are changed with numbers behind the statement's, since they may be rows that it has made; for each key
//!    that is gone with the next one, since what follows must find them: rows that refer to them, and other columns of theirs that refer
//!    to the same row. The checks that follow from that are in the same list.

use super::Exec;
use super::access::Tables;
use super::deferred::Check;
use super::lookup::{Keyed, key_values, places};
use super::stored::no_tables;
use super::target::{Target, index_columns};
use super::trigger::{Captured, Changed, Fires, changed_by_trigger, has};
use super::value::Value;
use crate::catalog::trigger::{BEFORE, DELETE, ROW, UPDATE};
use crate::large;
use crate::plan::blob::{At, put_value};
use crate::plan::record::ReferenceRecord;
use crate::row;
use crate::types::{Arena, Datum, Kind, Oid, Type, cast};
use base::{Error, Object, RelId, Result, sqlstate};
use std::rc::Rc;
use storage::Snapshot;
use storage::heap::{Isolation, Outcome, Reader, Writer};
use storage::page::Tid;

/// What is left to be checked at a statement's end.
pub(super) enum Pending {
    /// A row refers to another one, unless it has been changed again by then.
    Refers { table: At, reference: At, tid: Tid, key: Vec<u8> },
    /// A row that others may refer to is gone, or has another key now.
    Gone { table: At, reference: At, key: Vec<u8>, new: Option<Vec<u8>> },
    /// A key may be in an index twice.
    Unique { table: At, index: usize, key: Vec<u8>, shown: String },
    /// A trigger is to be fired.
    Fire { table: At, trigger: u32, event: u16, rows: Option<Rc<Changed>>, captured: Option<Rc<Captured>> },
}

/// A check of this column comes from `pg_constraint`.
const NO_ACTION: u8 = b'a';
const RESTRICT: u8 = b'r';
const CASCADE: u8 = b'c';
const SET_NULL: u8 = b'n';
const SET_DEFAULT: u8 = b'd';

/// What becomes of the columns of rows that are changed along.
#[derive(Clone, Copy)]
enum Along<'k> {
    /// The rows go.
    Delete,
    /// The columns get the new key.
    Key(&'k [Datum<'k>]),
    /// They become null.
    Null,
    /// They get their defaults.
    Default,
}

impl<'e> Exec<'e> {
    // ---- noting

    /// A row is new: what it refers to must be there. `changed` says of a column whether it is new; only foreign keys with one of
    /// the `assigned` columns are looked at.
    #[inline]
    pub(super) fn references_of_new(
        &mut self,
        target: &Target,
        (tid, assigned): (Tid, u32),
        values: &[Value],
        changed: impl Fn(u16) -> bool,
    ) -> Result<()> {
        if target.record.references == 0 {
            return Ok(());
        }
        let bytes = self.plan.bytes;
        for at in bytes.list(At(target.record.references)).iter() {
            let reference = ReferenceRecord::read(bytes, At(at));
            let columns = bytes.list(At(reference.columns));
            if reference.mask & assigned == 0 || !columns.iter().any(|column| changed(column as u16)) {
                continue;
            }
            let nulls = columns.iter().filter(|&column| values[column as usize].is_null()).count();
            if nulls > 0 {
                if reference.full != 0 && nulls < columns.iter().count() {
                    return Err(Error::statement(
                        sqlstate::FOREIGN_KEY_VIOLATION,
                        format!(
                            "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                            bytes.text(At(target.record.name)),
                            bytes.text(At(reference.name))
                        ),
                    )
                    .detail("MATCH FULL does not allow mixing of null and nonnull key values."));
                }
                continue;
            }
            let key = self.key_of(target, &reference, |exec, column| exec.memory.datum(values[usize::from(column)]))?;
            if self.waits(reference.constraint, reference.deferral) {
                let constraint = (reference.constraint, reference.deferral);
                self.defer(Check::Refers, constraint, target.record.oid, key, String::new())?;
                continue;
            }
            // Rows that it may refer to are those of this table, or of statements in `WITH` that come later.
            if reference.other == target.record.oid || self.has_modifying_commons() {
                self.pending.push_back(Pending::Refers { table: target.at, reference: At(at), tid, key });
            } else {
                self.check_refers(target, &reference, &key)?;
            }
        }
        Ok(())
    }

    /// A row was updated: foreign keys of both sides, as far as their columns have changed.
    pub(super) fn after_update(
        &mut self,
        target: &Target,
        (tid, assigned): (Tid, u32),
        values: &[Value],
        changed: impl Fn(&Self, u16) -> bool,
        old: impl Fn(&Self, u16) -> Value,
    ) -> Result<()> {
        if target.record.references == 0 && target.record.referenced_by == 0 {
            return Ok(());
        }
        let bytes = self.plan.bytes;
        let changed: Vec<bool> = (0..values.len()).map(|column| changed(self, column as u16)).collect();
        let has_changed = |column: u16| changed[usize::from(column)];
        for at in bytes.list(At(target.record.referenced_by)).iter() {
            let reference = ReferenceRecord::read(bytes, At(at));
            let columns = bytes.list(At(reference.columns));
            if reference.mask & assigned == 0 || !columns.iter().any(|column| has_changed(column as u16)) {
                continue;
            }
            if columns.iter().any(|column| old(self, column as u16).is_null()) {
                continue;
            }
            let key = self.key_of(target, &reference, |exec, column| exec.memory.datum(old(exec, column)))?;
            let new = self.key_of(target, &reference, |exec, column| exec.memory.datum(values[usize::from(column)]))?;
            if !self.defer_gone(target, &reference, reference.on_update, &key)? {
                self.pending.push_back(Pending::Gone { table: target.at, reference: At(at), key, new: Some(new) });
            }
        }
        self.references_of_new(target, (tid, assigned), values, has_changed)
    }

    /// A row is gone: nobody may refer to it at the statement's end.
    #[inline]
    pub(super) fn note_gone(&mut self, target: &Target, old: impl Fn(&Self, u16) -> Value) -> Result<()> {
        if target.record.referenced_by == 0 {
            return Ok(());
        }
        let bytes = self.plan.bytes;
        for at in bytes.list(At(target.record.referenced_by)).iter() {
            let reference = ReferenceRecord::read(bytes, At(at));
            let columns = bytes.list(At(reference.columns));
            if columns.iter().any(|column| old(self, column as u16).is_null()) {
                continue;
            }
            let key = self.key_of(target, &reference, |exec, column| exec.memory.datum(old(exec, column)))?;
            if !self.defer_gone(target, &reference, reference.on_delete, &key)? {
                self.pending.push_back(Pending::Gone { table: target.at, reference: At(at), key, new: None });
            }
        }
        Ok(())
    }

    /// A key is gone. Whether others refer to it is seen later, if that may wait and nothing is done about them: true then.
    fn defer_gone(&self, target: &Target, reference: &ReferenceRecord, action: u32, key: &[u8]) -> Result<bool> {
        if action as u8 != NO_ACTION || !self.waits(reference.constraint, reference.deferral) {
            return Ok(false);
        }
        let constraint = (reference.constraint, reference.deferral);
        self.defer(Check::Gone, constraint, target.record.oid, key.to_vec(), String::new())?;
        Ok(true)
    }

    /// The values of a foreign key's columns in this table, as bytes.
    fn key_of<'d>(
        &'d self,
        target: &Target,
        reference: &ReferenceRecord,
        value: impl Fn(&'d Self, u16) -> Datum<'d>,
    ) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        for column in self.plan.bytes.list(At(reference.columns)).iter() {
            put_value(target.kind(column as u16), value(self, column as u16), &mut key)?;
        }
        Ok(key)
    }

    fn own_kinds(&self, target: &Target, reference: &ReferenceRecord) -> (Vec<u16>, Vec<Kind>) {
        let columns = self.plan.bytes.list(At(reference.columns)).iter();
        columns.map(|column| (column as u16, target.kind(column as u16))).unzip()
    }

    fn other(&self, reference: &ReferenceRecord) -> Result<Keyed> {
        let Some(tables) = &self.tables else { return Err(no_tables()) };
        Ok(Keyed::of_record(tables.relations, self.plan.bytes, reference))
    }

    fn tables(&mut self) -> Result<&mut Tables<'e>> {
        self.tables.as_mut().ok_or_else(no_tables)
    }

    // ---- looking

    /// Takes a snapshot of now that sees what the statement has done, and uses it.
    fn with_latest<R>(&mut self, latest: bool, run: impl FnOnce(&mut Self, Snapshot) -> Result<R>) -> Result<R> {
        let Some(tables) = &self.tables else { return Err(no_tables()) };
        let after = tables.after();
        if !latest && tables.isolation == Isolation::RepeatableRead {
            return run(self, after);
        }
        let transactions = tables.relations.storage().transactions;
        let snapshot = transactions.snapshot();
        let result = run(self, snapshot.at_command(after.own, after.command));
        transactions.release(snapshot);
        result
    }

    // ---- checking

    /// A row refers to another one: it must be there.
    ///
    /// Errors: `23503`.
    fn check_refers(&mut self, target: &Target, reference: &ReferenceRecord, key: &[u8]) -> Result<()> {
        let (columns, kinds) = self.own_kinds(target, reference);
        let values = key_values(&kinds, key)?;
        let other = self.other(reference)?;
        if self.tables()?.is_there(&other, &values)? {
            return Ok(());
        }
        let bytes = self.plan.bytes;
        let message = format!(
            "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
            bytes.text(At(target.record.name)),
            bytes.text(At(reference.name))
        );
        let shown = self.shown_key(target, &columns, |at| values[at]);
        let detail = format!("Key {shown} is not present in table \"{}\".", bytes.text(At(reference.other_name)));
        let error = Error::statement(sqlstate::FOREIGN_KEY_VIOLATION, message).detail(detail);
        Err(self.of_table(error, target).about(Object::Constraint, bytes.text(At(reference.name))))
    }

    /// Checks what is left at a statement's end, and changes rows along. What that leaves to be checked follows.
    pub(super) fn check_at_end(&mut self) -> Result<()> {
        while let Some(pending) = self.pending.pop_front() {
            self.breath()?;
            match pending {
                Pending::Refers { table, reference, tid, key } => {
                    let target = self.target(table)?;
                    let reference = ReferenceRecord::read(self.plan.bytes, reference);
                    if self.is_newest(&target, tid)? {
                        self.check_refers(&target, &reference, &key)?;
                    }
                }
                Pending::Gone { table, reference, key, new } => {
                    let target = self.target(table)?;
                    let reference = ReferenceRecord::read(self.plan.bytes, reference);
                    self.check_gone(&target, &reference, &key, new.as_deref())?;
                }
                Pending::Unique { table, index, key, shown } => {
                    let target = self.target(table)?;
                    self.check_unique(&target, &target.indexes[index], &key, &shown)?;
                }
                Pending::Fire { table, trigger, event, rows, captured } => {
                    self.fire_noted(table, trigger, event, rows.as_deref(), captured.as_ref())?;
                }
            }
        }
        Ok(())
    }

    /// Is the version that the statement has made still the row? Another key may have changed it along meanwhile, or a function have
    /// deleted it: what it refers to is then not asked for.
    fn is_newest(&self, target: &Target, tid: Tid) -> Result<bool> {
        let Some(tables) = &self.tables else { return Err(no_tables()) };
        let snapshot = tables.after();
        let reader = Reader { snapshot: &snapshot, pairs: tables.pairs.pairs() };
        Ok(target.heap.fetch_version(&reader, tid, |_| ())?.is_some())
    }

    /// A row is gone, or has another key: what about those that refer to it?
    ///
    /// Errors: `23503`.
    fn check_gone(
        &mut self,
        target: &Target,
        reference: &ReferenceRecord,
        key: &[u8],
        new: Option<&[u8]>,
    ) -> Result<()> {
        let (columns, kinds) = self.own_kinds(target, reference);
        let values = key_values(&kinds, key)?;
        let other = self.other(reference)?;
        let action = if new.is_some() { reference.on_update } else { reference.on_delete } as u8;
        let rows = self.tables()?.rows_of_now(&other, &values, matches!(action, NO_ACTION | RESTRICT))?;
        if rows.is_empty() {
            return Ok(());
        }
        match action {
            CASCADE | SET_NULL | SET_DEFAULT => {
                let new = new.map(|new| key_values(&kinds, new)).transpose()?;
                let arena = Arena::new();
                let new = match new {
                    Some(new) if action == CASCADE => Some(self.of_other(reference, new, &arena)?),
                    _ => None,
                };
                let along = match (action, new.as_deref()) {
                    (SET_NULL, _) => Along::Null,
                    (SET_DEFAULT, _) => Along::Default,
                    (_, Some(new)) => Along::Key(new),
                    (_, None) => Along::Delete,
                };
                // Which columns change can be said for rows that go only.
                return self.change_along(reference, &rows, along, new.is_none());
            }
            _ => {}
        }
        // Another row may have the key by now.
        if action == NO_ACTION && self.has_successor(target, reference, &columns, &kinds, &values)? {
            return Ok(());
        }
        let bytes = self.plan.bytes;
        let (name, other_name) = (bytes.text(At(target.record.name)), bytes.text(At(reference.other_name)));
        let message = format!(
            "update or delete on table \"{name}\" violates foreign key constraint \"{}\" on table \"{other_name}\"",
            bytes.text(At(reference.name))
        );
        let shown = self.shown_key(target, &columns, |at| values[at]);
        let detail = format!("Key {shown} is still referenced from table \"{other_name}\".");
        let error = Error::statement(sqlstate::FOREIGN_KEY_VIOLATION, message).detail(detail);
        let error = self.of_relation(error, reference.other, reference.other_name);
        Err(error.about(Object::Constraint, bytes.text(At(reference.name))))
    }

    /// The new values of a key as those of the columns that refer to it, as an assignment makes them.
    ///
    /// Errors: a value that the column cannot have.
    fn of_other<'d>(&self, reference: &ReferenceRecord, key: Vec<Datum<'d>>, arena: &'d Arena) -> Result<Vec<Datum<'d>>>
    where
        Self: 'd,
    {
        let types = self.plan.bytes.list(At(reference.types));
        let mut ctx = self.around.context(arena);
        let values = key.into_iter().zip(types.groups::<3>());
        values
            .map(|(value, [own, other, typmod])| {
                let (own, other) = (Oid(own), Type { oid: Oid(other), typmod: typmod as i32 });
                let method = cast::find(own, other.oid, cast::Context::Assignment).unwrap_or(cast::Method::Text);
                cast::apply(method, own, other, false, value, &mut ctx)
            })
            .collect()
    }

    /// Is there a row in the table with a key that one of its rows had?
    fn has_successor(
        &mut self,
        target: &Target,
        reference: &ReferenceRecord,
        columns: &[u16],
        kinds: &[Kind],
        key: &[Datum<'_>],
    ) -> Result<bool> {
        let Some(tables) = &self.tables else { return Err(no_tables()) };
        let index = (reference.own_index != 0).then(|| {
            let tree = tables.relations.btree(RelId(reference.own_index));
            (tree, places(index_columns(self.plan.bytes.list(At(reference.own_index_columns))), columns))
        });
        let own = Keyed {
            heap: target.heap,
            shapes: target.shapes.clone(),
            index,
            columns: columns.to_vec(),
            kinds: kinds.to_vec(),
        };
        self.tables()?.is_there(&own, key)
    }

    // ---- changing along

    /// Deletes rows that refer to one that is gone, or gives them its new key, null, or their defaults.
    fn change_along(
        &mut self,
        reference: &ReferenceRecord,
        rows: &[Tid],
        along: Along<'_>,
        is_gone: bool,
    ) -> Result<()> {
        let target = self.target(At(reference.table))?;
        let bytes = self.plan.bytes;
        let columns = match (along, is_gone) {
            (Along::Null | Along::Default, true) => bytes.list(At(reference.set_columns)),
            _ => bytes.list(At(reference.other_columns)),
        };
        let columns: Vec<u16> = columns.iter().map(|column| column as u16).collect();
        let event = if matches!(along, Along::Delete) { DELETE } else { UPDATE };
        let done =
            self.along(&target, event, &columns, |exec, fires| exec.each_along(&target, rows, &columns, along, fires));
        if let Some(tables) = &mut self.tables {
            tables.later += 1;
            self.around.later.set(tables.later);
        }
        done
    }

    fn each_along(
        &mut self,
        target: &Target,
        rows: &[Tid],
        columns: &[u16],
        along: Along<'_>,
        fires: Option<&Fires>,
    ) -> Result<()> {
        let parameters = self.memory.parameters.len();
        for &tid in rows {
            self.breath()?;
            self.memory.parameters.truncate(parameters);
            self.with_latest(true, |exec, snapshot| {
                // The statement's own number, so that what it changes now is behind it when it ends.
                let Some(tables) = &exec.tables else { return Err(no_tables()) };
                let reader = Reader { snapshot: &snapshot, pairs: tables.pairs.pairs() };
                let Some(row) = target.heap.fetch_version(&reader, tid, <[u8]>::to_vec)? else { return Ok(()) };
                if tables.isolation == Isolation::RepeatableRead {
                    // A row that the transaction does not see is not for it to change.
                    let own = tables.after();
                    let reader = Reader { snapshot: &own, pairs: tables.pairs.pairs() };
                    if target.heap.fetch_version(&reader, tid, |_| ())?.is_none() {
                        let message = "could not serialize access due to concurrent update";
                        return Err(Error::statement(sqlstate::SERIALIZATION_FAILURE, message));
                    }
                }
                if matches!(along, Along::Delete) {
                    return exec.delete_along(target, tid, &row, &snapshot, fires);
                }
                let mut assigned = Vec::with_capacity(columns.len());
                for (at, &column) in columns.iter().enumerate() {
                    let value = match along {
                        Along::Key(new) => exec.memory.to_parameters(new[at])?,
                        Along::Default => exec.default_of(target, column)?,
                        Along::Null | Along::Delete => Value::Null,
                    };
                    assigned.push((column, value));
                }
                let anew = matches!(along, Along::Default);
                exec.update_along(target, tid, &row, &snapshot, (&assigned, anew), fires)
            })?;
        }
        Ok(())
    }

    /// The default of a column; its bytes stay as long as the row is changed.
    fn default_of(&mut self, target: &Target, column: u16) -> Result<Value> {
        let mut defaults = self.plan.bytes.list(At(target.record.defaults)).groups::<2>();
        let Some([_, program]) = defaults.find(|[known, _]| *known == u32::from(column)) else {
            return Ok(Value::Null);
        };
        let scratch = self.memory.scratch.len();
        let value = self.value(program)?;
        let bytes = match self.memory.datum(value) {
            Datum::Bytes(bytes) => Some(bytes.to_vec()),
            _ => None,
        };
        self.memory.scratch.truncate(scratch);
        match bytes {
            Some(bytes) => self.memory.to_parameters(Datum::Bytes(&bytes)),
            None => Ok(value),
        }
    }

    fn delete_along(
        &mut self,
        target: &Target,
        tid: Tid,
        row: &[u8],
        snapshot: &Snapshot,
        fires: Option<&Fires>,
    ) -> Result<()> {
        let (mut tid, mut row) = (tid, row.to_vec());
        let mut asked = !has(target, ROW | BEFORE | DELETE);
        loop {
            if let Some(fires) = fires.filter(|_| !asked) {
                let old = self.values_of(target, &row)?;
                let old = self.constants(&old);
                if self.before_row(target, ROW | BEFORE | DELETE, &fires.updated, Some(&old), None)?.is_none() {
                    return Ok(());
                }
                asked = true;
            }
            let Some(tables) = &mut self.tables else { return Err(no_tables()) };
            let (isolation, deadline) = (tables.isolation, tables.deadline());
            let mut writer = Writer { snapshot, isolation, pairs: &mut *tables.pairs, deadline };
            match target.heap.delete(&mut writer, tid)? {
                Outcome::Done { .. } => {
                    let values = self.values_of(target, &row)?;
                    self.end_pieces(target, tid)?;
                    self.note_gone(target, |_, column| values[usize::from(column)])?;
                    if let Some(fires) = fires.filter(|fires| self.hears_rows(target, DELETE, fires)) {
                        let old = Some(self.constants(&values));
                        self.note_row(target, DELETE, fires, old, None)?;
                    }
                    return Ok(());
                }
                Outcome::Changed { tid: newest, row: bytes } => (tid, row) = (newest, bytes),
                Outcome::Own(command) if command != snapshot.command => return Err(changed_by_trigger(DELETE)),
                Outcome::Gone | Outcome::Own(_) | Outcome::Busy => return Ok(()),
            }
        }
    }

    fn update_along(
        &mut self,
        target: &Target,
        tid: Tid,
        row: &[u8],
        snapshot: &Snapshot,
        (values, anew): (&[(u16, Value)], bool),
        fires: Option<&Fires>,
    ) -> Result<()> {
        const FIRED: u16 = ROW | BEFORE | UPDATE;
        let (mut tid, mut row) = (tid, row.to_vec());
        let asks = has(target, FIRED);
        loop {
            let old = self.values_of(target, &row)?;
            let mut new = old.clone();
            for &(column, value) in values {
                new[usize::from(column)] = value;
            }
            let mut assigned = values
                .iter()
                .fold(0u32, |mask, &(column, _)| if column < u32::BITS as u16 { mask | 1 << column } else { u32::MAX });
            if let Some(fires) = fires.filter(|_| asks) {
                let (before, proposed) = (self.constants(&old), self.constants(&new));
                let given = self.before_row(target, FIRED, &fires.updated, Some(&before), Some(proposed.clone()))?;
                let Some(given) = given else { return Ok(()) };
                if given != proposed {
                    if target.record.generated != 0 {
                        return Err(Error::unsupported(
                            "a trigger changed a row that a foreign key changes along, in a table with generated columns",
                        )
                        .hint("Let an AFTER trigger change the row."));
                    }
                    for (place, value) in new.iter_mut().zip(&given) {
                        *place = self.memory.to_parameters(value.datum())?;
                    }
                    assigned = u32::MAX;
                }
            }
            self.check_not_null(target, &new)?;
            if target.record.checks != 0 {
                self.set_row(target, &new);
                self.check_conditions(target.record.checks, target, &new)?;
            }
            let changed = |exec: &Self, column: u16| {
                let at = usize::from(column);
                !exec.same(target.kind(column), old[at], new[at])
            };
            let changes = target.changes(assigned, |column| changed(self, column));
            let pieces = self.make_row(target, &new, Some(tid))?;
            let Some(tables) = &mut self.tables else { return Err(no_tables()) };
            let (isolation, deadline) = (tables.isolation, tables.deadline());
            let mut writer = Writer { snapshot, isolation, pairs: &mut *tables.pairs, deadline };
            let outcome = target.heap.update(&mut writer, tid, &self.row_bytes, changes)?;
            self.row_is_in(pieces, matches!(outcome, Outcome::Done { .. }))?;
            match outcome {
                Outcome::Done { tid, hot } => {
                    if !hot && let Some(duplicate) = self.enter_row(target, &new, tid)? {
                        return Err(self.duplicate_key(target, duplicate.index, &new));
                    }
                    self.after_update(target, (tid, assigned), &new, changed, |_, column| old[usize::from(column)])?;
                    // A default that is what was there refers to the row that goes.
                    let is_set = |column| anew && values.iter().any(|(set, _)| *set == column);
                    self.references_of_new(target, (tid, if anew { assigned } else { 0 }), &new, is_set)?;
                    if let Some(fires) = fires.filter(|fires| self.hears_rows(target, UPDATE, fires)) {
                        let (old, new) = (Some(self.constants(&old)), Some(self.constants(&new)));
                        self.note_row(target, UPDATE, fires, old, new)?;
                    }
                    return Ok(());
                }
                Outcome::Changed { tid: newest, row: bytes } => (tid, row) = (newest, bytes),
                Outcome::Own(command) if command != snapshot.command => return Err(changed_by_trigger(UPDATE)),
                Outcome::Gone | Outcome::Own(_) | Outcome::Busy => return Ok(()),
            }
        }
    }

    /// The values of a stored row; their bytes stay as long as the execution.
    pub(super) fn values_of(&mut self, target: &Target, row: &[u8]) -> Result<Vec<Value>> {
        let row = large::unpacked(target.heap.relations(), &target.shapes, row, |_| true)?;
        let mut datums = vec![Datum::Null; target.shapes.len()];
        row::Row::new(&row)?.decode(&target.shapes, &mut datums)?;
        datums.into_iter().map(|datum| self.memory.to_parameters(datum)).collect()
    }
}
