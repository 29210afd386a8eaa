//! Sorting: all rows, or the first few.
//!
//! When it is known how many rows will be asked for, only so many are kept: rows gather until there are twice as many,
//! and then the larger half goes.

use super::store::Rows;
use super::value::{Memory, Value};
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::number;
use crate::plan::record::Sort;
use crate::types::{Kind, compare};
use base::Result;
use std::cmp::Ordering;

/// A key: its place in the saved registers, kind, descending, nulls first.
#[derive(Clone, Copy)]
pub(super) struct SortKey {
    pub(super) place: usize,
    pub(super) kind: Kind,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

impl SortKey {
    pub(super) fn new(place: usize, kind: u32, direction: u32) -> SortKey {
        SortKey { place, kind: number::kind(kind), descending: direction & 1 != 0, nulls_first: direction & 2 != 0 }
    }
}

/// The order of two rows.
pub(super) fn order(memory: &Memory<'_>, keys: &[SortKey], left: &[Value], right: &[Value]) -> Ordering {
    for key in keys {
        let (a, b) = (left[key.place], right[key.place]);
        let order = match (a, b) {
            (Value::Null, Value::Null) => continue,
            (Value::Null, _) => return if key.nulls_first { Ordering::Less } else { Ordering::Greater },
            (_, Value::Null) => return if key.nulls_first { Ordering::Greater } else { Ordering::Less },
            (Value::Int(a), Value::Int(b)) => a.cmp(&b),
            (a, b) => compare::compare(key.kind, memory.datum(a), memory.datum(b)),
        };
        if order.is_ne() {
            return if key.descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

/// Sorts the numbers of rows; looks for interrupts on the way.
pub(super) fn sort_rows(memory: &Memory<'_>, keys: &[SortKey], rows: &Rows, numbers: &mut [u32]) -> Result<()> {
    const COMPARISONS_BETWEEN: u32 = 1024;
    let mut comparisons = 0u32;
    let mut failed = None;
    // Stable, so that rows with equal keys stay in the order they came in.
    numbers.sort_by(|a, b| {
        comparisons += 1;
        if comparisons.is_multiple_of(COMPARISONS_BETWEEN)
            && failed.is_none()
            && let Err(error) = super::breathe()
        {
            failed = Some(error);
        }
        order(memory, keys, rows.row(*a as usize), rows.row(*b as usize))
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

impl Exec<'_> {
    pub(super) fn sort(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = Sort::read(bytes, node);
        let saved = bytes.list(At(record.saved));
        let mut rows = match self.take(node) {
            State::Rows(rows) => rows,
            _ => Box::new(self.sorted(&record)?),
        };
        let found = rows.at < rows.count;
        if found {
            self.load(&rows, rows.at, saved);
            rows.at += 1;
        }
        self.put(node, State::Rows(rows));
        Ok(found)
    }

    fn sorted(&mut self, record: &Sort) -> Result<Rows> {
        let bytes = self.plan.bytes;
        let saved = bytes.list(At(record.saved));
        let places: Vec<u32> = saved.iter().collect();
        let keys: Vec<SortKey> = bytes
            .list(At(record.keys))
            .groups::<3>()
            .filter_map(|[register, kind, direction]| {
                let place = places.iter().position(|&saved| saved == register)?;
                Some(SortKey::new(place, kind, direction))
            })
            .collect();
        let bound = match record.bound {
            0 => None,
            program => match self.value(program)? {
                Value::Int(bound) => usize::try_from(bound.max(0)).ok(),
                _ => None,
            },
        };
        let mut rows = Rows::new(saved.len());
        self.memory.buffers[record.buffer as usize].clear();
        while self.next(At(record.child))? {
            self.breath()?;
            self.save(&mut rows, saved, record.buffer)?;
            // With a bound of one hundred rows, two hundred and more are cut to one hundred.
            if let Some(bound) = bound
                && rows.count >= bound.saturating_mul(2).max(64)
            {
                rows = self.first_rows(&keys, rows, bound, record.buffer)?;
            }
        }
        let count = rows.count;
        self.first_rows(&keys, rows, bound.unwrap_or(count), record.buffer)
    }

    /// The first rows in order; what the others kept in the buffer is given up once that pays.
    fn first_rows(&mut self, keys: &[SortKey], rows: Rows, bound: usize, buffer: u32) -> Result<Rows> {
        let mut numbers: Vec<u32> = (0..rows.count as u32).collect();
        sort_rows(&self.memory, keys, &rows, &mut numbers)?;
        numbers.truncate(bound);
        let mut first = Rows::new(rows.width);
        first
            .values
            .try_reserve(numbers.len() * rows.width)
            .map_err(|_| super::store::refused(numbers.len() * rows.width * size_of::<Value>()))?;
        let compacts = numbers.len() < rows.count;
        let old = match compacts {
            true => std::mem::take(&mut self.memory.buffers[buffer as usize]),
            false => Vec::new(),
        };
        for number in numbers {
            for &value in rows.row(number as usize) {
                let value = match (compacts, value) {
                    (true, Value::Span(span)) => self.memory.move_span(span, &old, buffer)?,
                    (_, value) => value,
                };
                first.values.push(value);
            }
            first.count += 1;
        }
        Ok(first)
    }
}
