//! MySQL's protocol as MariaDB speaks it.
//!
//! | protocol | for each statement |
//! |---|---|
//! | named | COM_STMT_EXECUTE; COM_STMT_PREPARE once for each connection |
//! | unnamed | COM_STMT_PREPARE, COM_STMT_EXECUTE, COM_STMT_CLOSE, sent together |
//! | simple | COM_QUERY |
//!
//! ```text
//!   Greeting ──handshake, our answer──▶ LoggingIn ──OK──▶ Ready, and then for each reply that is due:
//!
//!   First ──OK, error──────────────────────────────────────────────▶ done
//!     ├──columns──▶ Columns(n) ─▶ end ─▶ Rows ──end──▶ done, or First again if the text had more statements
//!     └──prepared──▶ Definitions(n, m) ─▶ end …────────▶ done
//! ```
//!
//! Rules
//! 1. The server answers commands in their order, so what is due is a queue, and an exchange is complete when it is empty.
//! 2. A statement that is prepared for one use is executed under MariaDB's number for "the last one prepared": no round trip
//!    lies between, as none lies between PostgreSQL's Parse and Bind.
//! 3. Every answer ends with the classic EOF packet (`CLIENT_DEPRECATE_EOF` is not asked for): its length tells it from a row.
//! 4. The hot path looks at the first byte of a packet. Handshake, passwords, columns and values are taken apart by
//!    `mysql_common`; what it would build an execution with allocates for each parameter, so that is written here.
//! 5. Integers, booleans and doubles go in their binary form, texts as strings; results are binary where prepared.
//!
//! What it does not do: encryption, compression, packets of 16 MiB and more but for rows that nobody keeps, and MySQL's servers
//! under the unnamed protocol, which do not know the last statement's number.

use super::{Answer, Keep, Prepared, Protocol, Refusal, Row, nonsense};
use crate::address::Address;
use crate::error;
use crate::workload::script::{Frame, Statement, Value};
use base::{Error, Result, sqlstate};
use bytes::{BufMut, BytesMut};
use mysql_common::auth::plugins::{caching_sha2_password::scramble_sha256, mysql_native_password::scramble_native};
use mysql_common::constants::{CapabilityFlags, ColumnType, StatusFlags};
use mysql_common::io::{BufMutExt, ParseBuf};
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, Column, HandshakePacket, HandshakeResponse};
use mysql_common::proto::{Binary, MyDeserialize, MySerialize, Text};
use mysql_common::row::RowDeserializer;
use mysql_common::value::ServerSide;
use std::collections::VecDeque;
use std::sync::Arc;

/// The length that says that a packet goes on in the next one.
const LENGTH_MAX: usize = 0xff_ffff;
/// The number under which MariaDB knows the statement that was prepared last.
const LAST: u32 = u32::MAX;
/// The server's code for "this cannot be prepared".
const UNSUPPORTED: u16 = 1295;

const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PING: u8 = 0x0e;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const CLOSE: u8 = 0x19;

const OK: u8 = 0x00;
const MORE_DATA: u8 = 0x01;
const LOCAL_INFILE: u8 = 0xfb;
const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;

/// One connection.
pub struct Mysql {
    protocol: Protocol,
    user: String,
    database: String,
    password: Vec<u8>,
    phase: Phase,
    /// What is still to come, in order; the first of them is being read.
    awaited: VecDeque<Reply>,
    stage: Stage,
    /// The columns of the rows being read, if rows are kept.
    columns: Vec<Column>,
    /// The rows' columns, once they are all there.
    shape: Option<Arc<[Column]>>,
    /// By a statement's number: what it is executed with.
    handles: Vec<Handle>,
    in_transaction: bool,
    /// A statement's text, kept to save making it anew.
    text: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Greeting,
    LoggingIn,
    Ready,
}

/// An answer that is to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reply {
    /// To COM_STMT_PREPARE; under this number if it is to be kept.
    Prepared(Option<u32>),
    /// To COM_QUERY or COM_PING.
    Text,
    /// To COM_STMT_EXECUTE.
    Binary,
}

/// Where in an answer we are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    First,
    /// So many descriptions of columns, and an end.
    Columns(u64),
    /// Rows, and an end. True within a row that goes on in the next packet.
    Rows(bool),
    /// So many descriptions of parameters and an end, then so many of columns and an end; the latter may be none.
    Definitions(u16, u16),
}

/// What a statement is executed with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Handle {
    /// It was not prepared here.
    None,
    /// The server's number.
    Id(u32),
    /// It cannot be prepared: its text.
    Text,
}

/// A packet's payload and number, and how much of the input it used.
struct Packet<'a> {
    payload: &'a [u8],
    number: u8,
    size: usize,
}

impl<'a> Packet<'a> {
    /// The packet that the input begins with, if all of it is there.
    fn first(input: &'a [u8]) -> Option<Packet<'a>> {
        let &[low, middle, high, number] = input.first_chunk::<4>()?;
        let size = 4 + u32::from_le_bytes([low, middle, high, 0]) as usize;
        Some(Packet { payload: input.get(4..size)?, number, size })
    }

    /// The packet that ends a list. Rows that begin with the same byte are longer.
    fn is_end(&self) -> bool {
        self.payload.first() == Some(&EOF) && self.payload.len() < 9
    }
}

/// Adds a packet; `write` adds its payload.
fn packet(number: u8, out: &mut BytesMut, write: impl FnOnce(&mut BytesMut)) -> Result<()> {
    let begin = out.len();
    out.put_u32_le(0);
    write(out);
    let length = out.len() - begin - 4;
    if length >= LENGTH_MAX {
        out.truncate(begin);
        return Err(error::usage(format!("a message of {length} bytes is too long for MariaDB's protocol")));
    }
    out[begin..begin + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
    out[begin + 3] = number;
    Ok(())
}

/// Adds a command with a text.
fn command(code: u8, text: &[u8], out: &mut BytesMut) -> Result<()> {
    packet(0, out, |out| {
        out.put_u8(code);
        out.put_slice(text);
    })
}

/// Adds the execution of a prepared statement with its values.
fn execute(id: u32, statement: &Statement, frame: &Frame, out: &mut BytesMut) -> Result<()> {
    packet(0, out, |out| {
        out.put_u8(EXECUTE);
        out.put_u32_le(id);
        // No cursor; executed once.
        out.put_u8(0);
        out.put_u32_le(1);
        let count = statement.parameters.len();
        if count == 0 {
            return;
        }
        let nulls = out.len();
        out.put_bytes(0, count.div_ceil(8));
        // The types follow: a variable may hold another one each time.
        out.put_u8(1);
        for (index, value) in statement.values(frame).enumerate() {
            let kind = match value {
                None | Some(Value::Null) => {
                    out[nulls + index / 8] |= 1 << (index % 8);
                    ColumnType::MYSQL_TYPE_NULL
                }
                Some(Value::Boolean(_)) => ColumnType::MYSQL_TYPE_TINY,
                Some(Value::Integer(_)) => ColumnType::MYSQL_TYPE_LONGLONG,
                Some(Value::Double(_)) => ColumnType::MYSQL_TYPE_DOUBLE,
                Some(Value::Text(_)) => ColumnType::MYSQL_TYPE_VAR_STRING,
            };
            out.put_u16_le(kind as u16);
        }
        for value in statement.values(frame).flatten() {
            match value {
                Value::Null => {}
                Value::Boolean(truth) => out.put_u8(u8::from(*truth)),
                Value::Integer(number) => out.put_i64_le(*number),
                Value::Double(number) => out.put_f64_le(*number),
                Value::Text(text) => out.put_lenenc_str(text.as_bytes()),
            }
        }
    })
}

impl Mysql {
    /// A connection that has not begun.
    pub fn new(address: &Address, protocol: Protocol) -> Mysql {
        Mysql {
            protocol,
            user: address.user.clone(),
            database: address.database.clone(),
            password: address.password.clone().unwrap_or_default().into_bytes(),
            phase: Phase::Greeting,
            awaited: VecDeque::new(),
            stage: Stage::First,
            columns: Vec::new(),
            shape: None,
            handles: Vec::new(),
            in_transaction: false,
            text: Vec::new(),
        }
    }

    /// The server speaks first.
    pub(super) fn greet(&mut self, _out: &mut BytesMut) {
        self.phase = Phase::Greeting;
    }

    pub(super) fn prepare(&mut self, statements: &[Prepared], out: &mut BytesMut) -> Result<bool> {
        if self.protocol != Protocol::Named {
            return Ok(false);
        }
        for prepared in statements.iter().filter(|prepared| prepared.is_constant()) {
            command(PREPARE, prepared.text.as_bytes(), out)?;
            self.awaited.push_back(Reply::Prepared(Some(prepared.number)));
        }
        Ok(!self.awaited.is_empty())
    }

    pub(super) fn request(
        &mut self,
        prepared: &Prepared,
        frame: &Frame,
        _pipeline: bool,
        out: &mut BytesMut,
    ) -> Result<()> {
        let statement = &prepared.statement;
        let handle = match self.protocol {
            Protocol::Simple => Handle::Text,
            Protocol::Named if prepared.is_constant() => {
                self.handles.get(prepared.number as usize).copied().unwrap_or(Handle::None)
            }
            Protocol::Named | Protocol::Unnamed => Handle::None,
        };
        match handle {
            Handle::Id(id) => {
                execute(id, statement, frame, out)?;
                self.awaited.push_back(Reply::Binary);
            }
            Handle::Text => {
                self.text.clear();
                statement.interpolate(frame, &mut self.text);
                command(QUERY, &self.text, out)?;
                self.awaited.push_back(Reply::Text);
            }
            Handle::None => {
                if prepared.is_constant() {
                    command(PREPARE, prepared.text.as_bytes(), out)?;
                } else {
                    self.text.clear();
                    statement.interpolate(frame, &mut self.text);
                    command(PREPARE, &self.text, out)?;
                }
                self.awaited.push_back(Reply::Prepared(None));
                execute(LAST, statement, frame, out)?;
                self.awaited.push_back(Reply::Binary);
                // No answer comes to this one.
                command(CLOSE, &LAST.to_le_bytes(), out)?;
            }
        }
        Ok(())
    }

    /// There are no synchronisation points, as each command is answered; something must be, though.
    pub(super) fn sync(&mut self, out: &mut BytesMut) {
        if self.awaited.is_empty() {
            command(PING, &[], out).expect("a ping is short");
            self.awaited.push_back(Reply::Text);
        }
    }

    pub(super) fn plain(&mut self, text: &str, out: &mut BytesMut) -> Result<()> {
        command(QUERY, text.as_bytes(), out)?;
        self.awaited.push_back(Reply::Text);
        Ok(())
    }

    pub(super) fn leave(&mut self, out: &mut BytesMut) {
        command(QUIT, &[], out).expect("a farewell is short");
    }

    pub(super) fn receive(&mut self, input: &[u8], out: &mut BytesMut, answer: &mut Answer) -> Result<usize> {
        let mut used = 0;
        while let Some(packet) = Packet::first(&input[used..]) {
            used += packet.size;
            match self.phase {
                Phase::Ready => self.reply(&packet, out, answer)?,
                Phase::Greeting | Phase::LoggingIn => self.log_in(&packet, out, answer)?,
            }
        }
        answer.in_transaction = self.in_transaction;
        Ok(used)
    }

    /// A packet before the login is over.
    fn log_in(&mut self, packet: &Packet<'_>, out: &mut BytesMut, answer: &mut Answer) -> Result<()> {
        let &[kind, ..] = packet.payload else { return Err(nonsense("an empty packet")) };
        if kind == ERR {
            answer.error.get_or_insert(refusal(packet.payload).1);
            answer.complete = true;
            return Ok(());
        }
        let reply = match (self.phase, kind) {
            (Phase::Greeting, _) => {
                let reply = self.answer_handshake(packet.payload)?;
                self.phase = Phase::LoggingIn;
                reply
            }
            (_, OK) => {
                self.phase = Phase::Ready;
                answer.complete = true;
                return Ok(());
            }
            (_, EOF) => {
                let request = AuthSwitchRequest::deserialize((), &mut ParseBuf(packet.payload)).map_err(unreadable)?;
                let plugin = request.auth_plugin();
                proof(&plugin, request.plugin_data(), &self.password)?.ok_or_else(|| unknown_method(&plugin))?
            }
            // The server knows the password from before and has found it right: an OK follows.
            (_, MORE_DATA) if packet.payload == [MORE_DATA, 3] => return Ok(()),
            (_, MORE_DATA) => {
                return Err(Error::session(
                    sqlstate::INVALID_AUTHORIZATION_SPECIFICATION,
                    "the server wants the password over an encrypted connection",
                )
                .hint("Give the user a password of the kind mysql_native_password, or none."));
            }
            _ => return Err(nonsense("an unknown packet while logging in")),
        };
        self::packet(packet.number.wrapping_add(1), out, |out| out.put_slice(&reply))
    }

    /// What is sent back to the server's first packet.
    fn answer_handshake(&self, payload: &[u8]) -> Result<Vec<u8>> {
        // The length of the challenge stands 21 bytes behind the version's end; the library takes it for a signed byte.
        let version_end = payload.iter().position(|&byte| byte == 0);
        let length = version_end.filter(|&end| end > 0).and_then(|end| payload.get(end + 21)).copied();
        if payload[0] != 10 || length.is_none_or(|length| length > 100) {
            return Err(nonsense("a handshake of another kind"));
        }
        let handshake = HandshakePacket::deserialize((), &mut ParseBuf(payload)).map_err(unreadable)?;
        let needed = CapabilityFlags::CLIENT_PROTOCOL_41
            | CapabilityFlags::CLIENT_SECURE_CONNECTION
            | CapabilityFlags::CLIENT_PLUGIN_AUTH;
        let version = handshake.server_version_str();
        if !handshake.capabilities().contains(needed) {
            return Err(error::server(format!("the server {version} is too old")));
        }
        if self.protocol == Protocol::Unnamed && !version.contains("MariaDB") {
            return Err(error::usage(format!("the unnamed protocol is for MariaDB only, not for {version}"))
                .hint("Use the named or the simple protocol."));
        }
        let plugin = handshake.auth_plugin().unwrap_or(AuthPlugin::MysqlNativePassword);
        // A method that we do not know may be only the server's default: it will ask for the user's own then.
        let (plugin, proof) = match proof(&plugin, &handshake.nonce(), &self.password)? {
            Some(proof) => (plugin, proof),
            None => (AuthPlugin::MysqlNativePassword, Vec::new()),
        };
        let capabilities = needed
            | CapabilityFlags::CLIENT_LONG_PASSWORD
            | CapabilityFlags::CLIENT_LONG_FLAG
            | CapabilityFlags::CLIENT_TRANSACTIONS
            | CapabilityFlags::CLIENT_MULTI_STATEMENTS
            | CapabilityFlags::CLIENT_MULTI_RESULTS
            | CapabilityFlags::CLIENT_PS_MULTI_RESULTS;
        let response = HandshakeResponse::new(
            Some(proof),
            (10, 0, 0),
            Some(self.user.as_bytes()),
            Some(self.database.as_bytes()).filter(|name| !name.is_empty()),
            Some(plugin),
            capabilities,
            None,
            1 << 30,
        );
        let mut reply = Vec::new();
        response.serialize(&mut reply);
        Ok(reply)
    }

    /// A packet of an answer.
    fn reply(&mut self, packet: &Packet<'_>, out: &mut BytesMut, answer: &mut Answer) -> Result<()> {
        let kind = packet.payload.first().copied();
        let Some(&due) = self.awaited.front() else {
            // Unasked, a server only says why it goes away.
            if kind != Some(ERR) {
                return Err(nonsense("it answers unasked"));
            }
            answer.error.get_or_insert(refusal(packet.payload).1);
            return Ok(());
        };
        if let Stage::Rows(within) = self.stage {
            if within || !(packet.is_end() || kind == Some(ERR)) {
                return self.row(packet, within, due, answer);
            }
        } else if packet.payload.len() == LENGTH_MAX {
            return Err(nonsense("a packet of 16 MiB"));
        }
        let Some(kind) = kind else { return Err(nonsense("an empty packet")) };
        if kind == ERR {
            self.refused(due, packet.payload, answer);
            return Ok(());
        }
        match (self.stage, due) {
            (Stage::First, Reply::Prepared(number)) => return self.prepared(number, packet.payload, answer),
            (Stage::First, Reply::Text | Reply::Binary) => match kind {
                OK => {
                    let mut rest = ParseBuf(&packet.payload[1..]);
                    let counts = (rest.checked_eat_lenenc_int(), rest.checked_eat_lenenc_int());
                    let status = rest.checked_eat_u16_le().filter(|_| counts.0.is_some() && counts.1.is_some());
                    self.end_of_result(status, answer)?;
                }
                LOCAL_INFILE => {
                    // An empty file; the server then says how it went.
                    self::packet(packet.number.wrapping_add(1), out, |_| {})?;
                }
                EOF => return Err(nonsense("an end without a beginning")),
                _ => {
                    let count = ParseBuf(packet.payload).checked_eat_lenenc_int();
                    let count = count.filter(|&count| count > 0).ok_or_else(|| nonsense("a result without columns"))?;
                    self.stage = Stage::Columns(count);
                    self.columns.clear();
                    if answer.keep != Keep::Nothing {
                        answer.columns.clear();
                        answer.kept.clear();
                    }
                }
            },
            (Stage::Columns(0), _) => {
                if !packet.is_end() {
                    return Err(nonsense("more columns than there are"));
                }
                self.stage = Stage::Rows(false);
                self.shape = Some(std::mem::take(&mut self.columns).into()).filter(|_| answer.keep != Keep::Nothing);
            }
            (Stage::Columns(count), _) => {
                self.stage = Stage::Columns(count - 1);
                if answer.keep != Keep::Nothing {
                    let column = Column::deserialize((), &mut ParseBuf(packet.payload)).map_err(unreadable)?;
                    answer.columns.push(column.name_str().into_owned());
                    self.columns.push(column);
                }
            }
            (Stage::Rows(_), _) => {
                let status = packet.payload.get(3..5).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
                self.end_of_result(status, answer)?;
            }
            (Stage::Definitions(first, second), _) => {
                self.stage = match (first, second) {
                    (0, _) if !packet.is_end() => return Err(nonsense("more definitions than there are")),
                    (0, 0) => {
                        self.done(answer);
                        return Ok(());
                    }
                    (0, second) => Stage::Definitions(second, 0),
                    (first, second) => Stage::Definitions(first - 1, second),
                };
            }
        }
        Ok(())
    }

    /// A packet of a row.
    fn row(&mut self, packet: &Packet<'_>, within: bool, due: Reply, answer: &mut Answer) -> Result<()> {
        let goes_on = packet.payload.len() == LENGTH_MAX;
        self.stage = Stage::Rows(goes_on);
        if within {
            return Ok(());
        }
        if packet.payload.is_empty() {
            return Err(nonsense("an empty row"));
        }
        answer.rows += 1;
        let Some(shape) = &self.shape else { return Ok(()) };
        if goes_on {
            return Err(error::server("a row of 16 MiB or more cannot be kept"));
        }
        let mut bytes = ParseBuf(packet.payload);
        let columns = Arc::clone(shape);
        let row = match due {
            Reply::Binary => RowDeserializer::<ServerSide, Binary>::deserialize(columns, &mut bytes).map(Into::into),
            _ => RowDeserializer::<ServerSide, Text>::deserialize(columns, &mut bytes).map(Into::into),
        };
        let row: mysql_common::Row = row.map_err(unreadable)?;
        answer.keep_row(values(row));
        Ok(())
    }

    /// The answer to a preparation.
    fn prepared(&mut self, number: Option<u32>, payload: &[u8], answer: &mut Answer) -> Result<()> {
        let mut rest = ParseBuf(payload);
        let head = (rest.checked_eat_u8(), rest.checked_eat_u32_le());
        let counts = (rest.checked_eat_u16_le(), rest.checked_eat_u16_le());
        let ((Some(OK), Some(id)), (Some(columns), Some(parameters))) = (head, counts) else {
            return Err(nonsense("a statement was prepared in an unknown way"));
        };
        self.set_handle(number, Handle::Id(id));
        match (parameters, columns) {
            (0, 0) => self.done(answer),
            (0, columns) => self.stage = Stage::Definitions(columns, 0),
            (parameters, columns) => self.stage = Stage::Definitions(parameters, columns),
        }
        Ok(())
    }

    fn set_handle(&mut self, number: Option<u32>, handle: Handle) {
        let Some(number) = number else { return };
        let index = number as usize;
        if self.handles.len() <= index {
            self.handles.resize(index + 1, Handle::None);
        }
        self.handles[index] = handle;
    }

    /// An error takes the place of what was due.
    fn refused(&mut self, due: Reply, payload: &[u8], answer: &mut Answer) {
        let (code, refusal) = refusal(payload);
        match due {
            Reply::Prepared(number @ Some(_)) if code == UNSUPPORTED => self.set_handle(number, Handle::Text),
            _ => {
                answer.error.get_or_insert(refusal);
            }
        }
        self.done(answer);
    }

    /// A statement has been executed; the status says whether the text had more of them.
    fn end_of_result(&mut self, status: Option<u16>, answer: &mut Answer) -> Result<()> {
        let status = StatusFlags::from_bits_retain(status.ok_or_else(|| nonsense("a result without a status"))?);
        self.in_transaction = status.contains(StatusFlags::SERVER_STATUS_IN_TRANS);
        answer.statements += 1;
        if status.contains(StatusFlags::SERVER_MORE_RESULTS_EXISTS) {
            self.stage = Stage::First;
        } else {
            self.done(answer);
        }
        Ok(())
    }

    /// What was due has come.
    fn done(&mut self, answer: &mut Answer) {
        self.stage = Stage::First;
        self.awaited.pop_front();
        answer.complete = self.awaited.is_empty();
    }
}

/// What the password becomes under a method, for this challenge; none if the method is not known.
fn proof(plugin: &AuthPlugin<'_>, challenge: &[u8], password: &[u8]) -> Result<Option<Vec<u8>>> {
    if password.is_empty() {
        return Ok(Some(Vec::new()));
    }
    match plugin {
        AuthPlugin::MysqlNativePassword => Ok(scramble_native(challenge, password).map(Vec::from)),
        AuthPlugin::CachingSha2Password => {
            let challenge = challenge.first_chunk().ok_or_else(|| nonsense("a challenge that is too short"))?;
            Ok(scramble_sha256(challenge, password).map(Vec::from))
        }
        _ => Ok(None),
    }
}

fn unknown_method(plugin: &AuthPlugin<'_>) -> Error {
    let name = String::from_utf8_lossy(plugin.as_bytes()).into_owned();
    Error::session(
        sqlstate::INVALID_AUTHORIZATION_SPECIFICATION,
        format!("the server wants a proof of the password by \"{name}\", which is not known here"),
    )
    .hint("Give the user a password of the kind mysql_native_password, or none.")
}

fn unreadable(error: std::io::Error) -> Error {
    nonsense(&error.to_string())
}

/// An error's code and what it says. A server that is full says so before it knows how we want errors: without SQLSTATE.
fn refusal(payload: &[u8]) -> (u16, Refusal) {
    let code = payload.get(1..3).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let rest = payload.get(3..).unwrap_or_default();
    let (state, message) = match rest {
        [b'#', rest @ ..] if rest.len() >= 5 => rest.split_at(5),
        _ => (&b"HY000"[..], rest),
    };
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (code, Refusal { state: text(state), message: format!("{} ({code})", text(message)) })
}

/// A row's values as text.
fn values(row: mysql_common::Row) -> Row {
    use mysql_common::Value as V;
    let text = |value| match value {
        V::NULL => None,
        V::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        V::Int(number) => Some(number.to_string()),
        V::UInt(number) => Some(number.to_string()),
        V::Float(number) => Some(number.to_string()),
        V::Double(number) => Some(number.to_string()),
        date @ (V::Date(..) | V::Time(..)) => Some(date.as_sql(true).trim_matches('\'').to_string()),
    };
    row.unwrap().into_iter().map(text).collect()
}

#[cfg(test)]
mod tests;
