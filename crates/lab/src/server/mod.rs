//! What is measured: found on this machine, given a directory, started, stopped.
//!
//! ```text
//!   Subject ──find──> Found ──prepare──> Prepared ──start──> Running ──stop──> nobody is left
//!   what is wanted    programs, version  data directory  └──────── as often as wanted ──┘
//! ```
//!
//! | file | what is in it |
//! |---|---|
//! | `gearbox` | this project's server, and its ceiling `gearbox limit` |
//! | `postgres` | PostgreSQL: the system's, or one that was unpacked for the lab |
//! | `mariadb` | MariaDB with either of its ways to handle threads |
//! | `home` | the directory that all of them live in, and the user they run as |
//! | `running` | starting, watching, stopping; the same for all |
//! | `leftovers` | shared memory that a killed server leaves |
//! | `fio` | the disk without a server |
//!
//! Rules
//! 1. All servers get the same memory for pages, the same number of connections, and the same durability: a commit is on the disk
//!    before it is answered, and a torn page is repaired. None keeps a log for replicas.
//! 2. They run as an unprivileged user, listen on 127.0.0.1 only, and ask for no password.
//! 3. A server depends on its options alone: no configuration file and no variable of the environment reaches it.
//! 4. Whatever was chosen is in the record, [`Found::variant`].
//! 5. A peer that is not installed is an error with a hint, and no reason to measure nothing.

use crate::address::{Address, Wire};
use crate::error;
use crate::record;
use base::Result;
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub mod fio;
mod gearbox;
pub mod home;
mod leftovers;
mod mariadb;
mod postgres;
pub mod running;

pub use home::Home;
pub use postgres::installed as installed_postgres;
pub use running::{Prepared, Running};

/// Something that can be measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// Its name in the run.
    pub name: String,
    /// What it is.
    pub product: Product,
    /// What it is told beside what all are told, by the product's own names. A name from rule 1 replaces that.
    pub settings: Vec<(String, String)>,
}

/// The products that the lab can start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Product {
    /// `gearbox serve` in one of its models.
    Gearbox {
        /// `process` or `thread`.
        engine: String,
        /// `dedicated`, `shared` or `fiber`.
        sessions: String,
    },
    /// `gearbox limit`, which answers without doing anything.
    GearboxLimit {
        /// `process` or `thread`.
        engine: String,
        /// `dedicated`, `shared` or `fiber`.
        sessions: String,
    },
    /// The bare mechanism of a model, without a server in it ([`crate::bare`]).
    Bare {
        /// `process` or `thread`.
        engine: String,
        /// `dedicated`, `shared` or `fiber`.
        sessions: String,
    },
    /// PostgreSQL.
    Postgres {
        /// Its major version.
        major: u32,
    },
    /// MariaDB.
    MariaDb {
        /// `one-thread-per-connection` or `pool-of-threads`.
        thread_handling: String,
    },
    /// A server that somebody else started and stops. What it costs is not known.
    External(Address),
}

/// What all servers are given alike.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Equal {
    /// Memory for pages: `shared_buffers`, `innodb_buffer_pool_size`. More than four times the largest table of the experiments: a scan of a larger one
    /// leaves nothing in the pool, here as in PostgreSQL, so the scan that warms a server would warm only those that read through the
    /// system's cache.
    pub buffers_mib: u32,
    /// How many connections a server has to accept.
    pub connections: u32,
    /// The program `gearbox`; none if it is this one.
    pub gearbox: Option<PathBuf>,
}

impl Default for Equal {
    fn default() -> Equal {
        Equal { buffers_mib: 1024, connections: 1000, gearbox: None }
    }
}

/// A subject whose programs are there.
#[derive(Clone, Debug)]
pub struct Found {
    subject: Subject,
    equal: Equal,
    installed: Arc<dyn Installed>,
}

/// What a product's file knows about it.
trait Installed: Send + Sync + Debug {
    /// Its name for people.
    fn product(&self) -> &'static str;

    /// Its version, as it says itself.
    fn version(&self) -> &str;

    /// What it is told, by its own names, the subject's settings apart.
    fn settings(&self, equal: &Equal) -> Vec<(String, String)>;

    /// Makes a data directory. May leave the directory to the first start.
    fn make(&self, home: &Home, place: &Path) -> Result<()>;

    /// How to run it with these settings.
    fn launch(&self, home: &Home, place: &Path, port: u16, settings: &[(String, String)]) -> Result<Launch>;

    /// User and database.
    fn account(&self) -> (Wire, &'static str, &'static str);
}

/// A server's command line and what belongs to it.
struct Launch {
    words: Vec<String>,
    environment: Vec<(String, String)>,
    /// Asks for a clean stop that does not wait for clients; sent too when the lab dies.
    stop: rustix::process::Signal,
    /// Asks for an end at once, with shared memory given back.
    abort: rustix::process::Signal,
}

impl Subject {
    /// Looks for its programs.
    ///
    /// # Errors
    /// `08006` where it is not installed, with how to get it; `22023` where there is no such thing.
    pub fn find(&self, equal: &Equal) -> Result<Found> {
        let installed: Arc<dyn Installed> = match &self.product {
            Product::Gearbox { engine, sessions } => Arc::new(gearbox::find(equal, "serve", engine, sessions)?),
            Product::GearboxLimit { engine, sessions } => Arc::new(gearbox::find(equal, "limit", engine, sessions)?),
            Product::Bare { engine, sessions } => Arc::new(gearbox::find(equal, "bare", engine, sessions)?),
            Product::Postgres { major } => Arc::new(postgres::find(*major)?),
            Product::MariaDb { thread_handling } => Arc::new(mariadb::find(thread_handling)?),
            Product::External(address) => Arc::new(External(address.clone())),
        };
        Ok(Found { subject: self.clone(), equal: equal.clone(), installed })
    }
}

impl Found {
    /// What is kept of it in a run's plan.
    pub fn variant(&self) -> record::Variant {
        record::Variant {
            name: self.subject.name.clone(),
            product: self.installed.product().to_string(),
            version: self.installed.version().to_string(),
            settings: self.settings().into_iter().collect(),
        }
    }

    /// All settings: what all are told, then what this subject is told instead or besides.
    fn settings(&self) -> Vec<(String, String)> {
        let plain = |name: &str| name.replace('-', "_");
        let own = &self.subject.settings;
        let mut all = self.installed.settings(&self.equal);
        all.retain(|(name, _)| !own.iter().any(|(other, _)| plain(name) == plain(other)));
        all.extend(own.iter().cloned());
        all
    }

    /// Gives it a directory below `home`, with empty data in it.
    ///
    /// # Errors
    /// What the product's own program said, or the system about files.
    pub fn prepare(&self, home: &Arc<Home>) -> Result<Prepared> {
        Prepared::new(self.clone(), home)
    }
}

/// A server of somebody else.
#[derive(Debug)]
struct External(Address);

impl Installed for External {
    fn product(&self) -> &'static str {
        match self.0.wire {
            Wire::Postgres => "external, PostgreSQL's protocol",
            Wire::Mysql => "external, MySQL's protocol",
        }
    }

    fn version(&self) -> &str {
        ""
    }

    fn settings(&self, _equal: &Equal) -> Vec<(String, String)> {
        vec![("address".into(), self.0.socket.to_string())]
    }

    fn make(&self, _home: &Home, _place: &Path) -> Result<()> {
        Ok(())
    }

    fn launch(&self, _: &Home, _: &Path, _: u16, _: &[(String, String)]) -> Result<Launch> {
        Err(error::usage("a server of somebody else is not started by the lab"))
    }

    fn account(&self) -> (Wire, &'static str, &'static str) {
        (self.0.wire, "", "")
    }
}

/// Where a server of the lab's listens.
fn local(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

/// The first of these places where there is a file.
fn first_file(places: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    places.into_iter().find(|path| path.is_file())
}

/// A program of the system.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // The path of an ordinary user often lacks the folders with servers in them.
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/bin", "/usr/local/bin"].map(PathBuf::from));
    first_file(folders.map(|folder| folder.join(name)))
}

/// What a program writes when it is asked for its version.
fn ask(program: &Path, word: &str, environment: &[(String, String)]) -> Result<String> {
    let mut command = std::process::Command::new(program);
    command.arg(word).envs(environment.iter().cloned()).stdin(std::process::Stdio::null());
    let output = command.output().map_err(|error| error::file(program, error))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).trim().to_string();
        return Err(error::file(program, format!("{word}: {}", output.status)).detail(text));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Settings as pairs of texts.
fn pairs<const N: usize>(settings: [(&str, &str); N]) -> Vec<(String, String)> {
    settings.map(|(name, value)| (name.to_string(), value.to_string())).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_s_own_settings_replace_what_all_are_told() {
        let address =
            Address { wire: Wire::Postgres, socket: local(1), user: "u".into(), database: "d".into(), password: None };
        let mut subject = Subject { name: "v".into(), product: Product::External(address), settings: Vec::new() };
        let variant = |subject: &Subject| subject.find(&Equal::default()).unwrap().variant().settings;
        assert_eq!(variant(&subject)["address"], "127.0.0.1:1");
        subject.settings = pairs([("address", "here"), ("more", "1")]);
        assert_eq!(variant(&subject).into_iter().collect::<Vec<_>>(), pairs([("address", "here"), ("more", "1")]));
    }

    #[test]
    fn what_is_not_installed_says_how_to_get_it() {
        let product = Product::Postgres { major: 3 };
        let error = Subject { name: String::new(), product, settings: Vec::new() }.find(&Equal::default()).unwrap_err();
        assert!(error.message().contains("PostgreSQL 3"), "{error:?}");
        assert!(error.hint_text().is_some_and(|hint| hint.contains("apt-get install postgresql-3")), "{error:?}");
        let product = Product::MariaDb { thread_handling: "none".into() };
        let error = Subject { name: String::new(), product, settings: Vec::new() }.find(&Equal::default()).unwrap_err();
        assert!(error.message().contains("\"none\""), "{error:?}");
    }
}
