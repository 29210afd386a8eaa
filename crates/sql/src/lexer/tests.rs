//! Tables of texts, with what PostgreSQL 15 makes of them.

use super::literal::{self, Number};
use super::*;
use base::sqlstate;
use proptest::prelude::*;

fn tokens(text: &str) -> Vec<(TokenKind, String)> {
    let mut lexer = Lexer::new(text);
    let mut all = Vec::new();
    loop {
        let token = lexer.next_token().expect(text);
        if token.kind == TokenKind::End {
            return all;
        }
        all.push((token.kind, token.text(text).to_owned()));
    }
}

fn spelled(text: &str) -> String {
    tokens(text).iter().map(|(_, spelling)| spelling.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn texts_split_into_tokens() {
    let table = [
        ("select 1", "select 1"),
        ("a.b,c", "a . b , c"),
        ("1..10", "1 .. 10"),
        ("1.5.5", "1.5 .5"),
        ("1. .5 1e5 1.e-3 .5E+10", "1. .5 1e5 1.e-3 .5E+10"),
        ("x::int4[]", "x :: int4 [ ]"),
        ("a:=b=>c", "a := b => c"),
        ("a=-1", "a = - 1"),
        ("a<=-1", "a <= - 1"),
        ("a@-1", "a @- 1"),
        ("a+-b", "a + - b"),
        ("a+ - +b", "a + - + b"),
        ("a<>b!=c||d", "a <> b != c || d"),
        ("a->>'b'#>c", "a ->> 'b' #> c"),
        ("1-- comment\n-1", "1 - 1"),
        ("1/* a /* b */ c */+2", "1 + 2"),
        ("a*/*c*/b", "a * b"),
        ("a+--c\nb", "a + b"),
        ("$1+$22", "$1 + $22"),
        ("a$b$c", "a$b$c"),
        ("$$a'b$$ $t$ $$ $t$", "$$a'b$$ $t$ $$ $t$"),
        ("'a''b' E'a\\'b' b'01' X'1F' n'x'", "'a''b' E'a\\'b' b'01' X'1F' n'x'"),
        ("'a' 'b'", "'a' 'b'"),
        ("'a'\n'b'", "'a'\n'b'"),
        ("'a' -- c\n  'b' x", "'a' -- c\n  'b' x"),
        ("\"a\"\"b\" ähm \u{a0}x", "\"a\"\"b\" ähm \u{a0}x"),
        ("-- only a comment", ""),
        ("a;b", "a ; b"),
    ];
    for (text, expected) in table {
        assert_eq!(spelled(text), expected, "{text}");
    }
}

#[test]
fn kinds_are_told_apart() {
    use TokenKind::*;
    let table: &[(&str, &[TokenKind])] = &[
        ("a \"b\" 1 1.5 1e5 $1", &[Word, QuotedName, Integer, Decimal, Decimal, Parameter]),
        ("'a' e'b' $$c$$ b'0' x'1' N'd'", &[String, EscapeString, DollarString, BitString, HexString, NationalString]),
        (
            "() [] , ; . .. : :: := => = <=",
            &[
                ParenOpen,
                ParenClose,
                BracketOpen,
                BracketClose,
                Comma,
                Semicolon,
                Dot,
                DotDot,
                Colon,
                ColonColon,
                ColonEquals,
                EqualsGreater,
                Operator,
                Operator,
            ],
        ),
        ("e 'a' u & 'x'", &[Word, String, Word, Operator, String]),
    ];
    for (text, expected) in table {
        let kinds: Vec<_> = tokens(text).iter().map(|(kind, _)| *kind).collect();
        assert_eq!(&kinds, expected, "{text}");
    }
}

#[test]
fn bad_texts_are_refused_as_postgresql_does() {
    let table = [
        ("select 1 /* abc", "unterminated /* comment at or near \"/* abc\"", 10),
        ("select 'abc", "unterminated quoted string at or near \"'abc\"", 8),
        ("select E'abc\\'", "unterminated quoted string at or near \"E'abc\\'\"", 8),
        ("select \"abc", "unterminated quoted identifier at or near \"\"abc\"", 8),
        ("select \"\"", "zero-length delimited identifier at or near \"\"\"\"", 8),
        ("select $x$ab", "unterminated dollar-quoted string at or near \"$x$ab\"", 8),
        ("select $ 1", "syntax error at or near \"$\"", 8),
        ("select a{b", "syntax error at or near \"{\"", 9),
        ("select 12e+", "trailing junk after numeric literal at or near \"12e+\"", 8),
        ("select 123abc", "trailing junk after numeric literal at or near \"123abc\"", 8),
        ("select 0x1F", "trailing junk after numeric literal at or near \"0x1F\"", 8),
        ("select 1_000", "trailing junk after numeric literal at or near \"1_000\"", 8),
        ("select $1a", "trailing junk after parameter at or near \"$1a\"", 8),
        ("select 'ä', {", "syntax error at or near \"{\"", 13),
    ];
    for (text, message, position) in table {
        let mut lexer = Lexer::new(text);
        let error = loop {
            match lexer.next_token() {
                Ok(token) => assert_ne!(token.kind, TokenKind::End, "{text} was accepted"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.message(), message, "{text}");
        assert_eq!(error.sqlstate(), sqlstate::SYNTAX_ERROR, "{text}");
        assert_eq!(error.position(), Some(position), "{text}");
    }
    for text in ["U&'a'", "u&\"a\""] {
        let error = Lexer::new(text).next_token().expect_err(text);
        assert_eq!(error.sqlstate(), sqlstate::FEATURE_NOT_SUPPORTED);
    }
}

#[test]
fn names_are_folded_unquoted_and_cut() {
    let long = "a".repeat(70);
    let long_multibyte = "ä".repeat(40);
    let table = [
        ("Abc", "abc".to_owned()),
        ("ÄBC", "Äbc".to_owned()),
        ("\"Abc\"", "Abc".to_owned()),
        ("\"a\"\"b\"", "a\"b".to_owned()),
        (&long, "a".repeat(63)),
        (&long_multibyte, "ä".repeat(31)),
    ];
    for (text, expected) in table {
        let token = Lexer::new(text).next_token().expect(text);
        assert_eq!(literal::name(text, token), expected, "{text}");
    }
}

#[test]
fn strings_are_decoded() {
    let table = [
        ("'abc'", "abc"),
        ("''", ""),
        ("'a''b'", "a'b"),
        ("'a\\nb'", "a\\nb"),
        ("'a'\n'b'", "ab"),
        ("'a' -- c '\n \t'b'\n'''c'", "ab'c"),
        ("E'a\\nb\\t\\\\\\'c'", "a\nb\t\\'c"),
        ("E'\\b\\f\\r'", "\u{8}\u{c}\r"),
        ("E'\\101\\x42\\x4\\q\\u00e4\\U0001F600'", "AB\u{4}qä😀"),
        ("E'\\ud83d\\ude00'", "😀"),
        ("E'\\xc3\\xa4'", "ä"),
        ("e'a'\n'\\n'", "a\n"),
        ("$$a'b\\n$$", "a'b\\n"),
        ("$x$a$$b$x$", "a$$b"),
        ("$$$$", ""),
        ("B'0101'", "0101"),
        ("N'abc'", "abc"),
    ];
    for (text, expected) in table {
        let token = Lexer::new(text).next_token().expect(text);
        assert_eq!(token.end as usize, text.len(), "{text}");
        assert_eq!(literal::string(text, token).expect(text), expected, "{text}");
    }
}

#[test]
fn bad_escapes_are_refused_as_postgresql_does() {
    let table = [
        ("E'ab\\000c'", sqlstate::CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": 0x00"),
        ("E'ab\\xff'", sqlstate::CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": 0xff"),
        ("E'\\u00zz'", sqlstate::SYNTAX_ERROR, "invalid Unicode escape"),
        ("E'\\ud83d'", sqlstate::SYNTAX_ERROR, "invalid Unicode surrogate pair at or near \"'\""),
        ("E'\\ud83dx'", sqlstate::SYNTAX_ERROR, "invalid Unicode surrogate pair at or near \"x\""),
        ("E'\\ude00'", sqlstate::SYNTAX_ERROR, "invalid Unicode surrogate pair at or near \"\\ude00\""),
        ("E'\\U00110000'", sqlstate::SYNTAX_ERROR, "invalid Unicode escape value at or near \"\\U00110000\""),
        ("E'\\u0000'", sqlstate::SYNTAX_ERROR, "invalid Unicode escape value at or near \"\\u0000\""),
    ];
    for (text, code, message) in table {
        let token = Lexer::new(text).next_token().expect(text);
        let error = literal::string(text, token).expect_err(text);
        assert_eq!((error.sqlstate(), error.message()), (code, message), "{text}");
    }
}

#[test]
fn numbers_have_postgresqls_types() {
    let table = [
        ("0", Number::Int4(0)),
        ("007", Number::Int4(7)),
        ("2147483647", Number::Int4(i32::MAX)),
        ("2147483648", Number::Int8(2_147_483_648)),
        ("9223372036854775807", Number::Int8(i64::MAX)),
        ("9223372036854775808", Number::Numeric),
        ("1.0", Number::Numeric),
        ("1e5", Number::Numeric),
    ];
    for (text, expected) in table {
        assert_eq!(literal::number(text), expected, "{text}");
    }
}

fn key(text: &str) -> String {
    let mut out = Normalised::default();
    normalise(text, 0, Literals::Replace, &mut out).expect(text);
    String::from_utf8(out.key).expect(text)
}

/// One row for each line of the table in the module's head, and the cases around them.
#[test]
fn constants_go_out_or_stay_by_the_rules() {
    let table = [
        // out
        ("SELECT  abalance\tFROM t WHERE aid=5", "select abalance from t where aid = $i "),
        ("select 5000000000, 1.5, 1e5, .5, 'x', E'x', $$x$$", "select $l , $n , $n , $n , $s , $s , $s "),
        ("select -5, a-5, - 2147483647", "select - $i , a - $i , - $i "),
        (
            "insert into t values (1,'a',null),(2,'b',true)",
            "insert into t values ( $i , $s , null ) , ( $i , $s , true ) ",
        ),
        ("update t set a=a+1 where b between 'x' and 'y'", "update t set a = a + $i where b between $s and $s "),
        (
            "delete from t where a in (1,2) or b like 'x%' escape '!'",
            "delete from t where a in ( $i , $i ) or b like $s escape $s ",
        ),
        ("with x as (select 1) select * from x", "with x as ( select $i ) select * from x "),
        ("with x as materialized (select 1) select 2", "with x as materialized ( select $i ) select $i "),
        ("(select 1)", "( select $i ) "),
        ("select case when a then 'x' else 'y' end", "select case when a then $s else $s end "),
        ("select 'a'::date, '5' :: int4", "select $s :: date , $s :: int4 "),
        ("select f(10,2), left('abc',2), a[1]", "select f ( $i , $i ) , left ( $s , $i ) , a [ $i ] "),
        ("select 1 from t offset 5", "select $i from t offset $i "),
        (
            "select sum(x) over (partition by a order by b rows 5 preceding)",
            "select sum ( x ) over ( partition by a order by b rows $i preceding ) ",
        ),
        ("select a from t order by a + 1", "select a from t order by a + $i "),
        ("select count(*) as n from t where x in (1,2)", "select count ( * ) as n from t where x in ( $i , $i ) "),
        (
            "select 1 as n, f(2) from t as u join v on (u.a = 5)",
            "select $i as n , f ( $i ) from t as u join v on ( u . a = $i ) ",
        ),
        ("insert into t as u values (1)", "insert into t as u values ( $i ) "),
        // stays: not a query
        ("SET x = 5", "set x = 5 "),
        ("create table t (a int default 5)", "create table t ( a int default 5 ) "),
        ("explain select 5", "explain select 5 "),
        ("begin", "begin "),
        // stays: ordinals
        ("select a,b from t order by 1, 2 desc, 'x'", "select a , b from t order by 1 , 2 desc , 'x' "),
        ("select a from t order by (1), a + 2, 3", "select a from t order by ( 1 ) , a + $i , 3 "),
        (
            "select a from t order by (select x from u order by 1 limit 7), 2",
            "select a from t order by ( select x from u order by 1 limit 7 ) , 2 ",
        ),
        (
            "select a,count(*) from t group by 1 having count(*) > 5",
            "select a , count ( * ) from t group by 1 having count ( * ) > $i0 ",
        ),
        (
            "select a from t group by rollup(1,2), cube ((1),2)",
            "select a from t group by rollup ( 1 , 2 ) , cube ( ( 1 ) , 2 ) ",
        ),
        (
            "select a from t group by grouping sets ((1),(1,2))",
            "select a from t group by grouping sets ( ( 1 ) , ( 1 , 2 ) ) ",
        ),
        ("select (select a from t order by 1), 2", "select ( select a from t order by 1 ) , $i "),
        // stays: limit
        ("select a from t where b = 3 limit 10 offset 20", "select a from t where b = $i limit 10 offset $i "),
        ("select a from t fetch first 5 rows only", "select a from t fetch first 5 rows only "),
        // stays: modifiers
        ("select x::char(22), y::numeric(10,2) + 1", "select x :: char ( 22 ) , y :: numeric ( 10 , 2 ) + $i "),
        (
            "select cast(5 as varchar(3)), cast(a as character varying(10))",
            "select cast ( $i as varchar ( 3 ) ) , cast ( a as character varying ( 10 ) ) ",
        ),
        (
            "select 'x'::pg_catalog.varchar(3), 'y'::\"bpchar\"(4)",
            "select $s :: pg_catalog . varchar ( 3 ) , $s :: \"bpchar\" ( 4 ) ",
        ),
        (
            "select * from f(1) as t(a numeric(10,2), b text)",
            "select * from f ( $i ) as t ( a numeric ( 10 , 2 ) , b text ) ",
        ),
        // stays: typed constants
        (
            "select interval '1 day', date '2020-01-01', timestamp(3) 'x', point '(1,2)'",
            "select interval '1 day' , date '2020-01-01' , timestamp ( 3 ) 'x' , point '(1,2)' ",
        ),
        (
            "select now() at time zone 'UTC', double precision '1'",
            "select now ( ) at time zone 'UTC' , double precision '1' ",
        ),
        ("select \"myType\" 'x'", "select \"myType\" 'x' "),
        (
            "select extract('year' from d), extract(year from date '2020-01-01')",
            "select extract ( 'year' from d ) , extract ( year from date '2020-01-01' ) ",
        ),
        (
            "select 't'::regclass, 'u' :: pg_catalog.regtype, 'v'::text",
            "select 't' :: regclass , 'u' :: pg_catalog . regtype , $s :: text ",
        ),
        // stays: the smallest integers
        ("select -2147483648, - 9223372036854775808, 2147483648", "select - 2147483648 , - 9223372036854775808 , $l "),
        // stays: other constants
        ("select B'101', x'1F', n'a', null, true, $1", "select B'101' , x'1F' , n'a' , null , true , $1 "),
        // names keep their meaning
        ("select \"A\" from T", "select \"A\" from t "),
        // equal constants share where it matters
        (
            "select a+1, 2, 01 from t group by a+1, 'x' || b, 'x'",
            "select a + $i0 , $i1 , $i0 from t group by a + $i0 , 'x' || b , 'x' ",
        ),
        ("select distinct 'a', 'a', 'b'", "select distinct $s0 , $s0 , $s1 "),
    ];
    for (text, expected) in table {
        assert_eq!(key(text), expected, "{text}");
    }
}

#[test]
fn texts_that_differ_in_constants_only_share_a_key() {
    let mut first = Normalised::default();
    let mut second = Normalised::default();
    let one = "SELECT abalance FROM pgbench_accounts WHERE aid = 17;";
    let two = "select  abalance from PGBENCH_accounts -- c\n where aid=4711";
    normalise(one, 0, Literals::Replace, &mut first).expect(one);
    normalise(two, 0, Literals::Replace, &mut second).expect(two);
    assert_eq!((first.hash, &first.key), (second.hash, &second.key));
    assert_eq!(&one[first.start..first.end], "SELECT abalance FROM pgbench_accounts WHERE aid = 17");
    assert_eq!(first.literals[0].as_token().text(one), "17");
    assert_eq!(second.literals[0].as_token().text(two), "4711");
    normalise(one, 0, Literals::Keep, &mut second).expect(one);
    assert_ne!(first.hash, second.hash);
    assert_eq!(second.literals, []);
}

#[test]
fn the_hash_does_not_depend_on_the_process() {
    let mut out = Normalised::default();
    normalise("select abalance from pgbench_accounts where aid = 1", 0, Literals::Replace, &mut out)
        .expect("normalise");
    assert_eq!(out.hash, PINNED);
}

const PINNED: u64 = 14_477_025_590_407_023_287;

#[test]
fn a_text_splits_at_semicolons_outside_parentheses() {
    let text = " ; select 'a;b' ; /* ; */ insert into t values (1;2); select $2 + $1";
    let mut out = Normalised::default();
    let mut seen = Vec::new();
    let mut at = 0;
    while at < text.len() {
        normalise(text, at, Literals::Replace, &mut out).expect(text);
        seen.push((out.head, text[out.start..out.end].to_owned(), out.parameters));
        assert!(out.next > at);
        at = out.next;
    }
    assert_eq!(
        seen,
        [
            (Head::Empty, String::new(), 0),
            (Head::Query, "select 'a;b'".to_owned(), 0),
            (Head::Query, "insert into t values (1;2)".to_owned(), 0),
            (Head::Query, "select $2 + $1".to_owned(), 2),
        ]
    );
}

#[test]
fn bulk_statements_keep_their_constants() {
    let values = vec!["(1, 'x')"; LITERALS_OVER].join(", ");
    let text = format!("insert into t values {values}");
    let mut out = Normalised::default();
    normalise(&text, 0, Literals::Replace, &mut out).expect("normalise");
    assert_eq!((out.literals.len(), out.slots), (0, 0));
    assert!(out.key.ends_with(b"( 1 , 'x' ) "));
    let deep = format!("select {}5{}, 6", "(".repeat(70), ")".repeat(70));
    assert!(key(&deep).contains(" 5 ") && key(&deep).ends_with(", $i "));
}

const LITERALS_OVER: usize = super::normalise::LITERALS_MAX / 2 + 1;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Any text gives an answer, spans on character boundaries, and the same literals as the lexer finds.
    #[test]
    fn any_text_gives_an_answer(text in "[a-e'\"$0-9 .,;:()\\[\\]+*/<>=\\-\\\\äE\n_]{0,60}") {
        let mut out = Normalised::default();
        let prefixed = format!("select {text}");
        let mut at = 0;
        while at < prefixed.len() {
            if normalise(&prefixed, at, Literals::Replace, &mut out).is_err() {
                break;
            }
            prop_assert!(out.next > at && prefixed.is_char_boundary(out.next));
            for literal in &out.literals {
                let token = literal.as_token();
                let again = Lexer::starting_at(&prefixed, token.start as usize).next_token();
                prop_assert_eq!(again.ok(), Some(token));
                if literal.kind == LiteralKind::Unknown {
                    let _ = literal::string(&prefixed, token);
                }
            }
            at = out.next;
        }
    }

    /// Words of any length, anywhere in the text, are folded whole.
    #[test]
    fn words_are_folded(words in proptest::collection::vec("[a-cA-C_äÖ][a-zA-Z0-9_$äÖ]{0,20}", 1..4)) {
        let text = format!("x {}", words.join(" "));
        prop_assert_eq!(key(&text), format!("{} ", text.to_ascii_lowercase()));
    }

    /// Only constants change, so the key does not.
    #[test]
    fn a_key_is_a_function_of_the_shape(a in 0..i32::MAX, b in "[a-z' ]{0,9}", c in 0..i32::MAX, d in "[a-z' ]{0,9}") {
        let text = |number: i32, string: &str| {
            format!("select x + {number} from t where y = '{}' limit 3", string.replace('\'', "''"))
        };
        prop_assert_eq!(key(&text(a, &b)), key(&text(c, &d)));
    }
}

#[test]
fn a_body_of_statements_is_a_part_of_its_statement() {
    let text = "create function f() returns int begin atomic select 1; select case when true then 2 end; end; select 3";
    let mut normalised = Normalised::default();
    normalise(text, 0, Literals::Keep, &mut normalised).unwrap();
    assert!(text[normalised.start..normalised.end].ends_with("end; end"));
    assert_eq!(text[normalised.next..].trim(), "select 3");
    // What only looks like one ends at its semicolon.
    let text = "create table atomic (begin int); select 1";
    normalise(text, 0, Literals::Keep, &mut normalised).unwrap();
    assert_eq!(text[normalised.next..].trim(), "select 1");
}
