//! A client's socket as one process sees it, and the process's table of descriptors.

use super::keep;
use crate::engine::{Local, State};
use crate::hosting::{self, group};
use crate::session::{self, Received, SessionShared};
use crate::wait::{self, Event};
use crate::{clock, engine};
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
// Its calls are instructions in this program's code. After a sleep, those of the C library cost a look-up of one more page.
use rustix::net::{self, RecvFlags, SendFlags};
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// This process's descriptors of sessions' sockets, by slot: the generation in the high half, the descriptor plus one in
/// the low half.
static TABLE: OnceLock<Vec<AtomicU64>> = OnceLock::new();
static SWEPT: AtomicU32 = AtomicU32::new(0);

/// Prepares the process's table. Once per host, after its fork.
pub(crate) fn init_host() {
    TABLE.get_or_init(|| session::slots().iter().map(|_| AtomicU64::new(0)).collect());
}

fn entry(slot: &SessionShared) -> &'static AtomicU64 {
    if let Some(sockets) = engine::sim::sockets() {
        return &sockets[slot.id().0 as usize];
    }
    &TABLE.get().expect("the host's table of sockets is made at its start")[slot.id().0 as usize]
}

fn pack(generation: u32, fd: i32) -> u64 {
    (generation as u64) << 32 | (fd + 1) as u64
}

fn unpack(word: u64) -> Option<(u32, i32)> {
    (word != 0).then_some(((word >> 32) as u32, word as u32 as i32 - 1))
}

fn close_fd(fd: i32) {
    if let Some(simulated) = engine::sim::net() {
        return simulated.close(fd);
    }
    // SAFETY: a descriptor of this process's table, taken out of it by the caller.
    unsafe { libc::close(fd) };
}

/// A client's socket while an engine serves the session. Copies the descriptor, does not own it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Socket {
    fd: i32,
}

/// Why nothing could be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SendError {
    /// The client does not read.
    WouldBlock,
    /// The connection is gone.
    Broken,
}

impl Socket {
    /// No socket: whose other end is gone.
    pub(crate) fn none() -> Socket {
        Socket { fd: -1 }
    }

    /// Enters a socket that this process has just opened for the session.
    pub(crate) fn opened(slot: &SessionShared, fd: i32) -> Socket {
        slot.socket_fd.store(fd, Relaxed);
        let pid = engine::sim::own_ids().map_or_else(|| std::process::id() as i32, |ids| ids.0);
        slot.socket_pid.store(pid, Release);
        let stale = entry(slot).swap(pack(slot.generation(), fd), SeqCst);
        if let Some((_, stale)) = unpack(stale) {
            close_fd(stale);
        }
        Socket { fd }
    }

    /// The session's socket in this process, if it has been here. For whoever does not run the session.
    pub(crate) fn known(slot: &SessionShared) -> Option<Socket> {
        let (of, fd) = unpack(entry(slot).load(Acquire))?;
        (of == slot.generation()).then_some(Socket { fd })
    }

    /// The session's socket in this process; taken from another process the first time.
    ///
    /// Only for who runs the session, or cleans up after it: else it may end at any moment, and the next one of its slot
    /// would be given its socket.
    pub(crate) fn of(slot: &SessionShared) -> Option<Socket> {
        if let Some(socket) = Socket::known(slot) {
            return Some(socket);
        }
        let generation = slot.generation();
        let fd = keep::take(slot)?;
        if let Some((_, stale)) = unpack(entry(slot).swap(pack(generation, fd), SeqCst)) {
            close_fd(stale);
        }
        Some(Socket { fd })
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the table keeps the descriptor open for as long as it gives this socket out.
        unsafe { BorrowedFd::borrow_raw(self.fd) }
    }

    /// The descriptor in this process.
    pub(crate) fn fd(&self) -> i32 {
        self.fd
    }

    /// The other end's address.
    pub(crate) fn peer(&self) -> Option<std::net::SocketAddr> {
        if engine::sim::net().is_some() {
            return None;
        }
        let mut storage = std::mem::MaybeUninit::<libc::sockaddr_storage>::zeroed();
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        // SAFETY: the buffer is as long as `length` says, and was zeroed, so it is initialised whatever the call writes.
        let storage = unsafe {
            if libc::getpeername(self.fd, storage.as_mut_ptr().cast(), &mut length) != 0 {
                return None;
            }
            storage.assume_init()
        };
        match storage.ss_family as i32 {
            libc::AF_INET => {
                // SAFETY: the family says what the storage holds, and it is large enough for any.
                let v4 = unsafe { &*(&raw const storage).cast::<libc::sockaddr_in>() };
                let address = std::net::Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
                Some((address, u16::from_be(v4.sin_port)).into())
            }
            libc::AF_INET6 => {
                // SAFETY: as above.
                let v6 = unsafe { &*(&raw const storage).cast::<libc::sockaddr_in6>() };
                let address = std::net::Ipv6Addr::from(v6.sin6_addr.s6_addr);
                Some((address, u16::from_be(v6.sin6_port)).into())
            }
            _ => None,
        }
    }

    /// The user of the operating system at the other end of a socket of the file system.
    pub(crate) fn peer_user(&self) -> Option<u32> {
        if engine::sim::net().is_some() {
            return None;
        }
        let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: the buffer is as long as `length` says.
        let got = unsafe {
            libc::getsockopt(self.fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut found).cast(), &mut length)
        };
        // A socket of the network has no user at its other end.
        (got == 0 && self.peer().is_none() && found.pid > 0).then_some(found.uid)
    }

    /// Appends what has come to `into`. With `may_sleep` the call sleeps until something comes or a signal arrives.
    pub(crate) fn receive(&self, into: &mut Vec<u8>, may_sleep: bool) -> Received {
        if let Some(simulated) = engine::sim::net() {
            return simulated.receive(self.fd, into, may_sleep);
        }
        let room = into.capacity() - into.len();
        let flags = if may_sleep { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        match net::recv(self.as_fd(), spare_capacity(into), flags) {
            Ok((0, _)) => Received::Closed,
            Ok((got, _)) => Received::Bytes(got == room),
            Err(Errno::AGAIN | Errno::INTR) => Received::Nothing,
            Err(_) => Received::Closed,
        }
    }

    /// Sends some bytes.
    pub(crate) fn send(&self, bytes: &[u8]) -> Result<usize, SendError> {
        if let Some(simulated) = engine::sim::net() {
            return simulated.send(self.fd, bytes);
        }
        match net::send(self.as_fd(), bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => Ok(sent),
            Err(Errno::AGAIN | Errno::INTR) => Err(SendError::WouldBlock),
            Err(_) => Err(SendError::Broken),
        }
    }

    /// Waits, inside a request, until the socket may be read or written. False if an interrupt ended the wait.
    pub(crate) fn wait(&self, slot: &'static SessionShared, event: Event, writable: bool) -> bool {
        let events = if writable { libc::POLLOUT } else { libc::POLLIN };
        let fiber = engine::local().is_some_and(|local| local.fiber.get().is_some());
        if !fiber {
            if let Some(simulated) = engine::sim::net() {
                let _block = group::Block::begin_for(event);
                wait::announced(event, || simulated.poll(self.fd, writable, 100_000_000));
                return slot.interrupt().is_none();
            }
            let mut poll = libc::pollfd { fd: self.fd, events, revents: 0 };
            let _block = group::Block::begin_for(event);
            // The time-out repairs a signal that comes just before the call.
            // SAFETY: one entry, valid for the call.
            wait::announced(event, || unsafe { libc::poll(&mut poll, 1, 100) });
            return slot.interrupt().is_none();
        }
        slot.socket_wait.store(1, SeqCst);
        // Whoever sees the flag posts; what came before it was set is seen here.
        let woken = match self.is_ready(events) {
            true => wait::Woken::Posted,
            false => wait::wait(event, 0, Some(clock::now() + 1_000_000_000)),
        };
        slot.socket_wait.store(0, SeqCst);
        !matches!(woken, wait::Woken::Interrupted(_))
    }

    /// True if a read would find something, the end included.
    pub(crate) fn has_input(&self) -> bool {
        self.is_ready(libc::POLLIN)
    }

    fn is_ready(&self, events: i16) -> bool {
        if let Some(simulated) = engine::sim::net() {
            return simulated.is_ready(self.fd, events == libc::POLLOUT);
        }
        let mut poll = libc::pollfd { fd: self.fd, events, revents: 0 };
        // SAFETY: one entry, valid for the call.
        unsafe { libc::poll(&mut poll, 1, 0) > 0 }
    }
}

/// Closes the session's socket for good: the client sees the end, other processes will close their duplicates.
pub(crate) fn close(slot: &SessionShared, socket: &Socket) {
    if socket.fd < 0 {
        return;
    }
    entry(slot).store(0, SeqCst);
    if let Some(simulated) = engine::sim::net() {
        simulated.shutdown(socket.fd);
        simulated.close(socket.fd);
        keep::release(slot);
        return;
    }
    // SAFETY: the descriptor is this process's own duplicate; nobody uses it after this.
    unsafe {
        libc::shutdown(socket.fd, libc::SHUT_RDWR);
        libc::close(socket.fd);
    }
    keep::release(slot);
}

/// Has engines that sleep in other processes close the descriptors of sessions that have ended: they would keep them for
/// as long as nothing wakes them. The background host's first thread has one and uses it many times a second; it acts
/// twice a second at most, and only when sessions have ended.
#[derive(Default)]
pub(crate) struct Sweeping {
    told: u32,
    told_at: clock::Nanos,
}

impl Sweeping {
    /// See above.
    pub(crate) fn go_on(&mut self) {
        const PAUSE_NS: clock::Nanos = 500_000_000;
        let (ended, now) = (group::sessions_ended(), clock::now());
        if self.told == ended || !keep::needed() || now < self.told_at + PAUSE_NS {
            return;
        }
        (self.told, self.told_at) = (ended, now);
        for engine in engine::engines().iter().skip(engine::BACKGROUND_ENGINES as usize) {
            if matches!(engine.state(), State::Idle | State::StandBy) {
                hosting::disturb(engine);
            }
        }
    }
}

/// Closes descriptors of sessions that have ended elsewhere. Cheap when none has.
pub(crate) fn sweep(local: &Local) {
    let ended = group::sessions_ended();
    let swept = engine::sim::swept().unwrap_or(&SWEPT);
    if swept.load(Relaxed) == ended || local.kind != crate::config::EngineKind::Process {
        return;
    }
    swept.store(ended, Relaxed);
    for slot in session::slots() {
        let entry = entry(slot);
        let word = entry.load(Relaxed);
        if let Some((generation, fd)) = unpack(word)
            && generation != slot.generation()
            && entry.compare_exchange(word, 0, SeqCst, SeqCst).is_ok()
        {
            close_fd(fd);
        }
    }
}
