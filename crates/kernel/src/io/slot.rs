//! The table of disk requests in the region: what is in flight, for whom, by which method, since when.
//!
//! ```text
//!          take                  hand over                       the system is done
//!  FREE ---------> PREPARED ----------------> IN_FLIGHT --------------+-----------------> DONE --(its ticket is waited for)--> FREE
//!                                                                     | it has an action
//!                                                                     \---> FINISHING --(the action has run)--> FREE
//! ```
//!
//! Rules
//! 1. A slot that is not free names the engine that issued it, from the moment it leaves the free list; so after a death
//!    nothing is lost, and what the dead engine had in flight is known ([`super::drain`]).
//! 2. Whoever carries a request out is the only one to touch its [`Progress`]; hand-over to a worker goes through the
//!    queue's spinlock.
//! 3. What is needed after a slot becomes DONE is read before: its session may take the result and reuse the slot at once.
//! 4. A session that holds tickets never waits for a free slot: it might be waiting for itself.

use super::progress::Progress;
use super::{Action, Buffer, Completion, FileName, Op, Outcome};
use crate::clock::{self, Nanos};
use crate::engine::Local;
use crate::region::{Root, Shared};
use crate::session;
use crate::sync::{Spin, SpinName, WaitList};
use crate::wait::{self, Event};
use base::{EngineId, SessionId};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering::*};

/// How many requests may be in flight, or complete and not waited for, at once.
pub const SLOTS: usize = 4096;

const FREE: u32 = 0;
const PREPARED: u32 = 1;
const IN_FLIGHT: u32 = 2;
const FINISHING: u32 = 3;
const DONE: u32 = 4;

/// By what a request is really carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Method {
    /// The issuing engine's ring.
    Ring = 0,
    /// A worker of the background host.
    Worker = 1,
    /// A system call of the session itself.
    Call = 2,
    /// The simulated disk.
    Simulated = 3,
}

impl Method {
    /// The method's name in views.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Ring => "uring",
            Method::Worker => "worker",
            Method::Call => "sync",
            Method::Simulated => "sim",
        }
    }

    fn from_number(number: u32) -> Method {
        [Method::Ring, Method::Worker, Method::Call, Method::Simulated][number as usize]
    }
}

/// A request's slot in the region.
#[repr(C, align(128))]
pub(crate) struct Slot {
    state: AtomicU32,
    index: AtomicU32,
    op: AtomicU32,
    method: AtomicU32,
    event: AtomicU32,
    engine: AtomicU32,
    process: AtomicI32,
    session: AtomicU32,
    /// One if an action runs at the end; zero if the session waits for its ticket.
    acts: AtomicU32,
    action: AtomicU32,
    param: AtomicU64,
    file: AtomicU64,
    offset: AtomicU64,
    bytes: AtomicU64,
    issued_at: AtomicU64,
    outcome: AtomicI64,
    /// The next free slot, or the next in the workers' queue, counted from one. Guarded by that list's spinlock.
    pub(super) next: AtomicU32,
    progress: UnsafeCell<Progress>,
}

// SAFETY: rule 2 gives the progress one user at a time; the rest is atomic.
unsafe impl Sync for Slot {}
// SAFETY: plain data that means the same in every process; zero is free.
unsafe impl Shared for Slot {}

#[repr(C)]
struct FreeList {
    head: u32,
    used: u32,
    used_max: u32,
    unused: u32,
}

// SAFETY: integers.
unsafe impl Shared for FreeList {}

#[repr(C)]
struct Table {
    free: Spin<FreeList>,
    /// Sessions that wait for a free slot: a hint for whoever frees one.
    waiting: AtomicU32,
    list: WaitList,
}

// SAFETY: a spinlock over integers, an atomic, a list of sessions.
unsafe impl Shared for Table {}

// SAFETY: roots 9 and 10 are used here only.
static SLOT_TABLE: Root<Slot> = unsafe { Root::new(9) };
// SAFETY: as above.
static TABLE: Root<Table> = unsafe { Root::new(10) };

pub(super) fn init() {
    for (index, slot) in SLOT_TABLE.make("io slots", SLOTS).iter().enumerate() {
        slot.index.store(index as u32, Relaxed);
        slot.next.store(if index + 1 < SLOTS { index as u32 + 2 } else { 0 }, Relaxed);
    }
    let table = &TABLE.make("io slot list", 1)[0];
    table.free.lock().head = 1;
    table.free.publish(SpinName::IoSlots, 0);
}

/// A slot by its number.
pub(crate) fn slot(index: u32) -> &'static Slot {
    &SLOT_TABLE.get()[index as usize]
}

/// What a request is to do, before it has a slot.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) op: Op,
    pub(super) event: Event,
    pub(super) file: FileName,
    pub(super) offset: u64,
    pub(super) buffers: &'a [Buffer],
}

fn try_take(local: &Local) -> Option<&'static Slot> {
    let mut free = TABLE.one().free.lock();
    if free.head == 0 {
        return None;
    }
    let slot = slot(free.head - 1);
    free.head = slot.next.load(Relaxed);
    free.used += 1;
    free.used_max = free.used_max.max(free.used);
    slot.engine.store(local.shared.id().0, Relaxed);
    slot.state.store(PREPARED, SeqCst);
    Some(slot)
}

/// Takes a slot for the running session and writes the order into it, waiting for a free one if need be. None if there
/// is none and the session may not wait (rule 4).
pub(super) fn take(local: &Local, order: &Order<'_>, action: Option<Action>) -> Option<&'static Slot> {
    let me = session::current();
    let slot = match try_take(local) {
        Some(slot) => slot,
        None => wait_for_one(local, me.id())?,
    };
    slot.op.store(order.op as u32, Relaxed);
    slot.event.store(order.event as u32, Relaxed);
    slot.process.store(local.shared.os_ids().0, Relaxed);
    slot.session.store(me.id().0, Relaxed);
    slot.acts.store(action.is_some() as u32, Relaxed);
    let action = action.unwrap_or(Action { number: 0, param: 0 });
    slot.action.store(action.number, Relaxed);
    slot.param.store(action.param, Relaxed);
    slot.file.store(order.file.raw(), Relaxed);
    slot.offset.store(order.offset, Relaxed);
    slot.bytes.store(order.buffers.iter().map(|buffer| buffer.bytes() as u64).sum(), Relaxed);
    slot.issued_at.store(clock::now(), Relaxed);
    // SAFETY: the slot has just been taken: nobody else uses it.
    unsafe { slot.progress() }.set(order.op, order.offset, order.buffers);
    Some(slot)
}

fn wait_for_one(local: &Local, me: SessionId) -> Option<&'static Slot> {
    // What this engine has gathered and not handed over would never be complete.
    local.io.submit();
    let holds_tickets = SLOT_TABLE.get().iter().any(|slot| {
        slot.state.load(Relaxed) != FREE && slot.session.load(Relaxed) == me.0 && slot.acts.load(Relaxed) == 0
    });
    if holds_tickets {
        return None;
    }
    let table = TABLE.one();
    table.waiting.fetch_add(1, SeqCst);
    let slot = loop {
        table.list.enter(0);
        if let Some(slot) = try_take(local) {
            break slot;
        }
        wait::wait_uninterruptible(Event::IoSlot, 0);
        table.list.leave();
    };
    table.list.leave();
    table.waiting.fetch_sub(1, SeqCst);
    Some(slot)
}

/// Slots in use now, and the most there ever were.
pub fn slots_used() -> (u32, u32) {
    let free = TABLE.one().free.lock();
    (free.used, free.used_max)
}

impl Slot {
    pub(crate) fn index(&self) -> u32 {
        self.index.load(Relaxed)
    }

    /// # Safety
    /// The caller is the one who carries the request out (rule 2), and holds no other borrow of it.
    #[expect(clippy::mut_from_ref, reason = "rule 2 makes the borrow exclusive")]
    unsafe fn progress(&self) -> &mut Progress {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.progress.get() }
    }

    pub(crate) fn op(&self) -> Op {
        Op::from_number(self.op.load(Relaxed))
    }

    pub(crate) fn file(&self) -> FileName {
        FileName::from_raw(self.file.load(Relaxed)).expect("a slot in use names a file")
    }

    pub(super) fn event(&self) -> Event {
        Event::from_number(self.event.load(Relaxed) as u16).expect("a slot in use names an event")
    }

    pub(super) fn method(&self) -> Method {
        Method::from_number(self.method.load(Relaxed))
    }

    /// The process of the engine that issued it.
    pub(super) fn process(&self) -> i32 {
        self.process.load(SeqCst)
    }

    /// What is left to do: place in the file, buffers.
    ///
    /// Only for whoever carries the request out.
    pub(crate) fn rest(&self) -> (u64, &[Buffer]) {
        // SAFETY: the caller carries the request out; the borrow is over before it reports an answer.
        unsafe { self.progress() }.rest()
    }

    /// Takes the system's answer in: see [`Progress::advance`]. Only for whoever carries the request out.
    pub(crate) fn advance(&self, answer: i64) -> Option<Outcome> {
        // SAFETY: the caller carries the request out, and holds no borrow from `rest`.
        unsafe { self.progress() }.advance(answer)
    }

    /// The request is handed over. With workers: under their queue's spinlock, so that a death leaves no request that is
    /// in flight and in no queue.
    pub(super) fn hand_over(&self, method: Method) {
        self.method.store(method as u32, Relaxed);
        self.state.store(IN_FLIGHT, SeqCst);
    }

    pub(super) fn set_method(&self, method: Method) {
        self.method.store(method as u32, Relaxed);
    }

    /// The request is over: its action runs, or its session is told. By whoever carried it out.
    pub(crate) fn settle(&'static self, outcome: Outcome) {
        crate::fault::point("io.settle");
        if self.acts.load(Relaxed) == 0 {
            self.outcome.store(outcome.0, Relaxed);
            // Rule 3. A session that has done its request itself is awake and looks.
            let session = SessionId(self.session.load(Relaxed));
            let asleep = self.method() != Method::Call;
            self.state.store(DONE, SeqCst);
            if asleep {
                wait::post(session);
            }
            return;
        }
        self.act(outcome);
    }

    /// Runs the action, and gives the slot back.
    fn act(&'static self, outcome: Outcome) {
        self.state.store(FINISHING, SeqCst);
        super::act(&Completion {
            action: Action { number: self.action.load(Relaxed), param: self.param.load(Relaxed) },
            op: self.op(),
            file: self.file(),
            offset: self.offset.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            outcome,
        });
        self.free();
    }

    /// Ends the request of an engine that died: nobody waits for its ticket any more; its action must run.
    pub(super) fn settle_lost(&'static self, outcome: Outcome) {
        match self.acts.load(Relaxed) {
            0 => self.free(),
            _ => self.act(outcome),
        }
    }

    /// How it ended, if it has.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        (self.state.load(SeqCst) == DONE).then(|| Outcome(self.outcome.load(Relaxed)))
    }

    /// For a sleep on the state word while the request is not over.
    pub(super) fn sleep_while_in_flight(&self) {
        let state = self.state.load(SeqCst);
        if state != DONE {
            wait::futex::sleep(&self.state, state, Some(clock::now() + 1_000_000));
        }
    }

    /// The engine that issued it.
    pub(crate) fn engine(&self) -> EngineId {
        EngineId(self.engine.load(SeqCst))
    }

    pub(super) fn is_used_by(&self, engine: EngineId) -> bool {
        self.state.load(SeqCst) != FREE && self.engine.load(SeqCst) == engine.0
    }

    /// True before it is handed over.
    pub(super) fn is_prepared(&self) -> bool {
        self.state.load(SeqCst) == PREPARED
    }

    /// True while its action runs.
    pub(super) fn is_finishing(&self) -> bool {
        self.state.load(SeqCst) == FINISHING
    }

    pub(super) fn is_done(&self) -> bool {
        self.state.load(SeqCst) == DONE
    }

    /// Gives the slot back.
    pub(super) fn free(&'static self) {
        let table = TABLE.one();
        {
            let mut free = table.free.lock();
            self.state.store(FREE, SeqCst);
            self.next.store(free.head, Relaxed);
            free.head = self.index() + 1;
            free.used -= 1;
        }
        if table.waiting.load(SeqCst) > 0 {
            table.list.post_one();
        }
    }
}

/// A request that is not over, as views show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending {
    /// The engine that issued it.
    pub engine: EngineId,
    /// The session that issued it.
    pub session: SessionId,
    /// What it does.
    pub op: Op,
    /// By what it is carried out.
    pub method: Method,
    /// The file.
    pub file: FileName,
    /// Where in the file.
    pub offset: u64,
    /// How much.
    pub bytes: u64,
    /// For how long it has been going on.
    pub age_ns: Nanos,
    /// True if the system is done with it and its session has not taken the result.
    pub done: bool,
}

/// Every request that is not over. Takes no lock; a request that changes meanwhile may be shown half old.
pub fn pending() -> impl Iterator<Item = Pending> {
    let now = clock::now();
    SLOT_TABLE.get().iter().filter_map(move |slot| {
        let state = slot.state.load(Relaxed);
        let file = FileName::from_raw(slot.file.load(Relaxed))?;
        (state != FREE).then(|| Pending {
            engine: EngineId(slot.engine.load(Relaxed)),
            session: SessionId(slot.session.load(Relaxed)),
            op: slot.op(),
            method: slot.method(),
            file,
            offset: slot.offset.load(Relaxed),
            bytes: slot.bytes.load(Relaxed),
            age_ns: now.saturating_sub(slot.issued_at.load(Relaxed)),
            done: state == DONE,
        })
    })
}

/// Every slot, for the clean-up.
pub(super) fn slots() -> &'static [Slot] {
    SLOT_TABLE.get()
}
