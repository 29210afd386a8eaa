//! What an evaluation is given by its caller: memory for results, the session's settings, the time, a random state.
//!
//! Everything that is not an argument of a function comes from here, so that an evaluation is a function of its inputs and
//! a replayed run sees the same values.

use super::datetime::Style;
use super::datum::Arena;
use super::regex::Expressions;

/// The surroundings of an evaluation.
#[derive(Debug)]
pub struct EvalCtx<'a> {
    /// Where byte runs of results are kept.
    pub arena: &'a Arena,
    /// The session's settings; [`Style::now`] is the transaction's start, which `now()` answers.
    pub style: Style<'a>,
    /// What `statement_timestamp()` answers: when the current message arrived.
    pub statement_time: i64,
    /// What `clock_timestamp()` answers. The caller sets it from its clock before each row, if the plan asks for it.
    pub clock_time: i64,
    /// The state of `random()`; the caller seeds it and keeps it with the session.
    pub random: u64,
    /// Regular expressions that the statement has used; none where nothing is used twice.
    pub expressions: Option<&'a Expressions>,
}

impl<'a> EvalCtx<'a> {
    /// Surroundings with the given memory, all settings at their defaults and the year 2000 for all times.
    pub fn plain(arena: &'a Arena) -> EvalCtx<'a> {
        EvalCtx { arena, style: Style::PLAIN, statement_time: 0, clock_time: 0, random: 0, expressions: None }
    }

    /// The next random number: SplitMix64, whose state is one word.
    pub fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}
