//! The simulated network: connections, descriptors, ports.
//!
//! It stands in for the system calls of [`crate::net`], below everything that module knows: a descriptor is a number of one
//! host, several hosts may have one for the same connection, and a connection ends for the client when the last of them is
//! closed. A port behaves as an epoll instance does: registrations are edge-triggered, belong to a connection and a
//! descriptor's number, and outlive the host that made them as long as somebody holds the connection.
//!
//! What is sent arrives in pieces, in order, after a while ([`super::pipe`]); a piece that arrives may break the connection
//! instead.

use super::hosts::Host;
use super::pipe::{Arrival, Pipe};
use super::strand::{Key, Wake};
use super::trace::Step;
use super::world::World;
use crate::clock::Nanos;
use crate::config::{Config, Sessions};
use crate::net::{BELL, KeptMessage, LISTENER, SendError};
use crate::session::Received;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// A connection.
pub(super) struct Conn {
    number: u32,
    pub(super) to_server: Pipe,
    pub(super) to_client: Pipe,
    /// Descriptors of the server's end, in whatever hosts, and on their way to the supervisor.
    holders: Cell<u32>,
    pub(super) client_open: Cell<bool>,
    pub(super) broken: Cell<bool>,
    registrations: RefCell<Vec<Rc<Registration>>>,
}

/// A connection's entry in a port.
struct Registration {
    conn: u32,
    descriptor: i32,
    port: usize,
    data: u64,
    queued: Cell<bool>,
}

/// An epoll instance.
struct Port {
    ready: RefCell<VecDeque<Rc<Registration>>>,
    bell: Cell<bool>,
    /// The listener has reported something and has not been found empty since.
    listener: Cell<bool>,
    open: Cell<bool>,
}

/// See the head of this file.
#[derive(Default)]
pub(super) struct Net {
    pub(super) conns: RefCell<Vec<Rc<Conn>>>,
    /// Connections that nobody has accepted.
    backlog: RefCell<VecDeque<u32>>,
    ports: RefCell<Vec<Rc<Port>>>,
    listening: Cell<bool>,
}

impl Conn {
    fn readable(&self) -> bool {
        self.broken.get() || self.to_server.readable()
    }

    fn writable(&self) -> bool {
        self.broken.get() || self.to_client.room() > 0
    }

    /// What a port reports of it.
    fn state(&self) -> i32 {
        let when = |yes: bool, what: i32| if yes { what } else { 0 };
        when(self.readable(), libc::EPOLLIN)
            | when(self.writable(), libc::EPOLLOUT)
            | when(self.to_server.has_ended(), libc::EPOLLRDHUP)
            | when(self.broken.get(), libc::EPOLLHUP | libc::EPOLLERR)
    }
}

impl Net {
    /// The server listens, with the ports that the model needs.
    pub(super) fn open(&self, config: &Config) {
        let count = match config.sessions {
            Sessions::Dedicated => 0,
            Sessions::Shared => 1,
            Sessions::Fiber => config.engines.max(1),
        };
        self.ports.borrow_mut().clear();
        for _ in 0..count {
            self.add_port();
        }
        self.listening.set(true);
    }

    /// Nobody is let in any more.
    pub(super) fn refuse(&self) {
        self.listening.set(false);
    }

    fn add_port(&self) -> usize {
        let mut ports = self.ports.borrow_mut();
        ports.push(Rc::new(Port {
            ready: RefCell::default(),
            bell: Cell::new(false),
            listener: Cell::new(!self.backlog.borrow().is_empty()),
            open: Cell::new(true),
        }));
        ports.len() - 1
    }

    fn port(&self, index: usize) -> Rc<Port> {
        self.ports.borrow()[index].clone()
    }

    pub(super) fn close_port(&self, index: usize) {
        if let Some(port) = self.ports.borrow().get(index) {
            port.open.set(false);
        }
    }

    pub(super) fn conn(&self, number: u32) -> Rc<Conn> {
        self.conns.borrow()[number as usize].clone()
    }

    // ---- connections

    /// A client connects. None if nobody listens.
    pub(super) fn connect(&self, world: &World) -> Option<u32> {
        if !self.listening.get() {
            return None;
        }
        let number = self.conns.borrow().len() as u32;
        let latency = world.random.between(5_000, 200_000);
        let window = world.random.pick(&[256, 1024, 16 << 10, 64 << 10]);
        self.conns.borrow_mut().push(Rc::new(Conn {
            number,
            to_server: Pipe::new(latency, 64 << 10),
            to_client: Pipe::new(latency, window),
            holders: Cell::new(0),
            client_open: Cell::new(true),
            broken: Cell::new(false),
            registrations: RefCell::default(),
        }));
        world.trace.mix(Step::Connect, number as u64);
        world.counts.borrow_mut().connections += 1;
        self.backlog.borrow_mut().push_back(number);
        self.announce(world);
        Some(number)
    }

    /// Tells ports that somebody wants in. As with `EPOLLEXCLUSIVE`: ports where nobody sleeps hear of it, up to the first
    /// where somebody does.
    fn announce(&self, world: &World) {
        let ports = self.ports.borrow().clone();
        for (index, port) in ports.iter().enumerate().filter(|port| port.1.open.get()) {
            port.listener.set(true);
            if world.wake(Key::Port(index), false) {
                return;
            }
        }
    }

    /// Something has changed for the server: an edge.
    pub(super) fn edge(&self, world: &World, conn: &Conn) {
        let registrations = conn.registrations.borrow().clone();
        for registration in registrations {
            let port = self.port(registration.port);
            if !registration.queued.replace(true) {
                port.ready.borrow_mut().push_back(registration.clone());
            }
            world.wake(Key::Port(registration.port), false);
        }
        world.wake(Key::ServerEnd(conn.number), true);
    }

    /// Breaks a connection for both ends.
    pub(super) fn reset(&self, world: &World, conn: &Conn) {
        if !conn.broken.replace(true) {
            world.trace.mix(Step::Reset, conn.number as u64);
            world.note(|| format!("connection {} breaks", conn.number));
            self.edge(world, conn);
            world.wake(Key::ClientEnd(conn.number), true);
        }
    }

    /// Lets what was put into a pipe arrive. `to_server` says which of the connection's pipes it is.
    pub(super) fn dispatch(&self, world: &World, number: u32, to_server: bool) {
        let conn = self.conn(number);
        let pipe = if to_server { &conn.to_server } else { &conn.to_client };
        while let Some(at) = pipe.next_unscheduled(world) {
            world.after(at - world.now(), move |world| world.net.arrive(world, number, to_server));
        }
    }

    fn arrive(&self, world: &World, number: u32, to_server: bool) {
        let conn = self.conn(number);
        if conn.broken.get() {
            return;
        }
        if world.clients.get() > 0 && world.random.chance(world.options.reset_chance) {
            return self.reset(world, &conn);
        }
        let pipe = if to_server { &conn.to_server } else { &conn.to_client };
        let hash = pipe.arrive();
        world.trace.mix(Step::Deliver, hash ^ (number as u64) << 1 ^ to_server as u64);
        world.note(|| format!("connection {number}: arrives at the {}", if to_server { "server" } else { "client" }));
        if to_server {
            self.edge(world, &conn);
        } else if !conn.client_open.get() {
            self.reset(world, &conn);
        } else {
            world.wake(Key::ClientEnd(number), true);
        }
    }

    /// One descriptor less. With the last one the connection ends.
    fn let_go(&self, world: &World, number: u32) {
        let conn = self.conn(number);
        conn.holders.set(conn.holders.get() - 1);
        if conn.holders.get() > 0 {
            return;
        }
        for registration in conn.registrations.borrow_mut().drain(..) {
            let port = self.port(registration.port);
            port.ready.borrow_mut().retain(|other| !Rc::ptr_eq(other, &registration));
        }
        if conn.to_server.unread() {
            self.reset(world, &conn);
        } else {
            conn.to_client.finish();
            self.dispatch(world, number, false);
        }
    }

    /// Everything the server had is gone.
    pub(super) fn close_all(&self, world: &World) {
        self.listening.set(false);
        self.backlog.borrow_mut().clear();
        let conns = self.conns.borrow().clone();
        for conn in conns {
            conn.registrations.borrow_mut().clear();
            conn.holders.set(0);
            self.reset(world, &conn);
        }
        self.ports.borrow_mut().clear();
    }

    /// True when no connection waits to be accepted.
    pub(super) fn is_quiet(&self) -> bool {
        self.backlog.borrow().is_empty()
    }

    // ---- descriptors

    fn add_descriptor(&self, host: &Host, number: u32) -> i32 {
        let conn = self.conn(number);
        conn.holders.set(conn.holders.get() + 1);
        let mut descriptors = host.descriptors.borrow_mut();
        // The lowest number that is free, as the system does it; the first three are taken.
        let free = (3..descriptors.len()).find(|&at| descriptors[at].is_none());
        let at = free.unwrap_or_else(|| {
            descriptors.push(None);
            descriptors.len() - 1
        });
        descriptors[at] = Some(number);
        at as i32
    }

    fn of_descriptor(&self, world: &World, descriptor: i32) -> Option<Rc<Conn>> {
        let host = world.current_host()?;
        if descriptor < 0 {
            return None;
        }
        let number = host.descriptors.borrow().get(descriptor as usize).copied().flatten();
        if number.is_none() {
            world.fail(format!("host {} uses descriptor {descriptor}, which is closed", host.number));
        }
        Some(self.conn(number?))
    }

    /// A host is gone.
    pub(super) fn close_descriptors(&self, world: &World, host: &Host) {
        let descriptors: Vec<u32> = host.descriptors.borrow_mut().drain(..).flatten().collect();
        descriptors.into_iter().for_each(|number| self.let_go(world, number));
    }

    /// Accepts a connection; answers the running host's descriptor of it.
    pub(crate) fn accept(&self, world: &World) -> Option<i32> {
        world.point("accept4");
        let number = self.backlog.borrow_mut().pop_front()?;
        let host = world.current_host()?;
        Some(self.add_descriptor(&host, number))
    }

    /// Waits for somebody who wants in, on a port of the strand's own.
    pub(super) fn accept_sleeping(&self, world: &World, span: Nanos) -> Option<i32> {
        let strand = world.current();
        let port = strand.port.get().unwrap_or_else(|| self.add_port());
        strand.port.set(Some(port));
        let mut events = [libc::epoll_event { events: 0, u64: 0 }];
        self.wait(world, port, &mut events, Some(span));
        // Also if nothing was reported, as the real one does after its time.
        self.accept(world)
    }

    pub(super) fn close(&self, world: &World, descriptor: i32) {
        let Some(host) = world.current_host() else { return };
        let number = host.descriptors.borrow_mut().get_mut(descriptor.max(0) as usize).and_then(Option::take);
        match number {
            Some(number) => self.let_go(world, number),
            None => world.fail(format!("host {} closes descriptor {descriptor}, which is not open", host.number)),
        }
    }

    /// Ends the connection for both sides, whoever else has a descriptor.
    pub(super) fn shutdown(&self, world: &World, descriptor: i32) {
        let Some(conn) = self.of_descriptor(world, descriptor) else { return };
        conn.to_server.discard();
        conn.to_client.finish();
        self.dispatch(world, conn.number, false);
        self.edge(world, &conn);
    }

    pub(super) fn receive(&self, world: &World, descriptor: i32, into: &mut Vec<u8>, may_sleep: bool) -> Received {
        world.point("recv");
        let Some(conn) = self.of_descriptor(world, descriptor) else { return Received::Closed };
        loop {
            if conn.broken.get() {
                return Received::Closed;
            }
            let room = into.capacity() - into.len();
            match conn.to_server.take(into, room) {
                Arrival::Bytes(bytes) => {
                    world.trace.mix(Step::Receive, (conn.number as u64) << 32 | bytes as u64);
                    world.note(|| format!("connection {}: receives {bytes} bytes", conn.number));
                    world.wake(Key::ClientEnd(conn.number), true);
                    return Received::Bytes(bytes == room);
                }
                Arrival::End => return Received::Closed,
                Arrival::Nothing if !may_sleep => return Received::Nothing,
                Arrival::Nothing => {
                    if world.sleep([Key::ServerEnd(conn.number), Key::None], None) == Wake::Signalled {
                        return Received::Nothing;
                    }
                }
            }
        }
    }

    pub(super) fn send(&self, world: &World, descriptor: i32, bytes: &[u8]) -> Result<usize, SendError> {
        world.point("send");
        let Some(conn) = self.of_descriptor(world, descriptor) else { return Err(SendError::Broken) };
        if conn.broken.get() || conn.to_client.is_finished() {
            return Err(SendError::Broken);
        }
        let sent = conn.to_client.put(bytes);
        world.trace.mix(Step::Send, (conn.number as u64) << 32 | sent as u64);
        world.note(|| format!("connection {}: sends {sent} of {} bytes", conn.number, bytes.len()));
        self.dispatch(world, conn.number, false);
        if sent == 0 { Err(SendError::WouldBlock) } else { Ok(sent) }
    }

    /// True when the descriptor may be read or written.
    pub(super) fn is_ready(&self, world: &World, descriptor: i32, writable: bool) -> bool {
        let Some(conn) = self.of_descriptor(world, descriptor) else { return true };
        if writable { conn.writable() } else { conn.readable() }
    }

    /// Waits until that is so, a signal comes, or the time is over.
    pub(super) fn poll(&self, world: &World, descriptor: i32, writable: bool, span: Nanos) {
        world.point("poll");
        let Some(conn) = self.of_descriptor(world, descriptor) else { return };
        let deadline = world.now() + span;
        while !self.is_ready(world, descriptor, writable) {
            if world.sleep([Key::ServerEnd(conn.number), Key::None], Some(deadline)) != Wake::Woken {
                return;
            }
        }
    }

    // ---- descriptors of other hosts

    /// The supervisor gets a descriptor of the slot's connection with the message that is being sent.
    pub(super) fn hold_for_supervisor(&self, world: &World, slot: u32) -> Option<u32> {
        let host = world.current_host()?;
        let descriptor =
            crate::session::slot(base::SessionId(slot)).socket_fd.load(std::sync::atomic::Ordering::Relaxed);
        let number = host.descriptors.borrow().get(descriptor.max(0) as usize).copied().flatten()?;
        let conn = self.conn(number);
        conn.holders.set(conn.holders.get() + 1);
        Some(number)
    }

    /// The supervisor acts on a message about a socket; see [`crate::net::Keeper`].
    pub(super) fn keep(&self, world: &World, message: KeptMessage, conn: Option<u32>) {
        let mut kept = world.supervisor.kept.borrow_mut();
        let before = match (message.keep, conn) {
            (true, Some(number)) => kept.insert(message.slot, (message.generation, number)),
            (false, _) if kept.get(&message.slot).is_some_and(|entry| entry.0 == message.generation) => {
                kept.remove(&message.slot)
            }
            _ => None,
        };
        drop(kept);
        if let Some((_, number)) = before {
            self.let_go(world, number);
        }
    }

    /// A duplicate of another host's descriptor; process number zero is the supervisor, where `descriptor` is a slot.
    pub(super) fn take_from(&self, world: &World, pid: i32, descriptor: i32) -> Option<i32> {
        world.point("pidfd_getfd");
        let number = if pid == 0 {
            world.supervisor.kept.borrow().get(&(descriptor as u32))?.1
        } else {
            let hosts = world.supervisor.hosts.borrow();
            let host = hosts.iter().find(|host| host.pid() == pid)?;
            host.descriptors.borrow().get(descriptor.max(0) as usize).copied().flatten()?
        };
        Some(self.add_descriptor(&*world.current_host()?, number))
    }

    // ---- ports

    /// `epoll_ctl`. False where the system refuses.
    pub(super) fn control(&self, world: &World, port: usize, operation: i32, descriptor: i32, data: u64) -> bool {
        world.point("epoll_ctl");
        let Some(conn) = self.of_descriptor(world, descriptor) else { return false };
        let found =
            conn.registrations.borrow().iter().position(|entry| entry.port == port && entry.descriptor == descriptor);
        match (operation, found) {
            (libc::EPOLL_CTL_ADD, Some(_)) | (libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL, None) => return false,
            (libc::EPOLL_CTL_ADD, None) => {}
            (_, Some(at)) => {
                let old = conn.registrations.borrow_mut().remove(at);
                self.port(port).ready.borrow_mut().retain(|other| !Rc::ptr_eq(other, &old));
            }
            _ => return false,
        }
        if operation != libc::EPOLL_CTL_DEL {
            let entry = Registration { conn: conn.number, descriptor, port, data, queued: Cell::new(false) };
            let entry = Rc::new(entry);
            conn.registrations.borrow_mut().push(entry.clone());
            // What is so already is reported at once; a socket that may be written to is.
            if conn.readable() || conn.writable() {
                entry.queued.set(true);
                self.port(port).ready.borrow_mut().push_back(entry);
                world.wake(Key::Port(port), false);
            }
        }
        true
    }

    /// Rings the bell in a port.
    pub(super) fn ring(&self, world: &World, port: usize) {
        let Some(this) = self.ports.borrow().get(port).cloned() else { return };
        this.bell.set(true);
        world.wake(Key::Port(port), false);
        world.point("bell");
    }

    fn collect(&self, port: &Port, events: &mut [libc::epoll_event]) -> usize {
        let mut count = 0;
        let mut report = |data: u64, what: i32| {
            events[count] = libc::epoll_event { events: what as u32, u64: data };
            count += 1;
            count < events.len()
        };
        if port.bell.replace(false) && !report(BELL, libc::EPOLLIN) {
            return count;
        }
        if port.listener.get() {
            if self.backlog.borrow().is_empty() {
                port.listener.set(false);
            } else if !report(LISTENER, libc::EPOLLIN) {
                return count;
            }
        }
        while let Some(entry) = port.ready.borrow_mut().pop_front() {
            entry.queued.set(false);
            if !report(entry.data, self.conn(entry.conn).state()) {
                break;
            }
        }
        count
    }

    /// `epoll_wait`: reports what registrations carry; sleeps at most `span` (none: until something comes).
    pub(super) fn wait(
        &self,
        world: &World,
        index: usize,
        events: &mut [libc::epoll_event],
        span: Option<Nanos>,
    ) -> usize {
        world.point("epoll_wait");
        let deadline = span.map(|span| world.now() + span);
        let port = self.port(index);
        loop {
            let count = self.collect(&port, events);
            if count > 0 {
                // What is left is for somebody else.
                if !port.ready.borrow().is_empty() {
                    world.wake(Key::Port(index), false);
                }
                return count;
            }
            if span == Some(0) || world.sleep([Key::Port(index), Key::None], deadline) != Wake::Woken {
                return 0;
            }
        }
    }

    pub(super) fn dump(&self, text: &mut String) {
        use std::fmt::Write;
        for conn in self.conns.borrow().iter().filter(|conn| conn.client_open.get() && !conn.broken.get()) {
            let _ = writeln!(
                text,
                "  connection {}: {} descriptors; to the server {}; to the client {}",
                conn.number,
                conn.holders.get(),
                conn.to_server.describe(),
                conn.to_client.describe()
            );
            for entry in conn.registrations.borrow().iter() {
                let _ = writeln!(text, "    registered in port {}, queued: {}", entry.port, entry.queued.get());
            }
        }
        for (index, port) in self.ports.borrow().iter().enumerate().filter(|port| port.1.open.get()) {
            let ready: Vec<u32> = port.ready.borrow().iter().map(|entry| entry.conn).collect();
            let _ = writeln!(
                text,
                "  port {index}: ready {ready:?}, bell {}, listener {}",
                port.bell.get(),
                port.listener.get()
            );
        }
        let _ = writeln!(text, "  backlog {:?}", self.backlog.borrow());
    }
}
