//! Rows where they are compared, spread or listed: `ROW(…)`, `(a, b)`, and by their names the rows of tables and the records of
//! procedures.
//!
//! Whoever can do with a row's fields asks for them ([`Binder::fields_of`]). Anywhere else a row becomes a value, a record ([`Binder::record`]).

use super::Binder;
use super::expr::Clause;
use super::scope::Scope;
use super::tree::{Call, Expr, ExprKind, Source};
use super::variable::{Meaning, unassigned};
use crate::parser::ast::{self, Operator};
use crate::plan::blob::Constant;
use crate::types::function::Volatility;
use crate::types::op::Op;
use crate::types::{Oid, Type};
use base::{Error, Result, sqlstate};

/// A field of a row: its name, its value, and where it stands.
pub(super) type Field = (String, Expr, u32);

/// An operation that gives a record.
fn record_of(op: Op, arguments: Vec<Expr>) -> Expr {
    let call = Call { op, strict: false, volatility: Volatility::Immutable, arguments, name: "row", operator: false };
    Expr { kind: ExprKind::Call(Box::new(call)), ty: Type::plain(Oid::RECORD) }
}

impl Binder<'_> {
    /// The fields of a row; none if the expression is no row.
    pub(super) fn fields_of(
        &mut self,
        expr: &ast::Expr<'_>,
        scope: &Scope<'_>,
        clause: Clause,
    ) -> Result<Option<Vec<Field>>> {
        match expr.kind {
            ast::ExprKind::Row(items) => {
                let mut fields = Vec::with_capacity(items.len());
                for item in items {
                    if let ast::ExprKind::WholeRow(path) = item.kind {
                        fields.extend(self.whole(path, scope, item.at)?.ok_or_else(|| self.no_row(path, item.at))?);
                        continue;
                    }
                    let bound = self.expr(item, scope, clause)?;
                    fields.push((format!("f{}", fields.len() + 1), bound, item.at));
                }
                Ok(Some(fields))
            }
            ast::ExprKind::WholeRow(path) => self.whole(path, scope, expr.at),
            // A column of the name goes before a row.
            ast::ExprKind::Column(path @ [name]) if scope.column(name.text).is_ok_and(|found| found.is_none()) => {
                self.whole(path, scope, expr.at)
            }
            _ => Ok(None),
        }
    }

    #[cold]
    pub(super) fn no_row(&self, path: ast::Path<'_>, at: u32) -> Error {
        let name = path.last().map_or("", |name| name.text);
        let message = format!("missing FROM-clause entry for table \"{name}\"");
        Error::statement(sqlstate::UNDEFINED_TABLE, message).at(self.position(at))
    }

    /// The fields of the table's row, or of the record, that a path means.
    pub(super) fn whole(&mut self, path: ast::Path<'_>, scope: &Scope<'_>, at: u32) -> Result<Option<Vec<Field>>> {
        if let Some(item) = scope.item(path).filter(|item| !item.name.is_empty()) {
            let fields = item.columns.iter().map(|column| {
                self.note_column(&column.expr, at);
                (column.name.clone(), column.expr.clone(), at)
            });
            return Ok(Some(fields.collect()));
        }
        let known = match path {
            [name] => self.variables.iter().find(|known| known.name == name.text),
            [label, name] => self.variables.iter().find(|known| known.label == label.text && known.name == name.text),
            _ => None,
        };
        let fields = match known.map(|known| (&known.meaning, &known.name)) {
            Some((Meaning::Record(fields, _), _)) => fields.clone(),
            Some((Meaning::Unassigned, name)) => return Err(unassigned(name)),
            Some((Meaning::Parameter(_), _)) | None => return Ok(None),
        };
        let mut bound = Vec::with_capacity(fields.len());
        for (name, number) in fields {
            bound.push((name, self.client_parameter(number, at)?, at));
        }
        Ok(Some(bound))
    }

    /// The parameter that says whether the record that a path means is null as a whole.
    fn absence(&self, path: ast::Path<'_>) -> Option<u32> {
        let known = match path {
            [name] => self.variables.iter().find(|known| known.name == name.text),
            [label, name] => self.variables.iter().find(|known| known.label == label.text && known.name == name.text),
            _ => None,
        };
        match known?.meaning {
            Meaning::Record(_, absent) => absent,
            Meaning::Parameter(_) | Meaning::Unassigned => None,
        }
    }

    /// May a row be null as a whole: that of an outer join's other side, or that of a variable?
    pub(super) fn may_be_absent(&self, expr: &ast::Expr<'_>, scope: &Scope<'_>) -> bool {
        let path = match expr.kind {
            ast::ExprKind::WholeRow(path) => path,
            ast::ExprKind::Column(path @ [name]) if scope.column(name.text).is_ok_and(|found| found.is_none()) => path,
            _ => return false,
        };
        match scope.item(path).filter(|item| !item.name.is_empty()) {
            Some(item) => item.nullable,
            None => self.absence(path).is_some(),
        }
    }

    /// A row as a value.
    pub(super) fn record(&mut self, mut fields: Vec<Field>) -> Result<Expr> {
        /// How many fields one operation takes: it has three operands for each, and no more than 255.
        const AT_ONCE: usize = 80;
        if fields.len() <= AT_ONCE {
            return self.narrow_record(fields);
        }
        let mut parts = Vec::new();
        while !fields.is_empty() {
            let rest = fields.split_off(fields.len().min(AT_ONCE));
            parts.push(self.narrow_record(fields)?);
            fields = rest;
        }
        Ok(record_of(Op::JoinRecords, parts))
    }

    fn narrow_record(&mut self, fields: Vec<Field>) -> Result<Expr> {
        let mut operands = Vec::with_capacity(fields.len() * 3);
        for (name, value, at) in fields {
            let value = self.resolve_unknown(value, at)?;
            operands.push(Expr::constant(Constant::Bytes(name.into_bytes()), Type::plain(Oid::TEXT)));
            operands.push(Expr::constant(Constant::Int(value.ty.oid.0.into()), Type::plain(Oid::OID)));
            operands.push(value);
        }
        Ok(record_of(Op::MakeRecord, operands))
    }

    /// Whether a row that is a value is null: it is if all its fields are, and is not if none is.
    pub(super) fn record_is_null(&self, record: Expr, negated: bool) -> Expr {
        let op = if negated { Op::RecordIsNotNull } else { Op::RecordIsNull };
        let volatility = Volatility::Immutable;
        let call = Call { op, strict: false, volatility, arguments: vec![record], name: "record", operator: false };
        Expr { kind: ExprKind::Call(Box::new(call)), ty: Type::plain(Oid::BOOL) }
    }

    /// The row of a table, or a record, as a value; none if the path means neither. A row for which an outer join found nothing is null.
    pub(super) fn whole_record(&mut self, path: ast::Path<'_>, scope: &Scope<'_>, at: u32) -> Result<Option<Expr>> {
        let item = scope.item(path).filter(|item| !item.name.is_empty());
        // What a function gives that gives no rows is a value.
        if let Some(item) = item
            && let ([only], Some(relation)) = (item.columns.as_slice(), item.relation)
            && matches!(self.bound.relations[relation as usize].source, Source::Function { ordinality: false, .. })
        {
            self.note_column(&only.expr, at);
            return Ok(Some(only.expr.clone()));
        }
        let absent = match item.filter(|item| item.nullable).map(|item| (item.is_table, item.relation)) {
            Some((true, Some(relation))) => Some(self.table_oid(relation)),
            Some(_) => {
                return Err(self.unsupported("a whole row of a query in an outer join as a value", at));
            }
            None => None,
        };
        let Some(fields) = self.whole(path, scope, at)? else { return Ok(None) };
        let record = self.record(fields)?;
        let boolean = Type::plain(Oid::BOOL);
        let is_there = match (absent, item) {
            (Some(table), _) => Expr { kind: ExprKind::IsNull(Box::new(table), true), ty: boolean },
            (None, Some(_)) => return Ok(Some(record)),
            // A variable may be null as a whole.
            (None, None) => match self.absence(path) {
                Some(number) => {
                    let absent = self.client_parameter(number, at)?;
                    Expr { kind: ExprKind::Not(Box::new(absent)), ty: boolean }
                }
                None => return Ok(Some(record)),
            },
        };
        let ty = record.ty;
        let otherwise = Box::new(Expr::constant(Constant::Null, ty));
        Ok(Some(Expr { kind: ExprKind::Case(vec![(is_there, record)], otherwise), ty }))
    }

    /// The fields of both sides, if one is a row.
    pub(super) fn two_rows(
        &mut self,
        left: &ast::Expr<'_>,
        right: &ast::Expr<'_>,
        at: u32,
        scope: &Scope<'_>,
        clause: Clause,
    ) -> Result<Option<(Vec<Field>, Vec<Field>)>> {
        let Some(first) = self.fields_of(left, scope, clause)? else { return Ok(None) };
        let Some(second) = self.fields_of(right, scope, clause)? else { return Ok(None) };
        if first.len() != second.len() {
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, "unequal number of entries in row expressions")
                .at(self.position(at)));
        }
        Ok(Some((first, second)))
    }

    /// Two rows compared, if both sides are rows.
    pub(super) fn rows_compared(
        &mut self,
        operator: &Operator<'_>,
        left: &ast::Expr<'_>,
        right: &ast::Expr<'_>,
        scope: &Scope<'_>,
        clause: Clause,
    ) -> Result<Option<Expr>> {
        use ast::ExprKind::{Column, Row, WholeRow};
        // Most operands are none, and are not looked at twice.
        let may_be = |expr: &ast::Expr<'_>| matches!(expr.kind, Row(_) | WholeRow(_) | Column([_]));
        if !may_be(left) || !may_be(right) {
            return Ok(None);
        }
        let spelled = matches!((left.kind, right.kind), (Row(_), Row(_)));
        let Some((first, second)) = self.two_rows(left, right, operator.at, scope, clause)? else { return Ok(None) };
        if !spelled {
            // Rows that have a type are compared as sorting does: null is equal to null. One that is null as a whole is not compared.
            let may_be_absent = self.may_be_absent(left, scope) || self.may_be_absent(right, scope);
            return match operator.name {
                "=" if !may_be_absent => self.rows_distinct(first, second, true, operator.at).map(Some),
                "<>" if !may_be_absent => self.rows_distinct(first, second, false, operator.at).map(Some),
                _ => {
                    let (left, right) = (self.expr(left, scope, clause)?, self.expr(right, scope, clause)?);
                    self.operator(operator, Some(left), right).map(Some)
                }
            };
        }
        let (left, right) = (first, second);
        let pairs = left.into_iter().zip(right).map(|((_, left, _), (_, right, _))| (left, right)).collect();
        self.compare_pairs(operator, pairs).map(Some)
    }

    /// Rows by their expressions, compared.
    pub(super) fn compare_rows(
        &mut self,
        operator: &Operator<'_>,
        left: &[ast::Expr<'_>],
        right: &[ast::Expr<'_>],
        scope: &Scope<'_>,
        clause: Clause,
    ) -> Result<Expr> {
        if left.len() != right.len() {
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, "unequal number of entries in row expressions")
                .at(self.position(operator.at)));
        }
        let left = self.exprs(left, scope, clause)?;
        let right = self.exprs(right, scope, clause)?;
        let pairs = left.into_iter().zip(right).map(|((left, _), (right, _))| (left, right)).collect();
        self.compare_pairs(operator, pairs)
    }

    /// `IS DISTINCT FROM` of two rows: a field is.
    pub(super) fn rows_distinct(
        &mut self,
        left: Vec<Field>,
        right: Vec<Field>,
        negated: bool,
        at: u32,
    ) -> Result<Expr> {
        let mut tests = Vec::with_capacity(left.len());
        for ((_, left, _), (_, right, _)) in left.into_iter().zip(right) {
            tests.push(self.is_distinct(left, right, negated, at)?);
        }
        let kind = if negated { ExprKind::And(tests) } else { ExprKind::Or(tests) };
        Ok(Expr { kind, ty: Type::plain(Oid::BOOL) })
    }

    #[cold]
    fn no_fields(&self, at: u32) -> Error {
        Error::unsupported("cannot compare rows of zero length").at(self.position(at))
    }

    /// Pairs of values compared as rows are: the first pair that differs decides.
    pub(super) fn compare_pairs(&mut self, operator: &Operator<'_>, pairs: Vec<(Expr, Expr)>) -> Result<Expr> {
        let boolean = Type::plain(Oid::BOOL);
        let each = |binder: &mut Self, name, left: &Expr, right: &Expr| {
            binder.operator(&Operator { name, ..*operator }, Some(left.clone()), right.clone())
        };
        let mut tests = Vec::with_capacity(pairs.len());
        match operator.name {
            "=" | "<>" if pairs.is_empty() => Err(self.no_fields(operator.at)),
            "=" | "<>" => {
                for (left, right) in &pairs {
                    tests.push(each(self, operator.name, left, right)?);
                }
                let kind = if operator.name == "=" { ExprKind::And(tests) } else { ExprKind::Or(tests) };
                Ok(Expr { kind, ty: boolean })
            }
            "<" | "<=" | ">" | ">=" => {
                let strict = if operator.name.starts_with('<') { "<" } else { ">" };
                let mut pairs = pairs.iter().rev();
                let Some((left, right)) = pairs.next() else { return Err(self.no_fields(operator.at)) };
                let mut test = each(self, operator.name, left, right)?;
                for (left, right) in pairs {
                    let less = each(self, strict, left, right)?;
                    let equal = each(self, "=", left, right)?;
                    let rest = Expr { kind: ExprKind::And(vec![equal, test]), ty: boolean };
                    test = Expr { kind: ExprKind::Or(vec![less, rest]), ty: boolean };
                }
                Ok(test)
            }
            _ => Err(self.unsupported("this operator between rows", operator.at)),
        }
    }
}
