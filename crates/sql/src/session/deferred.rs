//! Checks that wait for the transaction's end: the list of them, what `SET CONSTRAINTS` says, and how they are made.
//!
//! ```text
//!   statement ──notes──> list ──COMMIT, SET CONSTRAINTS … IMMEDIATE──> each is made, in order; what triggers note joins the list
//!                          ^
//!                          └── ROLLBACK TO: what was noted since goes, what was made since is to be made again
//! ```
//!
//! A check knows a key, not a row. What has to hold is said of keys: where a row has this one, the other table has a row with it, and where
//! an index is unique, one row at most has it. So a row that has changed once more meanwhile, or is gone, needs no care.
//!
//! Rules
//! 1. The list is in the session's memory: the session may move between any two requests.
//! 2. All checks that are due are marked as made before the first of them is made: what a trigger does may come back to the list, and
//!    then makes those only that were noted since. Triggers that go on like that are in one another, and counted (`54001`).
//! 3. A table is not redefined while a check of it waits (`55006`).
//! 4. A check whose constraint is gone has nothing to say.

use super::savepoint::Level;
use super::{Environment, List, Session, Text, bytes_in};
use crate::catalog::definition::{ConstraintDef, ConstraintKind, Deferral, ForeignKey, TableDef};
use crate::catalog::store::Definitions;
use crate::exec::access::Tables;
use crate::exec::deferred::{Check, Chosen, Noted, duplicate};
use crate::exec::lookup::{Keyed, key_values};
use crate::exec::trigger::Firing;
use crate::plan::blob::{Constant, get_value};
use crate::procedure::run::Notices;
use crate::types::{Datum, Oid, table};
use allocator_api2::alloc::Allocator;
use base::{Error, Object, Result, sqlstate};
use std::sync::Arc;

/// A check in the list.
struct Kept<A: Allocator + Copy> {
    check: Check,
    constraint: Oid,
    deferral: Deferral,
    table: Oid,
    bytes: Text<A>,
    shown: Text<A>,
    /// It has been made: the number of the savepoint around that, or zero.
    made: Option<u64>,
}

/// What waits for a transaction's end.
pub(crate) struct Deferred<A: Allocator + Copy> {
    memory: A,
    list: List<Kept<A>, A>,
    all: Option<bool>,
    named: List<(Oid, bool), A>,
    /// How many times the list is being gone through.
    passes: u32,
}

/// Where a savepoint begins.
pub(crate) struct Mark<A: Allocator + Copy> {
    count: usize,
    all: Option<bool>,
    named: List<(Oid, bool), A>,
}

impl<A: Allocator + Copy> Deferred<A> {
    pub(crate) fn new(memory: A) -> Deferred<A> {
        Deferred { memory, list: List::new_in(memory), all: None, named: List::new_in(memory), passes: 0 }
    }

    /// What executions have to know.
    pub(crate) fn chosen(&self) -> Chosen {
        Chosen { all: self.all, named: self.named.to_vec() }
    }

    /// What `SET CONSTRAINTS` says. Errors: `53200`.
    pub(crate) fn choose(&mut self, all: bool, named: &[Oid], deferred: bool) -> Result<()> {
        if all {
            self.all = Some(deferred);
            self.named.clear();
        }
        for oid in named {
            match self.named.iter_mut().find(|(known, _)| known == oid) {
                Some(known) => known.1 = deferred,
                None => {
                    let size = size_of::<(Oid, bool)>();
                    self.named.try_reserve(1).map_err(|_| Error::out_of_memory("SET CONSTRAINTS", size))?;
                    self.named.push((*oid, deferred));
                }
            }
        }
        Ok(())
    }

    /// Adds a check. Errors: `53200`.
    pub(crate) fn note(&mut self, noted: &Noted) -> Result<()> {
        // A key that was noted a moment ago is looked for once.
        let is_same = |kept: &Kept<A>| {
            kept.made.is_none()
                && !matches!(kept.check, Check::Fire(..))
                && (kept.check, kept.constraint) == (noted.check, noted.constraint)
                && kept.bytes.as_slice() == noted.bytes
        };
        if self.list.last().is_some_and(is_same) {
            return Ok(());
        }
        let bytes = bytes_in(&noted.bytes, self.memory)?;
        let shown = bytes_in(noted.shown.as_bytes(), self.memory)?;
        let size = (self.list.len() + 1) * size_of::<Kept<A>>();
        self.list
            .try_reserve(1)
            .map_err(|_| Error::out_of_memory("checks that wait for the transaction's end", size))?;
        let Noted { check, constraint, deferral, table, .. } = *noted;
        self.list.push(Kept { check, constraint, deferral, table, bytes, shown, made: None });
        Ok(())
    }

    /// Does a check of that table wait?
    pub(crate) fn has(&self, table: Oid) -> bool {
        self.list.iter().any(|kept| kept.table == table && kept.made.is_none())
    }

    /// Where a savepoint begins. Errors: `53200`.
    pub(crate) fn mark(&self) -> Result<Mark<A>> {
        let mut named = List::new_in(self.memory);
        let size = size_of_val(self.named.as_slice());
        named.try_reserve(self.named.len()).map_err(|_| Error::out_of_memory("a savepoint", size))?;
        named.extend_from_slice(&self.named);
        Ok(Mark { count: self.list.len(), all: self.all, named })
    }

    /// All is again as it was at the savepoint of that number. Its mark stays good.
    pub(crate) fn take_back(&mut self, mark: &Mark<A>, number: u64) {
        self.list.truncate(mark.count);
        for kept in &mut self.list {
            kept.made = kept.made.filter(|made| *made < number);
        }
        self.all = mark.all;
        self.named.clear();
        // There is room: these were in the list.
        self.named.extend_from_slice(&mark.named);
    }

    /// The transaction is over.
    pub(crate) fn clear(&mut self) {
        self.list = List::new_in(self.memory);
        self.all = None;
        self.named.clear();
    }

    /// Marks the checks from there on that are to be made, and answers their places. Errors: `53200`.
    fn claim(&mut self, from: usize, all: bool, chosen: &Chosen, level: u64) -> Result<Vec<usize>> {
        let mut claimed = Vec::new();
        for (at, kept) in self.list.iter_mut().enumerate().skip(from) {
            if kept.made.is_none() && (all || !chosen.waits(kept.constraint, kept.deferral)) {
                let size = (claimed.len() + 1) * size_of::<usize>();
                claimed
                    .try_reserve(1)
                    .map_err(|_| Error::out_of_memory("checks that wait for the transaction's end", size))?;
                claimed.push(at);
                kept.made = Some(level);
            }
        }
        Ok(claimed)
    }

    fn noted(&self, at: usize) -> Noted {
        let kept = &self.list[at];
        Noted {
            check: kept.check,
            constraint: kept.constraint,
            deferral: kept.deferral,
            table: kept.table,
            bytes: kept.bytes.to_vec(),
            shown: String::from_utf8_lossy(&kept.shown).into_owned(),
        }
    }
}

impl<A: Allocator + Copy> Session<A> {
    /// Makes the checks that wait: `all` of them, at the transaction's end; else those that need not wait any more.
    ///
    /// Errors: `23503`, `23505`, those of triggers.
    pub(crate) fn settle_deferred(&mut self, env: &Environment<'_>, all: bool, notices: Notices<'_>) -> Result<()> {
        if self.deferred.list.is_empty() {
            return Ok(());
        }
        self.deferred.passes += 1;
        let done = self.settle_each(env, all, notices);
        self.deferred.passes -= 1;
        if self.deferred.passes == 0 && self.levels.is_empty() {
            self.deferred.list.retain(|kept| kept.made.is_none());
        }
        done
    }

    fn settle_each(&mut self, env: &Environment<'_>, all: bool, notices: Notices<'_>) -> Result<()> {
        let chosen = self.deferred.chosen();
        let level = self.levels.last().map_or(0, Level::number);
        let mut from = 0;
        loop {
            let claimed = self.deferred.claim(from, all, &chosen, level)?;
            if claimed.is_empty() {
                return Ok(());
            }
            // What triggers note meanwhile is behind.
            from = self.deferred.list.len();
            self.make_claimed(env, &claimed, &mut *notices)?;
        }
    }

    /// Makes these checks, in order.
    fn make_claimed(&mut self, env: &Environment<'_>, claimed: &[usize], notices: Notices<'_>) -> Result<()> {
        let mut definitions = None;
        for &at in claimed {
            crate::exec::breathe()?;
            let noted = self.deferred.noted(at);
            if let Check::Fire(trigger, event) = noted.check {
                // It may define something.
                definitions = None;
                self.fire_deferred(env, &noted, trigger, event, &mut *notices)?;
                continue;
            }
            let definitions = match &definitions {
                Some(known) => Arc::clone(known),
                None => definitions.insert(self.definitions(env, &self.work)?).clone(),
            };
            let mut work = self.take_work();
            let reading = self.reading(env, &mut work);
            let checked = reading.and_then(|reading| {
                let checked = self.check_noted(env, &definitions, &noted, &mut reading.tables(&mut work.pairs));
                self.close_tables(env, &mut work, reading.snapshot, true, 0);
                checked
            });
            self.work = work;
            checked?;
        }
        Ok(())
    }

    fn check_noted(
        &self,
        env: &Environment<'_>,
        definitions: &Definitions,
        noted: &Noted,
        tables: &mut Tables<'_>,
    ) -> Result<()> {
        let Some(def) = definitions.table(noted.table) else { return Ok(()) };
        match noted.check {
            Check::Unique => self.check_twins(env, def, noted, tables),
            Check::Refers => match constraint_of(def, noted.constraint) {
                Some((constraint, key)) => {
                    let Some(other) = definitions.table(key.table) else { return Ok(()) };
                    self.check_reference(env, (def, constraint, key, other), noted, tables)
                }
                None => Ok(()),
            },
            Check::Gone => {
                let referrer = def.referenced_by.iter().find(|known| known.constraint == noted.constraint);
                let referrer = referrer.and_then(|known| definitions.table(known.table));
                let found = referrer.and_then(|table| Some((table, constraint_of(table, noted.constraint)?)));
                let Some((table, (constraint, key))) = found else { return Ok(()) };
                self.check_reference(env, (table, constraint, key, def), noted, tables)
            }
            Check::Fire(..) => Ok(()),
        }
    }

    /// No two rows have the key.
    fn check_twins(&self, env: &Environment<'_>, def: &TableDef, noted: &Noted, tables: &mut Tables<'_>) -> Result<()> {
        let index = def.indexes.iter().find(|index| index.constraint == Some(noted.constraint));
        let (Some(index), crate::catalog::definition::Rows::Stored(rows)) = (index, def.rows) else { return Ok(()) };
        let (tree, heap) = (tables.relations.btree(index.storage), tables.relations.heap(rows));
        if !tree.has_twins(&noted.bytes, &heap, tables.deadline())? {
            return Ok(());
        }
        Err(self.about_rule(env, duplicate(&index.name, &noted.shown), def, &index.name, &[def.oid]))
    }

    /// A key is in the table that refers only if it is in the other one.
    fn check_reference(
        &self,
        env: &Environment<'_>,
        (def, constraint, key, other): (&TableDef, &ConstraintDef, &ForeignKey, &TableDef),
        noted: &Noted,
        tables: &mut Tables<'_>,
    ) -> Result<()> {
        let referring = Keyed::of_table(tables.relations, def, &key.columns);
        let referred = Keyed::of_table(tables.relations, other, &key.referenced);
        let (Some(referring), Some(referred)) = (referring, referred) else { return Ok(()) };
        let is_gone = noted.check == Check::Gone;
        let own = if is_gone { &referred } else { &referring };
        let values = key_values(own.kinds(), &noted.bytes)?;
        // Of a row that was to be there the row that refers is held first, so that it cannot go meanwhile.
        let broken = match is_gone {
            true => {
                !tables.rows_of_now(&referring, &values, true)?.is_empty() && !tables.is_there(&referred, &values)?
            }
            false => {
                !tables.is_there(&referred, &values)? && !tables.rows_of_now(&referring, &values, false)?.is_empty()
            }
        };
        if !broken {
            return Ok(());
        }
        let (owner, columns) = if is_gone { (other, &key.referenced) } else { (def, &key.columns) };
        let shown = self.shown_values(env, owner, columns, &values)?;
        let (table, name) = (&def.name, &constraint.name);
        let (message, detail) = match is_gone {
            true => (
                format!(
                    "update or delete on table \"{}\" violates foreign key constraint \"{name}\" on table \"{table}\"",
                    other.name
                ),
                format!("Key {shown} is still referenced from table \"{table}\"."),
            ),
            false => (
                format!("insert or update on table \"{table}\" violates foreign key constraint \"{name}\""),
                format!("Key {shown} is not present in table \"{}\".", other.name),
            ),
        };
        let error = Error::statement(sqlstate::FOREIGN_KEY_VIOLATION, message).detail(detail);
        Err(self.about_rule(env, error, def, name, &[def.oid, other.oid]))
    }

    /// `(a, b)=(1, 2)`
    fn shown_values(
        &self,
        env: &Environment<'_>,
        def: &TableDef,
        columns: &[u16],
        values: &[Datum<'_>],
    ) -> Result<String> {
        let styles = self.styles(env)?;
        let style = styles.style(self.transaction.started_at());
        let columns: Vec<_> = columns.iter().map(|column| &def.columns[usize::from(*column)]).collect();
        let types: Vec<Oid> = columns.iter().map(|column| column.ty.oid).collect();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let shown = crate::statement::index::show_values(values, &types, &style)?;
        Ok(format!("({})=({shown})", names.join(", ")))
    }

    /// An error about a broken rule of a table, as the current user may hear it.
    fn about_rule(
        &self,
        env: &Environment<'_>,
        error: Error,
        def: &TableDef,
        constraint: &str,
        tables: &[Oid],
    ) -> Error {
        let schema = self.catalog(env).ok().and_then(|catalog| catalog.schema_name(def.schema));
        let error = schema.into_iter().fold(error, |error, schema| error.about(Object::Schema, schema));
        let error = error.about(Object::Table, def.name.as_str()).about(Object::Constraint, constraint);
        self.discreet_about(env, tables.iter().copied(), error)
    }

    /// Fires a trigger that has waited.
    fn fire_deferred(
        &mut self,
        env: &Environment<'_>,
        noted: &Noted,
        trigger: Oid,
        event: u16,
        notices: Notices<'_>,
    ) -> Result<()> {
        self.check_depth()?;
        let definitions = self.definitions(env, &self.work)?;
        let Some(def) = definitions.table(noted.table) else { return Ok(()) };
        let (old, new) = rows_of(def, &noted.bytes)?;
        let (table, captured) = (noted.table, None);
        let firing = Firing { table, trigger, event, old: old.as_deref(), new: new.as_deref(), captured };
        let used = self.in_use.len();
        self.in_use.try_reserve(1).map_err(|_| Error::out_of_memory("the tables of a statement", size_of::<u32>()))?;
        // Its function does not redefine the table.
        self.in_use.push(noted.table.0);
        self.nested += 1;
        let fired = self.fire(env, &firing, notices);
        self.nested -= 1;
        self.in_use.truncate(used);
        fired.map(drop)
    }

    /// A table of which a check waits, or that a cursor of this session reads, is not to be changed.
    pub(crate) fn check_not_awaited(&self, def: &TableDef) -> Result<()> {
        if self.has_portal_on(def.oid) {
            let message = format!(
                "cannot change table \"{}\" because it is being used by active queries in this session",
                def.name
            );
            return Err(Error::statement(sqlstate::OBJECT_IN_USE, message));
        }
        if !self.deferred.has(def.oid) {
            return Ok(());
        }
        let message = format!("cannot change table \"{}\" because it has pending trigger events", def.name);
        Err(Error::statement(sqlstate::OBJECT_IN_USE, message))
    }
}

/// The foreign key of that number, with its constraint.
fn constraint_of(def: &TableDef, oid: Oid) -> Option<(&ConstraintDef, &ForeignKey)> {
    let constraint = def.constraints.iter().find(|known| known.oid == oid)?;
    match &constraint.kind {
        ConstraintKind::ForeignKey(key) => Some((constraint, key)),
        _ => None,
    }
}

/// A row: a value for each column of its table.
type Values = Option<Vec<Constant>>;

/// The old and the new row that were noted.
fn rows_of(def: &TableDef, image: &[u8]) -> Result<(Values, Values)> {
    let has = image.first().copied().unwrap_or(0);
    let mut at = 1;
    let mut row = |bit: u8| {
        if has & bit == 0 {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(def.columns.len());
        for column in &def.columns {
            let (datum, next) = get_value(table::kind(column.ty.oid), image, at)?;
            at = next;
            values.push(Constant::of(datum));
        }
        Ok::<_, Error>(Some(values))
    };
    Ok((row(1)?, row(2)?))
}
