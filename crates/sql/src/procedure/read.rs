//! Reading a body: from its text to the tree.
//!
//! Only the language is read here. Where an expression or an SQL statement stands, its tokens are taken up to the word or sign that
//! ends it, and become the text of a piece; whether that text is SQL is found out when it is compiled.
//!
//! Rules
//! 1. What is no program is `42601`. What PostgreSQL has and this language has not is `0A000`.
//! 2. Blocks and loops in one another are counted, because those who read the tree recurse: `54001`.
//! 3. Runs on the engine's own stack, and waits for nothing.

use super::condition;
use super::tree::{
    Block, Body, Handler, Into, Item, Kind, Level, Piece, Raise, RaiseOption, Source, Statement, Target, TypeText,
    Variable,
};
use crate::lexer::{Lexer, Token, TokenKind, error_near, literal};
use base::{Error, Result, sqlstate};

/// How deep statements may stand in one another.
const DEPTH_MAX: u32 = 64;
/// How many variables a body may have.
const VARIABLES_MAX: usize = 1000;

/// Reads a body. `label` is the routine's name; arguments are its first variables, with names and types.
pub fn read(text: &str, label: &str, arguments: Vec<Variable>) -> Result<Body> {
    let mut lexer = Lexer::new(text);
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next_token()?;
        tokens.push(token);
        if token.kind == TokenKind::End {
            break;
        }
    }
    let mut reader = Reader {
        text,
        tokens,
        at: 0,
        variables: Vec::new(),
        visible: Vec::new(),
        labels: Vec::new(),
        pieces: 0,
        depth: 0,
        line: (0, 1),
    };
    reader.variable("", "found", TypeText::Named("boolean".to_owned()))?;
    for mut variable in arguments {
        variable.label = label.to_owned();
        reader.variables.push(variable);
        reader.visible.push(reader.variables.len() as u32 - 1);
    }
    let outer = reader.label()?;
    let block = reader.block(outer)?;
    reader.eat_kind(TokenKind::Semicolon);
    if reader.peek().kind != TokenKind::End {
        return Err(reader.unexpected());
    }
    Ok(Body { variables: reader.variables, pieces: reader.pieces, block })
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
        let (label, name) = (label.to_owned(), name.to_owned());
        self.variables.push(Variable { label, name, ty, constant: false, not_null: false });
        self.visible.push(number);
        Ok(number)
    }

    /// The variable that names mean, and how many of them it took.
    fn find(&self, names: &[String]) -> Option<(u32, usize)> {
        let visible = self.visible.iter().rev().map(|number| (*number, &self.variables[*number as usize]));
        let mut plain = visible.clone().filter(|(_, variable)| variable.name == names[0]);
        if let Some((number, _)) = plain.next() {
            return Some((number, 1));
        }
        let [label, name, ..] = names else { return None };
        let mut labelled = visible.filter(|(_, variable)| variable.label == *label && variable.name == *name);
        labelled.next().map(|(number, _)| (number, 2))
    }

    /// A variable or a field of one, if that is what stands here.
    fn target(&mut self) -> Result<Option<Target>> {
        if !Self::is_name(self.peek()) {
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
        let mut variables = Vec::new();
        for &number in self.visible.iter().rev() {
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
        if self.is("alias") || self.is("cursor") || self.is("scroll") || (self.is("no") && self.is_at(1, "scroll")) {
            let what = if self.is("alias") { "ALIAS" } else { "a cursor" };
            return Err(self.refused(what));
        }
        let known = self.visible[seen..].iter().any(|number| self.variables[*number as usize].name == name);
        if known {
            return Err(self.wrong(format!("duplicate declaration at or near \"{name}\"")));
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
        while Self::is_name(self.peek()) {
            names.push(self.name()?);
            if self.peek().kind != TokenKind::Dot {
                break;
            }
            self.next();
        }
        if self.is_operator(self.peek(), "%") && !names.is_empty() {
            self.next();
            let word = self.name()?;
            return match word.as_str() {
                "type" => match self.find(&names) {
                    Some((number, taken)) if taken == names.len() => Ok(TypeText::Like(number)),
                    _ => Ok(TypeText::Column(names)),
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
        if Self::is_name(token) {
            let from = self.at;
            if let Some(target) = self.target()? {
                if self.eat_kind(TokenKind::ColonEquals) || self.eat_operator("=") {
                    self.check_changes(&target)?;
                    let value = self.expression(&[";"])?;
                    self.semicolon()?;
                    return Ok(Kind::Assign(target, value));
                }
                if self.peek().kind == TokenKind::BracketOpen {
                    return Err(self.refused("assigning to an element of an array"));
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
            "open" | "fetch" | "move" | "close" => Err(self.refused(&format!("{} of a cursor", word.to_uppercase()))),
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

    /// What may have a label: a block or a loop.
    fn labelled(&mut self, label: Option<String>) -> Result<Kind> {
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
            if self.is("slice") {
                return Err(self.refused("FOREACH with SLICE"));
            }
            self.expect("in")?;
            self.expect("array")?;
            let array = self.expression(&["loop"])?;
            self.expect("loop")?;
            let body = self.loop_body(label.as_deref())?;
            return Ok(Kind::Elements { label, target, array, body });
        }
        Err(self.unexpected())
    }

    /// What a loop repeats, to its `END LOOP`.
    fn loop_body(&mut self, label: Option<&str>) -> Result<Vec<Statement>> {
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

    fn conditional(&mut self) -> Result<Kind> {
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

    fn case(&mut self) -> Result<Kind> {
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

    fn leave(&mut self) -> Result<Kind> {
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

    fn return_statement(&mut self) -> Result<Kind> {
        self.next();
        if self.is("next") || self.is("query") {
            let message = "cannot use RETURN NEXT in a non-SETOF function";
            return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message));
        }
        if !self.eat_kind(TokenKind::Semicolon) {
            return Err(self.wrong("RETURN cannot have a parameter in a procedure".to_owned()));
        }
        Ok(Kind::Return)
    }

    fn execute(&mut self) -> Result<Kind> {
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

    fn raise(&mut self) -> Result<Kind> {
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
                    "column" | "constraint" | "datatype" | "table" | "schema" => {
                        return Err(self.refused(&format!("RAISE with {}", name.to_uppercase())));
                    }
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

    fn diagnostics(&mut self) -> Result<Kind> {
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
                "column_name" | "constraint_name" | "pg_datatype_name" | "table_name" | "schema_name" => {
                    return Err(self.refused(&name.to_uppercase()));
                }
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

    fn end(&mut self) -> Result<Kind> {
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
