//! From a sample's values to what is known of their column: PostgreSQL's rules (`compute_scalar_stats`).
//!
//! | what | rule |
//! |---|---|
//! | distinct values | all of the sample's if each occurs more than once; a share of one if each occurs once; else the estimator of Haas and Stokes |
//! | common values | those whose share is beyond what chance explains, the most frequent ones first |
//! | histogram | what is left, cut at places that lie evenly apart |
//! | correlation | of the order of values and the order of rows |
//!
//! Rules
//! 1. Values longer than [`WIDTH_MAX`] are counted and not kept: each of them is taken for a value of its own.
//! 2. Where values have no order, only their nulls and widths are known.

use crate::catalog::column_statistics::ColumnStatistics;
use crate::plan::blob::Constant;
use crate::types::{Datum, Kind, Oid, compare, stored, table};
use base::Result;

/// Values that are longer are not kept.
pub(super) const WIDTH_MAX: usize = 1024;

/// A value that occurs several times: how often, and its first place among the sorted values.
#[derive(Clone, Copy)]
struct Repeated {
    count: usize,
    first: usize,
}

/// What a column's values say. `values` are in the order of the rows; `breathe` is called now and then.
pub(super) fn column(
    (column, ty): (u16, Oid),
    values: &[Datum<'_>],
    table_rows: f64,
    target: usize,
    breathe: &mut dyn FnMut() -> Result<()>,
) -> Result<Option<ColumnStatistics>> {
    let kind = table::kind(ty);
    let rows = values.len();
    if rows == 0 {
        return Ok(None);
    }
    let mut kept: Vec<(Datum<'_>, usize)> = Vec::with_capacity(rows);
    let (mut nulls, mut width, mut wide) = (0, 0.0, 0);
    for (place, value) in values.iter().enumerate() {
        match value {
            Datum::Null => nulls += 1,
            value => {
                width += width_of(kind, *value) as f64;
                match value {
                    Datum::Bytes(bytes) if bytes.len() > WIDTH_MAX => wide += 1,
                    _ => kept.push((*value, place)),
                }
            }
        }
    }
    let present = rows - nulls;
    let null_share = nulls as f64 / rows as f64;
    let mut known = ColumnStatistics {
        column,
        ty,
        null_share,
        width: if present > 0 { width / present as f64 } else { stored::width(kind).unwrap_or(0) as f64 },
        distinct: 0.0,
        correlation: None,
        common: Vec::new(),
        bounds: Vec::new(),
    };
    if kept.is_empty() || !has_order(kind) {
        // Long values only, each taken for one of its own.
        if wide > 0 && kept.is_empty() {
            known.distinct = -(1.0 - null_share);
        }
        return Ok(Some(known));
    }
    sort(kind, &mut kept, breathe)?;
    let (distinct, mut repeated) = repeated(kind, &kept);
    known.distinct = distinct_values(distinct, repeated.len(), wide, present, null_share, table_rows);
    let several = repeated.len();
    repeated.sort_by(|a, b| b.count.cmp(&a.count).then(a.first.cmp(&b.first)));
    repeated.truncate(target);
    let all_known = several == distinct && wide == 0 && known.distinct > 0.0 && several <= target;
    if !all_known {
        let count = worth_keeping(&repeated, known.distinct, null_share, rows as f64, table_rows);
        repeated.truncate(count);
    }
    known.common =
        repeated.iter().map(|one| (one.count as f64 / rows as f64, Constant::of(kept[one.first].0))).collect();
    known.bounds = bounds(&kept, distinct, &mut repeated, target);
    known.correlation = correlation(&kept);
    Ok(Some(known))
}

/// Whether statistics are kept of values of this kind, beyond how many are null.
fn has_order(kind: Kind) -> bool {
    !matches!(kind, Kind::Json | Kind::Vector | Kind::Unknown | Kind::Void | Kind::Pseudo | Kind::Refused)
}

fn width_of(kind: Kind, value: Datum<'_>) -> usize {
    match (stored::width(kind), value) {
        (Some(width), _) => width,
        (None, Datum::Bytes(bytes)) => bytes.len() + 1,
        (None, _) => 0,
    }
}

fn sort(kind: Kind, values: &mut [(Datum<'_>, usize)], breathe: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    const COMPARISONS_BETWEEN: u32 = 1024;
    let (mut comparisons, mut failed) = (0u32, Ok(()));
    values.sort_by(|a, b| {
        comparisons += 1;
        if comparisons.is_multiple_of(COMPARISONS_BETWEEN) && failed.is_ok() {
            failed = breathe();
        }
        compare::compare(kind, a.0, b.0)
    });
    failed
}

/// How many values there are among sorted ones, and those that occur several times.
fn repeated(kind: Kind, values: &[(Datum<'_>, usize)]) -> (usize, Vec<Repeated>) {
    let (mut distinct, mut several) = (0, Vec::new());
    let mut first = 0;
    while first < values.len() {
        let same = values[first..].iter().take_while(|value| compare::equal(kind, value.0, values[first].0));
        let count = same.count();
        distinct += 1;
        if count > 1 {
            several.push(Repeated { count, first });
        }
        first += count;
    }
    (distinct, several)
}

/// How many values the column has, as [`ColumnStatistics::distinct`] says it.
fn distinct_values(
    distinct: usize,
    several: usize,
    wide: usize,
    present: usize,
    null_share: f64,
    table_rows: f64,
) -> f64 {
    if several == 0 {
        return -(1.0 - null_share);
    }
    let mut found = distinct as f64;
    if wide > 0 || several != distinct {
        let once = (distinct - several + wide) as f64;
        let all = once + several as f64;
        let (sampled, total) = (present as f64, table_rows * (1.0 - null_share));
        let guess = match total > 0.0 {
            true => sampled * all / ((sampled - once) + once * sampled / total),
            false => 0.0,
        };
        found = guess.clamp(all.min(total.max(0.0)), total.max(all)).round();
    }
    match found > 0.1 * table_rows {
        true => -(found / table_rows),
        false => found,
    }
}

/// How many of the most frequent values are clearly more frequent than the others.
fn worth_keeping(repeated: &[Repeated], distinct: f64, null_share: f64, sampled: f64, total: f64) -> usize {
    let mut count = repeated.len();
    if sampled >= total || total <= 1.0 {
        return count;
    }
    let values = if distinct < 0.0 { -distinct * total } else { distinct };
    while let Some(last) = count.checked_sub(1) {
        let before: usize = repeated[..last].iter().map(|one| one.count).sum();
        let mut share = (1.0 - before as f64 / sampled - null_share).clamp(0.0, 1.0);
        let others = values - last as f64;
        if others > 1.0 {
            share /= others;
        }
        let found = repeated[last].count as f64;
        let expected = total * found / sampled;
        let variance = sampled * expected * (total - expected) * (total - sampled) / (total * total * (total - 1.0));
        if found > share * sampled + 2.0 * variance.sqrt() + 0.5 {
            break;
        }
        count = last;
    }
    count
}

/// Bounds of the histogram, of sorted values without the common ones.
fn bounds(values: &[(Datum<'_>, usize)], distinct: usize, common: &mut [Repeated], target: usize) -> Vec<Constant> {
    let bounds = (distinct - common.len()).min(target + 1);
    if bounds < 2 {
        return Vec::new();
    }
    common.sort_by_key(|one| one.first);
    let mut left: Vec<Datum<'_>> = Vec::with_capacity(values.len());
    let mut from = 0;
    for one in common.iter() {
        left.extend(values[from..one.first].iter().map(|value| value.0));
        from = one.first + one.count;
    }
    left.extend(values[from..].iter().map(|value| value.0));
    (0..bounds).map(|bound| Constant::of(left[bound * (left.len() - 1) / (bounds - 1)])).collect()
}

fn correlation(values: &[(Datum<'_>, usize)]) -> Option<f64> {
    let count = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    // Places of rows without values are left out of the count, as the order of the others is all that matters.
    let mut places: Vec<usize> = values.iter().map(|value| value.1).collect();
    places.sort_unstable();
    let rank = |place: usize| places.partition_point(|&other| other < place) as f64;
    let products: f64 = values.iter().enumerate().map(|(order, value)| order as f64 * rank(value.1)).sum();
    let sum = (count - 1.0) * count / 2.0;
    let squares = (count - 1.0) * count * (2.0 * count - 1.0) / 6.0;
    Some((count * products - sum * sum) / (count * squares - sum * sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: impl IntoIterator<Item = i64>, table_rows: f64, target: usize) -> ColumnStatistics {
        let values: Vec<Datum<'_>> =
            values.into_iter().map(|value| if value < 0 { Datum::Null } else { Datum::Int(value) }).collect();
        column((0, Oid::INT4), &values, table_rows, target, &mut || Ok(())).unwrap().unwrap()
    }

    #[test]
    fn a_key_is_all_histogram() {
        let known = ints(0..1000, 1000.0, 10);
        assert_eq!((known.null_share, known.width, known.distinct), (0.0, 4.0, -1.0));
        assert!(known.common.is_empty());
        let bounds: Vec<i64> = known.bounds.iter().map(|bound| bound.datum().int()).collect();
        assert_eq!(bounds, [0, 99, 199, 299, 399, 499, 599, 699, 799, 899, 999]);
        assert_eq!(known.correlation, Some(1.0));
        assert_eq!(ints((0..1000).rev(), 1000.0, 10).correlation, Some(-1.0));
    }

    #[test]
    fn few_values_are_all_common() {
        let known = ints((0..1000).map(|row| row % 4), 1000.0, 10);
        assert_eq!(known.distinct, 4.0);
        let common: Vec<(f64, i64)> = known.common.iter().map(|(share, value)| (*share, value.datum().int())).collect();
        assert_eq!(common, [(0.25, 0), (0.25, 1), (0.25, 2), (0.25, 3)]);
        assert!(known.bounds.is_empty());
    }

    #[test]
    fn nulls_are_counted_apart() {
        let known = ints((0..100).map(|row| if row % 5 == 0 { -1 } else { row }), 100.0, 10);
        assert_eq!((known.null_share, known.distinct), (0.2, -0.8));
        let none = ints([-1, -1], 2.0, 10);
        assert_eq!((none.null_share, none.distinct, none.width), (1.0, 0.0, 4.0));
    }

    #[test]
    fn the_whole_is_guessed_from_the_sample() {
        // A tenth of a table with a thousand values: some are not in the sample, and of many there is one row.
        let known = ints((0..1000).map(|row| row * 48_271 % 65_537 % 1000), 10_000.0, 10);
        let guess = if known.distinct < 0.0 { -known.distinct * 10_000.0 } else { known.distinct };
        assert!((700.0..1300.0).contains(&guess), "{guess}");
    }

    #[test]
    fn chance_makes_no_value_common() {
        // Some values occur twice in the sample, and nothing says that they are frequent in the table.
        let known = ints((0..1000).map(|row| row * 7919 % 1009 / 2), 1_000_000.0, 100);
        assert!(known.common.is_empty(), "{:?}", known.common);
        assert_eq!(known.bounds.len(), 101);
    }

    #[test]
    fn long_values_are_values_of_their_own() {
        let long = [b'x'; WIDTH_MAX + 1];
        let values = [Datum::Bytes(&long), Datum::Bytes(&long)];
        let known = column((0, Oid::TEXT), &values, 2.0, 10, &mut || Ok(())).unwrap().unwrap();
        assert_eq!((known.distinct, known.common.len(), known.bounds.len()), (-1.0, 0, 0));
    }
}
