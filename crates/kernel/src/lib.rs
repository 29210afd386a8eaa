//! How work runs: shared memory, engines, sessions, waits, clocks, and all contact with the operating system.
//!
//! This is the only crate that knows which execution model runs, that blocks, that reads a clock, and that holds
//! `unsafe` code. Everything above it is written once, in direct style: it calls [`wait::wait`] in the middle of
//! whatever it does and comes back when it has been posted.
//!
//! | module | what it is |
//! |---|---|
//! | [`config`] | the choice of model, primitive and method, made once at the start |
//! | [`region`] | the one mapping that all sessions share; its tables, its heap with named owners, session arenas |
//! | [`session`] | a session's slot in the region and the handle by which an engine serves it |
//! | [`cover`] | encryption between a session and its socket, as the layer above does it |
//! | [`sync`] | spinlocks, page latches, lists of waiters |
//! | [`wait`] | the one way to block, the table of wait events, the four wait primitives |
//! | [`fiber`] | stacks and switching |
//! | [`engine`] | what runs sessions: as a process, as a thread, simulated |
//! | [`hosting`] | how a session holds an engine: dedicated, shared, fiber |
//! | [`io`] | disk: submitted, then awaited; by ring, by workers, at once |
//! | [`net`] | sockets and ports |
//! | [`supervisor`] | the first process: makes the region, forks hosts, stays out of the region |
//! | [`clock`], [`fault`], [`stats`] | time, planted faults, counters |
//! | `code` | the program's own code, in huge pages |
//!
//! Rules
//! 1. A `match` on the execution model stands in `engine`, `hosting` or `supervisor`, nowhere else.
//! 2. What lies in the region implements [`region::Shared`]: `#[repr(C)]`, valid when zeroed, the same in every process.
//! 3. Nothing here holds a spinlock over a wait, and nothing waits inside a critical section ([`sync::Critical`]).

pub mod clock;
mod code;
pub mod config;
pub mod cover;
pub mod engine;
pub mod fault;
pub mod fiber;
pub mod hosting;
pub mod io;
pub mod net;
pub mod region;
pub mod session;
pub mod stats;
pub mod supervisor;
pub mod sync;
pub mod wait;

pub use config::Config;
pub use session::{Next, Service, Session};
