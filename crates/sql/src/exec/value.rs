//! Values while a statement is executed: sixteen bytes each, copied freely.
//!
//! A [`Value`] is a number, or says where its bytes are: in the plan, among the parameters, in the scratch area of the
//! expression that is being computed, or in a node's buffer. It borrows nothing, so registers, stack and stores are plain
//! vectors, and a node may run in the middle of an expression. [`Memory`] turns a value into a [`Datum`] when somebody
//! looks at it.
//!
//! Rules
//! 1. A value is good as long as what it refers to stays: scratch until its program ends, a node's buffer until the node's
//!    next row. Who keeps a value longer copies its bytes into a buffer of his own ([`Memory::keep`]).
//! 2. No buffer grows beyond [`BUFFER_BYTES_MAX`]; more is `53200`.

use crate::plan::blob::Bytes;
use crate::types::Datum;
use base::{Error, Result};
use smallvec::SmallVec;

/// A value, or null.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Value {
    /// Null.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer, date or time.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// Bytes somewhere.
    Span(Span),
}

/// Where bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    source: u16,
    start: u32,
    length: u32,
}

const _: () = assert!(size_of::<Value>() == 16);

const PLAN: u16 = 0;
const PARAMETERS: u16 = 1;
const SCRATCH: u16 = 2;
const FIRST_BUFFER: u16 = 3;

/// The largest buffer, in bytes.
pub const BUFFER_BYTES_MAX: usize = u32::MAX as usize;

impl Value {
    /// Is it null?
    #[inline]
    pub fn is_null(self) -> bool {
        matches!(self, Value::Null)
    }

    /// Is it true?
    #[inline]
    pub fn is_true(self) -> bool {
        matches!(self, Value::Bool(true))
    }
}

/// The bytes that values refer to.
#[derive(Debug)]
pub struct Memory<'p> {
    /// The plan's constants.
    pub plan: Bytes<'p>,
    /// The parameters' bytes, and behind them what goes with the row that is being changed.
    pub parameters: Vec<u8>,
    /// How many of these bytes are the parameters', and stay.
    pub bound: usize,
    /// Intermediate results.
    pub scratch: Vec<u8>,
    /// The nodes' buffers.
    pub buffers: SmallVec<[Vec<u8>; 4]>,
}

#[cold]
fn refused(bytes: usize) -> Error {
    Error::out_of_memory("a statement's rows", bytes)
}

/// A datum of fixed width as a value; of others the bytes.
#[inline(always)]
pub(super) fn plain(datum: Datum<'_>) -> std::result::Result<Value, &[u8]> {
    match datum {
        Datum::Null => Ok(Value::Null),
        Datum::Bool(value) => Ok(Value::Bool(value)),
        Datum::Int(value) => Ok(Value::Int(value)),
        Datum::Float(value) => Ok(Value::Float(value)),
        Datum::Bytes(bytes) => Err(bytes),
    }
}

fn append(to: &mut Vec<u8>, bytes: &[u8]) -> Result<(u32, u32)> {
    let start = to.len();
    if start + bytes.len() > BUFFER_BYTES_MAX {
        return Err(refused(bytes.len()));
    }
    if to.capacity() - start < bytes.len() {
        to.try_reserve(bytes.len()).map_err(|_| refused(bytes.len()))?;
    }
    to.extend_from_slice(bytes);
    Ok((start as u32, bytes.len() as u32))
}

impl<'p> Memory<'p> {
    /// The bytes of a span.
    #[inline]
    pub fn bytes(&self, span: Span) -> &[u8] {
        let (start, end) = (span.start as usize, span.start as usize + span.length as usize);
        let source = match span.source {
            PLAN => return self.plan.slice(span.start, span.length),
            PARAMETERS => &self.parameters,
            SCRATCH => &self.scratch,
            buffer => &self.buffers[usize::from(buffer - FIRST_BUFFER)],
        };
        &source[start..end]
    }

    /// The value as whoever computes with it sees it.
    #[inline]
    pub fn datum(&self, value: Value) -> Datum<'_> {
        match value {
            Value::Null => Datum::Null,
            Value::Bool(value) => Datum::Bool(value),
            Value::Int(value) => Datum::Int(value),
            Value::Float(value) => Datum::Float(value),
            Value::Span(span) => Datum::Bytes(self.bytes(span)),
        }
    }

    /// Bytes of the plan as a value.
    #[inline]
    pub fn constant(start: u32, length: u32) -> Value {
        Value::Span(Span { source: PLAN, start, length })
    }

    /// A part of a buffer as a value.
    #[inline]
    pub fn part(buffer: u32, start: usize, length: usize) -> Value {
        Value::Span(Span { source: FIRST_BUFFER + buffer as u16, start: start as u32, length: length as u32 })
    }

    /// A datum that borrows from a buffer, as a value: its bytes are found by their address.
    #[inline]
    pub fn part_of(&self, buffer: u32, datum: Datum<'_>) -> Value {
        match plain(datum) {
            Ok(value) => value,
            Err(bytes) => {
                let start = (bytes.as_ptr() as usize).wrapping_sub(self.buffers[buffer as usize].as_ptr() as usize);
                debug_assert!(start + bytes.len() <= self.buffers[buffer as usize].len());
                Memory::part(buffer, start, bytes.len())
            }
        }
    }

    /// A datum copied into the scratch area.
    #[inline]
    pub fn to_scratch(scratch: &mut Vec<u8>, datum: Datum<'_>) -> Result<Value> {
        match plain(datum) {
            Ok(value) => Ok(value),
            Err(bytes) => {
                let (start, length) = append(scratch, bytes)?;
                Ok(Value::Span(Span { source: SCRATCH, start, length }))
            }
        }
    }

    /// A datum copied among the parameters.
    pub fn to_parameters(&mut self, datum: Datum<'_>) -> Result<Value> {
        Ok(match Memory::to_scratch(&mut self.parameters, datum)? {
            Value::Span(span) => Value::Span(Span { source: PARAMETERS, ..span }),
            value => value,
        })
    }

    /// A datum copied into a buffer.
    #[inline]
    pub fn to_buffer(&mut self, buffer: u32, datum: Datum<'_>) -> Result<Value> {
        match plain(datum) {
            Ok(value) => Ok(value),
            Err(bytes) => self.bytes_to_buffer(buffer, bytes),
        }
    }

    fn bytes_to_buffer(&mut self, buffer: u32, bytes: &[u8]) -> Result<Value> {
        let (start, length) = append(&mut self.buffers[buffer as usize], bytes)?;
        Ok(Value::Span(Span { source: FIRST_BUFFER + buffer as u16, start, length }))
    }

    /// True if the value's bytes are intermediate.
    #[inline]
    pub fn is_scratch(value: Value) -> bool {
        matches!(value, Value::Span(Span { source: SCRATCH, .. }))
    }

    /// A span of a buffer whose old bytes were taken out, moved to its new ones; other spans stay as they are.
    pub fn move_span(&mut self, span: Span, old: &[u8], buffer: u32) -> Result<Value> {
        if span.source != FIRST_BUFFER + buffer as u16 {
            return Ok(Value::Span(span));
        }
        let (start, end) = (span.start as usize, span.start as usize + span.length as usize);
        let (start, length) = append(&mut self.buffers[buffer as usize], &old[start..end])?;
        Ok(Value::Span(Span { start, length, ..span }))
    }

    /// The value with its bytes copied into a buffer, so that it is good as long as the buffer is.
    pub fn keep(&mut self, value: Value, buffer: u32) -> Result<Value> {
        let Value::Span(span) = value else { return Ok(value) };
        let (start, end) = (span.start as usize, span.start as usize + span.length as usize);
        let target = usize::from(FIRST_BUFFER) + buffer as usize;
        let (start, length) = match span.source {
            PLAN => return Ok(value),
            PARAMETERS if end <= self.bound => return Ok(value),
            PARAMETERS => append(&mut self.buffers[buffer as usize], &self.parameters[start..end])?,
            SCRATCH => append(&mut self.buffers[buffer as usize], &self.scratch[start..end])?,
            source if usize::from(source) == target => {
                let own = &mut self.buffers[buffer as usize];
                let at = own.len();
                if at + (end - start) > BUFFER_BYTES_MAX {
                    return Err(refused(end - start));
                }
                own.try_reserve(end - start).map_err(|_| refused(end - start))?;
                own.extend_from_within(start..end);
                (at as u32, span.length)
            }
            source => {
                let from = usize::from(source - FIRST_BUFFER);
                match self.buffers.get_disjoint_mut([from, buffer as usize]) {
                    Ok([from, to]) => append(to, &from[start..end])?,
                    Err(_) => return Err(refused(end - start)),
                }
            }
        };
        Ok(Value::Span(Span { source: target as u16, start, length }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_values_outlive_their_source() {
        let mut memory = Memory {
            plan: Bytes(b"plan"),
            parameters: Vec::new(),
            bound: 0,
            scratch: Vec::new(),
            buffers: [Vec::new(), Vec::new()].into_iter().collect(),
        };
        let constant = Memory::constant(1, 3);
        let parameter = memory.to_parameters(Datum::text("param")).unwrap();
        memory.bound = memory.parameters.len();
        let passing = memory.to_parameters(Datum::text("passing")).unwrap();
        let passing = memory.keep(passing, 1).unwrap();
        memory.parameters.truncate(memory.bound);
        let scratch = Memory::to_scratch(&mut memory.scratch, Datum::text("scratch")).unwrap();
        let first = memory.keep(scratch, 0).unwrap();
        let second = memory.keep(first, 1).unwrap();
        let again = memory.keep(second, 1).unwrap();
        memory.scratch.clear();
        memory.buffers[0].clear();
        for (value, text) in
            [(constant, "lan"), (parameter, "param"), (second, "scratch"), (again, "scratch"), (passing, "passing")]
        {
            assert_eq!(memory.datum(value), Datum::text(text));
        }
        assert_eq!(memory.keep(Value::Int(7), 0).unwrap(), Value::Int(7));
        memory.buffers[0].extend_from_slice(b"xyz");
        let part = memory.part_of(0, Datum::Bytes(&memory.buffers[0][1..]));
        assert_eq!(memory.datum(part), Datum::text("yz"));
    }
}
