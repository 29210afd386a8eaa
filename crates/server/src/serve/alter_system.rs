//! `ALTER SYSTEM`: values in a file of the data directory, read at the next start.
//!
//! The file is read, changed and replaced as a whole, by one session at a time. As with PostgreSQL the running server keeps its
//! values; `pg_settings` shows them.

use base::settings::{AUTO_FILE, AutoFile, SettingId};
use base::{Error, Result, sqlstate};
use kernel::io::{self, FileName};
use kernel::region;
use kernel::sync::{Latch, Mode};
use kernel::wait::Event;

/// The file is never near this size, in bytes: every setting is in it once.
const FILE_BYTES_MAX: usize = 1 << 20;

/// Keeps sessions from writing the file at the same time.
pub struct SettingsFile {
    latch: &'static Latch,
}

impl SettingsFile {
    /// Takes the latch. Before the first engine.
    pub fn make() -> SettingsFile {
        SettingsFile { latch: region::single("settings file") }
    }

    /// Sets a value, takes one out, or all.
    pub fn change(&self, id: Option<SettingId>, value: Option<&str>) -> Result<()> {
        let _alone = self.latch.lock(Mode::Exclusive, Event::SettingsFile);
        let content = io::read_small(FileName::SETTINGS, FILE_BYTES_MAX)?.unwrap_or_default();
        let text = String::from_utf8(content).map_err(|_| {
            Error::statement(sqlstate::CONFIG_FILE_ERROR, format!("\"{AUTO_FILE}\" is not UTF-8"))
                .hint("Remove the file from the data directory, or restore it.")
        })?;
        let mut file = AutoFile::read(AUTO_FILE, &text)?;
        match (id, value) {
            (Some(id), Some(value)) => file.set(id, value),
            (Some(id), None) => file.reset(id),
            (None, _) => file.reset_all(),
        }
        io::write_small(FileName::SETTINGS, file.text().as_bytes())
    }
}
