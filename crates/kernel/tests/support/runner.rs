//! The list of tests: chosen by name, run one after the other, each on the program's first thread.
//!
//! Most of their time is waiting, so there are two *lanes*: every other test is run by a second process, which is this program
//! again, and whose output is printed at the end. In the full form, and with few tests, there is one.
//!
//! Understands what `cargo test` passes on: names to look for, `--exact`, `--skip NAME`, `--list`, `-q`. A test that takes
//! longer than [`LIMIT`] ends the program: its servers end with it.

use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// A test: its name, and what it does.
pub type Test = (String, Box<dyn Fn()>);

/// How long a test may take in its small and in its full form.
const LIMIT: [Duration; 2] = [Duration::from_secs(90), Duration::from_secs(3600)];

/// Set in the environment of the second lane.
const LANE: &str = "GEARBOX_PROOF_LANE";
/// Fewer tests than this are run in one lane.
const FEW: usize = 20;

/// Which lane this process is: zero or one.
pub fn lane() -> u32 {
    std::env::var_os(LANE).is_some() as u32
}

/// Starts the second lane, with the arguments of this one. It ends with this one.
fn second_lane() -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(std::env::args_os().skip(1)).env(LANE, "1").stdin(Stdio::null()).stdout(Stdio::piped());
    // SAFETY: between fork and exec only this system call is made.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    command.spawn().expect("the second lane starts")
}

struct Arguments {
    names: Vec<String>,
    skip: Vec<String>,
    exact: bool,
    list: bool,
}

fn arguments() -> Arguments {
    let mut parsed = Arguments { names: Vec::new(), skip: Vec::new(), exact: false, list: false };
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--exact" => parsed.exact = true,
            "--list" => parsed.list = true,
            "--skip" => parsed.skip.extend(given.next()),
            "--test-threads" | "--format" | "--color" | "-Z" => drop(given.next()),
            flag if flag.starts_with('-') => {}
            _ => parsed.names.push(argument),
        }
    }
    parsed
}

/// Runs those that the command line chooses; answers the exit status.
pub fn run(tests: Vec<Test>) -> i32 {
    let chosen = arguments();
    let matches = |name: &str, wanted: &String| if chosen.exact { name == wanted } else { name.contains(&**wanted) };
    let tests: Vec<_> = tests
        .into_iter()
        .filter(|(name, _)| chosen.names.is_empty() || chosen.names.iter().any(|wanted| matches(name, wanted)))
        .filter(|(name, _)| !chosen.skip.iter().any(|wanted| matches(name, wanted)))
        .collect();
    if chosen.list {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return 0;
    }
    let two = !super::full() && tests.len() >= FEW;
    let other = (two && lane() == 0).then(|| {
        let child = second_lane();
        std::thread::spawn(|| child.wait_with_output().expect("the second lane ends"))
    });
    let mine = |at: usize| !two || at % 2 == lane() as usize;
    let tests: Vec<_> = tests.into_iter().enumerate().filter(|(at, _)| mine(*at)).map(|(_, test)| test).collect();
    println!("\nrunning {} tests", tests.len());
    let deadline = watch();
    let begin = Instant::now();
    let mut failed = Vec::new();
    for (name, body) in &tests {
        let since = Instant::now();
        deadline.store((begin.elapsed() + LIMIT[super::full() as usize]).as_millis() as u64, SeqCst);
        let passed = catch_unwind(AssertUnwindSafe(body)).is_ok();
        let word = if passed { "ok" } else { "FAILED" };
        println!("test {name} ... {word} ({:.2} s)", since.elapsed().as_secs_f64());
        if !passed {
            failed.push(name);
        }
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {} passed; {} failed; {:.1} s",
        tests.len() - failed.len(),
        failed.len(),
        begin.elapsed().as_secs_f64()
    );
    failed.iter().for_each(|name| println!("    {name}"));
    // The other lane has a watch of its own.
    deadline.store(u64::MAX, SeqCst);
    let other_passed = other.is_none_or(|other| {
        let output = other.join().expect("the second lane is waited for");
        println!("{}", String::from_utf8_lossy(&output.stdout));
        output.status.success()
    });
    if failed.is_empty() && other_passed { 0 } else { 101 }
}

/// Ends the program when the time in the answer, in milliseconds from now, has passed.
fn watch() -> &'static AtomicU64 {
    static DEADLINE_MS: AtomicU64 = AtomicU64::new(u64::MAX);
    let begin = Instant::now();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(200));
            if begin.elapsed().as_millis() as u64 > DEADLINE_MS.load(SeqCst) {
                println!("test result: FAILED: a test takes too long");
                std::process::exit(101);
            }
        }
    });
    &DEADLINE_MS
}
