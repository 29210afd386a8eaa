//! Clients that misbehave, in each execution model: what they cost is bounded, and others are served.
//!
//! | client | what is checked |
//! |---|---|
//! | connects and stays silent, or sends half a startup packet | is thrown out after `authentication_timeout`, and told why if it had begun |
//! | sends half a message, large or small | holds what it has sent, not what it has announced |
//! | asks for much and never reads | the server holds one buffer for it, not its answer |
//! | vanishes in an open transaction | its locks go |
//! | sends requests without end, and many at once, with and without an open transaction | others are answered and let in |
//!
//! `GEARBOX_FULL=1 cargo test -p server --test misbehaving -- --nocapture figures` prints how long others wait for their answers
//! beside one client that floods, and without it, in turns.

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};
use support::server::{MODELS, Model, Server};

/// Long beside anything that is expected here, short beside "for ever".
const PATIENCE: Duration = Duration::from_secs(30);

fn full() -> bool {
    std::env::var("GEARBOX_FULL").is_ok_and(|value| value == "1")
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', &[text.as_bytes(), b"\0"].concat())
}

fn startup() -> Vec<u8> {
    let body = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    [&(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).expect("the server takes connections");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Reads up to the next ReadyForQuery; answers its status.
fn until_ready(stream: &mut TcpStream) -> u8 {
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head).expect("an answer comes");
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4;
        let mut body = vec![0; length];
        stream.read_exact(&mut body).expect("an answer comes whole");
        match head[0] {
            b'Z' => return body[0],
            b'E' => panic!("an error: {}", String::from_utf8_lossy(&body)),
            _ => {}
        }
    }
}

fn logged_in(server: &Server) -> TcpStream {
    let mut stream = connect(server);
    stream.write_all(&startup()).unwrap();
    until_ready(&mut stream);
    stream
}

fn run(stream: &mut TcpStream, text: &str) -> u8 {
    stream.write_all(&query(text)).unwrap();
    until_ready(stream)
}

/// Everything that comes until the server closes.
fn until_closed(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    match stream.read_to_end(&mut all) {
        Ok(_) => all,
        // It closes with bytes of ours unread.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => all,
        Err(error) => panic!("the server does not close: {error}"),
    }
}

/// Sends requests without end, many at once, and reads their answers; waits for none.
fn flood(mut stream: TcpStream, over: &AtomicBool) {
    let pipeline = query("select 1").repeat(500);
    let mut reading = stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut piece = vec![0; 64 << 10];
            while let Ok(1..) = reading.read(&mut piece) {}
        });
        while !over.load(SeqCst) && stream.write_all(&pipeline).is_ok() {}
        let _ = stream.shutdown(Shutdown::Both);
    });
}

/// How long one small request takes.
fn request(stream: &mut TcpStream) -> Duration {
    let began = Instant::now();
    run(stream, "select 1");
    began.elapsed()
}

/// The memory of a server's processes that is not shared, in bytes.
fn private_bytes(server: &Server) -> u64 {
    let mut processes = vec![server.pid()];
    let mut at = 0;
    while at < processes.len() {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", processes[at])).into_iter().flatten().flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            processes.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        at += 1;
    }
    let anonymous = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or("0").trim();
        line.trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) << 10
    };
    processes.iter().map(anonymous).sum()
}

#[test]
fn whoever_does_not_log_in_is_thrown_out() {
    for model in MODELS {
        let name = model.name();
        let server = Server::start_with(model, false, &["--authentication-timeout", "1"]);
        let mut patient = logged_in(&server);
        let silent: Vec<TcpStream> = (0..8).map(|_| connect(&server)).collect();
        let mut halves = Vec::new();
        for length in [1, 4, 7, 20] {
            let mut half = connect(&server);
            half.write_all(&startup()[..length]).unwrap();
            halves.push(half);
        }
        for mut stream in silent.into_iter().chain(halves) {
            let told = until_closed(&mut stream);
            let told = String::from_utf8_lossy(&told).into_owned();
            assert!(
                told.contains("57014") && told.contains("canceling authentication due to timeout"),
                "{name}: {told}"
            );
        }
        // Who is in is not meant.
        request(&mut patient);
        server.stop();
    }
}

#[test]
fn what_a_client_leaves_undone_is_bounded() {
    const HALVES: usize = 16;
    const NEVER_READ: usize = 8;
    /// What a client that misbehaves may hold: a few buffers, and in the dedicated process model a process.
    const EACH: u64 = 6 << 20;
    for model in MODELS {
        let name = model.name();
        let server = Server::start(model, false);
        let mut bystander = logged_in(&server);
        run(&mut bystander, "create table held (id int primary key, n int); insert into held values (1, 0)");
        let before = private_bytes(&server);
        let mut crowd = Vec::new();
        for number in 0..HALVES {
            let mut half = logged_in(&server);
            // A message of a gibibyte is announced.
            let announced = [&b"Q"[..], &0x3fff_fff0u32.to_be_bytes()].concat();
            half.write_all(&announced).unwrap();
            half.write_all(&vec![b' '; if number % 2 == 0 { 100 } else { 300_000 }]).unwrap();
            crowd.push(half);
        }
        for _ in 0..NEVER_READ {
            let mut client = logged_in(&server);
            client.write_all(&query("select g, repeat('x', 1000) from generate_series(1, 100000000) g")).unwrap();
            crowd.push(client);
        }
        let mut gone = logged_in(&server);
        assert_eq!(run(&mut gone, "begin; update held set n = 1"), b'T');
        drop(gone);
        let began = Instant::now();
        run(&mut bystander, "update held set n = 2 where id = 1");
        assert!(
            began.elapsed() < PATIENCE,
            "{name}: the lock of a client that is gone was held for {:?}",
            began.elapsed()
        );
        let end = Instant::now() + Duration::from_millis(500);
        while Instant::now() < end {
            request(&mut bystander);
            std::thread::sleep(Duration::from_millis(5));
        }
        let held = private_bytes(&server).saturating_sub(before);
        println!("{name}: {} clients hold {} KiB", crowd.len(), held >> 10);
        assert!(held < EACH * crowd.len() as u64, "{name}: {held} bytes are held for {} clients", crowd.len());
        drop(crowd);
        let end = Instant::now() + PATIENCE;
        let mut counting = server.connect();
        let clients = "select count(*) from gearbox.sessions where kind = 'client'";
        while counting.query_one(clients, &[]).unwrap().get::<_, i64>(0) > 2 {
            assert!(Instant::now() < end, "{name}: sessions of clients that are gone stay");
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(counting);
        server.stop();
    }
}

#[test]
fn floods_starve_nobody() {
    // Several for each engine: so there is always one of them that is ready, and in an open transaction.
    const FLOODS: usize = 8;
    for model in MODELS {
        let name = model.name();
        let server = Server::start(model, false);
        let mut bystander = logged_in(&server);
        let over = AtomicBool::new(false);
        let mut longest = Duration::ZERO;
        std::thread::scope(|scope| {
            for number in 0..FLOODS {
                let mut stream = logged_in(&server);
                if number % 4 != 0 {
                    run(&mut stream, "begin");
                }
                let over = &over;
                scope.spawn(move || flood(stream, over));
            }
            let stop = Stop(&over);
            std::thread::sleep(Duration::from_millis(100));
            for _ in 0..20 {
                longest = longest.max(request(&mut bystander));
            }
            // Who comes now is let in.
            let mut late = logged_in(&server);
            longest = longest.max(request(&mut late));
            drop(stop);
        });
        println!("{name}: beside {FLOODS} floods the longest answer took {longest:?}");
        server.stop();
    }
}

/// Ends the floods, also when the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn figures() {
    if !full() {
        return;
    }
    const ROUNDS: usize = 7;
    println!("| model | alone p50, p99 µs | beside a flood | beside one in a transaction | p99 ratio |");
    for model in MODELS {
        let loads = [None, Some("select 1"), Some("begin")];
        let mut found = loads.map(|_| Vec::new());
        for round in 0..ROUNDS {
            for turn in 0..loads.len() {
                let which = (round + turn) % loads.len();
                found[which].push(waits(model, 2, loads[which]));
            }
        }
        let typical = found.each_ref().map(|waits| [0, 1].map(|part| middle(waits.iter().map(|wait| wait[part]))));
        let ratios = [1, 2].map(|flooded| {
            let pairs = found[flooded].iter().zip(&found[0]);
            let ratios: Vec<f64> = pairs.map(|(flooded, alone)| flooded[1] / alone[1]).collect();
            let (least, most) =
                ratios.iter().fold((f64::MAX, 0f64), |(least, most), &one| (least.min(one), most.max(one)));
            format!("{:.2} ({least:.2} to {most:.2})", middle(ratios.into_iter()))
        });
        let [alone, plain, open] = typical.map(|[p50, p99]| format!("{p50:.0}, {p99:.0}"));
        println!("| {} | {alone} | {plain} | {open} | {} |", model.name(), ratios.join(", "));
    }
}

/// The median of an odd number of values.
fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Median and 99th percentile of what four others wait for an answer, in microseconds.
fn waits(model: Model, seconds: u64, flooding: Option<&str>) -> [f64; 2] {
    let server = Server::start(model, false);
    let over = AtomicBool::new(false);
    let mut waits = Vec::new();
    std::thread::scope(|scope| {
        if let Some(first) = flooding {
            let mut stream = logged_in(&server);
            run(&mut stream, first);
            let over = &over;
            scope.spawn(move || flood(stream, over));
        }
        let stop = Stop(&over);
        std::thread::sleep(Duration::from_millis(200));
        let others: Vec<_> = (0..4)
            .map(|_| {
                let mut stream = logged_in(&server);
                scope.spawn(move || {
                    let end = Instant::now() + Duration::from_secs(seconds);
                    let mut waits = Vec::new();
                    while Instant::now() < end {
                        waits.push(request(&mut stream).as_micros() as f64);
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    waits
                })
            })
            .collect();
        for other in others {
            waits.extend(other.join().unwrap());
        }
        drop(stop);
    });
    server.stop();
    waits.sort_by(f64::total_cmp);
    [50, 99].map(|percent| waits[waits.len() * percent / 100])
}
