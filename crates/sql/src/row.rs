//! A row as it is stored: opaque bytes for the storage, values for everybody here.
//!
//! ```text
//! header u16 le: bits 0..11 the number of columns, bit 14 = there are packed values, bit 15 = there are nulls
//! | null bitmap, one bit a column, if there are nulls or packed values; a set bit is a null
//! | bitmap of packed values, one bit a column, if there are any
//! | the values that are not null, in column order, as `types::stored` writes them: fixed width, or length and bytes
//! ```
//! A *packed* value is compressed, or lies elsewhere ([`crate::large`]): what is in the row, with its length before it, says how the
//! value is had. Rows with packed values are rare and always have a null bitmap, so that they are told apart where nulls are.
//!
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
//! 4. Nobody takes what is in a row for a packed value by mistake: [`Row::get`] and [`Row::decode`] refuse it. Who may meet one asks
//!    [`Row::has_packed`], or reads by [`crate::large`].

use crate::types::{Datum, Kind, stored};
use base::{Error, Result, sqlstate};
use smallvec::SmallVec;

/// The most columns of a table: PostgreSQL's limit.
pub const COLUMNS_MAX: usize = 1600;

const HAS_NULLS: u16 = 1 << 15;
const HAS_PACKED: u16 = 1 << 14;
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

/// What a row has for a column.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Stored<'a> {
    /// Null, or a value.
    Plain(Datum<'a>),
    /// What stands for a value that is compressed or elsewhere.
    Packed(&'a [u8]),
}

/// Appends a row, some of whose values are packed, to `out`.
pub fn encode_packed(shapes: &[Shape], values: &[Stored<'_>], out: &mut Vec<u8>) -> Result<()> {
    assert_eq!(shapes.len(), values.len(), "a row has a value for each column");
    let start = out.len();
    let header = values.len() as u16 | HAS_NULLS | HAS_PACKED;
    out.extend_from_slice(&header.to_le_bytes());
    let bitmap = values.len().div_ceil(8);
    out.resize(out.len() + 2 * bitmap, 0);
    for (at, (shape, value)) in shapes.iter().zip(values).enumerate() {
        let (bit, byte) = (1 << (at % 8), start + HEADER_BYTES + at / 8);
        match value {
            Stored::Plain(Datum::Null) => out[byte] |= bit,
            Stored::Plain(value) => stored::put(shape.kind, *value, out)?,
            Stored::Packed(bytes) => {
                out[byte + bitmap] |= bit;
                stored::put_length(bytes.len(), out);
                out.extend_from_slice(bytes);
            }
        }
    }
    Ok(())
}

/// Has a row packed values? Of bytes that are no row: no.
#[inline]
pub fn has_packed(row: &[u8]) -> bool {
    row.get(1).is_some_and(|byte| byte & (HAS_PACKED >> 8) as u8 != 0)
}

/// Appends a row of these values to `out`, if it has no more bytes than `limit`. False if it has: what was appended is not the row then.
#[inline]
pub fn encode_short(shapes: &[Shape], values: &[Datum<'_>], limit: usize, out: &mut Vec<u8>) -> Result<bool> {
    // Long values are not copied only to find that out.
    if values.iter().any(|value| matches!(value, Datum::Bytes(bytes) if bytes.len() > limit)) {
        return Ok(false);
    }
    let start = out.len();
    encode(shapes, values, out)?;
    Ok(out.len() - start <= limit)
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

/// What a reader hears who does not expect a packed value.
#[cold]
fn packed() -> Error {
    Error::statement(sqlstate::INTERNAL_ERROR, "a packed value is read as if it were none")
}

/// A stored row whose header has been read.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    bytes: &'a [u8],
    count: usize,
    nulls: Option<&'a [u8]>,
    /// The bitmap of packed values; empty if there are none.
    packed: &'a [u8],
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
        if header & !(HAS_NULLS | HAS_PACKED | COUNT_MASK) != 0 || count > COLUMNS_MAX {
            return Err(damaged());
        }
        match header & (HAS_NULLS | HAS_PACKED) {
            0 => return Ok(Row { bytes, count, nulls: None, packed: &[], start: HEADER_BYTES }),
            HAS_NULLS => {}
            HAS_PACKED => return Err(damaged()),
            _ => return Row::with_packed(bytes, count),
        }
        let start = HEADER_BYTES + count.div_ceil(8);
        match bytes.get(HEADER_BYTES..start) {
            Some(nulls) => Ok(Row { bytes, count, nulls: Some(nulls), packed: &[], start }),
            None => Err(damaged()),
        }
    }

    #[cold]
    fn with_packed(bytes: &'a [u8], count: usize) -> Result<Row<'a>> {
        let bitmap = count.div_ceil(8);
        let start = HEADER_BYTES + 2 * bitmap;
        match bytes.get(HEADER_BYTES..start) {
            Some(both) => Ok(Row { bytes, count, nulls: Some(&both[..bitmap]), packed: &both[bitmap..], start }),
            None => Err(damaged()),
        }
    }

    /// Are there packed values?
    #[inline]
    pub fn has_packed(&self) -> bool {
        !self.packed.is_empty()
    }

    /// Is the column's value packed?
    #[inline]
    pub fn is_packed(&self, column: usize) -> bool {
        self.packed.get(column / 8).is_some_and(|byte| byte >> (column % 8) & 1 == 1)
    }

    /// What the row has for a column; null if the row is older than the column.
    pub fn stored(&self, shapes: &[Shape], column: usize) -> Result<Stored<'a>> {
        if column >= self.count || self.is_null(column) || !self.is_packed(column) {
            return self.get(shapes, column).map(Stored::Plain);
        }
        let (length, start) = stored::length_at(self.bytes, self.find(shapes, column)?)?;
        self.bytes.get(start..start + length).map(Stored::Packed).ok_or_else(damaged)
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
            _ if self.is_packed(column) => return Err(packed()),
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

    /// Reads some columns, which are given in ascending order, in one pass: `set` is called for each with what came along with it.
    #[inline]
    pub fn each(
        &self,
        shapes: &[Shape],
        columns: impl Iterator<Item = [u32; 2]>,
        mut set: impl FnMut(u32, Datum<'a>) -> Result<()>,
    ) -> Result<()> {
        // The column that begins at a place.
        let (mut next, mut at) = (0, self.start);
        for [column, word] in columns {
            let column = column as usize;
            if column >= self.count || self.is_null(column) {
                set(word, Datum::Null)?;
                continue;
            }
            let shape = shapes[column];
            if self.nulls.is_none() && shape.place != NO_PLACE {
                (next, at) = (column, usize::from(shape.place));
            } else if next == 0 && self.nulls.is_none() {
                // The last column whose place is known.
                let known = shapes[..column].iter().take_while(|shape| shape.place != NO_PLACE).count();
                if known > 0 {
                    (next, at) = (known - 1, usize::from(shapes[known - 1].place));
                }
            }
            while next < column {
                if !self.is_null(next) {
                    at = stored::skip(shapes[next].kind, self.bytes, at)?;
                }
                next += 1;
            }
            let (value, end) = stored::get(shape.kind, self.bytes, at)?;
            (next, at) = (column + 1, end);
            set(word, value)?;
        }
        Ok(())
    }

    /// The values of the first columns, as many as `out` has room for; null where the row has none. Answers how many the
    /// row has.
    #[inline]
    pub fn decode(&self, shapes: &[Shape], out: &mut [Datum<'a>]) -> Result<usize> {
        let wanted = out.len().min(shapes.len());
        let present = wanted.min(self.count);
        if self.has_packed() && (0..present).any(|column| self.is_packed(column)) {
            return Err(packed());
        }
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

/// Checks a whole row, but for values that are elsewhere: that it has no more columns than the table, that each value is one, that nothing follows.
pub fn check(shapes: &[Shape], bytes: &[u8]) -> Result<()> {
    let row = Row::new(bytes)?;
    if row.count > shapes.len() {
        return Err(damaged());
    }
    let mut at = row.start;
    for (column, shape) in shapes[..row.count].iter().enumerate() {
        if row.is_null(column) {
            continue;
        }
        if row.is_packed(column) {
            let (length, start) = stored::length_at(bytes, at)?;
            let packed = bytes.get(start..start + length).filter(|_| stored::width(shape.kind).is_none());
            crate::large::check(shape.kind, packed.ok_or_else(damaged)?)?;
            at = start + length;
            continue;
        }
        let (value, end) = stored::get(shape.kind, bytes, at)?;
        stored::check(shape.kind, value)?;
        at = end;
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
            for wanted in 0..64u32 {
                let columns = (0..6).filter(|column| wanted >> column & 1 == 1).map(|column| [column, column + 10]);
                let mut read = Vec::new();
                let set = |word, value| {
                    read.push((word, value));
                    Ok(())
                };
                row.each(&table, columns.clone(), set).expect("each");
                let right: Vec<_> = columns.map(|[column, word]| (word, values[column as usize])).collect();
                assert_eq!(read, right, "nulls {nulls:b} wanted {wanted:b}");
            }
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
