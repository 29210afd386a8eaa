//! What a server says of itself, read over the wire: once a second while it is loaded, and its count of transactions before and
//! after.
//!
//! | product | once a second | transactions |
//! |---|---|---|
//! | Gearbox | sessions by state and wait event; bytes of the region in use | `pg_stat_database` |
//! | PostgreSQL | sessions by state and wait event | `pg_stat_database` |
//! | MariaDB | running and connected threads, row lock waits | none: it counts statements |
//!
//! `gearbox limit` has no views: it answers everything with the same row.

use crate::address::{Address, Wire};
use crate::driver::Session;
use base::Result;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How sessions are counted by what they do; the reader's own is left out.
const STATES: &str = "SELECT CASE WHEN wait_event IS NULL OR state = 'idle' THEN state ELSE wait_event END, count(*) \
     FROM pg_stat_activity WHERE state IS NOT NULL AND pid <> pg_backend_pid() GROUP BY 1";
/// Bytes in use of Gearbox's region: its heap and its tables.
const REGION: &str = "SELECT sum(num_active) FROM gearbox.resources WHERE unit = 'bytes' AND name <> 'region heap'";
const COMMITS: &str = "SELECT sum(xact_commit) FROM pg_stat_database";
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN \
     ('Threads_running', 'Threads_connected', 'Innodb_row_lock_current_waits', 'Innodb_buffer_pool_pages_dirty')";

/// What a server can be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Views {
    /// Nothing.
    None,
    /// PostgreSQL's views.
    Postgres,
    /// PostgreSQL's and Gearbox's own.
    Gearbox,
    /// MariaDB's status.
    MariaDb,
}

/// A connection that reads views. What it asks is counted: the server counts it as transactions.
pub struct Reader {
    views: Views,
    session: Option<Session>,
    asked: Arc<AtomicU64>,
}

impl Reader {
    /// Connects, if there is anything to read.
    pub fn connect(views: Views, address: &Address, asked: &Arc<AtomicU64>) -> Result<Reader> {
        debug_assert!(address.wire == Wire::Mysql || views != Views::MariaDb);
        let session = if views == Views::None { None } else { Some(Session::connect(address)?) };
        Ok(Reader { views, session, asked: Arc::clone(asked) })
    }

    /// What the views say now. Nothing if the server does not answer any more: whoever loads it will say so.
    pub fn read(&mut self) -> BTreeMap<String, f64> {
        let mut all = BTreeMap::new();
        let Some(session) = &mut self.session else { return all };
        let text = if self.views == Views::MariaDb { STATUS } else { STATES };
        self.asked.fetch_add(1, Relaxed);
        let Ok(rows) = session.rows(text) else { return all };
        for row in rows {
            if let [Some(name), Some(value)] = row.as_slice()
                && let Ok(value) = value.parse()
            {
                all.insert(name.clone(), value);
            }
        }
        if let Some(bytes) = self.region() {
            all.insert("region bytes".into(), bytes as f64);
        }
        all
    }

    /// Bytes of shared memory that the server says are in use; none if it does not say.
    pub fn region(&mut self) -> Option<u64> {
        let session = self.session.as_mut().filter(|_| self.views == Views::Gearbox)?;
        self.asked.fetch_add(1, Relaxed);
        session.number(REGION).ok().map(|bytes| bytes as u64)
    }
}

/// How many transactions the server has committed; none if it does not say. The reading itself counts as some, always as
/// many: [`counted_since`] takes them off.
fn commits(views: Views, address: &Address) -> Result<Option<u64>> {
    if !matches!(views, Views::Postgres | Views::Gearbox) {
        return Ok(None);
    }
    Ok(Some(Session::connect(address)?.number(COMMITS)? as u64))
}

/// Two readings, one after the other: what is between them is what a reading adds.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    last: u64,
    each: u64,
}

impl Count {
    /// How many transactions logging in is: a reading is a login and one question.
    pub fn login(&self) -> u64 {
        self.each.saturating_sub(1)
    }
}

/// Reads the server's count of transactions before a load.
pub fn count(views: Views, address: &Address) -> Result<Option<Count>> {
    let (Some(first), Some(last)) = (commits(views, address)?, commits(views, address)?) else { return Ok(None) };
    Ok(Some(Count { last, each: last - first }))
}

/// Reads it again after the load, when nobody else is connected.
///
/// PostgreSQL's sessions hand in their counts as they end, some time after their clients have left: the count is awaited up to what the
/// driver `expected`, for a second, and until two readings agree, so that one too many is seen too.
pub fn counted_since(before: Count, views: Views, address: &Address, expected: u64) -> Result<Option<u64>> {
    let began = std::time::Instant::now();
    let (mut readings, mut before_this) = (0, None);
    loop {
        let Some(now) = commits(views, address)? else { return Ok(None) };
        readings += 1;
        let counted = (now - before.last).saturating_sub(readings * before.each);
        if (counted >= expected && before_this == Some(counted)) || began.elapsed().as_secs() >= 1 {
            return Ok(Some(counted));
        }
        before_this = Some(counted);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
