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
//!    stops early has cost at most as many rows more as he got. For one who reads all rows, an aggregate or a sort, runs are as
//!    long from the first on.
//! 2. What a run found stays right while the statement's snapshot is held: see the rules of `storage::btree`.
//! 3. A run ends early when its rows have many bytes.
//! 4. An error on the way ends the run, and is the statement's when the rows before it have been given: a reader who stops before it
//!    never hears of it.
//! 5. A row that the inner node can have one row for at most is given with it, or passed over: the inner node is not asked. While
//!    somebody watches, it is.
//! 6. The outer node counts on its registers, as a loop does whose own outer row has more partners: before it is asked for the next run they
//!    are set back to what it gave last.

use super::ahead_key::RunKey;
use super::store::Rows;
use super::stored::{IndexState, Key, ONLY, SINGLE};
use super::value::Value;
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::record::{IndexScan, NestedLoop};
use crate::row::Shapes;
use base::{Error, Result};
use storage::btree::ahead::KEYS_MAX;
use storage::btree::{Btree, Matches};
use storage::heap::{Fetched, Heap};
use storage::page::Tid;

/// Bytes of rows after which a run is long enough.
const BYTES_ENOUGH: usize = 64 << 10;
/// How many rows' pages are asked for together, some time before the first of them: so that the processor finds several pages in its
/// tables at once. No more, since the first lines of all pages share a few places in its cache.
const TOGETHER: usize = 8;
/// How many look-ups ahead a row is asked for.
const NEAR: usize = 4;

/// What a loop goes on with.
pub(super) enum Outer {
    /// There are no more rows.
    Over,
    /// A row, whose partners the inner node has.
    Begun,
    /// A row with its only partner, or none: true if there is one (rule 5).
    Only(bool),
}

/// Rows that were read ahead.
pub(super) struct Ahead {
    /// What is looked up, and in what; which of the node's states that is.
    scan: IndexScan,
    heap: Heap,
    shapes: Shapes,
    index: Btree,
    columns: Key,
    state: usize,
    rows: Rows,
    /// The registers as the outer node left them, behind the last of the rows (rule 6).
    left: Vec<Value>,
    /// The next row to be given.
    at: usize,
    /// How many rows the last run was to have.
    run: usize,
    /// How the rows' keys are made.
    run_key: RunKey,
    /// The keys, one after the other, and where each ends; rows without a key end where they begin.
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

impl Ahead {
    fn new(state: usize, index: &IndexState) -> Ahead {
        let (scan, heap, shapes, index, columns) = index.access();
        Ahead {
            scan,
            heap,
            shapes,
            index,
            columns,
            state,
            rows: Rows::default(),
            left: Vec::new(),
            at: 0,
            run: 0,
            run_key: RunKey::default(),
            keys: Vec::new(),
            ends: Vec::new(),
            found: Vec::new(),
            found_at: 0,
            is_over: false,
            failed: None,
        }
    }

    /// Where the first row of a key lies that comes so many keys after the next.
    #[inline]
    fn place(&self, after: usize) -> Option<Tid> {
        self.found.get(self.found_at + after)?.tids().first().copied()
    }

    /// Asks for what fetching the first rows of a run reads.
    fn approach_first(&self) {
        for found in &self.found {
            if let Some(tid) = found.tids().first() {
                self.heap.expect(*tid);
            }
        }
        self.approach_pages(0);
        if self.scan.flags & ONLY == 0 {
            (0..NEAR).filter_map(|after| self.place(after)).for_each(|tid| self.heap.approach_row(tid));
        }
    }

    fn approach_pages(&self, after: usize) {
        (after..after + TOGETHER).filter_map(|after| self.place(after)).for_each(|tid| self.heap.approach(tid));
    }

    /// The same of those that come a few after the next.
    #[inline]
    fn approach_later(&self) {
        if self.found_at.is_multiple_of(TOGETHER) {
            self.approach_pages(TOGETHER);
        }
        if self.scan.flags & ONLY == 0
            && let Some(tid) = self.place(NEAR)
        {
            self.heap.approach_row(tid);
        }
    }

    /// Does a key have one row at most?
    #[inline]
    fn has_one(&self, found: &Matches) -> bool {
        !found.more() && (found.tids().len() <= 1 || self.scan.flags & SINGLE != 0)
    }
}

impl Exec<'_> {
    /// The next row of a loop's outer node, with the inner node ready for it, or what that has for it.
    pub(super) fn next_outer_of_loop(
        &mut self,
        record: &NestedLoop,
        is_first: bool,
        ahead: &mut Option<Box<Ahead>>,
    ) -> Result<Outer> {
        let inner = At(record.inner);
        if !is_first && record.ahead != 0 && ahead.is_none() {
            let state = self.state_of(inner);
            if let State::Index(index) = &self.states[state] {
                *ahead = Some(Box::new(Ahead::new(state, index)));
            }
        }
        let Some(ahead) = ahead else {
            if !self.next(At(record.outer))? {
                return Ok(Outer::Over);
            }
            return self.again(inner).map(|()| Outer::Begun);
        };
        if ahead.at == ahead.rows.count {
            if let Some(error) = ahead.failed.take() {
                return Err(error);
            }
            if ahead.is_over {
                return Ok(Outer::Over);
            }
            ahead.run = if record.all == 0 { (ahead.run * 2).clamp(2, KEYS_MAX) } else { KEYS_MAX };
            self.read_ahead(record, ahead)?;
            if ahead.rows.count == 0 {
                return Ok(Outer::Over);
            }
        }
        let row = ahead.at;
        ahead.at += 1;
        self.load(&ahead.rows, row, self.plan.bytes.list(At(record.ahead)));
        let start = row.checked_sub(1).map_or(0, |before| ahead.ends[before]);
        let key = &ahead.keys[start..ahead.ends[row]];
        let is_watched = self.watch.is_some();
        let mut found = None;
        if !key.is_empty() {
            ahead.approach_later();
            let matches = &ahead.found[ahead.found_at];
            ahead.found_at += 1;
            if !is_watched && ahead.scan.flags & ONLY == 0 && ahead.has_one(matches) {
                return self.only_row(ahead, key, matches).map(Outer::Only);
            }
            found = Some(matches);
        } else if !is_watched {
            return Ok(Outer::Only(false));
        }
        self.again(inner)?;
        if let State::Index(state) = &mut self.states[ahead.state] {
            match found {
                None => state.finish(),
                // Otherwise the node looks itself.
                Some(found) if !found.more() => state.restart_among(key, *found),
                Some(_) => {}
            }
        }
        Ok(Outer::Begun)
    }

    /// Fetches the one row that a key can have, as the inner node would; true if there is one.
    #[inline]
    fn only_row(&mut self, ahead: &Ahead, key: &[u8], found: &Matches) -> Result<bool> {
        self.breath()?;
        let (mut looked, mut fetched) = (0, false);
        for &tid in found.tids() {
            looked += 1;
            match self.fetch_behind(&ahead.scan, (ahead.heap, &ahead.shapes, None), tid)? {
                Fetched::Row(()) => {
                    fetched = true;
                    break;
                }
                Fetched::Invisible => {}
                Fetched::Dead => ahead.index.kill(key, tid, found)?,
            }
        }
        if let State::Index(state) = &mut self.states[ahead.state] {
            state.count(looked, fetched);
        }
        Ok(fetched && self.holds(ahead.scan.filter)?)
    }

    /// Reads the next run of rows and looks their keys up.
    fn read_ahead(&mut self, record: &NestedLoop, ahead: &mut Ahead) -> Result<()> {
        let registers = self.plan.bytes.list(At(record.ahead));
        registers.iter().zip(&ahead.left).for_each(|(at, value)| self.registers[at as usize] = *value);
        ahead.rows.values.clear();
        (ahead.rows.width, ahead.rows.count, ahead.at) = (registers.len(), 0, 0);
        ahead.keys.clear();
        ahead.ends.clear();
        ahead.found.clear();
        ahead.found_at = 0;
        self.memory.buffers[record.buffer as usize].clear();
        self.begin_keys(ahead.scan.equal, &ahead.columns, &mut ahead.run_key)?;
        while ahead.rows.count < ahead.run && self.memory.buffers[record.buffer as usize].len() < BYTES_ENOUGH {
            let start = ahead.keys.len();
            match self.next_with_key(record, ahead) {
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
        ahead.index.lookup_each(keys, &mut ahead.found)?;
        ahead.approach_first();
        Ok(())
    }

    /// The outer node's next row, and its key; false if a part of it is null; none if there is no row.
    fn next_with_key(&mut self, record: &NestedLoop, ahead: &mut Ahead) -> Result<Option<bool>> {
        match self.next(At(record.outer))? {
            true => self.encode_key(ahead.scan.equal, &ahead.columns, &ahead.run_key, &mut ahead.keys).map(Some),
            false => Ok(None),
        }
    }
}
