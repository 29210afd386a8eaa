//! Where things lie: the repository, the build directory, scratch space.

use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The repository's top folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ lies in the repository").to_path_buf()
}

/// Cargo's build directory.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// A cargo command in the repository.
pub fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.args(words).current_dir(root());
    command
}

/// How the server's binary is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// As the tests have it: quick to build, and with assertions.
    Dev,
    /// As users have it.
    Release,
}

/// The server's binary: the one that was asked for, or this tree's.
pub fn binary(asked: Option<PathBuf>, profile: Profile) -> Outcome<PathBuf> {
    if let Some(path) = asked {
        return path.canonicalize().map_err(|error| format!("--binary {}: {error}", path.display()));
    }
    let (words, folder) = match profile {
        // Exactly what `cargo test --workspace` builds: alone, the server's dependencies would have other features, and be built again.
        Profile::Dev => (vec!["build", "--workspace", "--bins", "--tests"], "debug"),
        Profile::Release => (vec!["build", "--package", "server", "--bin", "gearbox", "--release"], "release"),
    };
    let mut build = cargo(&words);
    if let Some(commit) = commit().filter(|_| profile == Profile::Release) {
        // What is measured says what it was built from.
        build.env("GEARBOX_COMMIT", commit);
    }
    run(build, &format!("cargo {}", words.join(" ")))?;
    Ok(target_dir().join(folder).join("gearbox"))
}

/// The server's binary, built for release in a directory of its own with flags for the compiler.
pub fn release_with(flags: &[&str], dir: &Path) -> Outcome<PathBuf> {
    let mut build = cargo(&["build", "--package", "server", "--bin", "gearbox", "--release"]);
    // A flag may have a space in it: they are taken apart at this character.
    build.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")).env("CARGO_TARGET_DIR", dir);
    if let Some(commit) = commit() {
        build.env("GEARBOX_COMMIT", commit);
    }
    run(build, "cargo xtask release")?;
    Ok(dir.join("release").join("gearbox"))
}

fn run(mut build: Command, repeat: &str) -> Outcome<()> {
    let status = build.status().map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the build failed; repeat: {repeat}")) }
}

/// The commit of the tree, with a `+` where files differ from it; none where there is no history.
fn commit() -> Option<String> {
    let git = |words: &[&str]| -> Option<String> {
        let output = Command::new("git").args(words).current_dir(root()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let hash = git(&["rev-parse", "--short=10", "HEAD"])?;
    // Records and reports are what the lab's runs change.
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).unwrap_or_default();
    Some(if changed.lines().any(|line| !line.contains("docs/results/")) { format!("{hash}+") } else { hash })
}

/// A new empty directory under the system's temporary one.
pub fn scratch(name: &str) -> Outcome<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("gearbox-xtask-{}-{number}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    Ok(dir)
}

/// A file as text.
pub fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file, folders included.
pub fn write(path: &Path, text: &str) -> Outcome<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
