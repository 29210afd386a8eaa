//! Answers that an engine with fibers sends together: one system call for many.
//!
//! A client that sleeps until its answer comes takes the CPU from the engine with the first one, and sleeps again before the second is
//! made. Where engines and clients share CPUs that is two switches for each request. So a fiber whose answer is ready while others are
//! ready to run gives its engine up ([`Suspended::Sends`]). After a round the engine hands the answers over in one call of a ring, and
//! clients find several at once: a system that takes no CPU from a program in the midst of a call (`preempt=none`) lets nobody run before
//! the last is sent, and others do so as long as the engine's slice lasts.
//!
//! ```text
//!   fiber: answer made --> others are ready? --no--> sends it itself
//!                              yes: gathered, suspended                    ... engine: hand_over --> each fiber goes on with its result
//! ```
//!
//! Rules
//! 1. An answer waits for a round of the engine's loop, and for nothing long: a statement that runs meanwhile hands over what has waited for
//!    [`ANSWERS_WAIT_NS`] ([`Gather::hand_over_if_due`]), and whatever may keep the engine from it hands over first: a call that blocks, an offer
//!    of the CPU, a statement that has used a slice up and gets another one. Whoever is in a transaction that others wait for
//!    when the answer is made is answered at once (measured, when all were gathered: 64 clients of TPC-B over ten branches were a tenth
//!    slower). Who waits for a lock of a table or an advisory one waits that long at most.
//! 2. What waits lies in its fiber's buffers. The fiber does not go on before the engine's loop has its result, and nothing is written
//!    to a socket in a way that would make the call wait.
//! 3. It is no wait in the sense of [`crate::wait`]: nobody else has to do anything to end it. A session whose answer was sent and
//!    that has not gone on yet is not parked: if its engine dies, it does.
//! 4. Where the system refuses a ring nothing gathers: one by one, answers would only come later. In the simulator they do gather, and
//!    go one by one.

use super::socket::{SendError, Socket};
use crate::clock::{self, Nanos};
use crate::fiber::Suspended;
use crate::{engine, session};
use base::SessionId;
use io_uring::{IoUring, Probe, opcode, types};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Answers that one call hands over: about as many fibers run between two looks at the port.
const ENTRIES: u32 = 128;
/// An answer larger than this goes alone: it is copied while others would wait.
const BYTES_MAX: usize = 16 << 10;
/// How long an answer may wait before a statement that runs meanwhile hands it over: as long as a round of short requests lasts. With
/// 50 µs, and statements of 250 µs among them, 600 clients got three answers a call and were woken half as often again.
pub(crate) const ANSWERS_WAIT_NS: Nanos = 600_000;

struct Waiting {
    session: SessionId,
    socket: Socket,
    bytes: *const u8,
    length: usize,
    /// What came of it, once it was handed over.
    result: Option<Result<usize, SendError>>,
}

enum Way {
    /// Not yet known.
    Unmade,
    Ring(Box<IoUring>),
    /// In the simulator.
    OneByOne,
    /// It was not wanted, or the system refuses a ring.
    Refused,
}

/// An engine's answers that wait to be sent; only its own thread touches it.
pub(crate) struct Gather {
    way: RefCell<Way>,
    waiting: RefCell<VecDeque<Waiting>>,
    /// How many at the back of them were not handed over.
    fresh: Cell<usize>,
    /// When the first of those came.
    since: Cell<Nanos>,
    /// Others are ready to run: what gathers now will have company.
    others: Cell<bool>,
    /// What the fiber that is resumed next is told.
    result: Cell<Result<usize, SendError>>,
}

impl Gather {
    pub(crate) fn new(wanted: bool) -> Gather {
        Gather {
            way: RefCell::new(if wanted { Way::Unmade } else { Way::Refused }),
            waiting: RefCell::new(VecDeque::new()),
            fresh: Cell::new(0),
            since: Cell::new(0),
            others: Cell::new(false),
            result: Cell::new(Ok(0)),
        }
    }

    /// Says, before a fiber runs, whether others are ready to run after it.
    pub(crate) fn set_others(&self, others: bool) {
        self.others.set(others);
    }

    /// True if no answer waits: neither to be sent, nor for its fiber to go on.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    fn pays(&self) -> bool {
        if !self.others.get() && self.fresh.get() == 0 {
            return false;
        }
        let mut way = self.way.borrow_mut();
        if let Way::Unmade = *way {
            *way = match engine::sim::is_on() {
                true => Way::OneByOne,
                false => match make_ring() {
                    Ok(ring) => Way::Ring(Box::new(ring)),
                    Err(error) => {
                        note_refused_ring(&error);
                        Way::Refused
                    }
                },
            };
        }
        !matches!(*way, Way::Refused)
    }

    /// Sends an answer, together with others if there will be some; then it comes back when they were sent. Like [`Socket::send`] it may
    /// send a part.
    pub(crate) fn send(&self, session: SessionId, socket: Socket, bytes: &[u8]) -> Result<usize, SendError> {
        let local = engine::expect_local();
        let gathers = bytes.len() <= BYTES_MAX && !session::slot(session).in_awaited_transaction() && self.pays();
        let Some(switch) = local.fiber.get().filter(|_| gathers) else { return socket.send(bytes) };
        engine::assert_may_wait();
        if self.fresh.get() == 0 {
            self.since.set(clock::now());
        }
        let one = Waiting { session, socket, bytes: bytes.as_ptr(), length: bytes.len(), result: None };
        self.waiting.borrow_mut().push_back(one);
        self.fresh.set(self.fresh.get() + 1);
        local.shared.stats.gathered.add(1);
        crate::fault::point("answer gathered");
        switch.suspend(local, Suspended::Sends);
        self.result.get()
    }

    /// Hands over what has waited for too long, from a statement that runs meanwhile.
    #[inline]
    pub(crate) fn hand_over_if_due(&self, now: Nanos) {
        if self.fresh.get() > 0 && now.saturating_sub(self.since.get()) >= ANSWERS_WAIT_NS {
            self.hand_over();
        }
    }

    /// Sends what has gathered.
    pub(crate) fn hand_over(&self) {
        if self.fresh.get() == 0 {
            return;
        }
        let mut waiting = self.waiting.borrow_mut();
        let mut from = waiting.len() - self.fresh.take();
        match &mut *self.way.borrow_mut() {
            Way::Ring(ring) => {
                while from < waiting.len() {
                    from += send_in_one(ring, &mut waiting, from);
                }
            }
            _ => {
                for one in waiting.range_mut(from..) {
                    // SAFETY: rule 2.
                    let bytes = unsafe { std::slice::from_raw_parts(one.bytes, one.length) };
                    one.result = Some(one.socket.send(bytes));
                }
            }
        }
    }

    /// How many answers were sent whose fibers have not gone on.
    pub(crate) fn sent(&self) -> usize {
        self.waiting.borrow().len() - self.fresh.get()
    }

    /// The next session whose answer was sent; its fiber is to be resumed at once, and finds the result.
    pub(crate) fn next_sent(&self) -> Option<SessionId> {
        let mut waiting = self.waiting.borrow_mut();
        let result = waiting.front()?.result?;
        self.result.set(result);
        waiting.pop_front().map(|one| one.session)
    }
}

/// Says, once for each process, that answers go one by one.
fn note_refused_ring(error: &io::Error) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Relaxed) {
        eprintln!(
            "gearbox: an engine is refused a ring to send answers with ({error}) and sends each by itself. Allow io_uring, or choose \
             gather_answers = off"
        );
    }
}

/// Errors: what the system says, or `ENOSYS` if its rings cannot send.
fn make_ring() -> io::Result<IoUring> {
    let ring = match IoUring::builder().dontfork().setup_single_issuer().build(ENTRIES) {
        // An older system does not know the flag.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::builder().dontfork().build(ENTRIES)?,
        made => made?,
    };
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe)?;
    match probe.is_supported(opcode::Send::CODE) {
        true => Ok(ring),
        false => Err(io::Error::from_raw_os_error(libc::ENOSYS)),
    }
}

/// Sends those from `from` on in one call, as many as the ring has entries for, and enters their results; answers how many.
fn send_in_one(ring: &mut IoUring, waiting: &mut VecDeque<Waiting>, from: usize) -> usize {
    let count = (waiting.len() - from).min(ENTRIES as usize);
    for (index, one) in waiting.range(from..from + count).enumerate() {
        let entry = opcode::Send::new(types::Fd(one.socket.fd()), one.bytes, one.length as u32)
            .flags(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
            .build()
            .user_data((from + index) as u64);
        // SAFETY: the bytes stay where they are until the result is there, by rule 2; the descriptor is in the process's table.
        unsafe { ring.submission().push(&entry) }.expect("the ring is empty, and has as many entries as are pushed");
    }
    let mut missing = count;
    while missing > 0 {
        // What must not wait is done when the call comes back; but the system may have begun only some of them.
        match ring.submit_and_wait(1) {
            Ok(_) => {}
            Err(error) => match error.raw_os_error() {
                // A signal; no memory for a request now.
                Some(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
                _ => {
                    // Which answers were sent is not known: nobody can be served on.
                    eprintln!(
                        "gearbox: an engine's ring, by which it sends answers, fails ({error}); its process ends"
                    );
                    std::process::abort();
                }
            },
        }
        for completion in ring.completion() {
            missing -= 1;
            waiting[completion.user_data() as usize].result = Some(match completion.result() {
                sent if sent >= 0 => Ok(sent as usize),
                error if [libc::EAGAIN, libc::EINTR].contains(&-error) => Err(SendError::WouldBlock),
                _ => Err(SendError::Broken),
            });
        }
    }
    count
}
