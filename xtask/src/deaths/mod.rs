//! Deaths: `cargo xtask torture deaths`, which kills hosts of a loaded server at random instants, again and again.
//!
//! ```text
//!  clients move amounts between accounts, and keep books of what was acknowledged          a crowd is parked and waits
//!        |                                                                                       |
//!  kill a host ... kill a host ... look: sums, times -> ask the crowd -> kill ... -> the last look: books, locks, memory
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | [`books`] | what clients know, and what must be in the tables for it |
//! | [`clients`] | the load, and the crowd of parked sessions |
//! | [`victims`] | who can be killed, and what the server says of those who were |
//!
//! What must hold, however many hosts die:
//!
//! 1. What was acknowledged is there; what was not is there whole or not at all; every look sees a sum that no transfer changes.
//! 2. Nobody waits for longer than [`HANG`]; what waited for longer than two seconds is told, and whether the server had restarted.
//! 3. A parked session outlives the death of every engine, as long as the server does not restart; in a group of dedicated processes it
//!    dies with its own.
//! 4. In the end there is no lock that nobody holds, no memory of sessions that are gone, no descriptor, semaphore set or segment more than
//!    at the beginning.

mod books;
mod clients;
mod victims;

use crate::args::Args;
use crate::e2e::Draw;
use crate::model::{MODELS, Model, Settings};
use crate::server_under_test::{Launch, ServerUnderTest, connect};
use crate::tree::Profile;
use crate::{Outcome, tree};
use books::Books;
use clients::{Crowd, Load};
use postgres::Client;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who waits for longer than this has been forgotten.
const HANG: Duration = Duration::from_secs(60);
/// Clients that work, and sessions that are parked.
const CLIENTS: usize = 8;
const PARKED: usize = 24;
/// After so many kills comes a look.
const LOOK_EVERY: u32 = 20;
/// How long the server is left alone between two kills, at most; longer where it has to be started again.
const PAUSE_MS: usize = 40;
const PAUSE_EVERYTHING_MS: usize = 400;

/// Accounts of some 250 bytes each, and the buffer pool, where pages are to be read and written all the time.
const SPREAD_ACCOUNTS: i32 = 200_000;
const SPREAD_BUFFERS: &str = "8MB";

/// What is asked for.
struct Order {
    kills: u32,
    /// The host of the background tasks is among the victims; its death restarts the server.
    background: bool,
    /// Everything is killed, and started again by hand.
    everything: bool,
    /// The accounts are many times as large as the buffer pool: reads and writes of pages are in flight.
    spread: bool,
    seed: u64,
}

/// `cargo xtask torture deaths [--model LIST] [--kills N] [--background] [--everything] [--spread] [--seed N] [--binary PATH]`.
pub fn run(mut args: Args) -> Outcome<()> {
    let processes = MODELS.into_iter().filter(|model| model.engine == "process").collect();
    let models: Vec<Model> = args.list("--model", processes)?;
    let order = Order {
        kills: args.value("--kills")?.unwrap_or(1000),
        background: args.flag("--background"),
        everything: args.flag("--everything"),
        spread: args.flag("--spread"),
        seed: args.value("--seed")?.unwrap_or(1),
    };
    let asked = args.value("--binary")?;
    args.done()?;
    let binary = tree::binary(asked, Profile::Release)?;
    for model in models {
        let told = torture(&binary, Settings::of(model), &order).map_err(|text| {
            format!("{model}: {text}\nrepeat: cargo xtask torture deaths --model {model} --seed {}", order.seed)
        })?;
        println!("deaths {model}: {told}");
    }
    Ok(())
}

/// Connects, however long the server takes to recover.
fn connect_patiently(port: u16) -> Outcome<Client> {
    let began = Instant::now();
    loop {
        match connect(port) {
            Ok(client) => return Ok(client),
            Err(error) if began.elapsed() > HANG => return Err(format!("nobody is let in: {error}")),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// True if the server, or the part of it that the session was on, is gone: not an answer, but the end of the connection.
fn is_gone(error: &postgres::Error) -> bool {
    let says_so = |code: &str| code.starts_with("57P") || code.starts_with("08");
    error.code().is_none_or(|code| says_so(code.code()))
}

fn torture(binary: &Path, settings: Settings, order: &Order) -> Outcome<String> {
    let began = Instant::now();
    let mut server = ServerUnderTest::start(&Launch { program: binary, subcommand: "serve", settings, cpus: None })?;
    let books = Arc::new(match order.spread {
        false => Books::open(server.port(), 64, 1)?,
        true => {
            let books = Books::open(server.port(), SPREAD_ACCOUNTS, 200)?;
            let set = server.connect()?.batch_execute(&format!("alter system set shared_buffers = '{SPREAD_BUFFERS}'"));
            set.map_err(|error| format!("{error:?}"))?;
            server.crash_and_restart()?;
            books
        }
    });
    let before = victims::held(&server)?;
    let mut crowd = Crowd::come(&server, PARKED)?;
    let mut draw = Draw::new(order.seed);
    let load = Load::begin(server.port(), &books, CLIENTS, order.seed);
    let pause_us = 1000 * if order.everything { PAUSE_EVERYTHING_MS } else { PAUSE_MS };
    let mut killed = 0;
    while killed < order.kills {
        for _ in 0..LOOK_EVERY.min(order.kills - killed) {
            std::thread::sleep(Duration::from_micros((draw.below(pause_us) + 500) as u64));
            match order.everything {
                true => drop(server.crash_and_restart()?),
                false => victims::kill_one(&server, order.background, &mut draw),
            }
            killed += 1;
        }
        load.check()?;
        books.look(server.port())?;
        crowd.ask(&server, order.everything || settings.model.sessions == "dedicated")?;
        if killed % 100 == 0 {
            println!("deaths {}: {killed} killed; {}", settings.model, load.report());
        }
    }
    let load = load.end()?;
    let crowd = crowd.leave();
    books.settle(server.port())?;
    victims::nothing_left(&server, &before)?;
    let told = victims::report(&server);
    server.stop()?;
    Ok(format!("{killed} killed in {} s: {told}; {load}; {crowd}; {}", began.elapsed().as_secs(), books.report()))
}
