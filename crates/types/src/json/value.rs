//! The stored form of `jsonb`, read where it lies.
//!
//! ```text
//! value    tag u8 | body
//! body     nothing for null, false, true; a stored numeric; the bytes of a string; an array; an object
//! array    count u32 | an entry for each element | the elements' bodies
//! object   count u32 | where each key ends u32 | an entry for each value | the keys | the values' bodies
//! entry    u32: the tag in the high four bits, where the body ends in the others
//! ```
//! Ends are counted from where the entries end, so an element, and a key's value, is found without looking at the others. Keys
//! are in order, shorter ones first, those of one length by their bytes: a key is found by halving. All numbers are
//! little-endian. A part is a value's body as it is: to take one out is to copy it.
//!
//! Rules
//! 1. Nothing is trusted: reading outside the bytes is damage (`XX001`), and no order or depth is needed for safety.
//! 2. Nesting is walked with a list of what is open ([`Walk`]), never by calls.

use base::{Error, Result};
use std::cmp::Ordering;

pub(super) const NULL: u8 = 0;
pub(super) const FALSE: u8 = 1;
pub(super) const TRUE: u8 = 2;
pub(super) const NUMBER: u8 = 3;
pub(super) const STRING: u8 = 4;
pub(super) const ARRAY: u8 = 5;
pub(super) const OBJECT: u8 = 6;

/// What an entry has room for: the most bytes that an array's or object's parts may have.
pub(super) const PARTS_BYTES_MAX: usize = (1 << 28) - 1;

/// A value.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number, as a stored numeric.
    Number(&'a [u8]),
    /// A string.
    String(&'a [u8]),
    /// An array.
    Array(List<'a>),
    /// An object.
    Object(Fields<'a>),
}

#[cold]
pub(super) fn damaged() -> Error {
    Error::corruption("a stored jsonb is damaged")
}

fn word(bytes: &[u8], at: usize) -> Result<u32> {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        Some(chunk) => Ok(u32::from_le_bytes(*chunk)),
        None => Err(damaged()),
    }
}

impl<'a> Value<'a> {
    /// A stored value.
    pub fn decode(bytes: &'a [u8]) -> Result<Value<'a>> {
        let (&tag, body) = bytes.split_first().ok_or_else(damaged)?;
        Value::of(tag, body)
    }

    fn of(tag: u8, body: &'a [u8]) -> Result<Value<'a>> {
        Ok(match tag {
            NULL => Value::Null,
            FALSE => Value::Bool(false),
            TRUE => Value::Bool(true),
            NUMBER => Value::Number(body),
            STRING => Value::String(body),
            ARRAY => Value::Array(List::new(body)?),
            OBJECT => Value::Object(Fields::new(body)?),
            _ => return Err(damaged()),
        })
    }

    /// Its tag and its body.
    pub(super) fn parts(self) -> (u8, &'a [u8]) {
        match self {
            Value::Null => (NULL, &[]),
            Value::Bool(value) => (if value { TRUE } else { FALSE }, &[]),
            Value::Number(bytes) => (NUMBER, bytes),
            Value::String(bytes) => (STRING, bytes),
            Value::Array(list) => (ARRAY, list.whole),
            Value::Object(fields) => (OBJECT, fields.whole),
        }
    }

    /// Is it an object or an array?
    pub(super) fn is_container(self) -> bool {
        matches!(self, Value::Array(_) | Value::Object(_))
    }

    /// What `jsonb_typeof` calls it.
    pub fn type_name(self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }
}

/// A stored array.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    count: usize,
    entries: &'a [u8],
    bodies: &'a [u8],
    whole: &'a [u8],
}

impl<'a> List<'a> {
    fn new(whole: &'a [u8]) -> Result<List<'a>> {
        let count = word(whole, 0)? as usize;
        let split = count.checked_mul(4).and_then(|bytes| bytes.checked_add(4)).ok_or_else(damaged)?;
        let (head, bodies) = whole.split_at_checked(split).ok_or_else(damaged)?;
        Ok(List { count, entries: &head[4..], bodies, whole })
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// An element; the index is less than the length.
    pub fn get(&self, index: usize) -> Result<Value<'a>> {
        part(self.entries, self.bodies, index, 0)
    }

    /// The element with an index that counts from the end if it is negative.
    pub fn at(&self, index: i64) -> Result<Option<Value<'a>>> {
        let index = if index < 0 { index + self.count as i64 } else { index };
        match usize::try_from(index) {
            Ok(index) if index < self.count => self.get(index).map(Some),
            _ => Ok(None),
        }
    }

    /// The elements.
    pub fn iter(self) -> impl Iterator<Item = Result<Value<'a>>> {
        (0..self.count).map(move |index| self.get(index))
    }
}

/// The part that an entry says: from where the one before it ends, the first from `first`.
fn part<'a>(entries: &[u8], bodies: &'a [u8], index: usize, first: usize) -> Result<Value<'a>> {
    let entry = word(entries, index * 4)?;
    let start = match index {
        0 => first,
        _ => word(entries, index * 4 - 4)? as usize & PARTS_BYTES_MAX,
    };
    let body = bodies.get(start..entry as usize & PARTS_BYTES_MAX).ok_or_else(damaged)?;
    Value::of((entry >> 28) as u8, body)
}

/// A stored object.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    count: usize,
    keys: &'a [u8],
    entries: &'a [u8],
    bodies: &'a [u8],
    whole: &'a [u8],
}

impl<'a> Fields<'a> {
    fn new(whole: &'a [u8]) -> Result<Fields<'a>> {
        let count = word(whole, 0)? as usize;
        let split = count.checked_mul(8).and_then(|bytes| bytes.checked_add(4)).ok_or_else(damaged)?;
        let (head, bodies) = whole.split_at_checked(split).ok_or_else(damaged)?;
        let (keys, entries) = head[4..].split_at(count * 4);
        Ok(Fields { count, keys, entries, bodies, whole })
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A key; the index is less than the length.
    pub fn key(&self, index: usize) -> Result<&'a [u8]> {
        let start = if index == 0 { 0 } else { word(self.keys, index * 4 - 4)? as usize };
        self.bodies.get(start..word(self.keys, index * 4)? as usize).ok_or_else(damaged)
    }

    /// Its value.
    pub fn value(&self, index: usize) -> Result<Value<'a>> {
        let first = if index == 0 { word(self.keys, self.keys.len().saturating_sub(4))? as usize } else { 0 };
        part(self.entries, self.bodies, index, first)
    }

    /// Where a key is.
    pub fn find(&self, key: &[u8]) -> Result<Option<usize>> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            match compare_keys(self.key(middle)?, key) {
                Ordering::Equal => return Ok(Some(middle)),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value<'a>>> {
        match self.find(key)? {
            Some(index) => self.value(index).map(Some),
            None => Ok(None),
        }
    }

    /// Keys and values.
    pub fn iter(self) -> impl Iterator<Item = Result<(&'a [u8], Value<'a>)>> {
        (0..self.count).map(move |index| Ok((self.key(index)?, self.value(index)?)))
    }
}

/// The order of keys in an object.
pub(super) fn compare_keys(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// A step through a value and all its parts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    /// An array or object with so many elements or keys.
    Begin(Value<'a>, usize),
    /// It ends.
    End { object: bool },
    /// The key of the value that comes next.
    Key(&'a [u8]),
    /// A value without parts.
    Scalar(Value<'a>),
}

/// A walk through a value, part by part.
pub(crate) struct Walk<'a> {
    root: Option<Value<'a>>,
    /// What is open: the container, and its next part; of an object, keys and values in turns.
    open: Vec<(Value<'a>, usize)>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(root: Value<'a>) -> Walk<'a> {
        Walk { root: Some(root), open: Vec::new() }
    }

    fn enter(&mut self, value: Value<'a>) -> Step<'a> {
        let count = match value {
            Value::Array(list) => list.len(),
            Value::Object(fields) => fields.len(),
            scalar => return Step::Scalar(scalar),
        };
        self.open.push((value, 0));
        Step::Begin(value, count)
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Result<Step<'a>>;

    fn next(&mut self) -> Option<Result<Step<'a>>> {
        if let Some(root) = self.root.take() {
            return Some(Ok(self.enter(root)));
        }
        let (container, next) = self.open.last_mut()?;
        let place = *next;
        *next += 1;
        let part = match *container {
            Value::Array(list) if place < list.len() => list.get(place),
            Value::Object(fields) if place < 2 * fields.len() && place.is_multiple_of(2) => {
                return Some(fields.key(place / 2).map(Step::Key));
            }
            Value::Object(fields) if place < 2 * fields.len() => fields.value(place / 2),
            ended => {
                self.open.pop();
                return Some(Ok(Step::End { object: matches!(ended, Value::Object(_)) }));
            }
        };
        Some(part.map(|part| self.enter(part)))
    }
}
