//! `ALTER TABLE … ALTER COLUMN … TYPE`: another type for values that are there.
//!
//! ```text
//!  types of the draft change -> new storages -> defined, with the old rows under a name of their own
//!       -> INSERT INTO table SELECT … FROM the old rows, with USING -> the old rows go
//! ```
//!
//! Rules
//! 1. Where every old value is a value of the new type, as it lies there, only the definition changes.
//! 2. Rows that are written anew pass everything that new rows pass: checks, keys, foreign keys; and indexes are made again with them.
//! 3. A column that a view or a generated column reads keeps its type (`0A000`).

use super::alter::{column_of, computed_from};
use super::constraint::{Draft, have_one_key};
use super::define::Change;
use crate::catalog::definition::{ConstraintDef, ConstraintKind, IndexDef, RelationKind, Rows, StoredExpr, TableDef};
use crate::parser::ast::{AlterAction, Name, SequenceOptions, SourceExpr, TypeName};
use crate::session::{Environment, Session};
use crate::types::cast::{self, Context, Method};
use crate::types::{Oid, Type, table, typmod};
use allocator_api2::alloc::Allocator;
use base::settings::quoted_identifier;
use base::{Error, Result, sqlstate};
use std::collections::BTreeMap;

/// Columns that get other types.
#[derive(Default)]
pub(super) struct Retyped {
    /// For each of them what its values are made of, where that was written.
    using: BTreeMap<usize, Option<String>>,
    /// The rows have to be written anew.
    pub(super) rewrites: bool,
    /// Foreign keys of other tables that refer to one of the columns.
    referrers: Vec<(Oid, Oid)>,
}

/// In which order actions are carried out beside changes of types: what goes comes first, what is new last.
pub(super) fn pass(action: &AlterAction<'_>) -> u8 {
    match action {
        AlterAction::DropColumn { .. }
        | AlterAction::DropConstraint { .. }
        | AlterAction::SetDefault(_, None)
        | AlterAction::SetNotNull(_, false)
        | AlterAction::DropIdentity(..)
        | AlterAction::DropExpression(..) => 0,
        AlterAction::AlterType(..) => 1,
        _ => 2,
    }
}

/// Is every value of the old type one of the new type, in the same form?
fn keeps_values(old: Type, new: Type) -> bool {
    if old.oid == new.oid && (old.typmod == new.typmod || new.typmod == -1) {
        return true;
    }
    let is_text = |oid| oid == Oid::TEXT || oid == Oid::VARCHAR;
    is_text(old.oid) && is_text(new.oid) && (new.typmod == -1 || (old.typmod != -1 && old.typmod <= new.typmod))
}

impl<A: Allocator + Copy> Session<A> {
    /// One column of the draft gets another type.
    pub(super) fn alter_type(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        draft: &mut Draft,
        retyped: &mut Retyped,
        (name, written, using): (Name<'_>, &TypeName<'_>, Option<&SourceExpr<'_>>),
    ) -> Result<()> {
        let column = column_of(&draft.table, name)?;
        if retyped.using.contains_key(&column) {
            let message = format!("cannot alter type of column \"{}\" twice", name.text);
            return Err(Error::unsupported(message));
        }
        let place = crate::lexer::position(text, written.at as usize);
        let (new, domain) = self.catalog(env)?.type_or_domain(written).map_err(|error| error.at(place))?;
        self.hold_type(env, domain.as_ref().map_or(new, |domain| Type::plain(domain.oid)))?;
        if domain.is_some() && draft.table.columns[column].identity.is_some() {
            return Err(super::sequence::no_identity_type());
        }
        if table::by_oid(new.oid).is_none_or(|row| row.category == b'P') {
            let message = format!("column \"{}\" has pseudo-type {}", name.text, typmod::format_type(new));
            return Err(Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message));
        }
        let old = draft.table.columns[column].ty;
        self.refuse_readers(env, &draft.table, column)?;
        if draft.table.columns[column].generated {
            return Err(Error::unsupported("the type of a generated column cannot be changed")
                .hint("Drop the column, and add it with the other type."));
        }
        let shown = typmod::format_type(Type::plain(new.oid));
        let cannot = |what: &str| {
            let message = format!("{what} \"{}\" cannot be cast automatically to type {shown}", name.text);
            Error::statement(sqlstate::DATATYPE_MISMATCH, message)
        };
        let method = cast::find(old.oid, new.oid, Context::Assignment);
        if using.is_none() && method.is_none() {
            let quoted = quoted_identifier(name.text);
            return Err(cannot("column")
                .hint(format!("You might need to specify \"USING {quoted}::{}\".", typmod::format_type(new))));
        }
        let has_default =
            draft.table.columns[column].default.is_some() && draft.table.columns[column].identity.is_none();
        if has_default && method.is_none() {
            return Err(cannot("default for column"));
        }
        self.retype_identity(env, draft, column, written, new)?;
        draft.table.columns[column].ty = new;
        draft.table.columns[column].domain = domain.as_ref().map(|domain| domain.oid);
        retyped.rewrites |= domain.is_some();
        draft.has_expressions = true;
        self.check_keys(env, draft, column, retyped)?;
        let is_relabelled = method == Some(Method::Relabel) || old.oid == new.oid;
        if using.is_some() || !is_relabelled || !keeps_values(old, new) {
            retyped.rewrites = true;
        }
        retyped.using.insert(column, using.map(|using| using.text.to_owned()));
        Ok(())
    }

    /// No view and no generated column may read a column whose type changes.
    fn refuse_readers(&self, env: &Environment<'_>, table: &TableDef, column: usize) -> Result<()> {
        let name = &table.columns[column].name;
        let definitions = self.definitions(env, &self.work)?;
        let reads = |other: &&std::sync::Arc<TableDef>| {
            other.view.as_ref().is_some_and(|view| view.reads(table.oid, Some(column)))
        };
        if let Some(view) = definitions.tables().find(reads) {
            return Err(Error::unsupported("cannot alter type of a column used by a view or rule")
                .detail(format!("rule _RETURN on view {} depends on column \"{name}\"", view.name)));
        }
        if let Some(other) = computed_from(table, column).first() {
            let other = &table.columns[*other].name;
            return Err(Error::unsupported("cannot alter type of a column used by a generated column")
                .detail(format!("Column \"{name}\" is used by generated column \"{other}\".")));
        }
        Ok(())
    }

    /// The sequence of an identity column gets the type too.
    fn retype_identity(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        column: usize,
        written: &TypeName<'_>,
        new: Type,
    ) -> Result<()> {
        if draft.table.columns[column].identity.is_none() {
            return Ok(());
        }
        if !super::sequence::may_be_identity(new.oid) {
            return Err(super::sequence::no_identity_type());
        }
        let table = draft.table.oid;
        let options = SequenceOptions { ty: Some(written), ..SequenceOptions::default() };
        for owned in
            self.owned_by(env, |owner| owner.identity && owner.table == table && usize::from(owner.column) == column)?
        {
            let mut changed = match draft.others.iter().position(|known| known.oid == owned.oid) {
                Some(at) => draft.others.swap_remove(at),
                None => TableDef::clone(&owned),
            };
            self.change_sequence(env, &mut changed, &options)?;
            draft.others.push(changed);
        }
        Ok(())
    }

    /// Foreign keys of both sides have to be possible still.
    fn check_keys(&mut self, env: &Environment<'_>, draft: &Draft, column: usize, retyped: &mut Retyped) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        let of = |oid: Oid| match oid == draft.table.oid {
            true => Some(&draft.table),
            false => definitions.table(oid).map(AsRef::as_ref),
        };
        let check = |name: &str, own: &TableDef, other: &TableDef, pairs: (&[u16], &[u16])| {
            for (&left, &right) in pairs.0.iter().zip(pairs.1) {
                let (left, right) = (&own.columns[usize::from(left)], &other.columns[usize::from(right)]);
                if !have_one_key(left.ty, right.ty) {
                    let message = format!("foreign key constraint \"{name}\" cannot be implemented");
                    return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message).detail(format!(
                        "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                        left.name,
                        right.name,
                        typmod::format_type(Type::plain(left.ty.oid)),
                        typmod::format_type(Type::plain(right.ty.oid))
                    )));
                }
            }
            Ok(())
        };
        for constraint in &draft.table.constraints {
            let ConstraintKind::ForeignKey(key) = &constraint.kind else { continue };
            if key.columns.contains(&(column as u16))
                && let Some(other) = of(key.table)
            {
                check(&constraint.name, &draft.table, other, (&key.columns, &key.referenced))?;
            }
        }
        for referrer in &draft.table.referenced_by {
            let Some(other) = of(referrer.table) else { continue };
            let Some(constraint) = other.constraints.iter().find(|known| known.oid == referrer.constraint) else {
                continue;
            };
            let ConstraintKind::ForeignKey(key) = &constraint.kind else { continue };
            if key.referenced.contains(&(column as u16)) {
                check(&constraint.name, other, &draft.table, (&key.columns, &key.referenced))?;
                retyped.referrers.push((referrer.table, referrer.constraint));
            }
        }
        Ok(())
    }

    /// Gives the draft new storages, and what its indexes compute new types; answers a definition of the old rows, which is defined with it.
    pub(super) fn prepare_rewrite(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        old: &TableDef,
        retyped: &Retyped,
    ) -> Result<Option<TableDef>> {
        if retyped.using.is_empty() {
            return Ok(None);
        }
        for at in 0..draft.table.indexes.len() {
            let reads = draft.table.indexes[at].reads();
            if retyped.using.keys().any(|column| reads.contains(&(*column as u16))) {
                let (expressions, predicate) = self.described_again(env, &draft.table, &draft.table.indexes[at])?;
                let index = &mut draft.table.indexes[at];
                (index.expressions, index.predicate) = (expressions, predicate);
                super::index::check_orderable(&draft.table, &draft.table.indexes[at])?;
            }
        }
        if !retyped.rewrites {
            self.add_pieces(env, &mut draft.table)?;
            return Ok(None);
        }
        let since = self.own_xid(env)?;
        let relations = env.stored()?;
        let oid = self.new_oid(env)?;
        for index in &mut draft.table.indexes {
            let new = relations.create()?;
            relations.drop_at_commit(index.storage)?;
            relations.succeed(new, index.storage)?;
            index.storage = new;
            index.since = since;
            relations.btree(index.storage).create()?;
        }
        let rows = relations.create()?;
        if let Rows::Stored(old) = old.rows {
            relations.succeed(rows, old)?;
        }
        draft.table.rows = Rows::Stored(rows);
        // The old rows keep the pieces that they have.
        draft.table.pieces = None;
        self.add_pieces(env, &mut draft.table)?;
        Ok(Some(TableDef {
            oid,
            name: format!("pg_rewrite_{oid}"),
            kind: RelationKind::Table,
            columns: old
                .columns
                .iter()
                .cloned()
                .map(|column| crate::catalog::definition::ColumnDef {
                    default: None,
                    domain: None,
                    uses: Vec::new(),
                    generated: false,
                    identity: None,
                    not_null: false,
                    ..column
                })
                .collect(),
            indexes: Vec::new(),
            constraints: Vec::new(),
            referenced_by: Vec::new(),
            comments: Vec::new(),
            owner: self.role(),
            ..old.clone()
        }))
    }

    /// The expressions of an index, with the types that they have now.
    fn described_again(
        &self,
        env: &Environment<'_>,
        table: &TableDef,
        index: &IndexDef,
    ) -> Result<(Vec<StoredExpr>, Option<StoredExpr>)> {
        let again = |stored: &StoredExpr| {
            self.bound_apart(env, &stored.text, |setting, arena, bump| {
                crate::bind::index::described_again(table, stored, setting, arena, bump)
            })
        };
        let expressions = index.expressions.iter().map(again).collect::<Result<Vec<_>>>()?;
        Ok((expressions, index.predicate.as_ref().map(again).transpose()?))
    }

    /// Writes the old rows into the table, which is defined anew, and lets them go.
    pub(super) fn rewrite(
        &mut self,
        env: &Environment<'_>,
        draft: &Draft,
        old: &TableDef,
        retyped: &Retyped,
    ) -> Result<()> {
        let (table, from) = (self.full_name(env, &draft.table)?, self.full_name(env, old)?);
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (column, definition) in old.visible() {
            let Some(new) = draft.table.columns.get(column).filter(|new| !new.dropped && !new.generated) else {
                continue;
            };
            names.push(quoted_identifier(&new.name));
            values.push(match retyped.using.get(&column) {
                Some(Some(using)) => format!("({using})"),
                _ => quoted_identifier(&definition.name),
            });
        }
        if !names.is_empty() {
            // `USING` names the table by the name that it had.
            let text = format!(
                "insert into {table} ({}) overriding system value select {} from {from} as {}",
                names.join(", "),
                values.join(", "),
                quoted_identifier(&draft.old_name)
            );
            self.run_own(env, &text)?;
        }
        if let Rows::Stored(rows) = old.rows {
            self.own_xid(env)?;
            env.stored()?.drop_at_commit(rows)?;
        }
        if let Some(pieces) = old.pieces {
            env.stored()?.drop_at_commit(pieces.storage)?;
        }
        self.define(env, &Change::drop_table(old.oid))?;
        self.define(env, &Change::forget(draft.table.oid))?;
        for (other, constraint) in &retyped.referrers {
            let found = self.definitions(env, &self.work)?.table(*other).cloned();
            let Some(found) = found else { continue };
            let constraint: Option<ConstraintDef> =
                found.constraints.iter().find(|known| known.oid == *constraint).cloned();
            if let Some(constraint) = constraint.filter(|constraint| constraint.validated) {
                self.check_references(env, &found, &constraint)?;
            }
        }
        Ok(())
    }
}
