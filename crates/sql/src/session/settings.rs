//! A session's own values of settings: what `SET` changes, and what the end of a transaction undoes.
//!
//! Values stand in two arrays by their slot ([`base::settings::Slot`]); a set says which of them the session has. Every
//! change within a transaction is noted with what was there before:
//!
//! | at the end | `SET` | `SET LOCAL` |
//! |---|---|---|
//! | commit | stays | undone |
//! | rollback | undone | undone |
//!
//! Rules
//! 1. The isolation level and the access mode of the current transaction are the transaction's, not kept here.
//! 2. `RESET` goes back to what the client asked for when it connected, and only then to the server's value.

use super::transaction::Transaction;
use super::{Text, bytes_in};
use crate::types::datetime::DateOrder as TypesDateOrder;
use allocator_api2::alloc::Allocator;
use allocator_api2::vec::Vec as ListVec;
use base::settings::{
    DateFormat, DateOrder, Description, Effective, IntervalStyle, Isolation, SESSION_NUMBERS, SESSION_TEXTS, SettingId,
    SettingSet, Slot, Source, ValueRef, show,
};
use base::{Error, Result};

/// The session's values.
pub struct Settings<A: Allocator + Copy> {
    memory: A,
    numbers: ListVec<i64, A>,
    texts: ListVec<Text<A>, A>,
    own: SettingSet,
    /// Set by the client's startup message.
    started: SettingSet,
    start: ListVec<(SettingId, i64, Text<A>), A>,
    undo: ListVec<Undo<A>, A>,
}

/// What was there before a change.
struct Undo<A: Allocator + Copy> {
    id: SettingId,
    was_own: bool,
    was_started: bool,
    number: i64,
    text: Text<A>,
    local: bool,
}

impl<A: Allocator + Copy> Settings<A> {
    pub(crate) fn new(memory: A) -> Settings<A> {
        Settings {
            memory,
            numbers: ListVec::new_in(memory),
            texts: ListVec::new_in(memory),
            own: SettingSet::EMPTY,
            started: SettingSet::EMPTY,
            start: ListVec::new_in(memory),
            undo: ListVec::new_in(memory),
        }
    }

    /// The values as they are, without what a rollback would undo.
    pub(crate) fn copied(&self) -> Result<Settings<A>> {
        let mut copy = Settings::new(self.memory);
        let refused = |_| Error::out_of_memory("a session's settings", SESSION_NUMBERS * 8);
        copy.numbers.try_reserve_exact(self.numbers.len()).map_err(refused)?;
        copy.numbers.extend_from_slice(&self.numbers);
        copy.texts.try_reserve_exact(self.texts.len()).map_err(refused)?;
        for text in &self.texts {
            copy.texts.push(bytes_in(text, self.memory)?);
        }
        (copy.own, copy.started) = (self.own, self.started);
        Ok(copy)
    }

    /// The session's own value.
    pub fn value(&self, id: SettingId) -> Option<ValueRef<'_>> {
        if !self.own.contains(id) {
            return None;
        }
        Some(match id.setting().slot() {
            Slot::Number(slot) => ValueRef::Number(self.numbers.get(usize::from(slot)).copied()?),
            Slot::Text(slot) => ValueRef::Text(std::str::from_utf8(self.texts.get(usize::from(slot))?).ok()?),
        })
    }

    fn put(&mut self, id: SettingId, number: i64, text: Text<A>) -> Result<()> {
        let refused = |_| Error::out_of_memory("a session's settings", SESSION_NUMBERS * 8);
        match id.setting().slot() {
            Slot::Number(slot) => {
                if self.numbers.is_empty() {
                    self.numbers.try_reserve_exact(SESSION_NUMBERS).map_err(refused)?;
                    self.numbers.resize(SESSION_NUMBERS, 0);
                }
                if let Some(place) = self.numbers.get_mut(usize::from(slot)) {
                    *place = number;
                }
            }
            Slot::Text(slot) => {
                if self.texts.is_empty() {
                    self.texts.try_reserve_exact(SESSION_TEXTS).map_err(refused)?;
                    let memory = self.memory;
                    self.texts.resize_with(SESSION_TEXTS, || Text::new_in(memory));
                }
                if let Some(place) = self.texts.get_mut(usize::from(slot)) {
                    *place = text;
                }
            }
        }
        self.own.insert(id);
        Ok(())
    }

    fn parts(&self, value: ValueRef<'_>) -> Result<(i64, Text<A>)> {
        Ok((value.number(), bytes_in(value.text().as_bytes(), self.memory)?))
    }

    /// Sets a value from the startup message.
    pub(crate) fn set_at_start(&mut self, id: SettingId, value: ValueRef<'_>) -> Result<()> {
        let (number, text) = self.parts(value)?;
        self.start.retain(|(other, ..)| *other != id);
        self.start.try_reserve(1).map_err(|_| Error::out_of_memory("a session's settings", 64))?;
        let copy = self.parts(value)?;
        self.start.push((id, copy.0, copy.1));
        self.put(id, number, text)?;
        self.started.insert(id);
        Ok(())
    }

    fn note(&mut self, id: SettingId, local: bool) -> Result<()> {
        let (was_own, was_started) = (self.own.contains(id), self.started.contains(id));
        let (number, text) = match self.value(id) {
            Some(value) => self.parts(value)?,
            None => (0, Text::new_in(self.memory)),
        };
        self.undo.try_reserve(1).map_err(|_| Error::out_of_memory("a session's settings", size_of::<Undo<A>>()))?;
        self.undo.push(Undo { id, was_own, was_started, number, text, local });
        Ok(())
    }

    /// Sets a value, until the session's end or, if `local`, the transaction's.
    pub(crate) fn set(&mut self, id: SettingId, value: ValueRef<'_>, local: bool) -> Result<()> {
        let (number, text) = self.parts(value)?;
        self.note(id, local)?;
        self.put(id, number, text)?;
        self.started.remove(id);
        Ok(())
    }

    /// Goes back to what the client asked for when it connected, or to the server's value.
    pub(crate) fn reset(&mut self, id: SettingId, local: bool) -> Result<()> {
        self.note(id, local)?;
        self.own.remove(id);
        self.started.remove(id);
        if let Some(at) = self.start.iter().position(|(other, ..)| *other == id) {
            let (number, text) = (self.start[at].1, bytes_in(&self.start[at].2, self.memory)?);
            self.put(id, number, text)?;
            self.started.insert(id);
        }
        Ok(())
    }

    /// The settings that the session has values of its own for.
    pub(crate) fn own(&self) -> SettingSet {
        self.own
    }

    /// True if the transaction has changed a setting.
    pub(crate) fn changed_in_transaction(&self) -> bool {
        !self.undo.is_empty()
    }

    /// How many changes the transaction has noted.
    pub(crate) fn noted(&self) -> usize {
        self.undo.len()
    }

    /// Undoes all changes but the first `noted`; answers the settings that have another value now.
    pub(crate) fn roll_back_to(&mut self, noted: usize) -> SettingSet {
        let mut changed = SettingSet::EMPTY;
        while self.undo.len() > noted
            && let Some(entry) = self.undo.pop()
        {
            self.restore(entry.id, entry.was_own, entry.was_started, entry.number, entry.text);
            changed.insert(entry.id);
        }
        changed
    }

    /// Ends a transaction; answers the settings that have another value now.
    pub(crate) fn end_transaction(&mut self, commit: bool) -> SettingSet {
        let mut changed = SettingSet::EMPTY;
        if commit {
            let mut undo = std::mem::replace(&mut self.undo, ListVec::new_in(self.memory));
            // A local change is undone; the last one that was not local stays. What it set is what the next change of the
            // same setting noted, or what is there now.
            let ids: SettingSet = undo.iter().filter(|entry| entry.local).map(|entry| entry.id).collect();
            for id in ids.iter() {
                let last_set = undo.iter().rposition(|entry| entry.id == id && !entry.local);
                let from = last_set.map_or(0, |at| at + 1);
                if let Some(at) = (from..undo.len()).find(|&at| undo[at].id == id) {
                    let entry = &mut undo[at];
                    let text = std::mem::replace(&mut entry.text, Text::new_in(self.memory));
                    let (was_own, was_started, number) = (entry.was_own, entry.was_started, entry.number);
                    self.restore(id, was_own, was_started, number, text);
                    changed.insert(id);
                }
            }
        } else {
            changed = self.roll_back_to(0);
        }
        changed
    }

    fn restore(&mut self, id: SettingId, was_own: bool, was_started: bool, number: i64, text: Text<A>) {
        self.own.remove(id);
        self.started.remove(id);
        if was_own {
            // The arrays are there: the value was in them before.
            let _ = self.put(id, number, text);
        }
        if was_started {
            self.started.insert(id);
        }
    }
}

/// The settings as a session has them: its own values over the server's.
pub struct SettingsView<'v> {
    effective: &'v Effective,
    own: &'v dyn OwnValues,
    transaction: &'v Transaction,
    /// The name of the session's user, as text only where somebody asks for it, and whether the current one is a superuser.
    who: (&'v [u8], bool),
}

/// A session's own values, whatever its memory.
trait OwnValues {
    fn value(&self, id: SettingId) -> Option<ValueRef<'_>>;
    fn is_started(&self, id: SettingId) -> bool;
}

impl<A: Allocator + Copy> OwnValues for Settings<A> {
    fn value(&self, id: SettingId) -> Option<ValueRef<'_>> {
        Settings::value(self, id)
    }

    fn is_started(&self, id: SettingId) -> bool {
        self.started.contains(id)
    }
}

impl<'v> SettingsView<'v> {
    pub(crate) fn new<A: Allocator + Copy>(
        effective: &'v Effective,
        own: &'v Settings<A>,
        transaction: &'v Transaction,
        who: (&'v [u8], bool),
    ) -> SettingsView<'v> {
        SettingsView { effective, own, transaction, who }
    }

    /// The value that counts in this session.
    pub fn value(&self, id: SettingId) -> ValueRef<'_> {
        match id {
            SettingId::TransactionIsolation => ValueRef::Number(self.transaction.shown_isolation(self).number()),
            SettingId::TransactionReadOnly => ValueRef::Number(self.transaction.shown_read_only(self).into()),
            SettingId::TransactionDeferrable => ValueRef::Number(self.transaction.shown_deferrable(self).into()),
            SettingId::SessionAuthorization => ValueRef::Text(std::str::from_utf8(self.who.0).unwrap_or_default()),
            SettingId::IsSuperuser => ValueRef::Number(i64::from(self.who.1)),
            id => self.own.value(id).unwrap_or_else(|| self.effective.value(id)),
        }
    }

    /// A boolean setting.
    pub fn bool(&self, id: SettingId) -> bool {
        self.value(id).bool()
    }

    /// The isolation level that new transactions have.
    pub fn default_isolation(&self) -> Isolation {
        let number = self.value(SettingId::DefaultTransactionIsolation).number();
        Isolation::from_number(number).unwrap_or(Isolation::ReadCommitted)
    }

    /// The value as `SHOW` prints it.
    pub fn show(&self, id: SettingId) -> String {
        show(id, self.value(id))
    }

    /// The row of `pg_settings`.
    pub fn describe(&self, id: SettingId) -> Description {
        let source = if self.own.is_started(id) { Source::Client } else { Source::Session };
        let own = self.own.value(id).map(|value| (value, source));
        match id {
            SettingId::TransactionIsolation | SettingId::TransactionReadOnly | SettingId::TransactionDeferrable => {
                self.effective.describe(id, Some((self.value(id), Source::Override)))
            }
            _ => self.effective.describe(id, own),
        }
    }

    /// How intervals are written.
    pub fn interval_style(&self) -> IntervalStyle {
        let number = self.value(SettingId::IntervalStyle).number();
        IntervalStyle::from_number(number).unwrap_or(IntervalStyle::Postgres)
    }

    /// How dates are written.
    pub fn date_format(&self) -> DateFormat {
        self.value(SettingId::DateStyle).date_style().format
    }

    /// The order of the parts of a date.
    pub fn date_order(&self) -> TypesDateOrder {
        match self.value(SettingId::DateStyle).date_style().order {
            DateOrder::Mdy => TypesDateOrder::Mdy,
            DateOrder::Dmy => TypesDateOrder::Dmy,
            DateOrder::Ymd => TypesDateOrder::Ymd,
        }
    }
}
