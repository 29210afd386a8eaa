//! `gearbox serve`: PostgreSQL's own programs on real tables, and what is left when everything is killed.
//!
//! | scenario | what it shows |
//! |---|---|
//! | `serve-psql` | a statement's answer; the model is the one that was asked for |
//! | `serve-pgbench` | pgbench fills its tables and loads them; no transaction fails; the sums agree |
//! | `serve-crash` | after a `kill -9` of everything, what was acknowledged is there, and nothing is there in part |
//!
//! pgbench's sums: each transaction of `tpcb-like` adds one amount to an account, a teller and a branch and writes it down in
//! the history; one of `simple-update` does so for account and history alone.

use super::{Effort, Scenario};
use crate::Outcome;
use crate::pgbench::{self, Load};
use crate::server_under_test::ServerUnderTest;
use postgres::Client;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::time::Duration;

/// All scenarios of this file.
pub fn scenarios() -> Vec<Scenario> {
    let scenario = |name, run| Scenario { name, subcommand: "serve", applies: |_| true, long: false, run };
    vec![scenario("serve-psql", psql), scenario("serve-pgbench", pgbench), scenario("serve-crash", crash)]
}

/// What psql prints for a text, unaligned and without heads.
fn ask(server: &ServerUnderTest, text: &str) -> Outcome<String> {
    let output =
        server.client("psql").args(["-X", "-At", "-c", text]).output().map_err(|error| format!("psql: {error}"))?;
    if !output.status.success() {
        return Err(format!("{text}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn expect(server: &ServerUnderTest, text: &str, answer: &str) -> Outcome<()> {
    let found = ask(server, text)?;
    if found == answer { Ok(()) } else { Err(format!("{text}: {found}, not {answer}")) }
}

fn psql(server: ServerUnderTest, _: Effort) -> Outcome<()> {
    expect(&server, "select 1", "1")?;
    expect(&server, "show execution_model", &server.settings().model.to_string())?;
    server.stop()
}

/// The sums that must agree.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Sums {
    pub(super) accounts: i64,
    pub(super) tellers: i64,
    pub(super) branches: i64,
    pub(super) history: i64,
    /// Rows of the history.
    pub(super) transactions: i64,
}

pub(super) fn sums(server: &ServerUnderTest) -> Outcome<Sums> {
    let text = "select (select sum(abalance) from pgbench_accounts), (select sum(tbalance) from pgbench_tellers), \
                (select sum(bbalance) from pgbench_branches), (select coalesce(sum(delta), 0) from pgbench_history), \
                (select count(*) from pgbench_history)";
    let line = ask(server, text)?;
    let numbers: Vec<i64> = line.split('|').filter_map(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        &[accounts, tellers, branches, history, transactions] => {
            Ok(Sums { accounts, tellers, branches, history, transactions })
        }
        _ => Err(format!("the sums cannot be read: {line}")),
    }
}

fn pgbench(server: ServerUnderTest, effort: Effort) -> Outcome<()> {
    pgbench::fill(server.client("pgbench"), effort.scale)?;
    expect(&server, "select count(*) from pgbench_accounts", &(effort.scale * 100_000).to_string())?;
    let (protocols, clients): (&[&str], &[u32]) = match effort.full {
        true => (&["simple", "extended", "prepared"], &[1, 8, 64]),
        false => (&["simple", "prepared"], &[8]),
    };
    // Whatever runs together ends in the same sums; what they are is told apart by running `tpcb-like` first and alone.
    let mut expected = 0;
    let mut tpcb_history = 0;
    for script in ["tpcb-like", "simple-update", "select-only"] {
        for protocol in protocols {
            for &clients in clients {
                let load = Load {
                    script: script.into(),
                    protocol: (*protocol).into(),
                    clients,
                    jobs: 1,
                    seconds: effort.seconds,
                };
                let report = pgbench::run_clean(server.client("pgbench"), &load)?;
                if script != "select-only" {
                    expected += report.transactions as i64;
                }
                let sums = sums(&server)?;
                if script == "tpcb-like" {
                    tpcb_history = sums.history;
                }
                let agree = sums.accounts == sums.history
                    && sums.tellers == tpcb_history
                    && sums.branches == tpcb_history
                    && sums.transactions == expected;
                if !agree {
                    return Err(format!(
                        "after {script}, {protocol}, {clients} clients: {sums:?} with {expected} transactions, \
                         {tpcb_history} of tpcb-like"
                    ));
                }
            }
        }
    }
    server.stop()
}

/// What clients know of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    Asked,
    Acknowledged,
}

/// Writes keys, each into two tables in one transaction, until the connection breaks.
fn write_keys(
    mut client: Client,
    next: &AtomicI64,
    known: &Mutex<BTreeMap<i64, Known>>,
    stop: &AtomicBool,
) -> Result<(), postgres::Error> {
    let one = client.prepare("insert into crash_one values ($1, 'x')")?;
    let other = client.prepare("insert into crash_other values ($1)")?;
    while !stop.load(SeqCst) {
        let key = next.fetch_add(1, SeqCst);
        known.lock().expect("no client panics").insert(key, Known::Asked);
        let mut transaction = client.transaction()?;
        transaction.execute(&one, &[&key])?;
        transaction.execute(&other, &[&key])?;
        transaction.commit()?;
        known.lock().expect("no client panics").insert(key, Known::Acknowledged);
    }
    Ok(())
}

fn keys(client: &mut Client, table: &str) -> Outcome<Vec<i64>> {
    let rows = client.query(&format!("select k from {table} order by k"), &[]).map_err(|error| error.to_string())?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

fn crash(mut server: ServerUnderTest, effort: Effort) -> Outcome<()> {
    const CLIENTS: usize = 8;
    let rounds = if effort.full { 20 } else { 2 };
    server
        .connect()?
        .batch_execute(
            "create table crash_one (k bigint primary key, t text); create table crash_other (k bigint primary key)",
        )
        .map_err(|error| error.to_string())?;
    let next = AtomicI64::new(1);
    let known = Mutex::new(BTreeMap::new());
    for round in 0..rounds {
        let stop = AtomicBool::new(false);
        let clients = (0..CLIENTS).map(|_| server.connect()).collect::<Outcome<Vec<_>>>()?;
        let restarted = std::thread::scope(|scope| {
            for client in clients {
                let (next, known, stop) = (&next, &known, &stop);
                // The connection breaks, as it should.
                scope.spawn(move || drop(write_keys(client, next, known, stop)));
            }
            std::thread::sleep(Duration::from_millis(300 + 137 * (round % 5)));
            let restarted = server.crash_and_restart();
            stop.store(true, SeqCst);
            restarted
        });
        restarted?;
        let mut client = server.connect()?;
        let (one, other) = (keys(&mut client, "crash_one")?, keys(&mut client, "crash_other")?);
        if one != other {
            return Err(format!(
                "round {round}: transactions are there in part: {} and {} keys",
                one.len(),
                other.len()
            ));
        }
        let there: std::collections::BTreeSet<i64> = one.into_iter().collect();
        let known = known.lock().expect("no client panics");
        let acknowledged: Vec<i64> =
            known.iter().filter(|(_, known)| **known == Known::Acknowledged).map(|(key, _)| *key).collect();
        if let Some(lost) = acknowledged.iter().find(|key| !there.contains(key)) {
            return Err(format!("round {round}: key {lost} was acknowledged and is not there"));
        }
        if let Some(stray) = there.iter().find(|key| !known.contains_key(key)) {
            return Err(format!("round {round}: key {stray} is there, and nobody wrote it"));
        }
        if acknowledged.is_empty() {
            return Err(format!("round {round}: no transaction was acknowledged before the kill"));
        }
    }
    server.stop()
}
