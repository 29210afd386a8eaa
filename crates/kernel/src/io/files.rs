//! A process's descriptors: opened on first use, kept, and closed when the file is gone or many others were used since.
//!
//! A descriptor means something in one process only, so each process has a table of its own; what they share is the list
//! of names that were removed or renamed ([`forget`]), with a counter. A process that sees the counter move drops its
//! descriptors of those names before it uses any.
//!
//! Rules
//! 1. A request holds its descriptor until it is over, so one that is dropped from the table is closed when the last
//!    request on it has ended.
//! 2. With rings, every descriptor carries a *drain mark*: a write lock on one byte far behind the end of the file, in a
//!    stretch that is the process's own. The lock belongs to the open file, which a request in flight keeps open even
//!    when its process is dead; so when no mark of the process is left, nothing is in flight any more ([`super::drain`]).
//! 3. What a file system refuses (direct I/O, locks) is done without, noted in the region, and said once on stderr.

use super::{FileName, Kind};
use crate::config::IoMethod;
use crate::region::{Root, Shared};
use crate::supervisor;
use crate::sync::{Spin, SpinName};
use std::collections::HashMap;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// How many descriptors a process keeps at most.
const KEPT_MAX: usize = 1024;
/// How many names the list of those that are gone holds; a process that missed more drops everything.
const GONE: u64 = 256;
/// Where drain marks lie: no file is that long.
const MARKS: i64 = 1 << 60;
/// How many bytes of marks a process has: one for each time that it opens a file.
const MARKS_PER_PROCESS: i64 = 1 << 20;

#[repr(C)]
struct Gone {
    /// Names that have gone since the start: the newest `GONE` of them are in `names`.
    count: AtomicU64,
    names: [AtomicU64; GONE as usize],
    writer: Spin<u64>,
    /// One if the file system has refused direct I/O on some file.
    buffered: AtomicU32,
    /// One if the file system refuses locks.
    no_marks: AtomicU32,
}

// SAFETY: atomics, and a spinlock over an integer.
unsafe impl Shared for Gone {}

// SAFETY: root 11 is used here only.
static GONE_NAMES: Root<Gone> = unsafe { Root::new(11) };

pub(super) fn init() {
    GONE_NAMES.make("io files", 1)[0].writer.publish(SpinName::IoSlots, 1);
}

/// An open file. Closed when the table and the last request have let go of it.
pub(crate) struct OpenFile {
    fd: i32,
    used: AtomicBool,
}

impl OpenFile {
    pub(crate) fn fd(&self) -> i32 {
        self.fd
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's own.
        unsafe { libc::close(self.fd) };
    }
}

#[derive(Default)]
struct Table {
    files: HashMap<FileName, Arc<OpenFile>>,
    /// How many gone names this process has dealt with.
    seen: u64,
}

static TABLE: OnceLock<RwLock<Table>> = OnceLock::new();
/// The same as [`Table::seen`], for a look without the lock.
static SEEN: AtomicU64 = AtomicU64::new(0);

fn table() -> &'static RwLock<Table> {
    TABLE.get_or_init(Default::default)
}

/// The data directory.
pub(super) fn root() -> &'static Path {
    &supervisor::config().data_dir
}

/// The descriptor of a file, if this process has it open.
pub(super) fn cached(name: FileName) -> Option<Arc<OpenFile>> {
    sweep();
    let table = table().read().unwrap_or_else(PoisonError::into_inner);
    let file = table.files.get(&name)?;
    file.used.store(true, Relaxed);
    Some(file.clone())
}

/// Opens a file and keeps it. Blocks in the operating system.
pub(super) fn open(name: FileName) -> io::Result<Arc<OpenFile>> {
    // Read before the file is opened: if the name goes meanwhile, the next look drops what is entered below.
    let seen = GONE_NAMES.one().count.load(SeqCst);
    let file = match open_now(name) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
            shrink(&mut table().write().unwrap_or_else(PoisonError::into_inner), 0);
            open_now(name)?
        }
        opened => opened?,
    };
    let mut table = table().write().unwrap_or_else(PoisonError::into_inner);
    if table.seen < seen {
        drop_gone(&mut table, seen);
    }
    shrink(&mut table, KEPT_MAX - 1);
    // Another engine of the process may have opened it too: then one descriptor is enough.
    let kept = if table.seen == seen { table.files.entry(name).or_insert(file).clone() } else { file };
    Ok(kept)
}

/// Drops descriptors of files that are gone. Costs one load if none is.
#[inline]
pub(super) fn sweep() {
    let count = GONE_NAMES.one().count.load(SeqCst);
    if SEEN.load(Relaxed) != count {
        sweep_now(count);
    }
}

#[cold]
fn sweep_now(count: u64) {
    drop_gone(&mut table().write().unwrap_or_else(PoisonError::into_inner), count);
}

fn drop_gone(table: &mut Table, count: u64) {
    let gone = GONE_NAMES.one();
    if count < table.seen {
        // Another region, which only the simulator makes.
        *table = Table::default();
    }
    let names: Vec<u64> = (table.seen.max(count.saturating_sub(GONE))..count)
        .map(|at| gone.names[(at % GONE) as usize].load(SeqCst))
        .collect();
    // Entries may have been written over while they were read.
    if gone.count.load(SeqCst) - table.seen > GONE {
        table.files.clear();
    }
    for name in names.iter().filter_map(|&name| FileName::from_raw(name)) {
        table.files.remove(&name);
    }
    table.seen = count;
    SEEN.store(count, Relaxed);
}

/// Lets go of descriptors that were not used since the last time, and of others if that is not enough.
fn shrink(table: &mut Table, most: usize) {
    if table.files.len() <= most {
        return;
    }
    table.files.retain(|_, file| file.used.swap(false, Relaxed));
    while table.files.len() > most {
        let Some(&any) = table.files.keys().next() else { return };
        table.files.remove(&any);
    }
}

/// Tells every process that what it has open under this name is not the file of that name any more.
pub(super) fn forget(name: FileName) {
    let gone = GONE_NAMES.one();
    let writer = gone.writer.lock();
    let count = gone.count.load(SeqCst);
    gone.names[(count % GONE) as usize].store(name.raw(), SeqCst);
    gone.count.store(count + 1, SeqCst);
    drop(writer);
}

fn c_path(path: PathBuf) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

/// Opens a path; the descriptor is the caller's.
pub(super) fn open_path(path: PathBuf, flags: i32) -> io::Result<i32> {
    let path = c_path(path);
    loop {
        // SAFETY: a valid C string; the call touches no memory of ours.
        let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o600) };
        if fd >= 0 {
            return Ok(fd);
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error);
        }
    }
}

fn open_now(name: FileName) -> io::Result<Arc<OpenFile>> {
    let (kind, gone) = (name.kind(), GONE_NAMES.one());
    let mut flags = libc::O_RDWR;
    if kind.is_durable() {
        flags |= libc::O_DSYNC;
    }
    let direct = kind.is_direct();
    let path = || name.path(root());
    let fd = match open_path(path(), if direct { flags | libc::O_DIRECT } else { flags }) {
        Err(error) if direct && error.raw_os_error() == Some(libc::EINVAL) => {
            let fd = open_path(path(), flags)?;
            if gone.buffered.swap(1, SeqCst) == 0 {
                eprintln!(
                    "gearbox: the file system refuses direct I/O on \"{}\"; what is read there is cached by the system too",
                    path().display()
                );
            }
            fd
        }
        opened => opened?,
    };
    if supervisor::config().io == IoMethod::Uring && gone.no_marks.load(Relaxed) == 0 && !mark(fd) {
        gone.no_marks.store(1, Relaxed);
    }
    Ok(Arc::new(OpenFile { fd, used: AtomicBool::new(true) }))
}

fn lock_of(start: i64, length: i64) -> libc::flock {
    // SAFETY: plain integers, for which zero is valid.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as i16;
    lock.l_whence = libc::SEEK_SET as i16;
    lock.l_start = start;
    lock.l_len = length;
    lock
}

fn marks_of(process: i32) -> i64 {
    MARKS + process as i64 * MARKS_PER_PROCESS
}

/// Sets a drain mark of this process. False if the file system knows no locks.
fn mark(fd: i32) -> bool {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let next = NEXT.fetch_add(1, Relaxed) as i64 % MARKS_PER_PROCESS;
        let lock = lock_of(marks_of(std::process::id() as i32) + next, 1);
        // SAFETY: the lock is valid for the call.
        if unsafe { libc::fcntl(fd, libc::F_OFD_SETLK, &lock) } == 0 {
            return true;
        }
        // Taken: by an old descriptor of this process, or of a dead one that had the same number.
        if !matches!(io::Error::last_os_error().raw_os_error(), Some(libc::EAGAIN | libc::EACCES | libc::EINTR)) {
            return false;
        }
    }
}

/// True while a process may have requests in flight on the file, whether it lives or not: `process`, or any process.
/// An error if that cannot be told.
pub(super) fn has_mark(name: FileName, process: Option<i32>) -> io::Result<bool> {
    let fd = open_path(name.path(root()), libc::O_RDWR)?;
    if GONE_NAMES.one().no_marks.load(Relaxed) != 0 {
        // SAFETY: the descriptor is ours and closed once.
        unsafe { libc::close(fd) };
        return Err(io::Error::from_raw_os_error(libc::ENOLCK));
    }
    let mut lock = match process {
        Some(process) => lock_of(marks_of(process), MARKS_PER_PROCESS),
        None => lock_of(MARKS, 0),
    };
    // SAFETY: the lock is valid for the call; the descriptor is ours and closed once.
    let answered = unsafe {
        let answered = libc::fcntl(fd, libc::F_OFD_GETLK, &mut lock) == 0;
        let error = io::Error::last_os_error();
        libc::close(fd);
        if answered { Ok(()) } else { Err(error) }
    };
    answered.map(|()| lock.l_type != libc::F_UNLCK as i16)
}

/// How many descriptors this process keeps.
pub fn descriptors() -> usize {
    table().read().unwrap_or_else(PoisonError::into_inner).files.len()
}

/// True if files of the kind are read and written around the system's page cache, and no file system has refused that.
pub fn is_direct(kind: Kind) -> bool {
    kind.is_direct() && GONE_NAMES.one().buffered.load(Relaxed) == 0
}
