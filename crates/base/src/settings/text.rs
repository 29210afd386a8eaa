//! Settings whose value is a text: the rules such texts follow, and PostgreSQL's lists of identifiers.
//!
//! A rule checks a text and gives its canonical form. It knows no files, roles or schemas: whether a time zone of that
//! name, a role or a directory exists is for the code that uses the setting, which reports with
//! [`super::invalid_value`].
//!
//! Rules
//! 1. A canonical text passes its rule unchanged.
//! 2. No text holds a zero byte: values travel to C programs.

use super::unit::leading_real;
use crate::{Error, sqlstate};

/// What a text must look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextRule {
    /// Anything.
    Any,
    /// A file's name; empty for none.
    Path,
    /// A directory's name.
    Directory,
    /// `ADDRESS:PORT`, or several separated by commas ([`listen_points`]).
    Listen,
    /// A name of an encoding that needs no conversion.
    ClientEncoding,
    /// A time zone's name, a POSIX zone, or hours east of Greenwich.
    TimeZone,
    /// A list of identifiers ([`split_identifiers`]).
    Identifiers,
    /// Up to 63 bytes of printable ASCII; what does not fit is replaced or cut off, as PostgreSQL does.
    ApplicationName,
    /// The C locale under one of its names.
    Locale,
    /// The C locale or an English one: messages are English.
    MessageLocale,
    /// One of a few words, kept as written in this list.
    OneOf(&'static [&'static str]),
}

/// Why a text breaks its rule.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Broken {
    /// It is no value of the setting; with a detail where PostgreSQL has one.
    Invalid(Option<String>),
    /// It is a value in PostgreSQL, and not supported here.
    Unsupported(String),
}

/// The most bytes an identifier has.
const NAME_BYTES_MAX: usize = 63;

impl TextRule {
    /// The canonical form of `text`.
    pub(crate) fn check(self, text: &str) -> Result<String, Broken> {
        let invalid = Err(Broken::Invalid(None));
        if text.contains('\0') {
            return invalid;
        }
        match self {
            TextRule::Any | TextRule::Path => Ok(text.to_owned()),
            TextRule::Directory if text.is_empty() => invalid,
            TextRule::Directory => Ok(text.to_owned()),
            TextRule::Listen => match listen_points(text) {
                Ok(points) => Ok(points.iter().map(ListenPoint::to_string).collect::<Vec<_>>().join(", ")),
                Err(detail) => Err(Broken::Invalid(Some(detail))),
            },
            TextRule::ClientEncoding => client_encoding(text),
            TextRule::TimeZone => time_zone(text),
            TextRule::Identifiers => match split_identifiers(text) {
                Some(_) => Ok(text.to_owned()),
                None => Err(Broken::Invalid(Some("List syntax is invalid.".to_owned()))),
            },
            TextRule::ApplicationName => Ok(clipped(text)
                .bytes()
                .map(|byte| if (32..=126).contains(&byte) { char::from(byte) } else { '?' })
                .collect()),
            TextRule::Locale if is_c_locale(text) => Ok(text.to_owned()),
            TextRule::MessageLocale if text.is_empty() || is_c_locale(text) || is_english(text) => Ok(text.to_owned()),
            TextRule::Locale | TextRule::MessageLocale => invalid,
            TextRule::OneOf(words) => {
                let known = words.iter().find(|word| word.eq_ignore_ascii_case(text));
                known.map_or(invalid, |word| Ok((*word).to_owned()))
            }
        }
    }
}

/// The longest beginning of `text` that an identifier can hold.
fn clipped(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}

fn is_c_locale(text: &str) -> bool {
    ["C", "POSIX", "C.UTF-8", "C.utf8"].contains(&text)
}

fn is_english(text: &str) -> bool {
    let language = text.split(['_', '.', '@']).next();
    language == Some("en") && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.@-".contains(&byte))
}

/// One address to accept connections at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListenPoint {
    /// An address or a host's name, without brackets; `*` for all addresses.
    pub host: String,
    /// The port; 0 lets the system choose one.
    pub port: u16,
}

impl std::fmt::Display for ListenPoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// The addresses of the setting `listen`. The error is a detail for the user.
pub fn listen_points(text: &str) -> Result<Vec<ListenPoint>, String> {
    text.split(',').map(|item| listen_point(item.trim())).collect()
}

fn listen_point(item: &str) -> Result<ListenPoint, String> {
    let wanted = || format!("\"{item}\" is not ADDRESS:PORT, for example 127.0.0.1:5433, [::1]:5433 or *:5433.");
    let (host, port) = item.rsplit_once(':').ok_or_else(wanted)?;
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = bracketed.unwrap_or(host);
    let is_name = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    let fits = match bracketed {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => host == "*" || is_name && !host.is_empty(),
    };
    if !fits || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wanted());
    }
    let port = port.parse().map_err(|_| wanted())?;
    Ok(ListenPoint { host: host.to_owned(), port })
}

/// The items of a list of identifiers: names without quotes come in lower case, names in quotes as they stand. `None`
/// if the text is no list. An empty text is an empty list.
pub fn split_identifiers(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let name;
        if let Some(quoted) = rest.strip_prefix('"') {
            (name, rest) = quoted_name(quoted)?;
        } else {
            let end = rest.find(|character| character == ',' || is_space(character)).unwrap_or(rest.len());
            name = rest[..end].to_ascii_lowercase();
            rest = &rest[end..];
            if name.is_empty() {
                return None;
            }
        }
        names.push(clipped(&name).to_owned());
        rest = rest.trim_start_matches(is_space);
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix(',')?.trim_start_matches(is_space);
    }
}

/// Reads up to the closing quote; two quotes stand for one. Gives the name and what follows.
fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, rest)),
        }
    }
}

/// An identifier as SQL has to spell it: in quotes unless it reads back without them, wherever it stands.
pub fn quoted_identifier(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let mut bytes = name.bytes();
    let is_plain = bytes.next().is_some_and(plain) && bytes.all(|byte| plain(byte) || byte.is_ascii_digit());
    if is_plain && WORDS_IN_QUOTES.binary_search(&name).is_err() {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The words that are a name only in quotes, somewhere at least: all of SQL's keywords but the unreserved ones, sorted.
pub const WORDS_IN_QUOTES: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "both",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "collation",
    "column",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "float",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "greatest",
    "group",
    "grouping",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "least",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "national",
    "natural",
    "nchar",
    "none",
    "normalize",
    "not",
    "notnull",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "overlaps",
    "overlay",
    "placing",
    "position",
    "precision",
    "primary",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "session_user",
    "setof",
    "similar",
    "smallint",
    "some",
    "substring",
    "symmetric",
    "table",
    "tablesample",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "values",
    "varchar",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
    "xmlattributes",
    "xmlconcat",
    "xmlelement",
    "xmlexists",
    "xmlforest",
    "xmlnamespaces",
    "xmlparse",
    "xmlpi",
    "xmlroot",
    "xmlserialize",
    "xmltable",
];

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

/// The encodings of PostgreSQL that would need a conversion.
const OTHER_ENCODINGS: &[&str] = &[
    "EUC_JP",
    "EUC_CN",
    "EUC_KR",
    "EUC_TW",
    "EUC_JIS_2004",
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "LATIN5",
    "LATIN6",
    "LATIN7",
    "LATIN8",
    "LATIN9",
    "LATIN10",
    "WIN1250",
    "WIN1251",
    "WIN1252",
    "WIN1253",
    "WIN1254",
    "WIN1255",
    "WIN1256",
    "WIN1257",
    "WIN1258",
    "WIN866",
    "WIN874",
    "KOI8R",
    "KOI8U",
    "ISO_8859_5",
    "ISO_8859_6",
    "ISO_8859_7",
    "ISO_8859_8",
    "SJIS",
    "SHIFT_JIS_2004",
    "BIG5",
    "GBK",
    "UHC",
    "GB18030",
    "JOHAB",
    "MULE_INTERNAL",
];

fn bare(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase())
}

/// Names of encodings are compared by their letters and digits: `utf-8` is `UTF8`.
fn client_encoding(text: &str) -> Result<String, Broken> {
    let is = |name: &str| bare(text).eq(bare(name));
    if is("UTF8") || is("UNICODE") {
        return Ok("UTF8".to_owned());
    }
    // No conversion either, and what comes in must be valid UTF-8 all the same. Clients in the locale C ask for it.
    if is("SQL_ASCII") {
        return Ok("SQL_ASCII".to_owned());
    }
    match OTHER_ENCODINGS.iter().find(|name| is(name)) {
        Some(name) => Err(Broken::Unsupported(format!("Conversion between {name} and UTF8 is not supported."))),
        None => Err(Broken::Invalid(None)),
    }
}

const ZONE_HOURS_MAX: f64 = 168.0;

fn time_zone(text: &str) -> Result<String, Broken> {
    if let Some((hours, "")) = leading_real(text) {
        if hours.abs() >= ZONE_HOURS_MAX || !hours.is_finite() {
            return Err(Broken::Invalid(Some("UTC timezone offset is out of range.".to_owned())));
        }
        return Ok(offset_zone((hours * 3600.0) as i32));
    }
    for name in ["UTC", "GMT"] {
        if text.eq_ignore_ascii_case(name) {
            return Ok(name.to_owned());
        }
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-/:<>,.".contains(&byte);
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic() || "<+-".contains(first));
    if !begins || !text.bytes().all(fits) || text.contains("..") {
        return Err(Broken::Invalid(None));
    }
    Ok(text.to_owned())
}

/// The POSIX zone that is `seconds` east of Greenwich: `<+03>-03`. `SET TIME ZONE INTERVAL` and numbers mean this.
pub fn offset_zone(seconds: i32) -> String {
    let total = seconds.unsigned_abs();
    let mut clock = format!("{:02}", total / 3600);
    if !total.is_multiple_of(3600) {
        clock.push_str(&format!(":{:02}", total / 60 % 60));
    }
    if !total.is_multiple_of(60) {
        clock.push_str(&format!(":{:02}", total % 60));
    }
    if seconds < 0 { format!("<-{clock}>+{clock}") } else { format!("<+{clock}>-{clock}") }
}

/// Brings the arguments of `SET name TO a, b` into the one text that the setting takes. `quote` is set for lists of
/// identifiers, whose items are names, not texts.
pub(crate) fn flattened(name: &str, is_list: bool, quote: bool, arguments: &[&str]) -> Result<String, Error> {
    if !is_list && arguments.len() != 1 {
        return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, format!("SET {name} takes only one argument")));
    }
    let items: Vec<_> = arguments
        .iter()
        .map(|argument| if quote { quoted_identifier(argument) } else { (*argument).to_owned() })
        .collect();
    Ok(items.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn invalid(detail: &str) -> Result<String, Broken> {
        Err(Broken::Invalid(Some(detail.to_owned()).filter(|detail| !detail.is_empty())))
    }

    /// The rows were answered so by PostgreSQL 15, but for names of zones, which are only looked at here.
    #[test]
    fn time_zones() {
        for (text, expected) in [
            ("3", "<+03>-03"),
            ("-3.5", "<-03:30>+03:30"),
            ("-0.5", "<-00:30>+00:30"),
            ("0", "<+00>-00"),
            ("167", "<+167>-167"),
            ("5.7525", "<+05:45:09>-05:45:09"),
            ("1e1", "<+10>-10"),
            ("+05:30", "+05:30"),
            ("utc", "UTC"),
            ("GMT", "GMT"),
            ("America/New_York", "America/New_York"),
            ("UTC+3", "UTC+3"),
            ("<+03>-3", "<+03>-3"),
            ("EST5EDT,M3.2.0,M11.1.0", "EST5EDT,M3.2.0,M11.1.0"),
        ] {
            assert_eq!(TextRule::TimeZone.check(text).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(TextRule::TimeZone.check("168"), invalid("UTC timezone offset is out of range."));
        for text in ["", "../etc/passwd", "/etc/localtime", "a b", "1.5x", "zone\0"] {
            assert_eq!(TextRule::TimeZone.check(text), invalid(""), "{text:?}");
        }
    }

    #[test]
    fn encodings() {
        for (text, expected) in [
            ("utf-8", "UTF8"),
            ("Unicode", "UTF8"),
            ("UTF8", "UTF8"),
            ("sql_ascii", "SQL_ASCII"),
            ("SQLASCII", "SQL_ASCII"),
        ] {
            assert_eq!(TextRule::ClientEncoding.check(text).as_deref(), Ok(expected));
        }
        assert_eq!(
            TextRule::ClientEncoding.check("latin-1"),
            Err(Broken::Unsupported("Conversion between LATIN1 and UTF8 is not supported.".to_owned()))
        );
        assert_eq!(TextRule::ClientEncoding.check("LATIN9x"), invalid(""));
        assert_eq!(TextRule::ClientEncoding.check(""), invalid(""));
    }

    /// The rows were answered so by PostgreSQL 15.
    #[test]
    fn lists_of_identifiers() {
        let names = |text| split_identifiers(text).map(|names| names.join("|"));
        for (text, expected) in [
            ("", Some("")),
            ("\"$user\", public", Some("$user|public")),
            (" A , \"b\"\"c\" ", Some("a|b\"c")),
            ("a,", None),
            (",a", None),
            ("a b", None),
            ("\"a", None),
            ("\"a\"b", None),
        ] {
            assert_eq!(names(text).as_deref(), expected, "{text:?}");
        }
        let path = flattened("search_path", true, true, &["foo bar", "\"X\"", "a1", "1a", "$user", "_y", "A"]);
        assert_eq!(path.unwrap(), r#""foo bar", """X""", a1, "1a", "$user", _y, "A""#);
        assert_eq!(flattened("DateStyle", true, false, &["iso", "dmy"]).unwrap(), "iso, dmy");
        let error = flattened("work_mem", false, false, &["1", "2"]).unwrap_err();
        assert_eq!(error.message(), "SET work_mem takes only one argument");
    }

    #[test]
    fn application_names_are_made_printable_and_short() {
        assert_eq!(TextRule::ApplicationName.check("é a").as_deref(), Ok("?? a"));
        let long = "é".repeat(40);
        assert_eq!(TextRule::ApplicationName.check(&long).map(|name| name.len()), Ok(62));
    }

    #[test]
    fn locales_are_what_the_server_does() {
        for text in ["C", "POSIX", "C.UTF-8"] {
            assert_eq!(TextRule::Locale.check(text).as_deref(), Ok(text));
        }
        assert_eq!(TextRule::Locale.check("en_US.UTF-8"), invalid(""));
        assert_eq!(TextRule::MessageLocale.check("en_US.UTF-8").as_deref(), Ok("en_US.UTF-8"));
        assert_eq!(TextRule::MessageLocale.check("de_DE.UTF-8"), invalid(""));
        assert_eq!(TextRule::MessageLocale.check("english"), invalid(""));
    }

    #[test]
    fn places_to_listen_at() {
        for (text, expected) in [
            ("127.0.0.1:5433", Some("127.0.0.1:5433")),
            ("localhost:0,[::1]:5433", Some("localhost:0, [::1]:5433")),
            (" *:1 , host-1.example:65535", Some("*:1, host-1.example:65535")),
            ("5433", None),
            (":5433", None),
            ("127.0.0.1", None),
            ("127.0.0.1:", None),
            ("127.0.0.1:65536", None),
            ("127.0.0.1:+1", None),
            ("::1:5433", None),
            ("[localhost]:5433", None),
            ("a b:1", None),
            ("", None),
            ("127.0.0.1:1,", None),
        ] {
            assert_eq!(TextRule::Listen.check(text).ok().as_deref(), expected, "{text:?}");
        }
        assert_eq!(
            TextRule::Listen.check("here"),
            invalid("\"here\" is not ADDRESS:PORT, for example 127.0.0.1:5433, [::1]:5433 or *:5433.")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn quoted_names_read_back(names in prop::collection::vec("[a-zA-Z0-9_\", $é]{1,12}", 1..5)) {
            let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
            let list = flattened("search_path", true, true, &borrowed).unwrap();
            prop_assert_eq!(split_identifiers(&list), Some(names));
        }

        #[test]
        fn no_text_is_a_panic_and_canonical_texts_stay(text in "\\PC{0,20}|[-+0-9.eE:<>xX, \"]{0,12}") {
            for rule in [
                TextRule::Any, TextRule::Directory, TextRule::Listen, TextRule::ClientEncoding, TextRule::TimeZone,
                TextRule::Identifiers, TextRule::ApplicationName, TextRule::Locale, TextRule::MessageLocale,
            ] {
                if let Ok(canonical) = rule.check(&text) {
                    prop_assert_eq!(rule.check(&canonical), Ok(canonical));
                }
            }
        }
    }
}
