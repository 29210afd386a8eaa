//! Results: what their columns are, and their rows.
//!
//! Rows are what a server sends most of. A value goes from the executor into the sink with its length in front and
//! nothing in between; where its text is made digit by digit, [`DataRow::value_with`] lets it be made in place.

use super::message::Message;
use crate::Format;
use crate::sink::Sink;
use base::Result;

/// A result column, as `RowDescription` tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field<'a> {
    /// The column's name.
    pub name: &'a str,
    /// The table it is a plain column of, by number; zero for an expression.
    pub table: u32,
    /// Its number in that table, from one; zero for an expression.
    pub column: i16,
    /// Its type's number.
    pub type_oid: u32,
    /// Its type's size: positive if fixed, minus one if it varies, minus two for a zero-terminated string.
    pub type_size: i16,
    /// What the column adds to its type, such as a length limit; minus one if nothing.
    pub type_modifier: i32,
    /// How its values will be written.
    pub format: Format,
}

/// Builds `RowDescription`.
#[derive(Debug)]
pub struct RowDescription<'s, S: Sink + ?Sized> {
    message: Message<'s, S>,
    fields: usize,
}

impl<'s, S: Sink + ?Sized> RowDescription<'s, S> {
    /// Begins the message.
    pub fn begin(sink: &'s mut S) -> Self {
        RowDescription { message: Message::begin_counted(sink, b'T'), fields: 0 }
    }

    /// The next column.
    pub fn field(&mut self, field: &Field<'_>) {
        self.message.string(field.name);
        let mut fixed = [0; 18];
        fixed[0..4].copy_from_slice(&field.table.to_be_bytes());
        fixed[4..6].copy_from_slice(&field.column.to_be_bytes());
        fixed[6..10].copy_from_slice(&field.type_oid.to_be_bytes());
        fixed[10..12].copy_from_slice(&field.type_size.to_be_bytes());
        fixed[12..16].copy_from_slice(&field.type_modifier.to_be_bytes());
        fixed[17] = field.format as u8;
        self.message.put(&fixed);
        self.fields += 1;
    }

    /// Ends the message.
    pub fn end(self) {
        let done = self.message.end_counted(self.fields);
        assert!(done.is_ok(), "65,535 names of 63 bytes fit a message");
    }
}

/// Builds `DataRow`: the values in order, then [`DataRow::end`]. Dropped before that, it leaves no trace.
#[derive(Debug)]
pub struct DataRow<'s, S: Sink + ?Sized> {
    message: Message<'s, S>,
    values: usize,
}

impl<'s, S: Sink + ?Sized> DataRow<'s, S> {
    /// Begins a row.
    #[inline]
    pub fn begin(sink: &'s mut S) -> Self {
        DataRow { message: Message::begin_counted(sink, b'D'), values: 0 }
    }

    /// The next value is null.
    #[inline]
    pub fn null(&mut self) {
        self.message.put(&[0xff; 4]);
        self.values += 1;
    }

    /// The next value, in its column's format.
    #[inline]
    pub fn value(&mut self, value: &[u8]) {
        self.message.sink().put_value(value);
        self.values += 1;
    }

    /// The next value is what `write` appends to the sink; it gets to see the sink with all that is in it, and must only
    /// append. What `write` returns is returned: on an error, drop the row.
    #[inline]
    pub fn value_with<R>(&mut self, write: impl FnOnce(&mut S) -> R) -> R {
        let sink = self.message.sink();
        let at = sink.len();
        sink.put(&[0; 4]);
        let result = write(sink);
        let length = (sink.len() - at - 4) as u32;
        sink.patch(at, &length.to_be_bytes());
        self.values += 1;
        result
    }

    /// Ends the row. A row too long to be sent is `54000`, and gone from the sink.
    #[inline]
    pub fn end(self) -> Result<()> {
        self.message.end_counted(self.values)
    }
}

/// A row whose values come at different times: as [`DataRow`], but it does not hold the sink between them. Whoever drops one
/// before its end calls [`OpenRow::abandon`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a row that is not ended is half a message"]
pub struct OpenRow {
    at: usize,
    values: usize,
}

impl OpenRow {
    /// Begins a row.
    #[inline]
    pub fn begin<S: Sink + ?Sized>(sink: &mut S) -> OpenRow {
        let at = sink.len();
        sink.put(&[b'D', 0, 0, 0, 0, 0, 0]);
        OpenRow { at, values: 0 }
    }

    /// The next value is null.
    #[inline]
    pub fn null<S: Sink + ?Sized>(&mut self, sink: &mut S) {
        sink.put(&[0xff; 4]);
        self.values += 1;
    }

    /// As [`DataRow::value_with`].
    #[inline]
    pub fn value_with<S: Sink + ?Sized, R>(&mut self, sink: &mut S, write: impl FnOnce(&mut S) -> R) -> R {
        let at = sink.len();
        sink.put(&[0; 4]);
        let result = write(sink);
        let length = (sink.len() - at - 4) as u32;
        sink.patch(at, &length.to_be_bytes());
        self.values += 1;
        result
    }

    /// As [`DataRow::end`].
    #[inline]
    pub fn end<S: Sink + ?Sized>(self, sink: &mut S) -> Result<()> {
        Message::resume(sink, self.at).end_counted(self.values)
    }

    /// Forgets the row.
    pub fn abandon<S: Sink + ?Sized>(self, sink: &mut S) {
        sink.cut(self.at);
    }
}
