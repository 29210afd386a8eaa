//! Reading cursors: their declarations, `OPEN`, `FETCH`, `MOVE`, loops over them; and other names of variables.

use super::super::tree::{Cursor, Into, Kind, Opened, Piece, Steps, TypeText};
use super::Reader;
use crate::lexer::{TokenKind, literal};
use crate::parser::ast::FetchDirection;
use base::{Error, Result, sqlstate};

impl Reader<'_> {
    /// `name ALIAS FOR variable;`
    pub(super) fn alias(&mut self, label: &str, name: &str) -> Result<(u32, Option<Piece>)> {
        self.expect("for")?;
        let token = self.peek();
        let found = match self.target()? {
            Some(target) if target.field.is_none() => target.variable,
            _ => {
                let shown = token.text(self.text);
                let message = format!("variable \"{shown}\" does not exist");
                return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
            }
        };
        self.semicolon()?;
        let number = self.variable(label, name, TypeText::Like(found))?;
        self.variables[number as usize].alias = Some(found);
        Ok((number, None))
    }

    /// `name [[NO] SCROLL] CURSOR [(arguments)] FOR query;`
    pub(super) fn bound_cursor(&mut self, label: &str, name: &str) -> Result<(u32, Option<Piece>)> {
        let scroll = self.scroll();
        self.expect("cursor")?;
        let seen = self.visible.len();
        let mut arguments = Vec::new();
        if self.eat_kind(TokenKind::ParenOpen) {
            loop {
                let argument = self.name()?;
                let ty = self.declared_type()?;
                arguments.push(self.variable(name, &argument, ty)?);
                if !self.eat_kind(TokenKind::Comma) {
                    break;
                }
            }
            self.expect_kind(TokenKind::ParenClose)?;
        }
        if !self.eat("for") {
            self.expect("is")?;
        }
        let span = self.until(&[";"])?;
        let text = self.span(span).to_owned();
        let query = self.piece(text, span);
        self.semicolon()?;
        self.visible.truncate(seen);
        let number = self.variable(label, name, TypeText::Named("refcursor".to_owned()))?;
        self.variables[number as usize].cursor = Some(Box::new(Cursor { arguments, query, scroll }));
        Ok((number, None))
    }

    /// `SCROLL`, `NO SCROLL`
    fn scroll(&mut self) -> Option<bool> {
        let no = self.is("no") && self.is_at(1, "scroll");
        if no {
            self.next();
        }
        self.eat("scroll").then_some(!no)
    }

    /// The variable of a cursor.
    pub(super) fn cursor_variable(&mut self) -> Result<u32> {
        let target = self.assigned()?;
        let variable = &self.variables[target.variable as usize];
        let is_cursor = match &variable.ty {
            TypeText::Named(text) => text.eq_ignore_ascii_case("refcursor"),
            TypeText::Like(_) | TypeText::Column(_) => true,
            _ => false,
        };
        if target.field.is_some() || !is_cursor {
            let message = format!("variable \"{}\" must be of type cursor or refcursor", variable.name);
            return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message));
        }
        Ok(target.variable)
    }

    /// The arguments of a cursor with a query, in their order.
    fn cursor_arguments(&mut self, cursor: u32) -> Result<Vec<Piece>> {
        let name = self.variables[cursor as usize].name.clone();
        let wanted: Vec<u32> =
            self.variables[cursor as usize].cursor.as_ref().map_or(Vec::new(), |cursor| cursor.arguments.clone());
        if self.peek().kind != TokenKind::ParenOpen {
            return match wanted.is_empty() {
                true => Ok(Vec::new()),
                false => Err(self.wrong(format!("cursor \"{name}\" has arguments"))),
            };
        }
        if wanted.is_empty() {
            return Err(self.wrong(format!("cursor \"{name}\" has no arguments")));
        }
        self.next();
        let mut given: Vec<Option<Piece>> = wanted.iter().map(|_| None).collect();
        let mut next = 0;
        loop {
            let is_named = Self::is_name(self.peek()) && self.peek_at(1).kind == TokenKind::ColonEquals;
            let mut place = next;
            if is_named {
                let argument = literal::name(self.text, self.peek()).into_owned();
                let found = wanted.iter().position(|number| self.variables[*number as usize].name == argument);
                place = found
                    .ok_or_else(|| self.wrong(format!("cursor \"{name}\" has no argument named \"{argument}\"")))?;
                self.next();
                self.next();
            }
            if place >= given.len() {
                return Err(self.wrong(format!("too many arguments for cursor \"{name}\"")));
            }
            if given[place].is_some() {
                return Err(self.wrong(format!("value for a parameter of cursor \"{name}\" specified more than once")));
            }
            given[place] = Some(self.argument()?);
            next = place + 1;
            if !self.eat_kind(TokenKind::Comma) {
                break;
            }
        }
        self.expect_kind(TokenKind::ParenClose)?;
        let count = given.len();
        let given: Vec<Piece> = given.into_iter().flatten().collect();
        match given.len() == count {
            true => Ok(given),
            false => Err(self.wrong(format!("not enough arguments for cursor \"{name}\""))),
        }
    }

    /// An expression up to a comma or the parenthesis that closes the list.
    fn argument(&mut self) -> Result<Piece> {
        let first = self.at;
        let mut open = 0_u32;
        loop {
            match self.peek().kind {
                TokenKind::Comma | TokenKind::ParenClose if open == 0 => break,
                TokenKind::ParenOpen | TokenKind::BracketOpen => open += 1,
                TokenKind::ParenClose | TokenKind::BracketClose => open = open.saturating_sub(1),
                TokenKind::End | TokenKind::Semicolon => return Err(self.unexpected()),
                _ => {}
            }
            self.next();
        }
        if first == self.at {
            return Err(self.unexpected());
        }
        let text = format!("SELECT {}", self.span((first, self.at)));
        Ok(self.piece(text, (first, self.at)))
    }

    /// `OPEN`
    pub(super) fn open(&mut self) -> Result<Kind> {
        self.next();
        let cursor = self.cursor_variable()?;
        if self.variables[cursor as usize].cursor.is_some() {
            let arguments = self.cursor_arguments(cursor)?;
            self.semicolon()?;
            return Ok(Kind::Open(cursor, Opened::Bound(arguments)));
        }
        let scroll = self.scroll();
        self.expect("for")?;
        let source = self.source()?;
        Ok(Kind::Open(cursor, Opened::For(source, scroll)))
    }

    /// `FETCH`, `MOVE`
    pub(super) fn fetch(&mut self) -> Result<Kind> {
        let moves = self.is("move");
        self.next();
        let (steps, is_many) = self.steps()?;
        if is_many && !moves {
            return Err(Error::unsupported("FETCH statement cannot return multiple rows"));
        }
        if !self.eat("from") {
            self.eat("in");
        }
        let cursor = self.cursor_variable()?;
        let into = match moves {
            true => None,
            false => {
                self.expect("into")?;
                Some(Into { targets: self.targets()?, strict: false })
            }
        };
        self.semicolon()?;
        Ok(Kind::Fetch(cursor, steps, into))
    }

    /// The direction of a `FETCH` or `MOVE`, if there is one, and whether it may give more rows than one.
    fn steps(&mut self) -> Result<(Steps, bool)> {
        use FetchDirection::{Absolute, Backward, Forward};
        let one = Steps::Known(Forward(1));
        let names_a_cursor = Self::is_name(self.peek())
            && (self.is_at(1, "into") || matches!(self.peek_at(1).kind, TokenKind::Semicolon));
        if names_a_cursor || self.is("from") || self.is("in") {
            return Ok((one, false));
        }
        let known = [("next", Forward(1)), ("prior", Backward(1)), ("first", Absolute(1)), ("last", Absolute(-1))];
        for (word, direction) in known {
            if self.eat(word) {
                return Ok((Steps::Known(direction), false));
            }
        }
        let end = &["from", "in"];
        if self.eat("all") {
            return Ok((Steps::Known(Forward(u64::MAX)), true));
        }
        if self.eat("absolute") {
            return Ok((Steps::Absolute(self.expression(end)?), false));
        }
        if self.eat("relative") {
            return Ok((Steps::Relative(self.expression(end)?), false));
        }
        let backward = self.is("backward");
        if !self.eat("forward") && !self.eat("backward") {
            // A number on its own; a name there is a cursor's.
            return match Self::is_name(self.peek()) {
                true => Ok((one, false)),
                false => Ok((Steps::Forward(self.expression(end)?), true)),
            };
        }
        let direction = |count| if backward { Backward(count) } else { Forward(count) };
        if self.eat("all") {
            return Ok((Steps::Known(direction(u64::MAX)), true));
        }
        if self.is("from") || self.is("in") || Self::is_name(self.peek()) {
            return Ok((Steps::Known(direction(1)), false));
        }
        let count = self.expression(end)?;
        Ok((if backward { Steps::Backward(count) } else { Steps::Forward(count) }, true))
    }

    /// `FOR row IN cursor`, from `row` on; none if it is another loop.
    pub(super) fn cursor_loop(&mut self, label: Option<&str>) -> Result<Option<Kind>> {
        let from = self.at;
        if !Self::is_name(self.peek()) || !self.is_at(1, "in") || !Self::is_name(self.peek_at(2)) {
            return Ok(None);
        }
        let cursor = literal::name(self.text, self.peek_at(2)).into_owned();
        let after = self.peek_at(3);
        let ends = after.kind == TokenKind::ParenOpen || self.is_word(after, "loop");
        let found = self.find(&[cursor]).filter(|(number, _)| {
            let variable = &self.variables[*number as usize];
            matches!(&variable.ty, TypeText::Named(text) if text.eq_ignore_ascii_case("refcursor"))
        });
        let Some((cursor, _)) = found.filter(|_| ends) else { return Ok(None) };
        if self.variables[cursor as usize].cursor.is_none() {
            return Err(self.wrong("cursor FOR loop must use a bound cursor variable".to_owned()));
        }
        let name = self.name()?;
        self.next();
        self.next();
        let arguments = self.cursor_arguments(cursor)?;
        if !self.eat("loop") {
            self.at = from;
            return Err(self.unexpected());
        }
        let record = self.variable(label.unwrap_or(""), &name, TypeText::Record)?;
        let body = self.loop_body(label)?;
        Ok(Some(Kind::CursorRows { label: label.map(str::to_owned), record, cursor, arguments, body }))
    }
}
