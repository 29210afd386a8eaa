//! Words that must not stand in certain places: what only `kernel` may name, the model, left-overs.

use super::source::{Source, occurrences};
use super::{Finding, Tree, crate_of, is_test_file};

/// What the crates above `kernel` must not name, and what they use in its place.
const ONLY_KERNEL: &[(&str, &str)] = &[
    ("std::thread", "engines run sessions; work that blocks goes to the kernel's blocking pool"),
    ("std::sync::Mutex", "kernel's spinlock or latch; it must work between processes"),
    ("std::sync::RwLock", "kernel's latch; it must work between processes"),
    ("std::sync::Condvar", "there is one way to wait: the kernel's"),
    ("std::sync::Barrier", "there is one way to wait: the kernel's"),
    ("std::sync::mpsc", "there is one way to wait: the kernel's"),
    ("std::fs", "all I/O is submitted to the kernel, then awaited"),
    ("Instant::now", "the kernel's clock; a simulated run has its own time"),
    ("SystemTime::now", "the kernel's clock; a simulated run has its own time"),
    ("libc", "the kernel is the only contact with the operating system"),
    ("thread_local!", "a session moves between threads and processes; its state is in its arena"),
    ("async", "code is written in direct style; the kernel's wait comes back"),
];

/// Crates whose whole source is above `kernel`.
const ABOVE_KERNEL: [&str; 5] = ["storage", "types", "sql", "protocol", "server"];

/// Files of `server` that run before there is a kernel to ask: the first process, its command line, its directory.
const START_UP: &[&str] = &[
    "crates/server/src/main.rs",
    "crates/server/src/options.rs",
    "crates/server/src/data_directory.rs",
    "crates/server/src/roles.rs",
];

/// The values that say which model, primitive or method was chosen.
const CHOICES: &[&str] = &[
    "EngineKind::Process",
    "EngineKind::Thread",
    "EngineKind::Sim",
    "Sessions::Dedicated",
    "Sessions::Shared",
    "Sessions::Fiber",
    "Primitive::Futex",
    "Primitive::Posix",
    "Primitive::Sysv",
    "Primitive::Eventfd",
    "IoMethod::Uring",
    "IoMethod::Workers",
    "IoMethod::Sync",
];

/// Files outside `kernel`, and outside of what tests it in each model, that may name them: where the command line is turned into a choice.
const CHOOSERS: &[&str] = &["crates/server/src/main.rs", "crates/server/src/options.rs"];

/// Rule `outside-kernel`.
pub fn outside_kernel(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, source) in &tree.rust {
        let Some((name, rest)) = crate_of(path) else { continue };
        if !ABOVE_KERNEL.contains(&name) || !rest.starts_with("src/") || START_UP.contains(&path.as_str()) {
            continue;
        }
        for (word, instead) in ONLY_KERNEL {
            for line in lines_naming(source, word) {
                if !source.is_test(line) && !is_test_file(path) {
                    let message = format!("{word} is not to be named here: {instead}");
                    found.push(Finding { path: path.clone(), line, rule: "outside-kernel", message });
                }
            }
        }
    }
    found
}

/// The lines where a path is written out, or comes in by a `use`.
fn lines_naming(source: &Source, word: &str) -> Vec<usize> {
    let mut lines: Vec<usize> = source.occurrences(word).into_iter().map(|at| source.line_of(at)).collect();
    if let Some((folder, _)) = word.rsplit_once("::") {
        for (path, at) in source.imports() {
            let whole = path == word || path.starts_with(&format!("{word}::"));
            if whole || (folder.starts_with("std") && path == format!("{folder}::*")) {
                lines.push(source.line_of(at));
            }
        }
    }
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Rule `model`.
pub fn model(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, source) in &tree.rust {
        let Some((name, rest)) = crate_of(path) else { continue };
        let exempt = ["kernel", "testkit", "xtask"].contains(&name) || CHOOSERS.contains(&path.as_str());
        if exempt || !rest.starts_with("src/") || is_test_file(path) {
            continue;
        }
        for choice in CHOICES {
            for at in source.occurrences(choice) {
                let line = source.line_of(at);
                if !source.is_test(line) {
                    let message = format!("{choice}: only the kernel chooses by the model");
                    found.push(Finding { path: path.clone(), line, rule: "model", message });
                }
            }
        }
    }
    found
}

/// Rule `leftover`: marks of unfinished work, in code and in comments, and tests that do not run.
pub fn leftover(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, source) in &tree.rust {
        let mut note = |at: usize, what: &str| {
            let (line, message) = (source.line_of(at), format!("{what}: finish it, or take it out"));
            found.push(Finding { path: path.clone(), line, rule: "leftover", message });
        };
        for word in ["FIXME", "XXX", "TODO"] {
            occurrences(&source.comments, word).into_iter().for_each(|at| note(at, word));
            source.occurrences(word).into_iter().for_each(|at| note(at, word));
        }
        for word in ["todo!", "unimplemented!", "#[ignore"] {
            source.occurrences(word).into_iter().for_each(|at| note(at, word));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rule: fn(&Tree) -> Vec<Finding>, path: &str, text: &str) -> Vec<usize> {
        let mut lines: Vec<usize> = rule(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect();
        lines.dedup();
        lines
    }

    const WORDS: &str = "\
//! A head that may say std::fs.
use std::sync::{Arc, Mutex};
use std::{fs, time::Instant};
fn a() { Instant::now(); std::thread::yield_now(); }
async fn b() {}
thread_local! { static C: u8 = 0; }
use libc::read;
use std::sync::*;
fn d() { f(\"libc::read\"); }
use std::sync::atomic::AtomicU32;
#[cfg(test)]
mod tests { use std::fs; }
";

    #[test]
    fn what_only_kernel_may_name_is_found_however_it_is_written() {
        let expected = vec![2, 3, 4, 5, 6, 7, 8];
        for path in ["crates/sql/src/a.rs", "crates/storage/src/b/c.rs", "crates/protocol/src/d.rs"] {
            let mut found = lines(outside_kernel, path, WORDS);
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, expected, "{path}");
        }
        assert!(!lines(outside_kernel, "crates/server/src/serve.rs", WORDS).is_empty());
    }

    #[test]
    fn kernel_start_up_code_and_tests_may_name_it() {
        for path in
            ["crates/kernel/src/a.rs", "crates/server/src/main.rs", "crates/sql/tests/a.rs", "crates/sql/src/tests.rs"]
        {
            assert_eq!(lines(outside_kernel, path, WORDS), [0usize; 0], "{path}");
        }
    }

    const MATCH: &str =
        "//! x\nfn f(e: EngineKind) { match e { EngineKind::Thread => 1, _ => 2 } }\nfn g() { EngineKind::parse(1); }";

    #[test]
    fn a_choice_by_model_is_found_outside_kernel() {
        assert_eq!(lines(model, "crates/server/src/serve.rs", MATCH), [2]);
        assert_eq!(lines(model, "crates/storage/src/a.rs", MATCH), [2]);
        for path in
            ["crates/kernel/src/hosting/mod.rs", "crates/server/src/options.rs", "crates/server/tests/models.rs"]
        {
            assert_eq!(lines(model, path, MATCH), [0usize; 0], "{path}");
        }
    }

    #[test]
    fn left_overs_are_found_in_code_and_in_comments_but_not_in_strings() {
        let text = format!(
            "//! x\n// {}: later\nfn f() {{ {}!() }}\n#[{}]\nfn g() {{ h(\"{}\") }}\n",
            "FIXME", "todo", "ignore", "XXX"
        );
        assert_eq!(lines(leftover, "crates/lab/src/a.rs", &text), [2, 3, 4]);
    }
}
