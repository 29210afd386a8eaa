//! The binary format of copied data. Pure: bytes in, fields out, and the other way round.
//!
//! ```text
//!  "PGCOPY\n" 0xFF "\r\n" 0x00 | flags | length of more | more      32 bits each
//!  count of fields (16 bits) | length (32 bits) | bytes | …          a row; the length of null is -1
//!  -1 (16 bits)                                                      the end, which may be missing
//! ```
//!
//! Rules
//! 1. Data comes in pieces that are cut anywhere: [`Tuples`] keeps what is not a whole row yet.
//! 2. No length is believed before its bytes have come.

use base::{Error, Result, sqlstate};

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xFF\r\n\0";
const HEADER_BYTES: usize = SIGNATURE.len() + 8;
/// Flags that must be known to be read on.
const CRITICAL: u32 = 0xFFFF_0000;
/// Rows came with their numbers, long ago.
const WITH_OIDS: u32 = 1 << 16;

#[cold]
fn bad(message: impl Into<String>) -> Error {
    Error::statement(sqlstate::BAD_COPY_FILE_FORMAT, message.into())
}

/// Appends what the data begins with.
pub fn write_header(out: &mut Vec<u8>) {
    out.extend_from_slice(SIGNATURE);
    out.extend_from_slice(&[0; 8]);
}

/// Appends what it ends with.
pub fn write_end(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1_i16).to_be_bytes());
}

/// Appends what a row begins with.
pub fn write_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(count as i16).to_be_bytes());
}

/// Appends a field.
pub fn write_field(value: Option<&[u8]>, out: &mut Vec<u8>) {
    match value {
        Some(value) => {
            out.extend_from_slice(&(value.len() as i32).to_be_bytes());
            out.extend_from_slice(value);
        }
        None => out.extend_from_slice(&(-1_i32).to_be_bytes()),
    }
}

/// Pieces of data on their way to become rows.
#[derive(Default, Debug)]
pub struct Tuples {
    bytes: Vec<u8>,
    /// The first byte that has not been read.
    at: usize,
    begun: bool,
    ended: bool,
    /// Where the present row's fields lie; none for null.
    fields: Vec<Option<(usize, usize)>>,
}

impl Tuples {
    /// Adds a piece.
    pub fn push(&mut self, piece: &[u8]) -> Result<()> {
        if self.at > 0 {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes
            .try_reserve(piece.len())
            .map_err(|_| Error::out_of_memory("a row of copied data", self.bytes.len() + piece.len()))?;
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// Goes to the next whole row; false if there is none. `last` says that no piece follows.
    ///
    /// Errors: `22P04`.
    pub fn next(&mut self, columns: usize, last: bool) -> Result<bool> {
        if !self.begun && !self.read_header(last)? {
            return Ok(false);
        }
        if self.ended {
            return match self.at < self.bytes.len() {
                true => Err(bad("received copy data after EOF marker")),
                false => Ok(false),
            };
        }
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return Ok(false);
        }
        let short = || if last { Err(bad("unexpected EOF in COPY data")) } else { Ok(false) };
        // As in PostgreSQL, one byte is no beginning of a row.
        let Some((count, mut rest)) = rest.split_first_chunk::<2>() else { return Ok(false) };
        let count = i16::from_be_bytes(*count);
        if count == -1 {
            self.at += 2;
            self.ended = true;
            return self.next(columns, last);
        }
        if usize::try_from(count) != Ok(columns) {
            return Err(bad(format!("row field count is {count}, expected {columns}")));
        }
        self.fields.clear();
        let whole = self.bytes.len();
        for _ in 0..columns {
            let Some((length, after)) = rest.split_first_chunk::<4>() else { return short() };
            let length = i32::from_be_bytes(*length);
            if length == -1 {
                self.fields.push(None);
                rest = after;
                continue;
            }
            let Ok(length) = usize::try_from(length) else { return Err(bad("invalid field size")) };
            let from = whole - after.len();
            let Some(next) = after.get(length..) else { return short() };
            self.fields.push(Some((from, from + length)));
            rest = next;
        }
        self.at = whole - rest.len();
        Ok(true)
    }

    fn read_header(&mut self, last: bool) -> Result<bool> {
        let known = self.bytes.len().min(SIGNATURE.len());
        if self.bytes[..known] != SIGNATURE[..known] || (last && known < SIGNATURE.len()) {
            return Err(bad("COPY file signature not recognized"));
        }
        let Some(header) = self.bytes.get(SIGNATURE.len()..HEADER_BYTES) else {
            return if last { Err(bad("invalid COPY file header (missing flags)")) } else { Ok(false) };
        };
        let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (flags, more) = (word(0), word(4));
        if flags & WITH_OIDS != 0 {
            return Err(bad("invalid COPY file header (WITH OIDS)"));
        }
        if flags & CRITICAL != 0 {
            return Err(bad("unrecognized critical flags in COPY file header"));
        }
        if more > i32::MAX as u32 {
            return Err(bad("invalid COPY file header (missing length)"));
        }
        let end = HEADER_BYTES + more as usize;
        if self.bytes.len() < end {
            return if last { Err(bad("invalid COPY file header (wrong length)")) } else { Ok(false) };
        }
        (self.at, self.begun) = (end, true);
        Ok(true)
    }

    /// A field of the present row.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let (from, to) = self.fields.get(index).copied().flatten()?;
        self.bytes.get(from..to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(rows: &[&[Option<&[u8]>]]) -> Vec<u8> {
        let mut out = Vec::new();
        write_header(&mut out);
        for row in rows {
            write_count(row.len(), &mut out);
            row.iter().for_each(|field| write_field(*field, &mut out));
        }
        write_end(&mut out);
        out
    }

    type Rows = Vec<Vec<Option<Vec<u8>>>>;

    fn read(data: &[u8], size: usize, columns: usize) -> Result<Rows> {
        let (mut tuples, mut rows) = (Tuples::default(), Rows::new());
        let pieces = data.chunks(size).map(Some).chain([None]);
        for piece in pieces {
            tuples.push(piece.unwrap_or(&[]))?;
            while tuples.next(columns, piece.is_none())? {
                rows.push((0..columns).map(|at| tuples.get(at).map(<[u8]>::to_vec)).collect());
            }
        }
        Ok(rows)
    }

    #[test]
    fn what_is_written_is_read_however_it_is_cut() {
        let rows: [&[Option<&[u8]>]; 3] = [&[Some(b"one"), None], &[Some(b""), Some(b"\xFF\xFF")], &[None, None]];
        let data = written(&rows);
        let expected: Rows =
            rows.iter().map(|row| row.iter().map(|field| field.map(<[u8]>::to_vec)).collect()).collect();
        for size in 1..=data.len() {
            assert_eq!(read(&data, size, 2).unwrap(), expected, "in pieces of {size}");
        }
        // The end may be missing.
        assert_eq!(read(&data[..data.len() - 2], 7, 2).unwrap(), expected);
    }

    #[test]
    fn what_is_broken_is_refused() {
        let data = written(&[&[Some(b"one")]]);
        for end in 1..data.len() - 2 {
            // Nothing but the header is a table without rows, and one byte is nothing.
            if end != HEADER_BYTES && end != HEADER_BYTES + 1 {
                let error = read(&data[..end], 5, 1).expect_err("it is cut short");
                assert_eq!(error.sqlstate(), sqlstate::BAD_COPY_FILE_FORMAT, "{end}");
            }
        }
        assert!(read(b"", 1, 1).is_err(), "no signature");
        assert!(read(&data, 5, 2).is_err(), "another number of fields");
        assert!(read(&[&data[..], b"x"].concat(), 5, 1).is_err(), "something behind the end");
        let mut flags = data.clone();
        flags[SIGNATURE.len()] = 1;
        assert!(read(&flags, 5, 1).is_err(), "a flag that nobody knows");
        let mut more = data.clone();
        more[HEADER_BYTES - 1] = 3;
        more.splice(HEADER_BYTES..HEADER_BYTES, [1, 2, 3]);
        assert_eq!(read(&more, 4, 1).unwrap(), [[Some(b"one".to_vec())]]);
        let mut length = data;
        length[HEADER_BYTES + 2] = 0xFE;
        assert!(read(&length, 5, 1).is_err(), "a length below -1");
    }
}
