//! The directory of the data: made if it is missing, refused if it is somebody else's, locked while a server uses it.
//!
//! What is in it: `GEARBOX_VERSION` (the format's number), `gearbox.lock` (held locked by the supervisor, with its process
//! id for people), the files of settings, and what `storage` keeps.
//!
//! The directory and its version are durable before anything else is put there: a power cut would otherwise take a whole
//! database with the directory's name, or leave one that nobody knows for one.

use base::{Error, Result, sqlstate};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const VERSION_FILE: &str = "GEARBOX_VERSION";
/// The same while it is being written.
const VERSION_FRESH: &str = "GEARBOX_VERSION.new";
const LOCK_FILE: &str = "gearbox.lock";
/// What may be in a directory that is not a data directory yet: what people put there before the first start, too.
const BEFORE_VERSION: [&str; 6] =
    [LOCK_FILE, VERSION_FRESH, base::settings::AUTO_FILE, "pg_hba.conf", "server.crt", "server.key"];
/// How long a start waits for the rest of a server whose first process was killed: its other processes keep the lock until
/// they have noticed, and until what they were writing is written.
const AFTERMATH: Duration = Duration::from_secs(20);
/// The number of the format that this server reads and writes.
pub const FORMAT_VERSION: u32 = 1;

/// A directory that this server has to itself until the value is dropped.
pub struct DataDirectory {
    _lock: File,
}

fn refused(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::session(sqlstate::IO_ERROR, format!("cannot {what} \"{}\"", path.display())).detail(format!("{error}."))
}

/// Makes, checks and locks the directory.
///
/// Errors: `F0001` when another server uses it, `55000` when it holds something else or another version's data.
pub fn open(path: &Path) -> Result<DataDirectory> {
    make(path).map_err(|error| refused("make the data directory", path, &error))?;
    let version_file = path.join(VERSION_FILE);
    let version = fs::read_to_string(&version_file).ok();
    match version.as_deref().map(str::trim) {
        None => {
            let foreign = fs::read_dir(path)
                .map_err(|error| refused("read the data directory", path, &error))?
                .flatten()
                .find(|entry| !BEFORE_VERSION.iter().any(|name| entry.file_name() == *name));
            if let Some(entry) = foreign {
                return Err(Error::session(
                    sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!("\"{}\" is not a data directory of Gearbox", path.display()),
                )
                .detail(format!(
                    "It is not empty (\"{}\") and has no file {VERSION_FILE}.",
                    entry.file_name().to_string_lossy()
                ))
                .hint("Name an empty or missing directory with --data."));
            }
        }
        Some(text) if text.parse() == Ok(FORMAT_VERSION) => {}
        Some(text) => {
            return Err(Error::session(
                sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("the data directory \"{}\" is of another version", path.display()),
            )
            .detail(format!("Its format is \"{text}\"; this server reads format {FORMAT_VERSION}."))
            .hint("Start the server of the version that wrote it, or name another directory with --data."));
        }
    }
    let lock = lock(path)?;
    if version.is_none() {
        write_version(path).map_err(|error| refused("write", &version_file, &error))?;
    }
    Ok(DataDirectory { _lock: lock })
}

/// Makes the directory, and those above it that are missing, and makes their names durable.
fn make(path: &Path) -> std::io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let above = match path.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    make(above)?;
    match fs::create_dir(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    File::open(above)?.sync_all()
}

/// Writes the version: as a whole and durably, or not at all.
fn write_version(path: &Path) -> std::io::Result<()> {
    let fresh = path.join(VERSION_FRESH);
    let mut file = File::create(&fresh)?;
    writeln!(file, "{FORMAT_VERSION}")?;
    file.sync_all()?;
    fs::rename(&fresh, path.join(VERSION_FILE))?;
    File::open(path)?.sync_all()
}

fn lock(path: &Path) -> Result<File> {
    let lock_file = path.join(LOCK_FILE);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&lock_file)
        .map_err(|error| refused("open", &lock_file, &error))?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(refused("lock", &lock_file, &error)),
        }
        let mut holder = String::new();
        let _ = file.rewind().and_then(|()| file.read_to_string(&mut holder));
        // Nobody is named where a power cut took the text, or the holder is about to write it.
        let alive = !holder.trim().is_empty() && Path::new("/proc").join(holder.trim()).exists();
        if alive || began.elapsed() > AFTERMATH {
            return Err(Error::session(
                sqlstate::LOCK_FILE_EXISTS,
                format!("another server uses the data directory \"{}\"", path.display()),
            )
            .detail(format!("Its process is {}.", holder.trim()))
            .hint("Stop that server, or name another directory with --data."));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(|error| refused("write", &lock_file, &error))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_whose_holder_is_not_named_is_waited_for() {
        let path = std::env::temp_dir().join(format!("gearbox-directory-{}", std::process::id()));
        let held = open(&path).unwrap();
        fs::write(path.join(LOCK_FILE), "").unwrap();
        let waits = std::thread::spawn({
            let path = path.clone();
            move || open(&path).map(drop)
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waits.is_finished(), "refused at once");
        drop(held);
        waits.join().unwrap().unwrap();
        fs::remove_dir_all(&path).unwrap();
    }
}
