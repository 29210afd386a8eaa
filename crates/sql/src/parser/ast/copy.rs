//! `COPY`.

use super::{Expr, Name, Path, Statement};

/// `COPY`
#[derive(Clone, Copy, Debug)]
pub struct Copy<'a> {
    /// The table; empty if a query is copied.
    pub path: Path<'a>,
    /// Its columns; all if empty.
    pub columns: &'a [Name<'a>],
    /// The query that is copied.
    pub query: Option<&'a Statement<'a>>,
    /// `FROM`, not `TO`.
    pub from: bool,
    /// Where to or from; none for the client.
    pub file: Option<&'a str>,
    /// True for `PROGRAM`.
    pub program: bool,
    /// `WITH (…)`
    pub options: &'a [CopyOption<'a>],
    /// `WHERE`
    pub filter: Option<&'a Expr<'a>>,
    /// Where that condition begins in the text, and where it ends.
    pub filter_range: (u32, u32),
    /// Where it stands.
    pub at: u32,
}

/// An option of `COPY`.
#[derive(Clone, Copy, Debug)]
pub struct CopyOption<'a> {
    /// Its name.
    pub name: Name<'a>,
    /// Its value, if it was given one.
    pub value: Option<&'a str>,
    /// Its list of names, if it was given one.
    pub list: &'a [Name<'a>],
}
