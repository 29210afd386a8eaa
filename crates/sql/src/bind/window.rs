//! Windows: which rows a window function sees, and in which order.
//!
//! While a `SELECT` is bound, calls of window functions are collected as aggregates are: each stands in expressions as a
//! column of its window's relation. Windows that are the same are one. When the keys of a grouping are known, what windows are
//! made of is rewritten as everything else above the grouping ([`super::grouping`]).
//!
//! Rules
//! 1. A window function belongs to the query that it is written in, whatever columns are in it.
//! 2. Windows are computed in PostgreSQL's order, so that rows without an `ORDER BY` come in its order too: those with more keys
//!    first, so that one sort serves those whose keys are the beginning of others'.

use super::Binder;
use super::expr::Clause;
use super::grouping::Rewriting;
use super::scope::Scope;
use super::tree::{Expr, ExprKind, Frame, FrameEnd, Relation, Source, Window, WindowCall, WindowFunction};
use crate::parser::ast::{self, FrameMode, Over};
use crate::types::aggregate::{AggCall, AggOp, Aggregate};
use crate::types::cast::Context;
use crate::types::resolve::Resolved;
use crate::types::{Oid, Type, typmod, window};
use base::{Error, Result, sqlstate};
use std::cmp::Ordering;

/// A window of the `WINDOW` clause.
#[derive(Clone, Debug)]
pub(super) struct Named {
    name: String,
    shape: Shape,
}

/// A window without the calls that are computed over it.
#[derive(Clone, Debug)]
struct Shape {
    partition_by: Vec<Expr>,
    order_by: Vec<(Expr, bool, bool)>,
    frame: Option<Frame>,
}

/// The numbers of what rows are sorted by, with their directions.
type Keys = Vec<(usize, bool, bool)>;

/// A window function or aggregate with the types that it has in a call.
pub(super) enum Called {
    Window(Resolved<window::WindowFunction>),
    Aggregate(Resolved<Aggregate>),
}

impl Clause {
    /// The error where window functions cannot stand; none where they can.
    fn refuses_windows(self) -> Option<(&'static str, base::SqlState)> {
        let message = match self {
            Clause::Select | Clause::OrderBy => return None,
            Clause::Where => "window functions are not allowed in WHERE",
            Clause::JoinOn => "window functions are not allowed in JOIN conditions",
            Clause::GroupBy => "window functions are not allowed in GROUP BY",
            Clause::Having => "window functions are not allowed in HAVING",
            Clause::Limit => "window functions are not allowed in LIMIT",
            Clause::Offset => "window functions are not allowed in OFFSET",
            Clause::From => "window functions are not allowed in functions in FROM",
            Clause::Values => "window functions are not allowed in VALUES",
            Clause::Update => "window functions are not allowed in UPDATE",
            Clause::Returning => "window functions are not allowed in RETURNING",
            Clause::Check => "window functions are not allowed in check constraints",
            Clause::Default => "window functions are not allowed in DEFAULT expressions",
            Clause::Index => "window functions are not allowed in index expressions",
            Clause::IndexPredicate => "window functions are not allowed in index predicates",
            Clause::Generation => "window functions are not allowed in column generation expressions",
            Clause::Argument | Clause::Execute => "window functions are not allowed in EXECUTE parameters",
            Clause::Filter => "window functions are not allowed in FILTER",
            Clause::WindowArgument => "window function calls cannot be nested",
            Clause::Window | Clause::Frame(_) => "window functions are not allowed in window definitions",
            Clause::AggregateArgument => {
                return Some((
                    "aggregate function calls cannot contain window function calls",
                    sqlstate::GROUPING_ERROR,
                ));
            }
        };
        Some((message, sqlstate::WINDOWING_ERROR))
    }
}

fn mode_word(mode: FrameMode) -> &'static str {
    match mode {
        FrameMode::Range => "RANGE",
        FrameMode::Rows => "ROWS",
        FrameMode::Groups => "GROUPS",
    }
}

impl Binder<'_> {
    /// Binds the `WINDOW` clause.
    pub(super) fn named_windows(
        &mut self,
        windows: &[(ast::Name<'_>, ast::Window<'_>)],
        scope: &Scope<'_>,
    ) -> Result<()> {
        for (name, window) in windows {
            if self.named_window(name.text).is_some() {
                let message = format!("window \"{}\" is already defined", name.text);
                return Err(Error::statement(sqlstate::WINDOWING_ERROR, message).at(self.position(window.at)));
            }
            let shape = self.window_shape(window, scope)?;
            if let Some(collected) = &mut self.grouping {
                collected.named.push(Named { name: name.text.to_owned(), shape });
            }
        }
        Ok(())
    }

    fn named_window(&self, name: &str) -> Option<&Shape> {
        let named = self.grouping.as_ref().map_or(&[][..], |collected| &collected.named);
        named.iter().find(|named| named.name == name).map(|named| &named.shape)
    }

    fn find_window(&self, name: ast::Name<'_>) -> Result<Shape> {
        self.named_window(name.text).cloned().ok_or_else(|| {
            let message = format!("window \"{}\" does not exist", name.text);
            Error::statement(sqlstate::UNDEFINED_OBJECT, message).at(self.position(name.at))
        })
    }

    /// Binds a call over a window, whose arguments are bound.
    pub(super) fn window_call(
        &mut self,
        call: &ast::Call<'_>,
        called: Called,
        arguments: Vec<Expr>,
        scope: &Scope<'_>,
        clause: Clause,
        at: u32,
    ) -> Result<Expr> {
        let unsupported = |message: &str| Err(Error::unsupported(message.to_owned()).at(self.position(at)));
        if call.distinct {
            return unsupported("DISTINCT is not implemented for window functions");
        }
        if call.filter.is_some() && matches!(called, Called::Window(_)) {
            return unsupported("FILTER is not implemented for non-aggregate window functions");
        }
        if !call.order_by.is_empty() {
            return unsupported("aggregate ORDER BY is not implemented for window functions");
        }
        if let Called::Aggregate(aggregate) = &called
            && aggregate.row.op == AggOp::CountRows
            && !call.star
        {
            let message = format!("{}(*) must be used to call a parameterless aggregate function", aggregate.row.name);
            return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).at(self.position(at)));
        }
        if let Some((message, state)) = clause.refuses_windows() {
            return Err(Error::statement(state, message).at(self.position(at)));
        }
        let (function, coerced, result, name) = match called {
            Called::Window(Resolved { row, args, result, context }) => {
                let mut coerced = Vec::with_capacity(arguments.len());
                for (argument, oid) in arguments.into_iter().zip(args) {
                    coerced.push(self.coerce(argument, Type::plain(oid), context, at)?);
                }
                (WindowFunction::Window(row.op), coerced, result, row.name)
            }
            Called::Aggregate(Resolved { row, args, result, context }) => {
                let (coerced, argument) = self.aggregated(row.op, arguments, &args, context, at)?;
                (WindowFunction::Aggregate(AggCall::new(row.op, argument)), coerced, result, row.name)
            }
        };
        let filter = match call.filter {
            Some(filter) => {
                let bound = self.expr(filter, scope, Clause::Filter)?;
                Some(self.condition(bound, "FILTER", filter.at)?)
            }
            None => None,
        };
        let shape = match call.over {
            Some(Over::Name(name)) => self.find_window(name)?,
            Some(Over::Window(window)) => self.window_shape(window, scope)?,
            None => return Err(self.unsupported("this call", at)),
        };
        let ty = Type::plain(result);
        let call = WindowCall { function, arguments: coerced, filter, ty, name };
        let window = self.window_of(shape, at)?;
        let Some(window) = self.grouping.as_mut().and_then(|collected| collected.windows.get_mut(window)) else {
            return Err(self.unsupported("a window function here", at));
        };
        let column = window.calls.iter().position(|other| *other == call).unwrap_or_else(|| {
            window.calls.push(call);
            window.calls.len() - 1
        });
        let column = Expr::column(window.relation, column as u16, ty);
        self.note_column(&column, at);
        Ok(column)
    }

    /// The number of the window of that shape; made if it is new.
    fn window_of(&mut self, shape: Shape, at: u32) -> Result<usize> {
        let bound = &self.bound;
        let windows = self.grouping.as_ref().map_or(&[][..], |collected| &collected.windows);
        let same_order = |left: &[(Expr, bool, bool)], right: &[(Expr, bool, bool)]| {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| (left.1, left.2) == (right.1, right.2) && bound.same(&left.0, &right.0))
        };
        let frame = shape.frame.clone().unwrap_or_default();
        let found = windows.iter().position(|window| {
            window.frame == frame
                && window.partition_by.len() == shape.partition_by.len()
                && window.partition_by.iter().zip(&shape.partition_by).all(|(left, right)| bound.same(left, right))
                && same_order(&window.order_by, &shape.order_by)
        });
        if let Some(found) = found {
            return Ok(found);
        }
        let relation =
            self.relation(Relation { name: String::new(), columns: Vec::new(), source: Source::Computed }, at)?;
        let Some(collected) = &mut self.grouping else { return Err(self.unsupported("a window function here", at)) };
        let Shape { partition_by, order_by, .. } = shape;
        collected.windows.push(Window { relation, partition_by, order_by, frame, calls: Vec::new() });
        Ok(collected.windows.len() - 1)
    }

    fn window_shape(&mut self, window: &ast::Window<'_>, scope: &Scope<'_>) -> Result<Shape> {
        let base = match window.base {
            Some(name) => Some((name, self.find_window(name)?)),
            None => None,
        };
        let mut order_by: Vec<(Expr, bool, bool)> = Vec::with_capacity(window.order_by.len());
        for item in window.order_by {
            let expr = self.expr(&item.expr, scope, Clause::Window)?;
            let expr = self.resolve_unknown(expr, item.expr.at)?;
            // What is sorted by twice decides once.
            if !order_by.iter().any(|(known, ..)| self.bound.same(known, &expr)) {
                order_by.push((expr, item.descending, item.nulls_first.unwrap_or(item.descending)));
            }
        }
        let mut partition_by = Vec::with_capacity(window.partition_by.len());
        for item in window.partition_by {
            let expr = self.expr(item, scope, Clause::Window)?;
            let expr = self.resolve_unknown(expr, item.at)?;
            if !partition_by.iter().any(|known| self.bound.same(known, &expr)) {
                partition_by.push(expr);
            }
        }
        if let Some((name, base)) = base {
            let refused =
                |message: String| Error::statement(sqlstate::WINDOWING_ERROR, message).at(self.position(name.at));
            if !partition_by.is_empty() {
                return Err(refused(format!("cannot override PARTITION BY clause of window \"{}\"", name.text)));
            }
            if !order_by.is_empty() && !base.order_by.is_empty() {
                return Err(refused(format!("cannot override ORDER BY clause of window \"{}\"", name.text)));
            }
            if base.frame.is_some() {
                let error = refused(format!("cannot copy window \"{}\" because it has a frame clause", name.text));
                return Err(match order_by.is_empty() && window.frame.is_none() {
                    true => error.hint("Omit the parentheses in this OVER clause."),
                    false => error,
                });
            }
            partition_by = base.partition_by;
            if order_by.is_empty() {
                order_by = base.order_by;
            }
        }
        let frame = match &window.frame {
            Some(frame) => Some(self.frame(frame, &order_by, window.at, scope)?),
            None => None,
        };
        Ok(Shape { partition_by, order_by, frame })
    }

    fn frame(
        &mut self,
        frame: &ast::Frame<'_>,
        order_by: &[(Expr, bool, bool)],
        at: u32,
        scope: &Scope<'_>,
    ) -> Result<Frame> {
        let has_offset = |bound: &ast::FrameBound<'_>| {
            matches!(bound, ast::FrameBound::Preceding(_) | ast::FrameBound::Following(_))
        };
        let refused =
            |message: &'static str| Err(Error::statement(sqlstate::WINDOWING_ERROR, message).at(self.position(at)));
        let offset = has_offset(&frame.start) || has_offset(&frame.end);
        if frame.mode == FrameMode::Range && offset && order_by.len() != 1 {
            return refused("RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column");
        }
        if frame.mode == FrameMode::Groups && order_by.is_empty() {
            return refused("GROUPS mode requires an ORDER BY clause");
        }
        let ordered = order_by.first().map_or(Oid::UNKNOWN, |(expr, ..)| expr.ty.oid);
        Ok(Frame {
            mode: frame.mode,
            start: self.frame_end(&frame.start, frame.mode, ordered, scope)?,
            end: self.frame_end(&frame.end, frame.mode, ordered, scope)?,
            exclude: frame.exclude,
        })
    }

    fn frame_end(
        &mut self,
        bound: &ast::FrameBound<'_>,
        mode: FrameMode,
        ordered: Oid,
        scope: &Scope<'_>,
    ) -> Result<FrameEnd> {
        Ok(match bound {
            ast::FrameBound::First => FrameEnd::First,
            ast::FrameBound::Preceding(expr) => FrameEnd::Preceding(self.frame_offset(expr, mode, ordered, scope)?),
            ast::FrameBound::Current => FrameEnd::Current,
            ast::FrameBound::Following(expr) => FrameEnd::Following(self.frame_offset(expr, mode, ordered, scope)?),
            ast::FrameBound::Last => FrameEnd::Last,
        })
    }

    fn frame_offset(&mut self, expr: &ast::Expr<'_>, mode: FrameMode, ordered: Oid, scope: &Scope<'_>) -> Result<Expr> {
        let word = mode_word(mode);
        let bound = self.expr(expr, scope, Clause::Frame(mode))?;
        let target = match mode {
            FrameMode::Rows | FrameMode::Groups => Oid::INT8,
            FrameMode::Range => {
                let show = |oid| typmod::format_type(Type::plain(oid));
                let message = "RANGE with offset PRECEDING/FOLLOWING is not supported for column type";
                match window::offset_type(ordered, bound.ty.oid) {
                    Some(Some(oid)) => oid,
                    Some(None) => {
                        let message = format!("{message} {} and offset type {}", show(ordered), show(bound.ty.oid));
                        return Err(Error::unsupported(message)
                            .hint("Cast the offset value to an appropriate type.")
                            .at(self.position(expr.at)));
                    }
                    None => {
                        let message = format!("{message} {}", show(ordered));
                        return Err(Error::unsupported(message).at(self.position(expr.at)));
                    }
                }
            }
        };
        let context = if mode == FrameMode::Range { Context::Implicit } else { Context::Assignment };
        let bound = match self.try_coerce(bound, Type::plain(target), context, expr.at)? {
            Ok(bound) => bound,
            Err(other) => {
                let ty = typmod::format_type(Type::plain(other.ty.oid));
                let message = format!("argument of {word} must be type bigint, not type {ty}");
                return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message).at(self.position(expr.at)));
            }
        };
        let mut columns = std::collections::BTreeSet::new();
        self.bound.columns_in(&bound, &mut columns);
        let own = scope.namespace.relations();
        if columns.iter().any(|column| own.contains(&column.relation)) {
            let message = format!("argument of {word} must not contain variables");
            return Err(Error::statement(sqlstate::INVALID_COLUMN_REFERENCE, message).at(self.position(expr.at)));
        }
        Ok(bound)
    }

    /// Is the expression, or a part of it, the result of a window function of the query that is being bound?
    pub(super) fn has_window(&self, expr: &Expr) -> bool {
        let windows = self.grouping.as_ref().map_or(&[][..], |collected| &collected.windows);
        expr.any(&mut |part| match part.kind {
            ExprKind::Column(column) => windows.iter().any(|window| window.relation == column.relation),
            _ => false,
        })
    }

    /// Rewrites what windows are made of to refer to groups.
    pub(super) fn rewrite_windows(&mut self, windows: &mut [Window], rewriting: &mut Rewriting) -> Result<()> {
        let mut done = Ok(());
        for window in windows {
            window.exprs_mut(&mut |expr| {
                if done.is_ok() {
                    done = self.rewrite(expr, rewriting);
                }
            });
        }
        done
    }

    /// Puts windows into the order in which they are computed, and gives their relations columns. `known` are the expressions that
    /// the query sorts and groups by.
    pub(super) fn finish_windows(&mut self, windows: &mut Vec<Window>, known: Vec<Expr>) {
        windows.retain(|window| !window.calls.is_empty());
        for window in windows.iter() {
            let columns = window.calls.iter().map(|call| (String::new(), call.ty)).collect();
            self.bound.relations[window.relation as usize].columns = columns;
        }
        let mut refs: Vec<Expr> = Vec::new();
        let mut number = |expr: &Expr| match refs.iter().position(|other| self.bound.same(other, expr)) {
            Some(place) => place,
            None => {
                refs.push(expr.clone());
                refs.len() - 1
            }
        };
        known.iter().for_each(|expr| {
            number(expr);
        });
        let mut numbered: Vec<(Keys, Window)> = Vec::with_capacity(windows.len());
        for window in windows.drain(..) {
            let order: Keys = window
                .order_by
                .iter()
                .map(|(expr, descending, nulls_first)| (number(expr), *descending, *nulls_first))
                .collect();
            let mut keys: Keys = window.partition_by.iter().map(|expr| (number(expr), false, false)).collect();
            for key in order {
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
            numbered.push((keys, window));
        }
        numbered.sort_by(|(left, _), (right, _)| {
            let first = left.iter().zip(right).map(|(left, right)| right.cmp(left)).find(|order| order.is_ne());
            first.unwrap_or(Ordering::Equal).then(right.len().cmp(&left.len()))
        });
        windows.extend(numbered.into_iter().map(|(_, window)| window));
    }
}
