//! What a session keeps from request to request: plans, prepared statements, portals.
//!
//! A plan that the session made for itself lies in a *slab*, with a count of who uses it: the statement that was prepared,
//! and portals that were made from it and may outlive it.
//!
//! Rules
//! 1. A plan that is executed is lent out of its place and given back, whatever came of the execution.
//! 2. A portal's parameters and the rest of its rows are bytes in the session's memory; no execution outlives its request.

use super::control::Control;
use super::current::Stamp;
use super::custom::Tried;
use super::output::{Format, Tag};
use super::{List, Text};
use crate::types::Oid;
use allocator_api2::alloc::Allocator;
use base::{Error, Result};

/// The number of a plan in the session's slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PlanId(u32);

/// Plans with a count of their users.
pub(crate) struct Plans<A: Allocator + Copy> {
    slots: List<PlanSlot<A>, A>,
}

struct PlanSlot<A: Allocator + Copy> {
    bytes: Text<A>,
    /// The statement that it was made from, for those who look on.
    text: Text<A>,
    users: u32,
    /// When it last stood.
    stamp: Option<Stamp>,
    /// How the prepared statement that has it was executed so far.
    tried: Tried,
}

impl<A: Allocator + Copy> Plans<A> {
    pub(super) fn new(memory: A) -> Plans<A> {
        Plans { slots: List::new_in(memory) }
    }

    /// Keeps a plan of the statement of that text, with one user.
    pub(crate) fn add(&mut self, bytes: &[u8], text: &[u8], memory: A) -> Result<PlanId> {
        let (bytes, text) = (super::bytes_in(bytes, memory)?, super::bytes_in(text, memory)?);
        if let Some(at) = self.slots.iter().position(|slot| slot.users == 0) {
            self.slots[at] = PlanSlot { bytes, text, users: 1, stamp: None, tried: Tried::default() };
            return Ok(PlanId(at as u32));
        }
        self.slots.try_reserve(1).map_err(|_| Error::out_of_memory("a session's plans", size_of::<PlanSlot<A>>()))?;
        self.slots.push(PlanSlot { bytes, text, users: 1, stamp: None, tried: Tried::default() });
        Ok(PlanId(self.slots.len() as u32 - 1))
    }

    /// One more user.
    pub(crate) fn share(&mut self, id: PlanId) -> PlanId {
        self.slots[id.0 as usize].users += 1;
        id
    }

    /// One user less; the last one takes the plan with him.
    pub(crate) fn release(&mut self, id: PlanId, memory: A) {
        let slot = &mut self.slots[id.0 as usize];
        debug_assert!(slot.users > 0);
        slot.users -= 1;
        if slot.users == 0 {
            slot.bytes = Text::new_in(memory);
            slot.text = Text::new_in(memory);
        }
    }

    /// The text of the statement that a plan was made from.
    pub(crate) fn text(&self, id: PlanId) -> &[u8] {
        &self.slots[id.0 as usize].text
    }

    /// The plan's bytes.
    pub(crate) fn bytes(&self, id: PlanId) -> &[u8] {
        &self.slots[id.0 as usize].bytes
    }

    /// Takes the plan's bytes for an execution, during which the session changes; [`Plans::give_back`] follows.
    pub(crate) fn lend(&mut self, id: PlanId, memory: A) -> Text<A> {
        std::mem::replace(&mut self.slots[id.0 as usize].bytes, Text::new_in(memory))
    }

    /// The execution is over.
    pub(crate) fn give_back(&mut self, id: PlanId, bytes: Text<A>) {
        self.slots[id.0 as usize].bytes = bytes;
    }

    /// When the plan last stood.
    pub(crate) fn stamp(&self, id: PlanId) -> Option<Stamp> {
        self.slots[id.0 as usize].stamp
    }

    /// Notes when the plan last stood.
    pub(crate) fn set_stamp(&mut self, id: PlanId, stamp: Option<Stamp>) {
        self.slots[id.0 as usize].stamp = stamp;
    }

    /// How the prepared statement that has the plan was executed so far; it goes with the statement to its next plan.
    pub(crate) fn tried(&self, id: PlanId) -> Tried {
        self.slots[id.0 as usize].tried
    }

    /// The same, to be changed.
    pub(crate) fn tried_mut(&mut self, id: PlanId) -> &mut Tried {
        &mut self.slots[id.0 as usize].tried
    }

    /// How many plans are kept.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.slots.iter().filter(|slot| slot.users > 0).count()
    }
}

/// What a prepared statement is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Body {
    /// A plan.
    Plan(PlanId),
    /// A call of a procedure.
    Call(PreparedCall),
    /// A statement that is not planned; it is read again when it is executed.
    Utility,
    /// The same, with parameters of the query in it: the plan of that tells their types.
    Within(PlanId),
    /// A statement of transaction control.
    Control(Control),
    /// Nothing.
    Empty,
}

impl Body {
    /// The plan in the session's slab that it uses.
    pub(crate) fn plan(self) -> Option<PlanId> {
        match self {
            Body::Plan(id) | Body::Within(id) => Some(id),
            Body::Call(call) => Some(call.plan),
            Body::Utility | Body::Control(_) | Body::Empty => None,
        }
    }
}

/// A call that was prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PreparedCall {
    /// The plan that computes what goes in; it has the parameters. Its stamp is that of the whole.
    pub(crate) plan: PlanId,
    /// The procedure.
    pub(crate) routine: Oid,
    /// A number that differs where results do.
    pub(crate) outputs: u64,
}

/// A prepared statement.
pub(crate) struct Prepared<A: Allocator + Copy> {
    /// The text of a statement that is not planned; a plan has its own.
    pub(crate) text: Text<A>,
    /// The types of its parameters that the client said, from `$1`; zero where it did not.
    pub(crate) declared: List<u32, A>,
    /// What it is.
    pub(crate) body: Body,
    /// When it was prepared.
    pub(crate) made_at: i64,
    /// The text of the `PREPARE` that made it; none if the protocol did.
    pub(crate) sql_text: Option<Text<A>>,
}

/// A portal: a statement with its parameters, maybe with rows that are left.
pub(crate) struct Portal<A: Allocator + Copy> {
    /// The text of a statement that is not planned; a plan has its own.
    pub(crate) text: Text<A>,
    /// What it is.
    pub(crate) body: Body,
    /// The parameters' values, one after another, as `plan::blob::put_value` writes them.
    pub(crate) parameters: Text<A>,
    /// How the result's columns are written: none for all text, one for all, or one each.
    pub(crate) formats: List<Format, A>,
    /// How far it is.
    pub(crate) progress: Progress<A>,
    /// The number of the transaction that holds the locks of its plan's tables since it was made.
    pub(crate) locked_in: u64,
    /// How many savepoints the session had had when it was made.
    pub(crate) savepoints: u64,
    /// Made by `DECLARE`.
    pub(crate) cursor: bool,
    /// Stays after its transaction.
    pub(crate) holds: bool,
    /// The transaction that made it has committed.
    pub(crate) committed: bool,
    /// It may go backward.
    pub(crate) scrolls: bool,
    /// When it was made.
    pub(crate) made_at: i64,
}

/// How far a portal is.
pub(crate) enum Progress<A: Allocator + Copy> {
    /// Not begun.
    New,
    /// Begun; the rows that are left, in the form of `put_value`, and where the next one begins.
    Left {
        /// The rows.
        rows: Text<A>,
        /// The next one's first byte.
        at: usize,
    },
    /// A cursor with all its rows.
    Spooled(Spool<A>),
    /// Of a statement that is not planned: carried out, with the rows that are left, as [`super::told`] keeps them.
    Told {
        /// The rows.
        rows: Text<A>,
        /// The next one's first byte.
        at: usize,
        /// What it is called when it is done.
        tag: Tag,
    },
    /// At its end.
    Done,
    /// It failed, and cannot be executed any more.
    Failed,
}

/// The rows of a cursor, among which it moves.
pub(crate) struct Spool<A: Allocator + Copy> {
    /// The rows, in the form of `put_value`.
    pub(crate) rows: Text<A>,
    /// Where each begins.
    pub(crate) starts: List<usize, A>,
    /// The number of the row that it is on, from one; zero before the first, one more than there are behind the last.
    pub(crate) place: u64,
}

impl<A: Allocator + Copy> Portal<A> {
    /// How a column of the result is written.
    pub(crate) fn format(&self, column: usize) -> Format {
        format_of(&self.formats, column)
    }
}

/// How a column of a result is written: `formats` are none for all text, one for all, or one each.
pub(crate) fn format_of(formats: &[Format], column: usize) -> Format {
    match formats {
        [] => Format::Text,
        [one] => *one,
        each => each.get(column).copied().unwrap_or_default(),
    }
}

impl<A: Allocator + Copy> super::Session<A> {
    /// The text of a portal's statement, for those who look on; empty if there is no such portal.
    pub fn portal_text(&self, name: &str) -> &[u8] {
        let portal = match name.is_empty() {
            true => self.unnamed_portal.as_ref(),
            false => self.portals.get(&super::Named(name.as_bytes())),
        };
        portal.map_or(&[][..], |portal| match portal.body.plan() {
            Some(id) => self.plans.text(id),
            None => &portal.text,
        })
    }
}
