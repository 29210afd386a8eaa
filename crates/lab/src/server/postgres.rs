//! PostgreSQL: the distribution's, or one that was unpacked for the lab.
//!
//! It is looked for in `/usr/lib/postgresql/MAJOR`, then in `postgresql-MAJOR` below `$GEARBOX_LAB_PEERS` and below a folder
//! `peers` beside or above the lab's program (`target/peers`). There are no Unix-domain sockets; their names may not be
//! long, and nobody uses them. Autovacuum stays on, page checksums are on in every version, as in the other products.

use super::running::data_of;
use super::{Equal, Home, Installed, Launch, ask, first_file, pairs};
use crate::address::Wire;
use crate::error;
use base::Result;
use rustix::process::Signal;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Postgres {
    /// The folder with `bin`, `lib` and `share` in it.
    root: PathBuf,
    version: String,
}

/// Looks for a major version.
pub(super) fn find(major: u32) -> Result<Postgres> {
    let mut roots = vec![PathBuf::from(format!("/usr/lib/postgresql/{major}"))];
    roots.extend(peers().into_iter().map(|folder| folder.join(format!("postgresql-{major}"))));
    let Some(program) = first_file(roots.iter().map(|root| root.join("bin/postgres"))) else {
        return Err(error::server(format!("PostgreSQL {major} is not installed")).hint(format!(
            "Install it (apt-get install postgresql-{major}), or run `cargo xtask lab`, which unpacks PostgreSQL 18."
        )));
    };
    let root = program.ancestors().nth(2).unwrap_or(Path::new("/")).to_path_buf();
    // postgres (PostgreSQL) 15.14 (Debian …)
    let text = ask(&program, "--version", &libraries(&root))?;
    let version = text.split_whitespace().nth(2).unwrap_or_default().to_string();
    Ok(Postgres { root, version })
}

/// The major versions that [`find`] would find, in their order.
pub fn installed() -> Vec<u32> {
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>()
    };
    let mut majors: Vec<u32> =
        names(Path::new("/usr/lib/postgresql")).iter().filter_map(|name| name.parse().ok()).collect();
    for folder in peers() {
        majors.extend(names(&folder).iter().filter_map(|name| name.strip_prefix("postgresql-")?.parse::<u32>().ok()));
    }
    majors.sort_unstable();
    majors.dedup();
    majors.retain(|major| find(*major).is_ok());
    majors
}

/// Folders in which servers may have been unpacked for the lab.
fn peers() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::var_os("GEARBOX_LAB_PEERS").map(PathBuf::from).into_iter().collect();
    if let Ok(program) = std::env::current_exe() {
        folders.extend(program.ancestors().skip(1).take(3).map(|folder| folder.join("peers")));
    }
    folders
}

/// One that was unpacked brings its libraries along.
fn libraries(root: &Path) -> Vec<(String, String)> {
    let unpacked = !root.starts_with("/usr");
    unpacked.then(|| ("LD_LIBRARY_PATH".to_string(), root.join("lib").display().to_string())).into_iter().collect()
}

impl Postgres {
    /// The folder in which the servers' user can run it.
    fn root(&self, home: &Home) -> Result<PathBuf> {
        let program = home.reachable(&self.root, &self.root.join("bin/postgres"))?;
        Ok(program.ancestors().nth(2).unwrap_or(Path::new("/")).to_path_buf())
    }
}

impl Installed for Postgres {
    fn product(&self) -> &'static str {
        "PostgreSQL"
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn settings(&self, equal: &Equal) -> Vec<(String, String)> {
        pairs([
            ("shared_buffers", &format!("{}MB", equal.buffers_mib)),
            ("max_connections", &equal.connections.to_string()),
            // As this server has it, by its default: what the machine grants.
            ("huge_pages", "try"),
            ("fsync", "on"),
            ("synchronous_commit", "on"),
            ("full_page_writes", "on"),
            ("wal_level", "minimal"),
            ("max_wal_senders", "0"),
            ("max_wal_size", "1GB"),
            ("checkpoint_timeout", "5min"),
            ("autovacuum", "on"),
        ])
    }

    fn make(&self, home: &Home, place: &Path) -> Result<()> {
        let root = self.root(home)?;
        let mut words = vec![root.join("bin/initdb").display().to_string(), "-D".into(), data_of(place)];
        let options =
            ["-A", "trust", "-U", "postgres", "--locale=C", "--encoding=UTF8", "--data-checksums", "--no-sync"];
        words.extend(options.map(str::to_string));
        home.run(place, &words, &libraries(&root)).map(drop)
    }

    fn launch(&self, home: &Home, place: &Path, port: u16, settings: &[(String, String)]) -> Result<Launch> {
        let root = self.root(home)?;
        let mut words = vec![root.join("bin/postgres").display().to_string(), "-D".into(), data_of(place)];
        words.extend(["-p".to_string(), port.to_string()]);
        let where_to_listen = pairs([("listen_addresses", "127.0.0.1"), ("unix_socket_directories", "")]);
        for (name, value) in where_to_listen.iter().chain(settings) {
            words.extend(["-c".into(), format!("{name}={value}")]);
        }
        Ok(Launch { words, environment: libraries(&root), stop: Signal::INT, abort: Signal::QUIT })
    }

    fn account(&self) -> (Wire, &'static str, &'static str) {
        (Wire::Postgres, "postgres", "postgres")
    }
}
