//! What a session has to do with notifications: channels that it listens to, what its transaction has asked for, and
//! `LISTEN`, `UNLISTEN` and `NOTIFY`.
//!
//! Rules
//! 1. All of it happens when the transaction commits; a rollback, also one to a savepoint, takes back what was asked for since.
//! 2. A notification that is sent twice in a transaction is sent once, in the first one's place.

use super::Notification;
use super::queue::{self, CHANNEL_MAX, LOCK, PAYLOAD_MAX, Queue};
use crate::session::work::transactions;
use crate::session::{Environment, List, Map, Named, Session, Tag, Text, bytes_in, text_in};
use crate::types::Oid;
use allocator_api2::alloc::Allocator;
use base::{Error, Result, SessionId, sqlstate};
use kernel::region::arena::FixedHasher;
use std::hash::BuildHasherDefault;
use storage::txn::lock::{LockScope, LockWait};
use storage::txn::{LockMode, Status};

/// What a transaction has asked for about channels.
enum Wish<A: Allocator + Copy> {
    Listen(Text<A>),
    Unlisten(Text<A>),
    UnlistenAll,
}

/// See the head of this file.
pub(crate) struct Notices<A: Allocator + Copy> {
    /// The channels that the session listens to.
    channels: List<Text<A>, A>,
    wishes: List<Wish<A>, A>,
    /// What the transaction sends: channel, a zero byte, payload.
    outgoing: List<Text<A>, A>,
    /// The same, to be looked up.
    sent: Map<(), A>,
}

/// How much a transaction had asked for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Asked {
    wishes: usize,
    outgoing: usize,
}

/// What a commit is about to do.
pub(crate) struct Announced<A: Allocator + Copy> {
    queue: Queue,
    /// The channels that the session listens to afterwards, if that changes.
    channels: Option<List<Text<A>, A>>,
    sends: bool,
}

fn no_memory() -> Error {
    Error::out_of_memory("a transaction's notifications", PAYLOAD_MAX)
}

fn split(message: &[u8]) -> (&[u8], &[u8]) {
    let end = message.iter().position(|&byte| byte == 0).unwrap_or(message.len());
    (&message[..end], message.get(end + 1..).unwrap_or(&[]))
}

/// Refuses what cannot be sent. Errors: `22023`.
pub(crate) fn check(channel: &str, payload: &str) -> Result<()> {
    let refused = |message| Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
    if channel.is_empty() {
        return refused("channel name cannot be empty");
    }
    if channel.len() > CHANNEL_MAX {
        return refused("channel name too long");
    }
    if payload.len() > PAYLOAD_MAX {
        return refused("payload string too long");
    }
    Ok(())
}

impl<A: Allocator + Copy> Notices<A> {
    pub(crate) fn new(memory: A) -> Notices<A> {
        Notices {
            channels: List::new_in(memory),
            wishes: List::new_in(memory),
            outgoing: List::new_in(memory),
            sent: Map::with_hasher_in(BuildHasherDefault::<FixedHasher>::default(), memory),
        }
    }

    /// The channels that the session listens to.
    pub(crate) fn channels(&self) -> impl Iterator<Item = &[u8]> {
        self.channels.iter().map(|channel| channel.as_slice())
    }

    /// How much the transaction has asked for.
    pub(crate) fn asked(&self) -> Asked {
        Asked { wishes: self.wishes.len(), outgoing: self.outgoing.len() }
    }

    /// Takes back what it has asked for since.
    pub(crate) fn take_back(&mut self, asked: Asked) {
        self.wishes.truncate(asked.wishes);
        while self.outgoing.len() > asked.outgoing {
            if let Some(message) = self.outgoing.pop() {
                self.sent.remove(&Named(&message));
            }
        }
    }

    fn wish(&mut self, wish: Wish<A>) -> Result<()> {
        self.wishes.try_reserve(1).map_err(|_| no_memory())?;
        self.wishes.push(wish);
        Ok(())
    }

    fn send(&mut self, channel: &str, payload: &str, memory: A) -> Result<()> {
        let whole = [channel.as_bytes(), b"\0", payload.as_bytes()].concat();
        if self.sent.contains_key(&Named(&whole)) {
            return Ok(());
        }
        self.outgoing.try_reserve(1).map_err(|_| no_memory())?;
        self.sent.try_reserve(1).map_err(|_| no_memory())?;
        let (message, key) = (bytes_in(&whole, memory)?, bytes_in(&whole, memory)?);
        self.outgoing.push(message);
        self.sent.insert(key, ());
        Ok(())
    }

    /// The channels that the session listens to when its wishes have come true.
    fn after(&self, memory: A) -> Result<List<Text<A>, A>> {
        let mut channels = List::new_in(memory);
        channels.try_reserve(self.channels.len() + self.wishes.len()).map_err(|_| no_memory())?;
        for channel in &self.channels {
            channels.push(bytes_in(channel, memory)?);
        }
        for wish in &self.wishes {
            match wish {
                Wish::Listen(name) if channels.contains(name) => {}
                Wish::Listen(name) => channels.push(bytes_in(name, memory)?),
                Wish::Unlisten(name) => channels.retain(|channel| channel != name),
                Wish::UnlistenAll => channels.clear(),
            }
        }
        Ok(channels)
    }
}

fn mask_of<A: Allocator + Copy>(database: Oid, channels: &[Text<A>]) -> Option<u64> {
    match channels {
        [] => None,
        some => Some(some.iter().fold(0, |mask, channel| mask | queue::mask(database, channel))),
    }
}

fn queue_of(env: &Environment<'_>) -> Result<(Queue, SessionId)> {
    let found = env.database.notifications.zip(env.session);
    found.ok_or_else(|| Error::unsupported("notifications are not supported here"))
}

impl<A: Allocator + Copy> Session<A> {
    /// `LISTEN`. Errors: `0A000` outside an engine.
    pub(crate) fn listen_statement(&mut self, env: &Environment<'_>, channel: &str) -> Result<Option<Tag>> {
        queue_of(env)?;
        let name = text_in(channel, self.memory)?;
        self.notices.wish(Wish::Listen(name))?;
        Ok(Some(Tag::Words("LISTEN")))
    }

    /// `UNLISTEN` of one channel, or of all.
    pub(crate) fn unlisten_statement(&mut self, channel: Option<&str>) -> Result<Option<Tag>> {
        // Nothing to be taken back.
        if !(self.notices.channels.is_empty() && self.notices.wishes.is_empty()) {
            let wish = match channel {
                Some(channel) => Wish::Unlisten(text_in(channel, self.memory)?),
                None => Wish::UnlistenAll,
            };
            self.notices.wish(wish)?;
        }
        Ok(Some(Tag::Words("UNLISTEN")))
    }

    /// `NOTIFY`. Errors: `22023`; `0A000` outside an engine.
    pub(crate) fn notify_statement(
        &mut self,
        env: &Environment<'_>,
        channel: &str,
        payload: &str,
    ) -> Result<Option<Tag>> {
        self.notify(env, channel, payload)?;
        Ok(Some(Tag::Words("NOTIFY")))
    }

    /// Sends a notification when the transaction commits.
    pub(crate) fn notify(&mut self, env: &Environment<'_>, channel: &str, payload: &str) -> Result<()> {
        queue_of(env)?;
        check(channel, payload)?;
        self.notices.send(channel, payload, self.memory)
    }

    /// The transaction is about to commit: what it sends is written, behind a lock, and its session has its place in the queue. None if
    /// there is nothing to do. [`Session::announced`] follows.
    ///
    /// Errors: `54000`, `53200`, those of waiting for a lock.
    pub(crate) fn announce(&mut self, env: &Environment<'_>) -> Result<Option<Announced<A>>> {
        let notices = &self.notices;
        if notices.wishes.is_empty() && notices.outgoing.is_empty() {
            return Ok(None);
        }
        let (queue, me) = queue_of(env)?;
        let channels = match notices.wishes.is_empty() {
            true => None,
            false => Some(notices.after(self.memory)?),
        };
        let sends = !notices.outgoing.is_empty();
        if sends {
            let transactions = transactions(env.stored()?);
            transactions.lock(LOCK, LockMode::AccessExclusive, LockScope::Session, LockWait::Forever)?;
        }
        // From here on there is something to give up.
        let announced = Announced { queue, channels, sends };
        if let Some(mask) = announced.channels.as_deref().and_then(|channels| mask_of(self.database, channels)) {
            let before = mask_of(self.database, &notices.channels).unwrap_or(0);
            queue.listen(me, Some(mask | before));
        }
        match self.write_outgoing(env, queue) {
            Ok(()) => Ok(Some(announced)),
            Err(error) => {
                self.announced(env, Some(announced), false);
                Err(error)
            }
        }
    }

    fn write_outgoing(&self, env: &Environment<'_>, queue: Queue) -> Result<()> {
        if self.notices.outgoing.is_empty() {
            return Ok(());
        }
        let transactions = transactions(env.stored()?);
        queue.settle(|xid| matches!(transactions.status(xid), Status::Committed(_) | Status::Ancient));
        let messages = self.notices.outgoing.iter().map(|message| split(message));
        queue.write((env.number, self.database), messages, transactions.current_xid())
    }

    /// The transaction has committed, or failed to.
    pub(crate) fn announced(&mut self, env: &Environment<'_>, announced: Option<Announced<A>>, committed: bool) {
        let Some(Announced { queue, channels, sends }) = announced else { return };
        if sends {
            match committed {
                true => queue.publish(),
                false => queue.take_back(),
            }
            if let Some(relations) = env.relations() {
                transactions(relations).unlock(LOCK, LockMode::AccessExclusive);
            }
        }
        if let Some(channels) = channels {
            if committed {
                self.notices.channels = channels;
            }
            if let Some(me) = env.session {
                queue.listen(me, mask_of(self.database, &self.notices.channels));
            }
        }
    }

    /// True if notifications may have come for the client. Costs next to nothing where the session does not listen.
    #[inline]
    pub fn has_notifications(&self, env: &Environment<'_>) -> bool {
        !self.notices.channels.is_empty()
            && !self.transaction.outlives_statement()
            && !self.transaction.is_started()
            && env.database.notifications.zip(env.session).is_some_and(|(queue, me)| queue.has_news(me))
    }

    /// Gives notifications that have come for the client, some at a time: until [`Session::has_notifications`] says no.
    ///
    /// Errors: the session's end, if the client has not read for too long.
    pub fn take_notifications(&self, env: &Environment<'_>, give: impl FnMut(Notification)) -> Result<()> {
        const BYTES_AT_ONCE: usize = 64 << 10;
        let (queue, me) = queue_of(env)?;
        let wants = |channel: &str| self.notices.channels().any(|mine| mine == channel.as_bytes());
        queue.read((me, self.database), BYTES_AT_ONCE, wants, give)
    }
}

/// A session has ended, however it did: it listens no more, and what its death has left half done is done.
pub(crate) fn end_session(queue: Queue, me: SessionId, relations: &'static storage::relation::Relations) {
    queue.listen(me, None);
    if !queue.is_pending() {
        return;
    }
    // Of somebody who is about to publish, or of the dead session.
    let transactions = transactions(relations);
    if transactions.lock(LOCK, LockMode::AccessExclusive, LockScope::Session, LockWait::Forever).is_ok() {
        queue.settle(|xid| matches!(transactions.status(xid), Status::Committed(_) | Status::Ancient));
        transactions.unlock(LOCK, LockMode::AccessExclusive);
    }
}
