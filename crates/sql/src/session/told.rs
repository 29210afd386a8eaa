//! What a portal of a statement that is not planned answers: `SHOW`, `EXPLAIN`, `FETCH`, `EXECUTE`, `CALL` and all that give no rows but
//! what [`super::control`] keeps.
//!
//! Such a statement is carried out at once and to its end, however few rows are wanted: those that are left are kept in the portal, written
//! as the client wants them.
//!
//! ```text
//!   a row kept:  count of values (4)   length (4, -1 is null)  bytes   length  bytes ...
//! ```
//!
//! Rules
//! 1. Columns have the formats that `Bind` said, whatever a cursor among them has of its own.
//! 2. Executing the portal again, at its end, gives no rows; one of a statement that gives no rows cannot be executed again
//!    (`55000`).

use super::extended::{cannot_be_run, no_portal};
use super::output::{Column, CopyFormat, Format, Output, Tag};
use super::parameters::Parameters;
use super::prepared::{Body, Progress, format_of};
use super::{Environment, Session, bytes_in};
use allocator_api2::alloc::Allocator;
use base::codec::Reader;
use base::settings::MessageLevel;
use base::{Error, Result, sqlstate};

/// The length of a value that is null.
const NULL: u32 = u32::MAX;

/// An output in the formats of a `Bind`, which may keep rows back.
pub(crate) struct Told<'o, O> {
    out: &'o mut O,
    formats: &'o [Format],
    /// What rows look like is passed on.
    describes: bool,
    /// How many columns there were said to be.
    pub(crate) columns: Option<usize>,
    /// Rows and the tag are kept here, not passed on.
    kept: Option<Vec<u8>>,
    /// Where the row that is open begins, and its values.
    open: (usize, u32),
    tag: Option<Tag>,
}

impl<'o, O: Output> Told<'o, O> {
    /// For `Describe`: what rows look like is passed on.
    pub(crate) fn describing(out: &'o mut O, formats: &'o [Format]) -> Told<'o, O> {
        Told { describes: true, ..Told::executing(out, formats, false) }
    }

    /// For `Execute`: what rows look like was told by `Describe`, or nobody asked.
    fn executing(out: &'o mut O, formats: &'o [Format], keeps: bool) -> Told<'o, O> {
        let kept = keeps.then(Vec::new);
        Told { out, formats, describes: false, columns: None, kept, open: (0, 0), tag: None }
    }
}

impl<O: Output> Output for Told<'_, O> {
    fn columns<'c>(&mut self, columns: impl Iterator<Item = Column<'c>>) {
        let told = |(index, column)| Column { format: format_of(self.formats, index), ..column };
        let columns: Vec<Column<'_>> = columns.enumerate().map(told).collect();
        self.columns = Some(columns.len());
        if self.describes {
            self.out.columns(columns.into_iter());
        }
    }

    fn format(&self, column: usize, _: Format) -> Format {
        format_of(self.formats, column)
    }

    fn begin_row(&mut self) {
        match &mut self.kept {
            Some(kept) => {
                self.open = (kept.len(), 0);
                kept.extend_from_slice(&[0; 4]);
            }
            None => self.out.begin_row(),
        }
    }

    fn null(&mut self) {
        match &mut self.kept {
            Some(kept) => {
                kept.extend_from_slice(&NULL.to_be_bytes());
                self.open.1 += 1;
            }
            None => self.out.null(),
        }
    }

    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let Some(kept) = &mut self.kept else { return self.out.value(write) };
        let at = kept.len();
        kept.extend_from_slice(&[0; 4]);
        write(kept)?;
        let length = (kept.len() - at - 4) as u32;
        kept[at..at + 4].copy_from_slice(&length.to_be_bytes());
        self.open.1 += 1;
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        let Some(kept) = &mut self.kept else { return self.out.end_row() };
        let (at, values) = self.open;
        kept[at..at + 4].copy_from_slice(&values.to_be_bytes());
        Ok(())
    }

    fn abandon_row(&mut self) {
        match &mut self.kept {
            Some(kept) => kept.truncate(self.open.0),
            None => self.out.abandon_row(),
        }
    }

    fn complete(&mut self, tag: Tag) {
        self.tag = Some(tag);
        if self.kept.is_none() {
            self.out.complete(tag);
        }
    }

    fn empty_query(&mut self) {
        self.out.empty_query();
    }

    fn suspended(&mut self) {
        self.out.suspended();
    }

    fn notice(&mut self, level: MessageLevel, message: &Error) {
        self.out.notice(level, message);
    }

    fn copy_in(&mut self, format: CopyFormat, columns: usize) -> Result<()> {
        self.out.copy_in(format, columns)
    }

    fn copied(&mut self, take: impl FnOnce(&[u8]) -> Result<()>) -> Result<bool> {
        self.out.copied(take)
    }

    fn copy_out(&mut self, format: CopyFormat, columns: usize) {
        self.out.copy_out(format, columns);
    }

    fn copy_row(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        self.out.copy_row(write)
    }

    fn copy_done(&mut self) {
        self.out.copy_done();
    }
}

impl<A: Allocator + Copy> Session<A> {
    /// Executes a portal of a statement that is not planned, or goes on with it; `most` is how many rows are wanted, zero for all.
    pub(super) fn execute_told<O: Output>(
        &mut self,
        env: &Environment<'_>,
        name: &str,
        most: u64,
        out: &mut O,
    ) -> Result<()> {
        let Some(portal) = self.portal_mut(name) else { return Err(no_portal(name)) };
        let (body, formats) = (portal.body, portal.formats.to_vec());
        match portal.progress {
            Progress::New => {}
            Progress::Told { .. } => return self.give_told(name, most, out),
            _ => return Err(cannot_be_run(name)),
        }
        portal.progress = Progress::Done;
        let mut told = Told::executing(out, &formats, most > 0);
        match body {
            Body::Call(call) => {
                let parameters = self.portal_mut(name).map_or(Vec::new(), |portal| portal.parameters.to_vec());
                self.execute_call(env, call, &parameters, &mut told)?;
            }
            _ => {
                // The statement may end the transaction, and the portal with it.
                let text = String::from_utf8_lossy(self.portal_text(name)).into_owned();
                let values = self.portal_mut(name).map_or(Vec::new(), |portal| portal.parameters.to_vec());
                let types = body.plan().map_or(Vec::new(), |id| self.parameter_types(id));
                let given = Parameters { types: &types, values: &values };
                self.extended_utility(env, &text, given, &mut told)?;
            }
        }
        let (rows, tag, gives_rows) = (told.kept, told.tag, told.columns.is_some());
        let keeps = rows.is_some();
        let rows = bytes_in(&rows.unwrap_or_default(), self.memory)?;
        match (tag, self.portal_mut(name)) {
            (Some(tag), Some(portal)) if gives_rows => {
                portal.progress = Progress::Told { rows, at: 0, tag };
                if keeps { self.give_told(name, most, out) } else { Ok(()) }
            }
            // The statement gives no rows, or has ended the transaction, and its portal with it.
            (Some(tag), _) if keeps => {
                let mut at = 0;
                while at < rows.len() {
                    at += give_row(&rows[at..], out)?;
                }
                out.complete(tag);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Gives rows that a portal has kept.
    fn give_told<O: Output>(&mut self, name: &str, most: u64, out: &mut O) -> Result<()> {
        let Some(portal) = self.portal_mut(name) else { return Err(no_portal(name)) };
        let Progress::Told { rows, at, tag } = &mut portal.progress else { return Ok(()) };
        let wanted = if most == 0 { u64::MAX } else { most };
        let mut given = 0;
        while given < wanted && *at < rows.len() {
            *at += give_row(&rows[*at..], out)?;
            given += 1;
            if given % 256 == 0 {
                crate::exec::breathe()?;
            }
        }
        match (given < wanted, *tag) {
            (false, _) => out.suspended(),
            (true, Tag::Rows(words, _)) => out.complete(Tag::Rows(words, given)),
            (true, tag) => out.complete(tag),
        }
        Ok(())
    }
}

/// Gives the first of those rows; answers how many bytes it is.
fn give_row<O: Output>(rows: &[u8], out: &mut O) -> Result<usize> {
    let broken = || Error::statement(sqlstate::INTERNAL_ERROR, "rows that a portal has kept are broken");
    let mut reader = Reader::new(rows);
    let values = reader.u32_be().ok_or_else(broken)?;
    out.begin_row();
    for _ in 0..values {
        match reader.u32_be().ok_or_else(broken)? {
            NULL => out.null(),
            length => {
                let bytes = reader.bytes(length as usize).ok_or_else(broken)?;
                out.value(|buffer| {
                    buffer.extend_from_slice(bytes);
                    Ok(())
                })?;
            }
        }
    }
    out.end_row()?;
    Ok(rows.len() - reader.rest().len())
}
