//! Brackets: elements and slices of arrays where they are read, and columns of which a part is given a value.
//!
//! `a[1][2]` is one thing, not an element of an element. If one pair of brackets has a colon, all are slices, and `[n]` is `[1:n]`.
//!
//! Rules
//! 1. A part that is assigned is an operation on the whole: `a[1] = x` is `a = with_element(a, 1, x)`, and several parts of a column
//!    are put around one another.
//! 2. In an `INSERT` such a column begins as null, whatever its default is.

use super::Binder;
use super::expr::Clause;
use super::scope::Scope;
use super::tree::{Call, Expr, ExprKind};
use crate::parser::ast::{self, Subscript};
use crate::plan::blob::Constant;
use crate::types::array::DIMENSIONS_MAX;
use crate::types::cast::Context;
use crate::types::function::Volatility;
use crate::types::op::{LEFT_OUT, Op};
use crate::types::{Oid, Type, table, typmod};
use base::{Error, Result, sqlstate};

fn is_slice(subscripts: &[Subscript<'_>]) -> bool {
    subscripts.iter().any(|subscript| matches!(subscript, Subscript::Slice(..)))
}

fn type_number(oid: Oid) -> Expr {
    Expr::constant(Constant::Int(oid.0.into()), Type::plain(Oid::OID))
}

/// The array that a slice of a type's value is: of a vector, which counts from zero, an ordinary one.
fn slice_type(ty: Type) -> Type {
    match ty.oid {
        Oid::INT2VECTOR => Type::plain(Oid::INT2_ARRAY),
        Oid::OIDVECTOR => Type::plain(Oid::OID_ARRAY),
        _ => ty,
    }
}

impl Binder<'_> {
    /// `operand[…]`
    pub(super) fn subscripted(
        &mut self,
        operand: Expr,
        subscripts: &[Subscript<'_>],
        scope: &Scope<'_>,
        clause: Clause,
        at: u32,
    ) -> Result<Expr> {
        if operand.ty.oid == Oid::JSONB {
            let mut part = operand;
            for subscript in subscripts {
                let Subscript::Index(index) = subscript else {
                    let message = "jsonb subscript does not support slices";
                    return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message).at(self.position(at)));
                };
                let bound = self.expr(index, scope, clause)?;
                part = self.json_subscript(part, bound, index.at)?;
            }
            return Ok(part);
        }
        let element = self.element_type(operand.ty, at)?;
        let indexes = self.indexes(subscripts, scope, clause, at)?;
        if !is_slice(subscripts)
            && let [index] = indexes.as_slice()
        {
            return Ok(super::coerce::element(operand, index.clone(), element));
        }
        let (op, ty, name) = match is_slice(subscripts) {
            false => (Op::ArrayElement, Type { oid: element, typmod: operand.ty.typmod }, "array_element"),
            true if operand.ty.oid == Oid::NAME => {
                let message = "slices of fixed-length arrays not implemented";
                return Err(Error::unsupported(message).at(self.position(at)));
            }
            true => (Op::ArraySlice, slice_type(operand.ty), "array_slice"),
        };
        let mut arguments = vec![operand];
        arguments.extend(indexes);
        let call = Call { op, strict: true, volatility: Volatility::Immutable, arguments, name, operator: false };
        Ok(self.call(call, ty))
    }

    /// The type of the elements of what is subscripted.
    fn element_type(&self, ty: Type, at: u32) -> Result<Oid> {
        table::element_of(ty.oid).ok_or_else(|| {
            let ty = typmod::format_type(Type::plain(ty.oid));
            let message = format!("cannot subscript type {ty} because it does not support subscripting");
            Error::statement(sqlstate::DATATYPE_MISMATCH, message).at(self.position(at))
        })
    }

    /// The indexes in brackets: one for each pair; two for each where one of them has a colon.
    fn indexes(
        &mut self,
        subscripts: &[Subscript<'_>],
        scope: &Scope<'_>,
        clause: Clause,
        at: u32,
    ) -> Result<Vec<Expr>> {
        if subscripts.len() > DIMENSIONS_MAX {
            let count = subscripts.len();
            let message =
                format!("number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})");
            return Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, message).at(self.position(at)));
        }
        let number = |value| Expr::constant(Constant::Int(value), Type::plain(Oid::INT8));
        let slices = is_slice(subscripts);
        let mut indexes = Vec::with_capacity(2 * subscripts.len());
        for subscript in subscripts {
            match subscript {
                Subscript::Index(index) => {
                    if slices {
                        indexes.push(number(1));
                    }
                    indexes.push(self.index(index, scope, clause)?);
                }
                Subscript::Slice(lower, upper) => {
                    for bound in [lower, upper] {
                        indexes.push(match bound {
                            Some(bound) => self.index(bound, scope, clause)?,
                            None => number(LEFT_OUT),
                        });
                    }
                }
            }
        }
        Ok(indexes)
    }

    fn index(&mut self, index: &ast::Expr<'_>, scope: &Scope<'_>, clause: Clause) -> Result<Expr> {
        let bound = self.expr(index, scope, clause)?;
        match self.try_coerce(bound, Type::plain(Oid::INT4), Context::Assignment, index.at)? {
            Ok(bound) => Ok(bound),
            Err(_) => Err(Error::statement(sqlstate::DATATYPE_MISMATCH, "array subscript must have type integer")
                .at(self.position(index.at))),
        }
    }

    /// A column's value in which a part is another one.
    pub(super) fn with_part(
        &mut self,
        whole: Expr,
        column: &ast::Assigned<'_>,
        value: Expr,
        (scope, clause): (&Scope<'_>, Clause),
        at: u32,
    ) -> Result<Expr> {
        let place = column.name.at;
        let ty = whole.ty;
        if ty.oid == Oid::JSONB {
            return Err(self.unsupported("assigning a part of a jsonb value", place));
        }
        let element = self.element_type(ty, place)?;
        if table::by_oid(ty.oid).is_none_or(|row| !row.is_array()) {
            return Err(self.unsupported("assigning a part of a value that is no array", place));
        }
        let indexes = self.indexes(column.subscripts, scope, clause, place)?;
        let slice = is_slice(column.subscripts);
        let wanted = if slice { ty } else { Type { oid: element, typmod: ty.typmod } };
        let value = match self.try_coerce(value, wanted, Context::Assignment, at)? {
            Ok(value) => value,
            Err(value) => {
                let (name, wanted) = (column.name.text, typmod::format_type(Type::plain(wanted.oid)));
                let given = typmod::format_type(Type::plain(value.ty.oid));
                let message = format!(
                    "subscripted assignment to \"{name}\" requires type {wanted} but expression is of type {given}"
                );
                return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message)
                    .hint("You will need to rewrite or cast the expression.")
                    .at(self.position(at)));
            }
        };
        let (op, name) = match slice {
            true => (Op::ArrayWithSlice, "array_with_slice"),
            false => (Op::ArrayWithElement, "array_with_element"),
        };
        let mut arguments = vec![whole, type_number(element), value];
        arguments.extend(indexes);
        let call = Call { op, strict: false, volatility: Volatility::Immutable, arguments, name, operator: false };
        Ok(Expr { kind: ExprKind::Call(Box::new(call)), ty })
    }

    /// The error of a part that is to get a default.
    pub(super) fn no_default_part(&self, at: u32) -> Error {
        Error::unsupported("cannot set an array element to DEFAULT").at(self.position(at))
    }

    /// An operation that puts an element to an array puts it to an empty one where there is none.
    pub(super) fn with_arrays(&mut self, op: Op, arguments: &mut [Expr]) -> Result<()> {
        let array = match (op, arguments) {
            (Op::ArrayAppend, [array, _]) | (Op::ArrayPrepend, [_, array]) => array,
            _ => return Ok(()),
        };
        let null = Expr::constant(Constant::Null, array.ty);
        *array = self.or_empty(std::mem::replace(array, null))?;
        Ok(())
    }

    fn or_empty(&mut self, array: Expr) -> Result<Expr> {
        let ty = array.ty;
        let Some(element) = table::element_of(ty.oid) else { return Ok(array) };
        let empty = Constant::Bytes(crate::types::array::encode(element, &[], &[])?);
        let empty = Expr::constant(empty, ty);
        Ok(match array.kind {
            ExprKind::Constant(Constant::Null) => empty,
            ExprKind::Constant(_) | ExprKind::Array(_) => array,
            _ => Expr { kind: ExprKind::Coalesce(vec![array, empty]), ty },
        })
    }
}
