//! The files that say who gets in and by which keys: read at the start, and again when somebody asks for it.
//!
//! What is in force is the same in every process, so a reload puts the files' *content* into the region, all of it or nothing, and
//! whoever needs it reads it there. Until the first reload it is what the server was started with, which every process has parsed
//! already.

use base::settings::{Effective, SettingId};
use base::{Error, Result, sqlstate};
use kernel::io::outside;
use kernel::region;
use kernel::sync::{Latch, Mode};
use kernel::wait::Event;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// The largest file, in bytes.
const FILE_BYTES_MAX: usize = 128 << 10;
const ABSENT: u32 = u32::MAX;

/// The files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum File {
    /// `pg_hba.conf`.
    Rules,
    /// The server's certificate.
    Certificate,
    /// Its key.
    Key,
    /// Who signs clients' certificates.
    Authorities,
    /// Which of those were taken back.
    Revoked,
}

const FILES: [(File, SettingId); 5] = [
    (File::Rules, SettingId::HbaFile),
    (File::Certificate, SettingId::SslCertFile),
    (File::Key, SettingId::SslKeyFile),
    (File::Authorities, SettingId::SslCaFile),
    (File::Revoked, SettingId::SslCrlFile),
];

kernel::shared! {
    struct Store {
        latch: Latch,
        /// How many reloads there were.
        generation: AtomicU64,
        lengths: [AtomicU32; 5],
        words: [[AtomicU64; FILE_BYTES_MAX / 8]; 5],
    }
}

/// What the files say, of one moment.
#[derive(Clone, Default)]
pub struct Contents {
    files: [Option<Vec<u8>>; 5],
}

/// Where they are.
pub struct Files {
    paths: [Option<PathBuf>; 5],
    store: &'static Store,
}

impl Contents {
    /// What a file says; none if it is not there or not asked for.
    pub fn of(&self, file: File) -> Option<&[u8]> {
        self.files[file as usize].as_deref()
    }
}

/// The name of a file as the settings have it; relative ones lie in the data directory.
fn path(settings: &Effective, file: File) -> Option<PathBuf> {
    let setting = FILES[file as usize].1;
    let text = settings.text(setting);
    let wanted = !text.is_empty() && (file == File::Rules || settings.bool(SettingId::Ssl));
    wanted.then(|| Path::new(settings.text(SettingId::DataDirectory)).join(text))
}

impl Files {
    /// Takes the room for them. Before the first engine.
    pub fn make(settings: &Effective) -> Files {
        Files { paths: FILES.map(|(file, _)| path(settings, file)), store: region::single("access files") }
    }

    /// The name of a file, for messages.
    pub fn name(&self, file: File) -> String {
        self.paths[file as usize].as_ref().map(|path| path.display().to_string()).unwrap_or_default()
    }

    /// Reads them. Errors: `F0000` if one cannot be read, or is not as private as a key must be.
    pub fn read(&self) -> Result<Contents> {
        let mut contents = Contents::default();
        for (file, _) in FILES {
            let Some(path) = &self.paths[file as usize] else { continue };
            let name = path.display();
            let found = outside::read(path, FILE_BYTES_MAX).map_err(|error| {
                let what = if file == File::Key { "private key file" } else { "file" };
                Error::session(sqlstate::CONFIG_FILE_ERROR, format!("could not load {what} \"{name}\""))
                    .detail(format!("{error}."))
            })?;
            let Some(found) = found else {
                // Without rules the server's own are in force; all else was asked for.
                if file == File::Rules {
                    continue;
                }
                return Err(Error::session(sqlstate::CONFIG_FILE_ERROR, format!("could not access file \"{name}\""))
                    .detail("There is no such file."));
            };
            if file == File::Key && found.is_open_to_others {
                let message = format!("private key file \"{name}\" has group or world access");
                return Err(Error::session(sqlstate::CONFIG_FILE_ERROR, message)
                    .detail("File must have permissions u=rw (0600) or less if owned by the user of the server."));
            }
            if found.bytes.len() >= FILE_BYTES_MAX {
                let message = format!("the file \"{name}\" is too large");
                return Err(Error::session(sqlstate::CONFIG_FILE_ERROR, message)
                    .detail(format!("It may have {} bytes.", FILE_BYTES_MAX - 1)));
            }
            contents.files[file as usize] = Some(found.bytes);
        }
        Ok(contents)
    }

    /// Puts what was read, and found to be right, in force for all processes.
    pub fn publish(&self, contents: &Contents) {
        let store = self.store;
        let _alone = store.latch.lock(Mode::Exclusive, Event::LoginLatch);
        for (at, content) in contents.files.iter().enumerate() {
            let Some(bytes) = content else {
                store.lengths[at].store(ABSENT, Relaxed);
                continue;
            };
            for (word, chunk) in store.words[at].iter().zip(bytes.chunks(8)) {
                let mut whole = [0; 8];
                whole[..chunk.len()].copy_from_slice(chunk);
                word.store(u64::from_le_bytes(whole), Relaxed);
            }
            store.lengths[at].store(bytes.len() as u32, Relaxed);
        }
        store.generation.fetch_add(1, Release);
    }

    /// What was published last, of the files that are wanted; none if nothing was since the start.
    pub fn published(&self, wanted: impl Fn(File) -> bool) -> Option<Contents> {
        let store = self.store;
        // Pairs with the Release in `publish`; the latch orders what follows.
        if store.generation.load(Acquire) == 0 {
            return None;
        }
        let _shared = store.latch.lock(Mode::Shared, Event::LoginLatch);
        let mut contents = Contents::default();
        for (at, content) in contents.files.iter_mut().enumerate() {
            let length = store.lengths[at].load(Relaxed);
            if length != ABSENT && wanted(FILES[at].0) {
                let length = (length as usize).min(FILE_BYTES_MAX);
                let words = store.words[at].iter().take(length.div_ceil(8));
                let mut bytes: Vec<u8> = words.flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
                bytes.truncate(length);
                *content = Some(bytes);
            }
        }
        Some(contents)
    }
}
