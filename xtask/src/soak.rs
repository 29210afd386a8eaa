//! A soak: `cargo xtask torture soak`, an hour of everything that clients do, after which nothing is larger than it was.
//!
//! ```text
//!   fill ─▶ load ────────────────────────────────────────────────────────▶ stop, held to a clean end
//!            │ a quarter: a look │ half: sizes │ three quarters: a look │ the end: sizes ─▶ compared with those at half
//! ```
//!
//! | clients of 64 | what they do |
//! |---:|---|
//! | 36 | pgbench's `tpcb-like`, prepared |
//! | 16 | remove a row and insert it again with another value, in one transaction, at a fixed rate: a key that stays, an index whose values spread |
//! | 8 | scans: a range of accounts, and all of the table above |
//! | 4 | a connection for each select |
//!
//! What may be larger at the end than at half time: [`e2e::sizes`](crate::e2e::sizes). Buffer pool and log are made small, so that what
//! they bound is full long before half time.

use crate::args::Args;
use crate::e2e::sizes::{self, Sizes};
use crate::model::{MODELS, Model, Settings};
use crate::server_under_test::{Launch, ServerUnderTest};
use crate::tree::Profile;
use crate::{Outcome, clients, pgbench, tree};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A pgbench of its own: clients, a script of this file or one that is built in, more words.
struct Part {
    name: &'static str,
    clients: u32,
    script: Option<&'static str>,
    words: &'static str,
}

const PARTS: [Part; 4] = [
    Part { name: "updates", clients: 36, script: None, words: "-b tpcb-like -M prepared" },
    Part { name: "rows", clients: 16, script: Some(ROWS), words: ROWS_WORDS },
    Part { name: "scans", clients: 8, script: Some(SCANS), words: "-M extended" },
    Part { name: "connects", clients: 4, script: None, words: "-b select-only -M simple -C" },
];

/// So many a second, on average. A row that is removed leaves a slot, which is used again when a round of the background vacuum has taken
/// its entries out of the indexes, `autovacuum_naptime` later at most. So the table is as large as those of ten seconds make it: 17 pages
/// with 300 a second, 27 with 600, 48 with 1,200, 82 with 2,400, in either model. Without a rate its size would say how busy the
/// machine was. What is late is left out: made up for, it would be another rate for some seconds.
const ROWS_WORDS: &str = "-M prepared -R 600 -L 500";
/// Each client has keys of its own: what is removed is there, what is inserted is not. They are few, so that the index over the values,
/// whose pages are given back only when they are empty, has come to its lasting fill of some 40 % long before half time (Johnson and
/// Shasha, "B-trees with inserts and deletes: why free-at-empty is better than merge-at-half", 1993).
const ROWS: &str = "\\set key :client_id * 1000 + random(1, 100)
\\set value random(1, 1000000000)
BEGIN;
DELETE FROM soak_rows WHERE key = :key;
INSERT INTO soak_rows VALUES (:key, :value, 'what a row has to say');
END;
";
const SCANS: &str = "\\set first random(1, 90000)
SELECT count(*), sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :first AND :first + 10000;
SELECT count(*), max(value) FROM soak_rows;
";
const TABLE: &str = "create table soak_rows (key int primary key, value int, note text); \
                     create index soak_rows_value on soak_rows (value)";

/// `cargo xtask torture soak [--minutes N] [--model LIST] [--binary PATH]`.
pub fn run(mut args: Args) -> Outcome<()> {
    let wanted = |model: &Model| ["thread/fiber", "process/shared"].contains(&model.to_string().as_str());
    let models: Vec<Model> = args.list("--model", MODELS.into_iter().filter(wanted).collect())?;
    let minutes: u64 = args.value("--minutes")?.unwrap_or(60);
    let asked = args.value("--binary")?;
    args.done()?;
    if minutes == 0 {
        return Err("--minutes 0: give a number from 1".into());
    }
    clients::ensure()?;
    let binary = tree::binary(asked, Profile::Release)?;
    for model in models {
        soak(&binary, Settings::of(model), Duration::from_secs(60 * minutes))
            .map_err(|text| format!("{model}: {text}\nrepeat: cargo xtask torture soak --model {model}"))?;
    }
    Ok(())
}

fn soak(binary: &Path, settings: Settings, time: Duration) -> Outcome<()> {
    let mut server = ServerUnderTest::start(&Launch { program: binary, subcommand: "serve", settings, cpus: None })?;
    let told = |error: postgres::Error| format!("{error:?}");
    sizes::make_small(&mut server)?;
    pgbench::fill(server.client("pgbench"), 1)?;
    let mut client = server.connect()?;
    client.batch_execute(TABLE).map_err(told)?;
    let mut loads = PARTS.iter().map(|part| begin(&server, part, time)).collect::<Outcome<Vec<Child>>>()?;
    let began = Instant::now();
    let mut looks: Vec<Sizes> = Vec::new();
    for quarter in 1..=4 {
        // The last look is while they all work.
        let moment =
            (time * quarter / 4).saturating_sub(if quarter == 4 { Duration::from_secs(3) } else { Duration::ZERO });
        while began.elapsed() < moment {
            std::thread::sleep(Duration::from_secs(1).min(moment.saturating_sub(began.elapsed())));
            if let Some(part) = ended(&mut loads)? {
                let after = began.elapsed().as_secs();
                let said = loads.swap_remove(part).wait_with_output().map_err(|error| format!("pgbench: {error}"))?;
                let said = String::from_utf8_lossy(&said.stderr).into_owned();
                return Err(format!("{} ended after {after} s\n{said}", PARTS[part].name));
            }
        }
        looks.push(sizes::largest(&server, &mut client)?);
    }
    for (load, part) in loads.into_iter().zip(&PARTS) {
        let output = load.wait_with_output().map_err(|error| format!("pgbench: {error}"))?;
        let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let clean = output.status.success() && text.contains("number of failed transactions: 0 ");
        let line = text.lines().find(|line| line.starts_with("number of transactions")).unwrap_or_default();
        println!("soak {settings}: {:<8} {line}", part.name);
        if !clean {
            return Err(format!("{} ended with {}\n{errors}{text}", part.name, output.status));
        }
    }
    println!(
        "soak {settings}: at half time and at the end\n{}",
        sizes::listed(&settings.to_string(), &looks[1], &looks[3])
    );
    let grown = sizes::grown(&looks[1], &looks[3]);
    if !grown.is_empty() {
        return Err(format!("in the second half of {} s: {}", time.as_secs(), grown.join("; ")));
    }
    drop(client);
    server.stop()
}

fn begin(server: &ServerUnderTest, part: &Part, time: Duration) -> Outcome<Child> {
    let mut command = server.client("pgbench");
    command.args(["-n", "-j", "1", "-c", &part.clients.to_string(), "-T", &time.as_secs().to_string()]);
    command.args(part.words.split(' '));
    if let Some(text) = part.script {
        let path = server.work_dir().join(part.name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        command.arg("-f").arg(path);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| format!("pgbench: {error}"))
}

/// One that is over before its time.
fn ended(loads: &mut [Child]) -> Outcome<Option<usize>> {
    for (at, load) in loads.iter_mut().enumerate() {
        if load.try_wait().map_err(|error| format!("pgbench: {error}"))?.is_some() {
            return Ok(Some(at));
        }
    }
    Ok(None)
}
