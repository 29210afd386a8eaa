//! Identifiers and positions, each a newtype over a fixed-width integer so that it can lie in the region and on disk.
//!
//! `0` is never a valid id of anything that is counted from one ([`Xid`], [`RelId`]): a zeroed page or region area holds
//! no accidental references. Slots of the region's fixed tables ([`SessionId`], [`EngineId`], [`HostId`]) count from zero.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $raw);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

id! {
    /// A session's slot in the region. What a user sees as `pid` is another number, unique over a server's life.
    SessionId(u32)
}
id! {
    /// An engine's slot in the region.
    EngineId(u32)
}
id! {
    /// A host's slot in the region: the operating-system process that carries engines.
    HostId(u32)
}
id! {
    /// A transaction. 64 bits wide, counted from one, never reused.
    Xid(u64)
}
id! {
    /// A relation's storage: one file of pages. A `TRUNCATE` or a rewrite takes a new one.
    RelId(u32)
}

/// A position in the write-ahead log: the count of bytes before it since the database was made. `Lsn(0)` is "none".
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl fmt::Display for Lsn {
    /// PostgreSQL's form: two hexadecimal halves.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

impl fmt::Debug for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lsn({self})")
    }
}

/// A page: its relation's storage and its number within it.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageId {
    /// The relation's storage.
    pub rel: RelId,
    /// The page's number in it, counted from zero.
    pub block: u32,
}

impl PageId {
    /// Both halves in one word: the relation in the high half.
    pub const fn to_u64(self) -> u64 {
        (self.rel.0 as u64) << 32 | self.block as u64
    }

    /// The inverse of [`PageId::to_u64`].
    pub const fn from_u64(raw: u64) -> PageId {
        PageId { rel: RelId((raw >> 32) as u32), block: raw as u32 }
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.rel, self.block)
    }
}

impl fmt::Debug for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_id_survives_packing() {
        let page = PageId { rel: RelId(7), block: u32::MAX };
        assert_eq!(PageId::from_u64(page.to_u64()), page);
        assert_eq!(page.to_string(), "7/4294967295");
    }

    #[test]
    fn lsn_prints_as_postgresql_does() {
        assert_eq!(Lsn(0x16_B374_D848).to_string(), "16/B374D848");
    }
}
