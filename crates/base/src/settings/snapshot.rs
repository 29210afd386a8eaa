//! The values of the server as bytes, so that every process of the server can have them.
//!
//! The process that reads files after `ALTER SYSTEM` is rarely the one that runs the next `SHOW`. It puts
//! [`Effective::encode`]'s bytes into shared memory under a generation number; the others decode them when the number
//! has changed.
//!
//! ```text
//!  u16 count of settings | for each:  u8 pending restart | asked | value | origin
//!  asked, value:  number i64, or text              (which of both says the setting's kind)
//!  origin:        u8 precedence | text, text and u32 line, or nothing
//!  text:          u32 length | bytes
//! ```
//!
//! Rules
//! 1. The bytes live as long as the server, and never on disk: writer and reader are one program.
//! 2. Bytes that are no snapshot decode to `None`; no byte is trusted.

use super::effective::{Effective, Entry};
use super::origin::Origin;
use super::setting::Setting;
use super::table::{COUNT, TABLE};
use super::value::Value;
use crate::codec::Reader;

impl Effective {
    /// The values as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = (COUNT as u16).to_le_bytes().to_vec();
        for entry in &self.entries {
            bytes.push(entry.pending_restart.into());
            put_value(&mut bytes, &entry.asked);
            put_value(&mut bytes, &entry.value);
            put_origin(&mut bytes, &entry.origin);
        }
        bytes
    }

    /// The values of those bytes. Notices are for the start and are not among them.
    pub fn decode(bytes: &[u8]) -> Option<Effective> {
        let mut reader = Reader::new(bytes);
        if usize::from(reader.u16_le()?) != COUNT {
            return None;
        }
        let entries: Option<Vec<Entry>> = TABLE.iter().map(|setting| entry(&mut reader, setting)).collect();
        reader.is_empty().then(|| entries.map(Effective::from_entries)).flatten()
    }
}

fn entry(reader: &mut Reader<'_>, setting: &Setting) -> Option<Entry> {
    let pending_restart = match reader.bytes(1)? {
        [0] => false,
        [1] => true,
        _ => return None,
    };
    let asked = value(reader, setting)?;
    let value = value(reader, setting)?;
    Some(Entry { asked, value, origin: origin(reader)?, pending_restart })
}

fn put_value(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Number(number) => bytes.extend_from_slice(&number.to_le_bytes()),
        Value::Text(text) => put_text(bytes, text),
    }
}

fn value(reader: &mut Reader<'_>, setting: &Setting) -> Option<Value> {
    let value = if setting.kind.is_text() { Value::Text(text(reader)?) } else { Value::Number(reader.i64_le()?) };
    setting.holds(value.as_ref()).then_some(value)
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    // No text is near 4 GiB: each came through a parser.
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

fn text(reader: &mut Reader<'_>) -> Option<String> {
    let length = usize::try_from(reader.u32_le()?).ok()?;
    String::from_utf8(reader.bytes(length)?.to_vec()).ok()
}

fn put_origin(bytes: &mut Vec<u8>, origin: &Origin) {
    bytes.push(origin.precedence());
    match origin {
        Origin::Default | Origin::Computed => {}
        Origin::ConfigFile { path, line } | Origin::AutoFile { path, line } => {
            put_text(bytes, path);
            bytes.extend_from_slice(&line.to_le_bytes());
        }
        Origin::Variable(name) | Origin::Option(name) => put_text(bytes, name),
    }
}

fn origin(reader: &mut Reader<'_>) -> Option<Origin> {
    Some(match reader.bytes(1)? {
        [0] => Origin::Default,
        [1] => Origin::ConfigFile { path: text(reader)?, line: reader.u32_le()? },
        [2] => Origin::AutoFile { path: text(reader)?, line: reader.u32_le()? },
        [3] => Origin::Variable(text(reader)?),
        [4] => Origin::Option(text(reader)?),
        [5] => Origin::Computed,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Layers, Machine};
    use proptest::prelude::*;

    fn sample() -> Effective {
        let mut layers = Layers::new();
        layers.command_line(["--work-mem=64MB".to_owned(), "--listen=[::1]:0".to_owned()]).unwrap();
        layers.environment([("GEARBOX_TIMEZONE".to_owned(), "Europe/Berlin".to_owned())]).unwrap();
        layers.config_file("g.toml", "autovacuum_vacuum_scale_factor = 0.1\n").unwrap();
        let machine = Machine { cpus: 2, memory_bytes: 1 << 30 };
        let mut effective = layers.effective(machine).unwrap();
        layers.auto_file("auto.toml", "engine = 'process'\ndatestyle = 'german'\n").unwrap();
        effective.reload(layers.effective(machine).unwrap());
        effective
    }

    #[test]
    fn a_snapshot_is_the_same_values() {
        let effective = sample();
        assert_eq!(Effective::decode(&effective.encode()), Some(effective));
    }

    #[test]
    fn a_snapshot_cut_short_or_too_long_is_none() {
        let mut bytes = sample().encode();
        for end in 0..bytes.len() {
            assert_eq!(Effective::decode(&bytes[..end]), None);
        }
        bytes.push(0);
        assert_eq!(Effective::decode(&bytes), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn damaged_bytes_are_no_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = sample().encode();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Some(effective) = Effective::decode(&bytes) {
                prop_assert_eq!(effective.encode(), bytes);
            }
        }
    }
}
