//! One measurement: a server is started, warmed, loaded, read and stopped.
//!
//! ```text
//!   start ─ warm ─ count, memory ─▶ connect ─▶ warm up ─▶ │ CPU, views … window … CPU, memory │ ─▶ leave ─ count ─ stop
//! ```
//!
//! Rules
//! 1. Counters are read while the load goes on, before the window and after it, since reading many processes takes time and would
//!    take throughput. What the server used is the part of the time between the two readings that the window is.
//! 2. The driver was the bottleneck where one of its threads ran nearly all the time; where it has a processor of its own,
//!    wanting to run is as good. On processors that it shares with the server it has to wait for its turn when the server is busy,
//!    which is the server's doing: there it was the bottleneck where nothing was left of them and it used more than the server.
//! 3. The reader of views is a session like any other and its cost is the server's: once a second, it is small.

use super::design::{Design, Layout, Step};
use super::views::{self, Reader, Views};
use crate::driver::{self, Load, Moment, Report, Session};
use crate::measure::machine::Processors;
use crate::measure::processes::Usage;
use crate::measure::sampler::Sampler;
use crate::record::{Cost, Footprint, Latency, Measured, Memory, Second, Use};
use crate::server::Running;
use base::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// From which part of its time on a driver thread counts as saturated.
const SATURATED: f64 = 0.95;
/// From which part of a processor's time on that is used there is nothing left of it: the rest goes with switching.
const FULL: f64 = 0.8;

/// Measures one cell on a server that has been started for it and warmed.
///
/// # Errors
/// What the driver says: the server is gone, or refuses; interrupted.
pub fn measure(
    design: &Design,
    step: &Step,
    layout: Layout,
    seed: u64,
    running: &Running,
    views: Views,
    interrupt: &AtomicBool,
) -> Result<Measured> {
    let (address, tree) = (running.address(), running.tree());
    let load = Load {
        mix: design.workload.mix(&design.defines)?,
        defines: design.defines.clone(),
        scale: design.scale,
        protocol: design.protocol,
        clients: step.clients,
        idle: step.idle,
        threads: layout.driver_threads(),
        pace: step.pace,
        reconnect: design.workload.reconnect,
        seed,
        warm_up: Duration::from_secs_f64(design.warm_up),
        window: Duration::from_secs_f64(design.seconds),
        cpus: layout.driver_cpus().map(<[usize]>::to_vec),
    };
    let checks = answers(design, running)?;
    let counted = match design.workload.rolls_back {
        true => None,
        false => views::count(views, address)?,
    };
    let asked = Arc::new(AtomicU64::new(0));
    let mut reader = Reader::connect(views, address, &asked)?;
    let footprint = |reader: &mut Reader| {
        let mut footprint = tree.map(Footprint::now).unwrap_or_default();
        if let Some(bytes) = reader.region() {
            footprint.shared = bytes;
        }
        footprint
    };
    let base = (design.memory && tree.is_some()).then(|| footprint(&mut reader));
    let mut full = None;
    let mut reader = Some(reader);
    let (mut at_begin, mut at_end, mut sampler, mut series) = (None, None, None, Vec::new());
    let report = driver::run(address, &load, interrupt, |moment| match moment {
        Moment::Connected => {}
        Moment::Begin => {
            let mut reader = reader.take().expect("the window begins once");
            let usage = tree.map(Usage::now).unwrap_or_default();
            sampler = tree.and_then(|tree| Sampler::start(tree.clone(), driver::NOTICE, move || reader.read()).ok());
            at_begin = Some((usage, Processors::now()));
        }
        Moment::End => {
            let processors = Processors::now();
            at_end = Some((tree.map(Usage::now).unwrap_or_default(), processors));
            series = sampler.take().map(Sampler::stop).unwrap_or_default();
            if design.memory
                && let Ok(mut reader) = Reader::connect(views, address, &asked)
            {
                full = Some(footprint(&mut reader));
            }
        }
    });
    drop(sampler);
    let report = report?;
    if report.transactions == 0
        && let Some((state, (count, message))) = report.failed.iter().max_by_key(|(_, (count, _))| *count)
    {
        let nothing = format!("no transaction succeeded, {count} failed with {state}");
        return Err(crate::error::server(nothing).detail(message.clone()));
    }
    let (Some(begin), Some(end)) = (at_begin, at_end) else {
        return Err(crate::error::server("the load ended before its window"));
    };
    drop(reader);
    let counted = match counted {
        Some(before) => {
            let readers = 1 + u64::from(design.memory);
            let others = report.prepared + asked.load(Relaxed) + before.login() * (report.logins + readers);
            let count = views::counted_since(before, views, address, report.committed + others)?;
            count.map(|count| count.saturating_sub(others))
        }
        None => None,
    };
    check(design, running, &checks, report.committed)?;
    let series = with_transactions(series, &report.seconds, report.window.as_secs_f64());
    let server = end.0.within(&begin.0, report.window);
    let machine = end.1.since(&begin.1, server.cpu_us() + report.client.cpu_us());
    let connecting: Option<Latency> = (report.connecting.count() > 0).then(|| report.connecting.latency());
    Ok(Measured {
        seconds: report.window.as_secs_f64(),
        transactions: report.transactions,
        statements: report.statements,
        connects: report.connects,
        failed: report.failed.iter().map(|(state, (count, _))| (state.clone(), *count)).collect(),
        latency: report.latency.latency(),
        connecting,
        own_delay: report.own_delay.latency(),
        histogram: report.latency.text()?,
        sessions: report.sessions,
        client_bound: is_client_bound(layout, &report, &server, &machine),
        server,
        client: report.client,
        client_busy: report.busy,
        machine,
        memory: base.zip(full).map(|(base, full)| Memory {
            connections: u64::from(step.clients + step.idle),
            base,
            full,
        }),
        series,
        counted_by_server: counted,
        counted_by_driver: counted.map(|_| report.committed),
    })
}

/// The samples with the driver's transactions, which are counted by whole seconds of the window: each sample gets those of the
/// seconds that it covers, and ends with the last of them.
fn with_transactions(series: Vec<Second>, counted: &[u64], window: f64) -> Vec<Second> {
    let mut filled: Vec<Second> = Vec::new();
    let mut from = 0;
    let last = series.len().saturating_sub(1);
    for (index, mut second) in series.into_iter().enumerate() {
        let whole = if index == last { window.ceil() as usize } else { second.at as usize };
        if whole <= from {
            continue;
        }
        second.at = (whole as f64).min(window);
        second.transactions = counted.iter().take(whole).skip(from).sum();
        from = whole;
        filled.push(second);
    }
    filled
}

/// What the workload's checks give now.
fn answers(design: &Design, running: &Running) -> Result<Vec<i64>> {
    let mut session = match design.workload.checks.is_empty() {
        true => return Ok(Vec::new()),
        false => Session::connect(running.address())?,
    };
    design.workload.checks.iter().map(|check| Ok(session.number(&check.sql)? as i64)).collect()
}

/// Whether the server kept what it acknowledged: a figure of one that did not is worth nothing.
fn check(design: &Design, running: &Running, before: &[i64], committed: u64) -> Result<()> {
    let after = answers(design, running)?;
    let mut checks = design.workload.checks.iter().zip(before.iter().zip(after));
    checks.try_for_each(|(check, (before, after))| check.compare(*before, after, committed))
}

fn is_client_bound(layout: Layout, report: &Report, server: &Cost, machine: &Use) -> bool {
    let (client, server) = (report.client.cpu_us(), server.cpu_us());
    let full = match layout {
        Layout::One => client + server > FULL * report.window.as_secs_f64() * 1e6,
        Layout::Split => return report.busy > SATURATED,
        Layout::Free => machine.idle + machine.wio < 100.0 * (1.0 - FULL),
    };
    report.ran > SATURATED || (full && client > server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_never_rests_or_takes_the_greater_part_of_what_is_shared_is_the_bottleneck() {
        use Layout::{Free, One, Split};
        // In parts of a second: busy, ran, client, server, idle; the verdict.
        let cases = [
            (Free, (0.99, 0.97, 0.9, 0.9), 0.0, true),
            // Sixty-four processes before it in the queue.
            (Free, (1.00, 0.20, 0.3, 1.4), 0.0, false),
            (Free, (0.90, 0.70, 1.2, 0.6), 5.0, true),
            (Free, (0.10, 0.05, 0.1, 0.05), 90.0, false),
            (Split, (0.99, 0.80, 0.8, 0.5), 40.0, true),
            (Split, (0.70, 0.60, 0.6, 0.9), 20.0, false),
            (One, (1.00, 0.33, 0.3, 0.6), 50.0, false),
            (One, (1.00, 0.60, 0.6, 0.3), 50.0, true),
            // They think: nobody is a bottleneck.
            (One, (0.05, 0.04, 0.04, 0.03), 95.0, false),
        ];
        for (layout, (busy, ran, client, server), idle, bound) in cases {
            let cost = |part: f64| Cost { user_us: part * 1e6, ..Cost::default() };
            let window = Duration::from_secs(1);
            let report = Report { busy, ran, window, client: cost(client), ..Report::default() };
            let machine = Use { idle, ..Use::default() };
            let found = is_client_bound(layout, &report, &cost(server), &machine);
            assert_eq!(found, bound, "{layout:?}, busy {busy}, client {client}, server {server}");
        }
    }

    #[test]
    fn each_second_gets_its_transactions_though_samples_are_late_or_left_out() {
        let taken = |ats: &[f64], counted: &[u64], window: f64| -> Vec<(f64, u64)> {
            let series = ats.iter().map(|at| Second { at: *at, ..Second::default() }).collect();
            let series = with_transactions(series, counted, window);
            series.iter().map(|second| (second.at, second.transactions)).collect()
        };
        assert_eq!(taken(&[1.0, 2.0], &[10, 20], 2.0), [(1.0, 10), (2.0, 20)]);
        assert_eq!(taken(&[1.01, 2.02, 2.5], &[10, 20, 5], 2.5), [(1.0, 10), (2.0, 20), (2.5, 5)]);
        assert_eq!(taken(&[1.0, 4.0], &[1, 2, 3, 4], 4.0), [(1.0, 1), (4.0, 9)], "two were left out");
        assert_eq!(taken(&[1.0, 2.0, 2.4], &[1, 2], 2.0), [(1.0, 1), (2.0, 2)], "what came after is not in it");
        assert_eq!(taken(&[1.0, 2.0, 2.3], &[1, 2, 3], 2.3), [(1.0, 1), (2.0, 2), (2.3, 3)]);
        assert_eq!(taken(&[1.0, 1.9], &[1, 2], 2.0), [(1.0, 1), (2.0, 2)], "the last one covers what is left");
        assert_eq!(taken(&[], &[1], 0.4), []);
    }
}
