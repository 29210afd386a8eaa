//! Rows in temporary files: how they are written, and by whom they are read.
//!
//! ```text
//!   row:   length | value | value …          value:  tag | bytes
//! ```
//!
//! | what | rows |
//! |---|---|
//! | [`Spooled`] | are read in the order that they were written in |
//! | [`Partitions`] | fall into so many parts by their hashes; all parts are in one file, in pages that take turns |
//!
//! Rules
//! 1. A file has no more memory than its buffer and, for each part, a piece of its rows: a share of what the rows may have.
//! 2. What comes from a file is checked before it is used: damage is an error, not a panic.

use super::Exec;
use super::value::{Memory, Value};
use crate::plan::blob::At;
use crate::types::Datum;
use base::{Error, Result, sqlstate};
use storage::relation::spill::{PART_ALIGN, Spill, SpillFile, SpillReader};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const SHORT: u8 = 3;
const LONG: u8 = 4;
const FLOAT: u8 = 5;
const BYTES: u8 = 6;

/// How deep rows are divided by their hashes, at most.
pub(super) const LEVELS_MAX: u32 = 8;

/// Bytes that are read at a time of one of several parts.
const PART_BYTES: usize = 32 << 10;

/// Appends a row.
pub(super) fn put_row(memory: &Memory<'_>, values: impl Iterator<Item = Value>, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    for value in values {
        match memory.datum(value) {
            Datum::Null => out.push(NULL),
            Datum::Bool(value) => out.push(if value { TRUE } else { FALSE }),
            Datum::Int(value) => match i32::try_from(value) {
                Ok(value) => {
                    out.push(SHORT);
                    out.extend_from_slice(&value.to_le_bytes());
                }
                Err(_) => {
                    out.push(LONG);
                    out.extend_from_slice(&value.to_le_bytes());
                }
            },
            Datum::Float(value) => {
                out.push(FLOAT);
                out.extend_from_slice(&value.to_bits().to_le_bytes());
            }
            Datum::Bytes(bytes) => {
                out.try_reserve(bytes.len() + 5).map_err(|_| super::store::refused(bytes.len()))?;
                out.push(BYTES);
                out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                out.extend_from_slice(bytes);
            }
        }
    }
    let length = u32::try_from(out.len() - start - 4).map_err(|_| super::store::refused(out.len()))?;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// A row that was read.
#[derive(Debug, Default)]
pub(super) struct DiskRow {
    bytes: Vec<u8>,
    /// Where its values begin.
    starts: Vec<u32>,
}

fn word<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

impl DiskRow {
    /// Finds the values.
    fn parse(&mut self) -> Option<()> {
        self.starts.clear();
        let mut at = 0;
        while at < self.bytes.len() {
            self.starts.push(at as u32);
            at += match self.bytes[at] {
                NULL | FALSE | TRUE => 1,
                SHORT => 5,
                LONG | FLOAT => 9,
                BYTES => 5 + u32::from_le_bytes(word(&self.bytes, at + 1)?) as usize,
                _ => return None,
            };
        }
        (at == self.bytes.len()).then_some(())
    }

    /// A value.
    pub(super) fn datum(&self, place: usize) -> Datum<'_> {
        let Some(&start) = self.starts.get(place) else { return Datum::Null };
        let at = start as usize + 1;
        let bytes = &self.bytes;
        match bytes[start as usize] {
            FALSE => Datum::Bool(false),
            TRUE => Datum::Bool(true),
            SHORT => Datum::Int(i32::from_le_bytes(word(bytes, at).unwrap_or_default()).into()),
            LONG => Datum::Int(i64::from_le_bytes(word(bytes, at).unwrap_or_default())),
            FLOAT => Datum::Float(f64::from_bits(u64::from_le_bytes(word(bytes, at).unwrap_or_default()))),
            BYTES => {
                let length = u32::from_le_bytes(word(bytes, at).unwrap_or_default()) as usize;
                Datum::Bytes(bytes.get(at + 4..at + 4 + length).unwrap_or_default())
            }
            _ => Datum::Null,
        }
    }
}

/// A reader of rows.
pub(super) struct RowReader {
    reader: SpillReader,
    left: u64,
}

impl RowReader {
    /// Reads the next row; false if there is none.
    pub(super) fn next(&mut self, row: &mut DiskRow) -> Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        let mut length = [0; 4];
        self.reader.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        row.bytes.clear();
        row.bytes.try_reserve(length).map_err(|_| super::store::refused(length))?;
        row.bytes.resize(length, 0);
        self.reader.read_exact(&mut row.bytes)?;
        row.parse().ok_or_else(|| Error::corruption("a row of a temporary file is damaged")).map(|()| true)
    }
}

/// A part of a file that is written.
#[derive(Clone)]
pub(super) struct Written {
    file: SpillFile,
    extents: Vec<(u64, u64)>,
    pub(super) rows: u64,
}

impl Written {
    /// Reads it from its beginning, so many bytes at a time.
    pub(super) fn read_by(&self, memory: usize) -> Result<RowReader> {
        Ok(RowReader { reader: self.file.read(self.extents.clone(), memory)?, left: self.rows })
    }

    /// Reads it from its beginning.
    pub(super) fn read(&self) -> Result<RowReader> {
        self.read_by(PART_BYTES)
    }
}

/// Rows one after another, in parts that can be read when they have ended.
pub(super) struct Spooled {
    spill: Spill,
    row: Vec<u8>,
    from: u64,
    rows: u64,
}

impl Spooled {
    pub(super) fn new(spill: Spill) -> Spooled {
        Spooled { spill, row: Vec::new(), from: 0, rows: 0 }
    }

    /// Appends a row.
    pub(super) fn write(&mut self, memory: &Memory<'_>, values: impl Iterator<Item = Value>) -> Result<()> {
        self.row.clear();
        put_row(memory, values, &mut self.row)?;
        self.rows += 1;
        self.spill.write(&self.row)
    }

    /// Appends a row that was read.
    pub(super) fn copy(&mut self, row: &DiskRow) -> Result<()> {
        self.rows += 1;
        self.spill.write(&(row.bytes.len() as u32).to_le_bytes())?;
        self.spill.write(&row.bytes)
    }

    /// Ends a part.
    pub(super) fn end(&mut self) -> Result<Written> {
        let to = self.spill.place();
        let next = self.spill.end_part()?;
        let part = Written { file: self.spill.file(), extents: vec![(self.from, to)], rows: self.rows };
        (self.from, self.rows) = (next, 0);
        Ok(part)
    }
}

#[derive(Default)]
struct Part {
    waiting: Vec<u8>,
    extents: Vec<(u64, u64)>,
    rows: u64,
}

/// Rows that fall into parts by their hashes.
pub(super) struct Partitions {
    spill: Spill,
    parts: Vec<Part>,
    /// So many bytes of a part are written at a time.
    piece: usize,
}

/// Into how many parts rows fall, as a power of two, where so much memory is theirs.
pub(super) fn bits(memory: usize) -> u32 {
    const SMALL: usize = 1 << 20;
    if memory < SMALL { 3 } else { 5 }
}

/// The part that a hash falls into at a level.
pub(super) fn part(hash: u64, level: u32, bits: u32) -> usize {
    let shift = 64 - bits * (level.min(LEVELS_MAX) + 1);
    (hash >> shift) as usize & ((1 << bits) - 1)
}

impl Partitions {
    /// Parts for rows that do not fit `memory`.
    pub(super) fn new(spill: Spill, bits: u32, memory: usize) -> Partitions {
        /// The part of the memory that is for all pieces together.
        const SHARE: usize = 8;
        let piece = ((memory / SHARE) >> bits).clamp(PART_ALIGN, PART_BYTES) / PART_ALIGN * PART_ALIGN;
        Partitions { spill, parts: (0..1usize << bits).map(|_| Part::default()).collect(), piece }
    }

    /// How many rows a part has.
    pub(super) fn rows(&self, part: usize) -> u64 {
        self.parts[part].rows
    }

    /// Appends a row to a part.
    pub(super) fn write(
        &mut self,
        part: usize,
        memory: &Memory<'_>,
        values: impl Iterator<Item = Value>,
    ) -> Result<()> {
        put_row(memory, values, &mut self.parts[part].waiting)?;
        self.row_added(part)
    }

    /// Appends a row that was read to a part.
    pub(super) fn copy(&mut self, part: usize, row: &DiskRow) -> Result<()> {
        let waiting = &mut self.parts[part].waiting;
        waiting.extend_from_slice(&(row.bytes.len() as u32).to_le_bytes());
        waiting.extend_from_slice(&row.bytes);
        self.row_added(part)
    }

    fn row_added(&mut self, part: usize) -> Result<()> {
        let part = &mut self.parts[part];
        part.rows += 1;
        if part.waiting.len() >= self.piece {
            let whole = part.waiting.len() / PART_ALIGN * PART_ALIGN;
            let from = self.spill.place();
            self.spill.write(&part.waiting[..whole])?;
            part.waiting.drain(..whole);
            part.add(from, self.spill.place());
        }
        Ok(())
    }

    /// Writes what is left; the parts can be read now.
    pub(super) fn finish(mut self) -> Result<Vec<Written>> {
        for part in &mut self.parts {
            let from = self.spill.place();
            self.spill.write(&part.waiting)?;
            part.add(from, self.spill.place());
            let whole = part.waiting.len().next_multiple_of(PART_ALIGN);
            part.waiting.resize(whole, 0);
            let padding = whole - (self.spill.place() - from) as usize;
            self.spill.write(&part.waiting[..padding])?;
            part.waiting = Vec::new();
        }
        self.spill.end_part()?;
        let file = self.spill.file();
        let parts = self.parts.into_iter();
        Ok(parts.map(|part| Written { file: file.clone(), extents: part.extents, rows: part.rows }).collect())
    }
}

impl Part {
    fn add(&mut self, from: u64, to: u64) {
        match self.extents.last_mut() {
            _ if from == to => {}
            Some(last) if last.1 == from => last.1 = to,
            _ => self.extents.push((from, to)),
        }
    }
}

impl Exec<'_> {
    /// How much memory rows that are sorted or kept may take.
    pub(super) fn work_memory(&self) -> usize {
        match self.around.relations {
            Some(_) => self.around.settings.work_memory(),
            None => usize::MAX,
        }
    }

    /// How much memory a hash table may take.
    pub(super) fn hash_memory(&self) -> usize {
        match self.around.relations {
            Some(_) => self.around.settings.hash_memory(),
            None => usize::MAX,
        }
    }

    /// A new temporary file.
    pub(super) fn new_spill(&self) -> Result<Spill> {
        let Some(relations) = self.around.relations else {
            return Err(Error::unsupported("there are no temporary files here"));
        };
        relations.spill(self.around.settings.temp_file_limit())
    }

    /// A buffer of a node beside those that the plan gives it; the same one for the same number.
    pub(super) fn extra_buffer(&mut self, node: At, number: u32) -> Result<u32> {
        const BUFFERS_MAX: usize = 60_000;
        if let Some((.., buffer)) = self.extras.iter().find(|(place, known, _)| (*place, *known) == (node.0, number)) {
            return Ok(*buffer);
        }
        let buffer = self.memory.buffers.len();
        if buffer >= BUFFERS_MAX {
            return Err(Error::statement(
                sqlstate::STATEMENT_TOO_COMPLEX,
                "the statement keeps rows in too many places",
            ));
        }
        self.memory.buffers.push(Vec::new());
        self.extras.push((node.0, number, buffer as u32));
        Ok(buffer as u32)
    }

    /// Sets registers from a row's values, from one on; their bytes go to a buffer.
    pub(super) fn load_disk(
        &mut self,
        row: &DiskRow,
        first: usize,
        registers: impl Iterator<Item = u32>,
        buffer: u32,
    ) -> Result<()> {
        for (index, register) in registers.enumerate() {
            self.registers[register as usize] = self.memory.to_buffer(buffer, row.datum(first + index))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::blob::Bytes;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let mut memory = Memory {
            plan: Bytes(b""),
            parameters: Vec::new(),
            bound: 0,
            scratch: Vec::new(),
            buffers: [Vec::new()].into_iter().collect(),
        };
        let text = memory.to_buffer(0, Datum::text("text")).unwrap();
        let row = [Value::Null, Value::Bool(true), Value::Int(-7), Value::Int(1 << 40), Value::Float(0.5), text];
        let mut bytes = Vec::new();
        put_row(&memory, row.into_iter(), &mut bytes).unwrap();
        let mut read = DiskRow { bytes: bytes[4..].to_vec(), starts: Vec::new() };
        read.parse().unwrap();
        assert_eq!(read.starts.len(), row.len());
        for (place, value) in row.into_iter().enumerate() {
            assert_eq!(read.datum(place), memory.datum(value));
        }
        // What is damaged is found: a tag that is none, a value that is cut short.
        read.bytes[0] = 99;
        assert!(read.parse().is_none());
        read.bytes = bytes[4..bytes.len() - 1].to_vec();
        assert!(read.parse().is_none());
    }

    #[test]
    fn a_part_is_of_the_hash_and_the_level() {
        let hash = 0b10110_01101 << 54;
        assert_eq!((part(hash, 0, 5), part(hash, 1, 5)), (0b10110, 0b01101));
        for level in 0..20 {
            assert!(part(u64::MAX, level, 5) == 31 && part(u64::MAX, level, 3) == 7);
        }
    }
}
