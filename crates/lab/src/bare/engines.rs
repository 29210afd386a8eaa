//! The six loops.
//!
//! The one that accepts gives each connection away: to an engine of its own, or over channels to engines that stand on epoll
//! instances. Engines of a shared instance all get every connection (whoever is woken serves it), engines with an instance of their own
//! every so-manieth. An event names its connection by the order in which connections came, so an engine that is told of one
//! that it does not know takes connections from its channel until it does.

use super::answers::Answers;
use super::channel::Channel;
use super::{ENGINE, Model};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use std::io::{ErrorKind, Read, Result, Write};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};

/// What an engine of its own serves connections with.
const DEDICATED: &str = "dedicated";
/// More than a client ever sends at once.
const REQUEST_MAX: usize = 4096;
/// How many connections an engine looks after before it looks for more.
const BATCH: usize = 64;

/// An engine for each connection.
pub(super) fn dedicated(listener: &TcpListener, model: Model) -> Result<()> {
    loop {
        let socket = accept(listener)?;
        let (channel, theirs) = Channel::pair()?;
        start(model, theirs)?;
        channel.send(socket.as_fd())?;
    }
}

/// A number of engines for all connections.
pub(super) fn pooled(listener: &TcpListener, model: Model, count: usize) -> Result<()> {
    let shared = model.sessions == "shared";
    let mut channels = Vec::new();
    let mut instances: Vec<OwnedFd> = Vec::new();
    for _ in 0..count {
        if instances.is_empty() || !shared {
            instances.push(epoll::create(CreateFlags::CLOEXEC)?);
        }
        let (channel, theirs) = Channel::pair()?;
        start(model, theirs)?;
        channel.send(instances[instances.len() - 1].as_fd())?;
        channels.push(channel);
    }
    for number in 0.. {
        let socket = accept(listener)?;
        socket.set_nonblocking(true)?;
        let at = number % instances.len();
        let (mine, index) =
            if shared { (&channels[..], number) } else { (&channels[at..=at], number / channels.len()) };
        for channel in mine {
            channel.send(socket.as_fd())?;
        }
        let data = EventData::new_u64(index as u64);
        epoll::add(&instances[at], &socket, data, EventFlags::IN | EventFlags::ET)?;
    }
    Ok(())
}

fn accept(listener: &TcpListener) -> Result<TcpStream> {
    let (socket, _) = listener.accept()?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// Starts an engine that serves what comes over a channel. One that is a process ends with the one that started it.
fn start(model: Model, channel: OwnedFd) -> Result<()> {
    let sessions = model.sessions;
    if !model.process {
        std::thread::spawn(move || serve(&Channel::of(channel), sessions));
        return Ok(());
    }
    let program = std::env::current_exe()?;
    let words = ["--pdeathsig", "KILL"];
    let mut command = Command::new("setpriv");
    command.args(words).arg(program).args(["lab", ENGINE, sessions]).stdin(Stdio::from(channel));
    let mut child = command.spawn()?;
    // Somebody has to wait for it, or it stays as a zombie whose CPU time nobody counts.
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// An engine's loop; ends when its channel or its connection does.
pub(super) fn serve(channel: &Channel, sessions: &str) -> Result<()> {
    let answers = Answers::new();
    let mut request = [0; REQUEST_MAX];
    if sessions == DEDICATED {
        let mut socket = TcpStream::from(channel.receive()?);
        loop {
            let length = socket.read(&mut request)?;
            let Some(answer) = answers.to(&request[..length]) else { return Ok(()) };
            socket.write_all(answer)?;
        }
    }
    let instance = channel.receive()?;
    // An engine that serves its requests one after the other takes one at a time, so that others take the rest.
    let batch = if sessions == "shared" { 1 } else { BATCH };
    let mut sockets: Vec<Option<TcpStream>> = Vec::new();
    let mut events = [MaybeUninit::<Event>::uninit(); BATCH];
    loop {
        let (ready, _) = epoll::wait(&instance, &mut events[..batch], None)?;
        for event in ready {
            let index = event.data.u64() as usize;
            while sockets.len() <= index {
                sockets.push(Some(TcpStream::from(channel.receive()?)));
            }
            let Some(socket) = &mut sockets[index] else { continue };
            let length = match socket.read(&mut request) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                read => read.unwrap_or(0),
            };
            let answered = answers.to(&request[..length]).is_some_and(|answer| socket.write_all(answer).is_ok());
            if !answered {
                sockets[index] = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(socket: &mut TcpStream, request: &[u8]) -> u8 {
        socket.write_all(request).unwrap();
        let mut answer = [0; REQUEST_MAX];
        assert!(socket.read(&mut answer).unwrap() > 0);
        answer[0]
    }

    #[test]
    fn every_loop_of_threads_answers_every_connection() {
        for sessions in super::super::SESSIONS {
            let model = Model { process: false, sessions };
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            std::thread::spawn(move || match sessions {
                DEDICATED => dedicated(&listener, model),
                _ => pooled(&listener, model, 2),
            });
            let mut sockets: Vec<TcpStream> = (0..5).map(|_| TcpStream::connect(address).unwrap()).collect();
            for _ in 0..3 {
                for socket in &mut sockets {
                    assert_eq!(ask(socket, b"B"), b'2', "{sessions}");
                }
            }
            let mut last = sockets.pop().unwrap();
            last.write_all(b"X").unwrap();
            drop(last);
            assert_eq!(ask(&mut sockets[0], b"P"), b'1', "{sessions}");
        }
    }
}
