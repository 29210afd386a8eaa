//! From the items of a `FROM` and the conditions on them to a tree of nodes.
//!
//! ```text
//!   items and conditions -> conditions of one item alone         tested where its rows are found
//!                           classes of columns that are equal    one equality for each join that brings two of a class together
//!                           all other conditions                 tested at the first join that has what they read
//!                        -> how many rows each item gives -> the cheapest order -> nodes
//! ```
//!
//! Rules
//! 1. A condition is tested once, as early as it can be. What follows from it may be tested before.
//! 2. If `a = b` and `b = c` then `a = c`: columns of one kind that must be equal form a *class*, and any of its equalities serves for a
//!    join. Two columns of one item are never in the same class by way of others, so that nothing is tested twice or never.
//! 3. A subquery that only filters ([`unnest`](super::unnest)) is an item whose conditions are all tested at its join.

use super::choose::{Planner, columns_in, filtered};
use super::cost::Guess;
use super::equijoin::keys_of;
use super::order::{self, Item, Joined, Joins, Method, Prices, Set, members};
use super::path::best_index;
use super::tree::{JoinType, Node};
use super::unnest::Rows as Unnested;
use crate::bind::tree::{Call, Column, Expr, ExprKind, From, RelationId, Source};
use crate::bind::walk::relations_in;
use crate::catalog::definition::{Rows, TableDef};
use crate::parser::ast::JoinKind;
use crate::types::function::Volatility;
use crate::types::op::{Comparison, Op};
use crate::types::{Kind, Oid, Type, table};
use base::{Error, Result, sqlstate};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Relations = BTreeSet<RelationId>;

/// What is joined.
struct Part {
    from: Origin,
    /// The relations that it brings.
    relations: Relations,
    /// Parts that must be there before.
    depends: Set,
    /// It reads their columns itself, beside its conditions.
    repeats: bool,
    join: JoinType,
    /// Conditions on it alone.
    mine: Vec<Expr>,
}

/// Where a part's rows come from.
enum Origin {
    /// One item, or several.
    Items(Vec<From>),
    /// It has been planned.
    Planned(Node),
    /// It has been used.
    Taken,
}

/// A condition on several parts.
struct Conjunct {
    expr: Expr,
    needs: Set,
    /// The share of pairs for which it holds.
    share: f64,
    /// The parts that its sides read, if it is an equality that rows can be hashed by.
    sides: Option<(Set, Set)>,
}

/// Columns that must be equal.
struct Class {
    op: Op,
    kind: Kind,
    /// Part, column, and how many values it has.
    members: Vec<(usize, Expr, f64)>,
}

/// What orders are compared by.
struct Known<'k> {
    guess: Guess<'k>,
    parts: &'k [Part],
    classes: &'k [Class],
    conjuncts: &'k [Conjunct],
    /// The share of rows that parts keep which only filter.
    filtering: Vec<f64>,
    /// The tables that can be looked up in.
    tables: Vec<Option<(RelationId, Arc<TableDef>)>>,
    /// The parts that a part's conditions read.
    neighbours: Vec<Set>,
    /// How many bytes of memory a row of a part takes.
    bytes: Vec<f64>,
    /// Those of tables that are read whole.
    whole: Vec<bool>,
    pending: &'k Relations,
    lookups: RefCell<BTreeMap<(Set, usize), Option<f64>>>,
}

impl Joins for Known<'_> {
    fn share(&self, set: Set) -> f64 {
        let mut share = 1.0;
        for class in self.classes {
            let within = class.members.iter().filter(|(part, ..)| set >> part & 1 == 1);
            // Of columns that are all equal the one with the fewest values decides; each other one leaves one of its values.
            let (mut least, mut product) = (f64::MAX, 1.0);
            for (.., values) in within {
                least = least.min(*values);
                product *= values;
            }
            if least < f64::MAX {
                share *= least / product;
            }
        }
        let filters: Set =
            members(set).filter(|part| self.parts[*part].join != JoinType::Inner).map(|part| 1 << part).sum();
        for conjunct in self.conjuncts {
            if conjunct.needs & !set == 0 && conjunct.needs & filters == 0 {
                share *= conjunct.share;
            }
        }
        members(filters).fold(share, |share, part| share * self.filtering[part])
    }

    fn connected(&self, left: Set, right: Set) -> bool {
        let among = |needs: Set| needs & left != 0 && needs & right != 0 && needs & !(left | right) == 0;
        self.classes.iter().any(|class| class.connects(left, right))
            || self.conjuncts.iter().any(|conjunct| among(conjunct.needs))
    }

    fn hashes(&self, left: Set, right: Set) -> bool {
        let within = |one: Set, other: Set| one & !left == 0 && other & !right == 0;
        let fits = |(one, other): (Set, Set)| within(one, other) || within(other, one);
        self.classes.iter().any(|class| class.connects(left, right))
            || self.conjuncts.iter().any(|conjunct| conjunct.sides.is_some_and(fits))
    }

    fn lookup(&self, left: Set, item: usize) -> Option<f64> {
        let (relation, table) = self.tables[item].as_ref()?;
        let left = left & self.neighbours[item];
        if left == 0 {
            return None;
        }
        if let Some(known) = self.lookups.borrow().get(&(left, item)) {
            return *known;
        }
        let cost = self.lookup_cost(left, item, *relation, table);
        self.lookups.borrow_mut().insert((left, item), cost);
        cost
    }

    fn bytes(&self, set: Set) -> f64 {
        // Of what only filters no column is read behind its join.
        let given = members(set).filter(|part| set.count_ones() == 1 || self.parts[*part].join == JoinType::Inner);
        given.map(|part| self.bytes[part]).sum()
    }

    fn ordering(&self, set: Set, rows: f64, other: Set) -> f64 {
        let sort = self.guess.sort_cost(rows, self.bytes(set));
        match self.ordered_by_index(set, other) {
            Some(cost) => cost.min(sort),
            None => sort,
        }
    }
}

impl Known<'_> {
    /// What it costs more to read a table by an index in the order in which it is merged with others; none if there is no such index.
    fn ordered_by_index(&self, set: Set, other: Set) -> Option<f64> {
        if set.count_ones() != 1 {
            return None;
        }
        let item = set.trailing_zeros() as usize;
        let (_, table) = self.tables[item].as_ref().filter(|_| self.whole[item])?;
        let mut equalities = self.classes.iter().filter(|class| class.connects(set, other));
        let (class, None) = (equalities.next()?, equalities.next()) else { return None };
        let (.., column, _) = class.members.iter().find(|(part, ..)| *part == item)?;
        let ExprKind::Column(column) = column.kind else { return None };
        let leads = table.indexes.iter().any(|index| {
            let columns = index.key_columns().filter(|_| index.usable && index.predicate.is_none());
            columns.is_some_and(|columns| columns.first() == Some(&column.column))
        });
        let tests = self.parts[item].mine.len();
        let all = || self.guess.lookup_cost(table, self.guess.table_rows(table));
        leads.then(|| all() - self.guess.scan_cost(table, tests))
    }

    fn lookup_cost(&self, left: Set, item: usize, relation: RelationId, table: &Arc<TableDef>) -> Option<f64> {
        let right: Set = 1 << item;
        let among = |needs: Set| needs & right != 0 && needs & !(left | right) == 0;
        let between: Vec<Expr> = self.classes.iter().filter_map(|class| class.equality(left, right)).collect();
        let usable: Vec<&Expr> = self.parts[item]
            .mine
            .iter()
            .chain(&between)
            .chain(self.conjuncts.iter().filter(|one| among(one.needs)).map(|one| &one.expr))
            .collect();
        let there: Relations = members(left).flat_map(|part| self.parts[part].relations.iter().copied()).collect();
        let pending: Relations = self.pending.difference(&there).copied().collect();
        let access = best_index(self.guess.bound, table, relation, &usable, &pending)?;
        let reads = |expr: &Expr| {
            expr.any(&mut |part| matches!(part.kind, ExprKind::Column(column) if there.contains(&column.relation)))
        };
        if !access.equal.iter().any(reads) {
            return None;
        }
        let found = self.guess.found((relation, table), &access, &usable);
        Some(self.guess.lookup_cost(table, found))
    }
}

impl Class {
    fn connects(&self, left: Set, right: Set) -> bool {
        let has = |set: Set| self.members.iter().any(|(part, ..)| set >> part & 1 == 1);
        has(left) && has(right)
    }

    /// An equality of a column of each side.
    fn equality(&self, left: Set, right: Set) -> Option<Expr> {
        let member = |set: Set| self.members.iter().find(|(part, ..)| set >> part & 1 == 1).map(|(_, expr, _)| expr);
        let (left, right) = (member(left)?, member(right)?);
        let call = Call {
            op: self.op,
            strict: true,
            volatility: Volatility::Immutable,
            arguments: vec![left.clone(), right.clone()],
            name: "=",
            operator: true,
        };
        Some(Expr { kind: ExprKind::Call(Box::new(call)), ty: Type::plain(Oid::BOOL) })
    }
}

impl Planner<'_> {
    /// Joins the items of a `FROM` under conditions that must all hold.
    pub(super) fn from(&mut self, from: Vec<From>, filter: Vec<Expr>, pending: &Relations) -> Result<Node> {
        let (mut items, mut conditions) = (Vec::new(), filter);
        for item in from {
            flatten(item, &mut items, &mut conditions);
        }
        if items.is_empty() {
            return Ok(Node::Once { filter: conditions });
        }
        let unnests = !self.unnested.is_empty();
        if items.len() == 1 && !unnests {
            return self.alone(items.remove(0), conditions, pending);
        }
        let mut parts: Vec<Part> = items.into_iter().map(|item| part(vec![item], JoinType::Inner)).collect();
        if unnests {
            conditions = self.take_unnested(conditions, &mut parts)?;
        }
        if let [Part { from: Origin::Items(items), .. }] = parts.as_mut_slice()
            && let Some(item) = items.pop()
        {
            return self.alone(item, conditions, pending);
        }
        if parts.len() > order::ITEMS_END {
            return Err(Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "the statement joins too many tables")
                .detail(format!("A query can join {} tables.", order::ITEMS_END)));
        }
        self.join_parts(parts, conditions, pending)
    }

    /// One item, whatever of its conditions it cannot test itself included.
    fn alone(&mut self, item: From, conditions: Vec<Expr>, pending: &Relations) -> Result<Node> {
        let mut relations = Relations::new();
        relations_in(&item, &mut relations);
        let pending: Relations = pending.union(&relations).copied().collect();
        self.factor(item, conditions, &pending)
    }

    /// Subqueries that become parts; answers the conditions that are left, with those of the new parts.
    fn take_unnested(&mut self, conditions: Vec<Expr>, parts: &mut Vec<Part>) -> Result<Vec<Expr>> {
        let mut left = Vec::with_capacity(conditions.len());
        for condition in conditions {
            let Some(found) = self.unnest(&condition) else {
                left.push(condition);
                continue;
            };
            left.extend(found.conditions);
            parts.push(match found.rows {
                Unnested::Items(items) => part(items, found.join),
                Unnested::Query(query) => {
                    let relations = Relations::from([query.output]);
                    let node = self.query(*query, &Relations::new())?;
                    let (from, mine) = (Origin::Planned(node), Vec::new());
                    Part { from, relations, depends: 0, repeats: false, join: found.join, mine }
                }
            });
        }
        Ok(left)
    }

    fn join_parts(&mut self, mut parts: Vec<Part>, conditions: Vec<Expr>, pending: &Relations) -> Result<Node> {
        let mut place: BTreeMap<RelationId, usize> = BTreeMap::new();
        for (number, part) in parts.iter().enumerate() {
            place.extend(part.relations.iter().map(|relation| (*relation, number)));
        }
        let pending: Relations = pending.iter().chain(place.keys()).copied().collect();
        for (number, part) in parts.iter_mut().enumerate() {
            let mut columns = BTreeSet::new();
            if let Origin::Items(items) = &part.from {
                items.iter().for_each(|item| self.columns_of_from(item, &mut columns));
            }
            part.depends = set_of(&columns, &place) & !(1 << number);
            part.repeats = part.depends != 0;
        }
        let (mut between, mut always) = (Vec::new(), Vec::new());
        for expr in implied(conditions) {
            let mut columns = BTreeSet::new();
            columns_in(&expr, &self.subplans, &mut columns);
            let needs = set_of(&columns, &place);
            match needs.count_ones() {
                0 => always.push(expr),
                1 => parts[needs.trailing_zeros() as usize].mine.push(expr),
                _ => between.push((expr, needs)),
            }
        }
        for (_, needs) in &between {
            // What only filters comes after all that its conditions read.
            for number in members(*needs) {
                if parts[number].join != JoinType::Inner {
                    parts[number].depends |= needs & !(1 << number);
                }
            }
        }
        let extra: Vec<(usize, Expr, f64)> = between
            .iter()
            .filter(|(_, needs)| members(*needs).all(|number| parts[number].join == JoinType::Inner))
            .flat_map(|(expr, needs)| members(*needs).map(move |number| (number, expr)))
            .filter_map(|(number, expr)| {
                let implied = implied_by_or(expr, &parts[number].relations)?;
                let share = self.guess().share(std::iter::once(&implied));
                (share < 0.9).then_some((number, implied, share))
            })
            .collect();
        // What is planned already has its conditions in it; parts that are not plain tables are planned now, to know their rows.
        for (number, implied, _) in &extra {
            parts[*number].mine.push(implied.clone());
        }
        // A subquery that is run for each row is better run for fewer of them.
        let mut costly = Vec::new();
        if parts.len() > 1 {
            for (number, part) in parts.iter_mut().enumerate().filter(|(_, part)| part.join == JoinType::Inner) {
                let mine = std::mem::take(&mut part.mine).into_iter();
                let (late, soon): (Vec<Expr>, Vec<Expr>) = mine.partition(|expr| self.is_costly(expr));
                part.mine = soon;
                costly.extend(late.into_iter().map(|expr| (number, expr)));
            }
        }
        let mut items = Vec::with_capacity(parts.len());
        for part in &mut parts {
            items.push(self.item(part, &pending)?);
        }
        let (classes, mut conjuncts) = self.classes(between, &parts, &items, &place);
        for conjunct in &mut conjuncts {
            for (_, _, share) in extra.iter().filter(|(number, implied, _)| {
                conjunct.needs >> number & 1 == 1
                    && implied_by_or(&conjunct.expr, &parts[*number].relations).as_ref() == Some(implied)
            }) {
                conjunct.share = (conjunct.share / share).min(1.0);
            }
        }
        let tree = {
            let known = self.known(&parts, &classes, &conjuncts, &items, &pending);
            order::order(&items, &known, Prices::of(self.planning))
        };
        let Some((tree, rows)) = tree else {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "the items of FROM depend on one another"));
        };
        let mut last = Vec::new();
        for (number, expr) in costly {
            match &mut parts[number].from {
                _ if rows < items[number].rows => last.push(expr),
                Origin::Planned(node) => {
                    let planned = std::mem::replace(node, Node::Nothing);
                    *node = filtered(planned, vec![expr]);
                }
                _ => parts[number].mine.push(expr),
            }
        }
        // Conditions that read no table are tested on the first one's rows.
        let mut first = &tree;
        while let Joined::Pair { left, .. } = first {
            first = left;
        }
        if let Joined::Item(number) = first {
            match &mut parts[*number].from {
                Origin::Planned(node) if !always.is_empty() => {
                    let planned = std::mem::replace(node, Node::Nothing);
                    *node = filtered(planned, always);
                }
                _ => parts[*number].mine.extend(always),
            }
        }
        let mut build = Build { parts, classes, conjuncts, pending };
        let (node, _) = self.build(&tree, &mut build)?;
        last.extend(build.conjuncts.into_iter().map(|conjunct| conjunct.expr));
        Ok(filtered(node, last))
    }

    /// The table of a part, if it is one.
    fn table(&self, part: &Part) -> Option<(RelationId, Arc<TableDef>)> {
        let Origin::Items(items) = &part.from else { return None };
        let [From::Relation(relation)] = items.as_slice() else { return None };
        match &self.bound.relations[*relation as usize].source {
            Source::Table(table) if matches!(table.rows, Rows::Stored(_)) => Some((*relation, table.clone())),
            _ => None,
        }
    }

    /// What a part gives and costs. What is no table is planned for that, unless it reads the rows of others.
    fn item(&mut self, part: &mut Part, pending: &Relations) -> Result<Item> {
        let (depends, repeats, filters) = (part.depends, part.repeats, part.join != JoinType::Inner);
        if let Some((relation, table)) = self.table(part)
            && !part.mine.iter().any(|expr| self.has_unnested(expr))
        {
            let conditions: Vec<&Expr> = part.mine.iter().collect();
            let guess = self.guess();
            let rows = guess.relation_rows(relation, part.mine.iter());
            let cost = match self.cheapest(relation, &table, &conditions, pending) {
                Some(access) => guess.lookup_cost(&table, guess.found((relation, &table), &access, &conditions)),
                None => guess.scan_cost(&table, conditions.len()),
            };
            return Ok(Item { cost, rows, depends, filters, repeats });
        }
        if repeats {
            const ROWS: f64 = 10.0;
            return Ok(Item { cost: 1.0, rows: ROWS, depends, filters, repeats });
        }
        let mine = std::mem::take(&mut part.mine);
        let node = match std::mem::replace(&mut part.from, Origin::Taken) {
            Origin::Planned(node) => filtered(node, mine),
            Origin::Items(items) => self.items(items, mine, pending)?,
            Origin::Taken => Node::Nothing,
        };
        let guess = self.guess();
        let (cost, rows) = (guess.cost(&node), guess.rows(&node).max(1.0));
        part.from = Origin::Planned(node);
        Ok(Item { cost, rows, depends, filters, repeats })
    }

    fn items(&mut self, mut items: Vec<From>, mine: Vec<Expr>, pending: &Relations) -> Result<Node> {
        let unnests = mine.iter().any(|expr| self.has_unnested(expr));
        // An inner join is several items, with conditions of its own.
        let joins = items.iter().any(|item| matches!(item, From::Join(join) if join.kind == JoinKind::Inner));
        if items.len() == 1
            && !unnests
            && !joins
            && let Some(item) = items.pop()
        {
            return self.factor(item, mine, pending);
        }
        self.from(items, mine, pending)
    }

    /// Does a condition run a subquery for each row?
    fn is_costly(&self, expr: &Expr) -> bool {
        let runs = |number: u16| self.subplans.get(usize::from(number)).is_some_and(|subplan| !subplan.constant);
        expr.any(&mut |part| matches!(part.kind, ExprKind::Subplan(number) if runs(number)))
            && !self.has_unnested(expr)
            && !expr
                .any(&mut |part| matches!(&part.kind, ExprKind::Call(call) if call.volatility == Volatility::Volatile))
    }

    fn has_unnested(&self, expr: &Expr) -> bool {
        !self.unnested.is_empty()
            && expr.any(&mut |part| matches!(part.kind, ExprKind::Subplan(number) if self.unnested.contains(&number)))
    }

    /// Sorts conditions between parts into classes of equal columns and all others.
    fn classes(
        &self,
        between: Vec<(Expr, Set)>,
        parts: &[Part],
        items: &[Item],
        place: &BTreeMap<RelationId, usize>,
    ) -> (Vec<Class>, Vec<Conjunct>) {
        let guess = self.guess();
        let (mut classes, mut conjuncts): (Vec<Class>, Vec<Conjunct>) = (Vec::new(), Vec::new());
        for (expr, needs) in between {
            let inner = members(needs).all(|number| parts[number].join == JoinType::Inner);
            let sides = plain_equality(&expr).filter(|_| inner).and_then(|(op, left, right)| {
                let part = |column: Column| place.get(&column.relation).copied();
                Some((op, (part(left.0)?, left.1.clone()), (part(right.0)?, right.1.clone())))
            });
            let rest = match sides {
                Some((op, left, right)) => {
                    let values = |(part, column): (usize, Expr)| {
                        let values = guess.distinct_of(&column).min(items[part].rows).max(1.0);
                        (part, column, values)
                    };
                    add_equality(&mut classes, op, values(left), values(right)).then_some(())
                }
                None => None,
            };
            if rest.is_some() {
                continue;
            }
            let share = guess.share(std::iter::once(&expr));
            let sides = sides_of(&expr, place);
            conjuncts.push(Conjunct { expr, needs, share, sides });
        }
        (classes, conjuncts)
    }

    fn known<'k>(
        &'k self,
        parts: &'k [Part],
        classes: &'k [Class],
        conjuncts: &'k [Conjunct],
        items: &[Item],
        pending: &'k Relations,
    ) -> Known<'k> {
        let guess = self.guess();
        let filtering = parts.iter().enumerate().map(|(number, part)| {
            let own: Set = 1 << number;
            let share: f64 = conjuncts
                .iter()
                .filter(|conjunct| conjunct.needs & own != 0)
                .map(|conjunct| match (&conjunct.expr.kind, conjunct.sides) {
                    (ExprKind::Call(call), Some((one, _))) => {
                        let (inner, outer) = match one == own {
                            true => (&call.arguments[0], &call.arguments[1]),
                            false => (&call.arguments[1], &call.arguments[0]),
                        };
                        (guess.distinct_of(inner).min(items[number].rows) / guess.distinct_of(outer)).min(1.0)
                    }
                    _ => conjunct.share,
                })
                .product();
            const LEAST: f64 = 0.01;
            match part.join {
                JoinType::Anti => (1.0 - share).max(LEAST),
                _ => share.max(1e-7),
            }
        });
        let neighbours = (0..parts.len()).map(|number| {
            let own: Set = 1 << number;
            let by_class = classes.iter().filter(|class| class.members.iter().any(|(part, ..)| *part == number));
            let classes: Set =
                by_class.flat_map(|class| class.members.iter()).fold(0, |set, (part, ..)| set | 1 << part);
            let others = conjuncts.iter().filter(|conjunct| conjunct.needs & own != 0);
            (classes | others.fold(0, |set, conjunct| set | conjunct.needs)) & !own
        });
        let bytes = |part: &Part| part.relations.iter().map(|relation| guess.kept_bytes(*relation)).sum();
        let is_whole = |part: &Part| {
            let conditions: Vec<&Expr> = part.mine.iter().collect();
            self.table(part)
                .is_some_and(|(relation, table)| self.cheapest(relation, &table, &conditions, pending).is_none())
        };
        Known {
            bytes: parts.iter().map(bytes).collect(),
            whole: parts.iter().map(is_whole).collect(),
            guess,
            parts,
            classes,
            conjuncts,
            filtering: filtering.collect(),
            tables: parts.iter().map(|part| self.table(part)).collect(),
            neighbours: neighbours.collect(),
            pending,
            lookups: RefCell::default(),
        }
    }

    /// The nodes of a tree of joins.
    fn build(&mut self, tree: &Joined, build: &mut Build) -> Result<(Node, Set)> {
        let (left, right, method) = match tree {
            Joined::Item(number) => {
                let node = self.leaf(*number, build, None)?;
                return Ok((node, 1 << number));
            }
            Joined::Pair { left, right, method } => (left, right, *method),
        };
        let (outer, outer_set) = self.build(left, build)?;
        let there = build.relations(outer_set);
        let single = match **right {
            Joined::Item(number) => Some(number),
            Joined::Pair { .. } => None,
        };
        let join = single.map_or(JoinType::Inner, |number| build.parts[number].join);
        if let Some(number) = single.filter(|number| method == Method::Lookup || build.parts[*number].repeats) {
            let set = outer_set | 1 << number;
            let joining = build.take(outer_set, 1 << number);
            let around: Relations = build.pending.difference(&there).copied().collect();
            let (inner, condition) = match method {
                Method::Lookup => {
                    build.parts[number].mine.extend(joining);
                    (self.leaf(number, build, Some((&around, true)))?, Vec::new())
                }
                _ => (self.leaf(number, build, Some((&around, false)))?, joining),
            };
            let node = Node::NestedLoop { join, outer: Box::new(outer), inner: Box::new(inner), condition };
            return Ok((node, set));
        }
        let (inner, inner_set) = self.build(right, build)?;
        let joining = build.take(outer_set, inner_set);
        let set = outer_set | inner_set;
        if method == Method::Pairs {
            return Ok((self.pairs(join, outer, inner, joining), set));
        }
        let (keys, condition) = keys_of(joining, &build.relations(inner_set), &there);
        let node = match method {
            _ if keys.is_empty() => self.pairs(join, outer, inner, condition),
            Method::Merge => self.merge_join(join, outer, inner, keys, condition),
            _ => Node::HashJoin { join, outer: Box::new(outer), inner: Box::new(inner), keys, condition },
        };
        Ok((node, set))
    }

    /// A part's node; with others' rows around it, and by an index, if it is looked up.
    fn leaf(&mut self, number: usize, build: &mut Build, around: Option<(&Relations, bool)>) -> Result<Node> {
        let part = &mut build.parts[number];
        let mine = std::mem::take(&mut part.mine);
        match (std::mem::replace(&mut part.from, Origin::Taken), around) {
            (Origin::Planned(node), _) => Ok(filtered(node, mine)),
            (Origin::Items(items), Some((around, true))) => match items.as_slice() {
                [From::Relation(relation)] => self.looked_up(*relation, mine, around),
                _ => self.items(items, mine, around),
            },
            (Origin::Items(items), Some((around, false))) => self.items(items, mine, around),
            (Origin::Items(items), None) => self.items(items, mine, &build.pending),
            (Origin::Taken, _) => Err(Error::statement(sqlstate::INTERNAL_ERROR, "an item of FROM is joined twice")),
        }
    }
}

/// What is left to be built.
struct Build {
    parts: Vec<Part>,
    classes: Vec<Class>,
    conjuncts: Vec<Conjunct>,
    /// Relations that are not there before they are joined.
    pending: Relations,
}

impl Build {
    fn relations(&self, set: Set) -> Relations {
        members(set).flat_map(|part| self.parts[part].relations.iter().copied()).collect()
    }

    /// The conditions of a join of two sides.
    fn take(&mut self, left: Set, right: Set) -> Vec<Expr> {
        let both = left | right;
        let mut taken: Vec<Expr> = self.classes.iter().filter_map(|class| class.equality(left, right)).collect();
        let mut at = 0;
        while at < self.conjuncts.len() {
            match self.conjuncts[at].needs & !both {
                0 => taken.push(self.conjuncts.remove(at).expr),
                _ => at += 1,
            }
        }
        taken
    }
}

fn part(items: Vec<From>, join: JoinType) -> Part {
    let mut relations = Relations::new();
    items.iter().for_each(|item| relations_in(item, &mut relations));
    Part { from: Origin::Items(items), relations, depends: 0, repeats: false, join, mine: Vec::new() }
}

fn set_of(columns: &BTreeSet<Column>, place: &BTreeMap<RelationId, usize>) -> Set {
    columns.iter().filter_map(|column| place.get(&column.relation)).fold(0, |set, part| set | 1 << part)
}

/// Takes joins apart that need not be joins of their own.
fn flatten(from: From, items: &mut Vec<From>, conditions: &mut Vec<Expr>) {
    match from {
        From::Join(join) if join.kind == JoinKind::Inner => {
            flatten(join.left, items, conditions);
            flatten(join.right, items, conditions);
            conditions.extend(join.condition);
        }
        from => items.push(from),
    }
}

/// A column with the expression that it is.
type Plain<'x> = (Column, &'x Expr);

/// An equality of two plain columns of one kind.
fn plain_equality(expr: &Expr) -> Option<(Op, Plain<'_>, Plain<'_>)> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    let [left, right] = call.arguments.as_slice() else { return None };
    let integer = |kind| matches!(kind, Kind::Int2 | Kind::Int4 | Kind::Int8);
    let (one, other) = (table::kind(left.ty.oid), table::kind(right.ty.oid));
    let alike = one == other || (integer(one) && integer(other));
    match (&left.kind, &right.kind) {
        (ExprKind::Column(a), ExprKind::Column(b)) if alike && call.op.comparison() == Some(Comparison::Eq) => {
            Some((call.op, (*a, left), (*b, right)))
        }
        _ => None,
    }
}

/// Adds an equality to the classes; false if it is to stay a condition of its own.
fn add_equality(classes: &mut Vec<Class>, op: Op, left: (usize, Expr, f64), right: (usize, Expr, f64)) -> bool {
    let kind = match table::kind(left.1.ty.oid) {
        Kind::Int2 | Kind::Int4 => Kind::Int8,
        kind => kind,
    };
    let find = |classes: &[Class], member: &Expr| {
        classes.iter().position(|class| {
            class.op == op && class.kind == kind && class.members.iter().any(|(_, known, _)| known.kind == member.kind)
        })
    };
    let parts = |class: &Class| class.members.iter().map(|(part, ..)| *part).collect::<BTreeSet<usize>>();
    match (find(classes, &left.1), find(classes, &right.1)) {
        (None, None) if left.0 != right.0 => {
            classes.push(Class { op, kind, members: vec![left, right] });
            true
        }
        (Some(class), None) | (None, Some(class)) => {
            let member = if find(classes, &left.1).is_some() { right } else { left };
            let fits = !parts(&classes[class]).contains(&member.0);
            if fits {
                classes[class].members.push(member);
            }
            fits
        }
        // It follows from others.
        (Some(one), Some(other)) if one == other => true,
        (Some(one), Some(other)) => {
            let fits = parts(&classes[one]).is_disjoint(&parts(&classes[other]));
            if fits {
                let moved = classes.remove(one.max(other));
                classes[one.min(other)].members.extend(moved.members);
            }
            fits
        }
        _ => false,
    }
}

/// The parts that both sides of an equality read.
fn sides_of(expr: &Expr, place: &BTreeMap<RelationId, usize>) -> Option<(Set, Set)> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    if call.op.comparison() != Some(Comparison::Eq) {
        return None;
    }
    let [left, right] = call.arguments.as_slice() else { return None };
    let side = |expr: &Expr| {
        let (mut set, mut complex) = (0, false);
        expr.any(&mut |part| {
            match part.kind {
                ExprKind::Column(column) => match place.get(&column.relation) {
                    Some(part) => set |= 1 << part,
                    // A column of a query around it is no part's.
                    None => complex = true,
                },
                ExprKind::Subplan(_) => complex = true,
                _ => {}
            }
            false
        });
        Some(set).filter(|set: &Set| *set != 0 && !complex)
    };
    let (left, right) = (side(left)?, side(right)?);
    (left & right == 0).then_some((left, right))
}

// ---- conditions that follow from others

fn and(items: &[Expr]) -> Expr {
    match items {
        [one] => one.clone(),
        several => Expr { kind: ExprKind::And(several.to_vec()), ty: Type::plain(Oid::BOOL) },
    }
}

fn branch(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::And(items) => items.iter().flat_map(branch).collect(),
        _ => vec![expr],
    }
}

fn can_move(expr: &Expr) -> bool {
    !expr.any(&mut |part| match &part.kind {
        ExprKind::Call(call) => call.volatility == Volatility::Volatile,
        ExprKind::Subplan(_) => true,
        _ => false,
    })
}

/// Takes out of each `OR` what all of its branches demand: `(a AND b) OR (a AND c)` is `a AND (b OR c)`.
fn implied(conditions: Vec<Expr>) -> Vec<Expr> {
    let mut all = Vec::with_capacity(conditions.len());
    for condition in conditions {
        let ExprKind::Or(branches) = &condition.kind else {
            all.push(condition);
            continue;
        };
        let parts: Vec<Vec<&Expr>> = branches.iter().map(branch).collect();
        let (first, others) = match parts.split_first() {
            Some(split) => split,
            None => {
                all.push(condition);
                continue;
            }
        };
        let common: Vec<&Expr> = first
            .iter()
            .copied()
            .filter(|part| can_move(part) && others.iter().all(|other| other.contains(part)))
            .collect();
        if common.is_empty() {
            all.push(condition);
            continue;
        }
        let rest: Vec<Vec<Expr>> = parts
            .iter()
            .map(|part| part.iter().filter(|one| !common.contains(one)).map(|one| (*one).clone()).collect())
            .collect();
        all.extend(common.into_iter().cloned());
        // A branch that demands nothing more makes the others superfluous.
        if rest.iter().all(|part| !part.is_empty()) {
            let branches = rest.iter().map(|part| and(part)).collect();
            all.push(Expr { kind: ExprKind::Or(branches), ty: condition.ty });
        }
    }
    all
}

/// What an `OR` demands of one item alone, if each branch demands something of it.
fn implied_by_or(expr: &Expr, relations: &Relations) -> Option<Expr> {
    let ExprKind::Or(branches) = &expr.kind else { return None };
    let mut left = Vec::with_capacity(branches.len());
    for one in branches {
        let mine: Vec<Expr> = branch(one)
            .into_iter()
            .filter(|part| {
                let (mut own, mut others) = (false, false);
                part.any(&mut |part| {
                    if let ExprKind::Column(column) = part.kind {
                        let known = relations.contains(&column.relation);
                        own |= known;
                        others |= !known;
                    }
                    false
                });
                own && !others && can_move(part)
            })
            .cloned()
            .collect();
        if mine.is_empty() {
            return None;
        }
        left.push(and(&mine));
    }
    Some(Expr { kind: ExprKind::Or(left), ty: expr.ty })
}
