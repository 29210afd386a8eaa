//! `/proc`: what the system says about a server, rather than the server itself.

use std::collections::BTreeMap;
use std::fs;

/// A process as `/proc/PID/stat` shows it.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its group's.
    pub group: i32,
    /// `R`, `S`, `Z` …
    pub state: char,
    /// Clock ticks of CPU, user and system.
    pub cpu_ticks: u64,
}

fn parse_stat(pid: i32, text: &str) -> Option<Process> {
    // The name stands in parentheses and may hold anything, so the fields are counted from its end.
    let fields: Vec<&str> = text[text.rfind(')')? + 2..].split(' ').collect();
    Some(Process {
        pid,
        group: fields.get(2)?.parse().ok()?,
        state: fields.first()?.chars().next()?,
        cpu_ticks: fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?,
    })
}

/// One process.
pub fn process(pid: i32) -> Option<Process> {
    parse_stat(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Every process of a group that is not a zombie.
pub fn group(group: i32) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(process).filter(|process| process.group == group && process.state != 'Z').collect()
}

/// The threads of a process: number and name.
pub fn threads(pid: i32) -> Vec<(i32, String)> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let tids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    tids.filter_map(|tid| {
        let name = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
        Some((tid, name.trim().to_string()))
    })
    .collect()
}

/// What a process's descriptors are, counted by kind: `socket`, `anon_inode:[eventpoll]` …
pub fn descriptors(pid: i32) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return kinds };
    for entry in entries.flatten() {
        if let Ok(target) = fs::read_link(entry.path()) {
            let target = target.to_string_lossy().into_owned();
            let kind = target.split(":[").next().unwrap_or_default().to_string();
            let kind = if kind == "anon_inode" { target } else { kind };
            *kinds.entry(kind).or_insert(0) += 1;
        }
    }
    kinds
}

/// A process's memory in KiB.
#[derive(Clone, Copy, Default, Debug)]
pub struct Memory {
    /// Its share of what it maps, all together.
    pub pss: u64,
    /// Of that: its own.
    pub anonymous: u64,
    /// Of that: shared memory.
    pub shared: u64,
    /// Page tables.
    pub page_tables: u64,
}

impl Memory {
    /// A process's memory now.
    pub fn of(pid: i32) -> Memory {
        let line = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
        };
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        Memory {
            pss: line(&rollup, "Pss:"),
            anonymous: line(&rollup, "Pss_Anon:"),
            shared: line(&rollup, "Pss_Shmem:"),
            page_tables: line(&status, "VmPTE:"),
        }
    }

    /// The sum over several processes.
    pub fn of_all(pids: &[i32]) -> Memory {
        pids.iter().map(|&pid| Memory::of(pid)).fold(Memory::default(), |sum, one| Memory {
            pss: sum.pss + one.pss,
            anonymous: sum.anonymous + one.anonymous,
            shared: sum.shared + one.shared,
            page_tables: sum.page_tables + one.page_tables,
        })
    }
}

/// The System V semaphore sets of this machine.
pub fn semaphore_sets() -> Vec<i32> {
    let text = fs::read_to_string("/proc/sysvipc/sem").unwrap_or_default();
    text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect()
}

/// Named shared memory of this machine.
pub fn named_shared_memory() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/dev/shm") else { return Vec::new() };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
