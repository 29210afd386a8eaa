//! Who goes on after a short transfer, and where: system calls and a ring on a device in user space, and none of the
//! server's code between.
//!
//! A device may do less of a transfer than it was asked for. `pread` and `pwrite` answer how much, and whoever called goes
//! on from there. With a regular file a ring does not answer then: it goes on by itself, at the place in the file that the
//! file system has moved the request to, and answers with the sum.
//!
//! Rules, as Linux 6.18 shows them
//! 1. A file system in user space that has a file opened past the cache (`FOPEN_DIRECT_IO`) carries a ring's requests out
//!    without moving their place. The ring goes on in memory and not in the file: what is left of a read is filled with the
//!    first part once more, what is left of a write lies over the first part; and the answer is that all is done. Whoever
//!    uses the ring cannot see that. Writes have it with `O_DIRECT` only, reads always.
//! 2. The ring goes on only where the file says that it can be read and written at once, which such files do. Where the
//!    question is answered with an error ([`Device::mount_for_rings`]) a thread of the system carries the request out, and
//!    the ring answers how much was done, as a system call does.
//! 3. System calls are right in both cases.
//!
//! A system that does better than rule 1 passes too; the test says which it is.

use io_uring::{IoUring, opcode, squeue, types};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use testkit::device::Device;
use testkit::device::fault::{Effect, Fault, Operation};

/// How many bytes a request is for.
const BYTES: usize = 16 * 1024;
/// Where in its file, in bytes.
const PLACE: u64 = 32 * 1024;
/// How long a vector's pieces are.
const PIECE: usize = 4096;
const SECTOR: usize = 512;
/// How many are in flight at a time, each with a file and memory of its own.
const REQUESTS: usize = 8;

#[repr(align(4096))]
struct Memory([u8; BYTES]);

/// Bytes whose sectors all differ, from each other and from other requests'.
fn pattern(request: usize) -> Vec<u8> {
    let words = BYTES / SECTOR;
    (0..BYTES).map(|at| if at % 2 == 0 { request as u8 + 1 } else { (at / SECTOR % words) as u8 + 1 }).collect()
}

struct Request {
    file: File,
    memory: Box<Memory>,
    done: usize,
    /// What is left, for the ring's vectored operations: it stays where it is while the request is in flight.
    vector: Vec<libc::iovec>,
    /// What the system answered, time after time.
    answers: Vec<i32>,
}

impl Request {
    /// A request's file with what a read is to find, or with zeros, and its memory the other way round.
    fn new(device: &Device, name: &str, operation: Operation, direct: bool, pattern: &[u8]) -> Request {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let path = device.root().join(name);
        let made = options.clone().create_new(true).open(&path).unwrap();
        made.set_len(PLACE + 2 * BYTES as u64).unwrap();
        let mut memory = Box::new(Memory([0; BYTES]));
        match operation {
            Operation::Read => made.write_all_at(pattern, PLACE).unwrap(),
            _ => memory.0.copy_from_slice(pattern),
        }
        let file = options.custom_flags(if direct { libc::O_DIRECT } else { 0 }).open(&path).unwrap();
        Request { file, memory, done: 0, vector: Vec::new(), answers: Vec::new() }
    }

    /// What is left: where in the file, where in memory, how much.
    fn rest(&mut self) -> (u64, *mut u8, usize) {
        let left = &mut self.memory.0[self.done..];
        (PLACE + self.done as u64, left.as_mut_ptr(), left.len())
    }

    /// Takes an answer in. True if something is left.
    fn advance(&mut self, answer: i32) -> bool {
        self.answers.push(answer);
        assert!(answer > 0, "{answer}: {}", std::io::Error::from_raw_os_error(-answer));
        self.done += answer as usize;
        self.done < BYTES
    }

    fn call(&mut self, operation: Operation) {
        loop {
            let (offset, left) = (PLACE + self.done as u64, &mut self.memory.0[self.done..]);
            let moved = match operation {
                Operation::Read => self.file.read_at(left, offset),
                _ => self.file.write_at(left, offset),
            };
            if !self.advance(moved.unwrap() as i32) {
                return;
            }
        }
    }

    /// The ring's entry for what is left.
    fn entry(&mut self, operation: Operation, vectored: bool) -> squeue::Entry {
        let (offset, at, bytes) = self.rest();
        let fd = types::Fd(self.file.as_raw_fd());
        if !vectored {
            return match operation {
                Operation::Read => opcode::Read::new(fd, at, bytes as u32).offset(offset).build(),
                _ => opcode::Write::new(fd, at, bytes as u32).offset(offset).build(),
            };
        }
        self.vector.clear();
        let mut from = 0;
        while from < bytes {
            let bytes = (PIECE - (self.done + from) % PIECE).min(bytes - from);
            self.vector.push(libc::iovec { iov_base: at.wrapping_add(from).cast(), iov_len: bytes });
            from += bytes;
        }
        let (vector, count) = (self.vector.as_ptr(), self.vector.len() as u32);
        match operation {
            Operation::Read => opcode::Readv::new(fd, vector, count).offset(offset).build(),
            _ => opcode::Writev::new(fd, vector, count).offset(offset).build(),
        }
    }
}

/// Carries requests out by a ring, all at a time, each as often as it takes.
fn ring(requests: &mut [Request], operation: Operation, vectored: bool) {
    let mut ring = IoUring::new(REQUESTS as u32).unwrap();
    let mut open: Vec<usize> = (0..requests.len()).collect();
    while !open.is_empty() {
        for &index in &open {
            let entry = requests[index].entry(operation, vectored).user_data(index as u64);
            // SAFETY: file, memory and vector are the request's own, and stay as they are until all are complete, below.
            unsafe { ring.submission().push(&entry) }.unwrap();
        }
        ring.submit_and_wait(open.len()).unwrap();
        let answers: Vec<(usize, i32)> =
            ring.completion().map(|completion| (completion.user_data() as usize, completion.result())).collect();
        assert_eq!(answers.len(), open.len());
        open = answers
            .into_iter()
            .filter(|&(index, answer)| requests[index].advance(answer))
            .map(|(index, _)| index)
            .collect();
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Calls,
    Ring,
    RingVectored,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    operation: Operation,
    by: By,
    direct: bool,
    for_rings: bool,
}

/// What is found where the data were to go: each request's bytes, and the answers that it got.
fn run(case: Case) -> Option<Vec<(Vec<u8>, Vec<i32>)>> {
    let mount = if case.for_rings { Device::mount_for_rings_or_say } else { Device::mount_or_say };
    let device = mount("short transfers by calls and by a ring")?;
    let name = |index: usize| format!("file{index}");
    let mut requests: Vec<Request> = (0..REQUESTS)
        .map(|index| Request::new(&device, &name(index), case.operation, case.direct, &pattern(index)))
        .collect();
    for index in 0..REQUESTS {
        device.add(Fault { operation: case.operation, files: name(index), effect: Effect::Short, times: 1 });
    }
    match case.by {
        By::Calls => requests.iter_mut().for_each(|request| request.call(case.operation)),
        by => ring(&mut requests, case.operation, by == By::RingVectored),
    }
    assert_eq!(device.met(), REQUESTS as u64, "each transfer is short once");
    device.repair();
    let found = |(index, request): (usize, Request)| {
        let mut bytes = request.memory.0.to_vec();
        if case.operation != Operation::Read {
            File::open(device.root().join(name(index))).unwrap().read_exact_at(&mut bytes, PLACE).unwrap();
        }
        (bytes, request.answers)
    };
    Some(requests.into_iter().enumerate().map(found).collect())
}

/// What rule 1 makes of a request whose first half was done before the system went on.
fn misplaced(operation: Operation, wanted: &[u8]) -> Vec<u8> {
    let (first, second) = wanted.split_at(BYTES / 2);
    match operation {
        Operation::Read => [first, first].concat(),
        _ => [second, &[0; BYTES / 2]].concat(),
    }
}

#[test]
fn calls_are_told_and_a_ring_on_a_device_for_rings() {
    for operation in [Operation::Read, Operation::Write] {
        for (by, direct, for_rings) in [
            (By::Calls, true, false),
            (By::Calls, false, false),
            (By::Calls, true, true),
            (By::Ring, true, true),
            (By::RingVectored, true, true),
            (By::Ring, false, true),
            (By::RingVectored, false, true),
        ] {
            let case = Case { operation, by, direct, for_rings };
            let Some(found) = run(case) else { return };
            for (index, (bytes, answers)) in found.into_iter().enumerate() {
                assert!(bytes == pattern(index), "{case:?} request {index}: {answers:?}");
                assert_eq!(answers, [BYTES as i32 / 2; 2], "{case:?} request {index}");
            }
        }
    }
}

#[test]
fn elsewhere_a_ring_says_that_all_is_done_and_goes_on_at_the_wrong_place() {
    for operation in [Operation::Read, Operation::Write] {
        for by in [By::Ring, By::RingVectored] {
            for direct in [true, false] {
                let case = Case { operation, by, direct, for_rings: false };
                let Some(found) = run(case) else { return };
                let mut misled = 0;
                for (index, (bytes, answers)) in found.into_iter().enumerate() {
                    let wanted = pattern(index);
                    if bytes != wanted {
                        assert_eq!(answers, [BYTES as i32], "{case:?} request {index}: damage, and the ring tells");
                        assert!(bytes == misplaced(operation, &wanted), "{case:?} request {index}: another damage");
                        misled += 1;
                    }
                }
                assert!(misled == 0 || misled == REQUESTS, "{case:?}: {misled} requests");
                println!("{case:?}: {misled} of {REQUESTS} requests are damaged");
            }
        }
    }
}
