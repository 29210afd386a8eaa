//! A file's bytes: blocks of 4 KiB, those that hold zeros alone left out.

use std::collections::BTreeMap;
use std::sync::Arc;

const BLOCK: u64 = 4096;
type Block = [u8; BLOCK as usize];

/// Bytes, and how many. A copy shares its blocks with the original until either is written to.
#[derive(Clone, Default)]
pub(super) struct Content {
    blocks: BTreeMap<u64, Arc<Block>>,
    len: u64,
}

impl Content {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// What lies at `offset`, at most `size` bytes, fewer at the end.
    pub(super) fn read(&self, offset: u64, size: u64) -> Vec<u8> {
        let end = (offset + size).min(self.len);
        let mut bytes = Vec::with_capacity(end.saturating_sub(offset) as usize);
        let mut at = offset;
        while at < end {
            let (from, upto) = ((at % BLOCK) as usize, (end - at / BLOCK * BLOCK).min(BLOCK) as usize);
            match self.blocks.get(&(at / BLOCK)) {
                Some(block) => bytes.extend_from_slice(&block[from..upto]),
                None => bytes.resize(bytes.len() + upto - from, 0),
            }
            at += (upto - from) as u64;
        }
        bytes
    }

    /// Puts bytes at `offset`; the content grows if they reach beyond its end.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let from = (at % BLOCK) as usize;
            let (now, later) = rest.split_at(rest.len().min(BLOCK as usize - from));
            let number = at / BLOCK;
            if self.blocks.contains_key(&number) || now.iter().any(|&byte| byte != 0) {
                let block = self.blocks.entry(number).or_insert_with(|| Arc::new([0; BLOCK as usize]));
                Arc::make_mut(block)[from..from + now.len()].copy_from_slice(now);
            }
            at += now.len() as u64;
            rest = later;
        }
        self.len = self.len.max(at);
    }

    /// Cuts or lengthens it; what is new is zeros.
    pub(super) fn set_len(&mut self, len: u64) {
        if len < self.len {
            self.blocks.split_off(&len.div_ceil(BLOCK));
            if let Some(block) = self.blocks.get_mut(&(len / BLOCK)) {
                Arc::make_mut(block)[(len % BLOCK) as usize..].fill(0);
            }
        }
        self.len = len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut content = Content::default();
        content.write(4090, b"across a block");
        assert_eq!(content.len(), 4104);
        assert_eq!(content.read(4090, 100), b"across a block");
        assert_eq!(content.read(0, 3), [0; 3]);
        let copy = content.clone();
        content.set_len(4095);
        content.set_len(4100);
        assert_eq!(content.read(4090, 100), b"acros\0\0\0\0\0");
        assert_eq!(copy.read(4096, 8), b" a block", "the copy keeps what it had");
    }
}
