//! Measures the ways in which a session's memory can be had (docs/decisions/0001).
//!
//! One operation is what a session does when it is asked to prepare a statement and forget one: a text of 100 bytes, a
//! vector of eight parameter types, an entry in a map of twenty names. Run in release mode, pinned to one CPU:
//! `taskset -c 0 cargo run --release -p kernel --example session_memory`.

use kernel::region::{self, Backing, arena::Arena, arena::ArenaMap, arena::ArenaVec};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::HashMap;
use std::time::Instant;

/// The variant that was not taken: a global allocator that follows a thread-local to the current session's arena.
struct Following;

thread_local! {
    static CURRENT: Cell<Option<&'static Arena>> = const { Cell::new(None) };
}

fn owned_by_region(at: *mut u8) -> bool {
    at as usize >= region::BASE && (at as usize) < region::BASE + (1 << 40)
}

// SAFETY: every block goes back to where it came from, which its address tells.
unsafe impl GlobalAlloc for Following {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        use allocator_api2::alloc::Allocator;
        if let Some(arena) = CURRENT.get() {
            return arena.allocator().allocate(layout).map_or(std::ptr::null_mut(), |at| at.as_ptr().cast());
        }
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        use allocator_api2::alloc::Allocator;
        if owned_by_region(at)
            && let Some(arena) = CURRENT.get()
        {
            // SAFETY: the address lies in the region, so an arena gave it; this program has one.
            unsafe { arena.allocator().deallocate(std::ptr::NonNull::new_unchecked(at), layout) };
            return;
        }
        // SAFETY: passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static GLOBAL: Following = Following;

const ROUNDS: usize = 200_000;

fn name(round: usize) -> u32 {
    (round % 20) as u32
}

fn plain() -> f64 {
    let mut map: HashMap<u32, (Vec<u8>, Vec<u32>)> = HashMap::new();
    let start = Instant::now();
    for round in 0..ROUNDS {
        let (mut text, mut types) = (Vec::with_capacity(100), Vec::with_capacity(8));
        text.resize(100, round as u8);
        types.resize(8, 23);
        map.insert(name(round), (text, types));
    }
    start.elapsed().as_nanos() as f64 / ROUNDS as f64
}

fn explicit(arena: &'static Arena) -> f64 {
    let alloc = arena.allocator();
    let mut map: ArenaMap<u32, (ArenaVec<u8>, ArenaVec<u32>)> = ArenaMap::with_hasher_in(Default::default(), alloc);
    let start = Instant::now();
    for round in 0..ROUNDS {
        let (mut text, mut types) = (ArenaVec::with_capacity_in(100, alloc), ArenaVec::with_capacity_in(8, alloc));
        text.resize(100, round as u8);
        types.resize(8, 23);
        map.insert(name(round), (text, types));
    }
    start.elapsed().as_nanos() as f64 / ROUNDS as f64
}

/// The other variant that was not taken: state is ordinary heap, and written out whenever the session parks.
fn serialised() -> f64 {
    let mut map: HashMap<u32, (Vec<u8>, Vec<u32>)> = HashMap::new();
    for round in 0..20 {
        map.insert(round, (vec![7; 100], vec![23; 8]));
    }
    let rounds = ROUNDS / 20;
    let mut image = Vec::new();
    let start = Instant::now();
    for round in 0..rounds {
        image.clear();
        for (name, (text, types)) in &map {
            image.extend_from_slice(&name.to_le_bytes());
            image.extend_from_slice(&(text.len() as u32).to_le_bytes());
            image.extend_from_slice(text);
            image.extend_from_slice(&(types.len() as u32).to_le_bytes());
            types.iter().for_each(|number| image.extend_from_slice(&number.to_le_bytes()));
        }
        map.clear();
        let mut rest = &image[..];
        let word = |rest: &mut &[u8]| {
            let (head, tail) = rest.split_first_chunk::<4>().expect("the image is whole");
            *rest = tail;
            u32::from_le_bytes(*head)
        };
        while !rest.is_empty() {
            let name = word(&mut rest);
            let length = word(&mut rest) as usize;
            let text = rest[..length].to_vec();
            rest = &rest[length..];
            let count = word(&mut rest);
            let types = (0..count).map(|_| word(&mut rest)).collect();
            map.insert(name, (text, types));
        }
        map.insert(name(round), (vec![7; 100], vec![23; 8]));
    }
    start.elapsed().as_nanos() as f64 / rounds as f64
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    region::create(Backing::Shared, 256 << 20).expect("a region");

    // SAFETY: an arena is valid when zeroed.
    let arena: &'static Arena = Box::leak(Box::new(unsafe { std::mem::zeroed() }));
    let probe = region::heap::alloc(region::heap::Owner::Test, 1);
    assert!(probe.is_ok());
    let mut rows = [const { Vec::new() }; 4];
    for _ in 0..15 {
        rows[0].push(plain());
        rows[1].push(explicit(arena));
        CURRENT.set(Some(arena));
        // The figure is kept in a variable of its own: pushed while the arena is current, the vector's memory would be
        // the session's, and freeing it later would crash this program. It did, the first time.
        let following = plain();
        CURRENT.set(None);
        rows[2].push(following);
        rows[3].push(serialised());
    }
    let names = [
        "ordinary heap (lost when the session moves)",
        "arena, named by the type",
        "arena, behind the global allocator",
        "ordinary heap, written out and read back at every request (20 statements)",
    ];
    for (name, figures) in names.iter().zip(rows) {
        println!("{:8.1} ns  {name}", median(figures));
    }
}
