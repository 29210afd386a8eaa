//! Locks: modes, queues, deadlocks, and what a session's end leaves.

use crate::runner::Test;
use crate::server::{Client, Directory, MODELS, Server, Setup};
use std::time::{Duration, Instant};

pub fn tests(tests: &mut Vec<Test>) {
    tests.push(("a_lock_is_waited_for_in_order".into(), Box::new(order)));
    tests.push(("a_lock_can_be_done_without".into(), Box::new(without)));
    tests.push(("advisory_locks_outlive_transactions".into(), Box::new(advisory)));
    for model in MODELS {
        let name = Setup::of(model).name().replace(['/', ' '], "_");
        tests.push((format!("a_deadlock_has_one_victim_{name}"), Box::new(move || deadlock(Setup::of(model)))));
    }
    tests.push(("a_killed_host_leaves_no_locks".into(), Box::new(killed)));
}

fn order() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[5]), &dir.0);
    let [mut a, mut b, mut c] = [(); 3].map(|()| server.connect());
    a.expect("lock 7 1", "ok");
    b.send("lock 7 8").unwrap();
    wait_until(&mut a, "holdings", 2);
    // Shares the lock with a, but stands behind b.
    c.send("lock 7 1").unwrap();
    wait_until(&mut a, "holdings", 3);
    // a has it already, in a mode that b waits for: it goes first.
    a.expect("lock 7 3", "ok");
    a.expect("commit", "ok");
    assert_eq!(b.line().unwrap(), "ok");
    b.expect("commit", "ok");
    assert_eq!(c.line().unwrap(), "ok");
    c.expect("commit", "ok");
    assert_eq!((a.stat("locks"), a.stat("holdings")), (0, 0));
    server.stop();
}

fn without() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[1]), &dir.0);
    let [mut a, mut b] = [(); 2].map(|()| server.connect());
    a.expect("lock 7 5", "ok");
    b.expect("lock 7 3 0", "no");
    b.expect("lock 7 1 0", "ok");
    let since = Instant::now();
    let answer = b.ask("lock 7 3 60");
    assert!(answer.starts_with("error 55P03"), "{answer}");
    assert!(since.elapsed() >= Duration::from_millis(60));
    a.expect("commit", "ok");
    b.expect("lock 7 3", "ok");
    b.expect("commit", "ok");
    assert_eq!((a.stat("locks"), a.stat("holdings")), (0, 0));
    server.stop();
}

fn advisory() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[2]), &dir.0);
    let [mut a, mut b] = [(); 2].map(|()| server.connect());
    a.expect("advisory 5", "ok");
    a.expect("advisory 5", "ok");
    a.expect("abort", "ok");
    b.send("advisory 5").unwrap();
    wait_until(&mut a, "holdings", 2);
    a.expect("unadvisory 5", "ok");
    assert_eq!(a.stat("holdings"), 2);
    a.expect("unadvisory 5", "ok");
    a.expect("unadvisory 5", "no");
    assert_eq!(b.line().unwrap(), "ok");
    drop(b);
    wait_until(&mut a, "holdings", 0);
    server.stop();
}

fn deadlock(setup: Setup) {
    let dir = Directory::new();
    let server = Server::start(&setup, &dir.0);
    let mut clients: Vec<Client> = (0..4).map(|_| server.connect()).collect();
    let rel = clients[0].number("make 4 0");
    for (at, client) in clients.iter_mut().enumerate() {
        client.expect(&format!("add {rel} {at} 1"), "ok");
    }
    // A circle of four: the last edge is a lock of an object.
    clients[0].expect("lock 9 8", "ok");
    #[allow(clippy::needless_range_loop, reason = "a client talks to the next one in the ring")]
    for at in 0..3 {
        clients[at].send(&format!("add {rel} {} 1", at + 1)).unwrap();
    }
    let since = Instant::now();
    clients[3].send("lock 9 1").unwrap();
    let mut victims = 0;
    let mut open: Vec<usize> = (0..4).collect();
    // The victim's abort lets its predecessor go on, and so forth round the circle.
    while !open.is_empty() {
        open.retain(|&at| {
            let Some(answer) = clients[at].line_within(Duration::from_millis(5)) else { return true };
            if answer.starts_with("error 40P01") {
                victims += 1;
                assert!(answer.contains("is blocked by session"), "{answer}");
            } else {
                assert_eq!(answer, "ok");
            }
            clients[at].expect("commit", "ok");
            false
        });
        assert!(since.elapsed() < Duration::from_secs(5), "nobody gives up");
    }
    assert_eq!(victims, 1, "one circle, one victim");
    assert!(since.elapsed() < Duration::from_millis(500), "it took {:?}", since.elapsed());
    assert_eq!(clients[0].stat("deadlocks"), 1);
    assert_eq!((clients[0].stat("locks"), clients[0].stat("running")), (0, 0));
    server.stop();
}

fn killed() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[0]), &dir.0);
    let [mut a, mut b, mut c] = [(); 3].map(|()| server.connect());
    let rel = a.number("make 3 10");
    b.expect("lock 5 8", "ok");
    b.expect("advisory 3", "ok");
    b.expect(&format!("add {rel} 1 5"), "ok");
    b.expect("hold", "ok");
    c.send(&format!("add {rel} 1 1")).unwrap();
    let pid = b.number("pid");
    std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert_eq!(c.line().unwrap(), "ok", "the dead session's transaction has ended");
    c.expect("commit", "ok");
    a.expect(&format!("get {rel} 1"), "value 11");
    wait_until(&mut a, "locks", 0);
    assert_eq!(a.stat("running"), 0);
    a.expect("lock 5 8", "ok");
    a.expect("commit", "ok");
    drop(server);
}

fn wait_until(client: &mut Client, name: &str, value: u64) {
    let end = Instant::now() + Duration::from_secs(5);
    while client.stat(name) != value {
        assert!(Instant::now() < end, "{name} is {} and not {value}", client.stat(name));
        std::thread::sleep(Duration::from_millis(2));
    }
}
