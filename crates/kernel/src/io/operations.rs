//! Operations on files as a whole: making, growing, cutting, removing, renaming, listing, small files read and replaced.
//!
//! They may block in the operating system for long, and no ring carries them out, so they run on the blocking pool when
//! a fiber asks for them, and as announced system calls of the session itself otherwise ([`super::blocking`]).
//!
//! Rules
//! 1. An operation is a value ([`FileOp`]) and one function that performs it ([`perform`]); the simulator takes the value.
//! 2. A name that comes into being or goes is durable after [`sync_directory`], not before; [`write_small`] does that
//!    itself.
//! 3. A removed file is cut to nothing first, so that descriptors that others still hold keep no space.

use super::progress::system_error;
use super::{ALIGN, FileName, Kind, blocking, files, sim};
use crate::wait::Event;
use base::Result;
use std::io;
use std::path::PathBuf;

/// An operation, complete with what it needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FileOp {
    /// Makes the directories of all kinds.
    MakeDirectories,
    /// Makes a file that is not there, of that size; with zeros written and flushed if asked for.
    Create { name: FileName, bytes: u64, zeroed: bool },
    /// Sees to it that the file has room up to that size, and is at least that long.
    Allocate { name: FileName, bytes: u64 },
    /// Cuts or grows the file to that size.
    Truncate { name: FileName, bytes: u64 },
    /// Removes the file. Answers whether it was there.
    Remove { name: FileName },
    /// Renames it, over another if there is one.
    Rename { from: FileName, to: FileName },
    /// Is it there, and how long is it?
    Size { name: FileName },
    /// The numbers of all files of the kind.
    List { kind: Kind },
    /// Makes durable which files of the kind there are.
    SyncDirectory { kind: Kind },
    /// All of a small file, if it is there.
    ReadSmall { name: FileName, bytes_max: usize },
    /// Replaces a small file by that content, durably and in one step.
    WriteSmall { name: FileName, content: Vec<u8> },
}

/// What an operation answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// Done.
    Done,
    /// Yes or no.
    Yes(bool),
    /// A size, if the file is there.
    Size(Option<u64>),
    /// Numbers of files, in order.
    Numbers(Vec<u64>),
    /// A file's content, if it is there.
    Content(Option<Vec<u8>>),
}

impl FileOp {
    fn event(&self) -> Event {
        match self {
            FileOp::Allocate { name, .. } if name.kind() == Kind::Data => Event::DataFileExtend,
            FileOp::Create { name, .. } if name.kind() == Kind::Wal => Event::WalFileInit,
            FileOp::WriteSmall { name, .. } if name.kind() == Kind::Control => Event::ControlFileWrite,
            _ => Event::FileOperation,
        }
    }

    fn describe(&self) -> String {
        match self {
            FileOp::MakeDirectories => "could not make the directories of the data".to_string(),
            FileOp::Create { name, .. } => format!("could not create file \"{name}\""),
            FileOp::Allocate { name, .. } => format!("could not extend file \"{name}\""),
            FileOp::Truncate { name, .. } => format!("could not truncate file \"{name}\""),
            FileOp::Remove { name } => format!("could not remove file \"{name}\""),
            FileOp::Rename { from, to } => format!("could not rename file \"{from}\" to \"{to}\""),
            FileOp::Size { name } => format!("could not look at file \"{name}\""),
            FileOp::List { kind } => format!("could not list the {} files", kind.as_str()),
            FileOp::SyncDirectory { kind } => format!("could not flush the directory of the {} files", kind.as_str()),
            FileOp::ReadSmall { name, .. } => format!("could not read file \"{name}\""),
            FileOp::WriteSmall { name, .. } => format!("could not write file \"{name}\""),
        }
    }
}

/// Makes the directories that files lie in.
pub fn make_directories() -> Result<()> {
    run(FileOp::MakeDirectories).map(drop)
}

/// Makes a file of `bytes` bytes that have room on disk and read as zeros. Errors: `53100`, and `58030` if it is there.
pub fn create(name: FileName, bytes: u64) -> Result<()> {
    run(FileOp::Create { name, bytes, zeroed: false }).map(drop)
}

/// The same, with the zeros written and flushed: later writes change no sizes and no maps, so that a durable write is one
/// write of the device.
pub fn create_zeroed(name: FileName, bytes: u64) -> Result<()> {
    run(FileOp::Create { name, bytes, zeroed: true }).map(drop)
}

/// Sees to it that the file is at least `bytes` long, with room on disk for all of it. What is new reads as zeros.
/// Errors: `53100`.
pub fn allocate(name: FileName, bytes: u64) -> Result<()> {
    run(FileOp::Allocate { name, bytes }).map(drop)
}

/// Cuts the file to `bytes`, or lets it grow without room on disk.
pub fn truncate(name: FileName, bytes: u64) -> Result<()> {
    run(FileOp::Truncate { name, bytes }).map(drop)
}

/// Removes a file; its space comes back although other processes may still have it open. False if it was not there.
pub fn remove(name: FileName) -> Result<bool> {
    match run(FileOp::Remove { name })? {
        Answer::Yes(was_there) => Ok(was_there),
        other => mismatch(other),
    }
}

/// Removes a file whose user lets go of it, if that is possible now. False if it is left to whoever cleans up: a panic that unwinds must not
/// wait.
pub fn discard(name: FileName) -> bool {
    !std::thread::panicking() && remove(name).is_ok()
}

/// Renames a file, over another one if there is one.
pub fn rename(from: FileName, to: FileName) -> Result<()> {
    run(FileOp::Rename { from, to }).map(drop)
}

/// True if there is such a file.
pub fn exists(name: FileName) -> Result<bool> {
    size(name).map(|size| size.is_some())
}

/// How long the file is; none if there is no such file.
pub fn size(name: FileName) -> Result<Option<u64>> {
    match run(FileOp::Size { name })? {
        Answer::Size(size) => Ok(size),
        other => mismatch(other),
    }
}

/// The numbers of all files of a kind, in order.
pub fn list(kind: Kind) -> Result<Vec<u64>> {
    match run(FileOp::List { kind })? {
        Answer::Numbers(numbers) => Ok(numbers),
        other => mismatch(other),
    }
}

/// Makes durable which files of the kind there are: after makings, removals and renamings.
pub fn sync_directory(kind: Kind) -> Result<()> {
    run(FileOp::SyncDirectory { kind }).map(drop)
}

/// All of a small file of at most `bytes_max` bytes (what is longer is cut); none if it is not there.
pub fn read_small(name: FileName, bytes_max: usize) -> Result<Option<Vec<u8>>> {
    match run(FileOp::ReadSmall { name, bytes_max })? {
        Answer::Content(content) => Ok(content),
        other => mismatch(other),
    }
}

/// Replaces a small file by `content`, durably and in one step: after a crash there is the old one or the new one.
pub fn write_small(name: FileName, content: &[u8]) -> Result<()> {
    run(FileOp::WriteSmall { name, content: content.to_vec() }).map(drop)
}

fn mismatch<T>(answer: Answer) -> T {
    unreachable!("a file operation answers {answer:?}")
}

fn run(op: FileOp) -> Result<Answer> {
    let refused =
        |op: &FileOp, error: io::Error| system_error(op.describe(), error.raw_os_error().unwrap_or(libc::EIO));
    if let Some(disk) = sim::disk() {
        return disk.operate(&op).map_err(|error| refused(&op, error));
    }
    let event = op.event();
    let gone: &[FileName] = match op {
        // A small file is replaced by another of its name.
        FileOp::Remove { name } | FileOp::WriteSmall { name, .. } => &[name],
        FileOp::Rename { from, to } => &[from, to],
        _ => &[],
    };
    let (op, result) = blocking::run(event, move || {
        let result = perform(&op);
        (op, result)
    });
    // Also after an error: part of it may have been done.
    gone.iter().for_each(|&name| files::forget(name));
    result.map_err(|error| refused(&op, error))
}

fn at(name: FileName) -> PathBuf {
    name.path(files::root())
}

/// Performs an operation by system calls. Blocks.
pub(crate) fn perform(op: &FileOp) -> io::Result<Answer> {
    match op {
        FileOp::MakeDirectories => {
            for kind in Kind::ALL {
                std::fs::create_dir_all(kind.directory(files::root()))?;
            }
            Ok(Answer::Done)
        }
        FileOp::Create { name, bytes, zeroed } => create_now(*name, *bytes, *zeroed),
        FileOp::Allocate { name, bytes } => {
            let file = writable(*name)?;
            let size = file.metadata()?.len();
            if size < *bytes {
                reserve(&file, size, *bytes)?;
            }
            Ok(Answer::Done)
        }
        FileOp::Truncate { name, bytes } => writable(*name)?.set_len(*bytes).map(|()| Answer::Done),
        FileOp::Remove { name } => match writable(*name) {
            Ok(file) => {
                // Rule 3. A refusal to cut is no reason to keep the name.
                let _ = file.set_len(0);
                std::fs::remove_file(at(*name)).map(|()| Answer::Yes(true))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Answer::Yes(false)),
            Err(error) => Err(error),
        },
        FileOp::Rename { from, to } => std::fs::rename(at(*from), at(*to)).map(|()| Answer::Done),
        FileOp::Size { name } => match std::fs::metadata(at(*name)) {
            Ok(metadata) => Ok(Answer::Size(Some(metadata.len()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Answer::Size(None)),
            Err(error) => Err(error),
        },
        FileOp::List { kind } => list_now(*kind),
        FileOp::SyncDirectory { kind } => sync_directory_now(*kind),
        FileOp::ReadSmall { name, bytes_max } => {
            use std::io::Read;
            match std::fs::File::open(at(*name)) {
                Ok(file) => {
                    let mut content = Vec::new();
                    file.take(*bytes_max as u64).read_to_end(&mut content)?;
                    Ok(Answer::Content(Some(content)))
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Answer::Content(None)),
                Err(error) => Err(error),
            }
        }
        FileOp::WriteSmall { name, content } => write_small_now(*name, content),
    }
}

fn writable(name: FileName) -> io::Result<std::fs::File> {
    std::fs::OpenOptions::new().read(true).write(true).open(at(name))
}

fn create_now(name: FileName, bytes: u64, zeroed: bool) -> io::Result<Answer> {
    let file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(at(name))?;
    let filled = match zeroed {
        true => reserve(&file, 0, bytes).and_then(|()| write_zeros(&file, 0, bytes)).and_then(|()| file.sync_all()),
        false => reserve(&file, 0, bytes),
    };
    if filled.is_err() {
        // Nobody was told of it: it must not stand in the way of the next attempt.
        let _ = std::fs::remove_file(at(name));
    }
    filled.map(|()| Answer::Done)
}

/// Gives the file room on disk from `from` to `to`.
fn reserve(file: &std::fs::File, from: u64, to: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    if from == to {
        return Ok(());
    }
    loop {
        // SAFETY: plain system call on a descriptor that `file` holds.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, from as i64, (to - from) as i64) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // The file system cannot reserve: what is written has room.
            Some(libc::EOPNOTSUPP) => return write_zeros(file, from, to),
            _ => return Err(error),
        }
    }
}

fn write_zeros(file: &std::fs::File, from: u64, to: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    const PIECE: usize = 1 << 20;
    let zeros = vec![0; PIECE.min((to - from) as usize)];
    let mut at = from;
    while at < to {
        let bytes = zeros.len().min((to - at) as usize);
        file.write_all_at(&zeros[..bytes], at)?;
        at += bytes as u64;
    }
    Ok(())
}

fn list_now(kind: Kind) -> io::Result<Answer> {
    let entries = match std::fs::read_dir(kind.directory(files::root())) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Answer::Numbers(Vec::new())),
        Err(error) => return Err(error),
    };
    let mut numbers = Vec::new();
    for entry in entries {
        if let Some(number) = entry?.file_name().to_str().and_then(|entry| kind.parse(entry)) {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    Ok(Answer::Numbers(numbers))
}

fn sync_directory_now(kind: Kind) -> io::Result<Answer> {
    std::fs::File::open(kind.directory(files::root()))?.sync_all().map(|()| Answer::Done)
}

/// Writes beside the file, flushes, renames over it, and flushes the directory: each step durable before the next.
fn write_small_now(name: FileName, content: &[u8]) -> io::Result<Answer> {
    use std::io::Write;
    debug_assert!(content.len() <= 16 * ALIGN, "a small file of {} bytes", content.len());
    let mut beside = at(name).into_os_string();
    beside.push(".new");
    let mut file = std::fs::File::create(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    drop(file);
    std::fs::rename(&beside, at(name))?;
    sync_directory_now(name.kind())
}
