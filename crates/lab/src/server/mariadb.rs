//! MariaDB, with a thread for each connection or a pool of threads.
//!
//! It gets what the others have by default: read committed instead of repeatable read, texts in UTF-8 that are compared by
//! their bytes, no binary log, a redo log of a gigabyte. User and database `lab` are made by a file of statements that is
//! run at each start.

use super::running::data_of;
use super::{Equal, Home, Installed, Launch, ask, in_path, pairs};
use crate::address::Wire;
use crate::error::{self, OfFile};
use base::Result;
use rustix::process::Signal;
use std::path::{Path, PathBuf};

/// The values of `thread_handling` that exist.
const THREAD_HANDLING: [&str; 2] = ["one-thread-per-connection", "pool-of-threads"];

/// What is run at each start. There is one statement in a line.
const ACCOUNT: &str = "\
CREATE DATABASE IF NOT EXISTS lab;
CREATE USER IF NOT EXISTS 'lab'@'127.0.0.1' IDENTIFIED VIA mysql_native_password USING '';
GRANT ALL ON *.* TO 'lab'@'127.0.0.1';
";

#[derive(Debug)]
pub(super) struct MariaDb {
    program: PathBuf,
    install: PathBuf,
    version: String,
    thread_handling: String,
}

/// Looks for the server and for the program that makes its directory.
pub(super) fn find(thread_handling: &str) -> Result<MariaDb> {
    if !THREAD_HANDLING.contains(&thread_handling) {
        return Err(error::usage(format!("MariaDB has no thread handling \"{thread_handling}\""))
            .hint(format!("There are {}.", THREAD_HANDLING.join(" and "))));
    }
    let (Some(program), Some(install)) = (in_path("mariadbd"), in_path("mariadb-install-db")) else {
        return Err(error::server("MariaDB is not installed")
            .hint("Install it (apt-get install mariadb-server); the lab starts a server of its own."));
    };
    // mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu …
    let text = ask(&program, "--version", &[])?;
    let version = text.split_whitespace().skip_while(|word| *word != "Ver").nth(1).unwrap_or_default().to_string();
    Ok(MariaDb { program, install, version, thread_handling: thread_handling.into() })
}

impl Installed for MariaDb {
    fn product(&self) -> &'static str {
        "MariaDB"
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn settings(&self, equal: &Equal) -> Vec<(String, String)> {
        pairs([
            ("thread_handling", &self.thread_handling),
            ("innodb_buffer_pool_size", &format!("{}M", equal.buffers_mib)),
            ("max_connections", &equal.connections.to_string()),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_doublewrite", "ON"),
            ("innodb_log_file_size", "1G"),
            ("skip_log_bin", ""),
            ("transaction_isolation", "READ-COMMITTED"),
            ("character_set_server", "utf8mb4"),
            ("collation_server", "utf8mb4_bin"),
        ])
    }

    fn make(&self, home: &Home, place: &Path) -> Result<()> {
        let file = place.join("account.sql");
        std::fs::write(&file, ACCOUNT).of(&file)?;
        home.own(&file)?;
        let mut words = vec![self.install.display().to_string(), "--no-defaults".into()];
        words.push(format!("--datadir={}", data_of(place)));
        let options = ["--auth-root-authentication-method=normal", "--skip-name-resolve", "--skip-test-db"];
        words.extend(options.map(str::to_string));
        home.run(place, &words, &[]).map(drop)
    }

    fn launch(&self, _home: &Home, place: &Path, port: u16, settings: &[(String, String)]) -> Result<Launch> {
        let mut words = vec![self.program.display().to_string(), "--no-defaults".into()];
        words.push(format!("--datadir={}", data_of(place)));
        words.push(format!("--init-file={}", place.join("account.sql").display()));
        words.extend([format!("--port={port}"), "--bind-address=127.0.0.1".into()]);
        // Both lie in the data directory, so that their names are short.
        words.extend(["--socket=socket", "--pid-file=pid"].map(str::to_string));
        // Whoever looks whether the server is there has to go away without logging in.
        words.extend(["--skip-name-resolve", "--max-connect-errors=4294967295"].map(str::to_string));
        for (name, value) in settings {
            let name = name.replace('_', "-");
            words.push(if value.is_empty() { format!("--{name}") } else { format!("--{name}={value}") });
        }
        Ok(Launch { words, environment: Vec::new(), stop: Signal::TERM, abort: Signal::TERM })
    }

    fn account(&self) -> (Wire, &'static str, &'static str) {
        (Wire::Mysql, "lab", "lab")
    }
}
