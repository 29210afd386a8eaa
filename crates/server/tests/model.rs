//! A model is what its name says: as the operating system sees it, as the views show it, and as sessions live it.
//!
//! | test | what it shows |
//! |---|---|
//! | `engines_are_what_the_model_says` | process engines are processes, thread engines threads, and fibers share one |
//! | `a_session_goes_on_elsewhere` | an open transaction, a prepared statement and an open portal move between engines |
//! | `pages_are_huge_where_they_are_granted` | the buffer pool's memory is what `huge_pages` says, as the kernel sees it |

mod support;

use postgres::Client;
use std::collections::BTreeSet;
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

/// How many huge pages there are and how many were refused, says the view; and how many KiB of them the session's process has before it,
/// says the kernel. Asked after some thousand rows were written and read.
fn huge_pages(server: &Server) -> (i64, i64, u64) {
    let mut client = server.connect();
    client
        .batch_execute(
            "create table wide (t text); insert into wide select repeat('x', 1000) from generate_series(1, 4000)",
        )
        .unwrap();
    assert_eq!(client.query_one("select count(*) from wide", &[]).unwrap().get::<_, i64>(0), 4000);
    // In pieces: as bytes they would count twice for whoever adds up bytes.
    let mut used = |name: &str| {
        let text = "select num_active from gearbox.resources where name = $1 and unit = 'pages'";
        client.query_one(text, &[&name]).unwrap().get::<_, i64>(0)
    };
    let (pages, refused) = (used("huge pages"), used("huge pages refused"));
    let (pid, _) = places(&mut client, "select os_pid, os_tid from gearbox.sessions where pid = pg_backend_pid()")[0];
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let line = rollup.lines().find_map(|line| line.strip_prefix("ShmemPmdMapped:")).expect("the kernel counts them");
    (pages, refused, line.trim().trim_end_matches(" kB").parse().unwrap())
}

#[test]
fn pages_are_huge_where_they_are_granted() {
    // Forbidden to this process and to what it starts; other tests here do not mind.
    let forbid = |forbidden| rustix::thread::disable_transparent_huge_pages(forbidden).unwrap();
    for model in MODELS {
        let name = model.name();
        let start = |word: &str| Server::start_with(model, false, &["--huge-pages", word, "--shared-buffers", "16MB"]);
        let server = start("try");
        let (pages, refused, mapped) = huge_pages(&server);
        server.stop();
        // Where memory is in pieces, or the kernel is old, there are none: that is shown below.
        if refused == 0 {
            assert!(pages >= 2, "{name}: rows of 4 MiB are in the pool, and {pages} huge pages");
            assert!(mapped >= 2 << 10, "{name}: {mapped} KiB are mapped as huge pages");
            let server = start("on");
            let (pages, refused, mapped) = huge_pages(&server);
            assert_eq!((pages, refused), (8, 0), "{name}: all of the pool");
            assert!(mapped >= 2 << 10, "{name}: {mapped} KiB are mapped as huge pages");
            server.stop();
        }
        let server = start("off");
        assert_eq!(huge_pages(&server), (0, 0, 0), "{name}");
        server.stop();

        forbid(true);
        let mut server = start("try");
        let (pages, refused, mapped) = huge_pages(&server);
        assert!(
            pages == 0 && refused > 0 && mapped == 0,
            "{name}: {pages} pages, {refused} refused, {mapped} KiB mapped"
        );
        server.shut_down();
        let told =
            server.refused_start(&["--engine", model.engine, "--sessions", model.sessions, "--huge-pages", "on"]);
        forbid(false);
        assert!(told.contains("the system refuses huge pages") && told.contains("Hint:"), "{name}: {told}");
    }
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
