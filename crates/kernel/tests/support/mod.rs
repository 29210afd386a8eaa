//! What the kernel's proof is made with: a server of its own, clients for it, and a look at it from outside.
//!
//! | module | what it is |
//! |---|---|
//! | [`service`] | a service with a line protocol: one command for each thing that the kernel promises |
//! | [`server`] | a server in a process of its own, ended at the end of its test whatever happens |
//! | [`client`] | a connection: lines out, lines in, never waiting for ever |
//! | [`procs`] | `/proc`: processes, threads, descriptors, memory, semaphore sets |
//! | [`runner`] | the list of tests, chosen by name, run one after the other on the program's first thread |
//!
//! The program is its own server: [`server::Server::start`] runs it again with [`server::VARIABLE`] set. A supervisor
//! forks, so it must have one thread; that is why the harness of the standard library is not used.

pub mod client;
pub mod procs;
pub mod runner;
pub mod server;
pub mod service;

pub use client::Client;
pub use server::{Server, Setup};

use kernel::config::{EngineKind, Primitive, Sessions};

/// The six models.
pub const MODELS: [(EngineKind, Sessions); 6] = [
    (EngineKind::Process, Sessions::Dedicated),
    (EngineKind::Process, Sessions::Shared),
    (EngineKind::Process, Sessions::Fiber),
    (EngineKind::Thread, Sessions::Dedicated),
    (EngineKind::Thread, Sessions::Shared),
    (EngineKind::Thread, Sessions::Fiber),
];

/// The four in which sessions share engines.
pub fn pooled() -> impl Iterator<Item = (EngineKind, Sessions)> {
    MODELS.into_iter().filter(|model| model.1 != Sessions::Dedicated)
}

/// The wait primitives.
pub const PRIMITIVES: &[Primitive] = Primitive::ALL;

/// True when the tests are to run in their full form: `GEARBOX_FULL=1`.
pub fn full() -> bool {
    std::env::var_os("GEARBOX_FULL").is_some_and(|value| value == "1")
}

/// One of two figures, by [`full`].
pub fn small_or_full(small: usize, full_form: usize) -> usize {
    if full() { full_form } else { small }
}

/// Tries until it is true or the time is over.
pub fn eventually(limit_ms: u64, mut holds: impl FnMut() -> bool) -> bool {
    let end = std::time::Instant::now() + std::time::Duration::from_millis(limit_ms);
    loop {
        if holds() {
            return true;
        }
        if std::time::Instant::now() >= end {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Measures up to three times, until it comes out well: a machine that is busy with other things may spoil one try, and what
/// the server does wrong it does in each. Everything but the times has to be right at once.
pub fn one_of_three(measure: impl Fn() -> Result<(), String>) {
    let wrong = (0..3).map_while(|_| measure().err()).collect::<Vec<_>>();
    assert!(wrong.len() < 3, "three times:\n{}", wrong.join("\n"));
    wrong.iter().for_each(|text| println!("    not in time: {text}"));
}

/// A figure for the reader of the output.
#[macro_export]
macro_rules! figure {
    ($($text:tt)*) => { println!("    figure: {}", format!($($text)*)) };
}

/// Numbers from a seed (SplitMix64): for choices that a failure can repeat.
pub struct Dice(pub u64);

impl Dice {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}
