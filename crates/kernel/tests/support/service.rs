//! The service under test: a line in, a line out, one command for each thing that the kernel promises.
//!
//! | command | does | answers |
//! |---|---|---|
//! | `add K N [US]` | adds N to counter K under its spinlock, held for US if given, and to the session's tallies | `ok TALLY` |
//! | `ladd K N [MS]` | the same under latch K held alone, for MS if given | `ok TALLY` |
//! | `lread K MS` | reads counter K under its latch held with others, for MS | `value N` |
//! | `wait E`, `post E N` | takes one of event E's posts, waiting for it; gives N | `ok` |
//! | `sleep MS` | waits for a deadline | `ok` |
//! | `spin MS` | computes, looking for interrupts | `ok` |
//! | `begin`, `end` | opens and closes what the kernel takes for a transaction | `ok` |
//! | `limit MS COMMAND`, `idle MS` | a time-out for that command; for the rest that follows | the command's; `ok` |
//! | `put K BYTES SEED`, `get K`, `drop K` | a value of that size in the arena | `ok`, `value BYTES SEED` once it is found whole |
//! | `big BYTES` | a long answer | that many bytes in lines of 64 |
//! | `flush` | sends the answers so far, before it looks at the next command | nothing |
//! | `who`, `number N`, `waiters EVENT` | where it runs; what session N does; who waits for that | see there |
//! | `stat`, `sums`, `ping` | the server's figures; what was added, in three ways; nothing | see there |
//! | `cancel N`, `terminate N` | interrupts session N | `ok` |
//! | `panic`, `die HOW` | a bug; the death of the host, in a chosen state | nothing |
//! | `quit` | ends the session | nothing |
//!
//! Exactness: what sessions add is counted three times, in the counter, in a tally of the slot in the region, and in a
//! tally in the arena that the answers show. When a session ends, however it ends, its slot's tally moves to the sum of
//! those that have left. So counters = tallies of those who are there + sum of those who left, but for what a kill cut
//! off between the two.

use base::{Error, Kind, Result, sqlstate};
use kernel::engine::{self, State as EngineState};
use kernel::region::arena::{ArenaMap, ArenaVec};
use kernel::region::heap::{self, Owner};
use kernel::region::{self, Shared};
use kernel::session::{self, End, Interrupt, Next, Service, Session, interrupt_error};
use kernel::stats::Counter;
use kernel::sync::{Critical, Latch, Mode, Spin, WaitList};
use kernel::wait::{self, Event, Woken};
use kernel::{clock, supervisor};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// How many counters there are of each kind.
pub const KEYS: usize = 256;
/// How many events there are.
pub const EVENTS: usize = 1024;
const LINE_MAX: usize = 1 << 20;
/// The name of an empty file: the next recovery takes its time, and writes into it which process recovers.
pub const SLOW_RECOVERY: &str = "slow-recovery";
/// How long that recovery takes.
const RECOVERY_MS: u64 = 1000;

/// A counter, and its image: they differ only while somebody changes them.
#[repr(C)]
struct Count {
    value: u64,
    image: u64,
}

const IMAGE: u64 = 0x5555_5555_5555_5555;

impl Count {
    fn add(&mut self, amount: u64, hold_us: u64) -> Result<()> {
        if self.image != 0 && self.value ^ IMAGE != self.image {
            return Err(broken("two sessions were in one lock"));
        }
        self.value += amount;
        let end = clock::now() + hold_us * 1000;
        while clock::now() < end {
            std::hint::spin_loop();
        }
        self.image = self.value ^ IMAGE;
        Ok(())
    }
}

/// A counter behind a latch.
#[repr(C)]
struct Latched {
    latch: Latch,
    value: AtomicU64,
    image: AtomicU64,
}

#[repr(C)]
struct Posts {
    left: u64,
}

/// Posts that may be waited for.
#[repr(C)]
struct Postbox {
    posts: Spin<Posts>,
    list: WaitList,
}

/// What a session, or those that left, have done.
#[repr(C)]
#[derive(Default)]
struct Tally {
    added: Counter,
    latched: Counter,
    posted: Counter,
    taken: Counter,
}

impl Tally {
    fn read(&self) -> [u64; 4] {
        [self.added.get(), self.latched.get(), self.posted.get(), self.taken.get()]
    }

    fn add(&self, amounts: [u64; 4]) {
        let counters = [&self.added, &self.latched, &self.posted, &self.taken];
        counters.into_iter().zip(amounts).for_each(|(counter, amount)| counter.add(amount));
    }

    fn clear(&self) {
        [&self.added, &self.latched, &self.posted, &self.taken].into_iter().for_each(|counter| counter.set(0));
    }
}

// SAFETY: integers, and atomics beside a latch; zero is valid.
unsafe impl Shared for Count {}
// SAFETY: as above.
unsafe impl Shared for Latched {}
// SAFETY: as above.
unsafe impl Shared for Posts {}
// SAFETY: as above.
unsafe impl Shared for Postbox {}
// SAFETY: as above.
unsafe impl Shared for Tally {}

/// What a session keeps between requests; lies in its arena.
struct State {
    tally: u64,
    values: ArenaMap<u64, ArenaVec<u8>>,
}

/// See the head of this file.
pub struct TestService {
    counts: &'static [Spin<Count>],
    latched: &'static [Latched],
    boxes: &'static [Postbox],
    tallies: &'static [Tally],
    /// Of sessions that have left; the spinlock guards the tallies of those that leave, too.
    left: &'static Spin<Tally>,
}

fn broken(what: &'static str) -> Error {
    Error::session(sqlstate::INTERNAL_ERROR, what)
}

fn refused() -> Error {
    Error::out_of_memory("a value", 0)
}

/// What a command comes to.
enum Done {
    Answer,
    Quit,
}

impl TestService {
    /// Makes the service and its tables, before the first fork.
    pub fn make() -> Result<TestService> {
        Ok(TestService {
            counts: region::table("test counters", KEYS),
            latched: region::table("test latches", KEYS),
            boxes: region::table("test events", EVENTS),
            tallies: region::table("test tallies", session::slots().len()),
            left: region::single("test tallies of those who left"),
        })
    }

    fn tally(&self, session: &Session) -> &'static Tally {
        &self.tallies[session.shared().id().0 as usize]
    }

    fn command(&self, session: &mut Session, line: &str) -> Result<Done> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        let key = number(1) as usize;
        match words.first().copied().unwrap_or_default() {
            "add" => self.add(session, key, number(2), number(3))?,
            "ladd" => self.latched_add(session, key, number(2), number(3))?,
            "lread" => self.latched_read(session, key, number(2))?,
            "wait" => self.wait(session, key)?,
            "post" => self.post(session, key, number(2).max(1))?,
            "sleep" => {
                sleep(number(1))?;
                answer(session, "ok");
            }
            "spin" => {
                spin(number(1))?;
                answer(session, "ok");
            }
            "compute" => {
                compute(number(1))?;
                answer(session, "ok");
            }
            "begin" | "read" | "end" => {
                session.shared().set_in_transaction(words[0] != "end", words[0] == "begin");
                answer(session, "ok");
            }
            "limit" => {
                let slot = session.shared();
                slot.set_deadline(clock::now() + number(1) * 1_000_000, Interrupt::StatementTimeout);
                let done = self.command(session, &words[2..].join(" "));
                slot.clear_deadline();
                return done;
            }
            "idle" => {
                session.shared().set_deadline(clock::now() + number(1) * 1_000_000, Interrupt::IdleTimeout);
                answer(session, "ok");
            }
            "put" => put(session, number(1), key_bytes(number(2)), number(3) as u8)?,
            "get" => get(session, number(1))?,
            "drop" => {
                state(session)?.values.remove(&number(1));
                answer(session, "ok");
            }
            "big" => big(session, key)?,
            "flush" => session.flush_answers()?,
            "who" => who(session),
            "number" => number_of(session, number(1) as u32),
            "waiters" => waiters(session, words.get(1).copied().unwrap_or_default()),
            "stat" => stat(session),
            "sums" => self.sums(session),
            "ping" => answer(session, "pong"),
            "cancel" | "terminate" => {
                let interrupt = if words[0] == "cancel" { Interrupt::Cancel } else { Interrupt::Terminate };
                match session::find(number(1) as u32) {
                    Some(slot) => slot.send_interrupt(slot.generation(), interrupt),
                    None => return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, "no such session")),
                }
                answer(session, "ok");
            }
            "panic" => panic!("a test asked for a panic"),
            "die" => self.die(words.get(1).copied().unwrap_or_default()),
            "quit" => return Ok(Done::Quit),
            _ => return Err(Error::statement(sqlstate::SYNTAX_ERROR, "no such command")),
        }
        Ok(Done::Answer)
    }

    fn count_added(&self, session: &mut Session, latched: bool, amount: u64) -> Result<()> {
        let tally = self.tally(session);
        if latched {
            tally.latched.add(amount)
        } else {
            tally.added.add(amount)
        }
        let state = state(session)?;
        state.tally += amount;
        let text = format!("ok {}", state.tally);
        answer(session, &text);
        Ok(())
    }

    fn add(&self, session: &mut Session, key: usize, amount: u64, hold_us: u64) -> Result<()> {
        self.counts[key % KEYS].lock().add(amount, hold_us)?;
        self.count_added(session, false, amount)
    }

    fn latched_add(&self, session: &mut Session, key: usize, amount: u64, hold_ms: u64) -> Result<()> {
        let counter = &self.latched[key % KEYS];
        let guard = counter.latch.lock(Mode::Exclusive, Event::TestLatch);
        let before = counter.value.load(SeqCst);
        let image = counter.image.load(SeqCst);
        if image != 0 && before ^ IMAGE != image {
            return Err(broken("two sessions held one latch alone"));
        }
        counter.value.store(before + amount, SeqCst);
        if hold_ms > 0 {
            // A cancelled hold is a short hold: what the latch guards is made whole all the same.
            let _ = sleep(hold_ms);
        }
        if counter.value.load(SeqCst) != before + amount {
            return Err(broken("a latched value changed under a latch held alone"));
        }
        counter.image.store((before + amount) ^ IMAGE, SeqCst);
        drop(guard);
        self.count_added(session, true, amount)
    }

    fn latched_read(&self, session: &mut Session, key: usize, hold_ms: u64) -> Result<()> {
        let counter = &self.latched[key % KEYS];
        let guard = counter.latch.lock(Mode::Shared, Event::TestLatch);
        let before = counter.value.load(SeqCst);
        let slept = if hold_ms > 0 { sleep(hold_ms) } else { Ok(()) };
        let same = counter.value.load(SeqCst) == before;
        drop(guard);
        slept?;
        if !same {
            return Err(broken("a latched value changed under a latch held with others"));
        }
        answer(session, &format!("value {before}"));
        Ok(())
    }

    fn wait(&self, session: &mut Session, key: usize) -> Result<()> {
        let postbox = &self.boxes[key % EVENTS];
        loop {
            postbox.list.enter(0);
            {
                let mut posts = postbox.posts.lock();
                if posts.left > 0 {
                    posts.left -= 1;
                    drop(posts);
                    self.tally(session).taken.add(1);
                    postbox.list.leave();
                    answer(session, "ok");
                    return Ok(());
                }
            }
            let woken = wait::wait(Event::TestWait, key as u64, None);
            let taken_out = !postbox.list.leave();
            if let Woken::Interrupted(interrupt) = woken {
                if taken_out {
                    // Whoever took it out meant to wake somebody who would take the post.
                    postbox.list.post_one();
                }
                return Err(interrupt_error(interrupt));
            }
        }
    }

    fn post(&self, session: &mut Session, key: usize, count: u64) -> Result<()> {
        let postbox = &self.boxes[key % EVENTS];
        postbox.posts.lock().left += count;
        self.tally(session).posted.add(count);
        for _ in 0..count {
            postbox.list.post_one();
        }
        answer(session, "ok");
        Ok(())
    }

    /// Counters, and the sum of tallies; true figures only while nobody adds.
    fn sums(&self, session: &mut Session) {
        let counted: u64 = self.counts.iter().map(|count| count.lock().value).sum();
        let latched: u64 = self.latched.iter().map(|counter| counter.value.load(SeqCst)).sum();
        let unread: u64 = self.boxes.iter().map(|postbox| postbox.posts.lock().left).sum();
        let mut tally = self.left.lock().read();
        for one in self.tallies {
            tally.iter_mut().zip(one.read()).for_each(|(sum, part)| *sum += part);
        }
        let [added, ladded, posted, taken] = tally;
        let held = self.latched.iter().filter(|counter| counter.latch.is_exclusive()).count();
        let text = format!(
            "counted={counted} added={added} latched={latched} ladded={ladded} unread={unread} posted={posted} \
             taken={taken} held={held}"
        );
        answer(session, &text);
        for (name, values) in [
            ("counts", self.counts.iter().map(|count| count.lock().value).collect::<Vec<_>>()),
            ("latches", self.latched.iter().map(|counter| counter.value.load(SeqCst)).collect()),
        ] {
            let mut text = name.to_string();
            values.iter().enumerate().filter(|(_, value)| **value > 0).for_each(|(key, value)| {
                let _ = write!(text, " {key}={value}");
            });
            answer(session, &text);
        }
    }

    /// Ends the host as a kill from outside would, at a chosen moment.
    fn die(&self, how: &str) {
        match how {
            "spin" => {
                let _held = self.counts[0].lock();
                kill_self();
            }
            "critical" => {
                let _inside = Critical::enter();
                kill_self();
            }
            "exclusive" => {
                let _held = self.latched[0].latch.lock(Mode::Exclusive, Event::TestLatch);
                kill_self();
            }
            "unable" => supervisor::stop_and_recover("a test asked for an end"),
            "shared" => {
                let _held = self.latched[0].latch.lock(Mode::Shared, Event::TestLatch);
                kill_self();
            }
            _ => kill_self(),
        }
    }
}

impl Service for TestService {
    fn serve(&self, session: &mut Session) -> Next {
        if let Some(interrupt) = session.shared().interrupt() {
            session.shared().clear_interrupt(interrupt);
            let error = interrupt_error(interrupt);
            if error.kind() == Kind::Session {
                answer(session, &format!("bye {}", error.sqlstate().as_str()));
                return Next::Close;
            }
        }
        loop {
            let Some(length) = session.input().iter().position(|&byte| byte == b'\n') else {
                if session.input().len() > LINE_MAX {
                    answer(session, "bye: the line is too long");
                    return Next::Close;
                }
                return Next::Park;
            };
            session.shared().clear_deadline();
            let line = String::from_utf8_lossy(&session.input()[..length]).into_owned();
            session.consume(length + 1);
            let done = session::check_interrupts().and_then(|()| self.command(session, &line));
            match done {
                Ok(Done::Answer) => {
                    // Errors are for commands; this one has its answer.
                    let _ = session.flush_if_full();
                }
                Ok(Done::Quit) => return Next::Close,
                Err(error) if error.kind() == Kind::Session => {
                    answer(session, &format!("bye {} {error}", error.sqlstate().as_str()));
                    return Next::Close;
                }
                Err(error) => {
                    session.shared().clear_interrupt(Interrupt::Cancel);
                    answer(session, &format!("err {}", error.sqlstate().as_str()));
                }
            }
        }
    }

    /// Recovers for [`RECOVERY_MS`] if a test has left [`SLOW_RECOVERY`] in the directory, and writes its process there.
    fn start(&self) -> Result<()> {
        let note = kernel::supervisor::config().data_dir.join(SLOW_RECOVERY);
        if std::fs::metadata(&note).is_ok_and(|note| note.len() == 0) {
            std::fs::write(&note, std::process::id().to_string()).expect("the directory is there");
            std::thread::sleep(std::time::Duration::from_millis(RECOVERY_MS));
        }
        Ok(())
    }

    fn close(&self, session: &mut Session, _end: End) {
        let left = self.left.lock();
        let tally = self.tally(session);
        left.add(tally.read());
        tally.clear();
    }

    fn refusal(&self, error: &Error) -> Vec<u8> {
        format!("refused {}\n", error.sqlstate().as_str()).into_bytes()
    }
}

fn answer(session: &mut Session, text: &str) {
    session.output().extend_from_slice(text.as_bytes());
    session.output().push(b'\n');
}

fn state(session: &mut Session) -> Result<&mut State> {
    if session.state::<State>().is_none() {
        let values = ArenaMap::with_hasher_in(Default::default(), session.arena());
        session.set_state(State { tally: 0, values })?;
    }
    Ok(session.state::<State>().expect("it has just been stored"))
}

fn sleep(ms: u64) -> Result<()> {
    let deadline = clock::now() + ms * 1_000_000;
    loop {
        match wait::wait(Event::Sleep, ms, Some(deadline)) {
            Woken::TimedOut if clock::now() < deadline => return Err(broken("a wait timed out before its deadline")),
            Woken::TimedOut => return Ok(()),
            // Somebody posted for a reason that has gone: the condition here is the time.
            Woken::Posted if clock::now() >= deadline => return Ok(()),
            Woken::Posted => {}
            Woken::Interrupted(interrupt) => return Err(interrupt_error(interrupt)),
        }
    }
}

fn spin(ms: u64) -> Result<()> {
    let end = clock::now() + ms * 1_000_000;
    while clock::now() < end {
        for _ in 0..100 {
            std::hint::spin_loop();
        }
        session::check_interrupts()?;
    }
    Ok(())
}

/// Computes, however long that takes: some microseconds a step.
fn compute(steps: u64) -> Result<()> {
    for step in 0..steps {
        for number in 0..10_000 {
            std::hint::black_box(number * step);
        }
        session::check_interrupts()?;
    }
    Ok(())
}

fn key_bytes(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The byte at a place of a value, so that blocks of other values, or of other sessions, are told apart.
fn pattern(at: usize, seed: u8) -> u8 {
    (at as u8).wrapping_mul(31).wrapping_add((at >> 12) as u8).wrapping_add(seed)
}

fn put(session: &mut Session, key: u64, bytes: usize, seed: u8) -> Result<()> {
    let arena = session.arena();
    let mut value = ArenaVec::new_in(arena);
    value.try_reserve_exact(bytes).map_err(|_| refused())?;
    value.extend((0..bytes).map(|at| pattern(at, seed)));
    let state = state(session)?;
    state.values.try_reserve(1).map_err(|_| refused())?;
    state.values.insert(key, value);
    answer(session, "ok");
    Ok(())
}

fn get(session: &mut Session, key: u64) -> Result<()> {
    let state = state(session)?;
    let text = match state.values.get(&key) {
        None => "none".to_string(),
        Some(value) => {
            let seed = value.first().copied().unwrap_or(0);
            if !value.iter().enumerate().all(|(at, &byte)| byte == pattern(at, seed)) {
                return Err(broken("a value in an arena was overwritten"));
            }
            format!("value {} {seed}", value.len())
        }
    };
    answer(session, &text);
    Ok(())
}

fn big(session: &mut Session, bytes: usize) -> Result<()> {
    let mut left = bytes;
    while left > 0 {
        let length = left.min(64);
        session.output().extend(std::iter::repeat_n(b'x', length - 1));
        session.output().push(b'\n');
        left -= length;
        session.flush_if_full()?;
    }
    Ok(())
}

fn who(session: &mut Session) {
    let engine = engine::current().expect("a session runs on an engine");
    let (pid, tid) = engine.os_ids();
    let slot = session.shared();
    let text =
        format!("who {} {pid} {tid} {} {} {}", engine.id().0, slot.number(), slot.moves.get(), supervisor::restarts());
    answer(session, &text);
}

/// What another session does now.
fn number_of(session: &mut Session, number: u32) {
    let text = match session::find(number) {
        None => "gone".to_string(),
        Some(slot) => {
            let run = if slot.is_parked() { "parked" } else { "busy" };
            let waits = slot.waiting().map_or("none", |(event, ..)| event.row().name);
            let (pid, _) = engine::engine(slot.engine_id()).os_ids();
            format!("{run} {waits} {pid}")
        }
    };
    answer(session, &text);
}

fn waiters(session: &mut Session, event: &str) {
    let mut text = "waiters".to_string();
    for slot in session::slots() {
        if slot.is_used() && slot.waiting().is_some_and(|(waits, ..)| waits.row().name == event) {
            let _ = write!(text, " {}", slot.number());
        }
    }
    answer(session, &text);
}

fn stat(session: &mut Session) {
    let (used, used_max) = session::counts();
    let clients = session::slots().iter().filter(|slot| slot.is_used() && !slot.is_background()).count();
    let accounts: u64 = Owner::ALL.iter().map(|&owner| heap::usage(owner).used).sum();
    let all = engine::engines();
    let background = all[0].os_ids().0;
    let states = |wanted: EngineState| {
        let group = all.iter().filter(|engine| engine.host_id() != all[0].host_id());
        group.filter(|engine| engine.state() == wanted).count()
    };
    let mut text = format!(
        "restarts={} clients={clients} sessions={used} sessions_max={used_max} arenas={} heap={} accounts={accounts} present={} background={background}",
        supervisor::restarts(),
        heap::usage(Owner::SessionArenas).used,
        heap::walk(),
        heap::extent_bytes().0,
    );
    for state in [EngineState::Idle, EngineState::Running, EngineState::Blocked, EngineState::StandBy] {
        let _ = write!(text, " {}={}", state.as_str(), states(state));
    }
    let sum = |of: fn(&engine::EngineStats) -> u64| all.iter().map(|engine| of(&engine.stats)).sum::<u64>();
    let _ = write!(
        text,
        " requests={} switches={} sleeps={} slices={} gathered={} polls={} taken_over={} accepted={} primitive={}",
        sum(|stats| stats.requests.get()),
        sum(|stats| stats.switches.get()),
        sum(|stats| stats.sleeps.get()),
        sum(|stats| stats.slices_exhausted.get()),
        sum(|stats| stats.gathered.get()),
        sum(|stats| stats.polls.get()),
        sum(|stats| stats.taken_over.get()),
        sum(|stats| stats.accepted.get()),
        engine::current().map_or("none", |engine| engine.primitive().as_str()),
    );
    let waits: u64 = all.iter().map(|engine| engine.waits[Event::TestWait as usize].slept.get()).sum();
    let _ = write!(text, " slept={waits}");
    answer(session, &text);
}

fn kill_self() -> ! {
    // SAFETY: plain system calls.
    unsafe {
        libc::kill(libc::getpid(), libc::SIGKILL);
        loop {
            libc::pause();
        }
    }
}
