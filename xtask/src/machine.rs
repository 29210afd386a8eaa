//! What a measurement ran on: a record without it cannot be compared with anything.

use serde::{Deserialize, Serialize};
use std::process::Command;

/// The machine of a record.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct Machine {
    /// The processor's name for itself.
    pub cpu: String,
    /// How many processors this process may use.
    pub cpus: usize,
    /// Main memory.
    pub memory_mib: u64,
    /// The kernel's release.
    pub kernel: String,
    /// The distribution's name for itself.
    pub system: String,
}

impl Machine {
    /// This one.
    pub fn this() -> Machine {
        let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Machine {
            cpu: field(&file("/proc/cpuinfo"), "model name", ':'),
            cpus: cpus(),
            memory_mib: field(&file("/proc/meminfo"), "MemTotal", ':')
                .split(' ')
                .next()
                .and_then(|kib| kib.parse::<u64>().ok())
                .unwrap_or(0)
                / 1024,
            kernel: file("/proc/sys/kernel/osrelease").trim().to_string(),
            system: field(&file("/etc/os-release"), "PRETTY_NAME", '=').trim_matches('"').to_string(),
        }
    }
}

/// How many processors this process may use.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

/// The time of day in UTC, as ISO 8601 writes it.
pub fn date() -> String {
    let output = Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).output();
    output.map_or("unknown".into(), |output| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// The value behind the first line that begins with `name`.
fn field(text: &str, name: &str, separator: char) -> String {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_once(separator).map_or("unknown", |(_, value)| value.trim()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_system_files_are_found() {
        assert_eq!(field("a : b\nmodel name\t: Some CPU\n", "model name", ':'), "Some CPU");
        assert_eq!(field("", "model name", ':'), "unknown");
        let machine = Machine::this();
        assert!(machine.cpus > 0 && machine.memory_mib > 0, "{machine:?}");
    }
}
