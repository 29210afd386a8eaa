//! Checks that wait for the transaction's end: which ones do, and what an execution notes of them.
//!
//! An execution decides by what the constraint says ([`Deferral`]) and what `SET CONSTRAINTS` has said ([`Chosen`]). What waits is handed to the
//! session when the statement has ended, as a [`Noted`] that needs no plan any more; [`crate::session::deferred`] keeps it.

use super::Exec;
use super::around::Request;
use super::reference::Pending;
use super::stored::no_tables;
use super::target::{Index, Target};
use super::trigger::Changed;
use crate::catalog::definition::Deferral;
use crate::plan::blob::{Constant, put_value};
use crate::types::{Kind, Oid};
use base::{Error, Object, Result, sqlstate};
use storage::btree::Twins;

/// What `SET CONSTRAINTS` has said in a transaction.
#[derive(Clone, Default, Debug)]
pub struct Chosen {
    /// Of all constraints: true for `DEFERRED`.
    pub all: Option<bool>,
    /// Of single ones, since then.
    pub named: Vec<(Oid, bool)>,
}

impl Chosen {
    /// Does the check of a constraint wait?
    pub fn waits(&self, constraint: Oid, deferral: Deferral) -> bool {
        if !deferral.may_wait() {
            return false;
        }
        let named = self.named.iter().find(|(known, _)| *known == constraint).map(|(_, deferred)| *deferred);
        named.or(self.all).unwrap_or(deferral.waits())
    }
}

/// What is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// A row of the table refers to another one, by a foreign key.
    Refers,
    /// A row of the table is gone, or has another key, to which others may refer.
    Gone,
    /// A key of the table's index may be there twice.
    Unique,
    /// A trigger of the table is fired, for this event.
    Fire(Oid, u16),
}

/// A check that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Noted {
    /// What is checked.
    pub check: Check,
    /// The constraint.
    pub constraint: Oid,
    /// Whether it waits where nothing else is said.
    pub deferral: Deferral,
    /// The table.
    pub table: Oid,
    /// The key, as it is stored; or the rows, as [`rows_image`] writes them.
    pub bytes: Vec<u8>,
    /// Of a key that is to be unique, as users see it.
    pub shown: String,
}

/// An old and a new row as bytes.
pub fn rows_image(kind: impl Fn(u16) -> Kind, old: Option<&[Constant]>, new: Option<&[Constant]>) -> Result<Vec<u8>> {
    let mut image = vec![u8::from(old.is_some()) | u8::from(new.is_some()) << 1];
    for row in [old, new].into_iter().flatten() {
        for (column, value) in row.iter().enumerate() {
            put_value(kind(column as u16), value.datum(), &mut image)?;
        }
    }
    Ok(image)
}

impl Exec<'_> {
    /// Does the check of a constraint wait, of which a record has these words?
    #[inline]
    pub(super) fn waits(&self, constraint: u32, deferral: u32) -> bool {
        deferral != 0
            && Deferral::from_number(deferral)
                .is_some_and(|deferral| self.around.chosen.waits(Oid(constraint), deferral))
    }

    /// Notes a check that waits.
    pub(super) fn defer(
        &self,
        check: Check,
        (constraint, deferral): (u32, u32),
        table: u32,
        bytes: Vec<u8>,
        shown: String,
    ) -> Result<()> {
        let mut requests = self.around.requests.borrow_mut();
        let size = (requests.len() + 1) * size_of::<Request>();
        requests
            .try_reserve(1)
            .map_err(|_| Error::out_of_memory("checks that wait for the transaction's end", size))?;
        let deferral = Deferral::from_number(deferral).unwrap_or_default();
        let (constraint, table) = (Oid(constraint), Oid(table));
        requests.push(Request::Defer(Noted { check, constraint, deferral, table, bytes, shown }));
        Ok(())
    }

    /// A trigger that waits is to be fired for a row.
    pub(super) fn defer_firing(
        &self,
        target: &Target,
        trigger: (u32, u32, u32),
        event: u16,
        rows: &Changed,
    ) -> Result<()> {
        let (oid, constraint, deferral) = trigger;
        let image = rows_image(|column| target.kind(column), rows.old.as_deref(), rows.new.as_deref())?;
        let check = Check::Fire(Oid(oid), event);
        self.defer(check, (constraint, deferral), target.record.oid, image, String::new())
    }

    /// A row has been entered into an index whose uniqueness may wait, with the key in `key_bytes`: it is looked at later, if the key
    /// may be there already.
    pub(super) fn note_entered(
        &mut self,
        target: &Target,
        number: usize,
        values: &[super::value::Value],
    ) -> Result<()> {
        let index = &target.indexes[number];
        if index.tree.twins(&self.key_bytes, &target.heap)? == Twins::No {
            return Ok(());
        }
        let key = self.key_bytes.clone();
        let shown = self.shown_entry(target, index, values)?;
        if self.waits(index.constraint, index.deferral) {
            return self.defer(Check::Unique, (index.constraint, index.deferral), target.record.oid, key, shown);
        }
        self.pending.push_back(Pending::Unique { table: target.at, index: number, key, shown });
        Ok(())
    }

    /// The statement is at its end: is the key there once?
    ///
    /// Errors: `23505`.
    pub(super) fn check_unique(&mut self, target: &Target, index: &Index, key: &[u8], shown: &str) -> Result<()> {
        let Some(tables) = &self.tables else { return Err(no_tables()) };
        if !index.tree.has_twins(key, &target.heap, tables.deadline())? {
            return Ok(());
        }
        let name = self.plan.bytes.text(index.name);
        Err(self.of_table(duplicate(name, shown), target).about(Object::Constraint, name))
    }
}

/// A key is there already.
pub(crate) fn duplicate(index: &str, shown: &str) -> Error {
    let message = format!("duplicate key value violates unique constraint \"{index}\"");
    Error::statement(sqlstate::UNIQUE_VIOLATION, message).detail(format!("Key {shown} already exists."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_last_of_a_constraint_counts() {
        let (one, other) = (Oid(1), Oid(2));
        let nothing = Chosen::default();
        assert!(nothing.waits(one, Deferral::Deferred) && !nothing.waits(one, Deferral::Immediate));
        let all = Chosen { all: Some(true), named: vec![(other, false)] };
        assert!(all.waits(one, Deferral::Immediate) && !all.waits(other, Deferral::Deferred));
        assert!(!all.waits(one, Deferral::Never));
    }
}
