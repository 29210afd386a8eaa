//! Running programs: one loop, one `match` over the steps.
//!
//! Rules
//! 1. Values of fixed width are computed without allocating. Bytes that an operation makes go to the scratch area, which
//!    is cut back when the program ends; [`Step::Store`] copies them to the node's buffer.
//! 2. The stack holds values that borrow nothing, so a subplan can run in the middle of a program.

use super::Exec;
use super::value::{Memory, Span, Value};
use crate::plan::blob::At;
use crate::plan::number;
use crate::plan::program::Step;
use crate::types::array::{self, Array, Dimension};
use crate::types::cast::{self, Method};
use crate::types::numeric::short;
use crate::types::op::{Comparison, Op};
use crate::types::text::trim_padding;
use crate::types::{Datum, Kind, Oid, Type, compare, eval, like, table};
use base::{Error, Result, sqlstate};

/// Arguments that fit without an allocation.
const ARGUMENTS_SHORT: usize = 6;

/// What a step pushes that only reads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    /// Whatever is in a register by then.
    Register(u16),
    /// A value that stays as long as the statement is executed.
    Value(Value),
}

#[cold]
fn broken(what: &str) -> Error {
    Error::statement(sqlstate::INTERNAL_ERROR, format!("a plan is broken: {what}"))
}

#[cold]
fn out_of_range(name: &str) -> Error {
    Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range"))
}

impl Exec<'_> {
    /// Whether a condition holds; none always does.
    #[inline]
    pub(super) fn holds(&mut self, program: u32) -> Result<bool> {
        if program == 0 {
            return Ok(true);
        }
        // Most conditions are one comparison.
        let code = program + 4;
        let holds = match self.compared_ints(code) {
            Some((holds, end)) if self.plan.bytes.byte(end) == Step::End as u8 => holds == Some(true),
            _ => {
                let scratch = self.memory.scratch.len();
                self.run(At(program), None)?;
                let value = self.stack.pop().unwrap_or_default();
                self.memory.scratch.truncate(scratch);
                value.is_true()
            }
        };
        self.rejected += u64::from(!holds);
        Ok(holds)
    }

    /// Runs a program that sets registers; what it makes is kept in a buffer, whose content before is given up.
    #[inline]
    pub(super) fn assign(&mut self, program: u32, buffer: u32) -> Result<()> {
        self.memory.buffers[buffer as usize].clear();
        let scratch = self.memory.scratch.len();
        self.run(At(program), Some(buffer))?;
        self.memory.scratch.truncate(scratch);
        Ok(())
    }

    /// Runs a program that pushes values. The caller takes them from the stack and then cuts the scratch area back to what
    /// this answers.
    pub(super) fn push(&mut self, program: u32) -> Result<usize> {
        let scratch = self.memory.scratch.len();
        if program != 0 {
            self.run(At(program), None)?;
        }
        Ok(scratch)
    }

    /// The one value of a program; its bytes are in the scratch area.
    pub(super) fn value(&mut self, program: u32) -> Result<Value> {
        self.push(program)?;
        Ok(self.stack.pop().unwrap_or_default())
    }

    #[inline]
    fn pop(&mut self) -> Value {
        debug_assert!(!self.stack.is_empty());
        self.stack.pop().unwrap_or_default()
    }

    /// Two integers for a strict operation; none if one is null.
    #[inline]
    fn two_ints(&mut self) -> Option<(i64, i64)> {
        let (right, left) = (self.pop(), self.pop());
        match (left, right) {
            (Value::Int(left), Value::Int(right)) => Some((left, right)),
            _ => None,
        }
    }

    #[inline]
    fn push_bool(&mut self, value: Option<bool>) {
        self.stack.push(value.map_or(Value::Null, Value::Bool));
    }

    /// The result of the step at a place, if it compares integers, and where the next one is.
    #[inline]
    fn compared_ints(&self, at: u32) -> Option<(Option<bool>, u32)> {
        let bytes = self.plan.bytes;
        let (right, end) = match Step::from_byte(bytes.byte(at))? {
            Step::CompareRegister => (self.registers[usize::from(bytes.half(at + 4))], at + 6),
            Step::CompareParameter => (self.parameters[usize::from(bytes.half(at + 4))], at + 6),
            Step::CompareInt => (Value::Int(bytes.double(at + 4) as i64), at + 12),
            _ => return None,
        };
        let (comparison, left) =
            (Comparison::from_byte(bytes.byte(at + 1))?, self.registers[usize::from(bytes.half(at + 2))]);
        let holds = match (left, right) {
            (Value::Int(left), Value::Int(right)) => Some(comparison.holds(left.cmp(&right))),
            _ => None,
        };
        Some((holds, end))
    }

    /// What the step at a place pushes, if it only reads it, and where the next one is.
    #[inline]
    fn operand(&self, code: u32, at: u32) -> Option<(Operand, u32)> {
        let bytes = self.plan.bytes;
        match Step::from_byte(bytes.byte(at))? {
            Step::Register => Some((Operand::Register(bytes.half(at + 1)), at + 3)),
            Step::Parameter => Some((Operand::Value(self.parameters[usize::from(bytes.half(at + 1))]), at + 3)),
            Step::Int => Some((Operand::Value(Value::Int(bytes.double(at + 1) as i64)), at + 9)),
            Step::Kept => match self.registers[usize::from(bytes.half(at + 1))] {
                Value::Null => None,
                value => Some((Operand::Value(value), code + bytes.word(at + 3))),
            },
            _ => None,
        }
    }

    /// Gives what a program pushes to `each`, if it does nothing but read; false, and none of it, if it does more.
    #[inline]
    pub(super) fn operands(&self, program: u32, mut each: impl FnMut(Operand) -> Result<()>) -> Result<bool> {
        if program == 0 {
            return Ok(true);
        }
        let code = program + 4;
        let mut end = code;
        while let Some((_, next)) = self.operand(code, end) {
            end = next;
        }
        // What was read before another step is that step's, and need not be of the kind that the program's values have.
        if Step::from_byte(self.plan.bytes.byte(end)) != Some(Step::End) {
            return Ok(false);
        }
        let mut at = code;
        while let Some((operand, next)) = self.operand(code, at) {
            each(operand)?;
            at = next;
        }
        Ok(true)
    }

    /// The value of an operand, as its register is now.
    #[inline]
    pub(super) fn read(&self, operand: Operand) -> Value {
        match operand {
            Operand::Register(register) => self.registers[usize::from(register)],
            Operand::Value(value) => value,
        }
    }

    fn run(&mut self, program: At, buffer: Option<u32>) -> Result<()> {
        let bytes = self.plan.bytes;
        let code = program.0 + 4;
        let mut at = code;
        loop {
            let Some(step) = Step::from_byte(bytes.byte(at)) else { return Err(broken("an unknown step")) };
            at += 1;
            match step {
                Step::End => return Ok(()),
                Step::Null => self.stack.push(Value::Null),
                Step::True => self.stack.push(Value::Bool(true)),
                Step::False => self.stack.push(Value::Bool(false)),
                Step::Int => {
                    self.stack.push(Value::Int(bytes.double(at) as i64));
                    at += 8;
                }
                Step::Float => {
                    self.stack.push(Value::Float(f64::from_bits(bytes.double(at))));
                    at += 8;
                }
                Step::Bytes => {
                    self.stack.push(Memory::constant(bytes.word(at), bytes.word(at + 4)));
                    at += 8;
                }
                Step::Register => {
                    let register = bytes.half(at);
                    at += 2;
                    self.stack.push(self.registers[usize::from(register)]);
                }
                Step::Parameter => {
                    let index = bytes.half(at);
                    at += 2;
                    self.stack.push(self.parameters[usize::from(index)]);
                }
                Step::Store => {
                    let register = bytes.half(at);
                    at += 2;
                    let mut value = self.pop();
                    if let Some(buffer) = buffer
                        && Memory::is_scratch(value)
                    {
                        value = self.memory.keep(value, buffer)?;
                    }
                    self.registers[usize::from(register)] = value;
                }
                Step::Keep => {
                    let register = bytes.half(at);
                    at += 2;
                    self.registers[usize::from(register)] = self.stack.last().copied().unwrap_or_default();
                }
                Step::Kept => {
                    let (register, target) = (bytes.half(at), bytes.word(at + 2));
                    let value = self.registers[usize::from(register)];
                    at = match value {
                        Value::Null => at + 6,
                        value => {
                            self.stack.push(value);
                            code + target
                        }
                    };
                }
                Step::KeepConstant => {
                    let (register, place) = (bytes.half(at), bytes.word(at + 2));
                    at += 6;
                    let value = self.pop();
                    let value = self.memory.keep(value, place)?;
                    self.registers[usize::from(register)] = value;
                    self.stack.push(value);
                }
                Step::Nip => {
                    let value = self.pop();
                    self.pop();
                    self.stack.push(value);
                }
                Step::Call | Step::CallStrict => {
                    let (op, count) = (bytes.half(at), bytes.byte(at + 2));
                    at += 3;
                    self.call(op, usize::from(count), step == Step::CallStrict)?;
                }
                Step::CallExternal => {
                    let (op, count, strict) = (bytes.half(at), bytes.byte(at + 2), bytes.byte(at + 3));
                    at += 4;
                    self.call_external(op, usize::from(count), strict != 0)?;
                }
                Step::IntEqual => {
                    let holds = self.two_ints().map(|(left, right)| left == right);
                    self.push_bool(holds);
                }
                Step::IntNotEqual => {
                    let holds = self.two_ints().map(|(left, right)| left != right);
                    self.push_bool(holds);
                }
                Step::IntLess => {
                    let holds = self.two_ints().map(|(left, right)| left < right);
                    self.push_bool(holds);
                }
                Step::IntLessEqual => {
                    let holds = self.two_ints().map(|(left, right)| left <= right);
                    self.push_bool(holds);
                }
                Step::IntGreater => {
                    let holds = self.two_ints().map(|(left, right)| left > right);
                    self.push_bool(holds);
                }
                Step::IntGreaterEqual => {
                    let holds = self.two_ints().map(|(left, right)| left >= right);
                    self.push_bool(holds);
                }
                Step::Int4Add | Step::Int4Subtract => {
                    let result = match self.two_ints() {
                        Some((left, right)) => {
                            let result = if step == Step::Int4Add { left + right } else { left - right };
                            if i32::try_from(result).is_err() {
                                return Err(out_of_range("integer"));
                            }
                            Value::Int(result)
                        }
                        None => Value::Null,
                    };
                    self.stack.push(result);
                }
                Step::Int8Add | Step::Int8Subtract => {
                    let result = match self.two_ints() {
                        Some((left, right)) => {
                            let result =
                                if step == Step::Int8Add { left.checked_add(right) } else { left.checked_sub(right) };
                            Value::Int(result.ok_or_else(|| out_of_range("bigint"))?)
                        }
                        None => Value::Null,
                    };
                    self.stack.push(result);
                }
                Step::Distinct => {
                    let kind = number::kind(bytes.byte(at).into());
                    at += 1;
                    let (right, left) = (self.pop(), self.pop());
                    let distinct = !self.same(kind, left, right);
                    self.stack.push(Value::Bool(distinct));
                }
                Step::Not => {
                    let value = match self.pop() {
                        Value::Bool(value) => Value::Bool(!value),
                        _ => Value::Null,
                    };
                    self.stack.push(value);
                }
                Step::IsNull => {
                    let value = self.pop();
                    self.stack.push(Value::Bool(value.is_null()));
                }
                Step::IsNotNull => {
                    let value = self.pop();
                    self.stack.push(Value::Bool(!value.is_null()));
                }
                Step::IsTrue => {
                    let value = self.pop();
                    self.stack.push(Value::Bool(value == Value::Bool(true)));
                }
                Step::IsNotTrue => {
                    let value = self.pop();
                    self.stack.push(Value::Bool(value != Value::Bool(true)));
                }
                Step::IsFalse => {
                    let value = self.pop();
                    self.stack.push(Value::Bool(value == Value::Bool(false)));
                }
                Step::IsNotFalse => {
                    let value = self.pop();
                    self.stack.push(Value::Bool(value != Value::Bool(false)));
                }
                Step::And => {
                    let (value, before) = (self.pop(), self.pop());
                    let both = match (before, value) {
                        (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
                        (Value::Bool(true), Value::Bool(true)) => Value::Bool(true),
                        _ => Value::Null,
                    };
                    self.stack.push(both);
                    at = if both == Value::Bool(false) { code + bytes.word(at) } else { at + 4 };
                }
                Step::Or => {
                    let (value, before) = (self.pop(), self.pop());
                    let either = match (before, value) {
                        (Value::Bool(true), _) | (_, Value::Bool(true)) => Value::Bool(true),
                        (Value::Bool(false), Value::Bool(false)) => Value::Bool(false),
                        _ => Value::Null,
                    };
                    self.stack.push(either);
                    at = if either == Value::Bool(true) { code + bytes.word(at) } else { at + 4 };
                }
                Step::Jump => at = code + bytes.word(at),
                Step::JumpUnless => {
                    let value = self.pop();
                    at = if value.is_true() { at + 4 } else { code + bytes.word(at) };
                }
                Step::JumpIfValue => {
                    if self.stack.last().is_some_and(|value| !value.is_null()) {
                        at = code + bytes.word(at);
                    } else {
                        self.pop();
                        at += 4;
                    }
                }
                Step::Greatest | Step::Least => {
                    let (kind, count) = (number::kind(bytes.byte(at).into()), bytes.half(at + 1));
                    at += 3;
                    self.extreme(kind, usize::from(count), step == Step::Greatest);
                }
                Step::Array => {
                    let (element, count) = (Oid(bytes.word(at)), bytes.half(at + 4));
                    at += 6;
                    self.array(element, usize::from(count))?;
                }
                Step::ArrayOfArrays => {
                    let (element, count) = (Oid(bytes.word(at)), bytes.half(at + 4));
                    at += 6;
                    self.array_of_arrays(element, usize::from(count))?;
                }
                Step::Any | Step::All => {
                    let op = bytes.half(at);
                    at += 2;
                    self.quantified(op, step == Step::All)?;
                }
                Step::Cast => {
                    self.cast(at)?;
                    at += 16;
                }
                Step::Subplan => {
                    let index = bytes.half(at);
                    at += 2;
                    let value = self.subplan(index)?;
                    self.stack.push(value);
                }
                Step::CompareRegister | Step::CompareParameter | Step::CompareInt => {
                    let Some((holds, end)) = self.compared_ints(at - 1) else {
                        return Err(broken("an unknown comparison"));
                    };
                    self.push_bool(holds);
                    at = end;
                }
                Step::Subscript => {
                    let (index, array) = (self.pop(), self.pop());
                    let value = self.subscript(array, index)?;
                    self.stack.push(value);
                }
            }
        }
    }

    /// Are two values the same, nulls being equal to nulls?
    #[inline]
    pub(super) fn same(&self, kind: Kind, left: Value, right: Value) -> bool {
        match (left, right) {
            (Value::Null, Value::Null) => true,
            (Value::Null, _) | (_, Value::Null) => false,
            (Value::Int(left), Value::Int(right)) => left == right,
            _ => compare::equal(kind, self.memory.datum(left), self.memory.datum(right)),
        }
    }

    fn call(&mut self, op: u16, count: usize, strict: bool) -> Result<()> {
        let start = self.stack.len() - count;
        if strict && self.stack[start..].iter().any(|value| value.is_null()) {
            self.stack.truncate(start);
            self.stack.push(Value::Null);
            return Ok(());
        }
        let op = number::op(op).ok_or_else(|| broken("an unknown operation"))?;
        if op == Op::ClockTimestamp {
            self.stack.push(Value::Int(kernel::clock::wall_us()));
            return Ok(());
        }
        if let [Value::Span(left), Value::Span(right)] = self.stack[start..]
            && self.short_numbers(op, start, left, right)?
        {
            return Ok(());
        }
        let mut ctx = self.around.context(&self.arena);
        let result = {
            let mut short = [Datum::Null; ARGUMENTS_SHORT];
            let long: Vec<Datum<'_>>;
            let arguments = if count <= ARGUMENTS_SHORT {
                for (argument, value) in short.iter_mut().zip(&self.stack[start..]) {
                    *argument = self.memory.datum(*value);
                }
                &short[..count]
            } else {
                long = self.stack[start..].iter().map(|value| self.memory.datum(*value)).collect();
                &long
            };
            match eval::eval(op, arguments, &mut ctx)? {
                Datum::Bytes(bytes) => {
                    self.spare.clear();
                    self.spare.extend_from_slice(bytes);
                    None
                }
                Datum::Null => Some(Value::Null),
                Datum::Bool(value) => Some(Value::Bool(value)),
                Datum::Int(value) => Some(Value::Int(value)),
                Datum::Float(value) => Some(Value::Float(value)),
            }
        };
        if op == Op::Random {
            self.around.random.set(ctx.random);
        }
        self.stack.truncate(start);
        let value = match result {
            Some(value) => value,
            None => Memory::to_scratch(&mut self.memory.scratch, Datum::Bytes(&self.spare))?,
        };
        self.stack.push(value);
        self.tidy();
        Ok(())
    }

    /// Computes with two values of type `numeric` where they lie, if they are short and that is what is asked.
    #[inline]
    fn short_numbers(&mut self, op: Op, start: usize, left: Span, right: Span) -> Result<bool> {
        let value = match op {
            Op::NumericAdd | Op::NumericSub | Op::NumericMul => {
                let Some(result) = short::computed(op, self.memory.bytes(left), self.memory.bytes(right)) else {
                    return Ok(false);
                };
                Memory::to_scratch(&mut self.memory.scratch, Datum::Bytes(result.bytes()))?
            }
            Op::NumericEq | Op::NumericNe | Op::NumericLt | Op::NumericLe | Op::NumericGt | Op::NumericGe => {
                let order = short::compared(self.memory.bytes(left), self.memory.bytes(right));
                let Some((order, comparison)) = order.zip(op.comparison()) else { return Ok(false) };
                Value::Bool(comparison.holds(order))
            }
            Op::BytesEq => Value::Bool(self.memory.bytes(left) == self.memory.bytes(right)),
            Op::BytesNe => Value::Bool(self.memory.bytes(left) != self.memory.bytes(right)),
            Op::BpcharEq => {
                let same = trim_padding(self.memory.bytes(left)) == trim_padding(self.memory.bytes(right));
                Value::Bool(same)
            }
            Op::Like => Value::Bool(like::matches(self.memory.bytes(left), self.memory.bytes(right))?),
            Op::NotLike => Value::Bool(!like::matches(self.memory.bytes(left), self.memory.bytes(right))?),
            _ => return Ok(false),
        };
        self.stack.truncate(start);
        self.stack.push(value);
        Ok(true)
    }

    /// Gives the arena's memory back now and then; nothing in it outlives a step.
    #[inline]
    fn tidy(&mut self) {
        const ARENA_BYTES_KEPT: usize = 64 << 10;
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(64) && self.arena.used() > 0 {
            if self.arena.used() > ARENA_BYTES_KEPT {
                self.arena = crate::types::Arena::new();
            } else {
                self.arena.reset();
            }
        }
    }

    /// Takes a result that may borrow from the stack's values or the arena.
    pub(super) fn push_result(&mut self, start: usize) -> Result<()> {
        self.stack.truncate(start);
        let value = Memory::to_scratch(&mut self.memory.scratch, Datum::Bytes(&self.spare))?;
        self.stack.push(value);
        self.tidy();
        Ok(())
    }

    fn call_external(&mut self, op: u16, count: usize, strict: bool) -> Result<()> {
        let start = self.stack.len() - count;
        if strict && self.stack[start..].iter().any(|value| value.is_null()) {
            self.stack.truncate(start);
            self.stack.push(Value::Null);
            return Ok(());
        }
        let op = number::op(op).ok_or_else(|| broken("an unknown operation"))?;
        if op == Op::Routine {
            return self.call_routine(start);
        }
        let result = {
            let arguments: Vec<Datum<'_>> = self.stack[start..].iter().map(|value| self.memory.datum(*value)).collect();
            match self.around.external(op, &arguments, &self.arena)? {
                Datum::Bytes(bytes) => {
                    self.spare.clear();
                    self.spare.extend_from_slice(bytes);
                    None
                }
                Datum::Null => Some(Value::Null),
                Datum::Bool(value) => Some(Value::Bool(value)),
                Datum::Int(value) => Some(Value::Int(value)),
                Datum::Float(value) => Some(Value::Float(value)),
            }
        };
        match result {
            Some(value) => {
                self.stack.truncate(start);
                self.stack.push(value);
                Ok(())
            }
            None => self.push_result(start),
        }
    }

    fn extreme(&mut self, kind: Kind, count: usize, greatest: bool) {
        let start = self.stack.len() - count;
        let mut best = Value::Null;
        for &value in &self.stack[start..] {
            if value.is_null() {
                continue;
            }
            let better = best.is_null() || {
                let order = compare::compare(kind, self.memory.datum(value), self.memory.datum(best));
                if greatest { order.is_gt() } else { order.is_lt() }
            };
            if better {
                best = value;
            }
        }
        self.stack.truncate(start);
        self.stack.push(best);
    }

    fn array(&mut self, element: Oid, count: usize) -> Result<()> {
        let start = self.stack.len() - count;
        let items: Vec<Datum<'_>> = self.stack[start..].iter().map(|value| self.memory.datum(*value)).collect();
        self.spare = array::encode_list(element, &items)?;
        self.push_result(start)
    }

    fn array_of_arrays(&mut self, element: Oid, count: usize) -> Result<()> {
        let start = self.stack.len() - count;
        let mismatch = || {
            Error::statement(
                sqlstate::ARRAY_SUBSCRIPT_ERROR,
                "multidimensional arrays must have array expressions with matching dimensions",
            )
        };
        let bytes = {
            let mut inner: Option<Vec<Dimension>> = None;
            let mut items = Vec::new();
            for &value in &self.stack[start..] {
                // A null among them counts as an empty one.
                let array = match self.memory.datum(value) {
                    Datum::Bytes(bytes) => Some(Array::decode(bytes)?),
                    _ => None,
                };
                let dimensions = array.as_ref().map_or(&[][..], |array| array.dimensions());
                match &inner {
                    None => inner = Some(dimensions.to_vec()),
                    Some(known) if known.as_slice() == dimensions => {}
                    Some(_) => return Err(mismatch()),
                }
                if let Some(array) = array {
                    items.extend(array.elements()?);
                }
            }
            let inner = inner.unwrap_or_default();
            match inner.is_empty() {
                true => array::encode(element, &[], &[])?,
                false if inner.len() == array::DIMENSIONS_MAX => {
                    let message = format!(
                        "number of array dimensions ({}) exceeds the maximum allowed ({})",
                        inner.len() + 1,
                        array::DIMENSIONS_MAX
                    );
                    return Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
                }
                false => {
                    let mut dimensions = vec![Dimension { length: count as u32, lower: 1 }];
                    dimensions.extend(inner);
                    array::encode(element, &dimensions, &items)?
                }
            }
        };
        self.spare = bytes;
        self.push_result(start)
    }

    /// `x op ANY (array)`, `x op ALL (array)`: SQL's logic of three values.
    fn quantified(&mut self, op: u16, all: bool) -> Result<()> {
        let op = number::op(op).ok_or_else(|| broken("an unknown operation"))?;
        let start = self.stack.len() - 2;
        let answer = {
            let (left, array) = (self.stack[start], self.stack[start + 1]);
            match self.memory.datum(array) {
                Datum::Bytes(bytes) => {
                    let left = self.memory.datum(left);
                    let mut ctx = self.around.context(&self.arena);
                    let mut answer = Some(all);
                    for item in Array::decode(bytes)?.iter() {
                        let item = item?;
                        let one = match left.is_null() || item.is_null() {
                            true => Datum::Null,
                            false => eval::eval(op, &[left, item], &mut ctx)?,
                        };
                        match one {
                            Datum::Bool(holds) if holds != all => {
                                answer = Some(holds);
                                break;
                            }
                            Datum::Bool(_) => {}
                            _ => answer = None,
                        }
                    }
                    answer
                }
                _ => None,
            }
        };
        self.stack.truncate(start);
        self.push_bool(answer);
        Ok(())
    }

    fn cast(&mut self, at: u32) -> Result<()> {
        let bytes = self.plan.bytes;
        let (tag, op, source) = (bytes.byte(at), bytes.half(at + 1), Oid(bytes.word(at + 3)));
        let target = Type { oid: Oid(bytes.word(at + 7)), typmod: bytes.word(at + 11) as i32 };
        let explicit = bytes.byte(at + 15) != 0;
        let start = self.stack.len() - 1;
        let value = self.stack[start];
        if value.is_null() {
            return Ok(());
        }
        let method = match tag {
            1 => Method::Op(number::op(op).ok_or_else(|| broken("an unknown operation"))?),
            2 => Method::Text,
            3 => Method::Elements,
            4 => Method::Json,
            5 => Method::JsonKey,
            _ => Method::Relabel,
        };
        match (method, value) {
            (Method::Op(Op::DateToTimestamp), Value::Int(days)) if target.typmod < 0 => {
                // Infinite dates, and those beyond the times, are seen to below.
                const DAY_US: i64 = 86_400_000_000;
                const DAYS: i64 = 1_000_000;
                if (-DAYS..DAYS).contains(&days) {
                    self.stack[start] = Value::Int(days * DAY_US);
                    return Ok(());
                }
            }
            (Method::Op(Op::IntToNumeric), Value::Int(value)) if target.typmod < 0 => {
                let short = short::Short::new(value.into(), 0);
                self.stack[start] = Memory::to_scratch(&mut self.memory.scratch, Datum::Bytes(short.bytes()))?;
                return Ok(());
            }
            (Method::Relabel, _) if target.typmod < 0 => return Ok(()),
            _ => {}
        }
        let result = {
            let datum = self.memory.datum(value);
            // Names of objects are the catalog's, in both directions.
            if method == Method::Text && table::kind(source) == Kind::Reg {
                let text = self.around.catalog.get()?.show_reg(source, Oid(datum.int() as u32));
                self.spare.clear();
                self.spare.extend_from_slice(text.as_bytes());
                None
            } else if method == Method::Text && table::kind(target.oid) == Kind::Reg {
                let text = String::from_utf8_lossy(datum.bytes()).into_owned();
                Some(Value::Int(self.around.catalog.get()?.read_reg(target.oid, &text)?.0.into()))
            } else {
                let mut ctx = self.around.context(&self.arena);
                match cast::apply(method, source, target, explicit, datum, &mut ctx)? {
                    Datum::Bytes(bytes) => {
                        self.spare.clear();
                        self.spare.extend_from_slice(bytes);
                        None
                    }
                    Datum::Null => Some(Value::Null),
                    Datum::Bool(value) => Some(Value::Bool(value)),
                    Datum::Int(value) => Some(Value::Int(value)),
                    Datum::Float(value) => Some(Value::Float(value)),
                }
            }
        };
        match result {
            Some(value) => {
                self.stack[start] = value;
                Ok(())
            }
            None => self.push_result(start),
        }
    }

    fn subscript(&mut self, array: Value, index: Value) -> Result<Value> {
        let (Value::Span(span), Value::Int(index)) = (array, index) else { return Ok(Value::Null) };
        let result = {
            let array = Array::decode(self.memory.bytes(span))?;
            match array.get(&[index])? {
                Datum::Bytes(bytes) => {
                    self.spare.clear();
                    self.spare.extend_from_slice(bytes);
                    return Memory::to_scratch(&mut self.memory.scratch, Datum::Bytes(&self.spare));
                }
                datum => datum,
            }
        };
        Ok(match result {
            Datum::Bool(value) => Value::Bool(value),
            Datum::Int(value) => Value::Int(value),
            Datum::Float(value) => Value::Float(value),
            _ => Value::Null,
        })
    }
}
