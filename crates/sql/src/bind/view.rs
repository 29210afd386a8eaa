//! Views: the query in place of the name, and what a new view's query refers to.
//!
//! ```text
//!   CREATE VIEW   bind the query, noting places of names and what they mean -> the text between them, and numbers ([`ViewDef`])
//!   FROM v        the text with the names of now -> parse -> bind, seeing nothing of the statement around it -> a subquery
//! ```
//!
//! Rules
//! 1. A view's query sees no common table, variable, parameter or grouping of the statement that reads the view.
//! 2. The statement depends on the view and on all that it reads: their definitions' versions are in the plan.
//! 3. What recurses over a statement goes through its views: the heights of views that stand in one another are bounded together
//!    (`54001`).
//! 4. Notes are taken where the text says the name that was looked up: a tree that the binder itself has made leaves none.
//! 5. A view that is a security barrier skips no rows, and says so with an `OFFSET`: nothing above it is computed for rows that it hides.

use super::scope::{Item, Scope, ScopeColumn};
use super::tree::{Expr, ExprKind, RelationId, Source};
use super::{Binder, Setting, Unbound};
use crate::catalog::definition::TableDef;
use crate::catalog::privilege::SELECT;
use crate::catalog::schema::{BOOTSTRAP_ROLE, FIRST_USER_OID};
use crate::catalog::view::{Piece, ViewDef};
use crate::lexer::{Lexer, TokenKind};
use crate::parser::ast::{self, Alias, Name, Query};
use crate::plan::blob::Constant;
use crate::types::{Arena, Oid, Type, user};
use base::settings::quoted_identifier;
use base::{Error, Result, sqlstate};
use bumpalo::Bump;
use std::collections::{BTreeMap, BTreeSet};

/// The most levels of expressions and queries in views that stand in one another.
const HEIGHT_MAX: u32 = 256;

/// What a query refers to.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// What is to stand in place of the text from one byte to another.
    edits: BTreeMap<u32, (u32, Vec<Piece>)>,
    /// Columns that are used without a piece.
    fixed: BTreeSet<(Oid, u16)>,
}

/// A query that was bound for a view.
pub struct Recorded {
    /// The query, in pieces.
    pub pieces: Vec<Piece>,
    /// Columns that must keep their names.
    pub fixed: Vec<(Oid, u16)>,
    /// Names and types of its results.
    pub columns: Vec<(String, Type)>,
}

/// Binds the query that stands between two bytes of the text, for a view.
pub fn record(
    query: &Query<'_>,
    range: (usize, usize),
    setting: &Setting<'_>,
    arena: &Arena,
    bump: &Bump,
) -> Result<Recorded> {
    let mut binder = Binder::new(setting, arena, bump);
    binder.record = Some(Record::default());
    let bound = binder.query(query, None, true);
    if binder.bound.commons.iter().any(|common| common.modification.is_some()) {
        return Err(Error::unsupported("views must not contain data-modifying statements in WITH"));
    }
    let Record { edits, fixed } = binder.record.take().unwrap_or_default();
    let (_, query) = match binder.finish(bound) {
        Ok(found) => found,
        Err(Unbound::Error(error)) => return Err(error),
        Err(Unbound::NeedsLiterals) => return Err(Error::unsupported("a literal of this kind here")),
    };
    let text = |from: usize, to: usize| setting.text.get(from..to).unwrap_or("");
    let (mut pieces, mut at) = (Vec::new(), range.0);
    for (start, (end, made)) in edits {
        if (start as usize) < at {
            continue;
        }
        push_text(&mut pieces, text(at, start as usize));
        for piece in made {
            match piece {
                Piece::Text(text) => push_text(&mut pieces, &text),
                other => pieces.push(other),
            }
        }
        at = end as usize;
    }
    push_text(&mut pieces, text(at, range.1));
    let columns = query.targets[..query.visible].iter().map(|target| (target.name.clone(), target.expr.ty)).collect();
    Ok(Recorded { pieces, fixed: fixed.into_iter().collect(), columns })
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Text(last)) => last.push_str(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

impl Binder<'_> {
    // ---- the query in place of the name

    /// A user's view as a relation: its query. None if it is another relation.
    pub(super) fn view_relation(&mut self, path: &[Name<'_>]) -> Result<Option<RelationId>> {
        let Ok(table) = self.catalog.table(path) else { return Ok(None) };
        let Some(view) = &table.view else { return Ok(None) };
        self.note_table(&table, path);
        let access = self.new_access(table.oid);
        let mut query = self.in_view(&table, view, |binder, query| binder.query(query, None, true))?;
        if query.offset.is_none()
            && table.options.iter().any(|option| option.0 == "security_barrier" && option.1 == "true")
        {
            // Rule 5.
            query.offset = Some(Expr::constant(Constant::Int(0), Type::plain(Oid::INT8)));
        }
        let relation = query.output;
        self.begin_access(relation, access);
        self.needs(relation, SELECT);
        if query.visible != table.columns.len() {
            return Err(changed(&table));
        }
        let found = &mut self.bound.relations[relation as usize];
        found.name = table.name.clone();
        for (known, column) in found.columns.iter_mut().zip(&table.columns) {
            if known.1.oid != column.ty.oid {
                return Err(changed(&table));
            }
            *known = (column.name.clone(), column.ty);
        }
        found.source = Source::Query(Box::new(query));
        self.views.push((relation, table));
        Ok(Some(relation))
    }

    /// Does something with a view's query, which sees nothing of the statement.
    pub(super) fn in_view<T>(
        &mut self,
        table: &TableDef,
        view: &ViewDef,
        work: impl FnOnce(&mut Self, &Query<'_>) -> Result<T>,
    ) -> Result<T> {
        let text = &*self.bump.alloc_str(&view.text(self.catalog, true));
        let ast::Statement::Query(query) = crate::parser::parse(text, 0, text.len(), self.bump)? else {
            return Err(changed(table));
        };
        if self.within.contains(&table.oid) {
            let message = format!("infinite recursion detected in rules for relation \"{}\"", table.name);
            return Err(Error::statement(sqlstate::INVALID_OBJECT_DEFINITION, message));
        }
        if self.height + query.height > HEIGHT_MAX {
            let message = format!("the views below \"{}\" stand too deep in one another", table.name);
            return Err(Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, message)
                .detail(format!("Expressions and queries of views can be nested {HEIGHT_MAX} levels deep.")));
        }
        self.height += query.height;
        self.within.push(table.oid);
        let is_invokers = table.options.iter().any(|(name, value)| name == "security_invoker" && value == "true");
        let acting = if is_invokers { self.acting } else { table.owner };
        let acting = std::mem::replace(&mut self.acting, acting);
        // Whoever made the view could look into the schemas that it names.
        let role = self.catalog.path.role.replace(BOOTSTRAP_ROLE);
        let done = self.apart(text, |binder| work(binder, query));
        self.catalog.path.role.set(role);
        self.acting = acting;
        self.height -= query.height;
        self.within.pop();
        done.map_err(without_place)
    }

    /// Binds something that stands in another text, and sees nothing of the statement.
    pub(super) fn apart<T>(&mut self, text: &str, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let text = &*self.bump.alloc_str(text);
        let (own_text, own_slots) = (self.text, self.slots);
        let variables = std::mem::take(&mut self.variables);
        let (record, grouping) = (self.record.take(), self.grouping.take());
        let (commons, around) = (std::mem::take(&mut self.commons), std::mem::take(&mut self.around));
        let new_parameters = std::mem::replace(&mut self.new_parameters, false);
        (self.text, self.slots) = (text, &[]);
        let done = work(self);
        (self.text, self.slots, self.variables) = (own_text, own_slots, variables);
        (self.record, self.grouping) = (record, grouping);
        (self.commons, self.around) = (commons, around);
        self.new_parameters = new_parameters;
        done
    }

    // ---- what a query refers to

    /// The bytes of a name, if the text says it there.
    fn name_span(&self, name: &Name<'_>) -> Option<(u32, u32)> {
        let mut lexer = Lexer::starting_at(self.text, name.at as usize);
        let token = lexer.next_token().ok()?;
        let written = self.text.get(token.start as usize..token.end as usize)?;
        let is_it = match token.kind {
            TokenKind::Word => written.to_lowercase() == name.text,
            TokenKind::QuotedName => written.get(1..written.len() - 1)?.replace("\"\"", "\"") == name.text,
            _ => false,
        };
        (is_it && token.start == name.at).then_some((token.start, token.end))
    }

    fn edit(&mut self, (start, end): (u32, u32), pieces: Vec<Piece>) {
        if let Some(record) = &mut self.record {
            record.edits.insert(start, (end, pieces));
        }
    }

    /// Where a column comes from: a user's relation, and the column there.
    fn origin_of(&self, expr: &Expr) -> Option<(Oid, u16, &str)> {
        let ExprKind::Column(column) = expr.kind else { return None };
        let relation = self.bound.relations.get(column.relation as usize)?;
        let table = match &relation.source {
            Source::Table(table) => table,
            _ => self.views.iter().find(|known| known.0 == column.relation).map(|known| &known.1)?,
        };
        let definition = table.columns.get(usize::from(column.column))?;
        (table.oid.0 >= FIRST_USER_OID && table.sequence.is_none()).then_some((
            table.oid,
            column.column,
            definition.name.as_str(),
        ))
    }

    /// A column that is used without a piece for its name.
    pub(super) fn record_fixed(&mut self, expr: &Expr) {
        if self.record.is_none() {
            return;
        }
        let mut found = Vec::new();
        expr.any(&mut |part| {
            found.extend(self.origin_of(part).map(|(oid, column, _)| (oid, column)));
            false
        });
        if let Some(record) = &mut self.record {
            record.fixed.extend(found);
        }
    }

    /// A relation was named in `FROM`.
    pub(super) fn record_relation(&mut self, path: &[Name<'_>], alias: Option<&Alias<'_>>, relation: RelationId) {
        if self.record.is_none() {
            return;
        }
        let (Some(first), Some(last)) = (path.first(), path.last()) else { return };
        let (Some((start, _)), Some((_, end))) = (self.name_span(first), self.name_span(last)) else { return };
        let found = &self.bound.relations[relation as usize];
        let table = match &found.source {
            Source::Table(table) => table.clone(),
            _ => match self.views.iter().find(|known| known.0 == relation) {
                Some((_, table)) => table.clone(),
                None => return,
            },
        };
        // Names of columns that are given by place.
        let given = alias.map_or(0, |alias| alias.columns.len());
        let fixed = table.visible().take(given).map(|(column, _)| (table.oid, column as u16));
        if let Some(record) = &mut self.record {
            record.fixed.extend(fixed.filter(|(oid, _)| oid.0 >= FIRST_USER_OID));
        }
        let piece = match table.oid.0 >= FIRST_USER_OID {
            true => {
                let own = if alias.is_none() { Some(table.name.clone()) } else { None };
                Piece::Relation { oid: table.oid, alias: own }
            }
            false => {
                let schema = self.catalog.schema_name(table.schema).unwrap_or_default();
                Piece::Text(format!("{}.{}", quoted_identifier(&schema), quoted_identifier(&table.name)))
            }
        };
        self.edit((start, end), vec![piece]);
    }

    /// A function of a user was named.
    pub(super) fn record_routine(&mut self, path: &[Name<'_>], routine: Oid) {
        if self.record.is_none() {
            return;
        }
        let (Some(first), Some(last)) = (path.first(), path.last()) else { return };
        if let (Some((start, _)), Some((_, end))) = (self.name_span(first), self.name_span(last)) {
            self.edit((start, end), vec![Piece::Routine(routine)]);
        }
    }

    /// A type of a user was named: the view keeps its number.
    pub(super) fn record_type(&mut self, path: &[Name<'_>], oid: Oid) {
        if self.record.is_none() {
            return;
        }
        let (Some(first), Some(last), Some(base)) = (path.first(), path.last(), user::base_of(oid)) else { return };
        if let (Some((start, _)), Some((_, end))) = (self.name_span(first), self.name_span(last)) {
            // The name of an array stands for the array, brackets behind the name for themselves.
            let named = self.catalog.find_type(path.len().checked_sub(2).map(|at| path[at].text), last.text);
            let oid = named.ok().flatten().filter(|named| user::is_user(*named)).unwrap_or(base);
            self.edit((start, end), vec![Piece::Text(user::mark(oid))]);
        }
    }

    /// A column was named.
    pub(super) fn record_column(&mut self, path: &[Name<'_>], scope: &Scope<'_>, expr: &Expr) {
        if self.named.is_some()
            && let Some((start, end)) = path.last().and_then(|last| self.name_span(last))
            && let Some(named) = &mut self.named
        {
            let path = path.first().map_or(start, |first| first.at);
            named.push((super::index::Place { path, start, end }, expr.clone()));
        }
        if self.record.is_none() {
            return;
        }
        let (Some(first), Some(last)) = (path.first(), path.last()) else { return };
        let (Some((start, _)), Some((place, end))) = (self.name_span(first), self.name_span(last)) else { return };
        let mut pieces = Vec::new();
        let qualifier = self.qualifier(scope, last.text, expr);
        let start = match &qualifier {
            Some(item) => {
                pieces.push(Piece::Text(format!("{}.", quoted_identifier(item))));
                start
            }
            None => place,
        };
        if qualifier.is_none() && path.len() == 1 {
            // A bare name that no relation's name can make clear.
            self.record_fixed(expr);
            return;
        }
        pieces.push(self.column_piece(last.text, expr));
        self.edit((start, end), pieces);
    }

    /// The relation's name that makes a column's name clear.
    fn qualifier(&self, scope: &Scope<'_>, name: &str, expr: &Expr) -> Option<String> {
        let mut here = Some(*scope);
        while let Some(level) = here {
            for item in &level.namespace.items {
                let has = |column: &ScopeColumn| column.name == name && column.expr == *expr;
                if item.name.is_empty() || !item.columns.iter().any(has) {
                    continue;
                }
                let path = [Name { text: &item.name, at: 0 }];
                let same = level.namespace.items.iter().filter(|other| other.name == item.name).count();
                let is_found = scope.item(&path).is_some_and(|found| std::ptr::eq(found, item));
                if is_found && same == 1 && item.columns.iter().filter(|column| column.name == name).count() == 1 {
                    return Some(item.name.clone());
                }
            }
            here = level.parent.copied();
        }
        None
    }

    fn column_piece(&self, name: &str, expr: &Expr) -> Piece {
        match self.origin_of(expr) {
            Some((oid, column, known)) if known == name => Piece::Column { oid, column, label: None },
            _ => Piece::Text(quoted_identifier(name)),
        }
    }

    /// A star stood for these columns; those of `item` alone, if it is one's.
    pub(super) fn record_star(
        &mut self,
        start: u32,
        end: u32,
        scope: &Scope<'_>,
        columns: &[ScopeColumn],
        item: Option<&str>,
    ) {
        if self.record.is_none() {
            return;
        }
        let mut pieces = Vec::new();
        for column in columns.iter().filter(|column| column.name != super::query::SET) {
            if !pieces.is_empty() {
                pieces.push(Piece::Text(", ".to_owned()));
            }
            let qualifier = match item {
                Some(item) => Some(item.to_owned()),
                None => self.qualifier(scope, &column.name, &column.expr),
            };
            match &qualifier {
                Some(item) => pieces.push(Piece::Text(format!("{}.", quoted_identifier(item)))),
                None => {
                    self.record_fixed(&column.expr);
                    pieces.push(Piece::Text(quoted_identifier(&column.name)));
                    continue;
                }
            }
            pieces.push(match self.column_piece(&column.name, &column.expr) {
                Piece::Column { oid, column: number, .. } => {
                    Piece::Column { oid, column: number, label: Some(column.name.clone()) }
                }
                other => other,
            });
        }
        self.edit((start, end), pieces);
    }

    /// The star of one relation.
    pub(super) fn record_table_star(&mut self, path: &[Name<'_>], scope: &Scope<'_>, item: &Item) {
        if self.record.is_none() {
            return;
        }
        let (Some(first), Some(last)) = (path.first(), path.last()) else { return };
        let (Some((start, _)), Some((_, after))) = (self.name_span(first), self.name_span(last)) else { return };
        let Some(star) = self.text.get(after as usize..).and_then(|rest| rest.find('*')) else { return };
        self.record_star(start, after + star as u32 + 1, scope, &item.columns, Some(&item.name));
    }

    /// A result has its name from its expression, which ends there.
    pub(super) fn record_label(&mut self, expr: &ast::Expr<'_>, name: &str, end: u32) {
        let Some(record) = &mut self.record else { return };
        if let ast::ExprKind::Column([first, ..]) = expr.kind {
            let known = record.edits.get_mut(&first.at).and_then(|(_, pieces)| pieces.last_mut());
            if let Some(Piece::Column { label, .. }) = known {
                *label = Some(name.to_owned());
            }
            return;
        }
        if name != super::name::UNNAMED {
            record.edits.insert(end, (end, vec![Piece::Text(format!(" AS {}", quoted_identifier(name)))]));
        }
    }
}

#[cold]
fn changed(table: &TableDef) -> Error {
    let message = format!("the query of view \"{}\" does not give its columns any more", table.name);
    Error::statement(sqlstate::INTERNAL_ERROR, message)
}

/// An error in a view's text has no place in the user's.
fn without_place(error: Error) -> Error {
    if error.position().is_none() {
        return error;
    }
    let plain = Error::new(error.kind(), error.sqlstate(), error.message().to_owned());
    let plain = error.detail_text().map(str::to_owned).into_iter().fold(plain, Error::detail);
    error.hint_text().map(str::to_owned).into_iter().fold(plain, Error::hint)
}
