//! PostgreSQL's protocol, version 3, as libpq speaks it, so that a load of the lab's and one of pgbench's are the same messages.
//!
//! | protocol | for each statement |
//! |---|---|
//! | named | Bind, Describe portal, Execute, Sync; Parse once for each connection |
//! | unnamed | Parse, Bind, Describe portal, Execute, Sync |
//! | simple | Query |
//!
//! A statement whose text changes is parsed each time also when it is named: Parse, Bind, Describe portal, Execute, Close, Sync.
//! Parameters and results go as text.
//!
//! Rules
//! 1. An exchange is complete when as many ReadyForQuery have come as were asked for.
//! 2. The hot path reads heads of messages only; a body is taken apart by `postgres-protocol` where somebody asked for it.

use super::{Answer, Keep, Prepared, Protocol, Refusal, Row, nonsense};
use crate::address::Address;
use crate::error;
use crate::workload::script::{Frame, Value};
use base::{Error, Result, sqlstate};
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use postgres_protocol::message::backend::{DataRowBody, ErrorFields, Header, Message};
use postgres_protocol::message::frontend;
use std::fmt::Write;

/// The longest message that is taken; a row of any workload is far below.
const MESSAGE_SIZE_MAX: usize = 1 << 30;

/// One connection.
pub struct Postgres {
    protocol: Protocol,
    user: String,
    database: String,
    password: Option<String>,
    /// ReadyForQuery messages that are still to come.
    awaited: u32,
    scram: Option<Box<ScramSha256>>,
    /// The name of a prepared statement, kept to save making it anew.
    name: String,
    /// A statement's text, or a value's, likewise.
    text: Vec<u8>,
}

fn internal(error: impl std::fmt::Display) -> Error {
    error::system("a message to the server", error)
}

impl Postgres {
    /// A connection that has not begun.
    pub fn new(address: &Address, protocol: Protocol) -> Postgres {
        Postgres {
            protocol,
            user: address.user.clone(),
            database: address.database.clone(),
            password: address.password.clone(),
            awaited: 0,
            scram: None,
            name: String::new(),
            text: Vec::new(),
        }
    }

    pub(super) fn greet(&mut self, out: &mut BytesMut) {
        let parameters =
            [("user", self.user.as_str()), ("database", &self.database), ("application_name", "gearbox lab")];
        frontend::startup_message(parameters, out).expect("names have no zero bytes: they come from arguments");
        self.awaited = 1;
    }

    pub(super) fn prepare(&mut self, statements: &[Prepared], out: &mut BytesMut) -> Result<bool> {
        // A Sync for nothing would be awaited as a transaction that no server counts.
        if self.protocol != Protocol::Named || !statements.iter().any(Prepared::is_constant) {
            return Ok(false);
        }
        for prepared in statements.iter().filter(|prepared| prepared.is_constant()) {
            self.name_of(prepared);
            frontend::parse(&self.name, &prepared.text, [], out).map_err(internal)?;
        }
        self.sync(out);
        Ok(true)
    }

    fn name_of(&mut self, prepared: &Prepared) {
        self.name.clear();
        let _ = write!(self.name, "s{}", prepared.number);
    }

    pub(super) fn request(
        &mut self,
        prepared: &Prepared,
        frame: &Frame,
        pipeline: bool,
        out: &mut BytesMut,
    ) -> Result<()> {
        if self.protocol == Protocol::Simple {
            self.text.clear();
            prepared.statement.interpolate(frame, &mut self.text);
            let text = std::str::from_utf8(&self.text).map_err(internal)?;
            frontend::query(text, out).map_err(internal)?;
            self.awaited += 1;
            return Ok(());
        }
        let named = self.protocol == Protocol::Named;
        if named {
            self.name_of(prepared);
        } else {
            self.name.clear();
        }
        let literal = prepared.statement.literal;
        if literal {
            self.text.clear();
            prepared.statement.interpolate(frame, &mut self.text);
            let text = std::str::from_utf8(&self.text).map_err(internal)?;
            frontend::parse(&self.name, text, [], out).map_err(internal)?;
        } else if !named {
            frontend::parse("", &prepared.text, [], out).map_err(internal)?;
        }
        let text = &mut self.text;
        let write = |value: Option<&Value>, out: &mut BytesMut| {
            let Some(value) = value else { return Ok(IsNull::Yes) };
            text.clear();
            value.write_text(text);
            out.extend_from_slice(text);
            Ok(IsNull::No)
        };
        // A literal statement has no parameters: its values are in the text.
        frontend::bind("", &self.name, [], prepared.statement.values(frame), write, [0], out)
            .map_err(|_| internal("a parameter is too long"))?;
        frontend::describe(b'P', "", out).map_err(internal)?;
        frontend::execute("", 0, out).map_err(internal)?;
        if literal && named {
            frontend::close(b'S', &self.name, out).map_err(internal)?;
        }
        if !pipeline {
            self.sync(out);
        }
        Ok(())
    }

    pub(super) fn sync(&mut self, out: &mut BytesMut) {
        frontend::sync(out);
        self.awaited += 1;
    }

    pub(super) fn plain(&mut self, text: &str, out: &mut BytesMut) -> Result<()> {
        frontend::query(text, out).map_err(internal)?;
        self.awaited += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self, out: &mut BytesMut) {
        frontend::terminate(out);
    }

    pub(super) fn receive(&mut self, input: &[u8], out: &mut BytesMut, answer: &mut Answer) -> Result<usize> {
        let mut used = 0;
        while let Some(header) = Header::parse(&input[used..]).map_err(|error| nonsense(&error.to_string()))? {
            let size = 1 + header.len() as usize;
            if size > MESSAGE_SIZE_MAX {
                return Err(nonsense(&format!("a message of {size} bytes")));
            }
            let Some(message) = input.get(used..used + size) else { break };
            used += size;
            match header.tag() {
                b'Z' => {
                    self.awaited = self.awaited.checked_sub(1).ok_or_else(|| nonsense("it is ready unasked"))?;
                    answer.in_transaction = message.get(5) != Some(&b'I');
                    answer.complete = self.awaited == 0;
                }
                b'C' | b'I' => answer.statements += 1,
                b'D' => {
                    answer.rows += 1;
                    if answer.keep != Keep::Nothing
                        && let Message::DataRow(row) = whole(message)?
                    {
                        answer.keep_row(values(&row)?);
                    }
                }
                b'T' if answer.keep != Keep::Nothing => {
                    if let Message::RowDescription(row) = whole(message)? {
                        let names = row.fields().map(|field| Ok(field.name().to_string())).collect::<Vec<_>>();
                        answer.columns = names.map_err(|error| nonsense(&error.to_string()))?;
                        answer.kept.clear();
                    }
                }
                b'E' => {
                    if let Message::ErrorResponse(body) = whole(message)? {
                        let refusal = refusal(body.fields())?;
                        answer.error.get_or_insert(refusal);
                    }
                }
                b'R' => self.log_in(whole(message)?, out)?,
                b'G' => {
                    frontend::copy_fail("a script's COPY has no data", out).map_err(internal)?;
                }
                // What a server may say that the driver has no use for: rows' shapes, completions of steps, settings, notices.
                b'1' | b'2' | b'3' | b'A' | b'H' | b'K' | b'N' | b'S' | b'T' | b'c' | b'd' | b'n' | b's' | b't'
                | b'v' => {}
                other => return Err(nonsense(&format!("a message of kind {other:#04x}"))),
            }
        }
        Ok(used)
    }

    fn log_in(&mut self, message: Message, out: &mut BytesMut) -> Result<()> {
        let denied = |message: String| {
            Error::session(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, message)
                .hint("Give the password in the variable PGPASSWORD, or let the server trust this machine.")
        };
        let password = || {
            let missing = || denied(format!("the server asks for the password of user \"{}\"", self.user));
            self.password.as_deref().ok_or_else(missing)
        };
        match message {
            Message::AuthenticationOk | Message::AuthenticationSaslFinal(_) => Ok(()),
            Message::AuthenticationCleartextPassword => {
                frontend::password_message(password()?.as_bytes(), out).map_err(internal)
            }
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(self.user.as_bytes(), password()?.as_bytes(), body.salt());
                frontend::password_message(hash.as_bytes(), out).map_err(internal)
            }
            Message::AuthenticationSasl(_) => {
                let scram = ScramSha256::new(password()?.as_bytes(), ChannelBinding::unsupported());
                let mechanism = postgres_protocol::authentication::sasl::SCRAM_SHA_256;
                frontend::sasl_initial_response(mechanism, scram.message(), out).map_err(internal)?;
                self.scram = Some(Box::new(scram));
                Ok(())
            }
            Message::AuthenticationSaslContinue(body) => {
                let scram =
                    self.scram.as_mut().ok_or_else(|| nonsense("a second step of logging in without a first"))?;
                scram.update(body.data()).map_err(|error| nonsense(&error.to_string()))?;
                frontend::sasl_response(scram.message(), out).map_err(internal)
            }
            _ => Err(denied("the server wants a way to log in that the lab does not know".into())),
        }
    }
}

/// Takes a message apart.
fn whole(message: &[u8]) -> Result<Message> {
    let mut bytes = BytesMut::from(message);
    let parsed = Message::parse(&mut bytes).map_err(|error| nonsense(&error.to_string()))?;
    parsed.ok_or_else(|| nonsense("a message that is cut off"))
}

fn values(row: &DataRowBody) -> Result<Row> {
    let buffer = row.buffer();
    let text = |range: Option<std::ops::Range<usize>>| {
        Ok(range.map(|range| String::from_utf8_lossy(buffer.get(range).unwrap_or_default()).into_owned()))
    };
    row.ranges().map(text).collect().map_err(|error| nonsense(&error.to_string()))
}

fn refusal(mut fields: ErrorFields<'_>) -> Result<Refusal> {
    let mut refusal = Refusal { state: "XX000".into(), message: String::new() };
    while let Some(field) = fields.next().map_err(|error| nonsense(&error.to_string()))? {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => refusal.state = value,
            b'M' => refusal.message = value,
            _ => {}
        }
    }
    Ok(refusal)
}
