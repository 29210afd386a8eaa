//! A disk that can be trusted with nothing: it loses what was not flushed when its power goes, and fails on demand.
//!
//! It is mounted as a file system, in memory, that any program can use. It keeps for each file and each directory what was
//! flushed and what was only written since, so that a power cut leaves what some real device might: everything that was
//! flushed, and of the rest whatever a seed says, writes torn at sectors included.
//!
//! ```text
//!   arm(seed, n) --> n writes, flushes, renamings later: off, everything fails --> power_on() --> what was left
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `content` | bytes |
//! | `node` | a file, a directory: durable, current, and the changes between |
//! | `tree` | all of them, names, power |
//! | [`fault`] | errors, short transfers, no space |
//! | [`chance`] | draws that a seed repeats |
//! | `mount` | the system's view |
//!
//! What it does not do: delay. A device that is slow is another test.

pub mod chance;
mod content;
pub mod fault;
mod mount;
mod node;
mod tree;

use chance::Chance;
use fault::Fault;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tree::Tree;

/// A mounted device. Its mount is gone with the value.
pub struct Device {
    tree: Arc<Mutex<Tree>>,
    at: PathBuf,
    mount: Option<mount::Mount>,
}

impl Device {
    /// Mounts an empty device in a directory of its own.
    ///
    /// An error says that file systems in user space cannot be mounted here: without `/dev/fuse`, or the right to mount.
    pub fn mount() -> io::Result<Device> {
        Device::mount_as(false)
    }

    /// The same, where a ring is told that a transfer was short, at the price of some hundred questions a request. On the
    /// others the system goes on by itself, at the wrong place: `crates/kernel/tests/short_transfers.rs`.
    pub fn mount_for_rings() -> io::Result<Device> {
        Device::mount_as(true)
    }

    fn mount_as(for_rings: bool) -> io::Result<Device> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("gearbox-device-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let at = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&at)?;
        let tree = Arc::new(Mutex::new(Tree::new()));
        match mount::mount(tree.clone(), &at, for_rings) {
            Ok(mount) => Ok(Device { tree, at, mount: Some(mount) }),
            Err(error) => {
                let _ = std::fs::remove_dir(&at);
                Err(error)
            }
        }
    }

    /// The same for a test, which is left out where that is impossible: then this says so and answers none.
    pub fn mount_or_say(test: &str) -> Option<Device> {
        Device::or_say(test, Device::mount())
    }

    /// A device for a ring, for a test in the same way.
    pub fn mount_for_rings_or_say(test: &str) -> Option<Device> {
        Device::or_say(test, Device::mount_for_rings())
    }

    fn or_say(test: &str, mounted: io::Result<Device>) -> Option<Device> {
        match mounted {
            Ok(device) => Some(device),
            Err(error) => {
                println!("LEFT OUT: {test}: a file system in user space cannot be mounted here: {error}");
                eprintln!("LEFT OUT: {test}: a file system in user space cannot be mounted here: {error}");
                None
            }
        }
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it is mounted.
    pub fn root(&self) -> &Path {
        &self.at
    }

    /// Takes the power away with the write, flush, making or renaming that comes after so many others. The seed says
    /// what will be left.
    pub fn arm(&self, seed: u64, operations: u64) {
        self.tree().arm(Chance::new(seed), operations);
    }

    /// Takes the power away now, if it has not gone yet. Answers how many changes of files had not been flushed.
    pub fn cut(&self) -> usize {
        self.tree().cut()
    }

    /// True while the power is off.
    pub fn is_off(&self) -> bool {
        self.tree().is_off()
    }

    /// Brings the power back. Who had files open has them no more.
    pub fn power_on(&self) {
        self.tree().power_on();
    }

    /// Adds a fault.
    pub fn add(&self, fault: Fault) {
        self.tree().faults.add(fault);
    }

    /// Repairs the device: no faults, space enough.
    pub fn repair(&self) {
        let mut tree = self.tree();
        tree.faults.clear();
        tree.faults.limits.clear();
    }

    /// How often a fault has come true, or space was refused.
    pub fn met(&self) -> u64 {
        self.tree().faults.met()
    }

    /// Leaves the files whose paths begin so no more than `bytes` beyond what they have.
    pub fn leave_space(&self, files: &str, bytes: u64) {
        let mut tree = self.tree();
        let limit = tree.used(files) + bytes;
        tree.faults.limits.retain(|(other, _)| other != files);
        tree.faults.limits.push((files.to_string(), limit));
    }

    /// Flips bits of a byte of a file: what is on the device changes, and nobody is told.
    pub fn flip(&self, path: &str, offset: u64, mask: u8) -> io::Result<()> {
        Ok(self.tree().flip(path, offset, mask)?)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // A process of the server may have files open for a moment after it was killed: then the mount goes with them.
        if let Some(mount) = self.mount.take()
            && let Err(error) = mount.umount_and_join()
            && !std::process::Command::new("umount").arg("-l").arg(&self.at).status().is_ok_and(|done| done.success())
        {
            eprintln!("\"{}\" stays mounted: {error}", self.at.display());
        }
        let _ = std::fs::remove_dir(&self.at);
    }
}
