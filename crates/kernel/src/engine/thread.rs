//! An engine as a thread: one host carries all engines of the group.
//!
//! The host's first thread makes engines when asked and, at a stop, sees to it that all of them notice.

use super::{Local, State, claim_free, engines, set_local};
use crate::config::{Config, EngineKind, Sessions};
use crate::session::Service;
use crate::{clock, hosting, supervisor, wait};
use std::sync::atomic::{AtomicU32, Ordering::*};

/// Engines that this process has been asked for and has not made.
static ASKED: AtomicU32 = AtomicU32::new(0);
static RUNNING: AtomicU32 = AtomicU32::new(0);

/// Asks the host's first thread for another engine. From any thread of the group's host.
pub(crate) fn ask() {
    ASKED.fetch_add(1, SeqCst);
    wait::futex::wake(&ASKED, 1);
}

/// The main function of a host that carries all engines of a group.
pub(crate) fn main(config: &'static Config, service: &'static dyn Service, host: u32) {
    let first = match config.sessions {
        Sessions::Dedicated => config.spare_engines.max(1),
        Sessions::Shared | Sessions::Fiber => config.engines.max(1),
    };
    for index in 0..first {
        spawn(config, service, host, (config.sessions == Sessions::Fiber).then_some(index));
    }
    while !supervisor::stopping() {
        wait::futex::sleep(&ASKED, 0, Some(clock::now() + 100_000_000));
        while ASKED.load(SeqCst) > 0 && !supervisor::stopping() {
            ASKED.fetch_sub(1, SeqCst);
            spawn(config, service, host, None);
        }
    }
    // A signal may come just before the sleep that it is to end, so it is repeated.
    while RUNNING.load(SeqCst) > 0 {
        for engine in engines() {
            if engine.host.load(Relaxed) == host && engine.state() != State::Absent {
                super::ring(engine);
                let (pid, tid) = engine.os_ids();
                // SAFETY: plain system call; the handler of SIGURG does nothing.
                unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, libc::SIGURG) };
            }
        }
        wait::futex::sleep(&RUNNING, RUNNING.load(SeqCst), Some(clock::now() + 10_000_000));
    }
}

fn spawn(config: &'static Config, service: &'static dyn Service, host: u32, index: Option<u32>) {
    RUNNING.fetch_add(1, SeqCst);
    let run = move || {
        if let Some(shared) = claim_free(host, index) {
            let local = Box::into_raw(Box::new(Local::new(shared, EngineKind::Thread, config.sessions, config)));
            // SAFETY: it lives until after the engine's last step; nothing keeps a reference beyond it.
            let engine: &'static Local = unsafe { &*local };
            // SAFETY: as above.
            unsafe { set_local(local) };
            hosting::run(engine, service);
            engine.io.close();
            // SAFETY: this thread is no engine from here on, and the value was made above.
            unsafe {
                set_local(std::ptr::null());
                drop(Box::from_raw(local));
            }
            shared.set_state(State::Absent);
        }
        RUNNING.fetch_sub(1, SeqCst);
        wait::futex::wake(&RUNNING, 1);
    };
    // The engine's own stack serves deep leaves: parsing, planning, sorting.
    let spawned = std::thread::Builder::new().name("engine".into()).stack_size(8 << 20).spawn(move || {
        if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            eprintln!("gearbox: an engine ends by a bug: {}", hosting::panic_text(&*panic));
            // SAFETY: ends the process at once: other engines may depend on what this one was doing.
            unsafe { libc::_exit(supervisor::RESTART_STATUS) };
        }
    });
    if let Err(error) = spawned {
        RUNNING.fetch_sub(1, SeqCst);
        eprintln!("gearbox: an engine cannot be made: {error}");
    }
}
