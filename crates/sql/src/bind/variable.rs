//! Variables of a procedure, as the names that a statement in it may use.
//!
//! A name that is no column of the statement is looked for here, and becomes a parameter. What is both is `42702`, as in PostgreSQL.

use super::Binder;
use super::scope::Scope;
use super::tree::Expr;
use crate::parser::ast;
use base::{Error, Result, sqlstate};

/// A variable that can be named.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The label of its block.
    pub label: String,
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub meaning: Meaning,
    /// A column of the same name is meant instead of it.
    pub yields: bool,
}

/// What a variable stands for.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// A parameter.
    Parameter(u32),
    /// A record: names of fields, and the parameters that they are; and the one that says whether there is no row at all.
    Record(Vec<(String, u32)>, Option<u32>),
    /// A record without a row.
    Unassigned,
}

/// `55000`: a record was not given a row yet.
#[cold]
pub(crate) fn unassigned(name: &str) -> Error {
    Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, format!("record \"{name}\" is not assigned yet"))
        .detail("The tuple structure of a not-yet-assigned record is indeterminate.")
}

impl Binder<'_> {
    /// The variable that a path means: the number of its parameter, if it is one.
    fn variable_of(&self, path: ast::Path<'_>) -> Result<Option<u32>> {
        let no_field = |known: &Variable, field: &str| {
            let message = format!("record \"{}\" has no field \"{field}\"", known.name);
            Error::statement(sqlstate::UNDEFINED_COLUMN, message)
        };
        let field = |known: &Variable, name: &str| match &known.meaning {
            Meaning::Parameter(_) => Ok(None),
            Meaning::Unassigned => Err(unassigned(&known.name)),
            Meaning::Record(fields, _) => match fields.iter().find(|field| field.0 == name) {
                Some(field) => Ok(Some(field.1)),
                None => Err(no_field(known, name)),
            },
        };
        let known = self.variables;
        let whole = |known: &Variable| match &known.meaning {
            Meaning::Parameter(number) => Ok(Some(*number)),
            Meaning::Unassigned => Err(unassigned(&known.name)),
            Meaning::Record(..) => {
                Err(Error::unsupported("a whole record as a value is not supported").hint("Name its fields."))
            }
        };
        match path {
            [name] => known.iter().find(|known| known.name == name.text).map_or(Ok(None), whole),
            [first, second] => {
                let labelled = known.iter().find(|known| known.label == first.text && known.name == second.text);
                if let Some(known) = labelled {
                    return whole(known);
                }
                known.iter().find(|known| known.name == first.text).map_or(Ok(None), |known| field(known, second.text))
            }
            [label, name, last] => {
                let found = known.iter().find(|known| known.label == label.text && known.name == name.text);
                found.map_or(Ok(None), |known| field(known, last.text))
            }
            _ => Ok(None),
        }
    }

    /// The column or variable that a path means.
    pub(super) fn column(&mut self, path: ast::Path<'_>, scope: &Scope<'_>, at: u32) -> Result<Expr> {
        if self.variables.is_empty() {
            return self.plain_column(path, scope, at);
        }
        let yields = self.variables.iter().any(|known| known.yields);
        match (self.plain_column(path, scope, at), self.variable_of(path)) {
            (Ok(column), Ok(Some(_))) if yields => Ok(column),
            (Ok(_), Ok(Some(_))) => {
                let shown: Vec<&str> = path.iter().map(|name| name.text).collect();
                let message = format!("column reference \"{}\" is ambiguous", shown.join("."));
                Err(Error::statement(sqlstate::AMBIGUOUS_COLUMN, message)
                    .detail("It could refer to either a PL/pgSQL variable or a table column.")
                    .at(self.position(at)))
            }
            (Ok(column), _) => Ok(column),
            (Err(_), Err(error)) if error.sqlstate() == sqlstate::FEATURE_NOT_SUPPORTED => {
                self.whole_record(path, scope, at)?.ok_or_else(|| error.at(self.position(at)))
            }
            (Err(error), Ok(None)) => Err(error),
            // Ambiguous among columns is not for variables to decide.
            (Err(error), _) if error.sqlstate() == sqlstate::AMBIGUOUS_COLUMN => Err(error),
            (Err(_), Ok(Some(number))) => self.client_parameter(number, at),
            (Err(_), Err(error)) => Err(error.at(self.position(at))),
        }
    }
}
