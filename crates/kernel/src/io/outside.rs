//! Files that are not the database's: of certificates, of rules; read as a whole, now and then.

use super::{blocking, sim};
use crate::wait::Event;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file's content.
pub struct Found {
    /// What is in it.
    pub bytes: Vec<u8>,
    /// May others than its owner read it? Of a file of the superuser's the owner's group may, too.
    pub is_open_to_others: bool,
}

/// Reads the file, at most so many bytes of it; none if it is not there. There are no such files in the simulator.
pub fn read(path: &Path, bytes_max: usize) -> io::Result<Option<Found>> {
    if sim::disk().is_some() {
        return Ok(None);
    }
    let path = path.to_path_buf();
    blocking::run(Event::FileOperation, move || {
        let file = match std::fs::File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let about = file.metadata()?;
        let private = if about.uid() == 0 { 0o027 } else { 0o077 };
        let mut bytes = Vec::new();
        file.take(bytes_max as u64).read_to_end(&mut bytes)?;
        Ok(Some(Found { bytes, is_open_to_others: about.mode() & private != 0 }))
    })
}
