//! One of everything, by one client, in each model.

use crate::runner::Test;
use crate::server::{Directory, MODELS, Server, Setup};

pub fn tests(tests: &mut Vec<Test>) {
    for model in MODELS {
        let name = format!("everything_once_{}_{}", model.0, model.1);
        tests.push((name, Box::new(move || everything(&Setup::of(model)))));
    }
}

/// One of everything, by one client.
fn everything(setup: &Setup) {
    let dir = Directory::new();
    let server = Server::start(setup, &dir.0);
    let mut client = server.connect();
    client.ask("table 50");
    for key in 0..300 {
        client.expect(&format!("insert {} {}", key * 7 % 300, key % 10), "ok");
    }
    assert!(client.ask("insert 5 0").starts_with("error 23505"));
    client.expect("get 5", "row 5 0");
    client.expect("get 300", "none");
    client.expect("bump 5", "ok");
    client.expect("set 5 77", "ok");
    client.expect("get 5", "row 77 1");
    client.expect("move 5 500", "ok");
    client.expect("get 5", "none");
    client.expect("get 500", "row 77 1");
    client.expect("values 77 78", "rows 500:77:1");
    client.expect("insert 5 1", "ok");
    client.expect("delete 5", "ok");
    client.expect("delete 5", "none");
    client.expect("check", "checked 300");
    client.expect("begin rr", "ok");
    client.expect("bump 6", "ok");
    client.expect("bump 6", "ok");
    client.expect("delete 6", "ok");
    client.expect("get 6", "none");
    client.expect("insert 6 9", "ok");
    client.expect("get 6", "row 9 0");
    client.expect("lock 7 4", "row 1 0");
    client.expect("abort", "ok");
    client.expect("get 6", "row 8 0");
    client.expect("check", "checked 300");
    for key in 100..200 {
        client.expect(&format!("delete {key}"), "ok");
    }
    client.expect("horizon", "ok");
    let vacuumed = client.ask("vacuum");
    assert!(vacuumed.starts_with("vacuumed "), "{vacuumed}");
    client.expect("check", "checked 200");
    let built = client.ask("build");
    assert!(built.starts_with("built 200 "), "{built}");
    client.expect("check", "checked 200");
    client.expect("load 1000 4000 3", "ok");
    client.expect("check", "checked 3200");
    client.expect("range 998 1003 fwd", "rows 1000:3:0 1001:3:0 1002:3:0");
    client.expect("range 998 1003 bwd", "rows 1002:3:0 1001:3:0 1000:3:0");
    client.expect("drop", "ok");
    server.stop();
}
