//! Whether a plan still stands: whether it is made from the definitions that count now, with names that mean the same tables.
//!
//! ```text
//!  lock the plan's tables -> a stamp of this moment --- the plan has that stamp --------------------------> it stands
//!                                              \------ no: look its tables up in the catalog --- as before -> stamp it, it stands
//!                                                                                            \- changed --> make it again
//! ```
//!
//! A [`Stamp`] says which definitions are committed and which path names are looked for in. While nobody changes a definition, a plan that
//! stood once is used without a look at the catalog.
//!
//! Rules
//! 1. Tables are locked before the stamp is taken: then none of them is changed before the transaction ends, and a change that was
//!    committed before is counted in the stamp ([`crate::catalog::store`], rule 1).
//! 2. A plan that was made under other settings ([`crate::plan::planning`]) does not stand, whatever its stamp is.
//! 3. There is no stamp while somebody commits definitions, and none in a transaction that has changed some.

use super::prepared::PlanId;
use super::{Environment, Session, bytes_in};
use crate::catalog::schema::FIRST_USER_OID;
use crate::plan::cache::{Found, StatementCache};
use crate::plan::{Plan, PlanTable};
use crate::types::user;
use allocator_api2::alloc::Allocator;
use base::Result;
use base::settings::SettingId;
use smallvec::SmallVec;
use storage::txn::LockMode;

/// The tables of a plan that are stored: those that are locked, and whose definitions change.
pub(crate) type StoredTables = SmallVec<[PlanTable; 4]>;

/// The tables of a plan that are stored.
pub(crate) fn stored_tables(plan: &[u8]) -> StoredTables {
    let tables = Plan::new(plan).into_iter().flat_map(|plan| plan.tables());
    tables.filter(|table| table.oid.0 >= FIRST_USER_OID).collect()
}

/// What has to be the same for a plan to stand without another look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    /// The version of the committed definitions.
    pub(crate) version: u64,
    /// The number of the session's search path: another path has another one.
    path: u32,
}

impl<A: Allocator + Copy> Session<A> {
    /// The stamp of this moment. The tables that it is taken for are locked.
    ///
    /// Errors: `53200`.
    pub(crate) fn stamp(&mut self, env: &Environment<'_>) -> Result<Option<Stamp>> {
        let version = env.database.shared.as_ref().filter(|_| !self.work.defines).and_then(|shared| shared.settled());
        let Some(version) = version else { return Ok(None) };
        let view = self.view(env);
        let path = view.value(SettingId::SearchPath).text().as_bytes();
        if path != self.stamped_path.as_slice() {
            self.stamped_path = bytes_in(path, self.memory)?;
            self.path_number += 1;
        }
        Ok(Some(Stamp { version, path: self.path_number }))
    }

    /// Locks tables, each in the mode that a plan needs.
    ///
    /// Errors: `40P01`, `55P03`, `57014`, `53200`.
    pub(crate) fn lock_tables(&mut self, env: &Environment<'_>, tables: &[PlanTable]) -> Result<()> {
        for table in tables {
            let mode = LockMode::from_number(table.lock).unwrap_or(LockMode::AccessExclusive);
            self.lock_relation(env, table.oid.0, mode, true)?;
        }
        Ok(())
    }

    /// Whether a plan of these tables, which are locked, is made from the definitions that count, with names that still mean
    /// these tables: by a look at the catalog.
    pub(crate) fn stands(&self, env: &Environment<'_>, tables: &[PlanTable]) -> Result<bool> {
        if tables.is_empty() {
            return Ok(true);
        }
        let catalog = self.catalog(env)?;
        for table in tables {
            if catalog.routine(table.oid).is_some_and(|routine| routine.version == table.version) {
                continue;
            }
            if user::is_user(table.oid) {
                let is_same = catalog.user_type(table.oid).is_some_and(|known| known.version == table.version);
                if !is_same || table.searched && !catalog.sees_type(table.oid) {
                    return Ok(false);
                }
                continue;
            }
            let known = match catalog.table_by_oid(table.oid)? {
                Some(known) if known.version == table.version => known,
                _ => return Ok(false),
            };
            let is_hidden = table.searched && !catalog.is_visible(&known);
            if is_hidden || (table.qualified && catalog.check_usage(known.schema).is_err()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Locks the tables of a plan from the statement cache and answers whether it stands. Its key has the search path in it.
    pub(crate) fn lock_found(&mut self, env: &Environment<'_>, cache: &StatementCache, found: &Found) -> Result<bool> {
        let tables = stored_tables(&found.plan);
        if tables.is_empty() {
            return Ok(true);
        }
        self.lock_tables(env, &tables)?;
        let now = self.stamp(env)?;
        if now.is_some_and(|now| cache.stands(found, now.version)) {
            return Ok(true);
        }
        let stands = self.stands(env, &tables)?;
        if let Some(now) = now.filter(|_| stands) {
            cache.note_stands(found, now.version);
        }
        Ok(stands)
    }

    /// Was a plan made under the settings that count now?
    pub(crate) fn is_of_settings(&self, env: &Environment<'_>, plan: &[u8]) -> bool {
        Plan::new(plan).is_none_or(|plan| plan.planning() == self.view(env).planning_number())
    }

    /// Locks the tables of one of the session's plans and answers whether it stands.
    pub(crate) fn lock_plan(&mut self, env: &Environment<'_>, id: PlanId) -> Result<bool> {
        if !self.is_of_settings(env, self.plans.bytes(id)) {
            return Ok(false);
        }
        let tables = stored_tables(self.plans.bytes(id));
        if tables.is_empty() {
            return Ok(true);
        }
        self.lock_tables(env, &tables)?;
        let now = self.stamp(env)?;
        if now.is_some() && self.plans.stamp(id) == now {
            return Ok(true);
        }
        let stands = self.stands(env, &tables)?;
        self.plans.set_stamp(id, now.filter(|_| stands));
        Ok(stands)
    }
}
