//! The table of operators: names, operand types, the [`Op`] that does each, and how they relate to each other.
//!
//! `pg_operator` is a view of this table, and operators are resolved in it. All are in `pg_catalog`.
//!
//! Rules
//! 1. Sorted by name in byte order, then by object identifier; [`by_name`] needs it and a test checks it.
//! 2. The left type of a prefix operator is [`Oid::NONE`].

use super::op::Op;
use super::table::Oid;

/// An operator's row.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    /// `pg_operator.oid`.
    pub oid: Oid,
    /// `pg_operator.oprname`.
    pub name: &'static str,
    /// The type of the left operand; [`Oid::NONE`] for a prefix operator.
    pub left: Oid,
    /// The type of the right operand.
    pub right: Oid,
    /// The types of the operands there are.
    pub args: &'static [Oid],
    /// The type of the result.
    pub result: Oid,
    /// What does it.
    pub op: Op,
    /// The function behind it, `pg_operator.oprcode`.
    pub function: Oid,
    /// The operator that gives the same result with the operands exchanged.
    pub commutator: Oid,
    /// The operator that gives the opposite result.
    pub negator: Oid,
}

impl Operator {
    /// `x op y` as `y op x`.
    pub fn commuted(&self) -> Option<&'static Operator> {
        by_oid(self.commutator)
    }

    /// `NOT (x op y)` as one operator.
    pub fn negated(&self) -> Option<&'static Operator> {
        by_oid(self.negator)
    }
}

/// The operators of a name, which differ in their operands.
pub fn by_name(name: &str) -> &'static [Operator] {
    let start = TABLE.partition_point(|row| row.name < name);
    let count = TABLE[start..].iter().take_while(|row| row.name == name).count();
    &TABLE[start..start + count]
}

/// The operator with this object identifier.
pub fn by_oid(oid: Oid) -> Option<&'static Operator> {
    TABLE.iter().find(|row| row.oid == oid)
}

macro_rules! operators {
    ($($oid:literal $name:literal $left:ident $right:ident $result:ident $op:ident $function:literal $commutator:literal $negator:literal;)*) => {
        /// Every operator, sorted by name.
        pub static TABLE: &[Operator] = &[$(Operator {
            oid: Oid($oid),
            name: $name,
            left: Oid::$left,
            right: Oid::$right,
            args: match Oid::$left {
                Oid::NONE => &[Oid::$right],
                _ => &[Oid::$left, Oid::$right],
            },
            result: Oid::$result,
            op: Op::$op,
            function: Oid($function),
            commutator: Oid($commutator),
            negator: Oid($negator),
        }),*];
    };
}

// oid, name, left, right, result, operation, function, commutator, negator
#[rustfmt::skip]
operators! {
    640 "!~" NAME TEXT BOOL NotRegex 1252 0 639;
    642 "!~" TEXT TEXT BOOL NotRegex 1256 0 641;
    1056 "!~" BPCHAR TEXT BOOL NotRegex 1659 0 1055;
    1227 "!~*" NAME TEXT BOOL NotRegexAnyCase 1241 0 1226;
    1229 "!~*" TEXT TEXT BOOL NotRegexAnyCase 1239 0 1228;
    1235 "!~*" BPCHAR TEXT BOOL NotRegexAnyCase 1657 0 1234;
    1208 "!~~" NAME TEXT BOOL NotLike 859 0 1207;
    1210 "!~~" TEXT TEXT BOOL NotLike 851 0 1209;
    1212 "!~~" BPCHAR TEXT BOOL NotLike 1632 0 1211;
    1626 "!~~*" NAME TEXT BOOL NotIlike 1636 0 1625;
    1628 "!~~*" TEXT TEXT BOOL NotIlike 1634 0 1627;
    1630 "!~~*" BPCHAR TEXT BOOL NotIlike 1661 0 1629;
    1876 "#" INT2 INT2 INT2 IntXor 1894 1876 0;
    1882 "#" INT4 INT4 INT4 IntXor 1900 1882 0;
    1888 "#" INT8 INT8 INT8 IntXor 1906 1888 0;
    3287 "#-" JSONB TEXT_ARRAY JSONB JsonbDeletePath 3304 0 0;
    3213 "#>" JSONB TEXT_ARRAY JSONB JsonbPath 3217 0 0;
    3966 "#>" JSON TEXT_ARRAY JSON JsonPath 3951 0 0;
    3206 "#>>" JSONB TEXT_ARRAY TEXT JsonbPathText 3940 0 0;
    3967 "#>>" JSON TEXT_ARRAY TEXT JsonPathText 3953 0 0;
    439 "%" INT8 INT8 INT8 Int8Mod 945 0 0;
    529 "%" INT2 INT2 INT2 Int2Mod 155 0 0;
    530 "%" INT4 INT4 INT4 Int4Mod 156 0 0;
    1762 "%" NUMERIC NUMERIC NUMERIC NumericMod 1729 0 0;
    1874 "&" INT2 INT2 INT2 IntAnd 1892 1874 0;
    1880 "&" INT4 INT4 INT4 IntAnd 1898 1880 0;
    1886 "&" INT8 INT8 INT8 IntAnd 1904 1886 0;
    2750 "&&" ANYARRAY ANYARRAY BOOL ArrayOverlap 2747 2750 0;
    514 "*" INT4 INT4 INT4 Int4Mul 141 514 0;
    526 "*" INT2 INT2 INT2 Int2Mul 152 526 0;
    544 "*" INT2 INT4 INT4 Int4Mul 170 545 0;
    545 "*" INT4 INT2 INT4 Int4Mul 171 544 0;
    589 "*" FLOAT4 FLOAT4 FLOAT4 Float4Mul 202 589 0;
    594 "*" FLOAT8 FLOAT8 FLOAT8 Float8Mul 216 594 0;
    686 "*" INT8 INT8 INT8 Int8Mul 465 686 0;
    690 "*" INT8 INT4 INT8 Int8Mul 1276 694 0;
    694 "*" INT4 INT8 INT8 Int8Mul 1280 690 0;
    820 "*" INT8 INT2 INT8 Int8Mul 839 824 0;
    824 "*" INT2 INT8 INT8 Int8Mul 943 820 0;
    1119 "*" FLOAT4 FLOAT8 FLOAT8 Float8Mul 279 1129 0;
    1129 "*" FLOAT8 FLOAT4 FLOAT8 Float8Mul 283 1119 0;
    1583 "*" INTERVAL FLOAT8 INTERVAL IntervalMul 1618 1584 0;
    1584 "*" FLOAT8 INTERVAL INTERVAL FloatMulInterval 1624 1583 0;
    1760 "*" NUMERIC NUMERIC NUMERIC NumericMul 1726 1760 0;
    550 "+" INT2 INT2 INT2 Int2Add 176 550 0;
    551 "+" INT4 INT4 INT4 Int4Add 177 551 0;
    552 "+" INT2 INT4 INT4 Int4Add 178 553 0;
    553 "+" INT4 INT2 INT4 Int4Add 179 552 0;
    586 "+" FLOAT4 FLOAT4 FLOAT4 Float4Add 204 586 0;
    591 "+" FLOAT8 FLOAT8 FLOAT8 Float8Add 218 591 0;
    684 "+" INT8 INT8 INT8 Int8Add 463 684 0;
    688 "+" INT8 INT4 INT8 Int8Add 1274 692 0;
    692 "+" INT4 INT8 INT8 Int8Add 1278 688 0;
    818 "+" INT8 INT2 INT8 Int8Add 837 822 0;
    822 "+" INT2 INT8 INT8 Int8Add 841 818 0;
    1076 "+" DATE INTERVAL TIMESTAMP DateAddInterval 2071 2551 0;
    1100 "+" DATE INT4 DATE DateAddInt 1141 2555 0;
    1116 "+" FLOAT4 FLOAT8 FLOAT8 Float8Add 281 1126 0;
    1126 "+" FLOAT8 FLOAT4 FLOAT8 Float8Add 285 1116 0;
    1327 "+" TIMESTAMPTZ INTERVAL TIMESTAMPTZ TimestamptzAddInterval 1189 2554 0;
    1337 "+" INTERVAL INTERVAL INTERVAL IntervalAdd 1169 1337 0;
    1360 "+" DATE TIME TIMESTAMP DateAddTime 1272 1363 0;
    1363 "+" TIME DATE TIMESTAMP TimeAddDate 1296 1360 0;
    1758 "+" NUMERIC NUMERIC NUMERIC NumericAdd 1724 1758 0;
    1800 "+" TIME INTERVAL TIME TimeAddInterval 1747 1849 0;
    1849 "+" INTERVAL TIME TIME IntervalAddTime 1848 1800 0;
    1916 "+" NONE INT8 INT8 Identity 1910 0 0;
    1917 "+" NONE INT2 INT2 Identity 1911 0 0;
    1918 "+" NONE INT4 INT4 Identity 1912 0 0;
    1919 "+" NONE FLOAT4 FLOAT4 Identity 1913 0 0;
    1920 "+" NONE FLOAT8 FLOAT8 Identity 1914 0 0;
    1921 "+" NONE NUMERIC NUMERIC Identity 1915 0 0;
    2066 "+" TIMESTAMP INTERVAL TIMESTAMP TimestampAddInterval 2032 2553 0;
    2551 "+" INTERVAL DATE TIMESTAMP IntervalAddDate 2546 1076 0;
    2553 "+" INTERVAL TIMESTAMP TIMESTAMP IntervalAddTimestamp 2548 2066 0;
    2554 "+" INTERVAL TIMESTAMPTZ TIMESTAMPTZ IntervalAddTimestamptz 2549 1327 0;
    2555 "+" INT4 DATE DATE IntAddDate 2550 1100 0;
    484 "-" NONE INT8 INT8 Int8Neg 462 0 0;
    554 "-" INT2 INT2 INT2 Int2Sub 180 0 0;
    555 "-" INT4 INT4 INT4 Int4Sub 181 0 0;
    556 "-" INT2 INT4 INT4 Int4Sub 182 0 0;
    557 "-" INT4 INT2 INT4 Int4Sub 183 0 0;
    558 "-" NONE INT4 INT4 Int4Neg 212 0 0;
    559 "-" NONE INT2 INT2 Int2Neg 213 0 0;
    584 "-" NONE FLOAT4 FLOAT4 FloatNeg 206 0 0;
    585 "-" NONE FLOAT8 FLOAT8 FloatNeg 220 0 0;
    587 "-" FLOAT4 FLOAT4 FLOAT4 Float4Sub 205 0 0;
    592 "-" FLOAT8 FLOAT8 FLOAT8 Float8Sub 219 0 0;
    685 "-" INT8 INT8 INT8 Int8Sub 464 0 0;
    689 "-" INT8 INT4 INT8 Int8Sub 1275 0 0;
    693 "-" INT4 INT8 INT8 Int8Sub 1279 0 0;
    819 "-" INT8 INT2 INT8 Int8Sub 838 0 0;
    823 "-" INT2 INT8 INT8 Int8Sub 942 0 0;
    1077 "-" DATE INTERVAL TIMESTAMP DateSubInterval 2072 0 0;
    1099 "-" DATE DATE INT4 DateSub 1140 0 0;
    1101 "-" DATE INT4 DATE DateSubInt 1142 0 0;
    1117 "-" FLOAT4 FLOAT8 FLOAT8 Float8Sub 282 0 0;
    1127 "-" FLOAT8 FLOAT4 FLOAT8 Float8Sub 286 0 0;
    1328 "-" TIMESTAMPTZ TIMESTAMPTZ INTERVAL TimestampSub 1188 0 0;
    1329 "-" TIMESTAMPTZ INTERVAL TIMESTAMPTZ TimestamptzSubInterval 1190 0 0;
    1336 "-" NONE INTERVAL INTERVAL IntervalNeg 1168 0 0;
    1338 "-" INTERVAL INTERVAL INTERVAL IntervalSub 1170 0 0;
    1399 "-" TIME TIME INTERVAL TimeSub 1690 0 0;
    1751 "-" NONE NUMERIC NUMERIC NumericNeg 1771 0 0;
    1759 "-" NUMERIC NUMERIC NUMERIC NumericSub 1725 0 0;
    1801 "-" TIME INTERVAL TIME TimeSubInterval 1748 0 0;
    2067 "-" TIMESTAMP TIMESTAMP INTERVAL TimestampSub 2031 0 0;
    2068 "-" TIMESTAMP INTERVAL TIMESTAMP TimestampSubInterval 2033 0 0;
    3285 "-" JSONB TEXT JSONB JsonbDelete 3302 0 0;
    3286 "-" JSONB INT4 JSONB JsonbDeleteElement 3303 0 0;
    3398 "-" JSONB TEXT_ARRAY JSONB JsonbDeleteKeys 3343 0 0;
    3211 "->" JSONB TEXT JSONB JsonbField 3478 0 0;
    3212 "->" JSONB INT4 JSONB JsonbElement 3215 0 0;
    3962 "->" JSON TEXT JSON JsonField 3947 0 0;
    3964 "->" JSON INT4 JSON JsonElement 3949 0 0;
    3477 "->>" JSONB TEXT TEXT JsonbFieldText 3214 0 0;
    3481 "->>" JSONB INT4 TEXT JsonbElementText 3216 0 0;
    3963 "->>" JSON TEXT TEXT JsonFieldText 3948 0 0;
    3965 "->>" JSON INT4 TEXT JsonElementText 3950 0 0;
    527 "/" INT2 INT2 INT2 Int2Div 153 0 0;
    528 "/" INT4 INT4 INT4 Int4Div 154 0 0;
    546 "/" INT2 INT4 INT4 Int4Div 172 0 0;
    547 "/" INT4 INT2 INT4 Int4Div 173 0 0;
    588 "/" FLOAT4 FLOAT4 FLOAT4 Float4Div 203 0 0;
    593 "/" FLOAT8 FLOAT8 FLOAT8 Float8Div 217 0 0;
    687 "/" INT8 INT8 INT8 Int8Div 466 0 0;
    691 "/" INT8 INT4 INT8 Int8Div 1277 0 0;
    695 "/" INT4 INT8 INT8 Int8Div 1281 0 0;
    821 "/" INT8 INT2 INT8 Int8Div 840 0 0;
    825 "/" INT2 INT8 INT8 Int8Div 948 0 0;
    1118 "/" FLOAT4 FLOAT8 FLOAT8 Float8Div 280 0 0;
    1128 "/" FLOAT8 FLOAT4 FLOAT8 Float8Div 284 0 0;
    1585 "/" INTERVAL FLOAT8 INTERVAL IntervalDiv 1326 0 0;
    1761 "/" NUMERIC NUMERIC NUMERIC NumericDiv 1727 0 0;
    37 "<" INT4 INT8 BOOL IntLt 854 419 82;
    58 "<" BOOL BOOL BOOL BoolLt 56 59 1695;
    95 "<" INT2 INT2 BOOL IntLt 64 520 524;
    97 "<" INT4 INT4 BOOL IntLt 66 521 525;
    255 "<" NAME TEXT BOOL BytesLt 241 264 257;
    261 "<" TEXT NAME BOOL BytesLt 248 258 263;
    412 "<" INT8 INT8 BOOL IntLt 469 413 415;
    418 "<" INT8 INT4 BOOL IntLt 476 76 430;
    534 "<" INT2 INT4 BOOL IntLt 160 537 542;
    535 "<" INT4 INT2 BOOL IntLt 161 536 543;
    609 "<" OID OID BOOL IntLt 716 610 612;
    622 "<" FLOAT4 FLOAT4 BOOL FloatLt 289 623 625;
    631 "<" CHAR CHAR BOOL IntLt 1246 633 634;
    645 "<" OIDVECTOR OIDVECTOR BOOL ArrayLt 677 646 648;
    660 "<" NAME NAME BOOL BytesLt 655 662 663;
    664 "<" TEXT TEXT BOOL BytesLt 740 666 667;
    672 "<" FLOAT8 FLOAT8 BOOL FloatLt 295 674 675;
    1058 "<" BPCHAR BPCHAR BOOL BpcharLt 1049 1060 1061;
    1072 "<" ANYARRAY ANYARRAY BOOL ArrayLt 391 1073 1075;
    1095 "<" DATE DATE BOOL IntLt 1087 1097 1098;
    1110 "<" TIME TIME BOOL IntLt 1102 1112 1113;
    1122 "<" FLOAT4 FLOAT8 BOOL FloatLt 301 1133 1125;
    1132 "<" FLOAT8 FLOAT4 BOOL FloatLt 307 1123 1135;
    1322 "<" TIMESTAMPTZ TIMESTAMPTZ BOOL IntLt 1154 1324 1325;
    1332 "<" INTERVAL INTERVAL BOOL IntervalLt 1164 1334 1335;
    1754 "<" NUMERIC NUMERIC BOOL NumericLt 1722 1756 1757;
    1864 "<" INT2 INT8 BOOL IntLt 1852 1871 1867;
    1870 "<" INT8 INT2 BOOL IntLt 1858 1865 1873;
    1957 "<" BYTEA BYTEA BOOL BytesLt 1949 1959 1960;
    2062 "<" TIMESTAMP TIMESTAMP BOOL IntLt 2054 2064 2065;
    2974 "<" UUID UUID BOOL BytesLt 2954 2975 2977;
    2990 "<" RECORD RECORD BOOL RecordLt 2983 2991 2993;
    3242 "<" JSONB JSONB BOOL JsonbLt 4039 3243 3245;
    3518 "<" ANYENUM ANYENUM BOOL IntLt 3510 3519 3521;
    5073 "<" XID8 XID8 BOOL IntLt 5034 5074 5076;
    1878 "<<" INT2 INT4 INT2 Int2Shl 1896 0 0;
    1884 "<<" INT4 INT4 INT4 Int4Shl 1902 0 0;
    1890 "<<" INT8 INT4 INT8 Int8Shl 1908 0 0;
    80 "<=" INT4 INT8 BOOL IntLe 856 430 76;
    256 "<=" NAME TEXT BOOL BytesLe 242 263 258;
    262 "<=" TEXT NAME BOOL BytesLe 249 257 264;
    414 "<=" INT8 INT8 BOOL IntLe 471 415 413;
    420 "<=" INT8 INT4 BOOL IntLe 478 82 419;
    522 "<=" INT2 INT2 BOOL IntLe 148 524 520;
    523 "<=" INT4 INT4 BOOL IntLe 149 525 521;
    540 "<=" INT2 INT4 BOOL IntLe 166 543 536;
    541 "<=" INT4 INT2 BOOL IntLe 167 542 537;
    611 "<=" OID OID BOOL IntLe 717 612 610;
    624 "<=" FLOAT4 FLOAT4 BOOL FloatLe 290 625 623;
    632 "<=" CHAR CHAR BOOL IntLe 72 634 633;
    647 "<=" OIDVECTOR OIDVECTOR BOOL ArrayLe 678 648 646;
    661 "<=" NAME NAME BOOL BytesLe 656 663 662;
    665 "<=" TEXT TEXT BOOL BytesLe 741 667 666;
    673 "<=" FLOAT8 FLOAT8 BOOL FloatLe 296 675 674;
    1059 "<=" BPCHAR BPCHAR BOOL BpcharLe 1050 1061 1060;
    1074 "<=" ANYARRAY ANYARRAY BOOL ArrayLe 393 1075 1073;
    1096 "<=" DATE DATE BOOL IntLe 1088 1098 1097;
    1111 "<=" TIME TIME BOOL IntLe 1103 1113 1112;
    1124 "<=" FLOAT4 FLOAT8 BOOL FloatLe 302 1135 1123;
    1134 "<=" FLOAT8 FLOAT4 BOOL FloatLe 308 1125 1133;
    1323 "<=" TIMESTAMPTZ TIMESTAMPTZ BOOL IntLe 1155 1325 1324;
    1333 "<=" INTERVAL INTERVAL BOOL IntervalLe 1165 1335 1334;
    1694 "<=" BOOL BOOL BOOL BoolLe 1691 1695 59;
    1755 "<=" NUMERIC NUMERIC BOOL NumericLe 1723 1757 1756;
    1866 "<=" INT2 INT8 BOOL IntLe 1854 1873 1865;
    1872 "<=" INT8 INT2 BOOL IntLe 1860 1867 1871;
    1958 "<=" BYTEA BYTEA BOOL BytesLe 1950 1960 1959;
    2063 "<=" TIMESTAMP TIMESTAMP BOOL IntLe 2055 2065 2064;
    2976 "<=" UUID UUID BOOL BytesLe 2955 2977 2975;
    2992 "<=" RECORD RECORD BOOL RecordLe 2985 2993 2991;
    3244 "<=" JSONB JSONB BOOL JsonbLe 4041 3245 3243;
    3520 "<=" ANYENUM ANYENUM BOOL IntLe 3512 3521 3519;
    5075 "<=" XID8 XID8 BOOL IntLe 5036 5076 5074;
    36 "<>" INT4 INT8 BOOL IntNe 853 417 15;
    85 "<>" BOOL BOOL BOOL BoolNe 84 85 91;
    259 "<>" NAME TEXT BOOL BytesNe 245 265 254;
    265 "<>" TEXT NAME BOOL BytesNe 252 259 260;
    411 "<>" INT8 INT8 BOOL IntNe 468 411 410;
    417 "<>" INT8 INT4 BOOL IntNe 475 36 416;
    518 "<>" INT4 INT4 BOOL IntNe 144 518 96;
    519 "<>" INT2 INT2 BOOL IntNe 145 519 94;
    531 "<>" TEXT TEXT BOOL BytesNe 157 531 98;
    538 "<>" INT2 INT4 BOOL IntNe 164 539 532;
    539 "<>" INT4 INT2 BOOL IntNe 165 538 533;
    608 "<>" OID OID BOOL IntNe 185 608 607;
    621 "<>" FLOAT4 FLOAT4 BOOL FloatNe 288 621 620;
    630 "<>" CHAR CHAR BOOL IntNe 70 630 92;
    643 "<>" NAME NAME BOOL BytesNe 659 643 93;
    644 "<>" OIDVECTOR OIDVECTOR BOOL ArrayNe 619 644 649;
    671 "<>" FLOAT8 FLOAT8 BOOL FloatNe 294 671 670;
    1057 "<>" BPCHAR BPCHAR BOOL BpcharNe 1053 1057 1054;
    1071 "<>" ANYARRAY ANYARRAY BOOL ArrayNe 390 1071 1070;
    1094 "<>" DATE DATE BOOL IntNe 1091 1094 1093;
    1109 "<>" TIME TIME BOOL IntNe 1106 1109 1108;
    1121 "<>" FLOAT4 FLOAT8 BOOL FloatNe 300 1131 1120;
    1131 "<>" FLOAT8 FLOAT4 BOOL FloatNe 306 1121 1130;
    1321 "<>" TIMESTAMPTZ TIMESTAMPTZ BOOL IntNe 1153 1321 1320;
    1331 "<>" INTERVAL INTERVAL BOOL IntervalNe 1163 1331 1330;
    1753 "<>" NUMERIC NUMERIC BOOL NumericNe 1719 1753 1752;
    1863 "<>" INT2 INT8 BOOL IntNe 1851 1869 1862;
    1869 "<>" INT8 INT2 BOOL IntNe 1857 1863 1868;
    1956 "<>" BYTEA BYTEA BOOL BytesNe 1953 1956 1955;
    2061 "<>" TIMESTAMP TIMESTAMP BOOL IntNe 2053 2061 2060;
    2973 "<>" UUID UUID BOOL BytesNe 2959 2973 2972;
    2989 "<>" RECORD RECORD BOOL RecordNe 2982 2989 2988;
    3241 "<>" JSONB JSONB BOOL JsonbNe 4038 3241 3240;
    3315 "<>" XID XID BOOL IntNe 3308 3315 352;
    3316 "<>" XID INT4 BOOL IntNe 3309 0 353;
    3517 "<>" ANYENUM ANYENUM BOOL IntNe 3509 3517 3516;
    5072 "<>" XID8 XID8 BOOL IntNe 5085 5072 5068;
    2752 "<@" ANYARRAY ANYARRAY BOOL ArrayContained 2749 2751 0;
    3250 "<@" JSONB JSONB BOOL JsonbContained 4050 3246 0;
    15 "=" INT4 INT8 BOOL IntEq 852 416 36;
    91 "=" BOOL BOOL BOOL BoolEq 60 91 85;
    92 "=" CHAR CHAR BOOL IntEq 61 92 630;
    93 "=" NAME NAME BOOL BytesEq 62 93 643;
    94 "=" INT2 INT2 BOOL IntEq 63 94 519;
    96 "=" INT4 INT4 BOOL IntEq 65 96 518;
    98 "=" TEXT TEXT BOOL BytesEq 67 98 531;
    254 "=" NAME TEXT BOOL BytesEq 240 260 259;
    260 "=" TEXT NAME BOOL BytesEq 247 254 265;
    352 "=" XID XID BOOL IntEq 68 352 3315;
    353 "=" XID INT4 BOOL IntEq 1319 0 3316;
    385 "=" CID CID BOOL IntEq 69 385 0;
    410 "=" INT8 INT8 BOOL IntEq 467 410 411;
    416 "=" INT8 INT4 BOOL IntEq 474 15 417;
    532 "=" INT2 INT4 BOOL IntEq 158 533 538;
    533 "=" INT4 INT2 BOOL IntEq 159 532 539;
    607 "=" OID OID BOOL IntEq 184 607 608;
    620 "=" FLOAT4 FLOAT4 BOOL FloatEq 287 620 621;
    649 "=" OIDVECTOR OIDVECTOR BOOL ArrayEq 679 649 644;
    670 "=" FLOAT8 FLOAT8 BOOL FloatEq 293 670 671;
    1054 "=" BPCHAR BPCHAR BOOL BpcharEq 1048 1054 1057;
    1070 "=" ANYARRAY ANYARRAY BOOL ArrayEq 744 1070 1071;
    1093 "=" DATE DATE BOOL IntEq 1086 1093 1094;
    1108 "=" TIME TIME BOOL IntEq 1145 1108 1109;
    1120 "=" FLOAT4 FLOAT8 BOOL FloatEq 299 1130 1121;
    1130 "=" FLOAT8 FLOAT4 BOOL FloatEq 305 1120 1131;
    1320 "=" TIMESTAMPTZ TIMESTAMPTZ BOOL IntEq 1152 1320 1321;
    1330 "=" INTERVAL INTERVAL BOOL IntervalEq 1162 1330 1331;
    1752 "=" NUMERIC NUMERIC BOOL NumericEq 1718 1752 1753;
    1862 "=" INT2 INT8 BOOL IntEq 1850 1868 1863;
    1868 "=" INT8 INT2 BOOL IntEq 1856 1862 1869;
    1955 "=" BYTEA BYTEA BOOL BytesEq 1948 1955 1956;
    2060 "=" TIMESTAMP TIMESTAMP BOOL IntEq 2052 2060 2061;
    2972 "=" UUID UUID BOOL BytesEq 2956 2972 2973;
    2988 "=" RECORD RECORD BOOL RecordEq 2981 2988 2989;
    3240 "=" JSONB JSONB BOOL JsonbEq 4043 3240 3241;
    3516 "=" ANYENUM ANYENUM BOOL IntEq 3508 3516 3517;
    5068 "=" XID8 XID8 BOOL IntEq 5084 5068 5072;
    59 ">" BOOL BOOL BOOL BoolGt 57 58 1694;
    76 ">" INT4 INT8 BOOL IntGt 855 418 80;
    258 ">" NAME TEXT BOOL BytesGt 244 261 256;
    264 ">" TEXT NAME BOOL BytesGt 251 255 262;
    413 ">" INT8 INT8 BOOL IntGt 470 412 414;
    419 ">" INT8 INT4 BOOL IntGt 477 37 420;
    520 ">" INT2 INT2 BOOL IntGt 146 95 522;
    521 ">" INT4 INT4 BOOL IntGt 147 97 523;
    536 ">" INT2 INT4 BOOL IntGt 162 535 540;
    537 ">" INT4 INT2 BOOL IntGt 163 534 541;
    610 ">" OID OID BOOL IntGt 1638 609 611;
    623 ">" FLOAT4 FLOAT4 BOOL FloatGt 291 622 624;
    633 ">" CHAR CHAR BOOL IntGt 73 631 632;
    646 ">" OIDVECTOR OIDVECTOR BOOL ArrayGt 681 645 647;
    662 ">" NAME NAME BOOL BytesGt 657 660 661;
    666 ">" TEXT TEXT BOOL BytesGt 742 664 665;
    674 ">" FLOAT8 FLOAT8 BOOL FloatGt 297 672 673;
    1060 ">" BPCHAR BPCHAR BOOL BpcharGt 1051 1058 1059;
    1073 ">" ANYARRAY ANYARRAY BOOL ArrayGt 392 1072 1074;
    1097 ">" DATE DATE BOOL IntGt 1089 1095 1096;
    1112 ">" TIME TIME BOOL IntGt 1104 1110 1111;
    1123 ">" FLOAT4 FLOAT8 BOOL FloatGt 303 1132 1124;
    1133 ">" FLOAT8 FLOAT4 BOOL FloatGt 309 1122 1134;
    1324 ">" TIMESTAMPTZ TIMESTAMPTZ BOOL IntGt 1157 1322 1323;
    1334 ">" INTERVAL INTERVAL BOOL IntervalGt 1167 1332 1333;
    1756 ">" NUMERIC NUMERIC BOOL NumericGt 1720 1754 1755;
    1865 ">" INT2 INT8 BOOL IntGt 1853 1870 1866;
    1871 ">" INT8 INT2 BOOL IntGt 1859 1864 1872;
    1959 ">" BYTEA BYTEA BOOL BytesGt 1951 1957 1958;
    2064 ">" TIMESTAMP TIMESTAMP BOOL IntGt 2057 2062 2063;
    2975 ">" UUID UUID BOOL BytesGt 2958 2974 2976;
    2991 ">" RECORD RECORD BOOL RecordGt 2984 2990 2992;
    3243 ">" JSONB JSONB BOOL JsonbGt 4040 3242 3244;
    3519 ">" ANYENUM ANYENUM BOOL IntGt 3511 3518 3520;
    5074 ">" XID8 XID8 BOOL IntGt 5035 5073 5075;
    82 ">=" INT4 INT8 BOOL IntGe 857 420 37;
    257 ">=" NAME TEXT BOOL BytesGe 243 262 255;
    263 ">=" TEXT NAME BOOL BytesGe 250 256 261;
    415 ">=" INT8 INT8 BOOL IntGe 472 414 412;
    430 ">=" INT8 INT4 BOOL IntGe 479 80 418;
    524 ">=" INT2 INT2 BOOL IntGe 151 522 95;
    525 ">=" INT4 INT4 BOOL IntGe 150 523 97;
    542 ">=" INT2 INT4 BOOL IntGe 168 541 534;
    543 ">=" INT4 INT2 BOOL IntGe 169 540 535;
    612 ">=" OID OID BOOL IntGe 1639 611 609;
    625 ">=" FLOAT4 FLOAT4 BOOL FloatGe 292 624 622;
    634 ">=" CHAR CHAR BOOL IntGe 74 632 631;
    648 ">=" OIDVECTOR OIDVECTOR BOOL ArrayGe 680 647 645;
    663 ">=" NAME NAME BOOL BytesGe 658 661 660;
    667 ">=" TEXT TEXT BOOL BytesGe 743 665 664;
    675 ">=" FLOAT8 FLOAT8 BOOL FloatGe 298 673 672;
    1061 ">=" BPCHAR BPCHAR BOOL BpcharGe 1052 1059 1058;
    1075 ">=" ANYARRAY ANYARRAY BOOL ArrayGe 396 1074 1072;
    1098 ">=" DATE DATE BOOL IntGe 1090 1096 1095;
    1113 ">=" TIME TIME BOOL IntGe 1105 1111 1110;
    1125 ">=" FLOAT4 FLOAT8 BOOL FloatGe 304 1134 1122;
    1135 ">=" FLOAT8 FLOAT4 BOOL FloatGe 310 1124 1132;
    1325 ">=" TIMESTAMPTZ TIMESTAMPTZ BOOL IntGe 1156 1323 1322;
    1335 ">=" INTERVAL INTERVAL BOOL IntervalGe 1166 1333 1332;
    1695 ">=" BOOL BOOL BOOL BoolGe 1692 1694 58;
    1757 ">=" NUMERIC NUMERIC BOOL NumericGe 1721 1755 1754;
    1867 ">=" INT2 INT8 BOOL IntGe 1855 1872 1864;
    1873 ">=" INT8 INT2 BOOL IntGe 1861 1866 1870;
    1960 ">=" BYTEA BYTEA BOOL BytesGe 1952 1958 1957;
    2065 ">=" TIMESTAMP TIMESTAMP BOOL IntGe 2056 2063 2062;
    2977 ">=" UUID UUID BOOL BytesGe 2957 2976 2974;
    2993 ">=" RECORD RECORD BOOL RecordGe 2986 2992 2990;
    3245 ">=" JSONB JSONB BOOL JsonbGe 4042 3244 3242;
    3521 ">=" ANYENUM ANYENUM BOOL IntGe 3513 3520 3518;
    5076 ">=" XID8 XID8 BOOL IntGe 5037 5075 5073;
    1879 ">>" INT2 INT4 INT2 IntShr 1897 0 0;
    1885 ">>" INT4 INT4 INT4 IntShr 1903 0 0;
    1891 ">>" INT8 INT4 INT8 IntShr 1909 0 0;
    3247 "?" JSONB TEXT BOOL JsonbExists 4047 0 0;
    3249 "?&" JSONB TEXT_ARRAY BOOL JsonbExistsAll 4049 0 0;
    3248 "?|" JSONB TEXT_ARRAY BOOL JsonbExistsAny 4048 0 0;
    473 "@" NONE INT8 INT8 Int8Abs 1230 0 0;
    590 "@" NONE FLOAT4 FLOAT4 FloatAbs 207 0 0;
    595 "@" NONE FLOAT8 FLOAT8 FloatAbs 221 0 0;
    682 "@" NONE INT2 INT2 Int2Abs 1253 0 0;
    773 "@" NONE INT4 INT4 Int4Abs 1251 0 0;
    1763 "@" NONE NUMERIC NUMERIC NumericAbs 1704 0 0;
    2751 "@>" ANYARRAY ANYARRAY BOOL ArrayContains 2748 2752 0;
    3246 "@>" JSONB JSONB BOOL JsonbContains 4046 3250 0;
    965 "^" FLOAT8 FLOAT8 FLOAT8 FloatPower 232 0 0;
    1038 "^" NUMERIC NUMERIC NUMERIC NumericPower 1739 0 0;
    3877 "^@" TEXT TEXT BOOL StartsWith 3696 0 0;
    1875 "|" INT2 INT2 INT2 IntOr 1893 1875 0;
    1881 "|" INT4 INT4 INT4 IntOr 1899 1881 0;
    1887 "|" INT8 INT8 INT8 IntOr 1905 1887 0;
    596 "|/" NONE FLOAT8 FLOAT8 FloatSqrt 230 0 0;
    349 "||" ANYCOMPATIBLEARRAY ANYCOMPATIBLE ANYCOMPATIBLEARRAY ArrayAppend 378 0 0;
    374 "||" ANYCOMPATIBLE ANYCOMPATIBLEARRAY ANYCOMPATIBLEARRAY ArrayPrepend 379 0 0;
    375 "||" ANYCOMPATIBLEARRAY ANYCOMPATIBLEARRAY ANYCOMPATIBLEARRAY ArrayCat 383 0 0;
    654 "||" TEXT TEXT TEXT TextCat 1258 0 0;
    2018 "||" BYTEA BYTEA BYTEA TextCat 2011 0 0;
    2779 "||" TEXT ANYNONARRAY TEXT TextCat 2003 0 0;
    2780 "||" ANYNONARRAY TEXT TEXT TextCat 2004 0 0;
    3284 "||" JSONB JSONB JSONB JsonbConcat 3301 0 0;
    597 "||/" NONE FLOAT8 FLOAT8 FloatCbrt 231 0 0;
    639 "~" NAME TEXT BOOL Regex 79 0 640;
    641 "~" TEXT TEXT BOOL Regex 1254 0 642;
    1055 "~" BPCHAR TEXT BOOL Regex 1658 0 1056;
    1877 "~" NONE INT2 INT2 IntNot 1895 0 0;
    1883 "~" NONE INT4 INT4 IntNot 1901 0 0;
    1889 "~" NONE INT8 INT8 IntNot 1907 0 0;
    1226 "~*" NAME TEXT BOOL RegexAnyCase 1240 0 1227;
    1228 "~*" TEXT TEXT BOOL RegexAnyCase 1238 0 1229;
    1234 "~*" BPCHAR TEXT BOOL RegexAnyCase 1656 0 1235;
    1207 "~~" NAME TEXT BOOL Like 858 0 1208;
    1209 "~~" TEXT TEXT BOOL Like 850 0 1210;
    1211 "~~" BPCHAR TEXT BOOL Like 1631 0 1212;
    1625 "~~*" NAME TEXT BOOL Ilike 1635 0 1626;
    1627 "~~*" TEXT TEXT BOOL Ilike 1633 0 1628;
    1629 "~~*" BPCHAR TEXT BOOL Ilike 1660 0 1630;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function;

    #[test]
    fn the_table_is_sorted_and_agrees_with_the_functions() {
        for pair in TABLE.windows(2) {
            assert!((pair[0].name, pair[0].oid) < (pair[1].name, pair[1].oid), "{} {}", pair[0].name, pair[1].name);
        }
        for row in TABLE {
            let function = function::by_oid(row.function).expect(row.name);
            assert_eq!(function.result, row.result, "{} {:?}", row.name, row.args);
            // What a function takes one by one an operator has in an array.
            assert!(function.op == row.op || function.variadic, "{} {:?}", row.name, row.args);
            assert_eq!(function.args, row.args, "{}", row.name);
        }
    }

    #[test]
    fn commutators_and_negators_point_at_each_other() {
        for row in TABLE {
            if let Some(other) = row.commuted() {
                assert_eq!((other.commutator, other.left, other.right), (row.oid, row.right, row.left), "{}", row.name);
                if let Some(comparison) = row.op.comparison() {
                    assert_eq!(other.op.comparison(), Some(comparison.flipped()));
                }
            }
            if let Some(other) = row.negated() {
                assert_eq!((other.negator, other.left, other.right), (row.oid, row.left, row.right), "{}", row.name);
            }
        }
    }
}
