//! The command line of this program, taken apart by hand: a handful of options does not pay for a parser.
//!
//! Options are taken out first, by name; what is left are words. [`Args::done`] refuses whatever nobody asked for, so a
//! misspelt option is an error and not a surprise.

use crate::Outcome;
use std::collections::VecDeque;
use std::str::FromStr;

/// Words and options that have not been asked for yet.
pub struct Args(VecDeque<String>);

impl Args {
    /// The words after the program's name.
    pub fn new(words: impl IntoIterator<Item = String>) -> Args {
        Args(words.into_iter().collect())
    }

    /// Whether an option without a value is there.
    pub fn flag(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|word| word != name);
        self.0.len() != before
    }

    /// The value of an option, written `--name VALUE` or `--name=VALUE`.
    pub fn value<T: FromStr>(&mut self, name: &str) -> Outcome<Option<T>> {
        let assigned = format!("{name}=");
        let Some(at) = self.0.iter().position(|word| word == name || word.starts_with(&assigned)) else {
            return Ok(None);
        };
        let word = self.0.remove(at).expect("position() found it");
        let text = match word.strip_prefix(&assigned) {
            Some(text) => text.to_string(),
            None => self.0.remove(at).ok_or(format!("{name} needs a value"))?,
        };
        text.parse().map(Some).map_err(|_| format!("{name}: {text:?} is not a value for it"))
    }

    /// A comma-separated list, or `otherwise` where the option is absent.
    pub fn list<T: FromStr>(&mut self, name: &str, otherwise: Vec<T>) -> Outcome<Vec<T>> {
        match self.value::<String>(name)? {
            None => Ok(otherwise),
            Some(text) => text
                .split(',')
                .map(|part| part.parse().map_err(|_| format!("{name}: {part:?} is not a value for it")))
                .collect(),
        }
    }

    /// The next word.
    pub fn word(&mut self) -> Option<String> {
        self.0.pop_front()
    }

    /// All words that are left; an option among them is one that nobody knows.
    pub fn words(mut self) -> Outcome<Vec<String>> {
        let words: Vec<String> = self.0.drain(..).collect();
        match words.iter().find(|word| word.starts_with('-')) {
            Some(option) => Err(format!("unknown option: {option}")),
            None => Ok(words),
        }
    }

    /// Everything that is left, options included, for a program that knows them.
    pub fn all(self) -> Vec<String> {
        self.0.into()
    }

    /// Nothing may be left.
    pub fn done(self) -> Outcome<()> {
        match self.0.front() {
            Some(word) => Err(format!("unexpected: {word}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(text: &str) -> Args {
        Args::new(text.split_whitespace().map(str::to_string))
    }

    #[test]
    fn options_are_taken_from_anywhere_and_the_rest_are_words() {
        let mut line = args("one --rounds 3 two --clients=1,8 --quick");
        assert!(line.flag("--quick"));
        assert_eq!(line.value::<u32>("--rounds"), Ok(Some(3)));
        assert_eq!(line.list("--clients", vec![0u32]), Ok(vec![1, 8]));
        assert_eq!(line.list("--layouts", vec![7u32]), Ok(vec![7]));
        assert_eq!(line.words(), Ok(vec!["one".to_string(), "two".to_string()]));
    }

    #[test]
    fn what_nobody_asked_for_is_refused() {
        assert_eq!(args("--rouns 3").words(), Err("unknown option: --rouns".into()));
        assert_eq!(args("left").done(), Err("unexpected: left".into()));
        assert!(args("--rounds").value::<u32>("--rounds").is_err());
        assert!(args("--rounds many").value::<u32>("--rounds").is_err());
    }
}
