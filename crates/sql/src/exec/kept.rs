//! Rows that are kept to be read again, by one reader or several: in memory as far as they fit, in a file beyond.
//!
//! ```text
//!   | head: in memory, for good | parts in a file ... | tail: in memory until it is the next part |
//!                                       rows are added here ---^
//! ```
//!
//! Rules
//! 1. The head stays where it is: registers may refer to it for as long as the rows are kept. Rows behind it are copied for each reader
//!    into a buffer of his own, because the tail goes when it becomes a part.
//! 2. A reader may be anywhere, also at the row that was added last, while rows are added.

use super::Exec;
use super::spill::{DiskRow, RowReader, Spooled, Written};
use super::store::Rows;
use super::value::Value;
use crate::plan::blob::{At, List};
use base::Result;

/// Rows that are kept.
#[derive(Default)]
pub(super) struct Kept {
    head: Rows,
    /// The node that keeps them, and the buffer of the head.
    node: At,
    buffer: u32,
    limit: usize,
    /// Tells those apart that one node keeps.
    number: u32,
    beyond: Option<Box<Beyond>>,
}

/// What does not fit.
struct Beyond {
    file: Spooled,
    parts: Vec<(usize, Written)>,
    /// Rows in all parts.
    rows: usize,
    tail: Rows,
}

/// Where a reader stands.
#[derive(Default)]
pub(super) struct Place {
    /// The row that is read next.
    pub(super) at: usize,
    /// A reader of a part, and the row that it gives next.
    disk: Option<(RowReader, usize)>,
    row: DiskRow,
}

impl Place {
    /// Begins again.
    pub(super) fn restart(&mut self) {
        self.at = 0;
        self.disk = None;
    }
}

impl Kept {
    /// The same for the rows of that number of one node.
    pub(super) fn numbered(self, number: u32) -> Kept {
        Kept { number, ..self }
    }

    /// How many rows there are.
    pub(super) fn count(&self) -> usize {
        self.head.count + self.beyond.as_ref().map_or(0, |beyond| beyond.rows + beyond.tail.count)
    }
}

impl Exec<'_> {
    /// No rows yet; their bytes go to a buffer, which is emptied.
    pub(super) fn begin_kept(&mut self, node: At, width: usize, buffer: u32) -> Kept {
        self.memory.buffers[buffer as usize].clear();
        Kept { head: Rows::new(width), node, buffer, limit: self.work_memory(), number: 0, beyond: None }
    }

    /// Adds a row of the registers.
    #[inline]
    pub(super) fn keep_registers(&mut self, kept: &mut Kept, registers: List<'_>) -> Result<()> {
        let held = kept.head.values.len() * size_of::<Value>() + self.memory.buffers[kept.buffer as usize].len();
        if kept.beyond.is_none() && held < kept.limit {
            return self.save(&mut kept.head, registers, kept.buffer);
        }
        self.keep_beyond(kept, |exec, rows, buffer| exec.save(rows, registers, buffer))
    }

    /// Adds a row of values.
    pub(super) fn keep_values(&mut self, kept: &mut Kept, row: &[Value]) -> Result<()> {
        let held = kept.head.values.len() * size_of::<Value>() + self.memory.buffers[kept.buffer as usize].len();
        let save = |exec: &mut Self, rows: &mut Rows, buffer: u32| {
            rows.values.try_reserve(rows.width).map_err(|_| super::store::refused(rows.width * size_of::<Value>()))?;
            for value in row {
                let value = exec.memory.keep(*value, buffer)?;
                rows.values.push(value);
            }
            rows.count += 1;
            Ok(())
        };
        if kept.beyond.is_none() && held < kept.limit {
            return save(self, &mut kept.head, kept.buffer);
        }
        self.keep_beyond(kept, save)
    }

    #[cold]
    fn keep_beyond(
        &mut self,
        kept: &mut Kept,
        save: impl FnOnce(&mut Self, &mut Rows, u32) -> Result<()>,
    ) -> Result<()> {
        let width = kept.head.width;
        let buffer = self.extra_buffer(kept.node, TAIL + kept.number)?;
        if kept.beyond.is_none() {
            self.memory.buffers[buffer as usize].clear();
            let file = Spooled::new(self.new_spill()?);
            kept.beyond = Some(Box::new(Beyond { file, parts: Vec::new(), rows: 0, tail: Rows::new(width) }));
        }
        let Some(beyond) = &mut kept.beyond else { return Ok(()) };
        let held = beyond.tail.values.len() * size_of::<Value>() + self.memory.buffers[buffer as usize].len();
        if held >= (kept.limit / 4).max(PART_MIN) {
            let tail = std::mem::replace(&mut beyond.tail, Rows::new(width));
            for row in 0..tail.count {
                self.breath()?;
                beyond.file.write(&self.memory, tail.row(row).iter().copied())?;
            }
            beyond.parts.push((kept.head.count + beyond.rows, beyond.file.end()?));
            beyond.rows += tail.count;
            self.memory.buffers[buffer as usize].clear();
        }
        save(self, &mut beyond.tail, buffer)
    }

    /// Reads the row at a place into registers, given with the columns that they are of, and goes on to the next one; false if there is
    /// none. `reader` is the node that reads.
    pub(super) fn read_kept(
        &mut self,
        kept: &Kept,
        place: &mut Place,
        reader: At,
        registers: impl Iterator<Item = (usize, u32)>,
    ) -> Result<bool> {
        let at = place.at;
        if at < kept.head.count {
            let row = kept.head.row(at);
            for (column, register) in registers {
                self.registers[register as usize] = row[column];
            }
            place.at += 1;
            return Ok(true);
        }
        let Some(beyond) = &kept.beyond else { return Ok(false) };
        let in_tail = kept.head.count + beyond.rows;
        if at >= in_tail + beyond.tail.count {
            return Ok(false);
        }
        let buffer = self.extra_buffer(reader, READER)?;
        self.memory.buffers[buffer as usize].clear();
        place.at += 1;
        if at >= in_tail {
            place.disk = None;
            let row = beyond.tail.row(at - in_tail);
            for (column, register) in registers {
                self.registers[register as usize] = self.memory.keep(row[column], buffer)?;
            }
            return Ok(true);
        }
        let goes_on = place.disk.as_ref().is_some_and(|(_, next)| *next == at)
            && !beyond.parts.iter().any(|(first, _)| *first == at);
        if !goes_on {
            let part = beyond.parts.partition_point(|(first, _)| *first <= at).saturating_sub(1);
            let (first, written) = &beyond.parts[part];
            let mut disk = written.read()?;
            for _ in *first..at {
                self.breath()?;
                disk.next(&mut place.row)?;
            }
            place.disk = Some((disk, at));
        }
        let Some((disk, next)) = &mut place.disk else { return Ok(false) };
        disk.next(&mut place.row)?;
        *next += 1;
        for (column, register) in registers {
            self.registers[register as usize] = self.memory.to_buffer(buffer, place.row.datum(column))?;
        }
        Ok(true)
    }
}

/// The least that a part has.
const PART_MIN: usize = 32 << 10;

/// Numbers of the extra buffers.
const READER: u32 = 0;
const TAIL: u32 = 1;
