//! A strand: what the simulator runs, on a stack of its own. An engine, a thread of the background host, a client.
//!
//! It is to the simulator what a thread is to an operating system. An engine that runs fibers resumes them inside its
//! strand; a switch in the middle of one goes through both, first from the fiber to its engine's loop
//! ([`crate::fiber::Switch::preempt`]), then from there to the scheduler.
//!
//! Rules
//! 1. A strand that is killed is forgotten where it stands: no destructor runs, what its frames own is leaked.
//! 2. Nothing of the world is borrowed over a switch.

use super::hosts::Host;
use crate::clock::Nanos;
use crate::engine::Local;
use crate::fiber::stack::{Pool, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Stacks of engines and clients, in bytes of address space: deep leaves run on them.
pub(super) const STACK_BYTES: usize = 2 << 20;

/// What a sleeping strand waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    None,
    /// A word of the region, by its address.
    Word(usize),
    /// The semaphore of an engine.
    Semaphore(u32),
    /// Something in a port.
    Port(usize),
    /// Something new at a connection's server end.
    ServerEnd(u32),
    /// Something new at a connection's client end.
    ClientEnd(u32),
    /// Messages to the background host.
    Messages,
    /// A request that the disk is done with.
    Disk,
}

/// Why a sleep ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wake {
    Woken,
    TimedOut,
    Signalled,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Runnable,
    Sleeping,
    /// Held up for a while, wherever it stands: nothing but time wakes it.
    Frozen,
    Ended,
}

/// See the head of this file.
pub(super) struct Strand {
    pub(super) id: u32,
    pub(super) name: String,
    /// None for a client.
    pub(super) host: Option<Rc<Host>>,
    coroutine: RefCell<Option<Coroutine<(), (), (), Stack>>>,
    yielder: Rc<Cell<*const Yielder<(), ()>>>,
    /// The engine that it is, while it does not run.
    pub(super) local: Cell<*const Local>,
    pub(super) state: Cell<State>,
    pub(super) keys: Cell<[Key; 2]>,
    pub(super) deadline: Cell<Option<Nanos>>,
    /// Counts sleeps, so that a timer of an earlier one is known as stale.
    pub(super) sleep: Cell<u64>,
    pub(super) woken: Cell<Wake>,
    pub(super) priority: Cell<u64>,
    /// A dedicated engine's own port.
    pub(super) port: Cell<Option<usize>>,
}

thread_local! {
    /// Stacks that no strand uses, by size; kept from run to run.
    static STACKS: RefCell<BTreeMap<usize, Pool>> = const { RefCell::new(BTreeMap::new()) };
}

/// A stack of the thread's pool.
pub(super) fn take_stack(bytes: usize) -> Option<Stack> {
    STACKS.with_borrow_mut(|pools| pools.entry(bytes).or_insert_with(|| Pool::new(bytes)).take_own())
}

/// Puts a stack back that nobody uses any more.
pub(super) fn put_stack(bytes: usize, stack: Stack) {
    STACKS.with_borrow_mut(|pools| pools.entry(bytes).or_insert_with(|| Pool::new(bytes)).put(stack));
}

impl Strand {
    pub(super) fn new(id: u32, name: String, host: Option<Rc<Host>>, body: Box<dyn FnOnce()>) -> Strand {
        let yielder = Rc::new(Cell::new(std::ptr::null()));
        let mine = yielder.clone();
        let stack = take_stack(STACK_BYTES).expect("the system gives no stacks");
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            mine.set(yielder);
            body();
        });
        Strand {
            id,
            name,
            host,
            coroutine: RefCell::new(Some(coroutine)),
            yielder,
            local: Cell::new(std::ptr::null()),
            state: Cell::new(State::Runnable),
            keys: Cell::new([Key::None; 2]),
            deadline: Cell::new(None),
            sleep: Cell::new(0),
            woken: Cell::new(Wake::Woken),
            priority: Cell::new(0),
            port: Cell::new(None),
        }
    }

    /// Lets it run until it suspends; false at its end.
    pub(super) fn resume(&self) -> bool {
        let mut coroutine = self.coroutine.borrow_mut();
        let running = coroutine.as_mut().expect("an ended strand is resumed");
        match running.resume(()) {
            CoroutineResult::Yield(()) => true,
            CoroutineResult::Return(()) => {
                let ended = coroutine.take().expect("it has just run");
                put_stack(STACK_BYTES, ended.into_stack());
                self.state.set(State::Ended);
                false
            }
        }
    }

    /// Goes back to the scheduler. Only the running strand calls this, from its own stack.
    pub(super) fn suspend(&self) {
        // SAFETY: the yielder was stored by the coroutine that runs now and lives at the bottom of its stack.
        unsafe { (*self.yielder.get()).suspend(()) };
    }

    /// Forgets it where it stands.
    pub(super) fn kill(&self) {
        self.state.set(State::Ended);
        if let Some(mut coroutine) = self.coroutine.borrow_mut().take() {
            // SAFETY: nothing on the stack is used afterwards: the host that it belonged to is gone, and everything that
            // others can reach lies in the region or on the heap, where it stays.
            unsafe { coroutine.force_reset() };
            put_stack(STACK_BYTES, coroutine.into_stack());
        }
    }

    pub(super) fn has_key(&self, key: Key) -> bool {
        self.state.get() == State::Sleeping && self.keys.get().contains(&key)
    }
}
