//! `encode` and `decode`: bytes as text, in hexadecimal digits, in base 64, or with escapes.
//!
//! Rules
//! 1. What is written is what PostgreSQL writes: base 64 in lines of 76 characters, escapes in octal.
//! 2. White space between digits is passed over; anything else that is no digit is `22023`.

use super::text::is_space;
use base::{Error, Result, sqlstate};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LINE: usize = 76;
const HEX: &[u8; 16] = b"0123456789abcdef";
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// A way to write bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// Two digits a byte.
    Hex,
    /// Four letters for three bytes.
    Base64,
    /// Zero bytes and those above 127 as a backslash and three octal digits.
    Escape,
}

impl Encoding {
    /// By its name. Errors: `22023`.
    pub fn named(name: &[u8]) -> Result<Encoding> {
        let name = String::from_utf8_lossy(name);
        match name.to_ascii_lowercase().as_str() {
            "hex" => Ok(Encoding::Hex),
            "base64" => Ok(Encoding::Base64),
            "escape" => Ok(Encoding::Escape),
            _ => Err(bad(format!("unrecognized encoding: \"{name}\""))),
        }
    }

    /// The bytes as text.
    pub fn encode(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Encoding::Hex => {
                bytes.iter().flat_map(|byte| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]).collect()
            }
            Encoding::Base64 => {
                let whole = BASE64.encode(bytes);
                whole.as_bytes().chunks(LINE).collect::<Vec<_>>().join(&b'\n')
            }
            Encoding::Escape => {
                let mut out = Vec::with_capacity(bytes.len());
                for &byte in bytes {
                    match byte {
                        0 | 128.. => {
                            let octal = [6, 3, 0].map(|shift| b'0' + (byte >> shift & 7));
                            out.push(b'\\');
                            out.extend_from_slice(&octal);
                        }
                        b'\\' => out.extend_from_slice(b"\\\\"),
                        _ => out.push(byte),
                    }
                }
                out
            }
        }
    }

    /// The text's bytes. Errors: `22023`, `22P02`.
    pub fn decode(self, text: &str) -> Result<Vec<u8>> {
        match self {
            Encoding::Hex => decode_hex(text),
            Encoding::Base64 => {
                let letters: String = text.chars().filter(|letter| !is_space(*letter)).collect();
                if let Some(odd) =
                    letters.chars().find(|letter| !letter.is_ascii_alphanumeric() && !"+/=".contains(*letter))
                {
                    return Err(bad(format!("invalid symbol \"{odd}\" found while decoding base64 sequence")));
                }
                BASE64.decode(letters).map_err(|_| {
                    bad("invalid base64 end sequence".into())
                        .hint("Input data is missing padding, is truncated, or is otherwise corrupted.")
                })
            }
            Encoding::Escape => super::io::unescape(text),
        }
    }
}

/// Pairs of hexadecimal digits, with white space between them. Errors: `22023`.
pub(super) fn decode_hex(text: &str) -> Result<Vec<u8>> {
    let (mut out, mut high) = (Vec::with_capacity(text.len() / 2), None);
    for character in text.chars().filter(|character| !is_space(*character)) {
        let digit = character.to_digit(16);
        let digit = digit.ok_or_else(|| bad(format!("invalid hexadecimal digit: \"{character}\"")))? as u8;
        match high.take() {
            None => high = Some(digit),
            Some(high) => out.push(high << 4 | digit),
        }
    }
    match high {
        None => Ok(out),
        Some(_) => Err(bad("invalid hexadecimal data: odd number of digits".into())),
    }
}

#[cold]
fn bad(message: String) -> Error {
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let bytes: Vec<u8> = (0..=255).collect();
        for encoding in [Encoding::Hex, Encoding::Base64, Encoding::Escape] {
            let text = String::from_utf8(encoding.encode(&bytes)).expect("ASCII");
            assert_eq!(encoding.decode(&text).expect("decode"), bytes, "{encoding:?}");
        }
        assert_eq!(Encoding::Base64.encode(&[0; 60]).iter().filter(|byte| **byte == b'\n').count(), 1);
        for (encoding, text) in
            [(Encoding::Hex, "abc"), (Encoding::Hex, "0g"), (Encoding::Base64, "ab!d"), (Encoding::Base64, "abc")]
        {
            assert!(encoding.decode(text).is_err(), "{encoding:?} {text}");
        }
    }
}
