//! What clients know of their transfers, and what must be in the tables for it.
//!
//! A transfer takes an amount from one account, gives it to another, and writes itself down in the journal, in one transaction. So the
//! accounts' sum never changes, and each account is what the journal says of it.

use super::{connect_patiently, is_gone};
use crate::Outcome;
use crate::server_under_test::connect;
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

/// Accounts that the last look also finds one by one, by the index.
const SAMPLE: i32 = 1000;

/// A transfer: from, to, amount.
pub(super) type Transfer = (i32, i32, i64);

/// What a client knows of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    /// It was asked for, and no answer came.
    Asked,
    /// It was acknowledged.
    Acknowledged,
    /// It was rolled back on purpose.
    RolledBack,
}

/// The books of all clients: by client and number.
pub(super) struct Books {
    /// How many accounts there are.
    pub(super) accounts: i32,
    entries: Mutex<BTreeMap<(i32, i64), (Transfer, Known)>>,
}

fn text(error: impl std::fmt::Debug) -> String {
    format!("{error:?}")
}

impl Books {
    /// Makes the tables: so many accounts, each with so many bytes beside its value.
    pub(super) fn open(port: u16, accounts: i32, filler: u32) -> Outcome<Books> {
        let mut client = connect(port)?;
        let made = client.batch_execute(&format!(
            "create table account (k int primary key, v bigint not null, filler text not null); \
             create table journal (client int, n bigint, a int, b int, amount bigint, primary key (client, n)); \
             insert into account select k, 0, repeat('x', {filler}) from generate_series(0, {}) as k; \
             analyze account",
            accounts - 1
        ));
        made.map_err(text)?;
        Ok(Books { accounts, entries: Mutex::new(BTreeMap::new()) })
    }

    /// Notes what a client knows.
    pub(super) fn note(&self, client: i32, number: i64, transfer: Transfer, known: Known) {
        self.entries.lock().expect("no client panics").insert((client, number), (transfer, known));
    }

    /// A look while everybody works: no account is missing or there twice, and the sum is what it was.
    pub(super) fn look(&self, port: u16) -> Outcome<()> {
        for tries in 0.. {
            let mut client = connect_patiently(port)?;
            let seen = client.query_one("select count(*), count(distinct k), sum(v)::bigint from account", &[]);
            let seen = match seen {
                Ok(row) => (row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, i64>(2)),
                // It may have been on an engine that was killed.
                Err(error) if is_gone(&error) && tries < 10 => continue,
                Err(error) => return Err(format!("a look at the accounts: {error:?}")),
            };
            return match seen == (self.accounts.into(), self.accounts.into(), 0) {
                true => Ok(()),
                false => Err(format!("a look at the accounts sees {seen:?}: rows, accounts, sum")),
            };
        }
        Ok(())
    }

    /// The last look, when nobody works any more: the journal against the books, and each account against the journal; by the
    /// indexes and without them.
    pub(super) fn settle(&self, port: u16) -> Outcome<()> {
        self.look(port)?;
        let mut client = connect(port)?;
        // Locks that nobody holds would be found here.
        client
            .batch_execute(
                "set lock_timeout = '5s'; begin; lock table account, journal in access exclusive mode; \
                 update account set v = v where k < 1000; commit",
            )
            .map_err(|error| format!("a lock is left: {error:?}"))?;
        let rows = client.query("select client, n, a, b, amount from journal", &[]).map_err(text)?;
        let mut there: HashMap<(i32, i64), Transfer> = HashMap::new();
        let mut balances = vec![0i64; self.accounts as usize];
        for row in &rows {
            let transfer: Transfer = (row.get(2), row.get(3), row.get(4));
            balances[transfer.0 as usize] -= transfer.2;
            balances[transfer.1 as usize] += transfer.2;
            if there.insert((row.get(0), row.get(1)), transfer).is_some() {
                return Err(format!("transfer {:?} is there twice", (row.get::<_, i32>(0), row.get::<_, i64>(1))));
            }
        }
        let entries = self.entries.lock().expect("no client panics");
        for (key, (transfer, known)) in entries.iter() {
            let found = there.remove(key);
            let agrees = match known {
                Known::Acknowledged => found == Some(*transfer),
                Known::Asked => found.is_none() || found == Some(*transfer),
                Known::RolledBack => found.is_none(),
            };
            if !agrees {
                return Err(format!("transfer {key:?} is known as {transfer:?} {known:?}, and found as {found:?}"));
            }
        }
        if let Some(stray) = there.keys().next() {
            return Err(format!("transfer {stray:?} is there, and nobody asked for it"));
        }
        let agree = |key: i32, value: i64| match value == balances[key as usize] {
            true => Ok(()),
            false => Err(format!("account {key} is {value}, and {} by the journal", balances[key as usize])),
        };
        for row in client.query("select k, v from account", &[]).map_err(text)? {
            agree(row.get(0), row.get(1))?;
        }
        for key in (0..self.accounts).step_by((self.accounts / SAMPLE).max(1) as usize) {
            let by_index = client.query_one("select v from account where k = $1", &[&key]).map_err(text)?;
            agree(key, by_index.get(0))?;
        }
        Ok(())
    }

    /// How many of which.
    pub(super) fn report(&self) -> String {
        let entries = self.entries.lock().expect("no client panics");
        let count = |known| entries.values().filter(|entry| entry.1 == known).count();
        format!(
            "{} transfers acknowledged and there, {} without an answer, {} rolled back",
            count(Known::Acknowledged),
            count(Known::Asked),
            count(Known::RolledBack)
        )
    }
}
