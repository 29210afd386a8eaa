//! Simulated engines: one thread runs every session of every engine of every host under a seeded scheduler.
//!
//! What is simulated is the operating system, not the kernel of the server: threads (`strand`), processes and their
//! deaths (`hosts`), what engines sleep on, sockets and ports (`net`), the disk (`disk`), the clock. On top of that
//! run the real loops of [`crate::hosting`], the real inboxes, latches, group rules and clean-up, and the same
//! [`crate::Service`] as everywhere. So whatever model is asked for, it is that model's own code that a seed tries out.
//!
//! ```text
//!   clients (strands)      service, sessions: as in every model
//!         |                        |
//!         |              hosting, waits, latches, groups, reaper: as in every model
//!         |                        |  clock, sockets, ports, sleeps, kills, disk
//!         \------- net -------- world: scheduler, clock, chance, trace
//! ```
//!
//! Rules
//! 1. The seed is the only source of chance: nothing depends on the machine's time, on addresses of the ordinary heap, on
//!    the order of a hash map, on numbers of processes or threads. Two runs of a seed, in whatever processes, give the
//!    same [`Report::trace_hash`].
//! 2. The scheduler may switch at every point ([`crate::fault::point`]), which stand before waits, posts, latches,
//!    spinlocks and between shared writes, and at everything that would be a system call. A host may be killed there.
//! 3. A spinlock is never held over a switch: a point under one can only kill.
//! 4. A killed host is forgotten where it stands. What others can see of it lies in the region, and its clean-up is the
//!    real one.
//! 5. Time passes when nobody is runnable; running costs so little that it only keeps polls from going on for ever.
//! 6. One world at a time in a process, since there is one region; [`run`] waits for its turn.
//!
//! What it does not do: memory orderings (everything is sequentially consistent here), and real system calls (the tests of
//! the real models are for those).

mod checks;
mod client;
mod disk;
mod hosts;
mod net;
mod options;
mod pipe;
mod random;
mod strand;
mod trace;
mod volume;
mod world;

pub use client::{Broken, SimConn};
pub use disk::DiskFaults;
pub use options::{Failure, Options, Report};

use crate::clock::Nanos;
use crate::engine::EngineShared;
use crate::fiber::stack::Stack;
use crate::io::operations::{Answer, FileOp};
use crate::io::{Completion, FileName};
use crate::net::SendError;
use crate::session::{Received, Service};
use crate::supervisor::Message;
use base::Result;
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64};
use world::{Check, MakeService, World};

thread_local! {
    static WORLD: Cell<*const World> = const { Cell::new(std::ptr::null()) };
}

/// The world that this thread simulates, if it does.
#[inline]
fn world() -> Option<&'static World> {
    // SAFETY: `run` keeps the world alive until it takes the pointer back, and nothing keeps what this answers over that.
    unsafe { WORLD.get().as_ref() }
}

/// True in the simulator.
#[inline]
pub(crate) fn is_on() -> bool {
    !WORLD.get().is_null()
}

/// What a client does, in direct style.
type Client = Box<dyn FnOnce(&mut SimConn)>;

/// What a run does besides serving: its clients, and a look at the end.
pub struct Scenario {
    clients: Vec<(String, Client)>,
    check: Option<Check>,
}

impl Scenario {
    /// Adds a client. A panic in it fails the run.
    pub fn client(&mut self, body: impl FnOnce(&mut SimConn) + 'static) {
        let name = format!("client {}", self.clients.len());
        self.clients.push((name, Box::new(body)));
    }

    /// Looks at what is left when all clients are done and no session is left, before the server stops. An error fails
    /// the run.
    pub fn check(&mut self, check: impl FnOnce() -> std::result::Result<(), String> + 'static) {
        self.check = Some(Box::new(check));
    }
}

/// Runs a seed: the server with the service that `make` builds (anew at every restart), and the clients that `scenario`
/// adds, until they are done and the server has stopped.
pub fn run(
    seed: u64,
    options: Options,
    make: impl Fn() -> Result<Box<dyn Service>> + 'static,
    scenario: impl FnOnce(&mut Scenario),
) -> std::result::Result<Report, Box<Failure>> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let make: MakeService = Box::new(make);
    let world = Box::new(World::new(seed, options, make));
    let mut parts = Scenario { clients: Vec::new(), check: None };
    scenario(&mut parts);
    *world.check.borrow_mut() = parts.check;
    for (name, body) in parts.clients {
        let at: *const World = &*world;
        world.clients.set(world.clients.get() + 1);
        let of_failure = name.clone();
        let body = move || {
            // SAFETY: clients are gone before the world is.
            let mut conn = unsafe { SimConn::new(at) };
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(&mut conn)));
            conn.close();
            let Some(world) = world::of_run(at) else { return };
            world.clients.set(world.clients.get() - 1);
            if let Err(panic) = done {
                world.fail(format!("{of_failure} fails: {}", crate::hosting::panic_text(&*panic)));
            }
        };
        world.spawn(name, None, Box::new(body));
    }
    WORLD.set(&*world);
    crate::fault::watch_points(true);
    let outcome = world.run_to_end();
    crate::fault::watch_points(false);
    WORLD.set(std::ptr::null());
    outcome
}

// ---- what the kernel asks

/// Simulated time, when the simulator runs.
#[inline]
pub(crate) fn now() -> Option<Nanos> {
    world().map(World::now)
}

/// A named point: the simulator may switch or kill here.
pub(crate) fn at_point(name: &'static str) {
    if let Some(world) = world() {
        world.point(name);
    }
}

/// A number from the seed, when the simulator runs.
pub(crate) fn random() -> Option<u64> {
    world().map(|world| world.random.next())
}

/// A fiber was switched away from in the middle: so is the engine that runs it.
pub(crate) fn pass_on() {
    if let Some(world) = world() {
        world.current().suspend();
    }
}

/// Lets others run; true in the simulator.
pub(crate) fn give_way() -> bool {
    let Some(world) = world() else { return false };
    world.yield_now();
    true
}

/// Sleeps for a while; true in the simulator.
pub(crate) fn pause(span: Nanos) -> bool {
    let Some(world) = world() else { return false };
    world.pause(span);
    true
}

/// A futex's sleep; true in the simulator.
pub(crate) fn sleep_word(word: &AtomicU32, value: u32, deadline: Option<Nanos>) -> bool {
    let Some(world) = world() else { return false };
    world.sleep_word(word, value, deadline);
    true
}

/// A futex's wake-up; true in the simulator.
pub(crate) fn wake_word(word: &AtomicU32, count: u32) -> bool {
    let Some(world) = world() else { return false };
    world.wake_word(word, count);
    true
}

/// The sleep of an engine whose primitive counts wake-ups; true in the simulator.
pub(crate) fn sleep_semaphore(engine: &EngineShared, deadline: Option<Nanos>) -> bool {
    let Some(world) = world() else { return false };
    world.sleep_semaphore(engine.id().0, deadline);
    true
}

/// The wake-up of such an engine; true in the simulator.
pub(crate) fn wake_semaphore(engine: &EngineShared) -> bool {
    let Some(world) = world() else { return false };
    world.wake_semaphore(engine.id().0);
    true
}

/// Process and thread number of the running strand.
pub(crate) fn own_ids() -> Option<(i32, i32)> {
    let world = world()?;
    Some((world.current_host()?.pid(), world.current().id as i32 + 1))
}

/// A signal to a thread, whose only effect is that a sleep comes back; true in the simulator.
pub(crate) fn signal(thread: i32) -> bool {
    let Some(world) = world() else { return false };
    world.signal(thread as u32 - 1);
    true
}

/// Whether the running host is to end.
#[inline]
pub(crate) fn stopping() -> Option<bool> {
    world().map(|world| world.current_host().is_some_and(|host| host.stopping.get()))
}

/// How often the server has restarted.
pub(crate) fn restarts() -> Option<u32> {
    world().map(World::restarts)
}

/// True if hosts are like processes.
pub(crate) fn hosts_are_processes() -> Option<bool> {
    world().map(|world| world.options.hosts == crate::config::EngineKind::Process)
}

/// A message to the supervisor; true in the simulator.
pub(crate) fn tell_supervisor(message: Message) -> bool {
    let Some(world) = world() else { return false };
    world.tell_supervisor(message);
    true
}

/// The background host's wait for a message; true in the simulator.
pub(crate) fn wait_for_message(span: Nanos) -> bool {
    let Some(world) = world() else { return false };
    world.wait_for_message(span);
    true
}

/// The next message to the background host; none outside the simulator.
pub(crate) fn next_message() -> Option<Option<Message>> {
    world().map(World::next_message)
}

/// Messages to the background host that it has not read; none outside the simulator.
pub(crate) fn unread_messages() -> Option<Vec<Message>> {
    world().map(World::unread_messages)
}

/// An engine of the group asks for another one.
pub(crate) fn ask_for_engine() {
    if let Some(world) = world() {
        world.ask_for_engine();
    }
}

/// Another thread of the running host; gives the body back outside the simulator.
pub(crate) fn spawn_thread<F: FnOnce() + 'static>(name: &str, body: F) -> Option<F> {
    let Some(world) = world() else { return Some(body) };
    let host = world.current_host().expect("a host's thread makes another");
    world.spawn_thread(name.to_string(), host, body);
    None
}

/// The running host ends here, in the simulator.
pub(crate) fn exit(status: i32) {
    if let Some(world) = world() {
        world.exit(status);
    }
}

/// A session was resumed by another engine than the one before.
pub(crate) fn count_move() {
    if let Some(world) = world() {
        world.counts.borrow_mut().moves += 1;
    }
}

/// Something that a server says on stderr: in the simulator only a run that prints its steps prints it. False outside.
pub(crate) fn say(what: &str) -> bool {
    let Some(world) = world() else { return false };
    world.note(|| what.to_string());
    true
}

/// A bug has shown that the server copes with: in the simulator the run has failed.
pub(crate) fn bug(what: &str) {
    if let Some(world) = world() {
        world.fail(format!("a bug shows: {what}"));
    }
}

/// A bug has shown that the server does not survive: in the simulator the run has failed, and this does not come back.
pub(crate) fn abort(what: &str) {
    if let Some(world) = world() {
        world.fail(format!("the server aborts: {what}"));
        world.vanish();
    }
}

/// A stack for the fibers of the running engine, in the simulator.
pub(crate) fn lend_stack(bytes: usize) -> Option<Stack> {
    world()?.lend_stack(bytes)
}

/// What [`crate::net`] knows of sockets in the running process.
pub(crate) fn sockets() -> Option<&'static [AtomicU64]> {
    Some(world()?.current_host()?.sockets)
}

/// Up to which end of sessions the running process has closed descriptors.
pub(crate) fn swept() -> Option<&'static AtomicU32> {
    Some(world()?.current_host()?.swept)
}

/// The simulated network, in place of system calls.
#[derive(Clone, Copy)]
pub(crate) struct Net(&'static World);

/// The simulated network, when the simulator runs.
#[inline]
pub(crate) fn net() -> Option<Net> {
    world().map(Net)
}

impl Net {
    pub(crate) fn accept(self) -> Option<i32> {
        self.0.net.accept(self.0)
    }

    /// Waits for a client and accepts it, for an engine of a dedicated group.
    pub(crate) fn accept_sleeping(self, span: Nanos) -> Option<i32> {
        self.0.net.accept_sleeping(self.0, span)
    }

    /// Appends what has come.
    pub(crate) fn receive(self, fd: i32, into: &mut Vec<u8>, may_sleep: bool) -> Received {
        self.0.net.receive(self.0, fd, into, may_sleep)
    }

    /// Sends some bytes.
    pub(crate) fn send(self, fd: i32, bytes: &[u8]) -> std::result::Result<usize, SendError> {
        self.0.net.send(self.0, fd, bytes)
    }

    /// True when the socket may be read or written.
    pub(crate) fn is_ready(self, fd: i32, writable: bool) -> bool {
        self.0.net.is_ready(self.0, fd, writable)
    }

    /// Waits until that is so, or not much longer.
    pub(crate) fn poll(self, fd: i32, writable: bool, span: Nanos) {
        self.0.net.poll(self.0, fd, writable, span);
    }

    pub(crate) fn shutdown(self, fd: i32) {
        self.0.net.shutdown(self.0, fd);
    }

    pub(crate) fn close(self, fd: i32) {
        self.0.net.close(self.0, fd);
    }

    /// A duplicate of a descriptor of another process; of the supervisor (number zero), of what it keeps for a slot.
    pub(crate) fn take_from(self, pid: i32, fd: i32) -> Option<i32> {
        self.0.net.take_from(self.0, pid, fd)
    }

    pub(crate) fn control(self, port: i32, operation: i32, fd: i32, data: u64) -> bool {
        self.0.net.control(self.0, port as usize, operation, fd, data)
    }

    pub(crate) fn ring(self, port: i32) {
        self.0.net.ring(self.0, port as usize);
    }

    /// Waits for what registrations report; answers how much that is.
    pub(crate) fn wait(self, port: i32, events: &mut [libc::epoll_event], span: Option<Nanos>) -> usize {
        self.0.net.wait(self.0, port as usize, events, span)
    }
}

/// Sets what completion actions of this run do; false outside the simulator.
pub(crate) fn on_completion(run: fn(&Completion)) -> bool {
    let Some(world) = world() else { return false };
    world.on_completion.set(Some(run));
    true
}

/// What completion actions of this run do, if it has said so.
pub(crate) fn completion_action() -> Option<fn(&Completion)> {
    world()?.on_completion.get()
}

/// What a power cut at this moment would leave of a file at worst: only what is durable. For checks, in a scenario's own and
/// in clients. None if not even its name is.
pub fn durable_content(name: FileName) -> Option<Vec<u8>> {
    world()?.durable_content(name)
}

/// The simulated disk, as [`crate::io`] sees it.
#[derive(Clone, Copy)]
pub(crate) struct Disk(&'static World);

/// The simulated disk, in the simulator.
#[inline]
pub(crate) fn disk() -> Option<Disk> {
    world().map(Disk)
}

impl Disk {
    /// Takes the request in a slot, or what is left of it.
    pub(crate) fn begin(self, index: u32) {
        self.0.begin_request(index);
    }

    /// True while the disk has the request, or its answer has not been given.
    pub(crate) fn holds(self, index: u32) -> bool {
        self.0.holds_request(index)
    }

    /// Performs an operation on a file as a whole.
    pub(crate) fn operate(self, op: &FileOp) -> std::io::Result<Answer> {
        self.0.operate_on_file(op)
    }

    /// The simulated I/O worker's life.
    pub(crate) fn answer_requests(self) {
        self.0.answer_requests();
    }
}
