//! Databases: who is in one sees its objects, and no other's.
//!
//! ```text
//!  row of the catalog's heap, class 15:  zero, since databases share it | number | image of a `DatabaseDef`
//! ```
//!
//! A database is a number in the rows of its objects; nothing else is made for it. Three are there from the beginning; one of them has a
//! row once something of it has changed, and a row without a name once it was dropped.
//!
//! Numbers of users' objects are the server's: no two objects of any databases have the same. Those of the system's own objects are the
//! same in each database.

use super::schema::BOOTSTRAP_ROLE;
use super::store::Definitions;
use crate::types::Oid;
use base::{Error, Result, sqlstate};
use std::sync::{Arc, LazyLock};

/// `template1`: what new databases are made from, unless their makers say otherwise.
pub const TEMPLATE1: Oid = Oid(1);
/// `template0`: the one that stays as it was.
pub const TEMPLATE0: Oid = Oid(4);
/// `postgres`: the database of those who name none.
pub const POSTGRES: Oid = Oid(5);
/// How texts are ordered, in every database.
pub const COLLATE: &str = "C";
/// What a letter is, in every database.
pub const CTYPE: &str = "C.UTF-8";

/// A database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatabaseDef {
    /// Its number.
    pub oid: Oid,
    /// Its name; empty for one that was dropped.
    pub name: String,
    /// The role that owns it.
    pub owner: Oid,
    /// How many sessions may be in it; -1 for any number.
    pub connection_limit: i32,
    /// May anybody connect to it?
    pub lets_in: bool,
    /// May everybody who makes databases copy it? Such a one is not dropped.
    pub is_template: bool,
    /// `LC_COLLATE`, as it was asked for.
    pub collate: String,
    /// `LC_CTYPE`, as it was asked for.
    pub ctype: String,
}

impl DatabaseDef {
    /// A database as `CREATE DATABASE` without options makes it.
    pub fn new(oid: Oid, name: &str, owner: Oid) -> DatabaseDef {
        DatabaseDef {
            oid,
            name: name.to_owned(),
            owner,
            connection_limit: -1,
            lets_in: true,
            is_template: false,
            collate: COLLATE.to_owned(),
            ctype: CTYPE.to_owned(),
        }
    }
}

/// The databases that are there from the beginning, by number.
static BUILTIN: LazyLock<Vec<Arc<DatabaseDef>>> = LazyLock::new(|| {
    let of = |oid, name| DatabaseDef::new(oid, name, BOOTSTRAP_ROLE);
    let databases = [
        DatabaseDef { is_template: true, ..of(TEMPLATE1, "template1") },
        DatabaseDef { is_template: true, lets_in: false, ..of(TEMPLATE0, "template0") },
        of(POSTGRES, "postgres"),
    ];
    databases.into_iter().map(Arc::new).collect()
});

/// Is the database there from the beginning?
pub fn is_builtin(oid: Oid) -> bool {
    BUILTIN.iter().any(|database| database.oid == oid)
}

/// A database that is not there.
#[cold]
pub(crate) fn no_database(name: &str) -> Error {
    Error::statement(sqlstate::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist"))
}

impl Definitions {
    /// All databases, by number.
    pub fn databases(&self) -> impl Iterator<Item = &Arc<DatabaseDef>> {
        let builtin = BUILTIN.iter().map(|database| self.stored_database(database.oid).unwrap_or(database));
        let others = self.stored_databases().filter(|database| !is_builtin(database.oid));
        builtin.chain(others).filter(|database| !database.name.is_empty())
    }

    /// The database of that number.
    pub fn database(&self, oid: Oid) -> Option<&Arc<DatabaseDef>> {
        let builtin = || BUILTIN.iter().find(|database| database.oid == oid);
        self.stored_database(oid).or_else(builtin).filter(|database| !database.name.is_empty())
    }

    /// The database of that name.
    pub fn database_named(&self, name: &str) -> Option<&Arc<DatabaseDef>> {
        self.databases().find(|database| database.name == name)
    }

    /// The database of that name. Errors: `3D000`.
    pub fn must_find_database(&self, name: &str) -> Result<&Arc<DatabaseDef>> {
        self.database_named(name).ok_or_else(|| no_database(name))
    }

    /// The role that owns the database that these definitions are of.
    pub fn own_owner(&self) -> Oid {
        self.database(self.home()).map_or(BOOTSTRAP_ROLE, |database| database.owner)
    }

    /// The name of the database that these definitions are of.
    pub fn own_name(&self) -> &str {
        self.database(self.home()).map_or("", |database| &database.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_databases_are_there_from_the_beginning() {
        let definitions = Definitions::default();
        let names: Vec<&str> = definitions.databases().map(|database| database.name.as_str()).collect();
        assert_eq!(names, ["template1", "template0", "postgres"]);
        assert_eq!((definitions.home(), definitions.own_name()), (POSTGRES, "postgres"));
        assert_eq!(definitions.database_named("template0").map(|database| database.lets_in), Some(false));
        assert!(definitions.database(Oid(16_400)).is_none() && definitions.database_named("").is_none());
    }
}
