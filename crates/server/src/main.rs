//! The program `gearbox`: reads the command line and starts what it names. Everything it does is the library's.
#![forbid(unsafe_code)]

use base::Result;
use server::options::{Command, Options};
use server::{limit, serve};

fn main() {
    #[cfg(debug_assertions)]
    plant();
    let mut arguments = std::env::args().skip(1).peekable();
    // The lab is a client: it has arguments of its own, and none of the server's settings.
    if arguments.next_if(|word| word == "lab").is_some() {
        std::process::exit(finish(lab::command::run(arguments)));
    }
    let status = match Options::read(arguments) {
        Ok(Command::Help(text)) => {
            print!("{text}");
            0
        }
        Ok(Command::Serve(options)) => finish(serve::run(options)),
        Ok(Command::Limit(options)) => finish(limit::run(options)),
        Err(error) => finish(Err(error)),
    };
    std::process::exit(status);
}

/// In the tests' build: plants the bug that the environment names, so that a test can show that it would be found.
#[cfg(debug_assertions)]
fn plant() {
    if let Ok(bug) = std::env::var("PLANTED_BUG") {
        assert!(kernel::fault::plant(&bug), "there is no bug {bug}");
    }
}

/// The exit status of a command; an error is told on standard error first.
fn finish(result: Result<i32>) -> i32 {
    match result {
        Ok(status) => status,
        Err(error) => {
            eprintln!("gearbox: {}", error.message());
            if let Some(detail) = error.detail_text() {
                eprintln!("  {detail}");
            }
            if let Some(hint) = error.hint_text() {
                eprintln!("  Hint: {hint}");
            }
            1
        }
    }
}
