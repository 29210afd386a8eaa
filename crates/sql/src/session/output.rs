//! Where a session's answers go, and where copied data comes from.
//!
//! The server implements [`Output`] over its protocol; tests implement it over vectors. Everything is generic over it, so a
//! value goes from the executor into the send buffer without a call through a table.

use crate::types::Type;
use base::settings::MessageLevel;
use base::{Error, Result};

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// Its text form.
    #[default]
    Text,
    /// Its binary form.
    Binary,
}

/// How data is copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyFormat {
    /// Lines of text, or of comma-separated values.
    Text,
    /// PostgreSQL's binary form.
    Binary,
}

/// A column of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column<'a> {
    /// Its name.
    pub name: &'a str,
    /// The table that it is a plain column of; zero for an expression.
    pub table: u32,
    /// Its number in that table; zero for an expression.
    pub number: i16,
    /// Its type.
    pub ty: Type,
    /// Its type's size, as in `pg_type.typlen`.
    pub size: i16,
    /// How its values are written.
    pub format: Format,
}

/// What a finished statement is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tag {
    /// Words and a count of rows: `SELECT 5`.
    Rows(&'static str, u64),
    /// Words: `CREATE TABLE`.
    Words(&'static str),
}

/// Where answers go.
pub trait Output {
    /// What the rows that follow look like.
    fn columns<'c>(&mut self, columns: impl Iterator<Item = Column<'c>>);

    /// How a column of a result is to be written that would be written like `own` by itself.
    fn format(&self, _column: usize, own: Format) -> Format {
        own
    }

    /// Begins a row.
    fn begin_row(&mut self);

    /// The row's next value is null.
    fn null(&mut self);

    /// The row's next value is what `write` appends.
    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()>;

    /// Ends the row. May wait for the client to read.
    fn end_row(&mut self) -> Result<()>;

    /// Forgets the row that was begun.
    fn abandon_row(&mut self);

    /// The statement is done.
    fn complete(&mut self, tag: Tag);

    /// The text had no statement in it.
    fn empty_query(&mut self);

    /// The portal has more rows than were asked for.
    fn suspended(&mut self);

    /// Something that the user should hear.
    fn notice(&mut self, level: MessageLevel, message: &Error);

    /// From now on the user wants to hear only messages of that level and above.
    fn heed(&mut self, _least: MessageLevel) {}

    /// Data is going to be copied from the client, in so many columns.
    fn copy_in(&mut self, format: CopyFormat, columns: usize) -> Result<()>;

    /// Gives the next piece of copied data to `take`; false at the end. Waits for the client. Errors: what the client said
    /// when it gave up.
    fn copied(&mut self, take: impl FnOnce(&[u8]) -> Result<()>) -> Result<bool>;

    /// Data is going to be copied to the client, in so many columns.
    fn copy_out(&mut self, format: CopyFormat, columns: usize);

    /// A piece of it: what `write` appends.
    fn copy_row(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()>;

    /// All of it has been copied.
    fn copy_done(&mut self);
}

/// An output that nobody reads: rows are counted and dropped.
#[derive(Debug, Default)]
pub struct NoData {
    spare: Vec<u8>,
}

impl Output for NoData {
    fn columns<'c>(&mut self, _: impl Iterator<Item = Column<'c>>) {}

    fn begin_row(&mut self) {}

    fn null(&mut self) {}

    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.spare.clear();
        write(&mut self.spare)
    }

    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }

    fn abandon_row(&mut self) {}

    fn complete(&mut self, _: Tag) {}

    fn empty_query(&mut self) {}

    fn suspended(&mut self) {}

    fn notice(&mut self, _: MessageLevel, _: &Error) {}

    fn copy_in(&mut self, _: CopyFormat, _: usize) -> Result<()> {
        Err(Error::unsupported("there is nobody to copy from"))
    }

    fn copied(&mut self, _: impl FnOnce(&[u8]) -> Result<()>) -> Result<bool> {
        Ok(false)
    }

    fn copy_out(&mut self, _: CopyFormat, _: usize) {}

    fn copy_row(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.spare.clear();
        write(&mut self.spare)
    }

    fn copy_done(&mut self) {}
}
