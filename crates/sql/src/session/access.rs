//! Whether the current user may execute a plan: at each execution, because plans are kept and shared while privileges change.
//!
//! ```text
//!  execute ── a superuser of the beginning? ── yes ───────────────────────────────────> go on
//!                 \── no: all its tables among those that were allowed a moment ago ──> go on
//!                               \── no: look at the definitions: the table, then its columns ──> 42501
//! ```
//!
//! What was allowed is remembered with the version of the definitions and the number of the session's path, which is another one
//! whenever the session is somebody else: the next change of either begins with nothing.
//!
//! Rules
//! 1. The tables are locked before anybody looks: nobody drops one meanwhile.
//! 2. Foreign keys look at other tables with nobody's privileges: whoever made them could.
//! 3. What a constraint says of a row is not for somebody who may not read the row ([`Session::discreet`]).

use super::{Environment, List, Session};
use crate::bind::access::Access;
use crate::catalog::definition::TableDef;
use crate::catalog::privilege::{Guard, INSERT, Rights, SELECT, UPDATE};
use crate::catalog::schema::BOOTSTRAP_ROLE;
use crate::catalog::store::Definitions;
use crate::plan::Plan;
use crate::statement::owner::denied;
use crate::types::Oid;
use allocator_api2::alloc::Allocator;
use base::{Error, Result};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many tables are remembered.
const REMEMBERED: usize = 64;

/// What the session was allowed.
pub(crate) struct Allowed<A: Allocator + Copy> {
    tables: List<(Oid, Rights), A>,
    /// For which definitions, and which path.
    of: (u64, u32),
}

impl<A: Allocator + Copy> Allowed<A> {
    pub(super) fn new(memory: A) -> Allowed<A> {
        Allowed { tables: List::new_in(memory), of: (0, 0) }
    }

    fn has(&self, table: Oid, rights: Rights) -> bool {
        self.tables.iter().any(|known| known.0 == table && rights & !known.1 == 0)
    }

    fn note(&mut self, table: Oid, rights: Rights) {
        if let Some(known) = self.tables.iter_mut().find(|known| known.0 == table) {
            known.1 |= rights;
            return;
        }
        if self.tables.len() >= REMEMBERED {
            self.tables.clear();
        }
        // Without memory it is looked up again.
        if self.tables.try_reserve(1).is_ok() {
            self.tables.push((table, rights));
        }
    }
}

impl<A: Allocator + Copy> Session<A> {
    /// May the current user execute the plan? Errors: `42501`.
    pub(crate) fn check_access(&mut self, env: &Environment<'_>, plan: Plan<'_>) -> Result<()> {
        if self.role() == BOOTSTRAP_ROLE || self.trusted {
            return Ok(());
        }
        let version = env.database.shared.as_ref().filter(|_| !self.work.defines).and_then(|shared| shared.settled());
        let now = version.map(|version| (version, self.path_number));
        if let Some(now) = now {
            if self.allowed.of != now {
                self.allowed.tables.clear();
                self.allowed.of = now;
            }
            if plan.accesses().all(|access| access.role.is_none() && self.allowed.has(access.table, access.rights)) {
                return Ok(());
            }
        }
        let accesses: Vec<Access> = plan.accesses().map(|access| access.whole()).collect();
        let on_tables = self.check_accesses(env, &accesses)?;
        if now.is_some() {
            on_tables.into_iter().for_each(|(table, rights)| self.allowed.note(table, rights));
        }
        Ok(())
    }

    /// The same of what a statement does; answers what is allowed on whole tables.
    pub(crate) fn check_accesses(&self, env: &Environment<'_>, accesses: &[Access]) -> Result<Vec<(Oid, Rights)>> {
        let mut on_tables = Vec::with_capacity(accesses.len());
        if self.role() == BOOTSTRAP_ROLE || self.trusted {
            return Ok(on_tables);
        }
        let catalog = self.catalog(env)?;
        for access in accesses {
            let Some(table) = catalog.table_by_oid(access.table)? else { continue };
            let role = if access.role.is_none() { self.role() } else { access.role };
            let held = catalog.definitions.rights(role, Guard::relation(&table), access.rights);
            let missing = access.rights & !held;
            if missing == 0 {
                if access.role.is_none() {
                    on_tables.push((access.table, access.rights));
                }
                continue;
            }
            let of_columns = [(SELECT, &access.selected), (INSERT, &access.inserted), (UPDATE, &access.updated)];
            let is_held = |(right, columns): (Rights, &BTreeSet<u16>)| {
                missing & right == 0 || has_columns(&catalog.definitions, role, &table, right, columns)
            };
            if missing & !(SELECT | INSERT | UPDATE) != 0 || !of_columns.into_iter().all(is_held) {
                return Err(denied(table.word(), &table.name));
            }
        }
        Ok(on_tables)
    }

    /// An error as the current user may hear it: without values of rows that he may not read.
    #[cold]
    pub(crate) fn discreet(&self, env: &Environment<'_>, plan: Plan<'_>, error: Error) -> Error {
        self.discreet_about(env, plan.tables().map(|table| table.oid), error)
    }

    /// The same of a statement on these tables.
    #[cold]
    pub(crate) fn discreet_about(
        &self,
        env: &Environment<'_>,
        mut tables: impl Iterator<Item = Oid>,
        error: Error,
    ) -> Error {
        const BROKEN_RULE: &str = "23";
        if self.role() == BOOTSTRAP_ROLE || self.trusted || !error.sqlstate().as_str().starts_with(BROKEN_RULE) {
            return error;
        }
        let reads_all = self.catalog(env).is_ok_and(|catalog| {
            tables.all(|oid| match catalog.table_by_oid(oid) {
                Ok(Some(table)) => catalog.definitions.rights(self.role(), Guard::relation(&table), SELECT) == SELECT,
                // Functions and types have no rows.
                Ok(None) => true,
                Err(_) => false,
            })
        });
        if reads_all { error } else { error.without_detail() }
    }
}

/// Has a role a privilege on all these columns of a table, or on any if there are none?
fn has_columns(
    definitions: &Definitions,
    role: Oid,
    table: &Arc<TableDef>,
    right: Rights,
    columns: &BTreeSet<u16>,
) -> bool {
    let has = |column: u16| definitions.column_rights(role, table.oid, column, right) != 0;
    match columns.is_empty() {
        true => table.visible().any(|(column, _)| has(column as u16)),
        false => columns.iter().all(|column| has(*column)),
    }
}
