//! What the server knows of a procedure of a user.

use super::Catalog;
use crate::types::{Oid, Type, typmod};
use base::{Error, sqlstate};
use std::sync::Arc;

/// A procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoutineDef {
    /// Its number.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Oid,
    /// Its name.
    pub name: String,
    /// The role that owns it.
    pub owner: Oid,
    /// The language of its body.
    pub language: String,
    /// Its parameters.
    pub parameters: Vec<ParameterDef>,
    /// Its body.
    pub body: String,
}

/// A parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParameterDef {
    /// As in `pg_proc.proargmodes`: `i`, `o`, `b`.
    pub mode: u8,
    /// Its name; empty if it has none.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The text of its default.
    pub default: Option<String>,
}

impl RoutineDef {
    /// The types that tell it from others of its name: those of what goes in.
    pub fn inputs(&self) -> Vec<Oid> {
        let inputs = self.parameters.iter().filter(|parameter| parameter.mode != b'o');
        inputs.map(|parameter| parameter.ty.oid).collect()
    }

    /// How errors call it: `name(integer,text)`.
    pub fn shown(&self) -> String {
        let types: Vec<String> = self.inputs().into_iter().map(|oid| typmod::format_type(Type::plain(oid))).collect();
        format!("{}({})", self.name, types.join(","))
    }
}

impl Catalog<'_> {
    /// What a call of a function hears that failed with an error: a procedure is none, whatever its arguments.
    #[cold]
    pub fn no_function(&self, schema: Option<&str>, name: &str, arguments: usize, error: Error) -> Error {
        if error.sqlstate() != sqlstate::UNDEFINED_FUNCTION {
            return error;
        }
        let found = self.routines_named(schema, name);
        match found.iter().find(|routine| routine.inputs().len() == arguments) {
            Some(routine) => {
                let message = format!("{} is a procedure", routine.shown());
                Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).hint("To call a procedure, use CALL.")
            }
            None => error,
        }
    }

    /// The procedures of a name, with a schema or without: those of the path's first schemas first.
    pub fn routines_named(&self, schema: Option<&str>, name: &str) -> Vec<Arc<RoutineDef>> {
        let schemas = match schema {
            Some(schema) => self.schema(schema).into_iter().collect(),
            None => self.path.searched.clone(),
        };
        let mut found: Vec<Arc<RoutineDef>> = Vec::new();
        for schema in schemas {
            for routine in self.definitions.routines() {
                let hidden = |known: &Arc<RoutineDef>| known.inputs() == routine.inputs();
                if routine.schema == schema && routine.name == name && !found.iter().any(hidden) {
                    found.push(routine.clone());
                }
            }
        }
        found
    }
}
