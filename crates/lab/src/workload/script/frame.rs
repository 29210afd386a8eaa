//! What a client of the driver has of its own while it runs scripts: variables, place, chance.
//!
//! ```text
//!   Names     name -> slot, one table for all scripts of a mix, filled while they are compiled
//!   Presets   what variables hold before the first transaction
//!   Frame     one client: a value for each slot, the step it is at, a generator of random numbers
//! ```
//!
//! Rules
//! 1. Variables live as long as the client: a transaction sees what the one before it left, also that of another script.
//! 2. `client_id`, `scale`, `random_seed` and `default_seed` are preset unless the user's definitions give them; they have
//!    the first slots.
//! 3. All chance of a client comes from the run's seed and the client's number. `default_seed` is the same for all clients.

use super::statement::Gset;
use super::value::Value;
use crate::error;
use base::Result;
use fastrand::Rng;
use std::collections::HashMap;
use std::sync::Arc;

/// The place of a variable in each client's frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(u32);

/// The client's number, from zero.
pub const CLIENT_ID: Slot = Slot(0);
/// The scale of the workload.
pub const SCALE: Slot = Slot(1);
/// The seed of the run.
pub const RANDOM_SEED: Slot = Slot(2);
/// The seed of hash functions that are called without one.
pub const DEFAULT_SEED: Slot = Slot(3);
const PRESET: [&str; 4] = ["client_id", "scale", "random_seed", "default_seed"];

/// The variables of a mix of scripts.
#[derive(Clone, Debug)]
pub struct Names {
    slots: HashMap<String, Slot>,
    names: Vec<String>,
    given: Vec<bool>,
    prefixes: Vec<String>,
}

impl Names {
    /// Those that are always there.
    pub fn new() -> Names {
        let mut names = Names { slots: HashMap::new(), names: Vec::new(), given: Vec::new(), prefixes: Vec::new() };
        PRESET.iter().for_each(|name| {
            names.give(name);
        });
        names
    }

    /// The slot of a name that is read.
    pub fn slot(&mut self, name: &str) -> Slot {
        if let Some(&slot) = self.slots.get(name) {
            return slot;
        }
        let slot = Slot(self.names.len() as u32);
        self.slots.insert(name.to_string(), slot);
        self.names.push(name.to_string());
        self.given.push(false);
        slot
    }

    /// The slot of a name that gets a value somewhere.
    pub fn give(&mut self, name: &str) -> Slot {
        let slot = self.slot(name);
        self.given[slot.0 as usize] = true;
        slot
    }

    /// Says that an answer's columns become variables whose names begin like this.
    pub fn give_prefix(&mut self, prefix: &str) {
        self.prefixes.push(prefix.to_string());
    }

    /// Whether anything could give this variable a value.
    pub fn is_given(&self, slot: Slot) -> bool {
        self.given[slot.0 as usize] || self.prefixes.iter().any(|prefix| self.name(slot).starts_with(prefix))
    }

    /// The name of a slot.
    pub fn name(&self, slot: Slot) -> &str {
        &self.names[slot.0 as usize]
    }

    /// All names, by slot.
    pub fn all(&self) -> &[String] {
        &self.names
    }
}

impl Default for Names {
    fn default() -> Names {
        Names::new()
    }
}

/// Whether this can be a variable's name: letters, digits and underscores, no digit first. What is not ASCII is a letter.
pub fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    let letter = |character: char| character.is_ascii_alphabetic() || character == '_' || !character.is_ascii();
    characters.next().is_some_and(letter) && characters.all(|other| letter(other) || other.is_ascii_digit())
}

/// What variables hold before the first transaction.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Presets {
    /// The run's seed.
    pub seed: u64,
    /// The workload's scale.
    pub scale: i64,
    /// The user's own definitions; of two with one name the later one counts.
    pub defines: Vec<(String, String)>,
}

/// One client's variables, place and chance.
#[derive(Clone, Debug)]
pub struct Frame {
    names: Arc<Names>,
    values: Vec<Option<Value>>,
    /// The generator of this client's random numbers.
    pub rng: Rng,
    pub(super) position: usize,
    pub(super) pipeline: bool,
}

impl Frame {
    /// The frame of a client before its first transaction.
    pub fn new(names: Arc<Names>, presets: &Presets, client: u32) -> Frame {
        let default_seed = Rng::with_seed(presets.seed).u64(..);
        // A generator drawn from the seed and turned by the client's number: neighbouring seeds must not give neighbouring
        // clients the same numbers.
        let rng = Rng::with_seed(
            Rng::with_seed(default_seed ^ u64::from(client).wrapping_mul(0x9e37_79b9_7f4a_7c15)).u64(..),
        );
        let mut values = vec![None; names.all().len()];
        let preset = [
            (CLIENT_ID, i64::from(client)),
            (SCALE, presets.scale),
            (RANDOM_SEED, presets.seed as i64),
            (DEFAULT_SEED, default_seed as i64),
        ];
        for (slot, number) in preset {
            values[slot.0 as usize] = Some(Value::Integer(number));
        }
        let mut frame = Frame { names, values, rng, position: 0, pipeline: false };
        for (name, value) in &presets.defines {
            frame.set_named(name, Some(value));
        }
        frame
    }

    /// What a variable holds; none if nothing was ever put into it.
    pub fn value(&self, slot: Slot) -> Option<&Value> {
        self.values[slot.0 as usize].as_ref()
    }

    /// Puts a value into a variable.
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.values[slot.0 as usize] = Some(value);
    }

    /// The name of a variable.
    pub fn name(&self, slot: Slot) -> &str {
        self.names.name(slot)
    }

    /// Back to the beginning of a script: what a client does whose transaction failed half-way. Variables stay.
    pub fn restart(&mut self) {
        self.position = 0;
        self.pipeline = false;
    }

    /// Puts the columns of an answer into variables, for `\gset` and `\aset`: `columns` are those of the last of `rows`
    /// rows, name and text, none for null.
    ///
    /// # Errors
    /// `\gset` wants exactly one row; `\aset` leaves the variables alone where there is none.
    pub fn answer<'a>(
        &mut self,
        gset: &Gset,
        rows: u64,
        columns: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
    ) -> Result<()> {
        if rows != 1 && !gset.all {
            return Err(error::usage(format!("\\gset wants one row, and there are {rows}"))
                .hint("\\aset takes the last of several rows, and leaves variables alone where there is none."));
        }
        if rows == 0 {
            return Ok(());
        }
        let mut name = String::new();
        for (column, text) in columns {
            name.clear();
            name.push_str(&gset.prefix);
            name.push_str(&String::from_utf8_lossy(column));
            let text = text.map(String::from_utf8_lossy);
            self.set_named(&name, text.as_deref());
        }
        Ok(())
    }

    /// Sets a variable that some script reads; others are dropped, as nobody could tell.
    fn set_named(&mut self, name: &str, text: Option<&str>) {
        if let Some(&slot) = self.names.slots.get(name) {
            self.set(slot, text.map_or(Value::Null, |text| Value::Text(text.into())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_there_and_definitions_come_before_them() {
        let mut names = Names::new();
        let (rows, unknown) = (names.slot("rows"), names.slot("unknown"));
        let defines = [("rows", "007"), ("scale", "3"), ("nobody", "1")];
        let defines = defines.map(|(name, text)| (name.to_string(), text.to_string())).to_vec();
        let names = Arc::new(names);
        let presets = Presets { seed: 42, scale: 1, defines };
        let frame = Frame::new(Arc::clone(&names), &presets, 9);
        assert_eq!(frame.value(CLIENT_ID), Some(&Value::Integer(9)));
        assert_eq!(frame.value(RANDOM_SEED), Some(&Value::Integer(42)));
        assert_eq!(frame.value(SCALE), Some(&Value::Text("3".into())));
        assert_eq!(frame.value(rows), Some(&Value::Text("007".into())));
        assert_eq!(frame.value(unknown), None);
        let other = Frame::new(names, &presets, 10);
        assert_eq!(other.value(DEFAULT_SEED), frame.value(DEFAULT_SEED));
    }

    #[test]
    fn clients_of_one_seed_differ_and_a_seed_repeats_them() {
        let names = Arc::new(Names::new());
        let first = |seed, client| {
            let presets = Presets { seed, scale: 1, ..Presets::default() };
            Frame::new(Arc::clone(&names), &presets, client).rng.u64(..)
        };
        let mut seen: Vec<u64> =
            (0..50).flat_map(|seed| (0..50).map(move |client| (seed, client))).map(|(s, c)| first(s, c)).collect();
        assert_eq!(seen[0], first(0, 0));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 2500);
    }

    #[test]
    fn an_answer_becomes_variables() {
        let mut names = Names::new();
        let slot = names.slot("p_b");
        let mut frame = Frame::new(Arc::new(names), &Presets::default(), 0);
        let row = || [(&b"b"[..], Some(&b"17"[..])), (b"c", None)].into_iter();
        let gset = Gset { prefix: "p_".into(), all: false };
        frame.answer(&gset, 1, row()).unwrap();
        assert_eq!(frame.value(slot), Some(&Value::Text("17".into())));
        assert!(frame.answer(&gset, 0, row()).is_err());
        assert!(frame.answer(&gset, 2, row()).unwrap_err().message().contains("2"));
        let aset = Gset { prefix: "p_".into(), all: true };
        frame.answer(&aset, 0, [(&b"b"[..], None)].into_iter()).unwrap();
        assert_eq!(frame.value(slot), Some(&Value::Text("17".into())));
        frame.answer(&aset, 5, [(&b"b"[..], None)].into_iter()).unwrap();
        assert_eq!(frame.value(slot), Some(&Value::Null));
    }

    #[test]
    fn names_are_words_that_do_not_begin_with_a_digit() {
        for (text, expected) in [("a", true), ("_1", true), ("é2", true), ("1a", false), ("", false), ("a-b", false)] {
            assert_eq!(is_name(text), expected, "{text}");
        }
    }
}
