//! Where rows come from: expressions, functions, views; and what passes them on.

use super::kept::Place;
use super::series::{FunctionState, next_moment};
use super::trigger::TRANSITIONS;
use super::value::Value;
use super::{Exec, State};
use crate::catalog::provider::{RowSink, ViewContext};
use crate::plan::blob::At;
use crate::plan::record::{Filter, FunctionScan, Materialize, Once, Project, Values, ViewScan};
use crate::types::Oid;
use base::Result;

/// The rows of a view.
pub(super) struct ViewState {
    rows: RowSink,
    at: usize,
}

impl Exec<'_> {
    pub(super) fn once(&mut self, node: At) -> Result<bool> {
        if matches!(self.take(node), State::Done) {
            self.put(node, State::Done);
            return Ok(false);
        }
        self.put(node, State::Done);
        let record = Once::read(self.plan.bytes, node);
        self.holds(record.filter)
    }

    pub(super) fn values(&mut self, node: At) -> Result<bool> {
        let record = Values::read(self.plan.bytes, node);
        let rows = self.plan.bytes.list(At(record.rows));
        let at = match self.take(node) {
            State::At(at) => at,
            _ => 0,
        };
        if at as usize >= rows.len() {
            self.put(node, State::At(at));
            return Ok(false);
        }
        self.put(node, State::At(at + 1));
        self.breath()?;
        let program = rows.get(at as usize);
        if program != 0 {
            self.assign(program, record.buffer)?;
        }
        Ok(true)
    }

    pub(super) fn filter(&mut self, node: At) -> Result<bool> {
        let record = Filter::read(self.plan.bytes, node);
        while self.next(At(record.child))? {
            self.breath()?;
            if self.holds(record.condition)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn project(&mut self, node: At) -> Result<bool> {
        let record = Project::read(self.plan.bytes, node);
        if !self.next(At(record.child))? {
            return Ok(false);
        }
        self.assign(record.program, record.buffer)?;
        Ok(true)
    }

    // ---- functions

    pub(super) fn function_scan(&mut self, node: At) -> Result<bool> {
        let record = FunctionScan::read(self.plan.bytes, node);
        let mut state = match self.take(node) {
            State::Function(state) => state,
            State::Done => {
                self.put(node, State::Done);
                return Ok(false);
            }
            _ => match self.begin_function(&record)? {
                Some(state) => Box::new(state),
                None => {
                    self.put(node, State::Done);
                    return Ok(false);
                }
            },
        };
        loop {
            self.breath()?;
            let row = match &mut *state {
                FunctionState::Series { next, end, step, row } => {
                    let Some(value) = *next else { break };
                    let over = if *step > 0 { value > *end } else { value < *end };
                    if over {
                        break;
                    }
                    *next = value.checked_add(*step);
                    *row += 1;
                    self.set(record.output, Value::Int(value));
                    *row
                }
                FunctionState::Numbers { next, end, step, row } => {
                    let Some(value) = self.next_number(record.buffer, next, end, step)? else { break };
                    *row += 1;
                    self.set(record.output, value);
                    *row
                }
                FunctionState::Moments { next, end, step, with_zone, row } => {
                    let zone = with_zone.then(|| self.around.context(&self.arena).style.zone);
                    let Some(value) = next_moment(next, *end, *step, zone)? else { break };
                    *row += 1;
                    self.set(record.output, value);
                    *row
                }
                FunctionState::Elements { rows } => {
                    if rows.at >= rows.count {
                        break;
                    }
                    let row = rows.row(rows.at);
                    if record.outputs != 0 {
                        let outputs = self.plan.bytes.list(At(record.outputs));
                        for (register, value) in outputs.iter().zip(row) {
                            self.set(register, *value);
                        }
                        rows.at += 1;
                        let at = rows.at as i64;
                        self.set(record.ordinal, Value::Int(at));
                        if self.holds(record.filter)? {
                            self.put(node, State::Function(state));
                            return Ok(true);
                        }
                        continue;
                    }
                    self.set(record.output, row[0]);
                    if let Some(second) = row.get(1) {
                        self.set(record.second, *second);
                    }
                    rows.at += 1;
                    rows.at as i64
                }
                FunctionState::Once => {
                    self.assign(record.arguments, record.buffer)?;
                    self.set(record.ordinal, Value::Int(1));
                    self.put(node, State::Done);
                    return self.holds(record.filter);
                }
            };
            self.set(record.ordinal, Value::Int(row));
            if self.holds(record.filter)? {
                self.put(node, State::Function(state));
                return Ok(true);
            }
        }
        self.put(node, State::Done);
        Ok(false)
    }

    /// Sets a register that is given counted from one.
    #[inline]
    pub(super) fn set(&mut self, register: u32, value: Value) {
        if register > 0 {
            self.registers[register as usize - 1] = value;
        }
    }

    /// Computes the arguments of a function; none if it gives no rows.
    fn begin_function(&mut self, record: &FunctionScan) -> Result<Option<FunctionState>> {
        if record.op == 0xFFFF {
            return Ok(Some(FunctionState::Once));
        }
        let start = self.stack.len();
        let scratch = self.push(record.arguments)?;
        let arguments = self.stack.drain(start..).collect::<Vec<_>>();
        let state = self.function_state(record, &arguments);
        self.memory.scratch.truncate(scratch);
        state
    }

    // ---- views

    pub(super) fn view_scan(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = ViewScan::read(bytes, node);
        let mut state = match self.take(node) {
            State::View(state) => state,
            _ => {
                let types = bytes.list(At(record.types)).iter().map(Oid);
                let mut rows = RowSink::new(types);
                let around = self.around;
                let catalog = around.catalog.get()?;
                let context = ViewContext {
                    held: around.held,
                    catalog: &catalog,
                    settings: around.settings,
                    relations: around.relations,
                    session: around.session,
                    role: around.role,
                    user: std::str::from_utf8(around.user).unwrap_or_default(),
                    database: around.database.1,
                };
                let transition = record.provider.checked_sub(TRANSITIONS).map(|index| index as usize);
                if let Some(transition) = transition.and_then(|index| around.transitions.get(index)) {
                    transition.rows(|row| {
                        let made = row.iter().fold(rows.row(), |made, value| made.datum(value.datum()));
                        made.end();
                        super::breathe()
                    })?;
                } else if let Some(provider) = catalog.catalogs.provider(record.provider) {
                    provider.rows(&context, &mut rows)?;
                }
                Box::new(ViewState { rows, at: 0 })
            }
        };
        let columns = bytes.list(At(record.columns));
        while state.at < state.rows.len() {
            self.breath()?;
            let row = state.at;
            state.at += 1;
            self.memory.buffers[record.buffer as usize].clear();
            for [column, register] in columns.groups::<2>() {
                let datum = state.rows.value(row, column as usize)?;
                self.registers[register as usize] = self.memory.to_buffer(record.buffer, datum)?;
            }
            self.set(record.table_register, Value::Int(record.table.into()));
            if self.holds(record.filter)? {
                self.put(node, State::View(state));
                return Ok(true);
            }
        }
        self.put(node, State::View(state));
        Ok(false)
    }

    // ---- rows that are kept

    pub(super) fn materialize(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = Materialize::read(bytes, node);
        let saved = bytes.list(At(record.saved));
        let mut state = match self.take(node) {
            State::Kept(state) => state,
            _ => {
                let mut kept = self.begin_kept(node, saved.len(), record.buffer);
                while self.next(At(record.child))? {
                    self.breath()?;
                    self.keep_registers(&mut kept, saved)?;
                }
                Box::new((kept, Place::default()))
            }
        };
        let (kept, place) = &mut *state;
        let found = self.read_kept(kept, place, node, saved.iter().enumerate())?;
        self.put(node, State::Kept(state));
        Ok(found)
    }

    /// Registers as values on their own.
    pub(super) fn read_registers(&self, registers: &[u32]) -> Vec<Value> {
        registers.iter().map(|&register| self.registers[register as usize]).collect()
    }
}
