//! A service over tables: a line in, a line out.
//!
//! | command | does | answers |
//! |---|---|---|
//! | `table PADDING` | a table | `ok HEAP INDEX INDEX` |
//! | `own HEAP PADDING` | a table with a heap of that number, as the catalog has them | `ok` |
//! | `use HEAP INDEX INDEX PADDING` | which table this session's commands are for | `ok` |
//! | `begin rc|rr`, `commit`, `abort` | a transaction; without one each command is its own | `ok` |
//! | `insert KEY VALUE` | | `ok` |
//! | `load FROM TO VALUE` | rows in bulk | `ok` |
//! | `get KEY` | by the unique index | `row VALUE COUNT`, `none` |
//! | `set KEY VALUE`, `bump KEY`, `move KEY TO` | changes the indexed value; the count; the key | `ok`, `none` |
//! | `bumps FROM TO`, `deletes FROM TO` | each key of a range | `ok` |
//! | `add KEY AMOUNT`, `addv KEY AMOUNT` | adds to the count; to the indexed value | `ok`, `none` |
//! | `sum FROM TO` | counts and values of the keys of a range, and how many there are | `sum COUNT VALUE ROWS` |
//! | `trace` | from now on answers end with ` @` and the snapshot of the statement, or the position of the commit | `ok` |
//! | `delete KEY` | | `ok`, `none` |
//! | `lock KEY STRENGTH [nowait]` | one to four | `row VALUE COUNT`, `none` |
//! | `guard OID MODE [OID MODE]` | locks these in a transaction of its own, and looks meanwhile who else has them | `ok`, an error `XX000` if somebody who should not |
//! | `all`, `range FROM TO fwd|bwd`, `values FROM TO` | | `rows KEY:VALUE:COUNT ...` |
//! | `count` | visible rows | `count N` |
//! | `check` | scan and indexes agree; the trees are whole | `checked N` |
//! | `vacuum` | | `vacuumed REMOVED RECLAIMED ENTRIES LIVE PAGES CUT` |
//! | `pages` | | `pages HEAP INDEX INDEX` |
//! | `read BLOCK [BLOCK]` | reads pages of the heap without pins, slowly | `ok`, an error `XX000` if one was not the page |
//! | `build` | makes both indexes anew | `built ENTRIES LEVELS` |
//! | `tpcb COUNT SEED KEYS FIRST KEEP` | transactions FIRST to FIRST + COUNT, each of three updates and an insert; of the rows inserted so many are kept | `done N` |
//! | `xids COUNT ABORTED` | so many transactions that do nothing, every ABORTEDth of them aborted | `ok` |
//! | `round` | a round of the launcher over this one table | `round N` |
//! | `locktime MS`, `watch` | how long to wait for locks; the background vacuum knows the table | `ok` |
//! | `me`, `cancel SESSION`, `pid` | | `session N`, `ok`, `pid N` |
//! | `drop`, `checkpoint`, `usage`, `horizon`, `stat` | | |
//!
//! An error is answered by `error SQLSTATE message`, and aborts the open transaction.

use super::table::{Row, Statement, Table, key_of};
use base::{Error, PageId, RelId, Result, sqlstate};
use kernel::region::arena::ArenaVec;
use kernel::session::{End, Next, Service, Session, interrupt_error};
use kernel::{clock, session};
use std::fmt::Write as _;
use std::ops::{Bound, Range};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst};
use storage::btree::{Direction, Sorter};
use storage::heap::{Isolation, RowWait};
use storage::page::header;
use storage::relation::Relations;
use storage::txn::lock::{LockScope, LockWait};
use storage::txn::{LockKey, LockMode, Snapshot, Strength};
use storage::vacuum::{Catalog, Options, Report, Settings};
use storage::{Config, Durability, Storage};

/// How long a command waits for a lock.
const PATIENCE_NS: u64 = 20_000_000_000;

/// Objects that `guard` knows.
const GUARDED: usize = 8;

/// The service under test.
pub struct AccessService {
    storage: &'static Storage,
    relations: &'static Relations,
    /// The storages of the table that the background vacuum knows.
    watched: &'static [AtomicU32],
    /// What each session has by `guard`.
    guarded: &'static [AtomicU32],
    say: bool,
}

/// What a session keeps between requests.
struct State {
    rels: [RelId; 3],
    padding: usize,
    open: Option<Isolation>,
    /// A `REPEATABLE READ` transaction's own.
    snapshot: Option<Snapshot>,
    command: u32,
    pairs: ArenaVec<(u32, u32)>,
    /// How long commands wait for locks.
    patience_ns: u64,
    /// Answers end with a position: of the last statement's snapshot, or of the commit.
    trace: bool,
    position: u64,
}

/// What the launcher is told: the table that a session has named by `watch`, if one has.
struct Watched(&'static [AtomicU32]);

impl Catalog for Watched {
    fn tables(&self) -> Result<Vec<storage::vacuum::Table>> {
        let rels: Vec<RelId> = self.0.iter().map(|word| RelId(word.load(Relaxed))).collect();
        let known = rels.iter().all(|rel| rel.0 != 0);
        Ok(if known { vec![one_table(&rels)] } else { Vec::new() })
    }

    fn is_current(&self, _table: &storage::vacuum::Table) -> Result<bool> {
        Ok(true)
    }
}

/// A catalog of one table.
struct OneTable(storage::vacuum::Table);

impl Catalog for OneTable {
    fn tables(&self) -> Result<Vec<storage::vacuum::Table>> {
        Ok(vec![self.0.clone()])
    }

    fn is_current(&self, _table: &storage::vacuum::Table) -> Result<bool> {
        Ok(true)
    }
}

fn one_table(rels: &[RelId]) -> storage::vacuum::Table {
    let (indexes, own) = (rels[1..].to_vec(), storage::vacuum::Own::default());
    storage::vacuum::Table { oid: rels[0].0, heap: rels[0], indexes, pieces: None, rows: None, own }
}

impl AccessService {
    /// Makes storage's tables.
    pub fn make(config: &Config, say: bool) -> Result<AccessService> {
        let storage = Storage::create_tables(config)?;
        let watched = kernel::region::table("watched table", 3);
        let guarded = kernel::region::table("guarded objects", GUARDED * session::slots().len());
        Ok(AccessService { storage, relations: Relations::make(storage), watched, guarded, say })
    }
}

impl Service for AccessService {
    fn serve(&self, session: &mut Session) -> Next {
        let slot = session.shared();
        if let Some(interrupt) = slot.interrupt() {
            slot.clear_interrupt(interrupt);
            if interrupt_error(interrupt).kind() == base::Kind::Session {
                return Next::Close;
            }
        }
        if session.state::<State>().is_none() {
            let pairs = ArenaVec::new_in(session.arena());
            let state = State {
                rels: [RelId(0); 3],
                padding: 0,
                open: None,
                snapshot: None,
                command: 1,
                pairs,
                patience_ns: PATIENCE_NS,
                trace: false,
                position: 0,
            };
            if session.set_state(state).is_err() {
                return Next::Close;
            }
        }
        while let Some(at) = session.input().iter().position(|&byte| byte == b'\n') {
            let line = String::from_utf8_lossy(&session.input()[..at]).into_owned();
            session.consume(at + 1);
            let state = session.state::<State>().expect("it was set");
            let mut answer = match self.run(state, &line) {
                Ok(answer) if state.trace => format!("{answer} @{}", state.position),
                Ok(answer) => answer,
                Err(error) => {
                    self.end(state);
                    self.relations.abort();
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
            slot.set_in_transaction(session.state::<State>().is_some_and(|state| state.open.is_some()), true);
            answer.push('\n');
            session.output().extend_from_slice(answer.as_bytes());
        }
        Next::Park
    }

    fn close(&self, session: &mut Session, _end: End) {
        self.relations.end_session(session.shared().id());
    }

    fn release_dead(&self, session: base::SessionId) {
        self.unguard(session);
        self.relations.storage().release_dead(session);
    }

    fn background(&self) -> &'static [&'static str] {
        storage::TASKS
    }

    fn run_background(&self, task: usize) {
        let settings = || Settings { nap_ns: 100_000_000, rest_ns: 0, ..Settings::default() };
        self.relations.run_task(task, &Watched(self.watched), settings);
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

fn found(row: Option<Row>) -> String {
    row.map_or("none".to_string(), |row| format!("row {} {}", row.value, row.count))
}

fn done(done: bool) -> String {
    if done { "ok" } else { "none" }.to_string()
}

fn listed(rows: impl IntoIterator<Item = Row>) -> String {
    let mut text = "rows".to_string();
    for row in rows {
        let _ = write!(text, " {}:{}:{}", row.key, row.value, row.count);
    }
    text
}

impl AccessService {
    /// Forgets a session's transaction, which has ended or is about to.
    fn end(&self, state: &mut State) {
        state.open = None;
        state.command = 1;
        state.pairs.clear();
        // Its place in the registry goes with the transaction.
        state.snapshot = None;
    }

    /// Runs `work` as a statement of the session's transaction, or as one of its own.
    fn statement<R>(&self, state: &mut State, work: impl FnOnce(&Table, &mut Statement<'_>) -> Result<R>) -> Result<R> {
        let table = Table::new(self.relations, state.rels, state.padding);
        let transactions = self.storage.transactions;
        let isolation = state.open.unwrap_or(Isolation::ReadCommitted);
        let own = transactions.current_xid().unwrap_or(base::Xid(0));
        let base = match (isolation, state.snapshot) {
            (Isolation::RepeatableRead, Some(snapshot)) => snapshot,
            _ => transactions.snapshot(),
        };
        if isolation == Isolation::RepeatableRead {
            state.snapshot = Some(base);
        }
        state.position = base.lsn.0;
        state.command += 1;
        let snapshot = base.at_command(own, state.command);
        let deadline = Some(clock::now() + state.patience_ns);
        if state.rels[0].0 != 0 {
            // What the layer above owes (see the head of storage): nobody cuts or drops what is in use.
            let key = LockKey::relation(state.rels[0].0);
            transactions.lock(key, LockMode::RowExclusive, LockScope::Transaction, LockWait::Forever)?;
        }
        let mut statement = Statement { snapshot, isolation, pairs: &mut state.pairs, deadline };
        let result = work(&table, &mut statement)?;
        if isolation == Isolation::ReadCommitted {
            transactions.release(base);
        }
        if state.open.is_none() {
            self.end(state);
            self.relations.commit(Durability::Waited)?;
        }
        Ok(result)
    }

    /// Looks at a page as long as others may do something about it.
    fn read_slowly(&self, id: PageId) -> Result<()> {
        const LOOKS: u32 = 8;
        let page = self.storage.pool.read(id)?;
        for _ in 0..LOOKS {
            kernel::fault::point("test.read");
            let found = header::page_id(&page);
            // A session that died has left pages that nobody has written.
            if found != id && !header::is_new(&page) {
                let error = format!("page {found} where {id} was read");
                return Err(Error::statement(sqlstate::INTERNAL_ERROR, error));
            }
        }
        Ok(())
    }

    fn run(&self, state: &mut State, line: &str) -> Result<String> {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<i64>().ok()).ok_or_else(|| bad(line));
        Ok(match words[0] {
            "table" => {
                let padding = number(1)? as usize;
                let rels = self.statement(state, |_, _| Ok(Table::create(self.relations, padding)?.rels()))?;
                (state.rels, state.padding) = (rels, padding);
                format!("ok {} {} {}", rels[0], rels[1], rels[2])
            }
            "own" => {
                let (rel, padding) = (RelId(number(1)? as u32), number(2)? as usize);
                self.storage.create_relation_as(rel)?;
                let rels = self.statement(state, |_, _| {
                    let table =
                        Table::new(self.relations, [rel, self.relations.create()?, self.relations.create()?], padding);
                    table.by_key.create()?;
                    table.by_value.create()?;
                    Ok(table.rels())
                })?;
                (state.rels, state.padding) = (rels, padding);
                "ok".to_string()
            }
            "use" => {
                state.rels = [RelId(number(1)? as u32), RelId(number(2)? as u32), RelId(number(3)? as u32)];
                state.padding = number(4)? as usize;
                "ok".to_string()
            }
            "begin" => {
                let repeatable = words.get(1) == Some(&"rr");
                state.open = Some(if repeatable { Isolation::RepeatableRead } else { Isolation::ReadCommitted });
                "ok".to_string()
            }
            "commit" => {
                self.end(state);
                state.position = self.relations.commit(Durability::Waited)?.map_or(0, |position| position.0);
                "ok".to_string()
            }
            "trace" => {
                state.trace = true;
                "ok".to_string()
            }
            "locktime" => {
                state.patience_ns = number(1)? as u64 * 1_000_000;
                "ok".to_string()
            }
            "watch" => {
                self.watched.iter().zip(state.rels).for_each(|(word, rel)| word.store(rel.0, Relaxed));
                "ok".to_string()
            }
            "abort" => {
                self.end(state);
                self.relations.abort();
                "ok".to_string()
            }
            "insert" => {
                let row = Row { key: number(1)?, value: number(2)?, count: 0 };
                self.statement(state, |table, statement| table.insert(statement, &row))?;
                "ok".to_string()
            }
            "load" => {
                let value = number(3)?;
                let rows: Vec<Row> = (number(1)?..number(2)?).map(|key| Row { key, value, count: 0 }).collect();
                self.statement(state, |table, statement| table.load(statement.snapshot.command, &rows))?;
                "ok".to_string()
            }
            "get" => {
                let key = number(1)?;
                found(self.statement(state, |table, statement| table.find(statement, key))?.map(|found| found.1))
            }
            "set" => {
                let (key, value) = (number(1)?, number(2)?);
                done(
                    self.statement(state, |table, statement| {
                        table.update(statement, key, |row| Row { value, ..*row })
                    })?,
                )
            }
            "bump" => {
                let key = number(1)?;
                done(self.statement(state, |table, statement| {
                    table.update(statement, key, |row| Row { count: row.count + 1, ..*row })
                })?)
            }
            "add" => {
                let (key, amount) = (number(1)?, number(2)?);
                done(self.statement(state, |table, statement| {
                    table.update(statement, key, |row| Row { count: row.count + amount, ..*row })
                })?)
            }
            "addv" => {
                let (key, amount) = (number(1)?, number(2)?);
                done(self.statement(state, |table, statement| {
                    table.update(statement, key, |row| Row { value: row.value + amount, ..*row })
                })?)
            }
            "move" => {
                let (key, to) = (number(1)?, number(2)?);
                done(
                    self.statement(state, |table, statement| {
                        table.update(statement, key, |row| Row { key: to, ..*row })
                    })?,
                )
            }
            "delete" => {
                let key = number(1)?;
                done(self.statement(state, |table, statement| table.delete(statement, key))?)
            }
            "lock" => {
                let key = number(1)?;
                let strength = Strength::ALL[(number(2)? as usize - 1) % 4];
                let wait = if words.get(3) == Some(&"nowait") { RowWait::Never } else { RowWait::Wait };
                found(self.statement(state, |table, statement| table.lock(statement, key, strength, wait))?)
            }
            "guard" => {
                let pairs = (1..words.len()).step_by(2).map(|at| Ok((number(at)? as u32, number(at + 1)? as u32)));
                self.guard(&pairs.collect::<Result<Vec<_>>>()?)?
            }
            "all" => listed(self.statement(state, |table, statement| table.scan(statement))?),
            "sum" => {
                let (from, to) = (number(1)?, number(2)?);
                let rows = self.statement(state, |table, statement| table.scan(statement))?;
                let sum = rows
                    .iter()
                    .filter(|row| (from..to).contains(&row.key))
                    .fold((0, 0, 0), |sum, row| (sum.0 + row.count, sum.1 + row.value, sum.2 + 1));
                format!("sum {} {} {}", sum.0, sum.1, sum.2)
            }
            "count" => {
                format!("count {}", self.statement(state, |table, statement| table.scan(statement))?.len())
            }
            "range" | "values" => {
                let (from, to) = (key_of(number(1)?), key_of(number(2)?));
                let direction = if words.get(3) == Some(&"bwd") { Direction::Backward } else { Direction::Forward };
                let by_key = words[0] == "range";
                let rows = self.statement(state, |table, statement| {
                    let index = if by_key { table.by_key } else { table.by_value };
                    let range = (Bound::Included(&from[..]), Bound::Excluded(&to[..]));
                    table.collect(&index, statement, range, direction)
                })?;
                listed(rows.into_iter().map(|found| found.1))
            }
            "check" => {
                let rows = self.statement(state, |table, statement| table.check(statement))?;
                if words.get(1) != Some(&"rows") {
                    let table = Table::new(self.relations, state.rels, state.padding);
                    table.by_key.verify(|_, _| ())?;
                    table.by_value.verify(|_, _| ())?;
                    table.heap.verify()?;
                }
                format!("checked {rows}")
            }
            "vacuum" => {
                let cut = Some(LockKey::relation(state.rels[0].0));
                let memory = if words.get(1) == Some(&"small") { 64 } else { 1 << 20 };
                let options = Options { memory, cut, ..Options::default() };
                let known = self.storage.transactions.renew_horizon().xid;
                let key = LockKey::relation(state.rels[0].0);
                let mode = LockMode::ShareUpdateExclusive;
                self.storage.transactions.lock(key, mode, LockScope::Session, LockWait::Forever)?;
                let report = self.relations.vacuum(state.rels[0], &state.rels[1..], options);
                self.storage.transactions.unlock(key, mode);
                let report = report?;
                self.relations.purge_aborted(&state.rels[..1], known)?;
                let Report { removed, reclaimed, entries, live, pages, cut, .. } = report;
                format!("vacuumed {removed} {reclaimed} {entries} {live} {pages} {cut}")
            }
            "round" => {
                let catalog = OneTable(one_table(&state.rels));
                format!("round {}", self.relations.vacuum_round(&catalog, &Settings::default())?)
            }
            "read" => {
                for at in 1..words.len() {
                    self.read_slowly(PageId { rel: state.rels[0], block: number(at)? as u32 })?;
                }
                "ok".to_string()
            }
            "pages" => {
                let [heap, key, value] = state.rels.map(|rel| self.relations.blocks(rel));
                format!("pages {} {} {}", heap?, key?, value?)
            }
            "build" => self.build(state)?,
            "tpcb" => {
                let (count, seed, keys) = (number(1)?, number(2)?, number(3)?);
                self.tpcb(state, number(4)?..number(4)? + count, seed as u64, keys, number(5)?)?
            }
            "rels" => format!("ok {} {} {}", state.rels[0], state.rels[1], state.rels[2]),
            "bumps" => {
                for key in number(1)?..number(2)? {
                    let bump = |row: &Row| Row { count: row.count + 1, ..*row };
                    self.statement(state, |table, statement| table.update(statement, key, bump))?;
                }
                "ok".to_string()
            }
            "deletes" => {
                for key in number(1)?..number(2)? {
                    self.statement(state, |table, statement| table.delete(statement, key))?;
                }
                "ok".to_string()
            }
            "xids" => {
                let transactions = self.storage.transactions;
                for nth in 1..=number(1)? {
                    transactions.xid()?;
                    if nth % number(2)?.max(1) == 0 {
                        self.relations.abort();
                    } else {
                        self.relations.commit(Durability::Asynchronous)?;
                    }
                }
                "ok".to_string()
            }
            "lookups" => self.lookups(state, number(1)?, number(2)?)?,
            "drop" => {
                self.statement(state, |table, _| {
                    table.rels().into_iter().try_for_each(|rel| self.relations.drop_at_commit(rel))
                })?;
                "ok".to_string()
            }
            "checkpoint" => {
                self.storage.checkpoint()?;
                "ok".to_string()
            }
            "horizon" => {
                self.storage.transactions.renew_horizon();
                "ok".to_string()
            }
            "stat" => self.stat(),
            "me" => format!("session {}", session::current_id().0),
            "pid" => format!("pid {}", std::process::id()),
            "cancel" => {
                let slot = &session::slots()[number(1)? as usize];
                slot.send_interrupt(slot.generation(), session::Interrupt::Cancel);
                "ok".to_string()
            }
            "usage" => {
                let usage = self.relations.usage_of(state.rels[0]).unwrap_or_default();
                format!(
                    "usage inserted={} updated={} hot={} deleted={} dead={} pruned={}",
                    usage.inserted, usage.updated, usage.hot_updated, usage.deleted, usage.dead, usage.pruned
                )
            }
            _ => return Err(bad(line)),
        })
    }

    /// Takes locks, one after the other; after each looks a few times whether others have what they must not have beside it.
    fn guard(&self, wanted: &[(u32, u32)]) -> Result<String> {
        let outcome = wanted.iter().try_for_each(|&(oid, number)| {
            let mode = LockMode::from_number(number).ok_or_else(|| bad("a mode"))?;
            let patience = LockWait::Until(clock::now() + PATIENCE_NS);
            self.storage.transactions.lock(LockKey::relation(oid), mode, LockScope::Transaction, patience)?;
            self.guarded_by(session::current_id())[oid as usize % GUARDED].fetch_or(1 << number, SeqCst);
            (0..4).try_for_each(|_| {
                kernel::fault::point("guarded");
                self.look(oid, mode)
            })
        });
        self.unguard(session::current_id());
        outcome?;
        self.relations.commit(Durability::Asynchronous)?;
        Ok("ok".to_string())
    }

    /// The modes, as bits, in which a session has objects by `guard`.
    fn guarded_by(&self, session: base::SessionId) -> &[AtomicU32] {
        &self.guarded[session.0 as usize * GUARDED..][..GUARDED]
    }

    /// Before the session's locks are given up.
    fn unguard(&self, session: base::SessionId) {
        self.guarded_by(session).iter().for_each(|modes| modes.store(0, SeqCst));
    }

    fn look(&self, oid: u32, mode: LockMode) -> Result<()> {
        let me = session::current_id();
        for other in (0..session::slots().len() as u32).map(base::SessionId).filter(|other| *other != me) {
            let theirs = self.guarded_by(other)[oid as usize % GUARDED].load(SeqCst);
            let held = |other: &&LockMode| theirs & 1 << **other as u32 != 0 && other.conflicts_with(mode);
            if let Some(held) = LockMode::ALL.iter().find(held) {
                let text = format!("object {oid} is held as {} beside {}", held.as_str(), mode.as_str());
                return Err(Error::statement(sqlstate::INTERNAL_ERROR, text));
            }
        }
        Ok(())
    }

    fn stat(&self) -> String {
        let mut text = String::from("stat");
        let (pool, wal) = (self.storage.pool.usage(), self.storage.wal.usage());
        let (transactions, locks) =
            (self.storage.transactions.usage(), self.storage.transactions.locks().usage(self.storage.transactions));
        let relations = self.relations.usage();
        let numbers = [
            ("running", self.storage.transactions.running().count() as u64),
            ("pins", self.storage.pool.pins_held() as u64),
            ("locks", locks.1),
            ("row_locks", self.storage.transactions.row_locks().usage().0),
            ("deadlocks", transactions.deadlocks),
            ("waiting", self.storage.transactions.waiting().len() as u64),
            ("map_full", transactions.map.full as u64),
            ("map_bits", transactions.map.bits as u64),
            ("map_bytes", transactions.map.bytes),
            ("next_xid", transactions.next_xid.0),
            ("horizon_xid", transactions.horizon.xid.0),
            ("segments", wal.segments),
            ("recycled", wal.recycled),
            ("checkpoints", self.storage.checkpoint_usage().done),
            ("written", pool.written),
            ("evictions", pool.evictions),
            ("relations", relations.relations as u64),
            ("space_chunks", relations.space_chunks),
            ("relation_bytes", relations.bytes),
            ("pending_files", relations.pending_files as u64),
            ("left_behind", relations.left_behind),
            ("heap_bytes", kernel::region::heap::extent_bytes().0),
        ];
        for (name, value) in numbers {
            let _ = write!(text, " {name}={value}");
        }
        text
    }

    /// Makes both indexes anew from the rows that are there, with so little memory that the sort spills.
    fn build(&self, state: &mut State) -> Result<String> {
        let relations = self.relations;
        let old = state.rels;
        let (rels, entries, levels) = self.statement(state, |table, _| {
            let mut sorters = [Sorter::new(relations, 0, None), Sorter::new(relations, 0, None)];
            let mut scan = table.heap.scan()?;
            let mut rows = Vec::new();
            while table.heap.visit_live(&mut scan, |root, row| rows.push((root, row.to_vec())))? {
                for (root, bytes) in rows.drain(..) {
                    let row = Row::decode(&bytes)?;
                    sorters[0].push(&key_of(row.key), root)?;
                    sorters[1].push(&key_of(row.value), root)?;
                }
            }
            let mut rels = old;
            let (mut entries, mut levels) = (0, 0);
            for (at, sorter) in sorters.into_iter().enumerate() {
                rels[at + 1] = relations.create()?;
                let mut builder = relations.btree(rels[at + 1]).build(at == 0)?;
                sorter.finish(|key, tid| match builder.push(key, tid)? {
                    true => Ok(()),
                    false => Err(Error::statement(sqlstate::UNIQUE_VIOLATION, "a key is there twice")),
                })?;
                let built = builder.finish()?;
                (entries, levels) = (built.entries, built.levels);
                relations.drop_at_commit(old[at + 1])?;
            }
            Ok((rels, entries, levels))
        })?;
        state.rels = rels;
        Ok(format!("built {entries} {levels} {} {} {}", rels[0], rels[1], rels[2]))
    }

    /// Transactions like TPC-B's over one table: three rows are changed, of which the third is one of a few, one is added, and the one
    /// that was added `keep` transactions before goes.
    fn tpcb(&self, state: &mut State, range: Range<i64>, seed: u64, keys: i64, keep: i64) -> Result<String> {
        let count = range.end - range.start;
        let mut random = (seed + range.start as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = move |limit: i64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % limit as u64) as i64
        };
        let mut retried = 0;
        let start = clock::now();
        for nth in range {
            // Always in the same order of groups, as in TPC-B: no deadlocks.
            let (account, teller, branch) = (20 + next(keys - 20), 10 + next(10), next(10));
            state.open = Some(Isolation::ReadCommitted);
            let work = (|| {
                for key in [account, teller, branch] {
                    // Now and then a column with an index changes.
                    let moved = ((nth + key) % 8 == 0) as i64;
                    let there = self.statement(state, |table, statement| {
                        let change = |row: &Row| Row { count: row.count + 1, value: row.value + moved, ..*row };
                        table.update(statement, key, change)
                    })?;
                    assert!(there, "row {key} is missing");
                }
                let key = 1_000_000 + (seed as i64) * 100_000_000 + nth;
                self.statement(state, |table, statement| table.delete(statement, key - keep))?;
                self.statement(state, |table, statement| {
                    table.insert(statement, &Row { key, value: account, count: 0 })
                })
            })();
            self.end(state);
            match work {
                Ok(()) => drop(self.relations.commit(Durability::Waited)?),
                Err(error) if error.kind() == base::Kind::Retry => {
                    retried += 1;
                    eprintln!("note: a transfer is tried again: {error}: {}", error.detail_text().unwrap_or_default());
                    self.relations.abort();
                }
                Err(error) => return Err(error),
            }
        }
        let ns = clock::now() - start;
        Ok(format!("done {} {retried} {}", count - retried, ns / count.max(1) as u64))
    }

    /// Looks keys up, and answers how many nanoseconds one takes.
    fn lookups(&self, state: &mut State, count: i64, keys: i64) -> Result<String> {
        self.statement(state, |table, _| {
            let mut random = 88172645463325252u64;
            let start = clock::now();
            for _ in 0..count {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let key = (random % keys as u64) as i64;
                let found = table.by_key.lookup(&key_of(key))?;
                assert!(!found.tids().is_empty(), "key {key} is missing");
            }
            Ok(format!("ns {}", (clock::now() - start) / count as u64))
        })
    }
}
