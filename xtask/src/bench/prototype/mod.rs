//! The prototypes: each execution model's bare mechanism, answering pgbench's prepared point select with canned bytes.
//!
//! ```text
//! dedicated   a process, or a thread, for each connection: recv, send
//! shared      a pool of them on one epoll instance, one connection at a time
//! fiber       engines with an epoll instance each, as many connections at a time as are ready
//! ```
//!
//! They parse nothing (the first byte of what comes decides the answer), keep no sessions and no statistics: one `recv` and
//! one `send` a request is what the model costs before there is a server in it. They take `gearbox`'s options and answer the same bytes
//! as `gearbox limit`, so the same load drives both on the same day, and what the server adds is the difference.
//!
//! Rules
//! 1. A process gets its sockets from its parent: descriptors travel over a Unix socket that is its standard input.
//! 2. A prototype ends when all of its processes are killed; there is nothing in it that would need a better end.

mod answers;
mod channel;
mod engines;

use crate::Outcome;
use crate::args::Args;
use crate::model::Model;
use channel::Channel;
use std::net::TcpListener;

/// What the prototype is started as, by this program: `xtask prototype …` with the options of `gearbox limit`.
pub const SUBCOMMAND: &str = "prototype";
/// What its engines are started as, where they are processes.
pub const ENGINE: &str = "prototype-engine";

/// Serves until it is killed.
pub fn run(mut args: Args) -> Outcome<()> {
    let _: Option<String> = args.value("--data")?;
    let listen: String = args.value("--listen")?.ok_or("--listen: where?")?;
    let engine: String = args.value("--engine")?.ok_or("--engine: which?")?;
    let sessions: String = args.value("--sessions")?.ok_or("--sessions: which?")?;
    let count = args.value("--engines")?.unwrap_or(2);
    args.done()?;
    let model: Model = format!("{engine}/{sessions}").parse()?;
    let listener = TcpListener::bind(&listen).map_err(|error| format!("{listen}: {error}"))?;
    match model.pooled() {
        true => engines::pooled(&listener, model, count),
        false => engines::dedicated(&listener, model),
    }
}

/// An engine that is a process: serves what comes over its standard input.
pub fn engine(mut args: Args) -> Outcome<()> {
    let sessions = args.word().unwrap_or_default();
    args.done()?;
    let channel = Channel::of_standard_input().map_err(|error| format!("standard input: {error}"))?;
    engines::serve(&channel, &sessions).map_err(|error| error.to_string())
}
