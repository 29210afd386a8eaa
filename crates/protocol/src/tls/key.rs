//! One direction's key: plain bytes, and what opens or seals a record with them.
//!
//! The nonce of a record is made of the direction's vector and the number of the record, so a number is never used twice: it grows
//! before anything can fail, and a copy that was put away is the only one.

use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey,
};
use ring::hkdf::{HKDF_SHA256, HKDF_SHA384, KeyType, Prk};

/// How records are encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Cipher {
    /// AES with a key of 128 bits.
    Aes128 = 1,
    /// AES with a key of 256 bits.
    Aes256 = 2,
    /// ChaCha20.
    ChaCha20 = 3,
}

impl Cipher {
    pub(super) fn from_number(number: u8) -> Option<Cipher> {
        [Cipher::Aes128, Cipher::Aes256, Cipher::ChaCha20].into_iter().find(|cipher| *cipher as u8 == number)
    }

    fn algorithm(self) -> &'static Algorithm {
        match self {
            Cipher::Aes128 => &AES_128_GCM,
            Cipher::Aes256 => &AES_256_GCM,
            Cipher::ChaCha20 => &CHACHA20_POLY1305,
        }
    }

    /// The bytes of its key.
    pub(super) fn key_bytes(self) -> usize {
        self.algorithm().key_len()
    }

    /// True if TLS 1.2 sends a part of the nonce with each record.
    pub(super) fn sends_nonce(self) -> bool {
        self != Cipher::ChaCha20
    }

    fn hash(self) -> ring::hkdf::Algorithm {
        if self == Cipher::Aes256 { HKDF_SHA384 } else { HKDF_SHA256 }
    }

    /// The bytes of a secret that keys are made from, in TLS 1.3.
    pub(super) fn secret_bytes(self) -> usize {
        if self == Cipher::Aes256 { 48 } else { 32 }
    }
}

/// The tag at the end of a record, in bytes.
pub(super) const TAG: usize = 16;
pub(super) const KEY_MAX: usize = 32;
pub(super) const SECRET_MAX: usize = 48;

/// A direction.
pub struct Direction {
    pub(super) cipher: Cipher,
    pub(super) key: [u8; KEY_MAX],
    pub(super) vector: [u8; NONCE_LEN],
    /// The number of the next record.
    pub(super) sequence: u64,
    /// What the next key is made from, in TLS 1.3.
    pub(super) secret: [u8; SECRET_MAX],
    /// The key ready for use: made when it is first needed.
    ready: Option<LessSafeKey>,
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// `HKDF-Expand-Label` of RFC 8446 without a context.
fn expand(secret: &Prk, label: &str, into: &mut [u8]) {
    let length = (into.len() as u16).to_be_bytes();
    let label_length = [6 + label.len() as u8];
    let info: [&[u8]; 5] = [&length, &label_length, b"tls13 ", label.as_bytes(), &[0]];
    let filled = secret.expand(&info, Length(into.len())).and_then(|okm| okm.fill(into));
    filled.expect("a key is shorter than 255 hashes");
}

impl Direction {
    pub(super) fn new(cipher: Cipher, key: &[u8], vector: &[u8], sequence: u64, secret: &[u8]) -> Direction {
        let mut this = Direction {
            cipher,
            key: [0; KEY_MAX],
            vector: [0; NONCE_LEN],
            sequence,
            secret: [0; SECRET_MAX],
            ready: None,
        };
        this.key[..key.len()].copy_from_slice(key);
        this.vector.copy_from_slice(vector);
        this.secret[..secret.len()].copy_from_slice(secret);
        this
    }

    /// Goes on to the next key: TLS 1.3's key update.
    pub(super) fn update(&mut self) {
        let size = self.cipher.secret_bytes();
        let before = Prk::new_less_safe(self.cipher.hash(), &self.secret[..size]);
        let mut next = [0; SECRET_MAX];
        expand(&before, "traffic upd", &mut next[..size]);
        let secret = Prk::new_less_safe(self.cipher.hash(), &next[..size]);
        expand(&secret, "key", &mut self.key[..self.cipher.key_bytes()]);
        expand(&secret, "iv", &mut self.vector);
        (self.secret, self.sequence, self.ready) = (next, 0, None);
    }

    fn ready(&mut self) -> &LessSafeKey {
        let (cipher, key) = (self.cipher, &self.key);
        self.ready.get_or_insert_with(|| {
            let key = UnboundKey::new(cipher.algorithm(), &key[..cipher.key_bytes()]);
            LessSafeKey::new(key.expect("the key has the cipher's length"))
        })
    }

    /// The next record's number, which is used up, and its nonce.
    pub(super) fn next(&mut self) -> (u64, [u8; NONCE_LEN]) {
        let number = self.sequence;
        self.sequence = number.checked_add(1).expect("nobody sends so many records");
        let mut nonce = self.vector;
        for (byte, of_number) in nonce[NONCE_LEN - 8..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= of_number;
        }
        (number, nonce)
    }

    /// Opens what was sealed, in its place; answers how long it is, or none if it was not sealed so.
    pub(super) fn open(&mut self, nonce: [u8; NONCE_LEN], extra: &[u8], bytes: &mut [u8]) -> Option<usize> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.ready().open_in_place(nonce, Aad::from(extra), bytes).ok().map(|plain| plain.len())
    }

    /// Seals bytes in their place; answers the tag that follows them.
    pub(super) fn seal(&mut self, nonce: [u8; NONCE_LEN], extra: &[u8], bytes: &mut [u8]) -> ring::aead::Tag {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sealed = self.ready().seal_in_place_separate_tag(nonce, Aad::from(extra), bytes);
        sealed.expect("a record is far shorter than what one nonce may seal")
    }
}
