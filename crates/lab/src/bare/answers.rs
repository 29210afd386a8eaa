//! Canned answers, chosen by the first byte of what came; the same bytes as `gearbox limit`'s.

/// What a connection is answered.
pub(super) struct Answers {
    welcome: Vec<u8>,
    parsed: Vec<u8>,
    row: Vec<u8>,
    about_tables: Vec<u8>,
}

impl Answers {
    /// Writes them down once.
    pub(super) fn new() -> Answers {
        let ready = message(b'Z', b"I");
        let mut welcome = message(b'R', &0_u32.to_be_bytes());
        for (name, value) in [
            ("server_version", "15.18"),
            ("server_encoding", "UTF8"),
            ("client_encoding", "UTF8"),
            ("standard_conforming_strings", "on"),
            ("integer_datetimes", "on"),
        ] {
            welcome.extend(message(b'S', format!("{name}\0{value}\0").as_bytes()));
        }
        welcome.extend(message(b'K', &[0; 8]));
        let row = [
            message(b'2', b""),
            describe(&["abalance"]),
            message(b'D', &columns(&[Some("-12345")])),
            message(b'C', b"SELECT 1\0"),
        ];
        let about_tables = [
            describe(&["n", "partstrat", "count"]),
            message(b'D', &columns(&[Some("1"), None, Some("0")])),
            message(b'C', b"SELECT 1\0"),
        ];
        Answers {
            welcome: [welcome, ready.clone()].concat(),
            parsed: [message(b'1', b""), ready.clone()].concat(),
            row: [row.concat(), ready.clone()].concat(),
            about_tables: [about_tables.concat(), ready].concat(),
        }
    }

    /// The answer to what a connection has sent, which comes whole in one piece; none for a goodbye.
    pub(super) fn to(&self, request: &[u8]) -> Option<&[u8]> {
        match request {
            // A start-up message begins with its length, less than 64 KiB; that of 8 bytes asks for encryption.
            [0, 0, 0, 8, ..] => Some(b"N"),
            [0, ..] => Some(&self.welcome),
            [b'P', ..] => Some(&self.parsed),
            [b'B', ..] => Some(&self.row),
            [b'Q', ..] => Some(&self.about_tables),
            _ => None,
        }
    }
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() + 4) as u32;
    [&[tag], &length.to_be_bytes()[..], body].concat()
}

fn describe(names: &[&str]) -> Vec<u8> {
    let mut body = (names.len() as u16).to_be_bytes().to_vec();
    for name in names {
        body.extend(name.as_bytes());
        // The end of the name, no table and column, type int4 of 4 bytes without a modifier, as text.
        body.extend([0; 7]);
        body.extend(23_u32.to_be_bytes());
        body.extend(4_u16.to_be_bytes());
        body.extend((-1_i32).to_be_bytes());
        body.extend([0; 2]);
    }
    message(b'T', &body)
}

fn columns(values: &[Option<&str>]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        let length = value.map_or(-1, |text| text.len() as i32);
        body.extend(length.to_be_bytes());
        body.extend(value.unwrap_or_default().as_bytes());
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_decides() {
        let answers = Answers::new();
        assert_eq!(answers.to(&[0, 0, 0, 8, 4, 210, 22, 47]), Some(&b"N"[..]));
        assert_eq!(answers.to(&[0, 0, 0, 40, 0, 3, 0, 0]).unwrap()[0], b'R');
        assert_eq!(answers.to(b"P....").unwrap()[0], b'1');
        assert_eq!(answers.to(b"B....").unwrap()[0], b'2');
        assert_eq!(answers.to(b"Q....").unwrap()[0], b'T');
        assert_eq!(answers.to(b"X"), None);
        assert_eq!(answers.to(b""), None);
    }

    #[test]
    fn every_answer_ends_ready() {
        let answers = Answers::new();
        for request in [&[0, 0, 0, 40][..], b"P", b"B", b"Q"] {
            assert!(answers.to(request).unwrap().ends_with(b"Z\0\0\0\x05I"));
        }
    }
}
