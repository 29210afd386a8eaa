//! `LISTEN` and `NOTIFY` among sessions: who is told what, in which order and when, whatever carries the sessions.

mod support;

use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, SimpleQueryMessage};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use support::server::{MODELS, Server};

/// How long a notification may be under way on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long is waited for one that must not come.
const SHORT: Duration = Duration::from_millis(150);

/// The next so many notifications: sender, channel, payload.
fn told(client: &mut Client, count: usize) -> Vec<(i32, String, String)> {
    let mut notifications = client.notifications();
    let mut iter = notifications.timeout_iter(PATIENCE);
    let mut all = Vec::new();
    while all.len() < count {
        let one = iter.next().unwrap().unwrap_or_else(|| panic!("only {all:?} of {count} came"));
        all.push((one.process_id(), one.channel().to_owned(), one.payload().to_owned()));
    }
    all
}

/// Payloads alone.
fn payloads(client: &mut Client, count: usize) -> Vec<String> {
    told(client, count).into_iter().map(|(.., payload)| payload).collect()
}

fn is_told_nothing(client: &mut Client) {
    let more = client.notifications().timeout_iter(SHORT).next().unwrap();
    assert!(more.is_none(), "{more:?}");
}

fn number(client: &mut Client) -> i32 {
    client.query_one("select pg_backend_pid()", &[]).unwrap().get(0)
}

fn in_all_models(mut test: impl FnMut(&Server)) {
    for (model, moving) in MODELS.iter().flat_map(|model| [(model, false), (model, true)]) {
        eprintln!("{}, moving: {moving}", model.name());
        let server = Server::start(*model, moving);
        test(&server);
        server.stop();
    }
}

#[test]
fn sessions_that_listen_are_told() {
    in_all_models(|server| {
        let (mut a, mut b, mut c) = (server.connect(), server.connect(), server.connect());
        let sender = number(&mut b);
        a.batch_execute("listen first; listen second").unwrap();
        c.batch_execute("listen other").unwrap();

        // Parked, it is told at once.
        b.batch_execute("notify first, 'hello'").unwrap();
        assert_eq!(told(&mut a, 1), [(sender, "first".into(), "hello".into())]);
        b.execute("select pg_notify('second', 'by a function')", &[]).unwrap();
        assert_eq!(told(&mut a, 1), [(sender, "second".into(), "by a function".into())]);

        // One transaction: in order, none twice, nothing of what was taken back.
        b.batch_execute(
            "begin; notify first, '1'; notify second, '2'; notify first, '1'; savepoint s; notify first, 'lost'; \
             notify first, '2'; rollback to s; notify first, '3'; release s; notify first; commit",
        )
        .unwrap();
        let expected = [("first", "1"), ("second", "2"), ("first", "3"), ("first", "")];
        let came: Vec<(String, String)> = told(&mut a, 4).into_iter().map(|(_, name, text)| (name, text)).collect();
        assert_eq!(came, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
        b.batch_execute("begin; notify first, 'never'; rollback").unwrap();
        b.batch_execute("begin; notify first, 'never'; select 1 / 0").unwrap_err();
        b.batch_execute("rollback").unwrap();
        is_told_nothing(&mut a);

        // Nothing before the commit, and nothing inside the listener's own transaction.
        b.batch_execute("begin; notify first, 'later'").unwrap();
        is_told_nothing(&mut a);
        a.batch_execute("begin; select 1").unwrap();
        b.batch_execute("commit").unwrap();
        a.batch_execute("select 2").unwrap();
        is_told_nothing(&mut a);
        a.batch_execute("commit").unwrap();
        assert_eq!(payloads(&mut a, 1), ["later"]);

        // Itself, before it is ready for the next statement.
        a.batch_execute("notify first, 'to myself'").unwrap();
        let own = number(&mut a);
        assert_eq!(told(&mut a, 1), [(own, "first".into(), "to myself".into())]);

        // LISTEN and UNLISTEN count from their commit.
        a.batch_execute("begin; unlisten first; listen third").unwrap();
        b.batch_execute("notify third, 'too early'; notify first, 'still'").unwrap();
        a.batch_execute("commit").unwrap();
        b.batch_execute("notify first, 'gone'; notify third, 'now'").unwrap();
        // What was sent during the transaction is looked at behind its commit, by then with the new channels: as in PostgreSQL.
        assert_eq!(payloads(&mut a, 2), ["too early", "now"]);
        a.batch_execute("begin; listen fourth; rollback").unwrap();
        a.batch_execute("unlisten *").unwrap();
        b.batch_execute("notify second, 'nobody'; notify fourth, 'nobody'").unwrap();
        is_told_nothing(&mut a);

        // Another channel all the time.
        is_told_nothing(&mut c);
        b.batch_execute("notify other, 'at last'").unwrap();
        assert_eq!(payloads(&mut c, 1), ["at last"]);
    });
}

#[test]
fn all_listeners_see_the_order_of_commits() {
    const EACH: usize = 60;
    const SENDERS: usize = 3;
    in_all_models(|server| {
        let mut setup = server.connect();
        setup.batch_execute("create table noted (n int)").unwrap();
        let mut listeners: Vec<Client> = (0..3).map(|_| server.connect()).collect();
        listeners.iter_mut().for_each(|client| client.batch_execute("listen c").unwrap());
        std::thread::scope(|scope| {
            for sender in 0..SENDERS {
                scope.spawn(move || {
                    let mut client = server.connect();
                    for number in 0..EACH {
                        // Every other one changes something, too.
                        let change = if number % 2 == 0 { "insert into noted values (1);" } else { "" };
                        let text = format!("begin; {change} notify c, '{sender} {number}'; commit");
                        client.batch_execute(&text).unwrap();
                    }
                });
            }
        });
        let all: Vec<Vec<String>> = listeners.iter_mut().map(|client| payloads(client, EACH * SENDERS)).collect();
        assert!(all.iter().all(|one| *one == all[0]), "listeners do not agree about the order");
        for sender in 0..SENDERS {
            let prefix = format!("{sender} ");
            let mine: Vec<&String> = all[0].iter().filter(|text| text.starts_with(&prefix)).collect();
            let expected: Vec<String> = (0..EACH).map(|number| format!("{sender} {number}")).collect();
            assert!(mine.into_iter().eq(expected.iter()), "{:?}", all[0]);
        }
    });
}

/// A connection that is spoken to by bytes.
struct Raw(TcpStream);

impl Raw {
    fn connect(server: &Server) -> Raw {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut body = 196_608_i32.to_be_bytes().to_vec();
        body.extend_from_slice(b"user\0postgres\0database\0postgres\0\0");
        stream.write_all(&(body.len() as i32 + 4).to_be_bytes()).unwrap();
        stream.write_all(&body).unwrap();
        let mut raw = Raw(stream);
        raw.until(b'Z');
        raw
    }

    fn ask(&mut self, text: &str) {
        let mut message = vec![b'Q'];
        message.extend_from_slice(&(text.len() as i32 + 5).to_be_bytes());
        message.extend_from_slice(text.as_bytes());
        message.push(0);
        self.0.write_all(&message).unwrap();
    }

    /// Reads messages up to one with this tag, whose body is answered; none if the connection ends first.
    fn find(&mut self, tag: u8) -> Option<Vec<u8>> {
        loop {
            let mut head = [0; 5];
            self.0.read_exact(&mut head).ok()?;
            let length = i32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4;
            let mut body = vec![0; length];
            self.0.read_exact(&mut body).ok()?;
            if head[0] == tag {
                return Some(body);
            }
        }
    }

    fn until(&mut self, tag: u8) {
        self.find(tag).expect("the message comes");
    }
}

/// More than the queue and all buffers of a connection hold.
const TOO_MANY: usize = 5000;

fn send_many(client: &mut Client, count: usize) -> Result<(), postgres::Error> {
    const AT_ONCE: usize = 50;
    for first in (0..count).step_by(AT_ONCE) {
        let last = (first + AT_ONCE).min(count) - 1;
        client.batch_execute(&format!(
            "select pg_notify('c', g || repeat('.', 7900)) from generate_series({first}, {last}) g"
        ))?;
    }
    Ok(())
}

#[test]
fn a_client_that_does_not_read_stops_nobody() {
    for model in MODELS {
        eprintln!("{}", model.name());
        let server = Server::start(model, false);
        let mut stuck = Raw::connect(&server);
        stuck.ask("listen c");
        stuck.until(b'Z');
        let mut reader = server.connect();
        reader.batch_execute("listen c").unwrap();
        let mut sender = server.connect();
        std::thread::scope(|scope| {
            let sent = scope.spawn(|| send_many(&mut sender, TOO_MANY));
            let came = payloads(&mut reader, TOO_MANY);
            let numbers = came.iter().map(|text| text.trim_end_matches('.').to_owned());
            assert!(numbers.eq((0..TOO_MANY).map(|number| number.to_string())), "{}: not all in order", model.name());
            sent.join().unwrap().unwrap();
        });
        // It hears why it ends, behind what was sent to it.
        let error = stuck.find(b'E').expect("an error ends the session");
        assert!(String::from_utf8_lossy(&error).contains("53400"), "{}", model.name());
        let usage: f64 = sender.query_one("select pg_notification_queue_usage()", &[]).unwrap().get(0);
        assert_eq!(usage, 0.0, "{}", model.name());
        server.stop();
    }
}

#[test]
fn a_listener_in_a_transaction_fills_the_queue() {
    for model in MODELS {
        eprintln!("{}", model.name());
        let server = Server::start(model, false);
        let (mut listener, mut sender) = (server.connect(), server.connect());
        listener.batch_execute("listen c").unwrap();
        listener.batch_execute("begin; select 1").unwrap();
        let error = send_many(&mut sender, TOO_MANY).expect_err("the queue is full");
        assert_eq!(error.code().map(|code| code.code()), Some("54000"), "{}", model.name());
        let usage: f64 = sender.query_one("select pg_notification_queue_usage()", &[]).unwrap().get(0);
        assert!(usage > 0.9 && usage <= 1.0, "{}: {usage}", model.name());
        // What fails takes its transaction along.
        let text = "begin; create table made (a int); select pg_notify('c', g || repeat('.', 7900)) \
                    from generate_series(1, 50) g; commit";
        sender.batch_execute(text).expect_err("the queue is full still");
        sender.batch_execute("rollback").unwrap();
        sender.batch_execute("select * from made").expect_err("it was not committed");
        listener.batch_execute("commit").unwrap();
        assert!(payloads(&mut listener, 2000).len() == 2000);
        sender.batch_execute("notify c, 'again'").unwrap();
        while payloads(&mut listener, 1) != ["again"] {}
        // One that is larger than the queue.
        let text = format!("select pg_notify('c', g || repeat('.', 7900)) from generate_series(1, {TOO_MANY}) g");
        let error = sender.batch_execute(&text).expect_err("it has no room ever");
        assert_eq!(error.code().map(|code| code.code()), Some("54000"), "{}", model.name());
        server.stop();
    }
}

/// The process that runs, or ran last, the session of that number.
fn process_of(client: &mut Client, number: i32) -> String {
    let text = format!("select os_pid from gearbox.engines where current_pid = {number}");
    let rows = client.simple_query(&text).unwrap();
    let row = rows.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    row.expect("an engine runs the session")
}

#[test]
fn the_death_of_a_host_leaves_other_listeners_alone() {
    for model in MODELS.into_iter().filter(|model| model.name() == "process/dedicated") {
        let server = Server::start(model, false);
        let (mut listener, mut victim, mut sender) = (server.connect(), server.connect(), server.connect());
        listener.batch_execute("listen c").unwrap();
        victim.batch_execute("listen c").unwrap();
        victim.batch_execute("begin; notify c, 'of the dead'").unwrap();
        let number = number(&mut victim);
        let process = process_of(&mut sender, number);
        let killed = std::process::Command::new("kill").args(["-9", &process]).status().unwrap();
        assert!(killed.success());
        victim.batch_execute("commit").unwrap_err();
        sender.batch_execute("notify c, 'of the living'").unwrap();
        assert_eq!(payloads(&mut listener, 1), ["of the living"]);
        server.stop();
    }
}
