//! The keys of rows that are read ahead: what those of a run have in common is encoded once.
//!
//! ```text
//!   stock_w_id = $1 AND stock_i_id = line.i_id        81 07 | 82 4E 20        the lead, once a run | each row's own
//! ```

use super::Exec;
use super::eval::Operand;
use crate::key::{self, KeyColumn};
use base::Result;
use smallvec::SmallVec;

/// How the keys of a run's rows are made.
#[derive(Default)]
pub(super) struct RunKey {
    /// What all of them begin with.
    lead: Vec<u8>,
    /// What follows in each.
    rest: SmallVec<[(Operand, KeyColumn); 4]>,
    /// False if the key is computed, and not only read: then each row's is by itself.
    is_read: bool,
}

impl Exec<'_> {
    /// Prepares for the keys of the next rows, by the program of what an index scan looks for.
    pub(super) fn begin_keys(&self, equal: u32, columns: &[KeyColumn], run: &mut RunKey) -> Result<()> {
        run.lead.clear();
        run.rest.clear();
        let mut left = columns.iter();
        run.is_read = self.operands(equal, |operand| {
            let Some(column) = left.next() else { return Ok(()) };
            match operand {
                Operand::Value(value) if run.rest.is_empty() && !value.is_null() => {
                    key::encode_column(*column, self.memory.datum(value), &mut run.lead)
                }
                operand => {
                    run.rest.push((operand, *column));
                    Ok(())
                }
            }
        })?;
        Ok(())
    }

    /// Appends the key of the row that the registers hold, as [`Exec::encode_equal`] does; false if a part of it is null.
    #[inline]
    pub(super) fn encode_key(
        &mut self,
        equal: u32,
        columns: &[KeyColumn],
        run: &RunKey,
        key: &mut Vec<u8>,
    ) -> Result<bool> {
        if !run.is_read {
            return self.encode_equal(equal, columns, key);
        }
        key.extend_from_slice(&run.lead);
        let mut complete = true;
        for (operand, column) in &run.rest {
            let value = self.read(*operand);
            complete &= !value.is_null();
            key::encode_column(*column, self.memory.datum(value), key)?;
        }
        Ok(complete)
    }
}
