//! Circles of waits: who waits for whom, and who gives up.
//!
//! A session that waits for something another session has writes into its row what it waits for ([`WaitFor`]). From that
//! anybody can tell which sessions are in its way: the one that runs a transaction; those that hold a lock in a conflicting mode, and
//! those before it in the lock's queue. After `deadlock_timeout` the session looks whether it is in its own way, over any number
//! of others.
//!
//! ```text
//!   wait ---- posted: look at the condition
//!     | time-out
//!     \---> latch `detector` -> search from myself -> a way back to me? -> every edge once more -> still? -> victim: 40P01
//! ```
//!
//! Rules
//! 1. What a row says is a hint that may be old when it is read; so a circle counts only if all of its edges are found a second time,
//!    in the same waits ([`WaitRecord::turn`]).
//! 2. One session searches at a time, and a victim erases its wait before the next one searches: a circle has one victim.
//! 3. A session searches for circles through itself only. The last one to close a circle waits for its time-out like the others,
//!    so somebody finds it; and since others may join later, it looks again, ever more rarely.
//! 4. Anything that sessions wait for can take part: [`WaitFor::Sessions`] names up to [`NAMED_MAX`] of them directly.

use super::Transactions;
use super::lock::LockMode;
use base::{Error, Kind, Result, SessionId, Xid, sqlstate};
use kernel::clock::{self, Nanos};
use kernel::session;
use kernel::sync::{Mode, WaitList};
use kernel::wait::{Event, Woken, wait};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Sessions that can be named directly.
pub const NAMED_MAX: usize = 4;
/// The longest time between two looks of one wait.
const LOOK_MAX_NS: Nanos = 1_000_000_000;
/// The shortest `deadlock_timeout`.
const LOOK_MIN_NS: Nanos = 1_000_000;

const NOTHING: u32 = 0;
const TRANSACTION: u32 = 1;
const LOCK: u32 = 2;
const SESSIONS: u32 = 3;

kernel::shared! {
    /// What a session waits for.
    pub(super) struct WaitRecord {
        kind: AtomicU32,
        /// The count of the session's waits: tells one from the next.
        turn: AtomicU32,
        /// A transaction, or a lock's place.
        target: AtomicU64,
        /// A mode of a lock.
        mode: AtomicU32,
        /// Written by who grants a lock: one when it is granted.
        pub(super) granted: AtomicU32,
        named: [AtomicU32; NAMED_MAX],
        /// A place in a lock's queue, under the lock's spinlock: the next session, counted from one; the holding that waits;
        /// the mode that it waits for, zero when it is in no queue; one if it is for the session and not for the transaction.
        pub(super) next: AtomicU32,
        pub(super) holding: AtomicU32,
        wanted: AtomicU32,
        for_session: AtomicU32,
    }
}

/// What a session waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WaitFor {
    /// The end of a transaction.
    Transaction(Xid),
    /// A lock, by its place in the lock table, in a mode.
    Lock(u32, LockMode),
    /// Others, by name.
    Sessions([Option<SessionId>; NAMED_MAX]),
}

/// A session that waits, for views: whom for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// Who waits.
    pub session: SessionId,
    /// Who is in its way.
    pub blockers: Vec<SessionId>,
}

impl WaitRecord {
    fn set(&self, what: WaitFor) {
        self.turn.fetch_add(1, Relaxed);
        match what {
            WaitFor::Transaction(xid) => {
                self.target.store(xid.0, Relaxed);
                self.kind.store(TRANSACTION, SeqCst);
            }
            WaitFor::Lock(lock, mode) => {
                self.target.store(lock as u64, Relaxed);
                self.mode.store(mode as u32, Relaxed);
                self.kind.store(LOCK, SeqCst);
            }
            WaitFor::Sessions(named) => {
                for (place, session) in self.named.iter().zip(named) {
                    place.store(session.map_or(0, |session| session.0 + 1), Relaxed);
                }
                self.kind.store(SESSIONS, SeqCst);
            }
        }
    }

    pub(super) fn clear(&self) {
        self.kind.store(NOTHING, SeqCst);
    }

    /// Takes a place in a lock's queue, before `next`. Under the lock's spinlock.
    pub(super) fn enqueue(&self, mode: LockMode, for_session: bool, holding: u32, next: Option<u32>) {
        self.granted.store(0, SeqCst);
        self.wanted.store(mode as u32, Relaxed);
        self.for_session.store(for_session as u32, Relaxed);
        self.holding.store(holding, Relaxed);
        self.next.store(next.map_or(0, |next| next + 1), Relaxed);
    }

    /// The mode that is waited for in a lock's queue.
    pub(super) fn wanted(&self) -> u32 {
        self.wanted.load(Relaxed)
    }

    pub(super) fn wants_for_session(&self) -> bool {
        self.for_session.load(Relaxed) != 0
    }

    /// Out of the queue. Under the lock's spinlock.
    pub(super) fn leave_queue(&self) {
        self.wanted.store(0, Relaxed);
    }

    fn get(&self) -> Option<WaitFor> {
        match self.kind.load(SeqCst) {
            TRANSACTION => Some(WaitFor::Transaction(Xid(self.target.load(Relaxed)))),
            LOCK => {
                let mode = LockMode::from_number(self.mode.load(Relaxed))?;
                Some(WaitFor::Lock(self.target.load(Relaxed) as u32, mode))
            }
            SESSIONS => {
                let mut named = [None; NAMED_MAX];
                for (session, place) in named.iter_mut().zip(&self.named) {
                    *session = place.load(Relaxed).checked_sub(1).map(SessionId);
                }
                Some(WaitFor::Sessions(named))
            }
            _ => None,
        }
    }
}

/// Why a wait came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(super) enum Waited {
    /// Somebody posted: look at the condition.
    Posted,
    /// It is time to look for a circle, with [`Turn::look`], out of all lists of waiters.
    Look,
}

/// One wait of a session, with its time-outs. What it waits for is in its row as long as this lives.
pub(super) struct Turn {
    records: &'static WaitRecord,
    deadline: Option<Nanos>,
    look_at: Nanos,
    look_after: Nanos,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.records.clear();
    }
}

impl Turn {
    /// Waits until the session is posted, or something is due. Errors: `57014` and its kin, `55P03`.
    pub(super) fn wait(&mut self, event: Event, param: u64) -> Result<Waited> {
        let until = self.deadline.map_or(self.look_at, |deadline| deadline.min(self.look_at));
        match wait(event, param, Some(until)) {
            Woken::Posted => return Ok(Waited::Posted),
            Woken::Interrupted(interrupt) => return Err(session::interrupt_error(interrupt)),
            Woken::TimedOut => {}
        }
        let now = clock::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Err(Error::statement(sqlstate::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout"));
        }
        Ok(if now >= self.look_at { Waited::Look } else { Waited::Posted })
    }

    /// Looks for a circle, if that is due. Not from within a list of waiters: it takes a latch. Errors: `40P01`.
    pub(super) fn look(&mut self, transactions: &'static Transactions, waited: Waited) -> Result<()> {
        if waited == Waited::Look {
            transactions.look_for_circle()?;
            self.look_after = (self.look_after * 2).min(LOOK_MAX_NS);
            self.look_at = clock::now() + self.look_after;
        }
        Ok(())
    }
}

impl Transactions {
    /// Begins a wait: writes into the session's row what it waits for.
    pub(super) fn begin_turn(&self, what: WaitFor, deadline: Option<Nanos>) -> Turn {
        let records = &self.mine().waits;
        records.set(what);
        let look_after = self.shared.deadlock_timeout_ns.load(Relaxed).max(LOOK_MIN_NS);
        Turn { records, deadline, look_at: clock::now() + look_after, look_after }
    }

    /// Waits until `done`, for whatever else sessions can have from each other (an engine, admission, a pin): `blockers` are in the
    /// way as far as is known, and whoever ends the wait posts `list`.
    ///
    /// Errors: `40P01` and what interrupts the event.
    pub fn wait_for_sessions(
        &'static self,
        event: Event,
        param: u64,
        list: &WaitList,
        blockers: &[SessionId],
        deadline: Option<Nanos>,
        mut done: impl FnMut() -> bool,
    ) -> Result<()> {
        let mut named = [None; NAMED_MAX];
        for (place, session) in named.iter_mut().zip(blockers) {
            *place = Some(*session);
        }
        let mut turn = self.begin_turn(WaitFor::Sessions(named), deadline);
        while !done() {
            list.enter(0);
            let waited = if done() { Ok(Waited::Posted) } else { turn.wait(event, param) };
            list.leave();
            turn.look(self, waited?)?;
        }
        Ok(())
    }

    /// Looks for a circle through the running session; an error if there is one and this session is to give up.
    fn look_for_circle(&'static self) -> Result<()> {
        let me = session::current_id();
        // A latch, not a spinlock: the search is long, and others that want to search wait for it.
        let _detector = self.shared.detector.lock(Mode::Exclusive, Event::TransactionLatch);
        let Some(circle) = self.find_circle(me) else { return Ok(()) };
        // Rule 1.
        let still = circle.iter().all(|edge| self.is_still(edge));
        if !still {
            return Ok(());
        }
        // Rule 2.
        self.mine().waits.clear();
        self.shared.deadlocks.fetch_add(1, Relaxed);
        let lines: Vec<String> = circle
            .iter()
            .map(|edge| {
                let (from, to) = (number(edge.from), number(edge.to));
                format!("Session {from} waits for {}; it is blocked by session {to}.", describe(edge.what))
            })
            .collect();
        Err(Error::new(Kind::Retry, sqlstate::DEADLOCK_DETECTED, "deadlock detected").detail(lines.join(" ")))
    }

    /// A way from `start` back to itself over sessions that wait.
    fn find_circle(&self, start: SessionId) -> Option<Vec<Edge>> {
        let mut seen = vec![start];
        let mut path: Vec<Edge> = Vec::new();
        // Each level: the edges that leave one session, and how many of them have been followed.
        let mut levels = vec![(self.edges(start), 0)];
        while let Some((edges, followed)) = levels.last_mut() {
            let Some(edge) = edges.get(*followed).copied() else {
                levels.pop();
                path.pop();
                continue;
            };
            *followed += 1;
            if edge.to == start {
                path.push(edge);
                return Some(path);
            }
            if !seen.contains(&edge.to) {
                seen.push(edge.to);
                path.push(edge);
                levels.push((self.edges(edge.to), 0));
            }
        }
        None
    }

    /// Who is in the way of a session that waits.
    fn edges(&self, from: SessionId) -> Vec<Edge> {
        let record = &self.row(from).waits;
        let turn = record.turn.load(SeqCst);
        let Some(what) = record.get() else { return Vec::new() };
        let mut blockers = Vec::new();
        match what {
            WaitFor::Transaction(xid) => blockers.extend(self.session_of(xid)),
            WaitFor::Lock(lock, mode) => self.locks.blockers(self, lock, from, mode, &mut blockers),
            WaitFor::Sessions(named) => blockers.extend(named.into_iter().flatten()),
        }
        if record.turn.load(SeqCst) != turn {
            return Vec::new();
        }
        blockers.sort_unstable();
        blockers.dedup();
        blockers.into_iter().filter(|&to| to != from).map(|to| Edge { from, to, what, turn }).collect()
    }

    /// True if an edge is there in the same wait.
    fn is_still(&self, edge: &Edge) -> bool {
        self.edges(edge.from).iter().any(|now| now.to == edge.to && now.turn == edge.turn)
    }

    /// Who is in the way of a session that waits for a lock or for a transaction; nobody if it does not.
    pub fn blockers(&self, session: SessionId) -> Vec<SessionId> {
        self.edges(session).into_iter().map(|edge| edge.to).collect()
    }

    /// The transaction whose end a session waits for. For views.
    pub fn awaited(&self, session: SessionId) -> Option<Xid> {
        match self.row(session).waits.get() {
            Some(WaitFor::Transaction(xid)) => Some(xid),
            _ => None,
        }
    }

    /// Every session that waits for a lock, and who is in its way.
    pub fn waiting(&self) -> Vec<Waiting> {
        let sessions = (0..self.reached().len() as u32).map(SessionId);
        let waiting = sessions.map(|session| {
            let blockers = self.edges(session).into_iter().map(|edge| edge.to).collect();
            Waiting { session, blockers }
        });
        waiting.filter(|waiting| !waiting.blockers.is_empty()).collect()
    }
}

/// One session waits for another.
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: SessionId,
    to: SessionId,
    what: WaitFor,
    turn: u32,
}

fn describe(what: WaitFor) -> String {
    match what {
        WaitFor::Transaction(xid) => format!("transaction {xid}"),
        WaitFor::Lock(_, mode) => format!("a lock in mode {}", mode.as_str()),
        WaitFor::Sessions(_) => "something that another session has".to_string(),
    }
}

/// The number of a session that users see.
fn number(session: SessionId) -> u32 {
    session::slot(session).number()
}
