//! Arrays: their extents, searching, joining, and the forms with a delimiter.

use super::unknown;
use crate::array::part::{self, Bounds};
use crate::array::{Array, Dimension, encode, encode_list};
use crate::op::{LEFT_OUT, Op};
use crate::{Datum, EvalCtx, Oid, compare, io, record, table};
use base::{Error, Result, sqlstate};

pub(super) fn eval<'a>(op: Op, args: &[Datum<'a>], ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    use Op::*;
    match op {
        ArrayLength | ArrayLower | ArrayUpper => Array::decode(args[0].bytes()).map(|array| {
            let wanted = usize::try_from(args[1].int()).ok().and_then(|number| number.checked_sub(1));
            let dimension = wanted.and_then(|at| array.dimensions().get(at));
            dimension.map_or(Datum::Null, |dimension| {
                let (length, lower) = (i64::from(dimension.length), i64::from(dimension.lower));
                Datum::Int(match op {
                    ArrayLength => length,
                    ArrayLower => lower,
                    _ => lower + length - 1,
                })
            })
        }),
        ArrayNdims => Array::decode(args[0].bytes()).map(|array| match array.dimensions().len() {
            0 => Datum::Null,
            count => Datum::Int(count as i64),
        }),
        Cardinality => Array::decode(args[0].bytes()).map(|array| Datum::Int(array.len() as i64)),
        ArrayPosition => position(args),
        ArrayAppend => append(args[0], args[1], ctx, false),
        ArrayPrepend => append(args[1], args[0], ctx, true),
        ArrayCat => concatenate(args, ctx),
        ArrayContains => contains(args[0].bytes(), args[1].bytes()).map(Datum::Bool),
        ArrayContained => contains(args[1].bytes(), args[0].bytes()).map(Datum::Bool),
        ArrayOverlap => overlaps(args[0].bytes(), args[1].bytes()).map(Datum::Bool),
        ArrayToString => to_string(args, ctx),
        StringToArray => from_string(args, ctx),
        ArrayDims => dimensions(args[0], ctx),
        ArrayPositions => positions(args, ctx),
        ArrayRemove => replace(args, None, ctx),
        ArrayReplace => replace(args, Some(args[2]), ctx),
        TrimArray => trim(args, ctx),
        MakeRecord => {
            let mut fields = Vec::with_capacity(args.len() / 3);
            for field in args.chunks_exact(3) {
                let name = std::str::from_utf8(field[0].bytes()).unwrap_or_default();
                fields.push(record::Field { name, oid: Oid(field[1].int() as u32), value: field[2] });
            }
            let mut made = Vec::new();
            record::encode(fields.into_iter(), &mut made)?;
            Ok(Datum::Bytes(ctx.arena.copy(&made)?))
        }
        JoinRecords => {
            let mut fields = Vec::new();
            for part in args {
                fields.extend(record::decode(part.bytes())?);
            }
            let mut made = Vec::new();
            record::encode(fields.into_iter(), &mut made)?;
            Ok(Datum::Bytes(ctx.arena.copy(&made)?))
        }
        RecordIsNull => Ok(Datum::Bool(record::is_null(args[0], true)?)),
        RecordIsNotNull => Ok(Datum::Bool(record::is_null(args[0], false)?)),
        ArrayElement => {
            let indexes: Vec<i64> = args[1..].iter().map(|index| index.int()).collect();
            Array::decode(args[0].bytes())?.get(&indexes)
        }
        ArraySlice => made(&part::slice(args[0].bytes(), &bounds(&args[1..]))?, ctx),
        ArrayWithElement | ArrayWithSlice => {
            let element = Oid(args[1].int() as u32);
            let empty = encode(element, &[], &[])?;
            let array = if let Datum::Bytes(bytes) = args[0] { bytes } else { &empty };
            if args[3..].iter().any(|index| index.is_null()) {
                let message = "array subscript in assignment must not be null";
                return Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
            }
            if op == ArrayWithElement {
                let indexes: Vec<i32> = args[3..].iter().map(|index| index.int() as i32).collect();
                return made(&part::with_element(array, element, &indexes, args[2])?, ctx);
            }
            let source = if let Datum::Bytes(bytes) = args[2] { Some(bytes) } else { None };
            made(&part::with_slice(array, element, &bounds(&args[3..]), source)?, ctx)
        }
        ArrayFill => {
            if args[2..].iter().any(|list| list.is_null()) {
                let message = "dimension array or low bound array cannot be null";
                return Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
            }
            let lowers = args.get(3).map(|list| list.bytes());
            made(&part::filled(Oid(args[0].int() as u32), args[1], args[2].bytes(), lowers)?, ctx)
        }
        EnumFirst | EnumLast | EnumAll | EnumRange => enum_values(op, args, ctx),
        _ => unknown(op),
    }
}

fn made<'a>(bytes: &[u8], ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Bytes(ctx.arena.copy(bytes)?))
}

/// The bounds of a slice: a first and a last index for each dimension.
fn bounds(indexes: &[Datum<'_>]) -> Vec<Bounds> {
    let bound = |index: Datum<'_>| Some(index.int()).filter(|index| *index != LEFT_OUT).map(|index| index as i32);
    indexes.chunks_exact(2).map(|pair| Bounds { lower: bound(pair[0]), upper: bound(pair[1]) }).collect()
}

/// The first or last value of an enum, or an array of those between two; a bound that is null is none.
fn enum_values<'a>(op: Op, args: &[Datum<'a>], ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    let Datum::Int(ty) = args[0] else { return Ok(Datum::Null) };
    let ty = Oid(ty as u32);
    let unknown = || Error::unsupported("types of users are not known here");
    let types = ctx.style.types.ok_or_else(unknown)?;
    let mut values = types.values(ty)?;
    if matches!(op, Op::EnumFirst | Op::EnumLast) {
        let found = if op == Op::EnumFirst { values.first() } else { values.last() };
        return match found {
            Some(value) => types.check(*value).map(|()| Datum::Int(*value)),
            None => {
                let message = format!("enum {} contains no values", crate::user::mark(ty));
                Err(Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
            }
        };
    }
    // With one argument, it only says which enum is meant.
    let bounds = if op == Op::EnumRange { &args[1..] } else { &[][..] };
    for (bound, wrong) in bounds.iter().zip([std::cmp::Ordering::Less, std::cmp::Ordering::Greater]) {
        if let Datum::Int(bound) = bound {
            values.retain(|value| value.cmp(bound) != wrong);
        }
    }
    values.iter().try_for_each(|value| types.check(*value))?;
    let values: Vec<Datum<'_>> = values.into_iter().map(Datum::Int).collect();
    let bytes = if values.is_empty() { encode(ty, &[], &[])? } else { encode_list(ty, &values)? };
    Ok(Datum::Bytes(ctx.arena.copy(&bytes)?))
}

/// `array_position(array, value [, start])`: null is found as any other value.
fn position<'a>(args: &[Datum<'a>]) -> Result<Datum<'a>> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let array = Array::decode(args[0].bytes())?;
    if array.dimensions().len() > 1 {
        return Err(Error::unsupported("searching for elements in multidimensional arrays is not supported"));
    }
    let lower = array.dimensions().first().map_or(1, |dimension| i64::from(dimension.lower));
    let start = match args.get(2) {
        None => lower,
        Some(Datum::Null) => {
            return Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, "initial position must not be null"));
        }
        Some(start) => start.int(),
    };
    let kind = table::kind(array.element());
    for (at, element) in array.iter().enumerate() {
        let element = element?;
        let index = lower + at as i64;
        let found = match (element.is_null(), args[1].is_null()) {
            (false, false) => compare::equal(kind, element, args[1]),
            (element, value) => element && value,
        };
        if index >= start && found {
            return Ok(Datum::Int(index));
        }
    }
    Ok(Datum::Null)
}

/// Puts an element at an array's end, or at its front. The element type is the array's; for a null array nothing tells
/// it, so the binder gives an empty one.
fn append<'a>(list: Datum<'a>, element: Datum<'a>, ctx: &EvalCtx<'a>, front: bool) -> Result<Datum<'a>> {
    if list.is_null() {
        return Ok(Datum::Null);
    }
    let array = Array::decode(list.bytes())?;
    if array.dimensions().len() > 1 {
        return Err(Error::statement(sqlstate::DATA_EXCEPTION, "argument must be empty or one-dimensional array"));
    }
    let lower = array.dimensions().first().map_or(1, |dimension| dimension.lower);
    if front && lower == i32::MIN {
        return Err(Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"));
    }
    let dimension = Dimension { length: array.len() as u32 + 1, lower };
    part::check_bound(lower, dimension.length.into())?;
    if let Some(made) = part::extended(list.bytes(), element, front)? {
        return Ok(Datum::Bytes(ctx.arena.copy(&made)?));
    }
    let mut elements = array.elements()?;
    elements.insert(if front { 0 } else { elements.len() }, element);
    Ok(Datum::Bytes(ctx.arena.copy(&encode(array.element(), &[dimension], &elements)?)?))
}

fn concatenate<'a>(args: &[Datum<'a>], ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    let (first, second) = match (args[0], args[1]) {
        (Datum::Null, other) | (other, Datum::Null) => return Ok(other),
        (first, second) => (Array::decode(first.bytes())?, Array::decode(second.bytes())?),
    };
    if first.is_empty() {
        return Ok(args[1]);
    }
    if second.is_empty() {
        return Ok(args[0]);
    }
    let incompatible = |detail: &str| {
        Error::statement(base::sqlstate::ARRAY_SUBSCRIPT_ERROR, "cannot concatenate incompatible arrays").detail(detail)
    };
    let (a, b) = (first.dimensions(), second.dimensions());
    // Of the same depth, they are joined along the outermost dimension; one level apart, the smaller is one more item.
    let dimensions: Vec<Dimension> = if a.len() == b.len() {
        if a[1..] != b[1..] {
            return Err(incompatible("Arrays with differing element dimensions are not compatible for concatenation."));
        }
        [&[Dimension { length: a[0].length + b[0].length, lower: a[0].lower }], &a[1..]].concat()
    } else {
        let (outer, inner) = if a.len() > b.len() { (a, b) } else { (b, a) };
        if outer.len() != inner.len() + 1 {
            return Err(incompatible(&format!(
                "Arrays of {} and {} dimensions are not compatible for concatenation.",
                a.len(),
                b.len()
            )));
        }
        if outer[1..] != *inner {
            return Err(incompatible("Arrays with differing dimensions are not compatible for concatenation."));
        }
        [&[Dimension { length: outer[0].length + 1, lower: outer[0].lower }], inner].concat()
    };
    dimensions.iter().try_for_each(|dimension| part::check_bound(dimension.lower, dimension.length.into()))?;
    Ok(Datum::Bytes(ctx.arena.copy(&part::joined(&first, &second, &dimensions)?)?))
}

/// Is every element of `part` in `whole`? A null is in nothing.
fn contains(whole: &[u8], part: &[u8]) -> Result<bool> {
    let (whole, part) = (Array::decode(whole)?, Array::decode(part)?);
    let kind = table::kind(whole.element());
    let elements = whole.elements()?;
    for wanted in part.iter() {
        let wanted = wanted?;
        let is_it = |element: &Datum<'_>| !element.is_null() && compare::equal(kind, *element, wanted);
        if wanted.is_null() || !elements.iter().any(is_it) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn overlaps(first: &[u8], second: &[u8]) -> Result<bool> {
    let (first, second) = (Array::decode(first)?, Array::decode(second)?);
    let kind = table::kind(first.element());
    let elements = second.elements()?;
    for wanted in first.iter() {
        let wanted = wanted?;
        let is_it = |element: &Datum<'_>| !element.is_null() && compare::equal(kind, *element, wanted);
        if !wanted.is_null() && elements.iter().any(is_it) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `array_to_string(array, delimiter [, null text])`
fn to_string<'a>(args: &[Datum<'a>], ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    if args[0].is_null() || args[1].is_null() {
        return Ok(Datum::Null);
    }
    let array = Array::decode(args[0].bytes())?;
    let kind = table::kind(array.element());
    let null_text = args.get(2).filter(|text| !text.is_null()).map(|text| text.bytes());
    let mut out = Vec::new();
    let mut first = true;
    for element in array.iter() {
        let element = element?;
        if element.is_null() && null_text.is_none() {
            continue;
        }
        if !first {
            out.extend_from_slice(args[1].bytes());
        }
        first = false;
        match null_text {
            Some(text) if element.is_null() => out.extend_from_slice(text),
            _ => io::output(kind, element, &ctx.style, &mut out)?,
        }
    }
    Ok(Datum::Bytes(ctx.arena.copy(&out)?))
}

/// `string_to_array(text, delimiter [, null text])`: without a delimiter each character is an element.
fn from_string<'a>(args: &[Datum<'a>], ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let text = args[0].bytes();
    let null_text = args.get(2).filter(|text| !text.is_null()).map(|text| text.bytes());
    let mut parts: Vec<&[u8]> = Vec::new();
    match args[1] {
        _ if text.is_empty() => {}
        Datum::Null => parts.extend(crate::text::characters(text)),
        delimiter if delimiter.bytes().is_empty() => parts.push(text),
        delimiter => {
            let delimiter = delimiter.bytes();
            let mut start = 0;
            let mut at = 0;
            while at < text.len() {
                if text[at..].starts_with(delimiter) {
                    parts.push(&text[start..at]);
                    at += delimiter.len();
                    start = at;
                } else {
                    at += 1;
                }
            }
            parts.push(&text[start..]);
        }
    }
    let element = |part: &&'a [u8]| if Some(*part) == null_text { Datum::Null } else { Datum::Bytes(part) };
    let elements: Vec<Datum<'a>> = parts.iter().map(element).collect();
    Ok(Datum::Bytes(ctx.arena.copy(&encode_list(Oid::TEXT, &elements)?)?))
}

/// `array_dims`: `[1:3][1:2]`; null of an empty array.
fn dimensions<'a>(list: Datum<'a>, ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    let array = Array::decode(list.bytes())?;
    if array.dimensions().is_empty() {
        return Ok(Datum::Null);
    }
    let shown = |dimension: &Dimension| {
        let last = i64::from(dimension.lower) + i64::from(dimension.length) - 1;
        format!("[{}:{last}]", dimension.lower)
    };
    let text: String = array.dimensions().iter().map(shown).collect();
    Ok(Datum::Bytes(ctx.arena.copy(text.as_bytes())?))
}

/// Is an element the value that is looked for? Null is found as any other.
fn is_found(kind: table::Kind, element: Datum<'_>, wanted: Datum<'_>) -> bool {
    match (element.is_null(), wanted.is_null()) {
        (false, false) => compare::equal(kind, element, wanted),
        (element, wanted) => element && wanted,
    }
}

/// `array_positions(array, value)`
fn positions<'a>(args: &[Datum<'a>], ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let array = Array::decode(args[0].bytes())?;
    if array.dimensions().len() > 1 {
        return Err(Error::unsupported("searching for elements in multidimensional arrays is not supported"));
    }
    let lower = array.dimensions().first().map_or(1, |dimension| i64::from(dimension.lower));
    let kind = table::kind(array.element());
    let mut found = Vec::new();
    for (at, element) in array.iter().enumerate() {
        if is_found(kind, element?, args[1]) {
            found.push(Datum::Int(lower + at as i64));
        }
    }
    Ok(Datum::Bytes(ctx.arena.copy(&encode_list(Oid::INT4, &found)?)?))
}

/// `array_remove` and `array_replace`: every element that is the second argument goes, or becomes `instead`.
fn replace<'a>(args: &[Datum<'a>], instead: Option<Datum<'a>>, ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let array = Array::decode(args[0].bytes())?;
    if instead.is_none() && array.dimensions().len() > 1 {
        return Err(Error::unsupported("removing elements from multidimensional arrays is not supported"));
    }
    let kind = table::kind(array.element());
    let (mut kept, mut changed) = (Vec::with_capacity(array.len()), false);
    for element in array.iter() {
        let element = element?;
        match is_found(kind, element, args[1]) {
            false => kept.push(element),
            true => {
                changed = true;
                kept.extend(instead);
            }
        }
    }
    if !changed {
        return Ok(args[0]);
    }
    let mut dimensions = array.dimensions().to_vec();
    if let [only] = &mut dimensions[..] {
        only.length = kept.len() as u32;
    }
    if kept.is_empty() {
        dimensions.clear();
    }
    Ok(Datum::Bytes(ctx.arena.copy(&encode(array.element(), &dimensions, &kept)?)?))
}

/// `trim_array(array, count)`: so many elements less at its end.
fn trim<'a>(args: &[Datum<'a>], ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    let array = Array::decode(args[0].bytes())?;
    let mut dimensions = array.dimensions().to_vec();
    let length = dimensions.first().map_or(0, |dimension| i64::from(dimension.length));
    let count = args[1].int();
    if !(0..=length).contains(&count) {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return Err(Error::statement(sqlstate::ARRAY_SUBSCRIPT_ERROR, message));
    }
    let Some(outermost) = dimensions.first_mut().filter(|_| count < length) else {
        return Ok(Datum::Bytes(ctx.arena.copy(&encode(array.element(), &[], &[])?)?));
    };
    let each = array.len() / length as usize;
    outermost.length = (length - count) as u32;
    // What is left is a slice, which counts from one.
    dimensions.iter_mut().for_each(|dimension| dimension.lower = 1);
    let elements = array.elements()?;
    let kept = &elements[..each * (length - count) as usize];
    Ok(Datum::Bytes(ctx.arena.copy(&encode(array.element(), &dimensions, kept)?)?))
}
