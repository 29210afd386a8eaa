//! Clients of [`super::Tally`], and what must hold of what they were told.
//!
//! *Callers* do one thing after the other, as the seed has it: some are slow, some vanish in the middle of a line, some ask
//! for two things at once. A *producer* and a *consumer* share each mailbox; the consumer takes a number of letters and
//! waits for each, so a wake-up that is lost leaves it waiting for ever. What is answered nobody knows after a connection
//! has broken in between, so a producer that hears of trouble puts more in.
//!
//! Checked at the end, with nobody connected: the tables ([`Tables::check`]); that no addition that was acknowledged is
//! missing; that the registers' histories have an explanation; and during the run, that notes are what they were, totals
//! are constant and halves are never seen to differ.

use super::{BALANCE, COUNTERS, MAILBOXES, REGISTERS, Tables, Tally, tables::ACCOUNTS};
use crate::history::History;
use crate::register::{self, Asked, Told};
use kernel::config::{EngineKind, Sessions};
use kernel::engine::sim::{Failure, Options, Report, Scenario, SimConn};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What callers do, by weight.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// Additions under spinlocks.
    pub spin: u32,
    /// Additions under latches, and looks at what they change.
    pub latch: u32,
    /// Moves between accounts, and their sum.
    pub transfer: u32,
    /// Registers.
    pub register: u32,
    /// Notes.
    pub note: u32,
    /// Sleeps, computing, long answers, open transactions, two requests at once, pauses.
    pub other: u32,
    /// Going away, in one of several ways.
    pub leave: u32,
}

/// How much is done, and what.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Callers.
    pub callers: u32,
    /// Steps of each.
    pub steps: u32,
    /// What callers do.
    pub weights: Weights,
    /// Counters and accounts that they do it with.
    pub spread: u64,
    /// Mailboxes that are used, each by a producer and consumers.
    pub mailboxes: u32,
    /// Consumers of each mailbox.
    pub consumers: u32,
    /// Letters that each consumer takes.
    pub letters: u32,
}

impl Load {
    /// The load that goes with a seed: some of everything, or much of little, where few things are fought for.
    pub fn of(seed: u64) -> Load {
        let mixed = Weights { spin: 15, latch: 25, transfer: 15, register: 10, note: 10, other: 20, leave: 5 };
        let none = Weights { spin: 0, latch: 0, transfer: 0, register: 0, note: 0, other: 0, leave: 0 };
        let load = Load { callers: 4, steps: 15, weights: mixed, spread: 3, mailboxes: 1, consumers: 1, letters: 8 };
        match seed % 6 {
            0 => Load { weights: Weights { latch: 10, leave: 1, ..none }, spread: 1, mailboxes: 0, callers: 5, ..load },
            1 => Load { callers: 1, mailboxes: 2, consumers: 2, letters: 12, ..load },
            2 => Load { weights: Weights { note: 10, other: 2, ..none }, mailboxes: 0, callers: 3, steps: 25, ..load },
            3 => Load { weights: Weights { transfer: 10, latch: 5, spin: 5, ..none }, spread: 2, ..load },
            _ => load,
        }
    }
}

/// What happens to a server of that model under that seed: every other one is left in peace, the rest meet deaths, broken
/// connections, moves at every request, power cuts.
pub fn options(seed: u64, hosts: EngineKind, sessions: Sessions) -> Options {
    let mut options = Options::new(hosts, sessions);
    options.move_sessions = seed % 5 == 4 && sessions != Sessions::Dedicated;
    if seed % 2 == 1 {
        options.kills = 1 + (seed / 2 % 4) as u32;
        options.kill_chance = [0, 100, 1000][(seed / 8 % 3) as usize];
        options.kill_background = seed % 7 == 3;
        options.reset_chance = [0, 3000][(seed / 24 % 2) as usize];
        options.power_cuts = (seed % 11 == 5) as u32;
    }
    options
}

/// What clients of one run share.
#[derive(Default)]
struct Board {
    /// How often a connection broke.
    trouble: Cell<u32>,
    /// Additions that were acknowledged, by epoch: under spinlocks, under latches.
    acknowledged: RefCell<BTreeMap<u32, [u64; 2]>>,
    /// Letters that consumers still want.
    wanted: [Cell<u32>; MAILBOXES],
    /// What was asked of registers, by epoch and number.
    registers: RefCell<BTreeMap<(u32, u64), History<Asked, Told>>>,
}

/// Runs a seed with this load.
pub fn run(seed: u64, options: Options, load: Load) -> Result<Report, Box<Failure>> {
    let tables: Rc<Cell<Option<Tables>>> = Rc::default();
    let newest = tables.clone();
    let make = move || {
        let tally = Tally::new();
        newest.set(Some(tally.tables()));
        Ok(Box::new(tally) as Box<dyn kernel::Service>)
    };
    let died = match options.kills + options.power_cuts {
        0 => 0,
        deaths => deaths as u64 * options.max_connections as u64,
    };
    kernel::engine::sim::run(seed, options, make, |scenario| {
        let board: Rc<Board> = Rc::default();
        for number in 0..load.callers {
            let board = board.clone();
            scenario.client(move |conn| Caller::new(conn, number, board).work(&load));
        }
        for mailbox in 0..load.mailboxes as usize {
            add_mailbox(scenario, &board, &load, mailbox);
        }
        scenario.check(move || at_the_end(&board, tables.get().expect("the server was started"), died));
    })
}

fn add_mailbox(scenario: &mut Scenario, board: &Rc<Board>, load: &Load, mailbox: usize) {
    let letters = load.letters * load.consumers;
    board.wanted[mailbox].set(letters);
    let producer = board.clone();
    scenario.client(move |conn| Caller::new(conn, 100 + mailbox as u32, producer).produce(mailbox, letters));
    for number in 0..load.consumers {
        let (consumer, letters) = (board.clone(), load.letters);
        let number = 200 + 10 * mailbox as u32 + number;
        scenario.client(move |conn| Caller::new(conn, number, consumer).consume(mailbox, letters));
    }
}

fn at_the_end(board: &Board, tables: Tables, died: u64) -> Result<(), String> {
    tables.check(died)?;
    let epoch = kernel::supervisor::restarts();
    let acknowledged = board.acknowledged.borrow().get(&epoch).copied().unwrap_or_default();
    for (acknowledged, (done, _)) in acknowledged.into_iter().zip(tables.added()) {
        if done < acknowledged {
            return Err(format!("{acknowledged} additions were acknowledged, {done} are there"));
        }
    }
    for (&(epoch, number), history) in board.registers.borrow().iter() {
        register::check(0, &history.operations())
            .map_err(|what| format!("register {number}, epoch {epoch}: {what}"))?;
    }
    Ok(())
}

/// One client.
struct Caller<'a> {
    conn: &'a mut SimConn,
    number: u32,
    board: Rc<Board>,
    /// The epoch of the session, once it is known.
    epoch: Option<u32>,
    /// What the session was told to remember.
    notes: BTreeMap<u64, String>,
    step: u32,
}

impl Caller<'_> {
    fn new(conn: &mut SimConn, number: u32, board: Rc<Board>) -> Caller<'_> {
        Caller { conn, number, board, epoch: None, notes: BTreeMap::new(), step: 0 }
    }

    fn lost(&mut self) {
        self.board.trouble.set(self.board.trouble.get() + 1);
        self.epoch = None;
        self.notes.clear();
    }

    /// An answer's value. None if the connection is gone.
    fn answer(&mut self, line: &str) -> Option<String> {
        let Ok(text) = self.conn.line() else {
            self.lost();
            return None;
        };
        let mut words = text.splitn(3, ' ');
        match (words.next(), words.next().and_then(|word| word.parse().ok()), words.next()) {
            (Some("ok"), Some(epoch), Some(value)) => {
                assert!(self.epoch.is_none_or(|before| before == epoch), "a session outlives a restart");
                self.epoch = Some(epoch);
                Some(value.to_string())
            }
            (Some("full" | "terminated"), ..) => {
                self.conn.close();
                self.lost();
                None
            }
            _ => panic!("the answer to {line:?} is {text:?}"),
        }
    }

    /// Sees to it that there is a session, and that its epoch is known.
    fn begin(&mut self) {
        while !self.conn.is_connected() || self.epoch.is_none() {
            self.lost();
            self.conn.connect_patiently();
            if self.conn.send(b"compute 0\n").is_ok() {
                self.answer("compute 0");
            }
            if self.epoch.is_none() {
                self.conn.close();
                self.conn.sleep(1_000_000);
            }
        }
    }

    fn ask(&mut self, line: &str) -> Option<String> {
        self.begin();
        if self.conn.send(format!("{line}\n").as_bytes()).is_err() {
            self.lost();
            return None;
        }
        self.answer(line)
    }

    fn acknowledge(&self, which: usize) {
        let epoch = self.epoch.expect("an answer names it");
        self.board.acknowledged.borrow_mut().entry(epoch).or_default()[which] += 1;
    }

    fn work(mut self, load: &Load) {
        while self.step < load.steps {
            self.step += 1;
            self.one_step(load);
        }
        if self.conn.random(2) == 0 {
            let _ = self.conn.send(b"bye\n");
            let _ = self.conn.line();
        }
    }

    fn one_step(&mut self, load: &Load) {
        let Weights { spin, latch, transfer, register, note, other, leave } = load.weights;
        let weights = [spin, latch, transfer, register, note, other, leave];
        let mut at = self.conn.random(weights.iter().sum::<u32>() as u64) as u32;
        let mut which = 0;
        while at >= weights[which] {
            at -= weights[which];
            which += 1;
        }
        match which {
            0 => {
                let counter = self.conn.random(load.spread.min(COUNTERS as u64));
                if self.ask(&format!("spin {counter}")).is_some() {
                    self.acknowledge(0);
                }
            }
            1 => self.use_counter(load),
            2 => self.use_accounts(load),
            3 => self.use_register(),
            4 => self.use_notes(),
            5 => self.do_something_else(),
            _ => self.leave(),
        }
    }

    /// How long something is held: often for no time at all.
    fn pause_us(&self) -> u64 {
        [0, 0, 30, 300][self.conn.random(4) as usize]
    }

    fn use_counter(&mut self, load: &Load) {
        let counter = self.conn.random(load.spread.min(COUNTERS as u64));
        let pause = self.pause_us();
        if self.conn.random(4) == 0 {
            let value = self.ask(&format!("look {counter} {pause}"));
            assert_ne!(value.as_deref(), Some("torn"), "a counter is seen half changed");
        } else if self.ask(&format!("latch {counter} {pause}")).is_some() {
            self.acknowledge(1);
        }
    }

    fn use_accounts(&mut self, load: &Load) {
        if self.conn.random(5) == 0 {
            if let Some(total) = self.ask("total") {
                assert_eq!(total, (ACCOUNTS as u64 * BALANCE).to_string(), "money was lost or made");
            }
            return;
        }
        let accounts = load.spread.clamp(2, ACCOUNTS as u64);
        let from = self.conn.random(accounts);
        let to = (from + 1 + self.conn.random(accounts - 1)) % accounts;
        let (amount, pause) = (self.conn.random(50), self.pause_us());
        self.ask(&format!("move {from} {to} {amount} {pause}"));
    }

    fn do_something_else(&mut self) {
        match self.conn.random(7) {
            0 => drop(self.ask(&format!("sleep {}", self.conn.random(3000)))),
            1 => drop(self.ask(&format!("compute {}", self.conn.random(200)))),
            2 => self.read_slowly(),
            3 => {
                self.ask("open");
                if self.ask("latch 0 30").is_some() {
                    self.acknowledge(1);
                }
                self.ask("shut");
            }
            4 | 5 => self.ask_twice(),
            _ => self.conn.sleep(self.conn.random(5_000_000)),
        }
    }

    fn use_register(&mut self) {
        self.begin();
        let epoch = self.epoch.expect("a session has begun");
        let number = self.conn.random(REGISTERS as u64);
        let history = self.board.registers.borrow_mut().entry((epoch, number)).or_default().clone();
        let (asked, line) = match self.conn.random(2) {
            0 => (Asked::Read, format!("get {number}")),
            _ => {
                let value = (self.number as u64 + 1) * 1_000_000 + self.step as u64;
                (Asked::Write(value), format!("set {number} {value}"))
            }
        };
        let operation = history.asked(self.number, asked, self.conn.now());
        if let Some(value) = self.ask_again_in(epoch, &line) {
            let told = if asked == Asked::Read { value.parse().ok() } else { None };
            history.told(operation, told, self.conn.now());
        }
    }

    /// Asks in the session that there is, which is of that epoch.
    fn ask_again_in(&mut self, epoch: u32, line: &str) -> Option<String> {
        assert_eq!(self.epoch, Some(epoch));
        if self.conn.send(format!("{line}\n").as_bytes()).is_err() {
            self.lost();
            return None;
        }
        self.answer(line)
    }

    fn use_notes(&mut self) {
        let key = self.conn.random(60);
        if self.conn.random(2) == 0 {
            let text = format!("{}.{}.{}", self.number, self.step, "x".repeat(self.conn.random(40) as usize));
            if self.ask(&format!("note {key} {text}")).is_some() {
                self.notes.insert(key, text);
            }
        }
        let keys: Vec<u64> = self.notes.keys().copied().collect();
        for key in keys {
            let expected = self.notes.get(&key).cloned();
            if expected.is_some()
                && let Some(text) = self.ask(&format!("notes {key}"))
            {
                assert_eq!(Some(text), expected, "note {key} is not what it was");
            }
        }
    }

    /// A long answer, of which little is taken at a time.
    fn read_slowly(&mut self) {
        let bytes = self.conn.random(30) * 1000;
        self.begin();
        if self.conn.send(format!("echo {bytes}\n").as_bytes()).is_err() {
            return self.lost();
        }
        if self.conn.random(4) == 0 {
            self.conn.sleep(2_000_000);
        }
        match self.conn.line() {
            Ok(text) => {
                assert_eq!(text.len() as u64, bytes, "a long answer is not whole");
                self.answer("echo");
            }
            Err(_) => self.lost(),
        }
    }

    /// Two requests at once: the second one is there when the first has been served.
    fn ask_twice(&mut self) {
        self.begin();
        let (one, other) = (self.conn.random(COUNTERS as u64), self.conn.random(COUNTERS as u64));
        if self.conn.send(format!("spin {one}\nlatch {other} 0\n").as_bytes()).is_err() {
            return self.lost();
        }
        for which in 0..2 {
            if self.answer("two at once").is_none() {
                return;
            }
            self.acknowledge(which);
        }
    }

    /// Goes away, in one of several ways, and is somebody new in the next step.
    fn leave(&mut self) {
        self.begin();
        match self.conn.random(4) {
            0 => self.conn.close(),
            1 => {
                let _ = self.conn.send(b"latch 0 0\nspi");
                self.conn.reset();
            }
            2 => {
                let _ = self.conn.send(b"spin 0\n");
                self.conn.finish_sending();
                while self.conn.line().is_ok() {}
            }
            _ => {
                let _ = self.conn.send(b"sleep 2000\n");
                self.conn.close();
            }
        }
        self.lost();
    }

    fn produce(mut self, mailbox: usize, letters: u32) {
        /// So long nobody takes a letter before that is a failure.
        const PATIENCE_NS: u64 = 10_000_000_000;
        let mut left = letters;
        let mut known = (self.board.trouble.get(), u32::MAX, 0);
        loop {
            while left > 0 {
                if self.ask(&format!("put {mailbox}")).is_some() {
                    left -= 1;
                }
            }
            let wanted = self.board.wanted[mailbox].get();
            if wanted == 0 {
                return;
            }
            let (trouble, before, since) = known;
            if wanted != before || trouble != self.board.trouble.get() {
                known = (self.board.trouble.get(), wanted, self.conn.now());
            } else {
                let stuck = self.conn.now() - since > PATIENCE_NS;
                assert!(!stuck, "{wanted} letters are in mailbox {mailbox} and nobody takes them: a lost wake-up");
            }
            // Without trouble nothing more is put in: each letter must find its taker.
            if trouble != self.board.trouble.get() {
                left = wanted;
            } else {
                self.conn.sleep(3_000_000);
            }
        }
    }

    fn consume(mut self, mailbox: usize, letters: u32) {
        let wanted = self.board.clone();
        let wanted = &wanted.wanted[mailbox];
        for _ in 0..letters {
            while self.ask(&format!("take {mailbox}")).is_none() {}
            wanted.set(wanted.get() - 1);
        }
    }
}
