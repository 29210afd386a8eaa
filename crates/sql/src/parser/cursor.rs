//! Where the parser is: the tokens of one statement, with a look ahead, and PostgreSQL's words for what does not fit.
//!
//! Rules
//! 1. A token is read when the parser first looks at it, so that a syntax error is reported before a lexical error that
//!    stands behind it.
//! 2. `descend` is called wherever the grammar recurses. Deeper than [`DEPTH_MAX`] is `54001`: what comes after the parser
//!    recurses over the tree, on a stack of known size.

use super::ast::{Name, Path, SelectInto};
use crate::lexer::keywords::{self, Category, KeywordId};
use crate::lexer::{Lexer, Token, TokenKind, error_near, literal};
use base::{Error, Result, sqlstate};
use bumpalo::Bump;

/// How deep expressions, queries and operators that lean to the left may be nested.
pub(super) const DEPTH_MAX: u32 = 256;

/// A token with the keyword that it is, if it is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tok {
    pub(super) token: Token,
    pub(super) keyword: Option<KeywordId>,
}

/// The number of a keyword, found when the server is compiled.
pub(super) const fn keyword(word: &str) -> KeywordId {
    let word = word.as_bytes();
    let mut row = 0;
    while row < keywords::TABLE.len() {
        let other = keywords::TABLE[row].word.as_bytes();
        let mut same = other.len() == word.len();
        let mut at = 0;
        while same && at < word.len() {
            same = other[at] == word[at];
            at += 1;
        }
        if same {
            return KeywordId(row as u16);
        }
        row += 1;
    }
    panic!("not a keyword")
}

/// The number of a keyword.
macro_rules! kw {
    ($word:literal) => {
        const { $crate::parser::cursor::keyword($word) }
    };
}
pub(super) use kw;

/// The state of a parser: tokens, arena, depth.
pub(super) struct Parser<'t, 'a> {
    text: &'t str,
    lexer: Lexer<'t>,
    end: usize,
    /// The tokens that have been looked at and not taken, from `taken` on.
    seen: Vec<Tok>,
    taken: usize,
    last_end: u32,
    /// For each token that opens a parenthesis the one that closes it; made when it is first needed.
    closes: Vec<u32>,
    depth: u32,
    /// The height of the highest node since the query began.
    pub(super) tallest: u32,
    /// Where the `SELECT` is that may have an `INTO`: the first one of a statement that is a query.
    pub(super) into_at: Option<u32>,
    /// The `INTO` that it has.
    pub(super) into: Option<SelectInto<'a>>,
    pub(super) bump: &'a Bump,
}

impl<'t, 'a> Parser<'t, 'a> {
    pub(super) fn new(text: &'t str, start: usize, end: usize, bump: &'a Bump) -> Self {
        let lexer = Lexer::starting_at(text, start);
        Parser {
            text,
            lexer,
            end,
            seen: Vec::with_capacity(32),
            taken: 0,
            last_end: start as u32,
            closes: Vec::new(),
            depth: 0,
            tallest: 0,
            into_at: None,
            into: None,
            bump,
        }
    }

    pub(super) fn text(&self) -> &'t str {
        self.text
    }

    /// The token `ahead` of the next one.
    pub(super) fn peek_at(&mut self, ahead: usize) -> Result<Tok> {
        while self.seen.len() <= self.taken + ahead {
            let token = if self.lexer.position() >= self.end {
                Token { kind: TokenKind::End, start: self.end as u32, end: self.end as u32 }
            } else {
                let token = self.lexer.next_token()?;
                if token.start as usize >= self.end {
                    Token { kind: TokenKind::End, start: self.end as u32, end: self.end as u32 }
                } else {
                    token
                }
            };
            let keyword = match token.kind {
                TokenKind::Word => keywords::lookup_folding(token.text(self.text).as_bytes()),
                _ => None,
            };
            self.seen.push(Tok { token, keyword });
        }
        Ok(self.seen[self.taken + ahead])
    }

    /// The next token.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<Tok> {
        match self.seen.get(self.taken) {
            Some(&tok) => Ok(tok),
            None => self.peek_at(0),
        }
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Result<Tok> {
        let tok = self.peek()?;
        self.taken += 1;
        if tok.token.kind != TokenKind::End {
            self.last_end = tok.token.end;
        }
        Ok(tok)
    }

    /// Where the parser is, for [`Parser::rewind`].
    pub(super) fn mark(&self) -> (usize, u32) {
        (self.taken, self.depth)
    }

    /// Goes back to a mark.
    pub(super) fn rewind(&mut self, (taken, depth): (usize, u32)) {
        self.taken = taken;
        self.depth = depth;
    }

    /// Gives the last token back.
    pub(super) fn back(&mut self) {
        self.taken = self.taken.saturating_sub(1);
    }

    /// The byte where the next token stands.
    pub(super) fn at(&mut self) -> Result<u32> {
        Ok(self.peek()?.token.start)
    }

    /// The byte after the last token that was taken.
    pub(super) fn last_end(&self) -> u32 {
        self.last_end
    }

    pub(super) fn is_kind(&mut self, kind: TokenKind) -> Result<bool> {
        Ok(self.peek()?.token.kind == kind)
    }

    pub(super) fn is(&mut self, keyword: KeywordId) -> Result<bool> {
        Ok(self.peek()?.keyword == Some(keyword))
    }

    pub(super) fn is_at(&mut self, ahead: usize, keyword: KeywordId) -> Result<bool> {
        Ok(self.peek_at(ahead)?.keyword == Some(keyword))
    }

    /// Takes the token if it is of that kind.
    pub(super) fn eat_kind(&mut self, kind: TokenKind) -> Result<bool> {
        let found = self.is_kind(kind)?;
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// Takes the keyword if it comes next.
    pub(super) fn eat(&mut self, keyword: KeywordId) -> Result<bool> {
        let found = self.is(keyword)?;
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// Takes the keywords if all of them come next, in this order.
    pub(super) fn eat_all<const N: usize>(&mut self, keywords: [KeywordId; N]) -> Result<bool> {
        for (ahead, &keyword) in keywords.iter().enumerate() {
            if !self.is_at(ahead, keyword)? {
                return Ok(false);
            }
        }
        for _ in keywords {
            self.next()?;
        }
        Ok(true)
    }

    pub(super) fn expect_kind(&mut self, kind: TokenKind) -> Result<()> {
        if self.eat_kind(kind)? { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn expect(&mut self, keyword: KeywordId) -> Result<()> {
        if self.eat(keyword)? { Ok(()) } else { Err(self.unexpected()) }
    }

    /// True if the next token is that operator.
    pub(super) fn is_operator(&mut self, name: &str) -> Result<bool> {
        let tok = self.peek()?;
        Ok(tok.token.kind == TokenKind::Operator && tok.token.text(self.text) == name)
    }

    /// `42601` at the next token.
    #[cold]
    pub(super) fn unexpected(&mut self) -> Error {
        match self.peek() {
            Ok(tok) => self.error_at("syntax error", tok.token),
            Err(error) => error,
        }
    }

    /// `42601` at a token.
    #[cold]
    pub(super) fn error_at(&self, what: &str, token: Token) -> Error {
        if token.kind == TokenKind::End {
            return error_near(self.text, what, self.end, self.end);
        }
        error_near(self.text, what, token.start as usize, token.end as usize)
    }

    /// `0A000` at a byte.
    #[cold]
    pub(super) fn unsupported(&self, what: &str, at: u32) -> Error {
        Error::unsupported(format!("{what} is not supported"))
            .hint("The server's manual lists the statements and clauses that are supported.")
            .at(crate::lexer::position(self.text, at as usize))
    }

    /// Notes that the grammar goes one level deeper; `54001` when that is too deep. Pairs with [`Parser::ascend`].
    pub(super) fn descend(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(too_complex());
        }
        Ok(())
    }

    pub(super) fn ascend(&mut self) {
        self.depth -= 1;
    }

    /// Does a parenthesis come next that holds a query and nothing else?
    ///
    /// `((SELECT 1) + 1)` begins like one and is none. To find out without reading anything twice, the answer goes from
    /// the innermost parenthesis outwards: what holds a query is one itself if its end, or the rest of a query, follows.
    pub(super) fn is_query_in_parentheses(&mut self) -> Result<bool> {
        let first = self.taken;
        let mut inner = first;
        while self.peek_at(inner - first)?.token.kind == TokenKind::ParenOpen {
            inner += 1;
        }
        if inner == first || !starts_query(self.peek_at(inner - first)?) {
            return Ok(false);
        }
        if inner == first + 1 {
            return Ok(true);
        }
        self.find_closes()?;
        for open in (first..inner - 1).rev() {
            let close = self.closes.get(open + 1).map_or(u32::MAX, |&close| close) as usize;
            let Some(after) = self.seen.get(close + 1) else { return Ok(true) };
            if after.token.kind != TokenKind::ParenClose && !continues_query(*after) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads all tokens and finds the parentheses that belong together.
    fn find_closes(&mut self) -> Result<()> {
        if !self.closes.is_empty() {
            return Ok(());
        }
        let mut ahead = self.seen.len().saturating_sub(self.taken);
        while self.peek_at(ahead)?.token.kind != TokenKind::End {
            ahead += 1;
        }
        let mut open = Vec::new();
        self.closes = vec![u32::MAX; self.seen.len()];
        for (at, tok) in self.seen.iter().enumerate() {
            match tok.token.kind {
                TokenKind::ParenOpen => open.push(at),
                TokenKind::ParenClose => {
                    if let Some(opened) = open.pop() {
                        self.closes[opened] = at as u32;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    // ---- names

    /// Keeps a text that does not live as long as the tree.
    pub(super) fn keep(&self, text: &str) -> &'a str {
        self.bump.alloc_str(text)
    }

    pub(super) fn keep_all<T: Copy>(&self, items: &[T]) -> &'a [T] {
        if items.is_empty() { &[] } else { self.bump.alloc_slice_copy(items) }
    }

    /// The name that a token is, whatever keyword it may be.
    pub(super) fn name_of(&self, tok: Tok) -> Name<'a> {
        let text = literal::name(self.text, tok.token);
        Name { text: self.keep(&text), at: tok.token.start }
    }

    /// Whether a token can be a name, given the kinds of keywords that can.
    pub(super) fn may_be_name(tok: Tok, allowed: impl Fn(Category) -> bool) -> bool {
        match (tok.token.kind, tok.keyword) {
            (TokenKind::QuotedName, _) | (TokenKind::Word, None) => true,
            (TokenKind::Word, Some(keyword)) => allowed(keyword.row().category),
            _ => false,
        }
    }

    fn take_name(&mut self, allowed: impl Fn(Category) -> bool) -> Result<Name<'a>> {
        let tok = self.peek()?;
        if !Self::may_be_name(tok, allowed) {
            return Err(self.unexpected());
        }
        self.next()?;
        Ok(self.name_of(tok))
    }

    /// A name of a table, column or the like.
    pub(super) fn name(&mut self) -> Result<Name<'a>> {
        self.take_name(is_column_name)
    }

    /// A name after `AS`, or after a dot: any word.
    pub(super) fn label(&mut self) -> Result<Name<'a>> {
        self.take_name(|_| true)
    }

    /// A name of something that is neither table, column, function nor type.
    pub(super) fn any_name(&mut self) -> Result<Name<'a>> {
        self.take_name(|category| category != Category::Reserved)
    }

    /// A name with dots: `schema.table`.
    pub(super) fn path(&mut self) -> Result<Path<'a>> {
        let first = self.name()?;
        self.path_after(first)
    }

    /// What follows the first name of a path.
    pub(super) fn path_after(&mut self, first: Name<'a>) -> Result<Path<'a>> {
        if !self.is_kind(TokenKind::Dot)? {
            return Ok(self.bump.alloc_slice_copy(&[first]));
        }
        let mut names = vec![first];
        while self.eat_kind(TokenKind::Dot)? {
            names.push(self.label()?);
        }
        Ok(self.keep_all(&names))
    }

    pub(super) fn paths(&mut self) -> Result<&'a [Path<'a>]> {
        let mut paths = vec![self.path()?];
        while self.eat_kind(TokenKind::Comma)? {
            paths.push(self.path()?);
        }
        Ok(self.keep_all(&paths))
    }

    /// Names with commas between them.
    pub(super) fn names(&mut self) -> Result<&'a [Name<'a>]> {
        let mut names = vec![self.name()?];
        while self.eat_kind(TokenKind::Comma)? {
            names.push(self.name()?);
        }
        Ok(self.keep_all(&names))
    }

    /// `(a, b)`
    pub(super) fn names_in_parentheses(&mut self) -> Result<&'a [Name<'a>]> {
        self.expect_kind(TokenKind::ParenOpen)?;
        let names = self.names()?;
        self.expect_kind(TokenKind::ParenClose)?;
        Ok(names)
    }

    /// `(a, b)` if it is there.
    pub(super) fn optional_names(&mut self) -> Result<&'a [Name<'a>]> {
        if self.is_kind(TokenKind::ParenOpen)? { self.names_in_parentheses() } else { Ok(&[]) }
    }

    /// A string constant's text.
    pub(super) fn string(&mut self) -> Result<&'a str> {
        let tok = self.peek()?;
        if !tok.token.kind.is_string() {
            return Err(self.unexpected());
        }
        self.next()?;
        let text = literal::string(self.text, tok.token)?;
        Ok(self.keep(&text))
    }

    /// A whole number in the range of `integer`.
    pub(super) fn integer(&mut self) -> Result<i32> {
        let tok = self.peek()?;
        if tok.token.kind != TokenKind::Integer {
            return Err(self.unexpected());
        }
        match tok.token.text(self.text).parse() {
            Ok(value) => {
                self.next()?;
                Ok(value)
            }
            Err(_) => Err(self.unexpected()),
        }
    }
}

/// Can a query start with that token?
pub(super) fn starts_query(tok: Tok) -> bool {
    match tok.keyword {
        Some(word) => word == kw!("select") || word == kw!("values") || word == kw!("with") || word == kw!("table"),
        None => false,
    }
}

/// Can that token follow a query in parentheses as part of a larger query?
fn continues_query(tok: Tok) -> bool {
    tok.keyword.is_some_and(|word| {
        matches!(word.row().word, "union" | "intersect" | "except" | "order" | "limit" | "offset" | "fetch" | "for")
    })
}

/// May a keyword of that category be a name of a column or table?
pub(super) fn is_column_name(category: Category) -> bool {
    matches!(category, Category::Unreserved | Category::ColumnName)
}

/// May a keyword of that category be a name of a function or type?
pub(super) fn is_function_name(category: Category) -> bool {
    matches!(category, Category::Unreserved | Category::TypeFunctionName)
}

#[cold]
pub(super) fn too_complex() -> Error {
    Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "statement is nested too deeply")
        .detail(format!("Expressions and queries can be nested {DEPTH_MAX} levels deep."))
}
