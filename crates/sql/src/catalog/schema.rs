//! The schemas that every database has, and the path in which names without a schema are looked for.

use crate::types::Oid;
use base::settings::split_identifiers;
use std::cell::Cell;

/// `pg_catalog`: searched before everything else, whether the path names it or not.
pub const PG_CATALOG: Oid = Oid(11);
/// `public`
pub const PUBLIC: Oid = Oid(2200);
/// `information_schema`
pub const INFORMATION_SCHEMA: Oid = Oid(13_000);
/// `pg_toast`: where the relations of large values are.
pub const PG_TOAST: Oid = Oid(99);
/// `gearbox`: what the server shows of itself.
pub const GEARBOX: Oid = Oid(9_000);

/// The role that owns what is there from the beginning.
pub const BOOTSTRAP_ROLE: Oid = Oid(10);
/// The one database.
pub const DATABASE: Oid = Oid(5);
/// The first number that is given to what users make.
pub const FIRST_USER_OID: u32 = 16_384;

/// The schemas that are there from the beginning.
pub const BUILTIN: [(Oid, &str); 5] = [
    (PG_CATALOG, "pg_catalog"),
    (PUBLIC, "public"),
    (INFORMATION_SCHEMA, "information_schema"),
    (GEARBOX, "gearbox"),
    (PG_TOAST, "pg_toast"),
];

/// A schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaDef {
    /// Its name.
    pub name: String,
    /// The role that owns it.
    pub owner: Oid,
}

/// The schemas of a session's search path that exist, in the order of the search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchPath {
    /// All of them, `pg_catalog` included.
    pub searched: Vec<Oid>,
    /// True if the path itself names `pg_catalog`.
    names_catalog: bool,
    /// Whose it is: who names a schema needs privileges on it.
    pub role: Cell<Oid>,
}

impl SearchPath {
    /// Reads the setting `search_path`; `find` gives the number of the schema of a name.
    pub fn new(setting: &str, user: &str, mut find: impl FnMut(&str) -> Option<Oid>) -> SearchPath {
        let names = split_identifiers(setting).unwrap_or_default();
        let mut searched = Vec::with_capacity(names.len() + 1);
        for name in &names {
            let name = if name == "$user" { user } else { name };
            if let Some(oid) = find(name)
                && !searched.contains(&oid)
            {
                searched.push(oid);
            }
        }
        let names_catalog = searched.contains(&PG_CATALOG);
        if !names_catalog {
            searched.insert(0, PG_CATALOG);
        }
        SearchPath { searched, names_catalog, role: Cell::new(BOOTSTRAP_ROLE) }
    }

    /// The same of another role.
    #[must_use]
    pub fn of(self, role: Oid) -> SearchPath {
        SearchPath { role: Cell::new(role), ..self }
    }

    /// The schemas as `current_schemas` shows them.
    pub fn shown(&self, implicit: bool) -> &[Oid] {
        if implicit || self.names_catalog { &self.searched } else { &self.searched[1..] }
    }

    /// The schema in which new objects are made.
    pub fn creation(&self) -> Option<Oid> {
        self.shown(false).first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalog_is_searched_first_unless_it_is_named() {
        let find = |name: &str| BUILTIN.iter().find(|schema| schema.1 == name).map(|schema| schema.0);
        let path = SearchPath::new("\"$user\", public", "postgres", find);
        assert_eq!((path.shown(true), path.shown(false)), (&[PG_CATALOG, PUBLIC][..], &[PUBLIC][..]));
        assert_eq!(path.creation(), Some(PUBLIC));
        let path = SearchPath::new("nowhere, gearbox, pg_catalog, gearbox", "postgres", find);
        assert_eq!(path.shown(false), [GEARBOX, PG_CATALOG]);
        let path = SearchPath::new("$user", "public", find);
        assert_eq!(path.creation(), Some(PUBLIC), "a role named as a schema");
        assert_eq!(SearchPath::new("", "x", find).creation(), None);
    }
}
