//! Procedures: `CREATE PROCEDURE`, `DROP PROCEDURE`, `CALL`, `DO`.

use super::ast::{ExprKind, Name, Path, TypeName, Utility};
use super::cursor::{Parser, kw};
use crate::lexer::TokenKind;
use base::{Error, Result, sqlstate};

/// `CREATE PROCEDURE`
#[derive(Clone, Copy, Debug)]
pub struct CreateProcedure<'a> {
    /// Its name.
    pub path: Path<'a>,
    /// `OR REPLACE`
    pub replace: bool,
    /// Its parameters.
    pub parameters: &'a [ProcedureParameter<'a>],
    /// `LANGUAGE`
    pub language: Option<&'a str>,
    /// `AS`
    pub body: &'a str,
}

/// A parameter of a procedure.
#[derive(Clone, Copy, Debug)]
pub struct ProcedureParameter<'a> {
    /// `i` for `IN`, `o` for `OUT`, `b` for `INOUT`.
    pub mode: u8,
    /// Its name.
    pub name: Option<Name<'a>>,
    /// Its type.
    pub ty: TypeName<'a>,
    /// The text of its default.
    pub default: Option<&'a str>,
}

/// A procedure's name, with the types of its parameters if they were given.
#[derive(Clone, Copy, Debug)]
pub struct ProcedureName<'a> {
    /// Its name.
    pub path: Path<'a>,
    /// The types.
    pub types: Option<&'a [TypeName<'a>]>,
}

/// `DO`
#[derive(Clone, Copy, Debug)]
pub struct DoBlock<'a> {
    /// `LANGUAGE`
    pub language: Option<&'a str>,
    /// The block.
    pub body: &'a str,
}

impl<'t, 'a> Parser<'t, 'a> {
    fn word(&mut self) -> Result<String> {
        let tok = self.peek()?;
        Ok(match tok.token.kind {
            TokenKind::Word => tok.token.text(self.text()).to_ascii_lowercase(),
            _ => String::new(),
        })
    }

    /// `CREATE PROCEDURE …`, from that word on.
    pub(super) fn create_procedure(&mut self, replace: bool) -> Result<Utility<'a>> {
        self.next()?;
        let path = self.path()?;
        self.expect_kind(TokenKind::ParenOpen)?;
        let mut parameters = Vec::new();
        if !self.eat_kind(TokenKind::ParenClose)? {
            loop {
                parameters.push(self.procedure_parameter()?);
                if !self.eat_kind(TokenKind::Comma)? {
                    break;
                }
            }
            self.expect_kind(TokenKind::ParenClose)?;
        }
        let (mut language, mut body) = (None, None);
        while !self.is_kind(TokenKind::End)? {
            let at = self.at()?;
            let twice = |is: bool, parser: &Self| match is {
                true => Err(Error::statement(sqlstate::SYNTAX_ERROR, "conflicting or redundant options")
                    .at(crate::lexer::position(parser.text(), at as usize))),
                false => Ok(()),
            };
            match self.word()?.as_str() {
                "language" => {
                    self.next()?;
                    twice(language.is_some(), self)?;
                    language = Some(self.language()?);
                }
                "as" => {
                    self.next()?;
                    twice(body.is_some(), self)?;
                    body = Some(self.string()?);
                    if self.is_kind(TokenKind::Comma)? {
                        return self.unsupported_statement("CREATE PROCEDURE in C");
                    }
                }
                "security" if self.is_at(1, kw!("invoker"))? => {
                    self.next()?;
                    self.next()?;
                }
                "security" | "external" | "set" | "transform" | "begin" | "return" => {
                    return self.unsupported_statement("CREATE PROCEDURE with this option");
                }
                "immutable" | "stable" | "volatile" | "strict" | "cost" | "rows" | "window" | "leakproof"
                | "called" | "returns" | "parallel" | "support" => {
                    let message = "invalid attribute in procedure definition";
                    return Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, message)
                        .at(crate::lexer::position(self.text(), at as usize)));
                }
                _ => return Err(self.unexpected()),
            }
        }
        let Some(body) = body else {
            return Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, "no function body specified"));
        };
        let parameters = self.keep_all(&parameters);
        let create = CreateProcedure { path, replace, parameters, language, body };
        Ok(Utility::CreateProcedure(self.bump.alloc(create)))
    }

    /// The name of a language, which may be a string.
    fn language(&mut self) -> Result<&'a str> {
        if self.peek()?.token.kind.is_string() {
            return self.string();
        }
        Ok(self.any_name()?.text)
    }

    fn mode(&mut self) -> Result<Option<u8>> {
        let mode = match self.word()?.as_str() {
            "in" if self.is_at(1, kw!("out"))? => {
                self.next()?;
                b'b'
            }
            "in" => b'i',
            "out" => b'o',
            "inout" => b'b',
            "variadic" => return Err(self.unsupported("VARIADIC of a procedure", self.last_end())),
            _ => return Ok(None),
        };
        self.next()?;
        Ok(Some(mode))
    }

    fn procedure_parameter(&mut self) -> Result<ProcedureParameter<'a>> {
        let mut mode = self.mode()?;
        // A name is there if a type begins after the first word.
        let first = self.mark();
        let name = match self.name() {
            Ok(name) => {
                if mode.is_none() {
                    mode = self.mode()?;
                }
                let before = self.mark();
                let is_type = !self.ends_parameter()? && self.type_name().is_ok();
                self.rewind(if is_type { before } else { first });
                is_type.then_some(name)
            }
            Err(_) => {
                self.rewind(first);
                None
            }
        };
        let ty = self.type_name()?;
        let mut default = None;
        if self.eat(kw!("default"))? || self.is_operator("=")? {
            if self.is_operator("=")? {
                self.next()?;
            }
            let from = self.at()? as usize;
            self.expr()?;
            let text = self.text().get(from..self.last_end() as usize).unwrap_or("");
            default = Some(self.keep(text));
        }
        Ok(ProcedureParameter { mode: mode.unwrap_or(b'i'), name, ty, default })
    }

    fn ends_parameter(&mut self) -> Result<bool> {
        Ok(self.is_kind(TokenKind::Comma)?
            || self.is_kind(TokenKind::ParenClose)?
            || self.is_kind(TokenKind::ParenOpen)?
            || self.is_kind(TokenKind::BracketOpen)?
            || self.is_kind(TokenKind::Dot)?
            || self.is_operator("=")?
            || self.is(kw!("default"))?)
    }

    /// `DROP PROCEDURE`, from that word on.
    pub(super) fn drop_procedure(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
        let mut procedures = Vec::new();
        loop {
            procedures.push(self.routine_name()?);
            if !self.eat_kind(TokenKind::Comma)? {
                break;
            }
        }
        // Nothing depends on a procedure.
        if !self.eat(kw!("cascade"))? {
            self.eat(kw!("restrict"))?;
        }
        Ok(Utility::DropProcedure { procedures: self.keep_all(&procedures), if_exists })
    }

    /// A procedure or function as statements about it name it.
    pub(super) fn routine_name(&mut self) -> Result<ProcedureName<'a>> {
        let path = self.path()?;
        let mut types = None;
        if self.eat_kind(TokenKind::ParenOpen)? {
            let mut list = Vec::new();
            if !self.eat_kind(TokenKind::ParenClose)? {
                loop {
                    let parameter = self.procedure_parameter()?;
                    if parameter.mode != b'o' {
                        list.push(parameter.ty);
                    }
                    if !self.eat_kind(TokenKind::Comma)? {
                        break;
                    }
                }
                self.expect_kind(TokenKind::ParenClose)?;
            }
            types = Some(self.keep_all(&list));
        }
        Ok(ProcedureName { path, types })
    }

    /// `CALL name(…)`
    pub(super) fn call_statement(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let expr = self.expr()?;
        match expr.kind {
            ExprKind::Call(call)
                if !call.star
                    && !call.distinct
                    && !call.variadic
                    && call.order_by.is_empty()
                    && call.within_group.is_empty()
                    && call.filter.is_none()
                    && call.over.is_none() =>
            {
                Ok(Utility::Call(call))
            }
            _ => Err(Error::statement(sqlstate::SYNTAX_ERROR, "CALL needs a procedure with its arguments")
                .at(crate::lexer::position(self.text(), expr.at as usize))),
        }
    }

    /// `DO 'block'`
    pub(super) fn do_block(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let (mut language, mut body) = (None, None);
        while !self.is_kind(TokenKind::End)? {
            if language.is_none() && self.eat(kw!("language"))? {
                language = Some(self.language()?);
            } else if body.is_none() {
                body = Some(self.string()?);
            } else {
                return Err(self.unexpected());
            }
        }
        match body {
            Some(body) => Ok(Utility::Do(DoBlock { language, body })),
            None => Err(Error::statement(sqlstate::SYNTAX_ERROR, "no inline code specified")),
        }
    }
}
