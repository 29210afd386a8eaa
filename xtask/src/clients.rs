//! The client programs that the checks drive: found on the path, or installed where that is allowed.
//!
//! | program | for | Debian 12's package |
//! |---|---|---|
//! | `psql` | statements and their answers | `postgresql-client-15` |
//! | `pgbench` | loads | `postgresql-15`, which brings a server too; no cluster of it is made |
//! | `taskset`, `setsid`, `setpriv` | keeping a server on a CPU and its processes together | `util-linux` |
//! | `strace` | in which order a server writes and answers | `strace` |
//! | `perf` | the same where it writes through rings; `matrix` alone needs it | `linux-perf` |
//!
//! Rules
//! 1. Packages are installed only by root and only with `apt-get`; anyone else is told what to install.
//! 2. The programs have to be of version 15: the server reports that number, and `\d` of another version asks
//!    catalogs for other columns.

use crate::{Outcome, process};
use std::process::{Command, Stdio};

const PROGRAMS: [(&str, &str); 6] = [
    ("psql", "postgresql-client-15"),
    ("pgbench", "postgresql-15"),
    ("taskset", "util-linux"),
    ("setsid", "util-linux"),
    ("setpriv", "util-linux"),
    ("strace", "strace"),
];

/// The major version of PostgreSQL's programs that the server speaks to.
const MAJOR: &str = "15";

/// The watcher of rings, which only the matrix needs.
const PERF: [(&str, &str); 1] = [("perf", "linux-perf")];

/// Makes sure that `perf` is there.
pub fn ensure_perf() -> Outcome<()> {
    ensure_all(&PERF)
}

/// Makes sure that every program that the checks drive is there.
pub fn ensure() -> Outcome<()> {
    ensure_all(&PROGRAMS)?;
    for program in ["psql", "pgbench"] {
        let text = version(program).unwrap_or_default();
        if !is_major(&text, MAJOR) {
            return Err(format!(
                "{program} is {text:?}; PostgreSQL {MAJOR}'s is needed, from package postgresql-{MAJOR}"
            ));
        }
    }
    Ok(())
}

type Programs = [(&'static str, &'static str)];

fn ensure_all(programs: &Programs) -> Outcome<()> {
    let missing = missing(programs, |program| version(program).is_some());
    if !missing.is_empty() {
        if !process::is_root() || !installs(&missing) {
            return Err(advice(&missing));
        }
        let still = self::missing(programs, |program| version(program).is_some());
        if !still.is_empty() {
            return Err(advice(&still));
        }
    }
    Ok(())
}

fn missing(programs: &Programs, there: impl Fn(&str) -> bool) -> Vec<(&'static str, &'static str)> {
    programs.iter().copied().filter(|(program, _)| !there(program)).collect()
}

fn advice(missing: &[(&'static str, &'static str)]) -> String {
    let programs: Vec<&str> = missing.iter().map(|(program, _)| *program).collect();
    format!("missing: {}; as root: apt-get install {}", programs.join(", "), packages(missing).join(" "))
}

fn packages(missing: &[(&'static str, &'static str)]) -> Vec<&'static str> {
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn installs(missing: &[(&'static str, &'static str)]) -> bool {
    // PostgreSQL's package would make and start a cluster of its own; this file, read by its installer, says not to.
    let no_cluster = "mkdir -p /etc/postgresql-common && \
                      echo 'create_main_cluster = false' >> /etc/postgresql-common/createcluster.conf";
    if packages(missing).contains(&"postgresql-15") && !shell(no_cluster) {
        return false;
    }
    println!("installing {}", packages(missing).join(" "));
    shell("apt-get update -q")
        && shell(&format!(
            "DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends {}",
            packages(missing).join(" ")
        ))
}

fn shell(script: &str) -> bool {
    Command::new("sh").args(["-c", script]).stdin(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// What `--version` prints, or nothing where the program cannot be started.
fn version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

fn is_major(version: &str, major: &str) -> bool {
    let number = version.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    number.is_some_and(|number| number.split(['.', 'd', 'r', 'b']).next() == Some(major))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package_once() {
        let missing = missing(&PROGRAMS, |program| program == "psql" || program == "taskset");
        let text = advice(&missing);
        assert_eq!(
            text,
            "missing: pgbench, setsid, setpriv, strace; as root: apt-get install postgresql-15 strace util-linux"
        );
    }

    #[test]
    fn versions_are_told_apart() {
        assert!(is_major("psql (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15"));
        assert!(is_major("pgbench (PostgreSQL) 15devel", "15"));
        assert!(!is_major("psql (PostgreSQL) 16.2", "15"));
        assert!(!is_major("", "15"));
    }
}
