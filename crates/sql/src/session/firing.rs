//! Triggers: how their functions run in the middle of the statement that changes the rows.
//!
//! ```text
//!   Exec ── the rows of an event ──> enabled? WHEN? ──> the function, with NEW, OLD and TG_… as its first variables ──> a row, or none
//! ```
//!
//! Rules
//! 1. A function is read for each of its triggers, since `NEW` and `OLD` have the columns of the trigger's table; what was read is kept
//!    beside the bodies of other functions, under the trigger's number.
//! 2. Statements of the server's own (filling a new column) fire nothing.
//! 3. Whoever made the trigger could execute its function: nobody is asked when it fires.

use super::{Environment, Session};
use crate::catalog::definition::{RelationKind, Rows as Where, TableDef};
use crate::catalog::routine::RoutineDef;
use crate::catalog::trigger::{self, BEFORE, DELETE, INSERT, ROW, TriggerDef, UPDATE};
use crate::exec::trigger::{Captured, Fired, Firing, TRANSITIONS, Transition};
use crate::plan::blob::{Constant, get_value};
use crate::procedure::frame::{Field, Slot};
use crate::procedure::kept::{Of, Readied};
use crate::procedure::run::{Interpreter, Nesting, Notices};
use crate::procedure::tree::{Gives, TypeText, Variable};
use crate::types::array::{Dimension, encode};
use crate::types::{Datum, Oid, Type, table};
use allocator_api2::alloc::Allocator;
use base::settings::SettingId;
use base::{Error, Result, sqlstate};
use std::rc::Rc;
use std::sync::Arc;

/// The variables of a trigger's function, in order, with their types; `new` and `old` are records.
const VARIABLES: [(&str, &str); 12] = [
    ("new", ""),
    ("old", ""),
    ("tg_name", "name"),
    ("tg_when", "text"),
    ("tg_level", "text"),
    ("tg_op", "text"),
    ("tg_relid", "oid"),
    ("tg_relname", "name"),
    ("tg_table_name", "name"),
    ("tg_table_schema", "name"),
    ("tg_nargs", "integer"),
    ("tg_argv", "text[]"),
];
/// Where `new` and `old` are among a body's variables: `found` is the first.
const NEW: usize = 1;
const OLD: usize = 2;

/// A trigger with its table and its function.
type Found = (Arc<TableDef>, TriggerDef, Arc<RoutineDef>);

/// The variables of a trigger's function.
pub(crate) fn variables(label: &str) -> Vec<Variable> {
    let ty = |ty: &str| if ty.is_empty() { TypeText::Record } else { TypeText::Named(ty.to_owned()) };
    let variable = |(name, of): &(&str, &str)| Variable::plain(label, name, ty(of));
    VARIABLES.iter().map(variable).collect()
}

/// An event's word.
pub(crate) fn event_word(event: u16) -> &'static str {
    match event {
        INSERT => "INSERT",
        UPDATE => "UPDATE",
        DELETE => "DELETE",
        _ => "TRUNCATE",
    }
}

/// A row as a record of the table's columns; without one all are null.
fn record(table: &TableDef, row: Option<&[Constant]>) -> Slot {
    let field = |(index, column): (usize, &crate::catalog::definition::ColumnDef)| Field {
        name: column.name.clone(),
        ty: column.ty,
        value: row.and_then(|row| row.get(index)).cloned().unwrap_or(Constant::Null),
    };
    Slot::Record(Some(table.visible().map(field).collect()), true, row.is_none())
}

/// The rows of an event as tables, under the names that a trigger gives them.
fn transitions(table: &TableDef, trigger: &TriggerDef, captured: Option<&Rc<Captured>>) -> Vec<Transition> {
    let mut made = Vec::new();
    let Some(captured) = captured else { return made };
    let columns: Vec<(Oid, bool)> = table.columns.iter().map(|column| (column.ty.oid, !column.dropped)).collect();
    for (name, new) in [(&trigger.old_table, false), (&trigger.new_table, true)] {
        let Some(name) = name else { continue };
        let number = made.len() as u32;
        let shown = TableDef {
            // The system's numbers are above these: nobody has them.
            oid: Oid(number + 1),
            name: name.clone(),
            kind: RelationKind::Table,
            rows: Where::Made(TRANSITIONS + number),
            columns: table
                .visible()
                .map(|(_, column)| crate::catalog::definition::ColumnDef::plain(&column.name, column.ty))
                .collect(),
            indexes: Vec::new(),
            constraints: Vec::new(),
            referenced_by: Vec::new(),
            comments: Vec::new(),
            triggers: Vec::new(),
            ..table.clone()
        };
        made.push(Transition { table: Arc::new(shown), rows: captured.clone(), new, columns: columns.clone() });
    }
    made
}

impl<A: Allocator + Copy> Session<A> {
    /// The trigger that is to be fired, with its table; none if it is not enabled.
    fn trigger_of(&self, env: &Environment<'_>, firing: &Firing<'_>) -> Result<Option<Found>> {
        if self.trusted {
            return Ok(None);
        }
        let definitions = self.definitions(env, &self.work)?;
        let Some(table) = definitions.table(firing.table) else { return Ok(None) };
        let Some(trigger) = table.triggers.iter().find(|known| known.oid == firing.trigger) else { return Ok(None) };
        let replica = self.view(env).value(SettingId::SessionReplicationRole).text() == "replica";
        if !trigger.is_enabled(replica) {
            return Ok(None);
        }
        let Some(routine) = definitions.routine(trigger.function) else {
            let message = format!("function with OID {} does not exist", trigger.function.0);
            return Err(Error::statement(sqlstate::UNDEFINED_FUNCTION, message));
        };
        Ok(Some((table.clone(), trigger.clone(), routine.clone())))
    }

    /// Is a trigger to be fired?
    pub(super) fn is_due(&mut self, env: &Environment<'_>, firing: &Firing<'_>, notices: Notices<'_>) -> Result<bool> {
        let Some((table, trigger, _)) = self.trigger_of(env, firing)? else { return Ok(false) };
        let Some(condition) = &trigger.condition else { return Ok(true) };
        let text = format!("BEGIN RETURN ({}); END", trigger::spread(condition, &table));
        let known = (trigger.name.as_str(), Gives::Value, variables(&trigger.name));
        let readied = self.readied_trigger(env, (&trigger, table.version), (&text, true), known)?;
        let nesting = Nesting { depth: 0, atomic: true };
        let name = format!("{}()", trigger.name);
        let mut interpreter = Interpreter::new(self, env, notices, &readied, &name, nesting);
        interpreter.returned.types = vec![Oid::BOOL];
        interpreter.frame.slots[NEW] = record(&table, firing.new);
        interpreter.frame.slots[OLD] = record(&table, firing.old);
        interpreter.run()?;
        let returned = std::mem::take(&mut interpreter.returned);
        match returned.count {
            0 => Ok(false),
            _ => Ok(get_value(table::kind(Oid::BOOL), &returned.rows, 0)?.0 == Datum::Bool(true)),
        }
    }

    /// Fires a trigger.
    pub(super) fn fire(&mut self, env: &Environment<'_>, firing: &Firing<'_>, notices: Notices<'_>) -> Result<Fired> {
        let Some(found) = self.trigger_of(env, firing)? else {
            return Ok(firing.new.map_or(Fired::Row(Vec::new()), |row| Fired::Row(row.to_vec())));
        };
        let routine = found.2.clone();
        self.as_routine(env, &routine, |session| session.fire_found(env, firing, found, notices))
    }

    fn fire_found(
        &mut self,
        env: &Environment<'_>,
        firing: &Firing<'_>,
        (table, trigger, routine): Found,
        notices: Notices<'_>,
    ) -> Result<Fired> {
        let known = (routine.name.as_str(), Gives::Row, variables(&routine.name));
        let readied = self.readied_trigger(env, (&trigger, routine.version), (&routine.body, false), known)?;
        let schema = self.catalog(env)?.schema_name(table.schema).unwrap_or_default();
        let arguments: Vec<Datum<'_>> = trigger.arguments.iter().map(|argument| Datum::text(argument)).collect();
        let dimension = Dimension { length: arguments.len() as u32, lower: 0 };
        let arguments = Constant::Bytes(encode(Oid::TEXT, &[dimension], &arguments)?);
        let text = |text: &str| Constant::Bytes(text.as_bytes().to_vec());
        let values = [
            text(&trigger.name),
            text(trigger.timing()),
            text(if trigger.is(ROW) { "ROW" } else { "STATEMENT" }),
            text(event_word(firing.event)),
            Constant::Int(table.oid.0.into()),
            text(&table.name),
            text(&table.name),
            text(&schema),
            Constant::Int(trigger.arguments.len() as i64),
            arguments,
        ];
        let transitions = transitions(&table, &trigger, firing.captured);
        let env = &Environment { transitions: &transitions, ..*env };
        let shown = routine.shown();
        let nesting = Nesting { depth: 0, atomic: true };
        let mut interpreter = Interpreter::new(self, env, notices, &readied, &shown, nesting);
        // Without a row they are null: so a function can be of several kinds of triggers.
        interpreter.frame.slots[NEW] = record(&table, firing.new);
        interpreter.frame.slots[OLD] = record(&table, firing.old);
        for (slot, value) in interpreter.frame.slots.iter_mut().skip(OLD + 1).zip(values) {
            if let Slot::Scalar(_, place) = slot {
                *place = value;
            }
        }
        interpreter.run()?;
        let given = interpreter.given.take();
        match given {
            Some(_) if !trigger.is(ROW) || trigger.kind & (BEFORE | trigger::INSTEAD) == 0 => {
                Ok(Fired::Row(Vec::new()))
            }
            Some(row) => row_of(&table, row).map(Fired::Row),
            None => Ok(Fired::Nothing),
        }
    }

    /// Fires a trigger, if it is due, outside an execution: of a statement that uses these tables.
    pub(crate) fn fire_for(
        &mut self,
        env: &Environment<'_>,
        firing: &Firing<'_>,
        tables: &[u32],
        notices: Notices<'_>,
    ) -> Result<()> {
        self.check_depth()?;
        let used = self.in_use.len();
        self.in_use.try_reserve(tables.len()).map_err(|_| Error::out_of_memory("the tables of a statement", 64))?;
        self.in_use.extend(tables.iter().copied());
        self.nested += 1;
        let done = match self.is_due(env, firing, &mut *notices) {
            Ok(true) => self.fire(env, firing, notices).map(drop),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        self.nested -= 1;
        self.in_use.truncate(used);
        done
    }

    /// A trigger's function, or its condition, that was read.
    fn readied_trigger(
        &mut self,
        env: &Environment<'_>,
        (trigger, made): (&TriggerDef, u64),
        (text, is_condition): (&str, bool),
        (label, gives, variables): (&str, Gives, Vec<Variable>),
    ) -> Result<Arc<Readied>> {
        let shared = env.database.shared.as_ref().filter(|_| self.shares_plans(env));
        let settled = shared.and_then(|shared| shared.settled());
        let key = Of::new(trigger.oid, made, is_condition, Vec::new());
        if let Some(found) = settled.and_then(|version| env.database.bodies.find(&key, version)) {
            return Ok(found);
        }
        let readied = self.ready(env, text, (label, gives, false), variables, settled)?;
        if let Some(version) = settled {
            env.database.bodies.add(key, version, &readied);
        }
        Ok(readied)
    }
}

/// A row that a function gave, as one of the table.
fn row_of(table: &TableDef, given: Vec<(Type, Constant)>) -> Result<Vec<Constant>> {
    let columns = table.visible();
    let is_same = given.len() == columns.count()
        && table.visible().zip(&given).all(|((_, column), (ty, _))| column.ty.oid == ty.oid);
    if !is_same {
        let message = "returned row structure does not match the structure of the triggering table";
        return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message));
    }
    let mut given = given.into_iter();
    let value = |column: &crate::catalog::definition::ColumnDef| match column.dropped {
        true => Constant::Null,
        false => given.next().map_or(Constant::Null, |(_, value)| value),
    };
    Ok(table.columns.iter().map(value).collect())
}
