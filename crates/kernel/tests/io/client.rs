//! A server under test, and clients that talk to it in lines.

use crate::server::VARIABLE;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use testkit::ports::free_port;

/// The six models: engine, sessions.
pub const MODELS: [(&str, &str); 6] = [
    ("thread", "dedicated"),
    ("thread", "shared"),
    ("thread", "fiber"),
    ("process", "dedicated"),
    ("process", "shared"),
    ("process", "fiber"),
];

/// A running server with a data directory of its own; both are gone when it is dropped.
pub struct Server {
    child: Child,
    port: u16,
    pub directory: PathBuf,
    keep: bool,
}

impl Server {
    /// Starts one; `more` is appended to the description that [`crate::server::main`] reads.
    pub fn start(engine: &str, sessions: &str, io: &str, more: &str) -> Server {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("io-{}-{next}", std::process::id());
        Server::start_in(&Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), engine, sessions, io, more)
    }

    /// The same, in a directory that may be there already.
    pub fn start_in(directory: &Path, engine: &str, sessions: &str, io: &str, more: &str) -> Server {
        std::fs::create_dir_all(directory).unwrap();
        let port = free_port();
        let description =
            format!("engine={engine} sessions={sessions} io={io} port={port} data={} {more}", directory.display());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .env(VARIABLE, &description)
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "the server did not start: {description}");
        Server { child, port, directory: directory.to_path_buf(), keep: false }
    }

    pub fn connect(&self) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Client { stream: BufReader::new(stream) }
    }

    /// The same, while the server may be on its way down and up again.
    pub fn try_connect(&self) -> Option<Client> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Client { stream: BufReader::new(stream) })
    }

    /// One question over a connection of its own.
    pub fn ask(&self, line: &str) -> String {
        self.connect().ask(line)
    }

    /// The processes of the server: the supervisor and its hosts.
    pub fn processes(&self) -> Vec<i32> {
        let supervisor = self.child.id() as i32;
        let children = std::fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children")).unwrap();
        let hosts = children.split_whitespace().map(|pid| pid.parse().unwrap());
        std::iter::once(supervisor).chain(hosts).collect()
    }

    /// How many threads of that name its processes have.
    pub fn threads_named(&self, name: &str) -> usize {
        let threads = |pid: i32| std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let is_named = |path: PathBuf| std::fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == name);
        self.processes().into_iter().flat_map(threads).filter(|thread| is_named(thread.path())).count()
    }

    /// Stops it and holds it to a clean end.
    pub fn stop(self) {
        self.stop_and(|| ());
    }

    /// The same, with a look at its directory afterwards.
    pub fn stop_and<T>(mut self, look: impl FnOnce() -> T) -> T {
        // SAFETY: our own child, which has not been waited for.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        let status = self.child.wait().unwrap();
        assert!(status.success(), "the server ended with {status}");
        look()
    }

    /// Kills all of it at once, and leaves the directory.
    pub fn kill(mut self) -> PathBuf {
        self.keep = true;
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.directory.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.directory);
        }
    }
}

/// A connection.
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub fn send(&mut self, line: &str) {
        self.stream.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub fn receive(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the server does not answer");
        line.trim_end().to_string()
    }

    pub fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.receive()
    }

    /// Asks; none if the connection breaks or nothing comes in time.
    pub fn try_ask(&mut self, line: &str, patience: Duration) -> Option<String> {
        self.stream.get_mut().set_read_timeout(Some(patience)).unwrap();
        self.stream.get_mut().write_all(format!("{line}\n").as_bytes()).ok()?;
        let mut answer = String::new();
        let got = self.stream.read_line(&mut answer).ok()?;
        (got > 0).then(|| answer.trim_end().to_string())
    }

    /// Asks, and holds the server to an answer that begins with "ok".
    pub fn ok(&mut self, line: &str) -> String {
        let answer = self.ask(line);
        assert!(answer.starts_with("ok"), "{line}: {answer}");
        answer
    }
}
