//! A server on a device that fails: the right errors, nobody is told of what is not so, and service goes on when the device does.
//!
//! By default in two models; all six with `GEARBOX_FULL=1`.

mod support;

use postgres::Client;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use support::server::{MODELS, Model, Server};
use testkit::device::Device;
use testkit::device::fault::{Effect, Fault, Operation};

/// How long anything may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A device with a server on it, which has to be gone before the device is.
struct Machine {
    server: Server,
    device: Device,
    model: Model,
}

impl Machine {
    fn new(model: Model, more: &[&str]) -> Option<Machine> {
        // A device for rings costs time: only where transfers are short and a ring carries them out.
        let mount = if more.contains(&"uring") { Device::mount_for_rings_or_say } else { Device::mount_or_say };
        let device = mount("a server on a device that fails")?;
        let log = PathBuf::from(format!("{}.log", device.root().display()));
        let small = ["--shared-buffers", "2MB", "--max-wal-size", "64MB", "--min-wal-size", "32MB"];
        let more: Vec<&str> = small.iter().chain(more).copied().collect();
        let server = Server::on(device.root().join("data"), log, model, &more);
        Some(Machine { server, device, model })
    }

    /// Starts it, and makes a table.
    fn start(&mut self) -> Client {
        let mut client = self.again();
        client.batch_execute("create table t (n bigint primary key, filler text)").unwrap();
        client
    }

    fn again(&mut self) -> Client {
        match self.server.try_start(|| false) {
            Some(client) => client,
            None => panic!("{} does not start:\n{}", self.model.name(), self.server.said()),
        }
    }

    fn fault(&self, operation: Operation, files: &str, effect: Effect, times: u64) {
        self.device.add(Fault { operation, files: files.into(), effect, times });
    }

    /// Waits until the server lets somebody in who asks again: it may be recovering.
    fn reconnect(&self) -> Client {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.server.log_in("postgres", "", "postgres") {
                Ok(client) => return client,
                Err(error) if Instant::now() > end => panic!("{error}:\n{}", self.server.said()),
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Waits until the server has said all of that.
    #[track_caller]
    fn expect_said(&self, words: &[&str]) {
        let end = Instant::now() + PATIENCE;
        while let Some(word) = words.iter().find(|word| !self.server.said().contains(*word)) {
            let name = self.model.name();
            assert!(Instant::now() < end, "{name}: the server does not say \"{word}\":\n{}", self.server.said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_file(format!("{}.log", self.device.root().display()));
        }
    }
}

fn in_models(test: impl Fn(Machine)) {
    in_models_with(&[], test);
}

fn in_models_with(more: &[&str], test: impl Fn(Machine)) {
    let full = std::env::var_os("GEARBOX_FULL").is_some();
    for model in MODELS.into_iter().filter(|model| full || [MODELS[1], MODELS[5]].contains(model)) {
        let Some(machine) = Machine::new(model, more) else { return };
        test(machine);
    }
}

fn code(error: &postgres::Error) -> &str {
    error.code().map_or("", |code| code.code())
}

/// About four megabytes of rows, and of log.
/// A thousand rows of nearly two kilobytes: longer ones would be compressed.
fn insert(client: &mut Client, from: i64) -> Result<(), postgres::Error> {
    let rows = format!("insert into t select g, repeat('x', 1900) from generate_series({from}, {}) g", from + 999);
    client.batch_execute(&rows)
}

fn count(client: &mut Client) -> i64 {
    client.query_one("select count(*) from t", &[]).unwrap().get(0)
}

#[test]
fn a_full_disk_is_an_error_and_service_goes_on() {
    in_models(|mut machine| {
        for files in ["data/wal", "data/base"] {
            let name = format!("{} {files}", machine.model.name());
            let mut client = if files == "data/wal" { machine.start() } else { machine.reconnect() };
            let before = count(&mut client);
            machine.device.leave_space(files, 0);
            let mut rows = before;
            let error = (0..200).find_map(|_| match insert(&mut client, rows) {
                Ok(()) => {
                    rows += 1000;
                    None
                }
                Err(error) => Some(error),
            });
            let error = error.unwrap_or_else(|| panic!("{name}: four hundred megabytes fit into nothing"));
            assert_eq!(code(&error), "53100", "{name}: {error:?}\n{}", machine.server.said());
            // The session goes on, others come in, and everybody reads.
            assert_eq!(count(&mut client), rows, "{name}");
            assert_eq!(count(&mut machine.reconnect()), rows, "{name}");
            machine.device.repair();
            insert(&mut client, rows).unwrap_or_else(|error| panic!("{name}: {error:?}\n{}", machine.server.said()));
            assert_eq!(count(&mut client), rows + 1000, "{name}");
        }
        let said = machine.server.said();
        assert!(!said.contains("restarts"), "{}: {said}", machine.model.name());
        let rows = count(&mut machine.reconnect());
        machine.server.crash();
        assert_eq!(count(&mut machine.again()), rows, "{}", machine.model.name());
        machine.server.shut_down();
    });
}

#[test]
fn a_read_that_fails_is_an_error_of_who_reads() {
    in_models(|mut machine| {
        let mut client = machine.start();
        insert(&mut client, 0).unwrap();
        drop(client);
        machine.server.shut_down();
        let mut client = machine.again();
        machine.fault(Operation::Read, "data/base", Effect::Error, 1_000_000);
        let error = client.query("select sum(length(filler)) from t", &[]).unwrap_err();
        assert_eq!(code(&error), "58030", "{}: {error:?}", machine.model.name());
        machine.device.repair();
        assert_eq!(count(&mut client), 1000);
        drop(client);
        machine.server.shut_down();
    });
}

#[test]
fn short_transfers_are_gone_on_with() {
    for method in ["workers", "sync", "uring"] {
        in_models_with(&["--io-method", method], |mut machine| {
            // The short form takes each method in one of its models.
            if std::env::var_os("GEARBOX_FULL").is_none() && (machine.model == MODELS[1]) != (method == "workers") {
                return;
            }
            // Each part of a request is slow on a device for rings.
            let times = if method == "uring" { 200 } else { 100_000 };
            let mut client = machine.start();
            for operation in [Operation::Read, Operation::Write] {
                machine.fault(operation, "data/base", Effect::Short, times);
                machine.fault(operation, "data/wal", Effect::Short, times);
            }
            insert(&mut client, 0).unwrap();
            client.batch_execute("checkpoint").unwrap();
            assert_eq!(count(&mut client), 1000);
            drop(client);
            machine.server.crash();
            let mut client = machine.again();
            assert_eq!(count(&mut client), 1000);
            assert!(machine.device.met() > 10, "only {} transfers were short", machine.device.met());
            drop(client);
            machine.server.shut_down();
        });
    }
}

#[test]
fn a_flush_that_fails_stops_the_server_which_says_why() {
    in_models(|mut machine| {
        let mut client = machine.start();
        client.batch_execute("insert into t values (1, 'kept')").unwrap();
        // The file in use: that the next one cannot be made is told, and tried again.
        let log = "data/wal/0000000000000001";
        for (files, statement, words) in [
            (log, "insert into t values (2, 'in doubt') on conflict do nothing", "the log cannot be written"),
            ("data/base", "update t set filler = filler; checkpoint", "a data file cannot be flushed"),
        ] {
            let (met, mut acknowledged) = (machine.device.met(), false);
            machine.fault(Operation::Flush, files, Effect::Error, 1);
            // A session of the server that is about to end may be let in and end: then once more.
            let end = Instant::now() + PATIENCE;
            while machine.device.met() == met {
                assert!(Instant::now() < end, "{} {files}: nothing is flushed", machine.model.name());
                let told = client.batch_execute(statement);
                acknowledged |= told.is_ok();
                if told.is_err() && machine.device.met() == met {
                    client = machine.reconnect();
                }
            }
            machine.expect_said(&[words, "Input/output error", "restarts and recovers"]);
            let kept = loop {
                client = machine.reconnect();
                match client.query_one("select count(*) from t where n = 1 or n = 2", &[]) {
                    Ok(row) => break row.get::<_, i64>(0),
                    Err(error) => assert!(Instant::now() < end, "{error:?}:\n{}", machine.server.said()),
                }
            };
            // The second row is in doubt, unless somebody was told that it is there.
            assert!(kept == 2 || kept == 1 && !(acknowledged && files == log), "{}: {kept}", machine.model.name());
        }
        let end = Instant::now() + PATIENCE;
        while client.batch_execute("insert into t values (3, 'after') on conflict do nothing").is_err() {
            assert!(Instant::now() < end, "{}", machine.server.said());
            client = machine.reconnect();
        }
        drop(client);
        machine.server.shut_down();
    });
}

#[test]
fn a_flipped_bit_in_the_log_is_told_with_its_position() {
    in_models(|mut machine| {
        let mut client = machine.start();
        for n in 0..200 {
            client.execute("insert into t values ($1, repeat('damaged', 10))", &[&(n as i64)]).unwrap();
        }
        drop(client);
        machine.server.crash();
        let path = machine.device.root().join("data/wal/0000000000000001");
        let log = std::fs::read(path).unwrap();
        let rows: Vec<usize> =
            log.windows(14).enumerate().filter(|(_, at)| at == b"damageddamaged").map(|(at, _)| at).collect();
        let at = rows[rows.len() / 2] as u64;
        machine.device.flip("data/wal/0000000000000001", at, 4).unwrap();
        assert!(machine.server.try_start(|| false).is_none(), "{}: it starts", machine.model.name());
        machine.expect_said(&["the log is damaged", "wal/0000000000000001"]);
        // Nothing was changed by the attempt: with the bit as it was everything is there.
        machine.device.flip("data/wal/0000000000000001", at, 4).unwrap();
        let mut client = machine.again();
        assert_eq!(count(&mut client), 200, "{}", machine.model.name());
        drop(client);
        machine.server.shut_down();
    });
}

#[test]
fn a_flipped_bit_in_a_page_is_told_with_page_and_position() {
    in_models(|mut machine| {
        let mut client = machine.start();
        client.batch_execute("insert into t values (1, 'a row to be damaged')").unwrap();
        drop(client);
        machine.server.shut_down();
        let base = machine.device.root().join("data/base");
        let found = std::fs::read_dir(base).unwrap().flatten().find_map(|entry| {
            let bytes = std::fs::read(entry.path()).unwrap();
            let at = bytes.windows(19).position(|window| window == b"a row to be damaged")?;
            Some((entry.file_name().into_string().unwrap(), at as u64))
        });
        let (file, at) = found.expect("the row is in a file");
        machine.device.flip(&format!("data/base/{file}"), at, 1).unwrap();
        let mut client = machine.again();
        let error = client.query("select filler from t", &[]).unwrap_err();
        assert_eq!(code(&error), "XX001", "{}: {error:?}", machine.model.name());
        let error = error.as_db_error().unwrap();
        let told = format!("{} {}", error.message(), error.detail().unwrap_or_default());
        assert!(told.contains(&format!("{file}/{}", at / 8192)) || told.contains(&file), "{told}");
        assert!(told.to_lowercase().contains("lsn") || told.contains("log"), "{told}");
        drop(client);
        machine.server.shut_down();
    });
}

#[test]
fn names_that_cannot_be_made_or_changed_are_tried_again() {
    in_models(|mut machine| {
        let mut client = machine.start();
        machine.fault(Operation::FlushDirectory, "data/base", Effect::Error, 1);
        let error = client.batch_execute("create table u (n int)").unwrap_err();
        assert_eq!(code(&error), "58030", "{}: {error:?}", machine.model.name());
        client.batch_execute("create table u (n int); insert into u values (1)").unwrap();
        // Segments that cannot be renamed, once, and whose names cannot be flushed, once.
        machine.fault(Operation::Rename, "data/wal", Effect::Error, 1);
        machine.fault(Operation::FlushDirectory, "data/wal", Effect::Error, 1);
        for round in 0..32 {
            insert(&mut client, round * 1000).unwrap_or_else(|error| panic!("{error:?}\n{}", machine.server.said()));
            // One of them fails, or two do.
            let _ = client.batch_execute("checkpoint");
        }
        client.batch_execute("checkpoint").unwrap();
        assert!(machine.device.met() >= 2, "{}: no segment was to be renamed", machine.model.name());
        let said = machine.server.said();
        assert!(!said.contains("restarts"), "{}: {said}", machine.model.name());
        let segments = std::fs::read_dir(machine.device.root().join("data/wal")).unwrap().count();
        assert!(segments <= 8, "{}: {segments} segments with max_wal_size = 64MB", machine.model.name());
        drop(client);
        machine.server.crash();
        assert_eq!(count(&mut machine.again()), 32_000, "{}", machine.model.name());
        machine.server.shut_down();
    });
}

#[test]
fn a_database_that_was_just_made_outlives_a_power_cut() {
    for seed in 0..4 {
        let Some(mut machine) = Machine::new(MODELS[5], &[]) else { return };
        let mut client = machine.start();
        client.batch_execute("insert into t values (1, 'kept')").unwrap();
        machine.device.arm(seed, 1_000_000);
        machine.device.cut();
        drop(client);
        machine.server.crash();
        machine.device.power_on();
        assert_eq!(count(&mut machine.again()), 1, "seed {seed}");
        machine.server.shut_down();
    }
}
