//! Calls of functions of users: which one is meant, and the arguments that it gets.
//!
//! A call becomes an operation ([`Op::Routine`]) whose first two operands are the function's number and name; the others are what goes in,
//! each of its parameter's type, those that were left out computed from their defaults.
//!
//! Rules
//! 1. Which function is meant is found out as for the server's own: types that are the same first, then by implicit casts; of several
//!    that take the same, as [`Rival`] says. Where the server has a function of that name it goes first, unless types are the same only here.
//! 2. A plan names the functions that it calls, with their versions, and is not shared: another function may fit its text better tomorrow.

use super::Binder;
use super::expr::Clause;
use super::rival::Rival;
use super::scope::Scope;
use super::tree::{Call, Expr, ExprKind};
use crate::catalog::routine::RoutineDef;
use crate::catalog::schema::PG_CATALOG;
use crate::exec::routine::{name_with_types, split_types};
use crate::parser::ast;
use crate::plan::blob::Constant;
use crate::types::cast::Context;
use crate::types::op::Op;
use crate::types::resolve::{self, Callable, Candidate};
use crate::types::{Oid, Type, function, table, typmod};
use base::{Error, Result, sqlstate};
use std::sync::Arc;

/// A function that a call means, and which argument each of its inputs has; one without has its default.
pub(super) struct Meant {
    routine: Arc<RoutineDef>,
    places: Vec<Option<usize>>,
    /// The last input is an array of the arguments from its own on.
    gathers: bool,
}

/// Which argument goes to which input; none if they do not fit.
fn placed(routine: &Arc<RoutineDef>, call: &ast::Call<'_>) -> Option<Meant> {
    let inputs: Vec<_> = routine.input_parameters().collect();
    let arguments = call.arguments;
    let is_named = arguments.iter().any(|argument| argument.name.is_some());
    let is_spread = routine.variadic && !call.variadic;
    if is_spread && is_named {
        return None;
    }
    // With fewer arguments the array is a default, as any other.
    let gathers = is_spread && arguments.len() >= inputs.len();
    let mut places = vec![None; inputs.len()];
    for (index, argument) in arguments.iter().enumerate() {
        let at = match argument.name {
            None if gathers && index >= inputs.len() => break,
            None => index,
            Some(name) => inputs.iter().position(|input| input.name == name.text)?,
        };
        if places.get_mut(at)?.replace(index).is_some() {
            return None;
        }
    }
    let complete = places.iter().zip(&inputs).all(|(place, input)| place.is_some() || input.default.is_some());
    complete.then(|| Meant { routine: routine.clone(), places, gathers })
}

impl Meant {
    /// What each of so many arguments is declared as.
    fn declared(&self, arguments: usize) -> Vec<Oid> {
        let element = self.routine.variadic_element().filter(|_| self.gathers);
        let mut declared = vec![element.unwrap_or(Oid::NONE); arguments];
        let inputs = self.routine.inputs();
        for (at, (place, oid)) in self.places.iter().zip(&inputs).enumerate() {
            if let Some(place) = place
                && !(self.gathers && at + 1 == inputs.len())
            {
                declared[*place] = *oid;
            }
        }
        declared
    }
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
        let mut named = catalog.routines_in_path(schema, last.text);
        named.retain(|(_, routine)| routine.is_function());
        if named.is_empty() {
            return Ok(None);
        }
        let actual: Vec<Oid> = arguments.iter().map(|argument| argument.ty.oid).collect();
        let mut rivals = Vec::new();
        for (place, routine) in named {
            let Some(meant) = placed(&routine, call) else { continue };
            let (args, spreads) = (meant.declared(actual.len()), routine.variadic && !call.variadic);
            Rival { meant, args, place, spreads, is_ambiguous: false }.add_to(&mut rivals);
        }
        let is_own = schema.is_none()
            && (!function::by_name(last.text).is_empty() || !crate::types::aggregate::by_name(last.text).is_empty());
        if is_own && self.own_goes_first(last.text, &actual, &rivals) {
            return Ok(None);
        }
        let candidates = rivals.iter().enumerate();
        let candidates = candidates.map(|(index, rival)| Candidate { index, args: rival.args.clone() }).collect();
        let chosen = resolve::resolve_candidates(candidates, &actual);
        let code = match chosen.as_slice() {
            [only] if !rivals[only.index].is_ambiguous => return Ok(Some(rivals.swap_remove(only.index).meant)),
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

    /// Does a call of one of the server's own functions mean it, in spite of those of users? It does unless types are the same only
    /// there, or as well and in a schema that the path names before the catalog.
    fn own_goes_first(&self, name: &str, actual: &[Oid], rivals: &[Rival<Meant>]) -> bool {
        let own = match resolve::resolve_function(name, actual) {
            Ok(Callable::Function(found)) => found.row.args,
            Ok(Callable::Aggregate(found)) => found.row.args,
            Ok(_) => return !rivals.iter().any(|rival| rival.args == actual),
            Err(_) => return false,
        };
        let catalog = self.catalog.path.searched.iter().position(|schema| *schema == PG_CATALOG);
        let before = |rival: &Rival<Meant>| Some(rival.place) < catalog;
        match rivals.iter().find(|rival| rival.args == own) {
            Some(rival) if before(rival) => false,
            Some(_) if own == actual => true,
            _ => !rivals.iter().any(|rival| rival.args == actual),
        }
    }

    /// A call of a function of a user, and whether it gives a set.
    pub(super) fn routine_call(
        &mut self,
        call: &ast::Call<'_>,
        meant: Meant,
        arguments: Vec<Expr>,
        clause: Clause,
        at: u32,
    ) -> Result<(Expr, bool)> {
        let (routine, types) = self.routine_in_call(&meant, &arguments, at)?;
        let Meant { places, gathers, .. } = meant;
        let name = routine.name.as_str();
        self.check_plain_call(call, name, at)?;
        if matches!(clause, Clause::Check | Clause::Generation | Clause::Index | Clause::IndexPredicate) {
            return Err(
                self.unsupported("a function of a user in a definition of a table, other than in a default,", at)
            );
        }
        let mut given: Vec<Option<Expr>> = arguments.into_iter().map(Some).collect();
        let number = Expr::constant(Constant::Int(routine.oid.0.into()), Type::plain(Oid::OID));
        let shown = Expr::constant(Constant::Bytes(name_with_types(name, &types)), Type::plain(Oid::TEXT));
        let mut operands = vec![number, shown];
        let last = places.len().saturating_sub(1);
        for (index, (parameter, place)) in routine.input_parameters().zip(places).enumerate() {
            let ty = Type::plain(parameter.ty.oid);
            if let (true, Some(first), Some(element)) = (gathers && index == last, place, table::element_of(ty.oid)) {
                let mut items = Vec::with_capacity(given.len() - first);
                for item in given[first..].iter_mut().filter_map(Option::take) {
                    items.push(self.coerce(item, Type::plain(element), Context::Implicit, at)?);
                }
                operands.push(Expr { kind: ExprKind::Array(items), ty });
                continue;
            }
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

    /// A function as it is in a call, with its types there if the arguments decide about them.
    fn routine_in_call(&mut self, meant: &Meant, arguments: &[Expr], at: u32) -> Result<(Arc<RoutineDef>, Vec<Oid>)> {
        let routine = &meant.routine;
        if !routine.is_polymorphic() {
            return Ok((routine.clone(), Vec::new()));
        }
        let mut declared = meant.declared(arguments.len());
        let mut actual: Vec<Oid> = arguments.iter().map(|argument| argument.ty.oid).collect();
        for (parameter, place) in routine.input_parameters().zip(&meant.places) {
            if let (None, Some(default)) = (place, &parameter.default) {
                let expr = self.stored(default, |binder, expr| binder.expr(expr, &Scope::EMPTY, Clause::Default))?;
                declared.push(parameter.ty.oid);
                actual.push(expr.ty.oid);
            }
        }
        let types = resolve::concrete_types(&declared, &actual, &routine.types());
        let types = types.map_err(|error| error.at(self.position(at)))?;
        Ok((Arc::new(routine.with_types(&types)), types))
    }

    /// A call of one of the server's functions with `VARIADIC`: its last argument is the array of those that stand any number of times.
    pub(super) fn spread_call(&mut self, name: &str, mut arguments: Vec<Expr>, at: u32) -> Result<Expr> {
        let count = arguments.len();
        let takes = |row: &&function::Function| row.variadic && row.args.len() == count;
        let Some(row) = function::by_name(name).iter().find(takes) else {
            return self.function(name, arguments, at);
        };
        let op = match row.op {
            Op::JsonExtract => Op::JsonPath,
            Op::JsonExtractText => Op::JsonPathText,
            Op::JsonbExtract => Op::JsonbPath,
            Op::JsonbExtractText => Op::JsonbPathText,
            Op::JsonbDelete => Op::JsonbDeleteKeys,
            Op::Concat | Op::ConcatWs => Op::ArrayToString,
            _ => return Err(self.unsupported("VARIADIC in a call of this function", at)),
        };
        let mut operands = Vec::with_capacity(count);
        if op == Op::ArrayToString {
            let Some(list) = arguments.pop() else { return Err(self.unsupported("this call", at)) };
            if table::by_oid(list.ty.oid).is_none_or(|row| !row.is_array()) {
                let message = "VARIADIC argument must be an array";
                return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message).at(self.position(at)));
            }
            let separator = match arguments.pop() {
                Some(separator) => self.coerce(separator, Type::plain(Oid::TEXT), Context::Implicit, at)?,
                None => Expr::constant(Constant::Bytes(Vec::new()), Type::plain(Oid::TEXT)),
            };
            operands.extend([list, separator]);
        } else {
            for (argument, oid) in arguments.into_iter().zip(row.args) {
                operands.push(self.coerce(argument, Type::plain(*oid), Context::Implicit, at)?);
            }
        }
        let call =
            Call { op, strict: true, volatility: row.volatility, arguments: operands, name: row.name, operator: false };
        Ok(self.call(call, Type::plain(row.result)))
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
    let constant = |at: usize| match call.arguments.get(at).map(|argument| &argument.kind) {
        Some(ExprKind::Constant(constant)) => Some(constant),
        _ => None,
    };
    let routine = match constant(0) {
        Some(Constant::Int(oid)) => binder.catalog.routine(Oid(*oid as u32)),
        _ => None,
    };
    let routine = routine.map(|routine| match constant(1) {
        Some(Constant::Bytes(name)) => match split_types(name).1 {
            types if types.is_empty() => routine,
            types => Arc::new(routine.with_types(&types)),
        },
        _ => routine,
    });
    routine.and_then(|routine| binder.catalog.result_columns(&routine).ok()).unwrap_or_default()
}

/// A function's name with the types of its inputs, as errors show it.
pub fn signature(name: &str, types: &[Oid]) -> String {
    let types: Vec<String> = types.iter().map(|oid| typmod::format_type(Type::plain(*oid))).collect();
    format!("{name}({})", types.join(","))
}
