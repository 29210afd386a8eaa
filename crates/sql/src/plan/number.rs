//! From the numbers in a plan back to operations, kinds and aggregates.
//!
//! A plan holds an operation's number. The tables of [`types`] name every operation that a statement can come
//! to, so the way back is made from them when the server is compiled, and no number can become anything else.

use crate::types::aggregate::{self, AggOp};
use crate::types::cast::{self, Method};
use crate::types::function;
use crate::types::op::Op;
use crate::types::operator;
use crate::types::table::{self, Kind};

const OPS_MAX: usize = 640;
const KINDS_MAX: usize = 64;

static OPS: [Option<Op>; OPS_MAX] = ops();
static KINDS: [Option<Kind>; KINDS_MAX] = kinds();
static AGGREGATES: [Option<AggOp>; KINDS_MAX] = aggregates();

const fn ops() -> [Option<Op>; OPS_MAX] {
    let mut ops = [None; OPS_MAX];
    let mut row = 0;
    ops[Op::Routine as usize] = Some(Op::Routine);
    ops[Op::NameByte as usize] = Some(Op::NameByte);
    ops[Op::MakeRecord as usize] = Some(Op::MakeRecord);
    ops[Op::JoinRecords as usize] = Some(Op::JoinRecords);
    ops[Op::RecordIsNull as usize] = Some(Op::RecordIsNull);
    ops[Op::RecordIsNotNull as usize] = Some(Op::RecordIsNotNull);
    ops[Op::DomainCheck as usize] = Some(Op::DomainCheck);
    ops[Op::ArrayElement as usize] = Some(Op::ArrayElement);
    ops[Op::ArraySlice as usize] = Some(Op::ArraySlice);
    ops[Op::ArrayWithElement as usize] = Some(Op::ArrayWithElement);
    ops[Op::ArrayWithSlice as usize] = Some(Op::ArrayWithSlice);
    while row < function::TABLE.len() {
        let op = function::TABLE[row].op;
        ops[op as usize] = Some(op);
        row += 1;
    }
    row = 0;
    while row < operator::TABLE.len() {
        let op = operator::TABLE[row].op;
        ops[op as usize] = Some(op);
        row += 1;
    }
    row = 0;
    while row < cast::TABLE.len() {
        if let Method::Op(op) = cast::TABLE[row].method {
            ops[op as usize] = Some(op);
        }
        row += 1;
    }
    ops
}

const fn kinds() -> [Option<Kind>; KINDS_MAX] {
    let mut kinds = [None; KINDS_MAX];
    let mut row = 0;
    while row < table::TABLE.len() {
        let kind = table::TABLE[row].kind;
        kinds[kind as usize] = Some(kind);
        row += 1;
    }
    // No type has these itself: those of users do.
    kinds[Kind::Enum as usize] = Some(Kind::Enum);
    kinds
}

const fn aggregates() -> [Option<AggOp>; KINDS_MAX] {
    let mut aggregates = [None; KINDS_MAX];
    let mut row = 0;
    while row < aggregate::TABLE.len() {
        let op = aggregate::TABLE[row].op;
        aggregates[op as usize] = Some(op);
        row += 1;
    }
    // Those that have no row, because their arguments are of any types.
    let hypothetical = [AggOp::Rank, AggOp::DenseRank, AggOp::PercentRank, AggOp::CumeDist];
    let mut at = 0;
    while at < hypothetical.len() {
        aggregates[hypothetical[at] as usize] = Some(hypothetical[at]);
        at += 1;
    }
    aggregates
}

/// The operation of a number.
#[inline]
pub fn op(number: u16) -> Option<Op> {
    OPS.get(usize::from(number)).copied().flatten()
}

/// The kind of a number; one without values if there is none.
#[inline]
pub fn kind(number: u32) -> Kind {
    KINDS.get(number as usize).copied().flatten().unwrap_or(Kind::Refused)
}

/// The aggregate of a number.
pub fn aggregate(number: u32) -> Option<AggOp> {
    AGGREGATES.get(number as usize).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back() {
        for row in function::TABLE {
            assert_eq!(op(row.op as u16), Some(row.op));
        }
        for row in operator::TABLE {
            assert_eq!(op(row.op as u16), Some(row.op));
        }
        for row in table::TABLE {
            assert_eq!(kind(row.kind as u32), row.kind);
        }
        assert_eq!(kind(Kind::Enum as u32), Kind::Enum);
        assert_eq!(op(u16::MAX), None);
        assert_eq!(kind(u32::MAX), Kind::Refused);
        assert_eq!(aggregate(AggOp::Count as u32), Some(AggOp::Count));
    }
}
