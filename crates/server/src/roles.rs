//! Who may come in: the role `postgres`, which owns the database, and the roles that users have made.
//!
//! Which proof is asked for is said by `pg_hba.conf`, if there is one ([`crate::access`]). Without it, and until `postgres` has a password everybody gets in from this machine only, and without one unless he has one; from then on from
//! anywhere, with SCRAM-SHA-256, and who has no password does not. `--password-file` gives `postgres` one: the verifier (never the
//! password) is kept in the data directory. Verifiers of other roles are in the catalog.

use base::{Error, Result, sqlstate};
use protocol::auth::{ServerSecret, Verifier};
use sql::session::login::LoginRole;
use std::fs;
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The role that is there from the beginning.
pub const SUPERUSER: &str = "postgres";

const FILE: &str = "gearbox.roles";

/// The roles of this server: read before the first fork, the same in every process.
pub struct Roles {
    verifier: Option<Verifier>,
    secret: ServerSecret,
}

/// How a client must prove who it is.
pub enum Proof {
    /// Not at all.
    None,
    /// By the password behind this verifier.
    Scram(Box<Verifier>),
    /// By the password itself, which this verifier knows.
    Password(Box<Verifier>),
}

impl Roles {
    /// The role without a password, kept nowhere: for servers that live within a test.
    pub fn without_password() -> Roles {
        Roles { verifier: None, secret: ServerSecret::default() }
    }

    /// Reads the roles, and takes over a new password if a file has one.
    ///
    /// Errors: `F0000` when the password file cannot be read or is empty.
    pub fn open(data: &Path, password_file: &str) -> Result<Roles> {
        let path = data.join(FILE);
        let stored = fs::read_to_string(&path).unwrap_or_default();
        let line =
            |name: &str| stored.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::trim));
        let mut verifier = match line(SUPERUSER) {
            Some(text) => Some(Verifier::parse(text).ok_or_else(|| {
                Error::session(sqlstate::CONFIG_FILE_ERROR, format!("\"{}\" is damaged", path.display()))
                    .hint("Start once with --password-file to set the password anew.")
            })?),
            None => None,
        };
        let secret = match line("secret").and_then(unhex) {
            Some(secret) => secret,
            None => std::array::from_fn(|_| kernel::engine::random_u64() as u8),
        };
        if !password_file.is_empty() {
            let password = read_password(password_file)?;
            if !verifier.as_ref().is_some_and(|known| known.matches(password.as_bytes())) {
                let salt = std::array::from_fn(|_| kernel::engine::random_u64() as u8);
                verifier = Some(Verifier::from_password(password.as_bytes(), &salt));
            }
        }
        let roles = Roles { verifier, secret };
        roles.write(&path)?;
        Ok(roles)
    }

    fn write(&self, path: &Path) -> Result<()> {
        let mut text = format!("secret {}\n", hex(&self.secret));
        if let Some(verifier) = &self.verifier {
            text.push_str(&format!("{SUPERUSER} {verifier}\n"));
        }
        let fresh = path.with_extension("new");
        let mut options = fs::OpenOptions::new();
        let written = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&fresh, path))
            // A power cut must not take a password back that the server was started with.
            .and_then(|()| fs::File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all());
        written.map_err(|error| {
            Error::session(sqlstate::IO_ERROR, format!("cannot write \"{}\"", path.display()))
                .detail(format!("{error}."))
        })
    }

    /// What a proof of this user's password is checked with. A user that is not there, or has none, has one that is never satisfied, and
    /// is made in the same time.
    pub fn verifier(&self, user: &str, role: Option<&LoginRole>) -> Verifier {
        let mock = Verifier::mock(&self.secret, user);
        let own = match user {
            SUPERUSER => self.verifier,
            _ => role.and_then(|role| role.password.as_deref()).and_then(Verifier::parse),
        };
        own.unwrap_or(mock)
    }

    /// How this user must prove itself when it comes from there. None of the answers tells whether the user exists.
    ///
    /// Errors: `28000` when it cannot get in from there at all.
    pub fn proof(&self, user: &str, from: Option<IpAddr>, role: Option<&LoginRole>) -> Result<Proof> {
        let own = role.and_then(|role| role.password.as_deref()).and_then(Verifier::parse);
        match &self.verifier {
            Some(_) => Ok(Proof::Scram(Box::new(self.verifier(user, role)))),
            None if from.is_some_and(|address| !address.is_loopback()) => Err(Error::session(
                sqlstate::INVALID_AUTHORIZATION_SPECIFICATION,
                "connections from other machines need a password, and none is set",
            )
            .hint("Start the server once with --password-file FILE.")),
            None if user == SUPERUSER => Ok(Proof::None),
            None if role.is_some() => Ok(own.map_or(Proof::None, |verifier| Proof::Scram(Box::new(verifier)))),
            None => Err(Error::session(
                sqlstate::INVALID_AUTHORIZATION_SPECIFICATION,
                format!("role \"{user}\" does not exist"),
            )),
        }
    }
}

/// What is kept in place of a role's password. Takes about a millisecond.
///
/// Errors: `0A000` for one of PostgreSQL's MD5 hashes.
pub fn verifier(password: &str) -> Result<String> {
    if Verifier::parse(password).is_some() {
        return Ok(password.to_owned());
    }
    let is_md5 = |digits: &str| digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if password.strip_prefix("md5").is_some_and(is_md5) {
        return Err(Error::unsupported("passwords hashed with MD5 are not supported"));
    }
    let salt = std::array::from_fn(|_| kernel::engine::random_u64() as u8);
    Ok(Verifier::from_password(password.as_bytes(), &salt).to_string())
}

fn read_password(path: &str) -> Result<String> {
    let bad = |what: String| {
        Error::session(sqlstate::CONFIG_FILE_ERROR, format!("cannot take the password from \"{path}\""))
            .detail(what)
            .hint("The file's first line is the password of the user \"postgres\".")
    };
    let text = fs::read_to_string(path).map_err(|error| bad(format!("{error}.")))?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_string()),
        _ => Err(bad("The first line is empty.".to_string())),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<ServerSecret> {
    let mut secret = ServerSecret::default();
    if text.len() != 2 * secret.len() {
        return None;
    }
    for (at, byte) in secret.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("gearbox-roles-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn without_a_password_only_this_machine_gets_in() {
        let data = scratch("none");
        let roles = Roles::open(&data, "").unwrap();
        assert!(matches!(roles.proof("postgres", Some([127, 0, 0, 1].into()), None), Ok(Proof::None)));
        let error = roles.proof("postgres", Some([10, 0, 0, 1].into()), None).err().unwrap();
        assert_eq!(error.sqlstate(), sqlstate::INVALID_AUTHORIZATION_SPECIFICATION);
        let error = roles.proof("nobody", Some([127, 0, 0, 1].into()), None).err().unwrap();
        assert_eq!(error.message(), "role \"nobody\" does not exist");
        fs::remove_dir_all(&data).unwrap();
    }

    #[test]
    fn a_password_is_kept_as_its_verifier() {
        let data = scratch("kept");
        let file = data.join("password");
        fs::write(&file, "open sesame\nsecond line\n").unwrap();
        let file = file.to_string_lossy().into_owned();
        Roles::open(&data, &file).unwrap();
        let stored = fs::read_to_string(data.join(FILE)).unwrap();
        assert!(!stored.contains("sesame"));
        let roles = Roles::open(&data, "").unwrap();
        match roles.proof("postgres", Some([10, 0, 0, 1].into()), None).unwrap() {
            Proof::Scram(verifier) => assert!(verifier.matches(b"open sesame") && !verifier.matches(b"sesame")),
            _ => panic!("a password is asked for"),
        }
        Roles::open(&data, &file).unwrap();
        assert_eq!(fs::read_to_string(data.join(FILE)).unwrap(), stored, "the same password changes nothing");
        fs::remove_dir_all(&data).unwrap();
    }
}
