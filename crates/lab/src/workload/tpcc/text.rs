//! Names and random strings of the rows.

use fastrand::Rng;

/// The syllables of last names: three of them, one for each digit of a number below 1000.
pub const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// The constants that a random number which prefers some values is moved by (2.1.6.1): of last names when rows are made, and when
/// transactions ask for them, which lie 85 apart; of customers; of items.
pub const C_LOAD: u64 = 42;
/// See [`C_LOAD`].
pub const C_LAST: u64 = 127;
/// See [`C_LOAD`].
pub const C_CUSTOMER: u64 = 259;
/// See [`C_LOAD`].
pub const C_ITEM: u64 = 7911;

/// The last name of a number.
pub fn last_name(number: u64) -> String {
    [number / 100 % 10, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat()
}

/// The chance of a row: the same each time.
pub fn chance(table: u64, row: u64) -> Rng {
    Rng::with_seed(table << 48 ^ row.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Letters and digits, so many that a range says.
pub fn letters(rng: &mut Rng, least: usize, most: usize) -> String {
    let size = rng.usize(least..=most);
    (0..size).map(|_| rng.alphanumeric()).collect()
}

/// Digits.
pub fn digits(rng: &mut Rng, size: usize) -> String {
    (0..size).map(|_| rng.digit(10)).collect()
}

/// What items and stock say of themselves: one of ten is an original.
pub fn data(rng: &mut Rng) -> String {
    let mut text = letters(rng, 26, 50);
    if rng.u32(..10) == 0 {
        let at = rng.usize(..=text.len() - 8);
        text.replace_range(at..at + 8, "ORIGINAL");
    }
    text
}

/// A number that prefers some values (2.1.6).
pub fn preferring(rng: &mut Rng, range: u64, least: u64, most: u64, moved: u64) -> u64 {
    ((rng.u64(..=range) | rng.u64(least..=most)) + moved) % (most - least + 1) + least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_digits() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
    }

    #[test]
    fn one_of_ten_is_an_original() {
        let originals = (0..10_000).filter(|&row| data(&mut chance(1, row)).contains("ORIGINAL")).count();
        assert!((850..1150).contains(&originals), "{originals}");
    }
}
