//! `DISCARD`.

/// What `DISCARD` discards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the word of that name")]
pub enum DiscardKind {
    All,
    Plans,
    Sequences,
    Temporary,
}
