//! What each session does, for `pg_stat_activity`: a row of the region for each session's slot.
//!
//! The engine that runs the session writes its row; anybody may read it in any process, without a lock. A row is a run of words
//! with a count in front that is odd while the row is being written: a reader that saw it odd, or changed, reads again, and
//! takes what it got after a few times, since it is shown to people.
//!
//! Rules
//! 1. A row is written at the beginning and at the end of a request's work, never per row of a result.
//! 2. Texts are cut: a query at [`QUERY_BYTES`], a name at [`NAME_BYTES`]; never within a character.

use crate::access::tls::Encrypted;
use base::SessionId;
use kernel::region;
use sql::session::Ended;
use sql::types::Oid;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// How much of a query is kept, in bytes: PostgreSQL's `track_activity_query_size`.
pub const QUERY_BYTES: usize = 1024;
/// How much of an application's name is kept, in bytes.
pub const NAME_BYTES: usize = 64;

/// What a session does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Doing {
    /// It waits for its client, outside a transaction.
    Idle = 0,
    /// It runs a statement.
    Active = 1,
    /// It waits for its client, in a transaction.
    IdleInTransaction = 2,
    /// It waits for its client, in a transaction that failed.
    IdleInFailed = 3,
}

impl Doing {
    /// PostgreSQL's words.
    pub fn as_str(self) -> &'static str {
        match self {
            Doing::Idle => "idle",
            Doing::Active => "active",
            Doing::IdleInTransaction => "idle in transaction",
            Doing::IdleInFailed => "idle in transaction (aborted)",
        }
    }

    fn from_number(number: u32) -> Doing {
        match number {
            1 => Doing::Active,
            2 => Doing::IdleInTransaction,
            3 => Doing::IdleInFailed,
            _ => Doing::Idle,
        }
    }
}

kernel::shared! {
    /// A session's row. Texts are words, least byte first, with their lengths before them.
    struct Row {
        /// Odd while the row is being written.
        sequence: AtomicU32,
        doing: AtomicU32,
        /// The client's address, as IPv6, and its port; zero for none.
        address_high: AtomicU64,
        address_low: AtomicU64,
        port: AtomicU32,
        /// The number of its database; zero while it logs in.
        database: AtomicU32,
        user_bytes: AtomicU32,
        application_bytes: AtomicU32,
        query_bytes: AtomicU32,
        /// Microseconds since 2000; zero for none.
        transaction_start: AtomicU64,
        query_start: AtomicU64,
        state_change: AtomicU64,
        /// Transactions of the session that ended.
        commits: AtomicU64,
        rollbacks: AtomicU64,
        /// How the connection is encrypted: bits of the key, 1.3 or not, which cipher; zero for not at all.
        encrypted: AtomicU64,
        certificate_bytes: [AtomicU32; 3],
        /// The client's certificate: whose it is, who signed it, its number.
        certificate: [[AtomicU64; NAME_BYTES / 8]; 3],
        user: [AtomicU64; NAME_BYTES / 8],
        application: [AtomicU64; NAME_BYTES / 8],
        query: [AtomicU64; QUERY_BYTES / 8],
    }
}

kernel::shared! {
    /// Transactions of sessions that are over, of a database.
    struct Total {
        /// The database; zero if the place is free.
        database: AtomicU32,
        unused: AtomicU32,
        commits: AtomicU64,
        rollbacks: AtomicU64,
    }
}

/// Of how many databases transactions are counted; those of further ones are counted together, as nobody's.
const DATABASES_COUNTED: usize = 1024;

fn set_text(length: &AtomicU32, words: &[AtomicU64], text: &[u8]) {
    let text = cut(text, words.len() * 8);
    let (chunks, rest) = text.as_chunks();
    for (word, chunk) in words.iter().zip(chunks) {
        word.store(u64::from_le_bytes(*chunk), Relaxed);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        words[chunks.len()].store(u64::from_le_bytes(last), Relaxed);
    }
    length.store(text.len() as u32, Relaxed);
}

/// As much of a text as has room, up to the end of a character.
fn cut(text: &[u8], room: usize) -> &[u8] {
    let is_inside = |at: usize| text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let end = (0..=room.min(text.len())).rev().find(|&at| !is_inside(at));
    &text[..end.unwrap_or(0)]
}

fn text(length: &AtomicU32, words: &[AtomicU64]) -> String {
    let length = (length.load(Relaxed) as usize).min(words.len() * 8);
    let bytes: Vec<u8> =
        words.iter().take(length.div_ceil(8)).flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

/// Version and name of every cipher that is there.
const CIPHERS: [(&str, &str); 9] = [
    ("TLSv1.3", "TLS_AES_256_GCM_SHA384"),
    ("TLSv1.3", "TLS_AES_128_GCM_SHA256"),
    ("TLSv1.3", "TLS_CHACHA20_POLY1305_SHA256"),
    ("TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384"),
    ("TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"),
    ("TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305"),
    ("TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384"),
    ("TLSv1.2", "ECDHE-RSA-AES128-GCM-SHA256"),
    ("TLSv1.2", "ECDHE-RSA-CHACHA20-POLY1305"),
];

/// How a session's connection is encrypted.
#[derive(Clone, Debug)]
pub struct SeenEncryption {
    /// `TLSv1.3`
    pub version: &'static str,
    /// The cipher.
    pub cipher: &'static str,
    /// The bits of its key.
    pub bits: u32,
    /// The client's certificate: whose it is, who signed it, its number; empty without one.
    pub certificate: [String; 3],
}

/// A copy of a row.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What the session does.
    pub doing: Doing,
    /// The client's address.
    pub client: Option<SocketAddr>,
    /// When its transaction began: microseconds since 2000.
    pub transaction_start: Option<i64>,
    /// When its last query began.
    pub query_start: Option<i64>,
    /// When it began to do what it does.
    pub state_change: Option<i64>,
    /// The number of its database; none while it logs in.
    pub database: Oid,
    /// Its user; empty while it logs in.
    pub user: String,
    /// Its encryption, if it has one.
    pub encrypted: Option<SeenEncryption>,
    /// `application_name`.
    pub application: String,
    /// Its last query.
    pub query: String,
}

/// All rows; see the head of this file.
#[derive(Clone, Copy)]
pub struct Activity {
    rows: &'static [Row],
    /// The first place is for those for which there is no other.
    totals: &'static [Total],
}

impl Activity {
    /// Takes the rows. Before the first engine.
    pub fn make() -> Activity {
        Activity {
            rows: region::table("activity", kernel::session::slots().len()),
            totals: region::table("transactions by database", 1 + DATABASES_COUNTED),
        }
    }

    fn row(&self, session: SessionId) -> &'static Row {
        &self.rows[session.0 as usize]
    }

    fn write(&self, session: SessionId, change: impl FnOnce(&Row)) {
        let row = self.row(session);
        // A writer that died left it odd; the next one makes it even again. The release pairs with the reader's acquire.
        let sequence = row.sequence.load(Relaxed) | 1;
        row.sequence.store(sequence, Relaxed);
        std::sync::atomic::fence(Release);
        change(row);
        row.sequence.store(sequence.wrapping_add(1), Release);
    }

    /// A session of a user is in, in a database.
    pub fn begin(&self, session: SessionId, (user, database): (&str, Oid), client: Option<SocketAddr>, now: i64) {
        self.write(session, |row| {
            let (address, port) = match client {
                Some(SocketAddr::V4(v4)) => (v4.ip().to_ipv6_mapped().octets(), v4.port()),
                Some(SocketAddr::V6(v6)) => (v6.ip().octets(), v6.port()),
                None => ([0; 16], 0),
            };
            let (high, low) = (u128::from_be_bytes(address) >> 64, u128::from_be_bytes(address));
            row.address_high.store(high as u64, Relaxed);
            row.address_low.store(low as u64, Relaxed);
            row.port.store(port.into(), Relaxed);
            row.database.store(database.0, Relaxed);
            set_text(&row.user_bytes, &row.user, user.as_bytes());
            set_text(&row.query_bytes, &row.query, b"");
            set_text(&row.application_bytes, &row.application, b"");
            row.query_start.store(0, Relaxed);
            row.transaction_start.store(0, Relaxed);
            row.state_change.store(now as u64, Relaxed);
            row.doing.store(Doing::Idle as u32, Relaxed);
        });
    }

    /// The session is about to be a role's.
    pub fn named(&self, session: SessionId, user: &str) {
        self.write(session, |row| set_text(&row.user_bytes, &row.user, user.as_bytes()));
    }

    /// How the session's connection is encrypted.
    pub fn encrypted(&self, session: SessionId, encrypted: Option<&Encrypted>) {
        self.write(session, |row| {
            let index = encrypted.and_then(|of| CIPHERS.iter().position(|&known| known == (of.version, of.cipher)));
            let bits = encrypted.map_or(0, |of| u64::from(of.bits));
            row.encrypted.store(bits << 8 | index.unwrap_or(0) as u64, Relaxed);
            let texts = encrypted.map_or([""; 3], Encrypted::certificate);
            for (at, text) in texts.iter().enumerate() {
                set_text(&row.certificate_bytes[at], &row.certificate[at], text.as_bytes());
            }
        });
    }

    /// A statement begins.
    pub fn query(&self, session: SessionId, text: &[u8], now: i64) {
        self.write(session, |row| {
            set_text(&row.query_bytes, &row.query, text);
            row.query_start.store(now as u64, Relaxed);
            row.state_change.store(now as u64, Relaxed);
            row.doing.store(Doing::Active as u32, Relaxed);
            if row.transaction_start.load(Relaxed) == 0 {
                row.transaction_start.store(now as u64, Relaxed);
            }
        });
    }

    /// The session waits for its client.
    pub fn rest(&self, session: SessionId, doing: Doing, now: i64) {
        self.write(session, |row| {
            row.state_change.store(now as u64, Relaxed);
            row.doing.store(doing as u32, Relaxed);
            if doing == Doing::Idle {
                row.transaction_start.store(0, Relaxed);
            }
        });
    }

    /// Transactions of the session have ended. They stay counted when the session is over ([`Activity::end`]).
    pub fn ended(&self, session: SessionId, ended: Ended) {
        let row = self.row(session);
        let add = |counter: &AtomicU64, count| counter.store(counter.load(Relaxed) + count, Relaxed);
        add(&row.commits, ended.committed);
        add(&row.rollbacks, ended.rolled_back);
    }

    /// The transactions of a database that ended since the server's start; of none, those that could not be told apart.
    pub fn all_ended(&self, database: Oid) -> Ended {
        let rows = self.rows[..kernel::session::slots_reached().len()].iter();
        let (mut committed, mut rolled_back) = (0, 0);
        for row in rows.filter(|row| row.database.load(Relaxed) == database.0) {
            committed += row.commits.load(Relaxed);
            rolled_back += row.rollbacks.load(Relaxed);
        }
        let is_its = |total: &&Total| total.database.load(Relaxed) == database.0;
        let total = if database.is_none() { self.totals.first() } else { self.totals[1..].iter().find(is_its) };
        if let Some(total) = total {
            committed += total.commits.load(Relaxed);
            rolled_back += total.rollbacks.load(Relaxed);
        }
        Ended { committed, rolled_back }
    }

    /// Where transactions of a database are counted when their session is over.
    fn total(&self, database: u32) -> &'static Total {
        let find = || {
            // Who finds a place taken meanwhile may find it taken for the same database.
            self.totals[1..].iter().find(|total| match total.database.compare_exchange(0, database, Relaxed, Relaxed) {
                Ok(_) => true,
                Err(known) => known == database,
            })
        };
        if database == 0 { &self.totals[0] } else { find().unwrap_or(&self.totals[0]) }
    }

    /// How many sessions are in a database.
    pub fn sessions_of(&self, database: Oid) -> u32 {
        let slots = kernel::session::slots_reached().iter().filter(|slot| slot.is_used() && !slot.is_background());
        slots.filter(|slot| self.row(slot.id()).database.load(Relaxed) == database.0).count() as u32
    }

    /// The client calls itself so.
    pub fn application(&self, session: SessionId, name: &str) {
        self.write(session, |row| set_text(&row.application_bytes, &row.application, name.as_bytes()));
    }

    /// The session is over.
    pub fn end(&self, session: SessionId) {
        self.write(session, |row| {
            let total = self.total(row.database.swap(0, Relaxed));
            total.commits.fetch_add(row.commits.swap(0, Relaxed), Relaxed);
            total.rollbacks.fetch_add(row.rollbacks.swap(0, Relaxed), Relaxed);
            set_text(&row.user_bytes, &row.user, b"");
            row.encrypted.store(0, Relaxed);
        });
    }

    /// What a session does.
    pub fn see(&self, session: SessionId) -> Seen {
        const PATIENCE: usize = 8;
        let row = self.row(session);
        let mut seen = copy(row);
        for _ in 0..PATIENCE {
            let before = row.sequence.load(Acquire);
            seen = copy(row);
            std::sync::atomic::fence(Acquire);
            if before.is_multiple_of(2) && row.sequence.load(Relaxed) == before {
                break;
            }
        }
        seen
    }
}

fn encryption(row: &Row) -> Option<SeenEncryption> {
    let word = row.encrypted.load(Relaxed);
    let (version, cipher) = *CIPHERS.get((word & 0xFF) as usize)?;
    let certificate = [0, 1, 2].map(|at| text(&row.certificate_bytes[at], &row.certificate[at]));
    (word != 0).then_some(SeenEncryption { version, cipher, bits: (word >> 8) as u32, certificate })
}

fn copy(row: &Row) -> Seen {
    let at = |time: &AtomicU64| Some(time.load(Relaxed) as i64).filter(|&time| time != 0);
    let port = row.port.load(Relaxed) as u16;
    let address = u128::from(row.address_high.load(Relaxed)) << 64 | u128::from(row.address_low.load(Relaxed));
    let ip = Ipv6Addr::from(address);
    let ip = ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4);
    Seen {
        doing: Doing::from_number(row.doing.load(Relaxed)),
        client: (port != 0).then(|| SocketAddr::new(ip, port)),
        transaction_start: at(&row.transaction_start),
        query_start: at(&row.query_start),
        state_change: at(&row.state_change),
        encrypted: encryption(row),
        database: Oid(row.database.load(Relaxed)),
        user: text(&row.user_bytes, &row.user),
        application: text(&row.application_bytes, &row.application),
        query: text(&row.query_bytes, &row.query),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut(b"abc", 8), b"abc");
        assert_eq!(cut(b"abcdefgh", 8), b"abcdefgh");
        assert_eq!(cut(b"abcdefghi", 8), b"abcdefgh");
        let text = "abcdefg\u{e9}";
        assert_eq!(cut(text.as_bytes(), 8), b"abcdefg");
        assert_eq!(cut(text.as_bytes(), 9), text.as_bytes());
        assert_eq!(cut("\u{1f980}".as_bytes(), 3), b"");
    }
}
