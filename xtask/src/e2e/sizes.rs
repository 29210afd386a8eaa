//! How large a server is at a moment, and what may be larger later: relations, the log's files, the region, the processes.
//!
//! | what | may grow by |
//! |---|---|
//! | a table or an index, the catalog's own table among them | a few pages ([`PAGES`]) |
//! | the history | its rows: no more pages a row than before, and what sessions take ahead |
//! | the log's files | one segment, which is made before it is needed |
//! | the region: all that `gearbox.resources` says memory is set aside for, the program's code in huge pages with it | a segment of the transaction map ([`REGION_BYTES`]) |
//! | the processes: their proportional set in `/proc`, without files and the region | a twentieth, and [`PROCESS_BYTES`] |
//! | what the processes have touched of the region | to the region's size |

use crate::Outcome;
use crate::process::Memory;
use crate::server_under_test::ServerUnderTest;
use postgres::Client;
use std::collections::BTreeMap;
use std::time::Duration;

/// A page that is full of versions which somebody may still see sends the next one elsewhere, and sessions choose between a few pages
/// there. How many are in use at a time is a matter of who waits for whom; it does not depend on how long the load goes on.
const PAGES: i64 = 4;
/// What a table that is added to may take ahead: a page for each of eight targets, and sixteen at a time.
const PAGES_AHEAD: i64 = 24;
/// The transaction map has a segment of half a mebibyte for the transactions of the moment, and sometimes one more. The buffer pool, which
/// takes memory in pieces of two, adds nothing: filling the tables has filled it before the first look.
const REGION_BYTES: i64 = 1 << 20;
const SEGMENT_BYTES: i64 = 16 << 20;
/// What allocators of a server's processes may take more, beside a twentieth.
const PROCESS_BYTES: i64 = 4 << 20;
/// What of the region no row of `gearbox.resources` stands for: its header, the ends of tables.
const REGION_REST: i64 = 4 << 20;

/// What bounds a server's files and memory, so small that a short load fills it.
const SMALL: [&str; 3] = [
    "alter system set shared_buffers = '16MB'",
    "alter system set max_wal_size = '64MB'",
    "alter system set min_wal_size = '32MB'",
];

/// Makes a server's buffer pool and log small.
pub fn make_small(server: &mut ServerUnderTest) -> Outcome<()> {
    for statement in SMALL {
        server.connect()?.batch_execute(statement).map_err(|error| format!("{statement}: {error}"))?;
    }
    server.crash_and_restart().map(drop)
}

/// What there is at a moment: pages of relations, and bytes of everything else.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Sizes {
    relations: BTreeMap<String, i64>,
    /// Rows of pgbench's history, which grows by one for each transaction.
    pub history_rows: i64,
    log: i64,
    region: i64,
    /// What the region's bytes are of.
    owners: BTreeMap<String, i64>,
    /// Of all processes, without what they share.
    processes: i64,
    /// Of the region, what any process has touched: a page that several of them have counts once.
    touched: i64,
}

const HISTORY: &str = "pgbench_history";

/// The most of several looks: what is there at one moment is a matter of luck.
pub fn largest(server: &ServerUnderTest, client: &mut Client) -> Outcome<Sizes> {
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
        largest.processes = largest.processes.max(now.processes);
        largest.touched = largest.touched.max(now.touched);
        largest.history_rows = now.history_rows;
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(largest)
}

/// One look. Tables and indexes are those whose names begin with `pgbench_` and `soak_`.
pub fn sizes(server: &ServerUnderTest, client: &mut Client) -> Outcome<Sizes> {
    let told = |error: postgres::Error| format!("sizes: {error}");
    let pages = client
        .query("select relname::text, pg_relation_size(oid) / 8192 from pg_class where relkind in ('r', 'i')", &[])
        .map_err(told)?;
    let mut relations: BTreeMap<String, i64> = pages
        .iter()
        .map(|row| (row.get::<_, String>(0), row.get::<_, i64>(1)))
        .filter(|(name, _)| name.starts_with("pgbench_") || name.starts_with("soak_"))
        .collect();
    if relations.len() < 7 {
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
    let code = client
        .query_one("select num_active from gearbox.resources where name = 'huge pages of code'", &[])
        .map_err(told)?;
    by_owner.insert("code in huge pages".into(), code.get::<_, i64>(0) * (2 << 20));
    let mut log = 0;
    for entry in std::fs::read_dir(data.join("wal")).map_err(|error| error.to_string())?.flatten() {
        // A segment may be renamed between the two calls: it is counted by its new name.
        log += bytes(&entry.path()).unwrap_or(0);
    }
    let (processes, touched) = sum(server.processes().iter().map(|process| process.memory()))?;
    Ok(Sizes { relations, history_rows, log, region: by_owner.values().sum(), owners: by_owner, processes, touched })
}

/// Of those that say it: the others may have ended. A server without memory is one of which nothing is known.
fn sum(processes: impl Iterator<Item = Option<Memory>>) -> Outcome<(i64, i64)> {
    let (own, shared) = processes.flatten().fold((0, 0), |sum, of| (sum.0 + of.own as i64, sum.1 + of.shared as i64));
    match own == 0 || shared == 0 {
        true => Err("the system does not say what the server's processes have (Pss_Anon and Pss_Shmem in /proc/PID/smaps_rollup)".into()),
        false => Ok((own, shared)),
    }
}

fn bytes(path: &std::path::Path) -> Outcome<i64> {
    let meta = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(meta.len() as i64)
}

/// What is larger than it may be.
pub fn grown(early: &Sizes, late: &Sizes) -> Vec<String> {
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
    check("the processes", "bytes", early.processes, late.processes, early.processes * 21 / 20 + PROCESS_BYTES);
    check("what is touched of the region", "bytes", early.touched, late.touched, late.region + REGION_REST);
    grown
}

/// The figures of a run, a line each.
pub fn listed(model: &str, early: &Sizes, late: &Sizes) -> String {
    let mut lines = vec![format!("{model}: {} rows of history, then {}", early.history_rows, late.history_rows)];
    let mut line = |name: &str, unit: &str, early: i64, late: i64| {
        lines.push(format!("  {name:<28} {early:>10} -> {late:>10} {unit}"));
    };
    for (name, &now) in &late.relations {
        line(name, "pages", early.relations.get(name).copied().unwrap_or(0), now);
    }
    line("log", "bytes", early.log, late.log);
    line("processes", "bytes", early.processes, late.processes);
    line("touched of the region", "bytes", early.touched, late.touched);
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
            processes: 40 << 20,
            touched: 90 << 20,
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
        assert!(with(|sizes| sizes.processes += 5 << 20).is_empty());
        assert_eq!(with(|sizes| sizes.processes += 7 << 20).len(), 1);
        assert!(with(|sizes| sizes.touched += 13 << 20).is_empty());
        assert_eq!(with(|sizes| sizes.touched += 15 << 20).len(), 1);
    }

    #[test]
    fn processes_of_which_nothing_is_known_are_no_small_server() {
        let of = |own: u64| Memory { own, shared: 2 * own };
        assert_eq!(sum([Some(of(5)), None, Some(of(6))].into_iter()), Ok((11, 22)));
        assert!(sum([None, None].into_iter()).is_err());
        assert!(sum(std::iter::empty()).is_err());
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
