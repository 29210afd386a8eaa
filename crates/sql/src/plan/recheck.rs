//! What is tested again where a row has changed before it was locked.
//!
//! PostgreSQL runs the plan once more for that, over one row of each table: the newest versions of those that are locked, and of the others
//! what was found. What comes of it follows from the statement's `FROM`:
//!
//! ```text
//!   (u JOIN v ON a) LEFT JOIN (t JOIN w ON b) ON c WHERE d        first: where b or c does not hold t and w are null
//!                                                                 then:  a and d must hold
//! ```
//!
//! Rules
//! 1. From the inside to the outside: a condition sees what was made null or computed again below it.
//! 2. A side that was null stays null, whatever the condition says now: no other row is looked for.
//! 3. Where rows are locked of a side that may be null, it is because some condition above demands that it is not, and PostgreSQL takes the
//!    join for one that gives less: nulls fail that condition. A full join keeps the side that has locked rows, or pairs if both have any;
//!    what it gives if neither has does not change.
//! 4. A subquery's row is one of those that were found. But one that only joins and filters is no query of its own in PostgreSQL, so that
//!    it is tested and computed again as far as it reads rows beside it (`LATERAL`): those that [`pull_up`](super::pull_up) has left, too.

use super::choose::Planner;
use super::tree::{Recheck, Retested};
use super::unnest::is_volatile;
use crate::bind::tree::{Body, Column, Expr, ExprKind, From, Query, RelationId, RowLock, Select, Source, TABLE_OID};
use crate::bind::walk::relations_in;
use crate::parser::ast::JoinKind;
use crate::types::{Oid, Type};
use std::collections::BTreeSet;

type Relations = BTreeSet<RelationId>;

impl Planner<'_> {
    /// What is tested again of the rows of a query.
    pub(super) fn recheck(&self, select: &Select, locking: &[RowLock]) -> Recheck {
        let mut around = Relations::new();
        select.from.iter().for_each(|item| relations_in(item, &mut around));
        let locked = locking.iter().map(|lock| lock.relation).collect();
        let mut walk = Walk { planner: self, locked, around, retested: Vec::new() };
        let mut conditions = select.filter.clone();
        select.from.iter().for_each(|item| walk.item(item, false, &mut conditions));
        Recheck { retested: walk.retested, conditions }
    }
}

/// On the way through a `FROM`.
struct Walk<'w, 'p> {
    planner: &'w Planner<'p>,
    locked: Relations,
    /// The relations that subqueries may read.
    around: Relations,
    retested: Vec<Retested>,
}

impl Walk<'_, '_> {
    /// Adds what must hold for an item to have a row; `nullable` says that it may have had none.
    fn item(&mut self, item: &From, nullable: bool, conditions: &mut Vec<Expr>) {
        let join = match item {
            From::Relation(relation) => return self.relation(*relation, nullable, conditions),
            From::Join(join) => join,
        };
        let (left, right) = (&join.left, &join.right);
        let locks = |side| !self.locked.is_disjoint(&relations(side));
        let sides = match (join.kind, locks(left), locks(right)) {
            (JoinKind::Inner, ..) | (JoinKind::Full, true, true) => None,
            (JoinKind::Left, ..) | (JoinKind::Full, true, false) => Some((left, right)),
            (JoinKind::Right, ..) | (JoinKind::Full, false, true) => Some((right, left)),
            (JoinKind::Full, false, false) => return,
        };
        let Some((kept, other)) = sides else {
            self.item(left, nullable, conditions);
            self.item(right, nullable, conditions);
            conditions.extend(join.condition.iter().cloned());
            return;
        };
        self.item(kept, nullable, conditions);
        let mut condition = Vec::new();
        self.item(other, true, &mut condition);
        condition.extend(join.condition.iter().cloned());
        self.retested.push(Retested { condition, relations: relations(other), results: Vec::new() });
    }

    /// Rule 4.
    fn relation(&mut self, relation: RelationId, nullable: bool, conditions: &mut Vec<Expr>) {
        let planner = self.planner;
        let Source::Query(query) = &planner.bound.relations[relation as usize].source else { return };
        let mut read = BTreeSet::new();
        planner.columns_of_from(&From::Relation(relation), &mut read);
        if !is_plain(query) || !read.iter().any(|column| self.around.contains(&column.relation)) {
            return;
        }
        let results: Vec<&Expr> = match &query.body {
            Body::Values(rows) => rows.iter().flatten().collect(),
            _ => query.targets.iter().map(|target| &target.expr).collect(),
        };
        if results.iter().any(|expr| is_volatile(expr)) {
            return;
        }
        let condition = match &query.body {
            Body::Select(select) => self.select(select, nullable),
            _ => Some(Vec::new()),
        };
        let Some(condition) = condition else { return };
        conditions.extend(condition.iter().cloned());
        let column = |index| Column { relation, column: index as u16 };
        let results = results.into_iter().enumerate().map(|(index, expr)| (column(index), expr.clone())).collect();
        self.retested.push(Retested { condition, relations: Relations::from([relation]), results });
    }

    /// What must hold for a subquery to have a row; none if it cannot be told whether it had one.
    fn select(&mut self, select: &Select, nullable: bool) -> Option<Vec<Expr>> {
        let mut condition = Vec::new();
        if nullable && !select.from.iter().all(|item| self.was_there(item, &mut condition)) {
            return None;
        }
        select.from.iter().for_each(|item| relations_in(item, &mut self.around));
        select.from.iter().for_each(|item| self.item(item, nullable, &mut condition));
        // What has become a join has given one row of those that it may give.
        let planner = self.planner;
        let is_joined = |part: &Expr| match part.kind {
            ExprKind::Subplan(number) => planner.unnested.contains(&number),
            _ => false,
        };
        let tested = select.filter.iter().filter(|expr| !expr.any(&mut |part| is_joined(part)));
        condition.extend(tested.cloned());
        Some(condition)
    }

    /// Adds conditions under which there was a row of an item; false if that cannot be told.
    fn was_there(&self, item: &From, conditions: &mut Vec<Expr>) -> bool {
        match item {
            From::Relation(relation) => {
                let is_table = matches!(self.planner.bound.relations[*relation as usize].source, Source::Table(_));
                if is_table {
                    let table = Expr::column(*relation, TABLE_OID, Type::plain(Oid::OID));
                    let (kind, ty) = (ExprKind::IsNull(Box::new(table), true), Type::plain(Oid::BOOL));
                    conditions.push(Expr { kind, ty });
                }
                is_table
            }
            From::Join(join) => match join.kind {
                JoinKind::Inner => self.was_there(&join.left, conditions) && self.was_there(&join.right, conditions),
                JoinKind::Left => self.was_there(&join.left, conditions),
                JoinKind::Right => self.was_there(&join.right, conditions),
                JoinKind::Full => false,
            },
        }
    }
}

/// Is it a query that PostgreSQL makes a part of the one around it?
fn is_plain(query: &Query) -> bool {
    let joins_and_filters = match &query.body {
        Body::Select(select) => select.grouping.is_none() && select.windows.is_empty(),
        Body::Values(rows) => rows.len() == 1,
        Body::Operation { .. } => false,
    };
    joins_and_filters
        && query.distinct.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        && query.locking.is_empty()
}

fn relations(item: &From) -> Relations {
    let mut relations = Relations::new();
    relations_in(item, &mut relations);
    relations
}
