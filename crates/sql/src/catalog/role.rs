//! Roles: who may own things, log in, and be a member of whom.
//!
//! ```text
//!  row of the catalog's heap, class 4:  number | image of a `RoleDef`
//!  a role's image has its own memberships in it: `a` being a member of `b` is written in `a`
//! ```
//!
//! PostgreSQL's predefined roles, and the one that owns the database, are compiled in (`builtin`). One of them has a row once it has
//! become a member of another role; the row then counts.
//!
//! Rules
//! 1. A password is here as its verifier, never as it was given.
//! 2. No role is a member of itself, by whatever way: who adds a membership looks first ([`is_member`]).

use super::schema::BOOTSTRAP_ROLE;
use super::store::Definitions;
use super::system::cluster::SUPERUSER;
use crate::types::Oid;
use std::sync::{Arc, LazyLock};

/// `pg_database_owner`: whoever owns the database is its only member, without a word about it anywhere.
pub const DATABASE_OWNER: Oid = Oid(6171);

/// What a role may do, and whether it hands on what its memberships let it do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RoleFlag {
    /// `SUPERUSER`
    Superuser,
    /// `INHERIT`
    Inherit,
    /// `CREATEROLE`
    CreateRole,
    /// `CREATEDB`
    CreateDatabase,
    /// `LOGIN`
    Login,
    /// `REPLICATION`
    Replication,
    /// `BYPASSRLS`
    BypassRowSecurity,
}

/// How many flags there are.
pub const FLAGS: u8 = 7;

/// That a role is a member of another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Membership {
    /// Of which role.
    pub role: Oid,
    /// Who said so.
    pub grantor: Oid,
    /// `WITH ADMIN OPTION`
    pub admin: bool,
}

/// A role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoleDef {
    /// Its number.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// A bit for each [`RoleFlag`].
    pub flags: u8,
    /// How many sessions it may have; -1 for any number.
    pub connection_limit: i32,
    /// The verifier of its password.
    pub password: Option<String>,
    /// Until when the password is good: microseconds since 2000-01-01.
    pub valid_until: Option<i64>,
    /// Whose member it is, in the order of the roles' numbers.
    pub member_of: Vec<Membership>,
}

impl RoleDef {
    /// A role as `CREATE ROLE` without options makes it.
    pub fn new(oid: Oid, name: &str) -> RoleDef {
        RoleDef {
            oid,
            name: name.to_owned(),
            flags: 1 << RoleFlag::Inherit as u8,
            connection_limit: -1,
            password: None,
            valid_until: None,
            member_of: Vec::new(),
        }
    }

    /// Is the flag set?
    pub fn has(&self, flag: RoleFlag) -> bool {
        self.flags & 1 << flag as u8 != 0
    }

    /// Sets a flag, or takes it away.
    pub fn set(&mut self, flag: RoleFlag, on: bool) {
        let bit = 1 << flag as u8;
        self.flags = if on { self.flags | bit } else { self.flags & !bit };
    }

    /// Its membership in a role.
    pub fn membership(&self, role: Oid) -> Option<&Membership> {
        self.member_of.iter().find(|known| known.role == role)
    }

    /// Notes a membership, in place of an older one of the same role.
    pub fn join(&mut self, membership: Membership) {
        self.leave(membership.role);
        self.member_of.push(membership);
        self.member_of.sort_unstable_by_key(|known| known.role);
    }

    /// Forgets a membership.
    pub fn leave(&mut self, role: Oid) {
        self.member_of.retain(|known| known.role != role);
    }
}

/// The roles that are there from the beginning, by number.
static BUILTIN: LazyLock<Vec<Arc<RoleDef>>> = LazyLock::new(|| {
    const PREDEFINED: [(u32, &str); 12] = [
        (3373, "pg_monitor"),
        (3374, "pg_read_all_settings"),
        (3375, "pg_read_all_stats"),
        (3377, "pg_stat_scan_tables"),
        (4200, "pg_signal_backend"),
        (4544, "pg_checkpoint"),
        (4569, "pg_read_server_files"),
        (4570, "pg_write_server_files"),
        (4571, "pg_execute_server_program"),
        (DATABASE_OWNER.0, "pg_database_owner"),
        (6181, "pg_read_all_data"),
        (6182, "pg_write_all_data"),
    ];
    let mut owner = RoleDef::new(BOOTSTRAP_ROLE, SUPERUSER);
    owner.flags = (1 << FLAGS) - 1;
    let predefined = PREDEFINED.iter().map(|&(oid, name)| {
        let mut role = RoleDef::new(Oid(oid), name);
        if name == "pg_monitor" {
            let of = |role| Membership { role: Oid(role), grantor: BOOTSTRAP_ROLE, admin: false };
            role.member_of = [3374, 3375, 3377].map(of).to_vec();
        }
        role
    });
    std::iter::once(owner).chain(predefined).map(Arc::new).collect()
});

/// Is the role there from the beginning?
pub fn is_builtin(oid: Oid) -> bool {
    BUILTIN.iter().any(|role| role.oid == oid)
}

/// Is the name one that users cannot give? PostgreSQL keeps those that begin so to itself.
pub fn is_reserved(name: &str) -> bool {
    name.starts_with("pg_")
}

impl Definitions {
    /// All roles, those that are there from the beginning first.
    pub fn roles(&self) -> impl Iterator<Item = &Arc<RoleDef>> {
        let builtin = BUILTIN.iter().map(|role| self.stored_role(role.oid).unwrap_or(role));
        builtin.chain(self.stored_roles().filter(|role| !is_builtin(role.oid)))
    }

    /// The role of that number.
    pub fn role(&self, oid: Oid) -> Option<&Arc<RoleDef>> {
        self.stored_role(oid).or_else(|| BUILTIN.iter().find(|role| role.oid == oid))
    }

    /// A role's name, or what PostgreSQL shows for one that is not there.
    pub fn role_name(&self, oid: Oid) -> String {
        self.role(oid).map_or_else(|| format!("unknown (OID={oid})"), |role| role.name.clone())
    }

    /// The role of that name.
    pub fn role_named(&self, name: &str) -> Option<&Arc<RoleDef>> {
        self.roles().find(|role| role.name == name)
    }
}

/// Is one role the other, or a member of it, or of one that is? `role` finds roles.
pub fn is_member<'r>(member: Oid, of: Oid, role: impl Fn(Oid) -> Option<&'r RoleDef>) -> bool {
    let (mut reached, mut at) = (vec![member], 0);
    while let Some(&oid) = reached.get(at) {
        if oid == of {
            return true;
        }
        for membership in role(oid).map_or(&[][..], |role| &role.member_of) {
            if !reached.contains(&membership.role) {
                reached.push(membership.role);
            }
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memberships_are_followed() {
        let definitions = Definitions::default();
        let number = |name: &str| definitions.role_named(name).unwrap().oid;
        let is_member = |member, of| is_member(member, of, |oid| definitions.role(oid).map(|role| &**role));
        assert!(is_member(number("pg_monitor"), number("pg_read_all_stats")));
        assert!(!is_member(number("pg_read_all_stats"), number("pg_monitor")));
        assert!(is_member(BOOTSTRAP_ROLE, BOOTSTRAP_ROLE));
        assert_eq!(number("postgres"), BOOTSTRAP_ROLE);
        assert!(definitions.role_named("nobody").is_none() && definitions.role(Oid(16_400)).is_none());
    }

    #[test]
    fn a_role_joins_once() {
        let mut role = RoleDef::new(Oid(16_400), "r");
        let of = |role, admin| Membership { role: Oid(role), grantor: BOOTSTRAP_ROLE, admin };
        role.join(of(9, false));
        role.join(of(7, false));
        role.join(of(9, true));
        assert_eq!(role.member_of, [of(7, false), of(9, true)]);
        role.leave(Oid(9));
        assert!(role.membership(Oid(9)).is_none());
        role.set(RoleFlag::Login, true);
        role.set(RoleFlag::Inherit, false);
        assert!(role.has(RoleFlag::Login) && !role.has(RoleFlag::Inherit) && !role.has(RoleFlag::Superuser));
    }
}
