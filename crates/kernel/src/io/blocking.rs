//! The blocking pool: threads for calls that block in the operating system and cannot wait.
//!
//! A session that holds its engine may sleep in such a call; it is announced like any wait. A fiber may not, because it
//! would take all fibers of its engine along; its call runs on one of the host's few threads for that, and the fiber waits
//! until it is posted. The threads are made when they are first needed, by each host for itself, up to
//! [`crate::Config::blocking_threads`], and stay; a call that finds all of them at work waits for one.
//!
//! ```text
//! fiber:   queue the call -> wake a thread, or make one -> wait ........................ -> take the result
//! thread:                     take the call -> run it -> store the result -> post the fiber
//! ```
//!
//! Calls own what they use: they run on another thread, in the same process, and do not name the session.

use crate::engine;
use crate::session;
use crate::supervisor;
use crate::wait::{self, Event};
use base::SessionId;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

struct Pool {
    calls: VecDeque<Box<dyn FnOnce() + Send>>,
    threads: usize,
    idle: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { calls: VecDeque::new(), threads: 0, idle: 0 });
static MORE: Condvar = Condvar::new();

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a call that may block in the operating system, and waits for it as `event`. A panic in it comes out here.
pub fn run<T: Send + 'static>(event: Event, call: impl FnOnce() -> T + Send + 'static) -> T {
    let Some(local) = engine::local().filter(|_| engine::current_session().is_some()) else {
        // The supervisor before it serves: nobody waits for it.
        return call();
    };
    if engine::sim::is_on() {
        return call();
    }
    if local.fiber.get().is_none() {
        return wait::announced(event, call);
    }
    let result = Arc::new(Mutex::new(None));
    let me = session::current_id();
    let call = package(call, result.clone(), me);
    if let Some(call) = enqueue(call) {
        // No thread can be made and none is there: better a short stop of this engine than none at all.
        call();
    }
    loop {
        let taken = result.lock().unwrap_or_else(PoisonError::into_inner).take();
        match taken {
            Some(Ok(value)) => return value,
            Some(Err(panic)) => resume_unwind(panic),
            None => wait::wait_uninterruptible(event, 0),
        }
    }
}

type Outcome<T> = Arc<Mutex<Option<Result<T, Box<dyn Any + Send>>>>>;

fn package<T: Send + 'static>(
    call: impl FnOnce() -> T + Send + 'static,
    result: Outcome<T>,
    session: SessionId,
) -> Box<dyn FnOnce() + Send> {
    Box::new(move || {
        let outcome = catch_unwind(AssertUnwindSafe(call));
        *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        wait::post(session);
    })
}

/// Queues a call; gives it back if nobody will ever run it.
fn enqueue(call: Box<dyn FnOnce() + Send>) -> Option<Box<dyn FnOnce() + Send>> {
    let mut pool = pool();
    if pool.idle <= pool.calls.len() && pool.threads < supervisor::config().blocking_threads.max(1) as usize {
        let made = std::thread::Builder::new().name("blocking call".into()).stack_size(256 << 10).spawn(serve).is_ok();
        pool.threads += made as usize;
    }
    if pool.threads == 0 {
        return Some(call);
    }
    pool.calls.push_back(call);
    MORE.notify_one();
    None
}

fn serve() {
    let mut pool = pool();
    loop {
        match pool.calls.pop_front() {
            Some(call) => {
                drop(pool);
                call();
                pool = self::pool();
            }
            None => {
                pool.idle += 1;
                pool = MORE.wait(pool).unwrap_or_else(PoisonError::into_inner);
                pool.idle -= 1;
            }
        }
    }
}
