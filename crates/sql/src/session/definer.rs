//! Functions and procedures that run with their owner's rights (`SECURITY DEFINER`), or with settings of their own (`SET`).
//!
//! ```text
//!   call ──> the current user is the owner ──> SET name TO value, … ──> the body ──> settings as before ──> the user as before
//! ```
//!
//! Rules
//! 1. The session's user stays: `session_user` says who called.
//! 2. Within, `SET ROLE` and `SET SESSION AUTHORIZATION` are refused (`42501`), and transactions do not end.
//! 3. What the body sets with `SET`, not `SET LOCAL`, of a setting that the function has said stays when it returns, as in PostgreSQL.
//! 4. An error takes settings back along with everything else; the user is put back here.

use super::settings::is_custom;
use super::{Environment, Session, text_in};
use crate::catalog::routine::RoutineDef;
use allocator_api2::alloc::Allocator;
use base::Result;
use base::settings::lookup;

impl<A: Allocator + Copy> Session<A> {
    /// Runs a body as its definition says.
    pub(crate) fn as_routine<T>(
        &mut self,
        env: &Environment<'_>,
        routine: &RoutineDef,
        run: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if routine.is_plain() {
            return run(self);
        }
        if !routine.definer {
            return self.with_values(env, routine, run);
        }
        let owner = self.definitions(env, &self.work)?.role_name(routine.owner);
        let name = text_in(&owner, self.memory)?;
        let user = std::mem::replace(&mut self.user, name);
        let current = std::mem::replace(&mut self.identity.current, routine.owner);
        self.identity.definers += 1;
        // What was found out of privileges is another role's.
        self.path_number = self.path_number.wrapping_add(1);
        let done = self.with_values(env, routine, run);
        self.identity.definers -= 1;
        (self.user, self.identity.current) = (user, current);
        self.path_number = self.path_number.wrapping_add(1);
        done
    }

    fn with_values<T>(
        &mut self,
        env: &Environment<'_>,
        routine: &RoutineDef,
        run: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let noted = self.settings.noted();
        for (name, value) in &routine.settings {
            match is_custom(name)? {
                true => self.settings.set_custom(name, Some(value), true)?,
                false => self.set_setting(env, lookup(name)?, value, true)?,
            }
        }
        let value = run(self)?;
        for (name, _) in &routine.settings {
            let changed = self.settings.leave(name, noted)?;
            self.settings_changed(env, changed);
        }
        Ok(value)
    }
}
