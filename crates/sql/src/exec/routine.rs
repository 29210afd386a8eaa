//! Calls of functions of users, from within an execution.
//!
//! ```text
//!   operands on the stack ──> values ──> Caller (the session): the body's statements are executions of their own ──> a value
//! ```
//!
//! Rules
//! 1. Nothing is latched or borrowed while a body runs: the values of the call are copied, and so is what comes back.
//! 2. The transaction's pairs of commands are one list with two holders: whoever runs has all of it, and hands on what it added.
//! 3. What the body changed has numbers of commands above the statement's, so that the statement does not see it; checks at the
//!    statement's end do ([`super::access::Tables::later`]).

use super::Exec;
use super::access::Tables;
use super::series::FunctionState;
use super::store::Rows;
use super::trigger::{Fired, Firing};
use super::value::{Memory, Value};
use crate::plan::blob::{self, At, Constant};
use crate::plan::record::FunctionScan;
use crate::procedure::run::Returned;
use crate::types::{Datum, Oid, table};
use base::{Error, Result};

/// What is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Called {
    /// The function's number.
    pub oid: Oid,
    /// The types of its parameters and of its result in this call, if the arguments decide about them; else none.
    pub types: Vec<Oid>,
}

/// The second operand of a call: the function's name, and its types in this call behind it.
pub fn name_with_types(name: &str, types: &[Oid]) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    if !types.is_empty() {
        bytes.push(0);
        bytes.extend(types.iter().flat_map(|oid| oid.0.to_le_bytes()));
    }
    bytes
}

/// What [`name_with_types`] has put together.
pub fn split_types(bytes: &[u8]) -> (&str, Vec<Oid>) {
    let end = bytes.iter().position(|byte| *byte == 0);
    let (name, types) = bytes.split_at(end.unwrap_or(bytes.len()));
    let types = types.get(1..).unwrap_or(&[]).chunks_exact(4);
    let types = types.map(|four| Oid(u32::from_le_bytes([four[0], four[1], four[2], four[3]])));
    (std::str::from_utf8(name).unwrap_or(""), types.collect())
}

/// What calls functions of users, and fires triggers: the session.
pub trait Caller {
    /// Calls one with these values. What it gives is of no rows where it is null, or has none. `tables` is what the statement at hand uses.
    fn call(&self, called: Called, arguments: Vec<Constant>, tables: Option<&mut Tables<'_>>) -> Result<Returned>;

    /// Is a trigger to be fired: is it enabled, and does its condition hold?
    fn is_due(&self, firing: &Firing<'_>, tables: Option<&mut Tables<'_>>) -> Result<bool>;

    /// Fires a trigger.
    fn fire(&self, firing: &Firing<'_>, tables: Option<&mut Tables<'_>>) -> Result<Fired>;
}

impl Exec<'_> {
    fn called(&self, operands: &[Value]) -> Called {
        let oid = match operands.first() {
            Some(Value::Int(oid)) => Oid(*oid as u32),
            _ => Oid::NONE,
        };
        let types = match operands.get(1).map(|name| self.memory.datum(*name)) {
            Some(Datum::Bytes(bytes)) => split_types(bytes).1,
            _ => Vec::new(),
        };
        Called { oid, types }
    }

    /// Calls a function whose number, name and arguments these are, and keeps its rows in a node's buffer.
    pub(super) fn routine_rows(&mut self, record: &FunctionScan, operands: &[Value]) -> Result<FunctionState> {
        let called = self.called(operands);
        let Some(caller) = self.around.caller else {
            return Err(Error::unsupported("a function of a user cannot be called here"));
        };
        let arguments = operands.iter().skip(2).map(|value| Constant::of(self.memory.datum(*value))).collect();
        let returned = caller.call(called, arguments, self.tables.as_mut())?;
        self.memory.buffers[record.buffer as usize].clear();
        let width = self.plan.bytes.list(At(record.outputs)).len();
        let mut rows = Rows::new(width);
        let mut at = 0;
        let mut row = Vec::with_capacity(width);
        for _ in 0..returned.count {
            self.breath()?;
            row.clear();
            for oid in &returned.types {
                let (datum, next) = blob::get_value(table::kind(*oid), &returned.rows, at)?;
                at = next;
                row.push(self.memory.to_buffer(record.buffer, datum)?);
            }
            row.resize(width, Value::Null);
            rows.push(row.iter().copied())?;
        }
        if returned.count == 0 && returned.is_one {
            row.clear();
            row.resize(width, Value::Null);
            rows.push(row.iter().copied())?;
        }
        Ok(FunctionState::Elements { rows })
    }

    /// Calls the function whose number, name and arguments are on the stack from `start` on.
    pub(super) fn call_routine(&mut self, start: usize) -> Result<()> {
        let called = self.called(&self.stack[start..]);
        let Some(caller) = self.around.caller else {
            return Err(Error::unsupported("a function of a user cannot be called here"));
        };
        let arguments: Vec<Constant> =
            self.stack[start + 2..].iter().map(|value| Constant::of(self.memory.datum(*value))).collect();
        let result = caller.call(called, arguments, self.tables.as_mut())?;
        let datum = match (result.count, result.types.first()) {
            (1.., Some(oid)) => blob::get_value(table::kind(*oid), &result.rows, 0)?.0,
            _ if result.is_void => Datum::Bytes(&[]),
            _ => Datum::Null,
        };
        let value = match datum {
            Datum::Bytes(bytes) => {
                self.spare.clear();
                self.spare.extend_from_slice(bytes);
                return self.push_result(start);
            }
            Datum::Null => Value::Null,
            datum => Memory::to_scratch(&mut self.memory.scratch, datum)?,
        };
        self.stack.truncate(start);
        self.stack.push(value);
        Ok(())
    }
}
