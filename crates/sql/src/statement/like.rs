//! `CREATE TABLE (LIKE …)`: columns of a table or a view, and what belongs to them, in a new table.
//!
//! Names, types and `NOT NULL` are always taken over; the rest where `INCLUDING` says so. The new table depends on the old one for
//! nothing afterwards, but for the sequences that its defaults name.

use super::constraint::Draft;
use super::define::{free_name, is_taken, missing, taken};
use super::index::column_names;
use super::owner::Needs;
use super::sequence::ColumnSequence;
use crate::catalog::definition::{
    ColumnDef, Comment, ConstraintDef, ConstraintKind, IndexColumn, IndexDef, StoredExpr, TableDef,
};
use crate::catalog::privilege;
use crate::parser::ast::Like;
use crate::session::{Environment, Session};
use crate::types::{Oid, Type};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};
use std::sync::Arc;
use storage::txn::LockMode;

/// A table whose columns a new one takes over.
pub(super) struct Liked<'l> {
    like: &'l Like<'l>,
    source: Arc<TableDef>,
    /// For each of its columns the new table's.
    places: Vec<Option<u16>>,
}

impl<A: Allocator + Copy> Session<A> {
    /// Adds the columns of a table to those of a new one.
    pub(super) fn like_columns<'l>(
        &mut self,
        env: &Environment<'_>,
        like: &'l Like<'l>,
        columns: &mut Vec<ColumnDef>,
        sequences: &mut Vec<ColumnSequence>,
    ) -> Result<Liked<'l>> {
        let needs = Needs::Rights(privilege::SELECT);
        let source = self.lock_table(env, like.path, LockMode::AccessShare, false, needs)?;
        let source = source.ok_or_else(|| missing(like.path))?;
        if source.sequence.is_some() {
            let message = format!("relation \"{}\" is invalid in LIKE clause", source.name);
            return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message)
                .detail("This operation is not supported for sequences."));
        }
        let mut places = vec![None; source.columns.len()];
        for (at, column) in source.visible() {
            if columns.iter().any(|known| known.name == column.name) {
                let message = format!("column \"{}\" specified more than once", column.name);
                return Err(Error::statement(sqlstate::DUPLICATE_COLUMN, message));
            }
            match column.domain {
                Some(domain) => self.hold_type(env, Type::plain(domain))?,
                None => self.check_type_usage(env, column.ty)?,
            }
            places[at] = Some(columns.len() as u16);
            let mut made = ColumnDef {
                domain: column.domain,
                not_null: column.not_null,
                ..ColumnDef::plain(&column.name, column.ty)
            };
            let including = &like.including;
            match (column.generated, column.identity) {
                (true, _) if including.generated => {
                    (made.default, made.generated) = (column.default.clone(), true);
                }
                (false, None) if including.defaults => {
                    (made.default, made.uses) = (column.default.clone(), column.uses.clone());
                }
                (false, Some(identity)) if including.identity => {
                    let own = self.owned_by(env, |owner| {
                        owner.identity && owner.table == source.oid && usize::from(owner.column) == at
                    })?;
                    let rules = own.first().and_then(|sequence| sequence.sequence);
                    sequences.extend(rules.map(|rules| ColumnSequence::like(&column.name, rules, identity)));
                }
                _ => {}
            }
            columns.push(made);
        }
        Ok(Liked { like, source, places })
    }

    /// Adds checks, keys, indexes and comments.
    pub(super) fn like_rest(&mut self, env: &Environment<'_>, draft: &mut Draft, liked: &Liked<'_>) -> Result<()> {
        let (including, source) = (&liked.like.including, &liked.source);
        // The new numbers of what has comments.
        let mut numbers: Vec<(Oid, Oid)> = Vec::new();
        for constraint in source.constraints.iter().filter(|_| including.constraints) {
            let ConstraintKind::Check(_) = &constraint.kind else { continue };
            if draft.table.constraints.iter().any(|known| known.name == constraint.name) {
                let message =
                    format!("constraint \"{}\" for relation \"{}\" already exists", constraint.name, draft.table.name);
                return Err(Error::statement(sqlstate::DUPLICATE_OBJECT, message));
            }
            let oid = self.new_oid(env)?;
            numbers.push((constraint.oid, oid));
            draft.table.constraints.push(ConstraintDef { oid, validated: true, ..constraint.clone() });
            draft.has_expressions = true;
        }
        for index in source.indexes.iter().filter(|_| including.indexes) {
            let made = self.like_index(env, draft, liked, index)?;
            numbers.push((index.oid, made.oid));
            numbers.extend(index.constraint.zip(made.constraint));
            draft.has_expressions |= !made.is_plain();
            draft.table.indexes.push(made);
        }
        for comment in source.comments.iter().filter(|_| including.comments) {
            let of = numbers.iter().find(|(old, _)| *old == comment.of).map(|(_, new)| *new);
            let column = usize::from(comment.column);
            let copied = match (of, column) {
                (Some(of), 0) => Some((of, 0)),
                (None, 1..) if comment.of == source.oid => {
                    let place = liked.places.get(column - 1).copied().flatten();
                    place.map(|place| (draft.table.oid, place + 1))
                }
                _ => None,
            };
            if let Some((of, column)) = copied {
                draft.table.comments.push(Comment { of, column, text: comment.text.clone() });
            }
        }
        Ok(())
    }

    fn like_index(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        liked: &Liked<'_>,
        index: &IndexDef,
    ) -> Result<IndexDef> {
        let place =
            |column: u16| {
                liked.places.get(usize::from(column)).copied().flatten().ok_or_else(|| {
                    Error::statement(sqlstate::INTERNAL_ERROR, "an index has a column that is not there")
                })
            };
        let stored = |stored: &StoredExpr| -> Result<StoredExpr> {
            let columns = stored.columns.iter().map(|column| place(*column)).collect::<Result<Vec<u16>>>()?;
            Ok(StoredExpr { columns, ..stored.clone() })
        };
        let columns = index
            .columns
            .iter()
            .map(|part| Ok(IndexColumn { column: part.column.map(place).transpose()?, ..*part }))
            .collect::<Result<Vec<IndexColumn>>>()?;
        let mut made = IndexDef {
            columns,
            expressions: index.expressions.iter().map(stored).collect::<Result<Vec<_>>>()?,
            predicate: index.predicate.as_ref().map(stored).transpose()?,
            included: index.included.iter().map(|column| place(*column)).collect::<Result<Vec<u16>>>()?,
            constraint: None,
            ..index.clone()
        };
        let (schema, table) = (draft.table.schema, draft.table.name.clone());
        let mut names = column_names(&draft.table, &made);
        names.extend(made.included.iter().map(|column| draft.table.columns[usize::from(*column)].name.clone()));
        made.name = {
            let catalog = self.catalog(env)?;
            let is_free = |name: &str| {
                !is_taken(&catalog, schema, name)
                    && !draft.names.iter().any(|known| known == name)
                    && !draft.table.constraints.iter().any(|known| known.name == name)
            };
            match (index.primary, index.constraint.is_some()) {
                (true, _) => free_name(&table, "", "pkey", is_free),
                (false, true) => free_name(&table, &names.join("_"), "key", is_free),
                (false, false) => free_name(&table, &names.join("_"), "idx", is_free),
            }
        };
        if made.primary && draft.table.primary_key().is_some() {
            let message = format!("multiple primary keys for table \"{table}\" are not allowed");
            return Err(Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message));
        }
        self.lock_name(env, schema, &made.name)?;
        if is_taken(&self.catalog(env)?, schema, &made.name) {
            return Err(taken(&made.name));
        }
        draft.names.push(made.name.clone());
        let mut made = self.new_index(env, &draft.table, made, false)?;
        if index.constraint.is_some() {
            let oid = self.new_oid(env)?;
            made.constraint = Some(oid);
            let kind = match made.primary {
                true => ConstraintKind::PrimaryKey(made.oid),
                false => ConstraintKind::Unique(made.oid),
            };
            let (name, deferral) = (made.name.clone(), liked.source.deferral_of(index));
            draft.table.constraints.push(ConstraintDef { oid, name, kind, validated: true, deferral });
        }
        Ok(made)
    }
}
