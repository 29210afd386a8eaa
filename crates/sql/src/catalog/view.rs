//! What a view is: its query, in which the names of what it reads are numbers.
//!
//! A query is kept as the text that was written, cut into pieces: between texts stand references to relations and to their columns. Whoever
//! reads the query gets it with the names that these have now, and with their schemas, so that neither another name nor another search path
//! changes what a view means. Where the name itself matters (a result without a label takes its name from the column), the piece keeps
//! it, and a label is written when the name has become another one.
//!
//! Rules
//! 1. A star has become the columns that it stood for when the view was made.
//! 2. Columns that are used without a name in a piece (`USING (a)`, the columns of `t AS x(a, b)`) are *fixed*: they cannot get another
//!    name while the view is there.
//! 3. The system's own relations are written by name: their numbers are not the same in every release.

use super::Catalog;
use super::definition::TableDef;
use crate::parser::ast::CheckOption;
use crate::types::Oid;
use base::settings::quoted_identifier;
use std::collections::BTreeSet;

/// A view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewDef {
    /// Its query, in pieces.
    pub pieces: Vec<Piece>,
    /// Columns that must keep their names: relations and columns, counted from zero.
    pub fixed: Vec<(Oid, u16)>,
    /// What rows that are written through it have to fulfil.
    pub check: Option<CheckOption>,
}

/// A piece of a view's query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// As it was written.
    Text(String),
    /// The name of a relation.
    Relation {
        /// Its number.
        oid: Oid,
        /// The name that the query knows it by, where none was given.
        alias: Option<String>,
    },
    /// The name of a column.
    Column {
        /// The number of the relation.
        oid: Oid,
        /// The column, counted from zero.
        column: u16,
        /// The name of the result, where it is the column's.
        label: Option<String>,
    },
    /// The name of a function of a user, by its number.
    Routine(Oid),
}

impl ViewDef {
    /// The query's text. With `full`, all relations have their schemas; else those that cannot be named without.
    pub fn text(&self, catalog: &Catalog<'_>, full: bool) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(written) => text.push_str(written),
                Piece::Relation { oid, alias } => {
                    let Ok(Some(table)) = catalog.table_by_oid(*oid) else {
                        text.push_str(&format!("pg_catalog.\"relation {} is gone\"", oid.0));
                        continue;
                    };
                    match full {
                        true => {
                            let schema = catalog.schema_name(table.schema).unwrap_or_default();
                            text.push_str(&format!("{}.", quoted_identifier(&schema)));
                            text.push_str(&quoted_identifier(&table.name));
                        }
                        false => text.push_str(&catalog.shown_name(&table)),
                    }
                    if let Some(alias) = alias.as_ref().filter(|alias| **alias != table.name) {
                        text.push_str(&format!(" AS {}", quoted_identifier(alias)));
                    }
                }
                Piece::Routine(oid) => {
                    let Some(routine) = catalog.routine(*oid) else {
                        text.push_str(&format!("pg_catalog.\"function {} is gone\"", oid.0));
                        continue;
                    };
                    if full || !catalog.sees_routine(&routine) {
                        let schema = catalog.schema_name(routine.schema).unwrap_or_default();
                        text.push_str(&format!("{}.", quoted_identifier(&schema)));
                    }
                    text.push_str(&quoted_identifier(&routine.name));
                }
                Piece::Column { oid, column, label } => {
                    let table = catalog.table_by_oid(*oid).ok().flatten();
                    let name = table.as_deref().and_then(|table| table.columns.get(usize::from(*column)));
                    let name = name.map_or("column is gone", |column| column.name.as_str());
                    text.push_str(&quoted_identifier(name));
                    if let Some(label) = label.as_ref().filter(|label| *label != name) {
                        text.push_str(&format!(" AS {}", quoted_identifier(label)));
                    }
                }
            }
        }
        text
    }

    /// Does the query read the relation, or that column of it?
    pub fn reads(&self, relation: Oid, column: Option<usize>) -> bool {
        let named = self.pieces.iter().any(|piece| match (piece, column) {
            (Piece::Relation { oid, .. } | Piece::Column { oid, .. }, None) => *oid == relation,
            (Piece::Column { oid, column, .. }, Some(wanted)) => *oid == relation && usize::from(*column) == wanted,
            _ => false,
        });
        named || column.is_some_and(|column| self.fixes(relation, column))
    }

    /// Does the query call a function?
    pub fn calls(&self, routine: Oid) -> bool {
        self.pieces.contains(&Piece::Routine(routine))
    }

    /// Must the column keep its name?
    pub fn fixes(&self, relation: Oid, column: usize) -> bool {
        self.fixed.iter().any(|(oid, fixed)| *oid == relation && usize::from(*fixed) == column)
    }

    /// The relations that it reads.
    pub fn relations(&self) -> BTreeSet<Oid> {
        let named = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Relation { oid, .. } => Some(*oid),
            Piece::Text(_) | Piece::Column { .. } | Piece::Routine(_) => None,
        });
        named.collect()
    }

    /// The columns that it reads, counted from zero, with their relations.
    pub fn columns(&self) -> BTreeSet<(Oid, u16)> {
        let named = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Column { oid, column, .. } => Some((*oid, *column)),
            Piece::Text(_) | Piece::Relation { .. } | Piece::Routine(_) => None,
        });
        named.chain(self.fixed.iter().copied()).collect()
    }
}

/// The statement's part of a view that users see: its query, with a semicolon.
pub fn shown_query(catalog: &Catalog<'_>, table: &TableDef) -> Option<String> {
    let view = table.view.as_ref()?;
    Some(format!(" {};", catalog.with_names(&view.text(catalog, false))))
}
