//! Programs: expressions as opcodes for a stack of values.
//!
//! ```text
//!  u32 length of the code | code
//!  code: (u8 opcode, operands)*            operands are little-endian and unaligned
//! ```
//!
//! An expression pushes its value. Registers hold the columns of the current rows; a program reads them and, with
//! [`Step::Store`], sets them. Which register holds which column is settled when the plan is made.
//!
//! Rules
//! 1. The stack is as it was after [`Step::Store`] of everything that was pushed; a condition leaves one value.
//! 2. A jump goes forward only, so that every program ends.
//! 3. Types are settled when the plan is made; a value carries none.

use super::blob::{At, Builder};
use crate::types::op::{Comparison, Op};

macro_rules! steps {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A step of a program.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Step { $($(#[$doc])* $name,)* }

        impl Step {
            const ALL: &'static [Step] = &[$(Step::$name),*];

            /// The step of a byte.
            #[inline]
            pub fn from_byte(byte: u8) -> Option<Step> {
                Step::ALL.get(usize::from(byte)).copied()
            }
        }
    };
}

steps! {
    /// The program's end.
    End,
    /// Pushes null.
    Null,
    /// Pushes true.
    True,
    /// Pushes false.
    False,
    /// Pushes an integer: i64.
    Int,
    /// Pushes a floating-point number: f64.
    Float,
    /// Pushes bytes of the plan: u32 place, u32 length.
    Bytes,
    /// Pushes a register: u16.
    Register,
    /// Pushes a parameter: u16.
    Parameter,
    /// Pops a value into a register: u16.
    Store,
    /// Does an operation with arguments: u16 operation, u8 count.
    Call,
    /// The same for an operation that is null when an argument is.
    CallStrict,
    /// Asks the session, the catalog or the server: u16 operation, u8 count, u8 strict.
    CallExternal,
    /// `=` of two integers.
    IntEqual,
    /// `<>` of two integers.
    IntNotEqual,
    /// `<` of two integers.
    IntLess,
    /// `<=` of two integers.
    IntLessEqual,
    /// `>` of two integers.
    IntGreater,
    /// `>=` of two integers.
    IntGreaterEqual,
    /// `+` of two values of type `integer`.
    Int4Add,
    /// `-` of two values of type `integer`.
    Int4Subtract,
    /// `+` of two values of type `bigint`.
    Int8Add,
    /// `-` of two values of type `bigint`.
    Int8Subtract,
    /// `IS DISTINCT FROM` of two values of one kind: u8 kind.
    Distinct,
    /// `NOT`
    Not,
    /// `IS NULL`
    IsNull,
    /// `IS NOT NULL`
    IsNotNull,
    /// `IS TRUE`
    IsTrue,
    /// `IS NOT TRUE`
    IsNotTrue,
    /// `IS FALSE`
    IsFalse,
    /// `IS NOT FALSE`
    IsNotFalse,
    /// `AND` of the two topmost values; goes on at the place if that is false: u32.
    And,
    /// `OR` of the two topmost values; goes on at the place if that is true: u32.
    Or,
    /// Goes on at a place: u32.
    Jump,
    /// Pops a condition and goes on at a place unless it is true: u32.
    JumpUnless,
    /// Goes on at a place if the topmost value is not null, else pops it: u32.
    JumpIfValue,
    /// The greatest of so many values of one kind, nulls left out: u8 kind, u16 count.
    Greatest,
    /// The least of so many values of one kind, nulls left out: u8 kind, u16 count.
    Least,
    /// An array of so many values: u32 element type, u16 count.
    Array,
    /// An array of so many arrays, one dimension more: u32 element type, u16 count.
    ArrayOfArrays,
    /// `x op ANY (array)`: u16 operation.
    Any,
    /// `x op ALL (array)`: u16 operation.
    All,
    /// Casts a value: u8 method, u16 operation, u32 source type, u32 target type, i32 modifier, u8 explicit.
    Cast,
    /// The value of a subplan: u16.
    Subplan,
    /// An element of an array.
    Subscript,
    /// Copies the topmost value into a register and leaves it: u16.
    Keep,
    /// Removes the value below the topmost one.
    Nip,
    /// Pushes a register and goes on at a place, unless the register is null: u16, u32.
    Kept,
    /// Keeps the topmost value for the rest of the execution, in a register and with its bytes in a buffer: u16, u32.
    KeepConstant,
    /// Compares an integer of a register with that of another: u8 comparison, u16, u16.
    CompareRegister,
    /// Compares an integer of a register with that of a parameter: u8 comparison, u16, u16.
    CompareParameter,
    /// Compares an integer of a register with another: u8 comparison, u16, i64.
    CompareInt,
}

/// Writes a program.
#[derive(Debug, Default)]
pub struct Code {
    bytes: Vec<u8>,
    /// Where the last two steps begin, as long as each of them pushes a register, a parameter or an integer, and none is jumped to.
    pushes: [Option<usize>; 2],
}

/// A jump whose target is not known yet.
#[derive(Debug)]
#[must_use]
pub struct Forward(usize);

impl Code {
    /// An empty program.
    pub fn new() -> Code {
        Code::default()
    }

    /// True while nothing was written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A step without operands, or the beginning of one with some.
    pub fn step(&mut self, step: Step) {
        self.pushes = match step {
            Step::Register | Step::Parameter | Step::Int => [self.pushes[1], Some(self.bytes.len())],
            _ => [None, None],
        };
        self.bytes.push(step as u8);
    }

    /// An operand of one byte.
    pub fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// An operand of two bytes.
    pub fn half(&mut self, value: u16) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// An operand of four bytes.
    pub fn word(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// An operand of eight bytes.
    pub fn double(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// A step with a register, a parameter or a subplan.
    pub fn step_half(&mut self, step: Step, value: u16) {
        self.step(step);
        self.half(value);
    }

    /// Compares two integers that were pushed, if one is a register's, and takes both pushes back; false if that is not so.
    fn compare(&mut self, comparison: Comparison) -> bool {
        let [Some(left), Some(right)] = self.pushes else { return false };
        let step_at = |at: usize| Step::from_byte(self.bytes[at]);
        let (register, other, comparison) = match (step_at(left), step_at(right)) {
            (Some(Step::Register), _) => (left, right, comparison),
            (_, Some(Step::Register)) => (right, left, comparison.flipped()),
            _ => return false,
        };
        let step = match step_at(other) {
            Some(Step::Register) => Step::CompareRegister,
            Some(Step::Parameter) => Step::CompareParameter,
            _ => Step::CompareInt,
        };
        let end = if other < register { register } else { self.bytes.len() };
        let (own, operand) = (self.bytes[register + 1..][..2].to_vec(), self.bytes[other + 1..end].to_vec());
        self.bytes.truncate(left);
        self.step(step);
        self.byte(comparison as u8);
        self.bytes.extend([own, operand].concat());
        true
    }

    /// An operation with so many arguments; the frequent ones have steps of their own.
    pub fn call(&mut self, op: Op, arguments: u8, strict: bool) {
        if matches!(op, Op::IntEq | Op::IntNe | Op::IntLt | Op::IntLe | Op::IntGt | Op::IntGe)
            && op.comparison().is_some_and(|comparison| self.compare(comparison))
        {
            return;
        }
        let short = match op {
            Op::IntEq => Step::IntEqual,
            Op::IntNe => Step::IntNotEqual,
            Op::IntLt => Step::IntLess,
            Op::IntLe => Step::IntLessEqual,
            Op::IntGt => Step::IntGreater,
            Op::IntGe => Step::IntGreaterEqual,
            Op::Int4Add => Step::Int4Add,
            Op::Int4Sub => Step::Int4Subtract,
            Op::Int8Add => Step::Int8Add,
            Op::Int8Sub => Step::Int8Subtract,
            Op::Identity => return,
            op => {
                let step = match (op.is_external(), strict) {
                    (true, _) => Step::CallExternal,
                    (false, true) => Step::CallStrict,
                    (false, false) => Step::Call,
                };
                self.step(step);
                self.half(op as u16);
                self.byte(arguments);
                if op.is_external() {
                    self.byte(u8::from(strict));
                }
                return;
            }
        };
        self.step(short);
    }

    /// A jump to a place that [`Code::land`] will say.
    pub fn jump(&mut self, step: Step) -> Forward {
        self.step(step);
        self.word(0);
        Forward(self.bytes.len() - 4)
    }

    /// A jump with a register before its place.
    pub fn jump_with(&mut self, step: Step, register: u16) -> Forward {
        self.step_half(step, register);
        self.word(0);
        Forward(self.bytes.len() - 4)
    }

    /// The jump's target is what comes next.
    pub fn land(&mut self, jump: Forward) {
        self.pushes = [None, None];
        let here = self.bytes.len() as u32;
        self.bytes[jump.0..jump.0 + 4].copy_from_slice(&here.to_le_bytes());
    }

    /// Ends the program and puts it into a plan; an empty one is none.
    pub fn finish(mut self, plan: &mut Builder) -> At {
        if self.bytes.is_empty() {
            return At::NONE;
        }
        self.step(Step::End);
        plan.blob(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_their_numbers() {
        for (byte, step) in Step::ALL.iter().enumerate() {
            assert_eq!(*step as usize, byte);
            assert_eq!(Step::from_byte(byte as u8), Some(*step));
        }
        assert_eq!(Step::from_byte(Step::ALL.len() as u8), None);
    }

    /// What code consists of.
    fn code(write: impl FnOnce(&mut Code)) -> Vec<u8> {
        let mut code = Code::new();
        write(&mut code);
        code.bytes
    }

    #[test]
    fn integers_that_were_pushed_are_compared_in_one_step() {
        let ends = |first: &[u8], last: i64| [first, &last.to_le_bytes()[..]].concat();
        let register_and_parameter = code(|code| {
            code.step_half(Step::Register, 7);
            code.step_half(Step::Parameter, 9);
            code.call(Op::IntLt, 2, true);
        });
        assert_eq!(register_and_parameter, [Step::CompareParameter as u8, Comparison::Lt as u8, 7, 0, 9, 0]);
        let number_and_register = code(|code| {
            code.step(Step::Int);
            code.double(5);
            code.step_half(Step::Register, 7);
            code.call(Op::IntLe, 2, true);
        });
        assert_eq!(number_and_register, ends(&[Step::CompareInt as u8, Comparison::Ge as u8, 7, 0], 5));
        let registers = code(|code| {
            code.step_half(Step::Register, 1);
            code.step_half(Step::Register, 2);
            code.step_half(Step::Register, 3);
            code.call(Op::IntEq, 2, true);
        });
        let one_before = [Step::Register as u8, 1, 0];
        assert_eq!(
            registers,
            [&one_before[..], &[Step::CompareRegister as u8, Comparison::Eq as u8, 2, 0, 3, 0]].concat()
        );
        // Who jumps between two pushes has pushed another value.
        let jumped = code(|code| {
            let over = code.jump(Step::Jump);
            code.step_half(Step::Register, 1);
            code.land(over);
            code.step_half(Step::Register, 2);
            code.call(Op::IntEq, 2, true);
        });
        assert_eq!(jumped.last(), Some(&(Step::IntEqual as u8)));
        // Other operations, and what is not there, stay as they are.
        let added = code(|code| {
            code.step_half(Step::Register, 1);
            code.step_half(Step::Parameter, 2);
            code.call(Op::Int4Add, 2, true);
            code.step_half(Step::Parameter, 2);
            code.call(Op::IntEq, 2, true);
        });
        assert_eq!(added.last(), Some(&(Step::IntEqual as u8)));
    }
}
