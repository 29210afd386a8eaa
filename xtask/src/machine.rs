//! The machine that this runs on.

/// How many processors this process may use.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}
