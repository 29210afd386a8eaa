//! Several functions side by side in `FROM`: `ROWS FROM (f(), g())`, `unnest(a, b)`.
//!
//! Each counts its rows; they are joined by the counts, so that of one that has ended the rest is null.

use super::Binder;
use super::scope::{Namespace, Scope};
use super::tree::{Body, Expr, ExprKind, From, Join, Select, SortKey, Source, Target};
use crate::parser::ast::{self, Alias, JoinKind, Operator};
use base::Result;

impl Binder<'_> {
    pub(super) fn rows_from(
        &mut self,
        calls: &[ast::Expr<'_>],
        ordinality: bool,
        alias: Option<&Alias<'_>>,
        scope: &Scope<'_>,
    ) -> Result<(From, Namespace)> {
        let mut joined: Option<(From, Expr)> = None;
        let mut targets = Vec::new();
        for call in calls {
            let (from, offers) = self.function_item(call, true, None, scope)?;
            let mut columns = offers.columns;
            let Some(place) = columns.pop().map(|column| column.expr) else { continue };
            targets.extend(columns.into_iter().map(|column| Target { name: column.name, expr: column.expr }));
            joined = Some(match joined {
                None => (from, place),
                Some((left, before)) => {
                    let operator = Operator { schema: None, name: "=", at: call.at };
                    let test = self.operator(&operator, Some(before.clone()), place.clone())?;
                    let ty = place.ty;
                    let join = Join { kind: JoinKind::Full, left, right: from, condition: vec![test] };
                    let either = Expr { kind: ExprKind::Coalesce(vec![before, place]), ty };
                    (From::Join(Box::new(join)), either)
                }
            });
        }
        let (from, place) = joined.ok_or_else(|| self.unsupported("this item of FROM", 0))?;
        let visible = targets.len() + usize::from(ordinality);
        let name = if ordinality { "ordinality" } else { "" };
        targets.push(Target { name: name.to_owned(), expr: place });
        let order = SortKey { target: targets.len() as u16 - 1, descending: false, nulls_first: false };
        let mut query = self.plain_query(Body::Select(Select { from: vec![from], ..Select::default() }), targets)?;
        query.visible = visible;
        query.order_by = vec![order];
        let relation = query.output;
        let known = &mut self.bound.relations[relation as usize];
        known.name = calls.first().map_or_else(String::new, super::name::column_name);
        known.source = Source::Query(Box::new(query));
        if let Some(alias) = alias {
            self.rename(relation, alias)?;
        }
        Ok((From::Relation(relation), self.offers(relation, None)))
    }
}
