//! tokio-postgres and sqlx: what their users do with a server. Ends with an error at the first difference.

mod sqlx_client;
mod tokio_postgres_client;

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static CHECKS: AtomicU32 = AtomicU32::new(0);

/// Ends the program if two values are not the same.
fn same<T: PartialEq + Debug>(found: T, expected: T, what: &str) {
    CHECKS.fetch_add(1, Relaxed);
    assert!(found == expected, "{what}: {found:?}, not {expected:?}");
}

/// The address of the server as a URL.
fn url() -> String {
    let of = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    format!("postgres://{}@{}:{}/{}", of("PGUSER"), of("PGHOST"), of("PGPORT"), of("PGDATABASE"))
}

/// The authority that has signed the server's certificate, and one that has not: variables that name files.
const AUTHORITY: &str = "CLIENT_AUTHORITY";
const STRANGER: &str = "CLIENT_STRANGER";
/// What encrypts the connection.
const HOW: &str = "SELECT version FROM pg_stat_ssl WHERE ssl AND pid = pg_backend_pid()";

/// A file that a variable names.
fn file(name: &str) -> PathBuf {
    std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set")).into()
}

/// What comes by itself, in ten seconds at most.
async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(std::time::Duration::from_secs(10), what).await.expect("it comes within ten seconds")
}

#[tokio::main]
async fn main() {
    tokio_postgres_client::run().await;
    sqlx_client::run().await;
    println!("tokio-postgres and sqlx: {} checks", CHECKS.load(Relaxed));
}
