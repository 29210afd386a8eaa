//! From the first packet to `ReadyForQuery`: who is it, and what did it ask for.
//!
//! ```text
//!   Begins ──SSLRequest──> (shakes) ──record──> handshake ──> Begins, encrypted
//!     └────startup packet──> Proves ──right──> in
//! ```
//!
//! Everything between two messages is a plain value in the session's arena: a client that dawdles here holds a parked
//! session, and its deadline ends it. A handshake of TLS is one request ([`crate::access::tls`]).

use super::activity::Activity;
use crate::access::tls::{self, Encrypted};
use crate::access::{Access, Arrival, check_password};
use crate::roles::{Proof, Roles, SUPERUSER};
use crate::startup::{self, Begun};
use base::{Error, Result, sqlstate};
use kernel::clock;
use kernel::region::arena::{ArenaRef, ArenaVec};
use kernel::session::{Session, slots_reached};
use kernel::sync::Mode;
use kernel::wait::Event;
use protocol::auth::{Exchange, Nonce, Progress, Verifier, password_failed};
use protocol::backend;
use protocol::frontend::{self, Framed, Frontend};
use protocol::startup::{Negotiation, Startup, options};
use sql::session::Environment;
use sql::session::login::{Entered, LoginRole};
use sql::types::Oid;

/// How far a client has come.
pub struct Login {
    step: Step,
    encrypted: Option<Encrypted>,
}

#[allow(clippy::large_enum_variant, reason = "one lies in a session's arena, and only while the session logs in")]
enum Step {
    /// Its startup packet has not come.
    Begins(Negotiation),
    /// It was told that it may encrypt, and has not begun.
    Shakes(Negotiation),
    /// It must prove who it is.
    Proves {
        /// How.
        by: By,
        /// Who it says it is, and what it asked for.
        wishes: Wishes,
        /// Its certificate has another name: no proof is good enough.
        is_misnamed: bool,
    },
}

#[allow(clippy::large_enum_variant, reason = "as above")]
enum By {
    /// An exchange of messages.
    Exchange(Exchange),
    /// The password itself.
    Password(Verifier),
}

/// What the startup packet asked for: user, database, then pairs of settings, each zero-terminated.
pub struct Wishes {
    texts: ArenaVec<u8>,
}

/// What came of it.
pub enum Outcome {
    /// More must come from the client.
    Waits,
    /// There is nothing to do for this connection.
    Leaves,
    /// It is in, in the database of that number.
    In(Wishes, Oid),
}

/// What decides about a log-in.
pub struct Gate<'g> {
    /// The rules.
    pub access: &'g Access,
    /// The role that is there from the beginning.
    pub roles: &'g Roles,
    /// Who is in.
    pub activity: Activity,
}

impl Wishes {
    fn of(startup: &Startup<'_>, arena: ArenaRef) -> Result<Wishes> {
        let mut texts = ArenaVec::new_in(arena);
        let mut push = |text: &str| -> Result<()> {
            texts.try_reserve(text.len() + 1).map_err(|_| Error::out_of_memory("a session's settings", text.len()))?;
            texts.extend_from_slice(text.as_bytes());
            texts.push(0);
            Ok(())
        };
        push(startup.user())?;
        push(startup.database())?;
        for (name, value) in options::settings(startup.options())? {
            push(&name)?;
            push(&value)?;
        }
        for (name, value) in startup.settings() {
            push(name)?;
            push(value)?;
        }
        Ok(Wishes { texts })
    }

    fn parts(&self) -> impl Iterator<Item = &str> {
        let text = std::str::from_utf8(&self.texts).unwrap_or_default();
        text.split_terminator('\0')
    }

    /// The user.
    pub fn user(&self) -> &str {
        self.parts().next().unwrap_or_default()
    }

    /// The database.
    pub fn database(&self) -> &str {
        self.parts().nth(1).unwrap_or_default()
    }

    /// Settings, in the order in which they are to be applied.
    pub fn settings(&self) -> Vec<(String, String)> {
        let mut parts = self.parts().skip(2).map(str::to_string);
        std::iter::from_fn(|| Some((parts.next()?, parts.next()?))).collect()
    }
}

impl Login {
    /// A client has connected.
    pub fn begins() -> Login {
        Login { step: Step::Begins(Negotiation::default()), encrypted: None }
    }

    /// Goes on as far as what has come allows.
    pub fn go_on(&mut self, session: &mut Session, gate: &Gate<'_>, env: &Environment<'_>) -> Result<Outcome> {
        if let Step::Shakes(negotiation) = self.step {
            match shake(session, gate) {
                Ok(None) => return Ok(Outcome::Waits),
                Ok(Some(encrypted)) => {
                    self.encrypted = Some(encrypted);
                    self.step = Step::Begins(negotiation);
                }
                Err(error) => {
                    // Nothing can be said to it but by the handshake itself, which has.
                    eprintln!("gearbox: {}", error.message());
                    return Ok(Outcome::Leaves);
                }
            }
            if session.is_broken() {
                return Ok(Outcome::Leaves);
            }
        }
        if let Step::Begins(negotiation) = &mut self.step {
            let arena = session.arena();
            let offers = gate.access.offers_tls();
            let begun = startup::read(negotiation, session, offers, |startup, _| Wishes::of(startup, arena))?;
            let wishes = match begun {
                Begun::NeedMore => return Ok(Outcome::Waits),
                Begun::Done => return Ok(Outcome::Leaves),
                Begun::Encrypts => {
                    self.step = Step::Shakes(*negotiation);
                    return Ok(Outcome::Waits);
                }
                Begun::Session(begun) => begun,
            };
            return self.ask(wishes, session, gate, env);
        }
        self.hear(session, gate, env)
    }

    /// Asks for a proof, if one is needed.
    fn ask(
        &mut self,
        wishes: Wishes,
        session: &mut Session,
        gate: &Gate<'_>,
        env: &Environment<'_>,
    ) -> Result<Outcome> {
        let address = session.peer().map(|peer| peer.ip());
        let role = role_of(&wishes, env)?;
        let demand = gate.access.demand(
            &Arrival {
                address,
                system_user: &|| session.peer_user().and_then(kernel::net::user_name),
                encrypted: self.encrypted.as_ref(),
                user: wishes.user(),
                database: wishes.database(),
                role: role.as_ref(),
                is_member: &|group| env.is_member(wishes.user(), group),
            },
            gate.roles,
        )?;
        if !matches!(demand.proof, Proof::None) {
            gate.access.failures.check(address, wishes.user(), clock::wall_us())?;
        }
        let by = match demand.proof {
            Proof::None => return self.let_in(wishes, session, role.as_ref(), gate, env),
            Proof::Scram(verifier) => {
                let end_point = self.encrypted.as_ref().and_then(Encrypted::end_point);
                let exchange = match end_point {
                    Some(hash) => Exchange::bound(&verifier, hash),
                    None => Exchange::new(&verifier),
                };
                backend::authentication_sasl(session.output(), exchange.binds());
                By::Exchange(exchange)
            }
            Proof::Password(verifier) => {
                backend::authentication_password(session.output());
                By::Password(*verifier)
            }
        };
        self.step = Step::Proves { by, wishes, is_misnamed: demand.is_misnamed };
        self.hear(session, gate, env)
    }

    /// Hears the proof.
    fn hear(&mut self, session: &mut Session, gate: &Gate<'_>, env: &Environment<'_>) -> Result<Outcome> {
        let address = session.peer().map(|peer| peer.ip());
        loop {
            let Step::Proves { by, wishes, is_misnamed } = &mut self.step else { return Ok(Outcome::Waits) };
            let (input, output) = session.parts();
            let Framed::Message { tag, body, consumed } = frontend::next_sasl(input)? else {
                return Ok(Outcome::Waits);
            };
            let Frontend::Password(body) = Frontend::decode(tag, body)? else {
                return Err(Error::protocol("expected SASL response"));
            };
            let progress = match by {
                By::Exchange(exchange) => {
                    let nonce: Nonce = std::array::from_fn(|_| kernel::engine::random_u64() as u8);
                    exchange.answer(body, &nonce, wishes.user(), output)
                }
                By::Password(verifier) => {
                    let password = body.strip_suffix(b"\0").unwrap_or(body);
                    check_password(verifier, password, wishes.user()).map(|()| Progress::Authenticated)
                }
            };
            session.consume(consumed);
            let now = clock::wall_us();
            let failed = |error: Error| {
                if error.sqlstate() == sqlstate::INVALID_PASSWORD {
                    gate.access.failures.wrong(address, wishes.user(), now);
                }
                error
            };
            if progress.map_err(failed)? == Progress::Authenticated {
                // As it is now: it may have been changed, or be gone.
                let role = role_of(wishes, env)?;
                let is_good = wishes.user() == SUPERUSER || role.as_ref().is_some_and(has_good_password);
                if !is_good || *is_misnamed {
                    return Err(failed(password_failed(wishes.user())));
                }
                gate.access.failures.right(address, wishes.user());
                let wishes = Wishes { texts: wishes.texts.clone() };
                return self.let_in(wishes, session, role.as_ref(), gate, env);
            }
        }
    }

    fn let_in(
        &self,
        wishes: Wishes,
        session: &mut Session,
        role: Option<&LoginRole>,
        gate: &Gate<'_>,
        env: &Environment<'_>,
    ) -> Result<Outcome> {
        if let Some(role) = role {
            check_role(wishes.user(), role)?;
        }
        count_in(wishes.user(), role, session, gate)?;
        let database = env.enter_database(wishes.database(), wishes.user())?;
        check_database(wishes.database(), &database, role.is_none_or(|role| role.is_superuser))?;
        gate.activity.encrypted(session.shared().id(), self.encrypted.as_ref());
        backend::authentication_ok(session.output());
        Ok(Outcome::In(wishes, database.oid))
    }
}

/// The handshake, once it can begin.
fn shake(session: &mut Session, gate: &Gate<'_>) -> Result<Option<Encrypted>> {
    if !tls::may_begin(session)? {
        return Ok(None);
    }
    let config = gate.access.tls()?.ok_or_else(|| Error::protocol("could not accept SSL connection: it is off"))?;
    tls::shake_hands(session, &config).map(Some)
}

/// The role that somebody wants to be; of the one that is there from the beginning nothing has to be known.
fn role_of(wishes: &Wishes, env: &Environment<'_>) -> Result<Option<LoginRole>> {
    if wishes.user() == SUPERUSER { Ok(None) } else { env.login_role(wishes.user()) }
}

/// Has the role a password, and is it good today?
fn has_good_password(role: &LoginRole) -> bool {
    role.password.is_some() && role.valid_until.is_none_or(|end| clock::wall_us() < end)
}

/// May the role have sessions? Errors: `28000`.
fn check_role(user: &str, role: &LoginRole) -> Result<()> {
    if !role.logs_in {
        let message = format!("role \"{user}\" is not permitted to log in");
        return Err(Error::session(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, message));
    }
    Ok(())
}

/// May somebody be in the database? Errors: `55000`, `42501`, `53300`.
fn check_database(name: &str, database: &Entered, is_superuser: bool) -> Result<()> {
    if !database.lets_in {
        let message = format!("database \"{name}\" is not currently accepting connections");
        return Err(Error::session(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    }
    if !is_superuser && !database.connects {
        let message = format!("permission denied for database \"{name}\"");
        return Err(
            Error::session(sqlstate::INSUFFICIENT_PRIVILEGE, message).detail("User does not have CONNECT privilege.")
        );
    }
    let limit = usize::try_from(database.connection_limit).ok().filter(|_| !is_superuser);
    if limit.is_some_and(|limit| database.sessions > limit) {
        let message = format!("too many connections for database \"{name}\"");
        return Err(Error::session(sqlstate::TOO_MANY_CONNECTIONS, message));
    }
    Ok(())
}

/// Counts the session among its role's. Two that come at one moment are counted one after the other. Errors: `53300`.
fn count_in(user: &str, role: Option<&LoginRole>, session: &Session, gate: &Gate<'_>) -> Result<()> {
    let own = session.shared().id();
    let limit = role.filter(|role| !role.is_superuser).and_then(|role| usize::try_from(role.connection_limit).ok());
    let Some(limit) = limit else { return Ok(()) };
    let _alone = gate.access.counting.lock(Mode::Exclusive, Event::LoginLatch);
    let slots = slots_reached().iter().filter(|slot| slot.is_used() && !slot.is_background() && slot.id() != own);
    if slots.filter(|slot| gate.activity.see(slot.id()).user == user).count() >= limit {
        let message = format!("too many connections for role \"{user}\"");
        return Err(Error::session(sqlstate::TOO_MANY_CONNECTIONS, message));
    }
    gate.activity.named(own, user);
    Ok(())
}
