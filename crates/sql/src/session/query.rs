//! The simple query: a text with any number of statements, executed one after another.
//!
//! Rules
//! 1. A text of several statements is read to its end before the first is executed: an error of syntax anywhere in it
//!    means that nothing happens.

use super::output::{Format, Output, Tag};
use super::parameters::Parameters;
use super::run::{Compiled, Ended, result_columns, tag};
use super::transaction::aborted;
use super::{Environment, Session};
use crate::lexer::{Head, Normalised, normalise};
use crate::notification::pending::Asked;
use crate::parser::ast::{Statement, Utility};
use crate::plan::{Plan, flags};
use crate::procedure::run::Notices;
use allocator_api2::alloc::Allocator;
use base::settings::{MessageLevel, SettingId};
use base::{Error, Result};

impl<A: Allocator + Copy> Session<A> {
    /// Executes the statements of a text. After an error the rest is not executed, and the transaction is failed or over.
    pub fn simple_query<O: Output>(&mut self, env: &Environment<'_>, text: &str, out: &mut O) -> Result<()> {
        self.drop_unnamed_statement();
        self.drop_unnamed_portal();
        match self.statements_of(env, text, out) {
            Ok(()) => {
                // What was one transaction because it came in one text ends with the text.
                if self.transaction.outlives_statement() && !self.transaction.is_block() {
                    let ended = self
                        .settle_deferred(env, true, &mut |level, error| out.notice(level, error))
                        .and_then(|()| self.end_transaction(env, true));
                    return ended.inspect_err(|_| self.fail(env));
                }
                Ok(())
            }
            Err(error) => {
                let error = self.named(env, error);
                self.fail(env);
                Err(error)
            }
        }
    }

    fn statements_of<O: Output>(&mut self, env: &Environment<'_>, text: &str, out: &mut O) -> Result<()> {
        let mut normalised = Normalised::default();
        let literals = self.literals(env);
        let mut at = 0;
        let mut count = 0;
        loop {
            normalise(text, at, literals, &mut normalised)?;
            let next = normalised.next;
            if normalised.head == Head::Empty {
                if next >= text.len() {
                    break;
                }
                at = next;
                continue;
            }
            // Statements that come together are one transaction, and none is executed if one is no SQL.
            let is_last = !has_more(text, next);
            let together = count > 0 || !is_last;
            if together && count == 0 {
                check_syntax(text, at)?;
            }
            if together {
                self.transaction.begin_implicit();
            }
            if together && is_last {
                self.transaction.expect_last();
            }
            count += 1;
            self.statement(env, text, at, &mut normalised, out)?;
            at = next;
            if at >= text.len() {
                break;
            }
            // The statement may have been the SET of that.
            let least = self.view(env).value(SettingId::ClientMinMessages).number();
            out.heed(MessageLevel::from_number(least).unwrap_or(MessageLevel::Notice));
        }
        if count == 0 {
            out.empty_query();
        }
        Ok(())
    }

    /// Executes one statement of a text.
    fn statement<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        from: usize,
        normalised: &mut Normalised,
        out: &mut O,
    ) -> Result<()> {
        self.transaction.begin_statement(kernel::clock::wall_us());
        if normalised.head == Head::Other {
            return self.utility_text(env, text, (normalised.start, normalised.end), Parameters::NONE, true, out);
        }
        if self.transaction.is_failed() {
            // That it is no SQL is said first.
            ends_transaction_in(text, (normalised.start, normalised.end))?;
            return Err(aborted());
        }
        match self.compile_query(env, text, from, normalised)? {
            Compiled::Utility => {
                self.utility_text(env, text, (normalised.start, normalised.end), Parameters::NONE, true, out)
            }
            Compiled::Plan(plan) => {
                let literals = (text, normalised.literals.as_slice());
                self.run_to_end(env, &plan, &[], literals, |_| Format::Text, true, out)
            }
        }
    }

    /// Executes a plan to its end, with its result described, as a statement of its own.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn run_to_end<O: Output>(
        &mut self,
        env: &Environment<'_>,
        plan: &[u8],
        parameters: &[crate::types::Datum<'_>],
        literals: (&str, &[crate::lexer::Literal]),
        formats: impl Fn(usize) -> Format + Copy,
        describe: bool,
        out: &mut O,
    ) -> Result<()> {
        let tag = self.run_plan(env, plan, parameters, literals, formats, describe, out)?;
        self.end_statement(env, &mut |level, error| out.notice(level, error))?;
        out.complete(tag);
        Ok(())
    }

    /// The same as a part of a statement, which the caller ends.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn run_plan<O: Output>(
        &mut self,
        env: &Environment<'_>,
        plan: &[u8],
        parameters: &[crate::types::Datum<'_>],
        literals: (&str, &[crate::lexer::Literal]),
        formats: impl Fn(usize) -> Format + Copy,
        describe: bool,
        out: &mut O,
    ) -> Result<Tag> {
        let Some(read) = Plan::new(plan) else { return Err(Error::unsupported("an empty plan")) };
        if describe && read.has(flags::RETURNS_ROWS) {
            out.columns(result_columns(read, formats));
        }
        let (ended, requests) = self.execute_plan(env, plan, parameters, literals, formats, u64::MAX, None, out)?;
        self.carry_out(env, requests)?;
        let (Ended::AtEnd(rows) | Ended::Early(rows)) = ended;
        Ok(tag(read, rows))
    }

    /// Executes a statement that is not planned; `given` are the parameters of the query in it; `ends` says
    /// whether its end, outside a block, is the transaction's.
    pub(crate) fn utility_text<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        range: (usize, usize),
        given: Parameters<'_>,
        ends: bool,
        out: &mut O,
    ) -> Result<()> {
        let bump = bumpalo::Bump::new();
        let statement = kernel::fiber::on_engine_stack(|| crate::parser::parse(text, range.0, range.1, &bump))?;
        let Statement::Utility(utility) = statement else {
            return Err(Error::unsupported("this statement"));
        };
        self.utility_read(env, text, utility, given, ends, out)
    }

    /// The same of one that has been read.
    pub(super) fn utility_read<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        utility: &Utility<'_>,
        given: Parameters<'_>,
        ends: bool,
        out: &mut O,
    ) -> Result<()> {
        if self.transaction.is_failed() && !ends_transaction(utility) {
            return Err(aborted());
        }
        let tag = self.utility(env, text, utility, given, out)?;
        if ends || self.transaction.stands_alone() {
            self.end_statement(env, &mut |level, error| out.notice(level, error))?;
        }
        if let Some(tag) = tag {
            out.complete(tag);
        }
        Ok(())
    }

    /// A statement has succeeded: outside a block its transaction is committed.
    pub(crate) fn end_statement(&mut self, env: &Environment<'_>, notices: Notices<'_>) -> Result<()> {
        if !self.transaction.ends_with_statement() {
            return Ok(());
        }
        self.settle_deferred(env, true, notices)?;
        self.end_transaction(env, true)
    }

    /// Ends the transaction. After an error it is to be ended again, without a commit.
    pub(crate) fn end_transaction(&mut self, env: &Environment<'_>, commit: bool) -> Result<()> {
        if commit {
            // Savepoints are over: what waits is a matter of the whole transaction.
            self.end_levels(env, 0);
            self.settle_deferred(env, true, &mut |_, _| {})?;
        }
        // They end with the storage's; a commit that fails takes everything back, not only what came since the last one.
        self.levels.clear();
        match commit {
            true => {
                let announced = self.announce(env)?;
                let committed = self.commit_work(env);
                self.announced(env, announced, committed.is_ok());
                committed?;
            }
            false => self.abort_work(env),
        }
        // After COMMIT and ROLLBACK the statement's own end finds nothing that was started.
        match (self.transaction.is_started(), commit) {
            (true, true) => self.ended.committed += 1,
            (true, false) => self.ended.rolled_back += 1,
            (false, _) => {}
        }
        self.deferred.clear();
        self.notices.take_back(Asked::default());
        if self.settings.changed_in_transaction() {
            let changed = self.settings.end_transaction(commit);
            self.settings_changed(env, changed);
        }
        self.transaction.end();
        self.drop_portals(commit);
        Ok(())
    }

    /// A statement has failed.
    pub fn fail(&mut self, env: &Environment<'_>) {
        if !self.transaction.is_failed() {
            let number = self.levels.last().map_or(0, |level| level.number());
            self.fail_portals_since(number);
        }
        if self.take_back_innermost(env) {
            self.transaction.fail();
            return;
        }
        self.abort_work(env);
        self.deferred.clear();
        if self.transaction.fail() {
            // Nothing can be done about a second error: the transaction is over in any case.
            let _ = self.end_transaction(env, false);
        }
    }
}

/// Is there another statement in the text from that byte on?
fn has_more(text: &str, from: usize) -> bool {
    let mut normalised = Normalised::default();
    let mut at = from;
    while at < text.len() {
        if normalise(text, at, crate::lexer::Literals::Keep, &mut normalised).is_err() {
            return true;
        }
        if normalised.head != Head::Empty {
            return true;
        }
        at = normalised.next.max(at + 1);
    }
    false
}

/// Parses the statements of a text from that byte on, for the errors that are in them.
fn check_syntax(text: &str, from: usize) -> Result<()> {
    let mut normalised = Normalised::default();
    let mut bump = bumpalo::Bump::new();
    let mut at = from;
    while at < text.len() {
        normalise(text, at, crate::lexer::Literals::Keep, &mut normalised)?;
        if normalised.head != Head::Empty {
            let (start, end) = (normalised.start, normalised.end);
            kernel::fiber::on_engine_stack(|| crate::parser::parse(text, start, end, &bump).map(|_| ()))?;
            bump.reset();
        }
        at = normalised.next.max(at + 1);
    }
    Ok(())
}

/// May the statement between two bytes of a text be executed in a failed transaction? Errors: those of syntax.
pub(super) fn ends_transaction_in(text: &str, (start, end): (usize, usize)) -> Result<bool> {
    let bump = bumpalo::Bump::new();
    let parsed = kernel::fiber::on_engine_stack(|| crate::parser::parse(text, start, end, &bump))?;
    Ok(matches!(parsed, Statement::Utility(utility) if ends_transaction(utility)))
}

/// May the statement be executed in a failed transaction?
pub(crate) fn ends_transaction(utility: &Utility<'_>) -> bool {
    matches!(utility, Utility::Commit { .. } | Utility::Rollback { .. } | Utility::RollbackTo(_))
}
