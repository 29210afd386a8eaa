//! Messages and errors of a body: `RAISE`, `ASSERT`, what handlers learn of an error, and the context that an error carries out.

use super::run::Interpreter;
use super::tree::{Item, Level, Piece, Raise, RaiseOption};
use super::{condition, tree};
use crate::plan::blob::Constant;
use crate::types::{Oid, Type};
use allocator_api2::alloc::Allocator;
use base::settings::{MessageLevel, SettingId};
use base::{Error, Kind, Object, Result, SqlState, sqlstate};

/// An error with a line more of context.
pub(crate) fn within(error: Error, line: String) -> Error {
    let context = match error.context_text() {
        Some(known) => format!("{known}\n{line}"),
        None => line,
    };
    copy(&error).context(context)
}

/// An error of an SQL statement: its place is one in another text than the client's.
pub(crate) fn in_statement(error: Error, text: &str) -> Error {
    within(error, format!("SQL statement \"{text}\""))
}

/// The same error again, but for the place in a text.
pub(crate) fn copy(error: &Error) -> Error {
    let plain = Error::new(error.kind(), error.sqlstate(), error.message().to_owned());
    let plain = error.detail_text().map(str::to_owned).into_iter().fold(plain, Error::detail);
    let plain = error.hint_text().map(str::to_owned).into_iter().fold(plain, Error::hint);
    let plain = error.context_text().map(str::to_owned).into_iter().fold(plain, Error::context);
    let named = Object::ALL.into_iter().filter_map(|object| Some((object, error.name_of(object)?)));
    named.fold(plain, |plain, (object, name)| plain.about(object, name))
}

/// Whether a handler may have an error at all.
pub(crate) fn may_be_caught(error: &Error) -> bool {
    matches!(error.kind(), Kind::Statement | Kind::Retry)
}

/// Whether a condition of `WHEN` covers an error.
pub(crate) fn covers(wanted: &str, error: &Error) -> bool {
    let state = error.sqlstate();
    match wanted.is_empty() {
        true => state != sqlstate::QUERY_CANCELED && state != sqlstate::ASSERT_FAILURE,
        false => condition::covers(wanted, state),
    }
}

impl<A: Allocator + Copy> Interpreter<'_, '_, A> {
    /// `RAISE`
    pub(crate) fn raise(&mut self, raise: &Raise) -> Result<()> {
        if raise.format.is_none()
            && raise.condition.is_none()
            && raise.options.is_empty()
            && raise.level == Level::Exception
        {
            return Err(self.frame.errors.last().map_or_else(no_handler, copy));
        }
        let mut message = match &raise.format {
            Some(format) => Some(self.formatted(format, &raise.arguments)?),
            None => None,
        };
        let mut state = raise.condition.clone();
        let (mut detail, mut hint) = (None, None);
        let mut names: [Option<String>; Object::ALL.len()] = Default::default();
        for (option, piece) in &raise.options {
            let Some(value) = self.text(piece)? else {
                let message = "RAISE statement option cannot be null";
                return Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
            };
            let place = match option {
                RaiseOption::Message => &mut message,
                RaiseOption::Detail => &mut detail,
                RaiseOption::Hint => &mut hint,
                RaiseOption::Code => &mut state,
                RaiseOption::Name(object) => &mut names[*object as usize],
            };
            if place.is_some() {
                let name = match option {
                    RaiseOption::Message => "MESSAGE",
                    RaiseOption::Detail => "DETAIL",
                    RaiseOption::Hint => "HINT",
                    RaiseOption::Code => "ERRCODE",
                    RaiseOption::Name(Object::Schema) => "SCHEMA",
                    RaiseOption::Name(Object::Table) => "TABLE",
                    RaiseOption::Name(Object::Column) => "COLUMN",
                    RaiseOption::Name(Object::DataType) => "DATATYPE",
                    RaiseOption::Name(Object::Constraint) => "CONSTRAINT",
                };
                let message = format!("RAISE option already specified: {name}");
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
            }
            *place = Some(match option {
                RaiseOption::Code if SqlState::parse(&value).is_none() => match condition::code(&value) {
                    Some(code) => code,
                    None => {
                        let message = format!("unrecognized exception condition \"{value}\"");
                        return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
                    }
                },
                _ => value,
            });
        }
        let given = state.as_deref().and_then(SqlState::parse);
        let code = given.unwrap_or(match raise.level {
            Level::Exception => sqlstate::RAISE_EXCEPTION,
            Level::Warning => sqlstate::WARNING,
            _ => sqlstate::SUCCESSFUL_COMPLETION,
        });
        let message = message.or(state).unwrap_or_else(|| code.as_str().to_owned());
        let error = Error::statement(code, message);
        let error = detail.into_iter().fold(error, Error::detail);
        let error = hint.into_iter().fold(error, Error::hint);
        let names = Object::ALL.into_iter().zip(names).filter_map(|(object, name)| Some((object, name?)));
        let error = names.fold(error, |error, (object, name)| error.about(object, name));
        let level = match raise.level {
            Level::Exception => return Err(error),
            Level::Debug => MessageLevel::Debug1,
            Level::Log => MessageLevel::Log,
            Level::Info => MessageLevel::Info,
            Level::Notice => MessageLevel::Notice,
            Level::Warning => MessageLevel::Warning,
        };
        // The body itself may have said what is wanted.
        let least = self.session.view(self.env).value(SettingId::ClientMinMessages).number();
        if MessageLevel::from_number(least).is_none_or(|least| level.reaches_client(least)) {
            let error = within(error, self.place());
            (self.notices)(level, &error);
        }
        Ok(())
    }

    fn formatted(&mut self, format: &str, arguments: &[Piece]) -> Result<String> {
        let mut message = String::with_capacity(format.len());
        let (mut rest, mut arguments) = (format, arguments.iter());
        while let Some(at) = rest.find('%') {
            message.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('%') {
                message.push('%');
                rest = after;
            } else if let Some(piece) = arguments.next() {
                message.push_str(self.text(piece)?.as_deref().unwrap_or("<NULL>"));
            }
        }
        message.push_str(rest);
        Ok(message)
    }

    /// `ASSERT`
    pub(crate) fn assert(&mut self, condition: &Piece, message: Option<&Piece>) -> Result<()> {
        if self.holds(condition)? {
            return Ok(());
        }
        let message = match message {
            Some(piece) => self.text(piece)?,
            None => None,
        };
        let message = message.unwrap_or_else(|| "assertion failed".to_owned());
        Err(Error::statement(sqlstate::ASSERT_FAILURE, message))
    }

    /// `GET DIAGNOSTICS`
    pub(crate) fn diagnostics(&mut self, stacked: bool, items: &[(tree::Target, Item)]) -> Result<()> {
        if stacked && self.frame.errors.is_empty() {
            let message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
            return Err(Error::statement(sqlstate::STACKED_DIAGNOSTICS_WITHOUT_HANDLER, message));
        }
        for (target, item) in items {
            if *item == Item::RowCount {
                let count = Constant::Int(self.frame.row_count as i64);
                self.assign(target, Type::plain(Oid::INT8), count)?;
                continue;
            }
            let text = self.frame.errors.last().map_or("", |error| match item {
                Item::Message => error.message(),
                Item::Detail => error.detail_text().unwrap_or(""),
                Item::Hint => error.hint_text().unwrap_or(""),
                Item::Context => error.context_text().unwrap_or(""),
                Item::Name(object) => error.name_of(*object).unwrap_or(""),
                Item::State | Item::RowCount => "",
            });
            let text = match (item, self.frame.errors.last()) {
                (Item::State, Some(error)) => error.sqlstate().as_str().to_owned(),
                _ => text.to_owned(),
            };
            self.assign(target, Type::plain(Oid::TEXT), Constant::Bytes(text.into_bytes()))?;
        }
        Ok(())
    }
}

#[cold]
fn no_handler() -> Error {
    Error::statement(
        sqlstate::STACKED_DIAGNOSTICS_WITHOUT_HANDLER,
        "RAISE without parameters cannot be used outside an exception handler",
    )
}
