//! `INSERT`, `UPDATE`, `DELETE`: the query that gives the rows, and what is done with each.
//!
//! The query of an `INSERT` gives a value for every column of the table; that of an `UPDATE` the same and the row's place;
//! that of a `DELETE` the row's place. So whoever executes needs no expression beside the query's, but for checks and
//! `RETURNING`, which refer to the relation of the new row.
//!
//! Rules
//! 1. Values are cast to their columns' types as assignments are (`42804` if they cannot be).
//! 2. Defaults and checks are stored as texts and bound here, each time.

use super::Binder;
use super::expr::Clause;
use super::implied::{self, Implied};
use super::query::conjuncts;
use super::scope::{Item, Namespace, Scope, ScopeColumn};
use super::tree::{
    Body, ConflictRule, Expr, ExprKind, From, Modification, ModificationKind, Query, ROW_ID, Relation, RelationId,
    Select, Source, SubplanKind, Target,
};
use super::updatable::Changed;
use crate::catalog::definition::{ConstraintKind, Identity, RelationKind, Rows, TableDef};
use crate::catalog::privilege::{DELETE, INSERT, UPDATE};
use crate::parser;
use crate::parser::ast::{self, Overriding};
use crate::plan::blob::Constant;
use crate::types::cast::Context;
use crate::types::function::Volatility;
use crate::types::op::Op;
use crate::types::{Oid, Type, typmod};
use base::{Error, Result, sqlstate};

/// The type of a row's place, as an expression: a number.
const ROW_ID_TYPE: Type = Type::plain(Oid::INT8);

impl Binder<'_> {
    /// Binds an `INSERT`.
    pub(super) fn insert(&mut self, insert: &ast::Insert<'_>) -> Result<Modification> {
        self.with(insert.with, insert.recursive, None)?;
        let changed = self.target(insert.table, insert.alias, "insert into")?;
        let (relation, table) = (changed.relation, changed.table.clone());
        let columns = self.insert_columns(insert, &changed)?;
        self.needs(relation, INSERT);
        let query = match insert.source {
            None => self.insert_rows(&[&[]], &[], &table, insert)?,
            Some(source) => match plain_values(source) {
                Some(rows) => {
                    self.with(source.with, source.recursive, None)?;
                    let is_whole = |expr: &ast::Expr<'_>| matches!(expr.kind, ast::ExprKind::WholeRow(_));
                    let width = rows.first().map_or(0, |row| match row.iter().any(is_whole) {
                        true => usize::MAX,
                        false => row.len(),
                    });
                    self.check_width(insert, width)?;
                    self.note_inserted(relation, &columns[..width.min(columns.len())]);
                    self.insert_rows(rows, &columns, &table, insert)?
                }
                None => self.insert_query(source, (relation, &columns), &table, insert)?,
            },
        };
        let query = self.generate(query, &table)?;
        let new = self.row_relation(relation, &table)?;
        let values = columns_to_targets(&table);
        let checks = self.checks(&table, new)?;
        let conflict = match insert.conflict {
            Some(conflict) if changed.instead => {
                return Err(self.unsupported("ON CONFLICT for a view with INSTEAD OF triggers", conflict.at));
            }
            Some(conflict) => Some(self.conflict(conflict, &changed)?),
            None => None,
        };
        let view_checks = self.view_checks(&changed, new)?;
        if !insert.returning.is_empty() || insert.conflict.is_some() {
            changed.check_readable()?;
        }
        let namespace = self.columns_of_changed(&changed, new, None);
        let returning = self.returning(insert.returning, &namespace)?;
        let kind = ModificationKind::Insert;
        let updated = match &conflict {
            Some(rule) => rule.update.iter().flatten().map(|(column, _)| *column).collect(),
            None => Vec::new(),
        };
        let generated = self.generated_anew(&table, new)?;
        Ok(Modification {
            kind,
            table,
            relation,
            new,
            query,
            values,
            checks,
            view_checks,
            returning,
            conflict,
            updated,
            generated,
            instead: changed.instead,
            old: Vec::new(),
        })
    }

    /// Binds an `UPDATE`.
    pub(super) fn update(&mut self, update: &ast::Update<'_>) -> Result<Modification> {
        self.with(update.with, update.recursive, None)?;
        let changed = self.target(update.table, update.alias, "update")?;
        let (relation, table) = (changed.relation, changed.table.clone());
        self.needs(relation, UPDATE);
        let mut namespace = self.columns_of_changed(&changed, relation, None);
        let (mut from, offers) = self.from(update.from, None)?;
        let others = offers.clone();
        namespace.append(offers)?;
        from.insert(0, From::Relation(relation));
        let scope = Scope { namespace: &namespace, parent: None };
        let mut filter = changed.view.as_ref().map_or(Vec::new(), |view| view.filter.clone());
        if let Some(condition) = update.filter {
            let bound = self.expr(condition, &scope, Clause::Where)?;
            conjuncts(self.condition(bound, "WHERE", condition.at)?, &mut filter);
        }
        let subplans = self.bound.subplans.len();
        let mut assigned = self.assignments(update.assignments, &changed, &scope)?;
        self.note_assigned(&changed, update.assignments);
        self.generate_assigned(&mut assigned, &table, relation, subplans)?;
        let mut targets = Vec::with_capacity(table.columns.len() + 1);
        for (index, column) in table.visible() {
            let new = assigned.iter().find(|(assigned, _)| *assigned == index).map(|(_, value)| value.clone());
            let expr = new.unwrap_or_else(|| Expr::column(relation, index as u16, column.ty));
            targets.push(Target { name: column.name.clone(), expr });
        }
        let old = self.old_targets(&changed, &mut targets);
        let query = match changed.instead {
            true => self.plain_query(Body::Select(Select { from, filter, ..Select::default() }), targets)?,
            false => self.row_query(from, filter, targets, relation, update.at)?,
        };
        let new = self.row_relation(relation, &table)?;
        let values = columns_to_targets(&table);
        let checks = self.checks(&table, new)?;
        let view_checks = self.view_checks(&changed, new)?;
        if !update.returning.is_empty() {
            changed.check_readable()?;
        }
        let mut offered = self.columns_of_changed(&changed, new, None);
        offered.append(others)?;
        let returning = self.returning(update.returning, &offered)?;
        let kind = ModificationKind::Update;
        let updated = assigned.iter().map(|(column, _)| *column as u16).collect();
        let generated = self.generated_anew(&table, new)?;
        Ok(Modification {
            kind,
            table,
            relation,
            new,
            query,
            values,
            checks,
            view_checks,
            returning,
            conflict: None,
            updated,
            generated,
            instead: changed.instead,
            old,
        })
    }

    /// Binds a `DELETE`.
    pub(super) fn delete(&mut self, delete: &ast::Delete<'_>) -> Result<Modification> {
        self.with(delete.with, delete.recursive, None)?;
        let changed = self.target(delete.table, delete.alias, "delete from")?;
        let (relation, table) = (changed.relation, changed.table.clone());
        self.needs(relation, DELETE);
        let mut namespace = self.columns_of_changed(&changed, relation, None);
        let (mut from, offers) = self.from(delete.using, None)?;
        let others = offers.clone();
        namespace.append(offers)?;
        from.insert(0, From::Relation(relation));
        let scope = Scope { namespace: &namespace, parent: None };
        let mut filter = changed.view.as_ref().map_or(Vec::new(), |view| view.filter.clone());
        if let Some(condition) = delete.filter {
            let bound = self.expr(condition, &scope, Clause::Where)?;
            conjuncts(self.condition(bound, "WHERE", condition.at)?, &mut filter);
        }
        if changed.instead {
            return self.delete_instead(delete, &changed, (from, filter), others);
        }
        let query = self.row_query(from, filter, Vec::new(), relation, delete.at)?;
        let returning = self.returning(delete.returning, &namespace)?;
        Ok(Modification {
            kind: ModificationKind::Delete,
            values: vec![None; table.columns.len()],
            table,
            relation,
            new: relation,
            query,
            checks: Vec::new(),
            view_checks: Vec::new(),
            returning,
            conflict: None,
            updated: Vec::new(),
            generated: Vec::new(),
            instead: false,
            old: Vec::new(),
        })
    }

    /// Adds the old values of a view's row to what a query gives, for triggers; answers where they are.
    fn old_targets(&mut self, changed: &Changed, targets: &mut Vec<Target>) -> Vec<u16> {
        if !changed.instead {
            return Vec::new();
        }
        let first = targets.len();
        for (index, column) in changed.table.visible() {
            let expr = Expr::column(changed.relation, index as u16, column.ty);
            targets.push(Target { name: column.name.clone(), expr });
        }
        (first..targets.len()).map(|at| at as u16).collect()
    }

    /// A `DELETE` of a view whose triggers do it: its rows are read, and `RETURNING` reads what was read.
    fn delete_instead(
        &mut self,
        delete: &ast::Delete<'_>,
        changed: &Changed,
        (from, filter): (Vec<From>, Vec<Expr>),
        others: Namespace,
    ) -> Result<Modification> {
        let table = changed.table.clone();
        let mut targets = Vec::new();
        let old = self.old_targets(changed, &mut targets);
        let query = self.plain_query(Body::Select(Select { from, filter, ..Select::default() }), targets)?;
        let new = self.row_relation(changed.relation, &table)?;
        let mut offered = self.columns_of_changed(changed, new, None);
        offered.append(others)?;
        let returning = self.returning(delete.returning, &offered)?;
        Ok(Modification {
            kind: ModificationKind::Delete,
            values: columns_to_targets(&table),
            table,
            relation: changed.relation,
            new,
            query,
            checks: Vec::new(),
            view_checks: Vec::new(),
            returning,
            conflict: None,
            updated: Vec::new(),
            generated: Vec::new(),
            instead: true,
            old,
        })
    }

    // ---- the table

    /// The table that a statement changes.
    fn target(&mut self, path: ast::Path<'_>, alias: Option<ast::Name<'_>>, verb: &str) -> Result<Changed> {
        if let Some(changed) = self.instead_of(path, verb)? {
            if let Some(alias) = alias {
                alias.text.clone_into(&mut self.bound.relations[changed.relation as usize].name);
            }
            return Ok(changed);
        }
        if let Some(mut changed) = self.through_view(path, verb)? {
            if let (Some(view), Some(alias)) = (&mut changed.view, alias) {
                alias.text.clone_into(&mut view.name);
            }
            return Ok(changed);
        }
        let relation = self.table_relation(path)?;
        let Source::Table(table) = &self.bound.relations[relation as usize].source else {
            return Err(Error::unsupported("this relation cannot be changed"));
        };
        let table = table.clone();
        if table.kind == RelationKind::Sequence {
            let message = format!("cannot change sequence \"{}\"", table.name);
            return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        if !matches!(table.rows, Rows::Stored(_)) {
            let message = format!("cannot {verb} view \"{}\"", table.name);
            return Err(Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .detail("The server makes the rows of this view."));
        }
        if let Some(alias) = alias {
            self.bound.relations[relation as usize].name = alias.text.to_owned();
        }
        Ok(Changed { relation, table, view: None, instead: false })
    }

    /// A namespace of one relation, under the name of another.
    pub(super) fn named(&self, relation: RelationId, named_as: RelationId, name: Option<&str>) -> Namespace {
        let found = &self.bound.relations[relation as usize];
        let columns: Vec<ScopeColumn> = found
            .columns
            .iter()
            .enumerate()
            .filter(|(_, (name, _))| !name.is_empty())
            .map(|(index, (name, ty))| ScopeColumn {
                name: name.clone(),
                expr: Expr::column(relation, index as u16, *ty),
            })
            .collect();
        let known = &self.bound.relations[named_as as usize];
        let schema = match &known.source {
            Source::Table(table) if name.is_none() && table.name == known.name => {
                self.catalog.schema_name(table.schema)
            }
            _ => None,
        };
        let item = Item {
            name: name.unwrap_or(&known.name).to_owned(),
            schema,
            columns: columns.clone(),
            relation: Some(relation),
            is_table: true,
            nullable: false,
        };
        Namespace { columns, items: vec![item] }
    }

    /// The relation of a new row.
    fn row_relation(&mut self, relation: RelationId, table: &TableDef) -> Result<RelationId> {
        let columns = table
            .columns
            .iter()
            .map(|column| (if column.dropped { String::new() } else { column.name.clone() }, column.ty))
            .collect();
        let name = self.bound.relations[relation as usize].name.clone();
        let row = self.relation(Relation { name, columns, source: Source::Computed }, 0)?;
        self.share_access(row, relation);
        Ok(row)
    }

    fn find_column(&self, changed: &Changed, name: &ast::Name<'_>, verb: &str) -> Result<usize> {
        changed.column(name.text, verb)?.ok_or_else(|| {
            let message = format!("column \"{}\" of relation \"{}\" does not exist", name.text, changed.name());
            Error::statement(sqlstate::UNDEFINED_COLUMN, message).at(self.position(name.at))
        })
    }

    // ---- INSERT

    /// The columns that values are given for.
    fn insert_columns(&self, insert: &ast::Insert<'_>, changed: &Changed) -> Result<Vec<usize>> {
        if insert.columns.is_empty() {
            let rows = insert.source.and_then(plain_values);
            return changed.all_columns(rows.and_then(|rows| rows.first()).map_or(usize::MAX, |row| row.len()));
        }
        let mut columns = Vec::with_capacity(insert.columns.len());
        for (place, column) in insert.columns.iter().enumerate() {
            let name = &column.name;
            let index = self.find_column(changed, name, "insert into")?;
            // Several parts of one column may be given, but nothing beside the whole.
            let is_whole = |other: usize| insert.columns[other].subscripts.is_empty();
            let mut others = (0..place).filter(|&other| columns[other] == index);
            if others.any(|other| is_whole(other) || column.subscripts.is_empty()) {
                let message = format!("column \"{}\" specified more than once", name.text);
                return Err(Error::statement(sqlstate::DUPLICATE_COLUMN, message).at(self.position(name.at)));
            }
            columns.push(index);
        }
        Ok(columns)
    }

    /// Columns that are named must have values.
    fn check_width(&self, insert: &ast::Insert<'_>, given: usize) -> Result<()> {
        match insert.columns.get(given) {
            None => Ok(()),
            Some(column) => {
                let message = "INSERT has more target columns than expressions";
                Err(Error::statement(sqlstate::SYNTAX_ERROR, message).at(self.position(column.name.at)))
            }
        }
    }

    fn insert_rows(
        &mut self,
        rows: &[&[ast::Expr<'_>]],
        columns: &[usize],
        table: &TableDef,
        insert: &ast::Insert<'_>,
    ) -> Result<Query> {
        let overriding = insert.overriding;
        let mut bound = Vec::with_capacity(rows.len());
        for row in rows {
            if let Some(extra) = row.get(columns.len()) {
                return Err(Error::statement(
                    sqlstate::SYNTAX_ERROR,
                    "INSERT has more expressions than target columns",
                )
                .at(self.position(extra.at)));
            }
            if row.len() != rows[0].len() {
                let at = row.first().map_or(0, |expr| expr.at);
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, "VALUES lists must all be the same length")
                    .at(self.position(at)));
            }
            let mut values: Vec<Option<Expr>> = vec![None; table.columns.len()];
            if row.iter().any(|expr| matches!(expr.kind, ast::ExprKind::WholeRow(_))) {
                bound.push(self.spread_row(row, columns, table, insert)?);
                continue;
            }
            for (place, (expr, &column)) in row.iter().zip(columns).enumerate() {
                let target = insert.columns.get(place).filter(|target| !target.subscripts.is_empty());
                if matches!(expr.kind, ast::ExprKind::Default) {
                    match target {
                        Some(_) => return Err(self.no_default_part(expr.at)),
                        None => continue,
                    }
                }
                let value = self.expr(expr, &Scope::EMPTY, Clause::Values)?;
                if !takes_value(table, column, overriding)? {
                    continue;
                }
                let before = values[column].take();
                values[column] = Some(self.inserted(value, table, column, (target, before), expr.at)?);
            }
            let mut row = Vec::with_capacity(table.columns.len());
            for (column, _) in table.visible() {
                row.push(match values[column].take() {
                    Some(value) => value,
                    None => self.default(table, column)?,
                });
            }
            bound.push(row);
        }
        let targets = table
            .visible()
            .map(|(_, column)| Target { name: column.name.clone(), expr: Expr::constant(Constant::Null, column.ty) })
            .collect();
        self.plain_query(Body::Values(bound), targets)
    }

    /// A value for a column of a new row, or for a part of one, which has other parts already.
    fn inserted(
        &mut self,
        value: Expr,
        table: &TableDef,
        column: usize,
        (target, before): (Option<&ast::Assigned<'_>>, Option<Expr>),
        at: u32,
    ) -> Result<Expr> {
        let Some(target) = target else { return self.assign(value, table, column, at) };
        let whole = before.unwrap_or_else(|| Expr::constant(Constant::Null, table.columns[column].ty));
        self.with_part(whole, target, value, (&Scope::EMPTY, Clause::Values), at)
    }

    /// A row of values with records in it, each of which stands for all its fields.
    fn spread_row(
        &mut self,
        row: &[ast::Expr<'_>],
        columns: &[usize],
        table: &TableDef,
        insert: &ast::Insert<'_>,
    ) -> Result<Vec<Expr>> {
        let overriding = insert.overriding;
        let at = row.first().map_or(0, |expr| expr.at);
        let expr = ast::Expr { kind: ast::ExprKind::Row(row), at, height: 1 };
        let fields = self.fields_of(&expr, &Scope::EMPTY, Clause::Values)?.unwrap_or_default();
        if fields.len() > columns.len() {
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, "INSERT has more expressions than target columns")
                .at(self.position(at)));
        }
        let mut values: Vec<Option<Expr>> = vec![None; table.columns.len()];
        for (place, ((_, value, at), &column)) in fields.into_iter().zip(columns).enumerate() {
            if takes_value(table, column, overriding)? {
                let target = insert.columns.get(place).filter(|target| !target.subscripts.is_empty());
                let before = values[column].take();
                values[column] = Some(self.inserted(value, table, column, (target, before), at)?);
            }
        }
        let mut spread = Vec::with_capacity(table.columns.len());
        for (column, _) in table.visible() {
            spread.push(match values[column].take() {
                Some(value) => value,
                None => self.default(table, column)?,
            });
        }
        Ok(spread)
    }

    fn insert_query(
        &mut self,
        source: &ast::Query<'_>,
        (target, columns): (RelationId, &[usize]),
        table: &TableDef,
        insert: &ast::Insert<'_>,
    ) -> Result<Query> {
        let at = insert.at;
        let query = self.query(source, None, false)?;
        self.check_width(insert, query.visible)?;
        self.note_inserted(target, &columns[..query.visible.min(columns.len())]);
        if query.visible > columns.len() {
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, "INSERT has more expressions than target columns")
                .at(self.position(at)));
        }
        // Another query around it casts the values and adds the defaults.
        let relation = query.output;
        let given: Vec<Expr> = query.targets[..query.visible]
            .iter()
            .enumerate()
            .map(|(index, target)| match &target.expr.kind {
                // A string whose type nobody has said takes the column's.
                ExprKind::Constant(_) | ExprKind::Slot(_) | ExprKind::Untyped(_)
                    if target.expr.ty.oid == Oid::UNKNOWN && query.distinct.is_none() =>
                {
                    target.expr.clone()
                }
                _ => Expr::column(relation, index as u16, target.expr.ty),
            })
            .collect();
        let mut query = query;
        for index in 0..query.visible {
            if query.targets[index].expr.ty.oid == Oid::UNKNOWN {
                let null = Expr::constant(Constant::Null, Type::plain(Oid::TEXT));
                query.targets[index].expr = null;
                self.bound.relations[relation as usize].columns[index].1 = Type::plain(Oid::TEXT);
            }
        }
        self.bound.relations[relation as usize].source = Source::Query(Box::new(query));
        let mut targets = Vec::with_capacity(table.columns.len());
        for (column, definition) in table.visible() {
            let mut value = None;
            for (place, given) in given.iter().enumerate().filter(|(place, _)| columns[*place] == column) {
                if takes_value(table, column, insert.overriding)? {
                    let target = insert.columns.get(place).filter(|target| !target.subscripts.is_empty());
                    value = Some(self.inserted(given.clone(), table, column, (target, value.take()), at)?);
                }
            }
            let expr = match value {
                Some(value) => value,
                None => self.default(table, column)?,
            };
            targets.push(Target { name: definition.name.clone(), expr });
        }
        let select = Select { from: vec![From::Relation(relation)], ..Select::default() };
        self.plain_query(Body::Select(select), targets)
    }

    pub(super) fn plain_query(&mut self, body: Body, targets: Vec<Target>) -> Result<Query> {
        let columns = targets.iter().map(|target| (target.name.clone(), target.expr.ty)).collect();
        let output = self.relation(Relation { name: String::new(), columns, source: Source::Computed }, 0)?;
        let visible = targets.len();
        Ok(Query { body, output, targets, visible, ..Query::empty() })
    }

    /// A query whose last target is the place of a table's row.
    fn row_query(
        &mut self,
        from: Vec<From>,
        filter: Vec<Expr>,
        mut targets: Vec<Target>,
        relation: RelationId,
        _at: u32,
    ) -> Result<Query> {
        targets.push(Target { name: String::new(), expr: Expr::column(relation, ROW_ID, ROW_ID_TYPE) });
        self.plain_query(Body::Select(Select { from, filter, ..Select::default() }), targets)
    }

    /// A value for a column.
    pub(super) fn assign(&mut self, value: Expr, table: &TableDef, column: usize, at: u32) -> Result<Expr> {
        let definition = &table.columns[column];
        match self.try_coerce(value, definition.ty, Context::Assignment, at)? {
            Ok(value) => Ok(value),
            Err(value) => {
                let message = format!(
                    "column \"{}\" is of type {} but expression is of type {}",
                    definition.name,
                    typmod::format_type(Type::plain(definition.ty.oid)),
                    typmod::format_type(Type::plain(value.ty.oid))
                );
                Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message)
                    .hint("You will need to rewrite or cast the expression.")
                    .at(self.position(at)))
            }
        }
    }

    /// The default of a column: null if it has none.
    pub(super) fn default(&mut self, table: &TableDef, column: usize) -> Result<Expr> {
        let definition = &table.columns[column];
        let Some(text) = definition.default.as_ref().filter(|_| !definition.generated) else {
            let domain = definition.domain.filter(|_| !definition.generated);
            let given = self.domain_default(domain, definition.ty)?;
            return Ok(given.unwrap_or_else(|| Expr::constant(Constant::Null, definition.ty)));
        };
        self.stored(text, |binder, expr| {
            let mut bound = binder.expr(expr, &Scope::EMPTY, Clause::Default)?;
            if definition.identity.is_some()
                && let ExprKind::Call(call) = &mut bound.kind
                && call.op == Op::NextValue
            {
                // The sequence is a part of the column: nobody needs privileges on it.
                call.arguments.push(Expr::constant(Constant::Bool(true), Type::plain(Oid::BOOL)));
            }
            binder.assign(bound, table, column, 0)
        })
    }

    /// Binds an expression that is stored with a table.
    pub(super) fn stored<T>(
        &mut self,
        text: &str,
        bind: impl FnOnce(&mut Self, &ast::Expr<'_>) -> Result<T>,
    ) -> Result<T> {
        let text = self.bump.alloc_str(text);
        let expr = parser::parse_expr(text, self.bump)?;
        // The stored text has no slots, and places in it mean nothing to the user.
        let (own_text, own_slots) = (self.text, self.slots);
        self.text = text;
        self.slots = &[];
        let paused = std::mem::replace(&mut self.bound.accesses.paused, true);
        let bound = bind(self, &expr);
        self.bound.accesses.paused = paused;
        self.text = own_text;
        self.slots = own_slots;
        bound
    }

    pub(super) fn checks(&mut self, table: &TableDef, new: RelationId) -> Result<Vec<(String, Expr)>> {
        // Without a name they come before all others.
        let domains = self.domains_of(table, new)?;
        let mut checks: Vec<_> = domains.into_iter().map(|check| (String::new(), check)).collect();
        for constraint in &table.constraints {
            let ConstraintKind::Check(text) = &constraint.kind else { continue };
            let namespace = self.named(new, new, Some(&table.name));
            let scope = Scope { namespace: &namespace, parent: None };
            let check = self.stored(text, |binder, expr| {
                let bound = binder.expr(expr, &scope, Clause::Check)?;
                binder.condition(bound, "CHECK", 0)
            })?;
            checks.push((constraint.name.clone(), check));
        }
        Ok(checks)
    }

    fn returning(&mut self, items: &[ast::SelectItem<'_>], namespace: &Namespace) -> Result<Vec<Target>> {
        let scope = Scope { namespace, parent: None };
        let mut targets = self.targets(items, &scope, Clause::Returning)?;
        for target in &mut targets {
            let expr = std::mem::replace(&mut target.expr, Expr::constant(Constant::Null, Type::plain(Oid::TEXT)));
            target.expr = self.resolve_unknown(expr, 0)?;
        }
        Ok(targets)
    }

    // ---- UPDATE

    /// The columns that are assigned to get other values.
    fn note_assigned(&mut self, changed: &Changed, assignments: &[ast::Assignment<'_>]) {
        for target in assignments.iter().flat_map(|assignment| assignment.columns) {
            if let Ok(Some(column)) = changed.column(target.name.text, "update") {
                self.note_updated(changed.relation, column);
            }
        }
    }

    fn assignments(
        &mut self,
        assignments: &[ast::Assignment<'_>],
        changed: &Changed,
        scope: &Scope<'_>,
    ) -> Result<Vec<(usize, Expr)>> {
        let table = &*changed.table;
        let mut assigned: Vec<(usize, Expr)> = Vec::with_capacity(assignments.len());
        // The columns of which parts are assigned.
        let mut parts = Vec::new();
        for assignment in assignments {
            let values: Vec<ast::Expr<'_>> = match (assignment.multiple, assignment.value.kind) {
                (false, _) => vec![assignment.value],
                (true, ast::ExprKind::Row(items)) => items.to_vec(),
                (true, _) if assignment.columns.len() == 1 => vec![assignment.value],
                (true, ast::ExprKind::Subquery(query)) => {
                    self.assign_row(assignment, query, changed, scope, &mut assigned)?;
                    continue;
                }
                (true, _) => return Err(self.unsupported("this source of several columns", assignment.value.at)),
            };
            if values.len() != assignment.columns.len() {
                return Err(Error::statement(
                    sqlstate::SYNTAX_ERROR,
                    "number of columns does not match number of values",
                )
                .at(self.position(assignment.value.at)));
            }
            for (target, value) in assignment.columns.iter().zip(values) {
                let column = self.find_column(changed, &target.name, "update")?;
                let before = self.assigned_before(target, column, &mut assigned, &mut parts)?;
                let value = match value.kind {
                    ast::ExprKind::Default if !target.subscripts.is_empty() => {
                        return Err(self.no_default_part(value.at));
                    }
                    ast::ExprKind::Default if table.columns[column].generated => continue,
                    ast::ExprKind::Default => self.default(table, column)?,
                    _ => {
                        if definition_is_always(table, column) {
                            return Err(only_default(table, column));
                        }
                        let at = value.at;
                        let value = self.expr(&value, scope, Clause::Update)?;
                        match target.subscripts.is_empty() {
                            true => self.assign(value, table, column, at)?,
                            false => {
                                let own = Expr::column(changed.relation, column as u16, table.columns[column].ty);
                                let whole = before.unwrap_or(own);
                                self.with_part(whole, target, value, (scope, Clause::Update), at)?
                            }
                        }
                    }
                };
                assigned.push((column, value));
            }
        }
        Ok(assigned)
    }

    /// What a column was assigned before, if this is another part of it; then it is taken away. Errors: `42601` for a column that is
    /// assigned twice.
    fn assigned_before(
        &self,
        target: &ast::Assigned<'_>,
        column: usize,
        assigned: &mut Vec<(usize, Expr)>,
        parts: &mut Vec<usize>,
    ) -> Result<Option<Expr>> {
        let is_part = !target.subscripts.is_empty();
        let before = assigned.iter().position(|(other, _)| *other == column);
        if before.is_some() && !(is_part && parts.contains(&column)) {
            let message = format!("multiple assignments to same column \"{}\"", target.name.text);
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message).at(self.position(target.name.at)));
        }
        if is_part {
            parts.push(column);
        }
        Ok(before.map(|place| assigned.remove(place).1))
    }

    /// `(a, b) = (SELECT …)`: a subquery for each column, of which the others are left out. So none of it may be volatile.
    fn assign_row(
        &mut self,
        assignment: &ast::Assignment<'_>,
        query: &ast::Query<'_>,
        changed: &Changed,
        scope: &Scope<'_>,
        assigned: &mut Vec<(usize, Expr)>,
    ) -> Result<()> {
        let table = &*changed.table;
        let at = assignment.value.at;
        for (index, target) in assignment.columns.iter().enumerate() {
            let name = &target.name;
            if !target.subscripts.is_empty() {
                return Err(self.unsupported("a part of a column among columns of a subquery", name.at));
            }
            let first = self.bound.subplans.len();
            let bound = self.subquery(query, scope, Clause::Update)?;
            if bound.visible != assignment.columns.len() {
                let message = "number of columns does not match number of values";
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, message).at(self.position(at)));
            }
            let bound = self.around_query(bound, Some(index), at)?;
            let ty = bound.targets[0].expr.ty;
            let value = self.subplan(bound, SubplanKind::Scalar, ty);
            if self.is_volatile(first)? {
                return Err(self.unsupported("a subquery that gives several columns and calls a volatile function", at));
            }
            let column = self.find_column(changed, name, "update")?;
            if assigned.iter().any(|(other, _)| *other == column) {
                let message = format!("multiple assignments to same column \"{}\"", name.text);
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, message).at(self.position(name.at)));
            }
            if definition_is_always(table, column) {
                return Err(only_default(table, column));
            }
            let value = self.assign(value, table, column, at)?;
            assigned.push((column, value));
        }
        Ok(())
    }

    /// Does a subplan from that number on call a function whose result may change at every call?
    pub(super) fn is_volatile(&mut self, first: usize) -> Result<bool> {
        let mut volatile = false;
        for number in first..self.bound.subplans.len() {
            self.in_subquery(number as u16, &mut |_, expr| {
                volatile |= expr.any(&mut |part| match &part.kind {
                    ExprKind::Call(call) => call.volatility == Volatility::Volatile,
                    _ => false,
                });
                Ok(())
            })?;
        }
        Ok(volatile)
    }

    // ---- ON CONFLICT

    fn conflict(&mut self, conflict: &ast::Conflict<'_>, changed: &Changed) -> Result<ConflictRule> {
        let (relation, table) = (changed.relation, &changed.table);
        let indexes = self.inferred_indexes(conflict, changed)?;
        // The columns that decide are read.
        for index in indexes.iter().filter_map(|index| table.index(*index)) {
            for column in index.reads() {
                let column = Expr::column(relation, column, table.columns[usize::from(column)].ty);
                self.note_read(&column);
            }
        }
        let excluded = self.row_relation(relation, table)?;
        let Some(assignments) = conflict.assignments else {
            return Ok(ConflictRule { indexes, update: None, filter: Vec::new(), excluded });
        };
        if indexes.is_empty() {
            let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message)
                .hint("For example, ON CONFLICT (column_name).")
                .at(self.position(conflict.at)));
        }
        let mut namespace = self.columns_of_changed(changed, relation, None);
        let mut offers = self.columns_of_changed(changed, excluded, Some("excluded"));
        // The columns of both have the same names; bare names are the table's.
        offers.columns.clear();
        namespace.append(offers)?;
        let scope = Scope { namespace: &namespace, parent: None };
        let subplans = self.bound.subplans.len();
        let mut assigned = self.assignments(assignments, changed, &scope)?;
        self.note_assigned(changed, assignments);
        self.generate_assigned(&mut assigned, table, relation, subplans)?;
        let update = assigned.into_iter().map(|(column, value)| (column as u16, value)).collect();
        let mut filter = Vec::new();
        if let Some(condition) = conflict.filter {
            let bound = self.expr(condition, &scope, Clause::Where)?;
            conjuncts(self.condition(bound, "WHERE", condition.at)?, &mut filter);
        }
        Ok(ConflictRule { indexes, update: Some(update), filter, excluded })
    }

    /// The unique indexes that a clause means; none if it means any.
    fn inferred_indexes(&mut self, conflict: &ast::Conflict<'_>, changed: &Changed) -> Result<Vec<Oid>> {
        let table = &changed.table;
        if let Some(name) = conflict.constraint {
            let index = table.constraints.iter().find(|constraint| constraint.name == name.text);
            return match index.map(|constraint| &constraint.kind) {
                Some(ConstraintKind::PrimaryKey(index) | ConstraintKind::Unique(index)) => Ok(vec![*index]),
                _ => {
                    let message = format!("constraint \"{}\" for table \"{}\" does not exist", name.text, table.name);
                    Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message).at(self.position(name.at)))
                }
            };
        }
        if conflict.columns.is_empty() {
            return Ok(Vec::new());
        }
        let (mut wanted, mut exprs) = (Vec::with_capacity(conflict.columns.len()), Vec::new());
        for expr in conflict.columns {
            match expr.kind {
                ast::ExprKind::Column([name]) => wanted.push(self.find_column(changed, name, "insert into")? as u16),
                _ => exprs.push(*expr),
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        let namespace = self.columns_of_changed(changed, changed.relation, None);
        let (exprs, known, bound) =
            self.inference(table, changed.relation, &namespace, &exprs, conflict.target_filter)?;
        let mut found = Vec::new();
        for index in table.indexes.iter().filter(|index| index.unique) {
            let mut columns: Vec<u16> = index.columns.iter().filter_map(|part| part.column).collect();
            columns.sort_unstable();
            columns.dedup();
            if columns != wanted {
                continue;
            }
            let computed = bound.iter().find(|known| known.index == index.oid);
            let own: Vec<&Expr> = computed.map_or(Vec::new(), |computed| {
                let keys = index.columns.iter().zip(&computed.keys);
                keys.filter(|(part, _)| part.column.is_none()).map(|(_, key)| key).collect()
            });
            let same = |left: &Expr, right: &Expr| implied::alike(&self.bound, left, right);
            let named = own.iter().map(|key| exprs.iter().map(|expr| same(expr, key)).max().unwrap_or(Implied::No));
            let needed = exprs.iter().map(|expr| own.iter().map(|key| same(expr, key)).max().unwrap_or(Implied::No));
            let predicate = computed
                .map_or(Implied::Yes, |computed| implied::implied(&self.bound, known.iter(), &computed.predicate));
            match named.chain(needed).min().unwrap_or(Implied::Yes).min(predicate) {
                Implied::Yes => found.push(index.oid),
                Implied::Literal => return Err(self.ask_for_literals()),
                Implied::No => {}
            }
        }
        if found.is_empty() {
            let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
            return Err(Error::statement(sqlstate::INVALID_COLUMN_REFERENCE, message));
        }
        Ok(found)
    }
}

/// The rows of a `VALUES` that has nothing around it.
fn plain_values<'a>(query: &ast::Query<'a>) -> Option<&'a [&'a [ast::Expr<'a>]]> {
    match query.body {
        ast::Body::Values(rows) if query.order_by.is_empty() && query.limit.is_none() && query.offset.is_none() => {
            Some(rows)
        }
        _ => None,
    }
}

/// For each column of a table the target that is its new value: targets stand for the columns that are visible.
fn columns_to_targets(table: &TableDef) -> Vec<Option<u16>> {
    let mut next = 0;
    let mut take = |dropped: bool| {
        if dropped {
            return None;
        }
        next += 1;
        Some(next - 1)
    };
    table.columns.iter().map(|column| take(column.dropped)).collect()
}

fn definition_is_always(table: &TableDef, column: usize) -> bool {
    table.columns[column].identity == Some(Identity::Always) || table.columns[column].generated
}

/// Does an `INSERT` take the value that it gives for a column? Not if its sequence's is wanted in any case.
fn takes_value(table: &TableDef, column: usize, overriding: Option<Overriding>) -> Result<bool> {
    let definition = &table.columns[column];
    if definition.generated {
        let name = &definition.name;
        let message = format!("cannot insert a non-DEFAULT value into column \"{name}\"");
        return Err(Error::statement(sqlstate::GENERATED_ALWAYS, message)
            .detail(format!("Column \"{name}\" is a generated column.")));
    }
    match (definition.identity, overriding) {
        (Some(_), Some(Overriding::User)) => Ok(false),
        (Some(Identity::Always), None) => {
            let name = &definition.name;
            let message = format!("cannot insert a non-DEFAULT value into column \"{name}\"");
            Err(Error::statement(sqlstate::GENERATED_ALWAYS, message)
                .detail(format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS."))
                .hint("Use OVERRIDING SYSTEM VALUE to override."))
        }
        _ => Ok(true),
    }
}

fn only_default(table: &TableDef, column: usize) -> Error {
    let name = &table.columns[column].name;
    let message = format!("column \"{name}\" can only be updated to DEFAULT");
    let error = Error::statement(sqlstate::GENERATED_ALWAYS, message);
    error.detail(match table.columns[column].generated {
        true => format!("Column \"{name}\" is a generated column."),
        false => format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS."),
    })
}
