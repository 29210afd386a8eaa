//! A device as the system sees it: a file system in user space.
//!
//! Every read and write comes here, none is answered from the system's page cache, so that the device has the last word on each.

use super::tree::{Look, ROOT, Tree};
use fuser::{
    Config, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, KernelConfig, LockOwner,
    OpenFlags, PollEvents, PollFlags, PollNotifier, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyPoll, ReplyStatfs, ReplyWrite, Request, WriteFlags,
};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

/// The system asks each time.
const TTL: Duration = Duration::ZERO;
const BLOCK: u32 = 4096;
/// The longest write that comes in one piece.
const WRITE_MAX: u32 = 1 << 20;
const KEEP_SIZE: i32 = 1;

/// A mounted device.
pub(super) type Mount = fuser::BackgroundSession;

/// Mounts a device. `for_rings`: so that short transfers come to a ring as short, see [`super::Device::mount_for_rings`].
pub(super) fn mount(tree: Arc<Mutex<Tree>>, at: &Path, for_rings: bool) -> io::Result<Mount> {
    let mut config = Config::default();
    config.mount_options = vec![fuser::MountOption::FSName("gearbox-test-device".into())];
    fuser::spawn_mount(Mounted { tree, for_rings }, at, &config)
}

struct Mounted {
    tree: Arc<Mutex<Tree>>,
    for_rings: bool,
}

impl Mounted {
    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tree for a file that was opened; none if that was before a cut.
    fn opened(&self, handle: FileHandle) -> Result<MutexGuard<'_, Tree>, Errno> {
        let tree = self.tree();
        if tree.is_stale(handle.0) { Err(Errno::IO) } else { Ok(tree) }
    }
}

fn errno(error: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(error.raw_os_error())
}

fn attributes(look: &Look) -> FileAttr {
    FileAttr {
        ino: INodeNo(look.number),
        size: look.len,
        blocks: look.room.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: kind(look),
        perm: if look.directory { 0o700 } else { 0o600 },
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: BLOCK,
        flags: 0,
    }
}

fn kind(look: &Look) -> FileType {
    if look.directory { FileType::Directory } else { FileType::RegularFile }
}

fn text(name: &OsStr) -> Result<&str, Errno> {
    name.to_str().ok_or(Errno::INVAL)
}

macro_rules! answer {
    ($reply:ident, $result:expr, $found:pat => $ok:expr) => {
        match $result {
            Ok($found) => $ok,
            Err(error) => $reply.error(errno(error)),
        }
    };
}

impl Filesystem for Mounted {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What the system does not offer is done without.
        let _ = config.set_max_write(WRITE_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = text(name).and_then(|name| self.tree().lookup(parent.0, name));
        answer!(reply, found, look => reply.entry(&TTL, &attributes(&look), Generation(0)))
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        answer!(reply, self.tree().look(node.0), look => reply.attr(&TTL, &attributes(&look)))
    }

    fn setattr(
        &self,
        _: &Request,
        node: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<fuser::TimeOrNow>,
        _: Option<fuser::TimeOrNow>,
        _: Option<std::time::SystemTime>,
        _: Option<FileHandle>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut tree = self.tree();
        let set = size.map_or(Ok(()), |size| tree.set_len(node.0, size)).and_then(|()| tree.look(node.0));
        answer!(reply, set, look => reply.attr(&TTL, &attributes(&look)))
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        let made = text(name).and_then(|name| self.tree().make(parent.0, name, true));
        answer!(reply, made, look => reply.entry(&TTL, &attributes(&look), Generation(0)))
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer!(reply, text(name).and_then(|name| self.tree().remove(parent.0, name)), () => reply.ok())
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.unlink(request, parent, name, reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        to_parent: INodeNo,
        to_name: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let renamed = text(name).and_then(|name| {
            let to = text(to_name)?;
            self.tree().rename((parent.0, name), (to_parent.0, to))
        });
        answer!(reply, renamed, () => reply.ok())
    }

    fn create(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        let mut tree = self.tree();
        let handle = FileHandle(tree.cuts);
        let made = text(name).and_then(|name| tree.make(parent.0, name, false));
        answer!(reply, made, look =>
            reply.created(&TTL, &attributes(&look), Generation(0), handle, FopenFlags::FOPEN_DIRECT_IO))
    }

    fn open(&self, _: &Request, node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let mut tree = self.tree();
        let handle = FileHandle(tree.cuts);
        let emptied = match OFlags::from_bits_retain(flags.0 as u32).contains(OFlags::TRUNC) {
            true => tree.set_len(node.0, 0),
            false => tree.look(node.0).map(drop),
        };
        answer!(reply, emptied, () => reply.opened(handle, FopenFlags::FOPEN_DIRECT_IO))
    }

    fn read(
        &self,
        _: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = self.opened(handle).and_then(|mut tree| tree.read(node.0, offset, size as u64));
        answer!(reply, read, bytes => reply.data(&bytes))
    }

    fn write(
        &self,
        _: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // Also where the write alone asks for it, not the descriptor: the system adds that to these flags.
        let durable = OFlags::from_bits_retain(flags.0 as u32).intersects(OFlags::DSYNC | OFlags::SYNC);
        let written = self.opened(handle).and_then(|mut tree| tree.write(node.0, offset, data, durable));
        answer!(reply, written, bytes => reply.written(bytes as u32))
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // A close; nothing is kept for it.
        reply.ok();
    }

    fn fsync(&self, _: &Request, node: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        answer!(reply, self.opened(handle).and_then(|mut tree| tree.flush(node.0)), () => reply.ok())
    }

    fn fsyncdir(&self, _: &Request, node: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer!(reply, self.tree().flush(node.0), () => reply.ok())
    }

    fn readdir(&self, _: &Request, node: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let listed = self.tree().list(node.0).map(|mut entries| {
            let itself = |number| Look { number, directory: true, len: 0, room: 0 };
            entries.insert(0, ("..".into(), itself(ROOT)));
            entries.insert(0, (".".into(), itself(node.0)));
            entries
        });
        match listed {
            Ok(entries) => {
                for (nth, (name, look)) in entries.iter().enumerate().skip(offset as usize) {
                    if reply.add(INodeNo(look.number), nth as u64 + 1, kind(look), name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(errno(error)),
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let blocks = 1 << 24;
        reply.statfs(blocks, blocks, blocks, blocks, blocks, BLOCK, 255, BLOCK);
    }

    fn poll(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: PollNotifier,
        _: PollEvents,
        _: PollFlags,
        reply: ReplyPoll,
    ) {
        // A ring asks whether it may carry a request out at once. Without this call it may, and goes on by itself when a
        // transfer is short; told nothing, it gives the request to a thread of the system, which takes one answer.
        reply.error(errno(if self.for_rings { Errno::IO } else { Errno::NOSYS }));
    }

    fn fallocate(
        &self,
        _: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if mode & !KEEP_SIZE != 0 {
            return reply.error(errno(Errno::OPNOTSUPP));
        }
        let done =
            self.opened(handle).and_then(|mut tree| tree.allocate(node.0, offset + length, mode & KEEP_SIZE == 0));
        answer!(reply, done, () => reply.ok())
    }
}
