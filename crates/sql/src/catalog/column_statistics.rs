//! What `ANALYZE` found in a table's columns, and how the catalog keeps it.
//!
//! ```text
//!  image  a list of columns, each:
//!         number u16 | type u32 | null share | width | distinct | correlation or NaN      four numbers of 64 bits
//!         | common values: share, value, …  | bounds of the histogram: value, …
//! ```
//!
//! The words are PostgreSQL's (`pg_stats`): *distinct* is a number of values if it is positive, a share of the rows if it is
//! negative (the column grows with the table), and unknown if it is zero; *common values* are those that are clearly more frequent
//! than others; the *bounds* cut what is not common into parts of the same number of rows; *correlation* says how far
//! the rows lie in the order of the values.
//!
//! Rules
//! 1. Statistics are a hint: they may be old, and are only good for guesses. Damage is found as for any definition.
//! 2. A column that was changed to another type since has none.

use crate::plan::blob::Constant;
use crate::types::{Oid, stored, table};
use base::codec::Reader;
use base::{Error, Result};

/// What is known of a table's columns.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TableStatistics {
    /// The columns that something is known of, by number.
    pub columns: Vec<ColumnStatistics>,
}

/// What is known of a column.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnStatistics {
    /// Its number, counted from zero.
    pub column: u16,
    /// Its type.
    pub ty: Oid,
    /// The share of rows that are null.
    pub null_share: f64,
    /// The mean width of a value, in bytes.
    pub width: f64,
    /// How many values there are: see above.
    pub distinct: f64,
    /// How far rows lie in the order of values, from -1 to 1; none where values have no order.
    pub correlation: Option<f64>,
    /// The most common values with their shares of the rows, the most common one first.
    pub common: Vec<(f64, Constant)>,
    /// Bounds of parts with the same number of rows, in order.
    pub bounds: Vec<Constant>,
}

impl TableStatistics {
    /// What is known of a column that has this type.
    pub fn column(&self, column: u16, ty: Oid) -> Option<&ColumnStatistics> {
        self.columns.iter().find(|known| known.column == column && known.ty == ty)
    }
}

impl ColumnStatistics {
    /// How many values there are among so many rows, if it is known.
    pub fn distinct_of(&self, rows: f64) -> Option<f64> {
        match self.distinct {
            known if known > 0.0 => Some(known),
            share if share < 0.0 => Some((-share * rows).max(1.0)),
            _ => None,
        }
    }
}

fn damaged() -> Error {
    Error::corruption("statistics in the catalog are damaged")
}

/// Statistics as bytes.
pub fn image(statistics: &TableStatistics) -> Result<Vec<u8>> {
    let mut out = (statistics.columns.len() as u16).to_le_bytes().to_vec();
    for column in &statistics.columns {
        let kind = table::kind(column.ty);
        out.extend_from_slice(&column.column.to_le_bytes());
        out.extend_from_slice(&column.ty.0.to_le_bytes());
        let correlation = column.correlation.unwrap_or(f64::NAN);
        for number in [column.null_share, column.width, column.distinct, correlation] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&(column.common.len() as u32).to_le_bytes());
        for (share, value) in &column.common {
            out.extend_from_slice(&share.to_le_bytes());
            stored::put(kind, value.datum(), &mut out)?;
        }
        out.extend_from_slice(&(column.bounds.len() as u32).to_le_bytes());
        for value in &column.bounds {
            stored::put(kind, value.datum(), &mut out)?;
        }
    }
    Ok(out)
}

/// The statistics that these bytes hold.
pub fn read(image: &[u8]) -> Result<TableStatistics> {
    let mut reader = Reader::new(image);
    let count = reader.u16_le().ok_or_else(damaged)?;
    let mut columns = Vec::new();
    for _ in 0..count {
        columns.push(read_column(&mut reader)?);
    }
    match reader.is_empty() {
        true => Ok(TableStatistics { columns }),
        false => Err(damaged()),
    }
}

fn read_column(reader: &mut Reader<'_>) -> Result<ColumnStatistics> {
    let column = reader.u16_le().ok_or_else(damaged)?;
    let ty = Oid(reader.u32_le().ok_or_else(damaged)?);
    let (null_share, width, distinct) = (number(reader)?, number(reader)?, number(reader)?);
    let correlation = Some(number(reader)?).filter(|known| !known.is_nan());
    let mut common = Vec::new();
    for _ in 0..reader.u32_le().ok_or_else(damaged)? {
        let share = number(reader)?;
        common.push((share, value(reader, ty)?));
    }
    let mut bounds = Vec::new();
    for _ in 0..reader.u32_le().ok_or_else(damaged)? {
        bounds.push(value(reader, ty)?);
    }
    Ok(ColumnStatistics { column, ty, null_share, width, distinct, correlation, common, bounds })
}

fn number(reader: &mut Reader<'_>) -> Result<f64> {
    reader.u64_le().map(f64::from_bits).ok_or_else(damaged)
}

fn value(reader: &mut Reader<'_>, ty: Oid) -> Result<Constant> {
    let kind = table::kind(ty);
    // The kinds without values have no statistics; here they would not use up any bytes.
    if stored::width(kind) == Some(0) {
        return Err(damaged());
    }
    let (value, end) = {
        let (value, end) = stored::get(kind, reader.rest(), 0)?;
        stored::check(kind, value)?;
        (Constant::of(value), end)
    };
    reader.bytes(end).ok_or_else(damaged)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> TableStatistics {
        let column = |column, ty, values: [Constant; 2]| ColumnStatistics {
            column,
            ty,
            null_share: 0.25,
            width: 4.0,
            distinct: -0.5,
            correlation: (column == 0).then_some(0.75),
            common: vec![(0.125, values[0].clone())],
            bounds: values.to_vec(),
        };
        let text = |text: &str| Constant::Bytes(text.as_bytes().to_vec());
        TableStatistics {
            columns: vec![
                column(0, Oid::INT4, [Constant::Int(7), Constant::Int(-9)]),
                column(3, Oid::TEXT, [text("a"), text("")]),
            ],
        }
    }

    #[test]
    fn statistics_read_back() {
        let bytes = image(&some()).unwrap();
        assert_eq!(read(&bytes).unwrap(), some());
        assert_eq!(read(&image(&TableStatistics::default()).unwrap()).unwrap(), TableStatistics::default());
    }

    #[test]
    fn every_cut_is_found() {
        let bytes = image(&some()).unwrap();
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length}");
        }
        assert!(read(&[bytes.as_slice(), &[0]].concat()).is_err());
    }

    #[test]
    fn shares_of_distinct_values_grow_with_the_table() {
        let statistics = some();
        assert_eq!(statistics.columns[0].distinct_of(100.0), Some(50.0));
        assert_eq!(statistics.column(3, Oid::VARCHAR), None);
    }
}
