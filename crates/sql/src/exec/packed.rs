//! Rows with large values, on their way into a table and out of it.
//!
//! Most rows are short: their bytes are made and written, and nothing here is called but [`Exec::make_row`], which sees that they are. A
//! row that is not is [packed](crate::large). Whoever writes it says afterwards whether it got into the table ([`Exec::row_is_in`]); whoever
//! ends a row's version ends its pieces ([`Exec::end_pieces`]).

use super::Exec;
use super::stored::no_tables;
use super::target::{Target, encode_row};
use super::value::Value;
use crate::large::{self, Packed, Place};
use crate::row;
use crate::types::Datum;
use base::{RelId, Result};
use storage::page::Tid;

/// What was packed of a row; nothing, nearly always.
pub(super) type Pieces = Option<Box<Packed>>;

impl Exec<'_> {
    /// Makes the bytes of a row. `old` is the place of the version that it replaces.
    #[inline]
    pub(super) fn make_row(&mut self, target: &Target, values: &[Value], old: Option<Tid>) -> Result<Pieces> {
        let is_short = encode_row(&self.memory, &target.shapes, values, &mut self.row_bytes)?;
        if is_short && (old.is_none() || !target.has_pieces()?) {
            return Ok(None);
        }
        self.pack_row(target, values, old)
    }

    #[cold]
    fn pack_row(&mut self, target: &Target, values: &[Value], old: Option<Tid>) -> Result<Pieces> {
        let Some(tables) = &self.tables else { return Err(no_tables()) };
        let old = match old {
            Some(tid) => target.heap.version_at(tid, <[u8]>::to_vec)?.filter(|row| row::has_packed(row)),
            None => None,
        };
        let heap = (target.record.pieces != 0).then_some(RelId(target.record.pieces));
        let place = Place { relations: tables.relations, heap, command: tables.command() };
        let values: Vec<Datum<'_>> = values.iter().map(|value| self.memory.datum(*value)).collect();
        self.row_bytes.clear();
        let packed = large::pack(place, &target.shapes, &values, old.as_deref(), &mut self.row_bytes)?;
        Ok((!packed.made.is_empty() || !packed.left.is_empty()).then(|| Box::new(packed)))
    }

    /// A row's bytes were to be written: they are in the table, or what was put into pieces for them is not needed.
    #[inline]
    pub(super) fn row_is_in(&self, pieces: Pieces, is_in: bool) -> Result<()> {
        match pieces {
            None => Ok(()),
            Some(packed) => self.end_values(if is_in { &packed.left } else { &packed.made }),
        }
    }

    #[cold]
    fn end_values(&self, values: &[large::Elsewhere]) -> Result<()> {
        let Some(tables) = &self.tables else { return Err(no_tables()) };
        values.iter().try_for_each(|value| value.end(tables.relations))
    }

    /// A version was deleted: its pieces go with it.
    #[inline]
    pub(super) fn end_pieces(&self, target: &Target, tid: Tid) -> Result<()> {
        if !target.has_pieces()? {
            return Ok(());
        }
        match target.heap.version_at(tid, |row| large::elsewhere(&target.shapes, row))? {
            Some(found) => self.end_values(&found?),
            None => Ok(()),
        }
    }
}
