//! `check`'s step "tests": the workspace's test programs, two at a time.
//!
//! `cargo test` runs one program after the other, and most of them wait: for servers that start, for time-outs, for flushes. So cargo
//! compiles them here and says where they are, and they run side by side, each with its output kept until it ends and then printed whole,
//! under the line that cargo would print.
//!
//! Rules
//! 1. What measures times or processors runs alone ([`ALONE`]); all else has to pass beside anything.
//! 2. After a failure no program begins; those that run are waited for.
//! 3. Programs that are known to be long begin first, so that nothing long is left for the end ([`LONG`]).

use crate::{Outcome, tree};
use serde::Deserialize;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// How many programs run at a time.
const LANES: usize = 2;

/// Package and target of what runs alone: the lab's measurements, and the kernel's proofs, which use all processors as they are.
const ALONE: &[(&str, &str)] =
    &[("lab", "null"), ("lab", "experiments"), ("lab", "pgbench"), ("lab", "driver"), ("kernel", "proof")];

/// Targets that take long, longest first.
const LONG: &[&str] =
    &["logic", "scripts", "tls", "definitions", "notifications", "ends", "servers", "device", "planted", "interrupts"];

/// A test program.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    package: String,
    target: String,
    /// What cargo calls its kind: `lib`, `bin`, `test`.
    kind: String,
    source: PathBuf,
    executable: PathBuf,
    folder: PathBuf,
}

/// Compiles and runs all of them, and the examples in documentation.
pub fn run() -> Outcome<()> {
    let programs = compile()?;
    if programs.is_empty() {
        return Err("cargo has made no test program".into());
    }
    let (alone, others): (Vec<Program>, Vec<Program>) = programs.into_iter().partition(Program::is_alone);
    in_lanes(others, LANES)?;
    in_lanes(alone, 1)?;
    let examples =
        cargo().args(["test", "--workspace", "--doc"]).status().map_err(|error| format!("cargo: {error}"))?;
    if examples.success() { Ok(()) } else { Err("examples in documentation fail: cargo test --workspace --doc".into()) }
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(tree::root()).stdin(Stdio::null());
    command
}

/// What cargo says of a finished part.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

fn compile() -> Outcome<Vec<Program>> {
    let arguments = ["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"];
    let output =
        cargo().args(arguments).stderr(Stdio::inherit()).output().map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not compile".into());
    }
    let mut programs: Vec<Program> = String::from_utf8_lossy(&output.stdout).lines().filter_map(program).collect();
    programs.sort_by_key(|program| LONG.iter().position(|name| *name == program.target).unwrap_or(LONG.len()));
    Ok(programs)
}

/// The test program that one of cargo's messages tells of.
fn program(line: &str) -> Option<Program> {
    let message: Message = serde_json::from_str(line).ok()?;
    let (target, manifest) = (message.target?, message.manifest_path?);
    let folder = manifest.parent()?.to_path_buf();
    if message.reason != "compiler-artifact" || !message.profile?.test {
        return None;
    }
    Some(Program {
        package: folder.file_name()?.to_str()?.to_string(),
        kind: target.kind.first()?.clone(),
        target: target.name,
        source: target.src_path.strip_prefix(&folder).ok()?.to_path_buf(),
        executable: message.executable?,
        folder,
    })
}

impl Program {
    fn is_alone(&self) -> bool {
        ALONE.contains(&(self.package.as_str(), self.target.as_str()))
    }

    /// What repeats it.
    fn command(&self) -> String {
        let which = match self.kind.as_str() {
            "test" => format!("--test {}", self.target),
            "bin" => format!("--bin {}", self.target),
            _ => "--lib".to_string(),
        };
        format!("cargo test -p {} {which}", self.package)
    }

    /// Runs it, and prints what it said.
    fn run(&self) -> Outcome<()> {
        let output = Command::new(&self.executable)
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", self.executable.display()))?;
        let unit = if self.kind == "test" { "" } else { "unittests " };
        print!(
            "     Running {unit}{} ({})\n{}{}",
            self.source.display(),
            self.executable.display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        if output.status.success() { Ok(()) } else { Err(format!("{}: {}", self.command(), output.status)) }
    }
}

/// Runs programs, so many at a time; the first failure ends it (rule 2).
fn in_lanes(programs: Vec<Program>, lanes: usize) -> Outcome<()> {
    let waiting = Mutex::new(VecDeque::from(programs));
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(program) = next(&waiting, &failed) {
                    if let Err(text) = program.run() {
                        failed.lock().unwrap().get_or_insert(text);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap().map_or(Ok(()), Err)
}

fn next(waiting: &Mutex<VecDeque<Program>>, failed: &Mutex<Option<String>>) -> Option<Program> {
    if failed.lock().unwrap().is_some() {
        return None;
    }
    waiting.lock().unwrap().pop_front()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(target: &str, executable: &str) -> Program {
        Program {
            package: "server".into(),
            target: target.into(),
            kind: "test".into(),
            source: format!("tests/{target}.rs").into(),
            executable: executable.into(),
            folder: "/".into(),
        }
    }

    #[test]
    fn a_message_of_a_test_program_is_told_from_others() {
        let line = |reason: &str, test: bool, executable: &str| {
            format!(
                r#"{{"reason":"{reason}","package_id":"x","manifest_path":"/w/crates/sql/Cargo.toml","target":{{"kind":["test"],
                "crate_types":["bin"],"name":"deep","src_path":"/w/crates/sql/tests/deep.rs","edition":"2024"}},
                "profile":{{"opt_level":"1","test":{test}}},"features":[],"filenames":[],"executable":{executable},"fresh":true}}"#
            )
        };
        let found = program(&line("compiler-artifact", true, r#""/w/target/debug/deps/deep-1""#)).unwrap();
        assert_eq!(found.command(), "cargo test -p sql --test deep");
        assert_eq!(found.source, PathBuf::from("tests/deep.rs"));
        assert_eq!(program(&line("compiler-artifact", false, r#""/w/target/debug/deep""#)), None);
        assert_eq!(program(&line("compiler-artifact", true, "null")), None);
        assert_eq!(program(&line("build-script-executed", true, r#""/x""#)), None);
        assert_eq!(program("not json"), None);
    }

    #[test]
    fn a_failure_is_told_with_its_command_and_nothing_begins_after_it() {
        let programs =
            vec![script("good", "/bin/true"), script("bad", "/bin/false"), script("never", "/no/such/program")];
        let text = in_lanes(programs, 1).unwrap_err();
        assert!(text.starts_with("cargo test -p server --test bad: "), "{text}");
        assert_eq!(in_lanes(vec![script("good", "/bin/true"), script("again", "/bin/true")], 2), Ok(()));
    }

    #[test]
    fn what_runs_alone_is_there() {
        for (package, target) in ALONE {
            let folder = tree::root().join("crates").join(package).join("tests");
            let places = [folder.join(format!("{target}.rs")), folder.join(target).join("main.rs")];
            assert!(places.iter().any(|place| place.exists()), "{package} has no test {target}");
        }
    }
}
