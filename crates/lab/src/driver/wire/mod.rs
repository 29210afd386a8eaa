//! The protocols that the driver speaks: bytes in, messages out, no socket.
//!
//! ```text
//!   greet ─▶ answers ─▶ prepare ─▶ answers ─▶ request ─▶ answers ─▶ request … leave
//! ```
//!
//! Each of the calls adds what is to be sent to a buffer and begins an *exchange*; [`Wire::receive`] is given the bytes that
//! come, until it says that the exchange is complete. It may have something to send itself, as logging in does.
//!
//! Rules
//! 1. A wire holds no socket, no clock and no buffer of input: what it did not use of its input comes again with more behind it.
//! 2. Bytes from the server are never trusted: what makes no sense is an error, `08P01`, that ends the connection.
//! 3. What a server answers to a statement is no error here: it is in [`Answer::error`].
//! 4. The hot path looks at the heads of messages and passes over their bodies; only what somebody asked for is taken apart.

pub mod mysql;
pub mod postgres;

use crate::address::{self, Address};
use crate::error;
use crate::workload::script::{Frame, Placeholder, Statement};
use base::{Error, Result, sqlstate};
use bytes::BytesMut;

/// How statements are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// Prepared once for each connection, then executed by name.
    Named,
    /// Prepared and executed each time, with the parameters apart from the text.
    Unnamed,
    /// The text with its values in it.
    Simple,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 3] = [Protocol::Named, Protocol::Unnamed, Protocol::Simple];

    /// Its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Named => "named",
            Protocol::Unnamed => "unnamed",
            Protocol::Simple => "simple",
        }
    }

    /// The protocol of a name.
    ///
    /// # Errors
    /// `22023` with the names that there are.
    pub fn parse(name: &str) -> Result<Protocol> {
        let found = Protocol::ALL.into_iter().find(|protocol| protocol.name() == name);
        found.ok_or_else(|| {
            error::usage(format!("unknown protocol \"{name}\"")).hint("There are: named, unnamed, simple.")
        })
    }
}

/// A statement of a script as the wire needs it.
#[derive(Debug)]
pub struct Prepared {
    /// Its number among all statements of a load: what its name is made of.
    pub number: u32,
    /// Its text with placeholders in the wire's way; empty if its values are always in it.
    pub text: String,
    /// Where its parameters come from.
    pub statement: Statement,
}

impl Prepared {
    /// Prepares nothing yet: writes the text down as this wire wants it.
    pub fn new(wire: address::Wire, number: u32, statement: &Statement) -> Prepared {
        let placeholder = match wire {
            address::Wire::Postgres => Placeholder::Dollar,
            address::Wire::Mysql => Placeholder::Question,
        };
        let text = if statement.literal { String::new() } else { statement.text(placeholder) };
        Prepared { number, text, statement: statement.clone() }
    }

    /// Whether it can be prepared ahead: its text is always the same.
    pub fn is_constant(&self) -> bool {
        !self.statement.literal
    }
}

/// Which rows of an answer are kept.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Keep {
    /// None.
    #[default]
    Nothing,
    /// The last one.
    Last,
    /// All.
    All,
}

/// A row: its values as text.
pub type Row = Vec<Option<String>>;

/// What came back in one exchange.
#[derive(Default, Debug)]
pub struct Answer {
    /// Whether everything that was asked has been answered.
    pub complete: bool,
    /// Statements that were executed.
    pub statements: u64,
    /// Rows that came.
    pub rows: u64,
    /// The first error.
    pub error: Option<Refusal>,
    /// Whether the server is in a transaction block now.
    pub in_transaction: bool,
    /// What to keep of the rows; set by who asks.
    pub keep: Keep,
    /// The names of the columns, if rows are kept.
    pub columns: Vec<String>,
    /// The rows that were kept.
    pub kept: Vec<Row>,
}

impl Answer {
    /// Forgets the last exchange; the next one's rows are kept as said.
    pub fn begin(&mut self, keep: Keep) {
        self.complete = false;
        self.error = None;
        self.statements = 0;
        self.rows = 0;
        self.keep = keep;
        if !self.columns.is_empty() {
            self.columns.clear();
            self.kept.clear();
        }
    }

    fn keep_row(&mut self, row: Row) {
        if self.keep == Keep::Last {
            self.kept.clear();
        }
        self.kept.push(row);
    }
}

/// An error that the server answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Its SQLSTATE.
    pub state: String,
    /// Its message.
    pub message: String,
}

/// One connection's side of a protocol.
pub enum Wire {
    /// MariaDB's.
    Mysql(mysql::Mysql),
    /// PostgreSQL's.
    Postgres(postgres::Postgres),
}

/// The server's bytes make no sense.
fn nonsense(what: &str) -> Error {
    Error::new(
        base::error::Kind::Session,
        sqlstate::PROTOCOL_VIOLATION,
        format!("the server's answer makes no sense: {what}"),
    )
}

impl Wire {
    /// A connection that is not there yet.
    pub fn new(address: &Address, protocol: Protocol) -> Wire {
        match address.wire {
            address::Wire::Mysql => Wire::Mysql(mysql::Mysql::new(address, protocol)),
            address::Wire::Postgres => Wire::Postgres(postgres::Postgres::new(address, protocol)),
        }
    }

    /// Begins to log in; the exchange is complete when statements are welcome.
    pub fn greet(&mut self, out: &mut BytesMut) {
        match self {
            Wire::Mysql(wire) => wire.greet(out),
            Wire::Postgres(wire) => wire.greet(out),
        }
    }

    /// Prepares what can be prepared ahead. Answers whether there is anything to wait for.
    pub fn prepare(&mut self, statements: &[Prepared], out: &mut BytesMut) -> Result<bool> {
        match self {
            Wire::Mysql(wire) => wire.prepare(statements, out),
            Wire::Postgres(wire) => wire.prepare(statements, out),
        }
    }

    /// Sends a statement with its values. Within a pipeline the exchange goes on until [`Wire::sync`].
    pub fn request(&mut self, prepared: &Prepared, frame: &Frame, pipeline: bool, out: &mut BytesMut) -> Result<()> {
        match self {
            Wire::Mysql(wire) => wire.request(prepared, frame, pipeline, out),
            Wire::Postgres(wire) => wire.request(prepared, frame, pipeline, out),
        }
    }

    /// Ends a pipeline, or a part of one.
    pub fn sync(&mut self, out: &mut BytesMut) {
        match self {
            Wire::Mysql(wire) => wire.sync(out),
            Wire::Postgres(wire) => wire.sync(out),
        }
    }

    /// Sends a text as it is, without parameters.
    pub fn plain(&mut self, text: &str, out: &mut BytesMut) -> Result<()> {
        match self {
            Wire::Mysql(wire) => wire.plain(text, out),
            Wire::Postgres(wire) => wire.plain(text, out),
        }
    }

    /// Says goodbye; no answer comes.
    pub fn leave(&mut self, out: &mut BytesMut) {
        match self {
            Wire::Mysql(wire) => wire.leave(out),
            Wire::Postgres(wire) => wire.leave(out),
        }
    }

    /// Takes what came. Answers how much of `input` it used; the rest has to be shown again with more behind it.
    ///
    /// # Errors
    /// `08P01` if it makes no sense, `28000` if logging in needs what the lab cannot do. The connection is of no use then.
    pub fn receive(&mut self, input: &[u8], out: &mut BytesMut, answer: &mut Answer) -> Result<usize> {
        match self {
            Wire::Mysql(wire) => wire.receive(input, out, answer),
            Wire::Postgres(wire) => wire.receive(input, out, answer),
        }
    }
}
