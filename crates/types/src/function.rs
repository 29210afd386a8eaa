//! The table of functions: PostgreSQL's names, signatures and object identifiers, and the [`Op`] that does each.
//!
//! `pg_proc` is a view of this table, and function calls are resolved in it. What looks like a function in SQL's grammar
//! and is none there is no row here either: `COALESCE`, `NULLIF`, `GREATEST`, `LEAST`, `CASE`, `CURRENT_DATE` and
//! `LOCALTIMESTAMP` are the binder's, by way of [`common_type`](super::resolve::common_type) and casts. `CURRENT_TIMESTAMP`
//! is `now()`.
//!
//! Rules
//! 1. Sorted by name, then by object identifier; [`by_name`] needs it and a test checks it.
//! 2. A function with arguments that may be left out has a row for each count of them, the longest first.
//! 3. To add a function: a row here, an operation in [`op`](super::op), an arm in [`eval`](mod@super::eval).

use super::op::Op;
use super::table::Oid;

/// When a function's result may change though its arguments do not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Volatility {
    /// Never: it may be computed while planning.
    Immutable,
    /// Not within a statement.
    Stable,
    /// At every call.
    Volatile,
}

impl Volatility {
    /// The letter in `pg_proc.provolatile`.
    pub fn code(self) -> char {
        match self {
            Volatility::Immutable => 'i',
            Volatility::Stable => 's',
            Volatility::Volatile => 'v',
        }
    }
}

/// A function's row.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// `pg_proc.oid`.
    pub oid: Oid,
    /// `pg_proc.proname`.
    pub name: &'static str,
    /// The types of its arguments; a call's are coerced to them.
    pub args: &'static [Oid],
    /// The type of its result; polymorphic ones are decided by the arguments.
    pub result: Oid,
    /// What does it.
    pub op: Op,
    /// Is the result null whenever an argument is?
    pub strict: bool,
    /// When the result may change.
    pub volatility: Volatility,
    /// Does it return a set of rows?
    pub returns_set: bool,
    /// May its last argument, which is of any type, stand any number of times?
    pub variadic: bool,
}

/// The functions of a name, which differ in their arguments.
pub fn by_name(name: &str) -> &'static [Function] {
    let start = TABLE.partition_point(|row| row.name < name);
    let count = TABLE[start..].iter().take_while(|row| row.name == name).count();
    &TABLE[start..start + count]
}

/// The function with this object identifier.
pub fn by_oid(oid: Oid) -> Option<&'static Function> {
    TABLE.iter().find(|row| row.oid == oid)
}

/// The columns of what a function gives that returns a set, where they have names of their own: one has the function's name or
/// its alias otherwise.
pub fn columns(op: Op) -> &'static [(&'static str, Oid)] {
    match op {
        Op::JsonArrayElements => &[("value", Oid::JSON)],
        Op::JsonbArrayElements => &[("value", Oid::JSONB)],
        Op::JsonArrayElementsText | Op::JsonbArrayElementsText => &[("value", Oid::TEXT)],
        Op::JsonEach => &[("key", Oid::TEXT), ("value", Oid::JSON)],
        Op::JsonbEach => &[("key", Oid::TEXT), ("value", Oid::JSONB)],
        Op::JsonEachText | Op::JsonbEachText => &[("key", Oid::TEXT), ("value", Oid::TEXT)],
        Op::AclExplode => {
            &[("grantor", Oid::OID), ("grantee", Oid::OID), ("privilege_type", Oid::TEXT), ("is_grantable", Oid::BOOL)]
        }
        Op::ExpandArray => &[("x", Oid::ANYELEMENT), ("n", Oid::INT4)],
        Op::OptionsToTable => &[("option_name", Oid::TEXT), ("option_value", Oid::TEXT)],
        Op::Keywords => &[
            ("word", Oid::TEXT),
            ("catcode", Oid::CHAR),
            ("barelabel", Oid::BOOL),
            ("catdesc", Oid::TEXT),
            ("baredesc", Oid::TEXT),
        ],
        Op::PartitionTree => {
            &[("relid", Oid::REGCLASS), ("parentrelid", Oid::REGCLASS), ("isleaf", Oid::BOOL), ("level", Oid::INT4)]
        }
        _ => &[],
    }
}

macro_rules! functions {
    (@set) => { false };
    (@set Set) => { true };
    (@set Variadic) => { false };
    (@variadic Variadic) => { true };
    (@variadic Set) => { false };
    (@variadic) => { false };
    (@strict Strict) => { true };
    (@strict CalledOnNull) => { false };
    ($($oid:literal $name:literal [$($arg:ident)*] $result:ident $op:ident $strict:ident $volatility:ident $($set:ident)?;)*) => {
        /// Every function, sorted by name.
        pub static TABLE: &[Function] = &[$(Function {
            oid: Oid($oid),
            name: $name,
            args: &[$(Oid::$arg),*],
            result: Oid::$result,
            op: Op::$op,
            strict: functions!(@strict $strict),
            volatility: Volatility::$volatility,
            returns_set: functions!(@set $($set)?),
            variadic: functions!(@variadic $($set)?),
        }),*];
    };
}

// oid, name, arguments, result, operation, strict, volatility, and whether it gives a set or takes any number of arguments
#[rustfmt::skip]
functions! {
    13190 "_pg_expandarray" [ANYARRAY] RECORD ExpandArray Strict Immutable Set;
    1394 "abs" [FLOAT4] FLOAT4 FloatAbs Strict Immutable;
    1395 "abs" [FLOAT8] FLOAT8 FloatAbs Strict Immutable;
    1396 "abs" [INT8] INT8 Int8Abs Strict Immutable;
    1397 "abs" [INT4] INT4 Int4Abs Strict Immutable;
    1398 "abs" [INT2] INT2 Int2Abs Strict Immutable;
    1705 "abs" [NUMERIC] NUMERIC NumericAbs Strict Immutable;
    3943 "acldefault" [CHAR OID] ACLITEM_ARRAY AclDefault Strict Stable;
    1689 "aclexplode" [ACLITEM_ARRAY] RECORD AclExplode Strict Stable Set;
    1601 "acos" [FLOAT8] FLOAT8 FloatAcos Strict Immutable;
    2732 "acosd" [FLOAT8] FLOAT8 FloatAcosd Strict Immutable;
    2466 "acosh" [FLOAT8] FLOAT8 FloatAcosh Strict Immutable;
    1199 "age" [TIMESTAMPTZ TIMESTAMPTZ] INTERVAL TimestamptzAge Strict Immutable;
    1386 "age" [TIMESTAMPTZ] INTERVAL TimestamptzAge1 Strict Stable;
    2058 "age" [TIMESTAMP TIMESTAMP] INTERVAL TimestampAge Strict Immutable;
    2059 "age" [TIMESTAMP] INTERVAL TimestampAge1 Strict Stable;
    2004 "anytextcat" [ANYNONARRAY TEXT] TEXT TextCat Strict Stable;
    378 "array_append" [ANYCOMPATIBLEARRAY ANYCOMPATIBLE] ANYCOMPATIBLEARRAY ArrayAppend CalledOnNull Immutable;
    383 "array_cat" [ANYCOMPATIBLEARRAY ANYCOMPATIBLEARRAY] ANYCOMPATIBLEARRAY ArrayCat CalledOnNull Immutable;
    747 "array_dims" [ANYARRAY] TEXT ArrayDims Strict Immutable;
    744 "array_eq" [ANYARRAY ANYARRAY] BOOL ArrayEq Strict Immutable;
    1193 "array_fill" [ANYELEMENT INT4_ARRAY] ANYARRAY ArrayFill CalledOnNull Immutable;
    1286 "array_fill" [ANYELEMENT INT4_ARRAY INT4_ARRAY] ANYARRAY ArrayFill CalledOnNull Immutable;
    396 "array_ge" [ANYARRAY ANYARRAY] BOOL ArrayGe Strict Immutable;
    392 "array_gt" [ANYARRAY ANYARRAY] BOOL ArrayGt Strict Immutable;
    393 "array_le" [ANYARRAY ANYARRAY] BOOL ArrayLe Strict Immutable;
    2176 "array_length" [ANYARRAY INT4] INT4 ArrayLength Strict Immutable;
    2091 "array_lower" [ANYARRAY INT4] INT4 ArrayLower Strict Immutable;
    391 "array_lt" [ANYARRAY ANYARRAY] BOOL ArrayLt Strict Immutable;
    748 "array_ndims" [ANYARRAY] INT4 ArrayNdims Strict Immutable;
    390 "array_ne" [ANYARRAY ANYARRAY] BOOL ArrayNe Strict Immutable;
    3277 "array_position" [ANYCOMPATIBLEARRAY ANYCOMPATIBLE] INT4 ArrayPosition CalledOnNull Immutable;
    3278 "array_position" [ANYCOMPATIBLEARRAY ANYCOMPATIBLE INT4] INT4 ArrayPosition CalledOnNull Immutable;
    3279 "array_positions" [ANYCOMPATIBLEARRAY ANYCOMPATIBLE] INT4_ARRAY ArrayPositions CalledOnNull Immutable;
    379 "array_prepend" [ANYCOMPATIBLE ANYCOMPATIBLEARRAY] ANYCOMPATIBLEARRAY ArrayPrepend CalledOnNull Immutable;
    3167 "array_remove" [ANYCOMPATIBLEARRAY ANYCOMPATIBLE] ANYCOMPATIBLEARRAY ArrayRemove CalledOnNull Immutable;
    3168 "array_replace" [ANYCOMPATIBLEARRAY ANYCOMPATIBLE ANYCOMPATIBLE] ANYCOMPATIBLEARRAY ArrayReplace CalledOnNull Immutable;
    3153 "array_to_json" [ANYARRAY] JSON ArrayToJson Strict Stable;
    3154 "array_to_json" [ANYARRAY BOOL] JSON ArrayToJson Strict Stable;
    384 "array_to_string" [ANYARRAY TEXT TEXT] TEXT ArrayToString CalledOnNull Stable;
    395 "array_to_string" [ANYARRAY TEXT] TEXT ArrayToString Strict Stable;
    2092 "array_upper" [ANYARRAY INT4] INT4 ArrayUpper Strict Immutable;
    2749 "arraycontained" [ANYARRAY ANYARRAY] BOOL ArrayContained Strict Immutable;
    2748 "arraycontains" [ANYARRAY ANYARRAY] BOOL ArrayContains Strict Immutable;
    2747 "arrayoverlap" [ANYARRAY ANYARRAY] BOOL ArrayOverlap Strict Immutable;
    1620 "ascii" [TEXT] INT4 Ascii Strict Immutable;
    1600 "asin" [FLOAT8] FLOAT8 FloatAsin Strict Immutable;
    2731 "asind" [FLOAT8] FLOAT8 FloatAsind Strict Immutable;
    2465 "asinh" [FLOAT8] FLOAT8 FloatAsinh Strict Immutable;
    1602 "atan" [FLOAT8] FLOAT8 FloatAtan Strict Immutable;
    1603 "atan2" [FLOAT8 FLOAT8] FLOAT8 FloatAtan2 Strict Immutable;
    2734 "atan2d" [FLOAT8 FLOAT8] FLOAT8 FloatAtan2d Strict Immutable;
    2733 "atand" [FLOAT8] FLOAT8 FloatAtand Strict Immutable;
    2467 "atanh" [FLOAT8] FLOAT8 FloatAtanh Strict Immutable;
    6163 "bit_count" [BYTEA] INT8 BitCount Strict Immutable;
    1811 "bit_length" [TEXT] INT4 BitLength Strict Immutable;
    2557 "bool" [INT4] BOOL IntToBool Strict Immutable;
    3556 "bool" [JSONB] BOOL JsonbToBool Strict Immutable;
    60 "booleq" [BOOL BOOL] BOOL BoolEq Strict Immutable;
    1692 "boolge" [BOOL BOOL] BOOL BoolGe Strict Immutable;
    57 "boolgt" [BOOL BOOL] BOOL BoolGt Strict Immutable;
    1691 "boolle" [BOOL BOOL] BOOL BoolLe Strict Immutable;
    56 "boollt" [BOOL BOOL] BOOL BoolLt Strict Immutable;
    84 "boolne" [BOOL BOOL] BOOL BoolNe Strict Immutable;
    408 "bpchar" [NAME] BPCHAR Identity Strict Immutable;
    668 "bpchar" [BPCHAR INT4 BOOL] BPCHAR BpcharLength Strict Immutable;
    860 "bpchar" [CHAR] BPCHAR CharToText Strict Immutable;
    1048 "bpchareq" [BPCHAR BPCHAR] BOOL BpcharEq Strict Immutable;
    1052 "bpcharge" [BPCHAR BPCHAR] BOOL BpcharGe Strict Immutable;
    1051 "bpchargt" [BPCHAR BPCHAR] BOOL BpcharGt Strict Immutable;
    1660 "bpchariclike" [BPCHAR TEXT] BOOL Ilike Strict Immutable;
    1661 "bpcharicnlike" [BPCHAR TEXT] BOOL NotIlike Strict Immutable;
    1656 "bpcharicregexeq" [BPCHAR TEXT] BOOL RegexAnyCase Strict Immutable;
    1657 "bpcharicregexne" [BPCHAR TEXT] BOOL NotRegexAnyCase Strict Immutable;
    1050 "bpcharle" [BPCHAR BPCHAR] BOOL BpcharLe Strict Immutable;
    1631 "bpcharlike" [BPCHAR TEXT] BOOL Like Strict Immutable;
    1049 "bpcharlt" [BPCHAR BPCHAR] BOOL BpcharLt Strict Immutable;
    1053 "bpcharne" [BPCHAR BPCHAR] BOOL BpcharNe Strict Immutable;
    1632 "bpcharnlike" [BPCHAR TEXT] BOOL NotLike Strict Immutable;
    1658 "bpcharregexeq" [BPCHAR TEXT] BOOL Regex Strict Immutable;
    1659 "bpcharregexne" [BPCHAR TEXT] BOOL NotRegex Strict Immutable;
    884 "btrim" [TEXT TEXT] TEXT Btrim Strict Immutable;
    885 "btrim" [TEXT] TEXT Btrim1 Strict Immutable;
    2011 "byteacat" [BYTEA BYTEA] BYTEA TextCat Strict Immutable;
    1948 "byteaeq" [BYTEA BYTEA] BOOL BytesEq Strict Immutable;
    1952 "byteage" [BYTEA BYTEA] BOOL BytesGe Strict Immutable;
    1951 "byteagt" [BYTEA BYTEA] BOOL BytesGt Strict Immutable;
    1950 "byteale" [BYTEA BYTEA] BOOL BytesLe Strict Immutable;
    1949 "bytealt" [BYTEA BYTEA] BOOL BytesLt Strict Immutable;
    1953 "byteane" [BYTEA BYTEA] BOOL BytesNe Strict Immutable;
    3179 "cardinality" [ANYARRAY] INT4 Cardinality Strict Immutable;
    1345 "cbrt" [FLOAT8] FLOAT8 FloatCbrt Strict Immutable;
    1711 "ceil" [NUMERIC] NUMERIC NumericCeil Strict Immutable;
    2308 "ceil" [FLOAT8] FLOAT8 FloatCeil Strict Immutable;
    2167 "ceiling" [NUMERIC] NUMERIC NumericCeil Strict Immutable;
    2320 "ceiling" [FLOAT8] FLOAT8 FloatCeil Strict Immutable;
    78 "char" [INT4] CHAR IntToChar Strict Immutable;
    944 "char" [TEXT] CHAR TextToChar Strict Immutable;
    1372 "char_length" [BPCHAR] INT4 BpcharCharLength Strict Immutable;
    1381 "char_length" [TEXT] INT4 TextLength Strict Immutable;
    1367 "character_length" [BPCHAR] INT4 BpcharCharLength Strict Immutable;
    1369 "character_length" [TEXT] INT4 TextLength Strict Immutable;
    61 "chareq" [CHAR CHAR] BOOL IntEq Strict Immutable;
    74 "charge" [CHAR CHAR] BOOL IntGe Strict Immutable;
    73 "chargt" [CHAR CHAR] BOOL IntGt Strict Immutable;
    72 "charle" [CHAR CHAR] BOOL IntLe Strict Immutable;
    1246 "charlt" [CHAR CHAR] BOOL IntLt Strict Immutable;
    70 "charne" [CHAR CHAR] BOOL IntNe Strict Immutable;
    1621 "chr" [INT4] TEXT Chr Strict Immutable;
    69 "cideq" [CID CID] BOOL IntEq Strict Immutable;
    2649 "clock_timestamp" [] TIMESTAMPTZ ClockTimestamp Strict Volatile;
    1216 "col_description" [OID INT4] TEXT Description Strict Stable;
    3058 "concat" [ANY] TEXT Concat CalledOnNull Stable Variadic;
    3059 "concat_ws" [TEXT ANY] TEXT ConcatWs CalledOnNull Stable Variadic;
    1605 "cos" [FLOAT8] FLOAT8 FloatCos Strict Immutable;
    2736 "cosd" [FLOAT8] FLOAT8 FloatCosd Strict Immutable;
    2463 "cosh" [FLOAT8] FLOAT8 FloatCosh Strict Immutable;
    1607 "cot" [FLOAT8] FLOAT8 FloatCot Strict Immutable;
    2738 "cotd" [FLOAT8] FLOAT8 FloatCotd Strict Immutable;
    861 "current_database" [] NAME CurrentDatabase Strict Stable;
    1402 "current_schema" [] NAME CurrentSchema Strict Stable;
    1403 "current_schemas" [BOOL] NAME_ARRAY CurrentSchemas Strict Stable;
    2077 "current_setting" [TEXT] TEXT CurrentSetting Strict Stable;
    3294 "current_setting" [TEXT BOOL] TEXT CurrentSetting Strict Stable;
    745 "current_user" [] NAME CurrentUser Strict Stable;
    1575 "currval" [REGCLASS] INT8 CurrentValue Strict Volatile;
    1178 "date" [TIMESTAMPTZ] DATE TimestamptzToDate Strict Stable;
    2029 "date" [TIMESTAMP] DATE TimestampToDate Strict Immutable;
    6177 "date_bin" [INTERVAL TIMESTAMP TIMESTAMP] TIMESTAMP DateBinTimestamptz Strict Immutable;
    6178 "date_bin" [INTERVAL TIMESTAMPTZ TIMESTAMPTZ] TIMESTAMPTZ DateBinTimestamp Strict Immutable;
    1086 "date_eq" [DATE DATE] BOOL IntEq Strict Immutable;
    1090 "date_ge" [DATE DATE] BOOL IntGe Strict Immutable;
    1089 "date_gt" [DATE DATE] BOOL IntGt Strict Immutable;
    1088 "date_le" [DATE DATE] BOOL IntLe Strict Immutable;
    1087 "date_lt" [DATE DATE] BOOL IntLt Strict Immutable;
    1140 "date_mi" [DATE DATE] INT4 DateSub Strict Immutable;
    2072 "date_mi_interval" [DATE INTERVAL] TIMESTAMP DateSubInterval Strict Immutable;
    1142 "date_mii" [DATE INT4] DATE DateSubInt Strict Immutable;
    1091 "date_ne" [DATE DATE] BOOL IntNe Strict Immutable;
    1171 "date_part" [TEXT TIMESTAMPTZ] FLOAT8 PartOfTimestamptz Strict Stable;
    1172 "date_part" [TEXT INTERVAL] FLOAT8 PartOfInterval Strict Immutable;
    1384 "date_part" [TEXT DATE] FLOAT8 PartOfDate Strict Immutable;
    1385 "date_part" [TEXT TIME] FLOAT8 PartOfTime Strict Immutable;
    2021 "date_part" [TEXT TIMESTAMP] FLOAT8 PartOfTimestamp Strict Immutable;
    2071 "date_pl_interval" [DATE INTERVAL] TIMESTAMP DateAddInterval Strict Immutable;
    1141 "date_pli" [DATE INT4] DATE DateAddInt Strict Immutable;
    1217 "date_trunc" [TEXT TIMESTAMPTZ] TIMESTAMPTZ TruncTimestamptz Strict Stable;
    1218 "date_trunc" [TEXT INTERVAL] INTERVAL TruncInterval Strict Immutable;
    1284 "date_trunc" [TEXT TIMESTAMPTZ TEXT] TIMESTAMPTZ TruncTimestamptzIn Strict Stable;
    2020 "date_trunc" [TEXT TIMESTAMP] TIMESTAMP TruncTimestamp Strict Immutable;
    1272 "datetime_pl" [DATE TIME] TIMESTAMP DateAddTime Strict Immutable;
    231 "dcbrt" [FLOAT8] FLOAT8 FloatCbrt Strict Immutable;
    1947 "decode" [TEXT TEXT] BYTEA Decode Strict Immutable;
    1608 "degrees" [FLOAT8] FLOAT8 FloatDegrees Strict Immutable;
    233 "dexp" [FLOAT8] FLOAT8 FloatExp Strict Immutable;
    1973 "div" [NUMERIC NUMERIC] NUMERIC NumericDivTrunc Strict Immutable;
    234 "dlog1" [FLOAT8] FLOAT8 FloatLn Strict Immutable;
    1339 "dlog10" [FLOAT8] FLOAT8 FloatLog10 Strict Immutable;
    232 "dpow" [FLOAT8 FLOAT8] FLOAT8 FloatPower Strict Immutable;
    228 "dround" [FLOAT8] FLOAT8 FloatRound Strict Immutable;
    230 "dsqrt" [FLOAT8] FLOAT8 FloatSqrt Strict Immutable;
    229 "dtrunc" [FLOAT8] FLOAT8 FloatTrunc Strict Immutable;
    1946 "encode" [BYTEA TEXT] TEXT Encode Strict Immutable;
    3508 "enum_eq" [ANYENUM ANYENUM] BOOL IntEq Strict Immutable;
    3528 "enum_first" [ANYENUM] ANYENUM EnumFirst CalledOnNull Stable;
    3513 "enum_ge" [ANYENUM ANYENUM] BOOL IntGe Strict Immutable;
    3511 "enum_gt" [ANYENUM ANYENUM] BOOL IntGt Strict Immutable;
    3529 "enum_last" [ANYENUM] ANYENUM EnumLast CalledOnNull Stable;
    3512 "enum_le" [ANYENUM ANYENUM] BOOL IntLe Strict Immutable;
    3510 "enum_lt" [ANYENUM ANYENUM] BOOL IntLt Strict Immutable;
    3509 "enum_ne" [ANYENUM ANYENUM] BOOL IntNe Strict Immutable;
    3530 "enum_range" [ANYENUM ANYENUM] ANYARRAY EnumRange CalledOnNull Stable;
    3531 "enum_range" [ANYENUM] ANYARRAY EnumAll CalledOnNull Stable;
    1347 "exp" [FLOAT8] FLOAT8 FloatExp Strict Immutable;
    1732 "exp" [NUMERIC] NUMERIC NumericExp Strict Immutable;
    6199 "extract" [TEXT DATE] NUMERIC ExtractDate Strict Immutable;
    6200 "extract" [TEXT TIME] NUMERIC ExtractTime Strict Immutable;
    6202 "extract" [TEXT TIMESTAMP] NUMERIC ExtractTimestamp Strict Immutable;
    6203 "extract" [TEXT TIMESTAMPTZ] NUMERIC ExtractTimestamptz Strict Stable;
    6204 "extract" [TEXT INTERVAL] NUMERIC ExtractInterval Strict Immutable;
    1376 "factorial" [INT8] NUMERIC Factorial Strict Immutable;
    236 "float4" [INT2] FLOAT4 IntToFloat4 Strict Immutable;
    312 "float4" [FLOAT8] FLOAT4 Float8ToFloat4 Strict Immutable;
    318 "float4" [INT4] FLOAT4 IntToFloat4 Strict Immutable;
    652 "float4" [INT8] FLOAT4 IntToFloat4 Strict Immutable;
    1745 "float4" [NUMERIC] FLOAT4 NumericToFloat4 Strict Immutable;
    3453 "float4" [JSONB] FLOAT4 JsonbToFloat4 Strict Immutable;
    280 "float48div" [FLOAT4 FLOAT8] FLOAT8 Float8Div Strict Immutable;
    299 "float48eq" [FLOAT4 FLOAT8] BOOL FloatEq Strict Immutable;
    304 "float48ge" [FLOAT4 FLOAT8] BOOL FloatGe Strict Immutable;
    303 "float48gt" [FLOAT4 FLOAT8] BOOL FloatGt Strict Immutable;
    302 "float48le" [FLOAT4 FLOAT8] BOOL FloatLe Strict Immutable;
    301 "float48lt" [FLOAT4 FLOAT8] BOOL FloatLt Strict Immutable;
    282 "float48mi" [FLOAT4 FLOAT8] FLOAT8 Float8Sub Strict Immutable;
    279 "float48mul" [FLOAT4 FLOAT8] FLOAT8 Float8Mul Strict Immutable;
    300 "float48ne" [FLOAT4 FLOAT8] BOOL FloatNe Strict Immutable;
    281 "float48pl" [FLOAT4 FLOAT8] FLOAT8 Float8Add Strict Immutable;
    207 "float4abs" [FLOAT4] FLOAT4 FloatAbs Strict Immutable;
    203 "float4div" [FLOAT4 FLOAT4] FLOAT4 Float4Div Strict Immutable;
    287 "float4eq" [FLOAT4 FLOAT4] BOOL FloatEq Strict Immutable;
    292 "float4ge" [FLOAT4 FLOAT4] BOOL FloatGe Strict Immutable;
    291 "float4gt" [FLOAT4 FLOAT4] BOOL FloatGt Strict Immutable;
    290 "float4le" [FLOAT4 FLOAT4] BOOL FloatLe Strict Immutable;
    289 "float4lt" [FLOAT4 FLOAT4] BOOL FloatLt Strict Immutable;
    205 "float4mi" [FLOAT4 FLOAT4] FLOAT4 Float4Sub Strict Immutable;
    202 "float4mul" [FLOAT4 FLOAT4] FLOAT4 Float4Mul Strict Immutable;
    288 "float4ne" [FLOAT4 FLOAT4] BOOL FloatNe Strict Immutable;
    204 "float4pl" [FLOAT4 FLOAT4] FLOAT4 Float4Add Strict Immutable;
    206 "float4um" [FLOAT4] FLOAT4 FloatNeg Strict Immutable;
    1913 "float4up" [FLOAT4] FLOAT4 Identity Strict Immutable;
    235 "float8" [INT2] FLOAT8 IntToFloat8 Strict Immutable;
    311 "float8" [FLOAT4] FLOAT8 Identity Strict Immutable;
    316 "float8" [INT4] FLOAT8 IntToFloat8 Strict Immutable;
    482 "float8" [INT8] FLOAT8 IntToFloat8 Strict Immutable;
    1746 "float8" [NUMERIC] FLOAT8 NumericToFloat8 Strict Immutable;
    2580 "float8" [JSONB] FLOAT8 JsonbToFloat8 Strict Immutable;
    284 "float84div" [FLOAT8 FLOAT4] FLOAT8 Float8Div Strict Immutable;
    305 "float84eq" [FLOAT8 FLOAT4] BOOL FloatEq Strict Immutable;
    310 "float84ge" [FLOAT8 FLOAT4] BOOL FloatGe Strict Immutable;
    309 "float84gt" [FLOAT8 FLOAT4] BOOL FloatGt Strict Immutable;
    308 "float84le" [FLOAT8 FLOAT4] BOOL FloatLe Strict Immutable;
    307 "float84lt" [FLOAT8 FLOAT4] BOOL FloatLt Strict Immutable;
    286 "float84mi" [FLOAT8 FLOAT4] FLOAT8 Float8Sub Strict Immutable;
    283 "float84mul" [FLOAT8 FLOAT4] FLOAT8 Float8Mul Strict Immutable;
    306 "float84ne" [FLOAT8 FLOAT4] BOOL FloatNe Strict Immutable;
    285 "float84pl" [FLOAT8 FLOAT4] FLOAT8 Float8Add Strict Immutable;
    221 "float8abs" [FLOAT8] FLOAT8 FloatAbs Strict Immutable;
    217 "float8div" [FLOAT8 FLOAT8] FLOAT8 Float8Div Strict Immutable;
    293 "float8eq" [FLOAT8 FLOAT8] BOOL FloatEq Strict Immutable;
    298 "float8ge" [FLOAT8 FLOAT8] BOOL FloatGe Strict Immutable;
    297 "float8gt" [FLOAT8 FLOAT8] BOOL FloatGt Strict Immutable;
    296 "float8le" [FLOAT8 FLOAT8] BOOL FloatLe Strict Immutable;
    295 "float8lt" [FLOAT8 FLOAT8] BOOL FloatLt Strict Immutable;
    219 "float8mi" [FLOAT8 FLOAT8] FLOAT8 Float8Sub Strict Immutable;
    216 "float8mul" [FLOAT8 FLOAT8] FLOAT8 Float8Mul Strict Immutable;
    294 "float8ne" [FLOAT8 FLOAT8] BOOL FloatNe Strict Immutable;
    218 "float8pl" [FLOAT8 FLOAT8] FLOAT8 Float8Add Strict Immutable;
    220 "float8um" [FLOAT8] FLOAT8 FloatNeg Strict Immutable;
    1914 "float8up" [FLOAT8] FLOAT8 Identity Strict Immutable;
    1712 "floor" [NUMERIC] NUMERIC NumericFloor Strict Immutable;
    2309 "floor" [FLOAT8] FLOAT8 FloatFloor Strict Immutable;
    3539 "format" [TEXT ANY] TEXT Format CalledOnNull Stable Variadic;
    3540 "format" [TEXT] TEXT Format CalledOnNull Stable;
    1081 "format_type" [OID INT4] TEXT FormatType CalledOnNull Stable;
    5044 "gcd" [INT4 INT4] INT4 Int4Gcd Strict Immutable;
    5045 "gcd" [INT8 INT8] INT8 Int8Gcd Strict Immutable;
    5048 "gcd" [NUMERIC NUMERIC] NUMERIC NumericGcd Strict Immutable;
    9050 "gearbox_sequence_state" [OID INT4] INT8 SequencePart Strict Volatile;
    3432 "gen_random_uuid" [] UUID GenerateUuid Strict Volatile;
    938 "generate_series" [TIMESTAMP TIMESTAMP INTERVAL] TIMESTAMP GenerateTimestampSeries Strict Immutable Set;
    939 "generate_series" [TIMESTAMPTZ TIMESTAMPTZ INTERVAL] TIMESTAMPTZ GenerateTimestamptzSeries Strict Stable Set;
    1066 "generate_series" [INT4 INT4 INT4] INT4 GenerateSeries Strict Immutable Set;
    1067 "generate_series" [INT4 INT4] INT4 GenerateSeries Strict Immutable Set;
    1068 "generate_series" [INT8 INT8 INT8] INT8 GenerateSeries Strict Immutable Set;
    1069 "generate_series" [INT8 INT8] INT8 GenerateSeries Strict Immutable Set;
    3259 "generate_series" [NUMERIC NUMERIC NUMERIC] NUMERIC GenerateNumericSeries Strict Immutable Set;
    3260 "generate_series" [NUMERIC NUMERIC] NUMERIC GenerateNumericSeries Strict Immutable Set;
    1191 "generate_subscripts" [ANYARRAY INT4 BOOL] INT4 GenerateSubscripts Strict Immutable Set;
    1192 "generate_subscripts" [ANYARRAY INT4] INT4 GenerateSubscripts Strict Immutable Set;
    723 "get_bit" [BYTEA INT8] INT4 GetBit Strict Immutable;
    721 "get_byte" [BYTEA INT4] INT4 GetByte Strict Immutable;
    1039 "getdatabaseencoding" [] NAME OwnEncoding Strict Stable;
    710 "getpgusername" [] NAME CurrentUser Strict Stable;
    3024 "has_any_column_privilege" [NAME TEXT TEXT] BOOL HasAnyColumnPrivilege Strict Stable;
    3025 "has_any_column_privilege" [NAME OID TEXT] BOOL HasAnyColumnPrivilege Strict Stable;
    3026 "has_any_column_privilege" [OID TEXT TEXT] BOOL HasAnyColumnPrivilege Strict Stable;
    3027 "has_any_column_privilege" [OID OID TEXT] BOOL HasAnyColumnPrivilege Strict Stable;
    3028 "has_any_column_privilege" [TEXT TEXT] BOOL HasAnyColumnPrivilege Strict Stable;
    3029 "has_any_column_privilege" [OID TEXT] BOOL HasAnyColumnPrivilege Strict Stable;
    3012 "has_column_privilege" [NAME TEXT TEXT TEXT] BOOL HasColumnPrivilege Strict Stable;
    3013 "has_column_privilege" [NAME TEXT INT2 TEXT] BOOL HasColumnPrivilege Strict Stable;
    3014 "has_column_privilege" [NAME OID TEXT TEXT] BOOL HasColumnPrivilege Strict Stable;
    3015 "has_column_privilege" [NAME OID INT2 TEXT] BOOL HasColumnPrivilege Strict Stable;
    3016 "has_column_privilege" [OID TEXT TEXT TEXT] BOOL HasColumnPrivilege Strict Stable;
    3017 "has_column_privilege" [OID TEXT INT2 TEXT] BOOL HasColumnPrivilege Strict Stable;
    3018 "has_column_privilege" [OID OID TEXT TEXT] BOOL HasColumnPrivilege Strict Stable;
    3019 "has_column_privilege" [OID OID INT2 TEXT] BOOL HasColumnPrivilege Strict Stable;
    3020 "has_column_privilege" [TEXT TEXT TEXT] BOOL HasColumnPrivilege Strict Stable;
    3021 "has_column_privilege" [TEXT INT2 TEXT] BOOL HasColumnPrivilege Strict Stable;
    3022 "has_column_privilege" [OID TEXT TEXT] BOOL HasColumnPrivilege Strict Stable;
    3023 "has_column_privilege" [OID INT2 TEXT] BOOL HasColumnPrivilege Strict Stable;
    2250 "has_database_privilege" [NAME TEXT TEXT] BOOL HasDatabasePrivilege Strict Stable;
    2251 "has_database_privilege" [NAME OID TEXT] BOOL HasDatabasePrivilege Strict Stable;
    2252 "has_database_privilege" [OID TEXT TEXT] BOOL HasDatabasePrivilege Strict Stable;
    2253 "has_database_privilege" [OID OID TEXT] BOOL HasDatabasePrivilege Strict Stable;
    2254 "has_database_privilege" [TEXT TEXT] BOOL HasDatabasePrivilege Strict Stable;
    2255 "has_database_privilege" [OID TEXT] BOOL HasDatabasePrivilege Strict Stable;
    2256 "has_function_privilege" [NAME TEXT TEXT] BOOL HasFunctionPrivilege Strict Stable;
    2257 "has_function_privilege" [NAME OID TEXT] BOOL HasFunctionPrivilege Strict Stable;
    2258 "has_function_privilege" [OID TEXT TEXT] BOOL HasFunctionPrivilege Strict Stable;
    2259 "has_function_privilege" [OID OID TEXT] BOOL HasFunctionPrivilege Strict Stable;
    2260 "has_function_privilege" [TEXT TEXT] BOOL HasFunctionPrivilege Strict Stable;
    2261 "has_function_privilege" [OID TEXT] BOOL HasFunctionPrivilege Strict Stable;
    2262 "has_language_privilege" [NAME TEXT TEXT] BOOL HasLanguagePrivilege Strict Stable;
    2263 "has_language_privilege" [NAME OID TEXT] BOOL HasLanguagePrivilege Strict Stable;
    2264 "has_language_privilege" [OID TEXT TEXT] BOOL HasLanguagePrivilege Strict Stable;
    2265 "has_language_privilege" [OID OID TEXT] BOOL HasLanguagePrivilege Strict Stable;
    2266 "has_language_privilege" [TEXT TEXT] BOOL HasLanguagePrivilege Strict Stable;
    2267 "has_language_privilege" [OID TEXT] BOOL HasLanguagePrivilege Strict Stable;
    2268 "has_schema_privilege" [NAME TEXT TEXT] BOOL HasSchemaPrivilege Strict Stable;
    2269 "has_schema_privilege" [NAME OID TEXT] BOOL HasSchemaPrivilege Strict Stable;
    2270 "has_schema_privilege" [OID TEXT TEXT] BOOL HasSchemaPrivilege Strict Stable;
    2271 "has_schema_privilege" [OID OID TEXT] BOOL HasSchemaPrivilege Strict Stable;
    2272 "has_schema_privilege" [TEXT TEXT] BOOL HasSchemaPrivilege Strict Stable;
    2273 "has_schema_privilege" [OID TEXT] BOOL HasSchemaPrivilege Strict Stable;
    2181 "has_sequence_privilege" [NAME TEXT TEXT] BOOL HasSequencePrivilege Strict Stable;
    2182 "has_sequence_privilege" [NAME OID TEXT] BOOL HasSequencePrivilege Strict Stable;
    2183 "has_sequence_privilege" [OID TEXT TEXT] BOOL HasSequencePrivilege Strict Stable;
    2184 "has_sequence_privilege" [OID OID TEXT] BOOL HasSequencePrivilege Strict Stable;
    2185 "has_sequence_privilege" [TEXT TEXT] BOOL HasSequencePrivilege Strict Stable;
    2186 "has_sequence_privilege" [OID TEXT] BOOL HasSequencePrivilege Strict Stable;
    1922 "has_table_privilege" [NAME TEXT TEXT] BOOL HasTablePrivilege Strict Stable;
    1923 "has_table_privilege" [NAME OID TEXT] BOOL HasTablePrivilege Strict Stable;
    1924 "has_table_privilege" [OID TEXT TEXT] BOOL HasTablePrivilege Strict Stable;
    1925 "has_table_privilege" [OID OID TEXT] BOOL HasTablePrivilege Strict Stable;
    1926 "has_table_privilege" [TEXT TEXT] BOOL HasTablePrivilege Strict Stable;
    1927 "has_table_privilege" [OID TEXT] BOOL HasTablePrivilege Strict Stable;
    3138 "has_type_privilege" [NAME TEXT TEXT] BOOL HasTypePrivilege Strict Stable;
    3139 "has_type_privilege" [NAME OID TEXT] BOOL HasTypePrivilege Strict Stable;
    3140 "has_type_privilege" [OID TEXT TEXT] BOOL HasTypePrivilege Strict Stable;
    3141 "has_type_privilege" [OID OID TEXT] BOOL HasTypePrivilege Strict Stable;
    3142 "has_type_privilege" [TEXT TEXT] BOOL HasTypePrivilege Strict Stable;
    3143 "has_type_privilege" [OID TEXT] BOOL HasTypePrivilege Strict Stable;
    872 "initcap" [TEXT] TEXT Initcap Strict Immutable;
    237 "int2" [FLOAT8] INT2 FloatToInt2 Strict Immutable;
    238 "int2" [FLOAT4] INT2 FloatToInt2 Strict Immutable;
    314 "int2" [INT4] INT2 ToInt2 Strict Immutable;
    714 "int2" [INT8] INT2 ToInt2 Strict Immutable;
    1783 "int2" [NUMERIC] INT2 NumericToInt2 Strict Immutable;
    3450 "int2" [JSONB] INT2 JsonbToInt2 Strict Immutable;
    172 "int24div" [INT2 INT4] INT4 Int4Div Strict Immutable;
    158 "int24eq" [INT2 INT4] BOOL IntEq Strict Immutable;
    168 "int24ge" [INT2 INT4] BOOL IntGe Strict Immutable;
    162 "int24gt" [INT2 INT4] BOOL IntGt Strict Immutable;
    166 "int24le" [INT2 INT4] BOOL IntLe Strict Immutable;
    160 "int24lt" [INT2 INT4] BOOL IntLt Strict Immutable;
    182 "int24mi" [INT2 INT4] INT4 Int4Sub Strict Immutable;
    170 "int24mul" [INT2 INT4] INT4 Int4Mul Strict Immutable;
    164 "int24ne" [INT2 INT4] BOOL IntNe Strict Immutable;
    178 "int24pl" [INT2 INT4] INT4 Int4Add Strict Immutable;
    948 "int28div" [INT2 INT8] INT8 Int8Div Strict Immutable;
    1850 "int28eq" [INT2 INT8] BOOL IntEq Strict Immutable;
    1855 "int28ge" [INT2 INT8] BOOL IntGe Strict Immutable;
    1853 "int28gt" [INT2 INT8] BOOL IntGt Strict Immutable;
    1854 "int28le" [INT2 INT8] BOOL IntLe Strict Immutable;
    1852 "int28lt" [INT2 INT8] BOOL IntLt Strict Immutable;
    942 "int28mi" [INT2 INT8] INT8 Int8Sub Strict Immutable;
    943 "int28mul" [INT2 INT8] INT8 Int8Mul Strict Immutable;
    1851 "int28ne" [INT2 INT8] BOOL IntNe Strict Immutable;
    841 "int28pl" [INT2 INT8] INT8 Int8Add Strict Immutable;
    1253 "int2abs" [INT2] INT2 Int2Abs Strict Immutable;
    1892 "int2and" [INT2 INT2] INT2 IntAnd Strict Immutable;
    153 "int2div" [INT2 INT2] INT2 Int2Div Strict Immutable;
    63 "int2eq" [INT2 INT2] BOOL IntEq Strict Immutable;
    151 "int2ge" [INT2 INT2] BOOL IntGe Strict Immutable;
    146 "int2gt" [INT2 INT2] BOOL IntGt Strict Immutable;
    148 "int2le" [INT2 INT2] BOOL IntLe Strict Immutable;
    64 "int2lt" [INT2 INT2] BOOL IntLt Strict Immutable;
    180 "int2mi" [INT2 INT2] INT2 Int2Sub Strict Immutable;
    155 "int2mod" [INT2 INT2] INT2 Int2Mod Strict Immutable;
    152 "int2mul" [INT2 INT2] INT2 Int2Mul Strict Immutable;
    145 "int2ne" [INT2 INT2] BOOL IntNe Strict Immutable;
    1895 "int2not" [INT2] INT2 IntNot Strict Immutable;
    1893 "int2or" [INT2 INT2] INT2 IntOr Strict Immutable;
    176 "int2pl" [INT2 INT2] INT2 Int2Add Strict Immutable;
    1896 "int2shl" [INT2 INT4] INT2 Int2Shl Strict Immutable;
    1897 "int2shr" [INT2 INT4] INT2 IntShr Strict Immutable;
    213 "int2um" [INT2] INT2 Int2Neg Strict Immutable;
    1911 "int2up" [INT2] INT2 Identity Strict Immutable;
    1894 "int2xor" [INT2 INT2] INT2 IntXor Strict Immutable;
    77 "int4" [CHAR] INT4 CharToInt Strict Immutable;
    313 "int4" [INT2] INT4 Identity Strict Immutable;
    317 "int4" [FLOAT8] INT4 FloatToInt4 Strict Immutable;
    319 "int4" [FLOAT4] INT4 FloatToInt4 Strict Immutable;
    480 "int4" [INT8] INT4 ToInt4 Strict Immutable;
    1744 "int4" [NUMERIC] INT4 NumericToInt4 Strict Immutable;
    2558 "int4" [BOOL] INT4 BoolToInt Strict Immutable;
    3451 "int4" [JSONB] INT4 JsonbToInt4 Strict Immutable;
    173 "int42div" [INT4 INT2] INT4 Int4Div Strict Immutable;
    159 "int42eq" [INT4 INT2] BOOL IntEq Strict Immutable;
    169 "int42ge" [INT4 INT2] BOOL IntGe Strict Immutable;
    163 "int42gt" [INT4 INT2] BOOL IntGt Strict Immutable;
    167 "int42le" [INT4 INT2] BOOL IntLe Strict Immutable;
    161 "int42lt" [INT4 INT2] BOOL IntLt Strict Immutable;
    183 "int42mi" [INT4 INT2] INT4 Int4Sub Strict Immutable;
    171 "int42mul" [INT4 INT2] INT4 Int4Mul Strict Immutable;
    165 "int42ne" [INT4 INT2] BOOL IntNe Strict Immutable;
    179 "int42pl" [INT4 INT2] INT4 Int4Add Strict Immutable;
    1281 "int48div" [INT4 INT8] INT8 Int8Div Strict Immutable;
    852 "int48eq" [INT4 INT8] BOOL IntEq Strict Immutable;
    857 "int48ge" [INT4 INT8] BOOL IntGe Strict Immutable;
    855 "int48gt" [INT4 INT8] BOOL IntGt Strict Immutable;
    856 "int48le" [INT4 INT8] BOOL IntLe Strict Immutable;
    854 "int48lt" [INT4 INT8] BOOL IntLt Strict Immutable;
    1279 "int48mi" [INT4 INT8] INT8 Int8Sub Strict Immutable;
    1280 "int48mul" [INT4 INT8] INT8 Int8Mul Strict Immutable;
    853 "int48ne" [INT4 INT8] BOOL IntNe Strict Immutable;
    1278 "int48pl" [INT4 INT8] INT8 Int8Add Strict Immutable;
    1251 "int4abs" [INT4] INT4 Int4Abs Strict Immutable;
    1898 "int4and" [INT4 INT4] INT4 IntAnd Strict Immutable;
    154 "int4div" [INT4 INT4] INT4 Int4Div Strict Immutable;
    65 "int4eq" [INT4 INT4] BOOL IntEq Strict Immutable;
    150 "int4ge" [INT4 INT4] BOOL IntGe Strict Immutable;
    147 "int4gt" [INT4 INT4] BOOL IntGt Strict Immutable;
    149 "int4le" [INT4 INT4] BOOL IntLe Strict Immutable;
    66 "int4lt" [INT4 INT4] BOOL IntLt Strict Immutable;
    181 "int4mi" [INT4 INT4] INT4 Int4Sub Strict Immutable;
    156 "int4mod" [INT4 INT4] INT4 Int4Mod Strict Immutable;
    141 "int4mul" [INT4 INT4] INT4 Int4Mul Strict Immutable;
    144 "int4ne" [INT4 INT4] BOOL IntNe Strict Immutable;
    1901 "int4not" [INT4] INT4 IntNot Strict Immutable;
    1899 "int4or" [INT4 INT4] INT4 IntOr Strict Immutable;
    177 "int4pl" [INT4 INT4] INT4 Int4Add Strict Immutable;
    1902 "int4shl" [INT4 INT4] INT4 Int4Shl Strict Immutable;
    1903 "int4shr" [INT4 INT4] INT4 IntShr Strict Immutable;
    212 "int4um" [INT4] INT4 Int4Neg Strict Immutable;
    1912 "int4up" [INT4] INT4 Identity Strict Immutable;
    1900 "int4xor" [INT4 INT4] INT4 IntXor Strict Immutable;
    481 "int8" [INT4] INT8 Identity Strict Immutable;
    483 "int8" [FLOAT8] INT8 FloatToInt8 Strict Immutable;
    653 "int8" [FLOAT4] INT8 FloatToInt8 Strict Immutable;
    754 "int8" [INT2] INT8 Identity Strict Immutable;
    1288 "int8" [OID] INT8 Identity Strict Immutable;
    1779 "int8" [NUMERIC] INT8 NumericToInt8 Strict Immutable;
    3452 "int8" [JSONB] INT8 JsonbToInt8 Strict Immutable;
    840 "int82div" [INT8 INT2] INT8 Int8Div Strict Immutable;
    1856 "int82eq" [INT8 INT2] BOOL IntEq Strict Immutable;
    1861 "int82ge" [INT8 INT2] BOOL IntGe Strict Immutable;
    1859 "int82gt" [INT8 INT2] BOOL IntGt Strict Immutable;
    1860 "int82le" [INT8 INT2] BOOL IntLe Strict Immutable;
    1858 "int82lt" [INT8 INT2] BOOL IntLt Strict Immutable;
    838 "int82mi" [INT8 INT2] INT8 Int8Sub Strict Immutable;
    839 "int82mul" [INT8 INT2] INT8 Int8Mul Strict Immutable;
    1857 "int82ne" [INT8 INT2] BOOL IntNe Strict Immutable;
    837 "int82pl" [INT8 INT2] INT8 Int8Add Strict Immutable;
    1277 "int84div" [INT8 INT4] INT8 Int8Div Strict Immutable;
    474 "int84eq" [INT8 INT4] BOOL IntEq Strict Immutable;
    479 "int84ge" [INT8 INT4] BOOL IntGe Strict Immutable;
    477 "int84gt" [INT8 INT4] BOOL IntGt Strict Immutable;
    478 "int84le" [INT8 INT4] BOOL IntLe Strict Immutable;
    476 "int84lt" [INT8 INT4] BOOL IntLt Strict Immutable;
    1275 "int84mi" [INT8 INT4] INT8 Int8Sub Strict Immutable;
    1276 "int84mul" [INT8 INT4] INT8 Int8Mul Strict Immutable;
    475 "int84ne" [INT8 INT4] BOOL IntNe Strict Immutable;
    1274 "int84pl" [INT8 INT4] INT8 Int8Add Strict Immutable;
    1230 "int8abs" [INT8] INT8 Int8Abs Strict Immutable;
    1904 "int8and" [INT8 INT8] INT8 IntAnd Strict Immutable;
    466 "int8div" [INT8 INT8] INT8 Int8Div Strict Immutable;
    467 "int8eq" [INT8 INT8] BOOL IntEq Strict Immutable;
    472 "int8ge" [INT8 INT8] BOOL IntGe Strict Immutable;
    470 "int8gt" [INT8 INT8] BOOL IntGt Strict Immutable;
    471 "int8le" [INT8 INT8] BOOL IntLe Strict Immutable;
    469 "int8lt" [INT8 INT8] BOOL IntLt Strict Immutable;
    464 "int8mi" [INT8 INT8] INT8 Int8Sub Strict Immutable;
    945 "int8mod" [INT8 INT8] INT8 Int8Mod Strict Immutable;
    465 "int8mul" [INT8 INT8] INT8 Int8Mul Strict Immutable;
    468 "int8ne" [INT8 INT8] BOOL IntNe Strict Immutable;
    1907 "int8not" [INT8] INT8 IntNot Strict Immutable;
    1905 "int8or" [INT8 INT8] INT8 IntOr Strict Immutable;
    463 "int8pl" [INT8 INT8] INT8 Int8Add Strict Immutable;
    1908 "int8shl" [INT8 INT4] INT8 Int8Shl Strict Immutable;
    1909 "int8shr" [INT8 INT4] INT8 IntShr Strict Immutable;
    462 "int8um" [INT8] INT8 Int8Neg Strict Immutable;
    1910 "int8up" [INT8] INT8 Identity Strict Immutable;
    1906 "int8xor" [INT8 INT8] INT8 IntXor Strict Immutable;
    2550 "integer_pl_date" [INT4 DATE] DATE IntAddDate Strict Immutable;
    1200 "interval" [INTERVAL INT4] INTERVAL IntervalLength Strict Immutable;
    1370 "interval" [TIME] INTERVAL TimeToInterval Strict Immutable;
    1326 "interval_div" [INTERVAL FLOAT8] INTERVAL IntervalDiv Strict Immutable;
    1162 "interval_eq" [INTERVAL INTERVAL] BOOL IntervalEq Strict Immutable;
    1166 "interval_ge" [INTERVAL INTERVAL] BOOL IntervalGe Strict Immutable;
    1167 "interval_gt" [INTERVAL INTERVAL] BOOL IntervalGt Strict Immutable;
    1165 "interval_le" [INTERVAL INTERVAL] BOOL IntervalLe Strict Immutable;
    1164 "interval_lt" [INTERVAL INTERVAL] BOOL IntervalLt Strict Immutable;
    1170 "interval_mi" [INTERVAL INTERVAL] INTERVAL IntervalSub Strict Immutable;
    1618 "interval_mul" [INTERVAL FLOAT8] INTERVAL IntervalMul Strict Immutable;
    1163 "interval_ne" [INTERVAL INTERVAL] BOOL IntervalNe Strict Immutable;
    1169 "interval_pl" [INTERVAL INTERVAL] INTERVAL IntervalAdd Strict Immutable;
    2546 "interval_pl_date" [INTERVAL DATE] TIMESTAMP IntervalAddDate Strict Immutable;
    1848 "interval_pl_time" [INTERVAL TIME] TIME IntervalAddTime Strict Immutable;
    2548 "interval_pl_timestamp" [INTERVAL TIMESTAMP] TIMESTAMP IntervalAddTimestamp Strict Immutable;
    2549 "interval_pl_timestamptz" [INTERVAL TIMESTAMPTZ] TIMESTAMPTZ IntervalAddTimestamptz Strict Stable;
    1168 "interval_um" [INTERVAL] INTERVAL IntervalNeg Strict Immutable;
    1373 "isfinite" [DATE] BOOL DateIsFinite Strict Immutable;
    1389 "isfinite" [TIMESTAMPTZ] BOOL TimestampIsFinite Strict Immutable;
    1390 "isfinite" [INTERVAL] BOOL IntervalIsFinite Strict Immutable;
    2048 "isfinite" [TIMESTAMP] BOOL TimestampIsFinite Strict Immutable;
    3949 "json_array_element" [JSON INT4] JSON JsonElement Strict Immutable;
    3950 "json_array_element_text" [JSON INT4] TEXT JsonElementText Strict Immutable;
    3955 "json_array_elements" [JSON] JSON JsonArrayElements Strict Immutable Set;
    3969 "json_array_elements_text" [JSON] TEXT JsonArrayElementsText Strict Immutable Set;
    3956 "json_array_length" [JSON] INT4 JsonArrayLength Strict Immutable;
    3198 "json_build_array" [ANY] JSON JsonBuildArray CalledOnNull Stable Variadic;
    3199 "json_build_array" [] JSON JsonBuildArray CalledOnNull Stable;
    3200 "json_build_object" [ANY] JSON JsonBuildObject CalledOnNull Stable Variadic;
    3201 "json_build_object" [] JSON JsonBuildObject CalledOnNull Stable;
    3958 "json_each" [JSON] RECORD JsonEach Strict Immutable Set;
    3959 "json_each_text" [JSON] RECORD JsonEachText Strict Immutable Set;
    3951 "json_extract_path" [JSON TEXT_ARRAY] JSON JsonExtract Strict Immutable Variadic;
    3953 "json_extract_path_text" [JSON TEXT_ARRAY] TEXT JsonExtractText Strict Immutable Variadic;
    3202 "json_object" [TEXT_ARRAY] JSON JsonObject Strict Immutable;
    3203 "json_object" [TEXT_ARRAY TEXT_ARRAY] JSON JsonObject2 Strict Immutable;
    3947 "json_object_field" [JSON TEXT] JSON JsonField Strict Immutable;
    3948 "json_object_field_text" [JSON TEXT] TEXT JsonFieldText Strict Immutable;
    3957 "json_object_keys" [JSON] TEXT JsonObjectKeys Strict Immutable Set;
    3261 "json_strip_nulls" [JSON] JSON JsonStripNulls Strict Immutable;
    3968 "json_typeof" [JSON] TEXT JsonTypeof Strict Immutable;
    3215 "jsonb_array_element" [JSONB INT4] JSONB JsonbElement Strict Immutable;
    3216 "jsonb_array_element_text" [JSONB INT4] TEXT JsonbElementText Strict Immutable;
    3219 "jsonb_array_elements" [JSONB] JSONB JsonbArrayElements Strict Immutable Set;
    3465 "jsonb_array_elements_text" [JSONB] TEXT JsonbArrayElementsText Strict Immutable Set;
    3207 "jsonb_array_length" [JSONB] INT4 JsonbArrayLength Strict Immutable;
    3271 "jsonb_build_array" [ANY] JSONB JsonbBuildArray CalledOnNull Stable Variadic;
    3272 "jsonb_build_array" [] JSONB JsonbBuildArray CalledOnNull Stable;
    3273 "jsonb_build_object" [ANY] JSONB JsonbBuildObject CalledOnNull Stable Variadic;
    3274 "jsonb_build_object" [] JSONB JsonbBuildObject CalledOnNull Stable;
    3301 "jsonb_concat" [JSONB JSONB] JSONB JsonbConcat Strict Immutable;
    4050 "jsonb_contained" [JSONB JSONB] BOOL JsonbContained Strict Immutable;
    4046 "jsonb_contains" [JSONB JSONB] BOOL JsonbContains Strict Immutable;
    3302 "jsonb_delete" [JSONB TEXT] JSONB JsonbDelete Strict Immutable;
    3303 "jsonb_delete" [JSONB INT4] JSONB JsonbDeleteElement Strict Immutable;
    3343 "jsonb_delete" [JSONB TEXT_ARRAY] JSONB JsonbDelete Strict Immutable Variadic;
    3304 "jsonb_delete_path" [JSONB TEXT_ARRAY] JSONB JsonbDeletePath Strict Immutable;
    3208 "jsonb_each" [JSONB] RECORD JsonbEach Strict Immutable Set;
    3932 "jsonb_each_text" [JSONB] RECORD JsonbEachText Strict Immutable Set;
    4043 "jsonb_eq" [JSONB JSONB] BOOL JsonbEq Strict Immutable;
    4047 "jsonb_exists" [JSONB TEXT] BOOL JsonbExists Strict Immutable;
    4049 "jsonb_exists_all" [JSONB TEXT_ARRAY] BOOL JsonbExistsAll Strict Immutable;
    4048 "jsonb_exists_any" [JSONB TEXT_ARRAY] BOOL JsonbExistsAny Strict Immutable;
    3217 "jsonb_extract_path" [JSONB TEXT_ARRAY] JSONB JsonbExtract Strict Immutable Variadic;
    3940 "jsonb_extract_path_text" [JSONB TEXT_ARRAY] TEXT JsonbExtractText Strict Immutable Variadic;
    4042 "jsonb_ge" [JSONB JSONB] BOOL JsonbGe Strict Immutable;
    4040 "jsonb_gt" [JSONB JSONB] BOOL JsonbGt Strict Immutable;
    3579 "jsonb_insert" [JSONB TEXT_ARRAY JSONB BOOL] JSONB JsonbInsert Strict Immutable;
    3579 "jsonb_insert" [JSONB TEXT_ARRAY JSONB] JSONB JsonbInsert Strict Immutable;
    4041 "jsonb_le" [JSONB JSONB] BOOL JsonbLe Strict Immutable;
    4039 "jsonb_lt" [JSONB JSONB] BOOL JsonbLt Strict Immutable;
    4038 "jsonb_ne" [JSONB JSONB] BOOL JsonbNe Strict Immutable;
    3263 "jsonb_object" [TEXT_ARRAY] JSONB JsonbObject Strict Immutable;
    3264 "jsonb_object" [TEXT_ARRAY TEXT_ARRAY] JSONB JsonbObject2 Strict Immutable;
    3478 "jsonb_object_field" [JSONB TEXT] JSONB JsonbField Strict Immutable;
    3214 "jsonb_object_field_text" [JSONB TEXT] TEXT JsonbFieldText Strict Immutable;
    3931 "jsonb_object_keys" [JSONB] TEXT JsonbObjectKeys Strict Immutable Set;
    3306 "jsonb_pretty" [JSONB] TEXT JsonbPretty Strict Immutable;
    3305 "jsonb_set" [JSONB TEXT_ARRAY JSONB BOOL] JSONB JsonbSet Strict Immutable;
    3305 "jsonb_set" [JSONB TEXT_ARRAY JSONB] JSONB JsonbSet Strict Immutable;
    5054 "jsonb_set_lax" [JSONB TEXT_ARRAY JSONB BOOL TEXT] JSONB JsonbSetLax CalledOnNull Immutable;
    5054 "jsonb_set_lax" [JSONB TEXT_ARRAY JSONB BOOL] JSONB JsonbSetLax CalledOnNull Immutable;
    5054 "jsonb_set_lax" [JSONB TEXT_ARRAY JSONB] JSONB JsonbSetLax CalledOnNull Immutable;
    3262 "jsonb_strip_nulls" [JSONB] JSONB JsonbStripNulls Strict Immutable;
    3210 "jsonb_typeof" [JSONB] TEXT JsonbTypeof Strict Immutable;
    1295 "justify_days" [INTERVAL] INTERVAL JustifyDays Strict Immutable;
    1175 "justify_hours" [INTERVAL] INTERVAL JustifyHours Strict Immutable;
    2711 "justify_interval" [INTERVAL] INTERVAL JustifyInterval Strict Immutable;
    2559 "lastval" [] INT8 LastValue Strict Volatile;
    5046 "lcm" [INT4 INT4] INT4 Int4Lcm Strict Immutable;
    5047 "lcm" [INT8 INT8] INT8 Int8Lcm Strict Immutable;
    5049 "lcm" [NUMERIC NUMERIC] NUMERIC NumericLcm Strict Immutable;
    3060 "left" [TEXT INT4] TEXT Left Strict Immutable;
    1317 "length" [TEXT] INT4 TextLength Strict Immutable;
    1318 "length" [BPCHAR] INT4 BpcharCharLength Strict Immutable;
    2010 "length" [BYTEA] INT4 OctetLength Strict Immutable;
    1569 "like" [TEXT TEXT] BOOL Like Strict Immutable;
    1571 "like" [NAME TEXT] BOOL Like Strict Immutable;
    1637 "like_escape" [TEXT TEXT] TEXT LikeEscape Strict Immutable;
    1341 "ln" [FLOAT8] FLOAT8 FloatLn Strict Immutable;
    1734 "ln" [NUMERIC] NUMERIC NumericLn Strict Immutable;
    1340 "log" [FLOAT8] FLOAT8 FloatLog10 Strict Immutable;
    1736 "log" [NUMERIC NUMERIC] NUMERIC NumericLog Strict Immutable;
    1741 "log" [NUMERIC] NUMERIC NumericLog10 Strict Immutable;
    1194 "log10" [FLOAT8] FLOAT8 FloatLog10 Strict Immutable;
    1481 "log10" [NUMERIC] NUMERIC NumericLog10 Strict Immutable;
    870 "lower" [TEXT] TEXT Lower Strict Immutable;
    873 "lpad" [TEXT INT4 TEXT] TEXT Lpad Strict Immutable;
    879 "lpad" [TEXT INT4] TEXT Lpad2 Strict Immutable;
    875 "ltrim" [TEXT TEXT] TEXT Ltrim Strict Immutable;
    881 "ltrim" [TEXT] TEXT Ltrim1 Strict Immutable;
    3846 "make_date" [INT4 INT4 INT4] DATE MakeDate Strict Immutable;
    3464 "make_interval" [INT4 INT4 INT4 INT4 INT4 INT4 FLOAT8] INTERVAL MakeInterval Strict Immutable;
    3847 "make_time" [INT4 INT4 FLOAT8] TIME MakeTime Strict Immutable;
    3461 "make_timestamp" [INT4 INT4 INT4 INT4 INT4 FLOAT8] TIMESTAMP MakeTimestamp Strict Immutable;
    3462 "make_timestamptz" [INT4 INT4 INT4 INT4 INT4 FLOAT8] TIMESTAMPTZ MakeTimestamptz Strict Stable;
    3463 "make_timestamptz" [INT4 INT4 INT4 INT4 INT4 FLOAT8 TEXT] TIMESTAMPTZ MakeTimestamptzIn Strict Stable;
    1365 "makeaclitem" [OID OID TEXT BOOL] ACLITEM MakeAclItem Strict Stable;
    2311 "md5" [TEXT] TEXT Md5 Strict Immutable;
    2321 "md5" [BYTEA] TEXT Md5 Strict Immutable;
    5042 "min_scale" [NUMERIC] INT4 NumericMinScale Strict Immutable;
    940 "mod" [INT2 INT2] INT2 Int2Mod Strict Immutable;
    941 "mod" [INT4 INT4] INT4 Int4Mod Strict Immutable;
    947 "mod" [INT8 INT8] INT8 Int8Mod Strict Immutable;
    1728 "mod" [NUMERIC NUMERIC] NUMERIC NumericMod Strict Immutable;
    1624 "mul_d_interval" [FLOAT8 INTERVAL] INTERVAL FloatMulInterval Strict Immutable;
    407 "name" [TEXT] NAME TextToName Strict Immutable;
    409 "name" [BPCHAR] NAME BpcharToName Strict Immutable;
    1400 "name" [VARCHAR] NAME TextToName Strict Immutable;
    62 "nameeq" [NAME NAME] BOOL BytesEq Strict Immutable;
    240 "nameeqtext" [NAME TEXT] BOOL BytesEq Strict Immutable;
    658 "namege" [NAME NAME] BOOL BytesGe Strict Immutable;
    243 "namegetext" [NAME TEXT] BOOL BytesGe Strict Immutable;
    657 "namegt" [NAME NAME] BOOL BytesGt Strict Immutable;
    244 "namegttext" [NAME TEXT] BOOL BytesGt Strict Immutable;
    1635 "nameiclike" [NAME TEXT] BOOL Ilike Strict Immutable;
    1636 "nameicnlike" [NAME TEXT] BOOL NotIlike Strict Immutable;
    1240 "nameicregexeq" [NAME TEXT] BOOL RegexAnyCase Strict Immutable;
    1241 "nameicregexne" [NAME TEXT] BOOL NotRegexAnyCase Strict Immutable;
    656 "namele" [NAME NAME] BOOL BytesLe Strict Immutable;
    242 "nameletext" [NAME TEXT] BOOL BytesLe Strict Immutable;
    858 "namelike" [NAME TEXT] BOOL Like Strict Immutable;
    655 "namelt" [NAME NAME] BOOL BytesLt Strict Immutable;
    241 "namelttext" [NAME TEXT] BOOL BytesLt Strict Immutable;
    659 "namene" [NAME NAME] BOOL BytesNe Strict Immutable;
    245 "namenetext" [NAME TEXT] BOOL BytesNe Strict Immutable;
    859 "namenlike" [NAME TEXT] BOOL NotLike Strict Immutable;
    79 "nameregexeq" [NAME TEXT] BOOL Regex Strict Immutable;
    1252 "nameregexne" [NAME TEXT] BOOL NotRegex Strict Immutable;
    1574 "nextval" [REGCLASS] INT8 NextValue Strict Volatile;
    1570 "notlike" [TEXT TEXT] BOOL NotLike Strict Immutable;
    1572 "notlike" [NAME TEXT] BOOL NotLike Strict Immutable;
    1299 "now" [] TIMESTAMPTZ Now Strict Stable;
    440 "num_nonnulls" [ANY] INT4 NumNonnulls CalledOnNull Immutable Variadic;
    438 "num_nulls" [ANY] INT4 NumNulls CalledOnNull Immutable Variadic;
    1703 "numeric" [NUMERIC INT4] NUMERIC NumericLength Strict Immutable;
    1740 "numeric" [INT4] NUMERIC IntToNumeric Strict Immutable;
    1742 "numeric" [FLOAT4] NUMERIC Float4ToNumeric Strict Immutable;
    1743 "numeric" [FLOAT8] NUMERIC Float8ToNumeric Strict Immutable;
    1781 "numeric" [INT8] NUMERIC IntToNumeric Strict Immutable;
    1782 "numeric" [INT2] NUMERIC IntToNumeric Strict Immutable;
    3449 "numeric" [JSONB] NUMERIC JsonbToNumeric Strict Immutable;
    1704 "numeric_abs" [NUMERIC] NUMERIC NumericAbs Strict Immutable;
    1724 "numeric_add" [NUMERIC NUMERIC] NUMERIC NumericAdd Strict Immutable;
    1727 "numeric_div" [NUMERIC NUMERIC] NUMERIC NumericDiv Strict Immutable;
    1980 "numeric_div_trunc" [NUMERIC NUMERIC] NUMERIC NumericDivTrunc Strict Immutable;
    1718 "numeric_eq" [NUMERIC NUMERIC] BOOL NumericEq Strict Immutable;
    1733 "numeric_exp" [NUMERIC] NUMERIC NumericExp Strict Immutable;
    1721 "numeric_ge" [NUMERIC NUMERIC] BOOL NumericGe Strict Immutable;
    1720 "numeric_gt" [NUMERIC NUMERIC] BOOL NumericGt Strict Immutable;
    1764 "numeric_inc" [NUMERIC] NUMERIC NumericInc Strict Immutable;
    1723 "numeric_le" [NUMERIC NUMERIC] BOOL NumericLe Strict Immutable;
    1735 "numeric_ln" [NUMERIC] NUMERIC NumericLn Strict Immutable;
    1737 "numeric_log" [NUMERIC NUMERIC] NUMERIC NumericLog Strict Immutable;
    1722 "numeric_lt" [NUMERIC NUMERIC] BOOL NumericLt Strict Immutable;
    1729 "numeric_mod" [NUMERIC NUMERIC] NUMERIC NumericMod Strict Immutable;
    1726 "numeric_mul" [NUMERIC NUMERIC] NUMERIC NumericMul Strict Immutable;
    1719 "numeric_ne" [NUMERIC NUMERIC] BOOL NumericNe Strict Immutable;
    1739 "numeric_power" [NUMERIC NUMERIC] NUMERIC NumericPower Strict Immutable;
    1731 "numeric_sqrt" [NUMERIC] NUMERIC NumericSqrt Strict Immutable;
    1725 "numeric_sub" [NUMERIC NUMERIC] NUMERIC NumericSub Strict Immutable;
    1771 "numeric_uminus" [NUMERIC] NUMERIC NumericNeg Strict Immutable;
    1915 "numeric_uplus" [NUMERIC] NUMERIC Identity Strict Immutable;
    1215 "obj_description" [OID NAME] TEXT Description Strict Stable;
    1348 "obj_description" [OID] TEXT Description Strict Stable;
    720 "octet_length" [BYTEA] INT4 OctetLength Strict Immutable;
    1374 "octet_length" [TEXT] INT4 OctetLength Strict Immutable;
    1375 "octet_length" [BPCHAR] INT4 OctetLength Strict Immutable;
    1287 "oid" [INT8] OID ToOid Strict Immutable;
    184 "oideq" [OID OID] BOOL IntEq Strict Immutable;
    1639 "oidge" [OID OID] BOOL IntGe Strict Immutable;
    1638 "oidgt" [OID OID] BOOL IntGt Strict Immutable;
    717 "oidle" [OID OID] BOOL IntLe Strict Immutable;
    716 "oidlt" [OID OID] BOOL IntLt Strict Immutable;
    185 "oidne" [OID OID] BOOL IntNe Strict Immutable;
    679 "oidvectoreq" [OIDVECTOR OIDVECTOR] BOOL ArrayEq Strict Immutable;
    680 "oidvectorge" [OIDVECTOR OIDVECTOR] BOOL ArrayGe Strict Immutable;
    681 "oidvectorgt" [OIDVECTOR OIDVECTOR] BOOL ArrayGt Strict Immutable;
    678 "oidvectorle" [OIDVECTOR OIDVECTOR] BOOL ArrayLe Strict Immutable;
    677 "oidvectorlt" [OIDVECTOR OIDVECTOR] BOOL ArrayLt Strict Immutable;
    619 "oidvectorne" [OIDVECTOR OIDVECTOR] BOOL ArrayNe Strict Immutable;
    1304 "overlaps" [TIMESTAMPTZ TIMESTAMPTZ TIMESTAMPTZ TIMESTAMPTZ] BOOL Overlaps CalledOnNull Immutable;
    1308 "overlaps" [TIME TIME TIME TIME] BOOL Overlaps CalledOnNull Immutable;
    2041 "overlaps" [TIMESTAMP TIMESTAMP TIMESTAMP TIMESTAMP] BOOL Overlaps CalledOnNull Immutable;
    749 "overlay" [BYTEA BYTEA INT4 INT4] BYTEA ByteaOverlay4 Strict Immutable;
    752 "overlay" [BYTEA BYTEA INT4] BYTEA ByteaOverlay3 Strict Immutable;
    1404 "overlay" [TEXT TEXT INT4 INT4] TEXT Overlay4 Strict Immutable;
    1405 "overlay" [TEXT TEXT INT4] TEXT Overlay3 Strict Immutable;
    2880 "pg_advisory_lock" [INT8] VOID AdvisoryLock Strict Volatile;
    2886 "pg_advisory_lock" [INT4 INT4] VOID AdvisoryLock Strict Volatile;
    2881 "pg_advisory_lock_shared" [INT8] VOID AdvisoryLockShared Strict Volatile;
    2887 "pg_advisory_lock_shared" [INT4 INT4] VOID AdvisoryLockShared Strict Volatile;
    2884 "pg_advisory_unlock" [INT8] BOOL AdvisoryUnlock Strict Volatile;
    2890 "pg_advisory_unlock" [INT4 INT4] BOOL AdvisoryUnlock Strict Volatile;
    2892 "pg_advisory_unlock_all" [] VOID AdvisoryUnlockAll Strict Volatile;
    2885 "pg_advisory_unlock_shared" [INT8] BOOL AdvisoryUnlockShared Strict Volatile;
    2891 "pg_advisory_unlock_shared" [INT4 INT4] BOOL AdvisoryUnlockShared Strict Volatile;
    3089 "pg_advisory_xact_lock" [INT8] VOID AdvisoryXactLock Strict Volatile;
    3093 "pg_advisory_xact_lock" [INT4 INT4] VOID AdvisoryXactLock Strict Volatile;
    3090 "pg_advisory_xact_lock_shared" [INT8] VOID AdvisoryXactLockShared Strict Volatile;
    3094 "pg_advisory_xact_lock_shared" [INT4 INT4] VOID AdvisoryXactLockShared Strict Volatile;
    2026 "pg_backend_pid" [] INT4 BackendPid Strict Stable;
    2561 "pg_blocking_pids" [INT4] INT4_ARRAY BlockingPids Strict Volatile;
    2171 "pg_cancel_backend" [INT4] BOOL CancelBackend Strict Volatile;
    1264 "pg_char_to_encoding" [NAME] INT4 EncodingNumber Strict Stable;
    810 "pg_client_encoding" [] NAME OwnEncoding Strict Stable;
    3815 "pg_collation_is_visible" [OID] BOOL CollationIsVisible Strict Stable;
    3843 "pg_column_is_updatable" [REGCLASS INT2 BOOL] BOOL ColumnIsUpdatable Strict Stable;
    2034 "pg_conf_load_time" [] TIMESTAMPTZ ConfigurationLoadTime Strict Stable;
    2093 "pg_conversion_is_visible" [OID] BOOL NotThere Strict Stable;
    5059 "pg_current_xact_id" [] XID8 CurrentXid Strict Stable;
    5060 "pg_current_xact_id_if_assigned" [] XID8 CurrentXidIfAny Strict Stable;
    2168 "pg_database_size" [NAME] INT8 DatabaseSize Strict Volatile;
    2324 "pg_database_size" [OID] INT8 DatabaseSize Strict Volatile;
    3537 "pg_describe_object" [OID OID INT4] TEXT DescribeObject Strict Stable;
    2319 "pg_encoding_max_length" [INT4] INT4 EncodingLength Strict Immutable;
    1597 "pg_encoding_to_char" [INT4] NAME EncodingName Strict Stable;
    2081 "pg_function_is_visible" [OID] BOOL FunctionIsVisible Strict Stable;
    1387 "pg_get_constraintdef" [OID] TEXT GetConstraintDefinition Strict Stable;
    2508 "pg_get_constraintdef" [OID BOOL] TEXT GetConstraintDefinition Strict Stable;
    1716 "pg_get_expr" [PG_NODE_TREE OID] TEXT GetExpr Strict Stable;
    2509 "pg_get_expr" [PG_NODE_TREE OID BOOL] TEXT GetExpr Strict Stable;
    3808 "pg_get_function_arg_default" [OID INT4] TEXT ArgumentDefault Strict Stable;
    2162 "pg_get_function_arguments" [OID] TEXT FunctionArguments Strict Stable;
    2232 "pg_get_function_identity_arguments" [OID] TEXT FunctionIdentity Strict Stable;
    2165 "pg_get_function_result" [OID] TEXT FunctionResult Strict Stable;
    6197 "pg_get_function_sqlbody" [OID] TEXT FunctionBody Strict Stable;
    2098 "pg_get_functiondef" [OID] TEXT FunctionDefinition Strict Stable;
    1643 "pg_get_indexdef" [OID] TEXT GetIndexDefinition Strict Stable;
    2507 "pg_get_indexdef" [OID INT4 BOOL] TEXT GetIndexDefinition Strict Stable;
    1686 "pg_get_keywords" [] RECORD Keywords Strict Stable Set;
    3408 "pg_get_partition_constraintdef" [OID] TEXT NotThere Strict Stable;
    3352 "pg_get_partkeydef" [OID] TEXT NotThere Strict Stable;
    1573 "pg_get_ruledef" [OID] TEXT GetRuleDefinition Strict Stable;
    2504 "pg_get_ruledef" [OID BOOL] TEXT GetRuleDefinition Strict Stable;
    1665 "pg_get_serial_sequence" [TEXT TEXT] TEXT SerialSequence Strict Stable;
    3415 "pg_get_statisticsobjdef" [OID] TEXT NotThere Strict Stable;
    6174 "pg_get_statisticsobjdef_columns" [OID] TEXT StatisticsColumns Strict Stable;
    1662 "pg_get_triggerdef" [OID] TEXT TriggerDefinition Strict Stable;
    2730 "pg_get_triggerdef" [OID BOOL] TEXT TriggerDefinition Strict Stable;
    1642 "pg_get_userbyid" [OID] NAME RoleName Strict Stable;
    1640 "pg_get_viewdef" [TEXT] TEXT GetViewDefinitionByName Strict Stable;
    1641 "pg_get_viewdef" [OID] TEXT GetViewDefinition Strict Stable;
    2505 "pg_get_viewdef" [TEXT BOOL] TEXT GetViewDefinitionByName Strict Stable;
    2506 "pg_get_viewdef" [OID BOOL] TEXT GetViewDefinition Strict Stable;
    3159 "pg_get_viewdef" [OID INT4] TEXT GetViewDefinition Strict Stable;
    2705 "pg_has_role" [NAME NAME TEXT] BOOL HasRole Strict Stable;
    2706 "pg_has_role" [NAME OID TEXT] BOOL HasRole Strict Stable;
    2707 "pg_has_role" [OID NAME TEXT] BOOL HasRole Strict Stable;
    2708 "pg_has_role" [OID OID TEXT] BOOL HasRole Strict Stable;
    2709 "pg_has_role" [NAME TEXT] BOOL HasRole Strict Stable;
    2710 "pg_has_role" [OID TEXT] BOOL HasRole Strict Stable;
    2998 "pg_indexes_size" [REGCLASS] INT8 IndexesSize Strict Volatile;
    3810 "pg_is_in_recovery" [] BOOL IsInRecovery Strict Volatile;
    2855 "pg_is_other_temp_schema" [OID] BOOL AlwaysFalse Strict Stable;
    315 "pg_jit_available" [] BOOL AlwaysFalse Strict Volatile;
    3035 "pg_listening_channels" [] TEXT ListeningChannels Strict Stable Set;
    2854 "pg_my_temp_schema" [] OID TempSchema Strict Stable;
    3296 "pg_notification_queue_usage" [] FLOAT8 NotificationQueueUsage Strict Volatile;
    3036 "pg_notify" [TEXT TEXT] VOID Notify CalledOnNull Volatile;
    2083 "pg_opclass_is_visible" [OID] BOOL ClassIsVisible Strict Stable;
    2082 "pg_operator_is_visible" [OID] BOOL OperatorIsVisible Strict Stable;
    3829 "pg_opfamily_is_visible" [OID] BOOL FamilyIsVisible Strict Stable;
    2289 "pg_options_to_table" [TEXT_ARRAY] RECORD OptionsToTable Strict Stable Set;
    3425 "pg_partition_ancestors" [REGCLASS] REGCLASS PartitionAncestors Strict Volatile Set;
    3424 "pg_partition_root" [REGCLASS] REGCLASS NotThere Strict Immutable;
    3423 "pg_partition_tree" [REGCLASS] RECORD PartitionTree Strict Volatile Set;
    2560 "pg_postmaster_start_time" [] TIMESTAMPTZ ServerStartTime Strict Stable;
    6121 "pg_relation_is_publishable" [REGCLASS] BOOL IsPublishable Strict Stable;
    3842 "pg_relation_is_updatable" [REGCLASS BOOL] INT4 RelationIsUpdatable Strict Stable;
    2325 "pg_relation_size" [REGCLASS] INT8 RelationSize Strict Volatile;
    2332 "pg_relation_size" [REGCLASS TEXT] INT8 RelationSize Strict Volatile;
    2621 "pg_reload_conf" [] BOOL ReloadConfiguration Strict Volatile;
    4032 "pg_sequence_last_value" [REGCLASS] INT8 SequenceLast Strict Volatile;
    2288 "pg_size_pretty" [INT8] TEXT SizePretty Strict Immutable;
    3166 "pg_size_pretty" [NUMERIC] TEXT SizePretty Strict Immutable;
    2626 "pg_sleep" [FLOAT8] VOID Sleep Strict Volatile;
    2230 "pg_stat_clear_snapshot" [] VOID ForgetCounts CalledOnNull Volatile;
    2137 "pg_stat_force_next_flush" [] VOID ForgetCounts Strict Volatile;
    3056 "pg_stat_get_analyze_count" [OID] INT8 CountAnalyses Strict Stable;
    3057 "pg_stat_get_autoanalyze_count" [OID] INT8 CountAutoanalyses Strict Stable;
    3055 "pg_stat_get_autovacuum_count" [OID] INT8 CountAutovacuums Strict Stable;
    2879 "pg_stat_get_dead_tuples" [OID] INT8 CountDead Strict Stable;
    5053 "pg_stat_get_ins_since_vacuum" [OID] INT8 CountInsertedSince Strict Stable;
    2783 "pg_stat_get_last_analyze_time" [OID] TIMESTAMPTZ LastAnalyze Strict Stable;
    2784 "pg_stat_get_last_autoanalyze_time" [OID] TIMESTAMPTZ LastAutoanalyze Strict Stable;
    2782 "pg_stat_get_last_autovacuum_time" [OID] TIMESTAMPTZ LastAutovacuum Strict Stable;
    2781 "pg_stat_get_last_vacuum_time" [OID] TIMESTAMPTZ LastVacuum Strict Stable;
    2878 "pg_stat_get_live_tuples" [OID] INT8 CountLive Strict Stable;
    3177 "pg_stat_get_mod_since_analyze" [OID] INT8 CountModified Strict Stable;
    1928 "pg_stat_get_numscans" [OID] INT8 CountScans Strict Stable;
    1933 "pg_stat_get_tuples_deleted" [OID] INT8 CountDeleted Strict Stable;
    1930 "pg_stat_get_tuples_fetched" [OID] INT8 CountFetched Strict Stable;
    1972 "pg_stat_get_tuples_hot_updated" [OID] INT8 CountHotUpdated Strict Stable;
    1931 "pg_stat_get_tuples_inserted" [OID] INT8 CountInserted Strict Stable;
    1929 "pg_stat_get_tuples_returned" [OID] INT8 CountReturned Strict Stable;
    1932 "pg_stat_get_tuples_updated" [OID] INT8 CountUpdated Strict Stable;
    3054 "pg_stat_get_vacuum_count" [OID] INT8 CountVacuums Strict Stable;
    2274 "pg_stat_reset" [] VOID ResetCounts CalledOnNull Volatile;
    3776 "pg_stat_reset_single_table_counters" [OID] VOID ResetCountsOf Strict Volatile;
    3403 "pg_statistics_obj_is_visible" [OID] BOOL NotThere Strict Stable;
    2079 "pg_table_is_visible" [OID] BOOL TableIsVisible Strict Stable;
    2997 "pg_table_size" [REGCLASS] INT8 TableSize Strict Volatile;
    3778 "pg_tablespace_location" [OID] TEXT TablespaceLocation Strict Stable;
    2322 "pg_tablespace_size" [OID] INT8 TablespaceSize Strict Volatile;
    2323 "pg_tablespace_size" [NAME] INT8 TablespaceSize Strict Volatile;
    2096 "pg_terminate_backend" [INT4 INT8] BOOL TerminateBackend Strict Volatile;
    2096 "pg_terminate_backend" [INT4] BOOL TerminateBackend Strict Volatile;
    2286 "pg_total_relation_size" [REGCLASS] INT8 TotalRelationSize Strict Volatile;
    2882 "pg_try_advisory_lock" [INT8] BOOL TryAdvisoryLock Strict Volatile;
    2888 "pg_try_advisory_lock" [INT4 INT4] BOOL TryAdvisoryLock Strict Volatile;
    2883 "pg_try_advisory_lock_shared" [INT8] BOOL TryAdvisoryLockShared Strict Volatile;
    2889 "pg_try_advisory_lock_shared" [INT4 INT4] BOOL TryAdvisoryLockShared Strict Volatile;
    3091 "pg_try_advisory_xact_lock" [INT8] BOOL TryAdvisoryXactLock Strict Volatile;
    3095 "pg_try_advisory_xact_lock" [INT4 INT4] BOOL TryAdvisoryXactLock Strict Volatile;
    3092 "pg_try_advisory_xact_lock_shared" [INT8] BOOL TryAdvisoryXactLockShared Strict Volatile;
    3096 "pg_try_advisory_xact_lock_shared" [INT4 INT4] BOOL TryAdvisoryXactLockShared Strict Volatile;
    3758 "pg_ts_config_is_visible" [OID] BOOL NotThere Strict Stable;
    3757 "pg_ts_dict_is_visible" [OID] BOOL NotThere Strict Stable;
    3756 "pg_ts_parser_is_visible" [OID] BOOL NotThere Strict Stable;
    3768 "pg_ts_template_is_visible" [OID] BOOL NotThere Strict Stable;
    2080 "pg_type_is_visible" [OID] BOOL TypeIsVisible Strict Stable;
    1619 "pg_typeof" [ANY] REGTYPE TypeOf CalledOnNull Stable;
    5066 "pg_xact_status" [XID8] TEXT XactStatus Strict Volatile;
    1610 "pi" [] FLOAT8 Pi Strict Immutable;
    849 "position" [TEXT TEXT] INT4 Position Strict Immutable;
    1346 "pow" [FLOAT8 FLOAT8] FLOAT8 FloatPower Strict Immutable;
    1738 "pow" [NUMERIC NUMERIC] NUMERIC NumericPower Strict Immutable;
    1368 "power" [FLOAT8 FLOAT8] FLOAT8 FloatPower Strict Immutable;
    2169 "power" [NUMERIC NUMERIC] NUMERIC NumericPower Strict Immutable;
    1282 "quote_ident" [TEXT] TEXT QuoteIdent Strict Immutable;
    1283 "quote_literal" [TEXT] TEXT QuoteLiteral Strict Immutable;
    1289 "quote_nullable" [TEXT] TEXT QuoteNullable CalledOnNull Immutable;
    1609 "radians" [FLOAT8] FLOAT8 FloatRadians Strict Immutable;
    1598 "random" [] FLOAT8 Random Strict Volatile;
    2981 "record_eq" [RECORD RECORD] BOOL RecordEq Strict Immutable;
    2986 "record_ge" [RECORD RECORD] BOOL RecordGe Strict Immutable;
    2984 "record_gt" [RECORD RECORD] BOOL RecordGt Strict Immutable;
    2985 "record_le" [RECORD RECORD] BOOL RecordLe Strict Immutable;
    2983 "record_lt" [RECORD RECORD] BOOL RecordLt Strict Immutable;
    2982 "record_ne" [RECORD RECORD] BOOL RecordNe Strict Immutable;
    1079 "regclass" [TEXT] REGCLASS TextToRegclass Strict Stable;
    6254 "regexp_count" [TEXT TEXT] INT4 RegexCount Strict Immutable;
    6255 "regexp_count" [TEXT TEXT INT4] INT4 RegexCount Strict Immutable;
    6256 "regexp_count" [TEXT TEXT INT4 TEXT] INT4 RegexCount Strict Immutable;
    6257 "regexp_instr" [TEXT TEXT] INT4 RegexInstr Strict Immutable;
    6258 "regexp_instr" [TEXT TEXT INT4] INT4 RegexInstr Strict Immutable;
    6259 "regexp_instr" [TEXT TEXT INT4 INT4] INT4 RegexInstr Strict Immutable;
    6260 "regexp_instr" [TEXT TEXT INT4 INT4 INT4] INT4 RegexInstr Strict Immutable;
    6261 "regexp_instr" [TEXT TEXT INT4 INT4 INT4 TEXT] INT4 RegexInstr Strict Immutable;
    6262 "regexp_instr" [TEXT TEXT INT4 INT4 INT4 TEXT INT4] INT4 RegexInstr Strict Immutable;
    6263 "regexp_like" [TEXT TEXT] BOOL RegexLike Strict Immutable;
    6264 "regexp_like" [TEXT TEXT TEXT] BOOL RegexLike Strict Immutable;
    3396 "regexp_match" [TEXT TEXT] TEXT_ARRAY RegexMatch Strict Immutable;
    3397 "regexp_match" [TEXT TEXT TEXT] TEXT_ARRAY RegexMatch Strict Immutable;
    2763 "regexp_matches" [TEXT TEXT] TEXT_ARRAY RegexMatches Strict Immutable Set;
    2764 "regexp_matches" [TEXT TEXT TEXT] TEXT_ARRAY RegexMatches Strict Immutable Set;
    2284 "regexp_replace" [TEXT TEXT TEXT] TEXT RegexReplace Strict Immutable;
    2285 "regexp_replace" [TEXT TEXT TEXT TEXT] TEXT RegexReplace Strict Immutable;
    6251 "regexp_replace" [TEXT TEXT TEXT INT4 INT4 TEXT] TEXT RegexReplace Strict Immutable;
    6252 "regexp_replace" [TEXT TEXT TEXT INT4 INT4] TEXT RegexReplace Strict Immutable;
    6253 "regexp_replace" [TEXT TEXT TEXT INT4] TEXT RegexReplace Strict Immutable;
    2767 "regexp_split_to_array" [TEXT TEXT] TEXT_ARRAY RegexSplitToArray Strict Immutable;
    2768 "regexp_split_to_array" [TEXT TEXT TEXT] TEXT_ARRAY RegexSplitToArray Strict Immutable;
    2765 "regexp_split_to_table" [TEXT TEXT] TEXT RegexSplitToTable Strict Immutable Set;
    2766 "regexp_split_to_table" [TEXT TEXT TEXT] TEXT RegexSplitToTable Strict Immutable Set;
    6265 "regexp_substr" [TEXT TEXT] TEXT RegexSubstr Strict Immutable;
    6266 "regexp_substr" [TEXT TEXT INT4] TEXT RegexSubstr Strict Immutable;
    6267 "regexp_substr" [TEXT TEXT INT4 INT4] TEXT RegexSubstr Strict Immutable;
    6268 "regexp_substr" [TEXT TEXT INT4 INT4 TEXT] TEXT RegexSubstr Strict Immutable;
    6269 "regexp_substr" [TEXT TEXT INT4 INT4 TEXT INT4] TEXT RegexSubstr Strict Immutable;
    1622 "repeat" [TEXT INT4] TEXT Repeat Strict Immutable;
    2087 "replace" [TEXT TEXT TEXT] TEXT Replace Strict Immutable;
    3062 "reverse" [TEXT] TEXT Reverse Strict Immutable;
    3061 "right" [TEXT INT4] TEXT Right Strict Immutable;
    1342 "round" [FLOAT8] FLOAT8 FloatRound Strict Immutable;
    1707 "round" [NUMERIC INT4] NUMERIC NumericRound Strict Immutable;
    1708 "round" [NUMERIC] NUMERIC NumericRound1 Strict Immutable;
    3298 "row_security_active" [OID] BOOL AlwaysFalse Strict Stable;
    3155 "row_to_json" [RECORD] JSON RowToJson Strict Stable;
    3156 "row_to_json" [RECORD BOOL] JSON RowToJson Strict Stable;
    874 "rpad" [TEXT INT4 TEXT] TEXT Rpad Strict Immutable;
    880 "rpad" [TEXT INT4] TEXT Rpad2 Strict Immutable;
    876 "rtrim" [TEXT TEXT] TEXT Rtrim Strict Immutable;
    882 "rtrim" [TEXT] TEXT Rtrim1 Strict Immutable;
    3281 "scale" [NUMERIC] INT4 NumericScale Strict Immutable;
    746 "session_user" [] NAME SessionUser Strict Stable;
    724 "set_bit" [BYTEA INT8 INT4] BYTEA SetBit Strict Immutable;
    722 "set_byte" [BYTEA INT4 INT4] BYTEA SetByte Strict Immutable;
    2078 "set_config" [TEXT TEXT BOOL] TEXT SetConfig CalledOnNull Volatile;
    1576 "setval" [REGCLASS INT8] INT8 SetValue Strict Volatile;
    1765 "setval" [REGCLASS INT8 BOOL] INT8 SetValue Strict Volatile;
    3419 "sha224" [BYTEA] BYTEA Sha224 Strict Immutable;
    3420 "sha256" [BYTEA] BYTEA Sha256 Strict Immutable;
    3421 "sha384" [BYTEA] BYTEA Sha384 Strict Immutable;
    3422 "sha512" [BYTEA] BYTEA Sha512 Strict Immutable;
    1993 "shobj_description" [OID NAME] TEXT Description Strict Stable;
    1706 "sign" [NUMERIC] NUMERIC NumericSign Strict Immutable;
    2310 "sign" [FLOAT8] FLOAT8 FloatSign Strict Immutable;
    1986 "similar_to_escape" [TEXT TEXT] TEXT SimilarEscape Strict Immutable;
    1987 "similar_to_escape" [TEXT] TEXT SimilarEscape1 Strict Immutable;
    1604 "sin" [FLOAT8] FLOAT8 FloatSin Strict Immutable;
    2735 "sind" [FLOAT8] FLOAT8 FloatSind Strict Immutable;
    2462 "sinh" [FLOAT8] FLOAT8 FloatSinh Strict Immutable;
    2088 "split_part" [TEXT TEXT INT4] TEXT SplitPart Strict Immutable;
    1344 "sqrt" [FLOAT8] FLOAT8 FloatSqrt Strict Immutable;
    1730 "sqrt" [NUMERIC] NUMERIC NumericSqrt Strict Immutable;
    3696 "starts_with" [TEXT TEXT] BOOL StartsWith Strict Immutable;
    2648 "statement_timestamp" [] TIMESTAMPTZ StatementTimestamp Strict Stable;
    376 "string_to_array" [TEXT TEXT TEXT] TEXT_ARRAY StringToArray CalledOnNull Immutable;
    394 "string_to_array" [TEXT TEXT] TEXT_ARRAY StringToArray CalledOnNull Immutable;
    6160 "string_to_table" [TEXT TEXT] TEXT StringToTable CalledOnNull Immutable Set;
    6161 "string_to_table" [TEXT TEXT TEXT] TEXT StringToTable CalledOnNull Immutable Set;
    868 "strpos" [TEXT TEXT] INT4 Position Strict Immutable;
    877 "substr" [TEXT INT4 INT4] TEXT Substring3 Strict Immutable;
    883 "substr" [TEXT INT4] TEXT Substring2 Strict Immutable;
    936 "substring" [TEXT INT4 INT4] TEXT Substring3 Strict Immutable;
    937 "substring" [TEXT INT4] TEXT Substring2 Strict Immutable;
    2012 "substring" [BYTEA INT4 INT4] BYTEA ByteaSubstring3 Strict Immutable;
    2013 "substring" [BYTEA INT4] BYTEA ByteaSubstring2 Strict Immutable;
    2073 "substring" [TEXT TEXT] TEXT RegexSubstring Strict Immutable;
    1606 "tan" [FLOAT8] FLOAT8 FloatTan Strict Immutable;
    2737 "tand" [FLOAT8] FLOAT8 FloatTand Strict Immutable;
    2464 "tanh" [FLOAT8] FLOAT8 FloatTanh Strict Immutable;
    401 "text" [BPCHAR] TEXT Rtrim1 Strict Immutable;
    406 "text" [NAME] TEXT Identity Strict Immutable;
    946 "text" [CHAR] TEXT CharToText Strict Immutable;
    2971 "text" [BOOL] TEXT BoolToText Strict Immutable;
    743 "text_ge" [TEXT TEXT] BOOL BytesGe Strict Immutable;
    742 "text_gt" [TEXT TEXT] BOOL BytesGt Strict Immutable;
    741 "text_le" [TEXT TEXT] BOOL BytesLe Strict Immutable;
    740 "text_lt" [TEXT TEXT] BOOL BytesLt Strict Immutable;
    2003 "textanycat" [TEXT ANYNONARRAY] TEXT TextCat Strict Stable;
    1258 "textcat" [TEXT TEXT] TEXT TextCat Strict Immutable;
    67 "texteq" [TEXT TEXT] BOOL BytesEq Strict Immutable;
    247 "texteqname" [TEXT NAME] BOOL BytesEq Strict Immutable;
    250 "textgename" [TEXT NAME] BOOL BytesGe Strict Immutable;
    251 "textgtname" [TEXT NAME] BOOL BytesGt Strict Immutable;
    1633 "texticlike" [TEXT TEXT] BOOL Ilike Strict Immutable;
    1634 "texticnlike" [TEXT TEXT] BOOL NotIlike Strict Immutable;
    1238 "texticregexeq" [TEXT TEXT] BOOL RegexAnyCase Strict Immutable;
    1239 "texticregexne" [TEXT TEXT] BOOL NotRegexAnyCase Strict Immutable;
    1257 "textlen" [TEXT] INT4 TextLength Strict Immutable;
    249 "textlename" [TEXT NAME] BOOL BytesLe Strict Immutable;
    850 "textlike" [TEXT TEXT] BOOL Like Strict Immutable;
    248 "textltname" [TEXT NAME] BOOL BytesLt Strict Immutable;
    157 "textne" [TEXT TEXT] BOOL BytesNe Strict Immutable;
    252 "textnename" [TEXT NAME] BOOL BytesNe Strict Immutable;
    851 "textnlike" [TEXT TEXT] BOOL NotLike Strict Immutable;
    1254 "textregexeq" [TEXT TEXT] BOOL Regex Strict Immutable;
    1256 "textregexne" [TEXT TEXT] BOOL NotRegex Strict Immutable;
    1316 "time" [TIMESTAMP] TIME TimestampToTime Strict Immutable;
    1419 "time" [INTERVAL] TIME IntervalToTime Strict Immutable;
    1968 "time" [TIME INT4] TIME TimeLength Strict Immutable;
    2019 "time" [TIMESTAMPTZ] TIME TimestamptzToTime Strict Stable;
    1145 "time_eq" [TIME TIME] BOOL IntEq Strict Immutable;
    1105 "time_ge" [TIME TIME] BOOL IntGe Strict Immutable;
    1104 "time_gt" [TIME TIME] BOOL IntGt Strict Immutable;
    1103 "time_le" [TIME TIME] BOOL IntLe Strict Immutable;
    1102 "time_lt" [TIME TIME] BOOL IntLt Strict Immutable;
    1748 "time_mi_interval" [TIME INTERVAL] TIME TimeSubInterval Strict Immutable;
    1690 "time_mi_time" [TIME TIME] INTERVAL TimeSub Strict Immutable;
    1106 "time_ne" [TIME TIME] BOOL IntNe Strict Immutable;
    1747 "time_pl_interval" [TIME INTERVAL] TIME TimeAddInterval Strict Immutable;
    1296 "timedate_pl" [TIME DATE] TIMESTAMP TimeAddDate Strict Immutable;
    1961 "timestamp" [TIMESTAMP INT4] TIMESTAMP TimeLength Strict Immutable;
    2024 "timestamp" [DATE] TIMESTAMP DateToTimestamp Strict Immutable;
    2027 "timestamp" [TIMESTAMPTZ] TIMESTAMP TimestamptzToTimestamp Strict Stable;
    2052 "timestamp_eq" [TIMESTAMP TIMESTAMP] BOOL IntEq Strict Immutable;
    2056 "timestamp_ge" [TIMESTAMP TIMESTAMP] BOOL IntGe Strict Immutable;
    2057 "timestamp_gt" [TIMESTAMP TIMESTAMP] BOOL IntGt Strict Immutable;
    2055 "timestamp_le" [TIMESTAMP TIMESTAMP] BOOL IntLe Strict Immutable;
    2054 "timestamp_lt" [TIMESTAMP TIMESTAMP] BOOL IntLt Strict Immutable;
    2031 "timestamp_mi" [TIMESTAMP TIMESTAMP] INTERVAL TimestampSub Strict Immutable;
    2033 "timestamp_mi_interval" [TIMESTAMP INTERVAL] TIMESTAMP TimestampSubInterval Strict Immutable;
    2053 "timestamp_ne" [TIMESTAMP TIMESTAMP] BOOL IntNe Strict Immutable;
    2032 "timestamp_pl_interval" [TIMESTAMP INTERVAL] TIMESTAMP TimestampAddInterval Strict Immutable;
    1174 "timestamptz" [DATE] TIMESTAMPTZ DateToTimestamptz Strict Stable;
    1967 "timestamptz" [TIMESTAMPTZ INT4] TIMESTAMPTZ TimeLength Strict Immutable;
    2028 "timestamptz" [TIMESTAMP] TIMESTAMPTZ TimestampToTimestamptz Strict Stable;
    1152 "timestamptz_eq" [TIMESTAMPTZ TIMESTAMPTZ] BOOL IntEq Strict Immutable;
    1156 "timestamptz_ge" [TIMESTAMPTZ TIMESTAMPTZ] BOOL IntGe Strict Immutable;
    1157 "timestamptz_gt" [TIMESTAMPTZ TIMESTAMPTZ] BOOL IntGt Strict Immutable;
    1155 "timestamptz_le" [TIMESTAMPTZ TIMESTAMPTZ] BOOL IntLe Strict Immutable;
    1154 "timestamptz_lt" [TIMESTAMPTZ TIMESTAMPTZ] BOOL IntLt Strict Immutable;
    1188 "timestamptz_mi" [TIMESTAMPTZ TIMESTAMPTZ] INTERVAL TimestampSub Strict Immutable;
    1190 "timestamptz_mi_interval" [TIMESTAMPTZ INTERVAL] TIMESTAMPTZ TimestamptzSubInterval Strict Stable;
    1153 "timestamptz_ne" [TIMESTAMPTZ TIMESTAMPTZ] BOOL IntNe Strict Immutable;
    1189 "timestamptz_pl_interval" [TIMESTAMPTZ INTERVAL] TIMESTAMPTZ TimestamptzAddInterval Strict Stable;
    1026 "timezone" [INTERVAL TIMESTAMPTZ] TIMESTAMP TimestamptzAtOffset Strict Immutable;
    1159 "timezone" [TEXT TIMESTAMPTZ] TIMESTAMP TimestamptzInZone Strict Immutable;
    2069 "timezone" [TEXT TIMESTAMP] TIMESTAMPTZ TimestampInZone Strict Immutable;
    2070 "timezone" [INTERVAL TIMESTAMP] TIMESTAMPTZ TimestampAtOffset Strict Immutable;
    1768 "to_char" [INTERVAL TEXT] TEXT ToCharInterval Strict Stable;
    1770 "to_char" [TIMESTAMPTZ TEXT] TEXT ToCharTimestamptz Strict Stable;
    1772 "to_char" [NUMERIC TEXT] TEXT ToCharNumeric Strict Stable;
    1773 "to_char" [INT4 TEXT] TEXT ToCharInt4 Strict Stable;
    1774 "to_char" [INT8 TEXT] TEXT ToCharInt8 Strict Stable;
    1775 "to_char" [FLOAT4 TEXT] TEXT ToCharFloat4 Strict Stable;
    1776 "to_char" [FLOAT8 TEXT] TEXT ToCharFloat8 Strict Stable;
    2049 "to_char" [TIMESTAMP TEXT] TEXT ToCharTimestamp Strict Stable;
    1780 "to_date" [TEXT TEXT] DATE ToDate Strict Stable;
    2089 "to_hex" [INT4] TEXT ToHex32 Strict Immutable;
    2090 "to_hex" [INT8] TEXT ToHex64 Strict Immutable;
    3176 "to_json" [ANYELEMENT] JSON ToJson Strict Stable;
    3787 "to_jsonb" [ANYELEMENT] JSONB ToJsonb Strict Stable;
    1777 "to_number" [TEXT TEXT] NUMERIC ToNumber Strict Stable;
    3495 "to_regclass" [TEXT] REGCLASS ToRegclass Strict Stable;
    4086 "to_regnamespace" [TEXT] REGNAMESPACE ToRegnamespace Strict Stable;
    3492 "to_regoper" [TEXT] REGOPER ToRegoper Strict Stable;
    3476 "to_regoperator" [TEXT] REGOPERATOR ToRegoperator Strict Stable;
    3494 "to_regproc" [TEXT] REGPROC ToRegproc Strict Stable;
    3479 "to_regprocedure" [TEXT] REGPROCEDURE ToRegprocedure Strict Stable;
    4093 "to_regrole" [TEXT] REGROLE ToRegrole Strict Stable;
    3493 "to_regtype" [TEXT] REGTYPE ToRegtype Strict Stable;
    1158 "to_timestamp" [FLOAT8] TIMESTAMPTZ EpochToTimestamptz Strict Immutable;
    1778 "to_timestamp" [TEXT TEXT] TIMESTAMPTZ ToTimestamptz Strict Stable;
    2647 "transaction_timestamp" [] TIMESTAMPTZ Now Strict Stable;
    878 "translate" [TEXT TEXT TEXT] TEXT Translate Strict Immutable;
    6172 "trim_array" [ANYARRAY INT4] ANYARRAY TrimArray Strict Immutable;
    5043 "trim_scale" [NUMERIC] NUMERIC NumericTrimScale Strict Immutable;
    1343 "trunc" [FLOAT8] FLOAT8 FloatTrunc Strict Immutable;
    1709 "trunc" [NUMERIC INT4] NUMERIC NumericTrunc Strict Immutable;
    1710 "trunc" [NUMERIC] NUMERIC NumericTrunc1 Strict Immutable;
    2943 "txid_current" [] INT8 CurrentXid Strict Stable;
    3348 "txid_current_if_assigned" [] INT8 CurrentXidIfAny Strict Stable;
    3360 "txid_status" [INT8] TEXT XactStatus Strict Volatile;
    2331 "unnest" [ANYARRAY] ANYELEMENT Unnest Strict Immutable Set;
    871 "upper" [TEXT] TEXT Upper Strict Immutable;
    2956 "uuid_eq" [UUID UUID] BOOL BytesEq Strict Immutable;
    2957 "uuid_ge" [UUID UUID] BOOL BytesGe Strict Immutable;
    2958 "uuid_gt" [UUID UUID] BOOL BytesGt Strict Immutable;
    2955 "uuid_le" [UUID UUID] BOOL BytesLe Strict Immutable;
    2954 "uuid_lt" [UUID UUID] BOOL BytesLt Strict Immutable;
    2959 "uuid_ne" [UUID UUID] BOOL BytesNe Strict Immutable;
    669 "varchar" [VARCHAR INT4 BOOL] VARCHAR VarcharLength Strict Immutable;
    1401 "varchar" [NAME] VARCHAR Identity Strict Immutable;
    89 "version" [] TEXT Version Strict Stable;
    320 "width_bucket" [FLOAT8 FLOAT8 FLOAT8 INT4] INT4 FloatWidthBucket Strict Immutable;
    2170 "width_bucket" [NUMERIC NUMERIC NUMERIC INT4] INT4 NumericWidthBucket Strict Immutable;
    5084 "xid8eq" [XID8 XID8] BOOL IntEq Strict Immutable;
    5037 "xid8ge" [XID8 XID8] BOOL IntGe Strict Immutable;
    5035 "xid8gt" [XID8 XID8] BOOL IntGt Strict Immutable;
    5036 "xid8le" [XID8 XID8] BOOL IntLe Strict Immutable;
    5034 "xid8lt" [XID8 XID8] BOOL IntLt Strict Immutable;
    5085 "xid8ne" [XID8 XID8] BOOL IntNe Strict Immutable;
    68 "xideq" [XID XID] BOOL IntEq Strict Immutable;
    1319 "xideqint4" [XID INT4] BOOL IntEq Strict Immutable;
    3308 "xidneq" [XID XID] BOOL IntNe Strict Immutable;
    3309 "xidneqint4" [XID INT4] BOOL IntNe Strict Immutable;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_signatures_are_unique() {
        for pair in TABLE.windows(2) {
            let place = |row: &Function| (row.name, row.oid, std::cmp::Reverse(row.args.len()));
            assert!(place(&pair[0]) < place(&pair[1]), "{} {}", pair[0].name, pair[1].name);
        }
        for row in TABLE {
            let same = by_name(row.name).iter().filter(|other| other.args == row.args).count();
            assert_eq!(same, 1, "{}{:?}", row.name, row.args);
            assert_eq!(by_oid(row.oid).map(|found| found.oid), Some(row.oid));
        }
    }

    #[test]
    fn strictness_is_the_operations() {
        for row in TABLE.iter().filter(|row| !row.op.is_external() && row.strict != row.op.is_strict()) {
            // One operation serves these functions and others that are strict in PostgreSQL: it looks for itself.
            assert!(!row.op.is_strict(), "{} is strict in one place only", row.name);
        }
    }
}
