//! From the text of an expression to its tree.
//!
//! ```text
//!   loosest    OR
//!              AND
//!              NOT                             in front of its operand
//!              IS, ISNULL, NOTNULL
//!              < <= > >= = <> !=               do not chain
//!              | # & << >>  and ~ in front
//!              + -
//!              * / %
//!   tightest   + - in front
//! ```
//!
//! All operators of two operands group from the left. `~` binds looser than `+`, as it does in pgbench: `~1 + 2` is `~(1 + 2)`.
//!
//! The parser climbs these levels: [`Parser::expression`] reads an operand, then as long as the next operator is not
//! looser than its caller's, that operator and its right side. It follows at most [`DEPTH`] levels of nesting and makes at
//! most [`SIZE`] nodes, so that no text overflows the stack of whoever reads, runs or drops the tree.

use super::expression::{Expression, FUNCTIONS, Function};
use super::frame::{DEFAULT_SEED, Names};
use super::source::Source;
use super::value::Scalar;
use base::{Error, Result};

const IS_WHAT: &str = "Behind IS stands NULL, TRUE or FALSE, perhaps with NOT in front.";

/// How deep parentheses, cases and operators in front may be nested.
const DEPTH: usize = 100;
/// How many operators and functions an expression may have.
const SIZE: usize = 500;

const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARISON: u8 = 5;
const BITWISE: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const SIGN: u8 = 9;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Token<'a> {
    End,
    Symbol(&'a str),
    /// A keyword in capitals.
    Keyword(&'static str),
    Name(&'a str),
    Variable(&'a str),
    Number(Scalar),
    /// 2 to the power of 63, which is a number only behind a minus.
    TooLargeByOne,
}

const KEYWORDS: &[&str] =
    &["AND", "CASE", "ELSE", "END", "FALSE", "IS", "ISNULL", "NOT", "NOTNULL", "NULL", "OR", "THEN", "TRUE", "WHEN"];

/// The binary operators: what is written, its function, its level, whether the operands change places.
const OPERATORS: &[(&str, Function, u8, bool)] = &[
    ("<<", Function::ShiftLeft, BITWISE, false),
    (">>", Function::ShiftRight, BITWISE, false),
    ("<=", Function::LessOrEqual, COMPARISON, false),
    (">=", Function::LessOrEqual, COMPARISON, true),
    ("<>", Function::NotEqual, COMPARISON, false),
    ("!=", Function::NotEqual, COMPARISON, false),
    ("<", Function::Less, COMPARISON, false),
    (">", Function::Less, COMPARISON, true),
    ("=", Function::Equal, COMPARISON, false),
    ("|", Function::BitOr, BITWISE, false),
    ("#", Function::BitXor, BITWISE, false),
    ("&", Function::BitAnd, BITWISE, false),
    ("+", Function::Add, SUM, false),
    ("-", Function::Subtract, SUM, false),
    ("*", Function::Multiply, PRODUCT, false),
    ("/", Function::Divide, PRODUCT, false),
    ("%", Function::Modulo, PRODUCT, false),
];

/// Reads the expression between two bytes of a source, all of it.
///
/// # Errors
/// What is wrong, where, and if possible what would be right.
pub fn parse(source: Source<'_>, begin: usize, end: usize, names: &mut Names) -> Result<Expression> {
    let mut parser = Parser { source, end, next: begin, at: begin, token: Token::End, depth: 0, size: 0, names };
    parser.advance()?;
    let expression = parser.expression(0)?;
    match parser.token {
        Token::End => Ok(expression),
        _ => Err(parser.unexpected()),
    }
}

struct Parser<'a, 'n> {
    source: Source<'a>,
    end: usize,
    /// Where the token behind the current one is looked for.
    next: usize,
    /// Where the current token begins.
    at: usize,
    token: Token<'a>,
    depth: usize,
    size: usize,
    names: &'n mut Names,
}

impl<'a> Parser<'a, '_> {
    /// Reads an expression whose operators bind at least as tightly as this.
    fn expression(&mut self, least: u8) -> Result<Expression> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.source.error(self.at, &format!("an expression is nested more than {DEPTH} levels deep")));
        }
        let mut left = self.operand()?;
        let mut compared = false;
        loop {
            if let Some((function, level, swapped)) = self.operator() {
                if level < least {
                    break;
                }
                if level == COMPARISON && std::mem::replace(&mut compared, true) {
                    return Err(self.unexpected().hint("Comparisons do not chain: combine two of them with AND."));
                }
                self.advance()?;
                let right = self.expression(level + 1)?;
                left = self.call(function, if swapped { vec![right, left] } else { vec![left, right] })?;
            } else if let Token::Keyword(word @ ("IS" | "ISNULL" | "NOTNULL")) = self.token {
                if IS < least {
                    break;
                }
                self.advance()?;
                let (constant, negated) = match word {
                    "IS" => {
                        let negated = self.keyword("NOT")?;
                        if let Token::Number(_) = self.token {
                            return Err(self.unexpected().hint(IS_WHAT));
                        }
                        (self.constant()?, negated)
                    }
                    word => (Scalar::Null, word == "NOTNULL"),
                };
                left = self.call(Function::Is, vec![left, Expression::Constant(constant)])?;
                if negated {
                    left = self.call(Function::Not, vec![left])?;
                }
            } else {
                break;
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    /// The binary operator that comes next.
    fn operator(&self) -> Option<(Function, u8, bool)> {
        match self.token {
            Token::Keyword("AND") => Some((Function::And, AND, false)),
            Token::Keyword("OR") => Some((Function::Or, OR, false)),
            Token::Symbol(symbol) => OPERATORS.iter().find(|row| row.0 == symbol).map(|row| (row.1, row.2, row.3)),
            _ => None,
        }
    }

    fn operand(&mut self) -> Result<Expression> {
        let (token, at) = (self.token, self.at);
        match token {
            Token::Number(_) | Token::Keyword("NULL" | "TRUE" | "FALSE") => Ok(Expression::Constant(self.constant()?)),
            Token::Variable(name) => {
                self.advance()?;
                Ok(Expression::Variable(self.names.slot(name)))
            }
            Token::Symbol("(") => {
                self.advance()?;
                let inner = self.expression(0)?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Symbol("+") => {
                self.advance()?;
                self.expression(SIGN)
            }
            Token::Symbol("-") => {
                self.advance()?;
                if self.token == Token::TooLargeByOne {
                    self.advance()?;
                    return Ok(Expression::Constant(Scalar::Integer(i64::MIN)));
                }
                let operand = self.expression(SIGN)?;
                self.call(Function::Subtract, vec![Expression::Constant(Scalar::Integer(0)), operand])
            }
            Token::Symbol("~") => {
                self.advance()?;
                let operand = self.expression(BITWISE + 1)?;
                self.call(Function::BitXor, vec![Expression::Constant(Scalar::Integer(-1)), operand])
            }
            Token::Keyword("NOT") => {
                self.advance()?;
                let operand = self.expression(NOT)?;
                self.call(Function::Not, vec![operand])
            }
            Token::Keyword("CASE") => self.case(),
            Token::Name(name) => {
                self.advance()?;
                self.function(name, at)
            }
            Token::End => Err(self.source.error(at, "an operand is missing")),
            _ => Err(self.unexpected()),
        }
    }

    /// A number, a boolean or null.
    fn constant(&mut self) -> Result<Scalar> {
        let value = match self.token {
            Token::Number(value) => value,
            Token::Keyword("NULL") => Scalar::Null,
            Token::Keyword("TRUE") => Scalar::Boolean(true),
            Token::Keyword("FALSE") => Scalar::Boolean(false),
            _ => return Err(self.unexpected().hint(IS_WHAT)),
        };
        self.advance()?;
        Ok(value)
    }

    /// `CASE WHEN … THEN … ELSE … END`, from its first word on.
    fn case(&mut self) -> Result<Expression> {
        self.advance()?;
        let mut branches = Vec::new();
        while self.keyword("WHEN")? {
            let condition = self.expression(0)?;
            self.expect_keyword("THEN")?;
            branches.push((condition, self.expression(0)?));
            self.count()?;
        }
        if branches.is_empty() {
            return Err(self.unexpected().hint("Behind CASE stands WHEN condition THEN result."));
        }
        let otherwise = match self.keyword("ELSE")? {
            true => self.expression(0)?,
            false => Expression::Constant(Scalar::Null),
        };
        self.expect_keyword("END")?;
        Ok(Expression::Case(branches.into(), Box::new(otherwise)))
    }

    /// A function, from behind its name on.
    fn function(&mut self, name: &str, at: usize) -> Result<Expression> {
        let known = FUNCTIONS.iter().find(|row| row.0.eq_ignore_ascii_case(name));
        let Some(&(name, function, least, most)) = known else {
            let names: Vec<&str> = FUNCTIONS.iter().map(|row| row.0).collect();
            let message = format!("unknown function \"{name}\"");
            return Err(self
                .source
                .error(at, &message)
                .hint(format!("Functions are {}. A variable is written with a colon in front.", names.join(", "))));
        };
        self.expect("(")?;
        let mut arguments = Vec::new();
        if self.token != Token::Symbol(")") {
            loop {
                arguments.push(self.expression(0)?);
                if self.token != Token::Symbol(",") {
                    break;
                }
                self.advance()?;
            }
        }
        let end = self.at;
        self.expect(")")?;
        if arguments.len() < least || arguments.len() > most {
            let wanted = match (least, most) {
                (_, usize::MAX) => "at least one argument".to_string(),
                (1, 1) => "one argument".to_string(),
                (least, most) if least == most => format!("{least} arguments"),
                (least, most) => format!("{least} or {most} arguments"),
            };
            return Err(self.source.error(end, &format!("{name}() takes {wanted}, not {}", arguments.len())));
        }
        if most != usize::MAX && arguments.len() < most {
            arguments.push(Expression::Variable(DEFAULT_SEED));
        }
        self.call(function, arguments)
    }

    fn call(&mut self, function: Function, arguments: Vec<Expression>) -> Result<Expression> {
        self.count()?;
        Ok(Expression::Call(function, arguments.into()))
    }

    fn count(&mut self) -> Result<()> {
        self.size += 1;
        if self.size > SIZE {
            let message = format!("an expression has more than {SIZE} operators and functions");
            return Err(self.source.error(self.at, &message).hint("Use several \\set."));
        }
        Ok(())
    }

    /// Whether this keyword comes next; it is passed over then.
    fn keyword(&mut self, word: &'static str) -> Result<bool> {
        let there = self.token == Token::Keyword(word);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn expect_keyword(&mut self, word: &'static str) -> Result<()> {
        if self.keyword(word)? { Ok(()) } else { Err(self.missing(word)) }
    }

    fn expect(&mut self, symbol: &'static str) -> Result<()> {
        if self.token == Token::Symbol(symbol) { self.advance() } else { Err(self.missing(symbol)) }
    }

    fn missing(&self, what: &str) -> Error {
        self.source.error(self.at, &format!("{what} is missing here"))
    }

    fn unexpected(&self) -> Error {
        if self.token == Token::End {
            return self.source.error(self.at, "the expression ends too early");
        }
        if self.token == Token::TooLargeByOne {
            return self.source.error(self.at, "bigint constant is out of range");
        }
        let text = self.source.text[self.at..self.next].trim();
        self.source.error(self.at, &format!("unexpected \"{text}\""))
    }

    /// Goes to the next token.
    fn advance(&mut self) -> Result<()> {
        let text = &self.source.text[..self.end];
        self.at = skip_blank(text, self.next);
        let rest = &text[self.at..];
        let length = |accept: fn(char) -> bool| rest.find(|character| !accept(character)).unwrap_or(rest.len());
        let Some(first) = rest.chars().next() else {
            self.token = Token::End;
            // Behind what was read last, not behind blanks.
            self.at = self.next;
            return Ok(());
        };
        let (token, size) = match first {
            ':' => {
                let size = 1 + rest[1..].find(|character| !is_word(character)).unwrap_or(rest.len() - 1);
                if size == 1 {
                    return Err(self.source.error(self.at, "a variable's name is missing behind the colon"));
                }
                (Token::Variable(&rest[1..size]), size)
            }
            '0'..='9' | '.' => self.number(rest)?,
            _ if is_word(first) => {
                let size = length(is_word);
                let word = &rest[..size];
                let keyword = KEYWORDS.iter().find(|keyword| keyword.eq_ignore_ascii_case(word));
                (keyword.map_or(Token::Name(word), |keyword| Token::Keyword(keyword)), size)
            }
            _ => {
                let operators = OPERATORS.iter().map(|row| row.0);
                let symbol = operators.chain(["(", ")", ",", "~"]).find(|symbol| rest.starts_with(symbol));
                let Some(symbol) = symbol else {
                    let error = self.source.error(self.at, &format!("unexpected character \"{first}\""));
                    return Err(match first {
                        '\'' | '"' => error.hint("Variables hold numbers and booleans; texts stand in statements."),
                        ';' => error.hint("A line that begins with a backslash ends without a semicolon."),
                        _ => error,
                    });
                };
                (Token::Symbol(symbol), symbol.len())
            }
        };
        self.token = token;
        self.next = self.at + size;
        Ok(())
    }

    /// The number that the text begins with, and its length.
    fn number(&self, rest: &'a str) -> Result<(Token<'a>, usize)> {
        let bytes = rest.as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = digits(0);
        let mut size = whole;
        if bytes.get(size) == Some(&b'.') {
            size += 1 + digits(size + 1);
            if size == 1 {
                return Err(self.source.error(self.at, "unexpected character \".\""));
            }
        }
        if let Some(b'e' | b'E') = bytes.get(size) {
            let sign = usize::from(matches!(bytes.get(size + 1), Some(b'+' | b'-')));
            let exponent = digits((size + 1 + sign).min(bytes.len()));
            if exponent > 0 {
                size += 1 + sign + exponent;
            }
        }
        let text = &rest[..size];
        if size > whole {
            // The parts above make this a number for the standard library too, perhaps an infinite one.
            return match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok((Token::Number(Scalar::Double(number)), size)),
                _ => Err(self.source.error(self.at, "double constant is out of range")),
            };
        }
        match text.parse() {
            Ok(number) => Ok((Token::Number(Scalar::Integer(number)), size)),
            Err(_) if text == "9223372036854775808" => Ok((Token::TooLargeByOne, size)),
            Err(_) => Err(self.source.error(self.at, "bigint constant is out of range")),
        }
    }
}

/// Letters, digits, underscores; what is not ASCII is a letter.
pub(super) fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || !character.is_ascii()
}

/// Passes over blanks, and over a backslash at a line's end together with that end.
pub(super) fn skip_blank(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text.as_bytes()[at..];
        match rest {
            [b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c', ..] => at += 1,
            [b'\\', b'\n', ..] => at += 2,
            [b'\\', b'\r', b'\n', ..] => at += 3,
            _ => return at,
        }
    }
}
