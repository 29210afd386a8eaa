//! The catalog around an execution: most never look at it, so it is put together when the first one does.
//!
//! Rules
//! 1. It is read no earlier than it is wanted, so it may know of changes that were committed since the statement began; of the
//!    statement's own tables it cannot, because they are locked.
//! 2. Not for the engine's own stack: reading definitions may wait.

use super::schema::SearchPath;
use super::store::Definitions;
use super::{Catalog, Catalogs};
use base::Result;
use std::cell::OnceCell;
use std::sync::Arc;

/// What a catalog is put together from, beside the system's own.
pub(crate) type Parts = (Arc<Definitions>, SearchPath);

/// A catalog that is put together when it is wanted.
pub struct LazyCatalog<'c> {
    /// The system's own, which are always there.
    pub catalogs: &'c Catalogs,
    from: From<'c>,
    parts: OnceCell<Parts>,
}

/// Where the parts come from.
enum From<'c> {
    /// A catalog that is there.
    Made(&'c Catalog<'c>),
    /// Whoever reads them.
    Read(&'c (dyn Fn() -> Result<Parts> + 'c)),
}

impl<'c> LazyCatalog<'c> {
    /// A catalog that is there.
    pub fn made(catalog: &'c Catalog<'c>) -> LazyCatalog<'c> {
        LazyCatalog { catalogs: catalog.catalogs, from: From::Made(catalog), parts: OnceCell::new() }
    }

    /// A catalog whose parts somebody reads when it is wanted.
    pub(crate) fn reading(catalogs: &'c Catalogs, read: &'c (dyn Fn() -> Result<Parts> + 'c)) -> LazyCatalog<'c> {
        LazyCatalog { catalogs, from: From::Read(read), parts: OnceCell::new() }
    }

    /// The catalog.
    ///
    /// Errors: those of reading definitions.
    pub fn get(&self) -> Result<Catalog<'c>> {
        let read = match self.from {
            From::Made(catalog) => return Ok(catalog.clone()),
            From::Read(read) => read,
        };
        let (definitions, path) = match self.parts.get() {
            Some(parts) => parts.clone(),
            None => {
                let parts = read()?;
                self.parts.get_or_init(|| parts).clone()
            }
        };
        Ok(Catalog { catalogs: self.catalogs, definitions, path, transitions: &[] })
    }
}
