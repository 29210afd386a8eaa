//! A connection for what is not a load: tables are made, sums are checked, views are read. It blocks.

use super::wire::{Answer, Keep, Protocol, Refusal, Row, Wire};
use crate::address::Address;
use crate::error;
use base::{Error, Result};
use bytes::BytesMut;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long one answer may take: a table may be filled by one statement.
const PATIENCE: Duration = Duration::from_secs(300);

/// A blocking connection.
pub struct Session {
    stream: TcpStream,
    wire: Wire,
    answer: Answer,
    out: BytesMut,
    input: Vec<u8>,
}

impl Session {
    /// Connects and logs in.
    ///
    /// # Errors
    /// `08006` if the server is not there or refuses.
    pub fn connect(address: &Address) -> Result<Session> {
        let stream = TcpStream::connect_timeout(&address.socket, Duration::from_secs(10))
            .map_err(|error| super::socket::unreachable(address.socket, error))?;
        let set = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(PATIENCE)));
        set.map_err(|error| error::system("a socket", error))?;
        let mut session = Session {
            stream,
            wire: Wire::new(address, Protocol::Simple),
            answer: Answer::default(),
            out: BytesMut::new(),
            input: Vec::new(),
        };
        session.answer.begin(Keep::Nothing);
        session.wire.greet(&mut session.out);
        session.exchange()?;
        match session.answer.error.take() {
            None => Ok(session),
            Some(refusal) => Err(said(&refusal, "logging in")),
        }
    }

    /// Sends a text and answers the rows that came back, as text.
    ///
    /// # Errors
    /// What the server said against it, with its SQLSTATE in the detail; `08006` if the connection is gone.
    pub fn rows(&mut self, text: &str) -> Result<Vec<Row>> {
        self.answer.begin(Keep::All);
        self.answer.kept.clear();
        self.wire.plain(text, &mut self.out)?;
        self.exchange()?;
        match self.answer.error.take() {
            None => Ok(std::mem::take(&mut self.answer.kept)),
            Some(refusal) => Err(said(&refusal, text)),
        }
    }

    /// The names of the columns of the last answer.
    pub fn columns(&self) -> &[String] {
        &self.answer.columns
    }

    /// Sends a text whose rows nobody wants.
    pub fn run(&mut self, text: &str) -> Result<()> {
        self.rows(text).map(drop)
    }

    /// The number in the only row of an answer.
    pub fn number(&mut self, text: &str) -> Result<f64> {
        let rows = self.rows(text)?;
        let value = rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok());
        value.ok_or_else(|| error::server(format!("no number came for: {text}")))
    }

    fn exchange(&mut self) -> Result<()> {
        let gone = |error: &dyn std::fmt::Display| error::server(format!("the server is gone: {error}"));
        let mut chunk = [0; 16 << 10];
        loop {
            if !self.out.is_empty() {
                self.stream.write_all(&self.out).map_err(|error| gone(&error))?;
                self.out.clear();
            }
            if self.answer.complete {
                return Ok(());
            }
            let count = match self.stream.read(&mut chunk) {
                Ok(count) => count,
                // A read with a time limit is not taken up again by the system after a signal, a stop of the process for one.
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(gone(&error)),
            };
            if count == 0 {
                return Err(match self.answer.error.take() {
                    Some(refusal) => said(&refusal, "logging in"),
                    None => gone(&"it closed the connection"),
                });
            }
            self.input.extend_from_slice(&chunk[..count]);
            let used = self.wire.receive(&self.input, &mut self.out, &mut self.answer)?;
            self.input.drain(..used);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.out.clear();
        self.wire.leave(&mut self.out);
        let _ = self.stream.write_all(&self.out);
    }
}

fn said(refusal: &Refusal, text: &str) -> Error {
    let shown: String = text.chars().take(200).collect();
    error::server(format!("the server refused: {}", refusal.message))
        .detail(format!("SQLSTATE {}, for: {shown}", refusal.state))
}
