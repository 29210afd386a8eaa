//! A client of the PostgreSQL protocol in the simulator: statements go over a [`SimConn`] in the ways that drivers send them.
//!
//! ```text
//!  Simple    Query ->                                       rows, tags, ReadyForQuery
//!  Unnamed   Parse Bind Describe Execute Sync ->            in one piece
//!  Prepared  Parse Sync -> … Bind Execute Sync ->           the statement is kept over requests, until the connection is lost
//!  Pieces    Parse Flush -> Bind Flush -> Execute Flush -> Sync ->   each is answered before the next is sent
//!  Rows      Bind Execute(2) Sync -> Execute(2) Sync -> …   a portal that is kept over requests; in a transaction block only
//! ```
//!
//! Rules
//! 1. Whatever is not as the protocol says fails the run. A connection that breaks does not: it is [`Lost`].
//! 2. What is prepared is known by its text, and prepared again on a new connection.

use kernel::engine::sim::{Broken, SimConn};
use std::collections::BTreeMap;

/// The connection broke, or the server ended the session: what was asked for may have been done or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost;

/// How a statement is sent; see the head of this file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    Simple,
    Unnamed,
    Prepared,
    Pieces,
    Rows,
}

impl How {
    pub const ALL: [How; 5] = [How::Simple, How::Unnamed, How::Prepared, How::Pieces, How::Rows];
}

/// What a server says is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub code: String,
    pub message: String,
}

/// True if a run is to be told at length.
pub fn is_verbose() -> bool {
    std::env::var("SIM_VERBOSE").is_ok_and(|value| value == "1")
}

/// The database that is always there.
const HOME: &str = "postgres";

/// A row's values as text.
pub type Row = Vec<Option<String>>;

/// What was answered up to `ReadyForQuery`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reply {
    pub rows: Vec<Row>,
    pub tags: Vec<String>,
    pub error: Option<Refusal>,
    /// `I`, `T` or `E`.
    pub status: char,
    suspended: bool,
}

impl Reply {
    /// The SQLSTATE, if it is an error.
    pub fn code(&self) -> Option<&str> {
        self.error.as_ref().map(|error| error.code.as_str())
    }

    /// The number in a column of a row.
    pub fn number(&self, row: usize, column: usize) -> i64 {
        let value = self.rows.get(row).and_then(|row| row.get(column)).and_then(|value| value.as_deref());
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no number in {self:?}"))
    }

    /// The numbers of a column.
    pub fn numbers(&self, column: usize) -> Vec<i64> {
        (0..self.rows.len()).map(|row| self.number(row, column)).collect()
    }
}

/// Errors that are nobody's mistake: the victim of a deadlock or of a concurrent change, a statement that took too long, a disk that
/// failed once or is full.
pub fn is_transient(code: &str) -> bool {
    ["40P01", "40001", "57014", "55P03", "57P01", "58030", "53100"].contains(&code)
}

/// A message to the server, being written.
struct Message<'b> {
    buffer: &'b mut Vec<u8>,
    start: usize,
}

impl<'b> Message<'b> {
    fn begin(buffer: &'b mut Vec<u8>, tag: Option<u8>) -> Message<'b> {
        buffer.extend(tag);
        let start = buffer.len();
        buffer.extend([0; 4]);
        Message { buffer, start }
    }

    fn text(self, text: &str) -> Self {
        self.buffer.extend_from_slice(text.as_bytes());
        self.buffer.push(0);
        self
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        self.buffer.extend_from_slice(bytes);
        self
    }

    fn short(self, number: usize) -> Self {
        self.bytes(&(number as i16).to_be_bytes())
    }

    fn long(self, number: usize) -> Self {
        self.bytes(&(number as i32).to_be_bytes())
    }

    fn end(self) {
        let length = (self.buffer.len() - self.start) as u32;
        self.buffer[self.start..self.start + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// See the head of this file.
pub struct Wire<'c> {
    pub conn: &'c mut SimConn,
    input: Vec<u8>,
    /// Names of prepared statements on this connection, by text.
    prepared: BTreeMap<String, String>,
    in_session: bool,
    /// The database in which its sessions are.
    database: String,
    /// The last session did not begin, because there is no such database.
    is_nowhere: bool,
    /// What `ReadyForQuery` said last.
    pub status: char,
    /// The session's number, and how often the server had restarted when it began.
    session: Option<(i32, u32)>,
    /// Sessions may have settings of their own.
    varied: bool,
    verbose: bool,
}

impl<'c> Wire<'c> {
    pub fn new(conn: &'c mut SimConn) -> Wire<'c> {
        Wire {
            conn,
            input: Vec::new(),
            prepared: BTreeMap::new(),
            in_session: false,
            database: HOME.to_owned(),
            is_nowhere: false,
            status: 'I',
            session: None,
            varied: true,
            verbose: is_verbose(),
        }
    }

    /// A client who waits for each answer however long it takes.
    pub fn patient(conn: &'c mut SimConn) -> Wire<'c> {
        Wire { varied: false, ..Wire::new(conn) }
    }

    pub fn below(&self, bound: u64) -> u64 {
        self.conn.random(bound)
    }

    pub fn pick<T: Copy>(&self, among: &[T]) -> T {
        among[self.below(among.len() as u64) as usize]
    }

    /// Waits until the last session is gone, which was lost: nothing that it was asked for can be done any more.
    pub fn outlast(&mut self) {
        let Some((number, restarts)) = self.session else { return };
        // After a restart the number says nothing, and the session is gone.
        while self.conn.restarts() == restarts {
            let sql = "select count(*) from pg_stat_activity where pid = $1 and pid <> pg_backend_pid()";
            match self.run(How::Unnamed, sql, &[number.to_string()]) {
                Ok(reply) if reply.error.is_none() && reply.number(0, 0) == 0 => break,
                _ => self.conn.sleep(1_000_000),
            }
        }
    }

    /// Ends a block that an error has left open, also where a time-out ended the statement that was to end it.
    pub fn end_block(&mut self) {
        while self.in_session && self.status != 'I' {
            if let Ok(Reply { error: Some(error), .. }) = self.simple("rollback") {
                assert!(is_transient(&error.code), "rollback: {error:?}");
            }
        }
    }

    /// Leaves as a polite client does, or without a word.
    pub fn leave(&mut self, politely: bool) {
        if politely && self.in_session {
            let mut bytes = Vec::new();
            Message::begin(&mut bytes, Some(b'X')).end();
            let _ = self.conn.send(&bytes);
            self.conn.close();
        } else {
            self.conn.reset();
        }
        self.lose();
    }

    fn lose(&mut self) -> Lost {
        self.conn.close();
        self.input.clear();
        self.prepared.clear();
        self.in_session = false;
        self.status = 'I';
        Lost
    }

    /// The next session is one in that database; the present one ends, if it is in another.
    pub fn enter(&mut self, database: &str) {
        if self.database != database {
            self.leave(true);
            self.database = database.to_owned();
        }
    }

    /// Connects and logs in, however often that takes; [`Lost`] if there is no such database.
    fn come_in(&mut self) -> Result<(), Lost> {
        while !self.in_session {
            self.conn.connect_patiently();
            let mut bytes = Vec::new();
            let startup = Message::begin(&mut bytes, None).long(196_608);
            startup.text("user").text("postgres").text("database").text(&self.database).bytes(&[0]).end();
            let greeting = self.send(&bytes).and_then(|()| self.reply());
            match greeting {
                Ok(Reply { error: None, .. }) => {
                    self.in_session = true;
                    self.set_up();
                }
                Ok(Reply { error, .. }) => panic!("the server lets nobody in, and does not close: {error:?}"),
                Err(Lost) if std::mem::take(&mut self.is_nowhere) => return Err(Lost),
                Err(Lost) => self.conn.sleep(500_000),
            }
        }
        Ok(())
    }

    /// Some sessions have settings of their own: statements that are given up, and plans that nobody shares.
    fn set_up(&mut self) {
        if !self.varied {
            return;
        }
        let setting = match self.below(10) {
            0 => "statement_timeout = 25",
            1 => "lock_timeout = 4",
            2 => "statement_cache = off",
            _ => return,
        };
        if let Ok(reply) = self.simple(&format!("set {setting}")) {
            assert_eq!(reply.error, None, "set {setting}");
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        // A driver sends as much at a time as suits it.
        let cut = match self.below(4) {
            0 if bytes.len() > 1 => 1 + self.below(bytes.len() as u64 - 1) as usize,
            _ => bytes.len(),
        };
        let (first, second) = bytes.split_at(cut);
        let mut sent = self.conn.send(first);
        if !second.is_empty() && sent.is_ok() {
            self.conn.sleep(200_000);
            sent = self.conn.send(second);
        }
        sent.map_err(|_| self.lose())
    }

    /// The next message: its tag and body.
    fn message(&mut self) -> Result<(u8, Vec<u8>), Lost> {
        loop {
            if let Some(head) = self.input.get(1..5) {
                let length = u32::from_be_bytes(head.try_into().expect("four bytes")) as usize;
                assert!((4..1 << 20).contains(&length), "a message of {length} bytes: {:?}", self.input);
                if self.input.len() > length {
                    let tag = self.input[0];
                    let body = self.input[5..=length].to_vec();
                    self.input.drain(..=length);
                    return Ok((tag, body));
                }
            }
            match self.conn.receive(None) {
                Ok(more) => self.input.extend(more),
                Err(Broken::TimedOut) => {}
                Err(_) => return Err(self.lose()),
            }
        }
    }

    /// Reads up to `ReadyForQuery`.
    fn reply(&mut self) -> Result<Reply, Lost> {
        let mut reply = Reply::default();
        while !self.one(&mut reply)? {}
        self.tell(|| format!("is told: {reply:?}"));
        Ok(reply)
    }

    /// Takes one message into the reply; true at `ReadyForQuery`.
    fn one(&mut self, reply: &mut Reply) -> Result<bool, Lost> {
        let (tag, body) = self.message()?;
        match tag {
            b'Z' => {
                // Who is thrown out of a database is told so whatever he does.
                let is_told_to_go = self.database != HOME && self.input.first() == Some(&b'E');
                assert!(
                    self.input.is_empty() || is_told_to_go,
                    "something follows ReadyForQuery unasked: {:?}",
                    self.input
                );
                reply.status = *body.first().expect("ReadyForQuery has a status") as char;
                self.status = reply.status;
                return Ok(true);
            }
            b'D' => {
                assert!(reply.error.is_none(), "a row after an error");
                reply.rows.push(row(&body));
            }
            b'C' => reply.tags.push(text(&body).0),
            b'E' => {
                let (fatal, refusal) = refusal(&body);
                if fatal {
                    let is_known = ["53300", "57P03", "57P02"].contains(&refusal.code.as_str());
                    self.is_nowhere = refusal.code == "3D000" && self.database != HOME;
                    assert!(
                        is_transient(&refusal.code) || is_known || self.is_nowhere,
                        "the session ends: {refusal:?}"
                    );
                    return Err(self.lose());
                }
                assert!(reply.error.is_none(), "two errors: {:?} and {refusal:?}", reply.error);
                reply.error = Some(refusal);
            }
            b's' => reply.suspended = true,
            b'K' => {
                let number = i32::from_be_bytes(body[..4].try_into().expect("four bytes"));
                self.session = Some((number, self.conn.restarts()));
            }
            // Of the start; of the extended protocol; rows' shape; a notice; an empty statement.
            b'R' | b'S' | b'1' | b'2' | b'3' | b'n' | b't' | b'T' | b'N' | b'I' => {}
            other => panic!("a message {:?} that nobody asked for: {body:?}", other as char),
        }
        Ok(false)
    }

    /// Tells what happens, if that is wanted.
    fn tell(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            eprintln!("{:>12.3} us  {}", self.conn.now() as f64 / 1000.0, what());
        }
    }

    /// A text of one or several statements.
    pub fn simple(&mut self, sql: &str) -> Result<Reply, Lost> {
        self.come_in()?;
        self.tell(|| format!("asks: {sql}"));
        let mut bytes = Vec::new();
        Message::begin(&mut bytes, Some(b'Q')).text(sql).end();
        self.send(&bytes)?;
        self.reply()
    }

    /// Asks until it is known to be done: for what may be done twice. Errors with these codes are an answer too.
    pub fn insist(&mut self, sql: &str, also: &[&str]) -> Reply {
        loop {
            match self.simple(sql) {
                Ok(reply) => match reply.code() {
                    None => return reply,
                    Some(code) if also.contains(&code) => return reply,
                    Some(code) if is_transient(code) => self.conn.sleep(1_000_000),
                    Some(_) => panic!("{sql}: {:?}", reply.error),
                },
                Err(Lost) => self.conn.sleep(500_000),
            }
        }
    }

    /// A statement whose parameters are `$1` and so on.
    pub fn run(&mut self, how: How, sql: &str, parameters: &[String]) -> Result<Reply, Lost> {
        self.come_in()?;
        self.tell(|| format!("asks, {how:?}: {sql} {parameters:?}"));
        match how {
            How::Simple => self.simple(&inline(sql, parameters)),
            How::Unnamed => {
                let mut bytes = Vec::new();
                parse(&mut bytes, "", sql);
                bind(&mut bytes, "", "", parameters);
                Message::begin(&mut bytes, Some(b'D')).bytes(b"P").text("").end();
                execute(&mut bytes, "", 0);
                sync(&mut bytes);
                self.send(&bytes)?;
                self.reply()
            }
            How::Pieces => self.in_pieces(sql, parameters, |_, _| ()),
            How::Prepared => {
                let name = match self.statement(sql)? {
                    Ok(name) => name,
                    Err(refused) => return Ok(refused),
                };
                let mut bytes = Vec::new();
                bind(&mut bytes, "", &name, parameters);
                execute(&mut bytes, "", 0);
                sync(&mut bytes);
                self.send(&bytes)?;
                self.reply()
            }
            How::Rows if self.status == 'T' => self.by_rows(sql, parameters),
            How::Rows => self.run(How::Unnamed, sql, parameters),
        }
    }

    /// The name of a prepared statement; prepares it if need be. The inner error is the answer if that failed.
    fn statement(&mut self, sql: &str) -> Result<Result<String, Reply>, Lost> {
        if let Some(name) = self.prepared.get(sql) {
            return Ok(Ok(name.clone()));
        }
        let name = format!("s{}", self.prepared.len());
        let mut bytes = Vec::new();
        parse(&mut bytes, &name, sql);
        sync(&mut bytes);
        self.send(&bytes)?;
        let reply = self.reply()?;
        if reply.error.is_some() {
            return Ok(Err(reply));
        }
        self.prepared.insert(sql.to_string(), name.clone());
        Ok(Ok(name))
    }

    /// Sends `Parse`, `Bind` and `Execute` apart; `before` is called before each, with the tag of its answer.
    pub fn in_pieces(
        &mut self,
        sql: &str,
        parameters: &[String],
        mut before: impl FnMut(&mut Self, u8),
    ) -> Result<Reply, Lost> {
        self.come_in()?;
        let mut pieces: [Vec<u8>; 3] = Default::default();
        parse(&mut pieces[0], "", sql);
        bind(&mut pieces[1], "", "", parameters);
        execute(&mut pieces[2], "", 0);
        let mut reply = Reply::default();
        for (mut piece, answer) in pieces.into_iter().zip([b'1', b'2', b'C']) {
            Message::begin(&mut piece, Some(b'H')).end();
            before(self, answer);
            self.send(&piece)?;
            let done = |reply: &Reply| answer == b'C' && !reply.tags.is_empty();
            let mut told = false;
            while reply.error.is_none() && !told && !done(&reply) {
                // The answer to Flush ends with what answers the message before it.
                while self.input.len() < 5 {
                    match self.conn.receive(None) {
                        Ok(more) => self.input.extend(more),
                        Err(_) => return Err(self.lose()),
                    }
                }
                told = answer != b'C' && self.input[0] == answer;
                assert!(!self.one(&mut reply)?, "ReadyForQuery without Sync");
            }
            if reply.error.is_some() {
                break;
            }
        }
        let mut bytes = Vec::new();
        sync(&mut bytes);
        self.send(&bytes)?;
        while !self.one(&mut reply)? {}
        Ok(reply)
    }

    /// Two rows a request, from a portal that is kept.
    fn by_rows(&mut self, sql: &str, parameters: &[String]) -> Result<Reply, Lost> {
        let mut bytes = Vec::new();
        parse(&mut bytes, "", sql);
        bind(&mut bytes, "rows", "", parameters);
        let mut all = Reply::default();
        loop {
            execute(&mut bytes, "rows", 2);
            sync(&mut bytes);
            self.send(&bytes)?;
            bytes.clear();
            let part = self.reply()?;
            let goes_on = part.suspended && part.error.is_none();
            all.rows.extend(part.rows);
            all.tags.extend(part.tags);
            (all.error, all.status) = (part.error, part.status);
            if !goes_on {
                break;
            }
        }
        if all.error.is_none() {
            Message::begin(&mut bytes, Some(b'C')).bytes(b"P").text("rows").end();
            sync(&mut bytes);
            self.send(&bytes)?;
            let closed = self.reply()?;
            assert!(closed.error.is_none(), "a portal cannot be closed: {closed:?}");
        }
        Ok(all)
    }

    /// Several statements with one `Sync` behind them: one transaction, if no block is open.
    pub fn pipeline(&mut self, statements: &[(String, Vec<String>)]) -> Result<Reply, Lost> {
        self.come_in()?;
        let mut bytes = Vec::new();
        for (sql, parameters) in statements {
            parse(&mut bytes, "", sql);
            bind(&mut bytes, "", "", parameters);
            execute(&mut bytes, "", 0);
        }
        sync(&mut bytes);
        self.send(&bytes)?;
        self.reply()
    }

    /// Copies lines into a table.
    pub fn copy_in(&mut self, sql: &str, lines: &[String]) -> Result<Reply, Lost> {
        self.come_in()?;
        let mut bytes = Vec::new();
        Message::begin(&mut bytes, Some(b'Q')).text(sql).end();
        self.send(&bytes)?;
        let mut reply = Reply::default();
        loop {
            while self.input.len() < 5 {
                match self.conn.receive(None) {
                    Ok(more) => self.input.extend(more),
                    Err(_) => return Err(self.lose()),
                }
            }
            if self.input[0] == b'G' {
                self.message()?;
                break;
            }
            if self.one(&mut reply)? {
                return Ok(reply);
            }
        }
        let mut bytes = Vec::new();
        for line in lines {
            Message::begin(&mut bytes, Some(b'd')).bytes(line.as_bytes()).bytes(b"\n").end();
        }
        Message::begin(&mut bytes, Some(b'c')).end();
        self.send(&bytes)?;
        while !self.one(&mut reply)? {}
        Ok(reply)
    }
}

fn parse(bytes: &mut Vec<u8>, name: &str, sql: &str) {
    Message::begin(bytes, Some(b'P')).text(name).text(sql).short(0).end();
}

fn bind(bytes: &mut Vec<u8>, portal: &str, statement: &str, parameters: &[String]) {
    let mut message = Message::begin(bytes, Some(b'B')).text(portal).text(statement).short(0).short(parameters.len());
    for parameter in parameters {
        message = message.long(parameter.len()).bytes(parameter.as_bytes());
    }
    message.short(0).end();
}

fn execute(bytes: &mut Vec<u8>, portal: &str, rows: usize) {
    Message::begin(bytes, Some(b'E')).text(portal).long(rows).end();
}

fn sync(bytes: &mut Vec<u8>) {
    Message::begin(bytes, Some(b'S')).end();
}

/// The text with its parameters, which are numbers, in place.
fn inline(sql: &str, parameters: &[String]) -> String {
    parameters.iter().enumerate().rev().fold(sql.to_string(), |sql, (at, value)| {
        let value = if value.starts_with('-') { format!("({value})") } else { value.clone() };
        sql.replace(&format!("${}", at + 1), &value)
    })
}

/// A zero-terminated text, and what follows it.
fn text(bytes: &[u8]) -> (String, &[u8]) {
    let end = bytes.iter().position(|&byte| byte == 0).expect("a text ends with a zero");
    (String::from_utf8(bytes[..end].to_vec()).expect("a text is UTF-8"), &bytes[end + 1..])
}

fn row(body: &[u8]) -> Row {
    let count = i16::from_be_bytes(body[..2].try_into().expect("two bytes"));
    let mut rest = &body[2..];
    let row = (0..count)
        .map(|_| {
            let length = i32::from_be_bytes(rest[..4].try_into().expect("four bytes"));
            rest = &rest[4..];
            let length = usize::try_from(length).ok()?;
            let value = String::from_utf8(rest[..length].to_vec()).expect("a value is UTF-8");
            rest = &rest[length..];
            Some(value)
        })
        .collect();
    assert!(rest.is_empty(), "a row is longer than its values");
    row
}

/// An error's fields, and whether it ends the session.
fn refusal(body: &[u8]) -> (bool, Refusal) {
    let mut fields = BTreeMap::new();
    let mut rest = body;
    while let Some((&kind, after)) = rest.split_first()
        && kind != 0
    {
        let (value, after) = text(after);
        fields.insert(kind, value);
        rest = after;
    }
    let field = |kind: u8| fields.get(&kind).cloned().unwrap_or_default();
    let detail = [b'M', b'D', b'W'].map(field).join(" | ");
    let severity = field(b'V');
    (severity == "FATAL" || severity == "PANIC", Refusal { code: field(b'C'), message: detail })
}
