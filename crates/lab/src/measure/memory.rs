//! What a server's processes hold in memory.
//!
//! Definitions
//! - The *proportional set* of a process counts each page of it, divided by how many processes map the page. Summed over a server it
//!   is what the server has, with programs and libraries shared out fairly.
//! - *Shared* here is shared memory: anonymous mappings between processes, System V segments, files in `/dev/shm`. All
//!   other pages are *private*, program text included, unless the program lies in shared memory itself, as `gearbox serve` does with
//!   `huge_pages`.
//!
//! Rules
//! 1. Page tables and kernel stacks are counted: with a process for each connection they are a good part of its price.
//! 2. A kernel stack's size is what the kernel says of all its stacks, divided by its tasks, as a power of two.
//! 3. Memory of sockets is the whole system's, because both ends of a connection are on this machine and the kernel tells them
//!    not apart. It is given beside the sum, not in it.
//!
//! What is swapped out is not counted, nor are huge pages of their own file system; the lab starts servers without those.

use super::processes::{Process, Tree, value};
use crate::record::Footprint;

impl Footprint {
    /// What a tree holds now. Takes milliseconds for each process, so not while something is measured.
    pub fn now(tree: &Tree) -> Footprint {
        let members = tree.members();
        let file = |process: &Process, name: &str| {
            std::fs::read_to_string(format!("/proc/{}/{name}", process.pid)).unwrap_or_default()
        };
        let mut sum = Footprint::default();
        for process in &members {
            let (private, shared) = parts(&file(process, "smaps_rollup"));
            sum.private += private;
            sum.shared += shared;
            sum.page_tables += value(&file(process, "status"), "VmPTE:") * 1024;
        }
        let system = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let stack = stack_size(&system("/proc/meminfo"), &system("/proc/loadavg"));
        sum.kernel_stacks = stack * members.iter().map(|process| process.threads).sum::<u64>();
        sum.sockets = socket_pages(&system("/proc/net/sockstat")) * rustix::param::page_size() as u64;
        sum
    }
}

/// Bytes of the proportional set that are not, and that are, shared memory.
fn parts(rollup: &str) -> (u64, u64) {
    let kib = |name| value(rollup, name);
    ((kib("Pss_Anon:") + kib("Pss_File:")) * 1024, kib("Pss_Shmem:") * 1024)
}

/// Bytes of a kernel stack: 16 KiB unless the figures say something else that makes sense.
fn stack_size(meminfo: &str, loadavg: &str) -> u64 {
    let tasks = loadavg.split(' ').nth(3).and_then(|word| word.split_once('/')?.1.parse::<u64>().ok()).unwrap_or(0);
    let bytes = value(meminfo, "KernelStack:") * 1024;
    // Stacks of ended tasks are kept for a while, so the quotient is a little too large.
    let size = bytes.checked_div(tasks).unwrap_or(0);
    let power = if size == 0 { 0 } else { 1 << size.ilog2() };
    if (4096..=65_536).contains(&power) { power } else { 16_384 }
}

/// Pages that buffers of sockets take, of all protocols.
fn socket_pages(sockstat: &str) -> u64 {
    let mem = |line: &str| line.split_once(" mem ")?.1.split_whitespace().next()?.parse::<u64>().ok();
    sockstat.lines().filter_map(mem).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_texts_are_read() {
        let rollup = "5-7 ---p 00 00:00 0 [rollup]\nRss: 900 kB\nPss: 70 kB\nPss_Dirty: 9 kB\nPss_Anon: 40 kB\n\
                      Pss_File:  20 kB\nPss_Shmem: 10 kB\n";
        assert_eq!(parts(rollup), (61_440, 10_240));
        assert_eq!(stack_size("KernelStack:        1664 kB\n", "0.16 0.46 0.95 1/101 9210\n"), 16_384);
        assert_eq!(stack_size("KernelStack:        800 kB\n", "0.16 0.46 0.95 1/98 9210\n"), 8192);
        assert_eq!(stack_size("", ""), 16_384);
        let sockstat =
            "sockets: used 60\nTCP: inuse 5 orphan 0 tw 0 alloc 7 mem 11\nUDP: inuse 1 mem 2\nRAW: inuse 0\n";
        assert_eq!(socket_pages(sockstat), 13);
    }

    #[test]
    fn a_process_holds_what_it_takes() {
        let before = Footprint::now(&Tree::driver());
        let taken = std::hint::black_box(vec![1u8; 32 << 20]);
        let after = Footprint::now(&Tree::driver());
        drop(taken);
        assert!(after.private >= before.private + (30 << 20), "{before:?} {after:?}");
        assert!(before.page_tables > 0 && before.kernel_stacks >= 4096, "{before:?}");
    }
}
