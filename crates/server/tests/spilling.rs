//! Temporary files: a statement that needs them has them while it runs, and nobody has one when it is over: at its end, when it fails,
//! when it is cancelled, when its session is sent away, when its process dies, when the server does.

mod support;

use postgres::{Client, NoTls};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use support::server::{MODELS, Server};

const PATIENCE: Duration = Duration::from_secs(60);

/// The names of the temporary files.
fn files(data: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(data.join("temp")).expect("the directory of temporary files");
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn fill(client: &mut Client) {
    client
        .batch_execute(
            "create table big as select i, i % 3001 as g, md5(i::text) as t from generate_series(1, 40000) as i; analyze big",
        )
        .unwrap();
}

/// Statements that need files when there is little memory.
const QUERIES: [&str; 7] = [
    "select md5(string_agg(t, ',')) from (select t from big order by t, i) as s",
    "select md5(sum(a.i * 3 + b.i)::text || count(a.t) || count(b.t)) from big as a full join big as b on a.t = b.t and b.i % 2 = 0",
    "select md5(string_agg(t, ',' order by t)) from (select t, count(*) from big group by t) as s",
    "select md5(string_agg(t, ',' order by t)) from (select distinct t, g from big) as s",
    "select md5(string_agg(t, ',' order by t)) from (select t from big except select t from big where i % 7 = 0) as s",
    "with w as materialized (select * from big) select md5(string_agg(w.t, ',' order by w.i)) from w join w as v using (i)",
    "select md5(count(distinct t)::text || string_agg(distinct t, ',' order by t)) from big",
];

fn answer(client: &mut Client, query: &str) -> String {
    client.query_one(query, &[]).unwrap().get(0)
}

/// How many files were made, by all sessions.
fn made(client: &mut Client) -> i64 {
    client.query_one("select temp_files from pg_stat_database where datid = 0", &[]).unwrap().get(0)
}

#[test]
fn little_memory_gives_the_same_answers_from_files() {
    for model in MODELS {
        let server = Server::start(model, true);
        let name = model.name();
        let mut client = server.connect();
        fill(&mut client);
        for query in QUERIES {
            client.batch_execute("set work_mem = '1GB'").unwrap();
            let before = made(&mut client);
            let wanted = answer(&mut client, query);
            assert_eq!(made(&mut client), before, "{name}: no file where there is memory: {query}");
            client.batch_execute("set work_mem = '64kB'").unwrap();
            assert_eq!(answer(&mut client, query), wanted, "{name}: {query}");
            assert!(made(&mut client) > before, "{name}: no file was made for {query}");
            assert_eq!(files(server.data()), Vec::<String>::new(), "{name}: left behind by {query}");
        }
        server.stop();
    }
}

#[test]
fn no_end_of_a_statement_leaves_files_behind() {
    const SLOW: &str =
        "select count(*) from (select a.t, b.g from big as a, generate_series(1, 1000) as b(g) order by 1, 2) as s";
    for model in MODELS {
        let server = Server::start(model, false);
        let name = model.name();
        let mut watcher = server.connect();
        fill(&mut watcher);
        for round in ["error", "cancel", "terminate", "kill"] {
            let mut client = server.connect();
            client.batch_execute("set work_mem = '256kB'").unwrap();
            if round == "error" {
                client.batch_execute("set temp_file_limit = '16MB'").unwrap();
                let error = client.query(SLOW, &[]).unwrap_err();
                assert_eq!(error.code().map(|code| code.code()), Some("53400"), "{name}");
                assert_eq!(files(server.data()), Vec::<String>::new(), "{name}: after an error");
                // The session goes on, with all of its limit.
                assert_eq!(answer(&mut client, QUERIES[0]).len(), 32, "{name}");
                continue;
            }
            let number: i32 = client.query_one("select pg_backend_pid()", &[]).unwrap().get(0);
            let cancel = client.cancel_token();
            let running = std::thread::spawn(move || (client.query(SLOW, &[]).map(drop), client));
            wait_until(&format!("{name}: a file is made"), || !files(server.data()).is_empty());
            let seen = "select temp_bytes > 0 from gearbox.sessions where pid = $1";
            wait_until(&format!("{name}: the view shows it"), || watcher.query_one(seen, &[&number]).unwrap().get(0));
            match round {
                "cancel" => cancel.cancel_query(NoTls).unwrap(),
                "terminate" => drop(watcher.query("select pg_terminate_backend($1)", &[&number]).unwrap()),
                _ => {
                    // In models of threads the host has the watcher's session too.
                    let find = "select os_pid from gearbox.sessions where pid = $1";
                    let pid: Option<i32> = watcher.query_one(find, &[&number]).unwrap().get(0);
                    let pid = pid.expect("it runs").to_string();
                    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
                }
            }
            let (result, mut client) = running.join().unwrap();
            let error = result.unwrap_err();
            if round == "cancel" {
                assert_eq!(error.code().map(|code| code.code()), Some("57014"), "{name}");
                assert_eq!(files(server.data()), Vec::<String>::new(), "{name}: after a cancel");
                assert_eq!(answer(&mut client, QUERIES[0]).len(), 32, "{name}");
            }
            let what = format!("{name}: files are left behind after {round}");
            wait_until(&what, || files(server.data()).is_empty());
            wait_until(&format!("{name}: it answers again"), || match watcher.simple_query("select 1") {
                Ok(_) => true,
                Err(_) => {
                    if let Ok(new) = server.log_in("postgres", "", "postgres") {
                        watcher = new;
                    }
                    false
                }
            });
        }
        server.stop();
    }
}

#[test]
fn a_crash_leaves_none_behind() {
    for model in MODELS {
        let mut server = Server::start(model, false);
        let mut client = server.connect();
        fill(&mut client);
        client.batch_execute("set work_mem = '64kB'").unwrap();
        let running = std::thread::spawn(move || {
            let slow = "select count(*) from (select a.t, b.g from big as a, generate_series(1, 1000) as b(g) order by 1, 2) as s";
            client.query(slow, &[]).map(drop)
        });
        wait_until("a file is made", || !files(server.data()).is_empty());
        server.crash();
        running.join().unwrap().unwrap_err();
        assert!(!files(server.data()).is_empty(), "nobody was there to remove it");
        server.start_again();
        assert_eq!(answer(&mut server.connect(), "select md5('')"), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(files(server.data()), Vec::<String>::new(), "{}", model.name());
        server.stop();
    }
}
