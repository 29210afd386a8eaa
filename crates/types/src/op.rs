//! The operations on values, by number: what plans hold in place of function pointers.
//!
//! Plans lie in memory that many processes share, where a pointer to code would be another process's. An [`Op`] is two
//! bytes; [`eval`](super::eval::eval) is one `match` over them. Many of PostgreSQL's functions are one operation here,
//! because values of many types have one representation: `int4eq`, `int28eq`, `oideq` and `date_eq` are [`Op::IntEq`].
//!
//! Rules
//! 1. The numbers are of one build of the server and never stored on disk.
//! 2. An operation is either pure, and then `eval` does it, or the caller's ([`Op::is_external`]): session, catalog and
//!    executor look at it before they ask `eval`.

/// In the place of a slice's index: it was left out, so that it is the array's own.
pub const LEFT_OUT: i64 = i64::MAX;

/// Which part of [`eval`](super::eval) does an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// A value of any type.
    Any,
    /// Two values of one type, or of two with one representation.
    Comparison,
    /// A result in `Int`, or a truth value made of one.
    Integer,
    /// Floats.
    Float,
    /// `numeric`.
    Numeric,
    /// Text.
    String,
    /// Dates and times.
    Time,
    /// By a template.
    Template,
    /// Arrays.
    List,
    /// `json` and `jsonb`.
    Json,
    /// The caller's own: it needs the session, the catalog or the executor.
    External,
}

macro_rules! ops {
    ($($family:ident { $($doc:literal $($name:ident)*;)* })*) => {
        /// An operation.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u16)]
        pub enum Op {
            $($($(#[doc = $doc] $name,)*)*)*
        }

        impl Op {
            /// Which part of the evaluation does it.
            #[inline]
            pub const fn family(self) -> Family {
                match self {
                    $($($(Op::$name)|*)|* => Family::$family,)*
                }
            }
        }
    };
}

ops! {
    Any {
        "Any value, as it is."
            Identity;
    }
    Comparison {
        "A comparison of numbers, dates or times in `Int`."
            IntEq IntNe IntLt IntLe IntGt IntGe;
        "A comparison of floats."
            FloatEq FloatNe FloatLt FloatLe FloatGt FloatGe;
        "A comparison of booleans."
            BoolEq BoolNe BoolLt BoolLe BoolGt BoolGe;
        "A comparison of byte runs: text, names, `bytea`, `uuid`."
            BytesEq BytesNe BytesLt BytesLe BytesGt BytesGe;
        "A comparison of `character(n)`, without the padding."
            BpcharEq BpcharNe BpcharLt BpcharLe BpcharGt BpcharGe;
        "A comparison of `numeric`."
            NumericEq NumericNe NumericLt NumericLe NumericGt NumericGe;
        "A comparison of arrays."
            ArrayEq ArrayNe ArrayLt ArrayLe ArrayGt ArrayGe;
        "A comparison of intervals."
            IntervalEq IntervalNe IntervalLt IntervalLe IntervalGt IntervalGe;
        "A comparison of `jsonb`."
            JsonbEq JsonbNe JsonbLt JsonbLe JsonbGt JsonbGe;
        "A comparison of records."
            RecordEq RecordNe RecordLt RecordLe RecordGt RecordGe;
    }
    Integer {
        "Arithmetic of `smallint`."
            Int2Add Int2Sub Int2Mul Int2Div Int2Mod Int2Neg Int2Abs Int2Shl;
        "Arithmetic of `integer`."
            Int4Add Int4Sub Int4Mul Int4Div Int4Mod Int4Neg Int4Abs Int4Shl;
        "Arithmetic of `bigint`."
            Int8Add Int8Sub Int8Mul Int8Div Int8Mod Int8Neg Int8Abs Int8Shl;
        "Bits of integers of any width."
            IntAnd IntOr IntXor IntNot IntShr;
        "A common divisor, a common multiple."
            Int4Gcd Int4Lcm Int8Gcd Int8Lcm;
        "A cast between integers, booleans and characters."
            ToInt2 ToInt4 ToOid Int4ToOid OidToInt4 BoolToInt IntToBool CharToInt IntToChar;
    }
    Float {
        "Arithmetic of `real`."
            Float4Add Float4Sub Float4Mul Float4Div;
        "Arithmetic of `double precision`."
            Float8Add Float8Sub Float8Mul Float8Div;
        "A function of floats."
            FloatNeg FloatAbs FloatCeil FloatFloor FloatRound FloatTrunc FloatSign FloatSqrt FloatCbrt FloatExp
            FloatLn FloatLog10 FloatPower FloatSin FloatCos FloatTan FloatAsin FloatAcos FloatAtan FloatAtan2
            FloatDegrees FloatRadians Pi Random FloatSinh FloatCosh FloatTanh FloatAsinh FloatAcosh FloatAtanh FloatCot
            FloatSind FloatCosd FloatTand FloatCotd FloatAsind FloatAcosd FloatAtand FloatAtan2d FloatWidthBucket;
        "A cast between floats and integers."
            IntToFloat4 IntToFloat8 Float8ToFloat4 FloatToInt2 FloatToInt4 FloatToInt8;
    }
    Numeric {
        "Arithmetic of `numeric`."
            NumericAdd NumericSub NumericMul NumericDiv NumericMod NumericDivTrunc NumericNeg NumericAbs;
        "A function of `numeric`."
            NumericSign NumericCeil NumericFloor NumericRound NumericRound1 NumericTrunc NumericTrunc1 NumericSqrt
            NumericExp NumericLn NumericLog NumericLog10 NumericPower NumericScale NumericMinScale NumericTrimScale
            NumericGcd NumericLcm NumericInc Factorial NumericWidthBucket;
        "A cast from or to `numeric`."
            IntToNumeric Float4ToNumeric Float8ToNumeric NumericToInt2 NumericToInt4 NumericToInt8 NumericToFloat4
            NumericToFloat8;
        "A `numeric` fitted to a type modifier, which is the second argument."
            NumericLength;
    }
    String {
        "A function of text."
            TextCat TextLength BpcharCharLength OctetLength BitLength Lower Upper Initcap Substring2 Substring3 Left
            Right Position Replace Btrim Btrim1 Ltrim Ltrim1 Rtrim Rtrim1 Lpad Lpad2 Rpad Rpad2 Repeat Reverse Ascii
            Chr SplitPart StartsWith Translate QuoteIdent QuoteLiteral Md5 ToHex32 ToHex64 NameByte;
        "A pattern."
            Like NotLike Ilike NotIlike LikeEscape SimilarEscape1 SimilarEscape Regex NotRegex RegexAnyCase NotRegexAnyCase;
        "What a regular expression finds; start, number, flags and group may be among the arguments."
            RegexReplace RegexMatch RegexSplitToArray RegexCount RegexInstr RegexLike RegexSubstr RegexSubstring;
        "A function of `bytea`, and hashes."
            Encode Decode ByteaSubstring2 ByteaSubstring3 GetByte SetByte GetBit SetBit BitCount Md5Bytes Sha224 Sha256
            Sha384 Sha512;
        "A part of a text or of bytes replaced by another one."
            Overlay3 Overlay4 ByteaOverlay3 ByteaOverlay4;
        "A text made to be read by SQL."
            QuoteNullable;
        "Of any number of arguments, of which texts were made."
            Concat ConcatWs Format NumNulls NumNonnulls;
        "A cast to text, or between kinds of it."
            BoolToText CharToText TextToChar TextToName BpcharToName;
        "A text fitted to a type modifier, which is the second argument."
            VarcharLength BpcharLength;
    }
    Time {
        "The time, from the caller."
            Now StatementTimestamp ClockTimestamp;
        "Arithmetic of dates."
            DateAddInt IntAddDate DateSubInt DateSub DateAddTime TimeAddDate;
        "Arithmetic of intervals."
            IntervalAdd IntervalSub IntervalNeg IntervalMul FloatMulInterval IntervalDiv JustifyHours JustifyDays
            JustifyInterval;
        "A date or time and an interval."
            DateAddInterval IntervalAddDate DateSubInterval TimeAddInterval IntervalAddTime TimeSubInterval
            TimestampAddInterval IntervalAddTimestamp TimestampSubInterval TimestamptzAddInterval
            IntervalAddTimestamptz TimestamptzSubInterval;
        "An interval between two times."
            TimestampSub TimeSub TimestampAge TimestampAge1 TimestamptzAge TimestamptzAge1;
        "A part, by its name, as a `numeric`."
            ExtractDate ExtractTime ExtractTimestamp ExtractTimestamptz ExtractInterval;
        "A part, by its name, as a `double precision`."
            PartOfDate PartOfTime PartOfTimestamp PartOfTimestamptz PartOfInterval;
        "The beginning of a part."
            TruncTimestamp TruncTimestamptz TruncTimestamptzIn TruncInterval;
        "A time made of its parts."
            MakeDate MakeTime MakeTimestamp MakeTimestamptz MakeTimestamptzIn EpochToTimestamptz;
        "Whether it is no infinity."
            DateIsFinite TimestampIsFinite IntervalIsFinite;
        "The beginning of the span, of so many that follow each other, that a time lies in."
            DateBinTimestamp DateBinTimestamptz;
        "An interval made of its parts."
            MakeInterval;
        "Whether two spans, of which the ends are given, have a time in common."
            Overlaps;
        "A zone's clocks: the zone by name, or as an interval."
            TimestampInZone TimestamptzInZone TimestampAtOffset TimestamptzAtOffset;
        "A cast between dates and times; those with `timestamptz` depend on the session's zone."
            DateToTimestamp DateToTimestamptz TimestampToDate TimestamptzToDate TimestampToTimestamptz
            TimestamptzToTimestamp TimestampToTime TimestamptzToTime;
        "A cast between times and intervals."
            TimeToInterval IntervalToTime;
        "A time fitted to a type modifier, which is the second argument."
            TimeLength IntervalLength;
    }
    Template {
        "A text by a template."
            ToCharInt4 ToCharInt8 ToCharNumeric ToCharFloat4 ToCharFloat8 ToCharTimestamp ToCharTimestamptz ToCharInterval;
        "A text read by a template."
            ToNumber ToDate ToTimestamptz;
    }
    List {
        "A function of arrays."
            ArrayLength ArrayLower ArrayUpper ArrayNdims Cardinality ArrayPosition ArrayAppend ArrayPrepend ArrayCat
            ArrayContains ArrayContained ArrayOverlap ArrayToString StringToArray ArrayDims ArrayRemove ArrayReplace
            ArrayPositions TrimArray;
        "An element of an array by its indexes; a slice by a first and a last one for each dimension ([`LEFT_OUT`])."
            ArrayElement ArraySlice;
        "An array with another part: the type of its elements and what the part is to be stand before the indexes."
            ArrayWithElement ArrayWithSlice;
        "An array of one value, whose type stands before it."
            ArrayFill;
        "Values of an enum, whose type stands before the arguments."
            EnumFirst EnumLast EnumAll EnumRange;
        "A record of fields: of each its name, its type and its value."
            MakeRecord;
        "A record of the fields of others, one after another."
            JoinRecords;
        "Is a record null, or each of its fields?"
            RecordIsNull;
        "Is neither a record null, nor one of its fields?"
            RecordIsNotNull;
    }
    Json {
        "A part of a `json`: by key, by index, by path; itself or as text."
            JsonField JsonFieldText JsonElement JsonElementText JsonPath JsonPathText JsonExtract JsonExtractText;
        "A part of a `jsonb`."
            JsonbField JsonbFieldText JsonbElement JsonbElementText JsonbPath JsonbPathText JsonbExtract
            JsonbExtractText;
        "What is in a `jsonb`."
            JsonbContains JsonbContained JsonbExists JsonbExistsAny JsonbExistsAll;
        "What a value is, and how long an array."
            JsonTypeof JsonbTypeof JsonArrayLength JsonbArrayLength;
        "A `jsonb` made of others."
            JsonbConcat JsonbDelete JsonbDeleteElement JsonbDeleteKeys JsonbDeletePath JsonbSet JsonbSetLax JsonbInsert
            JsonStripNulls JsonbStripNulls JsonbPretty;
        "A value made of others, which the binder has made JSON of."
            JsonBuildObject JsonbBuildObject JsonBuildArray JsonbBuildArray;
        "A value made of arrays."
            ArrayToJson RowToJson JsonObject JsonObject2 JsonbObject JsonbObject2;
        "A cast from `jsonb`."
            JsonbToBool JsonbToNumeric JsonbToInt2 JsonbToInt4 JsonbToInt8 JsonbToFloat4 JsonbToFloat8;
    }
    External {
        "The binder's: a cast that depends on the argument's type."
            ToJson ToJsonb;
        "The caller's: a function of the session, the catalog or the server."
            CurrentDatabase CurrentSchema CurrentSchemas CurrentUser SessionUser Version BackendPid GenerateUuid TypeOf
            CurrentSetting SetConfig TableIsVisible TypeIsVisible FunctionIsVisible RoleName GetExpr
            GetIndexDefinition GetConstraintDefinition GetViewDefinition GetViewDefinitionByName GetRuleDefinition Description EncodingName TextToRegclass ToRegclass ToRegtype
            CurrentXid CurrentXidIfAny XactStatus IsInRecovery IsPublishable RelationSize TableSize IndexesSize TotalRelationSize TempSchema Sleep
            AdvisoryLock AdvisoryLockShared AdvisoryXactLock AdvisoryXactLockShared
            TryAdvisoryLock TryAdvisoryLockShared TryAdvisoryXactLock TryAdvisoryXactLockShared
            AdvisoryUnlock AdvisoryUnlockShared AdvisoryUnlockAll Notify NotificationQueueUsage
            FunctionArguments FunctionIdentity FunctionResult FunctionDefinition FunctionBody
            NextValue CurrentValue LastValue SetValue SerialSequence SequenceLast SequencePart
            CancelBackend TerminateBackend ReloadConfiguration BlockingPids ServerStartTime ConfigurationLoadTime SizePretty
            StatisticsColumns TriggerDefinition FormatType
            HasTablePrivilege HasSequencePrivilege HasColumnPrivilege HasAnyColumnPrivilege HasSchemaPrivilege
            HasDatabasePrivilege HasFunctionPrivilege HasTypePrivilege HasLanguagePrivilege HasRole
            CountScans CountReturned CountFetched CountInserted CountUpdated CountDeleted CountHotUpdated CountLive CountDead CountModified
            CountInsertedSince LastVacuum LastAutovacuum LastAnalyze LastAutoanalyze CountVacuums CountAutovacuums CountAnalyses
            CountAutoanalyses ResetCounts ResetCountsOf ForgetCounts
            AclDefault MakeAclItem OwnEncoding EncodingNumber EncodingLength CollationIsVisible ClassIsVisible FamilyIsVisible
            OperatorIsVisible RelationIsUpdatable ColumnIsUpdatable DatabaseSize TablespaceSize TablespaceLocation
            DescribeObject ArgumentDefault ToRegnamespace ToRegoper ToRegoperator ToRegproc ToRegprocedure ToRegrole;
        "The caller's: about kinds of objects that the server does not have."
            NotThere AlwaysFalse;
        "A call of a function of a user: its number and its name stand before its arguments."
            Routine;
        "The caller's: a function that returns a set."
            Unnest GenerateSeries GenerateNumericSeries GenerateTimestampSeries GenerateTimestamptzSeries
            GenerateSubscripts ListeningChannels StringToTable RegexSplitToTable RegexMatches PartitionAncestors
            AclExplode OptionsToTable Keywords PartitionTree ExpandArray
            JsonArrayElements JsonArrayElementsText JsonEach JsonEachText
            JsonObjectKeys JsonbArrayElements JsonbArrayElementsText JsonbEach JsonbEachText JsonbObjectKeys;
    }
}

impl Op {
    /// Must the caller do it, because it needs the session, the catalog or the executor?
    pub const fn is_external(self) -> bool {
        matches!(self.family(), Family::External)
    }
}

/// A comparison, whatever it compares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Comparison {
    /// `=`
    Eq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Comparison {
    /// The comparison of a number, counted from zero in the order above.
    #[inline]
    pub fn from_byte(byte: u8) -> Option<Comparison> {
        COMPARISONS.get(usize::from(byte)).copied()
    }

    /// Does an order satisfy it?
    #[inline]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        // For each comparison, in the order above: bit 0 for less, bit 1 for equal, bit 2 for greater.
        const SATISFIED: [u8; 6] = [0b010, 0b101, 0b001, 0b011, 0b100, 0b110];
        SATISFIED[self as usize] >> (order as i8 + 1) & 1 == 1
    }

    /// The comparison with its sides exchanged.
    pub fn flipped(self) -> Comparison {
        match self {
            Comparison::Lt => Comparison::Gt,
            Comparison::Le => Comparison::Ge,
            Comparison::Gt => Comparison::Lt,
            Comparison::Ge => Comparison::Le,
            same => same,
        }
    }
}

/// The comparisons in the order in which each kind's operations are listed.
const COMPARISONS: [Comparison; 6] =
    [Comparison::Eq, Comparison::Ne, Comparison::Lt, Comparison::Le, Comparison::Gt, Comparison::Ge];

impl Op {
    /// Which comparison it is, if it is one.
    #[inline]
    pub const fn comparison(self) -> Option<Comparison> {
        match self.family() {
            Family::Comparison => Some(COMPARISONS[(self as usize - Op::IntEq as usize) % 6]),
            _ => None,
        }
    }

    /// Is the result null whenever an argument is? The others look at their arguments themselves.
    #[inline]
    pub const fn is_strict(self) -> bool {
        use Op::*;
        !matches!(
            self,
            Identity
                | MakeRecord
                | RecordIsNull
                | RecordIsNotNull
                | ArrayWithElement
                | ArrayWithSlice
                | ArrayFill
                | EnumFirst
                | EnumLast
                | EnumAll
                | EnumRange
                | ArrayPosition
                | ArrayAppend
                | ArrayPrepend
                | ArrayCat
                | ArrayToString
                | StringToArray
                | ArrayRemove
                | ArrayReplace
                | ArrayPositions
                | QuoteNullable
                | Concat
                | ConcatWs
                | Format
                | NumNulls
                | NumNonnulls
                | Overlaps
                | FormatType
                | JsonbSetLax
                | JsonBuildObject
                | JsonbBuildObject
                | JsonBuildArray
                | JsonbBuildArray
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    #[test]
    fn comparisons_are_listed_in_their_order() {
        let table = [
            (Op::IntEq, Comparison::Eq),
            (Op::IntGe, Comparison::Ge),
            (Op::FloatLt, Comparison::Lt),
            (Op::BoolNe, Comparison::Ne),
            (Op::BytesGt, Comparison::Gt),
            (Op::BpcharLe, Comparison::Le),
            (Op::NumericEq, Comparison::Eq),
            (Op::ArrayGe, Comparison::Ge),
            (Op::IntervalNe, Comparison::Ne),
            (Op::JsonbGt, Comparison::Gt),
        ];
        for (op, comparison) in table {
            assert_eq!(op.comparison(), Some(comparison), "{op:?}");
        }
        assert_eq!((Op::Identity.comparison(), Op::Int2Add.comparison()), (None, None));
    }

    #[test]
    fn comparisons_hold_as_they_say() {
        use Comparison::*;
        for (comparison, less, equal, greater) in [
            (Eq, false, true, false),
            (Ne, true, false, true),
            (Lt, true, false, false),
            (Le, true, true, false),
            (Gt, false, false, true),
            (Ge, false, true, true),
        ] {
            let held = [Ordering::Less, Ordering::Equal, Ordering::Greater].map(|order| comparison.holds(order));
            assert_eq!(held, [less, equal, greater], "{comparison:?}");
            assert_eq!(comparison.flipped().flipped(), comparison);
        }
    }
}
