//! Statements that are not planned: each is carried out here, by what it is about.
//!
//! | module | statements |
//! |---|---|
//! | [`transaction`] | `BEGIN`, `COMMIT`, `ROLLBACK`, `SET TRANSACTION` |
//! | [`crate::notification`] | `LISTEN`, `UNLISTEN`, `NOTIFY` |
//! | [`setting`] | `SET`, `RESET`, `SHOW`, `ALTER SYSTEM`, `DISCARD` |
//! | [`prepare`] | `PREPARE`, `EXECUTE`, `DEALLOCATE`, `DECLARE`, `FETCH`, `CLOSE` |
//! | [`explain`] | `EXPLAIN` |
//! | [`table`](mod@table), [`index`](mod@index), [`alter`] | `CREATE`, `ALTER` and `DROP` of tables, indexes, schemas; `TRUNCATE` |
//! | `create_as` | `CREATE TABLE … AS`, `SELECT … INTO` |
//! | `comment` | `COMMENT` |
//! | `rename` | other names, and other schemas |
//! | `retype` | other types of columns |
//! | `like` | columns, keys and checks of another table in a new one |
//! | `view` | views, and which of them go with what they read |
//! | `sequence` | sequences, and those of columns |
//! | [`define`], [`constraint`] | what these have in common: definitions, and constraints |
//! | `grant`, `default_privileges` | `GRANT` and `REVOKE` of privileges, on what is there and on what is going to be made |
//! | `stored_setting` | `ALTER ROLE … SET`, `ALTER DATABASE … SET` |
//! | `owner` | `OWNER TO`, `REASSIGN OWNED` |
//! | `database` | `CREATE`, `ALTER`, `DROP DATABASE` |
//! | `role`, `role_lock` | `CREATE`, `ALTER`, `DROP ROLE`; `GRANT` and `REVOKE` of roles |
//! | `routine`, `alter_routine`, `call` | `CREATE FUNCTION`, `CREATE PROCEDURE`, their `ALTER` and `DROP`, `DO`; `CALL` |
//! | `user_type`, `drop_type` | `CREATE`, `ALTER`, `DROP TYPE` |
//! | `trigger` | `CREATE`, `ALTER`, `DROP TRIGGER`, and which of them are enabled |
//! | [`copy`](mod@copy) | `COPY` |
//! | [`maintain`] | `VACUUM`, `CHECKPOINT`, `LOCK TABLE` |
//! | [`rewrite`] | `VACUUM FULL`, `CLUSTER`, `REINDEX` |
//! | [`temporary`] | temporary relations: their place, `ON COMMIT`, their end |
//! | `analyze` | `ANALYZE` |
//!
//! Rules
//! 1. What is not carried out is refused with `0A000` and a hint; no statement is accepted and ignored.

pub mod alter;
mod alter_routine;
pub mod analyze;
mod call;
mod comment;
pub mod constraint;
pub mod copy;
mod create_as;
mod database;
mod default_privileges;
pub mod define;
mod drop_type;
pub mod explain;
pub(crate) mod grant;
pub mod index;
mod like;
pub mod maintain;
pub(crate) mod owner;
pub mod prepare;
mod rename;
mod retype;
pub(crate) mod rewrite;
mod role;
mod role_lock;
mod routine;
mod sequence;
pub mod setting;
pub(crate) mod storage_option;
mod stored_setting;
pub mod table;
pub(crate) mod temporary;
pub mod transaction;
mod trigger;
mod user_type;
mod view;

use crate::parser::ast::{DiscardKind, Utility};
use crate::session::parameters::Parameters;
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Oid, Type};
use allocator_api2::alloc::Allocator;
use base::{Error, Result};

impl<A: Allocator + Copy> Session<A> {
    /// Carries a statement out, with the parameters of the query in it; answers its tag, or none if the tag has been given already.
    pub(crate) fn utility<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        utility: &Utility<'_>,
        given: Parameters<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let words = |words| Ok(Some(Tag::Words(words)));
        self.begin_utility(env, utility);
        match utility {
            Utility::Begin(modes, tag) => self.begin(modes, tag, out),
            Utility::Commit { chain } => self.finish(true, *chain, env, out),
            Utility::Rollback { chain } => self.finish(false, *chain, env, out),
            Utility::Savepoint(name) => self.savepoint(env, name.text),
            Utility::Release(name) => self.release(env, name.text),
            Utility::RollbackTo(name) => self.rollback_to(env, name.text),
            Utility::Listen(name) => self.listen_statement(env, name.text),
            Utility::Unlisten(name) => self.unlisten_statement(name.map(|name| name.text)),
            Utility::Notify { channel, payload } => self.notify_statement(env, channel.text, payload),
            Utility::SetTransaction(modes) => self.set_transaction(modes, out),
            Utility::SetCharacteristics(modes) => self.set_characteristics(env, modes),
            Utility::Set { local, name, values } => self.set_statement(env, name, *values, *local, out),
            Utility::Reset(name) => self.reset_statement(env, *name),
            Utility::Show(name) => self.show(env, *name, out),
            Utility::AlterSystem { name, values } => self.alter_system(env, *name, *values),
            Utility::Discard(kind) => match kind {
                DiscardKind::All => self.discard_all(env),
                DiscardKind::Plans => words("DISCARD PLANS"),
                DiscardKind::Sequences => {
                    self.sequences.clear();
                    words("DISCARD SEQUENCES")
                }
                DiscardKind::Temporary => {
                    self.drop_temporary(env)?;
                    words("DISCARD TEMP")
                }
            },
            Utility::Prepare { name, types, body_at, .. } => self.prepare_statement(env, text, *name, types, *body_at),
            Utility::Execute { name, arguments } => self.execute_statement(env, text, *name, arguments, out),
            Utility::Deallocate(name) => self.deallocate(name.as_ref()),
            Utility::Declare { name, hold, scroll, binary, insensitive, body_at, .. } => {
                self.declare(env, text, *name, (*hold, *scroll, *binary, *insensitive), *body_at, given)
            }
            Utility::Fetch { name, direction, discard } => self.fetch(env, *name, *direction, *discard, out),
            Utility::Close(name) => self.close_cursor(name.as_ref()),
            Utility::Explain { wanted, statement, .. } => self.explain(env, text, statement, given, wanted, out),
            Utility::CreateTable(create) => self.create_table(env, text, create, given, out),
            Utility::SetConstraints(paths, deferred) => self.set_constraints(env, paths, *deferred, out),
            Utility::SelectInto(into) => self.select_into(env, text, into, given, out),
            Utility::CreateIndex(create) => self.create_index(env, text, create, out),
            Utility::CreateSchema { name, owner, if_not_exists } => {
                self.create_schema(env, *name, owner.as_ref(), *if_not_exists, out)
            }
            Utility::Grant(grant) => self.grant_statement(env, grant, out),
            Utility::Owner(statement) => self.owner_statement(env, statement, out),
            Utility::Drop { kind, paths, if_exists, cascade } => {
                self.drop_objects(env, *kind, paths, (*if_exists, *cascade), out)
            }
            Utility::CreateView(create) => self.create_view(env, text, create, out),
            Utility::AlterTable { path, view, if_exists, actions } => {
                self.alter_table(env, text, path, (*view, *if_exists), actions, out)
            }
            Utility::RenameIndex { path, if_exists, name } => self.rename_index(env, path, *if_exists, *name, out),
            Utility::RenameSchema { schema, name } => self.rename_schema(env, *schema, *name),
            Utility::Comment { on, text } => self.comment(env, on, *text, out),
            Utility::CreateSequence { path, if_not_exists, temporary, options } => {
                self.create_sequence(env, path, (*if_not_exists, *temporary), options, out)
            }
            Utility::AlterSequence { path, if_exists, change } => {
                self.alter_sequence(env, path, *if_exists, change, out)
            }
            Utility::Truncate { paths, restart_identity, cascade } => {
                self.truncate(env, paths, *restart_identity, *cascade, out)
            }
            Utility::Copy(copy) => self.copy(env, text, copy, out),
            Utility::Vacuum { analyze, full, verbose, tables } => {
                self.vacuum(env, (*analyze, *full, *verbose), tables, out)
            }
            Utility::Reindex(kind, path) => self.reindex(env, *kind, path),
            Utility::Cluster(path, index) => self.cluster(env, *path, *index),
            Utility::Analyze { verbose, tables } => self.analyze(env, *verbose, tables, out),
            Utility::Checkpoint => self.checkpoint(env),
            Utility::Lock { paths, mode, nowait } => self.lock_statement(env, paths, *mode, *nowait),
            Utility::Database(statement) => self.database_statement(env, statement, out),
            Utility::StoredSetting(statement) => self.store_setting(env, statement),
            Utility::AlterDefaults(alter) => self.alter_defaults(env, alter),
            Utility::Role(statement) => self.role_statement(env, statement, out),
            Utility::CreateRoutine(create) => self.create_routine(env, create),
            Utility::AlterRoutine(alter) => self.alter_routine(env, alter),
            Utility::DropRoutine(drop) => self.drop_routines(env, drop, out),
            Utility::Type(statement) => self.type_statement(env, statement, out),
            Utility::Trigger(statement) => self.trigger_statement(env, statement, out),
            Utility::Call(call) => self.call_statement(env, text, call, out),
            Utility::Do(block) => self.do_statement(env, block, out),
            Utility::Unsupported(words) => Err(refused(words)),
        }
    }

    /// What sees a snapshot takes it, if its transaction keeps the first one.
    fn begin_utility(&mut self, env: &Environment<'_>, utility: &Utility<'_>) {
        match utility {
            Utility::Begin(..)
            | Utility::Commit { .. }
            | Utility::Rollback { .. }
            | Utility::Savepoint(_)
            | Utility::Release(_)
            | Utility::RollbackTo(_)
            | Utility::SetTransaction(_)
            | Utility::SetCharacteristics(_)
            | Utility::Set { .. }
            | Utility::Reset(_)
            | Utility::Show(_)
            | Utility::SetConstraints(..)
            | Utility::Lock { .. }
            | Utility::Fetch { .. }
            | Utility::Listen(_)
            | Utility::Unlisten(_)
            | Utility::Notify { .. }
            | Utility::Checkpoint => {}
            // Their bodies may run long before they read anything.
            Utility::Call(_) | Utility::Do(_) => self.take_snapshot(env),
            // `VACUUM` and its like are transactions of their own, which no snapshot is to hold back; others take it when they read.
            _ if self.transaction.outlives_statement() => self.take_snapshot(env),
            _ => {}
        }
    }

    /// Describes the result of a statement that is not planned; false if it has none.
    pub(crate) fn describe_utility<O: Output>(&self, text: &str, out: &mut O) -> Result<bool> {
        let bump = bumpalo::Bump::new();
        let end = text.trim_end_matches([' ', '\t', '\r', '\n', ';']).len();
        let statement = kernel::fiber::on_engine_stack(|| crate::parser::parse(text, 0, end, &bump))?;
        match statement {
            crate::parser::ast::Statement::Utility(utility) => self.describe_read(utility, out),
            _ => Ok(false),
        }
    }

    /// The same for one that was read.
    fn describe_read<O: Output>(&self, utility: &Utility<'_>, out: &mut O) -> Result<bool> {
        match utility {
            Utility::Show(name) => self.describe_show(*name, out).map(|()| true),
            Utility::Explain { wanted, .. } => {
                explain::describe(wanted, out);
                Ok(true)
            }
            Utility::Execute { name, .. } => self.describe_execute(name.text, out),
            Utility::Fetch { name, discard: false, .. } => self.describe_cursor(name.text, out),
            _ => Ok(false),
        }
    }
}

/// What a statement that is not there yet hears.
#[cold]
pub(crate) fn refused(words: &str) -> Error {
    Error::unsupported(format!("{words} is not supported yet"))
        .hint("The server's manual lists the statements that are supported.")
}

/// Describes a result of texts.
pub(crate) fn text_columns<O: Output>(names: &[&str], out: &mut O) {
    out.columns(names.iter().map(|name| crate::session::Column {
        name,
        table: 0,
        number: 0,
        ty: Type::plain(Oid::TEXT),
        size: -1,
        format: crate::session::Format::Text,
    }));
}

/// Gives a row of texts.
pub(crate) fn text_row<O: Output>(values: &[&str], out: &mut O) -> Result<()> {
    out.begin_row();
    for value in values {
        out.value(|buffer| {
            buffer.extend_from_slice(value.as_bytes());
            Ok(())
        })?;
    }
    out.end_row()
}
