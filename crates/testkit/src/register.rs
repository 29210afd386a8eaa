//! A checker of registers: is there one order of all operations that explains what everybody saw?
//!
//! The order must keep that of operations of which one was answered before the other was asked for; in it every read must
//! give what the last write before it wrote (linearizability, after Wing and Gong). A write that was never answered may
//! stand anywhere behind its beginning, or nowhere.
//!
//! The search tries, as the next in the order, every operation that began before the first answer among the rest; what
//! was tried is remembered by the set of operations done and the register's value. Runs are short, so that is enough.

use crate::history::{Operation, Time};
use std::collections::BTreeSet;

/// What can be asked of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// Its value.
    Read,
    /// To take a value.
    Write(u64),
}

/// The answer: the value read; nothing for a write.
pub type Told = Option<u64>;

/// Looks for an order; an error names the operations for which there is none. `initial` is the value at the beginning.
pub fn check(initial: u64, operations: &[Operation<Asked, Told>]) -> Result<(), String> {
    // A read that was not answered says nothing.
    let said: Vec<&Operation<Asked, Told>> =
        operations.iter().filter(|operation| operation.told.is_some() || operation.asked != Asked::Read).collect();
    assert!(said.len() <= 128, "a register's history is too long to be checked: {} operations", said.len());
    let mut search = Search { operations: &said, tried: BTreeSet::new() };
    match search.explain(0, initial) {
        true => Ok(()),
        false => Err(format!("no order explains what was seen of a register:\n{}", list(&said))),
    }
}

struct Search<'a> {
    operations: &'a [&'a Operation<Asked, Told>],
    tried: BTreeSet<(u128, u64)>,
}

impl Search<'_> {
    fn explain(&mut self, done: u128, value: u64) -> bool {
        let left = || (0..self.operations.len()).filter(|at| done & 1 << at == 0);
        let answered: Vec<Time> = left().filter_map(|at| self.operations[at].told.map(|told| told.1)).collect();
        // What was answered is explained; writes without an answer need not have happened.
        let Some(&first_answer) = answered.iter().min() else { return true };
        if !self.tried.insert((done, value)) {
            return false;
        }
        let candidates: Vec<usize> = left().filter(|&at| self.operations[at].from <= first_answer).collect();
        candidates.into_iter().any(|at| match self.operations[at].asked {
            Asked::Write(new) => self.explain(done | 1 << at, new),
            Asked::Read => {
                let seen = self.operations[at].told.and_then(|told| told.0);
                seen == Some(value) && self.explain(done | 1 << at, value)
            }
        })
    }
}

fn list(operations: &[&Operation<Asked, Told>]) -> String {
    let line = |operation: &&Operation<Asked, Told>| {
        let told = operation.told.map_or("never answered".into(), |(told, at)| match told {
            Some(value) => format!("{value} at {at}"),
            None => format!("done at {at}"),
        });
        format!("  client {} at {}: {:?}: {told}\n", operation.client, operation.from, operation.asked)
    };
    operations.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(value: u64, from: Time, to: Option<Time>) -> Operation<Asked, Told> {
        Operation { client: 0, asked: Asked::Write(value), from, told: to.map(|at| (None, at)) }
    }

    fn read(value: u64, from: Time, to: Time) -> Operation<Asked, Told> {
        Operation { client: 1, asked: Asked::Read, from, told: Some((Some(value), to)) }
    }

    #[test]
    fn what_can_be_explained() {
        for (name, operations) in [
            ("nothing", vec![]),
            ("one after the other", vec![write(1, 0, Some(1)), read(1, 2, 3)]),
            ("a read during a write sees either", vec![write(1, 0, Some(9)), read(0, 1, 2), read(1, 3, 4)]),
            ("an unanswered write shows late", vec![write(1, 0, None), read(0, 5, 6), read(1, 7, 8)]),
            ("an unanswered write never shows", vec![write(1, 0, None), read(0, 5, 6)]),
        ] {
            assert_eq!(check(0, &operations), Ok(()), "{name}");
        }
    }

    #[test]
    fn what_cannot() {
        for (name, operations) in [
            ("a lost write", vec![write(1, 0, Some(1)), read(0, 2, 3)]),
            ("back in time", vec![write(1, 0, Some(9)), read(1, 1, 2), read(0, 3, 4)]),
            ("from nowhere", vec![read(7, 0, 1)]),
            ("before it was asked for", vec![read(1, 0, 1), write(1, 2, Some(3))]),
        ] {
            assert!(check(0, &operations).is_err(), "{name}");
        }
    }
}
