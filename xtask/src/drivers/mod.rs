//! Client programs of many languages, and what they do with a server: `tests/clients`.
//!
//! Each program lies in `tests/clients`, asserts what it gets, and ends with an error at the first difference. Here they are installed,
//! built, and run against a server in the models that were asked for, or against a PostgreSQL that runs already: what they assert is
//! PostgreSQL's behaviour, and that is how it is shown.
//!
//! | name | what runs |
//! |---|---|
//! | `psql` | psql's commands over `schema.sql`; the answers are those of `describe.out` ([`describe`]) |
//! | `dump` | `pg_dump`, `pg_dumpall` and `pg_restore` from here to PostgreSQL and back ([`dump`]) |
//! | `psycopg`, `sqlalchemy`, `node-postgres`, `pgx`, `pgjdbc`, `rust` | programs of these drivers ([`programs`]) |
//!
//! Rules
//! 1. What was installed and built lies in the build directory, under `clients`, and is made again when a file that it was made from has
//!    changed: a second run installs nothing.
//! 2. A program gets the server's address in the environment, as `libpq` wants it, and a schema of its own.

mod describe;
mod dump;
mod peer;
mod programs;

use crate::args::Args;
use crate::model::{MODELS, Model, Settings};
use crate::server_under_test::{Launch, ServerUnderTest};
use crate::tree::{self, Profile};
use crate::{Outcome, clients};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Two models that have the least in common.
const FEW: [Model; 2] = [MODELS[0], MODELS[5]];

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
        command.env("PGTZ", "UTC").stdin(std::process::Stdio::null());
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

/// What a check leaves out: it takes minutes to build.
const SLOW: &str = "rust";

/// `cargo xtask clients [NAME…] [--all] [--quick] [--model LIST] [--postgres PORT] [--record] [--binary PATH]`.
pub fn run(mut args: Args) -> Outcome<()> {
    let models = if args.flag("--all") { MODELS.to_vec() } else { FEW.to_vec() };
    let models = args.list("--model", models)?;
    let quick = args.flag("--quick");
    let (postgres, record) = (args.value::<u16>("--postgres")?, args.flag("--record"));
    let asked = args.value("--binary")?;
    let names = args.words()?;
    let known: Vec<&str> = ["psql", "dump"].into_iter().chain(programs::ALL.iter().map(|known| known.name)).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("no client {unknown}; there are {}", known.join(", ")));
    }
    let is_chosen = |name: &&str| match names.is_empty() {
        true => !quick || *name != SLOW,
        false => names.iter().any(|chosen| chosen == name),
    };
    let chosen: Vec<&str> = known.into_iter().filter(is_chosen).collect();
    clients::ensure()?;
    let built = programs::build(&chosen)?;
    if let Some(port) = postgres {
        let address = Address { port, database: "postgres".to_owned() };
        return all(&chosen, &built, &address, record, "PostgreSQL", None);
    }
    let binary = tree::binary(asked, Profile::Dev)?;
    for model in models {
        let launch = Launch { program: &binary, subcommand: "serve", settings: Settings::of(model), cpus: None };
        let server = ServerUnderTest::start(&launch)?;
        let address = Address { port: server.port(), database: "postgres".to_owned() };
        all(&chosen, &built, &address, false, &model.to_string(), Some(&launch))
            .map_err(|text| format!("{text}\nrepeat: cargo xtask clients --model {model}"))?;
        server.stop()?;
    }
    Ok(())
}

/// Everything that was chosen, against one server.
fn all(
    chosen: &[&str],
    built: &programs::Built,
    address: &Address,
    record: bool,
    label: &str,
    own: Option<&Launch<'_>>,
) -> Outcome<()> {
    for name in chosen {
        let began = Instant::now();
        let told = match (*name, own) {
            ("psql", _) => describe::run(address, record)?,
            ("dump", Some(launch)) => dump::run(launch)?,
            // PostgreSQL's dump of its own database shows nothing.
            ("dump", None) => continue,
            _ => programs::run(name, built, address)?,
        };
        println!("clients {name:<14} {label:<18} ok, {told} ({:.1} s)", began.elapsed().as_secs_f64());
    }
    Ok(())
}
