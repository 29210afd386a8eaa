//! The rules of the tree that no compiler knows, checked by reading the source.
//!
//! | rule | module | says |
//! |---|---|---|
//! | `outside-kernel` | [`words`] | above `kernel` nobody names threads, blocking locks, files, clocks, `libc`, `async` |
//! | `model` | [`words`] | above `kernel` nobody chooses by the execution model |
//! | `leftover` | [`words`] | nothing is left to be done, no test is switched off |
//! | `unsafe` | [`unsafety`] | unsafe code lives where it may, with its reason; other crates forbid it |
//! | `head` | [`form`] | every file starts with its head doc |
//! | `length` | [`form`] | no file is longer than a reader's patience |
//! | `edges` | [`edges`] | crates depend on each other in one direction |
//! | `dependency` | [`edges`] | every foreign crate is listed with its reason |
//! | `path` | [`papers`] | a path that a paper names is there |
//!
//! Rules for rules
//! 1. A rule is a pure function from a [`Tree`] to [`Finding`]s, with a test that plants a violation.
//! 2. Rules read code, not text: comments and strings are taken out first ([`source`]).
//! 3. An exception is a row in a table beside the rule, never a comment in the source.

mod edges;
mod form;
mod papers;
mod source;
mod unsafety;
mod words;

use crate::{Outcome, tree};
use source::Source;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// The files that rules read, by their path in the repository.
#[derive(Default)]
pub struct Tree {
    /// Rust files, taken apart.
    rust: BTreeMap<String, Source>,
    /// Cargo manifests and papers, as text.
    text: BTreeMap<String, String>,
    /// Everything there is, folders included; folders end in `/`.
    names: std::collections::BTreeSet<String>,
}

/// One violation of one rule.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Finding {
    path: String,
    /// From one; 0 where the whole file is meant.
    line: usize,
    rule: &'static str,
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line.max(1), self.rule, self.message)
    }
}

/// `cargo xtask tidy`.
pub fn run(root: &Path) -> Outcome<()> {
    let findings = findings(&Tree::read(root)?);
    if findings.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    Err(format!("{} findings\n{}", findings.len(), lines.join("\n")))
}

fn findings(tree: &Tree) -> Vec<Finding> {
    let rules: [fn(&Tree) -> Vec<Finding>; 9] = [
        words::outside_kernel,
        words::model,
        words::leftover,
        unsafety::check,
        form::heads,
        form::lengths,
        edges::edges,
        edges::dependencies,
        papers::paths,
    ];
    let mut found: Vec<Finding> = rules.iter().flat_map(|rule| rule(tree)).collect();
    found.sort();
    found
}

impl Tree {
    /// Reads the repository: everything but what is built, kept by git, or fetched.
    fn read(root: &Path) -> Outcome<Tree> {
        let mut tree = Tree::default();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let entries = std::fs::read_dir(root.join(&folder)).map_err(|error| format!("{folder}: {error}"))?;
            for entry in entries.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = format!("{folder}{name}");
                if entry.path().is_dir() {
                    if !(name == ".git" || name == "gearbox-data" || name.starts_with("target")) {
                        tree.names.insert(format!("{path}/"));
                        folders.push(format!("{path}/"));
                    }
                } else if [".rs", ".md", "Cargo.toml"].iter().any(|end| name.ends_with(end)) {
                    tree.add(&path, &tree::read(&entry.path())?);
                } else {
                    tree.names.insert(path);
                }
            }
        }
        Ok(tree)
    }

    fn add(&mut self, path: &str, text: &str) {
        self.names.insert(path.to_string());
        if path.ends_with(".rs") {
            self.rust.insert(path.to_string(), Source::parse(text));
        } else {
            self.text.insert(path.to_string(), text.to_string());
        }
    }

    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.add(path, text);
            for (at, _) in path.match_indices('/') {
                tree.names.insert(path[..=at].to_string());
            }
        }
        tree
    }
}

/// The crate that a path belongs to, and the rest of the path.
fn crate_of(path: &str) -> Option<(&str, &str)> {
    match path.strip_prefix("crates/") {
        Some(rest) => rest.split_once('/'),
        None => path.strip_prefix("xtask/").map(|rest| ("xtask", rest)),
    }
}

/// Whether a whole file is test code.
fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.contains("/benches/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        assert_eq!(run(&tree::root()), Ok(()));
    }

    #[test]
    fn a_finding_is_printed_as_a_compiler_does() {
        let finding = Finding { path: "a/b.rs".into(), line: 3, rule: "head", message: "what".into() };
        assert_eq!(finding.to_string(), "a/b.rs:3: head: what");
    }
}
