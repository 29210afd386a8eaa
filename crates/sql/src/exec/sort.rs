//! Sorting: all rows, or the first few.
//!
//! When it is known how many rows will be asked for, only so many are kept: rows gather until there are twice as many,
//! and then the larger half goes. Rows that do not fit `work_mem` go to files ([`merge`](super::merge)).

use super::merge::Sorted;
use super::store::Rows;
use super::value::{Memory, Value};
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::number;
use crate::plan::record::Sort;
use crate::types::{Datum, Kind, compare};
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

/// The same for rows of which others know the values.
pub(super) fn order_of<'a, 'b>(
    keys: &[SortKey],
    left: impl Fn(usize) -> Datum<'a>,
    right: impl Fn(usize) -> Datum<'b>,
) -> Ordering {
    for key in keys {
        let (a, b) = (left(key.place), right(key.place));
        let order = match (a.is_null(), b.is_null()) {
            (true, true) => continue,
            (true, false) => return if key.nulls_first { Ordering::Less } else { Ordering::Greater },
            (false, true) => return if key.nulls_first { Ordering::Greater } else { Ordering::Less },
            (false, false) => compare::compare(key.kind, a, b),
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
        let mut sorted = match self.take(node) {
            State::Sorted(sorted) => sorted,
            _ => Box::new(self.sorted(&record)?),
        };
        let found = sorted.has_row();
        if found {
            match &mut *sorted {
                Sorted::Memory(rows) => {
                    self.load(rows, rows.at, saved);
                    rows.at += 1;
                }
                Sorted::Merged(merge) => {
                    self.memory.buffers[record.buffer as usize].clear();
                    if let Some(row) = merge.row() {
                        self.load_disk(row, 0, saved.iter(), record.buffer)?;
                    }
                    self.breath()?;
                    merge.advance()?;
                }
            }
        }
        self.put(node, State::Sorted(sorted));
        Ok(found)
    }

    fn sorted(&mut self, record: &Sort) -> Result<Sorted> {
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
        let mut sorting = self.begin_sorting(keys, saved.len(), record.buffer, bound);
        while self.next(At(record.child))? {
            self.breath()?;
            self.save(&mut sorting.rows, saved, record.buffer)?;
            self.row_added(&mut sorting)?;
        }
        self.finish_sorting(sorting)
    }

    /// The numbers of rows in order.
    pub(super) fn sorted_numbers(&self, keys: &[SortKey], rows: &Rows) -> Result<Vec<u32>> {
        let mut numbers: Vec<u32> = (0..rows.count as u32).collect();
        sort_rows(&self.memory, keys, rows, &mut numbers)?;
        Ok(numbers)
    }

    /// The first rows in order; what the others kept in the buffer is given up once that pays.
    pub(super) fn first_rows(&mut self, keys: &[SortKey], rows: Rows, bound: usize, buffer: u32) -> Result<Rows> {
        let mut numbers = self.sorted_numbers(keys, &rows)?;
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
