//! Runs every script under `tests/scripts` against the server, in each execution model and in the mode that moves every
//! session at every request. The answers must be the same everywhere: there is one expectation per script.
//!
//! A script is a text of blocks: commands, a line `---`, and what happened. `UPDATE=1 cargo test -p server --test scripts`
//! writes what happened into the scripts, to be reviewed as a diff; `SCRIPTS=sql/select` runs those whose path contains
//! the text, `MODELS=thread/fiber` in those models. `AGAINST=5432` runs them against the server on that port instead, to see
//! whether PostgreSQL says the same; scripts of the server's own things have a comment `# gearbox` in their first line and
//! are left out then.

mod support;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use support::script::Script;
use support::server::{MODELS, Model, Server};

/// How many servers run scripts at the same time.
const AT_ONCE: usize = 12;
/// Plans depend on what scripts have asked to be known of tables, whenever the background would come round.
const QUIET: &[&str] = &["--autovacuum-analyze-threshold=1000000000"];

fn scripts(below: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            scripts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "script") {
            found.push(path);
        }
    }
}

#[test]
fn scripts_give_the_same_answers_in_every_model() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scripts");
    let filter = std::env::var("SCRIPTS").unwrap_or_default();
    let models = std::env::var("MODELS").unwrap_or_default();
    let update = std::env::var("UPDATE").is_ok();
    let mut paths = Vec::new();
    scripts(&root, &mut paths);
    paths.retain(|path| path.to_string_lossy().contains(&filter));
    assert!(!paths.is_empty(), "no script matches SCRIPTS={filter}");
    if let Ok(port) = std::env::var("AGAINST") {
        against(&root, &paths, port.parse().expect("AGAINST is a port"), update);
        return;
    }
    let mut setups = Vec::new();
    for model in MODELS.iter().filter(|model| models.is_empty() || models.split(',').any(|one| one == model.name())) {
        setups.extend([(*model, false), (*model, true)]);
    }
    if update {
        // One run writes; the others, in later calls, compare.
        let (model, moving) = setups[0];
        run(&root, &paths, model, moving, true);
        println!("{} scripts written from {}", paths.len(), model.name());
        return;
    }
    // Scripts wait more than they work.
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(&(model, moving)) = setups.get(next.fetch_add(1, Relaxed)) {
                    let found = run(&root, &paths, model, moving, false);
                    failures.lock().unwrap().extend(found);
                }
            });
        }
    });
    let (failures, runs) = (failures.into_inner().unwrap(), setups.len() * paths.len());
    assert!(failures.is_empty(), "{} of {runs} script runs differ:\n\n{}", failures.len(), failures.join("\n"));
}

/// Runs the scripts in a model; answers what differs, or writes what happens into the scripts.
fn run(root: &Path, paths: &[PathBuf], model: Model, moving: bool, update: bool) -> Vec<String> {
    let mut failures = Vec::new();
    let mut server = Server::start_with(model, moving, QUIET);
    for path in paths {
        let script = Script::read(path);
        let happened = script.run(&mut server);
        if happened != script.text && update {
            std::fs::write(path, &happened).unwrap();
        } else if happened != script.text {
            let name = path.strip_prefix(root).unwrap().display();
            let moving = if moving { ", moving" } else { "" };
            failures.push(format!("{name} in {}{moving}:\n{}", model.name(), difference(&script.text, &happened)));
        }
    }
    server.stop();
    failures
}

/// Runs the scripts against a server that is there.
fn against(root: &Path, paths: &[PathBuf], port: u16, update: bool) {
    let mut differences = String::new();
    for path in paths {
        let script = Script::read(path);
        if script.text.starts_with("# gearbox") {
            continue;
        }
        let happened = script.run(&mut Server::beside(port));
        if happened != script.text && update {
            std::fs::write(path, &happened).unwrap();
        } else if happened != script.text {
            let name = path.strip_prefix(root).unwrap().display();
            differences.push_str(&format!("{name}:\n{}\n", difference(&script.text, &happened)));
        }
    }
    assert!(differences.is_empty(), "port {port} answers otherwise:\n\n{differences}");
}

/// The lines that differ, with what was expected and what happened.
fn difference(expected: &str, happened: &str) -> String {
    let (expected, happened): (Vec<_>, Vec<_>) = (expected.lines().collect(), happened.lines().collect());
    let same = expected.iter().zip(&happened).take_while(|(one, other)| one == other).count();
    let context = same.saturating_sub(4);
    let mut text = String::new();
    for line in &expected[context..same] {
        text.push_str(&format!("    {line}\n"));
    }
    for line in expected[same..].iter().take(8) {
        text.push_str(&format!("  - {line}\n"));
    }
    for line in happened[same..].iter().take(8) {
        text.push_str(&format!("  + {line}\n"));
    }
    text
}
