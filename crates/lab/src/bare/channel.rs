//! How an engine that is a process gets its sockets: descriptors over a Unix socket, one a message.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Result};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Carries descriptors in the order in which they were sent.
pub(super) struct Channel(UnixStream);

impl Channel {
    /// Two ends.
    pub(super) fn pair() -> Result<(Channel, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Channel(ours), theirs.into()))
    }

    /// An end that was made here.
    pub(super) fn of(end: OwnedFd) -> Channel {
        Channel(end.into())
    }

    /// The end that a parent has made this process's standard input.
    pub(super) fn of_standard_input() -> Result<Channel> {
        Ok(Channel(std::io::stdin().as_fd().try_clone_to_owned()?.into()))
    }

    /// Sends a descriptor.
    pub(super) fn send(&self, descriptor: BorrowedFd<'_>) -> Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [descriptor];
        control.push(SendAncillaryMessage::ScmRights(&fds));
        rustix::net::sendmsg(&self.0, &[IoSlice::new(b"f")], &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// The next descriptor; sleeps until it comes. The end of the channel is an error.
    pub(super) fn receive(&self) -> Result<OwnedFd> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        rustix::net::recvmsg(&self.0, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(mut descriptors) = message
                && let Some(descriptor) = descriptors.next()
            {
                return Ok(descriptor);
            }
        }
        Err(Error::from(ErrorKind::UnexpectedEof))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_descriptor_that_was_sent_is_the_same_file() {
        let (ours, theirs) = Channel::pair().unwrap();
        let theirs = Channel::of(theirs);
        let (mut left, right) = UnixStream::pair().unwrap();
        ours.send(right.as_fd()).unwrap();
        drop(right);
        let mut right = UnixStream::from(theirs.receive().unwrap());
        left.write_all(b"x").unwrap();
        let mut byte = [0];
        right.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"x");
        drop(ours);
        assert_eq!(theirs.receive().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}
