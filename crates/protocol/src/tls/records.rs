//! Records after the handshake: opening those of the client, sealing the server's.
//!
//! ```text
//!   TLS 1.3   23 03 03 length  { content, its type, zeros }sealed                extra: the header
//!   TLS 1.2   type 03 03 length  nonce's second part (AES) { content }sealed     extra: number, type, 03 03, content's length
//! ```
//!
//! Life of a session: [`Records::take_up`] at the beginning of a request, [`Records::open`] and [`Records::seal`] as bytes come and go,
//! [`Records::put_away`] at its end. Between two requests it is [`PUT_AWAY`] bytes.

use super::key::{Cipher, Direction, KEY_MAX, SECRET_MAX, TAG};
use super::{HEADER, RECORD_MAX};
use ring::aead::NONCE_LEN;

/// The most that one record carries.
const CONTENT_MAX: usize = 16 << 10;
/// How many records are sealed with one key of TLS 1.3 before the next is taken: below what AES may seal safely (2^24.5 full ones).
const KEY_RECORDS: u64 = 1 << 23;

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const KEY_UPDATE: u8 = 24;

const WARNING: u8 = 1;
const FATAL: u8 = 2;
const CLOSE_NOTIFY: u8 = 0;
const UNEXPECTED_MESSAGE: u8 = 10;
const BAD_RECORD_MAC: u8 = 20;
const RECORD_OVERFLOW: u8 = 22;
const USER_CANCELED: u8 = 90;
const NO_RENEGOTIATION: u8 = 100;

const DIRECTION_BYTES: usize = KEY_MAX + NONCE_LEN + 8 + SECRET_MAX;
/// How many bytes a connection is between two requests.
pub const PUT_AWAY: usize = 2 + 2 * DIRECTION_BYTES;

/// What came of opening records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opened {
    /// All whole records were opened.
    Open,
    /// The client has said that nothing more will come.
    Ended,
    /// A record did not open, or has no place here: the connection is over.
    Broken,
}

/// A connection's records.
pub struct Records {
    /// TLS 1.3; else 1.2.
    pub(super) is_13: bool,
    pub(super) read: Direction,
    pub(super) write: Direction,
}

impl Records {
    /// The connection as bytes.
    pub fn put_away(&self, into: &mut Vec<u8>) {
        into.extend([self.read.cipher as u8, self.is_13 as u8]);
        for direction in [&self.read, &self.write] {
            into.extend(direction.key);
            into.extend(direction.vector);
            into.extend(direction.sequence.to_le_bytes());
            into.extend(direction.secret);
        }
    }

    /// The connection that was put away; none if these are not its bytes.
    pub fn take_up(bytes: &[u8]) -> Option<Records> {
        let (&[cipher, is_13], rest) = bytes.split_first_chunk::<2>()?;
        let cipher = Cipher::from_number(cipher)?;
        let direction = |bytes: &[u8]| {
            let (key, rest) = bytes.split_at_checked(KEY_MAX)?;
            let (vector, rest) = rest.split_at_checked(NONCE_LEN)?;
            let (sequence, secret) = rest.split_first_chunk::<8>()?;
            (secret.len() == SECRET_MAX)
                .then(|| Direction::new(cipher, key, vector, u64::from_le_bytes(*sequence), secret))
        };
        let (read, write) = rest.split_at_checked(DIRECTION_BYTES)?;
        Some(Records { is_13: is_13 != 0, read: direction(read)?, write: direction(write)? })
    }

    /// Opens the whole records at the front of `raw` and takes them out of it. What they carry goes to `plain`; what must be said to
    /// it, a new key or the reason of an end, to `answer`.
    pub fn open(&mut self, raw: &mut Vec<u8>, plain: &mut Vec<u8>, answer: &mut Vec<u8>) -> Opened {
        let mut at = 0;
        let opened = loop {
            let Some(header) = raw[at..].first_chunk::<HEADER>().copied() else { break Opened::Open };
            let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
            if length > RECORD_MAX {
                break self.fail(RECORD_OVERFLOW, answer);
            }
            let Some(body) = raw.get_mut(at + HEADER..at + HEADER + length) else { break Opened::Open };
            at += HEADER + length;
            let (kind, content) = match if self.is_13 { self.open_13(header, body) } else { self.open_12(header, body) }
            {
                Ok(opened) => opened,
                Err(alert) => break self.fail(alert, answer),
            };
            match (kind, content) {
                (_, content) if content.len() > CONTENT_MAX => break self.fail(RECORD_OVERFLOW, answer),
                (APPLICATION_DATA, content) => plain.extend_from_slice(content),
                (ALERT, [_, CLOSE_NOTIFY]) => break Opened::Ended,
                (ALERT, [_, USER_CANCELED]) => {}
                (ALERT, [WARNING, _]) if !self.is_13 => {}
                (ALERT, _) => break Opened::Broken,
                (HANDSHAKE, [KEY_UPDATE, 0, 0, 1, asked @ (0 | 1)]) if self.is_13 => {
                    let asked = *asked == 1;
                    self.read.update();
                    if asked {
                        self.change_key(answer);
                    }
                }
                (HANDSHAKE, _) if !self.is_13 => break self.fail(NO_RENEGOTIATION, answer),
                _ => break self.fail(UNEXPECTED_MESSAGE, answer),
            }
        };
        raw.drain(..at);
        opened
    }

    /// Seals these bytes as application data.
    pub fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) {
        sealed.reserve(plain.len() + plain.len().div_ceil(CONTENT_MAX) * (HEADER + 8 + 1 + TAG));
        for content in plain.chunks(CONTENT_MAX) {
            if self.is_13 && self.write.sequence >= KEY_RECORDS {
                self.change_key(sealed);
            }
            self.seal_one(APPLICATION_DATA, content, sealed);
        }
    }

    /// Says that nothing more will come from the server.
    pub fn farewell(&mut self, sealed: &mut Vec<u8>) {
        self.seal_one(ALERT, &[WARNING, CLOSE_NOTIFY], sealed);
    }

    fn fail(&mut self, alert: u8, answer: &mut Vec<u8>) -> Opened {
        self.seal_one(ALERT, &[FATAL, alert], answer);
        Opened::Broken
    }

    fn change_key(&mut self, sealed: &mut Vec<u8>) {
        self.seal_one(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], sealed);
        self.write.update();
    }

    /// Opens a record; the error is an alert.
    fn open_13<'a>(&mut self, header: [u8; HEADER], body: &'a mut [u8]) -> Result<(u8, &'a [u8]), u8> {
        if header[0] != APPLICATION_DATA {
            return Err(UNEXPECTED_MESSAGE);
        }
        let (_, nonce) = self.read.next();
        let length = self.read.open(nonce, &header, body).ok_or(BAD_RECORD_MAC)?;
        // The type is the last byte that is not zero.
        let end = body[..length].iter().rposition(|&byte| byte != 0).ok_or(UNEXPECTED_MESSAGE)?;
        match body[end] {
            CHANGE_CIPHER_SPEC => Err(UNEXPECTED_MESSAGE),
            kind => Ok((kind, &body[..end])),
        }
    }

    fn open_12<'a>(&mut self, header: [u8; HEADER], body: &'a mut [u8]) -> Result<(u8, &'a [u8]), u8> {
        let (number, mut nonce) = self.read.next();
        let begins = if self.read.cipher.sends_nonce() { 8 } else { 0 };
        let length = body.len().checked_sub(begins + TAG).ok_or(BAD_RECORD_MAC)?;
        let (sent, body) = body.split_at_mut(begins);
        if begins > 0 {
            // The client chooses; the first part alone is agreed on.
            nonce[..4].copy_from_slice(&self.read.vector[..4]);
            nonce[4..].copy_from_slice(sent);
        }
        let extra = extra_12(number, header[0], length);
        let length = self.read.open(nonce, &extra, body).ok_or(BAD_RECORD_MAC)?;
        Ok((header[0], &body[..length]))
    }

    fn seal_one(&mut self, kind: u8, content: &[u8], sealed: &mut Vec<u8>) {
        let (number, nonce) = self.write.next();
        let begins;
        let tag = if self.is_13 {
            let length = content.len() + 1 + TAG;
            let header = header(APPLICATION_DATA, length);
            sealed.extend(header);
            begins = sealed.len();
            sealed.extend_from_slice(content);
            sealed.push(kind);
            self.write.seal(nonce, &header, &mut sealed[begins..])
        } else {
            let sent: &[u8] = if self.write.cipher.sends_nonce() { &nonce[4..] } else { &[] };
            sealed.extend(header(kind, sent.len() + content.len() + TAG));
            sealed.extend_from_slice(sent);
            begins = sealed.len();
            sealed.extend_from_slice(content);
            self.write.seal(nonce, &extra_12(number, kind, content.len()), &mut sealed[begins..])
        };
        sealed.extend_from_slice(tag.as_ref());
    }
}

fn header(kind: u8, length: usize) -> [u8; HEADER] {
    let [high, low] = (length as u16).to_be_bytes();
    [kind, 3, 3, high, low]
}

fn extra_12(number: u64, kind: u8, length: usize) -> [u8; 13] {
    let mut extra = [0; 13];
    extra[..8].copy_from_slice(&number.to_be_bytes());
    extra[8..11].copy_from_slice(&[kind, 3, 3]);
    extra[11..].copy_from_slice(&(length as u16).to_be_bytes());
    extra
}
