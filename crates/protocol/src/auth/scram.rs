//! The exchange as a state machine.
//!
//! ```text
//!            SASLInitialResponse              SASLResponse
//!   Initial ─────────────────────> Final ─────────────────────> Over (so it is after any error)
//!      │ (without data)              ^
//!      └──────────────> First ───────┘ SASLResponse
//! ```
//!
//! What both sides sign is the three messages so far, strung together; the first two are kept in the state (`text`),
//! the third is at hand when the signature is due.

use super::verifier::{Key, Verifier, decode_key, hmac, sha256};
use super::{MECHANISM, password_failed};
use crate::backend::{authentication_sasl_continue, authentication_sasl_final};
use crate::body::Body;
use crate::limits::SCRAM_TEXT_MAX;
use crate::sink::Sink;
use base::{Error, Kind, Result, sqlstate};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::fmt;
use subtle::ConstantTimeEq;

/// The server's part of the nonce: random bytes, fresh for every exchange.
pub type Nonce = [u8; 18];

/// What the server does after an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The answer goes out; the client has the next word.
    Continue,
    /// The client is who it says it is; the answer goes out, followed by `authentication_ok`.
    Authenticated,
}

#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// The client chooses a mechanism.
    Initial,
    /// It chose without giving its first message.
    First,
    /// It owes the proof.
    Final,
    /// It proved it, or failed to; nothing more is taken.
    Over,
}

/// An authentication under way. Plain bytes, of a size that does not depend on what the client sends.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Exchange {
    verifier: Verifier,
    step: Step,
    /// The client's channel binding flag, `n` or `y`.
    binding: u8,
    /// Where both nonces are in `text`.
    nonce_at: u16,
    nonce_end: u16,
    text_len: u16,
    /// The client's first message without its header, a comma, the server's first message.
    text: [u8; SCRAM_TEXT_MAX],
}

const _: () = assert!(SCRAM_TEXT_MAX <= u16::MAX as usize);

impl Exchange {
    /// The state after AuthenticationSASL was sent. For a user without a verifier, [`Verifier::mock`] is one.
    pub fn new(verifier: &Verifier) -> Exchange {
        Exchange {
            verifier: *verifier,
            step: Step::Initial,
            binding: 0,
            nonce_at: 0,
            nonce_end: 0,
            text_len: 0,
            text: [0; SCRAM_TEXT_MAX],
        }
    }

    /// Takes the body of a password message and appends what the server says to it. `nonce` is used if this is the
    /// client's first message; `user` is the startup packet's, for the error.
    pub fn answer<S: Sink + ?Sized>(
        &mut self,
        body: &[u8],
        nonce: &Nonce,
        user: &str,
        sink: &mut S,
    ) -> Result<Progress> {
        let step = std::mem::replace(&mut self.step, Step::Over);
        let first = match step {
            Step::Initial => match initial_response(body)? {
                Some(first) => first,
                None => {
                    self.step = Step::First;
                    authentication_sasl_continue(sink, b"");
                    return Ok(Progress::Continue);
                }
            },
            Step::First => body,
            Step::Final => {
                let signature = self.finish(body, user)?;
                authentication_sasl_final(sink, &signature);
                return Ok(Progress::Authenticated);
            }
            Step::Over => return Err(Error::protocol("unexpected SASL message")),
        };
        let mut text = [0; BASE64_NONCE];
        let length = BASE64.encode_slice(nonce, &mut text).unwrap_or(0);
        debug_assert_eq!(length, text.len());
        authentication_sasl_continue(sink, self.begin(first, &text)?);
        self.step = Step::Final;
        Ok(Progress::Continue)
    }

    /// Reads the client's first message and gives the server's. `nonce` is printable and has no comma.
    fn begin(&mut self, message: &[u8], nonce: &[u8]) -> Result<&[u8]> {
        let mut rest = Attributes::new(message)?;
        self.binding = rest.header()?;
        let bare = rest.text;
        if bare.starts_with(b"m") {
            return Err(unsupported("client requires an unsupported SCRAM extension"));
        }
        // The name is the startup packet's; clients send an empty one here, or the same.
        rest.named(b'n')?;
        let client_nonce = rest.named(b'r')?;
        if client_nonce.is_empty() || !client_nonce.iter().all(u8::is_ascii_graphic) {
            return Err(Error::protocol("non-printable characters in SCRAM nonce"));
        }
        while !rest.text.is_empty() {
            rest.any()?;
        }

        let salt = BASE64.encode(self.verifier.salt());
        let iterations = self.verifier.iterations().to_string();
        self.text_len = 0;
        self.push(bare)?;
        self.push(b",")?;
        let server_first = usize::from(self.text_len);
        self.push(b"r=")?;
        self.nonce_at = self.text_len;
        self.push(client_nonce)?;
        self.push(nonce)?;
        self.nonce_end = self.text_len;
        for part in [",s=", &salt, ",i=", &iterations] {
            self.push(part.as_bytes())?;
        }
        Ok(&self.text[server_first..usize::from(self.text_len)])
    }

    /// Reads the client's final message, checks the proof in it, and gives the server's final message.
    fn finish(&self, message: &[u8], user: &str) -> Result<[u8; SERVER_FINAL]> {
        let mut rest = Attributes::new(message)?;
        let binding = rest.named(b'c')?;
        let expected: &[u8] = if self.binding == b'y' { b"eSws" } else { b"biws" };
        if binding != expected {
            return Err(Error::protocol("unexpected SCRAM channel-binding attribute in client-final-message"));
        }
        let nonce = rest.named(b'r')?;
        let (signed, proof) = loop {
            let signed = message.len() - rest.text.len();
            if let (b'p', proof) = rest.any()? {
                // The comma before the proof is not signed.
                break (&message[..signed - 1], proof);
            }
        };
        let proof = std::str::from_utf8(proof).ok().and_then(decode_key);
        let proof = proof.ok_or_else(|| malformed("Malformed proof in client-final-message."))?;
        if !rest.text.is_empty() {
            return Err(malformed("Garbage found at the end of client-final-message."));
        }
        let text = &self.text[..usize::from(self.text_len)];
        if nonce != &text[usize::from(self.nonce_at)..usize::from(self.nonce_end)] {
            return Err(Error::protocol("invalid SCRAM response").detail("Nonce does not match."));
        }

        let parts = [text, b",", signed];
        let signature = hmac(&self.verifier.stored_key, &parts);
        let mut client_key: Key = [0; 32];
        for (at, byte) in client_key.iter_mut().enumerate() {
            *byte = proof[at] ^ signature[at];
        }
        let proven = sha256(&client_key).ct_eq(&self.verifier.stored_key);
        if !bool::from(proven) || self.verifier.doomed() {
            return Err(password_failed(user));
        }
        let mut message = [0; SERVER_FINAL];
        message[..2].copy_from_slice(b"v=");
        let encoded = BASE64.encode_slice(hmac(&self.verifier.server_key, &parts), &mut message[2..]);
        assert_eq!(encoded.ok(), Some(SERVER_FINAL - 2));
        Ok(message)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        let at = usize::from(self.text_len);
        let Some(place) = self.text.get_mut(at..at + bytes.len()) else {
            return Err(malformed("The message is too long."));
        };
        place.copy_from_slice(bytes);
        self.text_len += bytes.len() as u16;
        Ok(())
    }
}

impl fmt::Debug for Exchange {
    /// Without what was said: this goes to logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("step", &self.step).finish_non_exhaustive()
    }
}

/// The server's nonce in base64: four characters for three bytes.
const BASE64_NONCE: usize = size_of::<Nonce>() / 3 * 4;
/// `v=` and 32 bytes in base64.
const SERVER_FINAL: usize = 2 + 44;

/// The client's first message in a SASLInitialResponse, which may come without.
fn initial_response(body: &[u8]) -> Result<Option<&[u8]>> {
    let mut rest = Body::new(body, Kind::Session);
    if rest.string()? != MECHANISM {
        return Err(Error::protocol("client selected an invalid SASL authentication mechanism"));
    }
    let data = rest.value()?;
    rest.end()?;
    Ok(data)
}

/// A SCRAM message: `letter=value`, separated by commas.
struct Attributes<'a> {
    text: &'a [u8],
}

impl<'a> Attributes<'a> {
    fn new(message: &'a [u8]) -> Result<Attributes<'a>> {
        if message.is_empty() {
            return Err(malformed("The message is empty."));
        }
        if message.contains(&0) {
            return Err(malformed("Message length does not match input length."));
        }
        Ok(Attributes { text: message })
    }

    /// The header of the first message: the channel binding flag, which is returned, and no other identity.
    fn header(&mut self) -> Result<u8> {
        let (flag, rest) = match self.text {
            [flag @ (b'n' | b'y'), rest @ ..] => (*flag, rest),
            [b'p', ..] => {
                return Err(malformed(
                    "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel \
                     binding data.",
                ));
            }
            other => return Err(malformed(format!("Unexpected channel-binding flag \"{}\".", shown(other)))),
        };
        self.text = match rest {
            [b',', b',', rest @ ..] => rest,
            [b',', b'a', ..] => {
                return Err(unsupported("client uses authorization identity, but it is not supported"));
            }
            [b',', other @ ..] => {
                let detail = format!("Unexpected attribute \"{}\" in client-first-message.", shown(other));
                return Err(malformed(detail));
            }
            other => return Err(malformed(format!("Comma expected, but found character \"{}\".", shown(other)))),
        };
        Ok(flag)
    }

    /// The next attribute, which must be that one.
    fn named(&mut self, letter: u8) -> Result<&'a [u8]> {
        match self.text {
            [first, ..] if *first == letter => Ok(self.any()?.1),
            other => {
                let detail = format!("Expected attribute \"{}\" but found \"{}\".", letter as char, shown(other));
                Err(malformed(detail))
            }
        }
    }

    /// The next attribute, whichever it is.
    fn any(&mut self) -> Result<(u8, &'a [u8])> {
        let letter = match self.text {
            [] => return Err(malformed("Attribute expected, but found end of string.")),
            [letter, ..] if letter.is_ascii_alphabetic() => *letter,
            other => {
                let detail = format!("Attribute expected, but found invalid character \"{}\".", shown(other));
                return Err(malformed(detail));
            }
        };
        let [_, b'=', rest @ ..] = self.text else {
            let detail = format!("Expected character \"=\" for attribute \"{}\".", letter as char);
            return Err(malformed(detail));
        };
        let end = rest.iter().position(|&byte| byte == b',').unwrap_or(rest.len());
        self.text = rest.get(end + 1..).unwrap_or(&[]);
        Ok((letter, &rest[..end]))
    }
}

/// The first character of `text` as an error may show it.
fn shown(text: &[u8]) -> String {
    match text.first() {
        None => "end of string".to_owned(),
        Some(byte) if byte.is_ascii_graphic() => char::from(*byte).to_string(),
        Some(byte) => format!("{byte:#04x}"),
    }
}

#[cold]
fn malformed(detail: impl Into<String>) -> Error {
    Error::protocol("malformed SCRAM message").detail(detail)
}

#[cold]
fn unsupported(message: &'static str) -> Error {
    Error::session(sqlstate::FEATURE_NOT_SUPPORTED, message)
}

#[cfg(test)]
mod tests;
