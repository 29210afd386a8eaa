//! The load driver: many connections a thread, a few microseconds a request.
//!
//! ```text
//!   run ──▶ thread ──▶ client ──▶ socket      what the system does
//!             │          ├─────▶ wire         what the protocol says
//!             │          └─────▶ script       what is asked (workload)
//!             ├─▶ pace                        when
//!             └─▶ times                       how long it took
//! ```
//!
//! Rules
//! 1. Everything that is drawn at random follows from the load's seed: clients make the same choices in the same order
//!    again, whatever the server does.
//! 2. Nothing on the way of a request allocates, locks or looks at more than one client.
//! 3. By how much the driver began late is never in the server's times: it is counted apart, and so is the driver's CPU. What it
//!    cannot know is for how long an answer lay in its socket while it was busy with others: that is bounded by a batch of
//!    events, counts as the server's, and is why a saturated driver gives no verdict.
//! 4. A load ends with an error where the server is gone; errors that a server answers are counted.
//!
//! The life of a load: [`run`] starts the threads, each connects its clients; when all are there, the window is set
//! and they begin; its two ends are told to the caller, who reads the server's counters then; the load is ended, the last
//! answers are awaited, and what the threads counted is added up.

mod client;
mod pace;
mod session;
mod socket;
mod thread;
mod times;
pub mod wire;

pub use pace::Pace;
pub use session::Session;
pub use times::Times;
pub use wire::Protocol;

use crate::address::{self, Address};
use crate::error;
use crate::record::{Cost, Sessions};
use crate::workload::script::{Mix, Presets};
use base::{Error, Result, sqlstate};
use client::Shared;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use thread::{Clock, Signals, Thread, ThreadReport};
use wire::Prepared;

/// What the driver is to do.
#[derive(Clone, Debug)]
pub struct Load {
    /// What is asked.
    pub mix: Mix,
    /// The user's own variables, those that [`Mix::compile`] was given.
    pub defines: Vec<(String, String)>,
    /// The size of the tables, as scripts have it.
    pub scale: u32,
    /// How statements are sent.
    pub protocol: Protocol,
    /// Connections that work.
    pub clients: u32,
    /// Connections that are only there.
    pub idle: u32,
    /// Threads; never more than there are clients.
    pub threads: u32,
    /// When a client begins its next transaction.
    pub pace: Pace,
    /// Whether each transaction has a connection of its own.
    pub reconnect: bool,
    /// From which everything random follows.
    pub seed: u64,
    /// How long the load runs before it is measured.
    pub warm_up: Duration,
    /// How long it is measured.
    pub window: Duration,
    /// The processors of the driver's threads; none for all.
    pub cpus: Option<Vec<usize>>,
}

/// Something that the caller of [`run`] may want to do at its moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// All connections are there, and nothing has been asked yet.
    Connected,
    /// The window begins.
    Begin,
    /// The window ends. Connections are still there and the load goes on, uncounted, until this was dealt with.
    End,
}

/// What came out.
#[derive(Default, Debug)]
pub struct Report {
    /// How long the window was.
    pub window: Duration,
    /// Transactions that ended well in it.
    pub transactions: u64,
    /// Statements that were answered in it.
    pub statements: u64,
    /// Connections that were made in it.
    pub connects: u64,
    /// Transactions that failed in it by SQLSTATE, with the first message of each.
    pub failed: BTreeMap<String, (u64, String)>,
    /// Times of transactions.
    pub latency: Times,
    /// Times of connections.
    pub connecting: Times,
    /// By how much the driver was late.
    pub own_delay: Times,
    /// How evenly clients were served.
    pub sessions: Sessions,
    /// What the driver used.
    pub client: Cost,
    /// The part of the window that the busiest thread ran or wanted to run.
    pub busy: f64,
    /// The part of the window that the busiest thread ran.
    pub ran: f64,
    /// Transactions by second of the window.
    pub seconds: Vec<u64>,
    /// Transactions that ended well, the warm-up and the last answers included.
    pub committed: u64,
    /// What the server counts as transactions beside those: statements that were prepared ahead.
    pub prepared: u64,
    /// Connections, whenever they were made: some servers count logging in as a transaction.
    pub logins: u64,
}

/// Runs a load against a server; `at` is called at each [`Moment`], from this thread. A window that `interrupt` cuts
/// short is an error like any other.
///
/// # Errors
/// That the server is not there, refuses connections, or goes away; that a script is wrong; `57014` when interrupted.
pub fn run(address: &Address, load: &Load, interrupt: &AtomicBool, mut at: impl FnMut(Moment)) -> Result<Report> {
    check(address, load)?;
    let statements = statements(address, load);
    let threads = load.threads.clamp(1, load.clients);
    let (clock, signals) = (Clock::start(), Signals::default());
    let (told, hears) = mpsc::channel::<Result<()>>();
    let reports = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|index| {
                let (told, statements, signals) = (told.clone(), &statements, &signals);
                scope.spawn(move || {
                    let _stop = StopOnPanic(signals);
                    let result = one_thread(address, load, statements, clock, signals, (index, threads), &told);
                    if result.is_err() {
                        signals.stop.store(true, Ordering::Relaxed);
                    }
                    result
                })
            })
            .collect();
        drop(told);
        let _stop = StopOnPanic(&signals);
        let led = lead(load, threads, clock, &signals, interrupt, &hears, &mut at);
        if led.is_err() {
            signals.stop.store(true, Ordering::Relaxed);
        }
        let joined: Vec<Result<ThreadReport>> = running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        let reports = joined.into_iter().collect::<Result<Vec<ThreadReport>>>()?;
        led.map(|()| reports)
    })?;
    Ok(add_up(load, reports))
}

fn check(address: &Address, load: &Load) -> Result<()> {
    if load.clients == 0 {
        return Err(error::usage("a load has at least one client"));
    }
    let simple = load.protocol == Protocol::Simple || address.wire == address::Wire::Mysql;
    match load.mix.programs.iter().find(|program| program.has_pipelines()) {
        Some(program) if simple => {
            Err(error::usage(format!("{}: a pipeline in a protocol without them", program.name))
                .hint("Use --protocol named or unnamed, with a server of PostgreSQL's protocol."))
        }
        _ => Ok(()),
    }
}

/// The statements of each program as they are sent to this server.
fn statements(address: &Address, load: &Load) -> Vec<Vec<Prepared>> {
    let mut number = 0;
    let mut prepared = |statement| {
        number += 1;
        Prepared::new(address.wire, number, statement)
    };
    let programs = load.mix.programs.iter();
    programs.map(|program| program.statements.iter().map(&mut prepared).collect()).collect()
}

fn one_thread(
    address: &Address,
    load: &Load,
    statements: &[Vec<Prepared>],
    clock: Clock,
    signals: &Signals,
    (index, threads): (u32, u32),
    told: &mpsc::Sender<Result<()>>,
) -> Result<ThreadReport> {
    let share = |count: u32| (count * (index + 1) / threads) - (count * index / threads);
    let connected = (|| {
        if let Some(cpus) = &load.cpus {
            thread::pin(cpus)?;
        }
        thread::sleep_exactly();
        thread::epoll()
    })();
    let epoll = match connected {
        Ok(epoll) => epoll,
        Err(error) => {
            let _ = told.send(Ok(()));
            return Err(error);
        }
    };
    let presets = Presets { seed: load.seed, scale: load.scale.into(), defines: load.defines.clone() };
    let shared = Shared {
        address,
        protocol: load.protocol,
        mix: &load.mix,
        presets: &presets,
        statements,
        reconnect: load.reconnect,
        epoll: thread::borrow(&epoll),
    };
    let first = load.clients * index / threads + load.idle * index / threads;
    let counts = (first, share(load.clients), share(load.idle));
    let mut thread = Thread::new(shared, clock, signals, load.pace, counts, load.seed ^ u64::from(index) << 48);
    let connected = thread.connect();
    let _ = told.send(Ok(()));
    connected?;
    let rate = match load.pace {
        Pace::Rate { per_second } => Some(per_second * f64::from(share(load.clients)) / f64::from(load.clients)),
        _ => None,
    };
    thread.run(rate)
}

/// How long before the window threads are told of it.
pub const NOTICE: Duration = Duration::from_nanos(2 * thread::LOOK_NS);

/// Waits until all are connected, sets the window, and calls `at` at its ends.
fn lead(
    load: &Load,
    threads: u32,
    clock: Clock,
    signals: &Signals,
    interrupt: &AtomicBool,
    hears: &mpsc::Receiver<Result<()>>,
    at: &mut impl FnMut(Moment),
) -> Result<()> {
    let stopped = || signals.stop.load(Ordering::Relaxed);
    let interrupted = || match interrupt.load(Ordering::Relaxed) {
        true => Err(Error::session(sqlstate::QUERY_CANCELED, "interrupted")),
        false => Ok(()),
    };
    let mut connected = 0;
    while connected < threads {
        interrupted()?;
        match hears.recv_timeout(Duration::from_millis(20)) {
            Ok(_) => connected += 1,
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            // A thread panicked. Joining it tells that.
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
    if stopped() {
        return Ok(());
    }
    at(Moment::Connected);
    signals.go.store(true, Ordering::Release);
    let mut time = clock.now() + load.warm_up.as_nanos() as u64;
    for moment in [Moment::Begin, Moment::End] {
        loop {
            interrupted()?;
            let left = time.saturating_sub(clock.now());
            if left == 0 || stopped() {
                break;
            }
            std::thread::sleep(Duration::from_nanos(left.min(20_000_000)));
        }
        if stopped() {
            return Ok(());
        }
        at(moment);
        if moment == Moment::Begin {
            // Reading what the server has used takes time, and the load should not lose it: the window begins when that is done,
            // and when each thread has looked up and knows of it.
            let from = clock.now() + NOTICE.as_nanos() as u64;
            time = from + load.window.as_nanos() as u64;
            signals.from_ns.store(from, Ordering::Release);
            signals.until_ns.store(time, Ordering::Release);
        }
    }
    signals.over.store(true, Ordering::Release);
    Ok(())
}

/// Stops the load where its holder panics, or the others would wait for it for ever.
struct StopOnPanic<'a>(&'a Signals);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop.store(true, Ordering::Relaxed);
        }
    }
}

fn add_up(load: &Load, reports: Vec<ThreadReport>) -> Report {
    let seconds = load.window.as_secs_f64();
    let (mut latency, mut connecting, mut own_delay) = (Times::new(), Times::new(), Times::new());
    let mut by_client = Vec::new();
    let mut report = Report { window: load.window, ..Report::default() };
    for ThreadReport { tally, by_client: clients, used } in reports {
        latency.merge(&tally.latency);
        connecting.merge(&tally.connecting);
        own_delay.merge(&tally.own_delay);
        report.statements += tally.statements;
        report.connects += tally.connects;
        report.committed += tally.committed;
        report.prepared += tally.prepared;
        report.logins += tally.logins;
        for (state, (count, message)) in tally.failed {
            report.failed.entry(state).or_insert((0, message)).0 += count;
        }
        if report.seconds.len() < tally.seconds.len() {
            report.seconds.resize(tally.seconds.len(), 0);
        }
        report.seconds.iter_mut().zip(&tally.seconds).for_each(|(sum, count)| *sum += count);
        by_client.extend(clients);
        let cpu_us = used.cpu_ns as f64 / 1000.0;
        let ticks = (used.ticks.0 + used.ticks.1) as f64;
        let user = if ticks > 0.0 { used.ticks.0 as f64 / ticks } else { 0.5 };
        report.client.user_us += cpu_us * user;
        report.client.system_us += cpu_us * (1.0 - user);
        report.client.voluntary += used.switches.0;
        report.client.involuntary += used.switches.1;
        let busy = (used.cpu_ns + used.delayed_ns) as f64 / 1e9 / seconds;
        report.busy = report.busy.max(busy.min(1.0));
        report.ran = report.ran.max((used.cpu_ns as f64 / 1e9 / seconds).min(1.0));
    }
    report.transactions = by_client.iter().sum();
    report.sessions = evenness(&by_client);
    Report { latency, connecting, own_delay, ..report }
}

fn evenness(by_client: &[u64]) -> Sessions {
    let count = by_client.len() as f64;
    let sum: f64 = by_client.iter().map(|n| *n as f64).sum();
    let squares: f64 = by_client.iter().map(|n| (*n as f64).powi(2)).sum();
    let mean = sum / count;
    Sessions {
        min: by_client.iter().copied().min().unwrap_or(0),
        max: by_client.iter().copied().max().unwrap_or(0),
        mean,
        deviation: (squares / count - mean * mean).max(0.0).sqrt(),
        fairness: if squares > 0.0 { sum * sum / (count * squares) } else { 1.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evenness_is_jain_s_index() {
        let even = evenness(&[5, 5, 5, 5]);
        assert_eq!((even.min, even.max, even.mean, even.deviation, even.fairness), (5, 5, 5.0, 0.0, 1.0));
        assert_eq!(evenness(&[8, 0, 0, 0]).fairness, 0.25);
        assert_eq!(evenness(&[0, 0]).fairness, 1.0);
    }
}
