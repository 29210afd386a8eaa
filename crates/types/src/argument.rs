//! The names of functions' arguments, and what stands for those that a call leaves out.
//!
//! `make_interval(days => 3)` is a call with three named and four absent arguments; before functions are looked up by types it
//! becomes one with seven. Only functions whose arguments people name have a row here.
//!
//! Rules
//! 1. A function may have several rows; the first that a call fits counts.
//! 2. What a call leaves out is zero, of those functions that allow it at all.

/// A function's arguments.
struct Signature {
    function: &'static str,
    names: &'static [&'static str],
    /// How many of the last ones may be absent.
    absent: usize,
}

const fn signature(function: &'static str, names: &'static [&'static str], absent: usize) -> Signature {
    Signature { function, names, absent }
}

static SIGNATURES: &[Signature] = &[
    signature("make_date", &["year", "month", "day"], 0),
    signature("make_interval", &["years", "months", "weeks", "days", "hours", "mins", "secs"], 7),
    signature("make_time", &["hour", "min", "sec"], 0),
    signature("make_timestamp", &["year", "month", "mday", "hour", "min", "sec"], 0),
    signature("make_timestamptz", &["year", "month", "mday", "hour", "min", "sec"], 0),
    signature("make_timestamptz", &["year", "month", "mday", "hour", "min", "sec", "timezone"], 0),
];

/// May a call of this function leave arguments out?
pub fn has_defaults(function: &str) -> bool {
    SIGNATURES.iter().any(|row| row.function == function && row.absent > 0)
}

/// For each argument of the function the place among the call's arguments, none for one that is left out. `positional` arguments come
/// first in the call, then the `named` ones. None if no function fits.
pub fn places(function: &str, positional: usize, named: &[&str]) -> Option<Vec<Option<usize>>> {
    SIGNATURES.iter().filter(|row| row.function == function).find_map(|row| {
        if positional + named.len() > row.names.len() {
            return None;
        }
        let mut places: Vec<Option<usize>> = (0..row.names.len()).map(|at| (at < positional).then_some(at)).collect();
        for (index, name) in named.iter().enumerate() {
            let place = row.names.iter().position(|own| own == name)?;
            if places[place].replace(positional + index).is_some() {
                return None;
            }
        }
        let required = row.names.len() - row.absent;
        places[..required].iter().all(Option::is_some).then_some(places)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_find_their_places() {
        assert_eq!(places("make_date", 1, &["day", "month"]), Some(vec![Some(0), Some(2), Some(1)]));
        assert_eq!(places("make_date", 1, &["year", "day"]), None);
        assert_eq!(places("make_date", 0, &["year"]), None);
        let interval = places("make_interval", 1, &["secs"]).expect("interval");
        assert_eq!((interval[0], interval[1], interval[6]), (Some(0), None, Some(1)));
        assert_eq!(places("make_interval", 0, &["fortnights"]), None);
        assert!(has_defaults("make_interval") && !has_defaults("make_date"));
    }
}
