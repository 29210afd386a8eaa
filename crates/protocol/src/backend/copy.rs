//! Bulk data: how a copy begins, its pieces, its end. The pieces go both ways with the same tags.

use super::message::Message;
use crate::Format;
use crate::sink::Sink;
use base::Result;

/// The server waits for copied data with so many columns.
pub fn copy_in_response<S: Sink + ?Sized>(sink: &mut S, format: Format, columns: usize) {
    response(sink, b'G', format, columns);
}

/// The server will send copied data with so many columns.
pub fn copy_out_response<S: Sink + ?Sized>(sink: &mut S, format: Format, columns: usize) {
    response(sink, b'H', format, columns);
}

/// The columns' formats follow the whole's: text (CSV as well) has text columns, binary has binary ones.
fn response<S: Sink + ?Sized>(sink: &mut S, tag: u8, format: Format, columns: usize) {
    let mut message = Message::begin(sink, tag);
    message.put(&[format as u8]);
    message.count(columns);
    for _ in 0..columns {
        message.put(&[0, format as u8]);
    }
    message.end();
}

/// A piece of copied data that is at hand. A piece too long to be sent is `54000`.
pub fn copy_data<S: Sink + ?Sized>(sink: &mut S, data: &[u8]) -> Result<()> {
    let mut piece = CopyRow::begin(sink);
    piece.sink().put(data);
    piece.end()
}

/// The copied data is complete.
pub fn copy_done<S: Sink + ?Sized>(sink: &mut S) {
    sink.put(b"c\0\0\0\x04");
}

/// Builds `CopyData` in place: by custom, and as some clients rely on, one row each. Dropped before
/// [`CopyRow::end`], it leaves no trace.
#[derive(Debug)]
pub struct CopyRow<'s, S: Sink + ?Sized> {
    message: Message<'s, S>,
}

impl<'s, S: Sink + ?Sized> CopyRow<'s, S> {
    /// Begins a piece.
    #[inline]
    pub fn begin(sink: &'s mut S) -> Self {
        CopyRow { message: Message::begin(sink, b'd') }
    }

    /// Where to append the row; only append.
    #[inline]
    pub fn sink(&mut self) -> &mut S {
        self.message.sink()
    }

    /// Ends the piece. One too long to be sent is `54000`, and gone from the sink.
    #[inline]
    pub fn end(self) -> Result<()> {
        self.message.end_checked()
    }
}
