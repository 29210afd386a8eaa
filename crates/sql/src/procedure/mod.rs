//! Procedures: the language with PL/pgSQL's syntax, read once and then interpreted beside the session.
//!
//! ```text
//!  CALL, DO ──> arguments computed ──> body: read, or found read already ──> a frame ──> statements, one after another
//!                                                                             |  SQL and expressions: plans, with variables as parameters
//! ```
//!
//! A body becomes a tree ([`tree`]) in which variables have numbers, and every expression and SQL statement is a text of its own (a
//! [`tree::Piece`]) that lists the variables that it may mention. A piece is compiled like any statement: the binder takes a name that is
//! no column for a variable, and the variable for a parameter. Its plan is found in the statement cache by the text and the variables'
//! names and types, and is kept in the frame, so a loop looks for it once.
//!
//! | module | what it is |
//! |---|---|
//! | [`tree`] | a body that was read |
//! | [`read`] | from the text to the tree |
//! | [`condition`] | names of conditions |
//! | [`frame`] | variables of a call, and values that change their types |
//! | [`run`] | statements of the language |
//! | [`sql`] | expressions and SQL statements in it |
//! | `give` | what a function gives back |
//! | `cursor`, `element` | cursors; elements of arrays and whole records as what is assigned to |
//! | `append` | texts and arrays that grow |
//! | [`raise`] | messages, errors and what is known of them |
//! | [`kept`] | bodies that a process has read |
//!
//! Rules
//! 1. An interpreter lives within one request, in ordinary memory. Nothing of it is in the session, so nothing has to move with it.
//! 2. It stands beside executions, never inside one: each statement of a body is executed to its end before the next begins. What a
//!    statement changed, the next one sees; at READ COMMITTED each has a snapshot of its own.
//! 3. A block with `EXCEPTION` is a level of the transaction (`session::savepoint`): it ends with the block, or is taken back.
//! 4. A loop looks for interrupts at each turn and gives the engine up when its time slice is over.
//! 5. Bodies in bodies, and calls in calls, are counted and refused with `54001` before the stack is at its end.

mod append;
pub mod condition;
mod cursor;
mod element;
pub(crate) mod frame;
mod give;
pub(crate) mod kept;
pub(crate) mod raise;
pub mod read;
pub(crate) mod run;
pub(crate) mod sql;
pub mod tree;

#[cfg(test)]
mod tests;
