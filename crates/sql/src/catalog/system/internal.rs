//! Functions that the catalogs name and nobody calls: those that read and write the values of types, that compare for indexes, that stand
//! behind operators and casts.
//!
//! The server does what they do by [`Op`](crate::types::op::Op)s. Clients look for their names and numbers: `typinput = 'array_in'::regproc`
//! is how some of them know an array. `internal.txt` has them; it is read anew for each question, because few ask.

use crate::types::Oid;
use std::collections::BTreeMap;

static TEXT: &str = include_str!("internal.txt");

/// A function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Internal {
    /// `pg_proc.oid`
    pub(crate) oid: Oid,
    /// `pg_proc.proname`
    pub(crate) name: &'static str,
    /// `pg_proc.prorettype`
    pub(crate) result: Oid,
    /// `pg_proc.proisstrict`
    pub(crate) strict: bool,
    /// `pg_proc.provolatile`
    pub(crate) volatility: u8,
    /// `pg_proc.proargtypes`
    pub(crate) args: Vec<Oid>,
}

/// The functions of a type: input, output, receive, send, modifiers in and out, analysis, subscripts.
pub(crate) type OfType = [Oid; 8];

/// The lines of a part of the file.
fn part(name: &str) -> impl Iterator<Item = &'static str> {
    let lines = TEXT.lines().skip_while(move |line| *line != name).skip(1);
    lines.take_while(|line| line.starts_with(' ')).map(str::trim)
}

fn number(word: &str) -> Oid {
    Oid(word.parse().unwrap_or_default())
}

fn read(line: &'static str) -> Option<Internal> {
    let mut words = line.split(' ');
    Some(Internal {
        oid: number(words.next()?),
        name: words.next()?,
        result: number(words.next()?),
        strict: words.next()? == "t",
        volatility: words.next()?.bytes().next()?,
        args: words.map(number).collect(),
    })
}

/// All of them.
pub(crate) fn functions() -> impl Iterator<Item = Internal> {
    part("functions").filter_map(read)
}

/// The one of that number.
pub(crate) fn by_oid(oid: Oid) -> Option<Internal> {
    functions().find(|function| function.oid == oid)
}

/// Those of that name.
pub(crate) fn by_name(name: &str) -> Vec<Internal> {
    functions().filter(|function| function.name == name).collect()
}

/// The functions of every type.
pub(crate) fn of_types() -> BTreeMap<Oid, OfType> {
    let read = |line: &str| {
        let mut words = line.split(' ').map(number);
        Some((words.next()?, std::array::from_fn(|_| words.next().unwrap_or_default())))
    };
    part("types").filter_map(read).collect()
}

/// The functions behind casts, by source and target.
pub(crate) fn of_casts() -> BTreeMap<(Oid, Oid), Oid> {
    let read = |line: &str| {
        let mut words = line.split(' ').map(number);
        Some(((words.next()?, words.next()?), words.next()?))
    };
    part("casts").filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{cast, function, operator, table};

    #[test]
    fn what_is_named_is_there_once() {
        let all: Vec<Internal> = functions().collect();
        assert!(all.len() > 300 && all.windows(2).all(|pair| pair[0].oid < pair[1].oid));
        let known = |oid: Oid| oid.is_none() || by_oid(oid).is_some() || function::by_oid(oid).is_some();
        for (ty, functions) in of_types() {
            assert!(table::by_oid(ty).is_some() && functions.iter().all(|oid| known(*oid)), "{ty:?}");
        }
        assert!(of_casts().values().all(|oid| known(*oid)));
        assert!(operator::TABLE.iter().all(|row| known(row.function)));
        assert!(cast::TABLE.iter().filter(|row| of_casts().contains_key(&(row.source, row.target))).count() > 90);
        // Who calls a function finds it in the other table.
        assert!(all.iter().all(|internal| function::by_oid(internal.oid).is_none()));
    }

    #[test]
    fn an_array_is_read_by_its_function() {
        let input = by_name("array_in").pop().expect("arrays are read");
        assert_eq!((input.oid, input.args.len()), (Oid(750), 3));
        assert_eq!(of_types()[&Oid::INT4_ARRAY][0], input.oid);
    }
}
