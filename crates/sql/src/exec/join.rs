//! Joins by nested loops; those by hash tables are in [`hash_join`](super::hash_join), those by merging in
//! [`merge_join`](super::merge_join).
//!
//! Rules
//! 1. Null keys match nothing; a row with one is kept only where the join keeps rows without a partner.
//! 2. Whatever order rows are found in, a row without a partner is given once.

use super::ahead::Outer;
use super::value::Value;
use super::{Exec, State};
use crate::plan::blob::At;
use crate::plan::record::NestedLoop;
use base::Result;

pub(super) const LEFT: u32 = 1;
pub(super) const SEMI: u32 = 2;
pub(super) const ANTI: u32 = 3;
pub(super) const RIGHT: u32 = 4;
pub(super) const FULL: u32 = 5;

impl Exec<'_> {
    pub(super) fn nested_loop(&mut self, node: At) -> Result<bool> {
        let bytes = self.plan.bytes;
        let record = NestedLoop::read(bytes, node);
        let inner = At(record.inner);
        let (mut current, mut ahead, mut is_first) = match self.take(node) {
            State::Loop { matched, ahead } => (matched, ahead, false),
            State::Done => {
                self.put(node, State::Done);
                return Ok(false);
            }
            _ => (None, None, true),
        };
        loop {
            // What is left to be asked of the inner node: nothing, if the row has come with its only partner.
            let (mut matched, asks) = match current.take() {
                Some(matched) => (matched, true),
                None => match self.next_outer_of_loop(&record, is_first, &mut ahead)? {
                    Outer::Over => {
                        self.put(node, State::Done);
                        return Ok(false);
                    }
                    Outer::Begun => (false, true),
                    Outer::Only(found) => (found && self.holds(record.condition)?, false),
                },
            };
            is_first = false;
            if !asks && matched && record.join != ANTI {
                self.put(node, State::Loop { matched: None, ahead });
                return Ok(true);
            }
            while asks && self.next(inner)? {
                self.breath()?;
                if !self.holds(record.condition)? {
                    continue;
                }
                matched = true;
                match record.join {
                    SEMI => {
                        self.put(node, State::Loop { matched: None, ahead });
                        return Ok(true);
                    }
                    ANTI => break,
                    _ => {
                        self.put(node, State::Loop { matched: Some(matched), ahead });
                        return Ok(true);
                    }
                }
            }
            if !matched && (record.join == LEFT || record.join == ANTI) {
                self.nulls(record.nulls);
                self.put(node, State::Loop { matched: None, ahead });
                return Ok(true);
            }
        }
    }

    /// Sets registers to null.
    pub(super) fn nulls(&mut self, registers: u32) {
        for register in self.plan.bytes.list(At(registers)).iter() {
            self.registers[register as usize] = Value::Null;
        }
    }
}
