//! `target := target || value`, done in the variable: a loop that gathers values takes a time that grows with their number, not with its square.
//!
//! Which operator `||` is depends on the types, and those of the value are known when it is planned. Where the target is a text and the value
//! another, or the target is an array and the value one of its elements, the value alone is computed, and put behind what is there. Everything
//! else is left to the expression as a whole.

use super::frame::Slot;
use super::run::Interpreter;
use super::tree::{Piece, Target};
use crate::plan::Plan;
use crate::plan::blob::Constant;
use crate::types::array::part;
use crate::types::{Oid, Type, stored, table, text};
use allocator_api2::alloc::Allocator;
use base::{Error, Result};

/// What is appended to.
#[derive(Clone, Copy)]
enum Onto {
    Text,
    /// An array of these, and the index behind its last one.
    Array(Oid, i32),
}

impl Onto {
    /// Is a value of a type what is appended there?
    fn takes(self, oid: Oid) -> bool {
        match self {
            Onto::Text => matches!(oid, Oid::TEXT | Oid::VARCHAR),
            Onto::Array(element, _) => oid == element,
        }
    }
}

impl<A: Allocator + Copy> Interpreter<'_, '_, A> {
    /// `variable := variable || value`; `whole` is all of the expression. To an array a string is another array.
    pub(super) fn append(&mut self, variable: u32, (value, is_string): (&Piece, bool), whole: &Piece) -> Result<()> {
        let target = Target { variable, field: None };
        let onto = match self.onto(variable)? {
            Some(onto) if !(is_string && matches!(onto, Onto::Array(..))) && self.gives(value, onto)? => onto,
            _ => {
                let (ty, value) = self.value(whole)?;
                return self.assign(&target, ty, value);
            }
        };
        let (ty, value) = self.value_of_row(value)?;
        if !onto.takes(ty.oid) {
            // Planned once more, it is something else.
            let (ty, value) = self.value(whole)?;
            return self.assign(&target, ty, value);
        }
        let Slot::Scalar(own, Constant::Bytes(bytes)) = &mut self.frame.slots[variable as usize] else { return Ok(()) };
        let own = *own;
        // Where there is no row nothing is appended: the expression has none either.
        let Some(value) = value else { return self.assign(&target, own, Constant::Null) };
        match (onto, value) {
            (Onto::Text, Constant::Bytes(more)) => {
                if bytes.len() + more.len() > stored::BYTES_MAX {
                    return Err(text::too_long());
                }
                bytes.try_reserve(more.len()).map_err(|_| Error::out_of_memory("a text", bytes.len() + more.len()))?;
                bytes.extend_from_slice(&more);
                Ok(())
            }
            (Onto::Text, _) => self.assign(&target, own, Constant::Null),
            (Onto::Array(_, index), value) if part::put_in_place(bytes, &[index], value.datum())? => Ok(()),
            (Onto::Array(element, index), value) => {
                let changed = part::with_element(bytes, element, &[index], value.datum())?;
                self.assign(&target, own, Constant::Bytes(changed))
            }
        }
    }

    /// What the variable is, if something can be appended to it where it is.
    fn onto(&self, variable: u32) -> Result<Option<Onto>> {
        let Slot::Scalar(own, Constant::Bytes(bytes)) = &self.frame.slots[variable as usize] else { return Ok(None) };
        if *own == Type::plain(Oid::TEXT) {
            return Ok(Some(Onto::Text));
        }
        // Other types have elements too, such as names.
        let is_array = |element: &Oid| table::array_of(*element) == Some(own.oid) && *own == Type::plain(own.oid);
        match table::element_of(own.oid).filter(is_array) {
            Some(element) => Ok(part::index_behind(bytes)?.map(|index| Onto::Array(element, index))),
            None => Ok(None),
        }
    }

    /// Is the value, by its plan, what is appended there? What is wrong with it, the whole expression says.
    fn gives(&mut self, value: &Piece, onto: Onto) -> Result<bool> {
        let planned = match self.plan(value) {
            Ok(planned) => planned,
            Err(error) if error.sqlstate().as_str().starts_with("42") => None,
            Err(error) => return Err(error),
        };
        let plan = planned.as_ref().and_then(|planned| Plan::new(&planned.plan));
        let mut columns = plan.into_iter().flat_map(|plan| plan.columns()).map(|column| column.ty.oid);
        Ok(matches!((columns.next(), columns.next()), (Some(oid), None) if onto.takes(oid)))
    }
}
