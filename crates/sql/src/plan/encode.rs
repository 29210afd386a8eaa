//! From the plan's tree to bytes: registers are given to columns, expressions become programs, nodes become records.
//!
//! A column gets a register when something reads it. What a subquery merely passes on shares its source's register, so
//! that projections of plain columns cost nothing. Nodes are written from the bottom up, each knowing which columns are
//! read above it: a scan reads only those, a sort saves only those.
//!
//! Rules
//! 1. A column may share another's register only if both are made by the same subtree: an outer join sets the registers of
//!    its inner side to null, and must not touch those of the outer side.
//! 2. Reading a column that no node below makes is reading a row of the query around it; its register is set while the
//!    inner query runs.

use super::blob::{At, Builder, Constant};
use super::choose::columns_in;
use super::program::{Code, Step};
use super::record::{
    Aggregate, AggregateRecord, Append, CheckRecord, ColumnRecord, CommonRecord, CommonScan, ConflictRecord, Distinct,
    Filter, FunctionScan, HashJoin, Header, IndexRecord, IndexScan, Limit, LockRows, Materialize, Modify, NestedLoop,
    Nothing, Once, ParameterRecord, Project, ReferenceRecord, SeqScan, SetOperation, Sort, SubplanRecord, TableRecord,
    Values, ViewScan,
};
use super::tree::{Key, Node, Subtree, SubtreeKind, Tree};
use super::{MAGIC, flags, tree};
use crate::bind::tree::{
    Bound, Column, Expr, ExprKind, ModificationKind, Origin, ROW_ID, RelationId, Source, TABLE_OID,
};
use crate::catalog::definition::{ConstraintKind, IndexDef, Rows, TableDef};
use crate::parser::ast::{LockStrength, LockWait};
use crate::types::cast::Method;
use crate::types::op::Op;
use crate::types::{Kind, Oid, Type, table};
use base::{Error, RelId, Result, sqlstate};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Columns = BTreeSet<Column>;

/// How deep nodes may be nested: an execution recurses over them on a fiber's stack.
const DEPTH_MAX: u32 = 100;

/// Writes a plan.
pub fn encode(bound: &Bound, tree: &Tree) -> Result<Vec<u8>> {
    let encoder = Encoder {
        bound,
        tree,
        plan: Builder::new(Header::WORDS),
        registers: BTreeMap::new(),
        aliases: BTreeMap::new(),
        shared: BTreeMap::new(),
        next_register: 0,
        states: 0,
        buffers: 0,
        subplans: BTreeMap::new(),
        subplan_records: Vec::new(),
        commons: Vec::new(),
        flags: flags::REUSABLE,
        depth: 0,
    };
    encoder.finish()
}

struct Encoder<'e> {
    bound: &'e Bound,
    tree: &'e Tree,
    plan: Builder,
    registers: BTreeMap<Column, u16>,
    aliases: BTreeMap<Column, Column>,
    shared: BTreeMap<u16, u16>,
    next_register: u32,
    states: u32,
    buffers: u32,
    /// For each subplan that was written the index of its record.
    subplans: BTreeMap<u16, u16>,
    subplan_records: Vec<At>,
    commons: Vec<At>,
    flags: u32,
    /// How many nodes are above the one that is written.
    depth: u32,
}

impl Encoder<'_> {
    fn finish(mut self) -> Result<Vec<u8>> {
        for (number, common) in self.tree.commons.iter().enumerate() {
            let at = match common {
                Some(common) => self.common(common)?,
                None => At::NONE,
            };
            debug_assert_eq!(number, self.commons.len());
            self.commons.push(at);
        }
        let needed: Columns = self.tree.columns.iter().map(|(_, column)| *column).collect();
        let root = self.node(&self.tree.root, &needed)?;
        let mut columns = Vec::with_capacity(self.tree.columns.len() * ColumnRecord::WORDS);
        for (name, column) in &self.tree.columns {
            let ty = self.type_of(*column);
            let (table, number) = self.origin(*column);
            let record = ColumnRecord {
                name: self.plan.blob(name.as_bytes()).0,
                table: table.0,
                number: number as u32,
                oid: ty.oid.0,
                typmod: ty.typmod as u32,
                register: self.register(*column)?.into(),
            };
            columns.extend(record.to_words());
        }
        if !columns.is_empty() || self.tree.kind == super::StatementKind::Select {
            self.flags |= flags::RETURNS_ROWS;
        }
        if self.bound.uses_clock {
            self.flags |= flags::USES_CLOCK;
        }
        if !self.bound.reusable {
            self.flags &= !flags::REUSABLE;
        }
        let parameters: Vec<u32> = self
            .bound
            .parameters
            .iter()
            .flat_map(|parameter| {
                let (origin, index) = match parameter.origin {
                    Origin::Client(index) => (0, index),
                    Origin::Slot(index) => (1, index),
                };
                let [oid, typmod] = super::blob::type_words(parameter.ty);
                ParameterRecord { oid, typmod, origin, index: index.into() }.to_words()
            })
            .collect();
        let client_types: Vec<u32> =
            self.bound.client_types.iter().map(|oid| oid.unwrap_or(Oid::TEXT).0).collect();
        let tables: Vec<u32> = self
            .bound
            .tables
            .iter()
            .flat_map(|table| [table.oid.0, table.version as u32, (table.version >> 32) as u32])
            .collect();
        let subplans: Vec<u32> = self.subplan_records.iter().map(|at| at.0).collect();
        let commons: Vec<u32> = self.commons.iter().map(|at| at.0).collect();
        let mut header = Header {
            magic: MAGIC,
            length: 0,
            kind: self.tree.kind as u32,
            root: root.0,
            registers: self.next_register,
            states: self.states,
            buffers: self.buffers,
            parameters: self.plan.list(&parameters).0,
            client_types: self.plan.list(&client_types).0,
            columns: self.plan.list(&columns).0,
            subplans: self.plan.list(&subplans).0,
            commons: self.plan.list(&commons).0,
            flags: self.flags,
            tables: self.plan.list(&tables).0,
            stack: 0,
        };
        header.length = self.plan.at().0;
        for (index, word) in header.to_words().into_iter().enumerate() {
            self.plan.patch(At(index as u32 * 4), word);
        }
        self.plan.finish()
    }

    // ---- registers

    fn new_register(&mut self) -> Result<u16> {
        let register = self.next_register;
        self.next_register += 1;
        u16::try_from(register).map_err(|_| {
            Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "the statement has too many columns and values")
        })
    }

    /// The column whose register a column shares.
    fn canonical(&self, mut column: Column) -> Column {
        while let Some(next) = self.aliases.get(&column) {
            column = *next;
        }
        column
    }

    fn register(&mut self, column: Column) -> Result<u16> {
        let column = self.canonical(column);
        if let Some(&register) = self.registers.get(&column) {
            return Ok(register);
        }
        let register = self.new_register()?;
        self.registers.insert(column, register);
        Ok(register)
    }

    fn type_of(&self, column: Column) -> Type {
        match column.column {
            ROW_ID => Type::plain(Oid::INT8),
            TABLE_OID => Type::plain(Oid::OID),
            index => self.bound.relations[column.relation as usize].columns[usize::from(index)].1,
        }
    }

    /// The table's column that a result passes on.
    fn origin(&self, column: Column) -> (Oid, i16) {
        let column = self.canonical(column);
        match self.bound.relations.get(column.relation as usize).map(|found| &found.source) {
            Some(Source::Table(table)) if column.column < TABLE_OID => (table.oid, column.column as i16 + 1),
            _ => (Oid::NONE, 0),
        }
    }

    fn new_buffer(&mut self) -> u32 {
        self.buffers += 1;
        self.buffers - 1
    }

    fn new_state(&mut self) -> u32 {
        self.states += 1;
        self.states - 1
    }

    /// Which of these columns a subtree makes.
    fn made_by(&self, node: &Node, needed: &Columns) -> Columns {
        let mut produced = BTreeSet::new();
        node.produced(&mut produced);
        needed.iter().filter(|column| produced.contains(&column.relation)).copied().collect()
    }

    /// The registers of columns, each once.
    fn register_list(&mut self, columns: &Columns) -> Result<Vec<u32>> {
        let mut registers = Vec::with_capacity(columns.len());
        for column in columns {
            let register = u32::from(self.register(*column)?);
            if !registers.contains(&register) {
                registers.push(register);
            }
        }
        Ok(registers)
    }

    fn saved(&mut self, node: &Node, needed: &Columns) -> Result<u32> {
        let made = self.made_by(node, needed);
        let registers = self.register_list(&made)?;
        Ok(self.plan.list(&registers).0)
    }

    fn reads(&self, exprs: &[Expr], needed: &mut Columns) {
        exprs.iter().for_each(|expr| columns_in(expr, &self.tree.subplans, needed));
    }

    /// All columns that a subtree reads.
    fn all_reads(&self, node: &Node, needed: &mut Columns) {
        node.exprs(&mut |expr| columns_in(expr, &self.tree.subplans, needed));
        node.children().into_iter().for_each(|child| self.all_reads(child, needed));
    }

    // ---- programs

    fn program(&mut self, expr: &Expr) -> Result<u32> {
        let mut code = Code::new();
        self.expr(&mut code, expr)?;
        Ok(code.finish(&mut self.plan).0)
    }

    /// Pushes all values in order.
    fn values(&mut self, exprs: &[Expr]) -> Result<u32> {
        let mut code = Code::new();
        for expr in exprs {
            self.expr(&mut code, expr)?;
        }
        Ok(code.finish(&mut self.plan).0)
    }

    /// One condition out of several; zero for none.
    fn condition(&mut self, exprs: &[Expr]) -> Result<u32> {
        let exprs: Vec<&Expr> = exprs.iter().filter(|expr| !expr.is_true()).collect();
        let mut code = Code::new();
        match exprs.as_slice() {
            [] => {}
            [only] => self.expr(&mut code, only)?,
            several => self.all_of(&mut code, several.iter().copied(), Step::And)?,
        }
        Ok(code.finish(&mut self.plan).0)
    }

    fn all_of<'x>(
        &mut self,
        code: &mut Code,
        exprs: impl Iterator<Item = &'x Expr>,
        step: Step,
    ) -> Result<()> {
        code.step(if step == Step::And { Step::True } else { Step::False });
        let mut jumps = Vec::new();
        for expr in exprs {
            self.expr(code, expr)?;
            jumps.push(code.jump(step));
        }
        jumps.into_iter().for_each(|jump| code.land(jump));
        Ok(())
    }

    fn constant(&mut self, code: &mut Code, value: &Constant) {
        match value {
            Constant::Null => code.step(Step::Null),
            Constant::Bool(true) => code.step(Step::True),
            Constant::Bool(false) => code.step(Step::False),
            Constant::Int(value) => {
                code.step(Step::Int);
                code.double(*value as u64);
            }
            Constant::Float(value) => {
                code.step(Step::Float);
                code.double(value.to_bits());
            }
            Constant::Bytes(bytes) => {
                let at = self.plan.raw(bytes);
                code.step(Step::Bytes);
                code.word(at.0);
                code.word(bytes.len() as u32);
            }
        }
    }

    fn expr(&mut self, code: &mut Code, expr: &Expr) -> Result<()> {
        match &expr.kind {
            ExprKind::Constant(value) => self.constant(code, value),
            ExprKind::Slot(_) | ExprKind::Untyped(_) => {
                return Err(Error::statement(
                    sqlstate::INDETERMINATE_DATATYPE,
                    "could not determine the data type of a constant or parameter",
                ));
            }
            ExprKind::Parameter(index) => code.step_half(Step::Parameter, *index),
            ExprKind::Column(column) => {
                let register = self.register(*column)?;
                code.step_half(Step::Register, register);
            }
            ExprKind::Call(call) => {
                for argument in &call.arguments {
                    self.expr(code, argument)?;
                }
                code.call(call.op, call.arguments.len() as u8, call.strict);
            }
            ExprKind::And(items) => self.all_of(code, items.iter(), Step::And)?,
            ExprKind::Or(items) => self.all_of(code, items.iter(), Step::Or)?,
            ExprKind::Not(operand) => {
                self.expr(code, operand)?;
                code.step(Step::Not);
            }
            ExprKind::IsNull(operand, negated) => {
                self.expr(code, operand)?;
                code.step(if *negated { Step::IsNotNull } else { Step::IsNull });
            }
            ExprKind::IsTruth(operand, truth, negated) => {
                self.expr(code, operand)?;
                code.step(match (truth, negated) {
                    (true, false) => Step::IsTrue,
                    (true, true) => Step::IsNotTrue,
                    (false, false) => Step::IsFalse,
                    (false, true) => Step::IsNotFalse,
                });
            }
            ExprKind::IsDistinct(left, right, kind, negated) => {
                self.expr(code, left)?;
                self.expr(code, right)?;
                code.step(Step::Distinct);
                code.byte(*kind as u8);
                if *negated {
                    code.step(Step::Not);
                }
            }
            ExprKind::Case(branches, otherwise) => {
                let mut ends = Vec::with_capacity(branches.len());
                for (condition, result) in branches {
                    self.expr(code, condition)?;
                    let next = code.jump(Step::JumpUnless);
                    self.expr(code, result)?;
                    ends.push(code.jump(Step::Jump));
                    code.land(next);
                }
                self.expr(code, otherwise)?;
                ends.into_iter().for_each(|end| code.land(end));
            }
            ExprKind::Let(number, value, body) => {
                self.expr(code, value)?;
                let register = self.new_register()?;
                self.shared.insert(*number, register);
                // Kept on the stack meanwhile: what it refers to must not be given back before the body is done.
                code.step_half(Step::Keep, register);
                self.expr(code, body)?;
                code.step(Step::Nip);
            }
            ExprKind::Shared(number) => {
                let register = self.shared.get(number).copied().ok_or_else(|| {
                    Error::statement(sqlstate::INTERNAL_ERROR, "a shared value is used outside its expression")
                })?;
                code.step_half(Step::Register, register);
            }
            ExprKind::Coalesce(items) => {
                let mut ends = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    self.expr(code, item)?;
                    if index + 1 < items.len() {
                        ends.push(code.jump(Step::JumpIfValue));
                    }
                }
                ends.into_iter().for_each(|end| code.land(end));
            }
            ExprKind::Extreme(items, kind, greatest) => {
                for item in items {
                    self.expr(code, item)?;
                }
                code.step(if *greatest { Step::Greatest } else { Step::Least });
                code.byte(*kind as u8);
                code.half(items.len() as u16);
            }
            ExprKind::Array(items) | ExprKind::ArrayOfArrays(items) => {
                for item in items {
                    self.expr(code, item)?;
                }
                let nested = matches!(expr.kind, ExprKind::ArrayOfArrays(_));
                code.step(if nested { Step::ArrayOfArrays } else { Step::Array });
                code.word(table::element_of(expr.ty.oid).unwrap_or(Oid::NONE).0);
                code.half(items.len() as u16);
            }
            ExprKind::Quantified { op, all, left, array, .. } => {
                self.expr(code, left)?;
                self.expr(code, array)?;
                code.step_half(if *all { Step::All } else { Step::Any }, *op as u16);
            }
            ExprKind::Cast(operand, method, explicit) => {
                self.expr(code, operand)?;
                cast(code, *method, operand.ty.oid, expr.ty, *explicit);
            }
            ExprKind::Subplan(number) => {
                let index = self.subplan(*number)?;
                code.step_half(Step::Subplan, index);
            }
            ExprKind::Subscript(operand, index) => {
                self.expr(code, operand)?;
                self.expr(code, index)?;
                code.step(Step::Subscript);
            }
        }
        Ok(())
    }

    fn subplan(&mut self, number: u16) -> Result<u16> {
        if let Some(&index) = self.subplans.get(&number) {
            return Ok(index);
        }
        let tree = self.tree;
        let Some(subplan) = tree.subplans.get(usize::from(number)) else {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a subplan is not there"));
        };
        let Subtree { root, output, kind, constant, value, value_type, .. } = subplan;
        let result = Column { relation: *output, column: 0 };
        let mut record = SubplanRecord {
            constant: u32::from(*constant),
            value: *value as u32,
            buffer: self.new_buffer(),
            state: self.new_state(),
            ..SubplanRecord::default()
        };
        match kind {
            SubtreeKind::Exists => {
                record.kind = 1;
                record.root = self.node(root, &Columns::new())?.0;
            }
            SubtreeKind::Scalar | SubtreeKind::Array => {
                record.root = self.node(root, &Columns::from([result]))?.0;
                record.register = self.register(result)?.into();
                if matches!(kind, SubtreeKind::Array) {
                    record.kind = 2;
                    record.value = value_type.0;
                }
            }
            SubtreeKind::Quantified { test, all, equal } => {
                let mut needed = Columns::new();
                columns_in(test, &tree.subplans, &mut needed);
                needed.retain(|column| column.relation == *output);
                record.kind = if *all { 4 } else { 3 };
                record.root = self.node(root, &needed)?.0;
                record.test = self.program(test)?;
                let hashed = *constant && !equal.is_empty();
                if hashed {
                    let left: Vec<Expr> = equal.iter().map(|(left, ..)| left.clone()).collect();
                    let right: Vec<Expr> = equal.iter().map(|(_, right, _)| right.clone()).collect();
                    let kinds: Vec<u32> = equal.iter().map(|(_, _, kind)| *kind as u32).collect();
                    record.probe = self.values(&left)?;
                    record.columns = self.values(&right)?;
                    record.kinds = self.plan.list(&kinds).0;
                }
            }
        }
        let at = record.write(&mut self.plan);
        let index = self.subplan_records.len() as u16;
        self.subplan_records.push(at);
        self.subplans.insert(number, index);
        Ok(index)
    }

    fn common(&mut self, common: &tree::CommonTree) -> Result<At> {
        let columns: Vec<Column> = (0..common.width as u16)
            .map(|column| Column { relation: common.output, column })
            .collect();
        let needed = columns.iter().copied().collect();
        let root = self.node(&common.root, &needed)?;
        let mut registers = Vec::with_capacity(columns.len());
        for column in columns {
            registers.push(u32::from(self.register(column)?));
        }
        let record = CommonRecord {
            root: root.0,
            columns: self.plan.list(&registers).0,
            buffer: self.new_buffer(),
            state: self.new_state(),
        };
        Ok(record.write(&mut self.plan))
    }

    // ---- nodes

    /// Writes a node, given the columns that are read above it. Errors: `54001` where nodes are nested too deep.
    fn node(&mut self, node: &Node, needed: &Columns) -> Result<At> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "the statement's plan is nested too deeply")
                .detail(format!("Nodes of a plan can be nested {DEPTH_MAX} levels deep, subqueries included.")));
        }
        let at = self.written(node, needed);
        self.depth -= 1;
        at
    }

    fn written(&mut self, node: &Node, needed: &Columns) -> Result<At> {
        let state = self.new_state();
        Ok(match node {
            Node::Nothing => Nothing {}.write(&mut self.plan, state),
            Node::Once { filter } => {
                let filter = self.condition(filter)?;
                Once { filter }.write(&mut self.plan, state)
            }
            Node::Values { output, rows } => {
                let mut programs = Vec::with_capacity(rows.len());
                for row in rows {
                    let mut code = Code::new();
                    for (index, expr) in row.iter().enumerate() {
                        let column = Column { relation: *output, column: index as u16 };
                        if needed.contains(&column) {
                            self.expr(&mut code, expr)?;
                            let register = self.register(column)?;
                            code.step_half(Step::Store, register);
                        }
                    }
                    programs.push(code.finish(&mut self.plan).0);
                }
                let rows = self.plan.list(&programs).0;
                let buffer = self.new_buffer();
                Values { rows, buffer }.write(&mut self.plan, state)
            }
            Node::Function { relation, call, set, ordinality, filter, .. } => {
                self.function(*relation, call, *set, *ordinality, filter, needed, state)?
            }
            Node::View { relation, table, filter, .. } => {
                let mut read = needed.clone();
                self.reads(filter, &mut read);
                let columns = self.scanned(*relation, table, &read)?;
                let types: Vec<u32> = table.columns.iter().map(|column| column.ty.oid.0).collect();
                let provider = match table.rows {
                    Rows::Made(provider) => provider,
                    _ => u32::MAX,
                };
                let record = ViewScan {
                    provider,
                    types: self.plan.list(&types).0,
                    columns,
                    buffer: self.new_buffer(),
                    filter: self.condition(filter)?,
                    table_register: self.maybe_register(*relation, TABLE_OID, &read)?,
                    table: table.oid.0,
                };
                record.write(&mut self.plan, state)
            }
            Node::SeqScan { relation, table, filter, .. } => {
                self.flags |= flags::READS;
                let mut read = needed.clone();
                self.reads(filter, &mut read);
                let columns = self.scanned(*relation, table, &read)?;
                let record = SeqScan {
                    storage: storage(table).0,
                    kinds: self.kinds(table),
                    columns,
                    buffer: self.new_buffer(),
                    filter: self.condition(filter)?,
                    row_register: self.maybe_register(*relation, ROW_ID, &read)?,
                    table_register: self.maybe_register(*relation, TABLE_OID, &read)?,
                    table: table.oid.0,
                };
                record.write(&mut self.plan, state)
            }
            Node::IndexScan(scan) => self.index_scan(scan, needed, state)?,
            Node::Filter { child, condition } => {
                let mut read = needed.clone();
                self.reads(condition, &mut read);
                let child = self.node(child, &read)?.0;
                let condition = self.condition(condition)?;
                Filter { child, condition }.write(&mut self.plan, state)
            }
            Node::Project { child, relation, targets } => self.project(child, *relation, targets, needed, state)?,
            Node::NestedLoop { join, outer, inner, condition } => {
                let mut read = needed.clone();
                self.reads(condition, &mut read);
                let mut outer_read = read.clone();
                self.all_reads(inner, &mut outer_read);
                let outer = self.node(outer, &outer_read)?.0;
                let inner_at = self.node(inner, &read)?.0;
                let nulls = self.saved(inner, needed)?;
                let condition = self.condition(condition)?;
                NestedLoop { join: *join as u32, outer, inner: inner_at, condition, nulls }.write(&mut self.plan, state)
            }
            Node::HashJoin { join, outer, inner, keys, condition } => {
                let mut read = needed.clone();
                self.reads(condition, &mut read);
                let above = read.clone();
                for (left, right, _) in keys {
                    columns_in(left, &self.tree.subplans, &mut read);
                    columns_in(right, &self.tree.subplans, &mut read);
                }
                let outer_at = self.node(outer, &read)?.0;
                let inner_at = self.node(inner, &read)?.0;
                let left: Vec<Expr> = keys.iter().map(|(left, ..)| left.clone()).collect();
                let right: Vec<Expr> = keys.iter().map(|(_, right, _)| right.clone()).collect();
                let kinds: Vec<u32> = keys.iter().map(|(.., kind)| *kind as u32).collect();
                let record = HashJoin {
                    join: *join as u32,
                    outer: outer_at,
                    inner: inner_at,
                    outer_keys: self.values(&left)?,
                    inner_keys: self.values(&right)?,
                    kinds: self.plan.list(&kinds).0,
                    condition: self.condition(condition)?,
                    saved: self.saved(inner, &above)?,
                    nulls: self.saved(inner, needed)?,
                    outer_nulls: self.saved(outer, needed)?,
                    buffer: self.new_buffer(),
                };
                record.write(&mut self.plan, state)
            }
            Node::Sort { child, keys, bound } => self.sort(child, keys, bound.as_ref(), needed, state)?,
            Node::Limit { child, count, offset } => {
                let child = self.node(child, needed)?.0;
                let count = count.as_ref().map_or(Ok(0), |expr| self.program(expr))?;
                let offset = offset.as_ref().map_or(Ok(0), |expr| self.program(expr))?;
                Limit { child, count, offset }.write(&mut self.plan, state)
            }
            Node::Aggregate { child, grouping } => self.aggregate(child, grouping, needed, state)?,
            Node::Distinct { child, keys } => {
                let (child, keys) = self.keyed(child, keys, needed)?;
                let buffer = self.new_buffer();
                Distinct { child, keys, buffer }.write(&mut self.plan, state)
            }
            Node::Append { relation, children } => {
                let mut written = Vec::with_capacity(children.len());
                // All children must set the same registers, so they are given before any of them is written.
                for column in needed.iter().filter(|column| column.relation == *relation) {
                    self.register(*column)?;
                }
                for child in children {
                    written.push(self.node(child, needed)?.0);
                }
                let children = self.plan.list(&written).0;
                Append { children }.write(&mut self.plan, state)
            }
            Node::SetOperation { except, all, relation, left, right, keys } => {
                let mut read = needed.clone();
                for (expr, _) in keys {
                    columns_in(expr, &self.tree.subplans, &mut read);
                }
                for column in read.iter().filter(|column| column.relation == *relation) {
                    self.register(*column)?;
                }
                let left = self.node(left, &read)?.0;
                let right = self.node(right, &read)?.0;
                let record = SetOperation {
                    operation: u32::from(*except) + 2 * u32::from(*all),
                    left,
                    right,
                    keys: self.key_list(keys)?,
                    buffer: self.new_buffer(),
                };
                record.write(&mut self.plan, state)
            }
            Node::Materialize { child } => {
                let at = self.node(child, needed)?.0;
                let saved = self.saved(child, needed)?;
                let buffer = self.new_buffer();
                Materialize { child: at, saved, buffer }.write(&mut self.plan, state)
            }
            Node::CommonScan { relation, common, filter, .. } => {
                let mut read = needed.clone();
                self.reads(filter, &mut read);
                let mut pairs = Vec::new();
                for column in read.iter().filter(|column| column.relation == *relation) {
                    pairs.extend([u32::from(column.column), u32::from(self.register(*column)?)]);
                }
                let columns = self.plan.list(&pairs).0;
                let filter = self.condition(filter)?;
                CommonScan { common: (*common).into(), columns, filter }.write(&mut self.plan, state)
            }
            Node::LockRows { child, locks } => {
                self.flags |= flags::WRITES | flags::READS;
                let mut read = needed.clone();
                read.extend(locks.iter().map(|lock| Column { relation: lock.relation, column: ROW_ID }));
                let child = self.node(child, &read)?.0;
                let mut words = Vec::with_capacity(locks.len() * 4);
                for lock in locks {
                    let Source::Table(table) = &self.bound.relations[lock.relation as usize].source else { continue };
                    let register = self.register(Column { relation: lock.relation, column: ROW_ID })?;
                    let strength = match lock.strength {
                        LockStrength::KeyShare => 0,
                        LockStrength::Share => 1,
                        LockStrength::NoKeyUpdate => 2,
                        LockStrength::Update => 3,
                    };
                    let wait = match lock.wait {
                        LockWait::Wait => 0,
                        LockWait::Error => 1,
                        LockWait::Skip => 2,
                    };
                    words.extend([register.into(), storage(table).0, strength, wait]);
                }
                let locks = self.plan.list(&words).0;
                LockRows { child, locks, scans: 0 }.write(&mut self.plan, state)
            }
            Node::Modify(modify) => self.modify(modify, needed, state)?,
        })
    }

    fn maybe_register(&mut self, relation: RelationId, column: u16, read: &Columns) -> Result<u32> {
        let column = Column { relation, column };
        match read.contains(&column) {
            true => Ok(u32::from(self.register(column)?) + 1),
            false => Ok(0),
        }
    }

    /// Pairs of column and register for a scan.
    fn scanned(&mut self, relation: RelationId, table: &TableDef, read: &Columns) -> Result<u32> {
        let mut pairs = Vec::new();
        for column in read.iter().filter(|column| column.relation == relation) {
            if usize::from(column.column) < table.columns.len() {
                pairs.extend([u32::from(column.column), u32::from(self.register(*column)?)]);
            }
        }
        Ok(self.plan.list(&pairs).0)
    }

    fn kinds(&mut self, table: &TableDef) -> u32 {
        let kinds: Vec<u32> = table.columns.iter().map(|column| table::kind(column.ty.oid) as u32).collect();
        self.plan.list(&kinds).0
    }

    #[allow(clippy::too_many_arguments)]
    fn function(
        &mut self,
        relation: RelationId,
        call: &Expr,
        set: bool,
        ordinality: bool,
        filter: &[Expr],
        needed: &Columns,
        state: u32,
    ) -> Result<At> {
        let mut read = needed.clone();
        self.reads(filter, &mut read);
        let output = Column { relation, column: 0 };
        let mut record = FunctionScan {
            op: 0xFFFF,
            kind: table::kind(call.ty.oid) as u32,
            output: self.maybe_register(relation, 0, &read)?,
            ordinal: if ordinality { self.maybe_register(relation, 1, &read)? } else { 0 },
            buffer: self.new_buffer(),
            ..FunctionScan::default()
        };
        match (&call.kind, set) {
            (ExprKind::Call(call), true) => {
                record.op = call.op as u32;
                record.count = call.arguments.len() as u32;
                record.arguments = self.values(&call.arguments)?;
            }
            _ => {
                let mut code = Code::new();
                self.expr(&mut code, call)?;
                let register = self.register(output)?;
                code.step_half(Step::Store, register);
                record.arguments = code.finish(&mut self.plan).0;
            }
        }
        record.filter = self.condition(filter)?;
        Ok(record.write(&mut self.plan, state))
    }

    fn index_scan(&mut self, scan: &tree::IndexScan, needed: &Columns, state: u32) -> Result<At> {
        self.flags |= flags::READS;
        let mut read = needed.clone();
        self.reads(&scan.filter, &mut read);
        let columns = self.scanned(scan.relation, &scan.table, &read)?;
        let Some(index) = scan.table.index(scan.index) else {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "an index is not there"));
        };
        let key = index_key(&scan.table, index);
        let bound = |encoder: &mut Self, bound: &tree::Bound| match bound {
            Some((expr, _)) => encoder.program(expr),
            None => Ok(0),
        };
        let excluded = |bound: &tree::Bound| bound.as_ref().is_some_and(|(_, within)| !within);
        let record = IndexScan {
            storage: storage(&scan.table).0,
            kinds: self.kinds(&scan.table),
            columns,
            buffer: self.new_buffer(),
            filter: self.condition(&scan.filter)?,
            row_register: self.maybe_register(scan.relation, ROW_ID, &read)?,
            table_register: self.maybe_register(scan.relation, TABLE_OID, &read)?,
            table: scan.table.oid.0,
            index: index.storage.0,
            key: self.plan.list(&key).0,
            equal: self.values(&scan.equal)?,
            equal_count: scan.equal.len() as u32,
            low: bound(self, &scan.low)?,
            high: bound(self, &scan.high)?,
            flags: u32::from(excluded(&scan.low))
                | u32::from(excluded(&scan.high)) << 1
                | u32::from(scan.single) << 3,
        };
        Ok(record.write(&mut self.plan, state))
    }

    fn project(
        &mut self,
        child: &Node,
        relation: RelationId,
        targets: &[Expr],
        needed: &Columns,
        state: u32,
    ) -> Result<At> {
        let mut produced = BTreeSet::new();
        child.produced(&mut produced);
        let mut read: Columns = needed.iter().filter(|column| column.relation != relation).copied().collect();
        let mut computed = Vec::new();
        for (index, expr) in targets.iter().enumerate() {
            let column = Column { relation, column: index as u16 };
            if !needed.contains(&column) {
                continue;
            }
            columns_in(expr, &self.tree.subplans, &mut read);
            match expr.kind {
                // A register that others have been told of already cannot be shared any more.
                ExprKind::Column(source)
                    if produced.contains(&source.relation) && !self.registers.contains_key(&column) =>
                {
                    self.aliases.insert(column, source);
                }
                _ => computed.push((column, expr)),
            }
        }
        let child_at = self.node(child, &read)?;
        if computed.is_empty() {
            return Ok(child_at);
        }
        let mut code = Code::new();
        for (column, expr) in computed {
            self.expr(&mut code, expr)?;
            let register = self.register(column)?;
            code.step_half(Step::Store, register);
        }
        let program = code.finish(&mut self.plan).0;
        let buffer = self.new_buffer();
        Ok(Project { child: child_at.0, program, buffer }.write(&mut self.plan, state))
    }

    /// Pairs of register and kind; the expressions are columns.
    fn key_list(&mut self, keys: &[(Expr, Kind)]) -> Result<u32> {
        let mut words = Vec::with_capacity(keys.len() * 2);
        for (expr, kind) in keys {
            let ExprKind::Column(column) = expr.kind else {
                return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a key is no column"));
            };
            words.extend([u32::from(self.register(column)?), *kind as u32]);
        }
        Ok(self.plan.list(&words).0)
    }

    fn keyed(&mut self, child: &Node, keys: &[(Expr, Kind)], needed: &Columns) -> Result<(u32, u32)> {
        let mut read = needed.clone();
        for (expr, _) in keys {
            columns_in(expr, &self.tree.subplans, &mut read);
        }
        let child = self.node(child, &read)?.0;
        Ok((child, self.key_list(keys)?))
    }

    fn sort(
        &mut self,
        child: &Node,
        keys: &[Key],
        bound: Option<&Expr>,
        needed: &Columns,
        state: u32,
    ) -> Result<At> {
        let mut read = needed.clone();
        for key in keys {
            columns_in(&key.expr, &self.tree.subplans, &mut read);
        }
        let at = self.node(child, &read)?.0;
        let mut words = Vec::with_capacity(keys.len() * 3);
        for key in keys {
            let ExprKind::Column(column) = key.expr.kind else {
                return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a sort key is no column"));
            };
            let direction = u32::from(key.descending) + 2 * u32::from(key.nulls_first);
            words.extend([u32::from(self.register(column)?), key.kind as u32, direction]);
        }
        let record = Sort {
            child: at,
            keys: self.plan.list(&words).0,
            saved: self.saved(child, &read)?,
            bound: bound.map_or(Ok(0), |bound| self.program(bound))?,
            buffer: self.new_buffer(),
        };
        Ok(record.write(&mut self.plan, state))
    }

    fn aggregate(
        &mut self,
        child: &Node,
        grouping: &crate::bind::tree::Grouping,
        needed: &Columns,
        state: u32,
    ) -> Result<At> {
        let mut produced = BTreeSet::new();
        child.produced(&mut produced);
        let mut read = Columns::new();
        self.reads(&grouping.keys, &mut read);
        for call in &grouping.aggregates {
            self.reads(&call.arguments, &mut read);
            call.order_by.iter().for_each(|(expr, ..)| columns_in(expr, &self.tree.subplans, &mut read));
            call.filter.iter().for_each(|expr| columns_in(expr, &self.tree.subplans, &mut read));
        }
        // Keys that are no plain columns are computed before rows are grouped.
        let mut computed = Vec::new();
        for (index, key) in grouping.keys.iter().enumerate() {
            let column = Column { relation: grouping.relation, column: index as u16 };
            match key.kind {
                ExprKind::Column(source) if produced.contains(&source.relation) => {
                    self.aliases.insert(column, source);
                }
                _ => computed.push((column, key)),
            }
        }
        let mut child_at = self.node(child, &read)?;
        if !computed.is_empty() {
            let mut code = Code::new();
            for (column, key) in computed {
                self.expr(&mut code, key)?;
                let register = self.register(column)?;
                code.step_half(Step::Store, register);
            }
            let program = code.finish(&mut self.plan).0;
            let (buffer, project) = (self.new_buffer(), self.new_state());
            child_at = Project { child: child_at.0, program, buffer }.write(&mut self.plan, project);
        }
        let mut keys = Vec::with_capacity(grouping.keys.len() * 2);
        for (index, key) in grouping.keys.iter().enumerate() {
            let column = Column { relation: grouping.relation, column: index as u16 };
            keys.extend([u32::from(self.register(column)?), table::kind(key.ty.oid) as u32]);
        }
        let mut aggregates = Vec::with_capacity(grouping.aggregates.len());
        for (index, call) in grouping.aggregates.iter().enumerate() {
            let column =
                Column { relation: grouping.relation, column: (grouping.keys.len() + index) as u16 };
            if !needed.contains(&column) {
                continue;
            }
            let kinds: Vec<u32> = call.arguments.iter().map(|expr| table::kind(expr.ty.oid) as u32).collect();
            let order: Vec<Expr> = call.order_by.iter().map(|(expr, ..)| expr.clone()).collect();
            let order_keys: Vec<u32> = call
                .order_by
                .iter()
                .flat_map(|(expr, descending, nulls_first)| {
                    [
                        table::kind(expr.ty.oid) as u32,
                        u32::from(*descending) + 2 * u32::from(*nulls_first),
                    ]
                })
                .collect();
            let record = AggregateRecord {
                op: call.aggregate.op as u32,
                argument: call.aggregate.argument.0,
                arguments: self.values(&call.arguments)?,
                count: call.arguments.len() as u32,
                kinds: self.plan.list(&kinds).0,
                filter: call.filter.as_ref().map_or(Ok(0), |filter| self.program(filter))?,
                distinct: u32::from(call.distinct),
                order: self.values(&order)?,
                order_keys: self.plan.list(&order_keys).0,
                register: self.register(column)?.into(),
            };
            aggregates.push(record.write(&mut self.plan).0);
        }
        let record = Aggregate {
            child: child_at.0,
            keys: self.plan.list(&keys).0,
            aggregates: self.plan.list(&aggregates).0,
            grouped: u32::from(grouping.grouped),
            buffer: self.new_buffer(),
        };
        Ok(record.write(&mut self.plan, state))
    }

    // ---- statements that change rows

    fn modify(&mut self, modify: &tree::Modify, needed: &Columns, state: u32) -> Result<At> {
        self.flags |= flags::WRITES | flags::READS;
        let output = |index: u16| Column { relation: modify.output, column: index };
        let mut read = Columns::new();
        // The new row's columns are the results of the query.
        for (column, value) in modify.values.iter().enumerate() {
            if let Some(value) = value {
                let new = Column { relation: modify.new, column: column as u16 };
                self.aliases.insert(new, output(*value));
                read.insert(output(*value));
            }
        }
        if let Some(row_id) = modify.row_id {
            read.insert(output(row_id));
        }
        let mut above = Columns::new();
        for (_, check) in &modify.checks {
            columns_in(check, &self.tree.subplans, &mut above);
        }
        if let Some((_, targets)) = &modify.returning {
            self.reads(targets, &mut above);
        }
        if modify.kind == ModificationKind::Update {
            // A row that has changed meanwhile is tested and computed again, from the same registers.
            self.reads(&modify.recheck, &mut above);
            self.reads(&modify.targets, &mut above);
        }
        if modify.kind == ModificationKind::Delete {
            self.reads(&modify.recheck, &mut above);
        }
        let above: Columns = above
            .into_iter()
            .map(|column| if column.relation == modify.new { self.canonical(column) } else { column })
            .collect();
        let existing: Columns = match modify.conflict.is_some() {
            true => Columns::new(),
            false => above,
        };
        read.extend(existing.iter().filter(|column| column.relation != modify.new));
        if modify.kind == ModificationKind::Insert {
            read.retain(|column| column.relation != modify.relation);
        }
        let child = self.node(&modify.child, &read)?.0;
        let mut values = Vec::with_capacity(modify.values.len());
        for value in &modify.values {
            values.push(match value {
                Some(value) => u32::from(self.register(output(*value))?) + 1,
                None => 0,
            });
        }
        let mut old = Vec::new();
        if modify.kind != ModificationKind::Insert {
            for (index, _) in modify.table.columns.iter().enumerate() {
                let column = Column { relation: modify.relation, column: index as u16 };
                let known = self.registers.get(&self.canonical(column));
                old.push(known.map_or(0, |&register| u32::from(register) + 1));
            }
        }
        let mut checks = Vec::with_capacity(modify.checks.len());
        for (name, check) in &modify.checks {
            let name = self.plan.blob(name.as_bytes()).0;
            let condition = self.program(check)?;
            checks.push(CheckRecord { name, condition }.write(&mut self.plan).0);
        }
        let mut returning = 0;
        if let Some((relation, targets)) = &modify.returning {
            let mut code = Code::new();
            for (index, target) in targets.iter().enumerate() {
                let column = Column { relation: *relation, column: index as u16 };
                if needed.contains(&column) {
                    self.expr(&mut code, target)?;
                    let register = self.register(column)?;
                    code.step_half(Step::Store, register);
                }
            }
            returning = code.finish(&mut self.plan).0;
        }
        let mut recompute = 0;
        if modify.kind == ModificationKind::Update {
            let mut code = Code::new();
            for value in modify.values.iter().flatten() {
                let target = &modify.targets[usize::from(*value)];
                let shares = self.aliases.contains_key(&output(*value));
                if !shares {
                    self.expr(&mut code, target)?;
                    let register = self.register(output(*value))?;
                    code.step_half(Step::Store, register);
                }
            }
            recompute = code.finish(&mut self.plan).0;
        }
        let conflict = match &modify.conflict {
            Some(conflict) => self.conflict(conflict, modify)?,
            None => 0,
        };
        let record = Modify {
            operation: match modify.kind {
                ModificationKind::Insert => 0,
                ModificationKind::Update => 1,
                ModificationKind::Delete => 2,
            },
            child,
            table: self.table(modify)?.0,
            row_register: match modify.row_id {
                Some(row_id) => self.register(output(row_id))?.into(),
                None => 0,
            },
            values: self.plan.list(&values).0,
            old: self.plan.list(&old).0,
            returning,
            buffer: self.new_buffer(),
            assigned: self.assigned(modify),
            conflict,
            checks: self.plan.list(&checks).0,
            scan: 0,
            recheck: self.condition(&modify.recheck)?,
            recompute,
        };
        Ok(record.write(&mut self.plan, state))
    }

    /// The columns that an `UPDATE` assigns, as a bit set.
    fn assigned(&self, modify: &tree::Modify) -> u32 {
        let mut columns = Vec::new();
        for (index, value) in modify.values.iter().enumerate() {
            let stays = value.is_some_and(|value| {
                modify.targets.get(usize::from(value)).is_some_and(|target| {
                    target.kind == ExprKind::Column(Column { relation: modify.relation, column: index as u16 })
                })
            });
            if !stays {
                columns.push(index as u16);
            }
        }
        mask(columns)
    }

    fn conflict(&mut self, conflict: &crate::bind::tree::ConflictRule, modify: &tree::Modify) -> Result<u32> {
        let mut record = ConflictRecord {
            index: conflict.index.map_or(0, |oid| oid.0),
            buffer: self.new_buffer(),
            ..ConflictRecord::default()
        };
        if let Some(update) = &conflict.update {
            record.update = 1;
            let mut code = Code::new();
            let mut values = vec![0; modify.table.columns.len()];
            for (column, expr) in update {
                self.expr(&mut code, expr)?;
                let register = self.new_register()?;
                code.step_half(Step::Store, register);
                values[usize::from(*column)] = u32::from(register) + 1;
            }
            record.program = code.finish(&mut self.plan).0;
            record.values = self.plan.list(&values).0;
            record.filter = self.condition(&conflict.filter)?;
            record.assigned = mask(update.iter().map(|(column, _)| *column));
        }
        for (relation, field) in [(modify.relation, &mut record.existing), (conflict.excluded, &mut record.excluded)] {
            let pairs: Vec<u32> = self
                .registers
                .iter()
                .filter(|(column, _)| column.relation == relation)
                .flat_map(|(column, register)| [u32::from(column.column), u32::from(*register)])
                .collect();
            *field = self.plan.list(&pairs).0;
        }
        Ok(record.write(&mut self.plan).0)
    }

    fn table(&mut self, modify: &tree::Modify) -> Result<At> {
        let table = &modify.table;
        let mut not_null = Vec::new();
        let mut names = Vec::with_capacity(table.columns.len());
        for (index, column) in table.columns.iter().enumerate() {
            let name = self.plan.blob(column.name.as_bytes()).0;
            names.push(name);
            if column.not_null && !column.dropped {
                not_null.extend([index as u32, name]);
            }
        }
        let mut indexes = Vec::with_capacity(table.indexes.len());
        for index in &table.indexes {
            indexes.push(self.index(table, index).0);
        }
        let mut references = Vec::new();
        for constraint in &table.constraints {
            if let ConstraintKind::ForeignKey(key) = &constraint.kind {
                let Some(other) = find(&modify.others, key.table) else { continue };
                let record = self.reference(&constraint.name, &other, &key.columns, &key.referenced, Some(key.index), key);
                references.push(record.0);
            }
        }
        let mut referenced_by = Vec::new();
        for referrer in &table.referenced_by {
            let Some(other) = find(&modify.others, referrer.table) else { continue };
            let constraint = other.constraints.iter().find(|constraint| constraint.oid == referrer.constraint);
            let Some(ConstraintKind::ForeignKey(key)) = constraint.map(|constraint| &constraint.kind) else { continue };
            let name = constraint.map_or("", |constraint| constraint.name.as_str());
            // An index of the other table that begins with the columns that refer, if there is one.
            let index = other.indexes.iter().find(|index| {
                let leading = index.columns.iter().take(key.columns.len()).map(|part| part.column);
                index.columns.len() >= key.columns.len() && leading.eq(key.columns.iter().copied())
            });
            let index = index.map(|index| index.oid);
            let record = self.reference(name, &other, &key.referenced, &key.columns, index, key);
            referenced_by.push(record.0);
        }
        let types: Vec<u32> =
            table.columns.iter().flat_map(|column| super::blob::type_words(column.ty)).collect();
        let record = TableRecord {
            name: self.plan.blob(table.name.as_bytes()).0,
            oid: table.oid.0,
            storage: storage(table).0,
            kinds: self.kinds(table),
            not_null: self.plan.list(&not_null).0,
            indexes: self.plan.list(&indexes).0,
            references: self.plan.list(&references).0,
            referenced_by: self.plan.list(&referenced_by).0,
            names: self.plan.list(&names).0,
            types: self.plan.list(&types).0,
        };
        Ok(record.write(&mut self.plan))
    }

    fn index(&mut self, table: &TableDef, index: &IndexDef) -> At {
        let columns = index_columns(table, index);
        let record = IndexRecord {
            name: self.plan.blob(index.name.as_bytes()).0,
            storage: index.storage.0,
            unique: u32::from(index.unique),
            columns: self.plan.list(&columns).0,
            oid: index.oid.0,
            mask: mask(index.columns.iter().map(|part| part.column)),
        };
        record.write(&mut self.plan)
    }

    fn reference(
        &mut self,
        name: &str,
        other: &TableDef,
        own: &[u16],
        others: &[u16],
        index: Option<Oid>,
        key: &crate::catalog::definition::ForeignKey,
    ) -> At {
        let words = |columns: &[u16]| -> Vec<u32> { columns.iter().map(|&column| column.into()).collect() };
        let index = index.and_then(|oid| other.index(oid));
        let record = ReferenceRecord {
            name: self.plan.blob(name.as_bytes()).0,
            other_name: self.plan.blob(other.name.as_bytes()).0,
            storage: storage(other).0,
            kinds: self.kinds(other),
            columns: self.plan.list(&words(own)).0,
            other_columns: self.plan.list(&words(others)).0,
            index: index.map_or(0, |index| index.storage.0),
            index_columns: index.map_or(0, |index| {
                let columns = index_columns(other, index);
                self.plan.list(&columns).0
            }),
            on_update: key.on_update as u32,
            on_delete: key.on_delete as u32,
            mask: mask(own.iter().copied()),
            other: other.oid.0,
        };
        record.write(&mut self.plan)
    }
}

fn find(tables: &[Arc<TableDef>], oid: Oid) -> Option<Arc<TableDef>> {
    tables.iter().find(|table| table.oid == oid).cloned()
}

fn storage(table: &TableDef) -> RelId {
    match table.rows {
        Rows::Stored(storage) => storage,
        _ => RelId(0),
    }
}

fn direction(part: &crate::catalog::definition::IndexColumn) -> u32 {
    u32::from(part.descending) + 2 * u32::from(part.nulls_first)
}

/// For each column of an index its kind, with the direction above it.
fn index_key(table: &TableDef, index: &IndexDef) -> Vec<u32> {
    let kind = |column: u16| table::kind(table.columns[usize::from(column)].ty.oid) as u32;
    index.columns.iter().map(|part| kind(part.column) | direction(part) << 8).collect()
}

/// Groups of column, kind and direction.
fn index_columns(table: &TableDef, index: &IndexDef) -> Vec<u32> {
    let kind = |column: u16| table::kind(table.columns[usize::from(column)].ty.oid) as u32;
    index
        .columns
        .iter()
        .flat_map(|part| [u32::from(part.column), kind(part.column), direction(part)])
        .collect()
}

/// Columns as bits; all bits where one does not fit.
fn mask(columns: impl IntoIterator<Item = u16>) -> u32 {
    columns.into_iter().fold(0, |mask, column| if column < 32 { mask | 1 << column } else { u32::MAX })
}

fn cast(code: &mut Code, method: Method, source: Oid, target: Type, explicit: bool) {
    let (tag, op) = match method {
        Method::Relabel => (0, Op::Identity),
        Method::Op(op) => (1, op),
        Method::Text => (2, Op::Identity),
        Method::Elements => (3, Op::Identity),
    };
    code.step(Step::Cast);
    code.byte(tag);
    code.half(op as u16);
    code.word(source.0);
    code.word(target.oid.0);
    code.word(target.typmod as u32);
    code.byte(u8::from(explicit));
}
