//! What the server says when its directory is not what it should be: in use, of another version, damaged; and that others go on.

mod support;

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use support::server::{MODELS, Model, Server};

const MARK: &[u8] = b"a row to be damaged";
const PAGE: u64 = 8192;

/// The file of the table that has the mark in it.
fn file_with_mark(server: &Server) -> (PathBuf, u64) {
    for entry in std::fs::read_dir(server.data().join("base")).unwrap().flatten() {
        let content = std::fs::read(entry.path()).unwrap();
        if let Some(at) = content.windows(MARK.len()).position(|window| window == MARK) {
            return (entry.path(), at as u64);
        }
    }
    panic!("no file has the row in it");
}

#[test]
fn a_damaged_page_is_told_and_others_go_on() {
    for model in MODELS {
        damaged_page(model);
    }
}

fn damaged_page(model: Model) {
    let name = model.name();
    let mut server = Server::start(model, false);
    server
        .connect()
        .batch_execute(
            "create table damaged (t text); insert into damaged select repeat('x', 700) from generate_series(1, 200);
             insert into damaged values ('a row to be damaged');
             create table other (n int); insert into other values (1)",
        )
        .unwrap();
    server.shut_down();
    let (path, at) = file_with_mark(&server);
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    file.write_all_at(b"X", at).unwrap();
    server.start_again();
    let mut client = server.connect();
    let error = client.query("select * from damaged", &[]).unwrap_err();
    let error = error.as_db_error().unwrap_or_else(|| panic!("{name}: {error}"));
    assert_eq!(error.code().code(), "XX001", "{name}: {error}");
    let told = format!("{} {}", error.message(), error.detail().unwrap_or_default());
    assert!(told.contains(&format!("{}", at / PAGE)), "{name}: the page's number is not told: {told}");
    assert_eq!(client.query_one("select n from other", &[]).unwrap().get::<_, i32>(0), 1, "{name}");
    // The session that met it goes on, and so does a writer elsewhere.
    client.execute("insert into other values (2)", &[]).unwrap();
    drop(client);
    server.shut_down();
}

#[test]
fn a_directory_that_cannot_be_used_is_refused_with_advice() {
    let mut server = Server::start(MODELS[5], false);
    let told = server.refused_start(&[]);
    assert!(told.contains("another server uses the data directory") && told.contains("Hint:"), "{told}");
    assert!(server.connect().batch_execute("select 1").is_ok(), "the first server is not disturbed");
    server.shut_down();
    std::fs::write(server.data().join("GEARBOX_VERSION"), "99\n").unwrap();
    let told = server.refused_start(&[]);
    assert!(told.contains("is of another version") && told.contains("99") && told.contains("Hint:"), "{told}");
    std::fs::remove_file(server.data().join("GEARBOX_VERSION")).unwrap();
    let told = server.refused_start(&[]);
    assert!(told.contains("is not a data directory of Gearbox") && told.contains("Hint:"), "{told}");
}

#[test]
fn a_wrong_setting_is_refused_by_name() {
    let server = Server::start(MODELS[5], false);
    for (options, words) in [
        (&["--shared-buffers", "many"][..], "shared_buffers"),
        (&["--engine", "coroutine"], "engine"),
        (&["--no-such-thing", "1"], "no-such-thing"),
        (&["--max-connections", "-5"], "max_connections"),
    ] {
        let told = server.refused_start(options);
        assert!(told.contains(words), "{options:?}: {told}");
    }
    let mut client = server.connect();
    let error = client.batch_execute("set work_mem = 'much'").unwrap_err();
    assert_eq!(error.code().map(|code| code.code()), Some("22023"), "{error}");
    let error = client.batch_execute("set no_such_thing = 1").unwrap_err();
    assert_eq!(error.code().map(|code| code.code()), Some("42704"), "{error}");
    server.stop();
}
