//! Expressions as programs, and the subplans in them.

use super::super::blob::Constant;
use super::super::program::{Code, Step};
use super::super::record::SubplanRecord;
use super::super::tree::{Subtree, SubtreeKind};
use super::{Columns, Encoder, columns_in};
use crate::bind::tree::{Column, Expr, ExprKind, TABLE_OID};
use crate::types::cast::Method;
use crate::types::function::Volatility;
use crate::types::op::Op;
use crate::types::{Kind, Oid, Type, table};
use base::{Error, Result, sqlstate};

impl Encoder<'_> {
    pub(super) fn program(&mut self, expr: &Expr) -> Result<u32> {
        let mut code = Code::new();
        self.expr(&mut code, expr)?;
        Ok(code.finish(&mut self.plan).0)
    }

    /// Pushes all values in order.
    pub(super) fn values(&mut self, exprs: &[Expr]) -> Result<u32> {
        let mut code = Code::new();
        for expr in exprs {
            self.expr(&mut code, expr)?;
        }
        Ok(code.finish(&mut self.plan).0)
    }

    /// One condition out of several; zero for none.
    pub(super) fn condition(&mut self, exprs: &[Expr]) -> Result<u32> {
        let exprs: Vec<&Expr> = exprs.iter().filter(|expr| !expr.is_true()).collect();
        let mut code = Code::new();
        match exprs.as_slice() {
            [] => {}
            [only] => self.expr(&mut code, only)?,
            several => self.all_of(&mut code, several.iter().copied(), Step::And)?,
        }
        Ok(code.finish(&mut self.plan).0)
    }

    pub(super) fn all_of<'x>(
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

    pub(super) fn constant(&mut self, code: &mut Code, value: &Constant) {
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

    pub(super) fn expr(&mut self, code: &mut Code, expr: &Expr) -> Result<()> {
        // Registers are for columns in the first place.
        const REGISTERS: u32 = 20_000;
        if !self.keeps || self.next_register > REGISTERS || !is_constant(expr) {
            return self.computed(code, expr);
        }
        // The same for all rows: computed for the first one that asks, and kept.
        let register = self.new_register()?;
        let buffer = match self.constants {
            Some(buffer) => buffer,
            None => {
                let buffer = self.new_buffer();
                self.constants = Some(buffer);
                buffer
            }
        };
        let kept = code.jump_with(Step::Kept, register);
        self.keeps = false;
        let computed = self.computed(code, expr);
        self.keeps = true;
        code.step_half(Step::KeepConstant, register);
        code.word(buffer);
        code.land(kept);
        computed
    }

    fn computed(&mut self, code: &mut Code, expr: &Expr) -> Result<()> {
        match &expr.kind {
            ExprKind::Constant(value) => self.constant(code, value),
            ExprKind::Slot(_) | ExprKind::Untyped(_) => {
                return Err(Error::statement(
                    sqlstate::INDETERMINATE_DATATYPE,
                    "could not determine the data type of a constant or parameter",
                ));
            }
            ExprKind::Parameter(index) => code.step_half(Step::Parameter, *index),
            ExprKind::Column(column)
                if column.column == TABLE_OID && self.new_row.is_some_and(|new| new.0 == column.relation) =>
            {
                let table = self.new_row.map_or(0, |new| new.1.0);
                self.constant(code, &Constant::Int(table.into()));
            }
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

    pub(super) fn subplan(&mut self, number: u16) -> Result<u16> {
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
            SubtreeKind::Joined => {
                return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a subplan has become a join"));
            }
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
}

/// Is it an operation whose value is the same throughout an execution?
fn is_constant(expr: &Expr) -> bool {
    let is_operation = match &expr.kind {
        ExprKind::Call(call) => call.op != Op::Identity,
        ExprKind::Cast(_, method, _) => *method != Method::Relabel,
        _ => false,
    };
    is_operation
        && !expr.any(&mut |part| match &part.kind {
            ExprKind::Constant(_) | ExprKind::Parameter(_) => false,
            ExprKind::Call(call) => call.volatility == Volatility::Volatile || call.op.is_external(),
            ExprKind::Cast(operand, ..) => [part, &**operand].iter().any(|one| table::kind(one.ty.oid) == Kind::Reg),
            _ => true,
        })
}

fn cast(code: &mut Code, method: Method, source: Oid, target: Type, explicit: bool) {
    let (tag, op) = match method {
        Method::Relabel => (0, Op::Identity),
        Method::Op(op) => (1, op),
        Method::Text => (2, Op::Identity),
        Method::Elements => (3, Op::Identity),
        Method::Json => (4, Op::Identity),
        Method::JsonKey => (5, Op::Identity),
    };
    code.step(Step::Cast);
    code.byte(tag);
    code.half(op as u16);
    code.word(source.0);
    code.word(target.oid.0);
    code.word(target.typmod as u32);
    code.byte(u8::from(explicit));
}
