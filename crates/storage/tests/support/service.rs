//! A service over storage: a line in, a line out.
//!
//! | command | does | answers |
//! |---|---|---|
//! | `make COUNT VALUE` | a table of rows | `ok REL` |
//! | `get REL KEY` | reads a row | `value N` or `none` |
//! | `set REL KEY VALUE`, `put REL KEY VALUE` | changes or makes a row, and commits | `ok` |
//! | `delete REL KEY` | ends a row, and commits | `ok` |
//! | `move REL FROM TO AMOUNT` | a transfer, and commits | `ok` |
//! | `sum REL [KEY]` | of all rows, or those from a key on, in one snapshot | `sum N COUNT` |
//! | `add REL KEY AMOUNT` | changes a row in the open transaction | `ok` |
//! | `commit`, `async`, `abort` | ends the open transaction | `ok` |
//! | `lock N MODE [MS]`, `advisory N`, `unadvisory N` | locks | `ok` |
//! | `hold`, `release`, `see REL KEY` | holds a snapshot over requests; reads by it | `ok`, as `get` |
//! | `new`, `drop REL`, `pages REL` | storages | `ok REL`, `ok`, `pages N` |
//! | `checkpoint`, `stat`, `pid`, `next` | | `ok`, `stat ...`, `pid N`, `oid N` |
//! | `scan REL` | reads all pages once, by a ring | `ok` |
//! | `bench REL PAGES COUNT` | pins and latches that many pages in turn, that often | `ns N` of CPU each |
//!
//! An error is answered by `error SQLSTATE message`, and aborts the open transaction.

use super::rows;
use base::{Error, RelId, Result, sqlstate};
use kernel::session::{End, Next, Service, Session, SessionShared, interrupt_error};
use kernel::{clock, session};
use std::fmt::Write;
use storage::txn::lock::{LockScope, LockWait};
use storage::txn::{LockKey, LockMode, Snapshot};
use storage::{Config, Durability, ScanRing, Storage};

/// The service under test.
pub struct StorageService {
    storage: &'static Storage,
    say: bool,
}

/// What a session keeps between requests.
#[derive(Default)]
struct State {
    snapshot: Option<Snapshot>,
}

impl StorageService {
    /// Makes storage's tables. `say`: the start says what it found.
    pub fn make(config: &Config, say: bool) -> Result<StorageService> {
        Ok(StorageService { storage: Storage::create_tables(config)?, say })
    }
}

impl Service for StorageService {
    fn serve(&self, session: &mut Session) -> Next {
        let slot = session.shared();
        if let Some(interrupt) = slot.interrupt() {
            slot.clear_interrupt(interrupt);
            if interrupt_error(interrupt).kind() == base::Kind::Session {
                return Next::Close;
            }
        }
        while let Some(at) = session.input().iter().position(|&byte| byte == b'\n') {
            let line = String::from_utf8_lossy(&session.input()[..at]).into_owned();
            session.consume(at + 1);
            let answer = match self.run(session, slot, &line) {
                Ok(answer) => answer,
                Err(error) => {
                    self.storage.abort(&[]);
                    if let Some(interrupt) = slot.interrupt() {
                        slot.clear_interrupt(interrupt);
                        if interrupt_error(interrupt).kind() == base::Kind::Session {
                            return Next::Close;
                        }
                    }
                    let detail = error.detail_text().unwrap_or_default().to_string();
                    format!("error {} {} | {detail}", error.sqlstate(), error.message())
                }
            };
            session.output().extend_from_slice(answer.as_bytes());
            session.output().push(b'\n');
        }
        Next::Park
    }

    fn close(&self, session: &mut Session, _end: End) {
        self.storage.end_session(session.shared().id());
    }

    fn release_dead(&self, session: base::SessionId) {
        self.storage.release_dead(session);
    }

    fn background(&self) -> &'static [&'static str] {
        storage::TASKS
    }

    fn run_background(&self, task: usize) {
        self.storage.run_task(task);
    }

    fn start(&self) -> Result<()> {
        let found = self.storage.start()?;
        if self.say {
            println!("recovered {found:?}");
        }
        Ok(())
    }

    fn stop(&self) {
        if let Err(error) = self.storage.stop() {
            eprintln!("gearbox: the last checkpoint failed: {error}");
        }
    }
}

fn bad(line: &str) -> Error {
    Error::statement(sqlstate::SYNTAX_ERROR, format!("no such command: \"{line}\""))
}

impl StorageService {
    fn run(&self, session: &mut Session, slot: &'static SessionShared, line: &str) -> Result<String> {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<i64>().ok()).ok_or_else(|| bad(line));
        let rel = || Ok::<_, Error>(RelId(number(1)? as u32));
        let key = |at: usize| Ok::<_, Error>(number(at)? as u32);
        let storage = self.storage;
        let transactions = storage.transactions;
        let open = |is_open| slot.set_in_transaction(is_open, true);
        Ok(match words[0] {
            "make" => format!("ok {}", rows::make(storage, key(1)?, number(2)?)?),
            "get" => {
                let snapshot = transactions.snapshot();
                let value = rows::get(storage, rel()?, key(2)?, &snapshot);
                transactions.release(snapshot);
                value?.map_or("none".to_string(), |value| format!("value {value}"))
            }
            "set" | "delete" => {
                let value = if words[0] == "set" { Some(number(3)?) } else { None };
                let done = rows::update(storage, rel()?, key(2)?, |_| value, None);
                answer(rows::finish(storage, done)?)
            }
            "put" => {
                let (rel, key, value) = (rel()?, key(2)?, number(3)?);
                let done = rows::insert(storage, rel, key, value).map(|()| true);
                answer(rows::finish(storage, done)?)
            }
            "move" => answer(rows::transfer(storage, rel()?, key(2)?, key(3)?, number(4)?)?),
            "sum" => {
                let (sum, count) = rows::sum(storage, rel()?, number(2).unwrap_or(0) as u32)?;
                format!("sum {sum} {count}")
            }
            "add" => {
                open(true);
                let amount = number(3)?;
                let deadline = number(4).ok().map(|ms| ms as u64 * 1_000_000);
                answer(rows::update(storage, rel()?, key(2)?, |value| Some(value + amount), deadline)?)
            }
            "commit" | "async" => {
                open(false);
                let how = if words[0] == "async" { Durability::Asynchronous } else { Durability::Waited };
                storage.commit(how, &[])?;
                "ok".to_string()
            }
            "abort" => {
                open(false);
                storage.abort(&[]);
                "ok".to_string()
            }
            "lock" => {
                open(true);
                let mode = LockMode::from_number(key(2)?).ok_or_else(|| bad(line))?;
                let how = match number(3) {
                    Ok(0) => LockWait::Never,
                    Ok(ms) => LockWait::Until(clock::now() + ms as u64 * 1_000_000),
                    Err(_) => LockWait::Forever,
                };
                answer(transactions.lock(LockKey::relation(key(1)?), mode, LockScope::Transaction, how)?)
            }
            "advisory" => {
                let key = LockKey::advisory(0, number(1)? as u64);
                answer(transactions.lock(key, LockMode::Exclusive, LockScope::Session, LockWait::Forever)?)
            }
            "unadvisory" => answer(transactions.unlock(LockKey::advisory(0, number(1)? as u64), LockMode::Exclusive)),
            "hold" => {
                let snapshot = transactions.snapshot();
                state(session)?.snapshot = Some(snapshot);
                "ok".to_string()
            }
            "see" => {
                let snapshot = state(session)?.snapshot.ok_or_else(|| bad(line))?;
                let value = rows::get(storage, rel()?, key(2)?, &snapshot)?;
                value.map_or("none".to_string(), |value| format!("value {value}"))
            }
            "release" => {
                if let Some(snapshot) = state(session)?.snapshot.take() {
                    transactions.release(snapshot);
                }
                "ok".to_string()
            }
            "new" => {
                let rel = storage.create_relation()?;
                storage.commit(Durability::Waited, &[])?;
                format!("ok {rel}")
            }
            "drop" => {
                transactions.xid()?;
                storage.commit(Durability::Waited, &[rel()?])?;
                "ok".to_string()
            }
            "pages" => format!("pages {}", storage.pool.files().blocks(rel()?)?),
            "next" => format!("oid {}", storage.counters.new_oid()?),
            "checkpoint" => {
                storage.checkpoint()?;
                "ok".to_string()
            }
            "compress" => format!("segments {}", transactions.truncate_map()?),
            "stat" => self.stat(),
            "pid" => format!("pid {}", std::process::id()),
            "scan" => {
                let rel = rel()?;
                let mut ring = ScanRing::new();
                for block in 0..storage.pool.files().blocks(rel)? {
                    storage.pool.pin_scan(base::PageId { rel, block }, &mut ring)?.read();
                }
                "ok".to_string()
            }
            "prefetch" => {
                let rel = rel()?;
                let pages: Vec<_> =
                    (0..storage.pool.files().blocks(rel)?).map(|block| base::PageId { rel, block }).collect();
                storage.pool.prefetch(&pages);
                "ok".to_string()
            }
            "bench" => format!("ns {}", self.bench(rel()?, key(2)?, number(3)? as u64)?),
            "xids" => {
                for _ in 0..number(1)? {
                    transactions.xid()?;
                    if number(2)? == 0 {
                        storage.commit(Durability::Asynchronous, &[])?;
                    } else {
                        storage.abort(&[])
                    }
                }
                "ok".to_string()
            }
            "quit" => format!("ok {}", session::current_id()),
            _ => return Err(bad(line)),
        })
    }

    /// Nanoseconds of CPU for a pin, a shared latch, and their release.
    fn bench(&self, rel: RelId, pages: u32, count: u64) -> Result<u64> {
        let begin = clock::thread_cpu_ns();
        let mut total = 0u64;
        for at in 0..count {
            let pinned = self.storage.pool.pin(base::PageId { rel, block: at as u32 % pages })?;
            total += pinned.read()[100] as u64;
        }
        let span = clock::thread_cpu_ns() - begin;
        Ok(span / count.max(1) + (total == u64::MAX) as u64)
    }

    fn stat(&self) -> String {
        let mut text = String::from("stat");
        let pool = self.storage.pool.usage();
        let wal = self.storage.wal.usage();
        let transactions = self.storage.transactions.usage();
        let locks = self.storage.transactions.locks().usage(self.storage.transactions);
        let checkpoints = self.storage.checkpoint_usage();
        let numbers = [
            ("used", pool.used),
            ("dirty", pool.dirty),
            ("hits", pool.hits),
            ("reads", pool.reads),
            ("failures", pool.read_failures),
            ("evictions", pool.evictions),
            ("written", pool.written),
            ("starved", pool.starved),
            ("backed", pool.backed_bytes),
            ("flushes", wal.flushes),
            ("followed", wal.followed),
            ("segments", wal.segments),
            ("recycled", wal.recycled),
            ("commits", transactions.commits),
            ("aborts", transactions.aborts),
            ("deadlocks", transactions.deadlocks),
            ("map_full", transactions.map.full as u64),
            ("map_bits", transactions.map.bits as u64),
            ("locks", locks.0),
            ("holdings", locks.1),
            ("checkpoints", checkpoints.done),
            ("running", self.storage.transactions.running().count() as u64),
            ("pins", self.storage.pool.pins_held() as u64),
            ("next_xid", transactions.next_xid.0),
            ("horizon_xid", transactions.horizon.xid.0),
        ];
        for (name, value) in numbers {
            let _ = write!(text, " {name}={value}");
        }
        text
    }
}

fn answer(done: bool) -> String {
    if done { "ok" } else { "no" }.to_string()
}

fn state(session: &mut Session) -> Result<&mut State> {
    if session.state::<State>().is_none() {
        session.set_state(State::default())?;
    }
    Ok(session.state::<State>().expect("just stored"))
}
