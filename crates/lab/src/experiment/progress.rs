//! How far a run is: a bar with the time left on a terminal, a line for each round elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::Instant;

/// The progress of a run.
pub struct Progress {
    bar: ProgressBar,
    plain: bool,
    began: Instant,
    total: u64,
    before: u64,
    done: u64,
}

impl Progress {
    /// A run of `total` cells, `before` of which were measured in an earlier sitting.
    pub fn new(total: u64, before: u64) -> Progress {
        let plain = !std::io::stderr().is_terminal();
        let target = if plain { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {elapsed} gone, {eta} left  {msg}");
        bar.set_style(style.expect("the template is a constant that is right"));
        bar.set_position(before);
        bar.reset_eta();
        Progress { bar, plain, began: Instant::now(), total, before, done: before }
    }

    /// A cell begins.
    pub fn begin(&self, what: &str) {
        self.bar.set_message(what.to_string());
        self.bar.enable_steady_tick(std::time::Duration::from_millis(500));
    }

    /// Something is being prepared.
    pub fn note(&self, what: &str) {
        if self.plain {
            tell(what);
        } else {
            self.bar.println(what);
        }
    }

    /// A cell is done; `line` says what came out.
    pub fn end(&mut self, line: &str) {
        self.done += 1;
        self.bar.inc(1);
        if self.plain {
            tell(&format!("{}/{} {line}; {} left", self.done, self.total, self.left()));
        } else {
            self.bar.println(line);
        }
    }

    fn left(&self) -> String {
        let measured = (self.done - self.before).max(1) as f64;
        let seconds = self.began.elapsed().as_secs_f64() / measured * (self.total - self.done) as f64;
        duration(seconds)
    }

    /// The run is over, or interrupted.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Writes a line to standard error. Nobody who reads it any more, as behind a terminal that was closed, is no reason to
/// lose a run.
pub fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A time for people.
pub fn duration(seconds: f64) -> String {
    match seconds.ceil() as u64 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_people_say_them() {
        assert_eq!(
            [duration(0.2), duration(119.0), duration(130.0), duration(7300.0)],
            ["1 s", "119 s", "3 min", "2 h 1 min"]
        );
    }
}
