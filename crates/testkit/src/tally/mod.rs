//! Tally: a service over the kernel alone, made to be checked.
//!
//! It speaks lines of text and keeps everything in tables of the region: counters under spinlocks, counters and registers
//! under latches, accounts that money moves between, mailboxes that sessions wait at for each other. A session keeps notes
//! in its arena across requests. Every change of something shared is also tallied in a row of the session's own, once
//! before and once after, so that whatever died in the middle, the shared values lie between the sums of the rows.
//!
//! | request | what it does | answer |
//! |---|---|---|
//! | `spin I` | adds one to counter I under a spinlock | its value |
//! | `latch I US` | the same under a latch, in two steps that so many µs lie between | its value |
//! | `look I US` | reads both halves of counter I under a shared latch | its value, or `torn` |
//! | `move A B N US` | moves N from account A to B under both latches | A's balance |
//! | `total` | the sum of all accounts under all latches | the sum |
//! | `set I V`, `get I` | a register under a latch | its value |
//! | `put I`, `take I` | one into mailbox I; one out, waiting for it | what was in there |
//! | `note K TEXT`, `notes K` | the session's notes | the text |
//! | `open`, `shut` | an open transaction, for the order in queues | 0 |
//! | `sleep US`, `compute N`, `echo N` | waits, yields, long answers | 0; N bytes |
//! | `bye` | the end | |
//!
//! An answer is `ok EPOCH VALUE`; the epoch counts restarts of the server, since all of this is gone after one.

pub mod load;
mod tables;

pub use tables::{ACCOUNTS, BALANCE, COUNTERS, MAILBOXES, REGISTERS, Tables};

use kernel::clock;
use kernel::fault;
use kernel::region::arena::{ArenaMap, ArenaVec};
use kernel::session::{self, End, Interrupt, Next, Service, Session};
use kernel::sync::Mode;
use kernel::wait::{self, Event, Woken};
use std::fmt::Write;
use std::sync::atomic::Ordering::SeqCst;
use tables::Row;

/// See the head of this file.
pub struct Tally {
    tables: Tables,
}

/// What a session knows: its notes.
struct State {
    notes: ArenaMap<u64, ArenaVec<u8>>,
}

/// Why a request was not done.
enum Refused {
    /// It makes no sense.
    Senseless,
    /// The session is interrupted.
    Interrupted(Interrupt),
    /// Memory was refused.
    NoMemory,
}

impl Tally {
    /// A service with tables of its own in the region.
    pub fn new() -> Tally {
        Tally { tables: Tables::make() }
    }

    /// Its tables, for checks.
    pub fn tables(&self) -> Tables {
        self.tables
    }
}

impl Default for Tally {
    fn default() -> Tally {
        Tally::new()
    }
}

impl Service for Tally {
    fn serve(&self, session: &mut Session) -> Next {
        loop {
            if session.shared().interrupt() == Some(Interrupt::Terminate) {
                session.output().extend_from_slice(b"terminated\n");
                return Next::Close;
            }
            let Some(end) = session.input().iter().position(|&byte| byte == b'\n') else { return Next::Park };
            let line = String::from_utf8_lossy(&session.input()[..end]).into_owned();
            session.consume(end + 1);
            if line == "bye" {
                return Next::Close;
            }
            let answer = self.request(session, &line);
            let output = session.output();
            match answer {
                Ok(text) => {
                    let mut head = String::new();
                    let _ = write!(head, "ok {} ", kernel::supervisor::restarts());
                    output.extend_from_slice(head.as_bytes());
                    output.extend_from_slice(text.as_bytes());
                    output.push(b'\n');
                }
                Err(Refused::Senseless) => output.extend_from_slice(format!("senseless {line}\n").as_bytes()),
                Err(Refused::NoMemory) => output.extend_from_slice(b"no memory\n"),
                Err(Refused::Interrupted(interrupt)) => {
                    session.shared().clear_interrupt(interrupt);
                    session.output().extend_from_slice(b"interrupted\n");
                    if interrupt == Interrupt::Terminate {
                        return Next::Close;
                    }
                }
            }
            if session.flush().is_err() {
                return Next::Close;
            }
        }
    }

    fn close(&self, _session: &mut Session, _end: End) {}

    fn refusal(&self, _error: &base::Error) -> Vec<u8> {
        b"full\n".to_vec()
    }
}

impl Tally {
    fn request(&self, session: &mut Session, line: &str) -> Result<String, Refused> {
        let mut words = line.split(' ');
        let verb = words.next().unwrap_or_default();
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).ok_or(Refused::Senseless);
        let row = self.tables.row(session.shared().id());
        let value = match verb {
            "spin" => self.add_under_spinlock(row, number()?)?,
            "latch" => self.add_under_latch(row, number()?, number()?)?,
            "look" => return self.look(number()?, number()?),
            "move" => self.transfer(number()?, number()?, number()?, number()?)?,
            "total" => self.total(),
            "set" => self.register(number()?, Some(number()?))?,
            "get" => self.register(number()?, None)?,
            "put" => self.put(row, number()?)?,
            "take" => self.take(row, number()?)?,
            "open" | "shut" => {
                session.shared().set_in_transaction(verb == "open", true);
                0
            }
            "sleep" => sleep(number()?)?,
            "compute" => compute(number()?)?,
            "echo" => {
                let bytes = number()?;
                // In several pieces, so that a client that reads slowly is waited for in the middle.
                for piece in 0..bytes / 1000 {
                    session.output().extend(std::iter::repeat_n(b'a' + (piece % 26) as u8, 1000));
                    session.flush_if_full().map_err(|_| Refused::Senseless)?;
                }
                session.output().push(b'\n');
                bytes
            }
            "note" => {
                let key = number()?;
                return note(session, key, words.next().unwrap_or_default());
            }
            "notes" => return notes(session, number()?),
            _ => return Err(Refused::Senseless),
        };
        Ok(value.to_string())
    }

    fn add_under_spinlock(&self, row: &Row, at: u64) -> Result<u64, Refused> {
        let counter = self.tables.all.spins.get(at as usize).ok_or(Refused::Senseless)?;
        row.spins.begun.add(1);
        fault::point("tally.spin");
        let value = {
            let mut value = counter.lock();
            let before = *value;
            fault::point("tally.under_spinlock");
            *value = before + 1;
            *value
        };
        fault::point("tally.spun");
        row.spins.done.add(1);
        Ok(value)
    }

    fn add_under_latch(&self, row: &Row, at: u64, pause_us: u64) -> Result<u64, Refused> {
        let counter = self.tables.all.latched.get(at as usize).ok_or(Refused::Senseless)?;
        row.latched.begun.add(1);
        let value = {
            let _alone = counter.latch.lock(Mode::Exclusive, Event::TestLatch);
            let before = counter.value.load(SeqCst);
            fault::point("tally.under_latch");
            pause(pause_us);
            counter.value.store(before + 1, SeqCst);
            fault::point("tally.between_halves");
            counter.twin.store(before + 1, SeqCst);
            before + 1
        };
        row.latched.done.add(1);
        Ok(value)
    }

    fn look(&self, at: u64, pause_us: u64) -> Result<String, Refused> {
        let counter = self.tables.all.latched.get(at as usize).ok_or(Refused::Senseless)?;
        let _with_others = counter.latch.lock(Mode::Shared, Event::TestLatch);
        let value = counter.value.load(SeqCst);
        fault::point("tally.look");
        pause(pause_us);
        let twin = counter.twin.load(SeqCst);
        Ok(if value == twin { value.to_string() } else { "torn".to_string() })
    }

    fn transfer(&self, from: u64, to: u64, amount: u64, pause_us: u64) -> Result<u64, Refused> {
        let accounts = &self.tables.all.accounts;
        let (from, to) = (from as usize, to as usize);
        if from == to || from.max(to) >= accounts.len() {
            return Err(Refused::Senseless);
        }
        // In the order of their numbers: latches know no deadlock detection.
        let _first = accounts[from.min(to)].latch.lock(Mode::Exclusive, Event::TestLatch);
        let _second = accounts[from.max(to)].latch.lock(Mode::Exclusive, Event::TestLatch);
        let (rich, poor) = (accounts[from].balance.load(SeqCst), accounts[to].balance.load(SeqCst));
        let amount = amount.min(rich);
        accounts[from].balance.store(rich - amount, SeqCst);
        fault::point("tally.between_accounts");
        pause(pause_us);
        accounts[to].balance.store(poor + amount, SeqCst);
        Ok(rich - amount)
    }

    fn total(&self) -> u64 {
        let accounts = &self.tables.all.accounts;
        let held: Vec<_> = accounts.iter().map(|account| account.latch.lock(Mode::Shared, Event::TestLatch)).collect();
        let total = accounts.iter().map(|account| account.balance.load(SeqCst)).sum();
        drop(held);
        total
    }

    fn register(&self, at: u64, new: Option<u64>) -> Result<u64, Refused> {
        let register = self.tables.all.registers.get(at as usize).ok_or(Refused::Senseless)?;
        let mode = if new.is_some() { Mode::Exclusive } else { Mode::Shared };
        let _held = register.latch.lock(mode, Event::TestLatch);
        fault::point("tally.register");
        match new {
            Some(new) => {
                register.value.store(new, SeqCst);
                Ok(new)
            }
            None => Ok(register.value.load(SeqCst)),
        }
    }

    fn put(&self, row: &Row, at: u64) -> Result<u64, Refused> {
        let mailbox = self.tables.all.mailboxes.get(at as usize).ok_or(Refused::Senseless)?;
        row.puts.begun.add(1);
        fault::point("tally.put");
        let before = mailbox.count.fetch_add(1, SeqCst);
        fault::point("tally.has_put");
        row.puts.done.add(1);
        mailbox.takers.post_one();
        Ok(before)
    }

    fn take(&self, row: &Row, at: u64) -> Result<u64, Refused> {
        let mailbox = self.tables.all.mailboxes.get(at as usize).ok_or(Refused::Senseless)?;
        row.takes.begun.add(1);
        loop {
            mailbox.takers.enter(0);
            fault::point("tally.take");
            let before = mailbox.count.fetch_update(SeqCst, SeqCst, |count| count.checked_sub(1));
            if let Ok(before) = before {
                row.takes.done.add(1);
                mailbox.takers.leave();
                return Ok(before);
            }
            let woken = wait::wait(Event::TestWait, at, None);
            let was_called = !mailbox.takers.leave();
            if let Woken::Interrupted(interrupt) = woken {
                // A call that came meanwhile is somebody else's.
                if was_called {
                    mailbox.takers.post_one();
                }
                return Err(Refused::Interrupted(interrupt));
            }
        }
    }
}

/// Waits with latches held, as for a page that is read. No interrupt ends that.
fn pause(span_us: u64) {
    let until = clock::now() + span_us * 1000;
    while clock::now() < until {
        wait::wait(Event::DataFileRead, 0, Some(until));
    }
}

fn sleep(span_us: u64) -> Result<u64, Refused> {
    let until = clock::now() + span_us * 1000;
    while clock::now() < until {
        if let Woken::Interrupted(interrupt) = wait::wait(Event::Sleep, 0, Some(until)) {
            return Err(Refused::Interrupted(interrupt));
        }
    }
    Ok(0)
}

fn compute(steps: u64) -> Result<u64, Refused> {
    for _ in 0..steps {
        if let Some(interrupt) = session::current().interrupt() {
            return Err(Refused::Interrupted(interrupt));
        }
        // Whatever comes in between is seen above, in the next step.
        let _ = session::check_interrupts();
    }
    Ok(0)
}

/// Keeps a note, many times the text long, and forgets an older one now and then, so that blocks are given and taken.
fn note(session: &mut Session, key: u64, text: &str) -> Result<String, Refused> {
    let arena = session.arena();
    if session.state::<State>().is_none() {
        let notes = ArenaMap::with_hasher_in(Default::default(), arena);
        session.set_state(State { notes }).map_err(|_| Refused::NoMemory)?;
    }
    let copies = 1 + key as usize % 40;
    let mut value = ArenaVec::new_in(arena);
    value.try_reserve(text.len() * copies).map_err(|_| Refused::NoMemory)?;
    for _ in 0..copies {
        value.extend_from_slice(text.as_bytes());
        fault::point("tally.note");
    }
    let state = session.state::<State>().ok_or(Refused::NoMemory)?;
    state.notes.insert(key, value);
    Ok(text.to_string())
}

fn notes(session: &mut Session, key: u64) -> Result<String, Refused> {
    let copies = 1 + key as usize % 40;
    let Some(state) = session.state::<State>() else { return Ok(String::new()) };
    let Some(value) = state.notes.get(&key) else { return Ok(String::new()) };
    let one = &value[..value.len() / copies];
    let whole = value.chunks(one.len().max(1)).all(|copy| copy == one);
    Ok(if whole { String::from_utf8_lossy(one).into_owned() } else { "garbled".to_string() })
}
