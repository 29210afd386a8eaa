//! A server in a process of its own, and clients of it.

use crate::support::service::StorageService;
use kernel::Config;
use kernel::config::{EngineKind, HugePages, IoMethod, Primitive, Sessions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use testkit::ports::free_port;

/// Set in the environment of a server: how it is set up.
pub const VARIABLE: &str = "GEARBOX_STORAGE_SERVER";

/// Every model.
pub const MODELS: [(EngineKind, Sessions); 6] = [
    (EngineKind::Process, Sessions::Dedicated),
    (EngineKind::Process, Sessions::Shared),
    (EngineKind::Process, Sessions::Fiber),
    (EngineKind::Thread, Sessions::Dedicated),
    (EngineKind::Thread, Sessions::Shared),
    (EngineKind::Thread, Sessions::Fiber),
];

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    pub engine: EngineKind,
    pub sessions: Sessions,
    pub io: IoMethod,
    pub shared_buffers: u64,
    pub wal_buffers: u64,
    pub max_wal_size: u64,
    pub plant: Option<&'static str>,
}

impl Setup {
    pub fn of((engine, sessions): (EngineKind, Sessions)) -> Setup {
        Setup {
            engine,
            sessions,
            io: IoMethod::Uring,
            shared_buffers: 8 << 20,
            wal_buffers: 1 << 20,
            max_wal_size: 256 << 20,
            plant: None,
        }
    }

    pub fn io(self, io: IoMethod) -> Setup {
        Setup { io, ..self }
    }

    /// A pool of that many pages.
    pub fn pages(self, pages: u64) -> Setup {
        Setup { shared_buffers: pages * 8192, ..self }
    }

    pub fn name(&self) -> String {
        format!("{}/{} {}", self.engine, self.sessions, self.io)
    }
}

/// Runs as a server if this process is to be one; answers its exit status.
pub fn serve_if_asked() -> Option<i32> {
    let text = std::env::var(VARIABLE).ok()?;
    let words: Vec<&str> = text.split(' ').collect();
    let number = |at: usize| words[at].parse::<u64>().expect("a number in the server's set-up");
    let config = Config {
        engine: EngineKind::parse(words[0]).expect("an engine kind"),
        sessions: Sessions::parse(words[1]).expect("a way to host sessions"),
        engines: 2,
        primitive: Primitive::Futex,
        io: IoMethod::parse(words[2]).expect("an I/O method"),
        io_workers: 2,
        blocking_threads: 4,
        max_connections: 100,
        arriving_max: 0,
        spare_engines: 2,
        engine_idle_spin_us: 20,
        session_idle_spin_us: 0,
        time_slice_us: 250,
        gather_answers: true,
        fiber_stack_bytes: 256 << 10,
        region_bytes_max: 256 << 20,
        huge_pages: HugePages::Try,
        move_sessions: false,
        keepalive: Default::default(),
        data_dir: words[7].into(),
        listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, number(6) as u16))],
        sockets: Vec::new(),
        socket_mode: 0,
    };
    let storage = storage::Config {
        shared_buffers: number(3),
        wal_buffers: number(4),
        max_wal_size: number(5),
        min_wal_size: 32 << 20,
        deadlock_timeout_ms: 20,
        ..storage::Config::default()
    };
    if words[8] != "-" {
        assert!(kernel::fault::plant(words[8]), "no such bug");
    }
    // As the real server does: the lock is every process's of the server, and held until the last of them has ended, with all that it
    // was writing. A server that is started right after another one was killed waits for that.
    let lock = std::fs::File::create(Path::new(words[7]).join("lock")).expect("a file to be locked");
    lock.lock().expect("the directory is locked");
    let make = || {
        kernel::io::on_completion(storage::Storage::complete);
        StorageService::make(&storage, true)
    };
    let status = kernel::supervisor::run(config, make, |_| println!("ready"));
    Some(status.unwrap_or_else(|error| {
        eprintln!("gearbox: {error}");
        1
    }))
}

/// A directory that is gone when this is.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new() -> Directory {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("gearbox-storage-{}-{}", std::process::id(), NEXT.fetch_add(1, SeqCst));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a directory for the server");
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running server.
pub struct Server {
    child: Child,
    address: SocketAddr,
    pub log: PathBuf,
    lines: Receiver<String>,
    setup: Setup,
}

impl Server {
    /// Starts a server without waiting for it.
    pub fn launch(setup: &Setup, dir: &Path) -> Server {
        let port = free_port();
        let log = dir.join("log");
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&log).expect("a log for the server");
        let Setup { engine, sessions, io, shared_buffers, wal_buffers, max_wal_size, .. } = setup;
        let (dir, plant) = (dir.display(), setup.plant.unwrap_or("-"));
        let text =
            format!("{engine} {sessions} {io} {shared_buffers} {wal_buffers} {max_wal_size} {port} {dir} {plant}");
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .env(VARIABLE, text)
            .env_remove("GEARBOX_RESTARTS")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .expect("the server starts");
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().expect("it was piped"));
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Server { child, address, log, lines, setup: setup.clone() }
    }

    /// Starts a server and waits until it lets clients in.
    #[track_caller]
    pub fn start(setup: &Setup, dir: &Path) -> Server {
        let server = Server::launch(setup, dir);
        server.wait_ready();
        server
    }

    /// Waits until the server lets clients in; answers what it said of its recovery.
    #[track_caller]
    pub fn wait_ready(&self) -> String {
        let end = Instant::now() + Duration::from_secs(60);
        let mut recovered = String::new();
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if line == "ready" => return recovered,
                Ok(line) if line.starts_with("recovered ") => recovered = line,
                Ok(_) => {}
                Err(_) => panic!("{}: the server does not come up; its log:\n{}", self.setup.name(), self.log()),
            }
        }
    }

    pub fn connect(&self) -> Client {
        match Client::connect(self.address) {
            Ok(client) => client,
            Err(error) => panic!("{}: no connection: {error}; the log:\n{}", self.setup.name(), self.log()),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn signal(&self, signal: &str, group: bool) {
        let target = format!("{}{}", if group { "-" } else { "" }, self.child.id());
        let _ = Command::new("kill").args([signal, "--", &target]).status();
    }

    /// Kills every process of the server at once.
    pub fn kill(mut self) {
        self.signal("-KILL", true);
        let _ = self.child.wait();
    }

    /// Waits for the server to end by itself; answers its exit status.
    pub fn wait_end(mut self) -> Option<i32> {
        self.child.wait().ok().and_then(|status| status.code())
    }

    /// Stops the server and sees that it ends well.
    #[track_caller]
    pub fn stop(mut self) {
        self.signal("-TERM", false);
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            match self.child.try_wait().expect("our own child") {
                Some(status) => {
                    assert!(status.success(), "{}: {status:?}; the log:\n{}", self.setup.name(), self.log());
                    break;
                }
                None if Instant::now() > end => panic!("{} does not stop; its log:\n{}", self.setup.name(), self.log()),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        let log = self.log();
        for complaint in ["bug", "restarts", "panicked", "cannot", "failed"] {
            let line = log.lines().find(|line| line.contains(complaint));
            assert_eq!(line, None, "{}: the log has a complaint", self.setup.name());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal("-KILL", true);
            let _ = self.child.wait();
        }
        if std::thread::panicking() {
            println!("    {}: the server's log:\n{}", self.setup.name(), self.log());
        }
    }
}

/// A connection: sends lines, reads lines.
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> std::io::Result<Client> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Client { stream, buffer: Vec::new() })
    }

    pub fn send(&mut self, line: &str) -> std::io::Result<()> {
        self.stream.write_all(format!("{line}\n").as_bytes())
    }

    pub fn line(&mut self) -> std::io::Result<String> {
        loop {
            if let Some(at) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let rest = self.buffer.split_off(at + 1);
                let line = std::mem::replace(&mut self.buffer, rest);
                return Ok(String::from_utf8_lossy(&line[..at]).into_owned());
            }
            let mut part = [0; 4096];
            match self.stream.read(&mut part)? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                count => self.buffer.extend_from_slice(&part[..count]),
            }
        }
    }

    /// A line, if one comes in time.
    pub fn line_within(&mut self, limit: Duration) -> Option<String> {
        self.stream.set_read_timeout(Some(limit)).expect("a time-out is set");
        let line = self.line().ok();
        self.stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time-out is set");
        line
    }

    pub fn try_ask(&mut self, line: &str) -> std::io::Result<String> {
        self.send(line)?;
        self.line()
    }

    #[track_caller]
    pub fn ask(&mut self, line: &str) -> String {
        match self.try_ask(line) {
            Ok(answer) => answer,
            Err(error) => panic!("no answer to {line:?}: {error}"),
        }
    }

    #[track_caller]
    pub fn expect(&mut self, line: &str, answer: &str) {
        let got = self.ask(line);
        assert_eq!(got, answer, "the answer to {line:?}");
    }

    /// The number in an answer of two words.
    #[track_caller]
    pub fn number(&mut self, line: &str) -> i64 {
        let answer = self.ask(line);
        let number = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
        number.unwrap_or_else(|| panic!("{line:?} is answered by {answer:?}"))
    }

    /// A named number of the answer to `stat`.
    #[track_caller]
    pub fn stat(&mut self, name: &str) -> u64 {
        let answer = self.ask("stat");
        let found = answer.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        found.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("stat has no {name}: {answer:?}"))
    }
}
