//! Functions and procedures: `CREATE FUNCTION`, `ALTER FUNCTION`, `DROP FUNCTION`, the same of procedures, `CALL`, `DO`.

use super::ast::{ExprKind, Name, Path, SettingChange, TypeName, Utility};
use super::cursor::{Parser, kw};
use super::role::OwnerStatement;
use crate::lexer::TokenKind;
use base::{Error, Result, sqlstate};

/// What is created, changed or dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoutineKind {
    /// `FUNCTION`
    Function,
    /// `PROCEDURE`
    Procedure,
    /// `ROUTINE`: any of them.
    Any,
}

impl RoutineKind {
    /// The kind of that word.
    pub fn of(word: &str) -> RoutineKind {
        match word {
            "function" => RoutineKind::Function,
            "procedure" => RoutineKind::Procedure,
            _ => RoutineKind::Any,
        }
    }

    /// The words of the statement that changes one.
    pub fn alter_words(self) -> &'static str {
        match self {
            RoutineKind::Function => "ALTER FUNCTION",
            RoutineKind::Procedure => "ALTER PROCEDURE",
            RoutineKind::Any => "ALTER ROUTINE",
        }
    }

    /// What messages call it.
    pub fn word(self) -> &'static str {
        match self {
            RoutineKind::Function => "function",
            RoutineKind::Procedure => "procedure",
            RoutineKind::Any => "routine",
        }
    }
}

/// `RETURNS`
#[derive(Clone, Copy, Debug)]
pub enum Returns<'a> {
    /// A value.
    Value(TypeName<'a>),
    /// `SETOF`
    Set(TypeName<'a>),
    /// `TABLE`: its columns are parameters.
    Table,
}

/// What `CREATE FUNCTION` and `ALTER FUNCTION` say of a function.
#[derive(Clone, Copy, Default, Debug)]
pub struct Attributes<'a> {
    /// `IMMUTABLE`, `STABLE`, `VOLATILE`, as in `pg_proc.provolatile`.
    pub volatility: Option<u8>,
    /// `STRICT`
    pub strict: Option<bool>,
    /// `LEAKPROOF`
    pub leakproof: Option<bool>,
    /// `PARALLEL`, as in `pg_proc.proparallel`.
    pub parallel: Option<u8>,
    /// `COST`
    pub cost: Option<f64>,
    /// `ROWS`
    pub rows: Option<f64>,
    /// `SECURITY DEFINER`, `SECURITY INVOKER`
    pub definer: Option<bool>,
    /// `SET`, `RESET`
    pub settings: &'a [SettingChange<'a>],
}

/// `CREATE FUNCTION`, `CREATE PROCEDURE`
#[derive(Clone, Copy, Debug)]
pub struct CreateRoutine<'a> {
    /// Which of them.
    pub kind: RoutineKind,
    /// Its name.
    pub path: Path<'a>,
    /// `OR REPLACE`
    pub replace: bool,
    /// Its parameters, columns of `RETURNS TABLE` included.
    pub parameters: &'a [RoutineParameter<'a>],
    /// `RETURNS`
    pub returns: Option<Returns<'a>>,
    /// What else is said of a function.
    pub attributes: Attributes<'a>,
    /// `LANGUAGE`
    pub language: Option<&'a str>,
    /// `AS`, or the expression of `RETURN`.
    pub body: RoutineBody<'a>,
}

/// A body.
#[derive(Clone, Copy, Debug)]
pub enum RoutineBody<'a> {
    /// `AS`
    Text(&'a str),
    /// `RETURN`
    Expression(&'a str),
    /// `BEGIN ATOMIC`
    Atomic(&'a str),
}

/// `DROP FUNCTION`, `DROP PROCEDURE`
#[derive(Clone, Copy, Debug)]
pub struct DropRoutine<'a> {
    /// What is said of them.
    pub kind: RoutineKind,
    /// Their names.
    pub routines: &'a [RoutineName<'a>],
    /// `IF EXISTS`
    pub if_exists: bool,
    /// `CASCADE`
    pub cascade: bool,
}

/// `ALTER FUNCTION`, `ALTER PROCEDURE`
#[derive(Clone, Copy, Debug)]
pub struct AlterRoutine<'a> {
    /// Which of them.
    pub kind: RoutineKind,
    /// Its name.
    pub name: RoutineName<'a>,
    /// What is done.
    pub action: RoutineAction<'a>,
}

/// A change of `ALTER FUNCTION`.
#[derive(Clone, Copy, Debug)]
pub enum RoutineAction<'a> {
    /// `RENAME TO`
    Rename(Name<'a>),
    /// `SET SCHEMA`
    Schema(Name<'a>),
    /// What is said of it.
    Attributes(Attributes<'a>),
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub struct RoutineParameter<'a> {
    /// `i` for `IN`, `o` for `OUT`, `b` for `INOUT`, `t` for a column of `TABLE`.
    pub mode: u8,
    /// Its name.
    pub name: Option<Name<'a>>,
    /// Its type.
    pub ty: TypeName<'a>,
    /// The text of its default.
    pub default: Option<&'a str>,
    /// `VARIADIC`: its value goes in, and is an array whose elements a call gives one by one.
    pub variadic: bool,
}

/// A routine's name, with the types of its parameters if they were given.
#[derive(Clone, Copy, Debug)]
pub struct RoutineName<'a> {
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

    fn routine_kind(&mut self) -> Result<RoutineKind> {
        Ok(match self.next()?.keyword.map_or("", |keyword| keyword.row().word) {
            "procedure" => RoutineKind::Procedure,
            "function" => RoutineKind::Function,
            _ => RoutineKind::Any,
        })
    }

    /// `CREATE FUNCTION …`, `CREATE PROCEDURE …`, from that word on.
    pub(super) fn create_routine(&mut self, replace: bool) -> Result<Utility<'a>> {
        let kind = self.routine_kind()?;
        let is_function = kind == RoutineKind::Function;
        let path = self.path()?;
        self.expect_kind(TokenKind::ParenOpen)?;
        let mut parameters = Vec::new();
        if !self.eat_kind(TokenKind::ParenClose)? {
            loop {
                parameters.push(self.routine_parameter()?);
                if !self.eat_kind(TokenKind::Comma)? {
                    break;
                }
            }
            self.expect_kind(TokenKind::ParenClose)?;
        }
        let returns = match is_function && self.word()? == "returns" {
            true => Some(self.returns(&mut parameters)?),
            false => None,
        };
        let (mut language, mut body) = (None, None);
        let (mut attributes, mut settings) = (Attributes::default(), Vec::new());
        while !self.is_kind(TokenKind::End)? {
            let at = self.at()?;
            match self.word()?.as_str() {
                "language" => {
                    self.next()?;
                    self.once(language.is_some(), at)?;
                    language = Some(self.language()?);
                }
                "as" => {
                    self.next()?;
                    self.once(body.is_some(), at)?;
                    body = Some(RoutineBody::Text(self.string()?));
                    if self.is_kind(TokenKind::Comma)? {
                        return self.unsupported_statement("a function in C");
                    }
                }
                "return" if is_function => {
                    self.next()?;
                    self.once(body.is_some(), at)?;
                    let from = self.at()? as usize;
                    self.expr()?;
                    let text = self.text().get(from..self.last_end() as usize).unwrap_or("");
                    body = Some(RoutineBody::Expression(self.keep(text)));
                }
                "begin" if self.is_atomic()? => {
                    self.once(body.is_some(), at)?;
                    body = Some(self.atomic_body()?);
                }
                "begin" | "return" => return self.unsupported_statement("a body of this kind"),
                "security" | "external" => self.security(&mut attributes)?,
                "set" => settings.push(self.setting_change()?),
                "transform" => return self.unsupported_statement("a routine with this option"),
                _ if self.attribute(&mut attributes, is_function)? => {}
                _ => return Err(self.unexpected()),
            }
        }
        let Some(body) = body else {
            return Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, "no function body specified"));
        };
        let parameters = self.keep_all(&parameters);
        attributes.settings = self.keep_all(&settings);
        let create = CreateRoutine { kind, path, replace, parameters, returns, attributes, language, body };
        Ok(Utility::CreateRoutine(self.bump.alloc(create)))
    }

    /// `[EXTERNAL] SECURITY DEFINER`, `[EXTERNAL] SECURITY INVOKER`
    fn security(&mut self, known: &mut Attributes<'a>) -> Result<()> {
        let at = self.at()?;
        if self.word()? == "external" {
            self.next()?;
        }
        self.expect(kw!("security"))?;
        self.once(known.definer.is_some(), at)?;
        known.definer = Some(self.eat(kw!("definer"))?);
        if known.definer == Some(false) {
            self.expect(kw!("invoker"))?;
        }
        Ok(())
    }

    fn is_atomic(&mut self) -> Result<bool> {
        let tok = self.peek_at(1)?;
        Ok(tok.token.kind == TokenKind::Word && tok.token.text(self.text()).eq_ignore_ascii_case("atomic"))
    }

    /// `BEGIN ATOMIC statement; … END`
    fn atomic_body(&mut self) -> Result<RoutineBody<'a>> {
        self.next()?;
        self.next()?;
        let from = self.at()? as usize;
        let mut cases = 0_u32;
        loop {
            let tok = self.peek()?;
            match tok.keyword.map_or("", |keyword| keyword.row().word) {
                _ if tok.token.kind == TokenKind::End => return Err(self.unexpected()),
                "case" => cases += 1,
                "end" if cases > 0 => cases -= 1,
                "end" => break,
                _ => {}
            }
            self.next()?;
        }
        let text = self.text().get(from..self.at()? as usize).unwrap_or("");
        self.next()?;
        Ok(RoutineBody::Atomic(self.keep(text)))
    }

    /// Refuses what was said already.
    fn once(&self, is_said: bool, at: u32) -> Result<()> {
        match is_said {
            true => Err(Error::statement(sqlstate::SYNTAX_ERROR, "conflicting or redundant options")
                .at(crate::lexer::position(self.text(), at as usize))),
            false => Ok(()),
        }
    }

    /// `RETURNS …`
    fn returns(&mut self, parameters: &mut Vec<RoutineParameter<'a>>) -> Result<Returns<'a>> {
        self.next()?;
        if self.eat(kw!("setof"))? {
            return Ok(Returns::Set(self.returned_type()?));
        }
        if !self.is(kw!("table"))? {
            return Ok(Returns::Value(self.returned_type()?));
        }
        self.next()?;
        self.expect_kind(TokenKind::ParenOpen)?;
        loop {
            let name = Some(self.name()?);
            let ty = self.type_name()?;
            parameters.push(RoutineParameter { mode: b't', name, ty, default: None, variadic: false });
            if !self.eat_kind(TokenKind::Comma)? {
                break;
            }
        }
        self.expect_kind(TokenKind::ParenClose)?;
        Ok(Returns::Table)
    }

    fn returned_type(&mut self) -> Result<TypeName<'a>> {
        let ty = self.type_name()?;
        match self.is_operator("%")? {
            true => Err(self.unsupported("%TYPE of a result", self.last_end())),
            false => Ok(ty),
        }
    }

    /// One of the attributes, if it stands here.
    fn attribute(&mut self, known: &mut Attributes<'a>, is_function: bool) -> Result<bool> {
        let at = self.at()?;
        let word = self.word()?;
        let (is_said, words) = match word.as_str() {
            "immutable" | "stable" | "volatile" => (known.volatility.is_some(), 1),
            "strict" => (known.strict.is_some(), 1),
            "called" | "returns" => (known.strict.is_some(), if word == "called" { 4 } else { 5 }),
            "leakproof" | "not" => (known.leakproof.is_some(), if word == "not" { 2 } else { 1 }),
            "parallel" | "cost" | "rows" => (
                match word.as_str() {
                    "parallel" => known.parallel.is_some(),
                    "cost" => known.cost.is_some(),
                    _ => known.rows.is_some(),
                },
                1,
            ),
            "window" | "support" => (false, 1),
            _ => return Ok(false),
        };
        if !is_function {
            let message = "invalid attribute in procedure definition";
            return Err(Error::statement(sqlstate::INVALID_FUNCTION_DEFINITION, message)
                .at(crate::lexer::position(self.text(), at as usize)));
        }
        self.once(is_said, at)?;
        let first = word.as_bytes()[0];
        match words {
            4 => {
                self.next()?;
                let all = [kw!("on"), kw!("null"), kw!("input")];
                if !self.eat_all(all)? {
                    return Err(self.unexpected());
                }
                known.strict = Some(false);
                return Ok(true);
            }
            5 => {
                self.next()?;
                let all = [kw!("null"), kw!("on"), kw!("null"), kw!("input")];
                if !self.eat_all(all)? {
                    return Err(self.unexpected());
                }
                known.strict = Some(true);
                return Ok(true);
            }
            2 => {
                self.next()?;
                if self.word()? != "leakproof" {
                    return Err(self.unexpected());
                }
                self.next()?;
                known.leakproof = Some(false);
                return Ok(true);
            }
            _ => {}
        }
        self.next()?;
        match word.as_str() {
            "strict" => known.strict = Some(true),
            "leakproof" => known.leakproof = Some(true),
            "cost" | "rows" => {
                let number = match self.peek()?.token.text(self.text()).parse::<f64>() {
                    Ok(number) if number.is_finite() => number,
                    _ => return Err(self.unexpected()),
                };
                self.next()?;
                if number <= 0.0 {
                    let message = format!("{} must be positive", word.to_uppercase());
                    return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
                }
                *(if word == "cost" { &mut known.cost } else { &mut known.rows }) = Some(number);
            }
            "parallel" => {
                let name = self.any_name()?;
                known.parallel = Some(match name.text {
                    "safe" | "unsafe" | "restricted" => name.text.as_bytes()[0],
                    _ => {
                        let message = "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE";
                        return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
                    }
                });
            }
            "window" | "support" => return Err(self.unsupported("a function with this attribute", at)),
            _ => known.volatility = Some(first),
        }
        Ok(true)
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
            "variadic" => b'v',
            _ => return Ok(None),
        };
        self.next()?;
        Ok(Some(mode))
    }

    fn routine_parameter(&mut self) -> Result<RoutineParameter<'a>> {
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
        let variadic = mode == Some(b'v');
        let mode = mode.filter(|_| !variadic).unwrap_or(b'i');
        Ok(RoutineParameter { mode, name, ty, default, variadic })
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

    /// A name, with types if there are any.
    pub(super) fn routine_name(&mut self) -> Result<RoutineName<'a>> {
        let path = self.path()?;
        let mut types = None;
        if self.eat_kind(TokenKind::ParenOpen)? {
            let mut list = Vec::new();
            if !self.eat_kind(TokenKind::ParenClose)? {
                loop {
                    let parameter = self.routine_parameter()?;
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
        Ok(RoutineName { path, types })
    }

    /// `DROP FUNCTION`, `DROP PROCEDURE`, `DROP ROUTINE`, from that word on.
    pub(super) fn drop_routine(&mut self) -> Result<Utility<'a>> {
        let kind = self.routine_kind()?;
        let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
        let mut routines = vec![self.routine_name()?];
        while self.eat_kind(TokenKind::Comma)? {
            routines.push(self.routine_name()?);
        }
        let cascade = self.cascade()?;
        let routines = self.keep_all(&routines);
        Ok(Utility::DropRoutine(self.bump.alloc(DropRoutine { kind, routines, if_exists, cascade })))
    }

    /// `ALTER FUNCTION`, `ALTER PROCEDURE`, `ALTER ROUTINE`, from that word on.
    pub(super) fn alter_routine(&mut self) -> Result<Utility<'a>> {
        let kind = self.routine_kind()?;
        let name = self.routine_name()?;
        let action = if self.eat_all([kw!("rename"), kw!("to")])? {
            RoutineAction::Rename(self.name()?)
        } else if self.eat_all([kw!("set"), kw!("schema")])? {
            RoutineAction::Schema(self.name()?)
        } else if self.eat_all([kw!("owner"), kw!("to")])? {
            let owner = self.role_name()?;
            let statement = OwnerStatement::Routine { routine: name, word: kind.word(), owner };
            return Ok(Utility::Owner(self.bump.alloc(statement)));
        } else {
            let (mut attributes, mut settings) = (Attributes::default(), Vec::new());
            let mut any = false;
            while !self.is_kind(TokenKind::End)? {
                match self.word()?.as_str() {
                    "security" | "external" => self.security(&mut attributes)?,
                    "set" | "reset" => settings.push(self.setting_change()?),
                    _ if self.attribute(&mut attributes, kind != RoutineKind::Procedure)? => {}
                    _ => break,
                }
                any = true;
            }
            if !any {
                return self.unsupported_statement("ALTER FUNCTION of this kind");
            }
            attributes.settings = self.keep_all(&settings);
            self.eat(kw!("restrict"))?;
            RoutineAction::Attributes(attributes)
        };
        Ok(Utility::AlterRoutine(self.bump.alloc(AlterRoutine { kind, name, action })))
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
