//! Messages between the supervisor and its hosts: over a socket pair made before the first fork, in packets of 16 bytes.
//!
//! All hosts share one end; a descriptor may come along. The background host has a pair of its own, because messages to it
//! must not be read by others.

use crate::config::EngineKind;
use crate::net::KeptMessage;
use base::{Error, Result, sqlstate};
use std::collections::VecDeque;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A message. Those above the line go to the supervisor, those below to the background host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    /// Recovery is done.
    Ready,
    /// The group of processes wants another engine.
    MoreEngines,
    /// The host has been cleaned up after.
    Reaped(u32),
    /// At a stop: no session is left.
    SessionsGone,
    /// About a client's socket.
    Kept(KeptMessage),
    // ----
    /// The host has died.
    Died(u32),
    /// Sessions are to end.
    Stop,
    /// The files of the service are to be read again.
    Reload,
}

impl Message {
    fn encode(self) -> [u32; 4] {
        match self {
            Message::Ready => [1, 0, 0, 0],
            Message::MoreEngines => [2, 0, 0, 0],
            Message::Reaped(host) => [3, host, 0, 0],
            Message::SessionsGone => [4, 0, 0, 0],
            Message::Kept(kept) => [5, kept.slot, kept.generation, kept.keep as u32],
            Message::Died(host) => [6, host, 0, 0],
            Message::Stop => [7, 0, 0, 0],
            Message::Reload => [8, 0, 0, 0],
        }
    }

    fn decode(words: [u32; 4]) -> Option<Message> {
        Some(match words {
            [1, ..] => Message::Ready,
            [2, ..] => Message::MoreEngines,
            [3, host, ..] => Message::Reaped(host),
            [4, ..] => Message::SessionsGone,
            [5, slot, generation, keep] => Message::Kept(KeptMessage { slot, generation, keep: keep != 0 }),
            [6, host, ..] => Message::Died(host),
            [7, ..] => Message::Stop,
            [8, ..] => Message::Reload,
            _ => return None,
        })
    }
}

/// The two socket pairs.
#[derive(Clone, Copy)]
pub(crate) struct Channel {
    supervisor: [i32; 2],
    background: [i32; 2],
}

static CHANNEL: OnceLock<Channel> = OnceLock::new();

fn pair() -> Result<[i32; 2]> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    let result =
        unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, ends.as_mut_ptr()) };
    if result != 0 {
        return Err(Error::session(sqlstate::SYSTEM_ERROR, "a socket pair cannot be made")
            .detail(std::io::Error::last_os_error().to_string()));
    }
    Ok(ends)
}

/// Sends a message; false if there is no room and `flags` say not to wait for it.
fn send(fd: i32, message: Message, with: Option<i32>, flags: i32) -> bool {
    let words = message.encode();
    let mut part = libc::iovec { iov_base: words.as_ptr().cast_mut().cast(), iov_len: 16 };
    let mut control = [0u64; 4];
    // SAFETY: (1) the header's parts are valid for the call; (2) the control buffer has room for one descriptor.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &mut part;
        header.msg_iovlen = 1;
        if let Some(descriptor) = with {
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = libc::CMSG_SPACE(4) as usize;
            let first = libc::CMSG_FIRSTHDR(&header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(4) as usize;
            libc::CMSG_DATA(first).cast::<i32>().write_unaligned(descriptor);
        }
        loop {
            if libc::sendmsg(fd, &header, libc::MSG_NOSIGNAL | flags) >= 0 {
                return true;
            }
            match std::io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN) => return false,
                // The other side is gone: there is nobody to tell.
                _ => return true,
            }
        }
    }
}

fn receive(fd: i32) -> Option<(Message, Option<OwnedFd>)> {
    let mut words = [0u32; 4];
    let mut part = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: 16 };
    let mut control = [0u64; 4];
    // SAFETY: (1) the header's parts are valid for the call; (2) a descriptor that came is owned from here on.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control);
        let got = libc::recvmsg(fd, &mut header, libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC);
        if got != 16 {
            return None;
        }
        let first = libc::CMSG_FIRSTHDR(&header);
        let descriptor = (!first.is_null() && (*first).cmsg_type == libc::SCM_RIGHTS)
            .then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(first).cast::<i32>().read_unaligned()));
        Some((Message::decode(words)?, descriptor))
    }
}

impl Channel {
    /// Makes the pairs. Once, before the first fork.
    pub(crate) fn make() -> Result<Channel> {
        let channel = Channel { supervisor: pair()?, background: pair()? };
        let _ = CHANNEL.set(channel);
        Ok(channel)
    }

    /// The descriptor that the supervisor waits for.
    pub(crate) fn supervisor_end(&self) -> i32 {
        self.supervisor[0]
    }

    /// The next message to the supervisor, if there is one.
    pub(crate) fn receive(&self) -> Option<(Message, Option<OwnedFd>)> {
        receive(self.supervisor[0])
    }

    /// Sends a message to the background host; false if it has no room for it now.
    pub(crate) fn try_tell_background(&self, message: Message) -> bool {
        send(self.background[0], message, None, libc::MSG_DONTWAIT)
    }
}

/// The descriptor that the background host waits for.
pub(super) fn background_end() -> i32 {
    CHANNEL.get().map_or(-1, |channel| channel.background[1])
}

/// The next message to the background host, if there is one.
pub(super) fn receive_background() -> Option<Message> {
    if let Some(message) = crate::engine::sim::next_message() {
        return message;
    }
    let early = early().pop_front();
    early.or_else(|| receive(background_end()).map(|received| received.0))
}

/// Messages that were read before their time.
static EARLY: Mutex<VecDeque<Message>> = Mutex::new(VecDeque::new());

fn early() -> MutexGuard<'static, VecDeque<Message>> {
    EARLY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hosts of whose death the background host has been told and has not heard.
pub(super) fn unread_deaths() -> Vec<u32> {
    let died = |message: &Message| match message {
        Message::Died(host) => Some(*host),
        _ => None,
    };
    if let Some(unread) = crate::engine::sim::unread_messages() {
        return unread.iter().filter_map(died).collect();
    }
    let mut early = early();
    early.extend(std::iter::from_fn(|| receive(background_end())).map(|received| received.0));
    early.iter().filter_map(died).collect()
}

/// Sends a message to the supervisor, from any host.
pub(super) fn tell(message: Message) {
    if crate::engine::sim::tell_supervisor(message) {
        return;
    }
    if let Some(channel) = CHANNEL.get() {
        send(channel.supervisor[1], message, None, 0);
    }
}

/// Sends the supervisor a message about a client's socket.
pub(crate) fn tell_kept(message: KeptMessage, fd: Option<i32>) {
    if crate::engine::sim::tell_supervisor(Message::Kept(message)) {
        return;
    }
    if let Some(channel) = CHANNEL.get() {
        send(channel.supervisor[1], Message::Kept(message), fd, 0);
    }
}

/// Asks whoever makes engines for another one.
pub(crate) fn ask_for_engine() {
    match super::config().engine {
        EngineKind::Process => tell(Message::MoreEngines),
        EngineKind::Thread => crate::engine::thread::ask(),
        EngineKind::Sim => crate::engine::sim::ask_for_engine(),
    }
}

/// Tells the supervisor that a host has been cleaned up after.
pub(crate) fn say_reaped(host: u32) {
    tell(Message::Reaped(host));
}
