//! Simulated clients: code in direct style that connects, sends, receives and sleeps, on a strand of its own.
//!
//! A client is no part of the server: nothing kills it, and the kernel knows nothing of it. A panic in it is a failed run.

use super::pipe::Arrival;
use super::strand::{Key, Wake};
use super::world::World;
use crate::clock::Nanos;
use std::rc::Rc;

/// The connection is gone, or nobody answers within the time given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Broken {
    /// Nobody listens.
    Refused,
    /// The connection broke.
    Reset,
    /// The server has closed it.
    Closed,
    /// The time is over.
    TimedOut,
}

/// A client's means: at most one connection at a time, a clock, and chance.
pub struct SimConn {
    world: &'static World,
    number: Option<u32>,
    input: Vec<u8>,
    /// How much of the input is known to hold no end of a line.
    scanned: usize,
}

impl SimConn {
    /// # Safety
    /// The world outlives the strand that uses the value.
    pub(super) unsafe fn new(world: *const World) -> SimConn {
        // SAFETY: the caller's promise.
        SimConn { world: unsafe { &*world }, number: None, input: Vec::new(), scanned: 0 }
    }

    /// Connects, giving up an earlier connection.
    pub fn connect(&mut self) -> Result<(), Broken> {
        self.close();
        self.sleep(self.world.random.between(1_000, 50_000));
        self.number = self.world.net.connect(self.world);
        self.number.map(drop).ok_or(Broken::Refused)
    }

    /// Connects, trying again and again while nobody listens.
    pub fn connect_patiently(&mut self) {
        while self.connect().is_err() {
            self.sleep(2_000_000);
        }
    }

    /// True while there is a connection that has not been seen to end.
    pub fn is_connected(&self) -> bool {
        self.number.is_some()
    }

    fn conn(&self) -> Result<Rc<super::net::Conn>, Broken> {
        let conn = self.world.net.conn(self.number.ok_or(Broken::Closed)?);
        if conn.broken.get() { Err(Broken::Reset) } else { Ok(conn) }
    }

    fn give_up<T>(&mut self, why: Broken) -> Result<T, Broken> {
        self.close();
        Err(why)
    }

    /// Sends all of the bytes, waiting where the server does not read.
    pub fn send(&mut self, mut bytes: &[u8]) -> Result<(), Broken> {
        while !bytes.is_empty() {
            let conn = match self.conn() {
                Ok(conn) => conn,
                Err(why) => return self.give_up(why),
            };
            let sent = conn.to_server.put(bytes);
            bytes = &bytes[sent..];
            let number = self.number.unwrap_or_default();
            self.world.net.dispatch(self.world, number, true);
            if !bytes.is_empty() {
                self.world.sleep([Key::ClientEnd(number), Key::None], None);
            }
        }
        Ok(())
    }

    /// Receives what has come, waiting until something does; an end of the stream is [`Broken::Closed`].
    pub fn receive(&mut self, deadline: Option<Nanos>) -> Result<Vec<u8>, Broken> {
        loop {
            let conn = match self.conn() {
                Ok(conn) => conn,
                Err(why) => return self.give_up(why),
            };
            let number = self.number.unwrap_or_default();
            // A reader takes what suits it.
            let room = self.world.random.pick(&[7, 100, 64 << 10]);
            let mut bytes = Vec::new();
            match conn.to_client.take(&mut bytes, room) {
                Arrival::Bytes(_) => {
                    if conn.to_client.has_made_room() {
                        self.world.net.edge(self.world, &conn);
                    }
                    return Ok(bytes);
                }
                Arrival::End => return self.give_up(Broken::Closed),
                Arrival::Nothing => {
                    let woken = self.world.sleep([Key::ClientEnd(number), Key::None], deadline);
                    if woken == Wake::TimedOut && deadline.is_some_and(|at| self.world.now() >= at) {
                        return Err(Broken::TimedOut);
                    }
                }
            }
        }
    }

    /// Receives a line, without its end.
    pub fn line(&mut self) -> Result<String, Broken> {
        self.line_before(None)
    }

    /// Receives a line, waiting until `deadline` at most; what has come of it by then stays for the next call.
    pub fn line_before(&mut self, deadline: Option<Nanos>) -> Result<String, Broken> {
        loop {
            if let Some(end) = self.input[self.scanned..].iter().position(|&byte| byte == b'\n') {
                let end = self.scanned + end;
                self.scanned = 0;
                let line: Vec<u8> = self.input.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            self.scanned = self.input.len();
            let more = self.receive(deadline)?;
            self.input.extend(more);
        }
    }

    /// Sends a line and receives one.
    pub fn ask(&mut self, line: &str) -> Result<String, Broken> {
        self.send(format!("{line}\n").as_bytes())?;
        self.line()
    }

    /// Sends nothing more; what the server still sends can be received.
    pub fn finish_sending(&mut self) {
        if let Ok(conn) = self.conn() {
            conn.to_server.finish();
            self.world.net.dispatch(self.world, self.number.unwrap_or_default(), true);
        }
    }

    /// Closes the connection, if there is one.
    pub fn close(&mut self) {
        self.input.clear();
        self.scanned = 0;
        if let Some(number) = self.number.take() {
            let conn = self.world.net.conn(number);
            conn.client_open.set(false);
            if conn.to_client.unread() {
                self.world.net.reset(self.world, &conn);
            } else {
                conn.to_server.finish();
                self.world.net.dispatch(self.world, number, true);
            }
        }
    }

    /// Breaks the connection rather than close it.
    pub fn reset(&mut self) {
        self.input.clear();
        self.scanned = 0;
        if let Some(number) = self.number.take() {
            let conn = self.world.net.conn(number);
            conn.client_open.set(false);
            self.world.net.reset(self.world, &conn);
        }
    }

    /// Lets time pass, in nanoseconds.
    pub fn sleep(&self, span: Nanos) {
        let until = self.world.now() + span;
        while self.world.now() < until {
            self.world.sleep([Key::None; 2], Some(until));
        }
    }

    /// Simulated time.
    pub fn now(&self) -> Nanos {
        self.world.now()
    }

    /// A number below `bound`, which is not zero, from the seed.
    pub fn random(&self, bound: u64) -> u64 {
        self.world.random.below(bound)
    }

    /// How often the server has restarted as a whole, or lost its power: what it kept in memory only went with it.
    pub fn restarts(&self) -> u32 {
        self.world.restarts()
    }

    /// Cuts the server's power.
    pub fn cut_power(&self) {
        self.world.cut_power();
    }
}
