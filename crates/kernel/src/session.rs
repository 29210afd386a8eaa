//! A session: a client connection's state, as a plain value that any engine can resume.
//!
//! The *slot* ([`SessionShared`]) lies in the region: who runs the session now, what it waits for, which latches it
//! holds, its arena, and where its socket is. The *handle* ([`Session`]) exists only while an engine serves a request: it
//! adds the socket's descriptor in this process and buffers for bytes in and out.
//!
//! ```text
//!        accept: an engine sets it up                  request done
//! FREE ------------------------------> RUNNING ------------------------> PARKED
//!                                       |  ^ ^                             |
//!                 closed                |  | \---- more came (AGAIN) ------|
//! FREE <--------------------------------/  |                               |
//!                                          \--- an engine takes it --- QUEUED <--- input, interrupt
//! ```
//!
//! Rules
//! 1. Between requests everything that a session is lies in its slot and its arena; bytes that were received but not
//!    served go to the arena too.
//! 2. Only the engine that runs the session changes its slot, but for the words that are made for others to write: the
//!    wait word, the interrupts, the run state, the queue links.
//! 3. A slot's generation changes when the session ends: a reference to a session is (slot, generation).
//! 4. What users see as a session's number is [`SessionShared::number`], never an operating-system pid.

use crate::clock::{self, Nanos};
use crate::config::Config;
use crate::cover::{Cover, CoverShared, Covered, Covering};
use crate::region::arena::Arena;
use crate::region::{Root, Shared};
use crate::sync::{Latch, Mode, Spin};
use crate::wait::Event;
use crate::{engine, net};
use base::{EngineId, Error, Result, SessionId, sqlstate};
use std::sync::atomic::{AtomicI32, AtomicU16, AtomicU32, AtomicU64, Ordering::*};

/// What the service wants done with a session after a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Keep it until the client sends more.
    Park,
    /// Go on with it, without more from the client, once others have had their turn: it has whole messages left, and
    /// [`turn_is_over`] said so.
    GiveWay,
    /// End it; the service has said good-bye if that was due.
    Close,
}

/// Why a session ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The service asked for it.
    Asked,
    /// The client is gone, or does not speak the protocol.
    Vanished,
    /// The host that ran it died; another one cleans up.
    Died,
}

/// What the kernel serves: the layer above, which turns bytes in into bytes out.
///
/// Every method runs on an engine, as a session, and may wait. One value serves all sessions of all engines; it is made
/// before the first fork, so every process has it.
pub trait Service: Send + Sync + 'static {
    /// Serves what has come in ([`Session::input`]); called again with more if it leaves a message unfinished. Also
    /// called without new input when an interrupt reaches a parked session, or it is summoned.
    fn serve(&self, session: &mut Session) -> Next;

    /// Ends the session: rolls back, releases what it holds. The arena goes back afterwards. With [`End::Died`] it runs
    /// in another process than the session did, which may have died at any instruction outside critical sections: also in
    /// this method, which then runs a second time.
    fn close(&self, session: &mut Session, end: End);

    /// Gives up what others may be waiting for of a session that died, and waits for nobody itself: for each session that
    /// died, before [`Service::close`] of any that may wait for it. May run a second time.
    fn release_dead(&self, _session: SessionId) {}

    /// The names of what the server does of its own accord; each runs as a session of the background host.
    fn background(&self) -> &'static [&'static str] {
        &[]
    }

    /// Runs one of the tasks that [`Service::background`] names, until [`stopping`] says that the server stops.
    fn run_background(&self, _task: usize) {}

    /// How long a client may be connected before the service has set or cleared a deadline of the session's own
    /// ([`SessionShared::set_deadline`]); [`Interrupt::IdleTimeout`] tells the service. Counted from the connection, because one
    /// that never sends a byte is never served.
    fn login_patience(&self) -> Option<Nanos> {
        None
    }

    /// The bytes that tell a client that it cannot be let in: all slots are taken.
    fn refusal(&self, _error: &Error) -> Vec<u8> {
        Vec::new()
    }

    /// Runs in the background host before connections are let in: recovery.
    fn start(&self) -> Result<()> {
        Ok(())
    }

    /// Runs in the background host when the server is told to read its files again.
    fn reload(&self) {}

    /// Runs in the background host after the last session has gone: the last checkpoint.
    fn stop(&self) {}
}

/// An interrupt: somebody else wants the session's attention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Interrupt {
    /// The statement is to end (`57014`).
    Cancel = 1,
    /// The session is to end (`57P01`).
    Terminate = 2,
    /// The statement ran for too long (`57014`).
    StatementTimeout = 4,
    /// The session was idle for too long (`57P05`, `25P03`).
    IdleTimeout = 8,
}

/// Beside the interrupts, in the same word: the server has something for the session's client. It ends no wait and no statement.
const SUMMONED: u32 = 16;

// Run states of a slot, in the low bits of its run word; see the drawing above. While it runs, the engine that runs it
// stands in the high bits: both change in one step, so that a death never leaves a session that nobody is known to run.
/// The bits of the state.
const RUN_STATE: u32 = 7;
pub(crate) const FREE: u32 = 0;
pub(crate) const QUEUED: u32 = 1;
pub(crate) const RUNNING: u32 = 2;
/// Running, and something came meanwhile.
pub(crate) const AGAIN: u32 = 3;
pub(crate) const PARKED: u32 = 4;

/// A session's slot in the region.
#[repr(C, align(128))]
pub struct SessionShared {
    /// See [`crate::wait`].
    pub(crate) wait_word: AtomicU32,
    /// The engine that runs it, or ran it last.
    pub(crate) engine: AtomicU32,
    interrupts: AtomicU32,
    pub(crate) run: AtomicU32,
    /// When, in monotonic time, and by which interrupt the ticker is to interrupt it; zero for never. Beside the
    /// interrupts, because the ticker looks at both in every slot.
    deadline: AtomicU64,
    deadline_interrupt: AtomicU32,

    // The queue it stands in: guarded by that queue's spinlock.
    pub(crate) queued: AtomicU32,
    pub(crate) queue_next: AtomicU32,
    pub(crate) queue_mark: AtomicU32,
    /// The list itself: its address in the region.
    pub(crate) queue: AtomicU64,

    // What it waits for: written by its engine, read by views.
    wait_event: AtomicU16,
    in_transaction: AtomicU16,
    wait_param: AtomicU64,
    wait_since: AtomicU64,

    index: AtomicU32,
    pub(crate) generation: AtomicU32,
    number: AtomicU32,
    secret: AtomicU32,
    free_next: AtomicU32,
    kind: AtomicU32,

    // Where the socket is: the process that opened it, and its descriptor there.
    pub(crate) socket_pid: AtomicI32,
    pub(crate) socket_fd: AtomicI32,
    pub(crate) kept: AtomicU32,
    /// The pooled engine in whose port the socket is; see [`crate::net`].
    pub(crate) home: AtomicU32,
    /// The port in which the socket was registered last.
    pub(crate) port: AtomicI32,
    /// Set while the session waits for its socket in the middle of a request.
    pub(crate) socket_wait: AtomicU32,
    /// Set once the port has reported the end of the client's stream.
    pub(crate) ended: AtomicU32,
    /// Set while the death of the engine that runs it ends it: not all that the session is lies in the region then.
    at_stake: AtomicU32,
    /// Set while it is put away with whole messages that are to be served although nothing more comes.
    gave_way: AtomicU32,
    /// One if its client was let in. Under the spinlock of the free slots.
    admitted: AtomicU32,
    /// Set by the clean-up after a death, which has every session looked at: nothing may have come for it.
    recalled: AtomicU32,
    ready_since: AtomicU64,

    latches: [AtomicU64; crate::sync::HELD_MAX_LATCHES],

    arena: ArenaCell,
    root: AtomicU64,
    leftover: AtomicU64,
    leftover_bytes: AtomicU64,
    cover: CoverShared,

    /// Whose it is: a number of the layer above's, zero while nobody's.
    owner: AtomicU32,
    started_at: AtomicU64,
    /// Requests served.
    pub requests: crate::stats::Counter,
    /// Times it was resumed by another engine than the one before.
    pub moves: crate::stats::Counter,
    last_engine: AtomicU32,
}

#[repr(transparent)]
struct ArenaCell(Arena);

// SAFETY: rule 2 above: only the engine that runs the session touches its arena, and hand-over from one engine to the
// next goes through the run state (a swap with sequential consistency).
unsafe impl Sync for ArenaCell {}
// SAFETY: atomics, and an arena that is empty when zeroed and holds only region addresses.
unsafe impl Shared for SessionShared {}

/// Bits of [`SessionShared::in_transaction`].
const OPEN: u16 = 1;
const AWAITED: u16 = 2;

const KIND_CLIENT: u32 = 0;
const KIND_BACKGROUND: u32 = 1;
/// A background task whose work may be cancelled.
const KIND_CANCELLABLE: u32 = 2;

#[repr(C)]
#[derive(Default)]
struct FreeSlots {
    /// Slot number counted from one; zero is none.
    head: u32,
    used: u32,
    used_max: u32,
    /// Those of clients: only they are limited.
    clients: u32,
    /// Those of clients that have been let in.
    admitted: u32,
    admitted_max: u32,
    next_number: u32,
}

// SAFETY: integers.
unsafe impl Shared for FreeSlots {}

// SAFETY: roots 3 and 4 are used here only.
static SLOTS: Root<SessionShared> = unsafe { Root::new(3) };
// SAFETY: as above.
static FREE_SLOTS: Root<Spin<FreeSlots>> = unsafe { Root::new(4) };

/// Slots that are not for clients: background tasks and clean-up.
pub(crate) const BACKGROUND_SLOTS: u32 = 64;

pub(crate) fn init(config: &Config) {
    let count = config.connections_max() + BACKGROUND_SLOTS;
    let slots = SLOTS.make("sessions", count as usize);
    let free = FREE_SLOTS.make("session slots", 1);
    free[0].publish(crate::sync::SpinName::SessionSlots, 0);
    for (index, slot) in slots.iter().enumerate() {
        slot.index.store(index as u32, Relaxed);
        slot.generation.store(1, Relaxed);
        let next = index as u32 + 2;
        slot.free_next.store(if next <= count { next } else { 0 }, Relaxed);
    }
    let mut free = free[0].lock();
    free.head = 1;
    free.next_number = 1000;
}

/// The slot of a session.
#[inline]
pub fn slot(session: SessionId) -> &'static SessionShared {
    &SLOTS.get()[session.0 as usize]
}

/// Every slot, used or not, for views.
pub fn slots() -> &'static [SessionShared] {
    SLOTS.get()
}

/// Every slot that was ever used: what a walk over all sessions must look at.
pub fn slots_reached() -> &'static [SessionShared] {
    // Slots are taken in order, and freed ones first.
    &SLOTS.get()[..counts().1 as usize]
}

/// Sessions now and the most there ever were.
pub fn counts() -> (u32, u32) {
    let free = FREE_SLOTS.one().lock();
    (free.used, free.used_max)
}

/// Clients that are let in ([`admit`]) now, and the most there ever were.
pub fn admitted() -> (u32, u32) {
    let free = FREE_SLOTS.one().lock();
    (free.admitted, free.admitted_max)
}

/// The session that runs on this engine. Panics where none runs: that is a bug.
#[inline]
pub fn current() -> &'static SessionShared {
    engine::current_session().expect("no session runs here")
}

/// The number of the session that runs on this engine.
pub fn current_id() -> SessionId {
    current().id()
}

fn too_many() -> Error {
    Error::session(sqlstate::TOO_MANY_CONNECTIONS, "sorry, too many clients already")
        .hint("Raise max_connections, or close idle connections.")
}

/// Takes a free slot. Errors: `53300` when all are taken.
pub(crate) fn allocate(background: bool) -> Result<&'static SessionShared> {
    let secret = crate::engine::random_u64() as u32;
    let mut free = FREE_SLOTS.one().lock();
    let clients_max = SLOTS.get().len() as u32 - BACKGROUND_SLOTS;
    if free.head == 0 || (!background && free.clients >= clients_max) {
        return Err(too_many());
    }
    let slot = slot(SessionId(free.head - 1));
    free.head = slot.free_next.load(Relaxed);
    free.used += 1;
    free.used_max = free.used_max.max(free.used);
    free.clients += !background as u32;
    free.next_number = free.next_number % (i32::MAX as u32 - 1) + 1;
    slot.number.store(free.next_number, Relaxed);
    slot.secret.store(secret, Relaxed);
    slot.kind.store(if background { KIND_BACKGROUND } else { KIND_CLIENT }, Relaxed);
    slot.interrupts.store(0, Relaxed);
    slot.in_transaction.store(0, Relaxed);
    slot.wait_word.store(crate::wait::RUNNING, Relaxed);
    slot.wait_event.store(0, Relaxed);
    slot.root.store(0, Relaxed);
    slot.leftover_bytes.store(0, Relaxed);
    slot.cover.clear();
    slot.owner.store(0, Relaxed);
    slot.requests.set(0);
    slot.moves.set(0);
    slot.last_engine.store(0, Relaxed);
    slot.started_at.store(clock::wall_us() as u64, Relaxed);
    slot.socket_fd.store(-1, Relaxed);
    slot.kept.store(0, Relaxed);
    slot.port.store(-1, Relaxed);
    slot.socket_wait.store(0, Relaxed);
    slot.ended.store(0, Relaxed);
    slot.at_stake.store(1, Relaxed);
    slot.recalled.store(0, Relaxed);
    slot.gave_way.store(0, Relaxed);
    slot.deadline.store(0, Relaxed);
    // Until it is parked or served it belongs to the engine that sets it up: if that dies, it goes too.
    let engine = engine::current().map_or(0, |engine| engine.id().0);
    slot.engine.store(engine, Relaxed);
    slot.home.store(engine, Relaxed);
    slot.set_running();
    Ok(slot)
}

/// Lets the running session's client in, who has said who he is: from here on he counts among `max_connections`. Those that arrive and
/// those that leave do not, so who comes again at once finds a place, and who wants to cancel a request gets through to a full
/// server.
///
/// Errors: `53300` if as many are in.
pub fn admit() -> Result<()> {
    let (slot, most) = (current(), crate::supervisor::config().max_connections);
    let mut free = FREE_SLOTS.one().lock();
    if slot.admitted.load(Relaxed) == 0 {
        if free.admitted >= most {
            return Err(too_many());
        }
        free.admitted += 1;
        free.admitted_max = free.admitted_max.max(free.admitted);
        slot.admitted.store(1, Relaxed);
    }
    Ok(())
}

/// Interrupts the sessions whose deadlines have passed. The background host's first thread calls it many times a second.
pub(crate) fn expire_deadlines() {
    let now = clock::now();
    for slot in slots_reached() {
        let deadline = slot.deadline.load(Relaxed);
        if deadline == 0 || deadline > now || !slot.is_used() {
            continue;
        }
        let generation = slot.generation();
        let bits = slot.deadline_interrupt.load(Relaxed);
        let due = [Interrupt::StatementTimeout, Interrupt::IdleTimeout, Interrupt::Terminate]
            .into_iter()
            .find(|interrupt| *interrupt as u32 == bits);
        if let Some(interrupt) = due
            && slot.deadline.compare_exchange(deadline, 0, SeqCst, Relaxed).is_ok()
        {
            slot.send_interrupt(generation, interrupt);
        }
    }
}

/// The run word of a session that the calling engine runs.
fn running_here() -> u32 {
    let engine = engine::current().map_or(0, |engine| engine.id().0);
    engine * (RUN_STATE + 1) + RUNNING
}

/// Gives a slot back after its session has ended and been closed.
pub(crate) fn release(slot: &'static SessionShared) {
    debug_assert!(slot.latches.iter().all(|note| note.load(Relaxed) == 0), "a session ends with a latch");
    // Before the memory goes: after a death in between the clean-up ends the session once more.
    slot.root.store(0, SeqCst);
    slot.leftover_bytes.store(0, SeqCst);
    slot.cover.clear();
    slot.wait_event.store(0, Relaxed);
    // Nobody is to take the socket for that of the slot's next session.
    slot.socket_fd.store(-1, SeqCst);
    // SAFETY: the session is over; nobody refers to its memory any more.
    unsafe { slot.arena.0.clear() };
    let mut free = FREE_SLOTS.one().lock();
    slot.generation.fetch_add(1, SeqCst);
    slot.run.store(FREE, SeqCst);
    slot.free_next.store(free.head, Relaxed);
    free.head = slot.id().0 + 1;
    free.used -= 1;
    free.clients -= !slot.is_background() as u32;
    free.admitted -= slot.admitted.swap(0, Relaxed);
}

impl SessionShared {
    /// The slot's number.
    #[inline]
    pub fn id(&self) -> SessionId {
        SessionId(self.index.load(Relaxed))
    }

    /// The number that users see (`pg_stat_activity.pid`), and half of the cancel key.
    pub fn number(&self) -> u32 {
        self.number.load(Relaxed)
    }

    /// The other half of the cancel key.
    pub fn secret(&self) -> u32 {
        self.secret.load(Relaxed)
    }

    /// The state in the run word.
    pub(crate) fn run_state(&self) -> u32 {
        self.run.load(SeqCst) & RUN_STATE
    }

    /// The engine that runs it, while one does.
    pub(crate) fn runner(&self) -> Option<EngineId> {
        let run = self.run.load(SeqCst);
        matches!(run & RUN_STATE, RUNNING | AGAIN).then_some(EngineId(run / (RUN_STATE + 1)))
    }

    /// Says that from here on the session does not lie in the region as a whole, or that it does again.
    pub(crate) fn set_at_stake(&self, at_stake: bool) {
        std::sync::atomic::compiler_fence(SeqCst);
        self.at_stake.store(at_stake as u32, Release);
        std::sync::atomic::compiler_fence(SeqCst);
    }

    /// True if the session is whole although an engine runs it, or ran it when it died.
    pub(crate) fn is_whole(&self) -> bool {
        self.at_stake.load(SeqCst) == 0
    }

    /// Has the session looked at, whether something has come for it or not. True if the caller must queue it.
    pub(crate) fn recall(&self) -> bool {
        self.recalled.store(1, SeqCst);
        self.run_state() == QUEUED || self.make_ready()
    }

    /// Notes whether there are whole messages to be served although nothing more comes. Only while the session is not put away.
    pub(crate) fn set_gave_way(&self, gave_way: bool) {
        self.gave_way.store(gave_way as u32, SeqCst);
    }

    /// See [`SessionShared::set_gave_way`].
    pub(crate) fn gave_way(&self) -> bool {
        self.gave_way.load(SeqCst) != 0
    }

    /// True if it was recalled, which is over then.
    pub(crate) fn was_recalled(&self) -> bool {
        self.recalled.load(Relaxed) != 0 && self.recalled.swap(0, SeqCst) != 0
    }

    /// Lets it be run by the calling engine.
    pub(crate) fn set_running(&self) {
        self.run.store(running_here(), SeqCst);
    }

    /// Takes it from one state to another; from and to states in which nobody runs it, or the calling engine does. False
    /// if it was in another state.
    pub(crate) fn change_run_state(&self, from: u32, to: u32) -> bool {
        let word = |state: u32| if matches!(state, RUNNING | AGAIN) { running_here() - RUNNING + state } else { state };
        self.run.compare_exchange(word(from), word(to), SeqCst, SeqCst).is_ok()
    }

    /// Says that something has come for it. True if it was parked and is queued now.
    pub(crate) fn make_ready(&self) -> bool {
        loop {
            let seen = self.run.load(SeqCst);
            let new = match seen & RUN_STATE {
                PARKED => QUEUED,
                RUNNING => seen - RUNNING + AGAIN,
                _ => return false,
            };
            if self.run.compare_exchange(seen, new, SeqCst, SeqCst).is_ok() {
                return seen == PARKED;
            }
        }
    }

    /// True while a session has the slot.
    pub fn is_used(&self) -> bool {
        self.run_state() != FREE
    }

    /// Whose session it is: a number of the layer above's, zero while nobody's.
    pub fn owner(&self) -> u32 {
        self.owner.load(Relaxed)
    }

    /// Says whose it is.
    pub fn set_owner(&self, owner: u32) {
        self.owner.store(owner, Relaxed);
    }

    /// True for a background task.
    pub fn is_background(&self) -> bool {
        self.kind.load(Relaxed) != KIND_CLIENT
    }

    /// May users interrupt it? Not most background tasks: nobody looks for interrupts there.
    pub fn may_be_interrupted(&self) -> bool {
        self.kind.load(Relaxed) != KIND_BACKGROUND
    }

    /// Says that users may interrupt it, though it is a background task: it calls [`forget_interrupts`] when it has ended what it was at.
    pub fn let_interrupt(&self) {
        self.kind.store(KIND_CANCELLABLE, Relaxed);
    }

    /// True between requests.
    pub fn is_parked(&self) -> bool {
        self.run_state() == PARKED
    }

    /// When it began: microseconds since 2000-01-01.
    pub fn started_at(&self) -> i64 {
        self.started_at.load(Relaxed) as i64
    }

    /// The engine that runs it, or ran it last.
    pub fn engine_id(&self) -> EngineId {
        EngineId(self.engine.load(Relaxed))
    }

    /// What it waits for, the parameter of that wait, and since when; none while it runs.
    pub fn waiting(&self) -> Option<(Event, u64, Nanos)> {
        let event = Event::from_number(self.wait_event.load(Relaxed).checked_sub(1)?)?;
        Some((event, self.wait_param.load(Relaxed), self.wait_since.load(Relaxed)))
    }

    /// Bytes that its arena holds.
    pub fn arena_bytes(&self) -> u64 {
        self.arena.0.held()
    }

    /// Says whether the session is in an open transaction: such sessions go first in every queue. `awaited` says whether others wait for its
    /// end: then its answers are not held back.
    pub fn set_in_transaction(&self, open: bool, awaited: bool) {
        self.in_transaction.store(if open { OPEN | if awaited { AWAITED } else { 0 } } else { 0 }, Relaxed);
    }

    /// True while the session is in an open transaction.
    pub fn in_transaction(&self) -> bool {
        self.in_transaction.load(Relaxed) & OPEN != 0
    }

    /// True while it is in one that others wait for.
    pub(crate) fn in_awaited_transaction(&self) -> bool {
        self.in_transaction.load(Relaxed) & AWAITED != 0
    }

    pub(crate) fn begin_wait(&self, event: Event, param: u64, since: Nanos) {
        self.wait_param.store(param, Relaxed);
        self.wait_since.store(since, Relaxed);
        self.wait_event.store(event as u16 + 1, Release);
    }

    pub(crate) fn end_wait(&self) {
        self.wait_event.store(0, Relaxed);
    }

    /// The interrupt that is due, the gravest first.
    #[inline]
    pub fn interrupt(&self) -> Option<Interrupt> {
        match self.interrupts.load(Relaxed) & !SUMMONED {
            0 => None,
            bits if bits & Interrupt::Terminate as u32 != 0 => Some(Interrupt::Terminate),
            bits if bits & Interrupt::IdleTimeout as u32 != 0 => Some(Interrupt::IdleTimeout),
            bits if bits & Interrupt::StatementTimeout as u32 != 0 => Some(Interrupt::StatementTimeout),
            _ => Some(Interrupt::Cancel),
        }
    }

    /// Takes an interrupt back: it has been dealt with, or its statement ended before it came.
    pub fn clear_interrupt(&self, interrupt: Interrupt) {
        self.interrupts.fetch_and(!(interrupt as u32), SeqCst);
    }

    /// Interrupts the session: ends its wait if the event allows it, resumes it if it is parked.
    ///
    /// Anybody may call this at any time; `generation` guards against a slot that has been given to another session.
    pub fn send_interrupt(&'static self, generation: u32, interrupt: Interrupt) {
        if self.generation.load(SeqCst) != generation {
            return;
        }
        self.interrupts.fetch_or(interrupt as u32, SeqCst);
        crate::wait::post(self.id());
        crate::hosting::nudge(self);
    }

    /// Has the session looked at as if its client had sent something: at once if it is parked, else when what it does is done. The
    /// service is called without input then, and knows what for.
    ///
    /// Anybody may call this at any time, as [`SessionShared::send_interrupt`].
    pub fn summon(&'static self, generation: u32) {
        if self.generation.load(SeqCst) == generation {
            self.interrupts.fetch_or(SUMMONED, SeqCst);
            crate::hosting::summon(self);
        }
    }

    /// True if it was summoned and has not been served since.
    pub(crate) fn is_summoned(&self) -> bool {
        self.interrupts.load(SeqCst) & SUMMONED != 0
    }

    /// The session is served: what it was summoned for is found now.
    pub(crate) fn answer_summons(&self) {
        if self.is_summoned() {
            self.interrupts.fetch_and(!SUMMONED, SeqCst);
        }
    }

    /// True if the service is to be called although nothing has come from the client.
    pub(crate) fn wants_service(&self) -> bool {
        self.interrupts.load(SeqCst) != 0
    }

    /// Asks for an interrupt at a point of monotonic time, give or take some 20 ms: a statement's or an idle session's
    /// time-out. Replaces what was asked for before. Only the session itself calls this.
    pub fn set_deadline(&self, at: Nanos, interrupt: Interrupt) {
        self.deadline_interrupt.store(interrupt as u32, Relaxed);
        self.deadline.store(at.max(1), SeqCst);
    }

    /// Takes the deadline back, and the interrupt if it came too late to matter. Only the session itself calls this.
    pub fn clear_deadline(&self) {
        if self.deadline.swap(0, SeqCst) == 0 {
            let late = Interrupt::StatementTimeout as u32 | Interrupt::IdleTimeout as u32;
            self.interrupts.fetch_and(!late, SeqCst);
        }
    }

    /// The slot's generation: with its number, a name for this very session.
    pub fn generation(&self) -> u32 {
        self.generation.load(SeqCst)
    }

    /// The engine that served its last request.
    pub(crate) fn last_engine(&self) -> Option<EngineId> {
        self.last_engine.load(Relaxed).checked_sub(1).map(EngineId)
    }

    pub(crate) fn mark_ready(&self) {
        self.ready_since.store(clock::now(), Relaxed);
    }

    pub(crate) fn ready_since(&self) -> Nanos {
        self.ready_since.load(Relaxed)
    }

    /// The latches it holds or was about to: address, mode, state. For the clean-up after a death.
    pub(crate) fn latch_notes(&self) -> impl Iterator<Item = &AtomicU64> {
        self.latches.iter().filter(|note| note.load(Relaxed) != 0)
    }
}

/// Finds a client's session by the number that users see.
pub fn find(number: u32) -> Option<&'static SessionShared> {
    slots_reached().iter().find(|slot| slot.is_used() && slot.number() == number)
}

// A latch note: the address (8-aligned) with the mode in bit 0 and the state in bits 1 and 2.
const NOTE_TRYING: u64 = 2;
const NOTE_WAITING: u64 = 4;
const NOTE_STATE: u64 = 6;
const _: () = assert!(align_of::<Latch>() as u64 > NOTE_STATE);

/// Where a session notes that it holds a latch, or is about to.
pub(crate) struct LatchNote(&'static AtomicU64);

impl LatchNote {
    /// Between the change of the latch's word and this note nobody can tell whether the latch is held.
    pub(crate) fn trying(&mut self) {
        self.0.store(self.0.load(Relaxed) & !NOTE_STATE | NOTE_TRYING, Release);
        std::sync::atomic::compiler_fence(SeqCst);
    }

    pub(crate) fn held(&mut self) {
        std::sync::atomic::compiler_fence(SeqCst);
        self.0.store(self.0.load(Relaxed) & !NOTE_STATE, Release);
    }

    pub(crate) fn waiting(&mut self) {
        self.0.store(self.0.load(Relaxed) & !NOTE_STATE | NOTE_WAITING, Release);
    }

    pub(crate) fn clear(&mut self) {
        std::sync::atomic::compiler_fence(SeqCst);
        self.0.store(0, Release);
    }
}

/// Notes that the running session is about to take a latch.
#[inline]
pub(crate) fn note_latch(latch: &'static Latch, mode: Mode) -> LatchNote {
    let me = current();
    let note = me.latches.iter().find(|note| note.load(Relaxed) == 0).expect("a session holds too many latches");
    note.store(latch as *const Latch as u64 | mode as u64 | NOTE_TRYING, Release);
    std::sync::atomic::compiler_fence(SeqCst);
    LatchNote(note)
}

/// What a dead session's latch note says.
pub(crate) enum DeadLatch {
    /// It held the latch with others.
    Shared(&'static Latch),
    /// It waited for the latch.
    Waited(&'static Latch),
    /// It held it alone, or nobody can tell.
    Fatal,
}

pub(crate) fn read_latch_note(note: &AtomicU64) -> DeadLatch {
    let value = note.load(SeqCst);
    // SAFETY: the note was made by `note_latch` from a reference to a latch that lives as long as the region.
    let latch = unsafe { &*((value & !7) as *const Latch) };
    match (value & NOTE_STATE, value & 1) {
        (NOTE_WAITING, _) => DeadLatch::Waited(latch),
        (0, 0) => DeadLatch::Shared(latch),
        _ => DeadLatch::Fatal,
    }
}

/// The number of latches that the running session holds or waits for.
pub fn latches_held() -> usize {
    current().latch_notes().count()
}

/// The handle by which an engine serves a session: exists for one request.
pub struct Session {
    slot: &'static SessionShared,
    socket: net::Socket,
    input: Vec<u8>,
    consumed: usize,
    output: Vec<u8>,
    broken: bool,
    covered: Covered,
}

/// How much is read from a socket at once, in bytes.
const READ_BYTES: usize = 16 << 10;
/// Answers are sent when this many bytes have gathered, or at the end of the request.
const SEND_BYTES: usize = 64 << 10;

/// What a look at the socket brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Received {
    /// Some bytes; true if there may be more already.
    Bytes(bool),
    /// Nothing yet.
    Nothing,
    /// The client has closed, or the connection broke.
    Closed,
}

impl Session {
    /// Resumes a session on this engine: takes buffers and puts back what was received before.
    pub(crate) fn resume(slot: &'static SessionShared, socket: net::Socket) -> Session {
        let (mut input, output) = engine::take_buffers();
        let left = slot.leftover_bytes.load(Relaxed) as usize;
        if left > 0 {
            let at = slot.leftover.load(Relaxed) as *mut u8;
            // SAFETY: `park` stored the parts of a vector in this very arena, and nobody has touched them since.
            let bytes: crate::region::arena::ArenaVec<u8> =
                unsafe { allocator_api2::vec::Vec::from_raw_parts_in(at, left, left, slot.arena.0.allocator()) };
            input.extend_from_slice(&bytes);
            slot.leftover_bytes.store(0, Relaxed);
        }
        let covered = Covered::take_up(&slot.cover, slot.arena.0.allocator());
        let broken = matches!(covered, Covered::Lost);
        Session { slot, socket, input, consumed: 0, output, broken, covered }
    }

    /// Puts the session away: unserved bytes go to its arena, buffers back to the engine. The session comes back if its
    /// arena is refused the memory: it must end then.
    pub(crate) fn park(mut self) -> std::result::Result<(), Session> {
        let left = &self.input[self.consumed..];
        if !left.is_empty() && !crate::fault::planted("session.lost_input") {
            let mut bytes = allocator_api2::vec::Vec::new_in(self.arena());
            if bytes.try_reserve_exact(left.len()).is_err() {
                return Err(self);
            }
            bytes.extend_from_slice(left);
            // The parts are put together again with length for capacity: in an arena both are of one size class or one
            // number of pages, because exactly the length was asked for.
            let mut bytes = std::mem::ManuallyDrop::new(bytes);
            self.slot.leftover.store(bytes.as_mut_ptr() as u64, Relaxed);
            self.slot.leftover_bytes.store(bytes.len() as u64, Relaxed);
        }
        if let Covered::By(covering) = &self.covered
            && !covering.put_away(&self.slot.cover, self.arena())
        {
            return Err(self);
        }
        self.return_buffers();
        Ok(())
    }

    /// Gives the buffers back to the engine: the session is over, or put away.
    pub(crate) fn return_buffers(&mut self) {
        engine::return_buffers(std::mem::take(&mut self.input), std::mem::take(&mut self.output));
    }

    /// The slot.
    pub fn shared(&self) -> &'static SessionShared {
        self.slot
    }

    /// The session's memory that outlives the request.
    pub fn arena(&self) -> crate::region::arena::ArenaRef {
        self.slot.arena.0.allocator()
    }

    /// The value that [`Session::set_state`] stored: everything the layer above knows of the session.
    ///
    /// Panics if another type is asked for than was stored: the layer above stores one type.
    pub fn state<T: 'static>(&mut self) -> Option<&mut T> {
        let at = self.slot.root.load(Relaxed) as *mut State<T>;
        if at.is_null() {
            return None;
        }
        // SAFETY: (1) `set_state` stored a value of this arena, and the arena lives while the session does; (2) its type
        // is the same, as the check shows (the number is the same in all processes, which are forks of one image);
        // (3) only this engine runs the session, and `self` is borrowed exclusively.
        unsafe {
            assert_eq!((*at).kind, type_number::<T>(), "a session's state is asked for with another type");
            Some(&mut (*at).value)
        }
    }

    /// Stores the layer's value for the session. It is not dropped when the arena is cleared (arena, rule 3).
    ///
    /// Errors: `53200`.
    pub fn set_state<T: 'static>(&mut self, value: T) -> Result<()> {
        let refused = |_| Error::out_of_memory("a session's state", size_of::<T>());
        let state = State { kind: type_number::<T>(), value };
        let state = allocator_api2::boxed::Box::try_new_in(state, self.arena()).map_err(refused)?;
        let (at, _) = allocator_api2::boxed::Box::into_raw_with_allocator(state);
        self.slot.root.store(at as u64, Relaxed);
        Ok(())
    }

    /// Covers the session from here on. What was said before is sent first; what has come and is not served was sent covered.
    ///
    /// Errors: `08006`, an interrupt's error.
    pub fn cover(&mut self, cover: Box<dyn Cover>) -> Result<()> {
        self.flush()?;
        let raw = self.input[self.consumed..].to_vec();
        self.input.clear();
        self.consumed = 0;
        let mut covering = Covering::new(&self.slot.cover, cover, raw);
        let ended = covering.open(&self.socket, &mut self.input);
        self.covered = Covered::By(covering);
        self.broken |= ended == Some(Received::Closed);
        Ok(())
    }

    /// What is to be sent, as it goes to the socket.
    fn outgoing(&mut self) -> &mut Vec<u8> {
        match &mut self.covered {
            Covered::By(covering) => covering.outgoing(&mut self.output),
            _ => &mut self.output,
        }
    }

    /// Sends what has gathered, and the cover's good-bye, before the socket is closed. Nobody waits for it.
    pub(crate) fn say_goodbye(&mut self) {
        if let Covered::By(covering) = &mut self.covered {
            covering.farewell(&mut self.output);
        }
        let _ = self.flush();
    }

    /// Bytes that came in and are not served.
    pub fn input(&self) -> &[u8] {
        &self.input[self.consumed..]
    }

    /// Takes the input and the rest apart, so that a message can be borrowed while the answer is written.
    pub fn parts(&mut self) -> (&[u8], &mut Vec<u8>) {
        (&self.input[self.consumed..], &mut self.output)
    }

    /// Marks input as served.
    pub fn consume(&mut self, bytes: usize) {
        self.consumed += bytes;
        debug_assert!(self.consumed <= self.input.len());
        engine::expect_local().has_consumed.set(true);
        if self.consumed == self.input.len() {
            self.input.clear();
            self.consumed = 0;
        }
    }

    /// Waits inside a request until more input comes. Errors: `08006` when the client is gone; an interrupt's error.
    pub fn fill(&mut self) -> Result<()> {
        self.flush()?;
        loop {
            match self.receive(false) {
                Received::Bytes(_) => return Ok(()),
                Received::Closed => return Err(gone()),
                Received::Nothing => self.wait_socket(Event::ClientRead, false)?,
            }
        }
    }

    /// To be called when the message at the front needs `bytes` in all: waits here for a large one, so that its beginning
    /// is not put away and fetched back for every piece. True if the caller should look again, false if it should park.
    pub fn await_large(&mut self, bytes: usize) -> Result<bool> {
        if bytes <= READ_BYTES {
            return Ok(false);
        }
        self.between_statements(Session::fill)?;
        self.input.reserve(bytes.min(self.input.len() * 2 + READ_BYTES).saturating_sub(self.input.len()));
        Ok(true)
    }

    /// Where answers gather.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Sends what has gathered if it is much: to be called now and then while rows are made.
    pub fn flush_if_full(&mut self) -> Result<()> {
        if self.output.len() >= SEND_BYTES { self.flush() } else { Ok(()) }
    }

    /// Sends what has gathered, waiting for a client that reads slowly. After an interrupt's error the rest is still there.
    /// Errors: `08006`, an interrupt's error.
    pub fn flush(&mut self) -> Result<()> {
        let mut sent = 0;
        while sent < self.outgoing().len() && !self.broken {
            let socket = self.socket;
            match socket.send(&self.outgoing()[sent..]) {
                Ok(bytes) => sent += bytes,
                Err(net::SendError::WouldBlock) => {
                    if let Err(error) = self.wait_socket(Event::ClientWrite, true) {
                        self.outgoing().drain(..sent);
                        return Err(error);
                    }
                }
                Err(net::SendError::Broken) => self.broken = true,
            }
        }
        self.outgoing().clear();
        if self.broken { Err(gone()) } else { Ok(()) }
    }

    /// Sends what has gathered when no statement runs: an interrupt that would end one is void, and only what ends the session ends
    /// the wait. Errors: `08006`, that interrupt's error.
    pub fn flush_answers(&mut self) -> Result<()> {
        // Together with those of other sessions, where that pays; what is left then, and all else, is sent here.
        if !self.outgoing().is_empty() && !self.broken {
            let (id, socket) = (self.slot.id(), self.socket);
            let outgoing = self.outgoing();
            match engine::expect_local().gather.send(id, socket, outgoing) {
                Ok(sent) if sent == outgoing.len() => outgoing.clear(),
                Ok(sent) => drop(outgoing.drain(..sent)),
                Err(net::SendError::WouldBlock) => {}
                Err(net::SendError::Broken) => self.broken = true,
            }
        }
        self.between_statements(Session::flush)
    }

    /// The same if it is much: to be called between the messages of a client that sends many at once.
    pub fn flush_answers_if_full(&mut self) -> Result<()> {
        if self.output.len() >= SEND_BYTES { self.flush_answers() } else { Ok(()) }
    }

    /// Does something that may wait while no statement runs, again if a late interrupt meant for one has cut it short.
    fn between_statements(&mut self, step: impl Fn(&mut Session) -> Result<()>) -> Result<()> {
        loop {
            match step(self) {
                Err(error) if error.kind() != base::Kind::Session => {
                    for late in [Interrupt::Cancel, Interrupt::StatementTimeout] {
                        self.slot.clear_interrupt(late);
                    }
                }
                done => return done,
            }
        }
    }

    /// Looks at the socket. With `may_sleep` a session that holds its engine sleeps in the call.
    pub(crate) fn receive(&mut self, may_sleep: bool) -> Received {
        if self.consumed > 0 {
            self.input.drain(..self.consumed);
            self.consumed = 0;
        }
        let received = match &mut self.covered {
            Covered::By(covering) => covering.receive(&self.socket, &mut self.input, may_sleep),
            _ => {
                self.input.reserve(READ_BYTES);
                self.socket.receive(&mut self.input, may_sleep)
            }
        };
        if received == Received::Closed {
            self.broken = true;
        }
        received
    }

    fn wait_socket(&mut self, event: Event, writable: bool) -> Result<()> {
        if self.socket.wait(self.slot, event, writable) {
            return Ok(());
        }
        match self.slot.interrupt() {
            Some(interrupt) => Err(interrupt_error(interrupt)),
            None => Ok(()),
        }
    }

    /// The client's address, while its socket is open.
    pub fn peer(&self) -> Option<std::net::SocketAddr> {
        self.socket.peer()
    }

    /// The number of the user of the operating system who has connected, over a socket of the file system.
    pub fn peer_user(&self) -> Option<u32> {
        self.socket.peer_user()
    }

    /// True once the connection has been seen to be broken.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    pub(crate) fn socket(&self) -> &net::Socket {
        &self.socket
    }
}

#[repr(C)]
struct State<T> {
    kind: u64,
    value: T,
}

/// A number for a type: the same in every process, because they are forks of one image.
fn type_number<T: 'static>() -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = crate::region::arena::FixedHasher::default();
    std::any::TypeId::of::<T>().hash(&mut hasher);
    hasher.finish()
}

fn gone() -> Error {
    Error::session(sqlstate::CONNECTION_FAILURE, "the client has closed the connection")
}

/// The error that an interrupt becomes.
pub fn interrupt_error(interrupt: Interrupt) -> Error {
    match interrupt {
        Interrupt::Cancel => Error::statement(sqlstate::QUERY_CANCELED, "canceling statement due to user request"),
        Interrupt::StatementTimeout => {
            Error::statement(sqlstate::QUERY_CANCELED, "canceling statement due to statement timeout")
        }
        Interrupt::Terminate => {
            Error::session(sqlstate::ADMIN_SHUTDOWN, "terminating connection due to administrator command")
        }
        Interrupt::IdleTimeout => {
            Error::session(sqlstate::IDLE_SESSION_TIMEOUT, "terminating connection due to idle-session timeout")
        }
    }
}

/// To be called every few microseconds of computing: ends the statement if the session is interrupted, and lets others
/// run when its time slice is used up.
#[inline]
pub fn check_interrupts() -> Result<()> {
    let me = current();
    if let Some(interrupt) = me.interrupt() {
        return Err(interrupt_error(interrupt));
    }
    engine::yield_if_due();
    Ok(())
}

/// What the running session, a background task, was told is over: it ends when the server does.
pub fn forget_interrupts() {
    use Interrupt::{Cancel, IdleTimeout, StatementTimeout, Terminate};
    for interrupt in [Cancel, Terminate, StatementTimeout, IdleTimeout] {
        current().clear_interrupt(interrupt);
    }
}

/// True if the running session has had its turn, and should put off what else its client has sent ([`Next::GiveWay`]): to be
/// asked now and then between the messages of a client that sends many at once. Never where it has its engine to itself; but each
/// time that a turn is over its CPU is offered to others.
pub fn turn_is_over() -> bool {
    engine::turn_is_over()
}

/// True when the server is stopping: background loops end.
pub fn stopping() -> bool {
    crate::supervisor::stopping()
}

/// Counts a resumption, and whether it was by another engine than the one before.
pub(crate) fn count_request(slot: &SessionShared, engine: EngineId) {
    let before = slot.last_engine.swap(engine.0 + 1, Relaxed);
    if before != 0 && before != engine.0 + 1 {
        slot.moves.add(1);
        engine::sim::count_move();
    }
    slot.requests.add(1);
}
