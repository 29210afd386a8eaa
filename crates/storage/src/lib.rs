//! Storage: what the server keeps, and how it stays kept.
//!
//! Rows lie as versions on heap [`page`]s, keys on B-tree pages, and every change of a page is a record of the log
//! ([`wal`]) before it is in a file. The formats are written down in `docs/format.md`.
//!
//! Rules
//! 1. Storage knows no SQL and no socket. A row is bytes with a history, a key is bytes with an order.
//! 2. Write ahead: no page is written before the log is durable up to the page's LSN.
//! 3. Do is redo: what changes a page is the `apply` of its log record, at run time and in recovery.
//! 4. Redo only: a version of an aborted transaction is never visible, so nothing is ever undone.
//! 5. Bytes from a file are checked before they are used, and an error names page and LSN.
//! 6. Time, files, waiting and memory that sessions share come from `kernel`; the page and record formats need none of it.
//!
//! One change: find the page, reserve log space, latch it, apply the record to it, append the record, set the page LSN,
//! release the latch. One read: pin the page, latch it shared, look through a view, release.
//!
//! | module | what it is |
//! |---|---|
//! | [`page`] | what a page's bytes mean, and the operations that change one |
//! | [`buffer`] | pages in memory: pins, latches, logged changes, which frame is used again |
//! | [`wal`] | the log: its records, its end in memory, its files |
//! | [`file`](mod@file) | relations' files |
//! | [`double_write`], [`checkpoint`], [`recovery`], [`control`] | how pages get to their files, and how a start finds them |
//! | [`txn`] | transactions, snapshots, locks |
//! | [`counter`] | numbers that are given out once |
//!
//! | [`heap`], [`btree`](mod@btree), [`relation`] | tables, indexes, and what is shared of both |
//! | [`vacuum`](mod@vacuum) | what nobody sees any more is taken out |
//!
//! # The life of a storage in a server
//!
//! Two values of references into the region, the same in every process: [`Storage`] and, on top of it,
//! [`Relations`](relation::Relations), which is what tables and indexes are reached through.
//!
//! | when | what the server calls | from |
//! |---|---|---|
//! | before [`kernel::supervisor::run`]'s first fork, in `make` | [`kernel::io::on_completion`] with a function that calls [`Storage::complete`]; then [`Storage::create_tables`]; then [`Relations::make`](relation::Relations::make) | the supervisor |
//! | `Service::start`, before anybody is let in | [`Storage::start`]: a new database is made, or the last one recovered. If [`Recovered::new`], the catalog is written now: [`Storage::create_relation_as`] with numbers below [`counter::FIRST_REL`], rows, [`Relations::commit`](relation::Relations::commit) | the background host |
//! | `Service::background` | [`TASKS`] | |
//! | `Service::run_background(n)` | [`Relations::run_task`](relation::Relations::run_task) with `n`, a [`vacuum::Catalog`] and the vacuum's settings; it returns when the server stops | a session of the background host each |
//! | a statement | [`Transactions::snapshot`], [`Relations::heap`](relation::Relations::heap), [`Relations::btree`](relation::Relations::btree) …, [`Transactions::release`] | the session |
//! | the end of a transaction | [`Relations::commit`](relation::Relations::commit), or [`Relations::abort`](relation::Relations::abort); never those of [`Storage`], which know nothing of files that were noted | the session |
//! | `Service::close`, however the session ended | [`Relations::end_session`](relation::Relations::end_session); twice does no harm | whoever closes it, as that session |
//! | `Service::stop`, after the last session | [`Storage::stop`]: the last checkpoint. An error is to be reported; the next start recovers | the background host |
//! | a setting changes | [`Storage::set_limits`] | anybody |
//!
//! What the layer above owes: whoever reads or changes a table, or one of its indexes, holds a lock of it
//! ([`txn::LockKey::relation`], at least *access share*), because its end may be cut off and its storage dropped under *access
//! exclusive*; a snapshot is held as long as places that it found are used; a new version that is not hot is entered into every index.
//!
//! What this does not do: parse, plan, encode values, speak to clients.
#![forbid(unsafe_code)]

pub mod btree;
pub mod buffer;
pub mod checkpoint;
pub mod control;
pub mod counter;
pub mod double_write;
pub mod file;
pub mod heap;
pub mod page;
pub mod recovery;
pub mod relation;
pub mod txn;
pub mod vacuum;
pub mod wal;

pub use buffer::{PageMut, PageRef, Pinned, Pool, ScanRing};
pub use recovery::{Recovered, Took};
pub use txn::finish::Durability;
pub use txn::{Savepoint, Snapshot, Transactions};
pub use wal::{Room, Wal};

use base::{Lsn, RelId, Result, SessionId, Xid};
use checkpoint::{CheckpointShared, Pace};
use counter::Counters;
use file::Files;
use kernel::wait::{self, Event};
use kernel::{clock, region, session};
use relation::pending::Pending;
use wal::record::{FileCreate, FileDrop, FileTruncate};
use wal::space::record_bytes;

/// What storage is told at its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Bytes of pages in memory (`shared_buffers`).
    pub shared_buffers: u64,
    /// Bytes of the log's end in memory (`wal_buffers`).
    pub wal_buffers: u64,
    /// The longest time between two checkpoints, in milliseconds (`checkpoint_timeout`).
    pub checkpoint_timeout_ms: u64,
    /// As much log as this is kept to be used again (`min_wal_size`), in bytes.
    pub min_wal_size: u64,
    /// A checkpoint begins when half of this has been logged (`max_wal_size`), in bytes.
    pub max_wal_size: u64,
    /// How long a session waits for a lock before it looks for a deadlock (`deadlock_timeout`), in milliseconds.
    pub deadlock_timeout_ms: u64,
    /// Memory for what recovery puts off (`maintenance_work_mem`), in bytes.
    pub maintenance_work_mem: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            shared_buffers: 128 << 20,
            wal_buffers: 4 << 20,
            checkpoint_timeout_ms: 300_000,
            min_wal_size: 80 << 20,
            max_wal_size: 1 << 30,
            deadlock_timeout_ms: 50,
            maintenance_work_mem: 64 << 20,
        }
    }
}

/// The background tasks, in the order of the numbers that [`relation::Relations::run_task`] takes.
pub const TASKS: &[&str] = &["page cleaner", "checkpointer", "log writer", "vacuum"];
/// The last of them, which needs to know the tables.
const TASK_VACUUM: usize = 3;

/// How long the log writer sleeps when there is nothing to flush.
const LOG_WRITER_PAUSE_NS: u64 = 200_000_000;
/// How soon an asynchronous commit is on disk.
const LOG_WRITER_DELAY_NS: u64 = 10_000_000;

/// All of storage; a value of references into the region, the same in every process.
pub struct Storage {
    /// The log.
    pub wal: Wal,
    /// Pages in memory.
    pub pool: &'static Pool,
    /// Transactions, snapshots, locks.
    pub transactions: &'static Transactions,
    /// Numbers that are given out once.
    pub counters: Counters,
    checkpoints: &'static CheckpointShared,
    pending: Pending,
    maintenance_work_mem: u64,
}

impl Storage {
    /// Takes everything in the region that storage needs. Before the first engine: while the service is made.
    ///
    /// Errors: `53200`.
    pub fn create_tables(config: &Config) -> Result<&'static Storage> {
        let wal = Wal::make(config.wal_buffers)?;
        let storage: &'static Storage = Box::leak(Box::new(Storage {
            wal,
            pool: Pool::make(config.shared_buffers, wal, Files::make())?,
            transactions: Transactions::make(wal),
            counters: Counters::make(wal),
            checkpoints: region::single("checkpoints"),
            pending: Pending::make(),
            maintenance_work_mem: config.maintenance_work_mem,
        }));
        storage.set_limits(config);
        Ok(storage)
    }

    /// Takes over those settings that may change while the server runs.
    pub fn set_limits(&self, config: &Config) {
        self.transactions.set_deadlock_timeout(config.deadlock_timeout_ms * 1_000_000);
        self.checkpoints.set_limits(config.checkpoint_timeout_ms * 1_000_000, config.min_wal_size, config.max_wal_size);
    }

    /// Runs completion actions of storage's disk requests: for the function that [`kernel::io::on_completion`] is given.
    pub fn complete(completion: &kernel::io::Completion) {
        if completion.action.number == buffer::fill::FILLED {
            Pool::complete(completion);
        }
    }

    /// Makes a new database, or recovers what the last server left. In the background host, before anybody is let in.
    ///
    /// Errors say what keeps the server from starting.
    pub fn start(&'static self) -> Result<Recovered> {
        self.recover()
    }

    /// Writes everything to its place, after the last session has gone. An error means that the next start recovers.
    pub fn stop(&'static self) -> Result<()> {
        self.make_checkpoint(Pace::Last)
    }

    /// Runs one of the [`TASKS`] until the server stops. The vacuum is [`relation::Relations::run_task`]'s: here, without tables, only the
    /// transaction map is kept small.
    pub fn run_task(&'static self, task: usize) {
        match task {
            0 => self.pool.run_cleaner(),
            1 => self.run_checkpointer(),
            TASK_VACUUM => self.run_map_truncation(),
            _ => self.run_log_writer(),
        }
    }

    fn run_map_truncation(&self) {
        while !session::stopping() {
            if let Err(error) = self.transactions.truncate_map() {
                eprintln!("gearbox: the map of transactions cannot be compressed yet: {error}");
            }
            wait::wait(Event::VacuumMain, 0, Some(clock::now() + LOG_WRITER_PAUSE_NS));
        }
    }

    /// The log writer's life: asynchronous commits become durable soon, and the next segment is there before it is needed.
    fn run_log_writer(&self) {
        // Told once, not each time that it is tried again.
        let mut refused = false;
        while !session::stopping() {
            let flushed = self.wal.durable();
            self.wal.flush_all();
            match self.wal.make_ahead() {
                Ok(()) => refused = false,
                Err(error) if !refused => {
                    refused = true;
                    eprintln!("gearbox: the next file of the log cannot be made yet: {error}");
                }
                Err(_) => {}
            }
            let idle = self.wal.inserted() == flushed;
            let pause = if idle { LOG_WRITER_PAUSE_NS } else { LOG_WRITER_DELAY_NS };
            wait::wait(Event::WalWriterMain, self.wal.inserted().0, Some(clock::now() + pause));
        }
    }

    /// Ends a session, however it ended: its transaction is aborted, or its commit finished; pins, room in the log, locks and
    /// snapshots go. Runs as that session, in the process that closes it.
    pub fn end_session(&'static self, session: SessionId) {
        self.release_dead(session);
        self.transactions.end_session(session);
    }

    /// Gives up what others may wait for of a session that died: pins, room in the log, the lead of a flush or a checkpoint. Waits
    /// for nobody. For all sessions that died together before any of them is ended, since a commit that is finished waits for a
    /// flush, and the dead leader of that may be the next one to be ended.
    pub fn release_dead(&'static self, session: SessionId) {
        self.pool.forget_dead(session);
        self.wal.forget_dead(session);
        self.forget_checkpoint_of(session);
    }

    /// Commits the running session's transaction; `dropped` are storages that are gone with it.
    ///
    /// Answers the commit's position, none if it had changed nothing. An error means that nothing is decided: abort.
    pub fn commit(&'static self, durability: Durability, dropped: &[RelId]) -> Result<Option<Lsn>> {
        self.transactions.commit(durability, dropped, |dropped| self.remove_relations(dropped))
    }

    /// Aborts the running session's transaction; `made` are storages that it had made.
    pub fn abort(&'static self, made: &[RelId]) {
        self.transactions.abort(made, |made| self.remove_relations(made));
    }

    /// Makes a new relation's storage, without pages, for the running session's transaction. If that aborts, it names the storage in
    /// [`Storage::abort`].
    pub fn create_relation(&'static self) -> Result<RelId> {
        let rel = self.counters.new_rel()?;
        let xid = self.transactions.xid()?;
        let record = FileCreate { rel };
        let mut room = self.wal.reserve(record_bytes(&record))?;
        // The record first: a file that nobody's log knows of would stay for ever.
        room.append(xid, 0, &record);
        drop(room);
        self.pool.files().create(rel)?;
        Ok(rel)
    }

    /// Makes a storage with a number that is given: the catalog's own, at the making of the database.
    pub fn create_relation_as(&'static self, rel: RelId) -> Result<()> {
        let record = FileCreate { rel };
        self.wal.reserve(record_bytes(&record))?.append(Xid(0), 0, &record);
        self.pool.files().create(rel)
    }

    /// Removes a storage at once, whatever becomes of any transaction.
    pub fn drop_relation(&'static self, rel: RelId) -> Result<()> {
        let record = FileDrop { rel };
        let span = self.wal.reserve(record_bytes(&record))?.append(Xid(0), 0, &record);
        self.wal.flush(span.end);
        self.remove_relation(rel)
    }

    /// Cuts a relation off behind its first `blocks` pages. The caller's lock keeps everybody else from it.
    ///
    /// Errors: `55006` if somebody has a page of the rest pinned; the relation is as it was then.
    pub fn truncate_relation(&'static self, rel: RelId, blocks: u32) -> Result<()> {
        let record = FileTruncate { rel, blocks };
        let mut room = self.wal.reserve(record_bytes(&record))?;
        self.pool.forget(rel, blocks)?;
        let span = room.append(Xid(0), 0, &record);
        drop(room);
        self.wal.flush(span.end);
        self.pool.files().truncate(rel, blocks)
    }

    /// Drops a relation's pages and its file.
    pub(crate) fn remove_relation(&'static self, rel: RelId) -> Result<()> {
        self.pool.forget(rel, 0)?;
        self.pool.files().remove(rel)
    }

    /// The same for several, when there is no way back: what cannot be removed now is left to the next start.
    fn remove_relations(&'static self, relations: &[RelId]) {
        for &rel in relations {
            if let Err(error) = self.remove_relation(rel) {
                eprintln!("gearbox: the file of relation {rel} stays: {error}");
            }
        }
    }
}

/// Ends the server, which restarts and recovers: for what makes it impossible to go on.
pub fn stop_server(reason: &str) -> ! {
    kernel::supervisor::stop_and_recover(reason)
}
