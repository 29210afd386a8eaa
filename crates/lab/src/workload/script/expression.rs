//! Expressions of `\set`, `\if` and `\elif`: a tree that is walked, over values that are copied.
//!
//! ```text
//!   \set aid random(1, 100000 * :scale)
//!
//!   Call(Random, [Constant(1), Call(Multiply, [Constant(100000), Variable(scale)])])
//! ```
//!
//! Rules, all of them pgbench's
//! 1. Arithmetic and comparison are of integers unless one side is a double. Integers that overflow are an error; `/` and
//!    `%` go towards zero; `%` is of integers only. Shifts count modulo 64.
//! 2. An argument that is null makes the result null, but for `IS`, `debug` and `CASE`, and on the right side of an `AND` or
//!    `OR` that the left side has decided.
//! 3. `AND`, `OR` and `CASE` compute only what they need; everything else computes all arguments from left to right.
//! 4. Nothing is allocated, except by a text that an expression has to read.

use super::frame::{Frame, Slot};
use super::value::Scalar;
use super::{hash, random};
use crate::error;
use base::{Result, sqlstate};

/// A tree of operations.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// A number, a boolean, null.
    Constant(Scalar),
    /// What a variable holds.
    Variable(Slot),
    /// An operator or a function with its arguments; their number has been checked.
    Call(Function, Box<[Expression]>),
    /// `CASE`: conditions with results, and what holds where none is true.
    Case(Box<[(Expression, Expression)]>, Box<Expression>),
}

/// Operators and functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is called what it is called in scripts")]
pub enum Function {
    And,
    Or,
    Not,
    Is,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// What functions are called, and with how many arguments; where there is a second number, that many are allowed too, and
/// the last of them is `default_seed` if it is left out.
pub const FUNCTIONS: &[(&str, Function, usize, usize)] = &[
    ("abs", Function::Abs, 1, 1),
    ("debug", Function::Debug, 1, 1),
    ("double", Function::Double, 1, 1),
    ("exp", Function::Exp, 1, 1),
    ("greatest", Function::Greatest, 1, usize::MAX),
    ("hash", Function::HashMurmur2, 1, 2),
    ("hash_fnv1a", Function::HashFnv1a, 1, 2),
    ("hash_murmur2", Function::HashMurmur2, 1, 2),
    ("int", Function::Int, 1, 1),
    ("least", Function::Least, 1, usize::MAX),
    ("ln", Function::Ln, 1, 1),
    ("mod", Function::Modulo, 2, 2),
    ("permute", Function::Permute, 2, 3),
    ("pi", Function::Pi, 0, 0),
    ("pow", Function::Power, 2, 2),
    ("power", Function::Power, 2, 2),
    ("random", Function::Random, 2, 2),
    ("random_exponential", Function::RandomExponential, 3, 3),
    ("random_gaussian", Function::RandomGaussian, 3, 3),
    ("random_zipfian", Function::RandomZipfian, 3, 3),
    ("sqrt", Function::Sqrt, 1, 1),
];

impl Expression {
    /// Computes the value.
    ///
    /// # Errors
    /// A variable that holds nothing, a value of the wrong kind, overflow, division by zero, an argument out of its range.
    pub fn evaluate(&self, frame: &mut Frame) -> Result<Scalar> {
        match self {
            Expression::Constant(value) => Ok(*value),
            Expression::Variable(slot) => match frame.value(*slot) {
                Some(value) => value.scalar(),
                None => Err(undefined(frame.name(*slot))),
            },
            Expression::Call(function, arguments) => function.call(arguments, frame),
            Expression::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    if condition.evaluate(frame)?.truth() {
                        return result.evaluate(frame);
                    }
                }
                otherwise.evaluate(frame)
            }
        }
    }
}

impl Function {
    fn call(self, arguments: &[Expression], frame: &mut Frame) -> Result<Scalar> {
        match *arguments {
            [ref left, ref right] => {
                if matches!(self, Function::And | Function::Or) {
                    return self.logical(left, right, frame);
                }
                let (left, right) = (left.evaluate(frame)?, right.evaluate(frame)?);
                if self == Function::Is {
                    return Ok(Scalar::Boolean(left == right));
                }
                if left == Scalar::Null || right == Scalar::Null {
                    return Ok(Scalar::Null);
                }
                self.binary(left, right, frame)
            }
            [ref only] => {
                let value = only.evaluate(frame)?;
                if value == Scalar::Null && self != Function::Debug {
                    return Ok(Scalar::Null);
                }
                self.unary(value)
            }
            [ref first, ref second, ref third] => {
                let values = [first.evaluate(frame)?, second.evaluate(frame)?, third.evaluate(frame)?];
                if values.contains(&Scalar::Null) {
                    return Ok(Scalar::Null);
                }
                self.ternary(values, frame)
            }
            [] => Ok(Scalar::Double(std::f64::consts::PI)),
            ref many => {
                let mut extreme = many[0].evaluate(frame)?;
                for other in &many[1..] {
                    let other = other.evaluate(frame)?;
                    extreme = match extreme == Scalar::Null || other == Scalar::Null {
                        true => Scalar::Null,
                        false => self.extreme(extreme, other)?,
                    };
                }
                Ok(extreme)
            }
        }
    }

    /// `AND` and `OR`. Unlike in SQL, null on the left side makes the result null whatever is on the right.
    fn logical(self, left: &Expression, right: &Expression, frame: &mut Frame) -> Result<Scalar> {
        let decides = self == Function::Or;
        let left = left.evaluate(frame)?;
        if left == Scalar::Null || left.boolean()? == decides {
            return Ok(left);
        }
        match right.evaluate(frame)? {
            Scalar::Null => Ok(Scalar::Null),
            right => Ok(Scalar::Boolean(right.boolean()?)),
        }
    }

    fn unary(self, value: Scalar) -> Result<Scalar> {
        Ok(match self {
            Function::Not => Scalar::Boolean(!value.boolean()?),
            Function::Abs => match value {
                Scalar::Double(number) => Scalar::Double(number.abs()),
                other => Scalar::Integer(other.integer()?.wrapping_abs()),
            },
            Function::Debug => {
                debug(value);
                value
            }
            Function::Double => Scalar::Double(value.double()?),
            Function::Exp => Scalar::Double(value.double()?.exp()),
            Function::Int => Scalar::Integer(value.integer()?),
            Function::Ln => Scalar::Double(value.double()?.ln()),
            Function::Sqrt => Scalar::Double(value.double()?.sqrt()),
            Function::Least | Function::Greatest => match value {
                Scalar::Double(number) => Scalar::Double(number),
                other => Scalar::Integer(other.integer()?),
            },
            _ => unreachable!("{self:?} has other numbers of arguments"),
        })
    }

    fn binary(self, left: Scalar, right: Scalar, frame: &mut Frame) -> Result<Scalar> {
        use Function::*;
        let either_double = matches!(left, Scalar::Double(_)) || matches!(right, Scalar::Double(_));
        match self {
            Add | Subtract | Multiply | Divide | Equal | NotEqual | Less | LessOrEqual if either_double => {
                let (left, right) = (left.double()?, right.double()?);
                Ok(match self {
                    Add => Scalar::Double(left + right),
                    Subtract => Scalar::Double(left - right),
                    Multiply => Scalar::Double(left * right),
                    Divide => Scalar::Double(left / right),
                    Equal => Scalar::Boolean(left == right),
                    NotEqual => Scalar::Boolean(left != right),
                    Less => Scalar::Boolean(left < right),
                    _ => Scalar::Boolean(left <= right),
                })
            }
            Power => Ok(Scalar::Double(left.double()?.powf(right.double()?))),
            Least | Greatest => self.extreme(left, right),
            _ => {
                let (left, right) = (left.integer()?, right.integer()?);
                let number = match self {
                    Add => left.checked_add(right),
                    Subtract => left.checked_sub(right),
                    Multiply => left.checked_mul(right),
                    Divide | Modulo if right == 0 => {
                        return Err(base::Error::statement(sqlstate::DIVISION_BY_ZERO, "division by zero"));
                    }
                    Divide => left.checked_div(right),
                    Modulo => Some(left.wrapping_rem(right)),
                    BitAnd => Some(left & right),
                    BitOr => Some(left | right),
                    BitXor => Some(left ^ right),
                    ShiftLeft => Some(left.wrapping_shl(right as u32)),
                    ShiftRight => Some(left.wrapping_shr(right as u32)),
                    HashFnv1a => Some(hash::fnv1a(left, right)),
                    HashMurmur2 => Some(hash::murmur2(left, right)),
                    Random => {
                        check_range(left, right)?;
                        Some(random::uniform(&mut frame.rng, left, right))
                    }
                    Equal => return Ok(Scalar::Boolean(left == right)),
                    NotEqual => return Ok(Scalar::Boolean(left != right)),
                    Less => return Ok(Scalar::Boolean(left < right)),
                    LessOrEqual => return Ok(Scalar::Boolean(left <= right)),
                    _ => unreachable!("{self:?} has other numbers of arguments"),
                };
                number.map(Scalar::Integer).ok_or_else(|| self.overflow())
            }
        }
    }

    fn ternary(self, values: [Scalar; 3], frame: &mut Frame) -> Result<Scalar> {
        if matches!(self, Function::Least | Function::Greatest) {
            return self.extreme(self.extreme(values[0], values[1])?, values[2]);
        }
        let (low, high) = (values[0].integer()?, values[1].integer()?);
        if self == Function::Permute {
            let seed = values[2].integer()?;
            if high <= 0 {
                return Err(error::usage("permute size parameter must be greater than zero"));
            }
            return Ok(Scalar::Integer(hash::permute(low, high, seed)));
        }
        check_range(low, high)?;
        let parameter = values[2].double()?;
        let rng = &mut frame.rng;
        let number = match self {
            Function::RandomGaussian if parameter >= random::GAUSSIAN_LEAST => {
                random::gaussian(rng, low, high, parameter)
            }
            Function::RandomExponential if parameter > 0.0 => random::exponential(rng, low, high, parameter),
            Function::RandomZipfian if random::ZIPFIAN_RANGE.contains(&parameter) => {
                random::zipfian(rng, low, high, parameter)
            }
            _ => return Err(self.bad_parameter(parameter)),
        };
        Ok(Scalar::Integer(number))
    }

    /// The lesser or the greater; a double if one of them is.
    fn extreme(self, left: Scalar, right: Scalar) -> Result<Scalar> {
        let least = self == Function::Least;
        Ok(match (left, right) {
            (Scalar::Double(_), _) | (_, Scalar::Double(_)) => {
                let (left, right) = (left.double()?, right.double()?);
                Scalar::Double(if (left < right) == least { left } else { right })
            }
            _ => {
                let (left, right) = (left.integer()?, right.integer()?);
                Scalar::Integer(if least { left.min(right) } else { left.max(right) })
            }
        })
    }

    #[cold]
    fn overflow(self) -> base::Error {
        let name = match self {
            Function::Add => "add",
            Function::Subtract => "sub",
            Function::Multiply => "mul",
            _ => "div",
        };
        base::Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("bigint {name} out of range"))
    }

    #[cold]
    fn bad_parameter(self, parameter: f64) -> base::Error {
        error::usage(match self {
            Function::RandomGaussian => {
                format!("gaussian parameter must be at least {}, not {parameter}", random::GAUSSIAN_LEAST)
            }
            Function::RandomZipfian => format!(
                "zipfian parameter must be in range [{}, {}], not {parameter}",
                random::ZIPFIAN_RANGE.start(),
                random::ZIPFIAN_RANGE.end()
            ),
            _ => format!("exponential parameter must be greater than zero, not {parameter}"),
        })
    }
}

/// A range that is neither empty nor so wide that its width overflows.
fn check_range(low: i64, high: i64) -> Result<()> {
    if low > high {
        return Err(error::usage(format!("empty range given to random: {low} to {high}")));
    }
    match high.checked_sub(low).and_then(|width| width.checked_add(1)) {
        Some(_) => Ok(()),
        None => Err(error::usage(format!("random range is too large: {low} to {high}"))),
    }
}

#[cold]
fn undefined(name: &str) -> base::Error {
    error::usage(format!("undefined variable \"{name}\""))
        .hint("Give it a value with \\set before, or on the command line with -D NAME=VALUE.")
}

/// `debug()`: shows a value to the user, on the way through.
fn debug(value: Scalar) {
    match value {
        Scalar::Null => eprintln!("debug: null"),
        Scalar::Boolean(truth) => eprintln!("debug: boolean {truth}"),
        Scalar::Integer(number) => eprintln!("debug: int {number}"),
        Scalar::Double(number) => {
            let mut text = Vec::new();
            super::value::write_double(number, &mut text);
            eprintln!("debug: double {}", String::from_utf8_lossy(&text));
        }
    }
}
