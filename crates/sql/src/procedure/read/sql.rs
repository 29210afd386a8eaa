//! Reading a body in SQL: statements, one after another, of which the last gives the result.

use super::super::tree::{Block, Body, Gives, Kind, Statement, Variable};
use super::Reader;
use crate::lexer::TokenKind;
use base::Result;

/// Reads a body. `label` is the function's name; arguments are its variables, with names and types.
pub fn read(text: &str, label: &str, arguments: Vec<Variable>, gives: Gives) -> Result<Body> {
    let mut reader = Reader::new(text, label, arguments, gives)?;
    // Nothing is named `found` here.
    reader.visible.retain(|number| *number != 0);
    let mut body = Vec::new();
    loop {
        while reader.eat_kind(TokenKind::Semicolon) {}
        let first = reader.at;
        let mut open = 0_u32;
        loop {
            match reader.peek().kind {
                TokenKind::End => break,
                TokenKind::Semicolon if open == 0 => break,
                TokenKind::ParenOpen => open += 1,
                TokenKind::ParenClose => open = open.saturating_sub(1),
                _ => {}
            }
            reader.next();
        }
        if reader.at == first {
            break;
        }
        let span = (first, reader.at);
        let text = reader.span(span).to_owned();
        let piece = reader.piece(text, span);
        body.push(Statement { line: body.len() as u32 + 1, kind: Kind::Run(piece) });
    }
    let gives_rows = !matches!(gives, Gives::Void | Gives::Procedure);
    match body.pop() {
        Some(Statement { line, kind: Kind::Run(piece) }) if gives_rows => {
            body.push(Statement { line, kind: Kind::Result(piece) });
        }
        last => body.extend(last),
    }
    let block = Block { label: None, declared: Vec::new(), body, handlers: Vec::new(), error_variables: (0, 0) };
    Ok(Body { variables: reader.variables, pieces: reader.pieces, block, gives, is_sql: true })
}
