//! What is no program is an error, never a panic, wherever the text is cut or a word is missing.

use super::read::read;
use super::tree::{Gives, Kind};
use base::sqlstate;

const PROGRAM: &str =
    "<<a>> DECLARE x CONSTANT integer := 1; r record; t t%ROWTYPE; c t.c%TYPE; d x%TYPE; e text[] NOT NULL = '{}';
BEGIN
  IF x = (CASE WHEN true THEN 1 END) THEN NULL; ELSIF false THEN RETURN; ELSE PERFORM 1; END IF;
  CASE x WHEN 1, 2 THEN NULL; ELSE NULL; END CASE;
  <<l>> FOR i IN REVERSE 10..a.x BY 2 LOOP EXIT l WHEN i = 1; CONTINUE; END LOOP l;
  FOR r IN SELECT a FROM t LOOP INSERT INTO t SELECT r.a; END LOOP;
  FOR r IN EXECUTE 'x' USING 1, 2 LOOP NULL; END LOOP;
  FOREACH d IN ARRAY ARRAY[1, 2] LOOP WHILE true LOOP EXIT; END LOOP; END LOOP;
  SELECT a, b INTO STRICT d, c FROM t; INSERT INTO t VALUES (1) RETURNING a INTO d;
  EXECUTE 'a' || 'b' INTO d USING x, 2; GET DIAGNOSTICS d = ROW_COUNT;
  RAISE NOTICE 'a % %%', x USING HINT = 'h', ERRCODE = '22012'; ASSERT x = 1, 'no'; CALL p(x); COMMIT AND CHAIN;
EXCEPTION WHEN division_by_zero OR SQLSTATE '22000' THEN GET STACKED DIAGNOSTICS c = MESSAGE_TEXT; RAISE;
WHEN OTHERS THEN NULL;
END a;";

#[test]
fn a_program_is_read() {
    let body = read(PROGRAM, "p", Vec::new(), Gives::Procedure).unwrap();
    assert_eq!(body.block.label.as_deref(), Some("a"));
    assert_eq!(body.block.handlers.len(), 2);
    assert!(matches!(body.block.body[0].kind, Kind::If { .. }));
    assert_eq!(body.block.body[0].line, 3);
    assert_eq!(body.block.body.last().map(|last| last.line), Some(11));
}

#[test]
fn what_is_cut_off_is_an_error() {
    for end in 0..PROGRAM.len() - " a;".len() {
        let error = read(&PROGRAM[..end], "p", Vec::new(), Gives::Procedure).map(|_| ()).unwrap_err();
        assert_ne!(error.sqlstate(), sqlstate::INTERNAL_ERROR, "{end}");
    }
}

#[test]
fn a_missing_word_is_no_panic() {
    let words: Vec<&str> = PROGRAM.split_inclusive([' ', '\n', ';', '(', ')', '.']).collect();
    for missing in 0..words.len() {
        let text: String = words.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, word)| *word).collect();
        let _ = read(&text, "p", Vec::new(), Gives::Procedure);
        let doubled: String =
            words.iter().enumerate().flat_map(|(at, word)| [*word].repeat(1 + usize::from(at == missing))).collect();
        let _ = read(&doubled, "p", Vec::new(), Gives::Procedure);
    }
}

#[test]
fn too_deep_is_an_error() {
    let text = "BEGIN ".repeat(10_000);
    assert_eq!(
        read(&text, "p", Vec::new(), Gives::Procedure).map(|_| ()).unwrap_err().sqlstate(),
        sqlstate::STATEMENT_TOO_COMPLEX
    );
    let text = format!("BEGIN {}", "IF true THEN ".repeat(10_000));
    assert_eq!(
        read(&text, "p", Vec::new(), Gives::Procedure).map(|_| ()).unwrap_err().sqlstate(),
        sqlstate::STATEMENT_TOO_COMPLEX
    );
}
