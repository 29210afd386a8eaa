//! Rows of the catalog's heap: parts of the images of objects.
//!
//! An object is one *image* ([`super::codec`]); an image is cut into *parts*, each a row of the heap, because a row has to fit on a page.
//!
//! ```text
//!  row    format u8 | kind u8 | database u32 | number u32 | part u16 | parts u16 | bytes of the image
//!  before format u8 | kind u8 |                number u32 | part u16 | parts u16 | bytes of the image       format 1
//! ```
//!
//! Rules
//! 1. The first byte is the format. A later version of the server reads the formats before it, and writes its own: rows of format 1
//!    are of the one database that there was, or of none.
//! 2. Bytes are checked as they are read: what is no part is refused with [`Error::corruption`], never unwrapped.
//! 3. The kind says whether an object is a database's, or one that all of them share ([`ObjectClass::is_shared`]).

use super::database::POSTGRES;
use super::privilege::Securable;
use crate::types::Oid;
use base::codec::Reader;
use base::{Error, Result};

/// The format that is written.
const FORMAT: u8 = 2;
/// The one before it, of servers with one database.
const FORMAT_OF_ONE: u8 = 1;
/// The most bytes of an image in a row: two of them fit on a page.
pub const PART_BYTES: usize = 3900;

/// What kind of object a row is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum ObjectClass {
    /// A table.
    Table = 1,
    /// A schema.
    Schema = 2,
    /// What is known of a table's size.
    Statistics = 3,
    /// A role.
    Role = 4,
    /// A procedure.
    Routine = 5,
    /// What is known of a table's columns.
    ColumnStatistics = 7,
    /// What was said of something that is no table.
    Comment = 8,
    /// The privileges of an object.
    Privileges = 11,
    /// Settings that sessions begin with.
    StoredSettings = 12,
    /// The privileges of what a role is going to make.
    DefaultPrivileges = 13,
    /// A type.
    Type = 14,
    /// A database.
    Database = 15,
    /// The privileges of a database.
    DatabasePrivileges = 16,
    /// What was said of a database.
    DatabaseComment = 17,
}

impl ObjectClass {
    fn from_number(number: u8) -> Option<ObjectClass> {
        Some(match number {
            1 => ObjectClass::Table,
            2 => ObjectClass::Schema,
            3 => ObjectClass::Statistics,
            4 => ObjectClass::Role,
            5 => ObjectClass::Routine,
            7 => ObjectClass::ColumnStatistics,
            8 => ObjectClass::Comment,
            11 => ObjectClass::Privileges,
            12 => ObjectClass::StoredSettings,
            13 => ObjectClass::DefaultPrivileges,
            14 => ObjectClass::Type,
            15 => ObjectClass::Database,
            16 => ObjectClass::DatabasePrivileges,
            17 => ObjectClass::DatabaseComment,
            _ => return None,
        })
    }

    /// Is such an object one that all databases share?
    pub const fn is_shared(self) -> bool {
        matches!(
            self,
            ObjectClass::Role
                | ObjectClass::StoredSettings
                | ObjectClass::Database
                | ObjectClass::DatabasePrivileges
                | ObjectClass::DatabaseComment
        )
    }

    /// The class of a row of format 1: what was said of the one database, and granted on it, had no class of its own.
    fn of_one(self, oid: Oid) -> ObjectClass {
        match self {
            ObjectClass::Privileges if oid == POSTGRES => ObjectClass::DatabasePrivileges,
            ObjectClass::Comment if oid == POSTGRES => ObjectClass::DatabaseComment,
            other => other,
        }
    }

    /// The class of the privileges of such an object.
    pub fn privileges_of(kind: Securable) -> ObjectClass {
        if kind == Securable::Database { ObjectClass::DatabasePrivileges } else { ObjectClass::Privileges }
    }
}

/// A row of the catalog's heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part<'a> {
    /// What it is a part of, …
    pub class: ObjectClass,
    /// … in which database, zero for what they share, …
    pub database: Oid,
    /// … and its number.
    pub oid: Oid,
    /// Which part.
    pub part: u16,
    /// How many there are.
    pub parts: u16,
    /// Bytes of the image.
    pub bytes: &'a [u8],
}

pub(super) fn damaged() -> Error {
    Error::corruption("a definition in the catalog is damaged")
}

/// Cuts the image of an object of a database into rows and gives each to `each`. What databases share is of none of them.
pub fn rows_of(
    class: ObjectClass,
    database: Oid,
    oid: Oid,
    image: &[u8],
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let parts = image.len().div_ceil(PART_BYTES).max(1);
    let parts = u16::try_from(parts).map_err(|_| {
        Error::statement(base::sqlstate::PROGRAM_LIMIT_EXCEEDED, "the definition is too long for the catalog")
    })?;
    let database = if class.is_shared() { Oid::NONE } else { database };
    let mut row = Vec::with_capacity(PART_BYTES + 16);
    for part in 0..parts {
        let from = part as usize * PART_BYTES;
        row.clear();
        row.extend_from_slice(&[FORMAT, class as u8]);
        row.extend_from_slice(&database.0.to_le_bytes());
        row.extend_from_slice(&oid.0.to_le_bytes());
        row.extend_from_slice(&part.to_le_bytes());
        row.extend_from_slice(&parts.to_le_bytes());
        row.extend_from_slice(&image[from..image.len().min(from + PART_BYTES)]);
        each(&row)?;
    }
    Ok(())
}

/// Reads a row.
pub fn read(row: &[u8]) -> Result<Part<'_>> {
    let mut reader = Reader::new(row);
    let format = reader.u8_le().filter(|format| matches!(*format, FORMAT | FORMAT_OF_ONE)).ok_or_else(damaged)?;
    let class = reader.u8_le().and_then(ObjectClass::from_number).ok_or_else(damaged)?;
    let database = if format == FORMAT { Some(reader.u32_le().ok_or_else(damaged)?) } else { None };
    let numbers = (|| Some((reader.u32_le()?, reader.u16_le()?, reader.u16_le()?)))();
    let (oid, part, parts) = numbers.ok_or_else(damaged)?;
    if part >= parts {
        return Err(damaged());
    }
    let (class, database) = match database {
        Some(database) => (class, Oid(database)),
        None => {
            let class = class.of_one(Oid(oid));
            (class, if class.is_shared() { Oid::NONE } else { POSTGRES })
        }
    };
    if class.is_shared() != database.is_none() {
        return Err(damaged());
    }
    Ok(Part { class, database, oid: Oid(oid), part, parts, bytes: reader.rest() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_cut_and_put_together() {
        let image: Vec<u8> = (0..PART_BYTES as u32 * 2 + 5).map(|at| at as u8).collect();
        let (mut found, mut count) = (Vec::new(), 0);
        rows_of(ObjectClass::Table, Oid(7), Oid(9), &image, |row| {
            let part = read(row)?;
            assert_eq!((part.class, part.oid, part.part, part.parts), (ObjectClass::Table, Oid(9), count, 3));
            assert_eq!(part.database, Oid(7));
            found.extend_from_slice(part.bytes);
            count += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!((found, count), (image, 3));
    }

    #[test]
    fn rows_of_one_database_are_read() {
        let old = |class: u8, oid: u32| {
            let mut row = vec![1, class];
            row.extend_from_slice(&oid.to_le_bytes());
            row.extend_from_slice(&[0, 0, 1, 0, b'x']);
            row
        };
        for (class, oid, expected) in [
            (1, 16_400, (ObjectClass::Table, POSTGRES)),
            (2, 2200, (ObjectClass::Schema, POSTGRES)),
            (4, 16_401, (ObjectClass::Role, Oid::NONE)),
            (12, 16_402, (ObjectClass::StoredSettings, Oid::NONE)),
            (11, 16_400, (ObjectClass::Privileges, POSTGRES)),
            (11, 5, (ObjectClass::DatabasePrivileges, Oid::NONE)),
            (8, 5, (ObjectClass::DatabaseComment, Oid::NONE)),
            (8, 2200, (ObjectClass::Comment, POSTGRES)),
        ] {
            let row = old(class, oid);
            let part = read(&row).unwrap();
            assert_eq!(
                (part.class, part.database, part.oid, part.bytes),
                (expected.0, expected.1, Oid(oid), &b"x"[..])
            );
        }
        // What is shared is of no database, and nothing else is.
        let shared = |class: u8, database: u8| read(&[2, class, database, 0, 0, 0, 9, 0, 0, 0, 0, 0, 1, 0]).is_ok();
        assert!(shared(4, 0) && shared(1, 5) && !shared(4, 5) && !shared(1, 0));
    }
}
