//! A stream socket that never blocks, and what is on its way in and out.
//!
//! Rules
//! 1. It is watched edge-triggered. A read that fills less than the room it was given has emptied the socket, so no second
//!    one is made, unless the other side has hung up: nobody would tell us of the end again. A write that the socket does not take whole is finished when it can be written again.
//! 2. What was read goes through one buffer per thread. Only the part of a message that is still incomplete is kept here.

use crate::error;
use base::Result;
use bytes::{Buf, BytesMut};
use rustix::event::epoll;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, sockopt};
use std::net::SocketAddr;

/// One connection's socket.
pub struct Socket {
    fd: OwnedFd,
    /// What is to be sent.
    pub out: BytesMut,
    /// The beginning of a message whose end has not come.
    rest: Vec<u8>,
    drained: bool,
    hung_up: bool,
}

/// What a read found.
#[derive(PartialEq, Eq, Debug)]
pub enum Read {
    /// So many bytes are in the buffer.
    Some(usize),
    /// Nothing now.
    Nothing,
    /// The server has closed the connection, or it broke.
    End,
}

impl Socket {
    /// Begins to connect; the socket can be written to when that has succeeded.
    ///
    /// # Errors
    /// `58000` if the system has no socket for us, `08006` if the server is known at once not to be there.
    pub fn connect(address: SocketAddr) -> Result<Socket> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
            .map_err(|error| error::system("no socket", error).hint("Raise the limit of open files: ulimit -n."))?;
        sockopt::set_tcp_nodelay(&fd, true).map_err(|error| error::system("TCP_NODELAY", error))?;
        match rustix::net::connect(&fd, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(unreachable(address, error)),
        }
        Ok(Socket { fd, out: BytesMut::with_capacity(512), rest: Vec::new(), drained: false, hung_up: false })
    }

    /// Has events of this socket reported with this number.
    pub fn watch(&self, epoll: BorrowedFd<'_>, number: u64) -> Result<()> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(epoll, &self.fd, epoll::EventData::new_u64(number), flags)
            .map_err(|error| error::system("epoll", error))
    }

    /// Why connecting failed, if it did.
    pub fn failure(&self) -> Option<Errno> {
        sockopt::socket_error(&self.fd).ok().and_then(|state| state.err())
    }

    /// Sends what there is to send, as far as the socket takes it. False if the connection is broken.
    pub fn flush(&mut self) -> bool {
        while !self.out.is_empty() {
            match rustix::net::send(self.fd.as_fd(), &self.out, SendFlags::NOSIGNAL) {
                Ok(count) if count == self.out.len() => self.out.clear(),
                Ok(count) => self.out.advance(count),
                Err(Errno::AGAIN) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// An event says that there may be something to read.
    pub fn readable(&mut self, event: epoll::EventFlags) {
        self.drained = false;
        self.hung_up |= event.intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
    }

    /// Reads into `buffer`, behind what was left of the last time. [`Socket::keep`] has to be told what was not used.
    pub fn read(&mut self, buffer: &mut [u8]) -> Read {
        if self.drained {
            return Read::Nothing;
        }
        let kept = self.rest.len();
        loop {
            return match rustix::net::recv(self.fd.as_fd(), &mut buffer[kept..], RecvFlags::empty()) {
                Ok((_, 0)) => Read::End,
                Ok((_, count)) => {
                    self.drained = !self.hung_up && count < buffer.len() - kept;
                    buffer[..kept].copy_from_slice(&self.rest);
                    self.rest.clear();
                    Read::Some(kept + count)
                }
                Err(Errno::AGAIN) => {
                    self.drained = true;
                    Read::Nothing
                }
                Err(Errno::INTR) => continue,
                Err(_) => Read::End,
            };
        }
    }

    /// Keeps what is the beginning of a message.
    pub fn keep(&mut self, rest: &[u8]) {
        self.rest.extend_from_slice(rest);
    }

    /// How much of the buffer is taken before the next read begins.
    pub fn kept(&self) -> usize {
        self.rest.len()
    }
}

/// The error for a server that is not there.
pub fn unreachable(address: SocketAddr, error: impl std::fmt::Display) -> base::Error {
    error::server(format!("no server at {address}: {error}"))
        .hint("Start it, or give its address with --server HOST:PORT.")
}
