//! What is stored in place of a password.
//!
//! ```text
//!   SCRAM-SHA-256$4096:<salt>$<StoredKey>:<ServerKey>      the three in base64
//!
//!   SaltedPassword = PBKDF2-HMAC-SHA-256(SASLprep(password), salt, iterations)
//!   StoredKey      = SHA-256(HMAC(SaltedPassword, "Client Key"))
//!   ServerKey      = HMAC(SaltedPassword, "Server Key")
//! ```
//!
//! The text is PostgreSQL's, so that a password's verifier can be carried from one server to the other.

use super::{ITERATIONS, MECHANISM};
use crate::limits::SCRAM_SALT_MAX;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::fmt;

/// The salt of a new verifier: random bytes.
pub type Salt = [u8; 16];

/// What the mock verifiers of a database are derived from: random bytes, made once and kept, so that a name's salt is
/// the same tomorrow.
pub type ServerSecret = [u8; 32];

/// A SHA-256 digest, or a key of its size.
pub(super) type Key = [u8; 32];

/// What a proof of a password is checked with.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Verifier {
    pub(super) stored_key: Key,
    pub(super) server_key: Key,
    iterations: u32,
    /// True for a user that is not there: no proof is good enough.
    doomed: bool,
    salt_len: u8,
    salt: [u8; SCRAM_SALT_MAX],
}

impl Verifier {
    /// The verifier of a new password. Takes about a millisecond, by design.
    pub fn from_password(password: &[u8], salt: &Salt) -> Verifier {
        Verifier::derive(password, salt, ITERATIONS)
    }

    /// True when `password` is this verifier's. Takes about a millisecond.
    pub fn matches(&self, password: &[u8]) -> bool {
        use subtle::ConstantTimeEq;
        let derived = Verifier::derive(password, self.salt(), self.iterations);
        bool::from(derived.stored_key.ct_eq(&self.stored_key)) && !self.doomed
    }

    /// The stand-in for a user who has none: always the same for one name, never satisfied. It has the iterations of a
    /// new verifier, so a server whose verifiers have others (brought along from elsewhere) gives their users away.
    pub fn mock(secret: &ServerSecret, user: &str) -> Verifier {
        let part = |label: &[u8]| hmac(secret, &[b"scram mock ", label, b" ", user.as_bytes()]);
        let salt = part(b"salt");
        let mut mock = Verifier::new(&salt[..size_of::<Salt>()], ITERATIONS);
        mock.stored_key = part(b"stored key");
        mock.server_key = part(b"server key");
        mock.doom();
        mock
    }

    /// The verifier that `text` is, if it is one.
    pub fn parse(text: &str) -> Option<Verifier> {
        let text = text.strip_prefix(MECHANISM)?.strip_prefix('$')?;
        let (settings, keys) = text.split_once('$')?;
        let (iterations, salt) = settings.split_once(':')?;
        let (stored_key, server_key) = keys.split_once(':')?;
        if iterations.starts_with('+') {
            return None;
        }
        let iterations = iterations.parse().ok().filter(|iterations| (1..=i32::MAX as u32).contains(iterations))?;
        let mut bytes = [0; SCRAM_SALT_MAX];
        let length = decode(salt, &mut bytes).filter(|&length| length > 0)?;
        let mut verifier = Verifier::new(&bytes[..length], iterations);
        verifier.stored_key = decode_key(stored_key)?;
        verifier.server_key = decode_key(server_key)?;
        Some(verifier)
    }

    /// The iterations that a client must make.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// The salt that a client must use.
    pub fn salt(&self) -> &[u8] {
        &self.salt[..usize::from(self.salt_len)]
    }

    /// From here on no proof is good enough.
    pub(super) fn doom(&mut self) {
        self.doomed = true;
    }

    /// True for a mock: the exchange is gone through, and fails.
    pub(super) fn doomed(&self) -> bool {
        self.doomed
    }

    fn new(salt: &[u8], iterations: u32) -> Verifier {
        let mut padded = [0; SCRAM_SALT_MAX];
        padded[..salt.len()].copy_from_slice(salt);
        let salt_len = salt.len() as u8;
        Verifier { stored_key: [0; 32], server_key: [0; 32], iterations, doomed: false, salt_len, salt: padded }
    }

    fn derive(password: &[u8], salt: &[u8], iterations: u32) -> Verifier {
        let prepared = std::str::from_utf8(password).ok().and_then(|text| stringprep::saslprep(text).ok());
        // SASLprep maps some characters to nothing; what is nothing afterwards counts as not preparable.
        let password = match &prepared {
            Some(prepared) if !prepared.is_empty() => prepared.as_bytes(),
            _ => password,
        };
        let mut salted: Key = [0; 32];
        pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, iterations, &mut salted);
        let mut verifier = Verifier::new(salt, iterations);
        verifier.stored_key = sha256(&hmac(&salted, &[b"Client Key"]));
        verifier.server_key = hmac(&salted, &[b"Server Key"]);
        verifier
    }
}

impl fmt::Display for Verifier {
    /// The stored form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encode = |bytes: &[u8]| BASE64.encode(bytes);
        let (salt, stored, server) = (encode(self.salt()), encode(&self.stored_key), encode(&self.server_key));
        write!(f, "{MECHANISM}${}:{salt}${stored}:{server}", self.iterations)
    }
}

impl fmt::Debug for Verifier {
    /// Without the keys: this goes to logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("iterations", &self.iterations).finish_non_exhaustive()
    }
}

/// HMAC-SHA-256 of the parts, one after the other.
pub(super) fn hmac(key: &Key, parts: &[&[u8]]) -> Key {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// SHA-256.
pub(super) fn sha256(bytes: &[u8]) -> Key {
    Sha256::digest(bytes).into()
}

/// The key that `text` is in base64, and nothing else.
pub(super) fn decode_key(text: &str) -> Option<Key> {
    let mut key = [0; 32];
    (decode(text, &mut key)? == key.len()).then_some(key)
}

/// How many bytes `text` is in base64, if they fit.
fn decode(text: &str, into: &mut [u8]) -> Option<usize> {
    BASE64.decode_slice(text, into).ok()
}

#[cfg(test)]
mod tests;
