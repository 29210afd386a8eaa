//! Functions and procedures that are there: `ALTER FUNCTION`, `DROP FUNCTION`, the same of procedures, and what depends on them.
//!
//! Rules
//! 1. Views call functions by their numbers, defaults by their names with schemas: a function that a default calls keeps its name.
//! 2. A function that a view or a default calls is not dropped (`2BP01`).

use super::define::Change;
use super::owner::not_owner;
use crate::catalog::codec::{ObjectClass, routine_image};
use crate::catalog::definition::TableDef;
use crate::catalog::routine::RoutineDef;
use crate::catalog::split;
use crate::parser::ast::{AlterRoutine, DropRoutine, RoutineAction, RoutineKind, RoutineName};
use crate::plan::{Plan, flags};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::Oid;
use allocator_api2::alloc::Allocator;
use base::settings::MessageLevel;
use base::{Error, Result, sqlstate};
use std::sync::Arc;
use storage::txn::LockMode;

impl<A: Allocator + Copy> Session<A> {
    /// The routine that a name means, with its types or without; `None` if there is none.
    ///
    /// Errors: `42725` if there are several, `42809` if it is of another kind.
    pub(super) fn routine_named(
        &self,
        env: &Environment<'_>,
        kind: RoutineKind,
        name: &RoutineName<'_>,
    ) -> Result<std::result::Result<Arc<RoutineDef>, Error>> {
        let (schema, last) = split(name.path, self.database_name())?;
        {
            let catalog = self.catalog(env)?;
            if let Some(oid) = schema.and_then(|schema| catalog.schema(schema)) {
                catalog.check_usage(oid)?;
            }
        }
        let types = match name.types {
            Some(types) => {
                let catalog = self.catalog(env)?;
                Some(types.iter().map(|ty| Ok(catalog.type_of(ty)?.oid)).collect::<Result<Vec<Oid>>>()?)
            }
            None => None,
        };
        let word = kind.word();
        let mut found = self.catalog(env)?.routines_named(schema, last);
        found.retain(|routine| types.as_ref().is_none_or(|types| routine.inputs() == *types));
        let is_kind = |routine: &Arc<RoutineDef>| match kind {
            RoutineKind::Function => routine.is_function(),
            RoutineKind::Procedure => !routine.is_function(),
            RoutineKind::Any => true,
        };
        let path: Vec<&str> = name.path.iter().map(|name| name.text).collect();
        let shown = match &types {
            Some(types) => crate::bind::routine::signature(&path.join("."), types),
            None => format!("{}()", path.join(".")),
        };
        let (own, others): (Vec<_>, Vec<_>) = found.into_iter().partition(is_kind);
        match (own.as_slice(), others.as_slice()) {
            ([routine], _) => Ok(Ok(routine.clone())),
            ([], [_]) if types.is_some() => {
                Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, format!("{shown} is not a {word}")))
            }
            ([], _) => {
                let message = match types {
                    Some(_) => format!("{word} {shown} does not exist"),
                    None => format!("could not find a {word} named \"{}\"", path.join(".")),
                };
                Ok(Err(Error::statement(sqlstate::UNDEFINED_FUNCTION, message)))
            }
            _ => {
                let message = format!("{word} name \"{}\" is not unique", path.join("."));
                Err(Error::statement(sqlstate::AMBIGUOUS_FUNCTION, message)
                    .hint(format!("Specify the argument list to select the {word} unambiguously.")))
            }
        }
    }

    /// `DROP FUNCTION`, `DROP PROCEDURE`
    pub(super) fn drop_routines<O: Output>(
        &mut self,
        env: &Environment<'_>,
        drop: &DropRoutine<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let DropRoutine { kind, routines: names, if_exists, cascade } = *drop;
        let words = match kind {
            RoutineKind::Function => "DROP FUNCTION",
            RoutineKind::Procedure => "DROP PROCEDURE",
            RoutineKind::Any => "DROP ROUTINE",
        };
        self.check_writes(env, words)?;
        for name in names {
            let missing = match self.routine_named(env, kind, name)? {
                Ok(routine) => {
                    let schema_owner = self.definitions(env, &self.work)?.schema_owner(routine.schema);
                    if !self.owns(env, routine.owner)? && !self.owns(env, schema_owner)? {
                        return Err(not_owner(routine.word(), &routine.name));
                    }
                    self.lock_name(env, routine.schema, &format!("procedure {}", routine.name))?;
                    match cascade {
                        true => self.drop_users(env, &routine, out)?,
                        false => self.check_unused(env, &routine)?,
                    }
                    let oid = routine.oid;
                    let gone = [ObjectClass::Routine, ObjectClass::Privileges];
                    self.define(env, &gone.map(|class| Change { class, oid, image: None }))?;
                    continue;
                }
                Err(missing) => missing,
            };
            if !if_exists {
                return Err(missing);
            }
            let (_, last) = split(name.path, self.database_name())?;
            let shown = match name.types {
                Some(_) => missing.message().to_owned(),
                None => format!("{} {last}() does not exist", kind.word()),
            };
            let message = format!("{shown}, skipping");
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
        }
        Ok(Some(Tag::Words(words)))
    }

    /// Drops what needs a function that is dropped: triggers, defaults and views.
    pub(super) fn drop_users<O: Output>(
        &mut self,
        env: &Environment<'_>,
        routine: &RoutineDef,
        out: &mut O,
    ) -> Result<()> {
        let mut tell = |what: String| {
            let message = format!("drop cascades to {what}");
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
        };
        let tables: Vec<Oid> = {
            let definitions = self.definitions(env, &self.work)?;
            let fires = |table: &&Arc<TableDef>| table.triggers.iter().any(|trigger| trigger.function == routine.oid);
            definitions.tables().filter(fires).map(|table| table.oid).collect()
        };
        for oid in tables {
            self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
            let Some(table) = self.lock_definition(env, oid)? else { continue };
            let mut table = TableDef::clone(&table);
            for trigger in table.triggers.iter().filter(|trigger| trigger.function == routine.oid) {
                tell(format!("trigger {} on {} {}", trigger.name, table.word(), table.name));
            }
            table.triggers.retain(|trigger| trigger.function != routine.oid);
            self.define_tables(env, &mut [&mut table])?;
        }
        while let Some((oid, column)) = self.column_calling(env, routine)? {
            self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
            let Some(table) = self.lock_definition(env, oid)? else { continue };
            let mut table = TableDef::clone(&table);
            let changed = &mut table.columns[column];
            (changed.default, changed.uses) = (None, Vec::new());
            tell(format!("default value for column {} of table {}", changed.name, table.name));
            self.define_tables(env, &mut [&mut table])?;
        }
        let views: Vec<Oid> = {
            let definitions = self.definitions(env, &self.work)?;
            let calls = |table: &&Arc<TableDef>| table.view.as_ref().is_some_and(|view| view.calls(routine.oid));
            definitions.tables().filter(calls).map(|table| table.oid).collect()
        };
        for oid in views {
            self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
            // It may have gone with another one.
            let Some(view) = self.lock_definition(env, oid)? else { continue };
            let message = format!("drop cascades to view {}", view.name);
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
            self.drop_all(env, &[view], true, out)?;
        }
        Ok(())
    }

    /// Refuses to drop a function that a column's default or a view calls.
    pub(super) fn check_unused(&mut self, env: &Environment<'_>, routine: &RoutineDef) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        let calls = |table: &&Arc<TableDef>| table.view.as_ref().is_some_and(|view| view.calls(routine.oid));
        let fires = definitions.tables().find_map(|table| {
            let found = table.triggers.iter().find(|trigger| trigger.function == routine.oid)?;
            Some(format!("trigger {} on {} {}", found.name, table.word(), table.name))
        });
        let user = match definitions.tables().find(calls) {
            _ if fires.is_some() => fires,
            Some(view) => Some(format!("view {}", view.name)),
            None => self.default_calling(env, routine)?,
        };
        let Some(user) = user else { return Ok(()) };
        let message = format!("cannot drop function {} because other objects depend on it", routine.shown());
        Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .detail(format!("{user} depends on function {}", routine.shown()))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."))
    }

    /// The default that calls a function, for people.
    fn default_calling(&mut self, env: &Environment<'_>, routine: &RoutineDef) -> Result<Option<String>> {
        let Some((table, column)) = self.column_calling(env, routine)? else { return Ok(None) };
        let definitions = self.definitions(env, &self.work)?;
        let named = definitions.table(table).map(|table| (&table.columns[column].name, &table.name));
        Ok(named.map(|(column, table)| format!("default value for column {column} of table {table}")))
    }

    /// The column whose default calls a function.
    fn column_calling(&mut self, env: &Environment<'_>, routine: &RoutineDef) -> Result<Option<(Oid, usize)>> {
        let definitions = self.definitions(env, &self.work)?;
        for table in definitions.tables() {
            for (index, column) in table.visible() {
                let Some(text) = column.default.as_ref().filter(|text| text.contains(&routine.name)) else { continue };
                // One that cannot be read calls nothing.
                let plan = self.compile_piece(env, &format!("SELECT {text}"), &[], &[]).ok().flatten();
                let calls = plan
                    .as_deref()
                    .and_then(Plan::new)
                    .is_some_and(|plan| plan.has(flags::CALLS) && plan.tables().any(|used| used.oid == routine.oid));
                if calls {
                    return Ok(Some((table.oid, index)));
                }
            }
        }
        Ok(None)
    }

    /// Refuses another name for a function that a default calls by its name.
    fn check_unnamed(&mut self, env: &Environment<'_>, routine: &RoutineDef) -> Result<()> {
        match self.default_calling(env, routine)? {
            Some(user) => Err(Error::unsupported("renaming a function that a column's default calls is not supported")
                .detail(format!("{user} depends on function {}", routine.shown()))),
            None => Ok(()),
        }
    }

    /// `ALTER FUNCTION`, `ALTER PROCEDURE`
    pub(super) fn alter_routine(&mut self, env: &Environment<'_>, alter: &AlterRoutine<'_>) -> Result<Option<Tag>> {
        self.check_writes(env, "ALTER FUNCTION")?;
        let mut routine = RoutineDef::clone(&*self.routine_named(env, alter.kind, &alter.name)??);
        if !self.owns(env, routine.owner)? {
            return Err(not_owner(routine.word(), &routine.name));
        }
        self.lock_name(env, routine.schema, &format!("procedure {}", routine.name))?;
        match alter.action {
            RoutineAction::Rename(name) => {
                self.check_unnamed(env, &routine)?;
                name.text.clone_into(&mut routine.name);
                self.check_free(env, &routine)?;
            }
            RoutineAction::Schema(name) => {
                let Some(schema) = self.catalog(env)?.schema(name.text) else {
                    let message = format!("schema \"{}\" does not exist", name.text);
                    return Err(Error::statement(sqlstate::INVALID_SCHEMA_NAME, message));
                };
                if schema != routine.schema {
                    self.check_schema(env, schema, crate::catalog::privilege::CREATE)?;
                    self.check_unnamed(env, &routine)?;
                    routine.schema = schema;
                    self.check_free(env, &routine)?;
                }
            }
            RoutineAction::Attributes(said) => {
                routine.volatility = said.volatility.unwrap_or(routine.volatility);
                routine.strict = said.strict.unwrap_or(routine.strict);
                routine.definer = said.definer.unwrap_or(routine.definer);
                for change in said.settings {
                    self.change_values(env, &mut routine.settings, change)?;
                }
                routine.leakproof = said.leakproof.unwrap_or(routine.leakproof);
                routine.parallel = said.parallel.unwrap_or(routine.parallel);
                if said.rows.is_some() && !routine.set {
                    let message = "ROWS is not applicable when function does not return a set";
                    return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
                }
                for (place, number) in routine.costs.iter_mut().zip([said.cost, said.rows]) {
                    *place = number.map_or(*place, |number| (number as f32).to_bits());
                }
            }
        }
        routine.version = self.new_version(env)?;
        let (oid, image) = (routine.oid, Some(routine_image(&routine)));
        self.define(env, &[Change { class: ObjectClass::Routine, oid, image }])?;
        Ok(Some(Tag::Words(alter.kind.alter_words())))
    }

    /// Refuses a name that another routine with the same inputs has.
    fn check_free(&mut self, env: &Environment<'_>, routine: &RoutineDef) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        let is_same = |known: &&Arc<RoutineDef>| {
            known.schema == routine.schema && known.name == routine.name && known.inputs() == routine.inputs()
        };
        if definitions.routines().find(is_same).is_none() {
            return Ok(());
        }
        let schema = self.catalog(env)?.schema_name(routine.schema).unwrap_or_default();
        let message = format!("function {} already exists in schema \"{schema}\"", routine.shown());
        Err(Error::statement(sqlstate::DUPLICATE_FUNCTION, message))
    }
}
