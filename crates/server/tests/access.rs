//! Who gets in: the file of rules and its reload, wrong passwords and the pause after them, how many sessions a role may have.

mod support;

use std::path::PathBuf;
use support::server::{MODELS, Server};

fn code(error: &postgres::Error) -> (&str, &str) {
    let error = error.as_db_error().expect("the server says why");
    (error.code().code(), error.message())
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("gearbox-access-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn rules_decide_and_are_reloaded_for_all() {
    let rules = file("rules", "");
    let password = file("password", "sesame\n");
    for model in MODELS {
        let name = model.name();
        std::fs::write(
            &rules,
            "# who may come\n\
             host all postgres samehost scram-sha-256\n\
             host all +staff 127.0.0.0/8 trust\n\
             host nowhere,postgres plain 127.0.0.1 255.255.255.255 password\n\
             host all shut all reject\n",
        )
        .unwrap();
        let options = ["--hba-file", &rules.to_string_lossy(), "--password-file", &password.to_string_lossy()];
        let server = Server::start_with(model, true, &options);
        let mut admin = server.log_in("postgres", "sesame", "postgres").unwrap();
        admin
            .batch_execute(
                "create role staff; create role ann login; grant staff to ann; create role plain login password 'p';
                 create role shut login; create role other login",
            )
            .unwrap();
        server.log_in("ann", "", "postgres").unwrap_or_else(|error| panic!("{name}: {error}"));
        server.log_in("plain", "p", "postgres").unwrap_or_else(|error| panic!("{name}: {error}"));
        let refusals = [
            ("postgres", "x", "28P01", "password authentication failed for user \"postgres\""),
            ("plain", "x", "28P01", "password authentication failed for user \"plain\""),
            (
                "shut",
                "",
                "28000",
                "pg_hba.conf rejects connection for host \"127.0.0.1\", user \"shut\", database \"postgres\", no encryption",
            ),
            (
                "other",
                "",
                "28000",
                "no pg_hba.conf entry for host \"127.0.0.1\", user \"other\", database \"postgres\", no encryption",
            ),
            (
                "nobody",
                "",
                "28000",
                "no pg_hba.conf entry for host \"127.0.0.1\", user \"nobody\", database \"postgres\", no encryption",
            ),
        ];
        for (user, password, sqlstate, message) in refusals {
            let error = server.log_in(user, password, "postgres").err().unwrap();
            assert_eq!(code(&error), (sqlstate, message), "{name}");
        }
        let shown = "select string_agg(concat_ws(' ', line_number, type, array_to_string(database, ','), \
                     array_to_string(user_name, ','), address, netmask, auth_method, error), '; ' order by line_number) \
                     from pg_hba_file_rules";
        let text: String = admin.query_one(shown, &[]).unwrap().get(0);
        assert_eq!(
            text,
            "2 host all postgres samehost scram-sha-256; 3 host all +staff 127.0.0.0 255.0.0.0 trust; \
             4 host nowhere,postgres plain 127.0.0.1 255.255.255.255 password; 5 host all shut all reject",
            "{name}"
        );
        // A file with a mistake changes nothing; the view shows it.
        std::fs::write(&rules, "host all all all trust\nhost all all all open\n").unwrap();
        let reloaded: bool = admin.query_one("select pg_reload_conf()", &[]).unwrap().get(0);
        assert!(!reloaded, "{name}");
        assert!(server.log_in("other", "", "postgres").is_err(), "{name}");
        let text: String = admin.query_one(shown, &[]).unwrap().get(0);
        assert_eq!(text, "1 host all all all trust; 2 invalid authentication method \"open\"", "{name}");
        // One without counts from then on, for every engine.
        std::fs::write(&rules, "host all shut all reject\nhost all all all trust\n").unwrap();
        let reloaded: bool = admin.query_one("select pg_reload_conf()", &[]).unwrap().get(0);
        assert!(reloaded, "{name}");
        for _ in 0..6 {
            server.log_in("other", "", "postgres").unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert!(server.log_in("shut", "", "postgres").is_err(), "{name}");
        let mut stranger = server.log_in("other", "", "postgres").unwrap();
        for sql in ["select pg_reload_conf()", "select * from pg_hba_file_rules", "select * from gearbox.failed_logins"]
        {
            let error = stranger.simple_query(sql).unwrap_err();
            assert_eq!(code(&error).0, "42501", "{name}: {sql}");
        }
        server.stop();
    }
    let _ = (std::fs::remove_file(rules), std::fs::remove_file(password));
}

#[test]
fn a_server_with_wrong_rules_does_not_start() {
    let rules = file("wrong", "host all all all trust\nhost all all all open\n");
    let server = Server::start(MODELS[5], false);
    let said = server.refused_start(&[
        "--data",
        &server.data().join("other").to_string_lossy(),
        "--hba-file",
        &rules.to_string_lossy(),
    ]);
    assert!(said.contains("line 2: invalid authentication method \"open\""), "{said}");
    server.stop();
    let _ = std::fs::remove_file(rules);
}

#[test]
fn guessing_takes_longer_and_longer_whoever_is_guessed() {
    let password = file("guessed", "sesame\n");
    for model in MODELS {
        let name = model.name();
        let options = [
            "--password-file",
            &password.to_string_lossy(),
            "--failed-login-limit",
            "2",
            "--failed-login-delay",
            "60s",
        ];
        let server = Server::start_with(model, false, &options);
        let mut admin = server.log_in("postgres", "sesame", "postgres").unwrap();
        admin.batch_execute("create role ann login password 'a'; create role bob login password 'b'").unwrap();
        // A right one in between forgets the wrong ones before it.
        for _ in 0..2 {
            for _ in 0..2 {
                assert_eq!(code(&server.log_in("bob", "x", "postgres").err().unwrap()).0, "28P01", "{name}");
            }
            server.log_in("bob", "b", "postgres").unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        for user in ["ann", "nobody"] {
            let answers: Vec<_> = (0..5)
                .map(|_| {
                    let error = server.log_in(user, "x", "postgres").err().unwrap();
                    let (sqlstate, message) = code(&error);
                    (sqlstate.to_owned(), message.replace(user, "?"))
                })
                .collect();
            let wrong = ("28P01".to_owned(), "password authentication failed for user \"?\"".to_owned());
            let shut = ("28000".to_owned(), "too many failed log-ins".to_owned());
            assert_eq!(answers, [&wrong, &wrong, &wrong, &shut, &shut].map(Clone::clone), "{name}: {user}");
        }
        let error = server.log_in("ann", "a", "postgres").err().expect("a right password is not looked at either");
        assert_eq!(code(&error).1, "too many failed log-ins", "{name}");
        server.log_in("bob", "b", "postgres").unwrap_or_else(|error| panic!("{name}: others get in: {error}"));
        let shown = "select string_agg(concat_ws(' ', address, role, failures, refused_until > now()), '; ' order by role nulls first) \
                     from gearbox.failed_logins";
        let text: String = admin.query_one(shown, &[]).unwrap().get(0);
        assert_eq!(text, "127.0.0.1 10; 127.0.0.1 ann 3 t; 127.0.0.1 nobody 3 t", "{name}");
        server.stop();
    }
    let _ = std::fs::remove_file(password);
}

/// Many come at one moment; as many as may get in do.
#[test]
fn a_role_s_sessions_are_counted_exactly() {
    for model in MODELS {
        let server = Server::start(model, false);
        server.connect().batch_execute("create role few login connection limit 3").unwrap();
        for _ in 0..5 {
            let server = &server;
            let clients: Vec<_> = std::thread::scope(|scope| {
                let comers: Vec<_> =
                    (0..12).map(|_| scope.spawn(move || server.log_in("few", "", "postgres"))).collect();
                comers.into_iter().map(|comer| comer.join().unwrap()).collect()
            });
            let inside = clients.iter().filter(|client| client.is_ok()).count();
            assert_eq!(inside, 3, "{}", model.name());
            let mut refused = clients.iter().filter_map(|client| client.as_ref().err());
            assert!(refused.all(|error| code(error).0 == "53300"), "{}", model.name());
            drop(clients);
            // Those who have left are gone, as soon as that is found out.
            let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
            let mut admin = server.connect();
            let left = "select count(*) from pg_stat_activity where usename = 'few'";
            while admin.query_one(left, &[]).unwrap().get::<_, i64>(0) > 0 {
                assert!(std::time::Instant::now() < end, "sessions stay");
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
        server.stop();
    }
}

/// A socket of the file system: who the system says one is, one is.
#[test]
fn sockets_of_the_file_system_know_who_comes() {
    let own = {
        let output = std::process::Command::new("id").arg("-un").output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let directory = std::env::temp_dir().join(format!("gearbox-socket-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let rules = file("local", "local all all peer\nhost all postgres all trust\nhost all all all reject\n");
    for model in MODELS {
        let name = model.name();
        let options =
            ["--hba-file", &rules.to_string_lossy(), "--unix-socket-directories", &directory.to_string_lossy()];
        let server = Server::start_with(model, true, &options);
        let mut admin = server.connect();
        admin.batch_execute(&format!("create role \"{own}\" login; create role other login")).unwrap();
        let local = |user: &str| {
            let mut config = postgres::Config::new();
            config.host_path(&directory).port(server.port()).user(user).dbname("postgres").connect(postgres::NoTls)
        };
        let mut client = local(&own).unwrap_or_else(|error| panic!("{name}: {error}"));
        for _ in 0..5 {
            let user: String = client.query_one("select current_user::text", &[]).unwrap().get(0);
            assert_eq!(user, own, "{name}");
        }
        let error = local("other").err().unwrap();
        assert_eq!(code(&error), ("28000", "Peer authentication failed for user \"other\""), "{name}");
        assert!(server.log_in(&own, "", "postgres").is_err(), "{name}: over the network it is refused");
        // A signal has the rules read again.
        std::fs::write(&rules, "local all all trust\nhost all postgres all trust\n").unwrap();
        std::process::Command::new("kill").args(["-HUP", &server.pid().to_string()]).status().unwrap();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while local("other").is_err() {
            assert!(std::time::Instant::now() < end, "{name}: the rules were not read again");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        std::fs::write(&rules, "local all all peer\nhost all postgres all trust\nhost all all all reject\n").unwrap();
        let socket = directory.join(format!(".s.PGSQL.{}", server.port()));
        assert!(socket.exists(), "{name}");
        server.stop();
        assert!(!socket.exists(), "{name}: it is left behind");
    }
    let _ = (std::fs::remove_file(rules), std::fs::remove_dir_all(directory));
}

/// One's own sessions may be ended, and those of others by who is in `pg_signal_backend`; a superuser's by superusers alone.
#[test]
fn sessions_are_ended_by_those_who_may() {
    for model in MODELS {
        let name = model.name();
        let server = Server::start(model, true);
        let mut admin = server.connect();
        admin
            .batch_execute(
                "create role ann login; create role bob login; create role warden login in role pg_signal_backend",
            )
            .unwrap();
        let pid =
            |client: &mut postgres::Client| client.query_one("select pg_backend_pid()", &[]).unwrap().get::<_, i32>(0);
        let log_in = |user| server.log_in(user, "", "postgres").unwrap();
        let (mut ann, mut other, mut bob, mut warden) = (log_in("ann"), log_in("ann"), log_in("bob"), log_in("warden"));
        let (of_admin, of_ann, of_other) = (pid(&mut admin), pid(&mut ann), pid(&mut other));
        let ends = |client: &mut postgres::Client, pid: i32| {
            let answer = client.query_one("select pg_terminate_backend($1)", &[&pid]);
            answer.map(|row| row.get::<_, bool>(0)).map_err(|error| code(&error).1.to_owned())
        };
        let member = "must be a member of the role whose process is being terminated or member of pg_signal_backend";
        assert_eq!(ends(&mut bob, of_ann), Err(member.to_owned()), "{name}");
        let superuser = "must be a superuser to terminate superuser process";
        assert_eq!(ends(&mut warden, of_admin), Err(superuser.to_owned()), "{name}");
        assert_eq!(ends(&mut ann, of_other), Ok(true), "{name}");
        assert_eq!(ends(&mut warden, of_ann), Ok(true), "{name}");
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while admin
            .query_one("select count(*) from pg_stat_activity where usename = 'ann'", &[])
            .unwrap()
            .get::<_, i64>(0)
            > 0
        {
            assert!(std::time::Instant::now() < end, "{name}: they go on");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        server.stop();
    }
}
