//! Where encoded messages go: a buffer that grows at its end and can be corrected behind it.
//!
//! Rules
//! 1. [`Sink::len`] counts from wherever the sink likes; the encoders only use differences and hand back positions
//!    that [`Sink::len`] gave them.
//! 2. While a message is being built its bytes stay in the sink: the owner sends between messages, not within one.
//! 3. `put` has no way to fail, because a check per number would be paid by every row. A sink whose memory is refused
//!    takes nothing more, *remembers that it refused*, ignores corrections behind its end, and its owner asks it once
//!    after the message (or after many) and then answers `53200`, after cutting back to the last whole message.

/// A buffer that messages are appended to. Implemented for `Vec<u8>` and by the server for memory in the region.
pub trait Sink {
    /// Appends `bytes`.
    fn put(&mut self, bytes: &[u8]);

    /// The position behind the last byte.
    fn len(&self) -> usize;

    /// Overwrites what begins at position `at` and was appended before.
    fn patch(&mut self, at: usize, bytes: &[u8]);

    /// Forgets everything from position `len` on.
    fn cut(&mut self, len: usize);

    /// Appends a value with its length in front, as a row holds it. A sink may do this in one step.
    #[inline]
    fn put_value(&mut self, value: &[u8]) {
        self.put(&(value.len() as u32).to_be_bytes());
        self.put(value);
    }

    /// True when the position is zero.
    #[inline]
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Sink for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline]
    fn len(&self) -> usize {
        Vec::len(self)
    }

    #[inline]
    fn patch(&mut self, at: usize, bytes: &[u8]) {
        self[at..at + bytes.len()].copy_from_slice(bytes);
    }

    #[inline]
    fn cut(&mut self, len: usize) {
        self.truncate(len);
    }
}
