//! What a function gives back: a value, its output parameters, or rows that are collected.

use super::frame::Slot;
use super::run::{Flow, Interpreter};
use super::sql::{Done, Rows};
use super::tree::{Gives, Piece, Source};
use crate::plan::blob::{self, Constant};
use crate::types::{Oid, Type, record, table, typmod};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};

fn mismatch(detail: String) -> Error {
    Error::statement(sqlstate::DATATYPE_MISMATCH, "structure of query does not match function result type")
        .detail(detail)
}

/// A value that is no row, from a function that gives rows.
fn not_composite() -> Error {
    let message = "cannot return non-composite value from function returning composite type";
    Error::statement(sqlstate::DATATYPE_MISMATCH, message)
}

impl<'i, A: Allocator + Copy> Interpreter<'i, '_, A> {
    fn result_type(&self, index: usize) -> Oid {
        self.returned.types.get(index).copied().unwrap_or(Oid::TEXT)
    }

    /// Adds a value to the row that is given; of the type of its column.
    fn put_value(&mut self, index: usize, ty: Type, value: Constant) -> Result<()> {
        let wanted = self.result_type(index);
        let value = self.session.converted(self.env, value, ty, Type::plain(wanted))?;
        let before = self.returned.rows.len();
        blob::put_value(table::kind(wanted), value.datum(), &mut self.returned.rows)?;
        let grown = self.returned.rows.len() - before;
        if self.returned.rows.try_reserve(grown).is_err() {
            return Err(Error::out_of_memory("the rows of a function", self.returned.rows.len()));
        }
        Ok(())
    }

    /// `RETURN`
    pub(super) fn give_value(&mut self, value: Option<&Piece>) -> Result<Flow<'i>> {
        if let Some(piece) = value {
            let (ty, value) = self.value(piece)?;
            if self.readied.body.gives == Gives::Row {
                self.given = match value {
                    Constant::Null => None,
                    Constant::Bytes(bytes) if ty.oid == Oid::RECORD => {
                        let fields = record::decode(&bytes)?;
                        Some(fields.iter().map(|field| (Type::plain(field.oid), Constant::of(field.value))).collect())
                    }
                    _ => return Err(not_composite()),
                };
                return Ok(Flow::Return);
            }
            self.put_value(0, ty, value)?;
            self.returned.count = 1;
        }
        Ok(Flow::Return)
    }

    /// `RETURN` of a record, or of null, in a trigger's function.
    pub(super) fn give_row(&mut self, variable: Option<u32>) -> Result<Flow<'i>> {
        self.given = match variable.map(|number| &self.frame.slots[number as usize]) {
            None | Some(Slot::Record(None, ..) | Slot::Record(_, _, true)) => None,
            Some(Slot::Record(Some(fields), ..)) => {
                Some(fields.iter().map(|field| (field.ty, field.value.clone())).collect())
            }
            Some(Slot::Scalar(_, Constant::Null)) => None,
            Some(Slot::Scalar(..)) => return Err(not_composite()),
        };
        Ok(Flow::Return)
    }

    /// `RETURN NEXT` of a record.
    pub(super) fn give_next_row(&mut self, variable: u32) -> Result<()> {
        let row = match &self.frame.slots[variable as usize] {
            Slot::Record(Some(fields), ..) => fields.iter().map(|field| (field.ty, field.value.clone())).collect(),
            Slot::Record(None, ..) => {
                return Err(crate::bind::variable::unassigned(&self.readied.body.variables[variable as usize].name));
            }
            Slot::Scalar(..) => return Err(not_composite()),
        };
        self.put_row(row, "wrong record type supplied in RETURN NEXT")
    }

    /// The row that was given by `RETURN`, if one was.
    pub(crate) fn give_given(&mut self) -> Result<()> {
        match self.given.take() {
            Some(row) => self.put_row(row, "returned record type does not match expected record type"),
            None => Ok(()),
        }
    }

    fn put_row(&mut self, row: Vec<(Type, Constant)>, wrong: &'static str) -> Result<()> {
        let wanted = &self.returned.types;
        let fits = row.len() == wanted.len() && row.iter().zip(wanted).all(|((ty, _), wanted)| ty.oid == *wanted);
        if !fits {
            return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, wrong));
        }
        for (index, (ty, value)) in row.into_iter().enumerate() {
            self.put_value(index, ty, value)?;
        }
        self.returned.count += 1;
        Ok(())
    }

    /// A row of the output parameters as they are.
    pub(crate) fn give_outputs(&mut self) -> Result<()> {
        for (index, number) in self.returned.outputs.clone().into_iter().enumerate() {
            let (ty, value) = match &self.frame.slots[number as usize] {
                Slot::Scalar(ty, value) => (*ty, value.clone()),
                Slot::Record(..) => (Type::plain(self.result_type(index)), Constant::Null),
            };
            self.put_value(index, ty, value)?;
        }
        self.returned.count += 1;
        Ok(())
    }

    /// `RETURN NEXT`
    pub(super) fn give_next(&mut self, value: Option<&Piece>) -> Result<()> {
        let Some(piece) = value else { return self.give_outputs() };
        let (ty, value) = self.value(piece)?;
        self.put_value(0, ty, value)?;
        self.returned.count += 1;
        Ok(())
    }

    /// `RETURN QUERY`
    pub(super) fn give_rows(&mut self, source: &Source) -> Result<()> {
        let rows = self.source(source)?;
        let (found, wanted) = (rows.columns.len(), self.returned.types.len());
        if found != wanted {
            return Err(mismatch(format!(
                "Number of returned columns ({found}) does not match expected column count ({wanted})."
            )));
        }
        for (index, (_, ty)) in rows.columns.iter().enumerate() {
            let wanted = self.result_type(index);
            if ty.oid != wanted {
                return Err(mismatch(format!(
                    "Returned type {} does not match expected type {} in column {}.",
                    typmod::format_type(Type::plain(ty.oid)),
                    typmod::format_type(Type::plain(wanted)),
                    index + 1
                )));
            }
        }
        let count = rows.gathered.count;
        self.take_rows(rows)?;
        self.frame.row_count = count;
        self.set_found(count > 0);
        Ok(())
    }

    /// The rows of a query as those of the function.
    fn take_rows(&mut self, rows: Rows) -> Result<()> {
        let mut at = 0;
        for _ in 0..rows.gathered.count {
            self.turn()?;
            let (row, next) = rows.row(at)?;
            at = next;
            for (index, value) in row.into_iter().enumerate() {
                self.put_value(index, rows.columns[index].1, value)?;
            }
            self.returned.count += 1;
        }
        Ok(())
    }

    /// The last statement of a body in SQL.
    pub(super) fn give_result(&mut self, piece: &Piece) -> Result<Flow<'i>> {
        let all = matches!(self.readied.body.gives, Gives::Set | Gives::Rows | Gives::TableRows);
        if let Done::Rows(mut rows, true) = self.execute(piece, if all { u64::MAX } else { 1 })? {
            if !all {
                rows.gathered.count = rows.gathered.count.min(1);
            }
            self.take_rows(rows)?;
        }
        Ok(Flow::Return)
    }
}
