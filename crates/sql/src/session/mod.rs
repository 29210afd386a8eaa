//! A session as SQL sees it: settings, prepared statements, portals, the state of its transaction.
//!
//! ```text
//!  simple query:  text ──> statements, one after another ──> rows, tags
//!  extended:      Parse ──> Prepared ──Bind──> Portal ──Execute──> rows, tag, or "suspended"
//! ```
//!
//! A [`Session`] is a plain value that lies in the session's arena, with everything in it; any engine of any host can go
//! on with it. What is of one process (the catalogs, the server's settings) comes with each call, in an [`Environment`].
//! Answers go to an [`Output`], so nothing here knows the wire.
//!
//! | module | what it is |
//! |---|---|
//! | [`settings`] | the session's own values of settings, with what a rollback undoes |
//! | [`transaction`] | transaction blocks |
//! | `control` | what begins and ends blocks, kept as it was read |
//! | `savepoint` | savepoints |
//! | `identity` | who the session is: whose privileges are in force |
//! | `firing` | triggers |
//! | `calling` | executions that call functions of users |
//! | [`work`] | the transaction in the storage: snapshots, locks, commit |
//! | `access` | whether the current user may execute a plan |
//! | `cursor` | cursors of procedures |
//! | [`current`] | whether a plan still stands |
//! | `custom` | whether a statement is planned for the values of its parameters |
//! | [`prepared`] | plans, statements, portals |
//! | [`run`] | from a statement's text to a plan, from a plan to rows |
//! | `cursor` | cursors, which have all their rows and move among them |
//! | [`held`] | what it has prepared and opened, for views |
//! | [`query`], [`extended`] | the two ways to bring statements |
//! | [`login`] | who wants to come in |
//! | `told` | what portals of statements that are not planned answer |
//! | [`output`] | where answers go |
//!
//! Rules
//! 1. What outlives a request lies in the session's allocator. A portal that is not at its end when its `Execute` stops keeps
//!    the rest of its rows there, as bytes.
//! 2. An error leaves the session as PostgreSQL's would: in a block the transaction is failed (`25P02` until it ends),
//!    outside one it is rolled back.
//! 3. Nothing here waits for the client except through [`Output`].

pub(crate) mod access;
mod calling;
mod control;
pub mod current;
mod cursor;
pub(crate) mod custom;
pub(crate) mod deferred;
mod definer;
pub mod extended;
pub(crate) mod firing;
pub mod held;
pub(crate) mod identity;
pub mod login;
pub(crate) mod opened;
pub mod output;
pub(crate) mod parameters;
pub mod prepared;
pub mod query;
pub mod run;
mod savepoint;
pub mod settings;
mod told;
pub mod transaction;
pub(crate) mod types;
pub mod work;

pub use output::{Column, CopyFormat, Format, NoData, Output, Tag};
pub use settings::SettingsView;
pub use transaction::Block;

use crate::catalog::lazy::Parts;
use crate::catalog::privilege::USAGE;
use crate::catalog::schema::{self, BOOTSTRAP_ROLE, SearchPath};
use crate::catalog::store::CatalogShared;
use crate::catalog::{Catalog, Catalogs, schema_in};
use crate::exec::sequence::Remembered;
use crate::exec::trigger::Transition;
use crate::notification::pending::{self, Notices};
use crate::notification::queue::Queue;
use crate::plan::cache::StatementCache;
use crate::types::Oid;
use crate::types::datetime::Zone;
use allocator_api2::alloc::Allocator;
use base::settings::{Effective, SettingId, SettingSet, Source};
use base::{Error, Result, SessionId};
use hashbrown::HashMap;
use kernel::region::arena::FixedHasher;
use kernel::sync::Spin;
use prepared::{Plans, Portal, Prepared};
use settings::Settings;
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use storage::relation::Relations;
use transaction::Transaction;
use work::Work;

/// A vector in a session's memory.
pub type List<T, A> = allocator_api2::vec::Vec<T, A>;
/// A text in a session's memory.
pub type Text<A> = allocator_api2::vec::Vec<u8, A>;
/// A name that is looked up in a [`Map`].
#[derive(Hash)]
pub(crate) struct Named<'n>(pub(crate) &'n [u8]);

impl<A: Allocator + Copy> hashbrown::Equivalent<Text<A>> for Named<'_> {
    fn equivalent(&self, key: &Text<A>) -> bool {
        self.0 == key.as_slice()
    }
}

/// A map in a session's memory.
pub(crate) type Map<V, A> = HashMap<Text<A>, V, BuildHasherDefault<FixedHasher>, A>;

/// What SQL has of a process: made before the first engine, the same in every process.
pub struct Database {
    /// The system's catalogs, and the server's views.
    pub catalogs: Catalogs,
    /// When the server started: microseconds since 2000-01-01.
    pub started_at: i64,
    /// The stored tables; none in tools and tests.
    pub relations: Option<&'static Relations>,
    /// What sessions share of the catalog; none without stored tables.
    pub(crate) shared: Option<CatalogShared>,
    /// Plans that sessions share; none without stored tables.
    pub(crate) cache: Option<StatementCache>,
    /// What `NOTIFY` sends; none without stored tables.
    pub(crate) notifications: Option<Queue>,
    /// Bodies of procedures that this process has read.
    pub(crate) bodies: crate::procedure::kept::Bodies,
    /// Zones that sessions have set, by name: each is made once in a process.
    zones: Spin<Vec<Arc<Zone>>>,
}

impl Database {
    /// A database with these catalogs, without stored tables.
    pub fn new(catalogs: Catalogs, started_at: i64) -> Database {
        Database {
            catalogs,
            started_at,
            relations: None,
            shared: None,
            cache: None,
            notifications: None,
            bodies: crate::procedure::kept::Bodies::new(),
            zones: Spin::new(Vec::new()),
        }
    }

    /// The same with stored tables. Before the first engine.
    #[must_use]
    pub fn with_tables(self, relations: &'static Relations) -> Database {
        let (shared, cache) = (Some(CatalogShared::make()), Some(StatementCache::make()));
        Database { relations: Some(relations), shared, cache, notifications: Some(Queue::make()), ..self }
    }

    /// Makes the catalog, if the database is new ([`storage::Recovered::new`]). In the background host, after the storage's start
    /// and before anybody is let in.
    pub fn open(&self, new: bool) -> Result<()> {
        self.relations.map_or(Ok(()), |relations| crate::catalog::store::open(relations, new))
    }

    /// Ends what a session has in the storage, however it ended. Runs as that session.
    pub fn end_session(&self, session: SessionId) {
        if let Some(shared) = &self.shared
            && let Some(database) = shared.has_temporary(session)
        {
            // Its transaction is over before another one begins.
            self.end_storage(session);
            if crate::statement::temporary::drop_of_session(self, database, session) {
                shared.set_temporary(session, None);
            }
        }
        self.end_storage(session);
        if let Some(shared) = &self.shared {
            shared.set_inside(session, None);
        }
    }

    /// Drops what sessions of an earlier server have made temporarily. In the background, once.
    pub fn drop_left_temporary(&self) {
        crate::statement::temporary::drop_left(self);
    }

    /// Ends a session's transaction, and what it holds in the storage.
    fn end_storage(&self, session: SessionId) {
        if let Some(relations) = self.relations {
            relations.end_session(session);
        }
        if let Some(shared) = &self.shared {
            shared.forget(session);
        }
        if let (Some(queue), Some(relations)) = (self.notifications, self.relations) {
            pending::end_session(queue, session, relations);
        }
    }

    /// The zone of that name, as the setting `TimeZone` has it.
    pub(crate) fn zone(&self, name: &str) -> Result<Arc<Zone>> {
        const ZONES_KEPT: usize = 64;
        if let Some(zone) = self.zones.lock().iter().find(|zone| zone.name() == name) {
            return Ok(zone.clone());
        }
        let zone = Arc::new(Zone::named(name)?);
        let full = {
            let mut zones = self.zones.lock();
            let full = zones.len() >= ZONES_KEPT;
            if !full {
                zones.push(zone.clone());
            }
            full
        };
        debug_assert!(!full || ZONES_KEPT > 0);
        Ok(zone)
    }
}

/// What a call needs of its process.
#[derive(Clone, Copy)]
pub struct Environment<'e> {
    /// The database.
    pub database: &'e Database,
    /// The server's settings.
    pub effective: &'e Effective,
    /// The session; none outside an engine.
    pub session: Option<SessionId>,
    /// The number that users see.
    pub number: u32,
    /// What the server does on behalf of statements.
    pub server: &'e dyn Server,
    /// Changed rows that a trigger's function reads as tables.
    pub transitions: &'e [Transition],
}

/// What only the server can do.
pub trait Server {
    /// Writes a value into the file of `ALTER SYSTEM` and lets the server read it; none takes it out. Without a setting all
    /// are taken out.
    fn alter_system(&self, id: Option<SettingId>, value: Option<&str>) -> Result<()>;

    /// What is kept in place of a role's password; a text that is a verifier already is kept as it is.
    fn password_verifier(&self, password: &str) -> Result<String>;

    /// Reads the files again that say who gets in; false if one is wrong.
    fn reload(&self) -> bool;
}

/// A server that cannot do anything: for tools and tests.
pub struct NoServer;

impl Server for NoServer {
    fn alter_system(&self, _: Option<SettingId>, _: Option<&str>) -> Result<()> {
        Err(Error::unsupported("ALTER SYSTEM is not supported here"))
    }

    fn password_verifier(&self, _: &str) -> Result<String> {
        Err(Error::unsupported("passwords are not supported here"))
    }

    fn reload(&self) -> bool {
        false
    }
}

/// A session; see the head of this module.
pub struct Session<A: Allocator + Copy> {
    pub(crate) memory: A,
    /// The database that it is in, for ever.
    pub(crate) database: Oid,
    pub(crate) database_name: Text<A>,
    /// The name of the current user.
    pub(crate) user: Text<A>,
    pub(crate) identity: identity::Identity<A>,
    pub(crate) allowed: access::Allowed<A>,
    /// It executes a statement of the server's own, for which nobody needs privileges.
    pub(crate) trusted: bool,
    pub(crate) settings: Settings<A>,
    pub(crate) transaction: Transaction,
    pub(crate) work: Work<A>,
    /// Savepoints that are open, the innermost last.
    pub(crate) levels: List<savepoint::Level<A>, A>,
    /// How many savepoints there have been.
    pub(crate) savepoints: u64,
    /// It has made something temporary.
    pub(crate) temporary: bool,
    /// Of it, tables of which commits delete the rows.
    pub(crate) deletes_on_commit: bool,
    /// Raised when what the transaction holds in the storage is given up.
    pub(crate) work_number: u64,
    /// The search path that the last stamp was made for, and its number.
    pub(crate) stamped_path: Text<A>,
    pub(crate) path_number: u32,
    pub(crate) plans: Plans<A>,
    pub(crate) statements: Map<Prepared<A>, A>,
    pub(crate) unnamed: Option<Prepared<A>>,
    pub(crate) portals: Map<Portal<A>, A>,
    pub(crate) unnamed_portal: Option<Portal<A>>,
    /// Settings that the client must be told of.
    pub(crate) reports: SettingSet,
    pub(crate) random: u64,
    /// Values of sequences that it was given.
    pub(crate) sequences: Remembered<A>,
    /// Checks that wait for the transaction's end.
    pub(crate) deferred: deferred::Deferred<A>,
    /// Channels that it listens to, and what its transaction sends.
    pub(crate) notices: Notices<A>,
    /// How many executions are around the one at hand, because functions of users are called in them; and the tables that these use.
    pub(crate) nested: u32,
    pub(crate) in_use: List<u32, A>,
    /// How many bodies have a statement running that is not planned.
    pub(crate) bodies: u32,
    /// Transactions that ended since [`Session::take_ended`].
    pub(crate) ended: Ended,
}

/// How many transactions ended, and how.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ended {
    /// By a commit, those that had changed nothing included.
    pub committed: u64,
    /// By a rollback, that of an error included.
    pub rolled_back: u64,
}

impl<A: Allocator + Copy> Session<A> {
    /// A new session of a user in a database: its number and its name. `seed` is where its random numbers begin.
    pub fn new(memory: A, user: &str, (database, name): (Oid, &str), seed: u64) -> Result<Session<A>> {
        Ok(Session {
            memory,
            database,
            database_name: text_in(name, memory)?,
            user: text_in(user, memory)?,
            identity: identity::Identity::new(user, memory)?,
            allowed: access::Allowed::new(memory),
            trusted: false,
            settings: Settings::new(memory),
            transaction: Transaction::default(),
            work: Work::new(memory),
            levels: List::new_in(memory),
            savepoints: 0,
            temporary: false,
            deletes_on_commit: false,
            work_number: 0,
            stamped_path: Text::new_in(memory),
            path_number: 0,
            plans: Plans::new(memory),
            statements: Map::with_hasher_in(BuildHasherDefault::default(), memory),
            unnamed: None,
            portals: Map::with_hasher_in(BuildHasherDefault::default(), memory),
            unnamed_portal: None,
            reports: SettingSet::EMPTY,
            random: seed,
            sequences: Remembered::new(memory),
            deferred: deferred::Deferred::new(memory),
            notices: Notices::new(memory),
            nested: 0,
            bodies: 0,
            in_use: List::new_in(memory),
            ended: Ended::default(),
        })
    }

    /// Sets a setting as the client's startup message asks. Errors are the session's end.
    pub fn set_at_start(&mut self, env: &Environment<'_>, name: &str, value: &str) -> Result<()> {
        if settings::is_custom(name)? {
            return self.settings.set_custom_at_start(name, value);
        }
        let id = base::settings::lookup(name)?;
        base::settings::check_context(id, base::settings::Change::Session, self.is_superuser(env))?;
        let value = self.parse_setting(env, id, value)?;
        if identity::is_identity(id) {
            self.check_identity(env, id, value.as_ref().text())?;
        }
        self.settings.set_at_start(id, value.as_ref(), Source::Client)?;
        if identity::is_identity(id) {
            self.identify(env);
        }
        Ok(())
    }

    /// Sets the settings that a session of its role begins with in the database; answers what is wrong with those that cannot be set.
    pub fn set_stored(&mut self, env: &Environment<'_>) -> Vec<Error> {
        let definitions = self.definitions(env, &self.work).unwrap_or_default();
        let mut wrong = Vec::new();
        for stored in definitions.settings_of(self.database, self.identity.login) {
            let source = match (stored.database.is_none(), stored.role.is_none()) {
                (true, true) => Source::Global,
                (false, true) => Source::Database,
                (true, false) => Source::User,
                (false, false) => Source::DatabaseUser,
            };
            for (name, value) in &stored.values {
                if let Err(error) = self.set_stored_one(env, name, value, source) {
                    wrong.push(error);
                }
            }
        }
        wrong
    }

    fn set_stored_one(&mut self, env: &Environment<'_>, name: &str, value: &str, source: Source) -> Result<()> {
        if settings::is_custom(name)? {
            return self.settings.set_custom_at_start(name, value);
        }
        let id = base::settings::lookup(name)?;
        // Whoever has stored it was allowed to.
        base::settings::check_context(id, base::settings::Change::Session, true)?;
        let value = self.parse_setting(env, id, value)?;
        if identity::is_identity(id) {
            self.check_identity(env, id, value.as_ref().text())?;
        }
        self.settings.set_at_start(id, value.as_ref(), source)?;
        if identity::is_identity(id) {
            self.identify(env);
        }
        Ok(())
    }

    /// How many transactions ended since this was last called.
    pub fn take_ended(&mut self) -> Ended {
        std::mem::take(&mut self.ended)
    }

    /// The settings as this session has them.
    pub fn view<'v>(&'v self, env: &Environment<'v>) -> SettingsView<'v> {
        let who = (self.identity.session_name.as_slice(), self.identity.is_superuser);
        SettingsView::new(env.effective, &self.settings, &self.transaction, who)
    }

    /// The name of its database. It is not renamed while somebody is in it.
    pub fn database_name(&self) -> &str {
        std::str::from_utf8(&self.database_name).unwrap_or_default()
    }

    /// The name of the current user.
    pub fn user(&self) -> &str {
        std::str::from_utf8(&self.user).unwrap_or("")
    }

    /// What `ReadyForQuery` says of the transaction.
    pub fn block(&self) -> Block {
        self.transaction.block()
    }

    /// True if others seem to wait for the transaction's end, as its rows are theirs too.
    pub fn is_awaited(&self, env: &Environment<'_>) -> bool {
        env.database.relations.is_some_and(|relations| relations.storage().transactions.is_awaited())
    }

    /// The settings of which the client must be told, each with its value; none is told twice.
    pub fn take_reports(&mut self, env: &Environment<'_>, mut tell: impl FnMut(&'static str, &str)) {
        if self.reports.is_empty() {
            return;
        }
        let reports = std::mem::replace(&mut self.reports, SettingSet::EMPTY);
        let view = self.view(env);
        for id in reports.iter() {
            tell(id.name(), &view.show(id));
        }
    }

    /// The catalog as this session sees it.
    ///
    /// Errors: those of reading the catalog. Not for the engine's own stack: this may wait.
    pub(crate) fn catalog<'v>(&'v self, env: &Environment<'v>) -> Result<Catalog<'v>> {
        self.catalog_in(env, &self.work)
    }

    /// The same while the transaction's state is taken out of the session.
    pub(crate) fn catalog_in<'v>(&'v self, env: &Environment<'v>, work: &Work<A>) -> Result<Catalog<'v>> {
        let (definitions, path) = self.catalog_parts(env, work)?;
        Ok(Catalog { catalogs: &env.database.catalogs, definitions, path, transitions: env.transitions })
    }

    /// What the catalog is put together from.
    pub(crate) fn catalog_parts(&self, env: &Environment<'_>, work: &Work<A>) -> Result<Parts> {
        let definitions = self.definitions(env, work)?;
        let view = self.view(env);
        let path = view.value(SettingId::SearchPath);
        let role = if self.trusted { BOOTSTRAP_ROLE } else { self.role() };
        let temporary = env.session.filter(|_| self.temporary).map(schema::temporary);
        let is_open = |oid: &Oid| definitions.rights(role, definitions.schema_guard(*oid), USAGE) != 0;
        let find = |name: &str| schema_in(&definitions, name).filter(is_open);
        let path = SearchPath::new(path.text(), self.user(), temporary, find).of(role);
        Ok((definitions, path))
    }

    /// An error as the client hears it: with the names of types. Before what the statement did is taken back.
    pub fn named(&self, env: &Environment<'_>, error: Error) -> Error {
        let texts = [Some(error.message()), error.detail_text(), error.hint_text(), error.context_text()];
        if !texts.into_iter().flatten().any(crate::types::user::has_marks) {
            return error;
        }
        match self.catalog(env) {
            Ok(catalog) => catalog.named_error(error),
            Err(_) => error,
        }
    }

    /// Ends the session: what it holds beside its memory is given up.
    pub fn close(&mut self, env: &Environment<'_>) {
        if self.block() != Block::Idle {
            self.ended.rolled_back += 1;
        }
        self.abort_work(env);
        self.transaction.abandon();
    }
}

/// A copy of a text in a session's memory. Errors: `53200`.
pub(crate) fn text_in<A: Allocator + Copy>(text: &str, memory: A) -> Result<Text<A>> {
    bytes_in(text.as_bytes(), memory)
}

/// A copy of bytes in a session's memory. Errors: `53200`.
pub(crate) fn bytes_in<A: Allocator + Copy>(bytes: &[u8], memory: A) -> Result<Text<A>> {
    let mut copy = Text::new_in(memory);
    copy.try_reserve_exact(bytes.len()).map_err(|_| Error::out_of_memory("a session's memory", bytes.len()))?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

#[cfg(test)]
mod tests;
