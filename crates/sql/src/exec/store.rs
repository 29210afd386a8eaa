//! Rows that are kept: lists of values with their bytes in one buffer, and sets of keys found by their hash.

use super::Exec;
use super::value::Value;
use crate::plan::blob::List;
use crate::plan::number;
use crate::types::{Kind, compare, hash};
use base::{Error, Result};
use hashbrown::HashTable;

/// Rows of so many values each.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// All values, row after row.
    pub(super) values: Vec<Value>,
    /// How many values a row has.
    pub(super) width: usize,
    /// How many rows there are.
    pub(super) count: usize,
    /// The row that is given next.
    pub(super) at: usize,
}

#[cold]
pub(super) fn refused(bytes: usize) -> Error {
    Error::out_of_memory("the rows that a statement keeps", bytes)
}

impl Rows {
    pub(super) fn new(width: usize) -> Rows {
        Rows { width, ..Rows::default() }
    }

    /// The values of a row.
    pub(super) fn row(&self, row: usize) -> &[Value] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    /// Adds a row of values that are kept already.
    pub(super) fn push(&mut self, row: impl ExactSizeIterator<Item = Value>) -> Result<()> {
        let bytes = self.width * size_of::<Value>();
        self.values.try_reserve(self.width).map_err(|_| refused(bytes))?;
        self.values.extend(row);
        self.count += 1;
        Ok(())
    }
}

/// Keys, each with a number of its own, counted from zero.
#[derive(Debug, Default)]
pub(super) struct KeySet {
    table: HashTable<(u64, u32)>,
    /// The keys themselves.
    pub(super) keys: Rows,
}

impl KeySet {
    /// About how many bytes it takes beside those of the keys.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        const OF_KEY: usize = 24;
        self.keys.count * (OF_KEY + self.keys.width * size_of::<Value>())
    }
}

impl Exec<'_> {
    /// Saves registers in `rows`, with their bytes in a buffer.
    pub(super) fn save(&mut self, rows: &mut Rows, registers: List<'_>, buffer: u32) -> Result<()> {
        rows.values.try_reserve(rows.width).map_err(|_| refused(rows.width * size_of::<Value>()))?;
        for register in registers.iter() {
            let value = self.memory.keep(self.registers[register as usize], buffer)?;
            rows.values.push(value);
        }
        rows.count += 1;
        Ok(())
    }

    /// Sets registers from a row.
    pub(super) fn load(&mut self, rows: &Rows, row: usize, registers: List<'_>) {
        for (value, register) in rows.row(row).iter().zip(registers.iter()) {
            self.registers[register as usize] = *value;
        }
    }

    /// The hash of values by their kinds.
    pub(super) fn hash(&self, values: &[Value], kinds: impl Iterator<Item = Kind>) -> u64 {
        let mut state = 0;
        for (value, kind) in values.iter().zip(kinds) {
            let one = match value {
                Value::Null => 0,
                value => compare::hash(kind, self.memory.datum(*value)),
            };
            state = hash::combine(state, one);
        }
        state
    }

    /// Are the values the same, nulls being equal to nulls?
    pub(super) fn all_same(&self, left: &[Value], right: &[Value], kinds: impl Iterator<Item = Kind>) -> bool {
        left.iter().zip(right).zip(kinds).all(|((left, right), kind)| self.same(kind, *left, *right))
    }

    /// Finds a key, or adds it, with its bytes in a buffer; answers its number and whether it is new.
    pub(super) fn find_or_add(
        &mut self,
        set: &mut KeySet,
        key: &[Value],
        kinds: &[Kind],
        buffer: u32,
    ) -> Result<(usize, bool)> {
        let hash = self.hash(key, kinds.iter().copied());
        let found = set.table.find(hash, |(other, row)| {
            *other == hash && self.all_same(set.keys.row(*row as usize), key, kinds.iter().copied())
        });
        if let Some((_, row)) = found {
            return Ok((*row as usize, false));
        }
        let row = set.keys.count;
        set.keys.width = kinds.len();
        set.keys.values.try_reserve(key.len()).map_err(|_| refused(size_of_val(key)))?;
        for &value in key {
            let kept = self.memory.keep(value, buffer)?;
            set.keys.values.push(kept);
        }
        set.keys.count += 1;
        set.table.try_reserve(1, |(hash, _)| *hash).map_err(|_| refused(size_of::<(u64, u32)>()))?;
        set.table.insert_unique(hash, (hash, row as u32), |(hash, _)| *hash);
        Ok((row, true))
    }

    /// Finds a key.
    pub(super) fn find(&self, set: &KeySet, key: &[Value], kinds: &[Kind]) -> Option<usize> {
        let hash = self.hash(key, kinds.iter().copied());
        let found = set.table.find(hash, |(other, row)| {
            *other == hash && self.all_same(set.keys.row(*row as usize), key, kinds.iter().copied())
        });
        found.map(|(_, row)| *row as usize)
    }
}

/// The kinds of a list of them.
pub(super) fn kinds(list: List<'_>) -> Vec<Kind> {
    list.iter().map(number::kind).collect()
}

/// Registers and kinds of a list of pairs.
pub(super) fn key_pairs(list: List<'_>) -> (Vec<u32>, Vec<Kind>) {
    list.groups::<2>().map(|[register, kind]| (register, number::kind(kind))).unzip()
}
