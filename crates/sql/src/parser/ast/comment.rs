//! `COMMENT`.

use super::{Name, ObjectKind, Path};

/// What a comment is on.
#[derive(Clone, Copy, Debug)]
pub enum CommentOn<'a> {
    /// A table, a view, a sequence or an index.
    Relation(ObjectKind, Path<'a>),
    /// A column, with its relation before it.
    Column(Path<'a>),
    /// A constraint of a table.
    Constraint(Name<'a>, Path<'a>),
    /// A type of a user; true if it was called a domain.
    Type(Path<'a>, bool),
    /// A schema.
    Schema(Name<'a>),
    /// A database.
    Database(Name<'a>),
}
