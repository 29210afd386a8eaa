//! Constraints on one row: null where it may not be, conditions, keys that are there already; and what users are told.

use super::Exec;
use super::deferred::duplicate;
use super::target::Target;
use super::value::Value;
use crate::plan::blob::At;
use crate::plan::record::CheckRecord;
use crate::types::{Datum, Kind, Oid, io};
use base::{Error, Object, Result, sqlstate};

/// How much of a value is shown of a row that fails.
const SHOWN_BYTES_MAX: usize = 64;

impl Exec<'_> {
    /// Tests a new row: no null where it may not be.
    ///
    /// Errors: `23502`.
    #[inline]
    pub(super) fn check_not_null(&self, target: &Target, values: &[Value]) -> Result<()> {
        let bytes = self.plan.bytes;
        for [column, name] in bytes.list(At(target.record.not_null)).groups::<2>() {
            if values[column as usize].is_null() {
                let message = format!(
                    "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                    bytes.text(At(name)),
                    bytes.text(At(target.record.name))
                );
                let error =
                    Error::statement(sqlstate::NOT_NULL_VIOLATION, message).detail(self.failing_row(target, values));
                return Err(self.of_table(error, target).about(Object::Column, bytes.text(At(name))));
            }
        }
        Ok(())
    }

    /// Tests the conditions on a new row, whose values are in registers.
    ///
    /// Errors: `23514`.
    pub(super) fn check_conditions(&mut self, checks: u32, target: &Target, values: &[Value]) -> Result<()> {
        let bytes = self.plan.bytes;
        for at in bytes.list(At(checks)).iter() {
            let check = CheckRecord::read(bytes, At(at));
            let scratch = self.memory.scratch.len();
            let value = self.value(check.condition)?;
            self.memory.scratch.truncate(scratch);
            // Null is not false.
            if value == Value::Bool(false) {
                let message = format!(
                    "new row for relation \"{}\" violates check constraint \"{}\"",
                    bytes.text(At(target.record.name)),
                    bytes.text(At(check.name))
                );
                let error =
                    Error::statement(sqlstate::CHECK_VIOLATION, message).detail(self.failing_row(target, values));
                return Err(self.of_table(error, target).about(Object::Constraint, bytes.text(At(check.name))));
            }
        }
        Ok(())
    }

    /// Tests what views demand of a row that was written, whose values are in registers.
    ///
    /// Errors: `44000`.
    pub(super) fn check_views(&mut self, checks: u32, target: &Target, values: &[Value]) -> Result<()> {
        let bytes = self.plan.bytes;
        for at in bytes.list(At(checks)).iter() {
            let check = CheckRecord::read(bytes, At(at));
            let scratch = self.memory.scratch.len();
            let value = self.value(check.condition)?;
            self.memory.scratch.truncate(scratch);
            if value != Value::Bool(true) {
                let message = format!("new row violates check option for view \"{}\"", bytes.text(At(check.name)));
                return Err(Error::statement(sqlstate::WITH_CHECK_OPTION_VIOLATION, message)
                    .detail(self.failing_row(target, values)));
            }
        }
        Ok(())
    }

    /// What a user is told whose row has a key that is there already.
    #[cold]
    pub(super) fn duplicate_key(&mut self, target: &Target, index: usize, values: &[Value]) -> Error {
        let bytes = self.plan.bytes;
        let index = &target.indexes[index];
        let key = match self.shown_entry(target, index, values) {
            Ok(key) => key,
            Err(error) => return error,
        };
        self.of_table(duplicate(bytes.text(index.name), &key), target).about(Object::Constraint, bytes.text(index.name))
    }

    /// An error about a table that is changed, with its name and its schema's.
    #[cold]
    pub(super) fn of_table(&self, error: Error, target: &Target) -> Error {
        self.of_relation(error, target.record.oid, target.record.name)
    }

    /// The same of any table: its number, and the place of its name.
    #[cold]
    pub(super) fn of_relation(&self, error: Error, oid: u32, name: u32) -> Error {
        let schema = self.around.catalog.get().ok().and_then(|catalog| {
            let table = catalog.table_by_oid(Oid(oid)).ok().flatten()?;
            catalog.schema_name(table.schema)
        });
        let error = schema.into_iter().fold(error, |error, schema| error.about(Object::Schema, schema));
        error.about(Object::Table, self.plan.bytes.text(At(name)))
    }

    /// `(a, b)=(1, 2)`: columns of a table with values.
    pub(super) fn shown_key<'d>(&self, target: &Target, columns: &[u16], value: impl Fn(usize) -> Datum<'d>) -> String {
        let bytes = self.plan.bytes;
        let names = bytes.list(At(target.record.names));
        let shown: Vec<&str> = columns.iter().map(|&column| bytes.text(At(names.get(column.into())))).collect();
        let values: Vec<String> =
            columns.iter().enumerate().map(|(at, &column)| self.shown(target.kind(column), value(at))).collect();
        format!("({})=({})", shown.join(", "), values.join(", "))
    }

    /// A value as text; null as a word.
    pub(super) fn shown(&self, kind: Kind, datum: Datum<'_>) -> String {
        if datum.is_null() {
            return "null".to_owned();
        }
        let mut text = Vec::new();
        match io::output(kind, datum, &self.around.style, &mut text) {
            Ok(()) => String::from_utf8_lossy(&text).into_owned(),
            Err(_) => "?".to_owned(),
        }
    }

    /// `Failing row contains (…).`
    fn failing_row(&self, target: &Target, values: &[Value]) -> String {
        let names = self.plan.bytes.list(At(target.record.names));
        let mut shown = Vec::with_capacity(values.len());
        for (column, value) in values.iter().enumerate() {
            // A column that is gone has no name.
            if names.get(column) == 0 {
                continue;
            }
            let mut text = self.shown(target.kind(column as u16), self.memory.datum(*value));
            if text.len() > SHOWN_BYTES_MAX {
                let end = (0..=SHOWN_BYTES_MAX).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
                text.truncate(end);
                text.push_str("...");
            }
            shown.push(text);
        }
        format!("Failing row contains ({}).", shown.join(", "))
    }
}
