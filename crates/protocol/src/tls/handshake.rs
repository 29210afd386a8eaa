//! A connection's handshake: records of the client in, records of the server out, until both have the same secrets.
//!
//! One record is taken at a time, and none after the handshake's last: what follows it is the first that is opened with the new keys,
//! which is not `rustls`'s to do any more.
//!
//! The secrets are asked for twice. `rustls` gives keys, vectors and numbers of records at the end
//! (`dangerous_extract_secrets`); what the *next* keys are made from, in TLS 1.3, it tells its log of keys alone. So each handshake
//! has a log of its own, which keeps those two and forgets them with the handshake.

use super::certificate::{self, Subject};
use super::key::{Cipher, Direction, SECRET_MAX};
use super::{Config, HEADER, RECORD_MAX, Records};
use base::{Error, Result, sqlstate};
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use rustls::{ConnectionTrafficSecrets, KeyLog, ProtocolVersion, ServerConnection};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A handshake under way. Memory of this process: it ends within the request that it began in.
pub struct Handshake {
    connection: ServerConnection,
    secrets: Arc<Secrets>,
}

/// What was agreed on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Secured {
    /// `TLSv1.3`, for example.
    pub version: &'static str,
    /// The cipher's name as OpenSSL spells it.
    pub cipher: &'static str,
    /// The bits of its key.
    pub bits: u32,
    /// Whose certificate the client has shown, which was believed.
    pub client: Option<Subject>,
}

/// The log of keys of one handshake.
#[derive(Default)]
struct Secrets {
    client: OnceLock<Vec<u8>>,
    server: OnceLock<Vec<u8>>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, _client_random: &[u8], secret: &[u8]) {
        let _ = match label {
            "CLIENT_TRAFFIC_SECRET_0" => self.client.set(secret.to_vec()),
            "SERVER_TRAFFIC_SECRET_0" => self.server.set(secret.to_vec()),
            _ => Ok(()),
        };
    }

    fn will_log(&self, label: &str) -> bool {
        matches!(label, "CLIENT_TRAFFIC_SECRET_0" | "SERVER_TRAFFIC_SECRET_0")
    }
}

/// A clock that stands still: a handshake is shorter than what certificates count in.
#[derive(Debug)]
struct Stopped(Duration);

impl TimeProvider for Stopped {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(self.0))
    }
}

fn refused(error: impl fmt::Display) -> Error {
    Error::session(sqlstate::PROTOCOL_VIOLATION, format!("could not accept SSL connection: {error}"))
}

impl Handshake {
    /// Begins one, at that time: seconds since 1970.
    pub fn new(config: &Config, now_s: u64) -> Result<Handshake> {
        let secrets = Arc::new(Secrets::default());
        let mut server = (*config.server).clone();
        server.key_log = secrets.clone();
        server.time_provider = Arc::new(Stopped(Duration::from_secs(now_s)));
        let connection = ServerConnection::new(Arc::new(server)).map_err(refused)?;
        Ok(Handshake { connection, secrets })
    }

    /// The length of the record at the front of `input`, once it is whole. Errors: it is none.
    pub fn whole(input: &[u8]) -> Result<Option<usize>> {
        let Some(header) = input.first_chunk::<HEADER>() else { return Ok(None) };
        let length = HEADER + usize::from(u16::from_be_bytes([header[3], header[4]]));
        if !(20..=23).contains(&header[0]) || header[1] != 3 || length > HEADER + RECORD_MAX {
            return Err(refused("these are not records of TLS"));
        }
        Ok((input.len() >= length).then_some(length))
    }

    /// Takes one whole record of the client; what the server says goes to `output`, also with an error: it says why.
    pub fn take(&mut self, record: &[u8], output: &mut Vec<u8>) -> Result<()> {
        let mut rest = record;
        let mut outcome = Ok(());
        while outcome.is_ok() && !rest.is_empty() {
            outcome = match self.connection.read_tls(&mut rest) {
                Ok(0) => Err(refused("a record is too long")),
                Ok(_) => self.connection.process_new_packets().map(drop).map_err(refused),
                Err(error) => Err(refused(error)),
            };
        }
        while self.connection.wants_write() {
            self.connection.write_tls(output).map_err(refused)?;
        }
        outcome
    }

    /// True once both ends have the secrets.
    pub fn is_done(&self) -> bool {
        !self.connection.is_handshaking()
    }

    /// What came of it.
    pub fn finish(self) -> Result<(Records, Secured)> {
        let Handshake { connection, secrets } = self;
        let is_13 = match connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => true,
            Some(ProtocolVersion::TLSv1_2) => false,
            _ => return Err(refused("no version was agreed on")),
        };
        let client = match connection.peer_certificates().and_then(|chain| chain.first()) {
            Some(der) => Some(certificate::subject(der).ok_or_else(|| refused("the certificate cannot be read"))?),
            None => None,
        };
        let suite = connection.negotiated_cipher_suite().map_or("", |suite| open_ssl_name(suite.suite()));
        let extracted = connection.dangerous_extract_secrets().map_err(refused)?;
        let none = Vec::new();
        let (read, bits) = direction(extracted.rx, secrets.client.get().unwrap_or(&none))?;
        let (write, _) = direction(extracted.tx, secrets.server.get().unwrap_or(&none))?;
        if is_13 && (secrets.client.get().is_none() || secrets.server.get().is_none()) {
            return Err(refused("the secrets were not told"));
        }
        let version = if is_13 { "TLSv1.3" } else { "TLSv1.2" };
        Ok((Records { is_13, read, write }, Secured { version, cipher: suite, bits, client }))
    }
}

fn direction((sequence, secrets): (u64, ConnectionTrafficSecrets), next: &[u8]) -> Result<(Direction, u32)> {
    let (cipher, key, vector) = match &secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (Cipher::Aes128, key, iv),
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (Cipher::Aes256, key, iv),
        ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (Cipher::ChaCha20, key, iv),
        _ => return Err(refused("the cipher is not known")),
    };
    let key = key.as_ref();
    if key.len() != cipher.key_bytes() || next.len() > SECRET_MAX {
        return Err(refused("the keys do not fit the cipher"));
    }
    Ok((Direction::new(cipher, key, vector.as_ref(), sequence, next), 8 * key.len() as u32))
}

/// What clients, which are used to OpenSSL, call a cipher.
fn open_ssl_name(suite: rustls::CipherSuite) -> &'static str {
    use rustls::CipherSuite as Suite;
    match suite {
        Suite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        Suite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        Suite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        Suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        Suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        Suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-ECDSA-CHACHA20-POLY1305",
        Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        Suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        Suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        _ => "unknown",
    }
}
