//! One pass over a statement's text: its constants out, a key and a hash for the shared statement cache.
//!
//! The *key* is the statement's tokens, bare words folded to lower case, comments and white space gone, one space after
//! each token, and a *mark* in place of each constant that became a *slot*: `$i` for an `integer`, `$l` for a `bigint`,
//! `$n` for a `numeric`, `$s` for a string of type `unknown`. (`$` and a letter is no token, so a mark is never mistaken
//! for text.) Two texts with one key differ in nothing but the values of their slots, so one compiled statement serves
//! both. The hash is [`hash_bytes`] of the key: the same in every process. A cache compares the keys as well.
//!
//! **Which constants stay in the key.** To keep one is always right and costs only sharing; to take one out that decides
//! about the statement's meaning would be wrong. So the rule is "out, except":
//!
//! | stays | example | why |
//! |---|---|---|
//! | all, when the first word is not `SELECT`, `INSERT`, `UPDATE`, `DELETE`, `MERGE`, `VALUES`, `TABLE`, `WITH` | `SET x = 5`, DDL, `EXPLAIN`, `COPY` | options and definitions, not expressions |
//! | all, with [`Literals::Keep`], or with more than [`LITERALS_MAX`] constants | | the caller asked, or it does not pay |
//! | a constant that starts an item of `ORDER BY` or `GROUP BY`, also in `ROLLUP`, `CUBE`, `GROUPING SETS` and parentheses | `ORDER BY 1`, `GROUP BY 1, 2` | an ordinal names a column of the result; anything else is an error |
//! | a number after `LIMIT`, `FETCH FIRST`, `FETCH NEXT` | `LIMIT 10` | the planner wants it, and applications use few values (`OFFSET` goes out) |
//! | type modifiers: all in the parentheses after a type's name, which is a type-only keyword or follows `::` or `AS` | `x::char(22)`, `CAST(x AS numeric(10,2))`, `AS t(a varchar(9))` | part of a type |
//! | a string directly after a type's name or `)` | `interval '1 day'`, `timestamp(3) '…'`, `int4 '7'`, `AT TIME ZONE 'UTC'` | a typed constant; its syntax takes no parameter |
//! | the string after `EXTRACT(` | `extract('year' from d)` | a field's name |
//! | a string cast to `reg…` | `'t'::regclass` | a name that is looked up when the statement is compiled |
//! | `2147483648` and `9223372036854775808` after `-` | `-2147483648` | with its sign it is of the next smaller type |
//! | bit, hex and national strings | `B'101'` | types of their own |
//! | all at a nesting of 64 and deeper | | the masks below are 64 bits wide |
//!
//! `NULL`, `TRUE`, `FALSE` and the like are words and stay.
//!
//! **Equal constants.** `SELECT a + 1 … GROUP BY a + 1` is right only because both `1` are equal. So a statement in which
//! the word `GROUP` or `DISTINCT` occurs is read a second time, and equal constants (same mark, same value or spelling)
//! share one slot, with the slot's number in the mark (`$i0`). A binder then compares expressions by slot. Elsewhere each
//! constant has a slot of its own, so that chance equality does not split a statement.
//!
//! **What a binder may do with a slot.** A slot of kind `unknown` takes a type from each place where it stands, as the
//! string would; a shared slot may so be read as several types. A binder that needs a value at compile time (a partial
//! index to prove, an `ON CONFLICT` expression) compiles from [`Literals::Keep`] and notes that under the first key.
//!
//! Rules
//! 1. One statement a call; the text splits at a `;` outside all parentheses. [`Normalised::next`] is where to go on.
//! 2. The output's buffers are kept from call to call; a call allocates only to grow them.
//! 3. The scanner is the parser's, so both see the same tokens. A lexical error is the parser's error.

use super::keywords::{self, Category};
use super::literal::{self, Number};
use super::scan::{fold_word, is_space, quick, scan, starts_word};
use super::token::{Token, TokenKind};
use crate::types::hash::hash_bytes;
use base::{Error, Result};

/// With more constants than this a statement keeps them all: a bulk `INSERT` would only fill the cache.
pub const LITERALS_MAX: usize = 1024;

/// Whether constants become slots: the setting `literal_parameterisation`, and a binder's second try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Literals {
    /// Constants become slots where the rules allow it.
    Replace,
    /// All constants stay in the key.
    Keep,
}

/// The type of a constant, as far as the text tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum LiteralKind {
    /// Digits that fit `integer`.
    Int4,
    /// Digits that fit `bigint` only.
    Int8,
    /// Any other number.
    Numeric,
    /// A string.
    Unknown,
}

impl LiteralKind {
    fn mark(self) -> u8 {
        match self {
            LiteralKind::Int4 => b'i',
            LiteralKind::Int8 => b'l',
            LiteralKind::Numeric => b'n',
            LiteralKind::Unknown => b's',
        }
    }
}

/// A constant that became a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Literal {
    /// Its type.
    pub kind: LiteralKind,
    /// The token's kind: with the span, all that [`literal::string`] needs.
    pub token: TokenKind,
    /// The first byte in the text.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
    /// The slot. Literals stand in text order, slots are numbered by first use from zero.
    pub slot: u16,
}

impl Literal {
    /// The token that it was.
    pub fn as_token(&self) -> Token {
        Token { kind: self.token, start: self.start, end: self.end }
    }
}

/// What a statement starts with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Head {
    /// Nothing but white space and comments.
    #[default]
    Empty,
    /// A statement whose constants may become slots.
    Query,
    /// Anything else, also what is not SQL.
    Other,
}

/// A normalised statement; one value serves any number of calls.
#[derive(Clone, Debug, Default)]
pub struct Normalised {
    /// The hash of `key`.
    pub hash: u64,
    /// The tokens with marks for slots.
    pub key: Vec<u8>,
    /// The constants that became slots, in text order.
    pub literals: Vec<Literal>,
    /// How many slots there are.
    pub slots: u16,
    /// The highest number of a `$n` parameter in the text; zero without any.
    pub parameters: u32,
    /// What the statement starts with.
    pub head: Head,
    /// The first byte of its first token.
    pub start: usize,
    /// The byte after its last token, without the `;`.
    pub end: usize,
    /// The byte from which to read the next statement; the text's length after the last.
    pub next: usize,
}

/// Reads one statement of `text` from byte `from`.
pub fn normalise(text: &str, from: usize, literals: Literals, out: &mut Normalised) -> Result<()> {
    let mut outcome = pass(text, from, literals, Sharing::Own, out)?;
    if outcome == Outcome::MustShare {
        outcome = pass(text, from, literals, Sharing::Equal, out)?;
    }
    if outcome != Outcome::Done {
        pass(text, from, Literals::Keep, Sharing::Own, out)?;
    }
    out.hash = hash_bytes(&out.key);
    Ok(())
}

fn pass(text: &str, from: usize, literals: Literals, sharing: Sharing, out: &mut Normalised) -> Result<Outcome> {
    let from = from.min(text.len());
    let bytes_max = sharing.key_bytes_max(text.len() - from);
    let mut key = std::mem::take(&mut out.key);
    key.clear();
    key.try_reserve(bytes_max).map_err(|_| Error::out_of_memory("normalising a statement", bytes_max))?;
    key.resize(bytes_max, 0);
    out.literals.clear();
    out.slots = 0;
    out.parameters = 0;
    out.head = Head::Empty;
    let mut pass = Pass {
        text,
        key: &mut key,
        length: 0,
        out,
        keep: literals == Literals::Keep,
        sharing,
        depth: 0,
        items: 0,
        modifiers: 0,
        last: TokenKind::End,
        last_word: Word::Other,
        last_start: 0,
        in_extract: false,
        type_path: TypePath::None,
    };
    let outcome = pass.run(from);
    let length = pass.length;
    key.truncate(length);
    out.key = key;
    outcome
}

/// Does each constant have a slot of its own?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    Own,
    Equal,
}

impl Sharing {
    /// The longest key of a text: every byte a token, and the token a one-digit number with its mark and a space.
    fn key_bytes_max(self, text_bytes: usize) -> usize {
        let mark = match self {
            Sharing::Own => 2,
            Sharing::Equal => 2 + 4,
        };
        // Eight more, because a word is folded eight bytes at a time.
        text_bytes * (mark + 1) + 8
    }
}

const _: () = assert!(LITERALS_MAX <= 10_000, "a slot's number in a mark is counted as four digits");

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// The statement groups, so equal constants must share slots.
    MustShare,
    TooMany,
}

/// Does a text begin with `::` and a type whose name begins with `reg`?
fn names_reg(text: &str) -> bool {
    let Some(target) = text.strip_prefix("::") else {
        return false;
    };
    let target = target.trim_ascii_start().as_bytes();
    let schema = b"pg_catalog.";
    let target = match target.get(..schema.len()) {
        Some(head) if head.eq_ignore_ascii_case(schema) => &target[schema.len()..],
        _ => target,
    };
    target.get(..3).is_some_and(|head| head.eq_ignore_ascii_case(b"reg"))
}

#[inline]
fn number_kind(text: &str, token: Token) -> LiteralKind {
    // Nine digits always fit an `integer`.
    if token.kind == TokenKind::Integer && token.end - token.start <= 9 {
        return LiteralKind::Int4;
    }
    match literal::number(token.text(text)) {
        Number::Int4(_) => LiteralKind::Int4,
        Number::Int8(_) => LiteralKind::Int8,
        Number::Numeric => LiteralKind::Numeric,
    }
}

/// What the rules need to know of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Other,
    /// `BY`, of `ORDER`, `GROUP` or `PARTITION`.
    By,
    /// `LIMIT`, `FIRST`, `NEXT`.
    Limit,
    As,
    /// `MATERIALIZED`, `VALUES`: after `AS`, not a type and not an alias with columns.
    NoType,
    /// `GROUP`, `DISTINCT`.
    Grouping,
    /// `ROLLUP`, `CUBE`, `SETS`.
    GroupingSet,
    /// A keyword that takes modifiers in parentheses and is always a type.
    Type,
    Extract,
}

/// A word of up to eight bytes as the number that [`fold_word`] makes of it.
const fn packed(word: &str) -> u64 {
    let bytes = word.as_bytes();
    assert!(bytes.len() <= 8);
    let mut value = 0;
    let mut at = bytes.len();
    while at > 0 {
        at -= 1;
        value = value << 8 | bytes[at] as u64;
    }
    value
}

/// A raw identifier's name: `r#as` is how the macro below is given the word `as`.
const fn bare(identifier: &str) -> &str {
    match identifier.as_bytes() {
        [b'r', b'#', ..] => identifier.split_at(2).1,
        _ => identifier,
    }
}

macro_rules! classes {
    ($($class:ident: $($word:ident)*;)*) => {
        #[allow(non_upper_case_globals)]
        mod short {
            $($(pub(super) const $word: u64 = super::packed(super::bare(stringify!($word)));)*)*
        }

        /// The class of a word of up to eight bytes.
        #[inline]
        fn classify_short(word: u64) -> Word {
            match word {
                $($(short::$word)|* => Word::$class,)*
                _ => Word::Other,
            }
        }
    };
}

classes! {
    By: by;
    As: r#as;
    Limit: limit first next;
    NoType: values;
    Grouping: group distinct;
    GroupingSet: rollup cube sets;
    Extract: extract;
    Type: time interval numeric decimal dec char varchar nchar bit varying float second;
}

/// The words that start a statement whose constants may become slots.
const HEADS: [u64; 8] = [
    packed("select"),
    packed("insert"),
    packed("update"),
    packed("delete"),
    packed("with"),
    packed("values"),
    packed("merge"),
    packed("table"),
];

#[inline]
fn classify(word: &[u8], first: u64) -> Word {
    match word.len() {
        0..=8 => classify_short(first),
        9 if word == b"timestamp" || word == b"character" => Word::Type,
        12 if word == b"materialized" => Word::NoType,
        _ => Word::Other,
    }
}

/// The way from `::` or `AS` to the parentheses that hold a type's modifiers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TypePath {
    None,
    /// Directly after `::` or `AS`.
    Start,
    /// After at least one word that may be of a type's name.
    Named,
}

/// One pass over one statement.
struct Pass<'t, 'o> {
    text: &'t str,
    /// As long as the key can become; `length` bytes are used.
    key: &'o mut [u8],
    length: usize,
    out: &'o mut Normalised,
    keep: bool,
    sharing: Sharing,
    /// How many parentheses are open.
    depth: u32,
    /// Bit d: at depth d the items of an `ORDER BY` or `GROUP BY` are being read.
    items: u64,
    /// Bit d: at depth d everything stays, because a type's modifiers are being read.
    modifiers: u64,
    last: TokenKind,
    /// Of `last`, if it is a word.
    last_word: Word,
    /// Where `last` starts in the key.
    last_start: usize,
    /// Was the token before `last` the word `EXTRACT`?
    in_extract: bool,
    type_path: TypePath,
}

impl<'t, 'o> Pass<'t, 'o> {
    fn run(&mut self, from: usize) -> Result<Outcome> {
        self.begin(from)?;
        let bytes = self.text.as_bytes();
        let mut end = self.out.start;
        let mut at = end;
        loop {
            while is_space(bytes, at) {
                at += 1;
            }
            if !starts_word(bytes, at) {
                let token = match quick(bytes, at) {
                    Some(token) => token,
                    None => scan(self.text, at)?,
                };
                let ends = token.kind == TokenKind::Semicolon && self.depth == 0 && !self.is_in_body(at);
                if token.kind == TokenKind::End || ends {
                    at = token.end as usize;
                    break;
                }
                if token.kind != TokenKind::Word {
                    let key_start = self.length;
                    at = token.end as usize;
                    end = at;
                    if !self.other(token) {
                        return Ok(Outcome::TooMany);
                    }
                    self.finish(token.kind, key_start);
                    continue;
                }
                // After a comment, and the `u` of `u&x`.
                at = token.start as usize;
            }
            let key_start = self.length;
            let (length, first) = fold_word(bytes, at, &mut self.key[key_start..]);
            at += length;
            self.length += length;
            if !self.keep && self.word(key_start, first) == Word::Grouping && self.sharing == Sharing::Own {
                return Ok(Outcome::MustShare);
            }
            self.finish(TokenKind::Word, key_start);
            end = at;
        }
        self.out.end = end;
        self.out.next = at;
        Ok(Outcome::Done)
    }

    /// Is that byte in the body of a function that is written as `BEGIN ATOMIC statement; … END`?
    fn is_in_body(&self, at: usize) -> bool {
        if self.out.head != Head::Other || !self.key[..self.length].starts_with(b"create ") {
            return false;
        }
        let text = self.text.get(self.out.start..at).unwrap_or("");
        let is =
            |token: Token, word: &str| token.kind == TokenKind::Word && token.text(text).eq_ignore_ascii_case(word);
        let mut lexer = super::Lexer::new(text);
        let (mut begun, mut inside, mut cases) = (false, false, 0_u32);
        while let Ok(token) = lexer.next_token() {
            match () {
                () if token.kind == TokenKind::End => break,
                () if inside && is(token, "case") => cases += 1,
                () if inside && cases > 0 && is(token, "end") => cases -= 1,
                () if inside && is(token, "end") => return false,
                () if begun && is(token, "atomic") => inside = true,
                () => {}
            }
            begun = is(token, "begin");
        }
        inside
    }

    /// Finds where the statement starts, and what with: its first token that is no opening parenthesis.
    fn begin(&mut self, from: usize) -> Result<()> {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while is_space(bytes, at) {
            at += 1;
        }
        // Nearly always a word is first, and needs no scanner.
        let mut token = Token { kind: TokenKind::Word, start: at as u32, end: at as u32 };
        if !starts_word(bytes, at) {
            token = scan(self.text, at)?;
        }
        self.out.start = token.start as usize;
        while token.kind == TokenKind::ParenOpen {
            token = scan(self.text, token.end as usize)?;
        }
        if token.kind == TokenKind::Word {
            // The key is empty yet, and its front free to fold a word in.
            let (length, first) = fold_word(bytes, token.start as usize, self.key);
            self.out.head = if length <= 8 && HEADS.contains(&first) { Head::Query } else { Head::Other };
        } else if self.out.start == token.start as usize && matches!(token.kind, TokenKind::End | TokenKind::Semicolon)
        {
            self.out.start = from;
        } else {
            self.out.head = Head::Other;
        }
        self.keep |= self.out.head != Head::Query;
        Ok(())
    }

    #[inline]
    fn finish(&mut self, kind: TokenKind, key_start: usize) {
        self.put(b' ');
        self.last = kind;
        self.last_start = key_start;
    }

    /// Any token but a bare word; false when there are too many constants.
    #[inline]
    fn other(&mut self, token: Token) -> bool {
        if !self.keep {
            if matches!(token.kind, TokenKind::Integer | TokenKind::Decimal) {
                if !self.number_stays(token) {
                    return self.replace(token, number_kind(self.text, token));
                }
            } else if token.kind.is_string() && !self.string_stays(token) {
                return self.replace(token, LiteralKind::Unknown);
            }
        }
        self.copy(token);
        self.punctuation(token.kind, token);
        true
    }

    #[inline]
    fn put(&mut self, byte: u8) {
        self.key[self.length] = byte;
        self.length += 1;
    }

    /// Puts a token into the key as it stands in the text.
    #[inline]
    fn copy(&mut self, token: Token) {
        let bytes = self.text.as_bytes();
        let (start, end) = (token.start as usize, token.end as usize);
        if end - start == 1 {
            // Most tokens that are no words have one byte; a call to copy it would cost more than all the rest.
            return self.put(bytes[start]);
        }
        self.key[self.length..self.length + (end - start)].copy_from_slice(&bytes[start..end]);
        self.length += end - start;
    }

    /// Bit `depth` of a mask; no bit where the masks end.
    #[inline]
    fn bit(&self) -> u64 {
        1u64.checked_shl(self.depth).unwrap_or(0)
    }

    /// Takes note of a word that has just been put into the key.
    #[inline]
    fn word(&mut self, key_start: usize, first: u64) -> Word {
        let word = classify(&self.key[key_start..self.length], first);
        if word == Word::By {
            self.items |= self.bit();
        } else if word == Word::As {
            self.type_path = TypePath::Start;
        } else if word == Word::NoType {
            self.type_path = TypePath::None;
        } else if self.type_path != TypePath::None {
            let reserved = keywords::lookup_folding(&self.key[key_start..self.length])
                .is_some_and(|id| matches!(id.row().category, Category::Reserved | Category::TypeFunctionName));
            self.type_path = if reserved { TypePath::None } else { TypePath::Named };
        }
        self.last_word = word;
        word
    }

    /// Takes note of any token but a word and a constant that became a slot.
    #[inline]
    fn punctuation(&mut self, kind: TokenKind, token: Token) {
        let path = self.type_path;
        self.type_path = TypePath::None;
        // Most tokens change nothing.
        let notable = matches!(
            kind,
            TokenKind::ParenOpen
                | TokenKind::ParenClose
                | TokenKind::ColonColon
                | TokenKind::Dot
                | TokenKind::QuotedName
                | TokenKind::Parameter
        );
        if notable {
            self.notable_punctuation(kind, token, path);
        }
    }

    #[inline(never)]
    fn notable_punctuation(&mut self, kind: TokenKind, token: Token, path: TypePath) {
        if kind == TokenKind::ParenOpen {
            self.open(path);
        } else if kind == TokenKind::ParenClose {
            self.items &= !self.bit();
            self.modifiers &= !self.bit();
            self.depth = self.depth.saturating_sub(1);
        } else if kind == TokenKind::ColonColon {
            self.type_path = TypePath::Start;
        } else if kind == TokenKind::Dot {
            self.type_path = path;
        } else if kind == TokenKind::QuotedName && path != TypePath::None {
            self.type_path = TypePath::Named;
        } else if kind == TokenKind::Parameter {
            let number = token.text(self.text)[1..].parse::<u32>().unwrap_or(u32::MAX);
            self.out.parameters = self.out.parameters.max(number);
        }
    }

    #[inline(never)]
    fn open(&mut self, path: TypePath) {
        let after_word = self.last == TokenKind::Word;
        let modifiers =
            self.modifiers & self.bit() != 0 || path == TypePath::Named || (after_word && self.last_word == Word::Type);
        let items = self.starts_item() || (after_word && self.last_word == Word::GroupingSet);
        self.in_extract = after_word && self.last_word == Word::Extract;
        self.depth += 1;
        if items {
            self.items |= self.bit();
        }
        if modifiers {
            self.modifiers |= self.bit();
        }
    }

    /// Does the next token start an item of `ORDER BY` or `GROUP BY`?
    #[inline]
    fn starts_item(&self) -> bool {
        self.items & self.bit() != 0
            && (matches!(self.last, TokenKind::Comma | TokenKind::ParenOpen)
                || (self.last == TokenKind::Word && self.last_word == Word::By))
    }

    #[inline]
    fn any_stays(&self) -> bool {
        self.depth >= u64::BITS || self.modifiers & self.bit() != 0 || self.starts_item()
    }

    #[inline]
    fn number_stays(&self, token: Token) -> bool {
        self.any_stays()
            || (self.last == TokenKind::Word && self.last_word == Word::Limit)
            || (self.last == TokenKind::Operator
                && &self.key[self.last_start..self.length] == b"- "
                && matches!(token.text(self.text), "2147483648" | "9223372036854775808"))
    }

    #[inline(never)]
    fn string_stays(&self, token: Token) -> bool {
        if self.any_stays() {
            return true;
        }
        let typed = if self.last == TokenKind::Word {
            !self.word_precedes_expression()
        } else if self.last == TokenKind::ParenOpen {
            self.in_extract
        } else {
            matches!(self.last, TokenKind::QuotedName | TokenKind::ParenClose)
        };
        typed || self.is_cast_to_reg(token.end as usize)
    }

    /// May the last word stand directly before an expression? If not, it is a type's name before a string.
    fn word_precedes_expression(&self) -> bool {
        let word = &self.key[self.last_start..self.length - 1];
        match keywords::lookup_folding(word) {
            None => false,
            Some(id) => match id.row().category {
                Category::Reserved | Category::TypeFunctionName => true,
                _ => matches!(word, b"between" | b"escape" | b"by"),
            },
        }
    }

    #[inline]
    fn is_cast_to_reg(&self, end: usize) -> bool {
        let bytes = self.text.as_bytes();
        let mut at = end;
        while is_space(bytes, at) {
            at += 1;
        }
        bytes.get(at) == Some(&b':') && names_reg(&self.text[at..])
    }

    /// Puts a mark into the key and the constant into the list; false when there are too many.
    #[inline(never)]
    fn replace(&mut self, token: Token, kind: LiteralKind) -> bool {
        self.type_path = TypePath::None;
        if self.out.literals.len() >= LITERALS_MAX {
            return false;
        }
        let equal = match self.sharing {
            Sharing::Own => None,
            Sharing::Equal => self.slot_of_equal(token, kind),
        };
        let slot = equal.unwrap_or(self.out.slots);
        if equal.is_none() {
            self.out.slots += 1;
        }
        self.out.literals.push(Literal { kind, token: token.kind, start: token.start, end: token.end, slot });
        self.put(b'$');
        self.put(kind.mark());
        if self.sharing == Sharing::Equal {
            slot.to_string().bytes().for_each(|digit| self.put(digit));
        }
        true
    }

    fn slot_of_equal(&self, token: Token, kind: LiteralKind) -> Option<u16> {
        let canonical = |text: &'t str| match kind {
            LiteralKind::Int4 | LiteralKind::Int8 => text.trim_start_matches('0'),
            LiteralKind::Numeric | LiteralKind::Unknown => text,
        };
        let wanted = canonical(token.text(self.text));
        let equal = |seen: &&Literal| seen.kind == kind && canonical(seen.as_token().text(self.text)) == wanted;
        self.out.literals.iter().find(equal).map(|seen| seen.slot)
    }
}
