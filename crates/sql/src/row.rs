//! A row as it is stored: opaque bytes for the storage, values for everybody here.
//!
//! ```text
//! header u16 le: bits 0..11 the number of columns, bit 15 = there are nulls
//! | null bitmap, one bit a column, if there are nulls; a set bit is a null
//! | the values that are not null, in column order, as `types::stored` writes them: fixed width, or length and bytes
//! ```
//! There is no padding: numbers are read unaligned. The number of columns is the row's own: a column that was added to
//! the table later is not there, and reads as null or as what the caller says.
//!
//! A reader knows the table's columns as [`Shape`]s, plain values that lie in plans. A shape carries the place of its
//! column in a row without nulls, as far as columns of fixed width reach from the front; such a column is read at one
//! known place.
//!
//! Rules
//! 1. Rows are made by [`encode`] only. Anything else that is read is refused with [`Error::corruption`], and no bytes
//!    whatsoever make a reader panic.
//! 2. A reader checks lengths and headers, not the insides of values; [`check`] does, for everything.
//! 3. Columns are in the table's order and are never moved, so that a shape's place holds for rows of any age.

use crate::types::{Datum, Kind, stored};
use base::{Error, Result, sqlstate};
use smallvec::SmallVec;

/// The most columns of a table: PostgreSQL's limit.
pub const COLUMNS_MAX: usize = 1600;

const HAS_NULLS: u16 = 1 << 15;
const COUNT_MASK: u16 = 0x0FFF;
const HEADER_BYTES: usize = 2;
/// Marks a column whose place depends on the row.
const NO_PLACE: u16 = u16::MAX;

const _: () = assert!(COLUMNS_MAX <= COUNT_MASK as usize);

/// What a reader needs to know of a column.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// How its values are represented.
    pub kind: Kind,
    /// Where it begins in a row without nulls, if all columns before it have a fixed width.
    place: u16,
}

/// The shapes of a table's columns; without an allocation for those of a small one.
pub type Shapes = SmallVec<[Shape; 8]>;

/// The shapes of a table's columns, in order.
pub fn shapes(kinds: impl IntoIterator<Item = Kind>) -> Shapes {
    let mut place = Some(HEADER_BYTES);
    let mut shapes = Shapes::new();
    for kind in kinds {
        let known = place.and_then(|place| u16::try_from(place).ok()).filter(|place| *place != NO_PLACE);
        shapes.push(Shape { kind, place: known.unwrap_or(NO_PLACE) });
        place = place.zip(stored::width(kind)).map(|(place, width)| place + width);
    }
    shapes
}

/// Appends a row of these values to `out`.
pub fn encode(shapes: &[Shape], values: &[Datum<'_>], out: &mut Vec<u8>) -> Result<()> {
    assert_eq!(shapes.len(), values.len(), "a row has a value for each column");
    if values.len() > COLUMNS_MAX {
        let message = format!("tables can have at most {COLUMNS_MAX} columns");
        return Err(Error::statement(sqlstate::TOO_MANY_COLUMNS, message));
    }
    let start = out.len();
    let has_nulls = values.iter().any(|value| value.is_null());
    let header = values.len() as u16 | if has_nulls { HAS_NULLS } else { 0 };
    out.extend_from_slice(&header.to_le_bytes());
    if has_nulls {
        out.resize(out.len() + values.len().div_ceil(8), 0);
    }
    for (at, (shape, value)) in shapes.iter().zip(values).enumerate() {
        if value.is_null() {
            out[start + HEADER_BYTES + at / 8] |= 1 << (at % 8);
        } else if let Err(error) = stored::put(shape.kind, *value, out) {
            out.truncate(start);
            return Err(error);
        }
    }
    Ok(())
}

#[cold]
fn damaged() -> Error {
    Error::corruption("a stored row is damaged")
}

/// A stored row whose header has been read.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    bytes: &'a [u8],
    count: usize,
    nulls: Option<&'a [u8]>,
    /// Where the values begin.
    start: usize,
}

impl<'a> Row<'a> {
    /// Reads the header.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Row<'a>> {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(damaged());
        };
        let header = u16::from_le_bytes(*header);
        let count = usize::from(header & COUNT_MASK);
        if header & !(HAS_NULLS | COUNT_MASK) != 0 || count > COLUMNS_MAX {
            return Err(damaged());
        }
        if header & HAS_NULLS == 0 {
            return Ok(Row { bytes, count, nulls: None, start: HEADER_BYTES });
        }
        let start = HEADER_BYTES + count.div_ceil(8);
        match bytes.get(HEADER_BYTES..start) {
            Some(nulls) => Ok(Row { bytes, count, nulls: Some(nulls), start }),
            None => Err(damaged()),
        }
    }

    /// How many columns the row was made with.
    pub fn column_count(&self) -> usize {
        self.count
    }

    /// Is the column there, and not null? The caller knows that the row has so many columns.
    #[inline]
    fn is_null(&self, column: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls[column / 8] >> (column % 8) & 1 == 1)
    }

    /// A column's value; null if the row is older than the column.
    #[inline]
    pub fn get(&self, shapes: &[Shape], column: usize) -> Result<Datum<'a>> {
        if column >= self.count || self.is_null(column) {
            return Ok(Datum::Null);
        }
        let shape = shapes[column];
        let at = match self.nulls {
            None if shape.place != NO_PLACE => usize::from(shape.place),
            _ => self.find(shapes, column)?,
        };
        stored::get(shape.kind, self.bytes, at).map(|(value, _)| value)
    }

    /// Where a column begins: past all the values before it.
    fn find(&self, shapes: &[Shape], column: usize) -> Result<usize> {
        let mut at = self.start;
        let mut first = 0;
        if self.nulls.is_none() {
            // The last column before it whose place is known.
            let known = shapes[..column].partition_point(|shape| shape.place != NO_PLACE);
            if known > 0 {
                first = known - 1;
                at = usize::from(shapes[first].place);
            }
        }
        for (number, shape) in shapes[..column].iter().enumerate().skip(first) {
            if !self.is_null(number) {
                at = stored::skip(shape.kind, self.bytes, at)?;
            }
        }
        Ok(at)
    }

    /// The values of the first columns, as many as `out` has room for; null where the row has none. Answers how many the
    /// row has.
    #[inline]
    pub fn decode(&self, shapes: &[Shape], out: &mut [Datum<'a>]) -> Result<usize> {
        let wanted = out.len().min(shapes.len());
        let present = wanted.min(self.count);
        let mut at = self.start;
        for (column, (value, shape)) in out[..present].iter_mut().zip(shapes).enumerate() {
            *value = if self.is_null(column) {
                Datum::Null
            } else {
                let (value, end) = stored::get(shape.kind, self.bytes, at)?;
                at = end;
                value
            };
        }
        out[present..].fill(Datum::Null);
        Ok(self.count)
    }
}

/// Checks a whole row: that it has no more columns than the table, that each value is one, that nothing follows.
pub fn check(shapes: &[Shape], bytes: &[u8]) -> Result<()> {
    let row = Row::new(bytes)?;
    if row.count > shapes.len() {
        return Err(damaged());
    }
    let mut at = row.start;
    for (column, shape) in shapes[..row.count].iter().enumerate() {
        if !row.is_null(column) {
            let (value, end) = stored::get(shape.kind, bytes, at)?;
            stored::check(shape.kind, value)?;
            at = end;
        }
    }
    match at == bytes.len() {
        true => Ok(()),
        false => Err(damaged()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(shapes: &[Shape], values: &[Datum<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(shapes, values, &mut out).expect("encode");
        check(shapes, &out).expect("check");
        out
    }

    #[test]
    fn the_layout_is_pinned() {
        let accounts = shapes([Kind::Int4, Kind::Int4, Kind::Int4, Kind::Bpchar]);
        let row = encoded(&accounts, &[Datum::Int(1), Datum::Int(2), Datum::Int(-1), Datum::text("ab")]);
        assert_eq!(row, [4, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 2, b'a', b'b']);
        let row = encoded(&accounts, &[Datum::Int(1), Datum::Null, Datum::Int(3), Datum::Null]);
        assert_eq!(row, [4, 0x80, 0b1010, 1, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(encoded(&[], &[]), [0, 0]);
    }

    #[test]
    fn columns_are_found_behind_any_others() {
        let table = shapes([Kind::Int8, Kind::Bool, Kind::Text, Kind::Int2, Kind::Text, Kind::Float8]);
        let places: Vec<bool> = table.iter().map(|shape| shape.place != NO_PLACE).collect();
        assert_eq!(places, [true, true, true, false, false, false]);
        let full = [
            Datum::Int(-5),
            Datum::Bool(true),
            Datum::text("hello"),
            Datum::Int(7),
            Datum::text(""),
            Datum::Float(2.5),
        ];
        for nulls in 0..64u32 {
            let values: Vec<Datum<'_>> = full
                .iter()
                .enumerate()
                .map(|(at, value)| if nulls >> at & 1 == 1 { Datum::Null } else { *value })
                .collect();
            let bytes = encoded(&table, &values);
            let row = Row::new(&bytes).expect("row");
            for (column, value) in values.iter().enumerate() {
                assert_eq!(row.get(&table, column).ok(), Some(*value), "nulls {nulls:b} column {column}");
            }
            let mut all = [Datum::Null; 6];
            assert_eq!(row.decode(&table, &mut all).ok(), Some(6));
            assert_eq!(all.as_slice(), values);
            let mut some = [Datum::Null; 3];
            row.decode(&table, &mut some).expect("decode");
            assert_eq!(some.as_slice(), &values[..3]);
        }
    }

    #[test]
    fn a_row_older_than_a_column_has_null_there() {
        let before = shapes([Kind::Int4, Kind::Text]);
        let after = shapes([Kind::Int4, Kind::Text, Kind::Int8]);
        let bytes = encoded(&before, &[Datum::Int(1), Datum::text("x")]);
        check(&after, &bytes).expect("an old row is whole");
        let row = Row::new(&bytes).expect("row");
        assert_eq!((row.column_count(), row.get(&after, 2).ok()), (2, Some(Datum::Null)));
        let mut all = [Datum::Bool(true); 3];
        assert_eq!(row.decode(&after, &mut all).ok(), Some(2));
        assert_eq!(all, [Datum::Int(1), Datum::text("x"), Datum::Null]);
        let younger = encoded(&after, &[Datum::Int(1), Datum::text("x"), Datum::Int(2)]);
        assert!(check(&before, &younger).is_err());
    }

    #[test]
    fn every_cut_is_found() {
        let table = shapes([Kind::Int4, Kind::Text, Kind::Numeric, Kind::Bool]);
        let bytes = encoded(&table, &[Datum::Int(1), Datum::text("hello"), Datum::Bytes(&[2, 5]), Datum::Bool(false)]);
        for length in 0..bytes.len() {
            assert!(check(&table, &bytes[..length]).is_err(), "{length}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(check(&table, &longer).is_err());
    }

    #[test]
    fn what_cannot_be_stored_leaves_nothing_behind() {
        let table = shapes([Kind::Text, Kind::Refused]);
        let mut out = vec![9];
        assert!(encode(&table, &[Datum::text("x"), Datum::Int(1)], &mut out).is_err());
        assert_eq!(out, [9]);
    }

    fn any_kind() -> impl Strategy<Value = Kind> {
        prop_oneof![
            Just(Kind::Bool),
            Just(Kind::Int2),
            Just(Kind::Int4),
            Just(Kind::Int8),
            Just(Kind::Float4),
            Just(Kind::Float8),
            Just(Kind::Text),
            Just(Kind::Bytea),
            Just(Kind::Uuid),
            Just(Kind::Interval),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn rows_read_back(columns in proptest::collection::vec((any_kind(), any::<i64>(), proptest::collection::vec(1u8..0x7F, 16..200), any::<bool>()), 0..20)) {
            let table = shapes(columns.iter().map(|column| column.0));
            let values: Vec<Datum<'_>> = columns.iter().map(|(kind, number, bytes, null)| match kind {
                _ if *null => Datum::Null,
                Kind::Bool => Datum::Bool(*number > 0),
                Kind::Int2 => Datum::Int((*number as i16).into()),
                Kind::Int4 => Datum::Int((*number as i32).into()),
                Kind::Int8 => Datum::Int(*number),
                Kind::Float4 => Datum::Float((*number as f32).into()),
                Kind::Float8 => Datum::Float(*number as f64),
                Kind::Uuid | Kind::Interval => Datum::Bytes(&bytes[..16]),
                _ => Datum::Bytes(bytes),
            }).collect();
            let bytes = encoded(&table, &values);
            let row = Row::new(&bytes).expect("row");
            let mut all = vec![Datum::Bool(false); values.len()];
            row.decode(&table, &mut all).expect("decode");
            prop_assert_eq!(&all, &values);
            for (column, value) in values.iter().enumerate() {
                prop_assert_eq!(row.get(&table, column).expect("get"), *value);
            }
        }

        #[test]
        fn any_bytes_are_a_row_or_damage(bytes in proptest::collection::vec(any::<u8>(), 0..60), kinds in proptest::collection::vec(any_kind(), 0..12)) {
            let table = shapes(kinds);
            let _ = check(&table, &bytes);
            if let Ok(row) = Row::new(&bytes) {
                for column in 0..table.len() {
                    let _ = row.get(&table, column);
                }
                let _ = row.decode(&table, &mut vec![Datum::Null; table.len()]);
            }
        }
    }
}
