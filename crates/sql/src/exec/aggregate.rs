//! Grouping: a hash table of keys, and for each group the state of every aggregate.
//!
//! With grouping sets a row is added once for each set: the keys that are not in the set are null then, and the set's number is one more
//! key.
//!
//! Groups are given in the order in which their first rows came, so that grouping rows that are in order keeps it.

use super::sort::{SortKey, sort_rows};
use super::store::{KeySet, Rows, key_pairs, kinds};
use super::value::{Memory, Value};
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::number;
use crate::plan::record::{Aggregate, AggregateRecord};
use crate::types::aggregate::{Accumulator, AggCall};
use crate::types::{Datum, Kind, Oid};
use base::{Error, Result, sqlstate};
use std::rc::Rc;

/// All groups, and the one that is given next.
pub(super) struct Groups {
    keys: KeySet,
    count: usize,
    /// For each group the states of its aggregates.
    states: Vec<AggregateState>,
    at: usize,
    /// The aggregates.
    plans: Rc<[Plan]>,
    /// The registers of the keys.
    registers: Vec<u32>,
    sets: Vec<Vec<u32>>,
}

/// The state of one aggregate over one group.
struct AggregateState {
    accumulator: Accumulator,
    /// Arguments that were seen, for `DISTINCT`.
    seen: Option<Box<KeySet>>,
    /// Rows that are to be added in order, for `ORDER BY`: arguments, then keys.
    rows: Option<Box<Rows>>,
}

/// An aggregate as the loop over rows needs it.
struct Plan {
    record: AggregateRecord,
    call: AggCall,
    kinds: Vec<Kind>,
    order: Vec<SortKey>,
}

impl Exec<'_> {
    pub(super) fn aggregate(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = Aggregate::read(bytes, node);
        let mut groups = match self.take(node) {
            State::Groups(groups) => groups,
            _ => {
                let sets = self.grouping_sets(&record);
                Box::new(self.groups(&record, sets)?)
            }
        };
        let found = groups.at < groups.count;
        if found {
            let group = groups.at;
            groups.at += 1;
            if !groups.registers.is_empty() || !groups.sets.is_empty() {
                for (value, register) in groups.keys.keys.row(group).iter().zip(&groups.registers) {
                    self.registers[*register as usize] = *value;
                }
            }
            if !groups.sets.is_empty() {
                let number = groups.keys.keys.row(group).last().copied().unwrap_or_default();
                let set = match number {
                    Value::Int(number) => groups.sets.get(number as usize),
                    _ => None,
                };
                self.answer_tests(&record, set.map_or(&[], Vec::as_slice));
            } else {
                self.answer_all_tests(&record);
            }
            self.finish_group(&record, &mut groups, group)?;
        }
        self.put(node, State::Groups(groups));
        Ok(found)
    }

    fn aggregate_plans(&self, record: &Aggregate) -> Result<Rc<[Plan]>> {
        let bytes = self.plan.bytes;
        let mut plans = Vec::new();
        for at in bytes.list(At(record.aggregates)).iter() {
            let record = AggregateRecord::read(bytes, At(at));
            let Some(op) = number::aggregate(record.op) else {
                return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a plan is broken: an unknown aggregate"));
            };
            let kinds = kinds(bytes.list(At(record.kinds)));
            let order = bytes
                .list(At(record.order_keys))
                .groups::<2>()
                .enumerate()
                .map(|(index, [kind, direction])| SortKey::new(kinds.len() + index, kind, direction))
                .collect();
            plans.push(Plan { record, call: AggCall::new(op, Oid(record.argument)), kinds, order });
        }
        Ok(plans.into())
    }

    /// For each grouping set which keys are in it.
    fn grouping_sets(&self, record: &Aggregate) -> Vec<Vec<u32>> {
        let bytes = self.plan.bytes;
        bytes.list(At(record.sets)).iter().map(|set| bytes.list(At(set)).iter().skip(1).collect()).collect()
    }

    /// Sets the registers of `GROUPING (…)`: a bit for each key, the first one highest, that is not in the row's set.
    fn answer_tests(&mut self, record: &Aggregate, set: &[u32]) {
        let bytes = self.plan.bytes;
        for [register, keys] in bytes.list(At(record.tests)).groups::<2>() {
            let bits = bytes.list(At(keys)).iter().fold(0, |bits, key| bits << 1 | i64::from(!set.contains(&key)));
            self.registers[register as usize] = Value::Int(bits);
        }
    }

    /// The same where all keys are in the one set.
    fn answer_all_tests(&mut self, record: &Aggregate) {
        for [register, _] in self.plan.bytes.list(At(record.tests)).groups::<2>() {
            self.registers[register as usize] = Value::Int(0);
        }
    }

    /// Adds the current row to its group of each set.
    fn add_to_sets(
        &mut self,
        groups: &mut Groups,
        sets: &[Vec<u32>],
        plans: &[Plan],
        (registers, kinds): (&[u32], &[Kind]),
        buffer: u32,
    ) -> Result<()> {
        let row = self.read_registers(registers);
        for number in 0..sets.len() {
            let group = self.group_of_set(groups, sets, number, plans, &row, kinds, buffer)?;
            for (index, plan) in plans.iter().enumerate() {
                if self.holds(plan.record.filter)? {
                    self.add_row(plan, &mut groups.states[group * plans.len() + index], buffer)?;
                }
            }
        }
        Ok(())
    }

    /// The group of a row in a set; made if it is new.
    #[allow(clippy::too_many_arguments)]
    fn group_of_set(
        &mut self,
        groups: &mut Groups,
        sets: &[Vec<u32>],
        number: usize,
        plans: &[Plan],
        row: &[Value],
        kinds: &[Kind],
        buffer: u32,
    ) -> Result<usize> {
        let is_in = |key: usize| sets.get(number).is_some_and(|set| set.contains(&(key as u32)));
        let keys = row.iter().enumerate().map(|(key, value)| if is_in(key) { *value } else { Value::Null });
        let key: Vec<Value> = keys.chain([Value::Int(number as i64)]).collect();
        let (group, new) = self.find_or_add(&mut groups.keys, &key, kinds, buffer)?;
        if new {
            groups.count += 1;
            let bytes = plans.len() * size_of::<AggregateState>();
            groups.states.try_reserve(plans.len()).map_err(|_| super::store::refused(bytes))?;
            groups.states.extend(plans.iter().map(new_state));
        }
        Ok(group)
    }

    /// Groups rows in several ways at once. A set without keys has a group even without rows.
    fn groups_of_sets(&mut self, record: &Aggregate, sets: Vec<Vec<u32>>) -> Result<Groups> {
        let bytes = self.plan.bytes;
        let (registers, mut kinds) = key_pairs(bytes.list(At(record.keys)));
        kinds.push(Kind::Int8);
        let plans = self.aggregate_plans(record)?;
        let mut groups = Groups::new(plans.clone(), registers.clone());
        self.memory.buffers[record.buffer as usize].clear();
        while self.next(At(record.child))? {
            self.breath()?;
            self.add_to_sets(&mut groups, &sets, &plans, (&registers, &kinds), record.buffer)?;
        }
        let nulls = vec![Value::Null; registers.len()];
        for (number, _) in sets.iter().enumerate().filter(|(_, set)| set.is_empty()) {
            self.group_of_set(&mut groups, &sets, number, &plans, &nulls, &kinds, record.buffer)?;
        }
        groups.sets = sets;
        Ok(groups)
    }

    fn groups(&mut self, record: &Aggregate, sets: Vec<Vec<u32>>) -> Result<Groups> {
        if !sets.is_empty() {
            return self.groups_of_sets(record, sets);
        }
        let bytes = self.plan.bytes;
        let (registers, kinds) = key_pairs(bytes.list(At(record.keys)));
        let plans = self.aggregate_plans(record)?;
        let mut groups = Groups::new(plans.clone(), registers.clone());
        let mut key = Vec::with_capacity(registers.len());
        self.memory.buffers[record.buffer as usize].clear();
        let single = registers.is_empty();
        if single && record.grouped == 0 {
            groups.count = 1;
            groups.states.extend(plans.iter().map(new_state));
        }
        while self.next(At(record.child))? {
            self.breath()?;
            let group = match single {
                true => {
                    if groups.count == 0 {
                        groups.count = 1;
                        groups.states.extend(plans.iter().map(new_state));
                    }
                    0
                }
                false => {
                    key.clear();
                    key.extend(registers.iter().map(|register| self.registers[*register as usize]));
                    let (group, new) = self.find_or_add(&mut groups.keys, &key, &kinds, record.buffer)?;
                    if new {
                        groups.count += 1;
                        groups
                            .states
                            .try_reserve(plans.len())
                            .map_err(|_| super::store::refused(plans.len() * size_of::<AggregateState>()))?;
                        groups.states.extend(plans.iter().map(new_state));
                    }
                    group
                }
            };
            for (index, plan) in plans.iter().enumerate() {
                if self.holds(plan.record.filter)? {
                    let state = &mut groups.states[group * plans.len() + index];
                    self.add_row(plan, state, record.buffer)?;
                }
            }
        }
        Ok(groups)
    }

    /// Adds the current row to an aggregate.
    fn add_row(&mut self, plan: &Plan, state: &mut AggregateState, buffer: u32) -> Result<()> {
        let start = self.stack.len();
        let scratch = self.push(plan.record.arguments)?;
        let count = plan.record.count as usize;
        if let Some(seen) = &mut state.seen {
            let key = self.stack[start..].to_vec();
            let is_null = key.first().is_some_and(|value| value.is_null());
            if is_null || !self.find_or_add(seen, &key, &plan.kinds, buffer)?.1 {
                self.stack.truncate(start);
                self.memory.scratch.truncate(scratch);
                return Ok(());
            }
        }
        if let Some(rows) = &mut state.rows {
            self.push(plan.record.order)?;
            let mut row = self.stack.drain(start..).collect::<Vec<_>>();
            for value in &mut row {
                *value = self.memory.keep(*value, buffer)?;
            }
            rows.push(row.into_iter())?;
        } else {
            let mut short = [Datum::Null; 4];
            let long: Vec<Datum<'_>>;
            let arguments = if count <= short.len() {
                for (argument, value) in short.iter_mut().zip(&self.stack[start..]) {
                    *argument = self.memory.datum(*value);
                }
                &short[..count]
            } else {
                long = self.stack[start..].iter().map(|value| self.memory.datum(*value)).collect();
                &long
            };
            state.accumulator.add(plan.call, arguments)?;
            self.stack.truncate(start);
        }
        self.memory.scratch.truncate(scratch);
        Ok(())
    }

    /// Sets the registers of a group's results.
    fn finish_group(&mut self, record: &Aggregate, groups: &mut Groups, group: usize) -> Result<()> {
        let plans = groups.plans.clone();
        for (index, plan) in plans.iter().enumerate() {
            let state = &mut groups.states[group * plans.len() + index];
            if let Some(rows) = state.rows.take() {
                let mut numbers: Vec<u32> = (0..rows.count as u32).collect();
                sort_rows(&self.memory, &plan.order, &rows, &mut numbers)?;
                for number in numbers {
                    let row = &rows.row(number as usize)[..plan.kinds.len()];
                    let arguments: Vec<Datum<'_>> = row.iter().map(|value| self.memory.datum(*value)).collect();
                    state.accumulator.add(plan.call, &arguments)?;
                }
            }
            let value = {
                let context = self.around.context(&self.arena);
                match state.accumulator.finish(plan.call, &context)? {
                    Datum::Bytes(bytes) => {
                        self.spare.clear();
                        self.spare.extend_from_slice(bytes);
                        None
                    }
                    datum => super::scan::plain(datum),
                }
            };
            let value = match value {
                Some(value) => value,
                None => {
                    let spare = std::mem::take(&mut self.spare);
                    let value = self.memory.to_buffer(record.buffer, Datum::Bytes(&spare))?;
                    self.spare = spare;
                    value
                }
            };
            self.registers[plan.record.register as usize] = value;
            // The group is given once; its state is not needed any more.
            state.accumulator = Accumulator::new();
        }
        Ok(())
    }
}

impl Groups {
    fn new(plans: Rc<[Plan]>, registers: Vec<u32>) -> Groups {
        let (keys, states, sets) = (KeySet::default(), Vec::new(), Vec::new());
        Groups { keys, count: 0, states, at: 0, plans, registers, sets }
    }
}

fn new_state(plan: &Plan) -> AggregateState {
    let ordered = !plan.order.is_empty();
    AggregateState {
        accumulator: Accumulator::new(),
        seen: (plan.record.distinct != 0).then(Box::default),
        rows: ordered.then(|| Box::new(Rows::new(plan.kinds.len() + plan.order.len()))),
    }
}

const _: () = assert!(size_of::<Value>() == 16 && size_of::<Memory<'_>>() > 0);
