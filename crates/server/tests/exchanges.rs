//! Exchanges of messages, byte for byte where drivers depend on it: what is answered, in which order, and that every `Sync` and every
//! simple query has one `ReadyForQuery`. What is expected is what PostgreSQL answers: `AGAINST=5432` asks the one on that port instead.
//!
//! An answer is written in one line, a word for each message: its letter and what is in it that matters.
//!
//! ```text
//!   T[a:23,b:25b]   columns with the numbers of their types, b behind one that is written in binary
//!   t[23]           the types of parameters          D[1,-,x01]   a row: null is -, what is no text is hexadecimal
//!   C[SELECT_1]     done                             E[22012]     an error; N[01000] a notice
//!   1 2 3 s n I G H c  as the protocol has them      Z[I]         ready
//! ```

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use support::server::{MODELS, Server};

fn on_servers(test: impl Fn(&str, u16)) {
    if let Some(port) = std::env::var("AGAINST").ok().and_then(|port| port.parse().ok()) {
        return test("PostgreSQL", port);
    }
    for model in MODELS {
        for moving in [false, true] {
            let server = Server::start(model, moving);
            test(&format!("{}, moving {moving}", model.name()), server.port());
            server.stop();
        }
    }
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), b"\0"].concat()
}

fn query(statement: &str) -> Vec<u8> {
    message(b'Q', &text(statement))
}

fn parse(name: &str, statement: &str) -> Vec<u8> {
    message(b'P', &[text(name), text(statement), vec![0, 0]].concat())
}

/// `Parse` that says its parameters' types.
fn parse_typed(name: &str, statement: &str, types: &[u32]) -> Vec<u8> {
    let mut body = [text(name), text(statement)].concat();
    body.extend((types.len() as u16).to_be_bytes());
    types.iter().for_each(|oid| body.extend(oid.to_be_bytes()));
    message(b'P', &body)
}

/// `Bind` with parameters in text, and formats of results: 0 for text, 1 for binary.
fn bind(portal: &str, statement: &str, values: &[&str], results: &[u8]) -> Vec<u8> {
    let mut body = [text(portal), text(statement), vec![0, 0]].concat();
    body.extend((values.len() as u16).to_be_bytes());
    for value in values {
        body.extend((value.len() as u32).to_be_bytes());
        body.extend(value.as_bytes());
    }
    body.extend((results.len() as u16).to_be_bytes());
    results.iter().for_each(|format| body.extend([0, *format]));
    message(b'B', &body)
}

fn describe(kind: u8, name: &str) -> Vec<u8> {
    message(b'D', &[vec![kind], text(name)].concat())
}

fn execute(portal: &str, most: u32) -> Vec<u8> {
    message(b'E', &[text(portal), most.to_be_bytes().to_vec()].concat())
}

fn close(kind: u8, name: &str) -> Vec<u8> {
    message(b'C', &[vec![kind], text(name)].concat())
}

/// `Parse`, `Bind` and `Execute` of a statement without parameters.
fn run(statement: &str) -> Vec<u8> {
    [parse("", statement), bind("", "", &[], &[]), execute("", 0)].concat()
}

fn sync() -> Vec<u8> {
    message(b'S', b"")
}

fn connect(port: u16) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the server takes connections");
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let body = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    stream.write_all(&[&(body.len() as u32 + 4).to_be_bytes()[..], body].concat()).unwrap();
    answers(&mut stream, 1);
    stream
}

/// A cursor over an answer's body.
struct Body<'b>(&'b [u8]);

impl<'b> Body<'b> {
    fn take(&mut self, count: usize) -> &'b [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    fn long(&mut self) -> i32 {
        i32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    fn text(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).expect("a string ends");
        let taken = self.take(end + 1);
        String::from_utf8_lossy(&taken[..end]).into_owned()
    }
}

/// One message in words; none for what does not matter here.
fn shown(tag: u8, body: &[u8]) -> Option<String> {
    let mut body = Body(body);
    let words = match tag {
        b'T' => {
            let column = |body: &mut Body<'_>| {
                let name = body.text();
                body.take(6);
                let oid = body.long();
                body.take(6);
                format!("{name}:{oid}{}", if body.short() == 1 { "b" } else { "" })
            };
            (0..body.short()).map(|_| column(&mut body)).collect::<Vec<_>>().join(",")
        }
        b't' => (0..body.short()).map(|_| body.long().to_string()).collect::<Vec<_>>().join(","),
        b'D' => {
            let value = |body: &mut Body<'_>| match body.long() {
                -1 => "-".to_owned(),
                length => {
                    let bytes = body.take(length as usize);
                    match bytes.iter().all(|byte| byte.is_ascii_graphic()) {
                        true => String::from_utf8_lossy(bytes).into_owned(),
                        false => bytes.iter().fold("x".to_owned(), |all, byte| format!("{all}{byte:02x}")),
                    }
                }
            };
            (0..body.short()).map(|_| value(&mut body)).collect::<Vec<_>>().join(",")
        }
        b'C' => body.text().replace(' ', "_"),
        b'E' | b'N' => loop {
            match body.take(1)[0] {
                b'C' => break body.text(),
                0 => break "no SQLSTATE".to_owned(),
                _ => drop(body.text()),
            }
        },
        b'Z' => String::from_utf8_lossy(body.0).into_owned(),
        b'S' | b'R' | b'K' => return None,
        _ => return Some((tag as char).to_string()),
    };
    Some(format!("{}[{words}]", tag as char))
}

/// What comes up to that many `ReadyForQuery`.
fn answers(stream: &mut TcpStream, ready: usize) -> String {
    let mut words = Vec::new();
    let mut seen = 0;
    while seen < ready {
        let mut head = [0; 5];
        if let Err(error) = stream.read_exact(&mut head) {
            words.push(format!("({error})"));
            break;
        }
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4;
        let mut body = vec![0; length];
        stream.read_exact(&mut body).expect("an answer comes whole");
        seen += usize::from(head[0] == b'Z');
        words.extend(shown(head[0], &body));
    }
    words.join(" ")
}

/// What is sent at once, and what is answered.
type Exchange = (Vec<Vec<u8>>, &'static str);

/// All exchanges of one session, one after another; behind each nothing is left over.
fn check(exchanges: &[Exchange]) {
    on_servers(|name, port| {
        let mut stream = connect(port);
        for (at, (messages, expected)) in exchanges.iter().enumerate() {
            stream.write_all(&messages.concat()).unwrap();
            let got = answers(&mut stream, expected.matches("Z[").count());
            let place = format!("{name}, exchange {at}: {}", String::from_utf8_lossy(&messages.concat()));
            assert_eq!(got, *expected, "{place}");
            stream.write_all(&message(b'H', b"")).unwrap();
            stream.write_all(&query("select 'nothing'::text as left")).unwrap();
            let rest = answers(&mut stream, 1);
            let status = &expected[expected.len() - 3..];
            let none = match status {
                "[E]" => "E[25P02] Z[E]".to_owned(),
                status => format!("T[left:25] D[nothing] C[SELECT_1] Z{status}"),
            };
            assert_eq!(rest, none, "{place}: what is left");
        }
    });
}

const TABLE: &str =
    "set client_min_messages = warning; drop table if exists x; create table x (a int primary key, b text)";

#[test]
fn malformed_messages_have_one_answer() {
    let copy = || query("copy x from stdin");
    let copied = |data: &str| message(b'd', data.as_bytes());
    check(&[
        (vec![query(TABLE)], "C[SET] C[DROP_TABLE] C[CREATE_TABLE] Z[I]"),
        // A `Sync` that is malformed is answered, and ends the passing over.
        (vec![message(b'S', b"zz"), query("select 2 as a")], "E[08P01] Z[I] T[a:23] D[2] C[SELECT_1] Z[I]"),
        (vec![parse("", "select nothing"), run("select 1"), message(b'S', b"z")], "E[42703] E[08P01] Z[I]"),
        (vec![query("begin"), message(b'S', b"z"), query("rollback")], "C[BEGIN] Z[T] E[08P01] Z[E] C[ROLLBACK] Z[I]"),
        (vec![message(b'H', b"z"), sync()], "E[08P01] Z[I]"),
        // Outside a copy its messages mean nothing, whatever is in them.
        (
            vec![message(b'c', b"zz"), message(b'f', b""), message(b'd', b"q"), query("select 1 as a")],
            "T[a:23] D[1] C[SELECT_1] Z[I]",
        ),
        (
            vec![parse("", "select 1 as a"), message(b'f', b"z"), bind("", "", &[], &[]), execute("", 0), sync()],
            "1 2 D[1] C[SELECT_1] Z[I]",
        ),
        // In one, what ends it is taken whole.
        (vec![copy(), copied("1\ta\n"), message(b'c', b"zz")], "G C[COPY_1] Z[I]"),
        (vec![copy(), copied("2\ta\n"), message(b'f', b"")], "G E[08P01] Z[I]"),
        (vec![copy(), copied("2\ta\n"), message(b'f', b"no\0zz")], "G E[57014] Z[I]"),
        (vec![copy(), copied("2\ta\n"), message(b'f', b"\xff\0")], "G E[22021] Z[I]"),
        (
            vec![copy(), message(b'S', b"zz"), message(b'H', b"z"), copied("3\ta\n"), message(b'c', b"")],
            "G C[COPY_1] Z[I]",
        ),
        (vec![copy(), copied("1\ta\n"), message(b'c', b""), copied("4\tb\n"), message(b'c', b"")], "G E[23505] Z[I]"),
        (
            vec![copy(), copied("x\ta\n"), copied("4\tb\n"), message(b'c', b""), query("select a from x order by a")],
            "G E[22P02] Z[I] T[a:23] D[1] D[3] C[SELECT_2] Z[I]",
        ),
        (
            vec![run("copy x from stdin"), copied("5\ta\n"), message(b'f', b""), run("select 1"), sync()],
            "1 2 G E[08P01] Z[I]",
        ),
        (vec![run("copy x from stdin"), copied("5\ta\n"), message(b'c', b"z"), sync()], "1 2 G C[COPY_1] Z[I]"),
        (vec![query("drop table x")], "C[DROP_TABLE] Z[I]"),
    ]);
}

#[test]
fn unnamed_statements_and_portals_are_apart() {
    check(&[
        (vec![query(TABLE)], "C[SET] C[DROP_TABLE] C[CREATE_TABLE] Z[I]"),
        // A statement that takes the unnamed one's place, or its end, leaves the portal as it is.
        (
            vec![
                query("insert into x select i, 't' from generate_series(1, 5) i"),
                parse("", "select a from x order by a"),
                bind("", "", &[], &[]),
                execute("", 2),
                parse("", "select 7 as b"),
                execute("", 1),
                close(b'S', ""),
                execute("", 1),
                describe(b'P', ""),
                sync(),
            ],
            "C[INSERT_0_5] Z[I] 1 2 D[1] D[2] s 1 D[3] s 3 D[4] s T[a:23] Z[I]",
        ),
        (vec![query("drop table x")], "C[DROP_TABLE] Z[I]"),
    ]);
}

#[test]
fn a_block_begins_with_the_words_that_were_said() {
    on_servers(|name, port| {
        let mut stream = connect(port);
        let begun = [query("start transaction read only"), query("commit"), query("begin transaction"), query("end")];
        let expected = "C[START_TRANSACTION] Z[T] C[COMMIT] Z[I] C[BEGIN] Z[T] C[COMMIT] Z[I]";
        stream.write_all(&begun.concat()).unwrap();
        assert_eq!(answers(&mut stream, 4), expected, "{name}");
    });
}

#[test]
fn statements_that_begin_and_end_blocks_are_executed_again() {
    let named = |name: &str| [bind("", name, &[], &[]), execute("", 0), sync()].concat();
    check(&[
        (
            vec![
                parse("b", "begin"),
                parse("m", "start transaction read only"),
                parse("c", "commit"),
                parse("n", "end and chain"),
                parse("r", " rollback ;"),
                describe(b'S', "b"),
                describe(b'S', "r"),
                sync(),
            ],
            "1 1 1 1 1 t[] n t[] n Z[I]",
        ),
        (
            vec![named("b"), named("c"), named("b"), named("r")],
            "2 C[BEGIN] Z[T] 2 C[COMMIT] Z[I] 2 C[BEGIN] Z[T] 2 C[ROLLBACK] Z[I]",
        ),
        (vec![named("m"), named("n"), named("c")], "2 C[START_TRANSACTION] Z[T] 2 C[COMMIT] Z[T] 2 C[COMMIT] Z[I]"),
        // Formats of columns that are not there, a limit of rows that are not there, and a portal that has been executed.
        (
            vec![bind("p", "b", &[], &[0, 1]), describe(b'P', "p"), execute("p", 1), execute("p", 0), sync()],
            "2 n C[BEGIN] E[55000] Z[E]",
        ),
        // What is prepared does not depend on how the transaction stands, what is executed does.
        (vec![named("b"), named("n"), named("r")], "E[25P02] Z[E] 2 C[ROLLBACK] Z[T] 2 C[ROLLBACK] Z[I]"),
        (
            vec![named("c"), named("b"), named("b"), query("selec"), named("c")],
            "2 N[25P01] C[COMMIT] Z[I] 2 C[BEGIN] Z[T] 2 N[25001] C[BEGIN] Z[T] E[42601] Z[E] 2 C[ROLLBACK] Z[I]",
        ),
        (
            vec![
                query("begin; selec"),
                query("begin"),
                query("select nothing"),
                parse("f", "rollback"),
                sync(),
                named("f"),
            ],
            "E[42601] Z[I] C[BEGIN] Z[T] E[42703] Z[E] 1 Z[E] 2 C[ROLLBACK] Z[I]",
        ),
        (vec![query("begin"), named("f"), named("f")], "C[BEGIN] Z[T] 2 C[ROLLBACK] Z[I] 2 N[25P01] C[ROLLBACK] Z[I]"),
    ]);
}

/// What may not be executed in a transaction that failed is not used up by the try, and goes on from the savepoint.
#[test]
fn a_portal_that_a_failed_transaction_refuses_stays() {
    let refused = |statement: &str| {
        vec![
            query("begin"),
            parse("t", statement),
            bind("p", "t", &[], &[]),
            query("savepoint s"),
            query("selec"),
            execute("p", 0),
            sync(),
            query("rollback to s"),
            execute("p", 0),
            sync(),
            query("rollback"),
            [close(b'S', "t"), sync()].concat(),
        ]
    };
    check(&[
        (
            refused("begin"),
            "C[BEGIN] Z[T] 1 2 C[SAVEPOINT] Z[T] E[42601] Z[E] E[25P02] Z[E] C[ROLLBACK] Z[T] N[25001] C[BEGIN] Z[T] C[ROLLBACK] Z[I] 3 Z[I]",
        ),
        (
            refused("listen nobody"),
            "C[BEGIN] Z[T] 1 2 C[SAVEPOINT] Z[T] E[42601] Z[E] E[25P02] Z[E] C[ROLLBACK] Z[T] C[LISTEN] Z[T] C[ROLLBACK] Z[I] 3 Z[I]",
        ),
        (
            refused("select 1"),
            "C[BEGIN] Z[T] 1 2 C[SAVEPOINT] Z[T] E[42601] Z[E] E[25P02] Z[E] C[ROLLBACK] Z[T] D[1] C[SELECT_1] Z[T] C[ROLLBACK] Z[I] 3 Z[I]",
        ),
        (
            vec![
                query("begin"),
                parse("r", "rollback"),
                bind("p", "r", &[], &[]),
                query("selec"),
                execute("p", 0),
                sync(),
                query("rollback"),
            ],
            "C[BEGIN] Z[T] 1 2 E[42601] Z[E] E[25P02] Z[E] C[ROLLBACK] Z[I]",
        ),
    ]);
}

/// Types of parameters that are said stay, also where nothing uses them.
#[test]
fn parameters_that_nothing_uses_have_to_be_brought() {
    check(&[
        (vec![parse_typed("b", "begin", &[23, 25]), describe(b'S', "b"), sync()], "1 t[23,25] n Z[I]"),
        (vec![bind("", "b", &[], &[]), sync()], "E[08P01] Z[I]"),
        (vec![bind("", "b", &["1"], &[]), sync()], "E[08P01] Z[I]"),
        (vec![bind("", "b", &["x", "y"], &[]), sync()], "E[22P02] Z[I]"),
        (
            vec![bind("", "b", &["1", "y"], &[]), execute("", 0), sync(), query("rollback")],
            "2 C[BEGIN] Z[T] C[ROLLBACK] Z[I]",
        ),
        (vec![parse_typed("v", "show work_mem", &[23]), describe(b'S', "v"), sync()], "1 t[23] T[work_mem:25] Z[I]"),
        (vec![bind("", "v", &["7"], &[]), sync(), bind("", "v", &[], &[]), sync()], "2 Z[I] E[08P01] Z[I]"),
        (
            vec![parse_typed("e", "", &[23]), describe(b'S', "e"), bind("", "e", &["7"], &[]), execute("", 0), sync()],
            "1 t[23] n 2 I Z[I]",
        ),
        (vec![parse_typed("u", "commit", &[23, 0]), sync()], "E[42P18] Z[I]"),
        (vec![parse_typed("u", "commit", &[705]), sync()], "E[42P18] Z[I]"),
        (vec![parse_typed("u", "", &[0]), sync()], "1 Z[I]"),
    ]);
}

#[test]
fn a_simple_query_takes_the_unnamed_portal() {
    on_servers(|name, port| {
        let mut stream = connect(port);
        for (messages, expected) in [
            (
                vec![query("begin"), parse("", "select 1 as a"), bind("", "", &[], &[]), sync()],
                "C[BEGIN] Z[T] 1 2 Z[T]",
            ),
            (vec![query("select 2 as b"), execute("", 0), sync()], "T[b:23] D[2] C[SELECT_1] Z[T] E[34000] Z[E]"),
            (
                vec![
                    query("rollback"),
                    parse("", "select 1 as a"),
                    query("select 3 as c"),
                    bind("", "", &[], &[]),
                    sync(),
                ],
                "C[ROLLBACK] Z[I] 1 T[c:23] D[3] C[SELECT_1] Z[I] E[26000] Z[I]",
            ),
        ] {
            stream.write_all(&messages.concat()).unwrap();
            assert_eq!(answers(&mut stream, expected.matches("Z[").count()), expected, "{name}");
        }
    });
}

#[test]
fn statements_that_are_not_planned_give_rows_as_they_are_wanted() {
    let fetch = |most: u32| execute("f", most);
    check(&[
        (
            vec![query(TABLE), query("insert into x select i, 't' || i from generate_series(1, 5) i")],
            "C[SET] C[DROP_TABLE] C[CREATE_TABLE] Z[I] C[INSERT_0_5] Z[I]",
        ),
        (
            vec![
                parse("", "show work_mem"),
                bind("", "", &[], &[1]),
                describe(b'P', ""),
                execute("", 1),
                execute("", 1),
                execute("", 0),
                sync(),
            ],
            "1 2 T[work_mem:25b] D[4MB] s C[SHOW] C[SHOW] Z[I]",
        ),
        (
            vec![parse("", "show work_mem"), bind("", "", &[], &[]), execute("", 0), execute("", 0), sync()],
            "1 2 D[4MB] C[SHOW] C[SHOW] Z[I]",
        ),
        (
            vec![query("begin; declare c scroll cursor for select a, b from x order by a")],
            "C[BEGIN] C[DECLARE_CURSOR] Z[T]",
        ),
        (
            vec![
                parse("f", "fetch 3 from c"),
                describe(b'S', "f"),
                bind("f", "f", &[], &[1, 0]),
                describe(b'P', "f"),
                fetch(2),
                fetch(2),
                fetch(2),
                sync(),
            ],
            "1 t[] T[a:23,b:25] 2 T[a:23b,b:25] D[x00000001,t1] D[x00000002,t2] s D[x00000003,t3] C[FETCH_1] C[FETCH_0] Z[T]",
        ),
        (vec![bind("", "f", &[], &[1]), execute("", 0), sync()], "2 D[x00000004,t4] D[x00000005,t5] C[FETCH_2] Z[T]"),
        (
            vec![
                parse("m", "move backward 2 from c"),
                bind("", "m", &[], &[1]),
                describe(b'P', ""),
                execute("", 1),
                sync(),
            ],
            "1 2 n C[MOVE_2] Z[T]",
        ),
        // A cursor's own format counts for a simple query only.
        (
            vec![query("declare d binary cursor for select a from x order by a; fetch 1 from d")],
            "C[DECLARE_CURSOR] T[a:23b] D[x00000001] C[FETCH_1] Z[T]",
        ),
        (
            vec![parse("", "fetch 1 from d"), bind("", "", &[], &[]), describe(b'P', ""), execute("", 0), sync()],
            "1 2 T[a:23] D[2] C[FETCH_1] Z[T]",
        ),
        (vec![parse("p", "select a, b from x order by a"), bind("p", "p", &[], &[1]), sync()], "1 2 Z[T]"),
        (
            vec![
                parse("", "fetch 2 from p"),
                bind("", "", &[], &[0, 1]),
                execute("", 1),
                execute("", 1),
                execute("p", 1),
                sync(),
            ],
            "1 2 D[1,t1] s D[2,t2] s D[x00000003,t3] s Z[T]",
        ),
        (vec![bind("", "f", &[], &[1, 0, 1]), sync()], "E[08P01] Z[E]"),
        (vec![query("rollback")], "C[ROLLBACK] Z[I]"),
        (
            vec![
                query("prepare e as select a, b from x where a > $1 order by a"),
                parse("e2", "execute e(2)"),
                bind("q", "e2", &[], &[1]),
                describe(b'P', "q"),
                execute("q", 2),
                execute("q", 2),
                execute("q", 2),
                sync(),
            ],
            "C[PREPARE] Z[I] 1 2 T[a:23b,b:25b] D[x00000003,t3] D[x00000004,t4] s D[x00000005,t5] C[SELECT_1] C[SELECT_0] Z[I]",
        ),
        (
            vec![query("create or replace procedure half(inout n int) language plpgsql as 'begin n := n / 2; end'")],
            "C[CREATE_PROCEDURE] Z[I]",
        ),
        (
            vec![
                parse("", "call half(84)"),
                describe(b'S', ""),
                bind("", "", &[], &[1]),
                execute("", 1),
                execute("", 1),
                sync(),
            ],
            "1 t[] T[n:23] 2 D[x0000002a] s C[CALL] Z[I]",
        ),
        (
            vec![parse("", "call half($1)"), bind("", "", &["84"], &[1]), execute("", 0), execute("", 0), sync()],
            "1 2 D[x0000002a] C[CALL] C[CALL] Z[I]",
        ),
        (
            vec![parse("", "begin"), bind("", "", &[], &[]), execute("", 1), execute("", 1), sync()],
            "1 2 C[BEGIN] E[55000] Z[E]",
        ),
        (
            vec![query("rollback; drop procedure half; drop table x; deallocate all")],
            "C[ROLLBACK] C[DROP_PROCEDURE] C[DROP_TABLE] C[DEALLOCATE_ALL] Z[I]",
        ),
    ]);
}

#[test]
fn a_transaction_that_failed_describes_nothing_with_rows() {
    check(&[
        (vec![query(TABLE)], "C[SET] C[DROP_TABLE] C[CREATE_TABLE] Z[I]"),
        (
            vec![
                parse("s", "select a from x"),
                parse("i", "insert into x values ($1)"),
                parse("w", "show work_mem"),
                parse("r", "rollback"),
                parse("n", ""),
                sync(),
            ],
            "1 1 1 1 1 Z[I]",
        ),
        (vec![query("begin"), query("select nothing")], "C[BEGIN] Z[T] E[42703] Z[E]"),
        (vec![describe(b'S', "s"), sync(), describe(b'S', "w"), sync()], "E[25P02] Z[E] E[25P02] Z[E]"),
        (vec![describe(b'S', "i"), describe(b'S', "r"), describe(b'S', "n"), sync()], "t[23] n t[] n t[] n Z[E]"),
        (
            vec![bind("", "s", &[], &[]), sync(), bind("", "w", &[], &[]), sync(), bind("", "n", &[], &[]), sync()],
            "E[25P02] Z[E] E[25P02] Z[E] E[25P02] Z[E]",
        ),
        (vec![parse("", "select 1"), sync(), parse("", ""), sync()], "E[25P02] Z[E] 1 Z[E]"),
        (vec![bind("", "r", &[], &[]), describe(b'P', ""), execute("", 0), sync()], "2 n C[ROLLBACK] Z[I]"),
        // What a statement gives is looked at again when it is described.
        (
            vec![query("alter table x add column c int"), describe(b'S', "s"), sync()],
            "C[ALTER_TABLE] Z[I] t[] T[a:23] Z[I]",
        ),
        (
            vec![query("alter table x alter column a type bigint"), describe(b'S', "s"), sync()],
            "C[ALTER_TABLE] Z[I] t[] E[0A000] Z[I]",
        ),
        (vec![query("drop table x"), describe(b'S', "s"), sync()], "C[DROP_TABLE] Z[I] t[] E[42P01] Z[I]"),
    ]);
}

#[test]
fn what_is_sent_before_a_sync_is_one_transaction() {
    check(&[
        (vec![query(TABLE)], "C[SET] C[DROP_TABLE] C[CREATE_TABLE] Z[I]"),
        (vec![run("insert into x values (1)"), run("vacuum x"), sync()], "1 2 C[INSERT_0_1] 1 2 E[25001] Z[I]"),
        (vec![run("insert into x values (2)"), run("discard all"), sync()], "1 2 C[INSERT_0_1] 1 2 E[25001] Z[I]"),
        (vec![query("select count(*)::int as n from x")], "T[n:23] D[0] C[SELECT_1] Z[I]"),
        (vec![run("vacuum x"), sync()], "1 2 C[VACUUM] Z[I]"),
        // What cannot be undone is committed before it is answered.
        (vec![run("create database piped"), run("select nothing"), sync()], "1 2 C[CREATE_DATABASE] E[42703] Z[I]"),
        (
            vec![query("select count(*)::int as n from pg_database where datname = 'piped'")],
            "T[n:23] D[1] C[SELECT_1] Z[I]",
        ),
        (
            vec![run("drop database piped"), run("create database piped"), run("drop database piped"), sync()],
            "1 2 C[DROP_DATABASE] 1 2 C[CREATE_DATABASE] 1 2 C[DROP_DATABASE] Z[I]",
        ),
        (
            vec![run("vacuum x"), run("insert into x values (1)"), run("vacuum x"), sync()],
            "1 2 C[VACUUM] 1 2 C[INSERT_0_1] 1 2 E[25001] Z[I]",
        ),
        (
            vec![run("insert into x values (3)"), run("set local work_mem = '1MB'"), run("lock table x"), sync()],
            "1 2 C[INSERT_0_1] 1 2 N[25P01] C[SET] 1 2 E[25P01] Z[I]",
        ),
        (vec![run("insert into x values (3)"), sync()], "1 2 C[INSERT_0_1] Z[I]"),
        (vec![run("lock table x"), sync()], "1 2 E[25P01] Z[I]"),
        (vec![run("insert into x values (4)"), run("savepoint a"), sync()], "1 2 C[INSERT_0_1] 1 2 E[25P01] Z[I]"),
        (
            vec![
                run("insert into x values (5)"),
                run("begin"),
                run("insert into x values (6)"),
                sync(),
                query("rollback"),
            ],
            "1 2 C[INSERT_0_1] 1 2 C[BEGIN] 1 2 C[INSERT_0_1] Z[T] C[ROLLBACK] Z[I]",
        ),
        (
            vec![run("insert into x values (7)"), run("commit"), run("insert into x values (3)"), sync()],
            "1 2 C[INSERT_0_1] 1 2 N[25P01] C[COMMIT] 1 2 E[23505] Z[I]",
        ),
        (vec![run("insert into x values (8)"), query("insert into x values (3)")], "1 2 C[INSERT_0_1] E[23505] Z[I]"),
        (vec![query("select a from x order by a")], "T[a:23] D[3] D[7] C[SELECT_2] Z[I]"),
        // All of a simple query is committed before its last statement is said to be done.
        (
            vec![query("drop table x; create table x (a int primary key deferrable initially deferred)")],
            "C[DROP_TABLE] C[CREATE_TABLE] Z[I]",
        ),
        (vec![query("insert into x values (1); insert into x values (1)")], "C[INSERT_0_1] E[23505] Z[I]"),
        (
            vec![query("insert into x values (1); insert into x values (1); select 1 as a;")],
            "C[INSERT_0_1] C[INSERT_0_1] T[a:23] D[1] E[23505] Z[I]",
        ),
        (
            vec![query("insert into x values (1); insert into x values (1); set work_mem = '1MB'; ")],
            "C[INSERT_0_1] C[INSERT_0_1] E[23505] Z[I]",
        ),
        (vec![query("insert into x values (1); begin")], "C[INSERT_0_1] C[BEGIN] Z[T]"),
        (vec![query("insert into x values (1); commit")], "C[INSERT_0_1] E[23505] Z[I]"),
        (vec![query("select 1 as a; discard all")], "T[a:23] D[1] C[SELECT_1] E[25001] Z[I]"),
        (vec![query("drop table x")], "C[DROP_TABLE] Z[I]"),
    ]);
}

#[test]
fn messages_that_nobody_wants_are_not_sent() {
    let raise = "raise warning 'w'; raise notice 'n'; raise info 'i'";
    let body = |words: &str| query(&format!("do $$ begin {words}; {raise}; end $$"));
    check(&[
        (vec![body("null")], "N[01000] N[00000] N[00000] C[DO] Z[I]"),
        (vec![body("set local client_min_messages = error")], "N[00000] C[DO] Z[I]"),
        (vec![body("perform set_config('client_min_messages', 'warning', true)")], "N[01000] N[00000] C[DO] Z[I]"),
        (
            vec![query(
                "set client_min_messages = error; drop table if exists nothing_here; reset client_min_messages",
            )],
            "C[SET] C[DROP_TABLE] C[RESET] Z[I]",
        ),
        (
            vec![query("drop table if exists nothing_here; select 1 as a")],
            "N[00000] C[DROP_TABLE] T[a:23] D[1] C[SELECT_1] Z[I]",
        ),
    ]);
}

#[test]
fn formats_mean_nothing_where_there_are_no_columns() {
    check(&[
        (vec![query(TABLE)], "C[SET] C[DROP_TABLE] C[CREATE_TABLE] Z[I]"),
        (
            vec![parse("", "insert into x values ($1)"), bind("", "", &["1"], &[0, 1, 0]), execute("", 0), sync()],
            "1 2 C[INSERT_0_1] Z[I]",
        ),
        (vec![parse("", "begin"), bind("", "", &[], &[0, 1]), sync()], "1 2 Z[I]"),
        (vec![parse("", "select a, b from x"), bind("", "", &[], &[0, 1, 0]), sync()], "1 E[08P01] Z[I]"),
        (
            vec![parse("", "insert into x values (2) returning a"), bind("", "", &[], &[0, 1]), sync()],
            "1 E[08P01] Z[I]",
        ),
        (vec![parse("", "show work_mem"), bind("", "", &[], &[0, 1]), sync()], "1 E[08P01] Z[I]"),
        (vec![query("drop table x")], "C[DROP_TABLE] Z[I]"),
    ]);
}

#[test]
fn a_parameter_has_one_type() {
    check(&[
        (vec![parse("", "select $1, $1::int"), sync()], "E[42P08] Z[I]"),
        (vec![parse("", "select $1::int, $1"), describe(b'S', ""), sync()], "1 t[23] T[int4:23,?column?:23] Z[I]"),
        (
            vec![
                parse("", "select $1 = 5 or $1 = 2.5 as a"),
                bind("", "", &["5"], &[]),
                describe(b'S', ""),
                execute("", 0),
                sync(),
            ],
            "1 2 t[23] T[a:16] D[t] C[SELECT_1] Z[I]",
        ),
        (
            vec![
                parse("", "select $1 between 1 and 2.5 as a"),
                bind("", "", &["2"], &[]),
                describe(b'S', ""),
                execute("", 0),
                sync(),
            ],
            "1 2 t[23] T[a:16] D[t] C[SELECT_1] Z[I]",
        ),
        (
            vec![
                parse("", "select 1 between $1 and $1 as a, 1.5 between symmetric $2 and $2 as b"),
                describe(b'S', ""),
                sync(),
            ],
            "1 t[23,1700] T[a:16,b:16] Z[I]",
        ),
        (
            vec![
                parse("", "select $1 in (1, 2.5) as a"),
                bind("", "", &["2.5"], &[]),
                describe(b'S', ""),
                execute("", 0),
                sync(),
            ],
            "1 2 t[1700] T[a:16] D[t] C[SELECT_1] Z[I]",
        ),
        (vec![parse("", "select $1 union select $1::int"), sync()], "1 Z[I]"),
        (
            vec![parse("", "select coalesce($1, 1), $1 || 'x'"), describe(b'S', ""), sync()],
            "1 t[23] T[coalesce:23,?column?:25] Z[I]",
        ),
        (vec![parse("", "values ($1, $1), (1, 'x')"), sync()], "E[42P08] Z[I]"),
    ]);
}

#[test]
fn the_query_in_a_statement_has_parameters() {
    let once = |statement: &str, values: &[&str]| -> Vec<u8> {
        [parse("", statement), describe(b'S', ""), bind("", "", values, &[]), execute("", 0), sync()].concat()
    };
    let fetch = |direction: &str| query(&format!("fetch {direction} from k"));
    check(&[
        (vec![query(TABLE)], "C[SET] C[DROP_TABLE] C[CREATE_TABLE] Z[I]"),
        (
            vec![query("insert into x select n, 'r' || n from generate_series(1, 9) n"), query("begin")],
            "C[INSERT_0_9] Z[I] C[BEGIN] Z[T]",
        ),
        // A cursor keeps its values.
        (
            vec![once("declare k cursor for select a, b from x where a < $1 and b <> $2 order by a", &["5", "r2"])],
            "1 t[23,25] n 2 C[DECLARE_CURSOR] Z[T]",
        ),
        (
            vec![fetch("1"), fetch("all")],
            "T[a:23,b:25] D[1,r1] C[FETCH_1] Z[T] T[a:23,b:25] D[3,r3] D[4,r4] C[FETCH_2] Z[T]",
        ),
        (vec![query("commit"), query("begin")], "C[COMMIT] Z[I] C[BEGIN] Z[T]"),
        // One statement makes several, each with its own.
        (
            vec![
                parse("d", "declare k scroll cursor with hold for select a + $1 as a from x where b = $2 order by a"),
                bind("", "d", &["100", "r3"], &[]),
                execute("", 0),
                query("commit"),
                fetch("1"),
                fetch("prior"),
                fetch("next"),
                query("close k"),
                bind("", "d", &["200", "r4"], &[]),
                execute("", 0),
                sync(),
                fetch("1"),
                query("close k"),
            ],
            "1 2 C[DECLARE_CURSOR] C[COMMIT] Z[I] T[a:23] D[103] C[FETCH_1] Z[I] T[a:23] C[FETCH_0] Z[I] \
             T[a:23] D[103] C[FETCH_1] Z[I] C[CLOSE_CURSOR] Z[I] 2 C[DECLARE_CURSOR] Z[I] T[a:23] D[204] C[FETCH_1] Z[I] \
             C[CLOSE_CURSOR] Z[I]",
        ),
        // The rows of a cursor, in the middle of which somebody made a savepoint.
        (
            vec![
                query("begin"),
                once("declare k cursor for select a from x where a > $1::int order by a", &["7"]),
                query("savepoint s"),
                query("delete from x where a = 8"),
                fetch("all"),
                query("rollback"),
            ],
            "C[BEGIN] Z[T] 1 t[23] n 2 C[DECLARE_CURSOR] Z[T] C[SAVEPOINT] Z[T] C[DELETE_1] Z[T] T[a:23] D[8] D[9] C[FETCH_2] Z[T] \
             C[ROLLBACK] Z[I]",
        ),
        // Tables.
        (
            vec![
                once("create table y as select $1::int as a, $2 as b", &["7", "u"]),
                once("create table if not exists y as select $1::int as a", &["8"]),
                once("create table z (n) as select a from x where a = any ($1)", &["{2,3}"]),
                once("select a + $1 as a into w from x where a < $2", &["10", "3"]),
            ],
            "1 t[23,25] n 2 C[SELECT_1] Z[I] 1 t[23] n 2 C[CREATE_TABLE_AS] Z[I] 1 t[1007] n 2 C[SELECT_2] Z[I] 1 t[23,23] n 2 C[SELECT_2] Z[I]",
        ),
        (
            vec![query("table y"), query("select * from z order by n"), query("select * from w order by a")],
            "T[a:23,b:25] D[7,u] C[SELECT_1] Z[I] T[n:23] D[2] D[3] C[SELECT_2] Z[I] T[a:23] D[11] D[12] C[SELECT_2] Z[I]",
        ),
        (vec![query("drop table w, y, z")], "C[DROP_TABLE] Z[I]"),
        // Plans show the values: `Filter: (a < 5)`, `(b = 'r2'::text)`, `(a > 5)`; lines with spaces are hexadecimal here.
        (
            vec![
                query("set enable_indexscan = off; set enable_bitmapscan = off"),
                once("explain (costs off) select a from x where a < $1", &["5"]),
                once("explain (costs off, analyze, timing off, summary off) select a from x where b = $1", &["r2"]),
                once("explain (costs off) declare k cursor for select a from x where a > $1", &["5"]),
                query("reset all"),
            ],
            "C[SET] C[SET] Z[I] 1 t[23] T[QUERY PLAN:25] 2 D[x536571205363616e206f6e2078] D[x202046696c7465723a202861203c203529] C[EXPLAIN] Z[I] \
             1 t[25] T[QUERY PLAN:25] 2 D[x536571205363616e206f6e2078202861637475616c20726f77733d31206c6f6f70733d3129] D[x202046696c7465723a202862203d20277232273a3a7465787429] \
             D[x2020526f77732052656d6f7665642062792046696c7465723a2038] C[EXPLAIN] Z[I] \
             1 t[23] T[QUERY PLAN:25] 2 D[x536571205363616e206f6e2078] D[x202046696c7465723a202861203e203529] C[EXPLAIN] Z[I] C[RESET] Z[I]",
        ),
        // What does not fit.
        (
            vec![parse("", "declare k cursor for select a from x where a < $1"), bind("", "", &[], &[]), sync()],
            "1 E[08P01] Z[I]",
        ),
        (vec![parse("", "declare k cursor for select nothing from x where a < $1"), sync()], "E[42703] Z[I]"),
        (vec![once("declare k cursor for select a from x where a < $1", &["5"])], "1 t[23] n 2 E[25P01] Z[I]"),
        (vec![once("create table y as select $1::int as a", &["q"])], "1 t[23] n E[22P02] Z[I]"),
        (vec![parse("", "create view v as select $1::int as a"), bind("", "", &["1"], &[]), sync()], "1 E[08P01] Z[I]"),
        (vec![query("drop table x")], "C[DROP_TABLE] Z[I]"),
    ]);
}

#[test]
fn a_snapshot_is_taken_when_a_statement_is_prepared_or_bound() {
    let level = "begin isolation level repeatable read";
    let too_late = || query("set transaction isolation level read committed");
    check(&[
        (
            vec![query(level), parse("", "select 1"), sync(), too_late(), query("rollback")],
            "C[BEGIN] Z[T] 1 Z[T] E[25001] Z[E] C[ROLLBACK] Z[I]",
        ),
        (vec![parse("s", "select 1"), sync()], "1 Z[I]"),
        (
            vec![query(level), bind("", "s", &[], &[]), sync(), too_late(), query("rollback")],
            "C[BEGIN] Z[T] 2 Z[T] E[25001] Z[E] C[ROLLBACK] Z[I]",
        ),
        (
            vec![query(level), parse("", "declare k cursor for select 1"), sync(), too_late(), query("rollback")],
            "C[BEGIN] Z[T] 1 Z[T] E[25001] Z[E] C[ROLLBACK] Z[I]",
        ),
        (
            vec![
                query(level),
                parse("", "show work_mem"),
                bind("", "", &[], &[]),
                sync(),
                too_late(),
                query("rollback"),
            ],
            "C[BEGIN] Z[T] 1 2 Z[T] C[SET] Z[T] C[ROLLBACK] Z[I]",
        ),
    ]);
}

#[test]
fn what_changes_rows_is_executed_once() {
    let twice = |statement: &str, most: u32| -> Vec<u8> {
        [parse("", statement), bind("", "", &[], &[]), execute("", most), execute("", most), sync()].concat()
    };
    let count = || query("select count(*)::int as n from x");
    check(&[
        (vec![query(TABLE)], "C[SET] C[DROP_TABLE] C[CREATE_TABLE] Z[I]"),
        (vec![twice("insert into x values (1)", 0)], "1 2 C[INSERT_0_1] E[55000] Z[I]"),
        (vec![twice("insert into x values (1)", 1)], "1 2 C[INSERT_0_1] E[55000] Z[I]"),
        (vec![twice("update x set b = 'u'", 0)], "1 2 C[UPDATE_0] E[55000] Z[I]"),
        (vec![twice("delete from x", 0)], "1 2 C[DELETE_0] E[55000] Z[I]"),
        (vec![twice("with w as (select 1) insert into x table w", 0)], "1 2 C[INSERT_0_1] E[55000] Z[I]"),
        (vec![count()], "T[n:23] D[0] C[SELECT_1] Z[I]"),
        // What gives rows gives no more of them.
        (vec![twice("insert into x values (1) returning a", 0)], "1 2 D[1] C[INSERT_0_1] C[INSERT_0_0] Z[I]"),
        (vec![twice("insert into x values (2) returning a", 1)], "1 2 D[2] s C[INSERT_0_0] Z[I]"),
        (vec![twice("select a from x order by a", 0)], "1 2 D[1] D[2] C[SELECT_2] C[SELECT_0] Z[I]"),
        (vec![twice("with w as (delete from x returning a) select 5 as a from w", 1)], "1 2 D[5] s D[5] s Z[I]"),
        (vec![count()], "T[n:23] D[0] C[SELECT_1] Z[I]"),
        (vec![query("drop table x")], "C[DROP_TABLE] Z[I]"),
    ]);
}

#[test]
fn a_portal_that_gives_rows_uses_its_table_until_it_is_closed() {
    let portal = |statement: &str| [parse("", statement), bind("p", "", &[], &[])].concat();
    let dropped = || query("drop table x");
    let tables = "drop table if exists x; create table x as select n as a from generate_series(1, 3) n";
    check(&[
        (vec![query("set client_min_messages = warning")], "C[SET] Z[I]"),
        (vec![query(tables), query("begin")], "C[DROP_TABLE] C[SELECT_3] Z[I] C[BEGIN] Z[T]"),
        (
            vec![portal("select a from x"), dropped(), query("rollback"), query("begin")],
            "1 2 E[55006] Z[E] C[ROLLBACK] Z[I] C[BEGIN] Z[T]",
        ),
        (
            vec![portal("select a from x"), execute("p", 0), dropped(), query("rollback"), query("begin")],
            "1 2 D[1] D[2] D[3] C[SELECT_3] E[55006] Z[E] C[ROLLBACK] Z[I] C[BEGIN] Z[T]",
        ),
        (
            vec![
                portal("select a from x"),
                execute("p", 0),
                close(b'P', "p"),
                dropped(),
                query("rollback"),
                query("begin"),
            ],
            "1 2 D[1] D[2] D[3] C[SELECT_3] 3 C[DROP_TABLE] Z[T] C[ROLLBACK] Z[I] C[BEGIN] Z[T]",
        ),
        // What changes rows uses it while it runs.
        (
            vec![portal("insert into x values (4)"), execute("p", 0), dropped(), query("rollback"), query("begin")],
            "1 2 C[INSERT_0_1] C[DROP_TABLE] Z[T] C[ROLLBACK] Z[I] C[BEGIN] Z[T]",
        ),
        (
            vec![portal("delete from x"), dropped(), query("rollback"), query("begin")],
            "1 2 C[DROP_TABLE] Z[T] C[ROLLBACK] Z[I] C[BEGIN] Z[T]",
        ),
        (
            vec![
                portal("update x set a = a + 10 returning a"),
                execute("p", 1),
                query("truncate x"),
                execute("p", 0),
                dropped(),
                query("rollback"),
                query("begin"),
            ],
            "1 2 D[11] s C[TRUNCATE_TABLE] Z[T] D[12] D[13] C[UPDATE_2] C[DROP_TABLE] Z[T] C[ROLLBACK] Z[I] C[BEGIN] Z[T]",
        ),
        // So does a portal of a statement that is not planned, and one that has failed.
        (
            vec![
                query("prepare e as select a from x"),
                portal("execute e"),
                execute("p", 1),
                dropped(),
                query("rollback"),
            ],
            "C[PREPARE] Z[T] 1 2 D[1] s C[DROP_TABLE] Z[T] C[ROLLBACK] Z[I]",
        ),
        (
            vec![
                query("begin"),
                portal("select 1 / (a - 2) as a from x"),
                query("savepoint s"),
                execute("p", 0),
                sync(),
                query("rollback to s"),
                dropped(),
                query("commit; deallocate e"),
            ],
            "C[BEGIN] Z[T] 1 2 C[SAVEPOINT] Z[T] D[-1] E[22012] Z[E] C[ROLLBACK] Z[T] C[DROP_TABLE] Z[T] C[COMMIT] C[DEALLOCATE] Z[I]",
        ),
    ]);
}

#[test]
fn a_transaction_that_failed_says_so_first() {
    let once = |message: Vec<u8>| [message, sync()].concat();
    check(&[
        (vec![query(TABLE)], "C[SET] C[DROP_TABLE] C[CREATE_TABLE] Z[I]"),
        (
            vec![
                parse("s", "select a from x"),
                parse("i", "insert into x values ($1)"),
                parse("r", "rollback"),
                sync(),
            ],
            "1 1 1 Z[I]",
        ),
        (
            vec![
                query("begin"),
                bind("p", "s", &[], &[]),
                bind("i", "i", &["1"], &[]),
                bind("r", "r", &[], &[]),
                query("select nothing"),
            ],
            "C[BEGIN] Z[T] 2 2 2 E[42703] Z[E]",
        ),
        // Before it comes what is no SQL, and what is not there.
        (vec![once(parse("", "select from from")), query("select from from")], "E[42601] Z[E] E[42601] Z[E]"),
        (vec![once(parse("", "fetch from from")), query("fetch from from")], "E[42601] Z[E] E[42601] Z[E]"),
        (vec![once(bind("", "none", &[], &[])), once(bind("", "s", &["1"], &[]))], "E[26000] Z[E] E[08P01] Z[E]"),
        (vec![once(execute("none", 0)), once(describe(b'P', "none"))], "E[34000] Z[E] E[34000] Z[E]"),
        // Behind it what statements are about, and names that are taken.
        (
            vec![once(parse("", "select nothing from nowhere")), once(parse("s", "select 1"))],
            "E[25P02] Z[E] E[25P02] Z[E]",
        ),
        (
            vec![once(parse("", "select $1, $1::int")), once(parse("", "fetch from none"))],
            "E[25P02] Z[E] E[25P02] Z[E]",
        ),
        (vec![once(parse("s", "rollback")), once(parse("s", ""))], "E[42P05] Z[E] E[42P05] Z[E]"),
        (vec![once(bind("p", "s", &[], &[])), once(bind("p", "r", &[], &[]))], "E[25P02] Z[E] E[42P03] Z[E]"),
        (
            vec![
                query("fetch from none"),
                query("close none"),
                query("prepare s as select 1"),
                query("execute none"),
                query("deallocate none"),
            ],
            "E[25P02] Z[E] E[25P02] Z[E] E[25P02] Z[E] E[25P02] Z[E] E[25P02] Z[E]",
        ),
        (
            vec![query("release none"), query("savepoint s"), query("begin")],
            "E[25P02] Z[E] E[25P02] Z[E] E[25P02] Z[E]",
        ),
        // Portals that were made before are there, but cannot be executed.
        (
            vec![once(execute("p", 0)), once(execute("i", 0)), once(execute("r", 0))],
            "E[25P02] Z[E] E[25P02] Z[E] E[25P02] Z[E]",
        ),
        (vec![once(describe(b'P', "p")), once(describe(b'P', "i"))], "E[25P02] Z[E] n Z[E]"),
        (vec![close(b'P', "p"), execute("p", 0), sync()], "3 E[34000] Z[E]"),
        (
            vec![once(bind("q", "r", &[], &[])), query("select 1"), once(execute("q", 0))],
            "2 Z[E] E[25P02] Z[E] C[ROLLBACK] Z[I]",
        ),
        (
            vec![query("begin"), once(execute("i", 0)), query("rollback")],
            "C[BEGIN] Z[T] E[34000] Z[E] C[ROLLBACK] Z[I]",
        ),
        // Behind a savepoint they go with it.
        (
            vec![
                query("begin"),
                bind("o", "s", &[], &[]),
                query("savepoint k"),
                bind("p", "s", &[], &[]),
                query("select nothing"),
                once(execute("p", 0)),
                once(execute("o", 0)),
                query("rollback to k"),
                execute("o", 0),
                execute("p", 0),
                sync(),
                query("rollback"),
            ],
            "C[BEGIN] Z[T] 2 C[SAVEPOINT] Z[T] 2 E[42703] Z[E] E[25P02] Z[E] E[25P02] Z[E] C[ROLLBACK] Z[T] \
             C[SELECT_0] E[34000] Z[E] C[ROLLBACK] Z[I]",
        ),
        // Names that are taken come behind everything else that is wrong with a statement.
        (
            vec![
                once(parse("s", "select from from")),
                once(parse("s", "select nothing")),
                once(parse("s", "select 1")),
            ],
            "E[42601] Z[I] E[42703] Z[I] E[42P05] Z[I]",
        ),
        (vec![query("prepare s as select nothing"), query("prepare s as select 1")], "E[42703] Z[I] E[42P05] Z[I]"),
        (vec![query("drop table x")], "C[DROP_TABLE] Z[I]"),
    ]);
}

#[test]
fn whatever_a_client_has_prepared_is_executed_by_its_name() {
    let prepare = |name: &str, statement: &str| [parse(name, statement), sync()].concat();
    check(&[
        (vec![query(TABLE)], "C[SET] C[DROP_TABLE] C[CREATE_TABLE] Z[I]"),
        (
            vec![
                prepare("t", "create table y as select $1::int as a"),
                query("execute t(7)"),
                query("table y"),
                query("execute t(8)"),
                query("drop table y"),
                query("execute t"),
            ],
            "1 Z[I] C[SELECT_1] Z[I] T[a:23] D[7] C[SELECT_1] Z[I] E[42P07] Z[I] C[DROP_TABLE] Z[I] E[42601] Z[I]",
        ),
        (
            vec![
                prepare("s", "set work_mem = '1MB'"),
                query("execute s"),
                prepare("w", "show work_mem"),
                query("execute w"),
                query("reset work_mem"),
            ],
            "1 Z[I] C[SET] Z[I] 1 Z[I] T[work_mem:25] D[1MB] C[SHOW] Z[I] C[RESET] Z[I]",
        ),
        (
            vec![parse("", "execute w"), describe(b'S', ""), bind("", "", &[], &[1]), execute("", 0), sync()],
            "1 t[] T[work_mem:25] 2 D[4MB] C[SHOW] Z[I]",
        ),
        // What is to stand by itself does not stand there.
        (vec![prepare("v", "vacuum x"), query("execute v")], "1 Z[I] E[25001] Z[I]"),
        (
            vec![prepare("b", "begin"), query("execute b"), prepare("c", "commit"), query("execute c")],
            "1 Z[I] C[BEGIN] Z[T] 1 Z[T] C[COMMIT] Z[I]",
        ),
        (vec![prepare("e", "execute e"), query("execute e")], "1 Z[I] E[54001] Z[I]"),
        (vec![query("drop table x; deallocate all")], "C[DROP_TABLE] C[DEALLOCATE_ALL] Z[I]"),
    ]);
}
