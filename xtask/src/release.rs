//! `cargo xtask release`: the program, optimised for what it was seen to do.
//!
//! ```text
//! build:   gearbox with counters of what it runs     -> target/training/release/gearbox
//! train:   the lab's loads, each for some seconds    -> /tmp/gearbox-training/*.profraw
//! build:   gearbox, for those counts                 -> target/trained/release/gearbox
//! ```
//!
//! The compiler learns which branches are taken and which functions are hot: what is not needed moves out of the way of what is. Of a
//! server with hundreds of sessions, whose code and data no cache holds from one request to the next, this is worth more than of most
//! programs.
//!
//! Rules
//! 1. It is trained by the lab's loads, in two models that have little in common.
//! 2. Only servers count: the lab's own work in making rows is more than all of theirs.
//! 3. The counts belong to these sources and this compiler. They are made anew each time, and not kept.

use crate::args::Args;
use crate::{Outcome, process, tree};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The loads; each is an experiment of the lab with its words.
const LOADS: [&[&str]; 7] = [
    &["point-select", "--points", "8"],
    &["simple-select", "--points", "8"],
    &["tpcb", "--points", "8"],
    &["tpcc", "--points", "8", "--scale", "1"],
    &["tpcc-procedures", "--points", "8", "--scale", "1"],
    &["load", "--workload", "key-value"],
    &["load", "--workload", "scan"],
];
/// The models that they run in.
const MODELS: &str = "thread/fiber,process/shared";
/// Seconds of each.
const SECONDS: &str = "3";

/// Runs the command.
pub fn run(args: Args) -> Outcome<()> {
    args.done()?;
    let tool = merging_tool()?;
    let dir = tree::target_dir().join("training");
    // The servers of root's lab are nobody's, who does not get everywhere. The name is a flag of the build, and the same each time.
    let counts = std::env::temp_dir().join("gearbox-training");
    make_anew(&counts)?;
    let generate = format!("-Cprofile-generate={}", counts.display());
    let program = tree::release_with(&[&generate, "--cfg", "gearbox_training"], &dir)?;
    // The build's own programs have counted too.
    make_anew(&counts)?;
    let scratch = tree::scratch("training")?;
    for load in LOADS {
        train(&program, load, &scratch)?;
    }
    let merged = dir.join("merged.profdata");
    merge(&tool, &counts, &merged)?;
    for used in [&counts, &scratch] {
        std::fs::remove_dir_all(used).map_err(|error| format!("{}: {error}", used.display()))?;
    }
    let uses = format!("-Cprofile-use={}", merged.display());
    let binary = tree::release_with(&[&uses], &tree::target_dir().join("trained"))?;
    println!("xtask: {}", binary.display());
    Ok(())
}

/// Makes an empty directory in which the lab's servers may write, whoever runs them.
fn make_anew(dir: &Path) -> Outcome<()> {
    let failed = |error: std::io::Error| format!("{}: {error}", dir.display());
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => std::fs::create_dir_all(dir).map_err(failed)?,
    }
    match process::is_root() {
        true => std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o777)).map_err(failed),
        false => Ok(()),
    }
}

/// One load. Servers write where the build says; the lab, which has an environment that they have not, to a file that nobody reads.
fn train(program: &Path, load: &[&str], scratch: &Path) -> Outcome<()> {
    println!("xtask: training: {}", load.join(" "));
    let status = Command::new(program)
        .arg("lab")
        .args(load)
        .args(["--variants", MODELS, "--layouts", "free", "--rounds", "1", "--seconds", SECONDS, "--out"])
        .arg(scratch)
        .current_dir(tree::root())
        .env("LLVM_PROFILE_FILE", scratch.join("lab.profraw"))
        .env("GEARBOX_LAB_PEERS", scratch.join("no-peers"))
        .status()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    if status.success() { Ok(()) } else { Err(format!("the lab ended with {status}; see {}", scratch.display())) }
}

fn merge(tool: &Path, counts: &Path, merged: &Path) -> Outcome<()> {
    let failed = |error: std::io::Error| format!("{}: {error}", counts.display());
    let files: Vec<PathBuf> = std::fs::read_dir(counts)
        .map_err(failed)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "profraw"))
        .collect();
    if files.is_empty() {
        return Err(format!("{}: the servers have left no counts", counts.display()));
    }
    let status = Command::new(tool)
        .args(["merge", "-o"])
        .arg(merged)
        .args(&files)
        .status()
        .map_err(|error| format!("{}: {error}", tool.display()))?;
    if status.success() { Ok(()) } else { Err(format!("llvm-profdata ended with {status}")) }
}

/// The compiler's own `llvm-profdata`: that of another version does not read its counts. It comes with a component of the toolchain.
fn merging_tool() -> Outcome<PathBuf> {
    let say = |words: &[&str]| -> Outcome<String> {
        let output = Command::new("rustc").args(words).current_dir(tree::root()).output();
        let output = output.map_err(|error| format!("rustc: {error}"))?;
        if !output.status.success() {
            return Err(format!("rustc {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let version = say(&["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc does not name its host")?;
    let tool = Path::new(&say(&["--print", "sysroot"])?).join("lib/rustlib").join(host).join("bin/llvm-profdata");
    if !tool.exists() {
        println!("xtask: rustup component add llvm-tools");
        let _ = Command::new("rustup").args(["component", "add", "llvm-tools"]).current_dir(tree::root()).status();
    }
    match tool.exists() {
        true => Ok(tool),
        false => Err(format!("{} is missing: rustup component add llvm-tools", tool.display())),
    }
}
