//! What is wrong with a device: errors, transfers that are cut short, no space.

/// What a fault happens to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A read of a file.
    Read,
    /// A write to a file.
    Write,
    /// A flush of a file, or a write that is to be durable when it is complete.
    Flush,
    /// A flush of a directory.
    FlushDirectory,
    /// The making of a file.
    Create,
    /// A renaming; the name is the old one.
    Rename,
}

/// What happens then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The device reports an error (`EIO`), and has done nothing.
    Error,
    /// A part is transferred: half of what was asked for, in whole sectors.
    Short,
    /// The flush is acknowledged and not done: a device that lies. It is there to show that a test would notice.
    Lie,
}

/// Something wrong with some operations on files whose path, below the device's root, begins with `files`.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What it happens to.
    pub operation: Operation,
    /// How the paths begin.
    pub files: String,
    /// What happens.
    pub effect: Effect,
    /// How many more times.
    pub times: u64,
}

/// Everything that is wrong with a device now.
#[derive(Default)]
pub(super) struct Faults {
    faults: Vec<Fault>,
    /// How many bytes the files whose paths begin so may have together.
    pub(super) limits: Vec<(String, u64)>,
    met: u64,
}

impl Faults {
    pub(super) fn add(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    pub(super) fn clear(&mut self) {
        self.faults.clear();
    }

    /// How often a fault has come true.
    pub(super) fn met(&self) -> u64 {
        self.met
    }

    pub(super) fn note(&mut self) {
        self.met += 1;
    }

    /// What happens to this operation, if anything.
    pub(super) fn strike(&mut self, operation: Operation, path: &str) -> Option<Effect> {
        let fault = self
            .faults
            .iter_mut()
            .find(|fault| fault.operation == operation && fault.times > 0 && path.starts_with(fault.files.as_str()))?;
        fault.times -= 1;
        self.met += 1;
        Some(fault.effect)
    }
}
