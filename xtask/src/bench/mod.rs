//! Measurements that are kept: `cargo xtask bench NAME`.
//!
//! ```text
//! server x layout x clients, rounds interleaved  ->  one JSON line a run in docs/results/NAME.jsonl
//! docs/results/*.jsonl                           ->  docs/benchmarks.md  ([`report`], also part of `xtask gen`)
//! ```
//!
//! Rules
//! 1. Records are only ever appended. The report is a pure function of them, and nobody edits it.
//! 2. Variants are compared within one run of this command, where they ran in turns, and never across runs.
//! 3. A figure is a median over rounds, shown with its smallest and largest value.
//! 4. The expected figure stands beside the measured one: what a model's bare mechanism needs ([`prototype`]), measured in the same
//!    run, and what it once needed elsewhere ([`published`]).

mod load;
mod postgres;
pub mod prototype;
mod published;
pub mod record;
pub mod report;

use crate::args::Args;
use crate::{Outcome, r#gen, tree};

type Bench = fn(Args) -> Outcome<()>;

const BENCHES: &[(&str, &str, Bench)] = &[
    ("limit", "canned answers of a point select in the six models: the server's ceiling", |args| {
        load::run(load::LIMIT, args)
    }),
    ("select", "a point select in the six models, PostgreSQL beside them", |args| load::run(load::SELECT, args)),
    ("tpcb", "transactions like TPC-B's in the six models, PostgreSQL beside them", |args| load::run(load::TPCB, args)),
];

/// `cargo xtask bench NAME [OPTION…]`.
pub fn run(mut args: Args) -> Outcome<()> {
    let name = args.word().unwrap_or_default();
    let Some((_, _, bench)) = BENCHES.iter().find(|(known, _, _)| *known == name) else {
        let lines: Vec<String> = BENCHES.iter().map(|(name, what, _)| format!("  {name:<10} {what}")).collect();
        return Err(format!("which one?\n{}", lines.join("\n")));
    };
    bench(args)?;
    r#gen::write(&tree::root(), &[("docs/benchmarks.md", report::markdown)])
}
