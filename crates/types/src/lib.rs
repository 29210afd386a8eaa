//! Types and values: what a value is, how it is written, compared and cast, and which operations there are on it.
//!
//! Everything that SQL says about types is a table here: the types ([`table`]), the casts ([`cast`]), the functions
//! ([`function`]), the operators ([`operator`]), the aggregates ([`aggregate`]). The catalog's `pg_type`, `pg_cast`,
//! `pg_proc`, `pg_operator` are views of them. A binder looks names up ([`resolve`]) and gets rows; a plan keeps what is
//! two bytes or one of a row ([`op::Op`], [`Kind`], [`cast::Method`], [`aggregate::AggCall`]) and no pointer to code; an
//! executor gives them to [`eval::eval`], [`compare::compare`], [`io::output`] and the like with values ([`Datum`]).
//!
//! Definitions
//! - A *type* is what SQL calls so, and has an [`Oid`]; with its modifier it is a [`Type`].
//! - A *kind* is how values of a type are represented. Types of one kind share all code.
//! - A *datum* is a value in flight, a *stored* value one in a row or array ([`stored`]).
//!
//! Rules
//! 1. PostgreSQL 15 is the specification: text forms, rounding, error texts, resolution. Where this differs on purpose the
//!    place says so. The collation is `C` and the encoding UTF-8, everywhere.
//! 2. Pure: no I/O, no clock, no chance, no memory that outlives the request. What is needed comes in an [`EvalCtx`].
//! 3. What a client sent is refused with its error; what was stored and cannot be is damage (`XX001`). Neither panics.
//! 4. Types of users have no rows: their numbers say what they are ([`user`]), and names come in a [`user::UserTypes`].
//! 5. To add a type: give its row a [`Kind`], and the compiler names the places that need an arm.
//!
//! Life of `a + 1 > $1`: the binder asks [`resolve::resolve_operator`] for `+` of `integer` and `integer`, then for `>` of
//! that result and `unknown`, which makes the parameter an `integer`; the plan holds `Op::Int4Add` and `Op::IntGt`. On
//! execution the parameter's text goes through [`io::input`], and each row through two calls of [`eval::eval`].
#![forbid(unsafe_code)]

pub mod aggregate;
pub mod argument;
pub mod array;
pub mod cast;
pub mod compare;
pub mod context;
pub mod datetime;
pub mod datum;
pub mod encoding;
pub mod eval;
pub mod float;
pub mod function;
pub mod hash;
pub mod int;
pub mod io;
pub mod json;
pub mod key;
pub mod like;
mod md5;
pub mod name;
pub mod numeric;
pub mod op;
pub mod operator;
pub mod record;
pub mod regex;
pub mod resolve;
pub mod stored;
pub mod table;
pub mod template;
pub mod text;
pub mod typmod;
pub mod user;
pub mod window;

pub use context::EvalCtx;
pub use datum::{Arena, Datum, Sink};
pub use table::{Kind, Oid, Type, TypeRow};
