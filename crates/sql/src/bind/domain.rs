//! Domains: what they demand of a value, and what they give a column that is given nothing.
//!
//! ```text
//!   CAST (x AS d)      x, cast to the type that d is made of, through what d demands
//!   a column of d      the same, of the new row, before what the table demands of it
//! ```
//!
//! Rules
//! 1. A value has the type that its domain is made of; the domain is only known where it is named.
//! 2. A statement that reads what a domain demands depends on the domain as on a table: it holds it in the mode `AccessShare`.
//! 3. `VALUE` in a condition is the value, as if it were the only column there is.

use super::Binder;
use super::expr::Clause;
use super::scope::{Namespace, Scope, ScopeColumn};
use super::tree::{Call, Expr, ExprKind, RelationId};
use crate::catalog::definition::TableDef;
use crate::catalog::user_type::UserTypeDef;
use crate::plan::blob::Constant;
use crate::types::cast::Context;
use crate::types::function::Volatility;
use crate::types::op::Op;
use crate::types::{Oid, Type, typmod};
use base::{Error, Result, sqlstate};
use std::sync::Arc;

impl Binder<'_> {
    /// A value of the type that a domain is made of, cast to the domain.
    pub(super) fn into_domain(&mut self, value: Expr, domain: &UserTypeDef) -> Result<Expr> {
        self.note_type(domain.oid, false);
        // What it gives is bound too, so that a domain whose default means nothing is not made.
        let base = value.ty;
        self.domain_default(Some(domain.oid), base)?;
        if domain.domain.as_ref().is_none_or(|known| !known.demands()) {
            return Ok(value);
        }
        self.share(value, |binder, shared| binder.demanded(shared.clone(), shared, domain))
    }

    /// What domains demand of the columns of a new row, as conditions that are met or end in an error.
    pub(super) fn domains_of(&mut self, table: &TableDef, new: RelationId) -> Result<Vec<Expr>> {
        let mut all = Vec::new();
        for (at, column) in table.visible() {
            let Some(domain) = self.domain_of(column.domain) else { continue };
            let value = Expr::column(new, at as u16, column.ty);
            let met = Expr::constant(Constant::Bool(true), Type::plain(Oid::BOOL));
            if domain.domain.as_ref().is_some_and(|known| known.demands()) {
                all.push(self.demanded(met, value, &domain)?);
            }
        }
        Ok(all)
    }

    /// The domain of that number, on which the statement depends from now on.
    pub(super) fn domain_of(&mut self, oid: Option<Oid>) -> Option<Arc<UserTypeDef>> {
        let found = self.catalog.user_type(oid?).cloned()?;
        self.note_type(found.oid, false);
        Some(found)
    }

    /// What a domain gives a column that has no default of its own.
    pub(super) fn domain_default(&mut self, oid: Option<Oid>, ty: Type) -> Result<Option<Expr>> {
        let Some(found) = self.domain_of(oid) else { return Ok(None) };
        let Some(text) = found.domain.as_ref().and_then(|domain| domain.default.as_ref()) else { return Ok(None) };
        let bound = self.stored(text, |binder, expr| {
            let bound = binder.expr(expr, &Scope::EMPTY, Clause::Default)?;
            match binder.try_coerce(bound, ty, Context::Assignment, 0)? {
                Ok(bound) => Ok(bound),
                Err(bound) => {
                    let shown = |oid| typmod::format_type(Type::plain(oid));
                    let (wanted, given) = (shown(ty.oid), shown(bound.ty.oid));
                    let name = &found.name;
                    let message =
                        format!("column \"{name}\" is of type {wanted} but default expression is of type {given}");
                    Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message)
                        .hint("You will need to rewrite or cast the expression."))
                }
            }
        })?;
        refuse_subquery(&bound, "DEFAULT expression")?;
        Ok(Some(bound))
    }

    /// The first expression, if the value may be of the domain.
    fn demanded(&mut self, mut first: Expr, value: Expr, domain: &UserTypeDef) -> Result<Expr> {
        let Some(known) = &domain.domain else { return Ok(first) };
        if known.not_null {
            let ty = Type::plain(Oid::BOOL);
            let present = Expr { kind: ExprKind::IsNull(Box::new(value.clone()), true), ty };
            first = demand(first, present, domain.oid, None);
        }
        for check in &known.checks {
            let named = ScopeColumn { name: "value".to_owned(), expr: value.clone() };
            let namespace = Namespace { columns: vec![named], ..Namespace::default() };
            let scope = Scope { namespace: &namespace, parent: None };
            let condition = self.stored(&check.text, |binder, expr| {
                let bound = binder.expr(expr, &scope, Clause::Check)?;
                binder.condition(bound, "CHECK", 0)
            })?;
            refuse_subquery(&condition, "check constraint")?;
            first = demand(first, condition, domain.oid, Some(&check.name));
        }
        Ok(first)
    }
}

fn refuse_subquery(bound: &Expr, what: &str) -> Result<()> {
    match bound.any(&mut |part| matches!(part.kind, ExprKind::Subplan(_))) {
        true => Err(Error::unsupported(format!("cannot use subquery in {what}"))),
        false => Ok(()),
    }
}

fn demand(first: Expr, condition: Expr, domain: Oid, name: Option<&str>) -> Expr {
    let ty = first.ty;
    let name = name.map_or(Constant::Null, |name| Constant::Bytes(name.as_bytes().to_vec()));
    let call = Call {
        op: Op::DomainCheck,
        strict: false,
        // What it demands may change from one statement to the next.
        volatility: Volatility::Stable,
        arguments: vec![
            first,
            condition,
            Expr::constant(Constant::Int(domain.0.into()), Type::plain(Oid::OID)),
            Expr::constant(name, Type::plain(Oid::TEXT)),
        ],
        name: "domain",
        operator: false,
    };
    Expr { kind: ExprKind::Call(Box::new(call)), ty }
}
