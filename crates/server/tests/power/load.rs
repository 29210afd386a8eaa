//! Clients that commit, and remember what they were told.
//!
//! A client's transactions are numbered. Each puts its number into two tables and into the client's row of a third one, so one that
//! is there in part is seen; a client ends at its first error, so at most its last transaction is in doubt.

use postgres::{Client, NoTls};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// How many clients there are.
pub const CLIENTS: usize = 4;

/// What a client knows.
#[derive(Clone, Default)]
pub struct Known {
    /// Transactions that were acknowledged and not deleted since.
    kept: BTreeSet<i64>,
    /// The one in doubt, if there is one.
    doubt: Option<i64>,
    /// The last number that was tried.
    last: i64,
    /// The last one that is known to be committed.
    committed: i64,
    /// Acknowledged, ever.
    pub acknowledged: u64,
}

/// What all clients know.
#[derive(Clone, Default)]
pub struct Model {
    clients: [Known; CLIENTS],
    /// True if the tables are known to be there.
    pub tables: bool,
}

/// Makes the tables if they are not there.
pub fn prepare(client: &mut Client, model: &mut Model) -> Result<(), postgres::Error> {
    let found = client.query_one("select count(*) from pg_class where relname in ('a', 'b', 'newest')", &[])?;
    match found.get::<_, i64>(0) {
        3 => {}
        0 if !model.tables => client.batch_execute(
            "begin;
             create table a (client int, number bigint, filler text, primary key (client, number));
             create table b (client int, number bigint, primary key (client, number));
             create table newest (client int primary key, number bigint);
             insert into newest select g, 0 from generate_series(0, 3) g;
             commit",
        )?,
        others => panic!("{others} of the 3 tables are there, which were made in one transaction"),
    }
    model.tables = true;
    Ok(())
}

/// Deletes everything now and then, so that a long run does not fill the disk.
pub fn clear(client: &mut Client, model: &mut Model) -> Result<(), postgres::Error> {
    client.batch_execute("begin; delete from a; delete from b; commit")?;
    model.clients.iter_mut().for_each(|known| known.kept.clear());
    Ok(())
}

/// Commits until the server is gone or `stop` is set.
pub fn run(port: u16, model: &mut Model, stop: &AtomicBool) {
    std::thread::scope(|scope| {
        for (number, known) in model.clients.iter_mut().enumerate() {
            scope.spawn(move || commit(port, number, known, stop));
        }
        scope.spawn(move || {
            // Pages are written, segments used again, while the clients commit.
            let Some(mut client) = connect(port) else { return };
            while !stop.load(SeqCst) && client.batch_execute("checkpoint").is_ok() {
                std::thread::sleep(Duration::from_millis(15));
            }
        });
    });
}

fn connect(port: u16) -> Option<Client> {
    let mut config = postgres::Config::new();
    config.host("127.0.0.1").port(port).user("postgres").dbname("postgres");
    config.connect_timeout(Duration::from_secs(10)).connect(NoTls).ok()
}

fn commit(port: u16, client_number: usize, known: &mut Known, stop: &AtomicBool) {
    let Some(mut client) = connect(port) else { return };
    while !stop.load(SeqCst) {
        let number = known.last + 1;
        (known.last, known.doubt) = (number, Some(number));
        let transaction = format!(
            "begin;
             insert into a values ({client_number}, {number}, repeat('x', {}));
             insert into b values ({client_number}, {number});
             update newest set number = {number} where client = {client_number};
             commit",
            number % 7 * 90
        );
        if client.batch_execute(&transaction).is_err() {
            return;
        }
        known.kept.insert(number);
        (known.doubt, known.committed) = (None, number);
        known.acknowledged += 1;
    }
}

/// Compares what is there with what was told. An error says what is wrong.
pub fn check(client: &mut Client, model: &mut Model) -> Result<(), String> {
    if !model.tables {
        return Ok(());
    }
    for (client_number, known) in model.clients.iter_mut().enumerate() {
        let mut numbers = |what: &str| -> Result<Vec<i64>, String> {
            let rows = client
                .query(what, &[])
                .map_err(|error| format!("what was acknowledged cannot be read: {what}: {error:?}"))?;
            Ok(rows.iter().map(|row| row.get(0)).collect())
        };
        let in_a = numbers(&format!("select number from a where client = {client_number} order by number"))?;
        let in_b = numbers(&format!("select number from b where client = {client_number} order by number"))?;
        let newest = numbers(&format!("select number from newest where client = {client_number}"))?;
        let scanned = numbers(&format!("select number from a where client + 0 = {client_number} order by number + 0"))?;
        if in_a != in_b || in_a != scanned {
            return Err(format!(
                "client {client_number}: {} rows in one table, {} in the other, {} without the index: {:?}",
                in_a.len(),
                in_b.len(),
                scanned.len(),
                difference(&in_a, &in_b)
            ));
        }
        let found: BTreeSet<i64> = in_a.into_iter().collect();
        let lost: Vec<i64> = known.kept.difference(&found).copied().take(10).collect();
        if !lost.is_empty() {
            return Err(format!(
                "client {client_number}: acknowledged and lost: {lost:?} of {}, in doubt: {:?}",
                known.kept.len(),
                known.doubt
            ));
        }
        let beyond: Vec<i64> = found.difference(&known.kept).copied().filter(|&n| known.doubt != Some(n)).collect();
        if !beyond.is_empty() {
            return Err(format!("client {client_number}: never asked for, or deleted: {beyond:?}"));
        }
        if let Some(number) = known.doubt.take().filter(|number| found.contains(number)) {
            known.kept.insert(number);
            known.committed = number;
        }
        if newest != [known.committed] {
            return Err(format!("client {client_number}: its newest is {newest:?}, not {}", known.committed));
        }
    }
    Ok(())
}

fn difference(a: &[i64], b: &[i64]) -> Vec<i64> {
    let (a, b): (BTreeSet<i64>, BTreeSet<i64>) = (a.iter().copied().collect(), b.iter().copied().collect());
    a.symmetric_difference(&b).copied().take(10).collect()
}

impl Model {
    /// How many transactions were acknowledged, ever.
    pub fn acknowledged(&self) -> u64 {
        self.clients.iter().map(|known| known.acknowledged).sum()
    }
}
