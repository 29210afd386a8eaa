//! What the server shows of itself in a handshake, and what it asks of clients.

use super::certificate;
use base::{Error, Result, sqlstate};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use std::sync::Arc;

/// A version of the protocol. Those before are not safe, and not there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Version {
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

/// What the files say, in PEM. The names of the files are the caller's, and in its errors.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    /// The server's certificate, and those between it and one that clients know.
    pub certificate: &'a [u8],
    /// Its private key.
    pub key: &'a [u8],
    /// Whose signature makes a client's certificate good; none if clients are asked for none.
    pub authorities: Option<&'a [u8]>,
    /// Certificates of clients that were taken back.
    pub revoked: Option<&'a [u8]>,
}

/// Which of the files an error is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum File {
    /// The certificate.
    Certificate,
    /// The key.
    Key,
    /// The authorities.
    Authorities,
    /// What was revoked.
    Revoked,
}

/// A configuration, from which any number of handshakes begin.
#[derive(Clone)]
pub struct Config {
    pub(super) server: Arc<ServerConfig>,
    end_point: Option<Arc<[u8]>>,
}

impl Config {
    /// Makes one of what the files say. The error comes with the file that it is about.
    pub fn new(files: &Files<'_>, least: Version, most: Version) -> std::result::Result<Config, (File, Error)> {
        let chain = certificates(files.certificate).map_err(|error| (File::Certificate, error))?;
        let key = PrivateKeyDer::from_pem_slice(files.key).map_err(|error| {
            let encrypted = contains(files.key, b"ENCRYPTED");
            let error = bad(error);
            (File::Key, if encrypted { error.hint("Private keys with a passphrase are not supported.") } else { error })
        })?;
        let end_point = chain.first().and_then(|own| certificate::end_point(own)).map(Arc::from);
        let provider = Arc::new(ring::default_provider());
        let verifier = match files.authorities {
            None => None,
            Some(pem) => Some(verifier(pem, files.revoked, provider.clone())?),
        };
        let all: [(Version, &'static SupportedProtocolVersion); 2] =
            [(Version::Tls12, &rustls::version::TLS12), (Version::Tls13, &rustls::version::TLS13)];
        let versions: Vec<_> =
            all.into_iter().filter(|(version, _)| (least..=most).contains(version)).map(|(_, known)| known).collect();
        let builder = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|error| (File::Certificate, bad(error)))?;
        let builder = match verifier {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        let mut server = builder.with_single_cert(chain, key).map_err(|error| (File::Key, bad(error)))?;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        server.enable_secret_extraction = true;
        server.ignore_client_order = true;
        Ok(Config { server: Arc::new(server), end_point })
    }

    /// The hash of the server's certificate, for channel binding.
    pub fn end_point(&self) -> Option<&[u8]> {
        self.end_point.as_deref()
    }
}

fn verifier(
    authorities: &[u8],
    revoked: Option<&[u8]>,
    provider: Arc<CryptoProvider>,
) -> std::result::Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, (File, Error)> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(authorities).map_err(|error| (File::Authorities, error))? {
        roots.add(certificate).map_err(|error| (File::Authorities, bad(error)))?;
    }
    let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).allow_unauthenticated();
    if let Some(pem) = revoked {
        let lists: std::result::Result<Vec<_>, _> = CertificateRevocationListDer::pem_slice_iter(pem).collect();
        let lists = lists.map_err(|error| (File::Revoked, bad(error)))?;
        if lists.is_empty() {
            return Err((File::Revoked, bad("there is no list in it")));
        }
        builder = builder.with_crls(lists).enforce_revocation_expiration();
    }
    builder.build().map_err(|error| (File::Revoked, bad(error)))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let all: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if all.is_empty() => Err(bad("there is no certificate in it")),
        Ok(all) => Ok(all),
        Err(error) => Err(bad(error)),
    }
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

/// The reason becomes the message's end; the caller puts the file's name before it.
fn bad(reason: impl std::fmt::Display) -> Error {
    Error::session(sqlstate::CONFIG_FILE_ERROR, reason.to_string())
}
