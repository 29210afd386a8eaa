//! Loads that go on: what is used for them stops growing.
//!
//! A table is updated, added to and deleted from all the time, while the background vacuum works. After a while heap, indexes, log, transaction
//! map, memory for free space and the region's heap are as large as they will be. Some seconds by default; with
//! `GEARBOX_FULL=1` ten minutes, of which the second is compared with the last.

use crate::history::full;
use crate::runner::Test;
use crate::server::{Client, Directory, MODELS, Server, Setup};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::time::{Duration, Instant};

pub fn tests(tests: &mut Vec<Test>) {
    for (nth, model) in MODELS.into_iter().enumerate() {
        let setup = Setup::of(model);
        let name = format!("a_load_stops_growing_{}", setup.name().replace(['/', ' '], "_"));
        // All models in the long form; by default the two ends.
        if full() || nth == 0 || nth == 5 {
            tests.push((name, Box::new(move || steady(&setup))));
        }
    }
    tests.push(("repeated_updates_leave_the_heap_as_it_is".into(), Box::new(updates)));
    tests.push(("a_page_that_a_load_has_filled_has_room_for_an_update".into(), Box::new(first_updates)));
    tests.push(("an_old_snapshot_keeps_what_it_sees_and_no_more".into(), Box::new(old_snapshot)));
    tests.push(("the_end_of_a_table_is_given_back".into(), Box::new(cut)));
    tests.push(("an_emptied_index_is_used_again".into(), Box::new(emptied)));
    tests.push(("aborted_transactions_are_forgotten".into(), Box::new(forgotten)));
}

const KEYS: i64 = 1000;

/// Sizes that must not grow.
fn sizes(client: &mut Client) -> BTreeMap<&'static str, u64> {
    let pages: Vec<u64> =
        client.ask("pages").split(' ').skip(1).map(|word| word.parse().expect("a number of pages")).collect();
    let mut sizes = BTreeMap::from([("heap pages", pages[0]), ("key pages", pages[1]), ("value pages", pages[2])]);
    let answer = client.ask("stat");
    for name in ["segments", "map_bytes", "space_chunks", "relation_bytes", "heap_bytes"] {
        let found = answer.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        sizes.insert(name, found.and_then(|word| word.parse().ok()).expect("a number"));
    }
    sizes
}

fn steady(setup: &Setup) {
    let dir = Directory::new();
    let setup = Setup { max_wal_size: 48 << 20, ..setup.clone() };
    let server = Server::start(&setup, &dir.0);
    let mut admin = server.connect();
    let answer = admin.ask("table 60");
    let table = format!("use {} 60", answer.strip_prefix("ok ").expect("a table"));
    admin.expect(&format!("load 0 {KEYS} 0"), "ok");
    admin.expect("watch", "ok");
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(0)));
    let workers: Vec<_> = (1..=4)
        .map(|seed| {
            let (address, table, stop, done) = (server.address(), table.clone(), stop.clone(), done.clone());
            std::thread::spawn(move || {
                let mut client = Client::connect(address).expect("a connection");
                client.expect(&table, "ok");
                let mut first = 0;
                while !stop.load(SeqCst) {
                    let answer = client.ask(&format!("tpcb 50 {seed} {KEYS} {first} 60"));
                    assert!(answer.starts_with("done 50 "), "{answer}");
                    first += 50;
                    done.fetch_add(50, SeqCst);
                }
            })
        })
        .collect();
    // By time where there is time; else by what was done, since a busy machine does little in a second.
    let run = |seconds: u64, transactions: i64| {
        let (since, before) = (Instant::now(), done.load(SeqCst));
        let over =
            || if full() { since.elapsed().as_secs() >= seconds } else { done.load(SeqCst) - before >= transactions };
        while !over() {
            assert!(
                since.elapsed() < Duration::from_secs(seconds.max(60)),
                "only {} transactions",
                done.load(SeqCst) - before
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    run(120, 1600);
    // What is there at one moment is a matter of luck: the most of several.
    let most = |admin: &mut Client| {
        let mut most: BTreeMap<&'static str, u64> = BTreeMap::new();
        for _ in 0..10 {
            for (name, size) in sizes(admin) {
                let known = most.entry(name).or_default();
                *known = size.max(*known);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        most
    };
    let early = most(&mut admin);
    let at_early = done.load(SeqCst);
    run(480, 1600);
    let late = most(&mut admin);
    stop.store(true, SeqCst);
    workers.into_iter().for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    let all = done.load(SeqCst);
    println!("    {} transactions, then {}: {early:?} {late:?}", at_early, all - at_early);
    for (name, size) in &late {
        // What there is between two vacuums, a tenth of a second apart, is a matter of how busy the machine is: a few pages, a segment of
        // the map, a chunk for the first page beyond its span. Only the index of values depends on how long the load goes on.
        let allowed = match *name {
            "segments" | "space_chunks" => 1,
            // Values spread as the load goes on, and a page of their index goes only when the last entry does: on a fast machine nine
            // pages more come with ten thousand transactions. Entries that nobody removes would be eighty.
            "value pages" => 8 + (all - at_early) as u64 / 500,
            name if name.ends_with(" pages") => 8,
            _ => 1 << 20,
        };
        assert!(*size <= early[name] + allowed, "{name}: {} at first, {size} later", early[name]);
    }
    // Three updates a transaction, all of them there.
    let answer = admin.ask(&format!("sum 0 {KEYS}"));
    assert!(answer.starts_with(&format!("sum {} ", 3 * all)), "{answer}, and {all} transactions");
    let checked = admin.ask("check");
    assert!(checked.starts_with("checked"), "{checked}");
    server.stop();
}

fn updates() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[5]), &dir.0);
    let mut a = server.connect();
    a.ask("table 100");
    a.expect("load 0 400 0", "ok");
    let before = sizes(&mut a);
    // Pruned by who comes by, without a vacuum. At first the pages are full, and versions have to go elsewhere; then there is room.
    let mut rounds = |count: usize| {
        for _ in 0..count {
            for from in (0..400).step_by(50) {
                a.expect("begin rc", "ok");
                a.expect(&format!("bumps {from} {}", from + 50), "ok");
                a.expect("commit", "ok");
            }
        }
        sizes(&mut a)
    };
    let (middle, after) = (rounds(10), rounds(40));
    assert!(middle["heap pages"] <= 2 * before["heap pages"] + 2, "{before:?} {middle:?}");
    for name in ["heap pages", "key pages", "value pages"] {
        // Slots of rows that have moved stay until a vacuum comes, of which there is none here. Values spread, and a page of their index
        // goes only when its last entry does: from nine pages to eighteen was seen. Entries that nobody removes would be seventy.
        let allowed = if name == "value pages" { middle[name] + 4 } else { middle[name] / 8 + 2 };
        assert!(after[name] <= middle[name] + allowed, "{name}: {middle:?} {after:?}");
    }
    let usage = a.ask("usage");
    assert!(usage.contains("updated=20000"), "{usage}");
    a.expect("sum 0 400", "sum 20000 0 400");
    a.expect("check", "checked 400");
    server.stop();
}

fn first_updates() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[5]), &dir.0);
    let mut a = server.connect();
    a.ask("table 60");
    a.expect("load 0 2000 0", "ok");
    let before = sizes(&mut a);
    // At most one row of each page, so that nothing has to be pruned: no version leaves its page.
    let rows_of_a_page = 2000 / before["heap pages"] as usize + 40;
    let keys: Vec<usize> = (0..2000).step_by(rows_of_a_page).collect();
    for key in &keys {
        a.expect(&format!("bump {key}"), "ok");
    }
    let (usage, count) = (a.ask("usage"), keys.len());
    assert!(count > 5 && usage.contains(&format!(" updated={count} hot={count} ")), "{usage}");
    let after = sizes(&mut a);
    for name in ["heap pages", "key pages", "value pages"] {
        assert_eq!(before[name], after[name], "{name}");
    }
    server.stop();
}

fn old_snapshot() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[4]), &dir.0);
    let [mut a, mut b] = [(); 2].map(|()| server.connect());
    let answer = a.ask("table 100");
    b.expect(&format!("use {} 100", answer.strip_prefix("ok ").expect("a table")), "ok");
    a.expect("load 0 50 3", "ok");
    b.expect("begin rr", "ok");
    b.expect("sum 0 50", "sum 0 150 50");
    for _ in 0..20 {
        a.expect("bumps 0 50", "ok");
    }
    for key in 0..25 {
        a.expect(&format!("delete {key}"), "ok");
    }
    a.expect("horizon", "ok");
    assert!(a.ask("vacuum").starts_with("vacuumed "));
    b.expect("sum 0 50", "sum 0 150 50");
    b.expect("get 3", "row 3 0");
    b.expect("values 3 4", &format!("rows {}", (0..50).map(|key| format!("{key}:3:0")).collect::<Vec<_>>().join(" ")));
    let kept = a.number("pages");
    b.expect("commit", "ok");
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        a.expect("horizon", "ok");
        let vacuumed = a.ask("vacuum");
        let numbers: Vec<u64> = vacuumed.split(' ').skip(1).map(|word| word.parse().expect("a number")).collect();
        if numbers[3] == 25 {
            break;
        }
        assert!(Instant::now() < end, "{vacuumed}");
    }
    a.expect("check", "checked 25");
    // What was kept is used again.
    for _ in 20..40 {
        a.expect("bumps 25 50", "ok");
    }
    assert!(a.number("pages") <= kept, "{} pages, and {kept} before", a.number("pages"));
    server.stop();
}

fn cut() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[3]), &dir.0);
    let mut a = server.connect();
    a.ask("table 500");
    a.expect("load 0 3000 1", "ok");
    let full = a.number("pages");
    a.expect("begin rc", "ok");
    for key in 1000..3000 {
        a.expect(&format!("delete {key}"), "ok");
    }
    a.expect("commit", "ok");
    a.expect("horizon", "ok");
    let vacuumed = a.ask("vacuum small");
    let rest = a.number("pages");
    assert!(rest < full / 2, "{rest} of {full} pages are left: {vacuumed}");
    a.expect("check", "checked 1000");
    a.expect("load 1000 3000 2", "ok");
    // A load takes up to 128 pages ahead.
    assert!(a.number("pages") <= full + 128);
    a.expect("check", "checked 3000");
    // The catalog's own tables are used without a lock that would keep others from cutting.
    let mut b = server.connect();
    b.expect("own 9 500", "ok");
    b.expect("load 0 3000 1", "ok");
    let full = b.number("pages");
    b.expect("begin rc", "ok");
    b.expect("deletes 100 3000", "ok");
    b.expect("commit", "ok");
    b.expect("horizon", "ok");
    assert!(b.ask("vacuum").starts_with("vacuumed "));
    assert_eq!(b.number("pages"), full);
    server.kill();
    let server = Server::start(&Setup::of(MODELS[3]), &dir.0);
    let mut a = server.connect();
    a.expect("use 16384 16385 16386 500", "ok");
    a.expect("check", "checked 3000");
    server.stop();
}

fn emptied() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[5]), &dir.0);
    let mut a = server.connect();
    a.ask("table 0");
    let mut most = Vec::new();
    for round in 0..6i64 {
        // Ever higher keys: pages at the left become empty, and are to be used at the right.
        let from = round * 4000;
        a.expect(&format!("load {from} {} 5", from + 4000), "ok");
        if round > 0 {
            a.expect("begin rc", "ok");
            a.expect(&format!("deletes {} {from}", from - 4000), "ok");
            a.expect("commit", "ok");
        }
        for _ in 0..2 {
            a.expect("horizon", "ok");
            assert!(a.ask("vacuum").starts_with("vacuumed "));
        }
        a.expect("check", "checked 4000");
        most.push(sizes(&mut a)["key pages"]);
    }
    assert!(most[5] <= most[2] + most[2] / 4, "the index grows and grows: {most:?}");
    server.stop();
}

fn forgotten() {
    let dir = Directory::new();
    let server = Server::start(&Setup::of(MODELS[5]), &dir.0);
    let mut a = server.connect();
    a.ask("table 20");
    a.expect("load 0 100 0", "ok");
    // Aborted changes of all kinds, which must stay invisible when nobody remembers who made them.
    let mut b = server.connect();
    let rels = a.ask("rels");
    b.expect(&format!("use {} 20", rels.strip_prefix("ok ").expect("a table")), "ok");
    for key in 0..30 {
        b.expect("begin rc", "ok");
        b.expect(&format!("bump {key}"), "ok");
        b.expect(&format!("set {} 9", key + 30), "ok");
        b.expect(&format!("delete {}", key + 60), "ok");
        b.expect(&format!("insert {} 1", key + 1000), "ok");
        b.expect("abort", "ok");
    }
    a.expect("watch", "ok");
    b.expect("xids 300000 1000", "ok");
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        assert!(b.ask("vacuum").starts_with("vacuumed "));
        if a.stat("map_full") + a.stat("map_bits") <= 3 {
            break;
        }
        assert!(Instant::now() < end, "{} full, {} bits", a.stat("map_full"), a.stat("map_bits"));
        b.expect("xids 100 1000", "ok");
        std::thread::sleep(Duration::from_millis(20));
    }
    a.expect("check", "checked 100");
    a.expect("sum 0 2000", "sum 0 0 100");
    // Waited for, and so is all that was committed before it without a wait.
    a.expect("bump 1", "ok");
    a.expect("add 1 -1", "ok");
    let before = a.stat("next_xid");
    server.kill();
    let server = Server::start(&Setup::of(MODELS[5]), &dir.0);
    let mut a = server.connect();
    a.expect(&format!("use {} 20", rels.strip_prefix("ok ").expect("a table")), "ok");
    a.expect("check", "checked 100");
    a.expect("sum 0 2000", "sum 0 0 100");
    assert!(a.stat("next_xid") >= before, "ids are given out again: {} after {before}", a.stat("next_xid"));
    server.stop();
}
