//! Processes as `/proc` shows them: who belongs to a server, and what they left behind.
//!
//! A server is a tree of processes, some of which come and go with their clients. Three marks find its members: the
//! *session id* (the server is started in a session of its own), the chain of parents, and an environment variable that a
//! forked child cannot lose.
//!
//! A zombie is dead: it holds no memory and no descriptor, and somebody else may be slow to wait for it.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The environment variable that marks a server's processes.
pub const MARK: &str = "XTASK_SERVER";

/// One line of `/proc/PID/stat`, as far as it is of use here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The program's short name.
    pub name: String,
    /// `R`, `S`, `D`, `Z`, …
    pub state: char,
    /// How many threads it has.
    pub threads: u32,
    parent: u32,
    session: u32,
    /// When it began, in ticks since the system did.
    began: u64,
}

impl Process {
    fn parse(line: &str) -> Option<Process> {
        let (head, tail) = line.rsplit_once(')')?;
        let (pid, name) = head.split_once('(')?;
        let fields: Vec<&str> = tail.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Process {
            pid: pid.trim().parse().ok()?,
            name: name.to_string(),
            state: fields.first()?.chars().next()?,
            parent: number(1)? as u32,
            session: number(3)? as u32,
            threads: number(17)? as u32,
            began: number(19)?,
        })
    }

    /// Its memory; none if it is gone.
    pub fn memory(&self) -> Option<Memory> {
        memory(&std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid)).ok()?)
    }

    fn marked(&self, mark: &str) -> bool {
        let wanted = format!("{MARK}={mark}");
        let environment = std::fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes())
    }
}

/// What a process has of memory, where a page that so many have counts by its part. Without what is mapped from files: that is the program
/// itself, of which a server has half while another one runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Bytes of its own.
    pub own: u64,
    /// Bytes of shared memory that it has touched: it may have touched more tomorrow, of a region that is no larger.
    pub shared: u64,
}

/// None if the kernel does not say: old ones do not.
fn memory(rollup: &str) -> Option<Memory> {
    let bytes = |name: &str| {
        let kib = rollup.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?;
        Some(kib.parse::<u64>().ok()? * 1024)
    };
    Some(Memory { own: bytes("Pss_Anon:")?, shared: bytes("Pss_Shmem:")? })
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

fn all() -> Vec<Process> {
    let stat = |pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    numbers_in("/proc").into_iter().filter_map(|pid| Process::parse(&stat(pid)?)).collect()
}

/// The living members of the tree under `root`, which comes first; the others as they began. Ids do not say that: they begin again when the
/// highest has been given.
pub fn members(root: u32) -> Vec<Process> {
    closure(all(), root, |_| false)
}

/// The same, and whoever carries `mark` in its environment: finds those that left the session and lost their parent.
pub fn members_marked(root: u32, mark: &str) -> Vec<Process> {
    closure(all(), root, |process| process.marked(mark))
}

fn closure(mut others: Vec<Process>, root: u32, also: impl Fn(&Process) -> bool) -> Vec<Process> {
    others.retain(|process| process.state != 'Z');
    others.sort_by_key(|process| (process.pid != root, process.began, process.pid));
    let mut ids = BTreeSet::from([root]);
    ids.extend(others.iter().filter(|process| process.session == root || also(process)).map(|process| process.pid));
    loop {
        let before = ids.len();
        let children: Vec<u32> = others.iter().filter(|p| ids.contains(&p.parent)).map(|p| p.pid).collect();
        ids.extend(children);
        if ids.len() == before {
            break;
        }
    }
    others.retain(|process| ids.contains(&process.pid));
    others
}

/// Sends a signal, by the shell's own `kill`: it is the one that every system has.
pub fn signal(name: &str, pid: u32) {
    let script = format!("kill -s {name} {pid}");
    let _ = std::process::Command::new("sh").args(["-c", &script]).stderr(std::process::Stdio::null()).status();
}

/// System V sets and segments of this user, and files of shared memory, that outlive the processes that made them.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct SharedObjects(BTreeSet<String>);

impl SharedObjects {
    /// What there is now.
    pub fn now() -> SharedObjects {
        let mut found = BTreeSet::new();
        let user = user_id();
        for (kind, path, user_column) in [("semaphore set", "sem", 4), ("segment", "shm", 7)] {
            let text = std::fs::read_to_string(format!("/proc/sysvipc/{path}")).unwrap_or_default();
            for line in text.lines().skip(1) {
                let columns: Vec<&str> = line.split_whitespace().collect();
                if let (Some(id), Some(owner)) = (columns.get(1), columns.get(user_column))
                    && *owner == user
                {
                    found.insert(format!("System V {kind} {id}"));
                }
            }
        }
        for entry in std::fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
            if entry.metadata().is_ok_and(|data| data.uid().to_string() != user) {
                continue;
            }
            found.insert(format!("file {}", Path::new("/dev/shm").join(entry.file_name()).display()));
        }
        SharedObjects(found)
    }

    /// What is here and was not there in `earlier`.
    pub fn beyond(&self, earlier: &SharedObjects) -> Vec<String> {
        self.0.difference(&earlier.0).cloned().collect()
    }
}

fn user_id() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("Uid:")).unwrap_or_default();
    line.split_whitespace().nth(2).unwrap_or("0").to_string()
}

/// Whether this program may install packages.
pub fn is_root() -> bool {
    user_id() == "0"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_name_may_hold_blanks_and_brackets() {
        let line = "17 (a) b) S 3 17 9 0 -1 0 0 0 0 0 5 6 7 8 20 0 1 0 100";
        let process = Process::parse(line).unwrap();
        assert_eq!((process.pid, process.name.as_str(), process.state), (17, "a) b", 'S'));
        assert_eq!((process.parent, process.session, process.threads, process.began), (3, 9, 1, 100));
        assert_eq!(Process::parse("17 (short) S"), None);
    }

    fn process(pid: u32, parent: u32, session: u32, state: char) -> Process {
        Process { pid, name: String::new(), state, threads: 1, parent, session, began: 0 }
    }

    #[test]
    fn members_are_found_by_session_by_parents_and_by_mark() {
        let all = vec![
            process(1, 0, 1, 'S'),
            process(10, 1, 10, 'S'),
            process(11, 10, 10, 'S'),
            process(12, 1, 10, 'S'),  // its parent died
            process(14, 13, 99, 'S'), // grandchild that left the session
            process(13, 11, 13, 'S'),
            process(15, 10, 10, 'Z'),
            process(16, 1, 16, 'S'), // found by its mark alone
            process(17, 1, 17, 'S'),
        ];
        let found: Vec<u32> = closure(all, 10, |process| process.pid == 16).iter().map(|p| p.pid).collect();
        assert_eq!(found, [10, 11, 12, 13, 14, 16]);
    }

    #[test]
    fn members_come_as_they_began_though_ids_begin_again() {
        let began = |pid: u32, began: u64| Process { began, ..process(pid, 32000, 32000, 'S') };
        let all = vec![began(7, 30), began(8, 40), began(32000, 10), began(32001, 20)];
        let found: Vec<u32> = closure(all, 32000, |_| false).iter().map(|p| p.pid).collect();
        assert_eq!(found, [32000, 32001, 7, 8]);
    }

    #[test]
    fn a_child_is_found_by_its_mark_until_it_is_gone() {
        let mut child = Command::new("sleep").arg("60").env(MARK, "mark-test").stdout(Stdio::null()).spawn().unwrap();
        // The system lets us go on before it has set up what the new program finds.
        let marked = (0..200)
            .inspect(|_| std::thread::sleep(std::time::Duration::from_millis(5)))
            .map(|_| members_marked(u32::MAX, "mark-test"))
            .find(|marked| !marked.is_empty())
            .unwrap_or_default();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(marked.iter().map(|p| p.pid).collect::<Vec<_>>(), [child.id()]);
        assert!(members_marked(child.id(), "mark-test").is_empty());
    }

    #[test]
    fn what_a_process_has_is_read_from_its_rollup() {
        let rollup =
            "55d0-7ffe ---p 00000000 00:00 0 [rollup]\nPss: 40 kB\nPss_Anon: 8 kB\nPss_File: 20 kB\nPss_Shmem: 12 kB\n";
        assert_eq!(memory(rollup), Some(Memory { own: 8 << 10, shared: 12 << 10 }));
        assert_eq!(memory("Pss: 40 kB\n"), None);
        assert!(all().iter().find(|process| process.pid == std::process::id()).unwrap().memory().unwrap().own > 0);
    }

    #[test]
    fn new_shared_objects_are_told_from_old_ones() {
        let set = |names: &[&str]| SharedObjects(names.iter().map(|name| name.to_string()).collect());
        assert_eq!(set(&["a", "b"]).beyond(&set(&["b", "c"])), ["a"]);
    }
}
