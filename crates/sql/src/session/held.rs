//! What a session has prepared and opened, as `pg_prepared_statements` and `pg_cursors` show it.

use super::custom::Tried;
use super::output::Format;
use super::prepared::Portal;
use super::{Session, Text};
use crate::plan::Plan;
use crate::types::Oid;
use allocator_api2::alloc::Allocator;

/// A prepared statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldStatement {
    /// Its name.
    pub name: String,
    /// What was written to prepare it.
    pub text: String,
    /// When that was: microseconds since 2000-01-01.
    pub made_at: i64,
    /// The types of its parameters.
    pub types: Vec<Oid>,
    /// It was prepared by `PREPARE`, not by the protocol.
    pub from_sql: bool,
    /// Executions with the plan for any values, and with plans for values.
    pub executed: (u64, u64),
}

/// An open cursor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldCursor {
    /// Its name.
    pub name: String,
    /// What was written to open it.
    pub text: String,
    /// It stays after its transaction.
    pub holds: bool,
    /// It gives the binary form.
    pub binary: bool,
    /// It may go backward.
    pub scrolls: bool,
    /// When it was opened: microseconds since 2000-01-01.
    pub made_at: i64,
}

/// Who knows what a session has prepared and opened.
pub trait Held {
    /// Its prepared statements that have names, sorted by them.
    fn statements(&self) -> Vec<HeldStatement>;

    /// Its cursors, and portals of the protocol, sorted by their names.
    fn cursors(&self) -> Vec<HeldCursor>;
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl<A: Allocator + Copy> Held for Session<A> {
    fn statements(&self) -> Vec<HeldStatement> {
        let mut all: Vec<HeldStatement> = self
            .statements
            .iter()
            .map(|(name, statement)| {
                let plan = statement.body.plan();
                let types = plan.and_then(|id| Plan::new(self.plans.bytes(id)));
                let text: &[u8] = match (&statement.sql_text, plan) {
                    (Some(text), _) => text,
                    (None, Some(id)) => self.plans.text(id),
                    (None, None) => &statement.text,
                };
                let tried = plan.map_or_else(Tried::default, |id| self.plans.tried(id));
                HeldStatement {
                    name: string(name),
                    text: string(text),
                    made_at: statement.made_at,
                    types: types.map_or(Vec::new(), |plan| plan.client_types().collect()),
                    from_sql: statement.sql_text.is_some(),
                    executed: (tried.generic, tried.custom),
                }
            })
            .collect();
        all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        all
    }

    fn cursors(&self) -> Vec<HeldCursor> {
        let held = |name: &Text<A>, portal: &Portal<A>| HeldCursor {
            name: string(name),
            text: string(portal.body.plan().map_or(&portal.text[..], |id| self.plans.text(id))),
            holds: portal.holds,
            binary: portal.format(0) == Format::Binary,
            scrolls: portal.scrolls,
            made_at: portal.made_at,
        };
        let mut all: Vec<HeldCursor> = self.portals.iter().map(|(name, portal)| held(name, portal)).collect();
        all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        all
    }
}
