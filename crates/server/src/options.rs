//! Settings from all layers, and the kernel's configuration from them.
//!
//! Precedence: command line, `GEARBOX_…` variables, what `ALTER SYSTEM` wrote (in the data directory), the file that
//! `--config` names, defaults. The command line and the environment are read first, because they say where the data
//! directory and the file are.

use base::settings::{AUTO_FILE, Effective, Layers, Machine, SettingId as S, options_help};
use base::{Error, Result, sqlstate};
use kernel::config::{Config, EngineKind, HugePages, IoMethod, Keepalive, Primitive, Sessions};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

/// Connections beside those that are let in: half as many, but at least and at most so many. A crowd that comes again has its old
/// connections and its new ones for a moment.
const ARRIVING_LEAST: u32 = 32;
const ARRIVING_MOST: u32 = 1024;

/// What the command line asks for.
pub enum Command {
    /// Print this text.
    Help(String),
    /// Serve a database.
    Serve(Options),
    /// Serve canned answers.
    Limit(Options),
}

/// The settings that a server starts with.
pub struct Options {
    /// Every setting.
    pub effective: Effective,
}

fn usage() -> String {
    format!(
        "Gearbox {}: a relational database server whose process model is a setting.\n\n\
         Usage: gearbox [COMMAND] [OPTIONS]\n\nCommands:\n  serve    serve the database in the data directory (the default)\n  \
         limit    answer every statement with a canned row: the ceiling of this server in this model\n  \
         lab      measure this server and others beside each other (see gearbox lab --help)\n\n\
         Options (every setting is one, as --name VALUE):\n{}",
        env!("CARGO_PKG_VERSION"),
        options_help()
    )
}

impl Options {
    /// Reads all layers. Errors say which option, variable, or line of which file is wrong.
    pub fn read(arguments: impl Iterator<Item = String>) -> Result<Command> {
        let arguments: Vec<String> = arguments.collect();
        if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
            return Ok(Command::Help(usage()));
        }
        if arguments.iter().any(|argument| argument == "--version" || argument == "-V") {
            return Ok(Command::Help(format!("gearbox {}\n", env!("CARGO_PKG_VERSION"))));
        }
        let mut layers = Layers::new();
        let others = layers.command_line(arguments)?;
        layers.environment(std::env::vars().filter(|(name, _)| name != "GEARBOX_RESTARTS"))?;
        let early = layers.effective(machine())?;
        let config_file = early.text(S::ConfigFile).to_string();
        if !config_file.is_empty() {
            let text = std::fs::read_to_string(&config_file).map_err(|error| {
                Error::session(
                    sqlstate::CONFIG_FILE_ERROR,
                    format!("cannot read the configuration file \"{config_file}\""),
                )
                .detail(format!("{error}."))
                .hint("Name an existing file with --config, or leave the option out.")
            })?;
            layers.config_file(&config_file, &text)?;
        }
        let data = PathBuf::from(layers.effective(machine())?.text(S::DataDirectory));
        let auto_file = data.join(AUTO_FILE);
        if let Ok(text) = std::fs::read_to_string(&auto_file) {
            layers.auto_file(&auto_file.to_string_lossy(), &text)?;
        }
        let options = Options { effective: layers.effective(machine())? };
        match others.as_slice() {
            [] => Ok(Command::Serve(options)),
            [command] if command == "serve" => Ok(Command::Serve(options)),
            [command] if command == "limit" => Ok(Command::Limit(options)),
            [unknown, ..] => Err(Error::session(sqlstate::SYNTAX_ERROR, format!("unknown command \"{unknown}\""))
                .hint("Try \"gearbox --help\".")),
        }
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        Path::new(self.effective.text(S::DataDirectory))
    }

    /// What the kernel is told.
    pub fn config(&self) -> Result<Config> {
        let settings = &self.effective;
        let chosen = "a setting's words are the kernel's";
        let listen = listen_addresses(settings)?;
        Ok(Config {
            engine: EngineKind::parse(settings.word(S::Engine)).expect(chosen),
            sessions: Sessions::parse(settings.word(S::Sessions)).expect(chosen),
            engines: settings.integer(S::Engines).max(1) as u32,
            primitive: Primitive::parse(settings.word(S::WaitPrimitive)).expect(chosen),
            io: IoMethod::parse(settings.word(S::IoMethod)).expect(chosen),
            io_workers: settings.integer(S::IoWorkers) as u32,
            blocking_threads: settings.integer(S::BlockingPoolSize) as u32,
            max_connections: settings.integer(S::MaxConnections) as u32,
            arriving_max: (settings.integer(S::MaxConnections) as u32 / 2).clamp(ARRIVING_LEAST, ARRIVING_MOST),
            spare_engines: settings.integer(S::SpareEngines) as u32,
            engine_idle_spin_us: settings.micros(S::EngineIdleSpin) as u32,
            session_idle_spin_us: settings.micros(S::SessionIdleSpin) as u32,
            time_slice_us: settings.micros(S::TimeSlice) as u32,
            gather_answers: settings.bool(S::GatherAnswers),
            fiber_stack_bytes: settings.bytes(S::FiberStackSize) as usize,
            region_bytes_max: settings.bytes(S::RegionSizeMax),
            huge_pages: HugePages::parse(settings.word(S::HugePages)).expect(chosen),
            move_sessions: settings.bool(S::MoveSessions),
            data_dir: self.data().to_path_buf(),
            listen,
            sockets: socket_files(settings),
            socket_mode: SOCKET_MODE,
            keepalive: Keepalive {
                idle_s: settings.integer(S::TcpKeepalivesIdle) as u32,
                interval_s: settings.integer(S::TcpKeepalivesInterval) as u32,
                count: settings.integer(S::TcpKeepalivesCount) as u32,
                user_timeout_ms: settings.integer(S::TcpUserTimeout) as u32,
            },
        })
    }
}

/// What the settings must know of this machine.
fn machine() -> Machine {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    Machine { cpus, memory_bytes: kilobytes.unwrap_or(1 << 20) << 10 }
}

/// Everybody of this machine may connect to a socket of the file system, as in PostgreSQL: who gets in is said elsewhere.
const SOCKET_MODE: u32 = 0o777;

/// Where sockets of the file system are, under the names by which PostgreSQL's clients look for them.
fn socket_files(settings: &Effective) -> Vec<PathBuf> {
    let port = settings.integer(S::Port);
    let directories = settings.text(S::UnixSocketDirectories).split(',').map(str::trim).filter(|name| !name.is_empty());
    directories.map(|directory| Path::new(directory).join(format!(".s.PGSQL.{port}"))).collect()
}

fn listen_addresses(settings: &Effective) -> Result<Vec<SocketAddr>> {
    let mut addresses = Vec::new();
    for point in settings.listen() {
        let host = if point.host == "*" { "0.0.0.0" } else { point.host.as_str() };
        let found = (host, point.port).to_socket_addrs().map_err(|error| {
            Error::session(sqlstate::INVALID_PARAMETER_VALUE, format!("cannot find the address of \"{}\"", point.host))
                .detail(format!("{error}."))
                .hint("Give an address in numbers, as in --listen 127.0.0.1:5433.")
        })?;
        addresses.extend(found);
    }
    Ok(addresses)
}
