//! A PostgreSQL of our own, in a directory of its own, for as long as it is wanted: what dumps are loaded into.
//!
//! It refuses to run as root; as root it is given to the user `postgres`, whom its package has made.

use super::keys::Keys;
use super::{Address, output};
use crate::{Outcome, process, tree};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

/// Where Debian's package has its programs.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// A running PostgreSQL.
pub struct Peer {
    dir: PathBuf,
    port: u16,
}

impl Peer {
    /// Makes a cluster and starts it, with encryption where there are keys for it.
    pub fn start(keys: Option<&Keys>) -> Outcome<Peer> {
        let dir = tree::scratch("postgres")?;
        if process::is_root() {
            output(Command::new("chown").arg("postgres").arg(&dir))?;
        }
        // Free now; whoever takes it before PostgreSQL does makes the start fail, and says so.
        let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let peer = Peer { port: port.map_err(|error| error.to_string())?.port(), dir };
        let data = peer.dir.join("data").display().to_string();
        let words = ["-D", &data, "-U", "postgres", "--auth=trust", "--locale=C", "-E", "UTF8", "-N"];
        output(peer.program("initdb").args(words))?;
        let mut options = format!(
            "-c port={} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c fsync=off -c TimeZone=UTC",
            peer.port,
            peer.dir.display()
        );
        if let Some(keys) = keys {
            // Files of its own: it takes no key that belongs to somebody else.
            let (certificate, key) = (peer.dir.join("server.crt"), peer.dir.join("server.key"));
            for (from, to) in [(keys.certificate(), &certificate), (keys.key(), &key)] {
                std::fs::copy(&from, to).map_err(|error| format!("{}: {error}", from.display()))?;
                if process::is_root() {
                    output(Command::new("chown").arg("postgres").arg(to))?;
                }
            }
            let (certificate, key) = (certificate.display(), key.display());
            options += &format!(" -c ssl=on -c ssl_cert_file={certificate} -c ssl_key_file={key}");
        }
        let log = peer.dir.join("log").display().to_string();
        let words = ["-D", &data, "-w", "-l", &log, "-o", &options, "start"];
        // Its output goes to the log, or this program would wait for its end.
        let mut start = peer.program("pg_ctl");
        let status = start.args(words).stdout(std::process::Stdio::null()).status();
        match status {
            Ok(status) if status.success() => Ok(peer),
            status => Err(format!("pg_ctl start: {status:?}\n{}", std::fs::read_to_string(&log).unwrap_or_default())),
        }
    }

    fn program(&self, name: &str) -> Command {
        let path = PathBuf::from(PROGRAMS).join(name);
        let mut command = match process::is_root() {
            true => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
                command
            }
            false => Command::new(path),
        };
        command.current_dir(&self.dir).stdin(std::process::Stdio::null());
        command
    }

    /// The address of its first database.
    pub fn address(&self) -> Address {
        Address { port: self.port, database: "postgres".to_owned() }
    }

    /// The address of one of its databases, which is made.
    pub fn database(&self, name: &str) -> Outcome<Address> {
        output(self.address().client("psql").args(["-X", "-q", "-c", &format!("CREATE DATABASE {name}")]))?;
        Ok(Address { port: self.port, database: name.to_owned() })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let data = self.dir.join("data").display().to_string();
        let _ = output(self.program("pg_ctl").args(["-D", &data, "-m", "immediate", "-w", "stop"]));
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
