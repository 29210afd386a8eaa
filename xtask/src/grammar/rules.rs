//! A grammar: rules with choices, read from a text, and sentences drawn from it.

use crate::Outcome;
use fastrand::Rng;
use std::collections::HashMap;

/// How deep rules may go into one another before they have to end.
const DEEP: u32 = 14;
/// How many words a sentence may have before its rules have to end.
const LONG: usize = 400;

/// Rules by name.
pub struct Grammar(HashMap<String, Vec<Vec<Part>>>);

/// A part of a choice.
struct Part {
    word: String,
    how: How,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    Once,
    Maybe,
    List,
}

impl Grammar {
    /// Reads a grammar, whose form its own first lines tell.
    pub fn read(text: &str) -> Outcome<Grammar> {
        let mut rules: HashMap<String, Vec<Vec<Part>>> = HashMap::new();
        let mut current = String::new();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let choices = match line.split_once(": ") {
                Some((name, choices)) if !line.starts_with(' ') => {
                    current = name.to_string();
                    if rules.insert(current.clone(), Vec::new()).is_some() {
                        return Err(format!("line {}: {current} is there twice", number + 1));
                    }
                    choices
                }
                _ => line,
            };
            let rule = rules.get_mut(&current).ok_or(format!("line {}: a choice of no rule", number + 1))?;
            rule.extend(choices.split(" | ").map(|choice| choice.split_whitespace().map(part).collect()));
        }
        Ok(Grammar(rules))
    }

    /// A sentence of a rule.
    pub fn draw(&self, rule: &str, rng: &mut Rng) -> String {
        let mut words = Vec::new();
        self.rule(rule, 0, rng, &mut words);
        words.join(" ")
    }

    fn rule(&self, name: &str, depth: u32, rng: &mut Rng, words: &mut Vec<String>) {
        let Some(choices) = self.0.get(name) else {
            words.push(name.to_string());
            return;
        };
        let ends = depth >= DEEP || words.len() >= LONG;
        let choice = &choices[if ends { 0 } else { rng.usize(..choices.len()) }];
        for part in choice {
            match part.how {
                How::Once => self.rule(&part.word, depth + 1, rng, words),
                How::Maybe if ends || rng.bool() => {}
                How::Maybe => self.rule(&part.word, depth + 1, rng, words),
                How::List => {
                    let count = if ends { 1 } else { rng.usize(1..=3) };
                    for number in 0..count {
                        if number > 0 {
                            words.push(",".into());
                        }
                        self.rule(&part.word, depth + 1, rng, words);
                    }
                }
            }
        }
    }
}

fn part(word: &str) -> Part {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    match (word.strip_suffix('?'), word.strip_suffix('+')) {
        (Some(name), _) if is_name(name) => Part { word: name.into(), how: How::Maybe },
        (_, Some(name)) if is_name(name) => Part { word: name.into(), how: How::List },
        _ => Part { word: word.into(), how: How::Once },
    }
}

/// A sentence with a word lost, doubled, or changed for another.
pub fn spoiled(sentence: &str, rng: &mut Rng) -> String {
    let mut words: Vec<&str> = sentence.split(' ').collect();
    let place = rng.usize(..words.len());
    match rng.u8(..4) {
        0 => drop(words.remove(place)),
        1 => words.insert(place, words[place]),
        2 => words.swap(place, 0),
        _ => words.truncate(place),
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_deep_takes_the_first_choice() {
        let grammar = Grammar::read("# a list\nlist: end | ( list+ )\n  list , list?\nend: x").unwrap();
        let mut rng = Rng::with_seed(3);
        let lengths: Vec<usize> = (0..100).map(|_| grammar.draw("list", &mut rng).split(' ').count()).collect();
        assert!(
            lengths.iter().all(|length| (1..20 * LONG).contains(length)) && lengths.iter().any(|length| *length > 20)
        );
        assert!(Grammar::read("  a | b").is_err() && Grammar::read("a: b\na: c").is_err());
    }

    #[test]
    fn the_grammar_of_statements_ends_each_rule() {
        let grammar = Grammar::read(super::super::STATEMENTS).unwrap();
        let mut rng = Rng::with_seed(1);
        for rule in grammar.0.keys() {
            for _ in 0..50 {
                assert!(grammar.draw(rule, &mut rng).split(' ').count() < 20 * LONG, "{rule}");
            }
        }
    }
}
