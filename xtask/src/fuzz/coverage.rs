//! What the fuzzers reach of the decoders: `cargo xtask fuzz coverage`.
//!
//! The targets are built with the compiler's counters in a build directory of their own, run, and their counts put together by the
//! toolchain's own tools. What is listed are files that decode what comes from outside ([`DECODERS`]): the rest of a crate is linked
//! with it, and not what is asked about.

use super::{CRATES, told};
use crate::{Outcome, tree};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Files and folders of each crate whose code reads bytes that it must not trust.
const DECODERS: [&str; 4] = [
    "crates/protocol/src",
    "crates/storage/src/btree/scan.rs",
    "crates/storage/src/page",
    "crates/storage/src/wal/record",
];

/// Prints a line a file: how much of it was reached.
pub fn report(time: Duration, seed: u64) -> Outcome<()> {
    let tools = tools()?;
    let target = tree::target_dir().join("coverage");
    let counts = target.join("counts");
    // Counts of earlier runs are of other code.
    let _ = std::fs::remove_dir_all(&counts);
    let mut programs = Vec::new();
    for name in CRATES {
        let instrumented = |words: &[&str]| {
            let mut command = tree::cargo(words);
            command.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", "-C instrument-coverage");
            command.env("LLVM_PROFILE_FILE", counts.join(format!("{name}-%p-%m.profraw"))).envs(told(time, seed));
            command
        };
        let built = output(&mut instrumented(&["test", "--package", name, "--test", "fuzz", "--no-run"]))?;
        let program = built.lines().find_map(|line| line.split_once("tests/fuzz.rs (")?.1.strip_suffix(')'));
        let program = program.ok_or(format!("cargo does not say where {name}'s fuzz test is\n{built}"))?;
        programs.push(tree::root().join(program));
        print!("{}", output(&mut instrumented(&["test", "--package", name, "--test", "fuzz", "--", "--nocapture"]))?);
    }
    let merged = target.join("counts.profdata");
    let mut merge = Command::new(tools.join("llvm-profdata"));
    merge.args(["merge", "--sparse", "-o"]).arg(&merged);
    for entry in std::fs::read_dir(&counts).map_err(|error| format!("{}: {error}", counts.display()))? {
        merge.arg(entry.map_err(|error| error.to_string())?.path());
    }
    output(&mut merge)?;
    let mut cover = Command::new(tools.join("llvm-cov"));
    cover.args(["export", "--summary-only", "--instr-profile"]).arg(&merged).arg(&programs[0]);
    for program in &programs[1..] {
        cover.arg("--object").arg(program);
    }
    let text = String::from_utf8(run(&mut cover)?.stdout).map_err(|error| format!("llvm-cov: {error}"))?;
    println!("{}", table(&text)?);
    Ok(())
}

/// Where the toolchain has its tools for counts.
fn tools() -> Outcome<PathBuf> {
    let said = run(Command::new("rustc").args(["--print", "target-libdir"]).current_dir(tree::root()))?;
    let lib = String::from_utf8_lossy(&said.stdout).trim().to_string();
    let tools = Path::new(&lib).parent().map(|dir| dir.join("bin")).unwrap_or_default();
    match tools.join("llvm-profdata").exists() {
        true => Ok(tools),
        false => Err("the toolchain lacks llvm-profdata; add it: rustup component add llvm-tools".into()),
    }
}

fn run(command: &mut Command) -> Outcome<std::process::Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    match output.status.success() {
        true => Ok(output),
        false => Err(format!("{name}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}

/// Everything that a command says.
fn output(command: &mut Command) -> Outcome<String> {
    let output = run(command)?;
    Ok([output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat())
}

/// A row of the report.
struct File {
    name: String,
    lines: Reached,
    functions: Reached,
}

#[derive(Clone, Copy, Default)]
struct Reached {
    count: u64,
    covered: u64,
}

impl Reached {
    fn of(summary: &serde_json::Value) -> Reached {
        let number = |name: &str| summary[name].as_u64().unwrap_or_default();
        Reached { count: number("count"), covered: number("covered") }
    }

    fn plus(self, other: Reached) -> Reached {
        Reached { count: self.count + other.count, covered: self.covered + other.covered }
    }
}

impl std::fmt::Display for Reached {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "{} of {} | {:.0} %",
            self.covered,
            self.count,
            100.0 * self.covered as f64 / self.count.max(1) as f64
        )
    }
}

/// `text` is what `llvm-cov export` says.
fn table(text: &str) -> Outcome<String> {
    let counted: serde_json::Value = serde_json::from_str(text).map_err(|error| format!("llvm-cov: {error}"))?;
    let top = tree::root();
    let mut files: Vec<File> = Vec::new();
    for file in counted["data"][0]["files"].as_array().ok_or("llvm-cov lists no files")? {
        let path = Path::new(file["filename"].as_str().unwrap_or_default());
        let name = path.strip_prefix(&top).unwrap_or(path).to_string_lossy().into_owned();
        if DECODERS.iter().any(|decoder| name.starts_with(decoder)) {
            let (lines, functions) = (&file["summary"]["lines"], &file["summary"]["functions"]);
            files.push(File { name, lines: Reached::of(lines), functions: Reached::of(functions) });
        }
    }
    if let Some(lost) = DECODERS.iter().find(|decoder| !files.iter().any(|file| file.name.starts_with(**decoder))) {
        return Err(format!("nothing is counted in {lost}"));
    }
    let all = |of: fn(&File) -> Reached| files.iter().map(of).fold(Reached::default(), Reached::plus);
    let mut rows = String::from("| file | lines | | functions | |\n|---|---:|---:|---:|---:|\n");
    for File { name, lines, functions } in &files {
        rows += &format!("| {name} | {lines} | {functions} |\n");
    }
    Ok(rows + &format!("| all | {} | {} |", all(|file| file.lines), all(|file| file.functions)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn exported(names: &[&str]) -> String {
        let summary = json!({"lines": {"count": 10, "covered": 4}, "functions": {"count": 2, "covered": 2}});
        let file = |name: &&str| json!({"filename": tree::root().join(name), "summary": summary});
        let files: Vec<_> = names.iter().map(file).collect();
        json!({"data": [{"files": files}]}).to_string()
    }

    #[test]
    fn decoders_are_listed_and_nothing_else() {
        let names = [
            "crates/protocol/src/a.rs",
            "crates/storage/src/page/b.rs",
            "crates/storage/src/btree/scan.rs",
            "crates/storage/src/wal/record/c.rs",
        ];
        let text = table(&exported(&[&names[..], &["crates/storage/src/lib.rs"]].concat())).unwrap();
        assert!(text.contains("| crates/storage/src/page/b.rs | 4 of 10 | 40 % | 2 of 2 | 100 % |"), "{text}");
        assert!(text.ends_with("| all | 16 of 40 | 40 % | 8 of 8 | 100 % |"), "{text}");
        assert!(table(&exported(&names[..3])).unwrap_err().contains("wal/record"));
    }
}
