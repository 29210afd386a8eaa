//! Commands: which of a transaction's statements made a version, and which ended it.
//!
//! A version has one command number. For a version that the transaction only made or only ended that is enough; for one that
//! it made and ended it is the number of a pair in a table that belongs to the transaction. The table lies with the rest of
//! the transaction's state, where the layer above keeps it: in the session's arena.

use base::{Error, Result};
use kernel::region::arena::ArenaVec;

/// How far back a pair is looked for before it is entered anew: a statement meets the same few pairs again and again.
const LOOK_BACK: usize = 16;

/// A transaction's pairs of commands: that made a version, that ended it. Emptied when the transaction ends.
pub trait CommandPairs {
    /// All of them.
    fn pairs(&self) -> &[(u32, u32)];

    /// Adds one. Errors: `53200`.
    fn push(&mut self, pair: (u32, u32)) -> Result<()>;

    /// The number of a pair, which is added if it is not among the latest ones. Errors: `53200`.
    fn number(&mut self, pair: (u32, u32)) -> Result<u32> {
        let pairs = self.pairs();
        let from = pairs.len().saturating_sub(LOOK_BACK);
        if let Some(at) = pairs[from..].iter().rposition(|known| *known == pair) {
            return Ok((from + at) as u32);
        }
        let number = pairs.len() as u32;
        self.push(pair)?;
        Ok(number)
    }
}

fn refused(pairs: usize) -> Error {
    Error::out_of_memory("a transaction's table of commands", (pairs + 1) * size_of::<(u32, u32)>())
}

impl CommandPairs for Vec<(u32, u32)> {
    fn pairs(&self) -> &[(u32, u32)] {
        self
    }

    fn push(&mut self, pair: (u32, u32)) -> Result<()> {
        self.try_reserve(1).map_err(|_| refused(self.len()))?;
        Vec::push(self, pair);
        Ok(())
    }
}

impl CommandPairs for ArenaVec<(u32, u32)> {
    fn pairs(&self) -> &[(u32, u32)] {
        self
    }

    fn push(&mut self, pair: (u32, u32)) -> Result<()> {
        self.try_reserve(1).map_err(|_| refused(self.len()))?;
        ArenaVec::push(self, pair);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_were_met_lately_keep_their_number() {
        let mut pairs = Vec::new();
        assert_eq!(pairs.number((1, 2)).unwrap(), 0);
        assert_eq!(pairs.number((1, 3)).unwrap(), 1);
        assert_eq!(pairs.number((1, 2)).unwrap(), 0);
        for command in 0..LOOK_BACK as u32 {
            pairs.number((9, command)).unwrap();
        }
        let again = pairs.number((1, 2)).unwrap();
        assert!(again > 1, "too far back: entered again");
        assert_eq!(pairs[again as usize], (1, 2));
    }
}
