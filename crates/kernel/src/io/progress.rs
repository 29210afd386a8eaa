//! How far a request has come: what is left of it after a part was done, and when it is over.
//!
//! The system may do less than it was asked for. Whatever carries a request out reports what a system call answered to
//! [`Progress::advance`], and carries out the rest until that says that the request is over:
//!
//! | answer | read | write |
//! |---|---|---|
//! | as much as was left | over | over |
//! | less | the rest is asked for; if it ends within a sector, that was the end of the file | the rest is asked for |
//! | nothing | over: the end of the file | over, with an error: a device that takes nothing |
//! | `EINTR`, `EAGAIN` | again | again |
//! | another error | over, with the error, whatever was done before | the same |

use super::{Buffer, FileName, VECTOR_MAX};
use base::{Error, Kind as ErrorKind, sqlstate};

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Op {
    /// Reads.
    Read = 0,
    /// Writes; durable after a flush.
    Write = 1,
    /// Writes, and is complete when that is durable.
    WriteDurable = 2,
    /// Makes durable what was written before it was issued.
    Flush = 3,
}

impl Op {
    /// The operation's name in views.
    pub const fn as_str(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::WriteDurable => "write durable",
            Op::Flush => "flush",
        }
    }

    pub(super) fn from_number(number: u32) -> Op {
        [Op::Read, Op::Write, Op::WriteDurable, Op::Flush][number as usize]
    }
}

/// How a request ended: bytes, or the system's error number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Outcome(pub(super) i64);

impl Outcome {
    /// An outcome that is the system's error `errno`.
    pub const fn failed(errno: i32) -> Outcome {
        Outcome(-(errno as i64))
    }

    /// Bytes read or written, or the system's error number.
    pub fn bytes(self) -> Result<usize, i32> {
        if self.0 >= 0 { Ok(self.0 as usize) } else { Err(-self.0 as i32) }
    }

    /// Bytes read or written; or the error that a session reports.
    pub fn into_result(self, op: Op, file: FileName) -> base::Result<usize> {
        self.bytes().map_err(|errno| failure(op, file, errno))
    }
}

/// The error of a request that failed: `53100` when there is no room, `58030` and others otherwise. A flush that failed
/// says nothing about what is on disk, so nobody may go on as if it could be repeated: its kind ends the server.
pub fn failure(op: Op, file: FileName, errno: i32) -> Error {
    let verb = match op {
        Op::Read => "read",
        Op::Write | Op::WriteDurable => "write",
        Op::Flush => "flush",
    };
    let error = system_error(format!("could not {verb} file \"{file}\""), errno);
    match (op, errno) {
        (Op::Flush, _) | (Op::WriteDurable, libc::EIO) => {
            let detail = error.detail_text().unwrap_or_default().to_string();
            Error::new(ErrorKind::Server, error.sqlstate(), error.message().to_string()).detail(detail)
        }
        _ => error,
    }
}

/// An error of the file system, with the SQLSTATE that goes with its number.
pub(super) fn system_error(message: String, errno: i32) -> Error {
    let state = match errno {
        libc::ENOSPC | libc::EDQUOT | libc::EFBIG => sqlstate::DISK_FULL,
        libc::ENOMEM => sqlstate::OUT_OF_MEMORY,
        libc::EMFILE | libc::ENFILE => sqlstate::INSUFFICIENT_RESOURCES,
        libc::ENOENT => sqlstate::UNDEFINED_FILE,
        _ => sqlstate::IO_ERROR,
    };
    let error = Error::statement(state, message).detail(format!("{}.", std::io::Error::from_raw_os_error(errno)));
    match errno {
        libc::ENOSPC | libc::EDQUOT => error.hint("Free some space on the disk of the data directory."),
        libc::EFBIG => error.hint("Raise the limit on the size of files (ulimit -f)."),
        libc::EMFILE | libc::ENFILE => error.hint("Raise the limit on open files (ulimit -n)."),
        _ => error,
    }
}

/// A part that ends within this many bytes of a sector's beginning was cut by the end of the file.
const SECTOR: u64 = 512;

/// See the head of this file. Lies in a slot of the region, or on the stack of whoever does the request at once.
#[repr(C)]
pub(super) struct Progress {
    op: u32,
    count: u32,
    first: u32,
    unused: u32,
    /// Where in the file the rest begins.
    offset: u64,
    left: u64,
    done: u64,
    buffers: [Buffer; VECTOR_MAX],
}

impl Progress {
    pub(super) fn new(op: Op, offset: u64, buffers: &[Buffer]) -> Progress {
        let mut progress = Progress {
            op: 0,
            count: 0,
            first: 0,
            unused: 0,
            offset: 0,
            left: 0,
            done: 0,
            buffers: [Buffer::NONE; VECTOR_MAX],
        };
        progress.set(op, offset, buffers);
        progress
    }

    /// Begins a request.
    pub(super) fn set(&mut self, op: Op, offset: u64, buffers: &[Buffer]) {
        self.op = op as u32;
        self.count = buffers.len() as u32;
        self.first = 0;
        self.offset = offset;
        self.left = buffers.iter().map(|buffer| buffer.bytes() as u64).sum();
        self.done = 0;
        self.buffers[..buffers.len()].copy_from_slice(buffers);
    }

    pub(super) fn op(&self) -> Op {
        Op::from_number(self.op)
    }

    /// What is left to do: the place in the file, and the buffers.
    pub(super) fn rest(&self) -> (u64, &[Buffer]) {
        (self.offset, &self.buffers[self.first as usize..self.count as usize])
    }

    /// Takes a system call's answer in (an error as its negative number). None if something is left to be done.
    pub(super) fn advance(&mut self, answer: i64) -> Option<Outcome> {
        match (self.op(), answer) {
            (_, answer) if answer < 0 => match -answer as i32 {
                libc::EINTR | libc::EAGAIN => None,
                _ => Some(Outcome(answer)),
            },
            (Op::Flush, _) => Some(Outcome(0)),
            (Op::Read, 0) => Some(Outcome(self.done as i64)),
            (Op::Write | Op::WriteDurable, 0) => Some(Outcome::failed(libc::EIO)),
            (op, answer) => {
                self.skip(answer as u64);
                let cut = op == Op::Read && !(answer as u64).is_multiple_of(SECTOR);
                (self.left == 0 || cut).then_some(Outcome(self.done as i64))
            }
        }
    }

    fn skip(&mut self, mut bytes: u64) {
        assert!(bytes <= self.left, "more was read or written than was asked for");
        self.offset += bytes;
        self.left -= bytes;
        self.done += bytes;
        while bytes > 0 {
            let buffer = &mut self.buffers[self.first as usize];
            if bytes < buffer.bytes() as u64 {
                *buffer = buffer.after(bytes);
                return;
            }
            bytes -= buffer.bytes() as u64;
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::NonNull;

    fn buffers(lengths: &[usize]) -> Vec<Buffer> {
        let mut at = crate::region::BASE + 4096;
        let mut made = Vec::new();
        for &bytes in lengths {
            // SAFETY: no request is ever issued with it.
            made.push(unsafe { Buffer::new(NonNull::new(at as *mut u8).unwrap(), bytes) });
            at += bytes + 4096;
        }
        made
    }

    #[test]
    fn the_rest_is_asked_for_until_all_is_done() {
        let _region = crate::region::test_region();
        let all = buffers(&[8192, 8192, 4096]);
        let mut progress = Progress::new(Op::Write, 100 * 8192, &all);
        assert_eq!(progress.advance(-(libc::EINTR as i64)), None);
        assert_eq!(progress.rest(), (100 * 8192, &all[..]));
        assert_eq!(progress.advance(8192 + 512), None);
        let (offset, rest) = progress.rest();
        assert_eq!(offset, 101 * 8192 + 512);
        assert_eq!((rest[0].address(), rest[0].bytes()), (all[1].address() + 512, 8192 - 512));
        assert_eq!(rest[1], all[2]);
        assert_eq!(progress.advance(8192 - 512), None);
        assert_eq!(progress.rest().1, &all[2..]);
        assert_eq!(progress.advance(4096), Some(Outcome(20480)));
        assert!(progress.rest().1.is_empty());
    }

    #[test]
    fn each_ending() {
        let _region = crate::region::test_region();
        let full = -(libc::ENOSPC as i64);
        for (op, answers, outcome) in [
            (Op::Read, &[8192][..], Outcome(8192)),
            (Op::Read, &[4096, 0], Outcome(4096)),
            (Op::Read, &[0], Outcome(0)),
            (Op::Read, &[100], Outcome(100)),
            (Op::Read, &[4096, -5], Outcome(-5)),
            (Op::Write, &[0], Outcome(-5)),
            (Op::Write, &[4096, full], Outcome(full)),
            (Op::WriteDurable, &[-11, 8192], Outcome(8192)),
            (Op::Flush, &[0], Outcome(0)),
            (Op::Flush, &[-5], Outcome(-5)),
        ] {
            let all = if op == Op::Flush { vec![] } else { buffers(&[8192]) };
            let mut progress = Progress::new(op, 0, &all);
            let (last, before) = answers.split_last().unwrap();
            for answer in before {
                assert_eq!(progress.advance(*answer), None, "{op:?} {answers:?}");
            }
            assert_eq!(progress.advance(*last), Some(outcome), "{op:?} {answers:?}");
        }
    }

    #[test]
    fn errors_say_what_their_receiver_can_do() {
        for (op, errno, state, kind) in [
            (Op::Write, libc::ENOSPC, sqlstate::DISK_FULL, ErrorKind::Statement),
            (Op::Write, libc::EDQUOT, sqlstate::DISK_FULL, ErrorKind::Statement),
            (Op::WriteDurable, libc::ENOSPC, sqlstate::DISK_FULL, ErrorKind::Statement),
            (Op::WriteDurable, libc::EIO, sqlstate::IO_ERROR, ErrorKind::Server),
            (Op::Read, libc::EIO, sqlstate::IO_ERROR, ErrorKind::Statement),
            (Op::Flush, libc::EIO, sqlstate::IO_ERROR, ErrorKind::Server),
            (Op::Flush, libc::ENOSPC, sqlstate::DISK_FULL, ErrorKind::Server),
            (Op::Read, libc::ENOENT, sqlstate::UNDEFINED_FILE, ErrorKind::Statement),
        ] {
            let error = failure(op, FileName::data(7), errno);
            assert_eq!((error.sqlstate(), error.kind()), (state, kind), "{op:?} {errno}");
            assert!(error.message().contains("\"base/7\"") && error.detail_text().is_some());
        }
    }
}
