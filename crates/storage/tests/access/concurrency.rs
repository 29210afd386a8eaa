//! Sessions that are in each other's way: rows locked in four strengths, waits in turn, circles, time-outs, cancels, and what each
//! isolation level does about a row that somebody else was faster with.

use crate::runner::Test;
use crate::server::{Client, Directory, MODELS, Server, Setup};
use std::time::{Duration, Instant};

pub fn tests(tests: &mut Vec<Test>) {
    type Case = (&'static str, fn(&Setup));
    let cases: [Case; 7] = [
        ("row_locks_conflict_as_the_table_says", strengths),
        ("a_row_is_handed_over_in_turn", in_turn),
        ("a_circle_of_rows_has_one_victim", circle),
        ("a_wait_for_a_row_can_be_ended", ended),
        ("somebody_was_faster", faster),
        ("anomalies_of_the_levels", anomalies),
        ("a_unique_key_is_waited_for", unique),
    ];
    for model in MODELS {
        for (what, body) in cases {
            let setup = Setup::of(model);
            let name = format!("{what}_{}", setup.name().replace(['/', ' '], "_"));
            tests.push((name, Box::new(move || body(&setup))));
        }
    }
    tests.push(("a_row_lock_outlives_its_pages_stay".into(), Box::new(evicted)));
    tests.push(("a_dead_session_gives_rows_back".into(), Box::new(dead)));
}

fn table(server: &Server, rows: i64) -> (Client, String) {
    let mut client = server.connect();
    let answer = client.ask("table 20");
    let rels = format!("use {} 20", answer.strip_prefix("ok ").expect("a table"));
    client.expect(&format!("load 0 {rows} 7"), "ok");
    (client, rels)
}

fn connect(server: &Server, table: &str) -> Client {
    let mut client = server.connect();
    client.expect(table, "ok");
    client
}

/// Waits until `count` sessions wait for locks of rows or transactions.
fn wait_until(client: &mut Client, name: &str, value: u64) {
    let end = Instant::now() + Duration::from_secs(10);
    while client.stat(name) != value {
        assert!(Instant::now() < end, "{name} is {} and not {value}", client.stat(name));
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Which strengths exclude each other: as in docs/locking.md.
const CONFLICTS: [[bool; 4]; 4] =
    [[false, false, false, true], [false, false, true, true], [false, true, true, true], [true, true, true, true]];

fn strengths(setup: &Setup) {
    let dir = Directory::new();
    let server = Server::start(setup, &dir.0);
    let (mut a, use_table) = table(&server, 4);
    let mut b = connect(&server, &use_table);
    let row = "row 7 0";
    for (held, conflicts) in CONFLICTS.iter().enumerate() {
        for (wanted, conflict) in conflicts.iter().enumerate() {
            a.expect("begin rc", "ok");
            a.expect(&format!("lock 1 {}", held + 1), row);
            b.expect("begin rc", "ok");
            let answer = b.ask(&format!("lock 1 {} nowait", wanted + 1));
            let expected = if *conflict { "error 55P03" } else { row };
            assert!(answer.starts_with(expected), "{} against {}: {answer}", wanted + 1, held + 1);
            b.ask("abort");
            // What a change needs: an update of other columns the third strength, of the key, or a delete, the fourth.
            for (change, strength) in
                [("add 1 0", 2), ("addv 1 1", 2), ("move 1 1", 2), ("delete 1", 3), ("move 1 99", 3)]
            {
                b.expect("locktime 0", "ok");
                b.expect("begin rc", "ok");
                let answer = b.ask(change);
                // A version that leaves its chain cannot take others' locks along, so it waits for all of them.
                let leaves = change == "addv 1 1" || change == "delete 1" || change == "move 1 99";
                let expected = if conflicts[strength] || leaves { "error 55P03" } else { "ok" };
                assert!(answer.starts_with(expected), "{change} against {}: {answer}", held + 1);
                b.ask("abort");
                b.expect("locktime 20000", "ok");
            }
            a.expect("commit", "ok");
        }
    }
    // Many may share a row, and a stronger own lock is added to a weaker one.
    let mut others: Vec<Client> = (0..4).map(|_| connect(&server, &use_table)).collect();
    for client in &mut others {
        client.expect("begin rc", "ok");
        client.expect("lock 2 1", row);
        client.expect("lock 2 2", row);
    }
    a.expect("begin rc", "ok");
    a.expect("lock 2 1", row);
    assert!(a.ask("lock 2 3 nowait").starts_with("error 55P03"));
    b.send("delete 2").unwrap();
    for client in &mut others {
        assert_eq!(b.line_within(Duration::from_millis(20)), None, "a delete goes past a shared lock");
        client.expect("commit", "ok");
    }
    assert_eq!(b.line().unwrap(), "ok");
    a.expect("get 2", "none");
    a.expect("check", "checked 3");
    for name in ["locks", "row_locks", "running", "pins"] {
        assert_eq!(a.stat(name), 0, "{name}");
    }
    server.stop();
}

fn in_turn(setup: &Setup) {
    let dir = Directory::new();
    let server = Server::start(setup, &dir.0);
    let (mut a, use_table) = table(&server, 4);
    let mut first = connect(&server, &use_table);
    first.expect("begin rc", "ok");
    first.expect("add 1 1", "ok");
    let mut others: Vec<Client> = (0..5).map(|_| connect(&server, &use_table)).collect();
    for (nth, client) in others.iter_mut().enumerate() {
        client.expect("begin rc", "ok");
        client.send("add 1 1").unwrap();
        // Each stands in the queue before the next one comes.
        wait_until(&mut a, "waiting", nth as u64 + 1);
    }
    first.expect("commit", "ok");
    for (nth, client) in others.iter_mut().enumerate() {
        assert_eq!(client.line().unwrap(), "ok");
        a.expect("get 1", &format!("row 7 {}", nth + 1));
        client.expect("commit", "ok");
    }
    a.expect("get 1", "row 7 6");
    server.stop();
}

fn circle(setup: &Setup) {
    let dir = Directory::new();
    let server = Server::start(setup, &dir.0);
    let (mut a, use_table) = table(&server, 8);
    for round in 0..4 {
        let count = 2 + round;
        let mut clients: Vec<Client> = (0..count).map(|_| connect(&server, &use_table)).collect();
        for (at, client) in clients.iter_mut().enumerate() {
            client.expect("begin rc", "ok");
            // Circles of changes, and of locks that others may share.
            if round % 2 == 0 {
                client.expect(&format!("add {at} 1"), "ok");
            } else {
                client.expect(&format!("lock {at} 2"), "row 7 0");
            }
        }
        let before = a.stat("deadlocks");
        for (at, client) in clients.iter_mut().enumerate().take(count - 1) {
            client.send(&format!("add {} 1", at + 1)).unwrap();
            wait_until(&mut a, "waiting", at as u64 + 1);
        }
        let since = Instant::now();
        clients[count - 1].send("add 0 1").unwrap();
        let mut victims = 0;
        let mut open: Vec<usize> = (0..count).collect();
        let mut broken = None;
        while !open.is_empty() {
            open.retain(|&at| {
                let Some(answer) = clients[at].line_within(Duration::from_millis(2)) else { return true };
                broken.get_or_insert(since.elapsed());
                if answer.starts_with("error 40P01") {
                    victims += 1;
                    assert!(answer.contains("is blocked by session"), "{answer}");
                } else {
                    assert_eq!(answer, "ok");
                }
                // All are taken back, so that the next round finds the rows as this one did.
                clients[at].expect("abort", "ok");
                false
            });
            assert!(since.elapsed() < Duration::from_secs(10), "nobody gives up");
        }
        assert_eq!(victims, 1, "one circle, one victim");
        // The server's deadlock_timeout is 20 ms.
        let broken = broken.expect("somebody has answered");
        assert!(broken < Duration::from_millis(220), "it took {broken:?} until the circle was broken");
        assert_eq!(a.stat("deadlocks"), before + 1);
    }
    for name in ["locks", "row_locks", "running"] {
        wait_until(&mut a, name, 0);
    }
    server.stop();
}

fn ended(setup: &Setup) {
    let dir = Directory::new();
    let server = Server::start(setup, &dir.0);
    let (mut a, use_table) = table(&server, 4);
    let [mut b, mut c] = [(); 2].map(|()| connect(&server, &use_table));
    a.expect("begin rc", "ok");
    a.expect("add 1 1", "ok");
    for line in ["add 1 1", "delete 1", "lock 1 2", "move 1 50", "insert 60 1"] {
        if line.starts_with("insert") {
            a.expect("insert 60 0", "ok");
        }
        // lock_timeout
        b.expect("locktime 60", "ok");
        let since = Instant::now();
        let answer = b.ask(line);
        assert!(answer.starts_with("error 55P03"), "{line}: {answer}");
        let took = since.elapsed();
        assert!(took >= Duration::from_millis(60) && took < Duration::from_millis(1500), "{line}: {took:?}");
        // A cancel
        b.expect("locktime 20000", "ok");
        let session = b.number("me");
        b.send(line).unwrap();
        wait_until(&mut c, "waiting", 1);
        let since = Instant::now();
        c.expect(&format!("cancel {session}"), "ok");
        let answer = b.line().unwrap();
        assert!(answer.starts_with("error 57014"), "{line}: {answer}");
        assert!(since.elapsed() < Duration::from_millis(1500), "{line}: {:?}", since.elapsed());
        b.expect("get 1", "row 7 0");
        assert_eq!(c.stat("waiting"), 0);
    }
    // A wait that ended leaves no place in the queue behind.
    a.expect("commit", "ok");
    c.expect("add 1 1", "ok");
    c.expect("get 1", "row 7 2");
    for name in ["locks", "row_locks", "running", "waiting"] {
        assert_eq!(c.stat(name), 0, "{name}");
    }
    server.stop();
}

/// What a writer gets when another one, that committed or aborted, was first: by level, by what the first one did, and by what the
/// second one wants.
fn faster(setup: &Setup) {
    let dir = Directory::new();
    let server = Server::start(setup, &dir.0);
    let (mut a, use_table) = table(&server, 200);
    let mut b = connect(&server, &use_table);
    let serialization = "error 40001";
    #[rustfmt::skip]
    let cases = [
        // level, first, its end, second, answer, the row afterwards
        ("rc", "add K 1", "commit", "add K 10", "ok", "row 7 11"),
        ("rr", "add K 1", "commit", "add K 10", serialization, "row 7 1"),
        ("rr", "add K 1", "abort", "add K 10", "ok", "row 7 10"),
        ("rc", "add K 1", "abort", "add K 10", "ok", "row 7 10"),
        ("rc", "addv K 1", "commit", "add K 10", "ok", "row 8 10"),
        ("rc", "addv K 1", "commit", "addv K 10", "ok", "row 18 0"),
        ("rc", "addv K 1", "abort", "addv K 10", "ok", "row 17 0"),
        ("rr", "addv K 1", "commit", "addv K 10", serialization, "row 8 0"),
        ("rc", "delete K", "commit", "add K 10", "none", "none"),
        ("rr", "delete K", "commit", "add K 10", serialization, "none"),
        ("rc", "delete K", "abort", "add K 10", "ok", "row 7 10"),
        ("rc", "delete K", "commit", "delete K", "none", "none"),
        ("rc", "delete K", "abort", "delete K", "ok", "none"),
        ("rc", "add K 1", "commit", "delete K", "ok", "none"),
        ("rr", "add K 1", "commit", "delete K", serialization, "row 7 1"),
        ("rc", "move K 1K", "commit", "add K 10", "none", "none"),
        ("rc", "move K 1K", "abort", "add K 10", "ok", "row 7 10"),
        ("rc", "add K 1", "commit", "lock K 4", "row 7 1", "row 7 1"),
        ("rr", "add K 1", "commit", "lock K 4", serialization, "row 7 1"),
        ("rc", "delete K", "commit", "lock K 1", "none", "none"),
        ("rr", "lock K 4", "commit", "add K 10", "ok", "row 7 10"),
        ("rc", "lock K 4", "abort", "delete K", "ok", "none"),
    ];
    for (nth, (level, first, end, second, answer, after)) in cases.into_iter().enumerate() {
        let key = (nth + 10).to_string();
        let first = first.replace("1K", &format!("1{key}0")).replace('K', &key);
        let second = second.replace('K', &key);
        let what = format!("{level}: {first}, {end}; {second}");
        b.expect(&format!("begin {level}"), "ok");
        b.expect("get 1", "row 7 0");
        a.expect("begin rc", "ok");
        assert!(!a.ask(&first).starts_with("error"), "{what}");
        b.send(&second).unwrap();
        wait_until(&mut a, "waiting", 1);
        assert_eq!(b.line_within(Duration::from_millis(1)), None, "{what}");
        a.expect(end, "ok");
        let got = b.line().unwrap();
        assert!(if answer.starts_with("error") { got.starts_with(answer) } else { got == answer }, "{what}: {got}");
        b.ask("commit");
        a.expect(&format!("get {key}"), after);
        // After the fact, where a snapshot is older.
        b.expect("begin rr", "ok");
        b.expect("get 2", "row 7 0");
        if after != "none" {
            a.expect(&format!("add {key} 100"), "ok");
            assert!(b.ask(&format!("add {key} 1")).starts_with("error 40001"), "{what}");
        }
        b.expect("abort", "ok");
    }
    let rows = a.number("check");
    assert!(rows > 180, "{rows} rows");
    server.stop();
}

/// Dirty reads and fuzzy reads are absent as the level says, a lost update is refused, write skew is seen.
fn anomalies(setup: &Setup) {
    let dir = Directory::new();
    let server = Server::start(setup, &dir.0);
    let (mut a, use_table) = table(&server, 10);
    let mut b = connect(&server, &use_table);
    // Dirty read
    a.expect("begin rc", "ok");
    a.expect("add 1 1", "ok");
    a.expect("insert 100 1", "ok");
    for level in ["rc", "rr"] {
        b.expect(&format!("begin {level}"), "ok");
        b.expect("get 1", "row 7 0");
        b.expect("get 100", "none");
        b.expect("count", "count 10");
        b.expect("commit", "ok");
    }
    // Fuzzy and phantom reads: seen by statements of their own snapshot, not in one that has one snapshot.
    b.expect("begin rr", "ok");
    b.expect("count", "count 10");
    a.expect("commit", "ok");
    b.expect("count", "count 10");
    b.expect("get 1", "row 7 0");
    b.expect("get 100", "none");
    b.expect(
        "range 0 200 fwd",
        &format!("rows {}", (0..10).map(|key| format!("{key}:7:0")).collect::<Vec<_>>().join(" ")),
    );
    b.expect("commit", "ok");
    b.expect("begin rc", "ok");
    b.expect("get 1", "row 7 1");
    a.expect("add 1 1", "ok");
    b.expect("get 1", "row 7 2");
    b.expect("commit", "ok");
    // Write skew: two transactions read both rows and change one each.
    for (client, level) in [(&mut a, "rr"), (&mut b, "rr")] {
        client.expect(&format!("begin {level}"), "ok");
        client.expect("sum 2 4", "sum 0 14 2");
    }
    a.expect("add 2 -1", "ok");
    b.expect("add 3 -1", "ok");
    a.expect("commit", "ok");
    b.expect("commit", "ok");
    a.expect("sum 2 4", "sum -2 14 2");
    // A statement sees what its transaction did before it, whoever looks.
    a.expect("begin rr", "ok");
    a.expect("add 5 1", "ok");
    a.expect("add 5 1", "ok");
    a.expect("addv 5 1", "ok");
    a.expect("add 5 1", "ok");
    a.expect("delete 6", "ok");
    a.expect("insert 6 1", "ok");
    a.expect("add 6 1", "ok");
    a.expect("get 5", "row 8 3");
    a.expect("get 6", "row 1 1");
    b.expect("get 5", "row 7 0");
    b.expect("get 6", "row 7 0");
    a.expect("commit", "ok");
    b.expect("get 5", "row 8 3");
    b.expect("get 6", "row 1 1");
    b.expect("check", "checked 11");
    server.stop();
}

fn unique(setup: &Setup) {
    let dir = Directory::new();
    let server = Server::start(setup, &dir.0);
    let (mut a, use_table) = table(&server, 10);
    let mut b = connect(&server, &use_table);
    let duplicate = "error 23505";
    #[rustfmt::skip]
    let cases = [
        // what the first one does, its end, what the second one does, what it gets
        ("insert N 1", "commit", "insert N 2", duplicate),
        ("insert N 1", "abort", "insert N 2", "ok"),
        ("move 1 N", "commit", "insert N 2", duplicate),
        ("move 2 N", "abort", "insert N 2", "ok"),
        ("delete 3", "commit", "insert 3 2", "ok"),
        ("delete 4", "abort", "insert 4 2", duplicate),
        ("move 5 N", "commit", "insert 5 2", "ok"),
        ("insert N 1", "commit", "move 6 N", duplicate),
        ("insert N 1", "abort", "move 7 N", "ok"),
    ];
    for (nth, (first, end, second, answer)) in cases.into_iter().enumerate() {
        let key = (100 + nth).to_string();
        let (first, second) = (first.replace('N', &key), second.replace('N', &key));
        a.expect("begin rc", "ok");
        a.expect(&first, "ok");
        b.send(&second).unwrap();
        wait_until(&mut a, "waiting", 1);
        a.expect(end, "ok");
        let got = b.line().unwrap();
        assert!(got.starts_with(answer), "{first}, {end}; {second}: {got}");
        a.ask("check");
    }
    // Two that wait for each other's keys.
    let mut c = connect(&server, &use_table);
    for (client, line) in [(&mut b, "insert 200 1"), (&mut c, "insert 201 1")] {
        client.expect("begin rc", "ok");
        client.expect(line, "ok");
    }
    b.send("insert 201 1").unwrap();
    wait_until(&mut a, "waiting", 1);
    c.send("insert 200 1").unwrap();
    let answers = [b.line_within(Duration::from_secs(2)), c.line_within(Duration::from_secs(2))];
    let victims = answers.iter().flatten().filter(|answer| answer.starts_with("error 40P01")).count();
    assert_eq!(victims, 1, "{answers:?}");
    b.ask("abort");
    c.ask("abort");
    let checked = a.ask("check");
    assert!(checked.starts_with("checked"), "{checked}");
    server.stop();
}

/// A lock lies on its page; a page that leaves the pool takes it to the file and brings it back.
fn evicted() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[5]).pages(128), &dir.0);
    let mut a = server.connect();
    let answer = a.ask("table 4000");
    let use_table = format!("use {} 4000", answer.strip_prefix("ok ").expect("a table"));
    a.expect("load 0 600 7", "ok");
    let mut b = connect(&server, &use_table);
    a.expect("begin rc", "ok");
    a.expect("lock 3 1", "row 7 0");
    a.expect("lock 4 4", "row 7 0");
    let before = b.stat("evictions");
    for _ in 0..3 {
        for key in 0..600 {
            b.expect(&format!("get {key}"), "row 7 0");
        }
    }
    assert!(b.stat("evictions") > before + 300, "the pages have stayed");
    b.expect("lock 3 2 nowait", "row 7 0");
    assert!(b.ask("lock 3 4 nowait").starts_with("error 55P03"));
    assert!(b.ask("lock 4 1 nowait").starts_with("error 55P03"));
    a.expect("commit", "ok");
    b.expect("lock 4 4 nowait", "row 7 0");
    // A restart ends all holders: words that lie on pages mean nothing any more.
    a.expect("begin rc", "ok");
    a.expect("lock 5 4", "row 7 0");
    a.expect("checkpoint", "ok");
    server.kill();
    let server = Server::start(&Setup::of(MODELS[5]).pages(128), &dir.0);
    let mut b = connect(&server, &use_table);
    for key in 0..10 {
        b.expect(&format!("lock {key} 4 nowait"), "row 7 0");
    }
    server.stop();
}

fn dead() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[0]), &dir.0);
    let (mut a, use_table) = table(&server, 10);
    let [mut b, mut c, mut d] = [(); 3].map(|()| connect(&server, &use_table));
    b.expect("begin rc", "ok");
    b.expect("lock 1 2", "row 7 0");
    b.expect("add 2 1", "ok");
    b.expect("insert 50 1", "ok");
    c.send("delete 1").unwrap();
    wait_until(&mut a, "waiting", 1);
    d.send("add 2 10").unwrap();
    wait_until(&mut a, "waiting", 2);
    let pid = b.number("pid");
    std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert_eq!(c.line().unwrap(), "ok");
    assert_eq!(d.line().unwrap(), "ok");
    a.expect("get 1", "none");
    a.expect("get 2", "row 7 10");
    a.expect("get 50", "none");
    a.expect("insert 50 2", "ok");
    a.expect("check", "checked 10");
    for name in ["locks", "row_locks", "running", "waiting"] {
        wait_until(&mut a, name, 0);
    }
    drop(server);
}
