//! Settings that sessions begin with: what `ALTER ROLE … SET` and `ALTER DATABASE … SET` have said.
//!
//! | of | counts |
//! |---|---|
//! | a role in a database | first |
//! | a role | then |
//! | a database | then |
//! | `ALTER ROLE ALL` | last |
//!
//! What the client asks for when it connects counts before all of them.

use super::store::Definitions;
use crate::types::Oid;

/// Settings of a role, of a database, or of both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredSettings {
    /// The database; none for any.
    pub database: Oid,
    /// The role; none for any.
    pub role: Oid,
    /// Names and values, in the order in which they were set.
    pub values: Vec<(String, String)>,
}

/// Puts a setting in place; without a value it is taken out.
pub fn put(values: &mut Vec<(String, String)>, name: &str, value: Option<String>) {
    let known = values.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
    match (known, value) {
        (Some(at), Some(value)) => values[at].1 = value,
        (Some(at), None) => drop(values.remove(at)),
        (None, Some(value)) => values.push((name.to_owned(), value)),
        (None, None) => {}
    }
}

impl Definitions {
    /// The settings with which a session of a role in a database begins; those that count most stand last.
    pub fn settings_of(&self, database: Oid, role: Oid) -> Vec<&StoredSettings> {
        let order = [(Oid::NONE, Oid::NONE), (database, Oid::NONE), (Oid::NONE, role), (database, role)];
        let one = |(database, role): (Oid, Oid)| {
            self.stored_settings()
                .map(|(_, known)| known)
                .find(|known| (known.database, known.role) == (database, role))
        };
        order.into_iter().filter_map(one).collect()
    }
}
