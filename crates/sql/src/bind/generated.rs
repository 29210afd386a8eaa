//! Generated columns: values that are computed from the row's others, and stored with it.
//!
//! ```text
//!   INSERT   the query of the row --> a query around it that computes them from its columns
//!   UPDATE, ON CONFLICT DO UPDATE     their expressions, with the new values of columns in place of their names
//! ```
//!
//! Rules
//! 1. An expression is immutable and names stored columns of the row only (`42P17`): so it may be computed anew at each change, and
//!    gives what is there if nothing that it names has changed.
//! 2. Nobody else gives such a column a value (`428C9`); `DEFAULT` stands for the expression.
//! 3. In an `UPDATE` a new value stands in the expressions of all columns that need it, so it must not be volatile.

use super::Binder;
use super::expr::Clause;
use super::scope::{Item, Namespace, Scope, ScopeColumn};
use super::tree::{Body, Expr, ExprKind, From, Query, RelationId, Select, Source, Target};
use crate::catalog::definition::TableDef;
use crate::catalog::trigger::{BEFORE, ROW};
use crate::types::function::Volatility;
use base::{Error, Result, sqlstate};

impl Binder<'_> {
    /// A query that gives what `query` gives for the columns of a table, with the values of its generated ones.
    pub(super) fn generate(&mut self, query: Query, table: &TableDef) -> Result<Query> {
        if !table.has_generated() {
            return Ok(query);
        }
        let relation = query.output;
        let types: Vec<_> = query.targets[..query.visible].iter().map(|target| target.expr.ty).collect();
        self.bound.relations[relation as usize].source = Source::Query(Box::new(query));
        let place = |column: usize| table.visible().position(|(index, _)| index == column).unwrap_or(0);
        let value = |column: usize| Expr::column(relation, place(column) as u16, types[place(column)]);
        let generated = self.generated(table, relation, value)?;
        let targets = table
            .visible()
            .map(|(column, definition)| {
                let made = generated.iter().find(|(made, _)| *made == column).map(|(_, expr)| expr.clone());
                Target { name: definition.name.clone(), expr: made.unwrap_or_else(|| value(column)) }
            })
            .collect();
        let select = Select { from: vec![From::Relation(relation)], ..Select::default() };
        self.plain_query(Body::Select(select), targets)
    }

    /// Adds the values of generated columns to those that an `UPDATE` assigns; `first` was the number of its first subplan.
    pub(super) fn generate_assigned(
        &mut self,
        assigned: &mut Vec<(usize, Expr)>,
        table: &TableDef,
        relation: RelationId,
        first: usize,
    ) -> Result<()> {
        if !table.has_generated() {
            return Ok(());
        }
        let is_volatile = |expr: &Expr| expr.any(&mut |part| calls(part, |known| known == Volatility::Volatile));
        if assigned.iter().any(|(_, value)| is_volatile(value)) || self.is_volatile(first)? {
            return Err(Error::unsupported(
                "an UPDATE of a table with generated columns may not assign volatile values",
            )
            .hint("Compute the values first, and assign those."));
        }
        let new = assigned.clone();
        let value = |column: usize| {
            let found = new.iter().find(|(known, _)| *known == column).map(|(_, value)| value.clone());
            found.unwrap_or_else(|| Expr::column(relation, column as u16, table.columns[column].ty))
        };
        assigned.extend(self.generated(table, relation, value)?);
        Ok(())
    }

    /// The generated columns of a table, with their expressions over a new row that triggers may have changed; none if there are no
    /// such triggers.
    pub(super) fn generated_anew(&mut self, table: &TableDef, new: RelationId) -> Result<Vec<(u16, Expr)>> {
        if !table.has_generated() || !table.has_trigger(ROW | BEFORE) {
            return Ok(Vec::new());
        }
        let value = |column: usize| Expr::column(new, column as u16, table.columns[column].ty);
        let generated = self.generated(table, new, value)?;
        Ok(generated.into_iter().map(|(column, expr)| (column as u16, expr)).collect())
    }

    /// The generated columns of a table, with their expressions over these values.
    fn generated(
        &mut self,
        table: &TableDef,
        relation: RelationId,
        value: impl Fn(usize) -> Expr,
    ) -> Result<Vec<(usize, Expr)>> {
        let refuse = |message: String| Err(Error::statement(sqlstate::INVALID_OBJECT_DEFINITION, message));
        // With the columns themselves first, to see what the expression names.
        let columns = |value: &dyn Fn(usize) -> Expr| -> Namespace {
            let columns: Vec<ScopeColumn> = table
                .visible()
                .map(|(index, column)| ScopeColumn { name: column.name.clone(), expr: value(index) })
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
        };
        let plain = columns(&|column| Expr::column(relation, column as u16, table.columns[column].ty));
        let given = columns(&value);
        let mut generated = Vec::new();
        for (column, definition) in table.visible().filter(|(_, column)| column.generated) {
            let Some(text) = &definition.default else { continue };
            let subplans = self.bound.subplans.len();
            let own = self.generation(text, &plain, table, column)?;
            if self.bound.subplans.len() != subplans {
                return Err(Error::unsupported("cannot use subquery in column generation expression"));
            }
            if !super::index::is_immutable(&own) {
                return refuse("generation expression is not immutable".to_owned());
            }
            let mut other = None;
            own.any(&mut |part| {
                if let ExprKind::Column(named) = &part.kind
                    && let Some(definition) = table.columns.get(usize::from(named.column))
                    && definition.generated
                {
                    other = Some(definition.name.clone());
                }
                other.is_some()
            });
            if let Some(other) = other {
                return Err(Error::statement(
                    sqlstate::INVALID_OBJECT_DEFINITION,
                    format!("cannot use generated column \"{other}\" in column generation expression"),
                )
                .detail("A generated column cannot reference another generated column."));
            }
            generated.push((column, self.generation(text, &given, table, column)?));
        }
        Ok(generated)
    }

    fn generation(&mut self, text: &str, namespace: &Namespace, table: &TableDef, column: usize) -> Result<Expr> {
        let scope = Scope { namespace, parent: None };
        self.stored(text, |binder, expr| {
            let bound = binder.expr(expr, &scope, Clause::Generation)?;
            binder.assign(bound, table, column, 0)
        })
    }
}

/// Is it a call of a function of that volatility?
fn calls(part: &Expr, is: impl Fn(Volatility) -> bool) -> bool {
    match &part.kind {
        ExprKind::Call(call) => is(call.volatility),
        _ => false,
    }
}
