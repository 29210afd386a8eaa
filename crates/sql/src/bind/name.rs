//! The name of a result column that was given none, as PostgreSQL names it.

use crate::parser::ast::{Body, Expr, ExprKind, SelectItem, Special};

/// The name of a column without a better one.
pub const UNNAMED: &str = "?column?";

/// The name of a result column.
pub fn column_name(expr: &Expr<'_>) -> String {
    figure(expr).map_or(UNNAMED, |(name, _)| name).to_owned()
}

/// The name, and whether it is a good one: a cast's operand may have a better one than the cast.
fn figure<'a>(expr: &Expr<'a>) -> Option<(&'a str, bool)> {
    let good = |name| Some((name, true));
    match expr.kind {
        ExprKind::Column(path) => path.last().map(|name| (name.text, true)),
        ExprKind::Field(_, name) => good(name.text),
        ExprKind::Subscript(operand, _) | ExprKind::Collate(operand, _) => figure(operand),
        ExprKind::Call(call) => call.path.last().map(|name| (name.text, true)),
        ExprKind::NullIf(..) => good("nullif"),
        ExprKind::Cast { operand, target } => match figure(operand) {
            Some(better @ (_, true)) => Some(better),
            _ => target.path.last().map(|name| (name.text, false)),
        },
        ExprKind::Exists(_) => good("exists"),
        ExprKind::ArrayQuery(_) => good("array"),
        ExprKind::Subquery(query) => match query.body {
            Body::Select(select) => match select.items.first()? {
                SelectItem::Expr(_, Some(label), _) => good(label.text),
                SelectItem::Expr(expr, None, _) => good(figure(expr).map_or(UNNAMED, |(name, _)| name)),
                _ => None,
            },
            Body::Values(_) => good("column1"),
            _ => None,
        },
        ExprKind::Case { otherwise, .. } => match otherwise.and_then(figure) {
            Some(better @ (_, true)) => Some(better),
            _ => Some(("case", false)),
        },
        ExprKind::Array(_) => good("array"),
        ExprKind::Row(_) => good("row"),
        ExprKind::Coalesce(_) => good("coalesce"),
        ExprKind::Greatest(_) => good("greatest"),
        ExprKind::Least(_) => good("least"),
        ExprKind::Special(special, _) => good(match special {
            Special::CurrentDate => "current_date",
            Special::CurrentTime => "current_time",
            Special::CurrentTimestamp => "current_timestamp",
            Special::LocalTime => "localtime",
            Special::LocalTimestamp => "localtimestamp",
            Special::CurrentRole => "current_role",
            Special::CurrentUser => "current_user",
            Special::SessionUser => "session_user",
            Special::User => "user",
            Special::CurrentCatalog => "current_catalog",
            Special::CurrentSchema => "current_schema",
        }),
        _ => None,
    }
}
