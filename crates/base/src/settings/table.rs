//! The table of settings.
//!
//! Each row is documentation, name, chapter, context and kind; the command line, `SHOW`, `SET`, `ALTER SYSTEM`,
//! `pg_settings`, files, environment variables and the manual are made from it and from nothing else.
//!
//! Rules
//! 1. The first line of a row's documentation is one sentence that stands alone; what follows is for the manual.
//! 2. PostgreSQL's settings keep PostgreSQL's names, kinds, units and contexts. Where a default or a range differs the
//!    documentation says why.
//! 3. A setting that is accepted for clients' sake and does nothing says so. One that would weaken durability or
//!    isolation is not accepted at all.

use super::choice::{self, Choices};
use super::date_style::{DateFormat, DateOrder, DateStyle};
use super::setting::{Category, Context, Flags, Kind, Setting};
use super::text::TextRule;
use super::unit::Unit;
use std::fmt;

macro_rules! settings {
    ($(
        $(#[doc = $doc:literal])+
        $id:ident $name:literal: $category:ident, $context:ident, $kind:expr
        $(, option $option:literal)? $(, flags $flags:expr)?;
    )+) => {
        /// The number of a setting: dense, from zero, in the table's order.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        pub enum SettingId {
            $($(#[doc = $doc])+ $id,)+
        }

        /// How many settings there are.
        pub const COUNT: usize = [$(SettingId::$id),+].len();

        /// Every setting, at the index of its number.
        pub static TABLE: [Setting; COUNT] = [$(Setting {
            id: SettingId::$id,
            name: $name,
            category: Category::$category,
            context: Context::$context,
            kind: $kind,
            option: [$(Some($option),)? None][0],
            flags: [$($flags,)? Flags::NONE][0],
            docs: &[$($doc),+],
        }),+];
    };
}

impl SettingId {
    /// Every setting, in the table's order.
    pub fn all() -> impl Iterator<Item = SettingId> {
        TABLE.iter().map(|setting| setting.id)
    }

    /// The setting of that number.
    pub fn from_index(index: usize) -> Option<SettingId> {
        TABLE.get(index).map(|setting| setting.id)
    }

    /// The setting's row.
    pub fn setting(self) -> &'static Setting {
        &TABLE[self as usize]
    }

    /// The setting's name.
    pub fn name(self) -> &'static str {
        self.setting().name
    }
}

impl fmt::Display for SettingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const fn boolean(default: bool) -> Kind {
    Kind::Bool { default, refused: None }
}

/// A boolean of which only one value is supported.
const fn only(default: bool) -> Kind {
    Kind::Bool { default, refused: Some(!default) }
}

const fn integer(min: i32, max: i32, unit: Unit, default: i32) -> Kind {
    Kind::Integer { min, max, unit, default }
}

const fn real(min: f64, max: f64, unit: Unit, default: f64) -> Kind {
    Kind::Real { min, max, unit, default }
}

const fn one_of(choices: &'static Choices, default: &'static str) -> Kind {
    Kind::Enum { choices, default }
}

const fn text(rule: TextRule, default: &'static str) -> Kind {
    Kind::Text { rule, default }
}

/// The default of `DateStyle`.
pub(crate) const DATE_STYLE_DEFAULT: DateStyle = DateStyle { format: DateFormat::Iso, order: DateOrder::Mdy };

/// What `server_version` reports: the PostgreSQL release whose protocol and catalogs clients find here, and the server.
const SERVER_VERSION: &str = concat!("15.18 (Gearbox ", env!("CARGO_PKG_VERSION"), ")");
const SERVER_VERSION_NUM: i32 = 150_018;

/// The bytes of a page.
const BLOCK_SIZE: i32 = 8192;

const REPORT: Flags = Flags::REPORT;
const PLANS: Flags = Flags::PLANS;

settings! {
    // ---- Execution Model

    /// What an engine is: an operating-system process or an operating-system thread.
    ///
    /// With `process` a crash of an engine takes the requests that ran on it and nothing else. With `thread` all engines
    /// of a group share one process, and waking and switching cost less.
    Engine "engine": ExecutionModel, Start, one_of(&choice::ENGINE, "thread"), option "--engine";

    /// How long a session holds an engine: for its whole life, for a request, or only while it runs.
    ///
    /// With `dedicated` every connection has an engine of its own. With `shared` a session takes an engine for each
    /// request. With `fiber` it gives the engine up at every wait, so that a few engines serve thousands of active
    /// sessions.
    Sessions "sessions": ExecutionModel, Start, one_of(&choice::SESSIONS, "fiber"), option "--sessions";

    /// How many engines serve the sessions that own none; `0` takes one or two for each CPU.
    ///
    /// It takes two where `sessions` is `shared`: an engine that sessions share is put off its CPU by whoever wakes there, in the midst of a
    /// request, and another has to serve where a CPU has nothing else to do. The setting is ignored, with a notice, when `sessions` is
    /// `dedicated`.
    Engines "engines": ExecutionModel, Start, integer(0, 1024, Unit::None, 0), option "--engines";

    /// The execution model of the engines that serve this session.
    ///
    /// It is `engine` and `sessions` with a slash between them, for example `thread/fiber`.
    ExecutionModel "execution_model": ExecutionModel, Internal, text(TextRule::Any, "thread/fiber"),
        flags Flags::PER_SESSION;

    /// What a session sleeps on until another one posts it.
    ///
    /// `futex` are Linux futex words, `posix` POSIX unnamed semaphores, `sysv` a set of System V semaphores, `eventfd`
    /// event file descriptors. It matters where sessions block in the kernel, and for waking idle engines.
    WaitPrimitive "wait_primitive": ExecutionModel, Start, one_of(&choice::WAIT_PRIMITIVE, "futex"), option "--wait";

    /// How many idle engines are kept ready for new connections when every session owns one.
    ///
    /// With them a connection need not wait until a process or thread is made. Ignored unless `sessions` is `dedicated`.
    SpareEngines "spare_engines": ExecutionModel, Start, integer(0, 1024, Unit::None, 4);

    /// How long an engine without work looks for some before it sleeps.
    ///
    /// Engines that sessions share do, and engines with fibers. It saves the cost of a sleep and a wake-up and pays with CPU time: less of
    /// it where others want the CPU, because the engine offers it to them at each look and sleeps when they take it. An engine
    /// that finds too little in this way leaves it out for a while. `0` sleeps at once. Ignored when `sessions` is `dedicated`.
    EngineIdleSpin "engine_idle_spin": ExecutionModel, Start, integer(0, 1_000_000, Unit::Microseconds, 50);

    /// How long a waiting session that holds its engine spins before it sleeps.
    ///
    /// It helps when there are no more such sessions than CPUs, and hurts when there are more. `0` sleeps at once.
    SessionIdleSpin "session_idle_spin": ExecutionModel, Start, integer(0, 1_000_000, Unit::Microseconds, 0);

    /// How long a session computes before it lets others use its engine.
    ///
    /// Each short request beside long ones waits for about this long, and a transaction of several requests as many times. With fibers
    /// the engine changes to another session, which costs about a microsecond. Where `sessions` is `shared` the session keeps its engine,
    /// and another engine is called to serve beside it until the request is done, if there are fewer than there should be.
    ///
    /// Ignored when `sessions` is `dedicated`, where the operating system shares out the CPUs.
    TimeSlice "time_slice": ExecutionModel, Start, integer(100, 1_000_000, Unit::Microseconds, 250);

    /// Whether engines with fibers send answers to several clients with one system call.
    ///
    /// Clients that share CPUs with the server then find several answers when they wake, rather than to take the CPU from the engine for
    /// each. An answer waits while others run that are ready: for a fraction of a millisecond, and for no long statement. Whoever
    /// is in a transaction that others wait for is answered at once. It is done with an io_uring; where the system allows none,
    /// each answer is sent by itself. `gearbox.engines` counts in `answers_gathered`.
    GatherAnswers "gather_answers": ExecutionModel, Start, boolean(true);

    /// How much address space the stack of a fiber has.
    ///
    /// Memory is taken as the stack grows. Parsing and planning run on larger stacks; a statement whose queries are nested deeper than this
    /// one holds is refused.
    FiberStackSize "fiber_stack_size": ExecutionModel, Start, integer(128, 65_536, Unit::Kilobytes, 512);

    /// How many helpers run what blocks in the operating system and cannot be waited for.
    ///
    /// Opening, making and removing files are examples. Each host with fibers has so many at most, made when they are first
    /// needed; with `sessions` = `dedicated` or `shared` a session makes such calls on its own engine.
    BlockingPoolSize "blocking_pool_size": ExecutionModel, Start, integer(1, 1024, Unit::None, 4);

    /// How long `gearbox limit` computes for each answer, in nanoseconds.
    ///
    /// With `0` answering costs nothing and what is left is the model's own cost. Other values show what each model makes of requests that
    /// need so much of a CPU. `gearbox serve` ignores it.
    LimitWork "limit_work_ns": ExecutionModel, Start, integer(0, 100_000_000, Unit::None, 0);

    /// How large the memory that all sessions share may become.
    ///
    /// This much address space is reserved at the start; memory is taken as it is used. The buffer pool, the statement
    /// cache and the state of all sessions lie in it, so it must be larger than `shared_buffers`.
    RegionSizeMax "region_size_max": ExecutionModel, Start, integer(64, 16_777_216, Unit::Megabytes, 65_536);

    // ---- Input and Output

    /// How pages and log records are read and written.
    ///
    /// `uring` gives every engine an io_uring of its own, `workers` hands requests to a pool of helpers, `sync` makes
    /// plain system calls. With any of them whoever holds an engine (background tasks, sessions of `dedicated` and `shared`) makes
    /// the log's writes by calls of its own, since it can do nothing else until they are done. Keep a data directory on a file system of
    /// this machine: NFS lets a process that is killed go while a write of its is still under way, which may then undo a later one.
    /// Where the system allows no io_uring the server says so at its start and takes `workers`; the setting then shows what is in use. Take `workers` or `sync` for a data directory on a file system in user space (FUSE)
    /// that keeps files out of the system's cache: where that does only a part of a transfer, a ring of Linux 6.18 goes on at
    /// the wrong place in the file and reports success, and pages are damaged.
    IoMethod "io_method": InputOutput, Start, one_of(&choice::IO_METHOD, "uring"), option "--io";

    /// How many helpers carry out disk I/O with `io_method` = `workers`.
    ///
    /// With `uring` they serve engines that the system refuses a ring; with `sync` there are none.
    IoWorkers "io_workers": InputOutput, Start, integer(1, 256, Unit::None, 3);

    // ---- File Locations

    /// The directory of the database.
    ///
    /// It is made if it is not there. A directory that holds something else, or the data of another version, is
    /// refused.
    DataDirectory "data_directory": FileLocations, Start, text(TextRule::Directory, "./gearbox-data"),
        option "--data", flags Flags::SUPERUSER_ONLY.and(Flags::NOT_IN_AUTO_FILE);

    /// The file of settings that the server reads, in TOML.
    ///
    /// Each line is `name = value`, with the names of this page. Empty reads no file.
    ConfigFile "config_file": FileLocations, Start, text(TextRule::Path, ""),
        option "--config", flags Flags::SUPERUSER_ONLY.and(Flags::NOT_IN_FILES).and(Flags::NOT_IN_AUTO_FILE);

    /// A file whose first line becomes the password of the user `postgres` when the server starts.
    ///
    /// Without a password the user `postgres` gets in from the same machine only.
    PasswordFile "password_file": FileLocations, Start, text(TextRule::Path, ""),
        option "--password-file", flags Flags::SUPERUSER_ONLY.and(Flags::NOT_IN_AUTO_FILE);

    /// The file that says who may log in from where, and how he proves who he is: `pg_hba.conf`.
    ///
    /// A relative name lies in the data directory. While there is no such file, everybody gets in from this machine only until the user
    /// `postgres` has a password, and from then on nobody without a password. `SELECT pg_reload_conf()` reads it again.
    HbaFile "hba_file": FileLocations, Start, text(TextRule::Path, "pg_hba.conf"), flags Flags::SUPERUSER_ONLY;

    // ---- Connections and Authentication

    /// Where the server accepts connections: `ADDRESS:PORT`, or several separated by commas.
    ///
    /// An IPv6 address stands in brackets, `*` means all addresses, and port `0` lets the system choose a free one.
    Listen "listen": Connections, Start, text(TextRule::Listen, "127.0.0.1:5433"),
        option "--listen", flags Flags::LIST;

    /// The addresses of `listen`, under PostgreSQL's name.
    ListenAddresses "listen_addresses": Connections, Internal, text(TextRule::Any, "127.0.0.1"), flags Flags::LIST;

    /// The first port of `listen`, under PostgreSQL's name.
    Port "port": Connections, Internal, integer(0, 65_535, Unit::None, 5433);

    /// Directories in which the server listens on sockets of the file system.
    ///
    /// They are separated by commas; empty for none. The socket is called `.s.PGSQL.` and the port. PostgreSQL's clients look in `/tmp`, or in
    /// `/var/run/postgresql`; its own default is one of them. In `pg_hba.conf` such connections are `local`.
    UnixSocketDirectories "unix_socket_directories": Connections, Start, text(TextRule::Any, ""),
        option "--unix-socket-directories", flags Flags::LIST.and(Flags::SUPERUSER_ONLY);

    /// How many sessions there may be at a time.
    ///
    /// The default is far above PostgreSQL's 100, because an idle session needs no process here.
    MaxConnections "max_connections": Connections, Start, integer(1, 262_143, Unit::None, 10_000);

    /// How many of `max_connections` are kept for superusers.
    SuperuserReservedConnections "superuser_reserved_connections": Connections, Start,
        integer(0, 262_143, Unit::None, 3);

    /// How long nothing may come from a client before the system asks whether it is there.
    ///
    /// `0` leaves it to the system.
    TcpKeepalivesIdle "tcp_keepalives_idle": Connections, Start, integer(0, 32_767, Unit::Seconds, 0);

    /// How long the system waits for an answer to that before it asks again.
    ///
    /// `0` leaves it to the system.
    TcpKeepalivesInterval "tcp_keepalives_interval": Connections, Start, integer(0, 32_767, Unit::Seconds, 0);

    /// How many such questions may stay without an answer before the connection counts as broken.
    ///
    /// `0` leaves it to the system.
    TcpKeepalivesCount "tcp_keepalives_count": Connections, Start, integer(0, 127, Unit::None, 0);

    /// How long what was sent may stay unacknowledged before the connection counts as broken.
    ///
    /// `0` leaves it to the system. A session may change this setting and the three before it in PostgreSQL; here they are the
    /// server's.
    TcpUserTimeout "tcp_user_timeout": Connections, Start, integer(0, i32::MAX, Unit::Milliseconds, 0);

    /// How long a client may take to prove who it is, counted from its connection.
    AuthenticationTimeout "authentication_timeout": Authentication, Reload, integer(1, 600, Unit::Seconds, 60);

    /// How passwords are stored.
    PasswordEncryption "password_encryption": Authentication, Session,
        one_of(&choice::PASSWORD_ENCRYPTION, "scram-sha-256");

    /// How many wrong passwords in a row somebody may give before he has to pause; `0` for any number.
    ///
    /// They are counted for each address and role together, and with ten times the patience for each address.
    /// `gearbox.failed_logins` shows them.
    FailedLoginLimit "failed_login_limit": Authentication, Start, integer(0, 1_000_000, Unit::None, 10);

    /// How long the pause is after the first wrong password above that limit.
    ///
    /// Each further one doubles it.
    FailedLoginDelay "failed_login_delay": Authentication, Start, integer(1, 3_600_000, Unit::Milliseconds, 1000);

    /// How long that pause becomes at most.
    FailedLoginDelayMax "failed_login_delay_max": Authentication, Start, integer(1, 86_400, Unit::Seconds, 60);

    // ---- SSL

    /// Whether clients may encrypt their connections with TLS.
    ///
    /// Takes the files of the server's certificate and key. `pg_hba.conf` may ask for encryption.
    Ssl "ssl": Ssl, Start, boolean(false);

    /// The server's certificate, and those between it and one that clients know; PEM.
    ///
    /// A relative name lies in the data directory. `SELECT pg_reload_conf()` reads this file, and the three below, again.
    SslCertFile "ssl_cert_file": Ssl, Start, text(TextRule::Path, "server.crt");

    /// The server's private key, PEM, without a passphrase; only its owner may be able to read the file.
    SslKeyFile "ssl_key_file": Ssl, Start, text(TextRule::Path, "server.key");

    /// Certificates of those whose signatures make a client's certificate good, PEM.
    ///
    /// Empty asks clients for none.
    SslCaFile "ssl_ca_file": Ssl, Start, text(TextRule::Path, "");

    /// Which clients' certificates were taken back: lists of each authority, PEM; empty for none.
    SslCrlFile "ssl_crl_file": Ssl, Start, text(TextRule::Path, "");

    /// The oldest version of TLS that is spoken.
    ///
    /// Those before 1.2 are not there.
    SslMinProtocolVersion "ssl_min_protocol_version": Ssl, Start, one_of(&choice::TLS_VERSION, "TLSv1.2");

    /// The newest version of TLS that is spoken; empty for the newest there is.
    SslMaxProtocolVersion "ssl_max_protocol_version": Ssl, Start, one_of(&choice::TLS_VERSION_OR_NONE, "");

    // ---- Memory

    /// How much memory holds pages of tables and indexes: the buffer pool.
    ///
    /// `0` takes a quarter of the machine's memory, up to 1 GiB. Otherwise at least 128kB.
    SharedBuffers "shared_buffers": Memory, Start, integer(0, 1_073_741_823, Unit::Blocks, 0);

    /// Whether the buffer pool, fixed tables and the program's own code lie in huge pages, of 2 MiB.
    ///
    /// With `try` the server takes them, for the pool as it fills, as far as the system grants them. With `on` it takes them all at its start,
    /// or refuses to start; those for code are not insisted on. Nothing has to be reserved for them, as it has for PostgreSQL: they are put
    /// together by the kernel (Linux 6.1).
    ///
    /// Tables of fixed size in shared memory, which are the larger the more `max_connections` there are, take all their memory at the start
    /// then, not as they are used: some 60 MiB with 10,000. Tools that look for code in the program's file, as `perf` and `valgrind` do, find
    /// it with `off` only.
    ///
    /// `gearbox.resources` says how many pieces of 2 MiB were put in huge pages, and how many in small ones, because the kernel refused or
    /// had refused so often that it was not asked any more. What the kernel does to them later, swapping and splitting, is not seen there.
    ///
    /// A restart after a crash takes `on` for `try`, because recovering is more urgent; the log says so.
    HugePages "huge_pages": Memory, Start, one_of(&choice::HUGE_PAGES, "try");

    /// How much memory one sort or hash table may use before it writes to files.
    WorkMem "work_mem": Memory, Session, integer(64, i32::MAX, Unit::Kilobytes, 4_096), flags PLANS;

    /// How many times `work_mem` a hash table may use before rows go to files.
    ///
    /// Hash tables profit more from memory than sorts do.
    HashMemMultiplier "hash_mem_multiplier": Memory, Session, real(1.0, 1000.0, Unit::None, 2.0), flags PLANS;

    /// How many bytes the temporary files of a session may have together; `-1` sets no limit.
    ///
    /// A statement that needs more fails with `53400`.
    TempFileLimit "temp_file_limit": Memory, SuperSession, integer(-1, i32::MAX, Unit::Kilobytes, -1);

    /// How much memory a `VACUUM`, a `CREATE INDEX` or a recovery may use.
    MaintenanceWorkMem "maintenance_work_mem": Memory, Session, integer(1_024, i32::MAX, Unit::Kilobytes, 65_536);

    // ---- Statement Cache

    /// Whether this session's statements are looked up in the shared statement cache and put there.
    StatementCache "statement_cache": StatementCache, Session, boolean(true);

    /// How much memory the shared statement cache may use; `0` switches it off.
    ///
    /// When it is made smaller, memory goes back to the system while the server runs.
    StatementCacheSize "statement_cache_size": StatementCache, Reload, integer(0, i32::MAX, Unit::Kilobytes, 32_768);

    /// Whether named prepared statements go through the shared statement cache as well.
    ///
    /// When off, each one has a plan of its own that goes away with it.
    StreamlinedDynamicSql "streamlined_dynamic_sql": StatementCache, Session, boolean(true);

    /// Whether sessions use one plan of a statement at the same time.
    ///
    /// When off, a plan serves one session at a time, and another session that needs it meanwhile makes its own.
    PlanSharing "plan_sharing": StatementCache, Reload, boolean(true);

    /// Which literals become parameters before a statement is looked up in the statement cache.
    ///
    /// With `off` two statements that differ in a literal are two statements. `simple` replaces those that cannot change
    /// the plan, `forced` all that can be parameters.
    LiteralAutoparam "literal_autoparam": StatementCache, Session, one_of(&choice::LITERAL_AUTOPARAM, "simple");

    // ---- Write-Ahead Log

    /// Whether commits are flushed to disk: always.
    ///
    /// PostgreSQL lets an administrator switch this off. Here durability is not a setting.
    Fsync "fsync": WriteAheadLog, Internal, boolean(true);

    /// Whether a commit is on disk before it is acknowledged.
    ///
    /// Only `on` is supported for now.
    SynchronousCommit "synchronous_commit": WriteAheadLog, Session, one_of(&choice::SYNCHRONOUS_COMMIT, "on");

    /// Whether pages are written twice, so that a write that a crash cut in two can be repaired: always.
    ///
    /// It stands in for PostgreSQL's `full_page_writes`.
    DoubleWrite "double_write": WriteAheadLog, Internal, boolean(true);

    /// How much memory holds log records that are not written yet.
    ///
    /// `-1` takes a thirty-second part of `shared_buffers`, at least 64kB and at most 16MB.
    WalBuffers "wal_buffers": WriteAheadLog, Start, integer(-1, 262_143, Unit::Blocks, -1);

    /// The longest time between two checkpoints.
    CheckpointTimeout "checkpoint_timeout": Checkpoints, Reload, integer(30, 86_400, Unit::Seconds, 300);

    /// How much log starts a checkpoint before its time.
    MaxWalSize "max_wal_size": Checkpoints, Reload, integer(2, i32::MAX, Unit::Megabytes, 1_024);

    /// How much log space is kept for reuse rather than given back.
    MinWalSize "min_wal_size": Checkpoints, Reload, integer(2, i32::MAX, Unit::Megabytes, 80);

    // ---- Locks

    /// How long a session waits for a lock before it looks for a deadlock.
    ///
    /// PostgreSQL's default is one second. Looking costs little here, and a deadlock keeps everybody in it waiting.
    DeadlockTimeout "deadlock_timeout": Locks, SuperSession, integer(1, i32::MAX, Unit::Milliseconds, 50);

    // ---- Autovacuum

    /// Whether the background reclaims versions of rows that nobody sees and analyzes changed tables.
    Autovacuum "autovacuum": Autovacuum, Reload, boolean(true);

    /// How long the background vacuum rests between two rounds, and the background analysis.
    ///
    /// PostgreSQL's default is a minute. A round here begins with counters in memory, and short rounds keep tables small. The analysis
    /// rests longer when it has had much to do: fifty times what a round took, and six times this at most.
    AutovacuumNaptime "autovacuum_naptime": Autovacuum, Reload, integer(1, 2_147_483, Unit::Seconds, 10);

    /// How many rows must have been updated or deleted before a table is vacuumed, beside the share of it.
    AutovacuumVacuumThreshold "autovacuum_vacuum_threshold": Autovacuum, Reload, integer(0, i32::MAX, Unit::None, 50);

    /// Which share of a table's rows must have been updated or deleted before it is vacuumed.
    AutovacuumVacuumScaleFactor "autovacuum_vacuum_scale_factor": Autovacuum, Reload,
        real(0.0, 100.0, Unit::None, 0.2);

    /// How many rows must have changed before a table is analyzed, beside the share of it.
    AutovacuumAnalyzeThreshold "autovacuum_analyze_threshold": Autovacuum, Reload, integer(0, i32::MAX, Unit::None, 50);

    /// Which share of a table's rows must have been inserted, updated or deleted before it is analyzed.
    AutovacuumAnalyzeScaleFactor "autovacuum_analyze_scale_factor": Autovacuum, Reload,
        real(0.0, 100.0, Unit::None, 0.1);

    // ---- Statement Behavior

    /// How long a statement may run; `0` sets no limit.
    StatementTimeout "statement_timeout": StatementBehavior, Session, integer(0, i32::MAX, Unit::Milliseconds, 0);

    /// How long a statement may wait for a lock; `0` sets no limit.
    LockTimeout "lock_timeout": StatementBehavior, Session, integer(0, i32::MAX, Unit::Milliseconds, 0);

    /// How long a session may be idle inside a transaction; `0` sets no limit.
    IdleInTransactionSessionTimeout "idle_in_transaction_session_timeout": StatementBehavior, Session,
        integer(0, i32::MAX, Unit::Milliseconds, 0);

    /// How long a session may be idle outside a transaction; `0` sets no limit.
    IdleSessionTimeout "idle_session_timeout": StatementBehavior, Session, integer(0, i32::MAX, Unit::Milliseconds, 0);

    /// The schemas in which a name without one is looked for, in this order.
    ///
    /// `"$user"` is the schema that has the user's name.
    SearchPath "search_path": StatementBehavior, Session, text(TextRule::Identifiers, "\"$user\", public"),
        flags Flags::LIST.and(Flags::IDENTIFIERS);

    /// The isolation level of new transactions.
    ///
    /// `read uncommitted` is the same as `read committed`. `serializable` is refused until it is there: a weaker level
    /// never passes for a stronger one.
    DefaultTransactionIsolation "default_transaction_isolation": StatementBehavior, Session,
        one_of(&choice::ISOLATION, "read committed");

    /// Whether new transactions only read.
    DefaultTransactionReadOnly "default_transaction_read_only": StatementBehavior, Session, boolean(false),
        flags REPORT;

    /// Whether new serializable transactions that only read wait for a safe snapshot.
    ///
    /// Accepted for clients' sake; it has no effect before there are serializable transactions, as on the other levels.
    DefaultTransactionDeferrable "default_transaction_deferrable": StatementBehavior, Session, boolean(false);

    /// The isolation level of the current transaction.
    TransactionIsolation "transaction_isolation": StatementBehavior, Session,
        one_of(&choice::ISOLATION, "read committed"),
        flags Flags::NO_RESET_ALL.and(Flags::NOT_IN_FILES).and(Flags::NOT_IN_AUTO_FILE);

    /// Whether the current transaction only reads.
    TransactionReadOnly "transaction_read_only": StatementBehavior, Session, boolean(false),
        flags Flags::NO_RESET_ALL.and(Flags::NOT_IN_FILES).and(Flags::NOT_IN_AUTO_FILE);

    /// Whether the current transaction waits for a safe snapshot, if it is serializable and only reads.
    TransactionDeferrable "transaction_deferrable": StatementBehavior, Session, boolean(false),
        flags Flags::NO_RESET_ALL.and(Flags::NOT_IN_FILES).and(Flags::NOT_IN_AUTO_FILE);

    /// Which messages are sent to the client: those of this level and above.
    ClientMinMessages "client_min_messages": StatementBehavior, Session, one_of(&choice::CLIENT_MESSAGES, "notice");

    /// How `bytea` values look as text.
    ByteaOutput "bytea_output": StatementBehavior, Session, one_of(&choice::BYTEA_OUTPUT, "hex");

    /// Whether policies of row security filter rows, or make a query that they would filter fail.
    ///
    /// Accepted for `pg_dump`; there are no such policies yet.
    RowSecurity "row_security": StatementBehavior, Session, boolean(true);

    /// Which triggers fire: with `replica` those that are enabled for it, else those of the origin.
    SessionReplicationRole "session_replication_role": StatementBehavior, SuperSession,
        text(TextRule::OneOf(&["origin", "replica", "local"]), "origin");

    /// Whether the bodies of functions are checked when they are created.
    ///
    /// Accepted for `pg_dump`; there are no such functions yet.
    CheckFunctionBodies "check_function_bodies": StatementBehavior, Session, boolean(true);

    /// Where new tables and indexes lie: there is one place.
    DefaultTablespace "default_tablespace": StatementBehavior, Session,
        text(TextRule::OneOf(&["", "pg_default"]), "");

    /// How new tables are stored: there is one way.
    DefaultTableAccessMethod "default_table_access_method": StatementBehavior, Session,
        text(TextRule::OneOf(&["heap"]), "heap");

    /// Whether XML is taken for a document or for a piece of one.
    ///
    /// Accepted for `pg_dump`; there is no XML type yet.
    Xmloption "xmloption": StatementBehavior, Session, one_of(&choice::XML_OPTION, "content");

    /// The role whose privileges are in force; `none` is the session's own user.
    Role "role": StatementBehavior, Session, text(TextRule::Any, "none"),
        flags Flags::NO_SHOW_ALL.and(Flags::NO_RESET_ALL).and(Flags::NOT_IN_FILES).and(Flags::NOT_IN_AUTO_FILE);

    /// The user of the session.
    SessionAuthorization "session_authorization": StatementBehavior, Session, text(TextRule::Any, ""),
        flags REPORT.and(Flags::NO_SHOW_ALL).and(Flags::NO_RESET_ALL).and(Flags::NOT_IN_FILES)
            .and(Flags::NOT_IN_AUTO_FILE);

    /// Whether the current user is a superuser.
    IsSuperuser "is_superuser": StatementBehavior, Internal, boolean(false),
        flags REPORT.and(Flags::NO_SHOW_ALL).and(Flags::PER_SESSION);

    // ---- Locale and Formatting

    /// How dates are printed, and in which order an ambiguous date is read.
    ///
    /// A format (`ISO`, `SQL`, `Postgres`, `German`), an order (`YMD`, `DMY`, `MDY`), or both; what is left out stays as
    /// it is.
    DateStyle "DateStyle": Formatting, Session, Kind::DateStyle { default: DATE_STYLE_DEFAULT },
        flags REPORT.and(Flags::LIST);

    /// How intervals are printed.
    IntervalStyle "IntervalStyle": Formatting, Session, one_of(&choice::INTERVAL_STYLE, "postgres"), flags REPORT;

    /// The time zone in which times are printed and read.
    TimeZone "TimeZone": Formatting, Session, text(TextRule::TimeZone, "UTC"), flags REPORT;

    /// The encoding of what the client sends and gets.
    ///
    /// Texts are UTF-8 and are not converted. `SQL_ASCII`, for which clients in the locale C ask, means the same.
    ClientEncoding "client_encoding": Formatting, Session, text(TextRule::ClientEncoding, "UTF8"), flags REPORT;

    /// How many digits of floating-point numbers are printed.
    ///
    /// Above `0` a number prints with the fewest digits that read back to it; at `0` and below with that many digits
    /// more or fewer than its type surely keeps.
    ExtraFloatDigits "extra_float_digits": Formatting, Session, integer(-15, 3, Unit::None, 1);

    /// The language of messages: English.
    LcMessages "lc_messages": Formatting, SuperSession, text(TextRule::MessageLocale, "C");

    /// The locale of amounts of money.
    LcMonetary "lc_monetary": Formatting, Session, text(TextRule::Locale, "C");

    /// The locale of numbers.
    LcNumeric "lc_numeric": Formatting, Session, text(TextRule::Locale, "C");

    /// The locale of dates.
    LcTime "lc_time": Formatting, Session, text(TextRule::Locale, "C");

    // ---- Logging and Statistics

    /// The name that the client's program gives itself in views and logs.
    ApplicationName "application_name": LogContents, Session, text(TextRule::ApplicationName, ""), flags REPORT;

    /// Which messages go to the server's log: those of this level and above.
    LogMinMessages "log_min_messages": LogLevels, SuperSession, one_of(&choice::LOG_MESSAGES, "warning");

    /// Whether views show what each session is doing, and since when.
    TrackActivities "track_activities": Statistics, SuperSession, boolean(true);

    /// Whether the time of each wait is measured.
    ///
    /// Waits are always counted. Measuring reads the clock twice a wait.
    TrackWaitTiming "track_wait_timing": Statistics, Reload, boolean(true);

    // ---- Planner and Compatibility

    /// Whether the planner may read whole tables.
    ///
    /// This setting and the others of this chapter do not forbid anything: what is off is taken to cost so much that it is chosen only where
    /// there is no other way. They are for finding out what another plan would have cost.
    EnableSeqscan "enable_seqscan": PlannerMethods, Session, boolean(true), flags PLANS;

    /// Whether the planner may find rows by an index.
    EnableIndexscan "enable_indexscan": PlannerMethods, Session, boolean(true), flags PLANS;

    /// Whether rows may be read from an index alone that has all that is wanted of them.
    EnableIndexonlyscan "enable_indexonlyscan": PlannerMethods, Session, boolean(true), flags PLANS;

    /// Whether the planner may collect the places of rows from indexes first: never.
    ///
    /// There are no such scans. Accepted for those who switch them off.
    EnableBitmapscan "enable_bitmapscan": PlannerMethods, Session, only(false);

    /// Whether the planner may join by looking at the inner rows again for each outer row.
    EnableNestloop "enable_nestloop": PlannerMethods, Session, boolean(true), flags PLANS;

    /// Whether the planner may join by a hash table of the inner rows.
    EnableHashjoin "enable_hashjoin": PlannerMethods, Session, boolean(true), flags PLANS;

    /// Whether the planner may join by putting both sides in order and merging them.
    EnableMergejoin "enable_mergejoin": PlannerMethods, Session, boolean(true), flags PLANS;

    /// Whether the planner may sort rows.
    EnableSort "enable_sort": PlannerMethods, Session, boolean(true), flags PLANS;

    /// Whether the planner may group rows, and find those that are the same, by a hash table.
    ///
    /// Without it rows are sorted for that. Grouping sets, `INTERSECT` and `EXCEPT` have no other way.
    EnableHashagg "enable_hashagg": PlannerMethods, Session, boolean(true), flags PLANS;

    /// Whether the planner may keep the rows of a table that are looked at again and again.
    ///
    /// Rows of subqueries are kept in any case.
    EnableMaterial "enable_material": PlannerMethods, Session, boolean(true), flags PLANS;

    /// What it costs to read a page of a table in order.
    ///
    /// Costs have no unit: what counts is how they stand to one another. Pages that fit `effective_cache_size` are taken to be in memory,
    /// where one in order costs a tenth of this, and one at random a hundredth of `random_page_cost`.
    SeqPageCost "seq_page_cost": PlannerCosts, Session, real(0.0, f64::MAX, Unit::None, 1.0), flags PLANS;

    /// What it costs to read a page at random.
    RandomPageCost "random_page_cost": PlannerCosts, Session, real(0.0, f64::MAX, Unit::None, 4.0), flags PLANS;

    /// What it costs to hand a row on.
    CpuTupleCost "cpu_tuple_cost": PlannerCosts, Session, real(0.0, f64::MAX, Unit::None, 0.01), flags PLANS;

    /// What it costs to look at an entry of an index.
    CpuIndexTupleCost "cpu_index_tuple_cost": PlannerCosts, Session, real(0.0, f64::MAX, Unit::None, 0.005), flags PLANS;

    /// What it costs to call an operator or a function.
    CpuOperatorCost "cpu_operator_cost": PlannerCosts, Session, real(0.0, f64::MAX, Unit::None, 0.0025), flags PLANS;

    /// How much of the tables is taken to be in memory, here or in the operating system.
    EffectiveCacheSize "effective_cache_size": PlannerCosts, Session, integer(1, i32::MAX, Unit::Blocks, 524_288),
        flags PLANS;

    /// How many of a column's common values, and bounds of its histogram, `ANALYZE` keeps.
    DefaultStatisticsTarget "default_statistics_target": Planner, Session, integer(1, 10_000, Unit::None, 100);

    /// Whether prepared statements are planned for the values of their parameters, or once for all.
    ///
    /// `auto` plans for the values the first five times, and then only if that pays. A statement whose plan does not depend on its values,
    /// such as one that finds a row by its key, is planned once in any case but that of `force_custom_plan`.
    PlanCacheMode "plan_cache_mode": Planner, Session, one_of(&choice::PLAN_CACHE_MODES, "auto");

    /// Whether expressions are compiled to machine code: never.
    ///
    /// Accepted for drivers that switch it off.
    Jit "jit": Planner, Session, only(false);

    /// Whether backslashes in `'...'` stand for themselves.
    ///
    /// Only `on`, the standard, is supported.
    StandardConformingStrings "standard_conforming_strings": Compatibility, Session, only(true), flags REPORT;

    /// Whether a backslash in `'...'` draws a warning.
    ///
    /// Accepted for `pg_dump`; without effect, because such a backslash stands for itself.
    EscapeStringWarning "escape_string_warning": Compatibility, Session, boolean(true);

    /// Whether all names are quoted in SQL that the server writes.
    ///
    /// Accepted for `pg_dump`; the server writes no SQL yet.
    QuoteAllIdentifiers "quote_all_identifiers": Compatibility, Session, boolean(false);

    /// Whether large scans of one table share their reads.
    ///
    /// Accepted for `pg_dump`; scans begin at the beginning of a table in any case.
    SynchronizeSeqscans "synchronize_seqscans": Compatibility, Session, boolean(true);

    // ---- Preset Options

    /// The version of PostgreSQL that clients find here, and the server's own.
    ServerVersion "server_version": Preset, Internal, text(TextRule::Any, SERVER_VERSION), flags REPORT;

    /// The version of PostgreSQL as a number.
    ServerVersionNum "server_version_num": Preset, Internal,
        integer(SERVER_VERSION_NUM, SERVER_VERSION_NUM, Unit::None, SERVER_VERSION_NUM);

    /// The encoding in which texts are stored.
    ServerEncoding "server_encoding": Preset, Internal, text(TextRule::Any, "UTF8"), flags REPORT;

    /// Whether times are kept as integers: always.
    IntegerDatetimes "integer_datetimes": Preset, Internal, boolean(true), flags REPORT;

    /// Whether the server is a stand-by that only reads: never.
    InHotStandby "in_hot_standby": Preset, Internal, boolean(false), flags REPORT;

    /// The bytes of a page.
    BlockSize "block_size": Preset, Internal, integer(BLOCK_SIZE, BLOCK_SIZE, Unit::None, BLOCK_SIZE);

    /// Whether pages carry checksums: always.
    DataChecksums "data_checksums": Preset, Internal, boolean(true);

    /// The order in which texts are sorted.
    LcCollate "lc_collate": Preset, Internal, text(TextRule::Any, "C");

    /// Which characters are letters, and what their capitals are.
    LcCtype "lc_ctype": Preset, Internal, text(TextRule::Any, "C.UTF-8");

    /// The most bytes an identifier has.
    MaxIdentifierLength "max_identifier_length": Preset, Internal, integer(63, 63, Unit::None, 63);

    /// The most columns an index has.
    MaxIndexKeys "max_index_keys": Preset, Internal, integer(32, 32, Unit::None, 32);

    /// The most arguments a function has.
    MaxFunctionArgs "max_function_args": Preset, Internal, integer(100, 100, Unit::None, 100);

    // ---- Developer Options

    /// A test mode in which every session is resumed by another engine at every request.
    ///
    /// All tests pass in it, because nothing of a session hides in the engine that served it last.
    MoveSessions "move_sessions": Developer, Start, boolean(false);
}
