//! The load, and the crowd of parked sessions.

use super::books::{Books, Known};
use super::{HANG, connect_patiently, is_gone, victims};
use crate::Outcome;
use crate::e2e::Draw;
use crate::server_under_test::ServerUnderTest;
use postgres::{Client, Statement};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What takes longer is counted.
const SLOW: Duration = Duration::from_secs(2);

/// A longest time, and how many were long.
#[derive(Default)]
struct Longest {
    us: AtomicU64,
    slow: AtomicU64,
}

impl Longest {
    fn note(&self, time: Duration) {
        self.us.fetch_max(time.as_micros() as u64, SeqCst);
        self.slow.fetch_add(u64::from(time > SLOW), SeqCst);
    }

    fn report(&self) -> String {
        format!("{} ms ({} over 2 s)", self.us.load(SeqCst) / 1000, self.slow.load(SeqCst))
    }
}

/// What clients have met.
#[derive(Default)]
struct Met {
    stop: AtomicBool,
    /// Transfers that a death has ended.
    ended: AtomicU64,
    /// From the end of a connection until the same client's next transfer was acknowledged.
    outages: Longest,
    /// A transfer whose connection held.
    transfers: Longest,
    wrong: Mutex<Option<String>>,
    /// For each client, when it last got anywhere: milliseconds since the beginning.
    seen_ms: Vec<AtomicU64>,
}

/// Clients at work.
pub(super) struct Load {
    met: Arc<Met>,
    began: Instant,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    /// Begins. What each client asks for follows from the seed.
    pub(super) fn begin(port: u16, books: &Arc<Books>, clients: usize, seed: u64) -> Load {
        let met = Arc::new(Met { seen_ms: (0..clients).map(|_| AtomicU64::new(0)).collect(), ..Met::default() });
        let began = Instant::now();
        let start = |id: usize| {
            let (met, books) = (met.clone(), books.clone());
            let draw = Draw::new(seed.wrapping_mul(1000) + id as u64);
            let mut worker = Worker { id, port, number: 0, draw, met, books, began };
            std::thread::spawn(move || {
                if let Err(text) = worker.work() {
                    worker.met.wrong.lock().expect("nobody panics").get_or_insert(text);
                }
            })
        };
        Load { met: met.clone(), began, clients: (0..clients).map(start).collect() }
    }

    /// Fails if a client has seen something wrong, or is forgotten.
    pub(super) fn check(&self) -> Outcome<()> {
        if let Some(text) = self.met.wrong.lock().expect("nobody panics").clone() {
            return Err(text);
        }
        let now = self.began.elapsed().as_millis() as u64;
        let silent = |seen: &AtomicU64| now.saturating_sub(seen.load(SeqCst)) > HANG.as_millis() as u64;
        match self.met.seen_ms.iter().position(silent) {
            Some(id) => Err(format!("client {id} has got nowhere for {HANG:?}")),
            None => Ok(()),
        }
    }

    /// What they have met so far.
    pub(super) fn report(&self) -> String {
        format!(
            "{} requests ended, the longest wait {}, with a death of its own session {}",
            self.met.ended.load(SeqCst),
            self.met.transfers.report(),
            self.met.outages.report()
        )
    }

    /// Everybody goes.
    pub(super) fn end(mut self) -> Outcome<String> {
        self.met.stop.store(true, SeqCst);
        let asked = Instant::now();
        while self.clients.iter().any(|client| !client.is_finished()) {
            self.check()?;
            if asked.elapsed() > HANG {
                return Err("a client does not come back".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.clients.drain(..).for_each(|client| drop(client.join()));
        self.check()?;
        Ok(self.report())
    }
}

struct Worker {
    id: usize,
    port: u16,
    number: i64,
    draw: Draw,
    met: Arc<Met>,
    books: Arc<Books>,
    began: Instant,
}

impl Worker {
    fn work(&mut self) -> Outcome<()> {
        let mut lost: Option<Instant> = None;
        while !self.met.stop.load(SeqCst) {
            match self.connection(&mut lost) {
                Ok(()) => {}
                Err(error) if is_gone(&error) => {
                    self.met.ended.fetch_add(1, SeqCst);
                    lost.get_or_insert_with(Instant::now);
                }
                Err(error) => return Err(format!("client {}: {error:?}", self.id)),
            }
        }
        Ok(())
    }

    /// One connection's life.
    fn connection(&mut self, lost: &mut Option<Instant>) -> Result<(), postgres::Error> {
        let mut client = match connect_patiently(self.port) {
            Ok(client) => client,
            Err(text) => {
                self.met.wrong.lock().expect("nobody panics").get_or_insert(text);
                self.met.stop.store(true, SeqCst);
                return Ok(());
            }
        };
        let change = client.prepare("update account set v = v + $2 where k = $1")?;
        let write = client.prepare("insert into journal values ($1, $2, $3, $4, $5)")?;
        while !self.met.stop.load(SeqCst) {
            let began = Instant::now();
            self.transfer(&mut client, &change, &write)?;
            match lost.take() {
                Some(since) => self.met.outages.note(since.elapsed()),
                None => self.met.transfers.note(began.elapsed()),
            }
            self.met.seen_ms[self.id].store(self.began.elapsed().as_millis() as u64, SeqCst);
        }
        Ok(())
    }

    fn transfer(&mut self, client: &mut Client, change: &Statement, write: &Statement) -> Result<(), postgres::Error> {
        // In order, so that there are no deadlocks.
        let accounts = self.books.accounts;
        let from = self.draw.below(accounts as usize - 1) as i32;
        let to = from + 1 + self.draw.below((accounts - 1 - from) as usize) as i32;
        let amount = self.draw.below(1000) as i64 - 500;
        let commits = self.draw.below(10) > 0;
        let (id, number) = (self.id as i32, self.number);
        self.number += 1;
        let known = if commits { Known::Asked } else { Known::RolledBack };
        self.books.note(id, number, (from, to, amount), known);
        let mut transaction = client.transaction()?;
        transaction.execute(change, &[&from, &-amount])?;
        transaction.execute(change, &[&to, &amount])?;
        transaction.execute(write, &[&id, &number, &from, &to, &amount])?;
        if !commits {
            return transaction.rollback();
        }
        transaction.commit()?;
        self.books.note(id, number, (from, to, amount), Known::Acknowledged);
        Ok(())
    }
}

/// Sessions that wait for their clients, half of them in an open transaction, each with a prepared statement.
pub(super) struct Crowd {
    sessions: Vec<(Client, Statement)>,
    restarts: usize,
    asked: usize,
    broken: usize,
}

fn parked(port: u16, in_transaction: bool) -> Result<(Client, Statement), String> {
    let mut client = connect_patiently(port)?;
    let statement = client.prepare("select v from account where k = 1").map_err(|error| format!("{error:?}"))?;
    if in_transaction {
        client.batch_execute("begin; select 1").map_err(|error| format!("{error:?}"))?;
    }
    Ok((client, statement))
}

impl Crowd {
    /// They connect.
    pub(super) fn come(server: &ServerUnderTest, count: usize) -> Outcome<Crowd> {
        let sessions = (0..count).map(|at| parked(server.port(), at.is_multiple_of(2))).collect::<Outcome<Vec<_>>>()?;
        Ok(Crowd { sessions, restarts: victims::restarts(server), asked: 0, broken: 0 })
    }

    /// Each is asked for something. `may_die` says that a death of a host may be a parked session's; else only a restart may be.
    pub(super) fn ask(&mut self, server: &ServerUnderTest, may_die: bool) -> Outcome<()> {
        let mut broken = Vec::new();
        for (at, (client, statement)) in self.sessions.iter_mut().enumerate() {
            self.asked += 1;
            match client.query_one(&*statement, &[]) {
                Ok(row) => drop(row.get::<_, i64>(0)),
                Err(error) if is_gone(&error) => broken.push(at),
                Err(error) => return Err(format!("parked session {at}: {error:?}")),
            }
        }
        if broken.is_empty() {
            return Ok(());
        }
        // What a death leads to may take a moment to be told.
        let told = Instant::now();
        while !may_die && victims::restarts(server) == self.restarts {
            if told.elapsed() > Duration::from_secs(5) {
                return Err(format!("parked sessions {broken:?} are gone, though the server did not restart"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.broken += broken.len();
        for at in broken {
            self.sessions[at] = self.again(server, at)?;
        }
        self.restarts = victims::restarts(server);
        Ok(())
    }

    /// The host that serves a newcomer may be one that was just killed.
    fn again(&self, server: &ServerUnderTest, at: usize) -> Outcome<(Client, Statement)> {
        let mut last = String::new();
        for _ in 0..20 {
            match parked(server.port(), at.is_multiple_of(2)) {
                Ok(session) => return Ok(session),
                Err(text) => last = text,
            }
        }
        Err(last)
    }

    /// Everybody goes.
    pub(super) fn leave(self) -> String {
        format!("parked sessions were asked {} times, {} were gone", self.asked, self.broken)
    }
}
