//! Handshakes and records against `rustls`'s own client.

use super::*;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::io::{Read, Write};
use std::sync::Arc;

macro_rules! pem {
    ($name:literal) => {
        include_bytes!(concat!("../../../server/tests/tls/", $name))
    };
}

const AUTHORITY: &[u8] = pem!("authority.crt");
/// A day on which the certificates are good.
const NOW: u64 = 1_800_000_000;

fn files() -> Files<'static> {
    Files { certificate: pem!("server.crt"), key: pem!("server.key"), authorities: Some(AUTHORITY), revoked: None }
}

fn client(versions: &[&'static rustls::SupportedProtocolVersion], own: Option<(&[u8], &[u8])>) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(AUTHORITY).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap();
    let builder = builder.with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let chain = CertificateDer::pem_slice_iter(chain).map(|one| one.unwrap()).collect();
            builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key).unwrap()).unwrap()
        }
    };
    ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap()
}

/// Both ends talk until the server has its records; answers what of the client's bytes came after.
fn shake(client: &mut ClientConnection, config: &Config) -> base::Result<(Records, Secured, Vec<u8>)> {
    let mut handshake = Handshake::new(config, NOW).unwrap();
    let mut to_server = Vec::new();
    loop {
        let mut to_client = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut to_server).unwrap();
        }
        while !handshake.is_done()
            && let Some(length) = Handshake::whole(&to_server)?
        {
            let record: Vec<u8> = to_server.drain(..length).collect();
            handshake.take(&record, &mut to_client)?;
        }
        let mut rest = &to_client[..];
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            let _ = client.process_new_packets();
        }
        if handshake.is_done() {
            let (records, secured) = handshake.finish()?;
            return Ok((records, secured, to_server));
        }
        assert!(client.wants_write(), "both ends wait");
    }
}

fn pass_on(client: &mut ClientConnection, sealed: &[u8]) -> Vec<u8> {
    let mut rest = sealed;
    let mut plain = Vec::new();
    while !rest.is_empty() {
        client.read_tls(&mut rest).unwrap();
        client.process_new_packets().unwrap();
        let mut piece = [0; 40_000];
        while let Ok(count @ 1..) = client.reader().read(&mut piece) {
            plain.extend_from_slice(&piece[..count]);
        }
    }
    plain
}

/// As between two requests: on another engine.
fn moved(records: Records) -> Records {
    let mut bytes = Vec::new();
    records.put_away(&mut bytes);
    assert_eq!(bytes.len(), records::PUT_AWAY);
    Records::take_up(&bytes).unwrap()
}

const BOTH: [(&str, &rustls::SupportedProtocolVersion); 2] =
    [("TLSv1.2", &rustls::version::TLS12), ("TLSv1.3", &rustls::version::TLS13)];

#[test]
fn records_go_both_ways_and_move_with_their_session() {
    let config = Config::new(&files(), Version::Tls12, Version::Tls13).unwrap();
    for (name, version) in BOTH {
        let mut client = client(&[version], None);
        let (mut records, secured, mut raw) = shake(&mut client, &config).unwrap();
        assert_eq!((secured.version, secured.bits, secured.client), (name, 256, None));
        assert!(secured.cipher.contains("AES256") || secured.cipher.contains("AES_256"), "{}", secured.cipher);
        for round in 0..5usize {
            let said: Vec<u8> = (0..round * 17_000 + 1).map(|at| at as u8).collect();
            let mut rest = &said[..];
            let mut plain = Vec::new();
            let mut answer = Vec::new();
            while !rest.is_empty() {
                let taken = client.writer().write(rest).unwrap();
                rest = &rest[taken..];
                while client.wants_write() {
                    client.write_tls(&mut raw).unwrap();
                }
                // Half a record comes first, and moves with the session.
                let tail = raw.split_off(raw.len() / 2);
                assert_eq!(records.open(&mut raw, &mut plain, &mut answer), Opened::Open);
                records = moved(records);
                raw.extend(tail);
                assert_eq!(records.open(&mut raw, &mut plain, &mut answer), Opened::Open);
            }
            assert!(plain == said && raw.is_empty() && answer.is_empty());
            let mut sealed = Vec::new();
            records.seal(&said, &mut sealed);
            records = moved(records);
            assert!(pass_on(&mut client, &sealed) == said);
        }
        let mut sealed = Vec::new();
        records.farewell(&mut sealed);
        pass_on(&mut client, &sealed);
        assert_eq!(client.reader().read(&mut [0]).unwrap(), 0, "an orderly end");
        client.send_close_notify();
        client.write_tls(&mut raw).unwrap();
        assert_eq!(records.open(&mut raw, &mut Vec::new(), &mut Vec::new()), Opened::Ended);
    }
}

#[test]
fn keys_are_changed_when_either_end_wants_to() {
    let config = Config::new(&files(), Version::Tls12, Version::Tls13).unwrap();
    let mut client = client(&[&rustls::version::TLS13], None);
    let (mut records, _, mut raw) = shake(&mut client, &config).unwrap();
    for round in 0..3 {
        client.refresh_traffic_keys().unwrap();
        client.writer().write_all(b"with the next key").unwrap();
        while client.wants_write() {
            client.write_tls(&mut raw).unwrap();
        }
        let (mut plain, mut sealed) = (Vec::new(), Vec::new());
        assert_eq!(records.open(&mut raw, &mut plain, &mut sealed), Opened::Open);
        assert_eq!(plain, b"with the next key");
        assert!(!sealed.is_empty(), "the client has asked for a new key of the server's, too");
        records = moved(records);
        if round == 2 {
            // So many have gone out that the server wants a new one by itself.
            records.write.sequence = 1 << 23;
            let mut other = Vec::new();
            records.seal(b"never seen", &mut other);
            assert_eq!(records.write.sequence, 1, "one record with the new key");
            return;
        }
        records.seal(b"and back", &mut sealed);
        assert_eq!(pass_on(&mut client, &sealed), b"and back");
    }
}

#[test]
fn a_record_that_was_changed_ends_the_connection() {
    let config = Config::new(&files(), Version::Tls12, Version::Tls13).unwrap();
    for (name, version) in BOTH {
        for at in [0, 4, 5, 14, 30] {
            let mut client = client(&[version], None);
            let (mut records, _, mut raw) = shake(&mut client, &config).unwrap();
            client.writer().write_all(b"select 'something that nobody else reads'").unwrap();
            client.write_tls(&mut raw).unwrap();
            raw[at] ^= 1;
            let (mut plain, mut answer) = (Vec::new(), Vec::new());
            let opened = records.open(&mut raw, &mut plain, &mut answer);
            // One byte more is waited for; then it does not open either.
            let opened = if opened == Opened::Open && at == 4 {
                raw.push(0);
                records.open(&mut raw, &mut plain, &mut answer)
            } else {
                opened
            };
            assert!(opened == Opened::Broken && plain.is_empty() && !answer.is_empty(), "{name}, byte {at}");
        }
        // What was sent once is not taken twice.
        let mut client = client(&[version], None);
        let (mut records, _, mut raw) = shake(&mut client, &config).unwrap();
        client.writer().write_all(b"once").unwrap();
        client.write_tls(&mut raw).unwrap();
        raw.extend(raw.clone());
        let mut plain = Vec::new();
        assert_eq!(records.open(&mut raw, &mut plain, &mut Vec::new()), Opened::Broken);
        assert_eq!(plain, b"once");
    }
}

#[test]
fn clients_show_certificates_that_are_looked_at() {
    let ann: (&[u8], &[u8]) = (pem!("ann.crt"), pem!("ann.key"));
    let revoked: (&[u8], &[u8]) = (pem!("revoked.crt"), pem!("revoked.key"));
    let foreign: (&[u8], &[u8]) = (pem!("foreign.crt"), pem!("foreign.key"));
    let plain = Config::new(&files(), Version::Tls12, Version::Tls13).unwrap();
    let list = Files { revoked: Some(pem!("revoked.crl")), ..files() };
    let listed = Config::new(&list, Version::Tls12, Version::Tls13).unwrap();
    for (name, version) in BOTH {
        let shows = |own, config: &Config| shake(&mut client(&[version], Some(own)), config);
        let (_, secured, _) = shows(ann, &plain).unwrap();
        let subject = secured.client.unwrap();
        assert_eq!(subject.common_name.as_deref(), Some("ann"));
        assert_eq!((&*subject.name, &*subject.issuer), ("/O=Gearbox/CN=ann", "/CN=Gearbox test authority"));
        assert_eq!(subject.serial, "1002");
        assert!(shows(foreign, &plain).is_err(), "{name}: signed by somebody else");
        assert!(shows(revoked, &plain).is_ok(), "{name}: nobody has said that it was revoked");
        assert!(shows(revoked, &listed).is_err(), "{name}");
        assert!(shows(ann, &listed).is_ok(), "{name}");
    }
}

#[test]
fn what_is_wrong_with_files_is_said() {
    use config::File;
    let cases: [(Files<'_>, File); 4] = [
        (Files { certificate: b"", ..files() }, File::Certificate),
        (Files { key: b"-----BEGIN PRIVATE KEY-----\nAAAA\n", ..files() }, File::Key),
        (Files { key: pem!("ann.key"), ..files() }, File::Key),
        (Files { authorities: Some(b"nothing"), ..files() }, File::Authorities),
    ];
    for (files, file) in cases {
        assert_eq!(Config::new(&files, Version::Tls12, Version::Tls13).err().map(|(file, _)| file), Some(file));
    }
    let config = Config::new(&files(), Version::Tls13, Version::Tls13).unwrap();
    assert_eq!(config.end_point().map(<[u8]>::len), Some(32));
    assert!(shake(&mut client(&[&rustls::version::TLS12], None), &config).is_err(), "an old version");
}

#[test]
fn nonsense_is_no_handshake_and_no_certificate() {
    let config = Config::new(&files(), Version::Tls12, Version::Tls13).unwrap();
    assert!(Handshake::whole(b"GET / HTTP/1.1").is_err());
    assert!(Handshake::whole(&[22, 3, 1, 0xFF, 0xFF]).is_err());
    assert_eq!(Handshake::whole(&[22, 3, 1, 0, 1]).unwrap(), None);
    let mut handshake = Handshake::new(&config, NOW).unwrap();
    let mut output = Vec::new();
    assert!(handshake.take(&[22, 3, 1, 0, 4, 1, 0, 0, 0], &mut output).is_err());
    assert!(!output.is_empty(), "an alert says why");
    let der = CertificateDer::from_pem_slice(pem!("ann.crt")).unwrap();
    for length in 0..der.len() {
        certificate::subject(&der[..length]);
        certificate::end_point(&der[..length]);
        let mut damaged = der.to_vec();
        damaged[length] ^= 0x55;
        certificate::subject(&damaged);
        certificate::end_point(&damaged);
    }
}
