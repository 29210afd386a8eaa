//! The queue of notifications: a ring in the region, and a row for each session that listens.
//!
//! ```text
//!  words:  … | lengths, sender | database | channel | payload | …      a ring
//!               ^ tail: the oldest that somebody has not read     ^ head: published up to here     ^ written, not published
//! ```
//!
//! Rules
//! 1. Positions count all words that were ever taken. Head, tail and what is written beyond the head change under the lock
//!    ([`LOCK`]), which is held across a commit; nothing here waits for anything else.
//! 2. A listener's position is its own. Words at or behind the position of one that listens are not overwritten. Who takes a place away
//!    from it ([`LOST`]) says so first; who has copied a message looks afterwards whether it still had its place.
//! 3. A listener is in the set before it takes its position, so that who looks for the oldest position either sees it or has looked at a head
//!    that is not newer.
//! 4. Of its channels a listener shows a mask of hashes: who notifies summons those whose mask has one of his, and those that are far
//!    behind, so that the tail goes on.

use crate::types::Oid;
use base::{Error, Result, SessionId, Xid, sqlstate};
use kernel::region;
use kernel::region::reserve::{Reserve, STEP};
use kernel::session;
use kernel::wait::Event;
use std::sync::atomic::{AtomicU64, Ordering::*, fence};
use storage::txn::LockKey;

/// The longest name of a channel, in bytes.
pub(crate) const CHANNEL_MAX: usize = 63;
/// The longest payload, in bytes.
pub(crate) const PAYLOAD_MAX: usize = 7999;
/// The ring's length in words.
const WORDS: usize = (16 << 20) / 8;
/// A listener that is so many words behind is summoned whatever it listens to.
const FAR_BEHIND: u64 = WORDS as u64 / 4;
const HEADER_WORDS: u64 = 2;
/// `pg_database`: PostgreSQL locks its row zero for this, too.
const PG_DATABASE: u32 = 1262;

/// Held, exclusively, by who commits notifications.
pub(crate) const LOCK: LockKey = LockKey::object(PG_DATABASE, 0);

// What a row's state says.
const SILENT: u64 = 0;
const LISTENS: u64 = 1;
/// Its place was taken away.
const LOST: u64 = 2;

kernel::shared! {
    struct QueueShared {
        head: AtomicU64,
        tail: AtomicU64,
        /// The end of what is written beyond the head, or of what is published and not yet told; zero for none.
        pending_end: AtomicU64,
        /// The transaction that commits it; zero if it has changed nothing.
        pending_xid: AtomicU64,
        /// The mask of its channels.
        pending_mask: AtomicU64,
    }

    struct Listener {
        state: AtomicU64,
        position: AtomicU64,
        mask: AtomicU64,
    }
}

/// The queue; references into the region, the same in every process.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    shared: &'static QueueShared,
    listeners: &'static [Listener],
    /// A bit for each session's slot: whether its row has to be looked at.
    set: &'static [AtomicU64],
    words: Reserve<AtomicU64>,
}

/// A notification, as a client is told of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notification {
    /// The number of the session that sent it.
    pub sender: u32,
    /// Its channel.
    pub channel: String,
    /// What was sent with it.
    pub payload: String,
}

/// What a listener finds.
enum Look {
    /// A message that it wants, and its end.
    Wanted(Notification, u64),
    /// One that it does not want, and its end.
    Other(u64),
    /// The words are no message: they have been overwritten.
    Broken,
}

/// The mask of a channel of a database, the same in every process.
pub(crate) fn mask(database: Oid, channel: &[u8]) -> u64 {
    let hash = crate::types::hash::hash_bytes(channel) as u32;
    1 << (hash.wrapping_add(database.0) % u64::BITS)
}

impl Queue {
    /// Takes the tables. Before the first engine.
    pub(crate) fn make() -> Queue {
        let slots = session::slots().len();
        Queue {
            shared: region::single("notifications"),
            listeners: region::table("notification listeners", slots),
            set: region::table("notification listeners set", slots.div_ceil(64)),
            words: Reserve::make("notification queue", WORDS),
        }
    }

    // ---- who listens

    /// A session listens to channels of that mask from now on; to none, if there is none.
    pub(crate) fn listen(&self, me: SessionId, mask: Option<u64>) {
        let row = &self.listeners[me.0 as usize];
        let (word, bit) = (&self.set[me.0 as usize / 64], 1 << (me.0 % 64));
        let Some(mask) = mask else {
            row.state.store(SILENT, SeqCst);
            word.fetch_and(!bit, SeqCst);
            return;
        };
        row.mask.store(mask, SeqCst);
        if row.state.load(SeqCst) == SILENT {
            row.position.store(self.shared.head.load(SeqCst), SeqCst);
            row.state.store(LISTENS, SeqCst);
            word.fetch_or(bit, SeqCst);
            // Rule 3: only from here on the words behind it stay.
            row.position.store(self.shared.head.load(SeqCst), SeqCst);
        }
    }

    /// The sessions in the set, with their rows.
    fn all(&self) -> impl Iterator<Item = (SessionId, &'static Listener)> {
        let listeners = self.listeners;
        self.set.iter().enumerate().flat_map(move |(index, word)| {
            let mut bits = word.load(SeqCst);
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros();
                bits = bits.checked_sub(1)? & bits;
                let slot = index as u32 * 64 + bit;
                Some((SessionId(slot), &listeners[slot as usize]))
            })
        })
    }

    /// True if there is something that the session has not looked at.
    #[inline]
    pub(crate) fn has_news(&self, me: SessionId) -> bool {
        self.listeners[me.0 as usize].position.load(Relaxed) != self.shared.head.load(Acquire)
    }

    /// Reads on from the session's place, to the end or until `bytes` of messages are read: those of its database whose channel `wants`
    /// are given to `give`.
    ///
    /// Errors: the session's end, if its place was taken away.
    pub(crate) fn read(
        &self,
        (me, database): (SessionId, Oid),
        bytes: usize,
        wants: impl Fn(&str) -> bool,
        mut give: impl FnMut(Notification),
    ) -> Result<()> {
        let row = &self.listeners[me.0 as usize];
        let mut position = row.position.load(Relaxed);
        let head = self.shared.head.load(Acquire);
        let end = head.min(position + (bytes / 8) as u64);
        while position < end {
            let found = self.look(position, head, database, &wants);
            // Pairs with the fence in `make_room`: if any word was a later message's, the state says so.
            fence(Acquire);
            if row.state.load(SeqCst) != LISTENS {
                return Err(lost());
            }
            position = match found {
                Look::Wanted(notification, end) => {
                    give(notification);
                    end
                }
                Look::Other(end) => end,
                Look::Broken => return Err(lost()),
            };
        }
        row.position.store(position, SeqCst);
        Ok(())
    }

    fn word(&self, position: u64) -> &'static AtomicU64 {
        &self.words.all()[(position % WORDS as u64) as usize]
    }

    fn look(&self, position: u64, head: u64, database: Oid, wants: impl Fn(&str) -> bool) -> Look {
        let first = self.word(position).load(Relaxed);
        let (sender, lengths) = (first as u32, first >> 32);
        let (channel_bytes, payload_bytes) = ((lengths & 0xFFFF) as usize, (lengths >> 16) as usize);
        let end = position + HEADER_WORDS + words_of(channel_bytes) + words_of(payload_bytes);
        if channel_bytes > CHANNEL_MAX || payload_bytes > PAYLOAD_MAX || end > head {
            return Look::Broken;
        }
        if self.word(position + 1).load(Relaxed) != u64::from(database.0) {
            return Look::Other(end);
        }
        let text = |from: u64, length: usize| {
            let mut bytes = Vec::with_capacity(length.next_multiple_of(8));
            for at in 0..words_of(length) {
                bytes.extend_from_slice(&self.word(from + at).load(Relaxed).to_le_bytes());
            }
            bytes.truncate(length);
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let channel = text(position + HEADER_WORDS, channel_bytes);
        if !wants(&channel) {
            return Look::Other(end);
        }
        let payload = text(position + HEADER_WORDS + words_of(channel_bytes), payload_bytes);
        Look::Wanted(Notification { sender, channel, payload }, end)
    }

    // ---- who notifies: under the lock

    /// Writes messages to those in a database beyond the head: pairs of channel and payload. `xid` is the transaction that commits them, if it has an id.
    ///
    /// Errors: `54000` if there is no room, `53200`.
    pub(crate) fn write<'m>(
        &self,
        (sender, database): (u32, Oid),
        messages: impl Iterator<Item = (&'m [u8], &'m [u8])> + Clone,
        xid: Option<Xid>,
    ) -> Result<()> {
        let words =
            |(channel, payload): (&[u8], &[u8])| HEADER_WORDS + words_of(channel.len()) + words_of(payload.len());
        let needed: u64 = messages.clone().map(words).sum();
        let head = self.shared.head.load(SeqCst);
        self.make_room(head, needed)?;
        self.back(head, needed)?;
        let mut at = head;
        let mut channels = 0;
        let mut put = |word: u64| {
            self.word(at).store(word, Relaxed);
            at += 1;
        };
        for (channel, payload) in messages {
            channels |= mask(database, channel);
            let lengths = channel.len() as u64 | (payload.len() as u64) << 16;
            put(lengths << 32 | u64::from(sender));
            put(database.0.into());
            channel.chunks(8).chain(payload.chunks(8)).for_each(|part| put(pack(part)));
        }
        self.shared.pending_xid.store(xid.map_or(0, |xid| xid.0), SeqCst);
        self.shared.pending_mask.store(channels, SeqCst);
        kernel::fault::point("notification.written");
        self.shared.pending_end.store(at, SeqCst);
        Ok(())
    }

    /// The memory of so many words from a position on.
    fn back(&self, position: u64, count: u64) -> Result<()> {
        const STEP_WORDS: usize = STEP / 8;
        // Only in the first round; a step that is backed stays so.
        if position >= WORDS as u64 {
            return Ok(());
        }
        let first = position as usize / STEP_WORDS * STEP_WORDS;
        let end = ((position + count) as usize).min(WORDS).next_multiple_of(STEP_WORDS).min(WORDS);
        self.words.back(first, end - first)
    }

    /// The oldest position that somebody has; `head` if nobody has one.
    fn oldest(&self, head: u64) -> u64 {
        let listening = self.all().filter(|(_, row)| row.state.load(SeqCst) == LISTENS);
        listening.map(|(_, row)| row.position.load(SeqCst)).fold(head, u64::min)
    }

    fn make_room(&self, head: u64, needed: u64) -> Result<()> {
        let has_room = |tail: u64| head + needed - tail <= WORDS as u64;
        if needed <= WORDS as u64 && has_room(self.shared.tail.load(Relaxed)) {
            return Ok(());
        }
        let mut tail = self.oldest(head);
        if needed <= WORDS as u64 && !has_room(tail) {
            // Rule 4 of the head of this folder.
            for (id, row) in self.all().filter(|(_, row)| !has_room(row.position.load(SeqCst))) {
                if session::slot(id).waiting().is_some_and(|(event, ..)| event == Event::ClientWrite) {
                    let _ = row.state.compare_exchange(LISTENS, LOST, SeqCst, SeqCst);
                }
            }
            tail = self.oldest(head);
        }
        self.shared.tail.store(tail, Relaxed);
        fence(SeqCst);
        match needed <= WORDS as u64 && has_room(tail) {
            true => Ok(()),
            false => {
                Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, "too many notifications in the NOTIFY queue")
                    .detail("Sessions that listen have not read older ones.")
                    .hint("End transactions of sessions that listen, or send fewer notifications in a transaction."))
            }
        }
    }

    /// The transaction has committed: what was written is there for all, and those that listen are summoned.
    pub(crate) fn publish(&self) {
        let end = self.shared.pending_end.load(SeqCst);
        if end == 0 {
            return;
        }
        let mask = self.shared.pending_mask.load(SeqCst);
        self.shared.head.store(end, SeqCst);
        kernel::fault::point("notification.published");
        let me = session::current_id();
        for (id, row) in self.all() {
            let is_behind = end.saturating_sub(row.position.load(SeqCst)) > FAR_BEHIND;
            if id != me && (row.mask.load(SeqCst) & mask != 0 || is_behind) {
                let slot = session::slot(id);
                slot.summon(slot.generation());
            }
        }
        self.shared.pending_end.store(0, SeqCst);
    }

    /// The transaction has not committed.
    pub(crate) fn take_back(&self) {
        self.shared.pending_end.store(0, SeqCst);
    }

    /// True if somebody has written and neither published nor taken back: he is about to, or died.
    pub(crate) fn is_pending(&self) -> bool {
        self.shared.pending_end.load(SeqCst) != 0
    }

    /// Does what somebody has not come to do who held the lock before and died.
    pub(crate) fn settle(&self, committed: impl FnOnce(Xid) -> bool) {
        if !self.is_pending() {
            return;
        }
        let published = self.shared.pending_end.load(SeqCst) <= self.shared.head.load(SeqCst);
        let xid = self.shared.pending_xid.load(SeqCst);
        match published || (xid != 0 && committed(Xid(xid))) {
            true => self.publish(),
            false => self.take_back(),
        }
    }

    /// How much of the queue is taken, from 0 to 1.
    pub(crate) fn usage(&self) -> f64 {
        let head = self.shared.head.load(SeqCst);
        (head - self.oldest(head)) as f64 / WORDS as f64
    }
}

fn words_of(bytes: usize) -> u64 {
    bytes.div_ceil(8) as u64
}

/// Up to eight bytes as a word.
fn pack(part: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..part.len()].copy_from_slice(part);
    u64::from_le_bytes(bytes)
}

#[cold]
fn lost() -> Error {
    Error::session(
        sqlstate::CONFIGURATION_LIMIT_EXCEEDED,
        "terminating connection because the client has not read its notifications",
    )
    .detail("The queue of notifications was full, and others had to go on.")
}
