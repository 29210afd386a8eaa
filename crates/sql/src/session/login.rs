//! What is known of a role when somebody wants to log in as it, and of the database that it wants to be in.
//!
//! ```text
//!  name -> number -> the database's lock -> a note: it is in there -> is it there, and is it called so? -> the lock goes
//!                                               \-- no: nothing is noted, from the beginning
//! ```
//!
//! Whoever drops or renames a database has the lock alone, and looks at the notes: either it sees the one who comes, or that one sees
//! what it has done.

use super::Environment;
use super::work::transactions;
use crate::catalog::database::no_database;
use crate::catalog::privilege::{CONNECT, Guard};
use crate::catalog::role::{RoleFlag, is_member};
use crate::catalog::store::database_key;
use crate::types::Oid;
use base::{Error, Result};
use kernel::fault;
use storage::txn::LockMode;
use storage::txn::lock::{LockScope, LockWait};

/// A role that somebody wants to log in as.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoginRole {
    /// `LOGIN`
    pub logs_in: bool,
    /// May do everything.
    pub is_superuser: bool,
    /// The verifier of its password.
    pub password: Option<String>,
    /// Until when the password is good: microseconds since 2000-01-01.
    pub valid_until: Option<i64>,
    /// How many sessions it may have; -1 for any number.
    pub connection_limit: i32,
}

/// A database that somebody is in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entered {
    /// Its number.
    pub oid: Oid,
    /// May anybody connect to it?
    pub lets_in: bool,
    /// How many sessions may be in it; -1 for any number.
    pub connection_limit: i32,
    /// How many are, with the one who comes.
    pub sessions: usize,
    /// May the role connect to it?
    pub connects: bool,
}

impl Environment<'_> {
    /// Is one role the other, or a member of it? A superuser is nobody's member by that alone.
    ///
    /// Errors: those of reading the catalog. This may wait.
    pub fn is_member(&self, name: &str, group: &str) -> Result<bool> {
        let (Some(relations), Some(shared)) = (self.relations(), &self.database.shared) else { return Ok(false) };
        let definitions = shared.any_definitions(relations)?;
        let (Some(role), Some(group)) = (definitions.role_named(name), definitions.role_named(group)) else {
            return Ok(false);
        };
        Ok(is_member(role.oid, group.oid, |oid| definitions.role(oid).map(|role| &**role)))
    }

    /// The role of that name, as it is committed; none if there is none.
    ///
    /// Errors: those of reading the catalog. This may wait.
    pub fn login_role(&self, name: &str) -> Result<Option<LoginRole>> {
        let (Some(relations), Some(shared)) = (self.relations(), &self.database.shared) else { return Ok(None) };
        let definitions = shared.any_definitions(relations)?;
        let Some(role) = definitions.role_named(name) else { return Ok(None) };
        Ok(Some(LoginRole {
            logs_in: role.has(RoleFlag::Login),
            is_superuser: role.has(RoleFlag::Superuser),
            password: role.password.clone(),
            valid_until: role.valid_until,
            connection_limit: role.connection_limit,
        }))
    }

    /// The running session is in the database of that name from now on, as that role. Whether it may be is for the caller to say;
    /// until the session ends the database is not dropped.
    ///
    /// Errors: `3D000`; those of reading the catalog and of waiting for a lock. This may wait.
    pub fn enter_database(&self, name: &str, user: &str) -> Result<Entered> {
        let relations = self.stored()?;
        let found = self.session.zip(self.database.shared.as_ref());
        let (session, shared) = found.ok_or_else(|| Error::unsupported("there are no databases here"))?;
        let transactions = transactions(relations);
        loop {
            let known = shared.any_definitions(relations)?;
            let oid = known.database_named(name).map(|known| known.oid).ok_or_else(|| no_database(name))?;
            let key = database_key(oid);
            transactions.lock(key, LockMode::RowExclusive, LockScope::Session, LockWait::Forever)?;
            // Before he is seen: who throws him out looks whose session it is, and nobody's is taken for a superuser's.
            let role = known.role_named(user).map_or(Oid::NONE, |role| role.oid);
            kernel::session::current().set_owner(role.0);
            if !fault::planted("sql.unseen_comer") {
                shared.set_inside(session, Some(oid));
            }
            fault::point("database.entered");
            let definitions = shared.definitions(relations, oid);
            transactions.unlock(key, LockMode::RowExclusive);
            let definitions = definitions?;
            // While the lock was waited for it may have been dropped, or been given another name.
            let Some(database) = definitions.database(oid).filter(|database| database.name == name) else {
                shared.set_inside(session, None);
                continue;
            };
            let role = definitions.role_named(user).map_or(Oid::NONE, |role| role.oid);
            return Ok(Entered {
                oid,
                lets_in: database.lets_in,
                connection_limit: database.connection_limit,
                sessions: shared.inside(oid).count(),
                connects: definitions.rights(role, Guard::database(database), CONNECT) != 0,
            });
        }
    }
}
