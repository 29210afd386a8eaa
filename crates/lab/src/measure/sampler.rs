//! One sample a second while a cell is measured.
//!
//! ```text
//!   start ── 1 s ── 2 s ── … ── stop
//!     │       └ Second: machine, server CPU since the sample before, views now
//!     └ the figures that the first sample is compared with
//! ```
//!
//! Rules
//! 1. Samples are taken at whole seconds after the start, however long each takes: an absolute schedule. A second that passed
//!    while a sample was taken is left out, and the next sample covers both; [`Second::at`] says so.
//! 2. Stopping takes a last sample where at least half a second has no other.
//! 3. What the sampler itself uses is the lab's time, and small: a file for each process of the machine.
//!
//! Transactions are counted by the driver, which fills them in.

use super::machine::Processors;
use super::processes::Tree;
use crate::error;
use crate::record::Second;
use base::Result;
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The distance between two samples.
const PERIOD: Duration = Duration::from_secs(1);
/// A sample of many processes takes long: it may take this part of the time, or there are fewer.
const PART: u32 = 50;

/// A thread that takes samples until it is stopped.
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Second>>,
}

impl Sampler {
    /// Starts after a `notice`, from which on seconds are counted. `views` is asked once for each sample; it should not take long, and answers nothing if it fails.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(
        server: Tree,
        notice: Duration,
        views: impl FnMut() -> BTreeMap<String, f64> + Send + 'static,
    ) -> Result<Sampler> {
        Sampler::every(PERIOD, notice, server, views)
    }

    fn every(
        period: Duration,
        notice: Duration,
        server: Tree,
        mut views: impl FnMut() -> BTreeMap<String, f64> + Send + 'static,
    ) -> Result<Sampler> {
        let (stop, stopped) = channel();
        let read = Instant::now();
        let mut series = Series::begin(read, server);
        let took = read.elapsed();
        let began = Instant::now() + notice;
        series.began = began;
        let run = move || {
            let mut number = next(took * PART, period);
            loop {
                let due = began + period * number;
                let took = match stopped.recv_timeout(due.saturating_duration_since(Instant::now())) {
                    Err(RecvTimeoutError::Timeout) => series.add(views()),
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                };
                number = next(began.elapsed() + took * PART, period).max(number + 1);
            }
            if series.since_last() >= period / 2 {
                let _ = series.add(views());
            }
            series.seconds
        };
        let thread = std::thread::Builder::new().name("sampler".into()).spawn(run);
        Ok(Sampler { stop, thread: thread.map_err(|error| error::system("a thread", error))? })
    }

    /// Ends it and answers its samples.
    pub fn stop(self) -> Vec<Second> {
        let _ = self.stop.send(());
        match self.thread.join() {
            Ok(seconds) => seconds,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// The number of the first sample that is due after `elapsed`.
fn next(elapsed: Duration, period: Duration) -> u32 {
    (elapsed.as_nanos() / period.as_nanos()) as u32 + 1
}

/// The samples so far, and what the next one is compared with.
struct Series {
    began: Instant,
    server: Tree,
    driver: Tree,
    processors: Processors,
    server_ns: u64,
    driver_ns: u64,
    seconds: Vec<Second>,
}

impl Series {
    fn begin(began: Instant, server: Tree) -> Series {
        let driver = Tree::driver();
        let (server_ns, driver_ns) = (server.cpu_ns(), driver.cpu_ns());
        Series { began, server, driver, processors: Processors::now(), server_ns, driver_ns, seconds: Vec::new() }
    }

    fn since_last(&self) -> Duration {
        let last = self.seconds.last().map_or(0.0, |second| second.at);
        self.began.elapsed().saturating_sub(Duration::from_secs_f64(last))
    }

    /// Adds a sample; answers how long it took to read the processes.
    fn add(&mut self, views: BTreeMap<String, f64>) -> Duration {
        let at = self.began.elapsed().as_secs_f64();
        let read = Instant::now();
        let (server_ns, driver_ns, processors) = (self.server.cpu_ns(), self.driver.cpu_ns(), Processors::now());
        let took = read.elapsed();
        let server_cpu_us = server_ns.saturating_sub(self.server_ns) as f64 / 1e3;
        let driver_cpu_us = driver_ns.saturating_sub(self.driver_ns) as f64 / 1e3;
        let machine = processors.since(&self.processors, server_cpu_us + driver_cpu_us);
        self.seconds.push(Second { at, transactions: 0, machine, server_cpu_us, views });
        (self.server_ns, self.driver_ns, self.processors) = (server_ns, driver_ns, processors);
        took
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn the_schedule_is_absolute_and_leaves_out_what_passed() {
        for (elapsed, number) in [(0, 1), (999, 1), (1000, 2), (1001, 2), (3600, 4)] {
            assert_eq!(next(Duration::from_millis(elapsed), PERIOD), number, "{elapsed}");
        }
    }

    #[test]
    fn samples_come_when_they_are_due_and_a_slow_one_delays_no_other() {
        let period = Duration::from_millis(50);
        let (sampled, samples) = sync_channel(100);
        let mut count = 0;
        let views = move || {
            count += 1;
            if count == 2 {
                // Longer than a period: the third sample is not the one that was due at three periods.
                std::thread::sleep(period * 3 / 2);
            }
            sampled.send(()).unwrap();
            BTreeMap::from([("asked".to_string(), f64::from(count))])
        };
        let sampler = Sampler::every(period, Duration::ZERO, Tree::driver(), views).unwrap();
        let mut sum = 0u64;
        for _ in 0..4 {
            while samples.try_recv().is_err() {
                sum = std::hint::black_box(sum + 1);
            }
        }
        let seconds = sampler.stop();
        assert!(seconds.len() >= 4, "{seconds:?}");
        for (second, due) in seconds.iter().zip([0.05, 0.175, 0.2, 0.25]) {
            assert!(second.at >= due, "{seconds:?}");
        }
        assert_eq!(seconds[1].views["asked"], 2.0);
        let cpu: f64 = seconds.iter().map(|second| second.server_cpu_us).sum();
        assert!(cpu > 10_000.0, "this test was busy all the time: {seconds:?}");
    }

    #[test]
    fn a_stop_takes_what_is_left_if_it_is_enough() {
        let sampler =
            Sampler::every(Duration::from_millis(200), Duration::ZERO, Tree::driver(), BTreeMap::new).unwrap();
        std::thread::sleep(Duration::from_millis(110));
        let seconds = sampler.stop();
        assert!(!seconds.is_empty() && seconds[0].at > 0.1, "{seconds:?}");
    }
}
