//! Grouping: a hash table of keys, and for each group the state of every aggregate.
//!
//! With grouping sets a row is added once for each set: the keys that are not in the set are null then, and the set's number is one more
//! key.
//!
//! Groups are given in the order in which their first rows came, so that grouping rows that are in order keeps it, as long as all fit in
//! memory. When they do not, rows of groups that are there are added to them as before; all other rows go to files, in parts by their keys'
//! hashes, and each part is grouped when the groups before it have been given.
//!
//! Where rows come in an order in which those of a group follow one another, there is one group at a time, and nothing goes to files but what
//! an aggregate sorts.
//!
//! Rules
//! 1. What an aggregate with `ORDER BY` is to add is sorted for all groups at once, by the group first. It goes to files too.
//! 2. The arguments that an aggregate with `DISTINCT` has seen are kept for each group. When they have no room left, arguments that are not
//!    among them are sorted, and those that are equal are added once.

use super::merge::{Sorted, Sorting};
use super::sort::SortKey;
use super::spill::{DiskRow, Partitions, RowReader, Written, bits, part};
use super::store::{KeySet, key_pairs, kinds};
use super::value::{Memory, Value, plain};
use super::{Exec, State};
use crate::plan::blob::{At, Constant};
use crate::plan::number;
use crate::plan::record::{Aggregate, AggregateRecord};
use crate::types::aggregate::{Accumulator, AggCall};
use crate::types::{Datum, Kind, Oid, compare};
use base::{Error, Result, sqlstate};
use std::rc::Rc;

/// The extra buffers: of rows that were read, and of what each aggregate sorts.
const READ: u32 = 0;
const SORTED: u32 = 1;

/// All groups, and the one that is given next.
pub(super) struct Groups {
    node: At,
    keys: KeySet,
    count: usize,
    /// For each group the states of its aggregates.
    states: Vec<AggregateState>,
    at: usize,
    /// The aggregates.
    plans: Rc<[Plan]>,
    /// The registers of the keys, and their kinds; with grouping sets a kind more, for the set's number.
    registers: Vec<u32>,
    kinds: Rc<[Kind]>,
    sets: Vec<Vec<u32>>,
    /// How much memory there is, how much is taken beside what can be counted, and whether that is all.
    limit: usize,
    taken: usize,
    full: bool,
    level: u32,
    /// Rows that are not in these groups, and those that are still to be grouped.
    parts: Option<Partitions>,
    batches: Vec<(Written, u32)>,
    /// For each aggregate what is to be added in order.
    sorting: Vec<Option<Sorting>>,
    sorted: Vec<Option<Sorted>>,
    /// Of rows in order: the row that the next group begins with, as the node below gave it; and whether there are no more.
    ahead: Option<Vec<Value>>,
    ended: bool,
}

/// The state of one aggregate over one group.
struct AggregateState {
    accumulator: Accumulator,
    /// Arguments that were seen, for `DISTINCT`.
    seen: Option<Box<KeySet>>,
}

/// An aggregate as the loop over rows needs it.
struct Plan {
    record: AggregateRecord,
    call: AggCall,
    kinds: Vec<Kind>,
    order: Vec<SortKey>,
    /// Its state grows with the rows.
    grows: bool,
}

/// Where a group's row is: added to it, or not in memory.
#[derive(Clone, Copy)]
enum Found {
    Group(usize),
    Elsewhere,
}

impl Exec<'_> {
    pub(super) fn aggregate(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = Aggregate::read(bytes, node);
        if record.sorted != 0 {
            return self.aggregate_in_order(node, &record);
        }
        let mut groups = match self.take(node) {
            State::Groups(groups) => groups,
            _ => {
                let sets = self.grouping_sets(&record);
                Box::new(self.groups(node, &record, sets)?)
            }
        };
        while groups.at == groups.count && self.next_part_of_groups(&record, &mut groups)? {}
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
            // A row that is sorted begins with its group.
            let order = bytes
                .list(At(record.order_keys))
                .groups::<2>()
                .enumerate()
                .map(|(index, [kind, direction])| SortKey::new(1 + kinds.len() + index, kind, direction))
                .collect();
            plans.push(Plan {
                record,
                call: AggCall::new(op, Oid(record.argument)),
                kinds,
                order,
                grows: op.keeps_values(),
            });
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

    // ---- rows

    /// The next group of rows in order.
    fn aggregate_in_order(&mut self, node: At, record: &Aggregate) -> Result<bool> {
        let mut groups = match self.take(node) {
            State::Groups(groups) => groups,
            _ => Box::new(self.no_groups(node, record, Vec::new())?),
        };
        let found = self.next_group_in_order(record, &mut groups);
        self.put(node, State::Groups(groups));
        found
    }

    fn next_group_in_order(&mut self, record: &Aggregate, groups: &mut Groups) -> Result<bool> {
        let saved = self.plan.bytes.list(At(record.saved));
        match groups.ahead.take() {
            // The node below counts on its registers, which the last group was given in.
            Some(row) => saved.iter().zip(row).for_each(|(register, value)| self.registers[register as usize] = value),
            None if groups.ended || !self.next(At(record.child))? => {
                groups.ended = true;
                return Ok(false);
            }
            None => {}
        }
        (groups.keys, groups.count, groups.taken, groups.full) = (KeySet::default(), 0, 0, false);
        groups.states.clear();
        groups.sorting.iter_mut().for_each(|sorting| *sorting = None);
        self.memory.buffers[record.buffer as usize].clear();
        let kinds = groups.kinds.clone();
        let mut key: Vec<Value> = Vec::with_capacity(kinds.len());
        loop {
            self.breath()?;
            key.clear();
            key.extend(groups.registers.iter().map(|register| self.registers[*register as usize]));
            if groups.count == 0 {
                self.find_or_add(&mut groups.keys, &key, &kinds, record.buffer)?;
                groups.add_group()?;
            } else if !self.all_same(groups.keys.keys.row(0), &key, kinds.iter().copied()) {
                groups.ahead = Some(saved.iter().map(|register| self.registers[register as usize]).collect());
                break;
            }
            self.add_to_group(record, groups, 0)?;
            if !self.next(At(record.child))? {
                groups.ended = true;
                break;
            }
        }
        self.finish_arguments(groups)?;
        for (value, register) in groups.keys.keys.row(0).iter().zip(&groups.registers) {
            self.registers[*register as usize] = *value;
        }
        self.answer_all_tests(record);
        self.finish_group(record, groups, 0)?;
        Ok(true)
    }

    /// No groups yet.
    fn no_groups(&mut self, node: At, record: &Aggregate, sets: Vec<Vec<u32>>) -> Result<Groups> {
        let (registers, mut kinds) = key_pairs(self.plan.bytes.list(At(record.keys)));
        if !sets.is_empty() {
            kinds.push(Kind::Int8);
        }
        let plans = self.aggregate_plans(record)?;
        let groups = Groups {
            node,
            keys: KeySet::default(),
            count: 0,
            states: Vec::new(),
            at: 0,
            registers,
            kinds: kinds.into(),
            sets,
            limit: self.hash_memory(),
            taken: 0,
            full: false,
            level: 0,
            parts: None,
            batches: Vec::new(),
            sorting: plans.iter().map(|_| None).collect(),
            sorted: Vec::new(),
            ahead: None,
            ended: false,
            plans,
        };
        self.memory.buffers[record.buffer as usize].clear();
        Ok(groups)
    }

    /// Groups the rows of the node below.
    fn groups(&mut self, node: At, record: &Aggregate, sets: Vec<Vec<u32>>) -> Result<Groups> {
        let mut groups = self.no_groups(node, record, sets)?;
        if groups.registers.is_empty() && groups.sets.is_empty() {
            if record.grouped == 0 {
                groups.add_group()?;
            }
            while self.next(At(record.child))? {
                self.breath()?;
                if groups.count == 0 {
                    groups.add_group()?;
                }
                self.add_to_group(record, &mut groups, 0)?;
            }
            return self.sort_arguments(groups);
        }
        let mut any = false;
        let mut key = Vec::with_capacity(groups.kinds.len());
        while self.next(At(record.child))? {
            self.breath()?;
            any = true;
            for set in 0..groups.sets.len().max(1) {
                self.add_row_to_set(record, &mut groups, set, &mut key)?;
            }
        }
        // A set without keys has a group even without rows.
        if !any {
            for set in (0..groups.sets.len()).filter(|set| groups.sets[*set].is_empty()).collect::<Vec<_>>() {
                key.clear();
                key.extend(groups.registers.iter().map(|_| Value::Null).chain([Value::Int(set as i64)]));
                let kinds = groups.kinds.clone();
                self.find_or_add(&mut groups.keys, &key, &kinds, record.buffer)?;
                groups.add_group()?;
            }
        }
        self.sort_arguments(groups)
    }

    /// Adds the current row to its group of a set; without grouping sets there is one, of all keys.
    #[inline]
    fn add_row_to_set(
        &mut self,
        record: &Aggregate,
        groups: &mut Groups,
        set: usize,
        key: &mut Vec<Value>,
    ) -> Result<()> {
        key.clear();
        match groups.sets.get(set) {
            None => key.extend(groups.registers.iter().map(|register| self.registers[*register as usize])),
            Some(keys) => {
                let value = |(index, register): (usize, &u32)| match keys.contains(&(index as u32)) {
                    true => self.registers[*register as usize],
                    false => Value::Null,
                };
                key.extend(groups.registers.iter().enumerate().map(value).chain([Value::Int(set as i64)]));
            }
        }
        match self.find_group(record, groups, set, key)? {
            Found::Group(group) => self.add_to_group(record, groups, group),
            Found::Elsewhere => Ok(()),
        }
    }

    /// The group of a key. It is made if there is room; if not, the row goes to a file.
    #[inline]
    fn find_group(&mut self, record: &Aggregate, groups: &mut Groups, set: usize, key: &[Value]) -> Result<Found> {
        let kinds = groups.kinds.clone();
        if groups.full {
            if let Some(group) = self.find(&groups.keys, key, &kinds) {
                return Ok(Found::Group(group));
            }
            let bits = bits(groups.limit);
            let number = part(self.hash(key, kinds.iter().copied()), groups.level, bits);
            let parts = match &mut groups.parts {
                Some(parts) => parts,
                none => none.insert(Partitions::new(self.new_spill()?, bits, groups.limit)),
            };
            let saved = self.plan.bytes.list(At(record.saved)).iter();
            let values = saved.map(|register| self.registers[register as usize]);
            parts.write(number, &self.memory, [Value::Int(set as i64)].into_iter().chain(values))?;
            return Ok(Found::Elsewhere);
        }
        let (group, new) = self.find_or_add(&mut groups.keys, key, &kinds, record.buffer)?;
        if new {
            groups.add_group()?;
            self.look_for_room(record, groups);
        }
        Ok(Found::Group(group))
    }

    /// Notes whether there is room for more groups.
    #[inline]
    fn look_for_room(&self, record: &Aggregate, groups: &mut Groups) {
        const OF_GROUP: usize = 24;
        let states = groups.states.len() * size_of::<AggregateState>();
        let keys = groups.count * (OF_GROUP + groups.kinds.len() * size_of::<Value>());
        let held = states + keys + groups.taken + self.memory.buffers[record.buffer as usize].len();
        groups.full = held > groups.limit;
    }

    /// Goes on with rows that are in files; false if there are none left.
    fn next_part_of_groups(&mut self, record: &Aggregate, groups: &mut Groups) -> Result<bool> {
        if let Some(parts) = groups.parts.take() {
            let level = groups.level + 1;
            groups.batches.extend(parts.finish()?.into_iter().filter(|part| part.rows > 0).map(|part| (part, level)));
        }
        let Some((written, level)) = groups.batches.pop() else { return Ok(false) };
        (groups.keys, groups.count, groups.at, groups.level) = (KeySet::default(), 0, 0, level);
        (groups.taken, groups.full) = (0, false);
        groups.states.clear();
        groups.sorting.iter_mut().for_each(|sorting| *sorting = None);
        self.memory.buffers[record.buffer as usize].clear();
        let mut reader: RowReader = written.read()?;
        let mut row = DiskRow::default();
        let buffer = self.extra_buffer(groups.node, READ)?;
        let saved = self.plan.bytes.list(At(record.saved));
        let mut key = Vec::with_capacity(groups.kinds.len());
        while reader.next(&mut row)? {
            self.breath()?;
            self.memory.buffers[buffer as usize].clear();
            self.load_disk(&row, 1, saved.iter(), buffer)?;
            let set = match row.datum(0) {
                Datum::Int(set) => set as usize,
                _ => 0,
            };
            self.add_row_to_set(record, groups, set, &mut key)?;
        }
        self.finish_arguments(groups)?;
        Ok(true)
    }

    /// Adds the current row to a group's aggregates.
    #[inline]
    fn add_to_group(&mut self, record: &Aggregate, groups: &mut Groups, group: usize) -> Result<()> {
        let plans = groups.plans.clone();
        for (index, plan) in plans.iter().enumerate() {
            if self.holds(plan.record.filter)? {
                self.add_row(plan, record, groups, (group, index))?;
            }
        }
        Ok(())
    }

    /// Adds the current row to an aggregate.
    fn add_row(
        &mut self,
        plan: &Plan,
        record: &Aggregate,
        groups: &mut Groups,
        (group, index): (usize, usize),
    ) -> Result<()> {
        let start = self.stack.len();
        let scratch = self.push(plan.record.arguments)?;
        let count = plan.record.count as usize;
        let state = &mut groups.states[group * groups.plans.len() + index];
        let mut late = false;
        if let Some(seen) = &mut state.seen {
            let key = self.stack[start..].to_vec();
            // Nulls too: those that do not count them pass them over.
            let is_known = match groups.full {
                true => self.find(seen, &key, &plan.kinds).is_some(),
                false => !self.find_or_add(seen, &key, &plan.kinds, record.buffer)?.1,
            };
            if is_known {
                self.stack.truncate(start);
                self.memory.scratch.truncate(scratch);
                return Ok(());
            }
            late = groups.full;
            groups.taken += 24 + count * size_of::<Value>();
            self.look_for_room_again(record, groups);
        }
        if late || !plan.order.is_empty() {
            self.push(plan.record.order)?;
            let sorting = match &mut groups.sorting[index] {
                Some(sorting) => sorting,
                none => none.insert(self.begin_arguments(groups.node, plan, index as u32)?),
            };
            let row = &mut sorting.rows;
            let width = row.width;
            row.values.try_reserve(width).map_err(|_| super::store::refused(width * size_of::<Value>()))?;
            row.values.push(Value::Int(group as i64));
            for at in start..self.stack.len() {
                let value = self.memory.keep(self.stack[at], sorting.buffer)?;
                row.values.push(value);
            }
            row.count += 1;
            self.stack.truncate(start);
            self.memory.scratch.truncate(scratch);
            return self.row_added(sorting);
        }
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
        let state = &mut groups.states[group * groups.plans.len() + index];
        state.accumulator.add(plan.call, arguments)?;
        if plan.grows {
            let bytes = |datum: &Datum<'_>| match datum {
                Datum::Bytes(bytes) => bytes.len(),
                _ => 0,
            };
            groups.taken += size_of::<Constant>() + arguments.iter().map(bytes).sum::<usize>();
            self.look_for_room_again(record, groups);
        }
        self.stack.truncate(start);
        self.memory.scratch.truncate(scratch);
        Ok(())
    }

    /// The same where a group has grown: what is full stays full.
    #[inline]
    fn look_for_room_again(&self, record: &Aggregate, groups: &mut Groups) {
        if !groups.full {
            self.look_for_room(record, groups);
        }
    }

    // ---- arguments in order

    fn begin_arguments(&mut self, node: At, plan: &Plan, index: u32) -> Result<Sorting> {
        let mut keys = vec![SortKey { place: 0, kind: Kind::Int8, descending: false, nulls_first: false }];
        keys.extend_from_slice(&plan.order);
        if plan.record.distinct != 0 {
            // So that those that are equal are beside each other.
            let argument = |(index, kind): (usize, &Kind)| SortKey {
                place: 1 + index,
                kind: *kind,
                descending: false,
                nulls_first: false,
            };
            keys.extend(plan.kinds.iter().enumerate().map(argument));
        }
        let buffer = self.extra_buffer(node, SORTED + index)?;
        Ok(self.begin_sorting(keys, 1 + plan.kinds.len() + plan.order.len(), buffer, None))
    }

    fn sort_arguments(&mut self, mut groups: Groups) -> Result<Groups> {
        self.finish_arguments(&mut groups)?;
        Ok(groups)
    }

    fn finish_arguments(&mut self, groups: &mut Groups) -> Result<()> {
        groups.sorted.clear();
        for sorting in &mut groups.sorting {
            groups.sorted.push(match sorting.take() {
                Some(sorting) => Some(self.finish_sorting(sorting)?),
                None => None,
            });
        }
        Ok(())
    }

    /// Adds what was sorted for a group.
    fn add_sorted(&mut self, plan: &Plan, sorted: &mut Sorted, state: &mut AggregateState, group: usize) -> Result<()> {
        let mut last: Option<Vec<Constant>> = None;
        while sorted.has_row() && sorted.datum(&self.memory, 0) == Datum::Int(group as i64) {
            self.breath()?;
            let arguments: Vec<Datum<'_>> =
                (0..plan.kinds.len()).map(|place| sorted.datum(&self.memory, 1 + place)).collect();
            let mut is_new = true;
            if plan.record.distinct != 0 {
                is_new = last.as_ref().is_none_or(|last| !all_equal(last, &arguments, &plan.kinds));
                if is_new {
                    last = Some(arguments.iter().map(|argument| Constant::of(*argument)).collect());
                }
            }
            if is_new {
                state.accumulator.add(plan.call, &arguments)?;
            }
            sorted.advance()?;
        }
        Ok(())
    }

    /// Sets the registers of a group's results.
    fn finish_group(&mut self, record: &Aggregate, groups: &mut Groups, group: usize) -> Result<()> {
        let plans = groups.plans.clone();
        for (index, plan) in plans.iter().enumerate() {
            let state = &mut groups.states[group * plans.len() + index];
            if let Some(sorted) = &mut groups.sorted[index] {
                self.add_sorted(plan, sorted, state, group)?;
            }
            let value = {
                let context = self.around.context(&self.arena);
                plain(state.accumulator.finish(plan.call, &context)?).map_err(|bytes| {
                    self.spare.clear();
                    self.spare.extend_from_slice(bytes);
                })
            };
            let value = match value {
                Ok(value) => value,
                Err(()) => {
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

fn all_equal(last: &[Constant], now: &[Datum<'_>], kinds: &[Kind]) -> bool {
    last.iter().zip(now).zip(kinds).all(|((last, now), kind)| match (last.datum(), *now) {
        (Datum::Null, Datum::Null) => true,
        (Datum::Null, _) | (_, Datum::Null) => false,
        (last, now) => compare::compare(*kind, last, now).is_eq(),
    })
}

impl Groups {
    /// Room for the states of a new group.
    #[inline]
    fn add_group(&mut self) -> Result<()> {
        let count = self.plans.len();
        self.count += 1;
        self.states.try_reserve(count).map_err(|_| super::store::refused(count * size_of::<AggregateState>()))?;
        let new = |plan: &Plan| AggregateState {
            accumulator: Accumulator::new(),
            seen: (plan.record.distinct != 0).then(Box::default),
        };
        self.states.extend(self.plans.iter().map(new));
        Ok(())
    }
}

const _: () = assert!(size_of::<Value>() == 16 && size_of::<Memory<'_>>() > 0);
