//! Which operator, function or aggregate a name and some argument types mean: PostgreSQL's rules, step by step.
//!
//! 1. A candidate whose types are exactly the arguments' is it. For a binary operator with one argument of type `unknown`
//!    (a string constant), that argument is first taken to be of the other's type.
//! 2. Candidates that the arguments cannot implicitly be cast to are dropped.
//! 3. Of what is left, those with the most exact matches are kept; then those with the most exact or preferred types.
//! 4. Where arguments are unknown: if all candidates want types of one category there, or some want a string, that
//!    category is taken, and in it the preferred type where a candidate has it.
//! 5. If all known arguments are of one type, the unknown ones are taken to be of it too.
//! 6. None left is `42883`, more than one `42725`.
//!
//! Polymorphic types are made concrete: all of `anyelement`, `anyarray`, `anynonarray` in a signature are one element
//! type; those of the `anycompatible` family are the common type of their arguments.
//!
//! Rules
//! 1. The answer names the types that the arguments are to be cast to, all implicit casts, except that an argument of
//!    `||` declared `anynonarray` beside a text is cast to text, which takes an assignment cast: [`Resolved::context`].
//! 2. Nothing here looks at values.

use super::aggregate::{self, Aggregate};
use super::cast::{self, Context, Method};
use super::function::{self, Function};
use super::op::Op;
use super::operator::{self, Operator};
use super::table::{self, Oid, Type};
use super::typmod::format_type;
use super::user;
use super::window::{self, WindowFunction};
use base::{Error, Result, SqlState, sqlstate};

/// An operator or function with concrete types.
#[derive(Clone, Debug)]
pub struct Resolved<T: 'static> {
    /// Its row.
    pub row: &'static T,
    /// The types that the arguments are to be cast to.
    pub args: Vec<Oid>,
    /// The type of the result.
    pub result: Oid,
    /// The context in which the arguments are cast.
    pub context: Context,
}

/// What a function's name stands for in a call.
#[derive(Clone, Debug)]
pub enum Callable {
    /// A function.
    Function(Resolved<Function>),
    /// An aggregate.
    Aggregate(Resolved<Aggregate>),
    /// A window function that is no aggregate.
    Window(Resolved<WindowFunction>),
    /// A type's name with one argument: a cast to it, written as a call.
    Cast(Oid, Method),
}

/// The types of a signature, whoever's it is.
trait Signature {
    fn args(&self) -> &[Oid];
    fn result(&self) -> Oid;
}

/// A function of a user among others of its name.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Which one.
    pub index: usize,
    /// The types of the arguments as they were given.
    pub args: Vec<Oid>,
}

impl Signature for Candidate {
    fn args(&self) -> &[Oid] {
        &self.args
    }

    fn result(&self) -> Oid {
        Oid::NONE
    }
}

/// Those among functions of users that a call with these types may mean: one, if it is resolved.
pub fn resolve_candidates(candidates: Vec<Candidate>, actual: &[Oid]) -> Vec<Candidate> {
    let exact: Vec<Candidate> = candidates.iter().filter(|candidate| candidate.args == actual).cloned().collect();
    if exact.is_empty() { select(candidates.into_iter(), actual) } else { exact }
}

macro_rules! signatures {
    ($($row:ty)*) => {
        $(impl Signature for &$row {
            fn args(&self) -> &[Oid] {
                self.args
            }

            fn result(&self) -> Oid {
                self.result
            }
        })*
    };
}

signatures! { Operator Function Aggregate WindowFunction }

/// Of a function, an aggregate, or a window function.
#[derive(Clone, Copy)]
enum Row {
    Function(&'static Function),
    Aggregate(&'static Aggregate),
    Window(&'static WindowFunction),
}

impl Signature for Row {
    fn args(&self) -> &[Oid] {
        match self {
            Row::Function(row) => row.args,
            Row::Aggregate(row) => row.args,
            Row::Window(row) => row.args,
        }
    }

    fn result(&self) -> Oid {
        match self {
            Row::Function(row) => row.result,
            Row::Aggregate(row) => row.result,
            Row::Window(row) => row.result,
        }
    }
}

fn category(oid: Oid) -> (u8, bool) {
    table::by_oid(oid).map_or((b'U', false), |row| (row.category, row.preferred))
}

/// Is it a type that the arguments of a call decide?
pub fn is_polymorphic(oid: Oid) -> bool {
    is_any_element(oid) || is_any_compatible(oid)
}

fn is_any_element(oid: Oid) -> bool {
    matches!(oid, Oid::ANYELEMENT | Oid::ANYARRAY | Oid::ANYNONARRAY | Oid::ANYENUM)
}

/// Is it one of those that are the common type of their arguments?
pub fn is_any_compatible(oid: Oid) -> bool {
    matches!(oid, Oid::ANYCOMPATIBLE | Oid::ANYCOMPATIBLEARRAY | Oid::ANYCOMPATIBLENONARRAY)
}

/// The element of a true array; vectors count as arrays of their elements.
fn array_element(oid: Oid) -> Option<Oid> {
    table::by_oid(oid)
        .filter(|row| row.category == b'A' || oid == Oid::RECORD_ARRAY)
        .and_then(|_| table::element_of(oid))
}

/// The concrete element type of one polymorphic family, and whether the arguments agree on it.
///
/// `Ok(None)` is that no argument tells it.
fn element_of_family(declared: &[Oid], actual: &[Oid]) -> std::result::Result<Option<Oid>, ()> {
    let mut element: Option<Oid> = None;
    for (declared, actual) in declared.iter().zip(actual) {
        if !is_any_element(*declared) || *actual == Oid::UNKNOWN {
            continue;
        }
        let told = match *declared {
            Oid::ANYARRAY => array_element(*actual).ok_or(())?,
            Oid::ANYNONARRAY if array_element(*actual).is_some() => return Err(()),
            Oid::ANYENUM if !user::is_enum(*actual) => return Err(()),
            _ => *actual,
        };
        if element.is_some_and(|known| known != told) {
            return Err(());
        }
        element = Some(told);
    }
    Ok(element)
}

/// The same for the family of compatible types: their common type.
fn common_of_family(declared: &[Oid], actual: &[Oid]) -> std::result::Result<Option<Oid>, ()> {
    let mut types = Vec::new();
    for (declared, actual) in declared.iter().zip(actual) {
        if !is_any_compatible(*declared) || *actual == Oid::UNKNOWN {
            continue;
        }
        types.push(match *declared {
            Oid::ANYCOMPATIBLEARRAY => array_element(*actual).ok_or(())?,
            Oid::ANYCOMPATIBLENONARRAY if array_element(*actual).is_some() => return Err(()),
            _ => *actual,
        });
    }
    match types.is_empty() {
        true => Ok(None),
        false => match select_common(&types) {
            Ok(common) if types.iter().all(|ty| cast::can_coerce(*ty, common, Context::Implicit)) => Ok(Some(common)),
            _ => Err(()),
        },
    }
}

/// May these arguments be cast implicitly to a candidate's types?
fn accepts(declared: &[Oid], actual: &[Oid]) -> bool {
    declared.len() == actual.len()
        && declared.iter().zip(actual).all(|(declared, actual)| {
            is_polymorphic(*declared) || cast::can_coerce(*actual, *declared, Context::Implicit)
        })
        && element_of_family(declared, actual).is_ok()
        && common_of_family(declared, actual).is_ok()
}

/// Steps 2 to 5. Answers the candidates that are left: one, if the name is resolved.
fn select<T: Signature>(candidates: impl Iterator<Item = T>, actual: &[Oid]) -> Vec<T> {
    let mut left: Vec<T> = candidates.filter(|candidate| accepts(candidate.args(), actual)).collect();
    let done = |left: &[T]| left.len() <= 1;
    let known = |at: usize| actual[at] != Oid::UNKNOWN;
    if !done(&left) {
        keep_best(&mut left, |args| (0..actual.len()).filter(|&at| known(at) && args[at] == actual[at]).count());
    }
    if !done(&left) {
        keep_best(&mut left, |args| {
            let good = |at: usize| {
                let (category, preferred) = category(args[at]);
                args[at] == actual[at] || (preferred && category == self::category(actual[at]).0)
            };
            (0..actual.len()).filter(|&at| known(at) && good(at)).count()
        });
    }
    if !done(&left) && !(0..actual.len()).all(known) {
        keep_by_category(&mut left, actual);
        if !done(&left) {
            keep_by_known_type(&mut left, actual);
        }
    }
    left
}

fn keep_best<T: Signature>(left: &mut Vec<T>, score: impl Fn(&[Oid]) -> usize) {
    let best = left.iter().map(|candidate| score(candidate.args())).max().unwrap_or(0);
    left.retain(|candidate| score(candidate.args()) == best);
}

/// Step 4.
fn keep_by_category<T: Signature>(left: &mut Vec<T>, actual: &[Oid]) {
    let mut wanted: Vec<Option<(u8, bool)>> = Vec::with_capacity(actual.len());
    for (at, ty) in actual.iter().enumerate() {
        if *ty != Oid::UNKNOWN {
            wanted.push(None);
            continue;
        }
        let categories = || left.iter().map(|candidate| category(candidate.args()[at]));
        let first = categories().next().map_or(b'U', |(category, _)| category);
        let chosen = match categories().all(|(category, _)| category == first) {
            true => first,
            false if categories().any(|(category, _)| category == b'S') => b'S',
            false => return,
        };
        let preferred = categories().any(|(category, preferred)| category == chosen && preferred);
        wanted.push(Some((chosen, preferred)));
    }
    let fits = |args: &[Oid]| {
        wanted.iter().zip(args).all(|(wanted, arg)| match wanted {
            None => true,
            Some((chosen, preferred)) => {
                let (category, is_preferred) = category(*arg);
                category == *chosen && (is_preferred || !preferred)
            }
        })
    };
    if left.iter().any(|candidate| fits(candidate.args())) {
        left.retain(|candidate| fits(candidate.args()));
    }
}

/// Step 5.
fn keep_by_known_type<T: Signature>(left: &mut Vec<T>, actual: &[Oid]) {
    let mut known = actual.iter().filter(|ty| **ty != Oid::UNKNOWN);
    let Some(first) = known.next() else {
        return;
    };
    if known.any(|ty| ty != first) {
        return;
    }
    let assumed = vec![*first; actual.len()];
    if left.iter().filter(|candidate| accepts(candidate.args(), &assumed)).count() == 1 {
        left.retain(|candidate| accepts(candidate.args(), &assumed));
    }
}

/// What types are in a call with these arguments, which are declared so.
///
/// Errors: `42804` where nothing tells, `42704` where there is no array of a type.
pub fn concrete_types(declared: &[Oid], actual: &[Oid], types: &[Oid]) -> Result<Vec<Oid>> {
    types.iter().map(|ty| make_concrete(declared, *ty, actual).map(|(_, ty)| ty)).collect()
}

/// Puts concrete types in the place of polymorphic ones, in the arguments and the result.
fn make_concrete(declared: &[Oid], result: Oid, actual: &[Oid]) -> Result<(Vec<Oid>, Oid)> {
    let undetermined = || {
        Error::statement(
            sqlstate::DATATYPE_MISMATCH,
            "could not determine polymorphic type because input has type unknown",
        )
    };
    let element = element_of_family(declared, actual).ok().flatten();
    let common = match common_of_family(declared, actual).ok().flatten() {
        // As PostgreSQL does where nothing tells the common type.
        None if declared.iter().any(|ty| is_any_compatible(*ty)) => Some(Oid::TEXT),
        common => common,
    };
    let concrete = |declared: Oid, actual: Option<Oid>| -> Result<Oid> {
        let array = |element: Option<Oid>| {
            let element = element.ok_or_else(undetermined)?;
            // A vector stays what it is, where an array of its elements is wanted.
            if let Some(actual) = actual.filter(|actual| array_element(*actual) == Some(element)) {
                return Ok(actual);
            }
            table::array_of(element).ok_or_else(|| {
                let message = format!("could not find array type for data type {}", show(element));
                Error::statement(sqlstate::UNDEFINED_OBJECT, message)
            })
        };
        match declared {
            Oid::ANYELEMENT | Oid::ANYNONARRAY | Oid::ANYENUM => element.ok_or_else(undetermined),
            Oid::ANYARRAY => array(element),
            Oid::ANYCOMPATIBLE | Oid::ANYCOMPATIBLENONARRAY => common.ok_or_else(undetermined),
            Oid::ANYCOMPATIBLEARRAY => array(common),
            Oid::ANY => Ok(actual.filter(|actual| *actual != Oid::UNKNOWN).unwrap_or(Oid::TEXT)),
            other => Ok(other),
        }
    };
    let args: Result<Vec<Oid>> =
        declared.iter().zip(actual).map(|(declared, actual)| concrete(*declared, Some(*actual))).collect();
    Ok((args?, concrete(result, None)?))
}

fn resolved<T>(row: &'static T, actual: &[Oid], op: Option<Op>) -> Result<Resolved<T>>
where
    &'static T: Signature,
{
    let declared = row.args();
    // `text || anything`: the other side is shown as text first.
    if op == Some(Op::TextCat) && declared.contains(&Oid::ANYNONARRAY) {
        return Ok(Resolved { row, args: vec![Oid::TEXT; 2], result: Oid::TEXT, context: Context::Assignment });
    }
    let (args, result) = make_concrete(declared, row.result(), actual)?;
    Ok(Resolved { row, args, result, context: Context::Implicit })
}

/// A type as errors show it.
pub fn show(oid: Oid) -> String {
    format_type(Type::plain(oid))
}

/// The operator that a name means between these types. `left` is `None` for a prefix operator.
pub fn resolve_operator(name: &str, left: Option<Oid>, right: Oid) -> Result<Resolved<Operator>> {
    let both = [left.unwrap_or(Oid::NONE), right];
    let actual = if left.is_some() { &both[..] } else { &both[1..] };
    // Of two operands one of which is unknown, that one is taken for the other's type.
    let assumed = match *actual {
        [Oid::UNKNOWN, other] | [other, Oid::UNKNOWN] => &[other, other],
        _ => actual,
    };
    let candidates = operator::by_name(name);
    if let Some(exact) = candidates.iter().find(|row| row.args == assumed) {
        return resolved(exact, assumed, Some(exact.op));
    }
    match select(candidates.iter(), actual)[..] {
        [only] => resolved(only, actual, Some(only.op)),
        [] => Err(operator_error(name, left, right, sqlstate::UNDEFINED_FUNCTION)),
        _ => Err(operator_error(name, left, right, sqlstate::AMBIGUOUS_FUNCTION)),
    }
}

#[cold]
fn operator_error(name: &str, left: Option<Oid>, right: Oid, code: SqlState) -> Error {
    let operands = match left {
        Some(left) => format!("{} {name} {}", show(left), show(right)),
        None => format!("{name} {}", show(right)),
    };
    if code == sqlstate::AMBIGUOUS_FUNCTION {
        return Error::statement(code, format!("operator is not unique: {operands}"))
            .hint("Could not choose a best candidate operator. You might need to add explicit type casts.");
    }
    let hint = match left {
        Some(_) => "No operator matches the given name and argument types. You might need to add explicit type casts.",
        None => "No operator matches the given name and argument type. You might need to add an explicit type cast.",
    };
    Error::statement(code, format!("operator does not exist: {operands}")).hint(hint)
}

/// The function, aggregate or cast that a call means. `count(*)` is a call of `count` without arguments.
pub fn resolve_function(name: &str, actual: &[Oid]) -> Result<Callable> {
    let candidates = || {
        let functions = function::by_name(name).iter().map(Row::Function);
        let aggregates = aggregate::by_name(name).iter().map(Row::Aggregate);
        functions.chain(aggregates).chain(window::by_name(name).iter().map(Row::Window))
    };
    let chosen = match candidates().find(|row| row.args() == actual) {
        Some(exact) => vec![exact],
        None => match call_of_type(name, actual) {
            Some(cast) => return Ok(cast),
            None => select(candidates(), actual),
        },
    };
    if chosen.is_empty()
        && let Some(row) = function::by_name(name).iter().find(|row| row.variadic && row.args.len() <= actual.len())
    {
        return resolved_variadic(row, actual).map(Callable::Function);
    }
    match chosen[..] {
        [Row::Function(row)] if row.variadic => resolved_variadic(row, actual).map(Callable::Function),
        [Row::Function(row)] => Ok(Callable::Function(resolved(row, actual, Some(row.op))?)),
        [Row::Aggregate(row)] => Ok(Callable::Aggregate(resolved(row, actual, None)?)),
        [Row::Window(row)] => Ok(Callable::Window(resolved(row, actual, None)?)),
        [] => Err(function_error(name, actual, sqlstate::UNDEFINED_FUNCTION)),
        _ => Err(function_error(name, actual, sqlstate::AMBIGUOUS_FUNCTION)),
    }
}

/// A function whose last argument stands any number of times: what is behind the others stays as it is.
fn resolved_variadic(row: &'static Function, actual: &[Oid]) -> Result<Resolved<Function>> {
    let fixed = row.args.len() - 1;
    let mut args = row.args[..fixed].to_vec();
    // One of any type, or one of an array's elements.
    args.resize(actual.len(), table::element_of(row.args[fixed]).unwrap_or(Oid::ANY));
    if args.iter().zip(actual).any(|(declared, actual)| !cast::can_coerce(*actual, *declared, Context::Implicit)) {
        return Err(function_error(row.name, actual, sqlstate::UNDEFINED_FUNCTION));
    }
    Ok(Resolved { row, args, result: row.result, context: Context::Implicit })
}

/// `int4('7')`: a type's name used as a function, where the cast needs no function of its own.
fn call_of_type(name: &str, actual: &[Oid]) -> Option<Callable> {
    let [source] = *actual else {
        return None;
    };
    let target = table::by_name(name)?.oid;
    match cast::find(source, target, Context::Explicit)? {
        method @ (Method::Relabel | Method::Text) => Some(Callable::Cast(target, method)),
        method if source == Oid::UNKNOWN => Some(Callable::Cast(target, method)),
        _ => None,
    }
}

/// The error of a call that means no function, or more than one.
#[cold]
pub fn function_error(name: &str, actual: &[Oid], code: SqlState) -> Error {
    let types: Vec<String> = actual.iter().map(|oid| show(*oid)).collect();
    let call = format!("{name}({})", types.join(", "));
    if code == sqlstate::AMBIGUOUS_FUNCTION {
        return Error::statement(code, format!("function {call} is not unique"))
            .hint("Could not choose a best candidate function. You might need to add explicit type casts.");
    }
    Error::statement(code, format!("function {call} does not exist"))
        .hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

/// The type that all of these become in a `UNION`, `CASE`, `COALESCE`, `VALUES`, `ARRAY` or `IN`; what is to be cast is
/// the caller's to see. `what` names the construct in errors: `UNION`, `CASE`.
pub fn common_type(types: &[Oid], what: &str) -> Result<Oid> {
    let common = select_common(types).map_err(|(first, second)| {
        let message = format!("{what} types {} and {} cannot be matched", show(first), show(second));
        Error::statement(sqlstate::DATATYPE_MISMATCH, message)
    })?;
    for ty in types {
        if !cast::can_coerce(*ty, common, Context::Implicit) {
            let message = format!("{what} could not convert type {} to {}", show(*ty), show(common));
            return Err(Error::statement(sqlstate::CANNOT_COERCE, message));
        }
    }
    Ok(common)
}

/// The first type that the others can be cast to, a preferred one if there is one; the two that do not match otherwise.
fn select_common(types: &[Oid]) -> std::result::Result<Oid, (Oid, Oid)> {
    let mut chosen = Oid::UNKNOWN;
    for &next in types.iter().filter(|ty| **ty != Oid::UNKNOWN) {
        if chosen == Oid::UNKNOWN {
            chosen = next;
            continue;
        }
        if next == chosen {
            continue;
        }
        let (chosen_category, preferred) = category(chosen);
        if category(next).0 != chosen_category {
            return Err((chosen, next));
        }
        let goes = |from, to| cast::can_coerce(from, to, Context::Implicit);
        if !preferred && goes(chosen, next) && !goes(next, chosen) {
            chosen = next;
        }
    }
    Ok(if chosen == Oid::UNKNOWN { Oid::TEXT } else { chosen })
}

#[cfg(test)]
mod tests;
