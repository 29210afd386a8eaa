//! A file or a directory: what a power cut leaves of it for certain, and what has been done to it since.
//!
//! ```text
//!   durable  --+-- change, change, change ... --+-->  current     what the server reads
//!              |                                |
//!              |          a flush: durable = current, no changes
//!              \-- some of the changes ---------------> what is left after a power cut
//! ```
//!
//! A device may write what it was given in any order, and a write in parts: after a cut each change is there or not by
//! chance, and a write may be there in some of its sectors. Names are changes of their directory; a rename is one.

use super::chance::Chance;
use super::content::Content;
use std::collections::BTreeMap;

/// What a device writes as a whole.
const SECTOR: usize = 512;

/// A change of a file since its last flush.
pub(super) enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    Length(u64),
}

/// A change of a directory since its last flush: a name that goes, and one that comes, with its node.
pub(super) struct Naming {
    pub(super) gone: Option<String>,
    pub(super) come: Option<(String, u64)>,
}

pub(super) type Names = BTreeMap<String, u64>;

#[derive(Default)]
pub(super) struct File {
    pub(super) current: Content,
    pub(super) durable: Content,
    changes: Vec<Change>,
    /// Up to where the file has room on the device.
    pub(super) room: u64,
}

#[derive(Default)]
pub(super) struct Directory {
    pub(super) current: Names,
    durable: Names,
    changes: Vec<Naming>,
}

pub(super) enum Kind {
    File(File),
    Directory(Directory),
}

fn apply(content: &mut Content, change: &Change) {
    match change {
        Change::Write { offset, bytes } => content.write(*offset, bytes),
        Change::Length(len) => content.set_len(*len),
    }
}

fn rename(names: &mut Names, change: &Naming) {
    if let Some(gone) = &change.gone {
        names.remove(gone);
    }
    if let Some((name, node)) = &change.come {
        names.insert(name.clone(), *node);
    }
}

impl File {
    pub(super) fn change(&mut self, change: Change) {
        apply(&mut self.current, &change);
        self.room = match change {
            Change::Length(len) => self.room.min(len),
            Change::Write { .. } => self.room.max(self.current.len()),
        };
        self.changes.push(change);
    }

    pub(super) fn flush(&mut self) {
        self.durable = self.current.clone();
        self.changes.clear();
    }

    /// The newest write alone becomes durable, as one on a descriptor that asks for that does.
    pub(super) fn flush_newest(&mut self) {
        // The length and what was written before it at the same place have to be there too; everything is the simplest
        // device that keeps that promise, but would hide a flush that is missing elsewhere.
        let Some(newest) = self.changes.pop() else { return };
        let mut early = Vec::new();
        if let Change::Write { offset, bytes } = &newest {
            let end = offset + bytes.len() as u64;
            let overlaps = |change: &Change| match change {
                Change::Write { offset: other, bytes } => *other < end && *offset < other + bytes.len() as u64,
                Change::Length(_) => true,
            };
            let (now, later): (Vec<_>, Vec<_>) = self.changes.drain(..).partition(overlaps);
            early = now;
            self.changes = later;
        }
        early.iter().chain([&newest]).for_each(|change| apply(&mut self.durable, change));
    }

    /// How many changes a cut may take away.
    pub(super) fn unflushed(&self) -> usize {
        self.changes.len()
    }

    fn cut(&mut self, chance: &mut Chance) {
        // Everything, nothing, or anything between: each is what some device does.
        let kept = [0, 100, chance.below(101)][chance.below(3) as usize];
        for change in std::mem::take(&mut self.changes) {
            if !chance.percent(kept) {
                continue;
            }
            match change {
                Change::Write { offset, bytes } if chance.percent(50) => {
                    for (nth, sector) in bytes.chunks(SECTOR).enumerate() {
                        if chance.percent(50) {
                            self.durable.write(offset + (nth * SECTOR) as u64, sector);
                        }
                    }
                }
                change => apply(&mut self.durable, &change),
            }
        }
        self.current = self.durable.clone();
        self.room = self.current.len();
    }
}

impl Directory {
    pub(super) fn change(&mut self, change: Naming) {
        rename(&mut self.current, &change);
        self.changes.push(change);
    }

    pub(super) fn flush(&mut self) {
        self.durable = self.current.clone();
        self.changes.clear();
    }

    fn cut(&mut self, chance: &mut Chance) {
        let kept = [0, 100, chance.below(101)][chance.below(3) as usize];
        for change in std::mem::take(&mut self.changes) {
            if chance.percent(kept) {
                rename(&mut self.durable, &change);
            }
        }
        self.current = self.durable.clone();
    }
}

impl Kind {
    pub(super) fn flush(&mut self) {
        match self {
            Kind::File(file) => file.flush(),
            Kind::Directory(directory) => directory.flush(),
        }
    }

    pub(super) fn cut(&mut self, chance: &mut Chance) {
        match self {
            Kind::File(file) => file.cut(chance),
            Kind::Directory(directory) => directory.cut(chance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: u64, byte: u8, len: usize) -> Change {
        Change::Write { offset, bytes: vec![byte; len] }
    }

    #[test]
    fn a_cut_takes_what_was_not_flushed_and_nothing_else() {
        let (mut lost, mut kept, mut torn) = (0, 0, 0);
        for seed in 0..200 {
            let mut file = File::default();
            file.change(write(0, 1, 2048));
            file.flush();
            file.change(write(0, 2, 2048));
            assert_eq!(file.current.read(0, 1), [2]);
            file.cut(&mut Chance::new(seed));
            let found = file.current.read(0, 4096);
            assert!(found.len() == 2048 && found.iter().all(|byte| [1, 2].contains(byte)));
            match found.iter().filter(|&&byte| byte == 2).count() {
                0 => lost += 1,
                2048 => kept += 1,
                bytes => {
                    assert_eq!(bytes % SECTOR, 0);
                    torn += 1;
                }
            }
        }
        assert!(lost > 20 && kept > 20 && torn > 20, "{lost} {kept} {torn}");
    }

    #[test]
    fn a_durable_write_does_not_flush_others() {
        let mut both = false;
        for seed in 0..50 {
            let mut file = File::default();
            file.change(write(8192, 1, 4096));
            file.change(write(0, 2, 4096));
            file.flush_newest();
            file.cut(&mut Chance::new(seed));
            assert_eq!(file.current.read(0, 1), [2]);
            both |= file.current.read(8192, 1) == [1];
        }
        assert!(both);
    }

    #[test]
    fn a_name_is_there_for_certain_after_the_directorys_flush() {
        let outcomes = |flushed: bool| {
            let mut names = 0;
            for seed in 0..100 {
                let mut directory = Directory::default();
                directory.change(Naming { gone: None, come: Some(("a".into(), 7)) });
                if flushed {
                    directory.flush();
                }
                directory.cut(&mut Chance::new(seed));
                names += directory.current.len();
            }
            names
        };
        assert_eq!(outcomes(true), 100);
        assert!((10..90).contains(&outcomes(false)));
    }
}
