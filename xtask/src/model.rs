//! The settings that a server is started with, as this program's tables want them.
//!
//! The six models, the wait primitives and the I/O methods are listed here once; `e2e` and `matrix` walk these
//! lists. The words are the command line's own words, so a label in a table can be pasted behind an option.

use crate::Outcome;
use std::fmt;
use std::str::FromStr;

/// One of the six execution models, as `engine/sessions`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Model {
    /// `process` or `thread`.
    pub engine: &'static str,
    /// `dedicated`, `shared` or `fiber`.
    pub sessions: &'static str,
}

const fn model(engine: &'static str, sessions: &'static str) -> Model {
    Model { engine, sessions }
}

/// All of them, in the order that tables show.
pub const MODELS: [Model; 6] = [
    model("process", "dedicated"),
    model("thread", "dedicated"),
    model("process", "shared"),
    model("thread", "shared"),
    model("process", "fiber"),
    model("thread", "fiber"),
];

/// The wait primitives.
pub const WAITS: [&str; 4] = ["futex", "posix", "sysv", "eventfd"];

/// The I/O methods.
pub const IO_METHODS: [&str; 3] = ["uring", "workers", "sync"];

impl Model {
    /// Whether several sessions share an engine, so that a number of engines means something.
    pub fn pooled(self) -> bool {
        self.sessions != "dedicated"
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.engine, self.sessions)
    }
}

impl FromStr for Model {
    type Err = String;

    fn from_str(text: &str) -> Outcome<Model> {
        let known = MODELS.map(|model| model.to_string());
        known.iter().position(|name| name == text).map(|at| MODELS[at]).ok_or(format!("one of {}", known.join(", ")))
    }
}

/// What a server is started with; `None` leaves the server's own default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The execution model.
    pub model: Model,
    /// How many engines; never passed to a dedicated model, which has as many as sessions.
    pub engines: Option<u32>,
    /// The wait primitive.
    pub wait: Option<&'static str>,
    /// The I/O method.
    pub io: Option<&'static str>,
}

impl Settings {
    /// A model with everything else at its default.
    pub fn of(model: Model) -> Settings {
        Settings { model, engines: None, wait: None, io: None }
    }

    /// The options of the command line.
    pub fn options(&self) -> Vec<String> {
        let mut options = vec!["--engine".to_string(), self.model.engine.into()];
        options.extend(["--sessions".to_string(), self.model.sessions.into()]);
        if let Some(engines) = self.engines.filter(|_| self.model.pooled()) {
            options.extend(["--engines".to_string(), engines.to_string()]);
        }
        if let Some(wait) = self.wait {
            options.extend(["--wait".to_string(), wait.into()]);
        }
        if let Some(io) = self.io {
            options.extend(["--io".to_string(), io.into()]);
        }
        options
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.model)?;
        for value in [self.wait, self.io].into_iter().flatten() {
            write!(f, " {value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_reads_back_as_its_model() {
        for model in MODELS {
            assert_eq!(model.to_string().parse(), Ok(model));
        }
        assert!("thread".parse::<Model>().is_err());
    }

    #[test]
    fn engines_are_passed_to_pooled_models_only() {
        let with = |model| Settings { engines: Some(2), wait: Some("sysv"), ..Settings::of(model) }.options().join(" ");
        assert_eq!(with(MODELS[0]), "--engine process --sessions dedicated --wait sysv");
        assert_eq!(with(MODELS[5]), "--engine thread --sessions fiber --engines 2 --wait sysv");
    }
}
