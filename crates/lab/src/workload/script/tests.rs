//! Whole scripts: what expressions compute, what programs ask the driver for, what errors say.

use super::expression::Expression;
use super::*;
use proptest::prelude::*;
use std::fmt::Write;

/// Expressions with what pgbench 15's `debug()` says of them, with these definitions: x=41, y=1.5, t=yes, n=null, b=off, q=-3,
/// w=words, zero7=007. *Refused* is an error before anything ran, *fails* one while it ran.
const TABLE: &[(&str, &str)] = &[
    ("1 + 2 * 3", "int 7"),
    ("(1 + 2) * 3", "int 9"),
    ("7 / 2", "int 3"),
    ("-7 / 2", "int -3"),
    ("-7 % 3", "int -1"),
    ("7 % -3", "int 1"),
    ("7.0 / 2", "double 3.5"),
    ("7 / 0.0", "double Infinity"),
    ("-(-9223372036854775808)", "fails"),
    ("-9223372036854775808", "int -9223372036854775808"),
    ("9223372036854775807 + 1", "fails"),
    ("-9223372036854775808 - 1", "fails"),
    ("4611686018427387904 * 2", "fails"),
    ("-9223372036854775808 / -1", "fails"),
    ("-9223372036854775808 % -1", "int 0"),
    ("1 / 0", "fails"),
    ("1 % 0", "fails"),
    ("5.5 % 3", "int 0"),
    ("true + 1", "fails"),
    ("1 - - 1", "int 2"),
    ("+ 3", "int 3"),
    ("- 2 * 3", "int -6"),
    ("~ 5", "int -6"),
    ("~ 1 + 2", "int -4"),
    ("~1 | 2", "int -2"),
    ("2 * ~ 1 + 3", "int -10"),
    ("5 | 2 & 3", "int 3"),
    ("5 # 1 # 4", "int 0"),
    ("1 << 3 + 1", "int 16"),
    ("1 << 64", "int 1"),
    ("1 << -1", "int -9223372036854775808"),
    ("-16 >> 2", "int -4"),
    ("1 + 2 << 3", "int 24"),
    ("1 < 2", "boolean true"),
    ("1 > 2", "boolean false"),
    ("2 >= 2", "boolean true"),
    ("2 <= 1", "boolean false"),
    ("1 = 1.0", "boolean true"),
    ("1 <> 1", "boolean false"),
    ("1 != 2", "boolean true"),
    ("1 < 2 = true", "refused"),
    ("true = true", "fails"),
    ("not 1 = 1", "boolean false"),
    ("not true", "boolean false"),
    ("not 1", "fails"),
    ("not null", "null"),
    ("not true or true", "boolean true"),
    ("not false and false", "boolean false"),
    ("true or null", "boolean true"),
    ("null or true", "null"),
    ("null or false", "null"),
    ("null and false", "null"),
    ("null and true", "null"),
    ("false and 1 / 0", "boolean false"),
    ("true or 1 / 0", "boolean true"),
    ("1 or true", "fails"),
    ("null or 1", "null"),
    ("null + 1", "null"),
    ("null is null", "boolean true"),
    ("1 is null", "boolean false"),
    ("1 is not null", "boolean true"),
    ("null isnull", "boolean true"),
    ("1 notnull", "boolean true"),
    ("1 is 1", "refused"),
    ("1 is 1.0", "refused"),
    ("true is true", "boolean true"),
    ("true is not false", "boolean true"),
    ("null = null", "null"),
    ("1 + null is null", "boolean true"),
    ("not null is null", "boolean false"),
    ("case when 1 then 2 else 3 end", "int 2"),
    ("case when 0 then 2 end", "null"),
    ("case when null then 1 when 0.0 then 2 when true then 3 end", "int 3"),
    ("case when true then 1 when 1 / 0 then 2 end", "int 1"),
    ("case when false then 1 else case when true then 5 end end", "int 5"),
    ("abs(-17)", "int 17"),
    ("abs(-17.5)", "double 17.5"),
    ("abs(-9223372036854775808)", "int -9223372036854775808"),
    ("double(5432)", "double 5432"),
    ("double(null)", "null"),
    ("exp(1.0)", "double 2.71828182845905"),
    ("greatest(5, 4, 3, 2)", "int 5"),
    ("greatest(1, 2.5)", "double 2.5"),
    ("greatest(1, null, 3)", "null"),
    ("least(5, 4, 3, 2.1)", "double 2.1"),
    ("least(7)", "int 7"),
    ("least(2, 1)", "int 1"),
    ("least(true, false)", "fails"),
    ("int(5.4 + 3.8)", "int 9"),
    ("int(2.5)", "int 2"),
    ("int(3.5)", "int 4"),
    ("int(-2.5)", "int -2"),
    ("int(1e19)", "fails"),
    ("int(9223372036854775807.0)", "fails"),
    ("int(-9223372036854775808.0)", "int -9223372036854775808"),
    ("int(null)", "null"),
    ("ln(2.718281828459045)", "double 1"),
    ("ln(0)", "double -Infinity"),
    ("pi()", "double 3.14159265358979"),
    ("pow(2.0, 10)", "double 1024"),
    ("power(2, 0.5)", "double 1.4142135623731"),
    ("pow(-8, 1.0 / 3)", "double NaN"),
    ("sqrt(2)", "double 1.4142135623731"),
    ("sqrt(-1)", "double NaN"),
    ("mod(54, 32)", "int 22"),
    ("mod(-5, 3)", "int -2"),
    ("hash(10, 5432)", "int -5817877081768721676"),
    ("hash_fnv1a(10, 5432)", "int -7793829335365542153"),
    ("hash_murmur2(10, 5432)", "int -5817877081768721676"),
    ("hash(-1, -1)", "int 1317380444104773032"),
    ("hash_fnv1a(-1, -1)", "int 9116541788052886162"),
    ("hash_murmur2(0, 0)", "int 8217090173679840641"),
    ("hash_fnv1a(0, 0)", "int -6284781860667377211"),
    ("hash_fnv1a(1234567890123456789, 42)", "int -2851377147739808590"),
    ("hash_murmur2(1234567890123456789, 42)", "int -1700276673394724758"),
    ("hash(null, 1)", "null"),
    ("hash(1.5, 0)", "int -4083905729319787502"),
    ("hash(2.5, 0)", "int -4083905729319787502"),
    ("permute(0, 4, 1)", "int 0"),
    ("permute(1, 4, 1)", "int 1"),
    ("permute(2, 4, 1)", "int 3"),
    ("permute(3, 4, 1)", "int 2"),
    ("permute(17, 4, 1)", "int 1"),
    ("permute(-1, 10, 5432)", "int 7"),
    ("permute(5, 1000000, 7)", "int 102929"),
    ("permute(999999, 1000000, 7)", "int 496846"),
    ("permute(0, 1, 9)", "int 0"),
    ("permute(0, 2, 9)", "int 1"),
    ("permute(1, 3, -9)", "int 1"),
    ("permute(123456789012345678, 9223372036854775807, 5432)", "int 5899250911219322202"),
    ("permute(9223372036854775806, 9223372036854775807, 0)", "int 194753045612947636"),
    ("permute(1, 0, 5)", "fails"),
    ("permute(1, -3, 5)", "fails"),
    ("permute(null, 3, 5)", "null"),
    ("random(5, 5)", "int 5"),
    ("random(5, 4)", "fails"),
    ("random(0, 9223372036854775807)", "fails"),
    ("random(-9223372036854775808, 9223372036854775807)", "fails"),
    ("random_gaussian(1, 10, 1.9)", "fails"),
    ("random_exponential(1, 10, 0)", "fails"),
    ("random_zipfian(1, 10, 1.0)", "fails"),
    ("random_zipfian(1, 10, 1000.5)", "fails"),
    ("random_zipfian(3, 3, 1.5)", "int 3"),
    ("random(1, null)", "null"),
    (".5", "double 0.5"),
    ("5.", "double 5"),
    ("1e3", "double 1000"),
    ("1.5e-3", "double 0.0015"),
    ("1E+2", "double 100"),
    ("123456789.123456789", "double 123456789.123457"),
    ("0.1 + 0.2", "double 0.3"),
    ("1e15", "double 1e+15"),
    ("123456789012345678.0", "double 1.23456789012346e+17"),
    ("1e-5", "double 1e-05"),
    ("1e400", "refused"),
    ("RANDOM(3, 3)", "int 3"),
    ("AbS(-1)", "int 1"),
    ("TRUE AND False", "boolean false"),
    (":x + 1", "int 42"),
    (":x * :y", "double 61.5"),
    (":t", "boolean true"),
    (":n is null", "boolean true"),
    (":n", "null"),
    (":b", "boolean false"),
    (":q", "int -3"),
    (":w", "fails"),
    (":zero7", "int 7"),
    ("1 + :w", "fails"),
    ("1 < 2 < 3", "refused"),
    ("1 +", "refused"),
    ("foo(1)", "refused"),
    ("random(1)", "refused"),
    ("least()", "refused"),
    ("hash(1, 2, 3)", "refused"),
    ("permute(1)", "refused"),
    ("pi(1)", "refused"),
    ("9223372036854775808", "refused"),
    ("99999999999999999999", "refused"),
    ("case when true then 1", "refused"),
    ("case true when true then 1 end", "refused"),
    ("1 $ 2", "refused"),
    ("1 2", "refused"),
    ("()", "refused"),
    ("(1", "refused"),
    ("1)", "refused"),
    ("abs 1", "refused"),
    ("x", "refused"),
    ("is null", "refused"),
    ("1 is", "refused"),
    ("1 is 1 + 1", "refused"),
    ("1 is null is null", "boolean false"),
    ("1 in (2)", "refused"),
    ("1e", "refused"),
    ("1.e5", "double 100000"),
    (":1", "fails"),
    ("1;", "refused"),
];

const DEFINES: &[(&str, &str)] = &[
    ("x", "41"),
    ("y", "1.5"),
    ("t", "yes"),
    ("n", "null"),
    ("b", "off"),
    ("q", "-3"),
    ("w", "words"),
    ("zero7", "007"),
];

fn defines() -> Vec<(String, String)> {
    DEFINES.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
}

fn mix(text: &str) -> Result<Mix> {
    Mix::compile(&[(Source { name: "t.sql", text }, 1)], &defines())
}

fn presets() -> Presets {
    Presets { seed: 7, scale: 10, defines: defines() }
}

/// What a transaction asks for, a line each: statements with their values in the text.
fn run(mix: &Mix, frame: &mut Frame) -> Result<String> {
    let program = &mix.programs[mix.choose(frame)];
    let mut lines = String::new();
    loop {
        match program.next(frame)? {
            Action::Done => return Ok(lines),
            Action::Statement(index) => {
                let mut text = Vec::new();
                program.statements[index].interpolate(frame, &mut text);
                writeln!(lines, "{}", String::from_utf8(text).unwrap()).unwrap();
            }
            other => writeln!(lines, "{other:?}").unwrap(),
        }
    }
}

fn script(text: &str) -> Result<String> {
    let mix = mix(text)?;
    run(&mix, &mut mix.frame(&presets(), 0))
}

#[test]
fn expressions_compute_what_pgbench_computes() {
    for (text, expected) in TABLE {
        let found = match mix(&format!("\\set result {text}")) {
            Err(_) => "refused".to_string(),
            Ok(mix) => {
                let mut frame = mix.frame(&presets(), 0);
                match run(&mix, &mut frame) {
                    Err(_) => "fails".to_string(),
                    Ok(_) => shown(&mix, &frame),
                }
            }
        };
        assert_eq!(&found, expected, "{text}");
    }
}

/// The variable `result` as `debug()` shows values.
fn shown(mix: &Mix, frame: &Frame) -> String {
    let slot = mix.names().clone().slot("result");
    let value = frame.value(slot).unwrap();
    let kind = match value {
        Value::Null => return "null".into(),
        Value::Boolean(_) => "boolean",
        Value::Integer(_) => "int",
        Value::Double(_) => "double",
        Value::Text(_) => "text",
    };
    let mut text = Vec::new();
    value.write_text(&mut text);
    format!("{kind} {}", String::from_utf8(text).unwrap())
}

#[test]
fn programs_ask_for_what_the_script_says() {
    let table = [
        ("select 1;\nselect 2;", "select 1;\nselect 2;\n"),
        ("\\set a 5\nselect ':a', :a, a::int, \":a\", :undefined;", "select '5', 5, a::int, \"5\", :undefined;\n"),
        ("\\set a 5\nselect :::a, '12:34', x:a;", "select :::a, '12:34', x5;\n"),
        ("\\set é 5\nselect :é;", "select 5;\n"),
        ("\\set a null\n\\set b true\n\\set c 1.50\nselect :a, :b, :c, :zero7;", "select NULL, true, 1.5, 007;\n"),
        ("\\if :x > 40\nA;\n\\else\nB;\n\\endif\nC;", "A;\nC;\n"),
        ("\\if :x > 50\nA;\n\\else\nB;\n\\endif\nC;", "B;\nC;\n"),
        ("\\if :x > 50\nA;\n\\endif\nC;", "C;\n"),
        ("\\if false\nA;\n\\elif null\nB;\n\\elif 3\nC;\n\\elif 1\nD;\n\\else\nE;\n\\endif", "C;\n"),
        ("\\if 1\n\\if 0\nA;\n\\else\nB;\n\\endif\n\\else\nC;\n\\endif\nD;", "B;\nD;\n"),
        ("\\if 0\n\\set a 1/0\n\\endif\nA;", "A;\n"),
        ("\\sleep 5 us\n\\sleep 5ms\n\\sleep 2\n\\sleep 1 s", "Sleep(5µs)\nSleep(5ms)\nSleep(2s)\nSleep(1s)\n"),
        ("\\sleep :x ms\n\\sleep :q\n\\sleep :x", "Sleep(41ms)\nSleep(0ns)\nSleep(41s)\n"),
        (
            "\\startpipeline\nA;\n\\syncpipeline\nB;\n\\endpipeline\nC;",
            "StartPipeline\nA;\nSyncPipeline\nB;\nEndPipeline\nC;\n",
        ),
        ("\\SET a \\\n 1 + \\\r\n 2\r\nselect :a;", "select 3;\n"),
        ("select :client_id, :scale, :random_seed;", "select 0, 10, 7;\n"),
    ];
    for (text, expected) in table {
        assert_eq!(script(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn a_transaction_sees_what_the_one_before_left() {
    let mix = mix("\\set x :x + 1\nselect :x;").unwrap();
    let mut frame = mix.frame(&presets(), 0);
    assert_eq!(run(&mix, &mut frame).unwrap(), "select 42;\n");
    assert_eq!(run(&mix, &mut frame).unwrap(), "select 43;\n");
}

#[test]
fn statements_have_a_text_for_each_protocol() {
    let text = "\\set a 5\nUPDATE t SET a = :a, b = ':a' /* :a :b */ WHERE c = :a;\n\\literal\nSELECT :a;\nSELECT :a, :x + :a; -- :a\n\
                SELECT 1 /* note:this */;";
    let mix = mix(text).unwrap();
    let [quoted, literal, plain, note] = &mix.programs[0].statements[..] else { panic!() };
    assert!(quoted.literal && literal.literal && !plain.literal && !note.literal);
    assert!(quoted.parameters.is_empty() && literal.parameters.is_empty());
    assert_eq!(plain.text(Placeholder::Dollar), "SELECT $1, $2 + $3;");
    assert_eq!(plain.text(Placeholder::Question), "SELECT ?, ? + ?;");
    assert_eq!(note.text(Placeholder::Dollar), "SELECT 1 /* note:this */;");
    assert_eq!([quoted.line, literal.line, plain.line, note.line], [2, 4, 5, 6]);
    let mut frame = mix.frame(&presets(), 0);
    let lines = run(&mix, &mut frame).unwrap();
    assert_eq!(
        lines,
        "UPDATE t SET a = 5, b = '5' /* 5 :b */ WHERE c = 5;\nSELECT 5;\nSELECT 5, 41 + 5;\nSELECT 1 /* note:this */;\n"
            .replace(":b", "off")
    );
    let values: Vec<_> = plain.values(&frame).collect();
    assert_eq!(values, [Some(&Value::Integer(5)), Some(&Value::Text("41".into())), Some(&Value::Integer(5))]);
}

#[test]
fn answers_go_into_variables() {
    let mix = mix("select 7 as b \\gset p_\n\\set c :p_b + 1\nselect ':p_b', :c; \\aset\nselect :c;").unwrap();
    let program = &mix.programs[0];
    assert_eq!(program.statements[0].gset, Some(Gset { prefix: "p_".into(), all: false }));
    assert_eq!(program.statements[1].gset, Some(Gset { prefix: String::new(), all: true }));
    assert!(program.statements[1].literal && program.statements[2].gset.is_none());
    let mut frame = mix.frame(&presets(), 0);
    assert_eq!(program.next(&mut frame).unwrap(), Action::Statement(0));
    let gset = program.statements[0].gset.as_ref().unwrap();
    frame.answer(gset, 1, [(&b"b"[..], Some(&b"7"[..]))].into_iter()).unwrap();
    assert_eq!(program.next(&mut frame).unwrap(), Action::Statement(1));
    let mut text = Vec::new();
    program.statements[1].interpolate(&frame, &mut text);
    assert_eq!(text, b"select '7', 8;");
}

#[test]
fn errors_say_where_and_what_would_be_right() {
    let table = [
        ("\\set a 1 +\nselect 1;", "t.sql:1:11: an operand is missing", "\\set a 1 +\n          ^", ""),
        ("A;\n\\set a foo(1)", "t.sql:2:8: unknown function \"foo\"", "\\set a foo(1)\n       ^", "Functions are abs,"),
        (
            "\\set a random(1)",
            "t.sql:1:16: random() takes 2 arguments, not 1",
            "\\set a random(1)\n               ^",
            "",
        ),
        ("\\set a abs()", "t.sql:1:12: abs() takes one argument, not 0", "\\set a abs()\n           ^", ""),
        ("\\set a hash()", "t.sql:1:13: hash() takes 1 or 2 arguments, not 0", "\\set a hash()\n            ^", ""),
        (
            "\\set a 1 < 2 < 3",
            "t.sql:1:14: unexpected \"<\"",
            "\\set a 1 < 2 < 3\n             ^",
            "Comparisons do not chain",
        ),
        ("\\set a (1", "t.sql:1:10: ) is missing here", "\\set a (1\n         ^", ""),
        ("\\set a 1;", "t.sql:1:9: unexpected character \";\"", "\\set a 1;\n        ^", "without a semicolon"),
        ("\\set a 'x'", "t.sql:1:8: unexpected character \"'\"", "\\set a 'x'\n       ^", "texts stand in statements"),
        ("\\set a \\\n 1 + $", "t.sql:2:6: unexpected character \"$\"", " 1 + $\n     ^", ""),
        ("\\set", "t.sql:1:5: a variable's name is missing", "\\set\n    ^", "\\set NAME"),
        ("\\set a", "t.sql:1:7: an operand is missing", "\\set a\n      ^", ""),
        ("\\set 1a 5", "t.sql:1:6: invalid variable name \"1a\"", "\\set 1a 5\n     ^", "\\set NAME"),
        ("\\bogus 1", "t.sql:1:1: invalid command \\bogus", "\\bogus 1\n^", "Commands are"),
        ("\\", "t.sql:1:1: invalid command \\", "\\\n^", "Commands are"),
        (
            "\\setshell a date",
            "t.sql:1:1: \\setshell is not supported",
            "\\setshell a date\n^",
            "would be what is measured",
        ),
        ("A;\n\\if 1\nselect 1;", "t.sql:2:1: \\if without \\endif", "\\if 1\n^", ""),
        ("\\endif", "t.sql:1:1: \\endif without \\if", "\\endif\n^", ""),
        ("\\else", "t.sql:1:1: \\else without \\if", "\\else\n^", ""),
        ("\\if 1\n\\else\n\\elif 2\n\\endif", "t.sql:3:1: \\elif after \\else", "\\elif 2\n^", ""),
        ("\\if 1\n\\else x", "t.sql:2:7: unexpected argument", "\\else x\n      ^", ""),
        ("\\sleep", "t.sql:1:7: a time is missing", "\\sleep\n      ^", "\\sleep NUMBER"),
        (
            "\\sleep 5 parsecs",
            "t.sql:1:10: unrecognized unit of time",
            "\\sleep 5 parsecs\n         ^",
            "\\sleep NUMBER",
        ),
        ("\\sleep ms", "t.sql:1:8: a time must be a whole number", "\\sleep ms\n       ^", "\\sleep NUMBER"),
        ("\\sleep 1 ms more", "t.sql:1:13: unexpected argument", "\\sleep 1 ms more\n            ^", ""),
        ("\\gset", "t.sql:1:1: \\gset must follow an SQL statement", "\\gset\n^", ""),
        ("A;\n\\set a 1\n\\gset", "t.sql:3:1: \\gset must follow an SQL statement", "\\gset\n^", ""),
        ("\\literal\n\\set a 1", "t.sql:1:1: \\literal must stand before an SQL statement", "\\literal\n^", ""),
    ];
    for (text, message, detail, hint) in table {
        let error = mix(text).unwrap_err();
        assert_eq!(error.message(), message, "{text}");
        assert_eq!(error.detail_text(), Some(detail), "{text}");
        assert!(error.hint_text().unwrap_or_default().contains(hint), "{text}: {error}");
    }
    assert_eq!(mix("-- nothing").unwrap_err().message(), "t.sql: the script is empty");
}

#[test]
fn what_fails_while_it_runs_says_the_line() {
    let table = [
        ("A;\n\\set a :zz", "t.sql:2: undefined variable \"zz\""),
        ("\\set a 1/0", "t.sql:1: division by zero"),
        ("\\if 1 or 2\n\\endif", "t.sql:1: cannot coerce int to boolean"),
        ("\\sleep :zz", "t.sql:1: undefined variable \"zz\""),
        ("\\sleep :w", "t.sql:1: malformed variable value: \"words\""),
        ("\\startpipeline\n\\startpipeline", "t.sql:2: there is a pipeline already"),
        ("\\endpipeline", "t.sql:1: there is no pipeline"),
        ("\\startpipeline\nA;", "t.sql: the script ends within a pipeline"),
        ("\\startpipeline\nA \\gset\n\\endpipeline", "t.sql:2: \\gset and \\aset are not allowed in a pipeline"),
    ];
    for (text, message) in table {
        assert_eq!(script(text).unwrap_err().message(), message, "{text}");
    }
}

#[test]
fn scripts_are_chosen_by_their_weights_and_share_variables() {
    let sources = ["\\set a 1", "select ':a';", "B;"].map(|text| Source { name: "s", text });
    let mix = Mix::compile(&[(sources[0], 1), (sources[1], 3), (sources[2], 0)], &[]).unwrap();
    assert!(mix.programs[1].statements[0].literal, "the variable of another script is known");
    let mut frame = mix.frame(&presets(), 3);
    let mut counts = [0; 3];
    for _ in 0..40_000 {
        counts[mix.choose(&mut frame)] += 1;
    }
    assert_eq!(counts[2], 0);
    assert!((9_600..10_400).contains(&counts[0]), "{counts:?}");
    assert!(Mix::compile(&[(sources[0], 0)], &[]).is_err());
    assert!(Mix::compile(&[], &[]).is_err());
    assert_eq!(weighted("a.sql@3").unwrap(), ("a.sql", 3));
    assert_eq!(weighted("a@b.sql@1").unwrap(), ("a@b.sql", 1));
    assert_eq!(weighted("a.sql").unwrap(), ("a.sql", 1));
    assert!(weighted("a@b.sql").is_err());
}

#[test]
fn long_and_deep_expressions_are_refused() {
    let cases =
        ["(".repeat(100_000), "-".repeat(100_000), "not ".repeat(100_000), format!("1{}", " + 1".repeat(100_000))];
    for text in cases {
        let error = mix(&format!("\\set a {text}")).unwrap_err();
        assert!(error.message().contains("more than"), "{error}");
    }
    let long = format!("1{}", " + 1".repeat(400));
    assert_eq!(script(&format!("\\set a {long}\nselect :a;")).unwrap(), "select 401;\n");
}

#[test]
fn an_expression_over_integers_has_no_text_in_it() {
    // A scalar is copied, so an expression that reads no text has nothing to allocate.
    fn copied<T: Copy>() {}
    copied::<value::Scalar>();
    assert!(size_of::<value::Scalar>() <= 16 && size_of::<Expression>() <= 32);
}

fn snippet() -> impl Strategy<Value = String> {
    let words = [
        "\\set a ",
        "\\if ",
        "\\elif ",
        "\\else",
        "\\endif",
        "\\sleep ",
        "\\gset ",
        "\\literal",
        "\\startpipeline",
        "\\endpipeline",
        "\\",
        "\n",
        "\r\n",
        " ",
        ";",
        ":",
        "::",
        ":a",
        "a",
        "é",
        "'",
        "\"",
        "$",
        "$$",
        "$t$",
        "--",
        "/*",
        "*/",
        "(",
        ")",
        ",",
        "+",
        "-",
        "~",
        "*",
        "/",
        "%",
        "<",
        "<<",
        "=",
        "not ",
        "is ",
        "null",
        "case when ",
        " then ",
        " else ",
        " end",
        "and ",
        "random(",
        "hash(",
        "permute(",
        "least(",
        "1",
        "0",
        "5 ms",
        "9223372036854775807",
        "9223372036854775808",
        ".5",
        "1e",
        "e'",
        "select ",
        "0x",
        "\0",
    ];
    prop::collection::vec(
        prop_oneof![8 => prop::sample::select(words.to_vec()).prop_map(str::to_string), 1 => any::<String>()],
        0..40,
    )
    .prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_compiler_or_a_run_panic(text in prop_oneof![any::<String>(), snippet()]) {
        if let Ok(mix) = mix(&text) {
            let mut frame = mix.frame(&presets(), 1);
            for _ in 0..2 {
                let _ = run(&mix, &mut frame);
                frame.restart();
            }
            for statement in mix.programs.iter().flat_map(|program| &program.statements) {
                prop_assert!(!statement.pieces.windows(2).any(|pair| matches!(pair, [Piece::Text(_), Piece::Text(_)])));
                if !statement.literal {
                    let _ = statement.text(Placeholder::Dollar);
                }
            }
        }
    }
}
