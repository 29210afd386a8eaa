//! Default privileges: what `ALTER DEFAULT PRIVILEGES` has said of the objects that a role is going to make.
//!
//! ```text
//!  an object is made ──> its maker's list for all schemas, or that of the kind ──> and what there is for its schema ──> its privileges
//! ```
//!
//! Rules
//! 1. A list for all schemas stands in the place of what the kind of object has by default; one for a schema is added to that.
//! 2. A list that says what would be so anyway is not kept.

use super::privilege::{AclItem, Securable};
use super::store::Definitions;
use crate::types::Oid;

/// What kind of objects a list is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Made {
    /// Tables and views. The letters are those of `pg_default_acl.defaclobjtype`.
    Relations = b'r',
    /// Sequences.
    Sequences = b'S',
    /// Functions and procedures.
    Routines = b'f',
    /// Schemas.
    Schemas = b'n',
    /// Types.
    Types = b'T',
}

impl Made {
    /// The kind of that letter.
    pub fn from_letter(letter: u8) -> Option<Made> {
        let all = [Made::Relations, Made::Sequences, Made::Routines, Made::Schemas, Made::Types];
        all.into_iter().find(|kind| *kind as u8 == letter)
    }

    /// What is secured.
    pub fn securable(self) -> Securable {
        match self {
            Made::Relations => Securable::Relation,
            Made::Sequences => Securable::Sequence,
            Made::Routines => Securable::Routine,
            Made::Schemas => Securable::Schema,
            Made::Types => Securable::Type,
        }
    }

    /// What messages call one.
    pub fn word(self) -> &'static str {
        match self {
            Made::Relations => "relation",
            Made::Sequences => "sequence",
            Made::Routines => "function",
            Made::Schemas => "schema",
            Made::Types => "type",
        }
    }
}

/// A list of privileges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DefaultAcl {
    /// Who makes the objects.
    pub role: Oid,
    /// The schema in which they are made; none for all of them.
    pub schema: Oid,
    /// What is made.
    pub made: Made,
    /// The privileges.
    pub items: Vec<AclItem>,
}

impl DefaultAcl {
    /// What is so without a list.
    pub fn usual(role: Oid, schema: Oid, made: Made) -> Vec<AclItem> {
        if schema.is_none() { made.securable().default_acl(role) } else { Vec::new() }
    }

    /// Does it mention the role?
    pub fn mentions(&self, role: Oid) -> bool {
        self.role == role || self.items.iter().any(|item| item.grantee == role || item.grantor == role)
    }
}

/// Do two lists say the same?
pub fn are_same(left: &[AclItem], right: &[AclItem]) -> bool {
    let has = |list: &[AclItem], item: &AclItem| list.contains(item);
    left.len() == right.len() && left.iter().all(|item| has(right, item))
}

impl Definitions {
    /// The privileges of something that a role makes in a schema; none if they are the usual ones of its kind.
    pub fn made_acl(&self, made: Made, role: Oid, schema: Oid) -> Option<Vec<AclItem>> {
        let list = |schema: Oid| {
            let is_it = |known: &&DefaultAcl| (known.role, known.schema, known.made) == (role, schema, made);
            self.default_acls().map(|(_, known)| known).find(is_it)
        };
        let (all, own) = (list(Oid::NONE), if schema.is_none() { None } else { list(schema) });
        if all.is_none() && own.is_none() {
            return None;
        }
        let usual = DefaultAcl::usual(role, Oid::NONE, made);
        let mut items = all.map_or_else(|| usual.clone(), |all| all.items.clone());
        for item in own.into_iter().flat_map(|own| &own.items) {
            match items.iter_mut().find(|known| (known.grantee, known.grantor) == (item.grantee, item.grantor)) {
                Some(known) => {
                    (known.rights, known.options) = (known.rights | item.rights, known.options | item.options);
                }
                None => items.push(*item),
            }
        }
        // As in PostgreSQL, a list without anything in it is none: what is made has the usual privileges.
        (!items.is_empty() && !are_same(&items, &usual)).then_some(items)
    }
}
