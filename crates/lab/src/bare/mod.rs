//! The bare mechanism of each execution model: what it costs before there is a server in it.
//!
//! ```text
//! dedicated   a process, or a thread, for each connection: recv, send
//! shared      a pool of them on one epoll instance, one connection at a time
//! fiber       engines with an epoll instance each, as many connections at a time as are ready
//! ```
//!
//! They parse nothing (the first byte of what comes decides the answer), keep no sessions and no statistics: one `recv` and
//! one `send` a request. They take the options of `gearbox limit` and answer the same bytes, so one load drives both in one
//! run, and what the server adds to its mechanism is the difference.
//!
//! Rules
//! 1. A process gets its sockets from its parent: descriptors travel over a Unix socket that is its standard input.
//! 2. It ends at once when it is told to; a process that it started ends with it.
//! 3. Only a prepared statement that was parsed in an exchange of its own is answered, which is how the driver and pgbench prepare.

mod answers;
mod channel;
mod engines;

use crate::error::{self, OfFile};
use base::Result;
use channel::Channel;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What it is started as: `gearbox lab bare` with the options of `gearbox limit`.
pub const COMMAND: &str = "bare";
/// What its engines are started as, where they are processes.
pub const ENGINE: &str = "bare-engine";

/// A model by its two words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Model {
    process: bool,
    sessions: &'static str,
}

/// How sessions are hosted.
const SESSIONS: [&str; 3] = ["dedicated", "shared", "fiber"];

/// Serves until it is told to end.
///
/// # Errors
/// `22023` for options that make no sense, `58030` where the address is taken.
pub fn run(arguments: impl Iterator<Item = String>) -> Result<i32> {
    let arguments: Vec<String> = arguments.collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|word| word == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let wanted = |name: &str| value(name).ok_or_else(|| error::usage(format!("{COMMAND} needs {name}")));
    let sessions = wanted("--sessions")?;
    let model = Model {
        process: wanted("--engine")? == "process",
        sessions: SESSIONS.into_iter().find(|known| *known == sessions).ok_or_else(|| {
            error::usage(format!("--sessions \"{sessions}\"")).hint("There are: dedicated, shared, fiber.")
        })?,
    };
    let count = std::thread::available_parallelism().map_or(1, |count| count.get());
    let address = wanted("--listen")?;
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register_conditional_shutdown(signal, 0, Arc::new(AtomicBool::new(true)))
            .map_err(|error| error::system("signals", error))?;
    }
    let listener = TcpListener::bind(address).of(Path::new(address))?;
    let served = match model.sessions {
        "dedicated" => engines::dedicated(&listener, model),
        _ => engines::pooled(&listener, model, count),
    };
    served.map(|()| 0).map_err(|error| error::system(COMMAND, error))
}

/// An engine that is a process: serves what comes over its standard input.
pub fn engine(mut arguments: impl Iterator<Item = String>) -> Result<i32> {
    let sessions = arguments.next().unwrap_or_default();
    let served = Channel::of_standard_input().and_then(|channel| engines::serve(&channel, &sessions));
    // The end of the channel or of the connection is how it ends.
    Ok(i32::from(served.is_err_and(|error| error.kind() != std::io::ErrorKind::UnexpectedEof)))
}
