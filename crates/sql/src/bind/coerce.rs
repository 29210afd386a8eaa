//! Types that fit: casts that are written, casts that happen by themselves, and types that constants and parameters take.
//!
//! Rules
//! 1. A string constant takes its type from where it stands: it is read as a value of that type while binding, so that a
//!    bad one is an error with a place. A literal that became a slot is read when the statement is executed.
//! 2. A client's parameter without a type takes that of the first place that says one.
//! 3. What is constant and cannot change is computed here, once.

use super::Binder;
use super::tree::{Call, Expr, ExprKind, Origin, Parameter};
use crate::parser::ast::Operator;
use crate::plan::blob::Constant;
use crate::types::aggregate::AggOp;
use crate::types::cast::{self, Context, Method};
use crate::types::function::Volatility;
use crate::types::json::make;
use crate::types::op::Op;
use crate::types::{Datum, EvalCtx, Kind, Oid, Type, eval, io, table, typmod};
use base::{Error, Result, sqlstate};

/// An element of an array; a byte of a name, counted from zero.
pub(super) fn element(name: Expr, index: Expr, element: Oid) -> Expr {
    if name.ty.oid != Oid::NAME {
        let ty = Type { oid: element, typmod: name.ty.typmod };
        return Expr { kind: ExprKind::Subscript(Box::new(name), Box::new(index)), ty };
    }
    let call = Call {
        op: Op::NameByte,
        strict: true,
        volatility: Volatility::Immutable,
        arguments: vec![name, index],
        name: "name_subscript",
        operator: false,
    };
    Expr { kind: ExprKind::Call(Box::new(call)), ty: Type::plain(Oid::CHAR) }
}

impl Binder<'_> {
    /// Casts an expression to a type and its modifier. Errors: `42846` when there is no such cast in the context.
    pub(super) fn coerce(&mut self, expr: Expr, target: Type, context: Context, at: u32) -> Result<Expr> {
        match self.try_coerce(expr, target, context, at)? {
            Ok(expr) => Ok(expr),
            Err(expr) => Err(cast::cannot_cast(expr.ty.oid, target.oid).at(self.position(at))),
        }
    }

    /// Casts an expression if there is a cast in the context; else gives it back.
    pub(super) fn try_coerce(
        &mut self,
        expr: Expr,
        target: Type,
        context: Context,
        at: u32,
    ) -> Result<std::result::Result<Expr, Expr>> {
        let explicit = context == Context::Explicit;
        if target.oid == Oid::UNKNOWN || target.oid == Oid::ANY {
            return Ok(Ok(expr));
        }
        match expr.kind {
            ExprKind::Untyped(number) => {
                let known = self.bound.client_types[usize::from(number)].replace(target.oid);
                if let Some(known) = known.filter(|known| *known != target.oid) {
                    return Err(self.two_types(number, (known, target.oid), at));
                }
                let parameter = self.parameter(Type::plain(target.oid), Origin::Client(number));
                return Ok(Ok(self.fit(parameter, target, explicit)));
            }
            ExprKind::Slot(slot) => {
                table::row(target.oid)?;
                if table::kind(target.oid) == Kind::Reg {
                    // A name that has to be looked up: never without the literal itself.
                    return Err(self.ask_for_literals());
                }
                let parameter = self.parameter(Type::plain(target.oid), Origin::Slot(slot));
                return Ok(Ok(self.fit(parameter, target, explicit)));
            }
            _ => {}
        }
        if expr.ty.oid == target.oid {
            return Ok(Ok(self.fit(expr, target, explicit)));
        }
        if expr.ty.oid == Oid::UNKNOWN
            && let ExprKind::Constant(value) = &expr.kind
        {
            let value = self.read_constant(value, target, explicit, at)?;
            return Ok(Ok(Expr::constant(value, target)));
        }
        let Some(method) = cast::find(expr.ty.oid, target.oid, context) else {
            return Ok(Err(expr));
        };
        Ok(Ok(self.cast(expr, method, target, explicit)))
    }

    /// A parameter that is to be of one type here and has become one of another.
    #[cold]
    fn two_types(&self, number: u16, (known, wanted): (Oid, Oid), at: u32) -> Error {
        let name = |oid| typmod::format_type(Type::plain(oid));
        let message = format!("inconsistent types deduced for parameter ${}", u32::from(number) + 1);
        Error::statement(sqlstate::AMBIGUOUS_PARAMETER, message)
            .detail(format!("{} versus {}", name(wanted), name(known)))
            .at(self.position(at))
    }

    /// The arguments of an aggregate as it takes them, and the type of the first one.
    pub(super) fn aggregated(
        &mut self,
        op: AggOp,
        arguments: Vec<Expr>,
        args: &[Oid],
        context: Context,
        at: u32,
    ) -> Result<(Vec<Expr>, Oid)> {
        let mut coerced = Vec::with_capacity(arguments.len());
        for (index, (argument, oid)) in arguments.into_iter().zip(args).enumerate() {
            coerced.push(match (op, index) {
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
        let first = match coerced.first() {
            Some(argument) if matches!(op, AggOp::JsonAgg | AggOp::JsonbAgg) => argument.ty.oid,
            _ => args.first().copied().unwrap_or(Oid::INT4),
        };
        Ok((coerced, first))
    }

    /// A parameter that had no type when it was bound, and may have one by now.
    pub(super) fn typed(&mut self, expr: Expr) -> Expr {
        let ExprKind::Untyped(number) = expr.kind else { return expr };
        match self.bound.client_types.get(usize::from(number)) {
            Some(&Some(oid)) => self.parameter(Type::plain(oid), Origin::Client(number)),
            _ => expr,
        }
    }

    /// An argument that may be of any type, by its text form: as a client would see it, not as a cast to text makes it.
    pub(super) fn as_text(&mut self, expr: Expr, at: u32) -> Result<Expr> {
        let text = Type::plain(Oid::TEXT);
        match expr.ty.oid == Oid::UNKNOWN || io::is_text(expr.ty.oid) {
            true => self.coerce(expr, text, Context::Implicit, at),
            false => Ok(self.cast(expr, Method::Text, text, false)),
        }
    }

    /// An argument of any type as `json` or `jsonb`.
    pub(super) fn as_json(&mut self, expr: Expr, target: Oid, at: u32) -> Result<Expr> {
        let expr = self.json_operand(expr, at)?;
        if expr.ty.oid == target {
            return Ok(expr);
        }
        Ok(self.cast(expr, Method::Json, Type::plain(target), false))
    }

    /// An argument of any type as the text of a key.
    pub(super) fn as_json_key(&mut self, expr: Expr, at: u32) -> Result<Expr> {
        let expr = self.json_operand(expr, at)?;
        if expr.ty.oid == Oid::TEXT {
            return Ok(expr);
        }
        if !make::can_be_key(expr.ty.oid) {
            return Err(make::no_key());
        }
        Ok(self.cast(expr, Method::JsonKey, Type::plain(Oid::TEXT), false))
    }

    /// What JSON is to be made of: the names of objects are texts, because only the catalog knows them.
    fn json_operand(&mut self, expr: Expr, at: u32) -> Result<Expr> {
        match table::kind(expr.ty.oid) {
            Kind::Reg => self.as_text(expr, at),
            _ => self.resolve_unknown(expr, at),
        }
    }

    /// `jsonb[index]`: a part by key or index, whatever there is.
    pub(super) fn json_subscript(&mut self, operand: Expr, index: Expr, at: u32) -> Result<Expr> {
        let index = self.resolve_unknown(index, at)?;
        let text = match index.ty.oid {
            Oid::TEXT => index,
            oid => {
                let goes = |target| cast::find(oid, target, Context::Implicit).is_some();
                if !goes(Oid::INT4) && !goes(Oid::TEXT) {
                    let ty = crate::types::typmod::format_type(Type::plain(oid));
                    let message = format!("subscript type {ty} is not supported");
                    return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message)
                        .hint("jsonb subscript must be coercible to either integer or text.")
                        .at(self.position(at)));
                }
                let target = if goes(Oid::INT4) { Oid::INT4 } else { Oid::TEXT };
                let index = self.coerce(index, Type::plain(target), Context::Implicit, at)?;
                self.as_text(index, at)?
            }
        };
        let call = Call {
            op: Op::JsonbExtract,
            strict: true,
            volatility: Volatility::Immutable,
            arguments: vec![operand, text],
            name: "jsonb_extract_path",
            operator: false,
        };
        Ok(self.call(call, Type::plain(Oid::JSONB)))
    }

    /// Refuses what asks whether values of a type are equal, if nobody can tell.
    pub(super) fn check_equality(&self, oid: Oid, at: u32) -> Result<()> {
        self.check_comparable(oid, "equality", at)
    }

    /// Refuses what puts values of a type in order, if they have none.
    pub(super) fn check_order(&self, oid: Oid, at: u32) -> Result<()> {
        self.check_comparable(oid, "ordering", at)
            .map_err(|error| error.hint("Use an explicit ordering operator or modify the query."))
    }

    fn check_comparable(&self, oid: Oid, what: &str, at: u32) -> Result<()> {
        let is_array = table::by_oid(oid).is_some_and(|row| row.is_array());
        let compared = table::element_of(oid).filter(|_| is_array).unwrap_or(oid);
        if table::kind(compared) != Kind::Json {
            return Ok(());
        }
        let ty = crate::types::typmod::format_type(Type::plain(oid));
        let message = format!("could not identify an {what} operator for type {ty}");
        Err(Error::statement(sqlstate::UNDEFINED_FUNCTION, message).at(self.position(at)))
    }

    /// A cast by a method that is known.
    pub(super) fn cast(&mut self, expr: Expr, method: Method, target: Type, explicit: bool) -> Expr {
        match method {
            Method::Relabel | Method::Op(Op::Identity) => {
                let plain = Type::plain(target.oid);
                // What a cast does depends on the type it has: another name for its result is a cast of its own.
                let relabelled = match expr.kind {
                    ExprKind::Cast(..) => {
                        Expr { kind: ExprKind::Cast(Box::new(expr), Method::Relabel, explicit), ty: plain }
                    }
                    _ => Expr { ty: plain, ..expr },
                };
                self.fit(relabelled, target, explicit)
            }
            Method::Op(op) if op.is_external() => {
                let call = Call {
                    op,
                    strict: true,
                    volatility: Volatility::Stable,
                    arguments: vec![expr],
                    name: "cast",
                    operator: false,
                };
                Expr { kind: ExprKind::Call(Box::new(call)), ty: target }
            }
            method => {
                let numbers = |oid| table::by_oid(oid).is_some_and(|row| row.category == b'N');
                let folds = numbers(expr.ty.oid) && numbers(target.oid);
                if folds && let ExprKind::Constant(value) = &expr.kind {
                    let mut ctx = EvalCtx { style: self.style(), ..EvalCtx::plain(self.arena) };
                    let cast = cast::apply(method, expr.ty.oid, target, explicit, value.datum(), &mut ctx);
                    if let Ok(datum) = cast {
                        return Expr::constant(Constant::of(datum), target);
                    }
                }
                Expr { kind: ExprKind::Cast(Box::new(expr), method, explicit), ty: target }
            }
        }
    }

    /// Fits a value that has the type already to the type's modifier.
    fn fit(&mut self, expr: Expr, target: Type, explicit: bool) -> Expr {
        if target.typmod < 0 || expr.ty.typmod == target.typmod {
            return expr;
        }
        Expr { kind: ExprKind::Cast(Box::new(expr), Method::Relabel, explicit), ty: target }
    }

    /// A string constant, or null, as a value of a type.
    fn read_constant(&mut self, value: &Constant, target: Type, explicit: bool, at: u32) -> Result<Constant> {
        let Constant::Bytes(text) = value else { return Ok(Constant::Null) };
        let row = table::row(target.oid)?;
        if row.kind == Kind::Reg
            && let Ok(text) = std::str::from_utf8(text)
        {
            self.bound.reusable = false;
            let oid = self.catalog.read_reg(target.oid, text).map_err(|error| error.at(self.position(at)))?;
            return Ok(Constant::Int(oid.0.into()));
        }
        self.note_type(target.oid, false);
        if matches!(row.kind, Kind::Date | Kind::Time | Kind::Timestamp | Kind::Timestamptz) && names_a_moment(text) {
            self.bound.reusable = false;
        }
        let method = cast::find(Oid::UNKNOWN, target.oid, Context::Explicit).unwrap_or(Method::Text);
        let mut ctx = EvalCtx { style: self.style(), ..EvalCtx::plain(self.arena) };
        let datum = cast::apply(method, Oid::UNKNOWN, target, explicit, Datum::Bytes(text), &mut ctx);
        match datum {
            Ok(datum) => Ok(Constant::of(datum)),
            Err(error) if error.position().is_none() => Err(error.at(self.position(at))),
            Err(error) => Err(error),
        }
    }

    /// The parameter of that type and origin; made if it is new.
    pub(super) fn parameter(&mut self, ty: Type, origin: Origin) -> Expr {
        if let Origin::Client(number) = origin
            && let Some(value) = self.values.get(usize::from(number))
        {
            return Expr::constant(value.clone(), ty);
        }
        let parameter = Parameter { ty, origin };
        let parameters = &mut self.bound.parameters;
        let index = parameters.iter().position(|other| *other == parameter).unwrap_or_else(|| {
            parameters.push(parameter);
            parameters.len() - 1
        });
        Expr { kind: ExprKind::Parameter(index as u16), ty }
    }

    /// A condition: of type boolean, or `42804` with the clause's name.
    pub(super) fn condition(&mut self, expr: Expr, clause: &str, at: u32) -> Result<Expr> {
        match self.try_coerce(expr, Type::plain(Oid::BOOL), Context::Assignment, at)? {
            Ok(expr) => Ok(expr),
            Err(expr) => {
                let ty = crate::types::typmod::format_type(Type::plain(expr.ty.oid));
                let message = format!("argument of {clause} must be type boolean, not type {ty}");
                Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message).at(self.position(at)))
            }
        }
    }

    /// Ends of spans that are given by their lengths: `OVERLAPS` takes both.
    pub(super) fn span_ends(&mut self, arguments: &mut [Expr], at: u32) -> Result<()> {
        let plus = Operator { schema: None, name: "+", at };
        for span in arguments.chunks_exact_mut(2) {
            if span[1].ty.oid == Oid::INTERVAL && span[0].ty.oid != Oid::INTERVAL {
                span[1] = self.operator(&plus, Some(span[0].clone()), span[1].clone())?;
            }
        }
        Ok(())
    }

    /// A value whose type nobody has said is a text.
    pub(super) fn resolve_unknown(&mut self, expr: Expr, at: u32) -> Result<Expr> {
        if expr.ty.oid != Oid::UNKNOWN {
            return Ok(expr);
        }
        self.coerce(expr, Type::plain(Oid::TEXT), Context::Implicit, at)
    }

    /// Casts all to one type. `what` names the construct in errors.
    pub(super) fn unify(&mut self, exprs: Vec<(Expr, u32)>, what: &str) -> Result<(Vec<Expr>, Type)> {
        let types: Vec<Oid> = exprs.iter().map(|(expr, _)| expr.ty.oid).collect();
        let at = exprs.first().map_or(0, |(_, at)| *at);
        let oid = crate::types::resolve::common_type(&types, what).map_err(|error| error.at(self.position(at)))?;
        // The modifier stays if all have the same.
        let modifiers: Vec<i32> = exprs.iter().map(|(expr, _)| expr.ty.typmod).collect();
        let same = types.iter().all(|&ty| ty == oid) && modifiers.windows(2).all(|pair| pair[0] == pair[1]);
        let ty = Type { oid, typmod: if same { modifiers.first().copied().unwrap_or(-1) } else { -1 } };
        let mut unified = Vec::with_capacity(exprs.len());
        for (expr, at) in exprs {
            unified.push(self.coerce(expr, ty, Context::Implicit, at)?);
        }
        Ok((unified, ty))
    }

    /// An operation; computed at once if it can be.
    pub(super) fn call(&mut self, call: Call, ty: Type) -> Expr {
        let constant = |expr: &Expr| matches!(expr.kind, ExprKind::Constant(_));
        let folds = call.volatility == Volatility::Immutable
            && !call.op.is_external()
            && call.op != Op::Random
            && !call.arguments.is_empty()
            && call.arguments.iter().all(constant);
        if folds && let Some(value) = self.compute(&call) {
            return Expr::constant(value, ty);
        }
        Expr { kind: ExprKind::Call(Box::new(call)), ty }
    }

    /// The value of an operation on constants; none if it is an error, which is the execution's to report.
    fn compute(&self, call: &Call) -> Option<Constant> {
        let arguments: Vec<Datum<'_>> = call
            .arguments
            .iter()
            .map(|argument| match &argument.kind {
                ExprKind::Constant(value) => value.datum(),
                _ => Datum::Null,
            })
            .collect();
        if call.strict && arguments.iter().any(|argument| argument.is_null()) {
            return Some(Constant::Null);
        }
        let mut ctx = EvalCtx { style: self.style(), ..EvalCtx::plain(self.arena) };
        eval::eval(call.op, &arguments, &mut ctx).ok().map(Constant::of)
    }
}

/// Does a date's text name a moment relative to now?
fn names_a_moment(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    ["now", "today", "tomorrow", "yesterday"].iter().any(|word| {
        let word = word.as_bytes();
        text.windows(word.len()).any(|window| window == word)
    })
}
