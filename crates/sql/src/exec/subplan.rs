//! Queries inside expressions: one value, whether there is a row, an array, a comparison with any or all rows.
//!
//! Rules
//! 1. A subplan that reads nothing of the query around it runs once; its answer is kept.
//! 2. `x = ANY (…)` of such a subplan is looked up in a hash table.

use super::store::{KeySet, kinds};
use super::value::{Memory, Value};
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::record::SubplanRecord;
use crate::types::{Datum, Oid, array};
use base::{Error, Result, sqlstate};

/// The rows of a subplan, hashed.
pub(super) struct HashedValues {
    set: KeySet,
    has_null: bool,
    is_empty: bool,
}

const SCALAR: u32 = 0;
const EXISTS: u32 = 1;
const ARRAY: u32 = 2;

impl Exec<'_> {
    /// The value of a subplan.
    pub(super) fn subplan(&mut self, index: u16) -> Result<Value> {
        let bytes = self.plan.bytes;
        let record = SubplanRecord::read(bytes, At(bytes.list(self.subplans).get(usize::from(index))));
        if record.probe != 0 {
            return self.hashed(&record);
        }
        let state = record.state as usize;
        if record.constant != 0
            && let State::Value(value) = self.states[state]
        {
            // A comparison's answer depends on the row, a value does not.
            if record.kind <= ARRAY {
                return Ok(value);
            }
        }
        self.rewind(At(record.root))?;
        let value = match record.kind {
            SCALAR => self.scalar(&record)?,
            EXISTS => Value::Bool(self.next(At(record.root))?),
            ARRAY => self.array_of_rows(&record)?,
            kind => self.compared(&record, kind == 4)?,
        };
        if record.constant != 0 && record.kind <= ARRAY {
            let kept = self.memory.keep(value, record.buffer)?;
            self.states[state] = State::Value(kept);
            return Ok(kept);
        }
        Ok(value)
    }

    fn scalar(&mut self, record: &SubplanRecord) -> Result<Value> {
        if !self.next(At(record.root))? {
            return Ok(Value::Null);
        }
        let value = self.registers[record.register as usize];
        // The bytes must outlive the next row, and this subplan's next run.
        let value = match value {
            Value::Span(span) => {
                let bytes = self.memory.bytes(span).to_vec();
                Memory::to_scratch(&mut self.memory.scratch, Datum::Bytes(&bytes))?
            }
            value => value,
        };
        if self.next(At(record.root))? {
            return Err(Error::statement(
                sqlstate::CARDINALITY_VIOLATION,
                "more than one row returned by a subquery used as an expression",
            ));
        }
        Ok(value)
    }

    fn array_of_rows(&mut self, record: &SubplanRecord) -> Result<Value> {
        let mut owned: Vec<crate::plan::blob::Constant> = Vec::new();
        while self.next(At(record.root))? {
            self.breath()?;
            let datum = self.memory.datum(self.registers[record.register as usize]);
            owned.push(crate::plan::blob::Constant::of(datum));
        }
        let items: Vec<Datum<'_>> = owned.iter().map(|item| item.datum()).collect();
        let bytes = array::encode_list(Oid(record.value), &items)?;
        Memory::to_scratch(&mut self.memory.scratch, Datum::Bytes(&bytes))
    }

    /// `x op ANY (query)`, `x op ALL (query)`
    fn compared(&mut self, record: &SubplanRecord, all: bool) -> Result<Value> {
        let mut answer = Value::Bool(all);
        while self.next(At(record.root))? {
            self.breath()?;
            let scratch = self.memory.scratch.len();
            let one = self.value(record.test)?;
            self.memory.scratch.truncate(scratch);
            match one {
                Value::Bool(holds) if holds != all => return Ok(Value::Bool(holds)),
                Value::Bool(_) => {}
                _ => answer = Value::Null,
            }
        }
        Ok(answer)
    }

    /// `x = ANY (query)` of a query that is the same for all rows.
    fn hashed(&mut self, record: &SubplanRecord) -> Result<Value> {
        let kinds = kinds(self.plan.bytes.list(At(record.kinds)));
        let state = record.state as usize;
        if !matches!(self.states[state], State::Hashed(_)) {
            let mut values = HashedValues { set: KeySet::default(), has_null: false, is_empty: true };
            self.rewind(At(record.root))?;
            while self.next(At(record.root))? {
                self.breath()?;
                values.is_empty = false;
                let start = self.stack.len();
                let scratch = self.push(record.columns)?;
                let key = self.stack.drain(start..).collect::<Vec<_>>();
                match key.iter().any(|value| value.is_null()) {
                    true => values.has_null = true,
                    false => {
                        self.find_or_add(&mut values.set, &key, &kinds, record.buffer)?;
                    }
                }
                self.memory.scratch.truncate(scratch);
            }
            self.states[state] = State::Hashed(Box::new(values));
        }
        let start = self.stack.len();
        self.push(record.probe)?;
        let key = self.stack.drain(start..).collect::<Vec<_>>();
        let State::Hashed(values) = &self.states[state] else { return Ok(Value::Null) };
        if values.is_empty {
            return Ok(Value::Bool(false));
        }
        let has_null = key.iter().any(|value| value.is_null());
        if !has_null && self.find(&values.set, &key, &kinds).is_some() {
            return Ok(Value::Bool(true));
        }
        // Nothing equal was found; where a null stands in the way nobody knows. With several columns a null on one side
        // may meet a difference on the other, which would be false: then rows are compared one by one.
        if kinds.len() > 1 && (has_null || values.has_null) {
            self.rewind(At(record.root))?;
            return self.compared(record, false);
        }
        Ok(if has_null || values.has_null { Value::Null } else { Value::Bool(false) })
    }
}
