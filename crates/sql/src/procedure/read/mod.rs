//! Reading a body: from its text to the tree.
//!
//! Only the language is read here. Where an expression or an SQL statement stands, its tokens are taken up to the word or sign that
//! ends it, and become the text of a piece; whether that text is SQL is found out when it is compiled.
//!
//! Rules
//! 1. What is no program is `42601`. What PostgreSQL has and this language has not is `0A000`.
//! 2. Blocks and loops in one another are counted, because those who read the tree recurse: `54001`.
//! 3. Runs on the engine's own stack, and waits for nothing.

mod cursor;
mod sql;
mod statement;

pub use sql::read as read_sql;

use super::condition;
use super::tree::{Block, Body, Gives, Handler, Into, Kind, Piece, Place, Statement, Target, TypeText, Variable};
use crate::lexer::{Lexer, Token, TokenKind, error_near, literal};
use base::{Error, Result, sqlstate};

/// How deep statements may stand in one another.
const DEPTH_MAX: u32 = 64;
/// How many variables a body may have.
const VARIABLES_MAX: usize = 1000;

/// Reads a body. `label` is the routine's name; arguments are its first variables, with names and types.
pub fn read(text: &str, label: &str, arguments: Vec<Variable>, gives: Gives) -> Result<Body> {
    let mut reader = Reader::new(text, label, arguments, gives)?;
    let outer = reader.label()?;
    let block = reader.block(outer)?;
    reader.eat_kind(TokenKind::Semicolon);
    if reader.peek().kind != TokenKind::End {
        return Err(reader.unexpected());
    }
    Ok(Body { variables: reader.variables, pieces: reader.pieces, block, gives, is_sql: false })
}

fn tokens_of(text: &str) -> Result<Vec<Token>> {
    let mut lexer = Lexer::new(text);
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next_token()?;
        tokens.push(token);
        if token.kind == TokenKind::End {
            break;
        }
    }
    Ok(tokens)
}

struct Reader<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    variables: Vec<Variable>,
    /// Those that can be seen here, those of inner blocks last.
    visible: Vec<u32>,
    /// Labels around: with true for a loop.
    labels: Vec<(String, bool)>,
    pieces: u32,
    depth: u32,
    /// A byte and the line that it is in.
    line: (usize, u32),
    /// What `$1` and so on mean.
    arguments: Vec<u32>,
    gives: Gives,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, label: &str, arguments: Vec<Variable>, gives: Gives) -> Result<Reader<'t>> {
        let mut reader = Reader {
            text,
            tokens: tokens_of(text)?,
            at: 0,
            variables: Vec::new(),
            visible: Vec::new(),
            labels: Vec::new(),
            pieces: 0,
            depth: 0,
            line: (0, 1),
            arguments: Vec::new(),
            gives,
        };
        reader.variable("", "found", TypeText::Named("boolean".to_owned()))?;
        for mut variable in arguments {
            variable.label = label.to_owned();
            reader.variables.push(variable);
            let number = reader.variables.len() as u32 - 1;
            reader.visible.push(number);
            // `$0` is the result, no argument.
            if reader.variables[number as usize].name != "$0" {
                reader.arguments.push(number);
            }
        }
        Ok(reader)
    }
}

impl Reader<'_> {
    // ---- tokens

    fn peek(&self) -> Token {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek_at(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn is_word(&self, token: Token, word: &str) -> bool {
        token.kind == TokenKind::Word && token.text(self.text).eq_ignore_ascii_case(word)
    }

    fn is(&self, word: &str) -> bool {
        self.is_word(self.peek(), word)
    }

    fn is_at(&self, ahead: usize, word: &str) -> bool {
        self.is_word(self.peek_at(ahead), word)
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.is(word);
        self.at += usize::from(found);
        found
    }

    fn eat_kind(&mut self, kind: TokenKind) -> bool {
        let found = self.peek().kind == kind;
        self.at += usize::from(found && kind != TokenKind::End);
        found
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        if self.eat(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_kind(&mut self, kind: TokenKind) -> Result<()> {
        if self.eat_kind(kind) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn semicolon(&mut self) -> Result<()> {
        self.expect_kind(TokenKind::Semicolon)
    }

    fn is_operator(&self, token: Token, name: &str) -> bool {
        token.kind == TokenKind::Operator && token.text(self.text) == name
    }

    fn unexpected(&self) -> Error {
        let token = self.peek();
        match token.kind {
            TokenKind::End => Error::statement(sqlstate::SYNTAX_ERROR, "syntax error at end of input"),
            _ => error_near(self.text, "syntax error", token.start as usize, token.end as usize),
        }
    }

    fn refused(&self, what: &str) -> Error {
        Error::unsupported(format!("{what} is not supported in procedures"))
            .hint("The server's manual lists the statements that are supported.")
    }

    fn wrong(&self, message: String) -> Error {
        Error::statement(sqlstate::SYNTAX_ERROR, message)
    }

    fn is_name(token: Token) -> bool {
        matches!(token.kind, TokenKind::Word | TokenKind::QuotedName)
    }

    fn name(&mut self) -> Result<String> {
        let token = self.peek();
        if !Self::is_name(token) {
            return Err(self.unexpected());
        }
        self.next();
        Ok(literal::name(self.text, token).into_owned())
    }

    /// The line of a byte; asked for in the order of the text, but for a few steps back.
    fn line_of(&mut self, at: usize) -> u32 {
        let (mut from, mut line) = self.line;
        if at < from {
            (from, line) = (0, 1);
        }
        line += self.text.as_bytes()[from..at].iter().filter(|byte| **byte == b'\n').count() as u32;
        self.line = (at, line);
        line
    }

    // ---- variables

    fn variable(&mut self, label: &str, name: &str, ty: TypeText) -> Result<u32> {
        if self.variables.len() >= VARIABLES_MAX {
            return Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, "a procedure has too many variables"));
        }
        let number = self.variables.len() as u32;
        self.variables.push(Variable::plain(label, name, ty));
        self.visible.push(number);
        Ok(number)
    }

    /// The variable that names mean, and how many of them it took.
    fn find(&self, names: &[String]) -> Option<(u32, usize)> {
        let found = self.find_name(names)?;
        Some((self.variables[found.0 as usize].alias.unwrap_or(found.0), found.1))
    }

    fn find_name(&self, names: &[String]) -> Option<(u32, usize)> {
        let visible = self.visible.iter().rev().map(|number| (*number, &self.variables[*number as usize]));
        let mut plain = visible.clone().filter(|(_, variable)| variable.name == names[0]);
        if let Some((number, _)) = plain.next() {
            return Some((number, 1));
        }
        let [label, name, ..] = names else { return None };
        let mut labelled = visible.filter(|(_, variable)| variable.label == *label && variable.name == *name);
        labelled.next().map(|(number, _)| (number, 2))
    }

    /// The variable that `$1` means, or `$0`.
    fn numbered(&self, name: &str) -> Option<u32> {
        match name.strip_prefix('$')?.parse::<usize>().ok()? {
            0 => self.find_name(&["$0".to_owned()]).map(|found| found.0),
            place => self.arguments.get(place - 1).copied(),
        }
    }

    /// A variable or a field of one, if that is what stands here.
    fn target(&mut self) -> Result<Option<Target>> {
        let token = self.peek();
        if token.kind == TokenKind::Parameter {
            let known = self.numbered(token.text(self.text));
            self.at += usize::from(known.is_some());
            return Ok(known.map(|variable| Target { variable, field: None }));
        }
        if !Self::is_name(token) {
            return Ok(None);
        }
        let from = self.at;
        let mut names = vec![self.name()?];
        while self.peek().kind == TokenKind::Dot && Self::is_name(self.peek_at(1)) {
            self.next();
            names.push(self.name()?);
        }
        let Some((variable, taken)) = self.find(&names) else {
            self.at = from;
            return Ok(None);
        };
        let field = match &names[taken..] {
            [] => None,
            [field] => Some(field.clone()),
            _ => return Err(self.unexpected()),
        };
        Ok(Some(Target { variable, field }))
    }

    /// A target that is going to be assigned to.
    fn assigned(&mut self) -> Result<Target> {
        let token = self.peek();
        let Some(target) = self.target()? else {
            if !Self::is_name(token) {
                return Err(self.unexpected());
            }
            return Err(self.wrong(format!("\"{}\" is not a known variable", literal::name(self.text, token))));
        };
        self.check_changes(&target)?;
        Ok(target)
    }

    fn check_changes(&self, target: &Target) -> Result<()> {
        let variable = &self.variables[target.variable as usize];
        match variable.constant {
            true => Err(Error::statement(
                sqlstate::ERROR_IN_ASSIGNMENT,
                format!("variable \"{}\" is declared CONSTANT", variable.name),
            )),
            false => Ok(()),
        }
    }

    /// What stands behind `:=`: another record, or a value.
    fn assignment(&mut self, target: Target) -> Result<Kind> {
        // Whether the name of a type is that of a table is known when the body is read no more than that of a record.
        let name = Self::is_name(self.peek()).then(|| literal::name(self.text, self.peek()).into_owned());
        let source = name.and_then(|name| self.find(&[name]));
        if let Some((source, _)) = source
            && target.field.is_none()
            && self.peek_at(1).kind == TokenKind::Semicolon
        {
            let value = self.expression(&[";"])?;
            self.semicolon()?;
            return Ok(Kind::AssignVariable(target.variable, source, value));
        }
        let is_string = self.peek_at(2).kind.is_string() && self.peek_at(3).kind == TokenKind::Semicolon;
        let appends = source == Some((target.variable, 1))
            && target.field.is_none()
            && self.is_operator(self.peek_at(1), "||")
            && (is_string || self.is_operand(self.at + 2));
        let from = self.at;
        let whole = self.expression(&[";"])?;
        let kind = match appends {
            true => {
                let span = (from + 2, self.at);
                // In parentheses it is one thing here as it is there.
                let text = format!("SELECT ({})", self.span(span));
                Kind::Append { variable: target.variable, value: self.piece(text, span), is_string, whole }
            }
            false => Kind::Assign(target, whole),
        };
        self.semicolon()?;
        Ok(kind)
    }

    /// Stands there, up to a semicolon, something that any operator takes as one operand, and that has a type of its own? A name, a number, a
    /// call; with parts, indexes and casts. A string has the type that somebody expects, here and in parentheses.
    fn is_operand(&self, first: usize) -> bool {
        let (mut open, mut before) = (0_u32, None);
        for token in &self.tokens[first..] {
            let is_next = match (token.kind, before) {
                (TokenKind::End, _) => return false,
                (TokenKind::Semicolon, before) => return open == 0 && before.is_some(),
                (TokenKind::ParenOpen | TokenKind::BracketOpen, before) => {
                    open += 1;
                    open > 1
                        || matches!(before, Some(TokenKind::Word | TokenKind::QuotedName | TokenKind::ParenClose))
                        || matches!(before, Some(TokenKind::BracketClose | TokenKind::Parameter))
                }
                (TokenKind::ParenClose | TokenKind::BracketClose, _) if open == 0 => return false,
                (TokenKind::ParenClose | TokenKind::BracketClose, _) => {
                    open -= 1;
                    true
                }
                _ if open > 0 => true,
                (TokenKind::Word, None) => !self.is_word(*token, "null"),
                (TokenKind::QuotedName | TokenKind::Parameter | TokenKind::Integer | TokenKind::Decimal, None) => true,
                (TokenKind::Word | TokenKind::QuotedName, Some(TokenKind::Dot | TokenKind::ColonColon)) => true,
                (TokenKind::Dot | TokenKind::ColonColon, Some(before)) => {
                    !matches!(before, TokenKind::Dot | TokenKind::ColonColon)
                }
                _ => false,
            };
            if !is_next {
                return false;
            }
            before = Some(token.kind);
        }
        false
    }

    /// `[i][j:k] :=`; none if it is no assignment.
    fn subscripts(&mut self) -> Result<Option<Vec<Place>>> {
        let from = self.at;
        let mut subscripts = Vec::new();
        while self.eat_kind(TokenKind::BracketOpen) {
            let lower = self.bound()?;
            let place = match (self.eat_kind(TokenKind::Colon), lower) {
                (true, lower) => Place::Slice(lower, self.bound()?),
                (false, Some(index)) => Place::Index(index),
                (false, None) => return Err(self.unexpected()),
            };
            if !self.eat_kind(TokenKind::BracketClose) {
                return Err(self.unexpected());
            }
            subscripts.push(place);
        }
        if self.eat_kind(TokenKind::ColonEquals) || self.eat_operator("=") {
            return Ok(Some(subscripts));
        }
        self.at = from;
        Ok(None)
    }

    /// An expression in brackets, up to their end or a colon; none if there is none.
    fn bound(&mut self) -> Result<Option<Piece>> {
        let first = self.at;
        let mut open = 0_u32;
        loop {
            match self.peek().kind {
                TokenKind::BracketClose | TokenKind::Colon if open == 0 => break,
                TokenKind::BracketOpen | TokenKind::ParenOpen => open += 1,
                TokenKind::BracketClose | TokenKind::ParenClose => open = open.saturating_sub(1),
                TokenKind::End | TokenKind::Semicolon => return Err(self.unexpected()),
                _ => {}
            }
            self.next();
        }
        if first == self.at {
            return Ok(None);
        }
        let text = format!("SELECT {}", self.span((first, self.at)));
        Ok(Some(self.piece(text, (first, self.at))))
    }

    fn targets(&mut self) -> Result<Vec<Target>> {
        let mut targets = vec![self.assigned()?];
        while self.eat_kind(TokenKind::Comma) {
            targets.push(self.assigned()?);
        }
        Ok(targets)
    }

    // ---- pieces

    /// The tokens up to one of the words or signs, none of which is taken. Errors: `42601` if there are none, or the text ends.
    fn until(&mut self, ends: &[&str]) -> Result<(usize, usize)> {
        let first = self.at;
        let (mut open, mut cases) = (0_u32, 0_u32);
        loop {
            let token = self.peek();
            match token.kind {
                TokenKind::End => return Err(self.unexpected()),
                TokenKind::ParenOpen | TokenKind::BracketOpen => open += 1,
                TokenKind::ParenClose | TokenKind::BracketClose => {
                    open = open.checked_sub(1).ok_or_else(|| self.wrong("mismatched parentheses".to_owned()))?;
                }
                TokenKind::Semicolon if open > 0 => return Err(self.wrong("mismatched parentheses".to_owned())),
                TokenKind::Semicolon => break,
                TokenKind::Comma if open == 0 && ends.contains(&",") => break,
                TokenKind::DotDot if open == 0 && ends.contains(&"..") => break,
                // An expression's own words are not the statement's.
                TokenKind::Word if self.is_word(token, "case") => cases += 1,
                TokenKind::Word if cases > 0 && self.is_word(token, "end") => cases -= 1,
                TokenKind::Word if open == 0 && cases == 0 && ends.iter().any(|word| self.is_word(token, word)) => {
                    break;
                }
                _ => {}
            }
            self.next();
        }
        if first == self.at {
            return Err(match self.peek().kind {
                TokenKind::Semicolon => self.wrong("missing expression".to_owned()),
                _ => self.unexpected(),
            });
        }
        if !ends.is_empty() && !ends.contains(&";") && self.peek().kind == TokenKind::Semicolon {
            return Err(self.unexpected());
        }
        Ok((first, self.at))
    }

    fn span(&self, (first, end): (usize, usize)) -> &str {
        let (start, stop) = (self.tokens[first].start, self.tokens[end - 1].end);
        self.text.get(start as usize..stop as usize).unwrap_or("")
    }

    fn piece(&mut self, text: String, (first, end): (usize, usize)) -> Piece {
        // `$2` is the second of a piece's variables: the arguments up to the last that is named so stand first.
        let places = self.tokens[first..end].iter().filter(|token| token.kind == TokenKind::Parameter);
        let places = places.filter_map(|token| token.text(self.text)[1..].parse::<usize>().ok());
        let last = places.filter(|place| *place <= self.arguments.len()).max().unwrap_or(0);
        let mut variables = self.arguments[..last].to_vec();
        for &number in self.visible.iter().rev() {
            if variables.contains(&number) {
                continue;
            }
            let name = &self.variables[number as usize].name;
            let named = |token: &Token| Self::is_name(*token) && literal::name(self.text, *token) == name.as_str();
            if self.tokens[first..end].iter().any(named) {
                variables.push(number);
            }
        }
        let number = self.pieces;
        self.pieces += 1;
        Piece { text, number, variables }
    }

    /// An expression up to one of the words or signs, which is not taken.
    fn expression(&mut self, ends: &[&str]) -> Result<Piece> {
        let span = self.until(ends)?;
        let text = format!("SELECT {}", self.span(span));
        Ok(self.piece(text, span))
    }

    /// An SQL statement to its end, with its `INTO` taken out.
    fn sql(&mut self) -> Result<(Piece, Option<Into>)> {
        let first = self.at;
        let is_insert = self.is("insert") || self.is("merge");
        let mut into = None;
        let mut taken = None;
        let mut open = 0_u32;
        loop {
            let token = self.peek();
            match token.kind {
                TokenKind::End => return Err(self.unexpected()),
                TokenKind::Semicolon => break,
                TokenKind::ParenOpen => open += 1,
                TokenKind::ParenClose => open = open.saturating_sub(1),
                _ => {}
            }
            let previous = (self.at > first).then(|| self.tokens[self.at - 1]);
            let of_insert = is_insert && previous.is_some_and(|token| self.is_word(token, "insert"));
            if self.is("into")
                && open == 0
                && self.at > first
                && !of_insert
                && !previous.is_some_and(|t| self.is_word(t, "insert"))
            {
                if into.is_some() {
                    return Err(self.wrong("INTO specified more than once".to_owned()));
                }
                let from = self.at;
                self.next();
                let strict = self.eat("strict");
                into = Some(Into { targets: self.targets()?, strict });
                taken = Some((from, self.at));
                continue;
            }
            self.next();
        }
        let span = (first, self.at);
        let mut text = self.span(span).to_owned();
        if let Some((from, to)) = taken {
            let start = self.tokens[first].start as usize;
            let cut = self.tokens[from].start as usize - start..self.tokens[to - 1].end as usize - start;
            text.replace_range(cut, " ");
        }
        let piece = self.piece(text, span);
        self.semicolon()?;
        Ok((piece, into))
    }

    // ---- blocks

    fn label(&mut self) -> Result<Option<String>> {
        if !self.is_operator(self.peek(), "<<") {
            return Ok(None);
        }
        self.next();
        let name = self.name()?;
        if !self.is_operator(self.peek(), ">>") {
            return Err(self.unexpected());
        }
        self.next();
        Ok(Some(name))
    }

    /// The label that may stand again at the end.
    fn end_label(&mut self, label: Option<&str>) -> Result<()> {
        if !Self::is_name(self.peek()) {
            return Ok(());
        }
        let name = self.name()?;
        match label {
            Some(label) if label == name => Ok(()),
            Some(label) => Err(self.wrong(format!("end label \"{name}\" differs from block's label \"{label}\""))),
            None => Err(self.wrong(format!("end label \"{name}\" specified for unlabeled block"))),
        }
    }

    fn descend(&mut self) -> Result<()> {
        self.depth += 1;
        match self.depth > DEPTH_MAX {
            true => Err(Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
                .hint("Nest fewer blocks in one another.")),
            false => Ok(()),
        }
    }

    /// A block, from `DECLARE` or `BEGIN` to its `END`.
    fn block(&mut self, label: Option<String>) -> Result<Block> {
        self.descend()?;
        let seen = self.visible.len();
        let own = label.clone().unwrap_or_default();
        let mut declared = Vec::new();
        if self.eat("declare") {
            while !self.is("begin") {
                // DECLARE may be said again.
                if !self.eat("declare") {
                    declared.push(self.declaration(&own, seen)?);
                }
            }
        }
        self.expect("begin")?;
        self.labels.push((own, false));
        let body = self.statements(&["end", "exception"])?;
        let mut handlers = Vec::new();
        let mut error_variables = (0, 0);
        if self.eat("exception") {
            let before = self.visible.len();
            let text = || TypeText::Named("text".to_owned());
            error_variables = (self.variable("", "sqlstate", text())?, self.variable("", "sqlerrm", text())?);
            for number in [error_variables.0, error_variables.1] {
                self.variables[number as usize].constant = true;
            }
            while self.eat("when") {
                let mut conditions = vec![self.condition()?];
                while self.eat("or") {
                    conditions.push(self.condition()?);
                }
                self.expect("then")?;
                handlers.push(Handler { conditions, body: self.statements(&["end", "when"])? });
            }
            if handlers.is_empty() {
                return Err(self.unexpected());
            }
            self.visible.truncate(before);
        }
        self.expect("end")?;
        self.labels.pop();
        self.end_label(label.as_deref())?;
        self.visible.truncate(seen);
        self.depth -= 1;
        Ok(Block { label, declared, body, handlers, error_variables })
    }

    /// A condition of `WHEN`: a code, or nothing for `OTHERS`.
    fn condition(&mut self) -> Result<String> {
        let name = self.name()?;
        match name.as_str() {
            "others" => Ok(String::new()),
            "sqlstate" => self.state(),
            name => condition::code(name).ok_or_else(|| {
                let message = format!("unrecognized exception condition \"{name}\"");
                Error::statement(sqlstate::UNDEFINED_OBJECT, message)
            }),
        }
    }

    /// A code in quotes.
    fn state(&mut self) -> Result<String> {
        let token = self.peek();
        if !token.kind.is_string() {
            return Err(self.unexpected());
        }
        self.next();
        let code = literal::string(self.text, token)?.into_owned();
        match base::SqlState::parse(&code) {
            Some(_) => Ok(code),
            None => Err(self.wrong("invalid SQLSTATE code".to_owned())),
        }
    }

    fn declaration(&mut self, label: &str, seen: usize) -> Result<(u32, Option<Piece>)> {
        let name = self.name()?;
        let known = self.visible[seen..].iter().any(|number| self.variables[*number as usize].name == name);
        if known {
            return Err(self.wrong(format!("duplicate declaration at or near \"{name}\"")));
        }
        if self.eat("alias") {
            return self.alias(label, &name);
        }
        if self.is("cursor") || self.is("scroll") || (self.is("no") && self.is_at(1, "scroll")) {
            return self.bound_cursor(label, &name);
        }
        let constant = self.eat("constant");
        let ty = self.declared_type()?;
        if self.eat("collate") {
            return Err(self.refused("COLLATE"));
        }
        let not_null = self.is("not") && self.is_at(1, "null");
        self.at += if not_null { 2 } else { 0 };
        let has_value = self.eat("default") || self.eat_kind(TokenKind::ColonEquals) || self.eat_operator("=");
        let value = if has_value { Some(self.expression(&[";"])?) } else { None };
        self.semicolon()?;
        if not_null && value.is_none() {
            let message = format!("variable \"{name}\" must have a default value, since it's declared NOT NULL");
            return Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
        }
        let number = self.variable(label, &name, ty)?;
        let variable = &mut self.variables[number as usize];
        (variable.constant, variable.not_null) = (constant, not_null);
        Ok((number, value))
    }

    fn eat_operator(&mut self, name: &str) -> bool {
        let found = self.is_operator(self.peek(), name);
        self.at += usize::from(found);
        found
    }

    fn declared_type(&mut self) -> Result<TypeText> {
        let first = self.at;
        // `name%TYPE`, `name%ROWTYPE`: the sign is an operator to SQL.
        let mut names = Vec::new();
        if self.peek().kind == TokenKind::Parameter {
            names.push(self.next().text(self.text).to_owned());
        }
        while names.is_empty() && Self::is_name(self.peek()) || self.eat_kind(TokenKind::Dot) {
            names.push(self.name()?);
        }
        if self.is_operator(self.peek(), "%") && !names.is_empty() {
            self.next();
            let word = self.name()?;
            return match word.as_str() {
                "type" => match self.find(&names) {
                    Some((number, taken)) if taken == names.len() => Ok(TypeText::Like(number)),
                    _ => match self.numbered(&names[0]) {
                        Some(number) if names.len() == 1 => Ok(TypeText::Like(number)),
                        _ => Ok(TypeText::Column(names)),
                    },
                },
                "rowtype" => Ok(TypeText::Row(names)),
                _ => Err(self.unexpected()),
            };
        }
        self.at = first;
        if self.eat("record") {
            return Ok(TypeText::Record);
        }
        let mut open = 0;
        loop {
            let token = self.peek();
            match token.kind {
                TokenKind::End | TokenKind::Semicolon | TokenKind::ColonEquals => break,
                TokenKind::Comma | TokenKind::ParenClose if open == 0 => break,
                TokenKind::ParenOpen => open += 1,
                TokenKind::ParenClose => open -= 1,
                _ if open == 0 && self.is_operator(token, "=") => break,
                _ if ["not", "default", "collate"].iter().any(|word| self.is_word(token, word)) => break,
                _ => {}
            }
            self.next();
        }
        if first == self.at {
            return Err(self.wrong("missing data type declaration".to_owned()));
        }
        Ok(TypeText::Named(self.span((first, self.at)).to_owned()))
    }

    /// Statements up to one of the words, which is not taken.
    fn statements(&mut self, ends: &[&str]) -> Result<Vec<Statement>> {
        let mut statements = Vec::new();
        while !ends.iter().any(|word| self.is(word)) {
            let start = self.peek().start as usize;
            let line = self.line_of(start);
            let kind = self.statement()?;
            statements.push(Statement { line, kind });
        }
        Ok(statements)
    }

    fn statement(&mut self) -> Result<Kind> {
        if self.peek().kind == TokenKind::End {
            return Err(self.unexpected());
        }
        if self.is_operator(self.peek(), "<<") {
            let label = self.label()?;
            return self.labelled(label);
        }
        let token = self.peek();
        if Self::is_name(token) || token.kind == TokenKind::Parameter {
            let from = self.at;
            if let Some(target) = self.target()? {
                if self.eat_kind(TokenKind::ColonEquals) || self.eat_operator("=") {
                    self.check_changes(&target)?;
                    return self.assignment(target);
                }
                if self.peek().kind == TokenKind::BracketOpen
                    && let Some(subscripts) = self.subscripts()?
                {
                    self.check_changes(&target)?;
                    let value = self.expression(&[";"])?;
                    self.semicolon()?;
                    return Ok(Kind::AssignElement(target, subscripts, value));
                }
                self.at = from;
            }
        }
        let word = token.text(self.text).to_ascii_lowercase();
        match word.as_str() {
            "declare" | "begin" | "loop" | "while" | "for" | "foreach" => self.labelled(None),
            "if" => self.conditional(),
            "case" => self.case(),
            "exit" | "continue" => self.leave(),
            "return" => self.return_statement(),
            "raise" => self.raise(),
            "assert" => {
                self.next();
                let condition = self.expression(&[",", ";"])?;
                let message = if self.eat_kind(TokenKind::Comma) { Some(self.expression(&[";"])?) } else { None };
                self.semicolon()?;
                Ok(Kind::Assert(condition, message))
            }
            "null" => {
                self.next();
                self.semicolon()?;
                Ok(Kind::Null)
            }
            "perform" => {
                self.next();
                let piece = self.expression(&[";"])?;
                self.semicolon()?;
                Ok(Kind::Perform(piece))
            }
            "execute" => self.execute(),
            "get" => self.diagnostics(),
            "commit" | "rollback" => self.end(),
            "call" => {
                let span = self.until(&[";"])?;
                let text = self.span(span).to_owned();
                let piece = self.piece(text, span);
                self.semicolon()?;
                Ok(Kind::Call(piece))
            }
            "open" => self.open(),
            "fetch" | "move" => self.fetch(),
            "close" => {
                self.next();
                let cursor = self.cursor_variable()?;
                self.semicolon()?;
                Ok(Kind::Close(cursor))
            }
            "end" | "exception" | "when" | "else" | "elsif" | "elseif" | "then" => Err(self.unexpected()),
            _ if token.kind == TokenKind::Word => {
                if self.peek_at(1).kind == TokenKind::ColonEquals {
                    return Err(self.wrong(format!("\"{word}\" is not a known variable")));
                }
                self.sql().map(|(piece, into)| Kind::Sql(piece, into))
            }
            _ if token.kind == TokenKind::ParenOpen => self.sql().map(|(piece, into)| Kind::Sql(piece, into)),
            _ => Err(self.unexpected()),
        }
    }
}
