//! A model is what its name says: as the operating system sees it, as the views show it, and as sessions live it.
//!
//! | test | what it shows |
//! |---|---|
//! | `engines_are_what_the_model_says` | process engines are processes, thread engines threads, and fibers share one |
//! | `a_session_goes_on_elsewhere` | an open transaction, a prepared statement and an open portal move between engines |
//! | `pages_are_huge_where_they_are_granted` | the memory of the buffer pool, of fixed tables and of code is what `huge_pages` says, as the kernel sees it, also where many fill it at once |

mod support;

use postgres::Client;
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use support::server::{MODELS, Model, Server};

const ENGINES: usize = 2;
/// More than the engines that a pool has.
const WAITERS: usize = 6;

/// Pairs of process and thread, from a query for them.
fn places(client: &mut Client, text: &str) -> Vec<(i32, i32)> {
    client.query(text, &[]).unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

fn is_thread_of(pid: i32, tid: i32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}/task/{tid}")).exists()
}

#[test]
fn engines_are_what_the_model_says() {
    for model in MODELS {
        shape(model);
    }
}

/// Sessions that all wait for one row at the same time: who carries them?
fn shape(model: Model) {
    let name = model.name();
    let server = Server::start(model, false);
    let mut holder = server.connect();
    holder.batch_execute("create table held (id int primary key); insert into held values (1)").unwrap();
    holder.batch_execute("begin; select * from held for update").unwrap();
    let waiters: Vec<_> = (0..WAITERS)
        .map(|_| {
            let mut client = server.connect();
            std::thread::spawn(move || client.batch_execute("update held set id = id"))
        })
        .collect();
    let mut viewer = server.connect();
    let sessions = "select os_pid, os_tid from gearbox.sessions where kind = 'client' and wait_event_type = 'Lock'";
    let end = Instant::now() + Duration::from_secs(20);
    let waiting = loop {
        let waiting = places(&mut viewer, sessions);
        if waiting.len() == WAITERS {
            break waiting;
        }
        assert!(Instant::now() < end, "{name}: {} of {WAITERS} sessions wait", waiting.len());
        std::thread::sleep(Duration::from_millis(20));
    };
    for &(pid, tid) in &waiting {
        assert!(is_thread_of(pid, tid), "{name}: there is no thread {tid} of process {pid}");
    }
    let pids: BTreeSet<i32> = waiting.iter().map(|place| place.0).collect();
    let tids: BTreeSet<i32> = waiting.iter().map(|place| place.1).collect();
    match model.engine {
        "process" => assert_eq!(pids.len(), tids.len(), "{name}: an engine is a process: {waiting:?}"),
        _ => assert_eq!(pids.len(), 1, "{name}: engines are threads of one process: {waiting:?}"),
    }
    match model.sessions {
        // Each of them holds its engine while it waits.
        "dedicated" | "shared" => assert_eq!(tids.len(), WAITERS, "{name}: {waiting:?}"),
        _ => assert!(tids.len() <= ENGINES, "{name}: {WAITERS} fibers are carried by {ENGINES} engines: {waiting:?}"),
    }
    // What the view calls the engines is what the system has.
    let engines = "select os_pid, os_tid from gearbox.engines where pool = 'default' and status <> 'starting'";
    let engines: BTreeSet<(i32, i32)> = places(&mut viewer, engines).into_iter().collect();
    assert!(waiting.iter().all(|place| engines.contains(place)), "{name}: {waiting:?} are not of {engines:?}");
    if model.engine == "process" {
        assert!(engines.iter().all(|(pid, tid)| pid == tid), "{name}: {engines:?}");
    }
    holder.batch_execute("rollback").unwrap();
    for waiter in waiters {
        waiter.join().unwrap().unwrap();
    }
    server.stop();
}

/// Clients that fill an empty pool at once.
const FILLERS: usize = 8;
/// What there is room for in the pool, in huge pages, and how many are filled at least: each client has rows of two mebibytes.
const POOL_PIECES: i64 = 16;
const FILLED_PIECES: i64 = 8;

/// What a server says of its huge pages, and what the kernel says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct HugePages {
    /// Pieces in huge pages, those of fixed tables not counted.
    had: i64,
    /// Pieces in small ones, the same.
    refused: i64,
    /// Pieces of fixed tables, and how many are huge pages.
    fixed: (i64, i64),
    /// Of the program's code.
    code: i64,
    /// Pieces that memory backs in the buffer pool, the only table that grows here and is large enough for them.
    backed: i64,
    /// KiB of huge pages that the session's process has before it, says the kernel: of the region and of code.
    mapped_kib: (u64, u64),
}

/// Asked after many sessions have filled the pool.
fn huge_pages(server: &Server) -> HugePages {
    let all_are_there = Barrier::new(FILLERS);
    std::thread::scope(|scope| {
        for filler in 0..FILLERS {
            let all_are_there = &all_are_there;
            scope.spawn(move || {
                let mut client = server.connect();
                client.batch_execute(&format!("create table wide{filler} (t text)")).unwrap();
                all_are_there.wait();
                let rows = format!("insert into wide{filler} select repeat('x', 1000) from generate_series(1, 2000)");
                client.batch_execute(&rows).unwrap();
            });
        }
    });
    let mut client = server.connect();
    for filler in 0..FILLERS {
        let rows = client.query_one(&format!("select count(*) from wide{filler}"), &[]).unwrap();
        assert_eq!(rows.get::<_, i64>(0), 2000);
    }
    counted(&mut client)
}

fn counted(client: &mut Client) -> HugePages {
    let mut used = |name: &str, unit: &str| {
        // The heap's memory has owners of the same names, which may have as much as all of the heap.
        let text =
            "select total, num_active from gearbox.resources where name = $1 and unit = $2 and total < 68719476736";
        let row = client.query_one(text, &[&name, &unit]).unwrap();
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    // In pieces: as bytes they would count twice for whoever adds up bytes.
    let fixed = used("huge pages of fixed tables", "pages");
    let (had, refused) = (used("huge pages", "pages").1, used("huge pages refused", "pages").1);
    let code = used("huge pages of code", "pages").1;
    let backed = used("buffer pool", "bytes").1 / (2 << 20);
    let (pid, _) = places(client, "select os_pid, os_tid from gearbox.sessions where pid = pg_backend_pid()")[0];
    HugePages { had, refused, fixed, code, backed, mapped_kib: mapped_kib(pid) }
}

fn mapped_kib(pid: i32) -> (u64, u64) {
    let (mut region, mut code, mut file) = (0, 0, String::new());
    for line in std::fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap().lines() {
        match line.strip_prefix("ShmemPmdMapped:") {
            Some(kib) => {
                let kib: u64 = kib.trim().trim_end_matches(" kB").parse().unwrap();
                if file.contains("memfd:gearbox-region") {
                    region += kib;
                } else if file.contains("memfd:gearbox-code") {
                    code += kib;
                } else {
                    assert_eq!(kib, 0, "{file}");
                }
            }
            // Each mapping begins with a line whose first word is no name.
            None if !line.split(' ').next().unwrap_or_default().ends_with(':') => file = line.into(),
            None => {}
        }
    }
    (region, code)
}

#[test]
fn pages_are_huge_where_they_are_granted() {
    // Found out by the test: what the server says of a refusal may be wrong.
    let granted = kernel::region::huge::are_granted(6 * POOL_PIECES as usize);
    // Forbidden to this process and to what it starts; other tests here do not mind.
    let forbid = |forbidden| rustix::thread::disable_transparent_huge_pages(forbidden).unwrap();
    for model in MODELS {
        let name = model.name();
        let start = |word: &str| Server::start_with(model, false, &["--huge-pages", word, "--shared-buffers", "32MB"]);
        let server = start("try");
        let pages = huge_pages(&server);
        server.stop();
        assert!(pages.backed >= FILLED_PIECES && pages.had <= pages.backed, "{name}: {pages:?}");
        if granted {
            assert_eq!((pages.had, pages.refused), (pages.backed, 0), "{name}: {pages:?}");
            all_there(model, pages);
            let server = start("on");
            let pages = huge_pages(&server);
            assert_eq!((pages.had, pages.refused, pages.backed), (POOL_PIECES, 0, POOL_PIECES), "{name}: {pages:?}");
            all_there(model, pages);
            server.stop();
            restarts_without_insisting(model);
        }
        let server = start("off");
        let pages = huge_pages(&server);
        assert_eq!((pages.had, pages.refused, pages.fixed), (0, 0, (0, 0)), "{name}: {pages:?}");
        assert_eq!((pages.code, pages.mapped_kib), (0, (0, 0)), "{name}: {pages:?}");
        server.stop();

        forbid(true);
        let mut server = start("try");
        let pages = huge_pages(&server);
        assert_eq!((pages.had, pages.refused, pages.fixed.1), (0, pages.backed, 0), "{name}: {pages:?}");
        assert_eq!((pages.code, pages.mapped_kib), (0, (0, 0)), "{name}: {pages:?}");
        server.shut_down();
        // The smallest pool as well.
        let least = ["--huge-pages", "on", "--shared-buffers", "128kB"];
        let told =
            server.refused_start(&[&["--engine", model.engine, "--sessions", model.sessions], &least[..]].concat());
        assert!(told.contains("the system refuses huge pages") && told.contains("Hint:"), "{name}: {told}");
        forbid(false);
    }
}

/// What the session has read lies in huge pages, and so does the code that read it.
fn all_there(model: Model, pages: HugePages) {
    let name = model.name();
    assert!(pages.fixed.0 > 0 && pages.fixed.1 == pages.fixed.0 && pages.code > 0, "{name}: {pages:?}");
    // Requests of one session may have been served by several processes.
    let several = model.engine == "process" && model.sessions != "dedicated";
    let read = if several { 1 } else { FILLED_PIECES as u64 };
    assert!(pages.mapped_kib.0 >= read << 11 && pages.mapped_kib.1 >= 2 << 10, "{name}: {pages:?}");
}

/// `on` does not keep a server from recovering: a restart after a death takes huge pages as they come.
fn restarts_without_insisting(model: Model) {
    let name = model.name();
    let data = std::env::temp_dir().join(format!("gearbox-insists-{}-{}", std::process::id(), name.replace('/', "-")));
    let log = data.with_extension("log");
    let mut server = Server::on(data.clone(), log.clone(), model, &["--huge-pages", "on", "--shared-buffers", "32MB"]);
    server.start_again();
    let mut client = server.connect();
    assert_eq!(counted(&mut client).had, POOL_PIECES, "{name}: all of them are there from the start");
    let (pid, _) = places(&mut client, "select os_pid, os_tid from gearbox.sessions where pid = pg_backend_pid()")[0];
    // As a panic in a critical section ends it.
    assert!(Command::new("kill").args(["-ABRT", &pid.to_string()]).status().unwrap().success());
    let end = Instant::now() + Duration::from_secs(20);
    while !server.said().contains("this restart takes them as far as the system grants them") {
        assert!(Instant::now() < end, "{name}: {}", server.said());
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut client = loop {
        match server.log_in("postgres", "", "postgres") {
            Ok(client) => break client,
            Err(error) => assert!(Instant::now() < end, "{name}: {error}\n{}", server.said()),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    client.batch_execute("create table little (id int); insert into little values (1)").unwrap();
    let pages = counted(&mut client);
    assert!(pages.had > 0 && pages.had < POOL_PIECES, "{name}: they are taken as the pool fills: {pages:?}");
    server.stop();
    std::fs::remove_dir_all(data).unwrap();
    std::fs::remove_file(log).unwrap();
}

#[test]
fn a_session_goes_on_elsewhere() {
    for model in MODELS.iter().filter(|model| model.sessions != "dedicated") {
        moves(*model);
    }
}

fn moves(model: Model) {
    let name = model.name();
    // The mode that moves every session at every request makes sure that it happens within the test.
    let server = Server::start(model, true);
    let mut client = server.connect();
    client.batch_execute("create table t (id int primary key, n int)").unwrap();
    let here = "select engine_id, os_pid from gearbox.sessions where pid = pg_backend_pid()";
    let statement = client.prepare("select n from t where id = $1").unwrap();
    let mut transaction = client.transaction().unwrap();
    transaction.execute("insert into t select g, g * 10 from generate_series(1, 20) g", &[]).unwrap();
    let series = transaction.prepare("select id from t order by id").unwrap();
    let portal = transaction.bind(&series, &[]).unwrap();
    let mut places = BTreeSet::new();
    for round in 0..10 {
        // Two engines take turns, so an even number of requests a round would always ask the same one.
        for _ in 0..round % 2 {
            transaction.batch_execute("select 1").unwrap();
        }
        let row = transaction.query_one(here, &[]).unwrap();
        places.insert((row.get::<_, i32>(0), row.get::<_, i32>(1)));
        // What it has not committed is its own, on whichever engine.
        let n: i32 = transaction.query_one(&statement, &[&(round + 1)]).unwrap().get(0);
        assert_eq!(n, (round + 1) * 10, "{name}");
        let rows = transaction.query_portal(&portal, 2).unwrap();
        let ids: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(ids, [round * 2 + 1, round * 2 + 2], "{name}");
    }
    let processes: BTreeSet<i32> = places.iter().map(|place| place.1).collect();
    assert!(places.len() > 1, "{name}: the session stayed on one engine: {places:?}");
    if model.engine == "process" {
        assert!(processes.len() > 1, "{name}: the session stayed in one process: {places:?}");
    }
    transaction.rollback().unwrap();
    assert_eq!(client.query("select * from t", &[]).unwrap().len(), 0, "{name}");
    let moved: i64 =
        client.query_one("select migrations from gearbox.sessions where pid = pg_backend_pid()", &[]).unwrap().get(0);
    assert!(moved > 0, "{name}: the view counts no move");
    server.stop();
}
