//! Listening, and taking connections in: by the engines themselves, from sockets that all of them inherit.

use super::port::{self, register};
use super::{Socket, keep};
use crate::config::{Config, Sessions};
use crate::engine::{self, Local};
use crate::hosting::{self, fiber::pooled_engines, group};
use crate::session::{self, QUEUED, Service, SessionShared};
use crate::{clock, fault, supervisor};
use base::{Error, Result, sqlstate};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::*;

static LISTENERS: OnceLock<Vec<i32>> = OnceLock::new();

/// How many connections an engine takes in at one look.
const ACCEPT_BATCH: usize = 16;

/// Opens the sockets that clients connect to. Once, by the supervisor before its first fork.
///
/// Errors: `58000` when an address cannot be had, with what to do about it.
pub(crate) fn listen(config: &Config) -> Result<Vec<i32>> {
    let mut listeners = Vec::new();
    for &address in &config.listen {
        listeners.push(listen_on(address)?);
    }
    for path in &config.sockets {
        listeners.push(listen_at(path, config.socket_mode)?);
    }
    let _ = LISTENERS.set(listeners.clone());
    Ok(listeners)
}

fn listen_on(address: SocketAddr) -> Result<i32> {
    let refused = |error: std::io::Error| {
        Error::session(sqlstate::SYSTEM_ERROR, format!("cannot listen on {address}: {error}"))
            .hint("Is another server running there? Choose another address with --listen ADDR:PORT.")
    };
    // The standard library sets SO_REUSEADDR; a longer queue is asked for below.
    let listener = TcpListener::bind(address).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let fd = listener.into_raw_fd();
    // SAFETY: a listening socket of our own.
    if unsafe { libc::listen(fd, 4096) } != 0 {
        return Err(refused(std::io::Error::last_os_error()));
    }
    Ok(fd)
}

/// Opens a socket of the file system. What a server has left there that is gone is put out of the way.
fn listen_at(path: &Path, mode: u32) -> Result<i32> {
    let refused = |error: std::io::Error| {
        Error::session(sqlstate::SYSTEM_ERROR, format!("cannot listen on \"{}\": {error}", path.display()))
            .hint("Is another server running there? Choose another directory with --unix-socket-directories.")
    };
    if UnixStream::connect(path).is_ok() {
        return Err(refused(std::io::ErrorKind::AddrInUse.into()));
    }
    match std::fs::symlink_metadata(path) {
        Ok(about) if about.file_type().is_socket() => std::fs::remove_file(path).map_err(refused)?,
        _ => {}
    }
    let listener = UnixListener::bind(path).map_err(refused)?;
    // Nobody is let in before the service is there, so the moment in between lets nobody in either.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let fd = listener.into_raw_fd();
    // SAFETY: a listening socket of our own.
    if unsafe { libc::listen(fd, 4096) } != 0 {
        return Err(refused(std::io::Error::last_os_error()));
    }
    Ok(fd)
}

/// Takes the sockets of the file system away: the server stops.
pub(crate) fn remove_sockets(config: &Config) {
    for path in &config.sockets {
        let _ = std::fs::remove_file(path);
    }
}

pub(crate) fn listeners() -> &'static [i32] {
    LISTENERS.get().map_or(&[], |all| all)
}

fn accept_one(listener: i32) -> Option<i32> {
    if let Some(simulated) = engine::sim::net() {
        return simulated.accept();
    }
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no address is asked for.
    let fd = unsafe { libc::accept4(listener, std::ptr::null_mut(), std::ptr::null_mut(), flags) };
    if fd < 0 {
        if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
            // The supervisor has shut the listener down. Its ports report it for ever; the stop is on its way.
            // SAFETY: plain system call.
            unsafe { libc::usleep(5_000) };
        }
        return None;
    }
    set_options(fd);
    Some(fd)
}

/// Sends at once, and finds out when the other end has gone without a word: such a client holds a session, its memory, and
/// the locks of its transaction. What the system refuses (one that knows no such option) is left as it is.
fn set_options(fd: i32) {
    let set = |level: i32, option: i32, value: i32| {
        // SAFETY: an option of four bytes from a variable of four bytes.
        unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), 4) };
    };
    set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
    set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1);
    let keepalive = &supervisor::config().keepalive;
    for (option, value) in [
        (libc::TCP_KEEPIDLE, keepalive.idle_s),
        (libc::TCP_KEEPINTVL, keepalive.interval_s),
        (libc::TCP_KEEPCNT, keepalive.count),
        (libc::TCP_USER_TIMEOUT, keepalive.user_timeout_ms),
    ] {
        if value > 0 {
            set(libc::IPPROTO_TCP, option, value as i32);
        }
    }
}

/// From here on the client has to say who it is.
fn begin_patience(service: &dyn Service, slot: &SessionShared) {
    if let Some(patience) = service.login_patience() {
        slot.set_deadline(clock::now() + patience, session::Interrupt::IdleTimeout);
    }
}

fn refuse(service: &dyn Service, fd: i32, error: &Error) {
    let bytes = service.refusal(error);
    if let Some(simulated) = engine::sim::net() {
        let _ = simulated.send(fd, &bytes);
        simulated.close(fd);
        return;
    }
    // SAFETY: the slice is valid for the call; the descriptor is ours and closed once.
    unsafe {
        libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
        libc::shutdown(fd, libc::SHUT_WR);
        libc::close(fd);
    }
}

/// Engines with fibers get new sessions in turn.
fn next_home() -> Option<&'static crate::engine::EngineShared> {
    let count = pooled_engines().count().max(1) as u32;
    pooled_engines().nth((group::next_home() % count) as usize)
}

/// Takes connections in for a pooled group: they are parked until their first bytes come.
pub(crate) fn accept_pooled(local: &Local, service: &dyn Service, listener: usize) {
    for _ in 0..ACCEPT_BATCH {
        let Some(fd) = accept_one(port::listener(listener)) else { return };
        let slot = match session::allocate(false) {
            Ok(slot) => slot,
            Err(error) => {
                refuse(service, fd, &error);
                continue;
            }
        };
        local.shared.stats.accepted.add(1);
        begin_patience(service, slot);
        fault::point("accept");
        let home = match local.sessions {
            Sessions::Fiber => next_home().unwrap_or(local.shared),
            _ => local.shared,
        };
        slot.home.store(home.id().0, SeqCst);
        let socket = Socket::opened(slot, fd);
        keep::keep(slot, fd);
        // The registration reports at once what has come already.
        if !register(slot, &socket) {
            eprintln!("gearbox: a connection cannot be registered: {}", std::io::Error::last_os_error());
            slot.send_interrupt(slot.generation(), session::Interrupt::Terminate);
        }
        // Only now: whoever finds it parked relies on its registration.
        slot.set_at_stake(false);
        if !hosting::try_park(slot) {
            slot.run.store(QUEUED, SeqCst);
            hosting::queue(slot);
        }
    }
}

fn wait_and_accept() -> Option<i32> {
    let port = private_port()?;
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // An idle engine looks up now and then, so that a stop is seen even if its signal came just before the call.
    // SAFETY: room for one event.
    let count = unsafe { libc::epoll_wait(port, &mut event, 1, 250) };
    let fd = match count {
        1.. => accept_one(event.u64 as i32)?,
        // The system tells one engine of a client; if that one dies before it has accepted, nobody else is told.
        0 => listeners().iter().find_map(|&listener| accept_one(listener))?,
        _ => return None,
    };
    // A session that holds its engine sleeps in reads of its socket.
    // SAFETY: plain system call on our own descriptor.
    unsafe { libc::fcntl(fd, libc::F_SETFL, 0) };
    Some(fd)
}

/// Sleeps until a client connects, for an engine of a dedicated group. None after a signal, or if it was refused.
pub(crate) fn accept_sleeping(local: &Local, service: &dyn Service) -> Option<(&'static SessionShared, Socket)> {
    let fd = match engine::sim::net() {
        Some(simulated) => simulated.accept_sleeping(250_000_000)?,
        None => wait_and_accept()?,
    };
    match session::allocate(false) {
        Ok(slot) => {
            local.shared.stats.accepted.add(1);
            slot.engine.store(local.shared.id().0, SeqCst);
            begin_patience(service, slot);
            Some((slot, Socket::opened(slot, fd)))
        }
        Err(error) => {
            refuse(service, fd, &error);
            None
        }
    }
}

thread_local! {
    static PRIVATE: std::cell::Cell<i32> = const { std::cell::Cell::new(-1) };
}

/// Closes the calling engine's own epoll instance; it ends.
pub(crate) fn close_private_port() {
    let port = PRIVATE.replace(-1);
    if port >= 0 {
        // SAFETY: this thread's own descriptor, which nobody else knows.
        unsafe { libc::close(port) };
    }
}

/// A dedicated engine's own epoll instance: of those that sleep on the listeners, the system wakes one.
fn private_port() -> Option<i32> {
    if PRIVATE.get() < 0 {
        // SAFETY: plain system call.
        let port = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        for &listener in listeners() {
            let events = (libc::EPOLLIN | libc::EPOLLEXCLUSIVE) as u32;
            let mut event = libc::epoll_event { events, u64: listener as u64 };
            // SAFETY: the event is valid for the call.
            unsafe { libc::epoll_ctl(port, libc::EPOLL_CTL_ADD, listener, &mut event) };
        }
        PRIVATE.set(port);
    }
    (PRIVATE.get() >= 0).then(|| PRIVATE.get())
}
