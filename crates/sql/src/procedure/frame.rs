//! The variables of a call, and values that change their types on the way into one.
//!
//! Rules
//! 1. A record has the columns of the row that it was last given; one of a table's row type keeps that table's.
//! 2. [`Frame::shape`] is another one whenever the type of a variable, or the columns of a record, became others: plans that were made
//!    before are not used any more.

use super::kept::Planned;
use super::tree::{Body, Piece, Target, TypeText};
use crate::bind::variable::{Meaning, Variable};
use crate::catalog::Catalog;
use crate::plan::blob::Constant;
use crate::session::current::Stamp;
use crate::session::{Environment, Session};
use crate::types::cast::{self, Context, Method};
use crate::types::op::Op;
use crate::types::{Arena, Datum, EvalCtx, Kind, Oid, Type, io, table};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};
use std::sync::Arc;

/// A variable's type, found out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// One value.
    Scalar(Type),
    /// A table's row.
    Row(Vec<(String, Type)>),
    /// Any row.
    Record,
    /// Whatever it is given first.
    Value,
}

/// A field of a record.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) value: Constant,
}

/// What a variable holds.
#[derive(Debug)]
pub(crate) enum Slot {
    Scalar(Type, Constant),
    /// A record; `None` before the first row. Then whether its columns are a table's, and whether it is null as a whole, which is something
    /// else than a row of nulls for whoever takes it as a row.
    Record(Option<Vec<Field>>, bool, bool),
}

/// A plan that is kept while the call runs.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) planned: Arc<Planned>,
    pub(crate) stamp: Option<Stamp>,
    pub(crate) shape: u64,
}

/// The state of a call.
pub(crate) struct Frame {
    pub(crate) slots: Vec<Slot>,
    pub(crate) kept: Vec<Option<Kept>>,
    /// See rule 2.
    pub(crate) shape: u64,
    /// `ROW_COUNT`
    pub(crate) row_count: u64,
    /// The statement at hand: its line, and what it is called.
    pub(crate) at: (u32, &'static str),
    /// Errors that handlers deal with, the innermost last.
    pub(crate) errors: Vec<Error>,
}

/// Finds out the types of a body's variables.
pub(crate) fn shapes(body: &Body, catalog: &Catalog<'_>) -> Result<Vec<Shape>> {
    let mut shapes: Vec<Shape> = Vec::with_capacity(body.variables.len());
    for variable in &body.variables {
        let shape = match &variable.ty {
            TypeText::Record => Shape::Record,
            TypeText::Value => Shape::Value,
            TypeText::Like(number) => shapes.get(*number as usize).cloned().unwrap_or(Shape::Value),
            TypeText::Named(text) => named(text, catalog)?,
            TypeText::Column(names) => {
                let [path @ .., column] = names.as_slice() else { return Err(no_relation(names)) };
                let table = relation(path, catalog)?.ok_or_else(|| no_relation(path))?;
                let found = table.columns.iter().find(|known| known.name == *column && !known.dropped);
                let found = found.ok_or_else(|| {
                    let message = format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
                    Error::statement(sqlstate::UNDEFINED_COLUMN, message)
                })?;
                Shape::Scalar(found.ty)
            }
            TypeText::Row(names) => Shape::Row(row(names, catalog)?.ok_or_else(|| no_relation(names))?),
        };
        shapes.push(shape);
    }
    Ok(shapes)
}

fn named(text: &str, catalog: &Catalog<'_>) -> Result<Shape> {
    let ty = kernel::fiber::on_engine_stack(|| {
        let bump = bumpalo::Bump::new();
        let name = crate::parser::parse_type(text, &bump)?;
        match catalog.type_of(&name) {
            Ok(ty) => Ok(Ok(ty)),
            // A table's name is the name of its row's type.
            Err(error) => Ok(Err((error, name.path.iter().map(|name| name.text.to_owned()).collect::<Vec<_>>()))),
        }
    })?;
    match ty {
        Ok(ty) if ty.oid == Oid::RECORD => Ok(Shape::Record),
        Ok(ty) if crate::types::table::by_oid(ty.oid).is_some_and(|row| row.category == b'P') => {
            let shown = crate::types::typmod::format_type(ty);
            Err(Error::unsupported(format!("variables of type {shown} are not supported")))
        }
        Ok(ty) => Ok(Shape::Scalar(ty)),
        Err((error, path)) => match row(&path, catalog)? {
            Some(fields) => Ok(Shape::Row(fields)),
            None => Err(Error::statement(error.sqlstate(), error.message().to_owned())),
        },
    }
}

#[cold]
fn no_relation(path: &[String]) -> Error {
    Error::statement(sqlstate::UNDEFINED_TABLE, format!("relation \"{}\" does not exist", path.join(".")))
}

fn relation(
    path: &[String],
    catalog: &Catalog<'_>,
) -> Result<Option<std::sync::Arc<crate::catalog::definition::TableDef>>> {
    match path {
        [name] => catalog.find(None, name),
        [schema, name] => catalog.find(Some(schema), name),
        _ => Ok(None),
    }
}

fn row(path: &[String], catalog: &Catalog<'_>) -> Result<Option<Vec<(String, Type)>>> {
    let Some(table) = relation(path, catalog)? else { return Ok(None) };
    let columns = table.columns.iter().filter(|column| !column.dropped);
    Ok(Some(columns.map(|column| (column.name.clone(), column.ty)).collect()))
}

impl Frame {
    /// A frame in which every variable is null.
    pub(crate) fn new(body: &Body, shapes: &[Shape]) -> Frame {
        Frame {
            slots: shapes.iter().map(empty).collect(),
            kept: vec![None; body.pieces as usize],
            shape: 0,
            row_count: 0,
            at: (0, ""),
            errors: Vec::new(),
        }
    }

    /// Makes a variable null, as at the beginning of its block.
    pub(crate) fn clear(&mut self, number: u32, shape: &Shape) {
        let slot = &mut self.slots[number as usize];
        match (slot, shape) {
            (Slot::Scalar(_, value), Shape::Scalar(_)) => *value = Constant::Null,
            (Slot::Record(None, ..), Shape::Record) => {}
            (slot, shape) => {
                *slot = empty(shape);
                self.shape += 1;
            }
        }
    }

    /// The names that a piece can mention, with the types of the parameters that they are.
    pub(crate) fn names(&self, body: &Body, piece: &Piece) -> (Vec<Variable>, Vec<Oid>) {
        let (mut names, mut types) = (Vec::new(), Vec::new());
        for &number in &piece.variables {
            let known = &body.variables[number as usize];
            let meaning = match &self.slots[known.alias.unwrap_or(number) as usize] {
                Slot::Scalar(ty, _) => {
                    types.push(ty.oid);
                    Meaning::Parameter(types.len() as u32)
                }
                Slot::Record(None, ..) => Meaning::Unassigned,
                Slot::Record(Some(fields), ..) => {
                    let first = types.len() as u32 + 1;
                    types.extend(fields.iter().map(|field| field.ty.oid));
                    types.push(Oid::BOOL);
                    let fields = fields.iter().enumerate();
                    let fields = fields.map(|(index, field)| (field.name.clone(), first + index as u32)).collect();
                    Meaning::Record(fields, Some(types.len() as u32))
                }
            };
            let (label, name, yields) = (known.label.clone(), known.name.clone(), body.is_sql);
            names.push(Variable { label, name, meaning, yields });
        }
        (names, types)
    }

    /// The values of these parameters.
    pub(crate) fn values(&self, body: &Body, piece: &Piece) -> Vec<Datum<'_>> {
        let mut values = Vec::with_capacity(piece.variables.len());
        for &number in &piece.variables {
            match &self.slots[body.variables[number as usize].alias.unwrap_or(number) as usize] {
                Slot::Scalar(_, value) => values.push(value.datum()),
                Slot::Record(Some(fields), _, absent) => {
                    values.extend(fields.iter().map(|field| field.value.datum()));
                    values.push(Datum::Bool(*absent));
                }
                Slot::Record(None, ..) => {}
            }
        }
        values
    }
}

fn empty(shape: &Shape) -> Slot {
    match shape {
        Shape::Scalar(ty) => Slot::Scalar(*ty, Constant::Null),
        Shape::Value => Slot::Scalar(Type::plain(Oid::TEXT), Constant::Null),
        Shape::Record => Slot::Record(None, false, true),
        Shape::Row(fields) => {
            let field = |(name, ty): &(String, Type)| Field { name: name.clone(), ty: *ty, value: Constant::Null };
            Slot::Record(Some(fields.iter().map(field).collect()), true, true)
        }
    }
}

impl<A: Allocator + Copy> Session<A> {
    /// A value as one of another type: as an assignment does it, and by the text form where no cast does.
    pub(crate) fn converted(&self, env: &Environment<'_>, value: Constant, from: Type, to: Type) -> Result<Constant> {
        if matches!(value, Constant::Null) || (from.oid == to.oid && (to.typmod == -1 || to.typmod == from.typmod)) {
            return Ok(value);
        }
        let method = cast::find(from.oid, to.oid, Context::Assignment).unwrap_or(Method::Text);
        // Names of objects are the catalog's, in both directions.
        if matches!(method, Method::Text | Method::Op(Op::TextToRegclass)) {
            if table::kind(to.oid) == Kind::Reg {
                let text = self.printed(env, &value, from)?;
                return Ok(Constant::Int(self.catalog(env)?.read_reg(to.oid, &text)?.0.into()));
            }
            if table::kind(from.oid) == Kind::Reg {
                let text = self.printed(env, &value, from)?;
                return self.converted(env, Constant::Bytes(text.into_bytes()), Type::plain(Oid::TEXT), to);
            }
        }
        let styles = self.styles(env)?;
        let arena = Arena::new();
        let now = kernel::clock::wall_us();
        let mut ctx = EvalCtx {
            arena: &arena,
            style: styles.style(self.transaction.started_at()),
            statement_time: now,
            clock_time: now,
            random: 0,
            expressions: None,
        };
        cast::apply(method, from.oid, to, false, value.datum(), &mut ctx).map(Constant::of)
    }

    /// A value as a client would see it.
    pub(crate) fn printed(&self, env: &Environment<'_>, value: &Constant, ty: Type) -> Result<String> {
        if let (Kind::Reg, Constant::Int(number)) = (table::kind(ty.oid), value) {
            return Ok(self.catalog(env)?.show_reg(ty.oid, Oid(*number as u32)));
        }
        let styles = self.styles(env)?;
        let arena = Arena::new();
        let style = styles.style(self.transaction.started_at());
        let text = io::output_text(table::kind(ty.oid), value.datum(), &style, &arena)?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

/// The variable of a target, for errors.
pub(crate) fn shown(body: &Body, target: &Target) -> String {
    body.variables[target.variable as usize].name.clone()
}
