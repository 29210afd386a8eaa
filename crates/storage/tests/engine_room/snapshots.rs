//! What snapshots see, and what commits promise, in every model.

use crate::runner::Test;
use crate::server::{Directory, MODELS, Server, Setup};

pub fn tests(tests: &mut Vec<Test>) {
    for model in MODELS {
        let name = Setup::of(model).name().replace(['/', ' '], "_");
        tests.push((format!("transfers_keep_the_sum_{name}"), Box::new(move || transfers(Setup::of(model)))));
    }
    tests.push(("a_held_snapshot_sees_what_it_saw".into(), Box::new(held)));
    tests.push(("uncommitted_and_aborted_changes_are_invisible".into(), Box::new(invisible)));
    tests.push(("an_asynchronous_commit_is_seen_by_its_session".into(), Box::new(asynchronous)));
    tests.push(("the_transaction_map_forgets".into(), Box::new(map)));
}

fn transfers(setup: Setup) {
    let dir = Directory::new();
    let server = Server::start(&setup, &dir.0);
    let mut client = server.connect();
    let rel = client.number("make 20 1000");
    let workers: Vec<_> = (0..6u32)
        .map(|worker| {
            let mut client = server.connect();
            std::thread::spawn(move || {
                let mut done = 0;
                for round in 0..100u32 {
                    let (from, to) = ((round * 7 + worker) % 20, (round * 11 + worker * 3 + 1) % 20);
                    if from == to {
                        continue;
                    }
                    let answer = client.ask(&format!("move {rel} {from} {to} {}", round % 9));
                    assert!(answer == "ok" || answer.starts_with("error 40P01"), "{answer}");
                    done += (answer == "ok") as u32;
                }
                done
            })
        })
        .collect();
    for _ in 0..30 {
        client.expect(&format!("sum {rel}"), "sum 20000 20");
    }
    let done: u32 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    assert!(done > 300, "{done} transfers");
    client.expect(&format!("sum {rel}"), "sum 20000 20");
    assert_eq!(client.stat("running"), 0);
    assert_eq!(client.stat("pins"), 0);
    server.stop();
}

fn held() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[1]), &dir.0);
    let (mut reader, mut writer) = (server.connect(), server.connect());
    let rel = reader.number("make 3 10");
    reader.expect("hold", "ok");
    for value in 11..200 {
        writer.expect(&format!("set {rel} 1 {value}"), "ok");
        if value == 12 {
            // More than this and the page is full of versions that the snapshot needs.
            break;
        }
    }
    reader.expect(&format!("see {rel} 1"), "value 10");
    reader.expect(&format!("get {rel} 1"), "value 12");
    reader.expect("release", "ok");
    for value in 13..200 {
        writer.expect(&format!("set {rel} 1 {value}"), "ok");
    }
    reader.expect(&format!("get {rel} 1"), "value 199");
    server.stop();
}

fn invisible() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[4]), &dir.0);
    let (mut a, mut b) = (server.connect(), server.connect());
    let rel = a.number("make 3 10");
    a.expect(&format!("add {rel} 0 5"), "ok");
    b.expect(&format!("get {rel} 0"), "value 10");
    a.expect("abort", "ok");
    b.expect(&format!("get {rel} 0"), "value 10");
    a.expect(&format!("add {rel} 0 5"), "ok");
    a.expect("commit", "ok");
    b.expect(&format!("get {rel} 0"), "value 15");
    // A connection that ends in the middle of a transaction aborts it.
    let mut c = server.connect();
    c.expect(&format!("add {rel} 0 100"), "ok");
    drop(c);
    b.expect(&format!("set {rel} 0 16"), "ok");
    b.expect(&format!("get {rel} 0"), "value 16");
    server.stop();
}

fn asynchronous() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[5]), &dir.0);
    let (mut a, mut b) = (server.connect(), server.connect());
    let rel = a.number("make 2 0");
    for value in 1..50 {
        a.expect(&format!("add {rel} 0 1"), "ok");
        a.expect("async", "ok");
        a.expect(&format!("get {rel} 0"), &format!("value {value}"));
    }
    // The log writer makes them durable, and so visible to everybody, in a moment.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while b.ask(&format!("get {rel} 0")) != "value 49" {
        assert!(std::time::Instant::now() < end, "the log writer sleeps");
    }
    server.stop();
}

fn map() {
    let dir = Directory::new();
    let setup = Setup::of(MODELS[5]);
    let server = Server::start(&setup, &dir.0);
    let mut a = server.connect();
    let rel = a.number("make 2 0");
    a.expect("xids 70000 0", "ok");
    a.expect("xids 70000 1", "ok");
    a.expect("xids 70000 0", "ok");
    a.expect(&format!("set {rel} 0 1"), "ok");
    a.ask("checkpoint");
    // The background may have been faster.
    a.number("compress");
    assert_eq!((a.stat("map_full"), a.stat("map_bits")), (1, 2));
    a.expect(&format!("get {rel} 0"), "value 1");
    a.expect("checkpoint", "ok");
    server.kill();
    // What aborted is known after a crash, too.
    let server = Server::start(&setup, &dir.0);
    let mut a = server.connect();
    assert_eq!((a.stat("map_full"), a.stat("map_bits")), (1, 2));
    a.expect(&format!("get {rel} 0"), "value 1");
    server.stop();
}
