//! Window functions: what is computed for each row from the rows around it.
//!
//! ```text
//!  rows of the child, in order:   | partition            | partition     |
//!  peers, equal in order:         | a | b  b  b | c | d  d | …
//!                                       ^ the row
//!  its frame:                         [---------)
//! ```
//!
//! The rows of a partition are kept until the last of them has been given; arguments are computed as rows are read. The first row
//! of the next partition is read too early and kept beside them.
//!
//! Rules
//! 1. An aggregate goes on from the row before where it can: rows that come into the frame are added; those that leave it are taken
//!    out of the aggregates that can forget ([`Accumulator::remove`]); for the others, and where rows are excluded, the frame is
//!    added up again.
//! 2. Where both ends of frames move, they move forward only: rows that were passed are not looked at again.

use super::sort::{SortKey, order};
use super::store::Rows;
use super::value::Value;
use super::{Exec, State};
use crate::parser::ast::{Exclude, FrameMode};
use crate::plan::blob::{At, Constant};
use crate::plan::number;
use crate::plan::record::{WindowAgg, WindowRecord};
use crate::plan::tree::{FRAME_CURRENT, FRAME_FIRST, FRAME_FOLLOWING, FRAME_PRECEDING};
use crate::types::aggregate::{Accumulator, AggCall};
use crate::types::window::{Range, WindowOp, in_range};
use crate::types::{Datum, Oid};
use base::{Error, Result, sqlstate};
use smallvec::SmallVec;

/// A partition, and how far its rows have been given.
pub(super) struct WindowState {
    record: WindowAgg,
    frame: Frame,
    functions: Vec<Function>,
    partition: Vec<SortKey>,
    order: Vec<SortKey>,
    rows: Rows,
    /// The first row of the next partition.
    pending: Option<Vec<Value>>,
    begun: bool,
    /// Where groups of equal rows begin.
    groups: Vec<u32>,
    at: usize,
    group: usize,
    head: usize,
    tail: usize,
}

/// Which rows around a row are seen.
struct Frame {
    mode: u32,
    start: u32,
    end: u32,
    exclude: u32,
    start_offset: Constant,
    end_offset: Constant,
}

/// A call over the window.
struct Function {
    record: WindowRecord,
    /// None for an aggregate.
    op: Option<WindowOp>,
    call: AggCall,
    /// Where its arguments are in a row, behind the answer of its filter.
    place: usize,
    accumulator: Accumulator,
    /// The rows that have been added.
    start: usize,
    end: usize,
    result: Option<Constant>,
    /// Of `ntile`: how many buckets, and the row with which counting began.
    buckets: Option<(usize, usize)>,
}

/// Parts of a frame, without what is excluded.
type Parts = SmallVec<[(usize, usize); 3]>;

impl Exec<'_> {
    pub(super) fn window(&mut self, node: At) -> Result<bool> {
        let mut state = match self.take(node) {
            State::Window(state) => state,
            State::Done => {
                self.put(node, State::Done);
                return Ok(false);
            }
            _ => Box::new(self.begin_window(node)?),
        };
        if state.at >= state.rows.count && !self.read_partition(&mut state)? {
            self.put(node, State::Done);
            return Ok(false);
        }
        self.breath()?;
        let row = state.at;
        state.at += 1;
        while state.groups.get(state.group + 1).is_some_and(|start| *start as usize <= row) {
            state.group += 1;
        }
        self.load(&state.rows, row, self.plan.bytes.list(At(state.record.saved)));
        self.memory.buffers[state.record.results as usize].clear();
        let (start, end) = self.frame_of(&mut state, row)?;
        let mut functions = std::mem::take(&mut state.functions);
        for function in &mut functions {
            let value = match function.op {
                Some(op) => self.window_value(op, function, &state, row, (start, end))?,
                None => self.aggregate_value(function, &state, row, (start, end))?,
            };
            self.registers[function.record.register as usize] = value;
        }
        state.functions = functions;
        self.put(node, State::Window(state));
        Ok(true)
    }

    fn begin_window(&mut self, node: At) -> Result<WindowState> {
        let bytes = self.plan.bytes;
        let record = WindowAgg::read(bytes, node);
        let saved = bytes.list(At(record.saved)).len();
        let partition: Vec<SortKey> = bytes
            .list(At(record.partition))
            .groups::<2>()
            .enumerate()
            .map(|(index, [_, kind])| SortKey::new(saved + index, kind, 0))
            .collect();
        let first = saved + partition.len();
        let order: Vec<SortKey> = bytes
            .list(At(record.order))
            .groups::<3>()
            .enumerate()
            .map(|(index, [_, kind, direction])| SortKey::new(first + index, kind, direction))
            .collect();
        let mut width = first + order.len();
        let mut functions = Vec::new();
        for at in bytes.list(At(record.functions)).iter() {
            let function = WindowRecord::read(bytes, At(at));
            let (op, call) = match function.op {
                WindowRecord::AGGREGATE => {
                    let Some(op) = number::aggregate(function.aggregate) else {
                        return Err(Error::statement(
                            sqlstate::INTERNAL_ERROR,
                            "a plan is broken: an unknown aggregate",
                        ));
                    };
                    (None, AggCall::new(op, Oid(function.argument)))
                }
                number => {
                    (WindowOp::from_number(number), AggCall::new(crate::types::aggregate::AggOp::Count, Oid::INT4))
                }
            };
            functions.push(Function {
                record: function,
                op,
                call,
                place: width + 1,
                accumulator: Accumulator::new(),
                start: 0,
                end: 0,
                result: None,
                buckets: None,
            });
            width += 1 + function.count as usize;
        }
        let is_range = record.frame & 0xFF == FrameMode::Range as u32;
        let frame = Frame {
            mode: record.frame & 0xFF,
            start: record.frame >> 8 & 0xFF,
            end: record.frame >> 16 & 0xFF,
            exclude: record.frame >> 24,
            start_offset: self.frame_offset(record.start, is_range, "starting")?,
            end_offset: self.frame_offset(record.end, is_range, "ending")?,
        };
        Ok(WindowState {
            record,
            frame,
            functions,
            partition,
            order,

            rows: Rows::new(width),
            pending: None,
            begun: false,
            groups: Vec::new(),
            at: 0,
            group: 0,
            head: 0,
            tail: 0,
        })
    }

    /// How far an end of frames is from their row.
    fn frame_offset(&mut self, program: u32, is_range: bool, word: &str) -> Result<Constant> {
        if program == 0 {
            return Ok(Constant::Null);
        }
        let scratch = self.memory.scratch.len();
        let value = self.value(program)?;
        let offset = Constant::of(self.memory.datum(value));
        self.memory.scratch.truncate(scratch);
        match offset {
            Constant::Null => {
                Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, format!("frame {word} offset must not be null")))
            }
            Constant::Int(offset) if offset < 0 && !is_range => Err(Error::statement(
                sqlstate::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
                format!("frame {word} offset must not be negative"),
            )),
            offset => Ok(offset),
        }
    }

    // ---- partitions

    /// Reads the rows of the next partition; false if there is none.
    fn read_partition(&mut self, state: &mut WindowState) -> Result<bool> {
        let buffer = state.record.buffer;
        let old = std::mem::take(&mut self.memory.buffers[buffer as usize]);
        state.rows.values.clear();
        (state.rows.count, state.at, state.group, state.head, state.tail) = (0, 0, 0, 0, 0);
        state.groups.clear();
        for function in &mut state.functions {
            (function.start, function.end, function.result, function.buckets) = (0, 0, None, None);
            function.accumulator = Accumulator::new();
        }
        match state.pending.take() {
            Some(row) => {
                for value in row {
                    let value = match value {
                        Value::Span(span) => self.memory.move_span(span, &old, buffer)?,
                        value => value,
                    };
                    state.rows.values.push(value);
                }
            }
            None if state.begun => return Ok(false),
            None => {
                state.begun = true;
                if !self.next(At(state.record.child))? {
                    return Ok(false);
                }
                self.keep_row(state)?;
            }
        }
        state.rows.count = 1;
        state.groups.push(0);
        while self.next(At(state.record.child))? {
            self.breath()?;
            self.keep_row(state)?;
            let rows = &state.rows;
            let (first, before, new) = (rows.row(0), rows.row(rows.count - 1), rows.row(rows.count));
            if order(&self.memory, &state.partition, first, new).is_ne() {
                state.pending = Some(new.to_vec());
                let length = rows.count * rows.width;
                state.rows.values.truncate(length);
                return Ok(true);
            }
            if order(&self.memory, &state.order, before, new).is_ne() {
                state.groups.push(rows.count as u32);
            }
            state.rows.count += 1;
        }
        Ok(true)
    }

    /// Puts what is needed of the current row behind the rows: registers, keys, arguments.
    fn keep_row(&mut self, state: &mut WindowState) -> Result<()> {
        let (bytes, buffer, width) = (self.plan.bytes, state.record.buffer, state.rows.width);
        let values = &mut state.rows.values;
        values.try_reserve(width).map_err(|_| super::store::refused(width * size_of::<Value>()))?;
        let partition = bytes.list(At(state.record.partition)).groups::<2>().map(|[register, _]| register);
        let order = bytes.list(At(state.record.order)).groups::<3>().map(|[register, ..]| register);
        for register in bytes.list(At(state.record.saved)).iter().chain(partition).chain(order) {
            values.push(self.memory.keep(self.registers[register as usize], buffer)?);
        }
        for function in &state.functions {
            let counts = self.holds(function.record.filter)?;
            values.push(Value::Bool(counts));
            let count = function.record.count as usize;
            if !counts {
                values.extend(std::iter::repeat_n(Value::Null, count));
                continue;
            }
            let start = self.stack.len();
            let scratch = self.push(function.record.arguments)?;
            for at in start..start + count {
                let value = self.stack.get(at).copied().unwrap_or_default();
                values.push(self.memory.keep(value, buffer)?);
            }
            self.stack.truncate(start);
            self.memory.scratch.truncate(scratch);
        }
        Ok(())
    }

    // ---- frames

    /// The first row of a row's frame, and the one behind its last.
    fn frame_of(&mut self, state: &mut WindowState, row: usize) -> Result<(usize, usize)> {
        let count = state.rows.count;
        let frame = &state.frame;
        let (mode, start, end) = (frame.mode, frame.start, frame.end);
        let far = |offset: &Constant| match offset {
            Constant::Int(offset) => usize::try_from(*offset).unwrap_or(usize::MAX),
            _ => 0,
        };
        let (before, behind) = (far(&frame.start_offset), far(&frame.end_offset));
        let group_start = |group: usize| state.groups.get(group).map_or(count, |start| *start as usize);
        let group = state.group;
        let by_value = mode == FrameMode::Range as u32;
        let by_row = mode == FrameMode::Rows as u32;
        let first = match start {
            FRAME_FIRST => 0,
            FRAME_CURRENT if by_row => row,
            FRAME_CURRENT => group_start(group),
            FRAME_PRECEDING | FRAME_FOLLOWING if by_value => self.range_end(state, row, true)?,
            FRAME_PRECEDING if by_row => row.saturating_sub(before),
            FRAME_PRECEDING => group_start(group.saturating_sub(before)),
            FRAME_FOLLOWING if by_row => row.saturating_add(before).min(count),
            FRAME_FOLLOWING => group_start(group.saturating_add(before)),
            _ => count,
        };
        let group_start = |group: usize| state.groups.get(group).map_or(count, |start| *start as usize);
        let last = match end {
            FRAME_FIRST => 0,
            FRAME_CURRENT if by_row => row + 1,
            FRAME_CURRENT => group_start(group + 1),
            FRAME_PRECEDING | FRAME_FOLLOWING if by_value => self.range_end(state, row, false)?,
            FRAME_PRECEDING if by_row => (row + 1).saturating_sub(behind),
            FRAME_PRECEDING => match group.checked_sub(behind) {
                Some(group) => group_start(group + 1),
                None => 0,
            },
            FRAME_FOLLOWING if by_row => row.saturating_add(behind).saturating_add(1).min(count),
            FRAME_FOLLOWING => group_start(group.saturating_add(behind).saturating_add(1)),
            _ => count,
        };
        Ok((first, last.max(first)))
    }

    /// The end of a frame whose distance is one of values.
    fn range_end(&mut self, state: &mut WindowState, row: usize, head: bool) -> Result<usize> {
        let Some(key) = state.order.first().copied() else { return Ok(row) };
        let (kind, offset) = match head {
            true => (state.frame.start, &state.frame.start_offset),
            false => (state.frame.end, &state.frame.end_offset),
        };
        let range = Range {
            kind: key.kind,
            subtract: (kind == FRAME_PRECEDING) != key.descending,
            less: head == key.descending,
        };
        let mut at = if head { state.head } else { state.tail };
        let base = state.rows.row(row)[key.place];
        while at < state.rows.count {
            self.breath()?;
            let value = state.rows.row(at)[key.place];
            // Of nulls and values it is known which come first.
            let reached = match (value.is_null(), base.is_null()) {
                (false, false) => {
                    let mut context = self.around.context(&self.arena);
                    let (value, base) = (self.memory.datum(value), self.memory.datum(base));
                    let within = in_range(range, value, base, offset.datum(), &mut context)?;
                    if head { within } else { !within }
                }
                (value, base) => match (head, key.nulls_first) {
                    (true, true) => !value || base,
                    (true, false) => value || !base,
                    (false, true) => !value && base,
                    (false, false) => value && !base,
                },
            };
            if reached {
                break;
            }
            at += 1;
        }
        self.arena.reset();
        if head {
            state.head = at;
        } else {
            state.tail = at;
        }
        Ok(at)
    }

    // ---- values

    /// The value of a window function.
    fn window_value(
        &mut self,
        op: WindowOp,
        function: &mut Function,
        state: &WindowState,
        row: usize,
        frame: (usize, usize),
    ) -> Result<Value> {
        let count = state.rows.count;
        let (group, peers) = (state.group, peers(state));
        let argument = |row: usize, index: usize| state.rows.row(row)[function.place + index];
        let number = |value: usize| Ok(Value::Int(value as i64));
        match op {
            WindowOp::RowNumber => number(row + 1),
            WindowOp::Rank => number(peers.0 + 1),
            WindowOp::DenseRank => number(group + 1),
            WindowOp::PercentRank if count <= 1 => Ok(Value::Float(0.0)),
            WindowOp::PercentRank => Ok(Value::Float(peers.0 as f64 / (count - 1) as f64)),
            WindowOp::CumeDist => Ok(Value::Float(peers.1 as f64 / count as f64)),
            WindowOp::Ntile => {
                let buckets = match (function.buckets, argument(row, 0)) {
                    (Some(known), _) => known,
                    (None, Value::Int(buckets)) if buckets <= 0 => {
                        return Err(Error::statement(
                            sqlstate::INVALID_ARGUMENT_FOR_NTILE,
                            "argument of ntile must be greater than zero",
                        ));
                    }
                    (None, Value::Int(buckets)) => (buckets as usize, row),
                    _ => return Ok(Value::Null),
                };
                function.buckets = Some(buckets);
                let (buckets, first) = buckets;
                let (size, larger, row) = (count / buckets, count % buckets, row - first);
                match row / (size + 1) < larger {
                    true => number(row / (size + 1) + 1),
                    false => number(larger + (row - larger * (size + 1)) / size.max(1) + 1),
                }
            }
            WindowOp::Lag | WindowOp::Lead => {
                let offset = match function.record.count {
                    0 | 1 => 1,
                    _ => match argument(row, 1) {
                        Value::Int(offset) => offset,
                        _ => return Ok(Value::Null),
                    },
                };
                let offset = if op == WindowOp::Lag { -offset } else { offset };
                let target = usize::try_from(row as i64 + offset).ok().filter(|target| *target < count);
                Ok(match target {
                    Some(target) => argument(target, 0),
                    None if function.record.count > 2 => argument(row, 2),
                    None => Value::Null,
                })
            }
            WindowOp::FirstValue | WindowOp::LastValue => {
                let parts = parts(state, row, frame);
                let found = match op {
                    WindowOp::FirstValue => parts.first().map(|part| part.0),
                    _ => parts.last().map(|part| part.1 - 1),
                };
                Ok(found.map_or(Value::Null, |row| argument(row, 0)))
            }
            WindowOp::NthValue => {
                let mut left = match argument(row, 1) {
                    Value::Int(place) if place <= 0 => {
                        return Err(Error::statement(
                            sqlstate::INVALID_ARGUMENT_FOR_NTH_VALUE,
                            "argument of nth_value must be greater than zero",
                        ));
                    }
                    Value::Int(place) => place as usize - 1,
                    _ => return Ok(Value::Null),
                };
                for (start, end) in parts(state, row, frame) {
                    if left < end - start {
                        return Ok(argument(start + left, 0));
                    }
                    left -= end - start;
                }
                Ok(Value::Null)
            }
        }
    }

    /// The value of an aggregate of the rows of a frame.
    fn aggregate_value(
        &mut self,
        function: &mut Function,
        state: &WindowState,
        row: usize,
        (start, end): (usize, usize),
    ) -> Result<Value> {
        if state.frame.exclude != Exclude::NoOthers as u32 {
            function.accumulator = Accumulator::new();
            function.result = None;
            for (start, end) in parts(state, row, (start, end)) {
                self.add_rows(function, state, start, end, true)?;
            }
        } else {
            let forgets = Accumulator::can_remove(function.call.op);
            let goes_on = end >= function.end && start >= function.start && start <= function.end;
            if !goes_on || (start != function.start && !forgets) {
                function.accumulator = Accumulator::new();
                (function.start, function.end, function.result) = (start, start, None);
            }
            if start > function.start {
                let leaving = function.start;
                self.add_rows(function, state, leaving, start, false)?;
            }
            let known = function.end;
            self.add_rows(function, state, known, end, true)?;
            (function.start, function.end) = (start, end);
        }
        if function.result.is_none() {
            let context = self.around.context(&self.arena);
            function.result = Some(Constant::of(function.accumulator.finish(function.call, &context)?));
            self.arena.reset();
        }
        let result = function.result.as_ref().map_or(Datum::Null, Constant::datum);
        self.memory.to_buffer(state.record.results, result)
    }

    /// Adds rows to an aggregate, or takes them out again.
    fn add_rows(
        &mut self,
        function: &mut Function,
        state: &WindowState,
        start: usize,
        end: usize,
        add: bool,
    ) -> Result<()> {
        let count = function.record.count as usize;
        let mut arguments: SmallVec<[Datum<'_>; 4]> = SmallVec::new();
        for row in start..end {
            const ROWS_BETWEEN: usize = 256;
            if row % ROWS_BETWEEN == 0 {
                super::breathe()?;
            }
            let values = &state.rows.row(row)[function.place - 1..function.place + count];
            if !values[0].is_true() {
                continue;
            }
            arguments.clear();
            arguments.extend(values[1..].iter().map(|value| self.memory.datum(*value)));
            match add {
                true => function.accumulator.add(function.call, &arguments)?,
                false => function.accumulator.remove(function.call, &arguments),
            }
            function.result = None;
        }
        Ok(())
    }
}

/// The rows that are equal to the current one in order.
fn peers(state: &WindowState) -> (usize, usize) {
    let start = |group: usize| state.groups.get(group).map_or(state.rows.count, |start| *start as usize);
    (start(state.group), start(state.group + 1))
}

/// A row's frame without what is excluded.
fn parts(state: &WindowState, row: usize, frame: (usize, usize)) -> Parts {
    without(frame, state.frame.exclude, row, peers(state))
}

fn without(frame: (usize, usize), exclude: u32, row: usize, peers: (usize, usize)) -> Parts {
    let cuts: [(usize, usize); 2] = match exclude {
        excluded if excluded == Exclude::CurrentRow as u32 => [(row, row + 1), (row, row)],
        excluded if excluded == Exclude::Group as u32 => [peers, (row, row)],
        excluded if excluded == Exclude::Ties as u32 => [(peers.0, row), (row + 1, peers.1)],
        _ => [(0, 0), (0, 0)],
    };
    let mut parts: Parts = SmallVec::new();
    parts.push(frame);
    for (from, to) in cuts.into_iter().filter(|(from, to)| from < to) {
        let mut left: Parts = SmallVec::new();
        for (start, end) in parts {
            left.push((start, end.min(from)));
            left.push((start.max(to), end));
        }
        parts = left;
    }
    parts.retain(|(start, end)| *start < *end);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_excluded_is_cut_out_of_frames() {
        let cut = |exclude: Exclude| without((2, 8), exclude as u32, 4, (3, 6)).to_vec();
        assert_eq!(cut(Exclude::NoOthers), [(2, 8)]);
        assert_eq!(cut(Exclude::CurrentRow), [(2, 4), (5, 8)]);
        assert_eq!(cut(Exclude::Group), [(2, 3), (6, 8)]);
        assert_eq!(cut(Exclude::Ties), [(2, 3), (4, 5), (6, 8)]);
        assert_eq!(without((4, 5), Exclude::CurrentRow as u32, 4, (3, 6)).to_vec(), []);
        assert_eq!(without((5, 5), Exclude::NoOthers as u32, 4, (3, 6)).to_vec(), []);
    }
}
