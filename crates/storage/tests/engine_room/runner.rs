//! The list of tests: chosen by name, run one after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// A test: its name, and what it does.
pub type Test = (String, Box<dyn Fn()>);

/// Runs those whose name has a word of the command line in it; answers the exit status.
pub fn run(tests: Vec<Test>) -> i32 {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let list = arguments.iter().any(|argument| argument == "--list");
    let words: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let chosen =
        tests.into_iter().filter(|(name, _)| words.is_empty() || words.iter().any(|word| name.contains(*word)));
    let mut failed = Vec::new();
    let mut count = 0;
    for (name, body) in chosen {
        if list {
            println!("{name}: test");
            continue;
        }
        count += 1;
        let since = Instant::now();
        let passed = catch_unwind(AssertUnwindSafe(body)).is_ok();
        let word = if passed { "ok" } else { "FAILED" };
        println!("test {name} ... {word} ({:.2} s)", since.elapsed().as_secs_f64());
        if !passed {
            failed.push(name);
        }
    }
    if list {
        return 0;
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {} passed; {} failed", count - failed.len(), failed.len());
    failed.iter().for_each(|name| println!("    {name}"));
    if failed.is_empty() { 0 } else { 101 }
}
