//! A connection after its login: messages in, answers out, in PostgreSQL's order.
//!
//! A [`Connection`] lies in its session's arena, with everything that SQL knows of the session; whichever engine has the next
//! request goes on with it.
//!
//! Rules of the protocol that live here and nowhere else:
//! 1. An error in the extended protocol skips every message up to the next `Sync`; a simple query ends with its own
//!    `ReadyForQuery`, also after an error.
//! 2. `ReadyForQuery` is the only promise that all before it has been answered.
//! 3. A message that is malformed, but whose length could be read, is an error of its statement; one whose length cannot be
//!    trusted ends the session.
//! 4. A client that sends many messages at once is served for a turn; then others are, where they share the engine.
//! 5. Notifications are told before `ReadyForQuery`, and to a session that is summoned while it is parked.
//! 6. An interrupt is told at the next message's place, or at once if the session is parked: a termination says why.

use super::activity::{Activity, Doing};
use super::answers::Answers;
use super::login::Wishes;
use base::settings::{MessageLevel, SettingId, TABLE};
use base::{Error, Kind, Result, sqlstate};
use kernel::clock;
use kernel::region::arena::ArenaRef;
use kernel::session::{Interrupt, Next, Session, interrupt_error};
use protocol::Format as WireFormat;
use protocol::backend::{self, Status};
use protocol::frontend::{self, Framed, Frontend, Tag, Target as WireTarget};
use sql::session::extended::Target;
use sql::session::{Block, Ended, Environment, Format};
use sql::types::Oid;

/// How many messages of one request are served between two looks whether others should have their turn. Between two requests
/// there is always one.
const MESSAGES_PER_LOOK: u32 = 8;

/// What a session knows between two messages.
pub struct Connection {
    /// What SQL knows.
    sql: sql::session::Session<ArenaRef>,
    /// An extended message failed: what follows up to `Sync` is passed over.
    skips: bool,
    /// It is idle since it has been served last, and the time of that runs.
    rests: bool,
    activity: Activity,
}

impl Connection {
    /// A session of a user in that database, with what its startup packet asked for.
    ///
    /// Errors: a setting that is not known, or a value that it cannot have; `53200`.
    pub fn new(
        session: &mut Session,
        env: &Environment<'_>,
        activity: Activity,
        wishes: &Wishes,
        database: Oid,
    ) -> Result<Connection> {
        let user = wishes.user();
        let named = (database, wishes.database());
        let mut sql = sql::session::Session::new(session.arena(), user, named, kernel::engine::random_u64())?;
        if user != crate::roles::SUPERUSER {
            sql.identify(env);
        }
        session.shared().set_owner(sql.login_role().0);
        for error in sql.set_stored(env) {
            backend::notice_response(session.output(), backend::Level::Warning, &error);
        }
        for (name, value) in wishes.settings() {
            sql.set_at_start(env, &name, &value)?;
        }
        activity.begin(session.shared().id(), (user, database), session.peer(), clock::wall_us());
        let connection = Connection { sql, skips: false, rests: false, activity };
        connection.show_application(session, env);
        Ok(connection)
    }

    /// Tells the client what it must know before its first statement: settings that are reported, and its cancel key.
    pub fn greet(&self, session: &mut Session, env: &Environment<'_>) {
        let (number, secret) = (session.shared().number(), session.shared().secret());
        let view = self.sql.view(env);
        let output = session.output();
        for setting in TABLE.iter().filter(|setting| setting.flags.has(base::settings::Flags::REPORT)) {
            backend::parameter_status(output, setting.name, &view.show(setting.id));
        }
        backend::backend_key_data(output, &crate::startup::key_of(number, secret));
        backend::ready_for_query(output, Status::Idle);
    }

    /// The session is over: what it holds beside its memory is given up. Answers the transactions that ended with it.
    pub fn close(&mut self, env: &Environment<'_>) -> Ended {
        self.sql.close(env);
        self.sql.take_ended()
    }

    /// Serves the messages that have come.
    pub fn serve(&mut self, session: &mut Session, env: &Environment<'_>) -> Result<Next> {
        // A message is copied out of the input: its answer may make room there by reading on.
        let mut message = Vec::new();
        let mut served = 0u32;
        loop {
            // One request has fewer messages than this, so that it never asks for the time.
            if served >= MESSAGES_PER_LOOK {
                served = 0;
                if !session.input().is_empty() && kernel::session::turn_is_over() {
                    return Ok(Next::GiveWay);
                }
            }
            if let Some(interrupt) = session.shared().interrupt() {
                self.heed(session, interrupt)?;
            }
            let (tag, body, consumed) = match frontend::next(session.input(), protocol::limits::LARGE_MAX)? {
                Framed::Message { tag, body, consumed } => (tag, body, consumed),
                Framed::NeedMore(bytes) => {
                    if session.await_large(bytes)? {
                        continue;
                    }
                    if !self.skips {
                        self.tell_notifications(session, env)?;
                    }
                    // Who still reads is not idle.
                    session.flush_answers()?;
                    if !self.rests || !session.input().is_empty() {
                        self.sleep_well(session, env);
                        self.rests = true;
                    }
                    return Ok(Next::Park);
                }
            };
            if self.skips && tag != Tag::Sync && tag != Tag::Terminate {
                session.consume(consumed);
                continue;
            }
            message.clear();
            message.extend_from_slice(body);
            session.consume(consumed);
            session.shared().clear_deadline();
            self.rests = false;
            served += 1;
            let outcome = match Frontend::decode(tag, &message) {
                Ok(message) => self.answer(session, env, &message),
                Err(error) => {
                    self.sql.fail(env);
                    Err(error)
                }
            };
            let open = self.sql.block() != Block::Idle;
            let awaited = open && self.sql.is_awaited(env);
            session.shared().set_in_transaction(open, awaited);
            match outcome {
                Ok(Step::Ready) => {
                    self.ready(session, env)?;
                    if !session.input().is_empty() {
                        served = MESSAGES_PER_LOOK;
                    }
                }
                Ok(Step::Nothing) => {}
                Ok(Step::Flush) => session.flush_answers()?,
                Ok(Step::Leave) => return Ok(Next::Close),
                Err(error) if error.kind() == Kind::Session => return Err(error),
                Err(error) => {
                    backend::error_response(session.output(), &error);
                    match tag.is_extended() {
                        true => self.skips = true,
                        // Also after a `Sync` that is malformed: what comes next is not passed over.
                        false => self.ready(session, env)?,
                    }
                }
            }
            session.flush_answers_if_full()?;
        }
    }

    fn ready(&mut self, session: &mut Session, env: &Environment<'_>) -> Result<()> {
        self.skips = false;
        self.tell_notifications(session, env)?;
        let output = session.output();
        let mut renamed = false;
        self.sql.take_reports(env, |name, value| {
            renamed |= name == SettingId::ApplicationName.name();
            backend::parameter_status(output, name, value);
        });
        if renamed {
            self.show_application(session, env);
        }
        let doing = match self.sql.block() {
            Block::Idle => Doing::Idle,
            Block::Open => Doing::IdleInTransaction,
            Block::Failed => Doing::IdleInFailed,
        };
        self.activity.ended(session.shared().id(), self.sql.take_ended());
        self.activity.rest(session.shared().id(), doing, clock::wall_us());
        let status = match self.sql.block() {
            Block::Idle => Status::Idle,
            Block::Open => Status::InTransaction,
            Block::Failed => Status::Failed,
        };
        backend::ready_for_query(session.output(), status);
        Ok(())
    }

    /// Tells the client the notifications that have come for it, unless it is in a transaction.
    ///
    /// Errors: the session's end.
    fn tell_notifications(&self, session: &mut Session, env: &Environment<'_>) -> Result<()> {
        while self.sql.has_notifications(env) {
            let output = session.output();
            self.sql.take_notifications(env, |told| {
                backend::notification_response(output, told.sender as i32, &told.channel, &told.payload);
            })?;
            session.flush_answers_if_full()?;
        }
        Ok(())
    }

    /// A termination ends the session with its reason; a cancel between statements is void.
    fn heed(&self, session: &mut Session, interrupt: Interrupt) -> Result<()> {
        session.shared().clear_interrupt(interrupt);
        if interrupt == Interrupt::IdleTimeout && self.sql.block() != Block::Idle {
            return Err(Error::session(
                sqlstate::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                "terminating connection due to idle-in-transaction timeout",
            ));
        }
        let error = interrupt_error(interrupt);
        if error.kind() == Kind::Session { Err(error) } else { Ok(()) }
    }

    /// The client has its answer: from now on it may be too long idle.
    fn sleep_well(&self, session: &mut Session, env: &Environment<'_>) {
        let id = match self.sql.block() {
            Block::Idle => SettingId::IdleSessionTimeout,
            Block::Open | Block::Failed => SettingId::IdleInTransactionSessionTimeout,
        };
        arm(session, self.milliseconds(env, id), Interrupt::IdleTimeout);
    }

    fn answer(&mut self, session: &mut Session, env: &Environment<'_>, message: &Frontend<'_>) -> Result<Step> {
        match message {
            Frontend::Query(text) => {
                self.begin(session, env, text.as_bytes());
                let level = self.level(env);
                self.sql.simple_query(env, text, &mut Answers::new(session, level))?;
                session.shared().clear_deadline();
                return Ok(Step::Ready);
            }
            Frontend::Parse(parse) => {
                self.begin(session, env, parse.text.as_bytes());
                let types: Vec<u32> = parse.types().collect();
                self.sql.parse(env, parse.name, parse.text, &types)?;
                session.shared().clear_deadline();
                backend::parse_complete(session.output());
            }
            Frontend::Bind(bind) => {
                let parameters = bind.parameters().map(|(value, format)| (value, of_wire(format)));
                let results = bind.results();
                let formats = (0..results.len()).map(|index| of_wire(results.of(index)));
                self.sql.bind(env, bind.portal, bind.statement, parameters, formats)?;
                backend::bind_complete(session.output());
            }
            Frontend::Describe(target) => {
                let level = self.level(env);
                let told = self.sql.describe(
                    env,
                    target_of(*target),
                    |answers: &mut Answers<'_>, types| {
                        backend::parameter_description(answers.buffer(), types.iter().copied());
                    },
                    &mut Answers::new(session, level),
                )?;
                if !told {
                    backend::no_data(session.output());
                }
            }
            Frontend::Execute { portal, rows_max } => {
                self.begin(session, env, self.sql.portal_text(portal));
                let level = self.level(env);
                self.sql.execute(env, portal, rows_max.unwrap_or(0).into(), &mut Answers::new(session, level))?;
                session.shared().clear_deadline();
            }
            Frontend::Close(target) => {
                self.sql.close_target(target_of(*target));
                backend::close_complete(session.output());
            }
            Frontend::Sync => {
                let level = self.level(env);
                if let Err(error) = self.sql.sync(env, &mut Answers::new(session, level)) {
                    backend::error_response(session.output(), &error);
                }
                return Ok(Step::Ready);
            }
            Frontend::Flush => return Ok(Step::Flush),
            Frontend::Terminate => return Ok(Step::Leave),
            // Sent before the client learnt that its copy had failed: they mean nothing.
            Frontend::CopyData(_) | Frontend::CopyDone | Frontend::CopyFail(_) => {}
            Frontend::Password(_) => return Err(Error::protocol("unexpected password message")),
            Frontend::FunctionCall(_) => {
                return Err(
                    Error::unsupported("function calls are not supported").hint("Call the function in a SELECT.")
                );
            }
        }
        Ok(Step::Nothing)
    }

    /// A statement begins: it may run for so long.
    fn begin(&self, session: &mut Session, env: &Environment<'_>, text: &[u8]) {
        self.activity.query(session.shared().id(), text, clock::wall_us());
        arm(session, self.milliseconds(env, SettingId::StatementTimeout), Interrupt::StatementTimeout);
    }

    fn show_application(&self, session: &Session, env: &Environment<'_>) {
        let view = self.sql.view(env);
        self.activity.application(session.shared().id(), view.value(SettingId::ApplicationName).text());
    }

    fn level(&self, env: &Environment<'_>) -> MessageLevel {
        let number = self.sql.view(env).value(SettingId::ClientMinMessages).number();
        MessageLevel::from_number(number).unwrap_or(MessageLevel::Notice)
    }

    fn milliseconds(&self, env: &Environment<'_>, id: SettingId) -> u64 {
        self.sql.view(env).value(id).number().max(0) as u64
    }
}

/// What a message comes to.
enum Step {
    /// Everything before it has been answered.
    Ready,
    /// Nothing more than what is in the buffer.
    Nothing,
    /// What has gathered goes out now.
    Flush,
    /// The client leaves.
    Leave,
}

fn arm(session: &Session, milliseconds: u64, interrupt: Interrupt) {
    if milliseconds > 0 {
        session.shared().set_deadline(clock::now() + milliseconds * 1_000_000, interrupt);
    }
}

fn of_wire(format: WireFormat) -> Format {
    match format {
        WireFormat::Text => Format::Text,
        WireFormat::Binary => Format::Binary,
    }
}

fn target_of(target: WireTarget<'_>) -> Target<'_> {
    match target {
        WireTarget::Statement(name) => Target::Statement(name),
        WireTarget::Portal(name) => Target::Portal(name),
    }
}
