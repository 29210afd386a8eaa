//! What `GRANT` and `REVOKE` do with the list of an object's privileges: PostgreSQL's `aclupdate` and what belongs to it.
//!
//! Rules
//! 1. What somebody granted on is granted by him: who loses his grant option takes along what he gave, if that is wanted, and is
//!    refused otherwise (`2BP01`).
//! 2. Nobody gives a grant option back to those he has it from (`0LP01`).

use super::privilege::{AclItem, Rights};
use super::store::Definitions;
use crate::types::Oid;
use base::{Error, Result, sqlstate};

/// A list of privileges that is changed, with what decides about it.
pub struct Ledger<'l> {
    /// The roles that there are.
    pub definitions: &'l Definitions,
    /// Who owns the object.
    pub owner: Oid,
    /// The list.
    pub items: Vec<AclItem>,
}

impl Ledger<'_> {
    /// Adds to what somebody has. Errors: `0LP01`.
    pub fn grant(&mut self, item: AclItem) -> Result<()> {
        if item.options != 0 {
            self.check_circle(item)?;
        }
        let same = |known: &&mut AclItem| (known.grantee, known.grantor) == (item.grantee, item.grantor);
        match self.items.iter_mut().find(same) {
            Some(known) => (known.rights, known.options) = (known.rights | item.rights, known.options | item.options),
            None if item.rights | item.options == 0 => {}
            None => self.items.push(item),
        }
        Ok(())
    }

    /// Takes from what somebody has; with `cascade` also from those he has given it to. Errors: `2BP01`.
    pub fn revoke(&mut self, item: AclItem, cascade: bool) -> Result<()> {
        let same = |known: &AclItem| (known.grantee, known.grantor) == (item.grantee, item.grantor);
        let Some(at) = self.items.iter().position(same) else { return Ok(()) };
        let known = &mut self.items[at];
        let lost = known.options & item.options;
        (known.rights, known.options) = (known.rights & !item.rights, known.options & !item.options);
        if known.rights | known.options == 0 {
            self.items.remove(at);
        }
        if lost == 0 { Ok(()) } else { self.revoke_dependents(item.grantee, lost, cascade) }
    }

    /// Which of some privileges a role may grant on by what stands in the list.
    fn held_options(&self, role: Oid, asked: Rights) -> Rights {
        if self.definitions.has_privileges_of(role, self.owner) {
            return asked;
        }
        let roles = self.definitions.roles_of(role, true);
        let held = self.items.iter().filter(|item| roles.contains(&item.grantee));
        held.fold(0, |all, item| all | item.options) & asked
    }

    fn revoke_dependents(&mut self, grantor: Oid, lost: Rights, cascade: bool) -> Result<()> {
        if grantor == self.owner {
            return Ok(());
        }
        let lost = lost & !self.held_options(grantor, lost);
        while let Some(item) =
            self.items.iter().find(|item| item.grantor == grantor && item.rights & lost != 0).copied()
        {
            if !cascade {
                return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, "dependent privileges exist")
                    .hint("Use CASCADE to revoke them too."));
            }
            self.revoke(AclItem { rights: lost, options: lost, ..item }, true)?;
        }
        Ok(())
    }

    fn check_circle(&self, item: AclItem) -> Result<()> {
        if item.grantor == self.owner {
            return Ok(());
        }
        let mut without = Ledger { definitions: self.definitions, owner: self.owner, items: self.items.clone() };
        while let Some(known) =
            without.items.iter().find(|known| known.grantee == item.grantee && known.options != 0).copied()
        {
            without.revoke(AclItem { rights: known.options, options: known.options, ..known }, true)?;
        }
        if item.options & !without.held_options(item.grantor, item.options) != 0 {
            let message = "grant options cannot be granted back to your own grantor";
            return Err(Error::statement(sqlstate::INVALID_GRANT_OPERATION, message));
        }
        Ok(())
    }

    /// In whose name a role best grants some privileges, and which of them he may.
    pub fn best_grantor(&self, role: Oid, wanted: Rights) -> (Oid, Rights) {
        if role == self.owner || self.definitions.is_superuser(role) {
            return (self.owner, wanted);
        }
        let (mut best, mut most) = ((role, 0), 0);
        for other in self.definitions.roles_of(role, true) {
            let own = self.items.iter().filter(|item| item.grantee == other);
            let held = match other == self.owner {
                true => wanted,
                false => own.fold(0, |all, item| all | item.options) & wanted,
            };
            if held == wanted {
                return (other, held);
            }
            if held.count_ones() > most {
                (best, most) = ((other, held), held.count_ones());
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::super::privilege::{SELECT, UPDATE};
    use super::*;

    const OWNER: Oid = Oid(16_400);

    fn item(grantee: u32, grantor: u32, rights: Rights, options: Rights) -> AclItem {
        AclItem { grantee: Oid(grantee), grantor: Oid(grantor), rights, options }
    }

    #[test]
    fn what_was_granted_on_goes_with_its_grantor() {
        let definitions = Definitions::default();
        let mut ledger = Ledger { definitions: &definitions, owner: OWNER, items: Vec::new() };
        ledger.grant(item(1, OWNER.0, SELECT | UPDATE, SELECT)).unwrap();
        ledger.grant(item(2, 1, SELECT, SELECT)).unwrap();
        ledger.grant(item(3, 2, SELECT, 0)).unwrap();
        let error = ledger.revoke(item(1, OWNER.0, SELECT, SELECT), false).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::DEPENDENT_OBJECTS_STILL_EXIST);
        let mut ledger = Ledger {
            items: vec![item(1, OWNER.0, SELECT | UPDATE, SELECT), item(2, 1, SELECT, SELECT), item(3, 2, SELECT, 0)],
            ..ledger
        };
        assert_eq!(ledger.best_grantor(Oid(2), SELECT | UPDATE), (Oid(2), SELECT));
        ledger.revoke(item(1, OWNER.0, SELECT, SELECT), true).unwrap();
        assert_eq!(ledger.items, [item(1, OWNER.0, UPDATE, 0)]);
    }

    #[test]
    fn nobody_grants_back() {
        let definitions = Definitions::default();
        let mut ledger = Ledger { definitions: &definitions, owner: OWNER, items: Vec::new() };
        ledger.grant(item(1, OWNER.0, SELECT, SELECT)).unwrap();
        ledger.grant(item(2, 1, SELECT, SELECT)).unwrap();
        let error = ledger.grant(item(1, 2, SELECT, SELECT)).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::INVALID_GRANT_OPERATION);
        ledger.grant(item(1, 2, SELECT, 0)).unwrap();
    }
}
