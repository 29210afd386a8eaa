//! A connection after its login: messages in, answers out, in PostgreSQL's order.
//!
//! Rules of the protocol that live here and nowhere else:
//! 1. An error in the extended protocol skips every message up to the next `Sync`; a simple query ends with its own
//!    `ReadyForQuery`, also after an error.
//! 2. `ReadyForQuery` is the only promise that all before it has been answered.
//! 3. A message that is malformed, but whose length could be read, is an error of its statement; one whose length cannot be
//!    trusted ends the session.
//! 4. An interrupt is told at the next message's place, or at once if the session is parked: a termination says why.

use base::settings::{Effective, SettingId, TABLE};
use base::{Error, Kind, Result};
use kernel::session::{Interrupt, Next, Session, interrupt_error};
use protocol::backend::{self, Status};
use protocol::frontend::{self, Framed, Frontend, Tag};

/// What a session knows between two messages, beside what SQL knows of it.
#[derive(Default)]
pub struct Connection {
    /// An extended message failed: what follows up to `Sync` is passed over.
    skips: bool,
}

/// Tells the client what it must know before its first statement: settings that are reported, and its cancel key.
pub fn greet(session: &mut Session, settings: &Effective) {
    let (number, secret) = (session.shared().number(), session.shared().secret());
    let output = session.output();
    for setting in TABLE.iter().filter(|setting| setting.flags.has(base::settings::Flags::REPORT)) {
        backend::parameter_status(output, setting.name, &reported(setting.id, settings));
    }
    backend::backend_key_data(output, &crate::startup::key_of(number, secret));
    backend::ready_for_query(output, Status::Idle);
}

fn reported(id: SettingId, settings: &Effective) -> String {
    match id {
        SettingId::IsSuperuser => "on".to_string(),
        SettingId::SessionAuthorization => crate::roles::SUPERUSER.to_string(),
        id => settings.show(id),
    }
}

/// Serves the messages that have come.
pub fn serve(connection: &mut Connection, session: &mut Session) -> Result<Next> {
    loop {
        if let Some(interrupt) = session.shared().interrupt() {
            end_by_interrupt(session, interrupt)?;
        }
        let (input, _) = session.parts();
        let (tag, body, consumed) = match frontend::next(input, protocol::limits::LARGE_MAX)? {
            Framed::Message { tag, body, consumed } => (tag, body, consumed),
            Framed::NeedMore(bytes) => {
                if session.await_large(bytes)? {
                    continue;
                }
                return Ok(Next::Park);
            }
        };
        if connection.skips && tag != Tag::Sync && tag != Tag::Terminate {
            session.consume(consumed);
            continue;
        }
        let outcome = Frontend::decode(tag, body).and_then(|message| answer(&message));
        session.consume(consumed);
        let output = session.output();
        match outcome {
            Ok(Step::Ready) => {
                connection.skips = false;
                backend::ready_for_query(output, Status::Idle);
            }
            Ok(Step::Nothing) => {}
            Ok(Step::Closed) => backend::close_complete(output),
            Ok(Step::Empty) => {
                backend::empty_query_response(output);
                backend::ready_for_query(output, Status::Idle);
            }
            Ok(Step::Flush) => session.flush()?,
            Ok(Step::Leave) => return Ok(Next::Close),
            Err(error) if error.kind() == Kind::Session => return Err(error),
            Err(error) => {
                backend::error_response(output, &error);
                if tag.is_extended() {
                    connection.skips = true;
                } else if tag == Tag::Query || tag == Tag::FunctionCall {
                    backend::ready_for_query(output, Status::Idle);
                }
            }
        }
        session.flush_if_full()?;
    }
}

/// What a message comes to.
enum Step {
    /// Everything before it has been answered.
    Ready,
    /// No answer.
    Nothing,
    /// A statement or portal is forgotten.
    Closed,
    /// There was no statement in it.
    Empty,
    /// What has gathered goes out now.
    Flush,
    /// The client leaves.
    Leave,
}

fn answer(message: &Frontend<'_>) -> Result<Step> {
    match message {
        Frontend::Query(text) if text.trim().trim_end_matches(';').trim().is_empty() => Ok(Step::Empty),
        Frontend::Query(_) | Frontend::Parse(_) => {
            Err(Error::unsupported("statements are not supported yet").hint("This version answers log-ins only."))
        }
        Frontend::Bind(_) | Frontend::Describe(_) | Frontend::Execute { .. } => {
            Err(Error::unsupported("statements are not supported yet"))
        }
        Frontend::Close(_) => Ok(Step::Closed),
        Frontend::Sync => Ok(Step::Ready),
        Frontend::Flush => Ok(Step::Flush),
        Frontend::Terminate => Ok(Step::Leave),
        // Sent before the client learnt that its copy had failed: they mean nothing.
        Frontend::CopyData(_) | Frontend::CopyDone | Frontend::CopyFail(_) => Ok(Step::Nothing),
        Frontend::Password(_) => Err(Error::protocol("unexpected password message")),
        Frontend::FunctionCall(_) => {
            Err(Error::unsupported("function calls are not supported").hint("Call the function in a SELECT."))
        }
    }
}

/// A termination ends the session with its reason; a cancel between statements is void.
fn end_by_interrupt(session: &mut Session, interrupt: Interrupt) -> Result<()> {
    session.shared().clear_interrupt(interrupt);
    let error = interrupt_error(interrupt);
    if error.kind() == Kind::Session { Err(error) } else { Ok(()) }
}
