//! The frame around a record's body: length, checksum, transaction, epoch, kind.

use super::body::{Body, Kind, RecordBody};
use crate::page::raw::{put_u32, put_u64, u32_at, u64_at};
use base::{Error, Lsn, Result, Xid};

/// Offset of the checksum, `u32`.
pub const CRC: usize = 0;
/// Offset of the length in bytes, header and body without padding, `u32`.
pub const LENGTH: usize = 4;
/// Offset of the transaction, `u64`; zero for none.
pub const XID: usize = 8;
/// Offset of the epoch, `u32`.
pub const EPOCH: usize = 16;
/// Offset of the kind, `u8`.
pub const KIND: usize = 20;
/// Offset of the flags, `u8`.
pub const RECORD_FLAGS: usize = 21;
/// Offset of how far behind the record's beginning the log was durable when the record was made, `u16`: in units of
/// [`DURABLE_UNIT`] rounded up, and one more; zero says nothing.
pub const DURABLE: usize = 22;
/// See [`DURABLE`].
pub const DURABLE_UNIT: u64 = 4096;
/// Bytes before the body.
pub const RECORD_HEADER_BYTES: usize = 24;
/// Records begin at multiples of this.
pub const RECORD_ALIGN: usize = 8;
/// The longest record; a longer length is damage.
pub const MAX_RECORD_BYTES: usize = 64 << 20;

/// Record flag: the first page begins with this record. Redo formats it and does not need what the file has there.
pub const RECORD_INIT: u8 = 0x01;

/// A record that is encoded and has no LSN yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a record without its checksum is none"]
pub struct Draft {
    /// Bytes with padding: what the log reserves.
    pub bytes: usize,
    body_crc: u32,
}

/// Appends a record to `buffer`, padded to a multiple of [`RECORD_ALIGN`]; `buffer` must hold whole records before it.
pub fn encode(buffer: &mut Vec<u8>, xid: Xid, epoch: u32, flags: u8, body: &impl RecordBody) -> Draft {
    let start = buffer.len();
    debug_assert!(start.is_multiple_of(RECORD_ALIGN));
    buffer.resize(start + RECORD_HEADER_BYTES, 0);
    body.encode(buffer);
    let length = buffer.len() - start;
    assert!(length <= MAX_RECORD_BYTES, "a log record of {length} bytes");
    buffer.resize(start + length.next_multiple_of(RECORD_ALIGN), 0);
    let record = &mut buffer[start..];
    put_u32(record, LENGTH, length as u32);
    put_u64(record, XID, xid.0);
    put_u32(record, EPOCH, epoch);
    record[KIND] = body.kind() as u8;
    record[RECORD_FLAGS] = flags;
    Draft { bytes: record.len(), body_crc: crc32c::crc32c(&record[RECORD_HEADER_BYTES..length]) }
}

impl Draft {
    /// Completes the record at the front of `record`, now that its place in the log is known; the log is durable up to
    /// `durable`, or nothing is to be said of that.
    pub fn seal(self, record: &mut [u8], lsn: Lsn, durable: Option<Lsn>) {
        let behind = durable.map(|durable| (lsn.0 - durable.0).div_ceil(DURABLE_UNIT) + 1);
        let behind = behind.and_then(|units| u16::try_from(units).ok()).unwrap_or(0);
        record[DURABLE..RECORD_HEADER_BYTES].copy_from_slice(&behind.to_le_bytes());
        debug_assert!(lsn.0.is_multiple_of(RECORD_ALIGN as u64));
        let crc = finish_crc(self.body_crc, record, lsn);
        put_u32(record, CRC, crc);
    }
}

/// Header and position, after the body: what is known last is summed last.
fn finish_crc(body_crc: u32, record: &[u8], lsn: Lsn) -> u32 {
    let mut tail = [0; RECORD_HEADER_BYTES - LENGTH + 8];
    tail[..RECORD_HEADER_BYTES - LENGTH].copy_from_slice(&record[LENGTH..RECORD_HEADER_BYTES]);
    put_u64(&mut tail, RECORD_HEADER_BYTES - LENGTH, lsn.0);
    crc32c::crc32c_append(body_crc, &tail)
}

/// Why there is no record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Nothing was written here: the length is zero.
    Blank,
    /// The length is no record's.
    Length(u32),
    /// The checksum is another one: a torn or damaged record, or what an earlier round left.
    Checksum {
        /// The one that the record has.
        stored: u32,
        /// The one that its bytes call for.
        computed: u32,
    },
    /// A whole record of an earlier start of the server than the ones before it.
    Stale {
        /// Its epoch.
        epoch: u32,
    },
}

/// What [`parse`] found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parsed<'a> {
    /// A record.
    Record(RawRecord<'a>),
    /// The bytes end before the record does: come again with as many.
    Partial {
        /// Bytes that are needed, counted from the record's beginning.
        need: usize,
    },
    /// No record.
    End(End),
}

/// A record whose checksum is right and whose body has not been looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawRecord<'a> {
    /// Where it begins.
    pub lsn: Lsn,
    /// Where the next one begins: the LSN of the pages it changed.
    pub end: Lsn,
    /// Its transaction, or zero.
    pub xid: Xid,
    /// The start of the server that wrote it.
    pub epoch: u32,
    /// The number of its kind.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// The log was durable up to here when it was made; zero if it does not say.
    pub durable: Lsn,
    /// Its body.
    pub body: &'a [u8],
}

/// A record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// Its transaction, or zero.
    pub xid: Xid,
    /// True when its first page begins with it.
    pub init: bool,
    /// What it says.
    pub body: Body<'a>,
}

/// Frames the record at the front of `bytes`, which is position `lsn` of the log and may go on beyond the record. The
/// record before it had epoch `epoch`, or an earlier one.
pub fn parse(bytes: &[u8], lsn: Lsn, epoch: u32) -> Parsed<'_> {
    if bytes.len() < RECORD_HEADER_BYTES {
        return Parsed::Partial { need: RECORD_HEADER_BYTES };
    }
    let length = u32_at(bytes, LENGTH) as usize;
    if length == 0 {
        return Parsed::End(End::Blank);
    }
    if !(RECORD_HEADER_BYTES..=MAX_RECORD_BYTES).contains(&length) {
        return Parsed::End(End::Length(length as u32));
    }
    if bytes.len() < length {
        return Parsed::Partial { need: length };
    }
    let body = &bytes[RECORD_HEADER_BYTES..length];
    let (stored, computed) = (u32_at(bytes, CRC), finish_crc(crc32c::crc32c(body), bytes, lsn));
    if stored != computed {
        return Parsed::End(End::Checksum { stored, computed });
    }
    let own_epoch = u32_at(bytes, EPOCH);
    if own_epoch < epoch {
        return Parsed::End(End::Stale { epoch: own_epoch });
    }
    let behind = u16::from_le_bytes([bytes[DURABLE], bytes[DURABLE + 1]]) as u64;
    let durable = match behind.checked_sub(1) {
        Some(units) => Lsn(lsn.0.saturating_sub(units * DURABLE_UNIT)),
        None => Lsn(0),
    };
    Parsed::Record(RawRecord {
        lsn,
        durable,
        end: Lsn(lsn.0.saturating_add(length.next_multiple_of(RECORD_ALIGN) as u64)),
        xid: Xid(u64_at(bytes, XID)),
        epoch: own_epoch,
        kind: bytes[KIND],
        flags: bytes[RECORD_FLAGS],
        body,
    })
}

impl<'a> RawRecord<'a> {
    /// What its header says.
    pub(crate) fn without_body(&self) -> RawRecord<'static> {
        let RawRecord { lsn, end, xid, epoch, kind, flags, durable, .. } = *self;
        RawRecord { lsn, end, xid, epoch, kind, flags, durable, body: &[] }
    }

    /// Reads the body. An error is damage that the checksum did not see, or a record of a newer version.
    pub fn decode(&self) -> Result<Record<'a>> {
        let kind = Kind::from_u8(self.kind).filter(|_| self.flags & !RECORD_INIT == 0).ok_or_else(|| {
            Error::corruption(format!("the log record at {} is of an unknown kind", self.lsn))
                .detail(format!("Kind {}, flags {:#04x}.", self.kind, self.flags))
                .hint("The log may have been written by a newer version of the server.")
        })?;
        let body = Body::decode(kind, self.body).map_err(|error| {
            let detail = error.detail_text().unwrap_or_default().to_owned();
            Error::corruption(format!("the log record at {} is damaged", self.lsn)).detail(detail)
        })?;
        Ok(Record { xid: self.xid, init: self.flags & RECORD_INIT != 0, body })
    }
}
