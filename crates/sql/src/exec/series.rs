//! Functions that give rows: series of numbers and times, elements of arrays, what a text or a `jsonb` falls into.
//!
//! Rules
//! 1. Series are computed row by row, so that a long one takes no memory and may be given up; what comes from one value is kept as
//!    rows.
//! 2. A null argument gives no rows, except where the function says what it means.

use super::Exec;
use super::store::Rows;
use super::value::Value;
use crate::plan::number;
use crate::plan::record::FunctionScan;
use crate::types::Datum;
use crate::types::array::Array;
use crate::types::datetime::{Interval, Zone};
use crate::types::eval::{self, matches};
use crate::types::function;
use crate::types::json::set;
use crate::types::numeric::Numeric;
use crate::types::op::Op;
use base::{Error, Result, sqlstate};

/// What a function has still to give.
#[derive(Debug)]
pub(super) enum FunctionState {
    /// A series of integers.
    Series { next: Option<i64>, end: i64, step: i64, row: i64 },
    /// A series of exact numbers.
    Numbers { next: Numeric, end: Numeric, step: Numeric, row: i64 },
    /// A series of times.
    Moments { next: Option<i64>, end: i64, step: Interval, with_zone: bool, row: i64 },
    /// Values that are kept.
    Elements { rows: Rows },
    /// One value.
    Once,
}

#[cold]
fn refused(message: String) -> Error {
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// Refuses what a series of numbers cannot begin, end or go on with.
fn check_number(what: &str, value: &Numeric) -> Result<()> {
    match value {
        Numeric::Nan => Err(refused(format!("{what} cannot be NaN"))),
        Numeric::Infinity | Numeric::NegInfinity => Err(refused(format!("{what} cannot be infinity"))),
        _ => Ok(()),
    }
}

impl Exec<'_> {
    /// What a function has to give for its arguments; none if there are no rows.
    pub(super) fn function_state(&mut self, record: &FunctionScan, args: &[Value]) -> Result<Option<FunctionState>> {
        let Some(op) = number::op(record.op as u16) else {
            return Err(Error::unsupported("this set-returning function is not supported"));
        };
        if op == Op::Routine {
            return self.routine_rows(record, args).map(Some);
        }
        // Without a delimiter each character is a row of its own, so a null is no end there.
        if op != Op::StringToTable && args.iter().any(|argument| argument.is_null()) {
            return Ok(None);
        }
        let int = |index: usize| match args.get(index) {
            Some(Value::Int(value)) => *value,
            _ => 1,
        };
        match op {
            Op::GenerateSeries => {
                let (next, end, step) = (int(0), int(1), int(2));
                if step == 0 {
                    return Err(refused("step size cannot equal zero".into()));
                }
                Ok(Some(FunctionState::Series { next: Some(next), end, step, row: 0 }))
            }
            Op::GenerateNumericSeries => self.numbers(args).map(Some),
            Op::GenerateTimestampSeries | Op::GenerateTimestamptzSeries => {
                let step = Interval::decode(args.get(2).map_or(&[][..], |step| self.memory.datum(*step).bytes()))?;
                if step.span() == 0 {
                    return Err(refused("step size cannot equal zero".into()));
                }
                let with_zone = op == Op::GenerateTimestamptzSeries;
                Ok(Some(FunctionState::Moments { next: Some(int(0)), end: int(1), step, with_zone, row: 0 }))
            }
            Op::GenerateSubscripts => {
                let Some(array) = args.first() else { return Ok(None) };
                let array = Array::decode(self.memory.datum(*array).bytes())?;
                let place = usize::try_from(int(1) - 1).ok();
                let Some(dimension) = place.and_then(|place| array.dimensions().get(place)) else { return Ok(None) };
                let first = i64::from(dimension.lower);
                let last = first + i64::from(dimension.length) - 1;
                let (next, end, step) = match args.get(2) {
                    Some(Value::Bool(true)) => (last, first, -1),
                    _ => (first, last, 1),
                };
                Ok(Some(FunctionState::Series { next: Some(next), end, step, row: 0 }))
            }
            Op::ListeningChannels => {
                let channels = self.around.notifying.channels.clone();
                self.keep_rows(record.buffer, channels.iter().map(|channel| Datum::Bytes(channel)))
            }
            // No table is a part of another one.
            Op::PartitionAncestors | Op::PartitionTree => Ok(None),
            Op::OptionsToTable | Op::Keywords | Op::ExpandArray => self.described(op, record.buffer, args),
            Op::Unnest | Op::StringToTable | Op::RegexSplitToTable | Op::RegexMatches => {
                self.elements(op, record.buffer, args)
            }
            Op::AclExplode => self.acl_rows(record.buffer, args),
            op if set::is_set(op) => self.parts(op, record.buffer, args),
            _ => Err(Error::unsupported("this set-returning function is not supported")),
        }
    }

    /// The parts of a `json` or `jsonb`: one column, or two.
    fn parts(&mut self, op: Op, buffer: u32, args: &[Value]) -> Result<Option<FunctionState>> {
        let Some(Value::Span(span)) = args.first() else { return Ok(None) };
        self.memory.buffers[buffer as usize].clear();
        let bytes = self.memory.bytes(*span).to_vec();
        let mut rows = Rows::new(function::columns(op).len().max(1));
        set::rows(op, &bytes, &mut |row| {
            self.breath()?;
            let mut values = [Value::Null; 2];
            for (value, datum) in values.iter_mut().zip(row) {
                *value = self.memory.to_buffer(buffer, *datum)?;
            }
            rows.push(values.into_iter().take(row.len()))
        })?;
        Ok(Some(FunctionState::Elements { rows }))
    }

    /// The rows of `aclexplode`.
    fn acl_rows(&mut self, buffer: u32, args: &[Value]) -> Result<Option<FunctionState>> {
        let Some(array) = args.first().filter(|value| !value.is_null()) else { return Ok(None) };
        let array = self.memory.datum(*array).bytes().to_vec();
        let exploded = self.around.exploded(&Array::decode(&array)?.elements()?)?;
        self.memory.buffers[buffer as usize].clear();
        let mut rows = Rows::new(4);
        for (grantor, grantee, name, is_grantable) in exploded {
            let name = self.memory.to_buffer(buffer, Datum::text(name))?;
            let row = [Value::Int(grantor.0.into()), Value::Int(grantee.0.into()), name, Value::Bool(is_grantable)];
            rows.push(row.into_iter())?;
        }
        Ok(Some(FunctionState::Elements { rows }))
    }

    fn numbers(&self, args: &[Value]) -> Result<FunctionState> {
        let number = |index: usize| match args.get(index) {
            Some(value) => Numeric::decode(self.memory.datum(*value).bytes()),
            None => Ok(Numeric::ONE),
        };
        let (next, end, step) = (number(0)?, number(1)?, number(2)?);
        check_number("start value", &next)?;
        check_number("stop value", &end)?;
        check_number("step size", &step)?;
        if step.is_zero() {
            return Err(refused("step size cannot equal zero".into()));
        }
        Ok(FunctionState::Numbers { next, end, step, row: 0 })
    }

    /// The values that one value falls into.
    fn elements(&mut self, op: Op, buffer: u32, args: &[Value]) -> Result<Option<FunctionState>> {
        // Copied, because the results are kept in the same memory.
        let values: Vec<Vec<u8>> = {
            let args: Vec<Datum<'_>> = args.iter().map(|value| self.memory.datum(*value)).collect();
            let mut context = self.around.context(&self.arena);
            let array = match op {
                Op::RegexMatches => Datum::Null,
                Op::StringToTable => eval::eval(Op::StringToArray, &args, &mut context)?,
                Op::RegexSplitToTable => eval::eval(Op::RegexSplitToArray, &args, &mut context)?,
                _ => args.first().copied().unwrap_or(Datum::Null),
            };
            match array {
                Datum::Bytes(bytes) => vec![bytes.to_vec()],
                _ if op == Op::RegexMatches => matches(&args, &context)?.into_iter().map(<[u8]>::to_vec).collect(),
                _ => return Ok(None),
            }
        };
        if op == Op::RegexMatches {
            return self.keep_rows(buffer, values.iter().map(|row| Datum::Bytes(row)));
        }
        let Some(array) = values.first() else { return Ok(None) };
        let elements = Array::decode(array)?.elements()?;
        self.keep_rows(buffer, elements.into_iter())
    }

    fn keep_rows<'v>(&mut self, buffer: u32, values: impl Iterator<Item = Datum<'v>>) -> Result<Option<FunctionState>> {
        self.memory.buffers[buffer as usize].clear();
        let mut rows = Rows::new(1);
        for value in values {
            let value = self.memory.to_buffer(buffer, value)?;
            rows.push(std::iter::once(value))?;
        }
        Ok(Some(FunctionState::Elements { rows }))
    }

    /// The next value of a series of exact numbers, in the node's buffer.
    pub(super) fn next_number(
        &mut self,
        buffer: u32,
        next: &mut Numeric,
        end: &Numeric,
        step: &Numeric,
    ) -> Result<Option<Value>> {
        let order = next.compare(end);
        if if step.signum() > 0 { order.is_gt() } else { order.is_lt() } {
            return Ok(None);
        }
        let bytes = next.to_bytes()?;
        *next = next.add(step);
        self.memory.buffers[buffer as usize].clear();
        self.memory.to_buffer(buffer, Datum::Bytes(&bytes)).map(Some)
    }
}

/// The next value of a series of times. What goes beyond the range of times is an error once it is asked for.
pub(super) fn next_moment(
    next: &mut Option<i64>,
    end: i64,
    step: Interval,
    zone: Option<&Zone>,
) -> Result<Option<Value>> {
    let Some(moment) = *next else { return Ok(None) };
    if if step.span() > 0 { moment > end } else { moment < end } {
        return Ok(None);
    }
    *next = Some(match zone {
        Some(zone) => step.add_to_timestamptz(moment, zone)?,
        None => step.add_to_timestamp(moment)?,
    });
    Ok(Some(Value::Int(moment)))
}
