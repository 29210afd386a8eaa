//! Decoders are fed with mutations of what was recorded: a loop with a seeded generator.
//!
//! A *corpus* is a directory of small recorded files; a *case* is one of them, or two spliced, with a few mutations. The target
//! is called with each case and must not panic. The same seed makes the same cases, so a failure's seed and number repeat it.
//!
//! The test of a crate runs a fixed number of cases. `GEARBOX_FUZZ_SECONDS` makes it run that long instead, and
//! `GEARBOX_FUZZ_SEED` begins elsewhere: `cargo xtask fuzz` sets both.
//!
//! What it does not do: follow coverage. Its mutations know lengths, counts and words that decoders look at, and the corpus
//! gets them past what chance would not. `cargo xtask fuzz coverage` says how far that is.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Mutations of one case, at most.
const MUTATIONS_MAX: u64 = 8;
/// About what decoders set a limit to.
const PAGE: usize = 8192;
/// The longest case.
const CASE_MAX: usize = 32 << 10;

/// A generator of numbers: splitmix64.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// A position in something of that length; zero in nothing.
    pub fn at(&mut self, length: usize) -> usize {
        self.below(length.max(1) as u64) as usize
    }
}

/// Recorded files: names and bytes, in the order of their names.
pub struct Corpus {
    files: Vec<(String, Vec<u8>)>,
}

impl Corpus {
    /// Reads a directory's `.bin` files.
    ///
    /// # Panics
    ///
    /// When there are none: a test without its corpus tests nothing.
    pub fn read(directory: &Path) -> Corpus {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(directory).expect("the corpus is there") {
            let path = entry.expect("the corpus can be listed").path();
            if path.extension().is_some_and(|extension| extension == "bin") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                files.push((name, std::fs::read(&path).expect("the corpus can be read")));
            }
        }
        assert!(!files.is_empty(), "nothing is recorded in {}", directory.display());
        files.sort();
        Corpus { files }
    }

    /// The files whose names begin so.
    pub fn named(&self, prefix: &str) -> Corpus {
        let files: Vec<_> = self.files.iter().filter(|(name, _)| name.starts_with(prefix)).cloned().collect();
        assert!(!files.is_empty(), "nothing recorded begins with {prefix}");
        Corpus { files }
    }

    /// The bytes of each.
    pub fn files(&self) -> impl Iterator<Item = &[u8]> {
        self.files.iter().map(|(_, bytes)| bytes.as_slice())
    }

    /// One of them.
    pub fn pick(&self, random: &mut Random) -> &[u8] {
        &self.files[random.at(self.files.len())].1
    }

    /// A case.
    pub fn case(&self, random: &mut Random) -> Vec<u8> {
        let mut case = self.pick(random).to_vec();
        if random.below(8) == 0 {
            let other = self.pick(random);
            let (keep, from) = (random.at(case.len()), random.at(other.len()));
            case.truncate(keep);
            case.extend_from_slice(&other[from..]);
        }
        for _ in 0..=random.below(MUTATIONS_MAX) {
            mutate(&mut case, random);
        }
        case.truncate(CASE_MAX);
        case
    }
}

/// Numbers at whose edges decoders err.
const NUMBERS: [u64; 14] = [0, 1, 2, 3, 4, 7, 8, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff];

/// Changes one thing.
pub fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.at(bytes.len());
    // Mostly short, sometimes long enough to take something past a page.
    let most = if random.below(4) == 0 { 2048 } else { 16 };
    let run = (1 + random.at(most)).min(bytes.len() - at);
    match random.below(11) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        1 if !bytes.is_empty() => bytes[at] = random.number() as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..at + run)),
        4 => {
            let piece = bytes[at..at + run].to_vec();
            let to = random.at(bytes.len());
            bytes.splice(to..to, piece);
        }
        5 => {
            let noise: Vec<u8> = (0..1 + random.below(8)).map(|_| random.number() as u8).collect();
            bytes.splice(at..at, noise);
        }
        6 | 7 => lengthen(bytes, random),
        // Fields of one, two, four and eight bytes, in either order.
        width => {
            let width = [1, 2, 4, 8][((width + random.below(4)) % 4) as usize];
            if let Some(field) = bytes.get_mut(at..at + width) {
                let number = match random.below(3) {
                    0 => random.number(),
                    1 => NUMBERS[random.at(NUMBERS.len())],
                    // A little off what it was.
                    _ => field
                        .iter()
                        .rev()
                        .fold(0, |sum, &byte| sum << 8 | byte as u64)
                        .wrapping_add(random.below(9))
                        .wrapping_sub(4),
                };
                let raw = number.to_le_bytes();
                field.copy_from_slice(&raw[..width]);
                if random.below(2) == 0 {
                    field.reverse();
                }
            }
        }
    }
}

/// Takes some bytes for the length of what follows them, and makes both longer or shorter alike: a length that only its
/// contents contradict is refused at once.
fn lengthen(bytes: &mut Vec<u8>, random: &mut Random) {
    let near = if random.below(2) == 0 { 64 } else { CASE_MAX };
    let at = random.at(bytes.len().min(near));
    let (width, big_endian) = ([2, 4][random.at(2)], random.below(2) == 0);
    let Some(field) = bytes.get(at..at + width) else { return };
    let byte = |sum: usize, &byte: &u8| sum << 8 | byte as usize;
    let length = if big_endian { field.iter().fold(0, byte) } else { field.iter().rev().fold(0, byte) };
    let end = at + width + length;
    if end > bytes.len() {
        return;
    }
    let most = [4, 64, 1024, PAGE][random.at(4)];
    let change = 1 + random.at(most);
    let new = match random.below(4) {
        0 => {
            let change = change.min(length);
            bytes.drain(end - change..end);
            length - change
        }
        _ => {
            let noise: Vec<u8> = (0..change).map(|_| random.number() as u8).collect();
            bytes.splice(end..end, noise);
            length + change
        }
    };
    let mut raw = new.to_le_bytes();
    if big_endian {
        raw[..width].reverse();
    }
    bytes[at..at + width].copy_from_slice(&raw[..width]);
}

/// What a run found.
#[derive(Debug)]
pub struct Crash {
    /// The seed of the case: [`run`] with it begins with this case.
    pub seed: u64,
    /// What the panic said.
    pub said: String,
}

/// Calls `target` with a generator for each case: `cases` of them, or as long as the environment says. Answers how many cases
/// were tried, or the first that panics.
pub fn run(seed: u64, cases: u64, target: impl Fn(&mut Random)) -> Result<u64, Crash> {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let end = number("GEARBOX_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let seed = number("GEARBOX_FUZZ_SEED").unwrap_or(seed);
    let mut tried = 0;
    loop {
        let over = match end {
            Some(end) => tried % 256 == 0 && Instant::now() >= end,
            None => tried == cases,
        };
        if over {
            return Ok(tried);
        }
        let case = seed.wrapping_add(tried);
        let outcome =
            catch_unwind(AssertUnwindSafe(|| target(&mut Random::new(case.wrapping_mul(0x2545_F491_4F6C_DD1D)))));
        if let Err(panic) = outcome {
            let said = panic.downcast_ref::<&str>().map(|text| text.to_string());
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            return Err(Crash { seed: case, said });
        }
        tried += 1;
    }
}

/// The same, for a test: prints how many cases were tried, and says how to repeat one that panics.
///
/// # Panics
///
/// When a case does.
pub fn expect(what: &str, seed: u64, cases: u64, target: impl Fn(&mut Random)) {
    match run(seed, cases, target) {
        Ok(tried) => println!("{what}: {tried} cases"),
        Err(crash) => panic!("{what}: case {0} fails: {1}\nrepeat: GEARBOX_FUZZ_SEED={0}", crash.seed, crash.said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus() -> Corpus {
        Corpus { files: vec![("a".into(), (0..200).collect()), ("b".into(), b"\0\0\0\x08abcd".repeat(10))] }
    }

    #[test]
    fn a_seed_makes_the_same_case_and_seeds_differ() {
        let case = |seed| corpus().case(&mut Random::new(seed));
        let all: std::collections::HashSet<_> = (0..200).map(case).collect();
        assert!(all.len() > 190, "{}", all.len());
        assert_eq!(case(7), case(7));
    }

    #[test]
    fn no_bytes_at_all_can_be_mutated() {
        for seed in 0..2000 {
            let mut random = Random::new(seed);
            let mut bytes = Vec::new();
            for _ in 0..20 {
                mutate(&mut bytes, &mut random);
            }
        }
    }

    #[test]
    fn a_planted_bug_is_found_and_its_seed_repeats_it() {
        // A decoder that trusts a length.
        let target = |random: &mut Random| {
            let case = corpus().case(random);
            if case.starts_with(b"\0\0\0") && case.len() > 8 {
                let _ = &case[4..case[3] as usize];
            }
        };
        let crash = run(1, 100_000, target).expect_err("the bug is found");
        let again = run(crash.seed, 1, target).expect_err("it is found again");
        assert_eq!(crash.said, again.said);
    }
}
