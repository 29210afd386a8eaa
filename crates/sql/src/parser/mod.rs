//! From a statement's text to its syntax tree.
//!
//! The parser is written by hand: recursive descent over the tokens of [`lexer`](crate::lexer), precedence climbing for
//! expressions. It is our own because the statement cache's normaliser and the parser must see the same tokens, because
//! PostgreSQL's clients compare its messages and positions (`syntax error at or near "x"`), and because compiling unique
//! statements fast is one of the things this server is about: a tree in a bump arena costs a tenth of what a general
//! parser's tree of boxes costs to make and drop.
//!
//! | module | what it reads |
//! |---|---|
//! | [`ast`] | nothing; it is the tree |
//! | `cursor` | tokens, names, constants |
//! | `expr`, `type_name` | expressions and types |
//! | `query`, `window`, `dml` | what is planned |
//! | `ddl`, `view`, `sequence`, `routine`, [`role`], [`database`], `utility` | what is not |
//!
//! Rules
//! 1. Whatever is in the tree is acted upon. A clause that nobody would act upon is refused here, with `0A000`, if
//!    PostgreSQL has it; never read over.
//! 2. What is no SQL is `42601`, in PostgreSQL's words, with the place.
//! 3. The tree's height is bounded (`54001`), because those who read it recurse. Parsing itself recurses as well: callers run
//!    it, and all that follows up to the finished plan, through [`kernel::fiber::on_engine_stack`].
//! 4. Nothing here waits, and nothing is kept after the arena has gone.

pub mod ast;
mod comment;
mod cursor;
pub mod database;
mod ddl;
mod dml;
pub(crate) mod expr;
pub mod privilege;
mod query;
pub mod role;
mod routine;
mod sequence;
mod trigger;
mod type_name;
mod user_type;
pub(crate) mod utility;
mod view;
mod window;

use crate::lexer::TokenKind;
use ast::Statement;
use base::Result;
use bumpalo::Bump;
use cursor::Parser;

/// Parses the one statement that stands between the bytes `start` and `end` of `text`, without its semicolon.
pub fn parse<'a>(text: &str, start: usize, end: usize, bump: &'a Bump) -> Result<Statement<'a>> {
    let mut parser = Parser::new(text, start, end, bump);
    let statement = parser.statement()?;
    if !parser.is_kind(TokenKind::End)? {
        return Err(parser.unexpected());
    }
    Ok(statement)
}

/// Parses an expression that was stored with a table: a default, a check.
pub fn parse_expr<'a>(text: &str, bump: &'a Bump) -> Result<ast::Expr<'a>> {
    let mut parser = Parser::new(text, 0, text.len(), bump);
    let expr = parser.expr()?;
    if !parser.is_kind(TokenKind::End)? {
        return Err(parser.unexpected());
    }
    Ok(expr)
}

/// Parses the name of a type.
pub fn parse_type<'a>(text: &str, bump: &'a Bump) -> Result<ast::TypeName<'a>> {
    let mut parser = Parser::new(text, 0, text.len(), bump);
    let name = parser.type_name()?;
    if !parser.is_kind(TokenKind::End)? {
        return Err(parser.unexpected());
    }
    Ok(name)
}

#[cfg(test)]
mod tests;
