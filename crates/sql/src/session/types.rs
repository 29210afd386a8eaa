//! What the session's statements know of users' types where values become texts: read when it is wanted first.
//!
//! Most statements have no such values, and none of the others looks a type up before its first value. What was committed is known to the
//! process; a transaction that has changed definitions has what it sees itself.
//!
//! Rules
//! 1. The definitions are no older than the statement's snapshot, so that whatever value it sees has its label in them. Rows that are
//!    looked at again after somebody else changed them may be younger: who finds no label reads the definitions once more.

use crate::catalog::store::{Committed, Definitions};
use crate::catalog::user_type::UserTypeDef;
use crate::types::Oid;
use crate::types::user::{self, UserTypes};
use base::{Error, Result, Xid, sqlstate};
use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;
use storage::relation::Relations;

/// Users' types, as a statement sees them.
pub(crate) struct TypesAtHand<'e> {
    known: OnceCell<Arc<Definitions>>,
    again: OnceCell<Arc<Definitions>>,
    from: Option<Committed<'e>>,
}

impl fmt::Debug for TypesAtHand<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("TypesAtHand")
    }
}

impl<'e> TypesAtHand<'e> {
    /// Those that are committed when somebody asks.
    pub(crate) fn committed(from: Option<Committed<'e>>) -> TypesAtHand<'e> {
        TypesAtHand { known: OnceCell::new(), again: OnceCell::new(), from }
    }

    /// Those of definitions, and no others.
    pub(crate) fn of(definitions: &Arc<Definitions>) -> TypesAtHand<'static> {
        let types = TypesAtHand::committed(None);
        types.know(definitions);
        types
    }

    /// Those of definitions that are at hand.
    pub(crate) fn know(&self, definitions: &Arc<Definitions>) {
        // Whoever comes second knows the same.
        let _ = self.known.set(definitions.clone());
    }

    fn read(&self) -> Result<Arc<Definitions>> {
        self.from.map_or(Ok(Arc::default()), |from| from.definitions())
    }

    fn kept<'s>(&self, cell: &'s OnceCell<Arc<Definitions>>) -> Result<&'s Arc<Definitions>> {
        if let Some(known) = cell.get() {
            return Ok(known);
        }
        let read = self.read()?;
        Ok(cell.get_or_init(|| read))
    }

    fn type_of(&self, oid: Oid) -> Result<&UserTypeDef> {
        let gone = || {
            let message = format!("type with OID {} does not exist", oid.0);
            Error::statement(sqlstate::UNDEFINED_OBJECT, message)
        };
        match self.kept(&self.known)?.user_type(oid) {
            Some(found) => Ok(found),
            None => self.kept(&self.again)?.user_type(oid).map(Arc::as_ref).ok_or_else(gone),
        }
    }

    /// Values that the running transaction has added to a type that was there are not for it.
    fn check_usable(&self, name: &str, ty: &UserTypeDef, since: Xid) -> Result<()> {
        let is_own = |relations: &'static Relations| relations.storage().transactions.is_mine(since);
        if since == Xid(0) || !self.from.is_some_and(|from| is_own(from.relations)) {
            return Ok(());
        }
        let message = format!("unsafe use of new value \"{name}\" of enum type {}", user::mark(ty.oid));
        Err(Error::statement(sqlstate::UNSAFE_NEW_ENUM_VALUE_USAGE, message)
            .hint("New enum values must be committed before they can be used."))
    }
}

impl UserTypes for TypesAtHand<'_> {
    fn label(&self, value: i64) -> Result<&str> {
        let (oid, position) = (user::enum_of(value), user::position_of(value));
        let find = |ty: &UserTypeDef| ty.labels.iter().position(|label| label.position == position);
        let known = self.type_of(oid)?;
        if let Some(at) = find(known) {
            return Ok(&known.labels[at].name);
        }
        let found = self.kept(&self.again)?.user_type(oid).and_then(|ty| find(ty).map(|at| (ty, at)));
        let (ty, at) = found.ok_or_else(|| Error::corruption("a value is none of its enum's"))?;
        Ok(&ty.labels[at].name)
    }

    fn value(&self, ty: Oid, label: &str) -> Result<i64> {
        let known = self.type_of(ty)?;
        let found = known.label(label).ok_or_else(|| user::no_label(ty, label))?;
        self.check_usable(label, known, found.since)?;
        Ok(user::enum_value(ty, found.position))
    }

    fn values(&self, ty: Oid) -> Result<Vec<i64>> {
        let known = self.type_of(ty)?;
        Ok(known.labels.iter().map(|label| user::enum_value(ty, label.position)).collect())
    }

    fn check(&self, value: i64) -> Result<()> {
        let (known, position) = (self.type_of(user::enum_of(value))?, user::position_of(value));
        match known.labels.iter().find(|label| label.position == position) {
            Some(label) => self.check_usable(&label.name, known, label.since),
            None => Ok(()),
        }
    }
}
