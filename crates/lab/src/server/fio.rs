//! The disk without a server: what `fio` reads and writes in a file that lies where the servers' data lie.
//!
//! | figure | how |
//! |---|---|
//! | random reads, one at a time | 8 KiB, past the page cache |
//! | random reads, 32 at a time | 8 KiB, past the page cache, handed over together |
//! | sequential reads | 256 KiB, eight at a time, past the page cache |
//! | flushed writes | 8 KiB one after the other, each followed by `fdatasync`, as a log is written |
//!
//! A server's own figure is drawn beside these: it cannot be above them but by its own cache.

use super::home::Home;
use super::in_path;
use crate::error;
use base::Result;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a disk does.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize, Debug)]
pub struct Disk {
    /// Random reads of 8 KiB a second, one at a time.
    pub random_reads_1: f64,
    /// Random reads of 8 KiB a second, 32 at a time.
    pub random_reads_32: f64,
    /// Sequential reads, in MB (of a million bytes) a second.
    pub sequential_mb: f64,
    /// Writes of 8 KiB a second, each of them flushed.
    pub flushed_writes: f64,
    /// Median time of a flush, µs.
    pub flush_p50_us: f64,
}

/// Reads and writes a file of `size_mib` in `home`: each of the four for `seconds`, after the file was written.
///
/// # Errors
/// `08006` where `fio` is not installed; `58000` with its last words where it fails, as for want of space.
pub fn measure(home: &Home, size_mib: u32, seconds: u32) -> Result<Disk> {
    let Some(program) = in_path("fio") else {
        return Err(
            error::server("fio is not installed").hint("Install it (apt-get install fio), or leave the disk out.")
        );
    };
    let place = home.place("fio")?;
    let run = |options: &str| {
        let mut words = vec![program.display().to_string(), "--name=lab".into(), "--filename=file".into()];
        words.extend([format!("--size={size_mib}M"), format!("--runtime={seconds}"), "--output-format=json".into()]);
        words.extend(options.split(' ').map(str::to_string));
        home.run(&place, &words, &[]).and_then(|text| Job::parse(&text))
    };
    let result = (|| {
        // The whole file is written first, with bytes that no device can leave out, and is on the disk before it is read.
        run("--rw=write --bs=1M --ioengine=psync --refill_buffers --end_fsync=1")?;
        let one = run("--rw=randread --bs=8k --direct=1 --ioengine=psync --time_based")?;
        let many = run("--rw=randread --bs=8k --direct=1 --ioengine=libaio --iodepth=32 --time_based")?;
        let sequence = run("--rw=read --bs=256k --direct=1 --ioengine=libaio --iodepth=8 --time_based")?;
        let writes = run("--rw=write --bs=8k --fdatasync=1 --ioengine=psync --time_based")?;
        Ok(Disk {
            random_reads_1: one.reads,
            random_reads_32: many.reads,
            sequential_mb: sequence.read_bytes / 1e6,
            flushed_writes: writes.writes,
            flush_p50_us: writes.flush_p50_us,
        })
    })();
    remove(&place);
    result
}

fn remove(place: &Path) {
    let _ = std::fs::remove_dir_all(place);
}

/// What fio says of a job, per second.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Job {
    reads: f64,
    read_bytes: f64,
    writes: f64,
    flush_p50_us: f64,
}

impl Job {
    fn parse(text: &str) -> Result<Job> {
        // Warnings may stand before the document.
        let document = text.find('{').map_or("", |at| &text[at..]);
        let all: serde_json::Value =
            serde_json::from_str(document).map_err(|error| error::system("what fio wrote", error))?;
        let job = &all["jobs"][0];
        let number = |value: &serde_json::Value| value.as_f64().unwrap_or(0.0);
        if job.is_null() || number(&job["error"]) != 0.0 {
            return Err(error::system("fio", "its job failed"));
        }
        Ok(Job {
            reads: number(&job["read"]["iops"]),
            read_bytes: number(&job["read"]["bw_bytes"]),
            writes: number(&job["write"]["iops"]),
            flush_p50_us: number(&job["sync"]["lat_ns"]["percentile"]["50.000000"]) / 1e3,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fio_writes_is_read() {
        let text = r#"fio: a warning
            {"jobs": [{"error": 0, "read": {"iops": 10.5, "bw_bytes": 86016}, "write": {"iops": 3.5},
                       "sync": {"lat_ns": {"percentile": {"50.000000": 234496}}}}]}"#;
        let job = Job::parse(text).unwrap();
        assert_eq!(job, Job { reads: 10.5, read_bytes: 86016.0, writes: 3.5, flush_p50_us: 234.496 });
        for nonsense in ["", "fio: failed", "{", "{}", r#"{"jobs": []}"#, r#"{"jobs": [{"error": 5}]}"#] {
            assert!(Job::parse(nonsense).is_err(), "{nonsense}");
        }
    }
}
