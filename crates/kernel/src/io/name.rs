//! Names of files: a plain 64-bit value that means the same in every process.
//!
//! ```text
//!  63      56 55                                   0
//! |  kind    |               number                 |
//! ```
//!
//! What a kind means (where its files lie, how they are opened) is one row of the table below; a name becomes a path
//! only here. Descriptors are a process's own affair ([`super::files`]) and never part of a name.

use std::fmt;
use std::path::{Path, PathBuf};

/// How the numbers of a kind are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// In decimal digits.
    Decimal,
    /// In sixteen hexadecimal digits, so that names sort like numbers.
    Hex16,
    /// The row's own word; numbers other than zero follow it after a dot.
    Word(&'static str),
}

/// A kind's row of the table.
struct Row {
    kind: Kind,
    name: &'static str,
    /// Below the data directory; empty for the data directory itself.
    directory: &'static str,
    form: Form,
    /// Opened around the system's page cache, where the file system allows it.
    direct: bool,
    /// Opened so that a write is durable when it is complete.
    durable: bool,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $number:literal $name:literal $directory:literal $form:expr, $direct:ident $durable:ident;)*) => {
        /// What a file is for.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $kind = $number,)* }

        const ROWS: &[Row] = &[$(Row {
            kind: Kind::$kind, name: $name, directory: $directory, form: $form,
            direct: word!($direct), durable: word!($durable),
        }),*];

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),*];
        }
    };
}

macro_rules! word {
    (direct) => {
        true
    };
    (durable) => {
        true
    };
    ($no:ident) => {
        false
    };
}

kinds! {
    /// Pages of a relation or an index; the number is its storage.
    Data = 1 "data" "base" Form::Decimal, direct plain;
    /// A piece of the write-ahead log; the number counts them.
    Wal = 2 "wal" "wal" Form::Hex16, direct durable;
    /// Where pages are written before they are written to their place.
    DoubleWrite = 3 "double write" "" Form::Word("double_write"), direct plain;
    /// The control file.
    Control = 4 "control" "" Form::Word("control"), buffered plain;
    /// What a session spills; removed at every start.
    Temp = 5 "temp" "temp" Form::Decimal, direct plain;
    /// Small files of the catalog's beginning.
    Catalog = 6 "catalog" "catalog" Form::Decimal, buffered plain;
    /// The map from transactions to commit numbers.
    TransactionMap = 7 "transaction map" "transactions" Form::Hex16, direct plain;
    /// What `ALTER SYSTEM` wrote.
    Settings = 8 "settings" "" Form::Word("gearbox.auto.toml"), buffered plain;
}

impl Kind {
    fn row(self) -> &'static Row {
        // Numbers count from one, in the order of the rows; the test below holds the table to that.
        &ROWS[self as usize - 1]
    }

    /// The kind's name in views and messages.
    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    /// True if files of the kind are read and written around the system's page cache: buffers, offsets and lengths are
    /// then multiples of [`super::ALIGN`].
    pub fn is_direct(self) -> bool {
        self.row().direct
    }

    /// True if every write to a file of the kind is durable once it is complete.
    pub fn is_durable(self) -> bool {
        self.row().durable
    }

    /// Where files of the kind lie, below the data directory `root`.
    pub(crate) fn directory(self, root: &Path) -> PathBuf {
        match self.row().directory {
            "" => root.to_path_buf(),
            below => root.join(below),
        }
    }

    /// The number that a directory entry stands for; none if it is no file of the kind.
    pub(crate) fn parse(self, entry: &str) -> Option<u64> {
        let number = match self.row().form {
            Form::Decimal => entry.parse().ok()?,
            Form::Hex16 => u64::from_str_radix(entry, 16).ok()?,
            Form::Word(word) if entry == word => 0,
            Form::Word(word) => entry.strip_prefix(word)?.strip_prefix('.')?.parse().ok()?,
        };
        // Only the one spelling that a name has: no signs, no leading zeros.
        let name = FileName::try_new(self, number)?;
        (name.entry() == entry).then_some(number)
    }
}

/// A file's name: see the head of this file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FileName(u64);

impl FileName {
    /// The largest number that a name can have.
    pub const NUMBER_MAX: u64 = (1 << 56) - 1;

    /// A file of that kind and number; none if the number is too large.
    pub const fn try_new(kind: Kind, number: u64) -> Option<FileName> {
        if number > FileName::NUMBER_MAX { None } else { Some(FileName((kind as u64) << 56 | number)) }
    }

    /// A file of that kind and number. Panics if the number is too large: numbers are counted, they do not come from
    /// outside.
    pub const fn new(kind: Kind, number: u64) -> FileName {
        match FileName::try_new(kind, number) {
            Some(name) => name,
            None => panic!("a file's number is too large"),
        }
    }

    /// The pages of a relation or an index.
    pub const fn data(number: u64) -> FileName {
        FileName::new(Kind::Data, number)
    }

    /// A piece of the log.
    pub const fn wal(number: u64) -> FileName {
        FileName::new(Kind::Wal, number)
    }

    /// A session's spill file.
    pub const fn temp(number: u64) -> FileName {
        FileName::new(Kind::Temp, number)
    }

    /// The double-write area.
    pub const DOUBLE_WRITE: FileName = FileName::new(Kind::DoubleWrite, 0);

    /// The control file.
    pub const CONTROL: FileName = FileName::new(Kind::Control, 0);

    /// What `ALTER SYSTEM` wrote.
    pub const SETTINGS: FileName = FileName::new(Kind::Settings, 0);

    /// The name that such a value stands for; none if it is no name. For values that were stored.
    pub fn from_raw(raw: u64) -> Option<FileName> {
        let kind = Kind::ALL.iter().copied().find(|&kind| kind as u64 == raw >> 56)?;
        FileName::try_new(kind, raw & FileName::NUMBER_MAX)
    }

    /// The name as a number.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// What the file is for.
    pub fn kind(self) -> Kind {
        ROWS[(self.0 >> 56) as usize - 1].kind
    }

    /// Which file of its kind it is.
    pub const fn number(self) -> u64 {
        self.0 & FileName::NUMBER_MAX
    }

    fn entry(self) -> String {
        match (self.kind().row().form, self.number()) {
            (Form::Decimal, number) => number.to_string(),
            (Form::Hex16, number) => format!("{number:016X}"),
            (Form::Word(word), 0) => word.to_string(),
            (Form::Word(word), number) => format!("{word}.{number}"),
        }
    }

    /// Where the file lies, below the data directory `root`.
    pub(crate) fn path(self, root: &Path) -> PathBuf {
        self.kind().directory(root).join(self.entry())
    }
}

impl fmt::Display for FileName {
    /// The path below the data directory.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind().row().directory {
            "" => f.write_str(&self.entry()),
            below => write!(f, "{below}/{}", self.entry()),
        }
    }
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileName({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_their_numbers() {
        for (index, row) in ROWS.iter().enumerate() {
            assert_eq!(row.kind as usize, index + 1, "{}", row.name);
            assert!(!row.durable || row.direct, "a durable kind is direct: {}", row.name);
        }
    }

    #[test]
    fn a_name_is_a_path_and_back() {
        for (name, text) in [
            (FileName::data(5), "base/5"),
            (FileName::wal(0xAB), "wal/00000000000000AB"),
            (FileName::DOUBLE_WRITE, "double_write"),
            (FileName::new(Kind::Control, 3), "control.3"),
            (FileName::temp(FileName::NUMBER_MAX), "temp/72057594037927935"),
        ] {
            assert_eq!(name.to_string(), text);
            assert_eq!(name.path(Path::new("/d")), Path::new("/d").join(text));
            let entry = text.rsplit('/').next().unwrap();
            assert_eq!(name.kind().parse(entry), Some(name.number()), "{text}");
            assert_eq!(FileName::from_raw(name.raw()), Some(name));
        }
    }

    #[test]
    fn entries_that_are_no_names_are_not_read_as_names() {
        for (kind, entry) in [
            (Kind::Data, "05"),
            (Kind::Data, "+5"),
            (Kind::Data, "5.new"),
            (Kind::Data, ""),
            (Kind::Data, "72057594037927936"),
            (Kind::Wal, "AB"),
            (Kind::Wal, "00000000000000ab"),
            (Kind::Control, "control.0"),
            (Kind::Control, "control.new"),
            (Kind::DoubleWrite, "control"),
        ] {
            assert_eq!(kind.parse(entry), None, "{entry}");
        }
        assert_eq!(FileName::from_raw(0), None);
        assert_eq!(FileName::from_raw(200 << 56), None);
    }
}
