//! Coming in, in each execution model: with and without a password, and what is told to those who may not, or do not speak
//! the protocol. Whatever one client does, another one is served.

mod support;

use postgres::error::SqlState;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use support::server::{MODELS, Server};

fn code(error: &postgres::Error) -> (&str, &str) {
    let error = error.as_db_error().expect("the server says why");
    (error.code().code(), error.message())
}

/// What the server answers to these bytes before it closes, or within a second.
fn say(server: &Server, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        answer.extend_from_slice(&piece[..count]);
    }
    answer
}

fn contains(answer: &[u8], text: &str) -> bool {
    answer.windows(text.len()).any(|window| window == text.as_bytes())
}

fn startup() -> Vec<u8> {
    let body = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    [&(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

#[test]
fn without_a_password_the_superuser_gets_in_from_this_machine() {
    for model in MODELS {
        for moving in [false, true] {
            let server = Server::start(model, moving);
            server.log_in("postgres", "", "postgres").expect("no password is asked for");
            let error = server.log_in("nobody", "", "postgres").err().unwrap();
            assert_eq!(code(&error), ("28000", "role \"nobody\" does not exist"), "{}", model.name());
            let error = server.log_in("postgres", "", "elsewhere").err().unwrap();
            assert_eq!(code(&error), ("3D000", "database \"elsewhere\" does not exist"), "{}", model.name());
            server.stop();
        }
    }
}

/// A request to cancel is a connection of its own: it needs no place among those that are let in.
#[test]
fn a_full_server_refuses_in_words_and_hears_who_wants_to_cancel() {
    for model in MODELS {
        let name = model.name();
        let server = Server::start_with(model, false, &["--max-connections", "6"]);
        let mut clients: Vec<_> = (0..6).map(|_| server.connect()).collect();
        let error = server.log_in("postgres", "", "postgres").err().unwrap();
        assert_eq!(code(&error), ("53300", "sorry, too many clients already"), "{name}");
        // Who has not said who he is has no place.
        let _arriving = [0, 1].map(|_| TcpStream::connect(("127.0.0.1", server.port())).unwrap());
        let places =
            "select total || ' ' || num_active || ' ' || max_used from gearbox.resources where name = 'connections'";
        let places: String = clients[0].query_one(places, &[]).unwrap().get(0);
        assert_eq!(places, "6 6 6", "{name}");
        let mut busy = clients.pop().unwrap();
        let token = busy.cancel_token();
        let begins = std::time::Instant::now();
        let sleeper = std::thread::spawn(move || busy.batch_execute("select pg_sleep(20)").unwrap_err());
        while !sleeper.is_finished() && begins.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(50));
            token.cancel_query(postgres::NoTls).unwrap();
        }
        assert_eq!(code(&sleeper.join().unwrap()).0, "57014", "{name}");
        // Its client has left: there is a place again, as soon as that is found out.
        let left = std::time::Instant::now();
        while server.log_in("postgres", "", "postgres").is_err() {
            assert!(left.elapsed() < Duration::from_secs(5), "{name}: the place of a client that has left is not free");
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(clients);
        server.stop();
    }
}

#[test]
fn with_a_password_nobody_learns_who_exists() {
    let file = std::env::temp_dir().join(format!("gearbox-password-{}", std::process::id()));
    std::fs::write(&file, "päss wörd\n").unwrap();
    for model in MODELS {
        let server = Server::start_with(model, true, &["--password-file", &file.to_string_lossy()]);
        server.log_in("postgres", "päss wörd", "postgres").expect("the password is right");
        for user in ["postgres", "nobody"] {
            let error = server.log_in(user, "guess", "postgres").err().unwrap();
            assert_eq!(error.code(), Some(&SqlState::INVALID_PASSWORD));
            assert_eq!(
                code(&error).1,
                format!("password authentication failed for user \"{user}\""),
                "{}",
                model.name()
            );
        }
        server.stop();
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn bad_bytes_are_answered_and_disturb_nobody() {
    for model in MODELS {
        let server = Server::start(model, false);
        let bystander = server.log_in("postgres", "", "postgres").unwrap();
        let name = model.name();
        assert!(contains(&say(&server, b"GET / HTTP/1.1\r\n\r\n"), "C08P01"), "{name}: another protocol");
        assert!(
            contains(&say(&server, &[0, 0, 0, 8, 0, 2, 0, 0]), "unsupported frontend protocol"),
            "{name}: version 2"
        );
        assert!(contains(&say(&server, &[0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 0]), "C08P01"), "{name}: a length of 2 GiB");
        let answer = say(&server, &[startup(), b"?\0\0\0\x04".to_vec()].concat());
        assert!(contains(&answer, "invalid frontend message type 63"), "{name}: an unknown message");
        let answer = say(&server, &[startup(), b"S\xff\xff\xff\xff".to_vec()].concat());
        assert!(contains(&answer, "invalid message length"), "{name}: a length that cannot be");
        // A malformed body fails its statement only: the session goes on after Sync, and takes leave.
        let parse = b"P\0\0\0\x08abcd".to_vec();
        let answer = say(&server, &[startup(), parse, b"S\0\0\0\x04".to_vec(), b"X\0\0\0\x04".to_vec()].concat());
        assert!(contains(&answer, "C08P01") && answer.ends_with(b"Z\0\0\0\x05I"), "{name}: a malformed Parse");
        // Half a message, and gone; a byte at a time.
        drop(say_and_leave(&server, &startup()[..7]));
        let mut slow = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        for byte in startup() {
            slow.write_all(&[byte]).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut first = [0; 1];
        slow.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"R", "{name}: a byte at a time");
        assert!(!bystander.is_closed(), "{name}: the bystander");
        server.log_in("postgres", "", "postgres").expect("others are let in");
        server.stop();
    }
}

fn say_and_leave(server: &Server, bytes: &[u8]) -> std::io::Result<()> {
    TcpStream::connect(("127.0.0.1", server.port()))?.write_all(bytes)
}

/// Roles that users have made: with a password and without, and those that may not.
#[test]
fn other_roles_get_in_with_what_they_may() {
    for model in MODELS {
        let (server, name) = (Server::start(model, true), model.name());
        let mut owner = server.connect();
        owner
            .batch_execute(
                "create role open login; create role secret login password 'open sesame'; create role closed;
                 create role late login password 'x' valid until '2020-01-01'; create role one login connection limit 1;
                 create role outside login; create table t (a int); grant select on t to open;
                 revoke connect on database postgres from public;
                 grant connect on database postgres to open, secret, late, one",
            )
            .unwrap();
        let mut open = server.log_in("open", "", "postgres").expect("it has no password");
        let row = open.query_one("select current_user::text, session_user::text", &[]).unwrap();
        assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("open", "open"), "{name}");
        assert_eq!(open.query_one("select count(*) from t", &[]).unwrap().get::<_, i64>(0), 0);
        let error = open.batch_execute("insert into t values (1)").unwrap_err();
        assert_eq!(code(&error), ("42501", "permission denied for table t"), "{name}");
        let error = open.batch_execute("set session authorization postgres").unwrap_err();
        assert_eq!(code(&error).0, "42501", "{name}");
        // What was prepared is looked at again.
        let prepared = open.prepare("select a from t").unwrap();
        assert!(open.query(&prepared, &[]).unwrap().is_empty());
        owner.batch_execute("revoke select on t from open").unwrap();
        let error = open.query(&prepared, &[]).unwrap_err();
        assert_eq!(code(&error), ("42501", "permission denied for table t"), "{name}");
        // Others' queries are nothing for it.
        let seen = open.query("select query from pg_stat_activity where usename = 'postgres'", &[]).unwrap();
        assert!(seen.iter().all(|row| row.get::<_, &str>(0) == "<insufficient privilege>"), "{name}");
        server.log_in("secret", "open sesame", "postgres").expect("the password is right");
        for (role, password, state) in [
            ("secret", "guess", "28P01"),
            ("late", "x", "28P01"),
            ("closed", "", "28000"),
            ("nobody", "", "28000"),
            ("outside", "", "42501"),
        ] {
            let error = server.log_in(role, password, "postgres").err().unwrap();
            assert_eq!(code(&error).0, state, "{name}: {role}");
        }
        let first = server.log_in("one", "", "postgres").expect("one may come in");
        let error = server.log_in("one", "", "postgres").err().unwrap();
        assert_eq!(code(&error), ("53300", "too many connections for role \"one\""), "{name}");
        drop(first);
        server.stop();
    }
}
