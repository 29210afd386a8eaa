//! A server that is asked: its answers as text that can be compared.

use crate::Outcome;
use crate::server_under_test::connect;
use postgres::{Client, SimpleQueryMessage};

/// What a statement came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Rows, in their order, and how many were changed.
    Rows(Vec<String>, u64),
    /// A SQLSTATE, and the text.
    Error(String, String),
    /// There is no connection any more.
    Gone(String),
}

/// A connection to a server.
pub struct Side {
    port: u16,
    client: Client,
}

impl Side {
    /// Connects.
    pub fn new(port: u16) -> Outcome<Side> {
        Ok(Side { port, client: prepared(port)? })
    }

    /// Asks.
    pub fn ask(&mut self, sql: &str) -> Answer {
        match self.client.simple_query(sql) {
            Ok(messages) => {
                let (mut rows, mut changed) = (Vec::new(), 0);
                for message in messages {
                    match message {
                        SimpleQueryMessage::Row(row) => {
                            let fields = (0..row.len()).map(|at| row.get(at).unwrap_or("∅"));
                            rows.push(fields.collect::<Vec<_>>().join("|"));
                        }
                        SimpleQueryMessage::CommandComplete(count) => changed = count,
                        _ => {}
                    }
                }
                Answer::Rows(rows, changed)
            }
            Err(error) => match error.as_db_error() {
                Some(refusal) => Answer::Error(refusal.code().code().into(), refusal.message().into()),
                None => {
                    if let Ok(client) = prepared(self.port) {
                        self.client = client;
                    }
                    Answer::Gone(error.to_string())
                }
            },
        }
    }
}

fn prepared(port: u16) -> Outcome<Client> {
    let mut client = connect(port)?;
    let settings = "SET search_path TO d; SET statement_timeout = '5s'; SET client_min_messages = error";
    client.batch_execute(settings).map_err(|error| format!("port {port}: {error:?}"))?;
    Ok(client)
}

/// Whether a statement puts equal values together: which of the two zeros of `3.0` and `3.00` is shown then is anybody's choice.
pub fn merges(sql: &str) -> bool {
    ["DISTINCT", "GROUP BY", "UNION", "INTERSECT", "EXCEPT", "min(", "max("].iter().any(|word| sql.contains(word))
}

/// An answer without the zeros at the end of its decimal fractions.
pub fn without_zeros(answer: &Answer) -> Answer {
    let field = |field: &str| match field.contains('.') && field.ends_with('0') {
        true => field.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => field.to_string(),
    };
    match answer {
        Answer::Rows(rows, changed) => {
            let row = |row: &String| row.split('|').map(field).collect::<Vec<_>>().join("|");
            Answer::Rows(rows.iter().map(row).collect(), *changed)
        }
        other => other.clone(),
    }
}

/// The SQLSTATE of a statement that took too long.
const LATE: &str = "57014";

/// Whether two answers are the same: rows as a set unless their order counts, errors by their class. What takes one of both too long says nothing.
pub fn agree(one: &Answer, other: &Answer, ordered: bool) -> bool {
    if [one, other].iter().any(|answer| matches!(answer, Answer::Error(state, _) if state == LATE)) {
        return true;
    }
    match (one, other) {
        (Answer::Rows(one, changed), Answer::Rows(other, other_changed)) if changed == other_changed => {
            if ordered {
                return one == other;
            }
            let (mut one, mut other) = (one.clone(), other.clone());
            one.sort_unstable();
            other.sort_unstable();
            one == other
        }
        (Answer::Error(one, _), Answer::Error(other, _)) => one.get(..2) == other.get(..2),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_rows_counts_where_it_is_said() {
        let rows = |list: &[&str]| Answer::Rows(list.iter().map(|row| row.to_string()).collect(), 2);
        assert!(agree(&rows(&["1", "2"]), &rows(&["2", "1"]), false));
        assert!(!agree(&rows(&["1", "2"]), &rows(&["2", "1"]), true));
        assert!(!agree(&rows(&["1", "1"]), &rows(&["1", "2"]), false));
        let error = |state: &str| Answer::Error(state.into(), String::new());
        assert!(agree(&error("42703"), &error("42P01"), false));
        assert!(!agree(&error("42703"), &error("0A000"), false));
        assert!(!agree(&error("22012"), &rows(&[]), false));
        assert!(agree(&error("57014"), &rows(&[]), false));
        assert_eq!(without_zeros(&rows(&["3.00|10|0.50|a", "2.0"])), rows(&["3|10|0.5|a", "2"]));
    }
}
