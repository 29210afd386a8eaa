//! `serve-growth`: a load that goes on for ten minutes leaves nothing larger than it was after two.
//!
//! ```text
//!   fill     load -------------------------------------------------------->  the same load beside a transaction that
//!                     | 2 min: sizes                       10 min: sizes |   keeps all versions: something must grow
//! ```
//!
//! pgbench's `tpcb-like` at scale 1 is the worst there is: all clients update the one row of the branches, one of ten tellers, and
//! accounts on so few pages that two of them often meet.
//!
//! | what | may grow by |
//! |---|---|
//! | a table or an index, the catalog's own table among them | a few pages ([`PAGES`]) |
//! | the history | its rows: no more pages a row than before, and what sessions take ahead |
//! | the log's files | one segment, which is made before it is needed |
//! | the region: all that `gearbox.resources` says memory is set aside for | a segment of the transaction map ([`REGION_BYTES`]) |
//!
//! Two settings are made small, so that what they bound is full within the first two minutes: the buffer pool and the log. With
//! their defaults both would fill for longer than that, as they should.
//!
//! The last part tests the test: with versions that nobody may remove the same comparison has to find something.

use super::serve::connect;
use super::{Effort, Scenario};
use crate::Outcome;
use crate::pgbench::{self, Load};
use crate::process;
use crate::server_under_test::ServerUnderTest;
use postgres::Client;
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A page that is full of versions which somebody may still see sends the next one elsewhere, and sessions choose between a few pages
/// there. How many are in use at a time is a matter of who waits for whom; it does not depend on how long the load goes on.
const PAGES: i64 = 4;
/// What a table that is added to may take ahead: a page for each of eight targets, and sixteen at a time.
const PAGES_AHEAD: i64 = 24;
/// The transaction map has a segment of half a mebibyte for the transactions of the moment, and sometimes one more.
const REGION_BYTES: i64 = 1 << 20;
const SEGMENT_BYTES: i64 = 16 << 20;

/// The scenario of this file. Not under each wait primitive and I/O method: it is about what is left on pages.
pub fn scenario() -> Scenario {
    let applies = |settings: crate::model::Settings| settings.wait.is_none() && settings.io.is_none();
    Scenario { name: "serve-growth", subcommand: "serve", applies, long: true, run: growth }
}

/// When sizes are compared, and what is done meanwhile.
struct Plan {
    early: Duration,
    late: Duration,
    clients: u32,
}

/// What there is at a moment: pages of relations, and bytes of what is called `log` and `region`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Sizes {
    relations: BTreeMap<String, i64>,
    history_rows: i64,
    log: i64,
    region: i64,
    /// What the region's bytes are of.
    owners: BTreeMap<String, i64>,
}

const HISTORY: &str = "pgbench_history";

fn growth(mut server: ServerUnderTest, effort: Effort) -> Outcome<()> {
    let seconds = Duration::from_secs;
    let plan = match effort.full {
        true => Plan { early: seconds(120), late: seconds(600), clients: 64 },
        false => Plan { early: seconds(3), late: seconds(7), clients: 8 },
    };
    let small = "alter system set shared_buffers = '16MB'; alter system set max_wal_size = '64MB'; \
                 alter system set min_wal_size = '32MB'";
    for statement in small.split("; ") {
        connect(&server)?.batch_execute(statement).map_err(|error| format!("{statement}: {error}"))?;
    }
    server.crash_and_restart()?;
    pgbench::fill(server.client("pgbench"), 1)?;
    let mut client = connect(&server)?;
    let load = |clients, time: Duration| Load {
        script: "tpcb-like".into(),
        protocol: "prepared".into(),
        clients,
        jobs: 1,
        seconds: time.as_secs() as u32,
    };
    let (early, late) = std::thread::scope(|scope| {
        let ran = scope.spawn(|| {
            pgbench::run_clean(server.client("pgbench"), &load(plan.clients, plan.late + Duration::from_secs(1)))
        });
        let began = Instant::now();
        let mut at = |moment: Duration| {
            std::thread::sleep(moment.saturating_sub(began.elapsed()));
            largest(&server, &mut client)
        };
        let sizes = at(plan.early).and_then(|early| Ok((early, at(plan.late - Duration::from_secs(1))?)));
        let ran = ran.join().map_err(|_| "the thread of pgbench has panicked".to_string())?;
        ran.and(sizes)
    })?;
    if effort.full {
        println!("{}", listed(&server.settings().to_string(), &early, &late));
    }
    let grown = grown(&early, &late);
    if !grown.is_empty() {
        return Err(format!("between {:?} and {:?} of load: {}", plan.early, plan.late, grown.join("; ")));
    }
    shows_growth(&server, &mut client, &late)?;
    drop(client);
    server.stop()
}

/// The same load while a transaction may still see every version: what was said to be no larger has to be found larger.
fn shows_growth(server: &ServerUnderTest, client: &mut Client, before: &Sizes) -> Outcome<()> {
    const PATIENCE: Duration = Duration::from_secs(60);
    let mut keeper = connect(server)?;
    keeper
        .batch_execute("begin isolation level repeatable read; select count(*) from pgbench_branches")
        .map_err(|error| error.to_string())?;
    let mut command = server.client("pgbench");
    command.args("-n -b tpcb-like -M prepared -c 8 -j 1 -T 600".split(' '));
    let mut load =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|error| format!("pgbench: {error}"))?;
    let began = Instant::now();
    let found = loop {
        std::thread::sleep(Duration::from_millis(300));
        let grew = sizes(server, client).map(|sizes| {
            let of_tables =
                |line: &&String| line.starts_with("pgbench_branches") || line.starts_with("pgbench_tellers");
            grown(before, &sizes).iter().filter(of_tables).count() == 2
        });
        match grew {
            Ok(false) if began.elapsed() < PATIENCE => {}
            found => break found,
        }
    };
    process::signal("KILL", load.id());
    let _ = load.wait();
    match found? {
        true => Ok(()),
        false => Err(format!(
            "nothing has grown in {PATIENCE:?} beside a transaction that keeps all versions: a test that cannot fail"
        )),
    }
}

/// The most of several looks: what is there at one moment is a matter of luck.
fn largest(server: &ServerUnderTest, client: &mut Client) -> Outcome<Sizes> {
    let mut largest = Sizes::default();
    for _ in 0..5 {
        let now = sizes(server, client)?;
        for (name, pages) in now.relations {
            let known = largest.relations.entry(name).or_default();
            *known = pages.max(*known);
        }
        if now.region > largest.region {
            (largest.region, largest.owners) = (now.region, now.owners);
        }
        largest.log = largest.log.max(now.log);
        largest.history_rows = now.history_rows;
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(largest)
}

fn sizes(server: &ServerUnderTest, client: &mut Client) -> Outcome<Sizes> {
    let told = |error: postgres::Error| format!("sizes: {error}");
    let pages = client
        .query("select relname::text, pg_relation_size(oid) / 8192 from pg_class where relkind in ('r', 'i')", &[])
        .map_err(told)?;
    let mut relations: BTreeMap<String, i64> = pages
        .iter()
        .map(|row| (row.get::<_, String>(0), row.get::<_, i64>(1)))
        .filter(|(name, _)| name.starts_with("pgbench_"))
        .collect();
    if relations.len() != 7 {
        return Err(format!("pgbench has four tables and three indexes, not {relations:?}"));
    }
    let data = server.data_dir();
    // The table that definitions are in has no name of its own.
    relations.insert("definitions".into(), bytes(&data.join("base/1"))? / 8192);
    let history_rows = client.query_one("select count(*) from pgbench_history", &[]).map_err(told)?.get(0);
    // The heap's sum is of its owners, each of which has a line.
    let owners = client
        .query("select name, num_active from gearbox.resources where unit = 'bytes' and total < 68719476736", &[])
        .map_err(told)?;
    let mut by_owner: BTreeMap<String, i64> = BTreeMap::new();
    for row in &owners {
        *by_owner.entry(row.get(0)).or_default() += row.get::<_, i64>(1);
    }
    let heap = client
        .query_one("select max_used from gearbox.resources where name = 'region heap' and total >= 68719476736", &[])
        .map_err(told)?;
    by_owner.insert("extents of the heap".into(), heap.get(0));
    let mut log = 0;
    for entry in std::fs::read_dir(data.join("wal")).map_err(|error| error.to_string())?.flatten() {
        // A segment may be renamed between the two calls: it is counted by its new name.
        log += bytes(&entry.path()).unwrap_or(0);
    }
    Ok(Sizes { relations, history_rows, log, region: by_owner.values().sum(), owners: by_owner })
}

fn bytes(path: &std::path::Path) -> Outcome<i64> {
    let meta = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(meta.len() as i64)
}

/// What is larger than it may be.
fn grown(early: &Sizes, late: &Sizes) -> Vec<String> {
    let mut grown = Vec::new();
    let mut check = |name: &str, unit: &str, before: i64, now: i64, allowed: i64| {
        if now > allowed {
            grown.push(format!("{name} has grown from {before} to {now} {unit}"));
        }
    };
    for (name, &now) in &late.relations {
        let before = early.relations.get(name).copied().unwrap_or(0);
        let allowed = if name == HISTORY {
            // Rounded up: the first pages are not full either.
            let rows = early.history_rows.max(1);
            (late.history_rows * before).div_euclid(rows) + 1 + PAGES_AHEAD
        } else {
            before + PAGES
        };
        check(name, "pages", before, now, allowed);
    }
    check("the log", "bytes", early.log, late.log, early.log + SEGMENT_BYTES);
    check("the region", "bytes", early.region, late.region, early.region + REGION_BYTES);
    grown
}

/// The figures of a run, a line each.
fn listed(model: &str, early: &Sizes, late: &Sizes) -> String {
    let mut lines = vec![format!("{model}: {} rows of history, then {}", early.history_rows, late.history_rows)];
    let mut line = |name: &str, unit: &str, early: i64, late: i64| {
        lines.push(format!("  {name:<28} {early:>10} -> {late:>10} {unit}"));
    };
    for (name, &now) in &late.relations {
        line(name, "pages", early.relations.get(name).copied().unwrap_or(0), now);
    }
    line("log", "bytes", early.log, late.log);
    line("region", "bytes", early.region, late.region);
    for (name, &now) in &late.owners {
        let before = early.owners.get(name).copied().unwrap_or(0);
        if before != now {
            line(&format!("  of {name}"), "bytes", before, now);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Sizes {
        let relations = [("pgbench_accounts", 1784), ("pgbench_accounts_pkey", 212), (HISTORY, 100)];
        Sizes {
            relations: relations.map(|(name, pages)| (name.to_string(), pages)).into(),
            history_rows: 12_000,
            log: 5 * SEGMENT_BYTES,
            region: 100 << 20,
            owners: BTreeMap::new(),
        }
    }

    fn with(change: impl FnOnce(&mut Sizes)) -> Vec<String> {
        let mut late = some();
        change(&mut late);
        grown(&some(), &late)
    }

    #[test]
    fn what_has_grown_is_told() {
        let pages = |name: &'static str, pages: i64| {
            move |sizes: &mut Sizes| {
                sizes.relations.insert(name.into(), pages);
            }
        };
        assert!(with(|_| ()).is_empty());
        assert!(with(pages("pgbench_accounts", 1784 + PAGES)).is_empty());
        assert_eq!(
            with(pages("pgbench_accounts", 1785 + PAGES)),
            [format!("pgbench_accounts has grown from 1784 to {} pages", 1785 + PAGES)]
        );
        assert_eq!(with(pages("pgbench_accounts_pkey", 213 + PAGES)).len(), 1);
        assert_eq!(with(|sizes| sizes.log += SEGMENT_BYTES + 1).len(), 1);
        assert_eq!(with(|sizes| sizes.region += REGION_BYTES + 1).len(), 1);
    }

    #[test]
    fn the_history_may_grow_by_its_rows() {
        let history = |rows: i64, pages: i64| {
            with(move |sizes| {
                sizes.history_rows = rows;
                sizes.relations.insert(HISTORY.into(), pages);
            })
        };
        assert!(history(60_000, 500).is_empty());
        assert_eq!(history(60_000, 502 + PAGES_AHEAD).len(), 1);
        assert_eq!(history(12_000, 126).len(), 1);
    }
}
