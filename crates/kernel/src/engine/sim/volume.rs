//! What is on the simulated disk: files and names, as the running server sees them and as a power cut leaves them.
//!
//! Everything has two states, what is read (*current*) and what is sure to survive (*durable*), and between them the steps
//! that led from one to the other. A flush moves what was written before it from the one to the other. A power cut decides,
//! by the seed, what of the steps had reached the disk:
//!
//! | what | unit of survival |
//! |---|---|
//! | bytes written | each sector of 512 bytes for itself: the durable one, or any that was written since |
//! | a file's size | the durable one, or any since |
//! | names made, removed, renamed | in order within a directory: some number of the steps since the last one made durable |

use super::random::Random;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Bytes in a sector: what the disk writes as a whole.
pub(super) const SECTOR: usize = 512;
/// Bytes in a block: what is kept together here.
pub(super) const BLOCK: usize = 4096;

type Block = Rc<[u8; BLOCK]>;

/// A file's identity, whatever it is called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct FileId(u64);

#[derive(Default)]
struct File {
    /// Blocks that were ever written; others read as zeros.
    current: BTreeMap<u64, Block>,
    durable: BTreeMap<u64, Block>,
    /// By block, what was written since it was durable, with the number of the step.
    since: BTreeMap<u64, Vec<(u64, Block)>>,
    size: u64,
    durable_size: u64,
    sizes_since: Vec<(u64, u64)>,
}

/// A step in a directory.
#[derive(Clone, Copy, Debug)]
enum Step {
    Make(u64, FileId),
    Remove(u64),
    Rename(u64, u64),
}

/// See the head of this file. Names are the raw values of [`crate::io::FileName`].
#[derive(Default)]
pub(super) struct Volume {
    files: BTreeMap<FileId, File>,
    names: BTreeMap<u64, FileId>,
    durable_names: BTreeMap<u64, FileId>,
    /// By directory (a name's kind), steps since the directory was durable.
    steps: BTreeMap<u8, Vec<Step>>,
    next_file: u64,
    next_step: u64,
}

fn directory(name: u64) -> u8 {
    (name >> 56) as u8
}

fn take(names: &mut BTreeMap<u64, FileId>, step: Step) {
    match step {
        Step::Make(name, file) => {
            names.insert(name, file);
        }
        Step::Remove(name) => {
            names.remove(&name);
        }
        Step::Rename(from, to) => {
            if let Some(file) = names.remove(&from) {
                names.insert(to, file);
            }
        }
    }
}

impl Volume {
    // ---- names

    pub(super) fn find(&self, name: u64) -> Option<FileId> {
        self.names.get(&name).copied()
    }

    fn step(&mut self, step: Step) {
        let name = match step {
            Step::Make(name, _) | Step::Remove(name) | Step::Rename(_, name) => name,
        };
        take(&mut self.names, step);
        self.steps.entry(directory(name)).or_default().push(step);
    }

    /// Makes a file that is not there.
    pub(super) fn make(&mut self, name: u64) -> FileId {
        let file = FileId(self.next_file);
        self.next_file += 1;
        self.files.insert(file, File::default());
        self.step(Step::Make(name, file));
        file
    }

    pub(super) fn remove(&mut self, name: u64) -> bool {
        let there = self.names.contains_key(&name);
        if there {
            self.step(Step::Remove(name));
        }
        there
    }

    pub(super) fn rename(&mut self, from: u64, to: u64) -> bool {
        let there = self.names.contains_key(&from);
        if there {
            self.step(Step::Rename(from, to));
        }
        there
    }

    /// Numbers of the files in a directory, in order.
    pub(super) fn list(&self, directory: u8) -> Vec<u64> {
        let first = (directory as u64) << 56;
        self.names.range(first..=(first | ((1 << 56) - 1))).map(|(name, _)| name & ((1 << 56) - 1)).collect()
    }

    pub(super) fn sync_directory(&mut self, directory: u8) {
        for step in self.steps.remove(&directory).unwrap_or_default() {
            take(&mut self.durable_names, step);
        }
    }

    // ---- content

    pub(super) fn size(&self, file: FileId) -> u64 {
        self.files[&file].size
    }

    /// Bytes that the files take altogether.
    pub(super) fn used(&self) -> u64 {
        self.names.values().map(|file| self.files[file].size).sum()
    }

    fn file(&mut self, file: FileId) -> &mut File {
        self.files.get_mut(&file).expect("a file is kept while somebody uses it")
    }

    /// Cuts or grows a file.
    pub(super) fn set_size(&mut self, file: FileId, size: u64) {
        let step = self.count_step();
        let file = self.file(file);
        if size < file.size {
            let first = size.div_ceil(BLOCK as u64);
            let gone: Vec<u64> = file.current.range(first..).map(|(&block, _)| block).collect();
            for block in gone {
                file.current.remove(&block);
                file.since.entry(block).or_default().push((step, Rc::new([0; BLOCK])));
            }
            let inside = (size % BLOCK as u64) as usize;
            if inside > 0 {
                file.change(step, size / BLOCK as u64, |bytes| bytes[inside..].fill(0));
            }
        }
        file.size = size;
        file.sizes_since.push((step, size));
    }

    /// Reads what is there; answers how many bytes that was.
    pub(super) fn read(&self, file: FileId, offset: u64, into: &mut [u8]) -> usize {
        let file = &self.files[&file];
        let count = into.len().min(file.size.saturating_sub(offset) as usize);
        let mut done = 0;
        while done < count {
            let at = offset + done as u64;
            let (block, inside) = (at / BLOCK as u64, (at % BLOCK as u64) as usize);
            let here = (BLOCK - inside).min(count - done);
            match file.current.get(&block) {
                Some(bytes) => into[done..done + here].copy_from_slice(&bytes[inside..inside + here]),
                None => into[done..done + here].fill(0),
            }
            done += here;
        }
        count
    }

    /// Writes.
    pub(super) fn write(&mut self, file: FileId, offset: u64, bytes: &[u8]) {
        let step = self.count_step();
        let file = self.file(file);
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let inside = (at % BLOCK as u64) as usize;
            let here = (BLOCK - inside).min(bytes.len() - done);
            let piece = &bytes[done..done + here];
            file.change(step, at / BLOCK as u64, |block| block[inside..inside + here].copy_from_slice(piece));
            done += here;
        }
        let end = offset + bytes.len() as u64;
        if end > file.size {
            file.size = end;
            file.sizes_since.push((step, end));
        }
    }

    fn count_step(&mut self) -> u64 {
        self.next_step += 1;
        self.next_step
    }

    /// The last step so far: what a flush that begins now will make durable.
    pub(super) fn last_step(&self) -> u64 {
        self.next_step
    }

    /// Makes durable what was written to the file up to that step, and its size.
    pub(super) fn flush(&mut self, file: FileId, up_to: u64) {
        let file = self.file(file);
        file.since.retain(|&block, versions| {
            let count = versions.partition_point(|version| version.0 <= up_to);
            if let Some((_, bytes)) = versions.drain(..count).next_back() {
                file.durable.insert(block, bytes);
            }
            !versions.is_empty()
        });
        let count = file.sizes_since.partition_point(|size| size.0 <= up_to);
        if let Some((_, size)) = file.sizes_since.drain(..count).next_back() {
            file.durable_size = size;
        }
    }

    /// Takes what was written to the file up to that step for flushed, though it is not durable and will not be.
    pub(super) fn forget_unflushed(&mut self, file: FileId, up_to: u64) {
        self.file(file).since.retain(|_, versions| {
            versions.retain(|version| version.0 > up_to);
            !versions.is_empty()
        });
    }

    /// What is sure to survive of a file, under the name that is sure to survive.
    pub(super) fn durable_content(&self, name: u64) -> Option<Vec<u8>> {
        let file = &self.files[self.durable_names.get(&name)?];
        let mut content = vec![0; file.durable_size as usize];
        for (&block, bytes) in &file.durable {
            let at = block as usize * BLOCK;
            let here = content.len().saturating_sub(at).min(BLOCK);
            if here > 0 {
                content[at..at + here].copy_from_slice(&bytes[..here]);
            }
        }
        Some(content)
    }

    /// Makes durable what is there now of these bytes, and the file's size.
    pub(super) fn settle(&mut self, file: FileId, offset: u64, count: u64) {
        let file = self.file(file);
        for block in offset / BLOCK as u64..(offset + count).div_ceil(BLOCK as u64) {
            file.since.remove(&block);
            if let Some(bytes) = file.current.get(&block) {
                file.durable.insert(block, bytes.clone());
            }
        }
        file.sizes_since.clear();
        file.durable_size = file.size;
    }

    // ---- the power cut

    /// Leaves what a power cut leaves.
    pub(super) fn cut_power(&mut self, random: &Random) {
        for (_, steps) in std::mem::take(&mut self.steps) {
            let count = random.below(steps.len() as u64 + 1) as usize;
            for &step in &steps[..count] {
                take(&mut self.durable_names, step);
            }
        }
        self.names = self.durable_names.clone();
        let names = &self.names;
        self.files.retain(|file, _| names.values().any(|named| named == file));
        for file in self.files.values_mut() {
            file.cut_power(random);
        }
    }
}

impl File {
    fn change(&mut self, step: u64, block: u64, change: impl FnOnce(&mut [u8; BLOCK])) {
        let mut bytes = self.current.get(&block).map_or([0; BLOCK], |bytes| **bytes);
        change(&mut bytes);
        let bytes = Rc::new(bytes);
        self.current.insert(block, bytes.clone());
        self.since.entry(block).or_default().push((step, bytes));
    }

    fn cut_power(&mut self, random: &Random) {
        for (block, versions) in std::mem::take(&mut self.since) {
            let durable = self.durable.get(&block).map_or([0; BLOCK], |bytes| **bytes);
            let mut left = durable;
            for at in (0..BLOCK).step_by(SECTOR) {
                let which = random.below(versions.len() as u64 + 1) as usize;
                let from = if which == 0 { &durable } else { &*versions[which - 1].1 };
                left[at..at + SECTOR].copy_from_slice(&from[at..at + SECTOR]);
            }
            self.durable.insert(block, Rc::new(left));
        }
        let sizes = std::mem::take(&mut self.sizes_since);
        let which = random.below(sizes.len() as u64 + 1) as usize;
        if which > 0 {
            self.durable_size = sizes[which - 1].1;
        }
        self.size = self.durable_size;
        let end = self.size.div_ceil(BLOCK as u64);
        self.durable.retain(|&block, _| block < end);
        self.current = self.durable.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: u64 = 1 << 56 | 7;
    const OTHER: u64 = 1 << 56 | 8;

    fn content(volume: &Volume, name: u64) -> Option<Vec<u8>> {
        let file = volume.find(name)?;
        let mut bytes = vec![0; volume.size(file) as usize];
        assert_eq!(volume.read(file, 0, &mut bytes), bytes.len());
        Some(bytes)
    }

    #[test]
    fn what_is_written_is_read_and_what_was_cut_off_is_zero() {
        let mut volume = Volume::default();
        let file = volume.make(NAME);
        volume.write(file, 4000, &[7; 5000]);
        assert_eq!(volume.size(file), 9000);
        volume.set_size(file, 4500);
        volume.set_size(file, 10_000);
        let bytes = content(&volume, NAME).unwrap();
        assert!(bytes[..4000].iter().all(|&byte| byte == 0));
        assert!(bytes[4000..4500].iter().all(|&byte| byte == 7));
        assert!(bytes[4500..].iter().all(|&byte| byte == 0));
        assert_eq!(volume.read(file, 9999, &mut [0; 8]), 1);
        assert_eq!(volume.read(file, 20_000, &mut [0; 8]), 0);
    }

    #[test]
    fn what_was_flushed_survives_and_the_rest_does_by_sectors() {
        let mut torn = 0;
        for seed in 0..200 {
            let random = Random::new(seed);
            let mut volume = Volume::default();
            let file = volume.make(NAME);
            volume.sync_directory(1);
            volume.write(file, 0, &[1; 8192]);
            let flushed = volume.last_step();
            volume.write(file, 4096, &[2; 4096]);
            volume.flush(file, flushed);
            volume.cut_power(&random);
            let bytes = content(&volume, NAME).expect("the directory was durable");
            assert_eq!(bytes.len(), 8192, "so was the size");
            assert!(bytes[..4096].iter().all(|&byte| byte == 1));
            let sectors: Vec<&[u8]> = bytes[4096..].chunks(SECTOR).collect();
            assert!(sectors.iter().all(|sector| sector.iter().all(|&byte| byte == sector[0] && byte > 0)));
            torn += sectors.iter().any(|sector| sector[0] != sectors[0][0]) as u32;
        }
        assert!(torn > 100, "only {torn} of 200 power cuts tore a block");
    }

    #[test]
    fn a_durable_write_survives_and_takes_nothing_else_along() {
        for seed in 0..50 {
            let mut volume = Volume::default();
            let file = volume.make(NAME);
            volume.sync_directory(1);
            volume.set_size(file, 16_384);
            volume.write(file, 0, &[1; 4096]);
            volume.write(file, 8192, &[2; 4096]);
            volume.settle(file, 8192, 4096);
            volume.cut_power(&Random::new(seed));
            let bytes = content(&volume, NAME).unwrap();
            assert_eq!(bytes.len(), 16_384);
            assert!(bytes[8192..12_288].iter().all(|&byte| byte == 2));
            assert!(seed > 0 || bytes[..4096].contains(&0));
        }
    }

    #[test]
    fn names_survive_in_order() {
        let mut seen = [0; 4];
        for seed in 0..200 {
            let random = Random::new(seed);
            let mut volume = Volume::default();
            let old = volume.make(NAME);
            volume.write(old, 0, b"old");
            volume.flush(old, u64::MAX);
            volume.sync_directory(1);
            let new = volume.make(OTHER);
            volume.write(new, 0, b"new");
            volume.flush(new, u64::MAX);
            volume.rename(OTHER, NAME);
            volume.cut_power(&random);
            let found = (content(&volume, NAME), content(&volume, OTHER));
            let case = match (found.0.as_deref(), found.1.as_deref()) {
                (Some(b"old"), None) => 0,
                (Some(b"old"), Some(b"new")) => 1,
                (Some(b"new"), None) => 2,
                _ => 3,
            };
            seen[case] += 1;
        }
        assert!(seen[0] > 20 && seen[1] > 20 && seen[2] > 20 && seen[3] == 0, "{seen:?}");
    }
}
