//! The one table of types: PostgreSQL's object identifiers, names and properties, and which [`Kind`] of value each has.
//!
//! Catalog, parser, binder, wire and executor read this table. A type's *row* says what users see of it; its *kind*
//! says how its values are represented, and that is all an executor needs: kinds are one byte and lie in plans.
//!
//! Rules
//! 1. Sorted by [`Oid`], as [`by_oid`] needs; a test checks it, and that every array type and its element name each other.
//! 2. Types of one kind have one representation and one text form: `text`, `varchar`, `refcursor`.
//! 3. A row of kind [`Kind::Refused`] is known by name and has no values yet: every use of a value answers `0A000`. To
//!    add such a type is to give it a kind and an arm in [`io`](super::io), [`compare`](super::compare),
//!    rows, in crate `sql`, and [`key`](crate::key).

use super::user;
use base::{Error, Result, sqlstate};
use std::fmt;

/// An object identifier, as PostgreSQL's catalogs use it. Zero is "none".
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Oid(pub u32);

impl Oid {
    /// No object.
    pub const NONE: Oid = Oid(0);

    /// Is it [`Oid::NONE`]?
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match by_oid(*self) {
            Some(row) => write!(f, "{}", row.name),
            None => write!(f, "Oid({})", self.0),
        }
    }
}

/// True if values of the type are compared by a collation: texts.
pub fn is_collatable(oid: Oid) -> bool {
    matches!(oid, Oid::TEXT | Oid::VARCHAR | Oid::BPCHAR | Oid::NAME | Oid::UNKNOWN)
}

/// How a type's values are represented, in memory, in rows and in keys.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// `boolean`: [`Datum::Bool`](super::Datum::Bool).
    Bool,
    /// `"char"`, one byte: `Int`.
    Char,
    /// `smallint`: `Int`.
    Int2,
    /// `integer`: `Int`.
    Int4,
    /// `bigint`: `Int`.
    Int8,
    /// `oid` and other unsigned 32-bit numbers: `Int`.
    Oid,
    /// `regclass` and its like: an `oid` whose text form the catalog knows.
    Reg,
    /// `real`: `Float`, a value that `f32` holds.
    Float4,
    /// `double precision`: `Float`.
    Float8,
    /// `numeric`: `Bytes`, in the form of [`numeric`](super::numeric).
    Numeric,
    /// `text`, `varchar` and others without a length of their own: `Bytes`, UTF-8.
    Text,
    /// `character(n)`: `Bytes`, padded with spaces, which do not count in comparisons.
    Bpchar,
    /// `name`: `Bytes`, at most 63.
    Name,
    /// A string constant whose type is not known yet: `Bytes`.
    Unknown,
    /// `bytea`: `Bytes`.
    Bytea,
    /// `date`: `Int`, days since 2000-01-01.
    Date,
    /// `time`: `Int`, microseconds since midnight.
    Time,
    /// `timestamp`: `Int`, microseconds since 2000-01-01 00:00.
    Timestamp,
    /// `timestamptz`: `Int`, microseconds since 2000-01-01 00:00 UTC.
    Timestamptz,
    /// `interval`: `Bytes`, in the form of [`interval`](super::datetime::interval).
    Interval,
    /// `uuid`: `Bytes`, sixteen.
    Uuid,
    /// An enum of a user: `Int`, in the form of [`user`].
    Enum,
    /// An array: `Bytes`, in the form of [`array`](super::array).
    Array,
    /// `int2vector`, `oidvector`: an array that counts from zero and has a text form of its own.
    Vector,
    /// `record`, a row: `Bytes`, in the form of [`record`](super::record).
    Record,
    /// `json`: `Bytes`, text that is valid JSON. It has no order.
    Json,
    /// `jsonb`: `Bytes`, in the form of [`json`](super::json).
    Jsonb,
    /// `void`: the empty result of a function.
    Void,
    /// A type of arguments and results only, without values.
    Pseudo,
    /// A type that is not there yet.
    Refused,
}

/// A type's row.
#[derive(Clone, Copy, Debug)]
pub struct TypeRow {
    /// `pg_type.oid`.
    pub oid: Oid,
    /// `pg_type.typname`.
    pub name: &'static str,
    /// What `format_type` calls it, without a modifier.
    pub sql_name: &'static str,
    /// The names that SQL's grammar has for it, beside `name`.
    pub aliases: &'static [&'static str],
    /// `pg_type.typlen`: bytes, -1 for variable, -2 for a C string.
    pub length: i16,
    /// `pg_type.typbyval`.
    pub by_value: bool,
    /// `pg_type.typcategory`.
    pub category: u8,
    /// `pg_type.typispreferred`: the one that resolution prefers in its category.
    pub preferred: bool,
    /// `pg_type.typarray`: the array of this type.
    pub array: Oid,
    /// `pg_type.typelem`: what an array, or a type that can be subscripted, is made of.
    pub element: Oid,
    /// `pg_type.typalign`.
    pub align: u8,
    /// `pg_type.typstorage`.
    pub storage: u8,
    /// How values are represented.
    pub kind: Kind,
}

impl TypeRow {
    /// `pg_type.typtype`: `b` for a base type, `p` for a pseudo-type.
    pub fn class(&self) -> u8 {
        match self.category {
            b'P' | b'X' => b'p',
            b'E' => b'e',
            _ => b'b',
        }
    }

    /// Is it an array type, as `text[]` is?
    pub fn is_array(&self) -> bool {
        self.kind == Kind::Array
    }
}

/// A type with its modifier: all that is known of a column.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type {
    /// The type.
    pub oid: Oid,
    /// Its modifier, in PostgreSQL's encoding; -1 for none.
    pub typmod: i32,
}

impl Type {
    /// A type without a modifier.
    pub const fn plain(oid: Oid) -> Type {
        Type { oid, typmod: -1 }
    }
}

/// What enums of users have in common: such a row has no number and no name.
static ENUM: TypeRow = TypeRow {
    oid: Oid::NONE,
    name: "enum",
    sql_name: "enum",
    aliases: &[],
    length: 4,
    by_value: true,
    category: b'E',
    preferred: false,
    array: Oid::NONE,
    element: Oid::NONE,
    align: b'i',
    storage: b'p',
    kind: Kind::Enum,
};

/// The same of their arrays.
static ENUM_ARRAY: TypeRow = TypeRow {
    name: "_enum",
    sql_name: "enum[]",
    length: -1,
    by_value: false,
    category: b'A',
    storage: b'x',
    kind: Kind::Array,
    ..ENUM
};

/// The row of a type. Types of users have rows for each kind of them: what is a type's own is told by [`array_of`],
/// [`element_of`] and the catalog.
#[inline]
pub fn by_oid(oid: Oid) -> Option<&'static TypeRow> {
    if user::is_user(oid) {
        return Some(if user::is_enum(oid) { &ENUM } else { &ENUM_ARRAY });
    }
    match PLACES.get(oid.0 as usize) {
        Some(0) => None,
        Some(place) => TABLE.get(usize::from(*place) - 1),
        None => TABLE.binary_search_by_key(&oid, |row| row.oid).ok().map(|at| &TABLE[at]),
    }
}

/// For small identifiers, which those of nearly all types are, one more than the place of the type's row; zero where there is none. A
/// statement asks some ten times for each of its parameters and columns.
static PLACES: [u8; 4096] = {
    let mut places = [0; 4096];
    let mut at = 0;
    while at < TABLE.len() {
        let oid = TABLE[at].oid.0 as usize;
        at += 1;
        if oid < places.len() {
            assert!(at <= u8::MAX as usize);
            places[oid] = at as u8;
        }
    }
    places
};

/// The row of a type that the catalog has; an error with PostgreSQL's words for one that it does not have.
pub fn row(oid: Oid) -> Result<&'static TypeRow> {
    by_oid(oid)
        .ok_or_else(|| Error::statement(sqlstate::UNDEFINED_OBJECT, format!("type with OID {oid} does not exist")))
}

/// How values of a type are represented; [`Kind::Refused`] for an unknown one.
#[inline]
pub fn kind(oid: Oid) -> Kind {
    by_oid(oid).map_or(Kind::Refused, |row| row.kind)
}

/// The type with this `pg_type.typname`.
pub fn by_name(name: &str) -> Option<&'static TypeRow> {
    TABLE.iter().find(|row| row.name == name)
}

/// The type that SQL's grammar calls so: `integer`, `character varying`, `timestamp with time zone`.
///
/// `char` is `character` here, as it is in the grammar; `"char"` in quotes is found by [`by_name`].
pub fn by_sql_name(name: &str) -> Option<&'static TypeRow> {
    TABLE.iter().find(|row| row.aliases.contains(&name))
}

/// The array type of an element type.
pub fn array_of(element: Oid) -> Option<Oid> {
    let array = match user::is_user(element) {
        true => return user::array_of(element),
        false => by_oid(element).map(|row| row.array),
    };
    array.filter(|array| !array.is_none())
}

/// What an array, vector or other type that can be subscripted is made of.
pub fn element_of(array: Oid) -> Option<Oid> {
    let element = match user::is_user(array) {
        true => return user::element_of(array),
        false => by_oid(array).map(|row| row.element),
    };
    element.filter(|element| !element.is_none())
}

/// "Not there yet", for a type that the table knows and nothing else does.
#[cold]
pub fn refused(oid: Oid) -> Error {
    let name = by_oid(oid).map_or("of an unknown type", |row| row.sql_name);
    Error::unsupported(format!("values of type {name} are not supported"))
}

macro_rules! types {
    ($($name:ident $oid:literal $typname:literal $sql_name:literal $aliases:expr, $length:literal $by_value:literal
       $category:literal $preferred:literal $array:literal $element:literal $align:literal $storage:literal
       $kind:ident;)*) => {
        impl Oid {
            $(
                #[doc = concat!("The type `", $sql_name, "`.")]
                pub const $name: Oid = Oid($oid);
            )*
        }

        /// Every type, sorted by [`Oid`].
        pub static TABLE: &[TypeRow] = &[$(TypeRow {
            oid: Oid($oid),
            name: $typname,
            sql_name: $sql_name,
            aliases: $aliases,
            length: $length,
            by_value: $by_value,
            category: $category,
            preferred: $preferred,
            array: Oid($array),
            element: Oid($element),
            align: $align,
            storage: $storage,
            kind: Kind::$kind,
        }),*];
    };
}

// constant, oid, typname, format_type, grammar's names, typlen, typbyval, typcategory, typispreferred, typarray, typelem,
// typalign, typstorage, kind
#[rustfmt::skip]
types! {
    BOOL 16 "bool" "boolean" &["boolean"], 1 true b'B' true 1000 0 b'c' b'p' Bool;
    BYTEA 17 "bytea" "bytea" &[], -1 false b'U' false 1001 0 b'i' b'x' Bytea;
    CHAR 18 "char" "\"char\"" &[], 1 true b'Z' false 1002 0 b'c' b'p' Char;
    NAME 19 "name" "name" &[], 64 false b'S' false 1003 18 b'c' b'p' Name;
    INT8 20 "int8" "bigint" &["bigint"], 8 true b'N' false 1016 0 b'd' b'p' Int8;
    INT2 21 "int2" "smallint" &["smallint"], 2 true b'N' false 1005 0 b's' b'p' Int2;
    INT2VECTOR 22 "int2vector" "int2vector" &[], -1 false b'A' false 1006 21 b'i' b'p' Vector;
    INT4 23 "int4" "integer" &["int", "integer"], 4 true b'N' false 1007 0 b'i' b'p' Int4;
    REGPROC 24 "regproc" "regproc" &[], 4 true b'N' false 1008 0 b'i' b'p' Reg;
    TEXT 25 "text" "text" &[], -1 false b'S' true 1009 0 b'i' b'x' Text;
    OID 26 "oid" "oid" &[], 4 true b'N' true 1028 0 b'i' b'p' Oid;
    TID 27 "tid" "tid" &[], 6 false b'U' false 1010 0 b's' b'p' Refused;
    XID 28 "xid" "xid" &[], 4 true b'U' false 1011 0 b'i' b'p' Oid;
    CID 29 "cid" "cid" &[], 4 true b'U' false 1012 0 b'i' b'p' Oid;
    OIDVECTOR 30 "oidvector" "oidvector" &[], -1 false b'A' false 1013 26 b'i' b'p' Vector;
    JSON 114 "json" "json" &[], -1 false b'U' false 199 0 b'i' b'x' Json;
    XML 142 "xml" "xml" &[], -1 false b'U' false 143 0 b'i' b'x' Refused;
    XML_ARRAY 143 "_xml" "xml[]" &[], -1 false b'A' false 0 142 b'i' b'x' Array;
    PG_NODE_TREE 194 "pg_node_tree" "pg_node_tree" &[], -1 false b'Z' false 0 0 b'i' b'x' Text;
    JSON_ARRAY 199 "_json" "json[]" &[], -1 false b'A' false 0 114 b'i' b'x' Array;
    XID8_ARRAY 271 "_xid8" "xid8[]" &[], -1 false b'A' false 0 5069 b'd' b'x' Array;
    CIDR 650 "cidr" "cidr" &[], -1 false b'I' false 651 0 b'i' b'm' Refused;
    CIDR_ARRAY 651 "_cidr" "cidr[]" &[], -1 false b'A' false 0 650 b'i' b'x' Array;
    FLOAT4 700 "float4" "real" &["real"], 4 true b'N' false 1021 0 b'i' b'p' Float4;
    FLOAT8 701 "float8" "double precision" &["double precision"], 8 true b'N' true 1022 0 b'd' b'p' Float8;
    UNKNOWN 705 "unknown" "unknown" &[], -2 false b'X' false 0 0 b'c' b'p' Unknown;
    MONEY 790 "money" "money" &[], 8 true b'N' false 791 0 b'd' b'p' Refused;
    MONEY_ARRAY 791 "_money" "money[]" &[], -1 false b'A' false 0 790 b'd' b'x' Array;
    MACADDR 829 "macaddr" "macaddr" &[], 6 false b'U' false 1040 0 b'i' b'p' Refused;
    INET 869 "inet" "inet" &[], -1 false b'I' true 1041 0 b'i' b'm' Refused;
    BOOL_ARRAY 1000 "_bool" "boolean[]" &[], -1 false b'A' false 0 16 b'i' b'x' Array;
    BYTEA_ARRAY 1001 "_bytea" "bytea[]" &[], -1 false b'A' false 0 17 b'i' b'x' Array;
    CHAR_ARRAY 1002 "_char" "\"char\"[]" &[], -1 false b'A' false 0 18 b'i' b'x' Array;
    NAME_ARRAY 1003 "_name" "name[]" &[], -1 false b'A' false 0 19 b'i' b'x' Array;
    INT2_ARRAY 1005 "_int2" "smallint[]" &[], -1 false b'A' false 0 21 b'i' b'x' Array;
    INT2VECTOR_ARRAY 1006 "_int2vector" "int2vector[]" &[], -1 false b'A' false 0 22 b'i' b'x' Array;
    INT4_ARRAY 1007 "_int4" "integer[]" &[], -1 false b'A' false 0 23 b'i' b'x' Array;
    REGPROC_ARRAY 1008 "_regproc" "regproc[]" &[], -1 false b'A' false 0 24 b'i' b'x' Array;
    TEXT_ARRAY 1009 "_text" "text[]" &[], -1 false b'A' false 0 25 b'i' b'x' Array;
    TID_ARRAY 1010 "_tid" "tid[]" &[], -1 false b'A' false 0 27 b'i' b'x' Array;
    XID_ARRAY 1011 "_xid" "xid[]" &[], -1 false b'A' false 0 28 b'i' b'x' Array;
    CID_ARRAY 1012 "_cid" "cid[]" &[], -1 false b'A' false 0 29 b'i' b'x' Array;
    OIDVECTOR_ARRAY 1013 "_oidvector" "oidvector[]" &[], -1 false b'A' false 0 30 b'i' b'x' Array;
    BPCHAR_ARRAY 1014 "_bpchar" "character[]" &[], -1 false b'A' false 0 1042 b'i' b'x' Array;
    VARCHAR_ARRAY 1015 "_varchar" "character varying[]" &[], -1 false b'A' false 0 1043 b'i' b'x' Array;
    INT8_ARRAY 1016 "_int8" "bigint[]" &[], -1 false b'A' false 0 20 b'd' b'x' Array;
    FLOAT4_ARRAY 1021 "_float4" "real[]" &[], -1 false b'A' false 0 700 b'i' b'x' Array;
    FLOAT8_ARRAY 1022 "_float8" "double precision[]" &[], -1 false b'A' false 0 701 b'd' b'x' Array;
    OID_ARRAY 1028 "_oid" "oid[]" &[], -1 false b'A' false 0 26 b'i' b'x' Array;
    ACLITEM 1033 "aclitem" "aclitem" &[], 12 false b'U' false 1034 0 b'i' b'p' Text;
    ACLITEM_ARRAY 1034 "_aclitem" "aclitem[]" &[], -1 false b'A' false 0 1033 b'i' b'x' Array;
    MACADDR_ARRAY 1040 "_macaddr" "macaddr[]" &[], -1 false b'A' false 0 829 b'i' b'x' Array;
    INET_ARRAY 1041 "_inet" "inet[]" &[], -1 false b'A' false 0 869 b'i' b'x' Array;
    BPCHAR 1042 "bpchar" "character" &["character", "char", "national character", "nchar"], -1 false b'S' false 1014 0 b'i' b'x' Bpchar;
    VARCHAR 1043 "varchar" "character varying" &["character varying", "char varying", "national character varying"], -1 false b'S' false 1015 0 b'i' b'x' Text;
    DATE 1082 "date" "date" &[], 4 true b'D' false 1182 0 b'i' b'p' Date;
    TIME 1083 "time" "time without time zone" &["time without time zone", "time"], 8 true b'D' false 1183 0 b'd' b'p' Time;
    TIMESTAMP 1114 "timestamp" "timestamp without time zone" &["timestamp without time zone", "timestamp"], 8 true b'D' false 1115 0 b'd' b'p' Timestamp;
    TIMESTAMP_ARRAY 1115 "_timestamp" "timestamp without time zone[]" &[], -1 false b'A' false 0 1114 b'd' b'x' Array;
    DATE_ARRAY 1182 "_date" "date[]" &[], -1 false b'A' false 0 1082 b'i' b'x' Array;
    TIME_ARRAY 1183 "_time" "time without time zone[]" &[], -1 false b'A' false 0 1083 b'd' b'x' Array;
    TIMESTAMPTZ 1184 "timestamptz" "timestamp with time zone" &["timestamp with time zone"], 8 true b'D' true 1185 0 b'd' b'p' Timestamptz;
    TIMESTAMPTZ_ARRAY 1185 "_timestamptz" "timestamp with time zone[]" &[], -1 false b'A' false 0 1184 b'd' b'x' Array;
    INTERVAL 1186 "interval" "interval" &["interval"], 16 false b'T' true 1187 0 b'd' b'p' Interval;
    INTERVAL_ARRAY 1187 "_interval" "interval[]" &[], -1 false b'A' false 0 1186 b'd' b'x' Array;
    NUMERIC_ARRAY 1231 "_numeric" "numeric[]" &[], -1 false b'A' false 0 1700 b'i' b'x' Array;
    CSTRING_ARRAY 1263 "_cstring" "cstring[]" &[], -1 false b'A' false 0 2275 b'i' b'x' Array;
    TIMETZ 1266 "timetz" "time with time zone" &["time with time zone"], 12 false b'D' false 1270 0 b'd' b'p' Refused;
    TIMETZ_ARRAY 1270 "_timetz" "time with time zone[]" &[], -1 false b'A' false 0 1266 b'd' b'x' Array;
    BIT 1560 "bit" "bit" &["bit"], -1 false b'V' false 1561 0 b'i' b'x' Refused;
    BIT_ARRAY 1561 "_bit" "bit[]" &[], -1 false b'A' false 0 1560 b'i' b'x' Array;
    VARBIT 1562 "varbit" "bit varying" &["bit varying"], -1 false b'V' true 1563 0 b'i' b'x' Refused;
    VARBIT_ARRAY 1563 "_varbit" "bit varying[]" &[], -1 false b'A' false 0 1562 b'i' b'x' Array;
    NUMERIC 1700 "numeric" "numeric" &["decimal", "dec", "numeric"], -1 false b'N' false 1231 0 b'i' b'm' Numeric;
    REFCURSOR 1790 "refcursor" "refcursor" &[], -1 false b'U' false 2201 0 b'i' b'x' Text;
    REFCURSOR_ARRAY 2201 "_refcursor" "refcursor[]" &[], -1 false b'A' false 0 1790 b'i' b'x' Array;
    REGPROCEDURE 2202 "regprocedure" "regprocedure" &[], 4 true b'N' false 2207 0 b'i' b'p' Reg;
    REGOPER 2203 "regoper" "regoper" &[], 4 true b'N' false 2208 0 b'i' b'p' Reg;
    REGOPERATOR 2204 "regoperator" "regoperator" &[], 4 true b'N' false 2209 0 b'i' b'p' Reg;
    REGCLASS 2205 "regclass" "regclass" &[], 4 true b'N' false 2210 0 b'i' b'p' Reg;
    REGTYPE 2206 "regtype" "regtype" &[], 4 true b'N' false 2211 0 b'i' b'p' Reg;
    REGPROCEDURE_ARRAY 2207 "_regprocedure" "regprocedure[]" &[], -1 false b'A' false 0 2202 b'i' b'x' Array;
    REGOPER_ARRAY 2208 "_regoper" "regoper[]" &[], -1 false b'A' false 0 2203 b'i' b'x' Array;
    REGOPERATOR_ARRAY 2209 "_regoperator" "regoperator[]" &[], -1 false b'A' false 0 2204 b'i' b'x' Array;
    REGCLASS_ARRAY 2210 "_regclass" "regclass[]" &[], -1 false b'A' false 0 2205 b'i' b'x' Array;
    REGTYPE_ARRAY 2211 "_regtype" "regtype[]" &[], -1 false b'A' false 0 2206 b'i' b'x' Array;
    RECORD 2249 "record" "record" &[], -1 false b'P' false 2287 0 b'd' b'x' Record;
    CSTRING 2275 "cstring" "cstring" &[], -2 false b'P' false 1263 0 b'c' b'p' Text;
    ANY 2276 "any" "\"any\"" &[], 4 true b'P' false 0 0 b'i' b'p' Pseudo;
    ANYARRAY 2277 "anyarray" "anyarray" &[], -1 false b'P' false 0 0 b'd' b'x' Pseudo;
    VOID 2278 "void" "void" &[], 4 true b'P' false 0 0 b'i' b'p' Void;
    TRIGGER 2279 "trigger" "trigger" &[], 4 true b'P' false 0 0 b'i' b'p' Pseudo;
    INTERNAL 2281 "internal" "internal" &[], 8 true b'P' false 0 0 b'd' b'p' Pseudo;
    ANYELEMENT 2283 "anyelement" "anyelement" &[], 4 true b'P' false 0 0 b'i' b'p' Pseudo;
    RECORD_ARRAY 2287 "_record" "record[]" &[], -1 false b'P' false 0 2249 b'd' b'x' Array;
    ANYNONARRAY 2776 "anynonarray" "anynonarray" &[], 4 true b'P' false 0 0 b'i' b'p' Pseudo;
    UUID 2950 "uuid" "uuid" &[], 16 false b'U' false 2951 0 b'c' b'p' Uuid;
    UUID_ARRAY 2951 "_uuid" "uuid[]" &[], -1 false b'A' false 0 2950 b'i' b'x' Array;
    PG_LSN 3220 "pg_lsn" "pg_lsn" &[], 8 true b'U' false 3221 0 b'd' b'p' Refused;
    PG_LSN_ARRAY 3221 "_pg_lsn" "pg_lsn[]" &[], -1 false b'A' false 0 3220 b'd' b'x' Array;
    ANYENUM 3500 "anyenum" "anyenum" &[], 4 true b'P' false 0 0 b'i' b'p' Pseudo;
    JSONB 3802 "jsonb" "jsonb" &[], -1 false b'U' false 3807 0 b'i' b'x' Jsonb;
    JSONB_ARRAY 3807 "_jsonb" "jsonb[]" &[], -1 false b'A' false 0 3802 b'i' b'x' Array;
    REGNAMESPACE 4089 "regnamespace" "regnamespace" &[], 4 true b'N' false 4090 0 b'i' b'p' Reg;
    REGNAMESPACE_ARRAY 4090 "_regnamespace" "regnamespace[]" &[], -1 false b'A' false 0 4089 b'i' b'x' Array;
    REGROLE 4096 "regrole" "regrole" &[], 4 true b'N' false 4097 0 b'i' b'p' Reg;
    REGROLE_ARRAY 4097 "_regrole" "regrole[]" &[], -1 false b'A' false 0 4096 b'i' b'x' Array;
    XID8 5069 "xid8" "xid8" &[], 8 true b'U' false 271 0 b'd' b'p' Int8;
    ANYCOMPATIBLE 5077 "anycompatible" "anycompatible" &[], 4 true b'P' false 0 0 b'i' b'p' Pseudo;
    ANYCOMPATIBLEARRAY 5078 "anycompatiblearray" "anycompatiblearray" &[], -1 false b'P' false 0 0 b'd' b'x' Pseudo;
    ANYCOMPATIBLENONARRAY 5079 "anycompatiblenonarray" "anycompatiblenonarray" &[], 4 true b'P' false 0 0 b'i' b'p' Pseudo;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_closed() {
        for pair in TABLE.windows(2) {
            assert!(pair[0].oid < pair[1].oid, "{} {}", pair[0].name, pair[1].name);
        }
        for row in TABLE {
            assert_eq!(by_oid(row.oid).map(|found| found.name), Some(row.name));
            assert_eq!(by_name(row.name).map(|found| found.oid), Some(row.oid), "{}", row.name);
            if !row.array.is_none() {
                assert_eq!(element_of(row.array), Some(row.oid), "{}", row.name);
            }
            if row.is_array() {
                assert_eq!(element_of(row.oid).and_then(array_of), Some(row.oid), "{}", row.name);
            }
        }
    }

    #[test]
    fn grammar_names_are_unique_and_found() {
        let all: Vec<_> = TABLE.iter().flat_map(|row| row.aliases).collect();
        let unique: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(all.len(), unique.len());
        for (name, oid) in [("integer", Oid::INT4), ("char", Oid::BPCHAR), ("timestamp", Oid::TIMESTAMP)] {
            assert_eq!(by_sql_name(name).map(|row| row.oid), Some(oid));
        }
        assert_eq!(by_name("char").map(|row| row.oid), Some(Oid::CHAR));
    }
}
