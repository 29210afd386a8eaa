//! What is kept of an experiment: lines of JSON in one file, from which every report is made.
//!
//! ```text
//!   {"kind":"plan", run, question, variants, points, expectations …}     before the first measurement of a run
//!   {"kind":"cell", run, variant, layout, x, round, measured …}          one for each measurement, as it ends
//!   {"kind":"cell", …}
//! ```
//!
//! Definitions
//! - A *run* is one execution of an experiment, perhaps in several sittings; its name is the same in all of its lines.
//! - A *cell* is one variant under one load in one layout in one round: the smallest thing that is measured.
//! - A *point* is a load with its place on the experiment's axis (200 clients at x = 200).
//!
//! Rules
//! 1. Lines are only appended, each with its newline in one write that is flushed to the disk before the next cell
//!    begins. A last line without its newline is what a kill left: [`read`] passes over it, [`append`] ends it first.
//! 2. Raw counts are kept; what is "per transaction" is worked out when it is read, by [`Figure::of`].
//! 3. Expectations are in the plan, so they were written before anything was measured.
//! 4. A field that is added later has a default, so that old records stay readable.

use crate::error::{self, OfFile};
use crate::server::fio::Disk;
use base::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The version of this format.
pub const FORMAT: u32 = 1;

/// One line of a file of records.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line {
    /// The beginning of a run.
    Plan(Box<Plan>),
    /// One measurement.
    Cell(Box<Cell>),
}

/// What tells which program can read a plan.
#[derive(Deserialize)]
struct Head {
    format: u32,
}

/// Everything about a run that is known before it begins.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Plan {
    /// [`FORMAT`].
    pub format: u32,
    /// The experiment's name, as on the command line.
    pub experiment: String,
    /// This run's name: date and commit.
    pub run: String,
    /// When it was begun, in UTC.
    pub date: String,
    /// The commit that the lab was built from.
    pub commit: String,
    /// What it runs on.
    pub machine: Machine,
    /// What one send and one receive over loopback cost when the run began, in microseconds: no driver needs less for a request.
    #[serde(default)]
    pub exchange_us: Option<f64>,
    /// A heading for people.
    pub title: String,
    /// What the experiment is to find out, in a sentence or two.
    pub question: String,
    /// What the points differ in: the label of the horizontal axis.
    pub axis: String,
    /// What is compared.
    pub variants: Vec<Variant>,
    /// Under which loads.
    pub points: Vec<Point>,
    /// `one`, `split`, `free`: on which processors.
    pub layouts: Vec<String>,
    /// How many times each cell is measured.
    pub rounds: u32,
    /// How long a measurement takes.
    pub seconds: f64,
    /// How long the load runs before it is measured, in seconds.
    #[serde(default)]
    pub warm_up: f64,
    /// The scripts of the load, by name.
    #[serde(default)]
    pub scripts: BTreeMap<String, String>,
    /// The user's own variables.
    #[serde(default)]
    pub defines: Vec<(String, String)>,
    /// The user's statements that make tables.
    #[serde(default)]
    pub setup: Vec<String>,
    /// From which every cell's own seed is made.
    pub seed: u64,
    /// The variant with which the others are compared.
    pub baseline: String,
    /// The variant that is drawn as the ceiling: it answers without doing anything.
    pub ceiling: Option<String>,
    /// What is drawn.
    pub charts: Vec<Chart>,
    /// What should come out.
    pub expected: Vec<Expectation>,
    /// What was left out, and why: a peer that is not installed.
    pub notes: Vec<String>,
    /// What the disk does without a server, where the experiment is about the disk and `fio` is there.
    #[serde(default)]
    pub disk: Option<Disk>,
}

/// The machine of a run.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Machine {
    /// The processor's name for itself.
    pub cpu: String,
    /// How many processors the lab may use.
    pub cpus: usize,
    /// Main memory.
    pub memory_mib: u64,
    /// The kernel's release.
    pub kernel: String,
    /// The distribution's name for itself.
    pub system: String,
    /// The file system that the servers' data is on, and its device.
    pub disk: String,
}

/// One of the things that are compared.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Variant {
    /// Its name in the run: `thread/fiber`, `PostgreSQL 15`.
    pub name: String,
    /// The product: `gearbox serve`, `gearbox limit`, `PostgreSQL`, `MariaDB`.
    pub product: String,
    /// The product's version, as it says itself.
    pub version: String,
    /// What it was started with.
    pub settings: BTreeMap<String, String>,
}

/// A load and its place on the axis.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Point {
    /// Where it is drawn.
    pub x: f64,
    /// What it is called.
    pub label: String,
    /// The load.
    pub load: Load,
}

/// What clients do.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Load {
    /// The workload's name, or the file of a user's script.
    pub workload: String,
    /// How large its tables are; the workload says what that means.
    pub scale: u32,
    /// `named`, `unnamed`, `simple`.
    pub protocol: String,
    /// Connections that work.
    pub clients: u32,
    /// Connections that do nothing beside them.
    pub idle: u32,
    /// `closed`, `think 10-30 ms`, `rate 5000/s`.
    pub pace: String,
    /// Whether each transaction has a connection of its own.
    pub reconnect: bool,
}

/// A chart of a report: a figure over the axis, a line for each variant, one chart for each layout.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Chart {
    /// Its heading.
    pub title: String,
    /// What is drawn.
    pub figure: Figure,
}

/// What somebody thought would come out, before it was tried.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Expectation {
    /// In words.
    pub what: String,
    /// Whose figure.
    pub variant: String,
    /// By what it is divided; none if the figure itself is meant.
    pub against: Option<String>,
    /// Which figure.
    pub figure: Figure,
    /// In which layout; none if in each.
    pub layout: Option<String>,
    /// At which point; none if at each.
    pub x: Option<f64>,
    /// At which point that is by which it is divided; none if at the same.
    #[serde(default)]
    pub against_x: Option<f64>,
    /// It should be at least this.
    pub low: Option<f64>,
    /// And at most this.
    pub high: Option<f64>,
    /// Where the expectation comes from: a seed, a peer, a measurement on another day.
    pub source: String,
}

impl Expectation {
    /// The same, divided by what was measured at another point.
    pub fn beside_point(mut self, x: f64) -> Expectation {
        self.what = match self.against.as_ref().filter(|against| **against != self.variant) {
            Some(against) => format!("{}: {} beside {against} at {x}", self.figure.label(), self.variant),
            None => format!("{}: {} beside itself at {x}", self.figure.label(), self.variant),
        };
        self.against_x = Some(x);
        self
    }
}

/// One measurement, or the reason why there is none.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Cell {
    /// The run it belongs to.
    pub run: String,
    /// The variant's name.
    pub variant: String,
    /// `one`, `split` or `free`.
    pub layout: String,
    /// The point.
    pub x: f64,
    /// The turn, from one.
    pub round: u32,
    /// When it began, in UTC.
    pub began: String,
    /// The seed of the driver's choices.
    pub seed: u64,
    /// Threads of the driver; 0 in records from before it was kept.
    #[serde(default)]
    pub threads: u32,
    /// Why nothing was measured.
    pub failure: Option<String>,
    /// What was measured.
    pub measured: Option<Measured>,
}

/// What was measured in one cell, between the end of the warm-up and the end of the load.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct Measured {
    /// How long that was.
    pub seconds: f64,
    /// Transactions that ended well.
    pub transactions: u64,
    /// Statements that were answered.
    pub statements: u64,
    /// Connections that were made meanwhile.
    pub connects: u64,
    /// Transactions that failed, by SQLSTATE.
    pub failed: BTreeMap<String, u64>,
    /// Time of a transaction.
    pub latency: Latency,
    /// Time from the beginning of a connection to its first answer.
    pub connecting: Option<Latency>,
    /// By how much the driver began late; not contained in `latency`.
    pub own_delay: Latency,
    /// The histogram behind `latency`, in microseconds: HdrHistogram V2, compact, base64.
    pub histogram: String,
    /// How evenly the clients were served.
    pub sessions: Sessions,
    /// What the server used, all of its processes, those that ended included.
    pub server: Cost,
    /// What the driver used.
    pub client: Cost,
    /// The part of its time that the busiest driver thread ran or wanted to run: 1 is never idle.
    pub client_busy: f64,
    /// Whether the driver was the bottleneck: no verdict about speed comes from this cell.
    pub client_bound: bool,
    /// What the processors did, as `mpstat` says it.
    pub machine: Use,
    /// What the connections cost in memory.
    pub memory: Option<Memory>,
    /// One entry for each second.
    pub series: Vec<Second>,
    /// Committed transactions as the server counts them, over the whole life of the load.
    pub counted_by_server: Option<u64>,
    /// The same as the driver counts them.
    pub counted_by_driver: Option<u64>,
}

/// A distribution of times, in microseconds.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct Latency {
    /// The least.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// 95 of 100 were at most this.
    pub p95: f64,
    /// 99 of 100 were at most this.
    pub p99: f64,
    /// The most.
    pub max: f64,
}

/// Transactions by client.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct Sessions {
    /// Of the client that had fewest.
    pub min: u64,
    /// Of the client that had most.
    pub max: u64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// Jain's index: 1 where all had the same, 1/n where one had everything.
    pub fairness: f64,
}

/// What a group of processes used.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct Cost {
    /// CPU time in the programs.
    pub user_us: f64,
    /// CPU time in the kernel.
    pub system_us: f64,
    /// Context switches that were asked for.
    pub voluntary: u64,
    /// Context switches that were suffered.
    pub involuntary: u64,
    /// Page faults that needed no disk.
    pub minor_faults: u64,
    /// Page faults that did.
    pub major_faults: u64,
    /// Bytes fetched from the disk.
    pub read_bytes: u64,
    /// Bytes sent to the disk.
    pub written_bytes: u64,
}

impl Cost {
    /// A part of it.
    pub fn part(&self, part: f64) -> Cost {
        let count = |count: u64| (count as f64 * part).round() as u64;
        Cost {
            user_us: self.user_us * part,
            system_us: self.system_us * part,
            voluntary: count(self.voluntary),
            involuntary: count(self.involuntary),
            minor_faults: count(self.minor_faults),
            major_faults: count(self.major_faults),
            read_bytes: count(self.read_bytes),
            written_bytes: count(self.written_bytes),
        }
    }

    /// All CPU time.
    pub fn cpu_us(&self) -> f64 {
        self.user_us + self.system_us
    }
}

/// What the processors did, in percent of all of them.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct Use {
    /// Ran programs.
    pub usr: f64,
    /// Ran the kernel.
    pub sys: f64,
    /// Had nothing to do, but somebody waited for the disk.
    pub wio: f64,
    /// Had nothing to do.
    pub idle: f64,
    /// Were kept away by the hypervisor.
    pub stolen: f64,
    /// The part of `usr` and `sys` that neither server nor driver used.
    pub others: f64,
}

/// Memory, in bytes, of the server with all connections and with none.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct Memory {
    /// How many connections lie between the two.
    pub connections: u64,
    /// Before they were made.
    pub base: Footprint,
    /// When all of them were there.
    pub full: Footprint,
}

/// What a group of processes holds, in bytes.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct Footprint {
    /// Proportional set, but for shared memory.
    pub private: u64,
    /// Shared memory: what the server says is in use of its region, or else the proportional set's part.
    pub shared: u64,
    /// Page tables.
    pub page_tables: u64,
    /// Kernel stacks.
    pub kernel_stacks: u64,
    /// Memory of sockets in the whole system.
    pub sockets: u64,
}

impl Footprint {
    /// All but the sockets, which belong to both ends.
    pub fn total(&self) -> u64 {
        self.private + self.shared + self.page_tables + self.kernel_stacks
    }
}

/// One second of a cell.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct Second {
    /// Seconds since the measurement began, at the end of this one.
    pub at: f64,
    /// Transactions that ended well in it.
    pub transactions: u64,
    /// What the processors did.
    pub machine: Use,
    /// CPU time of the server.
    pub server_cpu_us: f64,
    /// What the server's views said at its end.
    pub views: BTreeMap<String, f64>,
}

/// A figure that a cell can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Transactions a second.
    Throughput,
    /// CPU of the server, µs per transaction.
    ServerCpu,
    /// The part of it in the program.
    ServerUser,
    /// The part of it in the kernel.
    ServerSystem,
    /// Context switches of the server per transaction.
    ServerSwitches,
    /// Page faults of the server per transaction.
    ServerFaults,
    /// CPU of the driver, µs per transaction.
    ClientCpu,
    /// Mean time of a transaction, µs.
    LatencyMean,
    /// Median time of a transaction, µs.
    LatencyP50,
    /// 95th percentile, µs.
    LatencyP95,
    /// 99th percentile, µs.
    LatencyP99,
    /// Jain's index over clients.
    Fairness,
    /// Connections a second.
    Connects,
    /// Median time to the first answer of a connection, µs.
    ConnectP50,
    /// 99th percentile of the same, µs.
    ConnectP99,
    /// KiB per connection, the formula of [`Memory`].
    MemoryPerConnection,
}

impl Figure {
    /// The figure of a cell; none where the cell does not have it. A server that nobody could look at, because it is not the
    /// lab's, has no cost; that is not the same as none.
    pub fn of(self, cell: &Measured) -> Option<f64> {
        let each = |count: f64| (cell.transactions > 0).then(|| count / cell.transactions as f64);
        // Nobody has seen the processes of a server that somebody else started.
        let seen = |count: f64| each(count).filter(|_| cell.server.cpu_us() > 0.0);
        let second = |count: u64| (cell.seconds > 0.0).then(|| count as f64 / cell.seconds);
        let timed = |time: f64| (cell.transactions > 0).then_some(time);
        let (server, client) = (&cell.server, &cell.client);
        match self {
            Figure::Throughput => second(cell.transactions),
            Figure::ServerCpu => seen(server.cpu_us()),
            Figure::ServerUser => seen(server.user_us),
            Figure::ServerSystem => seen(server.system_us),
            Figure::ServerSwitches => seen((server.voluntary + server.involuntary) as f64),
            Figure::ServerFaults => seen((server.minor_faults + server.major_faults) as f64),
            Figure::ClientCpu => each(client.cpu_us()),
            Figure::LatencyMean => timed(cell.latency.mean),
            Figure::LatencyP50 => timed(cell.latency.p50),
            Figure::LatencyP95 => timed(cell.latency.p95),
            Figure::LatencyP99 => timed(cell.latency.p99),
            Figure::Fairness => timed(cell.sessions.fairness),
            Figure::Connects => (cell.connects > 0).then(|| second(cell.connects)).flatten(),
            Figure::ConnectP50 => cell.connecting.map(|latency| latency.p50),
            Figure::ConnectP99 => cell.connecting.map(|latency| latency.p99),
            Figure::MemoryPerConnection => cell.memory.filter(|memory| memory.connections > 0).map(|memory| {
                let grown = memory.full.total() as f64 - memory.base.total() as f64;
                grown / memory.connections as f64 / 1024.0
            }),
        }
    }

    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Figure::Throughput => "transactions/s",
            Figure::ServerCpu => "server CPU per transaction",
            Figure::ServerUser => "server CPU per transaction, user",
            Figure::ServerSystem => "server CPU per transaction, system",
            Figure::ServerSwitches => "server context switches per transaction",
            Figure::ServerFaults => "server page faults per transaction",
            Figure::ClientCpu => "driver CPU per transaction",
            Figure::LatencyMean => "mean latency",
            Figure::LatencyP50 => "median latency",
            Figure::LatencyP95 => "95th percentile of latency",
            Figure::LatencyP99 => "99th percentile of latency",
            Figure::Fairness => "fairness between clients",
            Figure::Connects => "connections/s",
            Figure::ConnectP50 => "median time to the first answer",
            Figure::ConnectP99 => "99th percentile of the time to the first answer",
            Figure::MemoryPerConnection => "memory per connection",
        }
    }

    /// Its unit; empty for counts and ratios.
    pub fn unit(self) -> &'static str {
        match self {
            Figure::Throughput | Figure::Connects => "1/s",
            Figure::ServerSwitches | Figure::ServerFaults | Figure::Fairness => "",
            Figure::MemoryPerConnection => "KiB",
            _ => "µs",
        }
    }

    /// Whether less of it is better.
    pub fn less_is_better(self) -> bool {
        !matches!(self, Figure::Throughput | Figure::Connects | Figure::Fairness)
    }

    /// Whether it says how fast the server is, which a cell with a saturated driver cannot.
    pub fn is_speed(self) -> bool {
        !matches!(
            self,
            Figure::ServerCpu
                | Figure::ServerUser
                | Figure::ServerSystem
                | Figure::ServerSwitches
                | Figure::ServerFaults
                | Figure::ClientCpu
                | Figure::MemoryPerConnection
        )
    }
}

/// Adds a line to a file and waits until it is on the disk. The file and its folder are made if they are not there.
///
/// # Errors
/// `58030`, with what to do, where the disk is full or the file cannot be written; the file is then as it was before.
pub fn append(path: &Path, line: &Line) -> Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).of(folder)?;
    }
    let mut text = serde_json::to_string(line).map_err(|error| error::system("a record", error))?;
    text.push('\n');
    let mut file = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(path).of(path)?;
    let end = file.seek(SeekFrom::End(0)).of(path)?;
    if end > 0 {
        let mut last = [0];
        file.seek(SeekFrom::Start(end - 1)).of(path)?;
        file.read_exact(&mut last).of(path)?;
        if last != [b'\n'] {
            text.insert(0, '\n');
        }
    }
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
    written.map_err(|error| {
        let _ = file.set_len(end);
        error::file(path, error)
            .detail("This measurement was not kept; those before it are.")
            .hint("Make room, then go on with the same command and --resume.")
    })
}

/// Keeps other labs from adding to a file of records until what it answers is dropped: runs that alternate in a file
/// cannot be told apart by who resumes one.
///
/// # Errors
/// `22023` where another lab has it, `58030` where it cannot be written.
pub fn hold(path: &Path) -> Result<File> {
    let elsewhere = |error: base::Error| error.hint("Name a directory for records and reports with --out DIR.");
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).of(folder).map_err(elsewhere)?;
    }
    let file = OpenOptions::new().create(true).append(true).open(path).of(path).map_err(elsewhere)?;
    match file.try_lock() {
        Err(std::fs::TryLockError::WouldBlock) => {
            Err(error::usage(format!("another lab adds to {} now", path.display()))
                .hint("Wait for it, or give this run a place of its own with --out DIR."))
        }
        // A file system without locks has nobody to keep out.
        _ => Ok(file),
    }
}

/// Reads a file of records.
///
/// # Errors
/// A line that is not a record, with its number, unless it is one that a kill cut off: those have no newline behind them, or
/// had none until the next line was added.
pub fn read(path: &Path) -> Result<Vec<Line>> {
    const FOREIGN: &str = "The file is not the lab's, or was changed by hand.";
    let text = std::fs::read_to_string(path).of(path).map_err(|error| match path.is_file() {
        true => error.hint(FOREIGN),
        false => error,
    })?;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if let Ok(Head { format }) = serde_json::from_str(line)
            && format > FORMAT
        {
            let message = format!("line {}: format {format} is newer than {FORMAT}", index + 1);
            return Err(error::file(path, message).hint("Read it with the program that wrote it."));
        }
        match serde_json::from_str(line) {
            Ok(line) => lines.push(line),
            Err(error) if error.is_eof() => {}
            Err(error) => {
                return Err(error::file(path, format!("line {}: {error}", index + 1)).hint(FOREIGN));
            }
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(round: u32) -> Line {
        Line::Cell(Box::new(Cell {
            run: "r".into(),
            variant: "v".into(),
            layout: "one".into(),
            x: 8.0,
            round,
            began: String::new(),
            seed: 1,
            threads: 1,
            failure: None,
            measured: Some(Measured { seconds: 2.0, transactions: 10, ..Measured::default() }),
        }))
    }

    #[test]
    fn one_lab_at_a_time_adds_to_a_file() {
        let dir = std::env::temp_dir().join(format!("gearbox-lab-hold-{}", std::process::id()));
        let path = dir.join("a.jsonl");
        let held = hold(&path).unwrap();
        assert!(hold(&path).unwrap_err().message().contains("another lab"));
        append(&path, &cell(1)).unwrap();
        drop(held);
        hold(&path).unwrap();
        assert_eq!(read(&path).unwrap(), [cell(1)]);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_file_of_a_later_format_and_one_that_is_no_text_are_refused() {
        let dir = std::env::temp_dir().join(format!("gearbox-lab-format-{}", std::process::id()));
        let path = dir.join("a.jsonl");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(&path, format!("{{\"kind\":\"plan\",\"format\":{}}}\n", FORMAT + 1)).unwrap();
        assert!(read(&path).unwrap_err().message().contains("newer"));
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(read(&path).unwrap_err().hint_text().is_some());
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn lines_come_back_and_a_cut_one_is_passed_over() {
        let dir = std::env::temp_dir().join(format!("gearbox-lab-record-{}", std::process::id()));
        let path = dir.join("a/b.jsonl");
        append(&path, &cell(1)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], &whole[..40]].concat()).unwrap();
        assert_eq!(read(&path).unwrap(), [cell(1)]);
        append(&path, &cell(2)).unwrap();
        assert_eq!(read(&path).unwrap(), [cell(1), cell(2)]);
        std::fs::write(&path, "{\"kind\":\"plan\"}\n").unwrap();
        assert!(read(&path).unwrap_err().message().contains("line 1"));
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_full_disk_is_an_error_and_leaves_the_file_as_it_was() {
        let full = Path::new("/dev/full");
        assert!(append(full, &cell(1)).unwrap_err().message().contains("/dev/full"));
    }

    #[test]
    fn figures_are_per_second_and_per_transaction() {
        let server = Cost { user_us: 30.0, system_us: 10.0, voluntary: 5, ..Cost::default() };
        let measured = Measured { seconds: 2.0, transactions: 10, server, ..Measured::default() };
        assert_eq!(Figure::Throughput.of(&measured), Some(5.0));
        assert_eq!(Figure::ServerCpu.of(&measured), Some(4.0));
        assert_eq!(Figure::ServerSwitches.of(&measured), Some(0.5));
        assert_eq!(Figure::MemoryPerConnection.of(&measured), None);
        assert_eq!(Figure::ServerCpu.of(&Measured::default()), None);
        let elsewhere = Measured { transactions: 10, ..Measured::default() };
        assert_eq!(Figure::ServerCpu.of(&elsewhere), None);
        assert_eq!(Figure::ServerSwitches.of(&elsewhere), None);
    }
}
