//! PostgreSQL's load generator as a driver: started, watched, its report read.
//!
//! ```text
//!        connect      1 s         2 s              T-1 s      T s
//! pgbench  |-----------+-----------+--- progress ----+---------| report
//!                      ^ first sample                ^ last sample
//! ```
//!
//! Two things are measured. The *report* counts the whole run. The *window* lies between the first and the last full
//! second: there all clients are connected and none is leaving, and the sampler that the caller passes is called at both
//! ends, the moment pgbench prints its progress. Costs per transaction come from the window; with the connects in it, a
//! model that forks would be charged for them by the transaction.

use crate::Outcome;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

/// What to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Load {
    /// A built-in script: `select-only`, `tpcb-like`, `simple-update`.
    pub script: String,
    /// `simple`, `extended` or `prepared`.
    pub protocol: String,
    /// Connections.
    pub clients: u32,
    /// Threads of the load generator.
    pub jobs: u32,
    /// How long; at least 3, so that there is a window.
    pub seconds: u32,
}

/// pgbench's own summary of a run.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Report {
    /// Transactions that ended well.
    pub transactions: u64,
    /// Transactions that did not.
    pub failed: u64,
    /// Transactions a second, connecting left out.
    pub tps: f64,
    /// Mean latency.
    pub latency_mean_us: f64,
    /// Spread of the latency.
    pub latency_stddev_us: f64,
}

/// A run: the report, and the window between two samples of the caller's.
#[derive(Clone, PartialEq, Debug)]
pub struct Run<S> {
    /// The whole run.
    pub report: Report,
    /// Latencies of a random part of the transactions, sorted, in microseconds.
    pub latencies_us: Vec<u64>,
    /// Transactions of the window.
    pub window_transactions: f64,
    /// What the caller sampled at the window's ends.
    pub samples: (S, S),
}

impl Load {
    fn arguments(&self) -> Vec<String> {
        let words = format!(
            "-n -b {} -M {} -c {} -j {} -T {} -P 1 --progress-timestamp",
            self.script, self.protocol, self.clients, self.jobs, self.seconds
        );
        words.split(' ').map(str::to_string).collect()
    }
}

/// Runs a load with `command`, which is pgbench with a server's address in its environment, perhaps under `taskset`;
/// `sample` gets the load generator's process id. Latencies are kept of the given share of the transactions.
pub fn run<S>(
    mut command: Command,
    load: &Load,
    log_share: f64,
    work: &Path,
    mut sample: impl FnMut(u32) -> S,
) -> Outcome<Run<S>> {
    assert!(load.seconds >= 3, "a window needs three seconds");
    let prefix = work.join("pgbench");
    command.args(load.arguments()).args(["-l", &format!("--sampling-rate={log_share}")]);
    command.arg(format!("--log-prefix={}", prefix.display()));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("pgbench: {error}"))?;

    let mut errors = String::new();
    let mut progress: Vec<(f64, f64)> = Vec::new();
    let (mut first, mut last) = (None, None);
    let stderr = BufReader::new(child.stderr.take().expect("it is piped"));
    for line in stderr.lines() {
        let line = line.map_err(|error| format!("pgbench: {error}"))?;
        let Some(point) = progress_of(&line) else {
            errors.push_str(&line);
            errors.push('\n');
            continue;
        };
        progress.push(point);
        if progress.len() == 1 {
            first = Some(sample(child.id()));
        } else if progress.len() as u32 == load.seconds - 1 {
            last = Some(sample(child.id()));
        }
    }
    let mut output = String::new();
    child
        .stdout
        .take()
        .expect("it is piped")
        .read_to_string(&mut output)
        .map_err(|error| format!("pgbench: {error}"))?;
    let status = child.wait().map_err(|error| format!("pgbench: {error}"))?;
    if !status.success() {
        return Err(format!("pgbench ended with {status}\n{errors}{output}"));
    }
    let (Some(first), Some(last)) = (first, last) else {
        return Err(format!("pgbench printed too little progress to measure by\n{errors}{output}"));
    };
    Ok(Run {
        report: report_of(&output).ok_or(format!("pgbench printed no report that can be read\n{output}"))?,
        latencies_us: latencies(work)?,
        window_transactions: window(&progress[..load.seconds as usize - 1]),
        samples: (first, last),
    })
}

/// Makes pgbench's tables and fills them.
pub fn fill(mut command: Command, scale: u32) -> Outcome<()> {
    command.args(["-i", "-q", "-I", "dtgvpf", "-s", &scale.to_string()]);
    let output = command.output().map_err(|error| format!("pgbench: {error}"))?;
    if !output.status.success() {
        return Err(format!("pgbench -i: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(())
}

/// Runs pgbench without sampling and holds it to no failed transaction.
pub fn run_clean(mut command: Command, load: &Load) -> Outcome<Report> {
    command.args(load.arguments());
    let output = command.output().map_err(|error| format!("pgbench: {error}"))?;
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("pgbench {:?} ended with {}\n{errors}{text}", load.arguments(), output.status));
    }
    let report = report_of(&text).ok_or(format!("pgbench printed no report that can be read\n{text}"))?;
    if report.failed != 0 || report.transactions == 0 {
        return Err(format!("pgbench {:?}: {report:?}\n{errors}", load.arguments()));
    }
    Ok(report)
}

/// Time stamp and rate of a progress line.
fn progress_of(line: &str) -> Option<(f64, f64)> {
    let words: Vec<&str> = line.strip_prefix("progress: ")?.split_whitespace().collect();
    (words.get(3)? == &"tps,").then_some((words.first()?.parse().ok()?, words.get(2)?.parse().ok()?))
}

/// Transactions between the first and the last of these points.
fn window(points: &[(f64, f64)]) -> f64 {
    points.windows(2).map(|pair| (pair[1].0 - pair[0].0) * pair[1].1).sum()
}

fn report_of(output: &str) -> Option<Report> {
    let number = |name: &str| -> Option<f64> {
        let line = output.lines().find_map(|line| line.strip_prefix(name))?;
        let text = line.trim_start_matches([':', '=', ' ']);
        text.split([' ', '/']).next()?.parse().ok()
    };
    Some(Report {
        transactions: number("number of transactions actually processed")? as u64,
        failed: number("number of failed transactions")? as u64,
        tps: number("tps")?,
        latency_mean_us: number("latency average")? * 1000.0,
        latency_stddev_us: number("latency stddev").unwrap_or(0.0) * 1000.0,
    })
}

/// Reads and removes the per-transaction logs: one file a thread, the latency in the third column.
fn latencies(work: &Path) -> Outcome<Vec<u64>> {
    let mut latencies = Vec::new();
    for entry in std::fs::read_dir(work).map_err(|error| error.to_string())?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("pgbench.") {
            let text = crate::tree::read(&entry.path())?;
            latencies.extend(text.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<u64>().ok()));
            let _ = std::fs::remove_file(entry.path());
        }
    }
    latencies.sort_unstable();
    Ok(latencies)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: <builtin: select only>
scaling factor: 1
number of clients: 8
duration: 3 s
number of transactions actually processed: 151618
number of failed transactions: 3 (0.002%)
latency average = 0.157 ms
latency stddev = 0.062 ms
initial connection time = 9.882 ms
tps = 50700.351428 (without initial connection time)
";

    #[test]
    fn the_report_is_read() {
        let report = report_of(OUTPUT).unwrap();
        assert_eq!((report.transactions, report.failed), (151_618, 3));
        assert_eq!((report.tps, report.latency_mean_us, report.latency_stddev_us), (50700.351428, 157.0, 62.0));
        assert_eq!(report_of("pgbench: error: connection failed"), None);
    }

    #[test]
    fn the_window_counts_what_lies_between_its_ends() {
        let line = "progress: 1700000001.250 s, 1000.0 tps, lat 0.158 ms stddev 0.050, 0 failed";
        assert_eq!(progress_of(line), Some((1_700_000_001.25, 1000.0)));
        assert_eq!(progress_of("pgbench: error: something"), None);
        assert_eq!(window(&[(10.0, 999.0), (11.0, 100.0), (13.0, 50.0)]), 200.0);
    }

    #[test]
    fn the_latency_logs_are_read_once() {
        let work = crate::tree::scratch("latencies").unwrap();
        std::fs::write(work.join("pgbench.17"), "0 1 250 0 1700000001 1\n0 2 150 0 1700000001 2\n").unwrap();
        std::fs::write(work.join("pgbench.17.1"), "1 1 200 0 1700000001 1\n").unwrap();
        assert_eq!(latencies(&work), Ok(vec![150, 200, 250]));
        assert_eq!(latencies(&work), Ok(vec![]));
        std::fs::remove_dir_all(work).unwrap();
    }
}
