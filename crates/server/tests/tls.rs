//! Encrypted connections, in each execution model and with sessions that move at each request: libpq's modes by `psql`, the driver's by
//! `rustls`, certificates of clients, channel binding, and those who try to get between.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::server::{MODELS, Model, Server};

/// Keys and certificates in a directory of the test's own: a key that others may read is refused.
struct Keys(PathBuf);

impl Keys {
    fn new(name: &str) -> Keys {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
        let to = std::env::temp_dir().join(format!("gearbox-tls-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&to);
        std::fs::create_dir_all(&to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().flatten() {
            let copy = to.join(entry.file_name());
            std::fs::copy(entry.path(), &copy).unwrap();
            std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        Keys(to)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }

    fn serve(&self, model: Model, moving: bool, more: &[&str]) -> Server {
        let (certificate, key) = (self.path("server.crt"), self.path("server.key"));
        let options = [&["--ssl", "on", "--ssl-cert-file", &certificate, "--ssl-key-file", &key], more].concat();
        Server::start_with(model, moving, &options)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What `psql` prints, or says is wrong. None where there is no `psql`.
fn psql(server: &Server, more: &str, sql: &str) -> Option<Result<String, String>> {
    let port = server.port();
    let target = format!("host=localhost hostaddr=127.0.0.1 port={port} dbname=postgres user=postgres {more}");
    let output = Command::new("psql").args([&target, "-XAtc", sql]).env("PGCONNECT_TIMEOUT", "20").output().ok()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Some(if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
}

/// What connects by `rustls`, believes the tests' authority and may show a certificate.
fn believing(keys: &Keys, own: Option<&str>) -> tokio_postgres_rustls::MakeRustlsConnect {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(keys.path("authority.crt")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some(name) => {
            let chain = vec![CertificateDer::from_pem_file(keys.path(&format!("{name}.crt"))).unwrap()];
            let key = PrivateKeyDer::from_pem_file(keys.path(&format!("{name}.key"))).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    tokio_postgres_rustls::MakeRustlsConnect::new(config)
}

/// The driver, by such a connection.
fn driver(
    server: &Server,
    keys: &Keys,
    own: Option<&str>,
    password: &str,
) -> Result<postgres::Client, postgres::Error> {
    let mut target = postgres::Config::new();
    target.host("localhost").hostaddr([127, 0, 0, 1].into()).port(server.port()).user("postgres").dbname("postgres");
    target.ssl_mode(postgres::config::SslMode::Require);
    if !password.is_empty() {
        target.password(password).channel_binding(postgres::config::ChannelBinding::Require);
    }
    target.connect(believing(keys, own))
}

const HOW: &str = "select ssl, version from pg_stat_ssl where pid = pg_backend_pid()";

#[test]
fn libpq_s_modes_do_what_they_say() {
    let keys = Keys::new("modes");
    let (root, other) = (keys.path("authority.crt"), keys.path("other.crt"));
    for model in MODELS {
        for moving in [false, true] {
            let server = keys.serve(model, moving, &[]);
            let cases = [
                ("sslmode=disable".to_owned(), Ok("f|")),
                ("sslmode=allow".to_owned(), Ok("f|")),
                ("sslmode=prefer".to_owned(), Ok("t|TLSv1.3")),
                ("sslmode=require".to_owned(), Ok("t|TLSv1.3")),
                ("sslmode=require ssl_max_protocol_version=TLSv1.2".to_owned(), Ok("t|TLSv1.2")),
                (format!("sslmode=verify-ca sslrootcert={root}"), Ok("t|TLSv1.3")),
                (format!("sslmode=verify-full sslrootcert={root}"), Ok("t|TLSv1.3")),
                (format!("sslmode=verify-ca sslrootcert={other}"), Err("certificate verify failed")),
                (format!("host=elsewhere sslmode=verify-full sslrootcert={root}"), Err("does not match host name")),
            ];
            for (more, expected) in cases {
                let Some(got) = psql(&server, &more, HOW) else {
                    eprintln!("left out: there is no psql");
                    return;
                };
                match (&got, expected) {
                    (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{}: {more}", model.name()),
                    (Err(got), Err(expected)) => assert!(got.contains(expected), "{}: {more}: {got}", model.name()),
                    _ => panic!("{}: {more}: {got:?}", model.name()),
                }
            }
            server.stop();
        }
    }
}

#[test]
fn sessions_work_and_move_behind_their_encryption() {
    let keys = Keys::new("work");
    for model in MODELS {
        for moving in [false, true] {
            let name = model.name();
            let server = keys.serve(model, moving, &[]);
            let mut client = driver(&server, &keys, None, "").unwrap();
            client.batch_execute("create table t (a int primary key, b text)").unwrap();
            // Much in one piece, in both directions.
            let long = "x".repeat(3_000_000);
            let back: String = client.query_one("select $1::text", &[&long]).unwrap().get(0);
            assert!(back == long, "{name}");
            let mut copy = client.copy_in("copy t from stdin").unwrap();
            for number in 0..20_000 {
                writeln!(copy, "{number}\trow {number}").unwrap();
            }
            assert_eq!(copy.finish().unwrap(), 20_000, "{name}");
            let mut out = Vec::new();
            client.copy_out("copy t to stdout").unwrap().read_to_end(&mut out).unwrap();
            assert_eq!(out.iter().filter(|&&byte| byte == b'\n').count(), 20_000, "{name}");
            // A transaction over many requests; errors; statements that were prepared.
            let statement = client.prepare("update t set b = b || '!' where a = $1").unwrap();
            let mut transaction = client.transaction().unwrap();
            for number in 0..50i32 {
                assert_eq!(transaction.execute(&statement, &[&number]).unwrap(), 1);
            }
            transaction.commit().unwrap();
            assert!(client.batch_execute("select 1/0").is_err());
            let changed: i64 = client.query_one("select count(*) from t where b like '%!'", &[]).unwrap().get(0);
            assert_eq!(changed, 50, "{name}");
            let moves = "select migrations from gearbox.sessions where pid = pg_backend_pid()";
            let moves: i64 = client.query_one(moves, &[]).unwrap().get(0);
            if moving && model.sessions == "fiber" {
                assert!(moves > 50, "{name}: moved {moves} times");
            }
            // Others of this server, in the clear, beside it; and an end that is told in the session's own encryption.
            let mut plain = server.connect();
            let pid: i32 = client.query_one("select pg_backend_pid()", &[]).unwrap().get(0);
            plain.execute("select pg_terminate_backend($1)", &[&pid]).unwrap();
            let end = Instant::now() + Duration::from_secs(10);
            let error = loop {
                match client.simple_query("select 1") {
                    Err(error) => break error,
                    Ok(_) => assert!(Instant::now() < end, "{name}: not terminated"),
                }
            };
            if let Some(error) = error.as_db_error() {
                assert_eq!(error.code().code(), "57P01", "{name}");
            }
            server.stop();
        }
    }
}

#[test]
fn a_cancel_request_may_be_encrypted() {
    let keys = Keys::new("cancel");
    for model in MODELS {
        let server = keys.serve(model, false, &[]);
        let mut client = driver(&server, &keys, None, "").unwrap();
        let token = client.cancel_token();
        let sleeper = std::thread::spawn(move || client.batch_execute("select pg_sleep(20)").unwrap_err());
        let end = Instant::now() + Duration::from_secs(15);
        while !sleeper.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
            token.cancel_query(believing(&keys, None)).unwrap();
        }
        let error = sleeper.join().unwrap();
        assert_eq!(error.as_db_error().map(|error| error.code().code()), Some("57014"), "{}", model.name());
        server.stop();
    }
}

#[test]
fn certificates_and_passwords_as_the_rules_ask_for_them() {
    let keys = Keys::new("rules");
    let rules = keys.write(
        "rules",
        "hostssl all ann all cert\n\
         hostssl all bob all scram-sha-256 clientcert=verify-ca\n\
         hostssl all carl all scram-sha-256 clientcert=verify-full\n\
         hostssl all dora all password\n\
         hostnossl all ann,bob,carl,dora all reject\n\
         host all all 127.0.0.1/32 trust\n",
    );
    let (authorities, revoked) = (keys.path("authority.crt"), keys.path("revoked.crl"));
    let shown = |name: &str| {
        format!(
            "sslmode=require sslcert={} sslkey={}",
            keys.path(&format!("{name}.crt")),
            keys.path(&format!("{name}.key"))
        )
    };
    let none = "sslmode=require sslcert=/nonexistent";
    for model in MODELS {
        let options = ["--hba-file", &rules, "--ssl-ca-file", &authorities, "--ssl-crl-file", &revoked];
        let server = keys.serve(model, model.sessions == "fiber", &options);
        let mut admin = server.connect();
        admin
            .batch_execute(
                "create role ann login; create role bob login password 'b'; create role carl login password 'c';
                 create role dora login password 'd'",
            )
            .unwrap();
        let cases = [
            (format!("user=ann {}", shown("ann")), Ok("t|/O=Gearbox/CN=ann|1002|/CN=Gearbox test authority")),
            (format!("user=ann {none}"), Err("connection requires a valid client certificate")),
            (format!("user=ann {}", shown("foreign")), Err("alert")),
            (format!("user=ann {}", shown("revoked")), Err("alert")),
            (
                "user=ann sslmode=disable".to_owned(),
                Err(
                    "pg_hba.conf rejects connection for host \"127.0.0.1\", user \"ann\", database \"postgres\", no encryption",
                ),
            ),
            (
                format!("user=bob password=b {}", shown("ann")),
                Ok("t|/O=Gearbox/CN=ann|1002|/CN=Gearbox test authority"),
            ),
            (
                format!("user=bob password=b channel_binding=require {}", shown("ann")),
                Ok("t|/O=Gearbox/CN=ann|1002|/CN=Gearbox test authority"),
            ),
            (format!("user=bob password=x {}", shown("ann")), Err("password authentication failed for user \"bob\"")),
            (format!("user=bob password=b {none}"), Err("connection requires a valid client certificate")),
            (format!("user=carl password=c {}", shown("ann")), Err("password authentication failed for user \"carl\"")),
            (format!("user=dora password=d {none}"), Ok("t|||")),
            (format!("user=dora password=e {none}"), Err("password authentication failed for user \"dora\"")),
            (format!("user=nobody {none}"), Err("role \"nobody\" does not exist")),
        ];
        let how = "select ssl, client_dn, client_serial, issuer_dn from pg_stat_ssl where pid = pg_backend_pid()";
        for (more, expected) in cases {
            let Some(got) = psql(&server, &more, how) else {
                eprintln!("left out: there is no psql");
                return;
            };
            match (&got, expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{}: {more}", model.name()),
                (Err(got), Err(expected)) => assert!(got.contains(expected), "{}: {more}: {got}", model.name()),
                _ => panic!("{}: {more}: {got:?}", model.name()),
            }
        }
        server.stop();
    }
}

#[test]
fn the_driver_binds_its_password_to_the_channel() {
    let keys = Keys::new("bound");
    let password = keys.write("password", "sesame\n");
    for model in MODELS {
        let server = keys.serve(model, true, &["--password-file", &password]);
        driver(&server, &keys, None, "sesame").expect("bound to the channel");
        let error = driver(&server, &keys, None, "guess").err().unwrap();
        assert_eq!(error.code().map(|code| code.code()), Some("28P01"), "{}", model.name());
        server.stop();
    }
}

const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

fn answered(stream: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

fn raw(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream
}

#[test]
fn who_gets_between_gets_nowhere() {
    let keys = Keys::new("between");
    let startup = {
        let body = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
        [&(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
    };
    for model in MODELS {
        let name = model.name();
        let server = keys.serve(model, false, &[]);
        // What comes in the clear with the request is not read as if it had come encrypted.
        let mut stream = raw(&server);
        stream.write_all(&[&SSL_REQUEST[..], &startup].concat()).unwrap();
        let answer = answered(&mut stream);
        let text = String::from_utf8_lossy(&answer);
        assert!(text.contains("received unencrypted data after SSL request"), "{name}: {text}");
        assert!(!answer.contains(&b'Z'), "{name}: let in");
        // Nor what comes in place of a handshake: nothing is said, and the connection is over.
        for garbage in [&startup[..], b"GET / HTTP/1.1\r\n\r\n", &[22, 3, 1, 0, 4, 1, 0, 0, 0], &[23, 3, 3, 0, 1, 0]] {
            let mut stream = raw(&server);
            stream.write_all(&SSL_REQUEST).unwrap();
            let mut one = [0];
            stream.read_exact(&mut one).unwrap();
            assert_eq!(&one, b"S", "{name}");
            stream.write_all(garbage).unwrap();
            let answer = answered(&mut stream);
            assert!(answer.is_empty() || answer[0] == 21, "{name}: {answer:?}");
        }
        server.connect();
        server.stop();
    }
}

/// A client that begins a handshake and does not go on holds its session until its time is over, and nobody else.
#[test]
fn slow_handshakes_keep_nobody_waiting() {
    let keys = Keys::new("slow");
    for model in MODELS {
        let name = model.name();
        let server = keys.serve(model, false, &["--authentication-timeout", "3s"]);
        // A whole greeting, as a client makes it.
        let hello = {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = rustls::ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            let host = rustls::pki_types::ServerName::try_from("localhost").unwrap();
            let mut client = rustls::ClientConnection::new(Arc::new(config), host).unwrap();
            let mut bytes = Vec::new();
            client.write_tls(&mut bytes).unwrap();
            bytes
        };
        let began = Instant::now();
        let mut slow: Vec<TcpStream> = (0..12)
            .map(|number| {
                let mut stream = raw(&server);
                stream.write_all(&SSL_REQUEST).unwrap();
                stream.read_exact(&mut [0]).unwrap();
                // Some say half of it, some all, and then nothing more.
                let said = if number % 2 == 0 { hello.len() } else { hello.len() / 2 };
                stream.write_all(&hello[..said]).unwrap();
                stream
            })
            .collect();
        for _ in 0..5 {
            let mut client = driver(&server, &keys, None, "").unwrap();
            client.simple_query("select 1").unwrap();
            server.connect().simple_query("select 1").unwrap();
        }
        assert!(began.elapsed() < Duration::from_secs(3), "{name}: others waited {:?}", began.elapsed());
        for stream in &mut slow {
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).expect("the server closes");
        }
        assert!(began.elapsed() > Duration::from_secs(2), "{name}: nobody was waited for");
        server.stop();
    }
}

#[test]
fn wrong_files_are_named_at_the_start_and_left_alone_later() {
    let keys = Keys::new("wrong");
    let model = MODELS[5];
    let server = keys.serve(model, false, &[]);
    // A second server on other data, to be refused.
    let (certificate, key) = (keys.path("server.crt"), keys.path("server.key"));
    let data = keys.path("data");
    let refused = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_gearbox"))
            .args(["serve", "--data", &data, "--listen", "127.0.0.1:0", "--ssl", "on"])
            .args(more)
            .output()
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let missing = refused(&["--ssl-cert-file", "/nonexistent", "--ssl-key-file", &key]);
    assert!(missing.contains("could not access file \"/nonexistent\""), "{missing}");
    let other = refused(&["--ssl-cert-file", &certificate, "--ssl-key-file", &keys.path("ann.key")]);
    assert!(other.contains("could not load private key file"), "{other}");
    let open = keys.path("open.key");
    std::fs::copy(&key, &open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = refused(&["--ssl-cert-file", &certificate, "--ssl-key-file", &open]);
    assert!(open.contains("has group or world access"), "{open}");
    let old =
        refused(&["--ssl-cert-file", &certificate, "--ssl-key-file", &key, "--ssl-min-protocol-version", "TLSv1"]);
    assert!(old.contains("ssl_min_protocol_version"), "{old}");
    // A running server keeps what it has, and takes new ones that are right.
    let mut admin = server.connect();
    let mut reload = || admin.query_one("select pg_reload_conf()", &[]).unwrap().get::<_, bool>(0);
    let was = std::fs::read(&certificate).unwrap();
    std::fs::write(&certificate, "nothing").unwrap();
    assert!(!reload(), "the certificate is wrong");
    driver(&server, &keys, None, "").expect("with the certificate from before");
    std::fs::write(&certificate, was).unwrap();
    assert!(reload());
    driver(&server, &keys, None, "").expect("with the certificate that was read again");
    server.stop();
}
