//! How an idle engine with fibers sleeps: on its sockets, its disk completions, its timers and posts from other engines at
//! once, whatever the wait primitive.
//!
//! | primitive | posts wake it by | sockets and completions wake it by |
//! |---|---|---|
//! | `eventfd` | an event descriptor in the port | the port: the engine sleeps in `epoll_wait` |
//! | `futex` | a futex operation in a ring | a poll of the port in the same ring: the engine sleeps in `io_uring_enter` |
//! | `posix`, `sysv` | its semaphore | a *net poller*, a thread that waits for the port and then rings the engine's bell |
//!
//! With `futex` and the I/O method `uring` that ring is the one of the engine's disk requests: handing them over, sleeping
//! and their completions are one system call. Else it is a small one, and the port carries the ring of the disk requests
//! ([`crate::net`]), if there is one. Where the system has no ring with
//! futex operations (before Linux 6.7, or forbidden), `futex` becomes `eventfd`, and `gearbox.engines` says so.
//!
//! The bell is armed (one) before the last look for work and the sleep; a post swaps it to zero and wakes by the primitive
//! only if it was armed.

use crate::clock::{self, Nanos};
use crate::config::Primitive;
use crate::engine::{self, EngineShared};
use crate::net::Port;
use crate::wait;
use io_uring::{IoUring, opcode, types};
use std::sync::atomic::{AtomicU32, Ordering::*};

/// An engine's way to sleep; made by the engine's own thread.
pub(crate) enum Sleeper {
    /// In the port itself.
    Port,
    /// In the engine's ring of disk requests, which waits for the bell and polls the port too.
    DiskRing,
    /// In a ring that waits for the bell and polls the port.
    Ring(Box<RingSleeper>),
    /// On the engine's semaphore, with a net poller beside it.
    Poller(&'static Poller),
}

impl Sleeper {
    /// The sleeper that fits the engine's primitive, or the next best one, which is noted in the engine's slot.
    pub(crate) fn new(engine: &'static EngineShared, port: Port) -> Sleeper {
        if engine::sim::is_on() {
            // Port and bell in one: as with event descriptors.
            engine.set_primitive(Primitive::Eventfd);
        }
        match engine.primitive() {
            Primitive::Eventfd => Sleeper::Port,
            Primitive::Futex if engine::expect_local().io.make_bed() => Sleeper::DiskRing,
            Primitive::Futex => match RingSleeper::new() {
                Some(ring) => Sleeper::Ring(Box::new(ring)),
                None => {
                    engine.set_primitive(Primitive::Eventfd);
                    Sleeper::Port
                }
            },
            Primitive::Posix | Primitive::Sysv => match Poller::start(engine, port) {
                Some(poller) => Sleeper::Poller(poller),
                None => {
                    engine.set_primitive(Primitive::Eventfd);
                    Sleeper::Port
                }
            },
        }
    }

    /// Sleeps until the bell is rung, the port has something, or `timeout` passes. `look` takes what the port has; it is
    /// given the time that it may sleep itself.
    pub(crate) fn sleep(
        &mut self,
        engine: &'static EngineShared,
        port: Port,
        timeout: Option<Nanos>,
        mut look: impl FnMut(Option<Nanos>),
    ) {
        match self {
            Sleeper::Port => look(timeout),
            Sleeper::DiskRing => {
                let deadline = timeout.map(|span| clock::now() + span);
                if engine::expect_local().io.sleep_idle(&engine.bell, port, deadline) {
                    look(Some(0));
                }
            }
            Sleeper::Ring(ring) => {
                if ring.sleep(engine, port, timeout) {
                    look(Some(0));
                }
            }
            Sleeper::Poller(poller) => {
                poller.arm();
                let deadline = timeout.map(|span| clock::now() + span);
                while engine.bell.load(SeqCst) != 0 && deadline.is_none_or(|at| clock::now() < at) {
                    wait::sleep(engine, &engine.bell, 1, deadline);
                    if crate::supervisor::stopping() {
                        break;
                    }
                }
                look(Some(0));
            }
        }
    }
}

/// Waits for the bell's futex and the port in one system call.
pub(crate) struct RingSleeper {
    ring: IoUring,
    bell_armed: bool,
    port_armed: bool,
}

const BELL: u64 = 1;
const PORT: u64 = 2;
/// `FUTEX2_SIZE_U32`: the word has 32 bits, and lies in shared memory (not private).
const FUTEX2_SIZE_U32: u32 = 2;

impl RingSleeper {
    fn new() -> Option<RingSleeper> {
        let ring = IoUring::builder()
            .dontfork()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(8)
            .or_else(|_| IoUring::builder().dontfork().build(8))
            .ok()?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe).ok()?;
        let able = probe.is_supported(opcode::FutexWait::CODE) && ring.params().is_feature_ext_arg();
        able.then_some(RingSleeper { ring, bell_armed: false, port_armed: false })
    }

    /// True if the port has something.
    fn sleep(&mut self, engine: &'static EngineShared, port: Port, timeout: Option<Nanos>) -> bool {
        if !self.bell_armed {
            let wait = opcode::FutexWait::new(engine.bell.as_ptr(), 1, u32::MAX as u64, FUTEX2_SIZE_U32).build();
            self.push(wait.user_data(BELL));
            self.bell_armed = true;
        }
        if !self.port_armed {
            let poll = opcode::PollAdd::new(types::Fd(port.0), libc::POLLIN as u32).build();
            self.push(poll.user_data(PORT));
            self.port_armed = true;
        }
        // An error (a signal, the time-out) is one more reason to look for work.
        let _ = match timeout {
            None => self.ring.submitter().submit_and_wait(1),
            Some(span) => {
                let span = types::Timespec::new().sec(span / 1_000_000_000).nsec((span % 1_000_000_000) as u32);
                self.ring.submitter().submit_with_args(1, &types::SubmitArgs::new().timespec(&span))
            }
        };
        let mut port_ready = false;
        for completion in self.ring.completion() {
            match completion.user_data() {
                // Also when the bell had been rung before the operation was queued (EAGAIN).
                BELL => self.bell_armed = false,
                _ => {
                    self.port_armed = false;
                    port_ready = true;
                }
            }
        }
        port_ready
    }

    fn push(&mut self, entry: io_uring::squeue::Entry) {
        // SAFETY: (1) the bell lies in the region for good; (2) at most two entries are ever in a ring of eight.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "a sleeper's ring is full");
    }
}

/// A thread that waits for the port while its engine sleeps on a semaphore.
pub(crate) struct Poller {
    /// One: the engine goes to sleep, wait for the port. Zero: it has been told.
    gate: AtomicU32,
    parked: AtomicU32,
}

impl Poller {
    fn start(engine: &'static EngineShared, port: Port) -> Option<&'static Poller> {
        let poller: &'static Poller =
            Box::leak(Box::new(Poller { gate: AtomicU32::new(0), parked: AtomicU32::new(0) }));
        let run = move || poller.run(engine, port);
        std::thread::Builder::new().name("net poller".into()).stack_size(64 << 10).spawn(run).ok()?;
        Some(poller)
    }

    /// The engine is about to sleep.
    fn arm(&self) {
        self.gate.store(1, SeqCst);
        if self.parked.load(SeqCst) != 0 {
            wait::futex::wake(&self.gate, 1);
        }
    }

    fn run(&self, engine: &'static EngineShared, port: Port) {
        loop {
            while self.gate.load(SeqCst) == 0 {
                self.parked.store(1, SeqCst);
                wait::futex::sleep(&self.gate, 0, None);
                self.parked.store(0, SeqCst);
            }
            let mut poll = libc::pollfd { fd: port.0, events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry, valid for the call.
            let ready = unsafe { libc::poll(&mut poll, 1, -1) };
            if ready > 0 {
                self.gate.store(0, SeqCst);
                engine::ring(engine);
            }
        }
    }
}
