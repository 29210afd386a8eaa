//! The simulated disk: requests with their delays and failures, on a [`Volume`].
//!
//! A request takes a while and is over in any order with others. A write takes what its buffers hold at its end, and
//! fails the run if that is not what they held at its beginning, since a real disk may take it at any time between; a read
//! puts garbage into its buffers at once, since a real one may put anything there until it is over.
//!
//! What is over is answered by a strand of the background host ([`World::answer_requests`]), which is the simulated I/O
//! worker: so completion actions run as a session, with points, like everything else.
//!
//! What goes wrong by [`DiskFaults`] does so while clients are served; power cuts tear what was not flushed at any time.
//!
//! The host that asked may die meanwhile. What it had written arrives all the same; sometimes nobody answers for it, as
//! with a ring that died with its owner.

use super::random::scramble;
use super::strand::Key;
use super::trace::Step;
use super::volume::{BLOCK, FileId, SECTOR, Volume};
use super::world::World;
use crate::clock::Nanos;
use crate::io::operations::{Answer, FileOp};
use crate::io::slot::slot;
use crate::io::{Buffer, FileName, Op};
use crate::session;
use crate::wait::{self, Event};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// What goes wrong with the disk; chances in a million.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DiskFaults {
    /// A read fails (`EIO`).
    pub read_fails: u32,
    /// A write fails, or an operation on a file as a whole (`EIO`).
    pub write_fails: u32,
    /// A flush fails (`EIO`), and so do those of the file that are going on. All that it was to make durable is lost at the
    /// next power cut, even if a later flush succeeds.
    pub flush_fails: u32,
    /// A request is done in part at first.
    pub done_in_part: u32,
    /// A read brings one bit that is not what was written.
    pub bit_flips: u32,
    /// How much room there is, in bytes; zero is as much as is asked for.
    pub room: u64,
}

/// A request that the disk has.
struct Request {
    op: Op,
    file: Option<FileId>,
    offset: u64,
    buffers: Vec<Buffer>,
    /// What the buffers of a write held at the beginning.
    seen: u64,
    /// What a flush makes durable.
    up_to: u64,
    /// A write that is durable when it is over.
    durable: bool,
    /// A flush that was going on while another one of the file failed.
    fails: bool,
}

/// See the head of this file.
pub(super) struct Disk {
    faults: DiskFaults,
    volume: RefCell<Volume>,
    requests: RefCell<BTreeMap<u32, Request>>,
    /// Slots that are over, with the answer.
    over: RefCell<VecDeque<(u32, i64)>>,
    answering: Cell<Option<u32>>,
    /// Which start of the server a completion belongs to.
    start: Cell<u32>,
}

impl Disk {
    pub(super) fn new(faults: DiskFaults) -> Disk {
        Disk {
            faults,
            volume: RefCell::default(),
            requests: RefCell::default(),
            over: RefCell::default(),
            answering: Cell::new(None),
            start: Cell::new(0),
        }
    }
}

fn errno(error: i32) -> io::Error {
    io::Error::from_raw_os_error(error)
}

/// A hash of what buffers hold.
fn hash(buffers: &[Buffer]) -> u64 {
    let mut hash = 0;
    for buffer in buffers {
        let bytes = bytes(buffer);
        for word in bytes.chunks(8) {
            let mut whole = [0; 8];
            whole[..word.len()].copy_from_slice(word);
            hash = scramble(hash ^ u64::from_le_bytes(whole));
        }
    }
    hash
}

fn bytes(buffer: &Buffer) -> &[u8] {
    // SAFETY: (1) the memory is the region's, as `Buffer` sees to; (2) its promise keeps others from changing it while the
    // request is going on, or this very thread runs them when this borrow is over.
    unsafe { std::slice::from_raw_parts(buffer.address() as *const u8, buffer.bytes()) }
}

/// Changes the bytes of a buffer that a read fills.
fn with_bytes<R>(buffer: &Buffer, change: impl FnOnce(&mut [u8]) -> R) -> R {
    // SAFETY: as above, of a request that reads the file: nobody else uses the memory, and `change` cannot keep it.
    change(unsafe { std::slice::from_raw_parts_mut(buffer.address() as *mut u8, buffer.bytes()) })
}

impl World {
    fn disk_latency(&self) -> Nanos {
        match self.random.below(20) {
            0 => self.random.between(1_000_000, 20_000_000),
            _ => self.random.between(20_000, 400_000),
        }
    }

    // ---- requests

    /// Takes what is left to do of the request in the slot.
    pub(super) fn begin_request(&self, index: u32) {
        let slot = slot(index);
        let has_it = self.disk.requests.borrow().contains_key(&index);
        if has_it || self.disk.over.borrow().iter().any(|over| over.0 == index) {
            self.fail(format!("slot {index} of the disk requests is used again while the disk has its request"));
        }
        let (offset, buffers) = slot.rest();
        let (op, buffers) = (slot.op(), buffers.to_vec());
        let name = slot.file();
        let file = self.disk.volume.borrow().find(name.raw());
        let seen = match op {
            Op::Read => {
                buffers.iter().for_each(|buffer| with_bytes(buffer, |bytes| bytes.fill(0xDB)));
                0
            }
            _ => hash(&buffers),
        };
        let up_to = self.disk.volume.borrow().last_step();
        self.trace.mix(Step::DiskSubmit, name.raw() ^ offset.rotate_left(20) ^ op as u64);
        self.note(|| format!("disk: {} {name} at {offset}, slot {index}", op.as_str()));
        let durable = op == Op::WriteDurable || op == Op::Write && name.kind().is_durable();
        let request = Request { op, file, offset, buffers, seen, up_to, durable, fails: false };
        self.disk.requests.borrow_mut().insert(index, request);
        let start = self.disk.start.get();
        self.after(self.disk_latency(), move |world| {
            if world.disk.start.get() == start {
                world.end_request(index);
            }
        });
    }

    /// True while the disk has the request, or its answer has not been given.
    pub(super) fn holds_request(&self, index: u32) -> bool {
        self.disk.requests.borrow().contains_key(&index)
            || self.disk.over.borrow().iter().any(|over| over.0 == index)
            || self.disk.answering.get() == Some(index)
    }

    fn end_request(&self, index: u32) {
        let Some(request) = self.disk.requests.borrow_mut().remove(&index) else { return };
        let answer = self.carry_out(&request);
        self.trace.mix(Step::DiskDone, (index as u64) << 32 ^ answer as u64);
        self.note(|| format!("disk: slot {index} is over, {answer}"));
        let issuer = crate::engine::engine(slot(index).engine());
        let alive = self.host(issuer.host_id().0).is_some();
        if !alive && self.random.chance(500_000) {
            return;
        }
        self.disk.over.borrow_mut().push_back((index, answer));
        self.wake(Key::Disk, false);
    }

    /// Does it; answers what the system call would.
    fn carry_out(&self, request: &Request) -> i64 {
        let faults = self.disk.faults;
        let fails = match request.op {
            Op::Read => faults.read_fails,
            Op::Write | Op::WriteDurable => faults.write_fails,
            Op::Flush => faults.flush_fails,
        };
        let Some(file) = request.file else { return -libc::ENOENT as i64 };
        if request.fails || self.disk_fails(fails) {
            if request.op == Op::Flush {
                // The system forgets that what it could not write was ever changed: the next flush succeeds without it.
                self.disk.volume.borrow_mut().forget_unflushed(file, request.up_to);
                let mut others = self.disk.requests.borrow_mut();
                let flushes = others.values_mut().filter(|other| other.op == Op::Flush && other.file == request.file);
                flushes.for_each(|other| other.fails = true);
            }
            return -libc::EIO as i64;
        }
        let asked: usize = request.buffers.iter().map(Buffer::bytes).sum();
        let mut left = asked;
        if asked > SECTOR && self.disk_fails(faults.done_in_part) {
            left = self.random.between(1, (asked / SECTOR) as u64 - 1) as usize * SECTOR;
        }
        let mut volume = self.disk.volume.borrow_mut();
        match request.op {
            Op::Flush => {
                volume.flush(file, request.up_to);
                return 0;
            }
            Op::Write | Op::WriteDurable => {
                if hash(&request.buffers) != request.seen {
                    self.fail("memory was changed while it was being written to disk".into());
                }
                let end = request.offset + left as u64;
                let more = end.saturating_sub(volume.size(file));
                if faults.room != 0 && volume.used() + more > faults.room {
                    return -libc::ENOSPC as i64;
                }
            }
            Op::Read => {}
        }
        let mut done = 0;
        for buffer in &request.buffers {
            let here = buffer.bytes().min(left - done);
            let at = request.offset + done as u64;
            let count = match request.op {
                Op::Read => with_bytes(buffer, |bytes| volume.read(file, at, &mut bytes[..here])),
                _ => {
                    volume.write(file, at, &bytes(buffer)[..here]);
                    here
                }
            };
            done += count;
            if count < here || done == left {
                break;
            }
        }
        if request.durable {
            volume.settle(file, request.offset, done as u64);
        }
        if request.op == Op::Read && done > 0 && self.disk_fails(faults.bit_flips) {
            let buffer = &request.buffers[0];
            let at = self.random.below(buffer.bytes().min(done) as u64) as usize;
            let bit = 1 << self.random.below(8);
            with_bytes(buffer, |bytes| bytes[at] ^= bit);
        }
        done as i64
    }

    /// The simulated I/O worker: answers what is over, until its host ends.
    pub(super) fn answer_requests(&self) {
        loop {
            let next = self.disk.over.borrow_mut().pop_front();
            match next {
                Some((index, answer)) => {
                    self.disk.answering.set(Some(index));
                    self.point("disk answer");
                    crate::io::answer(index, answer);
                    self.disk.answering.set(None);
                }
                None => drop(self.sleep([Key::Disk, Key::None], None)),
            }
        }
    }

    /// Everything stops. Requests that are going on are done or not, each as a whole, before the memory goes; with the
    /// power they are done in part, and what is not durable survives in part.
    pub(super) fn stop_disk(&self, power_cut: bool) {
        self.disk.start.set(self.disk.start.get() + 1);
        self.disk.over.borrow_mut().clear();
        self.disk.answering.set(None);
        let requests = std::mem::take(&mut *self.disk.requests.borrow_mut());
        for request in requests.into_values() {
            let writes = matches!(request.op, Op::Write | Op::WriteDurable);
            let (Some(file), true) = (request.file, writes && self.random.chance(700_000)) else { continue };
            let mut volume = self.disk.volume.borrow_mut();
            let mut at = request.offset;
            for buffer in &request.buffers {
                // With the power cut below, each sector of it decides for itself.
                volume.write(file, at, bytes(buffer));
                at += buffer.bytes() as u64;
            }
        }
        if power_cut {
            self.disk.volume.borrow_mut().cut_power(&self.random);
        }
    }

    // ---- files as a whole

    /// Performs an operation, after a while or before it.
    pub(super) fn operate_on_file(&self, op: &FileOp) -> io::Result<Answer> {
        if crate::engine::current_session().is_none() {
            // The supervisor, before it serves: nobody waits for it.
            return self.perform(op);
        }
        self.point("file operation");
        let until = self.now() + self.disk_latency();
        let early = self.random.chance(500_000).then(|| self.perform(op));
        while self.now() < until {
            wait::wait(Event::FileOperation, 0, Some(until));
        }
        debug_assert!(session::current().is_used());
        early.unwrap_or_else(|| self.perform(op))
    }

    fn perform(&self, op: &FileOp) -> io::Result<Answer> {
        let faults = self.disk.faults;
        let reads = matches!(op, FileOp::Size { .. } | FileOp::List { .. } | FileOp::ReadSmall { .. });
        if self.disk_fails(if reads { faults.read_fails } else { faults.write_fails }) {
            return Err(errno(libc::EIO));
        }
        let mut volume = self.disk.volume.borrow_mut();
        let find = |volume: &Volume, name: FileName| volume.find(name.raw()).ok_or(errno(libc::ENOENT));
        let room = |volume: &Volume, more: u64| match faults.room {
            0 => Ok(()),
            room if volume.used() + more <= room => Ok(()),
            _ => Err(errno(libc::ENOSPC)),
        };
        self.note(|| format!("disk: {op:?}"));
        match op {
            FileOp::MakeDirectories => Ok(Answer::Done),
            FileOp::Create { name, bytes, zeroed } => {
                if volume.find(name.raw()).is_some() {
                    return Err(errno(libc::EEXIST));
                }
                room(&volume, *bytes)?;
                let file = volume.make(name.raw());
                volume.set_size(file, *bytes);
                if *zeroed {
                    let now = volume.last_step();
                    volume.flush(file, now);
                }
                Ok(Answer::Done)
            }
            FileOp::Allocate { name, bytes } => {
                let file = find(&volume, *name)?;
                let size = volume.size(file);
                if size < *bytes {
                    room(&volume, *bytes - size)?;
                    volume.set_size(file, *bytes);
                }
                Ok(Answer::Done)
            }
            FileOp::Truncate { name, bytes } => {
                let file = find(&volume, *name)?;
                volume.set_size(file, *bytes);
                Ok(Answer::Done)
            }
            FileOp::Remove { name } => {
                if let Some(file) = volume.find(name.raw()) {
                    volume.set_size(file, 0);
                }
                Ok(Answer::Yes(volume.remove(name.raw())))
            }
            FileOp::Rename { from, to } => {
                find(&volume, *from)?;
                volume.rename(from.raw(), to.raw());
                Ok(Answer::Done)
            }
            FileOp::Size { name } => Ok(Answer::Size(volume.find(name.raw()).map(|file| volume.size(file)))),
            FileOp::List { kind } => Ok(Answer::Numbers(volume.list(*kind as u8))),
            FileOp::SyncDirectory { kind } => {
                volume.sync_directory(*kind as u8);
                Ok(Answer::Done)
            }
            FileOp::ReadSmall { name, bytes_max } => Ok(Answer::Content(volume.find(name.raw()).map(|file| {
                let mut content = vec![0; (volume.size(file) as usize).min(*bytes_max)];
                volume.read(file, 0, &mut content);
                content
            }))),
            FileOp::WriteSmall { name, content } => {
                // Beside it, flushed, and renamed over it.
                room(&volume, content.len() as u64)?;
                volume.remove(name.raw());
                let file = volume.make(name.raw());
                volume.write(file, 0, content);
                let now = volume.last_step();
                volume.flush(file, now);
                volume.sync_directory(name.kind() as u8);
                Ok(Answer::Done)
            }
        }
    }

    /// What a power cut would leave of a file for certain.
    pub(super) fn durable_content(&self, name: FileName) -> Option<Vec<u8>> {
        self.disk.volume.borrow().durable_content(name.raw())
    }

    /// Whether this goes wrong: only while clients are served. A server that does not come up, or does not stop in good
    /// order, because of its disk is no matter for a run.
    fn disk_fails(&self, chance: u32) -> bool {
        self.serves_clients() && self.random.chance(chance)
    }
}

const _: () = assert!(BLOCK.is_multiple_of(SECTOR));
