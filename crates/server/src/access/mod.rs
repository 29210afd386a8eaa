//! Who gets in: from where, by which proof, over what.
//!
//! | file | what it is |
//! |---|---|
//! | [`rules`] | `pg_hba.conf` |
//! | [`files`] | that file and those of TLS, and how all processes come by new ones |
//! | [`tls`] | handshakes |
//! | [`failures`] | wrong passwords, and how long nobody is listened to after them |
//!
//! Life of a log-in: the startup packet says who and for which database. [`Access::demand`] finds the line of the rules that
//! decides, looks at the client's certificate as far as that line asks for one, and answers what must be proven; without a file of rules
//! it is what [`Roles`] says. The proof is the session's next request ([`crate::serve`]).
//!
//! Rules
//! 1. Nothing is told before the proof that depends on whether the role exists: neither words nor times.
//! 2. What the files say changes for all processes at once, or not at all if there is a mistake in one of them.

pub mod failures;
pub mod files;
pub mod rules;
pub mod tls;

use crate::roles::{Proof, Roles, SUPERUSER};
use base::settings::{Effective, SettingId};
use base::{Error, Result, sqlstate};
use failures::Failures;
use files::{Contents, File, Files};
use kernel::region;
use kernel::sync::Latch;
use protocol::auth::{Verifier, password_failed};
use protocol::tls::{Config, Version, config};
use rules::{Caller, Certificate, Line, Method};
use sql::session::login::LoginRole;
use std::cell::RefCell;
use std::net::IpAddr;
use tls::Encrypted;

/// Who wants in, and how he came.
pub struct Arrival<'a> {
    /// Where from; none for sockets of the file system.
    pub address: Option<IpAddr>,
    /// His name in this machine's operating system, where he comes over a socket of its file system; asked for if it is needed.
    pub system_user: &'a dyn Fn() -> Option<String>,
    /// What is known of his encryption.
    pub encrypted: Option<&'a Encrypted>,
    /// The role.
    pub user: &'a str,
    /// The database.
    pub database: &'a str,
    /// The role, if it is there; none for the one that is there from the beginning.
    pub role: Option<&'a LoginRole>,
    /// Is the role a member of that one?
    pub is_member: &'a dyn Fn(&str) -> Result<bool>,
}

/// What somebody must do to get in.
pub struct Demand {
    /// How he proves who he is.
    pub proof: Proof,
    /// His certificate has another name than the role, and it had to have that one: whatever he proves, he is refused.
    pub is_misnamed: bool,
}

/// What was read of the files.
struct InForce {
    rules: Option<Vec<Line>>,
    tls: Option<Config>,
}

/// What decides about log-ins.
pub struct Access {
    files: Files,
    started: InForce,
    versions: (Version, Version),
    /// Wrong passwords.
    pub failures: Failures,
    /// Held while a role's sessions are counted, and one is added.
    pub counting: &'static Latch,
}

impl Access {
    /// Reads the files, takes its part of the region. Before the first engine.
    ///
    /// Errors: `F0000` when a file is wrong.
    pub fn start(settings: &Effective) -> Result<Access> {
        tls::init();
        let files = Files::make(settings);
        let version = |id| if settings.word(id) == "TLSv1.3" { Version::Tls13 } else { Version::Tls12 };
        let least = version(SettingId::SslMinProtocolVersion);
        let most = match settings.word(SettingId::SslMaxProtocolVersion) {
            "TLSv1.2" => Version::Tls12,
            _ => Version::Tls13,
        };
        if least > most {
            let message = "could not set SSL protocol version range";
            return Err(Error::session(sqlstate::CONFIG_FILE_ERROR, message)
                .detail("\"ssl_min_protocol_version\" cannot be higher than \"ssl_max_protocol_version\"."));
        }
        let mut access = Access {
            started: InForce { rules: None, tls: None },
            versions: (least, most),
            failures: Failures::make(settings),
            counting: region::single("login counting"),
            files,
        };
        access.started = access.understand(&access.files.read()?)?;
        Ok(access)
    }

    /// Reads the files again. False, and a word in the log, if one of them is wrong: then all stay as they were.
    pub fn reload(&self) -> bool {
        let read = self.files.read().and_then(|contents| self.understand(&contents).map(|_| contents));
        match read {
            Ok(contents) => {
                self.files.publish(&contents);
                true
            }
            Err(error) => {
                eprintln!("gearbox: {}: the files that say who gets in were not reloaded", error.message());
                if let Some(detail) = error.detail_text() {
                    eprintln!("  {detail}");
                }
                false
            }
        }
    }

    fn understand(&self, contents: &Contents) -> Result<InForce> {
        let rules = rules_of(contents);
        let mistakes: Vec<String> = (rules.iter().flatten())
            .filter_map(|line| Some(format!("line {}: {}", line.number, line.rule.as_ref().err()?)))
            .collect();
        if !mistakes.is_empty() {
            let message = format!("could not load \"{}\"", self.files.name(File::Rules));
            return Err(Error::session(sqlstate::CONFIG_FILE_ERROR, message)
                .detail(format!("{}.", mistakes.join("; ")))
                .hint("pg_hba_file_rules shows what the file says."));
        }
        Ok(InForce { rules, tls: self.tls_of(contents)? })
    }

    fn tls_of(&self, contents: &Contents) -> Result<Option<Config>> {
        let (Some(certificate), Some(key)) = (contents.of(File::Certificate), contents.of(File::Key)) else {
            return Ok(None);
        };
        let files = protocol::tls::Files {
            certificate,
            key,
            authorities: contents.of(File::Authorities),
            revoked: contents.of(File::Revoked),
        };
        let config = Config::new(&files, self.versions.0, self.versions.1).map_err(|(file, error)| {
            let (what, file) = match file {
                config::File::Certificate => ("server certificate file", File::Certificate),
                config::File::Key => ("private key file", File::Key),
                config::File::Authorities => ("root certificate file", File::Authorities),
                config::File::Revoked => ("SSL certificate revocation list file", File::Revoked),
            };
            let message = format!("could not load {what} \"{}\": {}", self.files.name(file), error.message());
            let named = Error::session(sqlstate::CONFIG_FILE_ERROR, message);
            error.hint_text().map(str::to_owned).into_iter().fold(named, Error::hint)
        })?;
        Ok(Some(config))
    }

    /// What handshakes begin with; none if there are none.
    pub fn tls(&self) -> Result<Option<Config>> {
        if self.started.tls.is_none() {
            return Ok(None);
        }
        match self.files.published(|file| file != File::Rules) {
            None => Ok(self.started.tls.clone()),
            Some(contents) => self.tls_of(&contents),
        }
    }

    /// Are there handshakes?
    pub fn offers_tls(&self) -> bool {
        self.started.tls.is_some()
    }

    /// The lines of the file of rules, as it is now, right or wrong; and its name. For the view.
    pub fn lines(&self) -> Result<Vec<Line>> {
        Ok(rules_of(&self.files.read()?).unwrap_or_default())
    }

    /// What this arrival must prove. Errors: it cannot get in at all (`28000`).
    pub fn demand(&self, arrival: &Arrival<'_>, roles: &Roles) -> Result<Demand> {
        let published = self.files.published(|file| file == File::Rules);
        let parsed = published.as_ref().map(rules_of);
        let rules = parsed.as_ref().unwrap_or(&self.started.rules);
        match rules {
            None => Ok(Demand { proof: roles.proof(arrival.user, arrival.address, arrival.role)?, is_misnamed: false }),
            Some(lines) => self.demand_by(lines, arrival, roles),
        }
    }

    fn demand_by(&self, lines: &[Line], arrival: &Arrival<'_>, roles: &Roles) -> Result<Demand> {
        let failed = RefCell::new(None);
        let is_member = |group: &str| match (arrival.is_member)(group) {
            Ok(is_member) => is_member,
            Err(error) => {
                failed.borrow_mut().get_or_insert(error);
                false
            }
        };
        let caller = Caller {
            address: arrival.address,
            encrypted: arrival.encrypted.is_some(),
            user: arrival.user,
            database: arrival.database,
            is_member: &is_member,
            own: &kernel::net::own_addresses,
        };
        let rule = rules::find(lines, &caller);
        if let Some(error) = failed.take() {
            return Err(error);
        }
        let Some(rule) = rule else { return Err(nobody(arrival, "no pg_hba.conf entry for")) };
        if rule.method == Method::Reject {
            return Err(nobody(arrival, "pg_hba.conf rejects connection for"));
        }
        let mut is_misnamed = false;
        if rule.certificate > Certificate::Any {
            if !arrival.encrypted.is_some_and(|encrypted| encrypted.has_certificate) {
                return Err(refused("connection requires a valid client certificate".to_owned()));
            }
            let name = arrival.encrypted.and_then(Encrypted::common_name);
            is_misnamed = rule.certificate == Certificate::Named && name != Some(arrival.user);
        }
        let user = arrival.user;
        let proof = match rule.method {
            Method::Trust if is_misnamed => {
                return Err(refused(format!("\"trust\" authentication failed for user \"{user}\"")));
            }
            Method::Cert if is_misnamed => {
                return Err(refused(format!("certificate authentication failed for user \"{user}\"")));
            }
            Method::Trust | Method::Cert if user == SUPERUSER || arrival.role.is_some() => Proof::None,
            Method::Trust | Method::Cert => return Err(refused(format!("role \"{user}\" does not exist"))),
            Method::Scram => Proof::Scram(Box::new(roles.verifier(user, arrival.role))),
            Method::Password => Proof::Password(Box::new(roles.verifier(user, arrival.role))),
            Method::Peer if (arrival.system_user)().as_deref() != Some(user) => {
                return Err(refused(format!("Peer authentication failed for user \"{user}\"")));
            }
            Method::Peer if user == SUPERUSER || arrival.role.is_some() => Proof::None,
            Method::Peer | Method::Reject => return Err(refused(format!("role \"{user}\" does not exist"))),
        };
        Ok(Demand { proof, is_misnamed })
    }
}

fn rules_of(contents: &Contents) -> Option<Vec<Line>> {
    contents.of(File::Rules).map(|bytes| rules::read(&String::from_utf8_lossy(bytes)))
}

fn refused(message: String) -> Error {
    Error::session(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, message)
}

fn nobody(arrival: &Arrival<'_>, what: &str) -> Error {
    let host = arrival.address.map_or_else(|| "[local]".to_owned(), |address| address.to_canonical().to_string());
    let encryption = if arrival.encrypted.is_some() { "SSL encryption" } else { "no encryption" };
    let (user, database) = (arrival.user, arrival.database);
    refused(format!("{what} host \"{host}\", user \"{user}\", database \"{database}\", {encryption}"))
}

/// Is this the verifier's password, of a role that may use it? The words are those of every wrong password.
pub fn check_password(verifier: &Verifier, password: &[u8], user: &str) -> Result<()> {
    if verifier.matches(password) { Ok(()) } else { Err(password_failed(user)) }
}
