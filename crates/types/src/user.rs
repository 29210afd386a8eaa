//! Types that users have made, as far as numbers tell of them: which kind of type it is, what its array is, which value is which.
//!
//! What such a type is called, and what its values are called, is the catalog's to know ([`UserTypes`]); how they are represented,
//! compared and stored must not need it. So the number of a type says what it is, and a value says of which type it is:
//!
//! ```text
//!  a type's number     0100 nnnn nnnn nnnn nnnn nnnn nnnn nnnn   an enum, made as object n
//!                      0101 nnnn nnnn nnnn nnnn nnnn nnnn nnnn   the array of it
//!                      0110 nnnn nnnn nnnn nnnn nnnn nnnn nnnn   a domain; no value has it as its type
//!  an enum's value     0 n(28 bits) position(35 bits)            in the order of the positions
//! ```
//!
//! A text that is kept, and one made where no catalog is at hand, names a type of a user by its number in a *mark*: a quoted name that
//! begins with a control character. A mark is read like any other name; whoever shows the text fills names in ([`fill`]).
//!
//! Rules
//! 1. The position of a value never changes, because rows and keys have it: a value that comes between two others gets a place
//!    between theirs ([`between`]).
//! 2. No user can make a name that is a mark.

use crate::table::Oid;
use base::{Result, sqlstate};
use std::borrow::Cow;
use std::fmt;

const NUMBER_BITS: u32 = 28;
const CLASS_ENUM: u32 = 0b0100;
const CLASS_ENUM_ARRAY: u32 = 0b0101;
const CLASS_DOMAIN: u32 = 0b0110;
const POSITION_BITS: u32 = 35;
/// Positions are less than this.
const POSITION_END: i64 = 1 << POSITION_BITS;
/// How far values lie apart that are made one after another: 2,048 of them, and 24 times one between two others.
const STEP: i64 = 1 << 24;
/// What begins a mark; the number and a quote follow.
const MARK: &str = "\"\u{1}";

const fn class(oid: Oid) -> u32 {
    oid.0 >> NUMBER_BITS
}

const fn of_class(class: u32, oid: Oid) -> Oid {
    Oid(class << NUMBER_BITS | oid.0 & ((1 << NUMBER_BITS) - 1))
}

/// The number of the enum that is made as an object of that number; none if numbers are used up.
pub fn enum_type(object: u32) -> Option<Oid> {
    (object >> NUMBER_BITS == 0).then_some(of_class(CLASS_ENUM, Oid(object)))
}

/// The number of the domain that is made as an object of that number; none if numbers are used up.
pub fn domain_type(object: u32) -> Option<Oid> {
    (object >> NUMBER_BITS == 0).then_some(of_class(CLASS_DOMAIN, Oid(object)))
}

/// Is it a domain? Its values have the type that it is made of: a column notes the domain beside that type.
#[inline]
pub const fn is_domain(oid: Oid) -> bool {
    class(oid) == CLASS_DOMAIN
}

/// Is it an enum?
#[inline]
pub const fn is_enum(oid: Oid) -> bool {
    class(oid) == CLASS_ENUM
}

/// Is it an array of a type that a user has made?
#[inline]
pub const fn is_array(oid: Oid) -> bool {
    class(oid) == CLASS_ENUM_ARRAY
}

/// Is it a type that a user has made, or an array of one?
#[inline]
pub const fn is_user(oid: Oid) -> bool {
    is_enum(oid) || is_array(oid) || is_domain(oid)
}

/// The array of a type that a user has made.
pub const fn array_of(oid: Oid) -> Option<Oid> {
    if is_enum(oid) { Some(of_class(CLASS_ENUM_ARRAY, oid)) } else { None }
}

/// What such an array is made of.
pub const fn element_of(oid: Oid) -> Option<Oid> {
    if is_array(oid) { Some(of_class(CLASS_ENUM, oid)) } else { None }
}

/// The type itself, of which this is one or an array.
pub const fn base_of(oid: Oid) -> Option<Oid> {
    if is_enum(oid) || is_domain(oid) { Some(oid) } else { element_of(oid) }
}

/// The value at a position of an enum.
pub const fn enum_value(ty: Oid, position: i64) -> i64 {
    ((ty.0 & ((1 << NUMBER_BITS) - 1)) as i64) << POSITION_BITS | position
}

/// The enum that a value is of.
pub const fn enum_of(value: i64) -> Oid {
    of_class(CLASS_ENUM, Oid((value >> POSITION_BITS) as u32))
}

/// The position of a value.
pub const fn position_of(value: i64) -> i64 {
    value & (POSITION_END - 1)
}

/// A position as `pg_enum.enumsortorder` shows it: the first values of an enum have 1, 2 and so on.
pub fn order_of(position: i64) -> f64 {
    position as f64 / STEP as f64
}

/// The positions of so many values of a new enum.
pub fn positions(count: usize) -> impl Iterator<Item = i64> {
    let step = STEP.min((POSITION_END - 1) / (count as i64 + 1)).max(1);
    (1..=count as i64).map(move |index| index * step)
}

/// A position between two others, or behind the last; none where there is no room.
pub fn between(before: Option<i64>, after: Option<i64>) -> Option<i64> {
    let low = before.unwrap_or(0);
    let position = match after {
        Some(after) => low + (after - low) / 2,
        None if POSITION_END - low > STEP => low + STEP,
        None => low + (POSITION_END - low) / 2,
    };
    (position > low && position < after.unwrap_or(POSITION_END)).then_some(position)
}

/// What is known of users' types where values become texts and texts become values.
pub trait UserTypes: fmt::Debug {
    /// The label of a value. Errors: `XX001` for a value that its type does not have.
    fn label(&self, value: i64) -> Result<&str>;

    /// The value of a label. Errors: `22P02` for one that there is not, `55P04` for one that may not be used yet.
    fn value(&self, ty: Oid, label: &str) -> Result<i64>;

    /// All values of an enum, in their order, also those that may not be used yet.
    fn values(&self, ty: Oid) -> Result<Vec<i64>>;

    /// May a value be used? Errors: `55P04`.
    fn check(&self, value: i64) -> Result<()>;
}

/// The error of a text that is no label of the type.
#[cold]
pub fn no_label(ty: Oid, label: &str) -> base::Error {
    let message = format!("invalid input value for enum {}: \"{label}\"", mark(ty));
    base::Error::statement(sqlstate::INVALID_TEXT_REPRESENTATION, message)
}

/// What a text names a type of a user by.
pub fn mark(oid: Oid) -> String {
    match element_of(oid) {
        Some(element) => format!("{MARK}{}\"[]", element.0),
        None => format!("{MARK}{}\"", oid.0),
    }
}

/// The type that a name without its quotes marks; none for an ordinary name.
pub fn marked(name: &str) -> Option<Oid> {
    let number = name.strip_prefix('\u{1}')?.parse().ok()?;
    Some(Oid(number)).filter(|oid| is_enum(*oid) || is_domain(*oid))
}

/// Are there marks in a text?
pub fn has_marks(text: &str) -> bool {
    text.contains('\u{1}')
}

/// A text with names in the place of marks.
pub fn fill(text: &str, name: impl Fn(Oid) -> String) -> Cow<'_, str> {
    if !has_marks(text) {
        return Cow::Borrowed(text);
    }
    let (mut filled, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(MARK) {
        let inner = &rest[at + 1..];
        let Some(end) = inner.find('"') else { break };
        filled.push_str(&rest[..at]);
        match marked(&inner[..end]) {
            Some(oid) => filled.push_str(&name(oid)),
            None => filled.push_str(&rest[at..at + end + 2]),
        }
        rest = &inner[end + 1..];
    }
    filled.push_str(rest);
    Cow::Owned(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_tell_what_a_type_is() {
        let ty = enum_type(16_500).expect("a number");
        let array = array_of(ty).expect("an array");
        assert!(
            is_enum(ty) && is_array(array) && is_user(array) && !is_user(Oid(16_500)) && !is_user(Oid(0xFFC0_0000))
        );
        assert_eq!((element_of(array), base_of(array), base_of(ty)), (Some(ty), Some(ty), Some(ty)));
        assert_eq!((enum_type(1 << 28), array_of(array), element_of(ty)), (None, None, None));
        let domain = domain_type(16_500).expect("a number");
        assert!(is_domain(domain) && is_user(domain) && !is_enum(domain) && !is_array(domain) && !is_domain(ty));
        assert_eq!((base_of(domain), array_of(domain), domain_type(1 << 28)), (Some(domain), None, None));
        assert_eq!(marked(&format!("\u{1}{}", domain.0)), Some(domain));
        let value = enum_value(ty, 77);
        assert_eq!((enum_of(value), position_of(value)), (ty, 77));
    }

    #[test]
    fn there_is_room_between_and_behind() {
        let mut all: Vec<i64> = positions(3).collect();
        for _ in 0..20 {
            all.insert(1, between(Some(all[0]), Some(all[1])).expect("room between"));
            all.insert(0, between(None, Some(all[0])).expect("room before"));
            all.push(between(all.last().copied(), None).expect("room behind"));
        }
        assert!(all.is_sorted_by(|a, b| a < b) && all[0] > 0, "{all:?}");
        assert_eq!((between(Some(4), Some(5)), between(Some(POSITION_END - 1), None)), (None, None));
        assert!(positions(100_000).all(|position| position < POSITION_END));
    }

    #[test]
    fn marks_are_filled_in() {
        let ty = enum_type(20_000).expect("a number");
        let text = format!("'a'::{} or x = any (null::{})", mark(ty), mark(array_of(ty).expect("an array")));
        assert_eq!(fill(&text, |oid| format!("<{}>", oid.0 & 0xFFFF)), "'a'::<20000> or x = any (null::<20000>[])");
        assert_eq!(fill("\"\u{1}7\" \"\u{1}x", |_| "y".into()), "\"\u{1}7\" \"\u{1}x");
        assert_eq!(marked(&format!("\u{1}{}", ty.0)), Some(ty));
    }
}
