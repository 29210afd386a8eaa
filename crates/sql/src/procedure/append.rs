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
use crate::types::{Oid, Type, table};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};

/// What is appended to.
#[derive(Clone, Copy)]
enum Onto {
    Text,
    /// An array of these, and the index behind its last one.
    Array(Oid, i32),
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
        let (_, value) = self.value(value)?;
        let Slot::Scalar(own, Constant::Bytes(bytes)) = &mut self.frame.slots[variable as usize] else { return Ok(()) };
        let own = *own;
        match (onto, value) {
            (Onto::Text, Constant::Bytes(more)) => {
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
        match table::element_of(own.oid).filter(|_| *own == Type::plain(own.oid)) {
            Some(element) => Ok(part::index_behind(bytes)?.map(|index| Onto::Array(element, index))),
            None => Ok(None),
        }
    }

    /// Is the value, by its plan, what is appended there? What is wrong with it, the whole expression says.
    fn gives(&mut self, value: &Piece, onto: Onto) -> Result<bool> {
        let planned = match self.plan(value) {
            Ok(planned) => planned,
            Err(error) if error.sqlstate() == sqlstate::QUERY_CANCELED => return Err(error),
            Err(_) => None,
        };
        let plan = planned.as_ref().and_then(|planned| Plan::new(&planned.plan));
        let mut columns = plan.into_iter().flat_map(|plan| plan.columns()).map(|column| column.ty.oid);
        Ok(match (columns.next(), columns.next(), onto) {
            (Some(oid), None, Onto::Text) => matches!(oid, Oid::TEXT | Oid::VARCHAR),
            (Some(oid), None, Onto::Array(element, _)) => oid == element,
            _ => false,
        })
    }
}
