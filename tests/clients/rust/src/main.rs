//! tokio-postgres and sqlx: what their users do with a server. Ends with an error at the first difference.

mod sqlx_client;
mod tokio_postgres_client;

use std::fmt::Debug;
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

#[tokio::main]
async fn main() {
    tokio_postgres_client::run().await;
    sqlx_client::run().await;
    println!("tokio-postgres and sqlx: {} checks", CHECKS.load(Relaxed));
}
