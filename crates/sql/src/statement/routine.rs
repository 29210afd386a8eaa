//! Functions and procedures: `CREATE FUNCTION`, `CREATE PROCEDURE`, `DO`, and how a function runs. What is done with those that are there
//! is in [`super::alter_routine`], what `CALL` does in [`super::call`].
//!
//! Rules
//! 1. A routine is told from others of its name by the types of what goes in. Which one a call means is found out as for functions:
//!    an exact match first, then the one that takes most arguments as they are.
//! 2. `CALL` and `DO` may end the transaction if they are alone in it: not in a block, and not beside other statements of a text.

use super::define::Change;
use super::owner::not_owner;
use crate::catalog::codec::{ObjectClass, routine_image};
use crate::catalog::language::Language;
use crate::catalog::privilege::{self, Guard};
use crate::catalog::routine::{ParameterDef, RoutineDef};
use crate::parser::ast::{CreateRoutine, DoBlock, Returns, RoutineBody, RoutineKind};
use crate::plan::blob::Constant;
use crate::plan::{Plan, flags};
use crate::procedure::frame::{Frame, Slot, shapes};
use crate::procedure::kept::{Of, Readied};
use crate::procedure::read;
use crate::procedure::run::{Interpreter, Nesting, Notices, Returned};
use crate::procedure::tree::{Gives, Kind, TypeText, Variable as Declared};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::cast::{Context, can_coerce};
use crate::types::{Oid, Type, resolve, table, typmod};
use allocator_api2::alloc::Allocator;
use base::settings::SettingId;
use base::{Error, Result, sqlstate};
use kernel::fiber::on_engine_stack;
use std::sync::Arc;

/// The language of procedures, and of functions that say so.
pub(super) const LANGUAGE: &str = "plpgsql";
/// The other language of functions.
const SQL: &str = "sql";
/// How many parameters a routine may have.
const PARAMETERS_MAX: usize = 100;

fn language(language: Option<&str>, is_function: bool) -> Result<&'static str> {
    match language.map(str::to_ascii_lowercase).as_deref() {
        Some(LANGUAGE) => Ok(LANGUAGE),
        Some(SQL) if is_function => Ok(SQL),
        Some(known @ ("sql" | "c" | "internal")) => {
            let what = if is_function { "functions" } else { "procedures" };
            Err(Error::unsupported(format!("{what} in language {known} are not supported"))
                .hint("Write it in plpgsql."))
        }
        Some(other) => {
            Err(Error::statement(sqlstate::UNDEFINED_OBJECT, format!("language \"{other}\" does not exist")))
        }
        None => Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, "no language specified")),
    }
}

fn invalid<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, message.into()))
}

/// What a routine's body gives.
fn gives(routine: &RoutineDef) -> Gives {
    let outputs = routine.output_parameters().count();
    match () {
        () if !routine.is_function() => Gives::Procedure,
        () if routine.result == Oid::TRIGGER => Gives::Row,
        () if routine.rows_of.is_some() && routine.set => Gives::TableRows,
        () if routine.rows_of.is_some() => Gives::Row,
        () if routine.set && outputs > 0 => Gives::Rows,
        () if routine.set => Gives::Set,
        () if routine.result == Oid::VOID => Gives::Void,
        () if outputs > 0 => Gives::Outputs,
        () => Gives::Value,
    }
}

/// Has its body a variable of the type of its result, `$0`? Only if nothing else says what that type is in a call.
fn has_result_variable(routine: &RoutineDef) -> bool {
    resolve::is_polymorphic(routine.result) && routine.output_parameters().next().is_none()
}

impl<A: Allocator + Copy> Session<A> {
    /// `CREATE FUNCTION`, `CREATE PROCEDURE`
    pub(super) fn create_routine(&mut self, env: &Environment<'_>, create: &CreateRoutine<'_>) -> Result<Option<Tag>> {
        let is_function = create.kind == RoutineKind::Function;
        self.check_writes(env, if is_function { "CREATE FUNCTION" } else { "CREATE PROCEDURE" })?;
        let (language, body) = match create.body {
            RoutineBody::Text(body) => (language(create.language, is_function)?, body.to_owned()),
            RoutineBody::Expression(_) | RoutineBody::Atomic(_)
                if create.language.is_some_and(|known| !known.eq_ignore_ascii_case(SQL)) =>
            {
                return invalid("inline SQL function body only valid for language SQL");
            }
            RoutineBody::Expression(text) => (SQL, format!("SELECT {text}")),
            RoutineBody::Atomic(text) => (SQL, text.to_owned()),
        };
        let (schema, name) = self.creation_place(env, create.path)?;
        self.check_language(env, language)?;
        let name = name.to_owned();
        let parameters = self.parameters(env, create)?;
        let (result, set, rows_of) = self.result(env, create, &parameters)?;
        self.lock_name(env, schema, &format!("procedure {name}"))?;
        let said = &create.attributes;
        if said.rows.is_some() && !set {
            let message = "ROWS is not applicable when function does not return a set";
            return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        let rows = said.rows.unwrap_or(if set { 1000.0 } else { 0.0 });
        let mut routine = RoutineDef {
            oid: Oid::NONE,
            version: self.new_version(env)?,
            kind: if is_function { b'f' } else { b'p' },
            schema,
            name,
            owner: self.role(),
            language: language.to_owned(),
            parameters,
            result,
            rows_of,
            set,
            volatility: said.volatility.unwrap_or(b'v'),
            strict: said.strict.unwrap_or(false),
            leakproof: said.leakproof.unwrap_or(false),
            parallel: said.parallel.unwrap_or(b'u'),
            costs: [(said.cost.unwrap_or(100.0) as f32).to_bits(), (rows as f32).to_bits()],
            body,
            definer: said.definer.unwrap_or(false),
            settings: Vec::new(),
            variadic: create.parameters.iter().any(|parameter| parameter.variadic),
        };
        for change in said.settings {
            self.change_values(env, &mut routine.settings, change)?;
        }
        let known = {
            let definitions = self.definitions(env, &self.work)?;
            let same = |known: &&Arc<RoutineDef>| {
                (known.schema, known.name.as_str()) == (schema, routine.name.as_str())
                    && known.inputs() == routine.inputs()
            };
            definitions.routines().find(same).cloned()
        };
        let is_new = known.is_none();
        routine.oid = match known {
            Some(known) if !create.replace => {
                let message = format!("function \"{}\" already exists with same argument types", known.name);
                return Err(Error::statement(sqlstate::DUPLICATE_FUNCTION, message));
            }
            Some(known) => {
                if !self.owns(env, known.owner)? {
                    return Err(not_owner(known.word(), &known.name));
                }
                routine.owner = known.owner;
                check_replaces(&known, &routine)?;
                known.oid
            }
            None => self.new_oid(env)?,
        };
        let (oid, image) = (routine.oid, Some(routine_image(&routine)));
        self.define(env, &[Change { class: ObjectClass::Routine, oid, image }])?;
        if is_new {
            self.grant_defaults(env, Guard::routine(&routine), schema)?;
        }
        // A body that is no program is refused now; it may call what it is the body of.
        self.as_routine(env, &RoutineDef { definer: false, ..routine.clone() }, |session| {
            session.check_body(env, &routine)
        })?;
        Ok(Some(Tag::Words(if is_function { "CREATE FUNCTION" } else { "CREATE PROCEDURE" })))
    }

    /// May the current user write in a language? Errors: `42501`.
    fn check_language(&self, env: &Environment<'_>, name: &'static str) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        let Some(language) = Language::named(name) else { return Ok(()) };
        match definitions.rights(self.role(), definitions.language_guard(language), privilege::USAGE) {
            0 => Err(super::owner::denied("language", name)),
            _ => Ok(()),
        }
    }

    /// The type of the result, and whether it is a set of them.
    fn result(
        &mut self,
        env: &Environment<'_>,
        create: &CreateRoutine<'_>,
        parameters: &[ParameterDef],
    ) -> Result<(Oid, bool, Option<Oid>)> {
        let outputs: Vec<Oid> =
            parameters.iter().filter(|parameter| parameter.mode != b'i').map(|parameter| parameter.ty.oid).collect();
        let of_outputs = match outputs.as_slice() {
            [] => None,
            [only] if create.kind == RoutineKind::Function => Some(*only),
            _ => Some(Oid::RECORD),
        };
        let (name, set) = match create.returns {
            None if create.kind != RoutineKind::Function => return Ok((of_outputs.unwrap_or(Oid::VOID), false, None)),
            None => {
                return of_outputs
                    .map_or_else(|| invalid("function result type must be specified"), |oid| Ok((oid, false, None)));
            }
            Some(Returns::Table) => {
                let inputs_only = parameters.iter().all(|parameter| matches!(parameter.mode, b'i' | b't'));
                return match inputs_only {
                    true => Ok((of_outputs.unwrap_or(Oid::RECORD), true, None)),
                    false => {
                        let message = "OUT and INOUT arguments aren't allowed in TABLE functions";
                        Err(Error::statement(sqlstate::SYNTAX_ERROR, message))
                    }
                };
            }
            Some(Returns::Value(name)) => (name, false),
            Some(Returns::Set(name)) => (name, true),
        };
        let catalog = self.catalog(env)?;
        let ty = match catalog.type_of(&name) {
            Ok(ty) => ty,
            Err(error) => {
                let path: Vec<&str> = name.path.iter().map(|name| name.text).collect();
                let relation = match path.as_slice() {
                    [name] => catalog.find(None, name)?,
                    [schema, name] => catalog.find(Some(schema), name)?,
                    _ => None,
                };
                // A table's name is the name of its rows' type.
                let Some(relation) = relation else { return Err(error) };
                if of_outputs.is_some() {
                    return invalid("function result type must be record because of OUT parameters");
                }
                return Ok((Oid::RECORD, set, Some(relation.oid)));
            }
        };
        if let Some(wanted) = of_outputs.filter(|wanted| *wanted != ty.oid) {
            let message = format!(
                "function result type must be {} because of OUT parameters",
                typmod::format_type(Type::plain(wanted))
            );
            return invalid(message);
        }
        drop(catalog);
        self.hold_type(env, ty)?;
        let is_pseudo = table::by_oid(ty.oid).is_some_and(|row| row.category == b'P');
        self.check_told(ty.oid, parameters)?;
        let is_known = resolve::is_polymorphic(ty.oid)
            || ty.oid == Oid::VOID
            || ty.oid == Oid::TRIGGER
            || (ty.oid == Oid::RECORD && of_outputs.is_some());
        if is_pseudo && (!is_known || (set && ty.oid != Oid::RECORD && !resolve::is_polymorphic(ty.oid))) {
            let shown = typmod::format_type(ty);
            return Err(Error::unsupported(format!("functions that return {shown} are not supported"))
                .hint("Use OUT parameters, or RETURNS TABLE."));
        }
        if ty.oid == Oid::TRIGGER && create.language.is_some_and(|known| known.eq_ignore_ascii_case(SQL)) {
            return invalid("SQL functions cannot return type trigger");
        }
        if ty.oid == Oid::TRIGGER && parameters.iter().any(ParameterDef::is_input) {
            return invalid("trigger functions cannot have declared arguments");
        }
        Ok((ty.oid, set, None))
    }

    /// Refuses a result whose type no argument tells.
    fn check_told(&self, result: Oid, parameters: &[ParameterDef]) -> Result<()> {
        if !resolve::is_polymorphic(result) {
            return Ok(());
        }
        let compatible = resolve::is_any_compatible(result);
        let tells = |known: &ParameterDef| {
            known.is_input()
                && resolve::is_polymorphic(known.ty.oid)
                && resolve::is_any_compatible(known.ty.oid) == compatible
        };
        if parameters.iter().any(tells) {
            return Ok(());
        }
        let shown = typmod::format_type(Type::plain(result));
        let which = match compatible {
            true => {
                "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or anycompatiblemultirange"
            }
            false => "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange",
        };
        Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, "cannot determine result data type")
            .detail(format!("A result of type {shown} requires at least one input of type {which}.")))
    }

    /// Reads a body, and looks over the statements of one in SQL.
    fn check_body(&mut self, env: &Environment<'_>, routine: &RoutineDef) -> Result<()> {
        // Who loads a dump makes functions before the tables that they read.
        if !self.view(env).bool(SettingId::CheckFunctionBodies) {
            return Ok(());
        }
        if routine.is_polymorphic() {
            // Only calls tell the types: as in PostgreSQL, any one will do for what is looked at here.
            let types: Vec<Oid> = routine.types().into_iter().map(some_type).collect();
            let names_result = has_result_variable(routine);
            let readied = self.read_body(env, &routine.with_types(&types), names_result, None)?;
            return match readied.body.is_sql {
                true => check_syntax(&readied),
                false => Ok(()),
            };
        }
        let readied = self.readied(env, routine)?;
        match readied.body.is_sql {
            true => self.check_result(env, routine, &readied),
            false => Ok(()),
        }
    }

    /// Finds out whether the statements of a body in SQL are statements, with the result that is wanted.
    fn check_result(&mut self, env: &Environment<'_>, routine: &RoutineDef, readied: &Readied) -> Result<()> {
        let frame = Frame::new(&readied.body, &readied.shapes);
        let wanted = self.result_types(env, routine)?;
        let shown = match routine.result {
            Oid::RECORD => "record".to_owned(),
            oid => typmod::format_type(Type::plain(oid)),
        };
        let mismatch = |detail: &str| {
            let message = format!("return type mismatch in function declared to return {shown}");
            Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, message).detail(detail.to_owned())
        };
        const NO_RESULT: &str = "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.";
        let mut gives = matches!(readied.body.gives, Gives::Void);
        for statement in &readied.body.block.body {
            let (piece, is_last) = match &statement.kind {
                Kind::Run(piece) => (piece, false),
                Kind::Result(piece) => (piece, true),
                _ => continue,
            };
            let (names, types) = frame.names(&readied.body, piece);
            let plan = self.compile_piece(env, &piece.text, &names, &types)?;
            if !is_last {
                continue;
            }
            gives = true;
            let plan = plan.as_deref().and_then(Plan::new).filter(|plan| plan.has(flags::RETURNS_ROWS));
            let Some(plan) = plan else { return Err(mismatch(NO_RESULT)) };
            let found: Vec<Oid> = plan.columns().map(|column| column.ty.oid).collect();
            if found.len() != wanted.len() {
                let few = if found.len() < wanted.len() { "few" } else { "many" };
                return Err(mismatch(&match wanted.len() {
                    1 => "Final statement must return exactly one column.".to_owned(),
                    _ => format!("Final statement returns too {few} columns."),
                }));
            }
            for (index, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
                if !can_coerce(*found, *wanted, Context::Assignment) {
                    let (found, to) = (Type::plain(*found), Type::plain(*wanted));
                    let (found, to) = (typmod::format_type(found), typmod::format_type(to));
                    return Err(mismatch(&match routine.result {
                        Oid::RECORD => {
                            format!("Final statement returns {found} instead of {to} at column {}.", index + 1)
                        }
                        _ => format!("Actual return type is {found}."),
                    }));
                }
            }
        }
        if gives { Ok(()) } else { Err(mismatch(NO_RESULT)) }
    }

    fn parameters(&mut self, env: &Environment<'_>, create: &CreateRoutine<'_>) -> Result<Vec<ParameterDef>> {
        let is_function = create.kind == RoutineKind::Function;
        let is_sql = create.language.is_none_or(|known| known.eq_ignore_ascii_case(SQL));
        if create.parameters.len() > PARAMETERS_MAX {
            let message = format!("functions cannot have more than {PARAMETERS_MAX} arguments");
            return Err(Error::statement(sqlstate::TOO_MANY_ARGUMENTS, message));
        }
        let mut parameters: Vec<ParameterDef> = Vec::with_capacity(create.parameters.len());
        let mut has_variadic = false;
        for parameter in create.parameters {
            let ty = self.catalog(env)?.type_of(&parameter.ty)?;
            self.hold_type(env, ty)?;
            let is_polymorphic = resolve::is_polymorphic(ty.oid);
            if !is_function && (is_polymorphic || parameter.variadic) {
                let what = if parameter.variadic { "VARIADIC parameters" } else { "polymorphic parameters" };
                return Err(Error::unsupported(format!("{what} of procedures are not supported")));
            }
            if !is_polymorphic && table::by_oid(ty.oid).is_some_and(|row| row.category == b'P') {
                let shown = typmod::format_type(ty);
                return Err(Error::unsupported(format!("parameters of type {shown} are not supported")));
            }
            let name = parameter.name.map_or(String::new(), |name| name.text.to_owned());
            // To a body in SQL what comes out has no names.
            let apart = |known: &ParameterDef| is_sql && (known.mode == b'i') != (parameter.mode == b'i');
            if !name.is_empty() && parameters.iter().any(|known| known.name == name && !apart(known)) {
                return invalid(format!("parameter name \"{name}\" used more than once"));
            }
            let is_array = table::by_oid(ty.oid).is_some_and(|row| row.is_array());
            if parameter.variadic && !is_array && !matches!(ty.oid, Oid::ANYARRAY | Oid::ANYCOMPATIBLEARRAY) {
                return invalid("VARIADIC parameter must be an array");
            }
            if has_variadic && matches!(parameter.mode, b'i' | b'b') {
                return invalid("VARIADIC parameter must be the last input parameter");
            }
            has_variadic |= parameter.variadic;
            if parameter.default.is_some() && matches!(parameter.mode, b'o' | b't') {
                return invalid("only input parameters can have default values".to_owned());
            }
            let after_default = parameters.iter().any(|known| known.default.is_some());
            let is_output = matches!(parameter.mode, b'o' | b't');
            if parameter.default.is_none() && after_default && !(is_function && is_output) {
                return invalid(match parameter.mode {
                    b'o' => "procedure OUT parameters cannot appear after one with a default value".to_owned(),
                    _ => "input parameters after one with a default value must also have defaults".to_owned(),
                });
            }
            if let Some(default) = parameter.default {
                let text = match is_polymorphic {
                    true => format!("SELECT ({default})"),
                    false => format!("SELECT CAST(({default}) AS {})", typmod::format_type(ty)),
                };
                self.compile_piece(env, &text, &[], &[])?;
            }
            let default = match parameter.default {
                Some(text) => Some(self.catalog(env)?.with_marks(text)?),
                None => None,
            };
            // As in PostgreSQL, a parameter's modifier is dropped.
            parameters.push(ParameterDef { mode: parameter.mode, name, ty: Type::plain(ty.oid), default });
        }
        let outputs = parameters.iter().filter(|known| known.mode != b'i');
        outputs.into_iter().try_for_each(|known| self.check_told(known.ty.oid, &parameters))?;
        Ok(parameters)
    }

    /// Calls a function with these values, and answers what it gives.
    pub(crate) fn run_function(
        &mut self,
        env: &Environment<'_>,
        routine: &RoutineDef,
        (arguments, types): (Vec<Constant>, Vec<Oid>),
        notices: Notices<'_>,
    ) -> Result<Returned> {
        let readied = self.readied_for(env, routine, types)?;
        let types = self.result_types(env, routine)?;
        let shown = if readied.body.is_sql { routine.name.clone() } else { routine.shown() };
        let nesting = Nesting { depth: 0, atomic: true };
        let mut interpreter = Interpreter::new(self, env, notices, &readied, &shown, nesting);
        interpreter.reads_only = routine.volatility != b'v';
        interpreter.returned.types = types;
        interpreter.returned.is_one = !routine.set;
        interpreter.returned.is_void = routine.result == Oid::VOID && !readied.body.is_sql;
        let mut arguments = arguments.into_iter();
        for (index, parameter) in routine.parameters.iter().enumerate() {
            // The first variable is `found`.
            let number = index + 1;
            if parameter.is_input()
                && let (Some(value), Some(Slot::Scalar(_, place))) =
                    (arguments.next(), interpreter.frame.slots.get_mut(number))
            {
                *place = value;
            }
            if parameter.mode != b'i' {
                interpreter.returned.outputs.push(number as u32);
            }
        }
        interpreter.run()?;
        match readied.body.gives {
            Gives::Outputs if !readied.body.is_sql => interpreter.give_outputs()?,
            Gives::Row if !readied.body.is_sql => interpreter.give_given()?,
            _ => {}
        }
        Ok(std::mem::take(&mut interpreter.returned))
    }

    /// The types of a row that a function gives, or of its value.
    fn result_types(&self, env: &Environment<'_>, routine: &RoutineDef) -> Result<Vec<Oid>> {
        if routine.rows_of.is_none() && routine.output_parameters().next().is_none() {
            return Ok(vec![routine.result]);
        }
        let columns = self.catalog(env)?.result_columns(routine)?;
        Ok(columns.into_iter().map(|(_, ty)| ty.oid).collect())
    }

    /// A procedure's body, read, with the types of its variables.
    pub(super) fn readied(&mut self, env: &Environment<'_>, routine: &RoutineDef) -> Result<Arc<Readied>> {
        self.readied_for(env, routine, Vec::new())
    }

    /// The same for a call with these types, which are the routine's already.
    fn readied_for(&mut self, env: &Environment<'_>, routine: &RoutineDef, types: Vec<Oid>) -> Result<Arc<Readied>> {
        let settled =
            env.database.shared.as_ref().filter(|_| self.shares_plans(env)).and_then(|shared| shared.settled());
        let settled = settled.filter(|_| !routine.oid.is_none());
        let key = Of::new(routine.oid, routine.version, false, types);
        if let Some(found) = settled.and_then(|version| env.database.bodies.find(&key, version)) {
            return Ok(found);
        }
        let names_result = match key.is_for_types() {
            false => false,
            true => self.catalog(env)?.routine(routine.oid).is_some_and(|known| has_result_variable(&known)),
        };
        let readied = self.read_body(env, routine, names_result, settled)?;
        if key.is_for_types() && readied.body.is_sql {
            // Nobody knew the types when the function was made.
            self.check_result(env, routine, &readied)?;
        }
        if let Some(version) = settled {
            env.database.bodies.add(key, version, &readied);
        }
        Ok(readied)
    }

    /// Reads the body of a routine, which is for these definitions.
    fn read_body(
        &mut self,
        env: &Environment<'_>,
        routine: &RoutineDef,
        names_result: bool,
        version: Option<u64>,
    ) -> Result<Arc<Readied>> {
        let variable = |(index, parameter): (usize, &ParameterDef)| {
            let name = match parameter.name.is_empty() {
                true => format!("${}", index + 1),
                false => parameter.name.clone(),
            };
            Declared::plain(&routine.name, &name, TypeText::Named(typmod::format_type(parameter.ty)))
        };
        let arguments = routine.parameters.iter().enumerate().map(variable);
        let result = names_result.then(|| {
            Declared::plain(&routine.name, "$0", TypeText::Named(typmod::format_type(Type::plain(routine.result))))
        });
        let arguments = match routine.language.as_str() {
            // In SQL the arguments are what goes in.
            SQL => arguments
                .zip(&routine.parameters)
                .filter(|(_, parameter)| parameter.is_input())
                .map(|(variable, _)| variable)
                .collect(),
            _ if routine.result == Oid::TRIGGER => crate::session::firing::variables(&routine.name),
            _ => arguments.chain(result).collect(),
        };
        let known = (routine.name.as_str(), gives(routine), routine.language == SQL);
        self.ready(env, &routine.body, known, arguments, version)
    }

    pub(crate) fn ready(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        (label, gives, is_sql): (&str, Gives, bool),
        arguments: Vec<Declared>,
        version: Option<u64>,
    ) -> Result<Arc<Readied>> {
        let read = || match is_sql {
            true => read::read_sql(text, label, arguments, gives),
            false => read::read(text, label, arguments, gives),
        };
        let body = on_engine_stack(read).map_err(|error| match error.position() {
            // The place is one in the body.
            Some(_) => crate::procedure::raise::copy(&error),
            None => error,
        })?;
        let shapes = shapes(&body, &self.catalog(env)?)?;
        Ok(Arc::new(Readied::new(body, shapes, version)))
    }

    /// May a statement of a text end the transaction?
    pub(super) fn is_atomic(&self) -> bool {
        self.transaction.outlives_statement()
    }

    /// `DO`, of a client.
    pub(super) fn do_statement<O: Output>(
        &mut self,
        env: &Environment<'_>,
        block: &DoBlock<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let nesting = Nesting { depth: 0, atomic: self.is_atomic() };
        self.run_block(env, block, nesting, &mut |level, error| out.notice(level, error))?;
        Ok(Some(Tag::Words("DO")))
    }

    /// `DO`
    pub(crate) fn run_block(
        &mut self,
        env: &Environment<'_>,
        block: &DoBlock<'_>,
        nesting: Nesting,
        notices: Notices<'_>,
    ) -> Result<()> {
        let language = language(block.language.or(Some(LANGUAGE)), false)?;
        self.check_language(env, language)?;
        let readied = self.ready(env, block.body, ("", Gives::Procedure, false), Vec::new(), None)?;
        Interpreter::new(self, env, notices, &readied, "inline_code_block", nesting).run()
    }

    /// `COMMIT` and `ROLLBACK` in a body: the next transaction begins at once.
    pub(crate) fn end_and_begin(&mut self, env: &Environment<'_>, commit: bool, chain: bool) -> Result<()> {
        let modes = {
            let view = self.view(env);
            (
                self.transaction.shown_isolation(&view),
                self.transaction.shown_read_only(&view),
                self.transaction.shown_deferrable(&view),
            )
        };
        self.end_transaction(env, commit)?;
        self.transaction.begin_statement(kernel::clock::wall_us());
        if chain {
            self.transaction.set_isolation(modes.0)?;
            self.transaction.set_read_only(modes.1)?;
            self.transaction.set_deferrable(modes.2);
        }
        Ok(())
    }
}

/// Refuses a body in SQL whose statements are none.
fn check_syntax(readied: &Readied) -> Result<()> {
    for statement in &readied.body.block.body {
        let (Kind::Run(piece) | Kind::Result(piece)) = &statement.kind else { continue };
        on_engine_stack(|| {
            let bump = bumpalo::Bump::new();
            crate::parser::parse(&piece.text, 0, piece.text.len(), &bump).map(drop)
        })?;
    }
    Ok(())
}

/// A type that a body is read with where only calls tell it.
fn some_type(oid: Oid) -> Oid {
    match oid {
        Oid::ANYARRAY | Oid::ANYCOMPATIBLEARRAY => Oid::INT4_ARRAY,
        oid if resolve::is_polymorphic(oid) => Oid::INT4,
        oid => oid,
    }
}

/// Refuses to put a routine in the place of another that calls could not take for it.
fn check_replaces(known: &RoutineDef, routine: &RoutineDef) -> Result<()> {
    if known.kind != routine.kind {
        return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, "cannot change routine kind").detail(format!(
            "\"{}\" is a {}.",
            known.name,
            known.word()
        )));
    }
    let drop = format!("Use DROP {} {} first.", known.word().to_uppercase(), known.shown());
    let outputs = |routine: &RoutineDef| {
        let outputs = routine.output_parameters();
        outputs.map(|parameter| (parameter.mode, parameter.ty.oid)).collect::<Vec<_>>()
    };
    let is_other = outputs(known) != outputs(routine);
    if known.is_function()
        && ((known.result, known.rows_of, known.set) != (routine.result, routine.rows_of, routine.set) || is_other)
    {
        let error =
            Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, "cannot change return type of existing function");
        return Err(error.hint(drop));
    }
    if is_other {
        return invalid("cannot change whether a procedure has output parameters");
    }
    for (old, new) in known.parameters.iter().zip(&routine.parameters) {
        if !old.name.is_empty() && old.name != new.name {
            let message = format!("cannot change name of input parameter \"{}\"", old.name);
            return Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, message).hint(drop));
        }
        if old.default.is_some() && new.default.is_none() {
            let message = "cannot remove parameter defaults from existing function";
            return Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, message).hint(drop));
        }
    }
    Ok(())
}
