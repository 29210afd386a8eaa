//! Reading the log back, from a record's beginning to the end of the log.
//!
//! The stream ends where no record is: at zeros, at a record whose checksum is wrong, at one of an earlier start of the
//! server ([`super::record`], rule 4). A torn last record and a damaged one in the middle look alike, but only the second can
//! be followed by a record that was made when the log was durable beyond that place: [`Reader::require_end`] looks for
//! one. A power cut may well leave whole records behind a torn one, if all of them were on their way to the disk.

use super::record::{End, Parsed, RECORD_ALIGN, RECORD_HEADER_BYTES, RawRecord, parse};
use super::{BLOCK, SEGMENT_BYTES};
use base::{Error, Lsn, Result, sqlstate};
use kernel::io::{FileName, Pages};
use kernel::region::heap::Owner;
use kernel::wait::Event;

/// Bytes that are read at once.
const READ_BYTES: u64 = 256 << 10;

/// How far beyond the reach of a write the search for more of the log goes: more than the longest run of records too long for it.
const SCAN_BEYOND: u64 = 128 << 10;
/// The search passes over longer records: shorter ones are near, and nonsense may look like a length.
const SCAN_RECORD_MAX: u64 = 16 << 10;

/// Reads records one after the other.
pub struct Reader {
    at: Lsn,
    epoch: u32,
    pages: Pages,
    /// The stream from `from` on, as far as it has been read. Begins at or before the block of `at`.
    bytes: Vec<u8>,
    from: u64,
    end: Option<End>,
}

impl Reader {
    /// A reader at a record's beginning.
    pub fn new(at: Lsn) -> Result<Reader> {
        Ok(Reader {
            at,
            epoch: 0,
            pages: Pages::new(Owner::LogBuffer, READ_BYTES as usize)?,
            bytes: Vec::new(),
            from: at.0 / BLOCK * BLOCK,
            end: None,
        })
    }

    /// The next record; none at the end of the log.
    #[allow(clippy::should_implement_trait, reason = "a record borrows the reader, which an iterator's item cannot")]
    pub fn next(&mut self) -> Result<Option<RawRecord<'_>>> {
        if self.end.is_some() {
            return Ok(None);
        }
        self.drop_old();
        let mut need = 1;
        let offset = (self.at.0 - self.from) as usize;
        let (head, length) = loop {
            while self.bytes.len() < offset + need {
                self.read_more()?;
            }
            match parse(&self.bytes[offset..], self.at, self.epoch) {
                Parsed::Partial { need: more } => need = more,
                Parsed::End(end) => {
                    self.end = Some(end);
                    return Ok(None);
                }
                // What is borrowed from bytes that may move is taken from them again.
                Parsed::Record(record) => break (record.without_body(), record.body.len()),
            }
        };
        self.at = head.end;
        self.epoch = head.epoch;
        let body = &self.bytes[offset + RECORD_HEADER_BYTES..][..length];
        Ok(Some(RawRecord { body, ..head }))
    }

    /// Where the next record begins, or would begin.
    pub fn position(&self) -> Lsn {
        self.at
    }

    /// Why the log ends here, if it does.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// Refuses an end of the log that is none, because the log goes on behind it. `reach` is how much of the log can have been
    /// on its way at once; a record behind that would say for certain that the place before it was durable.
    ///
    /// Errors: `XX001`.
    pub fn require_end(&mut self, reach: u64) -> Result<()> {
        let end = self.at;
        let upto = end.0 + reach + SCAN_BEYOND;
        let mut at = end.0;
        while at < upto {
            while self.from + (self.bytes.len() as u64) < at + SCAN_RECORD_MAX {
                self.read_more()?;
            }
            let rest = &self.bytes[(at - self.from) as usize..];
            if let Parsed::Record(record) = parse(&rest[..SCAN_RECORD_MAX as usize], Lsn(at), 0)
                && record.durable > end
            {
                let file = FileName::wal(end.0 / SEGMENT_BYTES);
                return Err(Error::corruption(format!("the log is damaged at {end}"))
                    .detail(format!(
                        "At byte {} of \"{file}\" there is no whole record: {:?}. The one at {} was made when the log was durable up to {}.",
                        end.0 % SEGMENT_BYTES,
                        self.end,
                        record.lsn,
                        record.durable
                    ))
                    .hint("Restore the file, or the whole data directory from a backup."));
            }
            at += RECORD_ALIGN as u64;
        }
        Ok(())
    }

    /// The bytes of the last block before the position.
    pub fn last_block(&mut self) -> Result<&[u8]> {
        let block = self.at.0 / BLOCK * BLOCK;
        while self.from + (self.bytes.len() as u64) < self.at.0 {
            self.read_more()?;
        }
        Ok(&self.bytes[(block - self.from) as usize..(self.at.0 - self.from) as usize])
    }

    /// Forgets blocks that have been read past, now and then.
    fn drop_old(&mut self) {
        let block = self.at.0 / BLOCK * BLOCK;
        let old = (block - self.from) as usize;
        if old >= READ_BYTES as usize {
            let old = old.min(self.bytes.len());
            self.bytes.drain(..old);
            self.from += old as u64;
        }
    }

    /// Reads on. What is not in a file reads as zeros.
    fn read_more(&mut self) -> Result<()> {
        let at = self.from + self.bytes.len() as u64;
        let (file, offset) = (FileName::wal(at / SEGMENT_BYTES), at % SEGMENT_BYTES);
        let wanted = READ_BYTES.min(SEGMENT_BYTES - offset) as usize;
        let got = match self.pages.read(Event::WalRead, file, offset, wanted) {
            Ok(got) => got,
            Err(error) if error.sqlstate() == sqlstate::UNDEFINED_FILE => 0,
            Err(error) => return Err(error),
        };
        self.bytes.extend_from_slice(&self.pages[..got]);
        self.bytes.resize(self.bytes.len() + wanted - got, 0);
        Ok(())
    }
}
