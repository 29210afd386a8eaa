//! The protocol against bytes made by hand, against nonsense, and against a MariaDB of its own where one is installed.

use super::*;
use crate::address;
use crate::driver::wire::Wire;
use crate::workload::Workload;
use crate::workload::script::{Action, Mix, Presets, Source};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn address(port: u16) -> Address {
    Address {
        wire: address::Wire::Mysql,
        socket: ([127, 0, 0, 1], port).into(),
        user: "root".into(),
        database: String::new(),
        password: None,
    }
}

fn mix(text: &str, defines: &[(&str, &str)]) -> (Mix, Frame, Vec<Prepared>) {
    let defines: Vec<_> = defines.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let mix = Mix::compile(&[(Source { name: "t.sql", text }, 1)], &defines).unwrap();
    let frame = mix.frame(&Presets { seed: 1, scale: 1, defines }, 0);
    let statements = prepared(&mix);
    (mix, frame, statements)
}

fn prepared(mix: &Mix) -> Vec<Prepared> {
    let all = mix.programs.iter().flat_map(|program| &program.statements);
    (0..).zip(all).map(|(number, statement)| Prepared::new(address::Wire::Mysql, number, statement)).collect()
}

/// A packet's bytes.
fn framed(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    packet(number, &mut out, |out| out.put_slice(payload)).unwrap();
    out.to_vec()
}

fn ready(protocol: Protocol) -> Mysql {
    let mut wire = Mysql::new(&address(1), protocol);
    wire.phase = Phase::Ready;
    wire
}

const END: &[u8] = &[0xfe, 0, 0, 2, 0];

/// The description of a column of integers called `n`.
fn column() -> Vec<u8> {
    let mut bytes = b"\x03def\x00\x00\x00\x01n\x00\x0c".to_vec();
    bytes.extend([0x3f, 0, 11, 0, 0, 0, 3, 0, 0, 0, 0, 0]);
    bytes
}

#[test]
fn an_execution_has_types_and_values() {
    let text = "\\set i 258\n\\set d 1.5\n\\set b true\n\\set n null\nSELECT :i, :n, :d, :t, :b, :u";
    let (mix, mut frame, statements) = mix(text, &[("t", "abc")]);
    assert_eq!(mix.programs[0].next(&mut frame).unwrap(), Action::Statement(0));
    let mut wire = ready(Protocol::Named);
    wire.set_handle(Some(0), Handle::Id(7));
    let mut out = BytesMut::new();
    wire.request(&statements[0], &frame, false, &mut out).unwrap();
    let payload = [
        &[0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0][..],
        &[0b10_0010, 1],
        &[8, 0, 6, 0, 5, 0, 253, 0, 1, 0, 6, 0],
        &258i64.to_le_bytes(),
        &1.5f64.to_le_bytes(),
        b"\x03abc",
        &[1],
    ]
    .concat();
    assert_eq!(out[..], framed(0, &payload));
    assert_eq!(wire.awaited, [Reply::Binary]);
}

#[test]
fn unnamed_statements_are_prepared_executed_and_closed_at_once() {
    let (_, frame, statements) = mix("SELECT 1", &[]);
    let mut wire = ready(Protocol::Unnamed);
    let mut out = BytesMut::new();
    wire.request(&statements[0], &frame, false, &mut out).unwrap();
    let expected = [
        framed(0, b"\x16SELECT 1"),
        framed(0, b"\x17\xff\xff\xff\xff\x00\x01\x00\x00\x00"),
        framed(0, b"\x19\xff\xff\xff\xff"),
    ];
    assert_eq!(out[..], expected.concat());
    assert_eq!(wire.awaited, [Reply::Prepared(None), Reply::Binary]);
}

#[test]
fn a_statement_that_was_not_prepared_ahead_is_prepared_for_once() {
    let (_, frame, statements) = mix("\\literal\nSELECT 1", &[]);
    let mut wire = ready(Protocol::Named);
    let mut out = BytesMut::new();
    assert!(!wire.prepare(&statements, &mut out).unwrap());
    wire.request(&statements[0], &frame, false, &mut out).unwrap();
    assert!(out.starts_with(&framed(0, b"\x16SELECT 1")), "{out:?}");
}

#[test]
fn a_text_that_is_too_long_is_refused_before_anything_is_sent() {
    let mut wire = ready(Protocol::Simple);
    let mut out = BytesMut::new();
    assert!(wire.plain(&" ".repeat(LENGTH_MAX), &mut out).unwrap_err().message().contains("too long"));
    assert!(out.is_empty() && wire.awaited.is_empty());
}

/// An answer to a query, two rows of one column, and an OK with more to come before it.
fn transcript() -> Vec<u8> {
    let more = [0x00, 0, 0, 0x0a, 0, 0, 0];
    let packets: [&[u8]; 7] = [&more, &[1], &column(), END, b"\x0217", b"\xfb", &[0xfe, 0, 0, 3, 0]];
    (1..).zip(packets).flat_map(|(number, payload)| framed(number, payload)).collect()
}

#[test]
fn answers_are_read_however_they_are_cut() {
    let bytes = transcript();
    for keep in [Keep::Nothing, Keep::Last, Keep::All] {
        for cut in 0..=bytes.len() {
            let mut wire = ready(Protocol::Simple);
            let mut out = BytesMut::new();
            wire.plain("SELECT", &mut out).unwrap();
            let mut answer = Answer::default();
            answer.begin(keep);
            let used = wire.receive(&bytes[..cut], &mut out, &mut answer).unwrap();
            assert_eq!(answer.complete, cut == bytes.len());
            if cut < bytes.len() {
                assert_eq!(wire.receive(&bytes[used..], &mut out, &mut answer).unwrap(), bytes.len() - used);
            }
            assert!(answer.complete && answer.in_transaction && answer.error.is_none());
            assert_eq!((answer.statements, answer.rows), (2, 2));
            let rows = [vec![Some("17".to_string())], vec![None]];
            match keep {
                Keep::Nothing => assert!(answer.kept.is_empty()),
                Keep::Last => assert_eq!(answer.kept, rows[1..]),
                Keep::All => assert_eq!(answer.kept, rows),
            }
        }
    }
}

#[test]
fn a_row_of_several_packets_is_one_row() {
    let mut wire = ready(Protocol::Simple);
    let mut out = BytesMut::new();
    wire.plain("SELECT", &mut out).unwrap();
    let mut answer = Answer::default();
    answer.begin(Keep::Nothing);
    let mut bytes = [framed(1, &[1]), framed(2, &column()), framed(3, END)].concat();
    // The second part looks like an end, and is none.
    bytes.extend([0xff, 0xff, 0xff, 4]);
    bytes.extend(vec![1; LENGTH_MAX]);
    bytes.extend([framed(5, END), framed(6, END)].concat());
    assert_eq!(wire.receive(&bytes, &mut out, &mut answer).unwrap(), bytes.len());
    assert!(answer.complete);
    assert_eq!(answer.rows, 1);
}

#[test]
fn an_error_takes_the_place_of_its_answer() {
    let mut wire = ready(Protocol::Unnamed);
    let (_, frame, statements) = mix("SELECT 1", &[]);
    let mut out = BytesMut::new();
    wire.request(&statements[0], &frame, false, &mut out).unwrap();
    let mut answer = Answer::default();
    let errors = [framed(1, b"\xff\x28\x04#42000syntax"), framed(1, b"\xff\xdb\x04#HY000unknown statement")].concat();
    wire.receive(&errors, &mut out, &mut answer).unwrap();
    assert!(answer.complete);
    assert_eq!(answer.error, Some(Refusal { state: "42000".into(), message: "syntax (1064)".into() }));
    assert_eq!(answer.statements, 0);
}

#[test]
fn what_cannot_be_prepared_is_sent_as_text() {
    let mut wire = ready(Protocol::Named);
    let (_, frame, statements) = mix("SHUTDOWN;", &[]);
    let mut out = BytesMut::new();
    assert!(wire.prepare(&statements, &mut out).unwrap());
    let mut answer = Answer::default();
    wire.receive(&framed(1, b"\xff\x0f\x05#HY000not yet"), &mut out, &mut answer).unwrap();
    assert!(answer.complete && answer.error.is_none());
    out.clear();
    wire.request(&statements[0], &frame, false, &mut out).unwrap();
    assert_eq!(out[..], framed(0, b"\x03SHUTDOWN;"));
}

#[test]
fn an_empty_pipeline_is_answered_too() {
    let mut wire = ready(Protocol::Simple);
    let mut out = BytesMut::new();
    wire.sync(&mut out);
    assert_eq!(out[..], framed(0, &[PING]));
    let mut answer = Answer::default();
    wire.receive(&framed(1, &[0, 0, 0, 2, 0, 0, 0]), &mut out, &mut answer).unwrap();
    assert!(answer.complete);
}

#[test]
fn what_makes_no_sense_ends_the_connection() {
    let cases: [(&str, Vec<u8>); 7] = [
        ("an empty packet", framed(1, &[])),
        ("an end at first", framed(1, END)),
        ("a short OK", framed(1, &[0])),
        ("a column that is none", [framed(1, &[1]), framed(2, b"\xfd\xff\xff\xff")].concat()),
        ("no end of columns", [framed(1, &[1]), framed(2, &column()), framed(3, &column())].concat()),
        ("a row cut off", [framed(1, &[1]), framed(2, &column()), framed(3, END), framed(4, b"\x05ab")].concat()),
        ("more than was asked for", [framed(1, &[0, 0, 0, 2, 0, 0, 0]), framed(1, &[0, 0, 0, 2, 0, 0, 0])].concat()),
    ];
    for (what, bytes) in cases {
        let mut wire = ready(Protocol::Simple);
        let mut out = BytesMut::new();
        wire.plain("SELECT", &mut out).unwrap();
        let mut answer = Answer::default();
        answer.begin(Keep::All);
        let error = wire.receive(&bytes, &mut out, &mut answer).expect_err(what);
        assert_eq!(error.sqlstate(), sqlstate::PROTOCOL_VIOLATION, "{what}");
    }
}

fn phases() -> impl Strategy<Value = (Phase, Vec<Reply>, Keep)> {
    let phase = prop::sample::select(vec![Phase::Greeting, Phase::LoggingIn, Phase::Ready]);
    let reply = prop::sample::select(vec![Reply::Text, Reply::Binary, Reply::Prepared(Some(1)), Reply::Prepared(None)]);
    let keep = prop::sample::select(vec![Keep::Nothing, Keep::Last, Keep::All]);
    (phase, prop::collection::vec(reply, 0..4), keep)
}

/// Payloads that look more or less like those of the protocol.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let known = vec![
        vec![1],
        vec![2],
        column(),
        END.to_vec(),
        vec![0, 0, 0, 2, 0, 0, 0],
        vec![0, 0, 0, 0x0a, 0, 0, 0],
        vec![0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0],
        b"\x0217".to_vec(),
        b"\x00\x00\x11\x00\x00\x00".to_vec(),
        b"\xff\x28\x04#42000syntax".to_vec(),
        b"\xfemysql_native_password\x0012345678901234567890\x00".to_vec(),
        b"\xfecaching_sha2_password\x00123\x00".to_vec(),
        handshake(21),
        handshake(130),
    ];
    let known = prop::sample::select(known);
    let changed = (known.clone(), any::<(prop::sample::Index, u8)>(), any::<prop::sample::Index>()).prop_map(
        |(mut bytes, (at, byte), end)| {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(1 + end.index(bytes.len()));
            bytes
        },
    );
    prop_oneof![3 => known, 2 => changed, 1 => prop::collection::vec(any::<u8>(), 0..60)]
}

/// A server's first packet, with this length of the challenge in it.
fn handshake(length: u8) -> Vec<u8> {
    let mut bytes = b"\x0a5.5.5-10.11.6-MariaDB\x00".to_vec();
    bytes.extend(*b"\x05\x00\x00\x0012345678\x00\xfe\xf7\x2d\x02\x00\xff\x81");
    bytes.push(length);
    bytes.extend(*b"\x00\x00\x00\x00\x00\x00\x0f\x00\x00\x00123456789012\x00mysql_native_password\x00");
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(
        (phase, awaited, keep) in phases(),
        packets in prop_oneof![
            prop::collection::vec(payload(), 0..12).prop_map(|payloads| payloads.iter().flat_map(|payload| framed(1, payload)).collect()),
            prop::collection::vec(any::<u8>(), 0..80),
        ],
        password in any::<bool>(),
    ) {
        let password = password.then(|| "secret".to_string());
        let mut wire = Mysql::new(&Address { password, ..address(1) }, Protocol::Simple);
        wire.phase = phase;
        wire.awaited = awaited.into();
        let mut answer = Answer::default();
        answer.begin(keep);
        let mut out = BytesMut::new();
        if let Ok(used) = wire.receive(&packets, &mut out, &mut answer) {
            prop_assert!(used <= packets.len());
        }
    }
}

#[test]
fn the_handshake_is_answered() {
    let mut wire = Mysql::new(&Address { password: Some("secret".into()), ..address(1) }, Protocol::Unnamed);
    let (mut out, mut answer) = (BytesMut::new(), Answer::default());
    wire.receive(&framed(0, &handshake(21)), &mut out, &mut answer).unwrap();
    let proof = scramble_native(b"12345678123456789012", b"secret").unwrap();
    assert!(out.windows(20).any(|bytes| bytes == proof), "the proof is in the answer");
    assert!(out.ends_with(b"mysql_native_password\0"));
    assert_eq!(out[3], 1);
    wire.receive(&framed(2, &[0, 0, 0, 2, 0, 0, 0]), &mut out, &mut answer).unwrap();
    assert!(answer.complete && wire.phase == Phase::Ready);
    let mut other = handshake(21);
    other[0] = 9;
    for strange in [other, handshake(130), handshake(21)[..30].to_vec()] {
        let mut wire = Mysql::new(&address(1), Protocol::Simple);
        assert!(wire.receive(&framed(0, &strange), &mut out, &mut answer).is_err());
    }
}

/// A MariaDB in a directory of its own.
struct Server {
    child: Child,
    dir: PathBuf,
    port: u16,
}

impl Server {
    /// None, with a line that says so, where it is not installed.
    fn start() -> Option<Server> {
        let installed = |program: &str| Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok();
        if !installed("mariadbd") || !installed("mariadb-install-db") {
            println!("skipped: MariaDB is not installed");
            return None;
        }
        let dir = std::env::temp_dir().join(format!("gearbox-lab-mysql-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let data = format!("--datadir={}", dir.join("data").display());
        let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
        let user = format!("--user={}", user.trim());
        let made = Command::new("mariadb-install-db")
            .args(["--no-defaults", &data, &user, "--auth-root-authentication-method=normal", "--skip-test-db"])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = std::fs::File::create(dir.join("log")).unwrap();
        // However the test ends, the server ends with it.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "mariadbd"])
            .args(["--no-defaults", &data, &user, "--bind-address=127.0.0.1", "--max-allowed-packet=64M"])
            .args(["--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M", "--skip-name-resolve"])
            .arg(format!("--socket={}", dir.join("socket").display()))
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let server = Server { child, dir, port };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = || std::fs::read_to_string(server.dir.join("log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_secs(60), "MariaDB does not answer\n{}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// A connection that blocks.
struct Connection {
    stream: TcpStream,
    wire: Wire,
    answer: Answer,
    out: BytesMut,
    input: Vec<u8>,
}

impl Connection {
    fn try_new(address: &Address, protocol: Protocol) -> Result<Connection> {
        let stream = TcpStream::connect(address.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let wire = Wire::new(address, protocol);
        let mut connection =
            Connection { stream, wire, answer: Answer::default(), out: BytesMut::new(), input: vec![] };
        connection.wire.greet(&mut connection.out);
        connection.exchange()?;
        Ok(connection)
    }

    fn new(address: &Address, protocol: Protocol) -> Connection {
        let connection = Connection::try_new(address, protocol).unwrap();
        assert_eq!(connection.answer.error, None);
        connection
    }

    fn exchange(&mut self) -> Result<()> {
        let mut chunk = vec![0; 1 << 16];
        loop {
            self.stream.write_all(&self.out).unwrap();
            self.out.clear();
            if self.answer.complete {
                assert!(self.input.is_empty());
                return Ok(());
            }
            let count = self.stream.read(&mut chunk).unwrap();
            assert!(count > 0, "the server closed the connection");
            self.input.extend_from_slice(&chunk[..count]);
            let used = self.wire.receive(&self.input, &mut self.out, &mut self.answer)?;
            self.input.drain(..used);
        }
    }

    fn prepare(&mut self, statements: &[Prepared]) {
        self.answer.begin(Keep::Nothing);
        if self.wire.prepare(statements, &mut self.out).unwrap() {
            self.exchange().unwrap();
            assert_eq!(self.answer.error, None);
        }
    }

    fn plain(&mut self, text: &str, keep: Keep) -> &Answer {
        self.answer.begin(keep);
        self.wire.plain(text, &mut self.out).unwrap();
        self.exchange().unwrap();
        &self.answer
    }

    fn request(&mut self, prepared: &Prepared, frame: &Frame, keep: Keep) -> &Answer {
        self.answer.begin(keep);
        self.wire.request(prepared, frame, false, &mut self.out).unwrap();
        self.exchange().unwrap();
        &self.answer
    }

    fn number(&mut self, text: &str) -> i64 {
        let answer = self.plain(text, Keep::All);
        assert_eq!(answer.error, None, "{text}");
        answer.kept[0][0].as_ref().unwrap().parse().unwrap()
    }
}

#[test]
fn a_real_mariadb_understands_it() {
    let Some(server) = Server::start() else { return };
    let root = address(server.port);
    let mut connection = Connection::new(&root, Protocol::Simple);
    let set_up = "CREATE DATABASE lab; CREATE USER nina@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('secret'); \
                  GRANT ALL ON lab.* TO nina@'%'; CREATE TABLE lab.t (a int, b varchar(20), c double, d datetime)";
    let answer = connection.plain(set_up, Keep::Nothing);
    assert_eq!((answer.error.as_ref(), answer.statements), (None, 4));
    let nina = Address { user: "nina".into(), database: "lab".into(), password: Some("secret".into()), ..root.clone() };
    log_in_fails(&root, &nina);
    values_come_and_go(&nina);
    errors_leave_the_connection_usable(&nina);
    pipelines_are_answered_in_order(&nina);
    large_rows_are_passed_over(&nina);
    workloads_run(&nina);
}

fn log_in_fails(root: &Address, nina: &Address) {
    let refused = |address: &Address| {
        let connection = Connection::try_new(address, Protocol::Simple).unwrap();
        connection.answer.error.unwrap()
    };
    let error = refused(&Address { password: Some("wrong".into()), ..nina.clone() });
    assert_eq!(error.state, "28000", "{}", error.message);
    assert_eq!(refused(&Address { password: None, ..nina.clone() }).state, "28000");
    assert_eq!(refused(&Address { database: "nowhere".into(), ..root.clone() }).state, "42000");
}

fn values_come_and_go(nina: &Address) {
    let text = "\\set i 258\n\\set d -1.5\n\\set n null\n\\set b true\n\
                INSERT INTO t VALUES (:i, :name, :d, NULL), (:n, :n, :n, '2024-02-29 12:34:56');\n\
                SELECT a, b, c, d, a + :i AS sum, :b AS truth FROM t ORDER BY a DESC;\n\
                \\literal\nSELECT :i;\nDELETE FROM t WHERE a IS NULL OR a = :i";
    for protocol in Protocol::ALL {
        let defines: &[_] = if protocol == Protocol::Simple { &[("name", "'Nina'")] } else { &[("name", "Nina")] };
        let (mix, mut frame, statements) = mix(text, defines);
        let mut connection = Connection::new(nina, protocol);
        connection.prepare(&statements);
        for _ in 0..2 {
            assert_eq!(mix.programs[0].next(&mut frame).unwrap(), Action::Statement(0));
            let answer = connection.request(&statements[0], &frame, Keep::Nothing);
            assert_eq!((answer.error.as_ref(), answer.statements, answer.rows), (None, 1, 0), "{protocol:?}");
            let answer = connection.request(&statements[1], &frame, Keep::Nothing);
            assert_eq!((answer.error.as_ref(), answer.statements, answer.rows), (None, 1, 2), "{protocol:?}");
            assert!(answer.kept.is_empty());
            let answer = connection.request(&statements[1], &frame, Keep::All);
            assert_eq!(answer.columns, ["a", "b", "c", "d", "sum", "truth"]);
            let rows: Vec<Vec<&str>> = answer
                .kept
                .iter()
                .map(|row| row.iter().map(|value| value.as_deref().unwrap_or("-")).collect())
                .collect();
            assert_eq!(rows[0], ["258", "Nina", "-1.5", "-", "516", "1"], "{protocol:?}");
            assert_eq!(rows[1][..3], ["-", "-", "-"]);
            assert!(rows[1][3].starts_with("2024-02-29 12:34:56"), "{}", rows[1][3]);
            let answer = connection.request(&statements[2], &frame, Keep::Last);
            assert_eq!(answer.kept, [[Some("258".to_string())]]);
            let answer = connection.request(&statements[3], &frame, Keep::Nothing);
            assert_eq!((answer.error.as_ref(), answer.rows), (None, 0));
            while mix.programs[0].next(&mut frame).unwrap() != Action::Done {}
        }
    }
}

fn errors_leave_the_connection_usable(nina: &Address) {
    for protocol in Protocol::ALL {
        let (_, frame, statements) = mix("SELECT 1 + :client_id;\nBEGIN;\n\\literal\nSELECT nonsense;\nCOMMIT;", &[]);
        let mut connection = Connection::new(nina, protocol);
        connection.prepare(&statements);
        assert!(!connection.request(&statements[0], &frame, Keep::Nothing).in_transaction);
        assert!(connection.request(&statements[1], &frame, Keep::Nothing).in_transaction);
        let answer = connection.request(&statements[2], &frame, Keep::Nothing);
        assert_eq!(answer.error.as_ref().unwrap().state, "42S22", "{protocol:?}");
        assert!(answer.in_transaction, "a statement's error ends no transaction here");
        let answer = connection.request(&statements[3], &frame, Keep::Nothing);
        assert!(answer.error.is_none() && !answer.in_transaction);
        assert_eq!(connection.request(&statements[0], &frame, Keep::Nothing).rows, 1);
        // What was prepared for one use is gone; the preparation that failed had nothing to be closed.
        let mut count = |name: &str| {
            let status = "SELECT variable_value FROM information_schema.session_status WHERE variable_name";
            connection.number(&format!("{status} = '{name}'"))
        };
        let left = count("Com_stmt_prepare") - count("Com_stmt_close");
        let expected = match protocol {
            Protocol::Named => 3 + 1,
            Protocol::Unnamed => 1,
            Protocol::Simple => 0,
        };
        assert_eq!(left, expected, "{protocol:?}");
    }
}

fn pipelines_are_answered_in_order(nina: &Address) {
    for protocol in Protocol::ALL {
        let (_, frame, statements) = mix("SELECT 1;\nSELECT 1 + :client_id;", &[]);
        let mut connection = Connection::new(nina, protocol);
        connection.prepare(&statements);
        connection.answer.begin(Keep::Nothing);
        for statement in statements.iter().cycle().take(100) {
            connection.wire.request(statement, &frame, true, &mut connection.out).unwrap();
        }
        connection.wire.sync(&mut connection.out);
        connection.exchange().unwrap();
        assert_eq!((connection.answer.statements, connection.answer.rows), (100, 100), "{protocol:?}");
    }
}

fn large_rows_are_passed_over(nina: &Address) {
    let mut connection = Connection::new(nina, Protocol::Simple);
    let text = "SELECT repeat('x', 40000000) UNION ALL SELECT 'y'";
    let answer = connection.plain(text, Keep::Nothing);
    assert_eq!((answer.error.as_ref(), answer.rows, answer.complete), (None, 2, true));
}

fn workloads_run(nina: &Address) {
    for workload in Workload::all().into_iter().filter(|workload| workload.only != Some(address::Wire::Postgres)) {
        let mut connection = Connection::new(nina, Protocol::Simple);
        for statement in
            workload.set_up(address::Wire::Mysql, 1).chain(workload.warm.iter().map(|text| text.to_string()))
        {
            let answer = connection.plain(&statement, Keep::Nothing);
            assert_eq!(answer.error, None, "{}: {}", workload.name, &statement[..statement.len().min(100)]);
        }
        let before: Vec<i64> = workload.checks.iter().map(|check| connection.number(&check.sql)).collect();
        let mix = workload.mix(&[]).unwrap();
        let statements = prepared(&mix);
        let mut transactions = 0;
        for (client, protocol) in (0..).zip(Protocol::ALL) {
            if protocol == Protocol::Simple && workload.has_texts {
                continue;
            }
            let mut frame = mix.frame(&Presets { seed: 3, scale: 1, ..Presets::default() }, client);
            let mut connection = Connection::new(nina, protocol);
            connection.prepare(&statements);
            for _ in 0..20 {
                let program = mix.choose(&mut frame);
                let first: usize = mix.programs[..program].iter().map(|program| program.statements.len()).sum();
                while let Action::Statement(index) = mix.programs[program].next(&mut frame).unwrap() {
                    let answer = connection.request(&statements[first + index], &frame, Keep::Last);
                    assert_eq!(answer.error, None, "{} {protocol:?}", workload.name);
                    assert_eq!(answer.statements, 1);
                    if let Some(gset) = &statements[first + index].statement.gset {
                        let columns = answer.columns.iter().zip(answer.kept.last().into_iter().flatten());
                        let value = |value: &Option<String>| value.as_ref().map(|text| text.clone().into_bytes());
                        let columns: Vec<_> = columns.map(|(name, text)| (name.clone(), value(text))).collect();
                        let columns = columns.iter().map(|(name, text)| (name.as_bytes(), text.as_deref()));
                        frame.answer(gset, answer.rows, columns).unwrap();
                    }
                }
                transactions += 1;
            }
        }
        for (check, before) in workload.checks.iter().zip(before) {
            check.compare(before, connection.number(&check.sql), transactions).unwrap();
        }
    }
}
