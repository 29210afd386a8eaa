//! Views.

use super::{Name, Path, StorageOption};

/// `CREATE VIEW`
#[derive(Clone, Copy, Debug)]
pub struct CreateView<'a> {
    /// Its name.
    pub path: Path<'a>,
    /// `OR REPLACE`
    pub replace: bool,
    /// `TEMPORARY`
    pub temporary: bool,
    /// `RECURSIVE`
    pub recursive: bool,
    /// The names of its columns, as far as they are given.
    pub columns: &'a [Name<'a>],
    /// `WITH (…)`
    pub options: &'a [StorageOption<'a>],
    /// Where its query stands.
    pub range: (u32, u32),
    /// `WITH CHECK OPTION`
    pub check: Option<CheckOption>,
}

/// `WITH CHECK OPTION`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum CheckOption {
    /// The view's own condition.
    Local = b'l',
    /// Those of all views below it, too.
    Cascaded = b'c',
}
