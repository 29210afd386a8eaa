//! TLS of a connection: the handshake within one request, and the session's cover from then on.
//!
//! The handshake is the one part of a session that is memory of one process, so the session holds on to its engine until it is over,
//! as it does within any statement: it waits for its client with fibers suspended, with another engine called where sessions hold
//! theirs, and at most for as long as `authentication_timeout` lets it. It begins when the client's first record is whole, and
//! what it computes runs where blocking calls do, so that nobody else of the engine waits for a signature.

use base::{Error, Result};
use kernel::clock;
use kernel::cover::{Cover, Opened};
use kernel::io::blocking;
use kernel::region::arena::{ArenaRef, ArenaVec};
use kernel::session::Session;
use kernel::wait::Event;
use protocol::tls::{self, Config, Handshake, Records, Secured};

/// Microseconds since 2000 to seconds since 1970.
const EPOCH_S: i64 = 946_684_800;
/// The longest hash of a certificate.
const END_POINT_MAX: usize = 64;

/// What is known of an encrypted connection: a value of the session.
pub struct Encrypted {
    /// `TLSv1.3`
    pub version: &'static str,
    /// The cipher, as OpenSSL calls it.
    pub cipher: &'static str,
    /// The bits of its key.
    pub bits: u32,
    /// Has the client shown a certificate?
    pub has_certificate: bool,
    /// Its common name, its whole name, who signed it, its number; each zero-terminated. An empty name is none.
    client: ArenaVec<u8>,
    end_point: [u8; END_POINT_MAX],
    end_point_len: usize,
}

impl Encrypted {
    fn of(secured: &Secured, end_point: &[u8], arena: ArenaRef) -> Result<Encrypted> {
        let mut client = ArenaVec::new_in(arena);
        if let Some(subject) = &secured.client {
            let name = subject.common_name.as_deref().unwrap_or_default();
            for text in [name, &subject.name, &subject.issuer, &subject.serial] {
                let text = text.replace('\0', "");
                client
                    .try_reserve(text.len() + 1)
                    .map_err(|_| Error::out_of_memory("a client's certificate", text.len()))?;
                client.extend_from_slice(text.as_bytes());
                client.push(0);
            }
        }
        let mut whole = [0; END_POINT_MAX];
        let end_point = &end_point[..end_point.len().min(END_POINT_MAX)];
        whole[..end_point.len()].copy_from_slice(end_point);
        Ok(Encrypted {
            version: secured.version,
            cipher: secured.cipher,
            bits: secured.bits,
            has_certificate: secured.client.is_some(),
            client,
            end_point: whole,
            end_point_len: end_point.len(),
        })
    }

    fn text(&self, index: usize) -> &str {
        std::str::from_utf8(&self.client).unwrap_or_default().split('\0').nth(index).unwrap_or_default()
    }

    /// The common name of the client's certificate.
    pub fn common_name(&self) -> Option<&str> {
        Some(self.text(0)).filter(|name| !name.is_empty())
    }

    /// The name of the client's certificate, who signed it, and its number; empty without one.
    pub fn certificate(&self) -> [&str; 3] {
        [self.text(1), self.text(2), self.text(3)]
    }

    /// The hash of the server's certificate that the client was shown, for channel binding.
    pub fn end_point(&self) -> Option<&[u8]> {
        Some(&self.end_point[..self.end_point_len]).filter(|hash| !hash.is_empty())
    }
}

/// A session's cover.
struct Tls(Records);

impl Cover for Tls {
    fn open(&mut self, raw: &mut Vec<u8>, input: &mut Vec<u8>, sealed: &mut Vec<u8>) -> Opened {
        match self.0.open(raw, input, sealed) {
            tls::Opened::Open => Opened::Open,
            tls::Opened::Ended => Opened::Ended,
            tls::Opened::Broken => Opened::Broken,
        }
    }

    fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) {
        self.0.seal(plain, sealed);
    }

    fn farewell(&mut self, sealed: &mut Vec<u8>) {
        self.0.farewell(sealed);
    }

    fn put_away(&self, into: &mut Vec<u8>) {
        self.0.put_away(into);
    }
}

/// Says how covers are taken up. Before the first engine.
pub fn init() {
    kernel::cover::taken_up_by(|bytes| Some(Box::new(Tls(Records::take_up(bytes)?))));
}

/// Has the client's first record come?
pub fn may_begin(session: &Session) -> Result<bool> {
    Ok(Handshake::whole(session.input())?.is_some())
}

/// The handshake, from its first record to the session's cover.
///
/// Errors: what is wrong with it. The client has been told, as far as there is a way to; nothing else may be sent to it.
pub fn shake_hands(session: &mut Session, config: &Config) -> Result<Encrypted> {
    let mut handshake = Handshake::new(config, (clock::wall_us() / 1_000_000 + EPOCH_S) as u64)?;
    while !handshake.is_done() {
        let Some(length) = Handshake::whole(session.input())? else {
            session.fill()?;
            continue;
        };
        let record = session.input()[..length].to_vec();
        session.consume(length);
        let (answer, outcome);
        (handshake, answer, outcome) = blocking::run(Event::SslHandshake, move || {
            let mut answer = Vec::new();
            let outcome = handshake.take(&record, &mut answer);
            (handshake, answer, outcome)
        });
        session.output().extend_from_slice(&answer);
        if outcome.is_err() {
            // The alert that says why.
            let _ = session.flush();
        }
        outcome?;
    }
    session.flush()?;
    let (records, secured) = handshake.finish()?;
    let encrypted = Encrypted::of(&secured, config.end_point().unwrap_or_default(), session.arena())?;
    session.cover(Box::new(Tls(records)))?;
    Ok(encrypted)
}
