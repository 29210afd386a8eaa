//! Values of settings as plain data, so that they can lie in shared memory.
//!
//! A value is a number or a text. Booleans are 0 and 1, enums and `DateStyle` their number, reals the bits of an `f64`:
//! all of them one `i64` ([`Value::Number`]). So a session's own values need no more than an array of words and a short
//! array of texts, and [`Setting::slot`] says where in them a setting lives:
//!
//! ```text
//!  slot         0 ......................... SESSION_NUMBERS ............ NUMBERS
//!  numbers      | set by sessions           | server-wide only         |
//!  texts        | set by sessions           | server-wide only         |
//!               0 ......................... SESSION_TEXTS .............. TEXTS
//! ```
//!
//! Rules
//! 1. Slots are dense and fixed when the server is compiled; they are never stored on disk.
//! 2. What sessions may set comes first, so that a session's arrays are as short as they can be.
//! 3. A slot says nothing of whether a session has set it: a [`SettingSet`] beside the arrays does, and what is not in
//!    it has the server's value.

use super::setting::{Flags, Kind, Setting};
use super::table::{COUNT, SettingId, TABLE};
use super::{date_style::DateStyle, table};

/// A value that owns its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A boolean, an integer, a word's number, a date style, or a real's bits.
    Number(i64),
    /// A text, in its canonical form.
    Text(String),
}

/// A value wherever it lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueRef<'a> {
    /// A boolean, an integer, a word's number, a date style, or a real's bits.
    Number(i64),
    /// A text, in its canonical form.
    Text(&'a str),
}

impl Value {
    /// The value, borrowed.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Number(number) => ValueRef::Number(*number),
            Value::Text(text) => ValueRef::Text(text),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Number(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Number(value.to_bits() as i64)
    }
}

impl<'a> ValueRef<'a> {
    /// The number; 0 for a text.
    pub fn number(self) -> i64 {
        match self {
            ValueRef::Number(number) => number,
            ValueRef::Text(_) => 0,
        }
    }

    /// The boolean.
    pub fn bool(self) -> bool {
        self.number() != 0
    }

    /// The real.
    pub fn real(self) -> f64 {
        f64::from_bits(self.number() as u64)
    }

    /// The date style; the default for a number that is none.
    pub fn date_style(self) -> DateStyle {
        DateStyle::from_number(self.number()).unwrap_or(table::DATE_STYLE_DEFAULT)
    }

    /// The text; empty for a number.
    pub fn text(self) -> &'a str {
        match self {
            ValueRef::Number(_) => "",
            ValueRef::Text(text) => text,
        }
    }

    /// The value with a text of its own.
    pub fn to_owned(self) -> Value {
        match self {
            ValueRef::Number(number) => Value::Number(number),
            ValueRef::Text(text) => Value::Text(text.to_owned()),
        }
    }
}

/// Where in the arrays of values a setting lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// An index of the array of numbers.
    Number(u16),
    /// An index of the array of texts.
    Text(u16),
}

/// The places of all settings, and how long the arrays are.
struct Layout {
    slots: [Slot; COUNT],
    session_numbers: usize,
    session_texts: usize,
    numbers: usize,
    texts: usize,
}

const LAYOUT: Layout = layout();

/// How many numbers a session's array holds.
pub const SESSION_NUMBERS: usize = LAYOUT.session_numbers;
/// How many texts a session's array holds.
pub const SESSION_TEXTS: usize = LAYOUT.session_texts;
/// How many numbers there are in all.
pub const NUMBERS: usize = LAYOUT.numbers;
/// How many texts there are in all.
pub const TEXTS: usize = LAYOUT.texts;

const fn layout() -> Layout {
    let mut layout =
        Layout { slots: [Slot::Number(0); COUNT], session_numbers: 0, session_texts: 0, numbers: 0, texts: 0 };
    let mut pass = 0;
    while pass < 2 {
        let mut at = 0;
        while at < COUNT {
            if TABLE[at].is_per_session() == (pass == 0) {
                if TABLE[at].kind.is_text() {
                    layout.slots[at] = Slot::Text(layout.texts as u16);
                    layout.texts += 1;
                } else {
                    layout.slots[at] = Slot::Number(layout.numbers as u16);
                    layout.numbers += 1;
                }
            }
            at += 1;
        }
        if pass == 0 {
            layout.session_numbers = layout.numbers;
            layout.session_texts = layout.texts;
        }
        pass += 1;
    }
    layout
}

impl Setting {
    /// Where its value lives in arrays of values.
    pub const fn slot(&self) -> Slot {
        LAYOUT.slots[self.id as usize]
    }

    /// True if a value is of this setting's kind and within its range.
    pub fn holds(&self, value: ValueRef<'_>) -> bool {
        match (self.kind, value) {
            (Kind::Bool { .. }, ValueRef::Number(number)) => number == 0 || number == 1,
            (Kind::Integer { min, max, .. }, ValueRef::Number(number)) => {
                (i64::from(min)..=i64::from(max)).contains(&number)
            }
            (Kind::Real { min, max, .. }, value @ ValueRef::Number(_)) => (min..=max).contains(&value.real()),
            (Kind::Enum { choices, .. }, ValueRef::Number(number)) => choices.word(number).is_some(),
            (Kind::DateStyle { .. }, ValueRef::Number(number)) => DateStyle::from_number(number).is_some(),
            (Kind::Text { rule, .. }, ValueRef::Text(text)) => {
                rule.check(text).is_ok_and(|canonical| canonical == text)
            }
            _ => false,
        }
    }
}

const WORDS: usize = COUNT.div_ceil(64);

/// The settings that plans depend on ([`Flags::PLANS`]).
pub const PLANNING: SettingSet = planning();

const fn planning() -> SettingSet {
    let mut set = SettingSet::EMPTY;
    let mut at = 0;
    while at < COUNT {
        if TABLE[at].flags.has(Flags::PLANS) {
            set.words[at / 64] |= 1 << (at % 64);
        }
        at += 1;
    }
    set
}

/// A set of settings in a few words of memory: which ones a session has set, which ones clients must hear of.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SettingSet {
    words: [u64; WORDS],
}

impl SettingSet {
    /// The empty set.
    pub const EMPTY: SettingSet = SettingSet { words: [0; WORDS] };

    /// Adds a setting; false if it was there.
    pub fn insert(&mut self, id: SettingId) -> bool {
        let was_there = self.contains(id);
        self.words[id as usize / 64] |= 1 << (id as usize % 64);
        !was_there
    }

    /// Takes a setting out; false if it was not there.
    pub fn remove(&mut self, id: SettingId) -> bool {
        let was_there = self.contains(id);
        self.words[id as usize / 64] &= !(1 << (id as usize % 64));
        was_there
    }

    /// True if the setting is in the set.
    pub fn contains(&self, id: SettingId) -> bool {
        self.words[id as usize / 64] & 1 << (id as usize % 64) != 0
    }

    /// True if a setting is in both.
    pub fn meets(&self, other: &SettingSet) -> bool {
        self.words.iter().zip(&other.words).any(|(own, other)| own & other != 0)
    }

    /// True if no setting is in the set.
    pub fn is_empty(&self) -> bool {
        self.words == [0; WORDS]
    }

    /// The settings of the set, in the table's order.
    pub fn iter(self) -> impl Iterator<Item = SettingId> {
        SettingId::all().filter(move |&id| self.contains(id))
    }
}

impl FromIterator<SettingId> for SettingSet {
    fn from_iter<I: IntoIterator<Item = SettingId>>(ids: I) -> SettingSet {
        let mut set = SettingSet::EMPTY;
        for id in ids {
            set.insert(id);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::setting;

    #[test]
    fn slots_are_dense_and_sessions_come_first() {
        let (mut numbers, mut texts) = (vec![false; NUMBERS], vec![false; TEXTS]);
        for setting in &TABLE {
            let (slot, ours, used) = match setting.slot() {
                Slot::Number(slot) => (usize::from(slot), SESSION_NUMBERS, &mut numbers),
                Slot::Text(slot) => (usize::from(slot), SESSION_TEXTS, &mut texts),
            };
            assert!(!std::mem::replace(&mut used[slot], true), "{} shares its slot", setting.name);
            assert_eq!(slot < ours, setting.is_per_session(), "{}", setting.name);
        }
        assert_eq!(numbers.len() + texts.len(), COUNT);
        assert!(numbers.iter().chain(&texts).all(|&used| used));
        assert!(size_of::<SettingSet>() <= 32 && (1..COUNT).contains(&SESSION_NUMBERS));
    }

    #[test]
    fn a_set_holds_what_was_put_in() {
        let mut set = SettingSet::EMPTY;
        assert!(set.insert(SettingId::TimeZone) && !set.insert(SettingId::TimeZone));
        set.insert(SettingId::Engine);
        assert_eq!(set.iter().collect::<Vec<_>>(), [SettingId::Engine, SettingId::TimeZone]);
        assert!(set.remove(SettingId::Engine) && !set.remove(SettingId::Engine));
        assert_eq!(set, [SettingId::TimeZone].into_iter().collect());
        assert!(!set.is_empty() && SettingSet::EMPTY.is_empty());
        assert!(!set.meets(&PLANNING) && PLANNING.contains(SettingId::WorkMem));
        set.insert(SettingId::EnableSort);
        assert!(set.meets(&PLANNING) && !set.meets(&SettingSet::EMPTY));
    }

    #[test]
    fn what_plans_depend_on_is_a_number_that_sessions_set() {
        for setting in PLANNING.iter().map(SettingId::setting) {
            assert!(setting.is_per_session() && !setting.kind.is_text(), "{}", setting.name);
        }
    }

    #[test]
    fn values_are_checked_against_their_setting() {
        let setting = SettingId::MaxConnections.setting();
        assert!(setting.holds(ValueRef::Number(1)) && !setting.holds(ValueRef::Number(0)));
        assert!(!setting.holds(ValueRef::Text("1")));
        assert!(!SettingId::Fsync.setting().holds(ValueRef::Number(2)));
        assert!(!SettingId::DateStyle.setting().holds(ValueRef::Number(-1)));
        assert!(!SettingId::Listen.setting().holds(ValueRef::Text("nowhere")));
        let real = SettingId::AutovacuumVacuumScaleFactor.setting();
        assert!(real.holds(Value::from(0.5).as_ref()) && !real.holds(Value::from(f64::NAN).as_ref()));
        assert!(matches!(real.kind, setting::Kind::Real { .. }));
    }
}
