//! Databases, with sessions in several of them: nobody sees another one's objects, locks or notifications; who may come in; what dropping one
//! waits for, and what is left when the server dies meanwhile.

mod support;

use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Error};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use support::server::{MODELS, Server};

const PATIENCE: Duration = Duration::from_secs(60);
/// How long is waited for what must not come.
const SHORT: Duration = Duration::from_millis(150);

fn in_all_models(test: impl Fn(&mut Server, &str)) {
    for (model, moving) in MODELS.iter().flat_map(|model| [(model, false), (model, true)]) {
        let name = format!("{}, moving: {moving}", model.name());
        let mut server = Server::start(*model, moving);
        test(&mut server, &name);
        server.stop();
    }
}

fn enter(server: &Server, database: &str) -> Client {
    server.log_in("postgres", "", database).unwrap_or_else(|error| panic!("into {database}: {error}"))
}

/// Carries out statements, each on its own: databases are not made or dropped with others in one text. There is no `;` within one.
fn each(client: &mut Client, statements: &str) {
    for statement in statements.split(';').filter(|statement| !statement.trim().is_empty()) {
        client.batch_execute(statement).unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
}

/// SQLSTATE and message of an error.
fn refused<T>(outcome: Result<T, Error>) -> (String, String) {
    let Err(error) = outcome else { panic!("was to be refused") };
    let error = error.as_db_error().unwrap_or_else(|| panic!("the server did not say why: {error:?}"));
    (error.code().code().to_owned(), error.message().to_owned())
}

fn text(client: &mut Client, sql: &str) -> String {
    client.query_one(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0)
}

fn count(client: &mut Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0)
}

/// Waits until a count is what it should be.
fn wait_for(client: &mut Client, sql: &str, wanted: i64, name: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let found = count(client, sql);
        if found == wanted {
            return;
        }
        assert!(Instant::now() < until, "{name}: {sql}: {found}, not {wanted}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Objects of one name and different shapes, in one database.
fn furnish(client: &mut Client, word: &str, columns: &str) {
    client
        .batch_execute(&format!(
            "create schema s; create table s.t (a int, {columns}); create table t (a int primary key, {columns});
             insert into t (a) select g from generate_series(1, {length}) g;
             create view v as select '{word}' as word, count(*) as rows from t;
             create type mood as enum ('{word}', 'other'); create table moods (m mood); insert into moods values ('{word}');
             create sequence q start {length};
             create function told() returns text language plpgsql as 'begin return ''{word}''; end';
             create procedure p(inout w text) language plpgsql as 'begin w := told(); end';
             comment on schema public is '{word}'; grant create on schema public to public;
             analyze t",
            length = word.len()
        ))
        .unwrap();
}

#[test]
fn nobody_sees_what_is_in_another_one() {
    in_all_models(|server, name| {
        let mut home = enter(server, "postgres");
        each(&mut home, "create database one; create database two");
        let (mut one, mut two) = (enter(server, "one"), enter(server, "two"));
        furnish(&mut one, "first", "b text default 'x'");
        furnish(&mut two, "another", "b int default 7, c int");
        for round in 0..3 {
            for (client, word) in [(&mut one, "first"), (&mut two, "another")] {
                assert_eq!(text(client, "select word from v"), word, "{name}");
                assert_eq!(count(client, "select rows from v"), word.len() as i64, "{name}");
                assert_eq!(text(client, "select m::text from moods"), word, "{name}");
                assert_eq!(text(client, "select told()"), word, "{name}");
                assert_eq!(text(client, "call p('')"), word, "{name}");
                assert_eq!(count(client, "select nextval('q')"), word.len() as i64 + round, "{name}");
                assert_eq!(text(client, "select obj_description('public'::regnamespace, 'pg_namespace')"), word);
                assert_eq!(count(client, "select count(*) from pg_class where relname = 't'"), 2, "{name}");
                let columns = "select string_agg(attname || ' ' || attnum, ',' order by attnum) from pg_attribute \
                     where attrelid = 't'::regclass and attnum > 0";
                let expected = if word == "first" { "a 1,b 2" } else { "a 1,b 2,c 3" };
                assert_eq!(text(client, columns), expected, "{name}");
            }
        }
        // One text, two plans: what a statement gives has the type that it has here.
        let of_one: String = one.query_one("select b from t where a = 1", &[]).unwrap().get(0);
        let of_two: i32 = two.query_one("select b from t where a = 1", &[]).unwrap().get(0);
        assert_eq!((of_one.as_str(), of_two), ("x", 7), "{name}");
        for sql in
            ["select * from t", "select told()", "select 'first'::mood", "select nextval('q')", "select * from s.t"]
        {
            assert!(home.batch_execute(sql).is_err(), "{name}: {sql}");
        }
        assert_eq!(refused(home.batch_execute("select * from one.public.t")).0, "0A000", "{name}");
        assert_eq!(count(&mut one, "select count(*) from one.public.t"), 5, "{name}");
        assert_eq!(count(&mut home, "select count(*) from pg_description where description = 'first'"), 0, "{name}");
        assert_eq!(count(&mut home, "select count(*) from pg_database"), 5, "{name}");
        assert_eq!(text(&mut two, "select current_database()"), "two", "{name}");
        let sessions =
            "select string_agg(datname, ',' order by datname) from pg_stat_activity where datname is not null";
        assert_eq!(text(&mut home, sessions), "one,postgres,two", "{name}");

        // Statements that are prepared, and what is temporary.
        let sql = "select * from t where a = $1";
        let (of_one, of_two) = (one.prepare(sql).unwrap(), two.prepare(sql).unwrap());
        for (client, word) in [(&mut one, "first"), (&mut two, "another"), (&mut home, "home")] {
            client.batch_execute(&format!("create temp table mine as select text '{word}' as word")).unwrap();
        }
        for _ in 0..3 {
            assert_eq!(one.query_one(&of_one, &[&1i32]).unwrap().len(), 2, "{name}");
            assert_eq!(two.query_one(&of_two, &[&1i32]).unwrap().len(), 3, "{name}");
            for (client, word) in [(&mut one, "first"), (&mut two, "another"), (&mut home, "home")] {
                assert_eq!(text(client, "select word from mine"), word, "{name}");
            }
        }

        // Definitions change in one of them; the other one's go on.
        one.batch_execute("alter table t rename to u; drop function told() cascade").unwrap();
        assert_eq!(text(&mut two, "select told()"), "another", "{name}");
        assert_eq!(count(&mut two, "select count(*) from t"), 7, "{name}");
        assert_eq!(refused(one.batch_execute("select * from t")).0, "42P01", "{name}");
        assert_eq!(refused(one.query_one(&of_one, &[&1i32])).0, "42P01", "{name}");
        assert_eq!(two.query_one(&of_two, &[&1i32]).unwrap().len(), 3, "{name}");
        drop(one);
        let left = "select count(*) from pg_class where relpersistence = 't' and relkind = 'r'";
        wait_for(&mut enter(server, "one"), left, 0, name);
        assert_eq!(count(&mut two, left), 1, "{name}");

        // Roles are everybody's; what they have and own is told.
        two.batch_execute("create role owner_of_some; alter table t owner to owner_of_some").unwrap();
        home.batch_execute("alter database two owner to owner_of_some").unwrap();
        let error = home.batch_execute("drop role owner_of_some").unwrap_err();
        let detail = error.as_db_error().and_then(|error| error.detail()).unwrap_or_default();
        assert_eq!(detail, "owner of database two\n1 object in database two", "{name}");
    });
}

#[test]
fn locks_and_notifications_are_a_databases() {
    in_all_models(|server, name| {
        let mut home = enter(server, "postgres");
        home.batch_execute("create database other").unwrap();
        let (mut a, mut b, mut c) = (enter(server, "postgres"), enter(server, "other"), enter(server, "other"));
        for (sql, expected) in [("select pg_try_advisory_lock(7)", true), ("select pg_try_advisory_lock(1, 2)", true)] {
            let had: bool = a.query_one(sql, &[]).unwrap().get(0);
            assert_eq!(had, expected, "{name}");
            let had: bool = b.query_one(sql, &[]).unwrap().get(0);
            assert_eq!(had, expected, "{name}");
            let had: bool = home.query_one(sql, &[]).unwrap().get(0);
            assert!(!had, "{name}: {sql}");
            let had: bool = c.query_one(sql, &[]).unwrap().get(0);
            assert!(!had, "{name}: {sql}");
        }
        a.batch_execute("select pg_advisory_unlock_all()").unwrap();
        let had: bool = home.query_one("select pg_try_advisory_lock(1, 2)", &[]).unwrap().get(0);
        assert!(had, "{name}");

        a.batch_execute("listen told").unwrap();
        b.batch_execute("listen told").unwrap();
        c.batch_execute("notify told, 'in other'").unwrap();
        home.batch_execute("notify told, 'at home'").unwrap();
        for (client, expected) in [(&mut a, "at home"), (&mut b, "in other")] {
            let mut notifications = client.notifications();
            let one = notifications.timeout_iter(PATIENCE).next().unwrap().expect("it is told");
            assert_eq!(one.payload(), expected, "{name}");
            let more = notifications.timeout_iter(SHORT).next().unwrap();
            assert!(more.is_none(), "{name}: {more:?}");
        }
    });
}

#[test]
fn not_everybody_comes_in() {
    in_all_models(|server, name| {
        let mut home = enter(server, "postgres");
        each(
            &mut home,
            "create role guest login; create role host login; create database closed allow_connections false;
             create database small connection limit 1; create database private; revoke connect on database private from public;
             grant connect on database private to host; create database given owner host;
             alter database given set work_mem to '9MB'; alter role guest in database given set work_mem to '10MB'",
        );
        let come = |user: &str, database: &str| server.log_in(user, "", database);
        let (code, message) = refused(come("postgres", "nothing"));
        assert_eq!((code.as_str(), message.as_str()), ("3D000", "database \"nothing\" does not exist"), "{name}");
        let (code, message) = refused(come("postgres", "template0"));
        let words = "database \"template0\" is not currently accepting connections";
        assert_eq!((code.as_str(), message.as_str()), ("55000", words), "{name}");
        assert_eq!(refused(come("guest", "closed")).0, "55000", "{name}");
        let (code, message) = refused(come("guest", "private"));
        assert_eq!(
            (code.as_str(), message.as_str()),
            ("42501", "permission denied for database \"private\""),
            "{name}"
        );
        drop(come("host", "private").unwrap());
        let _first = come("guest", "small").unwrap();
        let (code, message) = refused(come("host", "small"));
        assert_eq!(
            (code.as_str(), message.as_str()),
            ("53300", "too many connections for database \"small\""),
            "{name}"
        );
        drop(come("postgres", "small").unwrap());
        drop(come("postgres", "template1").unwrap());

        let mut guest = come("guest", "given").unwrap();
        assert_eq!(text(&mut guest, "show work_mem"), "10MB", "{name}");
        let mut host = come("host", "given").unwrap();
        assert_eq!(text(&mut host, "show work_mem"), "9MB", "{name}");
        assert_eq!(text(&mut enter(server, "private"), "show work_mem"), "4MB", "{name}");
        // `public` is the database's owner's, who owns it by owning the database.
        assert_eq!(refused(guest.batch_execute("create table t (a int)")).0, "42501", "{name}");
        host.batch_execute("create table t (a int); create schema hosts").unwrap();
        let mut elsewhere = come("host", "postgres").unwrap();
        assert_eq!(refused(elsewhere.batch_execute("create table t (a int)")).0, "42501", "{name}");
        let (code, message) = refused(guest.batch_execute("create schema guests"));
        assert_eq!((code.as_str(), message.as_str()), ("42501", "permission denied for database given"), "{name}");
        home.batch_execute("grant create on database given to guest").unwrap();
        guest.batch_execute("create schema guests").unwrap();
        let mut stranger = come("guest", "postgres").unwrap();
        assert_eq!(refused(stranger.batch_execute("create schema guests")).0, "42501", "{name}");
        home.batch_execute("revoke temporary on database given from public").unwrap();
        let (code, message) = refused(guest.batch_execute("create temp table t (a int)"));
        let words = "permission denied to create temporary tables in database \"given\"";
        assert_eq!((code.as_str(), message.as_str()), ("42501", words), "{name}");
    });
}

#[test]
fn dropping_one_waits_for_those_who_leave() {
    in_all_models(|server, name| {
        let mut home = enter(server, "postgres");
        let storages = files(server);
        home.batch_execute("create database busy").unwrap();
        let mut inside = enter(server, "busy");
        furnish(&mut inside, "busy", "b text default repeat('x', 3000)");
        inside.batch_execute("create temp table mine (a int); begin; insert into t (a) values (100)").unwrap();
        if name == "thread/fiber, moving: false" {
            // Five seconds each.
            for sql in
                ["drop database busy", "alter database busy rename to quiet", "create database copy template busy"]
            {
                assert_eq!(refused(home.batch_execute(sql)).0, "55006", "{name}: {sql}");
            }
        }
        // Who does not come in time is not let in either, and is told why.
        home.batch_execute("drop database busy with (force)").unwrap();
        let error = inside.batch_execute("select 1").unwrap_err();
        let code = error.code().cloned();
        assert!(code.is_none() || code == Some(SqlState::ADMIN_SHUTDOWN), "{name}: {error:?}");
        assert_eq!(refused(server.log_in("postgres", "", "busy")).0, "3D000", "{name}");
        assert_eq!(count(&mut home, "select count(*) from pg_database where datname = 'busy'"), 0, "{name}");
        wait_for_files(server, &storages, name);

        // One that leaves is waited for.
        home.batch_execute("create database busy").unwrap();
        let mut inside = enter(server, "busy");
        inside.batch_execute("create table t (a int)").unwrap();
        std::thread::scope(|scope| {
            let dropping = scope.spawn(|| home.batch_execute("drop database busy"));
            std::thread::sleep(SHORT);
            assert!(!dropping.is_finished(), "{name}");
            drop(inside);
            dropping.join().unwrap().unwrap_or_else(|error| panic!("{name}: {error:?}"));
        });
        wait_for_files(server, &storages, name);

        // Another name, and nobody comes in for a while.
        each(
            &mut home,
            "create database early; alter database early rename to late; alter database late allow_connections false",
        );
        assert_eq!(refused(server.log_in("postgres", "", "early")).0, "3D000", "{name}");
        assert_eq!(refused(server.log_in("postgres", "", "late")).0, "55000", "{name}");
        home.batch_execute("alter database late allow_connections true").unwrap();
        let mut inside = enter(server, "late");
        assert_eq!(text(&mut inside, "select current_database()"), "late", "{name}");
        // One who is in stays in: he came before.
        each(&mut home, "alter database late allow_connections false; alter database late connection limit 0");
        assert_eq!(text(&mut inside, "select current_database()"), "late", "{name}");
    });
}

#[test]
fn those_who_come_and_one_who_drops() {
    in_all_models(|server, name| {
        let mut home = enter(server, "postgres");
        for _ in 0..10 {
            home.batch_execute("create database fleeting").unwrap();
            std::thread::scope(|scope| {
                let comers: Vec<_> = (0..3)
                    .map(|_| {
                        scope.spawn(|| {
                            let mut client = server.log_in("postgres", "", "fleeting")?;
                            client.batch_execute("create table if not exists t (a int); insert into t values (1)")
                        })
                    })
                    .collect();
                home.batch_execute("drop database fleeting with (force)").unwrap();
                for comer in comers {
                    // It was in and was thrown out, or the database was gone, or it was done before.
                    let Err(error) = comer.join().unwrap() else { continue };
                    let known = [SqlState::ADMIN_SHUTDOWN, SqlState::INVALID_CATALOG_NAME, SqlState::DUPLICATE_TABLE];
                    let code = error.code().cloned();
                    assert!(code.is_none_or(|code| known.contains(&code)), "{name}: {error:?}");
                }
            });
            assert_eq!(count(&mut home, "select count(*) from pg_database"), 3, "{name}");
        }
    });
}

#[test]
fn an_owner_throws_his_own_sessions_out() {
    in_all_models(|server, name| {
        let mut home = enter(server, "postgres");
        home.batch_execute("create role keeper login createdb password 'k'").unwrap();
        let mut keeper = server.log_in("keeper", "k", "postgres").unwrap();
        for _ in 0..10 {
            keeper.batch_execute("create database kept").unwrap();
            let over = std::sync::atomic::AtomicBool::new(false);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        while !over.load(std::sync::atomic::Ordering::Relaxed) {
                            drop(server.log_in("keeper", "k", "kept"));
                        }
                    });
                }
                std::thread::sleep(Duration::from_millis(20));
                let dropped = keeper.batch_execute("drop database kept with (force)");
                over.store(true, std::sync::atomic::Ordering::Relaxed);
                dropped.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            });
        }
    });
}

#[test]
fn a_template_is_copied_as_far_as_it_is_the_systems() {
    in_all_models(|server, name| {
        let mut home = enter(server, "postgres");
        home.batch_execute("create role reader").unwrap();
        let mut template = enter(server, "template1");
        template
            .batch_execute(
                "comment on schema public is 'as in the template'; grant create on schema public to reader;
                 alter default privileges grant select on tables to reader",
            )
            .unwrap();
        drop(template);
        each(&mut home, "create database copy; create database plain template template0");
        for (database, comment, rights) in [("copy", Some("as in the template"), true), ("plain", None, false)] {
            let mut client = enter(server, database);
            let row = client
                .query_one(
                    "select obj_description('public'::regnamespace, 'pg_namespace'), \
                     has_schema_privilege('reader', 'public', 'create')",
                    &[],
                )
                .unwrap();
            assert_eq!((row.get::<_, Option<&str>>(0), row.get::<_, bool>(1)), (comment, rights), "{name}");
            client.batch_execute("create table t (a int)").unwrap();
            let reads: bool =
                client.query_one("select has_table_privilege('reader', 't', 'select')", &[]).unwrap().get(0);
            assert_eq!(reads, rights, "{name}");
        }
        // What has been said of the copy is not the template's.
        enter(server, "copy").batch_execute("drop schema public cascade").unwrap();
        let comment =
            text(&mut enter(server, "template1"), "select obj_description('public'::regnamespace, 'pg_namespace')");
        assert_eq!(comment, "as in the template", "{name}");
        let mut again = enter(server, "template1");
        again.batch_execute("create table added (a int)").unwrap();
        drop(again);
        assert_eq!(refused(home.batch_execute("create database other")).0, "0A000", "{name}");
        home.batch_execute("create database other template template0").unwrap();
        assert_eq!(count(&mut home, "select count(*) from pg_database"), 6, "{name}");
    });
}

/// The files of storages that there are.
fn files(server: &Server) -> BTreeSet<String> {
    fn below(path: &std::path::Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => below(&entry.path(), found),
                false => drop(found.insert(entry.path().to_string_lossy().into_owned())),
            }
        }
    }
    let mut found = BTreeSet::new();
    below(&server.data().join("base"), &mut found);
    found
}

/// Waits until there are no storages but those.
fn wait_for_files(server: &Server, wanted: &BTreeSet<String>, name: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let now = files(server);
        let more: Vec<&String> = now.difference(wanted).collect();
        if more.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "{name}: {more:?} are left");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_crash_leaves_one_or_none() {
    for model in MODELS {
        let name = model.name();
        let mut server = Server::start(model, false);
        let mut home = enter(&server, "postgres");
        home.batch_execute("create database kept").unwrap();
        furnish(&mut enter(&server, "kept"), "kept", "b text");
        let storages = files(&server);
        drop(home);
        for round in 0..6u64 {
            let mut home = enter(&server, "postgres");
            home.batch_execute("create database going").unwrap();
            let mut inside = enter(&server, "going");
            furnish(&mut inside, "going", "b text default repeat('x', 5000)");
            inside.batch_execute("create temp table mine (a int)").unwrap();
            drop(inside);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let _ = home.batch_execute("drop database going");
                    let _ = home.batch_execute("create database coming");
                });
                std::thread::sleep(Duration::from_millis(round * 2));
                server.kill();
            });
            server.crash();
            server.start_again();
            let mut home = enter(&server, "postgres");
            let names = text(
                &mut home,
                "select coalesce(string_agg(datname, ','), '') from pg_database where datname in ('going', 'coming')",
            );
            match names.as_str() {
                "going" => {
                    assert_eq!(count(&mut enter(&server, "going"), "select rows from v"), 5, "{name}");
                    // What was temporary there is dropped at the start, in the background.
                    let sql = "select count(*) from pg_class where relpersistence = 't' and relkind <> 't'";
                    wait_for(&mut enter(&server, "going"), sql, 0, &name);
                    home.batch_execute("drop database going").unwrap();
                }
                "coming" => home.batch_execute("drop database coming").unwrap(),
                "" => {}
                other => panic!("{name}: {other}"),
            }
            assert_eq!(text(&mut enter(&server, "kept"), "select word from v"), "kept", "{name}");
            wait_for_files(&server, &storages, &name);
        }
        server.stop();
    }
}

#[test]
fn what_runs_on_its_own_goes_through_all() {
    for model in MODELS {
        let more = [
            "--autovacuum-naptime=1s",
            "--autovacuum-vacuum-threshold=10",
            "--autovacuum-vacuum-scale-factor=0",
            "--autovacuum-analyze-threshold=10",
        ];
        let server = Server::start_with(model, false, &more);
        let name = model.name();
        enter(&server, "postgres").batch_execute("create database other").unwrap();
        let mut clients = [enter(&server, "postgres"), enter(&server, "other")];
        for client in &mut clients {
            client.batch_execute("create table t (a int, b text default repeat('x', 500))").unwrap();
            client.batch_execute("insert into t select g from generate_series(1, 2000) g; delete from t").unwrap();
            client
                .batch_execute("create table u (a int); insert into u select 7 from generate_series(1, 500)")
                .unwrap();
        }
        for client in &mut clients {
            wait_for(client, "select pg_relation_size('t')", 0, &name);
            wait_for(client, "select count(*) from pg_stats where tablename = 'u'", 1, &name);
            assert_eq!(count(client, "select count(*) from pg_stat_user_tables"), 2, "{name}");
        }
        // What was counted of one database is forgotten, and not of the other.
        clients[0].batch_execute("select pg_stat_reset()").unwrap();
        let inserted = "select n_tup_ins from pg_stat_user_tables where relname = 'u'";
        assert_eq!((count(&mut clients[0], inserted), count(&mut clients[1], inserted)), (0, 500), "{name}");
        drop(clients);
        server.stop();
    }
}
