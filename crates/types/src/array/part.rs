//! Parts of arrays: what `a[1:2]` gives, what `a[1] = x` and `a[1:2] = b` make of an array, and arrays that are filled.
//!
//! ```text
//!  a[2:3]           a slice: counts from one again
//!  a[4] = x         an array of one dimension grows at both ends, by nulls; of several, the place must be there
//!  '{}'[4] = x      an empty array gets as many dimensions as there are subscripts
//! ```
//! Rules
//! 1. A part that lies outside is no error where it is read: an element is null, a slice is empty.
//! 2. What is assigned to a slice may have more elements than the slice, which are not used; not fewer.

use super::{Array, DIMENSIONS_MAX, Dimension, ELEMENTS_MAX, encode, encode_header, too_many_dimensions};
use crate::stored;
use crate::{Datum, Oid};
use base::{Error, Result, sqlstate};

/// The most elements that an array grows to.
const GROWN_MAX: i64 = 134_217_727;

/// What a subscript with a colon says; a bound that is left out is the array's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The first index.
    pub lower: Option<i32>,
    /// The last one.
    pub upper: Option<i32>,
}

#[cold]
fn wrong(message: &'static str) -> Error {
    Error::statement(sqlstate::ARRAY_SUBSCRIPT_ERROR, message)
}

#[cold]
fn too_large() -> Error {
    let message = format!("array size exceeds the maximum allowed ({GROWN_MAX})");
    Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
}

/// Refuses a dimension whose last index, or the one behind it, is no integer.
pub(crate) fn check_bound(lower: i32, length: i64) -> Result<()> {
    match i32::try_from(i64::from(lower) + length) {
        Ok(_) => Ok(()),
        Err(_) => {
            let message = format!("array lower bound is too large: {lower}");
            Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, message))
        }
    }
}

/// How many elements so many dimensions have.
fn count_of(dimensions: &[Dimension]) -> Result<usize> {
    let mut count = i64::from(!dimensions.is_empty());
    for dimension in dimensions {
        count = count.saturating_mul(dimension.length.into());
        if count > GROWN_MAX {
            return Err(too_large());
        }
    }
    Ok(count as usize)
}

fn reserve<'a>(items: &mut Vec<Datum<'a>>, more: usize) -> Result<()> {
    items.try_reserve(more).map_err(|_| Error::out_of_memory("an array", more * size_of::<Datum<'_>>()))
}

/// The places, within the elements of an array, of a part of it: what begins and is as long as `part` says.
fn places(dimensions: &[Dimension], part: &[Dimension], mut each: impl FnMut(usize) -> Result<()>) -> Result<()> {
    let mut index = [0_u32; DIMENSIONS_MAX];
    for _ in 0..count_of(part)? {
        let mut place = 0;
        for ((dimension, part), index) in dimensions.iter().zip(part).zip(index) {
            let within = i64::from(part.lower) - i64::from(dimension.lower) + i64::from(index);
            place = place * dimension.length as usize + within as usize;
        }
        each(place)?;
        for (index, part) in index[..part.len()].iter_mut().zip(part).rev() {
            *index += 1;
            if *index < part.length {
                break;
            }
            *index = 0;
        }
    }
    Ok(())
}

/// The slice of an array.
pub fn slice(bytes: &[u8], bounds: &[Bounds]) -> Result<Vec<u8>> {
    let array = Array::decode(bytes)?;
    let dimensions = array.dimensions();
    let nothing = || encode(array.element(), &[], &[]);
    if dimensions.len() < bounds.len() || dimensions.is_empty() {
        return nothing();
    }
    let mut part = dimensions.to_vec();
    for (part, bounds) in part.iter_mut().zip(bounds) {
        let (first, last) = (i64::from(part.lower), i64::from(part.lower) + i64::from(part.length) - 1);
        let lower = bounds.lower.map_or(first, |lower| first.max(lower.into()));
        let upper = bounds.upper.map_or(last, |upper| last.min(upper.into()));
        if lower > upper {
            return nothing();
        }
        *part = Dimension { length: (upper - lower + 1) as u32, lower: lower as i32 };
    }
    let elements = array.elements()?;
    let mut taken = Vec::new();
    places(dimensions, &part, |place| {
        taken.push(elements[place]);
        Ok(())
    })?;
    part.iter_mut().for_each(|part| part.lower = 1);
    encode(array.element(), &part, &taken)
}

/// Makes an array of one dimension reach from one index to another, by nulls.
fn grow<'a>(dimension: &mut Dimension, items: &mut Vec<Datum<'a>>, lower: i32, upper: i32) -> Result<()> {
    let before = i64::from(dimension.lower) - i64::from(lower);
    let after = i64::from(upper) - i64::from(dimension.lower) - i64::from(dimension.length) + 1;
    if before.max(0) + after.max(0) + items.len() as i64 > GROWN_MAX {
        return Err(too_large());
    }
    if before > 0 {
        reserve(items, before as usize)?;
        items.splice(0..0, std::iter::repeat_n(Datum::Null, before as usize));
        dimension.lower = lower;
    }
    if after > 0 {
        reserve(items, after as usize)?;
        items.resize(items.len() + after as usize, Datum::Null);
    }
    dimension.length = items.len() as u32;
    check_bound(dimension.lower, dimension.length.into())
}

/// An array in which an element is another one.
pub fn with_element(bytes: &[u8], element: Oid, subscripts: &[i32], value: Datum<'_>) -> Result<Vec<u8>> {
    let array = Array::decode(bytes)?;
    if subscripts.len() > DIMENSIONS_MAX {
        return Err(too_many_dimensions(subscripts.len()));
    }
    if array.is_empty() {
        subscripts.iter().try_for_each(|&lower| check_bound(lower, 1))?;
        let dimensions: Vec<Dimension> = subscripts.iter().map(|&lower| Dimension { length: 1, lower }).collect();
        return encode(element, &dimensions, &[value]);
    }
    let mut dimensions = array.dimensions().to_vec();
    if dimensions.len() != subscripts.len() {
        return Err(wrong("wrong number of array subscripts"));
    }
    let mut items = array.elements()?;
    if let ([dimension], [subscript]) = (dimensions.as_mut_slice(), subscripts) {
        grow(dimension, &mut items, *subscript, *subscript)?;
        items[(i64::from(*subscript) - i64::from(dimension.lower)) as usize] = value;
        return encode(element, &dimensions, &items);
    }
    let mut place = 0_usize;
    for (dimension, subscript) in dimensions.iter().zip(subscripts) {
        let at = i64::from(*subscript) - i64::from(dimension.lower);
        if at < 0 || at >= i64::from(dimension.length) {
            return Err(wrong("array subscript out of range"));
        }
        place = place * dimension.length as usize + at as usize;
    }
    items[place] = value;
    encode(element, &dimensions, &items)
}

/// Sets how many elements a stored array of one dimension has.
fn set_length(bytes: &mut [u8], length: u32) {
    bytes[6..10].copy_from_slice(&length.to_le_bytes());
}

/// The most bytes of an element beside those of its value: a number, or a length.
const ELEMENT_FRONT_MAX: usize = 16;

/// Puts an element into a stored array where it is: over one of the same size, or behind the last. False, and nothing is changed, where
/// that cannot be done: [`with_element`] does it all, in a time that grows with the array.
pub fn put_in_place(bytes: &mut Vec<u8>, subscripts: &[i32], value: Datum<'_>) -> Result<bool> {
    let array = Array::decode(bytes)?;
    if value.is_null() || array.nulls.is_some() || array.is_empty() || array.dimensions().len() != subscripts.len() {
        return Ok(false);
    }
    let mut place = 0_usize;
    for (dimension, subscript) in array.dimensions().iter().zip(subscripts) {
        let at = i64::from(*subscript) - i64::from(dimension.lower);
        if at < 0 || at >= i64::from(dimension.length) + i64::from(subscripts.len() == 1) {
            return Ok(false);
        }
        place = place * dimension.length as usize + at as usize;
    }
    let (kind, count, lower) = (array.kind, array.count, array.dimensions[0].lower);
    let before = bytes.len() - array.values.len();
    if place == count {
        let length = count as i64 + 1;
        if length > GROWN_MAX {
            return Err(too_large());
        }
        check_bound(lower, length)?;
        let size = bytes.len();
        let more = ELEMENT_FRONT_MAX
            + match value {
                Datum::Bytes(value) => value.len(),
                _ => 0,
            };
        if size + more > stored::BYTES_MAX {
            return Err(too_large());
        }
        bytes.try_reserve(more).map_err(|_| Error::out_of_memory("an array", size + more))?;
        if let Err(error) = stored::put(kind, value, bytes) {
            bytes.truncate(size);
            return Err(error);
        }
        set_length(bytes, length as u32);
        return Ok(true);
    }
    let Some(width) = stored::width(kind) else { return Ok(false) };
    let mut element = Vec::with_capacity(width);
    stored::put(kind, value, &mut element)?;
    let from = before + place * width;
    match bytes.get_mut(from..from + width) {
        Some(old) if element.len() == width => old.copy_from_slice(&element),
        _ => return Ok(false),
    }
    Ok(true)
}

/// The index behind the last element of a stored array to which [`put_in_place`] can add one there; none of another.
pub fn index_behind(bytes: &[u8]) -> Result<Option<i32>> {
    let array = Array::decode(bytes)?;
    let ([dimension], None) = (array.dimensions(), array.nulls) else { return Ok(None) };
    let (lower, length) = (i64::from(dimension.lower), i64::from(dimension.length));
    // Who adds the last one hears from the operator that it is too many.
    Ok(i32::try_from(lower + length).ok().filter(|index| *index < i32::MAX && length < GROWN_MAX))
}

/// A stored array of one dimension with one more element at an end. None where elements have to be looked at for that.
pub fn extended(bytes: &[u8], value: Datum<'_>, front: bool) -> Result<Option<Vec<u8>>> {
    let array = Array::decode(bytes)?;
    let length = array.len() + 1;
    if value.is_null() || array.nulls.is_some() || array.dimensions().len() != 1 || length > ELEMENTS_MAX {
        return Ok(None);
    }
    let mut made = Vec::with_capacity(bytes.len() + 24);
    made.extend_from_slice(&bytes[..bytes.len() - array.values.len()]);
    if front {
        stored::put(array.kind, value, &mut made)?;
    }
    made.extend_from_slice(array.values);
    if !front {
        stored::put(array.kind, value, &mut made)?;
    }
    set_length(&mut made, length as u32);
    Ok(Some(made))
}

/// The elements of two arrays behind one another, in an array of these dimensions.
pub fn joined(first: &Array<'_>, second: &Array<'_>, dimensions: &[Dimension]) -> Result<Vec<u8>> {
    let is_plain = first.nulls.is_none() && second.nulls.is_none() && first.element == second.element;
    if !is_plain || first.count + second.count > ELEMENTS_MAX {
        return encode(first.element, dimensions, &[first.elements()?, second.elements()?].concat());
    }
    let mut made = encode_header(first.element, dimensions, false);
    made.reserve(first.values.len() + second.values.len());
    made.extend_from_slice(first.values);
    made.extend_from_slice(second.values);
    Ok(made)
}

/// An array in which a slice is what another array has; nothing is changed if that is none.
pub fn with_slice(bytes: &[u8], element: Oid, bounds: &[Bounds], source: Option<&[u8]>) -> Result<Vec<u8>> {
    let Some(source) = source else { return Ok(bytes.to_vec()) };
    let (array, source) = (Array::decode(bytes)?, Array::decode(source)?);
    if bounds.len() > DIMENSIONS_MAX {
        return Err(too_many_dimensions(bounds.len()));
    }
    let given = source.elements()?;
    if array.is_empty() {
        let mut dimensions = Vec::with_capacity(bounds.len());
        for bounds in bounds {
            let (Some(lower), Some(upper)) = (bounds.lower, bounds.upper) else {
                return Err(wrong("array slice subscript must provide both boundaries").detail(
                    "When assigning to a slice of an empty array value, slice boundaries must be fully specified.",
                ));
            };
            let length = i64::from(upper) - i64::from(lower) + 1;
            if !(0..=GROWN_MAX).contains(&length) {
                return Err(too_large());
            }
            check_bound(lower, length)?;
            dimensions.push(Dimension { length: length as u32, lower });
        }
        let count = count_of(&dimensions)?;
        let Some(taken) = given.get(..count) else { return Err(wrong("source array too small")) };
        return encode(element, &dimensions, taken);
    }
    let mut dimensions = array.dimensions().to_vec();
    if dimensions.len() < bounds.len() {
        return Err(wrong("wrong number of array subscripts"));
    }
    let mut items = array.elements()?;
    let mut part = dimensions.clone();
    for (part, bounds) in part.iter_mut().zip(bounds) {
        let last = i64::from(part.lower) + i64::from(part.length) - 1;
        let lower = bounds.lower.unwrap_or(part.lower);
        let upper = bounds.upper.map_or(last, i64::from);
        if i64::from(lower) > upper {
            return Err(wrong("upper bound cannot be less than lower bound"));
        }
        if dimensions.len() > 1 && (lower < part.lower || upper > last) {
            return Err(wrong("array subscript out of range"));
        }
        let length = upper - i64::from(lower) + 1;
        if length > GROWN_MAX {
            return Err(too_large());
        }
        *part = Dimension { length: length as u32, lower };
    }
    if given.len() < count_of(&part)? {
        return Err(wrong("source array too small"));
    }
    if let ([dimension], [part]) = (dimensions.as_mut_slice(), part.as_slice()) {
        let last = i64::from(part.lower) + i64::from(part.length) - 1;
        grow(dimension, &mut items, part.lower, last as i32)?;
    }
    let mut given = given.into_iter();
    places(&dimensions, &part, |place| {
        items[place] = given.next().unwrap_or_default();
        Ok(())
    })?;
    encode(element, &dimensions, &items)
}

/// `array_fill(value, lengths, lower bounds)`
pub fn filled(element: Oid, value: Datum<'_>, lengths: &[u8], lowers: Option<&[u8]>) -> Result<Vec<u8>> {
    let lengths = whole_numbers(lengths, "Dimension array must be one dimensional.")?;
    let lowers = match lowers {
        None => vec![1; lengths.len()],
        Some(lowers) => whole_numbers(lowers, "Low bound array must be one dimensional.")?,
    };
    if lowers.len() != lengths.len() {
        return Err(wrong("wrong number of array subscripts")
            .detail("Low bound array has different size than dimensions array."));
    }
    if lengths.len() > DIMENSIONS_MAX {
        return Err(too_many_dimensions(lengths.len()));
    }
    let mut dimensions = Vec::with_capacity(lengths.len());
    for (length, lower) in lengths.into_iter().zip(lowers) {
        dimensions.push(Dimension { length: u32::try_from(length).map_err(|_| too_large())?, lower });
    }
    let count = count_of(&dimensions)?;
    if count > 0 {
        dimensions.iter().try_for_each(|dimension| check_bound(dimension.lower, dimension.length.into()))?;
    }
    let mut items = Vec::new();
    reserve(&mut items, count)?;
    items.resize(count, value);
    encode(element, &dimensions, &items)
}

/// The numbers of an array of integers of one dimension.
fn whole_numbers(bytes: &[u8], detail: &'static str) -> Result<Vec<i32>> {
    let array = Array::decode(bytes)?;
    if array.dimensions().len() > 1 {
        return Err(wrong("wrong number of array subscripts").detail(detail));
    }
    let number = |item: Result<Datum<'_>>| match item? {
        Datum::Int(number) => Ok(number as i32),
        _ => Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, "dimension values cannot be null")),
    };
    array.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arena;
    use crate::Type;
    use crate::array::{parse, print};
    use crate::datetime::Style;

    fn read(text: &str) -> Vec<u8> {
        parse(text, Type::plain(Oid::INT4), &Arena::new(), &Style::PLAIN).unwrap()
    }

    fn shown(bytes: &[u8]) -> String {
        let mut text = Vec::new();
        print(bytes, &Style::PLAIN, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn bounds(lower: i32, upper: i32) -> Bounds {
        Bounds { lower: Some(lower), upper: Some(upper) }
    }

    const ALL: Bounds = Bounds { lower: None, upper: None };

    #[test]
    fn what_is_put_in_place_is_what_is_made_anew() {
        for text in ["{}", "{1,2,3}", "{1,NULL,3}", "[5:6]={1,2}", "{{1,2},{3,4}}", "[2147483645:2147483646]={1,2}"] {
            let before = read(text);
            for subscripts in [&[0][..], &[1], &[3], &[4], &[6], &[7], &[1, 1], &[2, 1], &[2, 3], &[i32::MAX]] {
                for value in [Datum::Int(9), Datum::Null] {
                    let mut bytes = before.clone();
                    match (
                        put_in_place(&mut bytes, subscripts, value),
                        with_element(&before, Oid::INT4, subscripts, value),
                    ) {
                        (Ok(false), _) | (Err(_), Err(_)) => assert_eq!(bytes, before, "{text} {subscripts:?}"),
                        (Ok(true), Ok(made)) => assert_eq!(shown(&bytes), shown(&made), "{text} {subscripts:?}"),
                        other => panic!("{text} {subscripts:?} {other:?}"),
                    }
                }
            }
        }
        let mut bytes = read("{1,2}");
        assert!(
            put_in_place(&mut bytes, &[3], Datum::Int(3)).unwrap()
                && put_in_place(&mut bytes, &[1], Datum::Int(7)).unwrap()
        );
        assert_eq!(shown(&bytes), "{7,2,3}");
        assert_eq!(
            extended(&bytes, Datum::Int(4), true).unwrap().map(|made| shown(&made)).as_deref(),
            Some("{4,7,2,3}")
        );
        assert_eq!(
            extended(&bytes, Datum::Int(4), false).unwrap().map(|made| shown(&made)).as_deref(),
            Some("{7,2,3,4}")
        );
    }

    #[test]
    fn slices_count_from_one() {
        for (text, wanted, slice_of) in [
            ("{1,2,3}", "{2,3}", &[bounds(2, 9)][..]),
            ("[5:7]={1,2,3}", "{1,2}", &[Bounds { lower: None, upper: Some(6) }]),
            ("{{1,2},{3,4}}", "{{2},{4}}", &[ALL, bounds(2, 2)]),
            ("{{1,2},{3,4}}", "{{3,4}}", &[bounds(2, 2)]),
            ("{1,2,3}", "{}", &[ALL, ALL]),
            ("{1,2,3}", "{}", &[bounds(3, 2)]),
        ] {
            assert_eq!(shown(&slice(&read(text), slice_of).unwrap()), wanted, "{text}");
        }
    }

    #[test]
    fn arrays_grow_at_both_ends() {
        let two = read("{1,2}");
        let with = |at: i32| shown(&with_element(&two, Oid::INT4, &[at], Datum::Int(9)).unwrap());
        assert_eq!(with(2), "{1,9}");
        assert_eq!(with(4), "{1,2,NULL,9}");
        assert_eq!(with(-1), "[-1:2]={9,NULL,1,2}");
        assert_eq!(shown(&with_element(&read("{}"), Oid::INT4, &[5], Datum::Int(9)).unwrap()), "[5:5]={9}");
        assert!(with_element(&two, Oid::INT4, &[1, 1], Datum::Int(9)).is_err());
        assert!(with_element(&two, Oid::INT4, &[i32::MAX], Datum::Int(9)).is_err());
        let with = |lower, upper| {
            with_slice(&two, Oid::INT4, &[bounds(lower, upper)], Some(&read("{7,8,9}"))).map(|made| shown(&made))
        };
        assert_eq!(with(2, 3).unwrap(), "{1,7,8}");
        assert_eq!(with(4, 5).unwrap(), "{1,2,NULL,7,8}");
        assert_eq!(with(-2, -1).unwrap(), "[-2:2]={7,8,NULL,1,2}");
        assert!(with(1, 4).is_err() && with(2, 1).is_err() && with(i32::MIN, i32::MAX).is_err());
    }
}
