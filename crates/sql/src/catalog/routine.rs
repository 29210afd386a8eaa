//! What the server knows of a procedure of a user.

use super::Catalog;
use crate::types::op::Op;
use crate::types::{Oid, Type, function, typmod};
use base::settings::quoted_identifier;
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

    /// What it is, as messages say it.
    pub fn word(&self) -> &'static str {
        "procedure"
    }

    /// How errors call it: `name(integer,text)`.
    pub fn shown(&self) -> String {
        let types: Vec<String> = self.inputs().into_iter().map(|oid| typmod::format_type(Type::plain(oid))).collect();
        format!("{}({})", self.name, types.join(","))
    }
}

impl Catalog<'_> {
    /// `pg_get_function_arguments`, `pg_get_function_identity_arguments`, `pg_get_function_result`; none if there is no such function,
    /// and no result of a procedure.
    pub fn signature(&self, oid: Oid, op: Op) -> Option<String> {
        let shown = |ty: Type| typmod::format_type(Type::plain(ty.oid));
        if let Some(routine) = self.definitions.routines().find(|routine| routine.oid == oid) {
            if op == Op::FunctionResult {
                return None;
            }
            let parameters: Vec<String> = routine
                .parameters
                .iter()
                .map(|parameter| {
                    // Of a procedure every mode is said.
                    let mode = match parameter.mode {
                        b'o' => "OUT ",
                        b'b' => "INOUT ",
                        _ => "IN ",
                    };
                    let name = match parameter.name.as_str() {
                        "" => String::new(),
                        name => format!("{} ", quoted_identifier(name)),
                    };
                    let default = match &parameter.default {
                        Some(text) if op == Op::FunctionArguments => format!(" DEFAULT {text}"),
                        _ => String::new(),
                    };
                    format!("{mode}{name}{}{default}", shown(parameter.ty))
                })
                .collect();
            return Some(parameters.join(", "));
        }
        let row = function::by_oid(oid)?;
        Some(match op {
            Op::FunctionResult => {
                let set = if row.returns_set { "SETOF " } else { "" };
                format!("{set}{}", shown(Type::plain(row.result)))
            }
            _ => {
                let types: Vec<String> = row.args.iter().map(|&oid| shown(Type::plain(oid))).collect();
                types.join(", ")
            }
        })
    }

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

    /// The procedure of that number.
    pub fn routine(&self, oid: Oid) -> Option<Arc<RoutineDef>> {
        self.definitions.routine(oid).cloned()
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
