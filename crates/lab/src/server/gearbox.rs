//! Gearbox itself, in one of its six models: `gearbox serve`, its ceiling `gearbox limit`, or the bare mechanism.
//!
//! By default it is the program that the lab is a part of, so a commit measures itself. It makes its data directory when it
//! first starts. Flushes at commit and repair of torn pages cannot be turned off.

use super::running::data_of;
use super::{Equal, Home, Installed, Launch, ask, pairs};
use crate::address::Wire;
use crate::bare;
use crate::error;
use base::Result;
use rustix::process::Signal;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Gearbox {
    program: PathBuf,
    version: String,
    command: &'static str,
    engine: String,
    sessions: String,
}

/// Looks whether the program is there and the model exists.
pub(super) fn find(equal: &Equal, command: &'static str, engine: &str, sessions: &str) -> Result<Gearbox> {
    if !["process", "thread"].contains(&engine) || !["dedicated", "shared", "fiber"].contains(&sessions) {
        return Err(error::usage(format!("there is no model \"{engine}/{sessions}\""))
            .hint("An engine is process or thread; sessions are dedicated, shared or fiber."));
    }
    let program = match &equal.gearbox {
        Some(path) => path.clone(),
        None => std::env::current_exe().map_err(|error| error::system("this program's own file", error))?,
    };
    let help =
        ask(&program, "--help", &[]).map_err(|error| error.hint("Build it: cargo build --release -p server."))?;
    // Gearbox 0.1.0: a relational …
    let version = help.strip_prefix("Gearbox ").and_then(|rest| rest.split([':', ' ']).next()).unwrap_or_default();
    if version.is_empty() {
        return Err(error::file(&program, "is not gearbox"));
    }
    Ok(Gearbox { version: version.into(), program, command, engine: engine.into(), sessions: sessions.into() })
}

impl Installed for Gearbox {
    fn product(&self) -> &'static str {
        match self.command {
            "limit" => "gearbox limit",
            "bare" => "bare mechanism",
            _ => "gearbox serve",
        }
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn settings(&self, equal: &Equal) -> Vec<(String, String)> {
        pairs([
            ("engine", &self.engine),
            ("sessions", &self.sessions),
            ("shared_buffers", &format!("{}MB", equal.buffers_mib)),
            ("max_connections", &equal.connections.to_string()),
        ])
    }

    fn make(&self, _home: &Home, _place: &Path) -> Result<()> {
        Ok(())
    }

    fn launch(&self, home: &Home, place: &Path, port: u16, settings: &[(String, String)]) -> Result<Launch> {
        let program = home.reachable(&self.program, &self.program)?;
        let mut words = vec![program.display().to_string()];
        if self.command == bare::COMMAND {
            words.push("lab".into());
        }
        words.push(self.command.to_string());
        words.extend(["--data".into(), data_of(place), "--listen".into(), format!("127.0.0.1:{port}")]);
        for (name, value) in settings {
            words.extend([format!("--{}", name.replace('_', "-")), value.clone()]);
        }
        Ok(Launch { words, environment: Vec::new(), stop: Signal::TERM, abort: Signal::TERM })
    }

    fn account(&self) -> (Wire, &'static str, &'static str) {
        (Wire::Postgres, "postgres", "postgres")
    }
}
