//! Nodes as records, from the bottom up.

use super::super::ahead;
use super::super::blob::At;
use super::super::program::{Code, Step};
use super::super::record::{
    Aggregate, AggregateRecord, Append, CommonScan, Distinct, Filter, FunctionScan, HashJoin, IndexScan, Limit,
    LockRecord, LockRows, Materialize, NestedLoop, NodeKind, Nothing, Once, Project, Recursion, SeqScan, SetOperation,
    Sort, Values, ViewScan, WindowAgg, WindowRecord, WorkScan,
};
use super::super::tree::{self, JoinType, Key, Node};
use super::modification::{index_key, storage};
use super::{Columns, DEPTH_MAX, Encoder, columns_in, flags};
use crate::bind::tree::{Column, Expr, ExprKind, FrameEnd, ROW_ID, RelationId, Source, TABLE_OID, WindowFunction};
use crate::catalog::definition::{IndexDef, Rows, TableDef};
use crate::key;
use crate::parser::ast::{LockStrength, LockWait};
use crate::types::op::Op;
use crate::types::{Kind, function, table};
use base::{Error, Result, sqlstate};
use std::collections::BTreeSet;

impl Encoder<'_> {
    /// Writes a node, given the columns that are read above it. Errors: `54001` where nodes are nested too deep.
    pub(super) fn node(&mut self, node: &Node, needed: &Columns) -> Result<At> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "the statement's plan is nested too deeply")
                .detail(format!("Nodes of a plan can be nested {DEPTH_MAX} levels deep, subqueries included.")));
        }
        // It takes the next state.
        if let Some(states) = &mut self.states_of {
            states.push((super::super::explain::place(node), self.states));
        }
        let at = self.written(node, needed);
        self.depth -= 1;
        at
    }

    pub(super) fn written(&mut self, node: &Node, needed: &Columns) -> Result<At> {
        let state = self.new_state();
        // So it is with the nodes below only where that is said.
        let all = std::mem::take(&mut self.reads_all);
        Ok(match node {
            Node::Nothing => Nothing {}.write(&mut self.plan, state),
            Node::Once { filter } => {
                let filter = self.condition(filter)?;
                Once { filter }.write(&mut self.plan, state)
            }
            Node::Values { output, rows } => {
                let mut programs = Vec::with_capacity(rows.len());
                // Each is computed once anyway.
                let keeps = std::mem::replace(&mut self.keeps, false);
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
                self.keeps = keeps;
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
                let tested = self.tested(filter, &read);
                let rest: Columns = read.difference(&tested).copied().collect();
                let columns = self.scanned(*relation, table, &tested)?;
                let late = self.scanned(*relation, table, &rest)?;
                let record = SeqScan {
                    storage: storage(table).0,
                    kinds: self.kinds(table),
                    columns,
                    late,
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
                self.reads_all = all;
                let child = self.node(child, &read)?.0;
                let condition = self.condition(condition)?;
                Filter { child, condition }.write(&mut self.plan, state)
            }
            Node::Project { child, relation, targets } => {
                self.reads_all = all;
                self.project(child, *relation, targets, needed, state)?
            }
            Node::NestedLoop { join, outer, inner, condition } => {
                let mut read = needed.clone();
                self.reads(condition, &mut read);
                let mut outer_read = read.clone();
                self.all_reads(inner, &mut outer_read);
                self.reads_all = all;
                let outer_at = self.node(outer, &outer_read)?.0;
                let inner_at = self.node(inner, &read)?.0;
                let is_ahead = ahead::may_read(outer, inner);
                let record = NestedLoop {
                    join: *join as u32,
                    outer: outer_at,
                    inner: inner_at,
                    condition: self.condition(condition)?,
                    nulls: self.saved(inner, needed)?,
                    ahead: if is_ahead { self.saved(outer, &outer_read)? } else { 0 },
                    buffer: if is_ahead { self.new_buffer() } else { 0 },
                    all: all.into(),
                };
                record.write(&mut self.plan, state)
            }
            Node::HashJoin { join, outer, inner, keys, condition } => {
                let record = self.equijoin(*join, (outer, inner), keys, condition, needed)?;
                record.write(&mut self.plan, state)
            }
            Node::MergeJoin { join, outer, inner, keys, condition } => {
                let record = self.equijoin(*join, (outer, inner), keys, condition, needed)?;
                record.write_as(NodeKind::MergeJoin, &mut self.plan, state)
            }
            Node::Sort { child, keys, bound } => self.sort(child, keys, bound.as_ref(), needed, state)?,
            Node::Limit { child, count, offset, ties } => {
                let (child, ties) = self.keyed(child, ties, needed)?;
                let buffer = self.new_buffer();
                let count = count.as_ref().map_or(Ok(0), |expr| self.program(expr))?;
                let offset = offset.as_ref().map_or(Ok(0), |expr| self.program(expr))?;
                Limit { child, count, offset, ties, buffer }.write(&mut self.plan, state)
            }
            Node::Aggregate { child, grouping, sorted } => {
                // Of groups in order, somebody may want the first ones only.
                self.reads_all = all || !*sorted;
                self.aggregate(child, (grouping, *sorted), needed, state)?
            }
            Node::Window { child, window } => self.window(child, window, needed, state)?,
            Node::Distinct { child, keys, sorted } => {
                let mut read = needed.clone();
                keys.iter().for_each(|(expr, _)| columns_in(expr, &self.tree.subplans, &mut read));
                let (at, keys) = self.keyed(child, keys, needed)?;
                let buffer = self.new_buffer();
                let saved = self.saved(child, &read)?;
                Distinct { child: at, keys, buffer, saved, sorted: u32::from(*sorted) }.write(&mut self.plan, state)
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
            Node::Recursion { number, all, columns, first, rest, .. } => {
                let mut read = needed.clone();
                columns.iter().for_each(|(expr, _)| columns_in(expr, &self.tree.subplans, &mut read));
                // Both children must set the same registers.
                let columns = self.key_list(columns)?;
                let work = self.new_state();
                self.works.insert(*number, work);
                let record = Recursion {
                    first: self.node(first, &read)?.0,
                    rest: self.node(rest, &read)?.0,
                    columns,
                    distinct: u32::from(!all),
                    work,
                    even: self.new_buffer(),
                    odd: self.new_buffer(),
                    seen: self.new_buffer(),
                };
                record.write(&mut self.plan, state)
            }
            Node::WorkScan { relation, number, filter, .. } => {
                let Some(&work) = self.works.get(number) else {
                    return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a recursion is not there"));
                };
                let mut read = needed.clone();
                self.reads(filter, &mut read);
                let columns = self.pairs(*relation, &read)?;
                let filter = self.condition(filter)?;
                WorkScan { work, columns, filter }.write(&mut self.plan, state)
            }
            Node::Materialize { child, constant } => {
                let at = self.node(child, needed)?.0;
                let saved = self.saved(child, needed)?;
                let buffer = self.new_buffer();
                Materialize { child: at, saved, buffer, constant: u32::from(*constant) }.write(&mut self.plan, state)
            }
            Node::CommonScan { relation, common, filter, .. } => {
                let tree = self.tree;
                if let Some(tree) = &tree.commons[usize::from(*common)]
                    && self.commons[usize::from(*common)] == At::NONE
                {
                    self.commons[usize::from(*common)] = self.common(tree)?;
                }
                let mut read = needed.clone();
                self.reads(filter, &mut read);
                let columns = self.pairs(*relation, &read)?;
                let filter = self.condition(filter)?;
                CommonScan { common: (*common).into(), columns, filter }.write(&mut self.plan, state)
            }
            Node::LockRows(rows) => self.lock_rows(rows, needed, state)?,
            Node::Modify(modify) => self.modify(modify, needed, state)?,
        })
    }

    /// A join by keys; one by merging has the same fields.
    fn equijoin(
        &mut self,
        join: JoinType,
        (outer, inner): (&Node, &Node),
        keys: &[(Expr, Expr, Kind)],
        condition: &[Expr],
        needed: &Columns,
    ) -> Result<HashJoin> {
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
        Ok(HashJoin {
            join: join as u32,
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
            outer_saved: self.saved(outer, &above)?,
        })
    }

    /// Pairs of column and register for rows that are kept.
    fn pairs(&mut self, relation: RelationId, read: &Columns) -> Result<u32> {
        let mut pairs = Vec::new();
        for column in read.iter().filter(|column| column.relation == relation) {
            pairs.extend([u32::from(column.column), u32::from(self.register(*column)?)]);
        }
        Ok(self.plan.list(&pairs).0)
    }

    fn lock_rows(&mut self, rows: &tree::LockRows, needed: &Columns, state: u32) -> Result<At> {
        self.flags |= flags::WRITES | flags::READS;
        let mut read = needed.clone();
        read.extend(rows.locks.iter().map(|lock| Column { relation: lock.relation, column: ROW_ID }));
        // A row that has changed meanwhile is tested and its results are computed again, from the same registers.
        self.reads(&rows.recheck.conditions, &mut read);
        rows.recheck.retested.iter().for_each(|part| self.reads(&part.condition, &mut read));
        self.results_read(&rows.results, &mut read);
        // Those behind a part may read its results.
        rows.recheck.retested.iter().rev().for_each(|part| self.results_read(&part.results, &mut read));
        let child = self.node(&rows.child, &read)?.0;
        let mut locks = Vec::with_capacity(rows.locks.len());
        for lock in &rows.locks {
            let bound = self.bound;
            let Source::Table(table) = &bound.relations[lock.relation as usize].source else { continue };
            let register = self.register(Column { relation: lock.relation, column: ROW_ID })?;
            let record = LockRecord {
                name: self.plan.blob(table.name.as_bytes()).0,
                row_register: register.into(),
                storage: storage(table).0,
                strength: match lock.strength {
                    LockStrength::KeyShare => 0,
                    LockStrength::Share => 1,
                    LockStrength::NoKeyUpdate => 2,
                    LockStrength::Update => 3,
                },
                wait: match lock.wait {
                    LockWait::Wait => 0,
                    LockWait::Error => 1,
                    LockWait::Skip => 2,
                },
                kinds: self.kinds(table),
                columns: self.columns_of(lock.relation),
                buffer: self.new_buffer(),
            };
            locks.push(record.write(&mut self.plan).0);
        }
        let mut retested = Vec::with_capacity(rows.recheck.retested.len() * 4);
        for part in &rows.recheck.retested {
            let condition = self.condition(&part.condition)?;
            let results = self.results(&part.results, &read)?;
            let buffer = if results == 0 { 0 } else { self.new_buffer() };
            let nulls = read.iter().filter(|column| part.relations.contains(&column.relation)).copied().collect();
            let nulls = self.register_list(&nulls)?;
            retested.extend([condition, results, buffer, self.plan.list(&nulls).0]);
        }
        let recheck = self.condition(&rows.recheck.conditions)?;
        let recompute = self.results(&rows.results, &read)?;
        // A row that is read again has values for all its columns that have a register, also those that only nodes below read.
        let locked = |column: &&Column| rows.locks.iter().any(|lock| lock.relation == column.relation);
        let mut set = self.made_by(&rows.child, &read);
        set.extend(self.registers.keys().filter(locked));
        let set = self.register_list(&set)?;
        let record = LockRows {
            child,
            locks: self.plan.list(&locks).0,
            retested: self.plan.list(&retested).0,
            recheck,
            recompute,
            set: self.plan.list(&set).0,
            buffer: self.new_buffer(),
        };
        Ok(record.write(&mut self.plan, state))
    }

    /// Adds what results read that are read.
    fn results_read(&self, results: &[(Column, Expr)], read: &mut Columns) {
        for (column, expr) in results {
            if read.contains(column) {
                columns_in(expr, &self.tree.subplans, read);
            }
        }
    }

    /// A program that computes the results that are read.
    fn results(&mut self, results: &[(Column, Expr)], read: &Columns) -> Result<u32> {
        let mut code = Code::new();
        for (column, expr) in results {
            if read.contains(column) && !self.aliases.contains_key(column) {
                self.expr(&mut code, expr)?;
                let register = self.register(*column)?;
                code.step_half(Step::Store, register);
            }
        }
        Ok(code.finish(&mut self.plan).0)
    }

    pub(super) fn maybe_register(&mut self, relation: RelationId, column: u16, read: &Columns) -> Result<u32> {
        let column = Column { relation, column };
        match read.contains(&column) {
            true => Ok(u32::from(self.register(column)?) + 1),
            false => Ok(0),
        }
    }

    /// Of the columns that are read of a table those that its condition reads; all if it has none.
    fn tested(&self, filter: &[Expr], read: &Columns) -> Columns {
        if filter.iter().all(Expr::is_true) {
            return read.clone();
        }
        let mut tested = Columns::new();
        self.reads(filter, &mut tested);
        tested
    }

    /// Pairs of column and register for a scan.
    pub(super) fn scanned(&mut self, relation: RelationId, table: &TableDef, read: &Columns) -> Result<u32> {
        let mut pairs = Vec::new();
        for column in read.iter().filter(|column| column.relation == relation) {
            if usize::from(column.column) < table.columns.len() {
                pairs.extend([u32::from(column.column), u32::from(self.register(*column)?)]);
            }
        }
        Ok(self.plan.list(&pairs).0)
    }

    pub(super) fn kinds(&mut self, table: &TableDef) -> u32 {
        let kinds: Vec<u32> = table.columns.iter().map(|column| table::kind(column.ty.oid) as u32).collect();
        self.plan.list(&kinds).0
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn function(
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
        let relation_width = self.bound.relations[relation as usize].columns.len() - usize::from(ordinality);
        let is_users = matches!(&call.kind, ExprKind::Call(call) if set && call.op == Op::Routine);
        let width = match &call.kind {
            _ if is_users => relation_width as u16,
            ExprKind::Call(call) if set => function::columns(call.op).len().max(1) as u16,
            _ => 1,
        };
        let mut record = FunctionScan {
            op: 0xFFFF,
            kind: table::kind(call.ty.oid) as u32,
            output: self.maybe_register(relation, 0, &read)?,
            second: if width > 1 { self.maybe_register(relation, 1, &read)? } else { 0 },
            ordinal: if ordinality { self.maybe_register(relation, width, &read)? } else { 0 },
            buffer: self.new_buffer(),
            ..FunctionScan::default()
        };
        match (&call.kind, set) {
            (ExprKind::Call(call), true) => {
                record.op = call.op as u32;
                record.count = call.arguments.len() as u32;
                record.arguments = self.values(&call.arguments)?;
                // Two have their own fields; more are a list.
                if is_users || width > 2 {
                    let registers: Result<Vec<u32>> =
                        (0..width).map(|column| self.maybe_register(relation, column, &read)).collect();
                    record.outputs = self.plan.list(&registers?).0;
                }
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

    /// Pairs of an index's column and register for all that is read of a table's rows; none if the index does not have all of it.
    fn entry(&mut self, scan: &tree::IndexScan, index: &IndexDef, read: &Columns) -> Result<Option<u32>> {
        let mut pairs = Vec::new();
        for column in read.iter().filter(|column| column.relation == scan.relation && column.column != TABLE_OID) {
            let ty = scan.table.columns.get(usize::from(column.column)).map(|column| column.ty.oid);
            let place = index.columns.iter().position(|part| part.column == Some(column.column));
            let (Some(place), true) = (place, ty.is_some_and(|oid| key::is_exact(table::kind(oid)))) else {
                return Ok(None);
            };
            pairs.extend([place as u32, u32::from(self.register(*column)?)]);
        }
        Ok(Some(self.plan.list(&pairs).0))
    }

    pub(super) fn index_scan(&mut self, scan: &tree::IndexScan, needed: &Columns, state: u32) -> Result<At> {
        self.flags |= flags::READS;
        let mut read = needed.clone();
        self.reads(&scan.filter, &mut read);
        let columns = self.scanned(scan.relation, &scan.table, &read)?;
        let Some(index) = scan.table.index(scan.index) else {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "an index is not there"));
        };
        let key = index_key(&scan.table, index);
        // What is read has been found out for the statement as a whole; here it is known exactly.
        let entry = if scan.only { self.entry(scan, index, &read)? } else { None };
        let types: Vec<u32> = match entry {
            Some(_) => (0..index.columns.len()).map(|at| index.column_type(&scan.table, at).oid.0).collect(),
            None => Vec::new(),
        };
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
                | u32::from(scan.backward) << 2
                | u32::from(scan.single) << 3
                | u32::from(entry.is_some()) << 4,
            entry: entry.unwrap_or(0),
            entry_types: self.plan.list(&types).0,
        };
        Ok(record.write(&mut self.plan, state))
    }

    pub(super) fn project(
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
                // A node of the same relation below has computed it.
                ExprKind::Column(source) if source == column => {}
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
    pub(super) fn key_list(&mut self, keys: &[(Expr, Kind)]) -> Result<u32> {
        let mut words = Vec::with_capacity(keys.len() * 2);
        for (expr, kind) in keys {
            let ExprKind::Column(column) = expr.kind else {
                return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a key is no column"));
            };
            words.extend([u32::from(self.register(column)?), *kind as u32]);
        }
        Ok(self.plan.list(&words).0)
    }

    pub(super) fn keyed(&mut self, child: &Node, keys: &[(Expr, Kind)], needed: &Columns) -> Result<(u32, u32)> {
        let mut read = needed.clone();
        for (expr, _) in keys {
            columns_in(expr, &self.tree.subplans, &mut read);
        }
        let child = self.node(child, &read)?.0;
        Ok((child, self.key_list(keys)?))
    }

    pub(super) fn sort(
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
        self.reads_all = true;
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

    pub(super) fn aggregate(
        &mut self,
        child: &Node,
        (grouping, sorted): (&crate::bind::tree::Grouping, bool),
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
        let made = self.made_by(child, &read);
        let mut saved = self.register_list(&made)?;
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
            let register = u32::from(self.register(column)?);
            keys.extend([register, table::kind(key.ty.oid) as u32]);
            if !saved.contains(&register) {
                saved.push(register);
            }
        }
        let mut aggregates = Vec::with_capacity(grouping.aggregates.len());
        for (index, call) in grouping.aggregates.iter().enumerate() {
            let column = Column { relation: grouping.relation, column: (grouping.keys.len() + index) as u16 };
            if !needed.contains(&column) {
                continue;
            }
            let kinds: Vec<u32> = call.arguments.iter().map(|expr| table::kind(expr.ty.oid) as u32).collect();
            let order: Vec<Expr> = call.order_by.iter().map(|(expr, ..)| expr.clone()).collect();
            let order_keys: Vec<u32> = call
                .order_by
                .iter()
                .flat_map(|(expr, descending, nulls_first)| {
                    [table::kind(expr.ty.oid) as u32, u32::from(*descending) + 2 * u32::from(*nulls_first)]
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
        let mut sets = Vec::with_capacity(grouping.sets.len());
        for set in &grouping.sets {
            let numbers: Vec<u32> = set.iter().map(|key| u32::from(*key)).collect();
            // An empty list is none: every set begins with how many it has.
            let counted: Vec<u32> = std::iter::once(numbers.len() as u32).chain(numbers).collect();
            sets.push(self.plan.list(&counted).0);
        }
        let mut tests = Vec::with_capacity(grouping.tests.len() * 2);
        for (index, test) in grouping.tests.iter().enumerate() {
            let column = grouping.keys.len() + grouping.aggregates.len() + index;
            let column = Column { relation: grouping.relation, column: column as u16 };
            if needed.contains(&column) {
                let numbers: Vec<u32> = test.iter().map(|key| u32::from(*key)).collect();
                tests.extend([u32::from(self.register(column)?), self.plan.list(&numbers).0]);
            }
        }
        let record = Aggregate {
            sets: self.plan.list(&sets).0,
            tests: self.plan.list(&tests).0,
            child: child_at.0,
            keys: self.plan.list(&keys).0,
            aggregates: self.plan.list(&aggregates).0,
            grouped: u32::from(grouping.grouped),
            buffer: self.new_buffer(),
            saved: self.plan.list(&saved).0,
            sorted: u32::from(sorted),
        };
        Ok(record.write(&mut self.plan, state))
    }

    pub(super) fn window(&mut self, child: &Node, window: &tree::Window, needed: &Columns, state: u32) -> Result<At> {
        let above: Columns = needed.iter().filter(|column| column.relation != window.relation).copied().collect();
        let mut read = above.clone();
        window.partition.iter().for_each(|(expr, _)| columns_in(expr, &self.tree.subplans, &mut read));
        window.order.iter().for_each(|key| columns_in(&key.expr, &self.tree.subplans, &mut read));
        for call in &window.calls {
            self.reads(&call.arguments, &mut read);
            call.filter.iter().for_each(|expr| columns_in(expr, &self.tree.subplans, &mut read));
        }
        let child_at = self.node(child, &read)?.0;
        let mut order = Vec::with_capacity(window.order.len() * 3);
        for key in &window.order {
            let ExprKind::Column(column) = key.expr.kind else {
                return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a sort key is no column"));
            };
            let direction = u32::from(key.descending) + 2 * u32::from(key.nulls_first);
            order.extend([u32::from(self.register(column)?), key.kind as u32, direction]);
        }
        let mut functions = Vec::with_capacity(window.calls.len());
        for (index, call) in window.calls.iter().enumerate() {
            let column = Column { relation: window.relation, column: index as u16 };
            if !needed.contains(&column) {
                continue;
            }
            let (op, aggregate, argument) = match call.function {
                WindowFunction::Window(op) => (op as u32, 0, 0),
                WindowFunction::Aggregate(call) => (WindowRecord::AGGREGATE, call.op as u32, call.argument.0),
            };
            let record = WindowRecord {
                op,
                aggregate,
                argument,
                arguments: self.values(&call.arguments)?,
                count: call.arguments.len() as u32,
                filter: call.filter.as_ref().map_or(Ok(0), |filter| self.program(filter))?,
                register: self.register(column)?.into(),
            };
            functions.push(record.write(&mut self.plan).0);
        }
        let frame = &window.frame;
        let offset = |encoder: &mut Self, end: &FrameEnd| end.offset().map_or(Ok(0), |expr| encoder.program(expr));
        let record = WindowAgg {
            child: child_at,
            partition: self.key_list(&window.partition)?,
            order: self.plan.list(&order).0,
            saved: self.saved(child, &above)?,
            functions: self.plan.list(&functions).0,
            frame: frame.mode as u32
                | tree::frame_end(&frame.start) << 8
                | tree::frame_end(&frame.end) << 16
                | (frame.exclude as u32) << 24,
            start: offset(self, &frame.start)?,
            end: offset(self, &frame.end)?,
            buffer: self.new_buffer(),
            results: self.new_buffer(),
        };
        Ok(record.write(&mut self.plan, state))
    }
}
