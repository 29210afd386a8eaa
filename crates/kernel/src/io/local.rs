//! The half of an engine's I/O that only its own thread touches: its ring, and requests gathered for the workers.
//!
//! The engine calls it at these places, so that no request waits for anybody:
//!
//! | place | call |
//! |---|---|
//! | a session that holds its engine waits for a post | [`LocalIo::sleep`] while requests are in flight, [`LocalIo::submit`] if none is |
//! | the loop of an engine with fibers: each time round; before it runs some | [`LocalIo::take_in`]; [`LocalIo::submit`] |
//! | that engine is idle, and its primitive can join the ring | [`LocalIo::sleep_idle`], which hands over too |
//! | before a sleep elsewhere (a socket, a blocking call), and when a request of a client ends | [`LocalIo::drain`] |
//! | before a durable write by a call of its own: nothing, since it is made only with nothing under way | [`LocalIo::is_quiet`] |
//! | now and then while a session computes | [`LocalIo::reap`] |
//! | the engine's end | [`LocalIo::close`] |

use super::files::{self, OpenFile};
use super::slot::{Method, Slot};
use super::uring::{Completed, Ring};
use super::{note_refused_ring, workers};
use crate::clock::Nanos;
use crate::config::{Config, IoMethod};
use crate::engine::{self, EngineShared};
use crate::net::Port;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// Requests for workers that gather before they are handed over in any case.
const BATCH: usize = 16;
/// Completions that are taken in at once.
const TAKEN_AT_ONCE: usize = 64;

enum RingState {
    Unmade,
    Made(Box<Ring>),
    /// The system refused one: the workers serve this engine.
    Refused,
}

/// See the head of this file.
pub(crate) struct LocalIo {
    method: IoMethod,
    ring: RefCell<RingState>,
    /// Requests in the ring, for a look that costs nothing.
    in_flight: Cell<usize>,
    /// True if the engine, which runs fibers, sleeps in the ring.
    is_bed: Cell<bool>,
    for_workers: RefCell<Vec<u32>>,
    /// Room for completions, kept from one time to the next.
    completed: Cell<Vec<Completed>>,
}

impl LocalIo {
    pub(crate) fn new(config: &Config) -> LocalIo {
        LocalIo {
            method: config.io,
            ring: RefCell::new(RingState::Unmade),
            in_flight: Cell::new(0),
            is_bed: Cell::new(false),
            for_workers: RefCell::new(Vec::new()),
            completed: Cell::new(Vec::new()),
        }
    }

    /// Requests of this engine's own ring that are not complete.
    #[inline]
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.get()
    }

    /// True if this engine, which runs fibers, can sleep in its ring: makes the ring for that. Before its first request.
    pub(crate) fn make_bed(&self) -> bool {
        if self.method != IoMethod::Uring {
            return false;
        }
        match Ring::make(engine::expect_local(), true) {
            Ok(made) => {
                *self.ring.borrow_mut() = RingState::Made(Box::new(made));
                self.is_bed.set(true);
                true
            }
            // A ring without that ability may do for requests.
            Err(_) => false,
        }
    }

    /// Sleeps until something of the ring completes, the bell is rung, the port has something, or the deadline passes.
    /// True if the port has something. Only after [`LocalIo::make_bed`] has made the ring.
    pub(crate) fn sleep_idle(&self, bell: &AtomicU32, port: Port, deadline: Option<Nanos>) -> bool {
        self.submit_to_workers();
        if let RingState::Made(ring) = &mut *self.ring.borrow_mut() {
            ring.sleep(bell, Some(port), deadline);
        }
        // Awake: what is posted here needs no bell.
        bell.store(0, SeqCst);
        files::sweep();
        self.take_all()
    }

    /// True if plain calls are the method.
    pub(super) fn is_sync(&self) -> bool {
        self.method == IoMethod::Sync
    }

    /// True if nothing of this engine is in its ring or waits to be handed to the workers, so that it may sleep anywhere.
    pub(super) fn is_quiet(&self) -> bool {
        self.in_flight.get() == 0 && self.for_workers.borrow().is_empty()
    }

    /// By what this engine's next request is carried out. Makes the ring if there is none yet.
    pub(super) fn method(&self) -> Method {
        match self.method {
            IoMethod::Sync => Method::Call,
            IoMethod::Workers => Method::Worker,
            IoMethod::Uring => {
                let mut ring = self.ring.borrow_mut();
                if let RingState::Unmade = &*ring {
                    *ring = match Ring::make(engine::expect_local(), false) {
                        Ok(made) => RingState::Made(Box::new(made)),
                        Err(error) => {
                            note_refused_ring(&error);
                            RingState::Refused
                        }
                    };
                }
                if matches!(&*ring, RingState::Made(_)) { Method::Ring } else { Method::Worker }
            }
        }
    }

    /// Puts a request into the ring.
    pub(super) fn push_ring(&self, slot: &'static Slot, file: Arc<OpenFile>) {
        match &mut *self.ring.borrow_mut() {
            RingState::Made(ring) => {
                ring.push(slot, file);
                self.in_flight.set(ring.in_flight());
            }
            _ => unreachable!("a request for a ring that is not there"),
        }
    }

    /// Gathers a request for the workers.
    pub(super) fn push_workers(&self, slot: &'static Slot) {
        slot.set_method(Method::Worker);
        let full = {
            let mut gathered = self.for_workers.borrow_mut();
            gathered.push(slot.index());
            gathered.len() >= BATCH
        };
        if full {
            self.submit_to_workers();
        }
    }

    fn submit_to_workers(&self) {
        let mut gathered = self.for_workers.borrow_mut();
        if !gathered.is_empty() {
            workers::push(&gathered);
            gathered.clear();
        }
    }

    /// Hands over what has gathered.
    pub(crate) fn submit(&self) {
        self.submit_to_workers();
        if self.in_flight.get() > 0 {
            self.reap_ring(true);
        }
    }

    /// Takes completions in, without sleeping. Cheap when there is nothing. What has gathered is handed over too, but for
    /// an engine that sleeps in its ring: there the sleep does it, or the [`LocalIo::submit`] before others run.
    #[inline]
    pub(crate) fn take_in(&self) {
        if !self.is_bed.get() {
            self.reap();
        } else if self.in_flight.get() > 0 {
            self.reap_ring(false);
        }
    }

    /// Hands over what has gathered and takes completions in, without sleeping. Cheap when there is nothing.
    #[inline]
    pub(crate) fn reap(&self) {
        if self.in_flight.get() > 0 {
            self.reap_ring(true);
        }
        if !self.for_workers.borrow().is_empty() {
            self.submit_to_workers();
        }
        files::sweep();
    }

    fn reap_ring(&self, submit: bool) {
        let news = match &mut *self.ring.borrow_mut() {
            RingState::Made(ring) => ring.look(submit),
            _ => false,
        };
        if news {
            self.take_all();
        }
    }

    /// Takes in what has completed: settles it, or has the rest done. True if the port of the sleep has something.
    fn take_all(&self) -> bool {
        let mut port_ready = false;
        let mut completed = self.completed.take();
        completed.reserve(TAKEN_AT_ONCE);
        loop {
            if let RingState::Made(ring) = &mut *self.ring.borrow_mut() {
                port_ready |= ring.take(&mut completed);
                self.in_flight.set(ring.in_flight());
            }
            if completed.is_empty() {
                self.completed.set(completed);
                return port_ready;
            }
            // The ring is not borrowed here: an action may post, and a rest goes into the ring again.
            for one in completed.drain(..) {
                match one.slot.advance(one.answer) {
                    Some(outcome) => {
                        engine::expect_local().shared.stats.io_completed.add(1);
                        one.slot.settle(outcome);
                    }
                    None => self.push_ring(one.slot, one.file),
                }
            }
        }
    }

    /// Sleeps while `word` reads `value`, until something of the ring completes, somebody posts, or the deadline passes.
    /// May come back early. Only while requests are in flight.
    pub(crate) fn sleep(&self, me: &EngineShared, word: &AtomicU32, value: u32, deadline: Option<Nanos>) {
        self.submit_to_workers();
        me.ring_bell.store(1, SeqCst);
        // Whoever posts from here on rings the bell; whoever posted before is seen now.
        if word.load(SeqCst) == value {
            me.stats.sleeps.add(1);
            if let RingState::Made(ring) = &mut *self.ring.borrow_mut() {
                ring.sleep(&me.ring_bell, None, deadline);
            }
        }
        me.ring_bell.store(0, SeqCst);
        self.take_all();
    }

    /// Hands over what has gathered, and waits, without giving the engine up, until nothing is in flight in the ring:
    /// before the engine does anything during which it could not take completions in.
    #[inline]
    pub(crate) fn drain(&self) {
        if self.in_flight.get() > 0 || !self.for_workers.borrow().is_empty() {
            self.drain_now();
        }
        files::sweep();
    }

    #[cold]
    fn drain_now(&self) {
        self.submit_to_workers();
        while self.in_flight.get() > 0 {
            if let RingState::Made(ring) = &mut *self.ring.borrow_mut() {
                ring.enter(1);
            }
            self.take_all();
        }
    }

    /// The engine ends: its ring goes back to the system.
    pub(crate) fn close(&self) {
        self.drain();
        *self.ring.borrow_mut() = RingState::Unmade;
    }
}
