//! Making a stored `jsonb`.
//!
//! A [`Builder`] is told what begins, what ends, keys and values, in the order of the text. Parts of other values are taken over
//! as they lie, without looking into them. When a container ends, its items go to a pool, an object's in the order of its keys
//! and each key once; [`Builder::finish`] then writes all in one pass, each byte once.
//!
//! Rules
//! 1. Of keys that come more than once in an object, the last value stays.
//! 2. What is longer than an entry can say is `54000`, what is nested too deeply `54001`.

use super::value::{ARRAY, OBJECT, PARTS_BYTES_MAX, Value, compare_keys};
use super::{DEPTH_MAX, too_deep};
use base::{Error, Result, sqlstate};

/// A value, or a container whose items are in the pool.
#[derive(Clone, Copy)]
enum Part<'a> {
    Value(Value<'a>),
    Made { object: bool, start: usize, count: usize },
}

/// A part of a container; without a key in an array.
#[derive(Clone, Copy)]
struct Item<'a> {
    key: &'a [u8],
    part: Part<'a>,
}

/// A container that has not ended.
struct Frame<'a> {
    object: bool,
    /// Where its items begin among the open ones.
    base: usize,
    /// The key that it stands under itself.
    key: &'a [u8],
}

/// A value being made.
#[derive(Default)]
pub(crate) struct Builder<'a> {
    open: Vec<Item<'a>>,
    pool: Vec<Item<'a>>,
    frames: Vec<Frame<'a>>,
    key: &'a [u8],
}

fn room<T>(list: &mut Vec<T>, count: usize) -> Result<()> {
    list.try_reserve(count).map_err(|_| Error::out_of_memory("a value of type jsonb", count * size_of::<T>()))
}

#[cold]
fn limit(message: String) -> Error {
    Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
}

fn check_string(text: &[u8]) -> Result<()> {
    if text.len() <= PARTS_BYTES_MAX {
        return Ok(());
    }
    Err(limit("string too long to represent as jsonb string".to_owned())
        .detail(format!("Due to an implementation restriction, jsonb strings cannot exceed {PARTS_BYTES_MAX} bytes.")))
}

impl<'a> Builder<'a> {
    pub(crate) fn new() -> Builder<'a> {
        Builder::default()
    }

    /// An object or array begins.
    pub(crate) fn begin(&mut self, object: bool) -> Result<()> {
        if self.frames.len() >= DEPTH_MAX {
            return Err(too_deep());
        }
        room(&mut self.frames, 1)?;
        self.frames.push(Frame { object, base: self.open.len(), key: std::mem::take(&mut self.key) });
        Ok(())
    }

    /// The key of what comes next.
    pub(crate) fn key(&mut self, key: &'a [u8]) -> Result<()> {
        check_string(key)?;
        self.key = key;
        Ok(())
    }

    /// A value.
    pub(crate) fn value(&mut self, value: Value<'a>) -> Result<()> {
        if let Value::String(text) = value {
            check_string(text)?;
        }
        room(&mut self.open, 1)?;
        self.open.push(Item { key: std::mem::take(&mut self.key), part: Part::Value(value) });
        Ok(())
    }

    /// A key and its value.
    pub(crate) fn field(&mut self, key: &'a [u8], value: Value<'a>) -> Result<()> {
        self.key(key)?;
        self.value(value)
    }

    /// The innermost container ends.
    pub(crate) fn end(&mut self) -> Result<()> {
        let Some(Frame { object, base, key }) = self.frames.pop() else { return Ok(()) };
        let items = &mut self.open[base..];
        let start = self.pool.len();
        room(&mut self.pool, items.len())?;
        if object {
            let in_order = items.windows(2).all(|pair| compare_keys(pair[0].key, pair[1].key).is_lt());
            if !in_order {
                // Stable, so that the last of equal keys is the one that was written last.
                items.sort_by(|a, b| compare_keys(a.key, b.key));
            }
            for (at, item) in items.iter().enumerate() {
                if items.get(at + 1).is_none_or(|next| next.key != item.key) {
                    self.pool.push(*item);
                }
            }
        } else {
            self.pool.extend_from_slice(items);
        }
        self.open.truncate(base);
        let count = self.pool.len() - start;
        if count > PARTS_BYTES_MAX {
            let what = if object { "object pairs" } else { "array elements" };
            return Err(limit(format!("number of jsonb {what} exceeds the maximum allowed ({PARTS_BYTES_MAX})")));
        }
        self.open.push(Item { key, part: Part::Made { object, start, count } });
        Ok(())
    }

    /// The stored form of what was made.
    pub(crate) fn finish(self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let root = self.open.first().map_or(Part::Value(Value::Null), |item| item.part);
        let mut open: Vec<Writing> = Vec::new();
        match root {
            Part::Value(value) => {
                let (tag, body) = value.parts();
                room(&mut out, 1 + body.len())?;
                out.push(tag);
                out.extend_from_slice(body);
            }
            Part::Made { object, start, count } => {
                out.push(if object { OBJECT } else { ARRAY });
                open.push(Writing::begin(&self.pool[start..start + count], object, start, &mut out)?);
            }
        }
        while let Some(writing) = open.last_mut() {
            if writing.next == writing.end {
                let tag = if writing.object { OBJECT } else { ARRAY };
                open.pop();
                if let Some(parent) = open.last_mut() {
                    parent.note(tag, &mut out)?;
                }
                continue;
            }
            let item = self.pool[writing.next];
            writing.next += 1;
            match item.part {
                Part::Value(value) => {
                    let (tag, body) = value.parts();
                    room(&mut out, body.len())?;
                    out.extend_from_slice(body);
                    writing.note(tag, &mut out)?;
                }
                Part::Made { object, start, count } => {
                    let items = &self.pool[start..start + count];
                    open.push(Writing::begin(items, object, start, &mut out)?);
                }
            }
        }
        Ok(out)
    }
}

/// A container being written.
struct Writing {
    object: bool,
    /// Its next item in the pool, and the one after its last.
    next: usize,
    end: usize,
    /// Where the next entry goes, and where ends are counted from.
    entry: usize,
    bodies: usize,
}

impl Writing {
    /// Writes the count, room for the entries, and an object's keys.
    fn begin(items: &[Item<'_>], object: bool, start: usize, out: &mut Vec<u8>) -> Result<Writing> {
        let count = items.len();
        let keys = if object { count * 4 } else { 0 };
        room(out, 4 + keys + count * 4)?;
        out.extend_from_slice(&(count as u32).to_le_bytes());
        let mut end = 0usize;
        if object {
            for item in items {
                end += item.key.len();
                if end > PARTS_BYTES_MAX {
                    return Err(too_large(true));
                }
                out.extend_from_slice(&(end as u32).to_le_bytes());
            }
        }
        let entry = out.len();
        out.resize(entry + count * 4, 0);
        let bodies = out.len();
        if object {
            room(out, end)?;
            items.iter().for_each(|item| out.extend_from_slice(item.key));
        }
        Ok(Writing { object, next: start, end: start + count, entry, bodies })
    }

    /// Writes the entry of the body that was written last.
    fn note(&mut self, tag: u8, out: &mut [u8]) -> Result<()> {
        let end = out.len() - self.bodies;
        if end > PARTS_BYTES_MAX {
            return Err(too_large(self.object));
        }
        let entry = u32::from(tag) << 28 | end as u32;
        out[self.entry..self.entry + 4].copy_from_slice(&entry.to_le_bytes());
        self.entry += 4;
        Ok(())
    }
}

#[cold]
fn too_large(object: bool) -> Error {
    let what = if object { "object" } else { "array" };
    limit(format!("total size of jsonb {what} elements exceeds the maximum of {PARTS_BYTES_MAX} bytes"))
}
