//! The few facts of a certificate that logging in needs: whose it is, and by which hash it was signed.
//!
//! Whether it is to be believed is `rustls`'s to say; this reads what it has believed, or the server's own. Reading is by elements
//! of DER (`tag length content`), never trusts a length, and gives up rather than guess.

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 2;
const OBJECT: u8 = 6;
const VERSION: u8 = 0xA0;
const BMP_STRING: u8 = 30;

const COMMON_NAME: &[u8] = &[0x55, 4, 3];
/// How attributes of names are shown; others by their numbers.
const ATTRIBUTES: &[(&[u8], &str)] = &[
    (COMMON_NAME, "CN"),
    (&[0x55, 4, 4], "SN"),
    (&[0x55, 4, 5], "serialNumber"),
    (&[0x55, 4, 6], "C"),
    (&[0x55, 4, 7], "L"),
    (&[0x55, 4, 8], "ST"),
    (&[0x55, 4, 10], "O"),
    (&[0x55, 4, 11], "OU"),
    (&[0x55, 4, 12], "title"),
    (&[0x55, 4, 42], "GN"),
    (&[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 9, 1], "emailAddress"),
    (&[9, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 1], "UID"),
    (&[9, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 25], "DC"),
];

/// One element of DER.
#[derive(Clone, Copy)]
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
}

/// What is left of a run of elements.
#[derive(Clone, Copy)]
struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    fn next(&mut self) -> Option<Element<'a>> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7F => (usize::from(first), rest),
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7F))?;
                (bytes.iter().fold(0, |length, &byte| length << 8 | usize::from(byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(Element { tag, content })
    }

    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|element| element.tag == tag).map(|element| element.content)
    }
}

/// Whose certificate it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Subject {
    /// Its last common name; none if it has none, or one with a zero byte in it, which would be shown as another.
    pub common_name: Option<String>,
    /// The whole name as `/CN=ann/O=here`.
    pub name: String,
    /// The name of who signed it.
    pub issuer: String,
    /// Its number, in decimal digits.
    pub serial: String,
}

/// Reads whose certificate this is; none if it is no certificate.
pub fn subject(der: &[u8]) -> Option<Subject> {
    let mut body = Elements(Elements(Elements(der).expect(SEQUENCE)?).expect(SEQUENCE)?);
    let mut serial = body.next()?;
    if serial.tag == VERSION {
        serial = body.next()?;
    }
    if serial.tag != INTEGER {
        return None;
    }
    body.expect(SEQUENCE)?;
    let issuer = body.expect(SEQUENCE)?;
    body.expect(SEQUENCE)?;
    let name = body.expect(SEQUENCE)?;
    Some(Subject {
        common_name: common_name(name),
        name: shown(name)?,
        issuer: shown(issuer)?,
        serial: decimal(serial.content),
    })
}

/// The hash of the server's certificate that both ends of a connection know: RFC 5929's `tls-server-end-point`. None where the
/// certificate was signed in a way that names no hash.
pub fn end_point(der: &[u8]) -> Option<Vec<u8>> {
    let mut parts = Elements(Elements(der).expect(SEQUENCE)?);
    parts.expect(SEQUENCE)?;
    let algorithm = Elements(parts.expect(SEQUENCE)?).expect(OBJECT)?;
    const RSA: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1];
    const ECDSA: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 4];
    let rsa = algorithm.strip_prefix(RSA);
    let ecdsa = algorithm.strip_prefix(ECDSA);
    // MD5 and SHA-1 count as SHA-256: the RFC says so.
    match (rsa, ecdsa) {
        (Some([4 | 5 | 11]), _) | (_, Some([1] | [3, 2])) => Some(Sha256::digest(der).to_vec()),
        (Some([12]), _) | (_, Some([3, 3])) => Some(Sha384::digest(der).to_vec()),
        (Some([13]), _) | (_, Some([3, 4])) => Some(Sha512::digest(der).to_vec()),
        (Some([14]), _) | (_, Some([3, 1])) => Some(Sha224::digest(der).to_vec()),
        _ => None,
    }
}

/// Every attribute of a name, in its order: the number of its kind, and its value.
fn attributes(name: &[u8]) -> Option<Vec<(&[u8], Element<'_>)>> {
    let mut found = Vec::new();
    let mut sets = Elements(name);
    while !sets.0.is_empty() {
        let mut pairs = Elements(sets.expect(SET)?);
        while !pairs.0.is_empty() {
            let mut pair = Elements(pairs.expect(SEQUENCE)?);
            found.push((pair.expect(OBJECT)?, pair.next()?));
        }
    }
    Some(found)
}

fn text(value: Element<'_>) -> String {
    if value.tag == BMP_STRING {
        let units = value.content.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        return char::decode_utf16(units).map(|unit| unit.unwrap_or('\u{FFFD}')).collect();
    }
    String::from_utf8_lossy(value.content).into_owned()
}

fn common_name(name: &[u8]) -> Option<String> {
    let found = attributes(name)?.into_iter().rev().find(|(kind, _)| *kind == COMMON_NAME)?;
    Some(text(found.1)).filter(|text| !text.contains('\0'))
}

fn shown(name: &[u8]) -> Option<String> {
    let mut all = String::new();
    for (kind, value) in attributes(name)? {
        let known = ATTRIBUTES.iter().find(|(number, _)| *number == kind);
        let kind = known.map_or_else(|| numbers(kind), |(_, word)| (*word).to_owned());
        all.push_str(&format!("/{kind}={}", text(value).replace('\0', "\\00")));
    }
    Some(all)
}

/// An object's number with dots.
fn numbers(object: &[u8]) -> String {
    let mut parts = Vec::new();
    let mut part = 0u64;
    for &byte in object {
        part = part.wrapping_shl(7) | u64::from(byte & 0x7F);
        if byte & 0x80 == 0 {
            match parts.is_empty() {
                true => parts.extend([(part / 40).min(2), part - 40 * (part / 40).min(2)]),
                false => parts.push(part),
            }
            part = 0;
        }
    }
    parts.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}

/// A number of any length in decimal digits.
fn decimal(bytes: &[u8]) -> String {
    let mut digits = vec![0u8];
    for &byte in bytes {
        let mut carry = u32::from(byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 10) as u8;
            carry /= 10;
        }
        while carry > 0 {
            digits.push((carry % 10) as u8);
            carry /= 10;
        }
    }
    digits.iter().rev().map(|&digit| char::from(b'0' + digit)).collect()
}
