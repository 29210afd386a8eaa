//! A server in a process of its own: this very program, run again.
//!
//! Rules
//! 1. A server is in a process group of its own and dies with the thread that started it, so nothing is left behind even
//!    when the tests are killed. Tests run on the program's first thread, which lives as long as the program.
//! 2. [`Server::stop`] is the good end: it asserts that the server exits with 0, in time, without a complaint in its log,
//!    and leaves no process and no semaphore set. Dropping a server ends it in any case.

use super::service::TestService;
use super::{Client, eventually, procs};
use kernel::Config;
use kernel::config::{EngineKind, HugePages, IoMethod, Keepalive, Primitive, Sessions};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use testkit::ports::free_port;

/// Set in the environment of a server: how it is set up.
pub const VARIABLE: &str = "GEARBOX_PROOF_SERVER";

/// How a server is set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// What an engine is.
    pub engine: EngineKind,
    /// What a session holds an engine for.
    pub sessions: Sessions,
    /// What waiting sessions sleep on.
    pub primitive: Primitive,
    /// How many engines a pooled group has.
    pub engines: u32,
    /// The test mode that moves every session at every request.
    pub move_sessions: bool,
    /// How many sessions there may be.
    pub max_connections: u32,
    /// How long a session may compute before it yields.
    pub time_slice_us: u32,
    /// How much the region's heap may grow to.
    pub region_bytes_max: u64,
    /// Whether engines with fibers send answers together.
    pub gather_answers: bool,
}

impl Setup {
    /// A model with two engines, futexes, and room for 200 sessions.
    pub fn of((engine, sessions): (EngineKind, Sessions)) -> Setup {
        Setup {
            engine,
            sessions,
            primitive: Primitive::Futex,
            engines: 2,
            move_sessions: false,
            max_connections: 200,
            time_slice_us: 250,
            region_bytes_max: 256 << 20,
            gather_answers: true,
        }
    }

    /// The model's name, and what differs from [`Setup::of`].
    pub fn name(&self) -> String {
        let mut name = format!("{}/{} {}", self.engine, self.sessions, self.primitive);
        if self.move_sessions {
            name.push_str(" moved");
        }
        name
    }

    fn write(&self, port: u16, dir: &std::path::Path) -> String {
        let Setup { engine, sessions, primitive, engines, move_sessions, .. } = self;
        let Setup { max_connections, time_slice_us, region_bytes_max, gather_answers, .. } = self;
        let dir = dir.display();
        format!(
            "{engine} {sessions} {primitive} {engines} {move_sessions} {max_connections} {time_slice_us} \
             {region_bytes_max} {port} {gather_answers} {dir}"
        )
    }
}

/// Runs as a server if this process is to be one; answers its exit status.
pub fn serve_if_asked() -> Option<i32> {
    let text = std::env::var(VARIABLE).ok()?;
    // SAFETY: plain system call: the server ends with the tests.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let words: Vec<&str> = text.split(' ').collect();
    let number = |at: usize| words[at].parse::<u64>().expect("a number in the server's set-up");
    let config = Config {
        engine: EngineKind::parse(words[0]).expect("an engine kind"),
        sessions: Sessions::parse(words[1]).expect("a way to host sessions"),
        engines: number(3) as u32,
        primitive: Primitive::parse(words[2]).expect("a wait primitive"),
        io: IoMethod::Sync,
        io_workers: 1,
        blocking_threads: 4,
        max_connections: number(5) as u32,
        arriving_max: 0,
        spare_engines: 2,
        engine_idle_spin_us: 20,
        session_idle_spin_us: 0,
        time_slice_us: number(6) as u32,
        gather_answers: words[9] == "true",
        fiber_stack_bytes: 256 << 10,
        region_bytes_max: number(7),
        huge_pages: HugePages::Try,
        move_sessions: words[4] == "true",
        data_dir: words[10].into(),
        // Who has gone without a word is found out while a test waits for it.
        keepalive: Keepalive { idle_s: 1, interval_s: 1, count: 3, user_timeout_ms: 0 },
        listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, number(8) as u16))],
        sockets: Vec::new(),
        socket_mode: 0,
    };
    let status = kernel::supervisor::run(config, TestService::make, |_| println!("ready"));
    Some(status.unwrap_or_else(|error| {
        eprintln!("gearbox: {error}");
        1
    }))
}

/// A running server.
pub struct Server {
    child: Child,
    /// The supervisor.
    pub pid: i32,
    /// Where it listens.
    pub address: SocketAddr,
    /// How it was set up.
    pub setup: Setup,
    /// The complaints that a test expects in the log.
    pub expected: Vec<&'static str>,
    dir: PathBuf,
    ready: Mutex<Receiver<()>>,
    /// The semaphore sets that it has made.
    sets: Mutex<Vec<i32>>,
}

impl Server {
    /// Starts a server and waits until it lets clients in.
    #[track_caller]
    pub fn start(setup: Setup) -> Server {
        let port = free_port();
        let dir = std::env::temp_dir().join(format!("gearbox-proof-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory for the server");
        Server::start_on(setup, port, dir, Vec::new())
    }

    /// Starts a server on the directory of one that is dead.
    #[track_caller]
    pub fn again(mut self) -> Server {
        let _ = self.child.wait();
        let dir = std::mem::take(&mut self.dir);
        Server::start_on(self.setup, self.address.port(), dir, self.sets.lock().unwrap().split_off(0))
    }

    #[track_caller]
    fn start_on(setup: Setup, port: u16, dir: PathBuf, sets: Vec<i32>) -> Server {
        let log = std::fs::File::create(dir.join("log")).expect("a log for the server");
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .env(VARIABLE, setup.write(port, &dir))
            .env_remove("GEARBOX_RESTARTS")
            .env("RUST_BACKTRACE", "1")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the server starts");
        let (sender, ready) = channel();
        let output = BufReader::new(child.stdout.take().expect("it was piped"));
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if line == "ready" && sender.send(()).is_err() {
                    return;
                }
            }
        });
        let pid = child.id() as i32;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let expected = Vec::new();
        let ready = Mutex::new(ready);
        let server = Server { child, pid, address, setup, expected, dir, ready, sets: Mutex::new(sets) };
        server.wait_ready(Duration::from_secs(10));
        server
    }

    /// Waits until the server, started or restarted, says that it lets clients in.
    #[track_caller]
    pub fn wait_ready(&self, limit: Duration) {
        if self.ready.lock().unwrap().recv_timeout(limit).is_err() {
            panic!("{}: the server does not come up; its log:\n{}", self.setup.name(), self.log());
        }
        self.sets.lock().unwrap().extend(self.noted_set());
    }

    /// The semaphore set that the server has noted in its directory.
    fn noted_set(&self) -> Option<i32> {
        std::fs::read_to_string(self.dir.join("sysv-semaphores")).ok()?.trim().parse().ok()
    }

    /// Those of the semaphore sets it has made that are there.
    pub fn semaphore_sets(&self) -> Vec<i32> {
        let there = procs::semaphore_sets();
        self.sets.lock().unwrap().iter().copied().filter(|set| there.contains(set)).collect()
    }

    /// Connects.
    #[track_caller]
    pub fn connect(&self) -> Client {
        match Client::connect(self.address) {
            Ok(client) => client,
            Err(error) => panic!("{}: no connection: {error}; the log:\n{}", self.setup.name(), self.log()),
        }
    }

    /// Connects this many clients, and sees that each is served.
    #[track_caller]
    pub fn connect_many(&self, count: usize) -> Vec<Client> {
        (0..count)
            .map(|_| {
                let mut client = self.connect();
                client.expect("ping", "pong");
                client
            })
            .collect()
    }

    /// Its directory.
    pub fn dir(&self) -> &std::path::Path {
        &self.dir
    }

    /// What the server has said.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    /// Every process of the server, the supervisor first.
    pub fn processes(&self) -> Vec<i32> {
        let mut pids: Vec<i32> = procs::group(self.pid).iter().map(|process| process.pid).collect();
        pids.sort_by_key(|&pid| (pid != self.pid, pid));
        pids
    }

    /// The hosts of the engine group: not the supervisor, not the background host.
    pub fn hosts(&self, background: i32) -> Vec<i32> {
        self.processes().into_iter().filter(|&pid| pid != self.pid && pid != background).collect()
    }

    /// CPU that the server has used, in clock ticks.
    pub fn cpu_ticks(&self) -> u64 {
        procs::group(self.pid).iter().map(|process| process.cpu_ticks).sum()
    }

    /// Stops the server with SIGTERM and sees that nothing is left; answers how long it took.
    #[track_caller]
    pub fn stop(self) -> Duration {
        self.tell_to_stop();
        self.ends()
    }

    /// Sends SIGTERM.
    pub fn tell_to_stop(&self) {
        // SAFETY: our own child, which has not been waited for.
        unsafe { libc::kill(self.pid, libc::SIGTERM) };
    }

    /// Sees that the server, which has been told to stop, does, and that nothing is left; answers how long it took.
    #[track_caller]
    pub fn ends(mut self) -> Duration {
        let name = self.setup.name();
        let since = Instant::now();
        let mut status = None;
        let ended = eventually(15_000, || {
            status = self.child.try_wait().expect("our own child");
            status.is_some()
        });
        let took = since.elapsed();
        assert!(ended, "{name}: the server does not stop; its log:\n{}", self.log());
        assert!(status.is_some_and(|status| status.success()), "{name}: {status:?}; the log:\n{}", self.log());
        assert!(took < Duration::from_secs(2), "{name}: the stop took {took:?}");
        self.assert_clean();
        took
    }

    #[track_caller]
    fn assert_clean(&self) {
        let name = self.setup.name();
        let log = self.log();
        for complaint in ["bug", "restarts", "panicked", "cannot"] {
            let unexpected = log
                .lines()
                .find(|line| line.contains(complaint) && !self.expected.iter().any(|expected| line.contains(expected)));
            assert_eq!(unexpected, None, "{name}: the log has a complaint");
        }
        assert_eq!(self.processes(), [], "{name}: processes are left");
        assert_eq!(self.semaphore_sets(), [], "{name}: a semaphore set is left");
        let named = procs::named_shared_memory().into_iter().find(|name| name.contains("gearbox"));
        assert_eq!(named, None, "{name}: shared memory is left");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() && std::env::var_os("GEARBOX_HOLD").is_some() {
            println!(
                "    {}: process {} at {}, log {:?}",
                self.setup.name(),
                self.pid,
                self.address,
                self.dir.join("log")
            );
            std::thread::sleep(Duration::from_secs(600));
        }
        // SAFETY: the process group that the child was started in; it is empty if the server has stopped.
        unsafe { libc::kill(-self.pid, libc::SIGKILL) };
        let _ = self.child.wait();
        if std::thread::panicking() {
            println!("    {}: the server's log:\n{}", self.setup.name(), self.log());
        }
        if self.dir.as_os_str().is_empty() {
            // Another server has the directory now.
            return;
        }
        if let Some(set) = self.noted_set() {
            // SAFETY: plain system call on a set that this server made.
            unsafe { libc::semctl(set, 0, libc::IPC_RMID) };
        }
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
