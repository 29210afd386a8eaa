//! Process hosts are killed at random, again and again, while clients add to counters under spinlocks and latches, wait and
//! post: what was acknowledged is there, counters are the sum of tallies, and whoever was not running on a killed host
//! goes on as if nothing had been.
//!
//! A *life* is the time between two restarts of the whole server (a host died with a spinlock, an exclusive latch, or inside
//! a critical section): counters and sessions are those of a life, so clients keep their books by life, and the books
//! are compared at the end of each round of kills, when nobody is busy.
//!
//! For each client and counter: acknowledged ≤ counted ≤ acknowledged + requests whose answer a kill took.

use crate::figure;
use crate::support::client::{Who, field, parse_who};
use crate::support::runner::Test;
use crate::support::{Client, Dice, Server, Setup, eventually, full, procs, small_or_full};
use kernel::config::{EngineKind, Primitive, Sessions};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Clients that are always busy, and clients that rest between the looks at them.
const BUSY: usize = 10;
const IDLE: usize = 40;
/// Kills between two comparisons of the books.
const ROUND: usize = 20;
/// Nobody waits longer than this for an answer, whatever is killed.
const HANG: Duration = Duration::from_secs(2);
/// The base of the events by which pairs of clients post each other.
const PAIRS: usize = 500;

pub fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for sessions in [Sessions::Dedicated, Sessions::Shared, Sessions::Fiber] {
        for &primitive in Primitive::ALL {
            let setup = Setup { primitive, ..Setup::of((EngineKind::Process, sessions)) };
            let kills = match primitive {
                Primitive::Futex => small_or_full(40, 1000),
                _ => small_or_full(10, 200),
            };
            let name = format!("kills::process_{sessions}_{primitive}");
            tests.push((name, Box::new(move || random_kills(setup, kills))));
        }
    }
    tests
}

/// What the clients and the killer share.
#[derive(Default)]
struct Stage {
    stop: AtomicBool,
    /// Connections that broke, in all lives.
    lost: AtomicU32,
    /// The longest that anybody has waited for an answer, in microseconds.
    longest_us: AtomicU64,
    /// Posts that have been acknowledged less waits that have: by pair.
    owed: [AtomicU32; BUSY],
    /// The process that a worker was served in when it connected: its own, if it is dedicated.
    pids: [AtomicI32; BUSY],
}

/// Ends the play when it falls.
struct Curtain<'a>(&'a Stage);

impl Drop for Curtain<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, SeqCst);
    }
}

/// A client's books of one life.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Book {
    life: u32,
    added: u64,
    adds_unknown: u64,
    latched: u64,
    latched_unknown: u64,
}

/// A client that is always busy; it keeps its connection and its books over rounds.
struct Worker {
    index: usize,
    client: Option<Client>,
    book: Book,
    /// What the session's own tally must say: since its connection.
    tally: u64,
    dice: Dice,
    requests: u64,
}

impl Worker {
    fn new(index: usize) -> Worker {
        let (client, book) = (None, Book::default());
        Worker { index, client, book, tally: 0, dice: Dice(index as u64 + 1), requests: 0 }
    }

    /// Works until the stage is over.
    fn work(&mut self, server: &Server, stage: &Stage) {
        while !stage.stop.load(SeqCst) {
            if self.client.is_none() {
                self.connect(server, stage);
            }
            self.request(server, stage);
        }
    }

    /// Between rounds: has the connection gone since the last request?
    fn look_around(&mut self) {
        if self.client.as_mut().is_some_and(|client| client.try_ask("ping").is_err()) {
            self.client = None;
        }
    }

    fn connect(&mut self, server: &Server, stage: &Stage) {
        let (client, Who { restarts: life, pid, .. }) = connect(server);
        stage.pids[self.index].store(pid, SeqCst);
        if life != self.book.life {
            self.book = Book { life, ..Book::default() };
        }
        self.tally = 0;
        self.client = Some(client);
    }

    fn request(&mut self, server: &Server, stage: &Stage) {
        let (index, pair) = (self.index, self.index / 2);
        let owed = stage.owed[pair].load(SeqCst);
        let most = if self.dice.below(8) == 0 { 400_000 } else { 3000 };
        let size = self.dice.below(most);
        let (command, expected) = match self.dice.below(40) {
            0..=7 => (format!("add {index} 1"), None),
            8..=13 => (format!("ladd {index} 1"), None),
            // Under a spinlock, and a latch held alone, for long enough to be killed there.
            14 | 15 => (format!("add {index} 1 100"), None),
            16 => (format!("ladd {index} 1 1"), None),
            // Counters and latches that all of them want; a latch that they share, over a wait.
            17..=19 => ("add 100 0".to_string(), None),
            20..=22 => ("ladd 100 0".to_string(), None),
            23..=25 => ("lread 100 1".to_string(), Some("value 0")),
            // Only when there is, or will be, something to take.
            26..=30 if !index.is_multiple_of(2) && owed < 4 => (format!("post {} 1", PAIRS + pair), Some("ok")),
            26..=30 if index.is_multiple_of(2) && owed > 0 => (format!("wait {}", PAIRS + pair), Some("ok")),
            31..=34 => (format!("put {} {size} 7", size % 3), Some("ok")),
            35 | 36 => (format!("drop {}", size % 3), Some("ok")),
            _ => ("sleep 1".to_string(), Some("ok")),
        };
        let adds = command.starts_with(&format!("add {index} "));
        let latches = command.starts_with(&format!("ladd {index} "));
        let client = self.client.as_mut().expect("it is connected");
        let since = Instant::now();
        self.requests += 1;
        match client.try_ask(&command) {
            Ok(answer) => {
                let took = since.elapsed();
                stage.longest_us.fetch_max(took.as_micros() as u64, SeqCst);
                self.tally += (adds || latches) as u64;
                self.book.added += adds as u64;
                self.book.latched += latches as u64;
                let tally = format!("ok {}", self.tally);
                assert_eq!(answer, expected.unwrap_or(&tally), "{}: the answer to {command}", server.setup.name());
                match command.split(' ').next() {
                    Some("post") => drop(stage.owed[pair].fetch_add(1, SeqCst)),
                    Some("wait") => drop(stage.owed[pair].fetch_sub(1, SeqCst)),
                    _ => {}
                }
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                println!("{}: no answer to {command:?} within {HANG:?}", server.setup.name());
                println!("    {}", look(server));
                panic!("a hang");
            }
            Err(_) => {
                stage.lost.fetch_add(1, SeqCst);
                self.book.adds_unknown += adds as u64;
                self.book.latched_unknown += latches as u64;
                self.client = None;
                // Whether the post was taken, nobody knows: an extra one does no harm, a missing one stops the pair.
                if command.starts_with("wait") {
                    let _ = stage.owed[pair].fetch_update(SeqCst, SeqCst, |owed| owed.checked_sub(1));
                }
            }
        }
    }
}

/// Connects, trying again while the server restarts; answers where it is served.
fn connect(server: &Server) -> (Client, Who) {
    let end = Instant::now() + HANG * 2;
    loop {
        if let Ok(mut client) = Client::connect(server.address) {
            client.limit(HANG);
            if let Some(who) = client.try_ask("who").ok().and_then(|answer| parse_who(&answer)) {
                return (client, who);
            }
        }
        if Instant::now() > end {
            println!("    {}", look(server));
            panic!("{}: no connection, or no answer, for {:?}", server.setup.name(), HANG * 2);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What can be seen of a server that hangs.
fn look(server: &Server) -> String {
    let mut text = String::new();
    if let Ok(mut client) = Client::connect(server.address) {
        text = client.try_ask("stat").unwrap_or_else(|error| format!("stat: {error}"));
        for event in ["Test", "PgSleep", "ClientWrite"] {
            text = format!("{text}\n    {event}: {:?}", client.try_ask(&format!("waiters {event}")));
        }
    }
    format!("{text}\n    processes {:?}\n    {}", server.processes(), server.log())
}

/// A session that rests; it is not to notice anything.
struct Rester {
    client: Client,
    index: usize,
    /// The process that it was served in at first: its own, if it is dedicated.
    pid: i32,
    /// The server's life that it belongs to.
    life: u32,
}

impl Rester {
    fn connect(server: &Server, index: usize) -> Rester {
        loop {
            let (mut client, who) = connect(server);
            let put = client.try_ask(&format!("put 1 {} {index}", 100 + index * 100));
            if put.is_ok_and(|answer| answer == "ok") {
                return Rester { client, index, pid: who.pid, life: who.restarts };
            }
        }
    }

    /// Its connection broke: it comes back, if it was allowed to go. With a restart all go, one after the other: it may find
    /// a host first that is about to go too.
    fn comes_back(&mut self, server: &Server, victims: &[i32]) {
        let own = server.setup.sessions == Sessions::Dedicated && victims.contains(&self.pid);
        let mut again = Rester::connect(server, self.index);
        let restarted = eventually(10_000, || {
            if !own && again.life == self.life && again.client.try_ask("ping").is_err() {
                again = Rester::connect(server, self.index);
            }
            own || again.life != self.life
        });
        assert!(restarted, "{}: a session that rested is gone; killed were {victims:?}", server.setup.name());
        *self = again;
    }

    /// True if the session answers as it must; false if its connection broke.
    fn is_there(&mut self, server: &Server, stage: &Stage) -> bool {
        let since = Instant::now();
        match self.client.try_ask("get 1") {
            Ok(answer) => {
                stage.longest_us.fetch_max(since.elapsed().as_micros() as u64, SeqCst);
                assert_eq!(answer, format!("value {} {}", 100 + self.index * 100, self.index));
                true
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                println!("    {}", look(server));
                panic!("{}: a session that rested has no answer after {HANG:?}", server.setup.name());
            }
            Err(_) => false,
        }
    }
}

fn random_kills(setup: Setup, kills: usize) {
    let mut server = Server::start(setup);
    server.expected = vec!["restarts and recovers"];
    let name = server.setup.name();
    let (observer, who) = connect(&server);
    let mut life = who.restarts;
    let mut observer = Some(observer);
    let baseline = Baseline::of(&server, observer.as_mut().unwrap());
    let stage = Stage::default();
    let mut workers: Vec<Worker> = (0..BUSY).map(Worker::new).collect();
    let mut resters: Vec<Rester> = (0..IDLE).map(|index| Rester::connect(&server, index)).collect();
    let mut dice = Dice(kills as u64 * 31 + setup.primitive as u64);
    let (mut done, mut restarts) = (0, 0);
    while done < kills {
        stage.stop.store(false, SeqCst);
        let (before, life_before) = (stage.lost.load(SeqCst), life);
        let count = ROUND.min(kills - done);
        let mut victims = Vec::new();
        std::thread::scope(|scope| {
            for worker in &mut workers {
                scope.spawn(|| worker.work(&server, &stage));
            }
            // Also when something fails here, or nobody would end.
            let curtain = Curtain(&stage);
            victims = kill_some(&server, &stage, &mut observer, &mut resters, &mut life, count, &mut dice);
            drop(curtain);
            wake_waiters(&server, &stage, &mut observer, &mut life);
            done += count;
        });
        settle(&server, &stage, &mut observer, &mut workers, &mut resters, &mut life, &victims);
        let lost = stage.lost.load(SeqCst) - before;
        if life != life_before {
            restarts += life - life_before;
        } else if setup.sessions != Sessions::Fiber {
            // An engine runs one session at a time.
            assert!(lost as usize <= count, "{name}: {count} kills took {lost} sessions");
        }
        compare_books(&server, observer.as_mut().expect("it has just answered"), &workers, life, &stage);
    }
    let requests: u64 = workers.iter().map(|worker| worker.requests).sum();
    figure!(
        "{name}: {done} kills, {restarts} restarts, {} sessions lost, {requests} requests, longest {:.1} ms",
        stage.lost.load(SeqCst),
        stage.longest_us.load(SeqCst) as f64 / 1000.0
    );
    // Most kills find nothing half done. Chance may have it otherwise in a few, by three deviations of a fair coin.
    let most = kills / 2 + kills.isqrt() * 3 / 2;
    assert!(restarts as usize <= most, "{name}: {restarts} of {kills} kills restarted the server");
    let logged = server.log().matches("restarts and recovers").count();
    assert_eq!(restarts as usize, logged, "{name}: every restart is counted, and says why");
    drop((workers, resters));
    let mut observer = observer.unwrap_or_else(|| connect(&server).0);
    baseline.compare(&server, &mut observer);
    drop(observer);
    server.stop();
}

/// Kills `count` hosts, one after the other, looking after those who rest. Answers which.
fn kill_some(
    server: &Server,
    stage: &Stage,
    observer: &mut Option<Client>,
    resters: &mut [Rester],
    life: &mut u32,
    count: usize,
    dice: &mut Dice,
) -> Vec<i32> {
    let mut victims = Vec::new();
    while victims.len() < count {
        std::thread::sleep(Duration::from_micros(1000 + dice.next() % 9000));
        // The observer is one of those who rest: it is asked nothing while somebody is killed.
        let Some(background) = ask(server, observer, life, "stat").and_then(|stat| field(&stat, "background")) else {
            continue;
        };
        std::thread::sleep(Duration::from_millis(1));
        let hosts = server.hosts(background as i32);
        if hosts.is_empty() {
            continue;
        }
        // Most dedicated hosts are those of sessions that rest: every other kill is for one that is busy.
        let busy: Vec<i32> = stage.pids.iter().map(|pid| pid.load(SeqCst)).filter(|pid| hosts.contains(pid)).collect();
        let among = if dice.below(2) == 0 && !busy.is_empty() { &busy } else { &hosts };
        let victim = among[dice.below(among.len())];
        // SAFETY: plain system call; the process is one of the server's that this test started.
        if unsafe { libc::kill(victim, libc::SIGKILL) } == 0 {
            victims.push(victim);
        }
        for _ in 0..4 {
            let rester = &mut resters[dice.below(IDLE)];
            if !rester.is_there(server, stage) {
                rester.comes_back(server, &victims);
            }
        }
    }
    victims
}

/// Waits until all that the kills have brought about is over: the victims are gone, whoever was on them knows it, and the
/// server has cleaned up, or restarted. Under load that takes a while.
fn settle(
    server: &Server,
    stage: &Stage,
    observer: &mut Option<Client>,
    workers: &mut [Worker],
    resters: &mut [Rester],
    life: &mut u32,
    victims: &[i32],
) {
    // SAFETY: plain system call, which sends nothing.
    let gone = |pid: &i32| unsafe { libc::kill(*pid, 0) } != 0;
    let name = server.setup.name();
    assert!(eventually(10_000, || victims.iter().all(gone)), "{name}: of {victims:?} some live");
    let quiet = eventually(10_000, || {
        for rester in resters.iter_mut() {
            if !rester.is_there(server, stage) {
                rester.comes_back(server, victims);
            }
        }
        workers.iter_mut().for_each(Worker::look_around);
        // Whoever died with something half done has a session until all restarts.
        ask(server, observer, life, "stat").is_some_and(|stat| field(&stat, "clients") == Some(sessions(workers)))
    });
    assert!(quiet, "{name}: sessions are left: {:?}", ask(server, observer, life, "stat"));
}

/// Asks as the observer, which may have to come back after a restart.
fn ask(server: &Server, observer: &mut Option<Client>, life: &mut u32, command: &str) -> Option<String> {
    let client = observer.get_or_insert_with(|| {
        let (client, who) = connect(server);
        *life = who.restarts;
        client
    });
    match client.try_ask(command) {
        Ok(answer) => Some(answer),
        Err(error) if error.kind() == ErrorKind::TimedOut => {
            println!("    {}", look(server));
            panic!("{}: no answer to {command}", server.setup.name());
        }
        Err(_) => {
            *observer = None;
            None
        }
    }
}

/// Whoever waits for a post that nobody will send any more is let go.
fn wake_waiters(server: &Server, stage: &Stage, observer: &mut Option<Client>, life: &mut u32) {
    std::thread::sleep(Duration::from_millis(5));
    for pair in 0..BUSY / 2 {
        while ask(server, observer, life, &format!("post {} 1", PAIRS + pair)).is_none() {}
        stage.owed[pair].fetch_add(1, SeqCst);
    }
}

/// Nobody is busy: what the server counts is what the clients were told.
fn compare_books(server: &Server, client: &mut Client, workers: &[Worker], life: u32, stage: &Stage) {
    let name = server.setup.name();
    let sums = client.ask("sums");
    let counts = parse_counts(&client.line().unwrap());
    let latches = parse_counts(&client.line().unwrap());
    let sum = |name| field(&sums, name).unwrap();
    let mut unknown = 0;
    for worker in workers.iter().filter(|worker| worker.book.life == life) {
        let book = worker.book;
        let counted = counts[worker.index];
        let latched = latches[worker.index];
        let fits = |counted: u64, known: u64, unknown: u64| (known..=known + unknown).contains(&counted);
        assert!(fits(counted, book.added, book.adds_unknown), "{name}: {counted} counted, the client's book: {book:?}");
        assert!(fits(latched, book.latched, book.latched_unknown), "{name}: {latched} latched, the book: {book:?}");
        unknown += book.adds_unknown + book.latched_unknown;
    }
    // A kill between the counter and the tally: one of each session that was lost.
    let lost = stage.lost.load(SeqCst) as u64;
    for (what, counted, tallied) in
        [("counters", sum("counted"), sum("added")), ("latched", sum("latched"), sum("ladded"))]
    {
        assert!((tallied..=tallied + unknown.min(lost)).contains(&counted), "{name}: {what}: {sums}");
    }
    // A kill between the posts and the tally of them, on either side.
    let difference = sum("posted") as i64 - sum("taken") as i64 - sum("unread") as i64;
    assert!(difference.unsigned_abs() <= lost, "{name}: posts: {sums}");
    assert_eq!(sum("held"), 0, "{name}: a latch is held by nobody: {sums}");
}

/// Sessions that there must be: those who are connected, those who rest, and the observer.
fn sessions(workers: &[Worker]) -> u64 {
    (workers.iter().filter(|worker| worker.client.is_some()).count() + IDLE + 1) as u64
}

fn parse_counts(line: &str) -> Vec<u64> {
    let mut counts = vec![0; crate::support::service::KEYS];
    for pair in line.split(' ').skip(1) {
        let (key, value) = pair.split_once('=').expect("a key and a value");
        counts[key.parse::<usize>().unwrap()] = value.parse().unwrap();
    }
    counts
}

/// What the server has when nobody is there but the observer.
struct Baseline {
    arenas: u64,
    supervisor_sockets: usize,
}

impl Baseline {
    fn of(server: &Server, observer: &mut Client) -> Baseline {
        let arenas = observer.stat("arenas");
        // The supervisor may still be on its way to take the observer's socket into its keeping.
        std::thread::sleep(Duration::from_millis(50));
        Baseline { arenas, supervisor_sockets: sockets(server.pid) }
    }

    /// After everybody has left: no slot, byte, latch, descriptor is left.
    fn compare(&self, server: &Server, observer: &mut Client) {
        let name = server.setup.name();
        let left = eventually(3000, || observer.stat("clients") == 1 && observer.stat("arenas") <= self.arenas + 4096);
        let stat = observer.ask("stat");
        assert!(left, "{name}: something is left of those who have gone: {stat}");
        assert_eq!(field(&stat, "heap"), field(&stat, "accounts"), "{name}: accounts and walk: {stat}");
        assert_eq!(field(&stat, "blocked"), Some(0), "{name}: {stat}");
        // Spares that are too many end after a while, whatever they sleep on.
        if server.setup.primitive == Primitive::Futex || full() {
            let kept = 2 + server.setup.engines as u64;
            assert!(eventually(10_000, || observer.stat("standby") <= kept), "{name}: {}", observer.ask("stat"));
        }
        let background = field(&stat, "background").unwrap() as i32;
        let kept = eventually(3000, || sockets(server.pid) <= self.supervisor_sockets);
        assert!(
            kept,
            "{name}: the supervisor keeps {} sockets, {} before",
            sockets(server.pid),
            self.supervisor_sockets
        );
        // Those that hosts have inherited, and the observer's.
        let most = self.supervisor_sockets + 1;
        let hosts = || server.hosts(background).into_iter().chain([background]);
        let few = eventually(5000, || hosts().all(|pid| sockets(pid) <= most));
        let counts: Vec<_> = hosts().map(|pid| (pid, procs::descriptors(pid))).collect();
        assert!(few, "{name}: descriptors are left: {counts:?}");
        figure!("{name}: at the end {stat}");
    }
}

fn sockets(pid: i32) -> usize {
    procs::descriptors(pid).get("socket").copied().unwrap_or(0)
}
