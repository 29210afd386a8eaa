//! The schemas that every database has, and the path in which names without a schema are looked for.

use crate::types::Oid;
use base::SessionId;
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

/// The schemas of sessions' temporary relations have numbers from here on: this and the session's. They are made by nobody.
const TEMPORARY: u32 = 0xFFC0_0000;
/// What the names of these schemas begin with; the session's number follows.
const TEMPORARY_PREFIX: &str = "pg_temp_";
/// The own one's other name.
pub const OWN_TEMPORARY: &str = "pg_temp";

/// The schema of a session's temporary relations.
pub fn temporary(session: SessionId) -> Oid {
    Oid(TEMPORARY + session.0)
}

/// Is it the schema of some session's temporary relations?
pub fn is_temporary(oid: Oid) -> bool {
    oid.0 >= TEMPORARY
}

/// The session whose temporary relations are in a schema.
pub fn session_of(oid: Oid) -> Option<SessionId> {
    oid.0.checked_sub(TEMPORARY).map(SessionId)
}

/// The name of such a schema.
pub fn temporary_name(oid: Oid) -> Option<String> {
    session_of(oid).map(|session| format!("{TEMPORARY_PREFIX}{}", session.0))
}

/// The schema of such a name.
pub fn temporary_named(name: &str) -> Option<Oid> {
    let number = name.strip_prefix(TEMPORARY_PREFIX)?.parse().ok().filter(|number| *number < u32::MAX - TEMPORARY)?;
    Some(temporary(SessionId(number)))
}

/// The role that owns what is there from the beginning.
pub const BOOTSTRAP_ROLE: Oid = Oid(10);
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
    /// All of them, with those that come first without being named: the session's own temporary one, if it has any, and `pg_catalog`.
    pub searched: Vec<Oid>,
    /// How many of them are not named.
    implicit: usize,
    /// The session's own temporary one, if it has made something there.
    pub temporary: Option<Oid>,
    /// The first one that is named is that of temporary relations, whether it is there yet or not.
    pub creates_temporary: bool,
    /// Whose it is: who names a schema needs privileges on it.
    pub role: Cell<Oid>,
}

impl SearchPath {
    /// Reads the setting `search_path`; `find` gives the number of the schema of a name.
    pub fn new(
        setting: &str,
        user: &str,
        temporary: Option<Oid>,
        mut find: impl FnMut(&str) -> Option<Oid>,
    ) -> SearchPath {
        let names = split_identifiers(setting).unwrap_or_default();
        let mut searched = Vec::with_capacity(names.len() + 2);
        for name in &names {
            let name = if name == "$user" { user } else { name };
            if let Some(oid) = if name == OWN_TEMPORARY { temporary } else { find(name) }
                && !searched.contains(&oid)
            {
                searched.push(oid);
            }
        }
        let mut implicit = 0;
        for first in [Some(PG_CATALOG), temporary].into_iter().flatten() {
            if !searched.contains(&first) {
                searched.insert(0, first);
                implicit += 1;
            }
        }
        let creates_temporary = names.first().is_some_and(|name| name == OWN_TEMPORARY);
        SearchPath { searched, implicit, temporary, creates_temporary, role: Cell::new(BOOTSTRAP_ROLE) }
    }

    /// The same of another role.
    #[must_use]
    pub fn of(self, role: Oid) -> SearchPath {
        SearchPath { role: Cell::new(role), ..self }
    }

    /// The schemas as `current_schemas` shows them.
    pub fn shown(&self, implicit: bool) -> &[Oid] {
        if implicit { &self.searched } else { &self.searched[self.implicit..] }
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
        let path = SearchPath::new("\"$user\", public", "postgres", None, find);
        assert_eq!((path.shown(true), path.shown(false)), (&[PG_CATALOG, PUBLIC][..], &[PUBLIC][..]));
        assert_eq!(path.creation(), Some(PUBLIC));
        let path = SearchPath::new("nowhere, gearbox, pg_catalog, gearbox", "postgres", None, find);
        assert_eq!(path.shown(false), [GEARBOX, PG_CATALOG]);
        let path = SearchPath::new("$user", "public", None, find);
        assert_eq!(path.creation(), Some(PUBLIC), "a role named as a schema");
        assert_eq!(SearchPath::new("", "x", None, find).creation(), None);
        let own = temporary(SessionId(7));
        assert_eq!(temporary_named(&temporary_name(own).unwrap()), Some(own));
        assert_eq!((temporary_named("pg_temp_x"), temporary_named("pg_temp")), (None, None));
        let path = SearchPath::new("public", "x", Some(own), find);
        assert_eq!((path.shown(true), path.shown(false)), (&[own, PG_CATALOG, PUBLIC][..], &[PUBLIC][..]));
        let path = SearchPath::new("public, pg_temp", "x", Some(own), find);
        assert_eq!((path.shown(true), path.creation()), (&[PG_CATALOG, PUBLIC, own][..], Some(PUBLIC)));
        let path = SearchPath::new("pg_temp, public", "x", None, find);
        assert!(path.creates_temporary && path.creation() == Some(PUBLIC));
    }
}
