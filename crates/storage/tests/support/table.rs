//! A table as a layer above storage would have it: rows of three numbers and padding, a unique index on the first, a plain one on the
//! second, none on the third.
//!
//! It shows how the access layer is used: look up, fetch, change, enter into indexes, come again when somebody was faster.

use base::{Error, RelId, Result, sqlstate};
use kernel::region::arena::ArenaVec;
use std::ops::Bound;
use storage::btree::{Btree, Direction, Inserted, Unique};
use storage::heap::{Batch, Changes, CommandPairs, Fetched, Heap, Isolation, Outcome, Reader, RowWait, Writer};
use storage::page::Tid;
use storage::relation::{Bulk, Relations};
use storage::txn::{Snapshot, Strength};

/// A row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Row {
    /// Unique.
    pub key: i64,
    /// Indexed.
    pub value: i64,
    /// Not indexed.
    pub count: i64,
}

impl Row {
    pub fn encode(&self, padding: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(24 + padding);
        [self.key, self.value, self.count].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        // What follows from the numbers: a row that is not whole is seen.
        bytes.extend((0..padding).map(|at| (self.key ^ self.value ^ self.count ^ at as i64) as u8));
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Row> {
        let number = |at: usize| bytes.get(at..at + 8).and_then(|part| part.try_into().ok()).map(i64::from_le_bytes);
        match (number(0), number(8), number(16)) {
            (Some(key), Some(value), Some(count)) => {
                let row = Row { key, value, count };
                if row.encode(bytes.len() - 24) == bytes { Ok(row) } else { Err(torn()) }
            }
            _ => Err(torn()),
        }
    }
}

fn torn() -> Error {
    Error::corruption("a row is not whole")
}

/// A number as a key: bytes that order as the numbers do.
pub fn key_of(number: i64) -> [u8; 8] {
    ((number as u64) ^ (1 << 63)).to_be_bytes()
}

pub fn number_of(key: &[u8]) -> i64 {
    let bytes: [u8; 8] = key.try_into().expect("keys are eight bytes");
    (u64::from_be_bytes(bytes) ^ (1 << 63)) as i64
}

/// A statement's view of a transaction.
pub struct Statement<'a> {
    pub snapshot: Snapshot,
    pub isolation: Isolation,
    pub pairs: &'a mut ArenaVec<(u32, u32)>,
    pub deadline: Option<u64>,
}

impl Statement<'_> {
    fn writer(&mut self) -> Writer<'_> {
        Writer { snapshot: &self.snapshot, isolation: self.isolation, pairs: self.pairs, deadline: self.deadline }
    }

    fn reader(&self) -> Reader<'_> {
        Reader { snapshot: &self.snapshot, pairs: self.pairs.pairs() }
    }
}

/// The table.
#[derive(Clone, Copy)]
pub struct Table {
    pub heap: Heap,
    pub by_key: Btree,
    pub by_value: Btree,
    pub padding: usize,
}

impl Table {
    pub fn new(relations: &'static Relations, rels: [RelId; 3], padding: usize) -> Table {
        Table {
            heap: relations.heap(rels[0]),
            by_key: relations.btree(rels[1]),
            by_value: relations.btree(rels[2]),
            padding,
        }
    }

    pub fn create(relations: &'static Relations, padding: usize) -> Result<Table> {
        let rels = [relations.create()?, relations.create()?, relations.create()?];
        let table = Table::new(relations, rels, padding);
        table.by_key.create()?;
        table.by_value.create()?;
        Ok(table)
    }

    pub fn rels(&self) -> [RelId; 3] {
        [self.heap.rel(), self.by_key.rel(), self.by_value.rel()]
    }

    fn enter(&self, row: &Row, tid: Tid, deadline: Option<u64>) -> Result<()> {
        match self.by_key.insert(&key_of(row.key), tid, Unique::Check(&self.heap), deadline)? {
            Inserted::Done => {}
            Inserted::Duplicate(_) => {
                return Err(Error::statement(sqlstate::UNIQUE_VIOLATION, format!("key {} is there", row.key)));
            }
        }
        self.by_value.insert(&key_of(row.value), tid, Unique::No, deadline).map(drop)
    }

    pub fn insert(&self, statement: &mut Statement<'_>, row: &Row) -> Result<()> {
        let tid = self.heap.insert(statement.snapshot.command, &row.encode(self.padding))?;
        self.enter(row, tid, statement.deadline)
    }

    /// Puts rows in bulk; the indexes are told one by one.
    pub fn load(&self, command: u32, rows: &[Row]) -> Result<()> {
        let mut bulk = Bulk::default();
        for part in rows.chunks(100) {
            let bytes: Vec<Vec<u8>> = part.iter().map(|row| row.encode(self.padding)).collect();
            let slices: Vec<&[u8]> = bytes.iter().map(|row| &row[..]).collect();
            let mut tids = Vec::new();
            self.heap.insert_many(&mut bulk, command, &slices, &mut tids)?;
            assert_eq!(tids.len(), part.len());
            part.iter().zip(tids).try_for_each(|(row, tid)| self.enter(row, tid, None))?;
        }
        self.heap.end_bulk(&mut bulk)
    }

    /// The row with a key that the statement sees, and where it is. Looks twice: by lookup and, if that says so, by a scan. Every other key is
    /// looked up together with its neighbours.
    pub fn find(&self, statement: &Statement<'_>, key: i64) -> Result<Option<(Tid, Row)>> {
        let bytes = key_of(key);
        let matches = match key % 2 {
            0 => self.by_key.lookup(&bytes)?,
            _ => {
                let keys = [key.wrapping_sub(1), key, key.wrapping_add(1)].map(key_of);
                let mut found = Vec::new();
                self.by_key.lookup_each(keys.iter().map(|key| &key[..]), &mut found)?;
                assert_eq!(found.len(), keys.len());
                found[1]
            }
        };
        for &tid in matches.tids() {
            match self.heap.fetch(&statement.reader(), tid, |tid, row| (tid, Row::decode(row)))? {
                Fetched::Row((tid, row)) => return Ok(Some((tid, row?))),
                Fetched::Dead => self.by_key.kill(&bytes, tid, &matches)?,
                Fetched::Invisible => {}
            }
        }
        if matches.more() {
            let range = (Bound::Included(&bytes[..]), Bound::Included(&bytes[..]));
            let found = self.collect(&self.by_key, statement, range, Direction::Forward)?;
            return Ok(found.first().copied());
        }
        Ok(None)
    }

    /// The visible rows of a range of an index, in its order.
    pub fn collect(
        &self,
        index: &Btree,
        statement: &Statement<'_>,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
    ) -> Result<Vec<(Tid, Row)>> {
        // Where a page is known to be all visible the row is there, as whoever reads the index alone believes.
        let sight = self.heap.sight()?;
        let mut cursor = index.scan(range, direction, true);
        let mut found = Vec::new();
        let mut steps = 0;
        while let Some(tid) = index.next(&mut cursor)? {
            steps += 1;
            sight.prepare(tid.block);
            let known = sight.knows(tid.block);
            let fetched =
                self.heap.fetch_noting(&statement.reader(), tid, Some(&sight), |tid, row| (tid, Row::decode(row)))?;
            if known && !matches!(fetched, Fetched::Row(_)) {
                return Err(Error::corruption(format!("{tid} is on a page that is known, and is not seen")));
            }
            match fetched {
                Fetched::Row((tid, row)) => {
                    let row = row?;
                    let own = if index.rel() == self.by_key.rel() { row.key } else { row.value };
                    if number_of(cursor.key()) != own {
                        return Err(Error::corruption(format!(
                            "an entry of {} leads to {row:?} at {tid}",
                            number_of(cursor.key())
                        )));
                    }
                    found.push((tid, row));
                }
                Fetched::Dead => cursor.kill(),
                Fetched::Invisible => {}
            }
            if steps % 7 == 3 {
                // Put away and taken up again, as by another process.
                let mut bytes = Vec::new();
                cursor.save(&mut bytes);
                cursor = storage::btree::Cursor::restore(&bytes)?;
            }
        }
        index.finish(&mut cursor)?;
        Ok(found)
    }

    /// Applies `change` to the row with a key: as it is for the statement, or, at `READ COMMITTED`, as somebody left it meanwhile. False if there is
    /// no such row.
    pub fn update(&self, statement: &mut Statement<'_>, key: i64, change: impl Fn(&Row) -> Row) -> Result<bool> {
        let Some((mut tid, mut row)) = self.find(statement, key)? else { return Ok(false) };
        loop {
            let new = change(&row);
            let changes = Changes { keys: new.key != row.key, indexed: new.key != row.key || new.value != row.value };
            let outcome = self.heap.update(&mut statement.writer(), tid, &new.encode(self.padding), changes)?;
            match outcome {
                Outcome::Done { hot: true, .. } => return Ok(true),
                Outcome::Done { tid, hot: false } => {
                    self.enter(&new, tid, statement.deadline)?;
                    return Ok(true);
                }
                Outcome::Changed { tid: newest, row: bytes } => {
                    let newest_row = Row::decode(&bytes)?;
                    if newest_row.key != key {
                        return Ok(false);
                    }
                    (tid, row) = (newest, newest_row);
                }
                Outcome::Gone => return Ok(false),
                Outcome::Own(_) | Outcome::Busy => {
                    return Err(Error::statement(sqlstate::INTERNAL_ERROR, format!("an update answers {outcome:?}")));
                }
            }
        }
    }

    /// Deletes the row with a key. False if there is none.
    pub fn delete(&self, statement: &mut Statement<'_>, key: i64) -> Result<bool> {
        let Some((mut tid, _)) = self.find(statement, key)? else { return Ok(false) };
        loop {
            match self.heap.delete(&mut statement.writer(), tid)? {
                Outcome::Done { .. } => return Ok(true),
                Outcome::Changed { tid: newest, row } if Row::decode(&row)?.key == key => tid = newest,
                Outcome::Changed { .. } | Outcome::Gone => return Ok(false),
                outcome => {
                    return Err(Error::statement(sqlstate::INTERNAL_ERROR, format!("a delete answers {outcome:?}")));
                }
            }
        }
    }

    /// Locks the row with a key; answers it as it is then. None if there is none, an error if somebody has it and `wait` says not to.
    pub fn lock(
        &self,
        statement: &mut Statement<'_>,
        key: i64,
        strength: Strength,
        wait: RowWait,
    ) -> Result<Option<Row>> {
        let Some((mut tid, mut row)) = self.find(statement, key)? else { return Ok(None) };
        loop {
            match self.heap.lock(&statement.writer(), tid, strength, wait)? {
                Outcome::Done { .. } => return Ok(Some(row)),
                Outcome::Changed { tid: newest, row: bytes } => {
                    (tid, row) = (newest, Row::decode(&bytes)?);
                    if row.key != key {
                        return Ok(None);
                    }
                }
                Outcome::Gone => return Ok(None),
                Outcome::Busy => {
                    return Err(Error::statement(sqlstate::LOCK_NOT_AVAILABLE, "somebody has the row"));
                }
                Outcome::Own(_) => {
                    return Err(Error::statement(sqlstate::INTERNAL_ERROR, "an own row cannot be locked"));
                }
            }
        }
    }

    /// Every row that the statement sees, by a scan of the heap, in order of their keys.
    pub fn scan(&self, statement: &Statement<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let mut scan = self.heap.scan()?;
        let mut batch = Batch::new();
        while self.heap.next_page(&mut scan, &statement.reader(), &mut batch)? {
            for (_, bytes) in batch.rows() {
                rows.push(Row::decode(bytes)?);
            }
        }
        rows.sort();
        Ok(rows)
    }

    /// Compares what a scan sees with what each index sees, both ways. Answers how many rows there are.
    pub fn check(&self, statement: &Statement<'_>) -> Result<usize> {
        let rows = self.scan(statement)?;
        if let Some(pair) = rows.windows(2).find(|pair| pair[0].key == pair[1].key) {
            return Err(Error::corruption(format!("a key is there twice: {pair:?}")));
        }
        let all = (Bound::Unbounded, Bound::Unbounded);
        for index in [&self.by_key, &self.by_value] {
            let forward: Vec<Row> =
                self.collect(index, statement, all, Direction::Forward)?.into_iter().map(|found| found.1).collect();
            let mut backward: Vec<Row> =
                self.collect(index, statement, all, Direction::Backward)?.into_iter().map(|found| found.1).collect();
            backward.reverse();
            let mut sorted: Vec<Row> = forward.clone();
            sorted.sort();
            if sorted != rows {
                return Err(Error::corruption(format!("index {} sees {sorted:?}, a scan {rows:?}", index.rel())));
            }
            let key = |row: &Row| if index.rel() == self.by_key.rel() { row.key } else { row.value };
            if !forward.is_sorted_by_key(key) || !backward.is_sorted_by_key(key) || backward.len() != forward.len() {
                return Err(Error::corruption(format!("index {} is out of order", index.rel())));
            }
        }
        Ok(rows.len())
    }
}
