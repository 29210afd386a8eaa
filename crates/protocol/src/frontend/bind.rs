//! `Bind`: the message that carries parameter values, the one with the most ways to be wrong.
//!
//! ```text
//!   portal\0 statement\0
//!   n(2) format(2) * n        formats of the values: none = all text, one = all that one, else one each
//!   n(2) (length(4) bytes) *n the values; length -1 is null
//!   n(2) format(2) * n        formats wanted for the result's columns, counted the same way
//! ```
//!
//! The whole message is walked once when it is decoded, so that the iterators handed out afterwards have nothing left
//! that could fail. Whether the counts fit the *statement* is the server's to check: it alone has the statement.

use crate::Format;
use crate::body::Body;
use base::{Error, Kind, Result, sqlstate};

/// `Bind`: parameter values for a prepared statement, making a portal.
#[derive(Clone, Copy, Debug)]
pub struct Bind<'a> {
    /// The portal to make; empty for the unnamed one.
    pub portal: &'a str,
    /// The prepared statement; empty for the unnamed one.
    pub statement: &'a str,
    formats: Formats<'a>,
    count: usize,
    values: &'a [u8],
    results: Formats<'a>,
}

impl<'a> Bind<'a> {
    #[inline]
    pub(super) fn decode(rest: &mut Body<'a>) -> Result<Bind<'a>> {
        let portal = rest.string()?;
        let statement = rest.string()?;
        let formats = Formats::decode(rest)?;
        let count = usize::from(rest.u16()?);
        if formats.len() > 1 && formats.len() != count {
            return Err(miscounted(formats.len(), count));
        }
        let all = rest.rest();
        for _ in 0..count {
            rest.value()?;
        }
        let values = &all[..all.len() - rest.rest().len()];
        let results = Formats::decode(rest)?;
        Ok(Bind { portal, statement, formats, count, values, results })
    }

    /// The parameter values in order, null as `None`, each with its format.
    pub fn parameters(&self) -> Parameters<'a> {
        Parameters { formats: self.formats, at: 0, count: self.count, values: Body::new(self.values, Kind::Statement) }
    }

    /// The formats wanted for the result's columns.
    pub fn results(&self) -> Formats<'a> {
        self.results
    }
}

/// A list of format codes, with the protocol's short forms: none for all text, one for all the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Formats<'a> {
    codes: &'a [[u8; 2]],
}

impl<'a> Formats<'a> {
    #[inline]
    fn decode(rest: &mut Body<'a>) -> Result<Formats<'a>> {
        let count = usize::from(rest.u16()?);
        let (codes, _) = rest.bytes(count * 2)?.as_chunks();
        match codes.iter().find(|code| !matches!(code, [0, 0 | 1])) {
            None => Ok(Formats { codes }),
            Some(code) => Err(unsupported(i16::from_be_bytes(*code))),
        }
    }

    /// How many codes were sent. With none or one, every column has a format; with more, there must be one for each.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// True when no code was sent.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// True when the list does for `columns` columns.
    pub fn fits(&self, columns: usize) -> bool {
        self.len() <= 1 || self.len() == columns
    }

    /// The format of column `index`, counted from zero. Text, where the list does not reach: check [`Formats::fits`].
    #[inline]
    pub fn of(&self, index: usize) -> Format {
        let code = match self.codes {
            [one] => Some(one),
            codes => codes.get(index),
        };
        if code == Some(&[0, 1]) { Format::Binary } else { Format::Text }
    }
}

/// The values of a [`Bind`], in order.
#[derive(Clone, Debug)]
pub struct Parameters<'a> {
    formats: Formats<'a>,
    at: usize,
    count: usize,
    values: Body<'a>,
}

impl<'a> Iterator for Parameters<'a> {
    type Item = (Option<&'a [u8]>, Format);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.count {
            return None;
        }
        let value = self.values.value().expect("a Bind's values were walked when it was decoded");
        let format = self.formats.of(self.at);
        self.at += 1;
        Some((value, format))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count - self.at, Some(self.count - self.at))
    }
}

impl ExactSizeIterator for Parameters<'_> {}

#[cold]
fn unsupported(code: i16) -> Error {
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, format!("unsupported format code: {code}"))
}

#[cold]
fn miscounted(formats: usize, values: usize) -> Error {
    let message = format!("bind message has {formats} parameter formats but {values} parameters");
    Error::statement(sqlstate::PROTOCOL_VIOLATION, message)
}
