//! The control file: where recovery begins, and whose database this is.
//!
//! ```text
//!  0       8         12      16            24      28            32           40     48       56
//!  | magic | version | state | database id | epoch | clean since | checkpoint | redo | crc32c |
//! ```
//!
//! It is replaced as a whole and durably ([`kernel::io::write_small`]), so there is always one that is complete: the old or the
//! new one. Whoever is between two states of the database writes it last.

use crate::page::raw::{put_u32, put_u64, u32_at, u64_at};
use base::{Error, Lsn, Result, sqlstate};
use kernel::io::{self, FileName};

/// The version of the directory's format: pages, log, and this file.
pub const FORMAT_VERSION: u32 = 1;

const MAGIC: u64 = u64::from_le_bytes(*b"gearbox\0");
const AT_MAGIC: usize = 0;
const AT_VERSION: usize = 8;
const AT_STATE: usize = 12;
const AT_DATABASE: usize = 16;
const AT_EPOCH: usize = 24;
const AT_CLEAN_SINCE: usize = 28;
const AT_CHECKPOINT: usize = 32;
const AT_REDO: usize = 40;
const AT_CRC: usize = 48;
const BYTES: usize = 56;

/// What the files around it are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum State {
    /// The database is being made: nothing in it counts.
    Making = 1,
    /// A server uses it, or did when it ended without a word.
    InUse = 2,
    /// The last server has written everything and stopped.
    Stopped = 3,
}

impl State {
    fn from_number(number: u32) -> Option<State> {
        [State::Making, State::InUse, State::Stopped].into_iter().find(|state| *state as u32 == number)
    }
}

/// What the control file says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// What the files around it are.
    pub state: State,
    /// A number that no other database has, as far as chance allows.
    pub database: u64,
    /// How often a server has started on it. Every log record carries it.
    pub epoch: u32,
    /// The first start after the last server that ended without a word.
    pub clean_since: u32,
    /// Where the last checkpoint's record begins.
    pub checkpoint: Lsn,
    /// Where recovery begins.
    pub redo: Lsn,
}

impl Control {
    fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        put_u64(&mut bytes, AT_MAGIC, MAGIC);
        put_u32(&mut bytes, AT_VERSION, FORMAT_VERSION);
        put_u32(&mut bytes, AT_STATE, self.state as u32);
        put_u64(&mut bytes, AT_DATABASE, self.database);
        put_u32(&mut bytes, AT_EPOCH, self.epoch);
        put_u32(&mut bytes, AT_CLEAN_SINCE, self.clean_since);
        put_u64(&mut bytes, AT_CHECKPOINT, self.checkpoint.0);
        put_u64(&mut bytes, AT_REDO, self.redo.0);
        let crc = crc32c::crc32c(&bytes[..AT_CRC]);
        put_u32(&mut bytes, AT_CRC, crc);
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Control> {
        let damaged = |detail: String| {
            Error::corruption("the control file is damaged")
                .detail(detail)
                .hint("Restore the file, or the whole data directory from a backup.")
        };
        let Some(bytes) = bytes.first_chunk::<BYTES>().filter(|_| bytes.len() == BYTES) else {
            return Err(damaged(format!("It has {} bytes; {BYTES} were expected.", bytes.len())));
        };
        if u64_at(bytes, AT_MAGIC) != MAGIC {
            return Err(damaged("It does not begin as a control file does.".to_string()));
        }
        let version = u32_at(bytes, AT_VERSION);
        if version != FORMAT_VERSION {
            return Err(Error::session(
                sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the data directory is of another version",
            )
            .detail(format!("Its format is {version}; this server reads format {FORMAT_VERSION}."))
            .hint("Start the server of the version that wrote it, or name another directory."));
        }
        let (stored, computed) = (u32_at(bytes, AT_CRC), crc32c::crc32c(&bytes[..AT_CRC]));
        if stored != computed {
            return Err(damaged(format!("Checksum {stored:#010x} is stored, {computed:#010x} computed.")));
        }
        let state = u32_at(bytes, AT_STATE);
        Ok(Control {
            state: State::from_number(state).ok_or_else(|| damaged(format!("State {state} is unknown.")))?,
            database: u64_at(bytes, AT_DATABASE),
            epoch: u32_at(bytes, AT_EPOCH),
            clean_since: u32_at(bytes, AT_CLEAN_SINCE),
            checkpoint: Lsn(u64_at(bytes, AT_CHECKPOINT)),
            redo: Lsn(u64_at(bytes, AT_REDO)),
        })
    }

    /// Reads the file; none if there is none. Errors: `XX001`, `55000`.
    pub fn read() -> Result<Option<Control>> {
        match io::read_small(FileName::CONTROL, BYTES + 1)? {
            Some(bytes) => Control::decode(&bytes).map(Some),
            None => Ok(None),
        }
    }

    /// Replaces the file, durably.
    pub fn write(&self) -> Result<()> {
        io::write_small(FileName::CONTROL, &self.encode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROL: Control = Control {
        state: State::InUse,
        database: 0xABCD_EF01_2345,
        epoch: 7,
        clean_since: 5,
        checkpoint: Lsn(99_000),
        redo: Lsn(98_000),
    };

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Control::decode(&CONTROL.encode()).unwrap(), CONTROL);
    }

    #[test]
    fn any_flipped_bit_and_any_other_length_is_refused() {
        let bytes = CONTROL.encode();
        for at in 0..AT_CRC + 4 {
            let mut other = bytes;
            other[at] ^= 4;
            assert!(Control::decode(&other).is_err(), "byte {at}");
        }
        for len in (0..BYTES).step_by(7) {
            assert!(Control::decode(&bytes[..len]).is_err());
        }
        assert!(Control::decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn another_version_says_so() {
        let mut bytes = CONTROL.encode();
        bytes[AT_VERSION] = 9;
        let error = Control::decode(&bytes).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE);
        assert!(error.detail_text().unwrap().contains("format is 9"));
    }
}
