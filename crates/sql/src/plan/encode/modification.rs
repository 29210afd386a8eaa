//! Statements that change rows, with what their execution has to know of tables, indexes and foreign keys.

use super::super::blob::At;
use super::super::program::{Code, Step};
use super::super::record::{
    CheckRecord, ConflictRecord, IndexRecord, Modify, ReferenceRecord, TableRecord, TriggerRecord,
};
use super::super::tree;
use super::{Columns, Encoder, columns_in, flags};
use crate::bind::tree::{Column, ConflictRule, Expr, ExprKind, ModificationKind, RelationId, TABLE_OID};
use crate::catalog::definition::{
    Action, ConstraintDef, ConstraintKind, ForeignKey, IndexColumn, IndexDef, Rows, TableDef,
};
use crate::catalog::trigger::{BEFORE, ROW, UPDATE};
use crate::exec::trigger::{HAS_NEW_TABLE, HAS_OLD_TABLE};
use crate::types::{Oid, table};
use base::{Error, RelId, Result, sqlstate};
use std::sync::Arc;

impl Encoder<'_> {
    pub(super) fn modify(&mut self, modify: &tree::Modify, needed: &Columns, state: u32) -> Result<At> {
        self.flags |= flags::WRITES | flags::READS | flags::MODIFIES;
        let output = |index: u16| Column { relation: modify.output, column: index };
        if modify.kind != ModificationKind::Delete {
            self.new_row = Some((modify.new, modify.table.oid));
        }
        let mut read = Columns::new();
        // The new row's columns are the results of the query.
        for (column, value) in modify.values.iter().enumerate() {
            if let Some(value) = value {
                let new = Column { relation: modify.new, column: column as u16 };
                self.aliases.insert(new, output(*value));
                read.insert(output(*value));
            }
        }
        read.extend(modify.row_id.iter().chain(&modify.old).map(|result| output(*result)));
        let assigned = self.assigned(modify);
        if !modify.instead {
            read.extend(old_columns(modify, assigned));
        }
        let mut above = Columns::new();
        for (_, expr) in &modify.generated {
            columns_in(expr, &self.tree.subplans, &mut above);
        }
        for (_, check) in modify.checks.iter().chain(&modify.view_checks) {
            columns_in(check, &self.tree.subplans, &mut above);
        }
        if let Some((_, targets)) = &modify.returning {
            self.reads(targets, &mut above);
        }
        if modify.kind == ModificationKind::Update {
            // A row that has changed meanwhile is tested and computed again, from the same registers.
            self.reads(&modify.recheck, &mut above);
            self.reads(&modify.targets, &mut above);
        }
        if modify.kind == ModificationKind::Delete {
            self.reads(&modify.recheck, &mut above);
        }
        let above: Columns = above
            .into_iter()
            .map(|column| if column.relation == modify.new { self.canonical(column) } else { column })
            .collect();
        let existing: Columns = match modify.conflict.is_some() {
            true => Columns::new(),
            false => above,
        };
        // A deleted row has no new one: its own relation stands for that.
        let has_new = modify.kind != ModificationKind::Delete || modify.instead;
        let made = |column: &&Column| column.relation == modify.new && has_new;
        read.extend(existing.iter().filter(|column| !made(column)));
        if modify.kind == ModificationKind::Insert {
            read.retain(|column| column.relation != modify.relation);
        }
        if modify.conflict.is_some() || modify.table.has_trigger(ROW) {
            // The row that is updated instead, or that a trigger gives, is put into these registers, so no two columns may share one.
            for column in &read {
                self.register(*column)?;
            }
        }
        let child = self.node(&modify.child, &read)?.0;
        let mut values = Vec::with_capacity(modify.values.len());
        for value in &modify.values {
            values.push(match value {
                Some(value) => u32::from(self.register(output(*value))?) + 1,
                None => 0,
            });
        }
        let mut old = Vec::new();
        for result in &modify.old {
            old.push(u32::from(self.register(output(*result))?) + 1);
        }
        if modify.kind != ModificationKind::Insert && !modify.instead {
            for (index, _) in modify.table.columns.iter().enumerate() {
                let column = Column { relation: modify.relation, column: index as u16 };
                let known = self.registers.get(&self.canonical(column));
                old.push(known.map_or(0, |&register| u32::from(register) + 1));
            }
        }
        // PostgreSQL tests them by name.
        let mut sorted: Vec<_> = modify.checks.iter().collect();
        sorted.sort_by(|(left, _), (right, _)| left.cmp(right));
        let mut checks = Vec::with_capacity(sorted.len());
        for (name, check) in sorted {
            let name = self.plan.blob(name.as_bytes()).0;
            let condition = self.program(check)?;
            checks.push(CheckRecord { name, condition }.write(&mut self.plan).0);
        }
        let mut view_checks = Vec::with_capacity(modify.view_checks.len());
        for (name, check) in &modify.view_checks {
            let name = self.plan.blob(name.as_bytes()).0;
            let condition = self.program(check)?;
            view_checks.push(CheckRecord { name, condition }.write(&mut self.plan).0);
        }
        let mut returning = 0;
        if let Some((relation, targets)) = &modify.returning {
            let mut code = Code::new();
            for (index, target) in targets.iter().enumerate() {
                let column = Column { relation: *relation, column: index as u16 };
                if needed.contains(&column) {
                    self.expr(&mut code, target)?;
                    let register = self.register(column)?;
                    code.step_half(Step::Store, register);
                }
            }
            returning = code.finish(&mut self.plan).0;
        }
        let mut recompute = 0;
        if modify.kind == ModificationKind::Update && !modify.instead {
            let mut code = Code::new();
            for value in modify.values.iter().flatten() {
                let target = &modify.targets[usize::from(*value)];
                let shares = self.aliases.contains_key(&output(*value));
                if !shares {
                    self.expr(&mut code, target)?;
                    let register = self.register(output(*value))?;
                    code.step_half(Step::Store, register);
                }
            }
            recompute = code.finish(&mut self.plan).0;
        }
        let mut generated = 0;
        if !modify.generated.is_empty() {
            let mut code = Code::new();
            for (column, expr) in &modify.generated {
                self.expr(&mut code, expr)?;
                let register = self.register(Column { relation: modify.new, column: *column })?;
                code.step_half(Step::Store, register);
            }
            generated = code.finish(&mut self.plan).0;
        }
        let conflict = match &modify.conflict {
            Some(conflict) => self.conflict(conflict, modify)?,
            None => 0,
        };
        let record = Modify {
            operation: match modify.kind {
                ModificationKind::Insert => 0,
                ModificationKind::Update => 1,
                ModificationKind::Delete => 2,
            },
            child,
            table: self.table(&modify.table, &modify.others)?.0,
            row_register: match modify.row_id {
                Some(row_id) => self.register(output(row_id))?.into(),
                None => 0,
            },
            values: self.plan.list(&values).0,
            old: self.plan.list(&old).0,
            returning,
            buffer: self.new_buffer(),
            assigned,
            conflict,
            checks: self.plan.list(&checks).0,
            view_checks: self.plan.list(&view_checks).0,
            existing: self.columns_of(modify.relation),
            row_buffer: self.new_buffer(),
            recheck: self.condition(&modify.recheck)?,
            recompute,
            new_buffer: self.new_buffer(),
            updated: {
                let updated: Vec<u32> = modify.updated.iter().map(|column| u32::from(*column)).collect();
                self.plan.list(&updated).0
            },
            generated,
            generated_buffer: self.new_buffer(),
            instead: u32::from(modify.instead),
        };
        Ok(record.write(&mut self.plan, state))
    }

    /// The columns that an `UPDATE` assigns, as a bit set.
    pub(super) fn assigned(&self, modify: &tree::Modify) -> u32 {
        if modify.table.has_trigger(ROW | BEFORE | UPDATE) {
            // A trigger may assign any.
            return u32::MAX;
        }
        let mut columns = Vec::new();
        for (index, value) in modify.values.iter().enumerate() {
            let stays = value.is_some_and(|value| {
                modify.targets.get(usize::from(value)).is_some_and(|target| {
                    target.kind == ExprKind::Column(Column { relation: modify.relation, column: index as u16 })
                })
            });
            if !stays {
                columns.push(index as u16);
            }
        }
        mask(columns)
    }

    pub(super) fn conflict(&mut self, conflict: &ConflictRule, modify: &tree::Modify) -> Result<u32> {
        let mut record = ConflictRecord {
            indexes: {
                let indexes: Vec<u32> = conflict.indexes.iter().map(|oid| oid.0).collect();
                self.plan.list(&indexes).0
            },
            buffer: self.new_buffer(),
            ..ConflictRecord::default()
        };
        if let Some(update) = &conflict.update {
            record.update = 1;
            let mut code = Code::new();
            let mut values = vec![0; modify.table.columns.len()];
            for (column, expr) in update {
                self.expr(&mut code, expr)?;
                let register = self.new_register()?;
                code.step_half(Step::Store, register);
                values[usize::from(*column)] = u32::from(register) + 1;
            }
            record.program = code.finish(&mut self.plan).0;
            record.values = self.plan.list(&values).0;
            record.filter = self.condition(&conflict.filter)?;
            record.assigned = match modify.table.has_trigger(ROW | BEFORE | UPDATE) {
                true => u32::MAX,
                false => mask(update.iter().map(|(column, _)| *column)),
            };
        }
        record.existing = self.columns_of(modify.relation);
        record.excluded = self.columns_of(conflict.excluded);
        Ok(record.write(&mut self.plan).0)
    }

    /// Pairs of column and register: those columns of a relation that somebody reads.
    pub(super) fn columns_of(&mut self, relation: RelationId) -> u32 {
        let pairs: Vec<u32> = self
            .registers
            .iter()
            .filter(|(column, _)| column.relation == relation && column.column < TABLE_OID)
            .flat_map(|(column, register)| [u32::from(column.column), u32::from(*register)])
            .collect();
        self.plan.list(&pairs).0
    }

    /// What has to be known of a table whose rows are changed, and of those tables whose rows are changed along.
    fn table(&mut self, table: &Arc<TableDef>, others: &[Arc<TableDef>]) -> Result<At> {
        if let Some(&at) = self.changed_tables.get(&table.oid) {
            return Ok(at);
        }
        // Its place is known before its keys are written: tables may refer to each other in a circle.
        let at = TableRecord::default().write(&mut self.plan);
        self.changed_tables.insert(table.oid, at);
        let mut not_null = Vec::new();
        let mut names = Vec::with_capacity(table.columns.len());
        for (index, column) in table.columns.iter().enumerate() {
            let name = self.plan.blob(column.name.as_bytes()).0;
            names.push(if column.dropped { 0 } else { name });
            if column.not_null && !column.dropped {
                not_null.extend([index as u32, name]);
            }
        }
        let mut indexes = Vec::with_capacity(table.indexes.len());
        for index in &table.indexes {
            indexes.push(self.index(table, index)?.0);
        }
        let bound = self.bound;
        let computed = bound.rows.iter().find(|row| row.table == table.oid);
        let (mut checks, mut defaults) = (Vec::new(), Vec::new());
        if let Some(computed) = computed {
            let mut sorted: Vec<_> = computed.checks.iter().collect();
            sorted.sort_by(|(left, _), (right, _)| left.cmp(right));
            for (name, check) in sorted {
                let name = self.plan.blob(name.as_bytes()).0;
                let condition = self.program(check)?;
                checks.push(CheckRecord { name, condition }.write(&mut self.plan).0);
            }
            for (column, default) in &computed.defaults {
                defaults.extend([u32::from(*column), self.program(default)?]);
            }
        }
        let row = computed.map_or(0, |row| self.columns_of(row.relation));
        let mut references = Vec::new();
        for constraint in &table.constraints {
            if let ConstraintKind::ForeignKey(key) = &constraint.kind {
                let Some(other) = find(others, key.table) else { continue };
                let record = self.reference(constraint, &other, &key.columns, &key.referenced, Some(key.index), key);
                let record = record.write(&mut self.plan);
                references.push(record.0);
            }
        }
        let mut referenced_by = Vec::new();
        for referrer in &table.referenced_by {
            let Some(other) = find(others, referrer.table) else { continue };
            let constraint = other.constraints.iter().find(|constraint| constraint.oid == referrer.constraint);
            let Some(constraint) = constraint else { continue };
            let ConstraintKind::ForeignKey(key) = &constraint.kind else { continue };
            // An index of the other table that begins with the columns that refer, if there is one.
            let index = other.indexes.iter().find(|index| {
                let columns = index.key_columns().unwrap_or_default();
                columns.starts_with(&key.columns)
            });
            let index = index.map(|index| index.oid);
            let mut record = self.reference(constraint, &other, &key.referenced, &key.columns, index, key);
            if let Some(own) = table.index(key.index) {
                record.own_index = own.storage.0;
                let columns = index_columns(table, own);
                record.own_index_columns = self.plan.list(&columns).0;
            }
            if changes_along(key.on_delete) || changes_along(key.on_update) {
                record.table = self.table(&other, others)?.0;
                let pairs = key.referenced.iter().zip(&key.columns);
                let types: Vec<u32> = pairs
                    .flat_map(|(&own, &column)| {
                        let (own, column) = (table.columns[usize::from(own)].ty, other.columns[usize::from(column)].ty);
                        [own.oid.0, column.oid.0, column.typmod as u32]
                    })
                    .collect();
                record.types = self.plan.list(&types).0;
            }
            referenced_by.push(record.write(&mut self.plan).0);
        }
        let mut triggers = Vec::with_capacity(table.triggers.len());
        for trigger in &table.triggers {
            self.flags |= flags::CALLS | flags::READS;
            let columns: Vec<u32> = trigger.columns.iter().map(|column| u32::from(*column)).collect();
            let old = if trigger.old_table.is_some() { HAS_OLD_TABLE } else { 0 };
            let new = if trigger.new_table.is_some() { HAS_NEW_TABLE } else { 0 };
            let record = TriggerRecord {
                oid: trigger.oid.0,
                kind: trigger.kind.into(),
                columns: self.plan.list(&columns).0,
                tables: old | new,
                constraint: trigger.constraint.unwrap_or(Oid::NONE).0,
                deferral: trigger.deferral as u32,
            };
            triggers.push(record.write(&mut self.plan).0);
        }
        let generated: Vec<u32> =
            table.visible().filter(|(_, column)| column.generated).map(|(index, _)| index as u32).collect();
        let record = TableRecord {
            name: self.plan.blob(table.name.as_bytes()).0,
            oid: table.oid.0,
            storage: storage(table).0,
            kinds: self.kinds(table),
            not_null: self.plan.list(&not_null).0,
            indexes: self.plan.list(&indexes).0,
            references: self.plan.list(&references).0,
            referenced_by: self.plan.list(&referenced_by).0,
            names: self.plan.list(&names).0,
            fill: fill_factor(table),
            row,
            checks: self.plan.list(&checks).0,
            defaults: self.plan.list(&defaults).0,
            pieces: table.pieces.map_or(0, |pieces| pieces.storage.0),
            triggers: self.plan.list(&triggers).0,
            generated: self.plan.list(&generated).0,
        };
        for (index, word) in record.to_words().into_iter().enumerate() {
            self.plan.patch(At(at.0 + index as u32 * 4), word);
        }
        Ok(at)
    }

    pub(super) fn index(&mut self, table: &TableDef, index: &IndexDef) -> Result<At> {
        let columns = index_columns(table, index);
        let reads = index.reads();
        let bound = self.bound;
        let row = bound.rows.iter().find(|row| row.table == table.oid);
        let computed = row.and_then(|row| row.indexes.iter().find(|known| known.index == index.oid));
        if computed.is_none() && !index.is_plain() {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "what an index computes is not known"));
        }
        let (mut keys, mut filter, mut shown) = (0, 0, Vec::new());
        if let Some(computed) = computed {
            let of_expressions = index.columns.iter().zip(&computed.keys).filter(|(part, _)| part.column.is_none());
            let exprs: Vec<Expr> = of_expressions.map(|(_, key)| key.clone()).collect();
            if !exprs.is_empty() {
                keys = self.values(&exprs)?;
            }
            filter = self.condition(&computed.predicate)?;
            for at in 0..index.columns.len() {
                let text = crate::catalog::system::index_column(table, index, at, false);
                shown.push(self.plan.blob(text.as_bytes()).0);
            }
        }
        let words: Vec<u32> = reads.iter().map(|&column| column.into()).collect();
        let record = IndexRecord {
            name: self.plan.blob(index.name.as_bytes()).0,
            storage: index.storage.0,
            unique: u32::from(index.unique),
            columns: self.plan.list(&columns).0,
            oid: index.oid.0,
            mask: mask(reads),
            reads: self.plan.list(&words).0,
            keys,
            filter,
            shown: self.plan.list(&shown).0,
            nulls_equal: u32::from(!index.nulls_distinct),
            constraint: index.constraint.unwrap_or(Oid::NONE).0,
            deferral: table.deferral_of(index) as u32,
        };
        Ok(record.write(&mut self.plan))
    }

    pub(super) fn reference(
        &mut self,
        constraint: &ConstraintDef,
        other: &TableDef,
        own: &[u16],
        others: &[u16],
        index: Option<Oid>,
        key: &ForeignKey,
    ) -> ReferenceRecord {
        let words = |columns: &[u16]| -> Vec<u32> { columns.iter().map(|&column| column.into()).collect() };
        let index = index.and_then(|oid| other.index(oid));
        ReferenceRecord {
            name: self.plan.blob(constraint.name.as_bytes()).0,
            constraint: constraint.oid.0,
            deferral: constraint.deferral as u32,
            other_name: self.plan.blob(other.name.as_bytes()).0,
            storage: storage(other).0,
            kinds: self.kinds(other),
            columns: self.plan.list(&words(own)).0,
            other_columns: self.plan.list(&words(others)).0,
            index: index.map_or(0, |index| index.storage.0),
            index_columns: index.map_or(0, |index| {
                let columns = index_columns(other, index);
                self.plan.list(&columns).0
            }),
            on_update: key.on_update as u32,
            on_delete: key.on_delete as u32,
            mask: mask(own.iter().copied()),
            other: other.oid.0,
            full: u32::from(key.full),
            set_columns: {
                let words = words(key.changed_on_delete());
                self.plan.list(&words).0
            },
            ..ReferenceRecord::default()
        }
    }
}

/// Are rows that refer to one that goes away changed along with it?
fn changes_along(action: Action) -> bool {
    !matches!(action, Action::NoAction | Action::Restrict)
}

/// The columns whose old values an execution needs: those by which other tables refer to the row, and those that an index or a
/// foreign key has and that are assigned, to see whether they change.
fn old_columns(modify: &tree::Modify, assigned: u32) -> Vec<Column> {
    let table = &modify.table;
    let mut columns: Vec<u16> = Vec::new();
    if modify.kind != ModificationKind::Insert && !table.referenced_by.is_empty() {
        let referenced = modify.others.iter().flat_map(|other| &other.constraints);
        columns.extend(referenced.flat_map(|constraint| match &constraint.kind {
            ConstraintKind::ForeignKey(key) if key.table == table.oid => key.referenced.as_slice(),
            _ => &[],
        }));
    }
    if modify.kind == ModificationKind::Update {
        columns.extend(table.indexes.iter().flat_map(IndexDef::reads));
        columns.extend(table.constraints.iter().flat_map(|constraint| match &constraint.kind {
            ConstraintKind::ForeignKey(key) => key.columns.as_slice(),
            _ => &[],
        }));
        columns.retain(|&column| mask([column]) & assigned != 0);
    }
    if modify.kind != ModificationKind::Insert && table.has_trigger(ROW) {
        columns.extend(table.visible().map(|(index, _)| index as u16));
    }
    columns.into_iter().map(|column| Column { relation: modify.relation, column }).collect()
}

/// How full inserts make a table's pages, in percent.
fn fill_factor(table: &TableDef) -> u32 {
    const FULL: u32 = 100;
    let option = table.options.iter().find(|(name, _)| name == "fillfactor");
    option.and_then(|(_, value)| value.parse().ok()).unwrap_or(FULL)
}

fn find(tables: &[Arc<TableDef>], oid: Oid) -> Option<Arc<TableDef>> {
    tables.iter().find(|table| table.oid == oid).cloned()
}

pub(super) fn storage(table: &TableDef) -> RelId {
    match table.rows {
        Rows::Stored(storage) => storage,
        _ => RelId(0),
    }
}

fn direction(part: &IndexColumn) -> u32 {
    u32::from(part.descending) + 2 * u32::from(part.nulls_first)
}

/// For each column of an index its kind, with the direction above it.
pub(super) fn index_key(table: &TableDef, index: &IndexDef) -> Vec<u32> {
    let kind = |at: usize| table::kind(index.column_type(table, at).oid) as u32;
    index.columns.iter().enumerate().map(|(at, part)| kind(at) | direction(part) << 8).collect()
}

/// Groups of column, kind and direction; expressions are numbered behind the table's columns.
fn index_columns(table: &TableDef, index: &IndexDef) -> Vec<u32> {
    let kind = |at: usize| table::kind(index.column_type(table, at).oid) as u32;
    let mut computed = table.columns.len() as u32;
    let mut groups = Vec::with_capacity(index.columns.len() * 3);
    for (at, part) in index.columns.iter().enumerate() {
        let column = part.column.map_or(computed, u32::from);
        computed += u32::from(part.column.is_none());
        groups.extend([column, kind(at), direction(part)]);
    }
    groups
}

/// Columns as bits; all bits where one does not fit.
fn mask(columns: impl IntoIterator<Item = u16>) -> u32 {
    columns.into_iter().fold(0, |mask, column| if column < 32 { mask | 1 << column } else { u32::MAX })
}
