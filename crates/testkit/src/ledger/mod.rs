//! Ledger: a service over the kernel alone that keeps values on disk, made to be checked through deaths and power cuts.
//!
//! Each key has two blocks of the ledger's file, which are written in turn: a number that counts, the value, a checksum. So
//! whatever a power cut tears, the block before it is whole. A value is acknowledged when its block is durable; at a start
//! the block with the higher number that is whole says what the value is. A flush that fails says nothing about what is on
//! disk: the server restarts and looks.
//!
//! | request | what it does | answer |
//! |---|---|---|
//! | `keep K V` | writes a value, durably | the value |
//! | `kept K` | reads the value that was written last | the value |

pub mod load;

use base::{Error, Kind as ErrorKind, Result, sqlstate};
use kernel::engine::sim;
use kernel::fault;
use kernel::io::{self, FileName, Kind, Pages};
use kernel::region;
use kernel::region::heap::Owner;
use kernel::session::{End, Next, Service, Session};
use kernel::supervisor;
use kernel::sync::{Latch, Mode};
use kernel::wait::Event;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// How many keys there are.
pub const KEYS: usize = 3;
const BLOCK: usize = io::ALIGN;
const FILE: FileName = FileName::data(1);

kernel::shared! {
    /// A key in memory.
    pub struct Entry {
        latch: Latch,
        value: AtomicU64,
        number: AtomicU64,
    }

    /// All of them.
    pub struct Entries {
        keys: [Entry; KEYS],
    }
}

/// What is wrong with a ledger on purpose, to see that it is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// Nothing.
    None,
    /// A value is acknowledged before it is durable.
    NoFlush,
    /// Each key has one block only, which a power cut may tear.
    OneBlock,
    /// Nobody looks at checksums.
    NoCheck,
    /// A flush that failed is taken for one that can be repeated.
    GoOn,
}

/// See the head of this file.
pub struct Ledger {
    entries: &'static Entries,
    flaw: Flaw,
}

impl Ledger {
    /// A service with a table of its own in the region.
    pub fn new(flaw: Flaw) -> Ledger {
        Ledger { entries: region::single("ledger"), flaw }
    }

    /// Its table.
    pub fn entries(&self) -> &'static Entries {
        self.entries
    }

    fn place(&self, key: usize, number: u64) -> u64 {
        let second = if self.flaw == Flaw::OneBlock { 0 } else { number % 2 };
        (key as u64 * 2 + second) * BLOCK as u64
    }

    fn keep(&self, key: usize, value: u64) -> Result<u64> {
        let entry = &self.entries.keys[key];
        let mut pages = Pages::new(Owner::Test, BLOCK)?;
        let _alone = entry.latch.lock(Mode::Exclusive, Event::TestLatch);
        let number = entry.number.load(SeqCst) + 1;
        encode(&mut pages, number, value);
        fault::point("ledger.write");
        pages.write(Event::DataFileWrite, FILE, self.place(key, number), 0, BLOCK)?;
        if self.flaw != Flaw::NoFlush {
            self.flush()?;
        }
        fault::point("ledger.written");
        entry.number.store(number, SeqCst);
        entry.value.store(value, SeqCst);
        Ok(value)
    }

    fn flush(&self) -> Result<()> {
        loop {
            match io::flush(Event::DataFileFlush, FILE)?.wait() {
                Ok(_) => return Ok(()),
                Err(_) if self.flaw == Flaw::GoOn => {}
                Err(error) if error.kind() == ErrorKind::Server => supervisor::stop_and_recover(error.message()),
                Err(error) => return Err(error),
            }
        }
    }

    fn kept(&self, key: usize) -> Result<u64> {
        let entry = &self.entries.keys[key];
        let mut pages = Pages::new(Owner::Test, BLOCK)?;
        let _with_others = entry.latch.lock(Mode::Shared, Event::TestLatch);
        let number = entry.number.load(SeqCst);
        pages.read(Event::DataFileRead, FILE, self.place(key, number), BLOCK)?;
        match decode(&pages) {
            Some((found, value)) if found == number => Ok(value),
            None if self.flaw == Flaw::NoCheck => Ok(unchecked(&pages).1),
            _ => Err(Error::statement(sqlstate::DATA_CORRUPTED, "damaged")),
        }
    }

    /// What is wrong with what a power cut would leave now, while nobody writes.
    pub fn check_durable(entries: &Entries) -> std::result::Result<(), String> {
        let content = sim::durable_content(FILE).ok_or("the ledger's file is not durable")?;
        for (key, entry) in entries.keys.iter().enumerate() {
            let blocks = content[key * 2 * BLOCK..][..2 * BLOCK].chunks(BLOCK);
            let newest = blocks.filter_map(decode).max().map_or(0, |(_, value)| value);
            let value = entry.value.load(SeqCst);
            // A write that failed may be durable all the same, and nobody was told.
            let failed = blocks_ahead(&content, key, entry.number.load(SeqCst));
            if newest != value && !failed {
                return Err(format!("key {key} is {value}, and {newest} would survive a power cut"));
            }
        }
        Ok(())
    }

    fn recover(&self) -> Result<()> {
        io::make_directories()?;
        let bytes = (KEYS * 2 * BLOCK) as u64;
        match io::size(FILE)? {
            Some(size) if size == bytes => {}
            size => {
                // Nothing was acknowledged before the file had its size for good.
                if size.is_some() {
                    io::remove(FILE)?;
                }
                io::create_zeroed(FILE, bytes)?;
                io::sync_directory(Kind::Data)?;
            }
        }
        let mut pages = Pages::new(Owner::Test, BLOCK)?;
        for (key, entry) in self.entries.keys.iter().enumerate() {
            for number in 0..2 {
                pages.read(Event::DataFileRead, FILE, self.place(key, number), BLOCK)?;
                let (number, value) = match decode(&pages) {
                    Some(found) => found,
                    None if self.flaw == Flaw::NoCheck => unchecked(&pages),
                    None => continue,
                };
                if number >= entry.number.load(SeqCst) {
                    entry.number.store(number, SeqCst);
                    entry.value.store(value, SeqCst);
                }
            }
            // What is read may be there without being durable, after a flush that failed. So it is written once more, in its
            // place: what is there already cannot be torn, and the block beside it may be the last durable one.
            let number = entry.number.load(SeqCst);
            encode(&mut pages, number, entry.value.load(SeqCst));
            pages.write(Event::DataFileWrite, FILE, self.place(key, number), 0, BLOCK)?;
        }
        self.flush()?;
        Ok(())
    }
}

/// True if a block of that key has a higher number than memory knows of.
fn blocks_ahead(content: &[u8], key: usize, number: u64) -> bool {
    content[key * 2 * BLOCK..][..2 * BLOCK].chunks(BLOCK).filter_map(decode).any(|found| found.0 > number)
}

/// Fills a block so that each sector of it tells: the number and the value stand in the first, the value in every other.
fn encode(block: &mut [u8], number: u64, value: u64) {
    let words = block.len() / 8;
    for at in 0..words {
        let word = match at {
            0 => number,
            _ if at == words - 1 => number ^ value.rotate_left(17),
            _ => value,
        };
        block[at * 8..][..8].copy_from_slice(&word.to_le_bytes());
    }
}

fn word(block: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&block[at * 8..][..8]);
    u64::from_le_bytes(bytes)
}

/// The number and the value of a block that may be torn between them, as who looks at no checksum reads it.
fn unchecked(block: &[u8]) -> (u64, u64) {
    (word(block, 0), word(block, block.len() / 16))
}

/// The number and the value of a whole block.
fn decode(block: &[u8]) -> Option<(u64, u64)> {
    let words = block.len() / 8;
    let (number, value) = (word(block, 0), word(block, 1));
    let whole =
        (1..words - 1).all(|at| word(block, at) == value) && word(block, words - 1) == number ^ value.rotate_left(17);
    whole.then_some((number, value))
}

impl Service for Ledger {
    fn start(&self) -> Result<()> {
        self.recover()
    }

    fn serve(&self, session: &mut Session) -> Next {
        loop {
            if session.shared().interrupt().is_some() {
                return Next::Close;
            }
            let Some(end) = session.input().iter().position(|&byte| byte == b'\n') else { return Next::Park };
            let line = String::from_utf8_lossy(&session.input()[..end]).into_owned();
            session.consume(end + 1);
            let words: Vec<&str> = line.split(' ').collect();
            let key = words.get(1).and_then(|word| word.parse::<usize>().ok()).filter(|&key| key < KEYS);
            let value = words.get(2).and_then(|word| word.parse::<u64>().ok());
            let answer = match (words[0], key, value) {
                ("keep", Some(key), Some(value)) => self.keep(key, value),
                ("kept", Some(key), None) => self.kept(key),
                _ => Err(Error::statement(sqlstate::SYNTAX_ERROR, "senseless")),
            };
            match answer {
                Ok(value) => session.output().extend_from_slice(format!("ok {value}\n").as_bytes()),
                Err(error) => session.output().extend_from_slice(format!("error {}\n", error.message()).as_bytes()),
            }
            if session.flush().is_err() {
                return Next::Close;
            }
        }
    }

    fn close(&self, _session: &mut Session, _end: End) {}

    fn refusal(&self, _error: &Error) -> Vec<u8> {
        b"full\n".to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_block_is_seen() {
        let (mut old, mut new) = (vec![0; BLOCK], vec![0; BLOCK]);
        encode(&mut old, 7, 70);
        encode(&mut new, 9, 90);
        assert_eq!(decode(&old), Some((7, 70)));
        for sector in 1..BLOCK / 512 {
            let mut torn = new.clone();
            torn[sector * 512..].copy_from_slice(&old[sector * 512..]);
            assert_eq!(decode(&torn), None, "torn at sector {sector}");
        }
    }
}
