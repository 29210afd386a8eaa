//! From the first packet to `ReadyForQuery`: who is it, and what did it ask for.
//!
//! Everything between two messages is a plain value in the session's arena: a client that dawdles here holds a parked
//! session, and its deadline ends it.

use super::activity::Activity;
use crate::roles::{DATABASE, Proof, Roles, SUPERUSER};
use crate::startup::{self, Begun};
use base::{Error, Result, sqlstate};
use kernel::clock;
use kernel::region::arena::{ArenaRef, ArenaVec};
use kernel::session::{Session, slots_reached};
use protocol::auth::{Exchange, Nonce, Progress, password_failed};
use protocol::backend;
use protocol::frontend::{self, Framed, Frontend};
use protocol::startup::{Negotiation, Startup, options};
use sql::session::Environment;
use sql::session::login::LoginRole;

/// How far a client has come.
#[allow(clippy::large_enum_variant, reason = "one lies in a session's arena, and only while the session logs in")]
pub enum Login {
    /// Its startup packet has not come.
    Begins(Negotiation),
    /// It must prove who it is.
    Proves {
        /// The exchange of messages.
        exchange: Exchange,
        /// Who it says it is, and what it asked for.
        wishes: Wishes,
    },
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
    /// It is in.
    In(Wishes),
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

/// Goes on with a login as far as what has come allows.
pub fn go_on(
    login: &mut Login,
    session: &mut Session,
    (roles, activity): (&Roles, Activity),
    env: &Environment<'_>,
) -> Result<Outcome> {
    if let Login::Begins(negotiation) = login {
        let (arena, peer) = (session.arena(), session.peer().map(|peer| peer.ip()));
        let begun = startup::read(negotiation, session, |startup, _| Wishes::of(startup, arena))?;
        let wishes = match begun {
            Begun::NeedMore => return Ok(Outcome::Waits),
            Begun::Done => return Ok(Outcome::Leaves),
            Begun::Session(begun) => begun,
        };
        let role = role_of(&wishes, env)?;
        match roles.proof(wishes.user(), peer, role.as_ref())? {
            Proof::None => return let_in(wishes, session, role.as_ref(), activity),
            Proof::Scram(verifier) => {
                backend::authentication_sasl(session.output());
                *login = Login::Proves { exchange: Exchange::new(&verifier), wishes };
            }
        }
    }
    loop {
        let Login::Proves { exchange, wishes } = login else { return Ok(Outcome::Waits) };
        let (input, output) = session.parts();
        let Framed::Message { tag, body, consumed } = frontend::next_sasl(input)? else {
            return Ok(Outcome::Waits);
        };
        let Frontend::Password(body) = Frontend::decode(tag, body)? else {
            return Err(Error::protocol("expected SASL response"));
        };
        let nonce: Nonce = std::array::from_fn(|_| kernel::engine::random_u64() as u8);
        let progress = exchange.answer(body, &nonce, wishes.user(), output)?;
        session.consume(consumed);
        if progress == Progress::Authenticated {
            let wishes = Wishes { texts: wishes.texts.clone() };
            // As it is now: it may have been changed, or be gone.
            let role = role_of(&wishes, env)?;
            if wishes.user() != SUPERUSER && !role.as_ref().is_some_and(has_good_password) {
                return Err(password_failed(wishes.user()));
            }
            return let_in(wishes, session, role.as_ref(), activity);
        }
    }
}

/// The role that somebody wants to be; of the one that is there from the beginning nothing has to be known.
fn role_of(wishes: &Wishes, env: &Environment<'_>) -> Result<Option<LoginRole>> {
    if wishes.user() == SUPERUSER { Ok(None) } else { env.login_role(wishes.user()) }
}

/// Has the role a password, and is it good today?
fn has_good_password(role: &LoginRole) -> bool {
    role.password.is_some() && role.valid_until.is_none_or(|end| clock::wall_us() < end)
}

/// May the role have a session more? Errors: `28000`, `53300`, `42501`.
fn check_role(user: &str, role: &LoginRole, activity: Activity) -> Result<()> {
    if !role.logs_in {
        let message = format!("role \"{user}\" is not permitted to log in");
        return Err(Error::session(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, message));
    }
    if role.is_superuser {
        return Ok(());
    }
    if !role.connects {
        let message = format!("permission denied for database \"{DATABASE}\"");
        return Err(
            Error::session(sqlstate::INSUFFICIENT_PRIVILEGE, message).detail("User does not have CONNECT privilege.")
        );
    }
    if let Ok(limit) = usize::try_from(role.connection_limit) {
        let slots = slots_reached().iter().filter(|slot| slot.is_used() && !slot.is_background());
        if slots.filter(|slot| activity.see(slot.id()).user == user).count() >= limit {
            let message = format!("too many connections for role \"{user}\"");
            return Err(Error::session(sqlstate::TOO_MANY_CONNECTIONS, message));
        }
    }
    Ok(())
}

fn let_in(wishes: Wishes, session: &mut Session, role: Option<&LoginRole>, activity: Activity) -> Result<Outcome> {
    if let Some(role) = role {
        check_role(wishes.user(), role, activity)?;
    }
    if wishes.database() != DATABASE {
        return Err(Error::session(
            sqlstate::INVALID_CATALOG_NAME,
            format!("database \"{}\" does not exist", wishes.database()),
        ));
    }
    backend::authentication_ok(session.output());
    Ok(Outcome::In(wishes))
}
