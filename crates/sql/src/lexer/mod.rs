//! From a statement's text to tokens, and to the key of the statement cache.
//!
//! Two readers share one scanner. The [`Lexer`] hands tokens to a parser. [`normalise`](normalise::normalise) reads the
//! same tokens once, takes the constants out and leaves the bytes and the hash under which the shared statement cache
//! keeps the compiled statement, so that a statement seen before runs without being parsed.
//!
//! Definitions
//! - A *token* is a kind and a span; nothing is copied.
//! - A *constant* (literal) is a number or a string in the text. The normaliser turns it into a *slot* of the statement,
//!   or leaves it where it stands.
//!
//! Rules
//! 1. The lexical rules are PostgreSQL 15's. What they refuse is refused with PostgreSQL's message and place.
//! 2. A text is valid UTF-8 and shorter than 4 GiB; the protocol sees to both.
//! 3. Nothing here knows SQL's grammar, beyond the few words that the normaliser's rules name.

pub mod keywords;
pub mod literal;
pub mod normalise;
mod scan;
mod token;

pub use normalise::{Head, Literal, LiteralKind, Literals, Normalised, normalise};
pub use scan::{Lexer, error_near, position};
pub use token::{Token, TokenKind};

#[cfg(test)]
mod tests;
