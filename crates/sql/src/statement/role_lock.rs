//! What statements about roles lock until their transactions end.
//!
//! | what | how | who |
//! |---|---|---|
//! | a name that no role has | alone | who gives it to one |
//! | a role's definition | alone | who drops the role |
//! | | one at a time | who changes it; it says what the role is a member of |
//! | | beside all but who drops it | who names the role: as a role that others become members of, or somewhere else ([`Session::hold_role`]) |
//! | the role's memberships | one at a time | who makes it a member of another role |
//! | | beside others of these, but not of those | who makes others members of it, or of a role that it has below it |
//!
//! So changes of different roles do not wait for one another, however long their transactions are. And no membership closes a circle that
//! another one does not see: whoever adds one sees all that is above it as it is and stays, and is seen himself by who adds one there.

use super::define::{definition_key, name_key};
use crate::catalog::store::Definitions;
use crate::parser::role::{RoleName, RoleOption, RoleStatement};
use crate::session::Session;
use crate::types::Oid;
use allocator_api2::alloc::Allocator;
use storage::txn::{LockKey, LockMode};

/// `pg_authid`
const ROLES: Oid = Oid(1260);
/// `pg_auth_members`
const MEMBERSHIPS: u32 = 1261;

/// A lock, and how it is held.
pub(super) type Lock = (LockKey, LockMode);

/// The locks of a statement.
struct Wanted<'d> {
    definitions: &'d Definitions,
    locks: Vec<Lock>,
}

impl Wanted<'_> {
    fn name(&mut self, name: &str) {
        if self.definitions.role_named(name).is_none() {
            self.locks.push((name_key(Oid::NONE, ROLES, name), LockMode::AccessExclusive));
        }
    }

    fn change(&mut self, role: Oid) {
        self.locks.push((definition_key(role), LockMode::ShareUpdateExclusive));
    }

    /// Makes roles members of others, or ends that.
    fn members(&mut self, members: &[Oid], adds: bool) {
        for member in members {
            self.change(*member);
            if adds {
                self.locks.push((LockKey::object(MEMBERSHIPS, member.0), LockMode::ShareUpdateExclusive));
            }
        }
    }

    /// Gives a role members.
    fn above(&mut self, role: Oid) {
        self.locks.push((definition_key(role), LockMode::AccessShare));
        for above in self.definitions.roles_of(role, false) {
            self.locks.push((LockKey::object(MEMBERSHIPS, above.0), LockMode::Share));
        }
    }
}

impl<A: Allocator + Copy> Session<A> {
    /// What a statement locks where these definitions count, in an order that all keep. Roles that are not there are left to the statement.
    pub(super) fn role_locks(&self, definitions: &Definitions, statement: &RoleStatement<'_>) -> Vec<Lock> {
        let one = |name: &RoleName<'_>| self.role_of(definitions, name).ok();
        let all = |names: &[RoleName<'_>]| names.iter().filter_map(one).collect::<Vec<Oid>>();
        let mut wanted = Wanted { definitions, locks: Vec::new() };
        match statement {
            RoleStatement::Create { name, options, .. } => {
                wanted.name(name.text);
                for option in *options {
                    match option {
                        RoleOption::MemberOf(roles) => all(roles).into_iter().for_each(|role| wanted.above(role)),
                        RoleOption::Members(members) | RoleOption::Admins(members) => {
                            wanted.members(&all(members), true);
                        }
                        _ => {}
                    }
                }
            }
            RoleStatement::Alter { name, options } => {
                let role = one(name);
                role.into_iter().for_each(|role| wanted.change(role));
                for option in *options {
                    if let RoleOption::Members(members) = option {
                        role.into_iter().for_each(|role| wanted.above(role));
                        wanted.members(&all(members), true);
                    }
                }
            }
            RoleStatement::Rename { name, new } => {
                wanted.name(new.text);
                definitions.role_named(name.text).into_iter().for_each(|role| wanted.change(role.oid));
            }
            RoleStatement::Drop { names, .. } => {
                for role in all(names) {
                    wanted.locks.push((definition_key(role), LockMode::AccessExclusive));
                    let members = definitions.roles().filter(|member| member.membership(role).is_some());
                    wanted.members(&members.map(|member| member.oid).collect::<Vec<Oid>>(), false);
                }
            }
            RoleStatement::Members { group, add, members } => {
                if *add {
                    one(group).into_iter().for_each(|group| wanted.above(group));
                }
                wanted.members(&all(members), *add);
            }
            RoleStatement::Grant(grant) => {
                if grant.grants {
                    let roles = grant.roles.iter().filter_map(|role| definitions.role_named(role.text));
                    roles.for_each(|role| wanted.above(role.oid));
                }
                wanted.members(&all(grant.members), grant.grants);
            }
        }
        let mut locks = wanted.locks;
        locks.sort_unstable_by_key(|(key, mode)| (key.first, key.second, *mode as u32));
        locks.dedup();
        locks
    }
}
