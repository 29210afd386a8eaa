//! Ports: epoll instances made before the first fork, so that a number means the same port in every process.

use super::accept;
use super::socket::Socket;
use crate::clock::Nanos;
use crate::config::{Config, EngineKind, Sessions};
use crate::engine::{self, EngineShared, Local};
use crate::session::{self, SessionShared};
use crate::{hosting, supervisor, wait};
use base::{EngineId, Error, Result, SessionId, sqlstate};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::*;

/// An epoll instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Port(pub(crate) i32);

struct Ports {
    ports: Vec<Port>,
    /// Rings a sleeper of the port with the same index.
    bells: Vec<i32>,
}

static PORTS: OnceLock<Ports> = OnceLock::new();

// What a registration carries: a session's slot with its generation in the high half, or one of these.
pub(crate) const LISTENER: u64 = 0xFFFF_0000;
pub(crate) const BELL: u64 = 0xFFFF_FF00;
const RING: u64 = 0xFFFF_FF01;

/// The client will send nothing more, or the connection is broken.
const ENDED: u32 = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;

/// What a port reported.
pub(crate) enum Arrived {
    /// Something has come for the session, or there is room to send.
    Session(&'static SessionShared),
    /// A client wants to connect; which of the listeners.
    Listener(usize),
    /// Another engine rang, or a disk request is complete.
    Bell,
}

fn control(port: Port, operation: i32, fd: i32, events: u32, data: u64) -> bool {
    if let Some(simulated) = engine::sim::net() {
        return simulated.control(port.0, operation, fd, data);
    }
    let mut event = libc::epoll_event { events, u64: data };
    // SAFETY: the event is valid for the call.
    unsafe { libc::epoll_ctl(port.0, operation, fd, &mut event) == 0 }
}

/// Makes the ports of a pooled group. Once, by the supervisor before its first fork.
pub(crate) fn make_ports(config: &Config, listeners: &[i32]) -> Result<()> {
    let count = match config.sessions {
        Sessions::Dedicated => 0,
        Sessions::Shared => 1,
        Sessions::Fiber => config.engines.max(1),
    };
    let refused = || {
        Error::session(sqlstate::INSUFFICIENT_RESOURCES, "a port cannot be made")
            .detail(format!("epoll: {}.", std::io::Error::last_os_error()))
            .hint("Raise the limit on open files (ulimit -n).")
    };
    let mut made = Ports { ports: Vec::new(), bells: Vec::new() };
    for _ in 0..count {
        // SAFETY: plain system calls.
        let (port, bell) = unsafe {
            (libc::epoll_create1(libc::EPOLL_CLOEXEC), libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC))
        };
        let port = Port(port);
        let edge = (libc::EPOLLIN | libc::EPOLLET) as u32;
        if port.0 < 0 || bell < 0 || !control(port, libc::EPOLL_CTL_ADD, bell, edge, BELL) {
            return Err(refused());
        }
        for (index, &listener) in listeners.iter().enumerate() {
            let events = (libc::EPOLLIN | libc::EPOLLEXCLUSIVE) as u32;
            if !control(port, libc::EPOLL_CTL_ADD, listener, events, LISTENER + index as u64) {
                return Err(refused());
            }
        }
        made.ports.push(port);
        made.bells.push(bell);
    }
    let _ = PORTS.set(made);
    Ok(())
}

fn ports() -> &'static Ports {
    PORTS.get().expect("ports are made before engines")
}

/// The port of a shared group.
pub(crate) fn shared_port() -> Port {
    port_at(0)
}

/// The port of an engine with fibers.
pub(crate) fn port_of(local: &Local) -> Port {
    port_of_engine(local.shared)
}

fn port_of_engine(engine: &EngineShared) -> Port {
    port_at((engine.id().0 - engine::BACKGROUND_ENGINES) as usize)
}

fn port_at(index: usize) -> Port {
    // A simulated port's number is its index.
    if engine::sim::is_on() { Port(index as i32) } else { ports().ports[index] }
}

/// Wakes one sleeper of the port.
pub(crate) fn wake_port(port: Port) {
    if let Some(simulated) = engine::sim::net() {
        return simulated.ring(port.0);
    }
    if let Some(index) = ports().ports.iter().position(|&other| other == port) {
        wait::eventfd::wake_descriptor(ports().bells[index]);
    }
}

/// Wakes the sleeper in an engine's own port.
pub(crate) fn wake_port_of(engine: &EngineShared) {
    wake_port(port_of_engine(engine));
}

/// Lets completions of the engine's ring end a sleep in its port.
pub(crate) fn add_ring(port: Port, ring: i32) -> bool {
    control(port, libc::EPOLL_CTL_ADD, ring, (libc::EPOLLIN | libc::EPOLLET) as u32, RING)
}

/// Registers a session's socket in the port of its home.
pub(crate) fn register(slot: &SessionShared, socket: &Socket) -> bool {
    let port = match hosting::group::sessions() {
        Sessions::Shared => shared_port(),
        _ => port_of_engine(engine::engine(EngineId(slot.home.load(SeqCst)))),
    };
    let events = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
    let data = (slot.generation() as u64) << 32 | slot.id().0 as u64;
    slot.port.store(port.0, SeqCst);
    // A registration of this very descriptor may be there from an earlier stay: then its edge is armed again, unless
    // the port's engine takes it out at this moment, and it must be added after all.
    (0..4).any(|_| {
        control(port, libc::EPOLL_CTL_ADD, socket.fd(), events, data)
            || control(port, libc::EPOLL_CTL_MOD, socket.fd(), events, data)
    })
}

/// What one look takes in at most: more than an engine runs before the next one.
pub(crate) const EVENTS_MAX: usize = 256;

/// Looks at a port, sleeping at most `timeout` (none: until something comes). Answers how much arrived.
pub(crate) fn wait_port(
    local: &Local,
    port: Port,
    most: usize,
    timeout: Option<Nanos>,
    mut each: impl FnMut(Arrived),
) -> usize {
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX];
    let most = most.min(events.len());
    local.shared.stats.polls.add(1);
    let count = match engine::sim::net() {
        Some(simulated) => simulated.wait(port.0, &mut events[..most], timeout),
        None => {
            let timespec = timeout.map(crate::clock::timespec);
            let timespec = timespec.as_ref().map_or(std::ptr::null(), |at| at as *const libc::timespec);
            // SAFETY: the array has room for `most` events.
            let count =
                unsafe { libc::epoll_pwait2(port.0, events.as_mut_ptr(), most as i32, timespec, std::ptr::null()) };
            count.max(0) as usize
        }
    };
    if count > 0 {
        local.shared.stats.polls_hit.add(1);
    }
    for event in &events[..count] {
        let data = event.u64;
        match data {
            BELL | RING => {
                if data == BELL {
                    drain_bell(port);
                }
                each(Arrived::Bell);
            }
            LISTENER..BELL => each(Arrived::Listener((data - LISTENER) as usize)),
            _ => {
                let slot = session::slot(SessionId(data as u32));
                if slot.generation() == (data >> 32) as u32 {
                    if event.events & ENDED != 0 {
                        slot.ended.store(1, SeqCst);
                    }
                    each(Arrived::Session(slot));
                }
            }
        }
    }
    count
}

fn drain_bell(port: Port) {
    if engine::sim::is_on() {
        return;
    }
    if let Some(index) = ports().ports.iter().position(|&other| other == port) {
        wait::eventfd::drain(ports().bells[index]);
    }
}

/// Wakes a session that waits for its socket in the middle of a request.
pub(crate) fn post_if_socket_wait(slot: &SessionShared) {
    if slot.socket_wait.load(SeqCst) != 0 {
        wait::post(slot.id());
    }
}

/// Before a session parks: sees to it that its socket is registered where the session will be at home. In the test mode
/// that moves every session, one that was `served` moves on; one that was only looked at stays, or it would never rest.
pub(crate) fn rehome_if_moved(local: &Local, slot: &'static SessionShared, served: bool) {
    if local.sessions != Sessions::Fiber {
        return;
    }
    if supervisor::config().move_sessions && served {
        let next = hosting::fiber::pooled_engines().find(|other| other.id().0 > local.shared.id().0);
        let next = next.or_else(|| hosting::fiber::pooled_engines().next());
        if let Some(next) = next {
            slot.home.store(next.id().0, SeqCst);
        }
    }
    let home = engine::engine(EngineId(slot.home.load(SeqCst)));
    let before = slot.port.load(Relaxed);
    if before != port_of_engine(home).0
        && let Some(socket) = Socket::of(slot)
    {
        // From here on the home may take the session as soon as it is parked; until then it says AGAIN.
        register(slot, &socket);
        // A group of threads has one descriptor for all. The session holds it open now; later another engine may close it,
        // and its number may be another client's.
        if local.kind == EngineKind::Thread && before >= 0 {
            control(Port(before), libc::EPOLL_CTL_DEL, socket.fd(), 0, 0);
        }
    }
}

/// A port reported a session that is at home elsewhere: takes the registration out, if this process made it. With threads
/// that was done when the session moved.
pub(crate) fn forget_stale(local: &Local, slot: &SessionShared) {
    if local.kind == EngineKind::Thread {
        return;
    }
    if let Some(socket) = Socket::known(slot) {
        let port = port_of(local);
        if slot.port.load(SeqCst) != port.0 {
            control(port, libc::EPOLL_CTL_DEL, socket.fd(), 0, 0);
            // The session may have come back between the look and the removal: then what was removed was its new one.
            if slot.port.load(SeqCst) == port.0 {
                register(slot, &socket);
            }
        }
    }
}

pub(crate) fn listener(index: usize) -> i32 {
    // The simulated network has one listener and no descriptor for it.
    if engine::sim::is_on() { -1 } else { accept::listeners()[index] }
}
