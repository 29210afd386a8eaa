//! `gearbox limit`: canned answers through the server's own loop, parking and waits.
//!
//! There are no tables behind it, so these scenarios show that connections are served, at any number, in each protocol,
//! and that a stop is clean whatever the clients are doing.

use super::{Effort, Scenario};
use crate::pgbench::{self, Load};
use crate::process;
use crate::server_under_test::ServerUnderTest;
use crate::{Outcome, machine};
use std::process::Stdio;
use std::time::Duration;

/// All scenarios of this file.
pub fn scenarios() -> Vec<Scenario> {
    let scenario = |name, run| Scenario { name, subcommand: "limit", applies: |_| true, long: false, run };
    vec![
        scenario("limit-psql", psql),
        scenario("limit-protocols", protocols),
        scenario("limit-crowd", crowd),
        scenario("limit-shape", shape),
        scenario("limit-reconnect", reconnect),
        scenario("limit-stop-under-load", stop_under_load),
        scenario("limit-stop-at-once", |server, _| server.stop()),
        scenario("limit-interrupt", interrupt),
    ]
}

fn select_only(protocol: &str, clients: u32, seconds: u32) -> Load {
    Load { script: "select-only".into(), protocol: protocol.into(), clients, jobs: 1, seconds }
}

fn psql(server: ServerUnderTest, _: Effort) -> Outcome<()> {
    select_one(&server)?;
    server.stop()
}

/// Ctrl-C is as good as SIGTERM.
fn interrupt(server: ServerUnderTest, _: Effort) -> Outcome<()> {
    select_one(&server)?;
    server.stop_with("INT")
}

fn select_one(server: &ServerUnderTest) -> Outcome<()> {
    let output =
        server.client("psql").args(["-X", "-At", "-c", "select 1"]).output().map_err(|e| format!("psql: {e}"))?;
    if !output.status.success() {
        return Err(format!("psql ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(())
}

fn protocols(server: ServerUnderTest, effort: Effort) -> Outcome<()> {
    for protocol in ["simple", "extended", "prepared"] {
        pgbench::run_clean(server.client("pgbench"), &select_only(protocol, 8, effort.seconds))?;
    }
    server.stop()
}

/// Many come, all leave at once, and the next one is served as if nothing had been.
fn crowd(server: ServerUnderTest, effort: Effort) -> Outcome<()> {
    pgbench::run_clean(server.client("pgbench"), &select_only("prepared", 500, effort.seconds))?;
    std::thread::sleep(Duration::from_millis(200));
    select_one(&server)?;
    server.stop()
}

/// What carries many sessions at once, as the operating system sees it. This is the one scenario that looks at the model:
/// it asks whether the model is what its name says.
fn shape(server: ServerUnderTest, effort: Effort) -> Outcome<()> {
    // More sessions than a pool could have tasks for them.
    let sessions = 32 + 8 * machine::cpus() as u32;
    let load = select_only("prepared", sessions, effort.seconds.max(3));
    let run = pgbench::run(server.client("pgbench"), &load, 0.01, &server.work_dir(), |_| server.processes())?;
    let processes = &run.samples.1;
    let (count, most_threads) = (processes.len() as u32, processes.iter().map(|p| p.threads).max().unwrap_or(0));
    let tasks: u32 = processes.iter().map(|process| process.threads).sum();
    let model = server.settings().model;
    let right = match (model.engine, model.pooled()) {
        ("process", false) => count > sessions,
        ("thread", false) => most_threads > sessions && count < sessions,
        ("process", true) => count > 2 && tasks < sessions,
        _ => count < sessions && most_threads > 1 && tasks < sessions,
    };
    if !right {
        return Err(format!(
            "{sessions} sessions are carried by {count} processes with {tasks} threads, {most_threads} in one of them: not {model}"
        ));
    }
    server.stop()
}

/// A connection for each transaction: sessions begin and end as fast as one client can make them.
fn reconnect(server: ServerUnderTest, effort: Effort) -> Outcome<()> {
    let mut command = server.client("pgbench");
    command.arg("--connect");
    pgbench::run_clean(command, &select_only("simple", 4, effort.seconds))?;
    server.stop()
}

/// Clients lose their connections, nobody else loses anything.
fn stop_under_load(server: ServerUnderTest, effort: Effort) -> Outcome<()> {
    let mut command = server.client("pgbench");
    command.args("-n -S -M prepared -c 16 -T 600".split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
    let mut clients = command.spawn().map_err(|error| format!("pgbench: {error}"))?;
    std::thread::sleep(Duration::from_millis(500 * u64::from(effort.seconds)));
    let early = clients.try_wait().map_err(|error| error.to_string())?;
    let outcome = server.stop();
    process::signal("KILL", clients.id());
    let _ = clients.wait();
    match early {
        Some(status) => Err(format!("pgbench ended before the stop: {status}")),
        None => outcome,
    }
}
