//! Each bug of the kernel that can be planted is found by the simulator within a thousand seeds, and none is seen where there is
//! none.

#![forbid(unsafe_code)]

use testkit::loads::{Case, find_planted, kernel_bugs};
use testkit::sim::{Totals, explain};

#[test]
fn planted_bugs_are_found_and_nothing_else() {
    // One test, since a bug is planted for the whole process.
    let mut totals = Totals::default();
    for seed in 0..300 {
        let case = Case::of(seed);
        match case.run(seed, case.options(seed)) {
            Ok(report) => totals.add(&report),
            Err(failure) => panic!("{}", explain(seed, &case.how(), &failure)),
        }
    }
    println!("{}", totals.describe());
    assert!(totals.sum.kills > 100 && totals.sum.power_cuts > 100 && totals.sum.restarts > 30, "{totals:?}");
    for bug in kernel_bugs() {
        let found = find_planted(bug, 0..1000);
        let (seed, case, failure) = found.unwrap_or_else(|| panic!("{bug} is not found by 1000 seeds"));
        println!("{bug}: seed {seed}, {case}: {}", failure.what.lines().next().unwrap_or_default());
    }
}
