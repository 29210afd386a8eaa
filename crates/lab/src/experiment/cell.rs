//! One measurement: a server is started, warmed, loaded, read and stopped.
//!
//! ```text
//!   start ─ warm ─ count, memory ─▶ connect ─▶ warm up ─▶ │ CPU, views … window … CPU, memory │ ─▶ leave ─ count ─ stop
//! ```
//!
//! Rules
//! 1. What is counted between the two ends of the window is what the driver counts between them too.
//! 2. The driver was the bottleneck where one of its threads ran, or wanted to run, nearly all the time while the server had
//!    processors of its own. Where both share one processor, it was if it used more of it than the server.
//! 3. The reader of views is a session like any other and its cost is the server's: once a second, it is small.

use super::design::{Design, Layout, Step};
use super::views::{self, Reader, Views};
use crate::driver::{self, Load, Moment, Session};
use crate::measure::machine::Processors;
use crate::measure::processes::Usage;
use crate::measure::sampler::Sampler;
use crate::record::{Cost, Footprint, Latency, Measured, Memory};
use crate::server::Running;
use base::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// From which part of its time on a driver thread counts as saturated.
const SATURATED: f64 = 0.95;

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
    let counted = views::count(views, address)?;
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
            at_begin = Some((tree.map(Usage::now).unwrap_or_default(), Processors::now()));
            sampler = tree.and_then(|tree| Sampler::start(tree.clone(), move || reader.read()).ok());
        }
        Moment::End => {
            at_end = Some((tree.map(Usage::now).unwrap_or_default(), Processors::now()));
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
    let others = report.prepared + asked.load(Relaxed);
    let counted = match counted {
        Some(before) => views::counted_since(before, views, address, report.committed + others)?,
        None => None,
    };
    let counted = counted.map(|count| count.saturating_sub(others));
    check(design, running, &checks, report.committed)?;
    for (second, transactions) in series.iter_mut().zip(&report.seconds) {
        second.transactions = *transactions;
    }
    let server = end.0.since(&begin.0);
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
        client_bound: is_client_bound(layout, report.busy, &server, &report.client),
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

fn is_client_bound(layout: Layout, busy: f64, server: &Cost, client: &Cost) -> bool {
    match layout {
        Layout::One => client.cpu_us() > server.cpu_us(),
        Layout::Split | Layout::Free => busy > SATURATED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_never_rests_is_the_bottleneck() {
        let cost = |user_us| Cost { user_us, ..Cost::default() };
        assert!(is_client_bound(Layout::Free, 0.99, &cost(9.0), &cost(1.0)));
        assert!(!is_client_bound(Layout::Free, 0.80, &cost(1.0), &cost(9.0)));
        assert!(!is_client_bound(Layout::One, 1.0, &cost(2.0), &cost(1.0)));
        assert!(is_client_bound(Layout::One, 1.0, &cost(1.0), &cost(2.0)));
    }
}
