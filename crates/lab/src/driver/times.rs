//! Distributions of times, as the driver collects them and as a record keeps them.
//!
//! Nanoseconds with three digits while a load runs. What is written down is in microseconds with two digits, because a file
//! with a thousand cells has to stay readable: a few hundred bytes each.

use crate::error;
use crate::record::Latency;
use base::Result;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};

/// Times longer than this are counted as this long.
const LONGEST_NS: u64 = 600_000_000_000;

/// A distribution of times.
#[derive(Clone, Debug)]
pub struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Times {
        Times::new()
    }
}

impl Times {
    /// Nothing yet.
    pub fn new() -> Times {
        Times(Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are constants that fit"))
    }

    /// Counts a time.
    pub fn add(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds);
    }

    /// Counts all times of another distribution.
    pub fn merge(&mut self, other: &Times) {
        self.0.add(&other.0).expect("both have the same bounds");
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The times as a record has them; zeros if there are none.
    pub fn latency(&self) -> Latency {
        if self.0.is_empty() {
            return Latency::default();
        }
        let us = |nanoseconds: u64| nanoseconds as f64 / 1000.0;
        let at = |quantile: f64| us(self.0.value_at_quantile(quantile));
        let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
        Latency {
            min: us(self.0.min()),
            mean: rounded(self.0.mean() / 1000.0),
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max: us(self.0.max()),
        }
    }

    /// The whole distribution in text: microseconds, HdrHistogram V2, base64.
    pub fn text(&self) -> Result<String> {
        let mut coarse = Histogram::<u64>::new_with_bounds(1, LONGEST_NS / 1000, 2).expect("as above");
        for step in self.0.iter_recorded() {
            coarse.saturating_record_n((step.value_iterated_to() / 1000).max(1), step.count_at_value());
        }
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&coarse, &mut bytes)
            .map_err(|error| error::system("a histogram", format!("{error:?}")))?;
        Ok(base64(&bytes))
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;

    #[test]
    fn times_come_back_from_their_text() {
        let mut times = Times::new();
        (1..=1000u64).for_each(|us| times.add(us * 1000));
        let latency = times.latency();
        assert!((latency.p50 - 500.0).abs() < 1.0 && (latency.p99 - 990.0).abs() < 1.0, "{latency:?}");
        assert_eq!((latency.min.round(), latency.max.round()), (1.0, 1000.0));
        use base64::Engine;
        let bytes = base64::engine::general_purpose::STANDARD.decode(times.text().unwrap()).unwrap();
        let back: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(back.len(), 1000);
        assert!((494..=506).contains(&back.value_at_quantile(0.5)), "{}", back.value_at_quantile(0.5));
        assert!(times.text().unwrap().len() < 4000);
    }

    #[test]
    fn no_time_at_all_and_one_that_is_too_long() {
        let mut times = Times::new();
        assert_eq!(times.latency(), Latency::default());
        times.add(u64::MAX);
        assert_eq!(times.count(), 1);
    }
}
