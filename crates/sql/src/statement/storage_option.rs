//! Storage parameters of tables and indexes: `WITH (fillfactor = 70, autovacuum_enabled = off)`.
//!
//! They are kept as they were written, and read where they do something: [`TableDef::parameter`].

use crate::catalog::definition::TableDef;
use crate::parser::ast::StorageOption;
use base::settings::parse_bool;
use base::{Error, Result, sqlstate};

/// What a parameter's value may be.
#[derive(Clone, Copy)]
enum Form {
    Integer(i64, i64),
    Real(f64, f64),
    Boolean,
}

const FILL: (&str, Form) = ("fillfactor", Form::Integer(10, 100));

/// Those of tables alone.
const OF_TABLES: [(&str, Form); 5] = [
    ("autovacuum_enabled", Form::Boolean),
    ("autovacuum_vacuum_threshold", Form::Integer(0, i32::MAX as i64)),
    ("autovacuum_vacuum_scale_factor", Form::Real(0.0, 100.0)),
    ("autovacuum_analyze_threshold", Form::Integer(0, i32::MAX as i64)),
    ("autovacuum_analyze_scale_factor", Form::Real(0.0, 100.0)),
];

/// Beginnings of those that PostgreSQL has and that do nothing here.
const REFUSED: [&str; 9] = [
    "autovacuum_vacuum_",
    "autovacuum_freeze_",
    "autovacuum_multixact_",
    "toast",
    "parallel_workers",
    "user_catalog_table",
    "vacuum_",
    "deduplicate_items",
    "log_autovacuum_min_duration",
];

/// The options of an index: the fill factor.
pub(super) fn of_index(options: &[StorageOption<'_>]) -> Result<Vec<(String, String)>> {
    checked(options, &[FILL])
}

/// The options of a table.
pub(super) fn of_table(options: &[StorageOption<'_>]) -> Result<Vec<(String, String)>> {
    let mut known = vec![FILL];
    known.extend(OF_TABLES);
    checked(options, &known)
}

/// The options of a table that is made: of such it may be said, as of old, that its rows have no numbers of their own.
pub(super) fn of_new_table(options: &[StorageOption<'_>]) -> Result<Vec<(String, String)>> {
    let (oids, others): (Vec<_>, Vec<_>) = options.iter().copied().partition(|option| option.name.text == "oids");
    for option in oids {
        match option.value.map_or(Some(true), boolean) {
            Some(false) => {}
            Some(true) => return Err(Error::unsupported("tables declared WITH OIDS are not supported")),
            None => return Err(Error::statement(sqlstate::SYNTAX_ERROR, "oids requires a Boolean value")),
        }
    }
    of_table(&others)
}

/// A value that is to be `true`, `on` or 1, or the contrary.
fn boolean(value: &str) -> Option<bool> {
    let is_one_of = |words: [&str; 3]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    match () {
        () if is_one_of(["true", "on", "1"]) => Some(true),
        () if is_one_of(["false", "off", "0"]) => Some(false),
        () => None,
    }
}

fn invalid(message: String) -> Error {
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
}

fn checked(options: &[StorageOption<'_>], known: &[(&str, Form)]) -> Result<Vec<(String, String)>> {
    let mut found: Vec<(String, String)> = Vec::new();
    for option in options {
        let name = option.name.text;
        let Some((_, form)) = known.iter().find(|known| known.0 == name) else {
            let is_table = OF_TABLES.iter().any(|known| known.0 == name);
            return Err(match !is_table && REFUSED.iter().any(|refused| name.starts_with(refused)) {
                true => Error::unsupported(format!("storage parameter \"{name}\" is not supported")),
                false => invalid(format!("unrecognized parameter \"{name}\"")),
            });
        };
        let value = option.value.unwrap_or("true");
        check(name, value, *form)?;
        if found.iter().any(|known| known.0 == name) {
            return Err(invalid(format!("parameter \"{name}\" specified more than once")));
        }
        found.push((name.to_owned(), value.to_owned()));
    }
    Ok(found)
}

fn check(name: &str, value: &str, form: Form) -> Result<()> {
    let wrong = |kind: &str| invalid(format!("invalid value for {kind} option \"{name}\": {value}"));
    let beyond = |bounds: [String; 2]| {
        invalid(format!("value {value} out of bounds for option \"{name}\""))
            .detail(format!("Valid values are between \"{}\" and \"{}\".", bounds[0], bounds[1]))
    };
    match form {
        Form::Integer(least, most) => {
            let number = whole(value).ok_or_else(|| wrong("integer"))?;
            if !(least..=most).contains(&number) {
                return Err(beyond([least, most].map(|bound| bound.to_string())));
            }
        }
        Form::Real(least, most) => {
            let number: f64 = value.parse().map_err(|_| wrong("floating point"))?;
            if !(least..=most).contains(&number) {
                return Err(beyond([least, most].map(|bound| format!("{bound:.6}"))));
            }
        }
        Form::Boolean => drop(parse_bool(value).ok_or_else(|| wrong("boolean"))?),
    }
    Ok(())
}

/// A whole number; one with a fraction is rounded.
fn whole(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        number.is_finite().then(|| number.round_ties_even() as i64)
    })
}

/// What a parameter is read as.
pub(crate) trait Parameter: Sized {
    /// The value of a text that was accepted.
    fn of(text: &str) -> Option<Self>;
}

impl Parameter for bool {
    fn of(text: &str) -> Option<bool> {
        parse_bool(text)
    }
}

impl Parameter for u64 {
    fn of(text: &str) -> Option<u64> {
        whole(text).and_then(|number| number.try_into().ok())
    }
}

impl Parameter for f64 {
    fn of(text: &str) -> Option<f64> {
        text.parse().ok()
    }
}

impl TableDef {
    /// The value of a storage parameter, if the table has it.
    pub(crate) fn parameter<T: Parameter>(&self, name: &str) -> Option<T> {
        self.options.iter().find(|option| option.0 == name).and_then(|option| T::of(&option.1))
    }
}
