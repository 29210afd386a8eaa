//! When a client begins its next transaction.
//!
//! | pace | a client begins |
//! |---|---|
//! | closed | when it has its last answer |
//! | think | a random time after that, evenly drawn between two bounds |
//! | rate | when the next arrival of a Poisson process falls to it |
//!
//! Times are drawn at random because clients that all wait equally long march in step, and then what is measured is
//! their marching.

use crate::error;
use base::Result;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// When a client begins its next transaction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// At once.
    Closed,
    /// After a time between the two.
    Think {
        /// The shortest.
        least: Duration,
        /// The longest.
        most: Duration,
    },
    /// At so many transactions a second, of all clients together.
    Rate {
        /// Their mean number.
        per_second: f64,
    },
}

impl Pace {
    /// How long a client thinks, if it does.
    pub fn think(&self, random: &mut fastrand::Rng) -> Option<Duration> {
        match self {
            Pace::Think { least, most } => {
                let nanoseconds = random.u64(least.as_nanos() as u64..=most.as_nanos() as u64);
                Some(Duration::from_nanos(nanoseconds))
            }
            _ => None,
        }
    }
}

/// The arrivals that one driver thread has to serve.
#[derive(Debug)]
pub struct Arrivals {
    mean_ns: f64,
    next_ns: u64,
    random: fastrand::Rng,
}

impl Arrivals {
    /// Arrivals from `begin_ns` on; `per_second` is this thread's part of the rate.
    pub fn new(per_second: f64, begin_ns: u64, seed: u64) -> Arrivals {
        let mut arrivals =
            Arrivals { mean_ns: 1e9 / per_second, next_ns: begin_ns, random: fastrand::Rng::with_seed(seed) };
        arrivals.advance();
        arrivals
    }

    fn advance(&mut self) {
        // The distance between two events of a Poisson process is exponentially distributed; 1 - f64() is never 0.
        self.next_ns += (-(1.0 - self.random.f64()).ln() * self.mean_ns) as u64;
    }

    /// The time of the next arrival.
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The next arrival, if its time has come.
    pub fn take(&mut self, now_ns: u64) -> Option<u64> {
        let arrival = self.next_ns;
        (arrival <= now_ns).then(|| {
            self.advance();
            arrival
        })
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: &Duration| time.as_secs_f64() * 1000.0;
        match self {
            Pace::Closed => f.write_str("closed"),
            Pace::Think { least, most } => write!(f, "think {}-{} ms", ms(least), ms(most)),
            Pace::Rate { per_second } => write!(f, "rate {per_second}/s"),
        }
    }
}

/// A day, in seconds.
const DAY_S: f64 = 86_400.0;

impl FromStr for Pace {
    type Err = base::Error;

    /// As [`Pace`] is displayed; a client thinks for a day at most, and a rate is one transaction a day at least.
    fn from_str(text: &str) -> Result<Pace> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        let parsed = if text == "closed" {
            Some(Pace::Closed)
        } else if let Some(rest) = text.strip_prefix("think ") {
            let bounds = rest.strip_suffix("ms").and_then(|bounds| bounds.split_once('-'));
            bounds.and_then(|(least, most)| {
                let (least, most) = (number(least)?, number(most)?);
                let time = |ms: f64| Duration::from_secs_f64(ms / 1000.0);
                (least <= most && most <= DAY_S * 1000.0).then(|| Pace::Think { least: time(least), most: time(most) })
            })
        } else {
            let rate = text.strip_prefix("rate ").and_then(|rest| rest.strip_suffix("/s")).and_then(number);
            rate.filter(|rate| *rate >= 1.0 / DAY_S).map(|per_second| Pace::Rate { per_second })
        };
        parsed.ok_or_else(|| {
            error::usage(format!("unknown pace \"{text}\""))
                .hint("Write \"closed\", \"think 10-30 ms\" or \"rate 5000/s\".")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_read_as_it_is_written() {
        for text in ["closed", "think 10-30 ms", "think 0-0.5 ms", "rate 5000/s"] {
            assert_eq!(text.parse::<Pace>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "think 30-10 ms",
            "think 10",
            "rate 0/s",
            "rate x/s",
            "rate NaN/s",
            "think -1-3 ms",
            "think 0-1e30 ms",
            "rate 1e-300/s",
        ] {
            assert!(text.parse::<Pace>().is_err(), "{text}");
        }
    }

    #[test]
    fn think_times_fill_their_range() {
        let pace: Pace = "think 10-30 ms".parse().unwrap();
        let mut random = fastrand::Rng::with_seed(1);
        let times: Vec<f64> = (0..10_000).map(|_| pace.think(&mut random).unwrap().as_secs_f64() * 1000.0).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!(times.iter().all(|time| (10.0..=30.0).contains(time)));
        assert!((19.5..20.5).contains(&mean), "{mean}");
    }

    #[test]
    fn arrivals_come_at_their_rate_and_their_distances_are_exponential() {
        let mut arrivals = Arrivals::new(1000.0, 5_000_000_000, 7);
        let times: Vec<u64> = (0..100_000).map(|_| arrivals.take(u64::MAX).unwrap()).collect();
        let seconds = (times[times.len() - 1] - 5_000_000_000) as f64 / 1e9;
        assert!((99.0..101.0).contains(&seconds), "{seconds}");
        let short = times.windows(2).filter(|pair| pair[1] - pair[0] < 693_147).count();
        assert!((49_000..51_000).contains(&short), "half of the distances are below ln 2 means: {short}");
        let next = arrivals.next_ns();
        assert_eq!(arrivals.take(next - 1), None);
    }
}
