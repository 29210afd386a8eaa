//! Keys and certificates of a run: an authority, a server's certificate for `localhost` that it has signed, and an authority that nobody
//! knows. `openssl` makes them, good for two days.
//!
//! Programs find the two authorities by the environment: [`Keys::environment`].

use super::output;
use crate::server_under_test::ServerUnderTest;
use crate::{Outcome, tree};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What both servers and programs are given.
pub struct Keys(PathBuf);

impl Keys {
    /// Makes all of them.
    pub fn new() -> Outcome<Keys> {
        let keys = Keys(tree::scratch("keys")?);
        keys.openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout authority.key -out authority.crt -days 2 -subj /CN=authority")?;
        keys.openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout stranger.key -out stranger.crt -days 2 -subj /CN=stranger")?;
        keys.openssl("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout server.key -out server.csr -subj /CN=localhost")?;
        tree::write(&keys.0.join("names"), "basicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost\n")?;
        keys.openssl("x509 -req -in server.csr -CA authority.crt -CAkey authority.key -CAcreateserial -days 2 -extfile names -out server.crt")?;
        Ok(keys)
    }

    fn openssl(&self, words: &str) -> Outcome<()> {
        let mut openssl = Command::new("openssl");
        openssl.args(words.split(' ')).current_dir(&self.0).stdin(Stdio::null());
        output(&mut openssl)
            .map(drop)
            .map_err(|text| format!("{text}\nopenssl is needed; as root: apt-get install openssl"))
    }

    /// The server's certificate.
    pub fn certificate(&self) -> PathBuf {
        self.0.join("server.crt")
    }

    /// The key to it.
    pub fn key(&self) -> PathBuf {
        self.0.join("server.key")
    }

    /// What a server that encrypts is started with.
    pub fn options(&self) -> Vec<String> {
        let path = |path: PathBuf| path.display().to_string();
        let words = ["--ssl".into(), "on".into(), "--ssl-cert-file".into(), path(self.certificate())];
        words.into_iter().chain(["--ssl-key-file".into(), path(self.key())]).collect()
    }

    /// The variables in which programs find the authority to believe, and the one that has signed nothing.
    pub fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [("CLIENT_AUTHORITY", self.0.join("authority.crt")), ("CLIENT_STRANGER", self.0.join("stranger.crt"))]
    }

    /// psql with `verify-full`: who is who it should be is believed, others are not.
    pub fn ask_psql(&self, address: &super::Address) -> Outcome<()> {
        let ask = |host: &str, authority: &Path| {
            let mut psql = address.client("psql");
            let target =
                format!("host={host} hostaddr=127.0.0.1 sslmode=verify-full sslrootcert={}", authority.display());
            output(psql.args([
                "-X",
                "-A",
                "-t",
                "-d",
                &target,
                "-c",
                "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
            ]))
        };
        let [(_, authority), (_, stranger)] = self.environment();
        let told = ask("localhost", &authority)?;
        if told.trim() != "t" {
            return Err(format!("psql: the server says of an encrypted connection: {told}"));
        }
        for (host, authority, wanted) in [
            ("localhost", &stranger, "certificate verify failed"),
            ("elsewhere", &authority, "does not match host name"),
        ] {
            match ask(host, authority) {
                Err(text) if text.contains(wanted) => {}
                other => return Err(format!("psql: {wanted} was to be told, not {other:?}")),
            }
        }
        Ok(())
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The server, with encryption.
pub fn serve(launch: &super::Launch<'_>, keys: &Keys) -> Outcome<ServerUnderTest> {
    ServerUnderTest::start_with(launch, &keys.options())
}
