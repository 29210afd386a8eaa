//! `CALL`: which procedure is meant, the values that go in, what comes out.
//!
//! ```text
//!   CALL p(a, $1, 2) ──> the procedure, and which argument is for which parameter ──> a plan that computes what goes in
//!                                                                                         │
//!   values of parameters ─────────────────────────────────────────────────────────────────┴──> the body ──> a row
//! ```
//!
//! A call that a client prepares keeps procedure and plan ([`PreparedCall`]), so that an execution begins with the values.
//!
//! Rules
//! 1. Which procedure a call means is found out as for functions: an exact match first, then the one that takes most arguments as they
//!    are.
//! 2. What was prepared stands while no definition has changed since; then it is found out anew, and `0A000` if its result would be
//!    another one.

use crate::bind::rival::Rival;
use crate::bind::variable::Variable;
use crate::bind::{self, Setting};
use crate::catalog::lazy::LazyCatalog;
use crate::catalog::routine::RoutineDef;
use crate::catalog::split;
use crate::parser::ast::{self, ExprKind, Statement, Utility};
use crate::plan::blob::{self, Constant};
use crate::plan::{self, Plan};
use crate::procedure::frame::Slot;
use crate::procedure::kept::Readied;
use crate::procedure::run::{Interpreter, Nesting, Notices};
use crate::session::prepared::PreparedCall;
use crate::session::run::write_value;
use crate::session::{Column, Environment, Format, Output, Session, Tag};
use crate::types::cast::{Context, can_coerce};
use crate::types::hash::hash_bytes;
use crate::types::{Arena, Datum, Oid, Type, table};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};
use bumpalo::Bump;
use kernel::fiber::on_engine_stack;
use std::sync::Arc;

/// What a call gives back for a parameter.
pub(crate) struct Given {
    /// The parameter's name.
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) value: Constant,
    /// The name that was given for it, if it is one.
    pub(crate) path: Option<Vec<String>>,
}

/// What a call may name: variables around it, and the types of the parameters that they are, or that a client has.
type Known<'k> = (&'k [Variable], &'k [Oid]);

/// A procedure, and which argument each of its parameters has.
type Meant = (Arc<RoutineDef>, Vec<Option<usize>>);

/// The name that an argument is, if it is one.
fn path_of(expr: &ast::Expr<'_>) -> Option<Vec<String>> {
    match expr.kind {
        ExprKind::Column(path) => Some(path.iter().map(|name| name.text.to_owned()).collect()),
        _ => None,
    }
}

/// Which argument of a call goes to which parameter; none if they do not fit. A parameter without one has its default.
fn placed(routine: &RoutineDef, arguments: &[ast::Argument<'_>]) -> Option<Vec<Option<usize>>> {
    let mut placed = vec![None; routine.parameters.len()];
    for (index, argument) in arguments.iter().enumerate() {
        let at = match argument.name {
            None => index,
            Some(name) => routine.parameters.iter().position(|parameter| parameter.name == name.text)?,
        };
        let place = placed.get_mut(at)?;
        if place.replace(index).is_some() {
            return None;
        }
    }
    let has_all = placed
        .iter()
        .zip(&routine.parameters)
        .all(|(argument, parameter)| argument.is_some() || (parameter.default.is_some() && parameter.mode != b'o'));
    has_all.then_some(placed)
}

/// The parameters whose values go in.
fn inputs(routine: &RoutineDef) -> impl Iterator<Item = usize> {
    (0..routine.parameters.len()).filter(|index| routine.parameters[*index].mode != b'o')
}

/// What comes out: names and types.
fn outputs(routine: &RoutineDef) -> impl Iterator<Item = (&str, Type)> {
    let given = routine.parameters.iter().filter(|parameter| parameter.mode != b'i');
    given.enumerate().map(|(index, parameter)| match parameter.name.is_empty() {
        true => (UNNAMED[index.min(UNNAMED.len() - 1)], parameter.ty),
        false => (parameter.name.as_str(), parameter.ty),
    })
}

/// A number that differs where results do.
fn shape_of_outputs(routine: &RoutineDef) -> u64 {
    let mut bytes = Vec::new();
    for (name, ty) in outputs(routine) {
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(&ty.oid.0.to_le_bytes());
    }
    hash_bytes(&bytes)
}

/// Says what comes out; false if nothing does.
fn describe_outputs<O: Output>(routine: &RoutineDef, format: impl Fn(usize) -> Format, out: &mut O) -> bool {
    let column = |(index, (name, ty)): (usize, (_, Type))| Column {
        name,
        table: 0,
        number: 0,
        ty,
        size: table::by_oid(ty.oid).map_or(-1, |row| row.length),
        format: format(index),
    };
    let found: Vec<_> = outputs(routine).enumerate().map(column).collect();
    if found.is_empty() {
        return false;
    }
    out.columns(found.into_iter());
    true
}

#[cold]
fn gone() -> Error {
    Error::statement(sqlstate::UNDEFINED_FUNCTION, "the procedure of a prepared call is not there any more")
}

impl<A: Allocator + Copy> Session<A> {
    // ---- of a text

    /// `CALL`, of a client: what it gives back is a row.
    pub(super) fn call_statement<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        call: &ast::Call<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let nesting = Nesting { depth: 0, atomic: self.is_atomic() };
        let (routine, places) = self.called(env, text, call, (&[], &[]), false)?;
        let plan = self.argument_plan(env, text, call, (&[], &[]), false, (&routine, &places))?;
        let given =
            self.run_routine(env, &routine, &plan, &[], nesting, &mut |level, error| out.notice(level, error))?;
        if describe_outputs(&routine, |_| Format::Text, out) {
            self.give_outputs(env, &routine, &given, out)?;
        }
        Ok(Some(Tag::Words("CALL")))
    }

    /// `CALL` in a body: what comes out, with the names that stand in its places.
    pub(crate) fn call(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        call: &ast::Call<'_>,
        (variables, types, values): (&[Variable], &[Oid], &[Datum<'_>]),
        nesting: Nesting,
        notices: Notices<'_>,
    ) -> Result<Vec<Given>> {
        let (routine, places) = self.called(env, text, call, (variables, types), false)?;
        let plan = self.argument_plan(env, text, call, (variables, types), false, (&routine, &places))?;
        let values = self.run_routine(env, &routine, &plan, values, nesting, notices)?;
        let given = (0..places.len()).filter(|index| routine.parameters[*index].mode != b'i');
        let given = given.zip(outputs(&routine)).zip(values).map(|((index, (name, ty)), value)| Given {
            name: name.to_owned(),
            ty,
            value,
            path: places[index].and_then(|place| path_of(&call.arguments[place].value)),
        });
        Ok(given.collect())
    }

    // ---- prepared

    /// Prepares a call. `types` are those of its parameters that are known.
    ///
    /// Errors: `42883` and its like; `42P18` for a parameter whose type nothing tells.
    pub(crate) fn prepare_call(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        call: &ast::Call<'_>,
        types: &[Oid],
    ) -> Result<PreparedCall> {
        // Taken before anything is looked up: what changes meanwhile makes it an old one.
        let stamp = self.stamp(env)?;
        let (routine, places) = self.called(env, text, call, (&[], types), true)?;
        let plan = self.argument_plan(env, text, call, (&[], types), true, (&routine, &places))?;
        let plan = self.plans.add(&plan, text.as_bytes(), self.memory)?;
        self.plans.set_stamp(plan, stamp);
        Ok(PreparedCall { plan, routine: routine.oid, outputs: shape_of_outputs(&routine) })
    }

    /// The same call as it is now: prepared anew, with a plan of its own, if definitions have changed; none if it stands.
    pub(crate) fn renewed_call(&mut self, env: &Environment<'_>, known: PreparedCall) -> Result<Option<PreparedCall>> {
        let now = self.stamp(env)?;
        if now.is_some() && now == self.plans.stamp(known.plan) {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(self.plans.text(known.plan)).into_owned();
        // What was inferred stays: clients were told.
        let types: Vec<Oid> =
            Plan::new(self.plans.bytes(known.plan)).map_or(Vec::new(), |plan| plan.client_types().collect());
        let bump = Bump::new();
        let end = text.trim_end_matches([' ', '\t', '\r', '\n', ';']).len();
        let parsed = on_engine_stack(|| crate::parser::parse(&text, 0, end, &bump))?;
        let Statement::Utility(Utility::Call(call)) = parsed else { return Err(gone()) };
        let new = self.prepare_call(env, &text, call, &types)?;
        if new.outputs != known.outputs {
            self.plans.release(new.plan, self.memory);
            return Err(Error::unsupported("cached plan must not change result type"));
        }
        Ok(Some(new))
    }

    /// Says what a prepared call gives back; false if nothing.
    pub(crate) fn describe_call<O: Output>(
        &mut self,
        env: &Environment<'_>,
        call: PreparedCall,
        format: impl Fn(usize) -> Format,
        out: &mut O,
    ) -> Result<bool> {
        let routine = self.catalog(env)?.routine(call.routine).ok_or_else(gone)?;
        Ok(describe_outputs(&routine, format, out))
    }

    /// Executes a prepared call: `parameters` are the client's, as `plan::blob::put_value` writes them.
    pub(crate) fn execute_call<O: Output>(
        &mut self,
        env: &Environment<'_>,
        call: PreparedCall,
        parameters: &[u8],
        out: &mut O,
    ) -> Result<()> {
        let nesting = Nesting { depth: 0, atomic: self.is_atomic() };
        let routine = self.catalog(env)?.routine(call.routine).ok_or_else(gone)?;
        // A body may end the transaction, and with it what lent the plan.
        let plan = self.plans.bytes(call.plan).to_vec();
        let mut values = Vec::new();
        let mut at = 0;
        for oid in Plan::new(&plan).into_iter().flat_map(|plan| plan.client_types()) {
            let (datum, next) = blob::get_value(table::kind(oid), parameters, at)?;
            values.push(datum);
            at = next;
        }
        let notices: Notices<'_> = &mut |level, error| out.notice(level, error);
        let given = self.run_routine(env, &routine, &plan, &values, nesting, notices)?;
        // In the formats that the output wants.
        if describe_outputs(&routine, |_| Format::Text, out) {
            self.give_outputs(env, &routine, &given, out)?;
        }
        out.complete(Tag::Words("CALL"));
        Ok(())
    }

    /// How many columns a prepared call gives back.
    pub(crate) fn call_columns(&mut self, env: &Environment<'_>, call: PreparedCall) -> Result<usize> {
        let routine = self.catalog(env)?.routine(call.routine).ok_or_else(gone)?;
        Ok(outputs(&routine).count())
    }

    // ---- its parts

    /// The procedure that a call means, and which argument goes to which parameter.
    fn called(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        call: &ast::Call<'_>,
        (variables, types): Known<'_>,
        new_parameters: bool,
    ) -> Result<Meant> {
        let (schema, name) = split(call.path, self.database_name())?;
        let styles = self.styles(env)?;
        let style = styles.style(self.transaction.started_at());
        let catalog = self.catalog(env)?;
        let mut seen_named = false;
        for argument in call.arguments {
            if seen_named && argument.name.is_none() {
                return Err(Error::statement(
                    sqlstate::SYNTAX_ERROR,
                    "positional argument cannot follow named argument",
                ));
            }
            seen_named |= argument.name.is_some();
        }
        if let Some(schema) = schema.filter(|schema| catalog.schema(schema).is_none()) {
            let message = format!("schema \"{schema}\" does not exist");
            return Err(Error::statement(sqlstate::INVALID_SCHEMA_NAME, message));
        }
        if let Some(oid) = schema.and_then(|schema| catalog.schema(schema)) {
            catalog.check_usage(oid)?;
        }
        let (functions, named): (Vec<_>, Vec<_>) =
            catalog.routines_in_path(schema, name).into_iter().partition(|(_, routine)| routine.is_function());
        let values: Vec<ast::Expr<'_>> = call.arguments.iter().map(|argument| argument.value).collect();
        let actual = on_engine_stack(|| {
            let (arena, bump) = (Arena::new(), Bump::new());
            let setting = Setting {
                catalog: &catalog,
                text,
                slots: &[],
                style,
                client_types: types,
                new_parameters,
                variables,
                values: &[],
            };
            bind::types_of(&values, &setting, &arena, &bump)
        })?;
        let mut rivals = Vec::new();
        for (place, routine) in named {
            let Some(places) = placed(&routine, call.arguments) else { continue };
            let mut args = vec![Oid::NONE; actual.len()];
            for (parameter, place) in routine.parameters.iter().zip(&places) {
                if let Some(index) = place {
                    args[*index] = parameter.ty.oid;
                }
            }
            Rival { meant: (routine, places), args, place, spreads: false, is_ambiguous: false }.add_to(&mut rivals);
        }
        let mut best = Vec::new();
        for rival in rivals {
            let (routine, places) = &rival.meant;
            let mut exact = 0;
            let fits = routine.parameters.iter().zip(places).all(|(parameter, place)| {
                let Some(index) = place else { return true };
                exact += usize::from(actual[*index] == parameter.ty.oid);
                parameter.mode == b'o' || can_coerce(actual[*index], parameter.ty.oid, Context::Implicit)
            });
            if fits {
                best.push((exact, rival));
            }
        }
        let most = best.iter().map(|one| one.0).max();
        let mut best: Vec<_> = best.into_iter().filter(|one| Some(one.0) == most).collect();
        let shown = || {
            let types: Vec<String> = actual.iter().map(|oid| crate::types::resolve::show(*oid)).collect();
            let path: Vec<&str> = call.path.iter().map(|name| name.text).collect();
            format!("{}({})", path.join("."), types.join(", "))
        };
        match (best.pop(), best.is_empty()) {
            (Some((_, Rival { meant, is_ambiguous: false, .. })), true) => Ok(meant),
            (Some(_), _) => {
                let message = format!("procedure {} is not unique", shown());
                Err(Error::statement(sqlstate::AMBIGUOUS_FUNCTION, message)
                    .hint("Could not choose a best candidate procedure. You might need to add explicit type casts."))
            }
            (None, _) => {
                let is_function = !functions.is_empty() || !crate::types::function::by_name(name).is_empty();
                if is_function {
                    let message = format!("{} is not a procedure", shown());
                    return Err(
                        Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).hint("To call a function, use SELECT.")
                    );
                }
                let message = format!("procedure {} does not exist", shown());
                Err(Error::statement(sqlstate::UNDEFINED_FUNCTION, message).hint(
                    "No procedure matches the given name and argument types. You might need to add explicit type casts.",
                ))
            }
        }
    }

    /// The plan that computes what goes in, one column for each such parameter.
    fn argument_plan(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        call: &ast::Call<'_>,
        (variables, types): Known<'_>,
        new_parameters: bool,
        (routine, places): (&RoutineDef, &[Option<usize>]),
    ) -> Result<Vec<u8>> {
        let wanted: Vec<Oid> = inputs(routine).map(|index| routine.parameters[index].ty.oid).collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let styles = self.styles(env)?;
        let style = styles.style(self.transaction.started_at());
        let catalog = self.catalog(env)?;
        let planning = plan::planning::Planning::of(&self.view(env));
        let plan = on_engine_stack(|| {
            let (arena, bump) = (Arena::new(), Bump::new());
            let mut exprs = Vec::with_capacity(wanted.len());
            for index in inputs(routine) {
                exprs.push(match (places[index], &routine.parameters[index].default) {
                    (Some(place), _) => call.arguments[place].value,
                    (None, Some(default)) => crate::parser::parse_expr(default, &bump)?,
                    (None, None) => {
                        return Err(Error::statement(sqlstate::INTERNAL_ERROR, "an argument is missing"));
                    }
                });
            }
            let setting = Setting {
                catalog: &catalog,
                text,
                slots: &[],
                style,
                client_types: types,
                new_parameters,
                variables,
                values: &[],
            };
            let (mut bound, root) = bind::bind_values(&exprs, &wanted, &setting, &arena, &bump)?;
            if !bound.subplans.is_empty() {
                return Err(Error::unsupported("cannot use subquery in CALL argument"));
            }
            let tree = plan::choose::choose(&mut bound, root, &catalog, &planning)?;
            plan::encode::encode(&bound, &tree)
        })?;
        Ok(plan)
    }

    /// Computes what goes in, runs the body, and answers what comes out.
    fn run_routine(
        &mut self,
        env: &Environment<'_>,
        routine: &RoutineDef,
        plan: &[u8],
        parameters: &[Datum<'_>],
        nesting: Nesting,
        notices: Notices<'_>,
    ) -> Result<Vec<Constant>> {
        self.check_executes(env, routine)?;
        let readied = self.readied(env, routine)?;
        let mut values = vec![Constant::Null; routine.parameters.len()];
        if !plan.is_empty() {
            let gathered = self.gather(env, plan, parameters, 1, notices)?;
            let mut at = 0;
            for index in inputs(routine) {
                let (datum, next) = blob::get_value(table::kind(routine.parameters[index].ty.oid), &gathered.rows, at)?;
                values[index] = Constant::of(datum);
                at = next;
            }
        }
        let nesting = Nesting { atomic: nesting.atomic || !routine.is_plain(), ..nesting };
        self.as_routine(env, routine, |session| session.run_body(env, routine, &readied, values, nesting, notices))
    }

    /// Runs a body with these values, and answers what comes out.
    fn run_body(
        &mut self,
        env: &Environment<'_>,
        routine: &RoutineDef,
        readied: &Readied,
        values: Vec<Constant>,
        nesting: Nesting,
        notices: Notices<'_>,
    ) -> Result<Vec<Constant>> {
        let shown = routine.shown();
        let mut interpreter = Interpreter::new(self, env, notices, readied, &shown, nesting);
        for (index, value) in values.into_iter().enumerate() {
            // The first variable is `found`.
            if let Some(Slot::Scalar(_, place)) = interpreter.frame.slots.get_mut(index + 1) {
                *place = value;
            }
        }
        interpreter.run()?;
        let slots = std::mem::take(&mut interpreter.frame.slots);
        let given = routine.parameters.iter().zip(slots.into_iter().skip(1));
        let given = given.filter(|(parameter, _)| parameter.mode != b'i');
        Ok(given
            .map(|(_, slot)| match slot {
                Slot::Scalar(_, value) => value,
                Slot::Record(..) => Constant::Null,
            })
            .collect())
    }

    /// Gives the row of what came out.
    fn give_outputs<O: Output>(
        &mut self,
        env: &Environment<'_>,
        routine: &RoutineDef,
        given: &[Constant],
        out: &mut O,
    ) -> Result<()> {
        let styles = self.styles(env)?;
        let view = self.view(env);
        let read = || self.catalog_parts(env, &self.work);
        let catalog = LazyCatalog::reading(&env.database.catalogs, &read);
        let around = self.around(env, catalog, &view, styles.style(kernel::clock::wall_us()));
        out.begin_row();
        for (index, ((_, ty), value)) in outputs(routine).zip(given).enumerate() {
            let written = match value.datum() {
                Datum::Null => {
                    out.null();
                    Ok(())
                }
                datum => {
                    let format = out.format(index, Format::Text);
                    out.value(|buffer| write_value(table::kind(ty.oid), ty.oid, format, datum, &around, buffer))
                }
            };
            if let Err(error) = written {
                out.abandon_row();
                return Err(error);
            }
        }
        out.end_row()
    }
}

/// What results of parameters without names are called.
const UNNAMED: [&str; 9] =
    ["column1", "column2", "column3", "column4", "column5", "column6", "column7", "column8", "column9"];
