//! The map of free space compared with a plain map, in the simulator, which has a region and sessions to run in.

use super::space::SpaceMap;
use base::Result;
use kernel::config::{EngineKind, Sessions};
use kernel::engine::sim::{self, Options};
use kernel::region;
use kernel::session::{End, Next, Service, Session};
use kernel::sync::Latch;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::*};

kernel::shared! {
    struct Place {
        root: AtomicU64,
        other: AtomicU64,
        latch: Latch,
    }
}

/// Runs a test in the background host of a server that does nothing else.
struct Probe {
    map: SpaceMap,
    place: &'static Place,
    seed: u64,
}

impl Service for Probe {
    fn serve(&self, _session: &mut Session) -> Next {
        Next::Close
    }

    fn close(&self, _session: &mut Session, _end: End) {}

    fn start(&self) -> Result<()> {
        random_steps(&self.map, self.place, self.seed);
        Ok(())
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn random_steps(map: &SpaceMap, place: &'static Place, seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut model: BTreeMap<u32, u8> = BTreeMap::new();
    let (root, latch) = (&place.root, &place.latch);
    // Another relation's map lies in between.
    map.set(&place.other, latch, 77, 9);
    for _ in 0..3000 {
        // Small maps, ones of two levels, and one that needs three.
        let span = [300, 10_000, 3_000_000, u32::MAX as u64 - 1][random.below(4) as usize];
        let block = random.below(span) as u32;
        match random.below(12) {
            0..6 => {
                let value = random.below(256) as u8;
                map.set(root, latch, block, value);
                model.insert(block, value);
            }
            6..9 => {
                let need = 1 + random.below(255) as u8;
                let after = model.range(block..).find(|entry| *entry.1 >= need);
                let expected = after.or_else(|| model.iter().find(|entry| *entry.1 >= need)).map(|entry| *entry.0);
                assert_eq!(map.find(root, need, block), expected, "{need} from {block}");
            }
            9 => {
                let known =
                    model.keys().nth(random.below(model.len().max(1) as u64) as usize).copied().unwrap_or(block);
                let had = model.insert(known, 0).is_some_and(|value| value > 0);
                assert_eq!(map.take(root, known), had, "block {known}");
                assert!(!map.take(root, known), "a block is taken once");
            }
            10 => {
                let known =
                    model.keys().nth(random.below(model.len().max(1) as u64) as usize).copied().unwrap_or(block);
                assert_eq!(map.get(root, known), model.get(&known).copied().unwrap_or(0));
            }
            _ if random.below(20) == 0 => {
                map.clear_from(root, block);
                model.split_off(&block);
            }
            _ if random.below(40) == 0 => {
                map.release(root);
                model.clear();
                assert_eq!(map.used(), 1, "what is left is the other relation's");
            }
            _ => {}
        }
    }
    assert_eq!(map.find(&place.other, 1, 0), Some(77));
    map.release(root);
    map.release(&place.other);
    assert_eq!((map.used(), root.load(Relaxed)), (0, 0));
}

#[test]
fn the_map_of_free_space_is_what_was_noted() {
    for seed in 1..=6 {
        let make = move || {
            let probe = Probe { map: SpaceMap::make(), place: region::single("a test's map"), seed };
            Ok(Box::new(probe) as Box<dyn Service>)
        };
        let options = Options::new(EngineKind::Thread, Sessions::Fiber);
        if let Err(failure) = sim::run(seed, options, make, |_| ()) {
            panic!("seed {seed}: {failure}");
        }
    }
}
