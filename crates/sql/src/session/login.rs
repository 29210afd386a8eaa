//! What is known of a role when somebody wants to log in as it.

use super::Environment;
use crate::catalog::database::POSTGRES;
use crate::catalog::privilege::{CONNECT, Guard};
use crate::catalog::role::{RoleFlag, is_member};
use base::Result;

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
    /// May it connect to the database?
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
            connects: definitions.database(POSTGRES).is_none_or(|database| definitions.rights(role.oid, Guard::database(database), CONNECT) != 0),
        }))
    }
}
