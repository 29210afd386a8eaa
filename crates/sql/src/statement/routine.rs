//! Procedures: `CREATE PROCEDURE`, `DROP PROCEDURE`, `DO`. What `CALL` does is in [`super::call`].
//!
//! Rules
//! 1. A procedure is told from others of its name by the types of what goes in. Which one a call means is found out as for functions:
//!    an exact match first, then the one that takes most arguments as they are.
//! 2. `CALL` and `DO` may end the transaction if they are alone in it: not in a block, and not beside other statements of a text.

use super::define::Change;
use super::owner::not_owner;
use crate::catalog::codec::{ObjectClass, routine_image};
use crate::catalog::routine::{ParameterDef, RoutineDef};
use crate::catalog::split;
use crate::parser::ast::{CreateProcedure, DoBlock, ProcedureName};
use crate::procedure::frame::shapes;
use crate::procedure::kept::Readied;
use crate::procedure::read;
use crate::procedure::run::{Interpreter, Nesting, Notices};
use crate::procedure::tree::{TypeText, Variable as Declared};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Oid, Type, table, typmod};
use allocator_api2::alloc::Allocator;
use base::settings::MessageLevel;
use base::{Error, Result, sqlstate};
use kernel::fiber::on_engine_stack;
use std::sync::Arc;

/// The only language that there is.
const LANGUAGE: &str = "plpgsql";
/// How many parameters a procedure may have.
const PARAMETERS_MAX: usize = 100;

fn check_language(language: Option<&str>) -> Result<()> {
    match language.map(str::to_ascii_lowercase).as_deref() {
        Some(LANGUAGE) => Ok(()),
        Some(known @ ("sql" | "c" | "internal")) => {
            Err(Error::unsupported(format!("procedures in language {known} are not supported"))
                .hint("Write it in plpgsql."))
        }
        Some(other) => {
            Err(Error::statement(sqlstate::UNDEFINED_OBJECT, format!("language \"{other}\" does not exist")))
        }
        None => Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, "no language specified")),
    }
}

impl<A: Allocator + Copy> Session<A> {
    /// `CREATE PROCEDURE`
    pub(super) fn create_procedure(
        &mut self,
        env: &Environment<'_>,
        create: &CreateProcedure<'_>,
    ) -> Result<Option<Tag>> {
        const TAG: Option<Tag> = Some(Tag::Words("CREATE PROCEDURE"));
        self.check_writes(env, "CREATE PROCEDURE")?;
        check_language(create.language)?;
        let (schema, name) = self.creation_place(env, create.path)?;
        let name = name.to_owned();
        let parameters = self.parameters(env, create)?;
        self.lock_name(env, schema, &format!("procedure {name}"))?;
        let mut routine = RoutineDef {
            oid: Oid::NONE,
            schema,
            name,
            owner: self.role(),
            language: LANGUAGE.to_owned(),
            parameters,
            body: create.body.to_owned(),
        };
        // A body that is no program is refused now.
        self.readied(env, &routine)?;
        let known = {
            let definitions = self.definitions(env, &self.work)?;
            let same = |known: &&Arc<RoutineDef>| {
                (known.schema, known.name.as_str()) == (schema, routine.name.as_str())
                    && known.inputs() == routine.inputs()
            };
            definitions.routines().find(same).cloned()
        };
        routine.oid = match known {
            Some(known) if !create.replace => {
                let types: Vec<String> =
                    known.inputs().into_iter().map(|oid| typmod::format_type(Type::plain(oid))).collect();
                let message = format!("function \"{}\" already exists with same argument types", known.name);
                debug_assert_eq!(types.len(), known.inputs().len());
                return Err(Error::statement(sqlstate::DUPLICATE_FUNCTION, message));
            }
            Some(known) => {
                if !self.owns(env, known.owner)? {
                    return Err(not_owner(known.word(), &known.name));
                }
                routine.owner = known.owner;
                let outputs = |routine: &RoutineDef| {
                    let outputs = routine.parameters.iter().filter(|parameter| parameter.mode != b'i');
                    outputs.map(|parameter| (parameter.mode, parameter.ty.oid)).collect::<Vec<_>>()
                };
                if outputs(&known) != outputs(&routine) {
                    let message = "cannot change whether a procedure has output parameters";
                    return Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, message));
                }
                for (old, new) in known.parameters.iter().zip(&routine.parameters) {
                    if !old.name.is_empty() && old.name != new.name {
                        let message = format!("cannot change name of input parameter \"{}\"", old.name);
                        return Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, message)
                            .hint(format!("Use DROP PROCEDURE {} first.", known.shown())));
                    }
                    if old.default.is_some() && new.default.is_none() {
                        let message = "cannot remove parameter defaults from existing function";
                        return Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, message)
                            .hint(format!("Use DROP PROCEDURE {} first.", known.shown())));
                    }
                }
                known.oid
            }
            None => self.new_oid(env)?,
        };
        let (oid, image) = (routine.oid, Some(routine_image(&routine)));
        self.define(env, &[Change { class: ObjectClass::Routine, oid, image }])?;
        Ok(TAG)
    }

    fn parameters(&mut self, env: &Environment<'_>, create: &CreateProcedure<'_>) -> Result<Vec<ParameterDef>> {
        let invalid = |message: String| Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, message));
        if create.parameters.len() > PARAMETERS_MAX {
            let message = format!("functions cannot have more than {PARAMETERS_MAX} arguments");
            return Err(Error::statement(sqlstate::TOO_MANY_ARGUMENTS, message));
        }
        let mut parameters: Vec<ParameterDef> = Vec::with_capacity(create.parameters.len());
        for parameter in create.parameters {
            let ty = self.catalog(env)?.type_of(&parameter.ty)?;
            if table::by_oid(ty.oid).is_some_and(|row| row.category == b'P') {
                let shown = typmod::format_type(ty);
                return Err(Error::unsupported(format!("parameters of type {shown} are not supported")));
            }
            let name = parameter.name.map_or(String::new(), |name| name.text.to_owned());
            if !name.is_empty() && parameters.iter().any(|known| known.name == name) {
                return invalid(format!("parameter name \"{name}\" used more than once"));
            }
            if parameter.default.is_some() && parameter.mode == b'o' {
                return invalid("only input parameters can have default values".to_owned());
            }
            let after_default = parameters.iter().any(|known| known.default.is_some());
            if parameter.default.is_none() && after_default {
                return invalid(match parameter.mode {
                    b'o' => "procedure OUT parameters cannot appear after one with a default value".to_owned(),
                    _ => "input parameters after one with a default value must also have defaults".to_owned(),
                });
            }
            if let Some(default) = parameter.default {
                let text = format!("SELECT CAST(({default}) AS {})", typmod::format_type(ty));
                self.compile_piece(env, &text, &[], &[])?;
            }
            let default = parameter.default.map(str::to_owned);
            // As in PostgreSQL, a parameter's modifier is dropped.
            parameters.push(ParameterDef { mode: parameter.mode, name, ty: Type::plain(ty.oid), default });
        }
        Ok(parameters)
    }

    /// `DROP PROCEDURE`
    pub(super) fn drop_procedures<O: Output>(
        &mut self,
        env: &Environment<'_>,
        names: &[ProcedureName<'_>],
        if_exists: bool,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        self.check_writes(env, "DROP PROCEDURE")?;
        for name in names {
            let (schema, last) = split(name.path)?;
            let types = match name.types {
                Some(types) => {
                    let catalog = self.catalog(env)?;
                    Some(types.iter().map(|ty| Ok(catalog.type_of(ty)?.oid)).collect::<Result<Vec<Oid>>>()?)
                }
                None => None,
            };
            let found = self.catalog(env)?.routines_named(schema, last);
            let fits = |routine: &&Arc<RoutineDef>| types.as_ref().is_none_or(|types| routine.inputs() == *types);
            let fitting: Vec<_> = found.iter().filter(fits).collect();
            let shown = match &types {
                Some(types) => {
                    let types: Vec<String> = types.iter().map(|oid| typmod::format_type(Type::plain(*oid))).collect();
                    format!("procedure {last}({})", types.join(","))
                }
                None => format!("procedure {last}()"),
            };
            match fitting.as_slice() {
                [routine] => {
                    let (oid, home, own) = (routine.oid, routine.schema, routine.name.clone());
                    let schema_owner = self.definitions(env, &self.work)?.schema_owner(home);
                    if !self.owns(env, routine.owner)? && !self.owns(env, schema_owner)? {
                        return Err(not_owner(routine.word(), &own));
                    }
                    self.lock_name(env, home, &format!("procedure {own}"))?;
                    let gone = [ObjectClass::Routine, ObjectClass::Privileges];
                    self.define(env, &gone.map(|class| Change { class, oid, image: None }))?;
                }
                [] if if_exists => {
                    let message = format!("{shown} does not exist, skipping");
                    out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
                }
                [] => {
                    let message = match types {
                        Some(_) => format!("{shown} does not exist"),
                        None => format!("could not find a procedure named \"{last}\""),
                    };
                    return Err(Error::statement(sqlstate::UNDEFINED_FUNCTION, message));
                }
                _ => {
                    let message = format!("procedure name \"{last}\" is not unique");
                    return Err(Error::statement(sqlstate::AMBIGUOUS_FUNCTION, message)
                        .hint("Specify the argument list to select the procedure unambiguously."));
                }
            }
        }
        Ok(Some(Tag::Words("DROP PROCEDURE")))
    }

    /// A procedure's body, read, with the types of its variables.
    pub(super) fn readied(&mut self, env: &Environment<'_>, routine: &RoutineDef) -> Result<Arc<Readied>> {
        let settled =
            env.database.shared.as_ref().filter(|_| self.work.shares_plans()).and_then(|shared| shared.settled());
        let settled = settled.filter(|_| !routine.oid.is_none());
        if let Some(found) = settled.and_then(|version| env.database.bodies.find(routine.oid, version)) {
            return Ok(found);
        }
        let variable = |(index, parameter): (usize, &ParameterDef)| Declared {
            label: routine.name.clone(),
            name: match parameter.name.is_empty() {
                true => format!("${}", index + 1),
                false => parameter.name.clone(),
            },
            ty: TypeText::Named(typmod::format_type(parameter.ty)),
            constant: false,
            not_null: false,
        };
        let arguments = routine.parameters.iter().enumerate().map(variable).collect();
        let readied = self.ready(env, &routine.body, &routine.name, arguments, settled)?;
        if let Some(version) = settled {
            env.database.bodies.add(routine.oid, version, &readied);
        }
        Ok(readied)
    }

    fn ready(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        label: &str,
        arguments: Vec<Declared>,
        version: Option<u64>,
    ) -> Result<Arc<Readied>> {
        let body = on_engine_stack(|| read::read(text, label, arguments)).map_err(|error| match error.position() {
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
        check_language(block.language.or(Some(LANGUAGE)))?;
        let readied = self.ready(env, block.body, "", Vec::new(), None)?;
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
