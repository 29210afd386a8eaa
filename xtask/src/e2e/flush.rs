//! No commit is acknowledged before its log is on disk, seen from outside.
//!
//! One client inserts rows, one after another, while somebody watches the server. Between two acknowledgements a write of the log must
//! have begun and ended; the log's files are opened so that a write is durable when it ends.
//!
//! | I/O method | sessions | who watches | a write ends with |
//! |---|---|---|---|
//! | `sync`, `workers` | | `strace` | its system call |
//! | `uring` | `dedicated`, `shared`: they hold their engine, and write the log themselves | `strace` | its system call |
//! | `uring` | `fiber` | `perf`, on the system's own trace points | its completion in the ring, or where a background task writes, its system call |
//!
//! The scenario runs where a method was asked for by name: which one a default comes to is the server's choice.

use super::{Effort, Scenario};
use crate::process::{self, Process};
use crate::server_under_test::ServerUnderTest;
use crate::{Outcome, clients};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Rows inserted, each in a transaction of its own.
const ROWS: usize = 50;
/// The bytes of an acknowledgement: CommandComplete with `INSERT 0 1`, and ReadyForQuery.
const ACKNOWLEDGEMENT: usize = 22;

/// How long a watcher may take until it watches.
const PATIENCE: Duration = Duration::from_secs(20);
/// A pipe is read only when there is something (Linux's number on every architecture that matters here).
const O_NONBLOCK: i32 = 0o4000;

/// The scenario of this file.
pub fn scenario() -> Scenario {
    Scenario {
        name: "serve-flush",
        subcommand: "serve",
        applies: |settings| settings.io.is_some(),
        long: false,
        run: flush,
    }
}

fn flush(server: ServerUnderTest, _: Effort) -> Outcome<()> {
    let ring = server.settings().io == Some("uring") && server.settings().model.sessions == "fiber";
    if ring {
        clients::ensure_perf()?;
    }
    let mut client = server.connect()?;
    client.batch_execute("create table flushed (n int)").map_err(|error| error.to_string())?;
    let file = server.work_dir().join("trace");
    let mut watcher = if ring { perf(&server, &file) } else { strace(&server, &file) }?;
    for row in 0..ROWS {
        client.batch_execute(&format!("insert into flushed values ({row})")).map_err(|error| error.to_string())?;
    }
    process::signal("INT", watcher.id());
    let _ = watcher.wait();
    let acknowledged = match ring {
        true => Ring { threads: threads(&server.processes()), logs: log_files(&server) }
            .acknowledgements(&script(&file)?)?,
        false => calls(&std::fs::read_to_string(&file).map_err(|error| format!("no trace: {error}"))?)?,
    };
    drop(client);
    if acknowledged != ROWS {
        return Err(format!("{acknowledged} of {ROWS} acknowledgements are in the trace"));
    }
    server.stop()
}

/// Starts it, and waits until it watches every thread of the server. Processes that begin after this do not serve the client, which
/// is connected already.
fn strace(server: &ServerUnderTest, file: &Path) -> Outcome<Child> {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-s", "64", "-e", "trace=pwrite64,pwritev,pwritev2,fdatasync,sendto,write", "-o"]);
    strace.arg(file);
    let processes = server.processes();
    for process in &processes {
        strace.args(["-p", &process.pid.to_string()]);
    }
    let mut strace = strace.stderr(Stdio::null()).spawn().map_err(|error| format!("strace: {error}"))?;
    let tracer = format!("TracerPid:\t{}\n", strace.id());
    let watched = |tid: u32| {
        // A thread of the system's own, which no program can watch, runs in the server's name for its ring.
        let name = std::fs::read_to_string(format!("/proc/{tid}/comm")).unwrap_or_default();
        let status = std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
        name.starts_with("iou-") || status.is_empty() || status.contains(&tracer)
    };
    wait_until(&mut strace, || threads(&processes).into_iter().all(watched))?;
    Ok(strace)
}

/// Starts it, and waits until it says that it records.
fn perf(server: &ServerUnderTest, file: &Path) -> Outcome<Child> {
    let [orders, answers] = ["perf-orders", "perf-answers"].map(|name| server.work_dir().join(name));
    let made = Command::new("mkfifo").args([&orders, &answers]).status().is_ok_and(|status| status.success());
    if !made {
        return Err("mkfifo: no pipes to talk to perf with".into());
    }
    // Open in both directions, so that neither opening nor reading waits for somebody who may not come.
    let open = |path: &Path| {
        let file = File::options().read(true).write(true).custom_flags(O_NONBLOCK).open(path);
        file.map_err(|error| format!("{}: {error}", path.display()))
    };
    let (mut to, mut from) = (open(&orders)?, open(&answers)?);
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-a", "--delay=-1"]);
    perf.arg(format!("--control=fifo:{},{}", orders.display(), answers.display()));
    for event in [
        "io_uring:io_uring_submit_req",
        "io_uring:io_uring_file_get",
        "io_uring:io_uring_complete",
        "syscalls:sys_enter_pwritev2",
        "syscalls:sys_exit_pwritev2",
        "syscalls:sys_enter_sendto",
    ] {
        perf.args(["-e", event]);
    }
    perf.arg("-o").arg(file).stdout(Stdio::null()).stderr(Stdio::null());
    let mut perf = perf.spawn().map_err(|error| format!("perf: {error}"))?;
    to.write_all(b"enable\n").map_err(|error| format!("perf: {error}"))?;
    wait_until(&mut perf, || from.read(&mut [0; 16]).is_ok_and(|length| length > 0))?;
    Ok(perf)
}

/// Waits until a watcher watches.
fn wait_until(watcher: &mut Child, mut watches: impl FnMut() -> bool) -> Outcome<()> {
    let began = Instant::now();
    while !watches() {
        let ended = watcher.try_wait().ok().flatten();
        if ended.is_some() || began.elapsed() > PATIENCE {
            let _ = watcher.kill();
            let why = ended.map_or(format!("is not ready after {PATIENCE:?}"), |status| format!("ended: {status}"));
            return Err(format!("the watcher {why}; it may not be allowed to watch here"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The threads of processes.
fn threads(processes: &[Process]) -> BTreeSet<u32> {
    let tasks = processes.iter().flat_map(|process| numbers(&format!("/proc/{}/task", process.pid)));
    tasks.collect()
}

/// The entries of a folder whose names are numbers.
fn numbers(folder: &str) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What perf recorded, a line an event, in order of time.
fn script(file: &Path) -> Outcome<String> {
    let output = Command::new("perf").args(["script", "-F", "tid,time,event,trace", "-i"]).arg(file).output();
    let output = output.map_err(|error| format!("perf script: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("perf script: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// The descriptors of the log's files, by the thread that has them.
fn log_files(server: &ServerUnderTest) -> BTreeSet<(u32, u32)> {
    let mut files = BTreeSet::new();
    for process in server.processes() {
        let root = format!("/proc/{}", process.pid);
        for fd in numbers(&format!("{root}/fd")) {
            let target = std::fs::read_link(format!("{root}/fd/{fd}")).unwrap_or_default();
            if target.components().any(|part| part.as_os_str() == "wal") {
                files.extend(numbers(&format!("{root}/task")).into_iter().map(|tid| (tid, fd)));
            }
        }
    }
    files
}

/// How many acknowledgements of an insert a trace of system calls has, each with a write of the log that began and ended since
/// the last.
fn calls(trace: &str) -> Outcome<usize> {
    let mut begun = BTreeSet::new();
    let (mut ended, mut acknowledged) = (0, 0);
    for line in trace.lines() {
        let Some((task, call)) = line.trim_start().split_once(' ') else { continue };
        let (task, call) = (task.to_string(), call.trim_start());
        if call.contains("/wal/") && call.starts_with("pwrite") {
            match call.ends_with("<unfinished ...>") {
                true => drop(begun.insert(task)),
                false => ended += usize::from(!call.contains(" = -1 ")),
            }
        } else if call.starts_with("<... pwrite") && begun.remove(&task) {
            ended += usize::from(!call.contains(" = -1 "));
        } else if call.contains("INSERT 0 1") && !call.starts_with("<...") {
            acknowledged += 1;
            if ended == 0 {
                return Err(format!("acknowledgement {acknowledged} is sent before the log is written: {line}"));
            }
            ended = 0;
        }
    }
    Ok(acknowledged)
}

/// A server whose log is written through rings.
struct Ring {
    /// Its threads.
    threads: BTreeSet<u32>,
    /// Descriptors of log files.
    logs: BTreeSet<(u32, u32)>,
}

impl Ring {
    /// The same as [`calls`], of a trace of rings. A request of a ring is known by its address from its submission to its
    /// completion.
    fn acknowledgements(&self, trace: &str) -> Outcome<usize> {
        let mut writes: BTreeMap<&str, bool> = BTreeMap::new();
        let mut calls = BTreeSet::new();
        let (mut ended, mut acknowledged) = (0, 0);
        for line in trace.lines() {
            let field = |name: &str| {
                let (_, rest) = line.split_once(name)?;
                rest.split([',', ' ']).find(|word| !word.is_empty())
            };
            let tid: u32 = line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0);
            let request = field(" req ").unwrap_or_default();
            if line.contains("io_uring_submit_req:") {
                writes.remove(request);
                if field("opcode ").is_some_and(|opcode| opcode.starts_with("WRITE")) {
                    writes.insert(request, false);
                }
            } else if line.contains("io_uring_file_get:") {
                let fd = field(" fd ").and_then(|fd| fd.parse().ok()).unwrap_or(u32::MAX);
                if let Some(to_log) = writes.get_mut(request) {
                    *to_log = self.logs.contains(&(tid, fd));
                }
            } else if line.contains("io_uring_complete:") {
                let written = field("result ").and_then(|result| result.parse::<i64>().ok()).unwrap_or(-1);
                ended += usize::from(writes.remove(request) == Some(true) && written > 0);
            } else if line.contains("sys_enter_pwritev2:") {
                let fd = field("fd: 0x").and_then(|fd| u32::from_str_radix(fd, 16).ok()).unwrap_or(u32::MAX);
                if self.logs.contains(&(tid, fd)) {
                    calls.insert(tid);
                }
            } else if line.contains("sys_exit_pwritev2:") {
                let written = field("sys_exit_pwritev2: 0x").and_then(|number| u64::from_str_radix(number, 16).ok());
                ended += usize::from(calls.remove(&tid) && written.is_some_and(|written| written as i64 > 0));
            } else if line.contains("sys_enter_sendto:") && self.threads.contains(&tid) {
                let length = field("len: 0x").and_then(|length| usize::from_str_radix(length, 16).ok());
                if length == Some(ACKNOWLEDGEMENT) {
                    acknowledged += 1;
                    if ended == 0 {
                        return Err(format!(
                            "acknowledgement {acknowledged} is sent before the log is written: {line}"
                        ));
                    }
                    ended = 0;
                }
            }
        }
        Ok(acknowledged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_with_an_early_acknowledgement_is_found() {
        let write = "7 pwrite64(5</d/wal/0000>, \"x\", 4096, 0) = 4096\n";
        let begun = "7 pwrite64(5</d/wal/0000>, \"x\", 4096, 0 <unfinished ...>\n";
        let ended = "7 <... pwrite64 resumed>) = 4096\n";
        let sent = "8 sendto(9<socket:[1]>, \"C\\0\\0\\0\\17INSERT 0 1\\0Z\", 22, 0, NULL, 0) = 22\n";
        assert_eq!(calls(&format!("{write}{sent}{write}{sent}")), Ok(2));
        assert_eq!(calls(&format!("{begun}{ended}{sent}")), Ok(1));
        assert!(calls(&format!("{write}{sent}{sent}")).is_err());
        assert!(calls(&format!("{begun}{sent}{ended}")).is_err());
    }

    #[test]
    fn a_ring_that_acknowledges_early_is_found() {
        let ring = Ring { threads: [7, 8].into(), logs: [(7, 19)].into() };
        let submit = |op| {
            format!(
                "7 1.0: io_uring:io_uring_submit_req: ring 0x1, req 0xa, user_data 0x0, opcode {op}, flags 0x0, sq_thread 0\n"
            )
        };
        let file = |fd| format!("7 1.1: io_uring:io_uring_file_get: ring 0x1, req 0xa, user_data 0x0, fd {fd}\n");
        let write = format!("{}{}", submit("WRITE"), file(19));
        let done = |result| {
            format!(
                "9 1.2: io_uring:io_uring_complete: ring 0x1, req 0xa, user_data 0x0, result {result}, cflags 0x0\n"
            )
        };
        let send = |tid, length| {
            format!("{tid} 1.3: syscalls:sys_enter_sendto: fd: 0x12, buff: 0x55, len: {length:#010x}, flags: 0x0\n")
        };
        let sent = send(8, 22);
        let count = |trace: String| ring.acknowledgements(&trace);
        assert_eq!(count(format!("{write}{}{sent}{write}{}{sent}", done(4096), done(4096))), Ok(2));
        assert_eq!(count(format!("{write}{}{}{}{sent}", done(4096), send(9, 22), send(8, 400))), Ok(1));
        assert!(count(format!("{write}{sent}{}", done(4096))).is_err(), "before its completion");
        assert!(count(format!("{write}{}{sent}", done(-5))).is_err(), "a write that failed");
        assert!(count(format!("{}{}{}{sent}", submit("WRITEV"), file(20), done(4096))).is_err(), "another file");
        assert!(count(format!("{}{}{}{sent}", submit("POLL_ADD"), file(19), done(1))).is_err(), "no write");
        let enter =
            |fd: u32| format!("7 1.0: syscalls:sys_enter_pwritev2: fd: {fd:#010x}, vec: 0x2000, vlen: 0x00000002\n");
        let exit = |tid, answer: i64| format!("{tid} 1.1:  syscalls:sys_exit_pwritev2: {answer:#x}\n");
        assert_eq!(count(format!("{}{}{sent}", enter(19), exit(7, 4096))), Ok(1), "a background task's call");
        assert!(count(format!("{}{sent}{}", enter(19), exit(7, 4096))).is_err(), "before the call's end");
        assert!(count(format!("{}{}{sent}", enter(19), exit(8, 4096))).is_err(), "another's call");
        assert!(count(format!("{}{}{sent}", enter(19), exit(7, -5))).is_err(), "a call that failed");
        assert!(count(format!("{}{}{sent}", enter(20), exit(7, 4096))).is_err(), "a call on another file");
    }
}
