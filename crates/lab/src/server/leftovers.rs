//! Shared memory that outlives the processes that made it.
//!
//! A server that stops gives it back. One that is killed cannot: System V segments and files in `/dev/shm` then stay until the
//! machine is started again. Both name their server: a segment knows who made it, and a file is mapped by processes of the server
//! as long as they live. A file that no process maps at either look is not found.

use crate::measure::processes::Tree;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What a server would leave behind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Leftovers {
    root: u32,
    files: BTreeSet<PathBuf>,
}

impl Leftovers {
    /// Nothing yet of the server with this first process.
    pub(super) fn of(root: u32) -> Leftovers {
        Leftovers { root, files: BTreeSet::new() }
    }

    /// Notes what its processes have now.
    pub(super) fn look(&mut self, tree: &Tree) {
        for process in tree.members() {
            let maps = std::fs::read_to_string(format!("/proc/{}/maps", process.pid)).unwrap_or_default();
            self.files.extend(files_in(&maps));
        }
    }

    /// Removes what is still there, after all of its processes have ended.
    pub(super) fn remove(&self) {
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
        let segments = std::fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
        for id in segments_of(&segments, self.root) {
            let _ = Command::new("ipcrm").args(["-m", &id.to_string()]).stderr(Stdio::null()).status();
        }
    }
}

/// The files in `/dev/shm` that are mapped and not removed already.
fn files_in(maps: &str) -> BTreeSet<PathBuf> {
    let names = maps.lines().filter_map(|line| line.find("/dev/shm/").map(|at| &line[at..]));
    names.filter(|name| !name.ends_with(" (deleted)")).map(PathBuf::from).collect()
}

/// Segments that nobody uses and that `maker` made.
fn segments_of(table: &str, maker: u32) -> Vec<u32> {
    let rows = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    // key shmid perms size cpid lpid nattch uid …
    let number = |row: &[&str], at: usize| row.get(at).and_then(|word| word.parse::<u32>().ok());
    rows.filter(|row| number(row, 4) == Some(maker) && number(row, 6) == Some(0))
        .filter_map(|row| number(&row, 1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_texts_are_read() {
        let maps = "7f0-7f1 rw-s 0 00:17 5 /dev/shm/PostgreSQL.17\n7f1-7f2 rw-s 0 00:17 5 /dev/shm/PostgreSQL.17\n\
                    7f2-7f3 rw-s 0 00:17 6 /dev/shm/x (deleted)\n7f3-7f4 r--p 0 00:17 7 /usr/lib/libc.so\n";
        assert_eq!(files_in(maps), BTreeSet::from([PathBuf::from("/dev/shm/PostgreSQL.17")]));
        let table = "key shmid perms size cpid lpid nattch uid gid\n1 10 600 56 77 77 0 9 9\n2 11 600 56 77 77 3 9 9\n\
                     3 12 600 56 78 77 0 9 9\n";
        assert_eq!(segments_of(table, 77), [10]);
        assert!(segments_of(table, 79).is_empty());
    }
}
