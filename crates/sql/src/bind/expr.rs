//! Expressions: operators and functions are resolved, subqueries become subplans.
//!
//! Rules
//! 1. A value that is written once is computed once: where PostgreSQL's shorthands (`BETWEEN`, `IN`, `CASE x WHEN`) use
//!    an operand several times, it is shared by [`ExprKind::Let`] unless computing it again costs nothing.
//! 2. Aggregates are taken out of the expression; what stays is a column of the grouping's relation. Which query's grouping
//!    that is, the columns in the aggregate say.

use super::grouping::Level;
use super::scope::Scope;
use super::tree::{AggregateCall, Call, Expr, ExprKind, Origin, Query, Subplan, SubplanKind};
use super::window::Called;
use super::{Binder, name};
use crate::catalog::user_type::UserTypeDef;
use crate::lexer::literal::{self, Number};
use crate::parser::ast::{self, LikeKind, Operator, Special};
use crate::parser::expr::GROUPING;
use crate::plan::blob::Constant;
use crate::types::aggregate::{AggCall, AggOp};
use crate::types::cast::Context;
use crate::types::function::{Function, Volatility};
use crate::types::op::Op;
use crate::types::resolve::{self, Callable, Resolved};
use crate::types::{Datum, Kind, Oid, Type, table, typmod, user};
use base::{Error, Result, sqlstate};
use std::sync::Arc;

/// Where an expression stands: what may be in it, and its clause's name in errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the clause of that name")]
pub enum Clause {
    Select,
    Where,
    JoinOn,
    GroupBy,
    Having,
    OrderBy,
    Limit,
    Offset,
    From,
    Values,
    Update,
    Returning,
    Check,
    Default,
    Generation,
    Index,
    IndexPredicate,
    Argument,
    AggregateArgument,
    Filter,
    WindowArgument,
    Window,
    Frame(ast::FrameMode),
    Execute,
}

impl Clause {
    /// How the clause is called where aggregates are refused; none where they are allowed.
    pub(super) fn refuses_aggregates(self) -> Option<&'static str> {
        Some(match self {
            Clause::Select | Clause::Having | Clause::OrderBy | Clause::WindowArgument | Clause::Window => return None,
            Clause::Frame(ast::FrameMode::Rows) => "aggregate functions are not allowed in window ROWS",
            Clause::Frame(ast::FrameMode::Range) => "aggregate functions are not allowed in window RANGE",
            Clause::Frame(ast::FrameMode::Groups) => "aggregate functions are not allowed in window GROUPS",
            Clause::Where => "aggregate functions are not allowed in WHERE",
            Clause::JoinOn => "aggregate functions are not allowed in JOIN conditions",
            Clause::GroupBy => "aggregate functions are not allowed in GROUP BY",
            Clause::Limit => "aggregate functions are not allowed in LIMIT",
            Clause::Offset => "aggregate functions are not allowed in OFFSET",
            Clause::From => "aggregate functions are not allowed in functions in FROM",
            Clause::Values => "aggregate functions are not allowed in VALUES",
            Clause::Update => "aggregate functions are not allowed in UPDATE",
            Clause::Returning => "aggregate functions are not allowed in RETURNING",
            Clause::Check => "aggregate functions are not allowed in check constraints",
            Clause::Default => "aggregate functions are not allowed in DEFAULT expressions",
            Clause::Generation => "aggregate functions are not allowed in column generation expressions",
            Clause::Index => "aggregate functions are not allowed in index expressions",
            Clause::IndexPredicate => "aggregate functions are not allowed in index predicates",
            Clause::Argument | Clause::Execute => "aggregate functions are not allowed in EXECUTE parameters",
            Clause::AggregateArgument => "aggregate function calls cannot be nested",
            Clause::Filter => "aggregate functions are not allowed in FILTER",
        })
    }
}

impl Binder<'_> {
    /// Binds an expression.
    pub(super) fn expr(&mut self, expr: &ast::Expr<'_>, scope: &Scope<'_>, clause: Clause) -> Result<Expr> {
        use ast::ExprKind as Ast;
        let at = expr.at;
        let boolean = Type::plain(Oid::BOOL);
        Ok(match expr.kind {
            Ast::Null => Expr::constant(Constant::Null, Type::plain(Oid::UNKNOWN)),
            Ast::Bool(value) => Expr::constant(Constant::Bool(value), boolean),
            Ast::Number(text) => self.number(text, at)?,
            Ast::String(text) => match self.slot_at(at) {
                Some(slot) => Expr { kind: ExprKind::Slot(slot), ty: Type::plain(Oid::UNKNOWN) },
                None => Expr::constant(Constant::Bytes(text.as_bytes().to_vec()), Type::plain(Oid::UNKNOWN)),
            },
            Ast::Parameter(number) => self.client_parameter(number, at)?,
            Ast::Column(path) => self.column(path, scope, at)?,
            Ast::WholeRow(path) => match self.whole_record(path, scope, at)? {
                Some(record) => record,
                None => return Err(self.no_row(path, at)),
            },
            Ast::Unary { operator, operand } => {
                let operand = self.expr(operand, scope, clause)?;
                self.operator(&operator, None, operand)?
            }
            Ast::Binary { operator, left, right } => {
                if let Some(compared) = self.rows_compared(&operator, left, right, scope, clause)? {
                    return Ok(compared);
                }
                if let (Ast::Row(left), Ast::Subquery(query)) = (left.kind, right.kind) {
                    return self.compare_row_with_query(&operator, left, query, scope, clause, at);
                }
                let left = self.expr(left, scope, clause)?;
                let right = self.expr(right, scope, clause)?;
                self.operator(&operator, Some(left), right)?
            }
            Ast::And(items) => {
                let items = self.conditions(items, "AND", scope, clause)?;
                Expr { kind: ExprKind::And(items), ty: boolean }
            }
            Ast::Or(items) => {
                let items = self.conditions(items, "OR", scope, clause)?;
                Expr { kind: ExprKind::Or(items), ty: boolean }
            }
            Ast::Not(operand) => {
                let bound = self.expr(operand, scope, clause)?;
                let bound = self.condition(bound, "NOT", operand.at)?;
                Expr { kind: ExprKind::Not(Box::new(bound)), ty: boolean }
            }
            Ast::IsNull { operand, negated } => {
                if let Some(fields) = self.fields_of(operand, scope, clause)? {
                    // A row is null if all its fields are, and not null if none is.
                    let test = |(_, field, _)| Expr { kind: ExprKind::IsNull(Box::new(field), negated), ty: boolean };
                    return Ok(Expr { kind: ExprKind::And(fields.into_iter().map(test).collect()), ty: boolean });
                }
                let bound = self.expr(operand, scope, clause)?;
                let bound = if matches!(bound.kind, ExprKind::Untyped(_) | ExprKind::Slot(_)) {
                    self.resolve_unknown(bound, operand.at)?
                } else {
                    bound
                };
                if bound.ty.oid == Oid::RECORD {
                    return Ok(self.record_is_null(bound, negated));
                }
                Expr { kind: ExprKind::IsNull(Box::new(bound), negated), ty: boolean }
            }
            Ast::IsTruth { operand, truth, negated } => {
                let words = match (truth, negated) {
                    (Some(true), false) => "IS TRUE",
                    (Some(true), true) => "IS NOT TRUE",
                    (Some(false), false) => "IS FALSE",
                    (Some(false), true) => "IS NOT FALSE",
                    (None, false) => "IS UNKNOWN",
                    (None, true) => "IS NOT UNKNOWN",
                };
                let bound = self.expr(operand, scope, clause)?;
                let bound = Box::new(self.condition(bound, words, operand.at)?);
                let kind = match truth {
                    Some(truth) => ExprKind::IsTruth(bound, truth, negated),
                    None => ExprKind::IsNull(bound, negated),
                };
                Expr { kind, ty: boolean }
            }
            Ast::IsDistinct { left, right, negated } => {
                if let Some((left, right)) = self.two_rows(left, right, at, scope, clause)? {
                    return self.rows_distinct(left, right, negated, at);
                }
                let left = self.expr(left, scope, clause)?;
                let right = self.expr(right, scope, clause)?;
                self.is_distinct(left, right, negated, at)?
            }
            Ast::Between { operand, low, high, negated, symmetric } => {
                let operand = self.expr(operand, scope, clause)?;
                let (low, high) = (self.expr(low, scope, clause)?, self.expr(high, scope, clause)?);
                self.between(operand, low, high, negated, symmetric, at)?
            }
            Ast::In { operand, list, negated } => self.in_list(operand, list, negated, scope, clause, at)?,
            Ast::Like { operand, pattern, escape, kind, negated } => {
                let operand = self.expr(operand, scope, clause)?;
                let mut pattern = self.expr(pattern, scope, clause)?;
                if kind == LikeKind::Similar {
                    let mut arguments = vec![pattern];
                    if let Some(escape) = escape {
                        arguments.push(self.expr(escape, scope, clause)?);
                    }
                    let pattern = self.function("similar_to_escape", arguments, at)?;
                    let name = if negated { "!~" } else { "~" };
                    return self.operator(&Operator { schema: None, name, at }, Some(operand), pattern);
                }
                if let Some(escape) = escape {
                    let escape = self.expr(escape, scope, clause)?;
                    pattern = self.function("like_escape", vec![pattern, escape], at)?;
                }
                let name = match (kind, negated) {
                    (LikeKind::Ilike, false) => "~~*",
                    (LikeKind::Ilike, true) => "!~~*",
                    (_, false) => "~~",
                    (_, true) => "!~~",
                };
                self.operator(&Operator { schema: None, name, at }, Some(operand), pattern)?
            }
            Ast::Quantified { left, operator, all, right, negated } => {
                let bound = match right.kind {
                    Ast::Subquery(query) => self.quantified_query(left, &operator, all, query, scope, clause)?,
                    _ => {
                        let left = self.expr(left, scope, clause)?;
                        let right = self.expr(right, scope, clause)?;
                        self.quantified_array(left, &operator, all, right)?
                    }
                };
                match negated {
                    true => Expr { kind: ExprKind::Not(Box::new(bound)), ty: boolean },
                    false => bound,
                }
            }
            Ast::Case { operand, branches, otherwise } => self.case(operand, branches, otherwise, scope, clause)?,
            Ast::Cast { operand, target } => {
                let (ty, domain) = self.type_or_domain(target)?;
                // `ARRAY[]::int[]` says the type of an array without elements.
                if let Ast::Array(items) = operand.kind
                    && let Some(element) = table::element_of(ty.oid)
                {
                    let array = self.array(items, Some(element), scope, clause, operand.at)?;
                    let array = self.coerce(array, ty, Context::Explicit, at)?;
                    return match domain {
                        Some(domain) => self.into_domain(array, &domain),
                        None => Ok(array),
                    };
                }
                let bound = self.expr(operand, scope, clause)?;
                let bound = self.coerce(bound, ty, Context::Explicit, operand.at)?;
                match domain {
                    Some(domain) => self.into_domain(bound, &domain)?,
                    None => bound,
                }
            }
            Ast::Call(call) => self.function_call(call, scope, clause, at)?,
            Ast::Coalesce(items) => {
                let items = self.exprs(items, scope, clause)?;
                let (items, ty) = self.unify(items, "COALESCE")?;
                Expr { kind: ExprKind::Coalesce(items), ty }
            }
            Ast::Greatest(items) | Ast::Least(items) => {
                let greatest = matches!(expr.kind, Ast::Greatest(_));
                let items = self.exprs(items, scope, clause)?;
                let (items, ty) = self.unify(items, if greatest { "GREATEST" } else { "LEAST" })?;
                Expr { kind: ExprKind::Extreme(items, table::kind(ty.oid), greatest), ty }
            }
            Ast::NullIf(first, second) => {
                let first_at = first.at;
                let first = self.expr(first, scope, clause)?;
                let second = self.expr(second, scope, clause)?;
                // The value is the operand of `=`, of the type that it is compared as.
                let resolved = resolve::resolve_operator("=", Some(first.ty.oid), second.ty.oid)
                    .map_err(|error| error.at(self.position(at)))?;
                let operand = resolved.args.first().copied().unwrap_or(Oid::TEXT);
                let first = self.coerce(first, Type::plain(operand), resolved.context, first_at)?;
                let first = self.resolve_unknown(first, first_at)?;
                let ty = first.ty;
                self.share(first, |binder, shared| {
                    let operator = Operator { schema: None, name: "=", at };
                    let equal = binder.operator(&operator, Some(shared.clone()), second)?;
                    let null = Expr::constant(Constant::Null, ty);
                    Ok(Expr { kind: ExprKind::Case(vec![(equal, null)], Box::new(shared)), ty })
                })?
            }
            Ast::Special(special, precision) => self.special(special, precision, at)?,
            Ast::Exists(query) => {
                let query = self.subquery(query, scope, clause)?;
                self.subplan(query, SubplanKind::Exists, boolean)
            }
            Ast::Subquery(query) => {
                let query = self.subquery(query, scope, clause)?;
                let ty = self.only_column(&query, at)?;
                self.subplan(query, SubplanKind::Scalar, ty)
            }
            Ast::ArrayQuery(query) => {
                let query = self.subquery(query, scope, clause)?;
                let ty = self.only_column(&query, at)?;
                let array = self.array_of(ty.oid, at)?;
                self.subplan(query, SubplanKind::Array, Type::plain(array))
            }
            Ast::Array(items) => self.array(items, None, scope, clause, at)?,
            Ast::Row(_) => {
                let fields = self.fields_of(expr, scope, clause)?.unwrap_or_default();
                self.record(fields)?
            }
            Ast::Subscript(operand, subscripts) => {
                let operand_at = operand.at;
                let operand = self.expr(operand, scope, clause)?;
                self.subscripted(operand, subscripts, scope, clause, operand_at)?
            }
            Ast::Field(operand, field) => self.field_of(operand, field, scope, clause, at)?,
            Ast::Collate(operand, path) => {
                let operand = self.expr(operand, scope, clause)?;
                if !table::is_collatable(operand.ty.oid) {
                    let ty = typmod::format_type(Type::plain(operand.ty.oid));
                    let message = format!("collations are not supported by type {ty}");
                    return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message).at(self.position(at)));
                }
                match path.last().map_or("", |name| name.text) {
                    "C" | "POSIX" | "default" | "ucs_basic" => operand,
                    other => {
                        let message = format!("collation \"{other}\" for encoding \"UTF8\" does not exist");
                        return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message).at(self.position(at)));
                    }
                }
            }
            Ast::Default => {
                let message = "DEFAULT is not allowed in this context";
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, message).at(self.position(at)));
            }
        })
    }

    pub(super) fn exprs(
        &mut self,
        items: &[ast::Expr<'_>],
        scope: &Scope<'_>,
        clause: Clause,
    ) -> Result<Vec<(Expr, u32)>> {
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            bound.push((self.expr(item, scope, clause)?, item.at));
        }
        Ok(bound)
    }

    fn conditions(
        &mut self,
        items: &[ast::Expr<'_>],
        word: &str,
        scope: &Scope<'_>,
        clause: Clause,
    ) -> Result<Vec<Expr>> {
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            let expr = self.expr(item, scope, clause)?;
            bound.push(self.condition(expr, word, item.at)?);
        }
        Ok(bound)
    }

    fn number(&mut self, text: &str, at: u32) -> Result<Expr> {
        let (oid, constant) = match literal::number(text.strip_prefix('-').unwrap_or(text)) {
            Number::Int4(value) if !text.starts_with('-') => (Oid::INT4, Some(Constant::Int(value.into()))),
            Number::Int8(value) if !text.starts_with('-') => (Oid::INT8, Some(Constant::Int(value))),
            Number::Int8(value) if i32::try_from(-value).is_ok() => (Oid::INT4, Some(Constant::Int(-value))),
            Number::Int4(value) => (Oid::INT4, Some(Constant::Int(-i64::from(value)))),
            Number::Int8(value) => (Oid::INT8, Some(Constant::Int(-value))),
            Number::Numeric if text == "-9223372036854775808" => (Oid::INT8, Some(Constant::Int(i64::MIN))),
            Number::Numeric => (Oid::NUMERIC, None),
        };
        if let Some(slot) = self.slot_at(at) {
            return Ok(self.parameter(Type::plain(oid), Origin::Slot(slot)));
        }
        if let Some(constant) = constant {
            return Ok(Expr::constant(constant, Type::plain(oid)));
        }
        let text = Expr::constant(Constant::Bytes(text.as_bytes().to_vec()), Type::plain(Oid::UNKNOWN));
        self.coerce(text, Type::plain(oid), Context::Implicit, at)
    }

    pub(super) fn client_parameter(&mut self, number: u32, at: u32) -> Result<Expr> {
        let index = number.wrapping_sub(1) as usize;
        let known = self.bound.client_types.len();
        if number == 0 || number > u32::from(u16::MAX) || (index >= known && !self.new_parameters) {
            let message = format!("there is no parameter ${number}");
            return Err(Error::statement(sqlstate::UNDEFINED_PARAMETER, message).at(self.position(at)));
        }
        if index >= known {
            self.bound.client_types.resize(index + 1, None);
        }
        let number = index as u16;
        Ok(match self.bound.client_types[index] {
            Some(oid) => self.parameter(Type::plain(oid), Origin::Client(number)),
            None => Expr { kind: ExprKind::Untyped(number), ty: Type::plain(Oid::UNKNOWN) },
        })
    }

    // ---- names

    pub(super) fn plain_column(&mut self, path: ast::Path<'_>, scope: &Scope<'_>, at: u32) -> Result<Expr> {
        let missing = |binder: &Self, message: String| {
            Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message).at(binder.position(at)))
        };
        let [before @ .., last] = path else { return missing(self, "column does not exist".to_owned()) };
        if before.is_empty() {
            let found = scope.column(last.text).map_err(|error| error.at(self.position(at)))?;
            return match found {
                Some(expr) => {
                    self.note_column(expr, at);
                    self.record_column(path, scope, expr);
                    Ok(expr.clone())
                }
                None if last.text == "tableoid" && scope.only_table().is_some() => {
                    Ok(self.table_oid(scope.only_table().unwrap_or_default()))
                }
                None if scope.item(path).is_some() => match self.whole_record(path, scope, at)? {
                    Some(record) => Ok(record),
                    None => missing(self, format!("column \"{}\" does not exist", last.text)),
                },
                None => missing(self, format!("column \"{}\" does not exist", last.text)),
            };
        }
        let Some(item) = scope.item(before) else {
            let name = before.last().map_or("", |name| name.text);
            let message = format!("missing FROM-clause entry for table \"{name}\"");
            return Err(Error::statement(sqlstate::UNDEFINED_TABLE, message).at(self.position(at)));
        };
        if let Some(expr) = item.column(last.text).map_err(|error| error.at(self.position(at)))? {
            self.note_column(expr, at);
            self.record_column(path, scope, expr);
            return Ok(expr.clone());
        }
        match (last.text, item.relation) {
            ("tableoid", Some(relation)) if item.is_table => Ok(self.table_oid(relation)),
            _ => missing(self, format!("column {}.{} does not exist", item.name, last.text)),
        }
    }

    /// The type that a type's name means, and the domain if it is one.
    fn type_or_domain(&mut self, name: &ast::TypeName<'_>) -> Result<(Type, Option<Arc<UserTypeDef>>)> {
        let (ty, domain) = self.catalog.type_or_domain(name).map_err(|error| match error.position() {
            None => error.at(self.position(name.at)),
            Some(_) => error,
        })?;
        let named = domain.as_ref().map_or(ty.oid, |domain| domain.oid);
        if user::is_user(named) {
            let searched = matches!(name.path, [only] if user::marked(only.text).is_none());
            self.note_type(named, searched);
            self.record_type(name.path, named);
        }
        Ok((ty, domain))
    }

    /// The statement depends on a type of a user.
    pub(super) fn note_type(&mut self, oid: Oid, searched: bool) {
        let Some(base) = user::base_of(oid) else { return };
        let Some(found) = self.catalog.user_type(base) else { return };
        let known = (base, found.version, searched);
        if !self.bound.types.contains(&known) {
            self.bound.types.push(known);
        }
    }

    // ---- operators and functions

    /// The operation of an operator between operands.
    pub(super) fn operator(&mut self, operator: &Operator<'_>, left: Option<Expr>, right: Expr) -> Result<Expr> {
        let at = operator.at;
        if operator.schema.is_some_and(|schema| schema.text != "pg_catalog") {
            let message = format!("operator does not exist: {}", operator.name);
            return Err(Error::statement(sqlstate::UNDEFINED_FUNCTION, message).at(self.position(at)));
        }
        let types = (left.as_ref().map(|left| left.ty.oid), right.ty.oid);
        let resolved =
            resolve::resolve_operator(operator.name, types.0, types.1).map_err(|error| error.at(self.position(at)))?;
        let Resolved { row, args, result, context } = resolved;
        if row.op.comparison().is_some() {
            args.iter().try_for_each(|oid| self.check_equality(*oid, at))?;
        }
        let operands: Vec<Expr> = left.into_iter().chain([right]).collect();
        let mut arguments = Vec::with_capacity(operands.len());
        for (operand, oid) in operands.into_iter().zip(args) {
            arguments.push(self.coerce(operand, Type::plain(oid), context, at)?);
        }
        self.with_arrays(row.op, &mut arguments)?;
        let call = Call {
            op: row.op,
            strict: row.op.is_strict() || row.op == Op::Identity,
            volatility: Volatility::Immutable,
            arguments,
            name: row.name,
            operator: true,
        };
        Ok(self.call(call, Type::plain(result)))
    }

    /// A call of a function of `pg_catalog`.
    pub(super) fn function(&mut self, name: &str, arguments: Vec<Expr>, at: u32) -> Result<Expr> {
        let types: Vec<Oid> = arguments.iter().map(|argument| argument.ty.oid).collect();
        match resolve::resolve_function(name, &types).map_err(|error| error.at(self.position(at)))? {
            Callable::Function(function) => self.resolved_call(function, arguments, at),
            _ => Err(self.unsupported("this call", at)),
        }
    }

    fn resolved_call(&mut self, function: Resolved<Function>, arguments: Vec<Expr>, at: u32) -> Result<Expr> {
        let Resolved { row, args, result, context } = function;
        let mut coerced = Vec::with_capacity(arguments.len() + 1);
        if matches!(row.op, Op::EnumFirst | Op::EnumLast | Op::EnumAll | Op::EnumRange | Op::ArrayFill) {
            // Which type it is is not told by a null.
            let oid = args.first().map_or(0, |oid| oid.0);
            coerced.push(Expr::constant(Constant::Int(oid.into()), Type::plain(Oid::OID)));
        }
        for (index, (argument, oid)) in arguments.into_iter().zip(args).enumerate() {
            coerced.push(match (row.op, row.variadic && oid == Oid::ANY) {
                (Op::JsonBuildObject | Op::JsonbBuildObject, true) if index % 2 == 0 => {
                    self.as_json_key(argument, at)?
                }
                (Op::JsonBuildObject | Op::JsonBuildArray, true) => self.as_json(argument, Oid::JSON, at)?,
                (Op::JsonbBuildObject | Op::JsonbBuildArray, true) => self.as_json(argument, Oid::JSONB, at)?,
                (_, true) => self.as_text(argument, at)?,
                (_, false) => self.coerce(argument, Type::plain(oid), context, at)?,
            });
        }
        self.with_arrays(row.op, &mut coerced)?;
        if matches!(row.op, Op::ToJson | Op::ToJsonb)
            && let Some(argument) = coerced.pop()
        {
            return self.as_json(argument, result, at);
        }
        let call = Call {
            op: row.op,
            strict: row.strict,
            volatility: row.volatility,
            arguments: coerced,
            name: row.name,
            operator: false,
        };
        if call.op == Op::ClockTimestamp {
            self.bound.uses_clock = true;
        }
        Ok(self.call(call, Type::plain(result)))
    }

    /// A call as it was written; a set-returning function only where `sets` allows it.
    fn function_call(&mut self, call: &ast::Call<'_>, scope: &Scope<'_>, clause: Clause, at: u32) -> Result<Expr> {
        let (expr, set) = self.any_call(call, scope, clause, at)?;
        if set {
            return Err(Error::unsupported("set-returning functions are supported in FROM only")
                .hint("Use the function as an item of FROM, with LATERAL if it needs other items' columns.")
                .at(self.position(at)));
        }
        Ok(expr)
    }

    /// A call, and whether it gives a set.
    pub(super) fn any_call(
        &mut self,
        call: &ast::Call<'_>,
        scope: &Scope<'_>,
        clause: Clause,
        at: u32,
    ) -> Result<(Expr, bool)> {
        let [before @ .., last] = call.path else { return Err(self.unsupported("this call", at)) };
        if before.is_empty() && last.text == GROUPING && call.over.is_none() {
            return Ok((self.grouping_test(call, scope, clause, at)?, false));
        }
        const ARGUMENTS_MAX: usize = 100;
        if call.arguments.len() > ARGUMENTS_MAX {
            let message = format!("cannot pass more than {ARGUMENTS_MAX} arguments to a function");
            return Err(Error::statement(sqlstate::TOO_MANY_ARGUMENTS, message).at(self.position(at)));
        }
        if !call.within_group.is_empty() {
            return Ok((self.within_group(call, scope, clause, at)?, false));
        }
        // Arguments of an aggregate are bound knowing that they are.
        let is_aggregate = !crate::types::aggregate::by_name(last.text).is_empty()
            && crate::types::function::by_name(last.text).is_empty();
        let is_known = is_aggregate || !crate::types::window::by_name(last.text).is_empty();
        let inner = match () {
            () if call.over.is_some() => Clause::WindowArgument,
            () if is_aggregate => Clause::AggregateArgument,
            () => clause,
        };
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in call.arguments {
            arguments.push(self.expr(&argument.value, scope, inner)?);
        }
        arguments.retain(|argument| !super::fields::is_no_argument(argument));
        if let Some(found) = self.routine_called(call, &arguments, at)? {
            return self.routine_call(call, found, arguments, clause, at);
        }
        if call.variadic {
            if call.over.is_some() || is_aggregate {
                return Err(self.unsupported("VARIADIC in a call of an aggregate", at));
            }
            return Ok((self.spread_call(last.text, arguments, at)?, false));
        }
        if last.text == "overlaps" {
            self.span_ends(&mut arguments, at)?;
        }
        let arguments_named = call.arguments.iter().any(|argument| argument.name.is_some());
        if arguments_named || crate::types::argument::has_defaults(last.text) {
            arguments = self.by_name(call, last.text, arguments, at)?;
        }
        let types: Vec<Oid> = arguments.iter().map(|argument| argument.ty.oid).collect();
        let in_catalog = before.last().is_none_or(|schema| super::fields::has_function(schema.text, last.text));
        let known =
            in_catalog && (before.is_empty() || !crate::types::function::by_name(last.text).is_empty() || is_known);
        let callable = match known {
            true => resolve::resolve_function(last.text, &types),
            false => Err(self.not_callable(before.last().map_or("", |name| name.text), last.text, &types)),
        };
        let schema = before.last().map(|name| name.text);
        let is_procedure = |error| self.catalog.no_function(schema, last.text, types.len(), error);
        match callable.map_err(|error| is_procedure(error).at(self.position(at)))? {
            Callable::Aggregate(aggregate) if call.over.is_some() => {
                let called = Called::Aggregate(aggregate);
                Ok((self.window_call(call, called, arguments, scope, clause, at)?, false))
            }
            Callable::Window(function) => {
                if call.over.is_none() {
                    let message = format!("window function {} requires an OVER clause", last.text);
                    return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).at(self.position(at)));
                }
                let called = Called::Window(function);
                Ok((self.window_call(call, called, arguments, scope, clause, at)?, false))
            }
            Callable::Aggregate(aggregate) => {
                let expr = self.aggregate(call, aggregate, arguments, scope, clause, at)?;
                Ok((expr, false))
            }
            callable => {
                let refuse = |what: &str| {
                    let message = format!("{what} specified, but {} is not an aggregate function", last.text);
                    Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).at(self.position(at)))
                };
                if call.star {
                    let message = format!("{}(*) specified, but {} is not an aggregate function", last.text, last.text);
                    return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).at(self.position(at)));
                }
                if call.distinct {
                    return refuse("DISTINCT");
                }
                if !call.order_by.is_empty() {
                    return refuse("ORDER BY");
                }
                if call.filter.is_some() {
                    return refuse("FILTER");
                }
                if call.over.is_some() {
                    let message =
                        format!("OVER specified, but {} is not a window function nor an aggregate function", last.text);
                    return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).at(self.position(at)));
                }
                match callable {
                    // What type it is is known now.
                    Callable::Function(function) if function.row.op == Op::TypeOf => {
                        let oid = types.first().copied().unwrap_or(Oid::UNKNOWN);
                        Ok((Expr::constant(Constant::of(Datum::Int(oid.0.into())), Type::plain(Oid::REGTYPE)), false))
                    }
                    Callable::Function(function) => {
                        let set = function.row.returns_set;
                        Ok((self.resolved_call(function, arguments, at)?, set))
                    }
                    Callable::Cast(oid, _) => {
                        let Some(argument) = arguments.pop() else { return Err(self.unsupported("this call", at)) };
                        Ok((self.coerce(argument, Type::plain(oid), Context::Explicit, at)?, false))
                    }
                    Callable::Aggregate(_) | Callable::Window(_) => Err(self.unsupported("this call", at)),
                }
            }
        }
    }

    /// The arguments of a call in the function's order, with what stands for those that were left out.
    fn by_name(&mut self, call: &ast::Call<'_>, name: &str, arguments: Vec<Expr>, at: u32) -> Result<Vec<Expr>> {
        let positional = call.arguments.iter().take_while(|argument| argument.name.is_none()).count();
        let refused = |binder: &Self, message: String, at: u32| {
            Err(Error::statement(sqlstate::SYNTAX_ERROR, message).at(binder.position(at)))
        };
        let mut names: Vec<&str> = Vec::new();
        for argument in &call.arguments[positional..] {
            let Some(name) = argument.name else {
                return refused(self, "positional argument cannot follow named argument".into(), argument.value.at);
            };
            if names.contains(&name.text) {
                return refused(self, format!("argument name \"{}\" used more than once", name.text), name.at);
            }
            names.push(name.text);
        }
        let Some(places) = crate::types::argument::places(name, positional, &names) else {
            if names.is_empty() {
                return Ok(arguments);
            }
            let shown = |(argument, expr): (&ast::Argument<'_>, &Expr)| {
                let ty = resolve::show(expr.ty.oid);
                argument.name.map_or(ty.clone(), |name| format!("{} => {ty}", name.text))
            };
            let shown: Vec<String> = call.arguments.iter().zip(&arguments).map(shown).collect();
            let message = format!("function {name}({}) does not exist", shown.join(", "));
            return Err(Error::statement(sqlstate::UNDEFINED_FUNCTION, message)
                .hint(
                    "No function matches the given name and argument types. You might need to add explicit type casts.",
                )
                .at(self.position(at)));
        };
        let zero = || Expr::constant(Constant::Int(0), Type::plain(Oid::INT4));
        let mut arguments: Vec<Option<Expr>> = arguments.into_iter().map(Some).collect();
        let taken =
            |place: Option<usize>| place.and_then(|place| arguments.get_mut(place)?.take()).unwrap_or_else(zero);
        Ok(places.into_iter().map(taken).collect())
    }

    fn aggregate(
        &mut self,
        call: &ast::Call<'_>,
        aggregate: Resolved<crate::types::aggregate::Aggregate>,
        arguments: Vec<Expr>,
        scope: &Scope<'_>,
        clause: Clause,
        at: u32,
    ) -> Result<Expr> {
        let Resolved { row, args, result, context } = aggregate;
        if row.op == AggOp::CountRows && !call.star {
            let message = "count(*) must be used to call a parameterless aggregate function";
            return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).at(self.position(at)));
        }
        if row.op.is_ordered_set() {
            let message = format!("WITHIN GROUP is required for ordered-set aggregate {}", row.name);
            return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).at(self.position(at)));
        }
        let mut coerced = Vec::with_capacity(arguments.len());
        for (index, (argument, oid)) in arguments.into_iter().zip(&args).enumerate() {
            coerced.push(match (row.op, index) {
                (AggOp::JsonObjectAgg | AggOp::JsonbObjectAgg, 0) => self.as_json_key(argument, at)?,
                (AggOp::JsonObjectAgg, _) => self.as_json(argument, Oid::JSON, at)?,
                (AggOp::JsonbObjectAgg, _) => self.as_json(argument, Oid::JSONB, at)?,
                // The catalog knows the text of what is an object's name, the aggregate does not.
                (AggOp::JsonAgg | AggOp::JsonbAgg, _) if table::kind(*oid) == Kind::Reg => {
                    self.as_text(argument, at)?
                }
                _ => self.coerce(argument, Type::plain(*oid), context, at)?,
            });
        }
        if call.distinct {
            if matches!(row.op, AggOp::JsonObjectAgg | AggOp::JsonbObjectAgg) {
                return Err(self.unsupported("DISTINCT of keys and values", at));
            }
            for argument in &coerced {
                self.check_equality(argument.ty.oid, at)?;
            }
        }
        let filter = match call.filter {
            Some(filter) => {
                let bound = self.expr(filter, scope, Clause::Filter)?;
                Some(self.condition(bound, "FILTER", filter.at)?)
            }
            None => None,
        };
        let mut order_by = Vec::with_capacity(call.order_by.len());
        for item in call.order_by {
            let expr = self.expr(&item.expr, scope, Clause::AggregateArgument)?;
            let expr = self.resolve_unknown(expr, item.expr.at)?;
            self.check_order(expr.ty.oid, item.expr.at)?;
            order_by.push((expr, item.descending, item.nulls_first.unwrap_or(item.descending)));
        }
        let argued = |expr: &Expr| coerced.iter().any(|argument| self.bound.same(argument, expr));
        if call.distinct && order_by.iter().any(|(expr, ..)| !argued(expr)) {
            if !self.slots.is_empty() {
                return Err(self.ask_for_literals());
            }
            let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
            return Err(Error::statement(sqlstate::INVALID_COLUMN_REFERENCE, message).at(self.position(at)));
        }
        let argument = match coerced.first() {
            Some(argument) if matches!(row.op, AggOp::JsonAgg | AggOp::JsonbAgg) => argument.ty.oid,
            _ => args.first().copied().unwrap_or(Oid::INT4),
        };
        let ty = Type::plain(result);
        let call = AggregateCall {
            aggregate: AggCall::new(row.op, argument),
            arguments: coerced,
            distinct: call.distinct,
            order_by,
            filter,
            ty,
            name: row.name,
        };
        self.collect(call, scope, clause, at)
    }

    /// Takes an aggregate out of the expression; what stays is a column.
    pub(super) fn collect(&mut self, call: AggregateCall, scope: &Scope<'_>, clause: Clause, at: u32) -> Result<Expr> {
        let ty = call.ty;
        let level = self.level_of(&call, scope, at)?;
        let clause = level.map_or(clause, |level| self.around[level].clause);
        if let Some(message) = clause.refuses_aggregates() {
            return Err(Error::statement(sqlstate::GROUPING_ERROR, message).at(self.position(at)));
        }
        let grouping = match level {
            Some(level) => self.around[level].grouping.as_mut(),
            None => self.grouping.as_mut(),
        };
        let Some(grouping) = grouping else {
            let message = "aggregate functions are not allowed here";
            return Err(Error::statement(sqlstate::GROUPING_ERROR, message).at(self.position(at)));
        };
        let index = grouping.aggregates.iter().position(|other| *other == call).unwrap_or_else(|| {
            grouping.aggregates.push(call);
            grouping.aggregates.len() - 1
        });
        if index >= usize::from(super::grouping::TESTS - super::grouping::AGGREGATES) {
            return Err(Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "the statement has too many aggregates"));
        }
        // Keys are not known yet: aggregates are numbered from the end of the columns backwards until they are.
        let column = Expr::column(grouping.relation, super::grouping::AGGREGATES + index as u16, ty);
        self.note_column(&column, at);
        Ok(column)
    }

    pub(super) fn is_distinct(&mut self, left: Expr, right: Expr, negated: bool, at: u32) -> Result<Expr> {
        let ty = Type::plain(Oid::BOOL);
        let resolved = resolve::resolve_operator("=", Some(left.ty.oid), right.ty.oid)
            .map_err(|error| error.at(self.position(at)))?;
        let [first, second] = resolved.args[..] else { return Err(self.unsupported("IS DISTINCT FROM here", at)) };
        let left = self.coerce(left, Type::plain(first), resolved.context, at)?;
        let right = self.coerce(right, Type::plain(second), resolved.context, at)?;
        let kind = ExprKind::IsDistinct(Box::new(left), Box::new(right), table::kind(first), negated);
        Ok(Expr { kind, ty })
    }

    /// Gives `build` an expression that stands for `value`, which is computed once.
    pub(super) fn share(&mut self, value: Expr, build: impl FnOnce(&mut Self, Expr) -> Result<Expr>) -> Result<Expr> {
        let cheap = matches!(
            value.kind,
            ExprKind::Constant(_)
                | ExprKind::Column(_)
                | ExprKind::Parameter(_)
                | ExprKind::Shared(_)
                | ExprKind::Slot(_)
                | ExprKind::Untyped(_)
        );
        if cheap {
            return build(self, value);
        }
        let number = self.bound.shared;
        self.bound.shared += 1;
        let body = build(self, Expr { kind: ExprKind::Shared(number), ty: value.ty })?;
        let ty = body.ty;
        Ok(Expr { kind: ExprKind::Let(number, Box::new(value), Box::new(body)), ty })
    }

    fn between(
        &mut self,
        operand: Expr,
        low: Expr,
        high: Expr,
        negated: bool,
        symmetric: bool,
        at: u32,
    ) -> Result<Expr> {
        let boolean = Type::plain(Oid::BOOL);
        let operator = |name| Operator { schema: None, name, at };
        self.share(operand, |binder, operand| {
            let mut within = |low: &Expr, high: &Expr| {
                let above = binder.operator(&operator(">="), Some(operand.clone()), low.clone())?;
                let below = binder.operator(&operator("<="), Some(operand.clone()), high.clone())?;
                Ok(Expr { kind: ExprKind::And(vec![above, below]), ty: boolean })
            };
            let mut test = within(&low, &high)?;
            if symmetric {
                let turned = within(&high, &low)?;
                test = Expr { kind: ExprKind::Or(vec![test, turned]), ty: boolean };
            }
            Ok(match negated {
                true => Expr { kind: ExprKind::Not(Box::new(test)), ty: boolean },
                false => test,
            })
        })
    }

    fn in_list(
        &mut self,
        operand: &ast::Expr<'_>,
        list: &[ast::Expr<'_>],
        negated: bool,
        scope: &Scope<'_>,
        clause: Clause,
        at: u32,
    ) -> Result<Expr> {
        let boolean = Type::plain(Oid::BOOL);
        let operator = Operator { schema: None, name: "=", at };
        let tests = if let ast::ExprKind::Row(fields) = operand.kind {
            let mut tests = Vec::with_capacity(list.len());
            for item in list {
                let ast::ExprKind::Row(items) = item.kind else {
                    return Err(self.unsupported("IN with rows and other values", item.at));
                };
                tests.push(self.compare_rows(&operator, fields, items, scope, clause)?);
            }
            Expr { kind: ExprKind::Or(tests), ty: boolean }
        } else {
            let mut operand = self.expr(operand, scope, clause)?;
            let mut items = self.exprs(list, scope, clause)?;
            if operand.ty.oid == Oid::UNKNOWN {
                // Nobody knows the type before the list is looked at.
                items.insert(0, (operand, at));
                let (mut unified, _) = self.unify(items, "IN")?;
                operand = unified.remove(0);
                items = unified.into_iter().map(|item| (item, at)).collect();
            }
            self.share(operand, |binder, operand| {
                let mut tests = Vec::with_capacity(items.len());
                for (item, item_at) in items {
                    let operator = Operator { at: item_at, ..operator };
                    tests.push(binder.operator(&operator, Some(operand.clone()), item)?);
                }
                Ok(match tests.len() {
                    1 => tests.remove(0),
                    _ => Expr { kind: ExprKind::Or(tests), ty: boolean },
                })
            })?
        };
        Ok(match negated {
            true => Expr { kind: ExprKind::Not(Box::new(tests)), ty: boolean },
            false => tests,
        })
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr<'_>>,
        branches: &[(ast::Expr<'_>, ast::Expr<'_>)],
        otherwise: Option<&ast::Expr<'_>>,
        scope: &Scope<'_>,
        clause: Clause,
    ) -> Result<Expr> {
        let mut results = Vec::with_capacity(branches.len() + 1);
        for (_, result) in branches {
            results.push((self.expr(result, scope, clause)?, result.at));
        }
        results.push(match otherwise {
            Some(otherwise) => (self.expr(otherwise, scope, clause)?, otherwise.at),
            None => (Expr::constant(Constant::Null, Type::plain(Oid::UNKNOWN)), 0),
        });
        // PostgreSQL looks at the result of ELSE first.
        results.rotate_right(1);
        let (mut results, ty) = self.unify(results, "CASE")?;
        let otherwise = results.remove(0);
        let finish = |conditions: Vec<Expr>| {
            let branches = conditions.into_iter().zip(results).collect();
            Expr { kind: ExprKind::Case(branches, Box::new(otherwise)), ty }
        };
        let Some(operand) = operand else {
            let mut conditions = Vec::with_capacity(branches.len());
            for (condition, _) in branches {
                let bound = self.expr(condition, scope, clause)?;
                conditions.push(self.condition(bound, "CASE/WHEN", condition.at)?);
            }
            return Ok(finish(conditions));
        };
        let at = operand.at;
        let operand = self.expr(operand, scope, clause)?;
        let operand = self.resolve_unknown(operand, at)?;
        self.share(operand, |binder, operand| {
            let mut conditions = Vec::with_capacity(branches.len());
            for (condition, _) in branches {
                let value = binder.expr(condition, scope, clause)?;
                let operator = Operator { schema: None, name: "=", at: condition.at };
                conditions.push(binder.operator(&operator, Some(operand.clone()), value)?);
            }
            Ok(finish(conditions))
        })
    }

    fn array_of(&self, element: Oid, at: u32) -> Result<Oid> {
        crate::types::table::array_of(element).ok_or_else(|| {
            let ty = typmod::format_type(Type::plain(element));
            let message = format!("could not find array type for data type {ty}");
            Error::statement(sqlstate::UNDEFINED_OBJECT, message).at(self.position(at))
        })
    }

    fn array(
        &mut self,
        items: &[ast::Expr<'_>],
        element: Option<Oid>,
        scope: &Scope<'_>,
        clause: Clause,
        at: u32,
    ) -> Result<Expr> {
        if items.is_empty() {
            let Some(element) = element else {
                return Err(Error::statement(sqlstate::INDETERMINATE_DATATYPE, "cannot determine type of empty array")
                    .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
                    .at(self.position(at)));
            };
            let ty = Type::plain(self.array_of(element, at)?);
            return Ok(Expr { kind: ExprKind::Array(Vec::new()), ty });
        }
        let nested = items.iter().all(|item| matches!(item.kind, ast::ExprKind::Array(_)));
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            bound.push(match item.kind {
                ast::ExprKind::Array(inner) if nested => (self.array(inner, element, scope, clause, item.at)?, item.at),
                _ => (self.expr(item, scope, clause)?, item.at),
            });
        }
        if let (Some(element), false) = (element, nested) {
            let mut coerced = Vec::with_capacity(bound.len());
            for (item, item_at) in bound {
                coerced.push(self.coerce(item, Type::plain(element), Context::Explicit, item_at)?);
            }
            let ty = Type::plain(self.array_of(element, at)?);
            return Ok(Expr { kind: ExprKind::Array(coerced), ty });
        }
        let (items, ty) = self.unify(bound, "ARRAY")?;
        if table::by_oid(ty.oid).is_some_and(|row| row.is_array()) {
            return Ok(Expr { kind: ExprKind::ArrayOfArrays(items), ty: Type::plain(ty.oid) });
        }
        let array = Type::plain(self.array_of(ty.oid, at)?);
        Ok(Expr { kind: ExprKind::Array(items), ty: array })
    }

    fn special(&mut self, special: Special, precision: Option<i32>, at: u32) -> Result<Expr> {
        let typmod = |oid| match precision {
            Some(precision) => Ok(Type { oid, typmod: typmod::encode(oid, &[precision])? }),
            None => Ok(Type::plain(oid)),
        };
        let now = |binder: &mut Self, ty| {
            let now = binder.function("now", Vec::new(), at)?;
            binder.coerce(now, ty, Context::Explicit, at)
        };
        match special {
            Special::CurrentDate => now(self, Type::plain(Oid::DATE)),
            Special::CurrentTimestamp => now(self, typmod(Oid::TIMESTAMPTZ)?),
            Special::LocalTimestamp => now(self, typmod(Oid::TIMESTAMP)?),
            Special::LocalTime => now(self, typmod(Oid::TIME)?),
            Special::CurrentTime => Err(self.unsupported("type time with time zone", at)),
            Special::CurrentRole | Special::CurrentUser | Special::User => {
                self.function("current_user", Vec::new(), at)
            }
            Special::SessionUser => self.function("session_user", Vec::new(), at),
            Special::CurrentCatalog => self.function("current_database", Vec::new(), at),
            Special::CurrentSchema => self.function("current_schema", Vec::new(), at),
        }
    }

    // ---- arrays and subqueries

    fn quantified_array(&mut self, left: Expr, operator: &Operator<'_>, all: bool, right: Expr) -> Result<Expr> {
        let at = operator.at;
        let word = if all { "ALL" } else { "ANY" };
        let mut right = right;
        if right.ty.oid == Oid::UNKNOWN {
            // `x = ANY ($1)`: an array of what stands before.
            let oid = if left.ty.oid == Oid::UNKNOWN { Oid::TEXT } else { left.ty.oid };
            let array = self.array_of(oid, at)?;
            right = self.coerce(right, Type::plain(array), Context::Implicit, at)?;
        }
        let Some(element) = table::by_oid(right.ty.oid)
            .filter(|row| row.category == b'A')
            .and_then(|_| table::element_of(right.ty.oid))
        else {
            let message = format!("op {word} (array) requires array on right side");
            return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).at(self.position(at)));
        };
        let resolved = resolve::resolve_operator(operator.name, Some(left.ty.oid), element)
            .map_err(|error| error.at(self.position(at)))?;
        if resolved.result != Oid::BOOL {
            let message = format!("op {word} (array) requires operator to yield boolean");
            return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).at(self.position(at)));
        }
        let [first, second] = resolved.args[..] else { return Err(self.unsupported("this operator", at)) };
        let left = self.coerce(left, Type::plain(first), resolved.context, at)?;
        let array = if second == element { right.ty.oid } else { self.array_of(second, at)? };
        let right = self.coerce(right, Type::plain(array), Context::Implicit, at)?;
        Ok(Expr {
            kind: ExprKind::Quantified {
                op: resolved.row.op,
                all,
                left: Box::new(left),
                array: Box::new(right),
                name: resolved.row.name,
            },
            ty: Type::plain(Oid::BOOL),
        })
    }

    fn quantified_query(
        &mut self,
        left: &ast::Expr<'_>,
        operator: &Operator<'_>,
        all: bool,
        query: &ast::Query<'_>,
        scope: &Scope<'_>,
        clause: Clause,
    ) -> Result<Expr> {
        let at = operator.at;
        let fields = match left.kind {
            ast::ExprKind::Row(fields) => self.exprs(fields, scope, clause)?,
            _ => vec![(self.expr(left, scope, clause)?, left.at)],
        };
        let query = self.subquery(query, scope, clause)?;
        if query.visible != fields.len() {
            let few = if query.visible > fields.len() { "many" } else { "few" };
            let message = format!("subquery has too {few} columns");
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message).at(self.position(at)));
        }
        let mut pairs = Vec::with_capacity(fields.len());
        for (index, (field, _)) in fields.into_iter().enumerate() {
            let ty = query.targets[index].expr.ty;
            pairs.push((field, Expr::column(query.output, index as u16, ty)));
        }
        let test = self.compare_pairs_by(operator, pairs)?;
        let mut equal = Vec::new();
        if operator.name == "=" && !all {
            let tests = match &test.kind {
                ExprKind::And(tests) => tests.as_slice(),
                _ => std::slice::from_ref(&test),
            };
            for test in tests {
                if let ExprKind::Call(call) = &test.kind
                    && let [left, right] = call.arguments.as_slice()
                {
                    equal.push((left.clone(), right.clone(), common_kind(left.ty.oid, right.ty.oid)));
                }
            }
            if equal.len() != tests.len() {
                equal.clear();
            }
        }
        Ok(self.subplan(query, SubplanKind::Quantified { test, all, equal }, Type::plain(Oid::BOOL)))
    }

    fn compare_pairs_by(&mut self, operator: &Operator<'_>, mut pairs: Vec<(Expr, Expr)>) -> Result<Expr> {
        if pairs.len() == 1
            && let Some((left, right)) = pairs.pop()
        {
            let test = self.operator(operator, Some(left), right)?;
            return self.condition(test, "a quantified comparison", operator.at);
        }
        self.compare_pairs(operator, pairs)
    }

    fn compare_row_with_query(
        &mut self,
        operator: &Operator<'_>,
        left: &[ast::Expr<'_>],
        query: &ast::Query<'_>,
        scope: &Scope<'_>,
        clause: Clause,
        at: u32,
    ) -> Result<Expr> {
        let _ = (operator, left, query, scope, clause);
        Err(self.unsupported("comparing a row with a subquery's row", at))
    }

    fn only_column(&self, query: &Query, at: u32) -> Result<Type> {
        match query.targets.first() {
            Some(target) if query.visible == 1 => Ok(target.expr.ty),
            _ => {
                Err(Error::statement(sqlstate::SYNTAX_ERROR, "subquery must return only one column")
                    .at(self.position(at)))
            }
        }
    }

    /// Binds a query inside an expression.
    pub(super) fn subquery(&mut self, query: &ast::Query<'_>, scope: &Scope<'_>, clause: Clause) -> Result<Query> {
        self.places.push("a subquery");
        let level = Level { clause, relations: scope.namespace.relations(), grouping: self.grouping.take() };
        self.around.push(level);
        let bound = self.query(query, Some(scope), true);
        self.grouping = self.around.pop().and_then(|level| level.grouping);
        self.places.pop();
        bound
    }

    pub(super) fn subplan(&mut self, query: Query, kind: SubplanKind, ty: Type) -> Expr {
        let number = self.bound.subplans.len() as u16;
        self.bound.subplans.push(Subplan { query: Box::new(query), kind });
        Expr { kind: ExprKind::Subplan(number), ty }
    }

    /// The name of a result column.
    pub(super) fn label(&self, item: &ast::Expr<'_>, label: Option<ast::Name<'_>>) -> String {
        label.map_or_else(|| name::column_name(item), |label| label.text.to_owned())
    }
}

/// The kind by which values of two types that one `=` compares are compared and hashed.
pub(crate) fn common_kind(left: Oid, right: Oid) -> Kind {
    let (left, right) = (table::kind(left), table::kind(right));
    match (left, right) {
        (Kind::Int2 | Kind::Int4, Kind::Int8) => Kind::Int8,
        (Kind::Float4, Kind::Float8) => Kind::Float8,
        (Kind::Name, _) => right,
        _ => left,
    }
}
