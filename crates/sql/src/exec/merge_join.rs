//! Joins by merging two sides that come in the order of the keys.
//!
//! ```text
//!   outer   1 1 2 4 4 5        the row at hand is compared with the inner one at hand; the lesser one has no partner, and goes
//!   inner   1 2 2 3 4 4 4      where both are equal all inner rows with that key are kept: the group
//!               ^ group        each outer row with its key meets all rows of the group, which are read from its beginning again
//! ```
//!
//! A group is kept as other rows are ([`kept`](super::kept)): in memory as far as it fits, in a file beyond.
//!
//! Rules
//! 1. Keys are in ascending order. Null keys match nothing wherever they stand; a row with one is kept only where the join keeps rows
//!    without a partner.
//! 2. A row without a partner is given once: an outer row when the group it met has been read, an inner row when it is passed over, or,
//!    if it was in a group, when the last outer row of the group is done.
//! 3. Below are nodes that count on their registers: what was loaded into them, or set to null, is set back to what the node gave before
//!    it is asked for its next row. The values are those that the node gave, not copies, and stand until then.

use super::join::{ANTI, FULL, LEFT, RIGHT, SEMI};
use super::kept::{Kept, Place};
use super::store::kinds;
use super::value::{Memory, Value};
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::record::HashJoin as Equijoin;
use crate::types::{Kind, compare};
use base::Result;
use std::cmp::Ordering;

/// Numbers of the extra buffers, beside those of the group ([`kept`](super::kept)).
const OUTER_KEY: u32 = 2;
const INNER_KEY: u32 = 3;
const GROUP_KEY: u32 = 4;

/// One of both sides, at its next row.
#[derive(Default)]
struct Side {
    /// There is a row.
    there: bool,
    /// Its registers, as the node gave them.
    row: Vec<Value>,
    key: Vec<Value>,
    /// A part of its key is null.
    null: bool,
    /// The registers hold something else now.
    hidden: bool,
}

/// What is to be done next.
#[derive(Clone, Copy)]
enum Step {
    Begin,
    /// The rows at hand are compared.
    Compare,
    /// The outer row at hand meets the group.
    Meet,
    /// The outer row is done.
    NextOuter,
    /// The inner row is done.
    NextInner,
    /// No more outer rows meet the group; its rows without a partner are given.
    Rest,
    Done,
}

/// Where the join stands.
pub(super) struct MergeState {
    node: At,
    step: Step,
    kinds: Vec<Kind>,
    outer: Side,
    inner: Side,
    group: Kept,
    /// The key of the group's rows, if there is one.
    group_key: Vec<Value>,
    in_group: bool,
    place: Place,
    /// The outer row has found a partner.
    met: bool,
    /// For each row of the group whether it has, where that matters.
    matched: Vec<bool>,
}

impl MergeState {
    /// The outer row at hand is to meet the group, from its beginning.
    fn meet(&mut self) {
        self.place.restart();
        self.met = false;
        self.step = Step::Meet;
    }
}

fn keeps_outer(join: u32) -> bool {
    matches!(join, LEFT | ANTI | FULL)
}

fn keeps_inner(join: u32) -> bool {
    matches!(join, RIGHT | FULL)
}

impl Exec<'_> {
    pub(super) fn merge_join(&mut self, node: At) -> Result<bool> {
        let record = Equijoin::read(self.plan.bytes, node);
        let mut state = match self.take(node) {
            State::Merge(state) => state,
            _ => Box::new(MergeState {
                node,
                step: Step::Begin,
                kinds: kinds(self.plan.bytes.list(At(record.kinds))),
                outer: Side::default(),
                inner: Side::default(),
                group: Kept::default(),
                group_key: Vec::new(),
                in_group: false,
                place: Place::default(),
                met: false,
                matched: Vec::new(),
            }),
        };
        let found = self.next_merged(&record, &mut state);
        self.put(node, State::Merge(state));
        found
    }

    fn next_merged(&mut self, record: &Equijoin, state: &mut MergeState) -> Result<bool> {
        let join = record.join;
        loop {
            match state.step {
                Step::Begin => {
                    self.next_of_outer(record, state)?;
                    // Without outer rows the inner ones need not be looked at, unless they are kept.
                    if state.outer.there || keeps_inner(join) {
                        self.next_of_inner(record, state)?;
                    }
                    state.step = Step::Compare;
                }
                Step::Compare => {
                    if self.merge_rows(record, state)? {
                        return Ok(true);
                    }
                }
                Step::Meet => {
                    if self.meets(record, state)? {
                        return Ok(true);
                    }
                }
                Step::NextOuter => {
                    self.next_of_outer(record, state)?;
                    let again = state.outer.there && !state.outer.null && state.in_group && {
                        self.order_of_keys(state, &state.outer.key, &state.group_key).is_eq()
                    };
                    if again {
                        state.meet();
                    } else if std::mem::take(&mut state.in_group) && keeps_inner(join) {
                        state.place.restart();
                        state.step = Step::Rest;
                    } else {
                        state.step = Step::Compare;
                    }
                }
                Step::NextInner => {
                    self.next_of_inner(record, state)?;
                    state.step = Step::Compare;
                }
                Step::Rest => {
                    if self.rest_of_group(record, state)? {
                        return Ok(true);
                    }
                    state.step = Step::Compare;
                }
                Step::Done => return Ok(false),
            }
        }
    }

    /// Compares the rows at hand, of which there may be none; true if one of them is given without a partner.
    fn merge_rows(&mut self, record: &Equijoin, state: &mut MergeState) -> Result<bool> {
        let join = record.join;
        let order = match (state.outer.there, state.inner.there) {
            (false, false) => None,
            (true, false) if keeps_outer(join) => Some(Ordering::Less),
            (false, true) if keeps_inner(join) => Some(Ordering::Greater),
            (true, false) | (false, true) => None,
            (true, true) if state.outer.null => Some(Ordering::Less),
            (true, true) if state.inner.null => Some(Ordering::Greater),
            (true, true) => Some(self.order_of_keys(state, &state.outer.key, &state.inner.key)),
        };
        match order {
            None => state.step = Step::Done,
            Some(Ordering::Less) => {
                state.step = Step::NextOuter;
                if keeps_outer(join) {
                    self.show_outer(record, state);
                    self.nulls(record.nulls);
                    state.inner.hidden = true;
                    return Ok(true);
                }
            }
            Some(Ordering::Greater) => {
                state.step = Step::NextInner;
                if keeps_inner(join) {
                    self.show_inner(record, state);
                    self.nulls(record.outer_nulls);
                    state.outer.hidden = true;
                    return Ok(true);
                }
            }
            Some(Ordering::Equal) => {
                self.keep_group(record, state)?;
                state.meet();
            }
        }
        Ok(false)
    }

    /// Keeps all inner rows with the key of the one at hand.
    fn keep_group(&mut self, record: &Equijoin, state: &mut MergeState) -> Result<()> {
        let saved = self.plan.bytes.list(At(record.saved));
        // Where one partner is enough, and any will do, the first one is.
        let one = matches!(record.join, SEMI | ANTI) && record.condition == 0;
        let buffer = self.extra_buffer(state.node, GROUP_KEY)?;
        self.memory.buffers[buffer as usize].clear();
        state.group_key.clear();
        for at in 0..state.inner.key.len() {
            let value = self.memory.keep(state.inner.key[at], buffer)?;
            state.group_key.push(value);
        }
        state.group = self.begin_kept(state.node, saved.len(), record.buffer);
        state.place = Place::default();
        state.matched.clear();
        state.in_group = true;
        loop {
            if !one || state.group.count() == 0 {
                self.show_inner(record, state);
                self.keep_registers(&mut state.group, saved)?;
                if keeps_inner(record.join) {
                    state.matched.push(false);
                }
            }
            self.next_of_inner(record, state)?;
            let inner = &state.inner;
            if !inner.there || inner.null || self.order_of_keys(state, &inner.key, &state.group_key).is_ne() {
                return Ok(());
            }
        }
    }

    /// The next pair of the outer row at hand, or the row alone where it has met nobody; false if it is done.
    fn meets(&mut self, record: &Equijoin, state: &mut MergeState) -> Result<bool> {
        let saved = self.plan.bytes.list(At(record.saved));
        let join = record.join;
        self.show_outer(record, state);
        state.inner.hidden = true;
        while self.read_kept(&state.group, &mut state.place, state.node, saved.iter().enumerate())? {
            self.breath()?;
            if !self.holds(record.condition)? {
                continue;
            }
            state.met = true;
            if let Some(matched) = state.matched.get_mut(state.place.at - 1) {
                *matched = true;
            }
            match join {
                SEMI => {
                    state.step = Step::NextOuter;
                    return Ok(true);
                }
                ANTI => break,
                _ => return Ok(true),
            }
        }
        state.step = Step::NextOuter;
        if !state.met && keeps_outer(join) {
            self.nulls(record.nulls);
            return Ok(true);
        }
        Ok(false)
    }

    /// The next row of the group that has found no partner; false if there are no more.
    fn rest_of_group(&mut self, record: &Equijoin, state: &mut MergeState) -> Result<bool> {
        let saved = self.plan.bytes.list(At(record.saved));
        state.inner.hidden = true;
        while self.read_kept(&state.group, &mut state.place, state.node, saved.iter().enumerate())? {
            self.breath()?;
            if state.matched.get(state.place.at - 1) == Some(&false) {
                self.nulls(record.outer_nulls);
                state.outer.hidden = true;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn order_of_keys(&self, state: &MergeState, left: &[Value], right: &[Value]) -> Ordering {
        for ((left, right), kind) in left.iter().zip(right).zip(&state.kinds) {
            let order = match (left, right) {
                (Value::Int(left), Value::Int(right)) => left.cmp(right),
                (left, right) => compare::compare(*kind, self.memory.datum(*left), self.memory.datum(*right)),
            };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    // ---- the sides

    /// The outer row at hand is in its registers.
    fn show_outer(&mut self, record: &Equijoin, state: &mut MergeState) {
        if std::mem::take(&mut state.outer.hidden) {
            let saved = self.plan.bytes.list(At(record.outer_saved));
            saved.iter().zip(&state.outer.row).for_each(|(at, value)| self.registers[at as usize] = *value);
        }
    }

    /// The inner row at hand is in its registers.
    fn show_inner(&mut self, record: &Equijoin, state: &mut MergeState) {
        if std::mem::take(&mut state.inner.hidden) {
            let saved = self.plan.bytes.list(At(record.saved));
            saved.iter().zip(&state.inner.row).for_each(|(at, value)| self.registers[at as usize] = *value);
        }
    }

    fn next_of_outer(&mut self, record: &Equijoin, state: &mut MergeState) -> Result<()> {
        self.show_outer(record, state);
        let from = (record.outer, record.outer_saved, record.outer_keys);
        self.next_of_side(state.node, from, &mut state.outer, OUTER_KEY)
    }

    fn next_of_inner(&mut self, record: &Equijoin, state: &mut MergeState) -> Result<()> {
        self.show_inner(record, state);
        let from = (record.inner, record.saved, record.inner_keys);
        self.next_of_side(state.node, from, &mut state.inner, INNER_KEY)
    }

    fn next_of_side(
        &mut self,
        node: At,
        (from, saved, keys): (u32, u32, u32),
        side: &mut Side,
        number: u32,
    ) -> Result<()> {
        side.there = self.next(At(from))?;
        side.row.clear();
        side.key.clear();
        if !side.there {
            return Ok(());
        }
        self.breath()?;
        let saved = self.plan.bytes.list(At(saved));
        side.row.extend(saved.iter().map(|register| self.registers[register as usize]));
        let start = self.stack.len();
        let scratch = self.push(keys)?;
        side.null = self.stack[start..].iter().any(|value| value.is_null());
        let buffer = self.extra_buffer(node, number)?;
        self.memory.buffers[buffer as usize].clear();
        for at in start..self.stack.len() {
            let value = self.stack[at];
            side.key.push(match Memory::is_scratch(value) {
                true => self.memory.keep(value, buffer)?,
                false => value,
            });
        }
        self.stack.truncate(start);
        self.memory.scratch.truncate(scratch);
        Ok(())
    }
}
