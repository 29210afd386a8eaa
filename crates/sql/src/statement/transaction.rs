//! `BEGIN`, `COMMIT`, `ROLLBACK`, and the modes of transactions.

use crate::parser::ast::TransactionMode;
use crate::session::{Environment, Output, Session, Tag};
use allocator_api2::alloc::Allocator;
use base::settings::{Isolation, MessageLevel, SettingId, ValueRef};
use base::{Error, Result, sqlstate};

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn begin<O: Output>(
        &mut self,
        modes: &[TransactionMode],
        tag: &'static str,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        if !self.transaction.begin_block() {
            let message = "there is already a transaction in progress";
            out.notice(MessageLevel::Warning, &Error::statement(sqlstate::ACTIVE_SQL_TRANSACTION, message));
        }
        self.apply_modes(modes)?;
        Ok(Some(Tag::Words(tag)))
    }

    fn apply_modes(&mut self, modes: &[TransactionMode]) -> Result<()> {
        for mode in modes {
            match *mode {
                TransactionMode::Isolation(isolation) => self.transaction.set_isolation(isolation)?,
                TransactionMode::ReadOnly(read_only) => self.transaction.set_read_only(read_only)?,
                TransactionMode::Deferrable(deferrable) => self.transaction.set_deferrable(deferrable),
            }
        }
        Ok(())
    }

    /// `COMMIT` and `ROLLBACK`. A failed transaction cannot be committed: it is rolled back, and the tag says so.
    pub(super) fn finish<O: Output>(
        &mut self,
        commit: bool,
        chain: bool,
        env: &Environment<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        if !self.transaction.is_block() {
            let message = "there is no transaction in progress";
            let error = Error::statement(sqlstate::NO_ACTIVE_SQL_TRANSACTION, message);
            if chain {
                let words = if commit { "COMMIT AND CHAIN" } else { "ROLLBACK AND CHAIN" };
                let message = format!("{words} can only be used in transaction blocks");
                return Err(Error::statement(sqlstate::NO_ACTIVE_SQL_TRANSACTION, message));
            }
            out.notice(MessageLevel::Warning, &error);
        }
        let (isolation, read_only, deferrable) = {
            let view = self.view(env);
            (
                self.transaction.shown_isolation(&view),
                self.transaction.shown_read_only(&view),
                self.transaction.shown_deferrable(&view),
            )
        };
        let commits = commit && !self.transaction.is_failed();
        if commits {
            self.end_levels(env, 0);
        }
        let settled = match commits {
            true => self.settle_deferred(env, true, &mut |level, error| out.notice(level, error)),
            false => Ok(()),
        };
        if let Err(error) = settled.and_then(|()| self.end_transaction(env, commits)) {
            // What could not be committed is over, and the block with it.
            self.end_transaction(env, false)?;
            return Err(error);
        }
        if chain {
            self.transaction.begin_block();
            self.transaction.begin_statement(kernel::clock::wall_us());
            self.transaction.set_isolation(isolation)?;
            self.transaction.set_read_only(read_only)?;
            self.transaction.set_deferrable(deferrable);
        }
        Ok(Some(Tag::Words(if commits { "COMMIT" } else { "ROLLBACK" })))
    }

    pub(super) fn savepoint(&mut self, env: &Environment<'_>, name: &str) -> Result<Option<Tag>> {
        self.check_block("SAVEPOINT")?;
        self.begin_level(env, name)?;
        Ok(Some(Tag::Words("SAVEPOINT")))
    }

    pub(super) fn release(&mut self, env: &Environment<'_>, name: &str) -> Result<Option<Tag>> {
        self.check_block("RELEASE SAVEPOINT")?;
        self.release_level(env, name)?;
        Ok(Some(Tag::Words("RELEASE")))
    }

    pub(super) fn rollback_to(&mut self, env: &Environment<'_>, name: &str) -> Result<Option<Tag>> {
        self.check_block("ROLLBACK TO SAVEPOINT")?;
        self.roll_back_to_level(env, name)?;
        Ok(Some(Tag::Words("ROLLBACK")))
    }

    fn check_block(&self, words: &str) -> Result<()> {
        if self.transaction.is_block() {
            return Ok(());
        }
        let message = format!("{words} can only be used in transaction blocks");
        Err(Error::statement(sqlstate::NO_ACTIVE_SQL_TRANSACTION, message))
    }

    pub(super) fn set_transaction<O: Output>(&mut self, modes: &[TransactionMode], out: &mut O) -> Result<Option<Tag>> {
        if !self.transaction.outlives_statement() {
            let message = "SET TRANSACTION can only be used in transaction blocks";
            out.notice(MessageLevel::Warning, &Error::statement(sqlstate::NO_ACTIVE_SQL_TRANSACTION, message));
        }
        self.apply_modes(modes)?;
        Ok(Some(Tag::Words("SET")))
    }

    pub(super) fn set_characteristics(
        &mut self,
        _: &Environment<'_>,
        modes: &[TransactionMode],
    ) -> Result<Option<Tag>> {
        for mode in modes {
            let (id, number) = match *mode {
                TransactionMode::Isolation(Isolation::Serializable) => {
                    return Err(Error::unsupported("SERIALIZABLE is not supported yet")
                        .detail("No weaker isolation level is used in its place."));
                }
                TransactionMode::Isolation(isolation) => (SettingId::DefaultTransactionIsolation, isolation.number()),
                TransactionMode::ReadOnly(read_only) => (SettingId::DefaultTransactionReadOnly, read_only.into()),
                TransactionMode::Deferrable(deferrable) => (SettingId::DefaultTransactionDeferrable, deferrable.into()),
            };
            self.settings.set(id, ValueRef::Number(number), false)?;
            self.note_report(id);
        }
        Ok(Some(Tag::Words("SET")))
    }
}
