//! Arrays: their stored form, text form and binary form.
//!
//! ```text
//! dimensions u8 | nulls u8 (0 or 1) | element type u32 le | { length u32 le, lower bound i32 le } per dimension
//! | null bitmap, if there are nulls, bit set = null | elements, as `stored` writes them
//! ```
//! The element type is in the bytes, so that functions of any array need no other way to know it. An empty array has no
//! dimensions. `int2vector` and `oidvector` are arrays of one dimension that count from zero.
//!
//! Rules
//! 1. At most six dimensions and 2^27 elements, as in PostgreSQL.
//! 2. [`Array::decode`] checks the header against the bytes; the iterator checks each element as it comes.

pub mod part;

use super::datetime::Style;
use super::table::{self, Kind, Oid};
use super::text::is_space;
use super::{Arena, Datum, Sink, Type, io, stored};
use base::codec::Reader;
use base::{Error, Result, sqlstate};

/// The most dimensions.
pub const DIMENSIONS_MAX: usize = 6;
/// The most elements.
const ELEMENTS_MAX: usize = 1 << 27;

/// The extent of an array in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dimension {
    /// How many elements there are.
    pub length: u32,
    /// The index of the first.
    pub lower: i32,
}

/// An array whose header has been read.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a> {
    element: Oid,
    kind: Kind,
    dimensions: [Dimension; DIMENSIONS_MAX],
    dimension_count: usize,
    count: usize,
    nulls: Option<&'a [u8]>,
    values: &'a [u8],
}

#[cold]
fn damaged() -> Error {
    Error::corruption("a stored array is damaged")
}

fn is_null(nulls: Option<&[u8]>, at: usize) -> bool {
    nulls.is_some_and(|nulls| nulls.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1))
}

impl<'a> Array<'a> {
    /// Reads the header of a stored array.
    pub fn decode(bytes: &'a [u8]) -> Result<Array<'a>> {
        let mut reader = Reader::new(bytes);
        let dimension_count = usize::from(reader.u8_le().ok_or_else(damaged)?);
        let has_nulls = reader.u8_le().ok_or_else(damaged)?;
        let element = Oid(reader.u32_le().ok_or_else(damaged)?);
        if dimension_count > DIMENSIONS_MAX || has_nulls > 1 {
            return Err(damaged());
        }
        let mut dimensions = [Dimension { length: 0, lower: 1 }; DIMENSIONS_MAX];
        let mut count = usize::from(dimension_count > 0);
        for dimension in &mut dimensions[..dimension_count] {
            dimension.length = reader.u32_le().ok_or_else(damaged)?;
            dimension.lower = reader.i32_le().ok_or_else(damaged)?;
            count = count.checked_mul(dimension.length as usize).ok_or_else(damaged)?;
        }
        // An element takes at least a bit, so a count beyond that is no array.
        if count > ELEMENTS_MAX || (dimension_count > 0 && count == 0) || count / 8 > bytes.len() {
            return Err(damaged());
        }
        let nulls = match has_nulls {
            1 => Some(reader.bytes(count.div_ceil(8)).ok_or_else(damaged)?),
            _ => None,
        };
        let values = reader.rest();
        Ok(Array { element, kind: table::kind(element), dimensions, dimension_count, count, nulls, values })
    }

    /// The type of the elements.
    pub fn element(&self) -> Oid {
        self.element
    }

    /// The dimensions, outermost first; none for an empty array.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions[..self.dimension_count]
    }

    /// How many elements there are in all.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Is there no element?
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The elements, innermost index running fastest.
    pub fn iter(&self) -> Elements<'a> {
        Elements { kind: self.kind, nulls: self.nulls, values: self.values, at: 0, next: 0, count: self.count }
    }

    /// All elements at once.
    pub fn elements(&self) -> Result<Vec<Datum<'a>>> {
        self.iter().collect()
    }

    /// The element with these indexes; null where there is none.
    pub fn get(&self, indexes: &[i64]) -> Result<Datum<'a>> {
        if indexes.len() != self.dimension_count || self.is_empty() {
            return Ok(Datum::Null);
        }
        let mut place = 0usize;
        for (dimension, index) in self.dimensions().iter().zip(indexes) {
            let within = index - i64::from(dimension.lower);
            if within < 0 || within >= i64::from(dimension.length) {
                return Ok(Datum::Null);
            }
            place = place * dimension.length as usize + within as usize;
        }
        let mut elements = self.iter();
        if let (None, Some(width)) = (self.nulls, stored::width(self.kind)) {
            // All that stand before it are as long as it is.
            (elements.at, elements.next) = (place * width, place);
            return elements.next().unwrap_or(Ok(Datum::Null));
        }
        elements.nth(place).unwrap_or(Ok(Datum::Null))
    }

    /// Checks every element, and that nothing follows the last.
    pub fn check(&self) -> Result<()> {
        // Whatever bytes there are are numbers.
        let is_number = matches!(self.kind, Kind::Int2 | Kind::Int4 | Kind::Int8 | Kind::Float4 | Kind::Float8);
        if let (true, None, Some(width)) = (is_number, self.nulls, stored::width(self.kind)) {
            return if self.values.len() == self.count * width { Ok(()) } else { Err(damaged()) };
        }
        let mut elements = self.iter();
        for element in &mut elements {
            let element = element?;
            if !element.is_null() {
                stored::check(self.kind, element)?;
            }
        }
        match elements.at == self.values.len() {
            true => Ok(()),
            false => Err(damaged()),
        }
    }
}

/// The elements of an [`Array`].
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    kind: Kind,
    nulls: Option<&'a [u8]>,
    values: &'a [u8],
    at: usize,
    next: usize,
    count: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Datum<'a>>;

    fn next(&mut self) -> Option<Result<Datum<'a>>> {
        if self.next >= self.count {
            return None;
        }
        let place = self.next;
        self.next += 1;
        if is_null(self.nulls, place) {
            return Some(Ok(Datum::Null));
        }
        match stored::get(self.kind, self.values, self.at) {
            Ok((datum, end)) => {
                self.at = end;
                Some(Ok(datum))
            }
            Err(error) => {
                self.next = self.count;
                Some(Err(error))
            }
        }
    }
}

/// Makes the stored form of an array.
pub fn encode(element: Oid, dimensions: &[Dimension], elements: &[Datum<'_>]) -> Result<Vec<u8>> {
    let kind = table::kind(element);
    let dimensions = if elements.is_empty() { &[] } else { dimensions };
    if elements.len() > ELEMENTS_MAX {
        let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
        return Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    }
    let has_nulls = elements.iter().any(|element| element.is_null());
    let mut out = encode_header(element, dimensions, has_nulls);
    out.reserve(elements.len() * 8);
    if has_nulls {
        let start = out.len();
        out.resize(start + elements.len().div_ceil(8), 0);
        for (at, _) in elements.iter().enumerate().filter(|(_, element)| element.is_null()) {
            out[start + at / 8] |= 1 << (at % 8);
        }
    }
    for element in elements.iter().filter(|element| !element.is_null()) {
        stored::put(kind, *element, &mut out)?;
    }
    Ok(out)
}

/// What stands before the elements, and before which of them are null.
fn encode_header(element: Oid, dimensions: &[Dimension], has_nulls: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(6 + dimensions.len() * 8);
    out.extend_from_slice(&[dimensions.len() as u8, u8::from(has_nulls)]);
    out.extend_from_slice(&element.0.to_le_bytes());
    for dimension in dimensions {
        out.extend_from_slice(&dimension.length.to_le_bytes());
        out.extend_from_slice(&dimension.lower.to_le_bytes());
    }
    out
}

/// Makes the stored form of an array of one dimension that counts from one.
pub fn encode_list(element: Oid, elements: &[Datum<'_>]) -> Result<Vec<u8>> {
    encode(element, &[Dimension { length: elements.len() as u32, lower: 1 }], elements)
}

/// Makes the stored form of an `int2vector` or `oidvector`.
pub fn encode_vector(element: Oid, elements: &[Datum<'_>]) -> Result<Vec<u8>> {
    encode(element, &[Dimension { length: elements.len() as u32, lower: 0 }], elements)
}

/// Writes `{a,"b c",NULL}`.
pub fn print(bytes: &[u8], style: &Style<'_>, out: &mut impl Sink) -> Result<()> {
    let array = Array::decode(bytes)?;
    if array.is_empty() {
        out.put(b"{}");
        return Ok(());
    }
    let dimensions = array.dimensions();
    if dimensions.iter().any(|dimension| dimension.lower != 1) {
        for dimension in dimensions {
            let last = i64::from(dimension.lower) + i64::from(dimension.length) - 1;
            out.put(format!("[{}:{last}]", dimension.lower).as_bytes());
        }
        out.put(b"=");
    }
    let mut text = Vec::new();
    for (place, element) in array.iter().enumerate() {
        let element = element?;
        if place > 0 {
            out.put(b",");
        }
        (0..edges(dimensions, place)).for_each(|_| out.put(b"{"));
        if element.is_null() {
            out.put(b"NULL");
        } else {
            text.clear();
            io::output(array.kind, element, style, &mut text)?;
            put_element(&text, out);
        }
        (0..edges(dimensions, place + 1)).for_each(|_| out.put(b"}"));
    }
    Ok(())
}

/// How many levels of braces open before the element at `place`, and so close after the one before it: those whose
/// inner indexes are all at their edge there.
pub(super) fn edges(dimensions: &[Dimension], place: usize) -> usize {
    let mut span = 1;
    let mut count = 0;
    for dimension in dimensions.iter().rev() {
        span *= dimension.length as usize;
        if !place.is_multiple_of(span) {
            break;
        }
        count += 1;
    }
    count
}

/// Writes an element, in quotes where it would be read as something else without.
fn put_element(text: &[u8], out: &mut impl Sink) {
    let special = |byte: &u8| matches!(byte, b'{' | b'}' | b',' | b'"' | b'\\') || is_space(char::from(*byte));
    if !text.is_empty() && !text.eq_ignore_ascii_case(b"null") && !text.iter().any(special) {
        return out.put(text);
    }
    out.put(b"\"");
    for part in text.split_inclusive(|byte| matches!(byte, b'"' | b'\\')) {
        match part.split_last() {
            Some((last @ (b'"' | b'\\'), before)) => {
                out.put(before);
                out.put(&[b'\\', *last]);
            }
            _ => out.put(part),
        }
    }
    out.put(b"\"");
}

/// Reads `{a,"b c",NULL}`, with dimensions before it or without.
pub fn parse(text: &str, element: Type, arena: &Arena, style: &Style<'_>) -> Result<Vec<u8>> {
    let malformed = |detail: String| {
        Error::statement(sqlstate::INVALID_TEXT_REPRESENTATION, format!("malformed array literal: \"{text}\""))
            .detail(detail)
    };
    let no_start = || malformed("Array value must start with \"{\" or dimension information.".to_owned());
    let (explicit, body) = parse_dimensions(text.trim_start_matches(is_space), &malformed)?;
    if !body.starts_with('{') {
        return Err(match explicit.is_empty() {
            true => no_start(),
            false => malformed("Array contents must start with \"{\".".to_owned()),
        });
    }
    let opened =
        body.chars().filter(|character| !is_space(*character)).take_while(|character| *character == '{').count();
    if opened > DIMENSIONS_MAX {
        return Err(too_many_dimensions(opened));
    }
    let mut literal = Literal { rest: body, lengths: Vec::new(), items: Vec::new() };
    literal.list(0).map_err(&malformed)?;
    if !literal.rest.trim_matches(is_space).is_empty() {
        return Err(malformed("Junk after closing right brace.".to_owned()));
    }
    let lengths: Vec<u32> = literal.lengths.iter().map(|length| length.unwrap_or(0)).collect();
    let mut dimensions: Vec<Dimension> = lengths.iter().map(|&length| Dimension { length, lower: 1 }).collect();
    if !explicit.is_empty() {
        if explicit.len() != lengths.len()
            || explicit.iter().zip(&lengths).any(|(wanted, length)| wanted.length != *length)
        {
            return Err(malformed("Specified array dimensions do not match array contents.".to_owned()));
        }
        dimensions = explicit;
    }
    dimensions.iter().try_for_each(|dimension| part::check_bound(dimension.lower, dimension.length.into()))?;
    let mut elements = Vec::with_capacity(literal.items.len());
    for item in &literal.items {
        elements.push(match item {
            None => Datum::Null,
            Some(item) => io::input(element, item, arena, style)?,
        });
    }
    encode(element.oid, &dimensions, &elements)
}

/// Reads `[1:2][3]=` before an array; the dimensions, none where there are none, and what follows.
fn parse_dimensions<'t>(text: &'t str, malformed: &dyn Fn(String) -> Error) -> Result<(Vec<Dimension>, &'t str)> {
    let mut dimensions = Vec::new();
    let mut rest = text;
    while let Some(inner) = rest.strip_prefix('[') {
        let (bounds, after) =
            inner.split_once(']').ok_or_else(|| malformed("Missing \"]\" after array dimensions.".to_owned()))?;
        let (lower, upper) = bounds.split_once(':').unwrap_or(("1", bounds));
        let bound = |text: &str| {
            text.trim()
                .parse::<i32>()
                .map_err(|_| malformed("\"[\" must introduce explicitly-specified array dimensions.".to_owned()))
        };
        let (lower, upper) = (bound(lower)?, bound(upper)?);
        if upper < lower {
            let message = "upper bound cannot be less than lower bound";
            return Err(Error::statement(base::sqlstate::ARRAY_SUBSCRIPT_ERROR, message));
        }
        let length = u32::try_from(i64::from(upper) - i64::from(lower) + 1).unwrap_or(u32::MAX);
        dimensions.push(Dimension { length, lower });
        rest = after.trim_start_matches(is_space);
    }
    if dimensions.len() > DIMENSIONS_MAX {
        return Err(too_many_dimensions(dimensions.len()));
    }
    if !dimensions.is_empty() {
        let after =
            rest.strip_prefix('=').ok_or_else(|| malformed("Missing \"=\" after array dimensions.".to_owned()))?;
        rest = after.trim_start_matches(is_space);
    }
    Ok((dimensions, rest))
}

#[cold]
fn too_many_dimensions(count: usize) -> Error {
    let message = format!("number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})");
    Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
}

/// The contents of an array's text, being read. Faults are the detail of an error.
struct Literal<'t> {
    rest: &'t str,
    /// The length of each dimension, known once its first list has ended.
    lengths: Vec<Option<u32>>,
    items: Vec<Option<String>>,
}

impl Literal<'_> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(is_space);
    }

    fn unexpected(&self) -> String {
        match self.rest.chars().next() {
            None => "Unexpected end of input.".to_owned(),
            Some(character @ ('{' | '}' | ',')) => format!("Unexpected \"{character}\" character."),
            Some(_) => "Unexpected array element.".to_owned(),
        }
    }

    /// A list from its opening brace to its closing one. No list lies deeper than the first braces of the text, which
    /// have been counted.
    fn list(&mut self, depth: usize) -> std::result::Result<(), String> {
        self.rest = &self.rest[1..];
        self.skip_spaces();
        if depth == 0 && self.rest.starts_with('}') {
            self.rest = &self.rest[1..];
            return Ok(());
        }
        let first = depth == self.lengths.len();
        if first {
            self.lengths.push(None);
        }
        let mut length = 0u32;
        loop {
            self.skip_spaces();
            // The first list that is read down to its end decides how deep all are.
            let nested = self.rest.starts_with('{');
            let known_inner = depth + 1 < self.lengths.len();
            match nested {
                true if !first && !known_inner => return Err(self.unexpected()),
                true if length > 0 && !known_inner => return Err(self.unexpected()),
                true => self.list(depth + 1)?,
                false if known_inner => return Err(self.unexpected()),
                false => self.element()?,
            }
            length += 1;
            self.skip_spaces();
            match self.rest.as_bytes().first() {
                Some(b',') => self.rest = &self.rest[1..],
                Some(b'}') => break,
                _ => return Err(self.unexpected()),
            }
        }
        self.rest = &self.rest[1..];
        match self.lengths[depth] {
            None => self.lengths[depth] = Some(length),
            Some(known) if known == length => {}
            Some(_) => {
                return Err("Multidimensional arrays must have sub-arrays with matching dimensions.".to_owned());
            }
        }
        Ok(())
    }

    fn element(&mut self) -> std::result::Result<(), String> {
        if let Some(inner) = self.rest.strip_prefix('"') {
            let mut value = String::new();
            let mut characters = inner.char_indices();
            loop {
                match characters.next() {
                    None => return Err("Unexpected end of input.".to_owned()),
                    Some((at, '"')) => {
                        self.rest = &inner[at + 1..];
                        self.items.push(Some(value));
                        return Ok(());
                    }
                    Some((_, '\\')) => value.extend(characters.next().map(|(_, character)| character)),
                    Some((_, character)) => value.push(character),
                }
            }
        }
        let mut value = String::new();
        // White space at the end does not count, unless it was escaped.
        let mut significant = 0;
        let mut escaped = false;
        let mut characters = self.rest.char_indices();
        let end = loop {
            match characters.next() {
                None => {
                    self.rest = "";
                    return Err(self.unexpected());
                }
                Some((at, ',' | '}')) => break at,
                Some((at, '{')) => {
                    self.rest = &self.rest[at..];
                    return Err(self.unexpected());
                }
                Some((_, '"')) => return Err("Unexpected array element.".to_owned()),
                Some((_, '\\')) => {
                    value.extend(characters.next().map(|(_, character)| character));
                    significant = value.len();
                    escaped = true;
                }
                Some((_, character)) => {
                    value.push(character);
                    if !is_space(character) {
                        significant = value.len();
                    }
                }
            }
        };
        value.truncate(significant);
        self.rest = &self.rest[end..];
        if value.is_empty() && !escaped {
            return Err(self.unexpected());
        }
        let is_null = !escaped && value.eq_ignore_ascii_case("null");
        self.items.push(if is_null { None } else { Some(value) });
        Ok(())
    }
}

/// Writes the text form of a vector: its elements with spaces between.
pub fn print_vector(bytes: &[u8], style: &Style<'_>, out: &mut impl Sink) -> Result<()> {
    let array = Array::decode(bytes)?;
    let mut text = Vec::new();
    for (at, element) in array.iter().enumerate() {
        let element = element?;
        if at > 0 {
            out.put(b" ");
        }
        text.clear();
        io::output(array.kind, element, style, &mut text)?;
        out.put(&text);
    }
    Ok(())
}

/// Reads the text form of a vector.
pub fn parse_vector(text: &str, element: Type, arena: &Arena, style: &Style<'_>) -> Result<Vec<u8>> {
    let words = text.split(is_space).filter(|word| !word.is_empty());
    let elements: Result<Vec<Datum<'_>>> = words.map(|word| io::input(element, word, arena, style)).collect();
    encode_vector(element.oid, &elements?)
}

/// Writes the wire's binary form.
pub fn send(bytes: &[u8], style: &Style<'_>, out: &mut impl Sink) -> Result<()> {
    let array = Array::decode(bytes)?;
    out.put(&(array.dimension_count as u32).to_be_bytes());
    out.put(&u32::from(array.nulls.is_some()).to_be_bytes());
    out.put(&array.element.0.to_be_bytes());
    for dimension in array.dimensions() {
        out.put(&dimension.length.to_be_bytes());
        out.put(&dimension.lower.to_be_bytes());
    }
    let mut value = Vec::new();
    for element in array.iter() {
        let element = element?;
        if element.is_null() {
            out.put(&(-1i32).to_be_bytes());
            continue;
        }
        value.clear();
        io::send(array.kind, element, style, &mut value)?;
        out.put(&(value.len() as u32).to_be_bytes());
        out.put(&value);
    }
    Ok(())
}

/// Reads the wire's binary form of an array of this element type.
pub fn receive(bytes: &[u8], element: Type, arena: &Arena, style: &Style<'_>) -> Result<Vec<u8>> {
    let bad = |message: &'static str| Error::statement(sqlstate::INVALID_BINARY_REPRESENTATION, message);
    let short = || bad("insufficient data left in message");
    let mut reader = Reader::new(bytes);
    let dimension_count = reader.u32_be().ok_or_else(short)? as usize;
    if dimension_count > DIMENSIONS_MAX {
        return Err(too_many_dimensions(dimension_count));
    }
    let flags = reader.u32_be().ok_or_else(short)?;
    if flags > 1 {
        return Err(bad("invalid array flags"));
    }
    if Oid(reader.u32_be().ok_or_else(short)?) != element.oid {
        return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, "wrong element type"));
    }
    let mut dimensions = Vec::with_capacity(dimension_count);
    let mut count = usize::from(dimension_count > 0);
    for _ in 0..dimension_count {
        let length = reader.u32_be().ok_or_else(short)?;
        let lower = reader.i32_be().ok_or_else(short)?;
        count = count.saturating_mul(length as usize);
        dimensions.push(Dimension { length, lower });
    }
    // Each element has at least its length.
    if count > reader.rest().len() / 4 {
        return Err(short());
    }
    dimensions.iter().try_for_each(|dimension| part::check_bound(dimension.lower, dimension.length.into()))?;
    let mut elements = Vec::with_capacity(count);
    for _ in 0..count {
        let length = reader.i32_be().ok_or_else(short)?;
        elements.push(match usize::try_from(length) {
            Err(_) => Datum::Null,
            Ok(length) => io::receive(element, reader.bytes(length).ok_or_else(short)?, arena, style)?,
        });
    }
    match reader.is_empty() {
        true => encode(element.oid, &dimensions, &elements),
        false => Err(bad("incorrect binary data format")),
    }
}
