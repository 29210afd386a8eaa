//! The programs of drivers: how each is installed and built, and how it is run.
//!
//! | name | made of | by |
//! |---|---|---|
//! | `psycopg`, `sqlalchemy` | `python/requirements.txt` | `python3 -m venv`, `pip` |
//! | `node-postgres` | `node/package-lock.json` | `npm ci` |
//! | `pgx` | `go/go.sum` | `go build` |
//! | `pgjdbc` | `java/pom.xml` | `mvn dependency:copy-dependencies`, `javac` |
//! | `rust` | `rust/Cargo.lock` | `cargo build` |

use super::keys::Keys;
use super::{Address, folder, output};
use crate::{Outcome, tree};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A program.
pub struct Program {
    /// Its name on the command line.
    pub name: &'static str,
    /// The tool without which it cannot be built, with Debian's package.
    tool: (&'static str, &'static str),
    /// Its folder in `tests/clients`.
    folder: &'static str,
    /// Whether its build takes longer than those of all others together.
    is_slow: bool,
    /// The files that it is made from; a change makes it anew.
    made_from: &'static [&'static str],
    build: fn(&Path, &Path) -> Outcome<()>,
    command: fn(&Path, &Path) -> Vec<PathBuf>,
}

/// All of them, the quickest to build first.
pub const ALL: &[Program] = &[
    Program {
        name: "psycopg",
        tool: ("python3", "python3-venv"),
        folder: "python",
        is_slow: false,
        made_from: &["requirements.txt"],
        build: python,
        command: |from, made| vec![made.join("venv/bin/python"), from.join("psycopg_client.py")],
    },
    Program {
        name: "sqlalchemy",
        tool: ("python3", "python3-venv"),
        folder: "python",
        is_slow: false,
        made_from: &["requirements.txt"],
        build: python,
        command: |from, made| vec![made.join("venv/bin/python"), from.join("sqlalchemy_client.py")],
    },
    Program {
        name: "node-postgres",
        tool: ("npm", "npm"),
        folder: "node",
        is_slow: false,
        made_from: &["package.json", "package-lock.json", "client.js"],
        build: |from, made| {
            copy(from, made, &["package.json", "package-lock.json", "client.js"])?;
            fetched(Command::new("npm").args(["ci", "--silent"]).current_dir(made))
        },
        command: |_, made| vec!["node".into(), made.join("client.js")],
    },
    Program {
        name: "pgx",
        tool: ("go", "golang-go"),
        folder: "go",
        is_slow: false,
        made_from: &["go.mod", "go.sum", "main.go"],
        build: |from, made| {
            fetched(Command::new("go").args(["mod", "download"]).current_dir(from))?;
            output(Command::new("go").args(["build", "-o"]).arg(made.join("client")).arg(".").current_dir(from))
                .map(drop)
        },
        command: |_, made| vec![made.join("client")],
    },
    Program {
        name: "pgjdbc",
        tool: ("mvn", "maven"),
        folder: "java",
        is_slow: false,
        made_from: &["pom.xml", "Client.java"],
        build: |from, made| {
            let libraries = made.join("lib");
            let mut maven = Command::new("mvn");
            maven.args(["-q", "-B", "-f"]).arg(from.join("pom.xml")).arg("dependency:copy-dependencies");
            fetched(maven.arg(format!("-DoutputDirectory={}", libraries.display())))?;
            let mut compiler = Command::new("javac");
            compiler.arg("-cp").arg(libraries.join("*")).arg("-d").arg(made.join("classes"));
            output(compiler.arg(from.join("Client.java"))).map(drop)
        },
        command: |_, made| {
            let classes = format!("{}:{}/*", made.join("classes").display(), made.join("lib").display());
            vec!["java".into(), "-cp".into(), classes.into(), "Client".into()]
        },
    },
    Program {
        name: "rust",
        tool: ("cargo", "cargo"),
        folder: "rust",
        is_slow: true,
        made_from: &["Cargo.toml", "Cargo.lock", "src/main.rs", "src/tokio_postgres_client.rs", "src/sqlx_client.rs"],
        build: |from, made| {
            let cargo = || Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
            fetched(cargo().args(["fetch", "--locked", "--quiet", "--manifest-path"]).arg(from.join("Cargo.toml")))?;
            let mut cargo = cargo();
            cargo.args(["build", "--locked", "--quiet", "--manifest-path"]).arg(from.join("Cargo.toml"));
            output(cargo.arg("--target-dir").arg(made.join("target"))).map(drop)
        },
        command: |_, made| vec![made.join("target/debug/client")],
    },
];

fn python(from: &Path, made: &Path) -> Outcome<()> {
    output(Command::new("python3").args(["-m", "venv"]).arg(made.join("venv")))?;
    let mut pip = Command::new(made.join("venv/bin/pip"));
    fetched(pip.args(["install", "--quiet", "--disable-pip-version-check", "-r"]).arg(from.join("requirements.txt")))
}

/// Runs a command that gets something from a registry: three times, because registries are now and then not there.
fn fetched(command: &mut Command) -> Outcome<()> {
    let mut last = String::new();
    for pause in [0, 2, 10] {
        std::thread::sleep(Duration::from_secs(pause));
        match output(command) {
            Ok(_) => return Ok(()),
            Err(text) => last = text,
        }
    }
    Err(format!("its registry did not give what is wanted, three times:\n{last}"))
}

fn copy(from: &Path, to: &Path, names: &[&str]) -> Outcome<()> {
    for name in names {
        std::fs::copy(from.join(name), to.join(name)).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

/// Where what was built lies.
pub struct Built(PathBuf);

/// Installs and builds what is missing of some programs, the slow one beside the others.
pub fn build(names: &[&str]) -> Outcome<Built> {
    let built = Built(tree::target_dir().join("clients"));
    let wanted = |program: &&Program| names.contains(&program.name);
    let (slow, quick): (Vec<&Program>, Vec<&Program>) = ALL.iter().filter(wanted).partition(|program| program.is_slow);
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| slow.iter().try_for_each(|program| built.ensure(program)));
        let first = quick.iter().try_for_each(|program| built.ensure(program));
        first.and(beside.join().unwrap_or_else(|_| Err("a build panicked".to_owned())))
    })?;
    Ok(built)
}

impl Built {
    /// Installs and builds a program, unless what it is made from is as it was the last time.
    fn ensure(&self, program: &Program) -> Outcome<()> {
        let (from, made) = (folder().join(program.folder), self.0.join(program.folder));
        let mut hasher = DefaultHasher::new();
        for name in program.made_from {
            tree::read(&from.join(name))?.hash(&mut hasher);
        }
        let (mark, wanted) = (made.join("built"), format!("{:016x}", hasher.finish()));
        if std::fs::read_to_string(&mark).is_ok_and(|text| text == wanted) {
            return Ok(());
        }
        let (tool, package) = program.tool;
        let version = if tool == "go" { "version" } else { "--version" };
        if output(Command::new(tool).arg(version)).is_err() {
            return Err(format!("{} needs {tool}; as root: apt-get install {package}", program.name));
        }
        let began = Instant::now();
        std::fs::create_dir_all(&made).map_err(|error| format!("{}: {error}", made.display()))?;
        (program.build)(&from, &made).map_err(|text| format!("{}: {text}", program.name))?;
        println!("clients {:<14} installed and built ({:.1} s)", program.name, began.elapsed().as_secs_f64());
        tree::write(&mark, &wanted)
    }
}

/// Runs a program; what it said at its end.
pub fn run(name: &str, built: &Built, address: &Address, keys: &Keys) -> Outcome<String> {
    let program = ALL.iter().find(|program| program.name == name).ok_or(format!("no client {name}"))?;
    let words = (program.command)(&folder().join(program.folder), &built.0.join(program.folder));
    let told = output(address.client(&words[0]).args(&words[1..]).envs(keys.environment()))?;
    let last = told.lines().last().unwrap_or_default();
    // A program that checks nothing has failed, whatever its status.
    let count =
        last.rsplit(": ").next().and_then(|text| text.strip_suffix(" checks")).and_then(|text| text.parse().ok());
    match count {
        Some(0_u32) | None => Err(format!("{name} says nothing of what it checked: {told}")),
        Some(count) => Ok(format!("{count} checks")),
    }
}
