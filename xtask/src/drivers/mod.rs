//! Client programs of many languages, and what they do with a server: `tests/clients`.
//!
//! Each program lies in `tests/clients`, asserts what it gets, and ends with an error at the first difference. Here they are installed,
//! built, and run against a server in the models that were asked for, or against a PostgreSQL that is made for the run: what they assert is
//! PostgreSQL's behaviour, and that is how it is shown.
//!
//! | name | what runs |
//! |---|---|
//! | `psql` | psql's commands over `schema.sql`; the answers are those of `describe.out` ([`describe`]) |
//! | `dump` | `pg_dump`, `pg_dumpall` and `pg_restore` from here to PostgreSQL and back ([`dump`]) |
//! | `tpcc` | the same with the tables of TPC-C, filled by the lab ([`tpcc`]) |
//! | `psycopg`, `sqlalchemy`, `node-postgres`, `pgx`, `pgjdbc`, `rust` | programs of these drivers ([`programs`]) |
//!
//! Rules
//! 1. What was installed and built lies in the build directory, under `clients`, and is made again when a file that it was made from has
//!    changed: a second run installs nothing.
//! 2. The server encrypts, with a certificate of the run ([`keys`]); programs connect in plain, but for what they do to see that.
//! 3. A program gets the server's address in the environment, as `libpq` wants it, and a schema of its own.

mod describe;
mod dump;
mod keys;
mod peer;
mod programs;
mod tpcc;

use self::keys::Keys;
use self::peer::Peer;
use crate::args::Args;
use crate::model::{MODELS, Model, Settings};
use crate::server_under_test::Launch;
use crate::tree::{self, Profile};
use crate::{Outcome, clients};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Two models that have the least in common.
const FEW: [Model; 2] = [MODELS[5], MODELS[0]];

/// How many programs run at once: they wait for their servers much of the time, and a check has two processors.
const LANES: usize = 2;

/// Where the programs and their files lie.
fn folder() -> PathBuf {
    tree::root().join("tests/clients")
}

/// Where a server listens.
#[derive(Clone, Debug)]
pub struct Address {
    port: u16,
    database: String,
}

impl Address {
    /// A client program with the address in its environment.
    fn client(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, value) in [("PGHOST", "127.0.0.1"), ("PGUSER", "postgres"), ("PGDATABASE", &self.database)] {
            command.env(name, value);
        }
        command.env("PGPORT", self.port.to_string()).env("PGCONNECT_TIMEOUT", "10").env("PSQLRC", "/dev/null");
        // Where a program wants its connection encrypted, it says so.
        command.env("PGTZ", "UTC").env("PGSSLMODE", "disable").stdin(std::process::Stdio::null());
        command
    }
}

/// Runs a command; its output, or what it said.
fn output(command: &mut Command) -> Outcome<String> {
    let done = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match done.status.success() {
        true => Ok(text(&done.stdout)),
        false => {
            let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
            let name = command.get_program().to_string_lossy().into_owned();
            Err(format!("{name} {}: {}\n{}{}", words.join(" "), done.status, text(&done.stdout), text(&done.stderr)))
        }
    }
}

/// Runs a file of statements in psql; the first error is one.
fn load(address: &Address, file: &Path) -> Outcome<()> {
    output(address.client("psql").args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f"]).arg(file)).map(drop)
}

/// `cargo xtask check clients`: all programs in [`FEW`] models.
pub fn check() -> Outcome<()> {
    run(Args::new([]))
}

/// `cargo xtask clients [NAME…] [--all] [--model LIST] [--postgres] [--record] [--binary PATH]`.
pub fn run(mut args: Args) -> Outcome<()> {
    let models = if args.flag("--all") { MODELS.to_vec() } else { FEW.to_vec() };
    let models = args.list("--model", models)?;
    let (postgres, record) = (args.flag("--postgres"), args.flag("--record"));
    let asked = args.value("--binary")?;
    let names = args.words()?;
    let known: Vec<&str> =
        ["psql", "dump", "tpcc"].into_iter().chain(programs::ALL.iter().map(|known| known.name)).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("no client {unknown}; there are {}", known.join(", ")));
    }
    let is_chosen = |name: &&str| names.is_empty() || names.iter().any(|chosen| chosen == name);
    let chosen: Vec<&str> = known.into_iter().filter(is_chosen).collect();
    clients::ensure()?;
    let built = programs::build(&chosen)?;
    let keys = Keys::new()?;
    if postgres {
        let peer = Peer::start(Some(&keys))?;
        let run =
            Run { built: &built, keys: &keys, address: peer.address(), label: "PostgreSQL".to_owned(), own: None };
        return run.all(&chosen, record);
    }
    let binary = tree::binary(asked, Profile::Dev)?;
    for (at, model) in models.into_iter().enumerate() {
        let launch = Launch { program: &binary, subcommand: "serve", settings: Settings::of(model), cpus: None };
        let server = keys::serve(&launch, &keys)?;
        let address = Address { port: server.port(), database: "postgres".to_owned() };
        let run = Run { built: &built, keys: &keys, address, label: model.to_string(), own: Some(&launch) };
        // Unless it was asked for, the longest runs in one model alone.
        let is_due = |name: &&str| at == 0 || !names.is_empty() || *name != "tpcc";
        let due: Vec<&str> = chosen.iter().copied().filter(is_due).collect();
        run.all(&due, false).map_err(|text| format!("{text}\nrepeat: cargo xtask clients --model {model}"))?;
        server.stop()?;
    }
    Ok(())
}

/// Programs against one server.
struct Run<'a> {
    built: &'a programs::Built,
    keys: &'a Keys,
    address: Address,
    label: String,
    /// How servers like it are started; none where it is PostgreSQL.
    own: Option<&'a Launch<'a>>,
}

impl Run<'_> {
    /// Everything that was chosen; all that fail are told.
    fn all(&self, chosen: &[&str], record: bool) -> Outcome<()> {
        // psql lists everything that is there, so it has the server for itself. The others have schemas of their own.
        let (alone, together): (Vec<&str>, Vec<&str>) = chosen.iter().partition(|name| **name == "psql");
        let mut told: Vec<String> = alone.iter().filter_map(|name| self.one(name, record).err()).collect();
        let next = AtomicUsize::new(0);
        let walk = || -> Vec<String> {
            let taken = std::iter::from_fn(|| together.get(next.fetch_add(1, Ordering::Relaxed)));
            taken.filter_map(|name| self.one(name, record).err()).collect()
        };
        std::thread::scope(|scope| {
            let walkers = [(); LANES].map(|()| scope.spawn(walk));
            for walker in walkers {
                told.extend(walker.join().unwrap_or_else(|_| vec!["a program's check panicked".to_owned()]));
            }
        });
        match told.is_empty() {
            true => Ok(()),
            false => {
                Err(format!("{} of {} clients fail in {}:\n{}", told.len(), chosen.len(), self.label, told.join("\n")))
            }
        }
    }

    fn one(&self, name: &str, record: bool) -> Outcome<()> {
        let began = Instant::now();
        let told = match (name, self.own) {
            ("psql", _) => self.keys.ask_psql(&self.address).and_then(|()| describe::run(&self.address, record)),
            ("dump", Some(launch)) => dump::run(launch),
            ("tpcc", Some(launch)) => tpcc::run(launch),
            // PostgreSQL's dump of its own database shows nothing.
            ("dump" | "tpcc", None) => return Ok(()),
            _ => programs::run(name, self.built, &self.address, self.keys),
        };
        let told = told.map_err(|text| format!("{name}: {text}"))?;
        println!("clients {name:<14} {:<18} ok, {told} ({:.1} s)", self.label, began.elapsed().as_secs_f64());
        Ok(())
    }
}
