//! `uring`: a ring for each engine, made by the engine's own thread when it first needs one.
//!
//! Requests gather in the ring's submission queue and are handed to the system in one call: when the engine sleeps or
//! looks for completions anyway, or when the queue is full. Completions are taken in by the engine itself, so:
//!
//! Rules
//! 1. While requests are in flight, an engine sleeps in its ring ([`Ring::sleep`]) or, with fibers and a primitive that
//!    cannot join the ring, in a port that the ring's event descriptor can end. Where it is about to sleep elsewhere, it
//!    first waits until nothing is in flight ([`super::local::LocalIo::drain`]).
//! 2. The ring is the engine's alone (`SINGLE_ISSUER`), and its completions are worked on only when the engine asks
//!    (`DEFER_TASKRUN`): no interrupt of whatever the session computes. A deferred completion does not make the ring's own
//!    descriptor readable (measured: some are missed); the registered event descriptor is signalled for each.
//! 3. Posts from other engines end a sleep in the ring by a futex operation on a bell of the engine: for a session that
//!    holds its engine the *ring bell*, whatever the wait primitive; for an idle engine with fibers, which sleeps in its
//!    ring with the primitive `futex` only, the bell that it sleeps by anyway. A bell is armed (one) before the last look
//!    and the sleep, and swapped to zero by whoever posts.

use super::Buffer;
use super::files::OpenFile;
use super::slot::{Method, Slot};
use super::sync::write_flags;
use super::{FileName, Op};
use crate::clock::{self, Nanos};
use crate::engine::Local;
use crate::net;
use io_uring::{IoUring, opcode, squeue, types};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Entries of the submission queue, for an engine that serves one session at a time. Small, because a user's rings are
/// charged to one limit (`RLIMIT_MEMLOCK`), and there may be a thousand such engines.
const ENTRIES: u32 = 64;
/// The same for an engine with fibers.
const ENTRIES_FIBERS: u32 = 256;

/// `FUTEX2_SIZE_U32`: the word has 32 bits, and lies in shared memory (not private).
const FUTEX2_SIZE_U32: u32 = 2;
/// `IORING_ENTER_GETEVENTS`, `IORING_ENTER_EXT_ARG`, `IORING_ENTER_NO_IOWAIT`.
const GETEVENTS: u32 = 1;
const EXT_ARG: u32 = 8;
const NO_IOWAIT: u32 = 128;

/// What completions of the futex operation and of the port's poll carry; requests carry their index in `held`.
const BELL: u64 = u64::MAX;
const PORT: u64 = u64::MAX - 1;

struct Held {
    slot: &'static Slot,
    file: Arc<OpenFile>,
}

/// An engine's ring.
pub(super) struct Ring {
    ring: IoUring,
    /// Requests in the ring, with their descriptors, which stay open as long.
    held: Vec<Option<Held>>,
    vacant: Vec<u32>,
    in_flight: usize,
    bell_armed: bool,
    port_armed: bool,
    /// What says that a sleep waits for no disk; zero where the system does not know it (before Linux 6.15).
    no_disk: u32,
    /// With fibers that do not sleep in the ring: signalled by completions, and in the engine's port.
    signal: i32,
}

/// A completion: the request, its descriptor, the system's answer.
pub(super) struct Completed {
    pub(super) slot: &'static Slot,
    pub(super) file: Arc<OpenFile>,
    pub(super) answer: i64,
}

fn build(entries: u32) -> io::Result<IoUring> {
    let mut last = io::Error::from_raw_os_error(libc::ENOSYS);
    // The best first; an older system knows fewer flags and says EINVAL.
    for attempt in 0..3 {
        let mut builder = IoUring::builder();
        builder.dontfork();
        match attempt {
            0 => drop(builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag()),
            1 => drop(builder.setup_single_issuer().setup_coop_taskrun().setup_taskrun_flag()),
            _ => {}
        }
        match builder.build(entries) {
            Ok(ring) => return Ok(ring),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

impl Ring {
    /// Makes the calling engine's ring. `is_bed`: an engine with fibers will sleep in it.
    ///
    /// Errors: what the system says, or `ENOSYS` if its rings cannot do what is needed.
    pub(super) fn make(local: &Local, is_bed: bool) -> io::Result<Ring> {
        let fibers = crate::engine::inbox::is_fiber(local.shared);
        let ring = build(if fibers { ENTRIES_FIBERS } else { ENTRIES })?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        let able = ring.params().is_feature_nodrop()
            && ring.params().is_feature_ext_arg()
            && ring.params().is_feature_submit_stable()
            && (fibers && !is_bed || probe.is_supported(opcode::FutexWait::CODE));
        if !able {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        let mut made = Ring {
            ring,
            held: Vec::new(),
            vacant: Vec::new(),
            in_flight: 0,
            bell_armed: false,
            port_armed: false,
            no_disk: NO_IOWAIT,
            signal: -1,
        };
        if fibers && !is_bed {
            // SAFETY: plain system call.
            made.signal = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
            if made.signal < 0 {
                return Err(io::Error::last_os_error());
            }
            made.ring.submitter().register_eventfd(made.signal)?;
            if !net::add_ring(net::port_of(local), made.signal) {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(made)
    }

    /// Requests that are not complete, handed to the system or not.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Puts a request into the submission queue; full, it is handed over.
    pub(super) fn push(&mut self, slot: &'static Slot, file: Arc<OpenFile>) {
        let entry = entry(slot.op(), slot.file(), file.fd(), slot.rest());
        let held = Some(Held { slot, file });
        let index = match self.vacant.pop() {
            Some(index) => {
                self.held[index as usize] = held;
                index
            }
            None => {
                self.held.push(held);
                self.held.len() as u32 - 1
            }
        };
        self.in_flight += 1;
        slot.hand_over(Method::Ring);
        self.push_entry(entry.user_data(index as u64));
    }

    fn push_entry(&mut self, entry: squeue::Entry) {
        loop {
            // SAFETY: (1) buffers and vectors lie in the region, and nobody touches them until the request is over, by
            // the promise of whoever made the buffers and rule 2 of the slots; (2) the descriptor is held in `held`;
            // (3) the futex word lies in the region for good.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                return;
            }
            self.enter(0);
        }
    }

    /// Has the system work on completions if it has any, and hands over what has gathered if `submit` says so. True if
    /// there is something to take in.
    pub(super) fn look(&mut self, submit: bool) -> bool {
        let submission = self.ring.submission();
        let enters = submission.taskrun() || submission.cq_overflow() || submit && !submission.is_empty();
        drop(submission);
        if enters {
            self.enter(0);
        }
        !self.ring.completion().is_empty()
    }

    /// Hands over what has gathered, and has the system work on completions; waits for `least` of them.
    pub(super) fn enter(&mut self, least: u32) {
        loop {
            let gathered = self.ring.submission().len() as u32;
            // SAFETY: no argument is passed; what was gathered is valid by the promise of `push`.
            match unsafe { self.ring.submitter().enter::<libc::sigset_t>(gathered, least, GETEVENTS, None) } {
                Ok(_) => {}
                Err(error) => match error.raw_os_error() {
                    // A signal: the caller looks whether it meant something. Too many completions that were not taken
                    // in: the caller does that. No memory for a request now: the caller comes again.
                    Some(libc::EINTR | libc::EBUSY | libc::EAGAIN) => return,
                    _ => panic!("an engine's ring fails: {error}"),
                },
            }
            // A request that fails early stops the hand-over of those behind it.
            if self.ring.submission().is_empty() || least > 0 {
                return;
            }
        }
    }

    /// Sleeps until something completes, the bell is rung, the port has something, a signal comes or the deadline passes.
    /// The caller has armed the bell and looked once more. The bell is the same at every sleep.
    pub(super) fn sleep(&mut self, bell: &AtomicU32, port: Option<net::Port>, deadline: Option<Nanos>) {
        if let Some(port) = port.filter(|_| !self.port_armed) {
            let poll = opcode::PollAdd::new(types::Fd(port.0), libc::POLLIN as u32).build();
            self.push_entry(poll.user_data(PORT));
            self.port_armed = true;
        }
        if !self.bell_armed {
            let wait = opcode::FutexWait::new(bell.as_ptr(), 1, u32::MAX as u64, FUTEX2_SIZE_U32).build();
            self.push_entry(wait.user_data(BELL));
            self.bell_armed = true;
        }
        let span = deadline.map(|deadline| {
            let left = clock::remaining(deadline);
            types::Timespec::new().sec(left / 1_000_000_000).nsec((left % 1_000_000_000) as u32)
        });
        let argument = match &span {
            None => types::SubmitArgs::new(),
            Some(span) => types::SubmitArgs::new().timespec(span),
        };
        // An engine that waits for clients is idle. The system would count it among those that wait for a disk.
        let no_disk = if self.in_flight == 0 { self.no_disk } else { 0 };
        let gathered = self.ring.submission().len() as u32;
        // SAFETY: the argument lives until the call is over; what was gathered is valid by the promise of `push`.
        let slept = unsafe { self.ring.submitter().enter(gathered, 1, GETEVENTS | EXT_ARG | no_disk, Some(&argument)) };
        let Err(error) = slept else { return };
        match error.raw_os_error() {
            // One more reason to look: the time-out, a signal, completions that were not taken in, no memory for a request now.
            Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => {}
            Some(libc::EINVAL) if no_disk != 0 => self.no_disk = 0,
            _ => panic!("an engine's ring fails: {error}"),
        }
    }

    /// Takes completions in: as many as `into` has room for. True if the port has something.
    pub(super) fn take(&mut self, into: &mut Vec<Completed>) -> bool {
        let mut port_ready = false;
        let mut completions = self.ring.completion();
        while into.len() < into.capacity() {
            let Some(completion) = completions.next() else { break };
            match completion.user_data() {
                // Also when the bell had been rung before the operation was queued (EAGAIN).
                BELL => self.bell_armed = false,
                PORT => {
                    self.port_armed = false;
                    port_ready = true;
                }
                index => {
                    let held = self.held[index as usize].take().expect("a ring completes what was asked of it, once");
                    self.vacant.push(index as u32);
                    self.in_flight -= 1;
                    into.push(Completed { slot: held.slot, file: held.file, answer: completion.result() as i64 });
                }
            }
        }
        port_ready
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        debug_assert_eq!(self.in_flight, 0, "a ring ends with requests in flight");
        if self.signal >= 0 {
            // SAFETY: the descriptor is this value's own.
            unsafe { libc::close(self.signal) };
        }
    }
}

fn entry(op: Op, file: FileName, fd: i32, rest: (u64, &[Buffer])) -> squeue::Entry {
    let (offset, buffers) = rest;
    let fd = types::Fd(fd);
    let vector = buffers.as_ptr().cast::<libc::iovec>();
    match (op, buffers) {
        (Op::Read, [one]) => opcode::Read::new(fd, one.address() as *mut u8, one.bytes() as u32).offset(offset).build(),
        (Op::Read, _) => opcode::Readv::new(fd, vector, buffers.len() as u32).offset(offset).build(),
        (Op::Write | Op::WriteDurable, [one]) => opcode::Write::new(fd, one.address() as *const u8, one.bytes() as u32)
            .offset(offset)
            .rw_flags(write_flags(op, file))
            .build(),
        (Op::Write | Op::WriteDurable, _) => {
            opcode::Writev::new(fd, vector, buffers.len() as u32).offset(offset).rw_flags(write_flags(op, file)).build()
        }
        (Op::Flush, _) => opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC).build(),
    }
}
