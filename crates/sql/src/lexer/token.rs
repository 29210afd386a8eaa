//! What the lexer hands out: a kind and a span of the text.

/// The kind of a [`Token`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum TokenKind {
    /// Nothing follows.
    End,
    /// A bare word: a keyword, or a name to be folded to lower case.
    Word,
    /// A name in double quotes.
    QuotedName,
    /// Digits only.
    Integer,
    /// Digits with a point, an exponent or both.
    Decimal,
    /// A string in single quotes, where only `''` is special.
    String,
    /// `E'…'`, a string with backslash escapes.
    EscapeString,
    /// `$tag$…$tag$`, where nothing is special.
    DollarString,
    /// `B'…'`.
    BitString,
    /// `X'…'`.
    HexString,
    /// `N'…'`, a string of type `bpchar`.
    NationalString,
    /// `$1`.
    Parameter,
    /// An operator of one character or more.
    Operator,
    /// `(`
    ParenOpen,
    /// `)`
    ParenClose,
    /// `[`
    BracketOpen,
    /// `]`
    BracketClose,
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// `.`
    Dot,
    /// `..`
    DotDot,
    /// `:`
    Colon,
    /// `::`
    ColonColon,
    /// `:=`
    ColonEquals,
    /// `=>`
    EqualsGreater,
}

impl TokenKind {
    /// Is it a string constant of one of the three forms that give text?
    pub fn is_string(self) -> bool {
        matches!(self, TokenKind::String | TokenKind::EscapeString | TokenKind::DollarString)
    }
}

/// A token: its kind and where it stands, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Token {
    /// The token as it stands in `text`.
    pub fn text<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}
