//! A table of numbered rows, each with its versions on a page of its own: the least that exercises pins, latches, logged
//! changes, snapshots, waits for other transactions and pruning.
//!
//! A row is 64 words: its value, and 63 more that follow from it, so that a torn or half-applied row is seen.

use base::{Error, PageId, RelId, Result, Xid, sqlstate};
use kernel::clock;
use storage::buffer;
use storage::page::heap::{HeapPage, PrunePlan, Roots, RowDelta, Version};
use storage::page::{PAGE_SIZE, header};
use storage::txn::{Claim, Snapshot, Status};
use storage::wal::record::{HeapDelete, HeapInsert, HeapPrune, HeapUpdate, RECORD_INIT};
use storage::{Durability, Room, Storage};

/// Words of a row.
const WORDS: usize = 64;
/// Enough room for any record of these tests.
const ROOM: usize = 4096;

/// The bytes of a row with that value.
pub fn row(value: i64) -> Vec<u8> {
    let words = (0..WORDS as i64).map(|at| value.wrapping_mul(at * at + 1));
    words.flat_map(i64::to_le_bytes).collect()
}

/// The value of a row; an error if its bytes do not belong together.
pub fn value_of(bytes: &[u8]) -> Result<i64> {
    let value = bytes.first_chunk().map(|word| i64::from_le_bytes(*word));
    match value {
        Some(value) if row(value) == bytes => Ok(value),
        _ => Err(Error::corruption(format!("a row of {} bytes is not whole", bytes.len()))),
    }
}

fn page(rel: RelId, key: u32) -> PageId {
    PageId { rel, block: key }
}

fn is_empty(bytes: &[u8; PAGE_SIZE]) -> bool {
    header::page_type(bytes).is_none()
}

/// Puts the first version of a row, by the running transaction. The row's page may be new.
pub fn insert(storage: &'static Storage, rel: RelId, key: u32, value: i64) -> Result<()> {
    let xid = storage.transactions.xid()?;
    let bytes = row(value);
    while storage.pool.files().blocks(rel)? <= key {
        storage.pool.pin_new(rel)?;
    }
    let mut room = storage.wal.reserve(ROOM)?;
    let pinned = storage.pool.pin(page(rel, key))?;
    let mut page = pinned.write();
    let init = is_empty(&page);
    let slot = if init { 0 } else { HeapPage::new(&page).vacant_slot().expect("a page for one row has slots") };
    let record = HeapInsert { page: pinned.id(), slot, row: &bytes };
    let flags = if init { RECORD_INIT } else { 0 };
    buffer::log(&mut room, xid, flags, &record, [&mut page], |[bytes]| record.apply(xid, init, bytes))?;
    Ok(())
}

/// The value that a snapshot sees, if it sees one. An error if it sees two.
pub fn get(storage: &'static Storage, rel: RelId, key: u32, snapshot: &Snapshot) -> Result<Option<i64>> {
    if storage.pool.files().blocks(rel)? <= key {
        return Ok(None);
    }
    let pinned = storage.pool.pin(page(rel, key))?;
    let page = pinned.read();
    if is_empty(&page) {
        return Ok(None);
    }
    let heap = HeapPage::new(&page);
    let mut found = None;
    for (slot, version) in heap.versions() {
        let seen = storage.transactions.visible(&version, snapshot, &[]);
        if seen.hints != 0
            && let Some(offset) = heap.flags_offset(slot)
        {
            page.set_hints(offset, seen.hints);
        }
        if !seen.visible {
            continue;
        }
        let value = value_of(version.row())?;
        if let Some(other) = found.replace(value) {
            return Err(Error::corruption(format!("row {key} is seen twice: as {other} and as {value}")));
        }
    }
    Ok(found)
}

/// What an update found.
enum Found {
    Done,
    /// Another transaction is in the way.
    Wait(Xid),
    /// No version is visible.
    None,
    /// The page has no room: it has been pruned, if that was possible.
    Full,
}

/// Changes a row's value by the running transaction, as it is under `READ COMMITTED`: waits for whoever is changing it, and then
/// looks again. False if there is no such row.
pub fn update(
    storage: &'static Storage,
    rel: RelId,
    key: u32,
    change: impl Fn(i64) -> Option<i64>,
    deadline_ns: Option<u64>,
) -> Result<bool> {
    let deadline = deadline_ns.map(|span| clock::now() + span);
    let xid = storage.transactions.xid()?;
    for _ in 0..100_000 {
        let mut room = storage.wal.reserve(ROOM)?;
        let snapshot = storage.transactions.snapshot();
        let snapshot_of_command = snapshot.at_command(xid, u32::MAX);
        let found = try_update(storage, rel, key, &change, xid, &snapshot_of_command, &mut room);
        storage.transactions.release(snapshot);
        drop(room);
        match found? {
            Found::Done => return Ok(true),
            Found::None => return Ok(false),
            Found::Full => {
                storage.transactions.renew_horizon();
                if !prune(storage, rel, key)? {
                    // Somebody's snapshot keeps the versions; it will be gone soon.
                    kernel::wait::wait(kernel::wait::Event::Sleep, 0, Some(clock::now() + 1_000_000));
                }
            }
            Found::Wait(other) => {
                let status = storage.transactions.wait_for(other, deadline)?;
                assert!(status != Status::Running);
            }
        }
    }
    Err(Error::statement(sqlstate::INTERNAL_ERROR, format!("row {key} cannot be updated")))
}

fn try_update(
    storage: &'static Storage,
    rel: RelId,
    key: u32,
    change: &impl Fn(i64) -> Option<i64>,
    xid: Xid,
    snapshot: &Snapshot,
    room: &mut Room,
) -> Result<Found> {
    let pinned = storage.pool.pin(page(rel, key))?;
    let mut page = pinned.write();
    // Each version is judged once: a commit that becomes durable meanwhile would make of a version that somebody is ending one that
    // has been ended, which nobody may change.
    let mut newest = None;
    for (slot, version) in HeapPage::new(&page).versions() {
        let claim = storage.transactions.claim(&version, snapshot, xid, &[]);
        if matches!(claim, Claim::Free | Claim::Busy { .. }) && is_committed_or_own(storage, &version, xid) {
            newest = Some((slot, claim));
        }
    }
    let Some((old_slot, claim)) = newest else { return Ok(Found::None) };
    if let Claim::Busy { xid, .. } = claim {
        return Ok(Found::Wait(xid));
    }
    let heap = HeapPage::new(&page);
    let version = heap.version(old_slot).expect("just seen");
    let Some(value) = change(value_of(version.row())?) else {
        let record = HeapDelete { page: pinned.id(), slot: old_slot };
        buffer::log(room, xid, 0, &record, [&mut page], |[bytes]| record.apply(xid, bytes))?;
        return Ok(Found::Done);
    };
    let (old, new) = (version.row().to_vec(), row(value));
    if !heap.fits(new.len(), 0) {
        return Ok(Found::Full);
    }
    let Some(new_slot) = heap.vacant_slot() else { return Ok(Found::Full) };
    let delta = RowDelta::between(&old, &new);
    let record = HeapUpdate { page: pinned.id(), old_slot, new_slot, hot: true, keys_updated: false, delta };
    buffer::log(room, xid, 0, &record, [&mut page], |[bytes]| record.apply(xid, bytes))?;
    Ok(Found::Done)
}

fn is_committed_or_own(storage: &Storage, version: &Version<'_>, own: Xid) -> bool {
    version.xmin() == own
        || matches!(storage.transactions.status(version.xmin()), Status::Committed(_) | Status::Ancient)
}

/// Prunes a row's page. False if nothing could go.
pub fn prune(storage: &'static Storage, rel: RelId, key: u32) -> Result<bool> {
    let mut room = storage.wal.reserve(ROOM)?;
    let horizon = storage.transactions.horizon_cached();
    let pinned = storage.pool.pin(page(rel, key))?;
    let mut page = pinned.write();
    let mut plan = PrunePlan::default();
    HeapPage::new(&page).prune(Roots::Forgotten, |version| storage.transactions.fate(version, horizon), &mut plan);
    if plan.is_empty() {
        return Ok(false);
    }
    let record = HeapPrune { page: pinned.id(), plan };
    buffer::log(&mut room, Xid(0), 0, &record, [&mut page], |[bytes]| record.apply(bytes))?;
    Ok(true)
}

/// Makes a relation of `count` rows, each with the same value, and commits.
pub fn make(storage: &'static Storage, count: u32, value: i64) -> Result<RelId> {
    let rel = storage.create_relation()?;
    for key in 0..count {
        insert(storage, rel, key, value)?;
    }
    storage.commit(Durability::Waited, &[])?;
    Ok(rel)
}

/// Moves an amount from one row to another, in one transaction.
pub fn transfer(storage: &'static Storage, rel: RelId, from: u32, to: u32, amount: i64) -> Result<bool> {
    let moved = (|| {
        Ok(update(storage, rel, from, |value| Some(value - amount), None)?
            && update(storage, rel, to, |value| Some(value + amount), None)?)
    })();
    finish(storage, moved)
}

/// Commits if a transaction's work went well, else aborts.
pub fn finish(storage: &'static Storage, work: Result<bool>) -> Result<bool> {
    match work {
        Ok(true) => match storage.commit(Durability::Waited, &[]) {
            Ok(_) => Ok(true),
            Err(error) => {
                storage.abort(&[]);
                Err(error)
            }
        },
        other => {
            storage.abort(&[]);
            other
        }
    }
}

/// The sum of all rows from a key on, as one snapshot sees them, and how many it sees.
pub fn sum(storage: &'static Storage, rel: RelId, first: u32) -> Result<(i64, u32)> {
    let snapshot = storage.transactions.snapshot();
    let total = (|| {
        let mut total = (0, 0);
        for key in first..storage.pool.files().blocks(rel)? {
            if let Some(value) = get(storage, rel, key, &snapshot)? {
                total = (total.0 + value, total.1 + 1);
            }
        }
        Ok(total)
    })();
    storage.transactions.release(snapshot);
    total
}
