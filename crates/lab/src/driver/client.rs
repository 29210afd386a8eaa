//! One client of a load: a connection and what it is doing.
//!
//! ```text
//!                 ┌────────────── with a connection for each transaction ─────────────┐
//!                 ▼                                                                   │
//!   Away ─▶ Connecting ─▶ Greeting ─▶ Preparing ─▶ Resting ─▶ Answering ─▶ (done) ─▶ Resting
//!                                                     ▲         │    ▲
//!                                                     │      Pausing │ (\sleep in a script)
//!                                                     └── Cleaning ◀─┘ (ROLLBACK after an error)
//! ```
//!
//! Definitions
//! - A client is *due* at the time at which it should begin; it *begins* when the driver gets to it. The time between
//!   is the driver's own delay and is counted apart.
//! - An answer is *seen* when the thread's wait for events returned with it.
//!
//! Rules
//! 1. The time of a transaction goes from its beginning to the moment its last answer was seen, and with arrivals also
//!    contains how long it waited for a free client: that is the server's doing, not the driver's.
//! 2. A transaction with an error is counted under its SQLSTATE and not under anything else.
//! 3. Only what ends within the window is measured; all that ever committed is counted apart, to compare with the server.

use super::socket::{Read, Socket};
use super::times::Times;
use super::wire::{Answer, Keep, Prepared, Protocol, Wire};
use crate::address::Address;
use crate::workload::script::{Action, Frame, Mix, Presets};
use base::{Error, Result};
use rustix::event::epoll::EventFlags;
use rustix::fd::BorrowedFd;
use std::collections::BTreeMap;
use std::time::Duration;

/// SQLSTATE under which broken connections are counted.
const BROKEN: &str = "08006";

/// What all clients of a thread share.
pub struct Shared<'a> {
    /// Where to connect.
    pub address: &'a Address,
    /// How to send.
    pub protocol: Protocol,
    /// What to ask.
    pub mix: &'a Mix,
    /// What variables hold at the beginning.
    pub presets: &'a Presets,
    /// The statements of each program, as they are sent.
    pub statements: &'a [Vec<Prepared>],
    /// Whether each transaction has a connection of its own.
    pub reconnect: bool,
    /// Where events are reported.
    pub epoll: BorrowedFd<'a>,
}

/// What the thread has to do for a client next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Nothing: an answer is to come.
    Wait,
    /// Wake it after this time.
    Pause(Duration),
    /// It is connected and can begin.
    Welcome,
    /// Its transaction is over, well or not.
    Over,
    /// Its connection broke, and has to be made anew.
    Lost,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Away,
    Connecting,
    Greeting,
    Preparing,
    Resting,
    Answering,
    Pausing,
    Cleaning,
}

/// What is counted, by thread.
pub struct Tally {
    /// Times of transactions that ended in the window.
    pub latency: Times,
    /// Times of connections made in the window.
    pub connecting: Times,
    /// The driver's own delays in the window.
    pub own_delay: Times,
    /// Statements answered in the window.
    pub statements: u64,
    /// Connections made in the window.
    pub connects: u64,
    /// Failed transactions in the window, by SQLSTATE, with the first message.
    pub failed: BTreeMap<String, (u64, String)>,
    /// Transactions by second of the window.
    pub seconds: Vec<u64>,
    /// Committed transactions, whenever.
    pub committed: u64,
    /// What the server counts as transactions too: statements that were prepared ahead.
    pub prepared: u64,
    /// Connections, whenever they were made: some servers count logging in as a transaction.
    pub logins: u64,
    /// The window, by the load's clock; nothing is in it until both are set.
    pub window: (u64, u64),
}

impl Tally {
    /// Nothing yet, and no window.
    pub fn new() -> Tally {
        Tally {
            latency: Times::new(),
            connecting: Times::new(),
            own_delay: Times::new(),
            statements: 0,
            connects: 0,
            failed: BTreeMap::new(),
            seconds: Vec::new(),
            committed: 0,
            prepared: 0,
            logins: 0,
            window: (u64::MAX, u64::MAX),
        }
    }

    fn counts(&self, now: u64) -> bool {
        (self.window.0..self.window.1).contains(&now)
    }

    /// Counts a failure.
    pub fn fail(&mut self, now: u64, state: &str, message: &str) {
        if self.counts(now) {
            let (count, _) = self.failed.entry(state.to_string()).or_insert_with(|| (0, message.to_string()));
            *count += 1;
        }
    }
}

/// One client.
pub struct Client {
    socket: Option<Socket>,
    wire: Wire,
    frame: Frame,
    program: usize,
    asked: usize,
    answer: Answer,
    state: State,
    pipeline: bool,
    failed: bool,
    /// It is only there: it runs no script, and prepares none.
    idle: bool,
    /// When it last became free, or was connected.
    pub free_since: u64,
    connect_began: u64,
    began: u64,
    waited: u64,
    /// Transactions in the window.
    pub transactions: u64,
}

impl Client {
    /// A client that is not connected. Its choices follow from its number and the seed among the presets.
    pub fn new(shared: &Shared<'_>, number: u32, idle: bool) -> Client {
        Client {
            socket: None,
            wire: Wire::new(shared.address, shared.protocol),
            frame: shared.mix.frame(shared.presets, number),
            program: 0,
            asked: 0,
            answer: Answer::default(),
            state: State::Away,
            pipeline: false,
            failed: false,
            idle,
            free_since: 0,
            connect_began: 0,
            began: 0,
            waited: 0,
            transactions: 0,
        }
    }

    /// Where its random choices come from: its own, so that they do not depend on who is served first.
    pub fn random(&mut self) -> &mut fastrand::Rng {
        &mut self.frame.rng
    }

    /// Whether it is connected and has nothing to do.
    pub fn is_free(&self) -> bool {
        self.state == State::Resting
    }

    /// Whether it is on its way to a connection.
    pub fn is_connecting(&self) -> bool {
        matches!(self.state, State::Connecting | State::Greeting | State::Preparing)
    }

    /// Whether it is in the middle of a transaction.
    pub fn is_busy(&self) -> bool {
        matches!(self.state, State::Answering | State::Pausing | State::Cleaning)
    }

    /// With which SQLSTATE and words the server refused the connection that was being made, if it said any.
    pub fn refusal(&self) -> Option<(&str, &str)> {
        self.answer.error.as_ref().map(|error| (error.state.as_str(), error.message.as_str()))
    }

    /// Begins to connect.
    pub fn connect(&mut self, shared: &Shared<'_>, number: u64, now: u64) -> Result<()> {
        let socket = Socket::connect(shared.address.socket)?;
        socket.watch(shared.epoll, number)?;
        self.socket = Some(socket);
        self.wire = Wire::new(shared.address, shared.protocol);
        self.state = State::Connecting;
        self.connect_began = now;
        Ok(())
    }

    /// Begins a transaction that was due at `due`. `waited` is for how long it waited for a client to be free.
    /// With a connection for each transaction, [`Client::connect`] comes next.
    pub fn begin(&mut self, shared: &Shared<'_>, now: u64, due: u64, waited: u64, tally: &mut Tally) -> Result<Next> {
        if tally.counts(now) {
            tally.own_delay.add(now.saturating_sub(due));
        }
        self.waited = waited;
        self.began = now;
        self.frame.restart();
        self.program = shared.mix.choose(&mut self.frame);
        self.failed = false;
        self.pipeline = false;
        if shared.reconnect { Ok(Next::Wait) } else { self.step(shared) }
    }

    /// Runs the script until something has to be waited for.
    fn step(&mut self, shared: &Shared<'_>) -> Result<Next> {
        let (program, statements) = (&shared.mix.programs[self.program], &shared.statements[self.program]);
        let frame = &mut self.frame;
        let socket = self.socket.as_mut().expect("a client in a transaction has a socket");
        loop {
            match program.next(frame)? {
                Action::Statement(index) => {
                    let prepared = &statements[index];
                    if !self.pipeline {
                        let keep = if prepared.statement.gset.is_some() { Keep::Last } else { Keep::Nothing };
                        self.answer.begin(keep);
                        self.asked = index;
                    }
                    self.wire.request(prepared, frame, self.pipeline, &mut socket.out)?;
                    if self.pipeline {
                        continue;
                    }
                }
                Action::StartPipeline => {
                    self.pipeline = true;
                    self.answer.begin(Keep::Nothing);
                    continue;
                }
                Action::SyncPipeline => {
                    self.wire.sync(&mut socket.out);
                    continue;
                }
                Action::EndPipeline => {
                    self.pipeline = false;
                    self.asked = usize::MAX;
                    self.wire.sync(&mut socket.out);
                }
                Action::Sleep(time) => {
                    self.state = State::Pausing;
                    return Ok(Next::Pause(time));
                }
                Action::Done => return Ok(Next::Over),
            }
            self.state = State::Answering;
            return Ok(if socket.flush() { Next::Wait } else { Next::Lost });
        }
    }

    /// Its pause is over.
    pub fn wake(&mut self, shared: &Shared<'_>) -> Result<Next> {
        if self.state != State::Pausing {
            return Ok(Next::Wait);
        }
        self.step(shared)
    }

    /// Its socket has news: `event`. `buffer` is the thread's; `seen` the time at which its wait for events returned.
    pub fn on_event(
        &mut self,
        shared: &Shared<'_>,
        event: EventFlags,
        buffer: &mut Vec<u8>,
        seen: u64,
        tally: &mut Tally,
    ) -> Result<Next> {
        let Some(socket) = self.socket.as_mut() else { return Ok(Next::Wait) };
        if self.state == State::Connecting {
            if let Some(error) = socket.failure() {
                return Err(super::socket::unreachable(shared.address.socket, error));
            }
            self.state = State::Greeting;
            self.answer.begin(Keep::Nothing);
            self.wire.greet(&mut socket.out);
        }
        socket.readable(event);
        loop {
            let Some(socket) = self.socket.as_mut() else { return Ok(Next::Wait) };
            if !socket.flush() {
                return Ok(Next::Lost);
            }
            if buffer.len() < 2 * socket.kept() {
                buffer.resize(2 * socket.kept(), 0);
            }
            let filled = match socket.read(buffer) {
                Read::Some(filled) => filled,
                Read::Nothing => return Ok(Next::Wait),
                Read::End => return self.ended(shared),
            };
            let used = self.wire.receive(&buffer[..filled], &mut socket.out, &mut self.answer)?;
            socket.keep(&buffer[used..filled]);
            if self.answer.complete {
                let next = self.on_answer(shared, seen, tally)?;
                if next != Next::Wait {
                    return Ok(next);
                }
            }
        }
    }

    /// The server closed the connection.
    fn ended(&mut self, shared: &Shared<'_>) -> Result<Next> {
        if matches!(self.state, State::Greeting | State::Preparing) {
            let told = self.answer.error.as_ref();
            let (state, message) = told.map_or((BROKEN, "it closed the connection"), |e| (&e.state, &e.message));
            return Err(refused(shared, state, message));
        }
        Ok(Next::Lost)
    }

    /// An exchange is complete.
    fn on_answer(&mut self, shared: &Shared<'_>, seen: u64, tally: &mut Tally) -> Result<Next> {
        self.answer.complete = false;
        let socket = self.socket.as_mut().expect("an answer came through it");
        match self.state {
            State::Greeting => {
                if let Some(error) = &self.answer.error {
                    return Err(refused(shared, &error.state, &error.message));
                }
                tally.logins += 1;
                if tally.counts(seen) {
                    tally.connects += 1;
                    tally.connecting.add(seen.saturating_sub(self.connect_began));
                }
                self.answer.begin(Keep::Nothing);
                let mut waits = false;
                for statements in shared.statements.iter().filter(|_| !self.idle) {
                    if self.wire.prepare(statements, &mut socket.out)? {
                        waits = true;
                        tally.prepared += 1;
                    }
                }
                if !waits {
                    return self.welcome(shared, seen);
                }
                self.state = State::Preparing;
                Ok(Next::Wait)
            }
            State::Preparing => {
                if let Some(error) = &self.answer.error {
                    let said = format!("a statement could not be prepared: {}", error.message);
                    return Err(crate::error::server(said)
                        .detail(format!("SQLSTATE {}.", error.state))
                        .hint("Correct the script, or make its tables with --setup."));
                }
                self.welcome(shared, seen)
            }
            State::Answering => {
                if tally.counts(seen) {
                    tally.statements += self.answer.statements;
                }
                if let Some(error) = self.answer.error.take() {
                    tally.fail(seen, &error.state, &error.message);
                    self.failed = true;
                    self.pipeline = false;
                    if self.answer.in_transaction {
                        self.answer.begin(Keep::Nothing);
                        self.wire.plain("ROLLBACK", &mut socket.out)?;
                        self.state = State::Cleaning;
                        return Ok(Next::Wait);
                    }
                    return Ok(Next::Over);
                }
                if self.answer.keep != Keep::Nothing {
                    self.keep_answer(shared)?;
                }
                self.step(shared)
            }
            State::Cleaning => Ok(Next::Over),
            // What a server says unasked, such as that it goes away, is seen when the connection ends.
            State::Away | State::Connecting | State::Resting | State::Pausing => Ok(Next::Wait),
        }
    }

    /// `\gset` and `\aset`.
    fn keep_answer(&mut self, shared: &Shared<'_>) -> Result<()> {
        let statement = &shared.statements[self.program][self.asked].statement;
        let Some(gset) = &statement.gset else { return Ok(()) };
        let last = self.answer.kept.last().into_iter().flatten();
        let columns = self.answer.columns.iter().zip(last);
        let bytes = columns.map(|(name, value)| (name.as_bytes(), value.as_ref().map(|value| value.as_bytes())));
        self.frame.answer(gset, self.answer.rows, bytes)
    }

    fn welcome(&mut self, shared: &Shared<'_>, seen: u64) -> Result<Next> {
        self.free_since = seen;
        if shared.reconnect && self.began != 0 {
            return self.step(shared);
        }
        self.state = State::Resting;
        Ok(Next::Welcome)
    }

    /// Counts the transaction that is over.
    pub fn finish(&mut self, shared: &Shared<'_>, seen: u64, tally: &mut Tally) {
        if !self.failed {
            tally.committed += 1;
            if tally.counts(seen) {
                self.transactions += 1;
                let begun = if shared.reconnect { self.connect_began } else { self.began };
                tally.latency.add(seen.saturating_sub(begun) + self.waited);
                let second = ((seen - tally.window.0) / 1_000_000_000) as usize;
                if tally.seconds.len() <= second {
                    tally.seconds.resize(second + 1, 0);
                }
                tally.seconds[second] += 1;
            }
        }
        self.state = State::Resting;
        self.free_since = seen;
        if shared.reconnect {
            self.leave();
        }
    }

    /// Counts the transaction whose connection broke, and forgets the connection.
    pub fn lose(&mut self, now: u64, tally: &mut Tally) {
        if self.is_busy() {
            let told = self.answer.error.take();
            let (state, message) =
                told.as_ref().map_or((BROKEN, "the connection broke"), |e| (e.state.as_str(), e.message.as_str()));
            tally.fail(now, state, message);
        }
        self.socket = None;
        self.state = State::Away;
    }

    /// Says goodbye and closes the connection.
    pub fn leave(&mut self) {
        if let Some(mut socket) = self.socket.take() {
            self.wire.leave(&mut socket.out);
            socket.flush();
        }
    }
}

fn refused(shared: &Shared<'_>, state: &str, message: &str) -> Error {
    let error =
        crate::error::server(format!("the server at {} refused a connection: {message}", shared.address.socket))
            .detail(format!("SQLSTATE {state}."));
    match state {
        "53300" => {
            error.hint("It allows fewer connections than this load makes: raise its limit, or name smaller points.")
        }
        _ => error,
    }
}
