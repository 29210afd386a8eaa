//! Expressions: PostgreSQL's operators with their precedence, and everything that looks like a call.
//!
//! Precedence climbing, from the loosest: `OR`, `AND`, `NOT`, `IS`, comparisons, `BETWEEN IN LIKE`, other operators, `+ -`,
//! `* / %`, `^`, `AT TIME ZONE`, `COLLATE`, sign, and then what sticks to its operand: `[ ]`, `::`, `.`.
//!
//! Rules
//! 1. Comparisons do not chain: `a < b < c` is a syntax error at the second sign.
//! 2. Chains of `AND` and of `OR` are one node each, so that a long condition is not a deep one.
//! 3. A node is made by [`Parser::make`] only, which bounds its height.

use super::ast::{
    Argument, Call, Expr, ExprKind, FrameBound, LikeKind, Name, Operator, Over, Path, Special, Subscript, TypeName,
};
use super::cursor::{DEPTH_MAX, Parser, Tok, is_column_name, is_function_name, kw, too_complex};
use crate::lexer::{TokenKind, literal};
use base::{Error, Result, sqlstate};

/// The name of `GROUPING (…)` as a call; no function of `pg_catalog` has it.
pub(crate) const GROUPING: &str = "grouping";

const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARISON: u8 = 5;
const MATCHING: u8 = 6;
const OPERATOR: u8 = 7;
const SUM: u8 = 8;
const PRODUCT: u8 = 9;
const POWER: u8 = 10;
const AT: u8 = 11;
const COLLATE: u8 = 12;
const SIGN: u8 = 13;

impl<'t, 'a> Parser<'t, 'a> {
    /// An expression.
    pub(super) fn expr(&mut self) -> Result<Expr<'a>> {
        self.climb(0, true)
    }

    /// An expression without `AND`, `IN` and their like at its top, as between `BETWEEN` and `AND`.
    fn plain_expr(&mut self) -> Result<Expr<'a>> {
        self.climb(COMPARISON, false)
    }

    /// The expression of a column's default, where `NOT NULL` may follow.
    pub(super) fn column_default(&mut self) -> Result<Expr<'a>> {
        self.plain_expr()
    }

    pub(super) fn expr_ref(&mut self) -> Result<&'a Expr<'a>> {
        let expr = self.expr()?;
        Ok(self.node(expr))
    }

    pub(super) fn node(&self, expr: Expr<'a>) -> &'a Expr<'a> {
        self.bump.alloc(expr)
    }

    /// Expressions with commas between them.
    pub(super) fn exprs(&mut self) -> Result<&'a [Expr<'a>]> {
        let mut exprs = vec![self.expr()?];
        while self.eat_kind(TokenKind::Comma)? {
            exprs.push(self.expr()?);
        }
        Ok(self.keep_all(&exprs))
    }

    /// Makes a node; `54001` if it is too high.
    pub(super) fn make(&mut self, kind: ExprKind<'a>, at: u32) -> Result<Expr<'a>> {
        let height = 1 + height_below(&kind);
        self.note_height(height)?;
        Ok(Expr { kind, at, height })
    }

    fn climb(&mut self, least: u8, full: bool) -> Result<Expr<'a>> {
        self.descend()?;
        let mut left = self.prefix(full)?;
        loop {
            let tok = self.peek()?;
            let at = tok.token.start;
            left = match tok.token.kind {
                TokenKind::Operator => {
                    let name = operator_name(tok.token.text(self.text()));
                    let level = level_of(name);
                    if level < least {
                        break;
                    }
                    self.next()?;
                    let operator = Operator { schema: None, name: self.keep(name), at };
                    let combined = self.binary(left, operator, level, full)?;
                    if level == COMPARISON && self.is_comparison()? {
                        return Err(self.unexpected());
                    }
                    combined
                }
                TokenKind::Word => {
                    let Some(keyword) = tok.keyword else { break };
                    if keyword == kw!("operator") && least <= OPERATOR {
                        let operator = self.named_operator()?;
                        self.binary(left, operator, OPERATOR, full)?
                    } else if keyword == kw!("at") && least <= AT {
                        if !self.eat_all([kw!("at"), kw!("time"), kw!("zone")])? {
                            break;
                        }
                        let zone = self.climb(AT + 1, full)?;
                        self.system_call("timezone", &[zone, left], at)?
                    } else if keyword == kw!("collate") && least <= COLLATE {
                        self.next()?;
                        let name = self.path()?;
                        let operand = self.node(left);
                        self.make(ExprKind::Collate(operand, name), at)?
                    } else if full {
                        match self.worded(left, tok, least)? {
                            Some(expr) => expr,
                            None => break,
                        }
                    } else if keyword == kw!("is") && least <= IS {
                        match self.is_distinct(left, at)? {
                            Some(expr) => expr,
                            None => break,
                        }
                    } else {
                        break;
                    }
                }
                _ => break,
            };
        }
        self.ascend();
        Ok(left)
    }

    /// Operators that are words, of a full expression; none if the next word is no operator here.
    fn worded(&mut self, left: Expr<'a>, tok: Tok, least: u8) -> Result<Option<Expr<'a>>> {
        let at = tok.token.start;
        let Some(keyword) = tok.keyword else { return Ok(None) };
        let negated = keyword == kw!("not");
        let operator = if negated { self.peek_at(1)?.keyword } else { Some(keyword) };
        let is = |word| operator == Some(word);
        if keyword == kw!("and") && least <= AND {
            return self.chain(left, at, kw!("and"), AND, ExprKind::And).map(Some);
        }
        if keyword == kw!("or") && least <= OR {
            return self.chain(left, at, kw!("or"), OR, ExprKind::Or).map(Some);
        }
        if least <= MATCHING {
            if is(kw!("between")) {
                self.next()?;
                if negated {
                    self.next()?;
                }
                return self.between(left, at, negated).map(Some);
            }
            if is(kw!("in")) {
                self.next()?;
                if negated {
                    self.next()?;
                }
                return self.in_list(left, at, negated).map(Some);
            }
            let kind = match () {
                () if is(kw!("like")) => Some(LikeKind::Like),
                () if is(kw!("ilike")) => Some(LikeKind::Ilike),
                () if is(kw!("similar")) => Some(LikeKind::Similar),
                () => None,
            };
            if let Some(kind) = kind {
                self.next()?;
                if negated {
                    self.next()?;
                }
                return self.like(left, at, kind, negated).map(Some);
            }
        }
        if negated || least > IS {
            return Ok(None);
        }
        if keyword == kw!("isnull") || keyword == kw!("notnull") {
            self.next()?;
            let kind = ExprKind::IsNull { operand: self.node(left), negated: keyword == kw!("notnull") };
            return self.make(kind, at).map(Some);
        }
        if keyword == kw!("overlaps") {
            return self.overlaps(left, at).map(Some);
        }
        if keyword != kw!("is") {
            return Ok(None);
        }
        if let Some(expr) = self.is_distinct(left, at)? {
            return Ok(Some(expr));
        }
        self.next()?;
        let negated = self.eat(kw!("not"))?;
        let operand = self.node(left);
        let kind = match self.next()?.keyword {
            Some(word) if word == kw!("null") => ExprKind::IsNull { operand, negated },
            Some(word) if word == kw!("true") => ExprKind::IsTruth { operand, truth: Some(true), negated },
            Some(word) if word == kw!("false") => ExprKind::IsTruth { operand, truth: Some(false), negated },
            Some(word) if word == kw!("unknown") => ExprKind::IsTruth { operand, truth: None, negated },
            Some(word) if word == kw!("document") || word == kw!("normalized") => {
                return Err(self.unsupported("this form of IS", at));
            }
            _ => {
                self.back();
                return Err(self.unexpected());
            }
        };
        self.make(kind, at).map(Some)
    }

    /// `IS [NOT] DISTINCT FROM`, if that comes next.
    fn is_distinct(&mut self, left: Expr<'a>, at: u32) -> Result<Option<Expr<'a>>> {
        let negated = if self.eat_all([kw!("is"), kw!("distinct"), kw!("from")])? {
            false
        } else if self.eat_all([kw!("is"), kw!("not"), kw!("distinct"), kw!("from")])? {
            true
        } else {
            return Ok(None);
        };
        let right = self.climb(IS + 1, true)?;
        let kind = ExprKind::IsDistinct { left: self.node(left), right: self.node(right), negated };
        self.make(kind, at).map(Some)
    }

    fn chain(
        &mut self,
        first: Expr<'a>,
        at: u32,
        word: crate::lexer::keywords::KeywordId,
        level: u8,
        node: impl FnOnce(&'a [Expr<'a>]) -> ExprKind<'a>,
    ) -> Result<Expr<'a>> {
        let mut operands = vec![first];
        while self.eat(word)? {
            operands.push(self.climb(level + 1, true)?);
        }
        let operands = self.keep_all(&operands);
        self.make(node(operands), at)
    }

    fn binary(&mut self, left: Expr<'a>, operator: Operator<'a>, level: u8, full: bool) -> Result<Expr<'a>> {
        if full && level <= OPERATOR && self.is_quantifier()? {
            return self.quantified(left, operator);
        }
        let right = self.climb(level + 1, full)?;
        let kind = ExprKind::Binary { operator, left: self.node(left), right: self.node(right) };
        self.make(kind, operator.at)
    }

    fn is_quantifier(&mut self) -> Result<bool> {
        let word = self.peek()?.keyword;
        let quantifier = word == Some(kw!("any")) || word == Some(kw!("some")) || word == Some(kw!("all"));
        Ok(quantifier && self.peek_at(1)?.token.kind == TokenKind::ParenOpen)
    }

    fn quantified(&mut self, left: Expr<'a>, operator: Operator<'a>) -> Result<Expr<'a>> {
        let all = self.next()?.keyword == Some(kw!("all"));
        let at = self.at()?;
        let right = if self.is_query_in_parentheses()? {
            let query = self.query_in_parentheses()?;
            self.make(ExprKind::Subquery(query), at)?
        } else {
            self.expect_kind(TokenKind::ParenOpen)?;
            let right = self.expr()?;
            self.expect_kind(TokenKind::ParenClose)?;
            right
        };
        let kind =
            ExprKind::Quantified { left: self.node(left), operator, all, right: self.node(right), negated: false };
        self.make(kind, operator.at)
    }

    fn is_comparison(&mut self) -> Result<bool> {
        let tok = self.peek()?;
        Ok(tok.token.kind == TokenKind::Operator && level_of(operator_name(tok.token.text(self.text()))) == COMPARISON)
    }

    /// `OPERATOR(schema.+)`
    fn named_operator(&mut self) -> Result<Operator<'a>> {
        let at = self.at()?;
        self.next()?;
        self.expect_kind(TokenKind::ParenOpen)?;
        let mut schema = None;
        while self.peek()?.token.kind != TokenKind::Operator {
            schema = Some(self.name()?);
            self.expect_kind(TokenKind::Dot)?;
        }
        let tok = self.next()?;
        let name = self.keep(operator_name(tok.token.text(self.text())));
        self.expect_kind(TokenKind::ParenClose)?;
        Ok(Operator { schema, name, at })
    }

    fn between(&mut self, operand: Expr<'a>, at: u32, negated: bool) -> Result<Expr<'a>> {
        let symmetric = self.eat(kw!("symmetric"))?;
        if !symmetric {
            self.eat(kw!("asymmetric"))?;
        }
        let low = self.plain_expr()?;
        self.expect(kw!("and"))?;
        let high = self.climb(MATCHING + 1, true)?;
        let kind = ExprKind::Between {
            operand: self.node(operand),
            low: self.node(low),
            high: self.node(high),
            negated,
            symmetric,
        };
        self.make(kind, at)
    }

    fn in_list(&mut self, operand: Expr<'a>, at: u32, negated: bool) -> Result<Expr<'a>> {
        let open = self.at()?;
        let kind = if self.is_query_in_parentheses()? {
            let query = self.query_in_parentheses()?;
            let right = self.make(ExprKind::Subquery(query), open)?;
            let operator = Operator { schema: None, name: "=", at };
            ExprKind::Quantified { left: self.node(operand), operator, all: false, right: self.node(right), negated }
        } else {
            self.expect_kind(TokenKind::ParenOpen)?;
            let list = self.exprs()?;
            self.expect_kind(TokenKind::ParenClose)?;
            ExprKind::In { operand: self.node(operand), list, negated }
        };
        self.make(kind, at)
    }

    fn like(&mut self, operand: Expr<'a>, at: u32, kind: LikeKind, negated: bool) -> Result<Expr<'a>> {
        if kind == LikeKind::Similar {
            self.expect(kw!("to"))?;
        } else if self.is_quantifier()? {
            let name = match (kind, negated) {
                (LikeKind::Like, false) => "~~",
                (LikeKind::Like, true) => "!~~",
                (_, false) => "~~*",
                (_, true) => "!~~*",
            };
            return self.quantified(operand, Operator { schema: None, name, at });
        }
        let pattern = self.climb(MATCHING + 1, true)?;
        let escape = match self.eat(kw!("escape"))? {
            true => Some(self.climb(MATCHING + 1, true)?),
            false => None,
        };
        let kind = ExprKind::Like {
            operand: self.node(operand),
            pattern: self.node(pattern),
            escape: escape.map(|escape| self.node(escape)),
            kind,
            negated,
        };
        let expr = self.make(kind, at)?;
        let word = self.peek()?.keyword;
        if word == Some(kw!("like")) || word == Some(kw!("ilike")) || word == Some(kw!("similar")) {
            return Err(self.unexpected());
        }
        Ok(expr)
    }

    fn prefix(&mut self, full: bool) -> Result<Expr<'a>> {
        let tok = self.peek()?;
        let at = tok.token.start;
        match tok.token.kind {
            TokenKind::Operator => {
                let name = operator_name(tok.token.text(self.text()));
                if name == "*" || level_of(name) == COMPARISON {
                    return Err(self.unexpected());
                }
                self.next()?;
                if name == "-" && self.folds_sign()? {
                    return self.negative_number(at);
                }
                let level = if name == "-" || name == "+" { SIGN } else { OPERATOR + 1 };
                let operand = self.climb(level, full)?;
                // A sign that was folded into a number is taken back: the opposite of the least integer is a bigint.
                if name == "-"
                    && let ExprKind::Number(text) = operand.kind
                    && let Some(positive) = text.strip_prefix('-')
                {
                    return self.make(ExprKind::Number(positive), at);
                }
                let operator = Operator { schema: None, name: self.keep(name), at };
                let operand = self.node(operand);
                self.make(ExprKind::Unary { operator, operand }, at)
            }
            TokenKind::Word if tok.keyword == Some(kw!("not")) && full => {
                self.next()?;
                let operand = self.climb(NOT, true)?;
                let operand = self.node(operand);
                self.make(ExprKind::Not(operand), at)
            }
            TokenKind::Word if tok.keyword == Some(kw!("operator")) => {
                let operator = self.named_operator()?;
                let operand = self.climb(OPERATOR + 1, full)?;
                let operand = self.node(operand);
                self.make(ExprKind::Unary { operator, operand }, at)
            }
            _ => {
                let primary = self.primary()?;
                let subscripts = matches!(tok.token.kind, TokenKind::ParenOpen | TokenKind::Parameter)
                    || matches!(primary.kind, ExprKind::Column(_));
                self.suffixes(primary, subscripts)
            }
        }
    }

    /// Is the number after a minus sign one whose type depends on the sign?
    fn folds_sign(&mut self) -> Result<bool> {
        let tok = self.peek()?;
        Ok(matches!(tok.token.text(self.text()), "2147483648" | "9223372036854775808")
            && tok.token.kind == TokenKind::Integer)
    }

    fn negative_number(&mut self, at: u32) -> Result<Expr<'a>> {
        let tok = self.next()?;
        let text = self.keep(&format!("-{}", tok.token.text(self.text())));
        let number = self.make(ExprKind::Number(text), at)?;
        self.suffixes(number, false)
    }

    /// What sticks to an operand: `::`, `.`, and `[ ]` if it takes subscripts.
    fn suffixes(&mut self, mut operand: Expr<'a>, mut subscripts: bool) -> Result<Expr<'a>> {
        loop {
            let tok = self.peek()?;
            let at = tok.token.start;
            operand = match tok.token.kind {
                TokenKind::ColonColon => {
                    self.next()?;
                    let target = self.type_name()?;
                    let target = self.bump.alloc(target);
                    let operand = self.node(operand);
                    subscripts = false;
                    self.make(ExprKind::Cast { operand, target }, at)?
                }
                // Only a name, a parameter and what stands in parentheses can be subscripted.
                TokenKind::BracketOpen if subscripts => {
                    let subscripts = self.subscripts()?;
                    let operand = self.node(operand);
                    self.make(ExprKind::Subscript(operand, subscripts), at)?
                }
                TokenKind::Dot => {
                    self.next()?;
                    if self.is_operator("*")? {
                        return Err(self.unsupported("the expansion of a composite value", at));
                    }
                    let field = self.label()?;
                    let operand = self.node(operand);
                    self.make(ExprKind::Field(operand, field), at)?
                }
                _ => return Ok(operand),
            };
        }
    }

    /// `[a][b:c]`, as many as there are.
    pub(super) fn subscripts(&mut self) -> Result<&'a [Subscript<'a>]> {
        let mut subscripts = Vec::new();
        while self.eat_kind(TokenKind::BracketOpen)? {
            let lower = if self.is_kind(TokenKind::Colon)? { None } else { Some(self.expr()?) };
            subscripts.push(match (self.eat_kind(TokenKind::Colon)?, lower) {
                (false, Some(index)) => Subscript::Index(index),
                (_, lower) => {
                    let upper = if self.is_kind(TokenKind::BracketClose)? { None } else { Some(self.expr()?) };
                    Subscript::Slice(lower, upper)
                }
            });
            self.expect_kind(TokenKind::BracketClose)?;
        }
        Ok(self.keep_all(&subscripts))
    }

    fn primary(&mut self) -> Result<Expr<'a>> {
        let tok = self.peek()?;
        let at = tok.token.start;
        match tok.token.kind {
            TokenKind::Integer | TokenKind::Decimal => {
                self.next()?;
                let text = self.keep(tok.token.text(self.text()));
                self.make(ExprKind::Number(text), at)
            }
            TokenKind::String | TokenKind::EscapeString | TokenKind::DollarString => {
                let text = self.string()?;
                self.make(ExprKind::String(text), at)
            }
            TokenKind::NationalString => {
                self.next()?;
                let text = literal::string(self.text(), tok.token)?;
                let text = self.keep(&text);
                let operand = self.make(ExprKind::String(text), at)?;
                let target = self.builtin_type("bpchar", at);
                let (operand, target) = (self.node(operand), self.bump.alloc(target));
                self.make(ExprKind::Cast { operand, target }, at)
            }
            TokenKind::BitString | TokenKind::HexString => Err(self.unsupported("a bit string", at)),
            TokenKind::Parameter => {
                self.next()?;
                let number = tok.token.text(self.text()).get(1..).and_then(|digits| digits.parse().ok());
                match number {
                    Some(number) => self.make(ExprKind::Parameter(number), at),
                    None => Err(self.error_at("syntax error", tok.token)),
                }
            }
            TokenKind::ParenOpen => self.parenthesis(at),
            TokenKind::QuotedName => self.name_or_call(tok),
            TokenKind::Word => match tok.keyword {
                None => self.name_or_call(tok),
                Some(_) => self.keyword_primary(tok),
            },
            _ => Err(self.unexpected()),
        }
    }

    /// `(a)`, `(a, b)`, `(SELECT …)`
    fn parenthesis(&mut self, at: u32) -> Result<Expr<'a>> {
        if self.is_query_in_parentheses()? {
            let query = self.query_in_parentheses()?;
            return self.make(ExprKind::Subquery(query), at);
        }
        self.next()?;
        let first = self.expr()?;
        if self.eat_kind(TokenKind::ParenClose)? {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.eat_kind(TokenKind::Comma)? {
            items.push(self.expr()?);
        }
        self.expect_kind(TokenKind::ParenClose)?;
        let items = self.keep_all(&items);
        self.make(ExprKind::Row(items), at)
    }

    fn keyword_primary(&mut self, tok: Tok) -> Result<Expr<'a>> {
        let at = tok.token.start;
        let Some(keyword) = tok.keyword else { return Err(self.unexpected()) };
        let opens = self.peek_at(1)?.token.kind == TokenKind::ParenOpen;
        let simple = match () {
            () if keyword == kw!("null") => Some(ExprKind::Null),
            () if keyword == kw!("true") => Some(ExprKind::Bool(true)),
            () if keyword == kw!("false") => Some(ExprKind::Bool(false)),
            () if keyword == kw!("default") => Some(ExprKind::Default),
            () => None,
        };
        if let Some(kind) = simple {
            self.next()?;
            return self.make(kind, at);
        }
        if let Some(special) = special_of(tok) {
            return self.special(special, at);
        }
        if keyword == kw!("case") {
            return self.case(at);
        }
        if keyword == kw!("cast") {
            self.next()?;
            self.expect_kind(TokenKind::ParenOpen)?;
            let operand = self.expr()?;
            self.expect(kw!("as"))?;
            let target = self.type_name()?;
            self.expect_kind(TokenKind::ParenClose)?;
            let (operand, target) = (self.node(operand), self.bump.alloc(target));
            return self.make(ExprKind::Cast { operand, target }, at);
        }
        if keyword == kw!("array") {
            return self.array(at);
        }
        if opens {
            if keyword == kw!("exists") {
                self.next()?;
                let query = self.query_in_parentheses()?;
                return self.make(ExprKind::Exists(query), at);
            }
            if keyword == kw!("row") {
                self.next()?;
                self.next()?;
                let items = if self.is_kind(TokenKind::ParenClose)? { &[] } else { self.exprs()? };
                self.expect_kind(TokenKind::ParenClose)?;
                return self.make(ExprKind::Row(items), at);
            }
            if let Some(expr) = self.special_call(tok, at)? {
                return Ok(expr);
            }
        }
        if self.starts_builtin_type(tok)? {
            let mark = self.mark();
            let target = self.type_name()?;
            if self.peek()?.token.kind.is_string() {
                let text_at = self.at()?;
                let text = self.string()?;
                let target = if target.path.last().is_some_and(|name| name.text == "interval") {
                    self.interval_fields(target)?
                } else {
                    target
                };
                return self.typed(target, text, text_at, at);
            }
            self.rewind(mark);
        }
        if Self::may_be_name(tok, is_column_name) || (opens && Self::may_be_name(tok, is_function_name)) {
            return self.name_or_call(tok);
        }
        if Self::may_be_name(tok, is_function_name) && self.peek_at(1)?.token.kind.is_string() {
            return self.name_or_call(tok);
        }
        Err(self.unexpected())
    }

    /// `type 'text'`
    fn typed(&mut self, target: TypeName<'a>, text: &'a str, text_at: u32, at: u32) -> Result<Expr<'a>> {
        let operand = self.make(ExprKind::String(text), text_at)?;
        let (operand, target) = (self.node(operand), self.bump.alloc(target));
        self.make(ExprKind::Cast { operand, target }, at)
    }

    /// `COALESCE(…)` and others whose arguments have a syntax of their own; none if it is an ordinary name.
    fn special_call(&mut self, tok: Tok, at: u32) -> Result<Option<Expr<'a>>> {
        let word = tok.keyword.map_or("", |keyword| keyword.row().word);
        match word {
            "coalesce" | "greatest" | "least" | "nullif" | "extract" | "position" | "substring" | "trim"
            | "overlay" => {
                self.next()?;
                self.next()?;
            }
            "grouping" => {
                self.next()?;
                self.next()?;
                let arguments = self.exprs()?;
                self.expect_kind(TokenKind::ParenClose)?;
                let path = self.bump.alloc_slice_copy(&[Name { text: GROUPING, at }]);
                return self.call_of(path, arguments, at).map(Some);
            }
            "treat" | "normalize" | "xmlconcat" | "xmlelement" | "xmlexists" | "xmlforest" | "xmlparse" | "xmlpi"
            | "xmlroot" | "xmlserialize" => {
                return Err(self.unsupported(&format!("{}()", word.to_uppercase()), at));
            }
            _ => return Ok(None),
        }
        let expr = match word {
            "coalesce" => {
                let items = self.exprs()?;
                self.make(ExprKind::Coalesce(items), at)?
            }
            "greatest" => {
                let items = self.exprs()?;
                self.make(ExprKind::Greatest(items), at)?
            }
            "least" => {
                let items = self.exprs()?;
                self.make(ExprKind::Least(items), at)?
            }
            "nullif" => {
                let first = self.expr_ref()?;
                self.expect_kind(TokenKind::Comma)?;
                let second = self.expr_ref()?;
                self.make(ExprKind::NullIf(first, second), at)?
            }
            "extract" => {
                let field = self.next()?;
                let name = match field.token.kind {
                    TokenKind::Word | TokenKind::QuotedName => self.name_of(field).text,
                    kind if kind.is_string() => {
                        let text = literal::string(self.text(), field.token)?;
                        self.keep(&text)
                    }
                    _ => {
                        self.back();
                        return Err(self.unexpected());
                    }
                };
                let field = self.make(ExprKind::String(name), field.token.start)?;
                self.expect(kw!("from"))?;
                let source = self.expr()?;
                self.system_call("extract", &[field, source], at)?
            }
            "position" => {
                let wanted = self.climb(MATCHING + 1, false)?;
                self.expect(kw!("in"))?;
                let text = self.climb(MATCHING + 1, false)?;
                self.system_call("position", &[text, wanted], at)?
            }
            "substring" => self.substring(at)?,
            "trim" => self.trim(at)?,
            _ => self.overlay(at)?,
        };
        self.expect_kind(TokenKind::ParenClose)?;
        Ok(Some(expr))
    }

    fn substring(&mut self, at: u32) -> Result<Expr<'a>> {
        let mut arguments = vec![self.expr()?];
        if self.eat(kw!("from"))? {
            arguments.push(self.expr()?);
            if self.eat(kw!("for"))? {
                arguments.push(self.expr()?);
            }
        } else if self.eat(kw!("for"))? {
            let length = self.expr()?;
            arguments.push(self.make(ExprKind::Number("1"), at)?);
            arguments.push(length);
        } else if self.is(kw!("similar"))? {
            return Err(self.unsupported("SUBSTRING … SIMILAR", at));
        } else {
            while self.eat_kind(TokenKind::Comma)? {
                arguments.push(self.expr()?);
            }
            // The ordinary call finds the function by the search path.
            let name = Name { text: "substring", at };
            return self.call_of(self.bump.alloc_slice_copy(&[name]), &arguments, at);
        }
        self.system_call("substring", &arguments, at)
    }

    fn trim(&mut self, at: u32) -> Result<Expr<'a>> {
        let function = if self.eat(kw!("leading"))? {
            "ltrim"
        } else if self.eat(kw!("trailing"))? {
            "rtrim"
        } else {
            self.eat(kw!("both"))?;
            "btrim"
        };
        let mut arguments = Vec::new();
        if self.eat(kw!("from"))? {
            arguments.push(self.expr()?);
        } else {
            let first = self.expr()?;
            if self.eat(kw!("from"))? {
                arguments.push(self.expr()?);
                arguments.push(first);
            } else {
                arguments.push(first);
            }
        }
        while self.eat_kind(TokenKind::Comma)? {
            arguments.push(self.expr()?);
        }
        self.system_call(function, &arguments, at)
    }

    fn overlay(&mut self, at: u32) -> Result<Expr<'a>> {
        let mut arguments = vec![self.expr()?];
        self.expect(kw!("placing"))?;
        arguments.push(self.expr()?);
        self.expect(kw!("from"))?;
        arguments.push(self.expr()?);
        if self.eat(kw!("for"))? {
            arguments.push(self.expr()?);
        }
        self.system_call("overlay", &arguments, at)
    }

    fn special(&mut self, special: Special, at: u32) -> Result<Expr<'a>> {
        self.next()?;
        // It is a function too.
        if matches!(special, Special::CurrentSchema) && self.eat_kind(TokenKind::ParenOpen)? {
            self.expect_kind(TokenKind::ParenClose)?;
        }
        let takes_precision = matches!(
            special,
            Special::CurrentTime | Special::CurrentTimestamp | Special::LocalTime | Special::LocalTimestamp
        );
        let mut precision = None;
        if takes_precision && self.eat_kind(TokenKind::ParenOpen)? {
            precision = Some(self.integer()?);
            self.expect_kind(TokenKind::ParenClose)?;
        }
        // The one of these that is a function's name too.
        if special == Special::CurrentSchema && self.eat_kind(TokenKind::ParenOpen)? {
            self.expect_kind(TokenKind::ParenClose)?;
        }
        self.make(ExprKind::Special(special, precision), at)
    }

    fn case(&mut self, at: u32) -> Result<Expr<'a>> {
        self.next()?;
        let operand = if self.is(kw!("when"))? { None } else { Some(self.expr_ref()?) };
        let mut branches = Vec::new();
        while self.eat(kw!("when"))? {
            let condition = self.expr()?;
            self.expect(kw!("then"))?;
            branches.push((condition, self.expr()?));
        }
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.eat(kw!("else"))? { Some(self.expr_ref()?) } else { None };
        self.expect(kw!("end"))?;
        let branches = self.keep_all(&branches);
        self.make(ExprKind::Case { operand, branches, otherwise }, at)
    }

    /// `ARRAY[…]`, `ARRAY(SELECT …)`
    fn array(&mut self, at: u32) -> Result<Expr<'a>> {
        self.next()?;
        if self.is_kind(TokenKind::ParenOpen)? {
            let query = self.query_in_parentheses()?;
            return self.make(ExprKind::ArrayQuery(query), at);
        }
        if !self.is_kind(TokenKind::BracketOpen)? {
            return Err(self.unexpected());
        }
        self.array_items(at)
    }

    fn array_items(&mut self, at: u32) -> Result<Expr<'a>> {
        self.descend()?;
        self.expect_kind(TokenKind::BracketOpen)?;
        let mut items = Vec::new();
        if !self.is_kind(TokenKind::BracketClose)? {
            loop {
                let item_at = self.at()?;
                items.push(if self.is_kind(TokenKind::BracketOpen)? {
                    self.array_items(item_at)?
                } else {
                    self.expr()?
                });
                if !self.eat_kind(TokenKind::Comma)? {
                    break;
                }
            }
        }
        self.expect_kind(TokenKind::BracketClose)?;
        self.ascend();
        let items = self.keep_all(&items);
        self.make(ExprKind::Array(items), at)
    }

    /// A column, a call, or a typed constant, from its first name on.
    fn name_or_call(&mut self, tok: Tok) -> Result<Expr<'a>> {
        let at = tok.token.start;
        self.next()?;
        let mut names = vec![self.name_of(tok)];
        while self.eat_kind(TokenKind::Dot)? {
            if self.is_operator("*")? {
                self.next()?;
                let path = self.keep_all(&names);
                return self.make(ExprKind::WholeRow(path), at);
            }
            names.push(self.label()?);
        }
        let path: Path<'a> = self.keep_all(&names);
        let next = self.peek()?.token;
        match next.kind {
            TokenKind::ParenOpen if names.len() > 1 || Self::may_be_name(tok, is_function_name) => self.call(path, at),
            kind if kind.is_string() && (names.len() > 1 || Self::may_be_name(tok, is_function_name)) => {
                let text_at = self.at()?;
                let text = self.string()?;
                let target = TypeName { path, builtin: false, modifiers: &[], dimensions: 0, at };
                self.typed(target, text, text_at, at)
            }
            _ if names.len() == 1 && !Self::may_be_name(tok, is_column_name) => Err(self.unexpected()),
            _ => self.make(ExprKind::Column(path), at),
        }
    }

    /// The arguments of a call, and what may follow them.
    pub(super) fn call(&mut self, path: Path<'a>, at: u32) -> Result<Expr<'a>> {
        self.expect_kind(TokenKind::ParenOpen)?;
        let mut call = Call {
            path,
            arguments: &[],
            star: false,
            distinct: false,
            order_by: &[],
            within_group: &[],
            filter: None,
            over: None,
            variadic: false,
        };
        if self.is_operator("*")? {
            self.next()?;
            call.star = true;
        } else if !self.is_kind(TokenKind::ParenClose)? {
            if self.eat(kw!("distinct"))? {
                call.distinct = true;
            } else {
                self.eat(kw!("all"))?;
            }
            let mut arguments = Vec::new();
            loop {
                call.variadic = self.eat(kw!("variadic"))?;
                arguments.push(self.argument()?);
                if call.variadic || !self.eat_kind(TokenKind::Comma)? {
                    break;
                }
            }
            call.arguments = self.keep_all(&arguments);
            if self.is(kw!("order"))? {
                call.order_by = self.order_by()?;
            }
        }
        self.expect_kind(TokenKind::ParenClose)?;
        if self.is(kw!("within"))? && self.is_at(1, kw!("group"))? {
            let within = self.at()?;
            let refused = match () {
                () if !call.order_by.is_empty() => Some("cannot use multiple ORDER BY clauses with WITHIN GROUP"),
                () if call.distinct => Some("cannot use DISTINCT with WITHIN GROUP"),
                () if call.variadic => Some("cannot use VARIADIC with WITHIN GROUP"),
                () => None,
            };
            if let Some(message) = refused {
                let position = crate::lexer::position(self.text(), within as usize);
                return Err(base::Error::statement(base::sqlstate::SYNTAX_ERROR, message).at(position));
            }
            self.next()?;
            self.next()?;
            self.expect_kind(TokenKind::ParenOpen)?;
            call.within_group = self.order_by()?;
            self.expect_kind(TokenKind::ParenClose)?;
        }
        if self.is(kw!("filter"))? && self.peek_at(1)?.token.kind == TokenKind::ParenOpen {
            self.next()?;
            self.next()?;
            self.expect(kw!("where"))?;
            call.filter = Some(self.expr_ref()?);
            self.expect_kind(TokenKind::ParenClose)?;
        }
        if self.eat(kw!("over"))? {
            call.over = Some(self.over()?);
        }
        let call = self.bump.alloc(call);
        self.make(ExprKind::Call(call), at)
    }

    fn argument(&mut self) -> Result<Argument<'a>> {
        let tok = self.peek()?;
        if Self::may_be_name(tok, |_| true)
            && matches!(self.peek_at(1)?.token.kind, TokenKind::EqualsGreater | TokenKind::ColonEquals)
        {
            self.next()?;
            self.next()?;
            return Ok(Argument { name: Some(self.name_of(tok)), value: self.expr()? });
        }
        Ok(Argument { name: None, value: self.expr()? })
    }

    /// A call of a function of `pg_catalog` that the grammar makes.
    /// `(a, b) OVERLAPS (c, d)`, whose left side has been read.
    fn overlaps(&mut self, left: Expr<'a>, at: u32) -> Result<Expr<'a>> {
        self.next()?;
        let start = self.at()?;
        let right = match self.is(kw!("row"))? {
            true => {
                let tok = self.peek()?;
                self.keyword_primary(tok)?
            }
            false => self.parenthesis(start)?,
        };
        let (ExprKind::Row(left), ExprKind::Row(right)) = (left.kind, right.kind) else {
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, "syntax error at or near \"overlaps\"")
                .at(crate::lexer::position(self.text(), at as usize)));
        };
        for (side, items) in [("left", left), ("right", right)] {
            if items.len() != 2 {
                let message = format!("wrong number of parameters on {side} side of OVERLAPS expression");
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, message)
                    .at(crate::lexer::position(self.text(), at as usize)));
            }
        }
        self.system_call("overlaps", &[left, right].concat(), at)
    }

    fn system_call(&mut self, function: &'static str, arguments: &[Expr<'a>], at: u32) -> Result<Expr<'a>> {
        let path = self.bump.alloc_slice_copy(&[Name { text: "pg_catalog", at }, Name { text: function, at }]);
        self.call_of(path, arguments, at)
    }

    fn call_of(&mut self, path: Path<'a>, arguments: &[Expr<'a>], at: u32) -> Result<Expr<'a>> {
        let arguments: Vec<_> = arguments.iter().map(|&value| Argument { name: None, value }).collect();
        let call = self.bump.alloc(Call {
            path,
            arguments: self.keep_all(&arguments),
            star: false,
            distinct: false,
            order_by: &[],
            within_group: &[],
            filter: None,
            over: None,
            variadic: false,
        });
        self.make(ExprKind::Call(call), at)
    }

    /// A call, or one of the functions without parentheses, as it stands in `FROM`.
    pub(super) fn table_function(&mut self) -> Result<Expr<'a>> {
        let tok = self.peek()?;
        if let Some(special) = special_of(tok) {
            return self.special(special, tok.token.start);
        }
        let expr = self.primary()?;
        match expr.kind {
            ExprKind::Call(_) | ExprKind::Cast { .. } | ExprKind::Coalesce(_) => Ok(expr),
            _ => Err(self.unexpected()),
        }
    }
}

fn special_of(tok: Tok) -> Option<Special> {
    Some(match tok.keyword?.row().word {
        "current_date" => Special::CurrentDate,
        "current_time" => Special::CurrentTime,
        "current_timestamp" => Special::CurrentTimestamp,
        "localtime" => Special::LocalTime,
        "localtimestamp" => Special::LocalTimestamp,
        "current_role" => Special::CurrentRole,
        "current_user" => Special::CurrentUser,
        "session_user" => Special::SessionUser,
        "user" => Special::User,
        "current_catalog" => Special::CurrentCatalog,
        "current_schema" => Special::CurrentSchema,
        _ => return None,
    })
}

fn operator_name(text: &str) -> &str {
    if text == "!=" { "<>" } else { text }
}

fn level_of(operator: &str) -> u8 {
    match operator {
        "<" | ">" | "=" | "<=" | ">=" | "<>" => COMPARISON,
        "+" | "-" => SUM,
        "*" | "/" | "%" => PRODUCT,
        "^" => POWER,
        _ => OPERATOR,
    }
}

fn highest<'a>(exprs: impl IntoIterator<Item = &'a Expr<'a>>) -> u32 {
    exprs.into_iter().map(|expr| expr.height).max().unwrap_or(0)
}

/// The height of the highest child of a node.
fn height_below(kind: &ExprKind<'_>) -> u32 {
    match *kind {
        ExprKind::Null
        | ExprKind::Bool(_)
        | ExprKind::Number(_)
        | ExprKind::String(_)
        | ExprKind::Parameter(_)
        | ExprKind::Column(_)
        | ExprKind::WholeRow(_)
        | ExprKind::Special(..)
        | ExprKind::Default => 0,
        ExprKind::Unary { operand, .. }
        | ExprKind::Not(operand)
        | ExprKind::IsNull { operand, .. }
        | ExprKind::IsTruth { operand, .. }
        | ExprKind::Cast { operand, .. }
        | ExprKind::Field(operand, _)
        | ExprKind::Collate(operand, _) => operand.height,
        ExprKind::Binary { left, right, .. }
        | ExprKind::IsDistinct { left, right, .. }
        | ExprKind::Quantified { left, right, .. }
        | ExprKind::NullIf(left, right) => left.height.max(right.height),
        ExprKind::Subscript(operand, subscripts) => {
            operand.height.max(highest(subscripts.iter().flat_map(Subscript::exprs)))
        }
        ExprKind::Between { operand, low, high, .. } => highest([operand, low, high]),
        ExprKind::In { operand, list, .. } => operand.height.max(highest(list)),
        ExprKind::Like { operand, pattern, escape, .. } => {
            operand.height.max(pattern.height).max(escape.map_or(0, |escape| escape.height))
        }
        ExprKind::Case { operand, branches, otherwise } => branches
            .iter()
            .flat_map(|(condition, result)| [condition.height, result.height])
            .chain([operand.map_or(0, |expr| expr.height), otherwise.map_or(0, |expr| expr.height)])
            .max()
            .unwrap_or(0),
        ExprKind::Call(call) => highest(
            call.arguments
                .iter()
                .map(|argument| &argument.value)
                .chain(call.order_by.iter().map(|item| &item.expr))
                .chain(call.filter)
                .chain(over_exprs(call)),
        ),
        ExprKind::And(items)
        | ExprKind::Or(items)
        | ExprKind::Coalesce(items)
        | ExprKind::Greatest(items)
        | ExprKind::Least(items)
        | ExprKind::Array(items)
        | ExprKind::Row(items) => highest(items),
        ExprKind::Exists(query) | ExprKind::Subquery(query) | ExprKind::ArrayQuery(query) => query.height,
    }
}

/// The expressions of the window that a call describes.
fn over_exprs<'a>(call: &Call<'a>) -> impl Iterator<Item = &'a Expr<'a>> {
    let window = match call.over {
        Some(Over::Window(window)) => Some(window),
        _ => None,
    };
    let bound = |bound| match bound {
        FrameBound::Preceding(expr) | FrameBound::Following(expr) => Some(expr),
        _ => None,
    };
    window.into_iter().flat_map(move |window| {
        let bounds =
            window.frame.into_iter().flat_map(move |frame| bound(frame.start).into_iter().chain(bound(frame.end)));
        window.partition_by.iter().chain(window.order_by.iter().map(|item| &item.expr)).chain(bounds)
    })
}

impl Parser<'_, '_> {
    /// Notes the height of a node; `54001` if it is too much.
    pub(super) fn note_height(&mut self, height: u32) -> Result<()> {
        if height > DEPTH_MAX {
            return Err(too_complex());
        }
        self.tallest = self.tallest.max(height);
        Ok(())
    }
}
