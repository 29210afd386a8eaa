//! The order of `jsonb`, its hash, and what contains what.
//!
//! Objects are greater than arrays, these than booleans, numbers, strings, null. Of two arrays or objects the one with more
//! parts is greater; of as many, the first part that differs decides, an object's keys and values in their stored order. The one
//! exception is PostgreSQL's: an empty array as the whole value is less than any scalar that is a whole value.
//!
//! Rules
//! 1. Damaged values compare somehow, and never panic.

use super::value::{Fields, List, Step, Value, Walk};
use crate::compare::compare_numeric;
use crate::hash;
use crate::numeric::Numeric;
use base::{Error, Result, sqlstate};
use std::cmp::Ordering;

/// How deep a value may be that is looked for in another one.
const CONTAINED_DEPTH_MAX: usize = 128;

/// A scalar's or container's place among the others.
fn rank(value: Value<'_>) -> u8 {
    match value {
        Value::Null => 0,
        Value::String(_) => 1,
        Value::Number(_) => 2,
        Value::Bool(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

fn compare_scalars(a: Value<'_>, b: Value<'_>) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => compare_numeric(a, b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(&b),
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

/// The order of two stored values.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    match (Value::decode(a), Value::decode(b)) {
        (Ok(left), Ok(right)) => compare_values(left, right).unwrap_or_else(|_| a.cmp(b)),
        _ => a.cmp(b),
    }
}

fn compare_values(a: Value<'_>, b: Value<'_>) -> Result<Ordering> {
    match (a, b) {
        (Value::Array(list), other) if list.is_empty() && !other.is_container() => return Ok(Ordering::Less),
        (other, Value::Array(list)) if list.is_empty() && !other.is_container() => return Ok(Ordering::Greater),
        _ => {}
    }
    let (mut left, mut right) = (Walk::new(a), Walk::new(b));
    while let (Some(x), Some(y)) = (left.next(), right.next()) {
        let order = match (x?, y?) {
            (Step::Scalar(x), Step::Scalar(y)) => compare_scalars(x, y),
            (Step::Key(x), Step::Key(y)) => x.cmp(y),
            (Step::Begin(x, x_count), Step::Begin(y, y_count)) => rank(x).cmp(&rank(y)).then(x_count.cmp(&y_count)),
            (Step::Scalar(_), Step::Begin(..)) => Ordering::Less,
            (Step::Begin(..), Step::Scalar(_)) => Ordering::Greater,
            _ => Ordering::Equal,
        };
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

/// The hash of a stored value: equal values have equal ones.
pub fn hash(bytes: &[u8]) -> u64 {
    Value::decode(bytes).and_then(hash_value).unwrap_or_else(|_| hash::hash_bytes(bytes))
}

fn hash_value(value: Value<'_>) -> Result<u64> {
    let mut state = 0;
    for step in Walk::new(value) {
        let own = match step? {
            Step::Begin(container, count) => hash::combine(rank(container).into(), count as u64),
            Step::End { .. } => continue,
            Step::Key(text) | Step::Scalar(Value::String(text)) => hash::hash_bytes(text),
            Step::Scalar(Value::Number(number)) => Numeric::decode(number)?.reduced().encode(hash::hash_bytes)?,
            Step::Scalar(Value::Bool(value)) => hash::hash_u64(u64::from(value) + 1),
            Step::Scalar(_) => hash::hash_u64(0),
        };
        state = hash::combine(state, own);
    }
    Ok(state)
}

/// Are two values of one type, and equal if they are scalars?
fn equal_scalars(a: Value<'_>, b: Value<'_>) -> bool {
    rank(a) == rank(b) && compare_scalars(a, b).is_eq()
}

/// Does the first value contain the second?
pub fn contains(whole: &[u8], part: &[u8]) -> Result<bool> {
    match (Value::decode(whole)?, Value::decode(part)?) {
        (Value::Array(whole), part) if !part.is_container() => has_scalar(whole, part),
        (whole, part) if !whole.is_container() && !part.is_container() => Ok(equal_scalars(whole, part)),
        (whole, part) => contains_value(whole, part, 0),
    }
}

fn has_scalar(list: List<'_>, wanted: Value<'_>) -> Result<bool> {
    for element in list.iter() {
        let element = element?;
        if !element.is_container() && equal_scalars(element, wanted) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn contains_value(whole: Value<'_>, part: Value<'_>, depth: usize) -> Result<bool> {
    if depth > CONTAINED_DEPTH_MAX {
        return Err(Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
            .detail(format!("A value that is looked for can be nested {CONTAINED_DEPTH_MAX} levels deep.")));
    }
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => contains_fields(whole, part, depth),
        (Value::Array(whole), Value::Array(part)) => {
            for wanted in part.iter() {
                let wanted = wanted?;
                let found = match wanted.is_container() {
                    false => has_scalar(whole, wanted)?,
                    true => {
                        let mut found = false;
                        for element in whole.iter() {
                            if contains_value(element?, wanted, depth + 1)? {
                                found = true;
                                break;
                            }
                        }
                        found
                    }
                };
                if !found {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (whole, part) => Ok(!whole.is_container() && !part.is_container() && equal_scalars(whole, part)),
    }
}

fn contains_fields(whole: Fields<'_>, part: Fields<'_>, depth: usize) -> Result<bool> {
    if whole.len() < part.len() {
        return Ok(false);
    }
    for field in part.iter() {
        let (key, wanted) = field?;
        match whole.get(key)? {
            Some(found) if contains_value(found, wanted, depth + 1)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// `?`: is a text a key of an object, or a string in an array, or the string itself?
pub fn exists(value: Value<'_>, text: &[u8]) -> Result<bool> {
    match value {
        Value::Object(fields) => Ok(fields.find(text)?.is_some()),
        Value::Array(list) => has_scalar(list, Value::String(text)),
        Value::String(own) => Ok(own == text),
        _ => Ok(false),
    }
}
