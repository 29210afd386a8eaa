//! Log records: what each one says, its bytes, and what it does to a page.
//!
//! ```text
//!  0        4        8     16      20     21      22        24
//!  | crc32c | length | xid | epoch | kind | flags | durable | body ... | zeros up to a multiple of eight
//! ```
//!
//! The table of kinds in [`body`] is the only place where kinds, names, numbers, fields and their docs are written;
//! structs, codecs and [`Kind::TABLE`] are made from it.
//!
//! Rules
//! 1. *Do is redo.* A change of a page is made by the `apply` of its record, at run time and after a crash; so what is
//!    logged is what was done. Volatile bytes (lock words, hints, command numbers) are set beside it and not logged.
//! 2. A record changes at most four pages, in the order of [`Record::pages`], each by itself:
//!    [`Record::redo`] looks at one page, compares its LSN with the record's end, and applies or leaves it.
//! 3. The checksum covers the body, the header from the length on, and the record's own LSN, which is not stored: bytes
//!    that an earlier round left in a recycled segment are no record where they lie now.
//! 4. *Epoch* counts the starts of the server and never falls along the log. It ends the log where a start that
//!    followed a crash overwrote a torn tail and the remains of that tail happen to begin at a record's end.
//! 5. Nothing read from a log is trusted beyond its checksum: every decoder answers `Err` to bytes it cannot make sense
//!    of.
//! 6. *Durable* says how far the log was durable when the record was made. It tells damage from a torn tail: what was durable
//!    once cannot have been torn by a crash.
//!
//! The life of a record: a body is made, [`encode`] appends it to a buffer while no latch of the log is held, the log
//! gives it an LSN, [`Draft::seal`] completes the checksum. Reading: [`parse`] frames it, [`RawRecord::decode`] makes a
//! [`Record`], [`Record::redo`] applies it.
//!
//! What this does not do: segments, buffers, flushing, deciding where the log ends (a damaged record in the middle and
//! the torn last one look alike here; [`super::reader`] looks at what follows).
//!
//! Redo only: there are no undo records, because a version of an aborted transaction is never visible and is pruned
//! later.

pub mod apply;
pub mod body;
pub mod field;
pub mod frame;

#[cfg(test)]
mod tests;

pub use apply::{PageUse, Pages};
pub use body::*;
pub use field::{Field, Length, Sink, Window};
pub use frame::{
    Draft, EPOCH, End, MAX_RECORD_BYTES, Parsed, RECORD_ALIGN, RECORD_HEADER_BYTES, RECORD_INIT, RawRecord, Record,
    encode, parse,
};
