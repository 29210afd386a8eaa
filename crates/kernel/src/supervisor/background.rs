//! The background host: recovery before the server serves, its tasks while it does, clean-up after deaths, and the end.
//!
//! Its first thread recovers, says READY, and from then on waits for the supervisor's messages; every task of the service,
//! every I/O worker, and the second half of cleaning up after deaths ([`reaper`]) is a thread of its own with an engine and
//! a session, like any dedicated session.

use super::messages::{Message, background_end, receive_background, tell};
use super::{reaper, stopping};
use crate::config::{Config, EngineKind, Sessions};
use crate::engine::{self, Local, State};
use crate::session::{self, Interrupt, Service};
use crate::wait::{self, Event};
use crate::{clock, hosting, io, net};
use base::{Error, Result};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// How often interrupts that a sleeping session may have missed are repeated, in milliseconds.
const TICK_MS: i32 = 20;
/// How often the reaper looks for work that it was not posted for, in nanoseconds.
const REAPER_LOOKS_NS: clock::Nanos = 200_000_000;

/// Makes the calling thread a background engine with a session of its own.
fn become_task(config: &'static Config, host: u32, index: u32) -> Result<&'static Local> {
    let shared = &engine::engines()[index as usize];
    engine::claim(shared, host);
    let local: &'static Local =
        Box::leak(Box::new(Local::new(shared, EngineKind::Thread, Sessions::Dedicated, config)));
    // SAFETY: leaked.
    unsafe { engine::set_local(local) };
    let slot = session::allocate(true)?;
    local.set_session(Some(slot));
    shared.set_state(State::Running);
    Ok(local)
}

pub(super) fn main(config: &'static Config, service: &'static dyn Service, host: u32, dead: &[u32]) -> Result<()> {
    // What a predecessor left: its engines and sessions, before their slots are used again.
    for &dead in dead {
        reaper::reap_background(service, dead);
    }
    let local = become_task(config, host, 0)?;
    let mut index = 1;
    for _ in 0..io::worker_count(config) {
        let at = index;
        spawn("io worker", move || become_task(config, host, at).map(|_| io::worker_main()))?;
        index += 1;
    }
    if dead.is_empty() {
        io::drain::wait_for_predecessor()?;
        service.start()?;
        // The loop below takes no completions in.
        local.io.drain();
    }
    for (task, name) in service.background().iter().enumerate() {
        let at = index;
        spawn(name, move || {
            become_task(config, host, at).map(|local| {
                service.run_background(task);
                local.io.close();
            })
        })?;
        index += 1;
    }
    for &dead in dead {
        reaper::release(service, dead);
        reaper::end_sessions(service, dead);
        super::say_reaped(dead);
    }
    let to_end = Arc::new(Mutex::new(VecDeque::new()));
    let mine = to_end.clone();
    let reaper = Arc::new(OnceLock::new());
    let itself = reaper.clone();
    spawn("reaper", move || {
        become_task(config, host, index)?;
        let _ = itself.set(session::current_id());
        end_sessions(service, &mine);
        Ok(())
    })?;
    tell(Message::Ready);
    let mut ending = false;
    let mut sweeping = net::Sweeping::default();
    while !stopping() {
        if !engine::sim::wait_for_message(TICK_MS as u64 * 1_000_000) {
            let mut poll = libc::pollfd { fd: background_end(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry, valid for the call.
            unsafe { libc::poll(&mut poll, 1, TICK_MS) };
        }
        while let Some(message) = receive_background() {
            match message {
                Message::Died(dead) => {
                    reaper::release(service, dead);
                    lock(&to_end).push_back(dead);
                    if let Some(&reaper) = reaper.get() {
                        wait::post(reaper);
                    }
                }
                Message::Stop => ending = true,
                Message::Reload => service.reload(),
                _ => {}
            }
        }
        session::expire_deadlines();
        tick(ending);
        sweeping.go_on();
        if ending && !session::slots_reached().iter().any(|slot| slot.is_used() && !slot.is_background()) {
            tell(Message::SessionsGone);
        }
    }
    service.stop();
    Ok(())
}

fn lock<T>(queue: &Mutex<T>) -> MutexGuard<'_, T> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the sessions of dead hosts, one host after the other.
fn end_sessions(service: &dyn Service, hosts: &Mutex<VecDeque<u32>>) {
    while !stopping() {
        let next = lock(hosts).pop_front();
        match next {
            Some(dead) => {
                reaper::end_sessions(service, dead);
                super::say_reaped(dead);
            }
            // A stop posts nobody.
            None => drop(wait::wait(Event::ReaperMain, 0, Some(clock::now() + REAPER_LOOKS_NS))),
        }
    }
}

/// The first thread finds a spinlock taken for long: has its owner died?
pub(crate) fn look_for_deaths() {
    if engine::current().is_some_and(|engine| engine.id().0 == 0) {
        super::messages::unread_deaths().into_iter().for_each(reaper::restart_if_fatal);
    }
}

fn spawn(name: &str, body: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
    let run = move || {
        if let Err(error) = body() {
            eprintln!("gearbox: a background task ends: {error}");
        }
    };
    let Some(run) = engine::sim::spawn_thread(name, run) else { return Ok(()) };
    let spawned = std::thread::Builder::new().name(name.to_string()).spawn(move || {
        if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            eprintln!("gearbox: a background task ends by a bug: {}", hosting::panic_text(&*panic));
            std::process::exit(super::RESTART_STATUS);
        }
    });
    spawned.map(drop).map_err(|error| {
        Error::session(base::sqlstate::INSUFFICIENT_RESOURCES, format!("a background task cannot start: {error}"))
    })
}

/// Repeats what may have been missed by a session that sleeps in the system; at a stop, tells all to end.
fn tick(ending: bool) {
    for slot in session::slots_reached() {
        if !slot.is_used() || slot.is_background() {
            continue;
        }
        if ending && slot.interrupt() != Some(Interrupt::Terminate) {
            slot.send_interrupt(slot.generation(), Interrupt::Terminate);
        } else if slot.wants_service() {
            hosting::interrupt_sleep(slot);
        }
    }
}
