//! A server from its start to its end, whatever product it is.
//!
//! ```text
//! start   setsid [prlimit] [setpriv --reuid … --pdeathsig STOP] [taskset] program …   by a thread that lives as long as the lab
//!         then: a connection is made and greeted
//! alive   its first process has not ended
//! stop    STOP to the first process -> it ends with status 0 -> none of its processes is left
//! drop    ABORT, a few seconds, KILL to everyone
//! ```
//!
//! Rules
//! 1. A server leads a session of its own, and carries a mark in its environment, so that all of its processes are found.
//! 2. Death of the lab stops the server: the kernel sends STOP when the *thread* that started it ends, so one thread starts
//!    all of them and never ends before the lab does.
//! 3. A port is free when it is chosen and may be taken when the server comes: then another one is tried.
//! 4. Each error about a server has the last lines of its log in it.

use super::home::{clean, last_lines};
use super::leftovers::Leftovers;
use super::{Found, Home, Launch, Product, local};
use crate::address::{Address, Wire};
use crate::error::{self, OfFile};
use crate::measure::processes::{MARK, Tree};
use base::{Error, Result};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// How long a start may take: recovery is in it.
const START: Duration = Duration::from_secs(60);
/// How long a stop may take: a full buffer pool is written.
const STOP: Duration = Duration::from_secs(120);
/// How long an abort may take before everybody is killed.
const ABORT: Duration = Duration::from_secs(5);
/// How often a start is tried where ports are taken.
const TRIES: u32 = 3;

/// A server's data directory, and how to run a server on it.
#[derive(Debug)]
pub struct Prepared {
    found: Found,
    home: Arc<Home>,
    place: PathBuf,
}

impl Prepared {
    pub(super) fn new(found: Found, home: &Arc<Home>) -> Result<Prepared> {
        let place = home.place(&found.subject.name)?;
        found.installed.make(home, &place)?;
        Ok(Prepared { found, home: home.clone(), place })
    }

    /// Starts a server and waits until it greets a client. One server at a time may run on a directory. With `cpus`, it
    /// runs on these processors only.
    ///
    /// # Errors
    /// `08006`, with the last lines of its log and, where they say something known, a hint.
    pub fn start(&self, cpus: Option<&[usize]>) -> Result<Running> {
        if let Product::External(address) = &self.found.subject.product {
            greet(address).map_err(|error| {
                // So the system says that a time is over.
                let silent = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
                let why = if silent { "it does not answer".to_string() } else { error.to_string() };
                let down = error::server(format!("no server at {}: {why}", address.socket));
                down.hint("Start it, or name another address.")
            })?;
            return Ok(Running { address: address.clone(), server: None });
        }
        let mut tried = 1;
        loop {
            match self.try_start(cpus) {
                Err(error) if tried < TRIES && is_taken(&error) => tried += 1,
                result => return result,
            }
        }
    }

    fn try_start(&self, cpus: Option<&[usize]>) -> Result<Running> {
        let port = free_port()?;
        let launch = self.found.installed.launch(&self.home, &self.place, port, &self.found.settings())?;
        let name = format!("{} ({})", self.found.subject.name, self.found.installed.product());
        let log = Log::open(self.place.join("log"))?;
        let mark = self.place.display().to_string();
        let child = spawn(self.command(&launch, cpus, &log, &mark)?)?;
        let tree = Tree::under(child.id(), Some(mark));
        let (stop, abort) = (launch.stop, launch.abort);
        let (leftovers, _home) = (Leftovers::of(child.id()), self.home.clone());
        let mut server = Server { name, child: Mutex::new(child), tree, log, stop, abort, leftovers, _home };
        let (wire, user, database) = self.found.installed.account();
        let socket = local(port);
        let address = Address { wire, socket, user: user.into(), database: database.into(), password: None };
        server.await_greeting(&address)?;
        server.leftovers.look(&server.tree);
        Ok(Running { address, server: Some(server) })
    }

    fn command(&self, launch: &Launch, cpus: Option<&[usize]>, log: &Log, mark: &str) -> Result<Command> {
        let mut words = limit_of_files(self.found.equal.connections);
        words.extend(self.home.as_user(Some(name_of(launch.stop))));
        if let Some(cpus) = cpus {
            let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
            words.extend(["taskset".into(), "-c".into(), list.join(",")]);
        }
        words.extend(launch.words.iter().cloned());
        let mut command = Command::new("setsid");
        command.args(words).current_dir(&self.place).stdin(Stdio::null());
        clean(&mut command, &self.place).env(MARK, mark).envs(launch.environment.iter().cloned());
        let output = log.file.try_clone().of(&log.path)?;
        command.stdout(output.try_clone().of(&log.path)?).stderr(output);
        Ok(command)
    }
}

/// A server that answers.
#[derive(Debug)]
pub struct Running {
    address: Address,
    /// None where somebody else started it.
    server: Option<Server>,
}

#[derive(Debug)]
struct Server {
    name: String,
    child: Mutex<Child>,
    tree: Tree,
    log: Log,
    stop: Signal,
    abort: Signal,
    leftovers: Leftovers,
    /// Its directory is to be there as long as it runs.
    _home: Arc<Home>,
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Its processes; none where somebody else started it.
    pub fn tree(&self) -> Option<&Tree> {
        self.server.as_ref().map(|server| &server.tree)
    }

    /// Finds out whether it still runs.
    ///
    /// # Errors
    /// `08006` where its first process has ended, with how and the last lines of its log.
    pub fn alive(&self) -> Result<()> {
        match &self.server {
            Some(server) => server.alive(),
            None => Ok(()),
        }
    }

    /// Asks it to stop, and waits until nobody is left. Clients that are still connected lose their connections.
    ///
    /// # Errors
    /// `08006` where it takes too long, ends badly, or leaves a process behind; then everything of it is killed.
    pub fn stop(mut self) -> Result<()> {
        match self.server.take() {
            Some(server) => server.stop(),
            None => Ok(()),
        }
    }
}

impl Server {
    fn child(&self) -> std::sync::MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn alive(&self) -> Result<()> {
        match self.child().try_wait().map_err(|error| error::system("wait", error))? {
            Some(status) => Err(self.complaint(&format!("ended: {status}"))),
            None => Ok(()),
        }
    }

    fn await_greeting(&self, address: &Address) -> Result<()> {
        let began = Instant::now();
        loop {
            let Err(error) = greet(address) else { return self.alive() };
            self.alive()?;
            if began.elapsed() > START {
                return Err(self.complaint(&format!("does not answer after {} s: {error}", START.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn stop(self) -> Result<()> {
        self.alive()?;
        signal(self.tree.root(), self.stop);
        let Some(status) = self.wait(STOP)? else {
            return Err(self.complaint(&format!("did not stop within {} s", STOP.as_secs())));
        };
        if !status.success() {
            return Err(self.complaint(&format!("stopped badly: {status}")));
        }
        let began = Instant::now();
        loop {
            let left = self.tree.members();
            match left.first() {
                None => return Ok(()),
                Some(process) if began.elapsed() > ABORT => {
                    let what = format!("left {} processes behind, among them {}", left.len(), process.name);
                    return Err(self.complaint(&what));
                }
                Some(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    fn wait(&self, patience: Duration) -> Result<Option<std::process::ExitStatus>> {
        let began = Instant::now();
        loop {
            match self.child().try_wait().map_err(|error| error::system("wait", error))? {
                None if began.elapsed() < patience => {}
                status => return Ok(status),
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn complaint(&self, what: &str) -> Error {
        let tail = self.log.tail(15);
        let error = error::server(format!("{} {what}", self.name));
        let error = match advice(&tail) {
            Some(hint) => error.hint(hint),
            None => error,
        };
        if tail.is_empty() { error } else { error.detail(tail) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.leftovers.look(&self.tree);
        if matches!(self.child().try_wait(), Ok(None)) {
            signal(self.tree.root(), self.abort);
            let _ = self.wait(ABORT);
        }
        kill_all(&self.tree);
        let _ = self.child().wait();
        self.leftovers.remove();
    }
}

/// What a server wrote since this start of it.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    file: File,
    begin: u64,
}

impl Log {
    fn open(path: PathBuf) -> Result<Log> {
        let file = File::options().create(true).append(true).read(true).open(&path).of(&path)?;
        let begin = file.metadata().of(&path)?.len();
        Ok(Log { path, file, begin })
    }

    fn tail(&self, count: usize) -> String {
        // Only the end is read: a server may have written much.
        const ENOUGH: u64 = 16 << 10;
        let mut bytes = Vec::new();
        let Ok(mut file) = File::open(&self.path) else { return String::new() };
        let end = file.metadata().map_or(0, |data| data.len());
        let _ = file.seek(SeekFrom::Start(self.begin.max(end.saturating_sub(ENOUGH))));
        let _ = file.read_to_end(&mut bytes);
        last_lines(&String::from_utf8_lossy(&bytes), count)
    }
}

/// What to do about a program's last words.
pub(super) fn advice(tail: &str) -> Option<&'static str> {
    const KNOWN: [(&[&str], &str); 5] = [
        (
            &["No space left", "disk is full", "Disk full"],
            "The disk is full: make room, or name another one with --work DIR.",
        ),
        (&[TAKEN], "Something else took the port meanwhile; try again."),
        (
            &["annot allocate memory", "out of memory"],
            "There is too little memory: name fewer points with --points, or fewer variants with --only.",
        ),
        (&["Too many open files"], "Raise the limit of open files: ulimit -n 65536."),
        (&["Permission denied"], "The user that servers run as may not read or write something; try --work /var/tmp."),
    ];
    KNOWN.iter().find(|(words, _)| words.iter().any(|word| tail.contains(word))).map(|(_, hint)| *hint)
}

const TAKEN: &str = "ddress already in use";

fn is_taken(error: &Error) -> bool {
    error.detail_text().is_some_and(|tail| tail.contains(TAKEN))
}

/// Connects as a client would, and waits for the server's first word of welcome.
fn greet(address: &Address) -> std::io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let mut stream = TcpStream::connect_timeout(&address.socket, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let refused = || std::io::Error::other("it accepts connections, but refuses clients");
    match address.wire {
        Wire::Postgres => {
            let mut body = 196_608u32.to_be_bytes().to_vec();
            for (name, value) in [("user", &address.user), ("database", &address.database)] {
                body.extend([name.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat());
            }
            body.push(0);
            stream.write_all(&(body.len() as u32 + 4).to_be_bytes())?;
            stream.write_all(&body)?;
            let mut kind = [0];
            stream.read_exact(&mut kind)?;
            // Whatever it asks for to let somebody in, it is there.
            if kind != *b"R" {
                return Err(refused());
            }
            stream.write_all(b"X\0\0\0\x04")
        }
        Wire::Mysql => {
            let mut packet = [0; 5];
            stream.read_exact(&mut packet)?;
            // The protocol's version; 255 would be an error.
            if packet[4] == 10 { Ok(()) } else { Err(refused()) }
        }
    }
}

/// A port that nobody listens on. The probe binds it without listening: a probe that listens would live on in whatever another
/// thread forks at this moment, and answer clients in the server's place.
fn free_port() -> Result<u16> {
    let found = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).and_then(|socket| {
        bind(&socket, &local(0))?;
        getsockname(&socket)
    });
    let address = found.and_then(SocketAddr::try_from).map_err(|error| error::system("a free port", error))?;
    Ok(address.port())
}

/// The words that raise the number of files a server may have open, where that is needed and allowed.
fn limit_of_files(connections: u32) -> Vec<String> {
    let needed = u64::from(connections) * 2 + 8192;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Vec::new();
    }
    let most = limit.maximum.unwrap_or(u64::MAX);
    // Root may raise it beyond that, unless somebody took the right from it.
    let raised = Rlimit { current: limit.current, maximum: Some(most.max(needed)) };
    let (soft, hard) = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => (needed, most.max(needed)),
        Err(_) => (needed.min(most), most),
    };
    vec!["prlimit".into(), format!("--nofile={soft}:{hard}"), "--".into()]
}

fn name_of(signal: Signal) -> &'static str {
    match signal {
        Signal::INT => "INT",
        Signal::QUIT => "QUIT",
        _ => "TERM",
    }
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid as i32) {
        let _ = kill_process(pid, signal);
    }
}

/// Kills a tree, its root first, and whoever it started meanwhile.
pub(super) fn kill_all(tree: &Tree) {
    let began = Instant::now();
    loop {
        let members = tree.members();
        if members.is_empty() || began.elapsed() > ABORT {
            return;
        }
        if members.iter().any(|process| process.pid == tree.root()) {
            signal(tree.root(), Signal::KILL);
        }
        members.iter().for_each(|process| signal(process.pid, Signal::KILL));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Starts a command from the thread that starts all of them; see rule 2.
fn spawn(command: Command) -> Result<Child> {
    type Order = (Command, Sender<std::io::Result<Child>>);
    static STARTER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (orders, received) = channel::<Order>();
        let run = move || {
            for (mut command, answer) in received {
                let _ = answer.send(command.spawn());
            }
        };
        // Without a thread the channel is closed, which the first order finds out.
        let _ = std::thread::Builder::new().name("starter".into()).spawn(run);
        Mutex::new(orders)
    });
    let (answer, child) = channel();
    let order = starter.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).send((command, answer));
    let lost = || error::system("a thread to start servers", "it is not there");
    order.map_err(|_| lost())?;
    child.recv().map_err(|_| lost())?.map_err(|error| {
        error::system("setsid", error).hint("The lab needs util-linux: setsid, setpriv, prlimit, taskset.")
    })
}

/// For a product's file: the place of the data in a server's place.
pub(super) fn data_of(place: &Path) -> String {
    place.join("data").display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_last_words_have_advice() {
        for (words, hint) in [
            ("FATAL: could not write: No space left on device", "--work"),
            ("bind: Address already in use", "try again"),
            ("mmap: Cannot allocate memory", "--points"),
        ] {
            assert!(advice(words).is_some_and(|advice| advice.contains(hint)), "{words}");
        }
        assert_eq!(advice("something else"), None);
    }

    #[test]
    fn a_log_s_tail_is_of_this_start() {
        let path = std::env::temp_dir().join(format!("lab-log-{}", std::process::id()));
        std::fs::write(&path, "before\n").unwrap();
        let mut log = Log::open(path.clone()).unwrap();
        assert_eq!(log.tail(5), "");
        log.file.write_all(b"one\n\ntwo\nthree\n").unwrap();
        assert_eq!(log.tail(2), "two\nthree");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn nobody_at_an_address_is_an_error() {
        let port = free_port().unwrap();
        let address = Address {
            wire: Wire::Postgres,
            socket: local(port),
            user: "u".into(),
            database: "d".into(),
            password: None,
        };
        assert!(greet(&address).is_err());
    }
}
