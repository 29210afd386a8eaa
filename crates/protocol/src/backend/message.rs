//! A message under construction: tag, a length to be corrected, and whatever is appended.

use crate::limits::{SENT_MAX, TEXT_SENT_MAX};
use crate::sink::Sink;
use base::{Error, Result, sqlstate};

/// A message that has begun. Dropped before its end, it leaves the sink as it was.
#[derive(Debug)]
pub(super) struct Message<'s, S: Sink + ?Sized> {
    sink: &'s mut S,
    /// Where the tag is.
    at: usize,
    ended: bool,
}

impl<'s, S: Sink + ?Sized> Message<'s, S> {
    #[inline]
    pub(super) fn begin(sink: &'s mut S, tag: u8) -> Self {
        let at = sink.len();
        sink.put(&[tag, 0, 0, 0, 0]);
        Message { sink, at, ended: false }
    }

    /// As [`Message::begin`], with two bytes after the header for a count that [`Message::end_counted`] fills in.
    #[inline]
    pub(super) fn begin_counted(sink: &'s mut S, tag: u8) -> Self {
        let at = sink.len();
        sink.put(&[tag, 0, 0, 0, 0, 0, 0]);
        Message { sink, at, ended: false }
    }

    /// The message that began at a position of the sink.
    #[inline]
    pub(super) fn resume(sink: &'s mut S, at: usize) -> Self {
        Message { sink, at, ended: false }
    }

    #[inline]
    pub(super) fn sink(&mut self) -> &mut S {
        self.sink
    }

    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.sink.put(bytes);
    }

    pub(super) fn u32(&mut self, number: u32) {
        self.sink.put(&number.to_be_bytes());
    }

    /// A count of columns, parameters or formats: 16 bits.
    pub(super) fn count(&mut self, count: usize) {
        self.sink.put(&checked_count(count).to_be_bytes());
    }

    /// A zero-terminated string: `text` up to its first zero byte, and [`TEXT_SENT_MAX`] bytes at most.
    pub(super) fn string(&mut self, text: &str) {
        let text = &text.as_bytes()[..text.floor_char_boundary(TEXT_SENT_MAX)];
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        self.sink.put(&text[..end]);
        self.sink.put(b"\0");
    }

    /// Ends a message that cannot be too long.
    pub(super) fn end(self) {
        let done = self.end_checked();
        assert!(done.is_ok(), "only rows and copied data have a size that users decide");
    }

    /// Ends a message that may be too long to be sent; then the sink is as it was.
    #[inline]
    pub(super) fn end_checked(mut self) -> Result<()> {
        let length = self.length()?;
        self.sink.patch(self.at + 1, &length.to_be_bytes());
        self.ended = true;
        Ok(())
    }

    /// As [`Message::end_checked`], for [`Message::begin_counted`].
    #[inline]
    pub(super) fn end_counted(mut self, count: usize) -> Result<()> {
        let [a, b, c, d] = self.length()?.to_be_bytes();
        let [e, f] = checked_count(count).to_be_bytes();
        self.sink.patch(self.at + 1, &[a, b, c, d, e, f]);
        self.ended = true;
        Ok(())
    }

    #[inline]
    fn length(&self) -> Result<u32> {
        let length = self.sink.len() - self.at - 1;
        if length > SENT_MAX { Err(too_long(length)) } else { Ok(length as u32) }
    }
}

impl<S: Sink + ?Sized> Drop for Message<'_, S> {
    #[inline]
    fn drop(&mut self) {
        if !self.ended {
            self.sink.cut(self.at);
        }
    }
}

/// The protocol counts in 16 bits; the limits on columns and parameters of a statement are below that.
#[inline]
fn checked_count(count: usize) -> u16 {
    assert!(count <= usize::from(u16::MAX), "a message cannot count to {count}");
    count as u16
}

#[cold]
fn too_long(length: usize) -> Error {
    Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, "row is too long to be sent")
        .detail(format!("It takes {length} bytes; a message may have {SENT_MAX}."))
}
