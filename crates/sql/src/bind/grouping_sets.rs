//! `GROUPING SETS`, `ROLLUP`, `CUBE`, `GROUPING (…)`: rows grouped in several ways at once.
//!
//! Each item of `GROUP BY` stands for a list of sets of keys; all items together for every combination of a set of each.
//!
//! Rules
//! 1. One set that is not empty is an ordinary `GROUP BY`, which knows nothing of sets.

use super::Binder;
use super::expr::Clause;
use super::grouping::TESTS;
use super::scope::Scope;
use super::tree::{Expr, Target};
use crate::parser::ast::{self, GroupItem};
use crate::types::{Oid, Type};
use base::{Error, Result, sqlstate};

/// The most grouping sets.
const SETS_MAX: usize = 4096;
/// The most elements of a `CUBE`.
const CUBE_MAX: usize = 12;
/// The most arguments of `GROUPING (…)`: bits of its value.
const TESTED_MAX: usize = 31;

/// A set of keys, by number.
type Set = Vec<u16>;

/// Where keys may refer to.
struct Around<'s, 'a> {
    targets: &'s [Target],
    visible: usize,
    scope: &'s Scope<'a>,
}

impl Binder<'_> {
    /// The keys of `GROUP BY`, and its sets if there are several or an empty one.
    pub(super) fn group_keys(
        &mut self,
        select: &ast::Select<'_>,
        targets: &[Target],
        visible: usize,
        scope: &Scope<'_>,
    ) -> Result<(Vec<Expr>, Vec<Set>)> {
        let around = Around { targets, visible, scope };
        let mut keys = Vec::with_capacity(select.group_by.len());
        let mut sets: Vec<Set> = vec![Set::new()];
        for item in select.group_by {
            let item_sets = self.sets_of(item, &mut keys, &around)?;
            if sets.len().saturating_mul(item_sets.len()) > SETS_MAX {
                return Err(too_many());
            }
            let mut combined = Vec::with_capacity(sets.len() * item_sets.len());
            for before in &sets {
                for set in &item_sets {
                    let mut both = before.clone();
                    both.extend(set.iter().filter(|key| !before.contains(key)));
                    combined.push(both);
                }
            }
            sets = combined;
        }
        if select.group_distinct {
            let mut distinct: Vec<Set> = Vec::with_capacity(sets.len());
            for set in sets {
                let mut sorted = set.clone();
                sorted.sort_unstable();
                let known = distinct.iter().any(|other| {
                    let mut other = other.clone();
                    other.sort_unstable();
                    other == sorted
                });
                if !known {
                    distinct.push(set);
                }
            }
            sets = distinct;
        }
        let ordinary = select.group_by.is_empty() || (sets.len() == 1 && !sets[0].is_empty());
        Ok((keys, if ordinary { Vec::new() } else { sets }))
    }

    /// The sets that an item stands for.
    fn sets_of(&mut self, item: &GroupItem<'_>, keys: &mut Vec<Expr>, around: &Around<'_, '_>) -> Result<Vec<Set>> {
        Ok(match item {
            GroupItem::Keys(exprs) => vec![self.set_of(exprs, keys, around)?],
            GroupItem::Empty(_) => vec![Set::new()],
            GroupItem::Rollup(elements, _) => {
                let elements = self.sets_of_elements(elements, keys, around)?;
                (0..=elements.len()).rev().map(|count| union(elements[..count].iter())).collect()
            }
            GroupItem::Cube(elements, at) => {
                if elements.len() > CUBE_MAX {
                    let message = format!("CUBE is limited to {CUBE_MAX} elements");
                    return Err(Error::statement(sqlstate::TOO_MANY_COLUMNS, message).at(self.position(*at)));
                }
                let elements = self.sets_of_elements(elements, keys, around)?;
                let is_in = |subset: usize, element: usize| subset >> (elements.len() - 1 - element) & 1 == 1;
                let chosen = |subset: usize| {
                    union(elements.iter().enumerate().filter(|(index, _)| is_in(subset, *index)).map(|(_, set)| set))
                };
                (0..1usize << elements.len()).rev().map(chosen).collect()
            }
            GroupItem::Sets(items, _) => {
                let mut sets = Vec::new();
                for item in *items {
                    sets.extend(self.sets_of(item, keys, around)?);
                    if sets.len() > SETS_MAX {
                        return Err(too_many());
                    }
                }
                sets
            }
        })
    }

    fn sets_of_elements(
        &mut self,
        elements: &[&[ast::Expr<'_>]],
        keys: &mut Vec<Expr>,
        around: &Around<'_, '_>,
    ) -> Result<Vec<Set>> {
        let mut sets = Vec::with_capacity(elements.len());
        for element in elements {
            sets.push(self.set_of(element, keys, around)?);
        }
        Ok(sets)
    }

    /// A set of keys; new ones are added to those that are known.
    fn set_of(&mut self, exprs: &[ast::Expr<'_>], keys: &mut Vec<Expr>, around: &Around<'_, '_>) -> Result<Set> {
        let mut set = Set::with_capacity(exprs.len());
        for expr in exprs {
            let key = self.group_key(expr, around.targets, around.visible, around.scope)?;
            let number = match keys.iter().position(|known| self.bound.same(known, &key)) {
                Some(number) => number,
                None => {
                    keys.push(key);
                    keys.len() - 1
                }
            };
            if !set.contains(&(number as u16)) {
                set.push(number as u16);
            }
        }
        Ok(set)
    }

    /// `GROUPING (…)`, which says of each argument whether it is not in a row's set.
    pub(super) fn grouping_test(
        &mut self,
        call: &ast::Call<'_>,
        scope: &Scope<'_>,
        clause: Clause,
        at: u32,
    ) -> Result<Expr> {
        if call.arguments.len() > TESTED_MAX {
            let message = format!("GROUPING must have fewer than {} arguments", TESTED_MAX + 1);
            return Err(Error::statement(sqlstate::TOO_MANY_ARGUMENTS, message).at(self.position(at)));
        }
        if let Some(message) = clause.refuses_aggregates() {
            let message = message.replace("aggregate functions", "grouping operations");
            return Err(Error::statement(sqlstate::GROUPING_ERROR, message).at(self.position(at)));
        }
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in call.arguments {
            arguments.push(self.expr(&argument.value, scope, clause)?);
        }
        let own = scope.namespace.relations();
        for argument in &arguments {
            let mut columns = std::collections::BTreeSet::new();
            self.bound.columns_in(argument, &mut columns);
            if !columns.is_empty() && !columns.iter().any(|column| own.contains(&column.relation)) {
                return Err(self.unsupported("GROUPING of a query around its own", at));
            }
        }
        let Some(grouping) = &mut self.grouping else {
            let message = "grouping operations are not allowed here";
            return Err(Error::statement(sqlstate::GROUPING_ERROR, message).at(self.position(at)));
        };
        let number = grouping.tests.iter().position(|known| *known == arguments).unwrap_or_else(|| {
            grouping.tests.push(arguments);
            grouping.tests.len() - 1
        });
        let column = Expr::column(grouping.relation, TESTS + number as u16, Type::plain(Oid::INT4));
        self.note_column(&column, at);
        Ok(column)
    }

    /// The keys that each `GROUPING (…)` is about.
    pub(super) fn tested_keys(&mut self, tests: &[Vec<Expr>], keys: &[Expr], at: u32) -> Result<Vec<Vec<u16>>> {
        let mut tested = Vec::with_capacity(tests.len());
        for arguments in tests {
            let mut numbers = Vec::with_capacity(arguments.len());
            for argument in arguments {
                match keys.iter().position(|key| self.bound.same(key, argument)) {
                    Some(number) => numbers.push(number as u16),
                    None if !self.slots.is_empty() => return Err(self.ask_for_literals()),
                    None => {
                        let message =
                            "arguments to GROUPING must be grouping expressions of the associated query level";
                        return Err(Error::statement(sqlstate::GROUPING_ERROR, message).at(self.position(at)));
                    }
                }
            }
            tested.push(numbers);
        }
        Ok(tested)
    }
}

fn union<'s>(sets: impl Iterator<Item = &'s Set>) -> Set {
    let mut all = Set::new();
    for key in sets.flatten() {
        if !all.contains(key) {
            all.push(*key);
        }
    }
    all
}

#[cold]
fn too_many() -> Error {
    let message = format!("too many grouping sets present (maximum {SETS_MAX})");
    Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, message)
}
