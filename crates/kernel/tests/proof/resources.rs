//! What comes goes: ten thousand sessions that rest, and what they cost; and that engines, descriptors and memory are as
//! before when clients have left, however often they come.

use crate::figure;
use crate::support::client::field;
use crate::support::procs::Memory;
use crate::support::runner::Test;
use crate::support::{Client, MODELS, Server, Setup, eventually, pooled, procs, small_or_full};
use kernel::config::{EngineKind, Sessions};
use std::time::{Duration, Instant};

pub fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for model in pooled() {
        let name = format!("resources::parked_{}_{}", model.0, model.1);
        tests.push((name, Box::new(move || parked(Setup::of(model)))));
    }
    for model in MODELS {
        let name = format!("resources::churn_{}_{}", model.0, model.1);
        tests.push((name, Box::new(move || churn(Setup::of(model)))));
    }
    for model in MODELS {
        let name = format!("resources::idle_{}_{}", model.0, model.1);
        tests.push((name, Box::new(move || idle(Setup::of(model)))));
    }
    tests
}

/// Many sessions that rest: all are there, and cost little.
fn parked(setup: Setup) {
    let count = small_or_full(500, 10_000);
    raise_descriptor_limit();
    let server = Server::start(Setup { max_connections: count as u32 + 100, region_bytes_max: 1 << 30, ..setup });
    let name = server.setup.name();
    let mut observer = server.connect();
    observer.expect("ping", "pong");
    let before = (Memory::of_all(&server.processes()), observer.stat("arenas"));
    let since = Instant::now();
    let mut clients: Vec<Client> = (0..count).map(|_| server.connect()).collect();
    // Half of them have something in their arenas.
    for (index, client) in clients.iter_mut().enumerate() {
        match index % 2 {
            0 => client.expect("ping", "pong"),
            _ => client.expect(&format!("put 1 200 {}", index % 250), "ok"),
        }
    }
    let connected = since.elapsed();
    assert_eq!(observer.stat("clients"), count as u64 + 1);
    let after = (Memory::of_all(&server.processes()), observer.stat("arenas"));
    // All at once, and one after the other.
    let since = Instant::now();
    clients.iter_mut().for_each(|client| client.send("ping").unwrap());
    clients.iter_mut().for_each(|client| assert_eq!(client.line().unwrap(), "pong"));
    let all = since.elapsed();
    for (index, client) in clients.iter_mut().enumerate().filter(|(index, _)| index % 2 == 1) {
        client.expect("get 1", &format!("value 200 {}", index % 250));
    }
    let each = |kib: u64| kib as f64 / count as f64;
    figure!(
        "{name}: {count} parked sessions: each {:.2} KiB of PSS ({:.2} private, {:.2} shared), {:.2} KiB of page tables, \
         {:.2} KiB of arenas; connected in {:.1} s, all answered in {:.2} s",
        each(after.0.pss.saturating_sub(before.0.pss)),
        each(after.0.anonymous.saturating_sub(before.0.anonymous)),
        each(after.0.shared.saturating_sub(before.0.shared)),
        each(after.0.page_tables.saturating_sub(before.0.page_tables)),
        each((after.1 - before.1) >> 10),
        connected.as_secs_f64(),
        all.as_secs_f64(),
    );
    assert!(all < Duration::from_secs(2 + count as u64 / 1000), "{name}: all sessions answered in {all:?}");
    drop(clients);
    let left = eventually(10_000, || observer.stat("clients") == 1 && observer.stat("arenas") <= before.1 + 4096);
    let stat = observer.ask("stat");
    assert!(left, "{name}: what sessions had is not given back: {stat}");
    assert_eq!(field(&stat, "heap"), field(&stat, "accounts"), "{name}: {stat}");
    // The system has the memory back too, but for the extents that are kept ready.
    assert!(field(&stat, "present").unwrap() <= 8 << 20, "{name}: {stat}");
    let closed = eventually(5000, || server.processes().iter().all(|&pid| sockets(pid) < 20));
    assert!(closed, "{name}: {:?}", server.processes().into_iter().map(sockets).collect::<Vec<_>>());
    drop(observer);
    server.stop();
}

/// Ten thousand connections need as many descriptors here.
fn raise_descriptor_limit() {
    // SAFETY: plain system calls with a valid variable.
    unsafe {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
}

fn sockets(pid: i32) -> usize {
    procs::descriptors(pid).get("socket").copied().unwrap_or(0)
}

/// Clients come and go in bursts, and wait while they are there: after each burst the server is as it was.
fn churn(setup: Setup) {
    const CLIENTS: usize = 60;
    // A dedicated group keeps up to sixteen engines, a shared one four that stand by beside its two.
    const MOST: usize = 3 + 1 + 16;
    let server = Server::start(setup);
    let name = server.setup.name();
    let mut observer = server.connect();
    observer.expect("ping", "pong");
    let mut sizes = Vec::new();
    for burst in 0..small_or_full(4, 40) {
        let mut clients = server.connect_many(CLIENTS);
        clients.iter_mut().for_each(|client| client.send("sleep 10").unwrap());
        clients.iter_mut().for_each(|client| assert_eq!(client.line().unwrap(), "ok"));
        drop(clients);
        assert!(eventually(2000, || observer.stat("clients") == 1), "{name}: {}", observer.ask("stat"));
        if burst != 0 && burst % 4 != 3 {
            continue;
        }
        // What is too many ends at once or, standing by, after two seconds; the first burst makes what is kept.
        let count = || {
            let pids = server.processes();
            let threads: usize = pids.iter().map(|&pid| procs::threads(pid).len()).sum();
            let descriptors: usize = pids.iter().flat_map(|&pid| procs::descriptors(pid).into_values()).sum();
            (pids.len(), threads, descriptors, Memory::of_all(&pids).pss)
        };
        if burst != 0 {
            eventually(10_000, || {
                let (processes, threads, ..) = count();
                processes <= MOST && threads <= MOST + 3
            });
        }
        sizes.push(count());
    }
    let stat = observer.ask("stat");
    figure!("{name}: processes, threads, descriptors, KiB after the first burst and later: {sizes:?}");
    let (first, last) = (sizes[0], *sizes.last().unwrap());
    assert!(last.0 <= MOST && last.1 <= MOST + 3, "{name}: {last:?}: {stat}");
    assert!(last.2 <= first.2.max(MOST * 30), "{name}: descriptors grow: {sizes:?}");
    assert!(last.3 <= first.3 + (8 << 10), "{name}: memory grows: {sizes:?}");
    drop(observer);
    server.stop();
}

/// A server with sessions that rest does nothing: its engines sleep, moved sessions too.
fn idle(setup: Setup) {
    for move_sessions in [false, true] {
        if move_sessions && setup.sessions == Sessions::Dedicated {
            continue;
        }
        let server = Server::start(Setup { move_sessions, ..setup });
        let name = server.setup.name();
        let clients = server.connect_many(50);
        std::thread::sleep(Duration::from_millis(300));
        let (before, since) = (server.cpu_ticks(), Instant::now());
        std::thread::sleep(Duration::from_millis(600));
        let percent = (server.cpu_ticks() - before) as f64 / since.elapsed().as_secs_f64();
        figure!("{name}: idle, it takes {percent:.1} % of a CPU");
        // Ticks are hundredths of a second; the ticker of the background host costs a few parts in a thousand.
        let most = if setup.engine == EngineKind::Process && setup.sessions == Sessions::Dedicated { 6.0 } else { 4.0 };
        assert!(percent <= most, "{name}: a server that has nothing to do takes {percent:.1} % of a CPU");
        drop(clients);
        server.stop();
    }
}
