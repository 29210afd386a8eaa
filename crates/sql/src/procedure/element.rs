//! Elements and slices of arrays, and records as wholes, as what a body assigns to.

use super::frame::Slot;
use super::run::Interpreter;
use super::tree::{Piece, Place, Target};
use crate::plan::blob::Constant;
use crate::types::array::part::{self, Bounds};
use crate::types::array::{Array, DIMENSIONS_MAX, encode};
use crate::types::{Datum, Oid, Type, table, typmod};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};

/// The parts of an array that a loop over slices gives, one after another.
pub(super) fn slices(array: &Array<'_>, slice: u32) -> Result<Vec<Vec<u8>>> {
    let dimensions = array.dimensions();
    if slice as usize > dimensions.len() {
        let message = format!("slice dimension ({slice}) is out of the valid range 0..{}", dimensions.len());
        return Err(Error::statement(sqlstate::ARRAY_SUBSCRIPT_ERROR, message));
    }
    let inner = &dimensions[dimensions.len() - slice as usize..];
    let size: usize = inner.iter().map(|dimension| dimension.length as usize).product();
    let items: Vec<Datum<'_>> = array.iter().collect::<Result<_>>()?;
    items.chunks(size.max(1)).map(|part| encode(array.element(), inner, part)).collect()
}

impl<A: Allocator + Copy> Interpreter<'_, '_, A> {
    /// `target[i] := value`, `target[i:j] := value`
    pub(super) fn assign_element(&mut self, target: &Target, subscripts: &[Place], piece: &Piece) -> Result<()> {
        let (ty, value) = self.value(piece)?;
        let is_slice = subscripts.iter().any(|place| matches!(place, Place::Slice(..)));
        let mut bounds = Vec::with_capacity(subscripts.len());
        for place in subscripts {
            bounds.push(match place {
                Place::Index(index) => {
                    let index = Some(self.subscript(index)?);
                    Bounds { lower: if is_slice { Some(1) } else { index }, upper: index }
                }
                Place::Slice(lower, upper) => {
                    let lower = lower.as_ref().map(|lower| self.subscript(lower)).transpose()?;
                    Bounds { lower, upper: upper.as_ref().map(|upper| self.subscript(upper)).transpose()? }
                }
            });
        }
        if bounds.len() > DIMENSIONS_MAX {
            let message =
                format!("number of array dimensions ({}) exceeds the maximum allowed ({DIMENSIONS_MAX})", bounds.len());
            return Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let own = match (&self.frame.slots[target.variable as usize], &target.field) {
            (Slot::Scalar(own, _), None) => *own,
            (Slot::Record(Some(fields), ..), Some(name)) => match fields.iter().find(|field| field.name == *name) {
                Some(field) => field.ty,
                None => {
                    let record = &self.readied.body.variables[target.variable as usize].name;
                    let message = format!("record \"{record}\" has no field \"{name}\"");
                    return Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message));
                }
            },
            _ => return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, "a record is no array")),
        };
        let Some(element) = table::element_of(own.oid) else {
            let shown = typmod::format_type(Type::plain(own.oid));
            let message = format!("cannot subscript type {shown} because it does not support subscripting");
            return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message));
        };
        let wanted = Type { oid: if is_slice { own.oid } else { element }, typmod: own.typmod };
        let value = self.session.converted(self.env, value, ty, wanted)?;
        let indexes: Vec<i32> = bounds.iter().filter_map(|bounds| bounds.upper).collect();
        // A loop that fills an array would take a time that grows with the square of its size.
        if let (false, Some(Constant::Bytes(bytes))) = (is_slice, self.held(target))
            && part::put_in_place(bytes, &indexes, value.datum())?
        {
            return Ok(());
        }
        let array = self.held(target).map_or(Constant::Null, |held| held.clone());
        let array = match array {
            Constant::Bytes(bytes) => bytes,
            _ => encode(element, &[], &[])?,
        };
        let changed = match (is_slice, value) {
            (true, Constant::Bytes(source)) => part::with_slice(&array, element, &bounds, Some(&source))?,
            (true, _) => part::with_slice(&array, element, &bounds, None)?,
            (false, value) => part::with_element(&array, element, &indexes, value.datum())?,
        };
        self.assign(target, Type::plain(own.oid), Constant::Bytes(changed))
    }

    /// What the target holds.
    fn held(&mut self, target: &Target) -> Option<&mut Constant> {
        match (&mut self.frame.slots[target.variable as usize], &target.field) {
            (Slot::Scalar(_, value), None) => Some(value),
            (Slot::Record(Some(fields), ..), Some(name)) => {
                fields.iter_mut().find(|field| field.name == *name).map(|field| &mut field.value)
            }
            _ => None,
        }
    }

    /// Whether what is assigned to has a type of arrays.
    pub(super) fn takes_array(&self, target: &Target) -> bool {
        let ty = match (&self.frame.slots[target.variable as usize], &target.field) {
            (Slot::Scalar(own, _), None) => Some(*own),
            (Slot::Record(Some(fields), ..), Some(name)) => {
                fields.iter().find(|field| field.name == *name).map(|field| field.ty)
            }
            _ => None,
        };
        ty.is_some_and(|ty| table::element_of(ty.oid).is_some())
    }

    fn subscript(&mut self, piece: &Piece) -> Result<i32> {
        match self.value_as(piece, Oid::INT4)? {
            Constant::Int(index) => Ok(index as i32),
            _ => {
                let message = "array subscript in assignment must not be null";
                Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message))
            }
        }
    }

    /// `record := record`; false if what is assigned is none.
    pub(super) fn assign_record(&mut self, target: u32, source: u32) -> Result<bool> {
        let (columns, row): (Vec<(String, Type)>, Option<Vec<Constant>>) = match &self.frame.slots[source as usize] {
            Slot::Record(Some(fields), _, absent) => (
                fields.iter().map(|field| (field.name.clone(), field.ty)).collect(),
                (!absent).then(|| fields.iter().map(|field| field.value.clone()).collect()),
            ),
            // A record without a row makes another one null, or takes its row away.
            Slot::Record(None, ..) => match &mut self.frame.slots[target as usize] {
                Slot::Record(fields, false, _) => {
                    if fields.take().is_some() {
                        self.frame.shape += 1;
                    }
                    return Ok(true);
                }
                _ => (Vec::new(), None),
            },
            Slot::Scalar(..) => return Ok(false),
        };
        if let Slot::Scalar(ty, _) = &self.frame.slots[target as usize] {
            let message = format!("cannot assign a row to a variable of type {}", typmod::format_type(*ty));
            return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message));
        }
        let into = super::tree::Into { targets: vec![Target { variable: target, field: None }], strict: false };
        let is_absent = row.is_none();
        self.put(&into, &columns, row)?;
        if is_absent && let Slot::Record(_, _, absent) = &mut self.frame.slots[target as usize] {
            *absent = true;
        }
        Ok(true)
    }
}
