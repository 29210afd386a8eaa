//! Indexes on expressions and of some rows: what is stored as texts, as expressions over the columns of a relation.
//!
//! ```text
//!   CREATE INDEX   the written expressions, bound over the table --> texts with types and columns ([`describe`])
//!   a scan         the texts, bound over the relation --> the planner compares them with the statement's conditions
//!   a change       the texts, bound over a row of its own --> programs that make keys, for every row that is entered
//! ```
//!
//! Rules
//! 1. An expression is immutable and names columns of the row only (`42P17`): an entry that was made once is found ever after.
//! 2. What is bound here leaves no trace in the statement around it: no privileges are taken, no columns noted.

use super::Binder;
use super::Setting;
use super::expr::Clause;
use super::query::conjuncts;
use super::scope::{Item, Namespace, Scope, ScopeColumn};
use super::tree::{BoundIndex, Expr, ExprKind, Relation, RelationId, Root, Source, TableRow};
use crate::catalog::definition::{Action, ConstraintKind, IndexDef, StoredExpr, TableDef, without_parentheses};
use crate::parser::ast::{self, SourceExpr};
use crate::types::Arena;
use crate::types::function::Volatility;
use base::{Error, Result, sqlstate};
use bumpalo::Bump;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is written for an index: its expressions, and the condition on its rows.
#[derive(Debug)]
pub struct Described {
    /// The expressions.
    pub expressions: Vec<StoredExpr>,
    /// The condition.
    pub predicate: Option<StoredExpr>,
}

/// Binds what is written for an index of a table.
///
/// Errors: those of expressions, `42P17` for one that is not immutable.
pub fn describe(
    table: &TableDef,
    expressions: &[SourceExpr<'_>],
    predicate: Option<&SourceExpr<'_>>,
    setting: &Setting<'_>,
    arena: &Arena,
    bump: &Bump,
) -> Result<Described> {
    let mut binder = Binder::new(setting, arena, bump);
    let relation = binder.row_of(table)?;
    let namespace = namespace(table, relation);
    let scope = Scope { namespace: &namespace, parent: None };
    let mut described = Described { expressions: Vec::with_capacity(expressions.len()), predicate: None };
    for written in expressions {
        let bound = binder.expr(written.expr, &scope, Clause::Index)?;
        let bound = binder.resolve_unknown(bound, written.expr.at)?;
        described.expressions.push(binder.stored_expr(&bound, written, relation, "expression")?);
    }
    if let Some(written) = predicate {
        let bound = binder.expr(written.expr, &scope, Clause::IndexPredicate)?;
        let bound = binder.condition(bound, "WHERE", written.expr.at)?;
        described.predicate = Some(binder.stored_expr(&bound, written, relation, "predicate")?);
    }
    Ok(described)
}

/// Binds a stored expression of an index again, whose columns have other types now.
pub fn described_again(
    table: &TableDef,
    stored: &StoredExpr,
    setting: &Setting<'_>,
    arena: &Arena,
    bump: &Bump,
) -> Result<StoredExpr> {
    let text = &*bump.alloc_str(&stored.text);
    let expr = bump.alloc(crate::parser::parse_expr(text, bump)?);
    let described = describe(table, &[SourceExpr { expr, text }], None, setting, arena, bump)?;
    let found = described.expressions.into_iter().next();
    let found = found.ok_or_else(|| Error::statement(sqlstate::INTERNAL_ERROR, "an expression was not bound"))?;
    Ok(StoredExpr { name: stored.name.clone(), ..found })
}

/// Where an expression names a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Where the name begins with what stands before it, as the table's.
    pub path: u32,
    /// Where the column's own name begins …
    pub start: u32,
    /// … and ends.
    pub end: u32,
}

/// Where a stored expression of a table names columns, from the last place to the first.
pub fn places_of(
    table: &TableDef,
    text: &str,
    setting: &Setting<'_>,
    arena: &Arena,
    bump: &Bump,
) -> Result<Vec<(Place, u16)>> {
    let mut binder = Binder::new(setting, arena, bump);
    let relation = binder.row_of(table)?;
    let namespace = namespace(table, relation);
    let scope = Scope { namespace: &namespace, parent: None };
    binder.named = Some(Vec::new());
    let expr = crate::parser::parse_expr(text, bump)?;
    binder.expr(&expr, &scope, Clause::Check)?;
    let mut places: Vec<(Place, u16)> = Vec::new();
    for (place, expr) in binder.named.take().unwrap_or_default() {
        if let ExprKind::Column(column) = expr.kind
            && column.relation == relation
            && !places.iter().any(|(known, _)| *known == place)
        {
            places.push((place, column.column));
        }
    }
    places.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    Ok(places)
}

/// A table's columns, as columns of a relation.
fn namespace(table: &TableDef, relation: RelationId) -> Namespace {
    let columns: Vec<ScopeColumn> = table
        .visible()
        .map(|(index, column)| ScopeColumn {
            name: column.name.clone(),
            expr: Expr::column(relation, index as u16, column.ty),
        })
        .collect();
    let name = table.name.clone();
    let item = Item {
        name,
        schema: None,
        columns: columns.clone(),
        relation: Some(relation),
        is_table: true,
        nullable: false,
    };
    Namespace { columns, items: vec![item] }
}

/// Is the value of an expression the same whenever it is computed, whoever does it?
pub(super) fn is_immutable(expr: &Expr) -> bool {
    !expr.any(&mut |part| match &part.kind {
        ExprKind::Call(call) => call.volatility != Volatility::Immutable,
        ExprKind::Cast(operand, method, _) => !method.is_immutable(operand.ty.oid, part.ty.oid),
        _ => false,
    })
}

impl Binder<'_> {
    /// A relation for one row of a table.
    fn row_of(&mut self, table: &TableDef) -> Result<RelationId> {
        let columns = table
            .columns
            .iter()
            .map(|column| (if column.dropped { String::new() } else { column.name.clone() }, column.ty))
            .collect();
        self.relation(Relation { name: table.name.clone(), columns, source: Source::Computed }, 0)
    }

    fn stored_expr(
        &self,
        bound: &Expr,
        written: &SourceExpr<'_>,
        relation: RelationId,
        what: &str,
    ) -> Result<StoredExpr> {
        let at = self.position(written.expr.at);
        if bound.any(&mut |part| matches!(part.kind, ExprKind::Subplan(_))) {
            return Err(Error::unsupported(format!("cannot use subquery in index {what}")).at(at));
        }
        if !is_immutable(bound) {
            let message = format!("functions in index {what} must be marked IMMUTABLE");
            return Err(Error::statement(sqlstate::INVALID_OBJECT_DEFINITION, message));
        }
        let mut columns = BTreeSet::new();
        bound.any(&mut |part| {
            if let ExprKind::Column(column) = part.kind
                && column.relation == relation
            {
                columns.insert(column.column);
            }
            false
        });
        let name = match super::name::column_name(written.expr) {
            name if name == super::name::UNNAMED => "expr".to_owned(),
            name => name,
        };
        Ok(StoredExpr {
            text: self.catalog.with_marks(without_parentheses(written.text))?,
            name,
            ty: bound.ty,
            columns: columns.into_iter().collect(),
        })
    }

    /// Binds what the indexes of the statement's tables compute: for its scans, and for the rows that it changes.
    pub(super) fn bind_indexes(&mut self, root: &Root) -> Result<()> {
        let computes = |table: &TableDef| table.indexes.iter().any(|index| !index.is_plain());
        let scanned: Vec<(RelationId, Arc<TableDef>)> = self
            .bound
            .relations
            .iter()
            .enumerate()
            .filter_map(|(number, relation)| match &relation.source {
                Source::Table(table) if computes(table) => Some((number as RelationId, table.clone())),
                _ => None,
            })
            .collect();
        for (relation, table) in scanned {
            let bound = self.bound_indexes(&table, relation)?;
            self.bound.indexed.insert(relation, bound);
        }
        let own = match root {
            Root::Modification(modification) => Some(modification.table.clone()),
            Root::Query(_) => None,
        };
        let commons = self.bound.commons.iter().filter_map(|common| common.modification.as_ref());
        let changed: Vec<Arc<TableDef>> = commons.map(|modification| modification.table.clone()).chain(own).collect();
        for table in changed {
            let (others, along) = self.catalog.related(&table)?;
            let along = others.into_iter().filter(|other| along.contains(&other.oid));
            let all = std::iter::once((table, false)).chain(along.map(|table| (table, true)));
            for (table, is_along) in all {
                if self.bound.rows.iter().any(|row| row.table == table.oid) {
                    continue;
                }
                // A table that refers to itself is changed along with itself.
                let is_along = is_along || table.referenced_by.iter().any(|referrer| referrer.table == table.oid);
                if is_along || computes(&table) {
                    let row = self.table_row(&table, is_along)?;
                    self.bound.rows.push(row);
                }
            }
        }
        Ok(())
    }

    /// What is computed for a row of a table.
    fn table_row(&mut self, table: &TableDef, is_along: bool) -> Result<TableRow> {
        let relation = self.row_of(table)?;
        let indexes = self.bound_indexes(table, relation)?;
        let mut row = TableRow { table: table.oid, relation, indexes, checks: Vec::new(), defaults: Vec::new() };
        if !is_along {
            return Ok(row);
        }
        let noted = std::mem::take(&mut self.noted);
        let computed = self.apart("", |binder| {
            row.checks = binder.checks(table, relation)?;
            let mut columns = BTreeSet::new();
            for constraint in &table.constraints {
                let ConstraintKind::ForeignKey(key) = &constraint.kind else { continue };
                if key.on_update == Action::SetDefault {
                    columns.extend(&key.columns);
                }
                if key.on_delete == Action::SetDefault {
                    columns.extend(key.changed_on_delete());
                }
            }
            for column in columns {
                row.defaults.push((column, binder.default(table, usize::from(column))?));
            }
            Ok(())
        });
        self.noted = noted;
        computed.map(|()| row)
    }

    /// The indexes of a table that are not plain, over the columns of a relation.
    fn bound_indexes(&mut self, table: &TableDef, relation: RelationId) -> Result<Vec<BoundIndex>> {
        let noted = std::mem::take(&mut self.noted);
        let indexes = table.indexes.iter().filter(|index| !index.is_plain());
        let bound = self.apart("", |binder| {
            indexes.map(|index| binder.bound_index(table, index, relation)).collect::<Result<Vec<BoundIndex>>>()
        });
        self.noted = noted;
        bound
    }

    fn bound_index(&mut self, table: &TableDef, index: &IndexDef, relation: RelationId) -> Result<BoundIndex> {
        let namespace = namespace(table, relation);
        let scope = Scope { namespace: &namespace, parent: None };
        let mut keys = Vec::with_capacity(index.columns.len());
        for (at, part) in index.columns.iter().enumerate() {
            keys.push(match (part.column, index.expression(at)) {
                (Some(column), _) => Expr::column(relation, column, table.columns[usize::from(column)].ty),
                (None, Some(expression)) => self.stored(&expression.text, |binder, expr| {
                    let bound = binder.expr(expr, &scope, Clause::Index)?;
                    binder.resolve_unknown(bound, 0)
                })?,
                (None, None) => return Err(Error::corruption("an index has no expression for a column")),
            });
        }
        let mut predicate = Vec::new();
        if let Some(condition) = &index.predicate {
            let bound = self.stored(&condition.text, |binder, expr| {
                let bound = binder.expr(expr, &scope, Clause::IndexPredicate)?;
                binder.condition(bound, "WHERE", 0)
            })?;
            conjuncts(bound, &mut predicate);
        }
        Ok(BoundIndex { index: index.oid, keys, predicate })
    }

    /// Expressions of `ON CONFLICT (…)` over the columns of a table, with a condition, to be compared with those of its indexes.
    pub(super) fn inference(
        &mut self,
        table: &TableDef,
        relation: RelationId,
        namespace: &Namespace,
        exprs: &[ast::Expr<'_>],
        condition: Option<&ast::Expr<'_>>,
    ) -> Result<(Vec<Expr>, Vec<Expr>, Vec<BoundIndex>)> {
        let scope = Scope { namespace, parent: None };
        let mut wanted = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let bound = self.expr(expr, &scope, Clause::Index)?;
            wanted.push(self.resolve_unknown(bound, expr.at)?);
        }
        let mut known = Vec::new();
        if let Some(condition) = condition {
            let bound = self.expr(condition, &scope, Clause::IndexPredicate)?;
            conjuncts(self.condition(bound, "WHERE", condition.at)?, &mut known);
        }
        Ok((wanted, known, self.bound_indexes(table, relation)?))
    }
}
