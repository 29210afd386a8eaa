//! Starting: a new database is made, or what the last server left is brought to the end of its log.
//!
//! ```text
//!  no control file ----> make: directories, empty log, first checkpoint
//!  control file -------> torn pages repaired (unless it stopped cleanly) -> checkpoint record read -> redo, one pass
//!                        -> who did not commit has aborted -> log opened at its end -> a checkpoint
//! ```
//!
//! Redo reads the log from the checkpoint's redo position to its end. A record that changes pages is applied to each page whose LSN
//! is below the record's end, through the buffer pool, by the code that made the change in the first place: not at once, but
//! together with many others, page by page ([`batch`]). Commits and aborts go into the transaction map; files are made, cut and removed.
//!
//! Rules
//! 1. Redo may stop anywhere and begin again: pages say by their LSN what they have, everything else is a step that can be repeated.
//! 2. A page whose bytes are damaged, or that does not fit a record, ends the start with an error that names page and LSN. Nothing is
//!    guessed.
//! 3. A record for a relation whose file is not there is passed over, if a later record says that the relation was dropped, or the crash
//!    has ended the transaction that made it: a recovery that did not live to write its checkpoint has removed it then, and no
//!    record says so. Otherwise the file is missing, and that is an error.
//!    So it is with a page that reads as new where a record expects an old one: a drop or a cut that comes later in the log has taken its
//!    bytes, and the crash came before the file's name was gone, or its end forgotten. A power cut may have left half of such a
//!    page, so one whose bytes are damaged is no error before the log's end either.
//!    After a cut of a table, a record that expects a page behind it is a sign that who logged the cut died before it was done: others
//!    went on with the page, which was empty then, and so it begins here.
//! 4. The epoch is raised, durably, before the first record of this start is written, so that remains of a torn tail are known for
//!    what they are.
//! 5. A transaction without a commit record has aborted. All others that the checkpoint does not name have committed.
//! 6. The log is flushed before it is read: a record that a dead server was writing can be read though it is not durable, and pages with
//!    its change must not be written before it is.
//! 7. An end of the log behind which the log goes on is damage, and ends the start with an error: commits that were acknowledged
//!    would be gone, and pages have changes that the log would not know.
//!
//! What this does not do: undo. Versions of aborted transactions are invisible and are pruned later.

mod batch;

use crate::Storage;
use crate::buffer::Pinned;
use crate::checkpoint::Pace;
use crate::control::{Control, State};
use crate::counter::{FIRST_OID, FIRST_REL};
use crate::double_write;
use crate::page::header;
use crate::page::heap::HeapPageMut;
use crate::txn::{FIRST_XID, Status};
use crate::wal::FIRST_LSN;
use crate::wal::reader::Reader;
use crate::wal::record::{Body, Checkpoint, RawRecord, Record};
use crate::{file, page};
use base::{Error, Kind as ErrorKind, Lsn, PageId, RelId, Result, Xid, sqlstate};
use batch::{Batch, Change};
use kernel::clock::{self, Nanos};
use kernel::io::{self, FileName, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Pages whose reads are on their way at once, ahead of redo.
const READ_AHEAD: usize = 32;
/// Those may have this part of the pool.
const POOL_PART: usize = 8;

/// What a start found and did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recovered {
    /// True for a database that was not there before.
    pub new: bool,
    /// True if the last server stopped cleanly.
    pub clean: bool,
    /// Which start of a server this is.
    pub epoch: u32,
    /// The database's own number.
    pub database: u64,
    /// Pages that had been torn.
    pub repaired: u32,
    /// Records that were read.
    pub records: u64,
    /// Changes of pages that were made again.
    pub applied: u64,
    /// Pages that were read before redo asked for them.
    pub read_ahead: u64,
    /// Transactions that the crash ended.
    pub aborted: u64,
    /// Where redo began.
    pub begin: Lsn,
    /// The end of the log.
    pub end: Lsn,
    /// How long each step took.
    pub took: Took,
}

/// How long the steps of a recovery took, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Took {
    /// Torn pages were looked for, and the log was flushed.
    pub repair: Nanos,
    /// The log was read, and changes were made again.
    pub redo: Nanos,
    /// The checkpoint at the end.
    pub checkpoint: Nanos,
}

impl fmt::Display for Recovered {
    /// What whoever runs the server is told of a recovery.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Took { repair, redo, checkpoint } = self.took;
        let ms = |ns: Nanos| ns / 1_000_000;
        write!(f, "recovered in {} ms ({} repair, {} redo, ", ms(repair + redo + checkpoint), ms(repair), ms(redo))?;
        write!(f, "{} checkpoint): {} KB of log, ", ms(checkpoint), self.end.0.saturating_sub(self.begin.0) >> 10)?;
        write!(f, "{} to {}, {} records; ", self.begin, self.end, self.records)?;
        write!(f, "{} changes of pages made again, {} pages read ahead, ", self.applied, self.read_ahead)?;
        write!(f, "{} torn pages repaired; {} transactions had not ended", self.repaired, self.aborted)
    }
}

impl Storage {
    /// Makes a new database, or recovers. Runs alone.
    pub(crate) fn recover(&'static self) -> Result<Recovered> {
        io::make_directories()?;
        // What sessions had in temporary files when the server ended means nothing to anybody.
        for number in io::list(Kind::Temp)? {
            io::remove(FileName::new(Kind::Temp, number))?;
        }
        match Control::read()? {
            None => {
                self.refuse_without_control()?;
                self.make_database()
            }
            Some(control) if control.state == State::Making => self.make_database(),
            Some(control) => self.recover_from(control),
        }
    }

    /// Files of a database without its control file are not ours to overwrite.
    fn refuse_without_control(&self) -> Result<()> {
        for kind in [Kind::Wal, Kind::Data] {
            if let Some(&number) = io::list(kind)?.first() {
                return Err(Error::corruption("the control file is missing")
                    .detail(format!("There is no control file, but \"{}\".", FileName::new(kind, number)))
                    .hint("Restore the data directory from a backup, or name an empty one."));
            }
        }
        Ok(())
    }

    fn make_database(&'static self) -> Result<Recovered> {
        let database = kernel::engine::random_u64();
        let control = Control {
            state: State::Making,
            database,
            epoch: 1,
            clean_since: 1,
            checkpoint: FIRST_LSN,
            redo: FIRST_LSN,
        };
        // First of all, so that an attempt that ends half-way is known as one.
        control.write()?;
        for kind in [Kind::Wal, Kind::Data] {
            for number in io::list(kind)? {
                io::remove(FileName::new(kind, number))?;
            }
            io::sync_directory(kind)?;
        }
        io::remove(FileName::DOUBLE_WRITE)?;
        self.pool.double_write().open()?;
        self.wal.survey(FIRST_LSN)?;
        self.wal.open(FIRST_LSN, &[], (control.epoch, control.clean_since));
        self.counters.set(FIRST_OID, RelId(FIRST_REL));
        self.transactions.open(FIRST_XID)?;
        self.checkpoints.open(database, FIRST_LSN);
        self.make_checkpoint(Pace::Fast)?;
        Ok(Recovered { new: true, clean: true, epoch: 1, database, end: self.wal.inserted(), ..Recovered::default() })
    }

    fn recover_from(&'static self, control: Control) -> Result<Recovered> {
        let clean = control.state == State::Stopped;
        let epoch = control.epoch + 1;
        let clean_since = if clean { control.clean_since } else { epoch };
        let (database, begin, began) = (control.database, control.redo, clock::now());
        let mut found = Recovered { clean, epoch, database, begin, ..Recovered::default() };
        if !clean && !kernel::fault::planted("recovery.skip_torn_check") {
            found.repaired = double_write::repair()?;
        }
        self.pool.double_write().open()?;
        // From here on files may be changed: a server that was stopped cleanly is in use again. Rule 4.
        Control { state: State::InUse, epoch, clean_since, ..control }.write()?;
        kernel::fault::point("recovery.begin");
        // Rule 6.
        self.wal.flush_files(control.redo)?;
        let repaired_at = clock::now();
        let mut redo = Redo::begin(self, &control)?;
        let mut reader = Reader::new(control.redo)?;
        while let Some(raw) = reader.next()? {
            redo.take(&raw)?;
        }
        let end = reader.position();
        if end <= control.checkpoint {
            return Err(Error::corruption("the log ends before its last checkpoint")
                .detail(format!(
                    "The checkpoint is at {}, the log ends at {end}: {:?}.",
                    control.checkpoint,
                    reader.end()
                ))
                .hint("Restore the log's files, or the whole data directory from a backup."));
        }
        // Rule 7. Before anything is decided by what is missing.
        let last_block = reader.last_block()?.to_vec();
        reader.require_end(self.wal.ring_bytes())?;
        redo.finish(&mut found)?;
        found.end = end;
        self.wal.survey(end)?;
        self.wal.open(end, &last_block, (epoch, clean_since));
        self.checkpoints.open(control.database, control.redo);
        kernel::fault::point("recovery.end");
        let redone_at = clock::now();
        self.make_checkpoint(Pace::Fast)?;
        let checkpoint = clock::now() - redone_at;
        found.took = Took { repair: repaired_at - began, redo: redone_at - repaired_at, checkpoint };
        Ok(found)
    }
}

/// One pass over the log.
struct Redo {
    storage: &'static Storage,
    /// No transaction at or after this one has been seen.
    next_xid: Xid,
    /// Where transactions that the checkpoint does not know begin.
    first_xid: Xid,
    /// Relations whose files are not there, and a record that wanted one.
    missing: BTreeMap<RelId, Lsn>,
    /// Pages whose bytes are not there, or not whole, and the first record of each that wanted them, as an error.
    lost: BTreeMap<PageId, Error>,
    /// Where tables were cut off: the least block that went.
    cut: BTreeMap<RelId, u32>,
    /// Transactions that ran at the checkpoint and have not ended.
    running: BTreeSet<Xid>,
    /// Relations that were made by transactions whose end has not been seen.
    made: BTreeMap<RelId, Xid>,
    /// Changes of pages that are put off.
    batch: Batch,
    /// Relations that have gone since the first of them was: theirs are not made.
    gone: BTreeSet<RelId>,
    /// So many pages are on their way at most.
    ahead_max: usize,
    records: u64,
    applied: u64,
    read_ahead: u64,
}

impl Redo {
    /// Reads the checkpoint's record and begins with the state that it tells.
    fn begin(storage: &'static Storage, control: &Control) -> Result<Redo> {
        storage.wal.require_segment(control.redo)?;
        storage.wal.require_segment(control.checkpoint)?;
        let mut reader = Reader::new(control.checkpoint)?;
        let Some(raw) = reader.next()? else {
            return Err(Error::corruption("the last checkpoint is not in the log")
                .detail(format!("At {} the log ends: {:?}.", control.checkpoint, reader.end()))
                .hint("Restore the log's files, or the whole data directory from a backup."));
        };
        let record = raw.decode()?;
        let Body::Checkpoint(checkpoint) = &record.body else {
            return Err(Error::corruption("the last checkpoint is not in the log")
                .detail(format!("At {} there is another record, of kind {}.", control.checkpoint, raw.kind)));
        };
        Redo::begin_at(storage, checkpoint)
    }

    fn begin_at(storage: &'static Storage, checkpoint: &Checkpoint<'_>) -> Result<Redo> {
        let map = &storage.transactions.map;
        map.restore(checkpoint.next_xid)?;
        // Those that ran are aborted unless a commit follows.
        for &xid in checkpoint.running.iter().chain(checkpoint.aborted.iter()) {
            map.restore_aborted(xid)?;
        }
        storage.counters.set(checkpoint.next_oid, checkpoint.next_rel);
        Ok(Redo {
            storage,
            next_xid: checkpoint.next_xid,
            first_xid: checkpoint.next_xid,
            missing: BTreeMap::new(),
            lost: BTreeMap::new(),
            cut: BTreeMap::new(),
            running: checkpoint.running.iter().copied().collect(),
            made: BTreeMap::new(),
            batch: Batch::new(storage.maintenance_work_mem),
            gone: BTreeSet::new(),
            ahead_max: READ_AHEAD.min(storage.pool.usage().frames as usize / POOL_PART).max(1),
            records: 0,
            applied: 0,
            read_ahead: 0,
        })
    }

    /// Takes a record in.
    fn take(&mut self, raw: &RawRecord<'_>) -> Result<()> {
        let storage = self.storage;
        // Pages with this change may be written from now on: its record is durable (rule 6).
        storage.wal.recovered_to(raw.end);
        let record = raw.decode()?;
        self.records += 1;
        self.know(record.xid)?;
        match &record.body {
            Body::Commit(commit) => {
                for xid in commit.subxids.iter().copied().chain([record.xid]) {
                    self.know(xid)?;
                    self.running.remove(&xid);
                    storage.transactions.map.restore_committed(xid, raw.end);
                }
                self.made.retain(|_, maker| *maker != record.xid && !commit.subxids.contains(maker));
                self.drop_files(&commit.dropped)?;
            }
            Body::Abort(abort) => {
                for xid in abort.subxids.iter().copied().chain([record.xid]).filter(|xid| xid.0 != 0) {
                    self.know(xid)?;
                    self.running.remove(&xid);
                    storage.transactions.map.restore_aborted(xid)?;
                }
                self.drop_files(&abort.dropped)?;
            }
            Body::FileCreate(create) => {
                if self.gone.contains(&create.rel) {
                    // Not so far: numbers are given out once.
                    self.change_pages()?;
                }
                if !io::exists(file::name(create.rel))? {
                    storage.pool.files().create(create.rel)?;
                }
                self.missing.remove(&create.rel);
                if record.xid.0 != 0 {
                    self.made.insert(create.rel, record.xid);
                }
            }
            Body::FileDrop(dropped) => self.drop_files(&[dropped.rel])?,
            Body::FileTruncate(truncate) => {
                if !kernel::fault::planted("recovery.late_change") {
                    self.change_pages()?;
                }
                self.lost.retain(|page, _| page.rel != truncate.rel || page.block < truncate.blocks);
                let cut = self.cut.entry(truncate.rel).or_insert(truncate.blocks);
                *cut = truncate.blocks.min(*cut);
                if self.is_there(truncate.rel, raw.lsn)? {
                    storage.pool.forget(truncate.rel, truncate.blocks)?;
                    storage.pool.files().truncate(truncate.rel, truncate.blocks)?;
                }
            }
            Body::FileExtend(extend) => {
                if record.xid.0 != 0 {
                    self.made.insert(extend.rel, record.xid);
                }
                if extend.blocks > 0 && self.is_there(extend.rel, raw.lsn)? {
                    storage.pool.files().restore_block(extend.rel, extend.blocks - 1)?;
                }
            }
            Body::NextOid(counter) => storage.counters.raise(Some(counter.next), None),
            Body::NextRel(counter) => storage.counters.raise(None, Some(counter.next)),
            Body::Filler(_) | Body::Checkpoint(_) => {}
            _ => self.put_off(raw, &record)?,
        }
        Ok(())
    }

    /// Puts the changes of a record off.
    ///
    /// Errors: `53200`.
    fn put_off(&mut self, raw: &RawRecord<'_>, record: &Record<'_>) -> Result<()> {
        let pages = record.pages();
        if !self.batch.has_room_for(raw, &pages) {
            self.change_pages()?;
        }
        self.batch.put(raw, &pages)
    }

    /// Sees to it that the map has an entry for a transaction.
    fn know(&mut self, xid: Xid) -> Result<()> {
        if xid >= self.next_xid {
            self.storage.transactions.map.restore_up_to(self.next_xid, xid)?;
            self.next_xid = Xid(xid.0 + 1);
        }
        Ok(())
    }

    fn drop_files(&mut self, dropped: &[RelId]) -> Result<()> {
        for &rel in dropped {
            self.missing.remove(&rel);
            self.lost.retain(|page, _| page.rel != rel);
            self.cut.remove(&rel);
            self.made.remove(&rel);
            if !kernel::fault::planted("recovery.made_for_gone") {
                self.gone.insert(rel);
            }
            self.storage.remove_relation(rel)?;
        }
        Ok(())
    }

    /// True if the relation's file is there; if not, that is remembered (rule 3).
    fn is_there(&mut self, rel: RelId, lsn: Lsn) -> Result<bool> {
        if self.missing.contains_key(&rel) {
            return Ok(false);
        }
        match self.storage.pool.files().open(rel) {
            Ok(_) => Ok(true),
            Err(error) if error.sqlstate() == sqlstate::UNDEFINED_FILE => {
                self.missing.insert(rel, lsn);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Makes the changes that were put off.
    fn change_pages(&mut self) -> Result<()> {
        if !self.batch.is_empty() {
            let mut batch = std::mem::take(&mut self.batch);
            batch.sort();
            self.change_pages_of(&batch)?;
            batch.clear();
            self.batch = batch;
        }
        self.gone.clear();
        Ok(())
    }

    /// Makes the changes of a batch, with reads of the pages that come next on their way.
    fn change_pages_of(&mut self, batch: &Batch) -> Result<()> {
        let (pool, most) = (self.storage.pool, self.ahead_max);
        let mut wanted = Vec::with_capacity(most);
        let mut ahead = batch.pages();
        // Pages that redo has not come to yet, though they were looked at.
        let mut looked_at = 0;
        for changes in batch.pages() {
            if looked_at <= most / 2 {
                wanted.clear();
                for changes in ahead.by_ref().take(most - looked_at) {
                    looked_at += 1;
                    if self.is_to_be_read(batch, changes)? {
                        wanted.push(changes[0].page);
                    }
                }
                self.read_ahead += pool.prefetch(&wanted) as u64;
            }
            looked_at -= 1;
            if self.is_wanted(batch, changes)? {
                self.change_page(batch, changes)?;
            }
        }
        Ok(())
    }

    /// Whether a page's relation is there, and has not gone since.
    fn is_wanted(&mut self, batch: &Batch, changes: &[Change]) -> Result<bool> {
        let first = &changes[0];
        Ok(!self.gone.contains(&first.page.rel) && self.is_there(first.page.rel, batch.record(first).lsn)?)
    }

    /// Whether a page has bytes that redo will ask for.
    fn is_to_be_read(&mut self, batch: &Batch, changes: &[Change]) -> Result<bool> {
        let first = &changes[0];
        if first.fresh || !self.is_wanted(batch, changes)? {
            return Ok(false);
        }
        let row = self.storage.pool.files().find(first.page.rel);
        Ok(row.is_some_and(|row| first.page.block < row.blocks()))
    }

    /// Makes changes of one page.
    fn change_page(&mut self, batch: &Batch, changes: &[Change]) -> Result<()> {
        let id = changes[0].page;
        self.storage.pool.files().restore_block(id.rel, id.block)?;
        let Some((pinned, changes)) = self.pin(batch, changes)? else { return Ok(()) };
        let mut page = pinned.write();
        for change in changes {
            if header::lsn(&page) >= batch.end(change) {
                continue;
            }
            let raw = batch.record(change);
            let record = raw.decode()?;
            if !change.fresh && header::is_new(&page) && self.cut.get(&id.rel).is_some_and(|&cut| id.block >= cut) {
                // Rule 3; only tables are cut off.
                page.redo(raw.lsn, |bytes| {
                    HeapPageMut::format(bytes, id);
                    Ok::<_, Error>(true)
                })?;
            }
            match page.redo(raw.lsn, |bytes| record.redo(change.nth as usize, raw.end, bytes)) {
                Ok(changed) => {
                    debug_assert!(page::check(&page).is_ok(), "{:?}", page::check(&page));
                    self.applied += changed as u64;
                }
                // Rule 3.
                Err(error) if header::is_new(&page) => {
                    self.lost.entry(id).or_insert_with(|| at_record(error, &raw, id));
                }
                Err(error) => return Err(at_record(error, &raw, id)),
            }
        }
        Ok(())
    }

    /// Pins the page of changes; answers it and those that can be made: a damaged page has to be written anew first.
    fn pin<'b>(&mut self, batch: &Batch, changes: &'b [Change]) -> Result<Option<(Pinned, &'b [Change])>> {
        let pool = self.storage.pool;
        for (nth, change) in changes.iter().enumerate() {
            let pinned = if change.fresh { pool.pin_fresh(change.page) } else { pool.pin(change.page) };
            match pinned {
                Ok(pinned) => return Ok(Some((pinned, &changes[nth..]))),
                // Rule 3.
                Err(error) if error.kind() == ErrorKind::Corruption && !change.fresh => {
                    let lost = self.lost.entry(change.page);
                    lost.or_insert_with(|| at_record(error, &batch.record(change), change.page));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The log is at its end.
    fn finish(mut self, found: &mut Recovered) -> Result<()> {
        self.change_pages()?;
        let transactions = self.storage.transactions;
        found.aborted = transactions.map.restore_end(self.first_xid, self.next_xid) + self.running.len() as u64;
        // What a transaction made that the crash has ended is nobody's. A checkpoint may have logged a file once more after its maker had
        // committed.
        let made = std::mem::take(&mut self.made);
        let ended = |maker: &Xid| transactions.status(*maker) == Status::Aborted;
        let goes: BTreeSet<RelId> = made.into_iter().filter(|(_, maker)| ended(maker)).map(|(rel, _)| rel).collect();
        let stays = |rel: RelId| !goes.contains(&rel);
        if let Some((rel, lsn)) = self.missing.iter().find(|(rel, _)| stays(**rel)) {
            return Err(Error::corruption(format!("the file of relation {rel} is missing"))
                .detail(format!("The log's record at {lsn} changes \"{}\".", file::name(*rel)))
                .hint("Restore the file, or the whole data directory from a backup."));
        }
        if let Some((_, error)) = self.lost.into_iter().find(|(page, _)| stays(page.rel)) {
            return Err(error);
        }
        for &rel in &goes {
            self.storage.remove_relation(rel)?;
        }
        found.records = self.records;
        found.applied = self.applied;
        found.read_ahead = self.read_ahead;
        transactions.open(self.next_xid)
    }
}

/// Adds to an error where redo was.
fn at_record(error: Error, raw: &RawRecord<'_>, page: PageId) -> Error {
    let before = error.detail_text().map(|detail| format!("{detail} ")).unwrap_or_default();
    error.detail(format!("{before}Recovery was at log record {}, kind {:#04x}, for page {page}.", raw.lsn, raw.kind))
}
