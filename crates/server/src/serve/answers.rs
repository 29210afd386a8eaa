//! Where a statement's answers go: the session's send buffer, as messages; and where copied data comes from.
//!
//! Rules
//! 1. A row is in the buffer whole or not at all: nothing is sent while one is open.
//! 2. Sending may wait for the client, between two rows only.
//! 3. What a client sends during a copy is read here; what it had sent before it learnt that its copy failed is passed over by
//!    [`super::connection`].

use base::settings::MessageLevel;
use base::{Error, Result, sqlstate};
use kernel::session::Session;
use protocol::Format as WireFormat;
use protocol::backend::{self, CopyRow, Field, Level, OpenRow, RowDescription};
use protocol::frontend::{self, Framed, Tag as MessageTag};
use sql::session::{Column, CopyFormat, Format, Output, Tag};

/// See the head of this file.
pub struct Answers<'s> {
    session: &'s mut Session,
    row: Option<OpenRow>,
    /// The least that a client wants to be told (`client_min_messages`).
    level: MessageLevel,
}

impl<'s> Answers<'s> {
    pub fn new(session: &'s mut Session, level: MessageLevel) -> Answers<'s> {
        Answers { session, row: None, level }
    }

    /// The buffer itself, between two rows.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.session.output()
    }
}

fn wire(format: Format) -> WireFormat {
    match format {
        Format::Text => WireFormat::Text,
        Format::Binary => WireFormat::Binary,
    }
}

fn copy_wire(format: CopyFormat) -> WireFormat {
    match format {
        CopyFormat::Text => WireFormat::Text,
        CopyFormat::Binary => WireFormat::Binary,
    }
}

impl Output for Answers<'_> {
    fn columns<'c>(&mut self, columns: impl Iterator<Item = Column<'c>>) {
        let mut description = RowDescription::begin(self.session.output());
        for column in columns {
            description.field(&Field {
                name: column.name,
                table: column.table,
                column: column.number,
                type_oid: column.ty.oid.0,
                type_size: column.size,
                type_modifier: column.ty.typmod,
                format: wire(column.format),
            });
        }
        description.end();
    }

    #[inline]
    fn begin_row(&mut self) {
        self.row = Some(OpenRow::begin(self.session.output()));
    }

    #[inline]
    fn null(&mut self) {
        if let Some(row) = &mut self.row {
            row.null(self.session.output());
        }
    }

    #[inline]
    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        match &mut self.row {
            Some(row) => row.value_with(self.session.output(), write),
            None => Ok(()),
        }
    }

    #[inline]
    fn end_row(&mut self) -> Result<()> {
        if let Some(row) = self.row.take() {
            row.end(self.session.output())?;
        }
        self.session.flush_if_full()
    }

    fn abandon_row(&mut self) {
        if let Some(row) = self.row.take() {
            row.abandon(self.session.output());
        }
    }

    fn complete(&mut self, tag: Tag) {
        match tag {
            Tag::Rows(words, rows) => backend::command_complete_rows(self.session.output(), words, rows),
            Tag::Words(words) => backend::command_complete(self.session.output(), words),
        }
    }

    fn empty_query(&mut self) {
        backend::empty_query_response(self.session.output());
    }

    fn suspended(&mut self) {
        backend::portal_suspended(self.session.output());
    }

    fn notice(&mut self, level: MessageLevel, message: &Error) {
        if !level.reaches_client(self.level) {
            return;
        }
        let level = match level {
            MessageLevel::Warning | MessageLevel::Error => Level::Warning,
            MessageLevel::Notice => Level::Notice,
            MessageLevel::Info => Level::Info,
            MessageLevel::Log => Level::Log,
            _ => Level::Debug,
        };
        backend::notice_response(self.session.output(), level, message);
    }

    fn heed(&mut self, least: MessageLevel) {
        self.level = least;
    }

    fn copy_in(&mut self, format: CopyFormat, columns: usize) -> Result<()> {
        backend::copy_in_response(self.session.output(), copy_wire(format), columns);
        self.session.flush()
    }

    fn copied(&mut self, take: impl FnOnce(&[u8]) -> Result<()>) -> Result<bool> {
        loop {
            let (tag, body, consumed) = match frontend::next(self.session.input(), protocol::limits::LARGE_MAX)? {
                Framed::Message { tag, body, consumed } => (tag, body, consumed),
                Framed::NeedMore(bytes) => {
                    if !self.session.await_large(bytes)? {
                        self.session.fill()?;
                    }
                    continue;
                }
            };
            let piece = match tag {
                MessageTag::CopyData => take(body).map(|()| true),
                MessageTag::CopyDone => Ok(false),
                MessageTag::CopyFail => frontend::reason(body).and_then(|reason| {
                    let message = format!("COPY from stdin failed: {reason}");
                    Err(Error::statement(sqlstate::QUERY_CANCELED, message))
                }),
                MessageTag::Flush | MessageTag::Sync => {
                    self.session.consume(consumed);
                    continue;
                }
                // It is answered as if no copy had been under way.
                _ => return Err(frontend::unexpected_in_copy(tag)),
            };
            // Also if it ends the copy with an error: the message has had its answer.
            self.session.consume(consumed);
            return piece;
        }
    }

    fn copy_out(&mut self, format: CopyFormat, columns: usize) {
        backend::copy_out_response(self.session.output(), copy_wire(format), columns);
    }

    fn copy_row(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let mut row = CopyRow::begin(self.session.output());
        write(row.sink())?;
        row.end()?;
        self.session.flush_if_full()
    }

    fn copy_done(&mut self) {
        backend::copy_done(self.session.output());
    }
}
