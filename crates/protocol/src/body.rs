//! Reading a message's body, with PostgreSQL's words for what can be wrong with it.
//!
//! A [`Body`] is a cursor over bytes whose extent is already known from the length word; what it refuses is therefore
//! the message, and whether the session survives that is the [`Kind`] that the cursor was made with.

use base::codec::Reader;
use base::{Error, Kind, Result, sqlstate};
use std::ffi::CStr;

/// A cursor over one message's body.
#[derive(Clone, Debug)]
pub(crate) struct Body<'a> {
    reader: Reader<'a>,
    kind: Kind,
}

// Every method here is inlined, and what is not (errors, the search in a string) takes values instead of `self`: a cursor
// whose address is never taken stays in registers.
impl<'a> Body<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], kind: Kind) -> Body<'a> {
        Body { reader: Reader::new(bytes), kind }
    }

    /// A zero-terminated string, which must be UTF-8.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<&'a str> {
        let rest = self.reader.rest();
        // Most names on the wire are the unnamed portal's or statement's.
        let text = if rest.first() == Some(&0) { "" } else { string_of(rest, self.kind)? };
        let _ = self.reader.bytes(text.len() + 1);
        Ok(text)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8> {
        let kind = self.kind;
        self.reader.u8_be().ok_or_else(|| violation(kind, "no data left in message"))
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16> {
        let kind = self.kind;
        self.reader.u16_be().ok_or_else(|| cut_short(kind))
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32> {
        let kind = self.kind;
        self.reader.u32_be().ok_or_else(|| cut_short(kind))
    }

    #[inline]
    pub(crate) fn i32(&mut self) -> Result<i32> {
        let kind = self.kind;
        self.reader.i32_be().ok_or_else(|| cut_short(kind))
    }

    #[inline]
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let kind = self.kind;
        self.reader.bytes(count).ok_or_else(|| cut_short(kind))
    }

    /// A value with its length in front; minus one is null.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>> {
        match self.i32()? {
            -1 => Ok(None),
            length => match usize::try_from(length) {
                Ok(length) => self.bytes(length).map(Some),
                Err(_) => Err(cut_short(self.kind)),
            },
        }
    }

    /// What has not been read.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.reader.rest()
    }

    /// The body must end here.
    #[inline]
    pub(crate) fn end(&self) -> Result<()> {
        if self.reader.is_empty() { Ok(()) } else { Err(violation(self.kind, "invalid message format")) }
    }
}

/// The zero-terminated string at the front of `rest`.
fn string_of(rest: &[u8], kind: Kind) -> Result<&str> {
    // The standard library's search for the zero reads words; a query's text may be long.
    match CStr::from_bytes_until_nul(rest) {
        Ok(found) => checked(found.to_bytes(), kind),
        Err(_) => Err(violation(kind, "invalid string in message")),
    }
}

#[cold]
fn cut_short(kind: Kind) -> Error {
    violation(kind, "insufficient data left in message")
}

#[cold]
fn violation(kind: Kind, message: &'static str) -> Error {
    Error::new(kind, sqlstate::PROTOCOL_VIOLATION, message)
}

/// `bytes` as text: for parameter values and copied data, which the decoders leave as bytes.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    checked(bytes, Kind::Statement)
}

/// `bytes` as text, or `22021` naming the first sequence that is not UTF-8.
#[inline]
pub(crate) fn checked(bytes: &[u8], kind: Kind) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| not_utf8(&bytes[error.valid_up_to()..], kind))
}

/// `bad` begins with the offending sequence. As many of its bytes are named as its first byte announces.
#[cold]
fn not_utf8(bad: &[u8], kind: Kind) -> Error {
    let announced = match bad.first() {
        Some(0xC0..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF7) => 4,
        _ => 1,
    };
    let named: Vec<String> = bad.iter().take(announced).map(|byte| format!("{byte:#04x}")).collect();
    let message = format!("invalid byte sequence for encoding \"UTF8\": {}", named.join(" "));
    Error::new(kind, sqlstate::CHARACTER_NOT_IN_REPERTOIRE, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_sequence_is_named_as_postgresql_names_it() {
        let cases: &[(&[u8], &str)] = &[
            (b"ab\xff", "0xff"),
            (b"\xc3(", "0xc3 0x28"),
            (b"\xe2\x82", "0xe2 0x82"),
            (b"\xed\xa0\x80x", "0xed 0xa0 0x80"),
            (b"\xf5\x80\x80\x80x", "0xf5 0x80 0x80 0x80"),
            (b"\x80abc", "0x80"),
        ];
        for (bytes, named) in cases {
            let error = utf8(bytes).unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate::CHARACTER_NOT_IN_REPERTOIRE);
            assert_eq!(error.message(), format!("invalid byte sequence for encoding \"UTF8\": {named}"));
        }
        assert_eq!(utf8("häß".as_bytes()).unwrap(), "häß");
    }

    #[test]
    fn short_bodies_have_postgresqls_words() {
        let mut body = Body::new(&[0, 0, 0], Kind::Statement);
        assert_eq!(body.u32().unwrap_err().message(), "insufficient data left in message");
        assert_eq!(body.u16().unwrap(), 0);
        assert_eq!(body.end().unwrap_err().message(), "invalid message format");
        assert_eq!(body.byte().unwrap(), 0);
        assert_eq!(body.byte().unwrap_err().message(), "no data left in message");
        let mut body = Body::new(b"no zero", Kind::Session);
        let error = body.string().unwrap_err();
        assert_eq!((error.message(), error.kind()), ("invalid string in message", Kind::Session));
        let mut body = Body::new(&[0xff, 0xff, 0xff, 0xfe], Kind::Statement);
        assert_eq!(body.value().unwrap_err().message(), "insufficient data left in message");
    }
}
