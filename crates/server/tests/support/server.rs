//! A server under test: started on a free port with a data directory of its own, stopped and checked at the end.

use postgres::{Client, Config, NoTls};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use testkit::ports::free_port;

/// An execution model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Model {
    /// What an engine is.
    pub engine: &'static str,
    /// What a session holds an engine for.
    pub sessions: &'static str,
}

impl Model {
    /// As `SHOW execution_model` prints it.
    pub fn name(&self) -> String {
        format!("{}/{}", self.engine, self.sessions)
    }
}

/// The six.
pub const MODELS: [Model; 6] = [
    Model { engine: "process", sessions: "dedicated" },
    Model { engine: "process", sessions: "shared" },
    Model { engine: "process", sessions: "fiber" },
    Model { engine: "thread", sessions: "dedicated" },
    Model { engine: "thread", sessions: "shared" },
    Model { engine: "thread", sessions: "fiber" },
];

/// A running server.
pub struct Server {
    child: Option<Child>,
    port: u16,
    data: PathBuf,
    arguments: Vec<String>,
    /// Where it says what it has to say; its data is not the server's to remove then.
    log: Option<PathBuf>,
    plant: Option<&'static str>,
}

/// How long a start may take on a device that works, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

static NEXT: AtomicU32 = AtomicU32::new(0);

impl Server {
    /// Starts a server with two engines; `moving` resumes every session on another engine at every request.
    pub fn start(model: Model, moving: bool) -> Server {
        Server::start_with(model, moving, &[])
    }

    /// The same, with more options.
    pub fn start_with(model: Model, moving: bool, more: &[&str]) -> Server {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let data = std::env::temp_dir().join(format!("gearbox-scripts-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&data);
        let arguments = [
            "--engine",
            model.engine,
            "--sessions",
            model.sessions,
            "--engines",
            "2",
            "--move-sessions",
            if moving { "on" } else { "off" },
        ];
        let arguments = arguments.iter().chain(more).map(|argument| argument.to_string()).collect();
        let mut server = Server { child: None, port: 0, data, arguments, log: None, plant: None };
        server.launch();
        server
    }

    /// A server that is not started yet, on data that stays when it is gone; what it says goes to a file.
    pub fn on(data: PathBuf, log: PathBuf, model: Model, more: &[&str]) -> Server {
        let arguments = ["--engine", model.engine, "--sessions", model.sessions, "--engines", "2"];
        let arguments = arguments.iter().chain(more).map(|argument| argument.to_string()).collect();
        Server { child: None, port: 0, data, arguments, log: Some(log), plant: None }
    }

    /// Plants a bug in it ([`kernel::fault::BUGS`]), from its next start on.
    pub fn plant(&mut self, bug: &'static str) {
        self.plant = Some(bug);
    }

    /// Starts it, if it starts. None if it has ended instead, or `given_up` says that it will not; it is gone then.
    pub fn try_start(&mut self, given_up: impl Fn() -> bool) -> Option<Client> {
        self.spawn();
        let end = Instant::now() + PATIENCE;
        loop {
            let child = self.child.as_mut().expect("it was started");
            let ended = child.try_wait().expect("our own child").is_some();
            if ended || given_up() || Instant::now() > end {
                self.crash();
                return None;
            }
            // Between a recovery that failed and the one after, somebody may be let in who is sent away.
            match self.config().connect_timeout(Duration::from_secs(5)).connect(NoTls) {
                Ok(client) => return Some(client),
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// What it has said, where that goes to a file.
    pub fn said(&self) -> String {
        self.log.as_ref().and_then(|log| std::fs::read_to_string(log).ok()).unwrap_or_default()
    }

    /// A server that runs already, on this machine: PostgreSQL, to see what it answers. It cannot be restarted.
    pub fn beside(port: u16) -> Server {
        let data = PathBuf::from("/nonexistent");
        Server { child: None, port, data, arguments: Vec::new(), log: None, plant: None }
    }

    fn spawn(&mut self) {
        self.port = free_port();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gearbox"));
        command.arg("serve").arg("--data").arg(&self.data);
        command.args(["--listen", &format!("127.0.0.1:{}", self.port)]).args(&self.arguments).stdout(Stdio::null());
        // A word to the tests, and no setting.
        command.env_remove("GEARBOX_FULL");
        if let Some(log) = &self.log {
            let log = std::fs::OpenOptions::new().create(true).append(true).open(log).expect("a file for the log");
            command.stderr(log);
        }
        if let Some(bug) = self.plant {
            command.env("PLANTED_BUG", bug);
        }
        self.child = Some(command.spawn().expect("the server starts"));
    }

    fn launch(&mut self) {
        self.spawn();
        let end = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < end, "the server does not answer within 20 s");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Where its data is.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// What a start on its data says that does not succeed.
    pub fn refused_start(&self, more: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_gearbox"))
            .arg("serve")
            .arg("--data")
            .arg(&self.data)
            .args(["--listen", &format!("127.0.0.1:{}", free_port())])
            .args(more)
            .output()
            .expect("the program runs");
        assert!(!output.status.success(), "the server was to refuse");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// The process id of its supervisor.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server runs").id()
    }

    /// The port on which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn config(&self) -> Config {
        let mut config = Config::new();
        config.host("127.0.0.1").port(self.port).user("postgres").dbname("postgres");
        config
    }

    /// Tries to get in as somebody.
    pub fn log_in(&self, user: &str, password: &str, database: &str) -> Result<Client, postgres::Error> {
        self.config().user(user).password(password).dbname(database).connect(NoTls)
    }

    /// A new session.
    pub fn connect(&self) -> Client {
        self.config().connect(NoTls).expect("the server lets a session in")
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.as_ref().expect("the server runs").id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().expect("kill is there");
        assert!(sent.success());
    }

    /// Stops it in good order; it must end with status 0 within ten seconds.
    pub fn shut_down(&mut self) {
        self.signal("-TERM");
        let mut child = self.child.take().expect("the server runs");
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "the server ends with {status}");
                return;
            }
            if Instant::now() > end {
                let _ = child.kill();
                panic!("the server does not stop within 10 s");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills it: all of it, because its hosts die with it.
    pub fn crash(&mut self) {
        self.kill();
        let _ = self.child.take().expect("the server runs").wait();
    }

    /// The same, without waiting for its end. It may have ended already.
    pub fn kill(&self) {
        let pid = self.child.as_ref().expect("the server runs").id().to_string();
        let _ = Command::new("kill").args(["-KILL", &pid]).stderr(Stdio::null()).status();
    }

    /// Starts it again on the same data.
    pub fn start_again(&mut self) {
        self.launch();
    }

    /// Stops it for good and removes its data.
    pub fn stop(mut self) {
        self.shut_down();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if self.log.is_none() {
            let _ = std::fs::remove_dir_all(&self.data);
        }
    }
}
