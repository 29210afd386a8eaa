//! Windows of functions.

use super::{Expr, Name, SortItem};

/// The window that a call is computed over.
#[derive(Clone, Copy, Debug)]
pub enum Over<'a> {
    /// One of the `WINDOW` clause.
    Name(Name<'a>),
    /// One that is described on the spot.
    Window(&'a Window<'a>),
}

/// A window: `(w PARTITION BY a ORDER BY b ROWS …)`
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// The window that it begins as a copy of.
    pub base: Option<Name<'a>>,
    /// `PARTITION BY`
    pub partition_by: &'a [Expr<'a>],
    /// `ORDER BY`
    pub order_by: &'a [SortItem<'a>],
    /// Its frame, if one was described.
    pub frame: Option<Frame<'a>>,
    /// Where it stands.
    pub at: u32,
}

/// Which rows around a row a window function sees.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// What bounds are counted in.
    pub mode: FrameMode,
    /// Where it begins.
    pub start: FrameBound<'a>,
    /// Where it ends.
    pub end: FrameBound<'a>,
    /// What is left out.
    pub exclude: Exclude,
    /// Where it stands.
    pub at: u32,
}

/// What a frame's bounds are counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum FrameMode {
    /// Values of what rows are ordered by.
    Range = 0,
    /// Rows.
    Rows = 1,
    /// Groups of rows that are equal in order.
    Groups = 2,
}

/// An end of a frame.
#[derive(Clone, Copy, Debug)]
pub enum FrameBound<'a> {
    /// `UNBOUNDED PRECEDING`
    First,
    /// `n PRECEDING`
    Preceding(&'a Expr<'a>),
    /// `CURRENT ROW`
    Current,
    /// `n FOLLOWING`
    Following(&'a Expr<'a>),
    /// `UNBOUNDED FOLLOWING`
    Last,
}

/// What is left out of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Exclude {
    /// Nothing.
    NoOthers = 0,
    /// The row itself.
    CurrentRow = 1,
    /// The row and those that are equal to it in order.
    Group = 2,
    /// Those that are equal to it, without itself.
    Ties = 3,
}
