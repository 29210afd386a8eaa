//! Fibers: stackful coroutines that an engine's requests run on, so that a wait in the middle of anything gives the
//! engine up and comes back.
//!
//! The switch itself is the crate `corosensei`'s; stacks are our own ([`stack`]): pooled, with a guard page below each.
//! A fiber exists only while a request does, and stays on the engine that started it.
//!
//! Rules
//! 1. After a suspension the engine's local state names another fiber: [`Switch::suspend`] sets it right again before it
//!    returns, and nothing else may rely on it across one.
//! 2. A panic is caught at the fiber's bottom (by [`crate::hosting`]); it never unwinds into the engine's loop.
//! 3. Leaves that recurse deep and never wait (parsing, planning) run on the engine's own large stack:
//!    [`on_engine_stack`]. What recurses and waits asks how much is left ([`stack_is_low`]).

pub(crate) mod stack;

use crate::engine::{self, Local};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use stack::{Pool, Stack};

/// Why a fiber gave its engine up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Suspended {
    /// It waits; a post or a deadline makes it runnable.
    Waits,
    /// Its answer waits to be sent with others.
    Sends,
    /// It has used its time slice up and is runnable.
    Yielded,
    /// It is at its end.
    Done,
}

/// What a fiber says when it leaves its stack.
#[derive(Clone, Copy)]
enum Left {
    To(Suspended),
    /// The simulator switches, in the middle of anything: the engine as a whole is left, and the fiber goes on with it.
    Preempted,
}

/// How the running fiber gives the engine up; lies at the bottom of its stack.
pub(crate) struct Switch {
    yielder: *const Yielder<(), Left>,
    /// The lowest address of its stack, guard page included.
    low: usize,
}

impl Switch {
    /// Gives the engine up; comes back when the engine resumes this fiber.
    pub(crate) fn suspend(&'static self, local: &Local, why: Suspended) {
        let session = engine::current_session();
        self.leave(Left::To(why));
        local.fiber.set(Some(self));
        local.set_session(session);
    }

    /// Leaves the engine as a whole, for the simulator. The engine runs nothing else meanwhile, so its local state stands.
    pub(crate) fn preempt(&'static self) {
        self.leave(Left::Preempted);
    }

    fn leave(&'static self, how: Left) {
        // SAFETY: the switch was made from the yielder of the fiber that runs now, which lives as long as the fiber.
        unsafe { (*self.yielder).suspend(how) };
    }
}

/// A started fiber.
pub(crate) struct Fiber {
    coroutine: Coroutine<(), Left, (), Stack>,
    /// The wait of the running fiber that a timer may end; see [`crate::engine::timers`].
    pub(crate) timer: u64,
    /// True while it waits for a post.
    pub(crate) waits: bool,
    /// How many time slices it has used up.
    pub(crate) slices: u32,
}

impl Fiber {
    /// Makes a fiber that will run `body` on a stack of the pool. None when the system refuses a stack.
    pub(crate) fn new(pool: &mut Pool, body: impl FnOnce() + 'static) -> Option<Fiber> {
        let stack = pool.take()?;
        let low = stack.low();
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), Left>, ()| {
            let switch = Switch { yielder, low };
            let bottom = &raw const switch;
            // SAFETY: the switch lies at the bottom of this fiber's stack and is used only by code that runs above it.
            let switch: &'static Switch = unsafe { &*bottom };
            engine::expect_local().fiber.set(Some(switch));
            body();
        });
        Some(Fiber { coroutine, timer: 0, waits: false, slices: 0 })
    }

    /// Lets it run until it suspends or ends.
    pub(crate) fn resume(&mut self, local: &Local) -> Suspended {
        let result = loop {
            match self.coroutine.resume(()) {
                CoroutineResult::Yield(Left::Preempted) => engine::sim::pass_on(),
                CoroutineResult::Yield(Left::To(why)) => break why,
                CoroutineResult::Return(()) => break Suspended::Done,
            }
        };
        local.fiber.set(None);
        result
    }

    /// Takes the stack of a fiber that is at its end.
    pub(crate) fn into_stack(self) -> Stack {
        self.coroutine.into_stack()
    }
}

/// What is left of a stack where recursion is refused: enough for whatever is called between two looks at it.
const STACK_KEPT: usize = 64 << 10;

/// The address below which whoever recurses, waits, and so cannot run on the engine's stack, must not go on: to be compared by
/// [`stack_is_low`]. Zero where there is no fiber: the stacks of engines are far larger than what is let through.
pub fn stack_floor() -> usize {
    engine::local().and_then(|local| local.fiber.get()).map_or(0, |switch| switch.low + STACK_KEPT)
}

/// Whether the stack has come down to a floor that [`stack_floor`] gave for it.
#[inline]
pub fn stack_is_low(floor: usize) -> bool {
    let here = 0_u8;
    (&raw const here as usize) < floor
}

/// Runs a leaf that recurses deep and never waits on the engine's own stack.
pub fn on_engine_stack<R>(leaf: impl FnOnce() -> R) -> R {
    match engine::local().and_then(|local| local.fiber.get().map(|switch| (local, switch))) {
        Some((local, switch)) => {
            // No fiber runs during the leaf: a leaf within it stays where it is, and nothing leaves the fiber's stack from
            // the engine's.
            let _back = OnEngineStack { local, switch };
            local.fiber.set(None);
            let leaf = SameThread(leaf);
            // SAFETY: the switch is that of the fiber that runs now.
            unsafe { (*switch.yielder).on_parent_stack(move || SameThread(leaf.call())).0 }
        }
        None => leaf(),
    }
}

/// While it lives, the fiber's leaf is on the engine's stack.
struct OnEngineStack {
    local: &'static Local,
    switch: &'static Switch,
}

impl Drop for OnEngineStack {
    fn drop(&mut self) {
        self.local.fiber.set(Some(self.switch));
    }
}

/// A value that stays on its thread although a bound asks for `Send`: the engine's own stack is the same thread's.
struct SameThread<T>(T);

// SAFETY: see above: the value never leaves the thread.
unsafe impl<T> Send for SameThread<T> {}

impl<R, F: FnOnce() -> R> SameThread<F> {
    fn call(self) -> R {
        (self.0)()
    }
}
