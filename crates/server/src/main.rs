//! Gearbox: a relational database server whose process model is a setting.
//!
//! This file reads the command line and starts what it names; it and [`options`] are the only places above `kernel`
//! that know the names of the execution models, and only to hand them on.
//!
//! | module | what it is |
//! |---|---|
//! | [`options`] | settings from all layers, and the kernel's configuration from them |
//! | [`data_directory`] | making, checking and locking the directory of the data |
//! | [`roles`] | who may come in |
//! | [`startup`] | a connection's first messages: encryption, authentication, parameters |
//! | [`limit`] | the service that answers with canned messages: the ceiling of this server |
//! | [`serve`] | the database server itself |
//! | [`views`] | what the server shows of itself |
#![forbid(unsafe_code)]

mod data_directory;
mod limit;
mod options;
mod roles;
mod serve;
mod startup;
mod views;

use base::Result;
use options::{Command, Options};

fn main() {
    let status = match Options::read(std::env::args().skip(1)) {
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
