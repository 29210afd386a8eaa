//! Whether what an analysis found may lead to other plans than what was known before.
//!
//! A table is sampled, so two analyses of the same rows differ a little; and where rows come and go without end, statistics are new every
//! time. If that were enough to make plans again, they would never be kept. What matters is what a planner's choice may turn on: how
//! many values there are, what is null, how frequent the frequent ones are, and where values begin and end.

use crate::catalog::column_statistics::{ColumnStatistics, TableStatistics};
use crate::plan::blob::Constant;
use crate::types::{compare, table};

/// Shares that differ by less are alike.
const SHARE: f64 = 0.05;
/// So many times as many, or as few, are not.
const TIMES: f64 = 2.0;
/// So large a share of the rows beyond the bounds that were known is not.
const BEYOND: f64 = 0.1;

/// May plans depend on the difference?
pub(super) fn matters(before: &TableStatistics, now: &TableStatistics) -> bool {
    before.columns.len() != now.columns.len()
        || now.columns.iter().any(|now| before.column(now.column, now.ty).is_none_or(|before| differs(before, now)))
}

fn differs(before: &ColumnStatistics, now: &ColumnStatistics) -> bool {
    (before.null_share - now.null_share).abs() > SHARE
        || are_many_times(before.distinct, now.distinct)
        || common_differ(before, now)
        || common_differ(now, before)
        || beyond(before, now) > BEYOND
}

/// Is one number many times the other? Numbers and shares of values ([`ColumnStatistics::distinct`]) are not compared.
fn are_many_times(before: f64, now: f64) -> bool {
    if before == 0.0 || now == 0.0 {
        return before != now;
    }
    let ratio = now / before;
    ratio < 0.0 || !(1.0 / TIMES..=TIMES).contains(&ratio)
}

/// Is some value much more frequent in one than in the other?
fn common_differ(one: &ColumnStatistics, other: &ColumnStatistics) -> bool {
    let kind = table::kind(one.ty);
    let share_of = |value: &Constant| {
        let same = other.common.iter().find(|known| compare::equal(kind, known.1.datum(), value.datum()));
        same.map_or(0.0, |known| known.0)
    };
    one.common.iter().any(|(share, value)| *share > SHARE && share - share_of(value) > SHARE)
}

/// The share of what is bounded now that lies beyond the bounds that were known before.
fn beyond(before: &ColumnStatistics, now: &ColumnStatistics) -> f64 {
    let kind = table::kind(now.ty);
    let (Some(first), Some(last)) = (before.bounds.first(), before.bounds.last()) else { return 0.0 };
    let is_beyond = |value: &&Constant| {
        compare::compare(kind, value.datum(), first.datum()).is_lt()
            || compare::compare(kind, value.datum(), last.datum()).is_gt()
    };
    now.bounds.iter().filter(is_beyond).count() as f64 / now.bounds.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Oid;

    fn column() -> ColumnStatistics {
        ColumnStatistics {
            column: 0,
            ty: Oid::INT4,
            null_share: 0.1,
            width: 4.0,
            distinct: 102.0,
            correlation: None,
            common: vec![(0.2, Constant::Int(7)), (0.04, Constant::Int(500))],
            bounds: (0..=10).map(|bound| Constant::Int(bound * 100)).collect(),
        }
    }

    #[test]
    fn what_a_choice_may_turn_on_matters() {
        let with = |change: &dyn Fn(&mut ColumnStatistics)| {
            let mut now = column();
            change(&mut now);
            differs(&column(), &now)
        };
        type Case<'a> = (&'a str, &'a dyn Fn(&mut ColumnStatistics), bool);
        let cases: [Case<'_>; 11] = [
            ("nothing", &|_| (), false),
            ("the order of rows", &|now| now.correlation = Some(0.5), false),
            ("a few nulls more", &|now| now.null_share = 0.13, false),
            ("many nulls more", &|now| now.null_share = 0.2, true),
            ("some values more", &|now| now.distinct = 150.0, false),
            ("many values more", &|now| now.distinct = 300.0, true),
            ("a share of values", &|now| now.distinct = -0.5, true),
            ("a frequent value a little less so", &|now| now.common[0].0 = 0.17, false),
            ("another frequent value", &|now| now.common[0].1 = Constant::Int(8), true),
            ("a frequent value less", &|now| drop(now.common.remove(0)), true),
            (
                "values behind the last one",
                &|now| {
                    now.bounds = (2..=12).map(|bound| Constant::Int(bound * 100)).collect();
                },
                true,
            ),
        ];
        for (what, change, matters) in cases {
            assert_eq!(with(change), matters, "{what}");
        }
    }
}
