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
use super::{MECHANISM, MECHANISM_PLUS, password_failed};
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
    /// The client's channel binding flag, `n`, `y` or `p`.
    binding: u8,
    /// The client chose the mechanism that is bound.
    plus: bool,
    /// The hash of the server's certificate; no bytes where binding is not offered.
    end_point_len: u8,
    end_point: [u8; END_POINT_MAX],
    /// Where both nonces are in `text`.
    nonce_at: u16,
    nonce_end: u16,
    text_len: u16,
    /// The client's first message without its header, a comma, the server's first message.
    text: [u8; SCRAM_TEXT_MAX],
}

const _: () = assert!(SCRAM_TEXT_MAX <= u16::MAX as usize);

/// The longest hash of a certificate.
const END_POINT_MAX: usize = 64;
/// The header of a client that binds.
const BOUND_HEADER: &[u8] = b"p=tls-server-end-point,,";

impl Exchange {
    /// The state after AuthenticationSASL was sent. For a user without a verifier, [`Verifier::mock`] is one.
    pub fn new(verifier: &Verifier) -> Exchange {
        Exchange {
            verifier: *verifier,
            step: Step::Initial,
            binding: 0,
            plus: false,
            end_point_len: 0,
            end_point: [0; END_POINT_MAX],
            nonce_at: 0,
            nonce_end: 0,
            text_len: 0,
            text: [0; SCRAM_TEXT_MAX],
        }
    }

    /// The same over TLS: the client may bind to this hash of the server's certificate.
    pub fn bound(verifier: &Verifier, end_point: &[u8]) -> Exchange {
        let mut this = Exchange::new(verifier);
        if let Some(place) = this.end_point.get_mut(..end_point.len()) {
            place.copy_from_slice(end_point);
            this.end_point_len = end_point.len() as u8;
        }
        this
    }

    /// May the client bind?
    pub fn binds(&self) -> bool {
        self.end_point_len > 0
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
            Step::Initial => {
                let (plus, first) = initial_response(body, self.binds())?;
                self.plus = plus;
                match first {
                    Some(first) => first,
                    None => {
                        self.step = Step::First;
                        authentication_sasl_continue(sink, b"");
                        return Ok(Progress::Continue);
                    }
                }
            }
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
        self.binding = rest.header(self.plus, self.binds())?;
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
        if self.binding == b'p' {
            let end_point = &self.end_point[..usize::from(self.end_point_len)];
            let expected = BASE64.encode([BOUND_HEADER, end_point].concat());
            if binding != expected.as_bytes() {
                let message = "SCRAM channel binding check failed";
                return Err(Error::session(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, message));
            }
        } else if binding != if self.binding == b'y' { b"eSws" } else { b"biws" } {
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

/// Is the mechanism that a SASLInitialResponse chooses the bound one; and the client's first message, which may be missing.
fn initial_response(body: &[u8], binds: bool) -> Result<(bool, Option<&[u8]>)> {
    let mut rest = Body::new(body, Kind::Session);
    let plus = match rest.string()? {
        MECHANISM => false,
        MECHANISM_PLUS if binds => true,
        _ => return Err(Error::protocol("client selected an invalid SASL authentication mechanism")),
    };
    let data = rest.value()?;
    rest.end()?;
    Ok((plus, data))
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

    /// The header of the first message: the channel binding flag, which is returned, and no other identity. `plus` says whether the
    /// client chose the mechanism that is bound, `binds` whether it was offered.
    fn header(&mut self, plus: bool, binds: bool) -> Result<u8> {
        let (flag, rest) = match self.text {
            [b'n' | b'y', ..] if plus => {
                return Err(malformed(
                    "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel binding data.",
                ));
            }
            [b'y', ..] if binds => {
                let message = "SCRAM channel binding negotiation error";
                let error = Error::session(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, message);
                return Err(error.detail(
                    "The client supports SCRAM channel binding but thinks the server does not.  \
                     However, this server does support channel binding.",
                ));
            }
            [b'p', b'=', rest @ ..] if plus => match rest.strip_prefix(b"tls-server-end-point") {
                Some(rest) => (b'p', rest),
                None => {
                    let end = rest.iter().position(|&byte| byte == b',').unwrap_or(rest.len());
                    let kind = String::from_utf8_lossy(&rest[..end]);
                    return Err(Error::protocol(format!("unsupported SCRAM channel-binding type \"{kind}\"")));
                }
            },
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
