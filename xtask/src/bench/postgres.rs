//! PostgreSQL on this machine, to stand beside the models: a new cluster for each measurement, with its defaults but for what
//! makes the two comparable.
//!
//! It does not run as root, so it is started as the user `postgres` if this program does.

use super::load::Measured;
use crate::process::{self, Process};
use crate::{Outcome, tree};
use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where Debian keeps its programs.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// What it is told beside its defaults: as many connections as the load wants.
pub const OPTIONS: &[&str] = &["-c", "max_connections=200", "-c", "shared_buffers=1GB"];
const PATIENCE: Duration = Duration::from_secs(30);

/// A running PostgreSQL.
pub struct Postgres {
    child: Child,
    port: u16,
    dir: PathBuf,
}

fn program(name: &str) -> String {
    format!("{PROGRAMS}/{name}")
}

/// A command that runs as a user who may run PostgreSQL.
fn as_user(words: &[String]) -> Command {
    let mut command = match process::is_root() {
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(&words[0]);
            command
        }
        false => Command::new(&words[0]),
    };
    command.args(&words[1..]).stdin(Stdio::null());
    command
}

/// Its name and version.
pub fn version() -> Outcome<String> {
    let output = Command::new(program("postgres")).arg("--version").output();
    let output = output.map_err(|error| format!("{}: {error}; install postgresql-15", program("postgres")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let number = text.split_whitespace().nth(2).unwrap_or_default();
    Ok(format!("PostgreSQL {number}"))
}

impl Postgres {
    /// Makes a cluster and starts a server on it, on these CPUs.
    pub fn start(cpus: Option<&str>) -> Outcome<Postgres> {
        let dir = tree::scratch("postgres")?;
        open_to_all(&dir)?;
        let data = dir.join("data").display().to_string();
        let words = ["-D", &data, "-A", "trust", "-U", "postgres", "--no-sync"].map(str::to_string);
        let made = as_user(&[vec![program("initdb")], words.to_vec()].concat())
            .current_dir(&dir)
            .output()
            .map_err(|error| format!("initdb: {error}"))?;
        if !made.status.success() {
            return Err(format!("initdb: {}", String::from_utf8_lossy(&made.stderr)));
        }
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("no free port: {error}"))?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        drop(listener);
        let mut words: Vec<String> = vec!["setsid".into()];
        if let Some(cpus) = cpus {
            words.extend(["taskset", "-c", cpus].map(str::to_string));
        }
        words.extend([program("postgres"), "-D".into(), data, "-p".into(), port.to_string()]);
        words.extend(["-c", "listen_addresses=127.0.0.1", "-c"].map(str::to_string));
        words.push(format!("unix_socket_directories={}", dir.display()));
        words.extend(OPTIONS.iter().map(|word| word.to_string()));
        let log = File::create(dir.join("log")).map_err(|error| error.to_string())?;
        let child = as_user(&words)
            .current_dir(&dir)
            .stdout(log.try_clone().map_err(|error| error.to_string())?)
            .stderr(log)
            .spawn()
            .map_err(|error| format!("postgres: {error}"))?;
        let server = Postgres { child, port, dir };
        let began = Instant::now();
        while !server.answers() {
            if began.elapsed() > PATIENCE {
                let log = std::fs::read_to_string(server.dir.join("log")).unwrap_or_default();
                return Err(format!("PostgreSQL does not answer\n{log}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    fn answers(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).is_ok()
            && self.client("psql").args(["-X", "-c", "select 1"]).output().is_ok_and(|output| output.status.success())
    }

    /// Stops it, and removes what it made.
    pub fn stop(mut self) -> Outcome<()> {
        process::signal("INT", self.child.id());
        let status = self.child.wait().map_err(|error| error.to_string())?;
        let _ = std::fs::remove_dir_all(&self.dir);
        if status.success() { Ok(()) } else { Err(format!("PostgreSQL ended with {status}")) }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            process::signal("QUIT", self.child.id());
            let _ = self.child.wait();
        }
    }
}

fn open_to_all(dir: &Path) -> Outcome<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o777)).map_err(|error| error.to_string())
}

impl Measured for Postgres {
    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.work_dir()).stdin(Stdio::null());
        for (name, value) in [("PGHOST", "127.0.0.1"), ("PGUSER", "postgres"), ("PGDATABASE", "postgres")] {
            command.env(name, value);
        }
        command.env("PGPORT", self.port.to_string()).env("PSQLRC", "/dev/null");
        command
    }

    fn processes(&self) -> Vec<Process> {
        process::members(self.child.id())
    }

    fn work_dir(&self) -> PathBuf {
        let dir = self.dir.join("work");
        let _ = std::fs::create_dir_all(&dir);
        dir
    }
}
