//! Triggers: `CREATE TRIGGER`, `ALTER TRIGGER`, `DROP TRIGGER`, which of them are enabled, and those of `TRUNCATE`.
//!
//! Rules
//! 1. A trigger is a part of its table's definition, and whoever makes one holds the table in the mode that keeps others from changing
//!    rows: no statement runs with some of a table's triggers.
//! 2. A condition is bound when the trigger is made; what it may name depends on when the trigger fires.

use super::define::missing;
use super::owner::Needs;
use crate::bind::variable::{Meaning, Variable};
use crate::catalog::definition::{Rows, TableDef};
use crate::catalog::privilege;
use crate::catalog::trigger::{
    self, BEFORE, DELETE, INSERT, INSTEAD, ROW, TRUNCATE, TriggerDef, UPDATE, row_names, spread,
};
use crate::exec::trigger::Firing;
use crate::parser::ast::{CreateTrigger, Name, Path, TriggerChoice, TriggerStatement};
use crate::plan::Plan;
use crate::session::{Environment, Output, Session, Tag};
use crate::types::Oid;
use allocator_api2::alloc::Allocator;
use base::settings::MessageLevel;
use base::{Error, Result, sqlstate};
use storage::txn::LockMode;

fn invalid<T>(message: &str) -> Result<T> {
    Err(Error::statement(sqlstate::INVALID_OBJECT_DEFINITION, message.to_owned()))
}

fn no_trigger(name: &str, table: &TableDef) -> Error {
    let message = format!("trigger \"{name}\" for table \"{}\" does not exist", table.name);
    Error::statement(sqlstate::UNDEFINED_OBJECT, message)
}

/// Refuses a trigger that its relation cannot have.
fn check_kind(create: &CreateTrigger<'_>, table: &TableDef) -> Result<()> {
    let is = |bits: u16| create.kind & bits == bits;
    let wrong = |detail: &str| {
        let message = format!("\"{}\" is a {}", table.name, table.word());
        Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).detail(detail.to_owned()))
    };
    if table.view.is_some() {
        if !is(INSTEAD) && is(ROW) {
            return wrong("Views cannot have row-level BEFORE or AFTER triggers.");
        }
        if is(TRUNCATE) {
            return wrong("Views cannot have TRUNCATE triggers.");
        }
    } else if !matches!(table.rows, Rows::Stored(_)) {
        let message = format!("permission denied: \"{}\" is a system catalog", table.name);
        return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
    } else if table.sequence.is_some() {
        let message = format!("relation \"{}\" cannot have triggers", table.name);
        return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message)
            .detail("This operation is not supported for sequences."));
    } else if is(INSTEAD) {
        return wrong("Tables cannot have INSTEAD OF triggers.");
    }
    Ok(())
}

/// Refuses what cannot be said of a trigger of that kind.
fn check_said(create: &CreateTrigger<'_>, table: &TableDef) -> Result<()> {
    let is = |bits: u16| create.kind & bits == bits;
    if is(TRUNCATE | ROW) {
        return Err(Error::unsupported("TRUNCATE FOR EACH ROW triggers are not supported"));
    }
    if is(INSTEAD) {
        if !is(ROW) {
            return Err(Error::unsupported("INSTEAD OF triggers must be FOR EACH ROW"));
        }
        if create.condition.is_some() {
            return Err(Error::unsupported("INSTEAD OF triggers cannot have WHEN conditions"));
        }
        if !create.columns.is_empty() {
            return Err(Error::unsupported("INSTEAD OF triggers cannot have column lists"));
        }
    }
    if create.old_table.is_none() && create.new_table.is_none() {
        return Ok(());
    }
    if table.view.is_some() {
        let message = format!("\"{}\" is a view", table.name);
        return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message)
            .detail("Triggers on views cannot have transition tables."));
    }
    if create.kind & (BEFORE | INSTEAD) != 0 {
        return invalid("transition table name can only be specified for an AFTER trigger");
    }
    if is(TRUNCATE) {
        return Err(Error::unsupported("TRUNCATE triggers with transition tables are not supported"));
    }
    if (create.kind & (INSERT | UPDATE | DELETE)).count_ones() > 1 {
        let message = "transition tables cannot be specified for triggers with more than one event";
        return Err(Error::unsupported(message));
    }
    if !create.columns.is_empty() {
        return Err(Error::unsupported("transition tables cannot be specified for triggers with column lists"));
    }
    if create.new_table.is_some() && is(DELETE) {
        return invalid("NEW TABLE can only be specified for an INSERT or UPDATE trigger");
    }
    if create.old_table.is_some() && is(INSERT) {
        return invalid("OLD TABLE can only be specified for a DELETE or UPDATE trigger");
    }
    if create.old_table.map(|name| name.text) == create.new_table.map(|name| name.text) {
        return invalid("OLD TABLE name and NEW TABLE name cannot be the same");
    }
    Ok(())
}

impl<A: Allocator + Copy> Session<A> {
    /// A statement about a trigger.
    pub(super) fn trigger_statement<O: Output>(
        &mut self,
        env: &Environment<'_>,
        statement: &TriggerStatement<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        match statement {
            TriggerStatement::Create(create) => self.create_trigger(env, create),
            TriggerStatement::Drop { name, table, if_exists } => self.drop_trigger(env, *name, table, *if_exists, out),
            TriggerStatement::Rename { name, table, new } => self.rename_trigger(env, *name, table, *new),
        }
    }

    /// `CREATE TRIGGER`
    fn create_trigger(&mut self, env: &Environment<'_>, create: &CreateTrigger<'_>) -> Result<Option<Tag>> {
        self.check_writes(env, "CREATE TRIGGER")?;
        if create.replace && create.constraint {
            return Err(Error::unsupported("CREATE OR REPLACE CONSTRAINT TRIGGER is not supported"));
        }
        let needs = Needs::Rights(privilege::TRIGGER);
        let Some(found) = self.lock_table(env, create.table, LockMode::ShareRowExclusive, true, needs)? else {
            return Err(missing(create.table));
        };
        check_kind(create, &found)?;
        check_said(create, &found)?;
        let mut table = TableDef::clone(&found);
        let columns = trigger_columns(create, &table)?;
        let condition = match create.condition {
            Some((text, _)) => {
                self.check_condition(env, create.kind, text, &table)?;
                Some(self.catalog(env)?.with_marks(text)?)
            }
            None => None,
        };
        let function = self.trigger_function(env, create.function)?;
        let name = create.name.text;
        let known = table.triggers.iter().position(|known| known.name == name);
        let old = known.map(|at| table.triggers.remove(at));
        if let Some(old) = &old {
            if !create.replace {
                let message = format!("trigger \"{name}\" for relation \"{}\" already exists", table.name);
                return Err(Error::statement(sqlstate::DUPLICATE_OBJECT, message));
            }
            if old.constraint.is_some() {
                let message = format!("trigger \"{name}\" for relation \"{}\" is a constraint trigger", table.name);
                return Err(Error::statement(sqlstate::DUPLICATE_OBJECT, message));
            }
        }
        let oid = match &old {
            Some(old) => old.oid,
            None => self.new_oid(env)?,
        };
        table.add_trigger(TriggerDef {
            oid,
            name: name.to_owned(),
            function,
            kind: create.kind,
            enabled: b'O',
            columns,
            condition,
            arguments: create.arguments.iter().map(|text| (*text).to_owned()).collect(),
            old_table: create.old_table.map(|name| name.text.to_owned()),
            new_table: create.new_table.map(|name| name.text.to_owned()),
            constraint: if create.constraint { Some(self.new_oid(env)?) } else { None },
            deferral: create.deferral,
        });
        self.define_tables(env, &mut [&mut table])?;
        Ok(Some(Tag::Words("CREATE TRIGGER")))
    }

    /// The function that a trigger calls.
    fn trigger_function(&mut self, env: &Environment<'_>, path: Path<'_>) -> Result<Oid> {
        let (schema, name) = crate::catalog::split(path, self.database_name())?;
        let shown: Vec<&str> = path.iter().map(|name| name.text).collect();
        let routine = {
            let catalog = self.catalog(env)?;
            if let Some(oid) = schema.and_then(|schema| catalog.schema(schema)) {
                catalog.check_usage(oid)?;
            }
            let mut found = catalog.routines_named(schema, name);
            found.retain(|routine| routine.is_function() && routine.inputs().is_empty());
            found.into_iter().next()
        };
        let Some(routine) = routine else {
            let message = format!("function {}() does not exist", shown.join("."));
            return Err(Error::statement(sqlstate::UNDEFINED_FUNCTION, message));
        };
        self.check_executes(env, &routine)?;
        if routine.result != Oid::TRIGGER {
            let message = format!("function {} must return type trigger", shown.join("."));
            return Err(Error::statement(sqlstate::INVALID_OBJECT_DEFINITION, message));
        }
        // Who drops it looks for triggers under this lock.
        self.lock_name(env, routine.schema, &format!("procedure {}", routine.name))?;
        match self.definitions(env, &self.work)?.routine(routine.oid) {
            Some(_) => Ok(routine.oid),
            None => {
                let message = format!("function {}() does not exist", shown.join("."));
                Err(Error::statement(sqlstate::UNDEFINED_FUNCTION, message))
            }
        }
    }

    /// Binds a condition, to see whether it is one.
    fn check_condition(&mut self, env: &Environment<'_>, kind: u16, text: &str, table: &TableDef) -> Result<()> {
        let named = row_names(text);
        if kind & ROW == 0 && !named.is_empty() {
            return invalid("statement trigger's WHEN condition cannot reference column values");
        }
        for name in &named {
            if name.new && kind & DELETE != 0 {
                return invalid("DELETE trigger's WHEN condition cannot reference NEW values");
            }
            if !name.new && kind & INSERT != 0 {
                return invalid("INSERT trigger's WHEN condition cannot reference OLD values");
            }
            let column = name.column.as_ref().and_then(|(column, _)| table.column(column));
            let is_generated = match (&name.column, column) {
                (Some(_), column) => column.is_some_and(|column| table.columns[column].generated),
                (None, _) => table.has_generated(),
            };
            if name.new && kind & BEFORE != 0 && is_generated {
                let message = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";
                let error = Error::statement(sqlstate::INVALID_OBJECT_DEFINITION, message);
                return Err(match column {
                    Some(column) => {
                        error.detail(format!("Column \"{}\" is a generated column.", table.columns[column].name))
                    }
                    None => error
                        .detail("A whole-row reference is used and the table contains generated columns.".to_owned()),
                });
            }
            if let (Some((column, _)), None) = (&name.column, column) {
                let row = if name.new { "new" } else { "old" };
                let message = format!("column {row}.{column} does not exist");
                return Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message));
            }
        }
        let mut types = Vec::new();
        let mut variables = Vec::new();
        for row in ["new", "old"] {
            let mut fields = Vec::new();
            for (_, column) in table.visible() {
                types.push(column.ty.oid);
                fields.push((column.name.clone(), types.len() as u32));
            }
            let (label, meaning) = (String::new(), Meaning::Record(fields, None));
            variables.push(Variable { label, name: row.to_owned(), meaning, yields: false });
        }
        let words = format!("SELECT 1 WHERE ({})", spread(text, table));
        let plan = self.compile_piece(env, &words, &variables, &types).map_err(|error| {
            let message = error.message().replace("argument of WHERE", "argument of WHEN");
            let message = message.replace("allowed in WHERE", "allowed in trigger WHEN conditions");
            let changed = Error::new(error.kind(), error.sqlstate(), message);
            error.hint_text().map(str::to_owned).into_iter().fold(changed, Error::hint)
        })?;
        if plan.as_deref().and_then(Plan::new).is_some_and(|plan| plan.header().subplans != 0) {
            return Err(Error::unsupported("cannot use subquery in trigger WHEN condition"));
        }
        Ok(())
    }

    /// `DROP TRIGGER`
    fn drop_trigger<O: Output>(
        &mut self,
        env: &Environment<'_>,
        name: Name<'_>,
        path: Path<'_>,
        if_exists: bool,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        const TAG: Option<Tag> = Some(Tag::Words("DROP TRIGGER"));
        self.check_writes(env, "DROP TRIGGER")?;
        let found = self.lock_table(env, path, LockMode::AccessExclusive, true, Needs::Ownership)?;
        let skips = |message: String, out: &mut O| {
            let message = format!("{message}, skipping");
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
            Ok(TAG)
        };
        let Some(found) = found else {
            let error = missing(path);
            return if if_exists { skips(error.message().to_owned(), out) } else { Err(error) };
        };
        let Some(at) = found.triggers.iter().position(|known| known.name == name.text) else {
            let message = format!("trigger \"{}\" for relation \"{}\" does not exist", name.text, found.name);
            return match if_exists {
                true => skips(message, out),
                false => Err(no_trigger(name.text, &found)),
            };
        };
        let mut table = TableDef::clone(&found);
        table.triggers.remove(at);
        self.define_tables(env, &mut [&mut table])?;
        Ok(TAG)
    }

    /// `ALTER TRIGGER … RENAME TO`
    fn rename_trigger(
        &mut self,
        env: &Environment<'_>,
        name: Name<'_>,
        path: Path<'_>,
        new: Name<'_>,
    ) -> Result<Option<Tag>> {
        self.check_writes(env, "ALTER TRIGGER")?;
        let Some(found) = self.lock_table(env, path, LockMode::AccessExclusive, true, Needs::Ownership)? else {
            return Err(missing(path));
        };
        let mut table = TableDef::clone(&found);
        if table.triggers.iter().any(|known| known.name == new.text) {
            let message = format!("trigger \"{}\" for relation \"{}\" already exists", new.text, table.name);
            return Err(Error::statement(sqlstate::DUPLICATE_OBJECT, message));
        }
        let Some(trigger) = table.triggers.iter_mut().find(|known| known.name == name.text) else {
            return Err(no_trigger(name.text, &found));
        };
        new.text.clone_into(&mut trigger.name);
        table.sort_triggers();
        self.define_tables(env, &mut [&mut table])?;
        Ok(Some(Tag::Words("ALTER TRIGGER")))
    }

    /// Fires the triggers of `TRUNCATE` of these tables: those before it, or those behind it.
    pub(super) fn fire_truncate<O: Output>(
        &mut self,
        env: &Environment<'_>,
        tables: &[TableDef],
        when: u16,
        out: &mut O,
    ) -> Result<()> {
        for table in tables {
            for trigger in &table.triggers {
                if !trigger.is(TRUNCATE) || trigger.kind & BEFORE != when {
                    continue;
                }
                let (table, trigger, event) = (table.oid, trigger.oid, TRUNCATE);
                let firing = Firing { table, trigger, event, old: None, new: None, captured: None };
                let in_use: Vec<u32> = tables.iter().map(|table| table.oid.0).collect();
                self.fire_for(env, &firing, &in_use, &mut |level, error| out.notice(level, error))?;
            }
        }
        Ok(())
    }
}

/// The columns of `UPDATE OF`.
fn trigger_columns(create: &CreateTrigger<'_>, table: &TableDef) -> Result<Vec<u16>> {
    let mut columns = Vec::with_capacity(create.columns.len());
    for name in create.columns {
        let Some(column) = table.column(name.text) else {
            let message = format!("column \"{}\" of relation \"{}\" does not exist", name.text, table.name);
            return Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message));
        };
        if columns.contains(&(column as u16)) {
            let message = format!("column \"{}\" specified more than once", name.text);
            return Err(Error::statement(sqlstate::DUPLICATE_COLUMN, message));
        }
        columns.push(column as u16);
    }
    Ok(columns)
}

/// `ENABLE TRIGGER`, `DISABLE TRIGGER`
pub(super) fn enable_triggers(table: &mut TableDef, choice: &TriggerChoice<'_>, state: u8) -> Result<()> {
    match choice {
        TriggerChoice::Named(name) => {
            let name_of_table = table.name.clone();
            let Some(trigger) = table.triggers.iter_mut().find(|known| known.name == name.text) else {
                let message = format!("trigger \"{}\" for table \"{name_of_table}\" does not exist", name.text);
                return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
            };
            trigger.enabled = state;
        }
        TriggerChoice::All | TriggerChoice::User => {
            let has_keys = !table.referenced_by.is_empty()
                || table.constraints.iter().any(|constraint| {
                    matches!(constraint.kind, crate::catalog::definition::ConstraintKind::ForeignKey(_))
                });
            if matches!(choice, TriggerChoice::All) && has_keys {
                return Err(Error::unsupported("the checks of foreign keys cannot be disabled or enabled")
                    .hint("Use ENABLE or DISABLE TRIGGER USER, or drop the foreign key."));
            }
            table.triggers.iter_mut().for_each(|trigger| trigger.enabled = state);
        }
    }
    Ok(())
}

/// Drops the triggers that name a column, or refuses to drop the column.
pub(super) fn drop_triggers_of<O: Output>(
    table: &mut TableDef,
    column: usize,
    cascade: bool,
    out: &mut O,
) -> Result<()> {
    let (name, table_name) = (table.columns[column].name.clone(), table.name.clone());
    let names = |trigger: &TriggerDef| {
        let in_condition = trigger.condition.as_ref().is_some_and(|text| {
            trigger::row_names(text).iter().any(|named| named.column.as_ref().is_some_and(|(found, _)| *found == name))
        });
        in_condition || trigger.columns.contains(&(column as u16))
    };
    let Some(found) = table.triggers.iter().find(|trigger| names(trigger)) else { return Ok(()) };
    if !cascade {
        let message = format!("cannot drop column {name} of table {table_name} because other objects depend on it");
        let detail =
            format!("trigger {} on table {table_name} depends on column {name} of table {table_name}", found.name);
        return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .detail(detail)
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    for trigger in table.triggers.iter().filter(|trigger| names(trigger)) {
        let message = format!("drop cascades to trigger {} on table {table_name}", trigger.name);
        out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
    }
    table.triggers.retain(|trigger| !names(trigger));
    Ok(())
}
