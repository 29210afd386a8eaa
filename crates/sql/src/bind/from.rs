//! `FROM`: tables, subqueries, functions, joins.
//!
//! Rules
//! 1. A subquery sees the items before it only with `LATERAL`; a function always does.
//! 2. A common table's name hides a table's.

use super::Binder;
use super::expr::Clause;
use super::scope::{Item, Namespace, Scope, ScopeColumn};
use super::tree::{Call, Expr, ExprKind, From, Join, Relation, RelationId, Source};
use crate::catalog::definition::{RelationKind, TableDef};
use crate::catalog::privilege::SELECT;
use crate::parser::ast::{self, Alias, JoinCondition, JoinKind, Name, Operator, TableRef};
use crate::types::cast::Context;
use crate::types::op::Op;
use crate::types::{Oid, Type};
use base::{Error, Result, sqlstate};
use std::sync::Arc;

/// The type of a column of what a function gives, which may be that of the elements of its argument.
fn element_if(oid: Oid, call: &Expr) -> Oid {
    let argument = match &call.kind {
        ExprKind::Call(call) if oid == Oid::ANYELEMENT => call.arguments.first(),
        _ => None,
    };
    argument.and_then(|argument| crate::types::table::element_of(argument.ty.oid)).unwrap_or(oid)
}

impl Binder<'_> {
    /// Binds the items of a `FROM`.
    pub(super) fn from(
        &mut self,
        items: &[TableRef<'_>],
        parent: Option<&Scope<'_>>,
    ) -> Result<(Vec<From>, Namespace)> {
        let mut namespace = Namespace::default();
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            let (from, offers) = self.one_item(item, &namespace, parent)?;
            namespace.append(offers)?;
            bound.push(from);
        }
        Ok((bound, namespace))
    }

    /// Binds an item of `FROM`; `before` is what stands left of it.
    fn one_item(
        &mut self,
        item: &TableRef<'_>,
        before: &Namespace,
        parent: Option<&Scope<'_>>,
    ) -> Result<(From, Namespace)> {
        match item {
            TableRef::Table { path, alias, .. } => self.table(path, alias.as_ref()),
            TableRef::Subquery { query, lateral, alias, at } => {
                let around = Scope { namespace: before, parent };
                let grouping = self.grouping.take();
                self.is_read = true;
                let query = self.query(query, if *lateral { Some(&around) } else { parent }, true);
                self.grouping = grouping;
                self.is_read = false;
                let query = query?;
                let Some(alias) = alias else {
                    return Err(Error::statement(sqlstate::SYNTAX_ERROR, "subquery in FROM must have an alias")
                        .hint("For example, FROM (SELECT ...) [AS] foo.")
                        .at(self.position(*at)));
                };
                let relation = query.output;
                let columns = &self.bound.relations[relation as usize].columns;
                if !alias.columns.is_empty() && super::fields::has_fields(columns.iter().map(|known| known.0.as_str()))
                {
                    return Err(self.unsupported("a row as a value", *at));
                }
                self.rename(relation, alias)?;
                self.bound.relations[relation as usize].source = Source::Query(Box::new(query));
                Ok((From::Relation(relation), self.offers(relation, None)))
            }
            TableRef::Function { call, ordinality, alias } => {
                let around = Scope { namespace: before, parent };
                self.function_item(call, *ordinality, alias.as_ref(), &around)
            }
            TableRef::Functions { calls, ordinality, alias } => {
                let around = Scope { namespace: before, parent };
                self.rows_from(calls, *ordinality, alias.as_ref(), &around)
            }
            TableRef::Join(join) => self.join(join, before, parent),
        }
    }

    /// A relation's own names, for the namespace.
    pub(super) fn offers(&self, relation: RelationId, schema: Option<String>) -> Namespace {
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
        let item = Item {
            name: found.name.clone(),
            schema,
            columns: columns.clone(),
            relation: Some(relation),
            is_table: matches!(found.source, Source::Table(_)),
            nullable: false,
        };
        Namespace { columns, items: vec![item] }
    }

    /// Gives a relation the names of an alias.
    pub(super) fn rename(&mut self, relation: RelationId, alias: &Alias<'_>) -> Result<()> {
        let found = &mut self.bound.relations[relation as usize];
        found.name = alias.name.text.to_owned();
        let visible = found.columns.iter().filter(|(name, _)| !name.is_empty()).count();
        if alias.columns.len() > visible {
            let message = format!(
                "table \"{}\" has {visible} columns available but {} columns specified",
                alias.name.text,
                alias.columns.len()
            );
            return Err(Error::statement(sqlstate::INVALID_COLUMN_REFERENCE, message).at(self.position(alias.name.at)));
        }
        let names = found.columns.iter_mut().filter(|(name, _)| !name.is_empty());
        for ((name, _), new) in names.zip(alias.columns) {
            *name = new.text.to_owned();
        }
        Ok(())
    }

    fn table(&mut self, path: &[Name<'_>], alias: Option<&Alias<'_>>) -> Result<(From, Namespace)> {
        if let [name] = path
            && let Some(relation) = self.common_table(name)?
        {
            if let Some(alias) = alias {
                self.rename(relation, alias)?;
            }
            return Ok((From::Relation(relation), self.offers(relation, None)));
        }
        if let Some(relation) = self.sequence_relation(path)? {
            self.record_relation(path, alias, relation);
            if let Some(alias) = alias {
                self.rename(relation, alias)?;
            }
            return Ok((From::Relation(relation), self.offers(relation, None)));
        }
        if let Some(relation) = self.view_relation(path)? {
            self.record_relation(path, alias, relation);
            let mut schema = None;
            match alias {
                Some(alias) => self.rename(relation, alias)?,
                None => {
                    let view = self.views.iter().find(|known| known.0 == relation).map(|known| known.1.schema);
                    schema = view.and_then(|view| self.catalog.schema_name(view));
                }
            }
            return Ok((From::Relation(relation), self.offers(relation, schema)));
        }
        let relation = self.table_relation(path)?;
        self.record_relation(path, alias, relation);
        self.needs(relation, SELECT);
        let mut schema = None;
        match alias {
            Some(alias) => self.rename(relation, alias)?,
            None => {
                let Source::Table(table) = &self.bound.relations[relation as usize].source else {
                    return Err(self.unsupported("this relation", path[0].at));
                };
                schema = self.catalog.schema_name(table.schema);
            }
        }
        Ok((From::Relation(relation), self.offers(relation, schema)))
    }

    /// A sequence as a relation: a query of its counter, which lies on no row. None if it is another relation.
    fn sequence_relation(&mut self, path: &[Name<'_>]) -> Result<Option<RelationId>> {
        let Ok(table) = self.catalog.table(path) else { return Ok(None) };
        if table.kind != RelationKind::Sequence {
            return Ok(None);
        }
        self.note_table(&table, path);
        let part = |part: u32| format!("pg_catalog.gearbox_sequence_state({}, {part})", table.oid.0);
        let text = format!("select {} last_value, {} log_cnt, {} <> 0 is_called", part(0), part(1), part(2));
        let text = self.bump.alloc_str(&text);
        let ast::Statement::Query(query) = crate::parser::parse(text, 0, text.len(), self.bump)? else {
            return Ok(None);
        };
        let query = self.apart(text, |binder| binder.query(query, None, true))?;
        let relation = query.output;
        let found = &mut self.bound.relations[relation as usize];
        found.name = table.name.clone();
        found.source = Source::Query(Box::new(query));
        self.views.push((relation, table));
        Ok(Some(relation))
    }

    /// The statement uses a table, by that name.
    pub(super) fn note_table(&mut self, table: &Arc<TableDef>, path: &[Name<'_>]) {
        if !self.bound.tables.iter().any(|known| known.oid == table.oid) {
            self.bound.tables.push(table.clone());
        }
        // What a view names may be looked into by whoever reads the view.
        let named = match path.len() {
            1 => &mut self.bound.searched,
            _ if self.within.is_empty() => &mut self.bound.qualified,
            _ => return,
        };
        if !named.contains(&table.oid) {
            named.push(table.oid);
        }
    }

    /// A new relation for a table.
    pub(super) fn table_relation(&mut self, path: &[Name<'_>]) -> Result<RelationId> {
        let at = path.first().map_or(0, |name| name.at);
        let table = self.catalog.table(path).map_err(|error| error.at(self.position(at)))?;
        self.note_table(&table, path);
        let columns = table
            .columns
            .iter()
            .map(|column| (if column.dropped { String::new() } else { column.name.clone() }, column.ty))
            .collect();
        let (name, oid) = (table.name.clone(), table.oid);
        let relation = self.relation(Relation { name, columns, source: Source::Table(table) }, at)?;
        let at = self.new_access(oid);
        self.begin_access(relation, at);
        Ok(relation)
    }

    /// Numbers a relation. Errors: `54001` for a statement with too many.
    pub(super) fn relation(&mut self, relation: Relation, at: u32) -> Result<RelationId> {
        const RELATIONS_MAX: usize = 4096;
        if self.bound.relations.len() >= RELATIONS_MAX {
            return Err(Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "the statement has too many relations")
                .detail(format!("It may have {RELATIONS_MAX}, subqueries included."))
                .at(self.position(at)));
        }
        self.bound.relations.push(relation);
        Ok(self.bound.relations.len() as RelationId - 1)
    }

    pub(super) fn function_item(
        &mut self,
        call: &ast::Expr<'_>,
        ordinality: bool,
        alias: Option<&Alias<'_>>,
        scope: &Scope<'_>,
    ) -> Result<(From, Namespace)> {
        let grouping = self.grouping.take();
        let bound = match call.kind {
            ast::ExprKind::Call(inner) => self.any_call(inner, scope, Clause::From, call.at),
            _ => self.expr(call, scope, Clause::From).map(|expr| (expr, false)),
        };
        self.grouping = grouping;
        let (bound, set) = bound?;
        let bound = self.resolve_unknown(bound, call.at)?;
        let own = super::name::column_name(call);
        let name = alias.map_or(own, |alias| alias.name.text.to_owned());
        let named = match &bound.kind {
            ExprKind::Call(call) if set => crate::types::function::columns(call.op),
            _ => &[],
        };
        let mut columns: Vec<(String, Type)> =
            named.iter().map(|(name, oid)| ((*name).to_owned(), Type::plain(element_if(*oid, &bound)))).collect();
        if let ExprKind::Call(call) = &bound.kind
            && call.op == Op::Routine
        {
            columns = super::routine::columns(self, call);
        }
        if columns.is_empty() {
            columns.push((name.clone(), bound.ty));
        }
        if ordinality {
            columns.push(("ordinality".to_owned(), Type::plain(Oid::INT8)));
        }
        let source = Source::Function { call: bound, set, ordinality };
        let relation = self.relation(Relation { name, columns, source }, call.at)?;
        if let Some(alias) = alias {
            self.rename(relation, alias)?;
        }
        Ok((From::Relation(relation), self.offers(relation, None)))
    }

    fn join(
        &mut self,
        join: &ast::Join<'_>,
        before: &Namespace,
        parent: Option<&Scope<'_>>,
    ) -> Result<(From, Namespace)> {
        let places = self.places.len();
        if matches!(join.kind, JoinKind::Right | JoinKind::Full) {
            self.places.push("an outer join");
        }
        let (left, mut left_offers) = self.one_item(&join.left, before, parent)?;
        self.places.truncate(places);
        if matches!(join.kind, JoinKind::Left | JoinKind::Full) {
            self.places.push("an outer join");
        }
        let (right, right_offers) = if looks_left(&join.right) {
            let mut visible = before.clone();
            visible.append(left_offers.clone())?;
            self.one_item(&join.right, &visible, parent)?
        } else {
            self.one_item(&join.right, &Namespace::default(), parent)?
        };
        self.places.truncate(places);
        // A row that is not there is null as a whole.
        let (first, second) = match join.kind {
            JoinKind::Left => (false, true),
            JoinKind::Right => (true, false),
            JoinKind::Full => (true, true),
            _ => (false, false),
        };
        let mut right_offers = right_offers;
        left_offers.items.iter_mut().for_each(|item| item.nullable |= first);
        right_offers.items.iter_mut().for_each(|item| item.nullable |= second);
        let using: Vec<Name<'_>> = match join.condition {
            JoinCondition::Using(names) => names.to_vec(),
            JoinCondition::Natural => {
                if self.record.is_some() {
                    return Err(Error::unsupported("a view's query may not have a NATURAL JOIN")
                        .hint("Name the columns: JOIN ... USING (...).")
                        .at(self.position(join.at)));
                }
                let common = |name: &str| right_offers.columns.iter().any(|column| column.name == name);
                let names = left_offers.columns.iter().filter(|column| common(&column.name));
                let names: Vec<String> = names.map(|column| column.name.clone()).collect();
                let names = names.iter().map(|name| Name { text: self.bump.alloc_str(name), at: join.at });
                names.collect()
            }
            _ => Vec::new(),
        };
        let mut condition = Vec::new();
        let mut merged = Vec::with_capacity(using.len());
        for name in &using {
            let (first, test) = self.merge(name, &left_offers, &right_offers, join)?;
            condition.push(test);
            merged.push(ScopeColumn { name: name.text.to_owned(), expr: first });
        }
        let is_merged = |column: &ScopeColumn| using.iter().any(|name| name.text == column.name);
        left_offers.columns.retain(|column| !is_merged(column));
        right_offers.columns.retain(|column| !is_merged(column));
        merged.append(&mut left_offers.columns);
        left_offers.columns = merged;
        left_offers.append(right_offers).map_err(|error| error.at(self.position(join.at)))?;
        if let JoinCondition::On(on) = join.condition {
            let scope = Scope { namespace: &left_offers, parent };
            let bound = self.expr(on, &scope, Clause::JoinOn)?;
            let bound = self.condition(bound, "JOIN/ON", on.at)?;
            super::query::conjuncts(bound, &mut condition);
        }
        if let Some(alias) = &join.alias {
            left_offers = self.alias_join(left_offers, alias)?;
        }
        let from = From::Join(Box::new(Join { kind: join.kind, left, right, condition }));
        Ok((from, left_offers))
    }

    /// The column that `USING` makes of two, and the condition that they are equal.
    fn merge(
        &mut self,
        name: &Name<'_>,
        left: &Namespace,
        right: &Namespace,
        join: &ast::Join<'_>,
    ) -> Result<(Expr, Expr)> {
        let find = |binder: &Self, namespace: &Namespace, side: &str| {
            let mut found = namespace.columns.iter().filter(|column| column.name == name.text);
            match (found.next(), found.next()) {
                (Some(column), None) => Ok(column.expr.clone()),
                (None, _) => {
                    let message =
                        format!("column \"{}\" specified in USING clause does not exist in {side} table", name.text);
                    Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message).at(binder.position(name.at)))
                }
                _ => {
                    let message =
                        format!("common column name \"{}\" appears more than once in {side} table", name.text);
                    Err(Error::statement(sqlstate::AMBIGUOUS_COLUMN, message).at(binder.position(name.at)))
                }
            }
        };
        let first = find(self, left, "left")?;
        let second = find(self, right, "right")?;
        self.record_fixed(&first);
        self.record_fixed(&second);
        self.note_read(&first);
        self.note_read(&second);
        let operator = Operator { schema: None, name: "=", at: name.at };
        let test = self.operator(&operator, Some(first.clone()), second.clone())?;
        let (both, ty) = self.unify(vec![(first, name.at), (second, name.at)], "JOIN/USING")?;
        let mut both = both.into_iter();
        let merged = match (join.kind, both.next(), both.next()) {
            (JoinKind::Inner | JoinKind::Left, Some(first), _) => first,
            (JoinKind::Right, _, Some(second)) => second,
            (_, first, second) => Expr { kind: ExprKind::Coalesce(first.into_iter().chain(second).collect()), ty },
        };
        Ok((merged, test))
    }

    /// A join with an alias hides the names of what it joins.
    fn alias_join(&mut self, offers: Namespace, alias: &Alias<'_>) -> Result<Namespace> {
        if alias.columns.len() > offers.columns.len() {
            let message = format!(
                "table \"{}\" has {} columns available but {} columns specified",
                alias.name.text,
                offers.columns.len(),
                alias.columns.len()
            );
            return Err(Error::statement(sqlstate::INVALID_COLUMN_REFERENCE, message).at(self.position(alias.name.at)));
        }
        let mut columns = offers.columns;
        for (column, name) in columns.iter_mut().zip(alias.columns) {
            column.name = name.text.to_owned();
        }
        let item = Item {
            name: alias.name.text.to_owned(),
            schema: None,
            columns: columns.clone(),
            relation: None,
            is_table: false,
            nullable: false,
        };
        Ok(Namespace { columns, items: vec![item] })
    }

    /// A call of an operation that gives a set, with its arguments.
    pub fn set_call(expr: &Expr) -> Option<&Call> {
        match &expr.kind {
            ExprKind::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The common table of that name, as a relation of its own; none if there is none.
    fn common_table(&mut self, name: &Name<'_>) -> Result<Option<RelationId>> {
        let Some(index) = self.commons.iter().rposition(|common| common.name == name.text) else {
            return Ok(None);
        };
        if let Some(source) = self.reference_within(index, name)? {
            let known = &self.commons[index];
            let relation = Relation { name: known.name.clone(), columns: known.columns.clone(), source };
            return self.relation(relation, name.at).map(Some);
        }
        let common = self.commons[index].number;
        let (relation_columns, common_name) = {
            let known = &self.commons[index];
            (known.columns.clone(), known.name.clone())
        };
        self.has_rows(common, name)?;
        let source = Source::Common(common);
        self.bound.commons[usize::from(common)].references += 1;
        if self.bound.commons[usize::from(common)].dependent {
            self.depended.push(None);
        }
        self.relation(Relation { name: common_name, columns: relation_columns, source }, name.at).map(Some)
    }

    /// `x` as a `bigint`, for `LIMIT` and `OFFSET`.
    pub(super) fn count_of(&mut self, expr: &ast::Expr<'_>, scope: &Scope<'_>, clause: Clause) -> Result<Expr> {
        let word = if clause == Clause::Limit { "LIMIT" } else { "OFFSET" };
        let bound = self.expr(expr, scope, clause)?;
        if bound
            .any(&mut |part| matches!(&part.kind, ExprKind::Column(column) if self.is_local(column.relation, scope)))
        {
            let message = format!("argument of {word} must not contain variables");
            return Err(Error::statement(sqlstate::INVALID_COLUMN_REFERENCE, message).at(self.position(expr.at)));
        }
        match self.try_coerce(bound, Type::plain(Oid::INT8), Context::Assignment, expr.at)? {
            Ok(expr) => Ok(expr),
            Err(expr_of_other_type) => {
                let ty = crate::types::typmod::format_type(Type::plain(expr_of_other_type.ty.oid));
                let message = format!("argument of {word} must be type bigint, not type {ty}");
                Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message).at(self.position(expr.at)))
            }
        }
    }

    fn is_local(&self, relation: RelationId, scope: &Scope<'_>) -> bool {
        scope.namespace.items.iter().any(|item| item.relation == Some(relation))
    }
}

/// Can an item refer to what stands left of it?
fn looks_left(item: &TableRef<'_>) -> bool {
    match item {
        TableRef::Table { .. } => false,
        TableRef::Subquery { lateral, .. } => *lateral,
        TableRef::Function { .. } | TableRef::Functions { .. } => true,
        TableRef::Join(join) => looks_left(&join.left) || looks_left(&join.right),
    }
}
