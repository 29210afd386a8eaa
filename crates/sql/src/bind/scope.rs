//! Where names are looked up: the columns and relations that an expression can see.
//!
//! A *namespace* is what items of `FROM` offer: columns under their bare names, in the order of `*`, and relations that
//! may stand before a dot. A *scope* is a namespace and the scope around it: a subquery's parent is the query it stands in.
//!
//! Rules
//! 1. The innermost scope that has the name decides; two columns of that name in one scope are ambiguous (`42702`).
//! 2. `JOIN … USING` merges columns: one bare name, and both stay visible behind their relation's name.

use super::tree::{Expr, ExprKind, RelationId};
use crate::parser::ast::Path;
use base::{Error, Result, sqlstate};
use std::collections::BTreeSet;

/// What items of `FROM` offer.
#[derive(Clone, Debug, Default)]
pub struct Namespace {
    /// Columns under their bare names, in the order of `*`.
    pub columns: Vec<ScopeColumn>,
    /// Relations by name.
    pub items: Vec<Item>,
}

/// A column that can be named.
#[derive(Clone, Debug)]
pub struct ScopeColumn {
    /// Its name.
    pub name: String,
    /// What it is.
    pub expr: Expr,
}

/// A relation that can be named.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// Its schema's name, if it is a table without an alias.
    pub schema: Option<String>,
    /// Its columns.
    pub columns: Vec<ScopeColumn>,
    /// Its number; none for a join with an alias.
    pub relation: Option<RelationId>,
    /// System columns can be asked for.
    pub is_table: bool,
    /// An outer join may have nulls in the place of its rows.
    pub nullable: bool,
}

/// A namespace and what is around it.
#[derive(Clone, Copy)]
pub struct Scope<'s> {
    /// What can be seen here.
    pub namespace: &'s Namespace,
    /// What can be seen around it.
    pub parent: Option<&'s Scope<'s>>,
}

impl Namespace {
    /// Adds what another one offers. Errors: `42712` for a relation's name that is there already.
    pub fn append(&mut self, other: Namespace) -> Result<()> {
        for item in &other.items {
            self.check_name(item)?;
        }
        self.columns.extend(other.columns);
        self.items.extend(other.items);
        Ok(())
    }

    fn check_name(&self, item: &Item) -> Result<()> {
        let same = |other: &&Item| {
            other.name == item.name && (other.schema == item.schema || !other.is_table || !item.is_table)
        };
        if !item.name.is_empty() && self.items.iter().any(|other| same(&other)) {
            let message = format!("table name \"{}\" specified more than once", item.name);
            return Err(Error::statement(sqlstate::DUPLICATE_ALIAS, message));
        }
        Ok(())
    }

    /// The relations whose columns can be named.
    pub fn relations(&self) -> BTreeSet<RelationId> {
        let mut relations: BTreeSet<RelationId> = self.items.iter().filter_map(|item| item.relation).collect();
        let columns = self.items.iter().flat_map(|item| &item.columns).chain(&self.columns);
        for column in columns {
            column.expr.any(&mut |part| {
                if let ExprKind::Column(column) = part.kind {
                    relations.insert(column.relation);
                }
                false
            });
        }
        relations
    }

    /// The relation of that name, maybe with a schema before it.
    pub fn item(&self, path: Path<'_>) -> Option<&Item> {
        let (name, schema) = match path {
            [name] => (name.text, None),
            [schema, name] => (name.text, Some(schema.text)),
            [_, schema, name] => (name.text, Some(schema.text)),
            _ => return None,
        };
        self.items.iter().find(|item| item.name == name && (schema.is_none() || item.schema.as_deref() == schema))
    }
}

impl<'s> Scope<'s> {
    /// A scope with nothing to see.
    pub const EMPTY: Scope<'static> =
        Scope { namespace: &Namespace { columns: Vec::new(), items: Vec::new() }, parent: None };

    /// The column of a bare name.
    pub fn column(&self, name: &str) -> Result<Option<&'s Expr>> {
        let mut scope = Some(*self);
        while let Some(here) = scope {
            let mut found = here.namespace.columns.iter().filter(|column| column.name == name);
            if let Some(column) = found.next() {
                if found.next().is_some() {
                    let message = format!("column reference \"{name}\" is ambiguous");
                    return Err(Error::statement(sqlstate::AMBIGUOUS_COLUMN, message));
                }
                return Ok(Some(&column.expr));
            }
            scope = here.parent.copied();
        }
        Ok(None)
    }

    /// The one table that can be seen here, whose system columns need no name before them.
    pub fn only_table(&self) -> Option<RelationId> {
        let mut tables = self.namespace.items.iter().filter(|item| item.is_table);
        let only = tables.next()?;
        if tables.next().is_some() { None } else { only.relation }
    }

    /// Can columns of the relation be named here or around?
    pub fn sees(&self, relation: RelationId) -> bool {
        let mut scope = Some(*self);
        while let Some(here) = scope {
            if here.namespace.relations().contains(&relation) {
                return true;
            }
            scope = here.parent.copied();
        }
        false
    }

    /// The relation of a name.
    pub fn item(&self, path: Path<'_>) -> Option<&'s Item> {
        let mut scope = Some(*self);
        while let Some(here) = scope {
            if let Some(item) = here.namespace.item(path) {
                return Some(item);
            }
            scope = here.parent.copied();
        }
        None
    }
}

impl Item {
    /// The column of a name.
    pub fn column(&self, name: &str) -> Result<Option<&Expr>> {
        let mut found = self.columns.iter().filter(|column| column.name == name);
        let first = found.next();
        if found.next().is_some() {
            let message = format!("column reference \"{name}\" is ambiguous");
            return Err(Error::statement(sqlstate::AMBIGUOUS_COLUMN, message));
        }
        Ok(first.map(|column| &column.expr))
    }
}
