//! Who is compared.

use crate::address::{Address, Wire};
use crate::server::{Product, Subject};
use crate::workload::Workload;

/// The six models, process models first.
pub const MODELS: [(&str, &str); 6] = [
    ("process", "dedicated"),
    ("process", "shared"),
    ("process", "fiber"),
    ("thread", "dedicated"),
    ("thread", "shared"),
    ("thread", "fiber"),
];

/// The models whose engines serve many sessions.
pub const POOLED: [&str; 4] = ["process/shared", "process/fiber", "thread/shared", "thread/fiber"];

fn subject(name: String, product: Product) -> Subject {
    Subject { name, product, settings: Vec::new() }
}

/// `gearbox serve` in a model.
pub fn serve(engine: &str, sessions: &str) -> Subject {
    let product = Product::Gearbox { engine: engine.into(), sessions: sessions.into() };
    subject(format!("{engine}/{sessions}"), product)
}

/// `gearbox limit` in a model.
pub fn limit(engine: &str, sessions: &str) -> Subject {
    let product = Product::GearboxLimit { engine: engine.into(), sessions: sessions.into() };
    subject(format!("limit {engine}/{sessions}"), product)
}

/// The bare mechanism of a model.
pub fn bare(engine: &str, sessions: &str) -> Subject {
    let product = Product::Bare { engine: engine.into(), sessions: sessions.into() };
    subject(format!("bare {engine}/{sessions}"), product)
}

/// What answers without doing anything, in the model that does so cheapest.
pub fn ceiling() -> Subject {
    limit("thread", "fiber")
}

/// `gearbox serve` in its six models.
pub fn models() -> Vec<Subject> {
    MODELS.iter().map(|(engine, sessions)| serve(engine, sessions)).collect()
}

/// `gearbox limit` in its six models.
pub fn limits() -> Vec<Subject> {
    MODELS.iter().map(|(engine, sessions)| limit(engine, sessions)).collect()
}

/// `gearbox limit` in its six models, each with its bare mechanism beside it.
pub fn limits_and_mechanisms() -> Vec<Subject> {
    MODELS.iter().flat_map(|(engine, sessions)| [limit(engine, sessions), bare(engine, sessions)]).collect()
}

/// The servers of others.
pub fn peers() -> Vec<Subject> {
    let postgres = |major: u32| subject(format!("PostgreSQL {major}"), Product::Postgres { major });
    let mariadb =
        |name: &str, handling: &str| subject(name.into(), Product::MariaDb { thread_handling: handling.into() });
    vec![
        postgres(15),
        postgres(18),
        mariadb("MariaDB", "one-thread-per-connection"),
        mariadb("MariaDB pool", "pool-of-threads"),
    ]
}

/// The six models and the servers of others.
pub fn servers() -> Vec<Subject> {
    models().into_iter().chain(peers()).collect()
}

/// The six models and the servers of others, as far as they understand a workload.
pub fn servers_for(workload: &Workload) -> Vec<Subject> {
    let understands = |subject: &Subject| match (&subject.product, workload.only) {
        (Product::MariaDb { .. }, Some(wire)) => wire == Wire::Mysql,
        (_, Some(wire)) => wire == Wire::Postgres,
        (_, None) => true,
    };
    servers().into_iter().filter(understands).collect()
}

/// The six models, the ceiling, and the servers of others.
pub fn everybody() -> Vec<Subject> {
    models().into_iter().chain([ceiling()]).chain(peers()).collect()
}

/// A server that somebody else started.
pub fn external(address: Address) -> Subject {
    subject(address.socket.to_string(), Product::External(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_contestants_differ() {
        let mut names: Vec<String> = everybody().into_iter().chain(limits()).map(|subject| subject.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 16, "the ceiling is one of the limits");
    }
}
