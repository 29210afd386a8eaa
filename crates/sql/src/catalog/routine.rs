//! What the server knows of a function or a procedure of a user.

use super::Catalog;
use crate::types::function::Volatility;
use crate::types::op::Op;
use crate::types::{Oid, Type, function, resolve, table, typmod};
use base::settings::quoted_identifier;
use base::{Error, Result, sqlstate};
use std::sync::Arc;

/// A function or a procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoutineDef {
    /// Its number.
    pub oid: Oid,
    /// The version of the definition: each change gives it another one.
    pub version: u64,
    /// As in `pg_proc.prokind`: `f`, `p`.
    pub kind: u8,
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
    /// The type of its result, or of each row of it; `record` if that has several columns, `void` if there is none.
    pub result: Oid,
    /// The relation of whose rows the result is, if it is of one.
    pub rows_of: Option<Oid>,
    /// It gives a set.
    pub set: bool,
    /// As in `pg_proc.provolatile`.
    pub volatility: u8,
    /// It is null if an argument is.
    pub strict: bool,
    /// As in `pg_proc`.
    pub leakproof: bool,
    /// As in `pg_proc.proparallel`.
    pub parallel: u8,
    /// The bits of `pg_proc.procost` and `pg_proc.prorows`.
    pub costs: [u32; 2],
    /// Its body.
    pub body: String,
    /// `SECURITY DEFINER`: it runs with its owner's rights.
    pub definer: bool,
    /// Settings that it runs with: names and values.
    pub settings: Vec<(String, String)>,
    /// The last of its inputs is an array whose elements a call gives one by one.
    pub variadic: bool,
}

/// A parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParameterDef {
    /// As in `pg_proc.proargmodes`: `i`, `o`, `b`, `t`.
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
        self.input_parameters().map(|parameter| parameter.ty.oid).collect()
    }

    /// The parameters whose values go in.
    pub fn input_parameters(&self) -> impl Iterator<Item = &ParameterDef> + Clone {
        self.parameters.iter().filter(|parameter| parameter.is_input())
    }

    /// The parameters whose values come out.
    pub fn output_parameters(&self) -> impl Iterator<Item = &ParameterDef> + Clone {
        self.parameters.iter().filter(|parameter| parameter.mode != b'i')
    }

    /// Is it a function, or a procedure?
    pub fn is_function(&self) -> bool {
        self.kind == b'f'
    }

    /// Does it run as its caller does, with his settings?
    pub fn is_plain(&self) -> bool {
        !self.definer && self.settings.is_empty()
    }

    /// What errors call its kind.
    pub fn word(&self) -> &'static str {
        if self.is_function() { "function" } else { "procedure" }
    }

    /// When its result may change.
    pub fn volatility(&self) -> Volatility {
        match self.volatility {
            b'i' => Volatility::Immutable,
            b's' => Volatility::Stable,
            _ => Volatility::Volatile,
        }
    }

    /// Do the arguments of a call decide about its types?
    pub fn is_polymorphic(&self) -> bool {
        resolve::is_polymorphic(self.result)
            || self.parameters.iter().any(|known| resolve::is_polymorphic(known.ty.oid))
    }

    /// All its types: those of its parameters, and that of its result.
    pub fn types(&self) -> Vec<Oid> {
        self.parameters.iter().map(|parameter| parameter.ty.oid).chain([self.result]).collect()
    }

    /// What it is in a call in which its types are these.
    pub fn with_types(&self, types: &[Oid]) -> RoutineDef {
        let mut made = self.clone();
        for (parameter, oid) in made.parameters.iter_mut().zip(types) {
            parameter.ty = Type::plain(*oid);
        }
        made.result = types.last().copied().unwrap_or(made.result);
        made
    }

    /// Is that parameter the one whose elements are given one by one?
    pub fn is_variadic(&self, parameter: &ParameterDef) -> bool {
        self.variadic && self.input_parameters().last().is_some_and(|last| std::ptr::eq(last, parameter))
    }

    /// The type of what a call gives one by one; none if it does not.
    pub fn variadic_element(&self) -> Option<Oid> {
        let last = self.input_parameters().last().filter(|_| self.variadic)?;
        match last.ty.oid {
            Oid::ANYARRAY => Some(Oid::ANYELEMENT),
            Oid::ANYCOMPATIBLEARRAY => Some(Oid::ANYCOMPATIBLE),
            oid => table::element_of(oid),
        }
    }

    /// How errors call it: `name(integer,text)`.
    pub fn shown(&self) -> String {
        let types: Vec<String> = self.inputs().into_iter().map(|oid| typmod::format_type(Type::plain(oid))).collect();
        format!("{}({})", self.name, types.join(","))
    }
}

impl ParameterDef {
    /// Does its value go in?
    pub fn is_input(&self) -> bool {
        matches!(self.mode, b'i' | b'b')
    }
}

/// A setting's value as `SET` takes it: each item of a list for itself.
fn shown_value(name: &str, value: &str) -> String {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let is_list = base::settings::lookup(name).is_ok_and(|id| {
        let flags = id.setting().flags;
        flags.has(base::settings::Flags::LIST) && flags.has(base::settings::Flags::IDENTIFIERS)
    });
    match is_list {
        true => items_of(value).iter().map(|item| literal(item)).collect::<Vec<_>>().join(", "),
        false => literal(value),
    }
}

/// The items of a list of names, which may be in double quotes.
fn items_of(list: &str) -> Vec<String> {
    let (mut items, mut item, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = list.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => item.extend(characters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => items.push(std::mem::take(&mut item)),
            ' ' if !quoted => {}
            _ => item.push(character),
        }
    }
    items.push(item);
    items
}

impl Catalog<'_> {
    /// `pg_get_function_arguments`, `pg_get_function_identity_arguments`, `pg_get_function_result`; none if there is no such function,
    /// and no result of a procedure.
    pub fn signature(&self, oid: Oid, op: Op) -> Option<String> {
        let shown = |ty: Type| typmod::format_type(Type::plain(ty.oid));
        if let Some(routine) = self.definitions.routines().find(|routine| routine.oid == oid) {
            if op == Op::FunctionResult {
                return routine.is_function().then(|| self.result_of(routine));
            }
            let parameters: Vec<String> = routine
                .parameters
                .iter()
                .filter(|parameter| parameter.mode != b't')
                .map(|parameter| {
                    // Of a procedure every mode is said.
                    let mode = match parameter.mode {
                        b'o' => "OUT ",
                        b'b' => "INOUT ",
                        _ if routine.is_variadic(parameter) => "VARIADIC ",
                        _ if routine.is_function() => "",
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
        let Some(row) = function::by_oid(oid) else {
            let row = super::system::internal::by_oid(oid)?;
            let types: Vec<String> = row.args.iter().map(|&oid| shown(Type::plain(oid))).collect();
            return Some(if op == Op::FunctionResult { shown(Type::plain(row.result)) } else { types.join(", ") });
        };
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

    /// `pg_get_functiondef`; none if no user made it.
    pub fn routine_definition(&self, oid: Oid) -> Option<String> {
        let routine = self.routine(oid)?;
        let schema = self.schema_name(routine.schema).unwrap_or_default();
        let arguments = self.signature(oid, Op::FunctionArguments).unwrap_or_default();
        let kind = routine.word().to_uppercase();
        let name = format!("{}.{}", quoted_identifier(&schema), quoted_identifier(&routine.name));
        let mut text = format!("CREATE OR REPLACE {kind} {name}({arguments})\n");
        if routine.is_function() {
            text.push_str(&format!(" RETURNS {}\n", self.result_of(&routine)));
        }
        text.push_str(&format!(" LANGUAGE {}\n", quoted_identifier(&routine.language)));
        let [cost, rows] = routine.costs.map(f32::from_bits);
        let mut said: Vec<String> = Vec::new();
        match routine.volatility {
            b'i' => said.push("IMMUTABLE".to_owned()),
            b's' => said.push("STABLE".to_owned()),
            _ => {}
        }
        match routine.parallel {
            b's' => said.push("PARALLEL SAFE".to_owned()),
            b'r' => said.push("PARALLEL RESTRICTED".to_owned()),
            _ => {}
        }
        if routine.strict {
            said.push("STRICT".to_owned());
        }
        if routine.definer {
            said.push("SECURITY DEFINER".to_owned());
        }
        if routine.leakproof {
            said.push("LEAKPROOF".to_owned());
        }
        if cost != 100.0 {
            said.push(format!("COST {cost}"));
        }
        if routine.set && rows != 1000.0 {
            said.push(format!("ROWS {rows}"));
        }
        if !said.is_empty() {
            text.push_str(&format!(" {}\n", said.join(" ")));
        }
        for (name, value) in &routine.settings {
            text.push_str(&format!(" SET {} TO {}\n", quoted_identifier(name), shown_value(name, value)));
        }
        // What quotes the body is not in it.
        let mut quote = routine.word().to_owned();
        while routine.body.contains(&format!("${quote}")) {
            quote.push('x');
        }
        text.push_str(&format!("AS ${quote}${}${quote}$\n", routine.body));
        Some(text)
    }

    /// What a call of a function hears that failed with an error: a procedure is none, whatever its arguments.
    #[cold]
    pub fn no_function(&self, schema: Option<&str>, name: &str, arguments: usize, error: Error) -> Error {
        if error.sqlstate() != sqlstate::UNDEFINED_FUNCTION {
            return error;
        }
        let found = self.routines_named(schema, name);
        match found.iter().find(|routine| !routine.is_function() && routine.inputs().len() == arguments) {
            Some(routine) => {
                let message = format!("{} is a procedure", routine.shown());
                Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).hint("To call a procedure, use CALL.")
            }
            None => error,
        }
    }

    /// The function or procedure of that number.
    pub fn routine(&self, oid: Oid) -> Option<Arc<RoutineDef>> {
        self.definitions.routine(oid).cloned()
    }

    /// Is it found by its name without a schema?
    pub fn sees_routine(&self, routine: &RoutineDef) -> bool {
        self.routines_named(None, &routine.name).iter().any(|known| known.oid == routine.oid)
    }

    /// The function or procedure of a name with the types of its parameters. Errors: `42883`, `22P02`.
    pub fn routine_of(&self, text: &str) -> Result<Oid> {
        let missing = || Error::statement(sqlstate::UNDEFINED_FUNCTION, format!("function \"{text}\" does not exist"));
        let Some((name, types)) = text.trim_end().strip_suffix(')').and_then(|text| text.split_once('(')) else {
            return Err(Error::statement(sqlstate::INVALID_TEXT_REPRESENTATION, "expected a left parenthesis"));
        };
        let parts = super::split_name(name.trim()).ok_or_else(missing)?;
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name),
            [schema, name] => (Some(schema.as_str()), name),
            _ => return Err(missing()),
        };
        let types: Vec<Oid> = match types.trim() {
            "" => Vec::new(),
            types => types.split(',').map(|ty| self.read_reg(Oid::REGTYPE, ty.trim())).collect::<Result<Vec<Oid>>>()?,
        };
        if let Some(found) = self.routines_named(schema, name).iter().find(|routine| routine.inputs() == types) {
            return Ok(found.oid);
        }
        if schema.is_some_and(|schema| schema != "pg_catalog") {
            return Err(missing());
        }
        let builtin = function::by_name(name).iter().find(|row| row.args == types.as_slice()).map(|row| row.oid);
        let internal = || super::system::internal::by_name(name).into_iter().find(|row| row.args == types);
        builtin.or_else(|| internal().map(|row| row.oid)).ok_or_else(missing)
    }

    /// The functions and procedures of a name, with a schema or without: those of the path's first schemas first, and each with the place
    /// of its schema in the path.
    pub fn routines_in_path(&self, schema: Option<&str>, name: &str) -> Vec<(usize, Arc<RoutineDef>)> {
        let schemas: Vec<Oid> = match schema {
            Some(schema) => self.schema(schema).into_iter().collect(),
            None => self.path.searched.clone(),
        };
        let mut found = Vec::new();
        for (place, schema) in schemas.into_iter().enumerate().filter(|known| !super::schema::is_temporary(known.1)) {
            let routines = self.definitions.routines();
            let known = routines.filter(|routine| routine.schema == schema && routine.name == name);
            found.extend(known.map(|routine| (place, routine.clone())));
        }
        found
    }

    /// Those that are found by their names and types: one hides others of the same types in schemas behind its own.
    pub fn routines_named(&self, schema: Option<&str>, name: &str) -> Vec<Arc<RoutineDef>> {
        let mut found: Vec<Arc<RoutineDef>> = Vec::new();
        for (_, routine) in self.routines_in_path(schema, name) {
            if !found.iter().any(|known| known.inputs() == routine.inputs()) {
                found.push(routine);
            }
        }
        found
    }

    /// The columns of a row that a function gives, if it is of several, with their names where they have some.
    pub fn result_columns(&self, routine: &RoutineDef) -> Result<Vec<(String, Type)>> {
        let Some(relation) = routine.rows_of else {
            let named = routine.output_parameters().enumerate();
            return Ok(named
                .map(|(index, parameter)| match parameter.name.as_str() {
                    "" => (format!("column{}", index + 1), parameter.ty),
                    name => (name.to_owned(), parameter.ty),
                })
                .collect());
        };
        match self.table_by_oid(relation)? {
            Some(table) => Ok(table.visible().map(|(_, column)| (column.name.clone(), column.ty)).collect()),
            None => {
                let message = format!("the table whose rows function {} gives does not exist", routine.shown());
                Err(Error::statement(sqlstate::UNDEFINED_TABLE, message))
            }
        }
    }

    /// `pg_get_function_result`
    fn result_of(&self, routine: &RoutineDef) -> String {
        let relation = routine.rows_of.and_then(|relation| self.table_by_oid(relation).ok().flatten());
        let shown = |oid: Oid| match &relation {
            Some(table) => self.shown_name(table),
            None => typmod::format_type(Type::plain(oid)),
        };
        let columns: Vec<String> = routine
            .parameters
            .iter()
            .filter(|parameter| parameter.mode == b't')
            .map(|parameter| format!("{} {}", quoted_identifier(&parameter.name), shown(parameter.ty.oid)))
            .collect();
        match (columns.is_empty(), routine.set) {
            (false, _) => format!("TABLE({})", columns.join(", ")),
            (true, true) => format!("SETOF {}", shown(routine.result)),
            (true, false) => shown(routine.result),
        }
    }
}
