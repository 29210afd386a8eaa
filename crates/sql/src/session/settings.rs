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
//! 2. A name with a dot that nobody knows is a user's own setting ([`is_custom`]): a text, which is empty until it is set, and exists from
//!    then on.
//! 3. `RESET` goes back to what the client asked for when it connected, and only then to the server's value.

use super::transaction::Transaction;
use super::{Text, bytes_in};
use crate::types::datetime::DateOrder as TypesDateOrder;
use allocator_api2::alloc::Allocator;
use allocator_api2::vec::Vec as ListVec;
use base::settings::{
    DateFormat, DateOrder, Description, Effective, IntervalStyle, Isolation, PLANNING, SESSION_NUMBERS, SESSION_TEXTS,
    SettingId, SettingSet, Slot, Source, ValueRef, number_of_planning, show,
};
use base::{Error, Result, sqlstate};

/// The session's values.
pub struct Settings<A: Allocator + Copy> {
    memory: A,
    numbers: ListVec<i64, A>,
    texts: ListVec<Text<A>, A>,
    own: SettingSet,
    /// Set by the client's startup message.
    started: SettingSet,
    start: ListVec<(SettingId, i64, Text<A>), A>,
    /// Of those that were set at the start: those that are stored, and among these those of the role and of the database.
    stored: SettingSet,
    of_role: SettingSet,
    of_database: SettingSet,
    undo: ListVec<Undo<A>, A>,
    customs: ListVec<Custom<A>, A>,
}

/// A setting of a user's own.
struct Custom<A: Allocator + Copy> {
    name: Text<A>,
    value: Text<A>,
    /// What the client asked for when it connected.
    start: Text<A>,
}

/// Which setting was changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Setting(SettingId),
    /// Its place among the users' own.
    Custom(usize),
}

/// What somebody hears who asks for a user's own setting that was never set.
#[cold]
pub(crate) fn unknown_setting(name: &str) -> Error {
    let message = format!("unrecognized configuration parameter \"{name}\"");
    Error::statement(sqlstate::UNDEFINED_OBJECT, message)
}

/// Is that the name of a setting of a user's own?
///
/// Errors: `42602` if it looks like one and is none.
pub(crate) fn is_custom(name: &str) -> Result<bool> {
    if !name.contains('.') || base::settings::lookup(name).is_ok() {
        return Ok(false);
    }
    let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_' || !letter.is_ascii();
    let is_word = |word: &str| {
        word.starts_with(is_first)
            && word.chars().all(|letter| is_first(letter) || letter.is_ascii_digit() || letter == '$')
    };
    match name.split('.').all(is_word) {
        true => Ok(true),
        false => {
            let message = format!("invalid configuration parameter name \"{name}\"");
            Err(Error::statement(sqlstate::INVALID_NAME, message)
                .detail("Custom parameter names must be two or more simple identifiers separated by dots."))
        }
    }
}

/// What was there before a change.
struct Undo<A: Allocator + Copy> {
    what: What,
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
            stored: SettingSet::EMPTY,
            of_role: SettingSet::EMPTY,
            of_database: SettingSet::EMPTY,
            undo: ListVec::new_in(memory),
            customs: ListVec::new_in(memory),
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
        copy.customs.try_reserve_exact(self.customs.len()).map_err(refused)?;
        for custom in &self.customs {
            let part = |text: &Text<A>| bytes_in(text, self.memory);
            let (name, value, start) = (part(&custom.name)?, part(&custom.value)?, part(&custom.start)?);
            copy.customs.push(Custom { name, value, start });
        }
        (copy.own, copy.started) = (self.own, self.started);
        (copy.stored, copy.of_role, copy.of_database) = (self.stored, self.of_role, self.of_database);
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

    /// Sets a value from the startup message, or one that the role's or the database's sessions begin with.
    pub(crate) fn set_at_start(&mut self, id: SettingId, value: ValueRef<'_>, source: Source) -> Result<()> {
        let of_role = matches!(source, Source::User | Source::DatabaseUser);
        let of_database = matches!(source, Source::Database | Source::DatabaseUser);
        for (set, is_in) in [
            (&mut self.stored, of_role || of_database || source == Source::Global),
            (&mut self.of_role, of_role),
            (&mut self.of_database, of_database),
        ] {
            if is_in {
                set.insert(id)
            } else {
                set.remove(id)
            };
        }
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
        self.undo.push(Undo { what: What::Setting(id), was_own, was_started, number, text, local });
        Ok(())
    }

    /// The value of a user's own setting; none if it was never set.
    pub(crate) fn custom(&self, name: &str) -> Option<&str> {
        let found = self.customs.iter().find(|custom| custom.name.eq_ignore_ascii_case(name.as_bytes()))?;
        std::str::from_utf8(&found.value).ok()
    }

    fn custom_at(&mut self, name: &str) -> Result<usize> {
        if let Some(at) = self.customs.iter().position(|custom| custom.name.eq_ignore_ascii_case(name.as_bytes())) {
            return Ok(at);
        }
        let name = bytes_in(name.as_bytes(), self.memory)?;
        let refused = |_| Error::out_of_memory("a session's settings", size_of::<Custom<A>>());
        self.customs.try_reserve(1).map_err(refused)?;
        self.customs.push(Custom { name, value: Text::new_in(self.memory), start: Text::new_in(self.memory) });
        Ok(self.customs.len() - 1)
    }

    /// Sets a user's own setting; none goes back to what the client asked for when it connected.
    pub(crate) fn set_custom(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<()> {
        let at = self.custom_at(name)?;
        let new = match value {
            Some(value) => bytes_in(value.as_bytes(), self.memory)?,
            None => bytes_in(&self.customs[at].start, self.memory)?,
        };
        self.undo.try_reserve(1).map_err(|_| Error::out_of_memory("a session's settings", size_of::<Undo<A>>()))?;
        let text = std::mem::replace(&mut self.customs[at].value, new);
        let what = What::Custom(at);
        self.undo.push(Undo { what, was_own: true, was_started: false, number: 0, text, local });
        Ok(())
    }

    /// The same from the startup message.
    pub(crate) fn set_custom_at_start(&mut self, name: &str, value: &str) -> Result<()> {
        let at = self.custom_at(name)?;
        let (text, start) = (bytes_in(value.as_bytes(), self.memory)?, bytes_in(value.as_bytes(), self.memory)?);
        (self.customs[at].value, self.customs[at].start) = (text, start);
        Ok(())
    }

    /// All of them go back.
    pub(crate) fn reset_customs(&mut self) -> Result<()> {
        for at in 0..self.customs.len() {
            let name = String::from_utf8_lossy(&self.customs[at].name).into_owned();
            self.set_custom(&name, None, false)?;
        }
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

    /// A function returns that has set this with `SET LOCAL`, as the first change after `noted`: what was there before is there again,
    /// unless the function has set something for good. Answers the settings that have another value now.
    pub(crate) fn leave(&mut self, name: &str, noted: usize) -> Result<SettingSet> {
        let what = match is_custom(name)? {
            true => What::Custom(self.custom_at(name)?),
            false => What::Setting(base::settings::lookup(name)?),
        };
        let mut changed = SettingSet::EMPTY;
        let Some(first) = (noted..self.undo.len()).find(|&at| self.undo[at].what == what) else { return Ok(changed) };
        if self.undo[first..].iter().any(|entry| entry.what == what && !entry.local) {
            return Ok(changed);
        }
        let text = bytes_in(&self.undo[first].text, self.memory)?;
        let before = Undo { text, ..self.undo[first] };
        match what {
            What::Setting(id) => self.note(id, true)?,
            What::Custom(at) => {
                let text = bytes_in(&self.customs[at].value, self.memory)?;
                let size = size_of::<Undo<A>>();
                self.undo.try_reserve(1).map_err(|_| Error::out_of_memory("a session's settings", size))?;
                self.undo.push(Undo { what, was_own: true, was_started: false, number: 0, text, local: true });
            }
        }
        self.restore(before, &mut changed);
        Ok(changed)
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
            self.restore(entry, &mut changed);
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
            let mut done: Vec<What> = Vec::new();
            for at in 0..undo.len() {
                let what = undo[at].what;
                if !undo[at].local || done.contains(&what) {
                    continue;
                }
                done.push(what);
                let last_set = undo.iter().rposition(|entry| entry.what == what && !entry.local);
                let from = last_set.map_or(0, |at| at + 1);
                if let Some(at) = (from..undo.len()).find(|&at| undo[at].what == what) {
                    let entry = &mut undo[at];
                    let text = std::mem::replace(&mut entry.text, Text::new_in(self.memory));
                    let entry = Undo { text, ..*entry };
                    self.restore(entry, &mut changed);
                }
            }
        } else {
            changed = self.roll_back_to(0);
        }
        changed
    }

    fn restore(&mut self, entry: Undo<A>, changed: &mut SettingSet) {
        let Undo { what, was_own, was_started, number, text, .. } = entry;
        let id = match what {
            What::Setting(id) => id,
            What::Custom(at) => {
                self.customs[at].value = text;
                return;
            }
        };
        changed.insert(id);
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
    fn own(&self) -> &SettingSet;
    fn value(&self, id: SettingId) -> Option<ValueRef<'_>>;
    fn source(&self, id: SettingId) -> Source;
    /// What `RESET` goes back to, if that is not the server's value.
    fn start(&self, id: SettingId) -> Option<ValueRef<'_>>;
    fn custom(&self, name: &str) -> Option<&str>;
}

impl<A: Allocator + Copy> OwnValues for Settings<A> {
    fn own(&self) -> &SettingSet {
        &self.own
    }

    fn value(&self, id: SettingId) -> Option<ValueRef<'_>> {
        Settings::value(self, id)
    }

    fn source(&self, id: SettingId) -> Source {
        match (self.of_database.contains(id), self.of_role.contains(id)) {
            _ if !self.started.contains(id) => Source::Session,
            _ if !self.stored.contains(id) => Source::Client,
            (false, false) => Source::Global,
            (true, false) => Source::Database,
            (false, true) => Source::User,
            (true, true) => Source::DatabaseUser,
        }
    }

    fn start(&self, id: SettingId) -> Option<ValueRef<'_>> {
        let (_, number, text) = self.start.iter().find(|(other, ..)| *other == id)?;
        Some(match id.setting().slot() {
            Slot::Number(_) => ValueRef::Number(*number),
            Slot::Text(_) => ValueRef::Text(std::str::from_utf8(text).ok()?),
        })
    }

    fn custom(&self, name: &str) -> Option<&str> {
        Settings::custom(self, name)
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

    /// The value of a user's own setting; none if it was never set.
    pub fn custom(&self, name: &str) -> Option<&str> {
        self.own.custom(name)
    }

    /// A boolean setting.
    pub fn bool(&self, id: SettingId) -> bool {
        self.value(id).bool()
    }

    /// A number for the values that plans depend on: plans that were made under another one are not used.
    pub fn planning_number(&self) -> u32 {
        match self.own.own().meets(&PLANNING) {
            true => number_of_planning(|id| self.value(id).number()),
            false => self.effective.planning(),
        }
    }

    /// How much memory a sort may use, in bytes.
    pub fn work_memory(&self) -> usize {
        (self.value(SettingId::WorkMem).number().max(0) as usize).saturating_mul(1024)
    }

    /// How much memory a hash table may use, in bytes.
    pub fn hash_memory(&self) -> usize {
        (self.work_memory() as f64 * self.value(SettingId::HashMemMultiplier).real()) as usize
    }

    /// How many bytes temporary files may have; none if there is no limit.
    pub fn temp_file_limit(&self) -> Option<u64> {
        u64::try_from(self.value(SettingId::TempFileLimit).number()).ok().map(|limit| limit.saturating_mul(1024))
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
        let own = self.own.value(id).map(|value| (value, self.own.source(id)));
        match id {
            SettingId::TransactionIsolation | SettingId::TransactionReadOnly | SettingId::TransactionDeferrable => {
                self.effective.describe(id, Some((self.value(id), Source::Override)), None)
            }
            _ => self.effective.describe(id, own, self.own.start(id)),
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
