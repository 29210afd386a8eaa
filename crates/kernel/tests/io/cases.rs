//! The cases.

use crate::client::{Client, MODELS, Server};
use crate::server;
use std::time::{Duration, Instant};
use testkit::device::Device;
use testkit::device::fault::{Effect, Fault, Operation};

/// A case: its name and its body.
pub type Case = (String, Box<dyn FnOnce() + Send>);

const METHODS: [&str; 3] = ["uring", "workers", "sync"];

/// Every case: name and body.
pub fn all() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    let mut add = |name: String, case: Box<dyn FnOnce() + Send>| all.push((name, case));
    for (engine, sessions) in MODELS {
        for io in METHODS {
            add(format!("{engine}/{sessions}/{io}: everything"), Box::new(move || everything(engine, sessions, io)));
        }
    }
    for primitive in ["futex", "posix", "sysv", "eventfd"] {
        for sessions in ["dedicated", "shared", "fiber"] {
            let name = format!("process/{sessions}/uring: with {primitive}");
            add(name, Box::new(move || primitives(sessions, primitive)));
        }
    }
    for (engine, sessions) in MODELS {
        for io in ["uring", "workers"] {
            add(format!("{engine}/{sessions}/{io}: death"), Box::new(move || death(engine, sessions, io)));
        }
    }
    for (engine, sessions) in MODELS {
        for io in METHODS {
            let name = format!("{engine}/{sessions}/{io}: short transfers");
            add(name, Box::new(move || short_transfers(engine, sessions, io)));
        }
    }
    add("posts end sleeps in a ring".into(), Box::new(posts_and_rings));
    add("slots: none free".into(), Box::new(no_free_slot));
    add("fibers: a blocking call stops nobody".into(), Box::new(blocking_call));
    add("fibers: as many blocking calls as threads".into(), Box::new(blocking_pool));
    add("removed files are closed".into(), Box::new(removed_files));
    add("many files".into(), Box::new(many_files));
    add("a full disk".into(), Box::new(full_disk));
    add("a limit on sizes".into(), Box::new(size_limit));
    add("refused rings".into(), Box::new(refused_rings));
    add("a restart waits for writes in flight".into(), Box::new(restart));
    all
}

/// Counters by name.
struct Stats(String);

impl Stats {
    fn of(server: &Server) -> Stats {
        Stats(server.ask("stats"))
    }

    /// The counters when no request is left: who runs an action posts before the slot is free.
    fn at_rest(server: &Server) -> Stats {
        let end = Instant::now() + Duration::from_secs(5);
        loop {
            let stats = Stats::of(server);
            if stats.get("used") == 0 {
                return stats;
            }
            assert!(Instant::now() < end, "requests are never over: {}", stats.0);
        }
    }

    fn get(&self, name: &str) -> u64 {
        let prefix = format!("{name}=");
        let found = self.0.split_whitespace().find_map(|word| word.strip_prefix(&prefix));
        found.unwrap_or_else(|| panic!("no {name} in {}", self.0)).parse().unwrap()
    }

    /// The method that was asked for was used, and no other; nothing is left.
    fn hold_to(&self, io: &str) {
        for name in METHODS {
            let counted = self.get(if name == "uring" { "uring" } else { name });
            assert_eq!(counted > 0, name == io, "{io} was asked for: {}", self.0);
        }
        assert_eq!(self.get("submitted"), self.get("completed"), "{}", self.0);
        assert_eq!((self.get("used"), self.get("pending")), (0, 0), "{}", self.0);
    }
}

/// A write that has to be durable before anything else is done: who holds an engine makes it itself, unless something of that engine is under
/// way; fibers leave it to the method.
fn durable_now(server: &Server, clients: &mut [Client], sessions: &str, io: &str) {
    let own = |line: &str, clients: &mut [Client]| {
        let before = Stats::at_rest(server).get("own");
        clients[0].ok(line);
        Stats::at_rest(server).get("own") - before
    };
    let expected = if sessions == "fiber" || io == "sync" { 0 } else { 8 };
    assert_eq!(own("durable_now 20 4", clients), expected, "{sessions} {io}");
    assert_eq!(own("durable_beside 21 4", clients), 0, "{sessions} {io}");
    assert_eq!(own("durable 22 4", clients), 0, "{sessions} {io}");
}

/// Sends a line over each connection, then takes all answers.
fn all_at_once(clients: &mut [Client], line: impl Fn(usize) -> String) {
    for (index, client) in clients.iter_mut().enumerate() {
        client.send(&line(index));
    }
    for client in clients.iter_mut() {
        let answer = client.receive();
        assert!(answer.starts_with("ok"), "{answer}");
    }
}

/// On a device that does half of what it is asked for, several hundred times.
fn short_transfers(engine: &str, sessions: &str, io: &str) {
    // On another device the system itself would go on for a ring, at the wrong place: `tests/short_transfers.rs`.
    let mount = if io == "uring" { Device::mount_for_rings_or_say } else { Device::mount_or_say };
    let Some(device) = mount("short transfers") else { return };
    for operation in [Operation::Read, Operation::Write] {
        device.add(Fault { operation, files: "data/base".into(), effect: Effect::Short, times: 150 });
    }
    let server = Server::start_in(&device.root().join("data"), engine, sessions, io, "");
    let mut clients: Vec<Client> = (0..4).map(|_| server.connect()).collect();
    all_at_once(&mut clients[..2], |index| format!("vector {index}"));
    all_at_once(&mut clients, |index| format!("mix {} 20", index + 1));
    assert_eq!(device.met(), 300, "transfers that were short");
    clients[0].ok("tickets 40 back");
    drop(clients);
    Stats::at_rest(&server).hold_to(io);
}

fn everything(engine: &str, sessions: &str, io: &str) {
    let server = Server::start(engine, sessions, io, "");
    let mut clients: Vec<Client> = (0..12).map(|_| server.connect()).collect();
    all_at_once(&mut clients, |index| format!("mix {} 60", index + 1));
    all_at_once(&mut clients, |index| format!("vector {index}"));
    assert_eq!(clients[0].ask("vector 20"), "ok 262144 262144");
    assert_eq!(
        clients[0].ask("eof 0"),
        "ok [28672, 12288, 0, 20000, 3616, 0] Some(\"58P01\")",
        "short reads at the end of a file"
    );
    all_at_once(&mut clients[..4], |index| format!("files {index}"));
    all_at_once(&mut clients[..4], |index| format!("durable {index} 4"));
    durable_now(&server, &mut clients, sessions, io);
    clients[0].ok("panic");
    for order in ["front", "back", "drop"] {
        // The mix has written pages, and this reads into frames of its own: one client at a time.
        clients[1].ok(&format!("tickets 300 {order}"));
    }
    nobody_needs_the_issuer(&mut clients);
    clients[2].ok("verify");
    drop(clients);
    let stats = Stats::at_rest(&server);
    stats.hold_to(io);
    let last = server.directory.join("base/77");
    let last = server.stop_and(|| std::fs::read(last).unwrap());
    assert_eq!(last, server::last_page(), "what was written at the stop");
}

/// What a session has issued is complete although it waits for its client, in the middle of a request or between two.
fn nobody_needs_the_issuer(clients: &mut [Client]) {
    let (issuer, rest) = clients.split_first_mut().unwrap();
    for round in 0..5 {
        let first = round * 37;
        issuer.ok(&format!("prefetch {first} 40"));
        assert_eq!(rest[0].ask(&format!("await {first} 40")), "ok 0 lost");
        assert_eq!(issuer.ask(&format!("hold {first} 40")), "ok holding");
        assert_eq!(rest[1].ask(&format!("await {first} 40")), "ok 0 lost");
        assert_eq!(issuer.ask("go"), "ok released");
    }
}

/// With spins before sleeps too: an engine that spins must still take its completions in.
fn primitives(sessions: &str, primitive: &str) {
    let server = Server::start("process", sessions, "uring", &format!("wait={primitive} spin=30"));
    let mut clients: Vec<Client> = (0..12).map(|_| server.connect()).collect();
    // Latches are waited for with reads in flight: posts must end sleeps in the ring.
    all_at_once(&mut clients, |index| format!("mix {} 150", index + 1));
    nobody_needs_the_issuer(&mut clients);
    drop(clients);
    Stats::at_rest(&server).hold_to("uring");
    server.stop();
}

/// A post from elsewhere ends a wait in the ring, however long the request in it takes.
fn posts_and_rings() {
    use std::io::Write;
    for (engine, sessions, primitive) in [
        ("process", "dedicated", "futex"),
        ("process", "dedicated", "posix"),
        ("process", "dedicated", "sysv"),
        ("thread", "dedicated", "eventfd"),
        ("process", "shared", "posix"),
        ("process", "fiber", "futex"),
        ("thread", "fiber", "sysv"),
    ] {
        let server = Server::start(engine, sessions, "uring", &format!("wait={primitive}"));
        let path = server.directory.join("base/900");
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a valid string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let (mut waiter, mut other) = (server.connect(), server.connect());
        for _ in 0..3 {
            assert_eq!(waiter.ask("pipe"), "ok waiting");
            std::thread::sleep(Duration::from_millis(30));
            other.ok("wake");
            let answer = waiter.receive();
            let words: Vec<u64> = answer.split(' ').skip(1).map(|word| word.parse().unwrap()).collect();
            assert!(words[0] < 4000, "{engine}/{sessions}/{primitive}: {answer}");
            assert_eq!(words[1], 1, "the read was over before there was anything to read");
            let mut pipe = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            pipe.write_all(&[1; 4096]).unwrap();
            pipe.write_all(&[2; 4096]).unwrap();
            Stats::at_rest(&server);
        }
        drop((waiter, other));
        Stats::at_rest(&server).hold_to("uring");
        server.stop();
    }
}

fn death(engine: &str, sessions: &str, io: &str) {
    let server = Server::start(engine, sessions, io, "");
    let mut round = 0;
    for _ in 0..12 {
        let life = patient(&server, "restarts", None).expect("no restart was asked about");
        // What follows is over when all frames have been read, or are lost.
        server.connect().ok("reset");
        let mut dying = server.connect();
        dying.send("die");
        // Until a host is there again, connections are not served. Where another engine of the host was in a critical
        // section just then, everything restarts, which shows nothing here: once more.
        let Some(answer) = patient(&server, "await 0 2048", Some(&life)) else { continue };
        assert!(answer.starts_with("ok"), "round {round}: {answer}");
        let Some(answer) = patient(&server, "poison 60", Some(&life)) else { continue };
        assert_eq!(answer, "ok 0 changed", "round {round}: I/O of the dead went on");
        round += 1;
        if round == 4 {
            break;
        }
    }
    assert_eq!(round, 4, "nearly every death restarts the server");
    Stats::at_rest(&server);
    assert_eq!(server.ask("mix 1 50").split(' ').next(), Some("ok"));
    server.stop();
}

/// Asks over fresh connections until one is served: hosts may be on their way out or in. None if the server is not in the
/// life that it was in.
fn patient(server: &Server, line: &str, life: Option<&str>) -> Option<String> {
    let end = Instant::now() + Duration::from_secs(20);
    let ask = |line: &str| server.try_connect()?.try_ask(line, Duration::from_secs(10));
    loop {
        let now = ask("restarts");
        if now.is_some() && life.is_some_and(|life| now.as_deref() != Some(life)) {
            return None;
        }
        match ask(line) {
            Some(answer) => return Some(answer),
            None => assert!(Instant::now() < end, "nobody answers {line}"),
        }
    }
}

fn no_free_slot() {
    for (sessions, io) in [("fiber", "uring"), ("dedicated", "uring"), ("shared", "workers")] {
        let server = Server::start("thread", sessions, io, "");
        let mut clients: Vec<Client> = (0..4).map(|_| server.connect()).collect();
        // One session with more tickets than there are slots: the last ones are calls of its own.
        clients[0].ok("tickets 4200 back");
        let stats = Stats::of(&server);
        assert_eq!((stats.get("used_max"), stats.get("used")), (4096, 0), "{}", stats.0);
        assert!(stats.get("sync") >= 4200 - 4096, "{}", stats.0);
        // Several that wait for slots that others give back.
        all_at_once(&mut clients, |_| "flood 6000".into());
        clients[0].ok("await 0 2048");
        Stats::at_rest(&server);
        drop(clients);
        server.stop();
    }
}

fn blocking_call() {
    for engine in ["thread", "process"] {
        let server = Server::start(engine, "fiber", "uring", "");
        let mut slow: Vec<Client> = (0..4).map(|_| server.connect()).collect();
        let mut quick: Vec<Client> = (0..4).map(|_| server.connect()).collect();
        // The first use opens the file, which is a blocking call too.
        all_at_once(&mut quick, |_| "mix 1 10".into());
        let start = Instant::now();
        for client in &mut slow {
            client.send("slow 2000");
        }
        for client in &mut quick {
            client.ok("mix 3 10");
        }
        assert!(start.elapsed() < Duration::from_millis(1900), "fibers were stopped: {:?}", start.elapsed());
        for client in &mut slow {
            assert_eq!(client.receive(), "ok");
        }
        drop((slow, quick));
        server.stop();
    }
}

/// As many blocking calls at once as there are threads for them; the rest wait for one.
fn blocking_pool() {
    for (threads, rounds) in [(1, 4), (2, 2)] {
        let server = Server::start("thread", "fiber", "uring", &format!("blocking={threads}"));
        let mut slow: Vec<Client> = (0..4).map(|_| server.connect()).collect();
        let start = Instant::now();
        slow.iter_mut().for_each(|client| client.send("slow 100"));
        slow.iter_mut().for_each(|client| assert_eq!(client.receive(), "ok"));
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(rounds * 100), "{threads} threads ran 4 calls of 100 ms in {took:?}");
        assert_eq!(server.threads_named("blocking call"), threads);
        drop(slow);
        server.stop();
    }
}

fn removed_files() {
    for (engine, io) in [("process", "uring"), ("process", "workers"), ("thread", "uring")] {
        let server = Server::start(engine, "shared", io, "");
        let mut clients: Vec<Client> = (0..8).map(|_| server.connect()).collect();
        clients[0].ok("write 500 0");
        // All hosts open it.
        for _ in 0..20 {
            all_at_once(&mut clients, |_| "read 500 0".into());
        }
        let open = |what: &str| {
            server
                .processes()
                .iter()
                .map(|&pid| links(pid).iter().filter(|link| link.contains(what)).count())
                .sum::<usize>()
        };
        assert!(open("base/500") > 0, "nobody has the file open");
        assert_eq!(clients[0].ask("remove 500"), "ok true");
        assert_eq!(clients[0].ask("remove 500"), "ok false");
        assert_eq!(clients[0].ask("read 500 0"), "error 58P01 could not open file \"base/500\"");
        // Each process closes it when it next looks; space is free at once.
        let end = Instant::now() + Duration::from_secs(10);
        while open("base/500 (deleted)") > 0 {
            all_at_once(&mut clients, |_| "read 1 0".into());
            assert!(Instant::now() < end, "a removed file stays open");
        }
        assert_eq!(open("base/500"), 0);
        drop(clients);
        server.stop();
    }
}

/// A process keeps a limited number of descriptors, whatever number of files it uses.
fn many_files() {
    let server = Server::start("thread", "dedicated", "uring", "");
    let answer = server.ask("many 1300");
    let kept: usize = answer.strip_prefix("ok ").unwrap_or_else(|| panic!("{answer}")).parse().unwrap();
    assert!((1..=1024).contains(&kept), "{kept} descriptors are kept");
    assert_eq!(server.ask("verify"), "ok");
    server.stop();
}

fn links(pid: i32) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    entries
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .map(|link| link.to_string_lossy().into_owned())
        .collect()
}

fn full_disk() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("io-full-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let target = std::ffi::CString::new(directory.to_str().unwrap()).unwrap();
    // SAFETY: valid strings.
    let mounted = unsafe {
        libc::mount(c"none".as_ptr(), target.as_ptr(), c"tmpfs".as_ptr(), 0, c"size=6m".as_ptr().cast()) == 0
    };
    if !mounted {
        println!("  (skipped: mounting a small file system needs privileges)");
        std::fs::remove_dir(&directory).unwrap();
        return;
    }
    for io in METHODS {
        let server = Server::start_in(&directory, "thread", "fiber", io, "");
        assert!(server.ask("allocate 600 8000000").starts_with("error 53100 could not extend"), "allocate");
        assert_eq!(server.ask("allocate 601 65536"), "ok", "there is room for little");
        let mut answers = (0..1000).map(|page| server.ask(&format!("write 602 {}", page * 8192)));
        let refused = answers.find(|answer| answer != "ok");
        assert_eq!(refused.as_deref(), Some("error 53100 could not write file \"base/602\""), "{io}");
        assert!(server.ask("verify").starts_with("ok"), "others go on");
        for file in [600, 601, 602] {
            server.ask(&format!("remove {file}"));
        }
        assert_eq!(server.ask("write 603 0"), "ok", "there is room again");
        server.stop_and(|| {
            for entry in std::fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
            }
        });
    }
    // SAFETY: what was mounted above.
    unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
    let _ = std::fs::remove_dir_all(&directory);
}

fn size_limit() {
    // More than the server's own files have.
    let limit = 64 << 20;
    for io in METHODS {
        let server = Server::start("process", "shared", io, &format!("fsize={limit}"));
        assert_eq!(server.ask("write 610 0"), "ok");
        let beyond = server.ask(&format!("write 610 {limit}"));
        assert_eq!(beyond, "error 53100 could not write file \"base/610\"", "{io}");
        assert_eq!(server.ask("read 610 0"), "ok 8192", "{io}: the server lives");
        server.stop();
    }
}

/// Without room for rings the workers serve, and the counters say so.
fn refused_rings() {
    // Where nobody in particular may make directories.
    let directory = std::env::temp_dir().join(format!("gearbox-rings-{}", std::process::id()));
    for (engine, sessions) in [("thread", "dedicated"), ("process", "shared"), ("thread", "fiber")] {
        let below = directory.join(format!("{engine}-{sessions}"));
        std::fs::create_dir_all(&below).unwrap();
        for path in [&directory, &below] {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        }
        let server = Server::start_in(&below, engine, sessions, "uring", "memlock=0");
        let mut clients: Vec<Client> = (0..6).map(|_| server.connect()).collect();
        all_at_once(&mut clients, |index| format!("mix {} 40", index + 1));
        nobody_needs_the_issuer(&mut clients);
        drop(clients);
        let stats = Stats::at_rest(&server);
        stats.hold_to("workers");
        assert!(stats.get("refused") > 0, "{}", stats.0);
        server.stop();
    }
    let _ = std::fs::remove_dir_all(&directory);
}

/// Killed in the middle of writes, started again at once: every page is whole.
fn restart() {
    for io in METHODS {
        let mut server = Server::start("process", "fiber", io, "");
        for round in 0..3u64 {
            let mut clients: Vec<Client> = (0..8).map(|_| server.connect()).collect();
            for (index, client) in clients.iter_mut().enumerate() {
                client.send(&format!("mix {} 100000", round * 10 + index as u64));
            }
            std::thread::sleep(Duration::from_millis(50 + 20 * round));
            let directory = server.kill();
            server = Server::start_in(&directory, "process", "fiber", io, "");
            assert_eq!(server.ask("verify"), "ok", "{io}, round {round}");
        }
        server.stop();
    }
}
