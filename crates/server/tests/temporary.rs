//! Temporary tables go with their session, however it ends: by itself, by an administrator, with its process, with the server. And nobody
//! takes those of one session for another's, when sessions come and go.

mod support;

use postgres::Client;
use std::time::{Duration, Instant};
use support::server::{MODELS, Server};

const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until nothing temporary is left but so much.
fn wait_for(client: &mut Client, wanted: i64, what: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let sql = "select count(*) from pg_class where relpersistence = 't' and relkind <> 't'";
        let found: i64 = client.query_one(sql, &[]).unwrap().get(0);
        if found == wanted {
            return;
        }
        assert!(Instant::now() < until, "{what}: {found} temporary relations, not {wanted}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn make(client: &mut Client, value: i32) {
    client
        .batch_execute(&format!(
            "create temp table mine (a int primary key, b text); insert into mine values ({value}, repeat('x', 9000)); \
             create temp view seen as select a from mine"
        ))
        .unwrap();
}

fn value(client: &mut Client) -> i32 {
    client.query_one("select a from seen", &[]).unwrap().get(0)
}

#[test]
fn they_go_with_their_session() {
    for model in MODELS {
        for moving in [false, true] {
            let server = Server::start(model, moving);
            let name = format!("{}, moving: {moving}", model.name());
            let mut watcher = server.connect();
            let mut clients: Vec<Client> = (0..4).map(|_| server.connect()).collect();
            for round in 0..3 {
                for (at, client) in clients.iter_mut().enumerate() {
                    make(client, round * 10 + at as i32);
                }
                for (at, client) in clients.iter_mut().enumerate() {
                    assert_eq!(value(client), round * 10 + at as i32, "{name}");
                }
                wait_for(&mut watcher, 12, &name);
                let error = watcher.query("select * from mine", &[]).unwrap_err();
                assert_eq!(error.code().map(|code| code.code()), Some("42P01"), "{name}");
                // One leaves in the middle of a transaction, one is sent away, and the others just leave.
                clients[0].batch_execute("begin; insert into mine values (-1, 'y')").unwrap();
                let number: i32 = clients[1].query_one("select pg_backend_pid()", &[]).unwrap().get(0);
                let sent: bool = watcher.query_one("select pg_terminate_backend($1)", &[&number]).unwrap().get(0);
                assert!(sent, "{name}");
                clients = (0..4).map(|_| server.connect()).collect();
                wait_for(&mut watcher, 0, &name);
            }
            server.stop();
        }
    }
}

#[test]
fn they_go_although_their_session_is_told_to_end_again() {
    for model in MODELS {
        let directory = std::env::temp_dir().join(format!(
            "gearbox-told-{}-{}",
            std::process::id(),
            model.name().replace('/', "-")
        ));
        std::fs::create_dir_all(&directory).unwrap();
        let mut server = Server::on(directory.join("data"), directory.join("log"), model, &[]);
        let mut watcher = server.try_start(|| false).expect("it starts");
        for _ in 0..15 {
            let mut client = server.connect();
            make(&mut client, 1);
            let number: i32 = client.query_one("select pg_backend_pid()", &[]).unwrap().get(0);
            let telling = watcher.prepare("select pg_terminate_backend($1)").unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| drop(client));
                for _ in 0..4 {
                    watcher.query(&telling, &[&number]).unwrap();
                }
            });
            wait_for(&mut watcher, 0, &model.name());
        }
        assert!(!server.said().contains("stay for a while"), "{}: {}", model.name(), server.said());
        server.stop();
        let _ = std::fs::remove_dir_all(&directory);
    }
}

#[test]
fn they_do_not_outlive_the_server() {
    for model in MODELS {
        let mut server = Server::start(model, false);
        make(&mut server.connect(), 1);
        let mut client = server.connect();
        make(&mut client, 2);
        server.crash();
        server.start_again();
        let mut watcher = server.connect();
        make(&mut watcher, 3);
        assert_eq!(value(&mut watcher), 3, "{}", model.name());
        wait_for(&mut watcher, 3, &model.name());
        server.stop();
    }
}
