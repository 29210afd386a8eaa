//! Outer rows of a loop that are read ahead, so that what the inner node looks up is looked up for several at a time.
//!
//! ```text
//!   outer rows:   1 | 2 3 | 4 5 6 7 | 8 ...          each run is read and kept, its keys are looked up together, its rows' pages
//!                 ^                                  asked for; then its rows are given, one by one, as if nothing had been
//!                 one by one, as long as few are wanted
//! ```
//!
//! Rules
//! 1. The first row is given as it comes, and each run is twice as long as the one before, up to [`KEYS_MAX`]: a reader who
//!    stops early has cost at most as many rows more as he got.
//! 2. What a run found stays right while the statement's snapshot is held: see the rules of `storage::btree`.
//! 3. A run ends early when its rows have many bytes.
//! 4. An error on the way ends the run, and is the statement's when the rows before it have been given: a reader who stops before it
//!    never hears of it.
//! 5. The outer node counts on its registers, as a loop does whose own outer row has more partners: before it is asked for the next run they
//!    are set back to what it gave last.

use super::store::Rows;
use super::stored::{Key, ONLY};
use super::value::Value;
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::record::{IndexScan, NestedLoop};
use base::{Error, Result};
use storage::btree::Matches;
use storage::btree::ahead::KEYS_MAX;

/// Bytes of rows after which a run is long enough.
const BYTES_ENOUGH: usize = 64 << 10;

/// Rows that were read ahead.
#[derive(Default)]
pub(super) struct Ahead {
    rows: Rows,
    /// The registers as the outer node left them, behind the last of the rows (rule 5).
    left: Vec<Value>,
    /// The next row to be given.
    at: usize,
    /// How many rows the last run was to have.
    run: usize,
    /// The keys of the rows, one after the other, and where each ends; rows without a key end where they begin.
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// What there is of each key that is one.
    found: Vec<Matches>,
    /// How many of them belong to rows that were given.
    found_at: usize,
    /// The outer node has no more.
    is_over: bool,
    /// What went wrong behind the last row.
    failed: Option<Error>,
}

impl Exec<'_> {
    /// The next row of a loop's outer node, with the inner node ready for it.
    pub(super) fn next_outer_of_loop(
        &mut self,
        record: &NestedLoop,
        is_first: bool,
        ahead: &mut Option<Box<Ahead>>,
    ) -> Result<bool> {
        let inner = At(record.inner);
        let is_begun = || matches!(self.states[self.state_of(inner)], State::Index(_));
        if is_first || record.ahead == 0 || ahead.is_none() && !is_begun() {
            return Ok(self.next(At(record.outer))? && self.again(inner).map(|()| true)?);
        }
        let ahead = ahead.get_or_insert_default();
        if ahead.at == ahead.rows.count {
            if let Some(error) = ahead.failed.take() {
                return Err(error);
            }
            if ahead.is_over {
                return Ok(false);
            }
            ahead.run = (ahead.run * 2).clamp(2, KEYS_MAX);
            self.read_ahead(record, ahead)?;
            if ahead.rows.count == 0 {
                return Ok(false);
            }
        }
        let row = ahead.at;
        ahead.at += 1;
        self.load(&ahead.rows, row, self.plan.bytes.list(At(record.ahead)));
        self.again(inner)?;
        let start = row.checked_sub(1).map_or(0, |before| ahead.ends[before]);
        let key = &ahead.keys[start..ahead.ends[row]];
        let index = self.state_of(inner);
        if let State::Index(state) = &mut self.states[index] {
            if key.is_empty() {
                state.finish();
                return Ok(true);
            }
            let found = ahead.found[ahead.found_at];
            ahead.found_at += 1;
            // Otherwise the node looks itself.
            if !found.more() {
                state.restart_among(key, found);
            }
        }
        Ok(true)
    }

    /// Reads the next run of rows and looks their keys up.
    fn read_ahead(&mut self, record: &NestedLoop, ahead: &mut Ahead) -> Result<()> {
        let scan = IndexScan::read(self.plan.bytes, At(record.inner));
        let registers = self.plan.bytes.list(At(record.ahead));
        let State::Index(state) = &self.states[self.state_of(At(record.inner))] else { return Ok(()) };
        let (heap, index, columns) = state.access();
        registers.iter().zip(&ahead.left).for_each(|(at, value)| self.registers[at as usize] = *value);
        ahead.rows.values.clear();
        (ahead.rows.width, ahead.rows.count, ahead.at) = (registers.len(), 0, 0);
        ahead.keys.clear();
        ahead.ends.clear();
        ahead.found.clear();
        ahead.found_at = 0;
        self.memory.buffers[record.buffer as usize].clear();
        while ahead.rows.count < ahead.run && self.memory.buffers[record.buffer as usize].len() < BYTES_ENOUGH {
            let start = ahead.keys.len();
            match self.next_with_key(record, &scan, &columns, &mut ahead.keys) {
                Ok(Some(true)) => {}
                Ok(Some(false)) => ahead.keys.truncate(start),
                Ok(None) => {
                    ahead.is_over = true;
                    break;
                }
                Err(error) if ahead.rows.count == 0 => return Err(error),
                Err(error) => {
                    ahead.keys.truncate(start);
                    ahead.failed = Some(error);
                    break;
                }
            }
            self.save(&mut ahead.rows, registers, record.buffer)?;
            ahead.ends.push(ahead.keys.len());
        }
        ahead.left.clear();
        ahead.left.extend(registers.iter().map(|at| self.registers[at as usize]));
        let starts = std::iter::once(0).chain(ahead.ends.iter().copied());
        let keys = starts.zip(&ahead.ends).map(|(start, end)| &ahead.keys[start..*end]).filter(|key| !key.is_empty());
        index.lookup_each(keys, &mut ahead.found)?;
        let places = || ahead.found.iter().filter_map(|found| found.tids().first());
        places().for_each(|tid| heap.expect(*tid));
        places().for_each(|tid| heap.approach(*tid));
        if scan.flags & ONLY != 0 {
            return Ok(());
        }
        places().for_each(|tid| heap.approach_row(*tid));
        Ok(())
    }

    /// The outer node's next row, and its key; false if a part of it is null; none if there is no row.
    fn next_with_key(
        &mut self,
        record: &NestedLoop,
        scan: &IndexScan,
        columns: &Key,
        keys: &mut Vec<u8>,
    ) -> Result<Option<bool>> {
        match self.next(At(record.outer))? {
            true => self.encode_equal(scan.equal, columns, keys).map(Some),
            false => Ok(None),
        }
    }
}
