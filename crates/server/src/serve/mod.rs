//! The database server itself: what a session's bytes come to.
//!
//! | module | what it is |
//! |---|---|
//! | [`login`] | from the first packet to the first `ReadyForQuery` |
//! | [`connection`] | messages after that |
//! | [`answers`] | where a statement's answers go |
//! | [`activity`] | what each session does, for views |
//! | [`alter_system`] | the file that `ALTER SYSTEM` writes |
//!
//! Life of a request: the kernel calls [`Service::serve`] with what came in; the session's [`State`], which lies in its
//! arena, says how far it is; messages are served until no whole one is left, and the session parks.
//!
//! Life of the server: the supervisor makes the [`Database`], with everything of storage's and SQL's in the region, before the
//! first engine is forked; the background host recovers ([`Service::start`]) before anybody is let in, runs storage's tasks,
//! and writes the last checkpoint when all sessions have gone ([`Service::stop`]).

pub mod activity;
mod alter_system;
mod answers;
mod connection;
mod login;

use crate::access::Access;
use crate::options::Options;
use crate::roles::Roles;
use crate::startup;
use crate::views;
use activity::Activity;
use allocator_api2::boxed::Box as ArenaBox;
use alter_system::SettingsFile;
use base::settings::{Effective, SettingId};
use base::{Error, Kind, Result, SessionId, sqlstate};
use connection::Connection;
use kernel::clock;
use kernel::region::arena::ArenaRef;
use kernel::session::{End, Interrupt, Next, Service, Session};
use login::{Gate, Login, Outcome};
use protocol::backend;
use sql::catalog::Catalogs;
use sql::session::Environment;
use storage::Storage;
use storage::relation::Relations;

/// The background tasks: storage's, and one that needs SQL.
const TASKS: &[&str] = &{
    let mut all = [""; ANALYZER + 1];
    let mut task = 0;
    while task < ANALYZER {
        all[task] = storage::TASKS[task];
        task += 1;
    }
    all[ANALYZER] = "analyzer";
    all
};
/// The last of them: statistics of tables that have changed.
const ANALYZER: usize = storage::TASKS.len();

/// The service that every engine of the server has.
pub struct Database {
    settings: Effective,
    roles: Roles,
    access: &'static Access,
    settings_file: SettingsFile,
    activity: Activity,
    storage: &'static Storage,
    relations: &'static Relations,
    sql: sql::session::Database,
}

/// A session's state between two requests; lies in its arena.
enum State {
    /// It logs in.
    Login(ArenaBox<Login, ArenaRef>),
    /// It is in.
    In(ArenaBox<Connection, ArenaRef>),
    /// It is being served. Whoever closes it and finds this knows that what was served did not come to its end.
    Served,
}

/// Runs the server; answers the exit status.
pub fn run(options: Options) -> Result<i32> {
    let _directory = crate::data_directory::open(options.data())?;
    let config = options.config()?;
    for notice in options.effective.notices() {
        eprintln!("gearbox: {notice}");
    }
    let roles = Roles::open(options.data(), options.effective.text(SettingId::PasswordFile))?;
    kernel::supervisor::run(
        config,
        || Database::make(options.effective, roles),
        |config| {
            for address in &config.listen {
                let (ip, port) = (address.ip(), address.port());
                println!("gearbox: {} on {address}; connect with: psql -h {ip} -p {port} -U postgres", config.model());
            }
        },
    )
}

/// What storage is told, of the settings.
fn storage_config(settings: &Effective) -> storage::Config {
    storage::Config {
        shared_buffers: settings.bytes(SettingId::SharedBuffers),
        wal_buffers: settings.bytes(SettingId::WalBuffers),
        checkpoint_timeout_ms: settings.micros(SettingId::CheckpointTimeout) / 1000,
        min_wal_size: settings.bytes(SettingId::MinWalSize),
        max_wal_size: settings.bytes(SettingId::MaxWalSize),
        deadlock_timeout_ms: settings.micros(SettingId::DeadlockTimeout) / 1000,
        maintenance_work_mem: settings.bytes(SettingId::MaintenanceWorkMem),
    }
}

impl Service for Database {
    fn serve(&self, session: &mut Session) -> Next {
        match self.go_on(session) {
            Ok(next) => next,
            Err(error) => {
                backend::error_response(session.output(), &as_fatal(error));
                Next::Close
            }
        }
    }

    fn close(&self, session: &mut Session, _end: End) {
        let state = session.state::<State>().map(|state| std::mem::replace(state, State::Served));
        if let Some(State::In(mut connection)) = state {
            let ended = connection.close(&self.environment(session));
            self.activity.ended(session.shared().id(), ended);
        }
        self.activity.end(session.shared().id());
        self.sql.end_session(session.shared().id());
    }

    fn release_dead(&self, session: SessionId) {
        self.storage.release_dead(session);
    }

    fn login_patience(&self) -> Option<clock::Nanos> {
        Some(self.settings.micros(SettingId::AuthenticationTimeout) * 1000)
    }

    fn refusal(&self, error: &Error) -> Vec<u8> {
        startup::refusal(error)
    }

    fn background(&self) -> &'static [&'static str] {
        TASKS
    }

    fn run_background(&self, task: usize) {
        if task == ANALYZER {
            let slot = kernel::session::current();
            let env = self.environment_of(slot.id(), slot.number());
            return self.sql.run_analyzer(&env, || self.analysis_settings());
        }
        if storage::TASKS[task] == "vacuum" {
            self.sql.drop_left_temporary();
        }
        self.relations.run_task(task, &self.sql, || self.vacuum_settings());
    }

    fn start(&self) -> Result<()> {
        let found = self.storage.start()?;
        if !found.clean {
            eprintln!("gearbox: the last server was not stopped; {found}");
        }
        self.sql.open(found.new)
    }

    fn reload(&self) {
        self.access.reload();
    }

    fn stop(&self) {
        if let Err(error) = self.storage.stop() {
            eprintln!("gearbox: the last checkpoint failed, so the next start recovers: {error}");
        }
    }
}

impl sql::session::Server for Database {
    fn alter_system(&self, id: Option<SettingId>, value: Option<&str>) -> Result<()> {
        self.settings_file.change(id, value)
    }

    fn password_verifier(&self, password: &str) -> Result<String> {
        crate::roles::verifier(password)
    }

    fn reload(&self) -> bool {
        self.access.reload()
    }
}

/// What ends the session says so.
fn as_fatal(error: Error) -> Error {
    if error.kind() == Kind::Session {
        return error;
    }
    let fatal = Error::session(error.sqlstate(), error.message().to_string());
    let fatal = error.detail_text().map(str::to_string).into_iter().fold(fatal, Error::detail);
    error.hint_text().map(str::to_string).into_iter().fold(fatal, Error::hint)
}

/// A value in a session's arena. Errors: `53200`.
fn in_arena<T>(value: T, session: &Session) -> Result<ArenaBox<T, ArenaRef>> {
    let refused = |_| Error::out_of_memory("a session's state", size_of::<T>());
    ArenaBox::try_new_in(value, session.arena()).map_err(refused)
}

impl Database {
    /// Takes everything in the region that the server needs. Before the first engine.
    ///
    /// Errors: `53200`.
    pub fn make(settings: Effective, roles: Roles) -> Result<Database> {
        kernel::io::on_completion(Storage::complete);
        let storage = Storage::create_tables(&storage_config(&settings))?;
        let relations = Relations::make(storage);
        let mut catalogs = Catalogs::new();
        let activity = Activity::make();
        let access: &'static Access = Box::leak(Box::new(Access::start(&settings)?));
        views::register(&mut catalogs, activity, access, storage);
        let sql = sql::session::Database::new(catalogs, clock::wall_us()).with_tables(relations);
        Ok(Database { settings, roles, access, settings_file: SettingsFile::make(), activity, storage, relations, sql })
    }

    /// The storage: for tests that look at what is left in it.
    pub fn storage(&self) -> &'static Storage {
        self.storage
    }

    fn vacuum_settings(&self) -> storage::vacuum::Settings {
        const NS_PER_US: u64 = 1000;
        let settings = &self.settings;
        storage::vacuum::Settings {
            enabled: settings.bool(SettingId::Autovacuum),
            nap_ns: settings.micros(SettingId::AutovacuumNaptime) * NS_PER_US,
            threshold: settings.integer(SettingId::AutovacuumVacuumThreshold).max(0) as u64,
            scale_factor: settings.real(SettingId::AutovacuumVacuumScaleFactor),
            memory: settings.bytes(SettingId::MaintenanceWorkMem) as usize,
            ..storage::vacuum::Settings::default()
        }
    }

    fn analysis_settings(&self) -> sql::statement::analyze::background::Settings {
        const NS_PER_US: u64 = 1000;
        let (settings, vacuum) = (&self.settings, self.vacuum_settings());
        sql::statement::analyze::background::Settings {
            enabled: vacuum.enabled,
            nap_ns: settings.micros(SettingId::AutovacuumNaptime) * NS_PER_US,
            threshold: settings.integer(SettingId::AutovacuumAnalyzeThreshold).max(0) as u64,
            scale_factor: settings.real(SettingId::AutovacuumAnalyzeScaleFactor),
            rest_ns: vacuum.rest_ns,
        }
    }

    fn environment(&self, session: &Session) -> Environment<'_> {
        self.environment_of(session.shared().id(), session.shared().number())
    }

    fn environment_of(&self, session: SessionId, number: u32) -> Environment<'_> {
        Environment {
            database: &self.sql,
            effective: &self.settings,
            session: Some(session),
            number,
            server: self,
            transitions: &[],
        }
    }

    fn go_on(&self, session: &mut Session) -> Result<Next> {
        if session.state::<State>().is_none() {
            let login = in_arena(Login::begins(), session)?;
            session.set_state(State::Login(login))?;
        }
        // The state is taken out while it is used, so that the session can be used beside it.
        let state = session.state::<State>().expect("just stored");
        let (next, state) = match std::mem::replace(state, State::Served) {
            State::Login(login) => self.log_in(session, login)?,
            State::In(mut connection) => {
                let next = connection.serve(session, &self.environment(session));
                (next, State::In(connection))
            }
            State::Served => unreachable!("a session is served by one engine at a time, and put back"),
        };
        *session.state::<State>().expect("stored above") = state;
        next
    }

    fn log_in(&self, session: &mut Session, mut login: ArenaBox<Login, ArenaRef>) -> Result<(Result<Next>, State)> {
        if let Some(interrupt) = session.shared().interrupt() {
            return Err(match interrupt {
                Interrupt::IdleTimeout => {
                    Error::session(sqlstate::QUERY_CANCELED, "canceling authentication due to timeout")
                }
                other => kernel::session::interrupt_error(other),
            });
        }
        let env = self.environment(session);
        let gate = Gate { access: self.access, roles: &self.roles, activity: self.activity };
        match login.go_on(session, &gate, &env)? {
            Outcome::Leaves => Ok((Ok(Next::Close), State::Login(login))),
            Outcome::Waits => Ok((Ok(Next::Park), State::Login(login))),
            Outcome::In(wishes, database) => {
                session.shared().clear_deadline();
                let connection = Connection::new(session, &env, self.activity, &wishes, database)?;
                let mut connection = in_arena(connection, session)?;
                connection.greet(session, &env);
                let next = connection.serve(session, &env);
                Ok((next, State::In(connection)))
            }
        }
    }
}
