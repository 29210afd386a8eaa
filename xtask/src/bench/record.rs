//! One measured run, as it is kept: a JSON line.
//!
//! A record says everything that is needed to repeat the run and to read it years later. Fields are added, never
//! renamed; a new one gets a default, so that old lines stay readable.

use crate::machine::Machine;
use crate::pgbench::Run;
use crate::process::{self, Ticks, Usage};
use crate::{Outcome, tree};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// One run of one load against one server.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Record {
    /// The benchmark's name.
    pub bench: String,
    /// The run of the benchmark command: records with the same word were measured in turns.
    pub run: String,
    /// When that run began.
    pub date: String,
    /// The commit, with `+` where the tree differed from it.
    pub commit: String,
    /// Where it was measured.
    pub machine: Machine,
    /// What answered: `gearbox limit`, `gearbox serve`, `postgres`.
    pub server: String,
    /// The execution model, or what stands in its place.
    pub model: String,
    /// The server's options.
    pub options: String,
    /// Which CPUs server and client ran on: `one`, `split`, `free`.
    pub layout: String,
    /// The pgbench script.
    pub script: String,
    /// The protocol.
    pub protocol: String,
    /// Connections.
    pub clients: u32,
    /// The load generator's threads.
    pub jobs: u32,
    /// How long it was run.
    pub seconds: u32,
    /// Which turn this was, from one.
    pub round: u32,
    /// Transactions that ended well.
    pub transactions: u64,
    /// Transactions that did not.
    pub failed: u64,
    /// The figures.
    pub figures: Figures,
}

/// What was measured, per second or per transaction.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct Figures {
    /// Transactions a second.
    pub tps: f64,
    /// Mean latency.
    pub latency_mean_us: f64,
    /// Its standard deviation.
    pub latency_stddev_us: f64,
    /// Median latency of a sample.
    pub latency_p50_us: f64,
    /// 95th percentile of a sample.
    pub latency_p95_us: f64,
    /// 99th percentile of a sample.
    pub latency_p99_us: f64,
    /// CPU of all of the server's tasks, per transaction.
    pub server_cpu_us: f64,
    /// The part in the program.
    pub server_user_us: f64,
    /// The part in the kernel.
    pub server_system_us: f64,
    /// Context switches of all of the server's tasks, per transaction.
    pub server_switches: f64,
    /// CPU of the load generator, per transaction.
    pub client_cpu_us: f64,
    /// What neither server nor client used of the machine's processors, though they were not idle, in percent: other programs.
    #[serde(default)]
    pub others_percent: f64,
    /// What the hypervisor kept from the machine's processors, in percent. CPU figures contain it.
    #[serde(default)]
    pub stolen_percent: f64,
}

/// The clock of `/proc/stat` on every architecture that matters here: 100 ticks a second.
const NANOSECONDS_PER_TICK: f64 = 1e7;

/// Server and client at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// All of the server's tasks.
    pub server: Usage,
    /// All of the load generator's.
    pub client: Usage,
    /// Everything on the machine.
    pub machine: process::Machine,
}

impl Figures {
    /// The figures of a run; `ticks` are the server's by mode before and after it.
    pub fn of(run: &Run<Sample>, ticks: (Ticks, Ticks)) -> Figures {
        let (first, last) = run.samples;
        let each = |before: u64, after: u64| after.saturating_sub(before) as f64 / run.window_transactions.max(1.0);
        let cpu = each(first.server.cpu_ns, last.server.cpu_ns) / 1000.0;
        let user = ticks.1.user.saturating_sub(ticks.0.user) as f64;
        let system = ticks.1.system.saturating_sub(ticks.0.system) as f64;
        let user_share = if user + system > 0.0 { user / (user + system) } else { 0.0 };
        let passed = last.machine.all.saturating_sub(first.machine.all).max(1) as f64 / 100.0;
        let busy = last.machine.busy.saturating_sub(first.machine.busy) as f64;
        let ours = |sample: Sample| sample.server.cpu_ns + sample.client.cpu_ns;
        let ours = ours(last).saturating_sub(ours(first)) as f64 / NANOSECONDS_PER_TICK;
        let stolen = last.machine.stolen.saturating_sub(first.machine.stolen) as f64;
        // Nanoseconds and thousandths are as fine as anything here is measured.
        let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
        Figures {
            tps: rounded(run.report.tps),
            latency_mean_us: rounded(run.report.latency_mean_us),
            latency_stddev_us: rounded(run.report.latency_stddev_us),
            latency_p50_us: percentile(&run.latencies_us, 50),
            latency_p95_us: percentile(&run.latencies_us, 95),
            latency_p99_us: percentile(&run.latencies_us, 99),
            server_cpu_us: rounded(cpu),
            server_user_us: rounded(cpu * user_share),
            server_system_us: rounded(cpu * (1.0 - user_share)),
            server_switches: rounded(each(first.server.switches, last.server.switches)),
            client_cpu_us: rounded(each(first.client.cpu_ns, last.client.cpu_ns) / 1000.0),
            others_percent: rounded((busy - ours).max(0.0) / passed),
            stolen_percent: rounded(stolen / passed),
        }
    }
}

/// Adds a line to a file of records.
pub fn append(path: &Path, record: &Record) -> Outcome<()> {
    let line = serde_json::to_string(record).map_err(|error| error.to_string())?;
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| writeln!(file, "{line}")).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads a file of records.
pub fn read(path: &Path) -> Outcome<Vec<Record>> {
    let text = tree::read(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| format!("{}:{}: {error}", path.display(), index + 1))
        })
        .collect()
}

/// A percentile of sorted values: the smallest that as many percent of them do not exceed.
fn percentile(sorted: &[u64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0) as f64
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::pgbench::Report;

    /// A record with the given cell and throughput, and round figures elsewhere.
    pub fn record(run: &str, model: &str, layout: &str, clients: u32, round: u32, tps: f64) -> Record {
        let machine = Machine { cpu: "cpu".into(), cpus: 2, memory_mib: 1024, kernel: "6".into(), system: "x".into() };
        Record {
            bench: "limit".into(),
            run: run.into(),
            date: "2025-01-01T00:00:00Z".into(),
            commit: "abc".into(),
            machine,
            server: "gearbox limit".into(),
            model: model.into(),
            options: "--engines 1".into(),
            layout: layout.into(),
            script: "select-only".into(),
            protocol: "prepared".into(),
            clients,
            jobs: 1,
            seconds: 5,
            round,
            transactions: 100,
            failed: 0,
            figures: Figures { tps, server_cpu_us: 3.0, ..Figures::default() },
        }
    }

    #[test]
    fn costs_come_from_the_window_and_the_split_from_the_ticks() {
        let usage = |cpu_ns, switches| Usage { cpu_ns, switches };
        let run = Run {
            report: Report { transactions: 5000, failed: 0, tps: 1000.0, latency_mean_us: 7.0, latency_stddev_us: 1.0 },
            latencies_us: (1..=100).collect(),
            window_transactions: 1000.0,
            samples: (
                Sample { server: usage(5_000_000, 10), client: usage(0, 0), machine: process::Machine::default() },
                Sample {
                    server: usage(9_000_000, 510),
                    client: usage(2_000_000, 0),
                    machine: process::Machine { busy: 7, stolen: 2, all: 10 },
                },
            ),
        };
        let figures = Figures::of(&run, (Ticks { user: 10, system: 10 }, Ticks { user: 11, system: 13 }));
        assert_eq!((figures.server_cpu_us, figures.server_user_us, figures.server_system_us), (4.0, 1.0, 3.0));
        assert_eq!((figures.server_switches, figures.client_cpu_us), (0.5, 2.0));
        assert_eq!((figures.others_percent, figures.stolen_percent), (64.0, 20.0));
        assert_eq!((figures.latency_p50_us, figures.latency_p99_us), (50.0, 99.0));
    }

    #[test]
    fn percentiles_of_few_values() {
        assert_eq!(percentile(&[], 99), 0.0);
        assert_eq!(percentile(&[7], 50), 7.0);
        assert_eq!(percentile(&[1, 2, 3], 99), 3.0);
    }

    #[test]
    fn records_are_appended_and_read_back() {
        let dir = tree::scratch("records").unwrap();
        let path = dir.join("results/limit.jsonl");
        let records = [record("a", "thread/fiber", "one", 1, 1, 10.0), record("a", "thread/fiber", "one", 1, 2, 11.0)];
        for record in &records {
            append(&path, record).unwrap();
        }
        assert_eq!(read(&path).unwrap(), records);
        std::fs::write(&path, "{}\n").unwrap();
        assert!(read(&path).unwrap_err().contains("limit.jsonl:1"));
        std::fs::remove_dir_all(dir).unwrap();
    }
}
