//! A server of our own: started on a free port in an empty directory, asked to stop, and watched while it does.
//!
//! ```text
//! start: free port -> setsid setpriv --pdeathsig TERM [taskset] gearbox … -> wait until the port accepts
//! stop:  SIGTERM to the first process -> exit status 0 -> nobody left -> nothing shared left -> log has no panic
//! ```
//!
//! Rules
//! 1. The server runs in a session of its own, so that all of its processes can be found, and gets SIGTERM when this
//!    program dies, so that an interrupted run leaves none behind.
//! 2. A stop is a test: [`ServerUnderTest::stop`] fails unless the exit is clean in every respect.
//! 3. The directory is removed after a clean stop and kept after any other; its path is in the error.
//! 4. The environment's `GEARBOX_…` variables do not reach the server: a run depends on its options alone.

use crate::model::Settings;
use crate::process::{self, Process, SharedObjects};
use crate::{Outcome, tree};
use postgres::{Client, NoTls};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a start, and a stop, may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long what is left may take to go away once the first process is gone.
const AFTERMATH: Duration = Duration::from_secs(3);

/// What to start.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The server's binary.
    pub program: &'a Path,
    /// `serve` or `limit`, or what another program that takes the same options calls it.
    pub subcommand: &'a str,
    /// The model and what else was chosen.
    pub settings: Settings,
    /// The CPUs to run on, as `taskset` writes them.
    pub cpus: Option<&'a str>,
}

/// A running server.
pub struct ServerUnderTest {
    child: Child,
    /// What it was started by, without the log.
    command: Vec<String>,
    settings: Settings,
    port: u16,
    dir: PathBuf,
    mark: String,
    shared_before: SharedObjects,
    stopped: bool,
}

/// A connection to whoever serves a port, in ten seconds at most.
pub fn connect(port: u16) -> Outcome<Client> {
    let address = format!("host=127.0.0.1 port={port} user=postgres dbname=postgres connect_timeout=10");
    // The text of such an error leaves out what the system said.
    Client::connect(&address, NoTls).map_err(|error| format!("no connection: {error:?}"))
}

impl ServerUnderTest {
    /// Starts a server and waits until it accepts connections.
    pub fn start(launch: &Launch<'_>) -> Outcome<ServerUnderTest> {
        ServerUnderTest::start_with(launch, &[])
    }

    /// The same with more options on its command line.
    pub fn start_with(launch: &Launch<'_>, more: &[String]) -> Outcome<ServerUnderTest> {
        let dir = tree::scratch(launch.subcommand)?;
        let mark = dir.display().to_string();
        let shared_before = SharedObjects::now();
        let port = free_port()?;

        let mut words: Vec<String> = ["setpriv", "--pdeathsig", "TERM"].map(str::to_string).to_vec();
        if let Some(cpus) = launch.cpus {
            words.extend(["taskset".to_string(), "-c".into(), cpus.into()]);
        }
        words.push(launch.program.display().to_string());
        words.extend([launch.subcommand.to_string(), "--data".into(), dir.join("data").display().to_string()]);
        words.extend(["--listen".to_string(), format!("127.0.0.1:{port}")]);
        words.extend(launch.settings.options());
        words.extend_from_slice(more);

        let child = spawn(&words, &dir, &mark)?;
        let (command, settings) = (words, launch.settings);
        let mut server = ServerUnderTest { child, command, settings, port, dir, mark, shared_before, stopped: false };
        server.await_start()?;
        Ok(server)
    }

    /// A connection to it, in ten seconds at most.
    pub fn connect(&self) -> Outcome<Client> {
        connect(self.port)
    }

    /// Waits until it accepts connections.
    fn await_start(&mut self) -> Outcome<()> {
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if let Some(status) = self.child.try_wait().map_err(|error| error.to_string())? {
                return Err(self.complaint(&format!("ended before it accepted a connection: {status}")));
            }
            if started.elapsed() > PATIENCE {
                return Err(self.complaint(&format!("accepts no connection after {PATIENCE:?}")));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Kills all of its processes at once, and starts it again on what they left. Answers how long it took until the server
    /// accepted connections.
    pub fn crash_and_restart(&mut self) -> Outcome<Duration> {
        // The one that would start others first.
        process::signal("KILL", self.child.id());
        let killed = eventually_none(|| {
            let left = process::members_marked(self.child.id(), &self.mark);
            left.iter().for_each(|process| process::signal("KILL", process.pid));
            left
        });
        let _ = self.child.wait();
        if !killed.is_empty() {
            return Err(self.complaint("has processes that cannot be killed"));
        }
        // A process whose first thread has ended looks ended, while its other threads still hold its sockets.
        let gone = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
            if gone.elapsed() > AFTERMATH {
                return Err(self.complaint("still accepts connections after it was killed"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let began = Instant::now();
        self.child = spawn(&self.command, &self.dir, &self.mark)?;
        self.await_start()?;
        Ok(began.elapsed())
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What it was started with.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Where it keeps its data.
    pub fn data_dir(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// An empty folder for what a test writes; goes away with the server.
    pub fn work_dir(&self) -> PathBuf {
        let dir = self.dir.join("work");
        let _ = std::fs::create_dir_all(&dir);
        dir
    }

    /// All of its processes: the supervisor, the host of the background tasks, and the others as they began.
    pub fn processes(&self) -> Vec<Process> {
        process::members(self.child.id())
    }

    /// A client program with the address, user and database in its environment.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.work_dir()).stdin(Stdio::null());
        for (name, value) in [("PGHOST", "127.0.0.1"), ("PGUSER", "postgres"), ("PGDATABASE", "postgres")] {
            command.env(name, value);
        }
        command.env("PGPORT", self.port.to_string()).env("PGCONNECT_TIMEOUT", "10").env("PSQLRC", "/dev/null");
        command
    }

    fn kill_all(&mut self) {
        for process in process::members_marked(self.child.id(), &self.mark) {
            process::signal("KILL", process.pid);
        }
        let _ = self.child.wait();
    }

    /// Asks for a clean stop with SIGTERM and holds the server to it.
    pub fn stop(self) -> Outcome<()> {
        self.stop_with("TERM")
    }

    /// The same with another signal that asks for a clean stop.
    pub fn stop_with(mut self, signal: &str) -> Outcome<()> {
        process::signal(signal, self.child.id());
        let status = match self.wait_for_exit()? {
            Some(status) => status,
            None => return Err(self.complaint(&format!("still runs {PATIENCE:?} after SIG{signal}"))),
        };
        if !status.success() {
            return Err(self.complaint(&format!("ended with {status} after SIG{signal}")));
        }
        let left = eventually_none(|| process::members_marked(self.child.id(), &self.mark));
        if !left.is_empty() {
            let names: Vec<String> = left.iter().map(|process| format!("{} {}", process.pid, process.name)).collect();
            return Err(self.complaint(&format!("left processes behind: {}", names.join(", "))));
        }
        let left = eventually_none(|| SharedObjects::now().beyond(&self.shared_before));
        if !left.is_empty() {
            return Err(self.complaint(&format!("left shared objects behind: {}", left.join(", "))));
        }
        if self.log().contains("panicked at") {
            return Err(self.complaint("panicked"));
        }
        self.stopped = true;
        let _ = std::fs::remove_dir_all(&self.dir);
        Ok(())
    }

    fn wait_for_exit(&mut self) -> Outcome<Option<ExitStatus>> {
        let asked = Instant::now();
        loop {
            match self.child.try_wait().map_err(|error| error.to_string())? {
                None if asked.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(2)),
                status => return Ok(status),
            }
        }
    }

    /// Everything it has written.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.dir.join("log")).unwrap_or_default()).into_owned()
    }

    fn complaint(&self, what: &str) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(20)..].join("\n  | ");
        format!("the server {what}; its directory: {}; its last words:\n  | {tail}", self.dir.display())
    }
}

impl Drop for ServerUnderTest {
    fn drop(&mut self) {
        if !self.stopped {
            self.kill_all();
        }
    }
}

/// Starts the server's program in a session of its own; what it says is added to its log.
fn spawn(words: &[String], dir: &Path, mark: &str) -> Outcome<Child> {
    let log = File::options().create(true).append(true).open(dir.join("log")).map_err(|error| error.to_string())?;
    let mut command = Command::new("setsid");
    command.args(words).current_dir(dir).env(process::MARK, mark).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GEARBOX_") {
            command.env_remove(name);
        }
    }
    command.stdout(log.try_clone().map_err(|error| error.to_string())?).stderr(log);
    command.spawn().map_err(|error| format!("setsid: {error}"))
}

/// Polls until a list is empty or patience ends; returns what is still in it.
fn eventually_none<T>(list: impl Fn() -> Vec<T>) -> Vec<T> {
    let began = Instant::now();
    loop {
        let found = list();
        if found.is_empty() || began.elapsed() > AFTERMATH {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A port that nobody listens on, below those that the system gives to clients. The probe binds it without listening: a probe
/// that listens would live on in whatever another thread forks at this moment, and answer clients in the server's place.
pub fn free_port() -> Outcome<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id().wrapping_mul(61);
    for _ in 0..5_000 {
        let port = (5_000 + begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 5_000) as u16;
        let probe = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let probe = probe.map_err(|error| format!("no socket: {error}"))?;
        if bind(&probe, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err("no port between 5000 and 9999 is free".into())
}

#[cfg(test)]
mod tests {
    //! The server here is a shell script around this very test binary, which listens when it is told to.

    use super::*;
    use crate::model::MODELS;
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Mutex;

    const LISTEN: &str = "XTASK_TEST_LISTEN";

    /// Not a test when started by hand: the listener of the fake server below.
    #[test]
    fn listens_when_told_to() {
        if let Ok(address) = std::env::var(LISTEN) {
            let listener = TcpListener::bind(address).unwrap();
            while listener.accept().is_ok() {}
        }
    }

    /// Shared objects belong to the machine, so only one of these tests may run at a time.
    static ALONE: Mutex<()> = Mutex::new(());

    /// A script with the command line of the server: `$5` is the address that it is to listen on.
    fn fake(dir: &Path, on_term: &str) -> PathBuf {
        let path = dir.join("fake-server");
        let listener = std::env::current_exe().unwrap();
        let script = format!(
            "#!/bin/sh\n{LISTEN}=$5 {} --exact server_under_test::tests::listens_when_told_to &\nlistener=$!\n\
             trap '{on_term}' TERM\nwhile :; do wait; done\n",
            listener.display()
        );
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn shared_file() -> String {
        format!("/dev/shm/gearbox-xtask-test-{}", std::process::id())
    }

    fn stopped(on_term: &str) -> Outcome<()> {
        let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let dir = tree::scratch("fake").unwrap();
        let program = fake(&dir, on_term);
        let launch = Launch { program: &program, subcommand: "serve", settings: Settings::of(MODELS[5]), cpus: None };
        let server = ServerUnderTest::start(&launch).unwrap();
        assert!(!server.processes().is_empty());
        let kept = server.dir.clone();
        let outcome = server.stop();
        let _ = std::fs::remove_file(shared_file());
        assert_eq!(
            kept.exists(),
            outcome.is_err(),
            "the directory is kept when, and only when, the stop was not clean"
        );
        let _ = std::fs::remove_dir_all(kept);
        let _ = std::fs::remove_dir_all(dir);
        outcome
    }

    #[test]
    fn a_clean_stop_is_clean() {
        assert_eq!(stopped("kill $listener; exit 0"), Ok(()));
    }

    #[test]
    fn a_bad_exit_status_is_told() {
        let error = stopped("kill $listener; exit 3").unwrap_err();
        assert!(error.contains("exit status: 3"), "{error}");
    }

    #[test]
    fn a_process_left_behind_is_told_and_ended() {
        let error = stopped("exit 0").unwrap_err();
        assert!(error.contains("left processes behind"), "{error}");
    }

    #[test]
    fn a_panic_in_the_log_is_told() {
        let error = stopped("kill $listener; echo thread x panicked at y; exit 0").unwrap_err();
        assert!(error.contains("panicked"), "{error}");
    }

    #[test]
    fn a_shared_object_left_behind_is_told() {
        let name = shared_file();
        let error = stopped(&format!("kill $listener; echo x > {name}; exit 0")).unwrap_err();
        assert!(error.contains(&name), "{error}");
    }

    #[test]
    fn a_server_that_ends_at_once_shows_its_last_words() {
        let dir = tree::scratch("fake").unwrap();
        let program = dir.join("refuses");
        std::fs::write(&program, "#!/bin/sh\necho the directory is in use\nexit 1\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let launch = Launch { program: &program, subcommand: "serve", settings: Settings::of(MODELS[0]), cpus: None };
        let error = ServerUnderTest::start(&launch).err().unwrap();
        assert!(error.contains("exit status: 1") && error.contains("the directory is in use"), "{error}");
        let _ = std::fs::remove_dir_all(dir);
        let (_, rest) = error.split_once("its directory: ").expect("the error says where to look");
        std::fs::remove_dir_all(rest.split(';').next().unwrap_or_default()).unwrap();
    }
}
