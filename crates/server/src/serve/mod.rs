//! The database server itself: what a session's bytes come to.
//!
//! | module | what it is |
//! |---|---|
//! | [`login`] | from the first packet to the first `ReadyForQuery` |
//! | [`connection`] | messages after that |
//!
//! Life of a request: the kernel calls [`Service::serve`] with what came in; the session's [`State`], which lies in its
//! arena, says how far it is; messages are served until no whole one is left, and the session parks.

mod connection;
mod login;

use crate::options::Options;
use crate::roles::Roles;
use crate::startup;
use base::settings::{Effective, SettingId};
use base::{Error, Kind, Result};
use connection::Connection;
use kernel::clock;
use kernel::session::{End, Interrupt, Next, Service, Session};
use login::{Login, Outcome};
use protocol::backend;
use protocol::startup::Negotiation;

/// The service that every engine of the server has.
struct Database {
    settings: Effective,
    roles: Roles,
}

/// A session's state between two requests; lies in its arena.
#[allow(clippy::large_enum_variant, reason = "one lies in each session's arena, whose smallest piece is a page")]
enum State {
    /// It logs in.
    Login(Login),
    /// It is in.
    In(Connection),
}

/// Runs the server; answers the exit status.
pub fn run(options: Options) -> Result<i32> {
    let _directory = crate::data_directory::open(options.data())?;
    let config = options.config()?;
    for notice in options.effective.notices() {
        eprintln!("gearbox: {notice}");
    }
    let roles = Roles::open(options.data(), options.effective.text(SettingId::PasswordFile))?;
    kernel::supervisor::run(
        config,
        || Ok(Database { settings: options.effective, roles }),
        |config| {
            for address in &config.listen {
                let (ip, port) = (address.ip(), address.port());
                println!("gearbox: {} on {address}; connect with: psql -h {ip} -p {port} -U postgres", config.model());
            }
        },
    )
}

impl Service for Database {
    fn serve(&self, session: &mut Session) -> Next {
        match self.go_on(session) {
            Ok(next) => next,
            Err(error) => {
                backend::error_response(session.output(), &as_fatal(error));
                Next::Close
            }
        }
    }

    fn close(&self, _session: &mut Session, _end: End) {}

    fn refusal(&self, error: &Error) -> Vec<u8> {
        startup::refusal(error)
    }
}

/// What ends the session says so.
fn as_fatal(error: Error) -> Error {
    if error.kind() == Kind::Session {
        return error;
    }
    let fatal = Error::session(error.sqlstate(), error.message().to_string());
    let fatal = error.detail_text().map(str::to_string).into_iter().fold(fatal, Error::detail);
    error.hint_text().map(str::to_string).into_iter().fold(fatal, Error::hint)
}

impl Database {
    fn go_on(&self, session: &mut Session) -> Result<Next> {
        if session.state::<State>().is_none() {
            session.set_state(State::Login(Login::Begins(Negotiation::default())))?;
            let patience = self.settings.micros(SettingId::AuthenticationTimeout) * 1000;
            session.shared().set_deadline(clock::now() + patience, Interrupt::Terminate);
        }
        // The state is taken out while it is used, so that the session can be used beside it.
        let state = session.state::<State>().expect("just stored");
        match std::mem::replace(state, State::In(Connection::default())) {
            State::Login(mut login) => {
                if let Some(interrupt) = session.shared().interrupt() {
                    return Err(kernel::session::interrupt_error(interrupt));
                }
                match login::go_on(&mut login, session, &self.roles)? {
                    Outcome::Leaves => Ok(Next::Close),
                    Outcome::Waits => {
                        *session.state::<State>().expect("stored above") = State::Login(login);
                        Ok(Next::Park)
                    }
                    Outcome::In(wishes) => {
                        session.shared().clear_deadline();
                        apply(&wishes)?;
                        connection::greet(session, &self.settings);
                        let mut connection = Connection::default();
                        let next = connection::serve(&mut connection, session);
                        *session.state::<State>().expect("stored above") = State::In(connection);
                        next
                    }
                }
            }
            State::In(mut connection) => {
                let next = connection::serve(&mut connection, session);
                *session.state::<State>().expect("stored above") = State::In(connection);
                next
            }
        }
    }
}

/// Checks the settings that a client asked for in its startup packet.
fn apply(wishes: &login::Wishes) -> Result<()> {
    for (name, value) in wishes.settings() {
        let id = base::settings::lookup(&name)?;
        base::settings::check_context(id, base::settings::Change::Session, true)?;
        base::settings::parse(id, &value)?;
    }
    Ok(())
}
