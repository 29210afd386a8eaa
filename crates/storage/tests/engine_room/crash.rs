//! Crashes: what was acknowledged is there, what was not is there as a whole or not at all, whatever was going on.

use crate::runner::Test;
use crate::server::{Client, Directory, MODELS, Server, Setup};
use kernel::config::IoMethod;
use std::collections::BTreeMap;
use std::io::{Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub fn tests(tests: &mut Vec<Test>) {
    for (nth, model) in MODELS.into_iter().enumerate() {
        let io = [IoMethod::Uring, IoMethod::Workers, IoMethod::Sync][nth % 3];
        let setup = Setup::of(model).io(io);
        let name = setup.name().replace(['/', ' '], "_");
        tests.push((format!("killed_in_mid_load_{name}"), Box::new(move || mid_load(&setup))));
    }
    tests.push(("a_torn_page_is_repaired".into(), Box::new(torn)));
    tests.push(("recovery_can_be_killed_too".into(), Box::new(killed_recovery)));
    tests.push(("redo_reads_ahead".into(), Box::new(read_ahead)));
    tests.push(("a_torn_end_of_the_log_is_its_end".into(), Box::new(torn_log)));
    tests.push(("what_a_start_refuses".into(), Box::new(refusals)));
    tests.push(("the_log_is_recycled".into(), Box::new(recycled)));
}

/// What a client has been told, and what it has asked for since.
#[derive(Clone, Copy, Default)]
struct Known {
    acknowledged: i64,
    asked: i64,
}

/// Rows of a client, with the last value acknowledged and asked for.
type Model = Arc<Mutex<BTreeMap<u32, Known>>>;

/// Clients set rows of their own to ever higher values, and move amounts between two rows, until the server is gone.
fn load(
    address: std::net::SocketAddr,
    rel: i64,
    round: i64,
    models: &[Model],
    stop: &Arc<AtomicBool>,
) -> Vec<std::thread::JoinHandle<u64>> {
    models
        .iter()
        .enumerate()
        .map(|(client_number, model)| {
            let (model, stop) = (model.clone(), stop.clone());
            std::thread::spawn(move || {
                let mut done = 0;
                let Ok(mut client) = Client::connect(address) else { return 0 };
                let mut value = round * 1_000_000;
                while !stop.load(SeqCst) {
                    value += 1;
                    let key = client_number as u32 * 8 + (value as u32 * 5) % 8;
                    model.lock().unwrap().entry(key).or_default().asked = value;
                    match client.try_ask(&format!("set {rel} {key} {value}")) {
                        Ok(answer) if answer == "ok" => {
                            model.lock().unwrap().get_mut(&key).unwrap().acknowledged = value
                        }
                        Ok(answer) => panic!("{answer}"),
                        Err(_) => return done,
                    }
                    let (from, to) = (100 + (value as u32 * 3) % 10, 100 + (value as u32 * 7 + 1) % 10);
                    if from != to {
                        match client.try_ask(&format!("move {rel} {from} {to} 1")) {
                            Ok(answer) => assert!(answer == "ok" || answer.starts_with("error 40P01"), "{answer}"),
                            Err(_) => return done,
                        }
                    }
                    done += 1;
                }
                done
            })
        })
        .collect()
}

/// More pages than the pool has are changed again and again: recovery reads each once, and most before it asks for them.
fn read_ahead() {
    let dir = Directory::new();
    let setup = Setup::of(MODELS[5]).pages(128);
    let server = Server::start(&setup, &dir.0);
    let mut client = server.connect();
    let rel = client.number("make 600 1");
    client.expect("checkpoint", "ok");
    for round in 1..=3 {
        for key in 0..600 {
            client.expect(&format!("set {rel} {key} {}", key + round * 1000), "ok");
        }
    }
    server.kill();
    let server = Server::launch(&setup, &dir.0);
    let recovered = server.wait_ready();
    let (_, count) = recovered.split_once("read_ahead: ").expect("what recovery did is told");
    let count: u64 = count.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
    assert!((400..=700).contains(&count), "{recovered}");
    server.connect().expect(&format!("sum {rel}"), &format!("sum {} 600", 600 * 3000 + 600 * 599 / 2));
    server.stop();
}

#[track_caller]
fn check(server: &Server, rel: i64, models: &[Model]) {
    let mut client = server.connect();
    for model in models {
        for (&key, known) in model.lock().unwrap().iter_mut() {
            let found = client.number(&format!("get {rel} {key}"));
            assert!(
                found == known.asked || found == known.acknowledged,
                "row {key} is {found}; {} was acknowledged and {} asked for; the log:\n{}",
                known.acknowledged,
                known.asked,
                server.log()
            );
            known.acknowledged = found;
            known.asked = found;
        }
    }
    // Transfers are whole or not there.
    let sum: i64 = (100..110).map(|key| client.number(&format!("get {rel} {key}"))).sum();
    assert_eq!(sum, 0, "transfers are half there");
}

fn mid_load(setup: &Setup) {
    let dir = Directory::new();
    // A pool that is smaller than the table, and a log that fills soon: pages are written, checkpoints made meanwhile.
    let setup = Setup { max_wal_size: 24 << 20, ..setup.clone().pages(128) };
    let mut server = Server::start(&setup, &dir.0);
    let rel = server.connect().number("make 400 0");
    let models: Vec<Model> = (0..5).map(|_| Model::default()).collect();
    for round in 1..=3 {
        let stop = Arc::new(AtomicBool::new(false));
        let workers = load(server.address(), rel, round, &models, &stop);
        let scanner = {
            let (address, stop) = (server.address(), stop.clone());
            std::thread::spawn(move || {
                let Ok(mut client) = Client::connect(address) else { return };
                while !stop.load(SeqCst) {
                    // Drives pages out, so that they are written.
                    if client.try_ask(&format!("sum {rel}")).is_err() || client.try_ask("checkpoint").is_err() {
                        return;
                    }
                }
            })
        };
        std::thread::sleep(Duration::from_millis(150 + 130 * round as u64));
        server.kill();
        stop.store(true, SeqCst);
        let done: u64 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
        scanner.join().unwrap();
        assert!(done > 10, "only {done} requests were served");
        server = Server::start(&setup, &dir.0);
        check(&server, rel, &models);
    }
    server.stop();
}

fn torn() {
    let dir = Directory::new();
    let setup = Setup::of(MODELS[5]);
    let server = Server::start(&setup, &dir.0);
    let mut client = server.connect();
    let rel = client.number("make 40 3");
    for key in 0..40 {
        client.expect(&format!("set {rel} {key} {}", key + 1000), "ok");
    }
    // Pages are written, their copies are in the double-write file.
    client.expect("checkpoint", "ok");
    for key in 0..40 {
        client.expect(&format!("set {rel} {key} {}", key + 2000), "ok");
    }
    // Writes them once more, without the flush that would make the copies old.
    client.expect("checkpoint", "ok");
    server.kill();
    let path = dir.0.join(format!("base/{rel}"));
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    for key in [3u64, 17, 39] {
        file.seek(SeekFrom::Start(key * 8192 + 4096)).unwrap();
        file.write_all(&[0xEE; 4096]).unwrap();
    }
    drop(file);
    let server = Server::launch(&setup, &dir.0);
    let recovered = server.wait_ready();
    assert!(recovered.contains("repaired: 3"), "{recovered}");
    let mut client = server.connect();
    for key in 0..40 {
        client.expect(&format!("get {rel} {key}"), &format!("value {}", key + 2000));
    }
    server.stop();
}

fn killed_recovery() {
    let dir = Directory::new();
    let setup = Setup::of(MODELS[5]).pages(128);
    let server = Server::start(&setup, &dir.0);
    let mut client = server.connect();
    let rel = client.number("make 300 1");
    for round in 0..4 {
        for key in 0..300 {
            client.expect(&format!("set {rel} {key} {}", key * 10 + round), "ok");
        }
    }
    server.kill();
    let killed = AtomicU64::new(0);
    for pause in [1, 3, 8, 15, 30, 60] {
        let server = Server::launch(&setup, &dir.0);
        std::thread::sleep(Duration::from_millis(pause));
        server.kill();
        killed.fetch_add(1, SeqCst);
    }
    let server = Server::start(&setup, &dir.0);
    let mut client = server.connect();
    for key in 0..300 {
        client.expect(&format!("get {rel} {key}"), &format!("value {}", key * 10 + 3));
    }
    server.stop();
}

/// The newest log file that has something in it, and where its last byte that is not zero lies.
fn log_end(dir: &std::path::Path) -> (std::path::PathBuf, u64) {
    let mut files: Vec<_> = std::fs::read_dir(dir.join("wal")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files.into_iter().rev() {
        let bytes = std::fs::read(&file).unwrap();
        if let Some(last) = bytes.iter().rposition(|&byte| byte != 0) {
            return (file, last as u64);
        }
    }
    panic!("the log is empty");
}

fn torn_log() {
    let dir = Directory::new();
    let setup = Setup::of(MODELS[5]);
    let server = Server::start(&setup, &dir.0);
    let mut client = server.connect();
    let rel = client.number("make 5 1");
    client.expect(&format!("set {rel} 1 2"), "ok");
    client.expect(&format!("set {rel} 2 2"), "ok");
    server.kill();
    // The last record, a commit, loses its end.
    let (file, last) = log_end(&dir.0);
    let mut log = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
    log.seek(SeekFrom::Start(last)).unwrap();
    log.write_all(&[0xFF]).unwrap();
    drop(log);
    let server = Server::launch(&setup, &dir.0);
    let recovered = server.wait_ready();
    assert!(recovered.contains("aborted: 1"), "{recovered}");
    let mut client = server.connect();
    client.expect(&format!("get {rel} 1"), "value 2");
    client.expect(&format!("get {rel} 2"), "value 1");
    client.expect(&format!("set {rel} 2 3"), "ok");
    server.kill();
    let server = Server::start(&setup, &dir.0);
    server.connect().expect(&format!("get {rel} 2"), "value 3");
    server.stop();
}

fn refusals() {
    let dir = Directory::new();
    let setup = Setup::of(MODELS[5]);
    let server = Server::start(&setup, &dir.0);
    let rel = server.connect().number("make 5 1");
    server.stop();
    let control = dir.0.join("control");
    let whole = std::fs::read(&control).unwrap();
    let refused = |what: &str| {
        let server = Server::launch(&setup, &dir.0);
        let log = server.log.clone();
        assert_eq!(server.wait_end(), Some(1), "{what}");
        std::fs::read_to_string(&log)
            .unwrap()
            .lines()
            .rfind(|line| line.contains("gearbox:"))
            .unwrap_or_default()
            .to_string()
    };
    let mut damaged = whole.clone();
    damaged[30] ^= 1;
    std::fs::write(&control, damaged).unwrap();
    assert!(refused("damaged").contains("the control file is damaged"));
    std::fs::remove_file(&control).unwrap();
    assert!(refused("missing").contains("the control file is missing"));
    std::fs::write(&control, &whole).unwrap();
    let (segment, _) = log_end(&dir.0);
    let hidden = dir.0.join("hidden");
    std::fs::rename(&segment, &hidden).unwrap();
    assert!(refused("no log").contains("a file of the log is missing"));
    std::fs::rename(&hidden, &segment).unwrap();
    let server = Server::start(&setup, &dir.0);
    server.connect().expect(&format!("get {rel} 3"), "value 1");
    server.stop();
}

fn recycled() {
    let dir = Directory::new();
    let setup = Setup { max_wal_size: 64 << 20, ..Setup::of(MODELS[5]) };
    let server = Server::start(&setup, &dir.0);
    let mut client = server.connect();
    let rel = client.number("make 8 1");
    let workers: Vec<_> = (0..8)
        .map(|key| {
            let mut client = server.connect();
            std::thread::spawn(move || {
                for value in 0..20_000 {
                    client.expect(&format!("add {rel} {key} {value}"), "ok");
                    client.expect("async", "ok");
                }
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    client.expect("checkpoint", "ok");
    assert!(client.stat("recycled") > 0, "no segment was used again");
    let segments = client.stat("segments");
    assert!(segments <= 7, "{segments} segments of 16 MiB are kept with max_wal_size = 64 MiB");
    let files = std::fs::read_dir(dir.0.join("wal")).unwrap().count() as u64;
    assert_eq!(files, segments);
    server.kill();
    let server = Server::start(&setup, &dir.0);
    server.connect().expect(&format!("get {rel} 3"), &format!("value {}", 1 + (0..20_000i64).sum::<i64>()));
    server.stop();
}
