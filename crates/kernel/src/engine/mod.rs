//! An engine: what runs sessions. It owns a run queue, an I/O queue, a timer list, and at most one running session.
//!
//! Two halves: the *slot* in the region ([`EngineShared`]), which every process can see, and the *local* half, which only
//! the thread that is the engine touches and which every call of this module finds through a thread-local pointer. That
//! pointer is the one thread-local of the server; the simulator sets it whenever it lets another engine run.
//!
//! | file | what it is |
//! |---|---|
//! | [`process`] | an engine as a process: forked by the supervisor, one engine in it |
//! | [`thread`] | an engine as a thread of its group's host |
//! | [`sim`] | simulated engines: one thread runs all of them under a seeded scheduler |
//! | [`inbox`] | sets of sessions, one per engine: who has been posted, who has become ready |
//! | [`timers`] | deadlines of an engine's fibers |
//!
//! Rules
//! 1. An engine sleeps only where its own I/O completions are reaped.
//! 2. What an engine notes in its slot before a step (a spinlock, a critical section) tells the clean-up what its death
//!    left behind.

pub(crate) mod inbox;
pub(crate) mod process;
pub mod sim;
pub(crate) mod thread;
pub(crate) mod timers;

use crate::clock::{self, Nanos};
use crate::config::{Config, EngineKind, Primitive, Sessions};
use crate::region::{Root, Shared};
use crate::session::SessionShared;
use crate::stats::Counter;
use crate::wait::events::{COUNT as EVENTS, Event};
use crate::wait::posix::Semaphore;
use crate::{hosting, wait};
use base::{EngineId, HostId};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::*, compiler_fence};

/// How many spinlocks an engine may hold, or try to take, at once.
const SPIN_DEPTH: usize = 4;

/// The states of an engine's slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum State {
    /// No engine has the slot.
    Absent = 0,
    /// It has nothing to run.
    Idle = 1,
    /// It runs a session.
    Running = 2,
    /// Its session waits, and the engine with it.
    Blocked = 3,
    /// A spare of a shared group: it stands by until others block.
    StandBy = 4,
}

impl State {
    /// The state's name in views.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Absent => "absent",
            State::Idle => "idle",
            State::Running => "running",
            State::Blocked => "blocked",
            State::StandBy => "standby",
        }
    }
}

/// Counters of one event on one engine; times in nanoseconds.
#[repr(C)]
#[derive(Default)]
pub struct WaitCounters {
    /// Waits, those that came back at once included.
    pub waits: Counter,
    /// Waits that gave the engine up or slept.
    pub slept: Counter,
    /// Time spent in them.
    pub time_ns: Counter,
    /// The longest.
    pub max_ns: Counter,
}

/// Counters of an engine; each has the engine as its only writer.
#[repr(C)]
#[derive(Default)]
pub struct EngineStats {
    /// Requests served.
    pub requests: Counter,
    /// Switches from one session to another.
    pub switches: Counter,
    /// Times it slept.
    pub sleeps: Counter,
    /// Times that a spin before a sleep found work.
    pub spins_hit: Counter,
    /// Answers that were gathered, to be sent together with others.
    pub gathered: Counter,
    /// Sessions that used their time slice up.
    pub slices_exhausted: Counter,
    /// Looks at sockets and completions.
    pub polls: Counter,
    /// Such looks that brought something.
    pub polls_hit: Counter,
    /// Sessions that another engine handed over.
    pub taken_over: Counter,
    /// Connections accepted.
    pub accepted: Counter,
    /// Disk requests submitted, by any method.
    pub io_submitted: Counter,
    /// Disk requests completed.
    pub io_completed: Counter,
    /// Disk requests that went through the ring.
    pub io_uring: Counter,
    /// Disk requests that went to a worker.
    pub io_workers: Counter,
    /// Disk requests that were plain system calls because that is the method, or no slot was free.
    pub io_sync: Counter,
    /// Durable writes that sessions made by a call of their own, though the method is another, since they held the engine.
    pub io_own: Counter,
    /// Posts sent to a session that slept.
    pub wakes: Counter,
}

/// An engine's slot in the region.
#[repr(C, align(128))]
pub struct EngineShared {
    /// Zero while awake; a fiber engine sleeps while it reads one.
    pub(crate) bell: AtomicU32,
    /// One while the engine sleeps in its ring of disk requests, whatever its primitive.
    pub(crate) ring_bell: AtomicU32,
    state: AtomicU32,
    index: AtomicU32,
    pub(crate) host: AtomicU32,
    pub(crate) os_pid: AtomicI32,
    pub(crate) os_tid: AtomicI32,
    session: AtomicU32,
    primitive: AtomicU32,
    pub(crate) fibers: AtomicU32,
    /// With fibers: how long the fresh request that was started last had waited, and when it was started.
    pub(crate) fresh_wait_ns: AtomicU64,
    pub(crate) fresh_at: AtomicU64,
    critical: AtomicU32,
    spin_depth: AtomicU32,
    /// What it counts as in its group; see [`crate::hosting::group`].
    pub(crate) counted: AtomicU32,
    spin_notes: [AtomicU64; SPIN_DEPTH],
    pub(crate) started_at: AtomicU64,
    pub(crate) semaphore: Semaphore,
    /// Counters.
    pub stats: EngineStats,
    /// Counters of each wait event, by its number.
    pub waits: [WaitCounters; EVENTS],
}

// SAFETY: atomics, counters, and a semaphore that is made before use.
unsafe impl Shared for EngineShared {}

// SAFETY: root 5 is used here only.
static ENGINES: Root<EngineShared> = unsafe { Root::new(5) };

/// Engines of the background host: its tasks, and I/O workers.
pub(crate) const BACKGROUND_ENGINES: u32 = crate::session::BACKGROUND_SLOTS;

/// How many engine slots a configuration needs.
pub(crate) fn slots_needed(config: &Config) -> u32 {
    BACKGROUND_ENGINES
        + match config.sessions {
            Sessions::Fiber => config.engines.max(1),
            // A shared group may need an engine for every session that blocks.
            Sessions::Dedicated | Sessions::Shared => config.connections_max() + config.engines + config.spare_engines,
        }
}

pub(crate) fn init(config: &Config) {
    let engines = ENGINES.make("engines", slots_needed(config) as usize);
    for (index, engine) in engines.iter().enumerate() {
        engine.index.store(index as u32, Relaxed);
        engine.primitive.store(config.primitive as u32, Relaxed);
        if config.primitive == Primitive::Posix {
            engine.semaphore.init();
        }
    }
    inbox::init(config);
}

/// Every engine slot, used or not, for views.
pub fn engines() -> &'static [EngineShared] {
    ENGINES.get()
}

/// An engine's slot.
#[inline]
pub fn engine(engine: EngineId) -> &'static EngineShared {
    &ENGINES.get()[engine.0 as usize]
}

impl EngineShared {
    /// The slot's number.
    pub fn id(&self) -> EngineId {
        EngineId(self.index.load(Relaxed))
    }

    /// The host that carries it.
    pub fn host_id(&self) -> HostId {
        HostId(self.host.load(Relaxed))
    }

    /// What the engine does now.
    pub fn state(&self) -> State {
        match self.state.load(Relaxed) {
            1 => State::Idle,
            2 => State::Running,
            3 => State::Blocked,
            4 => State::StandBy,
            _ => State::Absent,
        }
    }

    pub(crate) fn set_state(&self, state: State) {
        self.state.store(state as u32, Relaxed);
    }

    /// The session that runs on it now.
    pub fn session(&self) -> Option<base::SessionId> {
        self.session.load(Relaxed).checked_sub(1).map(base::SessionId)
    }

    /// True for an engine of the background host.
    pub fn is_background(&self) -> bool {
        self.index.load(Relaxed) < BACKGROUND_ENGINES
    }

    /// The process and the thread that it is.
    pub fn os_ids(&self) -> (i32, i32) {
        (self.os_pid.load(Relaxed), self.os_tid.load(Relaxed))
    }

    /// The wait primitive that is really in use on it.
    pub fn primitive(&self) -> Primitive {
        Primitive::ALL.get(self.primitive.load(Relaxed) as usize).copied().unwrap_or(Primitive::Futex)
    }

    /// When it came up: microseconds since 2000-01-01.
    pub fn started_at(&self) -> i64 {
        self.started_at.load(Relaxed) as i64
    }

    /// Fibers that are started and not at their end.
    pub fn fiber_count(&self) -> u32 {
        self.fibers.load(Relaxed)
    }

    /// How many spinlocks it holds or tries to take.
    pub(crate) fn spins_held(&self) -> u32 {
        self.spin_depth.load(Relaxed)
    }

    pub(crate) fn set_primitive(&self, primitive: Primitive) {
        self.primitive.store(primitive as u32, Relaxed);
    }

    /// True if a death at this moment left a spinlock taken or a critical section open.
    pub(crate) fn died_inside(&self) -> bool {
        self.critical.load(SeqCst) != 0
            || self.spin_notes.iter().any(|note| crate::sync::held_by(note.load(SeqCst), self.index.load(Relaxed) + 1))
    }

    /// Makes the slot of a dead engine usable again.
    pub(crate) fn clear_after_death(&self) {
        self.spin_depth.store(0, Relaxed);
        for note in &self.spin_notes {
            note.store(0, Relaxed);
        }
        self.session.store(0, Relaxed);
        self.fibers.store(0, Relaxed);
        self.fresh_at.store(0, Relaxed);
        self.bell.store(0, Relaxed);
        self.ring_bell.store(0, Relaxed);
        self.state.store(State::Absent as u32, SeqCst);
    }
}

/// The half of an engine that only its own thread touches.
pub(crate) struct Local {
    pub(crate) shared: &'static EngineShared,
    pub(crate) kind: EngineKind,
    pub(crate) sessions: Sessions,
    session: Cell<Option<&'static SessionShared>>,
    /// With fibers: how the running one gives the engine up.
    pub(crate) fiber: Cell<Option<&'static crate::fiber::Switch>>,
    pub(crate) timers: RefCell<timers::Timers>,
    /// The timer of the wait that the running fiber has just begun; zero without a deadline.
    pub(crate) timer_of_wait: Cell<u64>,
    buffers: RefCell<Vec<(Vec<u8>, Vec<u8>)>>,
    pub(crate) session_spin_ns: u64,
    pub(crate) slice_ns: u64,
    slice_start: Cell<Nanos>,
    pub(crate) io: crate::io::LocalIo,
    /// With fibers: answers that wait to be sent together.
    pub(crate) gather: crate::net::Gather,
    /// With fibers: whether the running one has taken a message since it was resumed, and so does more than end a request.
    pub(crate) has_consumed: Cell<bool>,
}

impl Local {
    pub(crate) fn new(shared: &'static EngineShared, kind: EngineKind, sessions: Sessions, config: &Config) -> Local {
        Local {
            shared,
            kind,
            sessions,
            session: Cell::new(None),
            fiber: Cell::new(None),
            timers: RefCell::new(timers::Timers::default()),
            timer_of_wait: Cell::new(0),
            buffers: RefCell::new(Vec::new()),
            session_spin_ns: config.session_idle_spin_us as u64 * 1000,
            slice_ns: config.time_slice_us as u64 * 1000,
            slice_start: Cell::new(0),
            io: crate::io::LocalIo::new(config),
            gather: crate::net::Gather::new(config.gather_answers && sessions == Sessions::Fiber),
            has_consumed: Cell::new(false),
        }
    }

    /// Lets `session` be the running one.
    pub(crate) fn set_session(&self, session: Option<&'static SessionShared>) {
        self.session.set(session);
        self.shared.session.store(session.map_or(0, |slot| slot.id().0 + 1), Relaxed);
        if session.is_none() && self.sessions != Sessions::Fiber {
            self.io.drain();
        }
        if let Some(slot) = session {
            slot.engine.store(self.shared.id().0, SeqCst);
        }
    }

    /// Begins a time slice.
    pub(crate) fn begin_slice(&self, now: Nanos) {
        self.slice_start.set(now);
    }
}

thread_local! {
    static LOCAL: Cell<*const Local> = const { Cell::new(std::ptr::null()) };
}

/// Makes `local` the engine that this thread is. It stays until the thread ends or another one is set.
///
/// # Safety
/// `local` outlives every call of this crate on this thread until another one is set.
pub(crate) unsafe fn set_local(local: *const Local) {
    LOCAL.set(local);
}

/// The engine that runs here, if any.
#[inline]
pub(crate) fn local() -> Option<&'static Local> {
    // SAFETY: `set_local`'s promise.
    unsafe { LOCAL.get().as_ref() }
}

#[inline]
pub(crate) fn expect_local() -> &'static Local {
    local().expect("this thread is no engine")
}

/// The engine that runs here.
pub fn current() -> Option<&'static EngineShared> {
    local().map(|local| local.shared)
}

#[inline]
pub(crate) fn current_session() -> Option<&'static SessionShared> {
    local()?.session.get()
}

/// Notes that a spinlock is about to be taken; answers the number that its word will hold.
#[inline]
pub(crate) fn note_spinlock(word: &AtomicU32) -> u32 {
    match local() {
        Some(local) => {
            let engine = local.shared;
            let depth = engine.spin_depth.load(Relaxed);
            engine.spin_notes[depth as usize].store(word.as_ptr() as u64, Relaxed);
            engine.spin_depth.store(depth + 1, Relaxed);
            // The note must be in memory before the lock is: a death in between is seen as "not held".
            compiler_fence(SeqCst);
            engine.index.load(Relaxed) + 1
        }
        // The supervisor, and tests: nobody cleans up after them.
        None => 1 << 30,
    }
}

/// Takes the last note back, after the release.
#[inline]
pub(crate) fn forget_spinlock() {
    if let Some(local) = local() {
        let engine = local.shared;
        compiler_fence(SeqCst);
        let depth = engine.spin_depth.load(Relaxed) - 1;
        engine.spin_notes[depth as usize].store(0, Relaxed);
        engine.spin_depth.store(depth, Relaxed);
    }
}

#[inline]
pub(crate) fn critical_enter() {
    if let Some(local) = local() {
        local.shared.critical.store(local.shared.critical.load(Relaxed) + 1, Relaxed);
        compiler_fence(SeqCst);
    }
}

#[inline]
pub(crate) fn critical_leave() {
    if let Some(local) = local() {
        compiler_fence(SeqCst);
        local.shared.critical.store(local.shared.critical.load(Relaxed) - 1, Relaxed);
    }
}

/// Rule 2 of [`crate::wait`].
pub(crate) fn assert_may_wait() {
    let local = expect_local();
    assert_eq!(local.shared.critical.load(Relaxed), 0, "a wait inside a critical section");
    assert_eq!(local.shared.spin_depth.load(Relaxed), 0, "a wait under a spinlock");
    assert!(!std::thread::panicking(), "a wait while a panic unwinds");
}

pub(crate) fn count_wait(event: Event, time_ns: Nanos, slept: bool) {
    if let Some(local) = local() {
        let counters = &local.shared.waits[event as usize];
        counters.waits.add(1);
        if slept {
            counters.slept.add(1);
            counters.time_ns.add(time_ns);
            counters.max_ns.max(time_ns);
        }
    }
}

/// Blocks the running session until its slot is posted or the deadline passes; true if posted.
pub(crate) fn block(me: &'static SessionShared, deadline: Option<Nanos>) -> bool {
    let local = expect_local();
    match local.fiber.get() {
        Some(switch) => hosting::fiber::block(local, switch, me, deadline),
        None => hosting::block_holding(local, me, deadline),
    }
}

/// Runs a call that sleeps in the operating system for as long as a wait lasts; only for a session that holds its engine.
pub(crate) fn blocking<T>(call: impl FnOnce() -> T) -> T {
    let local = expect_local();
    debug_assert!(local.fiber.get().is_none(), "a fiber sleeps in the operating system");
    local.io.drain();
    local.shared.set_state(State::Blocked);
    let result = call();
    local.shared.set_state(State::Running);
    result
}

/// Wakes a session that is in state WAITING: the half of a post that depends on where it waits.
pub(crate) fn wake_session(slot: &'static SessionShared) {
    if let Some(local) = local() {
        local.shared.stats.wakes.add(1);
    }
    let target = engine(slot.engine_id());
    if inbox::is_fiber(target) {
        inbox::posted(target).insert(slot.id());
        ring(target);
    } else if local().is_some_and(|local| std::ptr::eq(local.shared, target)) {
        // This very engine, which has just taken in the completion of its own request: it is awake.
    } else if target.ring_bell.swap(0, SeqCst) != 0 {
        wait::futex::wake(&target.ring_bell, 1);
    } else {
        wait::wake(target, &slot.wait_word);
    }
}

/// Wakes a pooled engine that sleeps in its loop.
pub(crate) fn ring(engine: &'static EngineShared) {
    crate::fault::point("ring");
    if engine.bell.swap(0, SeqCst) != 0 {
        hosting::wake_loop(engine);
    }
}

/// True when the running session has used its time slice up.
pub(crate) fn slice_is_over() -> bool {
    let local = expect_local();
    clock::now().saturating_sub(local.slice_start.get()) >= local.slice_ns
}

/// How long a session is served for that has sent many requests at once, while others may wait for its engine: short, because between
/// two requests it costs little to change sessions, and long beside what it costs.
const TURN_NS: Nanos = 125_000;

/// True when the running session has had its turn, and whoever waits should have theirs before its next message is served.
///
/// Whoever has had a turn also lets other threads run on its CPU: a client that sends without end keeps an engine busy without a wait,
/// and the system lets those that wake beside it, with one request each, wait for it up to its next tick.
pub(crate) fn turn_is_over() -> bool {
    let local = expect_local();
    if clock::now().saturating_sub(local.slice_start.get()) < TURN_NS.min(local.slice_ns) {
        return false;
    }
    local.gather.hand_over();
    std::thread::yield_now();
    let alone = match local.sessions {
        Sessions::Dedicated => true,
        // Whoever comes while an engine of a shared group is idle is served by that one.
        Sessions::Shared => hosting::group::somebody_idle(),
        Sessions::Fiber => false,
    };
    if alone {
        local.slice_start.set(clock::now());
    }
    !alone
}

/// Lets others run if the running session has used its time slice up.
#[inline]
pub(crate) fn yield_if_due() {
    let local = expect_local();
    if let Some(switch) = local.fiber.get() {
        let now = clock::now();
        if now.saturating_sub(local.slice_start.get()) >= local.slice_ns {
            local.shared.stats.slices_exhausted.add(1);
            hosting::fiber::yield_now(local, switch);
        } else {
            local.gather.hand_over_if_due(now);
        }
    } else {
        // The loop of an engine with fibers does it; here a session that computes must.
        local.io.reap();
        // A leaf on the engine's own stack, while its fiber stands still.
        if local.sessions == Sessions::Fiber {
            local.gather.hand_over_if_due(clock::now());
        }
        if local.sessions == Sessions::Shared && slice_is_over() {
            hosting::group::begin_overtime(local);
        }
    }
}

/// Buffers for a request: bytes in, bytes out.
pub(crate) fn take_buffers() -> (Vec<u8>, Vec<u8>) {
    expect_local().buffers.borrow_mut().pop().unwrap_or_default()
}

/// Gives buffers back, unless they have grown so large that they had better be freed.
pub(crate) fn return_buffers(mut input: Vec<u8>, mut output: Vec<u8>) {
    const KEPT: usize = 256 << 10;
    // As many as may park in one round of an engine with fibers.
    const PAIRS: usize = 128;
    if input.capacity() <= KEPT && output.capacity() <= KEPT {
        input.clear();
        output.clear();
        let mut pool = expect_local().buffers.borrow_mut();
        if pool.len() < PAIRS {
            pool.push((input, output));
        }
    }
}

/// Simulated time, in the simulator.
#[inline]
pub(crate) fn simulated_now() -> Option<Nanos> {
    sim::now()
}

/// A named point (see [`crate::fault`]): the simulator may act here.
#[cold]
pub(crate) fn at_point(name: &'static str) {
    sim::at_point(name);
}

/// A random number: from the system, or from the seed in the simulator.
pub fn random_u64() -> u64 {
    sim::random().unwrap_or_else(|| {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).expect("the system gives no random numbers");
        u64::from_le_bytes(bytes)
    })
}

/// Takes a slot for an engine that comes up.
pub(crate) fn claim(shared: &'static EngineShared, host: u32) -> bool {
    let free = shared.state.compare_exchange(State::Absent as u32, State::Idle as u32, SeqCst, SeqCst).is_ok();
    if free {
        shared.host.store(host, SeqCst);
        // SAFETY: plain system call.
        let (pid, tid) = sim::own_ids().unwrap_or_else(|| (std::process::id() as i32, unsafe { libc::gettid() }));
        shared.os_pid.store(pid, Relaxed);
        shared.os_tid.store(tid, Relaxed);
        shared.started_at.store(clock::wall_us() as u64, Relaxed);
    }
    free
}

/// Takes a free slot of the group, or the one with that index.
pub(crate) fn claim_free(host: u32, index: Option<u32>) -> Option<&'static EngineShared> {
    let group = &engines()[BACKGROUND_ENGINES as usize..];
    match index {
        Some(index) => Some(&group[index as usize]).filter(|slot| claim(slot, host)),
        None => group.iter().find(|slot| claim(slot, host)),
    }
}
