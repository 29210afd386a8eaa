//! A statement that is being made: text in which some parts may be left out, and others have simpler ones that may stand in their place.
//!
//! Whoever finds a statement that two servers answer differently wants the smallest one. [`Text::simpler`] gives all that are one step
//! smaller; whether a step makes sense as SQL is not known here, and need not be: a statement that both servers refuse is no difference.

use std::fmt;

/// Text with its choices.
#[derive(Clone, Debug)]
pub enum Text {
    /// As it stands.
    Word(String),
    /// One after the other, without anything between.
    List(Vec<Text>),
    /// May be left out.
    Optional(Box<Text>),
    /// Something, and what may stand there instead.
    Instead(Box<Text>, Vec<Text>),
}

impl Text {
    /// Nothing.
    pub fn none() -> Text {
        Text::List(Vec::new())
    }

    /// A part that may be left out.
    pub fn optional(part: impl Into<Text>) -> Text {
        Text::Optional(Box::new(part.into()))
    }

    /// A part with simpler ones.
    pub fn or(self, simpler: impl IntoIterator<Item = Text>) -> Text {
        Text::Instead(Box::new(self), simpler.into_iter().collect())
    }

    /// Parts with a word between two of them; each but the first may be left out.
    pub fn joined(parts: Vec<Text>, between: &str) -> Text {
        let mut list = Vec::new();
        for (number, part) in parts.into_iter().enumerate() {
            match number {
                0 => list.push(part),
                _ => list.push(Text::optional(Text::List(vec![between.into(), part]))),
            }
        }
        Text::List(list)
    }

    /// All texts that are one step simpler, largest steps first.
    pub fn simpler(&self) -> Vec<Text> {
        let mut found = Vec::new();
        self.steps(&mut |text| found.push(text));
        found
    }

    fn steps(&self, give: &mut dyn FnMut(Text)) {
        match self {
            Text::Word(_) => {}
            Text::Optional(part) => {
                give(Text::none());
                part.steps(&mut |part| give(Text::Optional(Box::new(part))));
            }
            Text::Instead(part, simpler) => {
                simpler.iter().for_each(|one| give(one.clone()));
                part.steps(&mut |part| give(Text::Instead(Box::new(part), simpler.clone())));
            }
            Text::List(parts) => {
                for (place, part) in parts.iter().enumerate() {
                    part.steps(&mut |part| {
                        let mut parts = parts.clone();
                        parts[place] = part;
                        give(Text::List(parts));
                    });
                }
            }
        }
    }
}

impl From<&str> for Text {
    fn from(word: &str) -> Text {
        Text::Word(word.to_string())
    }
}

impl From<String> for Text {
    fn from(word: String) -> Text {
        Text::Word(word)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Text::Word(word) => out.write_str(word),
            Text::List(parts) => parts.iter().try_for_each(|part| part.fmt(out)),
            Text::Optional(part) | Text::Instead(part, _) => part.fmt(out),
        }
    }
}

/// Puts texts together: words and parts in their order.
macro_rules! text {
    ($($part:expr),+ $(,)?) => { $crate::differential::text::Text::List(vec![$($crate::differential::text::Text::from($part)),+]) };
}
pub(super) use text;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_leaves_out_or_replaces_one_part() {
        let made = text!["SELECT ", Text::from("a + b").or(["a".into(), "b".into()]), Text::optional(" WHERE c")];
        assert_eq!(made.to_string(), "SELECT a + b WHERE c");
        let steps: Vec<String> = made.simpler().iter().map(Text::to_string).collect();
        assert_eq!(steps, ["SELECT a WHERE c", "SELECT b WHERE c", "SELECT a + b"]);
    }

    #[test]
    fn the_first_of_a_list_stays() {
        let list = Text::joined(vec!["a".into(), "b".into(), "c".into()], ", ");
        assert_eq!(list.to_string(), "a, b, c");
        let steps: Vec<String> = list.simpler().iter().map(Text::to_string).collect();
        assert_eq!(steps, ["a, c", "a, b"]);
    }
}
