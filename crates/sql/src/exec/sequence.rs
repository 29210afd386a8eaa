//! Values of sequences: `nextval`, `currval`, `lastval`, `setval`.
//!
//! ```text
//!   nextval:  what the session has kept for itself? -> lock the sequence, read what it is -> advance its counter -> keep the rest
//! ```
//!
//! Rules
//! 1. A sequence that is used is locked until the transaction ends, so that nobody changes what it is; users of one sequence do not
//!    hinder one another. What it is, is read when it is locked.
//! 2. A session keeps values only of the storage that they came from: whoever changes a sequence gives it another one.
//! 3. Values that were given out are never taken back, whatever becomes of the transaction.

use super::around::Around;
use crate::catalog::definition::{RelationKind, Rows, SequenceDef, TableDef};
use crate::catalog::privilege::{SELECT, UPDATE, USAGE};
use crate::types::op::Op;
use crate::types::{Arena, Datum, Oid};
use base::{Error, RelId, Result, Xid, sqlstate};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use storage::heap::{Advance, Heap, SequenceState};
use storage::txn::lock::LockScope;
use storage::txn::{LockKey, LockMode};

/// How many values are logged at once, as in PostgreSQL.
const LOGGED: i64 = 32;

/// What a session remembers of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    /// The sequence.
    pub oid: Oid,
    /// Where the values came from.
    pub storage: RelId,
    /// The last value that the session was given, if it was.
    pub last: Option<i64>,
    /// The value that was given out last, of those that the session keeps.
    pub at: i64,
    /// The last of the values that it keeps.
    pub kept: i64,
    /// The step between them.
    pub increment: i64,
}

/// What a session remembers of sequences.
pub trait Memory {
    /// Of one of them.
    fn known(&self, oid: Oid) -> Option<Known>;
    /// Remembers it. Errors: `53200`.
    fn remember(&self, known: Known) -> Result<()>;
    /// The one that `nextval` was last called for.
    fn latest(&self) -> Oid;
    /// Notes a call of `nextval`.
    fn set_latest(&self, oid: Oid);
}

/// A list of what is remembered, in any memory.
pub struct Remembered<A: allocator_api2::alloc::Allocator> {
    known: RefCell<allocator_api2::vec::Vec<Known, A>>,
    latest: Cell<Oid>,
}

impl<A: allocator_api2::alloc::Allocator> Remembered<A> {
    /// Nothing.
    pub fn new(memory: A) -> Remembered<A> {
        Remembered { known: RefCell::new(allocator_api2::vec::Vec::new_in(memory)), latest: Cell::new(Oid::NONE) }
    }

    /// Forgets all: `DISCARD SEQUENCES`.
    pub fn clear(&self) {
        self.known.borrow_mut().clear();
        self.latest.set(Oid::NONE);
    }
}

impl<A: allocator_api2::alloc::Allocator> Memory for Remembered<A> {
    fn known(&self, oid: Oid) -> Option<Known> {
        self.known.borrow().iter().find(|known| known.oid == oid).copied()
    }

    fn remember(&self, known: Known) -> Result<()> {
        let mut list = self.known.borrow_mut();
        if let Some(old) = list.iter_mut().find(|old| old.oid == known.oid) {
            *old = known;
            return Ok(());
        }
        let bytes = (list.len() + 1) * size_of::<Known>();
        list.try_reserve(1).map_err(|_| Error::out_of_memory("what a session knows of sequences", bytes))?;
        list.push(known);
        Ok(())
    }

    fn latest(&self) -> Oid {
        self.latest.get()
    }

    fn set_latest(&self, oid: Oid) {
        self.latest.set(oid);
    }
}

/// A sequence that is locked.
struct Sequence {
    def: Arc<TableDef>,
    rules: SequenceDef,
    heap: Heap,
    storage: RelId,
}

impl Around<'_> {
    /// Answers a function of sequences. May wait.
    ///
    /// Errors: `42809`, `55000`, `2200H`, `22003`, `25006`, those of locking and of the storage.
    pub(super) fn of_sequences<'a>(&self, op: Op, args: &[Datum<'a>], arena: &'a Arena) -> Result<Datum<'a>> {
        let oid = |at: usize| Oid(args.get(at).map_or(0, |arg| arg.int()) as u32);
        match op {
            Op::NextValue => self.next_value(oid(0), args.len() > 1).map(Datum::Int),
            Op::SetValue => {
                let called = args.get(2).is_none_or(|called| called.bool());
                self.set_value(oid(0), args.get(1).map_or(0, |value| value.int()), called).map(Datum::Int)
            }
            Op::CurrentValue => {
                let sequence = self.sequence(oid(0), LockMode::RowExclusive)?;
                self.check_sequence(&sequence.def, USAGE | SELECT)?;
                match self.sequences.known(oid(0)).and_then(|known| known.last) {
                    Some(value) => Ok(Datum::Int(value)),
                    None => Err(undefined(format!(
                        "currval of sequence \"{}\" is not yet defined in this session",
                        sequence.def.name
                    ))),
                }
            }
            Op::LastValue => {
                let latest = self.sequences.latest();
                let undefined = || undefined("lastval is not yet defined in this session".to_owned());
                let known = self.sequences.known(latest).and_then(|known| known.last);
                // One that is gone has no last value.
                let sequence = match latest.is_none() {
                    true => None,
                    false => self.sequence(latest, LockMode::RowExclusive).ok(),
                };
                let sequence = sequence.ok_or_else(undefined)?;
                self.check_sequence(&sequence.def, USAGE | SELECT)?;
                known.map(Datum::Int).ok_or_else(undefined)
            }
            Op::SequenceLast => {
                let sequence = self.sequence(oid(0), LockMode::AccessShare)?;
                if self.check_sequence(&sequence.def, USAGE | SELECT).is_err() {
                    return Ok(Datum::Null);
                }
                let state = sequence.heap.sequence(|state| Ok((Advance::Keep, state)))?;
                Ok(if state.called { Datum::Int(state.last) } else { Datum::Null })
            }
            Op::SequencePart => {
                let (rules, state) = self.sequence_state(oid(0))?;
                Ok(Datum::Int(match args.get(1).map_or(0, |part| part.int()) {
                    0 => state.last,
                    1 => ((i128::from(state.logged) - i128::from(state.last)) / i128::from(rules.increment)) as i64,
                    _ => state.called.into(),
                }))
            }
            _ => self.serial_sequence(args, arena),
        }
    }

    fn sequence_state(&self, oid: Oid) -> Result<(SequenceDef, SequenceState)> {
        let sequence = self.sequence(oid, LockMode::AccessShare)?;
        self.check_sequence(&sequence.def, SELECT)?;
        let state = sequence.heap.sequence(|state| Ok((Advance::Keep, state)))?;
        Ok((sequence.rules, state))
    }

    /// Locks a sequence, then reads what it is.
    fn sequence(&self, oid: Oid, mode: LockMode) -> Result<Sequence> {
        let relations = self
            .relations
            .filter(|_| self.session.is_some())
            .ok_or_else(|| Error::unsupported("sequences are not supported here"))?;
        let missing = || {
            let message = format!("could not open relation with OID {}", oid.0);
            Error::statement(sqlstate::UNDEFINED_TABLE, message)
        };
        // No relation has the number 0, and none is locked by it.
        if oid.0 == 0 {
            return Err(missing());
        }
        self.lock_for_function(relations.storage().transactions, LockKey::relation(oid.0), mode)?;
        let catalog = self.catalog.get()?;
        let own = catalog.definitions.table(oid).cloned();
        let committed = match self.committed {
            Some(committed) => committed.definitions()?.table(oid).cloned(),
            None => None,
        };
        // What this transaction has made of it counts, or else what is committed.
        let is_own = |def: &Arc<TableDef>| relations.storage().transactions.is_mine(Xid(def.version >> 24));
        let def = match (own, committed) {
            (Some(own), _) if is_own(&own) => own,
            (_, Some(committed)) => committed,
            (Some(own), None) if self.committed.is_none() => own,
            _ => match catalog.table_by_oid(oid)? {
                Some(other) if other.kind != RelationKind::Sequence => other,
                _ => return Err(missing()),
            },
        };
        let (Some(rules), Rows::Stored(storage)) = (def.sequence, def.rows) else {
            let message = format!("\"{}\" is not a sequence", def.name);
            return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
        };
        Ok(Sequence { heap: relations.heap(storage), def, rules, storage })
    }

    /// The next value; for a column that it is a part of, whoever asks.
    fn next_value(&self, oid: Oid, is_part: bool) -> Result<i64> {
        self.check_writes("nextval()")?;
        let sequence = self.sequence(oid, LockMode::RowExclusive)?;
        if !is_part {
            self.check_sequence(&sequence.def, USAGE | UPDATE)?;
        }
        self.sequences.set_latest(oid);
        if let Some(mut known) = self.sequences.known(oid).filter(|known| known.storage == sequence.storage)
            && known.at != known.kept
        {
            known.at += known.increment;
            known.last = Some(known.at);
            self.sequences.remember(known)?;
            return Ok(known.at);
        }
        let rules = sequence.rules;
        let name = &sequence.def.name;
        let (first, last) = sequence.heap.sequence(|state| advance(&rules, state, name))?;
        let storage = sequence.storage;
        let known = Known { oid, storage, last: Some(first), at: first, kept: last, increment: rules.increment };
        self.sequences.remember(known)?;
        Ok(first)
    }

    fn set_value(&self, oid: Oid, value: i64, called: bool) -> Result<i64> {
        self.check_writes("setval()")?;
        let sequence = self.sequence(oid, LockMode::RowExclusive)?;
        self.check_sequence(&sequence.def, UPDATE)?;
        let SequenceDef { min, max, increment, .. } = sequence.rules;
        if value < min || value > max {
            let name = &sequence.def.name;
            let message = format!("setval: value {value} is out of bounds for sequence \"{name}\" ({min}..{max})");
            return Err(Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        let state = SequenceState { last: value, called, logged: value };
        sequence.heap.sequence(|_| Ok((Advance::Log(state), ())))?;
        let before = self.sequences.known(oid).and_then(|known| known.last);
        let last = if called { Some(value) } else { before };
        let storage = sequence.storage;
        self.sequences.remember(Known { oid, storage, last, at: value, kept: value, increment })?;
        Ok(value)
    }

    fn check_writes(&self, words: &str) -> Result<()> {
        if self.read_only {
            let message = format!("cannot execute {words} in a read-only transaction");
            return Err(Error::statement(sqlstate::READ_ONLY_SQL_TRANSACTION, message));
        }
        Ok(())
    }

    /// `pg_get_serial_sequence(table, column)`
    fn serial_sequence<'a>(&self, args: &[Datum<'a>], arena: &'a Arena) -> Result<Datum<'a>> {
        let text = |at: usize| String::from_utf8_lossy(args[at].bytes()).into_owned();
        let (table, column) = (text(0), text(1));
        let catalog = self.catalog.get()?;
        let oid = catalog.read_reg(Oid::REGCLASS, &table)?;
        let Some(def) = catalog.table_by_oid(oid)? else { return Ok(Datum::Null) };
        let Some(at) = def.column(&column) else {
            let message = format!("column \"{column}\" of relation \"{}\" does not exist", def.name);
            return Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message));
        };
        let owned = catalog.definitions.tables().find(|known| {
            let owner = known.sequence.and_then(|sequence| sequence.owner);
            owner.is_some_and(|owner| owner.table == def.oid && usize::from(owner.column) == at)
        });
        let Some(owned) = owned else { return Ok(Datum::Null) };
        let schema = catalog.schema_name(owned.schema).unwrap_or_default();
        let quoted = base::settings::quoted_identifier;
        let name = format!("{}.{}", quoted(&schema), quoted(&owned.name));
        Ok(Datum::Bytes(arena.copy(name.as_bytes())?))
    }

    fn lock_for_function(
        &self,
        transactions: &'static storage::Transactions,
        key: LockKey,
        mode: LockMode,
    ) -> Result<()> {
        self.lock_with_timeout(transactions, key, mode, LockScope::Transaction, true).map(drop)
    }
}

fn undefined(message: String) -> Error {
    Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// The next value of a counter, and the last of those that a session keeps with it.
fn advance(rules: &SequenceDef, state: SequenceState, name: &str) -> Result<(Advance, (i64, i64))> {
    let step = i128::from(rules.increment);
    let bound = if step > 0 { rules.max } else { rules.min };
    // How many steps there are before the bound is passed.
    let left = |from: i64| (i128::from(bound) - i128::from(from)) / step;
    // The first value of this call: what was never called is given out itself.
    let (first, mut logs) = match state.called {
        false => (state.last, true),
        true if left(state.last) > 0 => ((i128::from(state.last) + step) as i64, false),
        true if rules.cycle => (if step > 0 { rules.min } else { rules.max }, true),
        true => {
            let word = if step > 0 { "maximum" } else { "minimum" };
            let message = format!("nextval: reached {word} value of sequence \"{name}\" ({bound})");
            return Err(Error::statement(sqlstate::SEQUENCE_GENERATOR_LIMIT_EXCEEDED, message));
        }
    };
    // What a session keeps never goes around.
    let steps = left(first).max(0);
    let kept = i128::from(rules.cache - 1).min(steps);
    let last = (i128::from(first) + kept * step) as i64;
    let reached = if step > 0 { last <= state.logged } else { last >= state.logged };
    logs |= !reached;
    if !logs {
        return Ok((Advance::Move(SequenceState { last, called: true, logged: state.logged }), (first, last)));
    }
    let further = i128::from(LOGGED).min(left(last).max(0));
    let logged = (i128::from(last) + further * step) as i64;
    Ok((Advance::Log(SequenceState { last, called: true, logged }), (first, last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: SequenceDef =
        SequenceDef { ty: Oid::INT8, start: 1, increment: 1, min: 1, max: 100, cache: 1, cycle: false, owner: None };

    fn values(rules: &SequenceDef, count: usize) -> (Vec<(i64, i64)>, usize, Option<Error>) {
        let (mut state, mut found, mut logs) = (SequenceState::starting_at(rules.start), Vec::new(), 0);
        for _ in 0..count {
            match advance(rules, state, "s") {
                Ok((Advance::Move(next), given)) => {
                    state = next;
                    found.push(given);
                }
                Ok((Advance::Log(next), given)) => {
                    logs += 1;
                    state = next;
                    found.push(given);
                }
                Ok((Advance::Keep, _)) => unreachable!("a sequence that does not move"),
                Err(error) => return (found, logs, Some(error)),
            }
            // Nothing was given out that the log does not have.
            assert!(if rules.increment > 0 { state.last <= state.logged } else { state.last >= state.logged });
        }
        (found, logs, None)
    }

    #[test]
    fn values_follow_one_another_and_are_logged_in_groups() {
        let (found, logs, error) = values(&RULES, 101);
        assert_eq!(found, (1..=100).map(|value| (value, value)).collect::<Vec<_>>());
        assert_eq!(logs, 4);
        assert_eq!(error.unwrap().sqlstate(), sqlstate::SEQUENCE_GENERATOR_LIMIT_EXCEEDED);
    }

    #[test]
    fn sequences_go_down_and_around_and_in_large_steps() {
        let down = SequenceDef { start: -1, increment: -3, min: -10, max: -1, cycle: true, ..RULES };
        let (found, _, _) = values(&down, 6);
        assert_eq!(found.iter().map(|given| given.0).collect::<Vec<_>>(), [-1, -4, -7, -10, -1, -4]);
        let large = SequenceDef { start: i64::MIN, increment: i64::MAX, min: i64::MIN, max: i64::MAX, ..RULES };
        let (found, _, error) = values(&large, 9);
        assert_eq!(found.iter().map(|given| given.0).collect::<Vec<_>>(), [i64::MIN, -1, i64::MAX - 1]);
        assert!(error.is_some());
        let kept = SequenceDef { cache: 40, ..RULES };
        assert_eq!(values(&kept, 3).0, [(1, 40), (41, 80), (81, 100)]);
    }
}
