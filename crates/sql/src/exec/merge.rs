//! Sorting more rows than fit in memory: sorted runs in a file, which are merged.
//!
//! ```text
//!   rows ---> memory, sorted when it is full ---> run, run, run …     in a file
//!   runs ---> merged, so many at a time, into fewer runs in another file, until they can be merged at once
//!        ---> merged as rows are asked for
//! ```
//!
//! Rules
//! 1. Rows that are equal come in the order in which they were added: of equal rows that of the earlier run comes first.
//! 2. The rows of runs that are merged lie in buffers of their readers; whoever is given one copies it.

use super::Exec;
use super::sort::{SortKey, order_of};
use super::spill::{DiskRow, RowReader, Spooled, Written};
use super::store::Rows;
use super::value::{Memory, Value};
use crate::types::Datum;
use base::Result;
use std::cmp::Ordering;

/// Rows that are to be sorted.
pub(super) struct Sorting {
    keys: Vec<SortKey>,
    /// Those in memory.
    pub(super) rows: Rows,
    /// The buffer of their bytes.
    pub(super) buffer: u32,
    limit: usize,
    /// How many of them will be asked for.
    bound: Option<usize>,
    file: Option<Spooled>,
    runs: Vec<Written>,
}

/// Sorted rows, at one of them.
pub(super) enum Sorted {
    /// In memory.
    Memory(Rows),
    /// Merged from files.
    Merged(Merge),
}

struct Source {
    reader: RowReader,
    row: DiskRow,
}

/// Runs that are merged; at their least row.
pub(super) struct Merge {
    keys: Vec<SortKey>,
    sources: Vec<Source>,
    /// The sources that have a row, as a heap: the one with the least row first.
    heap: Vec<u32>,
}

impl Merge {
    fn new(keys: Vec<SortKey>, runs: &[Written], memory: usize) -> Result<Merge> {
        let mut sources = Vec::with_capacity(runs.len());
        let mut heap = Vec::with_capacity(runs.len());
        for run in runs {
            let mut source = Source { reader: run.read_by(memory)?, row: DiskRow::default() };
            if source.reader.next(&mut source.row)? {
                heap.push(sources.len() as u32);
            }
            sources.push(source);
        }
        let mut merge = Merge { keys, sources, heap };
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(at);
        }
        Ok(merge)
    }

    fn compare(&self, a: u32, b: u32) -> Ordering {
        let (left, right) = (&self.sources[a as usize].row, &self.sources[b as usize].row);
        order_of(&self.keys, |place| left.datum(place), |place| right.datum(place)).then(a.cmp(&b))
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let left = 2 * at + 1;
            if left >= self.heap.len() {
                return;
            }
            let right = left + 1;
            let least = match self.heap.get(right) {
                Some(other) if self.compare(*other, self.heap[left]).is_lt() => right,
                _ => left,
            };
            if self.compare(self.heap[at], self.heap[least]).is_le() {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// The least row, if there is one.
    pub(super) fn row(&self) -> Option<&DiskRow> {
        self.heap.first().map(|top| &self.sources[*top as usize].row)
    }

    /// Goes on to the next row.
    pub(super) fn advance(&mut self) -> Result<()> {
        let Some(&top) = self.heap.first() else { return Ok(()) };
        let source = &mut self.sources[top as usize];
        if !source.reader.next(&mut source.row)? {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }
}

impl Sorted {
    /// Is there a row?
    pub(super) fn has_row(&self) -> bool {
        match self {
            Sorted::Memory(rows) => rows.at < rows.count,
            Sorted::Merged(merge) => merge.row().is_some(),
        }
    }

    /// A value of the row.
    pub(super) fn datum<'a>(&'a self, memory: &'a Memory<'_>, place: usize) -> Datum<'a> {
        match self {
            Sorted::Memory(rows) => memory.datum(rows.row(rows.at)[place]),
            Sorted::Merged(merge) => merge.row().map_or(Datum::Null, |row| row.datum(place)),
        }
    }

    /// Goes on to the next row.
    pub(super) fn advance(&mut self) -> Result<()> {
        match self {
            Sorted::Memory(rows) => {
                rows.at += 1;
                Ok(())
            }
            Sorted::Merged(merge) => merge.advance(),
        }
    }
}

impl Sorting {
    fn held(&self, memory: &Memory<'_>) -> usize {
        let (values, numbers) = (self.rows.values.len() * size_of::<Value>(), self.rows.count * size_of::<u32>());
        values + numbers + memory.buffers[self.buffer as usize].len()
    }
}

impl Exec<'_> {
    /// No rows yet; their bytes go to a buffer, which is emptied.
    pub(super) fn begin_sorting(
        &mut self,
        keys: Vec<SortKey>,
        width: usize,
        buffer: u32,
        bound: Option<usize>,
    ) -> Sorting {
        self.memory.buffers[buffer as usize].clear();
        let limit = self.work_memory();
        Sorting { keys, rows: Rows::new(width), buffer, limit, bound, file: None, runs: Vec::new() }
    }

    /// To be called for each row that was added to the rows in memory.
    #[inline]
    pub(super) fn row_added(&mut self, sorting: &mut Sorting) -> Result<()> {
        // With a bound of one hundred rows, two hundred and more are cut to one hundred.
        if let Some(bound) = sorting.bound
            && sorting.rows.count >= bound.saturating_mul(2).max(64)
        {
            self.cut(sorting, bound)?;
        }
        match sorting.held(&self.memory) > sorting.limit {
            true => self.sorting_overflows(sorting),
            false => Ok(()),
        }
    }

    fn cut(&mut self, sorting: &mut Sorting, bound: usize) -> Result<()> {
        let rows = std::mem::take(&mut sorting.rows);
        sorting.rows = self.first_rows(&sorting.keys, rows, bound, sorting.buffer)?;
        Ok(())
    }

    #[cold]
    fn sorting_overflows(&mut self, sorting: &mut Sorting) -> Result<()> {
        if let Some(bound) = sorting.bound
            && sorting.rows.count > bound
        {
            self.cut(sorting, bound)?;
            if sorting.held(&self.memory) <= sorting.limit / 2 {
                return Ok(());
            }
        }
        // Whoever asks stops at the bound.
        sorting.bound = None;
        self.write_run(sorting)
    }

    fn write_run(&mut self, sorting: &mut Sorting) -> Result<()> {
        let numbers = self.sorted_numbers(&sorting.keys, &sorting.rows)?;
        let file = match &mut sorting.file {
            Some(file) => file,
            none => none.insert(Spooled::new(self.new_spill()?)),
        };
        for number in numbers {
            self.breath()?;
            file.write(&self.memory, sorting.rows.row(number as usize).iter().copied())?;
        }
        sorting.runs.push(file.end()?);
        sorting.rows = Rows::new(sorting.rows.width);
        self.memory.buffers[sorting.buffer as usize].clear();
        Ok(())
    }

    /// Sorts what was added.
    pub(super) fn finish_sorting(&mut self, mut sorting: Sorting) -> Result<Sorted> {
        const WAYS_MIN: usize = 6;
        const WAYS_MAX: usize = 64;
        const READ_MAX: usize = 64 << 10;
        if sorting.runs.is_empty() {
            let bound = sorting.bound.unwrap_or(sorting.rows.count);
            let rows = std::mem::take(&mut sorting.rows);
            return Ok(Sorted::Memory(self.first_rows(&sorting.keys, rows, bound, sorting.buffer)?));
        }
        if sorting.rows.count > 0 {
            self.write_run(&mut sorting)?;
        }
        // The file stays as long as one of its runs does.
        sorting.file = None;
        let ways = (sorting.limit / READ_MAX).clamp(WAYS_MIN, WAYS_MAX);
        let memory = (sorting.limit / ways).min(READ_MAX);
        while sorting.runs.len() > ways {
            let mut file = Spooled::new(self.new_spill()?);
            let mut merged = Vec::with_capacity(sorting.runs.len().div_ceil(ways));
            for runs in sorting.runs.chunks(ways) {
                let mut merge = Merge::new(sorting.keys.clone(), runs, memory)?;
                while let Some(row) = merge.row() {
                    self.breath()?;
                    file.copy(row)?;
                    merge.advance()?;
                }
                merged.push(file.end()?);
            }
            sorting.runs = merged;
        }
        Ok(Sorted::Merged(Merge::new(sorting.keys, &sorting.runs, memory)?))
    }
}
