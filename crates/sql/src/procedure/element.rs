//! Elements of arrays, and records as wholes, as what a body assigns to.

use super::frame::Slot;
use super::run::Interpreter;
use super::tree::{Piece, Target};
use crate::plan::blob::Constant;
use crate::types::array::{Array, DIMENSIONS_MAX, Dimension, encode};
use crate::types::{Datum, Oid, Type, table, typmod};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};

fn out_of_range() -> Error {
    Error::statement(sqlstate::ARRAY_SUBSCRIPT_ERROR, "array subscript out of range")
}

/// An array in which an element is another one: as `UPDATE … SET a[i] = x` makes it.
fn with_element(array: &[u8], element: Oid, subscripts: &[i32], value: Datum<'_>) -> Result<Vec<u8>> {
    let array = Array::decode(array)?;
    if array.is_empty() {
        let dimensions: Vec<Dimension> = subscripts.iter().map(|&lower| Dimension { length: 1, lower }).collect();
        return encode(element, &dimensions, &[value]);
    }
    let mut dimensions = array.dimensions().to_vec();
    if dimensions.len() != subscripts.len() {
        return Err(Error::statement(sqlstate::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts"));
    }
    let mut items: Vec<Datum<'_>> = array.iter().collect::<Result<_>>()?;
    if let ([dimension], [subscript]) = (dimensions.as_mut_slice(), subscripts) {
        // An array of one dimension grows at both ends, by nulls.
        const ITEMS_MAX: i64 = 1 << 27;
        let at = i64::from(*subscript) - i64::from(dimension.lower);
        if !(-ITEMS_MAX..=ITEMS_MAX).contains(&at) {
            let message = format!("array size exceeds the maximum allowed ({ITEMS_MAX})");
            return Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        if at < 0 {
            let missing = at.unsigned_abs() as usize;
            items.try_reserve(missing).map_err(|_| Error::out_of_memory("an array", missing * 16))?;
            items.splice(0..0, std::iter::repeat_n(Datum::Null, missing));
            dimension.lower = *subscript;
        } else if at as usize >= items.len() {
            let wanted = at as usize + 1;
            items.try_reserve(wanted - items.len()).map_err(|_| Error::out_of_memory("an array", wanted * 16))?;
            items.resize(wanted, Datum::Null);
        }
        items[at.max(0) as usize] = value;
        dimension.length = items.len() as u32;
        return encode(element, &dimensions, &items);
    }
    let mut place = 0_usize;
    for (dimension, subscript) in dimensions.iter().zip(subscripts) {
        let at = i64::from(*subscript) - i64::from(dimension.lower);
        if at < 0 || at >= i64::from(dimension.length) {
            return Err(out_of_range());
        }
        place = place * dimension.length as usize + at as usize;
    }
    items[place] = value;
    encode(element, &dimensions, &items)
}

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
    /// `target[i] := value`
    pub(super) fn assign_element(&mut self, target: &Target, subscripts: &[Piece], piece: &Piece) -> Result<()> {
        let (ty, value) = self.value(piece)?;
        let mut places = Vec::with_capacity(subscripts.len());
        for piece in subscripts {
            match self.value_as(piece, Oid::INT4)? {
                Constant::Int(place) => places.push(place as i32),
                _ => {
                    let message = "array subscript in assignment must not be null";
                    return Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
                }
            }
        }
        if places.len() > DIMENSIONS_MAX {
            let message =
                format!("number of array dimensions ({}) exceeds the maximum allowed ({DIMENSIONS_MAX})", places.len());
            return Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let (own, array) = match (&self.frame.slots[target.variable as usize], &target.field) {
            (Slot::Scalar(own, value), None) => (*own, value.clone()),
            (Slot::Record(Some(fields), ..), Some(name)) => match fields.iter().find(|field| field.name == *name) {
                Some(field) => (field.ty, field.value.clone()),
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
        let value = self.session.converted(self.env, value, ty, Type { oid: element, typmod: own.typmod })?;
        let array = match array {
            Constant::Bytes(bytes) => bytes,
            _ => encode(element, &[], &[])?,
        };
        let changed = with_element(&array, element, &places, value.datum())?;
        self.assign(target, Type::plain(own.oid), Constant::Bytes(changed))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn list(values: &[i64], lower: i32) -> Vec<u8> {
        let items: Vec<Datum<'_>> = values.iter().map(|value| Datum::Int(*value)).collect();
        encode(Oid::INT4, &[Dimension { length: items.len() as u32, lower }], &items).unwrap()
    }

    #[test]
    fn arrays_grow_at_both_ends() {
        let shown = |bytes: &[u8]| {
            let array = Array::decode(bytes).unwrap();
            let items: Vec<String> = array.iter().map(|item| format!("{:?}", item.unwrap())).collect();
            (array.dimensions()[0].lower, items.join(" "))
        };
        let two = list(&[1, 2], 1);
        let with = |at: i32| with_element(&two, Oid::INT4, &[at], Datum::Int(9)).unwrap();
        assert_eq!(shown(&with(2)), (1, "Int(1) Int(9)".to_owned()));
        assert_eq!(shown(&with(4)), (1, "Int(1) Int(2) Null Int(9)".to_owned()));
        assert_eq!(shown(&with(-1)), (-1, "Int(9) Null Int(1) Int(2)".to_owned()));
        let empty = encode(Oid::INT4, &[], &[]).unwrap();
        assert_eq!(shown(&with_element(&empty, Oid::INT4, &[5], Datum::Int(9)).unwrap()), (5, "Int(9)".to_owned()));
        assert!(with_element(&two, Oid::INT4, &[1, 1], Datum::Int(9)).is_err());
    }
}
