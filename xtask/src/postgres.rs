//! A PostgreSQL of our own: made in a directory of its own, on a free port, for as long as a comparison takes.
//!
//! It is the distribution's PostgreSQL 15, whose answers the server is to give. It does not run as root: root becomes the user that the
//! package made.
//!
//! Rules
//! 1. Whoever has a [`Postgres`] has the server; when it is dropped, the server is stopped and its directory removed.
//! 2. It sorts by bytes and speaks UTF-8 and UTC, as Gearbox does. It need not survive a crash, so it flushes nothing.

use crate::server_under_test::free_port;
use crate::{Outcome, process};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
const PATIENCE: Duration = Duration::from_secs(60);

/// A running PostgreSQL.
pub struct Postgres {
    child: Child,
    port: u16,
    dir: PathBuf,
}

impl Postgres {
    /// Makes one and waits until it accepts connections.
    pub fn start() -> Outcome<Postgres> {
        if !Path::new(PROGRAMS).join("postgres").exists() {
            return Err("PostgreSQL 15's server is not installed; as root: apt-get install postgresql-15".into());
        }
        let dir = std::env::temp_dir().join(format!("gearbox-peer-{}", std::process::id()));
        let data = dir.join("data").display().to_string();
        run(&["mkdir", "-p", &dir.display().to_string()], false)?;
        if process::is_root() {
            run(&["chown", "postgres", &dir.display().to_string()], false)?;
        }
        let initdb = format!("{PROGRAMS}/initdb");
        run(
            &[&initdb, "-D", &data, "-A", "trust", "-U", "postgres", "--locale=C", "--encoding=UTF8", "--no-sync"],
            true,
        )?;
        let port = free_port()?;
        let server = format!("{PROGRAMS}/postgres");
        let settings = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "TimeZone=UTC",
            "max_parallel_workers_per_gather=0",
        ];
        let port_word = port.to_string();
        let mut words = vec![server.as_str(), "-D", &data, "-p", &port_word];
        words.extend(settings.iter().flat_map(|setting| ["-c", setting]));
        let child = command(&words, true)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{server}: {error}"))?;
        let mut started = Postgres { child, port, dir };
        started.await_start()?;
        Ok(started)
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn await_start(&mut self) -> Outcome<()> {
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if let Some(status) = self.child.try_wait().map_err(|error| error.to_string())? {
                return Err(format!("PostgreSQL ended before it accepted a connection: {status}"));
            }
            if began.elapsed() > PATIENCE {
                return Err("PostgreSQL accepts no connection".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // At once, without waiting for clients.
        process::signal("QUIT", self.child.id());
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// A command that ends with this program; as the user `postgres` where this one is root.
fn command(words: &[&str], as_user: bool) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "QUIT"]);
    if as_user && process::is_root() {
        command.args(["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]);
    }
    command.arg("--").args(words).current_dir("/").stdin(Stdio::null());
    command
}

fn run(words: &[&str], as_user: bool) -> Outcome<()> {
    let output = command(words, as_user).output().map_err(|error| format!("setpriv: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim())),
    }
}
