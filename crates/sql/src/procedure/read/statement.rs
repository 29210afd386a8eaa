//! Reading statements of the language: loops, conditions, messages, what ends a body.

use super::super::condition;
use super::super::tree::{Gives, Into, Item, Kind, Level, Raise, RaiseOption, Source, Statement, TypeText};
use super::Reader;
use crate::lexer::{TokenKind, literal};
use base::{Error, Object, Result, sqlstate};

impl Reader<'_> {
    /// What may have a label: a block or a loop.
    pub(super) fn labelled(&mut self, label: Option<String>) -> Result<Kind> {
        if self.is("declare") || self.is("begin") {
            let block = self.block(label)?;
            self.semicolon()?;
            return Ok(Kind::Block(block));
        }
        if self.eat("loop") {
            let body = self.loop_body(label.as_deref())?;
            return Ok(Kind::Loop { label, condition: None, body });
        }
        if self.eat("while") {
            let condition = Some(self.expression(&["loop"])?);
            self.expect("loop")?;
            let body = self.loop_body(label.as_deref())?;
            return Ok(Kind::Loop { label, condition, body });
        }
        if self.eat("for") {
            return self.for_loop(label);
        }
        if self.eat("foreach") {
            let target = self.assigned()?;
            let mut slice = 0;
            if self.eat("slice") {
                let token = self.next();
                slice = match token.text(self.text).parse::<u32>() {
                    Ok(slice) if token.kind == TokenKind::Integer => slice,
                    _ => return Err(self.wrong("a number was expected behind SLICE".to_owned())),
                };
            }
            self.expect("in")?;
            self.expect("array")?;
            let array = self.expression(&["loop"])?;
            self.expect("loop")?;
            let body = self.loop_body(label.as_deref())?;
            return Ok(Kind::Elements { label, target, slice, array, body });
        }
        Err(self.unexpected())
    }

    /// What a loop repeats, to its `END LOOP`.
    pub(super) fn loop_body(&mut self, label: Option<&str>) -> Result<Vec<Statement>> {
        self.descend()?;
        self.labels.push((label.unwrap_or("").to_owned(), true));
        let body = self.statements(&["end"])?;
        self.labels.pop();
        self.expect("end")?;
        self.expect("loop")?;
        self.end_label(label)?;
        self.semicolon()?;
        self.depth -= 1;
        Ok(body)
    }

    fn for_loop(&mut self, label: Option<String>) -> Result<Kind> {
        let first = self.at;
        // What it is about is known at its `LOOP`: two dots make it count.
        while !self.is("in") {
            if matches!(self.peek().kind, TokenKind::End | TokenKind::Semicolon) {
                return Err(self.unexpected());
            }
            self.next();
        }
        self.next();
        let reverse = self.is("reverse");
        let after = self.at;
        let counts = self.until(&["..", "loop"]).is_ok() && self.peek().kind == TokenKind::DotDot;
        self.at = first;
        let seen = self.visible.len();
        let kind = if counts {
            let name = self.name()?;
            self.expect("in")?;
            self.at = after + usize::from(reverse);
            let lower = self.expression(&[".."])?;
            self.next();
            let upper = self.expression(&["loop", "by"])?;
            let step = if self.eat("by") { Some(self.expression(&["loop"])?) } else { None };
            self.expect("loop")?;
            let own = label.clone().unwrap_or_default();
            let variable = self.variable(&own, &name, TypeText::Named("integer".to_owned()))?;
            let body = self.loop_body(label.as_deref())?;
            Kind::Count { label, variable, bounds: (lower, upper), step, reverse, body }
        } else {
            let token = self.peek();
            if let Some(kind) = self.cursor_loop(label.as_deref())? {
                self.visible.truncate(seen);
                return Ok(kind);
            }
            if Self::is_name(token)
                && self.is_at(1, "in")
                && self.find(&[literal::name(self.text, token).into_owned()]).is_none()
            {
                let message = "loop variable of loop over rows must be a record variable or list of scalar variables";
                return Err(self.wrong(message.to_owned()));
            }
            let into = Into { targets: self.targets()?, strict: false };
            self.expect("in")?;
            let source = if self.eat("execute") {
                let text = self.expression(&["loop", "using"])?;
                let mut using = Vec::new();
                if self.eat("using") {
                    using.push(self.expression(&[",", "loop"])?);
                    while self.eat_kind(TokenKind::Comma) {
                        using.push(self.expression(&[",", "loop"])?);
                    }
                }
                Source::Text(text, using)
            } else {
                let span = self.until(&["loop"])?;
                let text = self.span(span).to_owned();
                Source::Piece(self.piece(text, span))
            };
            self.expect("loop")?;
            let body = self.loop_body(label.as_deref())?;
            Kind::Rows { label, into, source, body }
        };
        self.visible.truncate(seen);
        Ok(kind)
    }

    pub(super) fn conditional(&mut self) -> Result<Kind> {
        self.next();
        self.descend()?;
        let mut arms = Vec::new();
        let mut otherwise = None;
        let condition = self.expression(&["then"])?;
        self.expect("then")?;
        const ENDS: [&str; 4] = ["end", "else", "elsif", "elseif"];
        arms.push((condition, self.statements(&ENDS)?));
        while self.eat("elsif") || self.eat("elseif") {
            let condition = self.expression(&["then"])?;
            self.expect("then")?;
            arms.push((condition, self.statements(&ENDS)?));
        }
        if self.eat("else") {
            otherwise = Some(self.statements(&["end"])?);
        }
        self.expect("end")?;
        self.expect("if")?;
        self.semicolon()?;
        self.depth -= 1;
        Ok(Kind::If { value: None, arms, otherwise, is_case: false })
    }

    pub(super) fn case(&mut self) -> Result<Kind> {
        self.next();
        self.descend()?;
        let value = if self.is("when") {
            None
        } else {
            let piece = self.expression(&["when"])?;
            // A name that cannot be written without quotes.
            let name = format!("__Case__Variable_{}__", self.variables.len());
            let number = self.variable("", &name, TypeText::Value)?;
            self.visible.pop();
            Some((number, piece))
        };
        let mut arms = Vec::new();
        while self.eat("when") {
            let mut condition = match &value {
                None => self.expression(&["then"])?,
                Some((number, _)) => {
                    let span = self.until(&["then"])?;
                    let name = self.variables[*number as usize].name.clone();
                    let text = format!("SELECT \"{name}\" IN ({})", self.span(span));
                    self.piece(text, span)
                }
            };
            condition.variables.extend(value.iter().map(|value| value.0));
            self.expect("then")?;
            arms.push((condition, self.statements(&["end", "else", "when"])?));
        }
        if arms.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.eat("else") { Some(self.statements(&["end"])?) } else { None };
        self.expect("end")?;
        self.expect("case")?;
        self.semicolon()?;
        self.depth -= 1;
        Ok(Kind::If { value, arms, otherwise, is_case: true })
    }

    pub(super) fn leave(&mut self) -> Result<Kind> {
        let again = self.is("continue");
        self.next();
        let label = match Self::is_name(self.peek()) && !self.is("when") {
            true => Some(self.name()?),
            false => None,
        };
        let when = if self.eat("when") { Some(self.expression(&[";"])?) } else { None };
        self.semicolon()?;
        let word = if again { "CONTINUE" } else { "EXIT" };
        match &label {
            None if !self.labels.iter().any(|label| label.1) => Err(self.wrong(match again {
                true => "CONTINUE cannot be used outside a loop".to_owned(),
                false => format!("{word} cannot be used outside a loop, unless it has a label"),
            })),
            Some(name) => match self.labels.iter().rev().find(|label| label.0 == *name) {
                None => {
                    let message =
                        format!("there is no label \"{name}\" attached to any block or loop enclosing this statement");
                    Err(self.wrong(message))
                }
                Some((_, false)) if again => {
                    Err(self.wrong(format!("block label \"{name}\" cannot be used in CONTINUE")))
                }
                Some(_) => Ok(Kind::Leave { label, again, when }),
            },
            None => Ok(Kind::Leave { label, again, when }),
        }
    }

    pub(super) fn return_statement(&mut self) -> Result<Kind> {
        self.next();
        let mismatch = |message: &str| Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message.to_owned()));
        if self.is("next") || self.is("query") {
            if !matches!(self.gives, Gives::Set | Gives::Rows | Gives::TableRows) {
                let word = if self.is("next") { "NEXT" } else { "QUERY" };
                return mismatch(&format!("cannot use RETURN {word} in a non-SETOF function"));
            }
            return if self.eat("next") { self.return_next() } else { self.return_query() };
        }
        if self.eat_kind(TokenKind::Semicolon) {
            return match self.gives {
                Gives::Value | Gives::Row => Err(self.wrong("missing expression at or near \";\"".to_owned())),
                _ => Ok(Kind::Return(None)),
            };
        }
        if self.gives == Gives::Row && self.peek_at(1).kind == TokenKind::Semicolon && Self::is_name(self.peek()) {
            let name = literal::name(self.text, self.peek()).into_owned();
            let found = if self.is("null") { Some(None) } else { self.find(&[name]).map(|(number, _)| Some(number)) };
            if let Some(variable) = found {
                self.next();
                self.semicolon()?;
                return Ok(Kind::ReturnRow(variable));
            }
        }
        match self.gives {
            Gives::Value | Gives::Row => {
                let value = self.expression(&[";"])?;
                self.semicolon()?;
                Ok(Kind::Return(Some(value)))
            }
            Gives::Procedure => Err(self.wrong("RETURN cannot have a parameter in a procedure".to_owned())),
            Gives::Void => mismatch("RETURN cannot have a parameter in function returning void"),
            Gives::Outputs => mismatch("RETURN cannot have a parameter in function with OUT parameters"),
            Gives::Set | Gives::Rows | Gives::TableRows => {
                let message = "RETURN cannot have a parameter in function returning set";
                Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message).hint("Use RETURN NEXT or RETURN QUERY."))
            }
        }
    }

    /// `RETURN NEXT`
    fn return_next(&mut self) -> Result<Kind> {
        if self.eat_kind(TokenKind::Semicolon) {
            return match self.gives {
                Gives::Rows => Ok(Kind::ReturnNext(None)),
                _ => Err(self.wrong("missing expression at or near \";\"".to_owned())),
            };
        }
        if self.gives == Gives::Rows {
            let message = "RETURN NEXT cannot have a parameter in function with OUT parameters";
            return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message));
        }
        if self.gives == Gives::TableRows {
            let found = match Self::is_name(self.peek()) && self.peek_at(1).kind == TokenKind::Semicolon {
                true => {
                    let name = literal::name(self.text, self.peek()).into_owned();
                    self.find(&[name])
                }
                false => None,
            };
            let Some((variable, _)) = found else {
                return Err(self.refused("RETURN NEXT of a row that is no variable"));
            };
            self.next();
            self.semicolon()?;
            return Ok(Kind::ReturnNextRow(variable));
        }
        let value = self.expression(&[";"])?;
        self.semicolon()?;
        Ok(Kind::ReturnNext(Some(value)))
    }

    /// `RETURN QUERY`
    fn return_query(&mut self) -> Result<Kind> {
        self.next();
        let source = self.source()?;
        Ok(Kind::ReturnQuery(source))
    }

    /// A query, or `EXECUTE` and a text with its values, and the semicolon after it.
    pub(super) fn source(&mut self) -> Result<Source> {
        let source = if self.eat("execute") {
            let text = self.expression(&["using", ";"])?;
            let mut using = Vec::new();
            if self.eat("using") {
                using.push(self.expression(&[",", ";"])?);
                while self.eat_kind(TokenKind::Comma) {
                    using.push(self.expression(&[",", ";"])?);
                }
            }
            Source::Text(text, using)
        } else {
            let span = self.until(&[";"])?;
            let text = self.span(span).to_owned();
            Source::Piece(self.piece(text, span))
        };
        self.semicolon()?;
        Ok(source)
    }

    pub(super) fn execute(&mut self) -> Result<Kind> {
        self.next();
        const ENDS: [&str; 3] = ["into", "using", ";"];
        let text = self.expression(&ENDS)?;
        let (mut into, mut using) = (None, Vec::new());
        loop {
            if into.is_none() && self.eat("into") {
                let strict = self.eat("strict");
                into = Some(Into { targets: self.targets()?, strict });
            } else if using.is_empty() && self.eat("using") {
                using.push(self.expression(&[",", "into", ";"])?);
                while self.eat_kind(TokenKind::Comma) {
                    using.push(self.expression(&[",", "into", ";"])?);
                }
            } else {
                break;
            }
        }
        self.semicolon()?;
        Ok(Kind::Execute { text, into, using })
    }

    pub(super) fn raise(&mut self) -> Result<Kind> {
        self.next();
        let mut raise = Raise {
            level: Level::Exception,
            format: None,
            arguments: Vec::new(),
            condition: None,
            options: Vec::new(),
        };
        if self.eat_kind(TokenKind::Semicolon) {
            return Ok(Kind::Raise(raise));
        }
        const LEVELS: [(&str, Level); 6] = [
            ("debug", Level::Debug),
            ("log", Level::Log),
            ("info", Level::Info),
            ("notice", Level::Notice),
            ("warning", Level::Warning),
            ("exception", Level::Exception),
        ];
        if let Some((_, level)) = LEVELS.iter().find(|known| self.is(known.0)) {
            raise.level = *level;
            self.next();
        }
        let token = self.peek();
        if token.kind.is_string() {
            self.next();
            let format = literal::string(self.text, token)?.into_owned();
            while self.eat_kind(TokenKind::Comma) {
                raise.arguments.push(self.expression(&[",", "using", ";"])?);
            }
            let wanted = places(&format);
            if raise.arguments.len() > wanted {
                return Err(self.wrong("too many parameters specified for RAISE".to_owned()));
            }
            if raise.arguments.len() < wanted {
                return Err(self.wrong("too few parameters specified for RAISE".to_owned()));
            }
            raise.format = Some(format);
        } else if Self::is_name(token) && !self.is("using") {
            let name = self.name()?;
            raise.condition = Some(match name.as_str() {
                "sqlstate" => self.state()?,
                _ => condition::code(&name).ok_or_else(|| {
                    let message = format!("unrecognized exception condition \"{name}\"");
                    Error::statement(sqlstate::UNDEFINED_OBJECT, message)
                })?,
            });
        }
        if self.eat("using") {
            loop {
                let name = self.name()?;
                let option = match name.as_str() {
                    "message" => RaiseOption::Message,
                    "detail" => RaiseOption::Detail,
                    "hint" => RaiseOption::Hint,
                    "errcode" => RaiseOption::Code,
                    "column" => RaiseOption::Name(Object::Column),
                    "constraint" => RaiseOption::Name(Object::Constraint),
                    "datatype" => RaiseOption::Name(Object::DataType),
                    "table" => RaiseOption::Name(Object::Table),
                    "schema" => RaiseOption::Name(Object::Schema),
                    _ => return Err(self.wrong(format!("unrecognized RAISE statement option \"{name}\""))),
                };
                if !self.eat_operator("=") && !self.eat_kind(TokenKind::ColonEquals) {
                    return Err(self.unexpected());
                }
                let piece = self.expression(&[",", ";"])?;
                raise.options.push((option, piece));
                if !self.eat_kind(TokenKind::Comma) {
                    break;
                }
            }
        }
        self.semicolon()?;
        Ok(Kind::Raise(raise))
    }

    pub(super) fn diagnostics(&mut self) -> Result<Kind> {
        self.next();
        let stacked = self.eat("stacked");
        if !stacked {
            self.eat("current");
        }
        self.expect("diagnostics")?;
        let mut items = Vec::new();
        loop {
            let target = self.assigned()?;
            if !self.eat_operator("=") && !self.eat_kind(TokenKind::ColonEquals) {
                return Err(self.unexpected());
            }
            let name = self.name()?;
            let (item, of_error) = match name.as_str() {
                "row_count" => (Item::RowCount, false),
                "pg_context" => return Err(self.refused("PG_CONTEXT")),
                "returned_sqlstate" => (Item::State, true),
                "message_text" => (Item::Message, true),
                "pg_exception_detail" => (Item::Detail, true),
                "pg_exception_hint" => (Item::Hint, true),
                "pg_exception_context" => (Item::Context, true),
                "column_name" => (Item::Name(Object::Column), true),
                "constraint_name" => (Item::Name(Object::Constraint), true),
                "pg_datatype_name" => (Item::Name(Object::DataType), true),
                "table_name" => (Item::Name(Object::Table), true),
                "schema_name" => (Item::Name(Object::Schema), true),
                _ => return Err(self.wrong(format!("unrecognized GET DIAGNOSTICS item at or near \"{name}\""))),
            };
            if of_error != stacked {
                let words = if stacked { "STACKED" } else { "CURRENT" };
                let message =
                    format!("diagnostics item {} is not allowed in GET {words} DIAGNOSTICS", name.to_uppercase());
                return Err(self.wrong(message));
            }
            items.push((target, item));
            if !self.eat_kind(TokenKind::Comma) {
                break;
            }
        }
        self.semicolon()?;
        Ok(Kind::Diagnostics(stacked, items))
    }

    pub(super) fn end(&mut self) -> Result<Kind> {
        let commit = self.is("commit");
        self.next();
        if !self.eat("work") {
            self.eat("transaction");
        }
        if !commit && self.is("to") {
            let message = "unsupported transaction command in PL/pgSQL";
            return Err(Error::unsupported(message));
        }
        let mut chain = false;
        if self.eat("and") {
            chain = !self.eat("no");
            self.expect("chain")?;
        }
        self.semicolon()?;
        Ok(Kind::End { commit, chain })
    }
}

/// How many arguments a message asks for.
fn places(format: &str) -> usize {
    let mut count = 0;
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        match rest.strip_prefix('%') {
            Some(after) => rest = after,
            None => count += 1,
        }
    }
    count
}
