//! Which share of rows a condition leaves: PostgreSQL's guesses, from what `ANALYZE` found in the columns.
//!
//! | condition | share of the rows |
//! |---|---|
//! | a column equals a known value | that of the value if it is a common one; else what the others have on average |
//! | a column equals something | one of its values on average |
//! | a column is less or greater than a known value | common values one by one, the rest by the histogram |
//! | a column is within two bounds | both shares less what is left out by neither |
//! | a column is less or greater than something | 1/3 |
//! | two columns are equal | one of the values of the column that has more |
//! | like a known pattern | of the common values and the histogram's bounds |
//! | null | what was found |
//! | anything else | 1/2 |
//!
//! Where nothing is known of a column it is thought to have 200 values.
//!
//! Rules
//! 1. Conditions are taken to be independent of one another, unless they bound one column from both sides.
//! 2. A share is never quite zero: what is thought to find nothing may find something.
//! 3. Where a share would be another one if the value of a client's parameter were known, that is noted ([`Bound::values_matter`]): then it may
//!    pay to plan again for values. Of a column whose values are about as frequent as each other it is not: an equality has one share.

use super::cost::{DISTINCT, Guess, HALF, INEQUALITY, SELDOM};
use super::known;
use crate::bind::tree::{Column, Expr, ExprKind};
use crate::catalog::column_statistics::ColumnStatistics;
use crate::plan::blob::Constant;
use crate::types::numeric::Numeric;
use crate::types::op::{Comparison, Op};
use crate::types::{Kind, compare, like, table};

/// The least share.
const LEAST: f64 = 1e-7;
/// A share that both bounds of a range say nothing of.
const RANGE: f64 = 0.005;

/// Values that are shared by parts of an expression.
type Shared<'x> = Vec<(u16, &'x Expr)>;

/// Bounds of one column that were met so far.
struct Range {
    column: Column,
    low: Option<f64>,
    high: Option<f64>,
}

impl Guess<'_> {
    /// The share of rows for which all conditions hold.
    pub fn share<'x>(&self, conditions: impl Iterator<Item = &'x Expr>) -> f64 {
        let (mut ranges, mut share) = (Vec::new(), 1.0);
        for condition in conditions {
            share *= self.conjunct(condition, &mut Shared::new(), &mut ranges);
        }
        (share * self.of_ranges(&ranges)).clamp(LEAST, 1.0)
    }

    fn of_ranges(&self, ranges: &[Range]) -> f64 {
        let one = |range: &Range| match (range.low, range.high) {
            (Some(low), Some(high)) if low == INEQUALITY && high == INEQUALITY => RANGE,
            (Some(low), Some(high)) => {
                let nulls = self.statistics(range.column).map_or(0.0, |(known, _)| known.null_share);
                (low + high - 1.0 + nulls).max(LEAST)
            }
            (low, high) => low.or(high).unwrap_or(1.0),
        };
        ranges.iter().map(one).product()
    }

    /// The share of one condition of several; bounds of columns are put aside.
    fn conjunct<'x>(&self, expr: &'x Expr, shared: &mut Shared<'x>, ranges: &mut Vec<Range>) -> f64 {
        if let ExprKind::And(items) = &expr.kind {
            return items.iter().map(|item| self.conjunct(item, shared, ranges)).product();
        }
        let Some((column, is_low, share)) = self.bound_of(expr, shared) else { return self.one(expr, shared) };
        let place = ranges.iter().position(|range| range.column == column).unwrap_or_else(|| {
            ranges.push(Range { column, low: None, high: None });
            ranges.len() - 1
        });
        let known = if is_low { &mut ranges[place].low } else { &mut ranges[place].high };
        *known = Some(known.map_or(share, |known| known.min(share)));
        1.0
    }

    /// The column that a condition bounds from one side, whether it is from below, and the share of its rows.
    fn bound_of<'x>(&self, expr: &'x Expr, shared: &Shared<'x>) -> Option<(Column, bool, f64)> {
        let ExprKind::Call(call) = &expr.kind else { return None };
        let comparison = call.op.comparison().filter(|one| !matches!(one, Comparison::Eq | Comparison::Ne))?;
        let [left, right] = call.arguments.as_slice() else { return None };
        let (column, comparison, value) = match (self.variable(left, shared), self.variable(right, shared)) {
            (Some(column), None) => (column, comparison, right),
            (None, Some(column)) => (column, comparison.flipped(), left),
            _ => return None,
        };
        let is_low = matches!(comparison, Comparison::Gt | Comparison::Ge);
        let statistics = self.statistics(column);
        if statistics.is_some() {
            self.note_awaited(value);
        }
        let share = match (statistics, known::value(self.bound, value)) {
            (_, Some(Constant::Null)) => LEAST,
            (Some((known, _)), Some(constant)) => {
                inequality(known, comparison, (table::kind(value.ty.oid), &constant)).unwrap_or(INEQUALITY)
            }
            _ => INEQUALITY,
        };
        Some((column, is_low, share))
    }

    /// The share of rows for which a condition holds.
    fn one<'x>(&self, expr: &'x Expr, shared: &mut Shared<'x>) -> f64 {
        match &expr.kind {
            ExprKind::Constant(Constant::Bool(true)) => 1.0,
            ExprKind::Constant(_) => LEAST,
            ExprKind::Call(call) => match (call.op.comparison(), call.arguments.as_slice()) {
                (Some(Comparison::Eq), [left, right]) => self.equality(left, right, shared),
                (Some(Comparison::Ne), [left, right]) => 1.0 - self.equality(left, right, shared),
                (Some(_), _) => self.bound_of(expr, shared).map_or(INEQUALITY, |(.., share)| share),
                (None, [text, pattern]) if matches!(call.op, Op::Like | Op::Ilike) => {
                    self.likeness(text, pattern, call.op, shared)
                }
                (None, [text, pattern]) if matches!(call.op, Op::NotLike | Op::NotIlike) => {
                    let op = if call.op == Op::NotLike { Op::Like } else { Op::Ilike };
                    1.0 - self.likeness(text, pattern, op, shared)
                }
                _ => HALF,
            },
            ExprKind::And(items) => {
                let mut ranges = Vec::new();
                let share: f64 = items.iter().map(|item| self.conjunct(item, shared, &mut ranges)).product();
                share * self.of_ranges(&ranges)
            }
            ExprKind::Or(items) => {
                let shares = items.iter().map(|item| self.one(item, shared));
                shares.fold(0.0, |sum, share| sum + share - sum * share)
            }
            ExprKind::Not(operand) => (1.0 - self.one(operand, shared)).max(LEAST),
            ExprKind::IsNull(operand, negated) => {
                let column = self.variable(operand, shared);
                let nulls =
                    column.and_then(|column| self.statistics(column)).map_or(SELDOM, |(known, _)| known.null_share);
                if *negated { 1.0 - nulls } else { nulls.max(LEAST) }
            }
            ExprKind::Let(number, value, body) => {
                shared.push((*number, value));
                let share = self.one(body, shared);
                shared.pop();
                share
            }
            ExprKind::Quantified { op, all: false, left, array, .. } if op.comparison() == Some(Comparison::Eq) => {
                const ELEMENTS: f64 = 10.0;
                let elements = match &array.kind {
                    ExprKind::Array(items) => items.len() as f64,
                    _ => ELEMENTS,
                };
                (elements / self.distinct_shared(left, shared)).min(1.0)
            }
            ExprKind::Column(column) => match self.statistics(*column) {
                Some((known, _)) => equal_to(known, DISTINCT, (Kind::Bool, &Constant::Bool(true))),
                None => HALF,
            },
            _ => HALF,
        }
    }

    fn equality<'x>(&self, left: &'x Expr, right: &'x Expr, shared: &Shared<'x>) -> f64 {
        let sides = [(left, right), (right, left)];
        for (variable, value) in sides {
            let Some(column) = self.variable(variable, shared) else { continue };
            let Some(constant) = known::value(self.bound, value) else {
                if self.statistics(column).is_some_and(|(known, rows)| is_skewed(known, rows)) {
                    self.note_awaited(value);
                }
                continue;
            };
            if constant == Constant::Null {
                return LEAST;
            }
            if let Some((known, rows)) = self.statistics(column) {
                return equal_to(known, rows, (table::kind(value.ty.oid), &constant));
            }
        }
        let values = |expr: &'x Expr| match self.reads_nothing(expr, shared) {
            true => 1.0,
            false => self.distinct_shared(expr, shared),
        };
        let share = 1.0 / values(left).max(values(right)).max(1.0);
        share.min(1.0)
    }

    /// Notes that a share depends on the value of a client's parameter that is not known, if it does.
    fn note_awaited(&self, value: &Expr) {
        if !self.bound.values_matter.get() && known::is_awaited(self.bound, value) {
            self.bound.values_matter.set(true);
        }
    }

    /// Is it a value that no row of this statement's tables changes?
    fn reads_nothing<'x>(&self, expr: &'x Expr, shared: &Shared<'x>) -> bool {
        !expr.any(&mut |part| match part.kind {
            ExprKind::Column(_) => true,
            ExprKind::Shared(number) => shared.iter().any(|(known, _)| *known == number),
            _ => false,
        })
    }

    fn distinct_shared<'x>(&self, expr: &'x Expr, shared: &Shared<'x>) -> f64 {
        match self.variable(expr, shared) {
            Some(column) => self.column_distinct(column),
            None => DISTINCT,
        }
    }

    fn likeness<'x>(&self, text: &'x Expr, pattern: &'x Expr, op: Op, shared: &Shared<'x>) -> f64 {
        let Some(Constant::Bytes(pattern)) = known::value(self.bound, pattern) else {
            self.note_awaited(pattern);
            return SELDOM;
        };
        let column = self.variable(text, shared);
        let Some((known, rows)) = column.and_then(|column| self.statistics(column)) else {
            return by_letters(&pattern, op);
        };
        let (prefix, whole) = like::fixed_prefix(&pattern);
        if whole && op == Op::Like {
            // The column may be of another type: what is compared with the pattern is its text.
            return equal_to(known, rows, (Kind::Text, &Constant::Bytes(prefix)));
        }
        let holds = |value: &Constant| match value {
            Constant::Bytes(bytes) => matches_pattern(bytes, &pattern, op),
            _ => false,
        };
        let common: f64 = known.common.iter().filter(|(_, value)| holds(value)).map(|(share, _)| share).sum();
        let rest = (1.0 - known.null_share - known.common.iter().map(|(share, _)| share).sum::<f64>()).max(0.0);
        let count = known.bounds.len();
        let matching = known.bounds.iter().filter(|value| holds(value)).count();
        // A hundred bounds are as good as a look at the table; a few say something.
        let trust = (count as f64 / 100.0).min(1.0);
        let seen = if count > 0 { matching as f64 / count as f64 } else { 0.0 };
        let guessed = by_letters(&pattern, op);
        let share = match count >= 10 {
            true => seen * trust + guessed * (1.0 - trust),
            false => guessed,
        };
        (common + rest * share.clamp(0.0001, 0.9999)).clamp(LEAST, 1.0)
    }

    /// The column that an expression's value is in the main, whatever it is cast to.
    fn variable<'x>(&self, expr: &'x Expr, shared: &Shared<'x>) -> Option<Column> {
        match &expr.kind {
            ExprKind::Column(column) => Some(*column),
            ExprKind::Cast(operand, ..) => self.variable(operand, shared),
            ExprKind::Shared(number) => {
                let (place, (_, value)) = shared.iter().enumerate().rfind(|(_, (known, _))| known == number)?;
                let before: Shared<'x> = shared[..place].to_vec();
                self.variable(value, &before)
            }
            _ => None,
        }
    }

    /// How many values an expression has.
    pub(super) fn distinct_of(&self, expr: &Expr) -> f64 {
        self.distinct_shared(expr, &Shared::new())
    }
}

/// Is a value of the column much more frequent than values are on average?
fn is_skewed(known: &ColumnStatistics, rows: f64) -> bool {
    const TIMES: f64 = 2.0;
    let values = known.distinct_of(rows).unwrap_or(DISTINCT).max(1.0);
    known.common.first().is_some_and(|(share, _)| share * values > TIMES)
}

/// The share of rows that have a value.
fn equal_to(known: &ColumnStatistics, rows: f64, (kind, value): (Kind, &Constant)) -> f64 {
    let own = table::kind(known.ty);
    let same = |common: &Constant| match comparable(own, kind) {
        true => compare::equal(own, common.datum(), value.datum()),
        false => number(own, common).is_some_and(|place| Some(place) == number(kind, value)),
    };
    if let Some((share, _)) = known.common.iter().find(|(_, common)| same(common)) {
        return *share;
    }
    let common: f64 = known.common.iter().map(|(share, _)| share).sum();
    let rest = (1.0 - known.null_share - common).max(0.0);
    let values = known.distinct_of(rows).unwrap_or(DISTINCT.min(rows));
    let share = rest / (values - known.common.len() as f64).max(1.0);
    // Whatever is not common is not more frequent than the least common of those that are.
    let most = known.common.last().map_or(1.0, |(share, _)| *share);
    share.min(most).clamp(LEAST, 1.0)
}

/// The share of rows that are less or greater than a value, if anything can be said.
fn inequality(known: &ColumnStatistics, comparison: Comparison, (kind, value): (Kind, &Constant)) -> Option<f64> {
    let own = table::kind(known.ty);
    let order = |one: &Constant| match comparable(own, kind) {
        true => Some(compare::compare(own, one.datum(), value.datum())),
        false => number(own, one)?.partial_cmp(&number(kind, value)?),
    };
    let (mut common, mut holding) = (0.0, 0.0);
    for (share, one) in &known.common {
        common += share;
        if comparison.holds(order(one)?) {
            holding += share;
        }
    }
    let rest = (1.0 - known.null_share - common).max(0.0);
    let below = match known.bounds.len() {
        0 | 1 if known.common.is_empty() => return None,
        0 | 1 => HALF,
        count => {
            let place = known.bounds.partition_point(|bound| order(bound).is_some_and(|order| order.is_lt()));
            match place {
                0 => 0.0,
                place if place >= count => 1.0,
                place => {
                    let (low, high) = (&known.bounds[place - 1], &known.bounds[place]);
                    let within = between(own, low, high, (kind, value)).unwrap_or(HALF);
                    (place as f64 - 1.0 + within) / (count as f64 - 1.0)
                }
            }
        }
    };
    let below = below.clamp(0.0001, 0.9999);
    let is_less = matches!(comparison, Comparison::Lt | Comparison::Le);
    Some((holding + rest * if is_less { below } else { 1.0 - below }).clamp(LEAST, 1.0))
}

/// Are values of both kinds compared as they are?
fn comparable(own: Kind, other: Kind) -> bool {
    let integer = |kind| matches!(kind, Kind::Int2 | Kind::Int4 | Kind::Int8);
    let text = |kind| matches!(kind, Kind::Text | Kind::Bpchar | Kind::Name);
    own == other || (integer(own) && integer(other)) || (text(own) && text(other))
}

/// How far a value lies between two others, from 0 to 1.
fn between(own: Kind, low: &Constant, high: &Constant, (kind, value): (Kind, &Constant)) -> Option<f64> {
    let (low, high, value) = match (low, high, value) {
        (Constant::Bytes(low), Constant::Bytes(high), Constant::Bytes(value)) if own != Kind::Numeric => {
            let same = low.iter().zip(high).take_while(|(low, high)| low == high).count();
            (digits(low, same), digits(high, same), digits(value, same))
        }
        _ => (number(own, low)?, number(own, high)?, number(kind, value)?),
    };
    (high > low).then(|| ((value - low) / (high - low)).clamp(0.0, 1.0))
}

/// The next bytes as digits behind a point.
fn digits(bytes: &[u8], skip: usize) -> f64 {
    const DIGITS: usize = 8;
    let (mut value, mut unit) = (0.0, 1.0);
    for place in skip..skip + DIGITS {
        unit /= 256.0;
        value += f64::from(bytes.get(place).copied().unwrap_or(0)) * unit;
    }
    value
}

/// A value as a number, so that numbers of all kinds can be compared, and dates with times.
fn number(kind: Kind, value: &Constant) -> Option<f64> {
    const DAY_US: f64 = 86_400e6;
    match (kind, value) {
        (Kind::Date, Constant::Int(days)) => Some(*days as f64 * DAY_US),
        (_, Constant::Int(value)) => Some(*value as f64),
        (_, Constant::Float(value)) => Some(*value),
        (_, Constant::Bool(value)) => Some(f64::from(u8::from(*value))),
        (Kind::Numeric, Constant::Bytes(bytes)) => Numeric::decode(bytes).ok()?.to_f64().ok(),
        _ => None,
    }
}

fn matches_pattern(text: &[u8], pattern: &[u8], op: Op) -> bool {
    match op {
        Op::Ilike => {
            let lower = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_lowercase().into_bytes();
            like::matches(&lower(text), &lower(pattern)).unwrap_or(false)
        }
        _ => like::matches(text, pattern).unwrap_or(false),
    }
}

/// The share of texts that are like a pattern, by how many letters it has.
fn by_letters(pattern: &[u8], op: Op) -> f64 {
    const LETTER: f64 = 0.2;
    const ANY_LETTER: f64 = 0.9;
    const ANY_TEXT: f64 = 5.0;
    let (prefix, _) = like::fixed_prefix(pattern);
    let prefix = if op == Op::Like { prefix.len() } else { 0 };
    let mut share: f64 = if prefix > 0 { SELDOM } else { 1.0 };
    for byte in pattern.iter().skip(prefix) {
        share *= match byte {
            b'%' => ANY_TEXT,
            b'_' => ANY_LETTER,
            _ => LETTER,
        };
        share = share.min(1.0);
    }
    share.clamp(LEAST, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Oid;

    fn known() -> ColumnStatistics {
        ColumnStatistics {
            column: 0,
            ty: Oid::INT4,
            null_share: 0.1,
            width: 4.0,
            distinct: 102.0,
            correlation: None,
            common: vec![(0.2, Constant::Int(7)), (0.1, Constant::Int(500))],
            bounds: (0..=10).map(|bound| Constant::Int(bound * 100)).collect(),
        }
    }

    #[test]
    fn common_values_have_their_own_share() {
        let share = |value| equal_to(&known(), 1000.0, (Kind::Int8, &Constant::Int(value)));
        assert_eq!((share(7), share(500)), (0.2, 0.1));
        assert!((share(8) - 0.6 / 100.0).abs() < 1e-9);
    }

    #[test]
    fn bounds_cut_the_rest_evenly() {
        let share = |comparison, value| inequality(&known(), comparison, (Kind::Int4, &Constant::Int(value))).unwrap();
        let near = |left: f64, right: f64| assert!((left - right).abs() < 1e-3, "{left} {right}");
        near(share(Comparison::Lt, 250), 0.2 + 0.6 * 0.25);
        near(share(Comparison::Ge, 250), 0.1 + 0.6 * 0.75);
        near(share(Comparison::Lt, -5), 0.0);
        near(share(Comparison::Gt, 5000), 0.0);
        near(share(Comparison::Lt, 5000), 0.9);
    }

    #[test]
    fn dates_and_times_are_compared() {
        let dates = ColumnStatistics {
            ty: Oid::DATE,
            common: Vec::new(),
            bounds: (0..=4).map(Constant::Int).collect(),
            null_share: 0.0,
            ..known()
        };
        let noon = Constant::Int(86_400_000_000 * 2 + 43_200_000_000);
        let share = inequality(&dates, Comparison::Lt, (Kind::Timestamp, &noon)).unwrap();
        assert!((share - 2.5 / 4.0).abs() < 1e-9, "{share}");
    }

    #[test]
    fn texts_lie_between_texts() {
        let text = |text: &str| Constant::Bytes(text.as_bytes().to_vec());
        let within = between(Kind::Text, &text("aba"), &text("abc"), (Kind::Text, &text("abb"))).unwrap();
        assert!((within - 0.5).abs() < 0.01, "{within}");
    }

    #[test]
    fn patterns_with_more_letters_are_rarer() {
        let share = |pattern: &str| by_letters(pattern.as_bytes(), Op::Like);
        assert!(share("%abc%") < share("%ab%"));
        assert!(share("a%") <= SELDOM * ANY_TEXT_MAX);
        assert_eq!(share("%"), 1.0);
    }

    const ANY_TEXT_MAX: f64 = 5.0;
}
