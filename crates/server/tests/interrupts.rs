//! Interrupts that come at an awkward moment: between an answer and the client that does not read it, inside a message that has not
//! come whole, in a transaction that nobody goes on with. None of them may break the conversation.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use support::server::{MODELS, Server};

/// A client that speaks in bytes.
struct Wire {
    socket: TcpStream,
    bytes: Vec<u8>,
    /// What a cancel request names.
    key: [u8; 8],
}

/// A message as it was sent.
struct Message {
    tag: u8,
    body: Vec<u8>,
}

impl Message {
    fn says(&self, text: &str) -> bool {
        self.body.windows(text.len()).any(|part| part == text.as_bytes())
    }
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', &[text.as_bytes(), b"\0"].concat())
}

impl Wire {
    fn open(server: &Server) -> Wire {
        let socket = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut wire = Wire { socket, bytes: Vec::new(), key: [0; 8] };
        let parameters = b"user\0postgres\0database\0postgres\0\0";
        let startup =
            [&(parameters.len() as u32 + 8).to_be_bytes()[..], &196_608_u32.to_be_bytes(), parameters].concat();
        wire.send(&startup);
        let answers = wire.until_ready();
        let key = answers.iter().find(|message| message.tag == b'K').expect("a key to cancel with");
        wire.key = key.body[..8].try_into().unwrap();
        wire
    }

    fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    /// The next message; none at the end of the conversation.
    fn next(&mut self) -> Option<Message> {
        loop {
            if let Some((head, rest)) = self.bytes.split_first_chunk::<5>() {
                let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4;
                assert!(head[0].is_ascii_alphanumeric() && length < 1 << 20, "no message begins with {head:?}");
                if rest.len() >= length {
                    let found = Message { tag: head[0], body: rest[..length].to_vec() };
                    self.bytes.drain(..5 + length);
                    return Some(found);
                }
            }
            let mut piece = [0; 8192];
            match self.socket.read(&mut piece).expect("an answer comes") {
                0 => return None,
                length => self.bytes.extend_from_slice(&piece[..length]),
            }
        }
    }

    fn until_ready(&mut self) -> Vec<Message> {
        let mut all = Vec::new();
        loop {
            let message = self.next().expect("the session goes on");
            let ready = message.tag == b'Z';
            all.push(message);
            if ready {
                return all;
            }
        }
    }

    /// Cancels what the session does, and waits until the server has heard it.
    fn cancel(&self, server: &Server) {
        let mut socket = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        socket.write_all(&[&16_u32.to_be_bytes()[..], &80_877_102_u32.to_be_bytes(), &self.key].concat()).unwrap();
        let _ = socket.read(&mut [0; 1]);
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn in_all_models(test: impl Fn(&str, &Server)) {
    for model in MODELS {
        let server = Server::start(model, false);
        test(&model.name(), &server);
        server.stop();
    }
}

/// More answers of [`flood`] than the buffers of both ends hold.
const QUERIES: usize = 150;

/// Asks for long answers, one query after another, and reads none; so in the end the server cannot send either.
fn flood(wire: &mut Wire) {
    for _ in 0..QUERIES {
        wire.send(&query("select repeat('x', 60000)"));
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(100));
}

/// Reads the answers of [`flood`], none of which may be cut. Answers how many rows there were.
fn drain(wire: &mut Wire, name: &str) -> usize {
    let mut rows = 0;
    for _ in 0..QUERIES {
        for message in wire.until_ready() {
            match message.tag {
                b'D' => {
                    assert!(message.body[6..].iter().all(|&byte| byte == b'x'), "{name}: a row with a hole");
                    rows += 1;
                }
                b'E' => assert!(message.says("57014"), "{name}"),
                b'T' | b'C' | b'Z' => {}
                other => panic!("{name}: a message {other}"),
            }
        }
    }
    rows
}

#[test]
fn a_cancel_while_the_client_does_not_read_breaks_no_answer() {
    in_all_models(|name, server| {
        let mut wire = Wire::open(server);
        flood(&mut wire);
        wire.cancel(server);
        let rows = drain(&mut wire, name);
        assert!(rows >= QUERIES - 1, "{name}: {rows} rows");
    });
}

#[test]
fn who_reads_slowly_is_not_idle() {
    in_all_models(|name, server| {
        let mut wire = Wire::open(server);
        wire.send(&query("set idle_session_timeout = 200"));
        wire.until_ready();
        flood(&mut wire);
        std::thread::sleep(Duration::from_millis(600));
        assert_eq!(drain(&mut wire, name), QUERIES, "{name}");
    });
}

#[test]
fn a_cancel_inside_a_long_message_is_void() {
    in_all_models(|name, server| {
        let mut wire = Wire::open(server);
        let text = query(&format!("select length('{}')", "x".repeat(100_000)));
        wire.send(&text[..50_000]);
        std::thread::sleep(Duration::from_millis(50));
        wire.cancel(server);
        wire.send(&text[50_000..]);
        let answer = wire.until_ready();
        assert!(answer.iter().any(|message| message.tag == b'D' && message.says("100000")), "{name}: no answer");
    });
}

#[test]
fn a_transaction_that_nobody_goes_on_with_is_ended_with_its_own_code() {
    in_all_models(|name, server| {
        let mut wire = Wire::open(server);
        wire.send(&query("set idle_in_transaction_session_timeout = 50"));
        wire.until_ready();
        wire.send(&query("begin"));
        wire.until_ready();
        let last = wire.next().unwrap_or_else(|| panic!("{name}: no reason"));
        assert!(last.says("FATAL") && last.says("25P03"), "{name}: {}", String::from_utf8_lossy(&last.body));
        assert!(wire.next().is_none(), "{name}: the session goes on");
    });
}

#[test]
fn a_deep_query_runs_or_is_refused() {
    in_all_models(|name, server| {
        let mut other = Wire::open(server);
        for depth in [10, 60, 97, 200] {
            for (begin, end) in [("(select ", ")"), ("(select max(a) from deep where a = ", ")")] {
                let mut wire = Wire::open(server);
                wire.send(&query(
                    "create table if not exists deep (a int); truncate deep; insert into deep values (1)",
                ));
                wire.until_ready();
                wire.send(&query(&format!("select {}a{} from deep", begin.repeat(depth), end.repeat(depth))));
                let answer = wire.until_ready();
                let error = answer.iter().find(|message| message.tag == b'E');
                assert!(error.is_none_or(|error| error.says("54001")), "{name}: {begin} {depth}");
                assert!(depth > 10 || error.is_none(), "{name}: {begin} {depth} is refused");
            }
        }
        other.send(&query("select 1"));
        other.until_ready();
    });
}

#[test]
fn a_deep_statement_is_refused_wherever_it_is_parsed() {
    in_all_models(|name, server| {
        for (begin, end) in [("(", ")"), ("(select ", ")"), ("case when true then ", " end"), ("- ", "")] {
            for depth in [100, 5000] {
                let text = format!("explain select {}1{}", begin.repeat(depth), end.repeat(depth));
                let mut wire = Wire::open(server);
                wire.send(&message(b'P', &[b"\0", text.as_bytes(), b"\0\0\0"].concat()));
                wire.send(&message(b'S', b""));
                let answer = wire.until_ready();
                let error = answer.iter().find(|message| message.tag == b'E');
                let refused = error.is_none_or(|error| error.says("54001"));
                assert!(refused, "{name}: {begin} {depth}: {}", String::from_utf8_lossy(&error.unwrap().body));
            }
        }
    });
}
