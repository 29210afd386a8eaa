//! What tests of the lab share.
#![allow(dead_code, reason = "each test uses a part")]

pub mod toy;

use std::path::PathBuf;

/// The program `gearbox`: `$GEARBOX_BINARY`, or the one in the build directory of these tests.
pub fn gearbox() -> PathBuf {
    if let Some(path) = std::env::var_os("GEARBOX_BINARY") {
        return path.into();
    }
    // target/debug/deps/null-… is this program.
    let program = std::env::current_exe().unwrap();
    let path = program.ancestors().nth(2).unwrap().join("gearbox");
    assert!(path.is_file(), "{} is missing: build it with `cargo build -p server`", path.display());
    path
}

/// Where servers keep their data: on a disk.
pub fn work() -> PathBuf {
    let temporary = std::env::temp_dir();
    if lab::measure::machine::is_in_memory(&temporary) { "/var/tmp".into() } else { temporary }
}
