//! Calls of functions of users: which one is meant, and the arguments that it gets.
//!
//! A call becomes an operation ([`Op::Routine`]) whose first two operands are the function's number and name; the others are what goes in,
//! each of its parameter's type, those that were left out computed from their defaults.
//!
//! Rules
//! 1. Which function is meant is found out as for the server's own: types that are the same first, then by implicit casts. Of several the
//!    one with the fewest defaults is taken. Where the server has a function of that name it goes first, unless types are the same only here.
//! 2. A plan names the functions that it calls, with their versions, and is not shared: another function may fit its text better tomorrow.

use super::Binder;
use super::expr::Clause;
use super::scope::Scope;
use super::tree::{Call, Expr, ExprKind};
use crate::catalog::routine::RoutineDef;
use crate::parser::ast;
use crate::plan::blob::Constant;
use crate::types::cast::Context;
use crate::types::op::Op;
use crate::types::resolve::{self, Candidate};
use crate::types::{Oid, Type, function, typmod};
use base::{Error, Result, sqlstate};
use std::sync::Arc;

/// A function that a call means, and which argument each of its inputs has; one without has its default.
pub(super) struct Meant {
    routine: Arc<RoutineDef>,
    places: Vec<Option<usize>>,
}

/// Which argument goes to which input; none if they do not fit.
fn placed(routine: &RoutineDef, arguments: &[ast::Argument<'_>]) -> Option<Vec<Option<usize>>> {
    let inputs: Vec<_> = routine.input_parameters().collect();
    let mut places = vec![None; inputs.len()];
    for (index, argument) in arguments.iter().enumerate() {
        let at = match argument.name {
            None => index,
            Some(name) => inputs.iter().position(|input| input.name == name.text)?,
        };
        if places.get_mut(at)?.replace(index).is_some() {
            return None;
        }
    }
    let complete = places.iter().zip(&inputs).all(|(place, input)| place.is_some() || input.default.is_some());
    complete.then_some(places)
}

impl Binder<'_> {
    /// The function of a user that a call means; none if it means another one, or none.
    ///
    /// Errors: `42883`, `42725`.
    pub(super) fn routine_called(
        &mut self,
        call: &ast::Call<'_>,
        arguments: &[Expr],
        at: u32,
    ) -> Result<Option<Meant>> {
        let [before @ .., last] = call.path else { return Ok(None) };
        let schema = before.last().map(|name| name.text);
        if schema == Some("pg_catalog") {
            return Ok(None);
        }
        let catalog = self.catalog;
        let mut named = catalog.routines_named(schema, last.text);
        named.retain(|routine| routine.is_function());
        if named.is_empty() {
            return Ok(None);
        }
        let actual: Vec<Oid> = arguments.iter().map(|argument| argument.ty.oid).collect();
        let mut fitting = Vec::new();
        let mut candidates = Vec::new();
        for routine in named {
            let Some(places) = placed(&routine, call.arguments) else { continue };
            let inputs = routine.inputs();
            let mut args = vec![Oid::NONE; actual.len()];
            places.iter().zip(&inputs).for_each(|(place, oid)| {
                if let Some(place) = place {
                    args[*place] = *oid;
                }
            });
            candidates.push(Candidate { index: fitting.len(), args });
            fitting.push(Meant { routine, places });
        }
        let is_own = schema.is_none()
            && (!function::by_name(last.text).is_empty() || !crate::types::aggregate::by_name(last.text).is_empty());
        if is_own
            && !candidates.iter().any(|candidate| candidate.args == actual)
            && resolve::resolve_function(last.text, &actual).is_ok()
        {
            return Ok(None);
        }
        let mut chosen = resolve::resolve_candidates(candidates, &actual);
        if chosen.len() > 1 {
            let defaults =
                |candidate: &Candidate| fitting[candidate.index].places.iter().filter(|place| place.is_none()).count();
            let least = chosen.iter().map(defaults).min();
            chosen.retain(|candidate| Some(defaults(candidate)) == least);
        }
        let code = match chosen.as_slice() {
            [only] => return Ok(Some(fitting.swap_remove(only.index))),
            [] if is_own => return Ok(None),
            [] => sqlstate::UNDEFINED_FUNCTION,
            _ => sqlstate::AMBIGUOUS_FUNCTION,
        };
        let shown: Vec<String> = call
            .arguments
            .iter()
            .zip(&actual)
            .map(|(argument, oid)| match argument.name {
                Some(name) => format!("{} => {}", name.text, resolve::show(*oid)),
                None => resolve::show(*oid),
            })
            .collect();
        let path: Vec<&str> = call.path.iter().map(|name| name.text).collect();
        let call = format!("{}({})", path.join("."), shown.join(", "));
        let error = match code {
            sqlstate::AMBIGUOUS_FUNCTION => Error::statement(code, format!("function {call} is not unique"))
                .hint("Could not choose a best candidate function. You might need to add explicit type casts."),
            _ => Error::statement(code, format!("function {call} does not exist")).hint(
                "No function matches the given name and argument types. You might need to add explicit type casts.",
            ),
        };
        let error = catalog.no_function(schema, last.text, actual.len(), error);
        Err(error.at(self.position(at)))
    }

    /// A call of a function of a user, and whether it gives a set.
    pub(super) fn routine_call(
        &mut self,
        call: &ast::Call<'_>,
        Meant { routine, places }: Meant,
        arguments: Vec<Expr>,
        clause: Clause,
        at: u32,
    ) -> Result<(Expr, bool)> {
        let name = routine.name.as_str();
        self.check_plain_call(call, name, at)?;
        if matches!(clause, Clause::Check | Clause::Generation | Clause::Index | Clause::IndexPredicate) {
            return Err(
                self.unsupported("a function of a user in a definition of a table, other than in a default,", at)
            );
        }
        let mut given: Vec<Option<Expr>> = arguments.into_iter().map(Some).collect();
        let number = Expr::constant(Constant::Int(routine.oid.0.into()), Type::plain(Oid::OID));
        let shown = Expr::constant(Constant::Bytes(name.as_bytes().to_vec()), Type::plain(Oid::TEXT));
        let mut operands = vec![number, shown];
        for (parameter, place) in routine.input_parameters().zip(places) {
            let ty = Type::plain(parameter.ty.oid);
            let given = place.and_then(|place| given.get_mut(place)?.take());
            operands.push(match (given, &parameter.default) {
                (Some(argument), _) => self.coerce(argument, ty, Context::Implicit, at)?,
                (None, Some(default)) => self.stored(default, |binder, expr| {
                    let bound = binder.expr(expr, &Scope::EMPTY, Clause::Default)?;
                    binder.coerce(bound, ty, Context::Assignment, expr.at)
                })?,
                (None, None) => return Err(self.unsupported("this call", at)),
            });
        }
        if routine.result == Oid::TRIGGER {
            return Err(Error::unsupported("trigger functions can only be called as triggers").at(self.position(at)));
        }
        if let Some(relation) = routine.rows_of {
            // A plan that knows the columns is one for this version of the table.
            self.catalog.result_columns(&routine).map_err(|error| error.at(self.position(at)))?;
            if let Some(table) = self.catalog.table_by_oid(relation)?
                && !self.bound.tables.iter().any(|known| known.oid == relation)
            {
                self.bound.tables.push(table);
            }
        }
        self.record_routine(call.path, routine.oid);
        self.bound.reusable = false;
        let known = (routine.oid, routine.version);
        if !self.bound.routines.contains(&known) {
            self.bound.routines.push(known);
        }
        let call = Call {
            op: Op::Routine,
            strict: false,
            volatility: routine.volatility(),
            arguments: operands,
            name: "function",
            operator: false,
        };
        // A row of several columns is a set of one row.
        let set = routine.set || routine.result == Oid::RECORD;
        Ok((self.call(call, Type::plain(routine.result)), set))
    }

    /// The error of a call of what is not in a schema.
    #[cold]
    pub(super) fn not_callable(&self, schema: &str, name: &str, types: &[Oid]) -> Error {
        if self.catalog.schema(schema).is_none() {
            return Error::statement(sqlstate::INVALID_SCHEMA_NAME, format!("schema \"{schema}\" does not exist"));
        }
        resolve::function_error(&format!("{schema}.{name}"), types, sqlstate::UNDEFINED_FUNCTION)
    }

    /// Refuses what only a call of an aggregate may say.
    fn check_plain_call(&self, call: &ast::Call<'_>, name: &str, at: u32) -> Result<()> {
        let refused =
            |message: String| Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).at(self.position(at)));
        let said = match () {
            () if call.star => return refused(format!("{name}(*) specified, but {name} is not an aggregate function")),
            () if call.distinct => "DISTINCT",
            () if !call.order_by.is_empty() => "ORDER BY",
            () if call.filter.is_some() => "FILTER",
            () if call.over.is_some() => {
                let message = format!("OVER specified, but {name} is not a window function nor an aggregate function");
                return refused(message);
            }
            () => return Ok(()),
        };
        refused(format!("{said} specified, but {name} is not an aggregate function"))
    }
}

/// The columns of what a function of a user gives, where they have names of their own.
pub(super) fn columns(binder: &Binder<'_>, call: &Call) -> Vec<(String, Type)> {
    let routine = match call.arguments.first().map(|argument| &argument.kind) {
        Some(ExprKind::Constant(Constant::Int(oid))) => binder.catalog.routine(Oid(*oid as u32)),
        _ => None,
    };
    routine.and_then(|routine| binder.catalog.result_columns(&routine).ok()).unwrap_or_default()
}

/// A function's name with the types of its inputs, as errors show it.
pub fn signature(name: &str, types: &[Oid]) -> String {
    let types: Vec<String> = types.iter().map(|oid| typmod::format_type(Type::plain(*oid))).collect();
    format!("{name}({})", types.join(","))
}
