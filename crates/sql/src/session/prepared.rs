//! What a session keeps from request to request: plans, prepared statements, portals.
//!
//! A plan that the session made for itself lies in a *slab*, with a count of who uses it: the statement that was prepared,
//! and portals that were made from it and may outlive it.
//!
//! Rules
//! 1. A portal's parameters and the rest of its rows are bytes in the session's memory; no execution outlives its request.

use super::output::Format;
use super::{List, Text};
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
    users: u32,
}

impl<A: Allocator + Copy> Plans<A> {
    pub(super) fn new(memory: A) -> Plans<A> {
        Plans { slots: List::new_in(memory) }
    }

    /// Keeps a plan, with one user.
    pub(crate) fn add(&mut self, bytes: &[u8], memory: A) -> Result<PlanId> {
        let bytes = super::bytes_in(bytes, memory)?;
        if let Some(at) = self.slots.iter().position(|slot| slot.users == 0) {
            self.slots[at] = PlanSlot { bytes, users: 1 };
            return Ok(PlanId(at as u32));
        }
        self.slots.try_reserve(1).map_err(|_| Error::out_of_memory("a session's plans", size_of::<PlanSlot<A>>()))?;
        self.slots.push(PlanSlot { bytes, users: 1 });
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
        }
    }

    /// The plan's bytes.
    pub(crate) fn bytes(&self, id: PlanId) -> &[u8] {
        &self.slots[id.0 as usize].bytes
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
    /// A statement that is not planned; it is read again when it is executed.
    Utility,
    /// Nothing.
    Empty,
}

/// A prepared statement.
pub(crate) struct Prepared<A: Allocator + Copy> {
    /// Its text.
    pub(crate) text: Text<A>,
    /// The types of its parameters that the client said, from `$1`; zero where it did not.
    pub(crate) declared: List<u32, A>,
    /// What it is.
    pub(crate) body: Body,
}

/// A portal: a statement with its parameters, maybe with rows that are left.
pub(crate) struct Portal<A: Allocator + Copy> {
    /// The statement's text.
    pub(crate) text: Text<A>,
    /// What it is.
    pub(crate) body: Body,
    /// The parameters' values, one after another, as `plan::blob::put_value` writes them.
    pub(crate) parameters: Text<A>,
    /// How the result's columns are written: none for all text, one for all, or one each.
    pub(crate) formats: List<Format, A>,
    /// How far it is.
    pub(crate) progress: Progress<A>,
    /// Made by `DECLARE`.
    pub(crate) cursor: bool,
    /// Stays after its transaction.
    pub(crate) holds: bool,
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
    /// At its end.
    Done,
}

impl<A: Allocator + Copy> Portal<A> {
    /// How a column of the result is written.
    pub(crate) fn format(&self, column: usize) -> Format {
        match self.formats.as_slice() {
            [] => Format::Text,
            [one] => *one,
            each => each.get(column).copied().unwrap_or_default(),
        }
    }
}

impl<A: Allocator + Copy> super::Session<A> {
    /// The text of a portal's statement, for those who look on; empty if there is no such portal.
    pub fn portal_text(&self, name: &str) -> &str {
        let portal = match name.is_empty() {
            true => self.unnamed_portal.as_ref(),
            false => self.portals.get(&super::Named(name.as_bytes())),
        };
        portal.and_then(|portal| std::str::from_utf8(&portal.text).ok()).unwrap_or_default()
    }
}
