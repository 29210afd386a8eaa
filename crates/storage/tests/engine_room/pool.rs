//! The buffer pool: pages come and go, and nothing is lost on the way.

use crate::runner::Test;
use crate::server::{Directory, MODELS, Server, Setup};
use kernel::config::IoMethod;

pub fn tests(tests: &mut Vec<Test>) {
    for io in [IoMethod::Uring, IoMethod::Workers, IoMethod::Sync] {
        tests.push((format!("a_table_larger_than_the_pool_{io}"), Box::new(move || larger_than_the_pool(io))));
    }
    tests.push(("pages_survive_a_clean_stop".into(), Box::new(clean_stop)));
    tests.push(("a_scan_leaves_others_pages_alone".into(), Box::new(scans)));
    tests.push(("reading_ahead_reads_once".into(), Box::new(reading_ahead)));
    tests.push(("a_dropped_relation_leaves_nothing".into(), Box::new(dropped)));
    tests.push(("a_damaged_page_is_an_error_and_never_data".into(), Box::new(damaged)));
}

fn larger_than_the_pool(io: IoMethod) {
    let dir = Directory::new();
    let setup = Setup::of(MODELS[5]).io(io).pages(128);
    let server = Server::start(&setup, &dir.0);
    let mut client = server.connect();
    let rel = client.number("make 600 5");
    let workers: Vec<_> = (0..6u32)
        .map(|worker| {
            let mut client = server.connect();
            std::thread::spawn(move || {
                for round in 0..150u32 {
                    let from = (round * 37 + worker * 101) % 600;
                    let to = (round * 53 + worker * 7 + 1) % 600;
                    if from != to {
                        let answer = client.ask(&format!("move {rel} {from} {to} {}", round + 1));
                        assert!(answer == "ok" || answer.starts_with("error 40P01"), "{answer}");
                    }
                }
            })
        })
        .collect();
    for _ in 0..5 {
        client.expect(&format!("sum {rel}"), "sum 3000 600");
    }
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    client.expect(&format!("sum {rel}"), "sum 3000 600");
    assert_eq!(client.stat("used"), 128);
    assert!(client.stat("evictions") > 1000);
    assert_eq!(client.stat("failures"), 0);
    server.stop();
}

fn clean_stop() {
    let dir = Directory::new();
    let setup = Setup::of(MODELS[0]);
    let server = Server::start(&setup, &dir.0);
    let mut client = server.connect();
    let rel = client.number("make 20 7");
    client.expect(&format!("set {rel} 3 99"), "ok");
    client.expect(&format!("delete {rel} 4"), "ok");
    server.stop();
    let server = Server::launch(&setup, &dir.0);
    let recovered = server.wait_ready();
    assert!(recovered.contains("clean: true") && recovered.contains("applied: 0"), "{recovered}");
    let mut client = server.connect();
    client.expect(&format!("get {rel} 3"), "value 99");
    client.expect(&format!("get {rel} 4"), "none");
    client.expect(&format!("sum {rel}"), &format!("sum {} 19", 18 * 7 + 99));
    server.stop();
}

fn scans() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[5]).pages(200), &dir.0);
    let mut client = server.connect();
    let hot = client.number("make 100 1");
    let cold = client.number("make 500 1");
    client.expect("checkpoint", "ok");
    for _ in 0..4 {
        client.expect(&format!("sum {hot}"), "sum 100 100");
    }
    let before = client.stat("reads");
    client.expect(&format!("scan {cold}"), "ok");
    let scanned = client.stat("reads") - before;
    assert!(scanned >= 400, "the scan read {scanned} pages");
    let before = client.stat("reads");
    client.expect(&format!("sum {hot}"), "sum 100 100");
    let lost = client.stat("reads") - before;
    assert!(lost <= 5, "a scan drove out {lost} of 100 pages that are in use");
    server.stop();
}

fn reading_ahead() {
    let dir = Directory::new();
    let setup = Setup::of(MODELS[5]);
    let server = Server::start(&setup, &dir.0);
    let rel = server.connect().number("make 60 2");
    server.stop();
    let server = Server::start(&setup, &dir.0);
    let mut client = server.connect();
    client.expect(&format!("prefetch {rel}"), "ok");
    assert_eq!(client.stat("reads"), 60);
    client.expect(&format!("sum {rel}"), "sum 120 60");
    assert_eq!(client.stat("reads"), 60);
    server.stop();
}

fn dropped() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[2]), &dir.0);
    let mut client = server.connect();
    let rel = client.number("make 50 2");
    let file = dir.0.join(format!("base/{rel}"));
    assert!(file.exists());
    client.expect(&format!("drop {rel}"), "ok");
    assert!(!file.exists());
    assert!(client.ask(&format!("get {rel} 1")).starts_with("error 58P01"));
    assert_eq!(client.stat("dirty"), 0);
    server.stop();
}

fn damaged() {
    let dir = Directory::new();
    let setup = Setup::of(MODELS[3]);
    let server = Server::start(&setup, &dir.0);
    let rel = server.connect().number("make 10 2");
    server.stop();
    let path = dir.0.join(format!("base/{rel}"));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4 * 8192 + 5000] ^= 0x10;
    std::fs::write(&path, bytes).unwrap();
    let server = Server::start(&setup, &dir.0);
    let mut client = server.connect();
    for _ in 0..3 {
        let answer = client.ask(&format!("get {rel} 4"));
        assert!(answer.starts_with(&format!("error XX001 page {rel}/4 is damaged")), "{answer}");
        assert!(answer.contains("LSN"), "{answer}");
    }
    client.expect(&format!("get {rel} 5"), "value 2");
    server.stop();
}
