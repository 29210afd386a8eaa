//! What may lie between a session's bytes and its socket: encryption, whose rules are the layer above's.
//!
//! ```text
//!   socket ──> raw ──open──> Session::input          Session::output ──seal──> sealed ──> socket
//! ```
//!
//! A session begins without. Once the layer above has agreed with the client on keys it covers the session
//! ([`Session::cover`](crate::Session::cover)); from then on every byte goes through the cover, in both directions.
//!
//! Rules
//! 1. A cover is a value of the session: at the end of a request it is put away as bytes ([`Cover::put_away`]) in the session's arena, with
//!    the raw bytes that were no whole record; whichever engine goes on takes it up from them ([`taken_up_by`]).
//! 2. A session that is covered, and whose cover is lost because its engine died in the middle of a request, sends nothing any more:
//!    what it would send would go out in the clear.
//! 3. A session without a cover pays a look at one word when it is taken up, and a test at each read and send.

use crate::net::{SendError, Socket};
use crate::region::arena::{ArenaRef, ArenaVec};
use crate::session::Received;
use std::mem::ManuallyDrop;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How much is read from the socket at once, in bytes: a whole record and the next one's beginning.
const READ_BYTES: usize = 20 << 10;

/// What came of opening what the client sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opened {
    /// Everything that was whole is open.
    Open,
    /// The client has said good-bye.
    Ended,
    /// It is not what was agreed on.
    Broken,
}

/// The layer above's cover of one session.
pub trait Cover: Send {
    /// Takes what is whole out of the front of `raw`; appends what was in it to `input`, and what must be said to it to `sealed`.
    fn open(&mut self, raw: &mut Vec<u8>, input: &mut Vec<u8>, sealed: &mut Vec<u8>) -> Opened;

    /// Seals these bytes.
    fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>);

    /// Says that nothing more will come.
    fn farewell(&mut self, sealed: &mut Vec<u8>);

    /// The cover as bytes that mean the same in every process.
    fn put_away(&self, into: &mut Vec<u8>);
}

/// Makes the cover again of what was put away; none if those are not its bytes.
pub type TakeUp = fn(&[u8]) -> Option<Box<dyn Cover>>;

static TAKE_UP: OnceLock<TakeUp> = OnceLock::new();

/// Says how covers are taken up. Before the first engine; there is one way.
pub fn taken_up_by(take_up: TakeUp) {
    let _ = TAKE_UP.set(take_up);
}

/// Where a session's cover is: a part of its slot. Written by the engine that runs the session.
#[repr(C)]
pub(crate) struct CoverShared {
    /// Nothing, [`IN_USE`], or the address of what was put away.
    at: AtomicU64,
    /// How long that is: the cover's length in four bytes, the cover, raw bytes.
    bytes: AtomicU64,
}

/// The session is covered and runs.
const IN_USE: u64 = 1;

impl CoverShared {
    /// The slot has a new session, which is not covered.
    pub(crate) fn clear(&self) {
        self.at.store(0, Relaxed);
    }
}

/// A session's cover while it runs.
pub(crate) enum Covered {
    /// It has none.
    No,
    /// It has this one.
    By(Box<Covering>),
    /// It had one, which is lost.
    Lost,
}

pub(crate) struct Covering {
    cover: Box<dyn Cover>,
    raw: Vec<u8>,
    /// What waits to be sent.
    sealed: Vec<u8>,
}

impl Covered {
    /// Takes up what [`Covering::put_away`] has put into the same arena.
    #[inline]
    pub(crate) fn take_up(shared: &CoverShared, arena: ArenaRef) -> Covered {
        match shared.at.load(Relaxed) {
            0 => Covered::No,
            IN_USE => Covered::Lost,
            at => Covering::fetch(shared, at, arena).map_or(Covered::Lost, Covered::By),
        }
    }
}

impl Covering {
    pub(crate) fn new(shared: &CoverShared, cover: Box<dyn Cover>, raw: Vec<u8>) -> Box<Covering> {
        shared.at.store(IN_USE, Relaxed);
        Box::new(Covering { cover, raw, sealed: Vec::new() })
    }

    #[cold]
    fn fetch(shared: &CoverShared, at: u64, arena: ArenaRef) -> Option<Box<Covering>> {
        let length = shared.bytes.load(Relaxed) as usize;
        shared.at.store(IN_USE, Relaxed);
        // SAFETY: `put_away` stored the parts of a vector in this very arena, with length for capacity, and nobody has touched them
        // since; from here on the word above says that they are taken.
        let mut bytes: ArenaVec<u8> =
            unsafe { allocator_api2::vec::Vec::from_raw_parts_in(at as *mut u8, length, length, arena) };
        let (size, rest) = bytes.split_first_chunk::<4>()?;
        let (cover, raw) = rest.split_at_checked(u32::from_le_bytes(*size) as usize)?;
        let cover = TAKE_UP.get()?(cover);
        let raw = raw.to_vec();
        // The memory is the arena's again, and may be shown in a dump.
        bytes.fill(0);
        std::hint::black_box(&bytes);
        Some(Box::new(Covering { cover: cover?, raw, sealed: Vec::new() }))
    }

    /// Puts the cover into the arena. False if that is refused the memory.
    pub(crate) fn put_away(&self, shared: &CoverShared, arena: ArenaRef) -> bool {
        let mut whole = vec![0; 4];
        self.cover.put_away(&mut whole);
        let size = (whole.len() - 4) as u32;
        whole[..4].copy_from_slice(&size.to_le_bytes());
        whole.extend_from_slice(&self.raw);
        let mut bytes: ArenaVec<u8> = allocator_api2::vec::Vec::new_in(arena);
        if bytes.try_reserve_exact(whole.len()).is_err() {
            return false;
        }
        bytes.extend_from_slice(&whole);
        whole.fill(0);
        std::hint::black_box(&whole);
        // As with the input that is left over, exactly the length was asked for.
        let mut bytes = ManuallyDrop::new(bytes);
        shared.bytes.store(bytes.len() as u64, Relaxed);
        shared.at.store(bytes.as_mut_ptr() as u64, Relaxed);
        true
    }

    /// Looks at the socket; what comes out of it is appended to `input`.
    pub(crate) fn receive(&mut self, socket: &Socket, input: &mut Vec<u8>, may_sleep: bool) -> Received {
        self.raw.reserve(READ_BYTES);
        match socket.receive(&mut self.raw, may_sleep) {
            Received::Bytes(more) => self.open(socket, input).unwrap_or(Received::Bytes(more)),
            nothing => nothing,
        }
    }

    /// Opens what has been read. Answers what ends the connection.
    pub(crate) fn open(&mut self, socket: &Socket, input: &mut Vec<u8>) -> Option<Received> {
        let before = input.len();
        match self.cover.open(&mut self.raw, input, &mut self.sealed) {
            Opened::Open => None,
            // What was said before is served first; who says good-bye closes, which the next look finds.
            Opened::Ended if input.len() > before => Some(Received::Bytes(true)),
            Opened::Ended => Some(Received::Closed),
            Opened::Broken => {
                let _: Result<usize, SendError> = socket.send(&self.sealed);
                Some(Received::Closed)
            }
        }
    }

    /// Seals what is to be sent, and answers what goes to the socket.
    pub(crate) fn outgoing(&mut self, output: &mut Vec<u8>) -> &mut Vec<u8> {
        if !output.is_empty() {
            self.cover.seal(output, &mut self.sealed);
            output.clear();
        }
        &mut self.sealed
    }

    /// Says good-bye, behind everything else.
    pub(crate) fn farewell(&mut self, output: &mut Vec<u8>) {
        self.outgoing(output);
        self.cover.farewell(&mut self.sealed);
    }
}
