//! Names of types: SQL's own, in their many spellings, and any other.
//!
//! SQL's spellings become PostgreSQL's names here (`double precision` is `float8`), as PostgreSQL's grammar does, so that
//! nothing behind the parser knows of the spellings.

use super::ast::{Name, TypeName};
use super::cursor::{Parser, Tok, is_function_name, kw};
use crate::lexer::TokenKind;
use base::{Error, Result, sqlstate};

/// Modifiers of `interval`: which fields are kept, in PostgreSQL's bits.
const YEAR: i32 = 1 << 2;
const MONTH: i32 = 1 << 1;
const DAY: i32 = 1 << 3;
const HOUR: i32 = 1 << 10;
const MINUTE: i32 = 1 << 11;
const SECOND: i32 = 1 << 12;
const ALL_FIELDS: i32 = 0x7FFF;
const FULL_PRECISION: i32 = 0xFFFF;

impl<'t, 'a> Parser<'t, 'a> {
    /// Does one of the words that begin SQL's own types come next?
    pub(super) fn starts_builtin_type(&mut self, tok: Tok) -> Result<bool> {
        let Some(keyword) = tok.keyword else { return Ok(false) };
        Ok(match keyword.row().word {
            "int" | "integer" | "smallint" | "bigint" | "real" | "float" | "double" | "decimal" | "dec" | "numeric"
            | "boolean" | "bit" | "character" | "char" | "varchar" | "national" | "nchar" | "time" | "timestamp"
            | "interval" => {
                let next = self.peek_at(1)?;
                let word = next.keyword.map_or("", |word| word.row().word);
                next.token.kind.is_string()
                    || next.token.kind == TokenKind::ParenOpen
                    || matches!(word, "precision" | "varying" | "with" | "without" | "character" | "char")
            }
            _ => false,
        })
    }

    pub(super) fn builtin_type(&self, name: &'static str, at: u32) -> TypeName<'a> {
        let path = self.bump.alloc_slice_copy(&[Name { text: name, at }]);
        TypeName { path, builtin: true, modifiers: &[], dimensions: 0, at }
    }

    /// A type with its modifiers and dimensions.
    pub(super) fn type_name(&mut self) -> Result<TypeName<'a>> {
        let at = self.at()?;
        if self.is(kw!("setof"))? {
            return Err(self.unsupported("SETOF", at));
        }
        let mut name = self.simple_type()?;
        if self.eat(kw!("array"))? {
            if self.eat_kind(TokenKind::BracketOpen)? {
                self.integer()?;
                self.expect_kind(TokenKind::BracketClose)?;
            }
            name.dimensions = 1;
            return Ok(name);
        }
        while self.eat_kind(TokenKind::BracketOpen)? {
            if !self.is_kind(TokenKind::BracketClose)? {
                self.integer()?;
            }
            self.expect_kind(TokenKind::BracketClose)?;
            name.dimensions = name.dimensions.saturating_add(1);
        }
        Ok(name)
    }

    fn simple_type(&mut self) -> Result<TypeName<'a>> {
        let tok = self.peek()?;
        let at = tok.token.start;
        let word = tok.keyword.map_or("", |keyword| keyword.row().word);
        let plain = match word {
            "int" | "integer" => "int4",
            "smallint" => "int2",
            "bigint" => "int8",
            "real" => "float4",
            "boolean" => "bool",
            "float" => {
                self.next()?;
                return self.float(at);
            }
            "double" => {
                self.next()?;
                self.expect(kw!("precision"))?;
                return Ok(self.builtin_type("float8", at));
            }
            "decimal" | "dec" | "numeric" => {
                self.next()?;
                let modifiers = self.modifiers()?;
                return Ok(TypeName { modifiers, ..self.builtin_type("numeric", at) });
            }
            "bit" => {
                self.next()?;
                let name = if self.eat(kw!("varying"))? { "varbit" } else { "bit" };
                let modifiers = self.modifiers()?;
                return Ok(TypeName { modifiers, ..self.builtin_type(name, at) });
            }
            "character" | "char" | "varchar" | "national" | "nchar" => {
                self.next()?;
                return self.character(word, at);
            }
            "timestamp" | "time" => {
                self.next()?;
                return self.time(word, at);
            }
            "interval" => {
                self.next()?;
                let name = self.builtin_type("interval", at);
                let modifiers = self.modifiers()?;
                if modifiers.is_empty() {
                    return self.interval_fields(name);
                }
                // All fields, and a precision.
                let modifiers = [&[ALL_FIELDS], modifiers].concat();
                return Ok(TypeName { modifiers: self.keep_all(&modifiers), ..name });
            }
            _ => return self.other_type(tok),
        };
        self.next()?;
        Ok(self.builtin_type(plain, at))
    }

    fn other_type(&mut self, tok: Tok) -> Result<TypeName<'a>> {
        if !Self::may_be_name(tok, is_function_name) {
            return Err(self.unexpected());
        }
        self.next()?;
        let first = self.name_of(tok);
        let path = self.path_after(first)?;
        if self.is_operator("%")? {
            return Err(self.unsupported("%TYPE", tok.token.start));
        }
        let modifiers = self.modifiers()?;
        Ok(TypeName { path, builtin: false, modifiers, dimensions: 0, at: tok.token.start })
    }

    /// `(10, 2)` if it is there.
    fn modifiers(&mut self) -> Result<&'a [i32]> {
        if !self.eat_kind(TokenKind::ParenOpen)? {
            return Ok(&[]);
        }
        let mut modifiers = Vec::new();
        loop {
            let negative = self.is_operator("-")?;
            if negative {
                self.next()?;
            }
            let value = self.integer()?;
            modifiers.push(if negative { -value } else { value });
            if !self.eat_kind(TokenKind::Comma)? {
                break;
            }
        }
        self.expect_kind(TokenKind::ParenClose)?;
        Ok(self.keep_all(&modifiers))
    }

    fn float(&mut self, at: u32) -> Result<TypeName<'a>> {
        let name = match self.modifiers()? {
            [] => "float8",
            [bits] if *bits < 1 => {
                return Err(self.bad_precision("precision for type float must be at least 1 bit", at));
            }
            [1..=24] => "float4",
            [25..=53] => "float8",
            _ => return Err(self.bad_precision("precision for type float must be less than 54 bits", at)),
        };
        Ok(self.builtin_type(name, at))
    }

    fn bad_precision(&self, message: &'static str, at: u32) -> Error {
        let at = crate::lexer::position(self.text(), at as usize);
        Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message).at(at)
    }

    fn character(&mut self, word: &str, at: u32) -> Result<TypeName<'a>> {
        if word == "national" && !self.eat(kw!("character"))? {
            self.expect(kw!("char"))?;
        }
        let varying = word == "varchar" || self.eat(kw!("varying"))?;
        let modifiers = self.modifiers()?;
        if varying {
            return Ok(TypeName { modifiers, ..self.builtin_type("varchar", at) });
        }
        // SQL says that a length that is not given is one.
        let modifiers = if modifiers.is_empty() { &[1] } else { modifiers };
        Ok(TypeName { modifiers, ..self.builtin_type("bpchar", at) })
    }

    fn time(&mut self, word: &str, at: u32) -> Result<TypeName<'a>> {
        let modifiers = self.modifiers()?;
        let zone = if self.eat_all([kw!("with"), kw!("time"), kw!("zone")])? {
            true
        } else {
            self.eat_all([kw!("without"), kw!("time"), kw!("zone")])?;
            false
        };
        let name = match (word, zone) {
            ("timestamp", true) => "timestamptz",
            ("timestamp", false) => "timestamp",
            (_, true) => "timetz",
            (_, false) => "time",
        };
        Ok(TypeName { modifiers, ..self.builtin_type(name, at) })
    }

    /// `YEAR TO MONTH` and its relatives, after `interval`.
    pub(super) fn interval_fields(&mut self, name: TypeName<'a>) -> Result<TypeName<'a>> {
        let units = [YEAR, MONTH, DAY, HOUR, MINUTE, SECOND];
        let Some(first) = self.interval_field()? else { return Ok(name) };
        let mut last = first;
        if self.eat(kw!("to"))? {
            last = match self.interval_field()? {
                Some(last) if last > first && (first >= 2 || last == 1) => last,
                _ => {
                    self.back();
                    return Err(self.unexpected());
                }
            };
        }
        let mut modifiers = vec![units[first..=last].iter().sum()];
        if last == 5 && self.is_kind(TokenKind::ParenOpen)? {
            modifiers.extend_from_slice(self.modifiers()?);
        } else if last == 5 {
            modifiers.push(FULL_PRECISION);
        }
        let modifiers = self.keep_all(&modifiers);
        Ok(TypeName { modifiers, ..name })
    }

    fn interval_field(&mut self) -> Result<Option<usize>> {
        let word = self.peek()?.keyword.map_or("", |keyword| keyword.row().word);
        let field = ["year", "month", "day", "hour", "minute", "second"].iter().position(|&field| field == word);
        if field.is_some() {
            self.next()?;
        }
        Ok(field)
    }
}
