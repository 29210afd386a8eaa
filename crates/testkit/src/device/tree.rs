//! All files and directories of a device, its faults, and its power.
//!
//! Rules
//! 1. A flush of a file makes the file durable and not its name; that takes a flush of the directory.
//! 2. While the power is off everything fails, and what it is then stays: [`Tree::power_on`] brings back what was left.
//! 3. Who opened a file before a cut has nothing of it afterwards: handles carry the number of the cut.

use super::chance::Chance;
use super::fault::{Effect, Faults, Operation};
use super::node::{Change, Directory, File, Kind, Naming};
use rustix::io::Errno;
use std::collections::BTreeMap;

/// The root directory's number.
pub(super) const ROOT: u64 = 1;

type Result<T> = std::result::Result<T, Errno>;

struct Node {
    /// Below the root; the newest name that it had.
    path: String,
    kind: Kind,
}

/// What a look at a node tells.
pub(super) struct Look {
    pub(super) number: u64,
    pub(super) directory: bool,
    pub(super) len: u64,
    pub(super) room: u64,
}

pub(super) struct Tree {
    nodes: BTreeMap<u64, Node>,
    next: u64,
    pub(super) faults: Faults,
    /// Counts cuts.
    pub(super) cuts: u64,
    off: bool,
    chance: Chance,
    /// After how many more writes, flushes and renamings the power goes.
    fuse: Option<u64>,
    lost: usize,
}

impl Tree {
    pub(super) fn new() -> Tree {
        let root = Node { path: String::new(), kind: Kind::Directory(Directory::default()) };
        Tree {
            nodes: BTreeMap::from([(ROOT, root)]),
            next: ROOT + 1,
            faults: Faults::default(),
            cuts: 0,
            off: false,
            chance: Chance::new(0),
            fuse: None,
            lost: 0,
        }
    }

    // ---- power

    pub(super) fn arm(&mut self, chance: Chance, operations: u64) {
        (self.chance, self.fuse) = (chance, Some(operations));
    }

    pub(super) fn is_off(&self) -> bool {
        self.off
    }

    /// Takes the power away. Answers how many changes were not flushed.
    pub(super) fn cut(&mut self) -> usize {
        if !self.off {
            (self.off, self.fuse) = (true, None);
            self.cuts += 1;
            let unflushed = |node: &Node| match &node.kind {
                Kind::File(file) => file.unflushed(),
                Kind::Directory(_) => 0,
            };
            self.lost = self.nodes.values().map(unflushed).sum();
        }
        self.lost
    }

    /// Brings the power back, with what chance has left.
    pub(super) fn power_on(&mut self) {
        if !std::mem::replace(&mut self.off, false) {
            return;
        }
        let mut chance = self.chance.clone();
        self.nodes.values_mut().for_each(|node| node.kind.cut(&mut chance));
        // What no name leads to is gone; the others are called what they are called now.
        let mut reached = BTreeMap::from([(ROOT, String::new())]);
        let mut open = vec![ROOT];
        while let Some(at) = open.pop() {
            let path = reached[&at].clone();
            let Some(Node { kind: Kind::Directory(directory), .. }) = self.nodes.get(&at) else { continue };
            for (name, &node) in &directory.current {
                reached.insert(node, join(&path, name));
                open.push(node);
            }
        }
        self.nodes.retain(|number, _| reached.contains_key(number));
        for (number, node) in &mut self.nodes {
            node.path = reached[number].clone();
        }
    }

    /// One more operation that changes something. False if the power goes with it.
    fn burn(&mut self) -> bool {
        match &mut self.fuse {
            Some(0) => {
                self.cut();
                false
            }
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }

    fn powered(&self) -> Result<()> {
        if self.off { Err(Errno::IO) } else { Ok(()) }
    }

    pub(super) fn is_stale(&self, handle: u64) -> bool {
        handle != self.cuts
    }

    // ---- looking

    fn node(&self, number: u64) -> Result<&Node> {
        self.powered()?;
        self.nodes.get(&number).ok_or(Errno::NOENT)
    }

    fn file(&mut self, number: u64) -> Result<&mut File> {
        match self.nodes.get_mut(&number).map(|node| &mut node.kind) {
            Some(Kind::File(file)) => Ok(file),
            Some(Kind::Directory(_)) => Err(Errno::ISDIR),
            None => Err(Errno::NOENT),
        }
    }

    fn directory(&mut self, number: u64) -> Result<&mut Directory> {
        match self.nodes.get_mut(&number).map(|node| &mut node.kind) {
            Some(Kind::Directory(directory)) => Ok(directory),
            Some(Kind::File(_)) => Err(Errno::NOTDIR),
            None => Err(Errno::NOENT),
        }
    }

    pub(super) fn look(&self, number: u64) -> Result<Look> {
        let node = self.node(number)?;
        Ok(match &node.kind {
            Kind::File(file) => Look { number, directory: false, len: file.current.len(), room: file.room },
            Kind::Directory(_) => Look { number, directory: true, len: 0, room: 0 },
        })
    }

    pub(super) fn lookup(&self, parent: u64, name: &str) -> Result<Look> {
        match &self.node(parent)?.kind {
            Kind::Directory(directory) => self.look(*directory.current.get(name).ok_or(Errno::NOENT)?),
            Kind::File(_) => Err(Errno::NOTDIR),
        }
    }

    pub(super) fn list(&self, number: u64) -> Result<Vec<(String, Look)>> {
        let Kind::Directory(directory) = &self.node(number)?.kind else { return Err(Errno::NOTDIR) };
        directory.current.iter().map(|(name, &node)| Ok((name.clone(), self.look(node)?))).collect()
    }

    /// The node of a path below the root.
    pub(super) fn find(&self, path: &str) -> Result<u64> {
        path.split('/').try_fold(ROOT, |at, name| self.lookup(at, name).map(|look| look.number))
    }

    // ---- names

    pub(super) fn make(&mut self, parent: u64, name: &str, directory: bool) -> Result<Look> {
        let path = join(&self.node(parent)?.path, name);
        if self.lookup(parent, name).is_ok() {
            return Err(Errno::EXIST);
        }
        if self.faults.strike(Operation::Create, &path).is_some() {
            return Err(Errno::IO);
        }
        if !self.burn() {
            return Err(Errno::IO);
        }
        let number = self.next;
        self.next += 1;
        let kind = if directory { Kind::Directory(Directory::default()) } else { Kind::File(File::default()) };
        self.nodes.insert(number, Node { path, kind });
        self.directory(parent)?.change(Naming { gone: None, come: Some((name.to_string(), number)) });
        self.look(number)
    }

    /// Takes a name away. What it named stays, because the directory may not be flushed before the next cut.
    pub(super) fn remove(&mut self, parent: u64, name: &str) -> Result<()> {
        let gone = self.lookup(parent, name)?.number;
        self.directory(parent)?.change(Naming { gone: Some(name.to_string()), come: None });
        if let Ok(file) = self.file(gone) {
            file.room = 0;
        }
        Ok(())
    }

    pub(super) fn rename(&mut self, from: (u64, &str), to: (u64, &str)) -> Result<()> {
        let moved = self.lookup(from.0, from.1)?.number;
        let old = join(&self.node(from.0)?.path, from.1);
        let path = join(&self.node(to.0)?.path, to.1);
        if self.faults.strike(Operation::Rename, &old).is_some() || !self.burn() {
            return Err(Errno::IO);
        }
        let come = Some((to.1.to_string(), moved));
        if from.0 == to.0 {
            self.directory(from.0)?.change(Naming { gone: Some(from.1.to_string()), come });
        } else {
            self.directory(to.0)?.change(Naming { gone: None, come });
            self.directory(from.0)?.change(Naming { gone: Some(from.1.to_string()), come: None });
        }
        if let Some(node) = self.nodes.get_mut(&moved) {
            node.path = path;
        }
        Ok(())
    }

    // ---- contents

    pub(super) fn read(&mut self, number: u64, offset: u64, size: u64) -> Result<Vec<u8>> {
        let path = self.node(number)?.path.clone();
        let size = match self.faults.strike(Operation::Read, &path) {
            Some(Effect::Error) => return Err(Errno::IO),
            Some(Effect::Short) => half(size),
            _ => size,
        };
        Ok(self.file(number)?.current.read(offset, size))
    }

    /// Writes; answers how much.
    pub(super) fn write(&mut self, number: u64, offset: u64, bytes: &[u8], durable: bool) -> Result<u64> {
        let path = self.node(number)?.path.clone();
        let bytes = match self.faults.strike(Operation::Write, &path) {
            Some(Effect::Error) => return Err(Errno::IO),
            Some(Effect::Short) => &bytes[..half(bytes.len() as u64) as usize],
            _ => bytes,
        };
        self.take_room(number, offset + bytes.len() as u64)?;
        let powered = self.burn();
        let flushed = if durable { self.flushes(&path, Operation::Flush)? } else { false };
        let file = self.file(number)?;
        file.change(Change::Write { offset, bytes: bytes.to_vec() });
        // A write with which the power goes is the one that may be torn.
        if !powered {
            return Err(Errno::IO);
        }
        if flushed {
            file.flush_newest();
        }
        Ok(bytes.len() as u64)
    }

    /// True if a flush is to be done, false if the device lies.
    fn flushes(&mut self, path: &str, operation: Operation) -> Result<bool> {
        match self.faults.strike(operation, path) {
            None => Ok(true),
            Some(Effect::Lie) => Ok(false),
            Some(_) => Err(Errno::IO),
        }
    }

    pub(super) fn set_len(&mut self, number: u64, len: u64) -> Result<()> {
        self.node(number)?;
        self.file(number)?.change(Change::Length(len));
        Ok(())
    }

    /// Sees to it that a file has room up to `end`, and is that long if `grow`.
    pub(super) fn allocate(&mut self, number: u64, end: u64, grow: bool) -> Result<()> {
        self.node(number)?;
        self.take_room(number, end)?;
        let file = self.file(number)?;
        if grow && file.current.len() < end {
            file.change(Change::Length(end));
        }
        file.room = file.room.max(end);
        Ok(())
    }

    fn take_room(&mut self, number: u64, end: u64) -> Result<()> {
        let path = self.node(number)?.path.clone();
        let more = end.saturating_sub(self.file(number)?.room);
        if more == 0 {
            return Ok(());
        }
        for (files, limit) in &self.faults.limits {
            if path.starts_with(files.as_str()) && self.used(files) + more > *limit {
                self.faults.note();
                return Err(Errno::NOSPC);
            }
        }
        Ok(())
    }

    /// Bytes that the files have whose paths begin so.
    pub(super) fn used(&self, files: &str) -> u64 {
        let room = |node: &Node| match &node.kind {
            Kind::File(file) if node.path.starts_with(files) => file.room,
            _ => 0,
        };
        self.nodes.values().map(room).sum()
    }

    pub(super) fn flush(&mut self, number: u64) -> Result<()> {
        let node = self.node(number)?;
        let operation = match &node.kind {
            Kind::File(_) => Operation::Flush,
            Kind::Directory(_) => Operation::FlushDirectory,
        };
        let path = node.path.clone();
        let flushed = self.flushes(&path, operation)?;
        if !self.burn() {
            return Err(Errno::IO);
        }
        if let Some(node) = self.nodes.get_mut(&number).filter(|_| flushed) {
            node.kind.flush();
        }
        Ok(())
    }

    /// Flips a bit on the device itself.
    pub(super) fn flip(&mut self, path: &str, offset: u64, mask: u8) -> Result<()> {
        let number = self.find(path)?;
        let file = self.file(number)?;
        for content in [&mut file.current, &mut file.durable] {
            let byte = content.read(offset, 1);
            if let [byte] = byte[..] {
                content.write(offset, &[byte ^ mask]);
            }
        }
        Ok(())
    }
}

/// Half of a transfer, in whole sectors, and at least one.
fn half(size: u64) -> u64 {
    (size / 2 / 512 * 512).max(512.min(size))
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::fault::Fault;

    #[test]
    fn a_file_without_its_directorys_flush_may_be_gone() {
        let mut there = 0;
        for seed in 0..100 {
            let mut tree = Tree::new();
            let file = tree.make(ROOT, "a", false).unwrap().number;
            tree.write(file, 0, b"x", true).unwrap();
            tree.arm(Chance::new(seed), 99);
            tree.cut();
            assert!(tree.look(file).is_err(), "the power is off");
            tree.power_on();
            there += tree.find("a").is_ok() as u32;
        }
        assert!((10..90).contains(&there), "{there}");
    }

    #[test]
    fn space_comes_back_with_what_is_removed() {
        let mut tree = Tree::new();
        tree.faults.limits.push(("a".into(), 8192));
        let file = tree.make(ROOT, "a1", false).unwrap().number;
        tree.allocate(file, 8192, true).unwrap();
        assert_eq!(tree.write(file, 8192, &[1], false), Err(Errno::NOSPC));
        assert_eq!(tree.write(file, 0, &[1; 512], false), Ok(512), "it has room");
        let other = tree.make(ROOT, "a2", false).unwrap().number;
        assert_eq!(tree.allocate(other, 512, true), Err(Errno::NOSPC));
        tree.remove(ROOT, "a1").unwrap();
        assert_eq!(tree.allocate(other, 512, true), Ok(()));
    }

    #[test]
    fn faults_strike_as_often_as_they_are_told() {
        let mut tree = Tree::new();
        let file = tree.make(ROOT, "a", false).unwrap().number;
        let fault = |operation, effect| Fault { operation, files: "a".into(), effect, times: 1 };
        tree.faults.add(fault(Operation::Write, Effect::Short));
        assert_eq!(tree.write(file, 0, &[7; 4096], false), Ok(2048));
        assert_eq!(tree.write(file, 2048, &[7; 2048], false), Ok(2048));
        tree.faults.add(fault(Operation::Read, Effect::Error));
        assert_eq!(tree.read(file, 0, 10), Err(Errno::IO));
        assert_eq!(tree.read(file, 0, 2), Ok(vec![7; 2]));
        assert_eq!(tree.faults.met(), 2);
    }
}
