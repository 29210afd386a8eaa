//! Disk: submitted, then awaited; by ring, by workers, at once.
//!
//! A *request* reads, writes or flushes a file; its memory lies in the region ([`Buffer`]), its file is a [`FileName`],
//! and what the system is to do with it lies in a [slot](mod@slot) of the region, where every process sees it. A request ends in
//! one of two ways, chosen when it is issued:
//!
//! ```text
//! read(..) -> Ticket ---> ticket.wait()          the session takes the result
//! read_then(.., Action)                          whoever takes the completion in runs the action; nobody need wait
//! ```
//!
//! [`write_durable_now`] is both in one, for who can do nothing before the write is on the disk: a commit.
//!
//! | file | what it is |
//! |---|---|
//! | [`name`] | names of files, and where they lie |
//! | [`buffer`] | memory for requests |
//! | [`mod@slot`] | the table of requests |
//! | [`progress`] | short reads and writes, errors, the end of a request |
//! | [`files`] | a process's descriptors |
//! | [`local`] | an engine's own half: when it hands over, takes in, sleeps |
//! | [`uring`], [`workers`], [`sync`] | the methods |
//! | [`operations`], [`blocking`] | operations on whole files, and the pool that they run on |
//! | [`outside`] | files that are not the database's |
//! | [`drain`] | requests of the dead |
//! | [`sim`] | where the simulated disk comes in |
//!
//! Rules
//! 1. A request is handed to the system at the latest when its engine sleeps, waits, or goes on to another session; it is
//!    complete without any help of the session that issued it, and its action does not wait for that session either.
//! 2. An engine sleeps only where completions of its own ring end the sleep, or with nothing in flight there.
//! 3. A completion action must not wait and must not issue requests, because it runs wherever the completion is taken in:
//!    by the issuing engine, a worker, or the clean-up after a death (then with `ECANCELED`). It may run twice
//!    if an engine dies in the middle of it.
//! 4. What is used is shown: an engine's counters say how many of its requests went through its ring, to a worker, or
//!    were calls of its own. With `uring`, an engine that is refused a ring uses the workers; with any method, a session
//!    that holds tickets and finds no free slot calls the system itself, and so does one that holds its engine, with nothing
//!    in its ring, and has nothing to do before a write is durable ([`write_durable_now`]).
//! 5. No request is abandoned: a [`Ticket`] that is dropped waits for the end of its request.
//!
//! Life of a read: [`read`] finds the descriptor, takes a slot, puts an entry into the ring → [`Ticket::wait`] → the engine
//! sleeps in the ring, which hands the entry over ([`local::LocalIo::sleep`]) → the completion is taken in and settled:
//! result into the slot, session posted → the session takes the result and frees the slot.

pub mod blocking;
pub mod buffer;
pub(crate) mod drain;
pub(crate) mod files;
pub(crate) mod local;
pub mod name;
pub mod operations;
pub mod outside;
pub(crate) mod progress;
pub(crate) mod sim;
pub(crate) mod slot;
pub(crate) mod sync;
pub(crate) mod uring;
pub(crate) mod workers;

pub use buffer::{Buffer, Pages};
pub use files::{descriptors, is_direct};
pub(crate) use local::LocalIo;
pub use name::{FileName, Kind};
pub use operations::{
    allocate, create, create_zeroed, discard, exists, list, make_directories, read_small, remove, rename, size,
    sync_directory, truncate, write_small,
};
pub use progress::{Op, Outcome, failure};
pub use slot::{Method, Pending, SLOTS, pending, slots_used};

use crate::config::{Config, EngineKind, IoMethod};
use crate::engine;
use crate::region::{Root, Shared};
use crate::session;
use crate::wait::{self, Event};
use base::Result;
use slot::{Order, Slot};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Buffers of direct requests begin at multiples of this, and their offsets and lengths are multiples of it, in bytes.
pub const ALIGN: usize = 4096;
/// How many buffers a request may have: they are neighbours on disk.
pub const VECTOR_MAX: usize = 32;

/// What is to be done when a request is over: a number that the service's function understands, and a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Action {
    /// Which action.
    pub number: u32,
    /// What it is about.
    pub param: u64,
}

/// A request that is over, as its action sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// What was asked for at the end.
    pub action: Action,
    /// What the request did.
    pub op: Op,
    /// To which file.
    pub file: FileName,
    /// Where in the file.
    pub offset: u64,
    /// How many bytes it was to read or write.
    pub bytes: u64,
    /// How it ended: fewer bytes than asked for are the end of the file. `ECANCELED` after the death of its engine: it may
    /// have been done or not.
    pub outcome: Outcome,
}

impl Completion {
    /// Bytes read or written, or the error for whoever wants to know.
    pub fn result(&self) -> Result<usize> {
        self.outcome.into_result(self.op, self.file)
    }
}

static ON_COMPLETION: OnceLock<fn(&Completion)> = OnceLock::new();

/// Sets the function that runs completion actions. Once, before the first fork: while the service is made. In the simulator
/// it is the run's own, and set anew at each restart.
///
/// Rule 3 says what it may do.
pub fn on_completion(run: fn(&Completion)) {
    if !engine::sim::on_completion(run) {
        assert!(ON_COMPLETION.set(run).is_ok(), "the function for completions is set twice");
    }
}

pub(crate) fn act(completion: &Completion) {
    let run = engine::sim::completion_action().or_else(|| ON_COMPLETION.get().copied());
    run.expect("a request has an action, and nobody has said what actions do")(completion);
}

/// A request that is under way. Its result is taken by [`Ticket::wait`]; dropped, it waits all the same.
#[must_use = "a request is complete when its ticket has been waited for"]
pub struct Ticket {
    request: Request,
    op: Op,
    file: FileName,
}

enum Request {
    InSlot(&'static Slot),
    /// Done without a slot, or taken.
    Over(Outcome),
}

impl Ticket {
    /// Waits until the request is over. Answers the number of bytes read or written: fewer than asked for are the end of
    /// the file.
    ///
    /// Errors: `53100` no room, `58030` the device or the file system failed; of kind [`base::Kind::Server`] when a flush
    /// failed.
    pub fn wait(mut self) -> Result<usize> {
        self.settle().into_result(self.op, self.file)
    }

    /// The same, with the system's error number.
    pub fn outcome(mut self) -> Outcome {
        self.settle()
    }

    /// True if [`Ticket::wait`] would come back at once. Takes completions in, so actions may run: not under a spinlock.
    pub fn is_done(&self) -> bool {
        let Request::InSlot(slot) = self.request else { return true };
        if !slot.is_done() {
            engine::expect_local().io.reap();
        }
        slot.is_done()
    }

    fn settle(&mut self) -> Outcome {
        let slot = match self.request {
            Request::Over(outcome) => return outcome,
            Request::InSlot(slot) => slot,
        };
        let outcome = loop {
            match slot.outcome() {
                Some(outcome) => break outcome,
                None if std::thread::panicking() => await_without_session(slot),
                None => wait::wait_uninterruptible(slot.event(), self.file.raw()),
            }
        };
        slot.free();
        self.request = Request::Over(outcome);
        outcome
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // In the simulator a fiber is unwound when its host is killed: what it had in flight is the clean-up's.
        if !(std::thread::panicking() && sim::disk().is_some()) {
            self.settle();
        }
    }
}

/// A panic unwinds, and the session must not wait; but the memory of a request in flight must not be freed either.
fn await_without_session(slot: &'static Slot) {
    let local = engine::expect_local();
    local.io.drain();
    slot.sleep_while_in_flight();
}

/// Reads into a buffer.
pub fn read(event: Event, file: FileName, offset: u64, buffer: Buffer) -> Result<Ticket> {
    read_vectored(event, file, offset, &[buffer])
}

/// Reads what lies in a row on disk into several buffers.
///
/// `event` names the wait for it. Errors here: the file cannot be opened. Those of the request come with the ticket.
pub fn read_vectored(event: Event, file: FileName, offset: u64, buffers: &[Buffer]) -> Result<Ticket> {
    issue(Order { op: Op::Read, event, file, offset, buffers })
}

/// Reads, and runs the action when that is done: nobody need wait.
pub fn read_then(event: Event, file: FileName, offset: u64, buffers: &[Buffer], action: Action) -> Result<()> {
    issue_then(Order { op: Op::Read, event, file, offset, buffers }, action)
}

/// Writes a buffer.
pub fn write(event: Event, file: FileName, offset: u64, buffer: Buffer) -> Result<Ticket> {
    write_vectored(event, file, offset, &[buffer])
}

/// Writes several buffers in a row.
pub fn write_vectored(event: Event, file: FileName, offset: u64, buffers: &[Buffer]) -> Result<Ticket> {
    issue(Order { op: Op::Write, event, file, offset, buffers })
}

/// Writes, and runs the action when that is done.
pub fn write_then(event: Event, file: FileName, offset: u64, buffers: &[Buffer], action: Action) -> Result<()> {
    issue_then(Order { op: Op::Write, event, file, offset, buffers }, action)
}

/// Writes several buffers in a row; the request is over when that is durable.
pub fn write_durable(event: Event, file: FileName, offset: u64, buffers: &[Buffer]) -> Result<Ticket> {
    issue(Order { op: Op::WriteDurable, event, file, offset, buffers })
}

/// Writes several buffers in a row and returns when that is durable: [`write_durable`] and its wait in one. Answers the number of
/// bytes written.
///
/// Whatever the method, a session that holds its engine, background tasks among them, makes the call itself if nothing of the engine is
/// in its ring or still to be handed over: nobody else could run there meanwhile, and the way back is shorter. A ring's durable
/// write is finished by a thread of the system, which flushes the device and then wakes the engine; a worker is woken and wakes.
/// (TPC-B, 8 clients, `process/dedicated`: 6,430 -> 7,530 transactions a second.) PostgreSQL 18 does the same with its log, whatever
/// `io_method` says.
///
/// Errors: those of the opening, and those of [`Ticket::wait`].
pub fn write_durable_now(event: Event, file: FileName, offset: u64, buffers: &[Buffer]) -> Result<usize> {
    let local = engine::expect_local();
    let order = Order { op: Op::WriteDurable, event, file, offset, buffers };
    let by = if local.fiber.get().is_none() && local.io.is_quiet() { By::OwnCall } else { By::Method };
    Ticket { request: begin(&order, None, by)?, op: order.op, file }.wait()
}

/// Writes durably, and runs the action then.
pub fn write_durable_then(event: Event, file: FileName, offset: u64, buffers: &[Buffer], action: Action) -> Result<()> {
    issue_then(Order { op: Op::WriteDurable, event, file, offset, buffers }, action)
}

/// Makes durable what was written to the file by requests that were over when this is issued, and the file's size.
pub fn flush(event: Event, file: FileName) -> Result<Ticket> {
    issue(Order { op: Op::Flush, event, file, offset: 0, buffers: &[] })
}

/// Flushes, and runs the action then.
pub fn flush_then(event: Event, file: FileName, action: Action) -> Result<()> {
    issue_then(Order { op: Op::Flush, event, file, offset: 0, buffers: &[] }, action)
}

/// Hands what this engine's sessions have issued over to the system now: for who computes on after issuing. Waits do
/// that by themselves.
pub fn submit() {
    engine::expect_local().io.submit();
}

fn issue(order: Order<'_>) -> Result<Ticket> {
    let request = begin(&order, None, By::Method)?;
    Ok(Ticket { request, op: order.op, file: order.file })
}

fn issue_then(order: Order<'_>, action: Action) -> Result<()> {
    if let Request::Over(outcome) = begin(&order, Some(action), By::Method)? {
        act(&Completion {
            action,
            op: order.op,
            file: order.file,
            offset: order.offset,
            bytes: order.buffers.iter().map(|buffer| buffer.bytes() as u64).sum(),
            outcome,
        });
    }
    Ok(())
}

/// By what a request is to be carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// The engine's method.
    Method,
    /// A call of the session's own.
    OwnCall,
}

/// Issues a request: the one place where the method is chosen.
fn begin(order: &Order<'_>, action: Option<Action>, by: By) -> Result<Request> {
    check(order);
    let local = engine::expect_local();
    let stats = &local.shared.stats;
    if let Some(disk) = sim::disk() {
        let slot = slot::take(local, order, action).expect("the simulator has slots for all");
        stats.io_submitted.add(1);
        slot.hand_over(Method::Simulated);
        disk.begin(slot.index());
        return Ok(Request::InSlot(slot));
    }
    let file = match files::cached(order.file) {
        Some(file) => file,
        None => {
            let name = order.file;
            blocking::run(Event::FileOperation, move || files::open(name)).map_err(|error| {
                progress::system_error(
                    format!("could not open file \"{name}\""),
                    error.raw_os_error().unwrap_or(libc::EIO),
                )
            })?
        }
    };
    stats.io_submitted.add(1);
    let Some(slot) = slot::take(local, order, action) else {
        let progress = progress::Progress::new(order.op, order.offset, order.buffers);
        stats.io_sync.add(1);
        let outcome = sync::carry_out_at_once(order.event, order.file, progress, &file);
        stats.io_completed.add(1);
        return Ok(Request::Over(outcome));
    };
    if by == By::OwnCall && !local.io.is_sync() {
        stats.io_own.add(1);
        sync::carry_out(slot, &file);
        stats.io_completed.add(1);
        return Ok(Request::InSlot(slot));
    }
    match local.io.method() {
        Method::Ring => {
            stats.io_uring.add(1);
            local.io.push_ring(slot, file);
        }
        Method::Worker => {
            stats.io_workers.add(1);
            local.io.push_workers(slot);
        }
        Method::Call | Method::Simulated => {
            stats.io_sync.add(1);
            local.gather.hand_over();
            sync::carry_out(slot, &file);
            stats.io_completed.add(1);
        }
    }
    Ok(Request::InSlot(slot))
}

fn check(order: &Order<'_>) {
    let wanted = order.op != Op::Flush;
    assert!(
        order.buffers.len() <= VECTOR_MAX && order.buffers.is_empty() != wanted,
        "a request without, or with too many, buffers"
    );
    if order.file.kind().is_direct() {
        let aligned = order.offset.is_multiple_of(ALIGN as u64) && order.buffers.iter().all(Buffer::is_aligned);
        assert!(aligned, "a request to \"{}\" is not aligned", order.file);
    }
    debug_assert!(session::current().is_used());
}

/// A system call's answer to a request of the simulated disk: bytes, or an error as a negative number. True if the
/// request is over; if not, the disk has been given the rest.
pub(crate) fn answer(index: u32, answer: i64) -> bool {
    let request = slot::slot(index);
    match request.advance(answer) {
        Some(outcome) => {
            if let Some(engine) = engine::current() {
                engine.stats.io_completed.add(1);
            }
            request.settle(outcome);
            true
        }
        None => {
            if let Some(disk) = sim::disk() {
                disk.begin(index);
            }
            false
        }
    }
}

#[repr(C)]
struct Refusals {
    rings: AtomicU64,
    said: AtomicU32,
    unused: u32,
}

// SAFETY: atomics and an integer that nobody reads.
unsafe impl Shared for Refusals {}

// SAFETY: root 13 is used here only.
static REFUSALS: Root<Refusals> = unsafe { Root::new(13) };

/// An engine was refused a ring: counted, and said once.
pub(crate) fn note_refused_ring(error: &std::io::Error) {
    let refusals = REFUSALS.one();
    refusals.rings.fetch_add(1, Relaxed);
    if refusals.said.swap(1, SeqCst) == 0 {
        eprintln!(
            "gearbox: an engine is refused a ring ({error}); I/O workers serve it. Raise the limit on locked memory \
             (ulimit -l), allow io_uring, or choose io_method = workers"
        );
    }
}

/// How many engines were refused a ring and use the workers instead.
pub fn refused_rings() -> u64 {
    REFUSALS.one().rings.load(Relaxed)
}

pub(crate) fn init(_config: &Config) {
    slot::init();
    files::init();
    workers::init();
    REFUSALS.make("io refusals", 1);
}

/// Prepares a host, after its fork.
pub(crate) fn init_host() {
    // A file that reaches the limit on sizes is an error like a full disk, not a signal that kills.
    // SAFETY: sets a signal's disposition; the process has one thread.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// How many I/O workers the background host runs: also with `uring`, for engines that are refused a ring. In the simulator
/// one, which answers for the simulated disk.
pub(crate) fn worker_count(config: &Config) -> u32 {
    match (config.io, config.engine) {
        (_, EngineKind::Sim) => 1,
        (IoMethod::Sync, _) => 0,
        _ => config.io_workers.max(1),
    }
}

pub(crate) use workers::main as worker_main;
