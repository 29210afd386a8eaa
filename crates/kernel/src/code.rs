//! The program's own code in huge pages, so that a processor has to look up where it lies less often.
//!
//! A statement runs through many pages of 4 KiB of code. A processor that comes from another process knows none of them, and
//! looks each one up in tables of memory that this process has for itself and that are in no cache; in a virtual machine, in two tables at
//! once. With hundreds of processes that is up to a microsecond for each page, every time. So the code lies in a few pages of 2 MiB, and
//! with it what else of the program is only read, but for its beginning. Linux gives a file's pages no such size, so this is a copy:
//!
//! ```text
//!  /proc/self/maps -> what is mapped of the program and is not written to, with the empty space about it up to multiples of 2 MiB
//!    -> its bytes into a file in memory, sealed -> MADV_COLLAPSE -> moved over the old mapping by one system call, under the code that runs
//! ```
//!
//! Rules
//! 1. Once, by the supervisor, before its first thread and its first fork: all hosts have the same pages.
//! 2. It is a favour: where anything is refused, the program stays as it was mapped, and nobody is told but who looks at `gearbox.resources`.
//! 3. The bytes are the same at the same addresses. Nobody can write to the file; who writes to the memory, as a debugger does for a
//!    breakpoint, has a page of his own.
//! 4. Where the program's file begins stays as it was: a backtrace looks there for the file that names functions.
//!
//! `perf` finds no names for code that lies in no file, and `valgrind` none for code that was moved: profile with `huge_pages = off`.
//! HHVM and Node.js (`--use-largepages`) do the same.

use crate::region::huge::{self, PIECE};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;

/// A part of the program, and the pieces of address space that hold it and nothing else.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Part {
    bytes: Range<usize>,
    pieces: Range<usize>,
    executable: bool,
}

/// Puts the program's code into huge pages, as far as the system lets it; answers how many bytes of them. Rule 1.
pub(crate) fn make_huge() -> usize {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return 0 };
    let parts = parts(&maps, make_huge as *const () as usize);
    parts.iter().filter(|part| replace(part).is_ok()).map(|part| part.pieces.len()).sum()
}

/// The parts of the program that has code at `here`, in a text as `/proc/self/maps` has it.
fn parts(maps: &str, here: usize) -> Vec<Part> {
    let lines: Vec<Mapping<'_>> = maps.lines().filter_map(mapping).collect();
    let Some(here) = lines.iter().find(|line| line.bytes.contains(&here)) else { return Vec::new() };
    let mut found = Vec::new();
    let of_program = |line: &&Mapping<'_>| line.file == here.file;
    let first = lines.iter().find(of_program).map(|line| line.bytes.start);
    for (at, Mapping { bytes, access, file }) in lines.iter().enumerate() {
        // Rule 4.
        if *file != here.file || !["r-xp", "r--p"].contains(access) || first == Some(bytes.start) {
            continue;
        }
        let before = at.checked_sub(1).map_or(0, |at| lines[at].bytes.end);
        let after = lines.get(at + 1).map_or(usize::MAX, |line| line.bytes.start);
        // Outwards if there is nothing else, or else inwards.
        let (below, above) = (bytes.start / PIECE * PIECE, bytes.end.next_multiple_of(PIECE));
        let pieces =
            if below >= before { below } else { below + PIECE }..if above <= after { above } else { above - PIECE };
        if !pieces.is_empty() {
            found.push(Part { bytes: bytes.clone(), pieces, executable: *access == "r-xp" });
        }
    }
    found
}

/// A line of `/proc/self/maps`.
struct Mapping<'a> {
    bytes: Range<usize>,
    access: &'a str,
    /// Device and inode.
    file: [&'a str; 2],
}

fn mapping(line: &str) -> Option<Mapping<'_>> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let bytes = usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?;
    let (access, _offset) = (words.next()?, words.next()?);
    Some(Mapping { bytes, access, file: [words.next()?, words.next()?] })
}

/// Puts a copy in huge pages where a part was. If anything is refused, everything is as it was.
///
/// Only the last step could leave nothing where the program was: Linux takes away what is in the place, and then moves; between, it
/// asks for no more than a few pages for its own tables.
fn replace(part: &Part) -> io::Result<()> {
    let copy = copy_of(part)?;
    let room = Room::make(part.pieces.len())?;
    let access = libc::PROT_READ | if part.executable { libc::PROT_EXEC } else { 0 };
    room.map(&copy, access)?;
    for piece in (0..part.pieces.len()).step_by(PIECE) {
        huge::collapse(copy.as_raw_fd(), room.at, piece)?;
    }
    room.move_to(part.pieces.start)
}

/// What nobody may do to the copy any more.
const SEALS: libc::c_int = libc::F_SEAL_WRITE | libc::F_SEAL_GROW | libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL;

/// A file in memory with the bytes of a part, each as far from the beginning as it is from the first piece.
fn copy_of(part: &Part) -> io::Result<File> {
    // SAFETY: a valid C string; the call touches no memory of ours.
    let fd = unsafe { libc::memfd_create(c"gearbox-code".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    answered(fd >= 0)?;
    // SAFETY: the descriptor was made here, and nobody else has it.
    let copy = unsafe { File::from_raw_fd(fd) };
    copy.set_len(part.pieces.len() as u64)?;
    let bytes = part.bytes.start.max(part.pieces.start)..part.bytes.end.min(part.pieces.end);
    // SAFETY: mapped from the program's file, to be read and never to be written, for as long as the process lives.
    let program = unsafe { std::slice::from_raw_parts(bytes.start as *const u8, bytes.len()) };
    copy.write_all_at(program, (bytes.start - part.pieces.start) as u64)?;
    // SAFETY: a plain system call on our own descriptor.
    answered(unsafe { libc::fcntl(copy.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } == 0)?;
    Ok(copy)
}

/// Address space of our own, at a multiple of a piece; given back at the end.
struct Room {
    all: *mut libc::c_void,
    at: *mut libc::c_void,
    bytes: usize,
}

impl Room {
    fn make(bytes: usize) -> io::Result<Room> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping where the kernel finds room for it.
        let all = unsafe { libc::mmap(std::ptr::null_mut(), bytes + PIECE, libc::PROT_NONE, flags, -1, 0) };
        answered(all != libc::MAP_FAILED)?;
        let at = (all as usize).next_multiple_of(PIECE) as *mut libc::c_void;
        Ok(Room { all, at, bytes })
    }

    fn map(&self, file: &File, access: libc::c_int) -> io::Result<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
        // SAFETY: the range lies in our own room.
        answered(unsafe { libc::mmap(self.at, self.bytes, access, flags, file.as_raw_fd(), 0) } == self.at)
    }

    /// Moves what is mapped here to another place, over what is there.
    fn move_to(&self, place: usize) -> io::Result<()> {
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: (1) the place has nothing but the part that this is a copy of ([`parts`]), so that whoever reads or executes there, as this
        // very code does, finds the same bytes before and after; (2) the system call leaves no moment between.
        answered(unsafe { libc::mremap(self.at, self.bytes, self.bytes, flags, place) } != libc::MAP_FAILED)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: our own range, of which nobody has a reference; what was moved away is not in it any more.
        unsafe { libc::munmap(self.all, self.bytes + PIECE) };
    }
}

/// The system's answer.
fn answered(well: bool) -> io::Result<()> {
    if well { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55fd00000000-55fd001e4000 r--p 00000000 fe:00 1 /usr/bin/a gearbox
55fd003e3000-55fd00989000 r-xp 001e3000 fe:00 1 /usr/bin/a gearbox
55fd00b88000-55fd00bd6000 r--p 00788000 fe:00 1 /usr/bin/a gearbox
55fd00bd6000-55fd00bd7000 rw-p 007d6000 fe:00 1 /usr/bin/a gearbox
55fd01200000-55fd01400000 rw-p 00000000 00:00 0 [heap]
7f0000000000-7f0000800000 r-xp 00000000 fe:00 2 /usr/lib/libc.so.6
";

    #[test]
    fn a_part_has_pieces_with_nothing_else_in_them() {
        let found = parts(MAPS, 0x55fd_0040_0000);
        let pieces: Vec<_> = found.iter().map(|part| (part.pieces.clone(), part.executable)).collect();
        // The first one stays, and the third has a neighbour in its only piece.
        assert_eq!(pieces, [(0x55fd_0020_0000..0x55fd_00a0_0000, true)]);
        assert_eq!(found[0].bytes, 0x55fd_003e_3000..0x55fd_0098_9000);
        // With neighbours on both sides, what is left inside.
        let close = MAPS
            .replace("55fd00000000-55fd001e4000", "55fd00000000-55fd003e3000")
            .replace("55fd00b88000-", "55fd00989000-");
        assert_eq!(parts(&close, 0x55fd_0040_0000)[0].pieces, 0x55fd_0040_0000..0x55fd_0080_0000);
        assert!(parts(MAPS, 0x1000).is_empty());
    }
}
