//! Queries: `SELECT`, `VALUES`, operations on sets, and what goes around them.
//!
//! Rules
//! 1. `ORDER BY` looks among the results first, `GROUP BY` among the columns of `FROM` first: SQL's two rules.
//! 2. What is sorted by and not shown is a target behind the shown ones.

use super::Binder;
use super::expr::Clause;
use super::fields::PLACE;
use super::grouping::{Collected, Rewriting};
use super::scope::{Namespace, Scope};
use super::tree::{
    Body, Expr, ExprKind, From, Grouping, Query, Relation, RelationId, RowLock, Select, SortKey, Source, Target,
};
use crate::catalog::privilege::UPDATE;
use crate::parser::ast::{self, Distinct, SelectItem, SetOperation, SortItem};
use crate::plan::blob::Constant;
use crate::types::cast::Context;
use crate::types::{Oid, Type};
use base::{Error, Result, sqlstate};

/// The name of a function's rows in the place of a call in the select list: one that nothing else has.
pub(super) const SET: &str = "?set?";
/// The most columns a result has.
const TARGETS_MAX: usize = 1664;

impl Query {
    /// A query without anything, to stand in while another is worked on.
    pub(crate) fn empty() -> Query {
        Query {
            body: Body::Values(Vec::new()),
            output: 0,
            targets: Vec::new(),
            visible: 0,
            distinct: None,
            order_by: Vec::new(),
            limit: None,
            ties: false,
            offset: None,
            locking: Vec::new(),
        }
    }
}

impl Binder<'_> {
    /// Binds a query. Without `resolve`, strings whose type nobody has said stay `unknown`.
    pub(super) fn query(&mut self, query: &ast::Query<'_>, parent: Option<&Scope<'_>>, resolve: bool) -> Result<Query> {
        let commons = self.commons.len();
        self.with(query.with, query.recursive, parent)?;
        let bound = self.query_body(query, parent, resolve);
        self.commons.truncate(commons);
        bound
    }

    fn query_body(&mut self, query: &ast::Query<'_>, parent: Option<&Scope<'_>>, resolve: bool) -> Result<Query> {
        match query.body {
            ast::Body::Select(select) => self.select(query, select, parent, resolve),
            ast::Body::Nested(inner) => {
                let bound = self.query(inner, parent, resolve)?;
                if query.order_by.is_empty()
                    && query.limit.is_none()
                    && query.offset.is_none()
                    && query.locking.is_empty()
                {
                    return Ok(bound);
                }
                let relation = bound.output;
                let targets = self.forwarded(relation, bound.visible);
                self.bound.relations[relation as usize].source = Source::Query(Box::new(bound));
                let select = Select { from: vec![From::Relation(relation)], ..Select::default() };
                self.finish_outer(query, Body::Select(select), targets, parent)
            }
            ast::Body::Values(rows) => {
                let (rows, targets) = self.values(rows, parent, resolve)?;
                self.finish_outer(query, Body::Values(rows), targets, parent)
            }
            ast::Body::Operation { operation, all, operands } => {
                let (body, targets) = self.operation(operation, all, operands, query.at, parent)?;
                self.finish_outer(query, body, targets, parent)
            }
        }
    }

    /// Targets that are the columns of a relation.
    fn forwarded(&self, relation: RelationId, count: usize) -> Vec<Target> {
        let columns = self.bound.relations[relation as usize].columns.iter().take(count).enumerate();
        columns
            .map(|(index, (name, ty))| Target { name: name.clone(), expr: Expr::column(relation, index as u16, *ty) })
            .collect()
    }

    /// Makes the relation of a query's results.
    fn output(&mut self, targets: &[Target], visible: usize, at: u32) -> Result<RelationId> {
        if visible > TARGETS_MAX {
            let message = format!("target lists can have at most {TARGETS_MAX} entries");
            return Err(Error::statement(sqlstate::TOO_MANY_COLUMNS, message).at(self.position(at)));
        }
        let columns = targets.iter().map(|target| (target.name.clone(), target.expr.ty)).collect();
        self.relation(Relation { name: String::new(), columns, source: Source::Computed }, at)
    }

    /// A query around a body that is no `SELECT`: only the results can be named in `ORDER BY`.
    pub(super) fn finish_outer(
        &mut self,
        query: &ast::Query<'_>,
        body: Body,
        targets: Vec<Target>,
        parent: Option<&Scope<'_>>,
    ) -> Result<Query> {
        let visible = targets.len();
        let mut order_by = Vec::with_capacity(query.order_by.len());
        for item in query.order_by {
            let target = match self.output_reference(&item.expr, &targets, visible, "ORDER BY")? {
                Some(target) => target,
                None => {
                    return Err(Error::unsupported("invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                        .detail("Only result column names can be used, not expressions or functions.")
                        .hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.")
                        .at(self.position(item.expr.at)));
                }
            };
            self.check_order(targets[target].expr.ty.oid, item.expr.at)?;
            order_by.push(sort_key(item, target));
        }
        let scope = Scope { namespace: &Namespace::default(), parent };
        let (limit, offset) = self.limits(query, &scope)?;
        if let Some(locking) = query.locking.first() {
            return Err(self.unsupported("FOR UPDATE of a query that is no simple SELECT", locking.at));
        }
        let output = self.output(&targets, visible, query.at)?;
        Ok(Query {
            body,
            output,
            targets,
            visible,
            distinct: None,
            order_by,
            limit,
            ties: query.ties,
            offset,
            locking: Vec::new(),
        })
    }

    fn limits(&mut self, query: &ast::Query<'_>, scope: &Scope<'_>) -> Result<(Option<Expr>, Option<Expr>)> {
        if query.ties && query.order_by.is_empty() {
            let message = "WITH TIES cannot be specified without ORDER BY clause";
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
        }
        if query.ties && query.limit.is_some_and(|limit| matches!(limit.kind, ast::ExprKind::Null)) {
            let message = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
            return Err(Error::statement(sqlstate::INVALID_ROW_COUNT_IN_LIMIT, message));
        }
        if query.ties && query.locking.iter().any(|clause| clause.wait == ast::LockWait::Skip) {
            let message = "SKIP LOCKED and WITH TIES options cannot be used together";
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
        }
        let limit = match query.limit {
            Some(limit) if !matches!(limit.kind, ast::ExprKind::Null) => {
                Some(self.count_of(limit, scope, Clause::Limit)?)
            }
            _ => None,
        };
        let offset = match query.offset {
            Some(offset) if !matches!(offset.kind, ast::ExprKind::Null) => {
                Some(self.count_of(offset, scope, Clause::Offset)?)
            }
            _ => None,
        };
        Ok((limit, offset))
    }

    // ---- VALUES and operations on sets

    fn values(
        &mut self,
        rows: &[&[ast::Expr<'_>]],
        parent: Option<&Scope<'_>>,
        resolve: bool,
    ) -> Result<(Vec<Vec<Expr>>, Vec<Target>)> {
        let namespace = Namespace::default();
        let scope = Scope { namespace: &namespace, parent };
        let width = rows.first().map_or(0, |row| row.len());
        let mut columns: Vec<Vec<(Expr, u32)>> = (0..width).map(|_| Vec::with_capacity(rows.len())).collect();
        for row in rows {
            if row.len() != width {
                let at = row.first().map_or(0, |expr| expr.at);
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, "VALUES lists must all be the same length")
                    .at(self.position(at)));
            }
            for (column, expr) in columns.iter_mut().zip(*row) {
                column.push((self.expr(expr, &scope, Clause::Values)?, expr.at));
            }
        }
        let mut bound: Vec<Vec<Expr>> = rows.iter().map(|_| Vec::with_capacity(width)).collect();
        let mut targets = Vec::with_capacity(width);
        for (index, column) in columns.into_iter().enumerate() {
            let unknown = column.iter().all(|(expr, _)| expr.ty.oid == Oid::UNKNOWN);
            let (exprs, ty) = match unknown && !resolve {
                true => (column.into_iter().map(|(expr, _)| expr).collect(), Type::plain(Oid::UNKNOWN)),
                false => self.unify(column, "VALUES")?,
            };
            for (row, expr) in bound.iter_mut().zip(exprs) {
                row.push(expr);
            }
            let name = format!("column{}", index + 1);
            targets.push(Target { name, expr: Expr::constant(Constant::Null, ty) });
        }
        Ok((bound, targets))
    }

    fn operation(
        &mut self,
        operation: SetOperation,
        all: bool,
        operands: &[ast::Body<'_>],
        at: u32,
        parent: Option<&Scope<'_>>,
    ) -> Result<(Body, Vec<Target>)> {
        let mut queries = Vec::with_capacity(operands.len());
        for (index, operand) in operands.iter().enumerate() {
            let places = self.places.len();
            match operation {
                SetOperation::Intersect if all => self.places.push("INTERSECT"),
                SetOperation::Except if all || index > 0 => self.places.push("EXCEPT"),
                _ => {}
            }
            let query = self.query(&operand_query(*operand, at), parent, false);
            self.places.truncate(places);
            queries.push(query?);
        }
        self.combine(operation, all, queries, at, None)
    }

    /// Makes one query's body of operands. `recursion` is the number and name of the one that the second operand reads.
    pub(super) fn combine(
        &mut self,
        operation: SetOperation,
        all: bool,
        mut queries: Vec<Query>,
        at: u32,
        recursion: Option<(u16, &str)>,
    ) -> Result<(Body, Vec<Target>)> {
        let word = match operation {
            SetOperation::Union => "UNION",
            SetOperation::Intersect => "INTERSECT",
            SetOperation::Except => "EXCEPT",
        };
        let width = queries.first().map_or(0, |query| query.visible);
        if queries.iter().any(|query| query.visible != width) {
            let message = format!("each {word} query must have the same number of columns");
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message).at(self.position(at)));
        }
        let mut targets = Vec::with_capacity(width);
        let mut types = Vec::with_capacity(width);
        for column in 0..width {
            let oids: Vec<Oid> = queries.iter().map(|query| query.targets[column].expr.ty.oid).collect();
            let oid = crate::types::resolve::common_type(&oids, word).map_err(|error| error.at(self.position(at)))?;
            let modifiers: Vec<i32> = queries.iter().map(|query| query.targets[column].expr.ty.typmod).collect();
            let same = oids.iter().all(|&other| other == oid) && modifiers.windows(2).all(|pair| pair[0] == pair[1]);
            let ty = Type { oid, typmod: if same { modifiers[0] } else { -1 } };
            if let Some((_, name)) = recursion
                && let Some(first) = queries.first().map(|query| query.targets[column].expr.ty)
                && first != ty
            {
                return Err(self.other_type_in_recursion(name, column, first, ty));
            }
            types.push(ty);
        }
        for query in &mut queries {
            self.coerce_targets(query, &types, Context::Implicit, at)?;
        }
        if !(all && operation == SetOperation::Union) {
            types.iter().try_for_each(|ty| self.check_equality(ty.oid, at))?;
        }
        let columns: Vec<(String, Type)> = match queries.first() {
            Some(first) => first.targets.iter().zip(&types).map(|(target, ty)| (target.name.clone(), *ty)).collect(),
            None => Vec::new(),
        };
        let relation = self.relation(Relation { name: String::new(), columns, source: Source::Computed }, at)?;
        targets.extend(self.forwarded(relation, width));
        let recursion = recursion.map(|(number, _)| number);
        Ok((Body::Operation { operation, all, operands: queries, relation, recursion }, targets))
    }

    /// A query of the rows of another one, with all of its columns or one of them.
    pub(super) fn around_query(&mut self, query: Query, column: Option<usize>, at: u32) -> Result<Query> {
        let relation = query.output;
        let mut targets = self.forwarded(relation, query.visible);
        if let Some(column) = column {
            targets = targets.into_iter().skip(column).take(1).collect();
        }
        self.bound.relations[relation as usize].source = Source::Query(Box::new(query));
        let visible = targets.len();
        let output = self.output(&targets, visible, at)?;
        let select = Select { from: vec![From::Relation(relation)], ..Select::default() };
        Ok(Query { body: Body::Select(select), output, targets, visible, ..Query::empty() })
    }

    /// Casts a query's results to types.
    pub(super) fn coerce_targets(
        &mut self,
        query: &mut Query,
        types: &[Type],
        context: Context,
        at: u32,
    ) -> Result<()> {
        // What is sorted by, or told apart by, is the value before it is cast.
        let simple = query.distinct.is_none() && query.order_by.is_empty();
        let known = |target: &Target, ty: &Type| target.expr.ty != *ty && target.expr.ty.oid != Oid::UNKNOWN;
        let is_values = matches!(query.body, Body::Values(_));
        if !simple && !is_values && query.targets.iter().zip(types).any(|(target, ty)| known(target, ty)) {
            for (index, ty) in types.iter().enumerate().filter(|(_, ty)| ty.oid != Oid::UNKNOWN) {
                // Nobody has said the type of these: they can be of any.
                if query.targets[index].expr.ty.oid == Oid::UNKNOWN {
                    let expr = query.targets[index].expr.clone();
                    query.targets[index].expr = self.coerce(expr, *ty, context, at)?;
                    self.bound.relations[query.output as usize].columns[index].1 = *ty;
                }
            }
            *query = self.around_query(std::mem::replace(query, Query::empty()), None, at)?;
        }
        for (index, ty) in types.iter().enumerate() {
            let target = &query.targets[index];
            if target.expr.ty == *ty {
                continue;
            }
            if let Body::Values(rows) = &mut query.body {
                let mut rows = std::mem::take(rows);
                for row in &mut rows {
                    let expr = std::mem::replace(&mut row[index], Expr::constant(Constant::Null, *ty));
                    row[index] = self.coerce(expr, *ty, context, at)?;
                }
                query.body = Body::Values(rows);
                query.targets[index].expr = Expr::constant(Constant::Null, *ty);
            } else {
                let expr = query.targets[index].expr.clone();
                query.targets[index].expr = self.coerce(expr, *ty, context, at)?;
            }
            self.bound.relations[query.output as usize].columns[index].1 = *ty;
        }
        Ok(())
    }

    // ---- SELECT

    pub(super) fn select(
        &mut self,
        query: &ast::Query<'_>,
        select: &ast::Select<'_>,
        parent: Option<&Scope<'_>>,
        resolve: bool,
    ) -> Result<Query> {
        let is_read = std::mem::take(&mut self.is_read);
        if let Some(query) = self.select_fields(query, select, parent, resolve, is_read)? {
            return Ok(query);
        }
        if let Some(query) = self.select_sets(query, select, parent, resolve)? {
            return Ok(query);
        }
        if let [lone] = *self.set_items(select) {
            return self.select_from_set(query, select, lone, parent, resolve);
        }
        let (from, namespace) = self.from(select.from, parent)?;
        let scope = Scope { namespace: &namespace, parent };
        let mut filter = Vec::new();
        if let Some(condition) = select.filter {
            let outer = self.grouping.take();
            let bound = self.expr(condition, &scope, Clause::Where);
            self.grouping = outer;
            let bound = bound?;
            conjuncts(self.condition(bound, "WHERE", condition.at)?, &mut filter);
        }
        // The grouping's relation is made in any case: aggregates refer to it before it is known whether there is one.
        let relation =
            self.relation(Relation { name: String::new(), columns: Vec::new(), source: Source::Computed }, select.at)?;
        let collected =
            Collected { relation, aggregates: Vec::new(), tests: Vec::new(), named: Vec::new(), windows: Vec::new() };
        let outer = self.grouping.replace(collected);
        let bound = self.select_rest(query, select, from, filter, &scope, resolve, relation);
        self.grouping = outer;
        bound
    }

    /// `SELECT f(a) FROM t` with a function that returns a set means `SELECT f FROM t, LATERAL f(a)`.
    fn select_from_set(
        &mut self,
        query: &ast::Query<'_>,
        select: &ast::Select<'_>,
        (index, function): (usize, &str),
        parent: Option<&Scope<'_>>,
        resolve: bool,
    ) -> Result<Query> {
        let ast::SelectItem::Expr(call, label, end) = select.items[index] else {
            return Err(self.unsupported("this item", select.at));
        };
        let name = |text| ast::Name { text, at: call.at };
        let path = [name(SET), name(SET)];
        let mut items = select.items.to_vec();
        let column = ast::Expr { kind: ast::ExprKind::Column(&path), ..call };
        items[index] = ast::SelectItem::Expr(column, Some(label.unwrap_or(name(function))), end);
        let mut from = select.from.to_vec();
        let columns = [name(SET)];
        let alias = Some(ast::Alias { name: name(SET), columns: &columns });
        from.push(ast::TableRef::Function { call, ordinality: false, alias });
        let bound = self.select(query, &ast::Select { items: &items, from: &from, ..*select }, parent, resolve)?;
        // Windows see the rows before the function has made more of them.
        if matches!(&bound.body, Body::Select(select) if !select.windows.is_empty()) {
            return Err(self.unsupported("a set-returning function beside window functions", call.at));
        }
        Ok(bound)
    }

    #[allow(clippy::too_many_arguments)]
    fn select_rest(
        &mut self,
        query: &ast::Query<'_>,
        select: &ast::Select<'_>,
        from: Vec<From>,
        filter: Vec<Expr>,
        scope: &Scope<'_>,
        resolve: bool,
        relation: RelationId,
    ) -> Result<Query> {
        self.named_windows(select.windows, scope)?;
        let mut targets = self.targets(select.items, scope, Clause::Select)?;
        // Values that are told apart have a type.
        if resolve || matches!(select.distinct, Distinct::All) {
            for target in &mut targets {
                let expr = std::mem::replace(&mut target.expr, Expr::constant(Constant::Null, Type::plain(Oid::TEXT)));
                target.expr = self.resolve_unknown(expr, select.at)?;
            }
        }
        let visible = targets.len();
        let (keys, sets) = self.group_keys(select, &targets, visible, scope)?;
        let mut having = Vec::new();
        if let Some(condition) = select.having {
            let bound = self.expr(condition, scope, Clause::Having)?;
            conjuncts(self.condition(bound, "HAVING", condition.at)?, &mut having);
        }
        let mut order_by = Vec::with_capacity(query.order_by.len());
        for item in query.order_by {
            let target = self.order_target(&item.expr, &mut targets, visible, scope)?;
            if target >= visible && matches!(select.distinct, Distinct::All) {
                if !self.slots.is_empty() {
                    return Err(self.ask_for_literals());
                }
                let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                return Err(
                    Error::statement(sqlstate::INVALID_COLUMN_REFERENCE, message).at(self.position(item.expr.at))
                );
            }
            self.check_order(targets[target].expr.ty.oid, item.expr.at)?;
            order_by.push(sort_key(item, target));
        }
        let distinct = self.distinct(select, &mut targets, visible, &order_by, scope)?;
        for target in distinct.iter().flatten() {
            self.check_equality(targets[usize::from(*target)].expr.ty.oid, select.at)?;
        }
        let (collected, tests, mut windows) = match self.grouping.take() {
            Some(collected) => (collected.aggregates, collected.tests, collected.windows),
            None => (Vec::new(), Vec::new(), Vec::new()),
        };
        let grouped = !select.group_by.is_empty();
        let mut grouping = None;
        if grouped || !collected.is_empty() || !tests.is_empty() || select.having.is_some() {
            let below = self.bound.relations_of(&from);
            self.refuse_aggregates_in_recursion(&below, !collected.is_empty(), select.at)?;
            let tests = self.tested_keys(&tests, &keys, select.at)?;
            let mut rewriting = Rewriting { relation, keys, sets, below, inside: 0 };
            for target in &mut targets {
                self.rewrite(&mut target.expr, &mut rewriting)?;
            }
            for expr in &mut having {
                self.rewrite(expr, &mut rewriting)?;
            }
            self.rewrite_windows(&mut windows, &mut rewriting)?;
            let (keys, sets) = (rewriting.keys, rewriting.sets);
            let (count, aggregates) = (keys.len() as u16, collected.len() as u16);
            for window in &mut windows {
                window.exprs_mut(&mut |expr| self.number_aggregates(expr, relation, count, aggregates));
            }
            for expr in targets.iter_mut().map(|target| &mut target.expr).chain(&mut having) {
                self.number_aggregates(expr, relation, count, aggregates);
            }
            let columns = keys.iter().map(|key| (String::new(), key.ty));
            let columns = columns.chain(collected.iter().map(|call| (String::new(), call.ty)));
            let columns = columns.chain(tests.iter().map(|_| (String::new(), Type::plain(Oid::INT4)))).collect();
            self.bound.relations[relation as usize].columns = columns;
            grouping = Some(Grouping { relation, keys, aggregates: collected, sets, tests, having, grouped });
        }
        if !windows.is_empty() {
            let sorted = order_by.iter().map(|key| targets[usize::from(key.target)].expr.clone());
            self.finish_windows(&mut windows, sorted.collect());
        }
        let (limit, offset) = self.limits(query, scope)?;
        let locking = self.locking(query, select, grouping.is_some(), !windows.is_empty(), scope)?;
        let output = self.output(&targets, visible, select.at)?;
        let body = Body::Select(Select { from, filter, grouping, windows });
        Ok(Query { body, output, targets, visible, distinct, order_by, limit, ties: query.ties, offset, locking })
    }

    /// Binds what `SELECT` or `RETURNING` lists.
    pub(super) fn targets(
        &mut self,
        items: &[SelectItem<'_>],
        scope: &Scope<'_>,
        clause: Clause,
    ) -> Result<Vec<Target>> {
        let mut targets = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::Star(at) => {
                    if scope.namespace.items.is_empty() {
                        return Err(Error::statement(
                            sqlstate::SYNTAX_ERROR,
                            "SELECT * with no tables specified is not valid",
                        )
                        .at(self.position(*at)));
                    }
                    self.check_star(&scope.namespace.columns, *at)?;
                    self.record_star(*at, *at + 1, scope, &scope.namespace.columns, None);
                    let columns =
                        scope.namespace.columns.iter().filter(|column| ![SET, PLACE].contains(&column.name.as_str()));
                    targets.extend(columns.map(|column| {
                        self.note_column(&column.expr, *at);
                        Target { name: column.name.clone(), expr: column.expr.clone() }
                    }));
                }
                SelectItem::TableStar(path) => {
                    let at = path.first().map_or(0, |name| name.at);
                    let Some(item) = scope.item(path) else {
                        if let Some(fields) = self.whole(path, scope, at)? {
                            targets.extend(fields.into_iter().map(|(name, expr, _)| Target { name, expr }));
                            continue;
                        }
                        let name = path.last().map_or("", |name| name.text);
                        let message = format!("missing FROM-clause entry for table \"{name}\"");
                        return Err(Error::statement(sqlstate::UNDEFINED_TABLE, message).at(self.position(at)));
                    };
                    self.check_star(&item.columns, at)?;
                    self.record_table_star(path, scope, item);
                    targets.extend(item.columns.iter().map(|column| {
                        self.note_column(&column.expr, at);
                        Target { name: column.name.clone(), expr: column.expr.clone() }
                    }));
                }
                SelectItem::Expr(expr, label, end) => {
                    let name = self.label(expr, *label);
                    let bound = self.expr(expr, scope, clause)?;
                    if label.is_none() {
                        self.record_label(expr, &name, *end);
                    }
                    targets.push(Target { name, expr: bound });
                }
            }
        }
        Ok(targets)
    }

    /// The result that an ordinal or a bare name means, if it means one.
    fn output_reference(
        &self,
        expr: &ast::Expr<'_>,
        targets: &[Target],
        visible: usize,
        clause: &str,
    ) -> Result<Option<usize>> {
        match expr.kind {
            ast::ExprKind::Number(text) => match text.parse::<usize>() {
                Ok(number) if (1..=visible).contains(&number) => Ok(Some(number - 1)),
                Ok(number) => {
                    let message = format!("{clause} position {number} is not in select list");
                    Err(Error::statement(sqlstate::INVALID_COLUMN_REFERENCE, message).at(self.position(expr.at)))
                }
                Err(_) => {
                    let message = format!("non-integer constant in {clause}");
                    Err(Error::statement(sqlstate::SYNTAX_ERROR, message).at(self.position(expr.at)))
                }
            },
            ast::ExprKind::String(_) => {
                let message = format!("non-integer constant in {clause}");
                Err(Error::statement(sqlstate::SYNTAX_ERROR, message).at(self.position(expr.at)))
            }
            ast::ExprKind::Column([name]) => {
                let mut found = None;
                for (index, target) in targets[..visible].iter().enumerate() {
                    if target.name != name.text {
                        continue;
                    }
                    match found {
                        Some(other) if !self.bound.same(&targets[other as usize].expr, &target.expr) => {
                            let message = format!("{clause} \"{}\" is ambiguous", name.text);
                            return Err(
                                Error::statement(sqlstate::AMBIGUOUS_COLUMN, message).at(self.position(expr.at))
                            );
                        }
                        Some(_) => {}
                        None => found = Some(index as u32),
                    }
                }
                Ok(found.map(|index| index as usize))
            }
            _ => Ok(None),
        }
    }

    fn order_target(
        &mut self,
        expr: &ast::Expr<'_>,
        targets: &mut Vec<Target>,
        visible: usize,
        scope: &Scope<'_>,
    ) -> Result<usize> {
        if let Some(target) = self.output_reference(expr, targets, visible, "ORDER BY")? {
            return Ok(target);
        }
        let bound = self.expr(expr, scope, Clause::OrderBy)?;
        let bound = self.resolve_unknown(bound, expr.at)?;
        Ok(self.target_of(bound, targets))
    }

    pub(super) fn group_key(
        &mut self,
        expr: &ast::Expr<'_>,
        targets: &[Target],
        visible: usize,
        scope: &Scope<'_>,
    ) -> Result<Expr> {
        let by_column = match expr.kind {
            ast::ExprKind::Column([name]) => scope.namespace.columns.iter().any(|column| column.name == name.text),
            _ => false,
        };
        let key = match by_column {
            true => None,
            false => self.output_reference(expr, targets, visible, "GROUP BY")?,
        };
        let key = match key {
            Some(target) => targets[target].expr.clone(),
            None => {
                let bound = self.expr(expr, scope, Clause::GroupBy)?;
                self.resolve_unknown(bound, expr.at)?
            }
        };
        if self.has_window(&key) {
            let message = "window functions are not allowed in GROUP BY";
            return Err(Error::statement(sqlstate::WINDOWING_ERROR, message).at(self.position(expr.at)));
        }
        self.check_equality(key.ty.oid, expr.at)?;
        let relation = self.grouping.as_ref().map(|grouping| grouping.relation);
        let mut columns = std::collections::BTreeSet::new();
        self.bound.columns_in(&key, &mut columns);
        if columns.iter().any(|column| Some(column.relation) == relation) {
            let message = "aggregate functions are not allowed in GROUP BY";
            return Err(Error::statement(sqlstate::GROUPING_ERROR, message).at(self.position(expr.at)));
        }
        Ok(key)
    }

    /// The target that is this expression; added behind the others if there is none.
    fn target_of(&self, expr: Expr, targets: &mut Vec<Target>) -> usize {
        if let Some(index) = targets.iter().position(|target| self.bound.same(&target.expr, &expr)) {
            return index;
        }
        targets.push(Target { name: String::new(), expr });
        targets.len() - 1
    }

    fn distinct(
        &mut self,
        select: &ast::Select<'_>,
        targets: &mut Vec<Target>,
        visible: usize,
        order_by: &[SortKey],
        scope: &Scope<'_>,
    ) -> Result<Option<Vec<u16>>> {
        let exprs = match select.distinct {
            Distinct::No => return Ok(None),
            Distinct::All => return Ok(Some((0..visible as u16).collect())),
            Distinct::On(exprs) => exprs,
        };
        let mut chosen: Vec<u16> = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let target = match self.output_reference(expr, targets, visible, "SELECT DISTINCT ON")? {
                Some(target) => target,
                None => {
                    let bound = self.expr(expr, scope, Clause::OrderBy)?;
                    let bound = self.resolve_unknown(bound, expr.at)?;
                    self.target_of(bound, targets)
                }
            };
            if !chosen.contains(&(target as u16)) {
                chosen.push(target as u16);
            }
        }
        // The keys that are sorted by first must be these, in any order.
        let leading = order_by.iter().take_while(|key| chosen.contains(&key.target)).count();
        if leading < order_by.len() && leading < chosen.len() {
            if !self.slots.is_empty() {
                return Err(self.ask_for_literals());
            }
            let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
            let at = exprs.first().map_or(0, |expr| expr.at);
            return Err(Error::statement(sqlstate::INVALID_COLUMN_REFERENCE, message).at(self.position(at)));
        }
        Ok(Some(chosen))
    }

    fn locking(
        &mut self,
        query: &ast::Query<'_>,
        select: &ast::Select<'_>,
        grouped: bool,
        windowed: bool,
        scope: &Scope<'_>,
    ) -> Result<Vec<RowLock>> {
        let mut locks = Vec::new();
        for clause in query.locking {
            let words = match clause.strength {
                ast::LockStrength::Update => "FOR UPDATE",
                ast::LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
                ast::LockStrength::Share => "FOR SHARE",
                ast::LockStrength::KeyShare => "FOR KEY SHARE",
            };
            let refused = match () {
                () if !matches!(select.distinct, Distinct::No) => Some("DISTINCT clause"),
                () if !select.group_by.is_empty() => Some("GROUP BY clause"),
                () if select.having.is_some() => Some("HAVING clause"),
                () if grouped => Some("aggregate functions"),
                () if windowed => Some("window functions"),
                () => None,
            };
            if let Some(refused) = refused {
                return Err(Error::unsupported(format!("{words} is not allowed with {refused}")));
            }
            let mut relations = Vec::new();
            for item in &scope.namespace.items {
                let named = clause.tables.iter().any(|name| name.text == item.name);
                if named || clause.tables.is_empty() {
                    relations.extend(item.relation);
                }
            }
            for name in clause.tables {
                if !scope.namespace.items.iter().any(|item| item.name == name.text && item.relation.is_some()) {
                    let message = format!("relation \"{}\" in {words} clause not found in FROM clause", name.text);
                    return Err(Error::statement(sqlstate::UNDEFINED_TABLE, message).at(self.position(name.at)));
                }
            }
            for relation in relations {
                if matches!(self.bound.relations[relation as usize].source, Source::Query(_)) {
                    self.lock_below(relation, clause)?;
                    continue;
                }
                let Source::Table(table) = &self.bound.relations[relation as usize].source else { continue };
                if !matches!(table.rows, crate::catalog::definition::Rows::Stored(_)) {
                    let message = format!("cannot lock rows in view \"{}\"", table.name);
                    return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).at(self.position(clause.at)));
                }
                self.needs(relation, UPDATE);
                locks.push(RowLock { relation, strength: clause.strength, wait: clause.wait, inherited: false });
            }
        }
        Ok(locks)
    }
}

impl Binder<'_> {
    /// Locks the rows that a subquery or a view gives, as far as they are those of tables.
    fn lock_below(&mut self, relation: RelationId, clause: &ast::Locking<'_>) -> Result<()> {
        let Source::Query(query) = &self.bound.relations[relation as usize].source else { return Ok(()) };
        let Body::Select(select) = &query.body else { return Ok(()) };
        if select.grouping.is_some() || !select.windows.is_empty() || query.distinct.is_some() {
            return Ok(());
        }
        let mut locks = Vec::new();
        let inner = self.bound.relations_of(&select.from);
        self.needs(relation, UPDATE);
        inner.iter().for_each(|inner| self.needs(*inner, UPDATE));
        for inner in inner {
            match &self.bound.relations[inner as usize].source {
                Source::Table(table) if matches!(table.rows, crate::catalog::definition::Rows::Stored(_)) => {
                    locks.push(RowLock {
                        relation: inner,
                        strength: clause.strength,
                        wait: clause.wait,
                        inherited: true,
                    });
                }
                Source::Query(_) => self.lock_below(inner, clause)?,
                _ => {}
            }
        }
        if let Source::Query(query) = &mut self.bound.relations[relation as usize].source {
            query.locking.extend(locks);
        }
        Ok(())
    }
}

fn sort_key(item: &SortItem<'_>, target: usize) -> SortKey {
    let nulls_first = item.nulls_first.unwrap_or(item.descending);
    SortKey { target: target as u16, descending: item.descending, nulls_first }
}

/// An operand as a query of its own.
pub(super) fn operand_query(body: ast::Body<'_>, at: u32) -> ast::Query<'_> {
    ast::Query {
        with: &[],
        recursive: false,
        body,
        order_by: &[],
        limit: None,
        ties: false,
        offset: None,
        locking: &[],
        at,
        height: 0,
    }
}

/// Takes a condition apart into those that must all be true.
pub(super) fn conjuncts(condition: Expr, into: &mut Vec<Expr>) {
    match condition.kind {
        ExprKind::And(items) => items.into_iter().for_each(|item| conjuncts(item, into)),
        _ if condition.is_true() => {}
        _ => into.push(condition),
    }
}
